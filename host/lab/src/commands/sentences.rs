//! `undertone-lab sentences`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use undertone::encoder::LexiconEncoder;
use undertone::error::{Error, Result};
use undertone::lexicon::word_vectors::Vectors;
use undertone::pack::LexiconData;
use undertone_cli::args::{EncoderArgs, OpenEncoder};
use undertone_cli::paths::Paths;
use undertone_core::epsilon::Epsilon;
use undertone_core::pack::format::MAX_WORDS;
use undertone_lab::documents::columns::{Extent, columns};
use undertone_lab::documents::cost::Cost;
use undertone_lab::documents::data::{Data, Task};
use undertone_lab::documents::report::{Report, TaskReport};
use undertone_lab::documents::word_columns::{self, Words};
use undertone_lab::documents::{Options, measure, perceptron};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Public, labelled corpora (.jsonl, .jsonl.gz, .tsv or .tsv.gz), or task files (.json) that
    /// name a training and a test corpus and the classes; each is one experiment.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    data: Vec<PathBuf>,
    /// The folder that paths in task files are relative to, instead of the folder of the task file.
    #[arg(long, value_name = "FOLDER")]
    data_folder: Option<PathBuf>,
    #[command(flatten)]
    encoder: EncoderArgs,
    /// The folder that caches sentence vectors for the next run; `cache` in the output folder by
    /// default.
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// The privacy parameters.
    #[arg(
        long,
        num_args = 1..,
        value_delimiter = ',',
        default_values_t = Options::default().epsilons,
        value_name = "LIST"
    )]
    epsilons: Vec<Epsilon>,
    /// The privacy parameter at which documents are cut to their first sentences.
    #[arg(long, default_value_t = Options::default().fixed_epsilon, value_name = "EPSILON")]
    cut_epsilon: Epsilon,
    /// Releases of each test document.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    trials: u16,
    /// Training documents that become candidates, at most.
    #[arg(long, default_value_t = Options::default().candidates)]
    candidates: usize,
    /// Sentences of a candidate, at least.
    #[arg(long, default_value_t = Options::default().min_sentences)]
    min_sentences: usize,
    /// Seed of all randomness.
    #[arg(long, default_value_t = Options::default().seed)]
    seed: u64,
    /// Word vectors (.npy with NAME.vocab.txt beside it, or GloVe or word2vec text): compares with
    /// documents whose words were replaced one by one.
    #[arg(long, value_name = "FILE")]
    word_vectors: Option<PathBuf>,
    /// Test documents whose words are replaced, at most.
    #[arg(long, default_value_t = 300, requires = "word_vectors", value_parser = clap::value_parser!(u32).range(1..))]
    word_documents: u32,
    /// The folder of the report.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

impl Arguments {
    pub(super) fn paths(&self) -> Paths {
        let paths = self
            .encoder
            .paths(Paths::default())
            .inputs("--data", &self.data);
        let paths = match &self.word_vectors {
            None => paths,
            Some(path) => paths.vectors("--word-vectors", path),
        };
        paths.report("--out", &self.out)
    }
}

/// The tasks. Checks that their corpora exist, so that a missing one is found before hours of
/// encoding another.
fn tasks(arguments: &Arguments) -> Result<Vec<Task>> {
    let tasks = arguments
        .data
        .iter()
        .map(|path| Task::open(path, arguments.data_folder.as_deref()))
        .collect::<Result<Vec<_>>>()?;
    for path in tasks
        .iter()
        .flat_map(|task| [Some(&task.train), task.test.as_ref()])
    {
        path.map_or(Ok(()), |path| {
            path.metadata().map(drop).map_err(Error::io("open", path))
        })?;
    }
    Ok(tasks)
}

/// One experiment: encodes, releases and classifies.
fn evaluate(
    task: &Task,
    encoder: &OpenEncoder,
    words: Option<Words<'_>>,
    cache: Option<&Path>,
    options: &Options,
) -> Result<TaskReport> {
    note!("{}", task.name);
    let start = Instant::now();
    let data = Data::load(task, encoder.encoder.as_ref(), cache, options.seed)?;
    let encoding = start.elapsed();
    note!(
        "  {} documents to learn from, {} to test on, after {:.0} s",
        data.learning.labels.len(),
        data.test.labels.len(),
        encoding.as_secs_f64()
    );
    let start = Instant::now();
    let compared = columns(&data, Extent::All, words, &perceptron, options)?;
    let preparing = start.elapsed();
    let mut measured = measure(&data, &compared, options)?;
    let mut costs = vec![Cost::measure(
        &data,
        encoder.encoder.as_ref(),
        encoder.lexicon.clone(),
    )?];
    if encoder.lexicon.is_none() {
        // The encoder of a device without a neural runtime.
        let embedded = LexiconEncoder::embedded();
        let words = Data::load(task, &embedded, None, options.seed)?;
        let lexicon = LexiconData::from_view(embedded.lexicon());
        costs.push(Cost::measure(&words, &embedded, Some(lexicon))?);
        let compared = columns(&words, Extent::Encoder, None, &perceptron, options)?;
        measured.extend(measure(&words, &compared, options)?);
    }
    note!("  measured after {:.0} s", start.elapsed().as_secs_f64());
    for cost in &costs {
        note!(
            "  {}: pack of {} bytes, {:.1} µs a sentence",
            cost.encoder,
            cost.pack,
            cost.sentence.as_secs_f64() * 1e6
        );
    }
    Ok(TaskReport::new(&data, encoding, preparing, measured, costs))
}

pub(super) fn run(arguments: Arguments) -> Result<()> {
    let tasks = tasks(&arguments)?;
    let encoder = arguments.encoder.open(LexiconEncoder::embedded)?;
    let vocabulary = arguments
        .word_vectors
        .as_ref()
        .map(|path| -> Result<Vec<u8>> {
            let vectors = Vectors::open(path)?;
            word_columns::check(&vectors, &arguments.epsilons)?;
            word_columns::check(&vectors, &[arguments.cut_epsilon])?;
            Ok(vectors.lexicon_pack(None, MAX_WORDS as usize)?.pack)
        });
    let vocabulary = vocabulary.transpose()?;
    let words = vocabulary.as_ref().map(|pack| Words {
        pack,
        encoder: encoder.encoder.as_ref(),
        documents: arguments.word_documents as usize,
    });
    let options = Options {
        epsilons: super::ascending(arguments.epsilons),
        fixed_epsilon: arguments.cut_epsilon,
        trials: arguments.trials.into(),
        candidates: arguments.candidates,
        min_sentences: arguments.min_sentences,
        seed: arguments.seed,
    };
    Report::check(&arguments.out)?;
    // The lexicon is faster than the cache.
    let cache = match encoder.lexicon {
        Some(_) => None,
        None => {
            let folder = arguments.cache.unwrap_or(arguments.out.join("cache"));
            std::fs::create_dir_all(&folder).map_err(Error::io("create the folder", &folder))?;
            Some(folder)
        }
    };

    let mut report = Report {
        options,
        command: super::command_line(),
        tasks: Vec::new(),
    };
    for task in &tasks {
        let done = evaluate(task, &encoder, words, cache.as_deref(), &report.options)?;
        report.tasks.push(done);
    }
    report.write(&arguments.out)?;
    note!("{}", arguments.out.join("report.html").display());
    Ok(())
}
