//! Selection and evaluation of heads by cross-validation on public documents.
//!
//! The documents are split into folds. Heads are fitted to all folds but one and judged on that
//! one, by the same code that a device runs.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::slice;

use undertone_core::pack::Pack;
use undertone_core::pack::format::{ALIGNMENT, Entry};
use undertone_core::rng::PublicRng;
use undertone_core::scores::LEVELS;

use super::calibration::{BySource, Calibration};
use super::features::{self, Directions, Sample};
use super::heads;
use super::kmeans::normalised;
use super::quality::{ALL, Column, Judge, LARGE, Recognition};
use super::scores::{reach, scores_data, unit_of};
use super::sources::Sources;
use super::trained::ScoreHeads;
use super::writer::{FeaturesData, LexiconData, PackContents, QualityData, ScoresData};
use crate::encoder::EncoderIdentity;
use crate::encoder::vectors::{DocumentVectors, mean};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Progress;

/// The number of folds.
const FOLDS: usize = 5;

/// Folds are judged until this number of documents is reached.
const JUDGED: usize = 2000;

/// The largest mean number of sentences of short texts. With more, the sentence rule is better than
/// the whole-text rule even at ε = 3.
const MOST_OF_SHORT: usize = 4;

/// Public documents with classes, in memory.
pub(super) struct Public {
    /// Document by document.
    pub(super) sentences: Vec<String>,
    /// `[documents]`.
    pub(super) texts: Vec<String>,
    pub(super) vectors: DocumentVectors,
    /// `[documents]`.
    pub(super) classes_of_documents: Vec<usize>,
    pub(super) classes: usize,
    /// `[documents]`: a number for each id. Equal ids mark related texts, such as translations.
    pub(super) ids_of_documents: Vec<usize>,
    /// The sources, if a field names them.
    pub(super) sources: Option<Sources>,
    /// The hashed features of all documents, by sentence and by text, once a fit needs them.
    pub(super) samples: [OnceCell<Sample>; 2],
    /// The directions of all sentences, once a fit needs them.
    pub(super) directions: OnceCell<Directions>,
    /// The seed of all draws.
    pub(super) seed: u64,
    /// The centre of the vectors.
    pub(super) centre: Vec<f32>,
    pub(super) encoder: EncoderIdentity,
    /// The lexicon that a pack with vectors contains.
    pub(super) lexicon: Option<LexiconData>,
}

/// The rules for choosing heads by held-out documents.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    /// The allowed inputs of heads, in order of preference.
    pub inputs: &'a [Inputs],
    /// The largest size of the whole pack in bytes. By default features take at most 16 kB per
    /// candidate, but at least 64 kB and at most 1 MB.
    pub size: Option<usize>,
    /// Whether "nothing known" is an outcome of releases for the whole text. By default
    /// [`Recognition::is_reason_to_omit`] decides.
    pub nothing_known: Option<bool>,
}

/// The inputs of heads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inputs {
    /// The vector of a sentence: a ridge regression.
    #[default]
    Vectors,
    /// The vector and the features of a sentence.
    Both,
    /// The features of a sentence alone: the pack has no encoder.
    Features,
    /// The features of a text as one sentence: the pack has no encoder.
    WholeTexts,
}

impl Inputs {
    /// All inputs, those of the smallest packs first. If the user named an encoder, heads read its
    /// vectors.
    pub fn preferred(encoder_is_named: bool) -> &'static [Self] {
        if encoder_is_named {
            &[Self::Vectors, Self::Both]
        } else {
            &[Self::Features, Self::WholeTexts, Self::Vectors, Self::Both]
        }
    }

    /// Whether the pack has no encoder.
    fn are_alone(self) -> bool {
        matches!(self, Self::Features | Self::WholeTexts)
    }
}

/// Heads as sections of a pack.
pub(super) struct Sections {
    /// 1 for a pack without an encoder.
    pub(super) dimension: usize,
    pub(super) scores: ScoresData,
    pub(super) features: Option<FeaturesData>,
}

impl Sections {
    /// `reach` is that of all public sentences.
    pub(super) fn new(reach: f32, heads: &ScoreHeads, features: Option<FeaturesData>) -> Self {
        Self {
            dimension: heads.centre.len(),
            scores: scores_data(reach, heads),
            features,
        }
    }
}

