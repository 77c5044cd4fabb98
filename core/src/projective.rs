//! Projective geometry response: the promise of the whole-text rule, with less error for many
//! candidates.
//!
//! With the [`whole_text`](mod@crate::whole_text) rule the error of an estimated share grows with
//! the number of candidates. Here a release names one of many *points*. Every outcome prefers a set
//! of points, and the sets of any two outcomes share equally many. A server counts for each
//! candidate how many releases lie in its set. The error hardly grows with the number of
//! candidates, and a release is still one number.
//!
//! A [`Geometry`] defines the points and the sets. There are two kinds, because neither fits every
//! number of candidates: hyperplanes, here, and the arithmetic progressions of
//! [`progressions`](mod@crate::progressions). The law and its proof hold for both: there are K
//! points, sets have c points, and any two sets share c₂. They also hold for a third kind, which is
//! used only for answers to a [`form`](mod@crate::form): each outcome is a point and prefers
//! itself, so K is the number of outcomes, c = 1 and c₂ = 0. This is randomised response.
//!
//! # Hyperplanes
//! Let q be a prime and t ≥ 2. The points are the lines through the origin of F_q^t,
//! K = (q^t − 1)/(q − 1) of them. Each has one *canonical* vector, whose first nonzero coordinate
//! is 1. With m coordinates after that, its number is (q^m − 1)/(q − 1) plus these coordinates as
//! the digits of a number to the base q.
//!
//! Outcome v is the point with number v. It prefers S_v, the points w with ⟨v, w⟩ = 0. They form a
//! hyperplane, so there are c = (q^(t−1) − 1)/(q − 1) of them, and two hyperplanes share
//! c₂ = (q^(t−2) − 1)/(q − 1). The relation is symmetric. With t = 2 every set has one point, which
//! is randomised response.
//!
//! # The law
//! Let v be the best of the n candidates for the text, or n for *nothing known*. So a text has one
//! of n + 1 outcomes, or of n under a pack that leaves "nothing known" out (see
//! [`whole_text`](mod@crate::whole_text)). A geometry can have more, which have no candidate. A
//! point of S_v has the weight W₀ = 2⁴⁰, every other point W₁, with W₀ ≤ e^ε·W₁.
//!
//! # Why it is private
//! The normaliser c·W₀ + (K − c)·W₁ is the same for every v, because every set has c points. So for
//! any two texts the probability of a point is the same, or it changes by W₀/W₁ or W₁/W₀: within
//! e^ε. This holds for any two texts, and v may be any function of the text. The geometry is chosen
//! from the number of outcomes and ε, which are public. ∎
//!
//! A [`Ratio`] for ε' divides a weight by at most e^(ε'/2), so ε' = 2ε: ln(W₀/W₁) ≤ ε − 2⁻⁶².
//! Weights are integers, and W₀ = 2⁴⁰, so no release is drawn with more than [`LARGEST_EPSILON`].
//!
//! # How a point is drawn
//! A coin decides whether the point lies in S_v: yes with probability c·W₀ / (c·W₀ + (K − c)·W₁).
//! Then an index selects one of those points. Let v be canonical, v_j = 1 its first nonzero
//! coordinate.
//!
//! - *Inside.* The index, below c, numbers a point u of the geometry of t − 1 coordinates. The
//!   coordinates of u, in order, become those of w at all places but j, and w_j = −Σ v_i·w_i over
//!   these places. This map is linear and one-to-one from F_q^(t−1) to the hyperplane, so lines go
//!   to lines, and every point of S_v has exactly one index.
//! - *Outside.* The index, below q^(t−1) = K − c, numbers any u in F_q^(t−1). Its coordinates are
//!   those of w except w_j = 1 − Σ v_i·w_i. These are the vectors with ⟨v, w⟩ = 1, and every point
//!   outside S_v has exactly one of them.
//!
//! Then w is made canonical: it is multiplied by the inverse of its first nonzero coordinate, which
//! is the power q − 2 of that coordinate.
//!
//! # Finite randomness
//! A draw by [`below`] falls into a given set of s ≥ 1 of M numbers with a probability within a
//! factor 1 ± M·2⁻¹²⁸ of s/M. There are two draws: M is at most K·W₀ ≤ 2⁶⁴ for the coin and at most
//! 2²⁴ for the index. So the ratio of a point's probabilities under any two outcomes is within a
//! factor of (1 + 2⁻⁶⁴)(1 + 2⁻¹⁰⁴) / ((1 − 2⁻⁶⁴)(1 − 2⁻¹⁰⁴)) < e^(2⁻⁶²) of the ideal ratio. The
//! margin of 2⁻⁶² in ln(W₀/W₁) ≤ ε − 2⁻⁶² covers this.
//!
//! # Constant work
//! Nothing is rejected. Loops run over t coordinates, remainders by q are products with its
//! reciprocal, the exponent q − 2 is public, and masks select: the instructions and addresses are
//! the same for every v, coin and index.
//!
//! # Estimates of a server
//! Let N_v of N releases lie in S_v, E = W₀/W₁ and Z = c·E + K − c. A text of best outcome v gives
//! such a release with p = c·E/Z, any other with r = (c₂·E + c − c₂)/Z, so (N_v/N − r)/(p − r) is
//! an unbiased estimate of the share of v.
//!
//! # Source
//! Feldman, Nelson, Nguyen and Talwar 2022, "Private frequency estimation via projective geometry".
//! Ours: integer weights, drawing by one coin and one index, and the outcome for nothing known.

