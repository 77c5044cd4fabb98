//! Neighbours by construction: sentences whose projections on the directions of a pack are chosen.
//!
//! Directions are few and mostly independent, so that there is a sentence for almost any list of projections. Where
//! every direction is that of a candidate, as with scores, one sentence lifts some candidates as far as they go and no
//! other, and the reverse takes its place. Where candidates lie between sentences, as with depth, two sentences far out
//! on opposite sides of all directions but one have half of the candidates between them, and the first one on the other
//! side of that direction the other half.
//!
//! Searches from anywhere hardly find such sentences, and only these show much of the promise in a few thousand
//! releases.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rayon::prelude::*;
use undertone_core::rng::{PublicRng, below};

use crate::exact::inside::Sentences;
use crate::exact::neighbours::{Pair, Step};

/// The largest coordinate of a sentence is 2^(one of these): encoders give some tenths, and fixed-point numbers end
/// somewhere above that.
const SIZES: std::ops::RangeInclusive<i32> = -4..=4;

/// Random sets of candidates of each size.
const SETS: usize = 3;

/// Times that projections are put right.
const CORRECTIONS: usize = 24;

/// Directions that candidates are parted along.
const PARTED: usize = 6;

/// Where they are parted, of the largest projection, either way.
const PLACES: [f64; 7] = [0.0, 0.008, 0.016, 0.03, 0.06, 0.125, 0.25];

/// Sentences by their projections.
struct Projections {
    /// `[directions][dimension]`.
    directions: DMatrix<f64>,
    /// Of the Gram matrix of the directions or of the coordinates, whichever are fewer.
    factor: Cholesky<f64, Dyn>,
    by_direction: bool,
}

impl Projections {
    /// None if there are no directions.
    fn new(directions: &[Vec<f32>]) -> Option<Self> {
        let dimension = directions.first()?.len();
        let values = directions.iter().flatten().map(|x| f64::from(*x));
        let directions = DMatrix::from_row_iterator(directions.len(), dimension, values);
        let by_direction = directions.nrows() <= dimension;
        let mut gram = match by_direction {
            true => &directions * directions.transpose(),
            false => directions.transpose() * &directions,
        };
        // Some may depend on each other.
        let ridge = 1e-6 * gram.trace() / gram.nrows() as f64;
        for at in 0..gram.nrows() {
            gram[(at, at)] += ridge;
        }
        Some(Self {
            factor: gram.cholesky()?,
            directions,
            by_direction,
        })
    }

    /// The shortest sentence with projections like these, made so large that its largest coordinate is this.
    fn sentence(&self, projections: Vec<f64>, size: f64) -> Vec<f32> {
        let projections = DVector::from_vec(projections);
        let sentence = match self.by_direction {
            true => self.directions.tr_mul(&self.factor.solve(&projections)),
            false => self.factor.solve(&self.directions.tr_mul(&projections)),
        };
        let largest = sentence.amax().max(f64::MIN_POSITIVE);
        let coordinates = sentence.iter();
        coordinates.map(|x| (size * x / largest) as f32).collect()
    }
}

/// Neighbours that differ by one sentence: the first of these in place of the second after this context, and the same
/// with one of them more.
fn around(context: &[Vec<f32>], sentences: [Vec<f32>; 2]) -> Vec<Pair> {
    let with = |more: &[&Vec<f32>]| -> Vec<Vec<f32>> {
        let more = more.iter().map(|sentence| (*sentence).clone());
        context.iter().cloned().chain(more).collect()
    };
    let [a, b] = &sentences;
    let (one, other, both) = (with(&[a]), with(&[b]), with(&[a, b]));
    let pair = |documents, step| Pair { documents, step };
    vec![
        pair([one.clone(), other.clone()], Step::Replaced),
        pair([both.clone(), one.clone()], Step::Added),
        pair([both, other.clone()], Step::Added),
        pair([one, context.to_vec()], Step::Added),
        pair([other, context.to_vec()], Step::Added),
    ]
}

/// Neighbours for this mechanism; none if it tells no directions.
pub(crate) fn neighbours(mechanism: &dyn Sentences, seed: u64) -> Vec<Pair> {
    let Some(projections) = Projections::new(&mechanism.directions()) else {
        return Vec::new();
    };
    let mut all = lifted(mechanism, &projections, seed);
    all.extend(parted(&projections));
    all
}

/// Documents of one sentence that lifts a set of candidates, and of one that lifts the others.
fn lifted(mechanism: &dyn Sentences, projections: &Projections, seed: u64) -> Vec<Pair> {
    let candidates = mechanism.candidates();
    // Otherwise directions are not those of candidates.
    if projections.directions.nrows() != candidates || candidates < 2 {
        return Vec::new();
    }
    let mut sizes = vec![1, 2, 3, candidates / 8, candidates / 4, candidates / 2];
    sizes.retain(|size| (1..candidates).contains(size));
    sizes.sort_unstable();
    sizes.dedup();
    let mut rng = PublicRng::new(seed);
    let mut sets: Vec<Vec<bool>> = Vec::new();
    for size in sizes {
        for _ in 0..SETS {
            let mut set = vec![false; candidates];
            let mut left = size;
            while left > 0 {
                let member = &mut set[below(&mut rng, candidates as u128) as usize];
                left -= usize::from(!*member);
                *member = true;
            }
            sets.push(set);
        }
    }
    let made = sets.into_par_iter().flat_map_iter(|set| {
        let others: Vec<bool> = set.iter().map(|member| !member).collect();
        let sentences = [set, others].map(|set| lifting(mechanism, projections, &set));
        around(&[], sentences)
    });
    made.collect()
}

/// The sentence that comes nearest to lifting these candidates as far as they go and no other: projections are put
/// right where a candidate is not yet where it should be, because heads have biases and thresholds.
fn lifting(mechanism: &dyn Sentences, projections: &Projections, set: &[bool]) -> Vec<f32> {
    let steps = f64::from(mechanism.steps().get());
    let mut best = (f64::INFINITY, Vec::new());
    for size in SIZES {
        let mut wanted: Vec<f64> = set.iter().map(|up| f64::from(u8::from(*up))).collect();
        for _ in 0..CORRECTIONS {
            let sentence = projections.sentence(wanted.clone(), f64::from(size).exp2());
            let levels = mechanism.levels(&sentence);
            let mut wrong = 0.0;
            for ((wanted, up), level) in wanted.iter_mut().zip(set).zip(levels) {
                let off = f64::from(level) / steps - f64::from(u8::from(!up));
                // Further off than one sentence can leave it.
                let off = off.clamp(-1.0, 1.0);
                *wanted += 0.25 * off;
                wrong += off.abs();
            }
            if wrong < best.0 {
                best = (wrong, sentence);
            }
            if wrong == 0.0 {
                return best.1;
            }
        }
    }
    best.1
}

/// Documents of two sentences with a part of the candidates between them, along one direction.
fn parted(projections: &Projections) -> Vec<Pair> {
    let directions = projections.directions.nrows();
    let along = (0..directions).step_by(directions.div_ceil(PARTED));
    let mut all = Vec::new();
    for direction in along {
        for size in SIZES {
            let size = f64::from(size).exp2();
            let out = |others: f64, one: f64| {
                let mut wanted = vec![others; directions];
                wanted[direction] = one;
                projections.sentence(wanted, size)
            };
            let sides = [out(1.0, 1.0), out(1.0, -1.0)];
            for place in PLACES {
                for sign in [1.0, -1.0] {
                    all.extend(around(&[out(-1.0, sign * place)], sides.clone()));
                }
            }
        }
    }
    all
}
