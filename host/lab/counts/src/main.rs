//! Counts of releases for a server that sees no release: Prio3Histogram with two aggregators, which
//! run in one process here.
//!
//! Each device releases once in a window, in a slot that is drawn. It splits the outcome into two
//! shares. Each aggregator adds up its shares of a slot, and only the sum of both is published. So
//! a reader sees counts, and the ε towards a reader is smaller than for a person or a line.
//!
//! Chance: false alarm none, miss none. The counts of any outcomes are compared.

use std::error::Error;

use prio::vdaf::prio3::{Prio3, Prio3Histogram, optimal_chunk_length};
use prio::vdaf::{Aggregatable, Aggregator, Client, Collector, VdafError, VerifyTransition};
use undertone::demo;
use undertone::release::document::{self, Method, OsEntropy};
use undertone::release::window::{Promises, Window};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::rng::rand_core::TryRng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::unit::Unit;
use undertone_estimate::published;

/// The context of all shares.
const CONTEXT: &[u8] = b"undertone-counts";

/// Counts of each slot, by the aggregators and without them.
struct Counts {
    aggregated: Vec<Vec<u128>>,
    plain: Vec<Vec<u128>>,
    promises: Promises,
    candidates: u32,
}

/// The ε of a person, of a line and of a reader of counts.
fn promises(
    candidates: u32,
    devices: u32,
    window: Window,
    epsilon: Epsilon,
) -> Result<Promises, undertone::error::Error> {
    let method = Method::WholeText;
    published::promises(method, epsilon, candidates, devices.into(), window)
}

/// Outcomes of one release by each device, in a slot that is drawn. A device has one public
/// sentence of the demo.
fn outcomes(
    pack: &Pack<'_>,
    devices: usize,
    epsilon: Epsilon,
    slots: u16,
) -> Result<Vec<Vec<u32>>, Box<dyn Error>> {
    let mut document = document::empty(pack)?;
    let mut rng = PublicRng::new(1);
    let mut of_slots = vec![Vec::new(); slots.into()];
    for sentence in demo::public_sentences().iter().cycle().take(devices) {
        document.push_sentence(sentence)?;
        let grant = Grant::unrecorded(Unit::WholeText, epsilon);
        let release = document.release_whole_text(grant, &mut OsEntropy)?;
        of_slots[below(&mut rng, slots.into()) as usize].push(release.number());
    }
    Ok(of_slots)
}

/// The counts of these outcomes by two aggregators. Each verifies and adds up its own shares.
fn aggregate(prio: &Prio3Histogram, outcomes: &[u32]) -> Result<Vec<u128>, Box<dyn Error>> {
    let mut key = [0; 32];
    OsEntropy.try_fill_bytes(&mut key)?;
    let mut sums = [prio.aggregate_init(&()), prio.aggregate_init(&())];
    for outcome in outcomes {
        let mut nonce = [0; 16];
        OsEntropy.try_fill_bytes(&mut nonce)?;
        let (public, inputs) = prio.shard(CONTEXT, &(*outcome as usize), &nonce)?;
        let verified = inputs.iter().enumerate().map(|(aggregator, input)| {
            prio.verify_init(&key, CONTEXT, aggregator, &(), &nonce, &public, input)
        });
        let (states, shares): (Vec<_>, Vec<_>) = verified
            .collect::<Result<Vec<_>, VdafError>>()?
            .into_iter()
            .unzip();
        let message = prio.verifier_shares_to_message(CONTEXT, &(), shares)?;
        for (sum, state) in sums.iter_mut().zip(states) {
            match prio.verify_next(CONTEXT, state, message.clone())? {
                VerifyTransition::Finish(share) => sum.accumulate(&share)?,
                VerifyTransition::Continue(..) => return Err("Prio3 has one round".into()),
            }
        }
    }
    Ok(prio.unshard(&(), sums, outcomes.len())?)
}

/// Counts the releases of these devices in a window.
fn count(devices: u32, window: Window, epsilon: Epsilon) -> Result<Counts, Box<dyn Error>> {
    let built = demo::build(1)?;
    let pack = Pack::parse(&built.pack)?;
    // The last outcome is "nothing known".
    let candidates = pack.candidate_count();
    let length = candidates as usize + 1;
    let prio = Prio3::new_histogram(2, length, optimal_chunk_length(length))?;
    let of_slots = outcomes(&pack, devices as usize, epsilon, window.slots())?;
    let mut plain = vec![vec![0; length]; of_slots.len()];
    for (counts, outcomes) in plain.iter_mut().zip(&of_slots) {
        outcomes.iter().for_each(|own| counts[*own as usize] += 1);
    }
    let aggregated = of_slots.iter().map(|own| aggregate(&prio, own));
    Ok(Counts {
        aggregated: aggregated.collect::<Result<_, _>>()?,
        plain,
        promises: promises(candidates, devices, window, epsilon)?,
        candidates,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let (devices, window) = (2000, Window::new(52, 1, 100)?);
    let epsilon = "3".parse()?;
    let counts = count(devices, window, epsilon)?;
    if counts.aggregated != counts.plain {
        return Err("the counts of the aggregators are not those of the releases".into());
    }
    println!("{devices} devices: the aggregators have the counts of the releases.");
    println!("{}", counts.promises);
    println!("More devices, with the same window:");
    println!(
        "{}",
        promises(counts.candidates, 1_000_000, window, epsilon)?
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_aggregators_count_releases() {
        let window = Window::new(2, 1, 100).unwrap();
        let counts = count(200, window, "3".parse().unwrap()).unwrap();
        assert_eq!(counts.aggregated, counts.plain);
        assert_eq!(counts.plain.concat().iter().sum::<u128>(), 200);
        let reader = counts.promises.reader.and_then(|own| own.epsilon);
        assert!(reader.is_none_or(|own| own < 3.0), "{reader:?}");
    }
}
