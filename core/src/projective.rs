//! Projective geometry response: the promise of the whole-text rule, with less error where the candidates are many.
//!
//! By [`whole_text`](mod@crate::whole_text) a share that a server estimates errs the more the more candidates there are. Here
//! a release names one of many *points*. Every outcome prefers a set of them, and the sets of any two outcomes share equally
//! many, so a server counts for each candidate how many releases lie in its set. The error hardly grows with the number of
//! candidates, and a release is still one number.
//!
//! # The geometry
//! Let q be a prime and t ≥ 2. The points are the lines through the origin of F_q^t, K = (q^t − 1)/(q − 1) of them. Each
//! has one *canonical* vector, whose first coordinate that is not 0 is 1. With m coordinates after that, its number is
//! (q^m − 1)/(q − 1) plus these coordinates as the digits of a number to the base q.
//!
//! Outcome v, the number v, is the point v. It prefers S_v, the points w with ⟨v, w⟩ = 0. They are a hyperplane, so there
//! are c = (q^(t−1) − 1)/(q − 1) of them, and two hyperplanes share c₂ = (q^(t−2) − 1)/(q − 1). The relation is
//! symmetric. With t = 2 every set has one point: that is randomised response.
//!
//! # The law
//! Let v be the best of the n candidates for the text, or n for *nothing known*, so K ≥ n + 1. A point of S_v has the weight
//! W₀ = 2⁴⁰, every other point W₁, with W₀ ≤ e^ε·W₁.
//!
//! # Why it is private
//! The normaliser c·W₀ + (K − c)·W₁ is the same for every v, because every hyperplane has c points. So for any two texts the
//! probability of a point is the same, or it changes by W₀/W₁ or W₁/W₀: within e^ε. Any text may stand in for any
//! other, and v may be any function of the text. q and t are chosen from n and ε, which are public. ∎
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

use core::num::NonZero;

use rand_core::Rng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};

use crate::barrier::wipe;
use crate::epsilon::Epsilon;
use crate::integers::Signed;
use crate::rng::below;
use crate::select::Ratio;

/// The most coordinates of a point, t.
pub const MAX_COORDINATES: usize = 24;

/// There are fewer points than this.
const POINTS: u64 = 1 << 24;

/// The weight of a preferred point.
const FIRST_WEIGHT: u64 = 1 << 40;

/// Coordinates, the last of them first: what follows the leading one are the digits of a number from the lowest on.
type Vector = [u32; MAX_COORDINATES];

/// The points of a projective space over the integers modulo a prime q. All of it is public. See
/// [`projective`](mod@crate::projective).
///
/// A server gets it by [`new`](Geometry::new), from the order in a release and the number of candidates of its pack, and
/// counts a release for every candidate in [`preferred_points`](Geometry::preferred_points) of the point that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// q.
    order: NonZero<u16>,
    /// t.
    coordinates: u8,
    /// ⌊2³² / q⌋.
    reciprocal: u32,
    /// K.
    points: u32,
}

impl Geometry {
    /// The geometry of this order with the fewest coordinates that has a point for each of `outcomes`: the candidates,
    /// and one for "nothing known". `None` if `order` is no prime, or the points would be 2²⁴ or more.
    ///
    /// # Shapes
    /// Any numbers.
    pub fn new(order: u16, outcomes: u32) -> Option<Self> {
        let prime = NonZero::new(order).filter(|_| is_prime(order))?;
        Self::of_prime(prime, outcomes)
    }

    fn of_prime(order: NonZero<u16>, outcomes: u32) -> Option<Self> {
        let q = u64::from(order.get());
        let (mut coordinates, mut power, mut points) = (2, q, q + 1);
        while points < u64::from(outcomes) && points < POINTS {
            // Below 2^24·2^16.
            power *= q;
            points += power;
            coordinates += 1;
        }
        (outcomes > 0 && points < POINTS).then_some(Self {
            order,
            coordinates,
            // 2 and more: it fits.
            reciprocal: ((1 << 32) / NonZero::<u64>::from(order)) as u32,
            points: points as u32,
        })
    }

