//! The ledger in an app that uses the C interface: two handles on one file, whose writes power cuts
//! may tear.

#![expect(unsafe_code, reason = "C calls are unsafe")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;

use arbitrary::{Result, Unstructured};
use undertone_core::epsilon::Epsilon;
use undertone_ffi::*;

use crate::ffi::{SLOT_BYTES, Slot};

const FILE_BYTES: usize = UNDERTONE_LEDGER_IMAGE_BYTES;
const RECORD_BYTES: usize = UNDERTONE_LEDGER_RECORD_BYTES;

/// Counts, so that no two handles sign alike.
pub(crate) unsafe extern "C" fn entropy(context: *mut c_void, out: *mut u8, len: usize) -> i32 {
    // SAFETY: every call passes a number that is still there; `len` bytes are writable.
    unsafe {
        let count = context.cast::<u64>();
        count.write(*count + 1);
        for (index, byte) in (*count).to_le_bytes().into_iter().enumerate().take(len) {
            out.add(index).write(byte);
        }
    }
    0
}

struct World {
    file: [u8; FILE_BYTES],
    budget: u64,
    opened: u64,
    ledgers: Box<[Slot; 2]>,
    grant: Box<Slot>,
    /// The ε of all grants in each window.
    granted: HashMap<u64, u64>,
    /// The ε of all requests in the newest window.
    reserved: u64,
    newest: u64,
    /// Whether a write was torn, after which the rest of a window counts as spent.
    torn: bool,
}

/// Follows the input as the calls of an app with two handles, one at a time as under a lock, and as
/// failures.
///
/// Checked: what is granted in a window never exceeds the budget, whatever part of a write arrives
/// before the power is cut; that no handle takes over what the other wrote, or grants without a
/// record on storage; and as long as no write was torn, that nothing is lost either: what remains
/// is the budget less what was reserved.
pub fn ledger_calls_keep_the_budget(data: &[u8]) {
    // Input that is too short for a schedule teaches nothing.
    let _ = schedule(&mut Unstructured::new(data));
}

fn schedule(u: &mut Unstructured<'_>) -> Result<()> {
    let budget = u.int_in_range(1..=1000u64)?;
    let mut world = World {
        file: [0; FILE_BYTES],
        budget,
        opened: 0,
        ledgers: Box::new([Slot([0; SLOT_BYTES]); 2]),
        grant: Box::new(Slot([0; SLOT_BYTES])),
        granted: HashMap::new(),
        reserved: 0,
        newest: 0,
        torn: false,
    };
    let mut written = 0;
    // SAFETY: the arguments are Rust's own.
    let status = unsafe {
        undertone_ledger_create_image(
            UNDERTONE_UNIT_SENTENCE,
            budget,
            Some(entropy),
            ptr::from_mut(&mut world.opened).cast(),
            world.file.as_mut_ptr(),
            FILE_BYTES,
            &mut written,
        )
    };
    assert_eq!((status, written), (UNDERTONE_STATUS_OK, FILE_BYTES));
    world.open(0);
    world.open(1);
    while !u.is_empty() {
        world.turn(u)?;
    }
    Ok(())
}

impl World {
    fn ledger(&mut self, handle: usize) -> *mut UndertoneLedger {
        self.ledgers[handle].0.as_mut_ptr().cast()
    }

    fn open(&mut self, handle: usize) {
        let mut out = ptr::null_mut();
        // SAFETY: the arguments are Rust's own, and the slot stays where it is.
        let status = unsafe {
            undertone_ledger_open(
                self.ledger(handle).cast(),
                SLOT_BYTES,
                UNDERTONE_UNIT_SENTENCE,
                self.file.as_ptr(),
                FILE_BYTES,
                Some(entropy),
                ptr::from_mut(&mut self.opened).cast(),
                &mut out,
            )
        };
        // A torn write leaves one whole record.
        assert_eq!((status, out), (UNDERTONE_STATUS_OK, self.ledger(handle)));
    }

