//! `core::embedding` and the exact parts of `core::laplace`: sensitivities of projections, the law
//! of discrete noise, the noise of a whole release to the last bit, and inputs and outputs.

use num_bigint::{BigInt, BigUint};
use undertone_core::hazmat;
use undertone_core::laplace::{Laplace, Sensitivity};
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::VectorRelease;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, Projection, VectorError, VectorMechanism};
use undertone_tests::exponential::{PRECISION, exp_of};
use undertone_tests::noise::{self, normal, real};
use undertone_tests::packs::ProjectionParts;
use undertone_tests::{CountingRng, FixedEntropy, FixedWords, epsilon, soak};

const NOISES: [Noise; 2] = [Noise::Laplace, Noise::DiscreteLaplace];

// --- Sensitivity

/// Δ of these rows in units of 2⁻³², from a pack; `None` if it is refused.
fn sensitivity(rows: &[Vec<i16>], exponent: i32) -> Option<u64> {
    let bytes = projection_pack(rows.to_vec(), exponent);
    projection_of(&bytes).sensitivity().map(Sensitivity::units)
}

fn projection_pack(rows: Vec<Vec<i16>>, exponent: i32) -> Vec<u8> {
    let parts = ProjectionParts {
        rows,
        exponent,
        bound_exponent: 0,
    };
    parts.to_pack()
}

/// The projection of a pack that has one.
fn projection_of(pack: &[u8]) -> Projection<'_> {
    let pack = Pack::parse(pack).expect("a pack");
    pack.projection().expect("a projection")
}

/// ΦΦᵀ in integers of any size.
fn gram(rows: &[Vec<i16>]) -> Vec<Vec<BigInt>> {
    let dot = |a: &[i16], b: &[i16]| -> BigInt {
        a.iter().zip(b).map(|(a, b)| BigInt::from(*a) * *b).sum()
    };
    rows.iter()
        .map(|a| rows.iter().map(|b| dot(a, b)).collect())
        .collect()
}

/// The documented value: ⌈√(max row sum of |ΦΦᵀ|)·2^(32 + exponent)⌉, at least 2²⁰.
fn expected_units(rows: &[Vec<i16>], exponent: i32) -> BigUint {
    let gram = gram(rows);
    let sums = gram
        .iter()
        .map(|row| row.iter().map(|x| x.magnitude()).sum::<BigUint>());
    let square = sums.max().expect("a row") << (2 * (32 + exponent));
    rounded_root(&square).max(BigUint::from(1u32 << 20))
}

/// The square root, rounded up.
fn rounded_root(square: &BigUint) -> BigUint {
    let root = square.sqrt();
    if &root * &root == *square {
        root
    } else {
        root + 1u32
    }
}

/// Rows with orthonormal directions from Gaussians, times `scale`.
fn orthonormal(m: usize, d: usize, scale: f64, rng: &mut PublicRng) -> Vec<Vec<i16>> {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    while rows.len() < m {
        let mut row: Vec<f64> = (0..d).map(|_| normal(rng)).collect();
        // Two passes are enough.
        for _ in 0..2 {
            for other in &rows {
                let dot: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(other).for_each(|(a, b)| *a -= dot * b);
            }
        }
        let norm = row.iter().map(|a| a * a).sum::<f64>().sqrt();
        row.iter_mut().for_each(|a| *a /= norm);
        rows.push(row);
    }
    let round = |row: &Vec<f64>| row.iter().map(|a| (a * scale).round() as i16).collect();
    rows.iter().map(round).collect()
}

/// Matrices of all kinds.
fn matrix(kind: usize, rng: &mut PublicRng) -> Vec<Vec<i16>> {
    let m = 1 + below(rng, 24) as usize;
    let d = 1 + below(rng, 40) as usize;
    let mut random = |shift: u32| (rng.next_u32() as i16) >> shift;
    let filled = |entry: &mut dyn FnMut(usize, usize) -> i16| -> Vec<Vec<i16>> {
        let row = |i| (0..d).map(|j| entry(i, j)).collect();
        (0..m).map(row).collect()
    };
    match kind % 9 {
        0 => filled(&mut |_, _| random(0)),
        1 => filled(&mut |_, _| random(8)),
        // Rank one.
        2 => {
            let a: Vec<i16> = (0..m).map(|_| random(8)).collect();
            let b: Vec<i16> = (0..d).map(|_| random(9)).collect();
            filled(&mut |i, j| a[i] * b[j])
        }
        // Rows twice, one of them negated.
        3 => {
            let row: Vec<i16> = (0..d).map(|_| random(1)).collect();
            filled(&mut |i, j| if i % 2 == 0 { row[j] } else { -row[j] })
        }
        4 => vec![vec![random(0); d]; m],
        5 => filled(&mut |_, _| [i16::MIN, i16::MAX, -i16::MAX][random(14).rem_euclid(3) as usize]),
        6 => filled(&mut |i, j| i16::from(i == j) << 14),
        7 => vec![vec![0; d]; m],
        _ => orthonormal(m.min(d), d, 16_384.0, rng),
    }
}

