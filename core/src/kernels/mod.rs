//! The loops over many candidates or coordinates, for the vector units that processors have.
//!
//! Each loop exists once as portable code, which is the reference, and again for processors with an
//! instruction that compilers do not find. A [`Backend`] is one set of loops. All backends give the
//! same bits; only their speed differs. No address, branch or number of steps depends on private
//! data, except in `lookup` and `runs`, which read a text: see
//! [`features`](crate::features#leaks).
//!
//! | backend | processors | looks up depths by |
//! | --- | --- | --- |
//! | `avx512` | x86-64 with the AVX-512 extensions listed in `x86`, and GFNI | `vpermi2b`, 64 at a time |
//! | `avx2` | x86-64 with AVX2 | `vpshufb`, 32 at a time |
//! | `neon` | aarch64 | `tbl`, 16 at a time |
//! | `portable` | all | a table, one at a time |
//!
//! On x86-64 the ChaCha12 of a release is a kernel: `keystream`, whose reference is the crate
//! `chacha20`. On a Cortex-M4 the inner loops of `portable` process two products or four bytes at a
//! time.
//!
//! [`Backend::best`] detects the processor on x86-64, even without `std`; other targets have one
//! choice. A program built with `--cfg undertone_backend="portable"` has the portable backend only.

// Unsafe code is allowed here for three things: calls of functions that need an instruction set,
// after its detection; instructions without an intrinsic, or whose intrinsic LLVM replaces
// (`avx512` and `dsp`); and wiping vector registers by name (`registers`). The build script sets
// `undertone_kernels` to the kernels of the target.
#![allow(unsafe_code)]

