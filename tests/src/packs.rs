//! Packs from plain arrays, and depth, scores and recoders from their definitions.

use std::collections::BTreeMap;
use std::iter;

use undertone_core::features::{FeatureKinds, each_feature};
use undertone_core::pack::digest;
use undertone_core::pack::format::{
    ALIGNMENT, DEPTH_TAG, Entry, FEATURES_TAG, Header, LEXICON_TAG, MAGIC, MAJOR, PHRASES_TAG,
    PROJECTION_TAG, QUALITY_TAG, RECODER_TAG, SCORES_TAG,
};
use undertone_core::scores::LEVELS;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A tag and the bytes of its section.
pub type Section = ([u8; 4], Vec<u8>);

/// A depth section as plain arrays.
#[derive(Clone, Debug)]
pub struct DepthParts {
    /// d.
    pub dimension: usize,
    /// A coordinate x is converted to round(x · 2^exponent).
    pub exponent: i32,
    /// Projections are shifted right by this many bits.
    pub shift: u32,
    /// `[p][d]`.
    pub directions: Vec<Vec<i16>>,
    /// `[p][255]`.
    pub boundaries: Vec<Vec<i32>>,
    /// `[p][m]`.
    pub codes: Vec<Vec<u8>>,
}

impl DepthParts {
    /// Candidates with these codes on one direction of one coordinate, where a projection equals
    /// its code.
    pub fn on_one_direction(codes: Vec<u8>) -> Self {
        Self {
            dimension: 1,
            exponent: 0,
            shift: 0,
            directions: vec![vec![1]],
            boundaries: vec![(1..=255).collect()],
            codes: vec![codes],
        }
    }

    /// A pack with only this section.
    pub fn to_pack(&self) -> Vec<u8> {
        pack(self.dimension as u32, &[self.to_section()])
    }

    /// The section.
    pub fn to_section(&self) -> Section {
        let head = [
            self.codes[0].len() as u32,
            self.directions.len() as u32,
            self.exponent.cast_unsigned(),
            self.shift,
        ];
        let mut section = head.as_bytes().to_vec();
        append(&mut section, &self.directions.concat());
        append(&mut section, &self.boundaries.concat());
        append(&mut section, &self.codes.concat());
        (DEPTH_TAG, section)
    }

    /// The levels of all candidates for a document, from the definition: no floats, no tables,
    /// every sentence compared with every candidate on every direction.
    pub fn naive_levels(&self, sentences: &[Vec<f32>]) -> Vec<u8> {
        let k = sentences.len();
        let codes: Vec<Vec<usize>> = sentences.iter().map(|s| self.sentence_codes(s)).collect();
        (0..self.codes[0].len())
            .map(|candidate| {
                let depth = (0..self.directions.len())
                    .map(|j| {
                        let threshold = usize::from(self.codes[j][candidate]);
                        let h = codes.iter().filter(|c| c[j] >= threshold).count();
                        h.min(k - h)
                    })
                    .min()
                    .expect("a direction");
                (k / 2 - depth) as u8
            })
            .collect()
    }

    /// The codes of one sentence, from the definition.
    pub fn sentence_codes(&self, sentence: &[f32]) -> Vec<usize> {
        let fixed: Vec<i64> = sentence
            .iter()
            .map(|x| naive_fixed(x.to_bits(), self.exponent))
            .collect();
        self.directions
            .iter()
            .zip(&self.boundaries)
            .map(|(direction, boundaries)| {
                let sum: i64 = direction
                    .iter()
                    .zip(&fixed)
                    .map(|(v, x)| i64::from(*v) * x)
                    .sum();
                // ⌊sum / 2^shift⌋; the clamp to i32 matters for the extreme boundaries only.
                let shifted = sum.div_euclid(1 << self.shift);
                let clamped = shifted.max(i32::MIN.into()).min(i32::MAX.into());
                boundaries
                    .iter()
                    .filter(|b| i64::from(**b) <= clamped)
                    .count()
            })
            .collect()
    }
}

/// A projection section as plain arrays.
#[derive(Clone, Debug)]
pub struct ProjectionParts {
    /// `[m][d]`.
    pub rows: Vec<Vec<i16>>,
    /// An entry is its integer times 2^exponent.
    pub exponent: i32,
    /// Coordinates are within ±2^bound_exponent.
    pub bound_exponent: i32,
}

