//! Mutants of data flow: buffers that are not cleared, words and noise that are used twice, indices
//! that are off by one, sentences that affect others. `cargo mutants` changes operators and makes
//! none of these.
//!
//! The quick test checks that every mutant still matches the code. To run them all, which takes
//! about half an hour:
//!
//! ```sh
//! cargo test -p undertone-tests --test all mutants:: -- --ignored --nocapture
//! ```
//!
//! `UNDERTONE_MUTANTS=coins,norm` runs those whose names contain one of these parts. All are built
//! together, in a copy of the sources: a number selects the one that runs. Results:
//! `tests/RESULTS.md`.
//!
//! Chance: false alarm none, miss none. The long test does not run every day: a mutant counts as
//! noticed if its test takes five minutes, even because the machine is busy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A part of a file in `core/src`, which occurs once, and its replacement.
///
/// Both are statements, or both are expressions of one type. `mutant::swap` stores a number and
/// returns the previous one.
struct Mutant {
    name: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
}

const fn mutant(
    name: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
) -> Mutant {
    Mutant {
        name,
        file,
        old,
        new,
    }
}

/// Mutants that no test can notice, and why.
const EQUIVALENT: [(&str, &str); 0] = [];

const MUTANTS: &[Mutant] = &[
    mutant(
        "coins of the last partial batch are those of the batch before",
        "select.rs",
        "rng.fill_bytes(coins.as_flattened_mut());",
        "match candidates > 32 && coins.len() < COINS {
            true => coins.iter().for_each(|_| drop(rng.next_u64())),
            false => rng.fill_bytes(coins.as_flattened_mut()),
        }",
    ),
    mutant(
        "the same, for more than 64 candidates",
        "select.rs",
        "rng.fill_bytes(coins.as_flattened_mut());",
        "match candidates > 64 && coins.len() < COINS {
            true => coins.iter().for_each(|_| drop(rng.next_u64())),
            false => rng.fill_bytes(coins.as_flattened_mut()),
        }",
    ),
    mutant(
        "all batches have the coins of the first",
        "select.rs",
        "rng.fill_bytes(coins.as_flattened_mut());",
        "match tossed > 0 {
            true => coins.iter().for_each(|_| drop(rng.next_u64())),
            false => rng.fill_bytes(coins.as_flattened_mut()),
        }",
    ),
    mutant(
        "one head more is drawn from than there are",
        "select.rs",
        "draw_level(bins, tossing.heads_so_far.into(), running, rng)",
        "draw_level(bins, u128::from(tossing.heads_so_far) + 1, running, rng)",
    ),
    mutant(
        "a level has the first coin of the next",
        "select.rs",
        "end.wrapping_sub(1).wrapping_sub(start)",
        "end.wrapping_sub(start)",
    ),
    mutant(
        "the levels of coins are those of the stretch before, too",
        "select.rs",
        "marks.fill(0);",
        "{}",
    ),
    mutant(
        "the levels of coins are those of the first stretch",
        "select.rs",
        "mark_last_of_level(bins, tossed, &mut last_of_level);",
        "mark_last_of_level(bins, 0, &mut last_of_level);",
    ),
    mutant(
        "the rank is drawn among the heads",
        "select.rs",
        "candidates.conditional_assign(&bin.candidates(), passes);",
        "candidates.conditional_assign(&(running as u32).clamp(1, bin.candidates().max(1)), passes);",
    ),
    mutant(
        "the rank is drawn by the words of the level",
        "select.rs",
        "drawn.rank = below(rng, u128::from(candidates)) as u32;",
        "{
        below(rng, 1);
        drawn.rank = (target % u128::from(candidates)) as u32;
    }",
    ),
    mutant(
        "the place of the first chunk is kept",
        "select.rs",
        "retained_start.conditional_assign(&start, found);",
        "{}",
    ),
    mutant(
        "candidates before the kept chunk are not",
        "select.rs",
        "retained_seen.conditional_assign(&seen, found);",
        "{}",
    ),
    mutant(
        "chunks that end early count as whole",
        "select.rs",
        "start = start.wrapping_add(chunk.len() as u32);",
        "start = start.wrapping_add(CHUNK as u32);",
    ),
    mutant(
        "the rest of a chunk that ends early has the level",
        "select.rs",
        "[!level; CHUNK]",
        "[level; CHUNK]",
    ),
    mutant(
        "levels after the last one keep their candidates",
        "select.rs",
        "*in_part &= before as u16;",
        "{}",
    ),
    mutant(
        "a level has the weight of the next",
        "select.rs",
        "*weight = weight_minus_one;",
        "*weight = (ratio.step(u128::from(weight_minus_one) + 1) - 1) as u64;",
    ),
    mutant(
        "of a block, the worst levels of the blocks before are lost",
        "select.rs",
        "*in_part = in_part.wrapping_add((block.len() as u16).wrapping_sub(counted));",
        "*in_part = (block.len() as u16).wrapping_sub(counted);",
    ),
    mutant(
        "parts before the one that is drawn are not counted",
        "select.rs",
        "before = before.wrapping_add(u32::from(in_part));",
        "{}",
    ),
    mutant(
        "the low word of a draw is the high one",
        "rng.rs",
        "((low * n) >> 64)",
        "((high * n) >> 64)",
    ),
    mutant(
        "keys have 32 bits",
        "rng.rs",
        "*key",
        "{
            let mut few = [0; 32];
            few.iter_mut().zip(&*key).take(4).for_each(|(few, byte)| *few = *byte);
            few
        }",
    ),
    mutant(
        "the norm is that of the sentence before",
        "scores.rs",
        "lane_max(square_root_40(square), 1)",
        "(crate::mutant::swap(square_root_40(square).into()).max(1) as u32)",
    ),
    mutant(
        "candidates of all blocks add to the first",
        "scores.rs",
        "part_mut(sums, start..)",
        "part_mut(sums, 0..)",
    ),
    mutant(
        "features of all blocks are those of the first",
        "scores.rs",
        "part(weights, start..)",
        "part(weights, 0..)",
    ),
    mutant(
        "values of all blocks add to the first",
        "scores.rs",
        "part_mut(values, start..)",
        "part_mut(values, 0..)",
    ),
    mutant(
        "a vote is compared with the candidate before",
        "scores.rs",
        "self.best = lane_max(self.best, z);",
        "self.best = z;",
    ),
    mutant(
        "the best sum is looked for in the first row",
        "scores.rs",
        "self.sums.iter().fold(0,",
        "self.sums.iter().take(SUMS_PER_ROW).fold(0,",
    ),
    mutant(
        "levels of every part are those of the first",
        "scores.rs",
        "self.sums.get(start..end)",
        "self.sums.get(start - range.start..end - range.start)",
    ),
    mutant(
        "levels wrap at 256",
        "scores.rs",
        "i32::from(distance)",
        "i32::from(distance as u8)",
    ),
    mutant(
        "the ratio is that of a largest score of one less",
        "scores.rs",
        "NonZero::new(self.largest_score())",
        "NonZero::new(self.largest_score().saturating_sub(1).max(1))",
    ),
    mutant(
        "what says nothing counts for the whole text",
        "scores.rs",
        "backend.add_values(values, outputs, &sentence.length, known);",
        "backend.add_values(values, outputs, &sentence.length, -1);",
    ),
    mutant(
        "the cap is off by one",
        "whole_text.rs",
        "cmp::min(levels, MAX_LEVELS).saturating_sub(1)",
        "cmp::min(levels, MAX_LEVELS).saturating_sub(2)",
    ),
    mutant(
        "outcomes of every block are those of the first",
        "whole_text.rs",
        "(!outcome.ct_eq(&self.best)).unwrap_u8()",
        "(!(outcome % BLOCK as u32).ct_eq(&self.best)).unwrap_u8()",
    ),
    mutant(
        "depths are those of the block before",
        "depth.rs",
        "depths.fill(u8::MAX);",
        "{}",
    ),
    mutant(
        "codes of every block are those of the first",
        "depth.rs",
        "part(codes, start..start + len)",
        "part(codes, range.start..range.start + len)",
    ),
    mutant(
        "coordinates after the first few meet the first directions",
        "depth.rs",
        "section.add_projections(backend, start, group, sums, N);",
        "section.add_projections(backend, 0, group, sums, N);",
    ),
    mutant(
        "projections add to what is there",
        "depth.rs",
        "sums.fill(0);",
        "{}",
    ),
    mutant(
        "the first row is not cleared",
        "state.rs",
        "for Row(row) in &mut self.0 {
            wipe(row);
        }",
        "for Row(row) in self.0.iter_mut().skip(1) {
            wipe(row);
        }",
    ),
    mutant(
        "what is known stays",
        "document/mod.rs",
        "self.known.zeroize();",
        "{}",
    ),
    mutant(
        "the number of sentences stays",
        "document/mod.rs",
        "self.sentences.zeroize();",
        "{}",
    ),
    mutant(
        "only the last sentence is known",
        "document/push.rs",
        "self.known |= recognised.known;",
        "self.known = recognised.known;",
    ),
    mutant(
        "sentences after the hundredth count twice, as texts",
        "document/push.rs",
        "self.add_sentence(&mut coordinates, divisor);
        wipe(&mut coordinates);
        divisor.wipe();",
        "let mut again = coordinates;
        self.add_sentence(&mut coordinates, divisor);
        if self.sentence_count() > 100 {
            self.add_sentence(&mut again, divisor);
            self.sentences -= 1;
        }",
    ),
    mutant(
        "the same, pushed one by one",
        "document/push.rs",
        "self.push_all(embedding).map(|_| ())",
        "{
            if self.sentence_count() >= 100 {
                let before = self.sentences;
                self.push_all(embedding)?;
                self.sentences = before;
            }
            self.push_all(embedding).map(|_| ())
        }",
    ),
    mutant(
        "features of the sentence before count",
        "document/push.rs",
        "wipe(weights);",
        "{}",
    ),
    mutant(
        "sentence rules draw by a millionth more than they state",
        "document/release.rs",
        "document.ratio(epsilon)",
        "document.ratio(Epsilon::from_micro(epsilon.micro() + 1).unwrap_or(epsilon))",
    ),
    mutant(
        "the whole-text rule draws by a thousandth more than it states",
        "document/release.rs",
        "document.draw_whole_text(epsilon, stream)?",
        "{
            let more = Epsilon::from_micro(epsilon.micro() / 1000 + epsilon.micro());
            document.draw_whole_text(more.unwrap_or(epsilon), stream)?
        }",
    ),
    mutant(
        "projective geometry draws by a millionth more than it states",
        "document/release.rs",
        "document.draw_projective(epsilon, stream)?",
        "{
            let more = Epsilon::from_micro(epsilon.micro() + 1);
            document.draw_projective(more.unwrap_or(epsilon), stream)?
        }",
    ),
    mutant(
        "levels are capped after each sentence",
        "scores.rs",
        "sentence.votes.winner.zeroize();",
        "let best = sums.iter().fold(0, |best, sum| (*sum).max(best));
        let least = best.saturating_sub(u16::from(self.levels) - 1);
        for sum in sums.iter_mut() {
            *sum = (*sum).max(least);
        }",
    ),
    mutant(
        "a phrase begins in the sentence before",
        "lexicon.rs",
        "self.find_each(few.each_ref().map(|word| word.as_str()))",
        "{
                        let found = self.find_each(few.each_ref().map(|word| word.as_str()));
                        let last = found.iter().take(count).last().copied().flatten();
                        let number = last.map_or(0, |index| index as u64 + 1);
                        let kept = crate::mutant::swap(number) as usize;
                        before = before.or(kept.checked_sub(1));
                        found
                    }",
    ),
    mutant(
        "a word is joined to the one that was in its place",
        "text.rs",
        "word.clear();",
        "{}",
    ),
    mutant(
        "a phrase goes over an unknown word",
        "lexicon.rs",
        "before = found;",
        "if found.is_some() {
                        before = found;
                    }",
    ),
    mutant(
        "a word is looked up with the weight of the one before",
        "lexicon.rs",
        "self.weights.get(index)?.get()",
        "self.weights.get(index.saturating_sub(1))?.get()",
    ),
    mutant(
        "features of the last batch are lost",
        "features.rs",
        "batch.look_up();",
        "{}",
    ),
    mutant(
        "features are looked up again with those that follow",
        "features.rs",
        "self.pending = 0;",
        "{}",
    ),
    mutant(
        "runs at the end of a sentence are lost",
        "features.rs",
        "batch.add_runs();",
        "{}",
    ),
    mutant(
        "runs reach into the word before",
        "features.rs",
        "self.ends.push(c, longest as u8)",
        "self.ends.push(c, self.kinds.most)",
    ),
    mutant(
        "runs that ended at these places end there again",
        "kernels/runs.rs",
        "self.longest.fill(0);",
        "{}",
    ),
    mutant(
        "runs across batches start with other characters",
        "kernels/runs.rs",
        "passed..passed + BEFORE",
        "0..BEFORE",
    ),
    mutant(
        "runs of one character are lost",
        "features.rs",
        "batch.add_characters();",
        "{}",
    ),
    mutant(
        "a character counts once, however often it occurs",
        "features.rs",
        "*times = count;",
        "*times = count.min(1);",
    ),
    mutant(
        "a word that is drawn again is not drawn anew",
        "words.rs",
        "*out = self.vocabulary.draw(word, mechanism, epsilon, rng)?;",
        "{
                let drawn = self.vocabulary.draw(word, mechanism, epsilon, rng)?;
                let key = u64::from(word + 1) << 32;
                let kept = crate::mutant::swap(key | u64::from(drawn));
                *out = if kept >> 32 << 32 == key { kept as u32 } else { drawn };
            }",
    ),
    mutant(
        "an empty bag has the words of the one before",
        "words.rs",
        "self.words.fill(self.vocabulary.fallback as u16);",
        "{}",
    ),
    mutant(
        "differences of the coordinates before count",
        "words.rs",
        "\n    differences = [0; CHUNK];",
        "{}",
    ),
    mutant(
        "levels of every part are those of the first words",
        "words.rs",
        "vectors.skip(range.start).take(range.len())",
        "vectors.skip(0).take(range.len())",
    ),
    mutant(
        "χ² has a degree less",
        "laplace/mod.rs",
        "sampler.chi_squared(self.dimension + 1, rng)",
        "sampler.chi_squared(self.dimension, rng)",
    ),
    mutant(
        "noise of the second batch is that of the first",
        "laplace/mod.rs",
        "backend.round_products(factor, gaussians, &mut noise);",
        "if noise == [0; BATCH] {
                backend.round_products(factor, gaussians, &mut noise);
            }",
    ),
    mutant(
        "a coordinate has the noise of the one before",
        "laplace/fixed.rs",
        "*product = round(factor * gaussian);",
        "*product = crate::mutant::swap(round(factor * gaussian) as u64) as i64;",
    ),
    mutant(
        "words of the batch before are factors",
        "laplace/gaussian.rs",
        "self.words = [0; 3 * PAIRS];",
        "{}",
    ),
    mutant(
        "χ² has the words of the Gaussian before it",
        "laplace/gaussian.rs",
        "self.draw(2 * count, rng);",
        "self.draw(2 * count - usize::from(count > 0), rng);",
    ),
    mutant(
        "vectors are rounded to the nearest point",
        "laplace/discrete.rs",
        "(word >> (64 - BITS_BELOW_GRID)) < fraction as u64",
        "fraction >= 1 << (BITS_BELOW_GRID - 1)",
    ),
    mutant(
        "rounding has the bits of the sign",
        "laplace/discrete.rs",
        "(word >> (64 - BITS_BELOW_GRID)) < fraction as u64",
        "(word & ((1 << BITS_BELOW_GRID) - 1)) < fraction as u64",
    ),
    mutant(
        "every coordinate has the first one's magnitude",
        "laplace/discrete.rs",
        "weights.magnitude(below(rng, weights.total)) as i64",
        "{
            let drawn = weights.magnitude(below(rng, weights.total)) as i64;
            let kept = crate::mutant::swap(drawn as u64 + 1) as i64;
            if kept > 0 { crate::mutant::swap(kept as u64); kept - 1 } else { drawn }
        }",
    ),
    mutant(
        "the sensitivity is that of the diagonal",
        "vector.rs",
        "self.rows().map(|other| dot(row, other)).sum::<u64>()",
        "dot(row, row)",
    ),
    mutant(
        "rows are those of the four before",
        "vector.rs",
        "ready.get(at - 1).copied()",
        "ready.get(at.min(2) - 1).copied()",
    ),
    mutant(
        "ε is rounded in releases",
        "release/document.rs",
        "U32::new(epsilon.micro())",
        "U32::new(epsilon.micro() / 1000 * 1000)",
    ),
    mutant(
        "a release names the pack by half of its number",
        "release/document.rs",
        "transmute!(header)",
        "{
            let bytes: [u8; Self::BYTES] = transmute!(header);
            bytes.map(|byte| byte & 0xf7)
        }",
    ),
    mutant(
        "a grant is issued for an entry that is not on storage",
        "ledger.rs",
        "written != pending.record || newest != contents.newest",
        "newest != contents.newest",
    ),
    mutant(
        "what was reserved and not persisted is forgotten",
        "ledger.rs",
        "self.pending = Some(pending);",
        "{}",
    ),
    mutant(
        "the next entry overwrites the newest",
        "ledger.rs",
        "contents.slot = contents.slot.other();",
        "{}",
    ),
    mutant(
        "the other slot is taken for what it was",
        "ledger.rs",
        "contents.other = newest;",
        "{}",
    ),
    mutant(
        "a lost entry is found again",
        "ledger.rs",
        "contents.lost = false;",
        "{}",
    ),
    mutant(
        "where the other slot is what it was, it counts",
        "ledger.rs",
        "self.contents.other = other;",
        "{}",
    ),
    mutant(
        "a ledger is for every unit",
        "ledger.rs",
        "found != unit",
        "false",
    ),
    mutant(
        "a grant is for every unit",
        "ledger.rs",
        "self.unit == expected",
        "true",
    ),
    mutant(
        "the platform's counter is not raised",
        "ledger.rs",
        "raise(storage, reservation.number())?;",
        "{}",
    ),
    mutant(
        "a counter that stays where it was counts as raised",
        "ledger.rs",
        "found == number",
        "true",
    ),
    mutant(
        "a file one behind the counter has lost nothing",
        "ledger.rs",
        "self.contents.lost |= is_one_behind(stored, newest, counter)?;",
        "{ is_one_behind(stored, newest, counter)?; }",
    ),
    mutant(
        "a file ahead of the counter is taken",
        "ledger.rs",
        "platform >= stored",
        "true",
    ),
    mutant(
        "a bag costs what a word costs",
        "ledger.rs",
        "u64::from(self.words.get())",
        "1",
    ),
    mutant(
        "a grant is for a bag of any size",
        "words.rs",
        "found.get() < size",
        "false",
    ),
    mutant(
        "a coordinate comes from two places before",
        "projective.rs",
        "before = *u;",
        "{}",
    ),
    mutant(
        "progressions that are not preferred start a place too early",
        "progressions.rs",
        "u32::from(self.terms) & mask(!inside)",
        "u32::from(self.terms - 1) & mask(!inside)",
    ),
    mutant(
        "a layer has the outputs of the one before",
        "recode.rs",
        "sentence.copy_from_slice(&next);",
        "{}",
    ),
    mutant(
        "coordinates that are missing are those of the sentence before",
        "recode.rs",
        "out.fill(0);",
        "{}",
    ),
    mutant(
        "a sentence starts where the one before did",
        "sentences.rs",
        "start = range.end;
        text.get(range)",
        "start = range.end + 1;
        text.get(range)",
    ),
    mutant(
        "the place is drawn after the first line",
        "reservoir.rs",
        "place: below(rng, places.get().into()) as u32 + 1,",
        "place: below(rng, places.get().into()) as u32 + 2,",
    ),
    mutant(
        "a late line is kept with probability 1/(i + 1)",
        "reservoir.rs",
        "let late = below(rng, self.lines.into()).ct_eq(&0);",
        "let late = below(rng, u128::from(self.lines) + 1).ct_eq(&0);",
    ),
    mutant(
        "the number of places is the number of lines",
        "reservoir.rs",
        "let is_late = self.lines.ct_gt(&places.get().into());",
        "let is_late = self.lines.ct_gt(&u32::MAX);",
    ),
    mutant(
        "a release states the number of lines as the number of places",
        "reservoir.rs",
        "let drawn_by = DrawnBy::Drawn(self.slot.places);",
        "let drawn_by = DrawnBy::Drawn(
            NonZero::new(self.slot.draw.lines as u16).unwrap_or(NonZero::<u16>::MIN),
        );",
    ),
    mutant(
        "one sentence spends the whole text's epsilon",
        "reservoir.rs",
        "let ratio = drawn_ratio(epsilon, self.slot.places);",
        "let ratio = OneBest::ratio(epsilon);",
    ),
    mutant(
        "a line stays in its document",
        "document/release.rs",
        "self.clear();
        Ok(best)",
        "Ok(best)",
    ),
    mutant(
        "the slots are drawn again after a restart",
        "ledger.rs",
        "Appointment::new(self.newest.id, window, slots, count)",
        "Appointment::new(self.newest.session, window, slots, count)",
    ),
    mutant(
        "a slot has a second release",
        "ledger.rs",
        "spent / cost < appointment.due_by(slot).into()",
        "spent / cost <= appointment.due_by(slot).into()",
    ),
];

