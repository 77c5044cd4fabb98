//! `undertone estimate`.

mod answer;
mod page;
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::files::resume::Encoding;
use undertone::pack::calibration::Calibration;
use undertone::pack::candidates::Candidates;
use undertone::release::document;
use undertone_estimate::counts::Expected;
use undertone_estimate::refused;
use undertone_estimate::shares::Confidence;

use self::answer::{Answer, Compare, Source};
use crate::args::{CorpusArgs, EncoderArgs, TextArgs};
use crate::count::{ReleaseArgs, count};
use crate::files::{print, read_pack};
use crate::paths::Paths;

/// Its arguments.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    releases: ReleaseArgs,
    /// The candidates that `pack` wrote beside each pack of your fleet. Releases of other packs, and candidates that a
    /// pack does not have, are rejected and counted.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    candidates: Vec<PathBuf>,
    /// How often intervals are right: 0.95 means 95 of 100.
    #[arg(long, default_value_t = 0.95, value_name = "LEVEL", value_parser = level)]
    level: f64,
    /// Make all intervals hold at once, and not each alone: they are wider.
    #[arg(long)]
    at_once: bool,
    /// Also say how slices differ: each from the first one, or with FIELD=A,B the slice B from the slice A. These
    /// intervals always hold at once.
    #[arg(long, num_args = 0..=1, default_missing_value = "", value_name = "FIELD=A,B")]
    difference: Option<Compare>,
    /// Print this many candidates, the most frequent ones. --json has all.
    #[arg(long, default_value_t = 10, value_name = "N")]
    top: usize,
    /// Labelled public texts: estimate the shares of these labels, also of ones that the pack was not made for. The pack
    /// must not have been made from these texts. .jsonl, .jsonl.gz, .tsv or .tsv.gz.
    #[arg(long, value_name = "FILE", requires = "pack")]
    question: Option<PathBuf>,
    /// The pack whose releases --question is about.
    #[arg(long, value_name = "FILE", requires = "question")]
    pack: Option<PathBuf>,
    /// Use only the first N sentences of each text of --question: as many as the released texts have.
    #[arg(long, value_name = "N", requires = "question", value_parser = clap::value_parser!(u16).range(1..))]
    first_sentences: Option<u16>,
    #[command(flatten)]
    texts: TextArgs,
    #[command(flatten)]
    encoder: EncoderArgs,
    /// Where to write all numbers, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where to write a page for people: one HTML file that needs no other.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub(crate) fn level(text: &str) -> std::result::Result<f64, String> {
    let level: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    match (0.5..1.0).contains(&level) {
        true => Ok(level),
        false => Err("a level lies from 0.5 to below 1, such as 0.95".to_owned()),
    }
}

impl Arguments {
    pub(crate) fn paths(&self) -> Paths {
        let paths = self
            .releases
            .paths()
            .inputs("--candidates", &self.candidates)
            .inputs("--pack", &self.pack);
        let paths = match &self.question {
            None => paths,
            Some(path) => paths.reread("--question", path),
        };
        let outputs = [("--json", &self.json), ("--html", &self.html)];
        let paths = self.encoder.paths(paths);
        outputs
            .into_iter()
            .fold(paths, |all, (option, path)| match path {
                None => all,
                Some(path) => all.output(option, path),
            })
    }