/// Portable kernels, compiled for the instructions of another backend: the named ones, and those
/// that AVX2 and NEON share.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
macro_rules! as_portable {
    (@each $features:literal,
        $(fn $name:ident($($argument:ident: $of:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[target_feature(enable = $features)]
            pub(super) fn $name($($argument: $of),*) $(-> $result)? {
                portable::$name($($argument),*)
            }
        )*
    };
    ($features:literal, $($more:tt)*) => {
        as_portable! { @each $features,
            fn add_products(
                matrix: &[I16],
                width: usize,
                start: usize,
                sentences: &[&[i16]],
                sums: &mut [i64],
                room: usize
            );
            fn centre(coordinates: &mut [i16], centre: &[I16]) -> u64;
            fn add_bias(products: &mut [i64], bias: &[I32], norm: i64);
            fn add_values(values: &mut [i32], outputs: &[i64], length: &Length, known: i32);
            fn toss(tossing: &mut Tossing<'_>, words: &[[u8; 8]], last_of_level: &[u32]);
            fn round_products(factor: f64, gaussians: &[f64], products: &mut [i64]);
            $($more)*
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
#[cfg(undertone_kernels = "x86")]
mod avx2;
#[cfg(undertone_kernels = "x86")]
mod avx512;
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

/// Whether a lane's sums of products with the rows of a matrix fit 32 bits, for any coordinates. A
/// lane adds at most every sixteenth pair of the weights in a [`SPAN`] of a row. The result is
/// public, because it depends on the pack only.
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
    /// Whether the boundaries of each direction ascend. Only AVX-512 uses this.
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

/// A set of kernels whose instructions this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend(Kind);

/// Exists only for instructions that were detected.
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
            // SAFETY: this kind exists only after the detection of its instructions.
            Kind::Avx512 => unsafe { avx512::$kernel($($argument),*) },
            #[cfg(undertone_kernels = "x86")]
            // SAFETY: as above.
            Kind::Avx2 => unsafe { avx2::$kernel($($argument),*) },
            #[cfg(undertone_kernels = "aarch64")]
            // SAFETY: this kind is compiled in only for targets that have the instructions.
            Kind::Neon => unsafe { aarch64::$kernel($($argument),*) },
            Kind::Portable => portable::$kernel($($argument),*),
        }
    };
}

impl Backend {
    /// The backend that every processor has.
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

    /// The fastest backend of this processor, which is the default everywhere.
    pub fn best() -> Self {
        Self::available().next().unwrap_or(Self::PORTABLE)
    }

    /// The backend with this name, if the processor has it.
    ///
    /// # Errors
    /// [`BackendUnavailable`] if the processor lacks its instructions, or if no backend has this
    /// name.
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

/// Wipes the vector registers, and the masks of AVX-512: kernels, the generator and copies of
/// memory leave private data there, and a program that resolves symbols lazily saves it on its
/// stack at the next call. Some 30 instructions.
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

/// Methods that call the kernel of the same name.
macro_rules! kernels {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $of:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        impl Backend {
            $(
                $(#[$doc])*
                #[inline]
                pub(crate) fn $name(self, $($argument: $of),*) $(-> $result)? {
                    run!(self, $name($($argument),*))
                }
            )*
        }
    };
}

kernels! {
    /// Adds the weights of the first `most` features that the table contains to `sums`,
    /// `[candidates]`, and returns the number of features added. `times` counts the occurrences of
    /// each feature, [`MOST_TOGETHER`](lookup::MOST_TOGETHER) at most in all; without it each
    /// occurs once.
    fn add_features(
        table: &Table<'_>,
        hashes: &[u32],
        times: Option<&[u8]>,
        most: u32,
        sums: &mut [i32],
    ) -> u32;

    /// Writes the hashes of the runs of `least` to `most` characters that end at the places of
    /// `ends`, in any order, and returns their number. The rest of `hashes` may be overwritten.
    fn hash_runs(ends: &Ends, least: u8, most: u8, hashes: &mut [u32; RUNS]) -> usize;

    /// The number of boundaries that are `input` or less.
    fn reached(boundaries: &[I32; BOUNDARIES], input: i32) -> u8;

    /// The number of levels that equal `level`.
    fn count_equal(levels: &[u8], level: u8) -> u32;

    /// Subtracts the centre from coordinates, within ±32767, and returns the square of their
    /// length.
    fn centre(coordinates: &mut [i16], centre: &[I16]) -> u64;

    /// Multiplies products by 256 and adds the biases of candidates times `norm`.
    fn add_bias(products: &mut [i64], bias: &[I32], norm: i64);

    /// Adds each z / norm, within ±2²², to a candidate's value for the whole text. `known` is all
    /// ones, or 0 to add nothing.
    fn add_values(values: &mut [i32], outputs: &[i64], length: &Length, known: i32);

    /// Adds a word's vector, times its weight, to sums within ±2^62.
    fn add_weighted(weight: u16, vector: &[i8], sums: &mut [i64]);

    /// Adds to each sum the number of thresholds, each times `norm`, that the output reaches.
    fn add_scores(sums: &mut [u16], outputs: &[i64], thresholds: &[I32], norm: i64);

    /// Tosses a coin with each word. `last_of_level` has a bit for each coin, the highest bit of a
    /// word first, which is set for the last coin of a level.
    fn toss(tossing: &mut Tossing<'_>, words: &[[u8; 8]], last_of_level: &[u32]);

    /// Makes Gaussians of random words: [`box_muller`](crate::laplace::gaussian::box_muller).
    fn box_muller(words: &[u64], radii: &mut [f64], gaussians: &mut [f64]);

    /// The nearest integers to the products, for the noise of a vector.
    fn round_products(factor: f64, gaussians: &[f64], products: &mut [i64]);
}

impl Backend {
    /// The nearest integers to `coordinates · scale`, ties to even, clamped to ±32767; 0 for
    /// coordinates that are not finite. `scale` is a power of two.
    #[inline]
    pub(crate) fn to_fixed(self, coordinates: &[f32], scale: f32, fixed: &mut [i16]) {
        let length = cmp::min(coordinates.len(), fixed.len());
        let coordinates = part(coordinates, ..length);
        run!(self, to_fixed(coordinates, scale, fixed));
    }

    /// Adds the products of up to [`GROUP`] sentences with the rows of a matrix of `width` columns,
    /// to `sums`, `[rows][room]`. The first coordinate of a sentence belongs to column `start`.
    /// Sentences have the same number of coordinates, up to [`WIDTH`]; those beyond the rows are
    /// ignored; none is −32768. `fits`: the result of [`fits`] for the matrix; if true, `start` is
    /// a multiple of [`SPAN`].
    #[inline]
    #[expect(
        clippy::too_many_arguments,
        reason = "a matrix, vectors, and the place of their products"
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
        let start = cmp::min(start, width);
        let within = cmp::min(WIDTH, width - start);
        let mut group = [Default::default(); GROUP];
        for (x, sentence) in group.iter_mut().zip(sentences) {
            *x = sentence.get(..within).unwrap_or(sentence);
        }
        let group = part(&group, ..sentences.len());
        // Kernels replace missing rows by others.
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

    /// Adds sentences to a document's state, which has 256 counts for each direction. The code of a
    /// sentence on a direction is the number of boundaries that its sum, shifted right, reaches.
    /// The counts of 0 to that code rise by 1, up to 255.
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
            return unsafe { avx512::count_ascending(sums, shift, boundaries.all, rows) };
        }
        run!(self, count(sums, shift, boundaries.all, rows));
    }

    /// Lowers each of up to [`BLOCK`] depths to min(h, k − h), with k the number of sentences and h
    /// the number of sentences at or above the candidate's code.
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

    /// The products of sentences with the rows of a matrix, `[sentences][room]`. Sentences and rows
    /// have the same number of coordinates, up to [`WIDTH`]; no coordinate is −32768.
    #[inline]
    pub(crate) fn products(
        self,
        matrix: &[i8],
        sentences: &[&[i16]],
        products: &mut [i64],
        room: usize,
    ) {
        for (x, products) in sentences.iter().zip(products.chunks_mut(chunk_size(room))) {
            let x = part(x, ..cmp::min(x.len(), WIDTH));
            let rows = cmp::min(products.len(), matrix.len() / chunk_size(x.len()));
            let products = part_mut(products, ..rows);
            run!(self, products(matrix, x, products));
        }
    }

    /// The batch with this number of the ChaCha12 stream under this key, with a 64-bit block
    /// counter.
    #[cfg(undertone_kernels = "x86")]
    pub(crate) fn fill_batch(self, key: &[u32; 8], number: u64, out: &mut [u32; BATCH]) {
        match self.0 {
            // SAFETY: as in `run`.
            Kind::Avx512 => unsafe { keystream::avx512(key, number, out) },
            // SAFETY: as in `run`.
            Kind::Avx2 => unsafe { keystream::avx2(key, number, out) },
            Kind::Portable => keystream::portable(key, number, out),
        }
    }

    /// Converts coordinates to fixed point and adds them to `sums`.
    #[inline]
    pub(crate) fn add_fixed(self, fixed: FixedPoint, coordinates: &[f32], sums: &mut [i64]) {
        let both = cmp::min(coordinates.len(), sums.len());
        let coordinates = part(coordinates, ..both);
        run!(self, add_fixed(fixed, coordinates, sums));
    }
}
