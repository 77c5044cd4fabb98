//! Products of many points with a few centroids, without a copy of the points for each product.
//!
//! A general matrix product packs both factors first. Here one factor has few columns, so packing
//! the points would take as long as multiplying them. They are laid out once instead.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Points whose products are formed in parallel: two of the widest vectors.
pub(super) const BLOCK: usize = 32;

/// Centroids whose products are formed in parallel. With two vectors of points for each, their sums
/// and operands fit the 16 vector registers of AVX2.
pub(super) const TILE: usize = 6;

/// Rows laid out in groups of `N` that are read coordinate by coordinate. The last group is padded
/// with 0.
pub(super) struct Laid<const N: usize> {
    /// `[groups][dimension][N]`.
    values: Vec<[f32; N]>,
    dimension: usize,
}

impl<const N: usize> Laid<N> {
    /// The rows minus `origin`.
    pub(super) fn new(rows: &[f32], origin: &[f32]) -> Self {
        let dimension = origin.len();
        let groups = rows.len().div_ceil(dimension * N);
        let mut values = vec![[0.0; N]; groups * dimension];
        values
            .par_chunks_exact_mut(dimension)
            .zip(rows.par_chunks(dimension * N))
            .for_each(|(group, rows)| {
                for (n, row) in rows.chunks_exact(dimension).enumerate() {
                    for ((values, x), origin) in group.iter_mut().zip(row).zip(origin) {
                        values[n] = x - origin;
                    }
                }
            });
        Self { values, dimension }
    }

    /// Iterates over groups of `N` rows, each `[dimension][N]`.
    pub(super) fn groups(&self) -> impl Iterator<Item = &[[f32; N]]> {
        self.values.chunks_exact(self.dimension)
    }

    /// [`groups`](Self::groups) as a parallel iterator.
    pub(super) fn par_groups(&self) -> rayon::slice::ChunksExact<'_, [f32; N]> {
        self.values.par_chunks_exact(self.dimension)
    }
}

/// Returns x·c for each point x of a block and each centroid c of a tile.
pub(super) fn products(
    arch: Arch,
    block: &[[f32; BLOCK]],
    tile: &[[f32; TILE]],
) -> [[f32; BLOCK]; TILE] {
    arch.dispatch(Products { block, tile })
}

struct Products<'a> {
    block: &'a [[f32; BLOCK]],
    tile: &'a [[f32; TILE]],
}

impl WithSimd for Products<'_> {
    type Output = [[f32; BLOCK]; TILE];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let mut out = [[0.0; BLOCK]; TILE];
        let width = 2 * S::F32_LANES;
        for at in (0..BLOCK).step_by(width) {
            let mut sums = [[simd.splat_f32s(0.0); 2]; TILE];
            for (points, centroids) in self.block.iter().zip(self.tile) {
                let points = S::as_simd_f32s(&points[at..][..width]).0;
                for (sums, centroid) in sums.iter_mut().zip(centroids) {
                    let centroid = simd.splat_f32s(*centroid);
                    for (sum, points) in sums.iter_mut().zip(points) {
                        *sum = simd.mul_add_e_f32s(centroid, *points, *sum);
                    }
                }
            }
            for (out, sums) in out.iter_mut().zip(&sums) {
                S::as_mut_simd_f32s(&mut out[at..][..width])
                    .0
                    .copy_from_slice(sums);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_core::rng::PublicRng;
    use undertone_core::rng::rand_core::Rng;

    #[test]
    fn products_are_those_of_the_rows() {
        let mut rng = PublicRng::new(4);
        // Sums of whole numbers are exact in any order.
        let mut rows = |n: usize, dimension: usize| -> Vec<f32> {
            (0..n * dimension)
                .map(|_| (rng.next_u64() % 17) as f32 - 8.0)
                .collect()
        };
        for (points, centroids, dimension) in [(1, 1, 1), (32, 6, 5), (33, 7, 8), (100, 20, 50)] {
            let (x, c, origin) = (
                rows(points, dimension),
                rows(centroids, dimension),
                rows(1, dimension),
            );
            let blocks = Laid::<BLOCK>::new(&x, &origin);
            let tiles = Laid::<TILE>::new(&c, &vec![0.0; dimension]);
            assert_eq!(blocks.groups().count(), points.div_ceil(BLOCK));
            for (b, block) in blocks.groups().enumerate() {
                for (t, tile) in tiles.groups().enumerate() {
                    let found = products(Arch::new(), block, tile);
                    assert_eq!(found, products(Arch::Scalar, block, tile));
                    for (j, found) in found.iter().enumerate() {
                        for (i, found) in found.iter().enumerate() {
                            let row = |rows: &[f32], n: usize| -> Option<Vec<f32>> {
                                rows.chunks(dimension).nth(n).map(<[f32]>::to_vec)
                            };
                            let expected = match (row(&x, b * BLOCK + i), row(&c, t * TILE + j)) {
                                (Some(x), Some(c)) => x
                                    .iter()
                                    .zip(&origin)
                                    .zip(&c)
                                    .map(|((x, o), c)| (x - o) * c)
                                    .sum(),
                                _ => 0.0,
                            };
                            assert_eq!(*found, expected);
                        }
                    }
                }
            }
        }
    }
}
