//! k-means clustering.
//!
//! The seeding is greedy k-means++ (Arthur and Vassilvitskii 2007), which draws several points and
//! keeps the one that lowers the sum of squares most. Lloyd's iterations (Lloyd 1982) follow.
//! Distances come from a matrix product: the nearest centroid c of a point x minimises ‖c‖²/2 −
//! x·c.
//!
//! The same points and seed give the same clusters on one machine with any number of threads,
//! because the sum of a cluster is formed over its points, in order. Another processor may round
//! differently, because the matrix product picks its instructions by the processor.

use nalgebra::DMatrix;
use rayon::prelude::*;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;

use crate::encoder::vectors::{Mean, mean};
use crate::error::{Error, Result};

/// The most Lloyd iterations of [`kmeans`]; it needs a few dozen.
pub const MAX_ITERATIONS: usize = 300;

/// Points drawn per centroid in the seeding, instead of the usual 2 + ln k.
const TRIALS: usize = 8;

/// Points of a matrix product.
const BLOCK: usize = 512;

/// The result of [`kmeans`].
#[derive(Clone, PartialEq)]
// No Debug: the points may be private.
pub struct Clusters {
    /// The means of the clusters, `[clusters][dimension]` row-major.
    pub centroids: Vec<f32>,
    /// `[points]`: the cluster of each point, in `0..clusters`. Some clusters have no point if
    /// there are fewer distinct points than clusters.
    pub assignment: Vec<usize>,
    /// The number of Lloyd iterations.
    pub iterations: usize,
    /// The sum of the squared distances between the points and their centroids.
    pub inertia: f64,
}

/// Clusters `points`, `[points][dimension]` row-major.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for no clusters or more clusters than
/// points; [`ErrorKind::Input`](crate::error::ErrorKind::Input).
///
/// # Panics
/// If `points` is not a whole number of rows.
///
/// # Cost
/// For each iteration 2·points·clusters·dimension operations in a matrix product on all threads;
/// seeding costs about as much as twelve iterations. Memory: a second copy of the points.
pub fn kmeans(points: &[f32], dimension: usize, clusters: usize, seed: u64) -> Result<Clusters> {
    check(points, dimension, clusters)?;
    let points = Points::new(points, dimension);
    let centroids = points.seeds(clusters, &mut PublicRng::new(seed));
    Ok(points.lloyd(centroids, MAX_ITERATIONS))
}

/// Runs Lloyd's iterations from given centroids, `[clusters][dimension]` row-major, until no point
/// changes its cluster or `max_iterations` is reached.
///
/// A cluster that loses all its points restarts at the point farthest from its centroid.
///
/// # Errors
/// See [`kmeans`].
///
/// # Panics
/// If `points` or `centroids` is not a whole number of rows.
pub fn lloyd(
    points: &[f32],
    dimension: usize,
    centroids: &[f32],
    max_iterations: usize,
) -> Result<Clusters> {
    assert!(dimension > 0, "a point has at least one coordinate");
    check(points, dimension, centroids.len() / dimension)?;
    check_finite("centroid", centroids, dimension)?;
    let points = Points::new(points, dimension);
    let mut centroids = centroids.to_vec();
    for row in centroids.chunks_exact_mut(dimension) {
        around(row, &points.origin);
    }
    Ok(points.lloyd(centroids, max_iterations))
}

/// Converts rows to directions from `centre`: (x − centre)/‖x − centre‖, and 0 for the centre
/// itself.
///
/// # Panics
/// If `centre` does not have `dimension` coordinates, or `points` is not a whole number of rows.
pub fn normalised(points: &[f32], dimension: usize, centre: &[f32]) -> Vec<f32> {
    assert_eq!(
        centre.len(),
        dimension,
        "the centre is a vector like the others"
    );
    assert_eq!(points.len() % dimension, 0, "whole rows");
    let mut out = points.to_vec();
    out.par_chunks_exact_mut(dimension).for_each(|row| {
        // The square of a finite f32 does not overflow in 64 bits.
        let length = squared_distance(row, centre).sqrt();
        let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
        for (x, c) in row.iter_mut().zip(centre) {
            *x = ((f64::from(*x) - f64::from(*c)) * factor) as f32;
        }
    });
    out
}

