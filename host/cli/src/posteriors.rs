//! Posteriors of answers to a form, for `decode`.

use std::io::Write as _;
use std::path::Path;

use serde::Deserialize;
use undertone::error::Result;
use undertone::release::lines::BadLine;
use undertone_core::form::{Form, Question};
use undertone_core::release::Release;
use undertone_estimate::{forms, refused};
use undertone_tables::Kind;

use crate::files::{json, read_bytes};

/// The columns of a table of answers: the release, and the fields that decoding adds.
pub(crate) const COLUMNS_OF_ANSWERS: [(&str, Kind); 9] = [
    ("release", Kind::Release),
    ("epsilon", Kind::Epsilon),
    ("pack", Kind::Text),
    ("unit", Kind::Text),
    ("attributes", Kind::Texts),
    ("answer", Kind::Text),
    ("probability", Kind::Real),
    ("posterior", Kind::Text),
    ("shares", Kind::Text),
];

/// A form and the shares of its answers.
pub(crate) struct KnownForm {
    form: Form<'static>,
    /// The form's identifier in hexadecimal digits.
    id: String,
    questions: Vec<KnownQuestion>,
}

struct KnownQuestion {
    /// JSON, rendered once.
    attributes: String,
    /// The names of the outcomes.
    names: Vec<String>,
    shares: Vec<f64>,
    are_estimated: bool,
}

/// What `estimate --json` prints, as far as shares are read from it.
#[derive(Deserialize)]
pub(crate) struct Estimates {
    answers: Vec<EstimatedAnswers>,
}

#[derive(Deserialize)]
struct EstimatedAnswers {
    form: String,
    attributes: Vec<String>,
    slice: Option<Vec<String>>,
    shares: Vec<EstimatedShare>,
}

#[derive(Deserialize)]
struct EstimatedShare {
    share: f64,
}

impl Estimates {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let bytes = read_bytes(path)?;
        serde_json::from_slice(&bytes).map_err(|problem| {
            refused(format!(
                "`{}` has no shares of answers: {problem}; `estimate --form --json` prints them",
                path.display()
            ))
        })
    }

    /// The shares of a question's outcomes, of all slices.
    fn of(&self, form: &str, attributes: &[String], outcomes: usize) -> Option<Vec<f64>> {
        let is_own = |own: &&EstimatedAnswers| {
            own.form == form && own.attributes == attributes && own.slice.is_none()
        };
        let own = self.answers.iter().find(is_own)?;
        let shares: Vec<f64> = own.shares.iter().map(|own| own.share.max(0.0)).collect();
        let is_usable = shares.len() == outcomes && shares.iter().any(|share| *share > 0.0);
        is_usable.then_some(shares)
    }
}

impl KnownForm {
    pub(crate) fn new(form: Form<'static>, estimates: Option<&Estimates>) -> Self {
        let id = hex::encode(form.id());
        let question = |question: Question| {
            let attributes = forms::attributes(&form, &question);
            let names = forms::outcomes(&form, &question);
            let shares = estimates.and_then(|own| own.of(&id, &attributes, names.len()));
            KnownQuestion {
                attributes: json(&attributes),
                are_estimated: shares.is_some(),
                shares: shares.unwrap_or_else(|| vec![1.0; names.len()]),
                names,
            }
        };
        let questions: Vec<KnownQuestion> = form.questions().map(question).collect();
        let equal = questions.iter().filter(|own| !own.are_estimated).count();
        if equal > 0 {
            note!(
                "form {id}: no shares are given for {equal} of {} questions, so all answers to them count as equally frequent",
                questions.len()
            );
        }
        Self {
            form,
            id,
            questions,
        }
    }

    /// Adds the members of an answer.
    pub(crate) fn decode(
        &self,
        release: &Release,
        top: usize,
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), BadLine> {
        let answer = self.form.read(release);
        let answer = answer.filter(|answer| answer.question.weight > 0);
        let answer = answer.ok_or(BadLine::NoSuchCandidate)?;
        let question = &self.questions[usize::from(answer.index)];
        let posterior = forms::posterior(&answer, release.epsilon(), &question.shares);
        let mut order: Vec<usize> = (0..posterior.len()).collect();
        // A stable sort: equal answers keep their order.
        order.sort_by(|a, b| posterior[*b].total_cmp(&posterior[*a]));
        let rounded = |answer: usize| (1e6 * posterior[answer]).round() / 1e6;
        let shown = order.iter().take(top).map(|answer| {
            let name = json(&question.names[*answer]);
            format!("{name}:{}", rounded(*answer))
        });
        let shown: Vec<String> = shown.collect();
        let best = order[0];
        let shares = if question.are_estimated {
            "estimated"
        } else {
            "equal"
        };
        write!(
            out,
            "\"epsilon\":{},\"pack\":\"{}\",\"unit\":\"all answers\",\"attributes\":{},\"answer\":{},\"probability\":{},\"posterior\":{{{}}},\"shares\":\"{shares}\"",
            release.epsilon(),
            self.id,
            question.attributes,
            json(&question.names[best]),
            rounded(best),
            shown.join(",")
        )
        .expect("memory can be written");
        Ok(())
    }
}
