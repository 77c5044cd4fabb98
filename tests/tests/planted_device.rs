//! The auditor audited: devices with a bug that the black-box half of `undertone audit` must find,
//! in Rust from parts of `core` and in C around the real library, and the real device, which must
//! pass.
//!
//! Devices in Rust draw from a fixed seed, so a check that passes once always passes.
//! `UNDERTONE_SEED=2` and so on try other seeds; a thousand seeds are expected to show no miss.
//! Devices in C use the system's entropy.
//!
//! Chance: false alarm 10⁻¹⁰, miss 10⁻³⁰. See `failed_thrice`, which is used less than 100 times,
//! for a false alarm, and `bugs_in_c…` and `late_bugs…` for a miss.

#![cfg(unix)]

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::{
    STRICT, assert_sanitized, have, output_dir, program_path, root, run, static_library,
};
use crate::form;
use crate::proof::RULES;
use undertone::demo;
use undertone::error::{Error, ErrorKind, Result};
use undertone::release::document::{MAX_SENTENCES, Method as Released};
use undertone_audit::exact::inside::{CoreWholeText, CoreWords};
use undertone_audit::sampled::device::{self, Contents, Device, Program, Sentence};
use undertone_audit::sampled::selection::{
    self, Change, Designs, Neighbours, SentenceAudit, WordAudit,
};
use undertone_audit::sampled::stated::Stated;
use undertone_audit::sampled::vectors;
use undertone_audit::{Check, Mechanism, Method, Options, Report, levels};
use undertone_core::epsilon::Epsilon;
use undertone_core::features::{FeatureKinds, each_feature};
use undertone_core::form::Form;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::release::Release;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::{Ratio, Rule};
use undertone_core::vector::{Noise, VectorMechanism};
use undertone_core::words::Vocabulary;
use undertone_tests::forms::FormParts;
use undertone_tests::noise::normal;
use undertone_tests::packs::{
    DepthParts, FeaturesParts, LexiconParts, ScoreParts, Scoring, pack, without_nothing_known,
};
use undertone_tests::soak;

fn epsilon(text: &str) -> Epsilon {
    text.parse().expect("an epsilon")
}

fn parse(pack: &[u8]) -> Pack<'_> {
    Pack::parse(pack).expect("a pack")
}

/// Releases of a document or a word.
fn draws() -> usize {
    if soak() { 50_000 } else { 8_000 }
}

/// The seed of all devices in Rust.
fn seed() -> u64 {
    let seed = env::var("UNDERTONE_SEED").ok();
    seed.map_or(1, |seed| seed.parse().expect("a number"))
}

/// The ε at which most bugs are searched for.
fn two() -> Epsilon {
    epsilon("2")
}

// --- Packs with the worst neighbours

/// Candidates of the packs below.
const CANDIDATES: usize = 16;

/// One sentence lifts the first candidate, another one all others: a loss close to ε. Words are on
/// a line.
fn scores_pack() -> Vec<u8> {
    let (mut first, mut others) = (vec![0; CANDIDATES], vec![1; CANDIDATES]);
    (first[0], others[0]) = (1, 0);
    let scores = ScoreParts::of_table(&[first, others], 1);
    let words = (0..40i8).map(|i| vec![3 * i, 0]).collect();
    pack(
        2,
        &[
            LexiconParts::of_vectors(words, -12).to_section(),
            scores.to_section(),
        ],
    )
}

/// A document of embeddings.
fn document(rows: &[[f32; 2]]) -> Vec<Sentence> {
    let rows = rows.iter().map(|row| row.to_vec());
    rows.map(Sentence::Embedding).collect()
}

fn worst_neighbours() -> Vec<Neighbours> {
    let [first, others] = [[3.0, 0.0], [0.0, 3.0]];
    vec![
        Neighbours {
            documents: [document(&[first]), document(&[others])],
            change: Change::Replaced,
        },
        Neighbours {
            documents: [document(&[first, others]), document(&[others])],
            change: Change::Added,
        },
    ]
}

/// One direction and two groups of candidates, none of them in the middle of the sentences below:
/// no level is 0.
fn depth_pack() -> Vec<u8> {
    let depth = DepthParts {
        dimension: 2,
        exponent: 4,
        shift: 0,
        directions: vec![vec![1, 0]],
        boundaries: vec![(0..255).map(|i| 16 * i - 2048).collect()],
        codes: vec![
            (0..CANDIDATES)
                .map(|c| if c < 8 { 120 } else { 129 })
                .collect(),
        ],
    };
    depth.to_pack()
}

// --- Devices in Rust

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// ε in the place of ε/2.
    WholeEpsilon,
    /// Every level except the best is one or two too large.
    LevelOffBy(u8),
    /// Every second release reuses the random words of the one before.
    NoiseReused,
    NoNoise,
    Seeded,
    /// Weights by the level, not by its difference to the best; draws again if no candidate shows
    /// heads.
    RelativeToZero,
    /// An unknown word is not replaced: it gets a number of its own.
    PassedThrough,
    /// An unknown word counts as the first word instead of the fallback word.
    WrongFallback,
    /// The words of a bag are not drawn independently.
    OneDrawForABag,
    /// Sentences whose second coordinate is larger than the first count twice.
    CountedTwice,
    /// One release in n reveals the text: it names a candidate that follows from the levels.
    TellsOneIn(u64),
    /// Whole texts are released by permute-and-flip, whose normaliser moves with the text.
    Flipped,
    /// Ties for the best candidate of a whole text are broken by the number of its sentences.
    TiesByText,
    /// Nothing is released if nothing is known of a whole text.
    Silent,
    /// Points of the outcome after the best one.
    OtherSet,
    /// "Nothing known" is an outcome, although the pack has none.
    OutcomeTooMany,
    /// Embeddings after the hundredth, pushed one by one, count as the zero vector.
    LateLost,
    /// A release leaves its sentences for the next release.
    NotCleared,
    /// Every release has a key of its own, of 32 bits.
    WeakKey,
    /// The χ² of the noise on vectors has one degree less, or not.
    DegreeLess(bool),
    /// Vectors are rounded to the nearest point of the grid, not at random.
    Nearest,
    /// A mistake in releases of answers.
    Answers(form::Bug),
}

struct Planted<'p> {
    bug: Bug,
    contents: Contents<'p>,
    kept: Vec<Vec<Sentence>>,
    rng: PublicRng,
    runs: u64,
    releases: u64,
    before: PublicRng,
    stated: Stated,
}

impl<'p> Planted<'p> {
    fn new(bug: Bug, pack: &'p [u8]) -> Self {
        Self::with(bug, &parse(pack))
    }

    fn with(bug: Bug, contents: impl Into<Contents<'p>>) -> Self {
        let mut planted = Self {
            bug,
            contents: contents.into(),
            kept: Vec::new(),
            rng: PublicRng::new(0),
            runs: 0,
            releases: 0,
            before: PublicRng::new(0),
            stated: Stated::default(),
        };
        planted.restart().expect("nothing can fail");
        planted
    }

