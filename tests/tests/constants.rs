//! ε and the constants of `select` against independent arithmetic and published numbers.

use num_bigint::BigUint;
use undertone_core::epsilon::{Epsilon, EpsilonError};
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::{MAX_LEVELS, Ratio};
use undertone_tests::exponential::{PRECISION, exp};
use undertone_tests::{RULES, epsilon};

const MICRO: u64 = 1_000_000;

fn ratio(micro: u32) -> Ratio {
    Ratio::new(epsilon(micro))
}

/// C ≥ 2⁶⁴·e^(−ε/2) + 4, and C is the least such integer or close to it.
fn check(micro: u32) {
    let constant = ratio(micro).constant();
    let bounds = exp(micro.into(), 2 * MICRO);
    let whole = BigUint::from(1u32) << (64 + PRECISION);
    // C − 4 ≥ 2⁶⁴ / e^(ε/2) holds if it holds for the lower bound on the exponential.
    assert!(
        (constant - 4) * &bounds.lower >= whole,
        "C is too small for {micro}: {constant:#x}"
    );
    // C − 5 < 2⁶⁴ / e^(ε/2)·(1 + 2⁻⁴⁰), so C is the least integer allowed, or not far above.
    let excess = (constant - 5) * &bounds.upper;
    assert!(
        excess <= &whole + (&whole >> 40),
        "C is too large for {micro}: {constant:#x}"
    );
}

#[test]
fn constants_are_upper_bounds() {
    for bit in 0..30 {
        check((1 << bit) - u32::from(bit > 0));
        check((1 << bit) | 1);
    }
    grid().into_iter().for_each(check);
}

#[test]
fn the_checker_rejects_a_constant_without_its_four() {
    let bounds = exp(1, 2);
    let whole = BigUint::from(1u32) << (64 + PRECISION);
    let constant = ratio(1_000_000).constant();
    assert!((constant - 8) * &bounds.lower < whole);
}

/// The table itself, of which C uses the upper half only: each entry is ⌈2¹²⁷·exp(−2^b/2 000 000)⌉.
#[test]
fn table_entries_are_exact() {
    const SOURCE: &str = include_str!("../../core/src/select.rs");
    let (_, table) = SOURCE
        .split_once("EXP_OF_BIT: [u128; 30] = [")
        .expect("the table");
    let (table, _) = table.split_once(']').expect("its end");
    let entries = table.split(',').map(str::trim).filter(|e| !e.is_empty());
    let entries: Vec<u128> = entries
        .map(|entry| {
            let digits = entry.strip_prefix("0x").expect("a hexadecimal literal");
            u128::from_str_radix(&digits.replace('_', ""), 16).expect("a literal")
        })
        .collect();
    assert_eq!(entries.len(), 30);
    let whole = BigUint::from(1u32) << (127 + PRECISION);
    for (bit, entry) in entries.into_iter().enumerate() {
        let bounds = exp(1 << bit, 2 * MICRO);
        assert!(entry * &bounds.lower >= whole, "bit {bit} is too small");
        assert!(
            (entry - 1) * &bounds.upper < whole,
            "bit {bit} is too large"
        );
    }
}

#[test]
fn known_answers() {
    for (micro, constant) in [
        (100_000, 0xf383_c585_3935_2f87),
        (1_000_000, 0x9b45_97e3_7cb0_4ff8),
        (3_000_000, 0x391f_0ee4_96b8_3acd),
        (6_000_000, 0x0cbe_d866_6758_5769),
        (10_000_000, 0x01b9_93fe_00d5_3766),
        (23_000_000, 0x0000_a9f4_6bb3_c05d),
        // 2^64·e^(-42.5) is 6.4 and 2^64·e^(-500) next to nothing.
        (85_000_000, 11),
        (1_000_000_000, 5),
    ] {
        assert_eq!(ratio(micro).constant(), constant, "{micro}");
    }
}

