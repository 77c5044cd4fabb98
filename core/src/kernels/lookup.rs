//! Looking up the features of a sentence and adding their weights, compiled for the instructions of
//! each backend.

use core::cmp;

use zerocopy::little_endian::{U16, U32};

use super::limits::VECTORS;
use crate::barrier::wipe;
use crate::checked::{chunk_size, part};

/// `starts` has one offset per `ROWS_PER_START` rows.
pub const ROWS_PER_START: usize = 16;

/// Keys that are compared together.
pub(crate) const FEW_KEYS: usize = 32;

/// Features that are looked up together.
pub(crate) const BATCH: usize = 64;

/// The most occurrences of features that are looked up together, so that their weights fit 16 bits.
pub(crate) const MOST_TOGETHER: usize = 255;

/// Bits of a key below those of its bucket.
const KEY_BITS: u32 = 16;

/// The rows of a section of features.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    pub(crate) candidates: usize,
    /// log₂ of the number of buckets.
    pub(crate) bucket_bits: u32,
    /// `[buckets + 1]`: the offset of the keys of each bucket.
    pub(crate) buckets: &'a [U32],
    /// `[features]`, ascending in each bucket.
    pub(crate) keys: &'a [U16],
    /// `[features][⌈candidates / 8⌉]`: a bit for each weight that is not 0.
    pub(crate) bitmaps: &'a [u8],
    /// `[⌈features / 16⌉]`: the offset of the weights of every sixteenth row.
    pub(crate) starts: &'a [U32],
    /// The weights that are not 0, row by row.
    pub(crate) weights: &'a [i8],
}

impl<'a> Table<'a> {
    /// Whether every lookup finds what there is to find.
    pub(crate) fn buckets_are_sound(&self) -> bool {
        let mut start = 0;
        let ascending = |keys: &[U16]| keys.is_sorted_by(|a, b| a.get() < b.get());
        let covered = self.buckets.iter().all(|end| {
            let end = end.get() as usize;
            let sound = self.keys.get(start..end).is_some_and(ascending);
            start = end;
            sound
        });
        let first = self.buckets.first().is_some_and(|first| first.get() == 0);
        covered && first && start == self.keys.len()
    }

    /// Whether the bits of the bitmaps are those of the candidates, and count the weights.
    pub(crate) fn rows_are_sound(&self) -> bool {
        let bytes = self.row_bytes();
        // Bits after the last candidate.
        let beyond = (!0u8 << ((self.candidates - 1) % 8)) << 1;
        let mut weights = 0;
        let mut rows = self.bitmaps.chunks_exact(bytes).enumerate();
        let sound = rows.all(|(index, bitmap)| {
            let starts_here = index % ROWS_PER_START != 0
                || self
                    .starts
                    .get(index / ROWS_PER_START)
                    .map(|start| start.get() as usize)
                    == Some(weights);
            weights += bits(bitmap, bytes);
            starts_here && bitmap.last().is_some_and(|last| last & beyond == 0)
        });
        sound && weights == self.weights.len()
    }

    /// The bytes of a bitmap.
    pub(crate) fn row_bytes(&self) -> usize {
        chunk_size(self.candidates.div_ceil(8))
    }

    /// The row of the feature with this hash, and whether it exists: not an `Option`, because a
    /// branch on it would be unpredictable.
    #[inline(always)]
    fn find(
        &self,
        hash: u32,
        position: impl Fn(&[U16; FEW_KEYS], u32, u16) -> u32 + Copy,
    ) -> (u32, bool) {
        let (bucket, key) = place(hash, self.bucket_bits);
        let Some([start, end]) = self.buckets.get(bucket..bucket + 2) else {
            return (0, false);
        };
        let (start, end) = (start.get(), end.get());
        let length = end.wrapping_sub(start);
        let first = start as usize;
        let few = self.keys.get(first..first + FEW_KEYS);
        let place = match few.and_then(<[U16]>::first_chunk) {
            Some(keys) if length <= FEW_KEYS as u32 => position(keys, length, key),
            _ => self.among(first, length, key),
        };
        (start.wrapping_add(place), place < length)
    }

    /// The key's place in a bucket that has many keys, or is one of the last.
    // `inline(never)`: keeps the code of the common case together.
    #[cold]
    #[inline(never)]
    fn among(&self, first: usize, length: u32, key: u16) -> u32 {
        among(part(self.keys, first..), length, key)
    }

