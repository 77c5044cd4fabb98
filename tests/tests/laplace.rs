//! `core::laplace`: the law of the noise, its grid, and the constants of its proof.

use std::mem::MaybeUninit;

use num_bigint::BigUint;
use statrs::function::beta::beta_reg;
use statrs::function::gamma::gamma_lr;
use undertone_audit::sampled::statistics::{g_test, uniform_test};
use undertone_core::hazmat;
use undertone_core::laplace::{Laplace, LaplaceError, Noise, Sensitivity};
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_tests::exponential::{PRECISION, exp};
use undertone_tests::noise::{self, Real, normal, real, uniform};
use undertone_tests::{CountingRng, FixedWords, soak};

use crate::proof::epsilon;

/// Gives access to single variables of the sampler.
#[warn(clippy::float_arithmetic)]
#[path = "../../core/src/laplace/gaussian.rs"]
mod gaussian;

/// The false-alarm rate of one test. Seeds are fixed, so a test that passes keeps passing.
const P_LIMIT: f64 = 1e-6;

/// The false-alarm rate for the largest of thousands of standardised sums, some of them not quite
/// normal.
const Z_LIMIT: f64 = 7.0;

/// Small dimensions, those of encoders and words, and both sides of each change to another batch:
/// 32 exponentials (m + 1 = 64) and 64 Gaussians.
const DIMENSIONS: [u32; 16] = [
    1, 2, 3, 31, 32, 33, 62, 63, 64, 65, 128, 129, 300, 384, 768, 1024,
];

fn laplace(dimension: u32, micro: u32, units: u64) -> Laplace {
    let sensitivity = Sensitivity::from_units(units).expect("a sensitivity");
    Laplace::new(dimension, epsilon(micro), sensitivity).expect("parameters in range")
}

// --- The law

/// Vectors with Δ/ε = 1.
struct Sample {
    dimension: usize,
    draws: Vec<f64>,
}

/// Statistics of a sample: p-values, and standardised sums that are normal under the law.
#[derive(Debug)]
struct Findings {
    /// ‖z‖ is Gamma(m).
    radius: f64,
    /// z₀/‖z‖ and z·a/‖z‖ for another public direction a: (1 + t)/2 is Beta((m−1)/2, (m−1)/2).
    direction: [f64; 2],
    /// The radius is independent of either of these.
    joint: [f64; 2],
    /// The largest deviation of the number of positive coordinates and of pairs of equal sign from
    /// one half.
    signs: f64,
    /// The largest deviation of the second moments from (m+1)·I.
    covariance: f64,
}

impl Findings {
    fn p_values(&self) -> [f64; 5] {
        let ([d0, d1], [j0, j1]) = (self.direction, self.joint);
        [self.radius, d0, d1, j0, j1]
    }

    fn fit(&self) -> bool {
        self.p_values().iter().all(|p| *p > P_LIMIT)
            && self.signs < Z_LIMIT
            && self.covariance < Z_LIMIT
    }
}

impl Sample {
    /// Draws of the engine, with its rounding to the grid undone at random.
    fn of(laplace: &Laplace, draws: usize, seed: u64) -> Self {
        let dimension = laplace.dimension() as usize;
        let h_over_scale = 2f64.powi(laplace.grid_exponent() + 32)
            * (f64::from(laplace.epsilon().micro()) / 1e6 / laplace.sensitivity().units() as f64);
        let mut rng = PublicRng::new(seed);
        let mut out = vec![0; dimension];
        let origin = vec![0.0; dimension];
        let bound = laplace.grid_exponent();
        let mut all = Vec::with_capacity(draws * dimension);
        for _ in 0..draws {
            hazmat::perturb(laplace, &origin, bound, &mut rng, &mut out).expect("lengths");
            let within = out.iter().map(|y| f64::from(*y) + uniform(&mut rng) - 0.5);
            all.extend(within.map(|y| y * h_over_scale));
        }
        Self {
            dimension,
            draws: all,
        }
    }

    /// Draws of a law with this radius and a uniform direction, to which `change` is applied: for
    /// tests of the tests.
    fn made(
        dimension: usize,
        seed: u64,
        mut radius: impl FnMut(&mut PublicRng) -> f64,
        change: impl Fn(f64, &mut [f64]),
    ) -> Self {
        let mut rng = PublicRng::new(seed);
        let mut all = Vec::new();
        for _ in 0..draws(dimension, false) {
            let mut g: Vec<f64> = (0..dimension).map(|_| normal(&mut rng)).collect();
            let norm = norm(&g);
            let r = radius(&mut rng);
            g.iter_mut().for_each(|g| *g *= r / norm);
            change(r, &mut g);
            all.extend(g);
        }
        Self {
            dimension,
            draws: all,
        }
    }

