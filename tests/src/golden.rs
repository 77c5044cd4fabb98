//! The golden files.
//!
//! `golden/golden.py` wrote them and explains the format.

use std::str::FromStr;

use undertone_core::epsilon::Epsilon;
use undertone_core::features::FeatureKinds;
use undertone_core::release::Release;
use undertone_core::select::Rule;
use undertone_core::vector::Noise;
use undertone_core::words::WordMechanism;

/// The golden pack: depth and a lexicon.
pub const PACK: &[u8] = include_bytes!("../golden/golden.pack");

/// A recoder, graded scores and a lexicon.
pub const SCORES_PACK: &[u8] = include_bytes!("../golden/golden-scores.pack");

/// A recoder, depth and a lexicon with phrases.
pub const RECODED_PACK: &[u8] = include_bytes!("../golden/golden-recoded.pack");

/// A form of three attributes and a pair.
pub const FORM: &[u8] = include_bytes!("../golden/golden.form");

/// A form whose second attribute is the topic by [`SCORES_PACK`].
pub const TOPIC_FORM: &[u8] = include_bytes!("../golden/golden-topic.form");

/// A pack and the vectors for it.
#[derive(Clone, Copy, Debug)]
pub struct Golden {
    /// The pack.
    pub pack: &'static [u8],
    vectors: &'static str,
}

impl Golden {
    const fn new(pack: &'static [u8], vectors: &'static str) -> Self {
        Self { pack, vectors }
    }
}

/// 40 levels, features of texts and a lexicon.
pub const FEATURES_PACK: &[u8] = include_bytes!("../golden/golden-features.pack");

/// Votes.
pub const VOTE_PACK: &[u8] = include_bytes!("../golden/golden-vote.pack");

/// Every pack with vectors: depth, scores, votes, depth after a recoder, scores with features.
pub const ALL: [Golden; 5] = [
    Golden::new(PACK, include_str!("../golden/vectors.txt")),
    Golden::new(SCORES_PACK, include_str!("../golden/vectors-scores.txt")),
    Golden::new(VOTE_PACK, include_str!("../golden/vectors-vote.txt")),
    Golden::new(RECODED_PACK, include_str!("../golden/vectors-recoded.txt")),
    Golden::new(
        FEATURES_PACK,
        include_str!("../golden/vectors-features.txt"),
    ),
];

/// More vectors, all by the whole-text rule: of scores, and of votes.
pub const WHOLE_TEXTS: [Golden; 2] = [
    Golden::new(SCORES_PACK, include_str!("../golden/whole-text-scores.txt")),
    Golden::new(VOTE_PACK, include_str!("../golden/whole-text-vote.txt")),
];

/// More vectors, all by projective geometry response: of scores, and of votes.
pub const PROJECTIVE: [Golden; 2] = [
    Golden::new(SCORES_PACK, include_str!("../golden/projective-scores.txt")),
    Golden::new(VOTE_PACK, include_str!("../golden/projective-vote.txt")),
];

/// More vectors, of texts: features of whole texts without an encoder, and no "nothing known".
pub const KNOWN: Golden = Golden::new(
    include_bytes!("../golden/golden-known.pack"),
    include_str!("../golden/vectors-known.txt"),
);

/// A projection for private vectors.
pub const VECTORS_PACK: &[u8] = include_bytes!("../golden/golden-vectors.pack");

const SENTENCES: &str = include_str!("../golden/sentences.txt");
const PHRASES: &str = include_str!("../golden/sentences-phrases.txt");
const FEATURES: &str = include_str!("../golden/features.txt");
const WORDS: &str = include_str!("../golden/words.txt");
const PRIVATE_VECTORS: &str = include_str!("../golden/private-vectors.txt");

/// One sentence of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Sentence {
    /// By its embedding.
    Embedding(Vec<f32>),
    /// By its text.
    Text(String),
}

/// The way a case is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By the sentence.
    Sentence(Rule),
    /// By the whole-text rule.
    WholeText,
    /// By projective geometry response.
    Projective,
}

