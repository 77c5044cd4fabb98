//! One-against-rest classifiers with a squared hinge, by coordinate descent in the dual.

use rayon::prelude::*;
use undertone_core::rng::{self, PublicRng};

use super::design::Design;
use crate::progress::Progress;

/// The seed of the orders in which examples are visited. Every class has the same.
const SEED: u64 = 1;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// The largest difference between two projected gradients at the end; the first ones are near
    /// 1.
    pub(super) tolerance: f64,
    /// The most passes over the examples.
    pub(super) passes: usize,
}

/// The number of classes that are fitted together.
const TOGETHER: usize = 4;

/// Minimises ½‖w‖² + C·Σ v_i·max(0, 1 − y_i·w·x_i)² for each of a few classes, where v_i is the
/// weight of an example. It does so through the dual, the minimum over α ≥ 0 of
/// ½‖Σ α_i·y_i·x_i‖² + Σ α_i²/(4·C·v_i) − Σ α_i.
struct Solver<'a> {
    design: &'a Design,
    first_class: usize,
    classes: usize,
    /// w = Σ α_i·y_i·x_i of each class, `[columns][classes]`, with zeros for missing classes.
    weights: Vec<[f32; TOGETHER]>,
    /// α of each example and class: positive if the margin is below 1.
    duals: Vec<[f32; TOGETHER]>,
}

/// The range of the projected gradients of one class in a pass.
#[derive(Clone, Copy)]
struct Seen {
    least: f64,
    most: f64,
    /// A dual variable at 0 is left out while its gradient is above the largest of the pass before.
    bound: f64,
}

impl Seen {
    const NOTHING: Self = Self {
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
        bound: f64::INFINITY,
    };

    /// Adds a gradient. Returns whether the example stays.
    fn add(&mut self, gradient: f64, was_zero: bool) -> bool {
        if was_zero && gradient > self.bound {
            return false;
        }
        // The projected gradient.
        let gradient = if was_zero {
            gradient.min(0.0)
        } else {
            gradient
        };
        self.least = self.least.min(gradient);
        self.most = self.most.max(gradient);
        true
    }

    /// The start of the next pass.
    fn next(&self) -> Self {
        Self {
            bound: if self.most > 0.0 {
                self.most
            } else {
                f64::INFINITY
            },
            ..Self::NOTHING
        }
    }
}

impl<'a> Solver<'a> {
    fn new(design: &'a Design, first_class: usize, classes: usize) -> Self {
        Self {
            design,
            first_class,
            classes,
            weights: vec![[0.0; TOGETHER]; design.columns()],
            duals: vec![[0.0; TOGETHER]; design.examples().len()],
        }
    }

    /// y: 1 for an example of the class, −1 for another.
    fn sign(&self, example: usize, class: usize) -> f64 {
        if self.design.examples()[example].class as usize == self.first_class + class {
            1.0
        } else {
            -1.0
        }
    }

    /// Minimises along the dual variables of one example. Returns whether the example stays.
    fn step(&mut self, example: usize, cost: f64, seen: &mut [Seen; TOGETHER]) -> bool {
        let own = &self.design.examples()[example];
        let ridge = 1.0 / (2.0 * cost * f64::from(own.importance));
        let curvature = own.square() + ridge;
        let products = self.design.products(example, &self.weights);
        let mut factors = [0.0; TOGETHER];
        let mut stays = false;
        for (class, product) in products.into_iter().enumerate().take(self.classes) {
            let sign = self.sign(example, class);
            let dual = f64::from(self.duals[example][class]);
            let gradient = sign * f64::from(product) - 1.0 + dual * ridge;
            let next = (dual - gradient / curvature).max(0.0) as f32;
            self.duals[example][class] = next;
            factors[class] = ((f64::from(next) - dual) * sign) as f32;
            stays |= seen[class].add(gradient, dual == 0.0);
        }
        if factors != [0.0; TOGETHER] {
            self.design.add(example, &factors, &mut self.weights);
        }
        stays
    }

