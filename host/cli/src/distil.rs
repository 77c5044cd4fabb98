//! `undertone distil`.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use undertone::corpus::Corpus;
use undertone::encoder::OnnxEncoder;
use undertone::error::Result;
use undertone::files::atomic::AtomicFile;
use undertone::lexicon::distil;

use crate::args::{OpenEncoder, RuntimeArgs, TextArgs, kept};
use crate::files::write;
use crate::paths::Paths;

/// Its arguments.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A folder with model.onnx and tokenizer.json, or an .onnx file with tokenizer.json beside it.
    #[arg(long, value_name = "PATH")]
    encoder: PathBuf,
    #[command(flatten)]
    runtime: RuntimeArgs,
    /// Public corpora whose sentences the lexicon is fitted to.
    #[arg(long, num_args = 1.., value_name = "FILE", required_unless_present = "message_corpus")]
    corpus: Vec<PathBuf>,
    /// More of them, whose texts are mail or Usenet messages: their headers, quoted lines and
    /// signatures are left out.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    message_corpus: Vec<PathBuf>,
    /// Number of words.
    #[arg(long)]
    words: usize,
    /// Number of pairs of words that mean something else than their words, at most.
    #[arg(long, default_value_t = 0)]
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
        let paths = Paths::default().encoder("--encoder", &self.encoder);
        self.runtime
            .paths(paths)
            .inputs("--corpus", &self.corpus)
            .inputs("--message-corpus", &self.message_corpus)
            .output("--out", &self.out)
    }

    pub(crate) fn run(&self) -> Result<()> {
        let encoder = OpenEncoder {
            lexicon: None,
            encoder: Box::new(OnnxEncoder::open(
                &self.encoder,
                self.runtime.onnxruntime.as_deref(),
            )?),
        };
        AtomicFile::check(&self.out)?;
        let mut documents = Vec::new();
        for (paths, messages) in [(&self.corpus, false), (&self.message_corpus, true)] {
            let texts = TextArgs { messages };
            for path in paths {
                for document in texts.of(Corpus::open_watched(path)?) {
                    documents.push(document?);
                }
            }
        }
        let size = distil::Size {
            words: self.words,
            phrases: self.phrases,
            dimension: self.dim,
        };
        let start = Instant::now();
        let mut encoding = kept(&encoder, &self.out)?;
        let pack = distil::distil(&mut encoding, &documents, &size)?;
        write(&self.out, &pack)?;
        encoding.finish()?;
        note!(
            "{} words, up to {} phrases, {} coordinates, {} bytes, in {:.0} s",
            self.words,
            self.phrases,
            self.dim,
            pack.len(),
            start.elapsed().as_secs_f64()
        );
        Ok(())
    }
}
