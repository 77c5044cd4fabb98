//! Expected releases.

use std::collections::{BTreeSet, HashMap};

use undertone::release::lines::BadLine;
use undertone_core::epsilon::Epsilon;

use super::{Kind, Reason};

/// Releases to count; by default all. Name the packs of the fleet, because any client can send
/// anything.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    packs: HashMap<[u8; 8], u32>,
    epsilons: BTreeSet<Epsilon>,
}

impl Expected {
    /// Also expects releases of this pack, which has `candidates`.
    pub fn pack(&mut self, id: [u8; 8], candidates: u32) {
        self.packs.insert(id, candidates);
    }

    /// Also expects releases with this ε.
    pub fn epsilon(&mut self, epsilon: Epsilon) {
        self.epsilons.insert(epsilon);
    }

    /// The number of outcomes of a release of this kind.
    ///
    /// # Errors
    /// The reason if releases of this kind are not expected.
    pub fn outcomes(&self, kind: &Kind) -> Result<u64, Reason> {
        if !self.epsilons.is_empty() && !self.epsilons.contains(&kind.epsilon()) {
            return Err(Reason::OtherEpsilon);
        }
        if self.packs.is_empty() {
            return Ok(1 << 32);
        }
        let candidates = self.packs.get(&kind.pack_id());
        let candidates = candidates.ok_or(Reason::Line(BadLine::OtherPack))?;
        Ok(kind.outcomes(*candidates).min(1 << 32))
    }
}