impl ProjectionParts {
    /// A pack with only this section.
    pub fn to_pack(&self) -> Vec<u8> {
        pack(self.rows[0].len() as u32, &[self.to_section()])
    }

    /// The section.
    pub fn to_section(&self) -> Section {
        let head = [
            self.rows.len() as i32,
            self.exponent,
            self.bound_exponent,
            0,
        ];
        let mut section = head.as_bytes().to_vec();
        append(&mut section, &self.rows.concat());
        (PROJECTION_TAG, section)
    }
}

/// A lexicon section as plain arrays.
#[derive(Clone, Debug)]
pub struct LexiconParts {
    /// The words, in strictly ascending order.
    pub words: Vec<String>,
    /// A word's weight, 65535 for 1.
    pub weights: Vec<u16>,
    /// `[words][d]`.
    pub vectors: Vec<Vec<i8>>,
    /// A coordinate of a sentence is an integer times 2^exponent, one of a word an integer times
    /// 2^(exponent + 8).
    pub exponent: i32,
    /// The matching of words: 0 whole, 1 by longest match.
    pub matching: u32,
}

impl LexiconParts {
    /// A lexicon of these vectors for the words `w00000`, `w00001`, ..., all of weight 1.
    pub fn of_vectors(vectors: Vec<Vec<i8>>, exponent: i32) -> Self {
        Self {
            words: (0..vectors.len()).map(|i| format!("w{i:05}")).collect(),
            weights: vec![u16::MAX; vectors.len()],
            vectors,
            exponent,
            matching: 0,
        }
    }

    /// A pack with only this section.
    pub fn to_pack(&self) -> Vec<u8> {
        pack(self.vectors[0].len() as u32, &[self.to_section()])
    }

    /// The section.
    pub fn to_section(&self) -> Section {
        let text = self.words.concat();
        let head = [
            self.words.len() as u32,
            text.len() as u32,
            self.exponent.cast_unsigned(),
            self.matching,
        ];
        let ends = self.words.iter().scan(0, |end, word| {
            *end += word.len() as u32;
            Some(*end)
        });
        let mut section = head.as_bytes().to_vec();
        append(&mut section, &ends.collect::<Vec<u32>>());
        append(&mut section, &self.weights);
        append(&mut section, &self.vectors.concat());
        append(&mut section, text.as_bytes());
        (LEXICON_TAG, section)
    }
}

/// A phrases section as plain arrays, in strictly ascending order.
#[derive(Clone, Debug)]
pub struct PhrasesParts {
    /// The indices of the words.
    pub pairs: Vec<[u16; 2]>,
    /// A phrase's weight.
    pub weights: Vec<u16>,
    /// `[phrases][d]`.
    pub vectors: Vec<Vec<i8>>,
}

impl PhrasesParts {
    /// The section.
    pub fn to_section(&self) -> Section {
        let mut section = [self.pairs.len() as u32, 0, 0, 0].as_bytes().to_vec();
        append(&mut section, &self.pairs);
        append(&mut section, &self.weights);
        append(&mut section, &self.vectors.concat());
        (PHRASES_TAG, section)
    }
}

/// A layer of a recoder as plain arrays.
#[derive(Clone, Debug)]
pub struct LayerParts {
    /// `[outputs][inputs]`.
    pub weights: Vec<Vec<i16>>,
    /// `[outputs]`.
    pub bias: Vec<i64>,
    /// Sums are shifted right by this many bits.
    pub shift: u32,
}

/// A recoder section as plain arrays.
#[derive(Clone, Debug)]
pub struct RecoderParts {
    /// d.
    pub dimension: usize,
    /// A coordinate x is converted to round(x · 2^exponent).
    pub exponent: i32,
    /// 1 to 4 layers.
    pub layers: Vec<LayerParts>,
}

impl RecoderParts {
    /// A pack with only this section.
    pub fn to_pack(&self) -> Vec<u8> {
        pack(self.dimension as u32, &[self.to_section()])
    }

