//! `undertone release documents`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::thread;

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde::Deserialize;
use undertone::corpus::{CorpusDocument, batches};
use undertone::encoder::PrivateEncoder;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::files::resume::Run;
use undertone::progress::Progress;
use undertone::release::document::{self, HostDocument, Method};
use undertone::release::ledger::{LedgerFile, utc_day};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{Cost, Grant};
use undertone_core::pack::Pack;
use undertone_core::release::Release;
use undertone_core::select::Rule;
use undertone_tables::Kind;

use crate::args::EncoderArgs;
use crate::files::read_pack;
use crate::paths::{Paths, is_stream};
use crate::progress::Rate;
use crate::releases::{LedgerArgs, PrivateArgs, ReleaseLines, quietly};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    encoder: EncoderArgs,
    /// The pack.
    #[arg(short, long, value_name = "FILE")]
    pack: PathBuf,
    /// The privacy parameter of each document, 0.000001 to 1000.
    #[arg(short, long, allow_hyphen_values = true)]
    epsilon: Epsilon,
    /// The rule, which decides whether epsilon protects a sentence or the whole text.
    #[arg(short, long, value_enum, default_value_t = MethodArg::WholeText)]
    rule: MethodArg,
    #[command(flatten)]
    spending: LedgerArgs,
    #[command(flatten)]
    input: PrivateArgs,
    /// Copy this field of each document, as it is written, beside its release. May be repeated. A
    /// path with dots, such as app.country, leads into a field.
    ///
    /// Without it only the id is copied, because any field of a private document can be private.
    #[arg(short, long, value_name = "FIELD")]
    keep: Vec<String>,
    /// The releases: a JSON object a line, or a .parquet or .csv table; `-` is standard output.
    ///
    /// "id" (as it is written, or "line-N"), the fields of --keep, and "release" in hexadecimal
    /// digits, in Parquet 24 bytes.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    out: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodArg {
    /// Protects the whole text: draws its best candidate or any other.
    WholeText,
    /// Protects the whole text: draws a point that its best candidate prefers, or any other. A
    /// release names no candidate. With many candidates, estimates err less than by whole-text.
    Projective,
    /// Protects each sentence, and the whole text far less. For long texts.
    PermuteAndFlip,
    /// Protects each sentence by the exponential mechanism, which costs less in daily use with a
    /// delta: see `plan budget`.
    Exponential,
}

impl From<MethodArg> for Method {
    fn from(rule: MethodArg) -> Self {
        match rule {
            MethodArg::WholeText => Self::WholeText,
            MethodArg::Projective => Self::Projective,
            MethodArg::PermuteAndFlip => Self::Sentence(Rule::PermuteAndFlip),
            MethodArg::Exponential => Self::Sentence(Rule::Exponential),
        }
    }
}

/// One line of a releases file, as far as a run that goes on looks at it.
#[derive(Deserialize)]
struct ReleaseLine {
    #[serde(rename = "release")]
    _release: String,
}

impl Arguments {
    fn paths(&self) -> Paths {
        let paths = self.input.paths(&self.out).input("--pack", &self.pack);
        self.spending.paths(self.encoder.paths(paths))
    }

    /// Refuses options that do not go together.
    fn check(&self) -> Result<()> {
        self.input.check_fields(&self.keep)?;
        self.spending
            .check(&self.input, &self.out, Cost::from(self.epsilon))
    }

    pub(crate) fn run(&self) -> Result<ExitCode> {
        self.paths().check()?;
        self.check()?;
        quietly(|| self.release())
    }

    fn release(&self) -> Result<ExitCode> {
        let pack = read_pack(&self.pack)?;
        let opened = self.encoder.open_for(&pack)?;
        document::check_encoder(&pack, opened.encoder.as_ref())?;
        let empty = document::empty(&pack)?;
        let method = Method::from(self.rule);
        if method.is_whole_text() {
            // Before anything is spent.
            empty.check_whole_text().map_err(|problem| {
                note!("With this pack, --rule permute-and-flip protects single sentences.");
                Error::from(problem)
            })?;
        }
        if !is_stream(&self.out) {
            AtomicFile::check(&self.out)?;
        }
        let (run, ledger) = self.run_with(&pack)?;
        let checked = self.input.check(&self.keep)?;
        let total = checked.total();
        let is_whole = |line: &str| serde_json::from_str::<ReleaseLine>(line).is_ok();
        let kinds = [("release", Kind::Release)];
        let lines =
            ReleaseLines::resume(&self.out, &kinds, (&run, ledger.is_some()), total, is_whole)?;
        let kept = lines.kept();
        let mut releasing = Releasing {
            releaser: Releaser {
                encoder: PrivateEncoder::new(opened.encoder.as_ref()),
                pack: &pack,
                epsilon: self.epsilon,
                method,
            },
            ledger,
            written: Written {
                lines,
                released: kept,
                rate: Rate::start(),
            },
        };
        let progress = Progress::new("releasing documents", (total - kept) as u64);
        note!("{}", promise(&pack, &empty, method, self.epsilon));
        let done = releasing.all(checked.after(kept)?, &progress);
        drop(progress);
        let Written {
            lines,
            released,
            rate,
        } = releasing.written;
        let status = lines.end(done, released, total, &self.out)?;
        if status == ExitCode::SUCCESS {
            rate.report("released");
        }
        Ok(status)
    }

