//! `undertone lexicon distil`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{ArgGroup, Args};
use undertone::corpus::CorpusDocument;
use undertone::encoder::OnnxEncoder;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::lexicon::distil;
use undertone::lexicon::model2vec::Model;
use undertone::lexicon::pieces::{Pieces, Plan, Space, SpaceChoice, Texts, WordList};
use undertone::lexicon::word_vectors::Matrix;
use undertone_core::pack::Pack;
use undertone_core::pack::format::MAX_WORDS;

use crate::args::{FieldArgs, OpenEncoder, RuntimeArgs, TextArgs, kept, whole};
use crate::files::write;
use crate::paths::Paths;

const USAGE: &str = "\
undertone lexicon distil --dimension <N> --out <FILE> <TEACHER> [OPTIONS]

  TEACHER, with the words:
  --encoder <PATH> --corpus <FILE>... --words <N>
  --encoder <PATH> --list <FILE>
  --vectors <FILE> --list <FILE>
  --model2vec <FOLDER>";

#[derive(Args)]
#[command(override_usage = USAGE)]
#[command(group = ArgGroup::new("teacher").required(true).args(["encoder", "vectors", "model2vec"]))]
#[command(group = ArgGroup::new("texts").multiple(true).args(["corpus", "message_corpus"]))]
#[command(group = ArgGroup::new("pieces").args(["list", "model2vec"]))]
pub(crate) struct Arguments {
    /// A neural encoder: an .onnx file, or a folder with model.onnx or onnx/model.onnx; with
    /// tokenizer.json in its folder or one folder up.
    #[arg(long, value_name = "PATH")]
    encoder: Option<PathBuf>,
    #[command(flatten)]
    runtime: RuntimeArgs,
    /// Instead of an encoder: vectors of the lines of --list, a row a line, in .npy.
    #[arg(long, value_name = "FILE", requires = "list")]
    vectors: Option<PathBuf>,
    /// Instead of an encoder: a folder that model2vec wrote, with tokenizer.json and
    /// model.safetensors.
    #[arg(long, value_name = "FOLDER")]
    model2vec: Option<PathBuf>,
    /// Words of any language, one a line, instead of a corpus. The most frequent word comes first,
    /// or a count or share follows each word after a tab.
    #[arg(long, value_name = "FILE", conflicts_with = "message_corpus")]
    list: Option<PathBuf>,
    /// With --list, --vectors and --corpus: vectors of the documents, a row each, in .npy.
    /// Documents of one sentence work best.
    #[arg(long, value_name = "FILE", requires_all = ["vectors", "corpus"])]
    corpus_vectors: Option<PathBuf>,
    /// With --list or --model2vec: keep the directions in which these vectors (.npy) differ most,
    /// not those of the words. Lexicons of several languages with the same teacher and space share
    /// heads.
    #[arg(long, value_name = "FILE", requires = "pieces")]
    space: Option<PathBuf>,
    /// Public corpora to fit the lexicon to; with --model2vec, their tokens are kept first.
    #[arg(short, long, num_args = 1.., value_name = "FILE", required_unless_present_any = ["message_corpus", "pieces"])]
    corpus: Vec<PathBuf>,
    /// Public corpora of mail or Usenet messages, without headers, quoted lines and signatures.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    message_corpus: Vec<PathBuf>,
    #[command(flatten)]
    fields: FieldArgs,
    /// Number of words: of a corpus exactly N; of a list or a model at most N [default there:
    /// 65536]
    #[arg(long, value_name = "N", required_unless_present = "pieces", value_parser = whole::<usize>)]
    words: Option<usize>,
    /// With --list or --model2vec: at most N frequent prefixes and suffixes, which stand for word
    /// forms and compounds that are not in the list.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "pieces", value_parser = whole::<usize>)]
    affixes: usize,
    /// At most N pairs of words whose meaning differs from that of their words.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "pieces", value_parser = whole::<usize>)]
    phrases: usize,
    /// Number of coordinates.
    #[arg(long = "dimension", alias = "dim", value_name = "N", value_parser = whole::<usize>)]
    dim: usize,
    /// The lexicon, a pack file.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

impl Arguments {
    fn paths(&self) -> Paths {
        let mut paths = self.runtime.paths(Paths::default());
        paths = paths.encoder("--encoder", &self.encoder);
        if let Some(folder) = &self.model2vec {
            let files = ["tokenizer.json", "model.safetensors"].map(|file| folder.join(file));
            paths = paths.inputs("--model2vec", &files);
        }
        paths
            .inputs("--vectors", &self.vectors)
            .inputs("--list", &self.list)
            .inputs("--corpus-vectors", &self.corpus_vectors)
            .inputs("--space", &self.space)
            .inputs("--corpus", &self.corpus)
            .inputs("--message-corpus", &self.message_corpus)
            .output("--out", &self.out)
    }

