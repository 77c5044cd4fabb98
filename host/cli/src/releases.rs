//! Private documents, lines of releases and the runs of `release`.

use std::io::{self, BufRead, BufReader};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::SystemTime;

use clap::Args;
use rayon::prelude::*;
use serde::Deserialize;
use undertone::corpus::{Corpus, CorpusDocument, FieldNames, batches};
use undertone::error::{Error, Result};
use undertone::files::fields::{self, Fields, similar};
use undertone::files::form::Form;
use undertone::files::resume::{PartialLines, Run};
use undertone::progress::Progress;
use undertone::release::document::epsilon_f64;
use undertone::release::ledger::{LedgerFile, utc_day};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{Cost, Grant, LedgerError};
use undertone_core::unit::Unit;
use undertone_tables::{Kind, Table};

use crate::args::{TextArgs, bodies, no_such_field};
use crate::files::Output;
use crate::paths::{Paths, is_stream};
use crate::progress::Rate;

/// Private documents.
#[derive(Args)]
pub(crate) struct PrivateArgs {
    /// The private documents in UTF-8: .jsonl, .tsv or .csv, gzipped or not, or .parquet; `-` is
    /// JSON lines from standard input, which are held in memory.
    ///
    /// If a line or row is not a document, or is longer than 16 MiB, nothing is released, and the
    /// error has its number and nothing of its text.
    #[arg(short, long = "in", default_value = "-", value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Release only the first N documents.
    #[arg(short, long, value_name = "N", value_parser = crate::args::whole::<usize>)]
    pub(crate) limit: Option<usize>,
}

/// Private documents and their fields.
pub(crate) struct Private<'a> {
    pub(crate) arguments: &'a PrivateArgs,
    pub(crate) names: FieldNames,
    /// Whether texts are cut to the bodies of messages.
    pub(crate) messages: bool,
    /// The option that names the fields to keep.
    pub(crate) keep_option: &'static str,
}

impl PrivateArgs {
    /// The texts of documents.
    pub(crate) fn texts(&self, texts: &TextArgs) -> Private<'_> {
        Private {
            arguments: self,
            names: texts.fields.names(),
            messages: texts.messages,
            keep_option: "--keep",
        }
    }

    pub(crate) fn paths(&self, out: &Path) -> Paths {
        let paths = Paths::default().held_input("--in", &self.input);
        paths.stream_output("--out", out)
    }
}

