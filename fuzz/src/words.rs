//! Private words over well-formed vocabularies of arbitrary vectors, compared with plain
//! computations.

use arbitrary::{Result, Unstructured};
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::ledger::Grant;
use undertone_core::lexicon::words;
use undertone_core::pack::Pack;
use undertone_core::release::BagRelease;
use undertone_core::rng::PublicRng;
use undertone_core::select::{Levels, Rule};
use undertone_core::unit::Unit;
use undertone_core::words::{Bag, LEVELS, MAX_BAG_SIZE, Vocabulary, WordMechanism, WordsError};

use crate::assemble::{Entry, lexicon_section, pack};
use crate::double::Repeated;

/// Words that a bag keeps.
const KEPT: usize = 5;

/// Builds a vocabulary of arbitrary vectors, computes its levels, and releases a bag of arbitrary
/// words.
///
/// Checked: levels are those of the definition; the nearest word has the least distance; a release
/// has the expected fields, or nothing is written; releases are read as they were written.
pub fn words_are_total(data: &[u8]) {
    // Unchanged input is hardly ever a release.
    let _ = BagRelease::from_bytes(data);
    let _ = use_words(&mut Unstructured::new(data));
}

fn use_words(u: &mut Unstructured<'_>) -> Result<()> {
    let dimension = u.int_in_range(1..=5)?;
    let exponent = u.int_in_range(-24..=24)?;
    let n: u32 = u.int_in_range(1..=200)?;
    let entries = (0..n).map(|index| {
        let vector = (0..dimension)
            .map(|_| u.arbitrary())
            .collect::<Result<Vec<i8>>>()?;
        Ok((format!("w{index:03}"), u16::MAX, vector))
    });
    let entries = entries.collect::<Result<Vec<Entry>>>()?;
    let bytes = pack(
        dimension as u32,
        "fuzz",
        &[(*b"LEXI", lexicon_section(exponent, &entries))],
    );
    let pack = Pack::parse(&bytes).expect("a well-formed pack");
    let vocabulary = Vocabulary::new(&pack).expect("a lexicon");
    levels(&vocabulary, &entries, u.arbitrary()?);
    let point: Vec<i32> = (0..dimension)
        .map(|_| u.arbitrary())
        .collect::<Result<_>>()?;
    nearest(&vocabulary, &entries, &point, u.int_in_range(-28..=14)?);

    let mechanism = match u.int_in_range(0..=2)? {
        0 => WordMechanism::Selection(Rule::PermuteAndFlip),
        1 => WordMechanism::Selection(Rule::Exponential),
        _ => WordMechanism::LaplaceNearest,
    };
    let epsilon = Epsilon::from_micro(u.int_in_range(1..=1_000_000_000)?).expect("in range");
    let size: u16 = u.int_in_range(0..=9)?;
    let space: usize = u.int_in_range(0..=50)?;
    let key: [u8; 32] = u.arbitrary()?;
    let mut bag: Bag<'_, KEPT> = Bag::with_limit(&vocabulary);
    let mut pushed = Vec::new();
    while !u.is_empty() {
        let length = u.int_in_range(0..=60)?;
        let word = u.bytes(length.min(u.len()))?;
        bag.push(word);
        pushed.push(index(word, &entries).unwrap_or(vocabulary.fallback()));
    }
    assert_eq!(bag.len(), pushed.len().min(KEPT));
    if pushed.is_empty() {
        pushed.push(vocabulary.fallback());
    }

    let mut out = vec![0xab; space];
    match bag.release(
        size,
        mechanism,
        Grant::unrecorded(Unit::Word, epsilon),
        &mut Repeated(&key),
        &mut out,
    ) {
        Ok(written) => {
            assert_eq!(written, BagRelease::bytes(size));
            assert!(out[written..].iter().all(|byte| *byte == 0xab) && bag.is_empty());
            let release = BagRelease::from_bytes(&out[..written]).expect("a release");
            assert_eq!(release.pack_id(), pack.id());
            assert_eq!(
                (release.mechanism(), release.epsilon()),
                (mechanism, epsilon)
            );
            let released: Vec<u32> = release.words().collect();
            assert!(released.is_sorted() && released.iter().all(|word| *word < n));
            assert_eq!(released.len(), usize::from(size));
        }
        Err(error) => {
            assert!(out.iter().all(|byte| *byte == 0xab));
            let expected = match error {
                WordsError::Size { .. } => !(1..=MAX_BAG_SIZE).contains(&size),
                WordsError::Space { .. } => space < BagRelease::bytes(size),
                WordsError::Entropy => !Repeated(&key).works(),
                WordsError::Laplace(_) => mechanism == WordMechanism::LaplaceNearest,
                _ => false,
            };
            assert!(expected, "{error:?}");
        }
    }
    // With an ε that leaves no other vector a chance, the drawn words are the pushed ones, up to
    // equal vectors.
    if exponent >= 0 && mechanism != WordMechanism::LaplaceNearest {
        let word = pushed[0];
        let drawn = hazmat::draw_word(
            &vocabulary,
            word,
            mechanism,
            Epsilon::MAX,
            &mut PublicRng::new(7),
        )
        .expect("a vocabulary");
        assert_eq!(vocabulary.level(word, drawn), 0);
    }
    Ok(())
}

