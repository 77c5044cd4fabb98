//! Documents over well-formed packs of arbitrary content, compared with a plain computation.

use arbitrary::{Result, Unstructured};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;

use crate::assemble::{
    Depth, Layer, Recoder, Scores, depth_section, pack, recoder_section, scores_section,
};
use crate::double::Repeated;

/// Enough for ties and parity; work grows with it.
const SENTENCES: usize = 31;

/// Builds a pack whose numbers are arbitrary, pushes arbitrary embeddings and releases.
///
/// Checked: the order of the sentences does not matter; levels are those of the depth or the scores
/// computed here from their definitions, behind a recoder or not; with ε = 1000 the release is a
/// candidate of the best level, unless there is little of it for a level.
pub fn document_release_is_total(data: &[u8]) {
    // Input that is too short for a document teaches nothing.
    let _ = release(&mut Unstructured::new(data));
}

enum Selector {
    Depth(Depth),
    Scores(Scores),
}

fn release(u: &mut Unstructured<'_>) -> Result<()> {
    let dimension = u.int_in_range(1..=9)?;
    let recoder = match u.arbitrary()? {
        true => Some(recoder(u, dimension)?),
        false => None,
    };
    let inputs = recoder.as_ref().map_or(dimension, |recoder| {
        recoder.layers.last().expect("a layer").bias.len()
    });
    let kind: u8 = u.int_in_range(0..=2)?;
    let candidates = u.int_in_range(1..=300)?;
    let selector = if kind == 0 {
        Selector::Depth(depth(u, inputs, candidates, recoder.is_some())?)
    } else {
        Selector::Scores(scores(u, inputs, candidates, recoder.is_some(), kind == 2)?)
    };
    let key: [u8; 32] = u.arbitrary()?;
    let mut embeddings = Vec::new();
    while !u.is_empty() && embeddings.len() < SENTENCES {
        embeddings.push(
            (0..dimension)
                .map(|_| u.arbitrary())
                .collect::<Result<Vec<f32>>>()?,
        );
    }

    let mut sections = Vec::new();
    sections.extend(recoder.iter().map(|r| (*b"RCOD", recoder_section(r))));
    sections.push(match &selector {
        Selector::Depth(depth) => (*b"DPTH", depth_section(depth)),
        Selector::Scores(scores) => (*b"SCOR", scores_section(scores)),
    });
    let bytes = pack(dimension as u32, "", &sections);
    let pack = Pack::parse(&bytes).expect("a well-formed pack");
    let document = |embeddings: &mut dyn Iterator<Item = &Vec<f32>>| {
        let mut document = Document::<SENTENCES, 4>::with_limits(&pack).expect("few directions");
        for embedding in embeddings {
            document
                .push(embedding)
                .expect("the right length, and room");
        }
        document
    };
    let (expected, steps) = match &selector {
        Selector::Depth(depth) => {
            let inputs = inputs_of(&embeddings, recoder.as_ref(), depth.exponent);
            let depth_of = |candidate| inputs.len() / 2 - depth_of(depth, &inputs, candidate);
            ((0..candidates).map(depth_of).collect(), 1)
        }
        Selector::Scores(scores) => {
            let inputs = inputs_of(&embeddings, recoder.as_ref(), scores.exponent);
            (
                score_levels(scores, &inputs),
                scores.thresholds.len().max(1),
            )
        }
    };
    let mut levels = Vec::new();
    hazmat::levels(&document(&mut embeddings.iter()), |block| {
        levels.extend(block.iter().map(|level| usize::from(*level)));
    });
    assert_eq!(levels, expected);
    for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
        let draw = |mut document: Document<'_, SENTENCES, 4>| {
            document.release(Grant::unrecorded(Epsilon::MAX), rule, &mut Repeated(&key))
        };
        let forwards = draw(document(&mut embeddings.iter()));
        assert_eq!(forwards, draw(document(&mut embeddings.iter().rev())));
        if Repeated(&key).works() {
            let drawn = forwards.expect("working entropy").candidate() as usize;
            assert!(drawn < candidates);
            // ε = 1000 counts as about 85, and 1000/11 still does: a worse level has a probability
            // below 2^-40.
            if steps <= 11 {
                let best = expected.iter().min();
                assert_eq!(Some(&expected[drawn]), best, "{rule:?} drew {drawn}");
            }
        }
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
    vote: bool,
) -> Result<Scores> {
    let exponent = exponent(u, recoded)?;
    let centre = (0..inputs).map(|_| u.arbitrary());
    let centre = centre.collect::<Result<_>>()?;
    // Few different heads, so that the input stays short; ties between them.
    let weights: Vec<Vec<i8>> = rows(u, 3, inputs)?;
    let bias: Vec<Vec<i32>> = rows(u, 1, 5)?;
    let thresholds = match vote {
        true => Vec::new(),
        false => {
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
    })
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

/// What a selector sees of every embedding, as `FORMAT.md` has it.
fn inputs_of(embeddings: &[Vec<f32>], recoder: Option<&Recoder>, exponent: i32) -> Vec<Vec<i64>> {
    let fixed = |x: &f32, exponent: i32| {
        let scaled = f64::from(*x) * 2f64.powi(exponent);
        if x.is_finite() {
            scaled.round_ties_even().clamp(-32767.0, 32767.0) as i64
        } else {
            0
        }
    };
    embeddings
        .iter()
        .map(|embedding| {
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

/// min(best − sum, 159) with the sums of the scores.
fn score_levels(scores: &Scores, inputs: &[Vec<i64>]) -> Vec<usize> {
    let mut sums = vec![0usize; scores.bias.len()];
    for sentence in inputs {
        let y: Vec<i128> = sentence
            .iter()
            .zip(&scores.centre)
            .map(|(x, centre)| i128::from((x - i64::from(*centre)).clamp(-32767, 32767)))
            .collect();
        let norm = y.iter().map(|y| y * y).sum::<i128>().isqrt().max(1);
        let outputs: Vec<i128> = scores
            .weights
            .iter()
            .zip(&scores.bias)
            .map(|(row, bias)| {
                let products = row.iter().zip(&y).map(|(w, y)| i128::from(*w) * y);
                256 * products.sum::<i128>() + i128::from(*bias) * norm
            })
            .collect();
        let largest = outputs.iter().max().expect("a candidate");
        let winner = outputs.iter().position(|z| z == largest);
        for (candidate, (sum, z)) in sums.iter_mut().zip(&outputs).enumerate() {
            *sum += if scores.thresholds.is_empty() {
                usize::from(Some(candidate) == winner)
            } else {
                let reached = |t: &&i32| i128::from(**t) * norm <= *z;
                scores.thresholds.iter().filter(reached).count()
            };
        }
    }
    let best = sums.iter().max().copied().expect("a candidate");
    sums.iter().map(|sum| (best - sum).min(159)).collect()
}

/// min over directions of min(h, k − h), h the number of sentences whose code is at least the
/// candidate's.
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

/// The code of a sentence on direction j, as `FORMAT.md` has it.
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