    fn findings(&self) -> Findings {
        let m = self.dimension;
        let shape = m as f64;
        let vectors = self.draws.chunks(m);
        let n = vectors.len() as f64;
        let mut axis = vec![0.0; m];
        let mut rng = PublicRng::new(0x1a91_ace0);
        axis.fill_with(|| normal(&mut rng));
        let length = norm(&axis);

        let mut radii: Vec<f64> = vectors.clone().map(|z| gamma_lr(shape, norm(z))).collect();
        let along = |t: f64| match m {
            1 => t,
            _ => beta_reg(
                (shape - 1.0) / 2.0,
                (shape - 1.0) / 2.0,
                t.clamp(-1.0, 1.0) / 2.0 + 0.5,
            ),
        };
        let first: Vec<f64> = vectors.clone().map(|z| along(z[0] / norm(z))).collect();
        let other: Vec<f64> = vectors
            .clone()
            .map(|z| {
                let dot: f64 = z.iter().zip(&axis).map(|(z, a)| z * a).sum();
                along(dot / norm(z) / length)
            })
            .collect();
        let joint = [&first, &other].map(|along| {
            let mut counts = vec![0; 64];
            let cell = |u: f64| ((u * 8.0) as usize).min(7);
            for (r, t) in radii.iter().zip(along) {
                counts[8 * cell(*r) + cell(*t)] += 1;
            }
            match m {
                1 => 1.0,
                _ => g_test(&counts, &[1.0 / 64.0; 64]),
            }
        });
        let direction = [first, other].map(|mut along| match m {
            1 => 1.0,
            _ => uniform_test(&mut along),
        });

        // All pairs if there are few coordinates, else pairs at these distances.
        let lags: Vec<usize> = match m {
            1..=33 if m < 4 || soak() => (0..m).collect(),
            _ => vec![0, 1, 2, 16, 31, 32, 33, 63, 64, m / 2],
        };
        let (mut signs, mut covariance) = (0.0f64, 0.0f64);
        for i in 0..m {
            let positive: f64 = vectors.clone().map(|z| z[i].signum()).sum();
            signs = signs.max(positive.abs() / n.sqrt());
            for lag in &lags {
                let j = i + lag;
                if j >= m {
                    continue;
                }
                let product: f64 = vectors.clone().map(|z| z[i] * z[j]).sum();
                // E z² = m+1, E z⁴ = 3(m+1)(m+3), E z_i²·z_j² = (m+1)(m+3).
                let (mean, square) = match lag {
                    0 => (shape + 1.0, 3.0 * (shape + 1.0) * (shape + 3.0)),
                    _ => (0.0, (shape + 1.0) * (shape + 3.0)),
                };
                let deviation = ((square - mean * mean) * n).sqrt();
                covariance = covariance.max((product - mean * n).abs() / deviation);
                if *lag > 0 {
                    let equal: f64 = vectors.clone().map(|z| (z[i] * z[j]).signum()).sum();
                    signs = signs.max(equal.abs() / n.sqrt());
                }
            }
        }
        Findings {
            radius: uniform_test(&mut radii),
            direction,
            joint,
            signs,
            covariance,
        }
    }
}

fn norm(z: &[f64]) -> f64 {
    z.iter().map(|z| z * z).sum::<f64>().sqrt()
}

/// Gamma with an integer shape and scale 1.
fn gamma(shape: usize, rng: &mut PublicRng) -> f64 {
    (0..shape).map(|_| -uniform(rng).ln()).sum()
}

/// About the same number of coordinates for each dimension.
fn draws(dimension: usize, long: bool) -> usize {
    if long {
        (20_000_000 / dimension).clamp(1_000, 1_000_000)
    } else {
        (200_000 / dimension).clamp(500, 20_000)
    }
}

#[test]
fn noise_has_the_laplace_law() {
    // ε and Δ rotate with the dimensions, extremes included.
    let scales = [
        (1_000_000, 1 << 32),
        (100_000, 1 << 44),
        (1_000_000_000, 1 << 20),
        (12_345_678, 5 << 31),
        (9_999_999, (1 << 32) + 12_345),
    ];
    for (index, dimension) in DIMENSIONS.into_iter().enumerate() {
        let (micro, units) = scales[index % scales.len()];
        let laplace = laplace(dimension, micro, units);
        let n = draws(dimension as usize, soak());
        let findings = Sample::of(&laplace, n, 0x7e57_5000 + u64::from(dimension)).findings();
        println!("m = {dimension}, {n} draws: {findings:.3?}");
        assert!(findings.fit(), "m = {dimension}: {findings:?}");
    }
}

