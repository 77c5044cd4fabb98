//! `undertone measure`.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use undertone::encoder::embeddings::Encoded;
use undertone::error::{Cause, Error, Result};
use undertone::files::resume::Encoding;
use undertone::pack::candidates::Candidates;
use undertone::pack::quality::Judge;
use undertone::release::document;

use crate::args::{CorpusArgs, EncoderArgs};
use crate::files::{candidates_beside, print, read_pack};
use crate::paths::Paths;
use crate::quality::rows;

/// Its arguments.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    encoder: EncoderArgs,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// The pack; its candidates are read from beside it.
    #[arg(long, value_name = "FILE")]
    pack: PathBuf,
    /// Seed of the releases that are drawn and counted.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Arguments {
    pub(crate) fn paths(&self) -> Paths {
        let paths = self.corpus.paths(Paths::default());
        self.encoder.paths(paths.input("--pack", &self.pack))
    }

    pub(crate) fn run(&self) -> Result<()> {
        let pack = read_pack(&self.pack)?;
        let candidates = Candidates::read(&candidates_beside(&self.pack))?;
        let opened = self.encoder.open_for(&pack)?;
        document::check_encoder(&pack, opened.encoder.as_ref())?;
        let numbers: HashMap<&str, u32> = (0..)
            .zip(&candidates.entries)
            .filter_map(|(number, entry)| Some((entry.label.as_deref()?, number)))
            .collect();
        let encoding = Encoding::new(opened.encoder.as_ref());
        let mut encoded: Encoded<'_> = self.corpus.encoded(encoding, |_| true);
        let documents = encoded.documents()?.count();
        let mut judge = Judge::new(documents, self.seed);
        let mut unknown = 0;
        encoded.pass(|document, sentences, vectors| {
            let label = document
                .label
                .as_deref()
                .and_then(|label| numbers.get(label));
            match label {
                Some(class) => judge.add(&pack, *class, sentences, vectors)?,
                None => unknown += 1,
            }
            Ok(())
        })?;
        if unknown == documents {
            return Err(Error::from(Cause::NoKnownLabel { documents }));
        }
        if unknown > 0 {
            note!(
                "{unknown} of {documents} documents have no label that is a candidate of the pack"
            );
        }
        print(&rows(&judge.quality(candidates.entries.len())))
    }
}
