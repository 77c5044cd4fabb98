//! Sentence encoders on both engines: small ones from `common`, and all-MiniLM-L6-v2 if it is
//! there.
//!
//! ONNX Runtime takes part if `ORT_DYLIB_PATH` names its library. The model is in the folder
//! `UNDERTONE_MODELS`, or beside the workspace. A part that is missing is not checked, and standard
//! error names it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use undertone::encoder::{
    Encoder, OnnxEncoder, RUNTIME_VARIABLE, Runtime, encode_all, encode_all_public,
};
use undertone::error::{Error, ErrorKind};
use undertone::progress::Progress;

use crate::common::{
    DIMENSION, Model, TABLE, fitting_tokenizer, minilm, table_bytes, tokenizer_json, write_encoder,
};

/// The built-in engine and, if the variable names it, ONNX Runtime.
fn runtimes() -> Vec<Runtime> {
    let mut runtimes = vec![Runtime::Rten];
    match Runtime::choose(None) {
        Runtime::Rten => eprintln!("not checked: ONNX Runtime ({RUNTIME_VARIABLE} is not set)"),
        other => runtimes.push(other),
    }
    runtimes
}

/// The usual small encoder.
fn tiny(folder: &Path) -> PathBuf {
    write_encoder(folder, "tiny", &Model::default(), &fitting_tokenizer())
}

fn encode(encoder: &dyn Encoder, sentence: &str) -> Vec<f32> {
    let mut out = vec![f32::NAN; encoder.dimension()];
    encoder.encode(sentence, &mut out).unwrap();
    out
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Encodes the sentences as private ones and as public ones.
fn encode_all_on(threads: usize, encoder: &dyn Encoder, sentences: &[&str]) -> [Vec<f32>; 2] {
    let quiet = Progress::hidden();
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
        .install(|| {
            [
                encode_all(encoder, sentences, &quiet),
                encode_all_public(encoder, sentences, &quiet),
            ]
        })
        .map(Result::unwrap)
}

/// The vector of a sentence has the same bits alone, among others, in a batch of public sentences,
/// in any order, and on one or two threads.
fn assert_encodes_each_sentence_alone(encoder: &dyn Encoder, sentences: &[&str]) {
    let alone: Vec<_> = sentences
        .iter()
        .map(|s| bits(&encode(encoder, s)))
        .collect();
    let mut order: Vec<_> = (0..sentences.len()).collect();
    for threads in [1, 2] {
        for _ in 0..2 {
            let shuffled: Vec<_> = order.iter().map(|&index| sentences[index]).collect();
            for rows in encode_all_on(threads, encoder, &shuffled) {
                assert_eq!(rows.len(), sentences.len() * encoder.dimension());
                for (row, &index) in rows.chunks_exact(encoder.dimension()).zip(&order) {
                    assert_eq!(
                        bits(row),
                        alone[index],
                        "{threads} threads, sentence {index}"
                    );
                }
            }
            // Changes the order for the next round: backwards, then rotated.
            order.reverse();
            order.rotate_left(sentences.len() / 3);
        }
    }
}

#[test]
fn is_the_mean_of_the_token_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = tiny(folder.path());
    for runtime in runtimes() {
        let encoder = OnnxEncoder::open_with(&path, &runtime).unwrap();
        assert_eq!(encoder.dimension(), DIMENSION);
        assert_eq!(encoder.token_ids("red green red").unwrap(), [1, 3, 4, 3, 2]);
        let sum = [1.0 + 8.0 + 16.0 + 8.0 + 3.0, 3e7, 0.25];
        assert_eq!(encode(&encoder, "red green red"), sum.map(|v: f32| v / 5.0));
        assert_eq!(encode(&encoder, ""), [2.0, 0.0, 0.0]);
        assert_eq!(encode(&encoder, "pink"), [13.0 / 3.0, 3.0, 3.0]);
        // A coordinate that is not finite is returned as it is.
        assert_eq!(encode(&encoder, "blue"), [12.0, 4.0 / 3.0, f32::INFINITY]);
        assert_encodes_each_sentence_alone(
            &encoder,
            &[
                "red",
                "",
                "green blue",
                "red red green red",
                "pink",
                "green",
                "red",
                "blue",
            ],
        );
    }
}