use rand_core::Rng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};

use crate::barrier::wipe;
use crate::epsilon::{Epsilon, Micro};
use crate::integers::{Modulus, is_prime, mask};
use crate::progressions::{MOST_OUTCOMES, Progressions};
use crate::rng::below;
use crate::select::Ratio;

/// The largest t, the number of coordinates of a point.
pub const MAX_COORDINATES: usize = 24;

/// An exclusive limit on the number of points.
const POINTS: u64 = 1 << 24;

const _: () = {
    let v = MOST_OUTCOMES as u64;
    // The next prime is 5801.
    assert!(v * (v - 1) / 2 < POINTS && 5801 * 5800 / 2 >= POINTS);
};

/// The weight of a preferred point.
const FIRST_WEIGHT: u64 = 1 << 40;

/// The largest ε of a release: ln 2⁴⁰, rounded up. A larger ε is served as this one.
pub const LARGEST_EPSILON: Micro = Micro(27_725_888);

/// Coordinates, the last one first: those before the leading one are digits, the lowest first.
type Vector = [u32; MAX_COORDINATES];

/// The points, and the set of points that each outcome prefers. All of it is public. See
/// [`projective`](mod@crate::projective).
///
/// A server makes it with [`new`](Geometry::new) from the order in a release and the number of
/// outcomes, [`Mechanism::outcomes`](crate::release::Mechanism::outcomes). It counts a release for
/// every candidate in [`outcomes_preferring`](Geometry::outcomes_preferring) the
/// release's point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry(Sets);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sets {
    Hyperplanes(Hyperplanes),
    Progressions(Progressions),
    /// As many points as outcomes, each its own set.
    Singletons(u32),
}

/// The kind of the sets of a [`Geometry`], with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// Hyperplanes of a projective space.
    Hyperplanes {
        /// q, the prime modulus of coordinates.
        order: u16,
        /// t, the number of coordinates of a point: 2 to [`MAX_COORDINATES`].
        coordinates: u8,
    },
    /// Arithmetic progressions. See [`progressions`](mod@crate::progressions).
    Progressions {
        /// v, the prime modulus.
        modulus: u16,
        /// k, the number of terms.
        terms: u16,
    },
    /// Each outcome is a point and prefers itself: randomised response.
    Singletons {
        /// The number of outcomes.
        outcomes: u32,
    },
}

/// The order of a [`Geometry`], as releases hold it: a prime q for hyperplanes, 2k for
/// [`progressions`](mod@crate::progressions) of k terms, 1 for singletons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order(u16);

impl Order {
    /// The order of [`Geometry::singletons`].
    pub const SINGLETONS: Self = Self(1);