fn check(points: &[f32], dimension: usize, clusters: usize) -> Result<()> {
    assert!(dimension > 0, "a point has at least one coordinate");
    let n = points.len() / dimension;
    if clusters == 0 || clusters > n {
        return Err(Error::argument(format!(
            "cannot make {clusters} clusters of {n} points; there must be at least \
             one cluster, and a point for each"
        )));
    }
    check_finite("point", points, dimension)
}

/// Refuses NaN and infinities.
pub(crate) fn check_finite(what: &'static str, rows: &[f32], dimension: usize) -> Result<()> {
    assert_eq!(rows.len() % dimension, 0, "whole rows");
    match rows.iter().position(|x| !x.is_finite()) {
        Some(position) => Err(Error::not_finite_row(what, position / dimension)),
        None => Ok(()),
    }
}

/// The index of the least value; the first if there are several.
pub(super) fn least(values: impl Iterator<Item = f32>) -> usize {
    let mut best = (0, f32::INFINITY);
    for (index, value) in values.enumerate() {
        if value < best.1 {
            best = (index, value);
        }
    }
    best.0
}

/// ‖a − b‖².
fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    let differences = a.iter().zip(b);
    differences
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2))
        .sum()
}

/// Half the squared length of each row.
fn half_squares(rows: &[f32], dimension: usize) -> Vec<f32> {
    let zero = vec![0.0; dimension];
    rows.par_chunks_exact(dimension)
        .map(|row| (squared_distance(row, &zero) / 2.0) as f32)
        .collect()
}

/// Transposes the rows.
// A copy, not a view with strides: with a view, nalgebra 0.35.0 writes out of bounds if its product
// of small matrices goes column by column (dimforge/nalgebra issue 1616).
pub(crate) fn transposed<T: Copy>(rows: &[T], dimension: usize) -> Vec<T> {
    (0..dimension)
        .flat_map(|column| rows[column..].iter().step_by(dimension).copied())
        .collect()
}

/// Points relative to their mean, so that differences of products do not cancel.
struct Points {
    /// Their mean.
    origin: Vec<f32>,
    /// `[points][dimension]`, relative to the mean.
    rows: Vec<f32>,
    /// Half the squared length of each.
    halves: Vec<f32>,
    /// [`BLOCK`] points each, as columns.
    blocks: Vec<DMatrix<f32>>,
}

impl Points {
    fn new(rows: &[f32], dimension: usize) -> Self {
        let origin = mean(rows, dimension);
        let mut rows = rows.to_vec();
        rows.par_chunks_exact_mut(dimension)
            .for_each(|row| around(row, &origin));
        let blocks = rows.par_chunks(BLOCK * dimension);
        Self {
            blocks: blocks
                .map(|rows| DMatrix::from_column_slice(dimension, rows.len() / dimension, rows))
                .collect(),
            halves: half_squares(&rows, dimension),
            origin,
            rows,
        }
    }

    fn dimension(&self) -> usize {
        self.origin.len()
    }

    fn len(&self) -> usize {
        self.halves.len()
    }

    fn row(&self, index: usize) -> &[f32] {
        &self.rows[index * self.dimension()..][..self.dimension()]
    }

    /// Returns the products of the points of each block, as columns, with these centroids.
    fn products(&self, centroids: &[f32]) -> impl IndexedParallelIterator<Item = DMatrix<f32>> {
        let clusters = centroids.len() / self.dimension();
        let centroids = DMatrix::from_row_slice(clusters, self.dimension(), centroids);
        self.blocks.par_iter().map(move |block| &centroids * block)
    }

    /// Greedy k-means++.
    fn seeds(&self, clusters: usize, rng: &mut PublicRng) -> Vec<f32> {
        let first = (rng.next_u64() % self.len() as u64) as usize;
        let mut chosen = vec![first];
        let unknown = vec![f32::INFINITY; self.len()];
        let mut nearest = self.nearer(&[first], &unknown).remove(0);
        while chosen.len() < clusters {
            let drawn = draw(&nearest, TRIALS, rng);
            let mut tried = self.nearer(&drawn, &nearest);
            let totals = tried
                .iter()
                .map(|own| own.iter().map(|d| f64::from(*d)).sum::<f64>());
            let best = least(totals.map(|total| total as f32));
            chosen.push(drawn[best]);
            nearest = tried.swap_remove(best);
        }
        self.rows_of(&chosen)
    }