/// Writes a file beside the model of an encoder.
fn beside(encoder: &Path, name: &str, content: &str) {
    let path = encoder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn pools_as_the_files_beside_the_model_say() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name| write_encoder(folder.path(), name, &Model::default(), &fitting_tokenizer());
    let path = write("tiny");
    let plain = OnnxEncoder::open_with(&path, &Runtime::Rten).unwrap();
    // [CLS] red pink [SEP]
    let sentence = "red pink";
    let [cls, red, pink, sep] = [1, 3, 0, 2].map(|token| TABLE[token]);
    let of = |f: &dyn Fn(f32, f32, f32, f32) -> f32| -> Vec<f32> {
        (0..DIMENSION)
            .map(|i| f(cls[i], red[i], pink[i], sep[i]))
            .collect()
    };
    let mean = of(&|a, b, c, d| (a + b + c + d) / 4.0);
    assert_eq!(encode(&plain, sentence), mean);
    let both = [&cls[..], &mean].concat();
    for (config, expected) in [
        (
            r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#,
            cls.to_vec(),
        ),
        (
            r#"{"pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": false}"#,
            sep.to_vec(),
        ),
        (
            r#"{"pooling_mode": "MAX"}"#,
            of(&|a, b, c, d| a.max(b).max(c).max(d)),
        ),
        (
            r#"{"pooling_mode": "weightedmean"}"#,
            of(&|a, b, c, d| (a + 2.0 * b + 3.0 * c + 4.0 * d) / 10.0),
        ),
        (r#"{"pooling_mode_mean_tokens": true}"#, mean.clone()),
        (r#"{"pooling_mode_cls_token": true}"#, both),
    ] {
        beside(&path, "1_Pooling/config.json", config);
        for runtime in runtimes() {
            let encoder = OnnxEncoder::open_with(&path, &runtime).unwrap();
            assert_eq!(encode(&encoder, sentence), expected, "{config}");
            assert_eq!(encoder.dimension(), expected.len());
            // Another pooling is another encoder, so their packs are different.
            assert_eq!(
                encoder.identity() == plain.identity(),
                expected == mean,
                "{config}"
            );
            assert_encodes_each_sentence_alone(
                &encoder,
                &["red", "", "green pink", "red red", "pink"],
            );
        }
    }

    let module = |name: &str, path: &str| {
        format!(r#"{{"type": "sentence_transformers.models.{name}", "path": "{path}"}}"#)
    };
    let [transformer, pooling] =
        [("Transformer", ""), ("Pooling", "1_Pooling")].map(|(n, p)| module(n, p));
    let modules = format!(
        "[{transformer}, {pooling}, {}]",
        module("Normalize", "2_Normalize")
    );
    beside(&path, "modules.json", &modules);
    beside(&path, "1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#);
    beside(
        &path,
        "sentence_bert_config.json",
        r#"{"max_seq_length": 3, "do_lower_case": true}"#,
    );
    let prompts = r#"{"prompts": {"query": "green "}, "default_prompt_name": "query"}"#;
    beside(&path, "config_sentence_transformers.json", prompts);
    let encoder = OnnxEncoder::open_with(&path, &Runtime::Rten).unwrap();
    assert_eq!(
        encode(&encoder, sentence),
        [1.0, 0.0, 0.5].map(|x: f32| x / 1.25f32.sqrt())
    );
    assert_eq!(encoder.token_ids("RED").unwrap(), [1, 4, 2]);
    beside(
        &path,
        "sentence_bert_config.json",
        r#"{"max_seq_length": 1000000000000000019884624838656, "do_lower_case": true}"#,
    );
    let encoder = OnnxEncoder::open_with(&path, &Runtime::Rten).unwrap();
    assert_eq!(encoder.token_ids("RED").unwrap(), [1, 4, 3, 2]);

    for (name, content, parts) in [
        (
            "1_Pooling/config.json",
            r#"{"pooling_mode": "cls", "include_prompt": false}"#,
            ["config.json", "include_prompt"],
        ),
        (
            "config_sentence_transformers.json",
            r#"{"prompts": null}"#,
            ["", ""],
        ),
        (
            "1_Pooling/config.json",
            r#"{"pooling_mode": "attention"}"#,
            ["config.json", "`attention`"],
        ),
        (
            "1_Pooling/config.json",
            r#"{"pooling_mode_new": true}"#,
            ["config.json", "`new`"],
        ),
        (
            "1_Pooling/config.json",
            r#"{"pooling_mode": "cls"}"#,
            ["", ""],
        ),
        (
            "modules.json",
            &format!("[{transformer}, {pooling}, {}]", module("Dense", "2_Dense")),
            ["modules.json", "`Dense`"],
        ),
        (
            "modules.json",
            &format!("[{transformer}]"),
            ["modules.json", "no module Pooling"],
        ),
        ("modules.json", "[", ["modules.json", "EOF"]),
        (
            "modules.json",
            &format!("[{transformer}, {}]", module("Pooling", "2_Pooling")),
            ["2_Pooling/config.json` of", "does not exist"],
        ),
    ] {
        beside(&path, name, content);
        if !parts[0].is_empty() {
            refuse_built_in(&path, &parts);
        }
    }
}

/// sentence-transformers writes `onnx/model.onnx`, and its other files into the parent folder.
#[test]
fn finds_the_files_of_sentence_transformers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny");
    write_encoder(&path, "onnx", &Model::default(), "");
    fs::remove_file(path.join("onnx/tokenizer.json")).unwrap();
    beside(&path, "tokenizer.json", &fitting_tokenizer());
    beside(&path, "1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#);
    for given in [
        path.clone(),
        path.join("onnx/model.onnx"),
        path.join("onnx"),
    ] {
        let encoder = OnnxEncoder::open_with(&given, &Runtime::Rten).unwrap();
        assert_eq!(encode(&encoder, "red"), [1.0, 0.0, 0.5]);
        assert_eq!(encoder.identity().name, "tiny");
    }
    // Exports of old versions, and those of a user, are in a folder with a tokenizer.
    write_encoder(
        &path,
        "0_Transformer",
        &Model::default(),
        &fitting_tokenizer(),
    );
    let settings = r#"{"max_seq_length": 9}"#;
    beside(&path, "0_Transformer/sentence_bert_config.json", settings);
    let encoder = OnnxEncoder::open_with(&path.join("0_Transformer"), &Runtime::Rten).unwrap();
    assert_eq!(encode(&encoder, "red"), [1.0, 0.0, 0.5]);
    // An export in a folder of the transformer has the modules two folders up.
    let modules =
        r#"[{"type": "Transformer", "path": ""}, {"type": "Pooling", "path": ".\\1_Pooling"}]"#;
    beside(&path, "modules.json", &format!("\u{feff}{modules}"));
    fs::remove_file(path.join("0_Transformer/sentence_bert_config.json")).unwrap();
    fs::rename(path.join("0_Transformer"), path.join("onnx/fp32")).unwrap();
    let tokenizer = format!("\u{feff}{}", fitting_tokenizer());
    beside(&path, "onnx/fp32/tokenizer.json", &tokenizer);
    let deep = path.join("onnx/fp32/model.onnx");
    let encoder = OnnxEncoder::open_with(&deep, &Runtime::Rten).unwrap();
    assert_eq!(encode(&encoder, "red"), [1.0, 0.0, 0.5]);
    // The files of other models do not count: two folders up, or after files of its own.
    write_encoder(&path, "a/b", &Model::default(), &fitting_tokenizer());
    for name in ["b", "b/1_Data"] {
        fs::create_dir_all(path.join("a").join(name)).unwrap();
        let encoder = OnnxEncoder::open_with(&path.join("a/b"), &Runtime::Rten).unwrap();
        assert_ne!(encode(&encoder, "red"), [1.0, 0.0, 0.5]);
    }
    beside(&path, "onnx/fp32/sentence_bert_config.json", settings);
    let encoder = OnnxEncoder::open_with(&deep, &Runtime::Rten).unwrap();
    assert_ne!(encode(&encoder, "red"), [1.0, 0.0, 0.5]);
    // Without a list, the folders are the modules.
    fs::remove_file(path.join("modules.json")).unwrap();
    fs::create_dir(path.join("2_Normalize")).unwrap();
    let encoder = OnnxEncoder::open_with(&path, &Runtime::Rten).unwrap();
    let long = 1.25f32.sqrt();
    assert_eq!(encode(&encoder, "red"), [1.0 / long, 0.0, 0.5 / long]);
    fs::rename(path.join("2_Normalize"), path.join("2_Dense")).unwrap();
    refuse_built_in(&path, &["tiny`", "module 2 is `Dense`"]);
    fs::remove_dir(path.join("2_Dense")).unwrap();
    fs::remove_file(path.join("1_Pooling/config.json")).unwrap();
    refuse_built_in(&path, &["1_Pooling/config.json` of", "does not exist"]);
    fs::remove_dir_all(path.join("1_Pooling")).unwrap();
    beside(
        &path,
        "sentence_bert_config.json",
        r#"{"max_seq_length": 3}"#,
    );
    let encoder = OnnxEncoder::open_with(&path, &Runtime::Rten).unwrap();
    assert_eq!(encoder.token_ids("red pink").unwrap().len(), 3);
    fs::remove_file(path.join("tokenizer.json")).unwrap();
    refuse_built_in(&path, &["tokenizer.json` does not exist"]);
}

#[test]
fn refuses_inputs_of_one_size() {
    let folder = tempfile::tempdir().unwrap();
    for (axes, part) in [
        ([None, Some(128)], "exactly 128 tokens a sentence"),
        ([Some(8), None], "exactly 8 sentences at once"),
    ] {
        let model = Model {
            axes,
            ..Model::default()
        };
        let path = write_encoder(folder.path(), "fixed", &model, &fitting_tokenizer());
        refuse(&path, &runtimes(), &[part, "dynamic"]);
    }
}

#[test]
fn names_files_that_are_none_of_an_encoder() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        let path = tiny(folder.path());
        beside(
            &path,
            file,
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d\n",
        );
        refuse_built_in(&path, &[file, "git lfs pull"]);
    }
}

#[test]
fn sums_tokens_in_their_order() {
    let mean = |ids: &[u32]| {
        let mut sum = [0.0; DIMENSION];
        for &id in ids {
            for (sum, value) in sum.iter_mut().zip(TABLE[id as usize]) {
                *sum += value;
            }
        }
        sum.map(|sum| sum / ids.len() as f32)
    };
    let folder = tempfile::tempdir().unwrap();
    let path = tiny(folder.path());
    for runtime in runtimes() {
        let encoder = OnnxEncoder::open_with(&path, &runtime).unwrap();
        for sentence in ["green red red", "green red red blue", "green pink red red"] {
            let mut ids = encoder.token_ids(sentence).unwrap();
            let vector = bits(&encode(&encoder, sentence));
            assert_eq!(vector, bits(&mean(&ids)));
            // The sorted tokens have another sum, because the order of the additions matters.
            ids.sort();
            assert_ne!(vector, bits(&mean(&ids)));
        }
    }
}

#[test]
fn cuts_where_the_tokenizer_says_or_at_512() {
    let folder = tempfile::tempdir().unwrap();
    let long = "red ".repeat(1000);
    // With this strategy and stride, the tokenizers crate by itself fails on a long text.
    let cut = r#"{"direction": "Right", "max_length": 4, "strategy": "OnlySecond", "stride": 9}"#;
    for (truncation, tokens) in [("null", 512), (cut, 4)] {
        let tokenizer = tokenizer_json(&["red", "green", "blue"], truncation);
        let path = write_encoder(folder.path(), "tiny", &Model::default(), &tokenizer);
        let encoder = OnnxEncoder::open_with(&path, &Runtime::Rten).unwrap();
        assert_eq!(encoder.token_ids(&long).unwrap().len(), tokens);
        let kept = (tokens - 2) as f32;
        assert_eq!(
            encode(&encoder, &long)[0],
            (4.0 + 8.0 * kept) / tokens as f32
        );
    }
    let cut = cut.replace('4', "2");
    let path = write_encoder(
        folder.path(),
        "nothing-left",
        &Model::default(),
        &tokenizer_json(&["red"], &cut),
    );
    refuse_built_in(&path, &["cannot use the tokenizer", "2 tokens"]);
}

/// Checks that the runtime refuses the encoder with a message that contains all `parts`.
fn refuse_with(runtime: &Runtime, path: &Path, parts: &[&str]) -> Error {
    let Err(error) = OnnxEncoder::open_with(path, runtime) else {
        panic!("{} opened with {runtime:?}", path.display());
    };
    for part in parts {
        assert!(
            error.to_string().contains(part),
            "no \"{part}\" in: {error}"
        );
    }
    error
}

/// Checks that each runtime refuses the encoder.
fn refuse(path: &Path, runtimes: &[Runtime], parts: &[&str]) {
    for runtime in runtimes {
        let error = refuse_with(runtime, path, parts);
        assert_eq!(error.kind(), ErrorKind::Encoder, "{error}");
    }
}

/// Checks that the built-in engine refuses the encoder.
fn refuse_built_in(path: &Path, parts: &[&str]) {
    refuse_with(&Runtime::Rten, path, parts);
}

#[test]
fn finds_the_token_vectors_by_name_or_as_the_only_output_of_rank_3() {
    let folder = tempfile::tempdir().unwrap();
    for runtime in runtimes() {
        for output in ["token_embeddings", "some_name"] {
            let model = Model {
                inputs: &["attention_mask", "input_ids"],
                output: (output, &[None, None, None]),
                ..Model::default()
            };
            let path = write_encoder(folder.path(), "tiny", &model, &fitting_tokenizer());
            let encoder = OnnxEncoder::open_with(&path, &runtime).unwrap();
            assert_eq!(encoder.dimension(), DIMENSION);
            assert_eq!(encode(&encoder, ""), [2.0, 0.0, 0.0]);
        }
    }
}

#[test]
fn refuses_models_that_give_no_token_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        // A model with a pooled output only: its vector does not depend on the tokens.
        (
            Model {
                output: ("sentence_embedding", &[Some(6), Some(3)]),
                operator: ("Identity", &["table"]),
                ..Model::default()
            },
            "sentence_embedding",
        ),
        // An input that no sentence encoder has, and a missing input.
        (
            Model {
                inputs: &["input_ids", "attention_mask", "pixels"],
                ..Model::default()
            },
            "pixels",
        ),
        (
            Model {
                inputs: &["input_ids"],
                ..Model::default()
            },
            "attention_mask",
        ),
        // An output with the right name but the wrong shape.
        (
            Model {
                output: ("last_hidden_state", &[Some(6), Some(3)]),
                operator: ("Identity", &["table"]),
                ..Model::default()
            },
            "one vector a token",
        ),
        // An operator that does not exist.
        (
            Model {
                operator: ("Undertow", &["table", "input_ids"]),
                ..Model::default()
            },
            "Undertow",
        ),
    ];
    for (model, named) in &cases {
        let path = write_encoder(folder.path(), "tiny", model, &fitting_tokenizer());
        refuse(&path, &runtimes(), &[named]);
    }
}