    /// The order with this number, if some geometry of a document's release has it.
    pub fn from_number(number: u16) -> Option<Self> {
        let even = number.is_multiple_of(2);
        let exists = is_prime(number) || even && Progressions::are_terms(number / 2);
        exists.then_some(Self(number))
    }

    /// The order with this number, if some geometry of an answer has it.
    pub fn of_answer(number: u16) -> Option<Self> {
        if number == Self::SINGLETONS.0 {
            Some(Self::SINGLETONS)
        } else {
            Self::from_number(number)
        }
    }

    /// The number in releases.
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl From<Geometry> for Order {
    fn from(geometry: Geometry) -> Self {
        Self(geometry.order())
    }
}

impl Geometry {
    /// The geometry of this order for `outcomes` outcomes: the candidates, and mostly "nothing
    /// known".
    ///
    /// A prime is the order q of hyperplanes, with the fewest coordinates that give each outcome a
    /// point. An even number from 4 on is twice the terms of
    /// [`progressions`](mod@crate::progressions). `None` for other orders, and for 2²⁴ points or
    /// more or too many terms.
    pub fn new(order: u16, outcomes: u32) -> Option<Self> {
        match order {
            4.. if order.is_multiple_of(2) => {
                Progressions::new(order / 2, outcomes).map(Self::from)
            }
            _ => Hyperplanes::new(order, outcomes).map(Self::from),
        }
    }

    /// The geometry of a release with this ε. `None` for no outcomes, or 2²⁴ and more.
    ///
    /// It is the hyperplanes of least [`variance`](Geometry::variance), of the smaller order on a
    /// tie. If their variance is more than a 32nd above that of the best progressions, it is these
    /// progressions. So the error is at most 1.6 % above the least of both kinds.
    ///
    /// # Cost
    /// A search by halves and some hundred primality tests of small numbers for each number of
    /// coordinates. It depends on the number of candidates and ε, which are public.
    #[allow(clippy::float_arithmetic)] // Decides no probability: the arguments are public.
    pub fn best(outcomes: u32, epsilon: Epsilon) -> Option<Self> {
        let (variance, hyperplanes) = Hyperplanes::best(outcomes, epsilon)?;
        let progressions = Progressions::best(outcomes, Self::weights(epsilon), |candidate| {
            Self::from(candidate).variance(outcomes, epsilon)
        });
        let better = progressions.filter(|(found, _)| found * 33.0 < variance * 32.0);
        Some(better.map_or(hyperplanes.into(), |(_, progressions)| progressions.into()))
    }

    /// The geometry of an answer with this order: as [`new`](Geometry::new), or
    /// [`singletons`](Geometry::singletons) for order 1.
    pub fn of_answer(order: u16, outcomes: u32) -> Option<Self> {
        if order == Order::SINGLETONS.0 {
            Self::singletons(outcomes)
        } else {
            Self::new(order, outcomes)
        }
    }

    /// Randomised response: each outcome is a point and prefers itself. `None` for fewer than 2
    /// outcomes, or 2²⁴ and more.
    pub fn singletons(outcomes: u32) -> Option<Self> {
        let fits = outcomes >= 2 && u64::from(outcomes) < POINTS;
        fits.then_some(Self(Sets::Singletons(outcomes)))
    }

    /// The geometry of an answer with this ε: [`singletons`](Geometry::singletons), or the
    /// [`best`](Geometry::best) of the other kinds if its [`variance`](Geometry::variance) is less.
    /// `None` as for [`singletons`](Geometry::singletons).
    ///
    /// # Cost
    /// As [`best`](Geometry::best).
    pub fn best_for_answer(outcomes: u32, epsilon: Epsilon) -> Option<Self> {
        let singletons = Self::singletons(outcomes)?;
        let limit = singletons.variance(outcomes, epsilon);
        let better = Self::best(outcomes, epsilon)
            .filter(|geometry| geometry.variance(outcomes, epsilon) < limit);
        Some(better.unwrap_or(singletons))
    }

