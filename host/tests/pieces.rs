//! Lexicons of word lists and of the static embeddings of others.

use std::fs;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use tempfile::TempDir;
use undertone::error::{ErrorKind, Result};
use undertone::files::resume::Encoding;
use undertone::lexicon::model2vec::Model;
use undertone::lexicon::pieces::{Pieces, Plan, Space, SpaceChoice, Texts, WordList};
use undertone::lexicon::word_vectors::Matrix;
use undertone_core::lexicon::Matching;
use undertone_core::pack::Pack;

use crate::teacher::{Teacher, document};

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn plan(space: SpaceChoice<'_>, words: usize, affixes: usize) -> Plan<'_> {
    Plan {
        space,
        words,
        affixes,
        texts: None,
    }
}

fn list(content: &str) -> Result<WordList> {
    let folder = folder(&[("words.txt", content.as_bytes())]);
    WordList::open(folder.path().join("words.txt"))
}

fn matrix(columns: usize, elements: &[f32]) -> Matrix {
    Matrix {
        elements: elements.to_vec(),
        columns,
    }
}

/// Returns the message of an error in the input.
fn refused<T>(result: Result<T>, part: &str) -> String {
    let error = result.err().expect(part);
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    assert!(error.to_string().contains(part), "{error}");
    error.to_string()
}

fn shares(list: &WordList) -> Vec<(&str, usize, f64)> {
    let words = list.words.iter();
    let words = words.map(|word| (word.entry.as_str(), word.line, word.frequency));
    words.collect()
}

#[test]
fn a_list_is_in_the_order_of_frequency() {
    let counted = list("cat\t1\nThe\t5\nthe\t1\nNew York\t9\n##s\t2\n東京\t2\n").unwrap();
    assert_eq!((counted.lines.len(), counted.left_out), (6, 1));
    let wanted = [
        ("the", 1, 0.3),
        ("##s", 4, 0.1),
        ("東京", 5, 0.1),
        ("cat", 0, 0.05),
    ];
    let found = shares(&counted);
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert_eq!((found.0, found.1), (wanted.0, wanted.1));
        assert!((found.2 - wanted.2).abs() < 1e-12, "{found:?}");
    }
    // A blank line keeps its row among the vectors, and has no word.
    let blank = list("the\t2\n\n \ncat\t2\n").unwrap();
    assert_eq!(shares(&blank), [("the", 0, 0.5), ("cat", 3, 0.5)]);
    assert_eq!(blank.left_out, 0);
    let unranked = list("\nthe\n\ncat\n").unwrap();
    let wanted = [("the", 1, 1.0 / 1.5), ("cat", 3, 0.5 / 1.5)];
    assert_eq!(shares(&unranked), wanted);
    // Without numbers: 1, 1/2 and 1/3 of the most frequent one.
    let ranked = list("the\ncat\nsat").unwrap();
    let shares: Vec<f64> = ranked.words.iter().map(|word| word.frequency).collect();
    for (share, wanted) in shares.iter().zip([6.0, 3.0, 2.0]) {
        assert!((share - wanted / 11.0).abs() < 1e-12, "{shares:?}");
    }
    let none = list("the\t0\ncat\t0\n").unwrap();
    assert!(none.words.iter().all(|word| word.frequency == 0.0));
}

