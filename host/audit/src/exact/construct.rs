//! Constructs neighbours from chosen projections on the directions of a pack.
//!
//! A pack has few directions, and they are mostly independent, so almost any list of projections
//! has a sentence. With scores, each direction belongs to a candidate: one sentence lifts some
//! candidates as far as possible and no others, and its neighbour lifts the others. With depth, a
//! candidate counts if it lies between sentences. The context and both neighbours lie on opposite
//! sides of the candidates along all directions but one. Along that direction the context lies in
//! the middle with a neighbour on each side, so the context and each neighbour enclose different
//! halves of the candidates.
//!
//! A search from arbitrary sentences hardly finds such neighbours, and only they show much of the
//! promise in a few thousand releases.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rayon::prelude::*;
use undertone_core::rng::{PublicRng, below};

use crate::exact::inside::Sentences;
use crate::sampled::device::Sentence;
use crate::sampled::selection::{Change, Neighbours};

/// Binary exponents of the largest coordinate of a sentence. Encoders return some tenths;
/// fixed-point numbers saturate somewhere above.
const SIZES: std::ops::RangeInclusive<i32> = -4..=4;

/// Random sets of candidates for each size.
const SETS: usize = 3;

/// Corrections of the projections for each sentence.
const CORRECTIONS: usize = 24;

/// Number of directions along which to split the candidates.
const PARTED: usize = 6;

/// Positions of the split on both sides of 0, as shares of the largest projection.
const PLACES: [f64; 7] = [0.0, 0.008, 0.016, 0.03, 0.06, 0.125, 0.25];

/// Finds sentences by their projections.
struct Projections {
    /// `[directions][dimension]`.
    directions: DMatrix<f64>,
    /// Factor of the Gram matrix of the directions or of the coordinates, whichever are fewer.
    factor: Cholesky<f64, Dyn>,
    by_direction: bool,
}

impl Projections {
    /// Returns `None` without directions.
    fn new(directions: &[Vec<f32>]) -> Option<Self> {
        let dimension = directions.first()?.len();
        let values = directions.iter().flatten().map(|x| f64::from(*x));
        let directions = DMatrix::from_row_iterator(directions.len(), dimension, values);
        let by_direction = directions.nrows() <= dimension;
        let mut gram = if by_direction {
            &directions * directions.transpose()
        } else {
            directions.transpose() * &directions
        };
        // Regularises directions that depend on each other.
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

    /// The shortest sentence with these projections, scaled so that its largest coordinate is
    /// `size`.
    fn sentence(&self, projections: Vec<f64>, size: f64) -> Sentence {
        let projections = DVector::from_vec(projections);
        let sentence = if self.by_direction {
            self.directions.tr_mul(&self.factor.solve(&projections))
        } else {
            self.factor.solve(&self.directions.tr_mul(&projections))
        };
        let largest = sentence.amax().max(f64::MIN_POSITIVE);
        let coordinates = sentence.iter();
        Sentence::Embedding(coordinates.map(|x| (size * x / largest) as f32).collect())
    }
}

/// Neighbours that differ by one sentence after this context: one sentence replaces the other, or
/// one of them is added.
fn around(context: &[Sentence], sentences: [Sentence; 2]) -> Vec<Neighbours> {
    let with = |more: &[&Sentence]| -> Vec<Sentence> {
        let more = more.iter().map(|sentence| (*sentence).clone());
        context.iter().cloned().chain(more).collect()
    };
    let [a, b] = &sentences;
    let (one, other, both) = (with(&[a]), with(&[b]), with(&[a, b]));
    let pair = |documents, change| Neighbours { documents, change };
    vec![
        pair([one.clone(), other.clone()], Change::Replaced),
        pair([both.clone(), one.clone()], Change::Added),
        pair([both, other.clone()], Change::Added),
        pair([one, context.to_vec()], Change::Added),
        pair([other, context.to_vec()], Change::Added),
    ]
}

/// Neighbours for this mechanism; none if it returns no directions.
pub(crate) fn neighbours(mechanism: &dyn Sentences, seed: u64) -> Vec<Neighbours> {
    let Some(projections) = Projections::new(&mechanism.core().directions()) else {
        return Vec::new();
    };
    let mut all = lifted(mechanism, &projections, seed);
    all.extend(parted(&projections));
    all
}

/// Pairs of one-sentence documents: one lifts a set of candidates, the other lifts the rest.
fn lifted(mechanism: &dyn Sentences, projections: &Projections, seed: u64) -> Vec<Neighbours> {
    let candidates = mechanism.candidates();
    // With depth, directions do not belong to candidates.
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

/// Finds the sentence that comes closest to lifting these candidates as far as possible and no
/// others. Heads have biases and thresholds, so each round corrects the projections of candidates
/// with wrong levels.
fn lifting(mechanism: &dyn Sentences, projections: &Projections, set: &[bool]) -> Sentence {
    let steps = f64::from(mechanism.core().steps().get());
    let mut best = (f64::INFINITY, Sentence::Embedding(Vec::new()));
    for size in SIZES {
        let mut wanted: Vec<f64> = set.iter().map(|up| f64::from(u8::from(*up))).collect();
        for _ in 0..CORRECTIONS {
            let sentence = projections.sentence(wanted.clone(), f64::from(size).exp2());
            let levels = mechanism.levels(&[&sentence]);
            let mut wrong = 0.0;
            for ((wanted, up), level) in wanted.iter_mut().zip(set).zip(levels) {
                let off = f64::from(level) / steps - f64::from(u8::from(!up));
                // Limits the correction to the largest effect of one sentence.
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

/// Neighbours whose two sentences have part of the candidates between them, along one direction.
fn parted(projections: &Projections) -> Vec<Neighbours> {
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
