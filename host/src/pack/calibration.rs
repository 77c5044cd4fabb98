//! Simulated releases of labelled public texts, which turn counts of releases into shares of
//! labels.

use std::collections::BTreeMap;

use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::release::Mechanism;

use crate::encoder::embeddings::Encoded;
use crate::error::{Error, Result};
use crate::release::document::{self, HostDocument, MAX_SENTENCES};
use crate::release::law::levels;

/// The most texts of a calibration.
const MOST_TEXTS: usize = 1 << 14;

/// The most bytes of levels of a calibration.
const MOST_LEVELS: usize = 1 << 20;

/// Public texts by label, reduced to the data that their releases depend on, at any ε and by any
/// rule.
///
/// The heads of the pack must not have been fitted to these texts, because releases of fitted texts
/// are right more often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The labels.
    pub labels: Vec<String>,
    /// The mechanism of sentence releases.
    pub mechanism: Mechanism,
    /// A level is worth ε divided by `steps`.
    pub steps: u8,
    /// The number of candidates of the pack, m.
    pub candidates: usize,
    /// `[texts]`: the index of the label of each text.
    pub of_texts: Vec<u32>,
    /// `[texts]`: the best candidate of each text; m for "nothing known" or a pack without scores.
    pub best: Vec<u32>,
    /// `[texts][m]`: the levels of a sentence release.
    pub levels: Vec<u8>,
    /// The same for texts of sources that the heads were not fitted to; `None` if no sources are
    /// known.
    pub by_source: Option<Box<BySource>>,
}

/// Public texts of known sources, each simulated with heads that were fitted to other sources only.
///
/// How much the texts of one label differ between sources says how much private texts, which come
/// from other sources, may differ from public ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BySource {
    /// The names of the sources; empty if sources are clusters of the texts of each label.
    pub names: Vec<String>,
    /// `[texts]`: the source of each text.
    pub of_texts: Vec<u32>,
    /// The texts.
    pub texts: Calibration,
}

impl BySource {
    /// Whether sources were guessed, by clustering the texts of each label.
    pub fn are_guessed(&self) -> bool {
        self.names.is_empty()
    }
}

impl Calibration {
    /// An empty calibration under `pack`, for texts with one of `labels`.
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
            by_source: None,
        })
    }

    /// Simulates devices on the texts of a corpus that have one of `labels`, each given with its
    /// number of texts. If there are too many texts, equal parts of all labels are kept.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack supports no release;
    /// errors of the corpus.
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

    /// The most texts that are kept under a pack with this number of candidates.
    pub fn most_texts(candidates: usize) -> usize {
        (MOST_LEVELS / candidates.max(1)).clamp(1, MOST_TEXTS)
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.of_texts.len()
    }

    /// Returns whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.of_texts.is_empty()
    }

    /// The levels of a text, `[m]`.
    pub fn levels_of(&self, text: usize) -> &[u8] {
        &self.levels[text * self.candidates..(text + 1) * self.candidates]
    }

    /// Adds a text. `pack` is the pack of the other texts, or one with other heads for the same
    /// candidates.
    ///
    /// # Shapes
    /// `sentences`: `[k]`; `rows`: `[k][dimension]`.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack supports no release.
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

    /// Adds a text by its sentences, for packs that read text themselves: with a lexicon, or with
    /// features only.
    ///
    /// # Shapes
    /// `sentences`: `[k]`; those beyond the limit of a document are left out.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack supports no release, or
    /// reads no text.
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
        // A pack without scores has no best candidate, and supports no release by whole text.
        let nothing = self.candidates as u32;
        self.best.push(hazmat::best(document).unwrap_or(nothing));
        self.levels.extend(levels(document));
    }

    /// Checks that all numbers are in range, so that readers need no further checks.
    pub(super) fn check(&self) -> Result<(), String> {
        let texts = self.len();
        let m = self.candidates;
        let sound = self.best.len() == texts && self.levels.len() == texts * m;
        let labels = self.labels.len();
        let known = self.of_texts.iter().all(|label| (*label as usize) < labels);
        let best = self.best.iter().all(|best| *best as usize <= m);
        if let Some(own) = &self.by_source {
            own.texts.check()?;
            if own.of_texts.len() != own.texts.len() {
                return Err("its calibration has texts without a source".to_owned());
            }
            let sources = own.names.len() as u32;
            if sources > 0 && own.of_texts.iter().any(|source| *source >= sources) {
                return Err("its calibration has sources without a name".to_owned());
            }
        }
        if sound && known && best && m > 0 && self.steps > 0 {
            Ok(())
        } else {
            Err("its calibration has numbers outside their range".to_owned())
        }
    }
}