    /// The kind of the sets, with its parameters.
    pub fn shape(&self) -> Shape {
        match self.0 {
            Sets::Hyperplanes(planes) => Shape::Hyperplanes {
                order: planes.order.get(),
                coordinates: planes.coordinates,
            },
            Sets::Progressions(progressions) => Shape::Progressions {
                modulus: progressions.modulus(),
                terms: progressions.terms(),
            },
            Sets::Singletons(outcomes) => Shape::Singletons { outcomes },
        }
    }

    /// The number in a release that identifies the geometry: see [`new`](Geometry::new).
    pub fn order(&self) -> u16 {
        match self.shape() {
            Shape::Hyperplanes { order, .. } => order,
            Shape::Progressions { terms, .. } => 2 * terms,
            Shape::Singletons { .. } => Order::SINGLETONS.number(),
        }
    }

    /// K, the number of points, below 2²⁴.
    pub fn points(&self) -> u32 {
        match self.0 {
            Sets::Hyperplanes(planes) => planes.points,
            Sets::Progressions(progressions) => progressions.points(),
            Sets::Singletons(outcomes) => outcomes,
        }
    }

    /// c, the number of points that an outcome prefers.
    pub fn preferred(&self) -> u32 {
        match self.0 {
            Sets::Hyperplanes(planes) => planes.preferred(),
            Sets::Progressions(progressions) => progressions.preferred(),
            Sets::Singletons(_) => 1,
        }
    }

    /// c₂, the number of points that any two outcomes both prefer.
    pub fn shared(&self) -> u32 {
        match self.0 {
            Sets::Hyperplanes(planes) => planes.shared(),
            Sets::Progressions(progressions) => progressions.shared(),
            Sets::Singletons(_) => 0,
        }
    }

    /// The number of outcomes that prefer a point, including outcomes without a candidate.
    pub fn outcomes_of_a_point(&self) -> u32 {
        match self.shape() {
            Shape::Hyperplanes { .. } => self.preferred(),
            Shape::Progressions { terms, .. } => terms.into(),
            Shape::Singletons { .. } => 1,
        }
    }

    /// W₀ = 2⁴⁰, the weight of a point that the best outcome prefers, and W₁ of any other.
    pub fn weights(epsilon: Epsilon) -> (u64, u64) {
        let other = Ratio::per_unit(epsilon, 1).step(u128::from(FIRST_WEIGHT));
        // A step never grows.
        (FIRST_WEIGHT, other as u64)
    }

    /// The variance of an estimated share from one release, averaged over n `outcomes`. N releases
    /// have an N-th of it.
    ///
    /// It is (p·(1 − p) + (n − 1)·r·(1 − r)) / (n·(p − r)²) in the names of
    /// [`projective`](mod@crate::projective), for any shares. The same bits on every target.
    #[allow(clippy::float_arithmetic)] // Decides no probability: the arguments are public.
    pub fn variance(&self, outcomes: u32, epsilon: Epsilon) -> f64 {
        let (first, other) = Self::weights(epsilon);
        let [points, preferred, shared] =
            [self.points(), self.preferred(), self.shared()].map(u64::from);
        // p, 1 - p, r, 1 - r and p - r times the normaliser: integers below 2^24·2^40.
        let (p, not_p) = (preferred * first, (points - preferred) * other);
        let r = shared * first + (preferred - shared) * other;
        let difference = ((preferred - shared) * (first - other)) as f64;
        let of_p = (p as f64 / difference) * (not_p as f64 / difference);
        let of_r = (r as f64 / difference) * ((p + not_p - r) as f64 / difference);
        let outcomes = f64::from(outcomes);
        (of_p + (outcomes - 1.0) * of_r) / outcomes
    }

    /// Whether `outcome` prefers `point`; `false` for any number that is no outcome or no point.
    /// Not for private numbers.
    pub fn contains(&self, outcome: u32, point: u32) -> bool {
        match self.0 {
            Sets::Hyperplanes(planes) => planes.contains(outcome, point),
            Sets::Progressions(progressions) => progressions.contains(outcome, point),
            Sets::Singletons(outcomes) => outcome == point && point < outcomes,
        }
    }

