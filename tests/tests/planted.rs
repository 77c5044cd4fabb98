//! The auditor audited: an audit must find planted bugs, each by the check that is made for it. The
//! same mechanisms without the bug pass.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};

use undertone::encoder::{Encoder, EncoderIdentity, LexiconEncoder};
use undertone::error::Result;
use undertone_audit::exact::inside::{
    CoreProjective, CoreSentences, CoreWholeText, CoreWords, Engine, Sentences, WholeText, Words,
};
use undertone_audit::exact::{encoders, sentences, whole_text, words};
use undertone_audit::sampled::device::{Device, Document};
use undertone_audit::{Check, Mechanism, Options};
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::rng::below;
use undertone_core::rng::rand_core::Rng;
use undertone_core::select::{Ratio, Rule, SliceLevels};
use undertone_tests::packs::{
    DepthParts, LexiconParts, PhrasesParts, ScoreParts, Scoring, naive_fixed,
};

const TABLE: &str = "table of weights";
const DRAWS: &str = "draws by the table";
const DEFINITION: &str = "draws by the definition";
const WAYS: &str = "levels by every way to push";
const LEVELS: [&str; 2] = [
    "levels of replaced sentences",
    "levels of added and removed sentences",
];
const EXCHANGED: &str = "loss of an exchanged text";
const POINTS: &str = "draws by the weights";
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
fn score_pack() -> Vec<u8> {
    score_parts().to_pack()
}

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

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    None,
    /// The weights of 2ε.
    DoubledEpsilon,
    /// Levels of some candidates are one worse if an odd number of sentences is on one side.
    OffByOne,
    /// A sentence counts twice.
    OffByTwo,
    /// Weights are rounded down, step by step.
    RoundedDown,
    /// The ratio of neighbouring weights is rounded down, the weights are not.
    RatioRoundedDown,
    /// Weights by the level, not by its difference to the best.
    RelativeToZero,
    /// The ratio for a largest score that is smaller by one.
    RatioOfOneLess,
    /// The rank of a candidate is drawn from the heads of its level.
    RankAmongHeads,
    /// The coins of an incomplete last batch are those of the batch before; only with more
    /// candidates than this.
    CoinsReused(usize),
    /// Sentences after the hundredth count twice.
    LateTwice,
    /// The same, but only if they are pushed one by one.
    LatePush,
    /// A sentence is compared with the norm of the one before it.
    NormBefore,
    /// The difference of a candidate to the best has eight bits.
    Wrapped,
    /// State that a clear should wipe affects the next document.
    NotCleared,
    /// A phrase may begin in one sentence and end in the next.
    PhraseAcross,
}

/// A sentence mechanism of `core` with a bug.
struct Planted<'p>(CoreSentences<'p>, Bug);

impl<'p> Planted<'p> {
    fn new(bytes: &'p [u8], bug: Bug) -> Self {
        let pack = Pack::parse(bytes).unwrap();
        Self(CoreSentences::new(&pack).unwrap().unwrap(), bug)
    }

    fn audit(&self) -> Vec<Check> {
        sentences::check(self, &[], &options())
    }

    /// With enough neighbours to try the longest documents.
    fn audit_long(&self) -> Vec<Check> {
        let neighbours = options().neighbours.max(30_000);
        let options = Options {
            neighbours,
            ..options()
        };
        sentences::check(self, &[], &options)
    }

    fn epsilon(&self, epsilon: Epsilon) -> Epsilon {
        match self.1 {
            Bug::DoubledEpsilon => Epsilon::from_micro(2 * epsilon.micro()).unwrap(),
            _ => epsilon,
        }
    }

