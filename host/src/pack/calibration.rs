//! What devices would say of public texts whose labels are known: what turns counts of releases into shares of labels.

use std::collections::BTreeMap;

use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::release::Mechanism;

use crate::encoder::embeddings::Encoded;
use crate::error::{Error, Result};
use crate::release::document::{self, HostDocument, MAX_SENTENCES};
use crate::release::law::levels;

/// Texts that a calibration has at most.
const MOST_TEXTS: usize = 1 << 14;

/// Bytes of levels that it has at most.
const MOST_LEVELS: usize = 1 << 20;

/// Public texts by label, reduced to all that their releases depend on, at any ε and by any rule.
///
/// The heads of the pack must not have been fitted to these texts: of texts that they know, releases are right more often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The labels.
    pub labels: Vec<String>,
    /// What sentence releases are selected by.
    pub mechanism: Mechanism,
    /// A level is worth ε divided by this.
    pub steps: u8,
    /// Candidates of the pack, m.
    pub candidates: usize,
    /// `[texts]`: the label of each.
    pub of_texts: Vec<u32>,
    /// `[texts]`: the best candidate of each, m for "nothing known" or where the pack has no scores.
    pub best: Vec<u32>,
    /// `[texts][m]`: the levels of a sentence release.
    pub levels: Vec<u8>,
}

impl Calibration {
    /// None yet, for texts with one of `labels`, under `pack`.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack has no candidates.
    pub fn new(pack: &Pack<'_>, labels: Vec<String>) -> Result<Self> {
        document::empty(pack)?;
        let (mechanism, steps) = match pack.scores() {
            Some(scores) => (Mechanism::Scores, scores.largest_score()),
            None => (Mechanism::Depth, 1),
        };
        Ok(Self {
            labels,
            mechanism,
            steps,
            candidates: pack.candidate_count() as usize,
            of_texts: Vec::new(),
            best: Vec::new(),
            levels: Vec::new(),
        })
    }

    /// What devices would say of the texts of a corpus that have one of `labels`; each comes with how many texts have it. If there are more
    /// texts than are kept, equal parts of all labels are.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack cannot be released from, and those of the corpus.
    pub fn of_corpus(
        pack: &Pack<'_>,
        labels: &BTreeMap<String, usize>,
        encoded: &mut Encoded<'_>,
    ) -> Result<Self> {
        let names: Vec<String> = labels.keys().cloned().collect();
        let all: usize = labels.values().sum();
        let most = Self::most_texts(pack.candidate_count() as usize);
        let mut seen = vec![0; names.len()];
        let mut own = Self::new(pack, names)?;
        encoded.pass(|document, sentences, vectors| {
            let label = document.label.as_deref().unwrap_or_default();
            let label = own.labels.binary_search_by(|name| name.as_str().cmp(label));
            let Ok(label) = label else { return Ok(()) };
            let place: usize = seen[label];
            seen[label] += 1;
            if all > most && (place + 1) * most / all == place * most / all {
                return Ok(());
            }
            own.add(pack, label as u32, sentences, vectors)
        })?;
        Ok(own)
    }

    /// The most texts that are kept under a pack with so many candidates.
    pub fn most_texts(candidates: usize) -> usize {
        (MOST_LEVELS / candidates.max(1)).clamp(1, MOST_TEXTS)
    }

    /// Texts.
    pub fn len(&self) -> usize {
        self.of_texts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of_texts.is_empty()
    }

    /// The levels of a text, `[m]`.
    pub fn levels_of(&self, text: usize) -> &[u8] {
        &self.levels[text * self.candidates..(text + 1) * self.candidates]
    }

    /// Adds a text. `pack`: the one that all were made for, or one with other heads for the same candidates.
    ///
    /// # Shapes
    /// `sentences`: `[k]`; `rows`: `[k][dimension]`.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack cannot be released from.
    pub fn add(
        &mut self,
        pack: &Pack<'_>,
        label: u32,
        sentences: &[&str],
        rows: &[f32],
    ) -> Result<()> {
        let mut document = document::empty(pack)?;
        document::fill(&mut document, sentences, rows)?;
        self.push(label, &document);
        Ok(())
    }

    /// Adds a text by its sentences, for packs that read text themselves: with a lexicon, or features alone.
    ///
    /// # Shapes
    /// `sentences`: `[k]`; those after the limit of a document are left out.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack cannot be released from, or reads no text.
    pub fn add_sentences(&mut self, pack: &Pack<'_>, label: u32, sentences: &[&str]) -> Result<()> {
        let mut document = document::empty(pack)?;
        for sentence in sentences.iter().take(MAX_SENTENCES) {
            document.push_sentence(sentence).map_err(Error::from)?;
        }
        self.push(label, &document);
        Ok(())
    }

    fn push(&mut self, label: u32, document: &HostDocument<'_>) {
        self.of_texts.push(label);
        // Packs without scores have no best candidate, and their releases are never by the whole text.
        let nothing = self.candidates as u32;
        self.best.push(hazmat::best(document).unwrap_or(nothing));
        self.levels.extend(levels(document));
    }

    /// Whether all numbers lie where they may, so that nothing that reads them has to ask.
    pub(super) fn check(&self) -> Result<(), String> {
        let texts = self.len();
        let m = self.candidates;
        let sound = self.best.len() == texts && self.levels.len() == texts * m;
        let known = self
            .of_texts
            .iter()
            .all(|label| (*label as usize) < self.labels.len());
        let best = self.best.iter().all(|best| *best as usize <= m);
        match sound && known && best && m > 0 && self.steps > 0 {
            true => Ok(()),
            false => Err("its calibration has numbers outside their range".to_owned()),
        }
    }
}
