//! Code that `heads` and `recoder` share: a corpus, an encoder, and a training that resumes after
//! an interruption.

use std::path::PathBuf;

use clap::Args;
use undertone::encoder::{EncoderIdentity, LexiconEncoder};
use undertone::error::Result;
use undertone::pack::{self, Options, Selector};
use undertone_cli::args::{CorpusArgs, EncoderArgs, beside, kept, whole};
use undertone_cli::paths::Paths;
use undertone_train::{self as train, PackTraining};

#[derive(Args)]
pub(super) struct TrainingArgs {
    #[command(flatten)]
    encoder: EncoderArgs,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Epochs: how many times training processes each document.
    #[arg(long, value_name = "N", default_value_t = train::Options::default().epochs, value_parser = whole::<usize>)]
    epochs: usize,
    /// Seed of all randomness; `undertone pack` makes the same clusters from the same seed.
    #[arg(long, default_value_t = Options::default().seed, value_parser = whole::<u64>)]
    seed: u64,
    /// The safetensors file; the losses are plotted beside it, in a file ending .loss.svg.
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
}

impl TrainingArgs {
    pub(super) fn paths(&self) -> Paths {
        self.corpus
            .paths(self.encoder.paths(Paths::default()))
            .output("--out", &self.out)
            .output("--out", &self.out.with_extension("loss.svg"))
    }

    /// Builds a pack with the selector that `selector` makes of a training, and discards it.
    /// Returns the encoder.
    pub(super) fn run(
        &self,
        build: impl FnOnce(&PackTraining<'_>, &mut dyn FnMut(Selector<'_>) -> Result<()>) -> Result<()>,
    ) -> Result<EncoderIdentity> {
        let encoder = self.encoder.open(LexiconEncoder::embedded)?;
        let partial = beside(&self.out, ".training.partial");
        let training = PackTraining {
            options: train::Options {
                epochs: self.epochs,
                seed: self.seed,
                ..train::Options::default()
            },
            checkpoint: &partial,
            notice: &|line| note!("{line}"),
            losses: &|epochs| train::plot::write_loss(&self.out.with_extension("loss.svg"), epochs),
        };
        build(&training, &mut |selector| {
            let options = Options {
                selector,
                seed: self.seed,
            };
            let mut encoded = self.corpus.encoded(kept(&encoder, &self.out)?, |_| true);
            pack::build(&mut encoded, encoder.lexicon.clone(), &options)?;
            encoded.finish()
        })?;
        train::checkpoint::remove(&partial)?;
        Ok(encoder.encoder.identity().clone())
    }
}
