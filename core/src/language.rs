//! What a build without the cargo feature `any-language` leaves out.

/// Whether this build has sparse heads, lexicons of pieces and the tables of scripts. Without them a program for a
/// microcontroller is 10 kB smaller.
pub(crate) const ANY_LANGUAGE: bool = cfg!(feature = "any-language");

/// Why a pack is refused that needs [`ANY_LANGUAGE`].
pub(crate) const NEEDS_ANY_LANGUAGE: &str =
    "needs undertone built with its cargo feature \"any-language\"";
