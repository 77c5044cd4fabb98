//! Randomness: what a release accepts, and the public generator that it refuses.
//!
//! A release draws 32 bytes from an [`Entropy`] source and expands them with ChaCha12 into the
//! words it needs. The key is drawn anew for every release and wiped afterwards, so a process that
//! forks or a virtual machine that is restored does not repeat a stream as long as its source does
//! not. All guarantees of this crate treat the expanded words as independent uniform bits, which
//! for ChaCha12 under a fresh secret 256-bit key is the standard assumption. The words equal
//! those of `ChaCha12Rng` of the crate `chacha20`; on x86-64 [`kernels`](crate::kernels) make more
//! blocks at a time.
//!
//! [`PublicRng`] is for randomness that everybody may know: projection directions, shuffles,
//! reproducible experiments. It is seeded, and a release with it does not compile:
//!
//! ```compile_fail,E0277
//! # use undertone_core::{document::Document, ledger::Grant, rng::{Entropy, PublicRng}, select::Rule};
//! fn release<'p>(document: &mut Document<'p>, grant: Grant, mut source: PublicRng) {
//!     let _ = document.release(grant, Rule::PermuteAndFlip, &mut source);
//! }
//! ```
//!
//! A release with a cryptographic generator that was seeded by hand does not compile either:
//!
//! ```compile_fail,E0277
//! # use undertone_core::{document::Document, ledger::Grant, rng::Entropy, select::Rule};
//! fn release<'p>(document: &mut Document<'p>, grant: Grant, mut source: chacha20::ChaCha12Rng) {
//!     let _ = document.release(grant, Rule::PermuteAndFlip, &mut source);
//! }
//! ```
//!
//! The same program with an [`Entropy`] source compiles:
//!
//! ```
//! # use undertone_core::{document::Document, ledger::Grant, rng::Entropy, select::Rule};
//! fn release<'p>(document: &mut Document<'p>, grant: Grant, mut source: impl Entropy) {
//!     let _ = document.release(grant, Rule::PermuteAndFlip, &mut source);
//! }
//! ```

use core::convert::Infallible;

use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use zeroize::{Zeroize, Zeroizing};

use crate::kernels::Backend;
#[cfg(undertone_kernels = "x86")]
use crate::keystream::Keystream;

/// The words under a key.
#[cfg(not(undertone_kernels = "x86"))]
type Keystream = chacha20::ChaCha12Rng;

pub use rand_core;

/// A source of secret, unpredictable bytes: an operating system's generator or a hardware one.
///
/// Implementing this marker is a promise that no call ever returns bytes that anyone else can
/// know or that were returned before. It is deliberately not implemented for every
/// [`TryCryptoRng`]: a cryptographic generator that was seeded by hand satisfies that trait and
/// must not reach a release.
pub trait Entropy: TryCryptoRng {}

/// The entropy source failed or returned nothing but zeroes. No word was drawn, nothing was
/// released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntropyFailed;

/// The words of one release: ChaCha12 under a key drawn for this release.
pub(crate) struct ReleaseStream(Keystream);

impl ReleaseStream {
    pub(crate) fn open<E: Entropy + ?Sized>(
        backend: Backend,
        source: &mut E,
    ) -> Result<Self, EntropyFailed> {
        let mut key = Zeroizing::new([0u8; 32]);
        source
            .try_fill_bytes(key.as_mut())
            .map_err(|_| EntropyFailed)?;
        // A working source does this once in 2^256 calls; a broken one does it every time.
        if key.iter().all(|byte| *byte == 0) {
            return Err(EntropyFailed);
        }
        let mut seed = *key;
        let stream = Self(keystream(backend, seed));
        seed.zeroize();
        Ok(stream)
    }
}

#[cfg(undertone_kernels = "x86")]
fn keystream(backend: Backend, key: [u8; 32]) -> Keystream {
    Keystream::new(backend, key)
}

#[cfg(not(undertone_kernels = "x86"))]
fn keystream(_: Backend, key: [u8; 32]) -> Keystream {
    Keystream::from_seed(key)
}

impl TryRng for ReleaseStream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(out)
    }
}

/// Seeded, reproducible, **public** randomness (xoshiro256++).
///
/// For projection directions, shuffles and experiments. Everybody who has the seed can compute
/// every word, so it does not implement [`TryCryptoRng`].
#[derive(Clone, Debug)]
pub struct PublicRng(Xoshiro256PlusPlus);

impl PublicRng {
    /// The generator for a public seed; the same seed gives the same words on every target.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }
}

impl TryRng for PublicRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(out)
    }
}

/// Words that [`below`] consumes, always.
pub const WORDS_PER_DRAW: u64 = 2;

/// A number below `n` from 128 random bits: ⌊U·n / 2¹²⁸⌋.
///
/// # Guarantee
/// Every value has a probability within (1/n)·(1 ± n·2⁻¹²⁸).
///
/// # Leaks
/// Nothing. There is no rejection loop, so neither time nor the number of words depends on `n`.
///
/// # Shapes
/// `n` in `1..=2^64`, larger values count as 2⁶⁴; the result is in `0..n` (0 when `n` is 0).
///
/// # Cost
/// Two words.
///
/// # Source
/// Multiplication instead of division (Lemire 2019), with 128 bits instead of his rejection.
pub fn below<R: Rng + ?Sized>(rng: &mut R, n: u128) -> u64 {
    let n = n.min(1 << 64);
    let high = u128::from(rng.next_u64());
    let low = u128::from(rng.next_u64());
    // high·n ≤ 2^128 − 2^64 and low·n/2^64 < 2^64: no overflow. The result is below n ≤ 2^64.
    ((high * n + ((low * n) >> 64)) >> 64) as u64
}