    fn pack(&self) -> Pack<'p> {
        match self.contents {
            Contents::Pack(pack) => pack,
            Contents::Form(_) => panic!("a form"),
        }
    }

    /// The number of outcomes of a whole text.
    fn outcomes(&self) -> u32 {
        let nothing = self.pack().has_nothing_known() || self.bug == Bug::OutcomeTooMany;
        self.pack().candidate_count() + u32::from(nothing)
    }

    /// The generator of the next release.
    fn next_rng(&mut self) -> PublicRng {
        let key = self.rng.next_u64();
        let fresh = PublicRng::new(match self.bug {
            Bug::WeakKey => key >> 32,
            _ => key,
        });
        let reuse = self.bug == Bug::NoiseReused && !self.releases.is_multiple_of(2);
        self.releases += 1;
        if !reuse {
            self.before = fresh;
        }
        self.before.clone()
    }

    /// Draws by the definition from the weights of `core`, because its engine is slow in debug
    /// builds.
    fn select(&self, levels: &[u8], ratio: Ratio, rule: Rule, rng: &mut PublicRng) -> u32 {
        let best = levels.iter().min().copied().unwrap_or(0);
        let off = match self.bug {
            Bug::NoNoise => {
                let first = levels.iter().position(|level| *level == best);
                return first.unwrap_or(0) as u32;
            }
            Bug::LevelOffBy(off) => usize::from(off),
            _ => 0,
        };
        let worst = levels.iter().max().copied().unwrap_or(0);
        let weights: Vec<u128> = ratio
            .weights(rule)
            .take(usize::from(worst) + off + 1)
            .collect();
        let weight = |level: &u8| match (self.bug, level - best) {
            (Bug::RelativeToZero, _) => weights[usize::from(*level)],
            (_, 0) => weights[0],
            (_, relative) => weights[usize::from(relative) + off],
        };
        let mut shares: Vec<u128> = Vec::new();
        // Without a best level that always shows heads, the coins are tossed again.
        while shares.iter().sum::<u128>() == 0 {
            shares = match rule {
                Rule::Exponential => levels.iter().map(weight).collect(),
                Rule::PermuteAndFlip => levels
                    .iter()
                    .map(|level| u128::from(u128::from(rng.next_u64()) < weight(level)))
                    .collect(),
            };
        }
        let mut target = u128::from(below(rng, shares.iter().sum()));
        let passes = |share: &u128| match target.checked_sub(*share) {
            Some(left) => {
                target = left;
                false
            }
            None => true,
        };
        shares.iter().position(passes).expect("a share") as u32
    }

    fn spent(&self, epsilon: Epsilon) -> Epsilon {
        match self.bug {
            Bug::WholeEpsilon => Epsilon::from_micro(2 * epsilon.micro()).expect("an epsilon"),
            _ => epsilon,
        }
    }

    /// The levels of a document that is released in turn with others.
    fn levels(&self, number: usize, documents: &[usize]) -> Result<Vec<u8>> {
        let mut kept = self.kept[number].clone();
        // In turns, so the previous input is the other one.
        let before = documents.iter().find(|other| **other != number);
        match (self.bug, before) {
            (Bug::CountedTwice, _) => {
                let is_twice = |sentence: &&Sentence| match sentence {
                    Sentence::Embedding(x) => x[1] > x[0],
                    Sentence::Text(_) => false,
                };
                kept.extend_from_slice(&Vec::from_iter(kept.iter().filter(is_twice).cloned()));
            }
            (Bug::NotCleared, Some(before)) => kept.extend_from_slice(&self.kept[*before]),
            _ => {}
        }
        kept.truncate(MAX_SENTENCES);
        Ok(levels(&device::document(&self.pack(), &kept)?))
    }

    /// The best outcome of a document.
    fn best(&self, number: usize) -> Result<u32> {
        let document = device::document(&self.pack(), &self.kept[number])?;
        let best = hazmat::best(&document).expect("scores");
        let candidates = self.pack().candidate_count();
        match self.bug {
            Bug::Silent if best == candidates => {
                Err(Error::new(ErrorKind::Device, "nothing known"))
            }
            // In `scores_pack` the candidates after the first one tie.
            Bug::TiesByText => Ok((best + document.sentence_count() as u32).min(candidates)),
            _ => Ok(best),
        }
    }
}

