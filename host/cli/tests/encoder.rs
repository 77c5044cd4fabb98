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
use undertone::error::ErrorKind;
use undertone::progress::Progress;

use crate::common::{
    DIMENSION, Folder, Message, Model, TABLE, contains, fitting_tokenizer, minilm, table_bytes,
    tokenizer_json, write_encoder,
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

/// Writes the usual small encoder into a folder of this name.
fn usual(folder: &Path, name: &str) -> PathBuf {
    write_encoder(folder, name, &Model::default(), &fitting_tokenizer())
}

fn tiny(folder: &Path) -> PathBuf {
    usual(folder, "tiny")
}

/// Opens an encoder on the built-in engine.
fn open(path: &Path) -> OnnxEncoder {
    OnnxEncoder::open_with(path, &Runtime::Rten).unwrap()
}

/// Writes the usual small encoder, but for its model or tokenizer.
fn other(folder: &Path, model: &Model, tokenizer: &str) -> PathBuf {
    write_encoder(folder, "tiny", model, tokenizer)
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
                    let own = &alone[index];
                    assert_eq!(bits(row), *own, "{threads} threads, sentence {index}");
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
    let folder = Folder::new();
    let path = tiny(&folder);
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
        let many = "red||green blue|red red green red|pink|green|red|blue";
        assert_encodes_each_sentence_alone(&encoder, &many.split('|').collect::<Vec<_>>());
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
    let folder = Folder::new();
    let path = tiny(&folder);
    let plain = open(&path);
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
            &cls[..],
        ),
        (
            r#"{"pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": false}"#,
            &sep,
        ),
        (
            r#"{"pooling_mode": "MAX"}"#,
            &of(&|a, b, c, d| a.max(b).max(c).max(d)),
        ),
        (
            r#"{"pooling_mode": "weightedmean"}"#,
            &of(&|a, b, c, d| (a + 2.0 * b + 3.0 * c + 4.0 * d) / 10.0),
        ),
        (r#"{"pooling_mode_mean_tokens": true}"#, &mean),
        (r#"{"pooling_mode_cls_token": true}"#, &both),
    ] {
        beside(&path, "1_Pooling/config.json", config);
        for runtime in runtimes() {
            let encoder = OnnxEncoder::open_with(&path, &runtime).unwrap();
            assert_eq!(encode(&encoder, sentence), expected, "{config}");
            assert_eq!(encoder.dimension(), expected.len());
            // Another pooling is another encoder, so their packs are different.
            let is_same = encoder.identity() == plain.identity();
            assert_eq!(is_same, expected == mean, "{config}");
            let sentences = ["red", "", "green pink", "red red", "pink"];
            assert_encodes_each_sentence_alone(&encoder, &sentences);
        }
    }

    let module = |name: &str, path: &str| {
        format!(r#"{{"type": "sentence_transformers.models.{name}", "path": "{path}"}}"#)
    };
    let transformer = module("Transformer", "");
    let modules = |others: &[(&str, &str)]| {
        let others = others.iter().map(|(name, path)| module(name, path));
        format!(
            "[{}]",
            [transformer.clone()]
                .into_iter()
                .chain(others)
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    let pooling = ("Pooling", "1_Pooling");
    let settings =
        |longest: &str| format!(r#"{{"max_seq_length": {longest}, "do_lower_case": true}}"#);
    let (config, bert) = ("1_Pooling/config.json", "sentence_bert_config.json");
    let prompts = "config_sentence_transformers.json";
    let default = r#"{"prompts": {"query": "green "}, "default_prompt_name": "query"}"#;
    beside(
        &path,
        "modules.json",
        &modules(&[pooling, ("Normalize", "2_Normalize")]),
    );
    beside(&path, config, r#"{"pooling_mode": "cls"}"#);
    beside(&path, bert, &settings("3"));
    beside(&path, prompts, default);
    let encoder = open(&path);
    let long = 1.25f32.sqrt();
    assert_eq!(encode(&encoder, sentence), [1.0 / long, 0.0, 0.5 / long]);
    assert_eq!(encoder.token_ids("RED").unwrap(), [1, 4, 2]);
    beside(&path, bert, &settings("1000000000000000019884624838656"));
    assert_eq!(open(&path).token_ids("RED").unwrap(), [1, 4, 3, 2]);

    // Files that follow each other. Those without parts of a message are right.
    for (name, content, parts) in [
        (
            config,
            r#"{"pooling_mode": "cls", "include_prompt": false}"#,
            &["config.json", "include_prompt"][..],
        ),
        (prompts, r#"{"prompts": null}"#, &[]),
        (
            config,
            r#"{"pooling_mode": "attention"}"#,
            &["config.json", "`attention`"],
        ),
        (
            config,
            r#"{"pooling_mode_new": true}"#,
            &["config.json", "`new`"],
        ),
        (config, r#"{"pooling_mode": "cls"}"#, &[]),
        (
            "modules.json",
            &modules(&[pooling, ("Dense", "2_Dense")]),
            &["modules.json", "`Dense`"],
        ),
        (
            "modules.json",
            &modules(&[]),
            &["modules.json", "no module Pooling"],
        ),
        ("modules.json", "[", &["modules.json", "EOF"]),
        (
            "modules.json",
            &modules(&[("Pooling", "2_Pooling")]),
            &["2_Pooling/config.json` of", "does not exist"],
        ),
    ] {
        beside(&path, name, content);
        if !parts.is_empty() {
            refuse_built_in(&path, parts);
        }
    }
}

/// sentence-transformers writes `onnx/model.onnx`, and its other files into the parent folder.
#[test]
fn finds_the_files_of_sentence_transformers() {
    let folder = Folder::new();
    let path = folder.join("tiny");
    write_encoder(&path, "onnx", &Model::default(), "");
    fs::remove_file(path.join("onnx/tokenizer.json")).unwrap();
    beside(&path, "tokenizer.json", &fitting_tokenizer());
    beside(&path, "1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#);
    for place in ["", "onnx/model.onnx", "onnx"] {
        let given = path.join(place);
        let encoder = open(&given);
        assert_eq!(encode(&encoder, "red"), [1.0, 0.0, 0.5]);
        assert_eq!(encoder.identity().name, "tiny");
    }
    // Exports of old versions, and those of a user, are in a folder with a tokenizer.
    usual(&path, "0_Transformer");
    let settings = r#"{"max_seq_length": 9}"#;
    beside(&path, "0_Transformer/sentence_bert_config.json", settings);
    let encoder = open(&path.join("0_Transformer"));
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
    let encoder = open(&deep);
    assert_eq!(encode(&encoder, "red"), [1.0, 0.0, 0.5]);
    // The files of other models do not count: two folders up, or after files of its own.
    usual(&path, "a/b");
    for name in ["b", "b/1_Data"] {
        fs::create_dir_all(path.join("a").join(name)).unwrap();
        let encoder = open(&path.join("a/b"));
        assert_ne!(encode(&encoder, "red"), [1.0, 0.0, 0.5]);
    }
    beside(&path, "onnx/fp32/sentence_bert_config.json", settings);
    let encoder = open(&deep);
    assert_ne!(encode(&encoder, "red"), [1.0, 0.0, 0.5]);
    // Without a list, the folders are the modules.
    fs::remove_file(path.join("modules.json")).unwrap();
    fs::create_dir(path.join("2_Normalize")).unwrap();
    let encoder = open(&path);
    let long = 1.25f32.sqrt();
    assert_eq!(encode(&encoder, "red"), [1.0 / long, 0.0, 0.5 / long]);
    fs::rename(path.join("2_Normalize"), path.join("2_Dense")).unwrap();
    refuse_built_in(&path, &["tiny`", "module 2 is `Dense`"]);
    fs::remove_dir(path.join("2_Dense")).unwrap();
    fs::remove_file(path.join("1_Pooling/config.json")).unwrap();
    refuse_built_in(&path, &["1_Pooling/config.json` of", "does not exist"]);
    fs::remove_dir_all(path.join("1_Pooling")).unwrap();
    let settings = r#"{"max_seq_length": 3}"#;
    beside(&path, "sentence_bert_config.json", settings);
    let encoder = open(&path);
    assert_eq!(encoder.token_ids("red pink").unwrap().len(), 3);
    fs::remove_file(path.join("tokenizer.json")).unwrap();
    refuse_built_in(&path, &["tokenizer.json` does not exist"]);
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
    let folder = Folder::new();
    let path = tiny(&folder);
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
    let folder = Folder::new();
    let long = "red ".repeat(1000);
    // With this strategy and stride, the tokenizers crate by itself fails on a long text.
    let cut = r#"{"direction": "Right", "max_length": 4, "strategy": "OnlySecond", "stride": 9}"#;
    for (truncation, tokens) in [("null", 512), (cut, 4)] {
        let tokenizer = tokenizer_json(&["red", "green", "blue"], truncation);
        let encoder = open(&other(&folder, &Model::default(), &tokenizer));
        assert_eq!(encoder.token_ids(&long).unwrap().len(), tokens);
        let kept = (tokens - 2) as f32;
        let mean = (4.0 + 8.0 * kept) / tokens as f32;
        assert_eq!(encode(&encoder, &long)[0], mean);
    }
    let cut = cut.replace('4', "2");
    let tokenizer = tokenizer_json(&["red"], &cut);
    let path = other(&folder, &Model::default(), &tokenizer);
    refuse_built_in(&path, &["cannot use the tokenizer", "2 tokens"]);
}

/// Checks that the runtime refuses the encoder with a message that contains all `parts`.
fn refuse_with(runtime: &Runtime, path: &Path, parts: &[&str]) -> ErrorKind {
    let Err(error) = OnnxEncoder::open_with(path, runtime) else {
        panic!("{} opened with {runtime:?}", path.display());
    };
    contains(&error.to_string(), parts);
    error.kind()
}

/// Checks that each runtime refuses the model or the tokenizer.
fn refuse(path: &Path, parts: &[&str]) {
    for runtime in runtimes() {
        assert_eq!(refuse_with(&runtime, path, parts), ErrorKind::Encoder);
    }
}

/// Checks that the built-in engine refuses the encoder.
fn refuse_built_in(path: &Path, parts: &[&str]) {
    refuse_with(&Runtime::Rten, path, parts);
}

#[test]
fn finds_the_token_vectors_by_name_or_as_the_only_output_of_rank_3() {
    let folder = Folder::new();
    for runtime in runtimes() {
        for output in ["token_embeddings", "some_name"] {
            let model = Model {
                inputs: &["attention_mask", "input_ids"],
                output: (output, &[None, None, None]),
                ..Model::default()
            };
            let path = other(&folder, &model, &fitting_tokenizer());
            let encoder = OnnxEncoder::open_with(&path, &runtime).unwrap();
            assert_eq!(encoder.dimension(), DIMENSION);
            assert_eq!(encode(&encoder, ""), [2.0, 0.0, 0.0]);
        }
    }
}

#[test]
fn refuses_models_of_another_form() {
    let folder = Folder::new();
    folder.write(tiny(&folder).join("weights.bin"), table_bytes());
    let of_one_size = |axes| Model {
        axes,
        ..Model::default()
    };
    let of_inputs = |inputs| Model {
        inputs,
        ..Model::default()
    };
    let constant = |name| Model {
        output: (name, &[Some(6), Some(3)]),
        operator: ("Identity", &["table"]),
        ..Model::default()
    };
    let unknown_operator = Model {
        operator: ("Undertow", &["table", "input_ids"]),
        ..Model::default()
    };
    let second_file = Model {
        weights: Some("weights.bin"),
        ..Model::default()
    };
    let dynamic = "dynamic";
    for (model, parts) in [
        (
            of_one_size([None, Some(128)]),
            &["exactly 128 tokens a sentence", dynamic][..],
        ),
        (
            of_one_size([Some(8), None]),
            &["exactly 8 sentences at once", dynamic],
        ),
        // A pooled output only: its vector does not depend on the tokens.
        (constant("sentence_embedding"), &["sentence_embedding"]),
        // The right name but the wrong shape.
        (constant("last_hidden_state"), &["one vector a token"]),
        (
            of_inputs(&["input_ids", "attention_mask", "pixels"]),
            &["pixels"],
        ),
        (of_inputs(&["input_ids"]), &["attention_mask"]),
        (unknown_operator, &["Undertow"]),
        // The digest does not cover its weights.
        (second_file, &["second file"]),
    ] {
        let path = other(&folder, &model, &fitting_tokenizer());
        refuse(&path, parts);
    }
    let tokenizer = tokenizer_json(&["red", "green", "blue", "one-too-many"], "null");
    let path = other(&folder, &Model::default(), &tokenizer);
    let parts = ["token number 6", "model.onnx", "tokenizer.json"];
    refuse(&path, &parts);
}

#[test]
fn refuses_bytes_that_are_no_model_and_no_tokenizer() {
    let folder = Folder::new();
    let whole = Model::default().bytes();
    let path = tiny(&folder);
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
        folder.write("tiny/model.onnx", bytes);
        refuse(&path, &["model.onnx"]);
    }
    folder.write("tiny/model.onnx", whole);
    folder.write("tiny/tokenizer.json", "{");
    refuse_built_in(&path, &["tokenizer.json"]);
}

/// An engine would allocate the length that a string claims, and would follow nested types until
/// its stack overflows.
#[test]
fn refuses_what_claims_more_than_the_file_has_and_endless_types() {
    let field = |number, inside: &[u8]| {
        let mut message = Message::default();
        message.bytes(number, inside);
        message.0
    };
    const GIGABYTE: [u8; 5] = [0x80, 0x80, 0x80, 0x80, 0x04];
    // A type with a shape of one dimension, which claims a gigabyte and has a name that claims a
    // gigabyte.
    let dimension = [&[0x0a][..], &GIGABYTE, &[0x12], &GIGABYTE, b"d"].concat();
    let claims = field(1, &field(2, &dimension));

    // Nested sequences, written from the inside out and then reversed.
    let mut sequences = Vec::new();
    for tag in [0x0a, 0x22].repeat(20_000) {
        let mut length = Message::default();
        length.varint(sequences.len() as u64);
        sequences.extend(length.0.iter().rev());
        sequences.push(tag);
    }
    sequences.reverse();

    let folder = Folder::new();
    let path = tiny(&folder);
    for of_type in [claims, sequences] {
        // The type is that of an input of the graph.
        let model = field(7, &field(11, &field(2, &of_type)));
        folder.write("tiny/model.onnx", model);
        refuse(&path, &["not a whole ONNX file"]);
    }
}

#[test]
fn names_files_that_are_missing_or_not_fetched() {
    let folder = Folder::new();
    let path = tiny(&folder);
    for (given, looked_for) in [
        (folder.join("absent"), "absent"),
        (path.join("model.int8.onnx"), "model.int8.onnx"),
        (folder.to_path_buf(), "model.onnx"),
    ] {
        refuse_built_in(&given, &[&format!("{looked_for}` does not exist")]);
    }
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d\n";
    for file in ["model.onnx", "tokenizer.json"] {
        let path = tiny(&folder);
        beside(&path, file, pointer);
        refuse_built_in(&path, &[file, "git lfs pull"]);
    }
}

#[test]
fn refuses_a_place_of_the_wrong_length() {
    let folder = Folder::new();
    let path = tiny(&folder);
    let encoder = open(&path);
    for length in [0, 2, 4] {
        let error = encoder.encode("red", &mut vec![0.0; length]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        let part = format!("has 3 coordinates, but the place for it has {length}");
        contains(&error.to_string(), &[&part]);
    }
}

#[test]
fn errors_do_not_quote_the_sentence() {
    // This tokenizer has no token for unknown words, so it fails on them.
    let folder = Folder::new();
    let tokenizer = fitting_tokenizer().replace(r#""unk_token": "[UNK]""#, r#""unk_token": "[X]""#);
    let path = write_encoder(&folder, "tiny", &Model::default(), &tokenizer);
    let encoder = open(&path);
    let sentences = ["red", "confidential"];
    let quiet = Progress::hidden();
    for result in [
        encode_all(&encoder, &sentences, &quiet),
        encode_all_public(&encoder, &sentences, &quiet),
    ] {
        let error = result.unwrap_err();
        contains(&error.to_string(), &["a sentence of 12 bytes"]);
        let all = format!("{error} {error:?}");
        assert!(!all.contains("confidential"), "{all}");
    }
}

#[test]
fn identity_follows_the_bytes_of_both_files() {
    let folder = Folder::new();
    let identity = |name: &str, model: &Model, tokenizer: &str| {
        let path = write_encoder(&folder, name, model, tokenizer);
        let encoder = open(&path);
        encoder.identity().clone()
    };
    let first = identity("a", &Model::default(), &fitting_tokenizer());
    let copy = identity("b", &Model::default(), &fitting_tokenizer());
    assert_eq!((&*first.name, &*copy.name), ("a", "b"));
    assert_eq!(first.digest, copy.digest);

    let other_tokenizer = identity("b", &Model::default(), &(fitting_tokenizer() + "\n"));
    let other_model = Model {
        output: ("token_embeddings", &[None, None, None]),
        ..Model::default()
    };
    let other_model = identity("b", &other_model, &fitting_tokenizer());
    assert_ne!(first.digest, other_tokenizer.digest);
    assert_ne!(first.digest, other_model.digest);
    assert_ne!(other_tokenizer.digest, other_model.digest);

    // The name of an encoder from a file includes the file.
    let path = folder.join("a");
    fs::copy(path.join("model.onnx"), path.join("small.onnx")).unwrap();
    let by_file = open(&path.join("small.onnx"));
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
            let ids = encoder.token_ids(&reference.text).unwrap();
            assert_eq!(ids, reference.input_ids);
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
