//! Goodness of fit: does a sample come from this law?

use statrs::function::beta::inv_beta_reg;

/// The p-value of the G-test of `observed` counts against `expected` probabilities.
///
/// Cells with fewer than 10 expected observations are pooled, so that the chi-square tail is
/// accurate; an observation in a cell of probability 0 gives p = 0. Empty cells count.
pub fn g_test(observed: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(observed.len(), expected.len());
    let total = observed.iter().sum::<u64>() as f64;
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut pool = (0.0, 0.0);
    for (count, probability) in observed.iter().zip(expected) {
        if *probability <= 0.0 {
            if *count > 0 {
                return 0.0;
            }
            continue;
        }
        let cell = (*count as f64, probability * total);
        if cell.1 >= 10.0 {
            cells.push(cell);
        } else {
            pool = (pool.0 + cell.0, pool.1 + cell.1);
        }
    }
    if pool.1 >= 10.0 {
        cells.push(pool);
    } else if pool.1 > 0.0 {
        // Too small to stand alone: join the smallest of the others.
        let smallest = cells.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1));
        let smallest = smallest.expect("a cell with 10 expected observations");
        *smallest = (smallest.0 + pool.0, smallest.1 + pool.1);
    }
    let g: f64 = cells
        .iter()
        .filter(|(count, _)| *count > 0.0)
        .map(|(count, expectation)| 2.0 * count * (count / expectation).ln())
        .sum();
    match cells.len() {
        0 | 1 => 1.0,
        n => chi_square_tail(g.max(0.0), n - 1),
    }
}

/// The probability that a chi-square variable with `freedom` degrees exceeds `x`.
///
/// Q(a, y) with a = freedom/2 and y = x/2 by Q(a + 1, y) = Q(a, y) + y^a·e^(−y)/Γ(a + 1), from
/// Q(1, y) = e^(−y) or Q(1/2, y) = erfc(√y).
pub fn chi_square_tail(x: f64, freedom: usize) -> f64 {
    let y = x / 2.0;
    let (mut a, mut tail) = if freedom.is_multiple_of(2) {
        (1.0, (-y).exp())
    } else {
        (0.5, libm::erfc(y.sqrt()))
    };
    while a < freedom as f64 / 2.0 {
        if y > 0.0 {
            tail += (a * y.ln() - y - libm::lgamma(a + 1.0)).exp();
        }
        a += 1.0;
    }
    tail
}

/// The p-value of the test of Kolmogorov and Smirnov that `sample` is uniform on 0..=1: a sample of any
/// continuous law after its distribution function. Sorts the sample.
pub fn uniform_test(sample: &mut [f64]) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let ranks = (0u32..).map(f64::from);
    let distance = sample
        .iter()
        .zip(ranks)
        .map(|(u, rank)| (u - rank / n).max((rank + 1.0) / n - u))
        .fold(0.0, f64::max);
    // Stephens 1970: the asymptotic law at this argument is good from a handful of observations on.
    let x = distance * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    let terms = (1..=100).map(|k| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * (f64::from(k) * x).powi(2)).exp()
    });
    if x < 0.2 {
        1.0
    } else {
        terms.sum::<f64>().clamp(0.0, 1.0)
    }
}

/// Clopper and Pearson's bound: the probability of which `hits` or more in `trials` are no likelier than
/// `alpha`. The true one is smaller with probability at most `alpha`.
pub fn lower_bound(hits: u64, trials: u64, alpha: f64) -> f64 {
    assert!(hits <= trials && trials > 0);
    if hits == 0 {
        return 0.0;
    }
    inv_beta_reg(hits as f64, (trials - hits) as f64 + 1.0, alpha)
}

/// The same on the other side.
pub fn upper_bound(hits: u64, trials: u64, alpha: f64) -> f64 {
    1.0 - lower_bound(trials - hits, trials, alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_match_tables() {
        for (x, freedom, p) in [
            (3.841, 1, 0.05),
            (5.991, 2, 0.05),
            (16.266, 3, 0.001),
            (18.307, 10, 0.05),
            (23.928, 1, 1e-6),
            (124.342, 100, 0.05),
            (0.0, 5, 1.0),
        ] {
            let tail = chi_square_tail(x, freedom);
            assert!((tail / p - 1.0).abs() < 2e-3, "{x}, {freedom}: {tail}");
        }
    }

    #[test]
    fn a_wrong_law_is_noticed() {
        assert!(g_test(&[5_000, 5_000], &[0.5, 0.5]) > 0.9);
        assert!(g_test(&[5_300, 4_700], &[0.5, 0.5]) < 1e-6);
        assert_eq!(g_test(&[9_999, 1], &[1.0, 0.0]), 0.0);
        // An empty cell is evidence too.
        assert!(g_test(&[10_000, 0], &[0.99, 0.01]) < 1e-6);
    }

    #[test]
    fn uniform_samples_are_told_from_others() {
        let mut even: Vec<f64> = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0).collect();
        assert!(uniform_test(&mut even) > 0.999);
        // D = 0.05 + 0.0005 of 1000: x = 1.6, p = 0.012.
        let mut shifted: Vec<f64> = even.iter().map(|u| u * 0.95 + 0.05).collect();
        let p = uniform_test(&mut shifted);
        assert!((0.01..0.014).contains(&p), "{p}");
        let mut squares: Vec<f64> = even.iter().map(|u| u * u).collect();
        assert!(uniform_test(&mut squares) < 1e-40);
    }

    #[test]
    fn confidence_bounds_match_closed_forms() {
        // All of n: alpha^(1/n). One of n: 1 - (1 - alpha)^(1/n).
        for n in [1u64, 10, 1000] {
            let root = 1.0 / n as f64;
            assert!((lower_bound(n, n, 0.001) - 0.001f64.powf(root)).abs() < 1e-9);
            assert!((lower_bound(1, n, 0.001) - (1.0 - 0.999f64.powf(root))).abs() < 1e-9);
            assert!((upper_bound(0, n, 0.001) - (1.0 - 0.001f64.powf(root))).abs() < 1e-9);
            assert_eq!(
                (lower_bound(0, n, 0.001), upper_bound(n, n, 0.001)),
                (0.0, 1.0)
            );
        }
    }
}
