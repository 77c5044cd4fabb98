//! Sequences of calls of the C interface, with right and wrong arguments.
//!
//! The obligations of a caller hold: memory has the given length unless it is impossible, callbacks
//! return, and outputs overlap no handle. Everything else is arbitrary.

#![expect(unsafe_code, reason = "C calls are unsafe")]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use undertone_ffi::*;

use crate::assemble::{
    Depth, Scores, depth_section, lexicon_section, pack, projection_section, scores_section,
};

/// Slots for handles of any kind.
const SLOTS: usize = 6;
/// Enough for a document, and not a multiple of it.
pub(crate) const SLOT_BYTES: usize = UNDERTONE_DOCUMENT_HANDLE_SIZE + 48;
/// Arrays for inputs and outputs; the same number of bytes for single outputs.
const SCRATCH_BYTES: usize = 512;

#[repr(align(16))]
#[derive(Clone, Copy)]
pub(crate) struct Slot(pub(crate) [u8; SLOT_BYTES]);

#[repr(align(16))]
#[derive(Clone, Copy)]
struct Scratch([u8; 2 * SCRATCH_BYTES]);

/// A random caller.
struct World {
    slots: Box<[Slot; SLOTS]>,
    scratch: Box<Scratch>,
    packs: &'static [Vec<u8>; 3],
    context: Context,
}

/// The behaviour of the entropy function.
struct Context {
    bytes: [u8; 4],
    /// A handle that it uses against the rules.
    handle: *mut c_void,
    calls: Cell<u32>,
}

unsafe extern "C" fn entropy(context: *mut c_void, out: *mut u8, len: usize) -> i32 {
    // SAFETY: every call passes the context of a world that is still there.
    let context = unsafe { &*context.cast::<Context>() };
    context.calls.set(context.calls.get() + 1);
    for index in 0..len {
        // SAFETY: the library promises that `len` bytes are writable.
        unsafe { out.add(index).write(context.bytes[index % 3]) };
    }
    if context.bytes[3] & 1 == 1 {
        // SAFETY: a slot, with any content. The output is not used.
        unsafe {
            let _ = undertone_document_push_sentence(context.handle.cast(), ptr::null(), 0);
            let _ = undertone_bag_push(context.handle.cast(), ptr::null(), 0);
            undertone_document_reset(context.handle.cast());
            undertone_bag_reset(context.handle.cast());
        }
    }
    i32::from(context.bytes[3] & 6 == 6)
}

/// Depth, scores, a projection.
pub(crate) static PACKS: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let depth = Depth {
        exponent: 4,
        shift: 0,
        directions: vec![vec![3, -5], vec![1, 1]],
        boundaries: vec![(-127..128).collect(), (-127..128).collect()],
        codes: vec![vec![0, 90, 255], vec![128, 1, 7]],
    };
    let scores = Scores {
        exponent: 4,
        centre: vec![0, 1],
        weights: vec![vec![5, -5], vec![1, 0]],
        bias: vec![0, 9],
        thresholds: vec![-50, 0, 50],
        levels: 0,
        featured: false,
    };
    let words = [
        ("a".into(), 9000, vec![100, -100]),
        ("word".into(), 1, vec![-128, 127]),
    ];
    let lexicon = (*b"LEXI", lexicon_section(-8, &words));
    let rows = vec![vec![100, -100], vec![7, 7], vec![0, 1]];
    let packs = [
        vec![(*b"DPTH", depth_section(&depth)), lexicon.clone()],
        vec![lexicon, (*b"SCOR", scores_section(&scores))],
        vec![(*b"PROJ", projection_section(-6, 0, &rows))],
    ];
    packs.map(|sections| pack(2, "fuzz", &sections))
});

impl World {
    fn new() -> Self {
        Self {
            slots: Box::new([Slot([0; SLOT_BYTES]); SLOTS]),
            scratch: Box::new(Scratch([0; 2 * SCRATCH_BYTES])),
            packs: &PACKS,
            context: Context {
                bytes: [1; 4],
                handle: ptr::null_mut(),
                calls: Cell::new(0),
            },
        }
    }

