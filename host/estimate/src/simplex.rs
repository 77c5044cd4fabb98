//! Shares: numbers that are not negative and add up to one.

use nalgebra::{DMatrix, DVector};

/// The shares closest to `values`: all are lowered by the same number, and those below 0 are 0 (Wang et al. 2020,
/// "Locally differentially private frequency estimation with consistency", Norm-Sub).
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

/// Changes of the set of shares that are not 0, at most, for each share.
const CHANGES: usize = 8;

/// The shares x with the least xᵀ·`m`·x / 2 − `b`ᵀ·x, and the same without a bound at 0. `start`: shares to start from.
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
        // As far as all stay shares.
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
        // Which share of 0 would lower the sum most?
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

/// Steps of Newton's method, at most.
const STEPS: usize = 200;

/// The shares x with the least xᵀ·`m`·x / 2 − `b`ᵀ·x − `counts`·Σ ln x: none is 0. `None` if `m` is not positive definite.
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
        let most = step
            .iter()
            .zip(&x)
            .fold(1.0f64, |most, (step, x)| match *step < 0.0 {
                true => most.min(-0.95 * x / step),
                false => most,
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

/// The numbers x that add up to one with the least xᵀ·`m`·x / 2 − `b`ᵀ·x, and the multiplier of their sum.
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

    /// Without anything measured all are alike; with much they are what was measured.
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
