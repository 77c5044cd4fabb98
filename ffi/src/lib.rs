//! The C interface of undertone.
//!
//! For programs that link `libundertone` and include `undertone.h`; a Rust program uses
//! [`undertone_core`] directly. `include/undertone.h` is generated from this crate; its top has the
//! rules of every function for memory, statuses, threads and privacy. The README of the folder
//! explains how to link.
//!
//! # Safety
//!
//! The arguments of every exported function follow the rules at the top of `undertone.h`.
//!
//! # For maintainers
//!
//! A function checks all its arguments before it uses them: `memory.rs` checks pointers, lengths,
//! handles and overlaps, in that order; the function checks values. Nothing here panics, allocates,
//! prints or keeps state. The exported constants are literals, because the header generator does
//! not evaluate expressions; assertions beside them hold them to the truth.

#![cfg_attr(not(test), no_std)]
#![warn(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the documentation of the crate has the section for all functions"
)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)
)]

mod document;
mod epsilon;
mod form;
mod grant;
mod interface;
#[cfg(feature = "jni")]
mod jni;
mod ledger;
mod memory;
mod pack;
#[cfg(all(feature = "panic-handler", panic = "abort", not(test)))]
mod panic_handler;
mod release;
mod reservoir;
mod sentences;
mod status;
mod vector;
mod version;
mod words;

pub use document::*;
pub use epsilon::*;
pub use form::*;
pub use grant::*;
pub use interface::*;
pub use ledger::*;
pub use pack::*;
pub use release::*;
pub use reservoir::*;
pub use sentences::*;
pub use status::*;
pub use vector::*;
pub use version::*;
pub use words::*;
