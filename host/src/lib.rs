//! The host side of undertone: packs from public corpora, releases on a server or desktop, and
//! decoding of releases.
//!
//! # Should I use this?
//!
//! Yes, to make the packs that devices release under and to decode their releases. The command line
//! `undertone` is a thin layer over this crate. On a device use [`undertone_core`] or the C
//! library, which need neither heap nor operating system. All mechanisms are in [`undertone_core`].
//!
//! This crate prints nothing and draws no progress bars; see [`progress`].
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
//! # Modules
//!
//! Text input: [`corpus`], [`text`]. Vectors: [`encoder`], [`lexicon`]. Packs: [`pack`]. Releases:
//! [`release`]. Files: [`files`]. The feature `models`, on by default, adds neural encoders, static
//! embeddings, word vectors, and lexicons made from them. The crate `undertone-audit` audits packs;
//! `undertone-cli` is the command line.
//!
//! # Errors
//!
//! The message of an [`Error`] contains the file and line or the value and limit, and what to do.
//! It may depend on the input text, so only those who may see the text may see it.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_lines)]

pub mod corpus;
pub mod demo;
pub mod encoder;
pub mod error;
pub mod files;
pub mod form;
pub mod pack;
pub mod progress;
pub mod text;

/// Lexicons of word vectors: distilled from an encoder, made from a word list, or read from a file.
#[cfg(feature = "models")]
pub mod lexicon {
    mod affixes;
    pub mod distil;
    pub mod model2vec;
    pub mod pieces;
    pub mod word_vectors;
}

/// Releases on the host: documents, bags of words, the ledger, budgets, and files of releases.
pub mod release {
    pub mod budget;
    pub mod document;
    pub mod ledger;
    pub mod lines;
    pub mod window;
    pub mod words;

    pub use undertone_law as law;
}

pub use error::{Error, Result};

/// The Rust on the front page compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct FrontPage;
