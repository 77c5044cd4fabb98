//! Arithmetic progressions, a [`Geometry`](crate::projective::Geometry) for numbers of candidates
//! that hyperplanes do not fit.
//!
//! Hyperplanes come in few sizes, so the error of shares is up to 12 % above the least possible
//! one. Progressions come in every size. With them, and the whole-text rule for large ε, the error
//! is at most 2 % above the least possible one from 26 candidates on, and 5 % for fewer. The number
//! of progressions is about half the square of the number of candidates.
//!
//! # The sets
//! Let v be a prime, at least 5, and k from 2 to v/2. A point is a progression of k numbers modulo
//! v, {s, s + a, …, s + (k − 1)·a}, with a start s in 0..v and a step a in 1..=h, where
//! h = (v − 1)/2. There are K = v·h of them, and their numbers are s·h + a − 1. (Steps above h give
//! the same progressions from their other end.)
//!
//! Outcome x, a number below v, prefers the progressions that contain it. For each a and each place
//! i < k, x is at this place of one progression, the one with s = x − a·i. So c = k·h.
//!
//! Two outcomes x ≠ y are both in c₂ = k·(k − 1)/2. *Proof.* Let a be any nonzero number, also
//! above h. For each two places i ≠ j there is one a with x − y = a·(i − j), because v is a prime
//! and |i − j| < v, and one s. So k·(k − 1) pairs of s and a contain both. The progressions of −a
//! are those of a from the other end, with s + (k − 1)·a for s. So half of the pairs have a ≤ h. ∎
//!
//! # How a point is drawn
//! The coin is that of [`projective`](mod@crate::projective). Inside, the index, below c = k·h, is
//! i·h + a − 1 for a place i < k. Outside, it is (i − k)·h + a − 1 for a place k ≤ i < v after the
//! end, and there are (v − k)·h = K − c. Then s = x − a·i. For every a, the v values of i give the
//! v values of s, and x is in the progression if and only if i < k. So every point has exactly one
//! side and index.
//!
//! # Constant work
//! Two quotients by h and two remainders by v, both public, by products with their reciprocals: the
//! same instructions for every x, coin and index.
//!
//! # Source
//! The promise and the estimate need only the counts of such sets, and any sets with these counts
//! have the least error: Park, Nam and Lee 2023, "Exactly optimal and communication-efficient
//! private estimation via block designs". The least error: Ye and Barg 2018. Ours: progressions
//! modulo a prime. Any two numbers are in equally many of them, because the maps x → a·x + s take
//! every two numbers to every two.

use subtle::Choice;

use crate::integers::{Modulus, is_prime, mask};

/// The largest prime v with fewer than 2²⁴ points.
pub(crate) const MOST_OUTCOMES: u32 = 5791;

/// The progressions of k terms modulo v.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Progressions {
    /// v.
    modulus: Modulus,
    /// h.
    steps: Modulus,
    /// k.
    terms: u16,
}

impl Progressions {
    /// Progressions modulo the least prime ≥ `outcomes`, at least 5. `None` for no outcomes, or too
    /// many, and for terms below 2 or above half the modulus.
    pub(crate) fn new(terms: u16, outcomes: u32) -> Option<Self> {
        if !(1..=MOST_OUTCOMES).contains(&outcomes) {
            return None;
        }
        let modulus = (outcomes.max(5) as u16..).find(|v| is_prime(*v))?;
        Some(Self {
            modulus: Modulus::new(modulus)?,
            steps: Modulus::new(modulus / 2)?,
            terms,
        })
        .filter(|_| (2..=modulus / 2).contains(&terms))
    }

    /// Whether some modulus allows this number of terms.
    pub(crate) fn are_terms(terms: u16) -> bool {
        Self::new(terms, MOST_OUTCOMES).is_some()
    }

    /// The progressions of least `variance` for these weights, with their variance.
    ///
    /// With a = e^ε − 1 and u = v − 1 the variance times n·a² is
    /// ((a + 1)·u² + (n − 1)·(u + k·a − a)(u + k·a)) / (k·(v − k)). The numerator is convex in k
    /// and positive, the denominator is concave and positive, so the quotient falls to its least
    /// and grows from there.
    pub(crate) fn best(
        outcomes: u32,
        (first, other): (u64, u64),
        variance: impl Fn(Self) -> f64,
    ) -> Option<(f64, Self)> {
        let with = |terms| Self::new(terms, outcomes).map(|found| (variance(found), found));
        let mut best = with(2)?;
        // About v/(e^ε + 1).
        let near = u64::from(best.1.modulus.get()) * other / (first + other).max(1);
        best = with(near as u16).unwrap_or(best);
        while let Some(less) = with(best.1.terms - 1).filter(|less| less.0 <= best.0) {
            best = less;
        }
        while let Some(more) = with(best.1.terms + 1).filter(|more| more.0 < best.0) {
            best = more;
        }
        Some(best)
    }

    /// v.
    pub(crate) fn modulus(&self) -> u16 {
        self.modulus.get()
    }

    /// k.
    pub(crate) fn terms(&self) -> u16 {
        self.terms
    }

    /// K.
    pub(crate) fn points(&self) -> u32 {
        u32::from(self.modulus.get()) * u32::from(self.steps.get())
    }

    /// c.
    pub(crate) fn preferred(&self) -> u32 {
        u32::from(self.terms) * u32::from(self.steps.get())
    }

    /// c₂.
    pub(crate) fn shared(&self) -> u32 {
        let terms = u32::from(self.terms);
        terms * (terms - 1) / 2
    }

    /// Whether an outcome is in a progression; `false` for any number that is no outcome or no
    /// point.
    pub(crate) fn contains(&self, outcome: u32, point: u32) -> bool {
        let v = u32::from(self.modulus.get());
        if outcome >= v || point >= self.points() {
            return false;
        }
        let (start, step) = self.steps.divide(point);
        let distance = self.modulus.remainder(outcome + v - start);
        let place = self
            .modulus
            .product(distance, self.modulus.inverse(step + 1));
        place < u32::from(self.terms)
    }

    /// The outcome at this place of a progression, which is below k.
    pub(crate) fn term(&self, point: u32, place: u32) -> u32 {
        let (start, step) = self.steps.divide(point);
        self.modulus.remainder(start + (step + 1) * place)
    }

    /// The point with this index of those that the outcome prefers, or of the others.
    pub(crate) fn point(&self, outcome: u32, inside: Choice, index: u32) -> u32 {
        let v = u32::from(self.modulus.get());
        let (place, step) = self.steps.divide(index);
        let place = place + (u32::from(self.terms) & mask(!inside));
        // Steps and places are below v.
        let back = self.modulus.product(step + 1, place);
        let start = self.modulus.remainder(outcome.wrapping_add(v) - back);
        start * u32::from(self.steps.get()) + step
    }
}
