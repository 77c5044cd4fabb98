//! `undertone count`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use serde_json::json;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::pack::candidates::Candidates;
use undertone::release::document::epsilon_f64;
use undertone_core::epsilon::Epsilon;
use undertone_estimate::counts::{Counted, Counter, Counts, Expected, Format, Kind, Rejected};

use crate::args::named;
use crate::files::{print_json, read_form, read_pack};
use crate::paths::{Paths, is_stream};
use crate::progress::{Rate, note_rejects, place_of_rejects};

/// Kinds that are listed on standard error.
const SHOWN: usize = 8;

/// The releases of `count` and `estimate`, and their slices.
#[derive(Args)]
pub(crate) struct ReleaseArgs {
    /// Files of releases, or of counts, which are added; `-` is standard input.
    ///
    /// .jsonl: a JSON object a line, whose field "release" has 48 hexadecimal digits. .raw or .bin:
    /// the 24 bytes of each release, one after the other. Both may be gzipped. .csv or .parquet: a
    /// column "release" of 48 hexadecimal digits, in Parquet also of 24 bytes. Standard input has
    /// JSON lines unless --format names another format.
    #[arg(short, long = "in", default_value = "-", num_args = 1.., value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// The format of all inputs, whatever their names end in.
    #[arg(long, value_parser = named(&FORMATS))]
    format: Option<Format>,
    /// Slice by this public field or column, such as the day. May be repeated. A path with dots
    /// leads into a field. Without it, counts keep their slices if they are the first input.
    #[arg(short, long, value_name = "FIELD")]
    by: Vec<String>,
    /// Accept only releases with this epsilon. May be repeated. Name what your devices use, because
    /// clients can send anything.
    #[arg(short, long, value_name = "E")]
    epsilon: Vec<Epsilon>,
}

impl ReleaseArgs {
    pub(crate) fn paths(&self) -> Paths {
        let inputs = self.inputs.iter();
        inputs.fold(Paths::default(), |all, path| all.stream_input("--in", path))
    }

    /// The inputs and their formats. Standard input once, or what comes would depend on the system.
    pub(crate) fn inputs(&self) -> Result<Vec<(&Path, Format)>> {
        let mut streams = 0;
        let mut inputs = Vec::new();
        for path in &self.inputs {
            let format = match self.format {
                Some(format) => format,
                None if is_stream(path) => Format::Lines,
                None => Format::of(path)?,
            };
            streams += usize::from(is_stream(path));
            if streams > 1 {
                return Err(Error::argument(
                    "--in cannot be `-`: standard input is named twice; name it once",
                ));
            }
            inputs.push((path.as_path(), format));
        }
        Ok(inputs)
    }

    /// Starts counting releases of these packs.
    pub(crate) fn counter(&self, mut expected: Expected) -> Result<Counter> {
        for epsilon in &self.epsilon {
            expected.epsilon(*epsilon);
        }
        Counter::new(self.by.clone(), expected)
    }
}

/// Counts these inputs.
pub(crate) fn count(mut counter: Counter, inputs: Vec<(&Path, Format)>) -> Result<Counted> {
    for (path, format) in inputs {
        if is_stream(path) {
            counter.stream(Path::new("standard input"), io::stdin(), format)?
        } else {
            counter.file(path, format)?
        }
    }
    counter.finish()
}

/// Refuses counts without a release, if lines were rejected; `place` states where these are.
pub(crate) fn check(counted: &Counted, place: &str) -> Result<()> {
    if counted.counts.is_empty() && counted.rejected.total() > 0 {
        let reasons = counted.rejected.summary();
        Err(Error::input(format!(
            "nothing could be counted:{reasons}{place}"
        )))
    } else {
        Ok(())
    }
}

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    releases: ReleaseArgs,
    /// The counts, .parquet or .csv: a row for each pack, mechanism, rule, epsilon, order, slice
    /// and outcome.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Accept only releases of these packs and of those of --candidates [default: of any pack]
    #[arg(short, long, num_args = 1.., value_name = "FILE")]
    pack: Vec<PathBuf>,
    /// The same packs, given by the candidates that `pack` wrote.
    #[arg(short = 'C', long, num_args = 1.., value_name = "FILE")]
    candidates: Vec<PathBuf>,
    /// Accept only answers to these forms, and releases of the packs that are named.
    #[arg(short, long, num_args = 1.., value_name = "FILE")]
    form: Vec<PathBuf>,
    /// Write rejected input to this file, in its order [default: only count it]
    ///
    /// Lines are copied; records and rows become JSON objects with "release" and the slices. Rows
    /// of counts are not written.
    #[arg(long, value_name = "FILE")]
    rejected: Option<PathBuf>,
    /// Print the totals as JSON.
    #[arg(long)]
    json: bool,
}