    fn rows_of(&self, chosen: &[usize]) -> Vec<f32> {
        chosen.iter().flat_map(|i| self.row(*i)).copied().collect()
    }

    /// For each chosen point, returns the squared distance of all points to it, or to the nearest
    /// centroid so far if that is nearer.
    fn nearer(&self, chosen: &[usize], nearest: &[f32]) -> Vec<Vec<f32>> {
        let products: Vec<DMatrix<f32>> = self.products(&self.rows_of(chosen)).collect();
        let of_chosen = |(j, index): (usize, &usize)| {
            let half = self.halves[*index];
            let mut distances = Vec::with_capacity(self.len());
            for dot in products.iter().flat_map(|block| block.row_iter().nth(j)) {
                distances.extend(dot.iter().copied());
            }
            for ((x, own), nearest) in distances.iter_mut().zip(&self.halves).zip(nearest) {
                *x = (2.0 * (own + half - *x)).max(0.0).min(*nearest);
            }
            distances
        };
        chosen.par_iter().enumerate().map(of_chosen).collect()
    }

    /// See [`lloyd`]; the centroids are relative to the origin of the points.
    fn lloyd(&self, mut centroids: Vec<f32>, max_iterations: usize) -> Clusters {
        let mut iterations = 0;
        let mut assignment = Vec::new();
        loop {
            let nearest = self.nearest(&centroids);
            let is_stable = nearest == assignment;
            assignment = nearest;
            if is_stable || iterations == max_iterations {
                break;
            }
            self.fill_empty(&centroids, &mut assignment);
            self.update(&mut centroids, &assignment);
            iterations += 1;
        }
        let inertia: Vec<f64> = self.distances(&centroids, &assignment).collect();
        for (x, origin) in centroids.iter_mut().zip(self.origin.iter().cycle()) {
            *x += origin;
        }
        Clusters {
            centroids,
            assignment,
            iterations,
            inertia: inertia.iter().sum(),
        }
    }

    /// Returns the squared distance of each point to the centroid of its cluster.
    fn distances(
        &self,
        centroids: &[f32],
        assignment: &[usize],
    ) -> impl IndexedParallelIterator<Item = f64> {
        let rows = self.rows.par_chunks_exact(self.dimension());
        rows.zip(assignment).map(|(row, cluster)| {
            squared_distance(row, &centroids[cluster * row.len()..][..row.len()])
        })
    }

    /// Returns the nearest centroid of each point.
    fn nearest(&self, centroids: &[f32]) -> Vec<usize> {
        let halves = half_squares(centroids, self.dimension());
        let of_block = |products: DMatrix<f32>| -> Vec<usize> {
            let columns = products.column_iter();
            let distances = |(half, dot): (&f32, &f32)| half - dot;
            let nearest = columns.map(|dots| least(halves.iter().zip(&dots).map(distances)));
            nearest.collect()
        };
        let blocks: Vec<_> = self.products(centroids).map(of_block).collect();
        blocks.concat()
    }

    /// Moves the points farthest from their centroids to the clusters without points.
    fn fill_empty(&self, centroids: &[f32], assignment: &mut [usize]) {
        let mut counts = vec![0; centroids.len() / self.dimension()];
        for cluster in assignment.iter() {
            counts[*cluster] += 1;
        }
        let mut empty: Vec<usize> = (0..counts.len()).filter(|c| counts[*c] == 0).collect();
        if empty.is_empty() {
            return;
        }
        empty.reverse();
        let distances = self.distances(centroids, assignment);
        let mut far: Vec<(f64, usize)> = distances.zip(0..assignment.len()).collect();
        far.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (distance, point) in far {
            // A point alone in its cluster stays, and one at its centroid would gain nothing.
            if counts[assignment[point]] < 2 || distance == 0.0 {
                continue;
            }
            let Some(to) = empty.pop() else { break };
            counts[assignment[point]] -= 1;
            assignment[point] = to;
        }
    }

