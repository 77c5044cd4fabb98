//! The loops over many candidates or coordinates, for the vector units that processors have.
//!
//! Each loop exists once as portable code, which is the reference, and again where a processor has
//! an instruction that compilers do not find. A [`Backend`] is one set of loops. All backends give
//! the same bits; only their speed differs. No address, branch or number of steps depends on
//! private data, but in `lookup` and `runs`, which read a text: see
//! [`features`](crate::features#leaks).
//!
//! | backend | for | counts candidates by |
//! | --- | --- | --- |
//! | `avx512` | x86-64 with AVX-512 BW, DQ, VBMI, VBMI2, VNNI, BITALG and VPOPCNTDQ, and GFNI | `vpermi2b`, 64 at a time |
//! | `avx2` | x86-64 with AVX2 | `vpshufb`, 32 at a time |
//! | `neon` | aarch64 | `tbl`, 16 at a time |
//! | `portable` | every processor | a look-up of a public code |
//!
//! On x86-64 the ChaCha12 of a release is a kernel, too: `keystream` makes sixteen blocks at a
//! time, and its reference is the crate `chacha20`, which all other processors use.
//!
//! On a Cortex-M4 the inner loops of `portable` take two products, or four bytes, at a time.
//!
//! [`Backend::best`] asks the processor on x86-64, also without `std`; on other targets the choice
//! is fixed. A program that is built with `--cfg undertone_backend="portable"` has the portable
//! backend only.

// Unsafe code is allowed here, for three things: calls of functions that need an instruction set,
// after the processor has said that it has it; in `x86` and `dsp`, instructions that LLVM does not
// make of intrinsics, or that have none; and in `registers`, the wiping of vector registers, by
// their names. (The build script names the set of kernels that a target has.)
#![allow(unsafe_code)]