#[test]
fn a_wrong_list_is_named() {
    for content in ["", "two words\n!\n\n"] {
        refused(list(content), "no words");
    }
    for (content, line, part) in [
        ("the\t1\ncat\n", 2, "either all lines"),
        ("the\ncat\t1\n", 2, "either all lines"),
        ("\nthe 1000\ncat 50\n", 2, "number stands after a space"),
        ("the,1000\ncat,50\n", 1, "number stands after a comma"),
        ("\nthe;9\n", 2, "number stands after a semicolon"),
        ("word\nthe 500\ncat 50\n", 2, "stands after a space"),
        ("the|5\n", 1, "number stands after a vertical bar"),
        ("the: 5\n", 1, "number stands after a space"),
        ("500 the\n50 cat\n", 1, "number stands before the word"),
        ("\"the\"\t5\n", 1, "marks as of a quotation"),
        ("word\n\"the\"\n\"cat\"\n", 2, "marks as of a quotation"),
        ("[\"the\", \"cat\"]\n", 1, "as of a quotation or of JSON"),
        ("the\t0,99\n", 1, "after the tab is \"0,99\", not a number"),
        ("the\tmany\n", 1, "after the tab"),
        ("the\t-1\n", 1, "after the tab"),
        ("the\tinf\n", 1, "after the tab"),
    ] {
        let error = refused(list(content), part);
        assert!(error.contains(&format!(": line {line}: ")), "{error}");
    }
    let rows = matrix(2, &[1.0; 6]);
    refused(list("the\ncat").unwrap().with_vectors(&rows), "3 rows");
}

/// Entries of a lexicon: their texts, weights and vectors.
fn entries(pack: &[u8]) -> Vec<(String, u16, Vec<f32>)> {
    let pack = Pack::parse(pack).unwrap();
    let lexicon = pack.lexicon().unwrap();
    assert_eq!(lexicon.matching(), Matching::Longest);
    let unit = 2f32.powi(lexicon.vector_exponent());
    let entry = |index| {
        let (weight, vector) = lexicon.entry(index).unwrap();
        let vector = vector.iter().map(|x| f32::from(*x) * unit).collect();
        (lexicon.word(index).unwrap().to_owned(), weight, vector)
    };
    (0..lexicon.word_count()).map(entry).collect()
}

#[test]
fn words_of_a_list_go_alone_through_the_encoder() {
    // The last coordinate varies little.
    let encoder = Teacher::new("letters", 3, |sentence, out| {
        let count = |letter: char| sentence.matches(letter).count() as f32;
        out.copy_from_slice(&[count('a'), count('b'), 0.01 * count('c')]);
    });
    let list = list("bbb\t4\naaa\t3\n##ab\t2\nc\t1\ncc\t0\n").unwrap();
    let pieces = list.encode(&mut Encoding::new(&encoder)).unwrap();
    assert_eq!(pieces.vectors[6..9], [1.0, 1.0, 0.0], "without its prefix");

    let pack = pieces.lexicon_pack(&plan(SpaceChoice::Own(2), 4, 0));
    let pack = pack.unwrap();
    let name = Pack::parse(&pack).unwrap().encoder_name().to_owned();
    assert_eq!(name, "lexicon:letters");
    let found = entries(&pack);
    let words: Vec<&str> = found.iter().map(|(word, ..)| word.as_str()).collect();
    assert_eq!(words, ["##ab", "aaa", "bbb", "c"], "the last is cut off");
    // a/(a + 2/10) with a = 1/1000, in units of 1/65535.
    assert_eq!(found[0].1, 326);
    // Two directions are enough for distances, up to the scale, which is the same for all.
    let distance = |a: usize, b: usize, of: &dyn Fn(usize) -> Vec<f32>| {
        let squares = of(a).into_iter().zip(of(b)).map(|(a, b)| (a - b).powi(2));
        squares.sum::<f32>().sqrt()
    };
    let kept = |index: usize| found[index].2.clone();
    let places = [2, 1, 0, 3];
    let real = |index: usize| pieces.vectors[places[index] * 3..][..3].to_vec();
    let ratio = distance(1, 2, &kept) / distance(1, 2, &real);
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)] {
        let own = distance(a, b, &kept) / distance(a, b, &real);
        assert!((own / ratio - 1.0).abs() < 0.03, "{a} {b} {own} {ratio}");
    }
}

