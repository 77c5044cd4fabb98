//! Attacks on released vectors by low bits of floating point and of our releases. Every attack is
//! shown to succeed against a flawed mechanism.

use undertone_audit::sampled::statistics::g_test;
use undertone_core::hazmat;
use undertone_core::rng::PublicRng;
use undertone_core::vector::{Noise, VectorMechanism};
use undertone_tests::noise::{normal, textbook, uniform};
use undertone_tests::{epsilon, soak};

const NOISES: [Noise; 2] = [Noise::Laplace, Noise::DiscreteLaplace];

/// A vector of norm 1, like an encoder's.
fn embedding(dimension: usize, rng: &mut PublicRng) -> Vec<f64> {
    let g: Vec<f64> = (0..dimension).map(|_| normal(rng)).collect();
    let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
    g.iter().map(|g| g / norm).collect()
}

// --- Floating point

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
enum Precision {
    Single,
    Double,
}

impl Precision {
    /// Whether noise in this precision cannot turn some coordinate of `x` into that of `y`: noise
    /// that is added in floating point leaves gaps, which depend on the low bits of `x`.
    fn excludes(self, y: &[f64], x: &[f64]) -> bool {
        let mut pairs = y.iter().zip(x);
        !match self {
            Self::Single => pairs.all(|(y, x)| reachable!(f32, *y as f32, *x as f32)),
            Self::Double => pairs.all(|(y, x)| reachable!(f64, *y, *x)),
        }
    }
}

/// Counts the right and the wrong guesses of an attacker who is given two inputs in turn. The
/// attacker names the input that is not excluded, and does not guess if both or none are.
fn guesses(
    precision: Precision,
    rounds: usize,
    candidates: [&[f64]; 2],
    mut release: impl FnMut(&[f64]) -> Vec<f64>,
) -> (u64, u64) {
    let (mut right, mut wrong) = (0, 0);
    for round in 0..rounds {
        let truth = candidates[round % 2];
        let other = candidates[1 - round % 2];
        let y = release(truth);
        match [truth, other].map(|x| precision.excludes(&y, x)) {
            [false, true] => right += 1,
            [true, false] => wrong += 1,
            _ => {}
        }
    }
    (right, wrong)
}

/// A neighbour so close that the promise allows almost no difference: no coordinate moves by more
/// than 2⁻¹⁰ of itself.
fn neighbour(x: &[f64], rng: &mut PublicRng) -> Vec<f64> {
    x.iter()
        .map(|x| x * (1.0 + (uniform(rng) - 0.5) / 512.0))
        .collect()
}

/// The vector in single precision.
fn single(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x as f32)).collect()
}

/// Mironov 2012, Jin et al. 2022, Haney et al. 2022, in m dimensions.
#[test]
fn floating_point_noise_gives_the_input_away() {
    let rounds = if soak() { 10_000 } else { 400 };
    for micro in [1_000_000u32, 10_000_000, 100_000_000] {
        let rate = f64::from(micro) / 1e6;
        for precision in [Precision::Single, Precision::Double] {
            let mut rng = PublicRng::new(0x7e57_8000 + u64::from(micro));
            let x = embedding(384, &mut rng);
            for other in [embedding(384, &mut rng), neighbour(&x, &mut rng)] {
                let [x, other] = match precision {
                    Precision::Single => [single(&x), single(&other)],
                    Precision::Double => [x.clone(), other],
                };
                let naive = |x: &[f64]| textbook(precision == Precision::Single, x, rate, &mut rng);
                let (right, wrong) = guesses(precision, rounds, [&x, &other], naive);
                println!("ε = {rate} {precision:?}: {right} of {rounds} inputs named");
                assert_eq!(wrong, 0, "what went in is reachable");
                let share = right as f64 / rounds as f64;
                assert!(share >= 0.9, "{precision:?} {rate}: {share}");
            }
        }
    }
}