#[test]
fn refuses_bytes_that_are_no_model_and_no_tokenizer() {
    let folder = tempfile::tempdir().unwrap();
    let whole = Model::default().bytes();
    let path = tiny(folder.path());
    // Wrong from the start, cut off, and endless numbers at the start and further on.
    for bytes in [
        &b""[..],
        b"not a model",
        &whole[..whole.len() / 2],
        &[0xff; 99],
        &[&whole[..], &[0xff; 99]].concat(),
        &[&whole[..], &[0x2a, 0xff, 0xff]].concat(),
        // Field 7 of the model, the graph, and in it a tag that never ends.
        &[&[0x3a, 12][..], &[0xff; 12]].concat(),
    ] {
        fs::write(path.join("model.onnx"), bytes).unwrap();
        refuse(&path, &runtimes(), &["model.onnx"]);
    }
    fs::write(path.join("model.onnx"), whole).unwrap();
    fs::write(path.join("tokenizer.json"), "{").unwrap();
    refuse_built_in(&path, &["tokenizer.json"]);
}

/// An engine would allocate the length that a string claims, and would follow nested types until
/// its stack overflows.
#[test]
fn refuses_what_claims_more_than_the_file_has_and_endless_types() {
    let field = |number: u8, inside: &[u8]| {
        [&[number << 3 | 2][..], &varint(inside.len()), inside].concat()
    };
    const GIGABYTE: [u8; 5] = [0x80, 0x80, 0x80, 0x80, 0x04];
    // A type with a shape of one dimension, which claims a gigabyte and has a name that claims a
    // gigabyte.
    let dimension = [&[0x0a][..], &GIGABYTE, &[0x12], &GIGABYTE, b"d"].concat();
    let claims = field(1, &field(2, &dimension));

    // Nested sequences, written from the inside out and then reversed.
    let mut sequences = Vec::new();
    for tag in [0x0a, 0x22].repeat(20_000) {
        let length = varint(sequences.len());
        sequences.extend(length.iter().rev());
        sequences.push(tag);
    }
    sequences.reverse();

    let folder = tempfile::tempdir().unwrap();
    let path = tiny(folder.path());
    for of_type in [claims, sequences] {
        // The type is that of an input of the graph.
        let model = field(7, &field(11, &field(2, &of_type)));
        fs::write(path.join("model.onnx"), model).unwrap();
        refuse(&path, &runtimes(), &["not a whole ONNX file"]);
    }
}

