//! Fidelity of word mechanisms: how close the released word is to the private one, by ε.

use rayon::prelude::*;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::{Levels, Ratio, Rule};
use undertone_core::words::{Vocabulary, WordMechanism};

use crate::authorship::certificate::certified_table;
use crate::documents::Draw;
use undertone::error::{Error, Result};
use undertone::progress::Progress;
use undertone::release::document::epsilon_f64;
use undertone_audit::Law;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The privacy parameters, per unit of distance, ascending.
    pub epsilons: Vec<Epsilon>,
    /// The privacy parameters of selection by a certified table, ascending. Each takes two passes
    /// over all pairs of words.
    pub certified: Vec<Epsilon>,
    /// Private words, drawn uniformly from the vocabulary.
    pub words: usize,
    /// Draws for each word and ε from a mechanism without a computable law.
    pub draws: usize,
    /// Seed of all randomness.
    pub seed: u64,
}

/// Fidelity at one ε, averaged over the private words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fidelity {
    /// The privacy parameter.
    pub epsilon: Epsilon,
    /// The probability that the word is released unchanged.
    pub same: f64,
    /// The mean distance between the word and the released one.
    pub distance: f64,
}

/// The mechanism that replaces a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A mechanism of the device.
    Mechanism(WordMechanism),
    /// The exponential mechanism with the table that was [certified](certified_table) for the
    /// vocabulary.
    Certified,
}

/// A mechanism at one ε.
#[derive(Clone, Copy)]
struct Setting {
    way: Way,
    epsilon: Epsilon,
    /// The weights of selection.
    ratio: Ratio,
}

/// Measurements of one word.
struct OfWord {
    /// The mean distance to all words.
    any: f64,
    /// The probability of the word itself and the mean distance to the released word, by setting.
    found: Vec<(f64, f64)>,
}

/// The fidelity of a mechanism, by ε.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The mechanism.
    pub way: Way,
    /// One point for each ε, ascending.
    pub points: Vec<Fidelity>,
}

/// The curves of a vocabulary.
#[derive(Clone, Debug)]
pub struct Curves {
    /// Permute-and-flip, the exponential mechanism, Laplace noise with nearest word, the certified
    /// table.
    pub curves: Vec<Curve>,
    /// The mean distance of the private words to all words.
    pub any: f64,
}

/// The device's mechanisms that are measured.
const MECHANISMS: [WordMechanism; 3] = [
    WordMechanism::Selection(Rule::PermuteAndFlip),
    WordMechanism::Selection(Rule::Exponential),
    WordMechanism::LaplaceNearest,
];

/// Measures the mechanisms: selection from its exact law, noise with nearest word by sampling.
///
/// # Errors
/// [`ErrorKind::Release`](undertone::error::ErrorKind::Release).
pub fn curves(vocabulary: &Vocabulary<'_>, options: &Options) -> Result<Curves> {
    let n = vocabulary.word_count();
    let mut rng = PublicRng::new(options.seed);
    let draw = |_| below(&mut rng, n.into()) as u32;
    let words: Vec<u32> = (0..options.words).map(draw).collect();
    let settings = settings(vocabulary, options);
    let steps = words.len() * settings.len();
    let progress = Progress::new("measuring words", steps as u64);
    let of_word = |(number, word): (usize, &u32)| -> Result<OfWord> {
        let word = PrivateWord::new(vocabulary, number, *word);
        let mut found = Vec::new();
        for setting in &settings {
            found.push(word.measure(setting, options)?);
            progress.advance(1);
        }
        Ok(OfWord {
            any: word.mean_distance(),
            found,
        })
    };
    let found = words
        .par_iter()
        .enumerate()
        .map(of_word)
        .collect::<Result<Vec<_>>>()?;
    let mean = |of: &dyn Fn(&OfWord) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
    let curve = |way: Way| {
        let settings = settings.iter().enumerate();
        let own = settings.filter(|(_, setting)| setting.way == way);
        let points = own.map(|(at, setting)| Fidelity {
            epsilon: setting.epsilon,
            same: mean(&|word| word.found[at].0),
            distance: mean(&|word| word.found[at].1),
        });
        Curve {
            way,
            points: points.collect(),
        }
    };
    let ways = MECHANISMS.map(Way::Mechanism);
    Ok(Curves {
        curves: ways
            .into_iter()
            .chain([Way::Certified])
            .map(curve)
            .collect(),
        any: mean(&|word| word.any),
    })
}

