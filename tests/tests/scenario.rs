//! From devices to an answer: releases of a C program and of Rust are counted, estimated and
//! compared with the truth.

#![cfg(unix)]

use std::fs;

use crate::common::{have, output_dir};
use crate::planted_device::build_device;
use undertone::corpus::CorpusDocument;
use undertone::demo;
use undertone::encoder::LexiconEncoder;
use undertone::encoder::embeddings::Encoded;
use undertone::files::resume::Encoding;
use undertone::pack::{self, Contest, Fit, Inputs, LexiconData, Options, Selector, TargetChoice};
use undertone::release::document::{Method, OsEntropy};
use undertone_audit::sampled::device::{Device, Program, Sentence};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::Release;
use undertone_core::rng::{PublicRng, below};
use undertone_core::unit::Unit;
use undertone_estimate::counts::{Counter, Expected, Format, Kind};
use undertone_estimate::labels::{Assumption, Laws, Sample, labels};
use undertone_estimate::shares::{Confidence, pooled};

/// Devices of each kind.
const DEVICES: usize = 2500;

/// Sentences in a text.
const SENTENCES: usize = 3;

/// Public texts on a topic.
const PUBLIC: usize = 15;

/// Topics of the demo corpus.
const TOPICS: usize = 12;

/// Texts by topic, the sentences of the demo corpus in their order.
fn topics() -> Vec<(String, Vec<Vec<String>>)> {
    let all = demo::public_sentences();
    let of = |topic: usize| {
        let own = all.iter().skip(topic).step_by(TOPICS).copied();
        let own: Vec<String> = own.map(str::to_owned).collect();
        let texts = own.chunks(SENTENCES).map(<[_]>::to_vec);
        (format!("topic {topic:02}"), texts.collect())
    };
    (0..TOPICS).map(of).collect()
}

/// The pack of the public texts, with its calibration.
fn build(topics: &[(String, Vec<Vec<String>>)]) -> pack::Built {
    let encoder = LexiconEncoder::embedded();
    let document = |(topic, number, text): (&String, usize, &Vec<String>)| CorpusDocument {
        id: format!("{topic}-{number}"),
        label: Some(topic.clone()),
        text: text.join(" "),
        ..CorpusDocument::default()
    };
    let documents: Vec<CorpusDocument> = topics
        .iter()
        .flat_map(|(topic, texts)| {
            let texts = texts.iter().take(PUBLIC).enumerate();
            texts.map(move |(number, text)| document((topic, number, text)))
        })
        .collect();
    let mut encoded = Encoded::new("the demo corpus", Encoding::new(&encoder), || {
        Ok(documents.iter().cloned().map(Ok))
    });
    let contest = Contest {
        inputs: &[Inputs::Vectors],
        size: None,
        nothing_known: None,
    };
    let options = Options {
        selector: Selector::Scores {
            targets: TargetChoice::Labels,
            fit: Fit::HeldOut(contest),
        },
        seed: 1,
    };
    let lexicon = LexiconData::from_view(encoder.lexicon());
    pack::build(&mut encoded, Some(lexicon), &options).expect("the corpus is public and fine")
}

