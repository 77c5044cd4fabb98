//! One-against-rest classifiers with a squared hinge, by coordinate descent in the dual.

use rayon::prelude::*;
use undertone_core::rng::{self, PublicRng};

use super::design::{BIAS, Design};
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
        let most = if was_zero { 0.0 } else { f64::INFINITY };
        let gradient = gradient.min(most);
        self.least = self.least.min(gradient);
        self.most = self.most.max(gradient);
        true
    }

    /// The start of the next pass.
    fn next(&self) -> Self {
        let mut next = Self::NOTHING;
        if self.most > 0.0 {
            next.bound = self.most;
        }
        next
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

    /// Minimises along the dual variables of one example. Returns whether the example stays.
    fn step(&mut self, example: usize, cost: f64, seen: &mut [Seen; TOGETHER]) -> bool {
        let own = &self.design.examples()[example];
        let ridge = 1.0 / (2.0 * cost * f64::from(own.importance));
        let curvature = f64::from(self.design.square(example)) + ridge;
        let products = self.design.products(example, &self.weights);
        let mut factors = [0.0; TOGETHER];
        let mut stays = false;
        for (class, product) in products.into_iter().enumerate().take(self.classes) {
            let sign = own.sign(self.first_class + class);
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
            let is_stable = |own: &Seen| own.most - own.least <= effort.tolerance;
            if seen.iter().all(is_stable) {
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

    /// Minimises along the bias of each class. Every step of [`run`](Self::run) moves the biases, so
    /// after a few passes they are farther from their minimum than other weights.
    fn settle_biases(&mut self, cost: f64) {
        let examples = 0..self.design.examples().len();
        let products: Vec<[f32; TOGETHER]> = examples
            .map(|example| self.design.products(example, &self.weights))
            .collect();
        for class in 0..self.classes {
            let change = self.change_of_bias(class, cost, &products);
            if let Some(biases) = self.weights.last_mut() {
                biases[class] = (f64::from(biases[class]) + change) as f32;
            }
        }
    }

    /// Returns the change of a bias that minimises, by Newton's method. `products` has w·x of each
    /// example.
    fn change_of_bias(&self, class: usize, cost: f64, products: &[[f32; TOGETHER]]) -> f64 {
        let bias = self.weights.last().map_or(0.0, |own| f64::from(own[class]));
        let penalty = 1.0 / f64::from(BIAS).powi(2);
        let mut change = 0.0;
        for _ in 0..20 {
            let (mut slope, mut curvature) = (penalty * (bias + change), penalty);
            for (own, product) in self.design.examples().iter().zip(products) {
                let (sign, root) = (own.sign(self.first_class + class), f64::from(own.root));
                let slack = 1.0 - sign * (f64::from(product[class]) + change * root);
                if slack > 0.0 {
                    let factor = 2.0 * cost * f64::from(own.importance) * root;
                    slope -= factor * sign * slack;
                    curvature += factor * root;
                }
            }
            let step = slope / curvature;
            change -= step;
            if step.abs() < 1e-6 {
                break;
            }
        }
        change
    }
}

/// Puts the elements in a random order.
pub(crate) fn shuffle<T>(order: &mut [T], rng: &mut PublicRng) {
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
        solver.settle_biases(cost);
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
    use crate::pack::features::{Chosen, KINDS};

    /// Sixty documents of one to three sentences in three classes, which overlap, and one without
    /// sentences.
    fn sample() -> Sample {
        let words = ["apple", "bread", "cheese", "date", "egg", "fig", "grape"];
        let mut rng = PublicRng::new(5);
        let mut word = |first: usize| words[first + rng::below(&mut rng, 5) as usize];
        let document = |number: usize| {
            let class = number % 3;
            let sentence = |_| format!("{} {} {}", word(class), word(class), word(class));
            let sentences: Vec<String> = (0..=class).map(sentence).collect();
            (sentences, class as u32)
        };
        let mut documents: Vec<_> = (0..60).map(document).collect();
        documents.push((Vec::new(), 0));
        let documents = documents.iter();
        let documents = documents.map(|(sentences, class)| (sentences.as_slice(), *class));
        Sample::new(KINDS, documents)
    }

    fn design(sample: &Sample) -> Design {
        let documents: Vec<usize> = (0..=60).collect();
        let chosen = Chosen {
            features: (0..40).collect(),
            scales: vec![0.3; 40],
        };
        let none = Directions::default();
        Design::new(sample, &chosen, &documents, &none, Examples::All)
    }

    const EXACT: Effort = Effort {
        tolerance: 1e-5,
        passes: 10_000,
    };

    /// The gradient of ½‖w‖² + C·Σ v·max(0, 1 − y·w·x)², where columns have their scales.
    fn gradient(design: &Design, class: usize, weights: &[f32], cost: f64) -> Vec<f32> {
        let mut gradient = weights.to_vec();
        for (example, own) in design.examples().iter().enumerate() {
            let sign = own.sign(class);
            let slack = (1.0 - sign * f64::from(design.product(example, weights))).max(0.0);
            let factor = -2.0 * cost * f64::from(own.importance) * sign * slack;
            design.add(example, &[factor as f32], gradient.as_chunks_mut().0);
        }
        gradient
    }

    #[test]
    fn reaches_the_minimum() {
        let design = design(&sample());
        for (class, weights) in fit(&design, 3, 0.7, EXACT).iter().enumerate() {
            let gradient = gradient(&design, class, weights, 0.7);
            let largest = gradient.iter().fold(0f32, |most, x| most.max(x.abs()));
            assert!(largest < 1e-3, "{class}: {largest}");
        }
    }

    #[test]
    fn biases_are_settled_after_one_pass() {
        let design = design(&sample());
        let effort = Effort { passes: 1, ..EXACT };
        for (class, weights) in fit(&design, 3, 0.7, effort).iter().enumerate() {
            let gradient = gradient(&design, class, weights, 0.7);
            let bias = gradient.last().expect("a column for the bias").abs();
            assert!(bias < 1e-3, "{class}: {bias}");
            assert!(gradient.iter().any(|x| x.abs() > 1e-2), "{class}");
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