    /// The identity of this run, and its ledger.
    fn run_with(&self, pack: &Pack<'_>) -> Result<(Run, Option<LedgerFile>)> {
        let rule = Method::from(self.rule);
        let mut run = self
            .input
            .run_of("privatize")?
            .with(pack.digest())
            .with(self.epsilon.micro().to_le_bytes())
            .with(format!("{rule:?}"));
        for field in &self.keep {
            run = run.with("keep").with(field);
        }
        self.spending.open(rule.unit(), run)
    }
}

/// The promise of the releases, for people.
fn promise(
    pack: &Pack<'_>,
    document: &HostDocument<'_>,
    method: Method,
    epsilon: Epsilon,
) -> String {
    let served = method.served(epsilon, pack.candidate_count());
    let mut text = match method {
        Method::Sentence(rule) => format!(
            "rule: by sentence. Promised: {served} for one sentence exchanged for another, {} for the whole text",
            document.whole_text_epsilon(epsilon, rule)
        ),
        Method::WholeText => {
            format!(
                "rule: whole text. Promised: {served} for the whole text exchanged for any other"
            )
        }
        Method::Projective => {
            format!(
                "rule: projective. Promised: {served} for the whole text exchanged for any other"
            )
        }
    };
    if served.0 < epsilon.micro().into() {
        text += &format!(
            ". This rule serves no more. The releases state the {epsilon} that was asked for, and a ledger is charged it"
        );
    }
    text
}

/// Batches that are read while others are released.
const AHEAD: usize = 2;

/// Parts of a batch for each thread, so that none waits long for another.
const PARTS: usize = 4;

/// The pack, encoder and rule of all releases.
struct Releaser<'a> {
    encoder: PrivateEncoder<'a>,
    pack: &'a Pack<'a>,
    epsilon: Epsilon,
    method: Method,
}

impl Releaser<'_> {
    /// Releases that no ledger pays for, made on all cores.
    fn unrecorded(&self, batch: &[CorpusDocument]) -> Result<Vec<Release>> {
        let grant = || Grant::unrecorded(self.method.unit(), self.epsilon);
        let part = |part: &[CorpusDocument]| {
            let mut document = document::empty(self.pack)?;
            let release = |source| self.release(&mut document, source, grant());
            part.iter().map(release).collect::<Result<Vec<Release>>>()
        };
        let size = batch.len().div_ceil(PARTS * rayon::current_num_threads());
        let parts = batch.par_chunks(size.max(1)).map(part);
        Ok(parts.collect::<Result<Vec<_>>>()?.concat())
    }

    fn release(
        &self,
        document: &mut HostDocument<'_>,
        source: &CorpusDocument,
        grant: Grant,
    ) -> Result<Release> {
        document::fill_text(document, &self.encoder, &source.text)?;
        document::draw(document, grant, self.method)
    }
}

/// A run of `release documents`.
struct Releasing<'a> {
    releaser: Releaser<'a>,
    ledger: Option<LedgerFile>,
    written: Written,
}

impl Releasing<'_> {
    fn all(
        &mut self,
        documents: impl Iterator<Item = Result<CorpusDocument>> + Send,
        progress: &Progress,
    ) -> Result<()> {
        thread::scope(|scope| {
            let (read, batches_read) = sync_channel(AHEAD);
            // Ends early where releasing has failed, and nobody takes what is read.
            scope.spawn(move || batches(documents).try_for_each(|batch| read.send(batch)));
            for batch in batches_read {
                self.batch(&batch?, progress)?;
            }
            Ok(())
        })
    }

    fn batch(&mut self, batch: &[CorpusDocument], progress: &Progress) -> Result<()> {
        let Some(ledger) = &mut self.ledger else {
            let releases = self.releaser.unrecorded(batch)?;
            for (source, release) in batch.iter().zip(releases) {
                self.written.push(source, release, progress)?;
            }
            return Ok(());
        };
        let mut document = document::empty(self.releaser.pack)?;
        for source in batch {
            let grant = ledger.spend(self.releaser.epsilon, utc_day())?;
            let release = self.releaser.release(&mut document, source, grant)?;
            self.written.push(source, release, progress)?;
            // A killed process must not lose what was paid for.
            self.written.lines.flush()?;
        }
        Ok(())
    }
}

/// The output of a run.
struct Written {
    lines: ReleaseLines,
    /// By this run and those before.
    released: usize,
    rate: Rate,
}

impl Written {
    fn push(
        &mut self,
        source: &CorpusDocument,
        release: Release,
        progress: &Progress,
    ) -> Result<()> {
        let release = hex::encode(release.to_bytes());
        self.lines
            .push(&format!("{{{},\"release\":\"{release}\"}}", source.kept))?;
        self.released += 1;
        progress.advance(1);
        // The number of sentences is private.
        self.rate.count(1, 0);
        Ok(())
    }
}
