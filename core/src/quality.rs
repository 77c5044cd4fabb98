//! The measured accuracy of a pack, on public texts that it was not made from.
//!
//! The table has the share of releases that name the right candidate, by unit, ε and length of
//! text. With it, people choose ε and the unit of privacy of an app without looking at private
//! texts. No program may choose the unit from this table, because the maker of a pack is not
//! trusted. No guarantee depends on the table.

use zerocopy::little_endian::{U16, U32};

use crate::checked::chunk_size;
use crate::epsilon::Epsilon;
use crate::pack::format::{QUALITY_TAG, QualityHead};
use crate::pack::wire::{Arrays, PackError, within, zero};
use crate::unit::Unit;

/// The most values of ε in a table, and the most lengths.
pub const MAX_LISTED: u32 = 64;

/// A checked view of a quality section.
#[derive(Clone, Copy, Debug)]
pub struct Quality<'a> {
    /// Ascending, in micro-units.
    epsilons: &'a [U32],
    /// In sentences; 0: the public texts as they are.
    lengths: &'a [U32],
    /// `[2][epsilons][lengths]`, of 65534; 65535: not measured.
    accuracies: &'a [U16],
    /// `[lengths]`, of 65534: the best candidate, without noise.
    noiseless: &'a [U16],
}

impl<'a> Quality<'a> {
    pub(crate) fn parse(section: &'a [u8]) -> Result<Self, PackError> {
        let (head, mut arrays) = Arrays::open::<QualityHead>(QUALITY_TAG, section)?;
        let count = |name, found: U32| within(name, found.get(), 1, MAX_LISTED);
        let epsilons = count("epsilons of the quality", head.epsilon_count)? as usize;
        let lengths = count("lengths of the quality", head.length_count)? as usize;
        for reserved in head.reserved {
            zero("reserved quality field", reserved.get())?;
        }
        let parsed = Self {
            epsilons: arrays.next(epsilons, 1)?,
            lengths: arrays.next(lengths, 1)?,
            accuracies: arrays.next(2 * epsilons, lengths)?,
            noiseless: arrays.next(lengths, 1)?,
        };
        arrays.finish()?;
        let ascending = parsed.epsilons.is_sorted_by(|a, b| a.get() < b.get());
        let valid = |epsilon: &U32| Epsilon::from_micro(epsilon.get()).is_ok();
        if !ascending || !parsed.epsilons.iter().all(valid) {
            let reason = "has epsilons that are not valid, in ascending order";
            return Err(PackError::section(QUALITY_TAG, reason));
        }
        Ok(parsed)
    }

    /// The values of ε that were measured, ascending.
    pub fn epsilons(&self) -> impl Iterator<Item = Epsilon> + use<'a> {
        let epsilons = self.epsilons.iter();
        epsilons.filter_map(|epsilon| Epsilon::from_micro(epsilon.get()).ok())
    }

    /// The lengths that were measured, in sentences; 0 stands for the public texts as they are.
    pub fn lengths(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.lengths.iter().map(|length| length.get())
    }

    /// The share of releases that name the right candidate, in 65534ths. `None` if it was not
    /// measured, and for words and vectors.
    ///
    /// # Shapes
    /// `epsilon`, `length`: indices into [`epsilons`](Self::epsilons) and
    /// [`lengths`](Self::lengths).
    pub fn accuracy(&self, unit: Unit, epsilon: usize, length: usize) -> Option<u16> {
        if epsilon >= self.epsilons.len() {
            return None;
        }
        let table = match unit {
            Unit::Sentence => 0,
            Unit::WholeText => 1,
            Unit::Word | Unit::Vector => return None,
        };
        let row = table * self.epsilons.len() + epsilon;
        let mut rows = self.accuracies.chunks_exact(chunk_size(self.lengths.len()));
        measured(rows.nth(row)?.get(length)?)
    }

    /// The share of texts whose best candidate is the right one, without noise, in 65534ths. `None`
    /// if it was not measured.
    pub fn noiseless(&self, length: usize) -> Option<u16> {
        measured(self.noiseless.get(length)?)
    }
}

fn measured(accuracy: &U16) -> Option<u16> {
    Some(accuracy.get()).filter(|accuracy| *accuracy != u16::MAX)
}
