//! Forms through the C functions: the golden answers, and every status.

use core::ffi::c_void;
use core::ptr;

use undertone_core::form::digest;
use undertone_core::form::format::Header;
use undertone_ffi::{UNDERTONE_STATUS_OK as OK, *};
use zerocopy::FromBytes;

const FORM: &[u8] = include_bytes!("../../tests/golden/golden.form");
const TOPIC_FORM: &[u8] = include_bytes!("../../tests/golden/golden-topic.form");
const SCORES: &[u8] = include_bytes!("../../tests/golden/golden-scores.pack");
const ANSWERS: &str = include_str!("../../tests/golden/answers.txt");
const DRAWN: &str = include_str!("../../tests/golden/drawn-answers.txt");

/// Memory for a handle.
#[repr(align(16))]
struct Memory([u8; 192]);

/// Copies the 32 bytes at `context`.
unsafe extern "C" fn replay(context: *mut c_void, out: *mut u8, len: usize) -> i32 {
    if context.is_null() || len != 32 {
        return 1;
    }
    // SAFETY: the tests pass 32 bytes, and the library room for `len`.
    unsafe { ptr::copy_nonoverlapping(context.cast::<u8>(), out, len) };
    0
}

fn from_hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn init(memory: &mut Memory, bytes: &[u8]) -> (i32, *mut UndertoneForm) {
    let mut form = ptr::null_mut();
    let (start, len) = (memory.0.as_mut_ptr().cast(), memory.0.len());
    // SAFETY: the memory and the bytes outlive the handle.
    let status =
        unsafe { undertone_form_init(start, len, bytes.as_ptr(), bytes.len(), &raw mut form) };
    (status, form)
}

/// The status, the release, and the status of a second release with the same grant.
fn release(
    form: *mut UndertoneForm,
    answers: &[u32],
    (unit, micro): (i32, u32),
    entropy: &[u8],
    room: usize,
) -> (i32, Vec<u8>, i32) {
    let mut memory = Memory([0; 192]);
    let mut grant = ptr::null_mut();
    let (start, len) = (memory.0.as_mut_ptr().cast(), memory.0.len());
    // SAFETY: all memory outlives the calls.
    unsafe {
        let made = undertone_grant_init_unrecorded(start, len, unit, micro, &raw mut grant);
        assert_eq!(made, OK);
        let call = |room: usize| {
            let (mut out, mut written) = ([0; UNDERTONE_RELEASE_BYTES], 0);
            let context = if entropy.len() == 32 {
                entropy.as_ptr().cast_mut().cast()
            } else {
                ptr::null_mut()
            };
            let status = undertone_form_release(
                form,
                answers.as_ptr(),
                answers.len(),
                grant,
                Some(replay),
                context,
                out.as_mut_ptr(),
                room,
                &raw mut written,
            );
            (status, out.to_vec())
        };
        let (status, out) = call(room);
        (status, out, call(UNDERTONE_RELEASE_BYTES).0)
    }
}