    /// The section.
    pub fn to_section(&self) -> Section {
        let mut widths = [0u32; 4];
        let mut shifts = [0u32; 4];
        for (i, layer) in self.layers.iter().enumerate() {
            widths[i] = layer.bias.len() as u32;
            shifts[i] = layer.shift;
        }
        let start = [self.layers.len() as u32, self.exponent.cast_unsigned()];
        let head = [&start[..], &widths, &shifts, &[0]].concat();
        let mut section = head.as_bytes().to_vec();
        for layer in &self.layers {
            append(&mut section, &layer.weights.concat());
            append(&mut section, &layer.bias);
        }
        (RECODER_TAG, section)
    }

    /// The number of output coordinates.
    pub fn width(&self) -> usize {
        self.layers.last().expect("a layer").bias.len()
    }

    /// The outputs for one embedding, from the definition, in integers that cannot overflow.
    pub fn naive_recode(&self, sentence: &[f32]) -> Vec<i64> {
        let mut vector: Vec<i64> = sentence
            .iter()
            .map(|x| naive_fixed(x.to_bits(), self.exponent))
            .collect();
        for layer in &self.layers {
            let outputs = layer.weights.iter().zip(&layer.bias);
            vector = outputs
                .map(|(row, bias)| {
                    let products = row.iter().zip(&vector);
                    let sum: i128 = products.map(|(w, x)| i128::from(*w) * i128::from(*x)).sum();
                    let sum = (sum + i128::from(*bias)).clamp(i64::MIN.into(), i64::MAX.into());
                    sum.div_euclid(1 << layer.shift).clamp(0, 32767) as i64
                })
                .collect();
        }
        vector
    }
}

/// The scoring of heads.
#[derive(Clone, Debug)]
pub enum Scoring {
    /// By thresholds; Q is their number.
    Graded(Vec<i32>),
    /// One for the largest head.
    Vote,
    /// By thresholds, after the sums of a features section are added.
    Features(Vec<i32>),
}

/// A scores section as plain arrays, with an optional recoder before it.
#[derive(Clone, Debug)]
pub struct ScoreParts {
    /// d: coordinates of an embedding.
    pub dimension: usize,
    /// The recoder; if there is one, its outputs are scored.
    pub recoder: Option<RecoderParts>,
    /// A coordinate x is converted to round(x · 2^exponent); 0 after a recoder.
    pub exponent: i32,
    /// `[n]`, n being d or the recoder's outputs.
    pub centre: Vec<i16>,
    /// `[m][n]`.
    pub weights: Vec<Vec<i8>>,
    /// `[m]`.
    pub bias: Vec<i32>,
    /// The scoring of the heads.
    pub scoring: Scoring,
    /// L: levels are below it, 2 to 160.
    pub levels: usize,
}

impl ScoreParts {
    /// Heads with these weights, `[m][n]`, and all levels; everything else is zero.
    pub fn of_heads(weights: Vec<Vec<i8>>, scoring: Scoring) -> Self {
        let inputs = weights[0].len();
        Self {
            dimension: inputs,
            recoder: None,
            exponent: 0,
            centre: vec![0; inputs],
            bias: vec![0; weights.len()],
            weights,
            scoring,
            levels: LEVELS,
        }
    }

    /// A pack in which a sentence has one of finitely many kinds, with `one_hot(kind)` as its
    /// embedding, and gives candidate c the score `table[kind][c]`, which is at most `largest`.
    pub fn of_table(table: &[Vec<u8>], largest: u8) -> Self {
        assert!(table.iter().flatten().all(|score| *score <= largest));
        // The weight w of the one coordinate, in 256ths, reaches the thresholds up to w.
        let weights = |c: usize| {
            let scores = table.iter().map(|scores| scores[c]);
            scores.map(|score| (i16::from(score) - 128) as i8).collect()
        };
        let thresholds = (1..=i32::from(largest)).map(|i| 256 * (i - 128));
        Self::of_heads(
            (0..table[0].len()).map(weights).collect(),
            Scoring::Graded(thresholds.collect()),
        )
    }

    /// The embedding of a sentence of this kind, for packs [`of_table`](ScoreParts::of_table).
    pub fn one_hot(&self, kind: usize) -> Vec<f32> {
        let mut sentence = vec![0.0; self.dimension];
        sentence[kind] = 3.0;
        sentence
    }

    /// A pack with the recoder, if any, and this section.
    pub fn to_pack(&self) -> Vec<u8> {
        let mut sections: Vec<Section> = Vec::new();
        sections.extend(self.recoder.as_ref().map(RecoderParts::to_section));
        sections.push(self.to_section());
        pack(self.dimension as u32, &sections)
    }

