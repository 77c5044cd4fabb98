//! The word mover's distance between two bags of words (Kusner et al. 2015): the least mean
//! distance that the words of one bag travel to become the words of the other.
//!
//! Each occurrence in a bag of a words weighs 1/a, so a word that occurs twice weighs 2/a
//! (Fernandes, Dras and McIver 2018, definition 2). Words are rows of coordinates with the
//! Euclidean distance.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use ndarray::Array2;

use undertone::error::{Error, Result};

/// The word mover's distance of two bags, `[a][dimension]` and `[b][dimension]` row-major.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input), with the first word that has a
/// coordinate that is not a number;
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) and errors of [`transport`].
///
/// # Panics
/// If `dimension` is 0 or does not divide the lengths.
///
/// # Cost
/// For bags of equal size, at most cubic time: about a millisecond for 100 words of 300 coordinates
/// on a desktop processor, mostly for the distances. Otherwise a linear programme of a·b variables,
/// about thirty times slower.
///
/// ```
/// # fn main() -> undertone::Result<()> {
/// use undertone_lab::wmd::word_movers_distance;
/// assert_eq!(word_movers_distance(&[0.0, 3.0], &[4.0, 0.0], 1)?, 0.5);
/// // Two thirds of the second bag stay, one third comes from 3.
/// assert!((word_movers_distance(&[0.0, 3.0], &[0.0, 0.0, 3.0], 1)? - 0.5).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
pub fn word_movers_distance(first: &[f32], second: &[f32], dimension: usize) -> Result<f64> {
    let (a, b) = (first.len() / dimension, second.len() / dimension);
    transport(distances(first, second, dimension)?, a, b)
}

/// The Euclidean distances between the words of two bags, `[a][b]` row-major.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input), with the first word that has a
/// coordinate that is not a number.
///
/// # Panics
/// If `dimension` is 0 or does not divide the lengths.
pub fn distances(first: &[f32], second: &[f32], dimension: usize) -> Result<Vec<f64>> {
    for (what, bag) in [
        ("word of the first bag", first),
        ("word of the second bag", second),
    ] {
        assert_eq!(
            bag.len() % dimension,
            0,
            "rows have {dimension} coordinates"
        );
        if let Some(position) = bag.iter().position(|x| !x.is_finite()) {
            return Err(Error::not_finite_row(what, position / dimension));
        }
    }
    let rows = first.chunks_exact(dimension);
    let distances = rows.flat_map(|x| second.chunks_exact(dimension).map(|y| distance(x, y)));
    Ok(distances.collect())
}

/// The Euclidean distance; squares of f32 do not overflow f64.
fn distance(x: &[f32], y: &[f32]) -> f64 {
    const LANES: usize = 8;
    let square = |x: &f32, y: &f32| (f64::from(*x) - f64::from(*y)).powi(2);
    // Parallel sums, for vector instructions.
    let mut sums = [0.0; LANES];
    let (whole_x, rest_x) = x.as_chunks::<LANES>();
    let (whole_y, rest_y) = y.as_chunks::<LANES>();
    for (x, y) in whole_x.iter().zip(whole_y) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += square(x, y);
        }
    }
    let rest: f64 = rest_x.iter().zip(rest_y).map(|(x, y)| square(x, y)).sum();
    (sums.iter().sum::<f64>() + rest).sqrt()
}

