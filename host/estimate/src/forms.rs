//! Answers to the questions of a form: their law, their shares, and what one release says.

use std::collections::BTreeMap;

use undertone::error::Result;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::{Answer, Form, POINT_BITS, Question};
use undertone_core::projective::Geometry;
use undertone_core::release::Mechanism;

use crate::channel::Channel;
use crate::counts::{Kind, Outcomes};
use crate::refused;
use crate::shares::{Confidence, Shares, pooled};

/// The law of the answers to one question.
#[derive(Clone, Debug)]
pub struct Law {
    /// The question.
    pub question: Question,
    /// The share of releases that answer it.
    pub drawn: f64,
    /// The kind of its releases.
    pub kind: Kind,
    /// The channel from its outcome to the release.
    pub channel: Channel,
}

impl Law {
    /// The standard error of an estimated share near 0, times the square root of the number of
    /// devices; infinite for a question that is never drawn.
    pub fn error(&self) -> f64 {
        self.channel.deviation(0.0, self.drawn)
    }
}

/// The laws of all questions at this ε.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) cannot occur with a parsed form.
pub fn laws(form: &Form<'_>, epsilon: Epsilon) -> Result<Vec<Law>> {
    let total: f64 = form.questions().map(|own| f64::from(own.weight)).sum();
    let of = |question: Question| {
        let law = Geometry::best_for_answer(question.outcomes, epsilon).and_then(|geometry| {
            let (mechanism, order) = (Mechanism::Answer as u8, geometry.order());
            Kind::from_fields(form.id(), mechanism, 2, epsilon, order).ok()
        });
        let kind = law.ok_or_else(|| {
            refused(format!(
                "no law of answers has {} outcomes; ask for fewer categories",
                question.outcomes
            ))
        })?;
        let channel = Channel::new(kind, question.outcomes - 1)?;
        Ok(Law {
            question,
            drawn: f64::from(question.weight) / total,
            kind,
            channel: channel.expect("an answer is about all answers of a form"),
        })
    };
    form.questions().map(of).collect()
}

/// The names of a question's attributes: one, or the two of a pair.
pub fn attributes(form: &Form<'_>, question: &Question) -> Vec<String> {
    let name = |index: u16| {
        let name = form.attribute_name(index.into());
        name.unwrap_or_default().to_owned()
    };
    let indices = [Some(question.first), question.second];
    indices.into_iter().flatten().map(name).collect()
}

/// The names of a question as one text: those of a pair with × between them.
pub fn title(attributes: &[String]) -> String {
    attributes.join(TIMES)
}

/// Between the names of a pair.
const TIMES: &str = " × ";

/// The name of the last outcome of an attribute.
pub const NO_ANSWER: &str = "no answer";

/// The names of a question's outcomes. For a pair they are those of the combinations, in the order
/// of the outcomes: all of the second attribute's for each of the first one's.
pub fn outcomes(form: &Form<'_>, question: &Question) -> Vec<String> {
    let of = |index: u16| -> Vec<&str> {
        let names = form.category_names(index.into());
        names.chain([NO_ANSWER]).collect()
    };
    let first = of(question.first).into_iter();
    match question.second.map(of) {
        None => first.map(str::to_owned).collect(),
        Some(second) => first
            .flat_map(|one| second.iter().map(move |two| format!("{one}{TIMES}{two}")))
            .collect(),
    }
}

/// The estimate for one question.
#[derive(Clone, Debug)]
pub struct Estimated {
    /// The question.
    pub question: Question,
    /// The shares of its outcomes, with "no answer" as the last; those of a pair are its cross
    /// table, row by row. `None` without releases.
    pub shares: Option<Shares>,
}

/// The estimates for all questions, and the releases that cannot be of the form.
#[derive(Clone, Debug)]
pub struct Estimates {
    /// One for each of [`Form::questions`].
    pub questions: Vec<Estimated>,
    /// The number of releases that name the form and that no device with the form makes.
    pub forged: u64,
}

/// Estimates the shares of all outcomes of all questions. Releases of other packs and forms are
/// left out. The intervals need no assumption about the people: devices draw the question without
/// looking at any answer. With [`Confidence::at_once`], all intervals of all questions hold at
/// once.
///
/// # Errors
/// Those of [`pooled`].
pub fn estimate<'a>(
    form: &Form<'_>,
    samples: impl IntoIterator<Item = (Kind, &'a BTreeMap<u32, u64>)>,
    confidence: Confidence,
) -> Result<Estimates> {
    let questions: Vec<Question> = form.questions().collect();
    let mut parts: Vec<BTreeMap<Kind, BTreeMap<u32, u64>>> = vec![BTreeMap::new(); questions.len()];
    let mut forged = 0;
    let of_form =
        |kind: &Kind| kind.mechanism() == Mechanism::Answer && kind.pack_id() == form.id();
    for (kind, outcomes) in samples.into_iter().filter(|(kind, _)| of_form(kind)) {
        let known = Outcomes::of_questions(&kind, &questions);
        for (outcome, count) in outcomes {
            if known.contains(*outcome) {
                let point = outcome & ((1 << POINT_BITS) - 1);
                *parts[(outcome >> POINT_BITS) as usize]
                    .entry(kind)
                    .or_default()
                    .entry(point)
                    .or_default() += count;
            } else {
                forged += count;
            }
        }
    }
    let confidence = if confidence.at_once {
        confidence.among(questions.len())
    } else {
        confidence
    };
    let estimated = questions.into_iter().zip(&parts).map(|(question, parts)| {
        let samples: Vec<_> = parts.iter().map(|(kind, points)| (*kind, points)).collect();
        let shares = pooled(&samples, question.outcomes - 1, confidence)?;
        Ok(Estimated { question, shares })
    });
    Ok(Estimates {
        questions: estimated.collect::<Result<_>>()?,
        forged,
    })
}

/// The probability of each outcome of the question, given one release and the shares of the
/// outcomes: Pr\[a = i | y\], which is proportional to f_i·M(y | i). `shares`: one for each
/// outcome, not all 0; equal ones if nothing was estimated.
pub fn posterior(answer: &Answer, epsilon: Epsilon, shares: &[f64]) -> Vec<f64> {
    let (first, other) = Geometry::weights(epsilon);
    let joint = (0u32..).zip(shares).map(|(outcome, share)| {
        let preferred = answer.geometry.contains(outcome, answer.point);
        let weight = if preferred { first } else { other };
        share * weight as f64
    });
    let joint: Vec<f64> = joint.collect();
    let total: f64 = joint.iter().sum();
    joint.iter().map(|part| part / total).collect()
}
