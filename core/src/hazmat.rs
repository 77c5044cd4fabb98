//! **Private data without protection.** Nothing here may leave the device, and no app needs it.
//!
//! [`Document`], [`Bag`] and [`VectorMechanism`] each have one way in and one way out. Audits, tests and experiments on public
//! text need to look between the two, or to choose the randomness; they do it here, where the name of the module says so
//! at every call. What these functions return is no release.

use rand_core::Rng;

use crate::document::{Document, DocumentError};
use crate::epsilon::Epsilon;
use crate::kernels::Backend;
use crate::laplace::{Floats, Laplace, LaplaceError};
use crate::projective::Geometry;
use crate::rng::{Entropy, ReleaseStream};
use crate::select::{Levels, Ratio, Rule, SelectError, select_on};
use crate::vector::{VectorError, VectorMechanism};
use crate::words::{Bag, Vocabulary, WordMechanism, WordsError};

/// Calls `visit` with the level of every candidate for the document as it is, in order, in
/// blocks: 0 is best. This is what the selection protects.
pub fn levels<const K: usize, const P: usize>(
    document: &Document<'_, K, P>,
    visit: impl FnMut(&[u8]),
) {
    document.levels().for_each_block(visit);
}

/// The best outcome for the whole text of the document as it is: a candidate, or their number for "nothing known". This is
/// what the whole-text rule protects.
///
/// # Errors
/// [`DocumentError::NoScores`] and [`DocumentError::TooManyCandidates`] as for
/// [`Document::release_whole_text`].
pub fn best<const K: usize, const P: usize>(
    document: &Document<'_, K, P>,
) -> Result<u32, DocumentError> {
    document.best().map(|levels| levels.best)
}

/// Draws an outcome by the whole-text rule: the engine of [`Document::release_whole_text`]. The sentences stay.
///
/// # Guarantee
/// That of [`Document::release_whole_text`], if the words of `rng` are independent and uniform.
///
/// # Leaks
/// Those of [`select`].
///
/// # Errors
/// Those of [`best`].
///
/// # Cost
/// That of [`Document::release_whole_text`] without the entropy.
///
/// # Source
/// That of [`Document::release_whole_text`].
pub fn draw_whole_text<R: Rng + ?Sized, const K: usize, const P: usize>(
    document: &Document<'_, K, P>,
    epsilon: Epsilon,
    rng: &mut R,
) -> Result<u32, DocumentError> {
    document.draw_whole_text(epsilon, rng)
}

/// Draws a point by projective geometry response: the engine of [`Document::release_projective`]. The sentences stay.
///
/// # Guarantee
/// That of [`Document::release_projective`], if the words of `rng` are independent and uniform.
///
/// # Leaks
/// Those of [`draw_point`].
///
/// # Errors
/// Those of [`best`].
///
/// # Cost
/// That of [`Document::release_projective`] without the entropy.
///
/// # Source
/// That of [`Document::release_projective`].
pub fn draw_projective<R: Rng + ?Sized, const K: usize, const P: usize>(
    document: &Document<'_, K, P>,
    epsilon: Epsilon,
    rng: &mut R,
) -> Result<(Geometry, u32), DocumentError> {
    document.draw_projective(epsilon, rng)
}

/// Draws a point for a private outcome, by its number: what [`draw_projective`] does with the best outcome of a document.
///
/// # Guarantee
/// For any two outcomes below [`Geometry::outcomes`] every point has probabilities within a factor e^ε of each other, if the
/// words of `rng` are independent and uniform. See [`projective`](crate::projective) for the proof.
///
/// # Leaks
/// The geometry and ε. Instructions and addresses are the same for every outcome and every random word, of which four
/// are consumed.
///
/// # Shapes
/// `outcome`: below [`Geometry::outcomes`]; a larger number gives some point, with no promise.
///
/// # Cost
/// About 5·t products, and one inverse modulo the order; four quotients for progressions.
///
/// # Source
/// Feldman, Nelson, Nguyen and Talwar 2022; Park, Nam and Lee 2023.
pub fn draw_point<R: Rng + ?Sized>(
    geometry: &Geometry,
    outcome: u32,
    epsilon: Epsilon,
    rng: &mut R,
) -> u32 {
    geometry.draw(outcome, epsilon, rng)
}

/// Makes the document use this backend. All backends give the same release; only the time differs.
pub fn force_backend<const K: usize, const P: usize>(
    document: &mut Document<'_, K, P>,
    backend: Backend,
) {
    document.set_backend(backend);
}

/// The words that a release draws under the key that `entropy` gives, by the kernels of this backend; `None` if the source
/// failed or gave nothing but zeroes.
///
/// # Guarantee
/// None: who has the words has the randomness of a release.
///
/// # Leaks
/// Nothing by time: no step depends on the key.
///
/// # Cost
/// That of ChaCha12; on x86-64 1 KiB of words at a time.
///
/// # Source
/// Bernstein 2008 (ChaCha), with 12 rounds.
pub fn words<E: Entropy + ?Sized>(backend: Backend, entropy: &mut E) -> Option<impl Rng + use<E>> {
    ReleaseStream::open(backend, entropy).ok()
}

