//! Other ways to release a document, to compare with.
//!
//! [`Truncation`] draws its noise through [`undertone_core::embedding`], [`randomised_response`] and
//! [`two_stage`] draw through [`undertone_core::select`], as releases do; they give a vector or an index and no
//! release.

use undertone_core::embedding::{self, EmbeddingError};
use undertone_core::epsilon::Epsilon;
use undertone_core::rng::rand_core::Rng;
use undertone_core::scores::LEVELS;
use undertone_core::select::{Ratio, Rule, SelectError, SliceLevels, select};

use undertone::encoder::vectors::DocumentVectors;

/// The mean of truncated sentence vectors plus Laplace noise (Li and Clifton 2021, as used by Meehan,
/// Mrini and Chaudhuri 2022).
///
/// # Guarantee
/// That of [`undertone_core::embedding::Truncation`]: ε-DP when one sentence is replaced, the number of
/// sentences k public.
///
/// # Leaks
/// Those of [`undertone_core::embedding::Truncation`], and k.
///
/// # Source
/// Li and Clifton 2021, with the box of Meehan, Mrini and Chaudhuri 2022.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncation {
    /// The box, by coordinate.
    lower: Vec<f32>,
    upper: Vec<f32>,
}

impl Truncation {
    /// The box that holds, in each coordinate, the middle 75 % of public document means,
    /// `[documents][dimension]` row-major.
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

    /// The mean of each document's truncated sentence vectors, without noise: what the classifier
    /// learns from. `[documents][dimension]` row-major.
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

    /// The truncated mean of a document's sentences, `[k][dimension]` row-major, with Laplace noise of scale
    /// d·w_i / (k·ε); w_i is the width of the box. `out`: `[dimension]`.
    ///
    /// # Errors
    /// [`EmbeddingError`] for an ε below 0.1, lengths that do not fit, or a box that does not fit its noise.
    pub fn noisy_mean<R: Rng + ?Sized>(
        &self,
        sentences: &[f32],
        epsilon: Epsilon,
        rng: &mut R,
        out: &mut [f32],
    ) -> Result<(), EmbeddingError> {
        let k = (sentences.len() / self.lower.len()) as u32;
        embedding::Truncation::new(&self.lower, &self.upper, k, epsilon)?.draw(sentences, rng, out)
    }
}

/// The levels of a report on a sentence of class `class`.
fn report_levels(class: usize, classes: usize) -> Vec<u8> {
    (0..classes)
        .map(|other| if other == class { 0 } else { 2 })
        .collect()
}

/// Reports the class of one sentence: the true one is more likely by W₀/W₂ ≤ e^ε than any other.
///
/// A document reports each of its sentences.
///
/// # Guarantee
/// ε-DP for the whole list of reports when one sentence is replaced: one report changes, and its
/// normaliser is the same for every class, so both of its levels may move by two steps. The reports of one
/// document do not add up.
///
/// # Leaks
/// The number of sentences and which report belongs to which place; the promise takes both as public.
/// Not for add/remove-one.
///
/// # Errors
/// [`SelectError`] for no class or more classes than a selection takes.
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
    select::<3, R>(&levels, Rule::Exponential, Ratio::new(epsilon), rng).map(|class| class as usize)
}

/// Draws a cluster with `first`, then one of its members with `second`: both indices.
///
/// `members` gives the levels of the members of a cluster, in cluster order; levels are below
/// [`LEVELS`].
///
/// # Guarantee
/// (ε₁ + ε₂)-DP when one sentence is replaced, if `first` and `second` are the ratios of ε₁ and ε₂ for as
/// many steps as a sentence moves a level: the second draw sees the document again, so the two add up.
/// Where adding one moves all levels the same way, half of it.
///
/// # Leaks
/// Nothing but the two indices, if levels are computed in constant time. Which clusters have how many
/// members is public.
///
/// # Errors
/// [`SelectError`] for no clusters or a cluster without members, which is a public fact.
///
/// # Source
/// Sequential composition (Dwork, McSherry, Nissim and Smith 2006) of two of [`select`](undertone_core::select).
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
        select::<LEVELS, R>(&levels, rule, ratio, rng).map(|index| index as usize)
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

    /// What rounding in double precision can do.
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

    /// The test above can fail: levels three apart spend 3/2 of ε.
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

    /// All ways to move each level by −1, 0 or +1.
    fn neighbours(levels: &[u8]) -> Vec<Vec<u8>> {
        levels.iter().fold(vec![vec![]], |starts, level| {
            let steps = |start: Vec<u8>| {
                [level - 1, *level, level + 1].map(|level| [&start[..], &[level]].concat())
            };
            starts.into_iter().flat_map(steps).collect()
        })
    }

    /// The law over (cluster, member), and its largest log-ratio over all neighbours.
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