    /// Permute-and-flip by the definition, except for the bug.
    fn flip(&self, levels: &[u8], epsilon: Epsilon, rng: &mut dyn Rng) -> u32 {
        const BATCH: usize = 32;
        let table = self.table(epsilon, Rule::PermuteAndFlip);
        let best = levels.iter().min().copied().unwrap();
        let mut order: Vec<usize> = (0..levels.len()).collect();
        order.sort_by_key(|candidate| levels[*candidate]);
        let mut words = [0; BATCH];
        let mut heads = Vec::new();
        for batch in order.chunks(BATCH) {
            let fresh: Vec<u64> = batch.iter().map(|_| rng.next_u64()).collect();
            let reused = match self.1 {
                Bug::CoinsReused(more) => order.len() > more && batch.len() < BATCH,
                _ => false,
            };
            if !reused {
                words[..batch.len()].copy_from_slice(&fresh);
            }
            let tossed = batch.iter().zip(words);
            let weight = |candidate: usize| table[usize::from(levels[candidate] - best)];
            let tossed = tossed.filter(|(candidate, word)| u128::from(*word) < weight(**candidate));
            heads.extend(tossed.map(|(candidate, _)| *candidate));
        }
        let head = heads[below(rng, heads.len() as u128) as usize];
        let same = |candidate: &&usize| levels[**candidate] == levels[head];
        let among = match self.1 {
            Bug::RankAmongHeads => &heads,
            _ => &order,
        };
        let among: Vec<&usize> = among.iter().filter(same).collect();
        *among[below(rng, among.len() as u128) as usize] as u32
    }

