//! Shares: numbers that are not negative and have sum one.

use nalgebra::{DMatrix, DVector};

/// The shares closest to `values`: all values are lowered by the same number, and negative results
/// become 0 (Wang et al. 2020, "Locally differentially private frequency estimation with
/// consistency", Norm-Sub).
pub(crate) fn nearest(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut lowered = 0.0;
    for (count, value) in (1..).zip(&sorted) {
        sum += value;
        let by = (sum - 1.0) / f64::from(count);
        if *value <= by {
            break;
        }
        lowered = by;
    }
    values
        .iter()
        .map(|value| (value - lowered).max(0.0))
        .collect()
}

/// Estimates more precise than the largest divided by this are kept.
const RESOLVED: f64 = 2000.0;

/// More shares than this are kept, because the work grows with them.
const MOST_SHARES: usize = 1 << 16;

/// Weight of the uniform prior, in estimates, so that the distribution of few estimates is not just
/// themselves. Chosen on made-up shares, 1/k and Dirichlet(1), of 11 to 5,001 answers: without it
/// few answers err by up to 15 % more; the same weight for many answers would take the largest
/// errors for shares.
fn prior(answers: usize) -> f64 {
    1000.0 / answers as f64
}

/// Most rounds of expectation and maximisation.
const ROUNDS: usize = 500;

/// The expected shares, given unbiased estimates with normal errors of these standard deviations:
/// empirical Bayes.
///
/// The distribution of shares comes from the estimates themselves: the one under which they are
/// most likely (Kiefer and Wolfowitz 1956), found by expectation and maximisation on a grid, with a
/// [`prior`]. Each share is its mean given the estimate, then all are adjusted to sum one.
/// Imprecise estimates shrink together and precise ones do not change (Jiang and Zhang 2009,
/// "General maximum likelihood empirical Bayes estimation of normal means").
pub(crate) fn expected(guesses: &[f64], deviations: &[f64]) -> Vec<f64> {
    let least = deviations.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = guesses.iter().copied().fold(0.0, f64::max).min(1.0);
    if least <= highest / RESOLVED || guesses.len() > MOST_SHARES {
        return nearest(guesses);
    }
    let grid = grid(least, (highest + 2.0 * least).min(1.0));
    // For each estimate, the first nearby share of the grid and the likelihoods from there on.
    let likelihoods: Vec<(usize, Vec<f64>)> = guesses
        .iter()
        .zip(deviations)
        .map(|(guess, deviation)| {
            let off = |share: &f64| (guess - share) / deviation;
            let closest = grid
                .iter()
                .map(|share| off(share).abs())
                .fold(f64::INFINITY, f64::min);
            let near = |share: &f64| off(share).abs() < closest + 6.0;
            let start = grid.partition_point(|share| !near(share) && *share < *guess);
            let likelihood = |share: &f64| ((closest.powi(2) - off(share).powi(2)) / 2.0).exp();
            let near = grid[start..].iter().take_while(|share| near(share));
            (start, near.map(likelihood).collect())
        })
        .collect();
    let flat = widths(&grid);
    let prior = prior(guesses.len());
    let mut weights = flat.clone();
    let mut before = f64::NEG_INFINITY;
    for _ in 0..ROUNDS {
        let mut sums = vec![0.0; grid.len()];
        let mut logarithm = 0.0;
        for (start, likelihoods) in &likelihoods {
            let own = || {
                likelihoods
                    .iter()
                    .zip(&weights[*start..])
                    .map(|(l, w)| l * w)
            };
            let total: f64 = own().sum();
            logarithm += total.ln();
            for (sum, part) in sums[*start..].iter_mut().zip(own()) {
                *sum += part / total;
            }
        }
        for ((weight, sum), flat) in weights.iter_mut().zip(&sums).zip(&flat) {
            *weight = (sum + prior * flat) / (guesses.len() as f64 + prior);
        }
        if logarithm - before < 1e-6 {
            break;
        }
        before = logarithm;
    }
    let mean = |(start, likelihoods): &(usize, Vec<f64>)| {
        let (mut total, mut sum) = (0.0, 0.0);
        for ((l, w), share) in likelihoods
            .iter()
            .zip(&weights[*start..])
            .zip(&grid[*start..])
        {
            total += l * w;
            sum += l * w * share;
        }
        sum / total
    };
    nearest(&likelihoods.iter().map(mean).collect::<Vec<_>>())
}

/// The part of a grid's range that each of its shares represents.
fn widths(grid: &[f64]) -> Vec<f64> {
    let ends = |i: usize| (grid[i.saturating_sub(1)], grid[(i + 1).min(grid.len() - 1)]);
    let widths = (0..grid.len()).map(|i| ends(i).1 - ends(i).0);
    let total = 2.0 * grid[grid.len() - 1];
    widths.map(|width| width / total).collect()
}

