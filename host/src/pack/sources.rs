//! Sources of public documents, for the variance of estimates between sources.
//!
//! Private texts come from other sources than public ones: other authors, products, years. A field
//! of the corpus may name the source of each document. Otherwise the documents of each label are
//! clustered, and the clusters take the place of sources.

use std::collections::BTreeSet;

use super::calibration::{BySource, Calibration};
use super::heads::with_sentences;
use super::kmeans::{kmeans, normalised};
use crate::encoder::vectors::{DocumentVectors, principal};
use crate::error::{Error, Result};

/// Clusters of each label, if no field names sources.
const CLUSTERS: usize = 10;

/// Principal directions in which documents are clustered.
const DIRECTIONS: usize = 50;

/// Fewest documents of a cluster on average: the means of smaller ones are noise.
const FEWEST: usize = 8;

/// The source of each document.
pub(super) struct Sources {
    /// Empty for clusters.
    names: Vec<String>,
    /// `[documents]`. Clusters of different labels share numbers.
    of_documents: Vec<usize>,
}

impl Sources {
    /// The sources that a field names.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) if the texts of a label have one source
    /// only, because nothing can be compared then.
    pub(super) fn named(
        names: Vec<String>,
        of_documents: Vec<usize>,
        classes: &[usize],
        labels: &[String],
    ) -> Result<Self> {
        let mut met = vec![BTreeSet::new(); labels.len()];
        for (source, class) in of_documents.iter().zip(classes) {
            met[*class].insert(*source);
        }
        match met.iter().position(|own| own.len() < 2) {
            Some(class) => Err(Error::input(format!(
                "all texts with the label {:?} are of one source, so sources cannot be \
                 compared; name a field in which each label has at least two values",
                labels[class]
            ))),
            None => Ok(Self {
                names,
                of_documents,
            }),
        }
    }

    /// Clusters the documents of each class. `None` if a class has too few.
    pub(super) fn guessed(
        vectors: &DocumentVectors,
        centre: &[f32],
        classes: &[usize],
        count: usize,
        seed: u64,
    ) -> Result<Option<Self>> {
        let dimension = vectors.dimension();
        let means = normalised(&vectors.means(), dimension, centre);
        let n = DIRECTIONS.min(dimension);
        let (centred, directions) = principal(&means, dimension, n);
        let points = centred * directions;
        let mut of_documents = vec![0; vectors.len()];
        for class in 0..count {
            let own: Vec<usize> = with_sentences(vectors)
                .filter(|document| classes[*document] == class)
                .collect();
            let clusters = CLUSTERS.min(own.len() / FEWEST);
            if clusters < 2 {
                return Ok(None);
            }
            let mut rows = Vec::with_capacity(own.len() * n);
            for document in &own {
                rows.extend(points.row(*document).iter().map(|x| *x as f32));
            }
            let found = kmeans(&rows, n, clusters, seed)?;
            for (document, cluster) in own.iter().zip(found.assignment) {
                of_documents[*document] = cluster;
            }
        }
        Ok(Some(Self {
            names: Vec::new(),
            of_documents,
        }))
    }

    /// Splits `documents` into at most `count` folds, whole sources at a time: the largest source
    /// first, into the smallest fold.
    pub(super) fn folds(
        &self,
        documents: impl Iterator<Item = usize>,
        count: usize,
    ) -> Vec<Vec<usize>> {
        let sources = self.of_documents.iter().max().map_or(0, |last| last + 1);
        let mut of_sources = vec![Vec::new(); sources];
        for document in documents {
            of_sources[self.of_documents[document]].push(document);
        }
        of_sources.sort_by_key(|own| std::cmp::Reverse(own.len()));
        let mut folds = vec![Vec::new(); count];
        for own in of_sources {
            let smallest = folds.iter_mut().min_by_key(|fold| fold.len());
            smallest.expect("there are folds").extend(own);
        }
        folds.retain(|fold| !fold.is_empty());
        folds
    }

    /// Names the sources of the texts of a calibration, which are these documents in order.
    pub(super) fn of(&self, texts: Calibration, documents: &[usize]) -> BySource {
        let source = |document: &usize| self.of_documents[*document] as u32;
        BySource {
            names: self.names.clone(),
            of_texts: documents.iter().map(source).collect(),
            texts,
        }
    }
}