/// A number in protocol buffers: seven bits a byte, the lowest first.
fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[test]
fn refuses_weights_that_the_digest_does_not_cover() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model {
        weights: Some("weights.bin"),
        ..Model::default()
    };
    let path = write_encoder(folder.path(), "tiny", &model, &fitting_tokenizer());
    fs::write(path.join("weights.bin"), table_bytes()).unwrap();
    refuse(&path, &runtimes(), &["second file"]);
}

#[test]
fn refuses_a_tokenizer_with_more_tokens_than_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["red", "green", "blue", "one-too-many"];
    let tokenizer = tokenizer_json(&words, "null");
    let path = write_encoder(folder.path(), "tiny", &Model::default(), &tokenizer);
    let parts = ["token number 6", "model.onnx", "tokenizer.json"];
    refuse(&path, &runtimes(), &parts);
}

#[test]
fn names_the_file_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = tiny(folder.path());
    let cases = [
        (folder.path().join("absent"), "absent"),
        (path.join("model.int8.onnx"), "model.int8.onnx"),
        (folder.path().to_owned(), "model.onnx"),
    ];
    for (given, looked_for) in cases {
        refuse_built_in(&given, &[&format!("{looked_for}` does not exist")]);
    }
}

#[test]
fn refuses_a_place_of_the_wrong_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = tiny(folder.path());
    let encoder = OnnxEncoder::open_with(&path, &Runtime::Rten).unwrap();
    for length in [0, 2, 4] {
        let error = encoder.encode("red", &mut vec![0.0; length]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        let message = error.to_string();
        assert!(
            message.ends_with(&format!(
                "has 3 coordinates, but the place for it has {length}"
            )),
            "{message}"
        );
    }
}