/// 0, then shares that grow geometrically to the least deviation, then by a third of it, up to
/// `highest`.
fn grid(deviation: f64, highest: f64) -> Vec<f64> {
    let first = (1..40)
        .map(|i| deviation / 50.0 * 1.1f64.powi(i))
        .take_while(|share| *share < deviation);
    let steps = (highest / deviation * 3.0) as usize + 1;
    let second = (3..=steps).map(|i| i as f64 * deviation / 3.0);
    let all = std::iter::once(0.0).chain(first).chain(second);
    all.take_while(|share| *share < highest)
        .chain([highest])
        .collect()
}

/// Most changes of the set of positive shares, for each share.
const CHANGES: usize = 8;

/// The shares x that minimise xᵀ·`m`·x / 2 − `b`ᵀ·x, starting from `start`.
///
/// `m` is symmetric and positive definite. `None` if it is not.
pub(crate) fn least(m: &DMatrix<f64>, b: &DVector<f64>, start: &[f64]) -> Option<Vec<f64>> {
    let n = b.len();
    let mut x = nearest(start);
    let mut free: Vec<bool> = x.iter().map(|x| *x > 0.0).collect();
    for _ in 0..CHANGES * n + 20 {
        let chosen: Vec<usize> = (0..n).filter(|i| free[*i]).collect();
        let (wanted, multiplier) = with_sum_one(
            &m.select_rows(&chosen).select_columns(&chosen),
            &b.select_rows(&chosen),
        )?;
        // Step as far as all stay shares.
        let mut step = 1.0;
        let mut blocking = None;
        for (place, i) in chosen.iter().enumerate() {
            let fall = x[*i] - wanted[place];
            if wanted[place] < 0.0 && x[*i] < step * fall {
                step = x[*i] / fall;
                blocking = Some(*i);
            }
        }
        for (place, i) in chosen.iter().enumerate() {
            x[*i] += step * (wanted[place] - x[*i]);
        }
        if let Some(blocking) = blocking {
            x[blocking] = 0.0;
            free[blocking] = false;
            continue;
        }
        // The share of 0 that would lower the sum most.
        let gradient = m * DVector::from_column_slice(&x) - b;
        let gains = (0..n)
            .filter(|i| !free[*i])
            .map(|i| (i, gradient[i] + multiplier));
        let most = gains.min_by(|a, b| a.1.total_cmp(&b.1));
        match most {
            Some((i, gain)) if gain < -1e-9 * (1.0 + multiplier.abs()) => free[i] = true,
            _ => break,
        }
    }
    Some(x)
}

/// Most steps of Newton's method.
const STEPS: usize = 200;

/// The shares x that minimise xᵀ·`m`·x / 2 − `b`ᵀ·x − `counts`·Σ ln x: none is 0. `None` if `m` is
/// not positive definite.
pub(crate) fn likely(m: &DMatrix<f64>, b: &DVector<f64>, counts: f64) -> Option<Vec<f64>> {
    let n = b.len();
    let mut x = DVector::repeat(n, 1.0 / n as f64);
    let value = |x: &DVector<f64>| {
        (m * x).dot(x) / 2.0 - b.dot(x) - counts * x.iter().map(|x| x.ln()).sum::<f64>()
    };
    for _ in 0..STEPS {
        let gradient = m * &x - b - x.map(|x| counts / x);
        let mut curvature = m.clone();
        for i in 0..n {
            curvature[(i, i)] += counts / (x[i] * x[i]);
        }
        let curvature = curvature.cholesky()?;
        // Within numbers whose sum stays.
        let [free, ones] = [-&gradient, DVector::repeat(n, 1.0)].map(|side| curvature.solve(&side));
        let step = &free - &ones * (free.sum() / ones.sum());
        let fall = -gradient.dot(&step);
        if fall < 1e-12 {
            break;
        }
        let most = step.iter().zip(&x).fold(1.0f64, |most, (step, x)| {
            if *step < 0.0 {
                most.min(-0.95 * x / step)
            } else {
                most
            }
        });
        let before = value(&x);
        let mut scale = most;
        while scale > 1e-12 && value(&(&x + &step * scale)) > before - 0.1 * scale * fall {
            scale /= 2.0;
        }
        x += step * scale;
    }
    Some(x.iter().copied().collect())
}

