//! `undertone decode`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use undertone::error::{Cause, Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::pack::candidates::{Candidate, Candidates};
use undertone::release::lines::{BadLine, Lines, ReleaseLine};
use undertone_core::release::Selector;
use undertone_tables::{Kind, Table};

use crate::files::json;
use crate::paths::{Paths, is_stream};
use crate::progress::{Rate, note_rejects};

/// Its arguments.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The candidates that `pack` wrote, one file for each pack that releases may come from: devices use old packs for
    /// months.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    candidates: Vec<PathBuf>,
    /// The releases: one JSON object on each line, with the release in hexadecimal digits in its field "release". All
    /// its other fields are copied, as they are written. The file may be gzipped; `-` is standard input. Or a table with a
    /// column "release", .parquet or .csv.
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,
    /// One JSON object on each line, or `-` for standard output: the fields of the input line, then "epsilon" (a
    /// number), "unit" (what is exchanged in the promise: "sentence" or "whole text"), "pack", "candidate" (its number
    /// in the pack), "name", "label" and "excerpt"; the last three are null for "nothing known". A field of the input
    /// with one of these names gets "input_" before its name. A file that ends in .parquet or .csv becomes a table with these
    /// columns.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Where to write the lines that are no releases of these packs, as they are, or rows of a table as lines of JSON, and
    /// those by projective geometry, which name no candidate. Decode them again with the right candidates. Without it they are only counted.
    #[arg(long, value_name = "FILE")]
    rejected: Option<PathBuf>,
    /// Write the candidate's embedding, too, as the field "embedding". The output is then several times as large.
    #[arg(long)]
    embedding: bool,
}

/// The fields that decoding adds.
const ADDED: [&str; 8] = [
    "epsilon",
    "unit",
    "pack",
    "candidate",
    "name",
    "label",
    "excerpt",
    "embedding",
];

/// One line of what the server makes of a release.
struct DecodedLine<'a> {
    line: &'a ReleaseLine<'a>,
    /// None for "nothing known".
    candidate: Option<&'a Candidate>,
    embedding: Option<&'a [f32]>,
}

impl Serialize for DecodedLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.line.fields.0 {
            match ADDED.contains(&name.as_str()) {
                true => map.serialize_entry(&format!("input_{name}"), value)?,
                false => map.serialize_entry(name, value)?,
            }
        }
        let release = &self.line.release;
        map.serialize_entry("epsilon", &number(&release.epsilon().to_string()))?;
        map.serialize_entry("pack", &hex::encode(release.pack_id()))?;
        map.serialize_entry("candidate", &release.candidate())?;
        let unit = match release.selector() {
            Selector::WholeText => "whole text",
            _ => "sentence",
        };
        map.serialize_entry("unit", unit)?;
        map.serialize_entry("name", &self.candidate.map(|candidate| &candidate.id))?;
        let label = self
            .candidate
            .and_then(|candidate| candidate.label.as_ref());
        map.serialize_entry("label", &label)?;
        map.serialize_entry(
            "excerpt",
            &self.candidate.map(|candidate| &candidate.excerpt),
        )?;
        if let Some(embedding) = self.embedding {
            map.serialize_entry("embedding", embedding)?;
        }
        map.end()
    }
}

/// A number with the digits it is written with.
fn number(digits: &str) -> Box<RawValue> {
    let digits = RawValue::from_string(digits.to_owned());
    digits.unwrap_or_else(|_| to_raw_value("").expect("a string is JSON"))
}

/// The candidates of several packs.
struct Packs(HashMap<[u8; 8], (PathBuf, Candidates)>);

impl Packs {
    fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut packs = HashMap::<_, (PathBuf, Candidates)>::new();
        for path in paths {
            let candidates = Candidates::read(path)?;
            let own = (path.clone(), candidates);
            let id = own.1.pack_id();
            if let Some((first, _)) = packs.insert(id, own) {
                return Err(Error::from(Cause::SamePack {
                    first,
                    second: path.clone(),
                }));
            }
        }
        Ok(Self(packs))
    }

    fn decode(&self, line: &ReleaseLine<'_>) -> Result<Option<(&Candidate, &[f32])>, BadLine> {
        let (_, pack) = self
            .0
            .get(&line.release.pack_id())
            .ok_or(BadLine::OtherPack)?;
        if line.release.order().is_some() {
            return Err(BadLine::Point);
        }
        pack.decode(&line.release)
            .map_err(|_| BadLine::NoSuchCandidate)
    }
}

/// Lines that were rejected: how many for each reason, and the first of them.
#[derive(Default)]
struct Rejected {
    reasons: BTreeMap<BadLine, (u64, u64)>,
    /// The first pack whose candidates were not given.
    pack: Option<[u8; 8]>,
}

impl Rejected {
    fn count(&mut self, number: u64, problem: BadLine) {
        self.reasons.entry(problem).or_insert((0, number)).0 += 1;
    }

    fn lines(&self) -> u64 {
        self.reasons.values().map(|(count, _)| count).sum()
    }

    fn summary(&self) -> String {
        let mut text = String::new();
        for (problem, (count, first)) in &self.reasons {
            let _ = write!(text, "\n  {count}: {problem}; the first on line {first}");
            if let (BadLine::OtherPack, Some(pack)) = (problem, self.pack) {
                let _ = write!(text, ", pack {}", hex::encode(pack));
            }
        }
        text
    }
}

