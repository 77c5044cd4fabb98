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
//! Sums are bounded above by a few hundred terms: the divergence falls with M and T and rises with
//! α_T, because another message, or a coin nearer to a fair one, is noise that anyone could add.
//!
//! # Source
//! Balle, Bell, Gascón and Nissim 2019, "The privacy blanket of the shuffle model". Ours: the two
//! halves, which make it exact for randomised response and cover geometries. Feldman, McMillan and
//! Talwar 2023 have a closed form, which their erratum restricts to some laws; here its ε would be
//! three to eight times as large.

use statrs::function::gamma::ln_gamma;
use undertone::error::Result;

use crate::channel::Channel;
use crate::refused;

/// The reported δ.
pub const DELTA: f64 = 1e-9;

/// More releases count as this many, which is enough for any ε and fast.
const MOST_RELEASES: u64 = 10_000_000;

/// Bisections of the range of ε.
const HALVINGS: usize = 24;

/// Blocks of T for each standard deviation.
const BLOCKS: f64 = 20.0;

/// The part of δ that each of three tails may take.
const TAIL: f64 = 0.01;

/// Factor that covers rounding errors.
const SLACK: f64 = 1.001;

/// The ε of the counts of `releases` by this channel at this δ, rounded up to three digits; `None`
/// if it is not below the ε of one release.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if `delta` is not from 10⁻¹⁵ to 0.1.
pub fn epsilon(channel: &Channel, releases: u64, delta: f64) -> Result<Option<f64>> {
    if !(1e-15..=0.1).contains(&delta) {
        return Err(refused(format!(
            "delta is {delta}; take one of 10^-15 to 0.1, such as {DELTA}"
        )));
    }
    let halves = Halves::new(channel);
    let tail = (1.0 / (TAIL * delta)).ln();
    let blanket = releases.clamp(1, MOST_RELEASES) as f64 - 1.0;
    let mean = blanket * halves.blanket;
    // Fewer have at most the probability e^(-tail), by the bound of Chernoff.
    let messages = 1.0 + (mean - (2.0 * tail * mean).sqrt()).floor();
    if messages < 1.0 {
        return Ok(None);
    }
    let blocks = halves.blocks(messages as u64, tail);
    let most = (1.0 - 3.0 * TAIL) * delta / SLACK;
    let own = (halves.likely / halves.unlikely).ln();
    let (mut low, mut high) = (0.0, own);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if halves.delta(&blocks, middle) <= most {
            high = middle;
        } else {
            low = middle;
        }
    }
    // A quotient by a power of ten is the double nearest to its digits; a product is not.
    let scale = 10f64.powi(2 - high.log10().floor() as i32);
    let rounded = (high * scale).ceil() / scale;
    Ok((rounded < own).then_some(rounded))
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

/// Numbers T that are bounded together.
struct Block {
    /// Probability that T is one of them.
    mass: f64,
    /// The least T − 1.
    coins: u64,
    /// The largest α_T / (1 − α_T).
    odds: f64,
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

    /// The blocks of `messages`, without tails of a probability of 2·e^(-tail).
    fn blocks(&self, messages: u64, tail: f64) -> Vec<Block> {
        let tosses = messages - 1;
        let mean = tosses as f64 * self.halves;
        // By the bounds of Chernoff and of Bernstein.
        let below = mean - (2.0 * tail * mean).sqrt();
        let above = mean + tail / 3.0 + (tail * tail / 9.0 + 2.0 * tail * mean).sqrt();
        let first = (below.floor() as u64).max(1);
        let last = messages.min(above.ceil() as u64 + 1);
        let width = ((mean.sqrt() / BLOCKS) as u64).max(1);
        let mut blocks = Vec::new();
        let mut before = binomial(tosses, self.halves, first - 1);
        for start in (first..=last).step_by(width as usize) {
            let end = last.min(start + width - 1);
            let (mut mass, mut odds) = (0.0, 0.0f64);
            for t in start..=end {
                let here = binomial(tosses, self.halves, t);
                let (own, other) = (self.inside * before, (1.0 - self.inside).max(0.0) * here);
                let all = own + other;
                mass += all;
                if all > 0.0 {
                    let heads = own * self.likely / (self.likely + self.unlikely) + other / 2.0;
                    odds = odds.max(heads / (all - heads));
                }
                before = here;
            }
            blocks.push(Block {
                mass,
                coins: start - 1,
                odds,
            });
        }
        blocks
    }

