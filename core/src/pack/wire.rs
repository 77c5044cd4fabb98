//! Reading a pack's sections: bounded fields and arrays, and what is wrong with them.
//!
//! Everything here is total on any bytes. The views of the sections are in the modules of the mechanisms that use them, and
//! [`Pack::parse`](crate::pack::Pack::parse) calls their parsers.

use core::fmt;

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::fixed::{EXPONENTS, Scale};
use crate::pack::format::{self, ALIGNMENT};

/// `found` as it is, if it lies in `least..=most`.
pub(crate) fn within(
    name: &'static str,
    found: u32,
    least: u32,
    most: u32,
) -> Result<u32, PackError> {
    if (least..=most).contains(&found) {
        Ok(found)
    } else {
        Err(PackError::Field {
            name,
            found: found.into(),
            least: least.into(),
            most: most.into(),
        })
    }
}

pub(crate) fn zero(name: &'static str, found: u32) -> Result<(), PackError> {
    within(name, found, 0, 0).map(|_| ())
}

/// The scale for a declared exponent.
pub(crate) fn scale(exponent: i32) -> Result<Scale, PackError> {
    Scale::new(exponent).ok_or(PackError::Exponent {
        found: exponent,
        least: *EXPONENTS.start(),
        most: *EXPONENTS.end(),
    })
}

/// `found` as it is, if it lies in `least..=most`.
pub(crate) fn exponent_within(found: i32, least: i32, most: i32) -> Result<i32, PackError> {
    if (least..=most).contains(&found) {
        Ok(found)
    } else {
        Err(PackError::Exponent { found, least, most })
    }
}

/// Reads the arrays of a section one after the other, each at a multiple of 64 bytes from the
/// section's start, with zero padding.
pub(crate) struct Arrays<'a> {
    tag: [u8; 4],
    section: &'a [u8],
    position: usize,
}

impl<'a> Arrays<'a> {
    /// Reads the head of the section.
    pub(crate) fn open<H>(tag: [u8; 4], section: &'a [u8]) -> Result<(&'a H, Self), PackError>
    where
        H: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        let (head, _) = H::ref_from_prefix(section).map_err(|_| PackError::Section {
            tag,
            reason: "is too short for its head",
        })?;
        Ok((
            head,
            Self {
                tag,
                section,
                position: size_of::<H>(),
            },
        ))
    }

    /// The next array: `rows` times `columns` elements.
    pub(crate) fn next<T>(&mut self, rows: usize, columns: usize) -> Result<&'a [T], PackError>
    where
        T: FromBytes + Immutable + Unaligned,
    {
        let fail = |reason| PackError::Section {
            tag: self.tag,
            reason,
        };
        let start = self
            .position
            .checked_next_multiple_of(ALIGNMENT)
            .ok_or(fail("is too short for its arrays"))?;
        let padding = self
            .section
            .get(self.position..start)
            .ok_or(fail("is too short for its arrays"))?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(fail("has padding that is not zero"));
        }
        let count = rows
            .checked_mul(columns)
            .ok_or(fail("declares more elements than fit in memory"))?;
        let rest = self.section.get(start..).unwrap_or_default();
        let (array, rest) = <[T]>::ref_from_prefix_with_elems(rest, count)
            .map_err(|_| fail("is too short for its arrays"))?;
        self.position = self.section.len() - rest.len();
        Ok(array)
    }

    /// Checks that nothing is left.
    pub(crate) fn finish(self) -> Result<(), PackError> {
        if self.position == self.section.len() {
            Ok(())
        } else {
            Err(PackError::Section {
                tag: self.tag,
                reason: "is longer than its arrays",
            })
        }
    }
}

/// Why bytes are not a pack that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// Fewer bytes than a header.
    TooShort {
        /// Bytes given.
        found: usize,
        /// Bytes in a header.
        least: usize,
    },
    /// The first eight bytes are not those of a pack.
    NotAPack,
    /// A major version that this reader does not know.
    Version {
        /// The file's major version.
        found: u16,
    },
    /// The file is not as long as it says.
    Length {
        /// The length in the header.
        declared: u64,
        /// Bytes given.
        found: usize,
    },
    /// The digest in the header is not that of the file.
    Digest,
    /// A field outside its range.
    Field {
        /// What the field is.
        name: &'static str,
        /// Its value.
        found: u64,
        /// The least value allowed.
        least: u64,
        /// The largest value allowed.
        most: u64,
    },
    /// The encoder's name is not UTF-8 padded with zeroes.
    EncoderName,
    /// A power of two outside its range.
    Exponent {
        /// Its value.
        found: i32,
        /// The least value allowed.
        least: i32,
        /// The largest value allowed.
        most: i32,
    },
    /// The section table reaches beyond the file.
    Table {
        /// The number of sections declared.
        sections: u32,
    },
    /// A section is in the wrong place or has the wrong content.
    Section {
        /// Its tag.
        tag: [u8; 4],
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Bytes after the last section.
    Trailing {
        /// Where the last section ends.
        end: usize,
        /// Bytes given.
        found: usize,
    },
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { found, least } => {
                write!(
                    f,
                    "{found} bytes, but a pack has at least {least}; is the file whole?"
                )
            }
            Self::NotAPack => f.write_str("not a pack: the first eight bytes are not \"UNDRTONE\""),
            Self::Version { found } => write!(
                f,
                "pack format version {found}, but this library reads version {}; update the older of the two",
                format::MAJOR
            ),
            Self::Length { declared, found } => {
                write!(
                    f,
                    "the pack says it has {declared} bytes, found {found}; copy it again"
                )
            }
            Self::Digest => {
                f.write_str("the pack's digest does not match its bytes; copy it again")
            }
            Self::Field {
                name,
                found,
                least,
                most,
            } => {
                write!(f, "{name} is {found}, allowed are {least}..={most}")
            }
            Self::EncoderName => f.write_str("the encoder's name is not UTF-8 padded with zeroes"),
            Self::Exponent { found, least, most } => {
                write!(f, "exponent is {found}, allowed are {least}..={most}")
            }
            Self::Table { sections } => {
                write!(
                    f,
                    "the table of {sections} sections reaches beyond the file"
                )
            }
            Self::Section { tag, reason } => write!(f, "section {} {reason}", tag.escape_ascii()),
            Self::Trailing { end, found } => {
                write!(
                    f,
                    "the last section ends at byte {end} of {found}; nothing may follow it"
                )
            }
        }
    }
}

impl core::error::Error for PackError {}
