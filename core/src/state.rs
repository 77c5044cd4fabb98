//! The state of a document: all that is kept of its sentences, whatever their number.
//!
//! It has up to `P` rows of 256 bytes. Packs with depth have one table in it, packs with scores up
//! to three, in this order, each from a new row on:
//!
//! | table | type | content |
//! | --- | --- | --- |
//! | `counts` | `[directions][256]` u8 | the number of sentences whose code is at least the index |
//! | `sums` | `[candidates]` u16 | the sum of the candidate's scores |
//! | `weights` | `[candidates]` i32 | the feature weights of the sentence that is being pushed |
//! | `values` | `[candidates]` i32 | the candidate's score for the whole text |

use heapless::Vec;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, transmute_mut, transmute_ref};

use crate::barrier::wipe;
use crate::pack::format::CODES;

/// The bytes of a row.
const ROW_BYTES: usize = CODES;

/// The number of candidates whose sums fit one row. A [`Document<K, P>`](crate::Document) holds the
/// scores of `P * SUMS_PER_ROW` candidates.
pub const SUMS_PER_ROW: usize = ROW_BYTES / size_of::<u16>();

/// The number of candidates whose weights or values fit one row.
pub(crate) const VALUES_PER_ROW: usize = ROW_BYTES / size_of::<i32>();

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4))]
struct Row([u8; ROW_BYTES]);

/// The rows of a document. There are none until [`fill`](State::fill).
pub(crate) struct State<const P: usize>(Vec<Row, P>);

/// Row counts of the three tables of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) sums: usize,
    /// 0 for a pack without features.
    pub(crate) weights: usize,
    /// 0 if the state has no room for them.
    pub(crate) values: usize,
}

impl Layout {
    pub(crate) fn rows(self) -> usize {
        self.sums + self.weights + self.values
    }
}

/// The three tables of scores, each padded to whole rows; empty if the layout has no rows for it.
pub(crate) struct ScoreTables<'s> {
    pub(crate) sums: &'s mut [u16],
    pub(crate) weights: &'s mut [i32],
    pub(crate) values: &'s mut [i32],
}

impl<const P: usize> State<P> {
    pub(crate) const fn new() -> Self {
        // Empty, because a full table would be copied to its place over the stack.
        Self(Vec::new())
    }

    /// Adds zeroed rows in place until there are `rows`.
    // `inline(never)`: inlined, `release` exceeds the stack limit of undertone.h.
    #[inline(never)]
    pub(crate) fn fill(&mut self, rows: usize) {
        while self.0.len() < rows && self.0.push(Row([0; ROW_BYTES])).is_ok() {}
    }

    /// Zeroes all rows.
    // `inline(never)`: as `fill`.
    #[inline(never)]
    pub(crate) fn wipe(&mut self) {
        for Row(row) in &mut self.0 {
            wipe(row);
        }
    }

    /// The table of depth.
    pub(crate) fn counts(&self) -> &[[u8; CODES]] {
        transmute_ref!(self.0.as_slice())
    }

    /// The table of depth, to add to.
    pub(crate) fn counts_mut(&mut self) -> &mut [[u8; CODES]] {
        transmute_mut!(self.0.as_mut_slice())
    }

    /// The tables of scores, to add to. The state is filled.
    pub(crate) fn scores_mut(&mut self, layout: Layout) -> ScoreTables<'_> {
        debug_assert!(self.0.len() >= layout.rows());
        let (sums, rest) = split(&mut self.0, layout.sums);
        let (weights, rest) = split(rest, layout.weights);
        let (values, _) = split(rest, layout.values);
        let sums: &mut [[u16; SUMS_PER_ROW]] = transmute_mut!(sums);
        let weights: &mut [[i32; VALUES_PER_ROW]] = transmute_mut!(weights);
        let values: &mut [[i32; VALUES_PER_ROW]] = transmute_mut!(values);
        ScoreTables {
            sums: sums.as_flattened_mut(),
            weights: weights.as_flattened_mut(),
            values: values.as_flattened_mut(),
        }
    }

    /// The sums of all candidates; empty until the state is filled.
    pub(crate) fn sums(&self, layout: Layout) -> &[u16] {
        let rows = self.0.get(..layout.sums).unwrap_or(&[]);
        let sums: &[[u16; SUMS_PER_ROW]] = transmute_ref!(rows);
        sums.as_flattened()
    }

    /// The values of all candidates; empty until the state is filled, and without room for them.
    pub(crate) fn values(&self, layout: Layout) -> &[i32] {
        let start = layout.sums + layout.weights;
        let rows = self.0.get(start..layout.rows()).unwrap_or(&[]);
        let values: &[[i32; VALUES_PER_ROW]] = transmute_ref!(rows);
        values.as_flattened()
    }
}

/// The first `count` rows and the rest.
fn split(rows: &mut [Row], count: usize) -> (&mut [Row], &mut [Row]) {
    rows.split_at_mut(count.min(rows.len()))
}
