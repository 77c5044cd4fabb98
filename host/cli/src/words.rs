//! `undertone release words`.

use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use undertone::corpus::CorpusDocument;
use undertone::error::{Error, Result};
use undertone::release::words;
use undertone::text::{WordFilter, read_word_list};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{Cost, Grant};
use undertone_core::release::BagRelease;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
use undertone_core::words::{MAX_BAG_SIZE, Vocabulary, WordMechanism};
use undertone_tables::Kind;

use crate::args::{RULES, StopArgs, TextArgs, named};
use crate::files::{Output, json, print, read_pack};
use crate::paths::is_stream;
use crate::releases::{LedgerArgs, PrivateArgs, ReleaseRun, Releaser, field, quietly};

#[derive(Clone, Copy, ValueEnum)]
enum MechanismArg {
    /// Selection among all words by their distance.
    Selection,
    /// The word nearest to the noisy vector, as published; for comparison.
    Laplace,
}

#[derive(Args)]
pub(crate) struct Arguments {
    /// A pack with a vocabulary, such as `lexicon import` writes.
    #[arg(short, long, value_name = "FILE")]
    pack: PathBuf,
    /// The privacy parameter of each word, per unit of distance, 0.000001 to 1000.
    #[arg(short, long, allow_hyphen_values = true)]
    epsilon: Epsilon,
    /// Number of words in a release, whatever the length of the text.
    #[arg(
        long = "bag-size",
        alias = "words",
        value_name = "N",
        default_value = "50",
        value_parser = clap::value_parser!(u16)
            .range(1..=i64::from(MAX_BAG_SIZE))
            .map(|words| NonZero::new(words).expect("the range starts at 1"))
    )]
    words: NonZero<u16>,
    /// How a word is exchanged.
    #[arg(long, value_enum, default_value_t = MechanismArg::Selection)]
    mechanism: MechanismArg,
    /// How selection draws a word [default: permute-and-flip]
    #[arg(short, long, value_parser = named(&RULES))]
    rule: Option<Rule>,
    /// Only the words of this list count, one a line, such as `lexicon keywords` writes.
    #[arg(long = "only-words", alias = "keep", value_name = "FILE")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    stop: StopArgs,
    #[command(flatten)]
    spending: LedgerArgs,
    #[command(flatten)]
    input: PrivateArgs,
    #[command(flatten)]
    texts: TextArgs,
    /// The releases: a JSON object a line, or a .parquet or .csv table; `-` is standard output.
    ///
    /// "id" (as it is written, or "line-N"), "release" in hexadecimal digits, and "words", the
    /// words of the release: a list in Parquet, JSON in CSV. The guarantee is printed on standard
    /// output, or on standard error if the releases are there.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    out: PathBuf,
}

impl Arguments {
    fn mechanism(&self) -> Result<WordMechanism> {
        match (self.mechanism, self.rule) {
            (MechanismArg::Selection, rule) => {
                let rule = rule.unwrap_or(Rule::PermuteAndFlip);
                Ok(WordMechanism::Selection(rule))
            }
            (MechanismArg::Laplace, None) => Ok(WordMechanism::LaplaceNearest),
            (MechanismArg::Laplace, Some(_)) => Err(Error::argument(
                "--rule is for --mechanism selection; leave one of the two out",
            )),
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
        // All others would become the same word.
        keep.retain(|word| {
            vocabulary.lexicon().find(word).is_some() && !filter.stop.contains(word)
        });
        if keep.is_empty() {
            return Err(Error::input(format!(
                "cannot use the words of `{}`: the vocabulary has none of its {all} \
                 words but stop words; take a list that fits it",
                path.display()
            )));
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

    pub(crate) fn run(&self) -> Result<ExitCode> {
        let paths = self.input.paths(&self.out).input("--pack", &self.pack);
        let paths = self.stop.paths(self.spending.paths(paths));
        paths.inputs("--only-words", &self.keep).check()?;
        self.input.texts(&self.texts).check_fields(&[])?;
        self.spending
            .check(&self.input, &self.out, Cost::bag(self.epsilon, self.words))?;
        quietly(|| self.release_all())
    }

    fn release_all(&self) -> Result<ExitCode> {
        let mechanism = self.mechanism()?;
        let pack = read_pack(&self.pack)?;
        let vocabulary = Vocabulary::new(&pack).map_err(|_| Error::no_lexicon(&self.pack))?;
        let filter = self.filter(&vocabulary)?;
        let input = self.input.texts(&self.texts);
        let run = input
            .run_of("obfuscate")?
            .with(pack.digest())
            .with(self.epsilon.micro().to_le_bytes())
            .with(format!("{mechanism:?}"))
            .with(self.words.get().to_le_bytes())
            .with_words(&filter.stop);
        let run = match &filter.keep {
            None => run,
            Some(list) => run.with("keep").with_words(list),
        };
        Output::check(&self.out)?;
        let run = ReleaseRun {
            input: &input,
            keep: &[],
            out: &self.out,
            paid: self.spending.open(Unit::Word, run)?,
            releaser: Bags {
                vocabulary: &vocabulary,
                filter: &filter,
                mechanism,
                words: self.words,
            },
            unit: Unit::Word,
            epsilon: self.epsilon,
            cost: Cost::bag(self.epsilon, self.words),
        };
        run.release(|| {
            let (text, warning) =
                words::guarantee(&vocabulary, self.words.get(), mechanism, self.epsilon);
            if is_stream(&self.out) {
                note!("{}", text.trim_end())
            } else {
                print(&text)?
            }
            if let Some(warning) = warning {
                note!("{warning}");
            }
            Ok(())
        })
    }
}

/// The vocabulary, words and mechanism of all releases.
struct Bags<'a> {
    vocabulary: &'a Vocabulary<'a>,
    filter: &'a WordFilter,
    mechanism: WordMechanism,
    words: NonZero<u16>,
}

impl Releaser for Bags<'_> {
    type State = ();

    const KINDS: &'static [(&'static str, Kind)] =
        &[("release", Kind::Text), ("words", Kind::Texts)];

    fn start(&self) -> Result<()> {
        Ok(())
    }

    fn release(&self, (): &mut (), source: &CorpusDocument, grant: Grant) -> Result<String> {
        let own = self.filter.words(&source.text);
        let bytes = words::release(
            self.vocabulary,
            own,
            self.words.get(),
            self.mechanism,
            grant,
        )?;
        let release = BagRelease::from_bytes(&bytes).expect("a release was just written");
        let word = |index: u32| self.vocabulary.lexicon().word(index as usize);
        let mut words: Vec<&str> = release.words().filter_map(word).collect();
        words.sort_unstable();
        Ok(format!("{},\"words\":{}", field(&bytes), json(&words)))
    }
}