/// Each test of the law fails for a wrong law and passes for the right law from other formulas.
#[test]
fn wrong_laws_are_noticed() {
    for m in [2, 3, 32, 33] {
        let seed = 0x7e57_6000 + m as u64;
        let right = Sample::made(m, seed, |rng| gamma(m, rng), |_, _| ()).findings();
        assert!(right.fit(), "{m}: {right:?}");
        // Gaussian noise with the same second moments.
        let normal_radius = |rng: &mut PublicRng| {
            let g: Vec<f64> = (0..m).map(|_| normal(rng)).collect();
            norm(&g) * (m as f64 + 1.0).sqrt()
        };
        let wrong = Sample::made(m, seed, normal_radius, |_, _| ()).findings();
        assert!(wrong.radius < P_LIMIT, "{m}: {wrong:?}");
        let wrong = Sample::made(m, seed, |rng| gamma(m + 1, rng), |_, _| ()).findings();
        assert!(wrong.radius < P_LIMIT, "{m}: {wrong:?}");
        let shift = (m as f64 + 1.0).sqrt() / 5.0;
        type Change<'a> = &'a dyn Fn(f64, &mut [f64]);
        type IsNoticed = fn(&Findings) -> bool;
        let changes: [(Change<'_>, IsNoticed); 4] = [
            // One coordinate off centre.
            (&|_, z| z[0] += shift, |wrong| {
                wrong.direction[0] < P_LIMIT && wrong.signs > Z_LIMIT
            }),
            // One coordinate too small.
            (&|_, z| z[0] *= 0.85, |wrong| {
                wrong.covariance > Z_LIMIT || wrong.direction[0] < P_LIMIT
            }),
            // One coordinate a copy of another.
            (&|_, z| z[1] = z[0], |wrong| {
                wrong.covariance > Z_LIMIT && wrong.signs > Z_LIMIT
            }),
            // The larger of two coordinates first if the noise is large.
            (
                &|r, z| {
                    if (r > m as f64) == (z[0].abs() < z[1].abs()) {
                        z.swap(0, 1);
                    }
                },
                |wrong| wrong.radius > P_LIMIT && wrong.joint[0] < P_LIMIT,
            ),
        ];
        for (change, is_noticed) in changes {
            let wrong = Sample::made(m, seed, |rng| gamma(m, rng), change).findings();
            assert!(is_noticed(&wrong), "{m}: {wrong:?}");
        }
    }
}

// --- The grid

/// ε and Δ: extremes, round numbers and random ones.
fn parameters(seed: u64, random: usize) -> Vec<(u32, u64)> {
    let micros = [
        100_000,
        100_001,
        999_999,
        1_000_000,
        10_000_000,
        999_999_999,
        1_000_000_000,
    ];
    let units = [
        1 << 20,
        (1 << 32) - 1,
        1 << 32,
        (1 << 32) + 1,
        3 << 31,
        1 << 44,
    ];
    let corners = micros
        .into_iter()
        .flat_map(|micro| units.map(|units| (micro, units)));
    let mut rng = PublicRng::new(seed);
    let random = (0..random).map(|_| {
        let shifts = [below(&mut rng, 13), below(&mut rng, 24)];
        let micro = 100_000 + below(&mut rng, (1_000_000_000 - 100_000) >> shifts[0]);
        let units = (1 << 20) + below(&mut rng, ((1 << 44) - (1 << 20)) >> shifts[1]);
        (micro as u32, units)
    });
    corners.chain(random.collect::<Vec<_>>()).collect()
}

/// Returns whether 2^`exponent` ≤ Δ·√`square`/ε, squared and multiplied out.
fn at_most(exponent: i32, square: u32, micro: u32, units: u64) -> bool {
    // 4^exponent·E²·10⁻¹² ≤ D²·2⁻⁶⁴·square.
    let left = BigUint::from(micro).pow(2) << 64;
    let right = BigUint::from(units).pow(2) * square * BigUint::from(10u32).pow(12);
    match exponent {
        0.. => left << (2 * exponent) <= right,
        _ => left <= right << (-2 * exponent),
    }
}

/// h = 2^⌊log₂(Δ√(m+1)/(64ε))⌋ for every dimension, exactly; with discrete noise Δ√m/(8ε).
#[test]
fn the_grid_is_the_power_of_two_that_it_should_be() {
    let (mut least, mut most, mut coarsest) = (i32::MAX, i32::MIN, 0.0f64);
    for m in 1..=1024u32 {
        for (micro, units) in parameters(u64::from(m), 20) {
            let l = laplace(m, micro, units);
            let h = l.grid_exponent();
            assert!(at_most(h + 6, m + 1, micro, units), "{l:?}");
            assert!(!at_most(h + 7, m + 1, micro, units), "{l:?}");
            assert_eq!(l.fraction_bits() as i32, 40 - h);
            let s = units as f64 / 2f64.powi(32) * f64::from(m + 1).sqrt() / f64::from(micro) * 1e6;
            coarsest = coarsest.max((2f64.powi(h) / s).powi(2) / 12.0);
            let sensitivity = Sensitivity::from_units(units).expect("a sensitivity");
            let discrete =
                Laplace::with_noise(Noise::DiscreteLaplace, m, epsilon(micro), sensitivity)
                    .expect("parameters in range");
            let g = discrete.grid_exponent();
            assert!(at_most(g + 3, m, micro, units), "{discrete:?}");
            assert!(!at_most(g + 4, m, micro, units), "{discrete:?}");
            assert_eq!(discrete.fraction_bits() as i32, 40 - g);
            (least, most) = (least.min(h).min(g), most.max(h).max(g));
        }
    }
    assert_eq!((least, most), (-28, 17), "the documented range");
    // h ≤ s/64, so h²/12 ≤ s²/49 152.
    println!("rounding to the grid adds at most {coarsest:.4e} of the noise's variance");
    assert!(coarsest <= 1.0 / 49_152.0 * (1.0 + 1e-12));
    assert!(coarsest < 2.1e-5);
}

#[test]
fn parameters_are_refused_exactly_outside_their_limits() {
    for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
        let new = |m, micro| Laplace::with_noise(noise, m, epsilon(micro), Sensitivity::ONE);
        for m in [1, 2, 1023, 1024] {
            for micro in [100_000, 1_000_000_000] {
                assert!(new(m, micro).is_ok_and(|l| l.noise() == noise));
            }
            for micro in [1, 99_999] {
                let found = epsilon(micro);
                assert_eq!(new(m, micro), Err(LaplaceError::Epsilon { found }));
            }
        }
        for found in [0, 1025, u32::MAX] {
            assert_eq!(
                new(found, 1_000_000),
                Err(LaplaceError::Dimension { found })
            );
        }
        for (m, micro) in [
            (1, 100_000),
            (3, 1_000_000),
            (384, 10_000_000),
            (1024, 1_000_000_000),
        ] {
            let l = new(m, micro).expect("parameters in range");
            let h = l.grid_exponent();
            let mut rng = CountingRng::new(PublicRng::new(1));
            let point = vec![1.0; m as usize];
            let mut out = vec![77; m as usize];
            // B/h ≤ 2²¹, and h has at least the last fractional bit.
            let (least, most) = (h - 40, h + 21);
            for found in [least - 1, most + 1, i32::MIN, i32::MAX] {
                let refused = Err(LaplaceError::Bound { found, least, most });
                assert_eq!(
                    hazmat::perturb(&l, &point, found, &mut rng, &mut out),
                    refused
                );
            }
            for wrong in [0, m as usize - 1, m as usize + 1] {
                for (input, output) in [(wrong, m as usize), (m as usize, wrong)] {
                    let point = vec![1.0; input];
                    let result = hazmat::perturb(&l, &point, h, &mut rng, &mut vec![77; output]);
                    let refused = LaplaceError::Length {
                        expected: m as usize,
                        found: wrong,
                    };
                    assert_eq!(result, Err(refused));
                }
            }
            assert_eq!(rng.take_count(), 0);
            assert!(out.iter().all(|y| *y == 77));
            for bound in [least, most] {
                assert_eq!(
                    hazmat::perturb(&l, &point, bound, &mut rng, &mut out),
                    Ok(())
                );
            }
        }
    }
}