impl Device for Planted<'_> {
    fn restart(&mut self) -> Result<()> {
        // Runs differ, as with entropy.
        if self.bug != Bug::Seeded {
            self.runs += 1;
        }
        self.rng = PublicRng::new(seed() << 32 | self.runs);
        self.kept.clear();
        Ok(())
    }

    fn keep(&mut self, number: usize, sentences: &[Sentence]) -> Result<()> {
        self.kept
            .resize(self.kept.len().max(number + 1), Vec::new());
        self.kept[number] = sentences.to_vec();
        Ok(())
    }

    fn keep_otherwise(&mut self, number: usize, sentences: &[Sentence]) -> Result<()> {
        self.keep(number, sentences)?;
        if self.bug == Bug::LateLost {
            for sentence in self.kept[number].iter_mut().skip(100) {
                if let Sentence::Embedding(row) = sentence {
                    row.fill(0.0);
                }
            }
        }
        Ok(())
    }

    fn stated(&self) -> &Stated {
        &self.stated
    }

    fn releases(
        &mut self,
        documents: &[usize],
        method: Released,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>> {
        let spent = self.spent(epsilon);
        let best = |number: &usize| self.best(*number);
        let (all, rule, ratio): (Vec<Vec<u8>>, Rule, Ratio) = match method {
            Released::Sentence(rule) => {
                let levels = documents.iter().map(|own| self.levels(*own, documents));
                let ratio = device::document(&self.pack(), &[])?.ratio(spent);
                (levels.collect::<Result<_>>()?, rule, ratio)
            }
            Released::WholeText => {
                let outcomes = 0..self.outcomes();
                let levels = |best| outcomes.clone().map(|c| u8::from(c != best)).collect();
                let all = documents.iter().map(|own| best(own).map(levels));
                let rule = match self.bug {
                    Bug::Flipped => Rule::PermuteAndFlip,
                    _ => Rule::Exponential,
                };
                (all.collect::<Result<_>>()?, rule, Ratio::per_unit(spent, 1))
            }
            Released::Projective => {
                let geometry = Geometry::best(self.outcomes(), epsilon).expect("few candidates");
                let best: Vec<u32> = documents.iter().map(best).collect::<Result<_>>()?;
                let by = u32::from(self.bug == Bug::OtherSet);
                let point = |index| {
                    let outcome = (best[index % best.len()] + by) % geometry.points();
                    hazmat::draw_point(&geometry, outcome, spent, &mut self.next_rng())
                };
                return Ok((0..count).map(point).collect());
            }
        };
        Ok((0..count)
            .map(|index| {
                let levels = &all[index % all.len()];
                let mut rng = self.next_rng();
                if let Bug::TellsOneIn(n) = self.bug
                    && below(&mut rng, n.into()) == 0
                {
                    let told: usize = levels
                        .iter()
                        .zip(1..)
                        .map(|(level, c)| usize::from(*level) * c)
                        .sum();
                    return (told % levels.len()) as u32;
                }
                self.select(levels, ratio, rule, &mut rng)
            })
            .collect())
    }

    fn answers(
        &mut self,
        lists: &[&[u32]],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Release>> {
        let Contents::Form(form) = self.contents else {
            panic!("a pack");
        };
        let bug = match self.bug {
            Bug::Answers(bug) => bug,
            _ => form::Bug::None,
        };
        let mut rng = self.next_rng();
        Ok((0..count)
            .map(|index| {
                // Of two releases from one draw, the second one takes the next turn.
                let second = bug == form::Bug::TwoFromOneDraw && index % 2 == 1;
                if !second {
                    rng = self.next_rng();
                }
                let list = lists[index % lists.len()];
                let bytes = form::planted(&form, list, epsilon, &mut rng.clone(), bug);
                let (first, next) = bytes.split_at(24);
                let release = if second { next } else { first };
                Release::from_bytes(release).expect("well formed")
            })
            .collect())
    }

    fn bags(
        &mut self,
        words: &[&str],
        size: u16,
        rule: Rule,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Vec<u32>>> {
        let pack = self.pack();
        let vocabulary = Vocabulary::new(&pack).expect("a lexicon");
        let unknown = words
            .iter()
            .any(|word| vocabulary.lexicon().find(word).is_none());
        if unknown && self.bug == Bug::PassedThrough {
            return Ok(vec![vec![vocabulary.word_count(); size.into()]; count]);
        }
        let fallback = match self.bug {
            Bug::WrongFallback => 30,
            _ => vocabulary.fallback(),
        };
        let known: Vec<u32> = words
            .iter()
            .map(|word| {
                vocabulary
                    .lexicon()
                    .find(word)
                    .map_or(fallback, |word| word as u32)
            })
            .collect();
        let levels: Vec<Vec<u8>> = known
            .iter()
            .map(|word| {
                (0..vocabulary.word_count())
                    .map(|w| vocabulary.level(*word, w))
                    .collect()
            })
            .collect();
        let epsilon = self.spent(epsilon);
        let ratio = Ratio::per_unit(epsilon, vocabulary.unit_exponent());
        let released = (0..count).map(|_| {
            let mut rng = self.next_rng();
            let mut bag: Vec<u32> = (0..size)
                .map(|_| {
                    let index = below(&mut rng, known.len() as u128) as usize;
                    self.select(&levels[index], ratio, rule, &mut rng)
                })
                .collect();
            if self.bug == Bug::OneDrawForABag {
                let word = bag[0];
                bag.fill(word);
            }
            bag.sort_unstable();
            bag
        });
        Ok(released.collect())
    }

    fn vectors(
        &mut self,
        vector: &[f32],
        bound_exponent: i32,
        noise: Noise,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Vec<i32>>> {
        let epsilon = self.spent(epsilon);
        let mechanism = VectorMechanism::new(vector.len() as u32, bound_exponent, noise, epsilon)
            .expect("parameters");
        let step = f64::from(mechanism.laplace().grid_exponent()).exp2();
        let steps = |x: f64| (x / step).round() as i32;
        let vectors = (0..count).map(|_| {
            let mut rng = self.next_rng();
            match self.bug {
                Bug::NoNoise => vector.iter().map(|x| steps((*x).into())).collect(),
                Bug::DegreeLess(less) => {
                    // ‖g'‖·g/ε, where g' has one coordinate more than g, ...
                    let degrees = vector.len() + usize::from(!less);
                    let mut square = || normal(&mut rng).powi(2);
                    let norm = (0..degrees).map(|_| square()).sum::<f64>().sqrt();
                    let scale = 1e6 * norm / f64::from(epsilon.micro());
                    // ... and the grid is far finer than both.
                    let noisy = |x: &f32| steps(f64::from(*x) + scale * normal(&mut rng));
                    vector.iter().map(noisy).collect()
                }
                _ => {
                    let mut out = vec![0; vector.len()];
                    let nearest = |x: &f32| (f64::from(steps((*x).into())) * step) as f32;
                    let vector: Vec<f32> = match self.bug {
                        Bug::Nearest => vector.iter().map(nearest).collect(),
                        _ => vector.to_vec(),
                    };
                    hazmat::draw_vector(&mechanism, &vector, &mut rng, &mut out).expect("lengths");
                    out
                }
            }
        });
        Ok(vectors.collect())
    }
}

/// The extent of an audit at one ε by both rules.
fn options(mechanisms: &[Mechanism], neighbours: u64, releases: u64) -> Options {
    Options {
        mechanisms: mechanisms.to_vec(),
        epsilons: vec![two()],
        rules: RULES.to_vec(),
        neighbours,
        releases,
        seed: 1,
    }
}

/// The mechanisms of packs with features.
const OF_TEXTS: [Mechanism; 3] = [
    Mechanism::Sentences,
    Mechanism::WholeText,
    Mechanism::Projective,
];

fn report(device: &mut dyn Device, pack: &Pack<'_>, options: &Options) -> Report {
    let report = undertone_audit::run(pack, None, Some(device), &[], options, &mut |_| ());
    report.expect("a device")
}

/// The names of the checks that failed.
fn failed(checks: &[Check]) -> Vec<&str> {
    for check in checks {
        println!("{check:?}");
    }
    let failed = checks.iter().filter(|check| !check.passed);
    failed.map(|check| check.name.as_str()).collect()
}

/// An audit of sentences at this ε.
fn sentences<'a>(pack: &'a Pack<'a>, rule: Rule, text: &str) -> SentenceAudit<'a> {
    SentenceAudit {
        pack,
        mechanism: "sentences",
        rule,
        epsilon: epsilon(text),
    }
}

fn audit_sentences(
    device: &mut dyn Device,
    bytes: &[u8],
    rule: Rule,
    neighbours: &[Neighbours],
) -> Vec<Check> {
    let pack = parse(bytes);
    let audit = sentences(&pack, rule, "2");
    let checks = audit.neighbours(device, neighbours, draws());
    checks.expect("a device")
}

/// Two runs of a device that releases by permute-and-flip.
fn audit_runs(device: &mut dyn Device, bytes: &[u8]) -> Vec<Check> {
    let pack = parse(bytes);
    let audit = sentences(&pack, Rule::PermuteAndFlip, "1");
    Vec::from_iter(audit.runs(device).expect("a device"))
}

/// Long documents.
fn audit_long(device: &mut dyn Device, bytes: &[u8]) -> Vec<Check> {
    let pack = parse(bytes);
    let audit = sentences(&pack, Rule::PermuteAndFlip, "3");
    vec![audit.long(device, draws() / 4).expect("a device")]
}

/// Checks of a device with this pack.
type Audit = fn(&mut dyn Device, &[u8]) -> Vec<Check>;

/// The audit of a device with this bug fails by these checks; without names, all pass.
fn assert_noticed(bytes: &[u8], audit: Audit, bug: Bug, names: &[&str]) {
    let checks = audit(&mut Planted::new(bug, bytes), bytes);
    let failed = failed(&checks);
    assert_eq!(failed.is_empty(), names.is_empty(), "{bug:?}: {failed:?}");
    for name in names {
        let times = |names: &[&str]| names.iter().filter(|other| *other == name).count();
        assert!(times(&failed) >= times(names), "{bug:?}: {failed:?}");
    }
}

/// No text of the lexicon is a sentence on which this device fails; the search finds some.
#[test]
fn the_device_is_asked_for_searched_neighbours() {
    let bytes = scores_pack();
    let pack = parse(&bytes);
    let designs = Designs::new(&pack).expect("candidates");
    let names = ["loss of a replaced sentence", "frequencies of candidates"];
    for bug in [Bug::None, Bug::CountedTwice] {
        let mut device = Planted::new(bug, &bytes);
        for rule in RULES {
            let designed = designs.worst(rule, two());
            let checks = audit_sentences(&mut device, &bytes, rule, &designed);
            assert_eq!(failed(&checks), [""; 0], "{rule:?}");
        }
        // With 8,000, the tests of fit are too weak: -log10 of p was 16 on average with a
        // deviation of 4, and the threshold is 12. All three grow with the number of releases
        // or with its root.
        let options = options(&[Mechanism::Sentences], 600, 4 * draws() as u64);
        let checks = report(&mut device, &pack, &options).checks;
        for name in names {
            let checks = checks.iter().filter(|check| check.name == name);
            let passed: Vec<bool> = checks.map(|check| check.passed).collect();
            assert_eq!(passed, [bug == Bug::None; 2], "{bug:?}: {name}");
        }
        // Far more releases than by design, which shows nothing here.
        for check in checks.iter().filter(|check| check.name == names[0]) {
            assert!(check.measured > 0.6 * check.claimed, "{check}");
        }
    }
}

fn whole_pairs() -> Vec<[Vec<Sentence>; 2]> {
    vec![
        [document(&[[3.0, 0.0]]), document(&[[0.0, 3.0]])],
        [document(&[[0.0, 3.0], [0.0, 2.0]]), document(&[])],
    ]
}

fn audit_whole(device: &mut dyn Device, bytes: &[u8], method: Released) -> Vec<Check> {
    let pack = parse(bytes);
    let rule = CoreWholeText::new(&pack, method).expect("small");
    let rule = rule.expect("scores");
    selection::whole_texts(device, &rule, two(), &whole_pairs(), draws()).expect("a device")
}

fn audit_whole_texts(device: &mut dyn Device, bytes: &[u8]) -> Vec<Check> {
    audit_whole(device, bytes, Released::WholeText)
}

fn audit_points(device: &mut dyn Device, bytes: &[u8]) -> Vec<Check> {
    audit_whole(device, bytes, Released::Projective)
}

const FREQUENCIES: &str = "frequencies of outcomes";
const EXCHANGED: &str = "loss of an exchanged text";

fn audit_answers(device: &mut dyn Device, form: &Form<'_>) -> Vec<Check> {
    let options = Options {
        epsilons: vec![epsilon("0.5"), two()],
        ..options(&[], 0, draws() as u64)
    };
    let report = undertone_audit::run_form(form, Some(device), &options, &mut |_| ());
    let checks = report.expect("a device").checks;
    for check in checks
        .iter()
        .filter(|check| check.name == EXCHANGED_ANSWERS)
    {
        let is_attained = check.measured > 0.9999 * check.claimed;
        assert!(check.method != Method::Exact || is_attained, "{check}");
    }
    checks
}

const EXCHANGED_ANSWERS: &str = "loss of exchanged answers";
const RUNS: &str = "sequences of releases do not come again";

/// The mistakes of `form.rs`, in a form of attributes of two sizes and in one of equal sizes.
#[test]
fn wrong_releases_of_answers_are_noticed() {
    let apart = "independence of releases";
    for (sizes, mistakes) in [
        (
            [2, 6],
            &[
                (Bug::None, None),
                (
                    Bug::Answers(form::Bug::AnsweredOnly),
                    Some(EXCHANGED_ANSWERS),
                ),
                (
                    Bug::Answers(form::Bug::WeightsAfterAnswers),
                    Some(FREQUENCIES),
                ),
                (Bug::Answers(form::Bug::ShorterPath), Some(FREQUENCIES)),
                (Bug::Answers(form::Bug::TwoFromOneDraw), Some(apart)),
                (Bug::Answers(form::Bug::WrongOffset), Some("outcomes exist")),
                (Bug::Answers(form::Bug::WrongOrder), Some("outcomes exist")),
                (Bug::NoiseReused, Some(apart)),
                (Bug::Seeded, Some(RUNS)),
            ][..],
        ),
        (
            [3, 3],
            &[(Bug::Answers(form::Bug::WrongOffset), Some(FREQUENCIES))],
        ),
    ] {
        let bytes = FormParts::of_sizes(&sizes, &[1, 1], &[]).to_form();
        let form = Form::parse(&bytes).expect("a form");
        for (bug, name) in mistakes {
            let checks = audit_answers(&mut Planted::with(*bug, &form), &form);
            let failed = failed(&checks);
            assert_eq!(failed.is_empty(), name.is_none(), "{bug:?}: {failed:?}");
            assert!(
                name.is_none_or(|name| failed.contains(&name)),
                "{bug:?}: {failed:?}"
            );
        }
    }
}

/// Features of public words only, with random weights for 16 candidates, and fewer levels.
fn features_pack() -> Vec<u8> {
    let kinds = FeatureKinds {
        words: true,
        pairs: false,
        symbols: false,
        least: 1,
        most: 0,
    };
    let mut hashes = Vec::new();
    for sentence in demo::public_sentences() {
        each_feature(sentence.as_bytes(), kinds, |hash| hashes.push(hash));
    }
    let mut rng = PublicRng::new(0x7e57_ab20);
    let mut row = |_| (0..CANDIDATES).map(|_| rng.next_u32() as i8).collect();
    let features = FeaturesParts {
        kinds,
        alone: true,
        shift: 16,
        bucket_bits: 6,
        rows: hashes.iter().step_by(3).map(|h| (*h, row(*h))).collect(),
        scales: vec![256; CANDIDATES],
    };
    let scores = ScoreParts {
        levels: 20,
        dimension: 1,
        recoder: None,
        exponent: 0,
        centre: vec![0],
        weights: vec![vec![0]; CANDIDATES],
        bias: vec![0; CANDIDATES],
        scoring: Scoring::Features((-3..5).map(|t| 4000 * t).collect()),
    };
    pack(1, &[scores.to_section(), features.to_section()])
}

/// For packs with features, sentences are texts, which are searched, compared and released.
#[test]
fn packs_with_features_are_audited_by_texts() {
    let golden = fs::read(root().join("tests/golden/golden-features.pack"));
    for bytes in [features_pack(), golden.expect("a golden pack")] {
        let pack = parse(&bytes);
        let options = options(&OF_TEXTS, 3000, 2000);
        for (bug, expected) in [(Bug::None, &[][..]), (Bug::Silent, &["texts refused"; 2])] {
            let mut device = Planted::new(bug, &bytes);
            let report = report(&mut device, &pack, &options);
            assert_eq!(report.left_out, [""; 0]);
            for check in &report.checks {
                let whole = ["whole text", "projective"].contains(&&*check.mechanism);
                assert!(check.mechanism.contains("with features") || whole);
                if check.name == "loss of replaced sentences" {
                    assert!(check.measured > 0.4 * check.claimed, "{check}");
                }
            }
            assert_eq!(failed(&report.checks), expected, "{bug:?}");
        }
    }
}

/// The minimum number of releases is enough for every check.
#[test]
fn too_few_releases_are_refused() {
    let bytes = scores_pack();
    let pack = parse(&bytes);
    let mut device = Planted::new(Bug::None, &bytes);
    let mut options = Options {
        epsilons: vec![epsilon("0.5"), epsilon("10")],
        ..options(&Mechanism::ALL, 600, undertone_audit::LEAST_RELEASES - 1)
    };
    let refused = undertone_audit::run(&pack, None, Some(&mut device), &[], &options, &mut |_| ());
    let text = refused.expect_err("too few").to_string();
    assert!(
        text.contains("999 releases") && text.contains("1000 or more"),
        "{text}"
    );
    options.releases += 1;
    let report = report(&mut device, &pack, &options);
    assert_eq!(failed(&report.checks), [""; 0]);
    assert_eq!(report.left_out, [""; 0]);
}

#[test]
fn weights_relative_to_level_0_are_noticed() {
    let bytes = depth_pack();
    let pack = parse(&bytes);
    // Four sentences on one side: all candidates are at depth 0, or the second half one level
    // deeper.
    let rows = document(&[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [-0.5, 0.0]]);
    let found = levels(&device::document(&pack, &rows).expect("four sentences"));
    let ends = (found.iter().min(), found.iter().max());
    assert_eq!(ends, (Some(&1), Some(&2)), "{found:?}");
    let relative: Audit = |device, bytes| {
        let rows = |last: f32| document(&[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [last, 0.0]]);
        let neighbours = [Neighbours {
            documents: [rows(1.0), rows(-0.5)],
            change: Change::Replaced,
        }];
        // Far below level 0 all weights are 1, the minimum.
        let pack = parse(bytes);
        let audit = sentences(&pack, Rule::Exponential, "85");
        let checks = audit.neighbours(device, &neighbours, 1_000);
        checks.expect("a device")
    };
    assert_noticed(&bytes, relative, Bug::None, &[]);
    let names = ["frequencies of candidates"];
    assert_noticed(&bytes, relative, Bug::RelativeToZero, &names);
}

fn audit_words(device: &mut dyn Device, bytes: &[u8], rule: Rule) -> Vec<Check> {
    let pack = parse(bytes);
    let pairs = [[0, 39], [12, 13], [20, 5]];
    // 3·2⁻⁴ between neighbours, 7.3 in all.
    let audit = WordAudit {
        words: &CoreWords::new(&pack).expect("a lexicon"),
        rule,
        epsilon: two(),
        draws: draws() / 4,
        bags_and_unknown: true,
    };
    audit.run(device, &pairs).expect("a device")
}

/// Too little noise, a wrong radius of it, wrong rounding before it, a wrong key.
#[test]
fn wrong_noise_is_noticed() {
    fn check(device: &mut dyn Device, noise: Noise, draws: usize) -> Vec<Check> {
        vectors::check(device, noise, epsilon("1"), draws).expect("a device")
    }
    let few: Audit = |device, _| check(device, Noise::Laplace, 5_000);
    let laplace: Audit = |device, _| check(device, Noise::Laplace, 20_000);
    let discrete: Audit = |device, _| check(device, Noise::DiscreteLaplace, 20_000);
    let few_keys: Audit = |device, _| {
        let check = vectors::keys(device, epsilon("1"), 50).expect("a device");
        vec![check.expect("noise at this epsilon")]
    };
    let keys: Audit = |device, _| {
        // The default of an audit.
        let check = vectors::keys(device, epsilon("10"), 20_000).expect("a device");
        let check = check.expect("noise at this epsilon");
        assert!(check.detail.contains("keys of up to 32 bits"), "{check:?}");
        vec![check]
    };
    let (law, loss) = ("law of the noise", "loss between two vectors");
    let again = "no key comes again";
    let bytes = scores_pack();
    for (audit, bug, names) in [
        (few, Bug::None, &[][..]),
        (few, Bug::NoNoise, &[loss, law]),
        (few, Bug::NoiseReused, &["independence of releases"]),
        (laplace, Bug::WholeEpsilon, &[loss]),
        (laplace, Bug::DegreeLess(false), &[]),
        (laplace, Bug::DegreeLess(true), &[law]),
        (discrete, Bug::None, &[]),
        (discrete, Bug::Nearest, &[loss]),
        (few_keys, Bug::Seeded, &[again]),
        (keys, Bug::None, &[]),
        (keys, Bug::WeakKey, &[again]),
    ] {
        assert_noticed(&bytes, audit, bug, names);
    }
}

/// The bugs that a single audit finds, and the checks that find them. Without a bug all pass.
#[test]
fn bugs_are_noticed() {
    let flips: Audit =
        |device, bytes| audit_sentences(device, bytes, Rule::PermuteAndFlip, &worst_neighbours());
    let draws: Audit =
        |device, bytes| audit_sentences(device, bytes, Rule::Exponential, &worst_neighbours());
    let words: Audit = |device, bytes| audit_words(device, bytes, Rule::Exponential);
    let (whole, points): (Audit, Audit) = (audit_whole_texts, audit_points);
    // The README's claim about 20,000 releases.
    let now_and_then: Audit = |device, bytes| {
        let pack = parse(bytes);
        let check =
            |rule| sentences(&pack, rule, "1").neighbours(device, &worst_neighbours(), 20_000);
        RULES
            .map(check)
            .map(|checks| checks.expect("a device"))
            .concat()
    };
    let (loss, frequencies) = ("loss of a replaced sentence", "frequencies of candidates");
    let apart = "independence of releases";
    let bytes = scores_pack();
    for (audit, bug, names) in [
        (flips, Bug::None, &[][..]),
        (flips, Bug::WholeEpsilon, &[loss, frequencies]),
        (flips, Bug::LevelOffBy(1), &[loss, frequencies]),
        (flips, Bug::LevelOffBy(2), &[loss, frequencies]),
        (flips, Bug::NoNoise, &[loss]),
        (flips, Bug::NoiseReused, &[apart]),
        (flips, Bug::NotCleared, &[frequencies]),
        (draws, Bug::None, &[]),
        (draws, Bug::WholeEpsilon, &[loss, frequencies]),
        (draws, Bug::LevelOffBy(1), &[loss, frequencies]),
        (draws, Bug::LevelOffBy(2), &[loss, frequencies]),
        (draws, Bug::NotCleared, &[frequencies]),
        (now_and_then, Bug::TellsOneIn(50), &[frequencies; 2]),
        (words, Bug::None, &[]),
        (words, Bug::WholeEpsilon, &["frequencies of words"]),
        (words, Bug::PassedThrough, &["words for unknown ones exist"]),
        (words, Bug::WrongFallback, &["unknown words"]),
        (words, Bug::NoiseReused, &["independence of words"]),
        (words, Bug::OneDrawForABag, &["independence of words"]),
        (audit_runs, Bug::None, &[]),
        (audit_runs, Bug::Seeded, &[RUNS]),
        (audit_runs, Bug::NoNoise, &[RUNS]),
        (audit_long, Bug::None, &[]),
        (audit_long, Bug::LateLost, &["frequencies, long documents"]),
        (whole, Bug::None, &[]),
        (whole, Bug::Flipped, &[FREQUENCIES]),
        (whole, Bug::WholeEpsilon, &[EXCHANGED, FREQUENCIES]),
        (whole, Bug::TiesByText, &[FREQUENCIES]),
        (whole, Bug::Silent, &["texts refused"]),
        (whole, Bug::NoiseReused, &[apart]),
        (points, Bug::None, &[]),
        (points, Bug::WholeEpsilon, &[EXCHANGED, FREQUENCIES]),
        (points, Bug::OtherSet, &[FREQUENCIES]),
        (points, Bug::Silent, &["texts refused"]),
        (points, Bug::NoiseReused, &[apart]),
    ] {
        assert_noticed(&bytes, audit, bug, names);
    }
    // Packs without "nothing known" have mechanisms of their own.
    let bytes = without_nothing_known(bytes);
    for (audit, bug, names) in [
        (whole, Bug::None, &[][..]),
        (whole, Bug::OutcomeTooMany, &["outcomes exist"]),
        (points, Bug::None, &[]),
        (points, Bug::OtherSet, &[FREQUENCIES]),
    ] {
        assert_noticed(&bytes, audit, bug, names);
    }
}

/// A bag is one release for any number of words, and counts as one in the checks of bags.
#[test]
fn releases_of_words_are_counted_once() {
    let bytes = scores_pack();
    let draws = draws() as u64 / 4;
    let mut device = Planted::new(Bug::None, &bytes);
    // Three pairs of words, two unknown words.
    for check in audit_words(&mut device, &bytes, Rule::Exponential) {
        let releases = match check.name.as_str() {
            "loss of a replaced word" | "loss of a bag" => 6,
            "frequencies of words" | "independence of words" => 12,
            "unknown words" => 2,
            name => panic!("{name}"),
        };
        assert_eq!(check.tried, releases * draws, "{check}");
    }
}

/// All checks, on a device with [`scores_pack`].
fn audit(device: &mut dyn Device, bytes: &[u8]) -> Vec<Check> {
    let pack = parse(bytes);
    let designs = Designs::new(&pack).expect("candidates");
    let mut checks = Vec::new();
    for rule in RULES {
        checks.extend(audit_sentences(device, bytes, rule, &worst_neighbours()));
        let designed = designs.worst(rule, epsilon("1"));
        checks.extend(audit_sentences(device, bytes, rule, &designed));
        let runs = sentences(&pack, rule, "1").runs(device);
        checks.extend(runs.expect("a device"));
        checks.extend(audit_words(device, bytes, rule));
    }
    checks.extend(audit_whole_texts(device, bytes));
    checks.extend(audit_points(device, bytes));
    for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
        let draws = if soak() { 50_000 } else { 2_000 };
        checks.extend(vectors::check(device, noise, epsilon("1"), draws).expect("a device"));
    }
    let releases: u64 = checks.iter().map(|check| check.tried).sum();
    println!("{releases} releases");
    // The audit measures most of the loss, which is 1.999, between 0.1698 and 0.0230 of 8,000
    // releases. A bound of 1 would require deviations of both shares whose Chernoff bounds are
    // e^-37.8.
    let loss = checks
        .iter()
        .find(|check| check.name == "loss of a replaced sentence");
    assert!(loss.is_some_and(|loss| loss.measured > 1.0), "{loss:?}");
    checks
}

// --- Devices in C

/// `ffi/audit/device.c` with these flags and files.
pub(crate) fn build_device(name: &str, arguments: &[&str]) -> PathBuf {
    let program = program_path(name);
    run(Command::new("cc")
        .arg("-std=c99")
        .args(STRICT)
        .arg("-I")
        .arg(root().join("include"))
        .args(arguments)
        .arg(root().join("ffi/audit/device.c"))
        .arg(static_library())
        .arg("-o")
        .arg(&program));
    program
}

/// The device, with these calls replaced by the bugs of `tests/c/planted.c`.
fn planted_device(name: &str, calls: &[(&str, &str)]) -> PathBuf {
    // The file calls the library by its real names.
    let object = output_dir().join("planted.o");
    static COMPILED: OnceLock<()> = OnceLock::new();
    COMPILED.get_or_init(|| {
        run(Command::new("cc")
            .arg("-std=c99")
            .args(STRICT)
            .args(["-O2", "-c", "-I"])
            .arg(root().join("include"))
            .arg(root().join("tests/c/planted.c"))
            .arg("-o")
            .arg(&object));
    });
    let renamed: Vec<String> = calls
        .iter()
        .map(|(call, bug)| format!("-Dundertone_{call}=planted_{bug}"))
        .collect();
    let mut arguments: Vec<&str> = renamed.iter().map(String::as_str).collect();
    arguments.extend(["-O2", object.to_str().expect("a path that is text")]);
    build_device(name, &arguments)
}

/// The checks that fail in three audits in a row of a device with the system's entropy.
///
/// A correct device fails an audit by a wrong bound, each with a probability of at most 10⁻⁶, or by
/// a test of fit, each with 10⁻¹². There are fewer than 100 of them: 10⁻⁴, and 10⁻¹² for three in a
/// row. A wrong device fails all three.
fn failed_thrice(mut audit: impl FnMut() -> Vec<Check>) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..3 {
        let checks = audit();
        names = failed(&checks)
            .iter()
            .map(|name| name.to_string())
            .collect();
        if names.is_empty() {
            break;
        }
    }
    names
}

fn start<'p>(program: &Path, pack: &'p [u8]) -> Program<'p> {
    start_with(program, pack, &parse(pack))
}

