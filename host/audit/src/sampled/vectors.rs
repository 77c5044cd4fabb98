//! Checks a device's releases of private vectors.

use statrs::function::beta::beta_reg;
use statrs::function::gamma::gamma_lr;
use undertone_core::epsilon::Epsilon;
use undertone_core::laplace::{Laplace, Sensitivity};
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::vector::Noise;

use crate::sampled::device::Device;
use crate::sampled::selection::Judge;
use crate::sampled::statistics::{
    Loss, alpha, cells, g_test, independence_test, loss_of_features, uniform_test,
};
use crate::{Check, Method};
use undertone::error::Result;
use undertone::release::document::epsilon_f64;
use undertone_report::number::at_most;

/// The promised loss of two vectors at this distance: ε·(D + τ) + κ, with the δ of [`delta`].
fn promise(noise: Noise, dimension: u32, epsilon: Epsilon, distance: f64) -> f64 {
    let laplace = Laplace::with_noise(noise, dimension, epsilon, Sensitivity::ONE);
    let bits = laplace.map_or(0, |laplace| laplace.fraction_bits());
    let tau = f64::from(dimension).sqrt() * (-f64::from(bits)).exp2();
    epsilon_f64(epsilon) * (distance + tau) + kappa(noise)
}

fn kappa(noise: Noise) -> f64 {
    match noise {
        Noise::Laplace => 2f64.powi(-23),
        Noise::DiscreteLaplace => 0.0,
    }
}

/// The δ of a [`promise`], so small that no number of releases could show it.
fn delta(noise: Noise, promise: f64) -> f64 {
    match noise {
        Noise::Laplace => (1.0 + promise.exp()) * 2f64.powi(-60),
        Noise::DiscreteLaplace => 0.0,
    }
}

/// Features of a release: the first two coordinates, their difference, and the sum of all.
fn features(y: &[i64]) -> Vec<i64> {
    match y {
        [a, b, ..] => vec![*a, *b, a - b, y.iter().sum()],
        _ => y.to_vec(),
    }
}

/// Width of the cells for releases of this ε: a quarter of 1/ε, in steps of the grid.
fn width(epsilon: Epsilon, grid_exponent: i32) -> i64 {
    let step = f64::from(grid_exponent).exp2();
    (0.25 / epsilon_f64(epsilon) / step).max(2.0) as i64
}

/// Pairs of vectors at a distance of about 1/ε, with a promised loss of about 1: along an axis,
/// with all coordinates, and between two grid points. One more pair is close together, on either
/// side of the midpoint between grid points: rounding to the nearest point would move them a step
/// apart.
fn pairs(dimension: usize, epsilon: Epsilon, step: f64) -> Vec<[Vec<f32>; 2]> {
    let far = 1.0 / epsilon_f64(epsilon);
    let along_axis = |by: f64| {
        let mut x = vec![0.0; dimension];
        x[0] = by as f32;
        x
    };
    let all = |by: f64| vec![(by / (dimension as f64).sqrt()) as f32; dimension];
    let mut pairs = vec![
        [along_axis(0.0), along_axis(far)],
        [along_axis(0.37 * step), along_axis(far + 0.37 * step)],
        [0.49, 0.51].map(|x| vec![(x * step) as f32; dimension]),
    ];
    if dimension > 1 {
        pairs.push([all(0.25 * far), all(-0.75 * far)]);
    }
    pairs
}

/// The Euclidean distance.
fn distance([x, other]: [&[f32]; 2]) -> f64 {
    let differences = x
        .iter()
        .zip(other)
        .map(|(x, o)| f64::from(*x) - f64::from(*o));
    differences.map(|d| d * d).sum::<f64>().sqrt()
}

