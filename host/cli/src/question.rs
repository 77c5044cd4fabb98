//! Labelled public texts, for shares of labels that a pack was not made for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Arg, Args};
use undertone::error::Result;
use undertone::files::resume::Encoding;
use undertone::pack::calibration::Calibration;
use undertone::release::document;
use undertone_core::pack::Pack;
use undertone_estimate::refused;

use crate::args::{CorpusArgs, EncoderArgs, OpenEncoder, TextArgs};
use crate::files::read_pack;
use crate::paths::Paths;

/// Labelled public texts, and how they are read.
#[derive(Args)]
#[command(mut_args(of_question))]
pub(crate) struct QuestionArgs {
    /// Labelled public texts: estimate the shares of their labels, even of labels that the pack was
    /// not made for. The pack must not have been made from these texts.
    #[arg(
        short = 'c',
        long = "corpus",
        alias = "question",
        value_name = "FILE",
        requires = "pack"
    )]
    question: Option<PathBuf>,
    /// The pack of the releases that --corpus is for.
    #[arg(short, long, value_name = "FILE", requires = "question")]
    pack: Option<PathBuf>,
    #[command(flatten)]
    texts: TextArgs,
    #[command(flatten)]
    encoder: EncoderArgs,
}

/// Requires the texts for the options that describe them, which other commands also have.
fn of_question(argument: Arg) -> Arg {
    match argument.get_id().as_str() {
        "messages" | "text_field" | "label_field" | "id_field" | "encoder" | "onnxruntime" => {
            argument.requires("question")
        }
        _ => argument,
    }
}

/// Texts, and the pack under which they are released.
pub(crate) struct Question {
    corpus: CorpusArgs,
    pack: Pack<'static>,
    encoder: OpenEncoder,
    /// How many texts each label has.
    labels: BTreeMap<String, usize>,
}

impl QuestionArgs {
    pub(crate) fn paths(&self, paths: Paths) -> Paths {
        let texts = self.question.iter();
        let paths = texts.fold(paths.inputs("--pack", &self.pack), |all, path| {
            all.reread("--corpus", path)
        });
        self.encoder.paths(paths)
    }

    /// Whether there is a question.
    pub(crate) fn is_asked(&self) -> bool {
        self.question.is_some()
    }

    /// The question, if there is one. `packs`: those that candidates were named of.
    pub(crate) fn open(&self, packs: &[[u8; 8]]) -> Result<Option<Question>> {
        let (Some(path), Some(of)) = (&self.question, &self.pack) else {
            return Ok(None);
        };
        let pack = read_pack(of)?;
        if !packs.contains(&pack.id()) {
            return Err(refused(format!(
                "`{}` is pack {}, and --candidates has none for it; name the candidates of that pack",
                of.display(),
                hex::encode(pack.id())
            )));
        }
        let encoder = self.encoder.open_for(&pack)?;
        document::check_encoder(&pack, encoder.encoder.as_ref())?;
        let corpus = CorpusArgs {
            corpus: path.clone(),
            limit: None,
            first_sentences: None,
            texts: self.texts.clone(),
        };
        let labels = count_labels(&corpus, &pack)?;
        Ok(Some(Question {
            corpus,
            pack,
            encoder,
            labels,
        }))
    }
}

impl Question {
    pub(crate) fn pack_id(&self) -> [u8; 8] {
        self.pack.id()
    }

    /// The outcomes of devices for these texts, or for the first sentences of each.
    pub(crate) fn calibration(&self, first_sentences: Option<u16>) -> Result<Calibration> {
        let corpus = CorpusArgs {
            first_sentences,
            ..self.corpus.clone()
        };
        let encoding = Encoding::new(self.encoder.encoder.as_ref());
        let mut encoded = corpus.encoded(encoding, |document| document.label.is_some());
        Calibration::of_corpus(&self.pack, &self.labels, &mut encoded)
    }
}

/// Counts the texts of each label.
fn count_labels(corpus: &CorpusArgs, pack: &Pack<'_>) -> Result<BTreeMap<String, usize>> {
    let mut labels = BTreeMap::new();
    for document in corpus.documents()? {
        if let Some(label) = document?.label {
            *labels.entry(label).or_insert(0) += 1;
        }
    }
    if labels.len() < 2 {
        return Err(refused(format!(
            "`{}` has texts of {} labels; a question takes texts of at least 2",
            corpus.corpus.display(),
            labels.len()
        )));
    }
    let (unlabelled, line) = corpus.unlabelled()?;
    if unlabelled > 0 {
        note!(
            "{unlabelled} texts of the question have no label, the first in line {line}: they do not count"
        );
    }
    let all: usize = labels.values().sum();
    let most = Calibration::most_texts(pack.candidate_count() as usize);
    if all > most {
        let taken: usize = labels.values().map(|own| own * most / all).sum();
        note!("the question takes {taken} of its {all} texts: more do not make it more precise");
    }
    Ok(labels)
}