/// One case: a document, the parameters of its release, and the release.
#[derive(Clone, Debug)]
pub struct Case {
    /// A name for messages.
    pub name: &'static str,
    /// The ε of the release.
    pub epsilon: Epsilon,
    /// How it is released.
    pub by: By,
    /// The bytes of the entropy source.
    pub entropy: Vec<u8>,
    /// The document.
    pub sentences: Vec<Sentence>,
    /// The expected release.
    pub release: [u8; Release::BYTES],
}

impl Golden {
    /// All cases for this pack.
    ///
    /// # Panics
    /// If the file does not follow the format.
    pub fn cases(&self) -> Vec<Case> {
        blocks(self.vectors).map(|fields| case(&fields)).collect()
    }
}

/// All cases for the golden pack.
///
/// # Panics
/// If the file does not follow the format.
pub fn cases() -> Vec<Case> {
    ALL[0].cases()
}

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
        .map(|fields| {
            (
                text(one(&fields, "sentence")),
                floats(one(&fields, "vector")),
            )
        })
        .collect()
}

/// A text, its kinds of features, and the hashes of its features in ascending order.
pub type TextFeatures = (Vec<u8>, FeatureKinds, Vec<u32>);

/// Texts in several scripts and their features.
///
/// # Panics
/// If the file does not follow the format.
pub fn features() -> Vec<TextFeatures> {
    let case = |fields: Fields| {
        let kinds = one(&fields, "kinds").split(' ');
        let kinds: Vec<u8> = kinds.map(|n| n.parse().expect("a number")).collect();
        let [words, pairs, symbols, least, most] = kinds[..] else {
            panic!("kinds {kinds:?}");
        };
        let hashes = from_hex(one(&fields, "features"));
        let hashes = hashes.as_chunks().0.iter();
        (
            from_hex(one(&fields, "text")),
            FeatureKinds {
                words: words == 1,
                pairs: pairs == 1,
                symbols: symbols == 1,
                least,
                most,
            },
            hashes.map(|four| u32::from_be_bytes(*four)).collect(),
        )
    };
    blocks(FEATURES).map(case).collect()
}

/// The words of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Words {
    /// One word.
    One(String),
    /// A text to be split.
    Text(String),
}

/// A bag of private words under the golden pack.
#[derive(Clone, Debug)]
pub struct BagCase {
    /// A name for messages.
    pub name: &'static str,
    /// The ε of a word.
    pub epsilon: Epsilon,
    /// The mechanism.
    pub mechanism: WordMechanism,
    /// The number of words drawn.
    pub size: u16,
    /// The bytes of the entropy source.
    pub entropy: Vec<u8>,
    /// The bag.
    pub words: Vec<Words>,
    /// The expected release.
    pub release: Vec<u8>,
}

/// All bags.
///
/// # Panics
/// If the file does not follow the format.
pub fn bags() -> Vec<BagCase> {
    let case = |fields: Fields| BagCase {
        name: one(&fields, "case"),
        epsilon: epsilon(&fields),
        mechanism: match one(&fields, "mechanism") {
            "1" => WordMechanism::Selection(Rule::PermuteAndFlip),
            "2" => WordMechanism::Selection(Rule::Exponential),
            "3" => WordMechanism::LaplaceNearest,
            other => panic!("mechanism {other}"),
        },
        size: number(&fields, "size"),
        entropy: from_hex(one(&fields, "entropy")),
        words: fields
            .iter()
            .filter_map(|(key, value)| match *key {
                "word" => Some(Words::One(text(value))),
                "text" => Some(Words::Text(text(value))),
                _ => None,
            })
            .collect(),
        release: from_hex(one(&fields, "release")),
    };
    blocks(WORDS).map(case).collect()
}

/// A private vector, plain or after the projection of [`VECTORS_PACK`].
#[derive(Clone, Debug)]
pub struct VectorCase {
    /// A name for messages.
    pub name: &'static str,
    /// The ε per unit of distance.
    pub epsilon: Epsilon,
    /// The law of the noise.
    pub noise: Noise,
    /// `None` for a vector that is projected.
    pub bound_exponent: Option<i32>,
    /// The bytes of the entropy source.
    pub entropy: Vec<u8>,
    /// The vector.
    pub vector: Vec<f32>,
    /// The expected release.
    pub release: Vec<u8>,
}