#[test]
fn errors_do_not_quote_the_sentence() {
    // This tokenizer has no token for unknown words, so it fails on them.
    let folder = tempfile::tempdir().unwrap();
    let tokenizer = fitting_tokenizer().replace(r#""unk_token": "[UNK]""#, r#""unk_token": "[X]""#);
    let path = write_encoder(folder.path(), "tiny", &Model::default(), &tokenizer);
    let encoder = OnnxEncoder::open_with(&path, &Runtime::Rten).unwrap();
    let sentences = ["red", "confidential"];
    let quiet = Progress::hidden();
    for result in [
        encode_all(&encoder, &sentences, &quiet),
        encode_all_public(&encoder, &sentences, &quiet),
    ] {
        let error = result.unwrap_err();
        assert!(
            error.to_string().contains("a sentence of 12 bytes"),
            "{error}"
        );
        assert!(
            !format!("{error} {error:?}").contains("confidential"),
            "{error:?}"
        );
    }
}

#[test]
fn identity_follows_the_bytes_of_both_files() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str, model: &Model, tokenizer: &str| {
        let path = write_encoder(folder.path(), name, model, tokenizer);
        let encoder = OnnxEncoder::open_with(&path, &Runtime::Rten).unwrap();
        encoder.identity().clone()
    };
    let first = open("a", &Model::default(), &fitting_tokenizer());
    let copy = open("b", &Model::default(), &fitting_tokenizer());
    assert_eq!((&*first.name, &*copy.name), ("a", "b"));
    assert_eq!(first.digest, copy.digest);

    let other_tokenizer = open("b", &Model::default(), &(fitting_tokenizer() + "\n"));
    let other_model = Model {
        output: ("token_embeddings", &[None, None, None]),
        ..Model::default()
    };
    let other_model = open("b", &other_model, &fitting_tokenizer());
    assert_ne!(first.digest, other_tokenizer.digest);
    assert_ne!(first.digest, other_model.digest);
    assert_ne!(other_tokenizer.digest, other_model.digest);

    // The name of an encoder from a file includes the file.
    let path = folder.path().join("a");
    fs::copy(path.join("model.onnx"), path.join("small.onnx")).unwrap();
    let by_file = OnnxEncoder::open_with(&path.join("small.onnx"), &Runtime::Rten).unwrap();
    assert_eq!(by_file.identity().name, "a/small.onnx");
    assert_eq!(by_file.identity().digest, first.digest);
}

