//! `undertone release documents`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use undertone::corpus::CorpusDocument;
use undertone::encoder::PrivateEncoder;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::files::resume::Run;
use undertone::release::document::{self, HostDocument, Method};
use undertone::release::ledger::LedgerFile;
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{Cost, Grant};
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;

use crate::args::{EncoderArgs, TextArgs};
use crate::files::read_pack;
use crate::paths::{Paths, is_stream};
use crate::releases::{LedgerArgs, Private, PrivateArgs, ReleaseRun, Releaser, field, quietly};

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
    #[arg(short, long, value_enum, default_value_t = MethodArg::WholeText)]
    rule: MethodArg,
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

#[derive(Clone, Copy, ValueEnum)]
enum MethodArg {
    /// Protects the whole text: draws its best candidate or any other.
    WholeText,
    /// Protects the whole text: draws a point that its best candidate prefers, or any other. A
    /// release names no candidate. With many candidates, estimates err less than by whole-text.
    Projective,
    /// Protects each sentence, and the whole text far less. For long texts.
    PermuteAndFlip,
    /// Protects each sentence by the exponential mechanism, which costs less in daily use with a
    /// delta: see `plan budget`.
    Exponential,
}

impl From<MethodArg> for Method {
    fn from(rule: MethodArg) -> Self {
        match rule {
            MethodArg::WholeText => Self::WholeText,
            MethodArg::Projective => Self::Projective,
            MethodArg::PermuteAndFlip => Self::Sentence(Rule::PermuteAndFlip),
            MethodArg::Exponential => Self::Sentence(Rule::Exponential),
        }
    }
}

impl Arguments {
    fn paths(&self) -> Paths {
        let paths = self.input.paths(&self.out).input("--pack", &self.pack);
        self.spending.paths(self.encoder.paths(paths))
    }

    /// Refuses options that do not go together.
    fn check(&self) -> Result<()> {
        self.input.texts(&self.texts).check_fields(&self.keep)?;
        self.spending
            .check(&self.input, &self.out, Cost::from(self.epsilon))
    }

    pub(crate) fn run(&self) -> Result<ExitCode> {
        self.paths().check()?;
        self.check()?;
        quietly(|| self.release())
    }

    fn release(&self) -> Result<ExitCode> {
        let pack = read_pack(&self.pack)?;
        let opened = self.encoder.open_for(&pack)?;
        document::check_encoder(&pack, opened.encoder.as_ref())?;
        let empty = document::empty(&pack)?;
        let method = Method::from(self.rule);
        if method.is_whole_text() {
            // Before anything is spent.
            empty.check_whole_text().map_err(|problem| {
                note!("With this pack, --rule permute-and-flip protects single sentences.");
                Error::from(problem)
            })?;
        }
        if !is_stream(&self.out) {
            AtomicFile::check(&self.out)?;
        }
        let input = self.input.texts(&self.texts);
        let run = ReleaseRun {
            input: &input,
            keep: &self.keep,
            out: &self.out,
            paid: self.paid_run(&pack, &input)?,
            releaser: Documents {
                encoder: PrivateEncoder::new(opened.encoder.as_ref()),
                pack: &pack,
                epsilon: self.epsilon,
                method,
            },
        };
        run.release(|| {
            note!("{}", promise(&pack, &empty, method, self.epsilon));
            Ok(())
        })
    }

    /// The identity of this run and its ledger, if it has one.
    fn paid_run(&self, pack: &Pack<'_>, input: &Private<'_>) -> Result<Option<(Run, LedgerFile)>> {
        let rule = Method::from(self.rule);
        let mut run = input
            .run_of("privatize")?
            .with(pack.digest())
            .with(self.epsilon.micro().to_le_bytes())
            .with(format!("{rule:?}"));
        for field in &self.keep {
            run = run.with("keep").with(field);
        }
        self.spending.open(rule.unit(), run)
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
        Method::WholeText => {
            format!(
                "rule: whole text. Promised: {served} for the whole text exchanged for any other"
            )
        }
        Method::Projective => {
            format!(
                "rule: projective. Promised: {served} for the whole text exchanged for any other"
            )
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
    epsilon: Epsilon,
    method: Method,
}

impl<'a> Releaser for Documents<'a> {
    type State = HostDocument<'a>;

    fn unit(&self) -> Unit {
        self.method.unit()
    }

    fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

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