/// 2,500 devices in C and 2,500 in Rust have texts that were not used for the pack, on topics of
/// unequal frequency.
///
/// Chance: false alarm 10⁻¹⁰, miss none. Releases are random. The intervals contain the true shares
/// of candidates except with a probability of 10⁻¹⁰. The total variation of the shares of labels is
/// 0.13 with a standard deviation of 0.012 (15 public texts on a topic are few), and one release
/// moves it by less than 0.005. The limit is 0.3; by Bernstein's bound, it is exceeded less than
/// once in 10¹⁵ times.
#[test]
fn the_truth_lies_in_the_intervals() {
    if !have("cc", "gcc") {
        return;
    }
    let topics = topics();
    let built = build(&topics);
    let folder = output_dir().join("scenario");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let path = folder.join("demo.pack");
    fs::write(&path, &built.pack).expect("the target folder can be written");
    let pack = Pack::parse(&built.pack).expect("a pack");
    let epsilon: Epsilon = "3".parse().expect("an epsilon");

    let private: Vec<(usize, &Vec<String>)> = topics
        .iter()
        .enumerate()
        .flat_map(|(topic, (_, texts))| texts.iter().skip(PUBLIC).map(move |text| (topic, text)))
        .collect();
    let texts_of_topic = private.len() / topics.len();
    // Topic k is 1/(k + 1) times as frequent as topic 0.
    let weights: Vec<u128> = (1..=topics.len() as u128).map(|k| 27_720 / k).collect();
    let mut rng = PublicRng::new(7);
    let mut drawn = || -> Vec<usize> {
        let mut text = || {
            let mut at = u128::from(below(&mut rng, weights.iter().sum()));
            let topic = weights.iter().position(|weight| {
                let here = at < *weight;
                at = at.saturating_sub(*weight);
                here
            });
            topic.expect("below the sum") * texts_of_topic
                + below(&mut rng, texts_of_topic as u128) as usize
        };
        (0..DEVICES).map(|_| text()).collect()
    };
    let (in_c, in_rust) = (drawn(), drawn());

    // Devices in C, as raw records.
    let program = build_device("device-scenario", &["-O2"]);
    let mut device = Program::start(&program, &path, &pack, |_| ()).expect("it starts");
    for (number, (_, text)) in private.iter().enumerate() {
        let sentences = text.iter().cloned().map(Sentence::Text);
        device
            .keep(number, &Vec::from_iter(sentences))
            .expect("a document");
    }
    let outcomes = device.releases(&in_c, Method::WholeText, epsilon, DEVICES);
    let outcomes = outcomes.expect("releases");
    let kind = Kind::from_fields(pack.id(), 7, 2, epsilon, 0).expect("a kind");
    let raw: Vec<u8> = outcomes
        .iter()
        .flat_map(|outcome| kind.to_bytes(*outcome))
        .collect();
    fs::write(folder.join("c.raw"), raw).expect("the target folder can be written");

    // Devices in Rust, as lines. Text that is not a release is rejected.
    let mut best = vec![0.0; pack.candidate_count() as usize + 1];
    let mut of_topics = vec![0.0; topics.len()];
    let mut lines = String::from("{\"release\":\"forged\"}\n");
    let mut document: Document<'_> = Document::new(&pack).expect("a document");
    for (turn, text) in in_rust.iter().chain(&in_c).enumerate() {
        let (topic, sentences) = private[*text];
        for sentence in sentences {
            document
                .push_sentence(sentence)
                .expect("the pack reads text");
        }
        best[hazmat::best(&document).expect("scores") as usize] += 1.0 / (2 * DEVICES) as f64;
        of_topics[topic] += 1.0 / (2 * DEVICES) as f64;
        if turn < DEVICES {
            let grant = Grant::unrecorded(Unit::WholeText, epsilon);
            let release: Release = document
                .release_whole_text(grant, &mut OsEntropy)
                .expect("a release");
            let digits: String = release
                .to_bytes()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            lines += &format!("{{\"release\":\"{digits}\"}}\n");
        }
        document.clear();
    }
    fs::write(folder.join("rust.jsonl"), lines).expect("the target folder can be written");

    let mut expected = Expected::default();
    expected.pack(pack.id(), pack.candidate_count(), pack.has_nothing_known());
    let mut counter = Counter::new(Vec::new(), expected).expect("no slices");
    for name in ["c.raw", "rust.jsonl"] {
        let path = folder.join(name);
        counter
            .file(&path, Format::of(&path).expect("a known ending"))
            .expect("it can be read");
    }
    let counted = counter.finish().expect("counts");
    assert_eq!(counted.rejected.total(), 1);
    let group = counted.counts.groups().next().expect("one kind");
    assert_eq!(group.total(), 2 * DEVICES as u64);

    let sure = Confidence {
        level: 1.0 - 1e-10,
        at_once: true,
    };
    let own = pooled(
        &[(group.kind, group.outcomes)],
        pack.candidate_count(),
        sure,
    );
    let own = own.expect("an estimate").expect("whole texts");
    for (share, truth) in own.shares.iter().zip(&best) {
        assert!(
            share.low <= *truth && *truth <= share.high,
            "{share:?} {truth}"
        );
        assert!(share.high - share.low < 0.2, "{share:?}");
    }

    let calibration = built
        .candidates
        .calibration
        .as_ref()
        .expect("held-out texts");
    let laws = Laws::new(group.kind, calibration).expect("laws of public texts");
    let sample = Sample {
        laws: &laws,
        outcomes: group.outcomes,
    };
    let own = labels(&[sample], Confidence::default(), Assumption::Alike).expect("an estimate");
    let names: Vec<&String> = topics.iter().map(|(topic, _)| topic).collect();
    let distance: f64 = calibration
        .labels
        .iter()
        .zip(&own.shares)
        .map(|(label, share)| {
            let topic = names
                .iter()
                .position(|name| *name == label)
                .expect("a topic");
            (share.share - of_topics[topic]).abs() / 2.0
        })
        .sum();
    assert!(distance < 0.3, "{distance}");
}