impl Public {
    /// Fits heads to the documents in `train`. `None` if features do not fit a pack of `size`
    /// bytes.
    pub(super) fn fit(
        &self,
        inputs: Inputs,
        train: &dyn Fn(usize) -> bool,
        size: Option<usize>,
    ) -> Result<Option<Sections>> {
        let chosen: Vec<usize> = (0..self.vectors.len()).filter(|d| train(*d)).collect();
        let Some(budget) = self.budget(inputs, size)? else {
            return Ok(None);
        };
        if inputs == Inputs::Vectors {
            let vectors = self.vectors.subset(&chosen);
            let targets = chosen.iter().map(|d| self.classes_of_documents[*d]);
            let heads = heads::fit(&vectors, &targets.collect::<Vec<_>>(), self.classes)?;
            let reach = reach(vectors.rows(), &heads.centre);
            return Ok(Some(Sections::new(reach, &heads, None)));
        }
        let (alone, whole) = (inputs.are_alone(), inputs == Inputs::WholeTexts);
        let sample = self.samples[usize::from(whole)].get_or_init(|| self.hashed(whole));
        let none = Directions::default();
        let directions = if alone {
            &none
        } else {
            self.directions.get_or_init(|| self.scaled_directions())
        };
        let Some(fitted) = features::fit(sample, &chosen, directions, budget, self.classes) else {
            return Ok(None);
        };
        let (centre, reach) = if alone {
            (&[][..], 1.0)
        } else {
            let centre = &self.centre[..];
            (centre, reach(self.vectors.rows(), centre))
        };
        let heads = fitted.score_heads(centre, whole);
        let features = fitted.data(unit_of(&heads.weights), alone, whole);
        Ok(Some(Sections::new(reach, &heads, Some(features))))
    }

    /// The bytes left for features. `None` if the rest of the pack is too large.
    fn budget(&self, inputs: Inputs, size: Option<usize>) -> Result<Option<usize>> {
        let Some(size) = size else {
            return Ok(Some((self.classes << 14).clamp(1 << 16, 1 << 20)));
        };
        let alone = inputs.are_alone();
        let dimension = if alone { 1 } else { self.vectors.dimension() };
        // The name of an encoder has a fixed length in a pack.
        let mut rest = PackContents::new(dimension, EncoderIdentity::default());
        if !alone {
            rest.lexicon.clone_from(&self.lexicon);
        }
        rest.scores = Some(ScoresData {
            exponent: 0,
            centre: vec![0; dimension],
            weights: vec![0; self.classes * dimension],
            bias: vec![0; self.classes],
            thresholds: vec![0; heads::SCORE_STEPS],
            levels: LEVELS,
            has_nothing_known: true,
        });
        rest.quality = Some(Judge::new(Column::OF_PACKS).quality());
        let rest = rest.to_bytes()?.len() + size_of::<Entry>() + ALIGNMENT;
        Ok(size.checked_sub(rest))
    }

    /// Hashes the features of all documents, by sentences or of `whole` texts.
    fn hashed(&self, whole: bool) -> Sample {
        let documents = self.classes_of_documents.iter().enumerate();
        let documents = documents.map(|(document, class)| {
            let sentences = if whole {
                slice::from_ref(&self.texts[document])
            } else {
                &self.sentences[self.vectors.range(document)]
            };
            (sentences, *class as u32)
        });
        let mut sample = Sample::new(features::KINDS, documents);
        if let Some(folds) = self.folds() {
            features::scale_rare_features(&mut sample, &folds, self.classes);
        }
        sample
    }

    /// Returns the directions of sentences, scaled like the features.
    fn scaled_directions(&self) -> Directions {
        let dimension = self.vectors.dimension();
        let mut rows = normalised(self.vectors.rows(), dimension, &self.centre);
        let length = |document: usize| {
            let sentences = self.vectors.range(document);
            let rows = &rows[sentences.start * dimension..sentences.end * dimension];
            let sum = mean(rows, dimension);
            let square: f32 = sum.iter().map(|x| x * x).sum();
            (square * sentences.len() as f32).sqrt()
        };
        let lengths: f32 = (0..self.vectors.len()).map(length).sum();
        let scale = self.vectors.len() as f32 / lengths.max(f32::MIN_POSITIVE);
        rows.iter_mut().for_each(|x| *x *= scale);
        Directions {
            dimension,
            scale,
            rows,
        }
    }