#[test]
fn sensitivities_are_upper_bounds() {
    let mut rng = PublicRng::new(0x7e57_9001);
    let mut refused = 0;
    for round in 0..1_000 {
        let rows = matrix(round, &mut rng);
        let exponent = -(below(&mut rng, 25) as i32);
        let expected = expected_units(&rows, exponent);
        let allowed = (expected <= BigUint::from(1u64 << 44)).then_some(expected);
        refused += u32::from(allowed.is_none());
        let units = sensitivity(&rows, exponent).map(BigUint::from);
        assert_eq!(units, allowed, "{round}");
    }
    assert!(refused > 50 && refused < 600, "{refused} refused");
}

/// ‖Φ‖₂ ≤ Δ exactly: Δ²·I − ΦΦᵀ is positive semidefinite, by all its principal minors.
#[test]
fn sensitivities_are_above_the_norm_without_rounding() {
    fn determinant(matrix: Vec<Vec<BigInt>>) -> BigInt {
        match matrix.len() {
            0 => BigInt::from(1),
            n => (0..n)
                .map(|column| {
                    let minor = matrix[1..].iter().map(|row| {
                        let mut row = row.clone();
                        row.remove(column);
                        row
                    });
                    let sign = if column % 2 == 0 { 1 } else { -1 };
                    &matrix[0][column] * sign * determinant(minor.collect())
                })
                .sum(),
        }
    }
    // 4^32·4^exponent·ΦΦᵀ against units².
    let semidefinite = |rows: &[Vec<i16>], exponent: i32, units: u64| {
        let gram = gram(rows);
        let m = rows.len();
        (1u32..1 << m).all(|chosen| {
            let indices: Vec<usize> = (0..m).filter(|i| chosen >> i & 1 == 1).collect();
            let minor = indices.iter().map(|i| {
                indices
                    .iter()
                    .map(|j| {
                        let square = if i == j {
                            BigInt::from(units).pow(2)
                        } else {
                            BigInt::ZERO
                        };
                        square - (&gram[*i][*j] << (2 * (32 + exponent)))
                    })
                    .collect()
            });
            determinant(minor.collect()) >= BigInt::ZERO
        })
    };
    let mut rng = PublicRng::new(0x7e57_9002);
    for round in 0..300 {
        let mut rows = matrix(round, &mut rng);
        rows.truncate(4);
        let exponent = -(11 + below(&mut rng, 14) as i32);
        if let Some(units) = sensitivity(&rows, exponent) {
            assert!(semidefinite(&rows, exponent, units), "{rows:?}");
        }
    }
    // If Gershgorin's bound is attained, one unit less is too small: two equal rows of norm 5.
    let rows = [vec![3, 4], vec![3, 4]];
    let units = sensitivity(&rows, 0).expect("in range");
    assert!(semidefinite(&rows, 0, units) && !semidefinite(&rows, 0, units - 1));
}

#[test]
fn orthonormal_rows_have_a_sensitivity_of_about_one() {
    let mut rng = PublicRng::new(0x7e57_9003);
    for (m, d) in [(1, 384), (16, 384), (64, 384), (64, 768), (128, 256)] {
        for bits in [14, 15] {
            let scale = 2f64.powi(bits);
            let rows = orthonormal(m, d, scale, &mut rng);
            let units = sensitivity(&rows, -bits).expect("about one");
            let delta = units as f64 / 2f64.powi(32);
            assert!((0.999..1.03).contains(&delta), "{delta}");
        }
    }
}

#[test]
fn sensitivities_have_limits_and_are_written_rounded_up() {
    let above_one = Sensitivity::from_units((1 << 32) + 1);
    assert_eq!(above_one.expect("inside").to_string(), "1.000001");
    assert_eq!(Sensitivity::ONE.to_string(), "1.000000");
    assert_eq!(Sensitivity::MAX.to_string(), "4096.000000");
    assert_eq!(Sensitivity::MIN.to_string(), "0.000245");
    for units in [0, (1 << 20) - 1, (1 << 44) + 1, u64::MAX] {
        assert_eq!(Sensitivity::from_units(units), None, "{units}");
    }
}

