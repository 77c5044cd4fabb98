//! The host library for C++. It splits a text into sentences, encodes them and draws a release; a
//! server decodes releases.
//!
//! `build-lib.sh` builds the library, `libundertone_host.a`, and its header, `undertone_host.h`.
//! Every failure is a `rust::Error` with the message of [`undertone::Error`].

#![warn(clippy::too_many_lines)]

use std::ffi::CStr;
use std::fs;
use std::path::Path;

use cxx::CxxString;
use self_cell::self_cell;
use undertone::encoder::{Encoder, LexiconEncoder, OnnxEncoder, PrivateEncoder};
use undertone::error::Error;
use undertone::pack::candidates::Candidates as HostCandidates;
use undertone::release::document::{self, HostDocument, Method};
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::Release;
use undertone_core::select::Rule as CoreRule;
use undertone_core::unit::Unit as CoreUnit;
use undertone_ffi::{
    UNDERTONE_STATUS_GRANT_SPENT, UNDERTONE_STATUS_GRANT_WRONG_UNIT, UndertoneGrant, grant_mut,
    undertone_status_message,
};

type Result<T> = std::result::Result<T, Problem>;

/// Errors that C++ catches as `rust::Error`.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    Host(#[from] Error),
    #[error("the grant cannot be spent: {}", message(*status))]
    Grant { status: i32 },
    #[error("{found} is not a rule; take Rule::PermuteAndFlip or Rule::Exponential")]
    Rule { found: u8 },
    #[error("cannot read the release: {0}")]
    Release(undertone_core::release::ReleaseFormatError),
}

/// The message of a status of the C interface.
fn message(status: i32) -> &'static str {
    // SAFETY: the function returns a static string that ends with a zero.
    let message = unsafe { CStr::from_ptr(undertone_status_message(status)) };
    message.to_str().unwrap_or("unknown status")
}

/// `undertone_grant` of undertone.h. This crate defines a type because cxx does not accept types of
/// other crates.
#[repr(transparent)]
pub struct GrantHandle(UndertoneGrant);

// Public only for C++.
#[allow(unreachable_pub)]
#[cxx::bridge(namespace = "undertone::host")]
mod interface {
    /// How a candidate is drawn.
    #[repr(u8)]
    enum Rule {
        /// The default: never less accurate than the exponential mechanism at the same epsilon.
        PermuteAndFlip = 1,
        /// For accounting in zCDP.
        Exponential = 2,
    }

    /// Privacy unit: the change of a text that epsilon protects.
    #[repr(u8)]
    enum Unit {
        /// Any one sentence may be exchanged.
        Sentence = 1,
        /// The whole text may be exchanged for any other.
        WholeText = 2,
    }

    /// A decoded release.
    struct Decoded {
        /// The privacy unit of the release.
        unit: Unit,
        /// Whether a whole-text release reports that the pack recognised nothing. The release then
        /// has no candidate, and the fields below are empty except epsilon.
        nothing_known: bool,
        /// The number of the drawn candidate.
        candidate: u32,
        /// The name of the candidate: a label of the public corpus, or the identifier of a public
        /// document.
        name: String,
        /// The label of the public document; empty if it has none.
        label: String,
        /// A typical public sentence of the candidate.
        excerpt: String,
        /// The public embedding of the candidate.
        embedding: Vec<f32>,
        /// The epsilon that the device spent.
        epsilon: String,
    }

    unsafe extern "C++" {
        // All cxx types that C++ uses, including rust::Error.
        include!("rust/cxx.h");
        include!("undertone.h");

        #[namespace = ""]
        type undertone_grant = crate::GrantHandle;
    }