    /// A slot, sometimes a byte after its start or null.
    fn slot<T>(&mut self, u: &mut Unstructured<'_>) -> Result<*mut T> {
        let number: u8 = u.arbitrary()?;
        let start = self.slots[usize::from(number & 7) % SLOTS].0.as_mut_ptr();
        Ok(match number >> 3 {
            0 => ptr::null_mut(),
            1 => start.wrapping_add(1).cast(),
            _ => start.cast(),
        })
    }

    /// Memory for a handle: a slot with its length, or an impossible one.
    fn room(&mut self, u: &mut Unstructured<'_>) -> Result<(*mut c_void, usize)> {
        let memory = self.slot(u)?;
        let len = match u.int_in_range(0..=9u8)? {
            0 => u.int_in_range(0..=SLOT_BYTES - 1)?,
            1 => usize::MAX - 15,
            _ => SLOT_BYTES - 1,
        };
        Ok((memory, len))
    }

    /// An array in the scratch memory, or a wrong one. Misaligned and overlapping ones are likely.
    fn array<T>(&mut self, u: &mut Unstructured<'_>) -> Result<(*mut T, usize)> {
        let offset = u.int_in_range(0..=SCRATCH_BYTES - 1)?;
        let offset = if u.ratio(7, 8)? { offset & !7 } else { offset };
        let most = (SCRATCH_BYTES - offset) / size_of::<T>();
        let start = self.scratch.0.as_mut_ptr().wrapping_add(offset).cast();
        Ok(match u.int_in_range(0..=15u8)? {
            0 => (ptr::null_mut(), u.int_in_range(0..=most)?),
            1 => (start, usize::MAX / size_of::<T>()),
            2 => (start, isize::MAX as usize / size_of::<T>() + 1),
            3..=7 => (start, most),
            _ => (start, u.int_in_range(0..=most)?),
        })
    }

    /// One value in the scratch memory, or a wrong address.
    fn one<T>(&mut self, u: &mut Unstructured<'_>) -> Result<*mut T> {
        // After the arrays, so that it seldom overlaps one.
        let offset = SCRATCH_BYTES + 16 * u.int_in_range(0..=15usize)?;
        Ok(match u.int_in_range(0..=15u8)? {
            0 => ptr::null_mut(),
            1 => self.scratch.0.as_mut_ptr().wrapping_add(offset + 1).cast(),
            2 => self.array(u)?.0,
            _ => self.scratch.0.as_mut_ptr().wrapping_add(offset).cast(),
        })
    }

    fn entropy(&mut self, u: &mut Unstructured<'_>) -> Result<(UndertoneEntropyFn, *mut c_void)> {
        let bytes = u.arbitrary()?;
        self.context.bytes = bytes;
        self.context.handle = self.slot(u)?;
        self.context.calls.set(0);
        let function: UndertoneEntropyFn = (bytes[3] >> 3 != 0).then_some(entropy);
        Ok((function, ptr::from_mut(&mut self.context).cast()))
    }

    /// Returns whether the scratch memory is unchanged, except for one value at `written`.
    fn unchanged(&self, before: &Scratch, written: *mut usize) -> bool {
        let start = self.scratch.0.as_ptr().addr();
        let own = written.addr().wrapping_sub(start);
        let pairs = self.scratch.0.iter().zip(&before.0).enumerate();
        let mut changed = pairs.filter(|(_, (now, then))| now != then);
        changed.all(|(index, _)| (own..own.saturating_add(8)).contains(&index))
    }
}

/// Makes calls until the data ends.
///
/// Checked: every status has a separate message; a call that fails writes no output, except the
/// length that a buffer needs; a successful release asks for entropy once, and one that is refused
/// for its arguments never does.
pub fn ffi_any_args(data: &[u8]) {
    let mut world = World::new();
    let mut u = Unstructured::new(data);
    while !u.is_empty() {
        if step(&mut world, &mut u).is_err() {
            break;
        }
    }
}

