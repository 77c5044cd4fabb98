//! `undertone pack`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use undertone::corpus::CorpusDocument;
use undertone::encoder::LexiconEncoder;
use undertone::encoder::vectors::DocumentVectors;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::pack::heads::Targets;
use undertone::pack::trained::{Recoder, ScoreHeads};
use undertone::pack::{
    self, Contest, Directions, Fit, Inputs, Options, Recognition, Selector, TargetChoice,
};
use undertone_core::pack::Pack;

use crate::args::{CorpusArgs, EncoderArgs, OpenEncoder, kept, whole};
use crate::files::{print_json, read_pack};
use crate::inspect;
use crate::paths::Paths;
use crate::progress::Rate;
use crate::quality;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    encoder: EncoderArgs,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// The field or column that names the source of each document, such as its author, product or
    /// year. Intervals of shares of labels then allow for texts of other sources. Without it,
    /// groups of similar documents take their place.
    #[arg(long, help_heading = "Candidates by scores", value_name = "FIELD")]
    source_field: Option<String>,
    /// Carry the lexicon of this pack, not that of the encoder, for texts of another language. One
    /// teacher must have made both in one space (`lexicon distil --space`).
    #[arg(long, help_heading = "Candidates by scores", value_name = "FILE")]
    lexicon: Option<PathBuf>,
    /// How the device compares candidates.
    #[arg(long, value_enum, default_value_t = SelectorArg::Scores)]
    selector: SelectorArg,
    /// Make N clusters of documents the candidates, at most 12800 [default: the labels, or 30
    /// clusters if no document has a label]
    #[arg(long, help_heading = "Candidates by scores", value_name = "N", value_parser = whole::<usize>)]
    clusters: Option<usize>,
    /// Documents without a label if others have one. An empty label is none.
    #[arg(long, help_heading = "Candidates by scores", value_enum, default_value_t = UnlabelledArg::Refuse)]
    unlabelled: UnlabelledArg,
    /// The input of the heads of candidates.
    #[arg(long, help_heading = "Candidates by scores", value_enum, default_value_t = HeadsArg::Best)]
    heads: HeadsArg,
    /// The size of the pack at most. Rare words of the lexicon and the least useful features are
    /// left out. Without it features take at most 16 kB a candidate, from 64 kB to 1 MB together.
    #[arg(long, help_heading = "Candidates by scores", value_name = "BYTES", value_parser = whole::<usize>)]
    size: Option<usize>,
    /// Whether "nothing known" is an outcome of releases for the whole text. By default it is left
    /// out if at most one held-out document in 100 is not recognised and if at least 5 releases in
    /// 100 more are right at epsilon 1: with few labels. Keep it for texts of other languages.
    #[arg(long, help_heading = "Candidates by scores", value_enum)]
    nothing_known: Option<NothingKnownArg>,
    /// Documents that become candidates, at most [default: 5000]
    #[arg(long = "depth-candidates", alias = "candidates", help_heading = "Candidates by depth", value_name = "N", value_parser = whole::<usize>)]
    candidates: Option<usize>,
    /// Random projection directions [default: 50]
    #[arg(long, help_heading = "Candidates by depth", value_name = "N", value_parser = whole::<usize>)]
    directions: Option<usize>,
    /// Sentences of a candidate, at least [default: 8]
    #[arg(long, help_heading = "Candidates by depth", value_name = "N", value_parser = whole::<usize>)]
    min_sentences: Option<usize>,
    /// Use the heads of a safetensors file, such as `undertone-lab heads` writes. The vectors of
    /// all sentences are held in memory.
    #[arg(long, help_heading = "Candidates by scores", value_name = "FILE")]
    heads_from: Option<PathBuf>,
    /// Use the recoder of a safetensors file, such as `undertone-lab recoder` writes.
    #[arg(long, help_heading = "Candidates by depth", value_name = "FILE")]
    recoder_from: Option<PathBuf>,
    /// Seed of all that is drawn: candidates, directions, initial centres and weights.
    #[arg(long, default_value_t = Options::default().seed, value_parser = whole::<u64>)]
    seed: u64,
    /// The pack; its candidates are written to NAME.candidates.safetensors.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Print what `inspect --json` prints of the pack.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SelectorArg {
    /// By bounded scores of each sentence for each label or cluster.
    Scores,
    /// By approximate Tukey depth of public documents among the sentences, as published.
    Depth,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HeadsArg {
    /// The input that is right most often on held-out documents. Features are preferred, because
    /// they make the smallest packs: others must be right for half a document in 100 more.
    Best,
    /// The vector of a sentence; nothing is held out, so the pack has no accuracies.
    Vectors,
    /// Its words, pairs of words, symbols and runs of letters: the pack has no encoder.
    Features,
    /// The features of a whole text, which is not split into sentences. For releases of the whole
    /// text.
    Texts,
    /// Vectors and features.
    Both,
}

