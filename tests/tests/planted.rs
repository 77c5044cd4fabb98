//! The auditor audited: an audit must find planted bugs, each by the check that is made for it. The
//! same mechanisms without the bug pass.

use std::collections::BTreeSet;
use std::num::NonZero;

use undertone::error::Result;
use undertone::release::document::Method as Released;
use undertone_audit::exact::inside::{
    CoreSentences, CoreWholeText, CoreWords, Engine, Sentences, WholeText, Words,
};
use undertone_audit::exact::{sentences, whole_text, words};
use undertone_audit::sampled::device::{self, Device, Sentence};
use undertone_audit::{Check, Mechanism, Options};
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::select::{Ratio, Rule};
use undertone_tests::packs::{
    DepthParts, LexiconParts, ScoreParts, Scoring, naive_fixed, without_nothing_known,
};

const LEVELS: [&str; 2] = [
    "levels of replaced sentences",
    "levels of added and removed sentences",
];
const EXCHANGED: &str = "loss of an exchanged text";
const REFUSED: &str = "texts refused";
const LOSSES: [&str; 2] = [
    "loss of replaced sentences",
    "loss of added and removed sentences",
];

fn options() -> Options {
    Options {
        mechanisms: Mechanism::ALL.to_vec(),
        epsilons: ["0.5", "3"].map(|text| text.parse().unwrap()).to_vec(),
        rules: vec![Rule::PermuteAndFlip, Rule::Exponential],
        neighbours: if undertone_tests::soak() {
            1_000_000
        } else {
            4000
        },
        releases: 0,
        seed: 1,
    }
}

/// The names of the checks that failed.
fn failed(checks: &[Check]) -> BTreeSet<&str> {
    assert!(!checks.is_empty());
    let failed = checks.iter().filter(|check| !check.passed);
    failed.map(|check| check.name.as_str()).collect()
}

/// Two directions, 24 candidates, boundaries at every unit.
fn depth_pack() -> Vec<u8> {
    let boundaries: Vec<i32> = (0..255).map(|i| i - 127).collect();
    let codes = |step: usize| (0..24).map(|c| (100 + c * step % 56) as u8).collect();
    DepthParts {
        dimension: 2,
        exponent: 3,
        shift: 3,
        directions: vec![vec![8, 0], vec![0, 8]],
        boundaries: vec![boundaries; 2],
        codes: vec![codes(5), codes(23)],
    }
    .to_pack()
}

/// Six kinds of sentences, five candidates, scores of 0 to 4.
fn score_parts() -> ScoreParts {
    let table = [
        [4, 0, 0, 0, 0],
        [0, 4, 0, 0, 0],
        [0, 0, 4, 4, 4],
        [4, 4, 0, 2, 1],
        [0, 4, 4, 4, 4],
        [1, 2, 3, 4, 0],
    ];
    ScoreParts::of_table(&table.map(|row| row.to_vec()), 4)
}

/// 40 words in a plane.
fn words_pack() -> Vec<u8> {
    let vectors = (0i32..40).map(|i| vec![(i * 37 % 101 - 50) as i8, (i * 53 % 97 - 48) as i8]);
    let lexicon = LexiconParts::of_vectors(vectors.collect(), -4);
    undertone_tests::packs::pack(2, &[lexicon.to_section()])
}

/// Twice an ε: what is spent by a mechanism that takes ε for ε/2.
fn doubled(epsilon: Epsilon) -> Epsilon {
    Epsilon::from_micro(2 * epsilon.micro()).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    None,
    /// The weights of 2ε.
    DoubledEpsilon,
    /// Levels of some candidates are one worse if an odd number of sentences is on one side.
    OffByOne,
    /// A sentence counts twice.
    OffByTwo,
    /// The ratio for a largest score that is smaller by one.
    RatioOfOneLess,
    /// The promise for the whole text is that of a pack with one level less.
    PromiseOfOneLess,
    /// Sentences after the hundredth count twice.
    LateTwice,
    /// A sentence is compared with the norm of the one before it.
    NormBefore,
    /// The difference of a candidate to the best has eight bits.
    Wrapped,
}

/// The embedding of a sentence.
fn row(sentence: &Sentence) -> &[f32] {
    match sentence {
        Sentence::Embedding(row) => row,
        Sentence::Text(_) => unreachable!("embeddings are audited"),
    }
}

/// A sentence mechanism of `core` with a bug.
struct Planted<'p>(CoreSentences<'p>, Bug);

impl<'p> Planted<'p> {
    fn new(bytes: &'p [u8], bug: Bug) -> Self {
        let pack = Pack::parse(bytes).unwrap();
        Self(CoreSentences::new(&pack).unwrap().unwrap(), bug)
    }

