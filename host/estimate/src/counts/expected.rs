//! Which releases are expected.

use std::collections::{BTreeSet, HashMap};

use undertone::release::lines::BadLine;
use undertone_core::epsilon::Epsilon;

use super::{Kind, Reason};

/// Which releases are expected. By default all are; whoever knows the packs of the fleet should name them, because any
/// client can send anything.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    packs: HashMap<[u8; 8], u32>,
    epsilons: BTreeSet<Epsilon>,
}

impl Expected {
    /// Expects releases of this pack, which has so many candidates, and of others that are named.
    pub fn pack(&mut self, id: [u8; 8], candidates: u32) {
        self.packs.insert(id, candidates);
    }

    /// Expects releases with this ε, and others that are named.
    pub fn epsilon(&mut self, epsilon: Epsilon) {
        self.epsilons.insert(epsilon);
    }

    /// How many outcomes a release of this kind can have.
    ///
    /// # Errors
    /// Why releases of this kind are not expected.
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