impl HeadsArg {
    fn inputs(self, encoder_is_named: bool) -> &'static [Inputs] {
        match self {
            Self::Best => Inputs::preferred(encoder_is_named),
            Self::Vectors => &[Inputs::Vectors],
            Self::Features => &[Inputs::Features],
            Self::Texts => &[Inputs::WholeTexts],
            Self::Both => &[Inputs::Both],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NothingKnownArg {
    /// A text in which nothing is recognised has this outcome.
    Keep,
    /// Such a text has the candidate with the largest bias.
    Omit,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UnlabelledArg {
    /// Fail, and name their number and the first line.
    Refuse,
    /// Leave them out.
    Skip,
}

/// The measurement about "nothing known", and the decision.
fn recognised(own: &Recognition, pack: &Pack<'_>) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let [with, without] = own.right.map(percent);
    let decision = if pack.has_nothing_known() {
        "is kept"
    } else {
        "is left out"
    };
    format!(
        "\"nothing known\" {decision}: {} of {} held-out documents are not recognised; of whole-text releases at epsilon 1, {with} are \
         right with this outcome and {without} without (--nothing-known)",
        own.unknown, own.texts
    )
}

impl Arguments {
    fn paths(&self) -> Paths {
        let paths = self.corpus.paths(self.encoder.paths(Paths::default()));
        paths
            .inputs("--lexicon", &self.lexicon)
            .inputs("--heads-from", &self.heads_from)
            .inputs("--recoder-from", &self.recoder_from)
            .outputs("--out", [&self.out, &pack::candidates_beside(&self.out)])
    }

    /// Refuses options that the selector has no use for.
    fn check(&self) -> Result<()> {
        let (by_scores, by_depth) = ("--selector scores", "--selector depth");
        let heads = self.heads != HeadsArg::Best;
        let skips = self.unlabelled == UnlabelledArg::Skip;
        let known = self.nothing_known.is_some();
        // An option, what it is for, and whether it is given for something else.
        let wrong = match self.selector {
            SelectorArg::Scores => {
                let from = self.heads_from.is_some();
                let (fitted, judged) = ("heads that are fitted here", "heads that are judged here");
                let judges = !from && self.heads != HeadsArg::Vectors;
                [
                    ("--depth-candidates", by_depth, self.candidates.is_some()),
                    ("--directions", by_depth, self.directions.is_some()),
                    ("--min-sentences", by_depth, self.min_sentences.is_some()),
                    ("--recoder-from", by_depth, self.recoder_from.is_some()),
                    ("--heads", fitted, from && heads),
                    ("--size", fitted, from && self.size.is_some()),
                    ("--nothing-known", judged, known && !judges),
                ]
            }
            SelectorArg::Depth => [
                ("--clusters", by_scores, self.clusters.is_some()),
                ("--size", by_scores, self.size.is_some()),
                ("--heads", by_scores, heads),
                ("--nothing-known", by_scores, known),
                ("--lexicon", by_scores, self.lexicon.is_some()),
                ("--unlabelled skip", by_scores, skips),
                ("--heads-from", by_scores, self.heads_from.is_some()),
            ],
        };
        let labels = "labels as candidates";
        let clustered = (
            "--unlabelled skip",
            labels,
            skips && self.clusters.is_some(),
        );
        for (option, of, is_wrong) in wrong.into_iter().chain([clustered]) {
            if is_wrong {
                return Err(Error::argument(format!(
                    "{option} is for {of}; leave one of the two out"
                )));
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

    fn depth<'a>(&self, recoder: Option<&'a pack::TrainRecoder<'a>>) -> Selector<'a> {
        Selector::Depth {
            candidates: self.candidates.unwrap_or(pack::CANDIDATES),
            min_sentences: self.min_sentences.unwrap_or(pack::MIN_SENTENCES),
            directions: Directions::Random(self.directions.unwrap_or(pack::DIRECTIONS)),
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
        let skips = self.unlabelled == UnlabelledArg::Skip;
        let wanted = |document: &CorpusDocument| !skips || document.label.is_some();
        let mut encoded = self.corpus.encoded(kept(encoder, &self.out)?, wanted);
        let built = pack::build(&mut encoded, encoder.lexicon.clone(), &options)?;
        built.check_size(self.size)?;
        pack::save(&self.out, &built.pack, &built.candidates)?;
        rate.count(built.documents_read, built.sentences);
        rate.taken_over(encoded.encoding());
        encoded.finish()?;
        if skips && let (without @ 1.., line) = self.corpus.unlabelled()? {
            note!("{without} documents without a label are left out, the first on line {line}");
        }
        note!(
            "{}: {} bytes, {} {} as candidates, out of {} documents",
            self.out.display(),
            built.pack.len(),
            built.candidates.entries.len(),
            built.candidates_are,
            built.documents_read
        );
        let pack = Pack::parse(&built.pack)?;
        if let Some(own) = &built.recognition {
            note!("{}", recognised(own, &pack));
        }
        if let Some(quality) = pack.quality() {
            note!("{}", quality::table(&quality).trim_end());
        }
        rate.report("packed");
        if self.json {
            print_json(&inspect::description(&pack))?;
        }
        Ok(())
    }

    pub(crate) fn run(&mut self) -> Result<()> {
        self.corpus.texts.fields.source_field = self.source_field.take();
        self.paths().check()?;
        self.check()?;
        let encoder = self.encoder.open(LexiconEncoder::embedded)?;
        let encoder = match &self.lexicon {
            None => encoder,
            Some(path) => encoder.carrying(LexiconEncoder::of_file(&read_pack(path)?, path)?)?,
        };
        let encoder = match self.size {
            None => encoder,
            Some(size) => encoder.within(
                size,
                matches!(self.heads, HeadsArg::Features | HeadsArg::Texts),
            )?,
        };
        AtomicFile::check(&self.out)?;
        let identity = encoder.encoder.identity();
        match (self.selector, &self.heads_from, &self.recoder_from) {
            (SelectorArg::Scores, Some(path), _) => {
                let heads = |documents: &DocumentVectors, _: &Targets, names: &[String]| {
                    ScoreHeads::read(path, names, identity, documents.dimension())
                };
                self.build(&encoder, self.scores(Fit::InMemory(&heads)))
            }
            (SelectorArg::Scores, None, _) if self.heads == HeadsArg::Vectors => {
                self.build(&encoder, self.scores(Fit::ClosedForm))
            }
            (SelectorArg::Scores, None, _) => {
                let contest = Contest {
                    inputs: self.heads.inputs(self.encoder.encoder.is_some()),
                    size: self.size,
                    nothing_known: self.nothing_known.map(|own| own == NothingKnownArg::Keep),
                };
                self.build(&encoder, self.scores(Fit::HeldOut(contest)))
            }
            (SelectorArg::Depth, _, Some(path)) => {
                let recoder = |documents: &DocumentVectors| {
                    Recoder::read(path, identity, documents.dimension())
                };
                self.build(&encoder, self.depth(Some(&recoder)))
            }
            (SelectorArg::Depth, _, None) => self.build(&encoder, self.depth(None)),
        }
    }
}