    /// The outcomes that prefer `point`, each once, in no order; none if there is no such point.
    /// Ignore the outcomes without a candidate. Not for private numbers.
    ///
    /// # Cost
    /// [`outcomes_of_a_point`](Geometry::outcomes_of_a_point) steps; each takes 5·t products and
    /// one inverse, or two products.
    pub fn outcomes_preferring(self, point: u32) -> impl Iterator<Item = u32> {
        let known = point < self.points();
        let places = if known { self.outcomes_of_a_point() } else { 0 };
        (0..places).map(move |place| match self.0 {
            // Outcome v prefers point w if and only if outcome w prefers point v.
            Sets::Hyperplanes(planes) => planes.point(point, Choice::from(1), place),
            Sets::Progressions(progressions) => progressions.term(point, place),
            Sets::Singletons(_) => point,
        })
    }

    /// The number of outcomes, including those without a candidate.
    pub fn outcomes(&self) -> u32 {
        match self.shape() {
            Shape::Hyperplanes { .. } => self.points(),
            Shape::Progressions { modulus, .. } => modulus.into(),
            Shape::Singletons { outcomes } => outcomes,
        }
    }

    /// Draws a point for a private outcome below [`outcomes`](Geometry::outcomes).
    // `inline(never)`: callers have buffers of their own on the stack.
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
        // The kind is public.
        match &self.0 {
            Sets::Hyperplanes(planes) => planes.point(outcome, inside, index),
            Sets::Progressions(progressions) => progressions.point(outcome, inside, index),
            Sets::Singletons(_) => {
                // The index counts the other points.
                let other = index + u32::from((!outcome.ct_gt(&index)).unwrap_u8());
                u32::conditional_select(&other, &outcome, inside)
            }
        }
    }
}

impl From<Hyperplanes> for Geometry {
    fn from(planes: Hyperplanes) -> Self {
        Self(Sets::Hyperplanes(planes))
    }
}