// --- The constants of the proof

/// ⌈√n·2⁶⁴⌉.
fn root_above(n: u32) -> BigUint {
    let square = BigUint::from(n) << 128u32;
    let root = square.sqrt();
    if &root * &root == square {
        root
    } else {
        root + 1u32
    }
}

/// ⌊√n·2⁶⁴⌋.
fn root_below(n: u32) -> BigUint {
    (BigUint::from(n) << 128u32).sqrt()
}

/// κ = m·ln((h+2η)/(h−2η)) + 2ε√m·η/Δ with η = 2⁻⁴⁴·(1 + 10/√(m+1))·s, in fractions rounded up, and
/// both bounds that the documentation gives on the way. It is computed for every dimension and for
/// the coarsest s/h of the grid, so it holds for every ε and Δ.
#[test]
fn kappa_keeps_its_bound() {
    // Everything in units of 2⁻¹⁹².
    const BITS: u32 = 192;
    let one = || BigUint::from(1u32) << BITS;
    let up =
        |numerator: BigUint, denominator: &BigUint| (numerator + denominator - 1u32) / denominator;
    let mut largest = (0.0, 0);
    for m in 1..=1024u32 {
        // 1 + 10/√(m+1).
        let widening = one() + up(BigUint::from(10u32) << (BITS + 64), &root_below(m + 1));
        // u = 2η/h < 2·128·η/s.
        let u = &widening >> 36u32;
        assert!(u < one() >> 3);
        // ln((1+u)/(1−u)) = 2·(u + u³/3 + ...) ≤ 2u/(1 − u²).
        let square = up(&u * &u, &one());
        let volume = up((&u * 2u32) << BITS, &(one() - square)) * m;
        let documented = (&widening * (5 * m)) >> 37u32;
        assert!(volume <= documented, "{m}");
        assert!(documented < one() >> 23u32, "{m}");
        // ε/Δ·η = 2⁻⁴⁴·(1 + 10/√(m+1))·√(m+1).
        let density: BigUint =
            (((&widening * 2u32 * root_above(m)) >> 64u32) * root_above(m + 1)) >> (64 + 44);
        assert!(density.clone() + 1u32 < one() >> 30u32, "{m}");
        // One dimension, with the truncated mean and the cost of two units of the fixed point
        // there.
        assert!(m > 1 || &volume + &density + (one() >> 44u32) < one() >> 31u32);
        let kappa = volume.clone() + (one() >> 30u32);
        assert!(kappa <= one() >> 23u32, "{m}");
        let float = (kappa >> (BITS - 64)).iter_u64_digits().next().unwrap_or(0) as f64;
        if float > largest.0 {
            largest = (float, m);
        }
    }
    println!(
        "largest κ: 2^{:.2} at m = {}",
        largest.0.log2() - 64.0,
        largest.1
    );
    // The bound is sharp: with η sixteen times as large it would not hold.
    assert!(largest.0 * 16.0 > 2f64.powi(64 - 23));
}