    /// The bitmap of a row and its weights, each with all that follow.
    #[inline(always)]
    fn row(
        &self,
        index: usize,
        bits: impl Fn(&[u8], usize) -> usize,
    ) -> Option<(&'a [u8], &'a [i8])> {
        let bytes = self.row_bytes();
        let block = index / ROWS_PER_START;
        let rows = self.bitmaps.get(block * ROWS_PER_START * bytes..)?;
        let passed = index % ROWS_PER_START * bytes;
        let start = self.starts.get(block)?.get() as usize + bits(rows, passed);
        Some((rows.get(passed..)?, self.weights.get(start..)?))
    }

    /// Visits the first `most` features that the table contains, and returns their number. A
    /// kernel: compiled for the instructions of each backend. `position` returns the place of a key
    /// among the first of a few, or any larger number; `bits` is [`bits`]; `visit` takes the bitmap
    /// of a row and its weights, each with all that follow, and the number of its occurrences.
    #[inline(always)]
    pub(crate) fn each_known(
        &self,
        hashes: &[u32],
        times: Option<&[u8]>,
        most: u32,
        position: impl Fn(&[U16; FEW_KEYS], u32, u16) -> u32 + Copy,
        bits: impl Fn(&[u8], usize) -> usize + Copy,
        mut visit: impl FnMut(&'a [u8], &'a [i8], u8),
    ) -> u32 {
        // Finds all features before it adds any.
        let mut rows = [0u32; BATCH];
        let mut left = most;
        let row = |row: &u32| self.row(*row as usize, bits);
        match times {
            Some(times) if VECTORS => {
                let mut each_times = [0u8; BATCH];
                let mut found = 0;
                for (hash, times) in hashes.iter().zip(times) {
                    if let Some(place) = each_times.get_mut(found) {
                        *place = *times;
                    }
                    self.find_next(*hash, position, &mut rows, &mut found);
                }
                for (place, times) in rows.iter().zip(&each_times).take(found) {
                    let times = cmp::min(u32::from(*times), left);
                    left -= times;
                    if let Some((bitmap, weights)) = row(place) {
                        visit(bitmap, weights, times as u8);
                    }
                }
                wipe(&mut each_times);
            }
            _ => {
                let mut found = 0;
                for hash in hashes {
                    self.find_next(*hash, position, &mut rows, &mut found);
                }
                let rows = rows.iter().take(cmp::min(found, left as usize));
                left -= rows.len() as u32;
                for (bitmap, weights) in rows.filter_map(row) {
                    visit(bitmap, weights, 1);
                }
            }
        }
        wipe(&mut rows);
        most - left
    }

    /// Appends the row of a feature to `rows`, if the table contains the feature.
    #[inline(always)]
    fn find_next(
        &self,
        hash: u32,
        position: impl Fn(&[U16; FEW_KEYS], u32, u16) -> u32 + Copy,
        rows: &mut [u32; BATCH],
        found: &mut usize,
    ) {
        let (row, is_known) = self.find(hash, position);
        if let Some(place) = rows.get_mut(*found) {
            *place = row;
        }
        *found += usize::from(is_known);
    }
}

/// Adds the weights of one row: one for each set bit in the first `count` bytes. A kernel.
#[inline(always)]
pub(crate) fn add_row(bitmap: &[u8], count: usize, weights: &[i8], times: u8, sums: &mut [i32]) {
    // Without vectors each occurrence is looked up.
    let times = if VECTORS { i32::from(times) } else { 1 };
    let mut weights = weights.iter();
    for (start, sums) in (0..count).step_by(8).zip(sums.chunks_mut(64)) {
        let mut used = word(bitmap, start, count);
        while used != 0
            && let Some(weight) = weights.next()
        {
            // Parsing refuses bits without a candidate.
            if let Some(sum) = sums.get_mut(used.trailing_zeros() as usize) {
                *sum = sum.wrapping_add(times * i32::from(*weight));
            }
            used &= used - 1;
        }
    }
}

/// The bucket and the key of a feature: the highest bits of its hash, and the next sixteen.
pub fn place(hash: u32, bucket_bits: u32) -> (usize, u16) {
    let bucket = (u64::from(hash) << bucket_bits >> 32) as usize;
    let key = (u64::from(hash) << bucket_bits >> (32 - KEY_BITS)) as u16;
    (bucket, key)
}

/// The place of a key among the first `count`, which ascend; a larger number if it is missing.
pub(crate) fn among(keys: &[U16], count: u32, key: u16) -> u32 {
    let keys = part(keys, ..count as usize);
    let place = keys.binary_search_by_key(&key, |other| other.get());
    place.map_or(u32::MAX, |place| place as u32)
}

