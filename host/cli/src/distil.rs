//! `undertone distil`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{ArgGroup, Args};
use undertone::corpus::{Corpus, CorpusDocument};
use undertone::encoder::OnnxEncoder;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::lexicon::distil;
use undertone::lexicon::model2vec::Model;
use undertone::lexicon::pieces::{Pieces, Space, SpaceChoice, WordList};
use undertone::lexicon::word_vectors::Matrix;
use undertone_core::pack::Pack;
use undertone_core::pack::format::MAX_WORDS;

use crate::args::{OpenEncoder, RuntimeArgs, TextArgs, kept};
use crate::files::write;
use crate::paths::Paths;

/// Its arguments.
#[derive(Args)]
#[command(group = ArgGroup::new("teacher").required(true).args(["encoder", "vectors", "model2vec"]))]
#[command(group = ArgGroup::new("texts").multiple(true).args(["corpus", "message_corpus"]))]
#[command(group = ArgGroup::new("pieces").args(["list", "model2vec"]))]
pub(crate) struct Arguments {
    /// A folder with model.onnx and tokenizer.json, or an .onnx file with tokenizer.json beside it.
    #[arg(long, value_name = "PATH")]
    encoder: Option<PathBuf>,
    #[command(flatten)]
    runtime: RuntimeArgs,
    /// Instead of an encoder: what one made of each line of --list, a row a line, in .npy.
    #[arg(long, value_name = "FILE", requires = "list")]
    vectors: Option<PathBuf>,
    /// Instead of an encoder: a folder of static embeddings with tokenizer.json and model.safetensors, as model2vec
    /// writes it.
    #[arg(long, value_name = "FOLDER")]
    model2vec: Option<PathBuf>,
    /// Words of any language, one a line, the most frequent first, or with a count or share after a tab: each goes alone
    /// through the encoder. No corpus is needed.
    #[arg(long, value_name = "FILE", conflicts_with = "texts")]
    list: Option<PathBuf>,
    /// With --list or --model2vec: keep the directions in which these vectors (.npy) differ most, instead of the
    /// words' own. Lexicons of several languages that share them, and their teacher, share heads.
    #[arg(long, value_name = "FILE", requires = "pieces")]
    space: Option<PathBuf>,
    /// Public corpora whose sentences the lexicon is fitted to; with --model2vec, whose tokens are kept first.
    #[arg(long, num_args = 1.., value_name = "FILE", required_unless_present_any = ["message_corpus", "pieces"])]
    corpus: Vec<PathBuf>,
    /// More of them, whose texts are mail or Usenet messages: their headers, quoted lines and
    /// signatures are left out.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    message_corpus: Vec<PathBuf>,
    /// Number of words: exactly so many of a corpus; at most, of a list or a model [default there: 65536].
    #[arg(long, required_unless_present = "pieces")]
    words: Option<usize>,
    /// Number of pairs of words that mean something else than their words, at most.
    #[arg(long, default_value_t = 0, conflicts_with = "pieces")]
    phrases: usize,
    /// Number of coordinates.
    #[arg(long)]
    dim: usize,
    /// The lexicon, a pack file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Arguments {
    pub(crate) fn paths(&self) -> Paths {
        let mut paths = self.runtime.paths(Paths::default());
        if let Some(encoder) = &self.encoder {
            paths = paths.encoder("--encoder", encoder);
        }
        if let Some(folder) = &self.model2vec {
            let files = ["tokenizer.json", "model.safetensors"].map(|file| folder.join(file));
            paths = paths.inputs("--model2vec", &files);
        }
        paths
            .inputs("--vectors", &self.vectors)
            .inputs("--list", &self.list)
            .inputs("--space", &self.space)
            .inputs("--corpus", &self.corpus)
            .inputs("--message-corpus", &self.message_corpus)
            .output("--out", &self.out)
    }

    pub(crate) fn run(&self) -> Result<()> {
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
                let list = WordList::open(list)?;
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
                let mut list = WordList::open(list)?;
                list.words.truncate(self.most());
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
        let space = match &self.space {
            Some(path) => Some(Space::new(&Matrix::open(path)?, self.dim)?),
            None => None,
        };
        let choice = space
            .as_ref()
            .map_or(SpaceChoice::Own(self.dim), SpaceChoice::Given);
        let pack = pieces.lexicon_pack(choice, self.most())?;
        write(&self.out, &pack)?;
        Ok(pack)
    }

    /// The number of words at most.
    fn most(&self) -> usize {
        self.words.unwrap_or(MAX_WORDS as usize)
    }

    fn each_document(&self, mut each: impl FnMut(CorpusDocument)) -> Result<()> {
        for (paths, messages) in [(&self.corpus, false), (&self.message_corpus, true)] {
            let texts = TextArgs { messages };
            for path in paths {
                for document in texts.of(Corpus::open_watched(path)?) {
                    each(document?);
                }
            }
        }
        Ok(())
    }
}