/// The largest possible sums.
#[test]
fn no_sensitivity_overflows() {
    let sizes = if soak() {
        vec![(1, 1024), (1024, 1), (1024, 64), (64, 1024), (1024, 1024)]
    } else {
        vec![(1, 1024), (512, 1), (64, 128)]
    };
    for (m, d) in sizes {
        for entry in [i16::MIN, i16::MAX, -i16::MAX] {
            let rows = vec![vec![entry; d]; m];
            for exponent in [-24, -14, 0] {
                let square = BigUint::from(u32::from(entry.unsigned_abs())).pow(2) * m * d;
                let scaled: BigUint = square << (2 * (32 + exponent));
                let expected = rounded_root(&scaled);
                let allowed = expected <= BigUint::from(1u64 << 44);
                assert!(allowed || exponent > -24);
                let units = sensitivity(&rows, exponent).map(BigUint::from);
                assert_eq!(units, allowed.then_some(expected));
            }
        }
    }
}

// --- The noise of a release

/// Reads all 55 bits of the noise integer for given words: a projection (1 1) adds any integer to a
/// coordinate, and the point at which the output steps up gives the rest. The distance to the exact
/// noise is below η for words of all kinds, which is the coupling of computed and ideal noise in
/// the proof.
#[test]
fn the_computed_noise_is_within_eta_of_the_ideal_one() {
    let mut rng = PublicRng::new(0x7e57_9004);
    let ends = [
        0,
        1,
        u64::MAX,
        u64::MAX - 1,
        1 << 63,
        (1 << 63) - 1,
        1 << 61,
        (1 << 61) - 1,
        7 << 61,
    ];
    let mut largest = 0.0f64;
    for (m, micro) in [
        (1usize, 1_000_000),
        (2, 100_000),
        (3, 1_000_000_000),
        (33, 7_654_321),
        (66, 1_000_000),
    ] {
        // Rows e_j + e_(m+j): ΦΦᵀ = 2·I.
        let rows: Vec<Vec<i16>> = (0..m)
            .map(|i| (0..2 * m).map(|j| i16::from(j % m == i)).collect())
            .collect();
        let bytes = projection_pack(rows, 0);
        let projection = projection_of(&bytes);
        let delta = projection.sensitivity().expect("√2");
        let laplace = Laplace::new(m as u32, epsilon(micro), delta).expect("in range");
        let bound = laplace.grid_exponent() + 10;
        let mechanism =
            VectorMechanism::projected(projection, bound, Noise::Laplace, epsilon(micro))
                .expect("in range");
        let unit = 2f64.powi(-(laplace.fraction_bits() as i32));
        let rounds = if soak() { 300 } else { 1 + 60 / m };
        for round in 0..rounds {
            let words: Vec<u64> = (0..noise::words(m))
                .map(|_| match (round % 3, rng.next_u64()) {
                    (0, word) => word,
                    (1, word) => ends[(word % ends.len() as u64) as usize],
                    (_, word) => word >> (rng.next_u32() % 64),
                })
                .collect();
            let draw = |x: &[i64]| {
                // x = 2^20·high + low, each of at most 24 bits.
                let high = x.iter().map(|x| ((x >> 20 << 20) as f64 * unit) as f32);
                let low = x.iter().map(|x| ((x & 0xf_ffff) as f64 * unit) as f32);
                let point: Vec<f32> = high.chain(low).collect();
                let mut out = vec![0; m];
                hazmat::draw_vector(&mechanism, &point, &mut FixedWords(&words), &mut out)
                    .expect("lengths");
                out
            };
            let base = draw(&vec![0; m]);
            // The least x in 1..=2^40 that gives one step more.
            let (mut below, mut above) = (vec![0i64; m], vec![1i64 << 40; m]);
            for _ in 0..40 {
                let middle: Vec<i64> = below.iter().zip(&above).map(|(a, b)| (a + b) / 2).collect();
                for (i, y) in draw(&middle).into_iter().enumerate() {
                    if y > base[i] {
                        above[i] = middle[i]
                    } else {
                        below[i] = middle[i]
                    }
                }
            }
            let exact = noise::noise(&laplace, &words);
            let root = (m as f64 + 1.0).sqrt();
            let s = delta.units() as f64 / 2f64.powi(32) * root / f64::from(micro) * 1e6;
            let eta = 2f64.powi(-44) * (1.0 + 10.0 / root) * s / unit;
            for ((base, above), exact) in base.iter().zip(&above).zip(&exact) {
                let found = (i64::from(*base) + 1) * (1 << 40) - (1 << 39) - above;
                let error = (real(found, 0) - exact).to_f64().value().abs();
                assert!(error <= eta, "m = {m}: {found} errs by {error}, η = {eta}");
                largest = largest.max(error / eta);
            }
        }
    }
    println!("largest error of a coordinate: {largest:.3} η");
    // Rounding alone is half a unit, an eighth of η in many dimensions.
    assert!(largest > 0.01);
}

