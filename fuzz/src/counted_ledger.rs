//! The one-call ledger of the C interface with a platform's counter: files that are torn, set back
//! or exchanged, and storage and counters that fail at any step.

#![expect(unsafe_code, reason = "C calls are unsafe")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;

use arbitrary::{Result, Unstructured};
use undertone_ffi::*;

use crate::ffi::{SLOT_BYTES, Slot};
use crate::ledger_calls::entropy;

const UNIT: i32 = UNDERTONE_UNIT_SENTENCE;

/// A fault in one call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Read,
    ReadCounter,
    /// The counter stays as it is.
    Raise,
    /// The counter is raised, and the caller dies before it gets the result.
    RaisedAndCut,
    /// This number of bytes arrives.
    Write(usize),
}

struct World {
    file: Vec<u8>,
    counter: u64,
    fault: Fault,
    /// Returns whether the fault occurred.
    failed: bool,
    locked: bool,
}

fn world<'a>(context: *mut c_void) -> &'a mut World {
    // SAFETY: `storage` passed a world, which nothing else uses during the call.
    unsafe { &mut *context.cast::<World>() }
}

impl World {
    fn fails(&mut self, at: Fault) -> bool {
        let fails = self.fault == at;
        self.failed |= fails;
        fails
    }

    fn storage(&mut self, is_counted: bool) -> UndertoneLedgerStorage {
        UndertoneLedgerStorage {
            context: ptr::from_mut(self).cast(),
            lock: Some(lock),
            unlock: Some(unlock),
            read: Some(read),
            write: Some(write),
            read_counter: is_counted.then_some(read_counter as _),
            raise_counter: is_counted.then_some(raise_counter as _),
        }
    }
}

unsafe extern "C" fn lock(context: *mut c_void) -> i32 {
    let world = world(context);
    assert!(!world.locked);
    world.locked = true;
    0
}

unsafe extern "C" fn unlock(context: *mut c_void) {
    let world = world(context);
    assert!(world.locked);
    world.locked = false;
}

unsafe extern "C" fn read(
    context: *mut c_void,
    out: *mut u8,
    capacity: usize,
    out_read: *mut usize,
) -> i32 {
    let world = world(context);
    assert!(world.locked);
    if world.fails(Fault::Read) {
        return -1;
    }
    let len = world.file.len().min(capacity);
    // SAFETY: the library promises room for `capacity` bytes, and for a number.
    unsafe {
        ptr::copy_nonoverlapping(world.file.as_ptr(), out, len);
        out_read.write(len);
    }
    0
}

unsafe extern "C" fn write(
    context: *mut c_void,
    offset: usize,
    bytes: *const u8,
    len: usize,
) -> i32 {
    let world = world(context);
    assert!(world.locked && offset + len <= world.file.len());
    let arrives = match world.fault {
        Fault::Write(arrives) => {
            world.failed = true;
            arrives.min(len)
        }
        _ => len,
    };
    // SAFETY: the library promises `len` readable bytes.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, len) };
    world.file[offset..offset + arrives].copy_from_slice(&bytes[..arrives]);
    if matches!(world.fault, Fault::Write(_)) {
        -1
    } else {
        0
    }
}

unsafe extern "C" fn read_counter(context: *mut c_void, out_counter: *mut u64) -> i32 {
    let world = world(context);
    if world.fails(Fault::ReadCounter) {
        return -1;
    }
    // SAFETY: the library promises room for a number.
    unsafe { out_counter.write(world.counter) };
    0
}

unsafe extern "C" fn raise_counter(context: *mut c_void, to: u64) -> i32 {
    let world = world(context);
    assert!(to > world.counter, "a counter never goes back");
    if world.fails(Fault::Raise) {
        return -1;
    }
    world.counter = to;
    if world.fails(Fault::RaisedAndCut) {
        return -1;
    }
    0
}

/// Follows the input as the calls of an app to `undertone_ledger_spend`, and as failures of its
/// storage.
///
/// Checked: whatever fails at whatever step, the grants of a window never exceed the budget; with a
/// counter, the same holds for every earlier file put in place; as long as nothing fails, exactly
/// what fits is granted; and the file is unlocked after every call.
pub fn counted_ledger_keeps_the_budget(data: &[u8]) {
    // Input that is too short for a schedule teaches nothing.
    let _ = schedule(&mut Unstructured::new(data));
}

