//! **Private data without protection.** Nothing here may leave the device, and no app needs it.
//!
//! [`Document`], [`Bag`] and [`VectorMechanism`] each have one way in and one way out. Audits,
//! tests and experiments on public text need the values between the two, or chosen randomness. They
//! call this module, so that every such call shows its name. No result of these functions is a
//! release.
//!
//! A function leaves its document or bag as it is. Its guarantee holds if the words of `rng` are
//! independent and uniform.
//!
//! # Leaks
//! A function leaks what the release leaks that it draws for, unless it states its own leaks.
//!
//! # Cost
//! A function costs what the release costs without the entropy, unless it states its own cost.
//!
//! # Example
//! The chance of a candidate, from many draws about one public text:
//!
//! ```
//! use undertone_core::rng::PublicRng;
//! use undertone_core::select::{Ratio, Rule, SliceLevels};
//! use undertone_core::{Epsilon, hazmat};
//!
//! // The levels of three candidates, 0 being best; `hazmat::levels` returns those of a document.
//! let levels = SliceLevels { levels: &[0, 1, 4], bound: 8 };
//! let ratio = Ratio::new("2".parse::<Epsilon>()?);
//! let mut rng = PublicRng::new(1);
//! let mut best = 0;
//! for _ in 0..10_000 {
//!     let drawn = hazmat::select::<8, _>(&levels, Rule::Exponential, ratio, &mut rng)?;
//!     best += u32::from(drawn == 0);
//! }
//! // 1 / (1 + e^-1 + e^-4) = 0.721.
//! assert!((7000..7400).contains(&best));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use rand_core::Rng;

use crate::document::{Document, DocumentError};
use crate::epsilon::Epsilon;
use crate::form::{AnswersError, Form};
use crate::kernels::Backend;
use crate::laplace::{Floats, Laplace, LaplaceError};
use crate::projective::Geometry;
use crate::release::Release;
use crate::rng::{Entropy, ReleaseStream};
use crate::select::{Levels, Ratio, Rule, SelectError, select_on};
use crate::vector::{VectorError, VectorMechanism};
use crate::words::{Bag, Vocabulary, WordMechanism, WordsError};

/// Calls `visit` with the levels of all candidates, in order, in blocks: 0 is best. The selection
/// protects these levels.
pub fn levels<const K: usize, const P: usize>(
    document: &Document<'_, K, P>,
    visit: impl FnMut(&[u8]),
) {
    document.levels().for_each_block(visit);
}

/// The best outcome for the whole text: a candidate, or their number for "nothing known". The
/// whole-text rule protects this number.
///
/// # Errors
/// As [`Document::check_whole_text`].
pub fn best<const K: usize, const P: usize>(
    document: &Document<'_, K, P>,
) -> Result<u32, DocumentError> {
    document.best().map(|levels| levels.best)
}

/// Draws an outcome by the whole-text rule, as [`Document::release_whole_text`] does.
///
/// # Errors
/// As [`Document::check_whole_text`].
pub fn draw_whole_text<R: Rng + ?Sized, const K: usize, const P: usize>(
    document: &Document<'_, K, P>,
    epsilon: Epsilon,
    rng: &mut R,
) -> Result<u32, DocumentError> {
    document.draw_whole_text(epsilon, rng)
}

/// Draws a point by projective geometry response, as [`Document::release_projective`] does.
///
/// # Errors
/// As [`Document::check_whole_text`].
pub fn draw_projective<R: Rng + ?Sized, const K: usize, const P: usize>(
    document: &Document<'_, K, P>,
    epsilon: Epsilon,
    rng: &mut R,
) -> Result<(Geometry, u32), DocumentError> {
    document.draw_projective(epsilon, rng)
}