// --- all-MiniLM-L6-v2 -------------------------------------------------------------------------

/// All-MiniLM-L6-v2 on each engine, opened once for all tests.
fn minilm_encoders() -> Option<&'static [OnnxEncoder]> {
    static ENCODERS: OnceLock<Vec<OnnxEncoder>> = OnceLock::new();
    let path = minilm("model.onnx")?;
    Some(ENCODERS.get_or_init(|| {
        runtimes()
            .iter()
            .map(|runtime| OnnxEncoder::open_with(&path, runtime).unwrap())
            .collect()
    }))
}

#[derive(serde::Deserialize)]
struct Reference {
    text: String,
    input_ids: Vec<u32>,
    embedding: Vec<f32>,
}

fn references() -> Option<Vec<Reference>> {
    let lines = fs::read_to_string(minilm("reference.jsonl")?).unwrap();
    let references: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(references.len() >= 50);
    Some(references)
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    // NaN counts as a difference.
    a.iter().zip(b).fold(0.0, |largest, (a, b)| {
        let difference = (a - b).abs();
        if difference <= largest {
            largest
        } else {
            difference
        }
    })
}

#[test]
fn minilm_matches_the_reference_on_each_engine() {
    let (Some(encoders), Some(references)) = (minilm_encoders(), references()) else {
        return;
    };
    let texts: Vec<_> = references.iter().map(|r| r.text.as_str()).collect();
    let mut first: Option<Vec<f32>> = None;
    for encoder in encoders {
        assert_eq!(encoder.dimension(), 384);
        assert_eq!(encoder.identity().name, "all-MiniLM-L6-v2");
        let rows = encode_all(encoder, &texts, &Progress::hidden()).unwrap();
        for (row, reference) in rows.chunks_exact(384).zip(&references) {
            assert_eq!(
                encoder.token_ids(&reference.text).unwrap(),
                reference.input_ids
            );
            let difference = largest_difference(row, &reference.embedding);
            assert!(difference <= 1e-4, "{difference} for {:?}", reference.text);
        }
        let difference = largest_difference(first.get_or_insert_with(|| rows.clone()), &rows);
        assert!(difference <= 1e-4, "{difference} between the engines");
    }
}

