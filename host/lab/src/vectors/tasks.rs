//! Sentences as the means of their words' private vectors: five classification tasks.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rayon::prelude::*;

use super::logistic::{Classifier, Sample};
use super::words::{Reader, Work, chosen};
use super::{Bench, Column, Options, shuffle, stream};
use crate::documents::Role;
use crate::metrics::MeanSd;
use undertone::error::{Error, Result};

/// Documents of one parallel task.
const BLOCK: usize = 16;

/// A sentence task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskName {
    /// Film reviews (Pang and Lee 2005).
    Mr,
    /// Product reviews (Hu and Liu 2004).
    Cr,
    /// Opinion phrases (Wiebe, Wilson and Cardie 2005).
    Mpqa,
    /// Film reviews in five grades (Socher et al. 2013).
    Sst5,
    /// The kind of answer that a question asks for (Li and Roth 2002).
    Trec6,
}

impl TaskName {
    /// All tasks.
    pub const ALL: [Self; 5] = [Self::Mr, Self::Cr, Self::Mpqa, Self::Sst5, Self::Trec6];

    fn text(self) -> &'static str {
        match self {
            Self::Mr => "MR",
            Self::Cr => "CR",
            Self::Mpqa => "MPQA",
            Self::Sst5 => "SST5",
            Self::Trec6 => "TREC6",
        }
    }

    /// The training file and the test file; without a test file, folds of the training file.
    fn files(self) -> (String, Option<String>) {
        let name = self.text();
        match self {
            Self::Mr | Self::Cr | Self::Mpqa => (format!("{name}.tsv"), None),
            Self::Sst5 | Self::Trec6 => (
                format!("{name}.train.tsv"),
                Some(format!("{name}.test.tsv")),
            ),
        }
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl FromStr for TaskName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|name| name.text() == text);
        named.ok_or_else(|| {
            let all = Self::ALL.map(Self::text).join(", ");
            format!("known tasks are {all}")
        })
    }
}

/// When noise is drawn for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Once for all its occurrences: a private table of word vectors, as published. A classifier
    /// can memorise each word's noise, and the table reveals the words of a sentence from their
    /// sum.
    Table,
    /// For each occurrence: the behaviour of users who release their sentences word by word.
    Fresh,
}

impl Protocol {
    /// Both protocols.
    pub const ALL: [Self; 2] = [Self::Table, Self::Fresh];
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Table => "table once",
            Self::Fresh => "every occurrence",
        })
    }
}

/// The score of one mechanism on one task.
#[derive(Clone)]
pub struct TaskScore {
    /// The task.
    pub task: TaskName,
    /// When noise is drawn for words.
    pub protocol: Protocol,
    /// The name of the column.
    pub name: String,
    /// Its role in the comparison.
    pub role: Role,
    /// The chosen setting, and in how many runs.
    pub setting: String,
    /// Training accuracy.
    pub train: MeanSd,
    /// Test accuracy.
    pub test: MeanSd,
}

/// A task, with its documents as rows of the vectors.
pub(super) struct Task {
    name: TaskName,
    documents: Vec<Vec<usize>>,
    labels: Vec<usize>,
    /// The index of the first test document, if there is a test set.
    test: Option<usize>,
}

impl Task {
    /// Reads lines of `label<TAB>text`, the words of a text separated by white space; words without
    /// a vector are left out.
    pub(super) fn open(bench: &Bench<'_>, name: TaskName, folder: &Path) -> Result<Self> {
        let (train, test) = name.files();
        let mut task = Self {
            name,
            documents: Vec::new(),
            labels: Vec::new(),
            test: None,
        };
        task.read(bench, &file(folder, &train))?;
        if let Some(test) = test {
            task.test = Some(task.labels.len());
            task.read(bench, &file(folder, &test))?;
        }
        Ok(task)
    }

    fn read(&mut self, bench: &Bench<'_>, path: &Path) -> Result<()> {
        let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
        let wrong = |problem: String| {
            Error::experiment(format!(
                "cannot evaluate on `{}`: {problem}",
                path.display()
            ))
        };
        let before = self.labels.len();
        for (line, number) in text.lines().zip(1..) {
            let (label, text) = line
                .split_once('\t')
                .ok_or_else(|| wrong(format!("line {number} has no tab after its label")))?;
            let label = label.parse::<usize>();
            let label =
                label.map_err(|_| wrong(format!("the label of line {number} is not a number")))?;
            let words = text.split_whitespace();
            self.labels.push(label);
            self.documents
                .push(words.filter_map(|word| bench.word(word)).collect());
        }
        if self.labels.len() < before + 20 {
            let found = self.labels.len() - before;
            return Err(wrong(format!("{found} lines; at least 20 are wanted")));
        }
        Ok(())
    }