/// The formats of inputs.
const FORMATS: [(&str, &str, Format); 5] = [
    ("jsonl", "", Format::Lines),
    ("raw", "", Format::Raw),
    ("parquet", "", Format::Parquet),
    ("csv", "", Format::Csv),
    ("counts", "", Format::Counts),
];

/// A file that the counter writes and this command names when all is done.
#[derive(Clone)]
struct Aside(Arc<Mutex<Option<AtomicFile>>>);

impl Aside {
    fn with<T>(&self, work: impl FnOnce(&mut AtomicFile) -> T) -> Option<T> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_mut().map(work)
    }

    fn take(&self) -> Option<AtomicFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl io::Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| file.write(bytes))
            .unwrap_or(Ok(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(io::Write::flush).unwrap_or(Ok(()))
    }
}

impl Arguments {
    fn paths(&self) -> Paths {
        self.releases
            .paths()
            .inputs("--pack", &self.pack)
            .inputs("--candidates", &self.candidates)
            .inputs("--form", &self.form)
            .output("--out", &self.out)
            .outputs("--rejected", &self.rejected)
    }

    fn expected(&self) -> Result<Expected> {
        let mut expected = Expected::default();
        for path in &self.pack {
            let pack = read_pack(path)?;
            expected.pack(pack.id(), pack.candidate_count(), pack.has_nothing_known());
        }
        for path in &self.candidates {
            let candidates = Candidates::read(path)?;
            let most = u32::try_from(candidates.entries.len()).unwrap_or(u32::MAX);
            expected.pack(candidates.pack_id(), most, candidates.has_nothing_known);
        }
        for path in &self.form {
            expected.form(&read_form(path)?);
        }
        Ok(expected)
    }

    pub(crate) fn run(&self) -> Result<()> {
        self.paths().check()?;
        let inputs = self.releases.inputs()?;
        // Before the work.
        Counts::default().settled(&self.out)?;
        let aside = self.rejected.as_ref().map(AtomicFile::create).transpose()?;
        let aside = aside.map(|file| Aside(Arc::new(Mutex::new(Some(file)))));
        let mut counter = self.releases.counter(self.expected()?)?;
        if let (Some(path), Some(aside)) = (&self.rejected, &aside) {
            counter.set_aside(path, Box::new(aside.clone()));
        }
        let mut rate = Rate::start();
        let counted = count(counter, inputs);
        let mut aside = aside.and_then(|aside| aside.take());
        let counted = match counted {
            Ok(counted) => counted,
            Err(error) => {
                // Lines that came from a pipe are stored nowhere else.
                if self.releases.inputs.iter().any(|path| is_stream(path)) {
                    aside.map(AtomicFile::commit).transpose()?;
                }
                return Err(error);
            }
        };
        if let Err(error) = check(&counted, &place_of_rejects(self.rejected.as_deref())) {
            aside.map(AtomicFile::commit).transpose()?;
            return Err(error);
        }
        let Counted { counts, rejected } = counted;
        // All are on the disk before one of them gets its name.
        if let Some(file) = &mut aside {
            file.settle()?;
        }
        let out = counts.settled(&self.out)?;
        aside.map(AtomicFile::commit).transpose()?;
        out.commit()?;
        let total = counts.total();
        rate.count(usize::try_from(total).unwrap_or(usize::MAX), 0);
        self.report(&counts, &rejected, &rate)
    }

    fn report(&self, counts: &Counts, rejected: &Rejected, rate: &Rate) -> Result<()> {
        rate.report_of("counted", "releases");
        let mut kinds: Vec<(Kind, u64)> = Vec::new();
        for group in counts.groups() {
            match kinds.last_mut() {
                Some((kind, total)) if *kind == group.kind => *total += group.total(),
                _ => kinds.push((group.kind, group.total())),
            }
        }
        kinds.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
        for (kind, total) in kinds.iter().take(SHOWN) {
            note!("  {total}: {kind}");
        }
        if kinds.len() > SHOWN {
            note!("  and {} other kinds", kinds.len() - SHOWN);
        }
        note_rejects(
            rejected.total(),
            "rejected",
            self.rejected.as_deref(),
            &rejected.summary(),
        );
        if !self.json {
            return Ok(());
        }
        let kind = |(kind, total): &(Kind, u64)| {
            json!({
                "kind": kind.to_string(),
                "pack": hex::encode(kind.pack_id()),
                "epsilon": epsilon_f64(kind.epsilon()),
                "releases": total,
            })
        };
        print_json(&json!({
            "releases": counts.total(),
            "kinds": kinds.iter().map(kind).collect::<Vec<_>>(),
            "rejected": rejected.total(),
        }))
    }
}
