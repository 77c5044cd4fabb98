//! Projective geometry response: the promise of the whole-text rule, with less error where the candidates are many.
//!
//! By [`whole_text`](mod@crate::whole_text) a share that a server estimates errs the more the more candidates there are. Here
//! a release names one of many *points*. Every outcome prefers a set of them, and the sets of any two outcomes share equally
//! many, so a server counts for each candidate how many releases lie in its set. The error hardly grows with the number of
//! candidates, and a release is still one number.
//!
//! What the points are is a [`Geometry`]. There are two kinds, because neither fits every number of candidates: hyperplanes,
//! here, and the arithmetic progressions of [`progressions`](mod@crate::progressions). All that follows from the sets alone
//! holds for both: K points, sets of c of them, c₂ that any two sets share.
//!
//! # Hyperplanes
//! Let q be a prime and t ≥ 2. The points are the lines through the origin of F_q^t, K = (q^t − 1)/(q − 1) of them. Each
//! has one *canonical* vector, whose first coordinate that is not 0 is 1. With m coordinates after that, its number is
//! (q^m − 1)/(q − 1) plus these coordinates as the digits of a number to the base q.
//!
//! Outcome v, the number v, is the point v. It prefers S_v, the points w with ⟨v, w⟩ = 0. They are a hyperplane, so there
//! are c = (q^(t−1) − 1)/(q − 1) of them, and two hyperplanes share c₂ = (q^(t−2) − 1)/(q − 1). The relation is
//! symmetric. With t = 2 every set has one point: that is randomised response.
//!
//! # The law
//! Let v be the best of the n candidates for the text, or n for *nothing known*, so there are n + 1 outcomes. A point of S_v
//! has the weight W₀ = 2⁴⁰, every other point W₁, with W₀ ≤ e^ε·W₁.
//!
//! # Why it is private
//! The normaliser c·W₀ + (K − c)·W₁ is the same for every v, because every set has c points. So for any two texts the
//! probability of a point is the same, or it changes by W₀/W₁ or W₁/W₀: within e^ε. Any text may stand in for any
//! other, and v may be any function of the text. The geometry is chosen from n and ε, which are public. ∎
//!
//! With the [`Ratio`] for 2ε, ln(W₀/W₁) ≤ ε − 2⁻⁶². Weights are whole numbers, and W₀ = 2⁴⁰: ε above 27.7 is served with
//! 27.7.
//!
//! # How a point is drawn
//! A coin says whether the point lies in S_v: yes with probability c·W₀ / (c·W₀ + (K − c)·W₁). Then an index says which
//! one. Let v be canonical, v_j = 1 its first coordinate that is not 0.
//!
//! - *Inside.* The index, below c, numbers a point u of the geometry of t − 1 coordinates. Put u beside place j, and
//!   w_j = −Σ v_i·w_i over all other places. That is linear and one-to-one from F_q^(t−1) to the hyperplane, so lines
//!   go to lines, and every point of S_v has exactly one index.
//! - *Outside.* The index, below q^(t−1) = K − c, numbers any u in F_q^(t−1). Put it beside place j, and
//!   w_j = 1 − Σ v_i·w_i. These are the vectors with ⟨v, w⟩ = 1, and every point outside of S_v has exactly one of those.
//!
//! Then w is made canonical: it is multiplied by the inverse of its first coordinate that is not 0, the power q − 2 of that.
//!
//! # Finite randomness
//! A share s ≥ 1 of n, drawn by [`below`], has a probability within a factor 1 ± n·2⁻¹²⁸ of s/n. There are two draws: n is
//! at most K·W₀ ≤ 2⁶⁴ for the coin and at most 2²⁴ for the index. So two laws are together within
//! (1 + 2⁻⁶⁴)(1 + 2⁻¹⁰⁴) / ((1 − 2⁻⁶⁴)(1 − 2⁻¹⁰⁴)) < e^(2⁻⁶²) of the ideal ones, which is what ε − 2⁻⁶² leaves.
//!
//! # Constant work
//! Nothing is rejected. Loops run over t coordinates, remainders by q are products with its reciprocal, the exponent q − 2
//! is public, and what is chosen is chosen by masks: the same instructions and addresses for every v, coin and index.
//!
//! # What a server makes of it
//! Let N_v of N releases lie in S_v, E = W₀/W₁ and Z = c·E + K − c. A text of best outcome v gives one with p = c·E/Z, any
//! other with r = (c₂·E + c − c₂)/Z, so (N_v/N − r)/(p − r) estimates the share of v without bias.
//!
//! # Source
//! Feldman, Nelson, Nguyen and Talwar 2022, "Private frequency estimation via projective geometry". Ours: integer weights,
//! drawing by one coin and one index, and the outcome for nothing known.