    /// The calls of one handle while it has the lock.
    fn turn(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let handle = u.int_in_range(0..=1)?;
        if u.ratio(1, 4)? {
            self.open(handle);
        }
        let window = match u.int_in_range(0..=15u8)? {
            0 => self.newest.saturating_sub(1),
            1..=2 => self.newest.saturating_add(u.int_in_range(1..=3)?),
            3 => u.arbitrary()?,
            _ => self.newest,
        };
        let micro = *u.choose(&[1, 10, 100, 333, 1000])?;
        let (mut record, mut written, mut offset) = ([0; RECORD_BYTES], 0, usize::MAX);
        // SAFETY: the arguments are Rust's own; the slot holds what `open` put there.
        let status = unsafe {
            undertone_ledger_reserve_epsilon(
                self.ledger(handle),
                micro,
                1,
                window,
                self.file.as_ptr(),
                FILE_BYTES,
                record.as_mut_ptr(),
                RECORD_BYTES,
                &mut written,
                &mut offset,
            )
        };
        match status {
            UNDERTONE_STATUS_OK => {}
            // The status follows from the remaining budget, and the record is there.
            UNDERTONE_STATUS_LEDGER_RECORD_LOST => assert!(self.torn),
            UNDERTONE_STATUS_LEDGER_CHANGED => {
                self.open(handle);
                return Ok(());
            }
            UNDERTONE_STATUS_LEDGER_FROM_FUTURE
            | UNDERTONE_STATUS_LEDGER_EXHAUSTED
            | UNDERTONE_STATUS_LEDGER_WORN_OUT => {
                return Ok(());
            }
            other => panic!("status {other}"),
        }
        assert_eq!(written, RECORD_BYTES);
        assert!(offset == 0 || offset == RECORD_BYTES);
        let epsilon = Epsilon::from_micro(micro).expect("in range");
        let mut given = 0;
        // The record may be written again until a call reports it as stored.
        loop {
            // Earlier errors have no effect on storage.
            let before = self.file;
            let arrives: u8 = u.arbitrary()?;
            let (count, cut) = match arrives {
                // The power is cut after `arrives` bytes.
                0..64 => (usize::from(arrives), true),
                // It is cut once the record is there, before the app reads it.
                64..80 => (RECORD_BYTES, true),
                // The write fails, and the app gets the error.
                80..96 => (0, false),
                _ => (RECORD_BYTES, false),
            };
            self.file[offset..offset + count].copy_from_slice(&record[..count]);
            let whole = self.file[offset..offset + RECORD_BYTES] == record;
            self.torn |= !whole && self.file != before;
            if cut {
                self.count(whole, window, micro);
                self.open(0);
                self.open(1);
                return Ok(());
            }
            let mut out = ptr::null_mut();
            // SAFETY: as above; the grant has a slot of its own.
            let status = unsafe {
                undertone_ledger_grant(
                    self.ledger(handle),
                    self.file.as_ptr(),
                    FILE_BYTES,
                    self.grant.0.as_mut_ptr().cast(),
                    SLOT_BYTES,
                    &mut out,
                )
            };
            match status {
                UNDERTONE_STATUS_OK => {
                    assert!(whole && !out.is_null());
                    given = epsilon.micro();
                }
                UNDERTONE_STATUS_LEDGER_RECORD_LOST => assert!(whole && self.torn),
                UNDERTONE_STATUS_LEDGER_NOT_PERSISTED => {
                    assert!(!whole);
                    if u.arbitrary()? {
                        continue;
                    }
                    // The app gives up. It opens the file again to read the stored state.
                    self.open(handle);
                    return Ok(());
                }
                other => panic!("status {other}"),
            }
            break;
        }
        self.count(true, window, micro);
        let sum = self.granted.entry(window).or_default();
        *sum += u64::from(given);
        assert!(*sum <= self.budget);
        // Granted once.
        let mut out = ptr::null_mut();
        // SAFETY: as above.
        let status = unsafe {
            undertone_ledger_grant(
                self.ledger(handle),
                self.file.as_ptr(),
                FILE_BYTES,
                self.grant.0.as_mut_ptr().cast(),
                SLOT_BYTES,
                &mut out,
            )
        };
        assert_eq!(status, UNDERTONE_STATUS_LEDGER_NOT_RESERVED);

        let mut left = u64::MAX;
        // SAFETY: as above.
        let status = unsafe {
            undertone_ledger_remaining(
                UNDERTONE_UNIT_SENTENCE,
                self.file.as_ptr(),
                FILE_BYTES,
                window,
                ptr::null(),
                &mut left,
            )
        };
        assert_eq!(status, UNDERTONE_STATUS_OK);
        let granted = self.granted[&window];
        assert!(left <= self.budget - granted);
        if !self.torn {
            assert_eq!(left, self.budget - self.reserved);
        }
        Ok(())
    }

    /// A record that is on storage counts, whether it was granted or not.
    fn count(&mut self, whole: bool, window: u64, micro: u32) {
        if whole {
            if window > self.newest {
                (self.newest, self.reserved) = (window, 0);
            }
            self.reserved += u64::from(micro);
        }
    }
}
