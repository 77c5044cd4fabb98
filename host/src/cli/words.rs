//! Words: vocabularies, keywords, private bags.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use undertone::corpus::{Corpus, CorpusDocument, batches};
use undertone::error::{Error, Result};
use undertone::informative::WordsByLabel;
use undertone::output::AtomicFile;
use undertone::progress::Progress;
use undertone::text::{WordFilter, read_word_list};
use undertone::vocabulary::Vectors;
use undertone::words;
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::lexicon::Word;
use undertone_core::pack::format::MAX_WORDS;
use undertone_core::release::BagRelease;
use undertone_core::select::Rule;
use undertone_core::words::{MAX_BAG_SIZE, Vocabulary, WordMechanism};

use super::{
    PrivateArgs, Rate, RuleArg, TextArgs, count_words, json, print, read_pack, resume, write,
};

/// Which word vectors become a vocabulary.
#[derive(Args)]
pub(super) struct VocabularyArgs {
    /// The word vectors: .npy with its words in NAME.vocab.txt beside it, or a text file, .txt or .vec,
    /// which may be gzipped.
    #[arg(long, value_name = "FILE")]
    vectors: PathBuf,
    /// Number of words at most; the first usable ones are taken.
    #[arg(long, value_name = "N", default_value_t = MAX_WORDS as usize)]
    words: usize,
    /// Nothing but these words, one a line; `keywords` finds some. Selection among few words needs less epsilon.
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Public corpora that say which words are frequent: in sentence vectors those weigh less.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    corpus: Vec<PathBuf>,
    /// The vocabulary, a pack file with a lexicon.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl VocabularyArgs {
    pub(super) fn run(&self) -> Result<()> {
        AtomicFile::check(&self.out)?;
        let mut vectors = Vectors::open(&self.vectors)?;
        if let Some(path) = &self.keep {
            let list = read_word_list(path)?;
            let listed = |row: &usize| {
                let word = vectors.words[*row].to_lowercase();
                Word::try_from(word.as_str()).is_ok_and(|word| list.contains(&word))
            };
            let rows: Vec<usize> = (0..vectors.words.len()).filter(listed).collect();
            vectors = vectors.rows(&rows);
        }
        let counts = match self.corpus.is_empty() {
            true => None,
            false => Some(count_words(&self.corpus)?),
        };
        let made = vectors.lexicon_pack(counts.as_ref(), self.words)?;
        write(&self.out, &made.pack)?;
        note!(
            "{} of {} words, {} coordinates, {} bytes\n\
             left out: {} that no text has as one word of lower case, {} repeated, {} without a vector, {} behind \
             the first {}\n\
             coordinates are multiples of 2^{}, {} clamped, relative error {:.2} %",
            made.words,
            vectors.words.len(),
            vectors.dimension,
            made.pack.len(),
            made.unusable,
            made.duplicates,
            made.zero,
            made.cut,
            self.words,
            made.exponent,
            made.clamped,
            100.0 * made.relative_error
        );
        Ok(())
    }
}

/// Which words do not count.
#[derive(Args)]
struct StopArgs {
    /// Words that do not count, one a line, instead of NLTK's English stop words.
    #[arg(long, value_name = "FILE")]
    stop_words: Option<PathBuf>,
}

impl StopArgs {
    fn filter(&self) -> Result<WordFilter> {
        let mut filter = WordFilter::default();
        if let Some(path) = &self.stop_words {
            filter.stop = read_word_list(path)?;
        }
        Ok(filter)
    }
}

/// What to rank words by.
#[derive(Args)]
pub(super) struct KeywordsArgs {
    /// A public, labelled corpus: .jsonl, .jsonl.gz, .tsv or .tsv.gz.
    #[arg(long, value_name = "FILE")]
    corpus: PathBuf,
    /// The field of the label in JSON lines.
    #[arg(long, value_name = "FIELD", default_value = "label")]
    label: String,
    #[command(flatten)]
    texts: TextArgs,
    #[command(flatten)]
    stop: StopArgs,
    /// Number of words at most.
    #[arg(long, value_name = "N")]
    words: usize,
    /// The words, one a line, the most informative first.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl KeywordsArgs {
    pub(super) fn run(&self) -> Result<()> {
        AtomicFile::check(&self.out)?;
        let filter = self.stop.filter()?;
        let fail = |problem| Error::Ranking {
            path: self.corpus.clone(),
            problem,
        };
        let mut counts = WordsByLabel::default();
        let mut documents = 0;
        let corpus = Corpus::open_watched(&self.corpus)?.label_field(self.label.as_str());
        for document in self.texts.of(corpus) {
            let CorpusDocument { id, label, text } = document?;
            let Some(label) = label else {
                return Err(fail(format!(
                    "document {id} has no label; name the field of the labels with --label"
                )));
            };
            counts.add(&label, filter.words(&text));
            documents += 1;
        }
        if counts.labels() < 2 {
            return Err(fail(format!(
                "{documents} documents with {} labels; there must be at least 2 labels",
                counts.labels()
            )));
        }
        let mut ranked = counts.ranked();
        let all = ranked.len();
        ranked.truncate(self.words);
        let list: String = ranked.iter().map(|(word, _)| format!("{word}\n")).collect();
        write(&self.out, list.as_bytes())?;
        note!(
            "{} of {all} words, {documents} documents, {} labels; the last word tells {:.2e} bits about the label",
            ranked.len(),
            counts.labels(),
            ranked.last().map_or(0.0, |(_, bits)| *bits)
        );
        Ok(())
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum MechanismArg {
    /// Selection among all words by their distance.
    Selection,
    /// The word nearest to the noisy vector, as published; for comparison.
    Laplace,
}

/// Which texts become bags of words, and how.
#[derive(Args)]
pub(super) struct ObfuscateArgs {
    /// A pack with the vocabulary; `vocabulary` makes one.
    #[arg(long, value_name = "FILE")]
    pack: PathBuf,
    /// The privacy parameter of each word, per unit of distance, 0.000001 to 1000.
    #[arg(long, allow_hyphen_values = true)]
    epsilon: Epsilon,
    /// Number of words in a release, whatever the length of the text.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 50,
        value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_BAG_SIZE))
    )]
    words: u16,
    /// How a word is exchanged.
    #[arg(long, value_enum, default_value_t = MechanismArg::Selection)]
    mechanism: MechanismArg,
    /// Selection: how a word is drawn [default: permute-and-flip].
    #[arg(long, value_enum)]
    rule: Option<RuleArg>,
    /// Nothing but these words of a text counts, one a line; `keywords` finds some.
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    stop: StopArgs,
    #[command(flatten)]
    input: PrivateArgs,
    /// One line of JSON per text: its id, the release, and the words it says.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// One line of a file of released bags.
