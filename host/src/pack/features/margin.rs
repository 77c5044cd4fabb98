//! One-against-rest classifiers with a squared hinge, by coordinate descent in the dual.

use rayon::prelude::*;
use undertone_core::rng::{self, PublicRng};

use super::design::Design;
use crate::progress::Progress;

/// The seed of the orders in which examples are visited. Every class has the same.
const SEED: u64 = 1;

/// The dual variables of one class: an example's is positive if its margin is below 1.
pub(super) type Duals = Vec<f32>;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// The largest difference between two projected gradients at the end; the first ones are near
    /// 1.
    pub(super) tolerance: f64,
    /// The most passes over the examples.
    pub(super) passes: usize,
}

/// The minimum of ½‖w‖² + C·Σ v_i·max(0, 1 − y_i·w·x_i)² for one class, where v_i is the weight of
/// an example, through its dual: the minimum over α ≥ 0 of
/// ½‖Σ α_i·y_i·x_i‖² + Σ α_i²/(4·C·v_i) − Σ α_i.
struct Solver<'a> {
    design: &'a Design,
    class: u32,
    /// w, which is Σ α_i·y_i·x_i.
    weights: Vec<f64>,
    duals: &'a mut [f32],
}

impl<'a> Solver<'a> {
    /// Starts from `duals`, which may be those of other columns.
    fn new(design: &'a Design, class: u32, duals: &'a mut [f32]) -> Self {
        let mut solver = Self {
            design,
            class,
            weights: vec![0.0; design.columns()],
            duals,
        };
        for example in 0..solver.duals.len() {
            let dual = f64::from(solver.duals[example]);
            if dual > 0.0 {
                let factor = dual * solver.sign(example);
                design.add(example, factor, &mut solver.weights);
            }
        }
        solver
    }

    /// y: 1 for an example of the class, −1 for another.
    fn sign(&self, example: usize) -> f64 {
        if self.design.classes()[example] == self.class {
            1.0
        } else {
            -1.0
        }
    }

    /// Minimises along one dual variable. Returns the gradient before.
    fn step(&mut self, example: usize, cost: f64) -> f64 {
        let ridge = 1.0 / (2.0 * cost * self.design.importance(example));
        let curvature = self.design.square(example) + ridge;
        let sign = self.sign(example);
        let dual = f64::from(self.duals[example]);
        let product = self.design.product(example, &self.weights);
        let gradient = sign * product - 1.0 + dual * ridge;
        let next = (dual - gradient / curvature).max(0.0) as f32;
        let change = f64::from(next) - dual;
        if change != 0.0 {
            self.duals[example] = next;
            self.design.add(example, change * sign, &mut self.weights);
        }
        gradient
    }

    fn run(&mut self, cost: f64, effort: Effort) {
        let mut rng = PublicRng::new(SEED);
        let mut active: Vec<usize> = (0..self.duals.len()).collect();
        // A dual variable at 0 is left out while its gradient is above the largest of the pass
        // before.
        let mut bound = f64::INFINITY;
        for _ in 0..effort.passes {
            shuffle(&mut active, &mut rng);
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            let is_whole = active.len() == self.duals.len();
            active.retain(|&example| {
                let was_zero = self.duals[example] == 0.0;
                let gradient = self.step(example, cost);
                if was_zero && gradient > bound {
                    return false;
                }
                // The projected gradient.
                let gradient = if was_zero {
                    gradient.min(0.0)
                } else {
                    gradient
                };
                least = least.min(gradient);
                most = most.max(gradient);
                true
            });
            if most - least <= effort.tolerance {
                if is_whole {
                    return;
                }
                active = (0..self.duals.len()).collect();
                bound = f64::INFINITY;
            } else {
                bound = if most > 0.0 { most } else { f64::INFINITY };
            }
        }
    }
}

fn shuffle(order: &mut [usize], rng: &mut PublicRng) {
    for end in (1..order.len()).rev() {
        order.swap(end, rng::below(rng, end as u128 + 1) as usize);
    }
}