/// The number of set bits in the first `count` bytes. A kernel.
#[inline(always)]
pub(crate) fn bits(bytes: &[u8], count: usize) -> usize {
    let words = (0..count).step_by(8);
    let bits = words.map(|start| word(bytes, start, count).count_ones());
    bits.sum::<u32>() as usize
}

/// For each set bit of a byte, the number of set bits below it; for others 128, which shuffles to
/// 0.
#[expect(clippy::indexing_slicing, reason = "done by the compiler")]
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
static EXPANSIONS: [[u8; 8]; 256] = {
    let mut places = [[128; 8]; 256];
    let mut byte = 0;
    while byte < places.len() {
        let mut bit = 0;
        let mut below = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                places[byte][bit] = below;
                below += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    places
};

/// The entry of [`EXPANSIONS`] for a byte.
#[expect(
    clippy::indexing_slicing,
    reason = "the table has an entry for each byte"
)]
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
#[inline(always)]
pub(super) fn expansion(byte: u8) -> [u8; 8] {
    EXPANSIONS[usize::from(byte)]
}

/// Eight weights from `start` on, of few. A `start` beyond the last eight is a bug.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
#[inline(always)]
pub(super) fn eight_weights(weights: &[i8; 32], start: usize) -> [i8; 8] {
    let eight = weights.get(start..).and_then(<[i8]>::first_chunk);
    debug_assert!(eight.is_some(), "weights of more than 32 candidates");
    *eight.unwrap_or(&[0; 8])
}

/// Eight bytes from `start`, with zeroes from `end` on.
#[inline(always)]
pub(crate) fn word(bytes: &[u8], start: usize, end: usize) -> u64 {
    let rest = part(bytes, start..);
    let count = cmp::min(end.saturating_sub(start), 8);
    match rest.first_chunk() {
        // Reads all eight and masks the rest, because the length of a loop is unpredictable.
        Some(eight) => u64::from_le_bytes(*eight) & u64::MAX >> (64 - 8 * cmp::max(count, 1)),
        None => {
            let bytes = rest.iter().take(count).zip((0..).step_by(8));
            bytes.fold(0, |word, (byte, place)| word | u64::from(*byte) << place)
        }
    }
}

/// The bits of a row of up to four bytes. Other rows may follow.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
#[inline]
pub(super) fn few_bits(rows: &[u8], bytes: usize) -> u32 {
    let four = match rows.first_chunk() {
        Some(four) => u32::from_le_bytes(*four),
        None => word(rows, 0, rows.len()) as u32,
    };
    let beyond = 8 * (4 - bytes as u32);
    four << beyond >> beyond
}

/// The last weights, if there are fewer than `N`, padded with zeroes.
// `inline(never)`: inlined, sums in registers would be stored before it.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
#[cold]
#[inline(never)]
pub(super) fn last_weights<const N: usize>(weights: &[i8]) -> [i8; N] {
    let mut last = [0; N];
    for (to, from) in last.iter_mut().zip(weights) {
        *to = *from;
    }
    last
}