    /// The section.
    pub fn to_section(&self) -> Section {
        let (kind, thresholds): (u32, &[i32]) = match &self.scoring {
            Scoring::Graded(thresholds) => (1, thresholds),
            Scoring::Vote => (2, &[]),
            Scoring::Features(thresholds) => (3, thresholds),
        };
        let head = [
            self.bias.len() as u32,
            kind | u32::from(self.largest_score()) << 16,
            self.exponent.cast_unsigned(),
            // 0 means the maximum, as in packs of an earlier minor version.
            self.levels as u32 % LEVELS as u32,
        ];
        let mut section = head.as_bytes().to_vec();
        append(&mut section, &self.centre);
        append(&mut section, &self.weights.concat());
        append(&mut section, &self.bias);
        append(&mut section, thresholds);
        (SCORES_TAG, section)
    }

    /// Q.
    pub fn largest_score(&self) -> u8 {
        match &self.scoring {
            Scoring::Graded(thresholds) | Scoring::Features(thresholds) => thresholds.len() as u8,
            Scoring::Vote => 1,
        }
    }

    /// The coordinates of a sentence as integers.
    fn naive_inputs(&self, sentence: &[f32]) -> Vec<i64> {
        match &self.recoder {
            Some(recoder) => recoder.naive_recode(sentence),
            None => sentence
                .iter()
                .map(|x| naive_fixed(x.to_bits(), self.exponent))
                .collect(),
        }
    }

    /// z of every candidate and the norm, from the definition, in integers that cannot overflow.
    /// `added`: the sums of the features by candidate, or empty.
    fn naive_outputs(&self, sentence: &[f32], added: &[i64]) -> (Vec<i128>, i128) {
        let y: Vec<i128> = self
            .naive_inputs(sentence)
            .iter()
            .zip(&self.centre)
            .map(|(x, centre)| i128::from(*x - i64::from(*centre)).clamp(-32767, 32767))
            .collect();
        let square: i128 = y.iter().map(|y| y * y).sum();
        let norm = square.isqrt().max(1);
        let added = added.iter().copied().chain(iter::repeat(0));
        let heads = self.weights.iter().zip(&self.bias).zip(added);
        let outputs = heads.map(|((weights, bias), added)| {
            let products = weights.iter().zip(&y).map(|(w, y)| i128::from(*w) * y);
            256 * products.sum::<i128>() + (i128::from(*bias) + i128::from(added)) * norm
        });
        (outputs.collect(), norm)
    }

    /// The scores of one sentence, from the definition.
    pub fn naive_scores(&self, sentence: &[f32]) -> Vec<u8> {
        let (outputs, norm) = self.naive_outputs(sentence, &[]);
        match &self.scoring {
            Scoring::Graded(thresholds) | Scoring::Features(thresholds) => {
                let reached = |z: &i128| {
                    let below = thresholds.iter().filter(|t| i128::from(**t) * norm <= *z);
                    below.count() as u8
                };
                outputs.iter().map(reached).collect()
            }
            Scoring::Vote => {
                let largest = outputs.iter().max().expect("a candidate");
                let winner = outputs.iter().position(|z| z == largest);
                (0..outputs.len())
                    .map(|c| u8::from(Some(c) == winner))
                    .collect()
            }
        }
    }

    /// The value of a sentence for each candidate under the whole-text rule, from the definition:
    /// z over the norm, within ±2²².
    pub fn naive_values(&self, sentence: &[f32], added: &[i64]) -> Vec<i64> {
        let (outputs, norm) = self.naive_outputs(sentence, added);
        let value = |z: &i128| {
            let z = *z.clamp(&(-(norm << 22)), &(norm << 22));
            (z * ((1 << 40) / norm)).div_euclid(1 << 40) as i64
        };
        outputs.iter().map(value).collect()
    }