/// Draws a point for a private outcome, as [`draw_projective`] does for the best one of a document.
///
/// For any two outcomes below [`Geometry::outcomes`] every point has probabilities within a factor
/// e^ε of each other. [`projective`](crate::projective) has the proof and the sources. A larger
/// `outcome` gives some point, with no promise.
///
/// # Leaks
/// The geometry and ε. Instructions and addresses are the same for every outcome and every random
/// word. A draw takes four words.
pub fn draw_point<R: Rng + ?Sized>(
    geometry: &Geometry,
    outcome: u32,
    epsilon: Epsilon,
    rng: &mut R,
) -> u32 {
    geometry.draw(outcome, epsilon, rng)
}

/// Draws a question and a point for private answers, as [`Form::release`] does.
///
/// # Leaks
/// As [`Form::release`]. A draw takes six words.
///
/// # Errors
/// [`AnswersError::Length`].
pub fn draw_answer<R: Rng + ?Sized>(
    form: &Form<'_>,
    answers: &[u32],
    epsilon: Epsilon,
    rng: &mut R,
) -> Result<Release, AnswersError> {
    let find = |index, epsilon| form.best_geometry(index, epsilon);
    form.draw(find, answers, epsilon, rng)
}

/// Makes the document use this backend. All backends give the same release in different times.
pub fn force_backend<const K: usize, const P: usize>(
    document: &mut Document<'_, K, P>,
    backend: Backend,
) {
    document.set_backend(backend);
}

/// The words that a release draws under the key from `entropy`, by the kernels of this backend;
/// `None` if the source failed or returned nothing but zeroes.
///
/// # Leaks
/// Nothing by time: no step depends on the key.
pub fn words<E: Entropy + ?Sized>(backend: Backend, entropy: &mut E) -> Option<impl Rng + use<E>> {
    ReleaseStream::open(backend, entropy).ok()
}

/// Draws one candidate from the levels, as every mechanism that selects does.
///
/// # Guarantee
/// For any two lists of levels of the same candidates: if no level differs by more than 1, every
/// output probability differs by a factor of at most e^ε. If in addition no level rises, or none
/// falls, it differs by a factor of at most e^(ε/2). [`select`](crate::select) has the proof.
///
/// # Leaks
/// The number of candidates and the bound on levels. Every pass runs to the end, coins and choices
/// are branch-free, and [`Rule::random_word_count`] words are consumed whatever the levels. The
/// second pass visits the quarter of the list that has the drawn candidate. The index of the bin in
/// use depends on the levels, so an observer of single accesses to a shared cache is out of scope.
///
/// # Shapes
/// 1 to [`MAX_CANDIDATES`](crate::select::MAX_CANDIDATES) candidates, levels below
/// `levels.bound() ≤ B`; `B` at most [`MAX_LEVELS`](crate::select::MAX_LEVELS).
///
/// # Errors
/// [`SelectError`] for other sizes, which are public. Then nothing is drawn.
///
/// # Cost
/// One pass over the levels, with `bound` comparisons of bytes a candidate, and one over a quarter
/// of them; 24·B bytes of stack.
///
/// # Source
/// McKenna and Sheldon 2020; McSherry and Talwar 2007, with integer weights.
pub fn select<const B: usize, R: Rng + ?Sized>(
    levels: &impl Levels,
    rule: Rule,
    ratio: Ratio,
    rng: &mut R,
) -> Result<u32, SelectError> {
    select_on::<B, R>(Backend::best(), levels, rule, ratio, rng)
}

/// Draws one word for the private word `word`, as [`Bag::release`] does, by the guarantee of the
/// [`WordMechanism`].
///
/// # Leaks
/// See [`Vocabulary::levels`] and [`select`]. The number of words taken from `rng` depends only on
/// the vocabulary and the mechanism.
///
/// # Shapes
/// `word`: any number; one outside the vocabulary counts as the [`fallback`](Vocabulary::fallback).
///
/// # Errors
/// [`WordsError::Laplace`] if noise cannot be drawn for this ε and this vocabulary: ε outside
/// 0.1..=1000, or vectors too large for the grid of the noise. [`WordsError::Selection`] cannot
/// occur with a parsed pack.
///
/// # Cost
/// Selection: two passes over the vectors, 256 comparisons a word. Noise: one pass. 10 KiB of
/// stack.
pub fn draw_word<R: Rng + ?Sized>(
    vocabulary: &Vocabulary<'_>,
    word: u32,
    mechanism: WordMechanism,
    epsilon: Epsilon,
    rng: &mut R,
) -> Result<u32, WordsError> {
    vocabulary.draw(word, mechanism, epsilon, rng)
}