#[test]
fn golden_answers_come_out() {
    let mut memory = Memory([0; 192]);
    let (status, form) = init(&mut memory, FORM);
    assert_eq!(status, OK);
    for block in ANSWERS.split("\n\n").skip(1) {
        let field = |name: &str| {
            let found = block.lines().find_map(|line| line.strip_prefix(name));
            found.expect("a field").trim()
        };
        let answers = field("answers").split(' ');
        let answers: Vec<u32> = answers.map(|it| it.parse().expect("a number")).collect();
        let micro = field("epsilon_micro").parse().expect("a number");
        let grant = (UNDERTONE_UNIT_WHOLE_TEXT, micro);
        let entropy = from_hex(field("entropy"));
        let (status, out, second) = release(form, &answers, grant, &entropy, 24);
        assert_eq!((status, second), (OK, UNDERTONE_STATUS_GRANT_SPENT));
        assert_eq!(out, from_hex(field("release")), "{block}");
        let (mut micro_read, mut unit) = (0, 0);
        // SAFETY: NULL is allowed for each output.
        let status = unsafe {
            undertone_release_read(
                out.as_ptr(),
                out.len(),
                ptr::null_mut(),
                &raw mut micro_read,
                ptr::null_mut(),
                &raw mut unit,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        assert_eq!((status, micro_read, unit), (OK, micro, grant.0));
    }
}

#[test]
fn golden_reservoirs_come_out() {
    let mut memory = Memory([0; 192]);
    let (_, form) = init(&mut memory, FORM);
    for block in DRAWN.split("\n\n").skip(1) {
        let of = |name: &'static str| {
            let fields = block.lines().filter_map(|line| line.split_once(' '));
            fields.filter_map(move |(key, value)| (key == name).then_some(value))
        };
        let one = |name| of(name).next().expect("a field");
        let mut keys = of("entropy").map(from_hex);
        let mut key = || keys.next().expect("a key for each call");
        let [slot, places, micro] = ["slot", "places", "epsilon_micro"]
            .map(|name| one(name).parse::<u64>().expect("a number"));
        let mut stored = [0; UNDERTONE_RESERVOIR_BYTES];
        let entropy = Some(replay as unsafe extern "C" fn(_, _, _) -> _);
        let (mut out, mut written) = ([0; UNDERTONE_RELEASE_BYTES], 0);
        let (mut slot_read, mut places_read) = (0, 0);
        // SAFETY: all memory outlives the calls, and every key has 32 bytes.
        unsafe {
            let start = key();
            let context = start.as_ptr().cast_mut().cast();
            let places = places as u32;
            let out_stored = stored.as_mut_ptr();
            let begun =
                undertone_answer_reservoir_init(form, slot, places, entropy, context, out_stored);
            assert_eq!(begun, OK);
            for answers in of("answers") {
                let answers: Vec<u32> = answers
                    .split(' ')
                    .map(|it| it.parse().expect("a number"))
                    .collect();
                let (key, list) = (key(), (answers.as_ptr(), answers.len()));
                let context = key.as_ptr().cast_mut().cast();
                let pushed = undertone_answer_reservoir_push(
                    out_stored, form, list.0, list.1, entropy, context,
                );
                assert_eq!(pushed, OK);
            }
            assert_eq!(stored.to_vec(), from_hex(one("stored")), "{block}");
            let read = undertone_answer_reservoir_read(
                stored.as_ptr(),
                stored.len(),
                form,
                &raw mut slot_read,
                &raw mut places_read,
            );
            assert_eq!((read, slot_read, places_read), (OK, slot, places));
            let mut memory = Memory([0; 192]);
            let mut grant = ptr::null_mut();
            let made = undertone_grant_init_unrecorded(
                memory.0.as_mut_ptr().cast(),
                memory.0.len(),
                UNDERTONE_UNIT_WHOLE_TEXT,
                micro as u32,
                &raw mut grant,
            );
            assert_eq!(made, OK);
            let last = key();
            let released = undertone_answer_reservoir_release(
                stored.as_mut_ptr(),
                form,
                grant,
                entropy,
                last.as_ptr().cast_mut().cast(),
                out.as_mut_ptr(),
                out.len(),
                &raw mut written,
            );
            assert_eq!((released, written), (OK, out.len()));
        }
        assert_eq!(out.to_vec(), from_hex(one("release")), "{block}");
        assert_eq!(stored, [0; UNDERTONE_RESERVOIR_BYTES]);
    }
}

#[test]
fn a_text_answers_the_topic() {
    let (mut memory, mut pack_memory) = (
        Memory([0; 192]),
        vec![0u128; UNDERTONE_PACK_HANDLE_SIZE.div_ceil(16)],
    );
    let mut document_memory = vec![0u128; UNDERTONE_DOCUMENT_HANDLE_SIZE.div_ceil(16)];
    let (_, form) = init(&mut memory, TOPIC_FORM);
    let (mut pack, mut document) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: all memory outlives the calls.
    unsafe {
        let (start, len) = (
            pack_memory.as_mut_ptr().cast(),
            size_of_val(&pack_memory[..]),
        );
        let made = undertone_pack_init(start, len, SCORES.as_ptr(), SCORES.len(), &raw mut pack);
        assert_eq!(made, OK);
        let len = size_of_val(&document_memory[..]);
        let start = document_memory.as_mut_ptr().cast();
        assert_eq!(
            undertone_document_init(start, len, pack, &raw mut document),
            OK
        );
        for (text, best) in [("the garden dog", 124), ("qqq", 200)] {
            let start = text.as_ptr().cast();
            let pushed = undertone_document_push_text(document, start, text.len(), ptr::null_mut());
            assert_eq!(pushed, OK);
            let mut answers = [1, 0, 7];
            let mut answer =
                |count| undertone_form_answer_topic(form, document, answers.as_mut_ptr(), count);
            assert_eq!(answer(3), UNDERTONE_STATUS_WRONG_ANSWER_COUNT);
            assert_eq!(answer(2), OK);
            assert_eq!(answers, [1, best, 7]);
            assert_eq!(undertone_document_sentence_count(document), 0);
        }
    }
}

#[test]
fn misuse_has_statuses_whatever_the_answers() {
    let mut memory = Memory([0; 192]);
    let (_, form) = init(&mut memory, FORM);
    let whole = (UNDERTONE_UNIT_WHOLE_TEXT, 1_000_000);
    let key = [7; 32];
    for answers in [[0, 0, 0], [u32::MAX, 2600, 9]] {
        // Refused before the grant is spent.
        for count in [0, 2] {
            let refused = release(form, &answers[..count], whole, &key, 24);
            let status = UNDERTONE_STATUS_WRONG_ANSWER_COUNT;
            assert_eq!((refused.0, refused.2), (status, status));
        }
        let refused = release(form, &answers, (UNDERTONE_UNIT_SENTENCE, 1), &key, 24);
        assert_eq!(refused.0, UNDERTONE_STATUS_GRANT_WRONG_UNIT);
        let refused = release(form, &answers, whole, &key, 23);
        assert_eq!(
            (refused.0, refused.2),
            (UNDERTONE_STATUS_BUFFER_TOO_SMALL, OK)
        );
        for entropy in [&[0; 32][..], &[]] {
            let refused = release(form, &answers, whole, entropy, 24);
            let statuses = (
                UNDERTONE_STATUS_ENTROPY_FAILED,
                UNDERTONE_STATUS_GRANT_SPENT,
            );
            assert_eq!((refused.0, refused.2), statuses);
            assert_eq!(refused.1, [0; 24]);
        }
    }
    let refused = release(ptr::null_mut(), &[0, 0, 0], whole, &key, 24);
    assert_eq!(refused.0, UNDERTONE_STATUS_NULL_POINTER);
}

#[test]
fn files_that_are_no_forms_have_statuses() {
    let changed = |at: usize, value: u8| {
        let mut bytes = FORM.to_vec();
        bytes[at] = value;
        bytes
    };
    let mut malformed = changed(7, 1);
    seal(&mut malformed);
    for (bytes, expected) in [
        (changed(0, 0), UNDERTONE_STATUS_NOT_A_FORM),
        (changed(6, 2), UNDERTONE_STATUS_FORM_UNSUPPORTED_VERSION),
        (changed(100, 0xff), UNDERTONE_STATUS_FORM_DAMAGED),
        (
            FORM[..FORM.len() - 1].to_vec(),
            UNDERTONE_STATUS_FORM_DAMAGED,
        ),
        (FORM[..63].to_vec(), UNDERTONE_STATUS_FORM_DAMAGED),
        (malformed, UNDERTONE_STATUS_FORM_MALFORMED),
    ] {
        assert_eq!(
            init(&mut Memory([0; 192]), &bytes),
            (expected, ptr::null_mut())
        );
    }
}

/// Writes the digest of a form whose other bytes may be any.
fn seal(bytes: &mut [u8]) {
    let (header, rest) = Header::mut_from_prefix(bytes).expect("a header");
    header.digest = digest(header, rest);
}
