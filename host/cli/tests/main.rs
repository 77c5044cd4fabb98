//! All tests of this crate that can share a process, because linking a program for each file takes
//! longer than running it. `Cargo.toml` lists the others. To run one file: `cargo test --test all
//! FILE::`.

mod audit;
mod budget;
mod cli;
mod common;
mod count;
mod decode;
mod encoder;
mod estimate;
mod forms;
mod help;
mod hygiene;
mod lines;
mod memory;
mod projection;
mod robust;
mod same_file;
mod tables;
mod window;
mod words;
