//! Runs a C++ program that uses the host library. `host/cxx/README.md` builds it as a user does.
//!
//! Chance: false alarm 10⁻¹², miss none. See `agrees` for the reasons.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use undertone::encoder::embeddings::Encoded;
use undertone::encoder::{Encoder, LexiconEncoder, OnnxEncoder};
use undertone::files::resume::Encoding;
use undertone::pack::{self, Built, Options};
use undertone::{demo, release::document};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bridge");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("the programs print text")
}

/// The static library of this build. Older ones in its folder are of other features: cargo has just
/// built this one anew, or found that its sources have not changed since.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a program");
    let folder = test.parent().expect("a file in a folder");
    let files = fs::read_dir(folder).expect("cargo has just written it");
    let paths = files.map(|file| file.expect("cargo has just written it").path());
    let libraries = paths.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libundertone_cxx-") && name.ends_with(".a")
    });
    let newest =
        libraries.max_by_key(|path| path.metadata().and_then(|about| about.modified()).ok());
    newest.expect("cargo builds the static library")
}

/// The path of the program, linked with the library.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let header = folder().join("undertone_host.h");
        fs::write(header, "#include \"undertone-cxx/src/lib.rs.h\"\n")
            .expect("the target folder can be written");
        let program = folder().join("host");
        run(Command::new("c++")
            .args(["-std=c++17", "-Wall", "-Wextra", "-Werror"])
            .arg("-I")
            .arg(folder())
            .arg("-I")
            .arg(root().join("include"))
            .arg(concat!("-I", env!("OUT_DIR"), "/cxxbridge/include"))
            .arg(root().join("tests/cpp/host.cpp"))
            .arg(library())
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program));
        program
    })
}

/// The program and the host decode the same candidate for the demo's private text.
fn agrees(name: &str, built: &Built, encoder: &dyn Encoder, model: Option<&Path>) {
    let [pack, candidates, text] = ["pack", "candidates.safetensors", "txt"]
        .map(|ending| folder().join(format!("{name}.{ending}")));
    fs::write(&pack, &built.pack).expect("the target folder can be written");
    built
        .candidates
        .write(&candidates)
        .expect("the target folder can be written");
    fs::write(&text, demo::PRIVATE_TEXT).expect("the target folder can be written");
    let printed = run(Command::new(program())
        .args([&pack, &candidates, &text])
        .args(model));
    let (vector, released) = printed.trim_end().split_once('\n').expect("two lines");

    let mut own = vec![0.0; encoder.dimension()];
    encoder
        .encode(document::sentences(demo::PRIVATE_TEXT)[0], &mut own)
        .expect("the encoder's dimension");
    let theirs: Vec<f32> = vector.split_whitespace().map(hexadecimal_float).collect();
    assert!(own.iter().any(|&x| x != 0.0));
    assert_eq!(own, theirs);
    // At the largest epsilon, 1000, with scores up to 8, each of 11 other candidates has the least
    // relative weight up to rounding, at most 5·2⁻⁶⁴. A whole-text release, which the program
    // makes, names each other outcome with probability 2⁻⁴⁸: 10⁻¹³ for 13 of them, twice.
    assert_eq!(released, "health-clinic");
}

/// A float as `%a` prints it, such as `-0x1.8p-3`.
fn hexadecimal_float(text: &str) -> f32 {
    let (sign, rest) = text
        .strip_prefix('-')
        .map_or((1.0, text), |rest| (-1.0, rest));
    let (digits, exponent) = rest
        .strip_prefix("0x")
        .and_then(|rest| rest.split_once('p'))
        .unwrap_or_else(|| panic!("not a hexadecimal float: {text}"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = u64::from_str_radix(&format!("{whole}{fraction}"), 16).expect("hexadecimal digits");
    let exponent: i32 = exponent.parse().expect("an exponent");
    let shift = exponent - 4 * i32::try_from(fraction.len()).expect("a float has few digits");
    (sign * all as f64 * 2f64.powi(shift)) as f32
}

#[test]
fn cpp_releases_with_the_lexicon() {
    let built = demo::build(1).expect("the demo corpus is public and fine");
    agrees("lexicon", &built, &LexiconEncoder::embedded(), None);
}

#[test]
fn cpp_releases_with_a_neural_encoder() {
    let models = std::env::var_os("UNDERTONE_MODELS");
    let models = models.map_or_else(|| root().join("../shared/models"), PathBuf::from);
    let model = models.join("all-MiniLM-L6-v2");
    if !model.is_dir() {
        eprintln!("not checked: no {}", model.display());
        return;
    }
    let encoder = OnnxEncoder::open(&model, None).expect("the model is there");
    // The first sentences of a few documents of each topic, because encoding is slow.
    let documents = demo::corpus(1).into_iter().step_by(24);
    let documents: Vec<_> = documents
        .map(|mut document| {
            document.text = document::sentences(&document.text)[..3].join(" ");
            document
        })
        .collect();
    let mut encoded = Encoded::new("demo", Encoding::new(&encoder), || {
        Ok(documents.iter().cloned().map(Ok))
    });
    let built = pack::build(&mut encoded, None, &Options::default())
        .expect("the demo corpus is public and fine");
    agrees("neural", &built, &encoder, Some(&model));
}
