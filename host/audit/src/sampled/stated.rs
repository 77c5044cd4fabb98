//! Checks the fields that releases state, by the documented format. The functions of the library
//! would not show a mistake that writing and reading share.

use std::collections::BTreeMap;

use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::select::Rule;
use undertone_core::vector::Noise;
use undertone_core::words::WordMechanism;

use crate::{Check, Method};

/// Length in bytes of the header of every release.
const HEAD: usize = 24;

/// Length in bytes of a vector before its coordinates.
const VECTOR_HEAD: usize = HEAD + 12;

/// A request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A document, with each sentence protected.
    Sentences(Rule),
    /// A document, with the whole text protected.
    WholeText,
    /// A document, with the whole text protected by projective geometry response.
    Points,
    /// A bag with this number of words.
    Bag(WordMechanism, u16),
    /// A vector with this number of coordinates, without a projection.
    Vector(Noise, u32),
}

impl Asked {
    /// The expected statements with this pack and ε: all except the released value, and the grid of
    /// a vector.
    pub(crate) fn expected(self, pack: &Pack<'_>, epsilon: Epsilon) -> Expected {
        let by_scores = pack.scores().is_some();
        let (mechanism, rule) = match self {
            Self::Sentences(rule) => (if by_scores { 2 } else { 1 }, rule_number(rule)),
            Self::Vector(Noise::Laplace, _) => (3, 0),
            Self::Vector(Noise::DiscreteLaplace, _) => (4, 0),
            Self::Bag(WordMechanism::Selection(rule), _) => (5, rule_number(rule)),
            Self::Bag(..) => (6, 0),
            Self::WholeText => (7, 2),
            Self::Points => (8, 2),
        };
        let order = match self {
            Self::Points => {
                let geometry = Geometry::best(pack.candidate_count() + 1, epsilon);
                geometry.map_or(0, |geometry| geometry.order())
            }
            _ => 0,
        };
        let id = match self {
            Self::Vector(..) => [0; 8],
            _ => pack.id(),
        };
        let mut fields = vec![
            (0, "magic", b"UTR".to_vec()),
            (3, "version", vec![1]),
            (4, "mechanism", vec![mechanism]),
            (5, "rule", vec![rule]),
            (6, "order", order.to_le_bytes().to_vec()),
            (8, "epsilon", epsilon.micro().to_le_bytes().to_vec()),
            (16, "pack", id.to_vec()),
        ];
        let length = match self {
            Self::Bag(_, size) => Some(size.into()),
            Self::Vector(_, dimension) => Some(dimension),
            _ => None,
        };
        fields.extend(length.map(|length| (12, "length", length.to_le_bytes().to_vec())));
        if let Self::Vector(..) = self {
            fields.push((HEAD, "sensitivity", (1u64 << 32).to_le_bytes().to_vec()));
        }
        Expected {
            asked: self,
            fields,
        }
    }

    /// Length of its releases in bytes.
    fn bytes(self) -> usize {
        match self {
            Self::Bag(_, size) => HEAD + 2 * usize::from(size),
            Self::Vector(_, dimension) => VECTOR_HEAD + 4 * dimension as usize,
            _ => HEAD,
        }
    }
}

fn rule_number(rule: Rule) -> u8 {
    match rule {
        Rule::PermuteAndFlip => 1,
        Rule::Exponential => 2,
    }
}

pub(crate) struct Expected {
    asked: Asked,
    /// Offset, name and bytes of each field.
    fields: Vec<(usize, &'static str, Vec<u8>)>,
}

/// The released value, by the documented format.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// A candidate, an outcome or a point.
    Number(u32),
    /// Words of a bag.
    Words(Vec<u32>),
    /// log₂ of a step of the grid, and coordinates in steps.
    Steps(i32, Vec<i32>),
}

/// Differences between the statements of releases and the requests.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    read: u64,
    /// Number of wrong releases, by the name of the field.
    wrong: BTreeMap<&'static str, u64>,
}

impl Stated {
    /// Reads a release. `None` if its length is wrong.
    pub(crate) fn read(&mut self, expected: &Expected, bytes: &[u8]) -> Option<Content> {
        if bytes.len() != expected.asked.bytes() {
            return None;
        }
        self.read += 1;
        for (start, name, field) in &expected.fields {
            if bytes[*start..*start + field.len()] != *field {
                *self.wrong.entry(name).or_default() += 1;
            }
        }
        let number = |start: usize| bytes[start..start + 4].try_into().map(i32::from_le_bytes);
        Some(match expected.asked {
            Asked::Bag(..) => {
                let (words, _) = bytes[HEAD..].as_chunks::<2>();
                let words = words.iter().map(|word| u16::from_le_bytes(*word).into());
                Content::Words(words.collect())
            }
            Asked::Vector(..) => {
                let (steps, _) = bytes[VECTOR_HEAD..].as_chunks::<4>();
                let steps = steps.iter().map(|step| i32::from_le_bytes(*step));
                Content::Steps(number(VECTOR_HEAD - 4).ok()?, steps.collect())
            }
            _ => Content::Number(number(12).ok()?.cast_unsigned()),
        })
    }

    /// A check of all releases that were read; `None` without releases.
    pub(crate) fn check(&self) -> Option<Check> {
        let wrong: u64 = self.wrong.values().sum();
        let names: Vec<&str> = self.wrong.keys().copied().collect();
        (self.read > 0).then(|| Check {
            mechanism: "all releases".to_owned(),
            name: "bytes say what was asked for".to_owned(),
            epsilon: None,
            method: Method::Exact,
            claimed: 0.0,
            measured: wrong as f64,
            tried: self.read,
            passed: wrong == 0,
            detail: match &names[..] {
                [] => "fields of releases with another mechanism, rule, epsilon or pack".to_owned(),
                names => format!("fields of releases that are wrong: {}", names.join(", ")),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_core::rng::PublicRng;
    use undertone_core::rng::rand_core::Rng;

    /// A wrong bit in any checked field fails the check.
    #[test]
    fn every_wrong_bit_is_noticed() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/golden/golden-scores.pack"
        );
        let bytes = std::fs::read(path).unwrap();
        let pack = Pack::parse(&bytes).unwrap();
        let epsilon = Epsilon::from_micro(1_234_567).unwrap();
        for asked in [
            Asked::Sentences(Rule::PermuteAndFlip),
            Asked::Sentences(Rule::Exponential),
            Asked::WholeText,
            Asked::Points,
            Asked::Bag(WordMechanism::Selection(Rule::Exponential), 3),
            Asked::Bag(WordMechanism::LaplaceNearest, 256),
            Asked::Vector(Noise::Laplace, 2),
        ] {
            let mut release = vec![0; asked.bytes()];
            PublicRng::new(1).fill_bytes(&mut release);
            let expected = asked.expected(&pack, epsilon);
            for (start, _, field) in &expected.fields {
                release[*start..start + field.len()].copy_from_slice(field);
            }
            let mut stated = Stated::default();
            assert!(stated.read(&expected, &release).is_some());
            assert!(stated.check().unwrap().passed, "{asked:?}");
            for (start, name, field) in &expected.fields {
                for bit in 0..8 * field.len() {
                    let mut wrong = release.clone();
                    wrong[start + bit / 8] ^= 1 << (bit % 8);
                    let mut stated = Stated::default();
                    stated.read(&expected, &wrong);
                    let check = stated.check().unwrap();
                    assert!(
                        !check.passed && check.detail.contains(name),
                        "{asked:?} {name}"
                    );
                }
            }
            assert_eq!(stated.read(&expected, &release[1..]), None);
        }
    }
}