    /// The geometry by which a release with this ε names a point: of those with a point for each of `outcomes`, the one
    /// with the least [`variance`](Geometry::variance), and the smaller order of two. `None` for no outcomes, or 2²⁴ and
    /// more.
    ///
    /// With t fixed and a = e^ε − 1 the variance times a² is Σ (a + q)²/qⁱ over i from 1 to t − 2, plus (a + q)/q^(t−2). Every
    /// term is convex in q, so the primes around the minimum are enough. With t = 2 it is a + q: the least prime. With more
    /// coordinates it falls up to q = a at least, as every term with i > 1 does; and it is (a + q)²/(q − 1) less a falling
    /// function, so it grows from q = a + 2 on.
    ///
    /// # Shapes
    /// Any numbers.
    ///
    /// # Cost
    /// A search by halves and some hundred small numbers tried for being primes, for each number of coordinates. Public:
    /// the number of candidates and ε decide.
    pub fn best(outcomes: u32, epsilon: Epsilon) -> Option<Self> {
        let (first, other) = Self::weights(epsilon);
        // ⌊e^ε⌋; the least weight is 1.
        let ratio = u16::try_from(first / other.max(1)).unwrap_or(u16::MAX);
        let around = (ratio.saturating_sub(1), ratio.saturating_add(2));
        let mut least: Option<(f64, Self)> = None;
        let mut look_at = |order| {
            let Some(geometry) = Self::new(order, outcomes) else {
                return;
            };
            let variance = geometry.variance(epsilon);
            let better = least.is_none_or(|(least, best)| {
                variance < least || (variance <= least && order < best.order())
            });
            if better {
                least = Some((variance, geometry));
            }
        };
        // Orders from here on have room with fewer coordinates.
        let mut beyond = u16::MAX;
        for coordinates in 2..=MAX_COORDINATES {
            let start = first_order(coordinates, outcomes.into(), beyond);
            let end = first_order(coordinates, POINTS, beyond).max(start);
            let (before, after) = if coordinates == 2 { (0, 0) } else { around };
            let near = before.clamp(start, end);
            (start..near)
                .rev()
                .find(|order| is_prime(*order))
                .into_iter()
                .for_each(&mut look_at);
            for order in (near..end).filter(|order| is_prime(*order)) {
                look_at(order);
                if order >= after {
                    break;
                }
            }
            beyond = start;
        }
        least.map(|(_, geometry)| geometry)
    }

    /// The order, q: a prime.
    pub fn order(&self) -> u16 {
        self.order.get()
    }

    /// The coordinates of a point, t: 2 to [`MAX_COORDINATES`].
    pub fn coordinates(&self) -> u8 {
        self.coordinates
    }

    /// The number of points, K: below 2²⁴.
    pub fn points(&self) -> u32 {
        self.points
    }

    /// How many points every outcome prefers, c.
    pub fn preferred(&self) -> u32 {
        // K = q·c + 1.
        (self.points - 1) / NonZero::<u32>::from(self.order)
    }

    /// How many points any two outcomes both prefer, c₂.
    pub fn shared(&self) -> u32 {
        (self.preferred() - 1) / NonZero::<u32>::from(self.order)
    }

    /// The weights of a point that the best outcome prefers, 2⁴⁰, and of any other.
    pub fn weights(epsilon: Epsilon) -> (u64, u64) {
        let other = Ratio::per_unit(epsilon, 1).step(u128::from(FIRST_WEIGHT));
        // No step grows.
        (FIRST_WEIGHT, other as u64)
    }

    /// The variance of the estimate of a share near 0 from one release; N releases have an N-th of it. r·(1 − r)/(p − r)², in
    /// the names of [`projective`](mod@crate::projective). The same bits on every target.
    #[allow(clippy::float_arithmetic)] // No probability: it decides which geometry, from public numbers.
    pub fn variance(&self, epsilon: Epsilon) -> f64 {
        let (first, other) = Self::weights(epsilon);
        let [points, preferred, shared] =
            [self.points, self.preferred(), self.shared()].map(u64::from);
        // Whole numbers below 2^24·2^40.
        let inside = shared * first + (preferred - shared) * other;
        let total = preferred * first + (points - preferred) * other;
        let difference = ((preferred - shared) * (first - other)) as f64;
        (inside as f64 / difference) * ((total - inside) as f64 / difference)
    }

