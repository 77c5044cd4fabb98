//! The black box: something that releases what it is told to.

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

/// A document, as a device is given it: its sentences.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// Their embeddings.
    Embeddings(Vec<Vec<f32>>),
    /// Their texts, for the lexicon of the pack.
    Texts(Vec<String>),
}

impl Document {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Embeddings(rows) => rows.len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same document on this side of the box.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if the pack does not take them.
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
    /// Their coordinates.
    pub values: Vec<Vec<f64>>,
}

/// One release, timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Whether it was of one of the other documents.
    pub other: bool,
    /// How long pushing the sentences took, in nanoseconds or cycles.
    pub push: u64,
    /// How long the release took.
    pub release: u64,
}

/// Something that releases what it is told to, as often as it is told to: for audits with public data.
///
/// An error is one of the device itself. Releases come in the order in which they were drawn.
pub trait Device {
    /// Starts anew, as a program that is started again. No document is kept.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device), as for all methods.
    fn restart(&mut self) -> Result<()>;

    /// Keeps a document under a number, 0 to [`MAX_KEPT`].
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn keep(&mut self, number: usize, sentences: &Document) -> Result<()>;

    /// [`keep`](Device::keep) for a document that is pushed the other way: embeddings one by one instead of together, texts
    /// as one text instead of sentence by sentence, if there is a text with these sentences.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn keep_otherwise(&mut self, number: usize, sentences: &Document) -> Result<()>;

    /// What its releases have said of themselves.
    fn stated(&self) -> &Stated;

    /// Candidates that `count` releases name, of these documents by turns.
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

    /// What `count` releases by the whole-text rule name, of these documents by turns: candidates, or their number for
    /// "nothing known".
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn whole_texts(
        &mut self,
        documents: &[usize],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>>;

    /// What `count` releases by projective geometry response name, of these documents by turns: points.
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

    /// Times `count` releases, each by chance of document `fixed` or of one of the others.
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

/// The largest number of a kept document.
pub const MAX_KEPT: usize = 4095;

/// The protocol that this module speaks: `ffi/audit/device.c` says what it is.
const PROTOCOL: &str = "3";

/// Values that are asked for at a time, so that an answer takes seconds at most, on a busy machine too.
const VALUES: usize = 1 << 12;

/// No answer is longer.
const MAX_ANSWER: u64 = 1 << 26;

/// How long an answer may take, unless said otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

/// After so long without an answer somebody is told that the device is waited for.
const SILENCE: Duration = Duration::from_secs(5);

/// A program that releases through the C library: `undertone-device`, from `ffi/install.sh`.
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

/// The process and the two threads that talk to it: neither writing to it nor reading from it may block.
#[derive(Debug)]
struct Running {
    child: Child,
    requests: Sender<String>,
    answers: Receiver<io::Result<String>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself. Without a reader or a writer both threads end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<'p> Program<'p> {
    /// Starts `path` with this file, which holds `pack`. Calls `notice` with a line for people
    /// when an answer is 5 s late.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device) if it does not start, or does not say that it is ready for this pack.
    pub fn start(path: &Path, file: &Path, pack: &Pack<'p>, notice: fn(&str)) -> Result<Self> {
        Self::start_within(path, file, pack, notice, PATIENCE)
    }

    /// [`start`](Program::start) with another limit on how long an answer may take.
    ///
    /// # Errors
    /// Those of [`start`](Program::start).
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

    /// The first line: who it is, and for which pack.
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

    /// The next line as it comes. Tells people if that takes long.
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

    /// The next line, after `ok `.
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
        // If the writer is gone so is the process, which the answer tells.
        let _ = self.running.requests.send(request);
        self.answer()
    }

    /// Asks for `count` times `fields` fields of `values` numbers, in portions, and reads each as what `noun` says.
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

    /// Asks for `count` times `fields` releases of `values` numbers, in portions.
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

    /// Asks for releases of documents by turns.
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
        // Whole rounds of turns in each portion.
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

    /// Keeps a document by one of two requests.
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

/// The next line without its end, `None` after the last.
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

/// Floats as the protocol has them.
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
