//! Shares of answers to the questions of a form, from releases of answers.

use std::collections::BTreeMap;

use undertone::error::Result;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::{Answer, Form, POINT_BITS, Question};
use undertone_core::projective::Geometry;
use undertone_core::release::Mechanism;

use crate::counts::Kind;
use crate::shares::{Confidence, Shares, pooled};

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
        for (outcome, count) in outcomes {
            let index = (outcome >> POINT_BITS) as usize;
            let point = outcome & ((1 << POINT_BITS) - 1);
            let question = questions.get(index);
            let known = question.is_some_and(|question| {
                question.weight > 0 && u64::from(point) < kind.outcomes(question.outcomes - 1)
            });
            if known {
                *parts[index]
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
        share
            * if preferred {
                first as f64
            } else {
                other as f64
            }
    });
    let joint: Vec<f64> = joint.collect();
    let total: f64 = joint.iter().sum();
    joint.iter().map(|part| part / total).collect()
}