#[derive(Serialize, Deserialize)]
struct BagLine {
    id: String,
    release: String,
    words: Vec<String>,
}

impl ObfuscateArgs {
    fn mechanism(&self) -> Result<WordMechanism> {
        match (self.mechanism, self.rule) {
            (MechanismArg::Selection, rule) => {
                let rule = rule.map_or(Rule::PermuteAndFlip, Rule::from);
                Ok(WordMechanism::Selection(rule))
            }
            (MechanismArg::Laplace, None) => Ok(WordMechanism::LaplaceNearest),
            (MechanismArg::Laplace, Some(_)) => Err(Error::OptionOfOther {
                option: "--rule",
                of: "--mechanism selection",
            }),
        }
    }

    /// The words that count.
    fn filter(&self, vocabulary: &Vocabulary<'_>) -> Result<WordFilter> {
        let mut filter = self.stop.filter()?;
        let Some(path) = &self.keep else {
            return Ok(filter);
        };
        let mut keep = read_word_list(path)?;
        let all = keep.len();
        // Others would all become the same word.
        keep.retain(|word| {
            vocabulary.lexicon().find(word).is_some() && !filter.stop.contains(word)
        });
        if keep.is_empty() {
            return Err(Error::WordList {
                path: path.clone(),
                problem: format!(
                    "the vocabulary has none of its {all} words but stop words; take a list that fits it"
                ),
            });
        }
        if keep.len() < all {
            note!(
                "{} of the {all} words to keep are stop words or not in the vocabulary",
                all - keep.len()
            );
        }
        filter.keep = Some(keep);
        Ok(filter)
    }

    pub(super) fn run(&self) -> Result<()> {
        let mechanism = self.mechanism()?;
        let pack = read_pack(&self.pack)?;
        let vocabulary = Vocabulary::new(&pack).map_err(|_| Error::NoLexicon {
            path: self.pack.clone(),
        })?;
        let filter = self.filter(&vocabulary)?;
        let run = filter.name(
            self.input
                .run_of("obfuscate")?
                .with(pack.digest())
                .with(self.epsilon.micro().to_le_bytes())
                .with(format!("{mechanism:?}"))
                .with(self.words.to_le_bytes()),
        );
        let is_whole = |line: &str| serde_json::from_str::<BagLine>(line).is_ok();
        let (mut lines, total) = resume(&self.out, &self.input, &run, is_whole)?;
        let progress = Progress::new("releasing texts", total as u64);
        progress.advance(lines.kept() as u64);
        let mut rate = Rate::start();
        let rest = self
            .input
            .documents(|path| Corpus::open(path))?
            .skip(lines.kept());
        for batch in batches(rest) {
            let batch = batch?;
            let released: Vec<BagLine> = batch
                .par_iter()
                .map(|document| {
                    let line = self.release(document, &vocabulary, &filter, mechanism)?;
                    progress.advance(1);
                    Ok(line)
                })
                .collect::<Result<_>>()?;
            for line in &released {
                lines.push(&json(line))?;
            }
            rate.count(batch.len(), 0);
        }
        lines.commit()?;
        rate.report("released");
        let (text, warning) = words::guarantee(&vocabulary, self.words, mechanism, self.epsilon);
        print(&text)?;
        if let Some(warning) = warning {
            note!("{warning}");
        }
        Ok(())
    }

    fn release(
        &self,
        document: &CorpusDocument,
        vocabulary: &Vocabulary<'_>,
        filter: &WordFilter,
        mechanism: WordMechanism,
    ) -> Result<BagLine> {
        let own = filter.words(&document.text);
        let bytes = words::release(
            vocabulary,
            own,
            self.words,
            mechanism,
            Grant::unrecorded(self.epsilon),
        )?;
        let release = BagRelease::from_bytes(&bytes).expect("a release was just written");
        let word = |index: u32| vocabulary.lexicon().word(index as usize);
        let mut words: Vec<String> = release
            .words()
            .filter_map(word)
            .map(str::to_owned)
            .collect();
        words.sort_unstable();
        Ok(BagLine {
            id: document.id.clone(),
            release: hex::encode(&bytes),
            words,
        })
    }
}