/// Sentences of several lengths, including the empty one.
fn varied_texts(references: &[Reference]) -> Vec<&str> {
    let texts = references.iter().map(|reference| reference.text.as_str());
    let mut texts: Vec<_> = texts.filter(|text| text.len() < 120).step_by(3).collect();
    texts.push("");
    assert!(texts.len() > 10);
    texts
}

#[test]
fn minilm_encodes_each_sentence_alone() {
    let (Some(encoders), Some(references)) = (minilm_encoders(), references()) else {
        return;
    };
    for encoder in encoders {
        assert_encodes_each_sentence_alone(encoder, &varied_texts(&references));
    }
}

#[test]
fn minilm_int8_encodes_each_sentence_alone() {
    let (Some(path), Some(references)) = (minilm("model.int8.onnx"), references()) else {
        return;
    };
    for runtime in runtimes() {
        let encoder = OnnxEncoder::open_with(&path, &runtime).unwrap();
        assert_eq!(encoder.identity().name, "all-MiniLM-L6-v2/model.int8.onnx");
        assert_encodes_each_sentence_alone(&encoder, &varied_texts(&references));
        // The model's documentation states a cosine of at least 0.98 to the exact vectors.
        for reference in references.iter().filter(|r| r.text.len() < 120) {
            let row = encode(&encoder, &reference.text);
            let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
            let exact = &reference.embedding;
            let cosine = dot(&row, exact) / (dot(&row, &row) * dot(exact, exact)).sqrt();
            assert!(cosine > 0.97, "{cosine} for {:?}", reference.text);
        }
    }
}
