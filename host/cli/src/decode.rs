//! `undertone decode`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::{mem, panic, thread};

use clap::Args;
use serde::Serialize;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::files::foreign;
use undertone::pack::candidates::{Candidate, Candidates};
use undertone::release::lines::{BadLine, Batch, Lines, ReleaseLine};
use undertone_core::unit::Unit;
use undertone_tables::Kind;

use crate::args::whole;
use crate::files::{Output, json, read_form};
use crate::paths::{Paths, is_stream};
use crate::posteriors::{COLUMNS_OF_ANSWERS, Estimates, KnownForm};
use crate::progress::{Rate, note_rejects, place_of_rejects};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The candidates that `pack` wrote, a file for each pack in use: devices use old packs for
    /// months.
    #[arg(
        short = 'C',
        long,
        required_unless_present = "form",
        num_args = 1..,
        value_name = "FILE"
    )]
    candidates: Vec<PathBuf>,
    /// The forms whose answers to decode: how probable each answer is, given its release.
    #[arg(short, long, num_args = 1.., value_name = "FILE")]
    form: Vec<PathBuf>,
    /// The shares of answers, as `estimate --form --json` prints them, by which to weigh answers
    /// before their release is seen [default: equal shares]
    #[arg(long, value_name = "FILE", requires = "form")]
    shares: Option<PathBuf>,
    /// Write the N most probable answers of each release to a form.
    #[arg(long, default_value_t = 10, value_name = "N", requires = "form", value_parser = whole::<usize>)]
    top: usize,
    /// The releases: a JSON object a line, gzipped or not, or a .parquet or .csv table; `-` is
    /// standard input.
    ///
    /// The field or column "release" has the release in hexadecimal digits. All other fields are
    /// copied as they are written.
    #[arg(short, long = "in", default_value = "-", value_name = "FILE")]
    input: PathBuf,
    /// The decoded releases: a JSON object a line, or a .parquet or .csv table; `-` is standard
    /// output.
    ///
    /// The fields of the input, then "epsilon", "unit" (the privacy unit: "sentence" or "whole
    /// text"), "pack", "candidate" (its number in the pack), "name", "label" and "excerpt". The
    /// last three are null if the release names no candidate. An answer to a form has, after
    /// "pack", which is the form, "unit" ("all answers"), "attributes" (one, or the two of a pair),
    /// "answer" (the most probable one), "probability", "posterior" (the probabilities of the --top
    /// answers) and "shares" ("estimated" or "equal"). A field of the input with one of these names
    /// is prefixed with "input_", repeatedly if needed.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    out: PathBuf,
    /// Write rejected lines to this file, rows of a table as JSON [default: only count them]
    ///
    /// Lines that are not releases of these packs and forms, and releases by the projective rule,
    /// which name no candidate.
    #[arg(long, value_name = "FILE")]
    rejected: Option<PathBuf>,
    /// Add the candidate's embedding, as the field "embedding".
    #[arg(long)]
    embedding: bool,
}

/// The candidates of a pack.
struct Known {
    path: PathBuf,
    candidates: Candidates,
    /// The pack's identifier in hexadecimal digits.
    id: String,
    /// The JSON members of each candidate, rendered once because many releases name the same one.
    members: Vec<String>,
}

impl Known {
    fn read(path: &Path) -> Result<Self> {
        let candidates = Candidates::read(path)?;
        let member = |own: &Candidate| {
            let [name, label, excerpt] = [json(&own.id), json(&own.label), json(&own.excerpt)];
            format!("\"name\":{name},\"label\":{label},\"excerpt\":{excerpt}")
        };
        Ok(Self {
            path: path.to_owned(),
            id: hex::encode(candidates.pack_id()),
            members: candidates.entries.iter().map(member).collect(),
            candidates,
        })
    }
}

/// The members of a release that names no candidate.
const NOTHING: &str = "\"name\":null,\"label\":null,\"excerpt\":null";

/// The candidates of several packs, and several forms.
struct Packs {
    known: HashMap<[u8; 8], Known>,
    forms: HashMap<[u8; 8], KnownForm>,
    /// Whether lines have embeddings.
    embedding: bool,
    /// The number of answers in a posterior.
    top: usize,
}

