//! `undertone lexicon encode`.

use std::path::PathBuf;

use clap::Args;
use undertone::encoder::LexiconEncoder;
use undertone::error::Result;
use undertone::files::atomic::AtomicFile;

use crate::args::{CorpusArgs, EncoderArgs, kept};
use crate::paths::Paths;
use crate::progress::Rate;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    encoder: EncoderArgs,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// The safetensors file.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let paths = self.corpus.paths(self.encoder.paths(Paths::default()));
        paths.output("--out", &self.out).check()?;
        let encoder = self.encoder.open(LexiconEncoder::embedded)?;
        AtomicFile::check(&self.out)?;
        let mut rate = Rate::start();
        let mut encoded = self.corpus.encoded(kept(&encoder, &self.out)?, |_| true);
        let passed = encoded.write(&self.out)?;
        rate.count(passed.documents, passed.sentences);
        rate.taken_over(encoded.encoding());
        encoded.finish()?;
        rate.report("encoded");
        Ok(())
    }
}