    /// Fits heads to all documents but those of a fold, if possible, and simulates devices on the
    /// fold: for `judge`, and for the calibration up to its limit.
    fn hold_out(
        &self,
        inputs: Inputs,
        fold: &[usize],
        size: Option<usize>,
        mut judge: Option<&mut Judge>,
        calibrating: &mut Calibrating,
    ) -> Result<()> {
        let mut held = vec![false; self.vectors.len()];
        fold.iter().for_each(|document| held[*document] = true);
        let sections = match self.fit(inputs, &|document| !held[document], size) {
            Ok(Some(sections)) => sections,
            Ok(None) => return Ok(()),
            // Without a fold, the rest may be too small for heads that can be fitted to all
            // documents.
            Err(error) if error.kind() == ErrorKind::Input => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut contents = PackContents::new(sections.dimension, self.encoder.clone());
        contents.scores = Some(sections.scores.clone());
        contents.features.clone_from(&sections.features);
        let bytes = contents.to_bytes()?;
        let pack = Pack::parse(&bytes).map_err(Error::from)?;
        let calibration = match &mut calibrating.calibration {
            Some(calibration) => calibration,
            none => none.insert(Calibration::new(&pack, Vec::new())?),
        };
        for document in fold {
            let class = self.classes_of_documents[*document];
            let (sentences, rows) = self.document(&sections, *document);
            if let Some(judge) = &mut judge {
                judge.add(&pack, class as u32, &sentences, &rows)?;
            }
            if calibrating.room[class] > 0 {
                calibrating.room[class] -= 1;
                calibrating.documents.push(*document);
                calibration.add(&pack, class as u32, &sentences, &rows)?;
            }
        }
        Ok(())
    }

    /// Splits the documents into folds, class by class, so that no fold has all of a class.
    /// Documents with the same id stay together, because a document is no fair test of heads fitted
    /// to its translation. `None` if a class is in fewer than two folds.
    fn folds(&self) -> Option<Vec<Vec<usize>>> {
        let mut by_id = vec![Vec::new(); self.vectors.len()];
        for document in heads::with_sentences(&self.vectors) {
            by_id[self.ids_of_documents[document]].push(document);
        }
        by_id.retain(|documents| !documents.is_empty());
        features::shuffle(&mut by_id, &mut PublicRng::new(self.seed));
        by_id.sort_by_key(|documents| self.classes_of_documents[documents[0]]);
        let mut folds = vec![Vec::new(); FOLDS];
        for (place, documents) in by_id.into_iter().enumerate() {
            folds[place % FOLDS].extend(documents);
        }
        folds.retain(|fold| !fold.is_empty());
        let mut folds_of_classes = vec![0; self.classes];
        for fold in &folds {
            let classes = fold.iter().map(|own| self.classes_of_documents[*own]);
            for class in classes.collect::<BTreeSet<_>>() {
                folds_of_classes[class] += 1;
            }
        }
        let are_enough = folds_of_classes.iter().all(|folds| *folds >= 2);
        are_enough.then_some(folds)
    }

    /// Whether whole texts are worth a trial: enough documents have several sentences, but few.
    fn are_short(&self) -> bool {
        let documents = self.vectors.len();
        let several = (0..documents).filter(|document| self.vectors.range(*document).len() > 1);
        several.count() * 10 > documents && self.sentences.len() <= MOST_OF_SHORT * documents
    }

    /// Returns the allowed inputs whose releases are right most often, with their evaluation. The
    /// first inputs win unless others are better by more than [`MARGIN`]. If a class has too few
    /// documents to judge, vectors win, because they learn from fewer documents than features.
    pub(super) fn choose(&self, contest: &Contest<'_>) -> Result<Chosen> {
        let Some(folds) = self.folds() else {
            let mut unjudged = Chosen::default();
            if !contest.inputs.contains(&Inputs::Vectors)
                && let Some(first) = contest.inputs.first()
            {
                unjudged.inputs = *first;
            }
            return Ok(unjudged);
        };
        let size = folds.first().map_or(1, Vec::len).max(1);
        let judged = JUDGED.div_ceil(size).clamp(1, folds.len().max(1));
        let mut entered = contest.inputs.to_vec();
        if entered.len() > 1 && !self.are_short() {
            entered.retain(|inputs| *inputs != Inputs::WholeTexts);
        }
        // The winner's calibration also uses the folds that were not judged.
        let steps = judged * entered.len() + folds.len() - judged;
        let progress = Progress::new("judging heads", steps as u64);
        let mut best: Option<(Inputs, Judge, Calibrating)> = None;
        for inputs in entered {
            let mut judge = Judge::new(Column::OF_PACKS);
            let mut calibrating = Calibrating::new(self);
            for fold in folds.iter().take(judged) {
                let judge = Some(&mut judge);
                self.hold_out(inputs, fold, contest.size, judge, &mut calibrating)?;
                progress.advance(1);
            }
            let better = |(before, of_before, _): &(Inputs, Judge, Calibrating)| {
                let whole = [inputs, *before].contains(&Inputs::WholeTexts);
                let rows = if whole { LARGE } else { ALL };
                // Packs of features are of one size.
                let both_small = inputs.are_alone() && before.are_alone();
                let margin = if both_small { 0.0 } else { MARGIN };
                let before = of_before.value(rows.clone());
                // 0: too few documents, or features do not fit.
                judge.value(rows) > before + margin || (before == 0.0 && inputs == Inputs::Vectors)
            };
            if best.as_ref().is_none_or(better) {
                best = Some((inputs, judge, calibrating));
            }
        }
        let Some((inputs, judge, mut calibrating)) = best else {
            return Ok(Chosen::default());
        };
        for fold in folds.iter().skip(judged) {
            if calibrating.room.iter().any(|room| *room > 0) {
                self.hold_out(inputs, fold, contest.size, None, &mut calibrating)?;
            }
            progress.advance(1);
        }
        if let Some(calibration) = &mut calibrating.calibration {
            calibration.by_source = self.by_source(inputs, contest.size)?.map(Box::new);
        }
        Ok(Chosen {
            inputs,
            quality: Some(judge.quality()),
            calibration: calibrating.calibration,
            judge: Some(judge),
        })
    }

    /// Simulates devices on all documents, with heads that were fitted to other sources. `None` if
    /// no field names sources and classes have too few documents to guess them.
    fn by_source(&self, inputs: Inputs, size: Option<usize>) -> Result<Option<BySource>> {
        let (classes, seed) = (&self.classes_of_documents, self.seed);
        let guessed = match &self.sources {
            Some(_) => None,
            None => Sources::guessed(&self.vectors, &self.centre, classes, self.classes, seed)?,
        };
        let Some(sources) = self.sources.as_ref().or(guessed.as_ref()) else {
            return Ok(None);
        };
        let folds = sources.folds(heads::with_sentences(&self.vectors), FOLDS);
        let progress = Progress::new("comparing sources", folds.len() as u64);
        let mut calibrating = Calibrating::new(self);
        let all = std::mem::take(&mut calibrating.room);
        for (place, fold) in folds.iter().enumerate() {
            // An equal part of each fold, so that no source is left out for lack of room.
            let part = |room: &usize| room * (place + 1) / folds.len() - room * place / folds.len();
            calibrating.room = all.iter().map(part).collect();
            self.hold_out(inputs, fold, size, None, &mut calibrating)?;
            progress.advance(1);
        }
        let texts = calibrating.calibration;
        Ok(texts.map(|texts| sources.of(texts, &calibrating.documents)))
    }

    /// Returns the sentences of a document and their vectors; zeros for heads without vectors. For
    /// heads on whole texts, the text is the only sentence.
    fn document(&self, sections: &Sections, document: usize) -> (Vec<&str>, Cow<'_, [f32]>) {
        if sections.features.as_ref().is_some_and(|own| own.whole) {
            return (vec![&self.texts[document]], Cow::Owned(vec![0.0]));
        }
        let sentences = self.sentences[self.vectors.range(document)].iter();
        let sentences: Vec<&str> = sentences.map(String::as_str).collect();
        let alone = sections.dimension != self.vectors.dimension();
        let rows = if alone {
            Cow::Owned(vec![0.0; sentences.len()])
        } else {
            Cow::Borrowed(self.vectors.document(document))
        };
        (sentences, rows)
    }
}

/// The winner of a contest.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) inputs: Inputs,
    /// The quality of its releases, if it could be judged.
    pub(super) quality: Option<QualityData>,
    /// Without the names of its labels, which are the classes.
    pub(super) calibration: Option<Calibration>,
    judge: Option<Judge>,
}