    /// Moves the centroids to the means of their points.
    fn update(&self, centroids: &mut [f32], assignment: &[usize]) {
        let dimension = self.dimension();
        let mut members = vec![Vec::new(); centroids.len() / dimension];
        for (point, cluster) in assignment.iter().enumerate() {
            members[*cluster].push(point);
        }
        let centroids = centroids.par_chunks_exact_mut(dimension);
        centroids.zip(members).for_each(|(centroid, members)| {
            let mut mean = Mean::new(dimension);
            members.iter().for_each(|point| mean.add(self.row(*point)));
            if !members.is_empty() {
                centroid.copy_from_slice(&mean.value());
            }
        });
    }
}

/// Subtracts `origin` from a row.
fn around(row: &mut [f32], origin: &[f32]) {
    for (x, origin) in row.iter_mut().zip(origin) {
        *x -= origin;
    }
}

/// Draws `n` indices with replacement, with probabilities proportional to `weights`; any indices if
/// all weights are 0.
fn draw(weights: &[f32], n: usize, rng: &mut PublicRng) -> Vec<usize> {
    let mut total = 0.0;
    let cumulative = weights.iter().map(|weight| {
        total += f64::from(*weight);
        total
    });
    let cumulative: Vec<f64> = cumulative.collect();
    let mut one = |_| {
        // 53 bits make a fraction in [0, 1).
        let at = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * total;
        let place = cumulative.partition_point(|sum| *sum <= at);
        place.min(weights.len() - 1)
    };
    (0..n).map(&mut one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `n` points around `centres`, one centre after the other.
    fn blobs(centres: &[[f32; 2]], n: usize) -> Vec<f32> {
        let mut rng = PublicRng::new(7);
        let mut noise = || (rng.next_u64() >> 40) as f32 / (1 << 24) as f32 - 0.5;
        (0..n)
            .flat_map(|i| {
                let [x, y] = centres[i % centres.len()];
                [x + noise(), y + noise()]
            })
            .collect()
    }

    #[test]
    fn finds_separate_groups_far_from_the_origin() {
        let centres: Vec<[f32; 2]> = (0..9)
            .map(|i| [5000.0 + (i % 3 * 10) as f32, -3000.0 + (i / 3 * 10) as f32])
            .collect();
        let points = blobs(&centres, 1800);
        for seed in 0..5 {
            let found = kmeans(&points, 2, 9, seed).unwrap();
            for (i, cluster) in found.assignment.iter().enumerate() {
                assert_eq!(*cluster, found.assignment[i % 9], "point {i}, seed {seed}");
            }
            for (i, centre) in centres.iter().enumerate() {
                let centroid = &found.centroids[found.assignment[i] * 2..][..2];
                assert!(squared_distance(centroid, centre) < 0.05);
            }
            // Two coordinates with a variance of 1/12.
            assert!((found.inertia / 1800.0 - 1.0 / 6.0).abs() < 0.02);
        }
    }

    /// The textbook algorithm in 64 bits.
    fn plain(points: &[f32], dimension: usize, centroids: &[f32], iterations: usize) -> Vec<f64> {
        let mut centroids: Vec<Vec<f64>> = centroids
            .chunks(dimension)
            .map(|c| c.iter().map(|x| f64::from(*x)).collect())
            .collect();
        for _ in 0..iterations {
            let mut groups = vec![Vec::new(); centroids.len()];
            for point in points.chunks(dimension) {
                let distance = |c: &Vec<f64>| -> f64 {
                    let differences = c.iter().zip(point).map(|(c, x)| c - f64::from(*x));
                    differences.map(|x| x * x).sum()
                };
                let best = (0..centroids.len())
                    .min_by(|a, b| distance(&centroids[*a]).total_cmp(&distance(&centroids[*b])));
                groups[best.unwrap()].push(point);
            }
            for (centroid, group) in centroids.iter_mut().zip(groups) {
                for (coordinate, x) in centroid.iter_mut().enumerate() {
                    let sum: f64 = group.iter().map(|p| f64::from(p[coordinate])).sum();
                    *x = sum / group.len() as f64;
                }
            }
        }
        centroids.concat()
    }

    #[test]
    fn lloyd_agrees_with_the_textbook() {
        let dimension = 12;
        let mut rng = PublicRng::new(3);
        let mut uniform = || (rng.next_u64() >> 40) as f32 / (1 << 24) as f32;
        let points: Vec<f32> = (0..3000 * dimension).map(|_| uniform()).collect();
        for clusters in [2, 7, 20] {
            let start = &points[..clusters * dimension];
            for iterations in [0, 1, 4] {
                let found = lloyd(&points, dimension, start, iterations).unwrap();
                assert_eq!(found.iterations, iterations);
                let expected = plain(&points, dimension, start, iterations);
                for (found, expected) in found.centroids.iter().zip(expected) {
                    assert!((f64::from(*found) - expected).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn the_seed_decides_and_threads_do_not() {
        let points = blobs(&[[0.0, 0.0], [0.3, 0.1], [0.0, 0.5]], 2000);
        let found = kmeans(&points, 2, 12, 5).unwrap();
        assert!(found == kmeans(&points, 2, 12, 5).unwrap());
        assert!(found != kmeans(&points, 2, 12, 6).unwrap());
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let one = one.unwrap().install(|| kmeans(&points, 2, 12, 5).unwrap());
        assert!(found == one);
    }

    #[test]
    fn an_empty_cluster_starts_anew_at_the_farthest_point() {
        // No point is near the last centroid.
        let points = [0.0, 1.0, 10.0, 11.0, 100.0];
        let found = lloyd(&points, 1, &[0.5, 10.5, 1e6], 10).unwrap();
        assert_eq!(found.assignment, [0, 0, 1, 1, 2]);
        assert_eq!(found.centroids, [0.5, 10.5, 100.0]);
        assert!((found.inertia - 1.0).abs() < 1e-6);
    }

    #[test]
    fn duplicates_and_as_many_clusters_as_points_are_fine() {
        for n in [1, 2, 7, 700] {
            let found = kmeans(&vec![0.1; n * 3], 3, n.min(9), 1).unwrap();
            assert!(found.inertia < 1e-9);
            assert!(found.iterations < 3);
            assert!(found.centroids.iter().all(|x| (x - 0.1).abs() < 1e-6));
        }
        let points: Vec<f32> = (0..9).map(|i| i as f32).collect();
        let found = kmeans(&points, 1, 9, 1).unwrap();
        assert_eq!(found.inertia, 0.0);
        let mut clusters = found.assignment.clone();
        clusters.sort_unstable();
        assert_eq!(clusters, (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn refuses_what_cannot_be_clustered() {
        let refused = |found: Result<Clusters>, part: &str| {
            let error = found.err().unwrap().to_string();
            assert!(error.contains(part), "{error}");
        };
        for (points, clusters) in [(3, 0), (0, 0), (3, 4), (0, 1)] {
            let part = format!("{clusters} clusters of {points} points");
            refused(kmeans(&vec![0.0; points * 2], 2, clusters, 1), &part);
        }
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            refused(kmeans(&[0.0, 1.0, 2.0, bad], 2, 1, 1), "point 1");
            refused(lloyd(&[0.0, 1.0], 1, &[bad], 1), "centroid 0");
        }
    }

    #[test]
    fn directions_have_length_one_or_zero() {
        let rows = [4.0, 5.0, 1.0, 1.0, f32::MAX, -f32::MAX];
        let found = normalised(&rows, 2, &[1.0, 1.0]);
        let diagonal = 0.5f32.sqrt();
        assert_eq!(found, [0.6, 0.8, 0.0, 0.0, diagonal, -diagonal]);
    }

    proptest! {
        #[test]
        fn any_finite_points_are_clustered(
            dimension in 1usize..9,
            values in proptest::collection::vec(
                prop_oneof![-2f32..2.0, Just(0.0), Just(1.0), Just(f32::MAX), Just(f32::MIN)],
                9..300,
            ),
            clusters in 1usize..12,
            seed: u64,
        ) {
            let n = values.len() / dimension;
            let points = &values[..n * dimension];
            let clusters = clusters.min(n);
            let found = kmeans(points, dimension, clusters, seed).unwrap();
            prop_assert_eq!(found.assignment.len(), n);
            prop_assert_eq!(found.centroids.len(), clusters * dimension);
            prop_assert!(found.assignment.iter().all(|c| *c < clusters));
        }
    }
}
