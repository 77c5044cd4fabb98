//! The device side of undertone: what a phone, a keyboard or a microcontroller runs.
//!
//! A private document enters as one embedding per sentence; out comes a small release with a
//! proved differential-privacy guarantee. No heap, no operating system, no panic, and no floating
//! point touches private data between an embedding's fixed-point form and the release.
//!
//! # Should I use this?
//!
//! Yes, if you want to tell a server what a text is about (its neighbourhood in a public corpus)
//! without telling it the text. The guarantee is per *sentence*: see
//! [`document`] for exactly what is promised and what is not.
//!
//! # Smallest example
//!
//! ```no_run
//! use undertone_core::{
//!     document::Document, ledger::Grant, pack::Pack, rng::Entropy, select::Rule,
//! };
//!
//! fn release(
//!     pack_bytes: &[u8],
//!     embeddings: &[&[f32]],
//!     entropy: &mut impl Entropy,
//! ) -> Result<[u8; 24], Box<dyn core::error::Error>> {
//!     let pack = Pack::parse(pack_bytes)?;
//!     let mut document: Document = Document::new(&pack)?;
//!     for embedding in embeddings {
//!         document.push(embedding)?;
//!     }
//!     let grant = Grant::unrecorded("10".parse()?);
//!     Ok(document.release(grant, Rule::PermuteAndFlip, entropy)?.to_bytes())
//! }
//! ```
//!
//! # Rooms
//!
//! [`pack`] reads the file that the public side built; [`sentences`](mod@sentences) splits what is typed,
//! [`lexicon`] turns a sentence into a vector without a neural runtime; [`recode`] is an optional network behind the encoder; [`scores`] and [`depth`]
//! reduce a document to integer levels; [`select`](mod@select) draws from levels; [`document`] is the one public way
//! from private sentences to a [`release`]. [`embedding`] releases a vector with the noise of [`laplace`],
//! [`words`] a bag of words. Each takes a grant of the [`ledger`], the privacy budget. [`epsilon`] and [`rng`] hold the parameters and the randomness they share,
//! [`kernels`] the loops for vector units.
//! [`hazmat`] is for auditors.
//!
//! # Errors
//!
//! Errors are small `Copy` enums. None depends on the content of a private embedding or sentence:
//! an error that did would itself be a leak.

#![no_std]
// Allowed in `kernels`, for instruction sets that the processor has been asked for.
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
pub mod depth;
pub mod document;
pub mod epsilon;
mod fixed;
pub mod hazmat;
mod integers;
pub mod kernels;
pub mod laplace;
pub mod ledger;
pub mod lexicon;
pub mod pack;
pub mod recode;
pub mod release;
pub mod rng;
mod rows;
pub mod scores;
pub mod select;
pub mod sentences;
pub mod vector;
pub mod words;

#[cfg(test)]
extern crate std;