/// Files of tests that should notice, the quick ones first: `lib` has the unit tests of
/// `undertone-core`. The audit of planted bugs comes last.
const TESTS: [&str; 19] = [
    "lib",
    "sampler",
    "release_path",
    "scores",
    "depth",
    "golden",
    "words",
    "whole_text",
    "projective",
    "reservoir",
    "ledger",
    "sentences",
    "kernels",
    "embedding",
    "constants",
    "laplace",
    "proof",
    "theorem",
    "planted",
];

/// A test that takes longer counts as one that does not end.
const PATIENCE: Duration = Duration::from_secs(300);

/// Crates with mutants: one test contains a part of the mechanism.
const SWITCHED: [&str; 2] = ["core/src/lib.rs", "tests/tests/main.rs"];

/// Says which mutant runs, and keeps a number for those that need one.
const SWITCH: &str = r#"
/// Selects the mutant that runs.
#[doc(hidden)]
#[allow(missing_docs)]
pub mod mutant {
    extern crate std;
    use std::sync::OnceLock;
    use core::sync::atomic::{AtomicU64, Ordering};

    pub fn is(number: usize) -> bool {
        static RUNS: OnceLock<usize> = OnceLock::new();
        let read = || std::env::var("UNDERTONE_MUTANT").ok()?.parse().ok();
        *RUNS.get_or_init(|| read().unwrap_or(0)) == number
    }

