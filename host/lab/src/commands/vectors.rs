//! `undertone-lab vectors`.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use undertone::error::Result;
use undertone::lexicon::word_vectors::Vectors;
use undertone_cli::paths::Paths;
use undertone_core::epsilon::Epsilon;
use undertone_lab::vectors::{Bench, Options, Report, TaskName, measure};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Public word vectors: a .npy matrix with NAME.vocab.txt beside it, or GloVe or word2vec text.
    #[arg(long, value_name = "FILE")]
    vectors: PathBuf,
    /// The folder with opinion-lexicon and senteval.
    #[arg(long, value_name = "FOLDER")]
    data_folder: PathBuf,
    /// The privacy parameters per unit of distance, 0.1 to 1000.
    #[arg(
        long,
        num_args = 1..,
        value_delimiter = ',',
        default_values_t = Options::default().epsilons,
        value_name = "LIST"
    )]
    epsilons: Vec<Epsilon>,
    /// The distortions of the published mechanism; they determine its dimensions.
    #[arg(
        long,
        num_args = 1..,
        value_delimiter = ',',
        default_values_t = Options::default().betas,
        value_name = "LIST"
    )]
    betas: Vec<f64>,
    /// The privacy parameter of the sentence tasks.
    #[arg(long, default_value_t = Options::default().task_epsilon, value_name = "EPSILON")]
    task_epsilon: Epsilon,
    /// The sentence tasks.
    #[arg(
        long,
        num_args = 1..,
        value_delimiter = ',',
        default_values_t = Options::default().tasks,
        value_name = "LIST"
    )]
    tasks: Vec<TaskName>,
    /// Trials: releases of single words, with a classifier trained on each.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    trials: u16,
    /// Folds of a sentence task, or releases of one that has a test set.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..))]
    runs: u16,
    /// Seed of all randomness.
    #[arg(long, default_value_t = Options::default().seed)]
    seed: u64,
    /// The folder of the report.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

impl Arguments {
    pub(super) fn paths(&self) -> Paths {
        let paths = Paths::default().vectors("--vectors", &self.vectors);
        paths.report("--out", &self.out)
    }
}

pub(super) fn run(arguments: Arguments) -> Result<()> {
    let mut options = Options {
        epsilons: super::ascending(arguments.epsilons),
        betas: arguments.betas,
        task_epsilon: arguments.task_epsilon,
        tasks: arguments.tasks,
        trials: arguments.trials.into(),
        runs: arguments.runs.into(),
        seed: arguments.seed,
        ..Options::default()
    };
    options.betas.sort_by(f64::total_cmp);
    options.betas.dedup();
    options.check()?;
    Report::check(&arguments.out)?;
    let start = Instant::now();
    let vectors = Vectors::open(&arguments.vectors)?;
    let bench = Bench::new(&vectors, &options)?;
    let measured = measure(&bench, &arguments.data_folder, &options)?;
    Report {
        options: &options,
        command: super::command_line(),
        bench: &bench,
        measured: &measured,
    }
    .write(&arguments.out)?;
    note!(
        "{} after {:.0} s",
        arguments.out.join("report.html").display(),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
