//! Baselines: other ways to release a document.
//!
//! [`Truncation`] draws its noise through [`undertone_core::laplace`]; [`randomised_response`] and
//! [`two_stage`] draw through [`undertone_core::select`], as releases do. They return a vector or
//! an index, not a release.

use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::laplace::{Laplace, LaplaceError, Sensitivity};
use undertone_core::rng::rand_core::Rng;
use undertone_core::scores::LEVELS;
use undertone_core::select::{Ratio, Rule, SelectError, SliceLevels};

use undertone::encoder::vectors::DocumentVectors;

/// The mean of truncated sentence vectors plus Laplace noise (Li and Clifton 2021, as used by
/// Meehan, Mrini and Chaudhuri 2022).
///
/// # Guarantee
/// (ε + d·κ)-differential privacy if one of the k sentences is replaced and k is public. κ ≤ 2⁻²³
/// is that of [`laplace`](undertone_core::laplace), and its δ applies to each of the d coordinates.
///
/// *Proof.* Coordinates enter as integers and are clamped to the ends of the box, so their sum
/// moves by at most the width of the box as integers, and its quotient by k, rounded down, by w/k +
/// 2·2^−F. With Δ ≥ d·w/k that costs ε/d + ε·2·2^−F/Δ + κ, where 2^−F = 2⁻⁴⁰·h ≤ 2⁻⁴⁶·√2·Δ/ε makes
/// the second less than 2⁻⁴⁴. For one coordinate κ is below 2⁻³¹, so the two are below 2⁻²³
/// together. ∎
///
/// # Leaks
/// The number of sentences k, the box and ε, which are assumed to be chosen without looking at the
/// document. Time as in [`laplace`](undertone_core::laplace).
///
/// # Source
/// Li and Clifton 2021, with the box of Meehan, Mrini and Chaudhuri 2022. Deviation: the noise of
/// [`laplace`](undertone_core::laplace) in one dimension, for a sensitivity of d·w/k, so that ε/d
/// is never rounded.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncation {
    /// The box, by coordinate.
    lower: Vec<f32>,
    upper: Vec<f32>,
}

impl Truncation {
    /// Fits the box to public document means, `[documents][dimension]` row-major: the middle 75 %
    /// of each coordinate.
    ///
    /// # Panics
    /// If there is no document.
    pub fn fit(means: &[f32], dimension: usize) -> Self {
        assert!(means.len() >= dimension, "the box needs a document");
        let mut lower = Vec::with_capacity(dimension);
        let mut upper = Vec::with_capacity(dimension);
        for coordinate in 0..dimension {
            let rows = means.chunks_exact(dimension);
            let mut values: Vec<f32> = rows.map(|row| row[coordinate]).collect();
            values.sort_unstable_by(f32::total_cmp);
            let last = values.len() - 1;
            lower.push(values[last / 8]);
            upper.push(values[last - last / 8]);
        }
        Self { lower, upper }
    }

    /// The mean of each document's truncated sentence vectors without noise, for training the
    /// classifier. `[documents][dimension]` row-major.
    pub fn means(&self, documents: &DocumentVectors) -> Vec<f32> {
        let dimension = documents.dimension();
        let boxes = || self.lower.iter().zip(&self.upper);
        let clamped = documents.rows().chunks_exact(dimension).flat_map(|row| {
            row.iter()
                .zip(boxes())
                .map(|(x, (lower, upper))| x.clamp(*lower, *upper))
        });
        DocumentVectors::new(dimension, clamped.collect(), documents.offsets().to_vec()).means()
    }

