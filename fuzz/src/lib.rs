//! The bodies of the fuzz targets, as plain functions of bytes.
//!
//! A target in `fuzz_targets/` and the replay in `tests/replay.rs` call the same function, so an
//! input that failed once is kept: copy it to `corpus/<target>/` under a name that says what it
//! is, and `.ci/soak 0 <target>` adds it to `corpora.tar.gz`. Properties beyond "does not
//! panic" are checked against a second, plainer computation written from the documentation.
//!
//! ```sh
//! target=pack_parse_then_use
//! cargo +nightly fuzz run $target fuzz/corpus/$target
//! # Replays the stored inputs, with any compiler:
//! cargo test --manifest-path fuzz/Cargo.toml --features host --target-dir target
//! cargo run --manifest-path fuzz/Cargo.toml --example packs     # writes packs to fuzz/corpus
//! .ci/soak 1     # fuzzes all targets for one CPU-hour, and records the results
//! ```
//!
//! Targets of the device side (`core`, `ffi`) are always built; inputs of the command line need the
//! feature `host`.

#![deny(unsafe_code)]

mod backends;
mod calls;
mod counted_ledger;
mod document;
mod embedding;
mod epsilon;
mod ffi;
mod form;
#[cfg(feature = "host")]
mod host;
mod ledger;
mod ledger_calls;
mod lexicon;
mod pack;
mod release;
mod reservoir;
mod select;
mod sentences;
mod words;

pub mod assemble;
mod double;

pub use backends::document_backends_agree;
pub use calls::ffi_calls_match_a_model;
pub use counted_ledger::counted_ledger_keeps_the_budget;
pub use document::document_release_is_total;
pub use embedding::embedding_is_total;
pub use epsilon::epsilon_parse_is_total;
pub use ffi::ffi_any_args;
pub use form::form_parse_then_use;
#[cfg(feature = "host")]
pub use host::*;
pub use ledger::ledger_image_is_total;
pub use ledger_calls::ledger_calls_keep_the_budget;
pub use lexicon::lexicon_words_are_total;
pub use pack::pack_parse_then_use;
pub use release::release_from_bytes_is_total;
pub use reservoir::reservoir_is_total;
pub use select::select_is_total;
pub use sentences::sentences_are_total;
pub use words::words_are_total;

/// The body of a target.
pub type Body = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: &[(&str, Body)] = &[
    ("pack_parse_then_use", pack_parse_then_use),
    ("document_release_is_total", document_release_is_total),
    ("embedding_is_total", embedding_is_total),
    ("form_parse_then_use", form_parse_then_use),
    ("release_from_bytes_is_total", release_from_bytes_is_total),
    ("reservoir_is_total", reservoir_is_total),
    ("epsilon_parse_is_total", epsilon_parse_is_total),
    ("ledger_image_is_total", ledger_image_is_total),
    ("select_is_total", select_is_total),
    ("lexicon_words_are_total", lexicon_words_are_total),
    ("words_are_total", words_are_total),
    ("sentences_are_total", sentences_are_total),
    ("document_backends_agree", document_backends_agree),
    ("ffi_any_args", ffi_any_args),
    ("ffi_calls_match_a_model", ffi_calls_match_a_model),
    ("ledger_calls_keep_the_budget", ledger_calls_keep_the_budget),
    (
        "counted_ledger_keeps_the_budget",
        counted_ledger_keeps_the_budget,
    ),
    #[cfg(feature = "host")]
    ("candidates_file_is_total", candidates_file_is_total),
    #[cfg(feature = "host")]
    ("corpus_lines_match_json", corpus_lines_match_json),
    #[cfg(feature = "host")]
    ("counted_inputs_are_total", counted_inputs_are_total),
    #[cfg(feature = "host")]
    ("encoder_files_are_total", encoder_files_are_total),
    #[cfg(feature = "host")]
    (
        "kept_vectors_are_those_of_the_encoder",
        kept_vectors_are_those_of_the_encoder,
    ),
    #[cfg(feature = "host")]
    ("resumed_lines_are_whole", resumed_lines_are_whole),
    #[cfg(feature = "host")]
    ("tables_are_their_lines", tables_are_their_lines),
    #[cfg(feature = "host")]
    ("text_sentences_lose_nothing", text_sentences_lose_nothing),
    #[cfg(feature = "host")]
    (
        "word_vectors_survive_a_rewrite",
        word_vectors_survive_a_rewrite,
    ),
];
