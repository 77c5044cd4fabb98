//! Packs from plain arrays, and depth from its definition.

use undertone_core::pack::digest;
use undertone_core::pack::format::{ALIGNMENT, DEPTH_TAG, Entry, Header, MAGIC, MAJOR};
use zerocopy::{FromBytes, IntoBytes};

/// A depth section as plain arrays.
#[derive(Clone, Debug)]
pub struct DepthParts {
    /// d.
    pub dimension: usize,
    /// A coordinate x enters as round(x · 2^exponent).
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
    /// A pack with this section only.
    pub fn to_pack(&self) -> Vec<u8> {
        let mut section = Vec::new();
        section.extend((self.codes[0].len() as u32).to_le_bytes());
        section.extend((self.directions.len() as u32).to_le_bytes());
        section.extend(self.exponent.to_le_bytes());
        section.extend(self.shift.to_le_bytes());
        let bytes = self.directions.iter().flatten();
        append(&mut section, bytes.flat_map(|v| v.to_le_bytes()).collect());
        let bytes = self.boundaries.iter().flatten();
        append(&mut section, bytes.flat_map(|v| v.to_le_bytes()).collect());
        append(&mut section, self.codes.concat());
        pack(self.dimension as u32, &[(DEPTH_TAG, section)])
    }

    /// The levels of all candidates for a document, from the definition: no floats, no tables,
    /// every sentence compared with every candidate on every direction.
    pub fn naive_levels(&self, sentences: &[Vec<f32>]) -> Vec<u16> {
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
                (k / 2 - depth) as u16
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

/// Zeroes to the next multiple of the alignment, then `bytes`.
fn append(out: &mut Vec<u8>, bytes: Vec<u8>) {
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    out.extend(bytes);
}

/// A pack with these sections.
pub fn pack(dimension: u32, sections: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
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
        sections: (sections.len() as u32).into(),
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

/// Writes the right digest into bytes long enough for a header.
pub fn repair_digest(bytes: &mut [u8]) {
    if let Ok((header, rest)) = Header::mut_from_prefix(bytes) {
        header.digest = digest(header, rest);
    }
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
