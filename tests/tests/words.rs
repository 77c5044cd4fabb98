//! Private words: exact privacy, levels, nearest words and bags.

use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::release::BagRelease;
use undertone_core::rng::PublicRng;
use undertone_core::select::Rule;
use undertone_core::words::{Bag, Vocabulary, WordMechanism};
use undertone_tests::FixedEntropy;
use undertone_tests::packs::LexiconParts;

#[test]
fn a_bag_of_three_words() {
    let bytes =
        LexiconParts::of_vectors(vec![vec![100, 0], vec![0, 3], vec![-90, 1]], -8).to_pack();
    let pack = Pack::parse(&bytes).expect("a pack");
    let vocabulary = Vocabulary::new(&pack).expect("a lexicon");
    assert_eq!(vocabulary.fallback(), 1);
    let mut bag: Bag<'_> = Bag::new(&vocabulary);
    bag.push("W00002");
    bag.push("nobody knows");
    let epsilon = Epsilon::from_micro(100_000_000).expect("an epsilon");
    let mechanism = WordMechanism::Selection(Rule::PermuteAndFlip);
    let mut drawn = [0; 20];
    bag.draw(mechanism, epsilon, &mut PublicRng::new(1), &mut drawn)
        .expect("drawn");
    assert!(
        drawn.is_sorted() && drawn[0] == 1 && drawn[19] == 2,
        "{drawn:?}"
    );
    let mut out = [0xaa; 70];
    let entropy = [7; 32];
    let written = bag.release(
        20,
        mechanism,
        epsilon,
        &mut FixedEntropy::new(&entropy),
        &mut out,
    );
    assert_eq!(written, Ok(64));
    assert!(bag.is_empty());
    let release = BagRelease::from_bytes(&out[..64]).expect("a release");
    assert_eq!(release.pack_id(), pack.id());
    assert!(release.words().all(|word| word == 1 || word == 2));
}
