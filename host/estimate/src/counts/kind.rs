//! Kinds of releases that can be counted together.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZero;

use undertone::release::document::Method;
use undertone_core::epsilon::Epsilon;
use undertone_core::projective::Geometry;
use undertone_core::release::{Mechanism, Release, ReleaseFormatError};
use undertone_core::select::{MAX_CANDIDATES, Rule};

/// The common part of releases that are counted together: all of their bytes but the outcome.
///
/// Kinds are ordered by pack, mechanism, rule, order and ε.
#[derive(Clone, Copy)]
pub struct Kind {
    head: Head,
    mechanism: Mechanism,
    rule: Rule,
    epsilon: Epsilon,
}

/// The bytes of a release without its outcome, bytes 12 to 15.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Head {
    /// Bytes 0 to 7: magic, version, mechanism, rule, order.
    start: u64,
    epsilon: u32,
    /// Bytes 16 to 23.
    pack: u64,
}

impl Head {
    #[inline(always)]
    pub(crate) fn split(record: &[u8; Release::BYTES]) -> (Self, u32) {
        let long = |at: usize| {
            u64::from_le_bytes(
                record[at..at + 8]
                    .try_into()
                    .expect("eight bytes are eight"),
            )
        };
        let short = |at: usize| {
            u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes are four"))
        };
        let head = Self {
            start: long(0),
            epsilon: short(8),
            pack: long(16),
        };
        (head, short(12))
    }

    fn record(&self, outcome: u32) -> [u8; Release::BYTES] {
        let mut record = [0; Release::BYTES];
        record[..8].copy_from_slice(&self.start.to_le_bytes());
        record[8..12].copy_from_slice(&self.epsilon.to_le_bytes());
        record[12..16].copy_from_slice(&outcome.to_le_bytes());
        record[16..].copy_from_slice(&self.pack.to_le_bytes());
        record
    }

    /// A hash below `slots`, which is a power of two.
    #[inline(always)]
    pub(crate) fn slot(&self, slots: usize) -> usize {
        let mixed =
            self.start.rotate_left(17) ^ u64::from(self.epsilon).rotate_left(32) ^ self.pack;
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (slots - 1)
    }
}

impl Kind {
    /// Parses a release in its byte form into kind and outcome.
    ///
    /// # Errors
    /// The errors of [`Release::from_bytes`].
    pub fn of_bytes(bytes: &[u8]) -> Result<(Self, u32), ReleaseFormatError> {
        let release = Release::from_bytes(bytes)?;
        let record = bytes
            .try_into()
            .map_err(|_| ReleaseFormatError::NotARelease)?;
        let (head, outcome) = Head::split(record);
        let kind = Self {
            head,
            mechanism: release.mechanism(),
            rule: release.rule(),
            epsilon: release.epsilon(),
        };
        Ok((kind, outcome))
    }

    /// Splits a release into kind and outcome.
    pub fn of(release: &Release) -> (Self, u32) {
        let (head, outcome) = Head::split(&release.to_bytes());
        let kind = Self {
            head,
            mechanism: release.mechanism(),
            rule: release.rule(),
            epsilon: release.epsilon(),
        };
        (kind, outcome)
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
        let [low, high] = order.to_le_bytes();
        let head = Head {
            start: u64::from_le_bytes([b'U', b'T', b'R', 1, mechanism, rule, low, high]),
            epsilon: epsilon.micro(),
            pack: u64::from_le_bytes(pack_id),
        };
        Ok(Self::of_bytes(&head.record(0))?.0)
    }

    /// The byte form of a release of this kind.
    pub fn to_bytes(&self, outcome: u32) -> [u8; Release::BYTES] {
        self.head.record(outcome)
    }

    /// The identifier of the pack.
    pub fn pack_id(&self) -> [u8; 8] {
        self.head.pack.to_le_bytes()
    }