impl Packs {
    fn read(arguments: &Arguments) -> Result<Self> {
        let mut known = HashMap::<_, Known>::new();
        for path in &arguments.candidates {
            let own = Known::read(path)?;
            if let Some(first) = known.insert(own.candidates.pack_id(), own) {
                return Err(Error::input(format!(
                    "`{}` and `{}` have the candidates of the same pack; leave one of them \
                     out",
                    first.path.display(),
                    path.display()
                )));
            }
        }
        let estimates = arguments.shares.as_deref().map(Estimates::read);
        let estimates = estimates.transpose()?;
        let mut forms = HashMap::new();
        for path in &arguments.form {
            let form = read_form(path)?;
            forms.insert(form.id(), KnownForm::new(form, estimates.as_ref()));
        }
        Ok(Self {
            known,
            forms,
            embedding: arguments.embedding,
            top: arguments.top,
        })
    }

    /// Adds the fields of the line, renamed if decoding adds a field of the name, which is a column
    /// after that of the release.
    fn push_fields(line: &ReleaseLine<'_>, columns: &[(&str, Kind)], out: &mut Vec<u8>) {
        for (name, value) in &line.fields.0 {
            let text = name.text();
            if columns[1..].iter().any(|(added, _)| *added == text) {
                push_json(out, &free_name(&text, line));
            } else {
                out.extend_from_slice(name.as_written().as_bytes());
            }
            out.push(b':');
            out.extend_from_slice(value.get().as_bytes());
            out.push(b',');
        }
    }

    /// Adds what the server makes of a release, as a line.
    fn decode(&self, line: &ReleaseLine<'_>, out: &mut Vec<u8>) -> Result<(), BadLine> {
        let release = &line.release;
        if let Some(form) = self.forms.get(&release.pack_id()) {
            let mut members = Vec::new();
            form.decode(release, self.top, &mut members)?;
            out.push(b'{');
            Self::push_fields(line, &COLUMNS_OF_ANSWERS, out);
            out.extend_from_slice(&members);
            out.extend_from_slice(b"}\n");
            return Ok(());
        }
        let pack = self.known.get(&release.pack_id());
        let pack = pack.ok_or(BadLine::OtherPack)?;
        if release.order().is_some() {
            return Err(BadLine::Point);
        }
        let found = pack.candidates.decode(release);
        let found = found.map_err(|_| BadLine::NoSuchCandidate)?;
        out.push(b'{');
        Self::push_fields(line, &COLUMNS, out);
        let (epsilon, id, candidate) = (release.epsilon(), &pack.id, release.number());
        let unit = match release.mechanism().unit() {
            Unit::WholeText => "whole text",
            _ => "sentence",
        };
        let members = match found {
            None => NOTHING,
            Some(_) => &pack.members[candidate as usize],
        };
        write!(
            out,
            "\"epsilon\":{epsilon},\"pack\":\"{id}\",\"candidate\":{candidate},\"unit\":\"{unit}\",{members}"
        )
        .expect("memory can be written");
        if let (Some((_, embedding)), true) = (found, self.embedding) {
            out.extend_from_slice(b",\"embedding\":");
            push_json(out, embedding);
        }
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}

/// A name for a field of the input that has one of those added: no other field of the line has it.
fn free_name(name: &str, line: &ReleaseLine<'_>) -> String {
    let mut free = format!("input_{name}");
    while line.fields.0.iter().any(|(other, _)| *other == *free) {
        free.insert_str(0, "input_");
    }
    free
}

fn push_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value).expect("strings and numbers are JSON");
}

/// Lines that were rejected: how many for each reason, and the first of them.
#[derive(Default)]
struct Rejected {
    reasons: BTreeMap<BadLine, (u64, u64)>,
    /// The first pack or form that was not given.
    pack: Option<[u8; 8]>,
}

impl Rejected {
    fn count(&mut self, number: u64, problem: BadLine) {
        self.reasons.entry(problem).or_insert((0, number)).0 += 1;
    }

