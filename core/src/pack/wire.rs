//! Readers of a pack's sections: bounded fields, arrays, and the errors for them.
//!
//! Every function is total on any bytes. The parser of a section is in the module of the mechanism
//! that uses it.

use thiserror::Error;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::fixed::{EXPONENTS, Scale};
use crate::pack::format::{self, ALIGNMENT};

/// Returns `found` if it lies in `least..=most`.
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

/// Returns `found` if it lies in `least..=most`.
pub(crate) fn exponent_within(found: i32, least: i32, most: i32) -> Result<i32, PackError> {
    if (least..=most).contains(&found) {
        Ok(found)
    } else {
        Err(PackError::Exponent { found, least, most })
    }
}

/// Reads the arrays of a section one after the other. Each starts at a multiple of [`ALIGNMENT`]
/// bytes from the start of the section, with zeroes before it.
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
        let (head, _) = H::ref_from_prefix(section)
            .map_err(|_| PackError::section(tag, "is too short for its head"))?;
        let arrays = Self {
            tag,
            section,
            position: size_of::<H>(),
        };
        Ok((head, arrays))
    }

    /// The next array, of `rows` times `columns` elements.
    pub(crate) fn next<T>(&mut self, rows: usize, columns: usize) -> Result<&'a [T], PackError>
    where
        T: FromBytes + Immutable + Unaligned,
    {
        let fail = |reason| PackError::section(self.tag, reason);
        let too_short = fail("is too short for its arrays");
        let start = self.position.next_multiple_of(ALIGNMENT);
        let (before, rest) = self.section.split_at_checked(start).ok_or(too_short)?;
        if before.iter().skip(self.position).any(|byte| *byte != 0) {
            return Err(fail("has padding that is not zero"));
        }
        let count = rows
            .checked_mul(columns)
            .ok_or(fail("declares more elements than fit in memory"))?;
        let (array, rest) =
            <[T]>::ref_from_prefix_with_elems(rest, count).map_err(|_| too_short)?;
        self.position = self.section.len() - rest.len();
        Ok(array)
    }

    /// Checks that the section ends with its last array.
    pub(crate) fn finish(self) -> Result<(), PackError> {
        if self.position == self.section.len() {
            Ok(())
        } else {
            Err(PackError::section(self.tag, "is longer than its arrays"))
        }
    }
}

/// Why bytes are not a pack that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PackError {
    /// Fewer bytes than a header.
    #[error("{found} bytes, but a pack has at least {least}; is the file whole?")]
    TooShort {
        /// Bytes given.
        found: usize,
        /// Bytes in a header.
        least: usize,
    },
    /// The file does not start with [`MAGIC`](format::MAGIC).
    #[error("not a pack: the first eight bytes are not \"UNDRTONE\"")]
    NotAPack,
    /// A major version that this reader does not know.
    #[error(
        "pack format version {found}, but this library reads version {}; \
         update the older of the two",
        format::MAJOR
    )]
    Version {
        /// The file's major version.
        found: u16,
    },
    /// The header declares another length.
    #[error("the pack declares {declared} bytes, found {found}; copy it again")]
    Length {
        /// The length in the header.
        declared: u64,
        /// Bytes given.
        found: usize,
    },
    /// The digest in the header is not that of the file.
    #[error("the pack's digest does not match its bytes; copy it again")]
    Digest,
    /// A field outside its range.
    #[error("{name} is {found}, allowed are {least}..={most}")]
    Field {
        /// The name of the field.
        name: &'static str,
        /// Its value.
        found: u64,
        /// The least value allowed.
        least: u64,
        /// The largest value allowed.
        most: u64,
    },
    /// The encoder's name is not UTF-8 padded with zeroes.
    #[error("the encoder's name is not UTF-8 padded with zeroes")]
    EncoderName,
    /// A power of two outside its range.
    #[error("exponent is {found}, allowed are {least}..={most}")]
    Exponent {
        /// The exponent.
        found: i32,
        /// The least value allowed.
        least: i32,
        /// The largest value allowed.
        most: i32,
    },
    /// The section table reaches beyond the file.
    #[error("the table of {sections} sections reaches beyond the file")]
    Table {
        /// The number of sections declared.
        sections: u32,
    },
    /// A section in the wrong place or with the wrong content.
    #[error("section {} {reason}", tag.escape_ascii())]
    Section {
        /// The tag of the section.
        tag: [u8; 4],
        /// The defect, as the predicate of a sentence.
        reason: &'static str,
    },
    /// Bytes after the last section.
    #[error("the last section ends at byte {end} of {found}; nothing may follow it")]
    Trailing {
        /// The end of the last section.
        end: usize,
        /// Bytes given.
        found: usize,
    },
}

impl PackError {
    pub(crate) fn section(tag: [u8; 4], reason: &'static str) -> Self {
        Self::Section { tag, reason }
    }
}
