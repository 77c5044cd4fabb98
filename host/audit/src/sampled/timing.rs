//! Checks whether the time of a release depends on the sentences. Two classes of documents with the
//! same number of sentences are timed in random order, and the means are compared (dudect: Reparaz,
//! Balasch and Verbauwhede 2017).
//!
//! Times have a long upper tail of interrupts and other programs, unrelated to the document. So
//! Welch's t compares means below several percentiles of all times. A difference counts if each of
//! three runs of the device shows it, in the same direction. Varying noise from the load of the
//! machine affects one run and not all of them. So does the memory layout of a process: in one run
//! of ten it causes a steady difference of 1.2 %, which the others do not show.

use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::select::Rule;

use crate::sampled::device::{Device, Document, Timed};
use crate::{Check, Method};
use undertone::error::Result;

/// Parts of a measurement, each a run of the device.
const PARTS: usize = 3;

/// Minimum of Welch's t in every part.
const THRESHOLD: f64 = 5.0;

/// Minimum difference as a share of the mean. Smaller ones are reported but do not fail, because
/// the memory layout of a process can cause them.
const LEAST_EFFECT: f64 = 0.02;

/// Percentiles of all times above which times are left out.
const CROPS: [f64; 5] = [0.5, 0.75, 0.9, 0.99, 1.0];

/// Sentences of the timed documents.
const SENTENCES: usize = 20;

/// The difference between two classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The smallest of Welch's t in the parts, for the crop with the largest one; 0 if its sign
    /// differs between parts.
    pub t: f64,
    /// The difference of means of that crop over all parts, as a share of the mean.
    pub effect: f64,
}

impl Difference {
    /// Whether the difference fails a device.
    pub fn counts(self) -> bool {
        self.t >= THRESHOLD && self.effect >= LEAST_EFFECT
    }

    /// Compares times; the flag marks the second class.
    pub fn new(times: &[(bool, u64)]) -> Self {
        let mut sorted: Vec<u64> = times.iter().map(|(_, time)| *time).collect();
        sorted.sort_unstable();
        let mut largest = Self {
            t: 0.0,
            effect: 0.0,
        };
        if sorted.len() < 100 * PARTS {
            return largest;
        }
        for crop in CROPS {
            let last = ((sorted.len() - 1) as f64 * crop) as usize;
            let limit = sorted[last];
            let moments = |part: &[(bool, u64)]| {
                let mut classes = [Moments::default(); 2];
                let kept = part.iter().filter(|(_, time)| *time <= limit);
                kept.for_each(|(class, time)| classes[usize::from(*class)].add(*time as f64));
                classes
            };
            let parts = times.chunks(times.len().div_ceil(PARTS));
            let ts: Vec<f64> = parts.map(|part| welch(moments(part))).collect();
            let one_sign = ts.iter().all(|t| *t > 0.0) || ts.iter().all(|t| *t < 0.0);
            let t = ts.iter().map(|t| t.abs()).fold(f64::INFINITY, f64::min);
            let [a, b] = moments(times);
            let effect = (a.mean - b.mean).abs() / a.mean.min(b.mean).max(1.0);
            // Prefers differences that are large enough to count.
            let rank = |t: f64, effect: f64| (effect >= LEAST_EFFECT, t);
            if one_sign && rank(t, effect) > rank(largest.t, largest.effect) {
                largest = Self { t, effect };
            }
        }
        largest
    }
}

/// Number, mean, and sum of squared deviations (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    n: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, x: f64) {
        self.n += 1.0;
        let before = x - self.mean;
        self.mean += before / self.n;
        self.squares += before * (x - self.mean);
    }
}

/// Welch's t; 0 if a class has too few times.
fn welch([a, b]: [Moments; 2]) -> f64 {
    if a.n < 10.0 || b.n < 10.0 {
        return 0.0;
    }
    let variance = |x: Moments| x.squares / (x.n - 1.0) / x.n;
    let deviation = (variance(a) + variance(b)).sqrt();
    // Coarse clocks can result in a deviation of 0.
    (a.mean - b.mean) / deviation.max(1e-9)
}

/// Documents to time: the first is class 0, the others are class 1.
fn classes(dimension: usize) -> [(&'static str, Vec<Document>); 2] {
    let mut rng = PublicRng::new(0x7e57_ab03);
    let mut random = || {
        let mut row = || -> Vec<f32> {
            let coordinate = |_| (rng.next_u64() >> 40) as f32 / 2f32.powi(23) - 1.0;
            (0..dimension).map(coordinate).collect()
        };
        Document::Embeddings((0..SENTENCES).map(|_| row()).collect())
    };
    let same = |x: f32| Document::Embeddings(vec![vec![x; dimension]; SENTENCES]);
    [
        (
            "a fixed document against random ones",
            (0..33).map(|_| random()).collect(),
        ),
        (
            "zeroes against the largest numbers, infinity and none",
            vec![
                same(0.0),
                same(f32::MAX),
                same(f32::MIN),
                same(f32::INFINITY),
                same(f32::NAN),
            ],
        ),
    ]
}

/// Checks the times of pushing and releasing documents of 20 embeddings: `count` of each class
/// pair.
///
/// A difference fails if Welch's t is at least 5 in each of three runs of the device and the means
/// differ by at least 2 %.
///
/// # Errors
/// Errors of the device.
pub fn check(
    device: &mut dyn Device,
    pack: &Pack<'_>,
    mechanism: &str,
    rule: Rule,
    epsilon: Epsilon,
    count: usize,
) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for (name, documents) in classes(pack.dimension()) {
        let others = 1..documents.len();
        let mut times = Vec::new();
        for _ in 0..PARTS {
            device.restart()?;
            for (number, document) in documents.iter().enumerate() {
                device.keep(number, document)?;
            }
            // Loads code and data into memory before timing.
            device.times(0, others.clone(), rule, epsilon, count.min(100))?;
            let part = count.div_ceil(PARTS);
            times.extend(device.times(0, others.clone(), rule, epsilon, part)?);
        }
        type Of = fn(&Timed) -> u64;
        for (call, of) in [
            ("push", (|time| time.push) as Of),
            ("release", |time| time.release),
        ] {
            let times: Vec<(bool, u64)> = times.iter().map(|time| (time.other, of(time))).collect();
            let difference = Difference::new(&times);
            let mut sorted: Vec<u64> = times.iter().map(|(_, time)| *time).collect();
            sorted.sort_unstable();
            checks.push(Check {
                mechanism: mechanism.to_owned(),
                name: format!("time of {call}: {name}"),
                epsilon: Some(epsilon),
                method: Method::Timed,
                claimed: THRESHOLD,
                measured: difference.t,
                tried: times.len() as u64,
                passed: !difference.counts(),
                detail: format!(
                    "the least of Welch's t in {PARTS} runs; the means differ by {:.2} %, which counts from {} % on; \
                     median {}",
                    100.0 * difference.effect,
                    100.0 * LEAST_EFFECT,
                    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
                ),
            });
        }
    }
    Ok(checks)
}