    /// Adds those of later lines.
    fn add(&mut self, later: Self) {
        for (problem, (count, first)) in later.reasons {
            self.reasons.entry(problem).or_insert((0, first)).0 += count;
        }
        self.pack = self.pack.or(later.pack);
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

/// Batches that are read before they are written, for each thread that decodes.
const AHEAD: usize = 2;

/// A decoded batch.
#[derive(Default)]
struct Decoded {
    text: Vec<u8>,
    lines: usize,
    rejected: Rejected,
    /// The rejected lines, as they stand in the input.
    aside: Vec<u8>,
}

impl Decoded {
    fn of(batch: &Batch, packs: &Packs) -> Self {
        let mut decoded = Self::default();
        for (number, line) in batch.lines() {
            if let Err(problem) = decoded.push(line, number, packs) {
                decoded.rejected.count(number, problem);
                decoded.aside.extend_from_slice(line);
            }
        }
        decoded
    }

    fn push(&mut self, line: &[u8], number: u64, packs: &Packs) -> Result<(), BadLine> {
        ReleaseLine::with(Lines::text_of(line, number)?, |line| {
            let found = packs.decode(&line, &mut self.text);
            if found == Err(BadLine::OtherPack) {
                let pack = &mut self.rejected.pack;
                pack.get_or_insert(line.release.pack_id());
            }
            found.map(|()| self.lines += 1)
        })
    }
}

/// Nobody waits for batches any more.
struct Stopped;

/// Batches that were read and not yet written. They are decoded on all cores, and received in the
/// order in which they were read.
struct Ahead {
    packs: Arc<Packs>,
    batch: Batch,
    queue: SyncSender<Receiver<Decoded>>,
}

impl Ahead {
    /// Has the batch decoded.
    fn send(&mut self) -> Result<(), Stopped> {
        if self.batch.line_count() == 0 {
            return Ok(());
        }
        let batch = mem::take(&mut self.batch);
        let packs = Arc::clone(&self.packs);
        let (sender, receiver) = channel();
        rayon::spawn(move || {
            // Nobody waits for it if writing has failed.
            let _ = sender.send(Decoded::of(&batch, &packs));
        });
        self.queue.send(receiver).map_err(|_| Stopped)
    }

    /// Hands on what needs no decoding.
    fn send_as_is(&mut self, decoded: Decoded) -> Result<(), Stopped> {
        let (sender, receiver) = channel();
        let sent = sender.send(decoded).map_err(|_| Stopped);
        sent.and_then(|()| self.queue.send(receiver).map_err(|_| Stopped))
    }
}

/// Shared with [`Waiting`], which is in the lines that are read.
type Shared = Arc<Mutex<Ahead>>;

fn locked(shared: &Mutex<Ahead>) -> MutexGuard<'_, Ahead> {
    shared.lock().expect("only one thread reads")
}

/// Reads all lines.
fn read(lines: &mut Lines, shared: &Shared, rejected: Option<&Path>) -> Result<()> {
    while let Some(line) = lines.next_line()? {
        let (number, too_long) = (line.number, line.text == Err(BadLine::TooLong));
        let mut ahead = locked(shared);
        let mut sent = Ok(());
        if too_long {
            let mut decoded = Decoded::default();
            decoded.rejected.count(number, BadLine::TooLong);
            sent = ahead.send().and_then(|()| ahead.send_as_is(decoded));
            drop(ahead);
            if let Some(path) = rejected {
                lines.copy(&mut Pieces(shared), path)?;
            }
        } else {
            ahead.batch.push(number, lines)?;
            if ahead.batch.is_full() {
                sent = ahead.send();
            }
        }
        if sent.is_err() {
            break;
        }
    }
    Ok(())
}

/// A line that is too long to be held: its pieces are set aside, one after the other.
struct Pieces<'a>(&'a Shared);

impl Write for Pieces<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let decoded = Decoded {
            aside: piece.to_owned(),
            ..Decoded::default()
        };
        let sent = locked(self.0).send_as_is(decoded);
        sent.map_err(|Stopped| io::ErrorKind::BrokenPipe)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard input. It may pause for long, as with `tail -f`, so its lines are decoded before more
/// are requested.
struct Waiting(Shared);

impl Read for Waiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match locked(&self.0).send() {
            Ok(()) => io::stdin().read(buffer),
            Err(Stopped) => Ok(0),
        }
    }
}

