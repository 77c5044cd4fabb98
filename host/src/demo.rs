//! The whole process on one screen: a corpus of our own becomes a pack, a private letter becomes
//! releases, and enumeration computes the privacy loss.

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::rng::{self, PublicRng};
use undertone_core::select::Rule;
use undertone_core::unit::Unit;

use crate::corpus::CorpusDocument;
use crate::encoder::embeddings::Encoded;
use crate::encoder::{Encoder, LexiconEncoder, encode_all};
use crate::error::{Error, Result};
use crate::files::resume::Encoding;
use crate::pack::candidates::Candidates;
use crate::pack::{self, Built, LexiconData, Options};
use crate::progress::Progress;
use crate::release::document::{self, HostDocument, Method};
use crate::release::law::{Law, levels};

/// 12 topics of 60 sentences, written for this project.
const CORPUS: &str = include_str!("../assets/demo-corpus.txt");

/// A private letter, written for this project.
pub const PRIVATE_TEXT: &str = include_str!("../assets/demo-private.txt");

/// Public documents per topic.
const DOCUMENTS_PER_TOPIC: usize = 40;

/// Returns the topics of the demo corpus with their sentences.
fn topics() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut topics: Vec<(&str, Vec<&str>)> = Vec::new();
    let lines = CORPUS.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            let name = name.trim_end_matches(']');
            topics.push((name, Vec::new()));
        } else if let Some((_, sentences)) = topics.last_mut() {
            sentences.push(line);
        }
    }
    topics
}

/// Makes a public corpus: documents of 8 to 14 sentences on one topic, which is their label.
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

/// Builds the demo's pack, which includes the built-in lexicon.
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

/// Returns public sentences from all topics in turn.
pub fn public_sentences() -> Vec<&'static str> {
    let topics = topics();
    let all = (0..).flat_map(|index| topics.iter().map(move |(_, own)| own.get(index).copied()));
    all.map_while(|sentence| sentence).collect()
}

/// The privacy parameters of the demo.
const EPSILONS: [&str; 4] = ["0.5", "1", "3", "10"];

/// Replacements tried for each private sentence, spread over all topics.
const REPLACEMENTS: usize = 60;

/// Releases a private text under the demo's pack and returns a report.
///
/// # Leaks
/// The report is for the author of the text only: it contains probabilities and losses computed
/// from the text without noise.
///
/// # Shapes
/// `text`: any.
///
/// # Errors
/// Errors of releasing.
///
/// # Cost
/// One exact law per ε, sentence and replacement.
pub fn tell(built: &Built, text: &str) -> Result<String> {
    let encoder = LexiconEncoder::embedded();
    let dimension = encoder.dimension();
    let pack = Pack::parse(&built.pack).map_err(Error::from)?;
    let sentences = document::sentences(text);
    let own = encode_all(&encoder, &sentences, &Progress::hidden())?;
    let mut shown = format!(
        "Public side: {} documents, labelled with {} topics, became a pack of {} KB.\n\
         Device: a private text of {} sentences. Its words never leave this process.\n\n",
        built.documents_read,
        built.candidates.entries.len(),
        built.pack.len() / 1000,
        sentences.len(),
    );

    let mut replacements = public_sentences();
    replacements.truncate(REPLACEMENTS);
    let replacements = encode_all(&encoder, &replacements, &Progress::hidden())?;
    let mut document = document::empty(&pack)?;
    let neighbours = neighbours(&mut document, &own, &replacements, dimension);
    let levels = fill(&mut document, &own, dimension);
    for text in EPSILONS {
        let epsilon: Epsilon = text.parse().expect("the constants are valid");
        let rule = Rule::PermuteAndFlip;
        let release = document::release(
            &mut document,
            &sentences,
            &own,
            Grant::unrecorded(Unit::Sentence, epsilon),
            Method::Sentence(rule),
        )?;
        let decoded = built.candidates.decode(&release)?;
        let (candidate, _) = decoded.expect("a release by sentence names a candidate");
        let law_of = |levels: &Vec<u8>| Law::new(levels.clone(), document.ratio(epsilon), rule);
        let law = law_of(&levels);
        let losses = neighbours.iter().map(|other| law.loss(&law_of(other)));
        let loss = losses.fold(0.0, f64::max);
        shown += &format!(
            "epsilon = {epsilon}\n  \
               leaves the device   {}\n  \
               the server sees     topic {}, {}, as in \"{}\"\n  \
               chances             {}\n  \
               worst privacy loss  {loss:.6} of at most {epsilon}, over {} replaced sentences\n",
            hex::encode(release.to_bytes()),
            release.number(),
            candidate.id,
            candidate.excerpt,
            likely_topics(&built.candidates, &law),
            neighbours.len(),
        );
    }
    shown += "\nWhat is promised: take any one sentence of the text and put any other sentence in its \
         place.\nEvery release stays about as likely as it was: its probability changes by at most a \
         factor of\ne^epsilon (1.7 at 0.5, 2.8 at 1, 21 at 3, 22027 at 10). Whoever sees the release \
         learns at most\nthat much about any single sentence, whatever else they know. A fact that \
         many sentences repeat\nis protected less, and several releases of one text add up.\n\
         The privacy losses above were computed from the exact law of the release for each of those\n\
         replacements, not sampled; the chances come from the same law.\n";
    Ok(shown)
}

/// Returns the levels of the document with these sentences.
fn fill(document: &mut HostDocument<'_>, rows: &[f32], dimension: usize) -> Vec<u8> {
    document.clear();
    for row in rows.chunks_exact(dimension) {
        document
            .push(row)
            .expect("the rows have the pack's dimension and are few enough");
    }
    levels(document)
}

/// Returns the levels of every document in which one sentence was replaced.
fn neighbours(
    document: &mut HostDocument<'_>,
    own: &[f32],
    replacements: &[f32],
    dimension: usize,
) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for place in (0..own.len()).step_by(dimension) {
        for replacement in replacements.chunks_exact(dimension) {
            let mut rows = own.to_vec();
            rows[place..place + dimension].copy_from_slice(replacement);
            all.push(fill(document, &rows, dimension));
        }
    }
    all
}

/// Formats the three most probable releases.
fn likely_topics(candidates: &Candidates, law: &Law) -> String {
    let entries = candidates.entries.iter().enumerate();
    let chances = entries.map(|(index, entry)| (&entry.id, law.probability(index)));
    let mut chances: Vec<(&String, f64)> = chances.collect();
    chances.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best = chances.iter().take(3);
    let best = best.map(|(topic, chance)| format!("{topic} {:.0} %", chance * 100.0));
    best.collect::<Vec<String>>().join(", ")
}