    /// The truncated mean of a document's sentences, `[k][dimension]` row-major, with Laplace noise
    /// of scale d·w_i / (k·ε); w_i is the width of the box. `out`: `[dimension]`.
    ///
    /// # Errors
    /// [`TruncationError`], before anything is drawn: see its variants.
    pub fn noisy_mean<R: Rng + ?Sized>(
        &self,
        sentences: &[f32],
        epsilon: Epsilon,
        rng: &mut R,
        out: &mut [f32],
    ) -> Result<(), TruncationError> {
        let dimension = self.lower.len();
        let k = sentences.len() / dimension;
        for (expected, found) in [(k * dimension, sentences.len()), (dimension, out.len())] {
            if expected != found {
                return Err(TruncationError::Length { expected, found });
            }
        }
        let ends = self.lower.iter().zip(&self.upper).enumerate();
        let sides = ends.map(|(coordinate, (lower, upper))| {
            Side::new([*lower, *upper], dimension, k, epsilon)?
                .ok_or(TruncationError::Box { coordinate })
        });
        let sides: Vec<Side> = sides.collect::<Result<_, _>>()?;
        for (coordinate, (out, side)) in out.iter_mut().zip(sides).enumerate() {
            let values = sentences.iter().skip(coordinate).step_by(dimension);
            *out = side.draw(values, k as u32, rng)?;
        }
        Ok(())
    }
}

/// Why no truncated mean was drawn: a public fact about sizes, the box and ε.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TruncationError {
    /// The sentences are not a whole number of rows, or the output has the wrong length.
    #[error("{found} coordinates, but {expected} are needed")]
    Length {
        /// The length needed.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// A side of the box is not finite, upside down, too wide (d·w/k above 2¹²) or too far from 0
    /// for its noise (2²¹ steps of its grid).
    #[error(
        "the box of coordinate {coordinate} is not finite, upside down, too wide or too far from 0 for its noise"
    )]
    Box {
        /// The index of the coordinate.
        coordinate: usize,
    },
    /// ε is below 0.1.
    #[error("{0}")]
    Laplace(LaplaceError),
}

impl From<LaplaceError> for TruncationError {
    fn from(error: LaplaceError) -> Self {
        Self::Laplace(error)
    }
}

/// One coordinate of a truncated mean.
struct Side {
    laplace: Laplace,
    /// The ends of the box in fixed point.
    lower: i64,
    upper: i64,
}

impl Side {
    /// The noise for one of `dimension` sides and k sentences; `None` if the box is refused.
    fn new(
        [lower, upper]: [f32; 2],
        dimension: usize,
        k: usize,
        epsilon: Epsilon,
    ) -> Result<Option<Self>, LaplaceError> {
        let width = f64::from(upper) - f64::from(lower);
        if !(width >= 0.0 && width.is_finite()) {
            return Ok(None);
        }
        let stretch = width * dimension as f64 / k.max(1) as f64;
        // The casts saturate; the factor exceeds the rounding error of the product.
        let units = (stretch * 4_294_967_296.0 * (1.0 + 1e-12)) as u64;
        let units = units.saturating_add(1).max(Sensitivity::MIN.units());
        let Some(sensitivity) = Sensitivity::from_units(units) else {
            return Ok(None);
        };
        let laplace = Laplace::new(1, epsilon, sensitivity)?;
        let bound = 2f64.powi(laplace.largest_bound_exponent());
        let fits = f64::from(lower).abs() <= bound && f64::from(upper).abs() <= bound;
        Ok(fits.then(|| Self {
            lower: fixed(&laplace, lower),
            upper: fixed(&laplace, upper),
            laplace,
        }))
    }

    fn draw<'v, R: Rng + ?Sized>(
        &self,
        values: impl Iterator<Item = &'v f32>,
        sentences: u32,
        rng: &mut R,
    ) -> Result<f32, LaplaceError> {
        // The sum of fewer than 2³² values, each below 2⁶².
        let sum: i128 = values
            .map(|x| i128::from(fixed(&self.laplace, *x).clamp(self.lower, self.upper)))
            .sum();
        let mean = sum.div_euclid(i128::from(sentences.max(1))) as i64;
        // Without sentences the mean is 0, which may lie outside the box.
        let mean = mean.clamp(self.lower, self.upper);
        let mut steps = [0];
        let bound_exponent = self.laplace.largest_bound_exponent();
        hazmat::perturb_fixed(&self.laplace, &[mean], bound_exponent, rng, &mut steps)?;
        // Exact: steps have 24 bits.
        Ok(steps[0] as f32 * 2f32.powi(self.laplace.grid_exponent()))
    }
}

