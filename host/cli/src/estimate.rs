//! `undertone estimate`.

use std::path::PathBuf;

use clap::Args;
use undertone::error::Result;
use undertone::pack::candidates::Candidates;
use undertone_core::form::Form;
use undertone_estimate::answer::{Answer, Compare, Source, expected};
use undertone_estimate::refused;
use undertone_estimate::shares::Confidence;

use crate::args::{AnswerArgs, number, whole};
use crate::count::{ReleaseArgs, check, count};
use crate::files::read_form;
use crate::question::QuestionArgs;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    releases: ReleaseArgs,
    /// The candidates that `pack` wrote, a file for each pack in use. Other releases are rejected.
    #[arg(
        short = 'C',
        long,
        required_unless_present = "form",
        num_args = 1..,
        value_name = "FILE"
    )]
    candidates: Vec<PathBuf>,
    /// The forms whose answers to estimate: the shares of each attribute, and cross tables of the
    /// pairs.
    #[arg(short, long, num_args = 1.., value_name = "FILE")]
    form: Vec<PathBuf>,
    /// The share of intervals that contain the truth: 0.95 is 95 of 100.
    #[arg(long, default_value_t = 0.95, value_name = "LEVEL", value_parser = level)]
    level: f64,
    /// Make all intervals hold at once, which makes them wider.
    #[arg(long)]
    at_once: bool,
    /// Also print the shares of labels for texts exactly like the public ones: narrower intervals
    /// that do not hold for texts of other sources.
    #[arg(long)]
    alike: bool,
    /// Compare slices: each with the first one, or with FIELD=A,B slice B with slice A. These
    /// intervals hold at once.
    #[arg(long, num_args = 0..=1, default_missing_value = "", value_name = "FIELD=A,B")]
    difference: Option<Compare>,
    /// Print the N most frequent candidates or answers; --json has all.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = whole::<usize>)]
    top: usize,
    #[command(flatten)]
    question: QuestionArgs,
    /// Use only the first N sentences of each text of --corpus: the number that released texts
    /// have.
    #[arg(long, value_name = "N", requires = "question", value_parser = clap::value_parser!(u16).range(1..))]
    first_sentences: Option<u16>,
    #[command(flatten)]
    answer: AnswerArgs,
}

pub(crate) fn level(text: &str) -> std::result::Result<f64, String> {
    let problem = "a level lies from 0.5 to below 1, such as 0.95";
    number(text, |level| (0.5..1.0).contains(&level), problem)
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let paths = self
            .releases
            .paths()
            .inputs("--candidates", &self.candidates)
            .inputs("--form", &self.form);
        self.answer.paths(self.question.paths(paths)).check()?;
        let inputs = self.releases.inputs()?;
        self.answer.check()?;
        let mut sources = self.sources()?;
        let forms = self.forms()?;
        let counted = count(self.releases.counter(expected(&sources, &forms))?, inputs)?;
        check(&counted, "")?;
        if counted.counts.is_empty() {
            return Err(refused("the inputs have no releases; give at least one"));
        }
        let packs: Vec<[u8; 8]> = sources.iter().map(|own| own.id).collect();
        if let Some(question) = self.question.open(&packs)? {
            // Its texts come in the place of those that the pack came with.
            let calibration = question.calibration(self.first_sentences)?;
            for source in &mut sources {
                source.calibration = (source.id == question.pack_id()).then(|| calibration.clone());
            }
        }
        let confidence = Confidence {
            level: self.level,
            at_once: self.at_once,
        };
        let compare = self.difference.as_ref();
        let answer = Answer::new(
            &counted,
            &sources,
            &forms,
            confidence,
            compare,
            self.question.is_asked(),
            self.alike,
        )?;
        let files = [&self.candidates[..], &self.form].concat();
        let html = |byline: &[String]| answer.html(self.top, byline);
        self.answer.write(|| answer.json(), html, &files)?;
        if counted.rejected.total() > 0 {
            note!(
                "{} rejected{}",
                counted.rejected.total(),
                counted.rejected.summary()
            );
        }
        self.answer
            .print(|| answer.json(), || answer.text(self.top))
    }

    fn forms(&self) -> Result<Vec<Form<'static>>> {
        let mut forms: Vec<Form<'static>> = Vec::new();
        for path in &self.form {
            let form = read_form(path)?;
            if forms.iter().any(|own| own.id() == form.id()) {
                return Err(refused(format!(
                    "`{}` is a form that --form has already; name it once",
                    path.display()
                )));
            }
            forms.push(form);
        }
        Ok(forms)
    }

    fn sources(&self) -> Result<Vec<Source>> {
        let mut sources: Vec<Source> = Vec::new();
        for path in &self.candidates {
            let candidates = Candidates::read(path)?;
            let id = candidates.pack_id();
            if sources.iter().any(|own| own.id == id) {
                return Err(refused(format!(
                    "`{}` has the candidates of a pack that another file of --candidates has, too; name it once",
                    path.display()
                )));
            }
            sources.push(candidates.into());
        }
        Ok(sources)
    }
}
