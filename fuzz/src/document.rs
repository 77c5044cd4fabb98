//! Documents over well-formed packs of arbitrary content, compared with a plain computation.

use arbitrary::{Result, Unstructured};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::features::{FeatureKinds, each_feature};
use undertone_core::hazmat;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;

use crate::assemble::{
    Depth, Features, Layer, Recoder, Scores, depth_section, features_section, pack,
    recoder_section, scores_section,
};
use crate::double::Repeated;

/// Enough for ties and parity; work grows with it.
const SENTENCES: usize = 31;

/// 300 candidates take three rows for their sums and five each for their values and their features.
const ROWS: usize = 13;

/// Builds a pack whose numbers are arbitrary, pushes arbitrary embeddings and releases.
///
/// Checked: the order of the sentences does not matter. Levels are those of the depth or the scores
/// computed here from their definitions, with and without a recoder and features. With ε = 1000 the
/// release is a candidate of the best level, unless a level gets only a small part of ε. The best
/// outcome for the whole text is that of its definition, and with ε = 1000 it is released.
pub fn document_release_is_total(data: &[u8]) {
    // Input that is too short for a document teaches nothing.
    let _ = release(&mut Unstructured::new(data));
}

enum Selector {
    Depth(Depth),
    Scores(Scores, Option<Features>),
}

/// A sentence: its embedding, and a text where there are features.
type Sentence = (Vec<f32>, Vec<u8>);

fn release(u: &mut Unstructured<'_>) -> Result<()> {
    let dimension = u.int_in_range(1..=9)?;
    let recoder = if u.arbitrary()? {
        Some(recoder(u, dimension)?)
    } else {
        None
    };
    let inputs = recoder.as_ref().map_or(dimension, |recoder| {
        recoder.layers.last().expect("a layer").bias.len()
    });
    let kind: u8 = u.int_in_range(0..=3)?;
    let candidates = u.int_in_range(1..=300)?;
    let selector = if kind == 0 {
        Selector::Depth(depth(u, inputs, candidates, recoder.is_some())?)
    } else {
        let scores = scores(u, inputs, candidates, recoder.is_some(), kind)?;
        let features = match kind {
            3 => Some(features(u, candidates)?),
            _ => None,
        };
        Selector::Scores(scores, features)
    };
    let key: [u8; 32] = u.arbitrary()?;
    let mut sentences: Vec<Sentence> = Vec::new();
    while !u.is_empty() && sentences.len() < SENTENCES {
        let embedding = (0..dimension).map(|_| u.arbitrary());
        let embedding = embedding.collect::<Result<Vec<f32>>>()?;
        sentences.push((embedding, if kind == 3 { text(u)? } else { Vec::new() }));
    }

    let mut sections = Vec::new();
    sections.extend(recoder.iter().map(|r| (*b"RCOD", recoder_section(r))));
    sections.push(match &selector {
        Selector::Depth(depth) => (*b"DPTH", depth_section(depth)),
        Selector::Scores(scores, _) => (*b"SCOR", scores_section(scores)),
    });
    if let Selector::Scores(_, Some(features)) = &selector {
        sections.push((*b"FEAT", features_section(features)));
    }
    let bytes = pack(dimension as u32, "", &sections);
    let pack = Pack::parse(&bytes).expect("a well-formed pack");
    let document = |sentences: &mut dyn Iterator<Item = &Sentence>| {
        let mut document = Document::<SENTENCES, ROWS>::with_limits(&pack).expect("few directions");
        for (embedding, text) in sentences {
            document
                .push_encoded(text, embedding)
                .expect("the right length, and room");
        }
        document
    };
    let (expected, steps, best) = match &selector {
        Selector::Depth(depth) => {
            let inputs = inputs_of(&sentences, recoder.as_ref(), depth.exponent);
            let depth_of = |candidate| inputs.len() / 2 - depth_of(depth, &inputs, candidate);
            ((0..candidates).map(depth_of).collect(), 1, None)
        }
        Selector::Scores(scores, features) => {
            let sums: Vec<_> = sentences
                .iter()
                .map(|(_, text)| {
                    features
                        .as_ref()
                        .and_then(|features| feature_sums(features, text))
                })
                .collect();
            let inputs = inputs_of(&sentences, recoder.as_ref(), scores.exponent);
            let outputs: Vec<Outputs> = inputs
                .iter()
                .zip(&sums)
                .map(|(input, sums)| outputs_of(scores, input, sums.as_deref()))
                .collect();
            let exponent = recoder.as_ref().map_or(scores.exponent, |r| r.exponent);
            let known = sentences.iter().zip(&sums).map(|((embedding, _), sums)| {
                sums.is_some() || embedding.iter().any(|x| fixed(x, exponent) != 0)
            });
            let known = outputs.iter().zip(known).filter(|(_, known)| *known);
            (
                score_levels(scores, &outputs),
                scores.thresholds.len().max(1),
                Some(best_of(known.map(|(outputs, _)| outputs), candidates)),
            )
        }
    };
    let mut levels = Vec::new();
    hazmat::levels(&document(&mut sentences.iter()), |block| {
        levels.extend(block.iter().map(|level| usize::from(*level)));
    });
    assert_eq!(levels, expected);
    for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
        let draw = |mut document: Document<'_, SENTENCES, ROWS>| {
            document.release(
                Grant::unrecorded(Unit::Sentence, Epsilon::MAX),
                rule,
                &mut Repeated(&key),
            )
        };
        let forwards = draw(document(&mut sentences.iter()));
        assert_eq!(forwards, draw(document(&mut sentences.iter().rev())));
        if Repeated(&key).works() {
            let drawn = forwards.expect("working entropy").number() as usize;
            assert!(drawn < candidates);
            // ε = 1000 counts as about 85, and 1000/11 still does: a worse level has a probability
            // below 2^-40.
            if steps <= 11 {
                let best = expected.iter().min();
                assert_eq!(Some(&expected[drawn]), best, "{rule:?} drew {drawn}");
            }
        }
    }
    let mut document = document(&mut sentences.iter());
    assert_eq!(hazmat::best(&document).ok(), best);
    let grant = Grant::unrecorded(Unit::WholeText, Epsilon::MAX);
    let released = document.release_whole_text(grant, &mut Repeated(&key));
    if Repeated(&key).works() {
        // Every other outcome has a probability of 2^-48.
        assert_eq!(released.ok().map(|release| release.number()), best);
    }
    Ok(())
}

