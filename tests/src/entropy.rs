//! NOT PRIVATE: randomness that is replayed or counted, for tests only.

use std::convert::Infallible;
use std::fmt;

use undertone_core::rng::Entropy;
use undertone_core::rng::rand_core::{Rng, TryCryptoRng, TryRng};

/// NOT PRIVATE. Replays given bytes as entropy and fails when they are used up.
#[derive(Clone, Debug)]
pub struct FixedEntropy<'a> {
    rest: &'a [u8],
}

impl<'a> FixedEntropy<'a> {
    /// A source that returns `bytes`, once.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes not yet returned.
    pub fn left(&self) -> usize {
        self.rest.len()
    }
}

/// The bytes of a [`FixedEntropy`] are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fixed entropy is used up")
    }
}

impl std::error::Error for Exhausted {}

impl TryRng for FixedEntropy<'_> {
    type Error = Exhausted;

    fn try_next_u32(&mut self) -> Result<u32, Exhausted> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Exhausted> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Exhausted> {
        let (now, later) = self.rest.split_at_checked(out.len()).ok_or(Exhausted)?;
        out.copy_from_slice(now);
        self.rest = later;
        Ok(())
    }
}

// Neither is true, because this is a test double.
impl TryCryptoRng for FixedEntropy<'_> {}
impl Entropy for FixedEntropy<'_> {}

/// Fills `out` with words, little-endian.
fn fill_words<R: Rng>(rng: &mut R, out: &mut [u8]) -> Result<(), Infallible> {
    assert!(
        out.len().is_multiple_of(8),
        "a mechanism draws whole words only"
    );
    for chunk in out.chunks_mut(8) {
        chunk.copy_from_slice(&rng.next_u64().to_le_bytes());
    }
    Ok(())
}

/// NOT PRIVATE. Passes words through and counts them; anything but 64-bit words is a failure.
#[derive(Clone, Debug)]
pub struct CountingRng<R> {
    inner: R,
    words: u64,
}

impl<R: Rng> CountingRng<R> {
    /// A wrapper that has counted nothing yet.
    pub fn new(inner: R) -> Self {
        Self { inner, words: 0 }
    }

    /// The words drawn since the last call.
    pub fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.words)
    }
}

impl<R: Rng> TryRng for CountingRng<R> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        panic!("a mechanism draws whole words only")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.words += 1;
        Ok(self.inner.next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        fill_words(self, out)
    }
}

/// NOT PRIVATE. Replays given 64-bit words and panics when they are used up.
#[derive(Clone, Debug)]
pub struct FixedWords<'a>(pub &'a [u64]);

impl TryRng for FixedWords<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        panic!("a mechanism draws whole words only")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let (first, rest) = self.0.split_first().expect("a word left");
        self.0 = rest;
        Ok(*first)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        fill_words(self, out)
    }
}
