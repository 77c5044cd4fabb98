//! Stand-ins for randomness.

use std::convert::Infallible;
use std::fmt;

use undertone_core::rng::rand_core::{TryCryptoRng, TryRng};
use undertone_core::rng::{Entropy, PublicRng};

/// An entropy source that repeats the bytes it was given, or fails if there are none.
pub(crate) struct Repeated<'a>(pub(crate) &'a [u8]);

impl Repeated<'_> {
    /// Returns whether a release can be drawn: the source does not fail, and the key is not all
    /// zeroes.
    pub(crate) fn works(&self) -> bool {
        self.0.iter().take(32).any(|byte| *byte != 0)
    }
}

impl TryRng for Repeated<'_> {
    type Error = fmt::Error;

    fn try_next_u32(&mut self) -> Result<u32, fmt::Error> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, fmt::Error> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), fmt::Error> {
        if self.0.is_empty() {
            return Err(fmt::Error);
        }
        for (to, from) in out.iter_mut().zip(self.0.iter().cycle()) {
            *to = *from;
        }
        Ok(())
    }
}

impl TryCryptoRng for Repeated<'_> {}
impl Entropy for Repeated<'_> {}

/// A seeded generator that counts the words drawn.
pub(crate) struct Counting {
    source: PublicRng,
    pub(crate) words: u64,
}

impl Counting {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            source: PublicRng::new(seed),
            words: 0,
        }
    }
}

impl TryRng for Counting {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("selection draws whole words")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.words += 1;
        self.source.try_next_u64()
    }

    /// Words, as if drawn one by one.
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        let (words, rest) = out.as_chunks_mut();
        assert!(rest.is_empty(), "selection draws whole words");
        for word in words {
            *word = self.try_next_u64()?.to_le_bytes();
        }
        Ok(())
    }
}
