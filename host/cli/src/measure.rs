//! `undertone measure`.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use undertone::corpus::CorpusDocument;
use undertone::encoder::embeddings::Encoded;
use undertone::error::{Error, Result};
use undertone::files::resume::Encoding;
use undertone::pack::candidates::Candidates;
use undertone::pack::candidates_beside;
use undertone::pack::quality::{Column, Judge};
use undertone::release::document;
use undertone::text::misspelt;

use crate::args::{CorpusArgs, EncoderArgs, number, whole};
use crate::files::{print, print_json, read_pack};
use crate::paths::Paths;
use crate::quality::{self, rows};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    encoder: EncoderArgs,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// The pack, in one folder with its candidates.
    #[arg(short, long, value_name = "FILE")]
    pack: PathBuf,
    /// Misspell this share, 0 to 1, of the words with more than three letters.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    misspelt: Option<f64>,
    /// Seed of the misspellings.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    number(
        text,
        |share| (0.0..=1.0).contains(&share),
        "a share lies in 0..=1",
    )
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let paths = self.corpus.paths(Paths::default());
        let paths = paths.input("--pack", &self.pack);
        self.encoder.paths(paths).check()?;
        let pack = read_pack(&self.pack)?;
        let beside = candidates_beside(&self.pack);
        let candidates = Candidates::read(&beside)?;
        if candidates.pack_id() != pack.id() {
            return Err(Error::input(format!(
                "`{}` has the candidates of pack {}, but `{}` is pack {}; put the \
                 candidates beside it that `undertone pack` wrote with it",
                beside.display(),
                hex::encode(candidates.pack_id()),
                self.pack.display(),
                hex::encode(pack.id())
            )));
        }
        let opened = self.encoder.open_for(&pack)?;
        document::check_encoder(&pack, opened.encoder.as_ref())?;
        let numbers: HashMap<&str, u32> = (0..)
            .zip(&candidates.entries)
            .filter_map(|(number, entry)| Some((entry.label.as_deref()?, number)))
            .collect();
        let encoding = Encoding::new(opened.encoder.as_ref());
        let misspell = |document: Result<CorpusDocument>| {
            let mut document = document?;
            if let Some(share) = self.misspelt {
                document.text = misspelt(&document.text, share, self.seed ^ document.line);
            }
            Ok(document)
        };
        let mut encoded = Encoded::new(&self.corpus.corpus, encoding, || {
            Ok(self.corpus.documents()?.map(misspell))
        });
        let documents = encoded.documents()?.count();
        let mut judges = [
            Judge::new(Column::OF_PACKS),
            Judge::with_drawn_sentence(Column::BY_LENGTH),
        ];
        let mut unknown = 0;
        encoded.pass(|document, sentences, vectors| {
            let label = document
                .label
                .as_deref()
                .and_then(|label| numbers.get(label));
            match label {
                Some(class) => {
                    for judge in &mut judges {
                        judge.add(&pack, *class, sentences, vectors)?;
                    }
                }
                None => unknown += 1,
            }
            Ok(())
        })?;
        if unknown == documents {
            return Err(Error::input(format!(
                "none of the {documents} documents has a label that is a candidate of \
                 the pack; give documents with its labels"
            )));
        }
        if unknown > 0 {
            note!(
                "{unknown} of {documents} documents have no label that is a candidate of the pack"
            );
        }
        let of_one_sentence = judges[1].of_one_sentence();
        let [cut, by_length] = judges.map(|judge| judge.quality());
        if self.json {
            let mut lengths = quality::numbers(&by_length);
            lengths["drawn_sentence"] = json!(of_one_sentence);
            return print_json(&json!({ "cut": quality::numbers(&cut), "by_length": lengths }));
        }
        print(&format!(
            "documents as they are, or cut to so many sentences:\n{}\n\
             documents of at least so many sentences, up to the next column:\n{}",
            rows(&cut, None),
            rows(&by_length, Some(&of_one_sentence))
        ))
    }
}