/// Draws `out.len()` words of a bag and makes them private, in ascending order, as
/// [`Bag::release`] does.
///
/// # Shapes
/// `out`: 1 to [`MAX_BAG_SIZE`](crate::words::MAX_BAG_SIZE) words.
///
/// # Errors
/// As [`Bag::release`].
pub fn draw_bag<R: Rng + ?Sized, const N: usize>(
    bag: &Bag<'_, N>,
    mechanism: WordMechanism,
    epsilon: Epsilon,
    rng: &mut R,
    out: &mut [u32],
) -> Result<(), WordsError> {
    bag.draw(mechanism, epsilon, rng, out)
}

/// Draws the coordinates of a private vector, in steps of the grid, as
/// [`VectorMechanism::release`] does.
///
/// # Shapes
/// `embedding`: `[dimension]` f32, any bits; `out`: `[m]`.
///
/// # Errors
/// [`VectorError::Length`] for another length of the embedding; [`VectorError::Laplace`] for
/// another length of `out`.
pub fn draw_vector<R: Rng + ?Sized>(
    mechanism: &VectorMechanism<'_>,
    embedding: &[f32],
    rng: &mut R,
    out: &mut [i32],
) -> Result<(), VectorError> {
    mechanism.draw_steps(embedding, rng, out)
}

/// Adds noise to `point`; `out` counts steps of the grid. [`laplace`](crate::laplace) has the
/// guarantee and the leaks.
///
/// # Shapes
/// `point`: `[dimension]` f32, any bits; a coordinate that is not finite counts as 0, others are
/// clamped to ±2^`bound_exponent`. `out`: `[dimension]`.
///
/// # Errors
/// [`LaplaceError::Length`] for other lengths; [`LaplaceError::Bound`] if B = 2^`bound_exponent` is
/// above 2²¹·h or below 2⁻⁴⁰·h. Nothing is drawn or written.
///
/// # Cost
/// About 2 words a coordinate and 2.5 KiB of stack; discrete noise 3 words, 1400 operations a
/// coordinate and 6 KiB.
pub fn perturb<R: Rng + ?Sized>(
    laplace: &Laplace,
    point: &[f32],
    bound_exponent: i32,
    rng: &mut R,
    out: &mut [i32],
) -> Result<(), LaplaceError> {
    laplace.check_length(point.len())?;
    laplace.check_length(out.len())?;
    let fixed = laplace.fixed_point(bound_exponent)?;
    let coordinates = Floats { left: point, fixed };
    laplace.add_noise(coordinates, bound_exponent, rng, out);
    Ok(())
}

/// [`perturb`] for coordinates that are integers, with [`fraction_bits`](Laplace::fraction_bits)
/// bits below 1.
///
/// # Errors
/// As [`perturb`].
pub fn perturb_fixed<R: Rng + ?Sized>(
    laplace: &Laplace,
    point: &[i64],
    bound_exponent: i32,
    rng: &mut R,
    out: &mut [i32],
) -> Result<(), LaplaceError> {
    laplace.check_length(point.len())?;
    laplace.check_length(out.len())?;
    let limit = laplace.fixed_point(bound_exponent)?.limit();
    let coordinates = point.iter().map(|x| (*x).clamp(-limit, limit));
    laplace.add_noise(coordinates, bound_exponent, rng, out);
    Ok(())
}
