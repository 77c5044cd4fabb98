//! The byte forms of releases.

use std::num::NonZero;

use undertone_core::epsilon::Epsilon;
use undertone_core::laplace::{Laplace, Noise, Sensitivity};
use undertone_core::projective::Order;
use undertone_core::release::{BagRelease, Release, ReleaseFormatError, VectorRelease};
use undertone_core::select::Rule;
use undertone_core::words::WordMechanism;

/// Reads the input as a release of each kind, and again with valid fixed fields.
///
/// Checked: the fields, against readers of the tables in the documentation; a sentence release is
/// written back unchanged.
pub fn release_from_bytes_is_total(data: &[u8]) {
    read(data);
    let Some((fields, rest)) = data.split_first_chunk::<18>() else {
        return;
    };
    let [mechanism, rule, numbers @ ..] = fields;
    // The mechanism that the input has, and one of each kind.
    for mechanism in [mechanism % 13, 1, 4, 5, 8, 9, 10, 12] {
        let mut bytes = *b"UTR\x01----................";
        bytes[4..8].copy_from_slice(&[mechanism, *rule, 0, 0]);
        bytes[8..].copy_from_slice(numbers);
        read(&bytes);
        // An order, which now and then is one of a geometry.
        bytes[6..8].copy_from_slice(&numbers[12..14]);
        read(&bytes);
        bytes[6..8].copy_from_slice(&[0, 0]);
        let mut bytes = bytes.to_vec();
        bytes.extend(rest);
        read(&bytes);
        // The number of bytes that follow.
        bytes[12..16].copy_from_slice(&(rest.len() as u32 / 2).to_le_bytes());
        bytes.truncate(24 + rest.len() / 2 * 2);
        read(&bytes);
        for (word, index) in bytes[24..].as_chunks_mut::<2>().0.iter_mut().zip(0u16..) {
            *word = (u16::from_le_bytes(*word) / 256 + index).to_le_bytes();
        }
        read(&bytes);
        vector(&bytes[..24], rest);
    }
}

/// A vector release with a sensitivity and the grid for it.
fn vector(head: &[u8], rest: &[u8]) {
    let Some((units, rest)) = rest.split_first_chunk::<8>() else {
        return;
    };
    let mut bytes = head.to_vec();
    let dimension = rest.len() as u32 / 4;
    bytes[5] = 0;
    bytes[12..16].copy_from_slice(&dimension.to_le_bytes());
    let units = (u64::from_le_bytes(*units) % (Sensitivity::MAX.units() + 2)).to_le_bytes();
    let number =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let grid =
        law(bytes[4], dimension, number(8), units).map_or(0, |laplace| laplace.grid_exponent());
    bytes.extend(units);
    bytes.extend(grid.to_le_bytes());
    bytes.extend(&rest[..dimension as usize * 4]);
    read(&bytes);
}

/// The law of the noise, if these fields allow one.
fn law(mechanism: u8, dimension: u32, micro: u32, units: [u8; 8]) -> Option<Laplace> {
    let noise = match mechanism {
        3 => Noise::Laplace,
        4 => Noise::DiscreteLaplace,
        _ => return None,
    };
    let sensitivity = Sensitivity::from_units(u64::from_le_bytes(units))?;
    let epsilon = Epsilon::from_micro(micro).ok()?;
    Laplace::with_noise(noise, dimension, epsilon, sensitivity).ok()
}

