//! The device under audit, a black box that draws releases on request.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_core::vector::Noise;
use undertone_core::words::WordMechanism;

use crate::exact::inside;
use crate::sampled::stated::{Asked, Content, Stated};
use undertone::error::{Cause, Error, Result};
use undertone::release::document::{self, HostDocument};

/// A document for a device: its sentences.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// Embeddings of the sentences.
    Embeddings(Vec<Vec<f32>>),
    /// Texts of the sentences, for the lexicon of the pack.
    Texts(Vec<String>),
}

impl Document {
    /// Number of sentences.
    pub fn len(&self) -> usize {
        match self {
            Self::Embeddings(rows) => rows.len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// Whether the document has no sentences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Builds the same document in this process.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if the pack does not accept its
    /// sentences.
    pub fn inside<'p>(&self, pack: &Pack<'p>) -> Result<HostDocument<'p>> {
        let mut document = document::empty(pack)?;
        match self {
            Self::Embeddings(rows) => rows.iter().try_for_each(|row| document.push(row)),
            Self::Texts(texts) => texts
                .iter()
                .try_for_each(|text| document.push_sentence(text)),
        }
        .map_err(Error::from)?;
        Ok(document)
    }
}

/// Released vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// log₂ of a step of the grid, as the releases state it.
    pub grid_exponent: i32,
    /// Coordinates of each vector.
    pub values: Vec<Vec<f64>>,
}

/// Times of one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Whether the release was of one of the other documents.
    pub other: bool,
    /// Time to push the sentences, in nanoseconds or cycles.
    pub push: u64,
    /// Time of the release, in the same unit.
    pub release: u64,
}

/// Draws any number of releases on request, for audits with public data.
///
/// Errors are errors of the device itself. Releases come in the order in which they were drawn.
pub trait Device {
    /// Restarts the device like a program. It forgets all documents.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device), as in all methods.
    fn restart(&mut self) -> Result<()>;

    /// Stores a document under a number, 0 to [`MAX_KEPT`].
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn keep(&mut self, number: usize, sentences: &Document) -> Result<()>;

    /// Same as [`keep`](Device::keep), but pushes the document the other way: embeddings one by one
    /// instead of together, and texts as one text instead of sentence by sentence, if such a text
    /// exists.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn keep_otherwise(&mut self, number: usize, sentences: &Document) -> Result<()>;

    /// The statements of its releases so far.
    fn stated(&self) -> &Stated;

    /// The candidates of `count` releases, from these documents in turn.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn releases(
        &mut self,
        documents: &[usize],
        rule: Rule,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>>;

    /// The outcomes of `count` releases by the whole-text rule, from these documents in turn: a
    /// candidate, or the number of candidates for "nothing known".
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn whole_texts(
        &mut self,
        documents: &[usize],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>>;

    /// The points of `count` releases by projective geometry response, from these documents in
    /// turn.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn points(&mut self, documents: &[usize], epsilon: Epsilon, count: usize) -> Result<Vec<u32>>;

    /// `count` bags of `size` words each, drawn from these words.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn bags(
        &mut self,
        words: &[&str],
        size: u16,
        mechanism: WordMechanism,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Vec<u32>>>;

    /// `count` releases of a vector with coordinates within ±2^`bound_exponent`.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn vectors(
        &mut self,
        vector: &[f32],
        bound_exponent: i32,
        noise: Noise,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vectors>;

    /// Times `count` releases, each at random from document `fixed` or from one of the others.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn times(
        &mut self,
        fixed: usize,
        others: Range<usize>,
        rule: Rule,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Timed>>;
}

/// Largest number of a stored document.
pub const MAX_KEPT: usize = 4095;

/// Version of the protocol in `ffi/audit/device.c`.
const PROTOCOL: &str = "3";

/// Most values per request, so that an answer takes only seconds, even on a busy machine.
const VALUES: usize = 1 << 12;

/// Maximum length of an answer in bytes.
const MAX_ANSWER: u64 = 1 << 26;

/// Default time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time without an answer after which the caller is notified.
const SILENCE: Duration = Duration::from_secs(5);

/// A device program that releases through the C library: `undertone-device`, from `ffi/install.sh`.
#[derive(Debug)]
pub struct Program<'p> {
    path: PathBuf,
    file: PathBuf,
    pack: Pack<'p>,
    patience: Duration,
    notice: fn(&str),
    running: Running,
    stated: Stated,
}