    /// The levels of scores by the definition, except for the bug.
    fn scored(&self, sentences: &[f32]) -> Vec<u8> {
        let parts = score_parts();
        let rows: Vec<&[f32]> = sentences.chunks(self.dimension()).collect();
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

/// Puts a sentence before another one if the two make a phrase.
fn across(before: &str, sentence: &str) -> String {
    match [before, sentence] {
        ["w00000", "w00001"] => format!("{before} {sentence}"),
        _ => sentence.to_owned(),
    }
}

/// The methods of [`Engine`] that a planted bug does not change.
macro_rules! public_facts_of_the_engine_inside {
    () => {
        fn name(&self) -> String {
            self.0.name()
        }

        fn candidates(&self) -> usize {
            self.0.candidates()
        }

        fn bound(&self) -> usize {
            self.0.bound()
        }

        fn steps(&self) -> NonZero<u8> {
            self.0.steps()
        }

        fn exponent(&self) -> i32 {
            self.0.exponent()
        }
    };
}

impl Engine for Planted<'_> {
    public_facts_of_the_engine_inside!();

    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128> {
        let first = rule.first_weight();
        let constant = Ratio::per_step(epsilon, self.steps()).constant();
        let table = |next: &dyn Fn(u128) -> u128| -> Vec<u128> {
            let weights = std::iter::successors(Some(first), |weight| Some(next(*weight)));
            weights.take(self.bound()).collect()
        };
        match self.1 {
            Bug::RatioOfOneLess => {
                let less = NonZero::new(self.steps().get() - 1).unwrap();
                let weights = Ratio::per_step(epsilon, less).weights(rule);
                weights.take(self.bound()).collect()
            }
            Bug::RoundedDown => table(&|weight| (weight * u128::from(constant)) >> 64),
            // By 5: the table is 4 above the value that was rounded up.
            Bug::RatioRoundedDown => table(&|weight| {
                let product = weight * u128::from(constant - 5);
                product.div_ceil(1 << 64).max(1)
            }),
            _ => self.0.table(self.epsilon(epsilon), rule),
        }
    }

    fn draw(&self, levels: &[u8], epsilon: Epsilon, rule: Rule, rng: &mut dyn Rng) -> u32 {
        match (self.1, rule) {
            (Bug::RankAmongHeads | Bug::CoinsReused(_), Rule::PermuteAndFlip) => {
                return self.flip(levels, epsilon, rng);
            }
            (Bug::RelativeToZero, _) => {}
            _ => return self.0.draw(levels, self.epsilon(epsilon), rule, rng),
        }
        let table = self.table(epsilon, rule);
        let weights = levels.iter().map(|level| table[usize::from(*level)]);
        let shares: Vec<u128> = match rule {
            Rule::Exponential => weights.collect(),
            Rule::PermuteAndFlip => weights
                .map(|weight| u128::from(u128::from(rng.next_u64()) < weight))
                .collect(),
        };
        let mut left = u128::from(below(rng, shares.iter().sum()));
        for (candidate, share) in (0..).zip(&shares) {
            if left < *share {
                return candidate;
            }
            left -= share;
        }
        0
    }
}

impl Sentences for Planted<'_> {
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn levels(&self, sentences: &[f32]) -> Vec<u8> {
        let mut levels = self.0.levels(sentences);
        let most = self.bound() as u8 - 1;
        match self.1 {
            Bug::OffByOne => {
                let sentences = sentences.chunks(self.dimension());
                let moved = sentences.filter(|x| x[0] < 0.0).count() % 2 == 1;
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

    fn ways(&self, document: &Document) -> Vec<(&'static str, Vec<u8>)> {
        let mut ways = self.0.ways(document);
        let mut change = |changed: &str, levels: Vec<u8>| {
            let way = ways.iter_mut().find(|(way, _)| *way == changed);
            way.expect("there is this way").1 = levels;
        };
        match (self.1, document) {
            (Bug::LatePush, Document::Embeddings(rows)) => {
                let bytes = score_pack();
                let late = Planted::new(&bytes, Bug::LateTwice);
                change("push", late.scored(&rows[..rows.len().min(128)].concat()));
            }
            (Bug::NotCleared, Document::Embeddings(rows)) => {
                let twice = [&rows[..], rows].concat();
                change("push after a clear", self.0.levels(&twice.concat()));
            }
            (Bug::PhraseAcross, Document::Texts(texts)) if !texts.is_empty() => {
                let before = std::iter::once("").chain(texts.iter().map(String::as_str));
                let texts = before.zip(texts).map(|(before, text)| across(before, text));
                let (_, levels) = self
                    .0
                    .ways(&Document::Texts(texts.collect()))
                    .swap_remove(0);
                change("push_text", levels);
            }
            _ => {}
        }
        ways
    }

    fn typed(&self) -> Vec<String> {
        self.0.typed()
    }

    fn directions(&self) -> Vec<Vec<f32>> {
        self.0.directions()
    }

    fn whole_text_loss(&self, epsilon: Epsilon, rule: Rule) -> f64 {
        self.0.whole_text_loss(epsilon, rule)
    }
}

/// Audits the mechanism with the bug, on both packs; these checks must be among those that fail.
fn must_fail(bug: Bug, by: &[&str]) {
    for bytes in [depth_pack(), score_pack()] {
        must_fail_on(&bytes, bug, by);
    }
}

/// The same on one pack.
fn must_fail_on(bytes: &[u8], bug: Bug, by: &[&str]) {
    let checks = Planted::new(bytes, bug).audit();
    let found = failed(&checks);
    for name in by {
        assert!(
            found.contains(name),
            "{}: {name} passed; {found:?} failed",
            checks[0].mechanism
        );
    }
}

#[test]
fn without_a_bug_all_checks_pass_and_losses_come_near() {
    for bytes in [depth_pack(), score_pack()] {
        let checks = Planted::new(&bytes, Bug::None).audit();
        assert_eq!(failed(&checks), BTreeSet::new());
        let names: BTreeSet<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        let expected = [TABLE, DRAWS, DEFINITION, WAYS, EXCHANGED];
        let expected = expected.into_iter().chain(LEVELS);
        let expected = expected.chain(LOSSES);
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
fn an_epsilon_that_should_be_halved_is_found() {
    must_fail(Bug::DoubledEpsilon, &[TABLE, LOSSES[0], LOSSES[1]]);
}

#[test]
fn a_level_off_by_one_is_found() {
    must_fail(Bug::OffByOne, &[LEVELS[1], LOSSES[1]]);
}

#[test]
fn a_level_off_by_two_is_found() {
    must_fail(Bug::OffByTwo, &[LEVELS[0], LEVELS[1], LOSSES[0], LOSSES[1]]);
}

#[test]
fn a_table_that_is_rounded_down_is_found() {
    must_fail(Bug::RoundedDown, &[TABLE]);
    // The difference is too small for any loss and shows only in integers.
    must_fail(Bug::RatioRoundedDown, &[TABLE]);
    let bytes = depth_pack();
    let checks = Planted::new(&bytes, Bug::RatioRoundedDown).audit();
    assert!(!failed(&checks).contains(LOSSES[0]));
}

#[test]
fn weights_relative_to_level_0_are_found() {
    must_fail(Bug::RelativeToZero, &[DRAWS]);
    let bytes = score_pack();
    let checks = Planted::new(&bytes, Bug::RelativeToZero).audit();
    assert_eq!(failed(&checks), BTreeSet::from([DRAWS, DEFINITION]));
}

#[test]
fn the_ratio_of_a_largest_score_that_is_off_by_one_is_found() {
    must_fail_on(
        &score_pack(),
        Bug::RatioOfOneLess,
        &[TABLE, LOSSES[0], LOSSES[1]],
    );
}

/// Only the definition reveals these bugs, not two candidates.
#[test]
fn coins_that_are_reused_and_ranks_among_heads_are_found() {
    for bug in [
        Bug::RankAmongHeads,
        Bug::CoinsReused(32),
        Bug::CoinsReused(64),
    ] {
        for bytes in [depth_pack(), score_pack()] {
            let checks = Planted::new(&bytes, bug).audit();
            assert_eq!(failed(&checks), BTreeSet::from([DEFINITION]));
        }
    }
    // The planted code without its bug.
    let bytes = score_pack();
    let checks = Planted::new(&bytes, Bug::CoinsReused(usize::MAX)).audit();
    assert_eq!(failed(&checks), BTreeSet::new());
}

#[test]
fn sentences_that_count_for_more_than_themselves_are_found() {
    let bytes = score_pack();
    for bug in [Bug::LateTwice, Bug::NormBefore, Bug::Wrapped] {
        let checks = Planted::new(&bytes, bug).audit_long();
        let found = failed(&checks);
        assert!(found.contains(LEVELS[1]), "{bug:?}: {found:?}");
    }
    // The planted code without its bug.
    let planted = Planted::new(&bytes, Bug::None);
    for rows in 0..20 {
        let rows: Vec<f32> = (0..rows * 6).map(|i| (i * i % 7 - 3) as f32).collect();
        assert_eq!(planted.scored(&rows), planted.levels(&rows));
    }
}

/// Bugs in only one of the two ways to push sentences.
#[test]
fn ways_to_push_that_differ_are_found() {
    let lexicon = LexiconParts::of_vectors((0..40).map(|i| vec![i, 40 - i]).collect(), -4);
    let phrases = PhrasesParts {
        pairs: vec![[0, 1]],
        weights: vec![u16::MAX],
        vectors: vec![vec![127, -127]],
    };
    let scores = ScoreParts {
        weights: vec![vec![64, 0], vec![0, 64]],
        scoring: Scoring::Graded((1..5).map(|i| 256 * 12 * i).collect()),
        ..ScoreParts::of_table(&[vec![4, 0], vec![0, 4]], 4)
    };
    let sections = [
        lexicon.to_section(),
        phrases.to_section(),
        scores.to_section(),
    ];
    let typed = undertone_tests::packs::pack(2, &sections);
    for (bytes, bug) in [
        (&score_pack(), Bug::LatePush),
        (&score_pack(), Bug::NotCleared),
        (&typed, Bug::PhraseAcross),
    ] {
        let checks = Planted::new(bytes, bug).audit();
        assert_eq!(failed(&checks), BTreeSet::from([WAYS]), "{bug:?}");
    }
    let checks = Planted::new(&typed, Bug::None).audit();
    assert_eq!(failed(&checks), BTreeSet::new());
}

/// Levels of a pack that has one more than the promise for the whole text assumes.
#[test]
fn a_cap_that_is_off_by_one_is_found() {
    let with = |levels| ScoreParts {
        levels,
        ..score_parts()
    };
    let [five, six] = [5, 6].map(|levels| with(levels).to_pack());
    for (promised, levels, expected) in [
        (&five, &five, vec![]),
        (&six, &six, vec![]),
        (&five, &six, vec![EXCHANGED]),
    ] {
        let mechanism = OtherPromise {
            promised: Planted::new(promised, Bug::None),
            levels: Planted::new(levels, Bug::None),
        };
        let checks = sentences::check(&mechanism, &[], &options());
        assert_eq!(failed(&checks), BTreeSet::from_iter(expected));
        for check in checks.iter().filter(|check| check.name == EXCHANGED) {
            assert!(check.measured > 0.9 * check.claimed, "{check}");
        }
    }
}

/// A mechanism that states another one's promise for the whole text.
struct OtherPromise<'p> {
    promised: Planted<'p>,
    levels: Planted<'p>,
}

impl Engine for OtherPromise<'_> {
    fn name(&self) -> String {
        self.levels.name()
    }

    fn candidates(&self) -> usize {
        self.levels.candidates()
    }

    fn bound(&self) -> usize {
        self.levels.bound()
    }

    fn steps(&self) -> NonZero<u8> {
        self.levels.steps()
    }

    fn exponent(&self) -> i32 {
        self.levels.exponent()
    }

    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128> {
        self.levels.table(epsilon, rule)
    }

    fn draw(&self, levels: &[u8], epsilon: Epsilon, rule: Rule, rng: &mut dyn Rng) -> u32 {
        self.levels.draw(levels, epsilon, rule, rng)
    }
}

impl Sentences for OtherPromise<'_> {
    fn dimension(&self) -> usize {
        self.levels.dimension()
    }

    fn levels(&self, sentences: &[f32]) -> Vec<u8> {
        self.levels.levels(sentences)
    }

    fn ways(&self, document: &Document) -> Vec<(&'static str, Vec<u8>)> {
        self.levels.ways(document)
    }

    fn typed(&self) -> Vec<String> {
        self.levels.typed()
    }

    fn directions(&self) -> Vec<Vec<f32>> {
        self.levels.directions()
    }

    fn whole_text_loss(&self, epsilon: Epsilon, rule: Rule) -> f64 {
        self.promised.whole_text_loss(epsilon, rule)
    }
}

/// Bugs of the whole-text rule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WholeBug {
    None,
    /// Permute-and-flip, whose normaliser moves with the text.
    Flipped,
    /// All candidates that tie for the best have the best one's weight.
    TiesCount,
    /// Nothing is released if nothing is known.
    Silent,
    /// The weights of 2ε.
    DoubledEpsilon,
}

struct PlantedWhole<'p> {
    rule: CoreWholeText<'p>,
    parts: ScoreParts,
    bug: WholeBug,
}

