//! Times encoding a text without a neural encoder:
//!
//! `cargo bench -p undertone --bench lexicon [-- CORPUS]`
//!
//! The corpus is that of the demo by default. Prints one line of JSON, in microseconds a sentence
//! on one thread: medians of the vector of a sentence (`vector`), of splitting a document (`split`)
//! and of `Document::push_text` with the demo's pack (`push`). The last two are times of documents
//! divided by the numbers of their sentences.

use std::env;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use undertone::corpus::{Corpus, CorpusDocument};
use undertone::demo;
use undertone::encoder::LexiconEncoder;
use undertone::release::document;
use undertone_core::pack::Pack;
use undertone_core::sentences::sentences;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let path = env::args().skip(1).find(|a| a != "--bench");
    let path =
        path.unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/demo-corpus.txt").into());
    let texts: Vec<String> = if path.ends_with(".txt") {
        let text = std::fs::read_to_string(&path).expect("the corpus can be read");
        text.split("\n\n").map(str::to_owned).collect()
    } else {
        let documents: undertone::error::Result<Vec<CorpusDocument>> =
            Corpus::open(Path::new(&path)).expect("a corpus").collect();
        let documents = documents.expect("a corpus");
        documents
            .into_iter()
            .map(|document| document.text)
            .collect()
    };
    let lexicon = LexiconEncoder::embedded();
    let built = demo::build(1).expect("the demo's pack");
    let pack = Pack::parse(&built.pack).expect("the demo's pack");
    let mut document = document::empty(&pack).expect("candidates");
    let (mut split, mut vector, mut push) = (Vec::new(), Vec::new(), Vec::new());
    let mut out = vec![0f32; lexicon.lexicon().dimension()];
    for text in &texts {
        let text = text.as_bytes();
        let start = Instant::now();
        let number = black_box(sentences(black_box(text)).count());
        let time = start.elapsed();
        if number == 0 {
            continue;
        }
        split.push(micros(time) / number as f64);
        for sentence in sentences(text) {
            let start = Instant::now();
            let done = lexicon
                .lexicon()
                .sentence_vector(black_box(sentence), &mut out);
            vector.push(micros(start.elapsed()));
            done.expect("the lexicon's dimension");
            black_box(&out);
        }
        document.clear();
        let start = Instant::now();
        let pushed = document.push_text(black_box(text)).expect("a lexicon");
        push.push(micros(start.elapsed()) / pushed as f64);
    }
    println!(
        "{{\"sentences\": {}, \"split\": {:.2}, \"vector\": {:.2}, \"push\": {:.2}}}",
        vector.len(),
        median(split),
        median(vector),
        median(push)
    );
    ExitCode::SUCCESS
}
