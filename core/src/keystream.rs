//! ChaCha12 as a generator that makes many blocks at a time, by the kernels of a backend.

use core::convert::Infallible;

use rand_core::TryRng;
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::kernels::{BATCH, Backend};

/// The keystream under a key, wiped when it is dropped.
pub(crate) struct Keystream {
    backend: Backend,
    key: [u32; 8],
    batches: u64,
    batch: [u8; BATCH],
    used: usize,
}

impl Keystream {
    pub(crate) fn new(backend: Backend, mut seed: [u8; 32]) -> Self {
        let mut key = [0; 8];
        for (word, bytes) in key.iter_mut().zip(seed.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        seed.zeroize();
        Self {
            backend,
            key,
            batches: 0,
            batch: [0; BATCH],
            used: BATCH,
        }
    }

    /// Whole words are used up, as by `ChaCha12Rng`.
    fn fill(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            if self.used >= BATCH {
                self.backend
                    .fill_batch(&self.key, self.batches, &mut self.batch);
                self.batches = self.batches.wrapping_add(1);
                self.used = 0;
            }
            let ready = self.batch.get(self.used..).unwrap_or_default();
            let both = ready.len().min(out.len());
            let (now, rest) = out.split_at_mut_checked(both).unwrap_or_default();
            for (to, from) in now.iter_mut().zip(ready) {
                *to = *from;
            }
            self.used += both.next_multiple_of(4);
            out = rest;
        }
    }
}

impl TryRng for Keystream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    #[inline]
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.fill(out);
        Ok(())
    }
}

impl Drop for Keystream {
    fn drop(&mut self) {
        self.key.zeroize();
        wipe(&mut self.batch);
    }
}
