//! The golden files, as any consumer reads them.
//!
//! `golden/golden.py` wrote them and explains the format.

use undertone_core::epsilon::Epsilon;
use undertone_core::release::Release;
use undertone_core::select::Rule;

/// The golden pack: depth and a lexicon.
pub const PACK: &[u8] = include_bytes!("../golden/golden.pack");

/// A recoder, graded scores and a lexicon.
pub const SCORES_PACK: &[u8] = include_bytes!("../golden/golden-scores.pack");

/// A recoder, depth and a lexicon with phrases.
pub const RECODED_PACK: &[u8] = include_bytes!("../golden/golden-recoded.pack");

/// A pack and the vectors for it.
#[derive(Clone, Copy, Debug)]
pub struct Golden {
    /// The pack.
    pub pack: &'static [u8],
    vectors: &'static str,
}

/// Every pack with vectors: depth, scores, votes, depth behind a recoder.
pub const ALL: [Golden; 4] = [
    Golden {
        pack: PACK,
        vectors: include_str!("../golden/vectors.txt"),
    },
    Golden {
        pack: SCORES_PACK,
        vectors: include_str!("../golden/vectors-scores.txt"),
    },
    Golden {
        pack: include_bytes!("../golden/golden-vote.pack"),
        vectors: include_str!("../golden/vectors-vote.txt"),
    },
    Golden {
        pack: RECODED_PACK,
        vectors: include_str!("../golden/vectors-recoded.txt"),
    },
];

const SENTENCES: &str = include_str!("../golden/sentences.txt");
const PHRASES: &str = include_str!("../golden/sentences-phrases.txt");

/// One sentence of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Sentence {
    /// By its embedding.
    Embedding(Vec<f32>),
    /// By its text.
    Text(String),
}

/// One case: a document, the parameters of its release, and the release.
#[derive(Clone, Debug)]
pub struct Case {
    /// A name for messages.
    pub name: &'static str,
    /// The ε of the release.
    pub epsilon: Epsilon,
    /// The rule of the release.
    pub rule: Rule,
    /// What the entropy source returns.
    pub entropy: Vec<u8>,
    /// The document.
    pub sentences: Vec<Sentence>,
    /// What must come out.
    pub release: [u8; Release::BYTES],
}

impl Golden {
    /// All cases for this pack.
    ///
    /// # Panics
    /// If the file is not as its generator explains.
    pub fn cases(&self) -> Vec<Case> {
        blocks(self.vectors).map(|fields| case(&fields)).collect()
    }
}

/// All cases for the golden pack.
///
/// # Panics
/// If the file is not as its generator explains.
pub fn cases() -> Vec<Case> {
    ALL[0].cases()
}

/// Sentences and the vectors that the lexicon of the golden pack must give them.
///
/// # Panics
/// Sentences with their vectors by the lexicon of [`PACK`].
pub fn sentences() -> Vec<(String, Vec<f32>)> {
    sentences_of(SENTENCES)
}

/// Sentences with their vectors by the lexicon of [`RECODED_PACK`].
pub fn sentences_with_phrases() -> Vec<(String, Vec<f32>)> {
    sentences_of(PHRASES)
}

fn sentences_of(file: &'static str) -> Vec<(String, Vec<f32>)> {
    blocks(file)
        .map(|fields| match fields[..] {
            [("sentence", text), ("vector", vector)] => (
                String::from_utf8(from_hex(text)).expect("UTF-8"),
                floats(vector),
            ),
            _ => panic!("not a sentence and its vector: {fields:?}"),
        })
        .collect()
}

type Fields = Vec<(&'static str, &'static str)>;

/// The `key value` lines of each block, without comments.
fn blocks(file: &'static str) -> impl Iterator<Item = Fields> {
    let blocks = file.split("\n\n").map(|block| -> Fields {
        let lines = block.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.split_once(' ').unwrap_or((line, "")))
            .collect()
    });
    blocks.filter(|fields| !fields.is_empty())
}

fn case(fields: &[(&'static str, &'static str)]) -> Case {
    let one = |wanted| {
        let mut values = fields.iter().filter(|(key, _)| *key == wanted);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => *value,
            _ => panic!("not exactly one `{wanted}` in {fields:?}"),
        }
    };
    let micro = one("epsilon_micro").parse().expect("a number");
    Case {
        name: one("case"),
        epsilon: Epsilon::from_micro(micro).expect("an epsilon"),
        rule: match one("rule") {
            "1" => Rule::PermuteAndFlip,
            "2" => Rule::Exponential,
            other => panic!("rule {other}"),
        },
        entropy: from_hex(one("entropy")),
        sentences: fields
            .iter()
            .filter_map(|(key, value)| sentence(key, value))
            .collect(),
        release: from_hex(one("release")).try_into().expect("24 bytes"),
    }
}

fn sentence(key: &str, value: &str) -> Option<Sentence> {
    match key {
        "embedding" => Some(Sentence::Embedding(floats(value))),
        "sentence" => Some(Sentence::Text(
            String::from_utf8(from_hex(value)).expect("UTF-8"),
        )),
        "case" | "epsilon_micro" | "rule" | "entropy" | "release" => None,
        other => panic!("unknown key {other}"),
    }
}

fn floats(hex: &str) -> Vec<f32> {
    let bytes = from_hex(hex);
    let (floats, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "a vector of {} bytes", bytes.len());
    floats.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).expect("a hexadecimal digit") as u8;
    let (pairs, rest) = text.as_bytes().as_chunks();
    assert!(rest.is_empty(), "an odd number of digits");
    pairs
        .iter()
        .map(|[high, low]| digit(*high) << 4 | digit(*low))
        .collect()
}
