//! Candidates that represent classes: the labels of a corpus, or clusters of its documents.
//!
//! The corpus is read in three passes (four for clusters) and never held in memory, except for 8
//! bytes per document. k-means gets a sample if there are too many documents. Labels are read
//! before encoding, so that invalid ones are found early.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use undertone_core::rng::{self, PublicRng};

use super::held_out::{Chosen, Inputs, Public, Sections};
use super::quality::Recognition;
use super::scores::reach;
use super::sources::Sources;
use super::{Fit, LexiconData, PackContents, Selected, TargetChoice, cosine};
use crate::encoder::embeddings::{Encoded, Passed};
use crate::encoder::vectors::{DocumentVectors, Mean, mean};
use crate::encoder::{Encoder, NoEncoder, check_finite};
use crate::error::{Error, Result};
use crate::pack::candidates::Candidate;
use crate::pack::heads::{Clustered, Known, Targets, check_number, fit_streamed};
use crate::release::document::MAX_SCORED;
use crate::text::each_sentence;

/// The most documents for k-means, or 8 for each cluster if that is more.
pub(super) const SAMPLE: usize = 32_768;

/// The most sentences for judging heads and fitting features. They are held in memory.
const MOST_SENTENCES: usize = 1 << 16;

/// The classes of the documents that have sentences. The others are ignored.
struct Classes {
    /// `[documents]`.
    of_documents: Vec<u32>,
    /// `[documents]`: the number of sentences of each.
    sentences: Vec<u32>,
    /// The names of labels.
    names: Option<Vec<String>>,
    /// The mean over the means of all documents.
    centre: Vec<f32>,
    /// `[classes]`: the mean over the means of each class's documents.
    centres: Vec<Vec<f32>>,
}

impl Classes {
    /// The label of a class, or the name of a cluster.
    fn name(&self, class: usize) -> String {
        let label = self.label(class);
        label.unwrap_or_else(|| format!("cluster-{class}"))
    }

    fn label(&self, class: usize) -> Option<String> {
        self.names.as_ref().map(|names| names[class].clone())
    }

    fn names(&self) -> Vec<String> {
        let all = 0..self.centres.len();
        all.map(|class| self.name(class)).collect()
    }
}

/// Whether "nothing known" is asked for, or is worth its cost.
fn keeps_nothing_known(fit: Fit<'_>, recognition: Option<Recognition>) -> bool {
    let asked = match fit {
        Fit::HeldOut(contest) => contest.nothing_known,
        _ => None,
    };
    asked.unwrap_or(!recognition.is_some_and(|own| own.is_reason_to_omit()))
}

/// Leaves "nothing known" out of a pack of several candidates, and of what was measured.
fn leave_nothing_known_out(sections: &mut Sections, chosen: Option<&mut Chosen>) {
    if sections.scores.bias.len() > 1 {
        sections.scores.has_nothing_known = false;
        if let Some(chosen) = chosen {
            chosen.leave_nothing_known_out(sections.scores.without_text());
        }
    }
}

