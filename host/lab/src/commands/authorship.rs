//! `undertone-lab authorship`.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use undertone::error::{Error, Result};
use undertone::lexicon::word_vectors::Vectors;
use undertone::release::words::TypicalDistances;
use undertone_cli::paths::Paths;
use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_core::words::{MAX_BAG_SIZE, Vocabulary, WordMechanism};
use undertone_lab::authorship::fidelity;
use undertone_lab::authorship::mailbox::Mailbox;
use undertone_lab::authorship::report::{Report, left_out};
use undertone_lab::authorship::{Experiment, Options, Way, informative_pack};
use undertone_lab::documents::word_columns;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Public corpora of raw newsgroup messages with their header, labelled with their group
    /// (.jsonl, .jsonl.gz); they are pooled and split again.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    data: Vec<PathBuf>,
    /// Word vectors: .npy with NAME.vocab.txt beside it, or GloVe or word2vec text.
    #[arg(long, value_name = "FILE")]
    word_vectors: PathBuf,
    /// Number of groups: those with the most authors who have enough messages.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    groups: u16,
    /// Messages in one group that an author to be recognised must have.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u16).range(5..))]
    least_messages: u16,
    /// Messages of other authors of each group, for the topic, at most.
    #[arg(long, default_value_t = 300)]
    others: u16,
    /// Words of a bag.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_BAG_SIZE)))]
    size: u16,
    /// Size of the vocabulary: the words that are most informative about the topic.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=65536))]
    vocabulary: u32,
    /// The privacy parameters of bags, per unit of distance.
    #[arg(
        long,
        num_args = 1..,
        value_delimiter = ',',
        default_values = ["1", "2", "2.5", "3", "4", "6", "10", "15", "20", "30", "40"],
        value_name = "LIST"
    )]
    epsilons: Vec<Epsilon>,
    /// Releases of each test message.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    trials: u16,
    /// Obfuscated copies of each training message for the attacker.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    copies: u16,
    /// Words of the vectors for which curves against epsilon are measured.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    curve_words: u16,
    /// The privacy parameters at which a sharper table of selection is certified for the whole
    /// vocabulary; each takes up to a minute.
    #[arg(
        long,
        num_args = 1..,
        value_delimiter = ',',
        default_values = ["2.5", "3", "3.5", "4"],
        value_name = "LIST"
    )]
    certified: Vec<Epsilon>,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder of the report.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

/// The mechanisms that bags are made with.
const MECHANISMS: [WordMechanism; 2] = [
    WordMechanism::LaplaceNearest,
    WordMechanism::Selection(Rule::PermuteAndFlip),
];

/// Draws of Laplace noise with nearest word for each word of the curves.
const CURVE_DRAWS: usize = 20;

/// From 1 to 64 in steps of a fourth root of 2.
fn curve_epsilons() -> Vec<Epsilon> {
    let micro = |step: i32| 2f64.powf(f64::from(step) / 4.0) * 1e6;
    let epsilons = (0..=24).map(|step| Epsilon::from_micro(micro(step).round() as u32));
    epsilons
        .map(|epsilon| epsilon.expect("the constants are in range"))
        .collect()
}

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
    let vectors = Vectors::open(&arguments.word_vectors)?;
    word_columns::check(&vectors, &arguments.epsilons)?;
    let mailbox = Mailbox::read(&arguments.data)?;
    let start = Instant::now();
    let passed = || start.elapsed().as_secs_f64();
    let sample = mailbox.sample(
        arguments.groups.into(),
        arguments.least_messages.into(),
        arguments.others.into(),
        arguments.seed,
    )?;
    let options = Options {
        epsilons: super::ascending(arguments.epsilons),
        bag_size: arguments.size,
        trials: arguments.trials.into(),
        copies: arguments.copies.into(),
        seed: arguments.seed,
    };

    let pack = informative_pack(&sample, &vectors, arguments.vocabulary as usize)?;
    let experiment = Experiment::new(&sample, &Pack::parse(&pack).map_err(Error::from)?, &options)?;
    let clear = experiment.clear();
    note!(
        "{} messages; clear text: author {:.3} (chance {:.3}), topic {:.3}, after {:.0} s",
        sample.messages.len(),
        clear.attack().accuracy,
        clear.chance,
        clear.topic,
        passed()
    );
    let private = MECHANISMS.iter().flat_map(|mechanism| {
        options
            .epsilons
            .iter()
            .map(|epsilon| Way::Private(*mechanism, *epsilon))
    });
    let ways: Vec<Way> = [Way::Drawn].into_iter().chain(private).collect();
    let measured = experiment.measure(&ways)?;
    note!("bags measured after {:.0} s", passed());

    let all = vectors.lexicon_pack(None, undertone_core::pack::format::MAX_WORDS as usize)?;
    let all = Pack::parse(&all.pack).map_err(Error::from)?;
    let all = Vocabulary::new(&all).map_err(Error::from)?;
    let fidelity_options = fidelity::Options {
        epsilons: curve_epsilons(),
        certified: super::ascending(arguments.certified),
        words: arguments.curve_words.into(),
        draws: CURVE_DRAWS,
        seed: arguments.seed,
    };
    let fidelity = fidelity::curves(&all, &fidelity_options)?;
    note!("words measured after {:.0} s", passed());

    let report = Report {
        command: super::command_line(),
        vectors: vectors.name,
        vocabulary: experiment.vocabulary().word_count(),
        distances: TypicalDistances::measure(experiment.vocabulary()),
        unit: 2f64.powi(experiment.vocabulary().unit_exponent()),
        without_words: experiment.without_words(),
        left_out: left_out(&mailbox),
        clear,
        measured,
        fidelity_vocabulary: all.word_count(),
        fidelity_options,
        fidelity,
        options: options.clone(),
        sample: sample.clone(),
    };
    report.write(&arguments.out)?;
    note!("{}", arguments.out.join("report.html").display());
    Ok(())
}