fn start_with<'p>(program: &Path, bytes: &[u8], contents: impl Into<Contents<'p>>) -> Program<'p> {
    let file = program.with_extension("pack");
    fs::write(&file, bytes).expect("the target folder can be written");
    Program::start(program, &file, contents, |_| ()).expect("a device")
}

/// Any list of answers of a form, and releases that lie about ε.
#[test]
fn the_device_passes_an_audit_of_answers() {
    if !have("cc", "gcc") {
        return;
    }
    let bytes = FormParts::of_sizes(&[2, 300, 1], &[3, 1, 0], &[(0, 2, 2)]).to_form();
    let form = Form::parse(&bytes).expect("a form");
    let program = build_device("device-answers", &["-O2"]);
    let mut device = start_with(&program, &bytes, &form);
    assert_eq!(failed_thrice(|| audit_answers(&mut device, &form)), [""; 0]);
    let error = device.releases(&[0], Released::WholeText, two(), 1);
    assert!(
        error
            .expect_err("a form")
            .to_string()
            .contains("with a form")
    );

    let planted = [("grant_init_unrecorded", "doubled_grant")];
    let program = planted_device("device-answers-doubled", &planted);
    let mut device = start_with(&program, &bytes, &form);
    let failed = audit_answers(&mut device, &form);
    let stated = failed
        .iter()
        .find(|check| check.mechanism == "all releases");
    assert!(stated.is_some_and(|check| !check.passed && check.detail.ends_with("epsilon")));
}

