//! Kinds of releases that can be counted together.

use std::fmt;
use std::num::NonZero;

use undertone::release::document::Method;
use undertone_core::epsilon::Epsilon;
use undertone_core::projective::Geometry;
use undertone_core::release::{Mechanism, Release, ReleaseFormatError};
use undertone_core::select::{MAX_CANDIDATES, Rule};

/// The common part of releases that are counted together: all of their bytes but the outcome.
///
/// Kinds are ordered by pack, mechanism, rule, order and ε.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    pack_id: [u8; 8],
    /// The numbers of the byte form.
    mechanism: u8,
    rule: u8,
    order: u16,
    epsilon: Epsilon,
}

impl Kind {
    /// Parses a release in its byte form into kind and outcome.
    ///
    /// # Errors
    /// The errors of [`Release::from_bytes`].
    pub fn of_bytes(bytes: &[u8]) -> Result<(Self, u32), ReleaseFormatError> {
        Release::from_bytes(bytes).map(|release| Self::of(&release))
    }

    /// Splits a release into kind and outcome.
    pub fn of(release: &Release) -> (Self, u32) {
        let [.., low, high] = *release.to_bytes().first_chunk::<8>().expect("24 bytes");
        let kind = Self {
            pack_id: release.pack_id(),
            mechanism: release.mechanism() as u8,
            rule: release.rule() as u8,
            order: u16::from_le_bytes([low, high]),
            epsilon: release.epsilon(),
        };
        (kind, release.number())
    }

    /// The kind with these fields, which have the values of the byte form.
    ///
    /// # Errors
    /// The errors of [`Release::from_bytes`].
    pub fn from_fields(
        pack_id: [u8; 8],
        mechanism: u8,
        rule: u8,
        epsilon: Epsilon,
        order: u16,
    ) -> Result<Self, ReleaseFormatError> {
        let kind = Self {
            pack_id,
            mechanism,
            rule,
            order,
            epsilon,
        };
        Release::from_bytes(&kind.to_bytes(0)).map(|_| kind)
    }

    /// The byte form of a release of this kind.
    pub fn to_bytes(&self, outcome: u32) -> [u8; Release::BYTES] {
        let mut record = [0; Release::BYTES];
        record[..6].copy_from_slice(&[b'U', b'T', b'R', 1, self.mechanism, self.rule]);
        record[6..8].copy_from_slice(&self.order.to_le_bytes());
        record[8..12].copy_from_slice(&self.epsilon.micro().to_le_bytes());
        record[12..16].copy_from_slice(&outcome.to_le_bytes());
        record[16..].copy_from_slice(&self.pack_id);
        record
    }

    /// The identifier of the pack.
    pub fn pack_id(&self) -> [u8; 8] {
        self.pack_id
    }

    /// The mechanism that selects outcomes.
    pub fn mechanism(&self) -> Mechanism {
        Mechanism::from_number(self.mechanism).expect("it is of a release")
    }

    /// The rule that draws outcomes.
    pub fn rule(&self) -> Rule {
        Rule::from_number(self.rule).expect("it is of a release")
    }

    /// The ε of a release.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// Bytes 6 and 7 of the release: the order of the field of projective geometry response, or the
    /// places of a drawn sentence; 0 for other mechanisms.
    pub fn order(&self) -> u16 {
        self.order
    }

    /// The number of places, if the releases are about one drawn sentence of a text.
    pub fn places(&self) -> Option<NonZero<u16>> {
        NonZero::new(self.order).filter(|_| self.mechanism() == Mechanism::Drawn)
    }

    /// The number of outcomes of this kind under a pack of `candidates`, or for a question of
    /// `candidates` categories. Larger outcomes are forged or damaged. 0 if no geometry of this
    /// order has enough points.
    pub fn outcomes(&self, candidates: u32) -> u64 {
        if self.holds_points() || self.mechanism() == Mechanism::Answer {
            let geometry = self.geometry(candidates);
            return geometry.map_or(0, |own| own.points().into());
        }
        self.answers(candidates).map_or(0, u64::from)
    }

    /// The number of answers of a text under a pack of `candidates`: these, and mostly "nothing
    /// known"; of a question of `candidates` categories these and "no answer". `None` if no device
    /// makes such releases.
    pub(crate) fn answers(&self, candidates: u32) -> Option<u32> {
        match self.mechanism() {
            Mechanism::Answer => candidates.checked_add(1),
            mechanism => mechanism.outcomes(candidates),
        }
    }

    /// Whether the releases name points for candidates.
    pub(crate) fn holds_points(&self) -> bool {
        matches!(
            self.mechanism(),
            Mechanism::Projective | Mechanism::ProjectiveKnown
        )
    }

    /// Whether "nothing known" is no outcome of these releases for the whole text.
    pub fn is_known(&self) -> bool {
        matches!(
            self.mechanism(),
            Mechanism::WholeTextKnown | Mechanism::ProjectiveKnown
        )
    }