impl From<Progressions> for Geometry {
    fn from(progressions: Progressions) -> Self {
        Self(Sets::Progressions(progressions))
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

    /// The hyperplanes of least variance, with their variance.
    ///
    /// Let t be fixed and a = e^ε − 1. The variance times n·a² is A + (n − 1)·B, with A = (a + 1)·Σ
    /// q^(3 − i) over i from 2 to t, and B = Σ (a + q)²/qⁱ over i from 1 to t − 2, plus (a +
    /// q)/q^(t−2). Every term is convex in q, so a walk from any prime to the next that goes on
    /// while the variance falls ends at the least.
    #[allow(clippy::float_arithmetic)] // Public numbers: see Geometry::best.
    fn best(outcomes: u32, epsilon: Epsilon) -> Option<(f64, Self)> {
        let (first, other) = Geometry::weights(epsilon);
        // The first terms are least for q²·(n + a) = a²·(n − 1). The least weight is 1.
        let a = u128::from(first / other.max(1));
        let square =
            a * a * u128::from(outcomes.saturating_sub(1)) / (u128::from(outcomes) + a).max(1);
        let about = u16::try_from(square.isqrt()).unwrap_or(u16::MAX);
        let with = |order| {
            let planes = Self::new(order, outcomes)?;
            Some((Geometry::from(planes).variance(outcomes, epsilon), planes))
        };
        let mut least: Option<(f64, Self)> = None;
        // Orders from here on need fewer coordinates.
        let mut beyond = u16::MAX;
        for coordinates in 2..=MAX_COORDINATES {
            let start = first_order(coordinates, outcomes.into(), beyond);
            let end = first_order(coordinates, POINTS, beyond).max(start);
            // With two coordinates the variance grows with q.
            let near = if coordinates == 2 {
                start
            } else {
                about.clamp(start, end)
            };
            let mut walked = f64::INFINITY;
            let mut goes_down = |order: &u16| {
                let Some((variance, planes)) = with(*order) else {
                    return false;
                };
                let better = least.is_none_or(|(least, best)| {
                    variance < least || (variance <= least && *order < best.order.get())
                });
                if better {
                    least = Some((variance, planes));
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

    fn preferred(&self) -> u32 {
        // K = q·c + 1.
        self.order.divide(self.points - 1).0
    }

    fn shared(&self) -> u32 {
        self.order.divide(self.preferred() - 1).0
    }

    fn contains(&self, outcome: u32, point: u32) -> bool {
        if outcome >= self.points || point >= self.points {
            return false;
        }
        let canonical = |number| self.vector(number, self.coordinates.into(), Choice::from(1));
        let [(v, _), (w, _)] = [outcome, point].map(canonical);
        let products = v.iter().zip(&w).map(|(v, w)| self.order.product(*v, *w));
        self.order.remainder(products.sum()) == 0
    }

    fn point(&self, outcome: u32, inside: Choice, index: u32) -> u32 {
        let t = usize::from(self.coordinates);
        let (mut v, place) = self.vector(outcome, t, Choice::from(1));
        let (mut u, _) = self.vector(index, t - 1, inside);
        // At the place of v's leading one, u has the coordinate of another place, which must not
        // count. After that place v is 0.
        let mut sum = 0;
        for ((at, v), u) in (0u32..).zip(v.iter().take(t)).zip(&u) {
            sum += self.order.product(*v, *u) & !mask(at.ct_eq(&place));
        }
        let target = u32::from((!inside).unwrap_u8());
        let missing = target + u32::from(self.order.get()) - self.order.remainder(sum);
        let missing = self.order.remainder(missing);
        let mut w: Vector = [0; MAX_COORDINATES];
        let mut before = 0;
        for ((at, w), u) in (0u32..).zip(w.iter_mut().take(t)).zip(&u) {
            *w = u32::conditional_select(u, &before, at.ct_gt(&place));
            w.conditional_assign(&missing, at.ct_eq(&place));
            before = *u;
        }
        let number = self.number(&mut w);
        wipe(&mut v);
        wipe(&mut u);
        wipe(&mut w);
        number
    }

    /// The canonical vector with this number, and the place of its leading one. If not `canonical`,
    /// the vector whose coordinates are the digits of the number. It has `coordinates` ≤ t
    /// coordinates.
    fn vector(&self, number: u32, coordinates: usize, canonical: Choice) -> (Vector, u32) {
        let q = u32::from(self.order.get());
        let (mut first, mut power) = (0u32, 1u32);
        let (mut base, mut place) = (0u32, 0u32);
        for at in (0u32..).take(coordinates) {
            let reached = !first.ct_gt(&number) & canonical;
            base.conditional_assign(&first, reached);
            place.conditional_assign(&at, reached);
            // After an overflow the values are not used.
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

    /// Makes a nonzero vector canonical and returns the number of its point.
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
            // The leading one is not a digit.
            correction.conditional_assign(&first.wrapping_sub(power), !coordinate.ct_eq(&0));
            first = first.wrapping_add(power);
            power = power.wrapping_mul(q);
        }
        digits.wrapping_add(correction)
    }
}

/// The least order with at least `points` points, from 2 to `beyond`; `beyond` if none has.
fn first_order(coordinates: usize, points: u64, beyond: u16) -> u16 {
    let (mut start, mut end) = (2, beyond);
    while start < end {
        let middle = start + (end - start) / 2;
        let q = u64::from(middle);
        // K by Horner's rule, until it reaches `points`: below 2^24·2^16.
        let mut found = 0;
        for _ in 0..coordinates {
            if found < points {
                found = found * q + 1;
            }
        }
        if found >= points {
            end = middle;
        } else {
            start = middle + 1;
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
            let planes = Hyperplanes::new(order, outcomes).unwrap();
            let coordinates = planes.coordinates.into();
            for number in (0..planes.points).take(400).chain([planes.points - 1]) {
                let (vector, place) = planes.vector(number, coordinates, Choice::from(1));
                let used: Vec<u32> = vector[..=place as usize].to_vec();
                assert_eq!(used.last(), Some(&1), "{number}");
                for factor in [1, 2, u32::from(order) - 1] {
                    let mut scaled = vector.map(|x| planes.order.product(x, factor));
                    if scaled != [0; MAX_COORDINATES] {
                        assert_eq!(planes.number(&mut scaled), number);
                        assert_eq!(scaled, vector);
                    }
                }
            }
        }
    }
}