#[test]
fn the_device_passes() {
    if !have("cc", "gcc") {
        return;
    }
    let bytes = scores_pack();
    let program = build_device("device", &["-O2"]);
    let mut device = start(&program, &bytes);
    assert_eq!(failed_thrice(|| audit(&mut device, &bytes)), [""; 0]);
    // Every mechanism of sentences, and texts.
    for name in [
        "golden.pack",
        "golden-scores.pack",
        "golden-vote.pack",
        "golden-recoded.pack",
        "golden-features.pack",
    ] {
        let bytes = fs::read(root().join("tests/golden").join(name)).expect("a golden pack");
        let pack = parse(&bytes);
        let mut device = start(&program, &bytes);
        let whole_text = CoreWholeText::new(&pack, Released::WholeText);
        if let Some(rule) = whole_text.expect("small") {
            let text = |words: &str| vec![Sentence::Text(words.to_owned())];
            let pairs = [
                [text("the great dog"), text("музыка night")],
                [text("tea"), text("qqq")],
            ];
            let failed = failed_thrice(|| {
                let draws = draws() / 10;
                selection::whole_texts(&mut device, &rule, epsilon("3"), &pairs, draws)
                    .expect("a device")
            });
            assert_eq!(failed, [""; 0], "{name}");
        }
        let designs = Designs::new(&pack).expect("candidates");
        for rule in RULES {
            let designed = designs.worst(rule, epsilon("3"));
            let audit = sentences(&pack, rule, "3");
            let failed = failed_thrice(|| {
                let checks = audit.neighbours(&mut device, &designed, draws() / 10);
                checks.expect("a device")
            });
            assert_eq!(failed, [""; 0], "{name}");
        }
    }
}