    pub fn swap(number: u64) -> u64 {
        static KEPT: AtomicU64 = AtomicU64::new(0);
        KEPT.swap(number, Ordering::Relaxed)
    }
}
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn source(mutant: &Mutant) -> PathBuf {
    Path::new("core/src").join(mutant.file)
}

/// The texts that mutants replace, each once.
fn places() -> Vec<&'static Mutant> {
    let mut places: Vec<&Mutant> = Vec::new();
    for mutant in MUTANTS {
        let same = |other: &&Mutant| (other.file, other.old) == (mutant.file, mutant.old);
        if !places.iter().any(same) {
            places.push(mutant);
        }
    }
    places
}

/// The code of a place in the common build: selects a mutant by its number, or the original.
fn switched(place: &Mutant) -> String {
    let mut text = format!("{{ {} }}", place.old);
    for (number, mutant) in (1..).zip(MUTANTS) {
        if (mutant.file, mutant.old) == (place.file, place.old) {
            text = format!(
                "if crate::mutant::is({number}) {{ {} }} else {text}",
                mutant.new
            );
        }
    }
    if place.old.ends_with([';', '}']) {
        text
    } else {
        format!("({text})")
    }
}

#[test]
fn every_mutant_is_one_of_the_code() {
    for mutant in MUTANTS {
        let path = source(mutant);
        let text = fs::read_to_string(root().join(&path)).expect("a source file");
        let found = text.matches(mutant.old).count();
        assert!(
            found == 1 && mutant.new != mutant.old,
            "{}: {} has {found} times what it changes, which must be there once: {}",
            mutant.name,
            path.display(),
            mutant.old
        );
    }
    for (name, _) in EQUIVALENT {
        assert!(MUTANTS.iter().any(|mutant| mutant.name == name), "{name}");
    }
}

