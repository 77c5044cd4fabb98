//! Privacy of one text in published counts of whole-text releases, if nobody can link releases to
//! devices.
//!
//! # The statement
//! N devices release by the same [`Channel`], with ε₀ for the whole text. An observer sees the
//! number of releases of each outcome and nothing else: no names, times, addresses or order.
//! Exchanging one text for any other changes the probability of any set of counts by at most a
//! factor e^ε and an addition of δ, whatever the other texts are, even if all of them are known.
//! The statement is about counts: a recipient of the releases themselves learns up to ε₀ of each.
//! Forged releases hide nobody, so N counts honest ones. It does not hold for sentence releases,
//! whose guarantee does not cover the whole text.
//!
//! # Why
//! Every outcome has at least the probability u, whatever the text (see [`Channel::of_outcome`]; w
//! is the other one). So with probability β = K·u, for K outcomes, a release is a uniform draw that
//! does not depend on the text: the *blanket*. Tell the observer which of the other devices drew
//! from the blanket, and the releases of the rest. What remains to tell the two texts apart is the
//! counts of M messages: the device's own and M − 1 of the blanket, where B = M − 1 is binomial
//! with N − 1 tosses of β.
//!
//! The two texts prefer c outcomes each and c₂ both. Let d = c − c₂. With probability e = c₂·(w −
//! u) the release is drawn from those that both prefer, by either text: that adds the same to both
//! laws, and is left out with a factor 1 − e. Else, with probability γ = d·(w + u)/(1 − e), it lies
//! in what just one of them prefers: in the half of its own text with probability α = w/(w + u).
//! Else it is uniform over all other outcomes, as the blanket is there. So only two numbers tell
//! texts apart: T, the messages in the two halves, and A, those in the first. With p(k) the
//! probability that k of the M − 1 lie in them (binomial, q = 2d/K), and coins(k, a) that a of k
//! fair coins show heads,
//!
//! Pr[T, A] = γ·p(T − 1)·(α·coins(T − 1, A − 1) + (1 − α)·coins(T − 1, A)) + (1 − γ)·p(T)·coins(T,
//! A)
//!
//! and the same with A and T − A exchanged. Given T, this is a fair coin for each of T − 1
//! messages, and one that shows heads with a probability α_T ≤ α, because coins(T, A) is the mean
//! of coins(T − 1, A − 1) and coins(T − 1, A). δ is the sum of the excess of the first law over e^ε
//! times the other. ∎
//!
//! The numbers of M and T are grouped. A group is bounded by its least M, its least T and its
//! largest α_T, because another message, or a coin nearer to a fair one, is noise that anyone could
//! add.
//!
//! # Composition over slots
//! A device may release in several slots, and each slot's counts are published. The losses of the
//! slots add up, even if later texts depend on earlier counts (Gopi, Lee and Wutschitz 2021;
//! Zhu, Dong and Wang 2022). So the law of the *privacy loss* ln(P/Q), for outcomes drawn from P,
//! is convolved with itself once for each slot, and δ is the mean of 1 − e^(ε − loss) where that is
//! positive.
//! The loss lies on a grid. An outcome of probabilities p and q between two grid points is split
//! among both such that the sums are still p and q: who merges the two parts has the outcome again,
//! so the pair of laws that results reveals no less (the "connect the dots" of Doroshenko et al.
//! 2022). All other approximations add to the probability that the loss is infinite:
//!
//! - tails of the devices of a slot, M, T and A, by the bounds of Chernoff, Bernstein and Hoeffding;
//! - sums beyond the grid, by the bound of Chernoff. Sums below it reappear above others;
//! - rounding in the Fourier transform, by the bound of `FOURIER`. The law is tilted by e^(θ·loss)
//!   before, so that the error is small against δ.
//!
//! If appointments are public, each of the other N − 1 devices releases in a given slot with the
//! probability s = appointments/slots, independently of this one. With one appointment B is
//! binomial with s·β. With several, the numbers of devices in two slots depend on each other. So
//! each is replaced by a lower bound, which fails with a small probability; given these numbers,
//! slots are independent.
//!
//! # Source
//! Balle, Bell, Gascón and Nissim 2019, "The privacy blanket of the shuffle model". Ours: the two
//! halves, which make it exact for randomised response and cover geometries. Feldman, McMillan and
//! Talwar 2023 have a closed form, which their erratum restricts to some laws; here its ε would be
//! three to eight times as large.