/// δ₀: the probability that some v is below 2⁻⁷², that ‖g'‖ exceeds √(m+1) + 10, or, where
/// exponentials are summed at once, that there are too few bits or ‖g'‖ is below √(m+1)/8. The
/// proof assumes that none of these happens.
#[test]
fn delta_keeps_its_bound() {
    let one = BigUint::from(1u32) << PRECISION;
    // e⁻⁵⁰, rounded up.
    let tail = (&one << PRECISION) / exp(50, 1).lower + 1u32;
    let delta = ((&one * 528u32) >> 72u32) + &tail + (&one >> 75u32) + (&one >> 73u32);
    assert!(delta < &one >> 60u32);
    for m in 1..=1024usize {
        // One v for every pair of Gaussians, and for every exponential that is drawn separately.
        let (count, odd) = (m.div_ceil(2), (m + 1) % 2);
        let single = if count < noise::AT_ONCE { count } else { 0 };
        assert!(m.div_ceil(2) + odd + single <= 528);
        if count >= noise::AT_ONCE {
            assert!(m + 1 >= 32);
            // Hoeffding: e^(−(N − 2·count)²/2N) < 2⁻⁷⁵.
            let bits = 64 * (noise::chi_squared_words(m + 1) - 3 * odd - count) as u64;
            let spare = bits - 2 * count as u64;
            assert!(exp(spare * spare, 2 * bits).lower > &one << 75u32, "{m}");
        }
    }
    // Chernoff: (t·e^(1−t))^(32/2) at t = 1/64 is e^(63/4)·2⁻⁹⁶.
    assert!(exp(63, 4).upper < &one << (96 - 73));
    // v ≥ 2⁻⁷² gives |g| ≤ √(2·72·ln 2) ≤ 10: 2⁷² ≤ e⁵⁰.
    assert!(exp(50, 1).lower >= &one << 72u32);
    // For every draw, |g| ≤ √(2·129·ln 2) < 13.4: 2¹²⁹ < e^(13.4²/2).
    assert!(exp(1_795_600, 20_000).lower > &one << 129u32);
    // η: 13μ, 27μ and 4μ of |g| ≤ 10, 2⁻⁵⁸ and half a unit, in units of 2⁻⁵⁸ and of 2⁻⁴⁴ = 2¹⁴ of them.
    let parts = 44 * 10 * (1 << 5) + 1 + (1 << 11);
    assert!(parts <= 1 << 14);
}

// --- Floating point