/// A coordinate in the fixed point of its noise, rounded towards zero and clamped to the largest
/// bound; 0 if it is not finite.
fn fixed(laplace: &Laplace, coordinate: f32) -> i64 {
    if !coordinate.is_finite() {
        return 0;
    }
    // Exact: a product of 24 bits and a power of two.
    let scaled = f64::from(coordinate) * 2f64.powi(laplace.fraction_bits() as i32);
    let limit = 2f64.powi(laplace.largest_bound_exponent() + laplace.fraction_bits() as i32);
    scaled.clamp(-limit, limit) as i64
}

/// The levels of a report on a sentence of class `class`.
fn report_levels(class: usize, classes: usize) -> Vec<u8> {
    (0..classes)
        .map(|other| if other == class { 0 } else { 2 })
        .collect()
}

/// Reports the class of one sentence. The true class is W₀/W₂ ≤ e^ε times likelier than any other.
///
/// A document reports each of its sentences.
///
/// # Guarantee
/// ε-DP for the whole list of reports when one sentence is replaced: one report changes, and its
/// normaliser is the same for every class, so both of its levels may move by two steps. The reports
/// of one document do not add up.
///
/// # Leaks
/// The number of sentences and the place of each report; the guarantee treats both as public and
/// does not cover adding or removing a sentence.
///
/// # Errors
/// [`SelectError`] if there is no class, or more classes than a selection supports.
///
/// # Source
/// Warner 1965, generalised to several answers, with the integer weights of
/// [`select`](undertone_core::select).
pub fn randomised_response<R: Rng + ?Sized>(
    class: usize,
    classes: usize,
    epsilon: Epsilon,
    rng: &mut R,
) -> Result<usize, SelectError> {
    let levels = SliceLevels {
        levels: &report_levels(class, classes),
        bound: 3,
    };
    hazmat::select::<3, R>(&levels, Rule::Exponential, Ratio::new(epsilon), rng)
        .map(|class| class as usize)
}

