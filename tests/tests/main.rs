//! All tests of this crate that can share a process: linking a program for each file takes longer
//! than running it. `Cargo.toml` lists the others. One file: `cargo test --test all FILE::`.

mod attack;
mod c_consumer;
mod chance;
mod common;
mod constant_work;
mod constants;
mod cpp_consumer;
mod dependencies;
mod depth;
mod embedding;
mod epsilon;
mod faces;
mod form;
mod golden;
mod hygiene;
mod jvm;
mod kernels;
mod keyboard;
mod laplace;
mod ledger;
mod packs;
mod pages;
mod planted;
mod planted_device;
mod projective;
mod proof;
#[cfg(feature = "tools")]
mod public_api;
mod push;
mod release_path;
mod reservoir;
mod rooms;
mod sampler;
mod scenario;
mod scores;
mod script;
mod sentences;
mod statement;
mod text;
mod theorem;
mod whole_text;
mod words;
mod year;

// `laplace` compiles a file of `undertone-core`, which imports these from its own crate.
#[allow(dead_code)]
#[path = "../../core/src/checked.rs"]
mod checked;
use undertone_core::rng;