impl PlantedWhole<'_> {
    /// The candidates with the largest value.
    fn best(&self, document: &Document) -> Vec<usize> {
        let Document::Embeddings(rows) = document else {
            unreachable!("embeddings are audited")
        };
        let values = rows.iter().map(|row| self.parts.naive_values(row, &[]));
        let sum = |a: Vec<i64>, b: Vec<i64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let sums = values.reduce(sum).unwrap_or_default();
        let best = sums.iter().max();
        (0..sums.len())
            .filter(|c| Some(&sums[*c]) == best)
            .collect()
    }

    fn epsilon(&self, epsilon: Epsilon) -> Epsilon {
        match self.bug {
            WholeBug::DoubledEpsilon => Epsilon::from_micro(2 * epsilon.micro()).unwrap(),
            _ => epsilon,
        }
    }
}

impl WholeText for PlantedWhole<'_> {
    fn name(&self) -> String {
        self.rule.name()
    }

    fn weights(&self, document: &Document, epsilon: Epsilon) -> Option<Vec<u128>> {
        let mut weights = self.rule.weights(document, self.epsilon(epsilon))?;
        let most = weights.iter().max().copied()?;
        if weights.last() == Some(&most) {
            return (self.bug != WholeBug::Silent).then_some(weights);
        }
        if self.bug == WholeBug::TiesCount {
            self.best(document).iter().for_each(|c| weights[*c] = most);
        }
        Some(weights)
    }

    fn is_nothing(&self, document: &Document, weights: &[u128]) -> bool {
        self.rule.is_nothing(document, weights)
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn releases(&self, _: &mut dyn Device, _: &[usize], _: Epsilon, _: usize) -> Result<Vec<u32>> {
        unreachable!("no device is audited")
    }

    fn draw(&self, document: &Document, epsilon: Epsilon, rng: &mut dyn Rng) -> Option<u32> {
        let weights = self.weights(document, epsilon)?;
        let most = weights.iter().max()?;
        let levels: Vec<u8> = weights.iter().map(|w| u8::from(w != most)).collect();
        let levels = SliceLevels {
            levels: &levels,
            bound: 2,
        };
        let rule = match self.bug {
            WholeBug::Flipped => Rule::PermuteAndFlip,
            WholeBug::TiesCount => Rule::Exponential,
            _ => return self.rule.draw(document, self.epsilon(epsilon), rng),
        };
        hazmat::select::<2, _>(&levels, rule, Ratio::per_unit(epsilon, 1), rng).ok()
    }
}