    /// δ at this ε.
    fn delta(&self, blocks: &[Block], epsilon: f64) -> f64 {
        let factor = epsilon.exp();
        let own = blocks
            .iter()
            .map(|block| block.mass * excess(block.coins, block.odds, factor));
        self.apart * own.sum::<f64>()
    }
}

/// The excess over `factor`: of the law of heads of `coins` fair coins and one with these odds,
/// over the law with the odds reversed.
fn excess(coins: u64, odds: f64, factor: f64) -> f64 {
    if odds <= factor {
        return 0.0;
    }
    // The contributions of the last coin: heads and tails.
    let adds = (odds - factor) / (odds + 1.0);
    let takes = (factor * odds - 1.0) / (odds + 1.0);
    // From here on heads contribute a positive excess.
    let mut heads = ((coins + 1) as f64 * takes / (adds + takes)).floor() as u64;
    if heads > coins {
        return 0.0;
    }
    let mut own = binomial(coins, 0.5, heads);
    let mut sum = 0.0;
    while heads <= coins {
        let next = own * (coins - heads) as f64 / (heads + 1) as f64;
        let term = (adds * own - takes * next).max(0.0);
        sum += term;
        // Terms fall ever faster.
        if own <= 1e-12 * sum {
            break;
        }
        own = next;
        heads += 1;
    }
    sum
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

    use undertone_core::epsilon::Epsilon;

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

    /// The exact δ at each ε, of answers 0 and 1 among these others.
    fn exact(laws: &[Vec<f64>], others: &[usize], epsilons: &[f64]) -> Vec<f64> {
        let [first, second] = [0, 1].map(|own| counts(laws, &[&[own], others].concat()));
        let of = |epsilon: &f64| {
            let over = |(counts, chance): (&Vec<u16>, &f64)| {
                let other = second.get(counts).copied().unwrap_or(0.0);
                (chance - epsilon.exp() * other).max(0.0)
            };
            first.iter().map(over).sum()
        };
        epsilons.iter().map(of).collect()
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

    /// Counts of few devices reveal no more than the proof states, whatever the other texts are;
    /// for randomised response exactly that.
    #[test]
    fn the_law_of_few_devices_is_enumerated() {
        let epsilons = [0.05, 0.3, 1.0, 2.0];
        let mut met = 0;
        for (answers, order, devices) in [
            (2, 0, 7),
            (3, 0, 6),
            (4, 0, 5),
            (4, 2, 4),
            (4, 3, 3),
            (4, 4, 3),
        ] {
            for own in ["0.5", "1", "3"] {
                let channel = channel(answers, own, order);
                let laws = laws(&channel);
                let halves = Halves::new(&channel);
                for devices in 1..=devices {
                    let mut worst = [0.0f64; 4];
                    for others in multisets(answers as usize, devices - 1) {
                        let found = exact(&laws, &others, &epsilons);
                        for (worst, found) in worst.iter_mut().zip(found) {
                            *worst = worst.max(found);
                        }
                    }
                    for (worst, epsilon) in worst.iter().zip(epsilons) {
                        let others = devices as u64 - 1;
                        let said: f64 = (0..=others)
                            .map(|blanket| {
                                let often = binomial(others, halves.blanket, blanket);
                                let blocks = halves.blocks(blanket + 1, 30.0);
                                often * halves.delta(&blocks, epsilon)
                            })
                            .sum();
                        assert!(
                            *worst <= said + 1e-12,
                            "{answers} answers, order {order}, {devices} devices, epsilon {own}: {worst} at {epsilon}, not {said}"
                        );
                        assert!(order > 0 || said <= worst + 0.03, "{worst} {said}");
                        met += usize::from(*worst > 0.0 && said < worst * (1.0 + 1e-9));
                    }
                }
            }
        }
        assert!(met > 40, "{met}");
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
                let found = exact(&laws, &others, &[said])[0];
                assert!(found <= delta, "{answers} answers: {found} at {said}");
                // The bound is not vacuous: without hiding, much less would do.
                assert!(exact(&laws, &others, &[said / 4.0])[0] > delta, "{said}");
            }
        }
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