    /// The best outcome for a document of embeddings, from the definition: the number of candidates
    /// if none of its coordinates is known.
    pub fn naive_best(&self, sentences: &[Vec<f32>]) -> u32 {
        let exponent = self.recoder.as_ref().map_or(self.exponent, |r| r.exponent);
        let known = |sentence: &&Vec<f32>| {
            let fixed = |x: &f32| naive_fixed(x.to_bits(), exponent);
            sentence.iter().any(|x| fixed(x) != 0)
        };
        let values = sentences.iter().filter(known);
        first_best(
            values.map(|sentence| self.naive_values(sentence, &[])),
            self.bias.len(),
        )
    }

    /// The sums of the scores over a document.
    pub fn naive_sums(&self, sentences: &[Vec<f32>]) -> Vec<u64> {
        let mut sums = vec![0; self.bias.len()];
        for sentence in sentences {
            for (sum, score) in sums.iter_mut().zip(self.naive_scores(sentence)) {
                *sum += u64::from(score);
            }
        }
        sums
    }

    /// The levels of all candidates for a document, from the definition.
    pub fn naive_levels(&self, sentences: &[Vec<f32>]) -> Vec<u8> {
        levels_below(self.levels, &self.naive_sums(sentences))
    }
}

/// The first candidate with the largest sum of values, or `candidates` if there are no values.
pub fn first_best(values: impl Iterator<Item = Vec<i64>>, candidates: usize) -> u32 {
    let sum = |a: Vec<i64>, b: Vec<i64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let Some(sums) = values.reduce(sum) else {
        return candidates as u32;
    };
    let largest = sums.iter().max().expect("a candidate");
    let first = sums.iter().position(|sum| sum == largest);
    first.expect("the largest is one of them") as u32
}

/// The difference of each sum from the largest, capped below `levels`.
pub fn levels_below(levels: usize, sums: &[u64]) -> Vec<u8> {
    let best = sums.iter().max().expect("a candidate");
    let level = |sum: &u64| (best - sum).min(levels as u64 - 1) as u8;
    sums.iter().map(level).collect()
}

/// A features section as plain arrays.
#[derive(Clone, Debug)]
pub struct FeaturesParts {
    /// The kinds of features.
    pub kinds: FeatureKinds,
    /// The pack has no encoder.
    pub alone: bool,
    /// Values are shifted right by this many bits.
    pub shift: u8,
    /// log₂ of the number of buckets.
    pub bucket_bits: u8,
    /// The hash of each feature, and its weights, `[m]`. Of two with the same key the first counts.
    pub rows: Vec<(u32, Vec<i8>)>,
    /// `[m]`.
    pub scales: Vec<u16>,
}

impl FeaturesParts {
    /// Bucket and key of a hash as one number.
    fn place(&self, hash: u32) -> u64 {
        u64::from(hash) >> (16 - u32::from(self.bucket_bits))
    }

    /// The rows in order; of those with the same key, the first.
    fn ordered(&self) -> BTreeMap<u64, &[i8]> {
        let mut ordered: BTreeMap<u64, &[i8]> = BTreeMap::new();
        for (hash, row) in &self.rows {
            ordered.entry(self.place(*hash)).or_insert(row);
        }
        ordered
    }

    /// The section.
    pub fn to_section(&self) -> Section {
        let rows = self.ordered();
        let weights: Vec<i8> = rows.values().flat_map(|row| row.iter().copied()).collect();
        let used: Vec<i8> = weights.iter().copied().filter(|w| *w != 0).collect();
        let FeatureKinds {
            words,
            pairs,
            symbols,
            least,
            most,
        } = self.kinds;
        let flags = u8::from(words)
            + 2 * u8::from(pairs)
            + 4 * u8::from(self.alone)
            + 8 * u8::from(symbols);
        let sizes = [rows.len(), self.scales.len(), used.len()].map(|size| size as u32);
        let rest = [1, flags, least, most, self.bucket_bits, self.shift, 0, 0];
        let head = [sizes.as_bytes(), &rest].concat();
        let below = |bucket: u64| rows.keys().filter(|place| **place >> 16 < bucket).count() as u32;
        let buckets: Vec<u32> = (0..=1 << self.bucket_bits).map(below).collect();
        let keys: Vec<u16> = rows.keys().map(|place| *place as u16).collect();
        let bits = |eight: &[i8]| {
            (0..)
                .zip(eight)
                .map(|(bit, w)| u8::from(*w != 0) << bit)
                .sum()
        };
        let bitmaps = rows.values().flat_map(|row| row.chunks(8).map(bits));
        let used_before = |row: usize| {
            let before = &weights[..row * self.scales.len()];
            before.iter().filter(|w| **w != 0).count() as u32
        };
        let starts: Vec<u32> = (0..rows.len()).step_by(16).map(used_before).collect();
        let mut section = head;
        append(&mut section, &buckets);
        append(&mut section, &keys);
        append(&mut section, &bitmaps.collect::<Vec<u8>>());
        append(&mut section, &starts);
        append(&mut section, &used);
        append(&mut section, &self.scales);
        (FEATURES_TAG, section)
    }

