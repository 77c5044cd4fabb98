//! Documents over packs of many shapes, on every backend of this processor.

use arbitrary::{Result, Unstructured};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::kernels::Backend;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;

use crate::assemble::{
    Depth, Layer, Recoder, Scores, depth_section, pack, recoder_section, scores_section,
};
use crate::double::Repeated;

/// Limits on the work for a document, so that an input takes milliseconds: products of a coordinate
/// and a weight, comparisons with a threshold, counts, and codes of candidates.
const WORK: usize = 1 << 17;

/// Draws a pack of arbitrary sizes and a document, and releases it on every backend.
///
/// Checked: levels and releases are those of the plain backend, whether sentences come one by one
/// or together.
pub fn document_backends_agree(data: &[u8]) {
    // Input that is too short for a document teaches nothing.
    let _ = compare(&mut Unstructured::new(data));
}

/// Numbers from a seed, of a magnitude from the input: kernels differ at the ends of ranges first.
struct Numbers {
    rng: PublicRng,
    kind: u8,
}

impl Numbers {
    fn new(u: &mut Unstructured<'_>) -> Result<Self> {
        Ok(Self {
            rng: PublicRng::new(u.arbitrary()?),
            kind: u.arbitrary()?,
        })
    }

    fn next(&mut self) -> i64 {
        let word = self.rng.next_u64();
        // Some of each kind in every array, most of one kind.
        let kind = if word & 7 == 0 {
            word >> 3
        } else {
            self.kind.into()
        };
        let number = self.rng.next_u64() as i64;
        match kind % 5 {
            0 => number >> 60,
            1 => number >> 48,
            2 => i64::MAX ^ (number >> 63),
            3 => (i64::MAX ^ (number >> 63)).wrapping_add(number >> 58 & 7),
            _ => number,
        }
    }

    /// The top bits, so that ends stay ends.
    fn top<T>(&mut self, count: usize, cut: impl Fn(i64) -> T) -> Vec<T> {
        (0..count).map(|_| cut(self.next())).collect()
    }

    fn rows<T>(&mut self, rows: usize, columns: usize, cut: impl Fn(i64) -> T) -> Vec<Vec<T>> {
        (0..rows).map(|_| self.top(columns, &cut)).collect()
    }
}

/// A small number as it is, a large one by its top bits.
fn cut(number: i64, bits: u32) -> i64 {
    if number.unsigned_abs() >> (bits - 1) == 0 {
        number
    } else {
        number >> (64 - bits)
    }
}

fn compare(u: &mut Unstructured<'_>) -> Result<()> {
    let mut numbers = Numbers::new(u)?;
    let dimension = size(u, 1024)?;
    let sentences = size(u, 128)?.min((WORK / dimension).max(1));
    let products = dimension * sentences;
    let recoder = if u.ratio(1, 3)? {
        let mut inputs = dimension;
        let mut layers = Vec::new();
        for _ in 0..u.int_in_range(1..=4)? {
            let outputs = size(u, 300)?.min((WORK / products).max(1));
            numbers.kind = u.arbitrary()?;
            layers.push(Layer {
                weights: numbers.rows(outputs, inputs, |x| cut(x, 16) as i16),
                bias: numbers.top(outputs, |x| x),
                shift: u.int_in_range(0..=62)?,
            });
            inputs = outputs;
        }
        let exponent = u.int_in_range(-24..=24)?;
        Some(Recoder { exponent, layers })
    } else {
        None
    };
    let inputs = recoder.as_ref().map_or(dimension, |recoder| {
        recoder.layers.last().expect("a layer").bias.len()
    });
    let most = |each: usize| (WORK / sentences / inputs.max(each)).max(1);
    let exponent = if recoder.is_some() {
        0
    } else {
        u.int_in_range(-24..=24)?
    };
    numbers.kind = u.arbitrary()?;
    let mut sections = Vec::new();
    sections.extend(recoder.iter().map(|r| (*b"RCOD", recoder_section(r))));
    if u.arbitrary()? {
        let directions = size(u, 100)?.min(most(256));
        let candidates = size(u, 4000)?.min((WORK / directions).max(1));
        sections.push((
            *b"DPTH",
            depth_section(&Depth {
                exponent,
                shift: u.int_in_range(0..=31)?,
                directions: numbers.rows(directions, inputs, |x| cut(x, 16) as i16),
                boundaries: numbers.rows(directions, 255, |x| cut(x, 32) as i32),
                codes: numbers.rows(directions, candidates, |x| x as u8),
            }),
        ));
    } else {
        let thresholds = if u.arbitrary()? {
            0
        } else {
            u.int_in_range(1..=255)?
        };
        let candidates = size(u, 4000)?.min(most(thresholds));
        sections.push((
            *b"SCOR",
            scores_section(&Scores {
                exponent,
                centre: numbers.top(inputs, |x| cut(x, 16) as i16),
                weights: numbers.rows(candidates, inputs, |x| cut(x, 8) as i8),
                bias: numbers.top(candidates, |x| cut(x, 32) as i32),
                thresholds: numbers.top(thresholds, |x| cut(x, 32) as i32),
                levels: 0,
                featured: false,
            }),
        ));
    }
    numbers.kind = u.arbitrary()?;
    let scale = 2f32.powi(u.int_in_range(-60..=20)?);
    let embeddings = numbers.top(sentences * dimension, |x| match x & 0xfff {
        // Infinities and NaN.
        7 => f32::from_bits((x >> 32) as u32 | 0x7f80_0000),
        _ => (x >> 3) as f32 * scale,
    });
    let key: [u8; 32] = u.arbitrary()?;
    let epsilon = Epsilon::from_micro(u.int_in_range(1..=1_000_000_000)?).expect("in range");

    let bytes = pack(dimension as u32, "", &sections);
    let pack = Pack::parse(&bytes).expect("a well-formed pack");
    let release = |backend, together: bool| {
        let mut document = Document::new(&pack).expect("small enough");
        hazmat::force_backend(&mut document, backend);
        if together {
            assert_eq!(document.push_all(&embeddings), Ok(sentences));
        } else {
            for embedding in embeddings.chunks(dimension) {
                document
                    .push(embedding)
                    .expect("the right length, and room");
            }
        }
        let mut levels = Vec::<u8>::new();
        hazmat::levels(&document, |block| levels.extend(block));
        let best = hazmat::best(&document);
        let releases = [Rule::PermuteAndFlip, Rule::Exponential].map(|rule| {
            document.push_all(&embeddings).expect("room or none");
            document.release(
                Grant::unrecorded(Unit::Sentence, epsilon),
                rule,
                &mut Repeated(&key),
            )
        });
        (levels, best, releases)
    };
    let plain = release(Backend::PORTABLE, false);
    for backend in Backend::available() {
        assert!(
            plain == release(backend, true),
            "{} differs",
            backend.name()
        );
    }
    Ok(())
}

/// Small and large sizes with equal probability, and sizes around multiples of a register.
fn size(u: &mut Unstructured<'_>, most: usize) -> Result<usize> {
    let size = match u.int_in_range(0..=2u8)? {
        0 => u.int_in_range(1..=9)?,
        1 => (16 * u.int_in_range(1..=8usize)? + u.int_in_range(0..=2usize)?).saturating_sub(1),
        _ => u.int_in_range(1..=most)?,
    };
    Ok(size.clamp(1, most))
}