/// The engine and the release are the same draw, in the documented bytes.
#[test]
fn releases_hold_what_was_drawn() {
    use chacha20::ChaCha12Rng;
    use undertone_core::rng::rand_core::SeedableRng;
    let mut rng = PublicRng::new(0x7e57_9005);
    for noise in NOISES {
        for d in [1usize, 2, 63, 64, 65, 384, 1024] {
            let mechanism =
                VectorMechanism::new(d as u32, 2, noise, epsilon(20_000_000)).expect("in range");
            let x: Vec<f32> = (0..d).map(|_| normal(&mut rng) as f32).collect();
            let mut key = [0; 32];
            rng.fill_bytes(&mut key);
            let mut bytes = vec![0xee; mechanism.release_bytes() + 3];
            let mut source = FixedEntropy::new(&key);
            let grant = Grant::unrecorded(Unit::Vector, epsilon(20_000_000));
            let length = mechanism.release(grant, &x, &mut source, &mut bytes);
            assert_eq!(length, Ok(36 + 4 * d));
            assert_eq!(source.left(), 0);
            assert_eq!(bytes[36 + 4 * d..], [0xee; 3]);
            let mut steps = vec![0; d];
            let mut stream = ChaCha12Rng::from_seed(key);
            hazmat::draw_vector(&mechanism, &x, &mut stream, &mut steps).expect("lengths");
            let release = VectorRelease::from_bytes(&bytes[..36 + 4 * d]).expect("a release");
            assert!(release.coordinates().eq(steps.iter().copied()));
            assert_eq!(release.noise(), noise);
            assert_eq!(release.epsilon(), epsilon(20_000_000));
            assert_eq!(release.grid_exponent(), mechanism.laplace().grid_exponent());
            assert_eq!(release.sensitivity(), Sensitivity::ONE);
            assert_eq!(release.pack_id(), [0; 8]);
            let body: Vec<u8> = steps.iter().flat_map(|y| y.to_le_bytes()).collect();
            assert_eq!(bytes[36..36 + 4 * d], body);
            let step = 2f64.powi(release.grid_exponent());
            let values = steps.iter().map(|y| f64::from(*y) * step);
            assert!(release.values().eq(values));
        }
    }
}

// --- Discrete noise

/// Weights from the documentation of `core::laplace::discrete`: W₀ = 2⁵⁸,
/// W_{i+1} = max(1, ⌈W_i·C/2⁶⁴⌉) up to index 704, constant then, and a last one for the tail.
struct Discrete {
    /// a·2³² rounded down: the loss of a step is ln(1 + a) at most.
    rate: u64,
    /// Number of 128-bit draws that give each magnitude 0..=N.
    counts: Vec<BigUint>,
    /// The start of each magnitude, and the end: sums of W₀, 2W₁, 2W₂, ...
    starts: Vec<u128>,
}

/// The last weight that is computed; later ones are copies.
const LAST_STEP: usize = 704;

impl Discrete {
    fn new(laplace: &Laplace, magnitudes: usize) -> Self {
        Self::with_rate(Self::rate(laplace), magnitudes)
    }

    fn rate(laplace: &Laplace) -> u64 {
        // The largest A with A² ≤ (ε·h/(Δ√m))²·2⁶⁴, or one unit less.
        let (micro, units) = (laplace.epsilon().micro(), laplace.sensitivity().units());
        let numerator =
            BigUint::from(micro).pow(2) << (64 + 64 + 2 * (laplace.grid_exponent() + 40) as u32);
        let denominator =
            (BigUint::from(units).pow(2) * laplace.dimension() * BigUint::from(10u32).pow(12))
                << 80u32;
        let exact = (numerator / denominator).sqrt();
        let rate = exact.iter_u64_digits().next().expect("a rate");
        assert!(((1 << 28) - 1..=1 << 29).contains(&rate), "{rate}");
        rate
    }

    fn with_rate(rate: u64, magnitudes: usize) -> Self {
        let divisor = (1u128 << 32) + u128::from(rate);
        let c = (1u128 << 96).div_ceil(divisor) + 4;
        let mut weights = vec![1u128 << 58];
        for i in 0..magnitudes - 1 {
            let last = weights[i];
            weights.push(if i < LAST_STEP {
                ((last * c + u128::from(u64::MAX)) >> 64).max(1)
            } else {
                last
            });
        }
        weights.push((weights[magnitudes - 1] * c).div_ceil((1 << 64) - c));
        let mut starts = vec![0];
        for (k, weight) in weights.iter().enumerate() {
            starts.push(starts[k] + weight * if k == 0 { 1 } else { 2 });
        }
        let first = |start: &u128| first_draw(*start, starts[magnitudes + 1]);
        let firsts: Vec<BigUint> = starts.iter().map(first).collect();
        let counts = firsts.windows(2).map(|pair| &pair[1] - &pair[0]).collect();
        Self {
            rate,
            counts,
            starts,
        }
    }