use std::ops::RangeInclusive;

use rustfft::algorithm::Radix4;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};
use statrs::function::gamma::ln_gamma;
use undertone::error::Result;
use undertone::release::document::Method;
use undertone::release::window::{Promises, Reader, Window};
use undertone_core::epsilon::Epsilon;

use crate::channel::Channel;
use crate::plan::whole_text_kind;
use crate::refused;

/// The reported δ.
pub const DELTA: f64 = 1e-9;

/// More releases count as this many, which is enough for any ε and fast.
const MOST_RELEASES: u64 = 10_000_000;

/// Bisections of the range of ε.
const HALVINGS: usize = 40;

/// Groups of M for each standard deviation.
const GROUPS_OF_MESSAGES: f64 = 2.0;

/// Groups of T for each standard deviation.
const GROUPS_OF_HALVES: f64 = 8.0;

/// Grid points up to the largest loss of one slot.
const POINTS: usize = 256;

/// The part of δ that each of the [`TAILS`] may take.
const TAIL: f64 = 0.01;

/// The tails: of devices, of M, of T twice, of A twice, and of the sum of losses.
const TAILS: f64 = 7.0;

/// Factor that covers rounding errors of probabilities, each below 10⁻⁸.
const SLACK: f64 = 1.001;

/// Relative error of a Fourier transform of 2^k numbers, for each k, in the Euclidean norm: twice
/// the bound of Higham 2002, theorem 24.2, for factors that are rounded once.
const FOURIER: f64 = 16.0 * f64::EPSILON;

/// The ε of the counts of `releases` by this channel at this δ, rounded up to three digits; `None`
/// if it is not below the ε of one release. An error if `delta` is not from 10⁻¹⁵ to 0.1.
pub(crate) fn epsilon(channel: &Channel, releases: u64, delta: f64) -> Result<Option<f64>> {
    of_slots(channel, releases, 1.0, 1, delta)
}

/// The ε of all counts of a window at this δ for a device that releases in its appointments, among
/// `devices` that do the same; rounded up to three digits. `None` if it is not below the ε of the
/// device's releases together. An error as of [`epsilon`].
fn of_window(channel: &Channel, devices: u64, window: Window, delta: f64) -> Result<Option<f64>> {
    let [slots, appointments] = [window.slots(), window.appointments()];
    let share = f64::from(appointments) / f64::from(slots);
    of_slots(channel, devices, share, appointments, delta)
}

/// The three numbers of a window for releases by a method for the whole text, by `devices` under a
/// pack of `candidates`, with [`DELTA`].
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for sentence releases, and if there are
/// too many candidates for points.
pub fn promises(
    method: Method,
    epsilon: Epsilon,
    candidates: u32,
    devices: u64,
    window: Window,
) -> Result<Promises> {
    // Every pack of this size has the same channel.
    let kind = whole_text_kind([0; 8], candidates, true, method, epsilon)?;
    let reader = match Channel::new(kind, candidates)? {
        Some(channel) => of_window(&channel, devices, window, DELTA)?,
        None => None,
    };
    let mut promises = window.promises(method.served(epsilon, candidates));
    promises.reader = Some(Reader {
        devices,
        epsilon: reader,
        delta: DELTA,
    });
    Ok(promises)
}

/// The ε of the counts of `slots`, in each of which each of `devices` releases with the probability
/// `share`.
fn of_slots(
    channel: &Channel,
    devices: u64,
    share: f64,
    slots: u16,
    delta: f64,
) -> Result<Option<f64>> {
    if !(1e-15..=0.1).contains(&delta) {
        return Err(refused(format!(
            "delta is {delta}; take one of 10^-15 to 0.1, such as {DELTA}"
        )));
    }
    let halves = Halves::new(channel);
    let tail = (f64::from(slots) / (TAIL * delta)).ln();
    let devices = devices.clamp(1, MOST_RELEASES);
    let groups = if slots == 1 || share == 1.0 {
        halves.messages(devices - 1, share, tail)
    } else {
        let least = fewest((devices - 1) as f64 * share, tail);
        least.map_or_else(Vec::new, |others| halves.messages(others, 1.0, tail))
    };
    if groups.is_empty() {
        return Ok(None);
    }
    let losses = Losses::new(&halves, &groups, tail);
    let sum = losses.composed(slots, (TAIL * delta).recip().ln());
    let pure = f64::from(slots) * (halves.likely / halves.unlikely).ln();
    let most = (1.0 - TAILS * TAIL) * delta / SLACK;
    let (mut low, mut high) = (0.0, pure);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if sum.delta(middle) <= most {
            high = middle;
        } else {
            low = middle;
        }
    }
    // A quotient by a power of ten is the double nearest to its digits; a product is not.
    let scale = 10f64.powi(2 - high.log10().floor() as i32);
    let rounded = (high * scale).ceil() / scale;
    Ok((rounded < pure).then_some(rounded))
}

