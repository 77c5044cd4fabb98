//! Checks that all ways and orders to push sentences result in the same levels.

use undertone_core::rng::{PublicRng, below};

use crate::exact::inside::Sentences;
use crate::sampled::device::Document;
use crate::{Check, Method};
use undertone::release::document::MAX_SENTENCES;

/// Lengths of documents: an error may appear only after a hundred sentences, and documents have a
/// maximum length.
const LENGTHS: [usize; 13] = [
    0,
    1,
    2,
    3,
    4,
    5,
    8,
    33,
    100,
    101,
    MAX_SENTENCES - 1,
    MAX_SENTENCES,
    MAX_SENTENCES + 3,
];

/// Documents of each length.
const DOCUMENTS: usize = 4;

/// Compares the levels of documents by all ways to push their sentences.
///
/// `pool`: sentences as embeddings; it may be empty.
pub(crate) fn check(mechanism: &dyn Sentences, pool: &[Vec<f32>], seed: u64) -> Check {
    let typed = mechanism.typed();
    let mut rng = PublicRng::new(seed ^ 0x7e57_3a75);
    let mut documents = Vec::new();
    for length in LENGTHS.into_iter().flat_map(|length| [length; DOCUMENTS]) {
        // Every other sentence is the successor of the previous one in the pool.
        let mut place = 0;
        let mut choose = |n: usize| {
            place = match below(&mut rng, 2) {
                0 => (place + 1) % n,
                _ => below(&mut rng, n as u128) as usize,
            };
            place
        };
        if !typed.is_empty() {
            let texts = (0..length).map(|_| typed[choose(typed.len())].clone());
            documents.push(Document::Texts(texts.collect()));
        }
        if !pool.is_empty() {
            let rows = (0..length).map(|_| pool[choose(pool.len())].clone());
            documents.push(mechanism.document(&rows.collect::<Vec<_>>()));
        }
    }
    let mut tried = 0;
    let mut wrong = Vec::new();
    for document in &documents {
        let ways = mechanism.ways(document);
        for (way, levels) in &ways {
            tried += 1;
            if *levels != ways[0].1 {
                wrong.push((document.len(), *way));
            }
        }
    }
    Check {
        mechanism: mechanism.name(),
        name: "levels by every way to push".to_owned(),
        epsilon: None,
        method: Method::Exact,
        claimed: 0.0,
        measured: wrong.len() as f64,
        tried,
        passed: wrong.is_empty(),
        detail: match wrong.iter().min() {
            None => {
                "documents whose levels depend on how or in which order they are pushed".to_owned()
            }
            Some((sentences, way)) => format!(
                "documents whose levels depend on how or in which order they are pushed, the shortest of {sentences} \
                 sentences by {way}"
            ),
        },
    }
}
