//! `undertone demo`: the whole way on one screen. A public corpus becomes a pack, a private text becomes releases, and
//! the privacy loss is computed by enumeration.

use std::path::PathBuf;

use clap::Args;
use undertone::demo::{self, public_sentences};
use undertone::encoder::{Encoder, LexiconEncoder, encode_all};
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::pack::candidates::Candidates;
use undertone::pack::{self, Built, candidates_beside};
use undertone::progress::Progress;
use undertone::release::document::{self, HostDocument, Method};
use undertone_audit::{Law, levels};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;

use crate::files::{print, read_text};
use crate::paths::Paths;

/// Its arguments.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A private text instead of the built-in letter; `-` reads what you type.
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Seed of the public side.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the pack; the candidates are written beside it with the ending
    /// .candidates.safetensors.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn paths(&self) -> Paths {
        let paths = self.text.iter().fold(Paths::default(), |all, path| {
            all.stream_input("--text", path)
        });
        self.save.iter().fold(paths, |all, path| {
            all.output("--save", path)
                .output("--save", &candidates_beside(path))
        })
    }

    pub(crate) fn run(&self) -> Result<()> {
        let text = match &self.text {
            None => demo::PRIVATE_TEXT.into(),
            Some(path) => read_text(path)?,
        };
        self.save.as_ref().map(AtomicFile::check).transpose()?;
        let built = demo::build(self.seed)?;
        print(&tell(&built, &text)?)?;
        match &self.save {
            Some(path) => pack::save(path, &built.pack, &built.candidates),
            None => Ok(()),
        }
    }
}

/// The privacy parameters that are shown.
const EPSILONS: [&str; 4] = ["0.5", "1", "3", "10"];

/// Replacement sentences tried for each private sentence, spread over all topics.
const REPLACEMENTS: usize = 60;

/// Releases a private text under the demo's pack and tells what happens.
///
/// # Leaks
/// What it returns is for whoever wrote the text: chances and losses are computed from it without noise.
///
/// # Shapes
/// `text`: any.
///
/// # Errors
/// Errors of releasing.
///
/// # Cost
/// An exact law of the release for each ε, each sentence and each sentence that may stand in its place.
fn tell(built: &Built, text: &str) -> Result<String> {
    let encoder = LexiconEncoder::embedded();
    let dimension = encoder.dimension();
    let pack = Pack::parse(&built.pack).map_err(Error::from)?;
    let sentences = document::sentences(text);
    let own = encode_all(&encoder, &sentences, &Progress::hidden())?;
    let mut shown = format!(
        "Public side: {} documents, labelled with {} topics, became a pack of {} KB.\n\
         Device: a private text of {} sentences. Its words never leave this process.\n\n",
        built.documents_read,
        built.candidates.entries.len(),
        built.pack.len() / 1000,
        sentences.len(),
    );

    let mut replacements = public_sentences();
    replacements.truncate(REPLACEMENTS);
    let replacements = encode_all(&encoder, &replacements, &Progress::hidden())?;
    let mut document = document::empty(&pack)?;
    let neighbours = neighbours(&mut document, &own, &replacements, dimension);
    let levels = fill(&mut document, &own, dimension);
    for text in EPSILONS {
        let epsilon: Epsilon = text.parse().expect("the constants are valid");
        let rule = Rule::PermuteAndFlip;
        let release = document::release(
            &mut document,
            &sentences,
            &own,
            Grant::unrecorded(Unit::Sentence, epsilon),
            Method::Sentence(rule),
        )?;
        let decoded = built.candidates.decode(&release)?;
        let (candidate, _) = decoded.expect("a release by sentence names a candidate");
        let ratio = document.ratio(epsilon);
        let law = Law::new(levels.clone(), ratio, rule);
        let loss = neighbours
            .iter()
            .map(|other| law.loss(&Law::new(other.clone(), ratio, rule)))
            .fold(0.0, f64::max);
        shown += &format!(
            "epsilon = {epsilon}\n  \
               leaves the device   {}\n  \
               the server sees     topic {}, {}, as in \"{}\"\n  \
               chances             {}\n  \
               worst privacy loss  {loss:.6} of at most {epsilon}, over {} replaced sentences\n",
            hex::encode(release.to_bytes()),
            release.candidate(),
            candidate.id,
            candidate.excerpt,
            likely_topics(&built.candidates, &law),
            neighbours.len(),
        );
    }
    shown += "\nWhat is promised: take any one sentence of the text and put any other sentence in its \
         place.\nEvery release stays about as likely as it was: its probability changes by at most a \
         factor of\ne^epsilon (1.7 at 0.5, 2.8 at 1, 21 at 3, 22027 at 10). Whoever sees the release \
         learns at most\nthat much about any single sentence, whatever else they know. A fact that \
         many sentences repeat\nis protected less, and several releases of one text add up.\n\
         The privacy losses above were computed from the exact law of the release for each of those\n\
         replacements, not sampled; the chances come from the same law.\n";
    Ok(shown)
}

/// The levels of the document with these sentences.
fn fill(document: &mut HostDocument<'_>, rows: &[f32], dimension: usize) -> Vec<u8> {
    document.clear();
    for row in rows.chunks_exact(dimension) {
        document
            .push(row)
            .expect("the rows have the pack's dimension and are few enough");
    }
    levels(document)
}

/// The levels of every document in which one sentence was replaced.
fn neighbours(
    document: &mut HostDocument<'_>,
    own: &[f32],
    replacements: &[f32],
    dimension: usize,
) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for place in (0..own.len()).step_by(dimension) {
        for replacement in replacements.chunks_exact(dimension) {
            let mut rows = own.to_vec();
            rows[place..place + dimension].copy_from_slice(replacement);
            all.push(fill(document, &rows, dimension));
        }
    }
    all
}

/// The three likeliest releases.
fn likely_topics(candidates: &Candidates, law: &Law) -> String {
    let names = candidates.entries.iter().map(|entry| entry.id.as_str());
    let mut chances: Vec<(&str, f64)> = names
        .enumerate()
        .map(|(index, name)| (name, law.probability(index)))
        .collect();
    chances.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best: Vec<String> = chances
        .iter()
        .take(3)
        .map(|(topic, chance)| format!("{topic} {:.0} %", chance * 100.0))
        .collect();
    best.join(", ")
}