    fn run(&mut self, cost: f64, effort: Effort) {
        let mut rng = PublicRng::new(SEED);
        let examples = self.design.examples().len();
        let mut active: Vec<usize> = (0..examples).collect();
        let mut seen = [Seen::NOTHING; TOGETHER];
        for _ in 0..effort.passes {
            shuffle(&mut active, &mut rng);
            let is_whole = active.len() == examples;
            active.retain(|&example| self.step(example, cost, &mut seen));
            if seen
                .iter()
                .all(|own| own.most - own.least <= effort.tolerance)
            {
                if is_whole {
                    return;
                }
                active = (0..examples).collect();
                seen = [Seen::NOTHING; TOGETHER];
            } else {
                seen = seen.map(|own| own.next());
            }
        }
    }
}

fn shuffle(order: &mut [usize], rng: &mut PublicRng) {
    for end in (1..order.len()).rev() {
        order.swap(end, rng::below(rng, end as u128 + 1) as usize);
    }
}

/// Fits the weights of every class, `[classes][columns]`.
///
/// The result is the same for any number of threads.
///
/// # Source
/// Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), A dual coordinate descent method for
/// large-scale linear SVM, algorithm 3.
pub(super) fn fit(design: &Design, classes: usize, cost: f64, effort: Effort) -> Vec<Vec<f32>> {
    let progress = Progress::new("fitting heads", classes as u64);
    let fit = |first_class: usize| -> Vec<Vec<f32>> {
        let together = TOGETHER.min(classes - first_class);
        let mut solver = Solver::new(design, first_class, together);
        solver.run(cost, effort);
        progress.advance(together as u64);
        let of_class = |class: usize| solver.weights.iter().map(|w| w[class]).collect();
        (0..together).map(of_class).collect()
    };
    let firsts: Vec<usize> = (0..classes).step_by(TOGETHER).collect();
    firsts.into_par_iter().flat_map_iter(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::super::design::{Directions, Examples, Sample};
    use super::*;
    use crate::pack::features::KINDS;

    /// Sixty documents of one to three sentences in three classes, which overlap, and one without
    /// sentences.
    fn sample() -> Sample {
        let words = ["apple", "bread", "cheese", "date", "egg", "fig", "grape"];
        let mut rng = PublicRng::new(5);
        let mut word = |first: usize| {
            let place = first + rng::below(&mut rng, 5) as usize;
            words[place]
        };
        let mut documents: Vec<(Vec<String>, u32)> = (0..60usize)
            .map(|document| {
                let class = document % 3;
                let sentence = |_| format!("{} {} {}", word(class), word(class), word(class));
                let sentences = (0..=document % 3).map(sentence).collect();
                (sentences, class as u32)
            })
            .collect();
        documents.push((Vec::new(), 0));
        let documents = documents.iter();
        Sample::new(
            KINDS,
            documents.map(|(sentences, class)| (sentences.as_slice(), *class)),
        )
    }

    fn design(sample: &Sample) -> Design {
        let documents: Vec<usize> = (0..=60).collect();
        let features: Vec<u32> = (0..40).collect();
        let directions = Directions::default();
        let all = Examples::All;
        Design::new(sample, &documents, &features, &[0.3; 40], &directions, all)
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
        let weights = fit(&design, 3, cost, EXACT);
        for (class, weights) in weights.iter().enumerate() {
            let mut gradient = weights.clone();
            for (example, own) in design.examples().iter().enumerate() {
                let sign = if own.class == class as u32 { 1.0 } else { -1.0 };
                let slack = (1.0 - sign * f64::from(design.product(example, weights))).max(0.0);
                let cost = cost * f64::from(own.importance);
                let factor = -2.0 * cost * sign * slack;
                let gradient = gradient.as_chunks_mut().0;
                design.add(example, &[factor as f32], gradient);
            }
            let largest = gradient.iter().fold(0f32, |most, x| most.max(x.abs()));
            assert!(largest < 1e-3, "{class}: {largest}");
        }
    }

    #[test]
    fn the_result_is_the_same_for_any_number_of_threads() {
        let design = design(&sample());
        let fit_on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let fit = || fit(&design, 3, 1.0, EXACT);
            pool.build().expect("threads start").install(fit)
        };
        assert_eq!(fit_on(1), fit_on(4));
    }
}