/// The least mean cost of a transport between `a` words that weigh 1/a and `b` words that weigh
/// 1/b, with the costs `[a][b]` row-major.
///
/// For equal sizes some assignment is an optimal transport (Birkhoff 1946), and [`assignment`]
/// finds it. Otherwise a linear programme does, to 10⁻⁸ of the largest cost.
///
/// # Errors
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) if a bag has no word, a cost
/// is not a number, or the solver fails.
///
/// # Panics
/// If there are not a·b costs.
pub fn transport(costs: Vec<f64>, a: usize, b: usize) -> Result<f64> {
    assert_eq!(costs.len(), a * b, "one cost for each pair");
    if a == 0 || b == 0 {
        return Err(Error::experiment(
            "a bag of words without words has no distance; leave it out",
        ));
    }
    if a == b {
        return Ok(assignment(costs, a)?.0 / a as f64);
    }
    check(&costs, b)?;
    // The solver's tolerances are absolute.
    let largest = costs
        .iter()
        .fold(0.0, |most: f64, cost| most.max(cost.abs()));
    if largest == 0.0 {
        return Ok(0.0);
    }
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let flows: Vec<Variable> = costs
        .iter()
        .map(|cost| problem.add_var(cost / largest, (0.0, f64::INFINITY)))
        .collect();
    // Weights times a·b are whole numbers, so both sides have exactly the same sum.
    for row in flows.chunks_exact(b) {
        let terms: Vec<_> = row.iter().map(|flow| (*flow, 1.0)).collect();
        problem.add_constraint(terms, ComparisonOp::Eq, b as f64);
    }
    for column in 0..b {
        let flows = flows.iter().skip(column).step_by(b);
        let terms: Vec<_> = flows.map(|flow| (*flow, 1.0)).collect();
        problem.add_constraint(terms, ComparisonOp::Eq, a as f64);
    }
    let failed =
        |problem: String| Error::experiment(format!("cannot solve a transport problem: {problem}"));
    let solution = problem.solve().map_err(|error| failed(error.to_string()))?;
    Ok(solution.objective() * largest / (a * b) as f64)
}

/// The cheapest way to pair `n` rows with `n` columns: its cost, and the column of each row.
/// `costs` are `[n][n]`, row-major.
///
/// # Errors
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) for a cost that is not a
/// number.
///
/// # Panics
/// If there are not n² costs.
///
/// # Source
/// Jonker and Volgenant 1987, in the crate `lapjv`.
pub fn assignment(costs: Vec<f64>, n: usize) -> Result<(f64, Vec<usize>)> {
    assert_eq!(costs.len(), n * n, "one cost for each pair");
    if n == 0 {
        return Ok((0.0, Vec::new()));
    }
    check(&costs, n)?;
    let costs = Array2::from_shape_vec((n, n), costs).expect("n² costs");
    let (columns, _) = lapjv::lapjv(&costs)
        .map_err(|error| Error::experiment(format!("cannot solve a transport problem: {error}")))?;
    Ok((lapjv::cost(&costs, &columns), columns))
}