/// Makes a candidate for each class of `corpus`, and adds the scores that distinguish them to
/// `contents`, which has no section but perhaps a lexicon.
pub(super) fn of(
    corpus: &mut Encoded<'_>,
    choice: TargetChoice,
    fit: Fit<'_>,
    seed: u64,
    contents: &mut PackContents,
) -> Result<Selected> {
    let classes = chosen(corpus, choice, seed)?;
    let dimension = classes.centre.len();
    let n = classes.centres.len();
    let lexicon = contents.lexicon.as_ref();
    let (won, mut chosen) = contest(corpus, &classes, fit, lexicon, seed)?;
    let mut excerpts = vec![(f32::NEG_INFINITY, String::new()); n];
    let mut largest = 0f32;
    let mut passed = None;
    // The first pass also finds the excerpts.
    let mut pass = |each: &mut dyn FnMut(&[f32])| -> Result<()> {
        let mut index = 0;
        let looks = passed.is_none();
        let own = corpus.pass(|_, sentences, rows| {
            if sentences.is_empty() {
                return Ok(());
            }
            if looks {
                let class = classes.of_documents[index] as usize;
                let (best, excerpt) = &mut excerpts[class];
                for (sentence, row) in sentences.iter().zip(rows.chunks_exact(dimension)) {
                    let cosine = cosine(row, &classes.centres[class]);
                    if excerpt.is_empty() || cosine.total_cmp(best).is_ge() {
                        *best = cosine;
                        (*sentence).clone_into(excerpt);
                    }
                }
                largest = largest.max(reach(rows, &classes.centre));
            }
            each(rows);
            index += 1;
            Ok(())
        })?;
        passed = Some(own);
        Ok(())
    };
    let mut sections = match (won, fit) {
        (Some(won), _) => {
            pass(&mut |_| ())?;
            won
        }
        (None, Fit::ClosedForm | Fit::HeldOut(_)) => {
            let known = Known {
                centre: classes.centre.clone(),
                class: |document| classes.of_documents[document] as usize,
                classes: n,
                sentences: &classes.sentences,
            };
            let heads = fit_streamed(&known, &mut pass)?;
            Sections::new(largest, &heads, None)
        }
        (None, Fit::InMemory(train)) => {
            let mut rows = Vec::new();
            let mut offsets = vec![0];
            pass(&mut |own| {
                rows.extend_from_slice(own);
                offsets.push(rows.len() / dimension);
            })?;
            let vectors = DocumentVectors::new(dimension, rows, offsets);
            let of_documents = classes.of_documents.iter().map(|class| *class as usize);
            let targets = Targets {
                of_documents: of_documents.collect(),
                classes: n,
            };
            let heads = train(&vectors, &targets, &classes.names())?;
            // Trained heads may have another centre.
            Sections::new(reach(vectors.rows(), &heads.centre), &heads, None)
        }
    };
    let entry = |(class, (_, excerpt)): (usize, (f32, String))| Candidate {
        id: classes.name(class),
        label: classes.label(class),
        excerpt,
    };
    let recognition = chosen.as_ref().and_then(Chosen::recognition);
    if !keeps_nothing_known(fit, recognition) {
        leave_nothing_known_out(&mut sections, chosen.as_mut());
    }
    let calibration = chosen.and_then(|chosen| {
        contents.quality = chosen.quality;
        chosen.calibration
    });
    if sections.features.as_ref().is_some_and(|own| own.alone) {
        contents.dimension = sections.dimension;
        contents.lexicon = None;
        contents.encoder = NoEncoder::default().identity().clone();
    }
    contents.scores = Some(sections.scores);
    contents.features = sections.features;
    let passed = passed.expect("fitting goes through the corpus");
    Ok(Selected {
        entries: excerpts.into_iter().enumerate().map(entry).collect(),
        embeddings: classes.centres.concat(),
        are: match classes.names {
            Some(_) => "labels",
            None => "clusters",
        },
        documents: passed.documents,
        sentences: passed.sentences,
        calibration,
        recognition,
    })
}

/// Holds the contest, if one was requested. Returns the winner, and its heads unless they are the
/// default ones.
fn contest(
    corpus: &mut Encoded<'_>,
    classes: &Classes,
    fit: Fit<'_>,
    lexicon: Option<&LexiconData>,
    seed: u64,
) -> Result<(Option<Sections>, Option<Chosen>)> {
    let Fit::HeldOut(contest) = fit else {
        return Ok((None, None));
    };
    let public = public(corpus, classes, lexicon, seed)?;
    check_number(public.classes)?;
    let mut chosen = public.choose(&contest)?;
    if let Some(calibration) = &mut chosen.calibration {
        calibration.labels = classes.names();
        if let Some(own) = &mut calibration.by_source {
            own.texts.labels.clone_from(&calibration.labels);
        }
    }
    if chosen.inputs == Inputs::Vectors {
        return Ok((None, Some(chosen)));
    }
    // The heads must be those that were requested and judged.
    let won = public.fit(chosen.inputs, &|_| true, contest.size)?;
    let won = won.ok_or_else(|| {
        Error::input(
            "no feature can be in the pack: ⟨size⟩ leaves no room, or no word, pair or run of \
             letters is in two sentences; give a larger ⟨size⟩, more documents, or ⟨heads vectors⟩",
        )
    })?;
    Ok((Some(won), Some(chosen)))
}

/// Returns the requested classes.
fn chosen(corpus: &mut Encoded<'_>, choice: TargetChoice, seed: u64) -> Result<Classes> {
    match choice {
        TargetChoice::Labels if are_labelled(corpus)? => by_labels(corpus),
        TargetChoice::Labels => by_clusters(corpus, None, seed, SAMPLE),
        TargetChoice::Clusters(Some(clusters)) if clusters > MAX_SCORED => {
            Err(Error::argument(format!(
                "{clusters} clusters are more than the {MAX_SCORED} candidates that a device can \
                 choose from; give a smaller ⟨clusters⟩"
            )))
        }
        TargetChoice::Clusters(clusters) => by_clusters(corpus, clusters, seed, SAMPLE),
    }
}

