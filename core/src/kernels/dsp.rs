//! Inner loops for microcontrollers with the DSP instructions of Armv7E-M, such as a Cortex-M4: two
//! products or four bytes at a time. They are not inlined, because memory for code is scarce there.

use core::arch::asm;

use zerocopy::little_endian::{I16, I32};
use zerocopy::transmute;

use crate::integers::lane_min;
use crate::pack::format::BOUNDARIES;

/// A one in every byte.
const ONES: u32 = 0x0101_0101;

#[inline(never)]
pub(super) fn dot(weights: &[I16], x: &[i16]) -> i64 {
    let (chunks, rest) = weights.as_chunks::<8>();
    let (x_chunks, x_rest) = x.as_chunks::<8>();
    let products = rest.iter().zip(x_rest);
    let mut sum = products
        .map(|(w, x)| i64::from(w.get()) * i64::from(*x))
        .sum();
    for (w, x) in chunks.iter().zip(x_chunks) {
        let [a, b, c, d]: [u32; 4] = transmute!(*w);
        let [e, f, g, h]: [u32; 4] = transmute!(*x);
        sum = add_two_products(sum, a, e);
        sum = add_two_products(sum, b, f);
        sum = add_two_products(sum, c, g);
        sum = add_two_products(sum, d, h);
    }
    sum
}

#[inline(always)]
fn add_two_products(sum: i64, a: u32, b: u32) -> i64 {
    let (mut low, mut high) = (sum as u32, (sum >> 32) as u32);
    // SAFETY: the processor has the instruction, which reads and writes these registers only.
    unsafe {
        asm!(
            "smlald {low}, {high}, {a}, {b}",
            low = inout(reg) low,
            high = inout(reg) high,
            a = in(reg) a,
            b = in(reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    (u64::from(high) << 32 | u64::from(low)) as i64
}

#[inline(never)]
pub(super) fn reached(boundaries: &[I32; BOUNDARIES], input: i32) -> u8 {
    const { assert!(BOUNDARIES % 3 == 0) };
    let mut reached = 0;
    for [a, b, c] in boundaries.as_chunks().0 {
        reached += i32::from(a.get() <= input);
        reached += i32::from(b.get() <= input);
        reached += i32::from(c.get() <= input);
    }
    reached as u8
}

/// Raises the counts of 0 to `code` by 1, up to 255.
#[inline(never)]
pub(super) fn count_up_to(counts: &mut [u8; 256], code: u8) {
    let code = u32::from(code) * ONES;
    let mut here = u32::from_le_bytes([0, 1, 2, 3]);
    for counts in counts.as_chunks_mut::<4>().0 {
        let mut raised = u32::from_le_bytes(*counts);
        // SAFETY: the processor has the instructions, which read and write these registers and
        // flags only.
        unsafe {
            asm!(
                "usub8 {at}, {code}, {here}",
                "sel {at}, {one}, {zero}",
                "uqadd8 {raised}, {raised}, {at}",
                at = out(reg) _,
                code = in(reg) code,
                here = in(reg) here,
                one = in(reg) ONES,
                zero = in(reg) 0,
                raised = inout(reg) raised,
                options(pure, nomem, nostack)
            );
        }
        *counts = raised.to_le_bytes();
        here = here.wrapping_add(4 * ONES);
    }
}

/// Lowers depths to the entries of their codes.
#[inline(never)]
pub(super) fn lower_to(depths: &mut [u8], codes: &[u8], table: &[u8; 256]) {
    let (fours, rest) = depths.as_chunks_mut();
    let (codes, codes_rest) = codes.as_chunks();
    for (depths, codes) in fours.iter_mut().zip(codes) {
        lower_four(depths, codes, table);
    }
    for (depth, code) in rest.iter_mut().zip(codes_rest) {
        *depth = lane_min(*depth, table.get(usize::from(*code)).copied().unwrap_or(0));
    }
}

#[inline(always)]
fn lower_four(depths: &mut [u8; 4], codes: &[u8; 4], table: &[u8; 256]) {
    // The codes of candidates are public.
    let found = codes.map(|code| table.get(usize::from(code)).copied().unwrap_or(0));
    let least = smaller(u32::from_le_bytes(*depths), u32::from_le_bytes(found));
    *depths = least.to_le_bytes();
}

/// min(h, k − h) for each code.
#[inline(never)]
pub(super) fn table(at_least: &[u8; 256], sentences: u8) -> [u8; 256] {
    let sentences = u32::from(sentences) * ONES;
    let mut table = [0; 256];
    let entries = table.as_chunks_mut::<4>().0.iter_mut();
    for (depths, above) in entries.zip(at_least.as_chunks::<4>().0) {
        let above = u32::from_le_bytes(*above);
        let mut others = sentences;
        // SAFETY: the processor has the instruction, which reads and writes these registers only.
        unsafe {
            asm!(
                "uqsub8 {others}, {others}, {above}",
                others = inout(reg) others,
                above = in(reg) above,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        *depths = smaller(above, others).to_le_bytes();
    }
    table
}

/// The smaller of each two bytes.
#[inline(always)]
fn smaller(a: u32, b: u32) -> u32 {
    let mut least = a;
    // SAFETY: the processor has the instructions, which read and write these registers and flags
    // only.
    unsafe {
        asm!(
            "usub8 {more}, {least}, {b}",
            "sel {least}, {b}, {least}",
            more = out(reg) _,
            least = inout(reg) least,
            b = in(reg) b,
            options(pure, nomem, nostack)
        );
    }
    least
}

/// The number of levels that equal `level`.
#[inline(never)]
pub(super) fn count_equal(levels: &[u8], level: u8) -> u32 {
    let (chunks, rest) = levels.as_chunks::<16>();
    let mut total: u32 = rest.iter().map(|other| u32::from(*other == level)).sum();
    let level = u32::from(level) * ONES;
    // The most that a byte can count.
    for levels in chunks.chunks(255 / 4) {
        let mut counts = 0;
        for four in levels {
            let [a, b, c, d]: [u32; 4] = transmute!(*four);
            counts += same(a ^ level) + same(b ^ level);
            counts += same(c ^ level) + same(d ^ level);
        }
        total += counts.to_le_bytes().map(u32::from).iter().sum::<u32>();
    }
    total
}

/// A one in every byte that is 0, else 0.
#[inline(always)]
fn same(difference: u32) -> u32 {
    let mut same = difference;
    // SAFETY: as above.
    unsafe {
        asm!(
            "usub8 {same}, {same}, {one}",
            "sel {same}, {zero}, {one}",
            same = inout(reg) same,
            one = in(reg) ONES,
            zero = in(reg) 0,
            options(pure, nomem, nostack)
        );
    }
    same
}
