//! Releases a text with a pack that has a lexicon, such as the one `undertone demo --save
//! demo.pack` writes:
//!
//! ```sh
//! cargo run -p undertone-core --example release -- tests/golden/golden-scores.pack "The red fox sleeps. It snows."
//! ```
//!
//! A device needs only the function `release`, which uses neither heap nor operating system. It
//! protects the whole text.

use std::env;
use std::error::Error;
use std::fs;

use getrandom::SysRng;
use undertone_core::document::DocumentError;
use undertone_core::release::Outcome;
use undertone_core::rng::rand_core::{TryCryptoRng, TryRng};
use undertone_core::{Document, Entropy, Grant, Pack, Release, Unit};

/// Draws one release, which protects the whole text.
fn release(
    pack: &Pack<'_>,
    text: &[u8],
    grant: Grant,
    entropy: &mut impl Entropy,
) -> Result<Release, DocumentError> {
    let mut document = Document::new(pack)?;
    document.push_text(text)?;
    document.release_whole_text(grant, entropy)
}

/// The operating system's generator. Implementing [`Entropy`] promises that its bytes are secret
/// and never repeat.
struct OsEntropy;

impl TryRng for OsEntropy {
    type Error = <SysRng as TryRng>::Error;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        SysRng.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        SysRng.try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        SysRng.try_fill_bytes(out)
    }
}

impl TryCryptoRng for OsEntropy {}
impl Entropy for OsEntropy {}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().collect();
    let [_, pack, text] = &arguments[..] else {
        return Err("usage: release PACK TEXT".into());
    };
    let bytes = fs::read(pack)?;
    let pack = Pack::parse(&bytes)?;
    // This grant is not counted. An app gets its grants from a `Ledger`.
    let grant = Grant::unrecorded(Unit::WholeText, "3".parse()?);
    let release = release(&pack, text.as_bytes(), grant, &mut OsEntropy)?;
    for byte in release.to_bytes() {
        print!("{byte:02x}");
    }
    let count = pack.candidate_count();
    match release.outcome(count) {
        Some(Outcome::Candidate(candidate)) => println!("\ncandidate {candidate} of {count}"),
        _ => println!("\nnothing known"),
    }
    Ok(())
}