/// Loads documents with their classes: all, or a uniform sample with about [`MOST_SENTENCES`].
fn public(
    corpus: &mut Encoded<'_>,
    classes: &Classes,
    lexicon: Option<&LexiconData>,
    seed: u64,
) -> Result<Public> {
    let total: usize = classes.sentences.iter().map(|count| *count as usize).sum();
    let mut rng = PublicRng::new(seed);
    let (mut sentences, mut rows, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
    let mut texts = Vec::new();
    let mut classes_of_documents = Vec::new();
    let (mut ids, mut ids_of_documents) = (HashMap::new(), Vec::new());
    let (mut sources, mut sources_of_documents) = (HashMap::new(), Vec::new());
    let mut index = 0;
    corpus.pass(|document, own, vectors| {
        if own.is_empty() {
            return Ok(());
        }
        let class = classes.of_documents[index] as usize;
        index += 1;
        if rng::below(&mut rng, total as u128) < MOST_SENTENCES as u64 {
            sentences.extend(own.iter().map(|sentence| (*sentence).to_owned()));
            texts.push(document.text.clone());
            rows.extend_from_slice(vectors);
            offsets.push(sentences.len());
            classes_of_documents.push(class);
            let next = ids.len();
            ids_of_documents.push(*ids.entry(document.id.clone()).or_insert(next));
            if let Some(source) = &document.source {
                let next = sources.len();
                sources_of_documents.push(*sources.entry(source.clone()).or_insert(next));
            }
        }
        Ok(())
    })?;
    let encoder = corpus.encoding().encoder();
    let labels = classes.names();
    let mut names = vec![String::new(); sources.len()];
    for (name, number) in sources {
        names[number] = name;
    }
    let is_named = !sources_of_documents.is_empty();
    let named = || Sources::named(names, sources_of_documents, &classes_of_documents, &labels);
    Ok(Public {
        sources: is_named.then(named).transpose()?,
        sentences,
        texts,
        vectors: DocumentVectors::new(encoder.dimension(), rows, offsets),
        classes_of_documents,
        classes: classes.centres.len(),
        ids_of_documents,
        samples: Default::default(),
        directions: OnceCell::new(),
        seed,
        centre: classes.centre.clone(),
        encoder: encoder.identity().clone(),
        lexicon: lexicon.cloned(),
    })
}

/// Calls `each` with the mean, the number of sentences and the label of every document with
/// sentences.
fn means(
    corpus: &mut Encoded<'_>,
    mut each: impl FnMut(&[f32], u32, Option<&str>) -> Result<()>,
) -> Result<Passed> {
    let encoder = corpus.encoding().encoder();
    let dimension = encoder.dimension();
    let mut before = 0;
    let mut found = false;
    let passed = corpus.pass(|document, sentences, rows| {
        check_finite(encoder, rows, before)?;
        before += sentences.len();
        if sentences.is_empty() {
            return Ok(());
        }
        found = true;
        let mean = mean(rows, dimension);
        each(&mean, sentences.len() as u32, document.label.as_deref())
    })?;
    if found {
        Ok(passed)
    } else {
        Err(super::no_candidates(passed.documents, 1))
    }
}

/// Returns whether the documents have labels: false if none has one, and an error if only some do.
/// Documents without sentences are ignored.
fn are_labelled(corpus: &Encoded<'_>) -> Result<bool> {
    let mut labels = HashSet::<String>::new();
    let (mut documents, mut without, mut line) = (0, 0, None);
    for document in corpus.documents()? {
        let document = document?;
        let label = document.label.as_ref();
        let known = label.is_some_and(|label| labels.contains(label));
        if !known && each_sentence(&document.text).next().is_none() {
            continue;
        }
        documents += 1;
        match document.label {
            None => {
                line.get_or_insert(document.line);
                without += 1;
            }
            Some(_) if known => {}
            Some(_) if labels.len() == MAX_SCORED => {
                return Err(Error::argument(format!(
                    "the labels of the corpus are more than the {MAX_SCORED} candidates that a \
                     device can choose from; give documents with fewer labels, or take clusters \
                     for candidates with ⟨clusters N⟩"
                )));
            }
            Some(label) => {
                labels.insert(label);
            }
        }
    }
    match (labels.len(), line) {
        (0, _) => Ok(false),
        (_, Some(line)) => Err(Error::input(format!(
            "{without} of {documents} documents have no label, the first on line \
             {line}; give all of them one, leave them out with ⟨unlabelled skip⟩, or \
             take clusters for candidates with ⟨clusters N⟩"
        ))),
        (1, _) => Err(Error::input(format!(
            "all {documents} documents have the same label, so there is nothing to \
             choose from; give documents with other labels, or take clusters for \
             candidates with ⟨clusters N⟩"
        ))),
        _ => Ok(true),
    }
}

/// Makes the labels into classes. Every document has one.
fn by_labels(corpus: &mut Encoded<'_>) -> Result<Classes> {
    let dimension = corpus.encoding().encoder().dimension();
    let mut numbers = BTreeMap::<String, u32>::new();
    let mut own = Vec::<Mean>::new();
    let mut all = Mean::new(dimension);
    let mut of_documents = Vec::new();
    let mut sentences = Vec::new();
    let mut labelled = true;
    means(corpus, |mean, count, label| {
        let Some(label) = label.filter(|_| labelled) else {
            labelled = false;
            return Ok(());
        };
        let next = own.len() as u32;
        let number = *numbers.entry(label.to_owned()).or_insert(next);
        if number == next {
            own.push(Mean::new(dimension));
        }
        own[number as usize].add(mean);
        all.add(mean);
        of_documents.push(number);
        sentences.push(count);
        Ok(())
    })?;
    if !labelled {
        return Err(corpus.changed());
    }
    // Renumbers the classes from order of appearance to order of names.
    let mut place = vec![0; numbers.len()];
    for (new, old) in (0..).zip(numbers.values()) {
        place[*old as usize] = new;
    }
    for class in &mut of_documents {
        *class = place[*class as usize];
    }
    let centres = numbers.values().map(|old| own[*old as usize].value());
    Ok(Classes {
        of_documents,
        sentences,
        centre: all.value(),
        centres: centres.collect(),
        names: Some(numbers.into_keys().collect()),
    })
}

/// Makes clusters into classes: k-means over all documents, or over a uniform `sample` with the
/// nearest cluster for the others.
fn by_clusters(
    corpus: &mut Encoded<'_>,
    clusters: Option<usize>,
    seed: u64,
    sample: usize,
) -> Result<Classes> {
    const UNSEEN: u32 = u32::MAX;
    let dimension = corpus.encoding().encoder().dimension();
    let sample = sample.max(clusters.unwrap_or(0).saturating_mul(8));
    let mut rng = PublicRng::new(seed);
    let mut drawn = Vec::<usize>::new();
    let mut points = Vec::new();
    let mut all = Mean::new(dimension);
    let mut sentences = Vec::new();
    means(corpus, |mean, count, _| {
        let index = sentences.len();
        sentences.push(count);
        all.add(mean);
        if drawn.len() < sample {
            drawn.push(index);
            points.extend_from_slice(mean);
        } else {
            let place = rng::below(&mut rng, index as u128 + 1) as usize;
            if let Some(slot) = drawn.get_mut(place) {
                *slot = index;
                points[place * dimension..][..dimension].copy_from_slice(mean);
            }
        }
        Ok(())
    })?;
    let clustered = Clustered::new(points, dimension, clusters, seed)?;
    let mut of_documents = vec![UNSEEN; sentences.len()];
    for (index, class) in drawn.iter().zip(&clustered.classes_of_points) {
        of_documents[*index] = *class as u32;
    }
    let mut own = vec![Mean::new(dimension); clustered.classes()];
    let mut documents = of_documents.iter_mut();
    means(corpus, |mean, _, _| {
        let class = documents.next().expect("the corpus is the same");
        if *class == UNSEEN {
            *class = clustered.class_of(mean) as u32;
        }
        own[*class as usize].add(mean);
        Ok(())
    })?;
    Ok(Classes {
        of_documents,
        sentences,
        names: None,
        centre: all.value(),
        centres: own.iter().map(Mean::value).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;
    use crate::encoder::LexiconEncoder;
    use crate::files::resume::Encoding;

    /// A document outside the sample goes to the cluster of similar documents.
    #[test]
    fn a_sample_is_enough_for_clusters() {
        let encoder = LexiconEncoder::embedded();
        let documents = demo::corpus(1);
        let open = || Ok(documents.iter().cloned().map(Ok));
        let mut corpus = Encoded::new("demo", Encoding::new(&encoder), open);
        let all = by_clusters(&mut corpus, Some(12), 1, SAMPLE).unwrap();
        let half = by_clusters(&mut corpus, Some(12), 1, documents.len() / 2).unwrap();
        assert_eq!(half.sentences, all.sentences);
        assert_eq!(half.centre, all.centre);
        // Two documents of one topic are mostly in one cluster; documents of two topics seldom are.
        for classes in [&all, &half] {
            let (mut same, mut pairs) = ([0; 2], [0; 2]);
            for (i, a) in documents.iter().enumerate() {
                for (j, b) in documents.iter().enumerate().skip(i + 1) {
                    let topic = usize::from(a.label == b.label);
                    pairs[topic] += 1;
                    same[topic] += usize::from(classes.of_documents[i] == classes.of_documents[j]);
                }
            }
            assert!(same[1] * 3 > pairs[1], "{same:?} of {pairs:?}");
            assert!(same[0] * 10 < pairs[0], "{same:?} of {pairs:?}");
        }
    }
}