/// The numbers of the proof.
struct Halves {
    /// w.
    likely: f64,
    /// u.
    unlikely: f64,
    /// β.
    blanket: f64,
    /// 1 − e.
    apart: f64,
    /// γ.
    inside: f64,
    /// q.
    halves: f64,
}

/// Numbers that are bounded together by the least of them.
#[derive(Clone, Copy)]
struct Group {
    /// Probability that the number is one of them.
    mass: f64,
    least: u64,
}

/// Numbers T that are bounded together.
struct Block {
    /// Probability that T is one of them.
    mass: f64,
    /// The least T − 1.
    coins: u64,
    /// The largest α_T.
    heads: f64,
}

impl Halves {
    fn new(channel: &Channel) -> Self {
        let (likely, unlikely) = channel.of_outcome();
        let [outcomes, preferred, shared] = channel.sizes().map(f64::from);
        let half = preferred - shared;
        let apart = 1.0 - shared * (likely - unlikely);
        Self {
            likely,
            unlikely,
            blanket: (outcomes * unlikely).min(1.0),
            apart,
            inside: half * (likely + unlikely) / apart,
            halves: (2.0 * half / outcomes).min(1.0),
        }
    }

    /// The groups of M if each of `tosses` other devices releases with the probability `share`,
    /// without a lower tail of a probability of e^(-tail). Empty if that tail has M = 1.
    fn messages(&self, tosses: u64, share: f64, tail: f64) -> Vec<Group> {
        let chance = self.blanket * share;
        let mean = tosses as f64 * chance;
        let Some(first) = fewest(mean, tail) else {
            return Vec::new();
        };
        let deviation = mean.sqrt();
        let width = ((deviation / GROUPS_OF_MESSAGES) as u64).max(1);
        let last = (mean + 4.0 * deviation) as u64;
        let starts: Vec<u64> = (first..=last.min(tosses)).step_by(width as usize).collect();
        let mut groups = Vec::new();
        let mut rest = 1.0f64;
        for (place, start) in starts.iter().enumerate() {
            let mass = match starts.get(place + 1) {
                Some(next) => (*start..*next).map(|b| binomial(tosses, chance, b)).sum(),
                None => rest.max(0.0),
            };
            rest -= mass;
            groups.push(Group {
                mass,
                least: start + 1,
            });
        }
        groups
    }

    /// The probability that none of `messages` is in the halves, so that nothing tells texts apart.
    fn none(&self, messages: u64) -> f64 {
        (1.0 - self.inside).max(0.0) * binomial(messages - 1, self.halves, 0)
    }

    /// The blocks of T ≥ 1 of `messages`, without tails of a probability of 2·e^(-tail).
    fn blocks(&self, messages: u64, tail: f64) -> Vec<Block> {
        let tosses = messages - 1;
        let mean = tosses as f64 * self.halves;
        // By the bounds of Chernoff and of Bernstein.
        let below = mean - (2.0 * tail * mean).sqrt();
        let above = mean + tail / 3.0 + (tail * tail / 9.0 + 2.0 * tail * mean).sqrt();
        let first = (below.floor() as u64).max(1);
        let last = messages.min(above.ceil() as u64 + 1);
        let width = ((mean.sqrt() / GROUPS_OF_HALVES) as u64).max(1);
        let mut blocks = Vec::new();
        let mut before = binomial(tosses, self.halves, first - 1);
        for start in (first..=last).step_by(width as usize) {
            let end = last.min(start + width - 1);
            let (mut mass, mut most) = (0.0, 0.5f64);
            for t in start..=end {
                let here = binomial(tosses, self.halves, t);
                let (own, other) = (self.inside * before, (1.0 - self.inside).max(0.0) * here);
                let all = own + other;
                mass += all;
                if all > 0.0 {
                    let heads = own * self.likely / (self.likely + self.unlikely) + other / 2.0;
                    most = most.max(heads / all);
                }
                before = here;
            }
            blocks.push(Block {
                mass,
                coins: start - 1,
                heads: most,
            });
        }
        blocks
    }
}