/// A pack with features only, such as our ready ones, accepts texts and no embeddings.
#[test]
fn the_device_passes_an_audit_of_features() {
    if !have("cc", "gcc") {
        return;
    }
    let program = build_device("device-features", &["-O2"]);
    let options = options(&OF_TEXTS, 300, 1000);
    let ready = fs::read(root().join("host/packs/assistant.en.pack")).expect("a pack");
    for bytes in [features_pack(), ready] {
        let pack = parse(&bytes);
        let mut device = start(&program, &bytes);
        let failed = failed_thrice(|| report(&mut device, &pack, &options).checks);
        assert_eq!(failed, [""; 0]);
    }
}

#[test]
fn bugs_in_c_are_noticed() {
    if !have("cc", "gcc") {
        return;
    }
    let flips: Audit =
        |device, bytes| audit_sentences(device, bytes, Rule::PermuteAndFlip, &worst_neighbours());
    // The loss is 3.90, between 0.417 and 0.0085 of 8,000 releases. Shares that show 2 or less have
    // a probability of e^-219.
    let doubled = [
        ("grant_init_unrecorded", "doubled_grant"),
        ("document_release", "quiet_release"),
    ];
    let seeded = [("document_release", "seeded_release")];
    let silent = [("document_release_whole_text", "silent_whole_text")];
    let no_points = [("document_release_projective", "silent_projective")];
    let cases: [(&str, &[_], Audit, &str); 4] = [
        ("doubled", &doubled, flips, "loss of a replaced sentence"),
        ("seeded", &seeded, audit_runs, RUNS),
        ("silent", &silent, audit_whole_texts, "texts refused"),
        ("silent-points", &no_points, audit_points, "texts refused"),
    ];
    let bytes = scores_pack();
    for (name, calls, audit, check) in cases {
        let program = planted_device(&format!("device-{name}"), calls);
        let checks = audit(&mut start(&program, &bytes), &bytes);
        assert!(failed(&checks).contains(&check), "{name}");
    }
}

