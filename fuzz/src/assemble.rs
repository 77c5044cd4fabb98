//! Packs written from `core/FORMAT.md`, byte by byte, without the reader's code.

use std::collections::BTreeMap;

use undertone_core::features::FeatureKinds;
use undertone_core::pack::format::Header;
use zerocopy::FromBytes;

/// A candidate table. The lengths of the vectors follow from the other fields.
pub struct Depth {
    /// Scale of the embeddings.
    pub exponent: i32,
    /// Shift of the projections.
    pub shift: u32,
    /// One row of `dimension` weights per direction.
    pub directions: Vec<Vec<i16>>,
    /// One row of 255 boundaries per direction.
    pub boundaries: Vec<Vec<i32>>,
    /// One row of codes per direction, all of the same length.
    pub codes: Vec<Vec<u8>>,
}

/// Heads that score a sentence. The lengths of the vectors follow from the other fields.
pub struct Scores {
    /// Scale of the embeddings; 0 after a recoder.
    pub exponent: i32,
    /// The origin of sentences.
    pub centre: Vec<i16>,
    /// One row of weights per candidate.
    pub weights: Vec<Vec<i8>>,
    /// One number per candidate.
    pub bias: Vec<i32>,
    /// Votes if there are none.
    pub thresholds: Vec<i32>,
    /// Levels are below this; 0: the most.
    pub levels: u32,
    /// Whether a section of features follows, which takes thresholds.
    pub featured: bool,
}

/// Features of texts.
pub struct Features {
    /// The kinds of features.
    pub kinds: FeatureKinds,
    /// Whether a sentence needs no embedding.
    pub alone: bool,
    /// log₂ of the number of buckets.
    pub bucket_bits: u8,
    /// Shift of the values.
    pub shift: u8,
    /// One row of weights per feature, by the highest `bucket_bits + 16` bits of its hash.
    pub rows: BTreeMap<u64, Vec<i8>>,
    /// One number per candidate.
    pub scales: Vec<u16>,
}

/// A layer of a recoder.
pub struct Layer {
    /// One row of weights per output.
    pub weights: Vec<Vec<i16>>,
    /// One number per output.
    pub bias: Vec<i64>,
    /// Shift of the sums.
    pub shift: u32,
}

/// The network before a selector.
pub struct Recoder {
    /// Scale of the embeddings.
    pub exponent: i32,
    /// One to four.
    pub layers: Vec<Layer>,
}

/// A lexicon entry: word, weight, vector.
pub type Entry = (String, u16, Vec<i8>);

fn align(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(64), 0);
}

/// The depth section.
pub fn depth_section(depth: &Depth) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend((depth.codes[0].len() as u32).to_le_bytes());
    out.extend((depth.directions.len() as u32).to_le_bytes());
    out.extend(depth.exponent.to_le_bytes());
    out.extend(depth.shift.to_le_bytes());
    align(&mut out);
    out.extend(
        depth
            .directions
            .iter()
            .flatten()
            .flat_map(|x| x.to_le_bytes()),
    );
    align(&mut out);
    out.extend(
        depth
            .boundaries
            .iter()
            .flatten()
            .flat_map(|x| x.to_le_bytes()),
    );
    align(&mut out);
    out.extend(depth.codes.iter().flatten());
    out
}

/// The scores section.
pub fn scores_section(scores: &Scores) -> Vec<u8> {
    let mut out = Vec::new();
    let (kind, largest) = match (scores.thresholds.len(), scores.featured) {
        (0, _) => (2u16, 1),
        (graded, false) => (1, graded as u16),
        (graded, true) => (3, graded as u16),
    };
    out.extend((scores.bias.len() as u32).to_le_bytes());
    out.extend(kind.to_le_bytes());
    out.extend(largest.to_le_bytes());
    out.extend(scores.exponent.to_le_bytes());
    out.extend(scores.levels.to_le_bytes());
    align(&mut out);
    out.extend(scores.centre.iter().flat_map(|x| x.to_le_bytes()));
    align(&mut out);
    out.extend(scores.weights.iter().flatten().map(|x| *x as u8));
    align(&mut out);
    out.extend(scores.bias.iter().flat_map(|x| x.to_le_bytes()));
    align(&mut out);
    out.extend(scores.thresholds.iter().flat_map(|x| x.to_le_bytes()));
    out
}

/// The features section.
pub fn features_section(features: &Features) -> Vec<u8> {
    let all: Vec<i8> = features.rows.values().flatten().copied().collect();
    let used: Vec<i8> = all.iter().copied().filter(|weight| *weight != 0).collect();
    let (kinds, candidates) = (features.kinds, features.scales.len());
    let mut out = Vec::new();
    for number in [features.rows.len(), candidates, used.len()] {
        out.extend((number as u32).to_le_bytes());
    }
    let flags = u8::from(kinds.words)
        + 2 * u8::from(kinds.pairs)
        + 4 * u8::from(features.alone)
        + 8 * u8::from(kinds.symbols);
    out.extend([
        1,
        flags,
        kinds.least,
        kinds.most,
        features.bucket_bits,
        features.shift,
        0,
        0,
    ]);
    align(&mut out);
    for bucket in 0..=1u64 << features.bucket_bits {
        let before = features.rows.range(..bucket << 16).count() as u32;
        out.extend(before.to_le_bytes());
    }
    align(&mut out);
    out.extend(
        features
            .rows
            .keys()
            .flat_map(|place| (*place as u16).to_le_bytes()),
    );
    align(&mut out);
    for eight in features.rows.values().flat_map(|row| row.chunks(8)) {
        let bits = eight.iter().rev();
        out.push(bits.fold(0, |bits, weight| 2 * bits + u8::from(*weight != 0)));
    }
    align(&mut out);
    for block in (0..features.rows.len()).step_by(16) {
        let before = all[..block * candidates]
            .iter()
            .filter(|weight| **weight != 0);
        out.extend((before.count() as u32).to_le_bytes());
    }
    align(&mut out);
    out.extend(used.iter().map(|weight| *weight as u8));
    align(&mut out);
    out.extend(features.scales.iter().flat_map(|scale| scale.to_le_bytes()));
    out
}

