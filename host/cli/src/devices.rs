//! `undertone plan devices`.

use std::path::PathBuf;

use clap::Args;
use undertone::error::Result;
use undertone::pack::calibration::Calibration;
use undertone::pack::candidates::Candidates;
use undertone_core::epsilon::Epsilon;
use undertone_estimate::plan::MOST_DEVICES;
use undertone_estimate::planning::form::FormPlan;
use undertone_estimate::planning::{Asked, Plan};

use crate::args::{AnswerArgs, number};
use crate::budget;
use crate::files::read_form;
use crate::paths::Paths;
use crate::question::QuestionArgs;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The candidates that `pack` wrote.
    #[arg(
        short = 'C',
        long,
        required_unless_present = "form",
        value_name = "FILE"
    )]
    candidates: Option<PathBuf>,
    /// A form: plan the precision of each of its attributes and pairs.
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with_all = ["candidates", "shares", "delta", "question", "first_sentences"]
    )]
    form: Option<PathBuf>,
    /// The values of epsilon to compare.
    #[arg(short, long, required = true, num_args = 1.., value_delimiter = ',', value_name = "E")]
    epsilon: Vec<Epsilon>,
    /// How far 95 of 100 estimated shares may lie from the truth: 0.03 is 3 percentage points.
    #[arg(long, default_value_t = 0.03, value_name = "SHARE", value_parser = within)]
    within: f64,
    /// Numbers of devices whose precision to compute.
    #[arg(long, num_args = 1.., value_delimiter = ',', value_name = "N", value_parser = devices)]
    devices: Vec<u64>,
    /// Guessed shares, such as football=0.5,garden=0.2; the rest is divided equally.
    #[arg(long, value_delimiter = ',', value_name = "NAME=SHARE")]
    shares: Vec<String>,
    /// The probability with which the promise with delta may fail: well below one in the number of
    /// users.
    #[arg(long, default_value = "1e-6", value_name = "DELTA", value_parser = budget::delta, allow_hyphen_values = true)]
    delta: f64,
    #[command(flatten)]
    question: QuestionArgs,
    /// Compare lengths of texts: devices release the first N sentences of each text of --corpus.
    #[arg(long, num_args = 1.., value_delimiter = ',', value_name = "N", requires = "question", value_parser = clap::value_parser!(u16).range(1..))]
    first_sentences: Vec<u16>,
    #[command(flatten)]
    answer: AnswerArgs,
}

pub(crate) fn devices(text: &str) -> std::result::Result<u64, String> {
    let most = MOST_DEVICES as u64;
    let devices = text.parse().ok();
    let devices = devices.filter(|devices| (1..=most).contains(devices));
    devices.ok_or_else(|| format!("expected a whole number from 1 to {most}"))
}

pub(crate) fn within(text: &str) -> std::result::Result<f64, String> {
    let problem = "it lies in 0.000001 to 0.5; 0.03 is 3 percentage points";
    number(text, |share| (1e-6..=0.5).contains(&share), problem)
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let paths = Paths::default()
            .inputs("--candidates", &self.candidates)
            .inputs("--form", &self.form);
        self.answer.paths(self.question.paths(paths)).check()?;
        self.answer.check()?;
        if let Some(path) = &self.form {
            let form = read_form(path)?;
            let plan = FormPlan::new(&form, &self.epsilon, self.within, &self.devices)?;
            let html = |byline: &[String]| Ok(plan.html(byline));
            self.answer
                .write(|| plan.json(), html, std::slice::from_ref(path))?;
            return self.answer.print(|| plan.json(), || plan.text());
        }
        let candidates = self.candidates.as_deref();
        let path = candidates.expect("required without a form");
        let candidates = Candidates::read(path)?;
        let asked = Asked {
            epsilon: self.epsilon.clone(),
            within: self.within,
            devices: self.devices.clone(),
            shares: self.shares.clone(),
            delta: self.delta,
            question: self.question.is_asked(),
        };
        let plan = Plan::new(&asked, &candidates, &self.texts(&candidates)?)?;
        let html = |byline: &[String]| plan.html(byline);
        self.answer
            .write(|| plan.json(), html, &[path.to_owned()])?;
        self.answer.print(|| plan.json(), || plan.text())
    }

    /// The public texts, by the number of sentences that are released of each.
    fn texts(&self, candidates: &Candidates) -> Result<Vec<(Option<u16>, Calibration)>> {
        let Some(question) = self.question.open(&[candidates.pack_id()])? else {
            let own = candidates.calibration.clone();
            return Ok(own.map(|own| (None, own)).into_iter().collect());
        };
        let mut lengths: Vec<Option<u16>> =
            self.first_sentences.iter().copied().map(Some).collect();
        lengths.sort_unstable();
        lengths.dedup();
        if lengths.is_empty() {
            lengths.push(None);
        }
        let of = |length| Ok((length, question.calibration(length)?));
        lengths.into_iter().map(of).collect()
    }
}