#[test]
fn lexicons_of_one_space_agree() {
    let rows = [
        [1.0, 0.0, 0.1],
        [0.0, 3.0, 0.0],
        [-1.0, 0.0, 0.0],
        [0.0, -3.0, -0.1],
    ];
    let first = matrix(3, rows.as_flattened());
    let space = Space::new(&first, 2).unwrap();
    // The same teacher in another language: all vectors are moved, and the words are others.
    let moved = rows.map(|row| row.map(|x| x + 5.0));
    let moved = [moved[3], moved[2], moved[1], moved[0]];
    let second = matrix(3, moved.as_flattened());
    let of = |words: &str, rows| {
        let pieces = list(words).unwrap().with_vectors(rows).unwrap();
        let pack = pieces.lexicon_pack(&plan(SpaceChoice::Given(&space), 100, 0));
        entries(&pack.unwrap())
    };
    let (english, german) = (of("a\nb\nc\nd", &first), of("z\ny\nx\nw", &second));
    for (english, german) in english.iter().zip(&german) {
        assert_eq!(english.2, german.2, "{english:?} {german:?}");
    }
    let narrow = list("a\nb").unwrap().with_vectors(&matrix(2, &[1.0; 4]));
    let error = narrow
        .unwrap()
        .lexicon_pack(&plan(SpaceChoice::Given(&space), 100, 0));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Argument);
    assert!(Space::new(&first, 4).is_err() && Space::new(&first, 0).is_err());
}

/// Words of two stems and three endings, whose vectors are the sums of the vectors of their parts.
/// Four words are in the lexicon whole; the others are not, and one is in no list.
#[test]
fn affixes_stand_for_the_words_that_are_missing() {
    let (stems, ends) = (["walk", "jump", "talk", "climb"], ["", "ing", "ed", "er"]);
    let (mut words, mut elements) = (String::new(), Vec::new());
    for (e, end) in ends.iter().enumerate() {
        for (s, stem) in stems.iter().enumerate() {
            if (*stem, *end) == ("climb", "er") {
                continue;
            }
            words += &format!("{stem}{end}\t0\n");
            let mut row = [0f32; 8];
            row[s] = 1.0;
            row[4 + e] = 1.0;
            elements.extend(row);
        }
    }
    let pieces = list(&words).unwrap().with_vectors(&matrix(8, &elements));
    let pieces = pieces.unwrap();
    let pack = |affixes| {
        let pack = pieces.lexicon_pack(&plan(SpaceChoice::Own(7), 4, affixes));
        pack.unwrap()
    };
    assert_eq!(pack(20), pack(20), "the same every time");
    assert_eq!(entries(&pack(0)).len(), 4);
    let bytes = pack(20);
    let found = entries(&bytes);
    let words: Vec<&str> = found.iter().map(|(word, ..)| word.as_str()).collect();
    let wanted = ["##ed", "##er", "##ing", "climb", "jump", "talk", "walk"];
    assert_eq!(words, wanted);
    // The vector of a word that the lexicon lacks is near the sum of its parts, as in the teacher.
    let lexicon = Pack::parse(&bytes).unwrap().lexicon().unwrap();
    let vector = |text: &str| {
        let mut out = [0f32; 7];
        lexicon.sentence_vector(text, &mut out).unwrap();
        out
    };
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let cosine = |a: &str, b: &str| {
        let (a, b) = (vector(a), vector(b));
        dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
    };
    assert!(cosine("climber", "walker") > cosine("climber", "walking"));
    assert!(cosine("climber", "climbed") > cosine("climber", "walked"));
}