fn depth(
    u: &mut Unstructured<'_>,
    inputs: usize,
    candidates: usize,
    recoded: bool,
) -> Result<Depth> {
    let directions = u.int_in_range(1..=4)?;
    Ok(Depth {
        exponent: exponent(u, recoded)?,
        shift: u.int_in_range(0..=31)?,
        directions: rows(u, directions, inputs)?,
        // Few different boundaries, in any order, so that the input stays short.
        boundaries: rows(u, directions, 5)?
            .into_iter()
            .map(|row: Vec<i32>| row.into_iter().cycle().take(255).collect())
            .collect(),
        codes: rows(u, directions, 7)?
            .into_iter()
            .enumerate()
            .map(|(j, row): (usize, Vec<u8>)| {
                (0..candidates)
                    .map(|i| row[i % row.len()].wrapping_add((i / 7 * j) as u8))
                    .collect()
            })
            .collect(),
    })
}

fn scores(
    u: &mut Unstructured<'_>,
    inputs: usize,
    candidates: usize,
    recoded: bool,
    kind: u8,
) -> Result<Scores> {
    let exponent = exponent(u, recoded)?;
    let centre = (0..inputs).map(|_| u.arbitrary());
    let centre = centre.collect::<Result<_>>()?;
    // Few different heads, so that the input stays short; ties between them.
    let weights: Vec<Vec<i8>> = rows(u, 3, inputs)?;
    let bias: Vec<Vec<i32>> = rows(u, 1, 5)?;
    let thresholds = match kind {
        2 => Vec::new(),
        _ => {
            let largest = u.int_in_range(1..=255)?;
            let few: Vec<Vec<i32>> = rows(u, 1, 6)?;
            let spread = (0..largest).map(|i| few[0][i % 6].wrapping_add((i / 6 * i) as i32));
            spread.collect()
        }
    };
    Ok(Scores {
        exponent,
        centre,
        weights: (0..candidates)
            .map(|i| {
                let row = weights[i % 3].iter();
                row.map(|w| w.wrapping_add((i / 3) as i8)).collect()
            })
            .collect(),
        bias: (0..candidates).map(|i| bias[0][i % 5]).collect(),
        thresholds,
        levels: *u.choose(&[0, 2, 3, 40, 159, 160])?,
        featured: kind == 3,
    })
}

/// Few words, so that texts have features; more than a text contains.
const WORDS: [&str; 7] = ["a", "dog", "isn't", "été", "東京", "สวัสดี", "?!🙂"];

