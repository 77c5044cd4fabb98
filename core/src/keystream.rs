//! ChaCha12 as a generator that makes many blocks at a time, by the kernels of a backend.

use core::convert::Infallible;

use rand_core::TryRng;
use rand_core::block::{BlockRng, Generator};
use zerocopy::transmute;
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::kernels::{BATCH, Backend};

/// The keystream under a key, wiped when it is dropped.
pub(crate) struct Keystream(BlockRng<Batches>);

struct Batches {
    backend: Backend,
    key: [u32; 8],
    /// The number of the next batch.
    number: u64,
}

impl Generator for Batches {
    type Output = [u32; BATCH];

    fn generate(&mut self, output: &mut [u32; BATCH]) {
        self.backend.fill_batch(&self.key, self.number, output);
        self.number = self.number.wrapping_add(1);
    }

    fn drop(&mut self, output: &mut [u32; BATCH]) {
        self.key.zeroize();
        wipe(output);
    }
}

impl Keystream {
    pub(crate) fn new(backend: Backend, mut seed: [u8; 32]) -> Self {
        // x86-64 is little-endian, as ChaCha12 is.
        let key = transmute!(seed);
        seed.zeroize();
        Self(BlockRng::new(Batches {
            backend,
            key,
            number: 0,
        }))
    }
}

impl TryRng for Keystream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_word())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64_from_u32())
    }

    #[inline]
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(out);
        Ok(())
    }
}
