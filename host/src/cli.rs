//! Arguments and reports; the work is in the library.

/// Says something on standard error.
macro_rules! note {
    ($($line:tt)*) => {
        undertone::output::note(format_args!($($line)*))
    };
}

mod audit;
#[cfg(feature = "train")]
mod eval;
mod project;
mod words;

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};
use undertone::candidates::Candidates;
use undertone::corpus::{Corpus, CorpusDocument, batches};
use undertone::distil::{self, WordCounts};
use undertone::embeddings::{Embeddings, Encoded};
use undertone::encoder::{Encoder, LexiconEncoder, OnnxEncoder};
use undertone::error::{Error, Result};
use undertone::ledger::{LedgerFile, utc_day};
use undertone::output::AtomicFile;
use undertone::packer::{
    self, Built, Directions, Fit, LexiconData, Options, Selector, TargetChoice,
};
use undertone::progress::Progress;
use undertone::releases;
use undertone::resume::{Encoding, PartialLines, Run};
use undertone::text::message_body;
use undertone::{demo, mechanism};
#[cfg(feature = "train")]
use undertone::{
    heads::Targets,
    train::{self, PackTraining},
    vectors::DocumentVectors,
};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::Release;
use undertone_core::select::Rule;

/// Say what a text is about without giving the text away.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The whole way on one screen: pack, private text, releases, exact privacy loss.
    Demo {
        /// A private text instead of the built-in letter; `-` reads what you type.
        #[arg(long, value_name = "FILE")]
        text: Option<PathBuf>,
        /// Seed of the public side.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Keep the pack; the candidates are written beside it with the ending
        /// .candidates.safetensors.
        #[arg(long, value_name = "FILE")]
        save: Option<PathBuf>,
    },
    /// Make a lexicon out of a neural sentence encoder.
    Distil {
        /// A folder with model.onnx and tokenizer.json, or an .onnx file with tokenizer.json beside it.
        #[arg(long, value_name = "PATH")]
        encoder: PathBuf,
        #[command(flatten)]
        runtime: RuntimeArgs,
        /// Public corpora whose sentences the lexicon is fitted to.
        #[arg(long, num_args = 1.., value_name = "FILE", required_unless_present = "message_corpus")]
        corpus: Vec<PathBuf>,
        /// More of them, whose texts are mail or Usenet messages: their headers, quoted lines and
        /// signatures are left out.
        #[arg(long, num_args = 1.., value_name = "FILE")]
        message_corpus: Vec<PathBuf>,
        /// Number of words.
        #[arg(long)]
        words: usize,
        /// Number of pairs of words that mean something else than their words, at most.
        #[arg(long, default_value_t = 0)]
        phrases: usize,
        /// Number of coordinates.
        #[arg(long)]
        dim: usize,
        /// The lexicon, a pack file.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Make a vocabulary out of word vectors: word2vec, GloVe, fastText.
    Vocabulary(words::VocabularyArgs),
    /// Make a projection of word vectors for private releases, and certify how far it stretches distances.
    Project(project::Arguments),
    /// Encode the sentences of a corpus into a safetensors file.
    Encode {
        #[command(flatten)]
        encoder: EncoderArgs,
        #[command(flatten)]
        corpus: CorpusArgs,
        /// The safetensors file.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Build a pack for devices, and the candidates for the server, from a public corpus.
    Pack(PackArgs),
    /// Release private documents: one line of JSON each, with the id and the release.
    Privatize {
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
    },
    /// Read releases as the server does: which public document each one names.
    Decode {
        /// The candidates that `pack` wrote.
        #[arg(long, value_name = "FILE")]
        candidates: PathBuf,
        /// The releases that `privatize` wrote.
        #[arg(long = "in", value_name = "FILE")]
        input: PathBuf,
        /// One line of JSON per release, with the candidate's embedding.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// List what releases can name, for programs that read no safetensors: the pack's identifier, then number,
    /// name and excerpt of each candidate, with tabs between.
    Candidates {
        /// The candidates that `pack` wrote.
        candidates: PathBuf,
    },
    /// Find the words that tell the labels of a public corpus apart.
    Keywords(words::KeywordsArgs),
    /// Release private texts as bags of words: other words of about the same meaning.
    Obfuscate(words::ObfuscateArgs),
    /// Experiments on public, labelled corpora.
    #[cfg(feature = "train")]
    Eval {
        #[command(subcommand)]
        experiment: eval::Experiment,
    },
    /// Check that a pack keeps its promises: by exact laws, by the worst neighbours that a search finds, and by
    /// releases of a device.
    ///
    /// Exit status: 0 if every check passed, 3 if one failed, 1 or 2 if no audit was made.
    Audit(audit::Arguments),
    /// Show what a pack contains.
    Inspect {
        /// The pack.
        pack: PathBuf,
    },
}

/// What to build a pack from, and how.
#[derive(Args)]
struct PackArgs {
    #[command(flatten)]
    encoder: EncoderArgs,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// What the device selects by.
    #[arg(long, value_enum, default_value_t = SelectorArg::Scores)]
    selector: SelectorArg,
    /// Scores: make so many clusters of documents the candidates, instead of the labels. Without it:
    /// the labels, if every document has one, else 30 clusters.
    #[arg(long, value_name = "N")]
    clusters: Option<usize>,
    /// Depth: how many documents become candidates at most [default: 5000].
    #[arg(long, value_name = "N")]
    candidates: Option<usize>,
    /// Depth: random projection directions [default: 50].
    #[arg(long, value_name = "N")]
    directions: Option<usize>,
    /// Depth: sentences that a candidate has at least [default: 8].
    #[arg(long, value_name = "N")]
    min_sentences: Option<usize>,
    /// Scores: train the heads through the mechanism, for releases at about this epsilon.
    #[cfg(feature = "train")]
    #[arg(long, value_name = "EPSILON")]
    train: Option<Epsilon>,
    /// Depth: train a recoder that keeps so many clusters of documents apart [default: 50].
    #[cfg(feature = "train")]
    #[arg(long, value_name = "CLUSTERS")]
    recoder: Option<Option<usize>>,
    /// How often training sees each document; the losses are drawn beside the pack, ending .loss.svg.
    #[cfg(feature = "train")]
    #[arg(long, value_name = "N", default_value_t = train::Options::default().epochs)]
    epochs: usize,
    /// Seed of everything that is drawn: candidates, directions, first centres and weights.
    #[arg(long, default_value_t = Options::default().seed)]
    seed: u64,
    /// The pack; the candidates are written beside it with the ending .candidates.safetensors.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Which public documents to read.
#[derive(Args)]
struct CorpusArgs {
    /// A public corpus: .jsonl, .jsonl.gz, .tsv or .tsv.gz, in UTF-8. A line that is no document, or longer
    /// than 16 MiB, is refused with its number; none is skipped.
    #[arg(long, value_name = "FILE")]
    corpus: PathBuf,
    /// Read only the first N documents.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    texts: TextArgs,
}

impl CorpusArgs {
    /// The documents, as often as is needed, with what `encoding` makes of them.
    fn encoded<'a>(&'a self, encoding: Encoding<'a>) -> Encoded<'a> {
        Encoded::new(&self.corpus, encoding, || {
            let corpus = Corpus::open_watched(&self.corpus)?;
            Ok(self.texts.of(corpus.take(self.limit.unwrap_or(usize::MAX))))
        })
    }
}

/// Which private documents to read.
#[derive(Args)]
struct PrivateArgs {
    /// The private documents: .jsonl, .jsonl.gz, .tsv or .tsv.gz, in UTF-8. If a line is no document, or longer
    /// than 16 MiB, nothing is released, and the error has its number and nothing of its text.
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,
    /// Release only the first N documents.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    texts: TextArgs,
}

impl PrivateArgs {
    /// A run of a command with these documents. With another --limit it is the same: the first documents stay.
    fn run_of(&self, command: &str) -> Result<Run> {
        let run = Run::of(command).with([u8::from(self.texts.messages)]);
        run.with_file(&self.input)
    }

    /// The documents of the file that `open` opens.
    fn documents(
        &self,
        open: impl FnOnce(&Path) -> Result<Corpus>,
    ) -> Result<impl Iterator<Item = Result<CorpusDocument>>> {
        let corpus = open(&self.input)?;
        Ok(self.texts.of(corpus.take(self.limit.unwrap_or(usize::MAX))))
    }
}

/// What the texts are.
#[derive(Args)]
struct TextArgs {
    /// The texts are mail or Usenet messages: their headers, quoted lines and signatures are left
    /// out.
    #[arg(long)]
    messages: bool,
}

impl TextArgs {
    /// The documents with what counts of their texts.
    fn of<I: Iterator<Item = Result<CorpusDocument>>>(
        &self,
        documents: I,
    ) -> impl Iterator<Item = Result<CorpusDocument>> + use<I> {
        let messages = self.messages;
        documents.map(move |document| {
            let mut document = document?;
            if messages {
                document.text = message_body(&document.text);
            }
            Ok(document)
        })
    }
}

/// Which sentence encoder to use.
#[derive(Args)]
struct EncoderArgs {
    /// A folder with model.onnx and tokenizer.json, an .onnx file with tokenizer.json beside it, or
    /// a .pack file with a lexicon. Without it: the lexicon of the pack, or the built-in one.
    #[arg(long, value_name = "PATH")]
    encoder: Option<PathBuf>,
    #[command(flatten)]
    runtime: RuntimeArgs,
}

/// What runs a neural encoder.
#[derive(Args)]
struct RuntimeArgs {
    /// The shared library of ONNX Runtime to run a model with, instead of the built-in engine.
    #[arg(long, value_name = "PATH")]
    onnxruntime: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SelectorArg {
    /// Bounded scores of every sentence for every label or cluster.
    Scores,
    /// Approximate Tukey depth of public documents among the sentences, as published.
    Depth,
}

#[derive(Clone, Copy, ValueEnum)]
enum RuleArg {
    PermuteAndFlip,
    Exponential,
}

impl From<RuleArg> for Rule {
    fn from(rule: RuleArg) -> Self {
        match rule {
            RuleArg::PermuteAndFlip => Self::PermuteAndFlip,
            RuleArg::Exponential => Self::Exponential,
        }
    }
}

/// An encoder, and its lexicon if it is one: packs carry it along.
struct OpenEncoder {
    encoder: Box<dyn Encoder>,
    lexicon: Option<LexiconData>,
}

impl EncoderArgs {
    /// The encoder that was named, else `default`.
    fn open(&self, default: impl FnOnce() -> LexiconEncoder<'static>) -> Result<OpenEncoder> {
        let lexicon = match &self.encoder {
            Some(path) if path.extension().is_some_and(|end| end == "pack") => {
                LexiconEncoder::of_file(&read_pack(path)?, path)?
            }
            Some(path) => {
                let encoder = OnnxEncoder::open(path, self.runtime.onnxruntime.as_deref())?;
                return Ok(OpenEncoder {
                    encoder: Box::new(encoder),
                    lexicon: None,
                });
            }
            None => default(),
        };
        Ok(OpenEncoder {
            lexicon: Some(LexiconData::from_view(lexicon.lexicon())),
            encoder: Box::new(lexicon),
        })
    }
}

/// Parses the arguments and does the work.
pub(crate) fn run() -> Result<ExitCode> {
    let done = match Cli::parse().command {
        // It has a status of its own.
        Command::Audit(arguments) => return audit::run(&arguments),
        Command::Demo { text, seed, save } => run_demo(text.as_deref(), seed, save.as_deref()),
        Command::Distil {
            encoder,
            runtime,
            corpus,
            message_corpus,
            words,
            phrases,
            dim,
            out,
        } => {
            let encoder = OpenEncoder {
                lexicon: None,
                encoder: Box::new(OnnxEncoder::open(&encoder, runtime.onnxruntime.as_deref())?),
            };
            AtomicFile::check(&out)?;
            let mut documents = Vec::new();
            for (paths, messages) in [(&corpus, false), (&message_corpus, true)] {
                let texts = TextArgs { messages };
                for path in paths {
                    for document in texts.of(Corpus::open_watched(path)?) {
                        documents.push(document?);
                    }
                }
            }
            let size = distil::Size {
                words,
                phrases,
                dimension: dim,
            };
            let start = Instant::now();
            let mut encoding = kept(&encoder, &out)?;
            let pack = distil::distil(&mut encoding, &documents, &size)?;
            write(&out, &pack)?;
            encoding.finish()?;
            note!(
                "{words} words, up to {phrases} phrases, {dim} coordinates, {} bytes, in {:.0} s",
                pack.len(),
                start.elapsed().as_secs_f64()
            );
            Ok(())
        }
        Command::Vocabulary(args) => args.run(),
        Command::Project(arguments) => project::run(&arguments),
        Command::Encode {
            encoder,
            corpus,
            out,
        } => {
            let encoder = encoder.open(LexiconEncoder::embedded)?;
            AtomicFile::check(&out)?;
            let mut rate = Rate::start();
            let mut encoded = corpus.encoded(kept(&encoder, &out)?);
            let passed = encoded.write(&out)?;
            encoded.finish()?;
            rate.count(passed.documents, passed.sentences);
            rate.report("encoded");
            Ok(())
        }
        Command::Pack(args) => args.run(),
        Command::Privatize {
            encoder,
            pack,
            epsilon,
            rule,
            ledger,
            budget,
            input,
            out,
        } => {
            let budget = ledger.zip(budget);
            privatize(&encoder, &pack, epsilon, rule.into(), budget, &input, &out)
        }
        Command::Decode {
            candidates,
            input,
            out,
        } => decode(&candidates, &input, &out),
        Command::Candidates { candidates } => print(&Candidates::read(&candidates)?.list()),
        Command::Keywords(args) => args.run(),
        Command::Obfuscate(args) => args.run(),
        #[cfg(feature = "train")]
        Command::Eval { experiment } => eval::run(experiment),
        Command::Inspect { pack } => inspect(&pack),
    };
    done.map(|()| ExitCode::SUCCESS)
}

fn count_words(corpora: &[PathBuf]) -> Result<WordCounts> {
    let mut counts = WordCounts::default();
    for path in corpora {
        for document in Corpus::open_watched(path)? {
            counts.add(&document?);
        }
    }
    Ok(counts)
}

fn run_demo(path: Option<&Path>, seed: u64, save: Option<&Path>) -> Result<()> {
    let text = match path {
        None => demo::PRIVATE_TEXT.into(),
        Some(path) => read_text(path)?,
    };
    save.map(AtomicFile::check).transpose()?;
    let built = demo::build(seed)?;
    print(&demo::run(&built, &text)?)?;
    save.map_or(Ok(()), |path| save_pack(path, &built))
}

impl PackArgs {
    /// Refuses options that the selector has no use for.
    fn check(&self) -> Result<()> {
        let only = |option, of, given: bool| match given {
            true => Err(Error::OptionOfOther { option, of }),
            false => Ok(()),
        };
        match self.selector {
            SelectorArg::Scores => {
                only(
                    "--candidates",
                    "--selector depth",
                    self.candidates.is_some(),
                )?;
                only(
                    "--directions",
                    "--selector depth",
                    self.directions.is_some(),
                )?;
                only(
                    "--min-sentences",
                    "--selector depth",
                    self.min_sentences.is_some(),
                )?;
                #[cfg(feature = "train")]
                only("--recoder", "--selector depth", self.recoder.is_some())?;
            }
            SelectorArg::Depth => {
                only("--clusters", "--selector scores", self.clusters.is_some())?;
                #[cfg(feature = "train")]
                only("--train", "--selector scores", self.train.is_some())?;
            }
        }
        Ok(())
    }

    fn scores<'a>(&self, fit: Fit<'a>) -> Selector<'a> {
        Selector::Scores {
            targets: match self.clusters {
                None => TargetChoice::Labels,
                clusters => TargetChoice::Clusters(clusters),
            },
            fit,
        }
    }

    fn depth<'a>(&self, recoder: Option<&'a packer::TrainRecoder<'a>>) -> Selector<'a> {
        Selector::Depth {
            candidates: self.candidates.unwrap_or(packer::CANDIDATES),
            min_sentences: self.min_sentences.unwrap_or(packer::MIN_SENTENCES),
            directions: Directions::Random(self.directions.unwrap_or(packer::DIRECTIONS)),
            recoder,
        }
    }

    /// Builds and writes the pack.
    fn build(&self, encoder: &OpenEncoder, selector: Selector<'_>) -> Result<()> {
        let options = Options {
            selector,
            seed: self.seed,
        };
        let mut rate = Rate::start();
        let mut encoded = self.corpus.encoded(kept(encoder, &self.out)?);
        let built = packer::build(&mut encoded, encoder.lexicon.clone(), &options)?;
        save_pack(&self.out, &built)?;
        encoded.finish()?;
        note!(
            "{}: {} bytes, {} {} as candidates, out of {} documents",
            self.out.display(),
            built.pack.len(),
            built.candidates.entries.len(),
            built.candidates_are,
            built.documents_read
        );
        rate.count(built.documents_read, built.sentences);
        rate.report("packed");
        Ok(())
    }

    fn run(&self) -> Result<()> {
        self.check()?;
        let encoder = self.encoder.open(LexiconEncoder::embedded)?;
        AtomicFile::check(&self.out)?;
        #[cfg(feature = "train")]
        match (self.train, self.recoder) {
            (Some(epsilon), _) => {
                let epsilon = mechanism::number(epsilon);
                return self.with_training(|training| {
                    let fit = |documents: &DocumentVectors, targets: &Targets| {
                        training.scores(documents, targets, epsilon)
                    };
                    self.build(&encoder, self.scores(Fit::InMemory(&fit)))
                });
            }
            (None, Some(clusters)) => {
                let clusters = clusters.unwrap_or(train::CLUSTERS);
                return self.with_training(|training| {
                    let recode =
                        |documents: &DocumentVectors| training.recoder(documents, clusters);
                    self.build(&encoder, self.depth(Some(&recode)))
                });
            }
            (None, None) => {}
        }
        match self.selector {
            SelectorArg::Scores => self.build(&encoder, self.scores(Fit::ClosedForm)),
            SelectorArg::Depth => self.build(&encoder, self.depth(None)),
        }
    }

    /// `build`s with a training, which goes on where it was interrupted.
    #[cfg(feature = "train")]
    fn with_training(&self, build: impl FnOnce(&PackTraining<'_>) -> Result<()>) -> Result<()> {
        let partial = beside(&self.out, ".training.partial");
        build(&PackTraining {
            options: train::Options {
                epochs: self.epochs,
                seed: self.seed,
                ..train::Options::default()
            },
            checkpoint: &partial,
            notice: &|line| note!("{line}"),
            losses: &|epochs| train::plot::write_loss(&self.out.with_extension("loss.svg"), epochs),
        })?;
        train::checkpoint::remove(&partial)
    }
}

/// The text of a file, or what is typed if the file is `-`.
fn read_text(path: &Path) -> Result<String> {
    let bytes = if path == Path::new("-") {
        if io::stdin().is_terminal() {
            note!("Type a text; end it with Ctrl-D on a line of its own.");
        }
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    let bytes = bytes.map_err(Error::io("read", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Prints to standard output. Whoever reads it may stop early, as `head` does: that is no error.
fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::io("write", Path::new("standard output"))),
    }
}

/// Writes a pack and, beside it, its candidates. Both are on the disk before one of them gets its name, so
/// that a full disk leaves the old ones.
fn save_pack(path: &Path, built: &Built) -> Result<()> {
    let beside = path.with_extension("candidates.safetensors");
    let candidates = built.candidates.settled(&beside)?;
    let pack = settled(path, &built.pack)?;
    candidates.commit()?;
    pack.commit()
}

/// The file name of `out` with one more ending.
fn beside(out: &Path, ending: &str) -> PathBuf {
    let mut path = out.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Encodes public text for the output `out`: what a neural encoder has done survives an interrupted run.
fn kept<'a>(encoder: &'a OpenEncoder, out: &Path) -> Result<Encoding<'a>> {
    // A lexicon is faster than the file would be.
    if encoder.lexicon.is_some() {
        return Ok(Encoding::of(encoder.encoder.as_ref()));
    }
    let path = beside(out, ".embeddings.partial");
    let encoding = Encoding::kept_in(encoder.encoder.as_ref(), path)?;
    if encoding.known() > 0 {
        note!(
            "resuming: {} sentences are encoded already",
            encoding.known()
        );
    }
    Ok(encoding)
}

/// One line of a releases file.
#[derive(Serialize, Deserialize)]
struct ReleaseLine {
    id: String,
    release: String,
}

/// Starts the lines of `out`, behind those that an interrupted `run` left. Returns the number of documents,
/// too.
fn resume(
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
    mechanism::check_encoder(&pack, encoder.as_ref())?;
    let mut document = mechanism::document(&pack)?;
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
    let mut encoding = Encoding::of(encoder.as_ref());
    for batch in batches(rest) {
        let batch = batch?;
        let encoded = Embeddings::of(&mut encoding, &batch, |_| Progress::hidden())?;
        for (source, _, rows) in encoded.by_document() {
            let grant = match &mut ledger {
                Some(ledger) => ledger.spend(epsilon, utc_day()).inspect_err(|_| {
                    note!(
                        "{released} of {total} documents are released; the same command goes on with the others"
                    );
                })?,
                None => Grant::unrecorded(epsilon),
            };
            let release =
                mechanism::release(&mut document, rows, encoder.dimension(), grant, rule)?;
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

/// One line of what the server makes of a release.
#[derive(Serialize)]
struct DecodedLine<'a> {
    id: &'a str,
    epsilon: String,
    candidate: u32,
    name: &'a str,
    label: Option<&'a str>,
    excerpt: &'a str,
    embedding: &'a [f32],
}

fn decode(candidates: &Path, input: &Path, out: &Path) -> Result<()> {
    let candidates = Candidates::read(candidates)?;
    let mut source = releases::Lines::open(input)?;
    let mut file = AtomicFile::create(out)?;
    let mut rate = Rate::start();
    while let Some((line, text)) = source.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        let fail = |problem: String| Error::ReleaseLine {
            path: input.to_owned(),
            line,
            problem,
        };
        let ReleaseLine { id, release } = serde_json::from_str(text).map_err(|error| {
            // The message may quote the line, and the file may be the wrong one.
            fail(format!("not a release in JSON (column {})", error.column()))
        })?;
        let bytes =
            hex::decode(release).map_err(|_| fail("the release is not hexadecimal".to_owned()))?;
        let release = Release::from_bytes(&bytes).map_err(|error| fail(error.to_string()))?;
        let (candidate, embedding) = candidates
            .decode(&release)
            .map_err(|error| fail(error.to_string()))?;
        let decoded = DecodedLine {
            id: &id,
            epsilon: release.epsilon().to_string(),
            candidate: release.candidate(),
            name: &candidate.id,
            label: candidate.label.as_deref(),
            excerpt: &candidate.excerpt,
            embedding,
        };
        writeln!(file, "{}", json(&decoded)).map_err(Error::io("write", out))?;
        rate.count(1, 0);
    }
    file.commit()?;
    rate.report("decoded");
    Ok(())
}

fn inspect(path: &Path) -> Result<()> {
    let pack = read_pack(path)?;
    let mut text = format!(
        "digest      {}\nencoder     {} ({})\ndimension   {}\n",
        hex::encode(pack.digest()),
        pack.encoder_name(),
        hex::encode(pack.encoder_digest()),
        pack.dimension(),
    );
    if let Some(recoder) = pack.recoder() {
        text += &format!("recoder     {} coordinates\n", recoder.width());
    }
    if let Some(scores) = pack.scores() {
        text += &format!(
            "scores      {} candidates, 0..={} a sentence, exponent {}\n",
            scores.candidates(),
            scores.largest_score(),
            scores.exponent()
        );
    }
    if let Some(depth) = pack.depth() {
        text += &format!(
            "depth       {} candidates, {} directions, exponent {}\n",
            depth.candidates(),
            depth.n_directions(),
            depth.exponent()
        );
    }
    if let Some(lexicon) = pack.lexicon() {
        text += &format!(
            "lexicon     {} words, {} phrases, exponent {}\n",
            lexicon.n_words(),
            lexicon.n_phrases(),
            lexicon.exponent()
        );
    }
    if let Some(projection) = pack.projection() {
        text += &format!(
            "projection  to {} coordinates, sensitivity {}\n",
            projection.n_rows(),
            projection
                .sensitivity()
                .map_or("above 4096".to_owned(), |delta| delta.to_string())
        );
    }
    print(&text)
}

/// A pack from a file. Its bytes stay in memory until the process ends, which for a command line
/// is when they are no longer needed.
fn read_pack(path: &Path) -> Result<Pack<'static>> {
    let bytes: &'static [u8] = fs::read(path).map_err(Error::io("read", path))?.leak();
    Pack::parse(bytes).map_err(|problem| Error::Pack {
        path: path.to_owned(),
        problem,
    })
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and numbers are JSON")
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    settled(path, bytes)?.commit()
}

/// A file on the disk, without its name.
fn settled(path: &Path, bytes: &[u8]) -> Result<AtomicFile> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(Error::io("write", path))?;
    file.settle()?;
    Ok(file)
}

/// Documents and sentences per second.
struct Rate {
    start: Instant,
    documents: usize,
    sentences: usize,
}

impl Rate {
    fn start() -> Self {
        Self {
            start: Instant::now(),
            documents: 0,
            sentences: 0,
        }
    }

    fn count(&mut self, documents: usize, sentences: usize) {
        self.documents += documents;
        self.sentences += sentences;
    }

    fn report(&self, done: &str) {
        let seconds = self.start.elapsed().as_secs_f64();
        let mut line = format!(
            "{done} {} documents in {seconds:.1} s: {:.1} documents/s",
            self.documents,
            self.documents as f64 / seconds
        );
        if self.sentences > 0 {
            line += &format!(
                ", {} sentences, {:.1} sentences/s",
                self.sentences,
                self.sentences as f64 / seconds
            );
        }
        note!("{line}");
    }
}