fn check(costs: &[f64], columns: usize) -> Result<()> {
    let Some(position) = costs.iter().position(|cost| !cost.is_finite()) else {
        return Ok(());
    };
    Err(Error::experiment(format!(
        "cannot solve a transport problem: the cost of row {} and column {} is \
         {}, it must be finite",
        position / columns,
        position % columns,
        costs[position]
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use undertone::error::ErrorKind;

    const DIMENSION: usize = 3;

    /// Either few values, so that words repeat and distances coincide, or any values.
    fn bag(words: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<f32>> {
        let word = prop_oneof![
            vec((0i8..3).prop_map(f32::from), DIMENSION),
            vec(-1e3f32..1e3, DIMENSION),
            vec(-1e-3f32..1e-3, DIMENSION),
        ];
        vec(word, words).prop_map(|words| words.concat())
    }

    fn wmd(first: &[f32], second: &[f32]) -> f64 {
        word_movers_distance(first, second, DIMENSION).unwrap()
    }

    fn near(x: f64, y: f64) -> bool {
        (x - y).abs() <= 1e-7 * (1.0 + x.abs())
    }

    /// The cheapest of all pairings, by enumeration.
    fn brute_force(costs: &[f64], n: usize, row: usize, taken: &mut Vec<bool>) -> f64 {
        if row == n {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for column in 0..n {
            if !taken[column] {
                taken[column] = true;
                let rest = brute_force(costs, n, row + 1, taken);
                best = best.min(costs[row * n + column] + rest);
                taken[column] = false;
            }
        }
        best
    }

    fn times(bag: &[f32], copies: usize) -> Vec<f32> {
        bag.chunks_exact(DIMENSION)
            .flat_map(|word| word.repeat(copies))
            .collect()
    }

    proptest! {
        // The cases are always the same because floating-point tolerances are not proved.
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(1),
            ..ProptestConfig::default()
        })]

        #[test]
        fn assignment_is_the_cheapest_of_all(
            (n, costs) in (0usize..=6).prop_flat_map(|n| {
                let cost = prop_oneof![(-3i8..3).prop_map(f64::from), -1e6..1e6, -1e-6..1e-6];
                (Just(n), vec(cost, n * n))
            })
        ) {
            let (total, columns) = assignment(costs.clone(), n).unwrap();
            let mut sorted = columns.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..n), "a permutation");
            let sum: f64 = (0..n).map(|row| costs[row * n + columns[row]]).sum();
            prop_assert_eq!(total, sum);
            let best = brute_force(&costs, n, 0, &mut vec![false; n]);
            prop_assert!((total - best).abs() <= 1e-9 * (1.0 + best.abs()), "{total}, best {best}");
        }

        #[test]
        fn it_is_a_metric(first in bag(1..6), second in bag(1..6), third in bag(1..6)) {
            let there = wmd(&first, &second);
            prop_assert!(there >= 0.0);
            prop_assert!(wmd(&first, &first) <= 1e-12);
            prop_assert!(near(there, wmd(&second, &first)));
            let around = wmd(&first, &third) + wmd(&third, &second);
            prop_assert!(there <= around + 1e-7 * (1.0 + around), "{there} > {around}");
        }

        #[test]
        fn transport_is_assignment_of_repeated_words(first in bag(1..6), second in bag(1..6)) {
            let (a, b) = (first.len() / DIMENSION, second.len() / DIMENSION);
            // Repeats words to a·b on both sides, for equal and different sizes.
            let repeated = wmd(&times(&first, b), &times(&second, a));
            prop_assert!(near(wmd(&first, &second), repeated));
        }

        #[test]
        fn order_does_not_matter(first in bag(4), second in bag(4)) {
            let mut words: Vec<&[f32]> = first.chunks_exact(DIMENSION).collect();
            words.reverse();
            prop_assert!(near(wmd(&first, &second), wmd(&words.concat(), &second)));
        }
    }

    #[test]
    fn scale_does_not_matter() {
        for scale in [1e-30f32, 1e-9, 1.0, 1e30] {
            let second = [0.0, scale, 3.0 * scale];
            let distance = word_movers_distance(&[0.0, scale], &second, 1).unwrap();
            let wanted = 2.0 / 3.0 * f64::from(scale);
            // Point 0 receives a third, from 0; point 1 a third, half of it from 0; point 3 the
            // rest.
            assert!(
                (distance / wanted - 1.25).abs() < 1e-6,
                "{distance} at {scale}"
            );
        }
        assert_eq!(word_movers_distance(&[1.0], &[1.0, 1.0], 1).unwrap(), 0.0);
    }

    #[test]
    fn what_has_no_distance_is_refused() {
        for (first, second) in [(&[][..], &[1.0][..]), (&[1.0], &[]), (&[], &[])] {
            let error = word_movers_distance(first, second, 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Experiment, "{error}");
        }
        let error = word_movers_distance(&[0.0; 4], &[0.0, 0.0, 0.0, f32::NAN], 2).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("word of the second bag 1 has"),
            "{error}"
        );
        for cost in [f64::NAN, f64::INFINITY] {
            let error = assignment(vec![0.0, 0.0, cost, 0.0], 2)
                .unwrap_err()
                .to_string();
            assert!(error.contains("row 1 and column 0"), "{error}");
            assert!(transport(vec![0.0, cost], 1, 2).is_err());
        }
    }
}