/// p-values of the hypothesis that releases of the vector 0 have the law of the noise.
fn fit(noise: Noise, epsilon: Epsilon, step: f64, releases: &[Vec<i64>]) -> Vec<f64> {
    let m = releases[0].len();
    match noise {
        Noise::Laplace => {
            // Smooths the grid; its remaining effect is 10⁻⁴ of the noise's deviation.
            let mut rng = PublicRng::new(0x7e57_ab01);
            let mut uniform = || (rng.next_u64() >> 11) as f64 / 2f64.powi(53);
            let points: Vec<Vec<f64>> = releases
                .iter()
                .map(|y| {
                    y.iter()
                        .map(|y| (*y as f64 + uniform() - 0.5) * step)
                        .collect()
                })
                .collect();
            let norm = |y: &[f64]| y.iter().map(|y| y * y).sum::<f64>().sqrt();
            // The radius is Gamma(m), the direction uniform: (1 + cos)/2 is Beta((m−1)/2, (m−1)/2).
            let radii = points
                .iter()
                .map(|y| gamma_lr(m as f64, epsilon_f64(epsilon) * norm(y)));
            let mut tests = vec![uniform_test(&mut radii.collect::<Vec<_>>())];
            for coordinate in 0..m.min(2) {
                let cosines = points.iter().map(|y| (1.0 + y[coordinate] / norm(y)) / 2.0);
                let half = (m as f64 - 1.0) / 2.0;
                tests.push(if m == 1 {
                    let up = releases.iter().filter(|y| y[0] > 0).count() as u64;
                    let down = releases.iter().filter(|y| y[0] < 0).count() as u64;
                    g_test(&[up, down], &[0.5, 0.5])
                } else {
                    let cosines = cosines.map(|c| beta_reg(half, half, c.clamp(0.0, 1.0)));
                    uniform_test(&mut cosines.collect::<Vec<_>>())
                });
            }
            tests
        }
        Noise::DiscreteLaplace => {
            // Pr[k] = (1 − q)/(1 + q)·q^|k| with q = 1/(1 + a), up to 2⁻²⁸.
            let a = epsilon_f64(epsilon) * step / (m as f64).sqrt();
            let q = 1.0 / (1.0 + a);
            let most = (40.0 / a) as i64;
            let law: Vec<f64> = (-most..=most)
                .map(|k| (1.0 - q) / (1.0 + q) * q.powf(k.unsigned_abs() as f64))
                .collect();
            let (cell, probabilities) = cells(&law, releases.len(), 25.0, |k| k);
            (0..m.min(2))
                .map(|coordinate| {
                    let mut counts = vec![0; probabilities.len()];
                    for y in releases {
                        let k = y[coordinate].clamp(-most, most) + most;
                        counts[cell[k.unsigned_abs() as usize]] += 1;
                    }
                    g_test(&counts, &probabilities)
                })
                .collect()
        }
    }
}

/// The quarter of the sample that contains each value.
fn quarters(sample: &[i64]) -> Vec<usize> {
    let mut sorted = sample.to_vec();
    sorted.sort_unstable();
    let ends = [1, 2, 3].map(|quarter| sorted[sorted.len() * quarter / 4]);
    sample
        .iter()
        .map(|y| ends.iter().filter(|end| y >= end).count())
        .collect()
}

/// p-values of the hypothesis that consecutive releases are independent.
fn independence(releases: &[Vec<i64>]) -> Vec<f64> {
    let m = releases[0].len();
    let of = |coordinate| {
        let sample: Vec<i64> = releases.iter().map(|y| y[coordinate]).collect();
        let quarters = quarters(&sample);
        independence_test(&quarters, &quarters[1..])
    };
    (0..m.min(2)).map(of).collect()
}

fn judge(noise: Noise, epsilon: Epsilon) -> Judge<'static> {
    let mechanism = match noise {
        Noise::Laplace => "vectors, Laplace",
        Noise::DiscreteLaplace => "vectors, discrete Laplace",
    };
    Judge { mechanism, epsilon }
}

/// Coordinates of the vectors to check.
const DIMENSIONS: [usize; 3] = [1, 2, 8];