/// Drops sentences after the hundredth, pushed one by one and as texts.
#[test]
fn late_bugs_in_c_are_noticed() {
    if !have("cc", "gcc") {
        return;
    }
    // Every other word acts like the first sentence of `scores_pack`, the rest like the other one.
    let words = (0..40).map(|i| {
        if i % 2 == 0 {
            vec![100, 0]
        } else {
            vec![0, 100]
        }
    });
    let lexicon = LexiconParts::of_vectors(words.collect(), -8);
    let table: Vec<Vec<u8>> = [0, 1]
        .iter()
        .map(|kind| (0..CANDIDATES as u8).map(|c| (c + kind) % 2).collect())
        .collect();
    let scores = ScoreParts::of_table(&table, 1);
    let bytes = pack(2, &[lexicon.to_section(), scores.to_section()]);
    let pack = parse(&bytes);
    for (call, bug) in [
        ("document_push", "late_push"),
        ("document_push_sentence", "late_push_sentence"),
    ] {
        let program = planted_device(&format!("device-{bug}"), &[(call, bug)]);
        let audit = sentences(&pack, Rule::Exponential, "3");
        let check = audit.long(&mut start(&program, &bytes), draws() / 4);
        let checks = [check.expect("a device")];
        // p is 0 as a double. A miss would require 10⁻¹².
        assert!(!failed(&checks).is_empty(), "{bug}");
    }
}

/// A release that states another ε, rule or pack than requested is not a release of the mechanism.
#[test]
fn releases_that_lie_are_noticed() {
    if !have("cc", "gcc") {
        return;
    }
    let bytes = scores_pack();
    let pack = parse(&bytes);
    for (planted, field) in [
        (None, None),
        (
            Some(("grant_init_unrecorded", "doubled_grant")),
            Some("epsilon"),
        ),
        (
            Some(("document_release", "rounded_release")),
            Some("epsilon"),
        ),
        (
            Some(("document_release", "other_rule_release")),
            Some("rule"),
        ),
        (
            Some(("document_release", "other_pack_release")),
            Some("pack"),
        ),
    ] {
        let program = match planted {
            Some((call, bug)) => planted_device(&format!("device-lies-{bug}"), &[(call, bug)]),
            None => build_device("device-honest", &["-O2"]),
        };
        let mut device = start(&program, &bytes);
        let options = Options {
            epsilons: vec![epsilon("1.25")],
            ..options(
                &[Mechanism::Sentences],
                600,
                undertone_audit::LEAST_RELEASES,
            )
        };
        let checks = report(&mut device, &pack, &options).checks;
        let mut checks = checks.iter();
        let check = checks.find(|check| check.mechanism == "all releases");
        let check = check.expect("releases were read");
        assert!(
            check.tried > 1000 && check.passed == field.is_none(),
            "{check}"
        );
        assert!(check.detail.ends_with(field.unwrap_or("pack")), "{check}");
    }
}