use rand_core::Rng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};

use crate::barrier::wipe;
use crate::epsilon::Epsilon;
use crate::integers::{Modulus, is_prime, mask};
use crate::progressions::{MOST_OUTCOMES, Progressions};
use crate::rng::below;
use crate::select::Ratio;

/// The most coordinates of a point, t.
pub const MAX_COORDINATES: usize = 24;

/// There are fewer points than this.
const POINTS: u64 = 1 << 24;

const _: () = {
    let v = MOST_OUTCOMES as u64;
    // The next prime is 5801.
    assert!(v * (v - 1) / 2 < POINTS && 5801 * 5800 / 2 >= POINTS);
};

/// The weight of a preferred point.
const FIRST_WEIGHT: u64 = 1 << 40;

/// Coordinates, the last of them first: what follows the leading one are the digits of a number from the lowest on.
type Vector = [u32; MAX_COORDINATES];

/// Which points there are, and which of them an outcome prefers. All of it is public. See
/// [`projective`](mod@crate::projective).
///
/// A server gets it by [`new`](Geometry::new), from the order in a release and the number of candidates of its pack, and
/// counts a release for every candidate in [`outcomes_preferring`](Geometry::outcomes_preferring) the point that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry(Sets);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sets {
    Hyperplanes(Hyperplanes),
    Progressions(Progressions),
}

/// What the sets of a [`Geometry`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// Hyperplanes of a projective space.
    Hyperplanes {
        /// q, a prime: coordinates are numbers modulo it.
        order: u16,
        /// The coordinates of a point, t: 2 to [`MAX_COORDINATES`].
        coordinates: u8,
    },
    /// Arithmetic progressions. See [`progressions`](mod@crate::progressions).
    Progressions {
        /// The prime that they are taken by.
        modulus: u16,
        /// How many numbers one has, k.
        terms: u16,
    },
}

impl Geometry {
    /// The geometry of this order that has room for so many outcomes: the candidates, and one for "nothing known". A prime
    /// is the order q of hyperplanes, with the fewest coordinates that give each outcome a point; an even number from 4 on
    /// is twice the terms of [`progressions`](mod@crate::progressions). `None` for other orders, and if the points would be
    /// 2²⁴ or more or the terms too many.
    ///
    /// # Shapes
    /// Any numbers.
    pub fn new(order: u16, outcomes: u32) -> Option<Self> {
        match order {
            4.. if order.is_multiple_of(2) => {
                Progressions::new(order / 2, outcomes).map(Self::from)
            }
            _ => Hyperplanes::new(order, outcomes).map(Self::from),
        }
    }

    /// Whether there is a geometry of this order for some number of outcomes.
    pub(crate) fn is_order(order: u16) -> bool {
        let half = order / 2;
        is_prime(order) || (order.is_multiple_of(2) && Progressions::are_terms(half))
    }

    /// The geometry by which a release with this ε names a point. Of hyperplanes those with the least
    /// [`variance`](Geometry::variance), and the smaller order of two; progressions, if by the best hyperplanes it is more
    /// than a 32nd above theirs. So an error is at most 1.6 % above the least of both, and points, which counts are
    /// kept of, are few. `None` for no outcomes, or 2²⁴ and more.
    ///
    /// # Shapes
    /// Any numbers.
    ///
    /// # Cost
    /// A search by halves and some hundred small numbers tried for being primes, for each number of coordinates. Public:
    /// the number of candidates and ε decide.
    #[allow(clippy::float_arithmetic)] // No probability: it decides which geometry, from public numbers.
    pub fn best(outcomes: u32, epsilon: Epsilon) -> Option<Self> {
        let (variance, hyperplanes) = Hyperplanes::best(outcomes, epsilon)?;
        let progressions = Progressions::best(outcomes, Self::weights(epsilon), |own| {
            Self::from(own).variance(outcomes, epsilon)
        });
        let less = progressions.filter(|(own, _)| own * 33.0 < variance * 32.0);
        Some(less.map_or(hyperplanes.into(), |(_, own)| own.into()))
    }