#[test]
fn texts_move_the_words_that_they_have() {
    // Pairs of words with equal vectors of the teacher, but different use in texts.
    let rows = matrix(2, &[1.0, 0.0, 1.0, 0.0, -1.0, 1.0, -1.0, -1.0]);
    let pieces = list("bank\t0\nshore\t0\nmoney\t0\nsea\t0").unwrap();
    let pieces = pieces.with_vectors(&rows).unwrap();
    let documents = ["bank", "shore"].repeat(20).into_iter().map(document);
    let documents: Vec<_> = documents.collect();
    let vectors = matrix(2, &[0.0, 1.0, 0.0, -1.0].repeat(20));
    let texts = |documents| Texts {
        documents,
        vectors: &vectors,
    };
    let of = |texts| {
        let plan = Plan {
            texts,
            ..plan(SpaceChoice::Own(2), 100, 0)
        };
        pieces.lexicon_pack(&plan)
    };
    let vector = |pack: &[u8], word: &str| {
        let found = entries(pack).into_iter().find(|(own, ..)| own == word);
        found.unwrap().2
    };
    let alone = of(None).unwrap();
    assert_eq!(vector(&alone, "bank"), vector(&alone, "shore"));
    let fitted = of(Some(texts(&documents[..]))).unwrap();
    let (bank, shore) = (vector(&fitted, "bank"), vector(&fitted, "shore"));
    let dot: f32 = bank.iter().zip(&shore).map(|(a, b)| a * b).sum();
    assert!(dot < 0.0, "{bank:?} {shore:?}");
    let fewer = of(Some(texts(&documents[1..])));
    refused(fewer, "40 rows, but `the corpus` has 39 lines");
}

/// A folder as model2vec writes it: five rows for the tokens of `tokenizer`.
fn model(tokenizer: &str, tensors: &[(&str, Dtype, &[usize], Vec<u8>)]) -> TempDir {
    let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
        let view = TensorView::new(*dtype, shape.to_vec(), bytes).unwrap();
        ((*name).to_owned(), view)
    });
    let bytes = safetensors::serialize(views, None).unwrap();
    folder(&[
        ("tokenizer.json", tokenizer.as_bytes()),
        ("model.safetensors", &bytes),
    ])
}

fn tokenizer(pre_tokenizer: &str, decoder: &str, model: &str) -> String {
    format!(
        r#"{{"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
        "added_tokens": [{{"id": 0, "content": "[UNK]", "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true}}],
        "pre_tokenizer": {pre_tokenizer}, "decoder": {decoder}, "model": {model}}}"#
    )
}

fn word_piece(vocabulary: &str) -> String {
    let model = format!(
        r###"{{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100, "vocab": {vocabulary}}}"###
    );
    let decoder = r###"{"type": "WordPiece", "prefix": "##", "cleanup": true}"###;
    tokenizer(r#"{"type": "BertPreTokenizer"}"#, decoder, &model)
}

fn floats(rows: &[f32]) -> Vec<u8> {
    rows.iter().flat_map(|x| x.to_le_bytes()).collect()
}

const ROWS: [f32; 10] = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];

fn opened(folder: &Path) -> (Vec<String>, Pieces) {
    let pieces = Model::open(folder).unwrap().pieces();
    let words = pieces.entries.iter().map(|(word, _)| word.clone());
    (words.collect(), pieces)
}

#[test]
fn vocabularies_of_any_kind_become_entries() {
    let unigram = r#"{"type": "Unigram", "unk_id": 0, "vocab": [["[UNK]", 0.0], ["▁Haus", -1.0], ["tür", -2.0],
        ["東京", -3.0], ["▁.", -4.0]]}"#;
    let space =
        r#"{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}"#;
    let bytes = r#"{"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "merges": [],
        "vocab": {"[UNK]": 0, "ĠHaus": 1, "tÃ¼r": 2, "æĿ±äº¬": 3, "Ã": 4}}"#;
    let level = r#"{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}"#;
    let words = r###"{"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "Haus": 1, "##tür": 2, "東京": 3, "a b": 4}}"###;
    let white = r#"{"type": "WhitespaceSplit"}"#;
    // The vocabulary of multilingual BERT has this character.
    let piece = word_piece(r###"{"[UNK]": 0, "haus": 1, "##tür": 2, "東京": 3, "▁": 4}"###);
    for (json, wanted) in [
        (piece, &["haus", "##tür", "東京"][..]),
        (tokenizer(space, space, unigram), &["haus", "##tür", "東京"]),
        (tokenizer(level, level, bytes), &["haus", "##tür", "東京"]),
        (tokenizer(white, "null", words), &["haus", "東京"]),
    ] {
        let folder = model(&json, &[("embeddings", Dtype::F32, &[5, 2], floats(&ROWS))]);
        let (found, pieces) = opened(folder.path());
        assert_eq!(found, wanted);
        assert_eq!(pieces.vectors[..2], [1.0, 0.0]);
        let pack = pieces.lexicon_pack(&plan(SpaceChoice::Own(2), 100, 0));
        assert_eq!(entries(&pack.unwrap()).len(), wanted.len());
    }
}