/// Draws one candidate from its level: the engine of every mechanism that selects.
///
/// # Guarantee
/// For any levels and levels' of the same candidates: if they differ by −1, 0 or +1 each, every
/// output probability differs by a factor of at most e^ε; if all differences are in {0, 1} or all
/// in {−1, 0}, at most e^(ε/2). See [`select`](crate::select) for the proof.
///
/// # Leaks
/// The number of candidates and the bound on levels. Every pass runs to the end, coins and choices
/// are branch-free, and [`Rule::random_word_count`] words are consumed whatever the levels. The second pass visits the
/// quarter of the list that has the drawn candidate, which says less than the candidate. The index of the
/// bin in use depends on the levels, so code that shares a cache and observes single accesses is
/// out of scope.
///
/// # Shapes
/// 1 to [`MAX_CANDIDATES`](crate::select::MAX_CANDIDATES) candidates, levels below `levels.bound() ≤ B`; `B` at most
/// [`MAX_LEVELS`](crate::select::MAX_LEVELS). Words are drawn by the eight bytes, in any number at a time.
///
/// # Errors
/// [`SelectError`], depending on public sizes only; nothing is drawn.
///
/// # Cost
/// One pass over the levels, with `bound` comparisons of bytes a candidate, and one over a quarter of them;
/// 24·B bytes of stack.
///
/// # Source
/// McKenna and Sheldon 2020; McSherry and Talwar 2007. Deviations: integer weights rounded up
/// instead of exponentials; levels relative to the best attained; candidates of one level are
/// exchangeable, so only a histogram is kept between the passes.
pub fn select<const B: usize, R: Rng + ?Sized>(
    levels: &impl Levels,
    rule: Rule,
    ratio: Ratio,
    rng: &mut R,
) -> Result<u32, SelectError> {
    select_on::<B, R>(Backend::best(), levels, rule, ratio, rng)
}

/// Draws one word for the private word `word`: the engine of [`Bag::release`].
///
/// # Guarantee
/// That of the [`WordMechanism`], if the words of `rng` are independent and uniform.
///
/// # Leaks
/// See [`Vocabulary::levels`] and [`select`]. The number of words taken from `rng` depends on the vocabulary and the
/// mechanism alone.
///
/// # Shapes
/// `word`: any number; one outside the vocabulary counts as the [`fallback`](Vocabulary::fallback).
///
/// # Errors
/// [`WordsError::Laplace`] if noise cannot be drawn for this ε and this vocabulary: ε outside 0.1..=1000, or
/// vectors too large for the grid of the noise. [`WordsError::Selection`] cannot occur with a parsed pack.
///
/// # Cost
/// Selection: two passes over the vectors, 256 comparisons a word. Noise: one pass. 10 KiB of stack.
///
/// # Source
/// McSherry and Talwar 2007 and McKenna and Sheldon 2020 on distances; Carvalho, Vasiloudis, Feyisetan and
/// Wang 2023 select words this way, from those within a truncation distance.
pub fn draw_word<R: Rng + ?Sized>(
    vocabulary: &Vocabulary<'_>,
    word: u32,
    mechanism: WordMechanism,
    epsilon: Epsilon,
    rng: &mut R,
) -> Result<u32, WordsError> {
    vocabulary.draw(word, mechanism, epsilon, rng)
}

/// Draws `out.len()` words of a bag and makes them private, in ascending order: the engine of [`Bag::release`]. The words
/// stay in the bag.
///
/// # Guarantee
/// That of [`Bag`], if the words of `rng` are independent and uniform.
///
/// # Leaks
/// Those of [`Bag`].
///
/// # Shapes
/// `out`: 1 to [`MAX_BAG_SIZE`](crate::words::MAX_BAG_SIZE) words.
///
/// # Errors
/// Those of [`Bag::release`].
///
/// # Cost
/// That of [`Bag::release`] without the entropy.
///
/// # Source
/// That of [`Bag`].
pub fn draw_bag<R: Rng + ?Sized, const N: usize>(
    bag: &Bag<'_, N>,
    mechanism: WordMechanism,
    epsilon: Epsilon,
    rng: &mut R,
    out: &mut [u32],
) -> Result<(), WordsError> {
    bag.draw(mechanism, epsilon, rng, out)
}

/// Draws the coordinates of a private vector, in steps of the grid: the engine of [`VectorMechanism::release`].
///
/// # Guarantee
/// That of [`VectorMechanism`], if the words of `rng` are independent and uniform.
///
/// # Leaks
/// Those of [`VectorMechanism`].
///
/// # Shapes
/// `embedding`: `[dimension]` f32, any bits; `out`: `[m]`.
///
/// # Errors
/// [`VectorError::Length`] for another length of the embedding; [`VectorError::Laplace`] of `out`.
///
/// # Cost
/// That of [`VectorMechanism::release`] without the entropy.
///
/// # Source
/// That of [`VectorMechanism`].
pub fn draw_vector<R: Rng + ?Sized>(
    mechanism: &VectorMechanism<'_>,
    embedding: &[f32],
    rng: &mut R,
    out: &mut [i32],
) -> Result<(), VectorError> {
    mechanism.draw_steps(embedding, rng, out)
}

/// Adds noise to `point`; `out` counts steps of the grid.
///
/// # Guarantee
/// That of [`laplace`](crate::laplace), if the words of `rng` are independent and uniform.
///
/// # Leaks
/// Those of [`laplace`](crate::laplace).
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
/// About 2 words a coordinate and 2.5 KiB of stack; discrete noise 3 words, 1400 operations a coordinate and
/// 6 KiB.
///
/// # Source
/// That of [`laplace`](crate::laplace).
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

/// [`perturb`] for coordinates that are integers already, with
/// [`fraction_bits`](Laplace::fraction_bits) bits below 1.
///
/// # Shapes
/// `point`: `[dimension]`; coordinates are clamped to ±2^`bound_exponent`. `out`: `[dimension]`.
///
/// # Errors
/// Those of [`perturb`].
///
/// # Cost
/// That of [`perturb`].
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
