//! Row groups whose columns all have dictionaries, as most programs write columns of few values:
//! combinations of dictionary entries are counted, and an entry is checked once instead of once a
//! row.
//!
//! The Parquet library decompresses pages; this module decodes the indices in them. Anything
//! unusual is left to the reader of rows.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::data_type::ByteArray;

/// Most rows of a row group, to bound memory.
const MOST_ROWS: usize = 1 << 22;

/// Up to twice the rows and this many combinations are counted in an array.
const ARRAY: u64 = 1 << 16;

/// A column's dictionary: the encoded entries and their number.
pub(super) struct Entries {
    pub(super) bytes: ByteArray,
    pub(super) count: usize,
}

/// Rows as numbers of combinations of entries.
pub(super) struct Rows {
    keys: Vec<u64>,
    stride: u64,
    strides: Vec<(u64, u64)>,
}

impl Rows {
    /// None for more than `MOST_ROWS`.
    pub(super) fn new(rows: i64) -> Option<Self> {
        let rows = usize::try_from(rows)
            .ok()
            .filter(|rows| *rows <= MOST_ROWS)?;
        Some(Self {
            keys: vec![0; rows],
            stride: 1,
            strides: Vec::new(),
        })
    }

    /// Adds a column whose values have at most `level` definition levels. None if a page has no
    /// dictionary or a value is missing.
    pub(super) fn add(&mut self, pages: &mut dyn PageReader, level: i16) -> Option<Entries> {
        let page = pages.get_next_page().ok()??;
        let is_plain = matches!(
            page.encoding(),
            Encoding::PLAIN | Encoding::PLAIN_DICTIONARY
        );
        if !matches!(page, Page::DictionaryPage { .. }) || !is_plain {
            return None;
        }
        let entries = Entries {
            bytes: ByteArray::from(page.buffer().clone()),
            count: usize::try_from(page.num_values()).ok()?,
        };
        // An entry has a byte at least, or a page of nothing could claim billions of them.
        if entries.count > entries.bytes.len() {
            return None;
        }
        let count = u64::from(page.num_values());
        let all = self.stride.checked_mul(count.max(1))?;
        let mut keys = self.keys.iter_mut();
        let stride = self.stride;
        while let Some(page) = pages.get_next_page().ok()? {
            let values = page.num_values();
            let buf = match &page {
                Page::DataPage { buf, .. } if level == 0 => &buf[..],
                Page::DataPage {
                    buf,
                    def_level_encoding: Encoding::RLE,
                    ..
                } => after_levels(buf, level, values)?,
                Page::DataPageV2 {
                    buf,
                    num_nulls: 0,
                    def_levels_byte_len,
                    rep_levels_byte_len: 0,
                    ..
                } => buf.get(usize::try_from(*def_levels_byte_len).ok()?..)?,
                _ => return None,
            };
            if !matches!(
                page.encoding(),
                Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY
            ) {
                return None;
            }
            let (width, packed) = buf.split_first()?;
            let mut inside = true;
            unpack(packed, *width, values, |number, times| {
                inside &= u64::from(number) < count;
                let add = u64::from(number).wrapping_mul(stride);
                for key in keys.by_ref().take(times) {
                    *key = key.wrapping_add(add);
                }
            })?;
            if !inside {
                return None;
            }
        }
        if keys.next().is_some() {
            return None;
        }
        self.strides.push((stride, count.max(1)));
        self.stride = all;
        Some(entries)
    }

    /// Calls `each` with every combination in use: the entry of each column, and the number of
    /// rows.
    pub(super) fn combinations(mut self, mut each: impl FnMut(&[usize], u64)) {
        let mut entries = vec![0; self.strides.len()];
        if self.stride <= 2 * self.keys.len() as u64 + ARRAY {
            let mut counts = vec![0u32; self.stride as usize];
            for key in &self.keys {
                counts[*key as usize] += 1;
            }
            for count in counts {
                if count > 0 {
                    each(&entries, count.into());
                }
                // The next key, without a division.
                for (entry, (_, most)) in entries.iter_mut().zip(&self.strides) {
                    *entry += 1;
                    if (*entry as u64) < *most {
                        break;
                    }
                    *entry = 0;
                }
            }
        } else {
            self.keys.sort_unstable();
            for keys in self.keys.chunk_by(|one, other| one == other) {
                for (entry, (stride, most)) in entries.iter_mut().zip(&self.strides) {
                    *entry = (keys[0] / stride % most) as usize;
                }
                each(&entries, keys.len() as u64);
            }
        }
    }
}

/// The bytes after the definition levels, if no value is missing.
fn after_levels(buf: &[u8], level: i16, values: u32) -> Option<&[u8]> {
    let (length, rest) = buf.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (levels, rest) = rest.split_at_checked(length)?;
    let wanted = u32::try_from(level).ok()?;
    let width = 32 - wanted.leading_zeros();
    let mut there = true;
    unpack(levels, width as u8, values, |found, _| {
        there &= found == wanted
    })?;
    there.then_some(rest)
}

/// Decodes integers of `width` bits in Parquet's hybrid of runs and packed groups of eight, and
/// calls `each` with an integer and its number of repetitions. None if there are fewer than
/// `wanted`.
fn unpack(
    mut bytes: &[u8],
    width: u8,
    wanted: u32,
    mut each: impl FnMut(u32, usize),
) -> Option<()> {
    let width = usize::from(width);
    if width > 32 {
        return None;
    }
    let mask = (1u64 << width) - 1;
    let mut left = wanted as usize;
    while left > 0 {
        let header = varint(&mut bytes)?;
        let length = (header >> 1) as usize;
        let count;
        if header & 1 == 0 {
            let value = bytes.split_off(..width.div_ceil(8))?.iter().rev();
            let value = value.fold(0, |all, byte| all << 8 | u32::from(*byte));
            count = length.min(left);
            each(value, count);
        } else {
            let packed = length.saturating_mul(width);
            // The last group of a page may be cut off.
            let group = bytes.split_off(..packed.min(bytes.len()))?;
            count = left.min(length.saturating_mul(8));
            if count.saturating_mul(width) > group.len() * 8 {
                return None;
            }
            let (mut held, mut bits, mut next) = (0u64, 0, group.iter());
            for _ in 0..count {
                while bits < width {
                    held |= u64::from(next.next().copied().unwrap_or(0)) << bits;
                    bits += 8;
                }
                each((held & mask) as u32, 1);
                held >>= width;
                bits -= width;
            }
        }
        if count == 0 {
            return None;
        }
        left -= count;
    }
    Some(())
}

fn varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let byte = bytes.split_off_first()?;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::unpack;

    fn all(bytes: &[u8], width: u8, wanted: u32) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        unpack(bytes, width, wanted, |value, times| {
            found.extend(std::iter::repeat_n(value, times));
        })?;
        Some(found)
    }

    /// The example of the specification: 0 to 7 in three bits each.
    #[test]
    fn numbers_are_unpacked() {
        let packed = [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(all(&packed, 3, 8), Some((0..8).collect()));
        assert_eq!(all(&packed, 3, 5), Some((0..5).collect()));
        assert_eq!(all(&packed, 3, 9), None);
        assert_eq!(all(&[20, 7, 1], 12, 10), Some(vec![263; 10]));
        assert_eq!(all(&[20], 0, 10), Some(vec![0; 10]));
        assert_eq!(all(&[0xff; 9], 1, 3), None);
        assert_eq!(all(&[], 1, 0), Some(vec![]));
        assert_eq!(all(&[0, 0], 8, 1), None, "a run of nothing");
        assert_eq!(all(&[2], 33, 1), None);
    }
}