    /// What the sets are.
    pub fn shape(&self) -> Shape {
        match self.0 {
            Sets::Hyperplanes(own) => own.shape(),
            Sets::Progressions(own) => Shape::Progressions {
                modulus: own.modulus(),
                terms: own.terms(),
            },
        }
    }

    /// The number in the release that tells the geometry: see [`new`](Geometry::new).
    pub fn order(&self) -> u16 {
        match self.shape() {
            Shape::Hyperplanes { order, .. } => order,
            Shape::Progressions { terms, .. } => 2 * terms,
        }
    }

    /// The number of points, K: below 2²⁴.
    pub fn points(&self) -> u32 {
        match self.0 {
            Sets::Hyperplanes(own) => own.points,
            Sets::Progressions(own) => own.points(),
        }
    }

    /// How many points every outcome prefers, c.
    pub fn preferred(&self) -> u32 {
        match self.0 {
            Sets::Hyperplanes(own) => own.preferred(),
            Sets::Progressions(own) => own.preferred(),
        }
    }

    /// How many points any two outcomes both prefer, c₂.
    pub fn shared(&self) -> u32 {
        match self.0 {
            Sets::Hyperplanes(own) => own.shared(),
            Sets::Progressions(own) => own.shared(),
        }
    }

    /// How many outcomes prefer a point, counting those that no candidate has.
    pub fn outcomes_of_a_point(&self) -> u32 {
        match self.shape() {
            Shape::Hyperplanes { .. } => self.preferred(),
            Shape::Progressions { terms, .. } => terms.into(),
        }
    }

    /// The weights of a point that the best outcome prefers, 2⁴⁰, and of any other.
    pub fn weights(epsilon: Epsilon) -> (u64, u64) {
        let other = Ratio::per_unit(epsilon, 1).step(u128::from(FIRST_WEIGHT));
        // No step grows.
        (FIRST_WEIGHT, other as u64)
    }

    /// The variance of an estimated share from one release, the mean over so many outcomes; N releases have an N-th of it.
    /// (p·(1 − p) + (n − 1)·r·(1 − r)) / (n·(p − r)²) for n outcomes, in the names of [`projective`](mod@crate::projective),
    /// whatever the shares are. The same bits on every target.
    #[allow(clippy::float_arithmetic)] // No probability: it decides which geometry, from public numbers.
    pub fn variance(&self, outcomes: u32, epsilon: Epsilon) -> f64 {
        let (first, other) = Self::weights(epsilon);
        let [points, preferred, shared] =
            [self.points(), self.preferred(), self.shared()].map(u64::from);
        // Whole numbers below 2^24·2^40: p, r and their difference, times the normaliser.
        let (own, rest) = (preferred * first, (points - preferred) * other);
        let alien = shared * first + (preferred - shared) * other;
        let difference = ((preferred - shared) * (first - other)) as f64;
        let of_own = (own as f64 / difference) * (rest as f64 / difference);
        let of_alien = (alien as f64 / difference) * ((own + rest - alien) as f64 / difference);
        let outcomes = f64::from(outcomes);
        (of_own + (outcomes - 1.0) * of_alien) / outcomes
    }

    /// Whether `outcome` prefers `point`; `false` for numbers that are no outcomes or no points. Not for private numbers.
    ///
    /// # Shapes
    /// Any numbers.
    ///
    /// # Cost
    /// 3·t products, or one inverse modulo a prime.
    pub fn contains(&self, outcome: u32, point: u32) -> bool {
        match self.0 {
            Sets::Hyperplanes(own) => own.contains(outcome, point),
            Sets::Progressions(own) => own.contains(outcome, point),
        }
    }

    /// The points that `outcome` prefers, each once, in no order; none if there is no such outcome. Not for private
    /// numbers.
    ///
    /// # Shapes
    /// Any number.
    ///
    /// # Cost
    /// c points; each takes 5·t products and one inverse, or two products.
    pub fn preferred_points(self, outcome: u32) -> impl Iterator<Item = u32> {
        let known = outcome < self.outcomes();
        let indices = if known { self.preferred() } else { 0 };
        (0..indices).map(move |index| self.point(outcome, Choice::from(1), index))
    }