/// All private vectors.
///
/// # Panics
/// If the file does not follow the format.
pub fn vectors() -> Vec<VectorCase> {
    let case = |fields: Fields| VectorCase {
        name: one(&fields, "case"),
        epsilon: epsilon(&fields),
        noise: Noise::from_number(number(&fields, "noise")).expect("a noise"),
        bound_exponent: all(&fields, "bound_exponent")
            .next()
            .map(|value| value.parse().expect("an exponent")),
        entropy: from_hex(one(&fields, "entropy")),
        vector: floats(one(&fields, "vector")),
        release: from_hex(one(&fields, "release")),
    };
    blocks(PRIVATE_VECTORS).map(case).collect()
}

/// The keys and values of a case.
pub type Fields = Vec<(&'static str, &'static str)>;

/// The `key value` lines of each block, without comments.
pub fn blocks(file: &'static str) -> impl Iterator<Item = Fields> {
    let blocks = file.split("\n\n").map(|block| -> Fields {
        let lines = block.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.split_once(' ').unwrap_or((line, "")))
            .collect()
    });
    blocks.filter(|fields| !fields.is_empty())
}

/// All values of a key.
pub fn all(fields: &[(&str, &'static str)], wanted: &str) -> impl Iterator<Item = &'static str> {
    let values = fields.iter().filter(move |(key, _)| *key == wanted);
    values.map(|(_, value)| *value)
}

/// The value of a key that occurs once.
///
/// # Panics
/// If it does not occur once.
pub fn one(fields: &[(&str, &'static str)], wanted: &str) -> &'static str {
    let mut values = all(fields, wanted);
    match (values.next(), values.next()) {
        (Some(value), None) => value,
        _ => panic!("not exactly one `{wanted}` in {fields:?}"),
    }
}

/// The number of a key that occurs once.
///
/// # Panics
/// If it does not occur once, or is no number of this type.
pub fn number<N: FromStr>(fields: &[(&str, &'static str)], wanted: &str) -> N {
    let number = one(fields, wanted).parse().ok();
    number.unwrap_or_else(|| panic!("`{wanted}` is no number: {fields:?}"))
}

/// The ε of a case.
///
/// # Panics
/// If it has none.
pub fn epsilon(fields: &[(&str, &'static str)]) -> Epsilon {
    Epsilon::from_micro(number(fields, "epsilon_micro")).expect("an epsilon")
}

/// A text in hexadecimal.
fn text(hex: &str) -> String {
    String::from_utf8(from_hex(hex)).expect("UTF-8")
}

fn case(fields: &[(&'static str, &'static str)]) -> Case {
    Case {
        name: one(fields, "case"),
        epsilon: epsilon(fields),
        by: match one(fields, "rule") {
            "1" => By::Sentence(Rule::PermuteAndFlip),
            "2" => By::Sentence(Rule::Exponential),
            "whole-text" => By::WholeText,
            "projective" => By::Projective,
            other => panic!("rule {other}"),
        },
        entropy: from_hex(one(fields, "entropy")),
        sentences: fields
            .iter()
            .filter_map(|(key, value)| sentence(key, value))
            .collect(),
        release: from_hex(one(fields, "release"))
            .try_into()
            .expect("24 bytes"),
    }
}

fn sentence(key: &str, value: &str) -> Option<Sentence> {
    match key {
        "embedding" => Some(Sentence::Embedding(floats(value))),
        "sentence" => Some(Sentence::Text(text(value))),
        "case" | "epsilon_micro" | "rule" | "entropy" | "release" => None,
        other => panic!("unknown key {other}"),
    }
}

/// The floats in little-endian hexadecimal.
///
/// # Panics
/// If these are no floats.
pub fn floats(hex: &str) -> Vec<f32> {
    let bytes = from_hex(hex);
    let (floats, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "a vector of {} bytes", bytes.len());
    floats.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// The bytes with these hexadecimal digits.
pub fn from_hex(text: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).expect("a hexadecimal digit") as u8;
    let (pairs, rest) = text.as_bytes().as_chunks();
    assert!(rest.is_empty(), "an odd number of digits");
    pairs
        .iter()
        .map(|[high, low]| digit(*high) << 4 | digit(*low))
        .collect()
}