/// Each mechanism at each of its ε.
fn settings(vocabulary: &Vocabulary<'_>, options: &Options) -> Vec<Setting> {
    let everyone: Vec<u32> = (0..vocabulary.word_count()).collect();
    let of_device = MECHANISMS.iter().flat_map(|mechanism| {
        options.epsilons.iter().map(|epsilon| Setting {
            way: Way::Mechanism(*mechanism),
            epsilon: *epsilon,
            ratio: Ratio::per_unit(*epsilon, vocabulary.unit_exponent()),
        })
    });
    let certified = options.certified.iter().map(|epsilon| Setting {
        way: Way::Certified,
        epsilon: *epsilon,
        ratio: certified_table(vocabulary, &everyone, *epsilon).ratio(vocabulary),
    });
    of_device.chain(certified).collect()
}

/// A private word and its relation to all words.
struct PrivateWord<'a> {
    vocabulary: &'a Vocabulary<'a>,
    /// Its index among the private words.
    number: usize,
    word: u32,
    /// Levels, `[words]`.
    levels: Vec<u8>,
    /// Distances, `[words]`.
    distances: Vec<f64>,
}

impl<'a> PrivateWord<'a> {
    fn new(vocabulary: &'a Vocabulary<'a>, number: usize, word: u32) -> Self {
        let mut levels = Vec::new();
        vocabulary
            .levels(word)
            .for_each_block(|block| levels.extend_from_slice(block));
        let step = 2f64.powi(vocabulary.lexicon().vector_exponent());
        let distance = |other| (vocabulary.squared_distance(word, other) as f64).sqrt() * step;
        Self {
            vocabulary,
            number,
            word,
            levels,
            distances: (0..vocabulary.word_count()).map(distance).collect(),
        }
    }

    /// The mean distance to all words.
    fn mean_distance(&self) -> f64 {
        self.distances.iter().sum::<f64>() / self.distances.len() as f64
    }

    /// The probability of the word itself, and the mean distance to the released word.
    fn measure(&self, setting: &Setting, options: &Options) -> Result<(f64, f64)> {
        match setting.way {
            Way::Certified => Ok(self.by_law(Rule::Exponential, setting.ratio)),
            Way::Mechanism(WordMechanism::Selection(rule)) => Ok(self.by_law(rule, setting.ratio)),
            Way::Mechanism(mechanism) => self.by_drawing(mechanism, setting.epsilon, options),
        }
    }

    fn by_law(&self, rule: Rule, ratio: Ratio) -> (f64, f64) {
        let law = Law::new(self.levels.clone(), ratio, rule);
        let terms = self.distances.iter().enumerate();
        let mean = terms.map(|(other, distance)| law.probability(other) * distance);
        (law.probability(self.word as usize), mean.sum::<f64>())
    }

    fn by_drawing(
        &self,
        mechanism: WordMechanism,
        epsilon: Epsilon,
        options: &Options,
    ) -> Result<(f64, f64)> {
        let draw = Draw {
            epsilon,
            trial: 0,
            seed: options.seed,
        };
        let rng = &mut draw.rng(self.number);
        let (mut same, mut sum) = (0usize, 0.0);
        for _ in 0..options.draws {
            let drawn = hazmat::draw_word(self.vocabulary, self.word, mechanism, epsilon, rng);
            let drawn = drawn.map_err(Error::from)?;
            same += usize::from(drawn == self.word);
            sum += self.distances[drawn as usize];
        }
        let draws = options.draws as f64;
        Ok((same as f64 / draws, sum / draws))
    }
}

