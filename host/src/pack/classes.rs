//! Candidates that represent classes: the labels of a corpus, or clusters of its documents.
//!
//! This takes three passes over the corpus (four for clusters). Memory keeps 8 bytes of each document. k-means sees a
//! sample of a very large corpus.

use std::collections::BTreeMap;

use undertone_core::rng::{self, PublicRng};
use undertone_core::select::MAX_CANDIDATES;

use super::scores::{reach, scores_data};
use super::{Fit, Made, ScoresData, TargetChoice, cosine, limit};
use crate::encoder::embeddings::{Encoded, Passed};
use crate::encoder::vectors::{DocumentVectors, mean};
use crate::error::{Error, Result};
use crate::pack::candidates::Candidate;
use crate::pack::heads::{Clustered, Known, Targets, fit_streamed};
use crate::pack::trained::ScoreHeads;

/// Documents that k-means sees at most, or 8 for each cluster if that is more.
pub(super) const SAMPLE: usize = 32_768;

/// The documents that have sentences: the others count nowhere.
struct Classes {
    /// `[documents]`.
    of_documents: Vec<u32>,
    /// `[documents]`: how many sentences each has.
    sentences: Vec<u32>,
    /// Of labels.
    names: Option<Vec<String>>,
    /// Of the means of all documents.
    centre: Vec<f32>,
    /// `[classes]`: of the means of their documents.
    centres: Vec<Vec<f32>>,
}

/// A mean of vectors that come one after the other, as [`mean`] computes it.
struct Mean {
    sum: Vec<f64>,
    count: usize,
}

impl Mean {
    fn new(dimension: usize) -> Self {
        Self {
            sum: vec![0.0; dimension],
            count: 0,
        }
    }

    fn add(&mut self, row: &[f32]) {
        for (sum, x) in self.sum.iter_mut().zip(row) {
            *sum += f64::from(*x);
        }
        self.count += 1;
    }

    fn value(&self) -> Vec<f32> {
        let count = self.count.max(1) as f64;
        self.sum.iter().map(|sum| (sum / count) as f32).collect()
    }
}

/// The classes of `corpus`, a candidate for each, and the scores that tell them apart.
pub(super) fn make(
    corpus: &mut Encoded<'_>,
    choice: TargetChoice,
    fit: Fit<'_>,
    seed: u64,
) -> Result<(ScoresData, Made)> {
    let labelled = match choice {
        TargetChoice::Labels => by_labels(corpus)?,
        TargetChoice::Clusters(_) => None,
    };
    let classes = match (labelled, choice) {
        (Some(classes), _) => classes,
        (None, TargetChoice::Clusters(clusters)) => by_clusters(corpus, clusters, seed, SAMPLE)?,
        (None, TargetChoice::Labels) => by_clusters(corpus, None, seed, SAMPLE)?,
    };
    let mut found = Found::new(&classes);
    let (heads, vectors) = fit_heads(corpus, &classes, fit, &mut found)?;
    let passed = found.passed.expect("fitting goes through the corpus");
    // Heads that were trained may have another centre.
    let largest = vectors.map_or(found.largest, |vectors| {
        reach(vectors.rows(), &heads.centre)
    });
    let made = Made {
        entries: candidates(&classes, found.excerpts),
        embeddings: classes.centres.concat(),
        are: match classes.names {
            Some(_) => "labels",
            None => "clusters",
        },
        documents_read: passed.documents,
        sentences: passed.sentences,
    };
    Ok((scores_data(largest, &heads), made))
}

/// What the first pass over the sentences finds besides what the heads are fitted to.
struct Found<'a> {
    classes: &'a Classes,
    /// `[classes]`: the sentence closest to the centre of its class, and its cosine.
    excerpts: Vec<(f32, String)>,
    /// The largest coordinate seen from the centre of all.
    largest: f32,
    /// Set once a pass has ended.
    passed: Option<Passed>,
}

impl<'a> Found<'a> {
    fn new(classes: &'a Classes) -> Self {
        Self {
            classes,
            excerpts: vec![(f32::NEG_INFINITY, String::new()); classes.centres.len()],
            largest: 0.0,
            passed: None,
        }
    }

    /// Calls `each` with the sentence vectors of every document that has some, and looks at them the first time.
    fn pass(&mut self, corpus: &mut Encoded<'_>, each: &mut dyn FnMut(&[f32])) -> Result<()> {
        let mut index = 0;
        let first = self.passed.is_none();
        let passed = corpus.pass(|_, sentences, rows| {
            if sentences.is_empty() {
                return Ok(());
            }
            if first {
                self.look(index, sentences, rows);
            }
            each(rows);
            index += 1;
            Ok(())
        })?;
        self.passed = Some(passed);
        Ok(())
    }

    /// Looks at the sentences of a document with their vectors.
    fn look(&mut self, document: usize, sentences: &[&str], rows: &[f32]) {
        let class = self.classes.of_documents[document] as usize;
        let centre = &self.classes.centres[class];
        let (best, excerpt) = &mut self.excerpts[class];
        for (sentence, row) in sentences.iter().zip(rows.chunks_exact(centre.len())) {
            let cosine = cosine(row, centre);
            if excerpt.is_empty() || cosine.total_cmp(best).is_ge() {
                *best = cosine;
                (*sentence).clone_into(excerpt);
            }
        }
        self.largest = self.largest.max(reach(rows, &self.classes.centre));
    }
}

