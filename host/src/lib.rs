//! The public side of undertone: packs out of public corpora, releases on a server or desktop, what a server
//! reads out of releases, evaluations and audits.
//!
//! # Should I use this?
//!
//! Yes, to make the pack that devices release under, to read their releases, and to check what is promised. The
//! command line of the same name does all of it; this is what it calls. On a device use [`undertone_core`] or the C
//! library: they need neither heap nor operating system. Mechanisms stand there alone; nothing here draws
//! a release by itself.
//!
//! # Smallest example
//!
//! ```
//! use undertone::{demo, release::document};
//! use undertone::encoder::{Encoder, LexiconEncoder};
//! use undertone_core::{ledger::Grant, pack::Pack, select::Rule};
//!
//! let built = demo::build(1)?;
//! let pack = Pack::parse(&built.pack)?;
//! let encoder = LexiconEncoder::embedded();
//! let mut document = document::empty(&pack)?;
//! let mut embedding = vec![0.0; encoder.dimension()];
//! encoder.encode("The doctor wants to repeat the blood test.", &mut embedding)?;
//! let grant = Grant::unrecorded("1".parse()?);
//! let release = document::release(
//!     &mut document, &embedding, encoder.dimension(), grant, Rule::PermuteAndFlip,
//! )?;
//! assert_eq!(release.to_bytes().len(), 24);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rooms
//!
//! Text in: [`corpus`], [`text`]. Vectors: [`encoder`], [`lexicon`]. Packs: [`pack`]. Releases: [`release`]. Files:
//! [`files`]. Audits are the crate `undertone-audit`, training is `undertone-train`, the command line `undertone-cli`.
//!
//! # Errors
//!
//! One type, [`Error`], which names the file and line or the value and limit, and says what to do. Errors of this
//! crate may depend on the text that it is given: it belongs to those who may see the text.

#![forbid(unsafe_code)]

pub mod corpus;
pub mod demo;
pub mod encoder;
pub mod error;
pub mod files;
pub mod lexicon;
pub mod pack;
#[doc(hidden)]
pub mod page;
pub mod progress;
pub mod release;
pub mod text;

pub use error::{Error, Result};