    /// The first draw that gives this magnitude.
    fn first_draw(&self, magnitude: usize) -> u128 {
        let first = first_draw(self.starts[magnitude], self.starts[self.counts.len()]);
        u128::try_from(first).expect("below 2^128")
    }
}

/// ⌈start·2¹²⁸/total⌉
fn first_draw(start: u128, total: u128) -> BigUint {
    ((BigUint::from(start) << 128u32) + (total - 1)) / total
}

/// The parameters of the exact tests, with rates near both ends.
fn discrete() -> Vec<Laplace> {
    [
        (1u32, 1_000_000, 1u64 << 32),
        (1, 100_000, 1 << 44),
        (2, 999_999, (1 << 32) + 1),
        (3, 7_000_000, 3 << 31),
        (384, 10_000_000, 1 << 32),
        (768, 1_000_000_000, 1 << 20),
        (1024, 12_345_678, 5 << 30),
        (7, 123_457, 5 << 33),
        (16, 999_999_999, (1 << 32) - 1),
        (300, 100_000, 1 << 20),
    ]
    .map(|(m, micro, units)| {
        let sensitivity = Sensitivity::from_units(units).expect("a sensitivity");
        Laplace::with_noise(Noise::DiscreteLaplace, m, epsilon(micro), sensitivity)
            .expect("in range")
    })
    .to_vec()
}

/// The code has exactly this law: every magnitude starts at the expected draw, to the last of 128
/// bits.
#[test]
fn discrete_noise_changes_at_the_exact_draw() {
    // The smallest box, 2^12 steps to either side.
    const R: usize = 1 << 12;
    for laplace in discrete() {
        let law = Discrete::new(&laplace, 2 * R);
        let m = laplace.dimension() as usize;
        let bound = laplace.grid_exponent() + 12;
        // From the far side of the box, so that no output is cut off.
        let edge = 2f32.powi(bound);
        let all = soak() || m > 100;
        let sampled = |magnitude: &usize| match *magnitude {
            0..40 | 697..712 => true,
            it => all || it.is_multiple_of(97) || it > 2 * R - 8,
        };
        let steps = (1..=2 * R).filter(sampled).flat_map(|magnitude| {
            let first = law.first_draw(magnitude);
            [(first, magnitude), (first - 1, magnitude - 1)]
        });
        let cases: Vec<_> = steps.chain([(0, 0), (u128::MAX, 2 * R)]).collect();
        for chunk in cases.chunks(m) {
            for (side, sign) in [(-1i32, 0), (1, 1)] {
                let mut words = Vec::new();
                for i in 0..m {
                    let (draw, _) = chunk.get(i).copied().unwrap_or((0, 0));
                    words.extend([u64::MAX << 1 | sign, (draw >> 64) as u64, draw as u64]);
                }
                let point = vec![edge * side as f32; m];
                let mut out = vec![0; m];
                hazmat::perturb(&laplace, &point, bound, &mut FixedWords(&words), &mut out)
                    .expect("lengths");
                for (y, (draw, magnitude)) in out.iter().zip(chunk) {
                    let expected = side * (R as i32 - *magnitude as i32);
                    assert_eq!(*y, expected, "{laplace:?} {draw:x}");
                }
            }
        }
    }
}

