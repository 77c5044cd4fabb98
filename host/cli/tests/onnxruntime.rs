//! Libraries that are not ONNX Runtime, or are too old. A test program of its own, because a
//! process loads one library for good, and none may be loaded here.

mod common;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use undertone::encoder::{OnnxEncoder, RUNTIME_VARIABLE, Runtime};
use undertone::error::ErrorKind;

use common::{Model, contains, fitting_tokenizer, write_encoder};

/// Compiles a shared library from `source`.
fn library(folder: &Path, name: &str, source: &str) -> PathBuf {
    let file = folder.join(name).with_extension("rs");
    fs::write(&file, source).unwrap();
    let library = folder.join(name);
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(compiler)
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .args([&library, &file])
        .status()
        .unwrap();
    assert!(status.success());
    library
}

/// A library with ONNX Runtime's entry point that reports `version`, but has no functions.
fn pretender(folder: &Path, name: &str, version: &str) -> PathBuf {
    let source = r#"
        #[repr(C)]
        pub struct Base {
            api: extern "C" fn(u32) -> *const u8,
            version: extern "C" fn() -> *const std::ffi::c_char,
        }
        extern "C" fn api(_: u32) -> *const u8 { std::ptr::null() }
        extern "C" fn version() -> *const std::ffi::c_char { c"VERSION".as_ptr() }
        static BASE: Base = Base { api, version };
        #[unsafe(no_mangle)]
        pub extern "C" fn OrtGetApiBase() -> *const Base { &BASE }
    "#;
    library(folder, name, &source.replace("VERSION", version))
}

#[test]
fn says_what_is_wrong_with_a_library_and_what_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let encoder = write_encoder(folder, "tiny", &Model::default(), &fitting_tokenizer());
    let text = folder.join("text.so");
    fs::write(&text, "not a library").unwrap();
    let cases = [
        (folder.join("absent.so"), "No such file"),
        (folder.to_owned(), "not a file"),
        (text, "text.so"),
        (library(folder, "other.so", "//! Empty."), "OrtGetApiBase"),
        (pretender(folder, "old.so", "1.16.3"), "1.16.3"),
        // This case is last because `ort` keeps a library whose version it accepted.
        (pretender(folder, "new.so", "1.99.0"), "does not behave"),
    ];
    for (path, reason) in cases {
        for _ in 0..2 {
            let Err(error) = OnnxEncoder::open(&encoder, Some(&path)) else {
                panic!("{} was accepted", path.display());
            };
            assert_eq!(error.kind(), ErrorKind::Encoder);
            let message = error.to_string();
            let path = path.to_str().unwrap();
            contains(
                &message,
                &[
                    path,
                    reason,
                    "⟨onnxruntime⟩",
                    RUNTIME_VARIABLE,
                    "1.17 or newer",
                ],
            );
        }
    }
}

#[test]
fn the_option_goes_before_the_variable_and_an_empty_path_counts_as_absent() {
    // Environment variables are set for a child process, which is this program with this test.
    const CHILD: &str = "UNDERTONE_TEST_CHILD";
    if let Some(expected) = env::var_os(CHILD) {
        let by_variable = match expected.to_str().unwrap() {
            "" => Runtime::Rten,
            path => Runtime::OnnxRuntime(path.into()),
        };
        assert_eq!(Runtime::choose(None), by_variable);
        assert_eq!(Runtime::choose(Some(Path::new(""))), by_variable);
        assert_eq!(
            Runtime::choose(Some(Path::new("by-option.so"))),
            Runtime::OnnxRuntime("by-option.so".into())
        );
        return;
    }
    let name = "the_option_goes_before_the_variable_and_an_empty_path_counts_as_absent";
    for variable in [None, Some(""), Some("by-variable.so")] {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", name]);
        child.env(CHILD, variable.unwrap_or(""));
        child.env_remove(RUNTIME_VARIABLE);
        if let Some(value) = variable {
            child.env(RUNTIME_VARIABLE, value);
        }
        let output = child.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("1 passed"),
            "{output:?}"
        );
    }
}