/// Words and separators, or arbitrary bytes.
fn text(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    if u.ratio(1, 4)? {
        return u.arbitrary();
    }
    let mut text = Vec::new();
    for _ in 0..u.int_in_range(0..=5)? {
        text.extend(u.choose(&WORDS)?.as_bytes());
        text.push(*u.choose(b" .'\xff")?);
    }
    Ok(text)
}

fn features(u: &mut Unstructured<'_>, candidates: usize) -> Result<Features> {
    let most = u.int_in_range(0..=8)?;
    let kinds = FeatureKinds {
        words: u.arbitrary()?,
        pairs: u.arbitrary()?,
        symbols: u.arbitrary()?,
        least: u.int_in_range(1..=most.max(1))?,
        most,
    };
    let bucket_bits = u.int_in_range(0..=6)?;
    let weights: Vec<Vec<i8>> = rows(u, 3, 5)?;
    let mut hashes: Vec<u32> = vec![0, u32::MAX, u.arbitrary()?];
    let text = WORDS.join(" ");
    each_feature(text.as_bytes(), kinds, |hash| hashes.push(hash));
    let row = |i: usize| {
        (0..candidates)
            .map(|c| weights[i % 3][(c + i) % 5])
            .collect()
    };
    let scales: Vec<Vec<u16>> = rows(u, 1, 3)?;
    Ok(Features {
        kinds,
        alone: u.arbitrary()?,
        bucket_bits,
        shift: u.int_in_range(0..=63)?,
        rows: (0..)
            .zip(hashes)
            .map(|(i, hash)| (u64::from(hash) >> (16 - u32::from(bucket_bits)), row(i)))
            .collect(),
        scales: scales[0].iter().copied().cycle().take(candidates).collect(),
    })
}

/// The sums of the features of a text by candidate, `None` if no feature is known.
fn feature_sums(features: &Features, text: &[u8]) -> Option<Vec<i128>> {
    let mut sums = vec![0i128; features.scales.len()];
    let mut found = 0u64;
    each_feature(text, features.kinds, |hash| {
        let place = u64::from(hash) >> (16 - u32::from(features.bucket_bits));
        if let Some(row) = features.rows.get(&place) {
            found += 1;
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum += i128::from(*weight);
            }
        }
    });
    let root = i128::from((1u64 << 32).checked_div(found)?.isqrt());
    let value = |(sum, scale): (&i128, &u16)| {
        let value = (sum * i128::from(*scale) * root) >> features.shift;
        value.clamp(-(1 << 30), 1 << 30)
    };
    Some(sums.iter().zip(&features.scales).map(value).collect())
}

fn recoder(u: &mut Unstructured<'_>, dimension: usize) -> Result<Recoder> {
    let exponent = exponent(u, false)?;
    let mut inputs = dimension;
    let mut layers = Vec::new();
    for _ in 0..u.int_in_range(1..=4)? {
        let outputs = u.int_in_range(1..=9)?;
        layers.push(Layer {
            weights: rows(u, outputs, inputs)?,
            bias: rows(u, 1, outputs)?.remove(0),
            shift: u.int_in_range(0..=62)?,
        });
        inputs = outputs;
    }
    Ok(Recoder { exponent, layers })
}

fn exponent(u: &mut Unstructured<'_>, recoded: bool) -> Result<i32> {
    if recoded {
        Ok(0)
    } else {
        u.int_in_range(-24..=24)
    }
}

fn rows<T: for<'a> arbitrary::Arbitrary<'a>>(
    u: &mut Unstructured<'_>,
    rows: usize,
    columns: usize,
) -> Result<Vec<Vec<T>>> {
    (0..rows)
        .map(|_| (0..columns).map(|_| u.arbitrary()).collect())
        .collect()
}

/// A coordinate as an integer.
fn fixed(x: &f32, exponent: i32) -> i64 {
    let scaled = f64::from(*x) * 2f64.powi(exponent);
    if x.is_finite() {
        scaled.round_ties_even().clamp(-32767.0, 32767.0) as i64
    } else {
        0
    }
}