/// The same at a few magnitudes for many parameters: the rate, which determines all weights, is the
/// largest allowed or one unit less, never more.
#[test]
fn discrete_noise_has_the_rate_of_its_parameters() {
    const R: usize = 1 << 12;
    let mut rng = PublicRng::new(0x7e57_9007);
    let (mut exact, mut less) = (0, 0);
    for round in 0..if soak() { 500 } else { 12 } {
        let m = 1 + below(&mut rng, 1024) as u32;
        let shifts = [below(&mut rng, 13), below(&mut rng, 24)];
        let micro = 100_000 + below(&mut rng, 999_900_001 >> shifts[0]) as u32;
        let units = (1 << 20) + below(&mut rng, ((1 << 44) - (1 << 20)) >> shifts[1]);
        let sensitivity = Sensitivity::from_units(units).expect("a sensitivity");
        let laplace = Laplace::with_noise(Noise::DiscreteLaplace, m, epsilon(micro), sensitivity)
            .expect("in range");
        let largest = Discrete::rate(&laplace);
        let fits = |rate| {
            let law = Discrete::with_rate(rate, 2 * R);
            let magnitudes = [1, 2 + round % 500, 704, 2 * R];
            magnitudes.into_iter().all(|magnitude| {
                let first = law.first_draw(magnitude);
                let drawn = |draw: u128| {
                    let one = [0, (draw >> 64) as u64, draw as u64];
                    let words = one.repeat(m as usize);
                    let mut out = vec![0; m as usize];
                    let low = vec![-f32::MAX; m as usize];
                    let bound = laplace.grid_exponent() + 12;
                    hazmat::perturb(&laplace, &low, bound, &mut FixedWords(&words), &mut out)
                        .expect("lengths");
                    out[0] + R as i32
                };
                drawn(first) == magnitude as i32 && drawn(first - 1) == magnitude as i32 - 1
            })
        };
        if fits(largest) {
            exact += 1
        } else {
            assert!(fits(largest - 1), "{laplace:?}");
            less += 1;
        }
        // The check distinguishes rates, above all a larger one.
        assert!(!fits(largest + 1), "{laplace:?}");
    }
    println!("{exact} rates as large as allowed, {less} one unit less");
}

/// Random rounding goes up for exactly the fraction's share of the 2⁴⁰ draws, whatever the noise.
#[test]
fn fractions_round_up_as_often_as_they_say() {
    let laplace = discrete()[0];
    let bound = laplace.grid_exponent() + 12;
    let h = 2f64.powi(laplace.grid_exponent());
    for (whole, fraction) in [
        (0i32, 1u64 << 39),
        (3, 1 << 20),
        (-1, (1 << 40) - (1 << 20)),
        (-7, 1 << 39),
        (5, 0),
    ] {
        let x = (f64::from(whole) + fraction as f64 / 2f64.powi(40)) * h;
        assert_eq!(f64::from(x as f32), x);
        for (bits, up) in [
            (0, fraction > 0),
            (fraction.wrapping_sub(1) & ((1 << 40) - 1), fraction > 0),
            (fraction, false),
            ((1 << 40) - 1, false),
        ] {
            let mut out = [0];
            let words = &mut FixedWords(&[bits << 24, 0, 0]);
            hazmat::perturb(&laplace, &[x as f32], bound, words, &mut out).expect("lengths");
            let expected = whole + i32::from(up);
            assert_eq!(out, [expected], "{whole} {fraction:x} {bits:x}");
        }
    }
}

/// The exact law of an output in the box: probabilities times 2^169, for the grid point `x` and a
/// fraction of 40 bits.
fn law_of_output(law: &Discrete, r: i64, x: i64, fraction: u64, y: i64) -> BigUint {
    let n = law.counts.len() as i64 - 1;
    // Twice a magnitude's share on either side, and four times that of 0, over both.
    let at = |k: i64| -> BigUint {
        match k.abs() {
            0 => &law.counts[0] * 2u32,
            k if k <= n => law.counts[k as usize].clone(),
            _ => BigUint::ZERO,
        }
    };
    let from = |x: i64| -> BigUint {
        if y == r {
            (r - x..=n).map(at).sum()
        } else if y == -r {
            (-n..=-r - x).map(at).sum()
        } else {
            at(y - x)
        }
    };
    from(x) * ((1 << 40) - fraction) + from(x + 1) * fraction
}

/// One step of the grid changes no probability by more than a factor of 1 + a, edges of the box
/// included, and a·√m/h ≤ ε/Δ: pure metric differential privacy, exactly, between any two grid
/// points of the box.
#[test]
fn discrete_noise_is_private_step_by_step() {
    const R: usize = 1 << 12;
    for laplace in discrete() {
        let law = Discrete::new(&laplace, 2 * R);
        let one_plus = BigUint::from((1u64 << 32) + law.rate);
        // a²·m·Δ² ≤ (ε·h)², multiplied out: with a = A·2⁻³², Δ = D·2⁻³², ε = E·10⁻⁶.
        let left = BigUint::from(law.rate).pow(2)
            * laplace.dimension()
            * BigUint::from(laplace.sensitivity().units()).pow(2)
            * BigUint::from(10u32).pow(12);
        let right = BigUint::from(laplace.epsilon().micro()).pow(2)
            << (128 + 2 * laplace.grid_exponent()) as u32;
        assert!(left <= right, "{laplace:?}");
        let within = |p: &BigUint, q: &BigUint, one_plus: &BigUint| {
            p << 32 <= q * one_plus && q << 32 <= p * one_plus
        };
        let twice_first = &law.counts[0] * 2u32;
        let at = |k: usize| if k == 0 { &twice_first } else { &law.counts[k] };
        // Inside: y − x and y − x − 1 are neighbouring magnitudes, below N.
        let mut tightest = true;
        let less = BigUint::from((1u64 << 32) + law.rate - law.rate / 1000);
        for k in 0..2 * R - 1 {
            assert!(within(at(k), at(k + 1), &one_plus), "{laplace:?} {k}");
            tightest &= within(at(k), at(k + 1), &less);
        }
        assert!(!tightest, "a thousandth less is too little");
        // At an edge: tails from j and from j − 1 on, j = 1..=N.
        let mut tail = BigUint::ZERO;
        for j in (0..=2 * R).rev() {
            let longer = &tail + at(j);
            if j < 2 * R {
                assert!(within(&tail, &longer, &one_plus), "{laplace:?} tail {j}");
            }
            tail = longer;
        }
        // One weight less at the end, and the edge reveals it.
        let last = &law.counts[2 * R] / 2u32;
        assert!(!within(&(last.clone() + at(2 * R - 1)), &last, &one_plus));
    }
}

