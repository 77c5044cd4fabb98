//! The device side of undertone: the code that runs on a phone, a keyboard or a microcontroller.
//!
//! The sentences of a private document enter, as texts or as embeddings; a small release with a
//! proved differential-privacy guarantee comes out. There is no heap, no operating system and no
//! panic, and no floating point between the fixed-point form of an embedding and the release.
//!
//! # Should I use this?
//!
//! Yes, if a server should learn what a text is about, and not the text. The app chooses the unit
//! of privacy, a sentence or the whole text: [`Document`] has the exact promises.
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
//! # Where to start
//!
//! 1. [`Pack::parse`] checks the file that the public side built.
//! 2. [`Document`] turns private sentences into a [`Release`]. Its page has the guarantee, its
//!    premises and its leaks.
//! 3. A [`Ledger`] is the privacy budget: each release takes a [`Grant`] of it.
//!
//! A [`Form`] releases answers that the app already has (an emoji, a ticked box); [`words::Bag`]
//! releases single words, [`vector::VectorMechanism`] vectors. For auditors, [`hazmat`] returns the
//! private levels, and draws from a given source of randomness.
//!
//! # How a release is private
//!
//! [`scores`] or [`depth`] turn the sentences into one small integer for each candidate, its
//! *level*. [`select`](mod@select) draws a candidate from the levels, in integers only; its page
//! has the proof. The proofs for whole-text releases are in [`whole_text`](mod@whole_text),
//! [`projective`] and [`progressions`], that for noise in [`laplace`].
//!
//! [`sentences`](mod@sentences) defines sentences. [`lexicon`], [`features`] and [`recode`] turn
//! each sentence alone into numbers, so nothing in a pack can weaken a guarantee.
//!
//! # Errors
//!
//! Errors are small `Copy` enums. None depends on the content of a private embedding or sentence,
//! because such an error would be a leak.

#![no_std]
// Unsafe code is in `kernels`, for instruction sets found on the processor, and in `barrier`.
#![deny(unsafe_code)]
#![warn(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_arithmetic
)]
// The modules below with constant-work paths warn of these methods; `integers` has the rule.
#![allow(clippy::disallowed_methods)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)
)]

pub mod appointment;
mod barrier;
mod checked;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod depth;
pub mod document;
pub mod epsilon;
pub mod features;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
mod fixed;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod form;
pub mod hazmat;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
mod integers;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod kernels;
#[cfg(undertone_kernels = "x86")]
mod keystream;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod laplace;
pub mod ledger;
pub mod lexicon;
pub mod pack;
pub mod progressions;
pub mod projective;
pub mod quality;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod recode;
pub mod release;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod reservoir;
pub mod rng;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod scores;
mod script;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod select;
pub mod sentences;
mod state;
mod text;
pub mod unit;
pub mod vector;
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod whole_text;
pub mod words;

pub use document::Document;
pub use epsilon::Epsilon;
pub use form::Form;
pub use ledger::{Grant, Ledger};
pub use pack::Pack;
pub use release::Release;
pub use reservoir::{AnswerReservoir, Reservoir};
pub use rng::Entropy;
pub use select::Rule;
pub use unit::Unit;

#[cfg(test)]
extern crate std;

/// The Rust in the README of this crate compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Page;