/// The recoder section.
pub fn recoder_section(recoder: &Recoder) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend((recoder.layers.len() as u32).to_le_bytes());
    out.extend(recoder.exponent.to_le_bytes());
    let widths = |layer: &Layer| layer.bias.len() as u32;
    let shifts = |layer: &Layer| layer.shift;
    for field in [widths as fn(&Layer) -> u32, shifts] {
        for index in 0..4 {
            let value = recoder.layers.get(index).map_or(0, field);
            out.extend(value.to_le_bytes());
        }
    }
    out.extend(0u32.to_le_bytes());
    for layer in &recoder.layers {
        align(&mut out);
        out.extend(layer.weights.iter().flatten().flat_map(|x| x.to_le_bytes()));
        align(&mut out);
        out.extend(layer.bias.iter().flat_map(|x| x.to_le_bytes()));
    }
    out
}

/// The lexicon section; `entries` ascend by word. They are found whole.
pub fn lexicon_section(exponent: i32, entries: &[Entry]) -> Vec<u8> {
    matched_lexicon_section(exponent, 0, entries)
}

/// A lexicon section whose entries are whole words if `matching` is 0, or found by longest match if
/// 1.
pub fn matched_lexicon_section(exponent: i32, matching: u32, entries: &[Entry]) -> Vec<u8> {
    let text: String = entries.iter().map(|(word, _, _)| word.as_str()).collect();
    let mut out = Vec::new();
    out.extend((entries.len() as u32).to_le_bytes());
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(exponent.to_le_bytes());
    out.extend(matching.to_le_bytes());
    align(&mut out);
    let mut end = 0;
    for (word, _, _) in entries {
        end += word.len() as u32;
        out.extend(end.to_le_bytes());
    }
    align(&mut out);
    out.extend(
        entries
            .iter()
            .flat_map(|(_, weight, _)| weight.to_le_bytes()),
    );
    align(&mut out);
    out.extend(
        entries
            .iter()
            .flat_map(|(_, _, vector)| vector)
            .map(|x| *x as u8),
    );
    align(&mut out);
    out.extend(text.as_bytes());
    out
}

/// The phrases section: indices of words, weight, vector; ascending by the indices.
pub fn phrases_section(phrases: &[([u16; 2], u16, Vec<i8>)]) -> Vec<u8> {
    let mut out = (phrases.len() as u32).to_le_bytes().to_vec();
    align(&mut out);
    let words = phrases.iter().flat_map(|(words, ..)| words);
    out.extend(words.flat_map(|word| word.to_le_bytes()));
    align(&mut out);
    let weights = phrases.iter().map(|(_, weight, _)| weight);
    out.extend(weights.flat_map(|weight| weight.to_le_bytes()));
    align(&mut out);
    out.extend(
        phrases
            .iter()
            .flat_map(|(.., vector)| vector)
            .map(|x| *x as u8),
    );
    out
}

/// The projection section; all rows of the same length.
pub fn projection_section(exponent: i32, bound_exponent: i32, rows: &[Vec<i16>]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend((rows.len() as u32).to_le_bytes());
    out.extend(exponent.to_le_bytes());
    out.extend(bound_exponent.to_le_bytes());
    out.extend(0u32.to_le_bytes());
    align(&mut out);
    out.extend(rows.iter().flatten().flat_map(|x| x.to_le_bytes()));
    out
}

/// A pack of these sections.
pub fn pack(dimension: u32, name: &str, sections: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut out = vec![0; 128];
    out[..8].copy_from_slice(b"UNDRTONE");
    out[8..10].copy_from_slice(&1u16.to_le_bytes());
    out[12..16].copy_from_slice(&(sections.len() as u32).to_le_bytes());
    out[24..28].copy_from_slice(&dimension.to_le_bytes());
    out[96..96 + name.len()].copy_from_slice(name.as_bytes());
    let mut end = 128 + 24 * sections.len();
    for (tag, bytes) in sections {
        let offset = end.next_multiple_of(64);
        out.extend(tag);
        out.extend(0u32.to_le_bytes());
        out.extend((offset as u64).to_le_bytes());
        out.extend((bytes.len() as u64).to_le_bytes());
        end = offset + bytes.len();
    }
    for (_, bytes) in sections {
        align(&mut out);
        out.extend(bytes);
    }
    seal(&mut out);
    out
}

/// Sets what a reader checks first: magic, version, length and digest. Bytes shorter than a header
/// stay as they are.
pub fn seal(bytes: &mut [u8]) {
    let length = bytes.len() as u64;
    if let Ok((header, rest)) = Header::mut_from_prefix(bytes) {
        header.magic = *b"UNDRTONE";
        header.major = 1.into();
        header.length = length.into();
        header.digest = undertone_core::pack::digest(header, rest);
    }
}