    fn audit(&self) -> Vec<Check> {
        // The longest documents are tried after many others.
        let is_late = matches!(self.1, Bug::LateTwice | Bug::NormBefore | Bug::Wrapped);
        let options = options();
        let least = if is_late { 30_000 } else { 0 };
        let neighbours = options.neighbours.max(least);
        sentences::check(
            self,
            &[],
            &Options {
                neighbours,
                ..options
            },
        )
    }

    /// Exclusive upper bound of the levels.
    fn bound(&self) -> usize {
        self.0.table(Epsilon::MAX, Rule::Exponential).len()
    }

    /// The levels of scores by the definition, except for the bug.
    fn scored(&self, sentences: &[&Sentence]) -> Vec<u8> {
        let parts = score_parts();
        let rows: Vec<&[f32]> = sentences.iter().map(|sentence| row(sentence)).collect();
        let norm = |row: &[f32]| {
            let fixed = row.iter().map(|x| naive_fixed(x.to_bits(), parts.exponent));
            fixed.map(|x| x * x).sum::<i64>().isqrt().max(1)
        };
        let Scoring::Graded(thresholds) = &parts.scoring else {
            unreachable!("scores are graded")
        };
        let mut sums = vec![0i64; self.candidates()];
        for (index, row) in rows.iter().enumerate() {
            let times = match self.1 {
                Bug::LateTwice if index >= 100 => 2,
                _ => 1,
            };
            let other = match self.1 {
                Bug::NormBefore if index > 0 => norm(rows[index - 1]),
                _ => norm(row),
            };
            for (sum, value) in sums.iter_mut().zip(parts.naive_values(row, &[])) {
                let z = value * norm(row);
                let reached = thresholds.iter().filter(|t| i64::from(**t) * other <= z);
                *sum += times * reached.count() as i64;
            }
        }
        let best = sums.iter().max().copied().unwrap_or(0);
        let most = self.bound() as i64 - 1;
        let level = |sum: &i64| match self.1 {
            Bug::Wrapped => (best - sum) % 256,
            _ => best - sum,
        };
        sums.iter().map(|sum| level(sum).min(most) as u8).collect()
    }
}

impl Engine for Planted<'_> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn candidates(&self) -> usize {
        self.0.candidates()
    }

    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128> {
        let table = self.0.table(epsilon, rule);
        match self.1 {
            Bug::DoubledEpsilon => self.0.table(doubled(epsilon), rule),
            Bug::RatioOfOneLess => {
                let less = NonZero::new(self.0.steps().get() - 1).unwrap();
                let weights = Ratio::per_step(epsilon, less).weights(rule);
                weights.take(table.len()).collect()
            }
            _ => table,
        }
    }
}

impl Sentences for Planted<'_> {
    fn core(&self) -> &CoreSentences<'_> {
        &self.0
    }

    fn levels(&self, sentences: &[&Sentence]) -> Vec<u8> {
        let mut levels = self.0.levels(sentences);
        let most = self.bound() as u8 - 1;
        match self.1 {
            Bug::OffByOne => {
                let rows = sentences.iter().map(|sentence| row(sentence));
                let moved = rows.filter(|x| x[0] < 0.0).count() % 2 == 1;
                for level in levels.iter_mut().step_by(2) {
                    *level = (*level + u8::from(moved)).min(most);
                }
            }
            Bug::OffByTwo => {
                for level in &mut levels {
                    *level = level.saturating_mul(2).min(most);
                }
            }
            Bug::LateTwice | Bug::NormBefore | Bug::Wrapped => return self.scored(sentences),
            _ => {}
        }
        levels
    }

    fn whole_text_loss(&self, epsilon: Epsilon, rule: Rule) -> f64 {
        if self.1 != Bug::PromiseOfOneLess {
            return self.0.whole_text_loss(epsilon, rule);
        }
        let levels = self.bound() - 1;
        let less = ScoreParts {
            levels,
            ..score_parts()
        };
        Planted::new(&less.to_pack(), Bug::None).whole_text_loss(epsilon, rule)
    }
}

#[test]
fn without_a_bug_all_checks_pass_and_losses_come_near() {
    for bytes in [depth_pack(), score_parts().to_pack()] {
        let checks = Planted::new(&bytes, Bug::None).audit();
        assert_eq!(failed(&checks), BTreeSet::new());
        let names: BTreeSet<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        let expected = LEVELS.into_iter().chain(LOSSES).chain([EXCHANGED]);
        assert_eq!(names, expected.collect());
        for check in checks {
            let losses = LOSSES.contains(&check.name.as_str());
            assert!(!losses || check.measured > 0.7 * check.claimed, "{check}");
            assert!(!losses || check.tried > 200, "{check}");
        }
    }
}