impl Private<'_> {
    fn input(&self) -> &Path {
        &self.arguments.input
    }

    /// The identity of a run of `command` with these documents, which does not depend on --limit.
    /// Each run with standard input is different, because its documents may be.
    pub(crate) fn run_of(&self, command: &str) -> Result<Run> {
        let run = Run::of(command)
            .with([u8::from(self.messages)])
            .with(&self.names.text)
            .with(&self.names.id);
        if !is_stream(self.input()) {
            return run.with_file(self.input());
        }
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let run = run.with(process::id().to_le_bytes());
        Ok(run.with(now.as_nanos().to_le_bytes()))
    }

    /// Refuses fields that would disclose what is private or have no effect, and a table without a
    /// field that was named. `keep` are copied beside releases.
    pub(crate) fn check_fields(&self, keep: &[String]) -> Result<()> {
        let FieldNames { text, id, .. } = &self.names;
        // The private field, a field that contains it, or one inside it.
        let private = |field: &str| {
            let mut all = self.names.private().into_iter();
            all.any(|own| is_inside(own, field) || is_inside(field, own))
        };
        let is_text = self.names.answers.is_none();
        let refused = |option, field: &str, problem| {
            Err(Error::argument(format!("{option} {field}: {problem}")))
        };
        if private(id) {
            let problem = if is_text {
                "the text is what is private, and ids are written as they are; name another field"
            } else {
                "answers are what is private, and ids are written as they are; name another field"
            };
            return refused("--id-field", id, problem);
        }
        for (place, field) in keep.iter().enumerate() {
            let problem = match field.as_str() {
                field if private(field) && is_text => "the text is what is private",
                field if private(field) => "answers are what is private",
                "text" if is_text => "the text is what is private",
                "release" => "the release has this name",
                "id" => "the id is kept anyway",
                _ if keep[..place].contains(field) => "it is named twice; leave one out",
                _ => continue,
            };
            return refused(self.keep_option, field, problem);
        }
        if is_stream(self.input()) {
            return Ok(());
        }
        let defaults = FieldNames::default();
        if is_text && Form::of(self.input()) == Some(Form::Tsv) {
            for (option, field, default) in [
                ("--text-field", text, &defaults.text),
                ("--id-field", id, &defaults.id),
            ] {
                if field != default {
                    let problem = "a .tsv file has only a label and the text, and no field names; leave this option out";
                    return refused(option, field, problem);
                }
            }
            if let Some(field) = keep.iter().find(|field| **field != defaults.label) {
                let problem = "a .tsv file can keep only label; leave this field out";
                return refused(self.keep_option, field, problem);
            }
        }
        let columns = if is_text {
            undertone_tables::names(self.input())
        } else {
            undertone_tables::names_of_answers(self.input())
        }?;
        if let Some(columns) = columns {
            let is_there = |field: &String| columns.contains(field);
            let own = (*id != defaults.id).then_some(("--id-field", id));
            let kept = keep.iter().map(|field| (self.keep_option, field));
            if let Some((option, field)) = own.into_iter().chain(kept).find(|(_, f)| !is_there(f)) {
                return Err(no_such_field(option, field, Some(self.input())));
            }
            self.check_attributes(&columns)?;
        }
        Ok(())
    }

    /// Refuses a table that lacks the column of an attribute: all answers to it would be "no
    /// answer".
    fn check_attributes(&self, columns: &[String]) -> Result<()> {
        let Some(answers) = &self.names.answers else {
            return Ok(());
        };
        let is_there = |name: &str| columns.iter().any(|own| own == name);
        let Some(name) = answers.attributes().find(|name| !is_there(name)) else {
            return Ok(());
        };
        let path = self.input();
        if similar(name, columns).is_some() {
            return Err(fields::no_such_field(path, "column", name, columns));
        }
        let other = undertone_tables::other_separator(path, columns, name);
        let problem = other.unwrap_or_else(|| {
            format!("it has no column for attribute \"{name}\"; add one, which may be empty")
        });
        Err(Error::input(format!(
            "cannot read the table `{}`: {problem}",
            path.display()
        )))
    }

    /// Reads all documents once, so that a broken last line costs no budget of the documents before
    /// it.
    pub(crate) fn check<'a>(&'a self, keep: &'a [String]) -> Result<Checked<'a>> {
        let mut checked = Checked {
            private: self,
            keep,
            total: 0,
            held: None,
        };
        let mut absent = Absent {
            kept: keep.iter().collect(),
            id: self.names.id != FieldNames::default().id,
        };
        if is_stream(self.input()) {
            let corpus = Corpus::json_lines(Path::new("standard input"), io::stdin())?;
            let corpus = corpus.fields(self.names.clone()).keep(keep);
            let held: Vec<_> = checked.documents(corpus).collect::<Result<_>>()?;
            held.iter().for_each(|document| absent.look_at(document));
            checked.total = held.len();
            checked.held = Some(held);
        } else {
            let corpus = undertone_tables::corpus_watched(self.input(), &self.names, Some(keep))?;
            let mut corpus = corpus;
            for document in checked.documents(corpus.by_ref()) {
                absent.look_at(&document?);
                checked.total += 1;
            }
            corpus.check_header()?;
        }
        if checked.total > 0 {
            absent.check(&self.names, self.input(), self.keep_option)?;
        }
        Ok(checked)
    }
}

/// Named fields that no document has had yet: a name may be mistyped.
struct Absent<'a> {
    kept: Vec<&'a String>,
    /// Whether an id's field was named and not found yet.
    id: bool,
}

impl Absent<'_> {
    fn look_at(&mut self, document: &CorpusDocument) {
        self.id = self.id && document.has_line_id();
        if self.kept.is_empty() {
            return;
        }
        let kept = format!("{{{}}}", document.kept);
        if let Ok(fields) = serde_json::from_str::<Fields<'_>>(&kept) {
            let is_there = |name: &str| fields.0.iter().any(|(own, _)| *own == *name);
            self.kept.retain(|name| !is_there(name));
        }
    }

    fn check(&self, names: &FieldNames, path: &Path, option: &'static str) -> Result<()> {
        let id = self.id.then_some(("--id-field", &names.id));
        let kept = self.kept.iter().map(|field| (option, *field));
        match id.into_iter().chain(kept).next() {
            None => Ok(()),
            Some((option, field)) => {
                let path = (!is_stream(path)).then_some(path);
                Err(no_such_field(option, field, path))
            }
        }
    }
}