/// The process and the two threads that communicate with it, so that neither writing nor reading
/// blocks.
#[derive(Debug)]
struct Running {
    child: Child,
    requests: Sender<String>,
    answers: Receiver<io::Result<String>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended. Without a reader or a writer both threads end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<'p> Program<'p> {
    /// Starts `path` with this file, which holds `pack`. Calls `notice` with a message for people
    /// when an answer is 5 s late.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device) if it does not start or does not
    /// report that it is ready for this pack.
    pub fn start(path: &Path, file: &Path, pack: &Pack<'p>, notice: fn(&str)) -> Result<Self> {
        Self::start_within(path, file, pack, notice, PATIENCE)
    }

    /// Same as [`start`](Program::start), with another time limit for an answer.
    ///
    /// # Errors
    /// Errors of [`start`](Program::start).
    pub fn start_within(
        path: &Path,
        file: &Path,
        pack: &Pack<'p>,
        notice: fn(&str),
        patience: Duration,
    ) -> Result<Self> {
        let running = spawn(path, file).map_err(|problem| device_error(path, problem))?;
        let mut program = Self {
            path: path.to_owned(),
            file: file.to_owned(),
            pack: *pack,
            patience,
            notice,
            running,
            stated: Stated::default(),
        };
        program.greet()?;
        Ok(program)
    }

    fn error(&self, problem: impl Into<String>) -> Error {
        device_error(&self.path, problem.into())
    }

    /// Reads the first line, which identifies the program and the pack.
    fn greet(&mut self) -> Result<()> {
        let greeting = self.answer()?;
        let fields: Vec<&str> = greeting.split(' ').collect();
        let ["undertone-device", protocol, _version, _backend, pack_id] = fields[..] else {
            return Err(self.error("it does not say that it is an undertone-device"));
        };
        if protocol != PROTOCOL {
            return Err(self.error(format!(
                "it speaks version {protocol} of the protocol, but this program version {PROTOCOL}; install both \
                 from the same release"
            )));
        }
        let expected = hex::encode(self.pack.id());
        if pack_id != expected {
            return Err(self.error(format!(
                "it has read pack {pack_id}, but was given {expected}"
            )));
        }
        Ok(())
    }

    /// Reads the next line, and notifies the caller if that takes long.
    fn line(&self) -> Result<io::Result<String>, RecvTimeoutError> {
        let answers = &self.running.answers;
        let first = self.patience.min(SILENCE);
        match answers.recv_timeout(first) {
            Err(RecvTimeoutError::Timeout) if first < self.patience => {
                let rest = self.patience - first;
                (self.notice)(&format!(
                    "waiting for {}: no answer for {} s; the audit gives up after another {} s",
                    self.path.display(),
                    first.as_secs(),
                    rest.as_secs()
                ));
                answers.recv_timeout(rest)
            }
            answer => answer,
        }
    }

    /// Reads the next line and returns the part after `ok `.
    fn answer(&mut self) -> Result<String> {
        let line = match self.line() {
            Ok(Ok(line)) => line,
            Ok(Err(cause)) => return Err(self.error(format!("its answer cannot be read: {cause}"))),
            Err(RecvTimeoutError::Timeout) => {
                return Err(self.error(format!(
                    "no answer within {} s; it hangs or is far too slow",
                    self.patience.as_secs_f64()
                )));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.running.child.wait();
                let status = status.map_or_else(|cause| cause.to_string(), |s| s.to_string());
                return Err(self.error(format!("it ended without an answer: {status}")));
            }
        };
        if line == "ok" {
            Ok(String::new())
        } else if let Some(fields) = line.strip_prefix("ok ") {
            Ok(fields.to_owned())
        } else if let Some(problem) = line.strip_prefix("error ") {
            Err(self.error(format!("it refused: {problem}")))
        } else {
            let start: String = line.chars().take(60).collect();
            Err(self.error(format!("its answer makes no sense: {start:?}")))
        }
    }

    fn ask(&mut self, request: String) -> Result<String> {
        // If the writer is gone, so is the process, and the answer reports that.
        let _ = self.running.requests.send(request);
        self.answer()
    }

    /// Requests `count` times `fields` fields of `values` numbers, in portions, and reads each
    /// field; `noun` names it in errors.
    fn ask_fields<T>(
        &mut self,
        count: usize,
        [fields, values]: [usize; 2],
        noun: &str,
        request: impl Fn(usize) -> String,
        mut read: impl FnMut(&mut Self, &str) -> Option<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::with_capacity(count * fields);
        let portion = (VALUES / (fields * values).max(1)).max(1);
        let mut left = count;
        while left > 0 {
            let now = left.min(portion);
            let answer = self.ask(request(now))?;
            let before = all.len();
            for field in answer.split(' ') {
                match read(self, field) {
                    Some(value) => all.push(value),
                    None => return Err(self.error(format!("{field:?} is no {noun}"))),
                }
            }
            if all.len() - before != now * fields {
                return Err(self.error(format!(
                    "{} fields where {} were asked for",
                    all.len() - before,
                    now * fields
                )));
            }
            left -= now;
        }
        Ok(all)
    }

    /// Requests `count` times `fields` releases of `values` numbers, in portions.
    fn ask_releases(
        &mut self,
        (asked, epsilon): (Asked, Epsilon),
        count: usize,
        sizes: [usize; 2],
        request: impl Fn(usize) -> String,
    ) -> Result<Vec<Content>> {
        let expected = asked.expected(&self.pack, epsilon);
        self.ask_fields(count, sizes, "release", request, |device, field| {
            let bytes = hex::decode(field).ok()?;
            device.stated.read(&expected, &bytes)
        })
    }

    /// Requests releases of the documents in turn.
    fn by_turns(
        &mut self,
        asked: Asked,
        request: &str,
        documents: &[usize],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>> {
        let turns: String = documents
            .iter()
            .map(|number| format!(" {number}"))
            .collect();
        // Each portion has whole rounds of the documents.
        let rounds = count.div_ceil(documents.len().max(1));
        let all = self.ask_releases((asked, epsilon), rounds, [documents.len(), 1], |rounds| {
            let (micro, count) = (epsilon.micro(), rounds * documents.len());
            format!("{request} {micro} {count}{turns}")
        })?;
        let numbers = all.into_iter().filter_map(|content| match content {
            Content::Number(number) => Some(number),
            Content::Words(_) | Content::Steps(..) => None,
        });
        Ok(numbers.take(count).collect())
    }

    /// Stores a document by one of two requests.
    fn keep_by(
        &mut self,
        number: usize,
        sentences: &Document,
        [embeddings, texts]: [&str; 2],
    ) -> Result<()> {
        let request = match sentences {
            Document::Embeddings(rows) => {
                format!("{embeddings} {number} {}", floats(rows.iter().flatten()))
            }
            Document::Texts(sentences) => {
                let fields = sentences
                    .iter()
                    .map(|sentence| format!(" {}", text(sentence)));
                format!("{texts} {number}{}", fields.collect::<String>())
            }
        };
        self.ask(request).map(|_| ())
    }
}

fn device_error(path: &Path, problem: String) -> Error {
    Error::from(Cause::Device {
        path: path.to_owned(),
        problem,
    })
}

fn spawn(path: &Path, pack: &Path) -> Result<Running, String> {
    let mut child = Command::new(path)
        .arg(pack)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|cause| format!("it does not start: {cause}"))?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("it has no standard streams".to_owned());
    };
    let (requests, lines) = channel::<String>();
    thread::spawn(move || {
        for mut line in lines {
            line.push('\n');
            if stdin.write_all(line.as_bytes()).is_err() || stdin.flush().is_err() {
                break;
            }
        }
    });
    let (lines, answers) = channel();
    thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        loop {
            let line = read_line(&mut stdout);
            let last = !matches!(line, Ok(Some(_)));
            if line
                .transpose()
                .is_none_or(|line| lines.send(line).is_err())
                || last
            {
                break;
            }
        }
    });
    Ok(Running {
        child,
        requests,
        answers,
    })
}