    /// The mechanism that selects outcomes.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// The rule that draws outcomes.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The ε of a release.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// Bytes 6 and 7 of the release: the order of the field of projective geometry response, or the
    /// places of a drawn sentence; 0 for other mechanisms.
    pub fn order(&self) -> u16 {
        let [.., low, high] = self.head.start.to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// The number of places, if the releases are about one drawn sentence of a text.
    pub fn places(&self) -> Option<NonZero<u16>> {
        NonZero::new(self.order()).filter(|_| self.mechanism == Mechanism::Drawn)
    }

    /// The number of outcomes of this kind under a pack of `candidates`, or for a question of
    /// `candidates` categories. Larger outcomes are forged or damaged. 0 if no geometry of this
    /// order has enough points.
    pub fn outcomes(&self, candidates: u32) -> u64 {
        if self.holds_points() || self.mechanism == Mechanism::Answer {
            return self
                .geometry(candidates)
                .map_or(0, |own| own.points().into());
        }
        self.answers(candidates).map_or(0, u64::from)
    }

    /// The number of answers of a text under a pack of `candidates`: these, and mostly "nothing
    /// known"; of a question of `candidates` categories these and "no answer". `None` if no device
    /// makes such releases.
    pub(crate) fn answers(&self, candidates: u32) -> Option<u32> {
        match self.mechanism {
            Mechanism::Answer => candidates.checked_add(1),
            mechanism => mechanism.outcomes(candidates),
        }
    }

    /// Whether the releases name points for candidates.
    pub(crate) fn holds_points(&self) -> bool {
        matches!(
            self.mechanism,
            Mechanism::Projective | Mechanism::ProjectiveKnown
        )
    }

    /// Whether "nothing known" is no outcome of these releases for the whole text.
    pub fn is_known(&self) -> bool {
        matches!(
            self.mechanism,
            Mechanism::WholeTextKnown | Mechanism::ProjectiveKnown
        )
    }

    /// The geometry whose points these releases hold, under a pack of `candidates` or for a
    /// question of `candidates` categories.
    pub(crate) fn geometry(&self, candidates: u32) -> Option<Geometry> {
        let outcomes = self.answers(candidates)?;
        match self.mechanism {
            Mechanism::Answer => Geometry::of_answer(self.order(), outcomes),
            _ if self.holds_points() => Geometry::new(self.order(), outcomes),
            _ => None,
        }
    }

    fn method(&self) -> Option<Method> {
        match self.mechanism {
            Mechanism::Depth | Mechanism::Scores => Some(Method::Sentence(self.rule)),
            Mechanism::WholeText | Mechanism::WholeTextKnown => Some(Method::WholeText),
            Mechanism::Projective | Mechanism::ProjectiveKnown => Some(Method::Projective),
            _ => None,
        }
    }

    fn key(&self) -> ([u8; 8], u8, u8, u16, u32) {
        let numbers = (self.mechanism as u8, self.rule as u8);
        let epsilon = self.epsilon.micro();
        (self.pack_id(), numbers.0, numbers.1, self.order(), epsilon)
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
        let pack = hex::encode(self.pack_id());
        match self.mechanism {
            Mechanism::Depth => write!(f, "pack {pack}, depth")?,
            Mechanism::Scores => write!(f, "pack {pack}, scores")?,
            Mechanism::WholeText => write!(f, "pack {pack}, whole text")?,
            Mechanism::Projective => write!(f, "pack {pack}, projective")?,
            Mechanism::WholeTextKnown => write!(f, "pack {pack}, whole text, candidates only")?,
            Mechanism::ProjectiveKnown => write!(f, "pack {pack}, projective, candidates only")?,
            Mechanism::Drawn => write!(f, "pack {pack}, drawn")?,
            Mechanism::Answer => write!(f, "form {pack}, answer")?,
            other => write!(f, "pack {pack}, mechanism {}", other as u8)?,
        }
        match (self.mechanism, self.rule) {
            (Mechanism::Depth | Mechanism::Scores, Rule::PermuteAndFlip) => {
                f.write_str(", permute-and-flip")?;
            }
            (Mechanism::Depth | Mechanism::Scores, Rule::Exponential) => {
                f.write_str(", exponential")?
            }
            _ => {}
        }
        if self.order() != 0 {
            let name = if self.mechanism == Mechanism::Drawn {
                "places"
            } else {
                "order"
            };
            write!(f, ", {name} {}", self.order())?;
        }
        match self.method() {
            Some(method) => {
                let epsilon = method.epsilon_text(self.epsilon, MAX_CANDIDATES);
                write!(f, ", epsilon {epsilon}")
            }
            None => write!(f, ", epsilon {}", self.epsilon),
        }
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head
    }
}

impl Eq for Kind {}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.head.hash(state);
    }
}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
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