    pub(crate) fn run(&self) -> Result<()> {
        self.paths().check()?;
        if self.list.is_some() && !self.corpus.is_empty() && self.corpus_vectors.is_none() {
            return Err(Error::argument(
                "--corpus is for distil without --list, or with --corpus-vectors; leave \
                 one of the two out",
            ));
        }
        AtomicFile::check(&self.out)?;
        let start = Instant::now();
        let pack = match (&self.encoder, &self.model2vec) {
            (Some(path), _) => self.encoded(path)?,
            (None, Some(folder)) => {
                let mut model = Model::open(folder)?;
                self.each_document(|document| model.count(&document))?;
                self.written(&model.pieces())?
            }
            (None, None) => {
                let given = self.list.as_ref().zip(self.vectors.as_ref());
                let (list, vectors) = given.expect("one of the group, and what it requires");
                let list = listed(list)?;
                self.written(&list.with_vectors(&Matrix::open(vectors)?)?)?
            }
        };
        let parsed = Pack::parse(&pack).map_err(Error::from)?;
        let (words, phrases) = parsed.lexicon().map_or((0, 0), |lexicon| {
            (lexicon.word_count(), lexicon.phrase_count())
        });
        note!(
            "{words} words, {phrases} phrases, {} coordinates, {} bytes, in {:.0} s",
            parsed.dimension(),
            pack.len(),
            start.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// Writes a lexicon of an encoder: of the words of a list, or fitted to corpora.
    fn encoded(&self, path: &Path) -> Result<Vec<u8>> {
        let encoder = OpenEncoder {
            lexicon: None,
            encoder: Box::new(OnnxEncoder::open(
                path,
                self.runtime.onnxruntime.as_deref(),
            )?),
        };
        let mut encoding = kept(&encoder, &self.out)?;
        let pack = match &self.list {
            Some(list) => {
                let mut list = listed(list)?;
                if self.affixes == 0 {
                    list.words.truncate(self.most());
                }
                self.written(&list.encode(&mut encoding)?)?
            }
            None => {
                let mut documents = Vec::new();
                self.each_document(|document| documents.push(document))?;
                let size = distil::Size {
                    words: self.most(),
                    phrases: self.phrases,
                    dimension: self.dim,
                };
                let pack = distil::distil(&mut encoding, &documents, &size)?;
                write(&self.out, &pack)?;
                pack
            }
        };
        encoding.finish()?;
        Ok(pack)
    }

    /// Writes a lexicon of these pieces.
    fn written(&self, pieces: &Pieces) -> Result<Vec<u8>> {
        let space = self.space.as_ref();
        let space = space.map(|path| Space::new(&Matrix::open(path)?, self.dim));
        let space = space.transpose()?;
        let choice = space
            .as_ref()
            .map_or(SpaceChoice::Own(self.dim), SpaceChoice::Given);
        let mut documents = Vec::new();
        let vectors = match &self.corpus_vectors {
            Some(path) => {
                self.each_document(|document| documents.push(document))?;
                Some(Matrix::open(path)?)
            }
            None => None,
        };
        let pack = pieces.lexicon_pack(&Plan {
            space: choice,
            words: self.most(),
            affixes: self.affixes,
            texts: vectors.as_ref().map(|vectors| Texts {
                documents: &documents,
                vectors,
            }),
        })?;
        write(&self.out, &pack)?;
        Ok(pack)
    }

    /// The number of words at most.
    fn most(&self) -> usize {
        let rest = (MAX_WORDS as usize).saturating_sub(self.affixes);
        self.words.unwrap_or(rest)
    }

    fn each_document(&self, mut each: impl FnMut(CorpusDocument)) -> Result<()> {
        for (paths, messages) in [(&self.corpus, false), (&self.message_corpus, true)] {
            let texts = TextArgs {
                messages,
                fields: self.fields.clone(),
            };
            for path in paths {
                let corpus = undertone_tables::corpus_watched(path, &self.fields.names(), None)?;
                for document in texts.of(path, corpus) {
                    each(document?);
                }
            }
        }
        Ok(())
    }
}

/// Reads a list, and reports the lines that no lexicon can hold.
fn listed(path: &Path) -> Result<WordList> {
    let list = WordList::open(path)?;
    if list.left_out > 0 {
        let lines = list.lines.len();
        note!(
            "left out: {} of {lines} lines, which are not one word each",
            list.left_out
        );
    }
    Ok(list)
}
