//! Checks that the vector of a sentence depends on that sentence alone.

use crate::{Check, Method};
use undertone::encoder::{Encoder, encode_all, encode_all_public};
use undertone::error::Result;
use undertone::progress::Progress;

/// Encodes the sentences in order, in reverse order, each twice in a row, in parallel on many
/// threads, and as public sentences, and compares the bits.
///
/// If the vector of a sentence depended on other sentences, one changed sentence would change
/// several vectors, and no promise for one sentence would hold.
///
/// # Errors
/// Errors of the encoder.
pub fn check(encoder: &dyn Encoder, sentences: &[&str]) -> Result<Vec<Check>> {
    let dimension = encoder.dimension();
    let one = |sentence: &&str| -> Result<Vec<u32>> {
        let mut row = vec![0.0; dimension];
        encoder.encode(sentence, &mut row)?;
        Ok(bits(&row))
    };
    let expected: Vec<Vec<u32>> = sentences.iter().map(one).collect::<Result<_>>()?;
    let mut backwards: Vec<Vec<u32>> = sentences.iter().rev().map(one).collect::<Result<_>>()?;
    backwards.reverse();
    let mut twice = Vec::new();
    for sentence in sentences {
        one(sentence)?;
        twice.push(one(sentence)?);
    }
    let together = encode_all(encoder, sentences, &Progress::hidden())?;
    let together: Vec<Vec<u32>> = together.chunks_exact(dimension).map(bits).collect();
    let public = encode_all_public(encoder, sentences, &Progress::hidden())?;
    let public: Vec<Vec<u32>> = public.chunks_exact(dimension).map(bits).collect();
    let ways = [
        ("in any order", backwards),
        ("twice running", twice),
        ("beside others", together),
        ("in batches", public),
    ];
    Ok(ways
        .into_iter()
        .map(|(way, found)| {
            let differ = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
            Check {
                mechanism: format!("encoder {}", encoder.identity().name),
                name: format!("same vectors {way}"),
                epsilon: None,
                method: Method::Exact,
                claimed: 0.0,
                measured: differ as f64,
                tried: found.len() as u64,
                passed: differ == 0 && found.len() == expected.len(),
                detail: "sentences whose vectors differ in some bit".to_owned(),
            }
        })
        .collect())
}

fn bits(row: &[f32]) -> Vec<u32> {
    row.iter().map(|x| x.to_bits()).collect()
}
