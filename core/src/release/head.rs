//! What all releases start with.

use core::fmt;

use crate::epsilon::Epsilon;

const MAGIC: [u8; 3] = *b"UTR";
const VERSION: u8 = 1;

/// The mechanism whose releases say an order.
pub(super) const PROJECTIVE: u8 = 8;

/// What the byte forms of all releases start with.
pub(super) struct Head {
    pub(super) mechanism: u8,
    pub(super) rule: u8,
    /// Of the geometry of a point; zero for other mechanisms.
    pub(super) order: u16,
    pub(super) epsilon: Epsilon,
    /// The index of a candidate, or how much follows.
    pub(super) number: u32,
    pub(super) pack_id: [u8; 8],
}

impl Head {
    pub(super) const BYTES: usize = 24;

    pub(super) fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let fields: [&[u8]; 6] = [
            &MAGIC,
            &[VERSION, self.mechanism, self.rule],
            &self.order.to_le_bytes(),
            &self.epsilon.micro().to_le_bytes(),
            &self.number.to_le_bytes(),
            &self.pack_id,
        ];
        for (to, from) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *to = *from;
        }
        bytes
    }

    /// The head, its mechanism and rule not looked at, nor an order where there may be one, and what follows.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), ReleaseFormatError> {
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
            order0,
            order1,
            ref numbers @ ..,
        ] = head;
        let &[e0, e1, e2, e3, n0, n1, n2, n3, ref pack_id @ ..] = numbers;
        if [m0, m1, m2] != MAGIC {
            return Err(ReleaseFormatError::NotARelease);
        }
        if version != VERSION {
            return Err(ReleaseFormatError::Version { found: version });
        }
        let order = u16::from_le_bytes([order0, order1]);
        if order != 0 && mechanism != PROJECTIVE {
            return Err(ReleaseFormatError::Field {
                name: "reserved field",
                found: order.into(),
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
            order,
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