/// Kernels that are the portable ones, compiled for the instructions of another backend: those
/// named, and those that AVX2 and NEON have alike.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
macro_rules! as_portable {
    (@each $features:literal, $scope:vis, $(fn $name:ident($($argument:ident: $of:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[target_feature(enable = $features)]
            $scope fn $name($($argument: $of),*) $(-> $result)? {
                portable::$name($($argument),*)
            }
        )*
    };
    ($features:literal, $scope:vis, $($own:tt)*) => {
        as_portable! { @each $features, $scope,
            fn centre(coordinates: &mut [i16], centre: &[I16]) -> u64;
            fn add_bias(products: &mut [i64], bias: &[I32], norm: i64);
            fn add_values(values: &mut [i32], outputs: &[i64], length: &Length, known: i32);
            fn toss(tossing: &mut Tossing<'_>, words: &[[u8; 8]], last_of_level: &[u32]);
            fn round_products(factor: f64, gaussians: &[f64], products: &mut [i64]);
            $($own)*
        }
    };
}

mod inputs;
#[cfg(undertone_kernels = "x86")]
mod keystream;
mod limits;
pub(crate) mod lookup;
mod portable;
mod registers;
pub(crate) mod runs;
#[cfg(test)]
mod tests;

#[cfg(undertone_kernels = "aarch64")]
mod aarch64;
#[cfg(undertone_kernels = "dsp")]
mod dsp;
#[cfg(undertone_kernels = "x86")]
mod x86;

use core::{cmp, fmt};

use zerocopy::little_endian::{I16, I32};

use crate::checked::{chunk_size, part, part_mut};
use crate::laplace::fixed::FixedPoint;
use crate::pack::format::BOUNDARIES;

use lookup::Table;
use runs::{Ends, RUNS};

#[cfg(undertone_kernels = "x86")]
pub(crate) use inputs::ROOM;
pub(crate) use inputs::{Length, Sums, Tossing};
#[cfg(undertone_kernels = "x86")]
pub(crate) use keystream::BATCH;
pub(crate) use limits::{BLOCK, GROUP, SPAN, VECTORS, WIDTH};

/// Whether sums of products with the rows of a matrix fit 32 bits, whatever the coordinates: in
/// each row and each [`SPAN`] of it, those of every sixteenth pair of weights. That is what a lane
/// adds, or less. Public: it depends on the pack.
pub(crate) fn fits(matrix: &[I16], width: usize) -> bool {
    if !VECTORS {
        return false;
    }
    const MOST: u32 = i32::MAX as u32 / i16::MAX as u32;
    let mut spans = matrix
        .chunks(chunk_size(width))
        .flat_map(|row| row.chunks(SPAN));
    spans.all(|span| {
        let mut sums = [0u32; 16];
        for sixteen in span.chunks(16) {
            for (sum, weight) in sums.iter_mut().zip(sixteen) {
                *sum += u32::from(weight.get().unsigned_abs());
            }
        }
        sums.as_chunks().0.iter().all(|[a, b]| a + b <= MOST)
    })
}

/// Bucket boundaries, [`BOUNDARIES`] for each direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Boundaries<'a> {
    pub(crate) all: &'a [[I32; BOUNDARIES]],
    /// Whether those of each direction ascend. Only AVX-512 wants to know.
    #[cfg(undertone_kernels = "x86")]
    ascend: bool,
}

impl<'a> Boundaries<'a> {
    pub(crate) fn new(boundaries: &'a [I32]) -> Self {
        let all = boundaries.as_chunks().0;
        Self {
            all,
            #[cfg(undertone_kernels = "x86")]
            ascend: all.iter().all(|each: &[I32; BOUNDARIES]| {
                let neighbours = each.iter().zip(each.iter().skip(1));
                neighbours.fold(true, |ascend, (a, b)| ascend & (a.get() <= b.get()))
            }),
        }
    }
}

/// A set of kernels that this processor has the instructions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend(Kind);

/// Made only if the processor has what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg(undertone_kernels = "x86")]
    Avx512,
    #[cfg(undertone_kernels = "x86")]
    Avx2,
    #[cfg(undertone_kernels = "aarch64")]
    Neon,
    Portable,
}

/// Calls a kernel of the backend.
macro_rules! run {
    ($backend:expr, $kernel:ident($($argument:expr),*)) => {
        match $backend.0 {
            #[cfg(undertone_kernels = "x86")]
            // SAFETY: this kind is made only after the processor said that it has the instructions.
            Kind::Avx512 => unsafe { x86::avx512::$kernel($($argument),*) },
            #[cfg(undertone_kernels = "x86")]
            // SAFETY: as above.
            Kind::Avx2 => unsafe { x86::avx2::$kernel($($argument),*) },
            #[cfg(undertone_kernels = "aarch64")]
            // SAFETY: this kind is compiled in only for targets that have the instructions.
            Kind::Neon => unsafe { aarch64::$kernel($($argument),*) },
            Kind::Portable => portable::$kernel($($argument),*),
        }
    };
}

impl Backend {
    /// The plain one, which every processor has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// The backends of this processor, the best first.
    pub fn available() -> impl Iterator<Item = Self> {
        let kinds = [
            #[cfg(undertone_kernels = "x86")]
            x86::has_avx512().then_some(Kind::Avx512),
            #[cfg(undertone_kernels = "x86")]
            x86::has_avx2().then_some(Kind::Avx2),
            #[cfg(undertone_kernels = "aarch64")]
            Some(Kind::Neon),
            Some(Kind::Portable),
        ];
        kinds.into_iter().flatten().map(Self)
    }

    /// The fastest backend of this processor: what everything uses unless told otherwise.
    pub fn best() -> Self {
        Self::available().next().unwrap_or(Self::PORTABLE)
    }

    /// The backend with this name, if the processor has it.
    ///
    /// # Errors
    /// [`BackendUnavailable`] if the processor lacks it, or if none has this name. Never another
    /// one instead.
    pub fn named(name: &str) -> Result<Self, BackendUnavailable> {
        Self::available()
            .find(|backend| backend.name() == name)
            .ok_or(BackendUnavailable)
    }

    /// `avx512`, `avx2`, `neon` or `portable`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(undertone_kernels = "x86")]
            Kind::Avx512 => "avx512",
            #[cfg(undertone_kernels = "x86")]
            Kind::Avx2 => "avx2",
            #[cfg(undertone_kernels = "aarch64")]
            Kind::Neon => "neon",
            Kind::Portable => "portable",
        }
    }
}

/// Wipes what the kernels, the generator and copies of memory left in vector registers, and in the
/// masks of AVX-512. A program that resolves symbols lazily saves them on its stack at the next
/// call.
///
/// # Cost
/// Some 30 instructions.
pub fn wipe_registers() {
    registers::wipe();
}

/// This processor, or this build, has no backend of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendUnavailable;