/// The columns of a table, where their kinds do not depend on the rows.
const COLUMNS: [(&str, Kind); 9] = [
    ("release", Kind::Release),
    ("epsilon", Kind::Epsilon),
    ("pack", Kind::Text),
    ("candidate", Kind::Whole),
    ("unit", Kind::Text),
    ("name", Kind::Text),
    ("label", Kind::Text),
    ("excerpt", Kind::Text),
    EMBEDDING,
];

const EMBEDDING: (&str, Kind) = ("embedding", Kind::Singles);

impl Arguments {
    fn output(&self) -> Result<Output> {
        let mut kinds = Vec::new();
        if !self.candidates.is_empty() {
            kinds.extend(&COLUMNS[..COLUMNS.len() - 1]);
        }
        if !self.form.is_empty() {
            let is_new = |(name, _): &(&str, Kind)| kinds.iter().all(|(own, _)| own != name);
            let of_answers = COLUMNS_OF_ANSWERS.into_iter().filter(is_new);
            kinds.extend(of_answers.collect::<Vec<_>>());
        }
        if self.embedding {
            kinds.push(EMBEDDING);
        }
        Output::create(&self.out, &kinds)
    }

    fn paths(&self) -> Paths {
        Paths::default()
            .inputs("--candidates", &self.candidates)
            .inputs("--form", &self.form)
            .inputs("--shares", &self.shares)
            .stream_input("--in", &self.input)
            .stream_output("--out", &self.out)
            .outputs("--rejected", &self.rejected)
    }

    pub(crate) fn run(&self) -> Result<()> {
        self.paths().check()?;
        let packs = Packs::read(self)?;
        let (queue, batches) = sync_channel(AHEAD * rayon::current_num_threads());
        let shared = Arc::new(Mutex::new(Ahead {
            packs: Arc::new(packs),
            batch: Batch::default(),
            queue,
        }));
        let mut lines = if is_stream(&self.input) {
            let input = BufReader::with_capacity(Batch::ENOUGH, Waiting(Arc::clone(&shared)));
            Lines::new(Path::new("standard input"), input)?
        } else {
            undertone_tables::releases(&self.input)?
        };
        let mut out = self.output()?;
        let mut aside = self.rejected.as_ref().map(AtomicFile::create).transpose()?;
        let mut rate = Rate::start();
        let mut rejected = Rejected::default();
        let mut decoded = 0;
        let path = self.rejected.clone();
        // Not in a scope, which would wait for a line of standard input after standard output is
        // closed.
        let reader = thread::spawn(move || {
            let done = read(&mut lines, &shared, path.as_deref());
            // Lines before an error are also decoded. Without a receiver they are dropped.
            let _ = locked(&shared).send();
            done
        });
        let mut stopped = false;
        for batch in batches {
            let batch = batch.recv().expect("a panic there ends the process");
            if let (Some(file), Some(path)) = (&mut aside, &self.rejected) {
                file.write_all(&batch.aside)
                    .map_err(Error::io("write", path))?;
            }
            rejected.add(batch.rejected);
            decoded += batch.lines;
            rate.count(batch.lines, 0);
            match out.write(&batch.text) {
                // Anyone may stop reading early, as `head` does.
                Err(error) if self.stopped(&error) => {
                    stopped = true;
                    break;
                }
                written => written?,
            }
        }
        if !stopped {
            let read = reader.join();
            read.unwrap_or_else(|panic| panic::resume_unwind(panic))?;
        }
        if decoded == 0 && rejected.lines() > 0 {
            // They may come from a pipe, and be nowhere else.
            aside.map(AtomicFile::commit).transpose()?;
            if let Some(error) = foreign::of_releases(&self.input) {
                return Err(error);
            }
            return Err(Error::input(format!(
                "no line of `{}` could be decoded:{}",
                self.input.display(),
                rejected.summary() + &place_of_rejects(self.rejected.as_deref())
            )));
        }
        // All are on the disk before one of them gets its name.
        if let Some(file) = &mut aside {
            file.settle()?;
        }
        match out.settle() {
            Err(error) if self.stopped(&error) => {}
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

    /// Whether standard output was closed by its reader.
    fn stopped(&self, error: &Error) -> bool {
        let is_broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
        is_stream(&self.out) && error.cause().is_some_and(is_broken)
    }
}