/// Words at which a branch or a bit changes, and random words with any number of leading equal
/// bits.
fn adversarial_words(random: usize, seed: u64) -> Vec<u64> {
    let ends = [
        0,
        1,
        2,
        u64::MAX,
        u64::MAX - 1,
        0x5555_5555_5555_5555,
        0xaaaa_aaaa_aaaa_aaaa,
    ];
    let powers = (0..64).flat_map(|bit| {
        let p = 1u64 << bit;
        [p, p - 1, p + 1, !p, p.wrapping_neg(), p | p >> 1]
    });
    let mut rng = PublicRng::new(seed);
    let random = (0..random).map(|_| {
        let word = rng.next_u64() >> below(&mut rng, 64);
        if rng.next_u64() & 1 == 1 { !word } else { word }
    });
    ends.into_iter()
        .chain(powers)
        .chain(random.collect::<Vec<_>>())
        .collect()
}

/// Units of 2⁻⁵³ relative to the exact value.
fn relative(found: f64, expected: &Real) -> f64 {
    noise::error_in(found, expected, &(expected * real(1, -53)))
}

/// Exponentials err by at most 9μ of their value, as documented, for all kinds of v: near 0, near
/// 1, at ½.
#[test]
fn exponentials_keep_their_error() {
    let mut rng = PublicRng::new(0x7e57_7001);
    let mut sampler = gaussian::Sampler::new(gaussian::box_muller);
    let lows = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 11, 1 << 10];
    let random = if soak() { 40_000 } else { 800 };
    let mut largest = (0.0f64, [0; 2]);
    for (index, high) in adversarial_words(random, 0x7e57_7002)
        .into_iter()
        .enumerate()
    {
        let low = match index % 3 {
            0 => lows[index / 3 % lows.len()],
            _ => rng.next_u64() >> below(&mut rng, 64),
        };
        for low in [low, !low] {
            let words = [high, low];
            let found = sampler.chi_squared(2, &mut FixedWords(&words)) / 2.0;
            let error = relative(found, &noise::exponential(high, low));
            if error > largest.0 {
                largest = (error, words);
            }
        }
    }
    // High words of zeros and ones: v next to 0 and 1.
    for high in [0, u64::MAX] {
        for low in adversarial_words(200, 0x7e57_7003) {
            let found = sampler.chi_squared(2, &mut FixedWords(&[high, low])) / 2.0;
            largest.0 = largest
                .0
                .max(relative(found, &noise::exponential(high, low)));
        }
    }
    println!(
        "largest error of an exponential: {:.2}μ, at {:x?}",
        largest.0, largest.1
    );
    assert!(largest.0 <= 9.0, "{largest:x?}");
    assert!(largest.0 > 0.5, "the reference sees rounding");
}

/// Gaussians err by at most 13μ of their value and 2⁻⁵⁸.
#[test]
fn gaussians_keep_their_error() {
    let mut rng = PublicRng::new(0x7e57_7004);
    let mut sampler = gaussian::Sampler::new(gaussian::box_muller);
    let angles = adversarial_words(if soak() { 40_000 } else { 500 }, 0x7e57_7005);
    let highs = adversarial_words(200, 0x7e57_7006);
    let (mut largest, mut plain) = (0.0f64, 0.0f64);
    // A mirrored angle gives a mirrored result; each octant, at its smallest and largest angle.
    let octants = (0..8u64).flat_map(|octant| [octant << 61, octant << 61 | ((1 << 61) - 1)]);
    for (index, angle) in angles.into_iter().chain(octants).enumerate() {
        let words = [highs[index % highs.len()], rng.next_u64(), angle];
        let found =
            <[f64; 2]>::try_from(sampler.pairs(1, &mut FixedWords(&words))).expect("a pair");
        let (x, y) = noise::gaussians(words[0], words[1], words[2]);
        for (found, expected) in found.into_iter().zip([x, y]) {
            let error = noise::error_in(found, &expected, &real(1, -53));
            let size = expected.to_f64().value().abs();
            largest = largest.max(error / (13.0 * size + 2f64.powi(-5)));
            plain = plain.max(error / size);
            assert_eq!(
                found.is_sign_negative(),
                expected < real(0, 0),
                "{words:x?}"
            );
        }
    }
    println!("largest error of a Gaussian: {plain:.2}μ, {largest:.2} of what is allowed");
    assert!(largest <= 1.0 && largest > 0.05);
}