fn step(world: &mut World, u: &mut Unstructured<'_>) -> Result<()> {
    let before = *world.scratch;
    let mut written = ptr::null_mut();
    let mut drawn = None;
    // SAFETY: of all calls: handles are slots, which exist with any content and are written by the
    // library only; arrays are in the scratch memory or impossible; a pack's bytes live as long as
    // the world.
    let status = unsafe {
        match u.int_in_range(0..=35u8)? {
            0..=1 => {
                let which = u.int_in_range(0..=2usize)?;
                let (memory, len) = world.room(u)?;
                let (bytes, count) = if u.ratio(9, 10)? {
                    (world.packs[which].as_ptr(), world.packs[which].len())
                } else {
                    // Scratch memory is never a pack, because a pack's bytes would have to stay.
                    let (bytes, count) = world.array::<u8>(u)?;
                    (bytes.cast_const(), count)
                };
                undertone_pack_init(memory, len, bytes, count, world.one(u)?)
            }
            2..=3 => {
                let (memory, len) = world.room(u)?;
                undertone_document_init(memory, len, world.slot(u)?, world.one(u)?)
            }
            4 => {
                let (embedding, len) = world.array(u)?;
                undertone_document_push(world.slot(u)?, embedding, len)
            }
            5 => {
                let (text, len) = world.array(u)?;
                undertone_document_push_sentence(world.slot(u)?, text, len)
            }
            6 => {
                let (text, len) = world.array(u)?;
                undertone_document_push_text(world.slot(u)?, text, len, world.one(u)?)
            }
            7 => undertone_document_reset(world.slot(u)?),
            8..=9 => {
                let (memory, len) = world.room(u)?;
                let unit = *u.choose(&[1, 2, 3, 4, 0, i32::MAX])?;
                let epsilon = *u.choose(&[1, 1_000_000, 5_000_000, 0, u32::MAX])?;
                undertone_grant_init_unrecorded(memory, len, unit, epsilon, world.one(u)?)
            }
            10..=11 => {
                let (function, context) = world.entropy(u)?;
                let (out, capacity) = world.array(u)?;
                written = world.one(u)?;
                drawn = Some(());
                undertone_document_release(
                    world.slot(u)?,
                    world.slot(u)?,
                    u.int_in_range(-1..=3)?,
                    function,
                    context,
                    out,
                    capacity,
                    written,
                )
            }
            12..=13 => {
                let (memory, len) = world.room(u)?;
                undertone_vocabulary_init(memory, len, world.slot(u)?, world.one(u)?)
            }
            14 => {
                let (memory, len) = world.room(u)?;
                undertone_bag_init(memory, len, world.slot(u)?, world.one(u)?)
            }
            15 => {
                let (text, len) = world.array(u)?;
                undertone_bag_push(world.slot(u)?, text, len)
            }
            16 => {
                let (text, len) = world.array(u)?;
                undertone_bag_push_text(world.slot(u)?, text, len)
            }
            17 => undertone_bag_reset(world.slot(u)?),
            18 => {
                let (function, context) = world.entropy(u)?;
                let (out, capacity) = world.array(u)?;
                written = world.one(u)?;
                drawn = Some(());
                undertone_bag_release(
                    world.slot(u)?,
                    world.slot(u)?,
                    u.int_in_range(0..=20)?,
                    u.int_in_range(0..=4)?,
                    function,
                    context,
                    out,
                    capacity,
                    written,
                )
            }
            19 => {
                let (memory, len) = world.room(u)?;
                undertone_vector_mechanism_init(
                    memory,
                    len,
                    u.int_in_range(0..=4)?,
                    u.int_in_range(-90..=50)?,
                    u.int_in_range(2..=5)?,
                    *u.choose(&[1_000_000, 5_000_000, 1, 0])?,
                    world.one(u)?,
                )
            }
            20 => {
                let (memory, len) = world.room(u)?;
                let noise = u.int_in_range(2..=5)?;
                let epsilon = *u.choose(&[1_000_000, 5_000_000, 1])?;
                undertone_vector_mechanism_init_projected(
                    memory,
                    len,
                    world.slot(u)?,
                    noise,
                    epsilon,
                    world.one(u)?,
                )
            }
            21 => {
                let (function, context) = world.entropy(u)?;
                let (embedding, len) = world.array(u)?;
                let (out, capacity) = world.array(u)?;
                written = world.one(u)?;
                drawn = Some(());
                undertone_vector_mechanism_release(
                    world.slot(u)?,
                    world.slot(u)?,
                    embedding,
                    len,
                    function,
                    context,
                    out,
                    capacity,
                    written,
                )
            }
            22 => {
                let (bytes, len) = world.array(u)?;
                let (candidate, epsilon, rule) = (world.one(u)?, world.one(u)?, world.one(u)?);
                let (unit, order, id) = (world.one(u)?, world.one(u)?, world.one(u)?);
                undertone_release_read(bytes, len, candidate, epsilon, rule, unit, order, id)
            }
            23 => {
                let (bytes, len) = world.array(u)?;
                let (out, capacity) = world.array(u)?;
                written = world.one(u)?;
                undertone_bag_release_read_words(bytes, len, out, capacity, written)
            }
            24 => {
                let (bytes, len) = world.array(u)?;
                let (out, capacity) = world.array(u)?;
                written = world.one(u)?;
                undertone_vector_release_read_values(bytes, len, out, capacity, written)
            }
            25 => {
                let (text, len) = world.array(u)?;
                let (out, capacity) = world.array(u)?;
                written = world.one(u)?;
                undertone_pack_embed_sentence(world.slot(u)?, text, len, out, capacity, written)
            }
            26 => undertone_vocabulary_word(
                world.slot(u)?,
                u.int_in_range(0..=3)?,
                world.one(u)?,
                world.one(u)?,
            ),
            27 => {
                let (text, len) = world.array(u)?;
                let start = u.int_in_range(0..=SCRATCH_BYTES)?;
                undertone_sentence_next(text, len, start, world.one(u)?, world.one(u)?)
            }
            28 => {
                let (pack, description) = (world.slot(u)?, world.one(u)?);
                let status = undertone_pack_describe(pack, description);
                if status == UNDERTONE_STATUS_OK {
                    let found: UndertonePackDescription = *description;
                    let numbers = [
                        found.dimension,
                        found.candidate_count,
                        found.projected_dimension,
                        found.feature_count,
                    ];
                    assert!(numbers.iter().all(|number| *number <= 3));
                    assert!([0, 160].contains(&found.level_count));
                    assert!([2, u32::MAX].contains(&found.nothing_known));
                }
                status
            }
            29 => {
                let (text, text_len) = world.array(u)?;
                let (embedding, len) = world.array(u)?;
                undertone_document_push_encoded(world.slot(u)?, text, text_len, embedding, len)
            }
            30 => {
                let (function, context) = world.entropy(u)?;
                let (out, capacity) = world.array(u)?;
                written = world.one(u)?;
                drawn = Some(());
                undertone_document_release_whole_text(
                    world.slot(u)?,
                    world.slot(u)?,
                    function,
                    context,
                    out,
                    capacity,
                    written,
                )
            }
            31 => {
                let unit = u.int_in_range(0..=3)?;
                let epsilon = *u.choose(&[1, 1_000_000, 1_000_000_000, 0, u32::MAX])?;
                let document: *mut UndertoneDocument = world.slot(u)?;
                undertone_document_promise(document, unit, epsilon, world.one(u)?, world.one(u)?)
            }
            34 => {
                let (function, context) = world.entropy(u)?;
                let (out, capacity) = world.array(u)?;
                written = world.one(u)?;
                drawn = Some(());
                undertone_document_release_projective(
                    world.slot(u)?,
                    world.slot(u)?,
                    function,
                    context,
                    out,
                    capacity,
                    written,
                )
            }
            _ => {
                // Data from the caller.
                let bytes = u.bytes(u.len().min(64))?;
                let offset = usize::from(bytes.first().copied().unwrap_or(0));
                world.scratch.0[offset..offset + bytes.len()].copy_from_slice(bytes);
                return Ok(());
            }
        }
    };
    let calls = world.context.calls.get();
    match status {
        UNDERTONE_STATUS_OK => assert!(drawn.is_none() || calls == 1),
        UNDERTONE_STATUS_ENTROPY_FAILED => assert!(calls == 1),
        _ => assert!(drawn.is_none() || calls == 0, "status {status}"),
    }
    if status != UNDERTONE_STATUS_OK {
        let exception = if status == UNDERTONE_STATUS_BUFFER_TOO_SMALL {
            written
        } else {
            ptr::null_mut()
        };
        assert!(world.unchanged(&before, exception), "status {status}");
    }
    assert_ne!(
        undertone_status_message(status),
        undertone_status_message(-1),
        "status {status}"
    );
    Ok(())
}