/// The numbers x with sum one that minimise xᵀ·`m`·x / 2 − `b`ᵀ·x, and the multiplier of their sum.
pub(crate) fn with_sum_one(m: &DMatrix<f64>, b: &DVector<f64>) -> Option<(DVector<f64>, f64)> {
    let m = m.clone().cholesky()?;
    let free = m.solve(b);
    let ones = m.solve(&DVector::repeat(b.len(), 1.0));
    let multiplier = (free.sum() - 1.0) / ones.sum();
    Some((free - ones * multiplier, multiplier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_shares_add_up_to_one() {
        assert_eq!(nearest(&[0.5, 0.5]), [0.5, 0.5]);
        let shares = nearest(&[0.9, 0.4, -0.3]);
        assert!((shares[0] - 0.75).abs() < 1e-12 && (shares[1] - 0.25).abs() < 1e-12);
        assert_eq!(shares[2], 0.0);
        assert_eq!(nearest(&[-3.0]), [1.0]);
    }

    /// Exact estimates stay, uninformative ones become equal, and if few of many shares are
    /// positive, most come closer.
    #[test]
    fn expected_shares_are_closer() {
        let exact = expected(&[0.5, 0.3, 0.2], &[1e-5; 3]);
        assert_eq!(exact, nearest(&[0.5, 0.3, 0.2]));
        let alike = expected(&[3.0, -1.0, -2.0, 1.0], &[100.0; 4]);
        assert!(
            alike.iter().all(|share| (share - 0.25).abs() < 0.01),
            "{alike:?}"
        );
        let truth: Vec<f64> = (0..200)
            .map(|i| if i < 2 { 0.4 } else { 0.2 / 198.0 })
            .collect();
        let normal = statrs::distribution::Normal::new(0.0, 0.02).unwrap();
        let noise = |i: usize| {
            use statrs::distribution::ContinuousCDF;
            // Each quantile once, in an order unrelated to the shares.
            normal.inverse_cdf(((i * 77 % 200) as f64 + 0.5) / 200.0)
        };
        let guesses: Vec<f64> = truth
            .iter()
            .enumerate()
            .map(|(i, share)| share + noise(i))
            .collect();
        let error = |own: &[f64]| -> f64 {
            let squares = own.iter().zip(&truth).map(|(a, b)| (a - b).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let own = expected(&guesses, &[0.02; 200]);
        assert!((own.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(
            error(&own) < 0.7 * error(&nearest(&guesses)),
            "{} {}",
            error(&own),
            error(&nearest(&guesses))
        );
        // Impossible values: far below 0, and above 1.
        let wild = expected(&[-50.0, 2.0, 0.1], &[0.3; 3]);
        assert!(wild.iter().all(|share| share.is_finite()), "{wild:?}");
    }

    /// The least sum of squares is at the nearest shares.
    #[test]
    fn least_is_nearest_where_all_directions_are_alike() {
        let values = [0.2, 0.9, -0.4, 0.31, 0.0, -0.01];
        let b = DVector::from_column_slice(&values);
        let own = least(&DMatrix::identity(6, 6), &b, &[1.0; 6]).unwrap();
        for (own, nearest) in own.iter().zip(nearest(&values)) {
            assert!((own - nearest).abs() < 1e-12, "{own} {nearest}");
        }
    }

    /// Without measurements all shares are equal; with many they are as measured.
    #[test]
    fn likely_shares_are_what_was_measured() {
        let b = DVector::from_column_slice(&[0.7, 0.3, 0.0]);
        let near = likely(&(DMatrix::identity(3, 3) * 1e-9), &(&b * 1e-9), 0.5).unwrap();
        assert!(near.iter().all(|share| (share - 1.0 / 3.0).abs() < 1e-6));
        let far = likely(&(DMatrix::identity(3, 3) * 1e9), &(&b * 1e9), 0.5).unwrap();
        for (far, b) in far.iter().zip(b.iter()) {
            assert!((far - b).abs() < 1e-4, "{far} {b}");
        }
    }

    #[test]
    fn least_has_no_better_neighbour() {
        let m = DMatrix::from_fn(4, 4, |i, j| {
            1.0 / (1.0 + i as f64 + j as f64) + f64::from(u8::from(i == j)) * 0.01
        });
        let b = DVector::from_column_slice(&[1.0, 0.2, 0.9, -0.5]);
        let value = |x: &[f64]| {
            let x = DVector::from_column_slice(x);
            (x.transpose() * &m * &x)[0] / 2.0 - b.dot(&x)
        };
        let own = least(&m, &b, &[0.25; 4]).unwrap();
        assert!((own.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for from in 0..4 {
            for to in 0..4 {
                let mut other = own.clone();
                let moved = other[from].min(1e-4);
                other[from] -= moved;
                other[to] += moved;
                assert!(value(&other) >= value(&own) - 1e-12);
            }
        }
    }
}
