//! `undertone lexicon keywords`.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use undertone::corpus::Corpus;
use undertone::error::{Error, Result};
use undertone::text::informative::WordsByLabel;

use crate::args::{StopArgs, TextArgs, from_one};
use crate::files::{Output, print, write};
use crate::paths::{Paths, is_stream};

#[derive(Args)]
pub(crate) struct Arguments {
    /// A public, labelled corpus: .jsonl, .tsv or .csv, gzipped or not, or .parquet; `-` is JSON
    /// lines from standard input.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    corpus: PathBuf,
    #[command(flatten)]
    texts: TextArgs,
    #[command(flatten)]
    stop: StopArgs,
    /// Number of words at most.
    #[arg(long, value_name = "N", value_parser = from_one::<usize>)]
    words: usize,
    /// The words, one a line, the most informative first; `-` is standard output.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    out: PathBuf,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let paths = Paths::default().stream_input("--corpus", &self.corpus);
        let paths = self.stop.paths(paths).stream_output("--out", &self.out);
        paths.check()?;
        Output::check(&self.out)?;
        let filter = self.stop.filter()?;
        let fail = |problem| {
            Error::input(format!(
                "cannot rank the words of `{}`: {problem}",
                self.corpus.display()
            ))
        };
        let mut counts = WordsByLabel::default();
        let mut documents = 0;
        let (mut without, mut first) = (0, None);
        let names = self.texts.fields.names();
        let corpus = if is_stream(&self.corpus) {
            Corpus::json_lines(Path::new("standard input"), io::stdin())?.fields(names)
        } else {
            undertone_tables::corpus_watched(&self.corpus, &names, None)?
        };
        for document in self.texts.of(&self.corpus, corpus) {
            let document = document?;
            documents += 1;
            match &document.label {
                Some(label) => counts.add(label, filter.words(&document.text)),
                None => {
                    without += 1;
                    first.get_or_insert(document.line);
                }
            }
        }
        if let Some(line) = first {
            return Err(fail(format!(
                "{without} of {documents} documents have no label, the first on line {line}; name the field of the \
                 labels with --label-field, or leave these documents out of the file"
            )));
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
        if is_stream(&self.out) {
            print(&list)?
        } else {
            write(&self.out, list.as_bytes())?
        }
        note!(
            "{} of {all} words, {documents} documents, {} labels; the last word tells {:.2e} bits about the label",
            ranked.len(),
            counts.labels(),
            ranked.last().map_or(0.0, |(_, bits)| *bits)
        );
        Ok(())
    }
}