/// ‖g'‖² errs by at most 43μ relative if its exponentials are drawn separately, and by 3μ for each
/// degree plus 28μ if they are summed at once.
#[test]
fn sums_keep_their_error() {
    let mut rng = PublicRng::new(0x7e57_7007);
    let mut sampler = gaussian::Sampler::new(gaussian::box_muller);
    let edges = adversarial_words(50, 0x7e57_7008);
    let mut largest = (0.0f64, 0.0f64, 0);
    for degrees in [
        2, 3, 4, 29, 30, 31, 32, 33, 34, 63, 64, 65, 66, 67, 129, 130, 192, 193, 194, 385, 769,
        1024, 1025,
    ] {
        for round in 0..if soak() { 500 } else { 20 } {
            let words: Vec<u64> = (0..noise::chi_squared_words(degrees))
                .map(|i| match round % 4 {
                    0 | 1 => rng.next_u64(),
                    2 => edges[(i * 7 + round) % edges.len()],
                    _ => edges[below(&mut rng, edges.len() as u128) as usize],
                })
                .collect();
            let mut source = FixedWords(&words);
            let found = sampler.chi_squared(degrees as u32, &mut source);
            assert!(source.0.is_empty(), "{degrees}");
            let expected = chi_squared(degrees, &words);
            let error = noise::error_in(found, &expected, &real(1, -53));
            let (n, value) = (degrees as f64, expected.to_f64().value());
            let allowed = match degrees {
                ..32 => 43.0 * value,
                _ => 3.0 * n + 28.0 * value,
            };
            if error / allowed > largest.1 {
                largest = (error / value, error / allowed, degrees);
            }
        }
    }
    println!(
        "largest error of a sum: {:.2}μ of it, {:.3} of what is allowed, with {} degrees",
        largest.0, largest.1, largest.2
    );
    assert!(largest.1 <= 1.0, "{largest:?}");
}

fn chi_squared(degrees: usize, words: &[u64]) -> Real {
    let mut rest = words;
    noise::chi_squared(degrees, &mut |n| {
        let (now, later) = rest.split_at(n);
        rest = later;
        now
    })
}

/// All factors 1, or as small as possible, with all bits one or all zero: the result is the same
/// number, not negative, and the noise is within its bound.
#[test]
fn extreme_sums_are_numbers() {
    let mut sampler = gaussian::Sampler::new(gaussian::box_muller);
    for degrees in [32usize, 33, 34, 64, 1024, 1025] {
        let count = degrees / 2;
        let gaussian = 3 * (degrees % 2);
        for factor in [0, 1, 1 << 10, 1 << 12, u64::MAX] {
            for bits in [0, u64::MAX] {
                let mut words = vec![u64::MAX; gaussian];
                words.extend(vec![factor; count]);
                words.extend(vec![
                    bits;
                    noise::chi_squared_words(degrees) - count - gaussian
                ]);
                let found = sampler.chi_squared(degrees as u32, &mut FixedWords(&words));
                let error = noise::error_in(found, &chi_squared(degrees, &words), &real(1, -53));
                assert!(found >= 0.0, "{degrees} {factor:x} {bits:x}: {found:e}");
                assert!(
                    error <= 3.0 * degrees as f64 + 28.0 * found,
                    "{degrees} {factor:x} {bits:x}: {found:e}"
                );
            }
        }
    }
}

/// X: the coordinate times 2^F rounded towards zero, clamped.
fn fixed(l: &Laplace, bound: i32, x: f32) -> Real {
    let scaled = noise::exact(f64::from(if x.is_finite() { x } else { 0.0 }))
        * real(1, l.fraction_bits() as isize);
    let limit = real(1, (bound + l.fraction_bits() as i32) as isize);
    let magnitude = if scaled < real(0, 0) {
        -scaled.clone()
    } else {
        scaled.clone()
    };
    let magnitude = if magnitude > limit {
        limit
    } else {
        magnitude.trunc()
    };
    if scaled < real(0, 0) {
        -magnitude
    } else {
        magnitude
    }
}

