//! `undertone privatize`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use undertone::corpus::{Corpus, batches};
use undertone::encoder::LexiconEncoder;
use undertone::encoder::embeddings::Embeddings;
use undertone::error::Result;
use undertone::files::atomic::AtomicFile;
use undertone::files::resume::{Encoding, PartialLines, Run};
use undertone::progress::Progress;
use undertone::release::document;
use undertone::release::ledger::{LedgerFile, utc_day};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::select::Rule;

use crate::args::{EncoderArgs, OpenEncoder, PrivateArgs, RuleArg};
use crate::files::{json, read_pack};
use crate::progress::Rate;

/// Its arguments.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    encoder: EncoderArgs,
    /// The pack.
    #[arg(long, value_name = "FILE")]
    pack: PathBuf,
    /// The privacy parameter of each document, 0.000001 to 1000.
    #[arg(long, allow_hyphen_values = true)]
    epsilon: Epsilon,
    /// How a candidate is drawn.
    #[arg(long, value_enum, default_value_t = RuleArg::PermuteAndFlip)]
    rule: RuleArg,
    /// A ledger of what was spent, made if it is not there: documents are released as long as --budget lasts.
    #[arg(long, value_name = "FILE", requires = "budget")]
    ledger: Option<PathBuf>,
    /// The epsilon that all documents of a day (UTC) may spend together.
    #[arg(
        long,
        value_name = "EPSILON",
        requires = "ledger",
        allow_hyphen_values = true
    )]
    budget: Option<Epsilon>,
    #[command(flatten)]
    input: PrivateArgs,
    /// The releases.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// One line of a releases file.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReleaseLine {
    pub(crate) id: String,
    pub(crate) release: String,
}

/// Starts the lines of `out`, behind those that an interrupted `run` left. Returns the number of documents,
/// too.
pub(crate) fn resume(
    out: &Path,
    input: &PrivateArgs,
    run: &Run,
    is_whole: impl Fn(&str) -> bool,
) -> Result<(PartialLines, usize)> {
    let mut lines = PartialLines::open(out, run, is_whole)?;
    // All documents are read once before anything is released: a broken line at the end must not cost
    // the budget of the documents before it.
    let mut total = 0;
    for document in input.documents(|path| Corpus::open_watched(path))? {
        document?;
        total += 1;
    }
    // Of a smaller --limit there are more lines than documents.
    let other = lines.of_other_run() || lines.kept() > total;
    if lines.kept() > total {
        lines.restart()?;
    }
    if lines.kept() > 0 {
        note!("resuming: {} documents are released already", lines.kept());
    } else if other {
        note!(
            "starting over: what is left of an earlier run is for other options or another input, or the input \
             was changed since",
        );
    }
    Ok((lines, total))
}

impl Arguments {
    pub(crate) fn run(self) -> Result<()> {
        let budget = self.ledger.zip(self.budget);
        privatize(
            &self.encoder,
            &self.pack,
            self.epsilon,
            self.rule.into(),
            budget,
            &self.input,
            &self.out,
        )
    }
}

fn privatize(
    encoder: &EncoderArgs,
    pack_path: &Path,
    epsilon: Epsilon,
    rule: Rule,
    budget: Option<(PathBuf, Epsilon)>,
    input: &PrivateArgs,
    out: &Path,
) -> Result<()> {
    let pack = read_pack(pack_path)?;
    let OpenEncoder { encoder, .. } =
        encoder.open(|| LexiconEncoder::new(&pack).unwrap_or_else(LexiconEncoder::embedded))?;
    document::check_encoder(&pack, encoder.as_ref())?;
    let mut document = document::empty(&pack)?;
    AtomicFile::check(out)?;
    let mut run = input
        .run_of("privatize")?
        .with(pack.digest())
        .with(epsilon.micro().to_le_bytes())
        .with(format!("{rule:?}"));
    let mut ledger = match budget {
        Some((path, budget)) => {
            let ledger = LedgerFile::open_or_create(&path, budget)?;
            // Lines that no ledger, or another one, paid for are not gone on with.
            run = run.with_place(&path)?;
            Some(ledger)
        }
        None => None,
    };
    let is_whole = |line: &str| serde_json::from_str::<ReleaseLine>(line).is_ok();
    let (mut lines, total) = resume(out, input, &run, is_whole)?;
    let progress = Progress::new("releasing documents", total as u64);
    progress.advance(lines.kept() as u64);
    let mut rate = Rate::start();
    let mut released = lines.kept();
    // Not watched: another bar is there.
    let rest = input.documents(|path| Corpus::open(path))?.skip(released);
    let mut encoding = Encoding::new(encoder.as_ref());
    for batch in batches(rest) {
        let batch = batch?;
        let encoded = Embeddings::encode(&mut encoding, &batch, |_| Progress::hidden())?;
        for (source, _, rows) in encoded.by_document() {
            let grant = match &mut ledger {
                Some(ledger) => ledger.spend(epsilon, utc_day()).inspect_err(|_| {
                    note!(
                        "{released} of {total} documents are released; the same command goes on with the others"
                    );
                })?,
                None => Grant::unrecorded(epsilon),
            };
            let release = document::release(&mut document, rows, encoder.dimension(), grant, rule)?;
            released += 1;
            let line = ReleaseLine {
                id: source.id.clone(),
                release: hex::encode(release.to_bytes()),
            };
            lines.push(&json(&line))?;
            if ledger.is_some() {
                // A killed process must not lose what was paid for.
                lines.flush()?;
            }
            progress.advance(1);
        }
        rate.count(batch.len(), encoded.sentences().len());
    }
    lines.commit()?;
    rate.report("released");
    Ok(())
}
