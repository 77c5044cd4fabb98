//! The reachability attack: which inputs can result in this floating-point sum?
//!
//! Noise that is added in floating point leaves gaps: x + n rounds to numbers that depend on the
//! low bits of x, so a release excludes some x (Mironov 2012; Jin et al. 2022; Haney et al. 2022).
//! The attack assumes only that a mechanism adds floats.

use undertone_core::epsilon::Epsilon;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::vector::Noise;

use crate::sampled::device::Device;
use crate::sampled::statistics::{alpha, lower_bound};
use crate::sampled::vectors::{distance, noise_name, promise};
use crate::{Check, Method};
use undertone::error::Result;
use undertone::release::document::epsilon_f64;

/// Whether some float n satisfies x ⊕ n = y. If one exists, the float nearest to y − x is one,
/// except for the uneven spacing at powers of two, so its neighbours are tried as well.
macro_rules! reachable {
    ($float:ty, $y:expr, $x:expr) => {{
        let (y, x): ($float, $float) = ($y, $x);
        let n = y - x;
        [n, n.next_up(), n.next_down()].iter().any(|n| x + n == y)
    }};
}

/// Precision of the floating-point addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// `f32`.
    Single,
    /// `f64`.
    Double,
}

impl Precision {
    /// Whether noise in this precision cannot turn some coordinate of `x` into that of the release
    /// `y`.
    pub fn excludes(self, y: &[f64], x: &[f64]) -> bool {
        let mut pairs = y.iter().zip(x);
        !match self {
            Self::Single => pairs.all(|(y, x)| reachable!(f32, *y as f32, *x as f32)),
            Self::Double => pairs.all(|(y, x)| reachable!(f64, *y, *x)),
        }
    }
}

/// Counts of an attacker's guesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guesses {
    /// Correct guesses.
    pub right: u64,
    /// Wrong guesses.
    pub wrong: u64,
}

impl Guesses {
    /// Records one guess. The attacker has two vectors, one of which `y` is a release of, and
    /// names the one that is not excluded. If both or none are excluded, the attacker does not
    /// guess.
    pub fn guess(&mut self, precision: Precision, y: &[f64], truth: &[f64], other: &[f64]) {
        match (precision.excludes(y, truth), precision.excludes(y, other)) {
            (false, true) => self.right += 1,
            (true, false) => self.wrong += 1,
            _ => {}
        }
    }
}

/// Coordinates of the vectors that are attacked.
const DIMENSIONS: [usize; 3] = [1, 8, 384];

/// Attacks `draws` releases of vectors. The attacker has two candidates that differ by 2⁻¹⁰, and
/// may not be right more often than ε·D allows.
///
/// The attack is in single precision. Sums in `f64` do not reveal a vector of `f32`, the type that
/// a device accepts, because its low bits are larger than theirs. Noise added in `f64` is off the
/// grid, which [`vectors`](crate::sampled::vectors) detects.
///
/// # Errors
/// Errors of the device.
pub fn check(
    device: &mut dyn Device,
    noise: Noise,
    epsilon: Epsilon,
    draws: usize,
) -> Result<Vec<Check>> {
    if epsilon.micro() < 100_000 {
        // Vectors have no noise for an ε below 0.1.
        return Ok(Vec::new());
    }
    let mut rng = PublicRng::new(0x7e57_ab02);
    let mut total = Guesses::default();
    let (mut allowed, mut tried) = (0.5f64, 0);
    for dimension in DIMENSIONS {
        let mut uniform = || (rng.next_u64() >> 40) as f32 / 2f32.powi(23) - 1.0;
        let scale = (1.0 / epsilon_f64(epsilon)).min(1.0) as f32 / (dimension as f32).sqrt();
        let x: Vec<f32> = (0..dimension).map(|_| 0.7 * scale * uniform()).collect();
        let other: Vec<f32> = x.iter().map(|x| x + x.abs() / 1024.0 * uniform()).collect();
        let loss = promise(noise, dimension as u32, epsilon, distance([&x, &other]));
        allowed = allowed.max(loss.exp() / (1.0 + loss.exp()));
        let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        // Releases of many coordinates take longer, so there are fewer.
        let count = (draws / dimension.div_ceil(8)).max(2) / 2;
        for [truth, other] in [[&x, &other], [&other, &x]] {
            let vectors = device.vectors(truth, 0, noise, epsilon, count)?;
            let (truth, other) = (wide(truth), wide(other));
            for y in &vectors.values {
                total.guess(Precision::Single, y, &truth, &other);
            }
            tried += count as u64;
        }
    }
    let Guesses { right, wrong } = total;
    let measured = match right + wrong {
        0 => 0.0,
        named => lower_bound(right, named, alpha()),
    };
    Ok(vec![Check {
        mechanism: noise_name(noise).to_owned(),
        name: "reachability by floats".to_owned(),
        epsilon: Some(epsilon),
        method: Method::Attack,
        claimed: allowed,
        measured,
        tried,
        passed: measured <= allowed,
        detail: format!(
            "lower bound on the attacker's share of right guesses: {right} right and {wrong} wrong in {tried} releases"
        ),
    }])
}