fn read(bytes: &[u8]) {
    let head = head(bytes);
    let release = told(Release::from_bytes(bytes), bytes);
    let expected = head.filter(|head| {
        // The whole-text rule has only one way of drawing.
        let drawn = matches!((head.mechanism, head.rule), (1..=2, 1..=2) | (7..=12, 2));
        let order = match head.mechanism {
            8 | 12 => is_order(head.order),
            9 => head.order != 0,
            10 => head.order == 1 || is_order(head.order),
            _ => head.order == 0,
        };
        bytes.len() == 24 && drawn && order
    });
    let found = release.map(|release| {
        assert_eq!(release.to_bytes(), *bytes);
        Head {
            mechanism: release.mechanism() as u8,
            rule: release.rule() as u8,
            // The order of a geometry, or the number of places.
            order: release
                .order()
                .map(Order::number)
                .or(release.places().map(NonZero::get))
                .unwrap_or(0),
            micro: release.epsilon().micro(),
            number: release.number(),
            pack_id: release.pack_id(),
        }
    });
    assert_eq!(found, expected, "{bytes:?}");

    let words = |bytes: &[u8]| -> Vec<u32> {
        let words = bytes
            .chunks(2)
            .map(|word| u32::from(word[0]) + 256 * u32::from(word[1]));
        words.collect()
    };
    let release = told(BagRelease::from_bytes(bytes), bytes);
    let expected = head.filter(|head| {
        matches!((head.mechanism, head.rule), (5, 1..=2) | (6, 0))
            && (1..=256).contains(&head.number)
            && bytes.len() == 24 + 2 * head.number as usize
            && words(&bytes[24..]).is_sorted()
    });
    let found = release.map(|release| {
        assert_eq!(release.words().collect::<Vec<_>>(), words(&bytes[24..]));
        let (mechanism, rule) = match release.mechanism() {
            WordMechanism::Selection(Rule::PermuteAndFlip) => (5, 1),
            WordMechanism::Selection(_) => (5, 2),
            _ => (6, 0),
        };
        Head {
            mechanism,
            rule,
            order: 0,
            micro: release.epsilon().micro(),
            number: release.words().len() as u32,
            pack_id: release.pack_id(),
        }
    });
    assert_eq!(found, expected, "{bytes:?}");

    let release = told(VectorRelease::from_bytes(bytes), bytes);
    let expected = head.filter(|head| {
        let Some((units, rest)) = bytes[24..].split_first_chunk::<8>() else {
            return false;
        };
        let laplace = law(head.mechanism, head.number, head.micro, *units);
        head.rule == 0
            && bytes.len() == 36 + 4 * head.number as usize
            && laplace
                .is_some_and(|laplace| rest.starts_with(&laplace.grid_exponent().to_le_bytes()))
    });
    let found = release.map(|release| {
        let steps = bytes[36..].chunks(4);
        let steps = steps.map(|x| i32::from_le_bytes([x[0], x[1], x[2], x[3]]));
        assert!(release.coordinates().eq(steps.clone()));
        let step = 2f64.powi(release.grid_exponent());
        assert!(
            release
                .values()
                .eq(steps.map(|steps| f64::from(steps) * step))
        );
        Head {
            mechanism: release.noise() as u8,
            rule: 0,
            order: 0,
            micro: release.epsilon().micro(),
            number: release.coordinates().len() as u32,
            pack_id: release.pack_id(),
        }
    });
    assert_eq!(found, expected, "{bytes:?}");
}

/// The head of all releases.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Head {
    mechanism: u8,
    rule: u8,
    order: u16,
    micro: u32,
    number: u32,
    pack_id: [u8; 8],
}

fn head(bytes: &[u8]) -> Option<Head> {
    let bytes = bytes.get(..24)?;
    let number =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let whole =
        bytes.starts_with(b"UTR\x01") && (bytes[6..8] == [0; 2] || matches!(bytes[4], 8..=10 | 12));
    let micro = number(8);
    (whole && (1..=1_000_000_000).contains(&micro)).then(|| Head {
        mechanism: bytes[4],
        rule: bytes[5],
        order: u16::from_le_bytes([bytes[6], bytes[7]]),
        micro,
        number: number(12),
        pack_id: bytes[16..].try_into().expect("eight bytes"),
    })
}

/// A prime, or an even number.
fn is_order(order: u16) -> bool {
    let prime = (2..=order.isqrt()).all(|divisor| !order.is_multiple_of(divisor));
    let even = order.is_multiple_of(2) && (4..=5790).contains(&order);
    (order >= 2 && prime) || even
}

fn told<T>(read: Result<T, ReleaseFormatError>, bytes: &[u8]) -> Option<T> {
    read.inspect_err(|error| assert!(!error.to_string().is_empty(), "{bytes:?}"))
        .ok()
}
