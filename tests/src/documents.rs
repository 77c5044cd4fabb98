//! Test documents and their neighbours.

use proptest::prelude::*;
use undertone_core::document::Document;
use undertone_core::hazmat;

/// The embeddings of the sentences of a document.
pub type SentenceList = Vec<Vec<f32>>;

/// Settings for `cases` cases, or forty times that if `UNDERTONE_SOAK=1`.
pub fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if crate::soak() { 40 * cases } else { cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Any floats, with a higher frequency of special values.
pub fn coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => (-40i8..=40).prop_map(|n| f32::from(n) / 8.0),
        1 => any::<u32>().prop_map(f32::from_bits),
        1 => prop::sample::select(vec![
            f32::NAN,
            -f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            0.0,
            -0.0,
            f32::MIN_POSITIVE,
            f32::from_bits(1),
            f32::MAX,
            f32::MIN,
            0.5,
            1.5,
            -2.5,
        ]),
    ]
}

/// The levels of all candidates.
pub fn levels_of<const K: usize, const P: usize>(document: &Document<'_, K, P>) -> Vec<u8> {
    let mut levels = Vec::new();
    hazmat::levels(document, |block| levels.extend_from_slice(block));
    levels
}

/// Every list with one element exchanged for one of the pool or of the list.
pub fn replacements<T: Clone>(document: &[T], pool: &[T]) -> Vec<Vec<T>> {
    let mut all = Vec::new();
    for i in 0..document.len() {
        for other in pool.iter().chain(document) {
            let mut changed = document.to_vec();
            changed[i].clone_from(other);
            all.push(changed);
        }
    }
    all
}

/// Every list with one more element.
pub fn insertions<T: Clone>(document: &[T], pool: &[T]) -> Vec<Vec<T>> {
    let longer = |other: &T| [document, std::slice::from_ref(other)].concat();
    pool.iter().chain(document).map(longer).collect()
}

/// Every list with one element less.
pub fn removals<T: Clone>(document: &[T]) -> Vec<Vec<T>> {
    let shorter = |i| [&document[..i], &document[i + 1..]].concat();
    (0..document.len()).map(shorter).collect()
}