/// Whether the field `inner` is `outer`, or a path into it.
fn is_inside(inner: &str, outer: &str) -> bool {
    let rest = inner.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The exit status if the budget was used up before all documents were released.
const USED_UP: u8 = 4;

/// The ledger of the releases.
#[derive(Args)]
pub(crate) struct LedgerArgs {
    /// The ledger, created if it is missing: documents are released as long as --budget lasts.
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
}

impl LedgerArgs {
    pub(crate) fn paths(&self, paths: Paths) -> Paths {
        paths.outputs("--ledger", &self.ledger)
    }

    /// Refuses what does not go with a ledger, and a budget that is too small for one document.
    pub(crate) fn check(&self, input: &PrivateArgs, out: &Path, each: Cost) -> Result<()> {
        if self.ledger.is_some() {
            for (option, path) in [("--in", input.input.as_path()), ("--out", out)] {
                if is_stream(path) {
                    return Err(Error::argument(format!(
                        "{option} cannot be `-`: with --ledger an interrupted run must be able \
                         to go on, and that needs files"
                    )));
                }
            }
        }
        match self.budget {
            Some(budget) if u64::from(budget.micro()) < each.micro() => Err(Error::setting(
                "--budget",
                epsilon_f64(budget),
                "what one document costs or more: --epsilon, times --bag-size for a bag",
            )),
            _ => Ok(()),
        }
    }

    /// The ledger, if there is one, and the run that it pays for.
    pub(crate) fn open(&self, unit: Unit, run: Run) -> Result<Option<(Run, LedgerFile)>> {
        let (Some(path), Some(budget)) = (&self.ledger, self.budget) else {
            return Ok(None);
        };
        let ledger = LedgerFile::open_or_create(path, unit, budget)?;
        // Does not resume lines that another ledger paid for.
        Ok(Some((run.with_place(path)?, ledger)))
    }
}

fn is_used_up(error: &Error) -> bool {
    matches!(error.cause(), Some(LedgerError::Exhausted { .. }))
}

/// Private documents that were all read once.
pub(crate) struct Checked<'a> {
    private: &'a Private<'a>,
    keep: &'a [String],
    total: usize,
    /// The documents of standard input.
    held: Option<Vec<CorpusDocument>>,
}

impl<'a> Checked<'a> {
    fn documents<C: Iterator<Item = Result<CorpusDocument>>>(
        &self,
        corpus: C,
    ) -> impl Iterator<Item = Result<CorpusDocument>> + use<C> {
        let most = self.private.arguments.limit.unwrap_or(usize::MAX);
        bodies(corpus.take(most), self.private.messages)
    }

    /// The documents after the first ones.
    pub(crate) fn after(
        self,
        first: usize,
    ) -> Result<Box<dyn Iterator<Item = Result<CorpusDocument>> + Send>> {
        Ok(match self.held {
            Some(held) => Box::new(held.into_iter().map(Ok).skip(first)),
            None => {
                // Without a progress bar for reading, because releasing has one.
                let Private { names, .. } = self.private;
                let corpus =
                    undertone_tables::corpus(self.private.input(), names, Some(self.keep))?;
                Box::new(self.documents(corpus).skip(first))
            }
        })
    }
}

/// Draws the releases of a run, on all cores.
pub(crate) trait Releaser: Sync {
    /// The scratch state of a thread, filled anew for each document.
    type State;

    /// The columns of a table of releases, beside those of the input.
    const KINDS: Kinds = &RELEASE;

    fn start(&self) -> Result<Self::State>;

    /// Releases a document, and returns the fields of its line after those of the input.
    fn release(
        &self,
        state: &mut Self::State,
        source: &CorpusDocument,
        grant: Grant,
    ) -> Result<String>;
}

/// The column of a release.
pub(crate) const RELEASE: [(&str, Kind); 1] = [("release", Kind::Release)];

/// A release as a field of a line.
pub(crate) fn field(release: &[u8]) -> String {
    format!("\"release\":\"{}\"", hex::encode(release))
}