    /// The outcomes that prefer `point`, each once, in no order; none if there is no such point. There may be more outcomes
    /// than candidates: leave these out. Not for private numbers.
    ///
    /// # Shapes
    /// Any number.
    ///
    /// # Cost
    /// [`outcomes_of_a_point`](Geometry::outcomes_of_a_point) steps; each takes 5·t products and one inverse, or two
    /// products.
    pub fn outcomes_preferring(self, point: u32) -> impl Iterator<Item = u32> {
        let known = point < self.points();
        let places = if known { self.outcomes_of_a_point() } else { 0 };
        (0..places).map(move |place| match self.0 {
            // Symmetric.
            Sets::Hyperplanes(own) => own.point(point, Choice::from(1), place),
            Sets::Progressions(own) => own.term(point, place),
        })
    }

    /// How many outcomes there is room for, at least those of the pack.
    pub fn outcomes(&self) -> u32 {
        match self.shape() {
            Shape::Hyperplanes { .. } => self.points(),
            Shape::Progressions { modulus, .. } => modulus.into(),
        }
    }

    /// Draws a point for a private outcome, one that there is room for.
    // A call: callers have buffers of their own.
    #[inline(never)]
    pub(crate) fn draw<R: Rng + ?Sized>(&self, outcome: u32, epsilon: Epsilon, rng: &mut R) -> u32 {
        let (first, other) = Self::weights(epsilon);
        let preferred = self.preferred();
        let rest = self.points() - preferred;
        let share = u64::from(preferred) * first;
        let total = u128::from(share) + u128::from(u64::from(rest) * other);
        let inside = share.ct_gt(&below(rng, total));
        let indices = u32::conditional_select(&rest, &preferred, inside);
        let index = below(rng, u128::from(indices)) as u32;
        self.point(outcome, inside, index)
    }

    /// The point with this index of those that the outcome prefers, or of the others.
    fn point(&self, outcome: u32, inside: Choice, index: u32) -> u32 {
        // Which kind is public.
        match &self.0 {
            Sets::Hyperplanes(own) => own.point(outcome, inside, index),
            Sets::Progressions(own) => own.point(outcome, inside, index),
        }
    }
}

impl From<Hyperplanes> for Geometry {
    fn from(own: Hyperplanes) -> Self {
        Self(Sets::Hyperplanes(own))
    }
}

impl From<Progressions> for Geometry {
    fn from(own: Progressions) -> Self {
        Self(Sets::Progressions(own))
    }
}

/// The hyperplanes of the projective space of t coordinates modulo q.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Hyperplanes {
    /// q.
    order: Modulus,
    /// t.
    coordinates: u8,
    /// K.
    points: u32,
}

impl Hyperplanes {
    fn new(order: u16, outcomes: u32) -> Option<Self> {
        let prime = Modulus::new(order).filter(|_| is_prime(order))?;
        let q = u64::from(order);
        let (mut coordinates, mut power, mut points) = (2, q, q + 1);
        while points < u64::from(outcomes) && points < POINTS {
            // Below 2^24·2^16.
            power *= q;
            points += power;
            coordinates += 1;
        }
        (outcomes > 0 && points < POINTS).then_some(Self {
            order: prime,
            coordinates,
            points: points as u32,
        })
    }