/// The inputs of a selector for every embedding, by `FORMAT.md`.
fn inputs_of(sentences: &[Sentence], recoder: Option<&Recoder>, exponent: i32) -> Vec<Vec<i64>> {
    sentences
        .iter()
        .map(|(embedding, _)| {
            let exponent = recoder.map_or(exponent, |recoder| recoder.exponent);
            let start = embedding.iter().map(|x| fixed(x, exponent)).collect();
            let layers = recoder.iter().flat_map(|recoder| &recoder.layers);
            layers.fold(start, |inputs: Vec<i64>, layer| {
                let rows = layer.weights.iter().zip(&layer.bias);
                rows.map(|(row, bias)| {
                    let products = row.iter().zip(&inputs).map(|(w, x)| i64::from(*w) * x);
                    let sum = i128::from(products.sum::<i64>()) + i128::from(*bias);
                    let sum = sum.clamp(i64::MIN.into(), i64::MAX.into()) >> layer.shift;
                    sum.clamp(0, 32767) as i64
                })
                .collect()
            })
        })
        .collect()
}

/// z of every candidate for one sentence, and the norm.
type Outputs = (Vec<i128>, i128);

fn outputs_of(scores: &Scores, sentence: &[i64], sums: Option<&[i128]>) -> Outputs {
    let y: Vec<i128> = sentence
        .iter()
        .zip(&scores.centre)
        .map(|(x, centre)| i128::from((x - i64::from(*centre)).clamp(-32767, 32767)))
        .collect();
    let norm = y.iter().map(|y| y * y).sum::<i128>().isqrt().max(1);
    let heads = scores.weights.iter().zip(&scores.bias).enumerate();
    let output = |(candidate, (row, bias)): (usize, (&Vec<i8>, &i32))| {
        let products = row.iter().zip(&y).map(|(w, y)| i128::from(*w) * y);
        let sums = sums.map_or(0, |sums| sums[candidate]);
        256 * products.sum::<i128>() + (i128::from(*bias) + sums) * norm
    };
    (heads.map(output).collect(), norm)
}

/// min(best − sum, L − 1) with the sums of the scores.
fn score_levels(scores: &Scores, sentences: &[Outputs]) -> Vec<usize> {
    let mut sums = vec![0usize; scores.bias.len()];
    for (outputs, norm) in sentences {
        let largest = outputs.iter().max().expect("a candidate");
        let winner = outputs.iter().position(|z| z == largest);
        for (candidate, (sum, z)) in sums.iter_mut().zip(outputs).enumerate() {
            *sum += if scores.thresholds.is_empty() {
                usize::from(Some(candidate) == winner)
            } else {
                let reached = |t: &&i32| i128::from(**t) * norm <= *z;
                scores.thresholds.iter().filter(reached).count()
            };
        }
    }
    let best = sums.iter().max().copied().expect("a candidate");
    let worst = match scores.levels {
        0 => 159,
        levels => levels as usize - 1,
    };
    sums.iter().map(|sum| (best - sum).min(worst)).collect()
}

/// The first candidate with the largest sum of z/norm, limited to ±2²² a sentence; the number of
/// candidates if there is no sentence.
fn best_of<'a>(sentences: impl Iterator<Item = &'a Outputs>, candidates: usize) -> u32 {
    let mut sums = vec![0i128; candidates];
    let mut known = false;
    for (outputs, norm) in sentences {
        known = true;
        for (sum, z) in sums.iter_mut().zip(outputs) {
            let z = *z.clamp(&-(norm << 22), &(norm << 22));
            *sum += (z * ((1 << 40) / norm)) >> 40;
        }
    }
    let largest = sums.iter().max().expect("a candidate");
    let first = sums.iter().position(|sum| sum == largest);
    if known {
        first.expect("one of them") as u32
    } else {
        candidates as u32
    }
}

/// min over directions of min(h, k − h), where h is the number of sentences whose code is at least
/// the candidate's.
fn depth_of(depth: &Depth, inputs: &[Vec<i64>], candidate: usize) -> usize {
    (0..depth.directions.len())
        .map(|j| {
            let at_least = inputs
                .iter()
                .filter(|input| code(depth, j, input) >= depth.codes[j][candidate])
                .count();
            at_least.min(inputs.len() - at_least)
        })
        .min()
        .expect("at least one direction")
}

/// The code of a sentence on direction j, from `FORMAT.md`.
fn code(depth: &Depth, j: usize, input: &[i64]) -> u8 {
    let products = input.iter().zip(&depth.directions[j]);
    let projection: i64 = products.map(|(x, v)| x * i64::from(*v)).sum();
    let bucketed = (projection >> depth.shift).clamp(i32::MIN.into(), i32::MAX.into());
    let reached = depth.boundaries[j]
        .iter()
        .filter(|boundary| i64::from(**boundary) <= bucketed)
        .count();
    u8::try_from(reached).expect("255 boundaries")
}
