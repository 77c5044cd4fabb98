//! Distillation and packing with an encoder small enough to reason about.

use undertone::corpus::CorpusDocument;
use undertone::encoder::embeddings::Encoded;
use undertone::encoder::{Encoder, LexiconEncoder};
use undertone::error::ErrorKind;
use undertone::files::resume::Encoding;
use undertone::lexicon::distil::{Size, distil};
use undertone::pack::{self, Options, Selector};
use undertone_core::pack::Pack;
use undertone_core::rng::{self, PublicRng};

use crate::teacher::{Teacher, document};

/// Counts the letters of a sentence. Most counts lie in a few directions.
fn count_letters(sentence: &str, out: &mut [f32]) {
    for byte in sentence.bytes().filter(u8::is_ascii_lowercase) {
        out[usize::from(byte - b'a')] += 1.0;
    }
}

fn letters() -> Teacher {
    Teacher::new("letters", 26, count_letters)
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
    let encoder = letters();
    let bytes = distil(&mut Encoding::new(&encoder), &corpus(), &size(15, 0, 26)).unwrap();
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
    let encoder = LexiconEncoder::new(&pack).unwrap();
    assert_eq!(pack.encoder_digest(), &encoder.identity().digest);
}

/// Foods, each with a coordinate of its own.
const FOOD: [&str; 6] = ["soup", "bread", "cake", "tea", "rice", "salad"];

#[test]
fn sentences_of_a_lexicon_are_like_those_of_its_encoder() {
    // The first coordinate is a judgement of food: "good" and "not good" are opposites, and "not"
    // alone is neutral.
    let encoder = Teacher::new("taste", 1 + FOOD.len(), |sentence, out| {
        let good = sentence.matches("good").count() as f32;
        out[0] = good - 2.0 * sentence.matches("not good").count() as f32;
        for (out, food) in out[1..].iter_mut().zip(FOOD) {
            *out = f32::from(u8::from(sentence.contains(food)));
        }
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
    let again = distil(&mut Encoding::new(&encoder), &documents, &size(16, 40, 7));
    assert_eq!(again.unwrap(), bytes, "the same every time");
}

#[test]
fn impossible_sizes_are_refused() {
    let encoder = letters();
    let refused = |words, phrases, dimension| {
        let size = size(words, phrases, dimension);
        distil(&mut Encoding::new(&encoder), &corpus(), &size).unwrap_err()
    };
    let error = refused(17, 0, 5).to_string();
    assert!(error.contains("only 16 different words"), "{error}");
    for (words, phrases) in [(1, 0), (70_000, 0), (15, 70_000)] {
        let error = refused(words, phrases, 5);
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    }
    for dimension in [0, 27] {
        let error = refused(15, 0, dimension);
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    }
}

#[test]
fn encoders_that_give_no_numbers_are_refused() {
    let broken = Teacher::new("broken", 26, |sentence, out| {
        count_letters(sentence, out);
        if sentence.contains("dog") {
            out[3] = f32::NAN;
        }
    });
    let error = distil(&mut Encoding::new(&broken), &corpus(), &size(15, 0, 5)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encoder, "{error}");
    let text = "The cat sat down. ".repeat(8) + "The dog ran.";
    let build = |encoder: &dyn Encoder, options: &Options<'_>| {
        let open = || Ok([Ok(document(&text))].into_iter());
        let mut encoded = Encoded::new("test", Encoding::new(encoder), open);
        pack::build(&mut encoded, None, options)
    };
    let error = build(&broken, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("NaN or infinity for sentence 8"), "{error}");
    assert!(build(&letters(), &published()).is_ok());
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
    let random = |number: u64| {
        let mut rng = PublicRng::new(number);
        let mut letter = || char::from(b'a' + rng::below(&mut rng, 26) as u8);
        let mut word = || (0..20).map(|_| letter()).collect::<String>();
        let text: String = (0..8).map(|_| format!("A{}. ", word())).collect();
        Ok(document(&text))
    };
    let encoder = letters();
    let open = || Ok((0..512).map(random));
    let mut encoded = Encoded::new("test", Encoding::new(&encoder), open);
    let built = pack::build(&mut encoded, None, &published()).unwrap();
    let pack = Pack::parse(&built.pack).unwrap();
    let section = pack.depth().unwrap();
    assert_eq!(section.candidate_count(), 512);
    assert_eq!(section.direction_count(), 50);
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