impl Block {
    /// The numbers of heads, without two tails of a probability of e^(-tail) each.
    fn heads(&self, tail: f64) -> RangeInclusive<u64> {
        let all = self.coins + 1;
        let mean = self.coins as f64 / 2.0 + self.heads;
        // By the bound of Hoeffding.
        let reach = (all as f64 * tail / 2.0).sqrt();
        let first = (mean - reach).ceil().max(0.0) as u64;
        first..=((mean + reach).floor() as u64).min(all)
    }

    /// The largest loss, in either direction.
    fn largest_loss(&self, tail: f64) -> f64 {
        let heads = self.heads(tail);
        let loss = |heads: u64| {
            let [own, other] = [heads, self.coins + 1 - heads].map(|count| count as f64);
            let [more, less] = [self.heads, 1.0 - self.heads];
            ((more * own + less * other) / (less * own + more * other)).ln()
        };
        loss(*heads.end()).max(-loss(*heads.start()))
    }

    /// Calls `visit` with the probabilities of each number of heads, by the one law and by the
    /// other. Their quotient grows.
    fn each_outcome(&self, tail: f64, mut visit: impl FnMut(f64, f64)) {
        let (more, less) = (self.heads, 1.0 - self.heads);
        let heads = self.heads(tail);
        // The probabilities that the fair coins show one head less, and as many.
        let (mut before, mut here) = match *heads.start() {
            0 => (0.0, binomial(self.coins, 0.5, 0)),
            first => {
                let before = binomial(self.coins, 0.5, first - 1);
                let tails = self.coins + 1 - first;
                (before, before * tails as f64 / first as f64)
            }
        };
        for heads in heads {
            let [own, other] = [more * before + less * here, less * before + more * here];
            visit(self.mass * own, self.mass * other);
            before = here;
            here *= self.coins.saturating_sub(heads) as f64 / (heads + 1) as f64;
        }
    }
}

/// The law of the privacy loss of one slot.
struct Losses {
    /// The distance of grid points.
    step: f64,
    /// The probabilities of the losses −k·step to k·step.
    masses: Vec<f64>,
}

/// The part of an outcome's probability that goes to the upper of its two grid points, so that the
/// sums of both laws remain. `own` and `other` are its probabilities, `grid` has e^(-loss) of the
/// two points.
fn upper_part(own: f64, other: f64, [low, high]: [f64; 2]) -> f64 {
    ((low * own - other) / (low - high)).clamp(0.0, own)
}

impl Losses {
    fn new(halves: &Halves, messages: &[Group], tail: f64) -> Self {
        Self::split_by(halves, messages, tail, upper_part)
    }

    /// The law, with outcomes split by `upper`.
    fn split_by(
        halves: &Halves,
        messages: &[Group],
        tail: f64,
        upper: fn(f64, f64, [f64; 2]) -> f64,
    ) -> Self {
        let blocks: Vec<Block> = messages
            .iter()
            .flat_map(|group| {
                let blocks = halves.blocks(group.least, tail).into_iter();
                blocks.map(|block| Block {
                    mass: halves.apart * group.mass * block.mass,
                    ..block
                })
            })
            .collect();
        let largest = blocks.iter().map(|block| block.largest_loss(tail));
        // The last grid point lies beyond it.
        let step = largest.fold(0.0, f64::max) / (POINTS as f64 - 0.5);
        let last = POINTS as i32;
        // e^(-loss) at the grid points.
        let grid: Vec<f64> = (-last..=last)
            .map(|point| (-f64::from(point) * step).exp())
            .collect();
        let mut masses = vec![0.0; grid.len()];
        let none = messages
            .iter()
            .map(|group| group.mass * halves.none(group.least));
        masses[POINTS] = 1.0 - halves.apart + halves.apart * none.sum::<f64>();
        for block in &blocks {
            let mut point = 0;
            block.each_outcome(tail, |own, other| {
                while point + 2 < grid.len() && grid[point + 1] * own >= other {
                    point += 1;
                }
                let up = upper(own, other, [grid[point], grid[point + 1]]);
                masses[point] += own - up;
                masses[point + 1] += up;
            });
        }
        Self { step, masses }
    }