/// Every bit, decimal values of one and two digits, the limits, and ten thousand others: where C
/// exceeds its least value 5, anywhere, and small ones.
fn grid() -> Vec<u32> {
    let mut rng = PublicRng::new(0x7e57_0009);
    let bits = (0..30).map(|bit| 1 << bit);
    let decimals = (0..8).flat_map(|power| (1..100).map(move |digits| digits * 10u32.pow(power)));
    let random = (0..10_000).map(|i| {
        let most = match i % 4 {
            0 | 1 => 180 * u128::from(MICRO),
            2 => 1000 * u128::from(MICRO),
            _ => 1 << (1 + below(&mut rng, 29)),
        };
        1 + below(&mut rng, most) as u32
    });
    bits.chain(decimals)
        .chain([999_999_999, 1_000_000_000])
        .chain(random)
        .collect()
}

/// The properties of the table that the proof of privacy uses: 1 ≤ W_{i+1} ≤ W_i ≤ ρ·W_{i+1} with ρ
/// = 2⁶⁴/C, for all possible levels, for both first weights, and for the ratio of an ε that is
/// rounded down to 0.
#[test]
fn weights_fall_by_no_more_than_the_ratio() {
    let nothing = Ratio::per_step(epsilon(1), 2.try_into().expect("not 0"));
    assert_eq!(nothing.constant(), u64::MAX);
    for ratio in grid().into_iter().map(ratio).chain([nothing]) {
        let c = u128::from(ratio.constant());
        for rule in RULES {
            let mut before = rule.first_weight();
            for (level, weight) in ratio.weights(rule).take(MAX_LEVELS).enumerate() {
                assert!(1 <= weight && weight <= before, "{c} {level}");
                // W_i·C ≤ 2⁶⁴·W_{i+1}: both sides are below 2¹²⁸, except the right one for W = 2⁶⁴.
                assert!(
                    weight == 1 << 64 || before * c <= weight << 64 || level == 0,
                    "{c} {level}"
                );
                before = weight;
            }
        }
    }
}

/// ε·2^k is rounded down to micro-units and capped at the largest; zero gives C = 2⁶⁴ − 1.
#[test]
fn a_unit_gets_its_share_rounded_down() {
    for micro in [1, 3, 999_999, 2_500_000, 999_999_999, 1_000_000_000] {
        for exponent in (-40..=40).chain([i32::MIN, i32::MAX]) {
            let bits = exponent.unsigned_abs().min(100);
            let exact = BigUint::from(micro);
            let units = if exponent < 0 {
                exact >> bits
            } else {
                exact << bits
            };
            let units = units.min(Epsilon::MAX.micro().into());
            let found = Ratio::per_unit(epsilon(micro), exponent);
            match u32::try_from(units).expect("32 bits") {
                0 => assert_eq!(found.constant(), u64::MAX),
                units => assert_eq!(found, ratio(units), "{micro} {exponent}"),
            }
        }
    }
}

/// Decimal text is ε rounded down to millionths, computed here with integers of any size.
#[test]
fn parsing_is_exact() {
    let mut rng = PublicRng::new(0x7e57_0007);
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut digits = |most: u128| -> String {
            let n = below(&mut rng, most + 1);
            (0..n)
                .map(|_| b"0001234567899"[below(&mut rng, 13) as usize] as char)
                .collect()
        };
        let (whole, fraction) = (digits(6), digits(9));
        if whole.is_empty() && fraction.is_empty() {
            continue;
        }
        let exponent = rng.next_u32() as i32 % 14;
        let text = format!("{whole}.{fraction}e{exponent}");

        let digits: BigUint = format!("{whole}{fraction}").parse().expect("digits");
        let power = exponent - fraction.len() as i32 + 6;
        let ten = BigUint::from(10u32).pow(power.unsigned_abs());
        let micro = if power >= 0 {
            digits * ten
        } else {
            digits / ten
        };
        let expected = if micro == BigUint::ZERO {
            Err(EpsilonError::TooSmall)
        } else if micro > BigUint::from(1_000_000_000u32) {
            Err(EpsilonError::TooLarge)
        } else {
            Ok(micro)
        };
        let parsed = text.parse::<Epsilon>();
        assert_eq!(parsed.map(|e| e.micro().into()), expected, "{text}");
        if let Ok(epsilon) = parsed {
            accepted += 1;
            assert_eq!(epsilon.to_string().parse(), Ok(epsilon), "{epsilon}");
        }
    }
    assert!(accepted > 5_000, "{accepted}");
}