fn schedule(u: &mut Unstructured<'_>) -> Result<()> {
    let budget = u.int_in_range(1..=1000u64)?;
    let is_counted = u.ratio(3, 4)?;
    let mut opened = 0u64;
    let entropy_context: *mut c_void = ptr::from_mut(&mut opened).cast();
    let mut world = World {
        file: vec![0; UNDERTONE_LEDGER_IMAGE_BYTES],
        counter: 0,
        fault: Fault::None,
        failed: false,
        locked: false,
    };
    let mut written = 0;
    // SAFETY: the arguments are Rust's own.
    let status = unsafe {
        undertone_ledger_create_image(
            UNIT,
            budget,
            Some(entropy),
            entropy_context,
            world.file.as_mut_ptr(),
            world.file.len(),
            &mut written,
        )
    };
    assert_eq!((status, written), (UNDERTONE_STATUS_OK, world.file.len()));

    let mut earlier = vec![world.file.clone()];
    let mut granted = HashMap::<u64, u64>::new();
    let mut newest = 0;
    // Everything succeeded since the file was made.
    let mut is_clean = true;
    let mut grant = Box::new(Slot([0; SLOT_BYTES]));
    while !u.is_empty() {
        if is_counted && u.ratio(1, 4)? {
            let place = u.choose_index(earlier.len())?;
            is_clean &= world.file == earlier[place];
            world.file.clone_from(&earlier[place]);
        }
        world.failed = false;
        world.fault = match u.int_in_range(0..=15u8)? {
            0 => Fault::Read,
            1 => Fault::ReadCounter,
            2 => Fault::Raise,
            3 => Fault::RaisedAndCut,
            4..=5 => Fault::Write(u.int_in_range(0..=UNDERTONE_LEDGER_RECORD_BYTES)?),
            _ => Fault::None,
        };
        let storage = world.storage(is_counted);
        if u.ratio(1, 8)? {
            // The current window counts as spent.
            let mut image = vec![0; UNDERTONE_LEDGER_IMAGE_BYTES];
            // SAFETY: the arguments are Rust's own.
            let status = unsafe {
                undertone_ledger_recreate_spent(
                    &storage,
                    UNIT,
                    budget,
                    newest,
                    Some(entropy),
                    entropy_context,
                    image.as_mut_ptr(),
                    image.len(),
                    &mut written,
                )
            };
            is_clean = false;
            if status == UNDERTONE_STATUS_OK {
                assert!(!world.failed);
                world.file.clone_from(&image);
                earlier.push(image);
            } else {
                assert!(world.failed, "status {status}");
            }
            continue;
        }
        let window = match u.int_in_range(0..=7u8)? {
            // Only the lost record could show that the clock was set back with the file.
            0 if is_clean => newest.saturating_sub(1),
            1 => newest.saturating_add(u.int_in_range(1..=3)?),
            _ => newest,
        };
        let (micro, word_count) = *u.choose(&[(1, 1), (10, 1), (33, 10), (333, 1), (1000, 1)])?;
        let (mut out, mut left) = (ptr::null_mut(), u64::MAX);
        // SAFETY: the arguments are Rust's own, and the slot stays where it is.
        let status = unsafe {
            undertone_ledger_spend(
                &storage,
                UNIT,
                micro,
                word_count,
                window,
                Some(entropy),
                entropy_context,
                grant.0.as_mut_ptr().cast(),
                SLOT_BYTES,
                &mut out,
                &mut left,
            )
        };
        assert!(!world.locked);
        assert_eq!(status == UNDERTONE_STATUS_OK, !out.is_null());
        let cost = u64::from(micro) * u64::from(word_count);
        let sum = granted.get(&window).copied().unwrap_or(0);
        if is_clean && !world.failed {
            let fits = window >= newest && sum + cost <= budget;
            assert_eq!(status == UNDERTONE_STATUS_OK, fits, "status {status}");
        }
        is_clean &= !world.failed;
        match status {
            UNDERTONE_STATUS_OK => {
                assert!(!world.failed);
                assert!(sum + cost <= budget);
                granted.insert(window, sum + cost);
                newest = newest.max(window);
                assert!(left <= budget - sum - cost);
                if is_clean {
                    assert_eq!(left, budget - sum - cost);
                }
            }
            UNDERTONE_STATUS_LEDGER_STORAGE_FAILED => assert!(world.failed),
            // Something went wrong earlier.
            UNDERTONE_STATUS_LEDGER_RECORD_LOST
            | UNDERTONE_STATUS_LEDGER_SET_BACK
            | UNDERTONE_STATUS_LEDGER_DAMAGED => assert!(!is_clean, "status {status}"),
            UNDERTONE_STATUS_LEDGER_FROM_FUTURE | UNDERTONE_STATUS_LEDGER_EXHAUSTED => {}
            other => panic!("status {other}"),
        }
        earlier.push(world.file.clone());
    }
    Ok(())
}
