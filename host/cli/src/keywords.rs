//! `undertone keywords`.

use std::path::PathBuf;

use clap::Args;
use undertone::corpus::{Corpus, CorpusDocument};
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::text::informative::WordsByLabel;

use crate::args::{StopArgs, TextArgs};
use crate::files::write;

/// What to rank words by.
#[derive(Args)]
pub(crate) struct Arguments {
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

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
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