    /// The loss at a place of `masses`.
    fn loss(&self, place: usize) -> f64 {
        (place as f64 - POINTS as f64) * self.step
    }

    /// ln E\[e^(θ·loss)\].
    fn cumulant(&self, theta: f64) -> f64 {
        let masses = self.masses.iter().enumerate();
        let terms = masses.filter(|(_, mass)| **mass > 0.0);
        let terms: Vec<f64> = terms
            .map(|(place, mass)| mass.ln() + theta * self.loss(place))
            .collect();
        let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + terms
            .iter()
            .map(|term| (term - most).exp())
            .sum::<f64>()
            .ln()
    }

    /// The law of the sum of `times` losses, without an upper tail of a probability of e^(-tail).
    fn composed(&self, times: u16, tail: f64) -> Sum {
        let count = f64::from(times);
        // The bound of Chernoff: the sum exceeds this with a probability of at most e^(-tail).
        let bound = |theta: f64| (count * self.cumulant(theta) + tail) / theta;
        let largest = POINTS as f64 * self.step;
        let theta = least(bound, 1e-3 / largest, 1e6 / largest);
        let high = bound(theta).min(count * largest);
        // Half of what would center the sum of normal losses at its tail: errors are small there,
        // and not large elsewhere.
        let theta = theta.min(tail / high);
        let points = ((2.0 * high / self.step).ceil() as usize + 2 * POINTS).next_power_of_two();
        let last = (high / self.step).ceil() as i64;
        let cumulant = self.cumulant(theta);
        let place = |point: i64| point.rem_euclid(points as i64) as usize;
        let mut law = vec![Complex::default(); points];
        for (index, mass) in self.masses.iter().enumerate() {
            let tilted = mass * (theta * self.loss(index) - cumulant).exp();
            law[place(index as i64 - POINTS as i64)] += tilted;
        }
        let norm = |law: &[Complex<f64>]| law.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        let before = norm(&law);
        Radix4::new(points, FftDirection::Forward).process(&mut law);
        for value in &mut law {
            *value = value.powu(times.into()) / points as f64;
        }
        Radix4::new(points, FftDirection::Inverse).process(&mut law);
        // No value of the spectrum exceeds 1 by more than rounding, so a power multiplies errors by
        // at most `times`.
        let rounding = FOURIER * f64::from(points.ilog2());
        let error = 1.01 * (count * (rounding + FOURIER) * before + rounding * norm(&law));
        let losses = (0..points as i64).map(|back| {
            let point = last - back;
            let loss = point as f64 * self.step;
            let factor = (count * cumulant - theta * loss).exp();
            (loss, factor, law[place(point)].re.max(0.0))
        });
        Sum {
            losses: losses.collect(),
            error,
        }
    }
}

/// The law of a sum of losses.
struct Sum {
    /// Each loss, from the largest on; the factor that undoes the tilt; the tilted probability.
    losses: Vec<(f64, f64, f64)>,
    /// A bound of the Euclidean norm of the errors of all tilted probabilities.
    error: f64,
}

impl Sum {
    /// δ at this ε.
    fn delta(&self, epsilon: f64) -> f64 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for (loss, factor, mass) in &self.losses {
            if *loss <= epsilon {
                break;
            }
            let factor = -(epsilon - loss).exp_m1() * factor;
            sum += factor * mass;
            squares += factor * factor;
        }
        sum + self.error * squares.sqrt()
    }
}

/// A number below which a binomial variable of this mean lies with a probability of at most
/// e^(-tail), by the bound of Chernoff; none if that is below 0.
fn fewest(mean: f64, tail: f64) -> Option<u64> {
    let least = (mean - (2.0 * tail * mean).sqrt()).floor();
    (least >= 0.0 && mean > 0.0).then_some(least as u64)
}