    /// The sums of a sentence's features by candidate, from the definition; `None` if no feature is
    /// known. The hashes are those of the code; `golden.py` computes them from their definition.
    pub fn naive_sums(&self, sentence: &[u8]) -> Option<Vec<i64>> {
        let rows = self.ordered();
        let mut sums = vec![0i128; self.scales.len()];
        let mut found = 0u64;
        each_feature(sentence, self.kinds, |hash| {
            if let Some(row) = rows.get(&self.place(hash)) {
                found += 1;
                for (sum, weight) in sums.iter_mut().zip(*row) {
                    *sum += i128::from(*weight);
                }
            }
        });
        let root = i128::from((1u64 << 32).checked_div(found)?.isqrt());
        let scaled = sums.iter().zip(&self.scales).map(|(sum, scale)| {
            let value = (sum * i128::from(*scale) * root).div_euclid(1 << self.shift);
            value.clamp(-(1 << 30), 1 << 30) as i64
        });
        Some(scaled.collect())
    }
}

/// round(x · 2^exponent), ties to even, clamped to ±32767, from the bits of x; 0 if not finite.
pub fn naive_fixed(bits: u32, exponent: i32) -> i64 {
    let biased = (bits >> 23 & 0xff) as i32;
    let fraction = i128::from(bits & 0x7f_ffff);
    let (mantissa, power) = match biased {
        0xff => return 0,
        0 => (fraction, -149),
        _ => (fraction | 0x80_0000, biased - 150),
    };
    let power = power + exponent;
    let magnitude = if power >= 0 {
        // A mantissa of 24 bits times 2^16 is beyond the clamp.
        mantissa << power.min(16)
    } else if power < -40 {
        0
    } else {
        let unit = 1i128 << -power;
        let (whole, rest) = (mantissa / unit, mantissa % unit);
        match (2 * rest).cmp(&unit) {
            std::cmp::Ordering::Less => whole,
            std::cmp::Ordering::Greater => whole + 1,
            std::cmp::Ordering::Equal => whole + whole % 2,
        }
    };
    let clamped = magnitude.min(32767) as i64;
    if bits >> 31 == 1 { -clamped } else { clamped }
}

/// Zeroes to the next multiple of the alignment, then numbers. Their bytes are those of this
/// machine, which is little-endian like the format.
fn append<T: IntoBytes + Immutable>(section: &mut Vec<u8>, numbers: &[T]) {
    section.resize(section.len().next_multiple_of(ALIGNMENT), 0);
    section.extend(numbers.as_bytes());
}

/// A pack with these sections.
pub fn pack(dimension: u32, sections: &[Section]) -> Vec<u8> {
    let mut table: Vec<u8> = Vec::new();
    let mut body: Vec<u8> = Vec::new();
    let start = size_of::<Header>() + sections.len() * size_of::<Entry>();
    for (tag, section) in sections {
        body.resize((start + body.len()).next_multiple_of(ALIGNMENT) - start, 0);
        let entry = Entry {
            tag: *tag,
            reserved: 0.into(),
            offset: ((start + body.len()) as u64).into(),
            length: (section.len() as u64).into(),
        };
        table.extend(entry.as_bytes());
        body.extend(section);
    }
    let header = Header {
        magic: MAGIC,
        major: MAJOR.into(),
        minor: 0.into(),
        section_count: (sections.len() as u32).into(),
        length: ((start + body.len()) as u64).into(),
        dimension: dimension.into(),
        reserved: 0.into(),
        digest: [0; 32],
        encoder_digest: [7; 32],
        encoder_name: [0; 32],
    };
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend(table);
    bytes.extend(body);
    repair_digest(&mut bytes);
    bytes
}

