//! Arbitrary embeddings under arbitrary parameters and projections, and the byte form of vectors.

use arbitrary::{Result, Unstructured};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::VectorRelease;
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, Projection, VectorError, VectorMechanism};

use crate::assemble::pack;
use crate::double::Repeated;

/// Releases arbitrary floats, through a projection of arbitrary bytes or none, and reads vectors
/// from arbitrary bytes.
///
/// Checked: inputs are refused by the limits in the documentation; written releases are read back;
/// the same key gives the same release; coordinates that are not finite count as 0; and with ε =
/// 1000 and the largest box, without a projection, values are near the embedding.
pub fn embedding_is_total(data: &[u8]) {
    read(data);
    // Input that is too short for parameters teaches nothing.
    let _ = release(&mut Unstructured::new(data));
}

fn read(bytes: &[u8]) {
    match VectorRelease::from_bytes(bytes) {
        Ok(release) => {
            assert_eq!(
                VectorRelease::bytes(release.coordinates().len() as u32),
                bytes.len()
            );
            assert!(release.values().all(f64::is_finite));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn release(u: &mut Unstructured<'_>) -> Result<()> {
    let noise = *u.choose(&[Noise::Laplace, Noise::DiscreteLaplace])?;
    let epsilon = Epsilon::from_micro(u.int_in_range(1..=1_000_000_000)?).expect("in range");
    let bound = match u.arbitrary::<u8>()? {
        255 => u.arbitrary()?,
        small => i32::from(small % 100) - 60,
    };
    let key: [u8; 32] = u.arbitrary()?;
    let dimension: u16 = u.int_in_range(0..=70)?;
    let section = if u.arbitrary()? {
        Some(section(u, dimension)?)
    } else {
        None
    };
    let x: Vec<f32> = (0..dimension)
        .map(|_| u.arbitrary())
        .collect::<Result<_>>()?;

    let bytes = section.map(|section| pack(dimension.max(1).into(), "", &[(*b"PROJ", section)]));
    let parsed = match &bytes {
        None => None,
        Some(bytes) => match Pack::parse(bytes) {
            Ok(pack) => {
                assert_eq!(
                    pack.projection().map(|p| p.dimension()),
                    Some(dimension.max(1).into())
                );
                pack.projection()
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return Ok(());
            }
        },
    };
    let new = match parsed {
        None => VectorMechanism::new(dimension.into(), bound, noise, epsilon),
        Some(projection) => {
            check_sensitivity(&projection);
            VectorMechanism::projected(projection, bound, noise, epsilon)
        }
    };
    let mechanism = match new {
        Ok(mechanism) => mechanism,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Ok(());
        }
    };
    assert!(epsilon.micro() >= 100_000);
    let grid = mechanism.laplace().grid_exponent();
    assert!((grid - 40..=grid + 21).contains(&bound));
    let expected = mechanism.dimension();
    let mut out = vec![7; mechanism.release_bytes() + 3];
    for found in [0, expected - 1, expected + 1] {
        assert_eq!(
            mechanism.release(
                Grant::unrecorded(Unit::Vector, mechanism.laplace().epsilon()),
                &vec![0.0; found],
                &mut Repeated(&key),
                &mut out
            ),
            Err(VectorError::Length { expected, found })
        );
    }
    let finite: Vec<f32> = x
        .iter()
        .map(|x| if x.is_finite() { *x } else { 0.0 })
        .collect();
    let mut draw = |x: &[f32]| {
        out.fill(7);
        let mut padded = x.to_vec();
        padded.resize(expected, 0.0);
        let drawn = mechanism.release(
            Grant::unrecorded(Unit::Vector, mechanism.laplace().epsilon()),
            &padded,
            &mut Repeated(&key),
            &mut out,
        );
        (drawn, out.clone())
    };
    let drawn = draw(&x);
    assert_eq!(drawn, draw(&finite));
    let (length, bytes) = drawn;
    let length = match length {
        Ok(length) => length,
        Err(error) => {
            assert_eq!(error, VectorError::Entropy);
            assert!(!Repeated(&key).works() && bytes.iter().all(|byte| *byte == 7));
            return Ok(());
        }
    };
    assert_eq!(bytes[length..], [7; 3]);
    let release = VectorRelease::from_bytes(&bytes[..length]).expect("what was written");
    assert_eq!((release.noise(), release.epsilon()), (noise, epsilon));
    assert_eq!(release.grid_exponent(), grid);
    if parsed.is_none() {
        let limit = 2f64.powi(bound);
        // 2^7 steps are a deviation, and at most 2^4 of the other noise, even for a key of few
        // bits.
        let slack = 2f64.powi(grid + 15);
        for (y, x) in release.values().zip(&finite) {
            let x = f64::from(*x).clamp(-limit, limit);
            assert!((y - x).abs() <= slack, "{x} {y} {mechanism:?}");
        }
    }
    Ok(())
}

/// A projection section: mostly well-formed, with arbitrary entries.
fn section(u: &mut Unstructured<'_>, dimension: u16) -> Result<Vec<u8>> {
    let rows: u32 = match u.arbitrary::<u8>()? {
        255 => u.arbitrary()?,
        small => u32::from(small % 12) + 1,
    };
    let exponent: i32 = match u.arbitrary::<u8>()? {
        255 => u.arbitrary()?,
        small => -i32::from(small % 25),
    };
    let bound: i32 = u.int_in_range(-25..=25)?;
    let mut out = Vec::new();
    out.extend(rows.to_le_bytes());
    out.extend(exponent.to_le_bytes());
    out.extend(bound.to_le_bytes());
    out.extend(u32::from(u.ratio(1, 50)?).to_le_bytes());
    out.resize(64, 0);
    for _ in 0..rows.min(13) * u32::from(dimension.max(1)) {
        out.extend(u.arbitrary::<i16>()?.to_le_bytes());
    }
    Ok(out)
}

/// Not below the norm of a row or of a column, and not above Frobenius' norm times √m.
fn check_sensitivity(projection: &Projection<'_>) {
    let scale = 2f64.powi(projection.exponent());
    let rows: Vec<Vec<f64>> = projection
        .rows()
        .map(|row| row.iter().map(|x| f64::from(x.get()) * scale).collect())
        .collect();
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let mut least = 0.0f64;
    for row in &rows {
        least = least.max(norm(&mut row.iter().copied()));
    }
    for column in 0..projection.dimension() {
        least = least.max(norm(&mut rows.iter().map(|row| row[column])));
    }
    let frobenius = norm(&mut rows.iter().flatten().copied());
    let most = frobenius * (rows.len() as f64).sqrt();
    match projection.sensitivity() {
        Some(found) => {
            let found = found.units() as f64 / 2f64.powi(32);
            assert!(found >= least * (1.0 - 1e-12), "{found} {least}");
            assert!(
                found <= most * (1.0 + 1e-12) + 2f64.powi(-12),
                "{found} {most}"
            );
        }
        None => assert!(most > 4095.9),
    }
}
