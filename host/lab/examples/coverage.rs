//! Measures estimates on real texts: draws populations of public test texts with known shares,
//! releases each text by its exact law, estimates the shares and compares them with the truth.
//!
//! `cargo run --release --manifest-path host/lab/Cargo.toml --example coverage -- CANDIDATES PACK
//! TEST.jsonl[.gz] [OPTIONS]`
//!
//! Options: `--releases N`, `--epsilon E`, `--rule scores|whole-text|projective`, `--populations
//! N`, `--shares A,B,..` in the order of the labels (default: drawn from Dirichlet(½)),
//! `--sentences K` (cuts texts), `--pieces` (uses every piece of K sentences instead of the first),
//! `--messages` (removes headers and quotes), `--shift` (uses the longer half of the texts of each
//! label), `--calibration FILE` (labelled texts that replace the calibration of the candidates
//! file), `--known` (calibrates on the test texts: the best possible), `--resampled` (draws the
//! calibration of each population from the test texts with replacement, as the assumption of label
//! shift requires), `--halves` (calibrates on one half of the test texts and draws from the other),
//! `--statement a|b`, `--json` (prints the public laws of outcomes and each population instead of
//! means, for `host/estimate/peers/labels.py`).

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::json;
use undertone::pack::calibration::Calibration;
use undertone::pack::candidates::Candidates;
use undertone::release::document::sentences;
use undertone::release::law::Law;
use undertone::text::message_body;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::{Ratio, Rule, SliceLevels};
use undertone_estimate::channel::Channel;
use undertone_estimate::counts::Kind;
use undertone_estimate::labels::{Assumption, Laws, Sample, labels};
use undertone_estimate::shares::{Confidence, shares};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut positional = Vec::new();
    let mut options = BTreeMap::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--") {
            Some(
                flag
                @ ("shift" | "known" | "messages" | "pieces" | "halves" | "resampled" | "json"),
            ) => {
                options.insert(flag.to_owned(), String::new());
            }
            Some(name) => {
                let value = arguments.next().ok_or("an option without a value")?;
                options.insert(name.to_owned(), value);
            }
            None => positional.push(argument),
        }
    }
    let option = |name: &str, default: &str| -> String {
        options
            .get(name)
            .cloned()
            .unwrap_or_else(|| default.to_owned())
    };
    let [candidates, pack, corpus] = positional
        .try_into()
        .map_err(|_| "wanted: CANDIDATES PACK TEST.jsonl")?;
    let candidates = Candidates::read(Path::new(&candidates))?;
    let bytes = std::fs::read(&pack)?;
    let pack = Pack::parse(&bytes)?;
    let calibration = candidates.calibration.ok_or("no calibration")?;
    // Releases can then be counted directly, for comparison.
    let names_labels = candidates
        .entries
        .iter()
        .map(|entry| entry.label.as_ref())
        .eq(calibration.labels.iter().map(Some));
    let cut = Cut {
        messages: options.contains_key("messages"),
        sentences: option("sentences", "128").parse()?,
        pieces: options.contains_key("pieces"),
    };
    let mut test = read(&pack, &calibration, &corpus, &cut)?;
    let calibration = match options.get("calibration") {
        Some(file) => read(&pack, &calibration, file, &cut)?,
        None => calibration,
    };
    if options.contains_key("shift") {
        test = longer(&test);
    }
    let calibration = match (
        options.contains_key("known"),
        options.contains_key("halves"),
    ) {
        (true, _) => test.clone(),
        (_, true) => {
            let [even, odd] = [0, 1].map(|rest| part(&test, |text| text % 2 == rest));
            test = odd;
            even
        }
        _ => calibration,
    };
    let epsilon: Epsilon = option("epsilon", "1").parse()?;
    let releases: usize = option("releases", "3000").parse()?;
    let populations: usize = option("populations", "100").parse()?;
    let rule = option("rule", "scores");
    let given: Option<Vec<f64>> = options
        .get("shares")
        .map(|text| text.split(',').map(str::parse).collect())
        .transpose()?;
    let world = World::new(&pack, &test, &rule, epsilon)?;
    let laws = match option("statement", "b").as_str() {
        "a" => None,
        _ => Some(Laws::new(world.kind, &calibration)?),
    };
    let mut rng = PublicRng::new(option("seed", "1").parse()?);
    let mut tally = Tally::default();
    let json = options.contains_key("json");
    if json {
        let public = World::new(&pack, &calibration, &rule, epsilon)?;
        println!(
            "{}",
            json!({
                "labels": calibration.labels,
                "texts": public.of_labels.iter().map(Vec::len).collect::<Vec<_>>(),
                "chances": public.chances(&calibration),
            })
        );
    }
    for _ in 0..populations {
        let truth = match &given {
            Some(given) => given.clone(),
            None => dirichlet(&mut rng, test.labels.len()),
        };
        let (outcomes, best) = world.population(&test, &truth, releases, &mut rng)?;
        match &laws {
            None => {
                let own = shares(
                    world.kind,
                    &outcomes,
                    pack.candidate_count(),
                    Confidence::default(),
                )?;
                let own = own.ok_or("sentence releases have no statement (a)")?;
                tally.add(own.shares.iter().map(|s| [s.share, s.low, s.high]), &best);
            }
            Some(laws) => {
                let resampled = options
                    .contains_key("resampled")
                    .then(|| world.resampled(&test, &mut rng));
                let own = match &resampled {
                    Some(own) => Some(Laws::new(world.kind, own)?),
                    None => None,
                };
                let sample = Sample {
                    laws: own.as_ref().unwrap_or(laws),
                    outcomes: &outcomes,
                };
                let own = labels(&[sample], Confidence::default(), Assumption::Alike)?;
                tally.refuted += usize::from(own.fit.refuted);
                if names_labels {
                    let named = (0..).map(|label| outcomes.get(&label).copied().unwrap_or(0));
                    let counted = named.map(|named| named as f64 / releases as f64);
                    tally.counted.push(total_variation(counted, &truth));
                }
                tally.add(own.shares.iter().map(|s| [s.share, s.low, s.high]), &truth);
                if json {
                    let ours: Vec<f64> = own.shares.iter().map(|s| s.share).collect();
                    println!(
                        "{}",
                        json!({"truth": truth, "outcomes": outcomes, "ours": ours})
                    );
                }
            }
        }
    }
    if !json {
        tally.print(&world.kind.to_string(), releases);
    }
    Ok(())
}

