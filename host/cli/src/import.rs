//! `undertone lexicon import`.

use std::path::PathBuf;

use clap::Args;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::lexicon::distil::WordCounts;
use undertone::lexicon::word_vectors::Vectors;
use undertone::text::read_word_list;
use undertone_core::lexicon::words;
use undertone_core::pack::format::MAX_WORDS;

use crate::args::{FieldArgs, whole};
use crate::files::write;
use crate::paths::Paths;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Public word vectors: a text file, .txt or .vec, gzipped or not; or a .npy matrix whose words
    /// are in NAME.vocab.txt in the same folder.
    #[arg(long, value_name = "FILE")]
    vectors: PathBuf,
    /// Number of words at most: the first N usable ones.
    #[arg(long, value_name = "N", default_value_t = MAX_WORDS as usize, value_parser = whole::<usize>)]
    words: usize,
    /// Only the words of this list, one a line, such as `lexicon keywords` writes. Selection among
    /// fewer words requires less epsilon.
    #[arg(long = "only-words", alias = "keep", value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Public corpora whose frequent words weigh less in sentence vectors.
    #[arg(short, long, num_args = 1.., value_name = "FILE")]
    corpus: Vec<PathBuf>,
    #[command(flatten)]
    fields: FieldArgs,
    /// The vocabulary, a pack file with a lexicon.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        Paths::default()
            .vectors("--vectors", &self.vectors)
            .inputs("--only-words", &self.keep)
            .inputs("--corpus", &self.corpus)
            .output("--out", &self.out)
            .check()?;
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
                return Err(Error::input(format!(
                    "cannot use the words of `{}`: none of its {} words is among the {} of \
                     `{}`; give a list in the language of the vectors",
                    path.display(),
                    list.len(),
                    vectors.words.len(),
                    vectors.name
                )));
            }
            vectors = vectors.rows(&rows);
        }
        let mut counts = WordCounts::default();
        for path in &self.corpus {
            let corpus = undertone_tables::corpus_watched(path, &self.fields.names(), None)?;
            for document in self.fields.checked(path, corpus) {
                counts.add(&document?);
            }
        }
        let counts = (!self.corpus.is_empty()).then_some(&counts);
        let made = vectors.lexicon_pack(counts, self.words)?;
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