/// Documents of no sentence, of one without a known word, and of one of each kind.
fn kinds() -> Vec<Document> {
    let rows = (0..6).map(|kind| vec![score_parts().one_hot(kind)]);
    let silent = [vec![], vec![vec![0.0; 6]]];
    silent
        .into_iter()
        .chain(rows)
        .map(Document::Embeddings)
        .collect()
}

#[test]
fn whole_text_rules_that_are_wrong_are_found() {
    let bytes = score_parts().to_pack();
    let pack = Pack::parse(&bytes).unwrap();
    let documents = kinds();
    for (bug, expected) in [
        (WholeBug::None, vec![]),
        (WholeBug::Flipped, vec!["draws by the weights"]),
        (WholeBug::TiesCount, vec![EXCHANGED]),
        (WholeBug::Silent, vec!["texts refused"]),
        (WholeBug::DoubledEpsilon, vec![EXCHANGED]),
    ] {
        let mechanism = PlantedWhole {
            rule: CoreWholeText::new(&pack).unwrap().unwrap(),
            parts: score_parts(),
            bug,
        };
        let checks = whole_text::check(&mechanism, &documents, &options());
        assert_eq!(checks.len(), 6);
        assert_eq!(failed(&checks), BTreeSet::from_iter(expected), "{bug:?}");
        for check in checks.iter().filter(|check| check.name == EXCHANGED) {
            assert!(check.measured > 0.9999 * check.claimed, "{check}");
        }
    }
}