    /// Whether `candidate` prefers `point`; `false` for numbers that are no points. Not for private numbers.
    ///
    /// # Shapes
    /// Any numbers.
    ///
    /// # Cost
    /// 3·t products.
    pub fn contains(&self, candidate: u32, point: u32) -> bool {
        let [candidate, point] = [candidate, point].map(|number| {
            let known = number < self.points;
            known.then(|| self.vector(number, self.coordinates.into(), Choice::from(1)))
        });
        let (Some((v, _)), Some((w, _))) = (candidate, point) else {
            return false;
        };
        let products = v.iter().zip(&w).map(|(v, w)| self.product(*v, *w));
        self.remainder(products.sum()) == 0
    }

    /// The points that `candidate` prefers, each once, in no order; none if it is no point. The relation is symmetric, so
    /// these are also all candidates that prefer the point with this number. Not for private numbers.
    ///
    /// # Shapes
    /// Any number.
    ///
    /// # Cost
    /// c points, 5·t products and one inverse each.
    pub fn preferred_points(self, candidate: u32) -> impl Iterator<Item = u32> {
        let known = candidate < self.points;
        let indices = if known { self.preferred() } else { 0 };
        (0..indices).map(move |index| self.point(candidate, Choice::from(1), index))
    }

    /// Draws a point for a private outcome, which is below K.
    // A call: callers have buffers of their own.
    #[inline(never)]
    pub(crate) fn draw<R: Rng + ?Sized>(&self, outcome: u32, epsilon: Epsilon, rng: &mut R) -> u32 {
        let (first, other) = Self::weights(epsilon);
        let preferred = self.preferred();
        let rest = self.points - preferred;
        let share = u64::from(preferred) * first;
        let total = u128::from(share) + u128::from(u64::from(rest) * other);
        let inside = share.ct_gt(&below(rng, total));
        let indices = u32::conditional_select(&rest, &preferred, inside);
        let index = below(rng, u128::from(indices)) as u32;
        self.point(outcome, inside, index)
    }

    /// The point with this index of those that the outcome prefers, or of the others.
    fn point(&self, outcome: u32, inside: Choice, index: u32) -> u32 {
        let t = usize::from(self.coordinates);
        let (mut v, place) = self.vector(outcome, t, Choice::from(1));
        let (mut u, _) = self.vector(index, t - 1, inside);
        // Where v's one stands u has the coordinate of another place, which must not count; behind it v is 0.
        let mut sum = 0;
        for ((at, v), u) in (0u32..).zip(v.iter().take(t)).zip(&u) {
            sum += self.product(*v, *u) & !mask(at.ct_eq(&place));
        }
        let wanted = u32::from((!inside).unwrap_u8());
        let own = self.remainder(wanted + u32::from(self.order.get()) - self.remainder(sum));
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
            (rest, *coordinate) = self.divide(rest);
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
        let scale = self.inverse(leading);
        let q = u32::from(self.order.get());
        let (mut first, mut power) = (0u32, 1u32);
        let (mut digits, mut correction) = (0u32, 0u32);
        for coordinate in vector.iter_mut().take(self.coordinates.into()) {
            *coordinate = self.product(*coordinate, scale);
            digits = digits.wrapping_add(coordinate.wrapping_mul(power));
            // The leading one is no digit.
            correction.conditional_assign(&first.wrapping_sub(power), !coordinate.ct_eq(&0));
            first = first.wrapping_add(power);
            power = power.wrapping_mul(q);
        }
        digits.wrapping_add(correction)
    }

    /// 1/x modulo q, by Fermat; 0 for 0, unless q is 2.
    fn inverse(&self, x: u32) -> u32 {
        let (mut result, mut square) = (1, x);
        let mut exponent = self.order.get().saturating_sub(2);
        while exponent > 0 {
            // Public.
            if exponent & 1 == 1 {
                result = self.product(result, square);
            }
            square = self.product(square, square);
            exponent >>= 1;
        }
        result
    }

