//! The slots of a window in which a device releases, drawn without looking at any text.
//!
//! A device that releases every day about what was typed spends ε every day. With an appointment it
//! releases in c of the T slots of a window, and a server that wants an answer for each slot asks
//! more devices. *Divide the people, not the budget*: with n devices a slot has about n·c/T
//! releases, each at the whole ε.
//!
//! # What it promises
//! Let a release promise ε for all lines of its slot, and let the slots D be drawn without looking
//! at text. For any two windows x, x' of text,
//! Pr\[D, y | x\] = Pr\[D\]·Π Pr\[M(x_d) = y_d\], a product over d ∈ D. So the probability of all
//! that leaves the device in a window changes by at most a factor of e^(c·ε), even if D is public.
//! ∎ With c = 1 a whole year costs ε.
//!
//! # How it is drawn
//! D is derived from the identifier of the ledger's file and the number of the window. The
//! identifier is 8 bytes of entropy. So a restart, a second process and a power cut find the same
//! slots, and there is nothing more to store. A mistake here can cost accuracy and not privacy,
//! because the ledger's budget of c·ε for the window holds whatever D is.
//!
//! # Late and missed slots
//! A device that is off in its slot releases in the next slot in which it runs
//! ([`Contents::is_due`](crate::ledger::Contents::is_due)). This is as private as releasing in time
//! if being on does not depend on what is typed. A server that counts by slots then sees slots
//! after a common pause, such as a holiday, with more releases than usual.

use core::num::NonZero;

use rand_core::Rng;
use sha2::{Digest, Sha256};

use crate::rng::{PublicRng, below};

/// The slots of one window in which a device releases. They are as public as the ledger's file.
#[derive(Clone, Debug)]
pub struct Appointment {
    rng: PublicRng,
    slots: NonZero<u16>,
    count: u16,
}

impl Appointment {
    /// Derives the slots. `core/FORMAT.md` states how.
    pub(crate) fn new(ledger: [u8; 8], window: u64, slots: NonZero<u16>, count: u16) -> Self {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(b"undertone appointment")
            .chain_update(ledger)
            .chain_update(window.to_le_bytes())
            .finalize()
            .into();
        let (seed, _) = digest.split_first_chunk().unwrap_or((&[0; 8], &[]));
        Self {
            rng: PublicRng::new(u64::from_le_bytes(*seed)),
            slots,
            count,
        }
    }

    /// The slots, ascending, from 0: `count` of them, or all if there are fewer.
    ///
    /// # Cost
    /// Two words of a public generator for each slot of the window.
    pub fn slots(&self) -> impl Iterator<Item = u16> + use<> {
        choose(self.slots, self.count, self.rng.clone())
    }

    /// The number of releases that are due by the end of `slot`.
    ///
    /// # Cost
    /// As [`slots`](Appointment::slots).
    pub fn due_by(&self, slot: u16) -> u16 {
        // At most `count`.
        self.slots().take_while(|due| *due <= slot).count() as u16
    }
}

/// Selection sampling: all sets of `count` slots are equally likely.
fn choose<R: Rng>(slots: NonZero<u16>, count: u16, mut rng: R) -> impl Iterator<Item = u16> {
    let mut missing = u64::from(count);
    (0..slots.get()).filter(move |slot| {
        let chosen = below(&mut rng, (slots.get() - slot).into()) < missing;
        missing -= u64::from(chosen);
        chosen
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::vec::Vec;

    use core::convert::Infallible;

    use rand_core::TryRng;

    use super::*;

    /// Makes [`below`] return the digits of `draws`, each below its limit, the last slot's first.
    struct Digits {
        draws: u64,
        limit: u64,
        high: bool,
    }

    impl TryRng for Digits {
        type Error = Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            unreachable!("only whole words are drawn")
        }
        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            self.high = !self.high;
            if !self.high {
                return Ok(0);
            }
            let digit = self.draws % self.limit;
            self.draws /= self.limit;
            let word = (u128::from(digit) << 64).div_ceil(self.limit.into());
            self.limit -= 1;
            Ok(word as u64)
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
            unreachable!("only whole words are drawn")
        }
    }

    #[test]
    fn all_sets_of_slots_are_equally_likely() {
        for slots in 1..=7u16 {
            let all: u64 = (1..=u64::from(slots)).product();
            for count in 0..=slots + 1 {
                let mut sets = BTreeMap::<Vec<u16>, u64>::new();
                for draws in 0..all {
                    let rng = Digits {
                        draws,
                        limit: slots.into(),
                        high: false,
                    };
                    let set: Vec<u16> = choose(NonZero::new(slots).unwrap(), count, rng).collect();
                    assert_eq!(set.len(), count.min(slots).into());
                    *sets.entry(set).or_default() += 1;
                }
                let each = all / sets.len() as u64;
                assert!(
                    sets.values().all(|times| *times == each),
                    "{count} of {slots}"
                );
                let count = u64::from(count.min(slots));
                let ways = (1..=count).fold(1, |ways, i| ways * (u64::from(slots) + 1 - i) / i);
                assert_eq!(sets.len() as u64, ways);
            }
        }
    }

    #[test]
    fn ledgers_and_windows_differ_and_use_every_slot_alike() {
        let weeks = NonZero::new(52).unwrap();
        let mut times = [0u32; 52];
        for ledger in 0..52_000u64 {
            let appointment = Appointment::new(ledger.to_le_bytes(), 2026, weeks, 1);
            let slot = appointment.slots().next().unwrap();
            times[usize::from(slot)] += 1;
            assert_eq!(appointment.due_by(slot), 1);
            assert!(slot == 0 || appointment.due_by(slot - 1) == 0);
            assert_eq!(appointment.due_by(51), 1);
        }
        // Fixed ledgers: 1000 expected, 31 the standard deviation.
        assert!(
            times.iter().all(|times| (850..1150).contains(times)),
            "{times:?}"
        );
        let of = |ledger: u64, window| {
            let appointment = Appointment::new(ledger.to_le_bytes(), window, weeks, 8);
            appointment.slots().collect::<Vec<_>>()
        };
        assert_eq!(of(1, 2026), of(1, 2026));
        assert_ne!(of(1, 2026), of(1, 2027));
        assert_ne!(of(1, 2026), of(2, 2026));
    }
}