/// The place of the least value of a function that first falls and then grows, from `low` to
/// `high`, to three digits.
fn least(of: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let (mut low, mut high) = (low.ln(), high.ln());
    while high - low > 1e-3 {
        let third = (high - low) / 3.0;
        if of((low + third).exp()) < of((high - third).exp()) {
            high -= third;
        } else {
            low += third;
        }
    }
    low.exp()
}

/// The probability of `heads` in `tosses`.
fn binomial(tosses: u64, chance: f64, heads: u64) -> f64 {
    if heads > tosses {
        return 0.0;
    }
    let rest = tosses - heads;
    let [n, k, r] = [tosses, heads, rest].map(|own| ln_gamma(own as f64 + 1.0));
    let power = |base: f64, times: u64| if times == 0 { 0.0 } else { times as f64 * base };
    (n - k - r + power(chance.ln(), heads) + power((-chance).ln_1p(), rest)).exp()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::counts::Kind;

    /// The channel of `answers`: randomised response, or by a geometry of this order.
    fn channel(answers: u32, epsilon: &str, order: u16) -> Channel {
        let epsilon: Epsilon = epsilon.parse().unwrap();
        let mechanism = if order == 0 { 7 } else { 8 };
        let kind = Kind::from_fields([0; 8], mechanism, 2, epsilon, order).unwrap();
        Channel::new(kind, answers - 1).unwrap().unwrap()
    }

    /// The law of each answer.
    fn laws(channel: &Channel) -> Vec<Vec<f64>> {
        let (likely, unlikely) = channel.of_outcome();
        let law = |answer: usize| {
            let prefers = |outcome: u32| match channel.geometry() {
                None => outcome as usize == answer,
                Some(geometry) => geometry.contains(answer as u32, outcome),
            };
            let outcomes = 0..channel.sizes()[0];
            outcomes
                .map(|outcome| if prefers(outcome) { likely } else { unlikely })
                .collect::<Vec<f64>>()
        };
        let laws: Vec<Vec<f64>> = (0..channel.answers()).map(law).collect();
        for law in &laws {
            assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        laws
    }

    /// The exact law of the counts of these answers.
    fn counts(laws: &[Vec<f64>], answers: &[usize]) -> HashMap<Vec<u16>, f64> {
        let mut all = HashMap::from([(vec![0; laws[0].len()], 1.0)]);
        for answer in answers {
            let mut next = HashMap::new();
            for (counts, chance) in &all {
                for (outcome, own) in laws[*answer].iter().enumerate() {
                    let mut counts = counts.clone();
                    counts[outcome] += 1;
                    *next.entry(counts).or_insert(0.0) += chance * own;
                }
            }
            all = next;
        }
        all
    }

    /// The exact δ at each ε of `slots` slots, each with answers 0 and 1 among these others.
    fn exact(laws: &[Vec<f64>], others: &[usize], slots: usize, epsilons: &[f64]) -> Vec<f64> {
        let [first, second] = [0, 1].map(|own| counts(laws, &[&[own], others].concat()));
        let pairs: Vec<(f64, f64)> = first
            .iter()
            .map(|(counts, chance)| (*chance, second.get(counts).copied().unwrap_or(0.0)))
            .collect();
        let mut all = vec![(1.0, 1.0)];
        for _ in 0..slots {
            let with = |(a, b): &(f64, f64)| {
                let (a, b) = (*a, *b);
                pairs.iter().map(move |(own, other)| (a * own, b * other))
            };
            all = all.iter().flat_map(with).collect();
        }
        let of = |epsilon: &f64| {
            let over = |(own, other): &(f64, f64)| (own - epsilon.exp() * other).max(0.0);
            all.iter().map(over).sum()
        };
        epsilons.iter().map(of).collect()
    }

    /// A group for each number of messages.
    fn groups(halves: &Halves, devices: usize) -> Vec<Group> {
        let others = devices as u64 - 1;
        let group = |blanket| Group {
            mass: binomial(others, halves.blanket, blanket),
            least: blanket + 1,
        };
        (0..=others).map(group).collect()
    }

    /// All multisets of `count` answers.
    fn multisets(answers: usize, count: usize) -> Vec<Vec<usize>> {
        if count == 0 {
            return vec![Vec::new()];
        }
        let more = |own: &Vec<usize>| {
            let from = own.last().copied().unwrap_or(0);
            let own = own.clone();
            (from..answers).map(move |next| [&own[..], &[next]].concat())
        };
        multisets(answers, count - 1)
            .iter()
            .flat_map(more)
            .collect()
    }

    /// Counts of few devices reveal no more than the proof states, whatever the other texts are, in
    /// one to three slots; for randomised response hardly less.
    #[test]
    fn the_law_of_few_devices_is_enumerated() {
        const TAIL_OF_SUM: f64 = 16.0;
        let epsilons = [0.05, 0.3, 1.0, 2.0];
        let mut met = 0;
        for (answers, order, devices, slots) in [
            (2, 0, 7, 3),
            (3, 0, 4, 3),
            (3, 0, 6, 2),
            (4, 0, 5, 1),
            (4, 2, 3, 2),
            (4, 3, 3, 2),
            (4, 4, 3, 1),
        ] {
            for own in ["0.5", "1", "3"] {
                let channel = channel(answers, own, order);
                let laws = laws(&channel);
                let halves = Halves::new(&channel);
                for (devices, slots) in
                    (1..=devices).flat_map(|own| (1..=slots).map(move |slots| (own, slots)))
                {
                    let mut worst = [0.0f64; 4];
                    for others in multisets(answers as usize, devices - 1) {
                        let found = exact(&laws, &others, slots, &epsilons);
                        for (worst, found) in worst.iter_mut().zip(found) {
                            *worst = worst.max(found);
                        }
                    }
                    let losses = Losses::new(&halves, &groups(&halves, devices), 30.0);
                    let sum = losses.composed(slots as u16, TAIL_OF_SUM);
                    for (worst, epsilon) in worst.iter().zip(epsilons) {
                        let said = sum.delta(epsilon) + (-TAIL_OF_SUM).exp();
                        assert!(
                            *worst <= said + 1e-12,
                            "{answers} answers, order {order}, {devices} devices, {slots} slots, epsilon {own}: {worst} at \
                             {epsilon}, not {said}"
                        );
                        assert!(
                            order > 0 || said <= worst + if slots == 1 { 0.03 } else { 0.2 },
                            "{answers} answers, {devices} devices, {slots} slots, epsilon {own}: {worst} {said}"
                        );
                        met += usize::from(*worst > 0.0 && said < worst * (1.0 + 1e-4));
                    }
                }
            }
        }
        assert!(met > 150, "{met}");
    }

    /// The planted mistake of rounding losses down gives a δ below the enumerated one, which the
    /// test above would find.
    #[test]
    fn losses_that_are_rounded_down_are_found() {
        let channel = channel(2, "3", 0);
        let (laws, halves) = (laws(&channel), Halves::new(&channel));
        let epsilons = [0.05, 0.3, 1.0, 2.0];
        let below_the_law = |upper: fn(f64, f64, [f64; 2]) -> f64| {
            let mut found = 0;
            for (devices, slots) in [(3, 1), (5, 2), (7, 3)] {
                let groups = groups(&halves, devices);
                let losses = Losses::split_by(&halves, &groups, 30.0, upper);
                let sum = losses.composed(slots, 16.0);
                for (place, epsilon) in epsilons.into_iter().enumerate() {
                    let stated = sum.delta(epsilon) + (-16f64).exp();
                    let all = multisets(2, devices - 1).into_iter();
                    let worst = all.map(|own| exact(&laws, &own, slots.into(), &epsilons)[place]);
                    let worst = worst.fold(0.0, f64::max);
                    found += usize::from(worst > stated + 1e-12);
                }
            }
            found
        };
        assert_eq!(below_the_law(upper_part), 0);
        let found = below_the_law(|_, _, _| 0.0);
        assert!(found > 0, "{found}");
    }

    /// The reported ε of some hundred devices, with its approximations, holds for the exact law.
    #[test]
    fn quotes_hold_for_the_law_of_hundreds() {
        for (answers, own, delta, others) in [
            (2, "1", 1e-3, [[300, 0, 0], [150, 150, 0], [0, 300, 0]]),
            (3, "1", 1e-3, [[0, 0, 120], [40, 40, 40], [120, 0, 0]]),
            (3, "2", 1e-2, [[0, 0, 120], [60, 0, 60], [0, 120, 0]]),
        ] {
            let channel = channel(answers, own, 0);
            let laws = laws(&channel);
            for of_answers in others {
                let others: Vec<usize> = (0..3)
                    .flat_map(|answer| vec![answer; of_answers[answer]])
                    .collect();
                let said = epsilon(&channel, others.len() as u64 + 1, delta).unwrap();
                let said = said.expect("so many hide one");
                assert!(said < 0.9 * own.parse::<f64>().unwrap(), "{said}");
                let found = exact(&laws, &others, 1, &[said])[0];
                assert!(found <= delta, "{answers} answers: {found} at {said}");
                // The bound is not vacuous: without hiding, much less would do.
                assert!(exact(&laws, &others, 1, &[said / 4.0])[0] > delta, "{said}");
            }
        }
    }

    /// Whole-text releases of 13 outcomes at ε₀ = 3, with δ = 10⁻⁹: within 2 % of a reference, and
    /// never below it.
    ///
    /// The reference is a Python program with NumPy: the same pair of laws for 24 to 60 values of M,
    /// weighted by their probabilities, with every T and A within 8 standard deviations; losses on a
    /// grid of a hundredth of a standard deviation, split to keep their mean; their power by
    /// `numpy.fft`; no groups, no tails and nothing rounded up.
    #[test]
    fn counts_of_a_year_agree_with_the_reference() {
        let channel = channel(13, "3", 0);
        for (devices, slots, reference) in [
            (100_000, 1, 0.074_854),
            (100_000, 30, 0.438_192),
            (100_000, 365, 1.619_271),
            (1_000_000, 1, 0.022_592),
            (1_000_000, 30, 0.132_428),
            (1_000_000, 365, 0.485_279),
        ] {
            let daily = Window::new(slots, slots, 1).unwrap();
            let found = of_window(&channel, devices, daily, DELTA).unwrap().unwrap();
            assert!(
                found >= reference && found <= 1.02 * reference,
                "{devices} devices, {slots} slots: {found} of {reference}"
            );
        }
        let daily = Window::new(365, 365, 1).unwrap();
        let found = of_window(&channel, 10_000_000, daily, DELTA).unwrap();
        assert!((0.14..0.155).contains(&found.unwrap()), "{found:?}");
        // One appointment in 52 weeks.
        let weekly = Window::new(52, 1, 1).unwrap();
        let found = of_window(&channel, 1_000_000, weekly, DELTA).unwrap();
        let range = 0.176_450..0.176_451 * 1.02;
        assert!(range.contains(&found.unwrap()), "{found:?}");
        // A device that is alone in its slot reveals what it reveals to a server.
        let alone = Window::new(10_000, 1, 1).unwrap();
        assert_eq!(of_window(&channel, 100, alone, DELTA).unwrap(), None);
    }

    #[test]
    fn more_devices_hide_better() {
        for (answers, order) in [(13, 0), (151, 0), (40, 3), (40, 20)] {
            let channel = channel(answers, "1", order);
            let of = |releases| epsilon(&channel, releases, DELTA).unwrap();
            // Three digits, even in numbers for programs.
            for said in [100, 1000, 10_000, 100_000].into_iter().filter_map(of) {
                assert!(said.to_string().len() <= "0.000123".len(), "{said}");
            }
            let [one, few, many, more] = [1, 1000, 100_000, 10_000_000].map(of);
            assert_eq!(one, None);
            let (few, many, more) = (few.unwrap(), many.unwrap(), more.unwrap());
            assert!(
                few < 0.5 && many < few / 5.0 && more < many / 5.0,
                "{few} {many} {more}"
            );
            assert_eq!(of(u64::MAX), Some(more));
            // A smaller δ is a stronger statement with a larger ε.
            assert!(epsilon(&channel, 1000, 1e-12).unwrap() > Some(few));
        }
        let channel = channel(13, "1", 0);
        for delta in [0.0, 1.0, f64::NAN] {
            let error = epsilon(&channel, 10, delta).unwrap_err().to_string();
            assert!(error.contains("10^-15 to 0.1"), "{error}");
        }
        // At any ε, even where unlikely outcomes are nearly impossible.
        for epsilon_of_one in ["0.000001", "27", "40", "1000"] {
            let channel = self::channel(13, epsilon_of_one, 0);
            let found = epsilon(&channel, 1000, DELTA).unwrap();
            assert!(found.is_none_or(|found| found > 0.0), "{found:?}");
        }
    }
}
