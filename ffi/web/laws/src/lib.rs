//! The probability of every release of a text, for the playground: `undertone-law`, with the levels
//! that `undertone-core` computes.
//!
//! **Only for the author of the text.** The results are private; they are no release.
//!
//! A page writes bytes at [`laws_input`], calls a function that reads them, and reads numbers at
//! [`laws_output`].

use std::cell::RefCell;

use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::select::{Ratio, Rule};
use undertone_core::unit::Unit;
use undertone_law::{Law, levels};

/// The document of the C interface.
type Document<'p> = undertone_core::document::Document<'p, 128, 100>;

/// The parts of a text that its law depends on; no words.
struct Text {
    levels: Vec<u8>,
    /// The best outcome for the whole text, if the pack has such releases.
    best: Option<u32>,
}

/// A pack, and two texts to compare.
struct Playground {
    document: Box<Document<'static>>,
    texts: [Option<Text>; 2],
    /// The number of outcomes for the whole text.
    outcomes: usize,
}

impl Playground {
    /// Leaks the bytes: the pack lives as long as the page.
    fn new(bytes: Vec<u8>) -> Option<Self> {
        let pack = Pack::parse(Box::leak(bytes.into_boxed_slice())).ok()?;
        Some(Self {
            document: Box::new(Document::new(&pack).ok()?),
            texts: [None, None],
            outcomes: pack.outcomes() as usize,
        })
    }

    fn read(&mut self, slot: usize, sentences: &[&[u8]]) -> Option<()> {
        self.document.clear();
        for sentence in sentences {
            self.document.push_sentence(sentence).ok()?;
        }
        *self.texts.get_mut(slot)? = Some(Text {
            levels: levels(&self.document),
            best: hazmat::best(&self.document).ok(),
        });
        self.document.clear();
        Some(())
    }

    fn law(&self, slot: usize, unit: Unit, epsilon: Epsilon) -> Option<Vec<f64>> {
        let text = self.texts.get(slot)?.as_ref()?;
        let (levels, ratio, rule) = match unit {
            Unit::Sentence => {
                let ratio = self.document.ratio(epsilon);
                (text.levels.clone(), ratio, Rule::PermuteAndFlip)
            }
            // The rule for whole texts: the best outcome is one level better than all others.
            Unit::WholeText => {
                let mut levels = vec![1; self.outcomes];
                *levels.get_mut(text.best? as usize)? = 0;
                (levels, Ratio::per_unit(epsilon, 1), Rule::Exponential)
            }
            Unit::Word | Unit::Vector => return None,
        };
        let outcomes = levels.len();
        let law = Law::new(levels, ratio, rule);
        Some(
            (0..outcomes)
                .map(|outcome| law.probability(outcome))
                .collect(),
        )
    }
}

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
    static PLAYGROUND: RefCell<Option<Playground>> = const { RefCell::new(None) };
}

/// The address at which the page writes `length` bytes for the next call.
#[unsafe(no_mangle)]
pub extern "C" fn laws_input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(length, 0);
        input.as_mut_ptr()
    })
}

/// Reads a pack from the input. Returns 1, or 0 if it is invalid or has no candidates.
#[unsafe(no_mangle)]
pub extern "C" fn laws_open() -> u32 {
    let made = Playground::new(INPUT.take());
    let opened = made.is_some().into();
    PLAYGROUND.set(made);
    opened
}

/// Reads `sentence_count` sentences from the input, in UTF-8 with a zero after each, as text number
/// `slot`, 0 or 1. Returns 1; 0 without a pack that reads text, or for more than 128 sentences.
#[unsafe(no_mangle)]
pub extern "C" fn laws_read(slot: usize, sentence_count: usize) -> u32 {
    let input = INPUT.take();
    let sentences: Vec<&[u8]> = input
        .split(|byte| *byte == 0)
        .take(sentence_count)
        .collect();
    let read = PLAYGROUND.with_borrow_mut(|all| all.as_mut()?.read(slot, &sentences));
    read.is_some().into()
}

/// Computes the probability of each candidate, and for the whole text also of "nothing known", the
/// last, unless the pack leaves it out. Returns their number, 0 if there is no such law. They lie
/// at [`laws_output`].
///
/// `unit` and `epsilon_micro` are numbers of the C interface. By the sentence, the rule is
/// permute-and-flip.
#[unsafe(no_mangle)]
pub extern "C" fn laws_of_text(slot: usize, unit: u8, epsilon_micro: u32) -> usize {
    let law = PLAYGROUND.with_borrow(|all| {
        let (unit, epsilon) = (
            Unit::from_number(unit)?,
            Epsilon::from_micro(epsilon_micro).ok()?,
        );
        all.as_ref()?.law(slot, unit, epsilon)
    });
    OUTPUT.with_borrow_mut(|output| {
        *output = law.unwrap_or_default();
        output.len()
    })
}

/// The address of the probabilities that [`laws_of_text`] computed last.
#[unsafe(no_mangle)]
pub extern "C" fn laws_output() -> *const f64 {
    OUTPUT.with_borrow(Vec::as_ptr)
}