/// The columns of a table, where their kinds do not depend on the rows.
const COLUMNS: [(&str, Kind); 8] = [
    ("release", Kind::Release),
    ("epsilon", Kind::Epsilon),
    ("pack", Kind::Text),
    ("candidate", Kind::Whole),
    ("unit", Kind::Text),
    ("name", Kind::Text),
    ("label", Kind::Text),
    ("excerpt", Kind::Text),
];

/// A file that appears when all is written, or standard output.
enum Output {
    File(AtomicFile),
    /// Lines that wait in a file without a name until they are a table, and where that will be.
    Table(BufWriter<File>, Table, PathBuf),
    /// The table.
    Settled(AtomicFile),
    Stream(BufWriter<io::Stdout>),
}

impl Output {
    fn create(path: &Path, embedding: bool) -> Result<Self> {
        if is_stream(path) {
            return Ok(Self::Stream(BufWriter::new(io::stdout())));
        }
        let mut kinds = COLUMNS.to_vec();
        if embedding {
            kinds.push(("embedding", Kind::Singles));
        }
        let Some(table) = Table::of(path, &kinds)? else {
            return Ok(Self::File(AtomicFile::create(path)?));
        };
        AtomicFile::check(path)?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let lines = tempfile::tempfile_in(folder.unwrap_or(Path::new(".")));
        let lines = lines.map_err(Error::io("create", path))?;
        Ok(Self::Table(BufWriter::new(lines), table, path.to_owned()))
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::File(file) | Self::Settled(file) => file,
            Self::Table(lines, ..) => lines,
            Self::Stream(stream) => stream,
        }
    }

    fn settle(&mut self, path: &Path) -> Result<()> {
        match self {
            Self::File(file) | Self::Settled(file) => file.settle(),
            Self::Table(lines, table, path) => {
                lines.flush().map_err(Error::io("write", path))?;
                *self = Self::Settled(table.settled(lines.get_mut(), path)?);
                Ok(())
            }
            Self::Stream(stream) => stream.flush().map_err(Error::io("write", path)),
        }
    }

    fn commit(self) -> Result<()> {
        match self {
            Self::File(file) | Self::Settled(file) => file.commit(),
            // Settled by now.
            Self::Table(..) | Self::Stream(_) => Ok(()),
        }
    }
}

impl Arguments {
    pub(crate) fn paths(&self) -> Paths {
        let paths = Paths::default()
            .inputs("--candidates", &self.candidates)
            .stream_input("--in", &self.input)
            .stream_output("--out", &self.out);
        match &self.rejected {
            None => paths,
            Some(path) => paths.output("--rejected", path),
        }
    }

    pub(crate) fn run(&self) -> Result<()> {
        let packs = Packs::read(&self.candidates)?;
        let mut lines = match is_stream(&self.input) {
            true => Lines::new(Path::new("standard input"), io::stdin())?,
            false => undertone_tables::releases(&self.input)?,
        };
        let mut out = Output::create(&self.out, self.embedding)?;
        let mut aside = self.rejected.as_ref().map(AtomicFile::create).transpose()?;
        let mut rate = Rate::start();
        let mut rejected = Rejected::default();
        let mut decoded = 0;
        while let Some(line) = lines.next_line()? {
            let number = line.number;
            let parsed = line.text.and_then(ReleaseLine::parse);
            let found = parsed.and_then(|line| match packs.decode(&line) {
                Ok(decoded) => Ok(json(&DecodedLine {
                    line: &line,
                    candidate: decoded.map(|(candidate, _)| candidate),
                    embedding: decoded.map(|(_, own)| own).filter(|_| self.embedding),
                })),
                Err(problem) => {
                    if problem == BadLine::OtherPack {
                        rejected.pack.get_or_insert(line.release.pack_id());
                    }
                    Err(problem)
                }
            });
            match found {
                Ok(text) => {
                    match writeln!(out.writer(), "{text}") {
                        // Anyone may stop reading early, as `head` does.
                        Err(error) if self.stopped(&error) => break,
                        written => written.map_err(Error::io("write", &self.out))?,
                    }
                    decoded += 1;
                    rate.count(1, 0);
                }
                Err(problem) => {
                    rejected.count(number, problem);
                    if let (Some(file), Some(path)) = (&mut aside, &self.rejected) {
                        lines.copy(file, path)?;
                    }
                }
            }
        }
        if decoded == 0 && rejected.lines() > 0 {
            return Err(Error::from(Cause::NothingDecoded {
                path: self.input.clone(),
                reasons: rejected.summary(),
            }));
        }
        // All are on the disk before one of them gets its name.
        if let Some(file) = &mut aside {
            file.settle()?;
        }
        match out.settle(&self.out) {
            Err(error) if matches!(error.cause(), Cause::Io { cause, .. } if self.stopped(cause)) =>
                {}
            settled => settled?,
        }
        aside.map(AtomicFile::commit).transpose()?;
        out.commit()?;
        rate.report("decoded");
        note_rejects(
            rejected.lines(),
            "lines rejected",
            self.rejected.as_deref(),
            &rejected.summary(),
        );
        Ok(())
    }

    /// Whether an error only says that nobody reads standard output any more.
    fn stopped(&self, error: &io::Error) -> bool {
        is_stream(&self.out) && error.kind() == io::ErrorKind::BrokenPipe
    }
}