/// `count` bytes of ones, then zeroes; `None` for more than 64.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
#[inline]
pub(super) fn mask(count: usize) -> Option<&'static [u8; 64]> {
    static ONES: [[u8; 64]; 2] = [[0xff; 64], [0; 64]];
    let start = 64usize.checked_sub(count)?;
    ONES.as_flattened().get(start..)?.first_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Backend;
    use crate::rng::PublicRng;
    use rand_core::Rng;
    use std::vec;
    use std::vec::Vec;

    /// The arrays of a section.
    struct Section {
        buckets: Vec<U32>,
        keys: Vec<U16>,
        bitmaps: Vec<u8>,
        starts: Vec<U32>,
        weights: Vec<i8>,
        /// `[features][candidates]`.
        rows: Vec<Vec<i8>>,
    }

    impl Section {
        /// `sizes`: the features of each bucket.
        fn new(rng: &mut PublicRng, sizes: &[usize], candidates: usize) -> Self {
            let mut section = Self {
                buckets: vec![0.into()],
                keys: Vec::new(),
                bitmaps: Vec::new(),
                starts: Vec::new(),
                weights: Vec::new(),
                rows: Vec::new(),
            };
            for size in sizes {
                let step = 65536 / size.max(&1);
                let first = rng.next_u32() as usize % step;
                let keys = (0..*size).map(|i| U16::new((first + i * step) as u16));
                section.keys.extend(keys);
                section.buckets.push((section.keys.len() as u32).into());
            }
            for index in 0..section.keys.len() {
                let seldom = 1 + rng.next_u32() % 9;
                let mut weight = || {
                    rng.next_u32()
                        .is_multiple_of(seldom)
                        .then_some(rng.next_u32() as i8)
                };
                let row = (0..candidates).map(|_| weight().unwrap_or(0)).collect();
                section.push_row(index, row);
            }
            section
        }

        fn push_row(&mut self, index: usize, row: Vec<i8>) {
            if index.is_multiple_of(ROWS_PER_START) {
                self.starts.push((self.weights.len() as u32).into());
            }
            self.bitmaps.extend(row.chunks(8).map(|eight| {
                let bits = eight.iter().enumerate();
                bits.fold(0, |byte, (i, weight)| byte | u8::from(*weight != 0) << i)
            }));
            self.weights
                .extend(row.iter().filter(|weight| **weight != 0));
            self.rows.push(row);
        }

        fn table(&self, candidates: usize) -> Table<'_> {
            Table {
                candidates,
                bucket_bits: (self.buckets.len() - 1).ilog2(),
                buckets: &self.buckets,
                keys: &self.keys,
                bitmaps: &self.bitmaps,
                starts: &self.starts,
                weights: &self.weights,
            }
        }
    }

    /// Every backend finds exactly the rows that exist, and adds them up to the limit.
    #[test]
    fn backends_add_the_same() {
        let mut rng = PublicRng::new(29);
        // Numbers of keys around the number that a kernel compares, in first, inner and last
        // buckets.
        let many = [
            [3, 0, 33, 70, 16, 31, 32, 1],
            [0, 0, 9, 2, 200, 1, 0, 0],
            [0, 1, 0, 0, 0, 0, 0, 0],
        ];
        for sizes in many {
            for candidates in [1, 7, 8, 16, 17, 20, 63, 64, 65, 150, 200] {
                let section = Section::new(&mut rng, &sizes, candidates);
                let table = section.table(candidates);
                assert!(table.buckets_are_sound() && table.rows_are_sound());
                let hash = |bucket: usize, key: u16| (bucket as u32) << 29 | u32::from(key) << 13;
                let there = (0..8).flat_map(|bucket| {
                    let [start, end] = [0, 1].map(|i| section.buckets[bucket + i].get() as usize);
                    (start..end).map(move |row| (bucket, row))
                });
                let mut hashes: Vec<(u32, Option<usize>)> = there
                    .map(|(bucket, row)| (hash(bucket, section.keys[row].get()), Some(row)))
                    .collect();
                let known: Vec<u32> = hashes.iter().map(|(hash, _)| *hash).collect();
                let others = (0..100).map(|_| rng.next_u32() >> 13 << 13);
                hashes.extend(
                    others
                        .filter(|hash| !known.contains(hash))
                        .map(|hash| (hash, None)),
                );
                for most in [u32::MAX, 5] {
                    let turn = rng.next_u32() as usize % hashes.len();
                    hashes.rotate_left(turn);
                    let batch = &hashes[..hashes.len().min(BATCH)];
                    // At most 255 in all.
                    let each: Vec<u8> = batch
                        .iter()
                        .map(|_| match rng.next_u32() % 8 {
                            0 => 0,
                            1 => 12,
                            _ => 1,
                        })
                        .scan(MOST_TOGETHER as u8, |left, times: u8| {
                            let times = times.min(*left);
                            *left -= times;
                            Some(times)
                        })
                        .collect();
                    let mut expected = vec![0i32; candidates];
                    let mut left = most;
                    for ((_, row), times) in batch.iter().zip(&each) {
                        let Some(row) = row else { continue };
                        let times = left.min((*times).into());
                        left -= times;
                        for (sum, weight) in expected.iter_mut().zip(&section.rows[*row]) {
                            *sum += times as i32 * i32::from(*weight);
                        }
                    }
                    expected.resize(candidates.next_multiple_of(64), 0);
                    let batch: Vec<u32> = batch.iter().map(|(hash, _)| *hash).collect();
                    for backend in Backend::available() {
                        let mut sums = vec![0; candidates.next_multiple_of(64)];
                        let count =
                            backend.add_features(&table, &batch, Some(&each), most, &mut sums);
                        assert_eq!((count, &sums), (most - left, &expected));
                    }
                }
            }
        }
    }
}
