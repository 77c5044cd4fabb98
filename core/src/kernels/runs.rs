//! Hashes of the runs of characters in a text.

use super::limits::VECTORS;

/// The longest run of characters that can be a feature, including the marks of the ends of a word.
pub const MAX_GRAM: usize = 8;

/// The start of the hash of a run, which no other kind of feature has.
pub(crate) const GRAM: u32 = 3;

/// Places of a text whose runs are hashed together: none without vectors.
pub(crate) const PLACES: usize = if VECTORS { 16 } else { 0 };

/// Characters before the first place that a run can begin with.
const BEFORE: usize = MAX_GRAM - 1;

/// The runs that end at [`PLACES`], and room for one more vector.
pub(crate) const RUNS: usize = PLACES * (MAX_GRAM + 1);

/// The factor of [`step`].
pub(super) const STEP: u32 = 0x9e37_79b1;

/// The factors of [`finish`].
pub(super) const FINISH: (u32, u32) = (0x85eb_ca6b, 0xc2b2_ae35);

/// Appends a character. A multiplication of 32 bits is one step on a microcontroller.
#[inline]
pub(crate) fn step(hash: u32, next: u32) -> u32 {
    (hash.rotate_left(5) ^ next).wrapping_mul(STEP)
}

/// Spreads the hash over all bits (MurmurHash3's last step).
#[inline]
pub(crate) fn finish(mut hash: u32) -> u32 {
    hash = (hash ^ hash >> 16).wrapping_mul(FINISH.0);
    hash = (hash ^ hash >> 13).wrapping_mul(FINISH.1);
    hash ^ hash >> 16
}

/// Characters that runs end with.
pub(crate) struct Ends {
    /// The characters before the places, and at them.
    characters: [u32; BEFORE + PLACES],
    /// The longest run that ends at each place; 0 if none is hashed.
    longest: [u8; PLACES],
    /// The number of places that have a character.
    filled: usize,
}

impl Ends {
    pub(crate) const fn new() -> Self {
        Self {
            characters: [0; BEFORE + PLACES],
            longest: [0; PLACES],
            filled: 0,
        }
    }

    /// Appends a character, and returns whether all places have one now.
    #[inline(always)]
    pub(crate) fn push(&mut self, character: u32, longest: u8) -> bool {
        if let Some(place) = self.characters.get_mut(BEFORE + self.filled) {
            *place = character;
        }
        if let Some(place) = self.longest.get_mut(self.filled) {
            *place = longest;
        }
        self.filled += 1;
        self.filled >= PLACES
    }

    /// Starts with empty places, which follow the present ones.
    pub(crate) fn pass(&mut self) {
        let passed = core::cmp::min(self.filled, PLACES);
        self.characters.copy_within(passed..passed + BEFORE, 0);
        self.longest.fill(0);
        self.filled = 0;
    }

    /// The characters `length` − 1 places before each place.
    #[inline(always)]
    pub(super) fn starts(&self, length: usize) -> Option<&[u32; PLACES]> {
        let start = (BEFORE + 1).checked_sub(length)?;
        self.characters.get(start..)?.first_chunk()
    }

    #[inline(always)]
    pub(super) fn longest(&self) -> &[u8; PLACES] {
        &self.longest
    }

    pub(crate) fn wipe(&mut self) {
        crate::barrier::wipe(&mut self.characters);
        crate::barrier::wipe(&mut self.longest);
    }
}