/// A run that makes one release of each document.
pub(crate) struct ReleaseRun<'a, R> {
    pub(crate) input: &'a Private<'a>,
    pub(crate) keep: &'a [String],
    pub(crate) out: &'a Path,
    /// The identity of the run and its ledger, if it has one.
    pub(crate) paid: Option<(Run, LedgerFile)>,
    pub(crate) releaser: R,
    pub(crate) unit: Unit,
    pub(crate) epsilon: Epsilon,
    /// The cost of a document.
    pub(crate) cost: Cost,
}

impl<R: Releaser> ReleaseRun<'_, R> {
    /// Releases all documents, after `promise` is printed.
    pub(crate) fn release(mut self, promise: impl FnOnce() -> Result<()>) -> Result<ExitCode> {
        let (run, mut ledger) = self.paid.take().unzip();
        let checked = self.input.check(self.keep)?;
        let total = checked.total;
        let mut lines = ReleaseLines::start(self.out, R::KINDS, run.as_ref(), total)?;
        // Documents, by this run and those before.
        let mut released = lines.kept();
        let mut rate = Rate::start();
        let progress = Progress::new("releasing documents", (total - released) as u64);
        promise()?;
        let documents = checked.after(released)?;
        let mut push = |line: &str| -> Result<()> {
            lines.push(line)?;
            released += 1;
            progress.advance(1);
            // The number of sentences is private.
            rate.count(1, 0);
            Ok(())
        };
        let done = thread::scope(|scope| {
            let (read, batches_read) = sync_channel(AHEAD);
            // Ends early where releasing has failed, and nobody takes what is read.
            scope.spawn(move || batches(documents).try_for_each(|batch| read.send(batch)));
            for batch in batches_read {
                match &mut ledger {
                    Some(ledger) => self.recorded(ledger, &batch?, &mut push)?,
                    None => self
                        .unrecorded(&batch?)?
                        .iter()
                        .try_for_each(|line| push(line))?,
                }
            }
            Ok(())
        });
        drop(progress);
        let status = lines.end(done, released, total)?;
        if status == ExitCode::SUCCESS {
            rate.report("released");
        }
        Ok(status)
    }

    /// Makes the releases that a ledger pays for, each after it is paid.
    fn recorded(
        &self,
        ledger: &mut LedgerFile,
        batch: &[CorpusDocument],
        push: &mut impl FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let mut state = self.releaser.start()?;
        for source in batch {
            let grant = ledger.spend(self.cost, utc_day())?;
            push(&line(&self.releaser, &mut state, source, grant)?)?;
        }
        Ok(())
    }

    /// Releases that no ledger pays for, made on all cores.
    fn unrecorded(&self, batch: &[CorpusDocument]) -> Result<Vec<String>> {
        let (releaser, unit, epsilon) = (&self.releaser, self.unit, self.epsilon);
        let part = |part: &[CorpusDocument]| {
            let mut state = releaser.start()?;
            let release = |source| {
                line(
                    releaser,
                    &mut state,
                    source,
                    Grant::unrecorded(unit, epsilon),
                )
            };
            part.iter().map(release).collect::<Result<Vec<String>>>()
        };
        let size = batch.len().div_ceil(PARTS * rayon::current_num_threads());
        let parts = batch.par_chunks(size.max(1)).map(part);
        Ok(parts.collect::<Result<Vec<_>>>()?.concat())
    }
}

/// Batches that are read while others are released.
const AHEAD: usize = 2;

/// Parts of a batch for each thread, so that none waits long for another.
const PARTS: usize = 4;

/// The line of a release.
fn line<R: Releaser>(
    releaser: &R,
    state: &mut R::State,
    source: &CorpusDocument,
    grant: Grant,
) -> Result<String> {
    let fields = releaser.release(state, source, grant)?;
    Ok(format!("{{{},{fields}}}", source.kept))
}

/// The only field of a line that a resumed run checks.
#[derive(Deserialize)]
struct ReleaseLine {
    #[serde(rename = "release")]
    _release: String,
}

/// Lines of releases.
pub(crate) enum ReleaseLines {
    /// An interrupted run can go on, because a ledger paid for these lines.
    Paid(Paid),
    Free(Output),
}

pub(crate) struct Paid {
    lines: PartialLines,
    /// How many lines to publish, if an earlier run left more than `--limit`. The others stay,
    /// because they are paid for.
    first: Option<usize>,
    out: PathBuf,
    kinds: Kinds,
}

