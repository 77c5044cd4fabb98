//! The host side of undertone: packs from public corpora, releases on a server or desktop, and what a server
//! reads from releases.
//!
//! # Should I use this?
//!
//! Yes, to make the pack that devices release under and to read their releases. The command line of the same name does all
//! of it; this is what it calls. On a device use [`undertone_core`] or the C library: they need neither heap nor operating
//! system. The mechanisms are in [`undertone_core`] alone; nothing here draws a release by itself.
//!
//! This crate prints nothing and draws no progress bars: see [`progress`].
//!
//! # Smallest example
//!
//! ```
//! use undertone::demo;
//! use undertone::release::document::{self, Method};
//! use undertone::encoder::{Encoder, LexiconEncoder};
//! use undertone_core::{ledger::Grant, pack::Pack, unit::Unit};
//!
//! let built = demo::build(1)?;
//! let pack = Pack::parse(&built.pack)?;
//! let encoder = LexiconEncoder::embedded();
//! let mut document = document::empty(&pack)?;
//! let sentence = "The doctor wants to repeat the blood test.";
//! let mut embedding = vec![0.0; encoder.dimension()];
//! encoder.encode(sentence, &mut embedding)?;
//! let grant = Grant::unrecorded(Unit::WholeText, "3".parse()?);
//! let release =
//!     document::release(&mut document, &[sentence], &embedding, grant, Method::WholeText)?;
//! assert_eq!(release.to_bytes().len(), 24);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rooms
//!
//! Text in: [`corpus`], [`text`]. Vectors: [`encoder`], [`lexicon`]. Packs: [`pack`]. Releases: [`release`]. Files:
//! [`files`]. The feature `models`, on by default, has neural encoders, static embeddings, word vectors, and lexicons made of
//! them. Audits are the crate `undertone-audit`, the command line `undertone-cli`.
//!
//! # Errors
//!
//! One type, [`Error`], which names the file and line or the value and limit, and says what to do. Errors of this
//! crate may depend on the text that it is given: it belongs to those who may see the text.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_lines)]

pub mod corpus;
pub mod demo;
pub mod encoder;
pub mod error;
pub mod files;
#[cfg(feature = "models")]
pub mod lexicon;
pub mod pack;
pub mod progress;
pub mod release;
pub mod text;

pub use error::{Error, Result};

/// The Rust on the front page compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct FrontPage;