/// Votes are compared, graded scores are not: a pack with a largest score of 1 does not vote.
#[test]
fn mechanisms_are_called_what_they_are() {
    let golden = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
        std::fs::read(path.join(name)).unwrap()
    };
    let graded = ScoreParts::of_table(&[vec![1, 0], vec![0, 1]], 1).to_pack();
    for (bytes, name) in [
        (graded, "scores"),
        (golden("golden-scores.pack"), "recoded scores"),
        (golden("golden-vote.pack"), "votes"),
        (golden("golden.pack"), "depth"),
    ] {
        let pack = Pack::parse(&bytes).unwrap();
        let mechanism = CoreSentences::new(&pack).unwrap().unwrap();
        assert_eq!(mechanism.name(), name);
    }
}

#[test]
fn wrong_mechanisms_of_sentences_are_found() {
    let (depth, scores) = (depth_pack(), score_parts().to_pack());
    let all = [LEVELS, LOSSES].concat();
    let of_added = [LEVELS[1], LOSSES[1]];
    for (pack, bug, names) in [
        (&depth, Bug::DoubledEpsilon, &LOSSES[..]),
        (&scores, Bug::DoubledEpsilon, &LOSSES),
        (&depth, Bug::OffByOne, &of_added),
        (&scores, Bug::OffByOne, &of_added),
        (&depth, Bug::OffByTwo, &all),
        (&scores, Bug::OffByTwo, &all),
        (&scores, Bug::RatioOfOneLess, &LOSSES),
        (&scores, Bug::LateTwice, &LEVELS[1..]),
        (&scores, Bug::NormBefore, &LEVELS[1..]),
        (&scores, Bug::Wrapped, &LEVELS[1..]),
    ] {
        let checks = Planted::new(pack, bug).audit();
        let found = failed(&checks);
        let are_found = names.iter().all(|name| found.contains(name));
        assert!(are_found, "{bug:?}: {found:?} failed, not {names:?}");
    }
    // The planted code without its bug.
    let planted = Planted::new(&scores, Bug::None);
    let row = |at: i32| (at..at + 6).map(|i| (i * i % 7 - 3) as f32).collect();
    let sentences: Vec<Sentence> = (0..20).map(row).map(Sentence::Embedding).collect();
    let sentences: Vec<&Sentence> = sentences.iter().collect();
    for n in 0..20 {
        let sentences = &sentences[..n];
        assert_eq!(planted.scored(sentences), planted.levels(sentences));
    }
}

/// Levels of a pack that has one more than the promise for the whole text assumes.
#[test]
fn a_promise_for_one_level_less_is_found() {
    let bytes = ScoreParts {
        levels: 6,
        ..score_parts()
    }
    .to_pack();
    for (bug, expected) in [
        (Bug::None, vec![]),
        (Bug::PromiseOfOneLess, vec![EXCHANGED]),
    ] {
        let checks = Planted::new(&bytes, bug).audit();
        assert_eq!(failed(&checks), BTreeSet::from_iter(expected));
        for check in checks.iter().filter(|check| check.name == EXCHANGED) {
            assert!(check.measured > 0.9 * check.claimed, "{check}");
        }
    }
}

/// Bugs of the whole-text rule and of projective geometry response.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WholeBug {
    None,
    /// All candidates that tie for the best have the best one's weight.
    TiesCount,
    /// Every second outcome prefers one point less, so the normaliser moves.
    Moving,
    /// Nothing is released if nothing is known.
    Silent,
    /// The weights of 2ε, in the geometry of ε.
    DoubledEpsilon,
}

impl WholeBug {
    const ALL: [Self; 5] = [
        Self::None,
        Self::TiesCount,
        Self::Moving,
        Self::Silent,
        Self::DoubledEpsilon,
    ];
}

/// A whole-text mechanism of `core` with a bug.
struct PlantedWhole<'p> {
    mechanism: CoreWholeText<'p>,
    pack: Pack<'p>,
    bug: WholeBug,
}

impl PlantedWhole<'_> {
    fn best(&self, document: &[Sentence]) -> u32 {
        hazmat::best(&device::document(&self.pack, document).unwrap()).unwrap()
    }
}

/// The candidates with the largest value.
fn tied(document: &[Sentence]) -> Vec<usize> {
    let parts = score_parts();
    let values = document
        .iter()
        .map(|sentence| parts.naive_values(row(sentence), &[]));
    let sum = |a: Vec<i64>, b: Vec<i64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let sums = values.reduce(sum).unwrap_or_default();
    let best = sums.iter().max();
    (0..sums.len())
        .filter(|c| Some(&sums[*c]) == best)
        .collect()
}