/// The same attack on 10⁴ of our releases (10⁶ in the long run), converted to floats, is right half
/// of the time. (Some grid points become floats that neither input can reach, so it guesses those.)
#[test]
fn releases_give_nothing_to_floating_point() {
    let total = if soak() { 1_000_000 } else { 10_000 };
    let cases: Vec<(Noise, usize, u32)> = NOISES
        .into_iter()
        .flat_map(|noise| [1, 8, 384].map(|d| (noise, d)))
        .flat_map(|(noise, d)| [1_000_000, 100_000_000].map(|micro| (noise, d, micro)))
        .collect();
    let (mut seen, mut named) = (0, 0);
    for (index, (noise, d, micro)) in cases.iter().copied().enumerate() {
        // Discrete noise is slow in many coordinates, so there are fewer of them.
        let rounds = match (noise, d) {
            (Noise::DiscreteLaplace, 384) => total / 100,
            _ => total / 9,
        };
        seen += rounds;
        let mechanism =
            VectorMechanism::new(d as u32, 0, noise, epsilon(micro)).expect("parameters");
        let step = 2f64.powi(mechanism.laplace().grid_exponent());
        let mut rng = PublicRng::new(0x7e57_8100 + index as u64);
        let x: Vec<f64> = embedding(d, &mut rng).iter().map(|x| x * 0.7).collect();
        let other = single(&neighbour(&x, &mut rng));
        let x = single(&x);
        let mut out = vec![0; d];
        for precision in [Precision::Single, Precision::Double] {
            let ours = |x: &[f64]| -> Vec<f64> {
                let x: Vec<f32> = x.iter().map(|x| *x as f32).collect();
                hazmat::draw_vector(&mechanism, &x, &mut rng, &mut out).expect("lengths");
                out.iter().map(|y| f64::from(*y) * step).collect()
            };
            let (right, wrong) = guesses(precision, rounds, [&x, &other], ours);
            println!(
                "{noise:?} d = {d} ε = {micro}e-6 {precision:?}: {right} right, {wrong} wrong of {rounds}"
            );
            named += right + wrong;
            // The promise allows ε·‖x − x'‖ < ε/500.
            let squares = x.iter().zip(&other).map(|(x, o)| (x - o).powi(2));
            let loss = f64::from(micro) / 1e6 * squares.sum::<f64>().sqrt();
            let allowed = loss.exp_m1() * (right + wrong) as f64;
            let deviation = ((right + wrong) as f64).sqrt();
            assert!(
                right as f64 - wrong as f64 <= 5.0 * deviation + allowed,
                "{right} {wrong}"
            );
        }
    }
    assert!(seen >= total / 10 * 9 && named > 100, "{seen} {named}");
}

// --- Low bits

/// The p-value of the hypothesis that two samples of residues have the same law, and the number of
/// each residue.
fn residues_agree(first: &[i64], second: &[i64], bits: u32) -> f64 {
    let cells = 1 << bits;
    let count = |sample: &[i64]| {
        let mut counts = vec![0u64; cells];
        sample
            .iter()
            .for_each(|y| counts[y.rem_euclid(cells as i64) as usize] += 1);
        counts
    };
    let (first, second) = (count(first), count(second));
    // Both are compared with their mean. The sum of the two G statistics would have 2^bits − 1
    // degrees; taking the larger one with all its degrees is conservative.
    let total: u64 = first.iter().chain(&second).sum();
    let expected: Vec<f64> = first
        .iter()
        .zip(&second)
        .map(|(a, b)| (a + b) as f64 / total as f64)
        .collect();
    g_test(&first, &expected).min(g_test(&second, &expected))
}

/// The low bits of a release do not reveal where the input was between two grid points. (The
/// deviation of Laplace noise has at least 64 steps, so its low bits are uniform up to 10⁻³; that
/// of discrete noise has 8, so only the lowest bit is.)
#[test]
fn low_bits_do_not_depend_on_the_input() {
    let draws = if soak() { 500_000 } else { 5_000 };
    for (noise, bits, micro) in [
        (Noise::Laplace, 1, 1_000_000),
        (Noise::Laplace, 3, 1_000_000),
        (Noise::Laplace, 3, 70_000_000),
        (Noise::DiscreteLaplace, 1, 1_000_000),
    ] {
        for d in [1usize, 4] {
            let mechanism =
                VectorMechanism::new(d as u32, 1, noise, epsilon(micro)).expect("parameters");
            let h = 2f32.powi(mechanism.laplace().grid_exponent());
            let mut rng = PublicRng::new(0x7e57_8200 + d as u64);
            let mut sample = |x: f32| -> Vec<i64> {
                let mut out = vec![0; d];
                let mut all = Vec::new();
                for _ in 0..draws {
                    hazmat::draw_vector(&mechanism, &vec![x; d], &mut rng, &mut out)
                        .expect("lengths");
                    all.push(i64::from(out[d - 1]));
                }
                all
            };
            let origin = sample(0.0);
            for x in [0.5, 1.0, -7.0 / 3.0] {
                let p = residues_agree(&origin, &sample(x * h), bits);
                assert!(
                    p > 1e-6,
                    "{noise:?} d = {d}, {bits} bits, x = {x}h: p = {p:e}"
                );
            }
        }
    }
    // Floats reveal it: in units of 2⁻³⁰, noise around 1/3 has no lowest bits, noise around 0 has.
    let mut rng = PublicRng::new(0x7e57_8300);
    let mut sample = |x: f64| -> Vec<i64> {
        let naive = (0..draws).map(|_| textbook(true, &[x, x], 1.0, &mut rng)[0]);
        naive.map(|y| (y * 2f64.powi(30)) as i64).collect()
    };
    let (origin, third) = (sample(0.0), sample(f64::from(1.0f32 / 3.0)));
    assert!(residues_agree(&origin, &third, 3) < 1e-6);
    assert!(residues_agree(&origin, &sample(0.0), 3) > 1e-6);
}
