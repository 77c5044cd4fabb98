//! `undertone release answers`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use undertone::corpus::{CorpusDocument, FieldNames};
use undertone::encoder::{Encoder, PrivateEncoder};
use undertone::error::{Error, Result};
use undertone::form::{Answers, geometries};
use undertone::release::document::{self, HostDocument, OsEntropy};
use undertone_core::epsilon::Epsilon;
use undertone_core::form::Form;
use undertone_core::ledger::{Cost, Grant};
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::unit::Unit;

use crate::args::EncoderArgs;
use crate::files::{Output, read_form, read_pack};
use crate::releases::{LedgerArgs, Private, PrivateArgs, ReleaseRun, Releaser, field, quietly};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The form, or its description in JSON: attributes with the names of their categories.
    ///
    /// The fields of a document are named like the attributes. A value is the name of a category
    /// or, unless the name of a category is a number, its number from 0. A missing value and any
    /// other is "no answer", which is released like a category and is no error.
    #[arg(short, long, value_name = "FILE")]
    form: PathBuf,
    /// The pack of the form's topic: the field of that attribute has a text, which the pack answers.
    ///
    /// A missing text counts as an empty one. Without this option the field has the name of a
    /// category, as other fields do.
    #[arg(short, long, value_name = "FILE")]
    pack: Option<PathBuf>,
    #[command(flatten)]
    encoder: EncoderArgs,
    /// The privacy parameter of all answers of a document together, 0.000001 to 1000.
    #[arg(short, long, allow_hyphen_values = true)]
    epsilon: Epsilon,
    #[command(flatten)]
    spending: LedgerArgs,
    #[command(flatten)]
    input: PrivateArgs,
    /// The field or column of the id.
    #[arg(long, value_name = "FIELD", default_value = "id")]
    id_field: String,
    /// Copy this field of each document, as it is written, beside its release. May be repeated. A
    /// path with dots, such as app.country, leads into a field.
    ///
    /// Attributes of the form are refused. Without it only the id is copied, because any field of a
    /// private document can be private.
    #[arg(short, long, value_name = "FIELD")]
    keep: Vec<String>,
    /// The releases: a JSON object a line, or a .parquet or .csv table; `-` is standard output.
    ///
    /// "id" (as it is written, or "line-N"), the fields of --keep, and "release" in hexadecimal
    /// digits, in Parquet 24 bytes.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    out: PathBuf,
}

impl Arguments {
    /// The documents, with the attributes of the form as private fields.
    fn private(&self, form: &Form<'_>) -> Private<'_> {
        Private {
            arguments: &self.input,
            names: FieldNames {
                id: self.id_field.clone(),
                answers: Some(Arc::new(if self.pack.is_some() {
                    Answers::with_text(form)
                } else {
                    Answers::new(form)
                })),
                ..FieldNames::default()
            },
            messages: false,
            keep_option: "--keep",
        }
    }

    pub(crate) fn run(&self) -> Result<ExitCode> {
        let paths = self.input.paths(&self.out).input("--form", &self.form);
        let paths = paths.inputs("--pack", &self.pack);
        self.spending.paths(self.encoder.paths(paths)).check()?;
        if self.pack.is_none() && self.encoder.encoder.is_some() {
            return Err(Error::argument(
                "--encoder does nothing without a pack; name one, or leave --encoder out",
            ));
        }
        let form = read_form(&self.form)?;
        self.private(&form).check_fields(&self.keep)?;
        self.spending
            .check(&self.input, &self.out, Cost::from(self.epsilon))?;
        quietly(|| self.release(&form))
    }

    fn release(&self, form: &Form<'_>) -> Result<ExitCode> {
        let pack = self.pack.as_deref().map(read_pack).transpose()?;
        let opened = pack.as_ref().map(|pack| self.encoder.open_for(pack));
        let opened = opened.transpose()?;
        let topic = pack
            .as_ref()
            .zip(opened.as_ref())
            .map(|(pack, opened)| Topic::new(form, pack, opened.encoder.as_ref()));
        Output::check(&self.out)?;
        let input = self.private(form);
        let mut run = input
            .run_of("answers")?
            .with(form.digest())
            .with(self.epsilon.micro().to_le_bytes());
        if let Some(pack) = &pack {
            run = run.with(pack.digest());
        }
        for field in &self.keep {
            run = run.with("keep").with(field);
        }
        let run = ReleaseRun {
            input: &input,
            keep: &self.keep,
            out: &self.out,
            paid: self.spending.open(Unit::WholeText, run)?,
            releaser: AnswersOf {
                topic: topic.transpose()?,
                form: *form,
                geometries: geometries(form, self.epsilon),
            },
            unit: Unit::WholeText,
            epsilon: self.epsilon,
            cost: self.epsilon.into(),
        };
        run.release(|| {
            note!(
                "one answer of {}, drawn without looking at any. Promised: {} for all answers of a document exchanged for any others",
                form.question_count(),
                self.epsilon
            );
            Ok(())
        })
    }
}

/// The pack and encoder of texts that answer the topic of a form.
struct Topic<'a> {
    pack: &'a Pack<'a>,
    encoder: PrivateEncoder<'a>,
}

impl<'a> Topic<'a> {
    /// Checks all that a text would be refused for, before anything is spent.
    fn new(form: &Form<'_>, pack: &'a Pack<'a>, encoder: &'a dyn Encoder) -> Result<Self> {
        document::check_encoder(pack, encoder)?;
        form.check_topic(&document::empty(pack)?)?;
        Ok(Self {
            pack,
            encoder: PrivateEncoder::new(encoder),
        })
    }
}

/// The form of all releases, and the geometry of each question.
struct AnswersOf<'a> {
    topic: Option<Topic<'a>>,
    form: Form<'a>,
    geometries: Vec<Geometry>,
}

impl<'a> Releaser for AnswersOf<'a> {
    /// The document of texts that answer the topic.
    type State = Option<HostDocument<'a>>;

    fn start(&self) -> Result<Self::State> {
        let topic = self.topic.as_ref();
        topic.map(|topic| document::empty(topic.pack)).transpose()
    }

    fn release(
        &self,
        document: &mut Self::State,
        source: &CorpusDocument,
        grant: Grant,
    ) -> Result<String> {
        let mut answers = source.answers.clone();
        if let (Some(topic), Some(document)) = (&self.topic, document) {
            document::fill_text(document, &topic.encoder, &source.text)?;
            self.form.answer_topic(document, &mut answers)?;
        }
        let release = self
            .form
            .release_by(&self.geometries, &answers, grant, &mut OsEntropy)?;
        Ok(field(&release.to_bytes()))
    }
}