impl WholeText for PlantedWhole<'_> {
    type Input = Vec<Sentence>;

    fn name(&self) -> String {
        self.mechanism.name()
    }

    fn law(&self, document: &Self::Input, epsilon: Epsilon) -> Option<Vec<f64>> {
        let mut law = self.mechanism.law(document, epsilon)?;
        let most = law.iter().copied().fold(0.0, f64::max);
        let least = law.iter().copied().fold(1.0, f64::min);
        let is_nothing = self.is_nothing(document);
        match self.bug {
            WholeBug::Silent if is_nothing => return None,
            WholeBug::TiesCount if !is_nothing => {
                tied(document).iter().for_each(|c| law[*c] = most)
            }
            WholeBug::Moving if self.best(document) % 2 == 1 => {
                let preferred = law.iter().position(|p| *p == most)?;
                law[preferred] = least;
            }
            // The loss of a probability is ln(most/least).
            WholeBug::DoubledEpsilon => law.iter_mut().for_each(|p| *p *= *p / least),
            _ => {}
        }
        let total: f64 = law.iter().sum();
        Some(law.iter().map(|p| p / total).collect())
    }

    fn is_nothing(&self, document: &Self::Input) -> bool {
        self.mechanism.is_nothing(document)
    }

    fn releases(
        &self,
        _: &mut dyn Device,
        _: &[&Self::Input],
        _: Epsilon,
        _: usize,
    ) -> Result<Vec<u32>> {
        unreachable!("no device is audited")
    }
}

/// Documents of no sentence, of one without a known word, and of one of each kind.
fn kinds() -> Vec<Vec<Sentence>> {
    let rows = (0..6).map(|kind| score_parts().one_hot(kind));
    let rows = rows.chain([vec![0.0; 6]]).map(Sentence::Embedding);
    rows.map(|row| vec![row]).chain([Vec::new()]).collect()
}

/// Without the outcome "nothing known" the mechanisms have other numbers.
#[test]
fn wrong_mechanisms_of_whole_texts_are_found() {
    let documents = kinds();
    let with = score_parts().to_pack();
    let without = without_nothing_known(with.clone());
    for (bytes, method, bug) in [with, without].iter().flat_map(|bytes| {
        let methods = [Released::WholeText, Released::Projective];
        let of = move |method| WholeBug::ALL.map(|bug| (bytes, method, bug));
        methods.into_iter().flat_map(of)
    }) {
        let pack = Pack::parse(bytes).unwrap();
        let expected = match (bug, method) {
            (WholeBug::None, _) => None,
            // Points can move, and candidates can tie.
            (WholeBug::Moving, Released::WholeText) => continue,
            (WholeBug::TiesCount, Released::Projective) => continue,
            (WholeBug::Silent, _) if !pack.has_nothing_known() => continue,
            (WholeBug::Silent, _) => Some(REFUSED),
            _ => Some(EXCHANGED),
        };
        let mechanism = CoreWholeText::new(&pack, method).unwrap().unwrap();
        let planted = PlantedWhole {
            mechanism,
            pack,
            bug,
        };
        let checks = whole_text::check(&planted, &documents, &options());
        assert_eq!(checks.len(), 4);
        let expected = BTreeSet::from_iter(expected);
        assert_eq!(failed(&checks), expected, "{method:?} {bug:?}");
        for check in checks.iter().filter(|check| check.name == EXCHANGED) {
            assert!(check.measured > 0.9999 * check.claimed, "{check}");
        }
    }
}

/// The words of `core`, with the weights of 8ε if the flag is set.
struct PlantedWords<'p>(CoreWords<'p>, bool);

impl Engine for PlantedWords<'_> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn candidates(&self) -> usize {
        self.0.candidates()
    }

    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128> {
        let spent = doubled(doubled(doubled(epsilon)));
        self.0.table(if self.1 { spent } else { epsilon }, rule)
    }
}

impl Words for PlantedWords<'_> {
    fn fallback(&self) -> u32 {
        self.0.fallback()
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        self.0.distance(a, b)
    }

    fn unit(&self) -> f64 {
        self.0.unit()
    }

    fn levels(&self, word: u32) -> Vec<u8> {
        self.0.levels(word)
    }
}

#[test]
fn words_that_spend_too_much_are_found() {
    let bytes = words_pack();
    let pack = Pack::parse(&bytes).unwrap();
    for is_wrong in [false, true] {
        let mechanism = PlantedWords(CoreWords::new(&pack).unwrap(), is_wrong);
        let checks = words::check(&mechanism, &options());
        assert_eq!(failed(&checks).is_empty(), !is_wrong);
        let check = &checks[0];
        assert!(
            check.measured > 0.3 * check.claimed && check.tried == 780,
            "{check}"
        );
    }
}