/// Draws a cluster with `first`, then one of its members with `second`, and returns both indices.
///
/// `members` gives the levels of the members of a cluster, in cluster order; levels are below
/// [`LEVELS`].
///
/// # Guarantee
/// (ε₁ + ε₂)-DP when one sentence is replaced, if `first` and `second` are the ratios of ε₁ and ε₂
/// for the number of steps that a sentence moves a level: the second draw uses the document again,
/// so the two ε add up. When one is added or removed, half of that if all levels move in the same
/// direction.
///
/// # Leaks
/// Nothing but the two indices, if levels are computed in constant time. The number of members of
/// each cluster is public.
///
/// # Errors
/// [`SelectError`] if there is no cluster, or a cluster has no members, which is public.
///
/// # Source
/// Sequential composition (Dwork, McSherry, Nissim and Smith 2006) of two draws by
/// [`select`](undertone_core::select).
pub fn two_stage<R: Rng + ?Sized>(
    clusters: &[u8],
    members: impl FnOnce(usize) -> Vec<u8>,
    rule: Rule,
    (first, second): (Ratio, Ratio),
    rng: &mut R,
) -> Result<(usize, usize), SelectError> {
    let mut draw = |levels: &[u8], ratio| {
        let levels = SliceLevels {
            levels,
            bound: LEVELS,
        };
        hazmat::select::<LEVELS, R>(&levels, rule, ratio, rng).map(|index| index as usize)
    };
    let cluster = draw(clusters, first)?;
    let member = draw(&members(cluster), second)?;
    Ok((cluster, member))
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_audit::Law;
    use undertone_core::rng::PublicRng;

    /// Tolerance for rounding in double precision.
    const ROUNDING: f64 = 1e-9;

    fn epsilon(text: &str) -> Epsilon {
        text.parse().unwrap()
    }

    fn ratio(text: &str) -> Ratio {
        Ratio::new(epsilon(text))
    }

    #[test]
    fn reports_spend_epsilon_and_no_more() {
        for text in ["0.1", "1", "6", "20"] {
            let value: f64 = text.parse().unwrap();
            for classes in 2..6 {
                let laws: Vec<Law> = (0..classes)
                    .map(|class| report_levels(class, classes))
                    .map(|levels| Law::new(levels, ratio(text), Rule::Exponential))
                    .collect();
                let losses = laws.iter().flat_map(|a| laws.iter().map(|b| a.loss(b)));
                let worst = losses.fold(0.0, f64::max);
                assert!(worst <= value + ROUNDING, "{text} {classes}: {worst}");
                assert!(worst > 0.999 * value, "{text} {classes}: {worst}");
            }
        }
    }

    /// Shows that the test above can fail: levels three apart spend 3/2 of ε.
    #[test]
    fn reports_with_wider_levels_are_caught() {
        let laws =
            [vec![0, 3], vec![3, 0]].map(|levels| Law::new(levels, ratio("2"), Rule::Exponential));
        assert!(laws[0].loss(&laws[1]) > 2.9);
    }

    #[test]
    fn reports_follow_their_law() {
        let law = Law::new(report_levels(1, 3), ratio("1"), Rule::Exponential);
        let mut rng = PublicRng::new(5);
        let mut counts = [0.0; 3];
        for _ in 0..30_000 {
            counts[randomised_response(1, 3, epsilon("1"), &mut rng).unwrap()] += 1.0 / 30_000.0;
        }
        for (class, count) in counts.iter().enumerate() {
            // Six standard deviations are below 0.018.
            let expected = law.probability(class);
            assert!(
                (count - expected).abs() < 0.018,
                "{class}: {count} {expected}"
            );
        }
    }

    /// All combinations of moving each level by −1, 0 or +1.
    fn neighbours(levels: &[u8]) -> Vec<Vec<u8>> {
        levels.iter().fold(vec![vec![]], |starts, level| {
            let steps = |start: Vec<u8>| {
                [level - 1, *level, level + 1].map(|level| [&start[..], &[level]].concat())
            };
            starts.into_iter().flat_map(steps).collect()
        })
    }

    /// The largest log-ratio of the law over (cluster, member), over all neighbours.
    fn worst_loss(clusters: &[u8], members: [&[u8]; 2], rule: Rule, split: [Ratio; 2]) -> f64 {
        let loss = |levels: &[u8], ratio| {
            let law = Law::new(levels.to_vec(), ratio, rule);
            let moved = neighbours(levels).into_iter();
            moved
                .map(|moved| Law::new(moved, ratio, rule))
                .map(|other| {
                    let ratios = (0..levels.len())
                        .map(|c| (law.probability(c) / other.probability(c)).ln().abs());
                    ratios.collect::<Vec<f64>>()
                })
                .fold(vec![0.0f64; levels.len()], |worst, ratios| {
                    worst.iter().zip(ratios).map(|(a, b)| a.max(b)).collect()
                })
        };
        // Levels of the clusters and of each cluster's members may move together in any way, so the
        // worst ratio of a pair is the product of the worst of both draws.
        let first = loss(clusters, split[0]);
        let second = members.map(|members| loss(members, split[1]));
        let sums = first
            .iter()
            .zip(&second)
            .map(|(cluster, members)| cluster + members.iter().copied().fold(0.0, f64::max));
        sums.fold(0.0, f64::max)
    }

    #[test]
    fn two_stages_spend_the_sum_and_no_more() {
        let split = [ratio("0.5"), ratio("1.5")];
        let mut largest = 0.0f64;
        for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
            for (clusters, members) in [
                ([1, 1], [&[1, 1][..], &[2, 1, 3]]),
                ([1, 6], [&[1, 9], &[9, 9, 1, 1]]),
                ([8, 1], [&[1, 12], &[1]]),
            ] {
                let worst = worst_loss(&clusters, members, rule, split);
                assert!(worst <= 2.0 + ROUNDING, "{rule:?} {clusters:?}: {worst}");
                largest = largest.max(worst);
            }
        }
        assert!(largest > 1.9, "the bound is nearly attained: {largest}");
    }

    #[test]
    fn two_stages_look_into_the_cluster_that_was_drawn() {
        let sure = (ratio("1000"), ratio("1000"));
        let mut rng = PublicRng::new(1);
        let members = |cluster| {
            assert_eq!(cluster, 2);
            vec![40, 0, 40]
        };
        let drawn = two_stage(&[90, 70, 0], members, Rule::PermuteAndFlip, sure, &mut rng);
        assert_eq!(drawn, Ok((2, 1)));
        let empty = two_stage(&[0], |_| vec![], Rule::PermuteAndFlip, sure, &mut rng);
        assert_eq!(empty, Err(SelectError::Candidates { found: 0 }));
    }

    #[test]
    fn the_box_is_the_middle_three_quarters() {
        let means: Vec<f32> = (0..17).flat_map(|i| [i as f32, -(i as f32)]).collect();
        let truncation = Truncation::fit(&means, 2);
        assert_eq!(truncation.lower, [2.0, -14.0]);
        assert_eq!(truncation.upper, [14.0, -2.0]);
        let documents = DocumentVectors::new(2, vec![0.0, -3.0, 10.0, 5.0], vec![0, 2]);
        assert_eq!(truncation.means(&documents), [6.0, -2.5]);
    }

    #[test]
    fn truncated_means_have_the_noise_of_their_box() {
        let truncation = |lower: &[f32], upper: &[f32]| Truncation {
            lower: lower.to_vec(),
            upper: upper.to_vec(),
        };
        let boxes = truncation(&[-1.0, 0.0, 0.25], &[1.0, 3.0, 0.25]);
        let rows = [-5.0, 1.0, f32::NAN, 0.5, 9.0, 1.0];
        let expected = [-0.25, 2.0, 0.25];
        let mut rng = PublicRng::new(2);
        let n = 20_000.0;
        let mut sums = [[0.0; 2]; 3];
        for _ in 0..20_000 {
            let mut out = [0.0; 3];
            boxes
                .noisy_mean(&rows, epsilon("6"), &mut rng, &mut out)
                .unwrap();
            for ((sum, y), expected) in sums.iter_mut().zip(out).zip(expected) {
                let error = f64::from(y - expected);
                *sum = [sum[0] + error / n, sum[1] + error.abs() / n];
            }
        }
        // The scale is d·w/(k·ε), or that of the smallest sensitivity if it is larger.
        for ([mean, absolute], scale) in sums.into_iter().zip([0.5f64, 0.75, 2f64.powi(-12) / 6.0])
        {
            assert!(
                mean.abs() < 6.0 * scale * (2.0 / n).sqrt(),
                "{scale}: {mean}"
            );
            assert!((absolute / scale - 1.0).abs() < 0.05, "{scale}: {absolute}");
        }
        let mut out = [0.0; 3];
        for (rows, length) in [(&rows[1..], 3), (&rows[..], 2)] {
            let refused = boxes.noisy_mean(rows, epsilon("6"), &mut rng, &mut out[..length]);
            assert!(matches!(refused, Err(TruncationError::Length { .. })));
        }
        for (low, high) in [
            (1.0, 0.5),
            (f32::NAN, 1.0),
            (0.0, f32::INFINITY),
            (1e9, 1e9),
            (-1e9, 1e9),
        ] {
            let boxes = truncation(&[0.0, low], &[1.0, high]);
            let refused = boxes.noisy_mean(&rows, epsilon("1"), &mut rng, &mut out[..2]);
            assert_eq!(
                refused,
                Err(TruncationError::Box { coordinate: 1 }),
                "{low} {high}"
            );
        }
        let refused = boxes.noisy_mean(&rows, epsilon("0.01"), &mut rng, &mut out);
        assert!(matches!(refused, Err(TruncationError::Laplace(_))));
        // Without sentences: noise around the end of the box that is nearest to 0.
        let boxes = truncation(&[0.5], &[1.0]);
        boxes
            .noisy_mean(&[], epsilon("1000"), &mut rng, &mut out[..1])
            .unwrap();
        assert!((out[0] - 0.5).abs() < 0.05, "{out:?}");
    }

    #[test]
    fn noise_has_the_scale_of_the_sensitivity() {
        let truncation = Truncation {
            lower: vec![-1.0; 10_000],
            upper: vec![2.0; 10_000],
        };
        let mut noise = vec![0.0; 10_000];
        let sentences = vec![0.0; 10 * 10_000];
        truncation
            .noisy_mean(&sentences, epsilon("4"), &mut PublicRng::new(3), &mut noise)
            .unwrap();
        // The mean absolute value of a Laplace variable is its scale, d·w/(k·ε) = 750.
        let mean = noise.iter().map(|x| f64::from(x.abs())).sum::<f64>() / 10_000.0;
        assert!((mean / 750.0 - 1.0).abs() < 0.05, "{mean}");
    }
}
