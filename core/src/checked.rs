//! Parts of slices whose ranges other code has made sure of: asserted in debug builds, and without
//! a panic in release builds.

use core::cmp;
use core::slice::SliceIndex;

/// The part of `slice` at `range`. A range outside `slice` is a bug: it fails an assertion in debug
/// builds and gives an empty slice in release builds.
#[inline(always)]
#[track_caller]
pub(crate) fn part<T>(slice: &[T], range: impl SliceIndex<[T], Output = [T]>) -> &[T] {
    let found = slice.get(range);
    debug_assert!(found.is_some(), "a range outside the slice");
    found.unwrap_or_default()
}

/// As [`part`], mutably.
#[inline(always)]
#[track_caller]
pub(crate) fn part_mut<T>(slice: &mut [T], range: impl SliceIndex<[T], Output = [T]>) -> &mut [T] {
    let found = slice.get_mut(range);
    debug_assert!(found.is_some(), "a range outside the slice");
    found.unwrap_or_default()
}

/// The parts of `slice` before `middle` and from it on. A `middle` outside `slice` is a bug, as for
/// [`part`].
#[inline(always)]
#[track_caller]
pub(crate) fn split_mut<T>(slice: &mut [T], middle: usize) -> (&mut [T], &mut [T]) {
    debug_assert!(middle <= slice.len(), "a split outside the slice");
    slice.split_at_mut(cmp::min(middle, slice.len()))
}

/// The size of chunks: `length`, or 1 instead of 0, of which slices have no chunks. Tells the
/// compiler what parsing has made sure of; without it a panic would remain.
#[inline(always)]
pub(crate) fn chunk_size(length: usize) -> usize {
    cmp::max(length, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_inside_are_found() {
        let mut numbers = [1, 2, 3];
        assert_eq!(part(&numbers, 1..), [2, 3]);
        assert!(part(&numbers, 3..).is_empty());
        part_mut(&mut numbers, ..2).fill(0);
        assert_eq!(split_mut(&mut numbers, 2).1, [3]);
        assert_eq!(numbers, [0, 0, 3]);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a range outside the slice")]
    fn a_range_outside_is_a_bug() {
        part(&[1, 2, 3], 2..4);
    }
}