/// Bugs of projective geometry response.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PointBug {
    None,
    /// A draw outside the preferred set is from all points.
    AllPoints,
    /// The text's outcome is one too large when the set is made, and right when its member is
    /// drawn.
    OtherSet,
    /// Every second outcome prefers one point less, so the normaliser moves.
    Moving,
    /// The weights of 1.1·ε.
    Spent,
    /// Nothing is released if nothing is known.
    Silent,
}

struct PlantedPoints<'p>(CoreProjective<'p>, Pack<'p>, PointBug);

impl PlantedPoints<'_> {
    fn epsilon(&self, epsilon: Epsilon) -> Epsilon {
        match self.2 {
            PointBug::Spent => Epsilon::from_micro(epsilon.micro() / 10 * 11).unwrap(),
            _ => epsilon,
        }
    }

    fn best(&self, document: &Document) -> u32 {
        hazmat::best(&document.inside(&self.1).unwrap()).unwrap()
    }
}

impl WholeText for PlantedPoints<'_> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn weights(&self, document: &Document, epsilon: Epsilon) -> Option<Vec<u128>> {
        let mut weights = match self.2 {
            // In the geometry of the requested ε.
            PointBug::Spent => {
                let (first, other) = Geometry::weights(self.epsilon(epsilon));
                let weights = self.0.weights(document, epsilon)?;
                let most = weights.iter().max().copied();
                let weight = |w: u128| if Some(w) == most { first } else { other };
                weights.into_iter().map(|w| weight(w).into()).collect()
            }
            _ => self.0.weights(document, epsilon)?,
        };
        let best = self.best(document);
        match self.2 {
            PointBug::Silent if best == self.1.candidate_count() => return None,
            PointBug::Moving if best % 2 == 1 => {
                let least = weights.iter().min().copied()?;
                let first = weights.iter().position(|w| *w != least)?;
                weights[first] = least;
            }
            _ => {}
        }
        Some(weights)
    }

    fn is_nothing(&self, document: &Document, weights: &[u128]) -> bool {
        self.0.is_nothing(document, weights)
    }

    fn is_ordered(&self) -> bool {
        self.0.is_ordered()
    }

    fn draw(&self, document: &Document, epsilon: Epsilon, rng: &mut dyn Rng) -> Option<u32> {
        let geometry = self.0.geometry(epsilon)?;
        let best = self.best(document);
        let (first, other) = Geometry::weights(self.epsilon(epsilon));
        let [k, c] = [geometry.points(), geometry.preferred()].map(u64::from);
        let inside = below(rng, u128::from(c * first + (k - c) * other)) < c * first;
        let all: Vec<u32> = match (self.2, inside) {
            (PointBug::AllPoints, false) => (0..geometry.points()).collect(),
            (PointBug::OtherSet, _) => {
                let contains =
                    |w: &u32| geometry.contains((best + 1) % geometry.points(), *w) == inside;
                (0..geometry.points()).filter(contains).collect()
            }
            _ => {
                let contains = |w: &u32| geometry.contains(best, *w) == inside;
                (0..geometry.points()).filter(contains).collect()
            }
        };
        Some(all[below(rng, all.len() as u128) as usize])
    }

    fn releases(&self, _: &mut dyn Device, _: &[usize], _: Epsilon, _: usize) -> Result<Vec<u32>> {
        unreachable!("no device is audited")
    }
}

