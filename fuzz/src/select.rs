//! Selection from arbitrary levels, compared with a plain sort.

use std::num::NonZero;
use std::ops::Range;

use arbitrary::{Result, Unstructured};
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::rng::below;
use undertone_core::rng::rand_core::Rng;
use undertone_core::select::{Levels, MAX_CANDIDATES, Ratio, Rule, SelectError, SliceLevels};

use crate::double::Counting;

/// Draws from arbitrary levels under any bound, share of ε and capacity.
///
/// Checked: the index drawn and the words consumed; for an error, that nothing was drawn.
pub fn select_is_total(data: &[u8]) {
    // Input without parameters teaches nothing.
    let _ = draw(Unstructured::new(data));
}

#[derive(Debug)]
struct Case {
    levels: Vec<u8>,
    block: usize,
    bound: usize,
}

impl Levels for Case {
    fn bound(&self) -> usize {
        self.bound
    }

    fn candidate_count(&self) -> usize {
        self.levels.len()
    }

    fn for_each_block_of(&self, range: Range<usize>, visit: impl FnMut(&[u8])) {
        self.levels[range].chunks(self.block).for_each(visit);
    }
}

fn draw(mut u: Unstructured<'_>) -> Result<()> {
    let rule = *u.choose(&[Rule::PermuteAndFlip, Rule::Exponential])?;
    let epsilon = Epsilon::from_micro(u.int_in_range(1..=1_000_000_000)?).expect("in range");
    let steps = NonZero::new(u.int_in_range(1..=255)?).expect("at least 1");
    let seed = u.arbitrary()?;
    let block = u.int_in_range(1..=300)?;
    let bound = match u.arbitrary::<u8>()? {
        255 => usize::MAX,
        254 => u.int_in_range(256..=4097)?,
        small => small.into(),
    };
    let capacity: u8 = u.int_in_range(0..=3)?;
    let too_many = u.ratio(1, 200)?;
    let mut levels = u.take_rest().to_vec();
    // The work is candidates times bound, so only under a small one.
    if too_many && bound <= 8 {
        levels.resize(MAX_CANDIDATES as usize + 1, 0);
    }
    let case = Case {
        levels,
        block,
        bound,
    };
    match capacity {
        0 => check::<1>(&case, rule, (epsilon, steps), seed),
        1 => check::<8>(&case, rule, (epsilon, steps), seed),
        2 => check::<128>(&case, rule, (epsilon, steps), seed),
        _ => check::<256>(&case, rule, (epsilon, steps), seed),
    }
    Ok(())
}

fn check<const B: usize>(
    case: &Case,
    rule: Rule,
    (epsilon, steps): (Epsilon, NonZero<u8>),
    seed: u64,
) {
    let candidates = case.levels.len();
    let ratio = Ratio::per_step(epsilon, steps);
    match Epsilon::from_micro(epsilon.micro() / u32::from(steps.get())) {
        Ok(share) => assert_eq!(ratio, Ratio::new(share)),
        Err(_) => assert_eq!(ratio.constant(), u64::MAX),
    }
    let mut rng = Counting::new(seed);
    let drawn = hazmat::select::<B, _>(case, rule, ratio, &mut rng);
    let expected = if case.bound == 0 || case.bound > B {
        Err(SelectError::LevelBound {
            found: case.bound,
            limit: B,
        })
    } else if candidates == 0 || candidates > MAX_CANDIDATES as usize {
        Err(SelectError::Candidates {
            found: candidates as u32,
        })
    } else {
        Ok(reference(&case.levels, case.bound, rule, ratio, seed))
    };
    let words = match drawn {
        Ok(_) => rule.random_word_count(candidates as u32),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            0
        }
    };
    let micro = epsilon.micro();
    assert_eq!(
        drawn, expected,
        "{case:?}, capacity {B}, {rule:?}, {micro} micro-units in {steps}, seed {seed}"
    );
    assert_eq!(
        rng.words, words,
        "{case:?}, capacity {B}, {rule:?}, {micro} micro-units in {steps}, seed {seed}"
    );
    let in_one_block = SliceLevels {
        levels: &case.levels,
        bound: case.bound,
    };
    assert_eq!(
        hazmat::select::<B, _>(&in_one_block, rule, ratio, &mut Counting::new(seed)),
        drawn,
        "{case:?}, capacity {B}, {rule:?}, {micro} micro-units in {steps}, seed {seed}"
    );
}

/// Candidates in order of level, one coin each; a level by its heads (or weights), then a
/// candidate of that level.
fn reference(levels: &[u8], bound: usize, rule: Rule, ratio: Ratio, seed: u64) -> u32 {
    let mut rng = Counting::new(seed);
    let mut order: Vec<(usize, usize)> = levels
        .iter()
        .map(|level| usize::from(*level).min(bound - 1))
        .enumerate()
        .map(|(candidate, level)| (level, candidate))
        .collect();
    order.sort();
    let best = order[0].0;
    let weights: Vec<u128> = ratio.weights(rule).take(bound).collect();
    let shares: Vec<u128> = order
        .iter()
        .map(|(level, _)| {
            let weight = weights[level - best];
            match rule {
                Rule::PermuteAndFlip => u128::from(u128::from(rng.next_u64()) < weight),
                Rule::Exponential => weight,
            }
        })
        .collect();
    let mut left = u128::from(below(&mut rng, shares.iter().sum()));
    let mut position = 0;
    while left >= shares[position] {
        left -= shares[position];
        position += 1;
    }
    let level = order[position].0;
    let same: Vec<usize> = order
        .iter()
        .filter(|(other, _)| *other == level)
        .map(|(_, candidate)| *candidate)
        .collect();
    same[below(&mut rng, same.len() as u128) as usize] as u32
}