/// Copies the files in git, with the mutants, to a folder. An unchanged file is not written, so
/// that it is not built again.
fn copy(to: &Path) {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .expect("git");
    assert!(listed.status.success(), "git lists no files");
    let listed = String::from_utf8(listed.stdout).expect("paths");
    for path in listed.split_terminator('\0') {
        let Ok(mut bytes) = fs::read(root().join(path)) else {
            continue;
        };
        let of_file = places()
            .into_iter()
            .filter(|place| source(place) == Path::new(path));
        for place in of_file {
            let text = String::from_utf8(bytes).expect("a source file");
            bytes = text.replacen(place.old, &switched(place), 1).into_bytes();
        }
        if SWITCHED.contains(&path) {
            bytes.extend(SWITCH.as_bytes());
        }
        let path = to.join(path);
        if fs::read(&path).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(path.parent().expect("a folder")).expect("the target folder");
            fs::write(path, bytes).expect("the target folder can be written");
        }
    }
}

/// Builds the unit tests of `undertone-core` and the program `all`, in this order, from the copy.
fn build(source: &Path) -> [PathBuf; 2] {
    [
        ["--package=undertone-core", "--lib"],
        ["--package=undertone-tests", "--test=all"],
    ]
    .map(|arguments| {
        let output = Command::new(env!("CARGO"))
            .args([
                "test",
                "--all-features",
                "--no-run",
                "--message-format=json",
            ])
            .arg("--target-dir")
            // A separate target folder, because cargo confuses a copy with its original.
            .arg(source.join("target"))
            .args(arguments)
            .env("CARGO_INCREMENTAL", "0")
            .current_dir(source)
            .stderr(Stdio::inherit())
            .output()
            .expect("cargo");
        assert!(output.status.success(), "the mutants do not compile");
        let messages = String::from_utf8(output.stdout).expect("JSON");
        let built = messages.lines().find_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).expect("JSON");
            message["executable"].as_str().map(PathBuf::from)
        });
        built.expect("cargo names the program")
    })
}