#[test]
fn points_that_are_drawn_wrongly_are_found() {
    let bytes = score_parts().to_pack();
    let pack = Pack::parse(&bytes).unwrap();
    let documents = kinds();
    let core = CoreProjective::new(&pack).unwrap().unwrap();
    let checks = whole_text::check(&core, &documents, &options());
    assert_eq!(failed(&checks), BTreeSet::new());
    for (bug, expected) in [
        (PointBug::None, vec![]),
        (PointBug::AllPoints, vec![POINTS]),
        (PointBug::OtherSet, vec![POINTS]),
        (PointBug::Moving, vec![POINTS, EXCHANGED]),
        (PointBug::Spent, vec![EXCHANGED]),
        (PointBug::Silent, vec!["texts refused"]),
    ] {
        let core = CoreProjective::new(&pack).unwrap().unwrap();
        let mechanism = PlantedPoints(core, pack, bug);
        let checks = whole_text::check(&mechanism, &documents, &options());
        assert_eq!(checks.len(), 6);
        assert_eq!(failed(&checks), BTreeSet::from_iter(expected), "{bug:?}");
    }
}

#[test]
fn words_that_are_passed_through_or_not_drawn_anew_are_found() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum WordBug {
        None,
        /// Maps an unknown word to the next one in the alphabet.
        PassedThrough,
        /// Repeats the first draw of a word at its next positions.
        NotAnew,
    }

    struct PlantedWords<'p>(CoreWords<'p>, WordBug);

    impl Engine for PlantedWords<'_> {
        public_facts_of_the_engine_inside!();

        fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128> {
            self.0.table(epsilon, rule)
        }

        fn draw(&self, levels: &[u8], epsilon: Epsilon, rule: Rule, rng: &mut dyn Rng) -> u32 {
            self.0.draw(levels, epsilon, rule, rng)
        }
    }

    impl Words for PlantedWords<'_> {
        fn fallback(&self) -> u32 {
            self.0.fallback()
        }

        fn word(&self, word: u32) -> String {
            self.0.word(word)
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

        fn bag(
            &self,
            texts: &[&str],
            size: usize,
            epsilon: Epsilon,
            rule: Rule,
            rng: &mut dyn Rng,
        ) -> Vec<u32> {
            match self.1 {
                WordBug::None => self.0.bag(texts, size, epsilon, rule, rng),
                WordBug::PassedThrough => {
                    let near = texts.iter().map(|text| {
                        let words = (0..self.candidates() as u32).map(|word| self.word(word));
                        let behind = words.take_while(|word| word.as_str() < *text).count();
                        self.word(behind.min(self.candidates() - 1) as u32)
                    });
                    let near: Vec<String> = near.collect();
                    let near: Vec<&str> = near.iter().map(String::as_str).collect();
                    self.0.bag(&near, size, epsilon, rule, rng)
                }
                WordBug::NotAnew => {
                    let mut drawn: BTreeMap<&str, u32> = BTreeMap::new();
                    let mut words: Vec<u32> = (0..size)
                        .map(|_| {
                            let text = texts[below(rng, texts.len() as u128) as usize];
                            let words = 0..self.candidates() as u32;
                            let word = words.clone().find(|word| self.word(*word) == text);
                            let levels = self.levels(word.unwrap_or(self.fallback()));
                            let word = self.0.draw(&levels, epsilon, rule, rng);
                            *drawn.entry(text).or_insert(word)
                        })
                        .collect();
                    words.sort_unstable();
                    words
                }
            }
        }
    }

    let bytes = words_pack();
    let pack = Pack::parse(&bytes).unwrap();
    for (planted, expected) in [
        (WordBug::None, vec![]),
        (WordBug::PassedThrough, vec!["words outside the vocabulary"]),
        (WordBug::NotAnew, vec!["words drawn by their levels"]),
    ] {
        let mechanism = PlantedWords(CoreWords::new(&pack).unwrap(), planted);
        let checks = words::check(&mechanism, &options());
        assert_eq!(failed(&checks), BTreeSet::from_iter(expected));
        let worst = checks
            .iter()
            .find(|check| check.name == "loss of exchanged words")
            .unwrap();
        assert!(
            worst.measured > 0.3 * worst.claimed && worst.tried == 780,
            "{worst}"
        );
    }
}