/// Heads of the classes, and the vectors of all sentences if making the heads took them into memory.
fn fit_heads(
    corpus: &mut Encoded<'_>,
    classes: &Classes,
    fit: Fit<'_>,
    found: &mut Found<'_>,
) -> Result<(ScoreHeads, Option<DocumentVectors>)> {
    match fit {
        Fit::ClosedForm => {
            let known = Known {
                centre: classes.centre.clone(),
                class: |document| classes.of_documents[document] as usize,
                classes: classes.centres.len(),
                sentences: &classes.sentences,
            };
            let heads = fit_streamed(&known, &mut |each| found.pass(corpus, each))?;
            Ok((heads, None))
        }
        Fit::InMemory(train) => {
            let dimension = classes.centre.len();
            let mut rows = Vec::new();
            let mut offsets = vec![0];
            found.pass(corpus, &mut |own| {
                rows.extend_from_slice(own);
                offsets.push(rows.len() / dimension);
            })?;
            let vectors = DocumentVectors::new(dimension, rows, offsets);
            let targets = Targets {
                of_documents: classes.of_documents.iter().map(|c| *c as usize).collect(),
                classes: classes.centres.len(),
            };
            Ok((train(&vectors, &targets)?, Some(vectors)))
        }
    }
}

/// A candidate for each class.
fn candidates(classes: &Classes, excerpts: Vec<(f32, String)>) -> Vec<Candidate> {
    let name = |class: usize| match &classes.names {
        Some(names) => names[class].clone(),
        None => format!("cluster-{class}"),
    };
    let candidate = |(class, (_, excerpt))| Candidate {
        id: name(class),
        label: classes.names.is_some().then(|| name(class)),
        excerpt,
    };
    excerpts.into_iter().enumerate().map(candidate).collect()
}

/// Calls `each` with the mean of every document that has sentences, their number, and the label.
fn means(
    corpus: &mut Encoded<'_>,
    mut each: impl FnMut(&[f32], u32, Option<&str>) -> Result<()>,
) -> Result<Passed> {
    let encoder = corpus.encoding().encoder();
    let dimension = encoder.dimension();
    let mut before = 0;
    let mut found = false;
    let passed = corpus.pass(|document, sentences, rows| {
        if let Some(position) = rows.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite {
                encoder: encoder.identity().name.clone(),
                sentence: before + position / dimension,
            });
        }
        before += sentences.len();
        if sentences.is_empty() {
            return Ok(());
        }
        found = true;
        let mean = mean(rows, dimension);
        each(&mean, sentences.len() as u32, document.label.as_deref())
    })?;
    match found {
        true => Ok(passed),
        false => Err(Error::NoCandidates {
            read: passed.documents,
            min_sentences: 1,
        }),
    }
}

/// The labels as classes, if every document has one and there are two different ones.
fn by_labels(corpus: &mut Encoded<'_>) -> Result<Option<Classes>> {
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
        let number = match numbers.get(label) {
            Some(number) => *number,
            None => {
                limit("candidates", own.len() + 1, 1, MAX_CANDIDATES as usize)?;
                numbers.insert(label.to_owned(), own.len() as u32);
                own.push(Mean::new(dimension));
                own.len() as u32 - 1
            }
        };
        own[number as usize].add(mean);
        all.add(mean);
        of_documents.push(number);
        sentences.push(count);
        Ok(())
    })?;
    if !labelled || numbers.len() < 2 {
        return Ok(None);
    }
    // From the order in which they came to that of their names.
    let mut place = vec![0; numbers.len()];
    for (new, old) in (0..).zip(numbers.values()) {
        place[*old as usize] = new;
    }
    for class in &mut of_documents {
        *class = place[*class as usize];
    }
    Ok(Some(Classes {
        of_documents,
        sentences,
        centre: all.value(),
        centres: numbers
            .values()
            .map(|old| own[*old as usize].value())
            .collect(),
        names: Some(numbers.into_keys().collect()),
    }))
}

/// Clusters as classes: k-means over all documents, or over `sample` of them, drawn uniformly, and the
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
    let mut own: Vec<Mean> = (0..clustered.classes())
        .map(|_| Mean::new(dimension))
        .collect();
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
    use crate::corpus::CorpusDocument;
    use crate::demo;
    use crate::encoder::LexiconEncoder;
    use crate::files::resume::Encoding;

    fn demo_corpus() -> Vec<CorpusDocument> {
        demo::corpus(1)
    }

    /// A document that k-means has not seen joins the cluster of similar ones.
    #[test]
    fn a_sample_is_enough_for_clusters() {
        let encoder = LexiconEncoder::embedded();
        let documents = demo_corpus();
        let open = || Ok(documents.iter().cloned().map(Ok));
        let mut corpus = Encoded::new("demo", Encoding::new(&encoder), open);
        let all = by_clusters(&mut corpus, Some(12), 1, SAMPLE).unwrap();
        let half = by_clusters(&mut corpus, Some(12), 1, documents.len() / 2).unwrap();
        assert_eq!(half.sentences, all.sentences);
        assert_eq!(half.centre, all.centre);
        // Two documents of one topic are mostly in one cluster, of two topics seldom.
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