struct Cut {
    messages: bool,
    sentences: usize,
    pieces: bool,
}

/// Reads the texts of a corpus that have a label of the calibration.
fn read(pack: &Pack<'_>, like: &Calibration, corpus: &str, cut: &Cut) -> Outcome<Calibration> {
    let mut test = Calibration::new(pack, like.labels.clone())?;
    let file = std::fs::File::open(corpus)?;
    let reader: Box<dyn Read> = if corpus.ends_with(".gz") {
        Box::new(flate2::read::MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    for line in BufReader::new(reader).lines() {
        let line: serde_json::Value = serde_json::from_str(&line?)?;
        let (Some(label), Some(text)) = (line["label"].as_str(), line["text"].as_str()) else {
            continue;
        };
        let Some(label) = like.labels.iter().position(|own| own == label) else {
            continue;
        };
        let text = if cut.messages {
            message_body(text)
        } else {
            text.to_owned()
        };
        let sentences = sentences(&text);
        let pieces = sentences.chunks(cut.sentences);
        let most = if cut.pieces { usize::MAX } else { 1 };
        for piece in pieces.take(most) {
            // The remainder of a text is not a piece.
            if !cut.pieces || piece.len() == cut.sentences {
                test.add_sentences(pack, label as u32, piece)?;
            }
        }
    }
    Ok(test)
}

fn part(all: &Calibration, chosen: impl Fn(usize) -> bool) -> Calibration {
    let mut part = Calibration {
        of_texts: Vec::new(),
        best: Vec::new(),
        levels: Vec::new(),
        ..all.clone()
    };
    for text in (0..all.len()).filter(|text| chosen(*text)) {
        part.of_texts.push(all.of_texts[text]);
        part.best.push(all.best[text]);
        part.levels.extend_from_slice(all.levels_of(text));
    }
    part
}

/// The longer half of the texts of each label: another population under the same labels.
fn longer(test: &Calibration) -> Calibration {
    let said = |text: usize| {
        test.levels_of(text)
            .iter()
            .map(|level| usize::from(*level))
            .max()
    };
    let mut longer = vec![false; test.len()];
    for label in 0..test.labels.len() {
        let mut own: Vec<usize> = (0..test.len())
            .filter(|text| test.of_texts[*text] as usize == label)
            .collect();
        own.sort_by_key(|text| std::cmp::Reverse(said(*text)));
        for text in own.iter().take(own.len().div_ceil(2)) {
            longer[*text] = true;
        }
    }
    part(test, |text| longer[text])
}

/// The test texts and how they are released.
struct World {
    kind: Kind,
    /// For each text, cumulative probabilities of outcomes; empty where a channel draws.
    laws: Vec<Vec<f64>>,
    channel: Option<Channel>,
    geometry: Option<Geometry>,
    /// Indices of the test texts of each label.
    of_labels: Vec<Vec<usize>>,
}

impl World {
    fn new(pack: &Pack<'_>, test: &Calibration, rule: &str, epsilon: Epsilon) -> Outcome<Self> {
        let answers = pack.candidate_count() + 1;
        let (mechanism, number, order, geometry) = match rule {
            "whole-text" => (7, 2, 0, None),
            "projective" => {
                let geometry = Geometry::best(answers, epsilon).ok_or("too many candidates")?;
                (8, 2, geometry.order(), Some(geometry))
            }
            _ => (test.mechanism as u8, 1, 0, None),
        };
        let kind = Kind::from_fields(pack.id(), mechanism, number, epsilon, order)?;
        let channel = Channel::new(kind, pack.candidate_count())?;
        let ratio = Ratio::per_step(epsilon, test.steps.try_into()?);
        let laws = match channel {
            Some(_) => Vec::new(),
            None => (0..test.len())
                .map(|text| {
                    let law = Law::new(test.levels_of(text).to_vec(), ratio, Rule::PermuteAndFlip);
                    let mut sum = 0.0;
                    (0..test.candidates)
                        .map(|candidate| {
                            sum += law.probability(candidate);
                            sum
                        })
                        .collect()
                })
                .collect(),
        };
        let mut of_labels = vec![Vec::new(); test.labels.len()];
        for (text, label) in test.of_texts.iter().enumerate() {
            of_labels[*label as usize].push(text);
        }
        Ok(Self {
            kind,
            laws,
            channel,
            geometry,
            of_labels,
        })
    }

    /// Releases of `n` texts with these shares of labels, and the shares of best candidates.
    fn population(
        &self,
        test: &Calibration,
        shares: &[f64],
        releases: usize,
        rng: &mut PublicRng,
    ) -> Outcome<(BTreeMap<u32, u64>, Vec<f64>)> {
        let mut outcomes = BTreeMap::new();
        let mut best = vec![0.0; test.candidates + 1];
        for _ in 0..releases {
            let at = uniform(rng);
            let mut sum = 0.0;
            let label = shares.iter().position(|share| {
                sum += share;
                at < sum
            });
            let texts = &self.of_labels[label.unwrap_or(shares.len() - 1)];
            let text = texts[below(rng, texts.len() as u128) as usize];
            best[test.best[text] as usize] += 1.0 / releases as f64;
            *outcomes.entry(self.draw(test, text, rng)?).or_insert(0) += 1;
        }
        Ok((outcomes, best))
    }

    /// Draws texts of each label with replacement, keeping their number.
    fn resampled(&self, test: &Calibration, rng: &mut PublicRng) -> Calibration {
        let mut own = part(test, |_| false);
        for (label, texts) in self.of_labels.iter().enumerate() {
            for _ in texts {
                let text = texts[below(rng, texts.len() as u128) as usize];
                own.of_texts.push(label as u32);
                own.best.push(test.best[text]);
                own.levels.extend_from_slice(test.levels_of(text));
            }
        }
        own
    }

    /// Mean probability of each outcome over the texts of each label: `[labels][outcomes]`.
    fn chances(&self, texts: &Calibration) -> Vec<Vec<f64>> {
        let of_text = |text: usize| -> Vec<f64> {
            let answer = texts.best[text];
            match (self.channel, self.geometry) {
                (Some(channel), Some(geometry)) => {
                    let preferred = f64::from(geometry.preferred());
                    let inside = channel.own() / preferred;
                    let outside =
                        (1.0 - channel.own()) / (f64::from(geometry.points()) - preferred);
                    (0..geometry.points())
                        .map(|point| {
                            if geometry.contains(answer, point) {
                                inside
                            } else {
                                outside
                            }
                        })
                        .collect()
                }
                (Some(channel), None) => {
                    let mut law = vec![channel.other(); channel.answers()];
                    law[answer as usize] = channel.own();
                    law
                }
                _ => {
                    let sums = &self.laws[text];
                    let before = std::iter::once(&0.0).chain(sums);
                    sums.iter()
                        .zip(before)
                        .map(|(sum, before)| sum - before)
                        .collect()
                }
            }
        };
        let means = self.of_labels.iter().map(|own| {
            let mut mean = Vec::new();
            for text in own {
                let law = of_text(*text);
                mean.resize(law.len(), 0.0);
                for (mean, law) in mean.iter_mut().zip(law) {
                    *mean += law / own.len() as f64;
                }
            }
            mean
        });
        means.collect()
    }

    fn draw(&self, test: &Calibration, text: usize, rng: &mut PublicRng) -> Outcome<u32> {
        let answer = test.best[text];
        let epsilon = self.kind.epsilon();
        Ok(match (self.channel, self.geometry) {
            (Some(_), Some(geometry)) => hazmat::draw_point(&geometry, answer, epsilon, rng),
            (Some(channel), None) => {
                // The best candidate has level 0, all others level 1.
                let mut levels = vec![1; channel.answers()];
                levels[answer as usize] = 0;
                let own = SliceLevels {
                    levels: &levels,
                    bound: 2,
                };
                let ratio = Ratio::per_unit(epsilon, 1);
                hazmat::select::<2, _>(&own, Rule::Exponential, ratio, rng)?
            }
            _ => {
                let sums = &self.laws[text];
                let at = uniform(rng);
                sums.partition_point(|sum| *sum <= at).min(sums.len() - 1) as u32
            }
        })
    }
}

fn uniform(rng: &mut PublicRng) -> f64 {
    (rng.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

/// Draws shares from Dirichlet(½): scaled squares of normal numbers.
fn dirichlet(rng: &mut PublicRng, count: usize) -> Vec<f64> {
    let squares: Vec<f64> = (0..count)
        .map(|_| {
            let radius = -2.0 * (1.0 - uniform(rng)).ln();
            radius * (std::f64::consts::TAU * uniform(rng)).cos().powi(2)
        })
        .collect();
    let sum: f64 = squares.iter().sum();
    squares.iter().map(|square| square / sum).collect()
}

#[derive(Default)]
struct Tally {
    intervals: usize,
    covered: usize,
    width: f64,
    distances: Vec<f64>,
    /// Estimates from releases counted directly.
    counted: Vec<f64>,
    refuted: usize,
}

impl Tally {
    fn add(&mut self, found: impl Iterator<Item = [f64; 3]> + Clone, truth: &[f64]) {
        for ([_, low, high], truth) in found.clone().zip(truth) {
            self.intervals += 1;
            self.covered += usize::from(low <= truth + 1e-12 && truth - 1e-12 <= high);
            self.width += high - low;
        }
        let shares = found.map(|[share, ..]| share);
        self.distances.push(total_variation(shares, truth));
    }

    fn print(&self, kind: &str, releases: usize) {
        let populations = self.distances.len() as f64;
        let counted = match &self.counted[..] {
            [] => String::new(),
            own => format!(" ({:.4} by counting)", mean(own)),
        };
        println!(
            "{kind}: {releases} releases, {populations} populations: covered {:.2} %, mean width {:.3}, mean total variation \
             {:.4}{counted}, fit refuted {:.1} %",
            100.0 * self.covered as f64 / self.intervals as f64,
            self.width / self.intervals as f64,
            mean(&self.distances),
            100.0 * self.refuted as f64 / populations,
        );
    }
}

fn total_variation(shares: impl Iterator<Item = f64>, truth: &[f64]) -> f64 {
    let errors = shares
        .zip(truth)
        .map(|(share, truth)| (share - truth).abs());
    errors.sum::<f64>() / 2.0
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}