impl fmt::Display for BackendUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this processor has no such backend; it has")?;
        for backend in Backend::available() {
            write!(f, " {}", backend.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for BackendUnavailable {}

impl Backend {
    /// The nearest integers to `coordinates · scale`, ties to even, clamped to ±32767; 0 for what
    /// is not finite. `scale` is a power of two.
    #[inline]
    pub(crate) fn to_fixed(self, coordinates: &[f32], scale: f32, fixed: &mut [i16]) {
        let length = cmp::min(coordinates.len(), fixed.len());
        let coordinates = part(coordinates, ..length);
        run!(self, to_fixed(coordinates, scale, fixed));
    }

    /// Adds the products of up to [`WIDTH`] coordinates of each of up to [`GROUP`] sentences, the
    /// one at `start` and those after it, with each row of a matrix whose rows have `width`
    /// entries. All sentences have the same number of coordinates; those beyond the rows are
    /// ignored; none is −32768. `sums`: for each row `room` of them, one for each sentence. `fits`:
    /// that of the matrix; then `start` is a multiple of [`SPAN`].
    #[inline]
    #[expect(
        clippy::too_many_arguments,
        reason = "a matrix, a vector and where they meet"
    )]
    pub(crate) fn add_products(
        self,
        matrix: &[I16],
        width: usize,
        fits: bool,
        start: usize,
        sentences: &[&[i16]],
        sums: &mut [i64],
        room: usize,
    ) {
        let within = cmp::min(WIDTH, width.saturating_sub(start));
        let mut group = [Default::default(); GROUP];
        for (x, sentence) in group.iter_mut().zip(sentences) {
            *x = sentence.get(..within).unwrap_or(sentence);
        }
        let group = part(&group, ..sentences.len());
        // Where rows are missing kernels add those of others.
        let most = matrix.len() / chunk_size(width) * room;
        let there = cmp::min(most, sums.len());
        let sums = part_mut(sums, ..there);
        if !(fits && VECTORS) {
            return run!(self, add_products(matrix, width, start, group, sums, room));
        }
        let length = group.first().map_or(0, |x| x.len());
        for passed in (0..length).step_by(SPAN) {
            let mut span = [Default::default(); GROUP];
            for (to, from) in span.iter_mut().zip(group) {
                *to = part(from, passed..cmp::min(length, passed + SPAN));
            }
            let span = part(&span, ..group.len());
            let start = start + passed;
            run!(
                self,
                add_short_products(matrix, width, start, span, sums, room)
            );
        }
    }

    /// Adds the weights of the first `most` features that a pack knows, given their hashes and how
    /// often each occurs (`None`: once), to `[candidates]` i32 in bytes, and returns how many there
    /// were. They occur [`MOST_TOGETHER`](lookup::MOST_TOGETHER) times at most.
    pub(crate) fn add_features(
        self,
        table: &Table<'_>,
        hashes: &[u32],
        times: Option<&[u8]>,
        most: u32,
        sums: &mut [i32],
    ) -> u32 {
        run!(self, add_features(table, hashes, times, most, sums))
    }

    /// The hashes of the runs of `least` to `most` characters that end at the places of `ends`, in
    /// any order, and how many there are; what is behind them means nothing.
    #[inline]
    pub(crate) fn hash_runs(
        self,
        ends: &Ends,
        least: u8,
        most: u8,
        hashes: &mut [u32; RUNS],
    ) -> usize {
        run!(self, hash_runs(ends, least, most, hashes))
    }

    /// How many boundaries are `input` or less.
    #[inline]
    pub(crate) fn reached(self, boundaries: &[I32; BOUNDARIES], input: i32) -> u8 {
        run!(self, reached(boundaries, input))
    }

    /// Adds sentences to a document's state, of a row of 256 counts for each direction. A
    /// sentence's code on a direction is the number of boundaries that its sum, once shifted right,
    /// reaches; the counts of 0 to that code rise by 1, up to 255.
    #[inline]
    pub(crate) fn count(
        self,
        sums: &Sums<'_>,
        shift: u32,
        boundaries: &Boundaries<'_>,
        rows: &mut [[u8; 256]],
    ) {
        #[cfg(undertone_kernels = "x86")]
        if let (Kind::Avx512, true) = (self.0, boundaries.ascend) {
            // SAFETY: as in `run`.
            return unsafe { x86::avx512::count_ascending(sums, shift, boundaries.all, rows) };
        }
        run!(self, count(sums, shift, boundaries.all, rows));
    }

    /// Lowers each of up to [`BLOCK`] depths to min(h, k − h), with k the number of sentences and h
    /// how many of them are at or above the candidate's code.
    #[inline]
    pub(crate) fn lower(
        self,
        depths: &mut [u8],
        codes: &[u8],
        at_least: &[u8; 256],
        sentences: u8,
    ) {
        let both = cmp::min(depths.len(), codes.len());
        let depths = part_mut(depths, ..both);
        let codes = part(codes, ..both);
        run!(self, lower(depths, codes, at_least, sentences));
    }

    /// How many of the levels are this one.
    #[inline]
    pub(crate) fn count_equal(self, levels: &[u8], level: u8) -> u32 {
        run!(self, count_equal(levels, level))
    }

    /// The products of up to [`WIDTH`] coordinates of each sentence with each row of a matrix of
    /// rows as long. No coordinate is −32768. All sentences have the same number of them.
    /// `products`: for each sentence `room` of them, one for each row.
    #[inline]
    pub(crate) fn products(
        self,
        matrix: &[i8],
        sentences: &[&[i16]],
        products: &mut [i64],
        room: usize,
    ) {
        #[cfg(undertone_kernels = "x86")]
        if self.0 == Kind::Avx512 {
            // SAFETY: as in `run`.
            return unsafe { x86::avx512::products_together(matrix, sentences, products, room) };
        }
        for (x, products) in sentences.iter().zip(products.chunks_mut(chunk_size(room))) {
            let x = part(x, ..cmp::min(x.len(), WIDTH));
            let rows = cmp::min(products.len(), matrix.len() / chunk_size(x.len()));
            let products = part_mut(products, ..rows);
            run!(self, products(matrix, x, products));
        }
    }

    /// Takes the centre from coordinates, within ±32767, and returns the square of their length.
    #[inline]
    pub(crate) fn centre(self, coordinates: &mut [i16], centre: &[I16]) -> u64 {
        run!(self, centre(coordinates, centre))
    }

    /// Adds the biases of candidates, times `norm`, to 256 times their products.
    #[inline]
    pub(crate) fn add_bias(self, products: &mut [i64], bias: &[I32], norm: i64) {
        run!(self, add_bias(products, bias, norm));
    }

    /// Adds each z / norm, within ±2²², to a candidate's value for the whole text, if `known` is
    /// all ones and not 0.
    #[inline]
    pub(crate) fn add_values(
        self,
        values: &mut [i32],
        outputs: &[i64],
        length: &Length,
        known: i32,
    ) {
        run!(self, add_values(values, outputs, length, known));
    }

    /// Adds a word's vector, times its weight, to as many integers. None is beyond ±2^62.
    #[inline]
    pub(crate) fn add_weighted(self, weight: u16, vector: &[i8], sums: &mut [i64]) {
        run!(self, add_weighted(weight, vector, sums));
    }

    /// Adds to each sum how many of the thresholds, each times `norm`, the output reaches.
    #[inline]
    pub(crate) fn add_scores(
        self,
        sums: &mut [u16],
        outputs: &[i64],
        thresholds: &[I32],
        norm: i64,
    ) {
        run!(self, add_scores(sums, outputs, thresholds, norm));
    }

    /// The bytes of ChaCha12 under this key, of the batch with this number. (The counter of blocks
    /// has 64 bits.)
    #[cfg(undertone_kernels = "x86")]
    pub(crate) fn fill_batch(self, key: &[u32; 8], number: u64, out: &mut [u8; keystream::BATCH]) {
        match self.0 {
            // SAFETY: as in `run`.
            Kind::Avx512 => unsafe { keystream::avx512(key, number, out) },
            // SAFETY: as in `run`.
            Kind::Avx2 => unsafe { keystream::avx2(key, number, out) },
            Kind::Portable => keystream::portable(key, number, out),
        }
    }

    /// Tosses a coin with each word. `last_of_level`: a bit for each coin, the highest of a word
    /// first, set where a level ends.
    #[inline]
    pub(crate) fn toss(self, tossing: &mut Tossing<'_>, words: &[[u8; 8]], last_of_level: &[u32]) {
        run!(self, toss(tossing, words, last_of_level));
    }

    /// Random words to Gaussians, as [`gaussian::box_muller`](crate::laplace::gaussian::box_muller)
    /// does it.
    #[inline]
    pub(crate) fn box_muller(self, words: &[u64], radii: &mut [f64], gaussians: &mut [f64]) {
        run!(self, box_muller(words, radii, gaussians));
    }

    /// The nearest integers to the products, for the noise of a vector.
    #[inline]
    pub(crate) fn round_products(self, factor: f64, gaussians: &[f64], products: &mut [i64]) {
        run!(self, round_products(factor, gaussians, products));
    }

    /// Adds coordinates in fixed point to as many integers.
    #[inline]
    pub(crate) fn add_fixed(self, fixed: FixedPoint, coordinates: &[f32], sums: &mut [i64]) {
        let both = cmp::min(coordinates.len(), sums.len());
        let coordinates = part(coordinates, ..both);
        run!(self, add_fixed(fixed, coordinates, sums));
    }
}