/// Fits the weights of every class, `[classes][columns]`. `duals` is `[classes][examples]`: where
/// to start, and the result.
///
/// The result is the same for any number of threads.
///
/// # Source
/// Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), A dual coordinate descent method for
/// large-scale linear SVM, algorithm 3.
pub(super) fn fit(
    design: &Design,
    duals: &mut [Duals],
    cost: f64,
    effort: Effort,
) -> Vec<Vec<f32>> {
    let progress = Progress::new("fitting heads", duals.len() as u64);
    let fit = |(class, duals): (usize, &mut Duals)| {
        let mut solver = Solver::new(design, class as u32, duals);
        solver.run(cost, effort);
        progress.advance(1);
        solver.weights.into_iter().map(|w| w as f32).collect()
    };
    duals.par_iter_mut().enumerate().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::super::design::{Directions, Sample};
    use super::*;
    use crate::pack::features::KINDS;

    /// Sixty documents of one to three sentences in three classes, which overlap.
    fn sample() -> Sample {
        let words = ["apple", "bread", "cheese", "date", "egg", "fig", "grape"];
        let mut rng = PublicRng::new(5);
        let mut word = |first: usize| {
            let place = first + rng::below(&mut rng, 5) as usize;
            words[place]
        };
        let documents: Vec<(Vec<String>, u32)> = (0..60usize)
            .map(|document| {
                let class = document % 3;
                let sentence = |_| format!("{} {} {}", word(class), word(class), word(class));
                let sentences = (0..=document % 3).map(sentence).collect();
                (sentences, class as u32)
            })
            .collect();
        let documents = documents.iter();
        Sample::new(
            KINDS,
            documents.map(|(sentences, class)| (sentences.as_slice(), *class)),
        )
    }

    fn design(sample: &Sample) -> Design {
        let documents: Vec<usize> = (0..60).collect();
        let features: Vec<u32> = (0..40).collect();
        let directions = Directions::default();
        Design::new(sample, &documents, &features, &[0.3; 40], &directions)
    }

    const EXACT: Effort = Effort {
        tolerance: 1e-5,
        passes: 10_000,
    };

    /// The gradient of ½‖w‖² + C·Σ v·max(0, 1 − y·w·x)² is zero at its minimum only.
    #[test]
    fn reaches_the_minimum() {
        let design = design(&sample());
        let cost = 0.7;
        let mut duals = vec![vec![0.0; design.classes().len()]; 3];
        let weights = fit(&design, &mut duals, cost, EXACT);
        for (class, weights) in weights.iter().enumerate() {
            let weights: Vec<f64> = weights.iter().map(|w| f64::from(*w)).collect();
            let mut gradient = weights.clone();
            for (example, of) in design.classes().iter().enumerate() {
                let sign = if *of == class as u32 { 1.0 } else { -1.0 };
                let slack = (1.0 - sign * design.product(example, &weights)).max(0.0);
                let cost = cost * design.importance(example);
                design.add(example, -2.0 * cost * sign * slack, &mut gradient);
            }
            let largest = gradient.iter().fold(0f64, |most, x| most.max(x.abs()));
            assert!(largest < 1e-3, "{class}: {largest}");
        }
    }

    #[test]
    fn a_start_changes_the_time_only() {
        let design = design(&sample());
        let mut cold = vec![vec![0.0; design.classes().len()]; 3];
        let from_zero = fit(&design, &mut cold, 1.0, EXACT);
        let mut warm = vec![vec![2.0; design.classes().len()]; 3];
        let from_two = fit(&design, &mut warm, 1.0, EXACT);
        for (a, b) in from_zero.iter().flatten().zip(from_two.iter().flatten()) {
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
    }

    #[test]
    fn the_result_is_the_same_for_any_number_of_threads() {
        let design = design(&sample());
        let fit_on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let mut duals = vec![vec![0.0; design.classes().len()]; 3];
            let fit = || fit(&design, &mut duals, 1.0, EXACT);
            pool.build().expect("threads start").install(fit)
        };
        assert_eq!(fit_on(1), fit_on(4));
    }
}