#[test]
fn tensors_say_which_row_and_how_much() {
    let vocabulary = word_piece(r#"{"[UNK]": 0, "Apple": 1, "apple": 2, "Pear": 3}"#);
    let mapping = [0i64, 0, 1, 2].map(i64::to_le_bytes).concat();
    let weights = [0.0f64, 1.0, 1.0, 4.0].map(f64::to_le_bytes).concat();
    let tensors = [
        (
            "embeddings",
            Dtype::I8,
            &[3, 2][..],
            vec![0, 0, 5, 250, 0, 127],
        ),
        ("mapping", Dtype::I64, &[4], mapping),
        ("weights", Dtype::F64, &[4], weights),
    ];
    let folder = model(&vocabulary, &tensors);
    let mut opened = Model::open(folder.path()).unwrap();
    let pieces = opened.pieces();
    let wanted = [("apple".to_owned(), 16_384), ("pear".to_owned(), u16::MAX)];
    assert_eq!(pieces.entries, wanted);
    assert_eq!(pieces.vectors, [5.0, -6.0, 0.0, 127.0]);
    // Words of the corpus come first.
    opened.count(&document("Pear, Pear"));
    assert_eq!(opened.pieces().entries[0], wanted[1]);
    assert_eq!(opened.dimension(), 2);
}

#[test]
fn a_wrong_folder_is_named() {
    let good = word_piece(r#"{"[UNK]": 0, "a": 1, "b": 2}"#);
    let wrong = word_piece(r#"{"[UNK]": 0, "!": 1}"#);
    let rows = |n: usize| floats(&ROWS[..2 * n]);
    let embeddings = ("embeddings", Dtype::F32, &[3, 2][..], rows(3));
    let other = ("other", Dtype::F32, &[3, 2][..], rows(3));
    let flat = ("embeddings", Dtype::F32, &[6][..], rows(3));
    let bytes = ("embeddings", Dtype::U8, &[3, 2][..], vec![0; 6]);
    let odd = floats(&[0.0, f32::NAN, 0.0, 0.0, 0.0, 0.0]);
    let odd = ("embeddings", Dtype::F32, &[3, 2][..], odd);
    let few = ("embeddings", Dtype::F32, &[2, 2][..], rows(2));
    let negative = ("mapping", Dtype::I32, &[3][..], vec![255; 12]);
    let short = ("weights", Dtype::F32, &[2][..], rows(1));
    for (json, tensors, part) in [
        (&good, vec![other], "neither"),
        (&good, vec![flat], "shape [6]"),
        (&good, vec![bytes], "U8"),
        (&good, vec![odd], "NaN"),
        (&good, vec![few], "no row for \"b\", token 2"),
        (&good, vec![embeddings.clone(), negative], "below 0"),
        (&good, vec![embeddings.clone(), short], "no row for \"b\""),
        (&wrong, vec![embeddings.clone()], "no token"),
        (&"{}".to_owned(), vec![embeddings], "tokenizer.json"),
    ] {
        let folder = model(json, &tensors);
        refused(Model::open(folder.path()), part);
    }
    let error = Model::open("absent").err().expect("no folder");
    assert_eq!(error.kind(), ErrorKind::Io);
}