/// All inputs and outputs of a row of points through the edge and the middle, between grid points
/// as well: no ratio exceeds e^(ε_h·|x − x'|), ε_h = a in steps. The comparison uses a lower bound
/// on the exponential, so there is no tolerance.
#[test]
fn discrete_noise_is_private_between_grid_points() {
    const R: i64 = 1 << 12;
    let half = 1u64 << 39;
    for laplace in [discrete()[0], discrete()[3]] {
        let law = Discrete::new(&laplace, 2 * R as usize);
        let mut points: Vec<(i64, u64)> = Vec::new();
        for whole in [-R, -R + 1, -1, 0, 1, 703, R - 2, R - 1] {
            points.extend([0, 1, half, (1 << 40) - 1].map(|fraction| (whole, fraction)));
        }
        points.push((R, 0));
        let outputs = [-R, -R + 1, -800, -1, 0, 1, 2, 705, R - 1, R];
        let laws: Vec<[BigUint; 10]> = points
            .iter()
            .map(|(x, f)| outputs.map(|y| law_of_output(&law, R, *x, *f, y)))
            .collect();
        for (i, (x, f)) in points.iter().enumerate() {
            for (j, (x2, f2)) in points.iter().enumerate().skip(i + 1) {
                let distance = ((x2 - x) << 40) + *f2 as i64 - *f as i64;
                // a·distance = A·distance/2^72: at most 700 here.
                let exponent = u128::from(law.rate) * distance as u128;
                if exponent >> 72 >= 700 {
                    continue;
                }
                let bounds = exp_of(exponent.into(), BigUint::from(1u128 << 72));
                for (p, q) in laws[i].iter().zip(&laws[j]) {
                    let within =
                        p << PRECISION <= q * &bounds.lower && q << PRECISION <= p * &bounds.lower;
                    assert!(within, "{laplace:?} {x} {f} {x2} {f2}");
                }
            }
        }
    }
}

// --- Inputs

#[test]
fn any_bits_are_a_vector() {
    let mut rng = PublicRng::new(0x7e57_9006);
    let row = |_| (0..7).map(|_| rng.next_u32() as i16).collect();
    let bytes = projection_pack((0..5).map(row).collect(), -12);
    let projection = projection_of(&bytes);
    for noise in NOISES {
        let plain = VectorMechanism::new(7, 0, noise, epsilon(1_000_000)).expect("in range");
        let projected =
            VectorMechanism::projected(projection, 0, noise, epsilon(1_000_000)).expect("in range");
        for (mechanism, m) in [(plain, 7), (projected, 5)] {
            let mut counted = CountingRng::new(PublicRng::new(3));
            let mut out = vec![0; m];
            hazmat::draw_vector(&mechanism, &[0.0; 7], &mut counted, &mut out).expect("lengths");
            let words = counted.take_count();
            for round in 0..if soak() { 200_000 } else { 3_000 } {
                let x: Vec<f32> = (0..7)
                    .map(|_| match (round % 4, rng.next_u32()) {
                        (0, bits) => f32::from_bits(bits),
                        (1, bits) => f32::from_bits(0x7f80_0000 | bits << 31 | (bits & 3)),
                        (2, bits) => f32::from_bits(bits & 0x807f_ffff),
                        (_, bits) => f32::MAX * (bits as i32 as f32).signum(),
                    })
                    .collect();
                hazmat::draw_vector(&mechanism, &x, &mut counted, &mut out).expect("lengths");
                assert_eq!(
                    counted.take_count(),
                    words,
                    "they do not depend on the vector"
                );
            }
            // NaN and infinities count as 0.
            let same = |x: &[f32; 7]| {
                let mut out = vec![0; m];
                hazmat::draw_vector(&mechanism, x, &mut PublicRng::new(4), &mut out)
                    .expect("lengths");
                out
            };
            let infinite = [f32::INFINITY, f32::NEG_INFINITY];
            let odd = [
                f32::NAN,
                infinite[0],
                infinite[1],
                -0.0,
                -f32::NAN,
                0.0,
                1e-45,
            ];
            assert_eq!(same(&odd), same(&[0.0; 7]));
            // Clamped to the box.
            assert_eq!(same(&[f32::MAX; 7]), same(&[1.0; 7]));
            assert_eq!(same(&[-1e30; 7]), same(&[-1.0; 7]));
        }
    }
}