/// Levels from the definition: ℓ is the largest number with ℓ·q ≤ dist.
fn levels(vocabulary: &Vocabulary<'_>, entries: &[Entry], private: u32) {
    let (.., row) = usize::try_from(private)
        .ok()
        .and_then(|index| entries.get(index))
        .unwrap_or(&entries[vocabulary.fallback() as usize]);
    let unit = vocabulary.unit_exponent() - vocabulary.lexicon().vector_exponent();
    assert!((-6..=5).contains(&unit));
    let mut entry = entries.iter();
    vocabulary.levels(private).for_each_block(|block| {
        for level in block {
            let (.., vector) = entry.next().expect("as many levels as words");
            // Times 2^14, so that all shifts are to the left.
            let squared = (squared(row, &real(vector)) as u128) << 14;
            let reached = |level: u16| u128::from(level).pow(2) << (14 + 2 * unit);
            assert!(usize::from(*level) < LEVELS);
            assert!(
                reached((*level).into()) <= squared && squared < reached(u16::from(*level) + 1)
            );
        }
    });
    assert!(entry.next().is_none());
}

fn nearest(vocabulary: &Vocabulary<'_>, entries: &[Entry], point: &[i32], grid: i32) {
    let exponent = grid - vocabulary.lexicon().vector_exponent();
    let rounded: Vec<i128> = point
        .iter()
        .map(|x| {
            let doubled = i128::from(*x) * 2;
            let doubled = if exponent >= 0 {
                doubled << exponent
            } else {
                doubled >> -exponent
            };
            ((doubled + 1) >> 1).clamp(-(1 << 40), 1 << 40)
        })
        .collect();
    let found = vocabulary.nearest(point, grid) as usize;
    let distances: Vec<i128> = entries.iter().map(|(.., v)| squared(v, &rounded)).collect();
    let least = distances.iter().min().expect("a word");
    assert_eq!(
        distances.iter().position(|distance| distance == least),
        Some(found)
    );
}

fn real(vector: &[i8]) -> Vec<i128> {
    vector.iter().map(|x| i128::from(*x)).collect()
}

fn squared(a: &[i8], b: &[i128]) -> i128 {
    let terms = a.iter().zip(b);
    terms.map(|(a, b)| (i128::from(*a) - b).pow(2)).sum()
}

/// The index of the only word in these bytes.
fn index(bytes: &[u8], entries: &[Entry]) -> Option<u32> {
    let text = std::str::from_utf8(bytes).ok()?;
    let found: Vec<_> = words(text).collect();
    let [word] = &found[..] else { return None };
    let at = entries
        .iter()
        .position(|(known, ..)| *known == word.as_str());
    at.map(|at| at as u32)
}
