//! `undertone-lab inversion`.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use undertone::error::{Error, Result};
use undertone::lexicon::word_vectors::Vectors;
use undertone_cli::paths::Paths;
use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::words::MAX_BAG_SIZE;
use undertone_lab::authorship::informative_pack;
use undertone_lab::authorship::mailbox::Mailbox;
use undertone_lab::documents::word_columns;
use undertone_lab::inversion::bags::{self, Bags};
use undertone_lab::inversion::report::Report;
use undertone_lab::inversion::{Options, PublicWords, vectors};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Public corpora of raw newsgroup messages with their header, labelled with their group
    /// (.jsonl, .jsonl.gz); they are pooled and split again.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    data: Vec<PathBuf>,
    /// Word vectors: .npy with NAME.vocab.txt beside it, or GloVe or word2vec text.
    #[arg(long, value_name = "FILE")]
    word_vectors: PathBuf,
    /// The privacy parameters per unit of distance, 0.1 to 1000.
    #[arg(
        long,
        num_args = 1..,
        value_delimiter = ',',
        default_values = ["0.1", "1", "2", "2.5", "3", "5", "10", "20", "50", "100"],
        value_name = "LIST"
    )]
    epsilons: Vec<Epsilon>,
    /// Words that are released as vectors and guessed: the most frequent ones.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(2..=5000))]
    vocabulary: u16,
    /// Private words that are released as vectors at each epsilon.
    #[arg(long, default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..))]
    words: u32,
    /// Principal directions that vectors are projected to.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    directions: u16,
    /// Size of the vocabulary of bags: the words that are most informative about the topic.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u16).range(2..=5000))]
    bag_vocabulary: u16,
    /// Words of a bag.
    #[arg(
        long,
        num_args = 1..,
        value_delimiter = ',',
        default_values_t = [1, 10, 50],
        value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_BAG_SIZE)),
        value_name = "LIST"
    )]
    sizes: Vec<u16>,
    /// Number of groups: those with the most authors who have enough messages, as for `authorship`.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    groups: u16,
    /// Releases of each test message as a bag.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    trials: u16,
    /// Releases that a decoder is trained on.
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(64..))]
    lessons: u32,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder of the report.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

/// Messages of an author, and of the other authors of each group, as for `authorship`.
const LEAST_MESSAGES: usize = 15;
const OTHERS: usize = 300;

impl Arguments {
    pub(super) fn paths(&self) -> Paths {
        let paths = Paths::default()
            .inputs("--data", &self.data)
            .vectors("--word-vectors", &self.word_vectors);
        paths.report("--out", &self.out)
    }
}

pub(super) fn run(arguments: Arguments) -> Result<()> {
    Report::check(&arguments.out)?;
    let start = Instant::now();
    let passed = || start.elapsed().as_secs_f64();
    let found = Vectors::open(&arguments.word_vectors)?;
    word_columns::check(&found, &arguments.epsilons)?;
    let mailbox = Mailbox::read(&arguments.data)?;
    let sample = mailbox.sample(
        arguments.groups.into(),
        LEAST_MESSAGES,
        OTHERS,
        arguments.seed,
    )?;
    let mut sizes = arguments.sizes;
    sizes.sort_unstable();
    sizes.dedup();
    let options = Options {
        epsilons: super::ascending(arguments.epsilons),
        vocabulary: arguments.vocabulary.into(),
        words: arguments.words as usize,
        directions: arguments.directions.into(),
        sizes,
        trials: arguments.trials.into(),
        lessons: arguments.lessons as usize,
        seed: arguments.seed,
    };
    let words = PublicWords::new(&sample, &found, options.vocabulary)?;
    let pack = informative_pack(&sample, &found, arguments.bag_vocabulary.into())?;
    let bags = Bags::new(&sample, &Pack::parse(&pack).map_err(Error::from)?)?;
    let of_vectors = vectors::measure(&words, &options)?;
    note!("vectors attacked after {:.0} s", passed());
    let of_bags = bags::measure(&bags, &options)?;
    note!("bags attacked after {:.0} s", passed());
    let report = Report {
        command: super::command_line(),
        name: found.name,
        words: words.prior.len(),
        bag_words: bags.word_count(),
        vectors: of_vectors,
        bags: of_bags,
        options,
    };
    report.write(&arguments.out)?;
    for alarm in report.alarms() {
        note!("warning: {alarm}");
    }
    note!("{}", arguments.out.join("report.html").display());
    Ok(())
}
