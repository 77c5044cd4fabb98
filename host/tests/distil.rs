//! Distillation and packing with an encoder small enough to reason about.

use undertone::corpus::CorpusDocument;
use undertone::distil::{WordCounts, distil};
use undertone::encoder::{Encoder, EncoderIdentity, LexiconEncoder};
use undertone::error::{Error, Result};
use undertone::packer::{self, Options, Selector};
use undertone_core::pack::Pack;

/// Encodes a text as its letter counts, which lie mostly in a few directions.
struct Letters(EncoderIdentity);

impl Letters {
    fn new() -> Self {
        Self(EncoderIdentity {
            name: "letters".to_owned(),
            digest: [7; 32],
        })
    }
}

impl Encoder for Letters {
    fn identity(&self) -> &EncoderIdentity {
        &self.0
    }

    fn dimension(&self) -> usize {
        26
    }

    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        out.fill(0.0);
        for byte in sentence.bytes().filter(u8::is_ascii_lowercase) {
            out[usize::from(byte - b'a')] += 1.0;
        }
        Ok(())
    }
}

fn counts() -> WordCounts {
    let mut counts = WordCounts::default();
    let text =
        "the cat sat on the mat while the dog ate the hat and a bat flew over the vat ".repeat(3);
    counts.add(&CorpusDocument {
        id: "1".to_owned(),
        label: None,
        text: text + "rare",
    });
    counts
}

#[test]
fn lexicon_keeps_the_most_frequent_words_and_weighs_rare_ones_more() {
    let bytes = distil(&Letters::new(), &counts(), 15, 26).unwrap();
    let pack = Pack::parse(&bytes).unwrap();
    let lexicon = pack.lexicon().unwrap();
    assert_eq!((lexicon.n_words(), lexicon.dimension()), (15, 26));
    assert_eq!(lexicon.find("rare"), None, "the 16th word");
    let weight = |word: &str| lexicon.entry(lexicon.find(word).unwrap()).unwrap().0;
    assert!(weight("the") < weight("cat"));
    // a/(a + 15/58) and a/(a + 3/58) with a = 1/1000, in 1/65535.
    assert_eq!((weight("the"), weight("cat")), (252, 1243));
    assert_eq!(pack.encoder_name(), "lexicon:letters");
    assert_eq!(
        pack.encoder_digest(),
        &LexiconEncoder::new(&pack).unwrap().identity().digest
    );
}

#[test]
fn lexicon_vectors_keep_the_geometry_of_the_encoder() {
    let encoder = Letters::new();
    // All directions: distances survive but for rounding to bytes.
    let bytes = distil(&encoder, &counts(), 15, 26).unwrap();
    let lexicon = Pack::parse(&bytes).unwrap().lexicon().unwrap();
    let words: Vec<&str> = (0..15).map(|index| lexicon.word(index).unwrap()).collect();
    let own = |word: &str| {
        let mut vector = [0f32; 26];
        encoder.encode(word, &mut vector).unwrap();
        vector.map(f64::from)
    };
    let kept = |word: &str| {
        let entry = lexicon.entry(lexicon.find(word).unwrap()).unwrap();
        let vector: Vec<f64> = entry.1.iter().map(|x| f64::from(*x)).collect();
        <[f64; 26]>::try_from(vector).unwrap()
    };
    let distance = |a: [f64; 26], b: [f64; 26]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let pairs: Vec<(f64, f64)> = words
        .iter()
        .flat_map(|a| words.iter().map(move |b| (*a, *b)))
        .map(|(a, b)| (distance(own(a), own(b)), distance(kept(a), kept(b))))
        .collect();
    let (all_own, all_kept) = pairs
        .iter()
        .fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    for (own, kept) in pairs {
        let kept = kept * all_own / all_kept;
        // One coordinate in a thousand is clamped, which shortens a few distances.
        assert!((own - kept).abs() < 0.15, "{own} became {kept}");
    }
}

#[test]
fn impossible_sizes_are_refused() {
    let encoder = Letters::new();
    assert!(matches!(
        distil(&encoder, &counts(), 17, 5),
        Err(Error::TooFewWords {
            found: 16,
            wanted: 17
        })
    ));
    for (words, dimension) in [(15, 27), (15, 0), (1, 5), (70_000, 5)] {
        let error = distil(&encoder, &counts(), words, dimension).unwrap_err();
        assert!(matches!(error, Error::PackLimit { .. }), "{error}");
    }
}

#[test]
fn encoders_that_give_no_numbers_are_refused() {
    struct Broken(Letters);
    impl Encoder for Broken {
        fn identity(&self) -> &EncoderIdentity {
            self.0.identity()
        }
        fn dimension(&self) -> usize {
            26
        }
        fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
            self.0.encode(sentence, out)?;
            if sentence.contains("dog") {
                out[3] = f32::NAN;
            }
            Ok(())
        }
    }
    let broken = Broken(Letters::new());
    assert!(matches!(
        distil(&broken, &counts(), 15, 5),
        Err(Error::NotFinite { .. })
    ));
    let corpus = || {
        let text = "The cat sat down. ".repeat(8) + "The dog ran.";
        [Ok(CorpusDocument {
            id: "1".to_owned(),
            label: None,
            text,
        })]
        .into_iter()
    };
    let error = packer::build(corpus(), &broken, None, &Options::default()).unwrap_err();
    assert!(
        matches!(error, Error::NotFinite { sentence: 8, .. }),
        "{error}"
    );
    assert!(packer::build(corpus(), &Letters::new(), None, &published()).is_ok());
}

/// Depth as published.
fn published() -> Options<'static> {
    Options {
        selector: Selector::DEPTH,
        ..Options::default()
    }
}

#[test]
fn codes_split_the_candidates_evenly() {
    // 512 documents of random letters: each code of each direction gets about two candidates.
    let corpus = (0..512u64).map(|number| {
        let mut state = number;
        let text: String = (0..8)
            .map(|_| {
                let word: String = (0..20)
                    .map(|_| {
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        char::from(b'a' + (state >> 33) as u8 % 26)
                    })
                    .collect();
                format!("A{word}. ")
            })
            .collect();
        Ok(CorpusDocument {
            id: number.to_string(),
            label: None,
            text,
        })
    });
    let built = packer::build(corpus, &Letters::new(), None, &published()).unwrap();
    let pack = Pack::parse(&built.pack).unwrap();
    let section = pack.depth().unwrap();
    assert_eq!((section.candidates(), section.n_directions()), (512, 50));
    let mut histogram = vec![[0u32; 256]; 50];
    let (mut projections, mut codes) = ([0; 50], [0; 50]);
    for embedding in built.candidates.embeddings.chunks_exact(26) {
        section.projections(None, embedding, &mut projections);
        section.codes_of(&projections, &mut codes);
        for (histogram, code) in histogram.iter_mut().zip(codes) {
            histogram[usize::from(code)] += 1;
        }
    }
    for histogram in histogram {
        let used = histogram.iter().filter(|count| **count > 0).count();
        assert!(used >= 250, "{used} codes used");
        assert!(histogram.iter().all(|count| *count <= 8));
    }
}
