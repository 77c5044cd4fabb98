//! The demo's public side: a corpus of our own, the pack that is made of it, and a private letter.

use undertone_core::rng::{self, PublicRng};

use crate::corpus::CorpusDocument;
use crate::encoder::LexiconEncoder;
use crate::encoder::embeddings::Encoded;
use crate::error::Result;
use crate::files::resume::Encoding;
use crate::pack::{self, Built, LexiconData, Options};

/// 12 topics of 60 sentences, written for this project.
const CORPUS: &str = include_str!("../assets/demo-corpus.txt");

/// A private letter, written for this project.
pub const PRIVATE_TEXT: &str = include_str!("../assets/demo-private.txt");

/// Public documents made from each topic.
const DOCUMENTS_PER_TOPIC: usize = 40;

/// The topics of the demo corpus with their sentences.
fn topics() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut topics: Vec<(&str, Vec<&str>)> = Vec::new();
    let lines = CORPUS.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            topics.push((name, Vec::new()));
        } else if let Some((_, sentences)) = topics.last_mut() {
            sentences.push(line);
        }
    }
    topics
}

/// A public corpus: documents of 8 to 14 sentences, each on one topic, labelled with it.
pub fn corpus(seed: u64) -> Vec<CorpusDocument> {
    let mut rng = PublicRng::new(seed);
    let mut documents = Vec::new();
    for (topic, sentences) in topics() {
        for number in 0..DOCUMENTS_PER_TOPIC {
            let mut left = sentences.clone();
            let length = 8 + rng::below(&mut rng, 7) as usize;
            let text: Vec<&str> = (0..length.min(left.len()))
                .map(|_| left.swap_remove(rng::below(&mut rng, left.len() as u128) as usize))
                .collect();
            documents.push(CorpusDocument {
                id: format!("{topic}-{number}"),
                label: Some(topic.to_owned()),
                text: text.join(" "),
                ..CorpusDocument::default()
            });
        }
    }
    documents
}

/// Builds the demo's pack, with the built-in lexicon in it.
///
/// # Errors
/// Errors of packing.
pub fn build(seed: u64) -> Result<Built> {
    let encoder = LexiconEncoder::embedded();
    let options = Options {
        seed,
        ..Options::default()
    };
    let lexicon = LexiconData::from_view(encoder.lexicon());
    let documents = corpus(seed);
    let mut encoded = Encoded::new("the demo corpus", Encoding::new(&encoder), || {
        Ok(documents.iter().cloned().map(Ok))
    });
    pack::build(&mut encoded, Some(lexicon), &options)
}

/// Public sentences from all topics in turn.
pub fn public_sentences() -> Vec<&'static str> {
    let topics = topics();
    (0..)
        .flat_map(|index| {
            topics
                .iter()
                .map(move |(_, sentences)| sentences.get(index).copied())
        })
        .map_while(|sentence| sentence)
        .collect()
}
