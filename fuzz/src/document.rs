//! Documents over well-formed packs of arbitrary content, compared with a plain computation.

use arbitrary::{Result, Unstructured};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;

use crate::assemble::{Depth, depth_section, pack};
use crate::double::Repeated;

/// Enough for ties and parity; work grows with it.
const SENTENCES: usize = 31;

/// Builds a pack whose numbers are arbitrary, pushes arbitrary embeddings and releases.
///
/// Checked: the order of the sentences does not matter; levels are those of the depth computed here
/// from its definition; with ε = 1000 the release is a candidate of greatest depth.
pub fn document_release_is_total(data: &[u8]) {
    // Input that is too short for a document teaches nothing.
    let _ = release(&mut Unstructured::new(data));
}

fn release(u: &mut Unstructured<'_>) -> Result<()> {
    let dimension = u.int_in_range(1..=9)?;
    let candidates = u.int_in_range(1..=300)?;
    let directions = u.int_in_range(1..=4)?;
    let depth = Depth {
        exponent: u.int_in_range(-24..=24)?,
        shift: u.int_in_range(0..=31)?,
        directions: rows(u, directions, dimension)?,
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

    let bytes = pack(dimension as u32, "", &[(*b"DPTH", depth_section(&depth))]);
    let pack = Pack::parse(&bytes).expect("a well-formed pack");
    let document = |embeddings: &mut dyn Iterator<Item = &Vec<f32>>| {
        let mut document = Document::<SENTENCES, 4>::new(&pack).expect("few directions");
        for embedding in embeddings {
            document
                .push(embedding)
                .expect("the right length, and room");
        }
        document
    };
    let depths: Vec<usize> = (0..candidates)
        .map(|f| depth_of(&depth, &embeddings, f))
        .collect();
    let mut levels = Vec::new();
    hazmat::levels(&document(&mut embeddings.iter()), |block| {
        levels.extend(block.iter().map(|level| usize::from(*level)));
    });
    let expected: Vec<usize> = depths
        .iter()
        .map(|depth| embeddings.len() / 2 - depth)
        .collect();
    assert_eq!(levels, expected);
    for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
        let draw = |mut document: Document<'_, SENTENCES, 4>| {
            document.release(Epsilon::MAX, rule, &mut Repeated(&key))
        };
        let forwards = draw(document(&mut embeddings.iter()));
        assert_eq!(forwards, draw(document(&mut embeddings.iter().rev())));
        if Repeated(&key).works() {
            let drawn = forwards.expect("working entropy").candidate() as usize;
            // ε = 1000 counts as about 85: a worse level has a probability below 2^-40.
            assert_eq!(
                Some(&depths[drawn]),
                depths.iter().max(),
                "{rule:?} drew {drawn}"
            );
        }
    }
    Ok(())
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

/// min over directions of min(h, k − h), h the number of sentences whose code is at least the
/// candidate's.
fn depth_of(depth: &Depth, embeddings: &[Vec<f32>], candidate: usize) -> usize {
    (0..depth.directions.len())
        .map(|j| {
            let at_least = embeddings
                .iter()
                .filter(|embedding| code(depth, j, embedding) >= depth.codes[j][candidate])
                .count();
            at_least.min(embeddings.len() - at_least)
        })
        .min()
        .expect("at least one direction")
}

/// The code of a sentence on direction j, as `FORMAT.md` has it.
fn code(depth: &Depth, j: usize, embedding: &[f32]) -> u8 {
    let projection: i64 = embedding
        .iter()
        .zip(&depth.directions[j])
        .map(|(x, v)| {
            let scaled = f64::from(*x) * 2f64.powi(depth.exponent);
            let fixed = if x.is_finite() {
                scaled.round_ties_even().clamp(-32767.0, 32767.0) as i64
            } else {
                0
            };
            fixed * i64::from(*v)
        })
        .sum();
    let bucketed = (projection >> depth.shift).clamp(i32::MIN.into(), i32::MAX.into());
    let reached = depth.boundaries[j]
        .iter()
        .filter(|boundary| i64::from(**boundary) <= bucketed)
        .count();
    u8::try_from(reached).expect("255 boundaries")
}