    extern "Rust" {
        /// A pack with the encoder it was built with. Its functions may run concurrently.
        type Pipeline;

        /// `pack`: a file. `model`: a folder with `model.onnx` and `tokenizer.json`, the encoder
        /// that the pack was built with. `onnxruntime`: the shared library of ONNX Runtime; if
        /// empty, the one that `ORT_DYLIB_PATH` names, else the built-in engine.
        #[Self = "Pipeline"]
        fn with_model(pack: &str, model: &str, onnxruntime: &str) -> Result<Box<Pipeline>>;

        /// `pack`: a file with a lexicon, which is the encoder.
        #[Self = "Pipeline"]
        fn with_lexicon(pack: &str) -> Result<Box<Pipeline>>;

        /// The number of coordinates of a sentence's vector.
        fn dimension(self: &Pipeline) -> usize;

        /// The name of the encoder.
        fn encoder(self: &Pipeline) -> &str;

        /// The vector of one sentence, zero if the encoder rejects it. Bytes that are not UTF-8
        /// count as U+FFFD.
        fn encode(self: &Pipeline, sentence: &CxxString) -> Result<Vec<f32>>;

        /// Releases a text: splits it into sentences, of which the first 128 count, and encodes
        /// each alone. Bytes that are not UTF-8 count as U+FFFD.
        ///
        /// Replacing any one sentence changes the probability of any release by at most a factor of
        /// e^epsilon. Adding or removing one changes it by at most e^(epsilon/2), or e^epsilon if
        /// the text has more than 128. The losses of several releases of the same text add up.
        ///
        /// `grant`: `undertone::Grant::capi()`. It is spent once all sentences are encoded.
        ///
        /// # Safety
        /// `grant` is NULL or a grant of undertone.h that nobody else uses.
        unsafe fn release(
            self: &Pipeline,
            text: &CxxString,
            grant: *mut undertone_grant,
            rule: Rule,
        ) -> Result<Vec<u8>>;

        /// Releases a text as `release` does, but protects all of it, for short texts: exchanging
        /// the whole text for any other changes the probability of any release by at most a factor
        /// of e^epsilon. Choose between the two without looking at the text or its length.
        /// `undertone::Document::promise` returns both promises as numbers.
        ///
        /// The pack must have scores; otherwise the call fails, and the grant is not spent.
        ///
        /// # Safety
        /// Same as `release`.
        unsafe fn release_whole_text(
            self: &Pipeline,
            text: &CxxString,
            grant: *mut undertone_grant,
        ) -> Result<Vec<u8>>;

        /// The sentences of a text.
        fn sentences(text: &CxxString) -> Vec<String>;

        /// The candidates of a pack, which stay on the server.
        type Candidates;

        /// `path`: the file that `undertone pack` wrote next to the pack.
        #[Self = "Candidates"]
        fn open(path: &str) -> Result<Box<Candidates>>;

        /// The number of candidates.
        fn count(self: &Candidates) -> usize;

        /// Decodes a release of this pack.
        fn decode(self: &Candidates, release: &[u8]) -> Result<Decoded>;
    }
}

use interface::{Decoded, Rule, Unit};

// SAFETY: `Id` is its name in C++, which declares the type without defining it.
unsafe impl cxx::ExternType for GrantHandle {
    type Id = cxx::type_id!("undertone_grant");
    type Kind = cxx::kind::Opaque;
}

struct View<'a> {
    pack: Pack<'a>,
    encoder: Box<dyn Encoder + 'a>,
}

self_cell!(
    /// The bytes of a pack and the parsed views of them.
    struct Loaded {
        owner: Vec<u8>,
        #[covariant]
        dependent: View,
    }
);

struct Pipeline(Loaded);

impl Pipeline {
    fn open(
        path: &str,
        encoder: impl for<'a> FnOnce(&Pack<'a>) -> undertone::Result<Box<dyn Encoder + 'a>>,
    ) -> Result<Box<Self>> {
        let path = Path::new(path);
        let bytes = fs::read(path).map_err(Error::io("read", path))?;
        let loaded = Loaded::try_new(bytes, |bytes| {
            let pack = Pack::parse(bytes).map_err(Error::unusable_pack(path))?;
            let encoder = encoder(&pack)?;
            document::check_encoder(&pack, encoder.as_ref())?;
            // Rejects packs that this library cannot release from, before the first text.
            document::empty(&pack)?;
            Ok::<_, Error>(View { pack, encoder })
        })?;
        Ok(Box::new(Self(loaded)))
    }

    fn with_model(pack: &str, model: &str, onnxruntime: &str) -> Result<Box<Self>> {
        Self::open(pack, |_| {
            let library = Some(Path::new(onnxruntime));
            Ok(Box::new(OnnxEncoder::open(Path::new(model), library)?))
        })
    }

    fn with_lexicon(path: &str) -> Result<Box<Self>> {
        Self::open(path, |pack| {
            Ok(Box::new(LexiconEncoder::of_file(pack, Path::new(path))?))
        })
    }

    fn encoder_dyn(&self) -> &dyn Encoder {
        self.0.borrow_dependent().encoder.as_ref()
    }

    /// A sentence that the encoder rejects becomes the zero vector, because an error would reveal
    /// something about the text.
    fn encoder_private(&self) -> PrivateEncoder<'_> {
        PrivateEncoder::new(self.encoder_dyn())
    }

    fn dimension(&self) -> usize {
        self.encoder_dyn().dimension()
    }

    fn encoder(&self) -> &str {
        &self.encoder_dyn().identity().name
    }

    fn encode(&self, sentence: &CxxString) -> Result<Vec<f32>> {
        let mut vector = vec![0.0; self.dimension()];
        self.encoder_private()
            .encode(&sentence.to_string_lossy(), &mut vector)?;
        Ok(vector)
    }

    /// # Safety
    /// `grant` is null or a grant of the C interface that nobody else uses.
    unsafe fn release(
        &self,
        text: &CxxString,
        grant: *mut GrantHandle,
        rule: Rule,
    ) -> Result<Vec<u8>> {
        // SAFETY: the caller's promise.
        let grant = unsafe { grant_at(grant) }?;
        let rule = CoreRule::from_number(rule.repr).ok_or(Problem::Rule { found: rule.repr })?;
        let mut document = self.document(text)?;
        let grant = spend(grant, CoreUnit::Sentence)?;
        let release = document::draw(&mut document, grant, Method::Sentence(rule))?;
        Ok(release.to_bytes().to_vec())
    }

    /// # Safety
    /// Same as [`release`](Pipeline::release).
    unsafe fn release_whole_text(
        &self,
        text: &CxxString,
        grant: *mut GrantHandle,
    ) -> Result<Vec<u8>> {
        // SAFETY: the caller's promise.
        let grant = unsafe { grant_at(grant) }?;
        let mut document = self.document(text)?;
        document.check_whole_text().map_err(Error::from)?;
        let grant = spend(grant, CoreUnit::WholeText)?;
        let release = document::draw(&mut document, grant, Method::WholeText)?;
        Ok(release.to_bytes().to_vec())
    }

    /// A document with the sentences of a text.
    fn document(&self, text: &CxxString) -> Result<HostDocument<'_>> {
        let mut document = document::empty(&self.0.borrow_dependent().pack)?;
        let encoder = self.encoder_private();
        document::fill_text(&mut document, &encoder, &text.to_string_lossy())?;
        Ok(document)
    }
}