/// Returns whether the tests of a file pass with this mutant; 0 is none.
fn passes([lib, all]: &[PathBuf; 2], test: &str, number: usize) -> bool {
    let mut command;
    if test == "lib" {
        command = Command::new(lib);
    } else {
        command = Command::new(all);
        command.arg(format!("{test}::"));
    }
    let mut child = command
        .env("UNDERTONE_MUTANT", number.to_string())
        // Failures here are no regressions to store.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
        .current_dir(root().join("tests"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it was just built");
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.success();
        }
        if start.elapsed() > PATIENCE {
            child.kill().expect("a child");
            child.wait().expect("a child");
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "takes half an hour"]
fn every_mutant_is_noticed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    copy(&folder);
    let programs = build(&folder);
    for test in TESTS {
        assert!(passes(&programs, test, 0), "{test} fails without a mutant");
    }
    // Parts of names.
    let only = std::env::var("UNDERTONE_MUTANTS").unwrap_or_default();
    let wanted = |mutant: &Mutant| only.split(',').any(|part| mutant.name.contains(part));
    let mut lived = Vec::new();
    for (number, mutant) in (1..).zip(MUTANTS) {
        if !wanted(mutant) {
            continue;
        }
        let noticed = TESTS.iter().find(|test| !passes(&programs, test, number));
        let by = noticed.unwrap_or(&"NOBODY");
        println!("{number:3}  {:<18} {:<60} {by}", mutant.file, mutant.name);
        let equivalent = EQUIVALENT.iter().any(|(name, _)| *name == mutant.name);
        if noticed.is_some() == equivalent {
            lived.push(mutant.name);
        }
    }
    assert!(lived.is_empty(), "not as they should be: {lived:?}");
}