/// A device that is a shell script. Another process writes it, because a child of another test
/// would inherit an open file of this process, and a file that is open for writing cannot be
/// executed.
fn script(name: &str, text: &str) -> PathBuf {
    let path = output_dir().join(name);
    run(Command::new("sh")
        .args(["-c", "printf '%s' \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(&path)
        .arg(format!("#!/bin/sh\n{text}\n")));
    path
}

#[test]
fn devices_that_die_hang_or_talk_nonsense_are_errors() {
    let pack = root().join("tests/golden/golden.pack");
    let bytes = fs::read(&pack).expect("a golden pack");
    let parsed = parse(&bytes);
    let id = parsed.id().map(|byte| format!("{byte:02x}")).concat();
    let hello = format!("echo ok undertone-device 4 0.1.0 portable {id}");
    let release = format!("555452010102000040420f0000000000{id}");
    // The name of a device, its script, and the error.
    let table = r#"
        dies | exit 3 | it ended without an answer: exit status: 3
        dies-later | HELLO; read line; exit 4 | it ended without an answer: exit status: 4
        hangs | sleep 60 | no answer within 0.2 s
        hangs-later | HELLO; exec sleep 60 | no answer within 0.2 s
        nonsense | echo hello | its answer makes no sense: "hello"
        binary | printf '\377\376\n' | its answer cannot be read
        half | printf 'ok undertone-dev' | its answer cannot be read: a line without an end
        other | echo ok something else | does not say that it is an undertone-device
        newer | echo ok undertone-device 7 9.9.9 portable 0000000000000000 | speaks version 7
        wrong-pack | echo ok undertone-device 4 0.1.0 portable 0123456789abcdef | read pack 0123456789abcdef
        refuses | HELLO; read line; echo error no mood | it refused: no mood
        words | HELLO; read line; echo ok 1 two | "1" is no release
        few | HELLO; read line; echo ok RELEASE RELEASE | 2 releases where 3 were asked for
        short | HELLO; read line; echo ok RELEASE00 | 00" is no release"#;
    for line in table.trim().lines() {
        let [name, text, expected] = line.trim().split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let text = text.replace("HELLO", &hello).replace("RELEASE", &release);
        let path = script(name, &text);
        let patience = Duration::from_millis(if text.contains("sleep") { 200 } else { 600_000 });
        let device = Program::start_within(&path, &pack, &parsed, |_| (), patience);
        let method = Released::Sentence(Rule::Exponential);
        let outcome = device.and_then(|mut device| device.releases(&[0], method, epsilon("1"), 3));
        let error = outcome.expect_err(name).to_string();
        assert!(
            error.contains(expected) && error.contains(name),
            "{name}: {error}"
        );
    }
    let missing = Program::start(Path::new("/nonexistent/device"), &pack, &parsed, |_| ());
    assert!(
        missing
            .expect_err("nothing there")
            .to_string()
            .contains("does not start")
    );
}

/// The answers of the device to these lines, one for each.
fn answered(program: &Path, file: &[u8], lines: &[Vec<u8>]) -> Vec<String> {
    let path = program.with_extension("pack");
    fs::write(&path, file).expect("the target folder can be written");
    let mut child = Command::new(program)
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was just built");
    let mut stdin = child.stdin.take().expect("a pipe");
    let asked = lines.to_vec();
    let writer = std::thread::spawn(move || {
        for line in asked {
            let written = stdin.write_all(&line).and_then(|()| stdin.write_all(b"\n"));
            if written.is_err() {
                break;
            }
        }
    });
    let output = child.wait_with_output().expect("it ends with its input");
    writer.join().expect("no panic");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    assert_eq!(answers.len(), lines.len(), "an answer for each line");
    answers
}

/// Every request gets one line, and no sanitizer reports anything.
#[test]
fn bad_requests_are_answered() {
    if !have("gcc", "gcc") {
        return;
    }
    let flags = [
        "-g",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ];
    let program = build_device("device-sanitized", &flags);
    assert_sanitized(&program);
    let good = [
        "embeddings 0 3f80000000000000",
        "embeddings 1 -",
        "singly 3 3f800000000000003f80000000000000",
        "texts 2 746865 - ff",
        "whole 4 7468650a746865ff",
        "release 1 1000000 3 0 1 2 3 4",
        "whole-text 1000000 3 0 1 2",
        "projective 1000000 3 0 1 2",
        "bag 1 1000000 3 2 773030303031 ff -",
        "bag 3 1000000 1 2 773030303031",
        "vector 3 1000000 0 2 3f80000000000000",
        "vector 4 1000000 3 1 7fc00000",
    ];
    let bad = [
        "",
        " ",
        "hello",
        "release",
        "release 1",
        "release 1 1000000 1",
        "release 1 1000000 1 ",
        "release 9 1000000 1 0",
        "release 1 0 1 0",
        "release 1 1000000001 1 0",
        "release 1 1000000 0 0",
        "release 1 1000000 65537 0",
        "release 1 1000000 1 4096",
        "release 1 1000000 1 -1",
        "release 1 99999999999999999999 1 0",
        "release 1 1000000 1 0x0",
        "release 1 1000000 1 0  0",
        "whole-text",
        "whole-text 1000000 1",
        "whole-text 0 1 0",
        "whole-text 1000000 0 0",
        "whole-text 1000000 1 4096",
        "projective",
        "projective 1000000 1",
        "projective 0 1 0",
        "projective 1000000 1 4096",
        "embeddings 0",
        "embeddings 4096 -",
        "embeddings 0 3f8000000000000",
        "embeddings 0 3F800000",
        "embeddings 0 3f800000",
        "embeddings 0 zz",
        "embeddings 0 - -",
        "texts",
        "texts 0 7",
        "texts 0  74",
        "singly 0",
        "singly 0 3f800000",
        "whole 0 74 74",
        "whole 0 7",
        "bag 1 1000000 0 1 74",
        "bag 1 1000000 257 1 74",
        "bag 9 1000000 1 1 74",
        "bag 3 99999 1 1 74",
        "vector 3 1000000 0 1 -",
        "vector 3 1000000 40 1 3f800000",
        "vector 3 1000000 pack 1 3f800000",
        "vector 7 1000000 0 1 3f800000",
        "vector 3 99999 0 1 3f800000",
        "vector 3 1000000 0 1",
        "answers 1000000 1 0",
    ];
    let too_many = format!("embeddings 0 {}", "00".repeat(8 * 129));
    let mut lines: Vec<Vec<u8>> = Vec::new();
    lines.extend(good.iter().chain(&bad).map(|line| line.as_bytes().to_vec()));
    lines.push(too_many.into_bytes());
    lines.push(b"release\0 1".to_vec());
    // Valid ones with a changed byte or field.
    let mut rng = PublicRng::new(0x7e57_ab10);
    for _ in 0..if soak() { 50_000 } else { 3_000 } {
        let mut line = good[below(&mut rng, good.len() as u128) as usize]
            .as_bytes()
            .to_vec();
        for _ in 0..=below(&mut rng, 3) {
            let at = below(&mut rng, line.len() as u128) as usize;
            let letters = b" -0123456789abcdefxz\xff";
            match below(&mut rng, 3) {
                0 => line[at] = letters[below(&mut rng, letters.len() as u128) as usize],
                1 => line.insert(at, letters[below(&mut rng, letters.len() as u128) as usize]),
                _ => line.truncate(at.max(1)),
            }
        }
        // Limited, so that no request is for many releases of many words.
        if line.len() < 60
            && !line
                .windows(4)
                .any(|digits| digits.iter().all(u8::is_ascii_digit) && digits[0] > b'1')
        {
            lines.push(line);
        }
    }
    let refused = good.len()..good.len() + bad.len() + 2;
    let answers = answered(&program, &scores_pack(), &lines);
    for (index, (line, answer)) in lines.iter().zip(answers).enumerate() {
        let line = String::from_utf8_lossy(line);
        let fine = answer == "ok" || answer.starts_with("ok ");
        assert!(fine || answer.starts_with("error "), "{line:?}: {answer:?}");
        assert!(fine || index >= good.len(), "{line:?}: {answer:?}");
        assert!(!fine || !refused.contains(&index), "{line:?}: {answer:?}");
    }
    let lines = [
        "answers 1000000 3 1,2 4294967295,0",
        "answers 1 1 0,0",
        "answers",
        "answers 1000000",
        "answers 1000000 1",
        "answers 1000000 1 ",
        "answers 1000000 1 0",
        "answers 1000000 1 0,0,0",
        "answers 1000000 1 0,",
        "answers 1000000 1 0,,0",
        "answers 1000000 1 0,-1",
        "answers 1000000 1 0,4294967296",
        "answers 1000000 1 0,0  0,0",
        "answers 0 1 0,0",
        "release 1 1000000 1 0",
        "texts 0 74",
    ];
    let lines = lines.map(|line| line.as_bytes().to_vec());
    let form = FormParts::of_sizes(&[2, 6], &[1, 1], &[]).to_form();
    let answers = answered(&program, &form, &lines);
    let (fine, bad) = answers.split_at(2);
    let all = |answers: &[String], start| answers.iter().all(|own| own.starts_with(start));
    assert!(all(fine, "ok ") && all(bad, "error "), "{answers:?}");
    // Invalid packs and forms.
    let pack = program.with_extension("pack");
    for bytes in [&b""[..], b"hello", &[0; 4096], b"UTFORM", &form[..70]] {
        fs::write(&pack, bytes).expect("the target folder can be written");
        let output = Command::new(&program)
            .arg(&pack)
            .output()
            .expect("it was just built");
        assert_eq!(
            output.status.code(),
            Some(1),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.stdout.starts_with(b"error "));
    }
}