    pub(crate) fn run(&self) -> Result<()> {
        let inputs = self.releases.inputs()?;
        // Before the work.
        for path in [&self.json, &self.html].into_iter().flatten() {
            AtomicFile::check(path)?;
        }
        let mut sources = self.sources()?;
        let mut expected = Expected::default();
        for source in &sources {
            let candidates = u32::try_from(source.names.len()).unwrap_or(u32::MAX);
            expected.pack(source.id, candidates);
        }
        let counted = count(self.releases.counter(expected)?, inputs)?;
        if counted.counts.is_empty() {
            return Err(refused("the inputs have no releases; give at least one"));
        }
        if let (Some(question), Some(pack)) = (&self.question, &self.pack) {
            self.ask(question, pack, &mut sources)?;
        }
        let confidence = Confidence {
            level: self.level,
            at_once: self.at_once,
        };
        let compare = self.difference.as_ref();
        let answer = Answer::new(
            &counted,
            &sources,
            confidence,
            compare,
            self.question.is_some(),
        )?;
        // All are on the disk before one of them gets its name.
        let mut settled = Vec::new();
        if let Some(path) = &self.json {
            settled.push(AtomicFile::settled(path, answer.json().as_bytes())?);
        }
        if let Some(path) = &self.html {
            let page = page::page(&answer, self.top).map_err(Error::plot)?;
            settled.push(AtomicFile::settled(path, page.as_bytes())?);
        }
        for file in settled {
            file.commit()?;
        }
        if counted.rejected.total() > 0 {
            note!(
                "{} rejected{}",
                counted.rejected.total(),
                counted.rejected.summary()
            );
        }
        print(&text::text(&answer, self.top))
    }

    fn sources(&self) -> Result<Vec<Source>> {
        let mut sources: Vec<Source> = Vec::new();
        for path in &self.candidates {
            let candidates = Candidates::read(path)?;
            let id = candidates.pack_id();
            if sources.iter().any(|own| own.id == id) {
                return Err(refused(format!(
                    "`{}` has the candidates of a pack that another file of --candidates has, too; name it once",
                    path.display()
                )));
            }
            sources.push(Source {
                id,
                names: candidates.entries.into_iter().map(|own| own.id).collect(),
                calibration: candidates.calibration,
            });
        }
        Ok(sources)
    }

    /// Puts the texts of a question in the place of those that the pack came with.
    fn ask(&self, question: &Path, path: &Path, sources: &mut [Source]) -> Result<()> {
        let pack = read_pack(path)?;
        let Some(place) = sources.iter().position(|own| own.id == pack.id()) else {
            return Err(refused(format!(
                "`{}` is pack {}, and --candidates has none for it; name the candidates of that pack",
                path.display(),
                hex::encode(pack.id())
            )));
        };
        let opened = self.encoder.open_for(&pack)?;
        document::check_encoder(&pack, opened.encoder.as_ref())?;
        let corpus = CorpusArgs {
            corpus: question.to_owned(),
            limit: None,
            first_sentences: self.first_sentences,
            texts: TextArgs {
                messages: self.texts.messages,
            },
        };
        let encoding = Encoding::new(opened.encoder.as_ref());
        let mut encoded = corpus.encoded(encoding, |document| document.label.is_some());
        let mut names = BTreeSet::new();
        let mut all = 0;
        for document in encoded.documents()? {
            names.extend(document?.label);
            all += 1;
        }
        if names.len() < 2 {
            return Err(refused(format!(
                "`{}` has texts of {} labels; a question takes texts of at least 2",
                question.display(),
                names.len()
            )));
        }
        let names: Vec<String> = names.into_iter().collect();
        let mut calibration = Calibration::new(&pack, names.clone())?;
        let most = Calibration::most_texts(calibration.candidates);
        let mut seen = vec![0; names.len()];
        encoded.pass(|document, sentences, vectors| {
            let label = document.label.as_deref().unwrap_or_default();
            let Ok(label) = names.binary_search_by(|own| own.as_str().cmp(label)) else {
                return Ok(());
            };
            // Of too many texts equal parts of all labels.
            let place: usize = seen[label];
            seen[label] += 1;
            if all > most && (place + 1) * most / all == place * most / all {
                return Ok(());
            }
            calibration.add(&pack, label as u32, sentences, vectors)
        })?;
        if all > most {
            note!(
                "the question takes {} of its {all} texts: more do not make it more precise",
                calibration.len()
            );
        }
        let (unlabelled, line) = corpus.unlabelled()?;
        if unlabelled > 0 {
            note!(
                "{unlabelled} texts of the question have no label, the first in line {line}: they do not count"
            );
        }
        for (own, source) in sources.iter_mut().enumerate() {
            source.calibration = (own == place).then(|| calibration.clone());
        }
        Ok(())
    }
}