/// The columns of a table.
type Kinds = &'static [(&'static str, Kind)];

impl ReleaseLines {
    /// Starts the lines of `out`. If a ledger pays for `run`, they start after those that an
    /// interrupted run left, and lines of another run are refused. `kinds` are the columns if it is
    /// a table.
    pub(crate) fn start(out: &Path, kinds: Kinds, run: Option<&Run>, total: usize) -> Result<Self> {
        let Some(run) = run else {
            return Output::create(out, kinds).map(Self::Free);
        };
        Table::of(out, kinds)?;
        let is_whole = |line: &str| serde_json::from_str::<ReleaseLine>(line).is_ok();
        let lines = PartialLines::open(out, run, is_whole)?;
        let first = (lines.kept() > total).then_some(total);
        if first.is_some() {
            note!(
                "{} documents are released already, and --limit takes the first {total} of them; the others wait in \
                 `{}`, and the same command with another --limit goes on with them: keep that file",
                lines.kept(),
                lines.waiting_at().display()
            );
        } else if lines.kept() > 0 {
            note!("resuming: {} documents are released already", lines.kept());
        }
        Ok(Self::Paid(Paid {
            lines,
            first,
            out: out.to_owned(),
            kinds,
        }))
    }

    /// The number of documents that an interrupted run released.
    pub(crate) fn kept(&self) -> usize {
        match self {
            Self::Paid(paid) => paid.first.unwrap_or_else(|| paid.lines.kept()),
            Self::Free(_) => 0,
        }
    }

    pub(crate) fn push(&mut self, line: &str) -> Result<()> {
        match self {
            Self::Paid(paid) => paid.lines.push(line),
            Self::Free(out) => out.write(format!("{line}\n").as_bytes()),
        }
    }

    /// Ends a run after `released` documents: publishes all lines, or those that were paid for
    /// before the budget was used up, or reports the file in which they wait.
    pub(crate) fn end(self, done: Result<()>, released: usize, total: usize) -> Result<ExitCode> {
        match done {
            Ok(()) => {
                match self {
                    Self::Paid(paid) => paid.commit(),
                    Self::Free(mut out) => out.settle().and_then(|()| out.commit()),
                }?;
                Ok(ExitCode::SUCCESS)
            }
            Err(error) if is_used_up(&error) => {
                note!("error: {error}");
                if let Self::Paid(mut paid) = self
                    && released > 0
                {
                    paid.publish(released)?;
                    note!(
                        "{released} of {total} documents are released; they are in `{}`. The same command goes on with the \
                         others once the ledger has a new day (UTC); keep `{}` for it",
                        paid.out.display(),
                        paid.lines.waiting_at().display()
                    );
                } else {
                    note!(
                        "none of {total} documents is released; the same command releases them once the ledger has a new day \
                         (UTC)"
                    );
                }
                Ok(ExitCode::from(USED_UP))
            }
            Err(error) => {
                if let Self::Paid(paid) = self
                    && released > 0
                {
                    note!(
                        "{released} of {total} documents are released; they are in `{}`, and the same command goes on with the \
                         others",
                        paid.lines.waiting_at().display()
                    );
                }
                Err(error)
            }
        }
    }
}

impl Paid {
    /// Publishes the first `count` lines. All wait for another run.
    fn publish(&mut self, count: usize) -> Result<()> {
        let mut out = Output::create(&self.out, self.kinds)?;
        self.lines.publish(|lines| {
            for line in BufReader::new(lines).split(b'\n').take(count) {
                let mut line = line.map_err(Error::io("read", &self.out))?;
                line.push(b'\n');
                out.write(&line)?;
            }
            out.settle()?;
            out.commit()
        })
    }

    fn commit(mut self) -> Result<()> {
        if let Some(count) = self.first {
            return self.publish(count);
        }
        if Form::of_table(&self.out).is_none() {
            return self.lines.commit();
        }
        // A table cannot be resumed, so it is made once all lines are written.
        self.publish(usize::MAX)?;
        self.lines.remove()
    }
}

/// Works on private texts. The message of a panic could quote one, so it is not given out.
pub(crate) fn quietly<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::set_hook(Box::new(|_| ()));
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Error::defect()))
}
