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
//! use undertone::{demo, mechanism};
//! use undertone::encoder::{Encoder, LexiconEncoder};
//! use undertone_core::{ledger::Grant, pack::Pack, select::Rule};
//!
//! let built = demo::build(1)?;
//! let pack = Pack::parse(&built.pack)?;
//! let encoder = LexiconEncoder::embedded();
//! let mut document = mechanism::document(&pack)?;
//! let mut embedding = vec![0.0; encoder.dimension()];
//! encoder.encode("The doctor wants to repeat the blood test.", &mut embedding)?;
//! let grant = Grant::unrecorded("1".parse()?);
//! let release = mechanism::release(
//!     &mut document, &embedding, encoder.dimension(), grant, Rule::PermuteAndFlip,
//! )?;
//! assert_eq!(release.to_bytes().len(), 24);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rooms
//!
//! Text in: [`corpus`], [`text`], [`words`], [`vectors`]. Vectors: [`encoder`], [`embeddings`], [`distil`],
//! [`projection`], [`vocabulary`]. Packs: [`packer`], [`heads`], [`kmeans`], [`candidates`]. Releases:
//! [`mechanism`], [`ledger`]. Checks: [`mod@audit`], [`bounds`], [`certificate`], [`baselines`]. The feature `train` adds
//! training and evaluations, which no promise of a stable interface covers.
//!
//! # Errors
//!
//! One type, [`Error`], which names the file and line or the value and limit, and says what to do. Errors of this
//! crate may depend on the text that it is given: it belongs to those who may see the text.

#![forbid(unsafe_code)]

pub mod audit;
pub mod baselines;
pub mod bounds;
pub mod candidates;
pub mod certificate;
pub mod corpus;
pub mod demo;
pub mod distil;
pub mod embeddings;
pub mod encoder;
pub mod error;
#[cfg(feature = "train")]
pub mod eval;
pub mod heads;
pub mod informative;
pub mod kmeans;
pub mod ledger;
pub(crate) mod lines;
pub mod mechanism;
pub mod output;
pub mod packer;
mod page;
pub mod progress;
pub mod projection;
pub mod releases;
pub mod resume;
pub mod text;
#[cfg(feature = "train")]
pub mod train;
pub mod trained;
pub mod vectors;
pub mod vocabulary;
pub mod wmd;
pub mod words;

pub use error::{Error, Result};
