//! One-against-rest classifiers with a squared hinge, by L-BFGS.

use std::cell::RefCell;

use argmin::core::{CostFunction, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use rayon::prelude::*;

use super::design::Design;
use crate::progress::Progress;

/// The most steps of L-BFGS. More change the accuracy on held-out texts by less than their noise.
const STEPS: u64 = 40;

/// The number of steps that L-BFGS stores.
const MEMORY: usize = 8;

/// The solver stops if a step lowers the objective by less than this share of its first value.
const TOLERANCE: f64 = 3e-5;

/// ½‖w‖² + ½b² + C·Σ v_i·max(0, 1 − y_i(w·x_i + b))² for one class.
struct Objective<'a> {
    design: &'a Design,
    /// `[examples]`: whether the example is of the class.
    is_own: Vec<bool>,
    /// C.
    cost: f64,
    /// The last parameters, and max(0, 1 − margin) of every example for them.
    slack: RefCell<(Vec<f64>, Vec<f64>)>,
}

impl Objective<'_> {
    /// Calls `with` with max(0, 1 − margin) of every example. Cached, because L-BFGS evaluates the
    /// same parameters twice.
    fn with_slack<T>(&self, parameters: &[f64], with: impl FnOnce(&[f64]) -> T) -> T {
        let mut cached = self.slack.borrow_mut();
        if cached.0 != parameters {
            let slack = self.is_own.iter().enumerate().map(|(example, is_own)| {
                let sign = if *is_own { 1.0 } else { -1.0 };
                (1.0 - sign * self.design.product(example, parameters)).max(0.0)
            });
            cached.1 = slack.collect();
            cached.0 = parameters.to_vec();
        }
        with(&cached.1)
    }

    fn cost_of(&self, example: usize) -> f64 {
        self.cost * self.design.importance(example)
    }
}

impl CostFunction for Objective<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, parameters: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let norm: f64 = parameters.iter().map(|w| w * w).sum();
        let loss: f64 = self.with_slack(parameters, |slack| {
            let examples = slack.iter().enumerate();
            examples
                .map(|(example, slack)| self.cost_of(example) * slack * slack)
                .sum()
        });
        Ok(norm / 2.0 + loss)
    }
}

impl Gradient for Objective<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, parameters: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        let mut gradient = parameters.clone();
        self.with_slack(parameters, |slack| {
            for (example, (slack, own)) in slack.iter().zip(&self.is_own).enumerate() {
                if *slack > 0.0 {
                    let sign = if *own { 1.0 } else { -1.0 };
                    let factor = -2.0 * self.cost_of(example) * sign * slack;
                    self.design.add(example, factor, &mut gradient);
                }
            }
        });
        Ok(gradient)
    }
}

/// Fits the weights of every class, `[classes][columns + 1]`, with the bias last.
///
/// # Source
/// Fan, Chang, Hsieh, Wang and Lin (2008), LIBLINEAR: the objective. Liu and Nocedal (1989): the
/// solver.
pub(super) fn fit(design: &Design, classes: usize, cost: f64) -> Vec<Vec<f64>> {
    let progress = Progress::new("fitting heads", classes as u64);
    let fit = |class: usize| {
        let is_own: Vec<bool> = design
            .classes()
            .iter()
            .map(|c| *c as usize == class)
            .collect();
        let objective = Objective {
            design,
            is_own,
            cost,
            slack: RefCell::default(),
        };
        // Most examples are of other classes.
        let mut start = vec![0.0; design.columns() + 1];
        start[design.columns()] = -1.0;
        let own = objective.is_own.iter().filter(|own| **own).count();
        let search = MoreThuenteLineSearch::new();
        let solver = LBFGS::new(search, MEMORY)
            .with_tolerance_cost(TOLERANCE * cost * 4.0 * own.max(1) as f64)
            .expect("the tolerance is positive");
        let run = Executor::new(objective, solver)
            .configure(|state| state.param(start.clone()).max_iters(STEPS))
            .run();
        progress.advance(1);
        // If a line search finds no better point, the best one so far is returned.
        run.ok()
            .and_then(|mut run| run.state.take_best_param())
            .unwrap_or(start)
    };
    (0..classes).into_par_iter().map(fit).collect()
}