/// Known answers without typed-in numbers: for given words the release is the one of exact
/// arithmetic, unless the exact value lies within η of a boundary between two releases. Every
/// target and every optimisation level gives the same.
#[test]
fn releases_are_those_of_exact_arithmetic() {
    let mut rng = PublicRng::new(0x7e57_7009);
    let edges = adversarial_words(100, 0x7e57_700a);
    let cases = [
        (1, 1_000_000, 1u64 << 32),
        (2, 100_000, 1 << 44),
        (3, 1_000_000_000, 1 << 20),
        (31, 12_345_678, 5 << 31),
        (32, 10_000_000, 1 << 32),
        (63, 1_000_000, 1 << 32),
        (64, 3_000_000, (1 << 32) + 977),
        (65, 500_000, 1 << 33),
        (384, 10_000_000, 1 << 32),
        (1024, 999_999_999, 1 << 32),
    ];
    let (mut exact, mut total, mut checksum) = (0u64, 0u64, 0i64);
    for (m, micro, units) in cases {
        let l = laplace(m, micro, units);
        let m = m as usize;
        let s_over_h = units as f64 / 2f64.powi(32 + l.grid_exponent()) * (m as f64 + 1.0).sqrt()
            / f64::from(micro)
            * 1e6;
        // η·2^F, and the same for |g| beyond 10, which is clamped.
        let eta =
            real(1, -4) * noise::exact(s_over_h * (1.0 + 10.0 / (m as f64 + 1.0).sqrt()) * 1.0001);
        for round in 0..if soak() { 40 } else { (600 / m).clamp(1, 60) } {
            let words: Vec<u64> = (0..noise::words(m))
                .map(|_| match round % 3 {
                    2 => edges[below(&mut rng, edges.len() as u128) as usize],
                    _ => rng.next_u64(),
                })
                .collect();
            let bound = l.grid_exponent() + [21, 10, -30][round % 3];
            let point: Vec<f32> = (0..m)
                .map(|_| f32::from_bits(rng.next_u32()) * 2f32.powi(round as i32 % 5))
                .collect();
            let mut out = vec![0; m];
            let mut source = FixedWords(&words);
            hazmat::perturb(&l, &point, bound, &mut source, &mut out).expect("lengths");
            assert!(source.0.is_empty(), "every word is used");
            for ((y, z), x) in out.iter().zip(noise::noise(&l, &words)).zip(&point) {
                // |y·2⁴⁰ − (X + z)| ≤ 2³⁹ + η.
                let error = real(i64::from(*y) << 40, 0) - (fixed(&l, bound, *x) + &z);
                let size = if error < real(0, 0) { -error } else { error };
                // Words of zeros give |g| up to 13.4, beyond the 10 that η covers.
                assert!(size <= real(1, 39) + &eta * real(2, 0), "m = {m}: {y} {x}");
                exact += u64::from(size <= real(1, 39) - &eta);
                total += 1;
                checksum = checksum.wrapping_mul(31).wrapping_add(i64::from(*y));
            }
        }
    }
    println!("{exact} of {total} releases away from where two meet; checksum {checksum:x}");
    assert!(exact + 2 >= total);
    // The reference is independent: noise for a word with one changed low bit differs by more than
    // η.
    let l = laplace(1, 1_000_000, 1 << 32);
    let words: Vec<u64> = (0..noise::words(1))
        .map(|i| 0x1234_5678_9abc_def0u64.rotate_left(i as u32))
        .collect();
    let mut other = words.clone();
    other[0] ^= 1 << 30;
    let difference = &noise::noise(&l, &words)[0] - &noise::noise(&l, &other)[0];
    assert!(difference.to_f64().value().abs() > 8.0);
}

/// The random words of a release, and the Gaussians made of them, reveal the vector: none outlives
/// the sampler.
#[test]
fn a_sampler_is_wiped_when_it_goes() {
    // Two Gaussians take three words, and one radius.
    const WORDS: usize = 3 * gaussian::BATCH;
    let mut slot = MaybeUninit::new(gaussian::Sampler::new(gaussian::box_muller));
    assert_eq!(size_of_val(&slot), 8 * WORDS);
    let sampler = slot.as_mut_ptr();
    // SAFETY: initialised two lines above, and nothing else refers to it.
    unsafe { &mut *sampler }.pairs(gaussian::BATCH / 2, &mut PublicRng::new(0x7e57_700b));
    // SAFETY: the fields have 8 bytes each, so there is no padding; all are initialised and valid
    // as integers.
    let read = || unsafe { sampler.cast::<[u64; WORDS]>().read_volatile() };
    assert!(read().iter().all(|word| *word != 0));
    // SAFETY: the memory is initialised and belongs to `slot`; the sampler is gone.
    unsafe { sampler.drop_in_place() };
    assert_eq!(read(), [0; WORDS]);
}

#[test]
fn words_consumed_do_not_depend_on_the_vector() {
    for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
        for m in DIMENSIONS {
            let l = Laplace::with_noise(noise, m, epsilon(5_000_000), Sensitivity::ONE)
                .expect("parameters in range");
            let m = m as usize;
            let expected = match noise {
                Noise::Laplace => noise::words(m),
                Noise::DiscreteLaplace => 3 * m,
            };
            let mut rng = CountingRng::new(PublicRng::new(2));
            let mut out = vec![0; m];
            for x in [
                0.0,
                -0.0,
                1.0,
                f32::MAX,
                f32::MIN_POSITIVE,
                f32::NAN,
                f32::NEG_INFINITY,
                1e-40,
            ] {
                hazmat::perturb(&l, &vec![x; m], 0, &mut rng, &mut out).expect("lengths");
                assert_eq!(rng.take_count(), expected as u64, "{noise:?} {m}");
            }
        }
    }
}