/// Reads the next line without its end; `None` at the end of the output.
fn read_line(stdout: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    stdout.by_ref().take(MAX_ANSWER).read_line(&mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some('\n') {
        return Err(io::Error::other("a line without an end"));
    }
    Ok(Some(line))
}

fn floats<'a>(floats: impl IntoIterator<Item = &'a f32>) -> String {
    let digits: String = floats
        .into_iter()
        .map(|x| format!("{:08x}", x.to_bits()))
        .collect();
    or_none(digits)
}

fn text(text: &str) -> String {
    or_none(hex::encode(text))
}

fn or_none(digits: String) -> String {
    if digits.is_empty() {
        "-".to_owned()
    } else {
        digits
    }
}

/// The number of a word mechanism in the C interface.
fn word_mechanism(mechanism: WordMechanism) -> Option<u8> {
    match mechanism {
        WordMechanism::Selection(rule) => Some(rule as u8),
        WordMechanism::LaplaceNearest => Some(3),
        _ => None,
    }
}

impl Device for Program<'_> {
    fn restart(&mut self) -> Result<()> {
        self.running = spawn(&self.path, &self.file).map_err(|problem| self.error(problem))?;
        self.greet()
    }

    fn keep(&mut self, number: usize, sentences: &Document) -> Result<()> {
        self.keep_by(number, sentences, ["embeddings", "texts"])
    }

    fn keep_otherwise(&mut self, number: usize, sentences: &Document) -> Result<()> {
        let whole = match sentences {
            Document::Embeddings(_) => return self.keep_by(number, sentences, ["singly", ""]),
            Document::Texts(texts) => inside::whole(texts),
        };
        match whole {
            Some(text) => self.keep_by(number, &Document::Texts(vec![text]), ["", "whole"]),
            None => self.keep(number, sentences),
        }
    }

    fn stated(&self) -> &Stated {
        &self.stated
    }

    fn releases(
        &mut self,
        documents: &[usize],
        rule: Rule,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>> {
        let request = format!("release {}", rule as u8);
        self.by_turns(Asked::Sentences(rule), &request, documents, epsilon, count)
    }

    fn whole_texts(
        &mut self,
        documents: &[usize],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>> {
        self.by_turns(Asked::WholeText, "whole-text", documents, epsilon, count)
    }

    fn points(&mut self, documents: &[usize], epsilon: Epsilon, count: usize) -> Result<Vec<u32>> {
        self.by_turns(Asked::Points, "projective", documents, epsilon, count)
    }

    fn bags(
        &mut self,
        words: &[&str],
        size: u16,
        mechanism: WordMechanism,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Vec<u32>>> {
        let number = word_mechanism(mechanism)
            .ok_or_else(|| self.error("this way to make words private has no number in C"))?;
        let words: String = words
            .iter()
            .map(|word| format!(" {}", text(word)))
            .collect();
        let asked = Asked::Bag(mechanism, size);
        let bags = self.ask_releases((asked, epsilon), count, [1, size.into()], |count| {
            format!("bag {number} {} {size} {count}{words}", epsilon.micro())
        })?;
        let words = bags.into_iter().filter_map(|content| match content {
            Content::Words(words) => Some(words),
            Content::Number(_) | Content::Steps(..) => None,
        });
        Ok(words.collect())
    }

    fn vectors(
        &mut self,
        vector: &[f32],
        bound_exponent: i32,
        noise: Noise,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vectors> {
        let asked = Asked::Vector(noise, vector.len() as u32);
        let (number, micro, floats) = (noise as u8, epsilon.micro(), floats(vector));
        let released = self.ask_releases((asked, epsilon), count, [1, vector.len()], |count| {
            format!("vector {number} {micro} {bound_exponent} {count} {floats}")
        })?;
        let mut vectors = Vectors {
            grid_exponent: 0,
            values: Vec::with_capacity(count),
        };
        for content in released {
            if let Content::Steps(grid_exponent, steps) = content {
                vectors.grid_exponent = grid_exponent;
                let step = f64::from(grid_exponent).exp2();
                let values = steps.iter().map(|steps| f64::from(*steps) * step);
                vectors.values.push(values.collect());
            }
        }
        Ok(vectors)
    }

    fn times(
        &mut self,
        fixed: usize,
        others: Range<usize>,
        rule: Rule,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Timed>> {
        let numbers: Vec<u64> = self.ask_fields(
            count,
            [3, 1],
            "number",
            |count| {
                let (rule, micro, first) = (rule as u8, epsilon.micro(), others.start);
                format!(
                    "times {rule} {micro} {count} {fixed} {first} {}",
                    others.len()
                )
            },
            |_, field| field.parse().ok(),
        )?;
        Ok(numbers
            .as_chunks::<3>()
            .0
            .iter()
            .map(|[class, push, release]| Timed {
                other: *class != 0,
                push: *push,
                release: *release,
            })
            .collect())
    }
}
