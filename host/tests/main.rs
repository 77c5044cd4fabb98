//! All tests of this crate that can share a process: linking a program for each file takes longer
//! than running it. `Cargo.toml` lists the others. One file: `cargo test --test all FILE::`.

mod corpus;
mod distil;
mod pieces;
mod teacher;
