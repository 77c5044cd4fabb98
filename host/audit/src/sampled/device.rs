//! The device under audit, a black box that draws releases on request.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use undertone_core::epsilon::Epsilon;
use undertone_core::form::Form;
use undertone_core::laplace::Sensitivity;
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::release::{
    BagRelease, DrawnBy, Release, ReleaseFormatError, VectorRelease, WordMechanism,
};
use undertone_core::select::Rule;
use undertone_core::sentences::sentences;
use undertone_core::vector::Noise;

use crate::sampled::stated::Stated;
use undertone::error::{Error, ErrorKind, Result};
use undertone::release::document::{self, HostDocument, Method as Released};

/// A sentence of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Sentence {
    /// Its embedding.
    Embedding(Vec<f32>),
    /// Its text, for the lexicon or the features of the pack.
    Text(String),
}

/// Builds the document of these sentences in this process.
///
/// # Errors
/// [`ErrorKind::Release`] if the pack does not accept them.
pub fn document<'p>(pack: &Pack<'p>, sentences: &[Sentence]) -> Result<HostDocument<'p>> {
    let mut document = document::empty(pack)?;
    for sentence in sentences {
        let pushed = match sentence {
            Sentence::Embedding(row) => document.push(row),
            Sentence::Text(text) => document.push_sentence(text),
        };
        pushed.map_err(Error::from)?;
    }
    Ok(document)
}

/// Draws any number of releases on request, for audits with public data.
///
/// All methods return [`ErrorKind::Device`]. Releases come in the order in which they were drawn.
pub trait Device {
    /// Restarts the device like a program. It forgets all documents.
    fn restart(&mut self) -> Result<()>;

    /// Stores a document under a number, 0 to [`MAX_KEPT`].
    fn keep(&mut self, number: usize, sentences: &[Sentence]) -> Result<()>;

    /// Same as [`keep`](Device::keep), but pushes the document the other way: embeddings one by one
    /// instead of together, and texts as one text instead of sentence by sentence, if such a text
    /// exists.
    fn keep_otherwise(&mut self, number: usize, sentences: &[Sentence]) -> Result<()>;

    /// The statements of its releases so far.
    fn stated(&self) -> &Stated;

