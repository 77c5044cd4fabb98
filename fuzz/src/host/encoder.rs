//! Encoders in any two files.

use std::fs;
use std::panic;
use std::sync::Once;

use undertone::encoder::{Encoder, OnnxEncoder, PrivateEncoder, Runtime};

const GROWING: [&str; 14] = [
    "ConstantOfShape",
    "Expand",
    "EyeLike",
    "Loop",
    "OneHot",
    "Pad",
    "Random",
    "Range",
    "Resize",
    "Scan",
    "Tile",
    "Upsample",
    "Window",
    "MaxUnpool",
];

/// Opens a model and a tokenizer with the built-in engine, and with ONNX Runtime if
/// `ORT_DYLIB_PATH` names its library. The tokenizer is the bytes before the first zero byte; an
/// empty one is replaced by one that fits.
///
/// A model is a program, and one that asks for a terabyte gets it or dies. Operators whose output
/// size is a number in the file are excluded, or nothing else would be found.
///
/// Checked: an error has a message; an encoder that opens encodes or refuses every sentence, twice
/// alike, with its declared number of coordinates, and gives the same for a private sentence, or
/// zeros instead of an error.
pub fn encoder_files_are_total(data: &[u8]) {
    engines_may_panic();
    let end = data
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(data.len());
    let (tokenizer, model) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    let names = |operator: &&str| {
        model
            .windows(operator.len())
            .any(|part| part == operator.as_bytes())
    };
    if GROWING.iter().any(names) {
        return;
    }
    let folder = tempfile::tempdir().expect("room for files");
    let fitting = include_bytes!("tokenizer.json");
    let tokenizer = if tokenizer.is_empty() {
        fitting
    } else {
        tokenizer
    };
    fs::write(folder.path().join("tokenizer.json"), tokenizer).expect("room for files");
    fs::write(folder.path().join("model.onnx"), model).expect("room for files");
    let mut runtimes = vec![Runtime::Rten];
    runtimes.extend(Some(Runtime::choose(None)).filter(|runtime| *runtime != Runtime::Rten));
    for runtime in runtimes {
        match OnnxEncoder::open_with(folder.path(), &runtime) {
            Ok(encoder) => use_encoder(&encoder),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn use_encoder(encoder: &OnnxEncoder) {
    assert!(encoder.dimension() > 0);
    for sentence in ["", "red", "Blue, green. été\0", &"red blue ".repeat(700)] {
        let encode = || {
            let mut out = vec![f32::NAN; encoder.dimension()];
            let encoded = encoder.encode(sentence, &mut out);
            let bits: Vec<u32> = out.iter().map(|x| x.to_bits()).collect();
            encoded.map(|()| bits).map_err(|error| error.to_string())
        };
        let once = encode();
        if let Err(message) = &once {
            assert!(!message.is_empty() && !message.contains("Blue, green"));
        }
        assert_eq!(once, encode());
        let mut private = vec![f32::NAN; encoder.dimension()];
        let encoded = PrivateEncoder::new(encoder).encode(sentence, &mut private);
        assert!(encoded.is_ok(), "a private sentence makes no error");
        let private: Vec<u32> = private.iter().map(|x| x.to_bits()).collect();
        assert_eq!(
            private,
            once.unwrap_or_else(|_| vec![0; encoder.dimension()])
        );
        let _ = encoder.token_ids(sentence);
    }
    assert!(
        encoder
            .encode("red", &mut vec![0.0; encoder.dimension() + 1])
            .is_err()
    );
}

/// libFuzzer ends the process at a panic, caught or not; assertions of this crate are still noticed
/// by the replay.
fn engines_may_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
}
