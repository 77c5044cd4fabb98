//! Distillation and packing with an encoder small enough to reason about.

use undertone::corpus::CorpusDocument;
use undertone::encoder::embeddings::Encoded;
use undertone::encoder::{Encoder, EncoderIdentity, LexiconEncoder};
use undertone::error::{ErrorKind, Result};
use undertone::files::resume::Encoding;
use undertone::lexicon::distil::{Size, distil};
use undertone::pack::{self, Options, Selector};
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

fn document(text: &str) -> CorpusDocument {
    CorpusDocument {
        id: "1".to_owned(),
        text: text.to_owned(),
        ..CorpusDocument::default()
    }
}

fn corpus() -> [CorpusDocument; 1] {
    let text =
        "the cat sat on the mat while the dog ate the hat and a bat flew over the vat ".repeat(3);
    [document(&(text + "rare"))]
}

fn size(words: usize, phrases: usize, dimension: usize) -> Size {
    Size {
        words,
        phrases,
        dimension,
    }
}

#[test]
fn lexicon_keeps_the_most_frequent_words_and_weighs_rare_ones_more() {
    let bytes = distil(
        &mut Encoding::new(&Letters::new()),
        &corpus(),
        &size(15, 0, 26),
    )
    .unwrap();
    let pack = Pack::parse(&bytes).unwrap();
    let lexicon = pack.lexicon().unwrap();
    assert_eq!((lexicon.word_count(), lexicon.dimension()), (15, 26));
    assert_eq!(lexicon.phrase_count(), 0);
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

/// A teacher whose first coordinate is a judgement of food: "good" and "not good" are opposites,
/// and "not" alone is neutral.
struct Taste(EncoderIdentity);

/// Foods, each with a coordinate of its own.
const FOOD: [&str; 6] = ["soup", "bread", "cake", "tea", "rice", "salad"];

impl Encoder for Taste {
    fn identity(&self) -> &EncoderIdentity {
        &self.0
    }

    fn dimension(&self) -> usize {
        1 + FOOD.len()
    }

    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        let good = sentence.matches("good").count() as f32;
        out[0] = good - 2.0 * sentence.matches("not good").count() as f32;
        for (out, food) in out[1..].iter_mut().zip(FOOD) {
            *out = if sentence.contains(food) { 1.0 } else { 0.0 };
        }
        Ok(())
    }
}

#[test]
fn sentences_of_a_lexicon_are_like_those_of_its_encoder() {
    let encoder = Taste(EncoderIdentity {
        name: "taste".to_owned(),
        digest: [1; 32],
    });
    // Each document is about one food, by someone who likes it or not.
    let documents: Vec<CorpusDocument> = (0..240)
        .map(|number| {
            let food = FOOD[number % FOOD.len()];
            let taste = ["good", "not good", "there and not sold"][number / FOOD.len() % 3];
            document(&format!(
                "The {food} is {taste}. We ate {food}. My {food} was {taste}."
            ))
        })
        .collect();
    let bytes = distil(&mut Encoding::new(&encoder), &documents, &size(16, 40, 7)).unwrap();
    let pack = Pack::parse(&bytes).unwrap();
    let lexicon = pack.lexicon().unwrap();
    let words = ["not", "good"].map(|word| lexicon.find(word).unwrap());
    assert!(lexicon.find_phrase(words).is_some());
    assert!((1..=40).contains(&lexicon.phrase_count()));

    let vector = |sentence: &str| {
        let mut vector = [0f32; 7];
        lexicon.sentence_vector(sentence, &mut vector).unwrap();
        vector.map(f64::from)
    };
    let minus = |a: [f64; 7], b: [f64; 7]| -> [f64; 7] { std::array::from_fn(|i| a[i] - b[i]) };
    let cosine = |a: [f64; 7], b: [f64; 7]| {
        let dot = |a: [f64; 7], b: [f64; 7]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    for (one, other) in [("soup", "tea"), ("cake", "rice")] {
        let [liked, plain, disliked] = ["good", "there and not sold", "not good"]
            .map(|taste| vector(&format!("The {one} is {taste}")));
        let opposite = cosine(minus(liked, plain), minus(disliked, plain));
        assert!(opposite < -0.2, "{one}: {opposite}");
        let same = cosine(liked, vector(&format!("My {one} was good")));
        assert!(same > 0.95, "{one}: {same}");
        let unlike = cosine(liked, vector(&format!("My {other} was good")));
        assert!(unlike < 0.7, "{one}: {unlike}");
    }
    // A second run gives the same bytes.
    assert_eq!(
        distil(&mut Encoding::new(&encoder), &documents, &size(16, 40, 7)).unwrap(),
        bytes
    );
}

#[test]
fn impossible_sizes_are_refused() {
    let encoder = Letters::new();
    let error = distil(&mut Encoding::new(&encoder), &corpus(), &size(17, 0, 5)).unwrap_err();
    assert!(
        error.to_string().contains("only 16 different words"),
        "{error}"
    );
    for (words, phrases, dimension) in [
        (15, 0, 27),
        (15, 0, 0),
        (1, 0, 5),
        (70_000, 0, 5),
        (15, 70_000, 5),
    ] {
        let error = distil(
            &mut Encoding::new(&encoder),
            &corpus(),
            &size(words, phrases, dimension),
        )
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
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
    let error = distil(&mut Encoding::new(&broken), &corpus(), &size(15, 0, 5)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encoder, "{error}");
    let corpus = || {
        let text = "The cat sat down. ".repeat(8) + "The dog ran.";
        [Ok(CorpusDocument {
            text,
            ..CorpusDocument::default()
        })]
        .into_iter()
    };
    let build = |encoder: &dyn Encoder, options: &Options<'_>| {
        let mut encoded = Encoded::new("test", Encoding::new(encoder), || Ok(corpus()));
        pack::build(&mut encoded, None, options)
    };
    let error = build(&broken, &Options::default()).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("NaN or infinity for sentence 8"),
        "{message}"
    );
    assert!(build(&Letters::new(), &published()).is_ok());
}

/// Options of the published depth mechanism.
fn published() -> Options<'static> {
    Options {
        selector: Selector::DEPTH,
        ..Options::default()
    }
}

#[test]
fn codes_split_the_candidates_evenly() {
    // 512 documents of random letters give about two candidates for each code of each direction.
    let document = |number: u64| {
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
            text,
            ..CorpusDocument::default()
        })
    };
    let encoder = Letters::new();
    let open = || Ok((0..512).map(document));
    let mut encoded = Encoded::new("test", Encoding::new(&encoder), open);
    let built = pack::build(&mut encoded, None, &published()).unwrap();
    let pack = Pack::parse(&built.pack).unwrap();
    let section = pack.depth().unwrap();
    assert_eq!(
        (section.candidate_count(), section.direction_count()),
        (512, 50)
    );
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