    pub(super) fn name(&self) -> &'static str {
        self.name.text()
    }

    /// The training and test documents of a run, in random order.
    fn split(&self, run: usize, options: &Options) -> (Vec<usize>, Vec<usize>) {
        let all: Vec<usize> = (0..self.labels.len()).collect();
        let (mut train, test) = match self.test {
            Some(start) => (all[..start].to_vec(), all[start..].to_vec()),
            None => {
                let mut order = all;
                shuffle(&mut order, &mut stream(options.seed, self.name(), 0));
                let fold = |(place, _): &(usize, usize)| place % options.runs == run;
                let (test, train): (Vec<_>, Vec<_>) = order.into_iter().enumerate().partition(fold);
                let document = |(_, document)| document;
                (
                    train.into_iter().map(document).collect(),
                    test.into_iter().map(document).collect(),
                )
            }
        };
        shuffle(&mut train, &mut stream(options.seed, "train", run as u64));
        (train, test)
    }

    pub(super) fn measure(
        &self,
        bench: &Bench<'_>,
        log_prior: &[f32],
        options: &Options,
    ) -> Result<Vec<TaskScore>> {
        let mut scores = Vec::new();
        for column in bench.columns(false) {
            let table = self.column(bench, &column, Protocol::Table, log_prior, options)?;
            // Without noise the protocols are equal.
            let fresh = if column.role == Role::Bound {
                TaskScore {
                    protocol: Protocol::Fresh,
                    ..table.clone()
                }
            } else {
                self.column(bench, &column, Protocol::Fresh, log_prior, options)?
            };
            scores.extend([table, fresh]);
        }
        Ok(scores)
    }

    fn column(
        &self,
        bench: &Bench<'_>,
        column: &Column,
        protocol: Protocol,
        log_prior: &[f32],
        options: &Options,
    ) -> Result<TaskScore> {
        let mut best: Vec<Option<Run>> = (0..options.runs).map(|_| None).collect();
        for (place, (setting, reading)) in column.settings.iter().enumerate() {
            let mechanism = setting.map(|number| &bench.mechanisms[number]);
            let epsilon = options.task_epsilon;
            let reader = Reader::new(bench, mechanism, *reading, log_prior, epsilon)?;
            // Folds share their noise; a test set gets new noise in each run.
            let draws = if self.test.is_some() { options.runs } else { 1 };
            let samples =
                (0..draws).map(|draw| self.sentences(bench, &reader, protocol, draw, options));
            let samples = samples.collect::<Result<Vec<Sample>>>()?;
            let runs = (0..options.runs).into_par_iter().map(|run| {
                let sample = &samples[run % draws];
                let (train, test) = self.split(run, options);
                let (train, test) = (sample.subset(train), sample.subset(test));
                let (classifier, held_out) = Classifier::tuned(&train)?;
                Ok(Run {
                    held_out,
                    train: classifier.accuracy(&train),
                    test: classifier.accuracy(&test),
                    chosen: place,
                })
            });
            let runs = runs.collect::<Result<Vec<Run>>>()?;
            for (best, run) in best.iter_mut().zip(runs) {
                if best
                    .as_ref()
                    .is_none_or(|best| run.held_out > best.held_out)
                {
                    *best = Some(run);
                }
            }
        }
        let runs: Vec<Run> = best.into_iter().flatten().collect();
        let mean = |of: fn(&Run) -> f64| MeanSd::new(&runs.iter().map(of).collect::<Vec<f64>>());
        Ok(TaskScore {
            task: self.name,
            protocol,
            name: column.name.clone(),
            role: column.role,
            setting: chosen(bench, column, runs.iter().map(|run| run.chosen)),
            train: mean(|run| run.train),
            test: mean(|run| run.test),
        })
    }

    /// The mean reading of each document's words; zero for a document without words.
    fn sentences(
        &self,
        bench: &Bench<'_>,
        reader: &Reader<'_>,
        protocol: Protocol,
        draw: usize,
        options: &Options,
    ) -> Result<Sample> {
        let k = reader.outputs();
        let seed = options.seed.wrapping_add(draw as u64);
        let mut table = Vec::new();
        if protocol == Protocol::Table {
            table = vec![0.0; bench.vectors.words.len() * k];
            let rows = table.par_chunks_exact_mut(k).enumerate();
            rows.try_for_each_init(Work::default, |work, (word, out)| {
                let mut rng = stream(seed, "table", word as u64);
                reader.read(word, &mut rng, work, out)
            })?;
        }
        let mut rows = vec![0.0; self.documents.len() * k];
        let sums = rows
            .par_chunks_exact_mut(k)
            .zip(&self.documents)
            .enumerate();
        sums.with_min_len(BLOCK).try_for_each_init(
            || (Work::default(), vec![0.0; k]),
            |(work, own), (number, (sum, document))| {
                let mut rng = stream(seed, self.name(), number as u64);
                for word in document {
                    if protocol == Protocol::Table {
                        own.copy_from_slice(&table[word * k..(word + 1) * k]);
                    } else {
                        reader.read(*word, &mut rng, work, own)?;
                    }
                    sum.iter_mut().zip(&*own).for_each(|(sum, x)| *sum += x);
                }
                let n = document.len().max(1) as f32;
                sum.iter_mut().for_each(|x| *x /= n);
                Ok::<(), Error>(())
            },
        )?;
        Ok(Sample {
            rows,
            labels: self.labels.clone(),
            dimension: k,
        })
    }
}

struct Run {
    held_out: f64,
    train: f64,
    test: f64,
    chosen: usize,
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join("senteval").join(name)
}

/// The logarithms of word frequencies in a public corpus that no task uses (SUBJ; Pang and Lee
/// 2004), with half an occurrence added to each word.
pub(super) fn log_frequencies(bench: &Bench<'_>, folder: &Path) -> Result<Vec<f32>> {
    let path = file(folder, "SUBJ.tsv");
    let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
    let mut counts = vec![0.5f32; bench.vectors.words.len()];
    let texts = text
        .lines()
        .map(|line| line.split_once('\t').map_or(line, |(_, text)| text));
    for word in texts.flat_map(str::split_whitespace) {
        if let Some(row) = bench.word(word) {
            counts[row] += 1.0;
        }
    }
    let total: f32 = counts.iter().sum();
    Ok(counts
        .into_iter()
        .map(|count| (count / total).ln())
        .collect())
}