impl Curve {
    /// The ε at which `value` first reaches `goal`, rising or falling, interpolated in the
    /// logarithm of ε. `None` if the goal lies outside the measured values.
    pub fn epsilon_at(&self, goal: f64, value: impl Fn(&Fidelity) -> f64) -> Option<f64> {
        self.points.windows(2).find_map(|pair| {
            let (before, after) = (value(&pair[0]) - goal, value(&pair[1]) - goal);
            if before * after > 0.0 || before == after {
                return None;
            }
            let part = before / (before - after);
            let (low, high) = (
                epsilon_f64(pair[0].epsilon).ln(),
                epsilon_f64(pair[1].epsilon).ln(),
            );
            Some((low + part * (high - low)).exp())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone::lexicon::word_vectors::Vectors;
    use undertone_core::pack::Pack;

    #[test]
    fn selection_needs_less_than_noise() {
        // 200 words at random in 40 dimensions.
        let mut rng = PublicRng::new(7);
        let coordinate = |_| below(&mut rng, 2001) as f32 / 1000.0 - 1.0;
        let vectors = Vectors {
            name: "random".to_owned(),
            words: (0..200).map(|word| format!("word{word}")).collect(),
            vectors: (0..200 * 40).map(coordinate).collect(),
            dimension: 40,
        };
        let pack = vectors.lexicon_pack(None, 200).unwrap().pack;
        let vocabulary = Vocabulary::new(&Pack::parse(&pack).unwrap()).unwrap();
        let options = Options {
            epsilons: [1, 2, 4, 8, 16, 32]
                .map(|x| Epsilon::from_micro(x * 1_000_000).unwrap())
                .to_vec(),
            certified: [1, 2, 4]
                .map(|x| Epsilon::from_micro(x * 1_000_000).unwrap())
                .to_vec(),
            words: 20,
            draws: 40,
            seed: 1,
        };
        let found = curves(&vocabulary, &options).unwrap();
        let [flip, exponential, noise, certified] = &found.curves[..] else {
            panic!("four ways");
        };
        for curve in [flip, exponential] {
            assert!(curve.points.is_sorted_by(|a, b| a.same < b.same));
            assert!(curve.points.is_sorted_by(|a, b| a.distance > b.distance));
        }
        // With almost no privacy the word itself is released; with almost no ε, any word.
        assert!(flip.points[5].same > 0.999 && noise.points[5].same > 0.999);
        assert!(noise.points[0].same < 0.1);
        assert!((noise.points[0].distance / found.any - 1.0).abs() < 0.2);
        for (flip, exponential) in flip.points.iter().zip(&exponential.points) {
            assert!(flip.same > exponential.same && flip.distance < exponential.distance);
        }
        // A certified table is never flatter than that of ε.
        assert_eq!(certified.points.len(), 3);
        for (certified, exponential) in certified.points.iter().zip(&exponential.points) {
            assert!(certified.epsilon == exponential.epsilon);
            assert!(certified.same >= exponential.same);
        }
        assert!(certified.points[2].same > exponential.points[2].same);
        let half = |curve: &Curve| curve.epsilon_at(0.5, |point| point.same).unwrap();
        assert!(
            2.0 * half(flip) < half(noise),
            "{} {}",
            half(flip),
            half(noise)
        );
        assert_eq!(flip.epsilon_at(2.0, |point| point.same), None);
    }

    #[test]
    fn epsilon_between_two_is_geometric() {
        let point = |micro, same| Fidelity {
            epsilon: Epsilon::from_micro(micro).unwrap(),
            same,
            distance: 1.0 - same,
        };
        let curve = Curve {
            way: Way::Certified,
            points: vec![
                point(1_000_000, 0.0),
                point(4_000_000, 0.5),
                point(8_000_000, 0.9),
            ],
        };
        for value in [
            |point: &Fidelity| point.same,
            |point: &Fidelity| 1.0 - point.distance,
        ] {
            assert!((curve.epsilon_at(0.25, value).unwrap() - 2.0).abs() < 1e-12);
            assert!((curve.epsilon_at(0.5, value).unwrap() - 4.0).abs() < 1e-12);
        }
    }
}
