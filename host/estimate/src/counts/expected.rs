//! Expected releases.

use std::collections::{BTreeSet, HashMap};

use undertone::release::lines::BadLine;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::{Form, POINT_BITS, Question};
use undertone_core::release::Mechanism;

use super::{Kind, Reason};

/// Releases to count; by default all. Name the packs and forms of the fleet, because any client can
/// send anything.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The number of candidates, and whether a document's release for the whole text may be
    /// "nothing known".
    packs: HashMap<[u8; 8], (u32, bool)>,
    forms: HashMap<[u8; 8], Vec<Question>>,
    epsilons: BTreeSet<Epsilon>,
}

impl Expected {
    /// Also expects releases of this pack, which has `candidates`, and "nothing known" as an
    /// outcome of a document's release for the whole text or not.
    pub fn pack(&mut self, id: [u8; 8], candidates: u32, has_nothing_known: bool) {
        self.packs.insert(id, (candidates, has_nothing_known));
    }

    /// Also expects answers to this form.
    pub fn form(&mut self, form: &Form<'_>) {
        self.forms.insert(form.id(), form.questions().collect());
    }

    /// Also expects releases with this ε.
    pub fn epsilon(&mut self, epsilon: Epsilon) {
        self.epsilons.insert(epsilon);
    }

    /// The outcomes of a release of this kind.
    ///
    /// # Errors
    /// The reason if releases of this kind are not expected.
    pub fn outcomes(&self, kind: &Kind) -> Result<Outcomes, Reason> {
        if !self.epsilons.is_empty() && !self.epsilons.contains(&kind.epsilon()) {
            return Err(Reason::OtherEpsilon);
        }
        if self.packs.is_empty() && self.forms.is_empty() {
            return Ok(Outcomes::below(1 << 32));
        }
        if let Some(questions) = self.forms.get(&kind.pack_id()) {
            return Ok(Outcomes::of_questions(kind, questions));
        }
        let candidates = self.packs.get(&kind.pack_id());
        let (candidates, has_nothing_known) =
            *candidates.ok_or(Reason::Line(BadLine::OtherPack))?;
        Ok(Outcomes::below(match kind.mechanism() {
            // Answers name a form.
            Mechanism::Answer => 0,
            _ if kind.is_known() && has_nothing_known => 0,
            _ => kind.outcomes(candidates).min(1 << 32),
        }))
    }
}

/// The outcomes that honest releases of one kind have.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// For each question of a form the number of its points, or the number of outcomes of a pack.
    limits: Vec<u64>,
    /// The low bits of an outcome, which are compared with a limit; the others are the question.
    bits: u32,
}

impl Outcomes {
    fn below(limit: u64) -> Self {
        Self {
            limits: vec![limit],
            bits: u32::BITS,
        }
    }

    pub(crate) fn of_questions(kind: &Kind, questions: &[Question]) -> Self {
        let is_answer = kind.mechanism() == Mechanism::Answer;
        let limit = |question: &Question| match question.weight {
            // Devices never draw it.
            0 => 0,
            _ if is_answer => kind.outcomes(question.outcomes - 1),
            _ => 0,
        };
        Self {
            limits: questions.iter().map(limit).collect(),
            bits: POINT_BITS,
        }
    }

    /// Whether some honest device releases this outcome.
    pub fn contains(&self, outcome: u32) -> bool {
        let outcome = u64::from(outcome);
        let limit = self.limits.get((outcome >> self.bits) as usize);
        limit.is_some_and(|limit| outcome & ((1 << self.bits) - 1) < *limit)
    }

    /// The number of outcomes from 0 on, up to the first gap.
    pub(crate) fn first(&self) -> u64 {
        self.limits.first().copied().unwrap_or(0)
    }
}