    /// The geometry whose points these releases hold, under a pack of `candidates` or for a
    /// question of `candidates` categories.
    pub(crate) fn geometry(&self, candidates: u32) -> Option<Geometry> {
        let outcomes = self.answers(candidates)?;
        match self.mechanism() {
            Mechanism::Answer => Geometry::of_answer(self.order, outcomes),
            _ if self.holds_points() => Geometry::new(self.order, outcomes),
            _ => None,
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({self})")
    }
}

/// Formats like `pack 0123456789abcdef, scores, exponential, epsilon 0.5`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mechanism = self.mechanism();
        let whole = match mechanism {
            Mechanism::Answer => "form",
            _ => "pack",
        };
        let (name, method) = match mechanism {
            Mechanism::Depth => ("depth", Some(Method::Sentence(self.rule()))),
            Mechanism::Scores => ("scores", Some(Method::Sentence(self.rule()))),
            Mechanism::WholeText => ("whole text", Some(Method::WholeText)),
            Mechanism::WholeTextKnown => ("whole text, candidates only", Some(Method::WholeText)),
            Mechanism::Projective => ("projective", Some(Method::Projective)),
            Mechanism::ProjectiveKnown => ("projective, candidates only", Some(Method::Projective)),
            Mechanism::Drawn => ("drawn", None),
            Mechanism::Answer => ("answer", None),
            _ => ("of another mechanism", None),
        };
        write!(f, "{whole} {}, {name}", hex::encode(self.pack_id))?;
        match method {
            Some(Method::Sentence(Rule::PermuteAndFlip)) => f.write_str(", permute-and-flip")?,
            Some(Method::Sentence(Rule::Exponential)) => f.write_str(", exponential")?,
            _ => {}
        }
        match (self.order, mechanism) {
            (0, _) => {}
            (places, Mechanism::Drawn) => write!(f, ", places {places}")?,
            (order, _) => write!(f, ", order {order}")?,
        }
        match method {
            Some(method) => {
                let epsilon = method.epsilon_text(self.epsilon, MAX_CANDIDATES);
                write!(f, ", epsilon {epsilon}")
            }
            None => write!(f, ", epsilon {}", self.epsilon),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    const RECORD: [u8; 24] = *b"UTR\x01\x07\x02\0\0\x20\xa1\x07\0\x2a\0\0\0packpack";

    #[test]
    fn a_kind_is_all_but_the_outcome() {
        let (kind, outcome) = Kind::of_bytes(&RECORD).unwrap();
        assert_eq!(outcome, 42);
        assert_eq!(kind.to_bytes(42), RECORD);
        assert_eq!(&kind.pack_id(), b"packpack");
        assert_eq!(kind.order(), 0);
        assert_eq!(
            kind.to_string(),
            "pack 7061636b7061636b, whole text, epsilon 0.5"
        );
        let release = Release::from_bytes(&RECORD).unwrap();
        assert_eq!(Kind::of(&release), (kind, 42));
        let epsilon = kind.epsilon();
        assert_eq!(Kind::from_fields(*b"packpack", 7, 2, epsilon, 0), Ok(kind));
        // Permute-and-flip is not a rule of the whole text.
        assert!(Kind::from_fields(*b"packpack", 7, 1, epsilon, 0).is_err());
        for at in (0..24).filter(|at| !(12..16).contains(at)) {
            let mut other = RECORD;
            other[at] ^= 1;
            if let Ok((other, _)) = Kind::of_bytes(&other) {
                assert_ne!(other, kind, "byte {at}");
                assert_ne!(other.cmp(&kind), Ordering::Equal);
            }
        }
        assert_eq!(kind.outcomes(12), 13);
        let sentence = Kind::from_fields(*b"packpack", 2, 1, epsilon, 0).unwrap();
        assert_eq!(sentence.outcomes(12), 12);
        for (order, points) in [(2, 15), (3, 13), (13, 14), (65_521, 65_522)] {
            let points_of = Kind::from_fields(*b"packpack", 8, 2, epsilon, order).unwrap();
            assert_eq!(points_of.outcomes(12), points, "order {order}");
            assert_eq!(points_of.outcomes(u32::MAX), 0);
        }
        assert!(sentence < kind, "by mechanism");
        let known = Kind::from_fields(*b"packpack", 11, 2, epsilon, 0).unwrap();
        assert_eq!([1, 2, 12].map(|m| known.outcomes(m)), [0, 2, 12]);
        assert_eq!(
            known.to_string(),
            "pack 7061636b7061636b, whole text, candidates only, epsilon 0.5"
        );
        assert!(Kind::from_fields(*b"packpack", 11, 2, epsilon, 2).is_err());
        let known = Kind::from_fields(*b"packpack", 12, 2, epsilon, 3).unwrap();
        assert_eq!(
            [1, 2, 12, 13, 14].map(|m| known.outcomes(m)),
            [0, 4, 13, 13, 40]
        );
    }
}