    /// Those with the least variance, and that.
    ///
    /// Let t be fixed and a = e^ε − 1. The variance times n·a² is (a + 1)·Σ q^(3 − i) over i from 2 to t, and n − 1 times: Σ (a + q)²/qⁱ
    /// over i from 1 to t − 2, plus (a + q)/q^(t−2). Every term is convex in q, so a walk from any prime to the next, as long as it
    /// goes down, ends at the least.
    #[allow(clippy::float_arithmetic)] // Public numbers: see Geometry::best.
    fn best(outcomes: u32, epsilon: Epsilon) -> Option<(f64, Self)> {
        let (first, other) = Geometry::weights(epsilon);
        // With q²·(n + a) = a²·(n − 1) the first terms are least. The least weight is 1.
        let a = u128::from(first / other.max(1));
        let square =
            a * a * u128::from(outcomes.saturating_sub(1)) / (u128::from(outcomes) + a).max(1);
        let about = u16::try_from(square.isqrt()).unwrap_or(u16::MAX);
        let with = |order| {
            let own = Self::new(order, outcomes)?;
            Some((Geometry::from(own).variance(outcomes, epsilon), own))
        };
        let mut least: Option<(f64, Self)> = None;
        // Orders from here on have room with fewer coordinates.
        let mut beyond = u16::MAX;
        for coordinates in 2..=MAX_COORDINATES {
            let start = first_order(coordinates, outcomes.into(), beyond);
            let end = first_order(coordinates, POINTS, beyond).max(start);
            // With two coordinates it grows with q.
            let near = if coordinates == 2 {
                start
            } else {
                about.clamp(start, end)
            };
            let mut walked = f64::INFINITY;
            let mut goes_down = |order: &u16| {
                let Some((variance, own)) = with(*order) else {
                    return false;
                };
                let better = least.is_none_or(|(least, best)| {
                    variance < least || (variance <= least && *order < best.order.get())
                });
                if better {
                    least = Some((variance, own));
                }
                let down = variance < walked;
                walked = if down { variance } else { walked };
                down
            };
            let below = (start..near).rev().filter(|order| is_prime(*order));
            below.take_while(&mut goes_down).for_each(drop);
            let above = (near..end).filter(|order| is_prime(*order));
            above.take_while(&mut goes_down).for_each(drop);
            beyond = start;
        }
        least
    }

    fn shape(&self) -> Shape {
        Shape::Hyperplanes {
            order: self.order.get(),
            coordinates: self.coordinates,
        }
    }

    fn preferred(&self) -> u32 {
        // K = q·c + 1.
        self.order.divide(self.points - 1).0
    }

    fn shared(&self) -> u32 {
        self.order.divide(self.preferred() - 1).0
    }

    fn contains(&self, outcome: u32, point: u32) -> bool {
        let [outcome, point] = [outcome, point].map(|number| {
            let known = number < self.points;
            known.then(|| self.vector(number, self.coordinates.into(), Choice::from(1)))
        });
        let (Some((v, _)), Some((w, _))) = (outcome, point) else {
            return false;
        };
        let products = v.iter().zip(&w).map(|(v, w)| self.order.product(*v, *w));
        self.order.remainder(products.sum()) == 0
    }

    fn point(&self, outcome: u32, inside: Choice, index: u32) -> u32 {
        let t = usize::from(self.coordinates);
        let (mut v, place) = self.vector(outcome, t, Choice::from(1));
        let (mut u, _) = self.vector(index, t - 1, inside);
        // Where v's one stands u has the coordinate of another place, which must not count; behind it v is 0.
        let mut sum = 0;
        for ((at, v), u) in (0u32..).zip(v.iter().take(t)).zip(&u) {
            sum += self.order.product(*v, *u) & !mask(at.ct_eq(&place));
        }
        let wanted = u32::from((!inside).unwrap_u8());
        let own = wanted + u32::from(self.order.get()) - self.order.remainder(sum);
        let own = self.order.remainder(own);
        let mut w: Vector = [0; MAX_COORDINATES];
        let mut before = 0;
        for ((at, w), u) in (0u32..).zip(w.iter_mut().take(t)).zip(&u) {
            *w = u32::conditional_select(u, &before, at.ct_gt(&place));
            w.conditional_assign(&own, at.ct_eq(&place));
            before = *u;
        }
        let number = self.number(&mut w);
        wipe(&mut v);
        wipe(&mut u);
        wipe(&mut w);
        number
    }