/// The pack without the outcome "nothing known".
pub fn without_nothing_known(bytes: Vec<u8>) -> Vec<u8> {
    with_flag(bytes, SCORES_TAG, 4, 4)
}

/// The pack without an encoder, to which a text is one sentence. It has features.
pub fn taking_whole_texts(bytes: Vec<u8>) -> Vec<u8> {
    with_flag(bytes, FEATURES_TAG, 13, 16)
}

/// The pack with a flag set in the byte `at` of a section.
fn with_flag(mut bytes: Vec<u8>, tag: [u8; 4], at: usize, flag: u8) -> Vec<u8> {
    let mut entries = bytes[size_of::<Header>()..].chunks_exact(size_of::<Entry>());
    let entry = entries.find_map(|entry| {
        Entry::read_from_bytes(entry)
            .ok()
            .filter(|it| it.tag == tag)
    });
    let start = entry.expect("the section is there").offset.get() as usize;
    bytes[start + at] |= flag;
    repair_digest(&mut bytes);
    bytes
}

/// Writes the right digest into bytes long enough for a header.
pub fn repair_digest(bytes: &mut [u8]) {
    if let Ok((header, rest)) = Header::mut_from_prefix(bytes) {
        header.digest = digest(header, rest);
    }
}

/// A pack in which candidate c has the words `topics[c]`, each in one topic, and embeddings of two
/// coordinates have no weight. If `alone`, without an encoder.
pub fn features_pack(topics: &[&[&str]], alone: bool) -> Vec<u8> {
    let kinds = FeatureKinds {
        words: true,
        pairs: false,
        symbols: false,
        least: 1,
        most: 0,
    };
    let mut rows = Vec::new();
    for (topic, words) in topics.iter().enumerate() {
        each_feature(words.join(" ").as_bytes(), kinds, |hash| {
            let mut weights = vec![0; topics.len()];
            weights[topic] = 100;
            rows.push((hash, weights));
        });
    }
    let features = FeaturesParts {
        kinds,
        alone,
        bucket_bits: 4,
        // One word gives 100·256, the value of a weight of 100.
        shift: 16,
        rows,
        scales: vec![256; topics.len()],
    };
    let scoring = Scoring::Features((1..=8).map(|i| 256 * 12 * i).collect());
    let scores = ScoreParts::of_heads(vec![vec![0; 2]; topics.len()], scoring);
    // At epsilon 1 sentence releases are right more often; from 3 on, those of whole texts of 1 to
    // 9 sentences.
    let (by_sentence, by_whole_text) = (
        [300, 300, 300, 400, 400, 400],
        [200, 200, 200, 399, 500, 400],
    );
    let accuracies = [by_sentence, by_whole_text].concat();
    let quality = quality(&[1_000_000, 3_000_000], &[0, 1, 10], &accuracies, &[600; 3]);
    pack(2, &[scores.to_section(), features.to_section(), quality])
}

/// A section of quality: micro-units, sentences, `[2][epsilons][lengths]` and `[lengths]` in
/// 65534ths.
pub fn quality(
    epsilons: &[u32],
    lengths: &[u32],
    accuracies: &[u16],
    noiseless: &[u16],
) -> Section {
    let mut section = [epsilons.len() as u32, lengths.len() as u32, 0, 0]
        .as_bytes()
        .to_vec();
    append(&mut section, epsilons);
    append(&mut section, lengths);
    append(&mut section, accuracies);
    append(&mut section, noiseless);
    (QUALITY_TAG, section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_from_bits() {
        for (x, exponent, fixed) in [
            (1.0f32, 8, 256),
            (-0.0, 8, 0),
            (0.5, 0, 0),
            (1.5, 0, 2),
            (-2.5, 0, -2),
            (2.5000002, 0, 3),
            (f32::MAX, 24, 32767),
            (f32::MIN, -24, -32767),
            (f32::MIN_POSITIVE, 24, 0),
            (f32::NAN, 0, 0),
            (f32::NEG_INFINITY, 0, 0),
            (32766.5, 0, 32766),
            (32767.5, 0, 32767),
            (16777216.0, -24, 1),
            (8388608.0, -24, 0),
            (25165824.0, -24, 2),
        ] {
            assert_eq!(naive_fixed(x.to_bits(), exponent), fixed, "{x} {exponent}");
        }
    }
}
