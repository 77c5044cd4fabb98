//! The device side of undertone: what a phone, a keyboard or a microcontroller runs.
//!
//! The sentences of a private document enter, as texts or as embeddings; a small release with a
//! proved differential-privacy guarantee comes out. No heap, no operating system, no panic, and no floating
//! point touches private data between an embedding's fixed-point form and the release.
//!
//! # Should I use this?
//!
//! Yes, if you want to tell a server what a text is about (its neighbourhood in a public corpus)
//! without telling it the text. The unit of privacy is the *sentence*, or by the whole-text rule the whole text: see
//! [`Document`] for exactly what is promised and what is not.
//!
//! # Smallest example
//!
//! ```
//! use undertone_core::{Document, Entropy, Grant, Pack, Unit};
//!
//! fn release(
//!     pack_bytes: &[u8],
//!     text: &str,
//!     entropy: &mut impl Entropy,
//! ) -> Result<[u8; 24], Box<dyn core::error::Error>> {
//!     let pack = Pack::parse(pack_bytes)?;
//!     let mut document = Document::new(&pack)?;
//!     document.push_text(text.as_bytes())?;
//!     let grant = Grant::unrecorded(Unit::WholeText, "3".parse()?);
//!     Ok(document.release_whole_text(grant, entropy)?.to_bytes())
//! }
//! ```
//!
//! `examples/release.rs` is a whole program.
//!
//! # Rooms
//!
//! From top to bottom; a module uses only what is listed after it.
//!
//! - **What an app calls.** [`document`] turns private sentences into a [`release`], [`words`] a bag of words. [`hazmat`] is for
//!   auditors.
//! - **The pack.** [`pack`] checks the file that the public side built; [`quality`] is the table of how good it is.
//! - **The steps.** [`scores`] and [`depth`] reduce a document to integer levels. [`recode`] is an optional network after the
//!   encoder. [`lexicon`] turns a sentence into a vector without a neural runtime. [`vector`] releases one vector, with the
//!   noise of [`laplace`]. [`whole_text`](mod@whole_text) is the rule for a whole text, [`projective`] with [`progressions`] that for counting
//!   whole texts. [`features`] are words and runs of letters, which add to scores. [`sentences`](mod@sentences) splits typed text. [`select`](mod@select) draws from levels.
//!   [`ledger`] is the privacy budget: each release takes a [`Grant`].
//! - **The ground.** [`kernels`] has the loops for vector units, [`epsilon`] and [`rng`] the parameters and the randomness,
//!   [`unit`](mod@unit) what is exchanged in a promise.
//!
//! # Errors
//!
//! Errors are small `Copy` enums. None depends on the content of a private embedding or sentence:
//! an error that did would itself be a leak.

#![no_std]
// Allowed in `kernels`, for instruction sets that the processor has been asked for, and in `barrier`.
#![deny(unsafe_code)]
#![warn(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_arithmetic
)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)
)]

mod barrier;
mod checked;
pub mod depth;
pub mod document;
pub mod epsilon;
pub mod features;
mod fixed;
pub mod hazmat;
mod integers;
pub mod kernels;
#[cfg(undertone_kernels = "x86")]
mod keystream;
mod language;
pub mod laplace;
pub mod ledger;
pub mod lexicon;
pub mod pack;
mod pieces;
pub mod progressions;
pub mod projective;
pub mod quality;
pub mod recode;
pub mod release;
pub mod rng;
pub mod scores;
mod script;
pub mod select;
pub mod sentences;
mod state;
pub mod unit;
mod utf8;
pub mod vector;
pub mod whole_text;
pub mod words;

pub use document::Document;
pub use epsilon::Epsilon;
pub use ledger::{Grant, Ledger};
pub use pack::Pack;
pub use release::Release;
pub use rng::Entropy;
pub use select::Rule;
pub use unit::Unit;

#[cfg(test)]
extern crate std;

/// The Rust on the page of this crate compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Page;