impl Chosen {
    /// The measurement that decides about "nothing known".
    pub(super) fn recognition(&self) -> Option<Recognition> {
        self.judge.as_ref()?.recognition()
    }

    /// Changes the measurements to those of a pack without "nothing known", in which a text has
    /// this best candidate if nothing is recognised.
    pub(super) fn leave_nothing_known_out(&mut self, best: u32) {
        if let Some(judge) = &mut self.judge {
            judge.leave_nothing_known_out(best);
            self.quality = Some(judge.quality());
        }
        let calibration = self.calibration.as_mut();
        let Some(own) = calibration else { return };
        let by_source = own.by_source.as_mut().map(|own| &mut own.texts.best);
        let all = own.best.iter_mut().chain(by_source.into_iter().flatten());
        for of_text in all.filter(|of_text| **of_text as usize == own.candidates) {
            *of_text = best;
        }
    }
}

/// A calibration in progress, and the remaining number of documents of each class. If there are too
/// many documents, all classes are reduced in proportion.
struct Calibrating {
    calibration: Option<Calibration>,
    /// The document of each text.
    documents: Vec<usize>,
    /// `[classes]`.
    room: Vec<usize>,
}

impl Calibrating {
    fn new(public: &Public) -> Self {
        let mut room = vec![0; public.classes];
        for class in &public.classes_of_documents {
            room[*class] += 1;
        }
        let all = public.vectors.len();
        let most = Calibration::most_texts(public.classes);
        if all > most {
            for room in &mut room {
                *room = (*room * most / all).max(1);
            }
        }
        Self {
            calibration: None,
            documents: Vec::new(),
            room,
        }
    }
}

