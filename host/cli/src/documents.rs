//! `undertone release documents`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use undertone::corpus::CorpusDocument;
use undertone::encoder::PrivateEncoder;
use undertone::error::{Error, Result};
use undertone::release::document::{self, HostDocument, Method};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{Cost, Grant};
use undertone_core::pack::Pack;
use undertone_core::select::Rule;

use crate::args::{EncoderArgs, TextArgs, named};
use crate::files::{Output, read_pack};
use crate::releases::{LedgerArgs, PrivateArgs, ReleaseRun, Releaser, field, quietly};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    encoder: EncoderArgs,
    /// The pack.
    #[arg(short, long, value_name = "FILE")]
    pack: PathBuf,
    /// The privacy parameter of each document, 0.000001 to 1000.
    #[arg(short, long, allow_hyphen_values = true)]
    epsilon: Epsilon,
    /// The rule, which decides whether epsilon protects a sentence or the whole text.
    #[arg(short, long, default_value = "whole-text", value_parser = named(&RULES))]
    rule: Method,
    #[command(flatten)]
    spending: LedgerArgs,
    #[command(flatten)]
    input: PrivateArgs,
    #[command(flatten)]
    texts: TextArgs,
    /// Copy this field of each document, as it is written, beside its release. May be repeated. A
    /// path with dots, such as app.country, leads into a field.
    ///
    /// Without it only the id is copied, because any field of a private document can be private.
    #[arg(short, long, value_name = "FIELD")]
    keep: Vec<String>,
    /// The releases: a JSON object a line, or a .parquet or .csv table; `-` is standard output.
    ///
    /// "id" (as it is written, or "line-N"), the fields of --keep, and "release" in hexadecimal
    /// digits, in Parquet 24 bytes.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    out: PathBuf,
}

const RULES: [(&str, &str, Method); 4] = [
    (
        "whole-text",
        "Protects the whole text: draws its best candidate or any other",
        Method::WholeText,
    ),
    (
        "projective",
        "Protects the whole text: draws a point that its best candidate prefers, or any other. A \
         release names no candidate. With many candidates, estimates err less than by whole-text",
        Method::Projective,
    ),
    (
        "permute-and-flip",
        "Protects each sentence, and the whole text far less. For long texts",
        Method::Sentence(Rule::PermuteAndFlip),
    ),
    (
        "exponential",
        "Protects each sentence by the exponential mechanism, which costs less in daily use with a \
         delta: see `plan budget`",
        Method::Sentence(Rule::Exponential),
    ),
];

impl Arguments {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let paths = self.input.paths(&self.out).input("--pack", &self.pack);
        self.spending.paths(self.encoder.paths(paths)).check()?;
        self.input.texts(&self.texts).check_fields(&self.keep)?;
        self.spending
            .check(&self.input, &self.out, Cost::from(self.epsilon))?;
        quietly(|| self.release())
    }

    fn release(&self) -> Result<ExitCode> {
        let pack = read_pack(&self.pack)?;
        let opened = self.encoder.open_for(&pack)?;
        document::check_encoder(&pack, opened.encoder.as_ref())?;
        let empty = document::empty(&pack)?;
        let method = self.rule;
        if method.is_whole_text() {
            // Before anything is spent.
            empty.check_whole_text().map_err(|problem| {
                note!("With this pack, --rule permute-and-flip protects single sentences.");
                Error::from(problem)
            })?;
        }
        Output::check(&self.out)?;
        let input = self.input.texts(&self.texts);
        let mut run = input
            .run_of("privatize")?
            .with(pack.digest())
            .with(self.epsilon.micro().to_le_bytes())
            .with(format!("{method:?}"));
        for field in &self.keep {
            run = run.with("keep").with(field);
        }
        let run = ReleaseRun {
            input: &input,
            keep: &self.keep,
            out: &self.out,
            paid: self.spending.open(method.unit(), run)?,
            releaser: Documents {
                encoder: PrivateEncoder::new(opened.encoder.as_ref()),
                pack: &pack,
                method,
            },
            unit: method.unit(),
            epsilon: self.epsilon,
            cost: self.epsilon.into(),
        };
        run.release(|| {
            note!("{}", promise(&pack, &empty, method, self.epsilon));
            Ok(())
        })
    }
}

/// The promise of the releases, for people.
fn promise(
    pack: &Pack<'_>,
    document: &HostDocument<'_>,
    method: Method,
    epsilon: Epsilon,
) -> String {
    let served = method.served(epsilon, pack.candidate_count());
    let mut text = match method {
        Method::Sentence(_) if document::takes_whole_texts(pack) => format!(
            "rule: by sentence. To this pack a text is one. Promised: {served} for the whole text exchanged for any other"
        ),
        Method::Sentence(rule) => format!(
            "rule: by sentence. Promised: {served} for one sentence exchanged for another, {} for the whole text",
            document.whole_text_epsilon(epsilon, rule)
        ),
        Method::WholeText | Method::Projective => {
            let rule = if method == Method::WholeText {
                "whole text"
            } else {
                "projective"
            };
            format!("rule: {rule}. Promised: {served} for the whole text exchanged for any other")
        }
    };
    if served.0 < epsilon.micro().into() {
        text += &format!(
            ". This rule serves no more. The releases state the {epsilon} that was asked for, and a ledger is charged it"
        );
    }
    text
}

/// The pack, encoder and rule of all releases.
struct Documents<'a> {
    encoder: PrivateEncoder<'a>,
    pack: &'a Pack<'a>,
    method: Method,
}

impl<'a> Releaser for Documents<'a> {
    type State = HostDocument<'a>;

    fn start(&self) -> Result<Self::State> {
        document::empty(self.pack)
    }

    fn release(
        &self,
        document: &mut Self::State,
        source: &CorpusDocument,
        grant: Grant,
    ) -> Result<String> {
        document::fill_text(document, &self.encoder, &source.text)?;
        let release = document::draw(document, grant, self.method)?;
        Ok(field(&release.to_bytes()))
    }
}
