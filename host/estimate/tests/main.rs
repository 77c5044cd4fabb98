//! All tests of this crate that can share a process: linking a program for each file takes longer
//! than running it. `Cargo.toml` lists the others. One file: `cargo test --test all FILE::`.

mod common;
mod few;
mod forms;
mod parquet;
mod plan;
mod shares;
mod shift;