/// The improvement that less preferred inputs must reach.
const MARGIN: f64 = 0.005;

#[cfg(test)]
mod tests {
    use undertone_core::rng;

    use super::*;
    use crate::corpus::CorpusDocument;
    use crate::encoder::LexiconEncoder;
    use crate::encoder::embeddings::Encoded;
    use crate::files::resume::Encoding;
    use crate::pack::{self, Fit, Options, Selector, TargetChoice};

    /// A pack of unknown words with labels by chance, to which heads converge slowly.
    fn pack_with(source: impl Fn(usize) -> Option<String>) -> Vec<u8> {
        let mut rng = PublicRng::new(1);
        let mut below = |bound: u128| rng::below(&mut rng, bound);
        let document = |line| CorpusDocument {
            id: format!("line-{line}"),
            label: Some(below(2).to_string()),
            source: source(line),
            text: (0..12).map(|_| format!("w{}x ", below(90))).collect(),
            ..CorpusDocument::default()
        };
        let documents: Vec<CorpusDocument> = (0..240).map(document).collect();
        let encoder = LexiconEncoder::embedded();
        let open = || Ok(documents.clone().into_iter().map(Ok));
        let mut encoded = Encoded::new("texts", Encoding::new(&encoder), open);
        let contest = Contest {
            inputs: &[Inputs::Features],
            size: None,
            nothing_known: None,
        };
        let options = Options {
            selector: Selector::Scores {
                targets: TargetChoice::Labels,
                fit: Fit::HeldOut(contest),
            },
            seed: 1,
        };
        let lexicon = LexiconData::from_view(encoder.lexicon());
        let built = pack::build(&mut encoded, Some(lexicon), &options).unwrap();
        // Unknown words have no vectors, so no sources are guessed.
        let compared = built.candidates.calibration.unwrap().by_source;
        assert_eq!(compared.is_some(), source(0).is_some());
        built.pack
    }

    #[test]
    fn heads_do_not_depend_on_the_sources() {
        let without = pack_with(|_| None);
        for sources in [2, 7] {
            assert!(pack_with(|line| Some((line % sources).to_string())) == without);
        }
    }
}