/// # Safety
/// `grant` is null or a grant of the C interface that nobody else uses during the lifetime of the
/// result.
unsafe fn grant_at<'a>(grant: *mut GrantHandle) -> Result<&'a mut Option<Grant>> {
    // SAFETY: the caller's promise is the one that `grant_mut` asks for; `GrantHandle` is what it
    // wraps.
    let grant = unsafe { grant_mut(grant.cast::<UndertoneGrant>()) };
    grant.map_err(|status| Problem::Grant { status })
}

/// Called last before entropy is drawn, because a spent grant cannot be restored. A grant for
/// another unit is not spent.
fn spend(grant: &mut Option<Grant>, unit: CoreUnit) -> Result<Grant> {
    match grant.as_ref() {
        Some(own) if own.check(unit).is_err() => Err(Problem::Grant {
            status: UNDERTONE_STATUS_GRANT_WRONG_UNIT,
        }),
        _ => grant.take().ok_or(Problem::Grant {
            status: UNDERTONE_STATUS_GRANT_SPENT,
        }),
    }
}

fn sentences(text: &CxxString) -> Vec<String> {
    let text = text.to_string_lossy();
    let sentences = undertone::text::sentences(&text);
    sentences.into_iter().map(str::to_owned).collect()
}

struct Candidates(HostCandidates);

impl Candidates {
    fn open(path: &str) -> Result<Box<Self>> {
        Ok(Box::new(Self(HostCandidates::read(Path::new(path))?)))
    }

    fn count(&self) -> usize {
        self.0.entries.len()
    }

    fn decode(&self, release: &[u8]) -> Result<Decoded> {
        let release = Release::from_bytes(release).map_err(Problem::Release)?;
        let unit = match release.mechanism().unit() {
            CoreUnit::WholeText => Unit::WholeText,
            _ => Unit::Sentence,
        };
        let mut decoded = Decoded {
            unit,
            nothing_known: true,
            candidate: release.number(),
            name: String::new(),
            label: String::new(),
            excerpt: String::new(),
            embedding: Vec::new(),
            epsilon: release.epsilon().to_string(),
        };
        if let Some((candidate, embedding)) = self.0.decode(&release)? {
            decoded.nothing_known = false;
            decoded.name.clone_from(&candidate.id);
            decoded.label = candidate.label.clone().unwrap_or_default();
            decoded.excerpt.clone_from(&candidate.excerpt);
            decoded.embedding = embedding.to_vec();
        }
        Ok(decoded)
    }
}

#[cfg(test)]
mod tests {
    use cxx::let_cxx_string;
    use undertone::demo;
    use undertone::encoder::EncoderIdentity;

    use super::*;

    /// The built-in lexicon, except that it rejects one word.
    struct Picky(LexiconEncoder<'static>);

    impl Encoder for Picky {
        fn identity(&self) -> &EncoderIdentity {
            self.0.identity()
        }

        fn dimension(&self) -> usize {
            self.0.dimension()
        }

        fn encode(&self, sentence: &str, out: &mut [f32]) -> undertone::Result<()> {
            if sentence.contains("unicorn") {
                return Err(Error::encoder(format!(
                    "cannot encode a sentence of {} bytes with `picky`: refused",
                    sentence.len()
                )));
            }
            self.0.encode(sentence, out)
        }
    }

    #[test]
    fn no_sentence_makes_an_error() {
        let built = demo::build(1).expect("the demo corpus is public and fine");
        let loaded = Loaded::try_new(built.pack, |bytes| {
            let pack = Pack::parse(bytes).expect("a pack");
            let encoder = Box::new(Picky(LexiconEncoder::embedded()));
            Ok::<_, Error>(View { pack, encoder })
        });
        let pipeline = Pipeline(loaded.unwrap_or_else(|error| panic!("{error}")));
        let_cxx_string!(text = "The clinic called. A unicorn slept.");
        let document = pipeline.document(&text).expect("no error");
        assert_eq!(document.sentence_count(), 2);
        let_cxx_string!(refused = "A unicorn slept.");
        let vector = pipeline.encode(&refused).expect("no error");
        assert_eq!(vector, vec![0.0; pipeline.dimension()]);
    }
}
