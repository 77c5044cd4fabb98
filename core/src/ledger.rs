//! The privacy budget.
//!
//! Every release takes a [`Grant`] by value: permission to spend an ε once.
//!
//! ```compile_fail,E0382
//! # use undertone_core::{document::Document, ledger::Grant, rng::Entropy, select::Rule};
//! fn twice(document: &mut Document<'_>, grant: Grant, source: &mut impl Entropy) {
//!     let _ = document.release(grant, Rule::PermuteAndFlip, source);
//!     let _ = document.release(grant, Rule::PermuteAndFlip, source);
//! }
//! ```
//!
//! ```compile_fail,E0599
//! # use undertone_core::ledger::Grant;
//! fn copied(grant: &Grant) -> Grant {
//!     grant.clone()
//! }
//! ```
//!
//! ```compile_fail,E0308
//! # use undertone_core::{document::Document, epsilon::Epsilon, rng::Entropy, select::Rule};
//! fn without(document: &mut Document<'_>, epsilon: Epsilon, source: &mut impl Entropy) {
//!     let _ = document.release(epsilon, Rule::PermuteAndFlip, source);
//! }
//! ```
//!
//! With one grant for each release it compiles:
//!
//! ```
//! # use undertone_core::{document::Document, ledger::Grant, rng::Entropy, select::Rule};
//! fn twice(document: &mut Document<'_>, grants: [Grant; 2], source: &mut impl Entropy) {
//!     for grant in grants {
//!         let _ = document.release(grant, Rule::PermuteAndFlip, source);
//!     }
//! }
//! ```

use crate::epsilon::Epsilon;

/// Permission to spend ε once.
///
/// A release takes it by value, whether it succeeds or not: what was granted is never refunded. It can
/// neither be copied nor cloned.
#[derive(Debug)]
#[must_use = "what was granted is spent, whether it is used or not"]
pub struct Grant(Epsilon);

impl Grant {
    /// A grant that no ledger knows of, for those who account elsewhere, and for public text.
    ///
    /// Releases of the same sentences add up; whoever calls this counts them.
    pub const fn unrecorded(epsilon: Epsilon) -> Self {
        Self(epsilon)
    }

    /// What may be spent.
    pub const fn epsilon(&self) -> Epsilon {
        self.0
    }
}