#[test]
fn encoders_that_look_at_more_than_a_sentence_are_found() {
    #[derive(PartialEq)]
    enum Coupled {
        No,
        /// A part of the previous vector stays, as if a batch had been normalised.
        Batch,
        /// The scale changes with every call.
        Calls,
    }

    struct Planted(LexiconEncoder<'static>, Coupled, AtomicU32);

    impl Encoder for Planted {
        fn identity(&self) -> &EncoderIdentity {
            self.0.identity()
        }

        fn dimension(&self) -> usize {
            self.0.dimension()
        }

        fn encode(&self, sentence: &str, out: &mut [f32]) -> undertone::Result<()> {
            self.0.encode(sentence, out)?;
            let own = out[0].to_bits();
            let before = match self.1 {
                Coupled::No => return Ok(()),
                Coupled::Batch => f32::from_bits(self.2.swap(own, Ordering::Relaxed)),
                Coupled::Calls => self.2.fetch_add(1, Ordering::Relaxed) as f32,
            };
            out.iter_mut().for_each(|x| *x += before / 1024.0);
            Ok(())
        }
    }

    let sentences = [
        "The train was late again.",
        "My doctor wants to see me on Tuesday.",
        "",
        "We planted tomatoes behind the garage.",
        "xqzzv",
        "The budget for the new school was refused.",
    ];
    for (coupled, by) in [
        (Coupled::No, None),
        (Coupled::Batch, Some("same vectors in any order")),
        (Coupled::Calls, Some("same vectors twice running")),
    ] {
        let encoder = Planted(LexiconEncoder::embedded(), coupled, AtomicU32::new(0));
        let checks = encoders::check(&encoder, &sentences).unwrap();
        let found = failed(&checks);
        match by {
            None => assert_eq!(found, BTreeSet::new()),
            Some(name) => assert!(found.contains(name), "{found:?}"),
        }
    }
}