    /// The numbers of `count` releases by this method, from these documents in turn: candidates,
    /// the number of candidates for "nothing known", or points.
    fn releases(
        &mut self,
        documents: &[usize],
        method: Released,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>>;

    /// `count` releases of these lists of answers in turn.
    fn answers(&mut self, lists: &[&[u32]], epsilon: Epsilon, count: usize)
    -> Result<Vec<Release>>;

    /// `count` bags of `size` words each, selected from these words by this rule.
    fn bags(
        &mut self,
        words: &[&str],
        size: u16,
        rule: Rule,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Vec<u32>>>;

    /// `count` releases of a vector with coordinates within ±2^`bound_exponent`, in steps of the
    /// grid.
    fn vectors(
        &mut self,
        vector: &[f32],
        bound_exponent: i32,
        noise: Noise,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Vec<i32>>>;
}

/// Largest number of a stored document.
pub const MAX_KEPT: usize = 4095;

/// Version of the protocol in `ffi/audit/device.c`.
const PROTOCOL: &str = "4";

/// Most values per request, so that an answer takes only seconds, even on a busy machine.
const VALUES: usize = 1 << 12;

/// Maximum length of an answer in bytes.
const MAX_ANSWER: u64 = 1 << 26;

/// Default time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time without an answer after which the caller is notified.
const SILENCE: Duration = Duration::from_secs(5);

/// The file that a device reads at its start.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "an audit has one")]
pub enum Contents<'p> {
    /// A pack, for releases of documents, words and vectors.
    Pack(Pack<'p>),
    /// A form, for releases of answers.
    Form(Form<'p>),
}

impl<'p> From<&Pack<'p>> for Contents<'p> {
    fn from(pack: &Pack<'p>) -> Self {
        Self::Pack(*pack)
    }
}

impl<'p> From<&Form<'p>> for Contents<'p> {
    fn from(form: &Form<'p>) -> Self {
        Self::Form(*form)
    }
}

impl Contents<'_> {
    /// The identifier in releases.
    fn id(&self) -> [u8; 8] {
        match self {
            Self::Pack(pack) => pack.id(),
            Self::Form(form) => form.id(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Pack(_) => "pack",
            Self::Form(_) => "form",
        }
    }
}

/// A device program that releases through the C library: `undertone-device`, from `ffi/install.sh`.
#[derive(Debug)]
pub struct Program<'p> {
    path: PathBuf,
    file: PathBuf,
    contents: Contents<'p>,
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
    /// Starts `path` with this file and its contents. Calls `notice` with a message for people when
    /// an answer is 5 s late.
    ///
    /// # Errors
    /// [`ErrorKind::Device`] if it does not start or does not
    /// report that it is ready for this file.
    pub fn start(
        path: &Path,
        file: &Path,
        contents: impl Into<Contents<'p>>,
        notice: fn(&str),
    ) -> Result<Self> {
        Self::start_within(path, file, contents, notice, PATIENCE)
    }

    /// Same as [`start`](Program::start), with another time limit for an answer.
    ///
    /// # Errors
    /// Errors of [`start`](Program::start).
    pub fn start_within(
        path: &Path,
        file: &Path,
        contents: impl Into<Contents<'p>>,
        notice: fn(&str),
        patience: Duration,
    ) -> Result<Self> {
        let running = spawn(path, file).map_err(|problem| device_error(path, problem))?;
        let mut program = Self {
            path: path.to_owned(),
            file: file.to_owned(),
            contents: contents.into(),
            patience,
            notice,
            running,
            stated: Stated::default(),
        };
        program.greet()?;
        Ok(program)
    }

    fn error(&self, problem: impl std::fmt::Display) -> Error {
        device_error(&self.path, problem)
    }

    /// Reads the first line, which identifies the program and the pack.
    fn greet(&mut self) -> Result<()> {
        let greeting = self.answer()?;
        let fields: Vec<&str> = greeting.split(' ').collect();
        let ["undertone-device", protocol, _version, _backend, id] = fields[..] else {
            return Err(self.error("it does not say that it is an undertone-device"));
        };
        if protocol != PROTOCOL {
            return Err(self.error(format!(
                "it speaks version {protocol} of the protocol, but this program version {PROTOCOL}; install both \
                 from the same release"
            )));
        }
        let expected = hex::encode(self.contents.id());
        if id != expected {
            let kind = self.contents.kind();
            return Err(self.error(format!("it has read {kind} {id}, but was given {expected}")));
        }
        Ok(())
    }

    fn pack(&self) -> Result<Pack<'p>> {
        match self.contents {
            Contents::Pack(pack) => Ok(pack),
            Contents::Form(_) => Err(self.error("it was started with a form, not with a pack")),
        }
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

    /// Requests `count` times `releases` releases of `values` numbers, in portions, and reads each.
    fn ask_releases<T>(
        &mut self,
        count: usize,
        [releases, values]: [usize; 2],
        request: impl Fn(usize) -> String,
        read: impl Fn(&[u8], &mut Stated) -> Result<T, ReleaseFormatError>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::with_capacity(count * releases);
        let portion = (VALUES / (releases * values).max(1)).max(1);
        let mut left = count;
        while left > 0 {
            let now = left.min(portion);
            let answer = self.ask(request(now))?;
            let before = all.len();
            for field in answer.split(' ') {
                let bytes = hex::decode(field).map_err(|cause| cause.to_string());
                let release = bytes.and_then(|bytes| {
                    read(&bytes, &mut self.stated).map_err(|cause| cause.to_string())
                });
                all.push(
                    release
                        .map_err(|cause| self.error(format!("{field:?} is no release: {cause}")))?,
                );
            }
            let found = all.len() - before;
            if found != now * releases {
                let asked = now * releases;
                return Err(self.error(format!("{found} releases where {asked} were asked for")));
            }
            left -= now;
        }
        Ok(all)
    }

    /// Requests releases of the inputs in turn.
    fn by_turns<Input: ToString>(
        &mut self,
        request: &str,
        inputs: &[Input],
        epsilon: Epsilon,
        count: usize,
        is_drawn_by: impl Fn(DrawnBy) -> bool,
    ) -> Result<Vec<Release>> {
        let fields: Vec<String> = inputs.iter().map(Input::to_string).collect();
        let turns = fields.join(" ");
        // Each portion has whole rounds of the inputs.
        let rounds = count.div_ceil(inputs.len().max(1));
        let (id, kind) = (self.contents.id(), self.contents.kind());
        let mut releases = self.ask_releases(
            rounds,
            [inputs.len(), 1],
            |rounds| {
                let (micro, count) = (epsilon.micro(), rounds * inputs.len());
                format!("{request} {micro} {count} {turns}")
            },
            |bytes, stated| {
                let release = Release::from_bytes(bytes)?;
                stated.record([
                    ("mechanism or rule", is_drawn_by(release.drawn_by())),
                    ("epsilon", release.epsilon() == epsilon),
                    (kind, release.pack_id() == id),
                ]);
                Ok(release)
            },
        )?;
        releases.truncate(count);
        Ok(releases)
    }

    /// Stores a document of embeddings or of texts by one of two requests.
    fn keep_by(
        &mut self,
        number: usize,
        sentences: &[Sentence],
        [embeddings, texts]: [&str; 2],
    ) -> Result<()> {
        let rows: Vec<&f32> = rows(sentences).flatten().collect();
        let request = if rows.is_empty() {
            let fields = self::texts(sentences).map(|sentence| format!(" {}", text(sentence)));
            format!("{texts} {number}{}", fields.collect::<String>())
        } else {
            format!("{embeddings} {number} {}", floats(rows))
        };
        self.ask(request).map(|_| ())
    }
}

/// The sentences that are embeddings.
fn rows(sentences: &[Sentence]) -> impl Iterator<Item = &Vec<f32>> {
    sentences.iter().filter_map(|sentence| match sentence {
        Sentence::Embedding(row) => Some(row),
        Sentence::Text(_) => None,
    })
}

/// The sentences that are texts.
fn texts(sentences: &[Sentence]) -> impl Iterator<Item = &str> {
    sentences.iter().filter_map(|sentence| match sentence {
        Sentence::Embedding(_) => None,
        Sentence::Text(text) => Some(text.as_str()),
    })
}

/// A text that consists of exactly these sentences, if one exists.
fn whole(texts: &[&str]) -> Option<String> {
    let text = texts.join("\n");
    let found = sentences(text.as_bytes());
    found
        .eq(texts.iter().map(|text| text.as_bytes()))
        .then_some(text)
}

fn device_error(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Device,
        format!("the device `{}`: {problem}", path.display()),
    )
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
        while let Some(line) = read_line(&mut stdout).transpose() {
            let is_last = line.is_err();
            if lines.send(line).is_err() || is_last {
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

impl Device for Program<'_> {
    fn restart(&mut self) -> Result<()> {
        self.running = spawn(&self.path, &self.file).map_err(|problem| self.error(problem))?;
        self.greet()
    }

    fn keep(&mut self, number: usize, sentences: &[Sentence]) -> Result<()> {
        self.keep_by(number, sentences, ["embeddings", "texts"])
    }

    fn keep_otherwise(&mut self, number: usize, sentences: &[Sentence]) -> Result<()> {
        let texts: Vec<&str> = texts(sentences).collect();
        // Some packs do not split a text.
        let most = if document::takes_whole_texts(&self.pack()?) {
            1
        } else {
            usize::MAX
        };
        match whole(&texts).filter(|_| (1..=most).contains(&texts.len())) {
            Some(text) => self.keep_by(number, &[Sentence::Text(text)], ["", "whole"]),
            None => self.keep_by(number, sentences, ["singly", "texts"]),
        }
    }

    fn stated(&self) -> &Stated {
        &self.stated
    }

    fn releases(
        &mut self,
        documents: &[usize],
        method: Released,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>> {
        let pack = self.pack()?;
        let has_nothing_known = pack.has_nothing_known();
        let (request, drawn_by) = match method {
            Released::Sentence(rule) => {
                let by_scores = pack.scores().is_some();
                let drawn_by = if by_scores {
                    DrawnBy::Scores
                } else {
                    DrawnBy::Depth
                };
                (format!("release {}", rule as u8), drawn_by(rule))
            }
            Released::WholeText if has_nothing_known => ("whole-text".into(), DrawnBy::WholeText),
            Released::WholeText => ("whole-text".into(), DrawnBy::WholeTextKnown),
            Released::Projective => {
                let geometry = Geometry::best(pack.outcomes(), epsilon)
                    .ok_or_else(|| self.error("the pack has no geometry for this epsilon"))?;
                let order = geometry.into();
                let known = DrawnBy::ProjectiveKnown(order);
                let drawn_by = if has_nothing_known {
                    DrawnBy::Projective(order)
                } else {
                    known
                };
                ("projective".into(), drawn_by)
            }
        };
        let is_drawn_by = |own| own == drawn_by;
        let releases = self.by_turns(&request, documents, epsilon, count, is_drawn_by)?;
        Ok(releases.iter().map(Release::number).collect())
    }

    fn answers(
        &mut self,
        lists: &[&[u32]],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Release>> {
        let field = |list: &&[u32]| {
            let numbers: Vec<String> = list.iter().map(u32::to_string).collect();
            numbers.join(",")
        };
        let lists: Vec<String> = lists.iter().map(field).collect();
        self.by_turns("answers", &lists, epsilon, count, |drawn_by| {
            matches!(drawn_by, DrawnBy::Answer(_))
        })
    }

    fn bags(
        &mut self,
        words: &[&str],
        size: u16,
        rule: Rule,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Vec<u32>>> {
        let words: String = words
            .iter()
            .map(|word| format!(" {}", text(word)))
            .collect();
        let (number, micro, pack_id) = (rule as u8, epsilon.micro(), self.contents.id());
        self.ask_releases(
            count,
            [1, size.into()],
            |count| format!("bag {number} {micro} {size} {count}{words}"),
            |bytes, stated| {
                let release = BagRelease::from_bytes(bytes)?;
                stated.record([
                    (
                        "mechanism or rule",
                        release.mechanism() == WordMechanism::Selection(rule),
                    ),
                    ("length", release.words().len() == usize::from(size)),
                    ("epsilon", release.epsilon() == epsilon),
                    ("pack", release.pack_id() == pack_id),
                ]);
                Ok(release.words().collect())
            },
        )
    }

    fn vectors(
        &mut self,
        vector: &[f32],
        bound_exponent: i32,
        noise: Noise,
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<Vec<i32>>> {
        let (number, micro, floats) = (noise as u8, epsilon.micro(), floats(vector));
        self.ask_releases(
            count,
            [1, vector.len()],
            |count| format!("vector {number} {micro} {bound_exponent} {count} {floats}"),
            |bytes, stated| {
                let release = VectorRelease::from_bytes(bytes)?;
                stated.record([
                    ("noise", release.noise() == noise),
                    ("length", release.coordinates().len() == vector.len()),
                    ("epsilon", release.epsilon() == epsilon),
                    ("sensitivity", release.sensitivity() == Sensitivity::ONE),
                    ("pack", release.pack_id() == [0; 8]),
                ]);
                Ok(release.coordinates().collect())
            },
        )
    }
}