/// Checks private vectors of 1, 2 and 8 coordinates: `draws` releases of each vector of a few
/// pairs.
///
/// - Loss between two vectors: a lower bound on it must not exceed ε·(D + τ) + κ. (δ is below
///   10⁻¹⁷.)
/// - Law of the noise: radius and direction of Laplace noise, and the coordinates of discrete
///   noise.
/// - Independence of consecutive releases.
///
/// Empty for an ε below 0.1, for which vectors have no noise.
///
/// # Errors
/// Errors of the device.
pub fn check(
    device: &mut dyn Device,
    noise: Noise,
    epsilon: Epsilon,
    draws: usize,
) -> Result<Vec<Check>> {
    let mut losses: Vec<(Loss, f64)> = Vec::new();
    let (mut fits, mut independent) = (Vec::new(), Vec::new());
    let mut tried = 0u64;
    for dimension in DIMENSIONS {
        let Ok(laplace) = Laplace::with_noise(noise, dimension as u32, epsilon, Sensitivity::ONE)
        else {
            return Ok(Vec::new());
        };
        let grid = laplace.grid_exponent();
        let step = f64::from(grid).exp2();
        let mut sample = |x: &[f32]| -> Result<Vec<Vec<i64>>> {
            tried += draws as u64;
            let vectors = device.vectors(x, bound_exponent(epsilon), noise, epsilon, draws)?;
            let wide = |y: Vec<i32>| y.into_iter().map(i64::from).collect();
            Ok(vectors.into_iter().map(wide).collect())
        };
        let origin = sample(&vec![0.0; dimension])?;
        fits.extend(fit(noise, epsilon, step, &origin));
        independent.extend(independence(&origin));
        for [x, other] in pairs(dimension, epsilon, step) {
            let samples = [sample(&x)?, sample(&other)?]
                .map(|sample| sample.iter().map(|y| features(y)).collect::<Vec<_>>());
            let loss = loss_of_features([&samples[0], &samples[1]], width(epsilon, grid), alpha());
            let promise = promise(noise, dimension as u32, epsilon, distance([&x, &other]));
            losses.push((loss, promise));
        }
    }
    let judge = judge(noise, epsilon);
    let mut loss = judge.losses("loss between two vectors", &losses, tried);
    let promises = losses.iter().map(|(_, promise)| *promise);
    let delta = at_most(delta(noise, promises.fold(0.0, f64::max)), 2);
    loss.detail = format!("{}; δ at most {delta}", loss.detail);
    let law = "tests against the law of the noise";
    let consecutive = "G-tests of consecutive releases";
    Ok(vec![
        loss,
        judge.p_values("law of the noise", &fits, tried, law),
        judge.p_values("independence of releases", &independent, tried, consecutive),
    ])
}

/// log₂ of a bound on the coordinates of the vectors, which are at most about 1/ε.
fn bound_exponent(epsilon: Epsilon) -> i32 {
    (2.0 / epsilon_f64(epsilon)).log2().ceil() as i32
}

/// Releases of a vector for each requested release of a document. Of 22 × 20,000 releases, two
/// share a 32-bit key with a probability above 1 − 10⁻⁹.
const KEYS: usize = 22;

/// Coordinates of these vectors. One repeats with a probability of at most 1/32, all of them with
/// at most 2⁻⁸⁰.
const OF_KEYS: usize = 16;

/// Finds generators with a fixed seed, whose releases come again in the second of two runs, and
/// with too few keys, by the birthday paradox. `releases`: the releases of a document in this
/// audit. `None` for an ε below 0.1.
///
/// # Errors
/// Errors of the device.
pub fn keys(device: &mut dyn Device, epsilon: Epsilon, releases: usize) -> Result<Option<Check>> {
    let noise = Noise::Laplace;
    if Laplace::with_noise(noise, OF_KEYS as u32, epsilon, Sensitivity::ONE).is_err() {
        return Ok(None);
    }
    let count = KEYS * releases;
    let mut all = Vec::with_capacity(count);
    for run in [count / 2, count - count / 2] {
        device.restart()?;
        let bound = bound_exponent(epsilon);
        all.extend(device.vectors(&[0.0; OF_KEYS], bound, noise, epsilon, run)?);
    }
    all.sort_unstable();
    let repeated = all.windows(2).filter(|pair| pair[0] == pair[1]).count();
    // The probability that no pair of n releases shares one of N keys is e^(-n²/2N), which is 10⁻⁹
    // for N = n²/41.
    let keys = (count as f64).powi(2) / 41.0;
    let judge = judge(noise, epsilon);
    let check = judge.none("no key comes again", Method::Attack, repeated);
    let detail = format!(
        "{repeated} releases of {OF_KEYS} coordinates came again in two runs; keys of up to {:.0} bits would show",
        keys.max(1.0).log2().floor()
    );
    Ok(Some(check.of(count as u64, detail)))
}