#[test]
fn wrong_lengths_are_refused_and_nothing_is_written() {
    let bytes = projection_pack(vec![vec![1, 2, 3], vec![-4, 5, 6]], -3);
    let projection = projection_of(&bytes);
    for noise in NOISES {
        let plain = VectorMechanism::new(3, 0, noise, epsilon(1_000_000)).expect("in range");
        let projected =
            VectorMechanism::projected(projection, 0, noise, epsilon(1_000_000)).expect("in range");
        for (mechanism, m) in [(plain, 3usize), (projected, 2)] {
            let mut rng = CountingRng::new(PublicRng::new(5));
            // A release into a buffer of this length. A refusal writes nothing and draws nothing.
            let refused = |x: &[f32], length: usize, key: &[u8]| {
                let mut bytes = vec![9; length];
                let mut source = FixedEntropy::new(key);
                let grant = Grant::unrecorded(Unit::Vector, epsilon(1_000_000));
                let result = mechanism.release(grant, x, &mut source, &mut bytes);
                assert!(bytes.iter().all(|byte| *byte == 9));
                (result, source.left())
            };
            let key = [1; 32];
            let needed = mechanism.release_bytes();
            assert_eq!(needed, 36 + 4 * m);
            for found in (0..20).filter(|length| *length != 3) {
                let x = vec![f32::NAN; found];
                let error = Err(VectorError::Length { expected: 3, found });
                let mut out = vec![9; m];
                let drawn = hazmat::draw_vector(&mechanism, &x, &mut rng, &mut out);
                assert_eq!(drawn.map(|()| 0), error);
                assert!(out.iter().all(|y| *y == 9));
                assert_eq!(refused(&x, needed, &key), (error, 32));
            }
            for wrong in (0..10).filter(|length| *length != m) {
                let mut out = vec![9; wrong];
                assert!(hazmat::draw_vector(&mechanism, &[0.5; 3], &mut rng, &mut out).is_err());
                assert!(out.iter().all(|y| *y == 9));
            }
            assert_eq!(rng.take_count(), 0);
            for found in 0..needed {
                let error = Err(VectorError::Buffer { needed, found });
                assert_eq!(refused(&[0.5; 3], found, &key), (error, 32));
            }
            // A source that fails, or that returns only zeroes.
            for key in [&[][..], &[1; 31], &[0; 32]] {
                let (result, _) = refused(&[0.5; 3], needed, key);
                assert_eq!(result, Err(VectorError::Entropy));
            }
        }
    }
}

#[test]
fn parameters_are_refused() {
    let new = |m, bound, micro| {
        VectorMechanism::new(m, bound, Noise::Laplace, epsilon(micro)).map(|_| ())
    };
    assert_eq!(new(1024, 0, 100_000), Ok(()));
    for (m, bound, micro) in [
        (0, 0, 1_000_000),
        (1025, 0, 1_000_000),
        (3, 0, 90_000),
        (3, 40, 1_000_000),
        (3, -90, 1_000_000),
    ] {
        let refused = matches!(new(m, bound, micro), Err(VectorError::Laplace(_)));
        assert!(refused, "{m} {bound} {micro}");
    }
    let large = projection_pack(vec![vec![i16::MAX]], 0);
    let one = epsilon(1_000_000);
    let refused = VectorMechanism::projected(projection_of(&large), 0, Noise::Laplace, one);
    assert_eq!(refused.map(|_| ()), Err(VectorError::Sensitivity));

    let mechanism = VectorMechanism::new(3, 0, Noise::Laplace, one).expect("in range");
    for found in [epsilon(999_999), epsilon(1_000_001)] {
        let grant = Grant::unrecorded(Unit::Vector, found);
        let mut bytes = [7; 48];
        let key = [1; 32];
        let refused = mechanism.release(grant, &[0.0; 3], &mut FixedEntropy::new(&key), &mut bytes);
        let expected = one;
        assert_eq!(refused, Err(VectorError::Grant { expected, found }));
        assert_eq!(bytes, [7; 48]);
    }
}
