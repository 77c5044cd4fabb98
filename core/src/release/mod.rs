//! What leaves the device.

use core::fmt;

use crate::epsilon::Epsilon;
use crate::select::Rule;

mod bag;
mod vector;

pub use bag::BagRelease;
pub use vector::VectorRelease;

/// One private release: which candidate was drawn, and the public facts needed to read it.
///
/// Only [`Document::release`](crate::document::Document::release) makes one from private data;
/// [`Release::from_bytes`] reads one that was made elsewhere.
///
/// # Shapes
/// The byte form has [`Release::BYTES`] bytes, numbers little-endian:
///
/// | offset | bytes | content |
/// | --- | --- | --- |
/// | 0 | 3 | `UTR` |
/// | 3 | 1 | version, 1 |
/// | 4 | 1 | mechanism: 1 = sentence depth, 2 = sentence scores |
/// | 5 | 1 | rule: 1 = permute-and-flip, 2 = exponential |
/// | 6 | 2 | zero |
/// | 8 | 4 | ε in micro-units |
/// | 12 | 4 | index of the candidate |
/// | 16 | 8 | identifier of the pack |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    pub(crate) mechanism: Mechanism,
    pub(crate) rule: Rule,
    pub(crate) epsilon: Epsilon,
    pub(crate) candidate: u32,
    pub(crate) pack_id: [u8; 8],
}

const MAGIC: [u8; 3] = *b"UTR";
const VERSION: u8 = 1;

/// How a document was reduced to levels. The numbers are those of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mechanism {
    /// Selection by depth, see [`depth`](crate::depth).
    SentenceDepth = 1,
    /// Selection by bounded scores, see [`scores`](crate::scores).
    SentenceScores = 2,
}

impl Mechanism {
    /// The mechanism with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::SentenceDepth),
            2 => Some(Self::SentenceScores),
            _ => None,
        }
    }
}

impl Release {
    /// The length of the byte form.
    pub const BYTES: usize = Head::BYTES;

    /// The index of the candidate drawn. Its embedding is on the server. In a release that was read
    /// from bytes it may be any number.
    pub fn candidate(&self) -> u32 {
        self.candidate
    }

    /// The ε that was spent.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// How the document was reduced to levels.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// How the candidate was drawn.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The identifier of the pack whose candidates the index counts: [`Pack::id`](crate::pack::Pack::id).
    pub fn pack_id(&self) -> [u8; 8] {
        self.pack_id
    }

    /// The byte form.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let head = Head {
            mechanism: self.mechanism as u8,
            rule: self.rule as u8,
            epsilon: self.epsilon,
            number: self.candidate,
            pack_id: self.pack_id,
        };
        head.to_bytes()
    }

    /// Reads the byte form. Total on any bytes.
    ///
    /// # Errors
    /// [`ReleaseFormatError`] names the first field that is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReleaseFormatError> {
        if bytes.len() != Self::BYTES {
            return Err(ReleaseFormatError::Length {
                found: bytes.len(),
                expected: Self::BYTES,
            });
        }
        let (head, _) = Head::read(bytes)?;
        let mechanism = Mechanism::from_number(head.mechanism);
        let rule = Rule::from_number(head.rule);
        Ok(Self {
            mechanism: mechanism.ok_or(ReleaseFormatError::Field {
                name: "mechanism",
                found: head.mechanism.into(),
            })?,
            rule: rule.ok_or(ReleaseFormatError::Field {
                name: "rule",
                found: head.rule.into(),
            })?,
            epsilon: head.epsilon,
            candidate: head.number,
            pack_id: head.pack_id,
        })
    }
}

/// What the byte forms of all releases start with.
struct Head {
    mechanism: u8,
    rule: u8,
    epsilon: Epsilon,
    /// The index of a candidate, or how much follows.
    number: u32,
    pack_id: [u8; 8],
}

impl Head {
    const BYTES: usize = 24;

    fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let fields: [&[u8]; 5] = [
            &MAGIC,
            &[VERSION, self.mechanism, self.rule, 0, 0],
            &self.epsilon.micro().to_le_bytes(),
            &self.number.to_le_bytes(),
            &self.pack_id,
        ];
        for (to, from) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *to = *from;
        }
        bytes
    }

    /// The head, its mechanism and rule not looked at, and what follows.
    fn read(bytes: &[u8]) -> Result<(Self, &[u8]), ReleaseFormatError> {
        let Some((head, rest)) = bytes.split_first_chunk::<{ Self::BYTES }>() else {
            return Err(ReleaseFormatError::Length {
                found: bytes.len(),
                expected: Self::BYTES,
            });
        };
        let &[
            m0,
            m1,
            m2,
            version,
            mechanism,
            rule,
            zero0,
            zero1,
            ref numbers @ ..,
        ] = head;
        let &[e0, e1, e2, e3, n0, n1, n2, n3, ref pack_id @ ..] = numbers;
        if [m0, m1, m2] != MAGIC {
            return Err(ReleaseFormatError::NotARelease);
        }
        if version != VERSION {
            return Err(ReleaseFormatError::Version { found: version });
        }
        let reserved = u16::from_le_bytes([zero0, zero1]);
        if reserved != 0 {
            return Err(ReleaseFormatError::Field {
                name: "reserved field",
                found: reserved.into(),
            });
        }
        let micro = u32::from_le_bytes([e0, e1, e2, e3]);
        let epsilon = Epsilon::from_micro(micro).map_err(|_| ReleaseFormatError::Field {
            name: "epsilon in micro-units",
            found: micro,
        })?;
        let head = Self {
            mechanism,
            rule,
            epsilon,
            number: u32::from_le_bytes([n0, n1, n2, n3]),
            pack_id: *pack_id,
        };
        Ok((head, rest))
    }
}

/// Why bytes are not a release that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReleaseFormatError {
    /// Not as many bytes as the release has.
    Length {
        /// Bytes given.
        found: usize,
        /// Bytes that it has, as far as they tell.
        expected: usize,
    },
    /// The first bytes are not those of a release.
    NotARelease,
    /// A version that this reader does not know.
    Version {
        /// The release's version.
        found: u8,
    },
    /// A field with a value that is not allowed.
    Field {
        /// What the field is.
        name: &'static str,
        /// Its value.
        found: u32,
    },
}

impl fmt::Display for ReleaseFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { found, expected } => {
                write!(f, "{found} bytes, but a release has {expected}")
            }
            Self::NotARelease => {
                f.write_str("not a release: the first three bytes are not \"UTR\"")
            }
            Self::Version { found } => {
                write!(
                    f,
                    "release version {found}, but this library reads version {VERSION}; update the older of the two"
                )
            }
            Self::Field { name, found } => write!(
                f,
                "the {name} of the release is {found}, which is not allowed"
            ),
        }
    }
}

impl core::error::Error for ReleaseFormatError {}
