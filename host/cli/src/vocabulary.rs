//! `undertone vocabulary`.

use std::path::PathBuf;

use clap::Args;
use undertone::error::{Cause, Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::lexicon::word_vectors::Vectors;
use undertone::text::read_word_list;
use undertone_core::lexicon::words;
use undertone_core::pack::format::MAX_WORDS;

use crate::args::{FieldArgs, count_words, whole};
use crate::files::write;
use crate::paths::Paths;

/// Which word vectors become a vocabulary.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The word vectors: .npy with its words in NAME.vocab.txt beside it, or a text file, .txt or .vec,
    /// which may be gzipped.
    #[arg(long, value_name = "FILE")]
    vectors: PathBuf,
    /// Number of words at most; the first usable ones are taken.
    #[arg(long, value_name = "N", default_value_t = MAX_WORDS as usize, value_parser = whole::<usize>)]
    words: usize,
    /// Nothing but these words, one a line; `keywords` finds some. Selection among few words needs less epsilon.
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Public corpora that say which words are frequent: in sentence vectors those weigh less.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    corpus: Vec<PathBuf>,
    #[command(flatten)]
    fields: FieldArgs,
    /// The vocabulary, a pack file with a lexicon.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Arguments {
    pub(crate) fn paths(&self) -> Paths {
        let paths = Paths::default().vectors("--vectors", &self.vectors);
        paths
            .inputs("--keep", &self.keep)
            .inputs("--corpus", &self.corpus)
            .output("--out", &self.out)
    }

    pub(crate) fn run(&self) -> Result<()> {
        AtomicFile::check(&self.out)?;
        let mut vectors = Vectors::open(&self.vectors)?;
        if let Some(path) = &self.keep {
            let list = read_word_list(path)?;
            // Read as a text is: lower-cased, and with one kind of apostrophe.
            let listed = |row: &usize| {
                let mut read = words(&vectors.words[*row]);
                let first = read.next();
                first.is_some_and(|word| list.contains(&word)) && read.next().is_none()
            };
            let rows: Vec<usize> = (0..vectors.words.len()).filter(listed).collect();
            if rows.is_empty() {
                return Err(Error::from(Cause::WordList {
                    path: path.clone(),
                    problem: format!(
                        "none of its {} words is among the {} of `{}`; give a list in the language of the vectors",
                        list.len(),
                        vectors.words.len(),
                        vectors.name
                    ),
                }));
            }
            vectors = vectors.rows(&rows);
        }
        let counts = match self.corpus.is_empty() {
            true => None,
            false => Some(count_words(&self.corpus, &self.fields)?),
        };
        let made = vectors.lexicon_pack(counts.as_ref(), self.words)?;
        write(&self.out, &made.pack)?;
        note!(
            "{} of {} words, {} coordinates, {} bytes\n\
             left out: {} that no text has as one word of lower case, {} repeated, {} without a vector, {} after the \
             first {}\n\
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