    /// The product modulo q of two numbers below q.
    #[inline(always)]
    fn product(&self, a: u32, b: u32) -> u32 {
        self.remainder(a.wrapping_mul(b))
    }

    #[inline(always)]
    fn remainder(&self, x: u32) -> u32 {
        self.divide(x).1
    }

    /// The quotient of any number by q, and the remainder, without the machine's division (Barrett).
    #[inline(always)]
    fn divide(&self, x: u32) -> (u32, u32) {
        let q = i32::from(self.order.get());
        // The reciprocal is less than 1 too small, and x is below 2^32, so the quotient is right or one too small.
        let quotient = ((u64::from(x) * u64::from(self.reciprocal)) >> 32) as u32;
        // Below 2·q.
        let rest = x.wrapping_sub(quotient.wrapping_mul(q as u32)) as i32;
        let right = (rest - q).negative();
        let (carry, remainder) = (1 + right, rest - (q & !right));
        (quotient.wrapping_add(carry as u32), remainder as u32)
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

/// All ones, or 0.
#[inline(always)]
fn mask(choice: Choice) -> u32 {
    u32::from(choice.unwrap_u8()).wrapping_neg()
}

/// Whether a public number is a prime.
pub(crate) fn is_prime(number: u16) -> bool {
    let number = u32::from(number);
    let mut divisor = 2;
    while divisor * divisor <= number {
        if number.is_multiple_of(divisor) {
            return false;
        }
        divisor += 1;
    }
    number >= 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn quotients_are_exact() {
        for order in [2, 3, 5, 7, 251, 257, 4093, 65_519, 65_521] {
            let geometry = Geometry::new(order, 2).unwrap();
            let q = u32::from(order);
            let multiples = [1u32, 2, 3, 1000, q - 1, q, u32::MAX / q].map(|k| k.wrapping_mul(q));
            let near = multiples
                .iter()
                .flat_map(|m| [-1, 0, 1].map(|d| m.wrapping_add_signed(d)));
            for x in near.chain([0, 1, u32::MAX, u32::MAX - 1, 1 << 31, (q - 1) * (q - 1)]) {
                assert_eq!(geometry.divide(x), (x / q, x % q), "{x} by {q}");
            }
            for x in (1..q).step_by(q as usize / 300 + 1) {
                assert_eq!(geometry.product(x, geometry.inverse(x)), 1, "1/{x} of {q}");
            }
        }
    }

    #[test]
    fn primes_are_primes() {
        let composite = |n: u16| (2..n).any(|d| n.is_multiple_of(d));
        for number in (0..600).chain(65_500..=u16::MAX) {
            assert_eq!(
                is_prime(number),
                number >= 2 && !composite(number),
                "{number}"
            );
        }
    }

    #[test]
    fn numbers_are_those_of_vectors() {
        for (order, outcomes) in [(2, 60), (3, 100), (5, 30), (7, 300), (65_521, 2)] {
            let geometry = Geometry::new(order, outcomes).unwrap();
            for number in (0..geometry.points())
                .take(400)
                .chain([geometry.points() - 1])
            {
                let (vector, place) =
                    geometry.vector(number, geometry.coordinates.into(), Choice::from(1));
                let used: Vec<u32> = vector[..=place as usize].to_vec();
                assert_eq!(used.last(), Some(&1), "{number}");
                for factor in [1, 2, u32::from(order) - 1] {
                    let mut scaled = vector.map(|x| geometry.product(x, factor));
                    if scaled != [0; MAX_COORDINATES] {
                        assert_eq!(geometry.number(&mut scaled), number);
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
            (21, "0.5", 3.88),
            (21, "3", 0.34),
            (151, "1", 1.93),
            (151, "2", 0.85),
            (151, "5", 0.12),
            (5001, "1", 1.94),
            (5001, "3", 0.47),
            (5001, "5", 0.17),
        ] {
            let epsilon = epsilon.parse().unwrap();
            let geometry = Geometry::best(outcomes, epsilon).unwrap();
            let found = libm::sqrt(geometry.variance(epsilon));
            assert!(
                (found - error).abs() < 0.01,
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
