//! Makes a pack from a public corpus, releases a text with it, and decodes the release.
//!
//! `cargo run -p undertone --example pack_and_release`

use std::error::Error;

use undertone::corpus::CorpusDocument;
use undertone::encoder::embeddings::Encoded;
use undertone::encoder::{LexiconEncoder, encode_all};
use undertone::files::resume::Encoding;
use undertone::pack::{self, LexiconData, Options};
use undertone::progress::Progress;
use undertone::release::document::{self, Method};
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::unit::Unit;

const PUBLIC: [(&str, &str); 4] = [
    (
        "football",
        "The penalty came late. Our goalkeeper held it. The fans sang.",
    ),
    (
        "football",
        "The referee blew his whistle. The striker missed the goal.",
    ),
    (
        "medicine",
        "The doctor wants a blood test. The biopsy is done.",
    ),
    (
        "medicine",
        "The clinic called about the treatment. The nurse was kind.",
    ),
];

const PRIVATE: [&str; 3] = [
    "My doctor called about the test.",
    "The biopsy is on Monday.",
    "I worry about the treatment.",
];

fn main() -> Result<(), Box<dyn Error>> {
    // Public, once: a pack for devices, and the candidates for the server.
    let encoder = LexiconEncoder::embedded();
    let corpus = PUBLIC
        .iter()
        .enumerate()
        .map(|(number, (label, text))| CorpusDocument {
            id: number.to_string(),
            label: Some((*label).to_owned()),
            text: (*text).to_owned(),
            ..CorpusDocument::default()
        });
    let corpus: Vec<CorpusDocument> = corpus.collect();
    let mut encoded = Encoded::new("the example's corpus", Encoding::new(&encoder), || {
        Ok(corpus.iter().cloned().map(Ok))
    });
    let lexicon = LexiconData::from_view(encoder.lexicon());
    let built = pack::build(&mut encoded, Some(lexicon), &Options::default())?;

    // Private, on the device: each sentence alone becomes a vector, and one release leaves.
    let pack = Pack::parse(&built.pack)?;
    let rows = encode_all(&encoder, &PRIVATE, &Progress::hidden())?;
    let mut document = document::empty(&pack)?;
    let grant = Grant::unrecorded(Unit::WholeText, "3".parse()?); // counts nothing: see `release::ledger`
    let release = document::release(&mut document, &PRIVATE, &rows, grant, Method::WholeText)?;
    println!("leaves the device: {} bytes", release.to_bytes().len());

    // On the server.
    if let Some((candidate, _)) = built.candidates.decode(&release)? {
        println!("the server sees:   {}", candidate.id);
    }
    Ok(())
}