    /// The canonical vector with this number, and the place of its leading one; if not `canonical`, the vector whose
    /// coordinates are the digits of the number. All of `coordinates`, at most t.
    fn vector(&self, number: u32, coordinates: usize, canonical: Choice) -> (Vector, u32) {
        let q = u32::from(self.order.get());
        let (mut first, mut power) = (0u32, 1u32);
        let (mut base, mut place) = (0u32, 0u32);
        for at in (0u32..).take(coordinates) {
            let reached = !first.ct_gt(&number) & canonical;
            base.conditional_assign(&first, reached);
            place.conditional_assign(&at, reached);
            // What does not fit any more is not looked at.
            first = first.wrapping_add(power);
            power = power.wrapping_mul(q);
        }
        let mut rest = number.wrapping_sub(base);
        let mut vector: Vector = [0; MAX_COORDINATES];
        for (at, coordinate) in (0u32..).zip(vector.iter_mut().take(coordinates)) {
            (rest, *coordinate) = self.order.divide(rest);
            // The digit there is 0.
            *coordinate += mask(at.ct_eq(&place) & canonical) & 1;
        }
        (vector, place)
    }

    /// The number of the point that a vector other than 0 lies on. Makes it canonical.
    fn number(&self, vector: &mut Vector) -> u32 {
        let mut leading = 0;
        for coordinate in vector.iter() {
            leading.conditional_assign(coordinate, !coordinate.ct_eq(&0));
        }
        let scale = self.order.inverse(leading);
        let q = u32::from(self.order.get());
        let (mut first, mut power) = (0u32, 1u32);
        let (mut digits, mut correction) = (0u32, 0u32);
        for coordinate in vector.iter_mut().take(self.coordinates.into()) {
            *coordinate = self.order.product(*coordinate, scale);
            digits = digits.wrapping_add(coordinate.wrapping_mul(power));
            // The leading one is no digit.
            correction.conditional_assign(&first.wrapping_sub(power), !coordinate.ct_eq(&0));
            first = first.wrapping_add(power);
            power = power.wrapping_mul(q);
        }
        digits.wrapping_add(correction)
    }
}

/// The first order below `beyond` with that many points or more; `beyond` if there is none. At least 2.
fn first_order(coordinates: usize, points: u64, beyond: u16) -> u16 {
    let (mut start, mut end) = (2, beyond);
    while start < end {
        let middle = start + (end - start) / 2;
        let q = u64::from(middle);
        // K by Horner, as far as it is needed: below 2^24·2^16.
        let mut found = 0;
        for _ in 0..coordinates {
            if found < points {
                found = found * q + 1;
            }
        }
        match found >= points {
            true => end = middle,
            false => start = middle + 1,
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn numbers_are_those_of_vectors() {
        for (order, outcomes) in [(2, 60), (3, 100), (5, 30), (7, 300), (65_521, 2)] {
            let own = Hyperplanes::new(order, outcomes).unwrap();
            for number in (0..own.points).take(400).chain([own.points - 1]) {
                let (vector, place) = own.vector(number, own.coordinates.into(), Choice::from(1));
                let used: Vec<u32> = vector[..=place as usize].to_vec();
                assert_eq!(used.last(), Some(&1), "{number}");
                for factor in [1, 2, u32::from(order) - 1] {
                    let mut scaled = vector.map(|x| own.order.product(x, factor));
                    if scaled != [0; MAX_COORDINATES] {
                        assert_eq!(own.number(&mut scaled), number);
                        assert_eq!(scaled, vector);
                    }
                }
            }
        }
    }

    /// The errors of the table that the mechanism was chosen by.
    #[test]
    fn the_best_geometry_has_the_least_error() {
        for (outcomes, epsilon, error) in [
            (21, "0.5", 3.783),
            (21, "3", 0.413),
            (151, "1", 1.905),
            (151, "2", 0.854),
            (151, "5", 0.143),
            (5001, "1", 1.941),
            (5001, "3", 0.470),
            (5001, "5", 0.166),
        ] {
            let epsilon = epsilon.parse().unwrap();
            let geometry = Geometry::best(outcomes, epsilon).unwrap();
            let found = libm::sqrt(geometry.variance(outcomes, epsilon));
            assert!(
                (found - error).abs() < 0.001,
                "{outcomes} {epsilon:?} {geometry:?}: {found}"
            );
        }
        let one: Epsilon = "1".parse().unwrap();
        assert_eq!(Geometry::best(0, one), None);
        assert_eq!(Geometry::best(1 << 24, one), None);
        assert_eq!(
            Geometry::best((1 << 24) - 1, one).map(|g| g.order()),
            Some(2)
        );
        assert!(Geometry::best(1, Epsilon::MAX).is_some());
    }
}
