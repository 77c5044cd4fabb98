//! The statuses that need a crafted pack or ledger; `tests/c/misuse.c` has the others.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;

use sha2::{Digest, Sha256};
use undertone_ffi::{
    UNDERTONE_STATUS_NO_CANDIDATES as NO_CANDIDATES, UNDERTONE_STATUS_NO_SCORES as NO_SCORES,
    UNDERTONE_STATUS_NULL_POINTER as NULL_POINTER, UNDERTONE_STATUS_OK as OK,
    UNDERTONE_STATUS_TOO_MANY_CANDIDATES as TOO_MANY_CANDIDATES,
    UNDERTONE_STATUS_TOO_MANY_DIRECTIONS as TOO_MANY_DIRECTIONS, *,
};
use undertone_tests::packs::{DepthParts, ScoreParts, Scoring, Section, features_pack, pack};

/// A depth section for embeddings of one coordinate and one candidate.
fn depth(directions: usize) -> Section {
    let parts = DepthParts {
        dimension: 1,
        exponent: 0,
        shift: 0,
        directions: vec![vec![0]; directions],
        boundaries: vec![vec![0; 255]; directions],
        codes: vec![vec![0]; directions],
    };
    parts.to_section()
}

/// A section of votes for embeddings of one coordinate.
fn votes(candidates: usize) -> Section {
    let parts = ScoreParts {
        dimension: 1,
        recoder: None,
        exponent: 0,
        centre: vec![0],
        weights: vec![vec![0]; candidates],
        bias: vec![0; candidates],
        scoring: Scoring::Vote,
        levels: 160,
    };
    parts.to_section()
}

/// A pack for embeddings of two coordinates, with one feature.
fn featured(candidates: usize) -> Vec<u8> {
    let mut topics: Vec<&[&str]> = vec![&[]; candidates];
    topics[0] = &["word"];
    features_pack(&topics, false)
}

/// Memory for a handle.
#[repr(align(16))]
struct Memory<const N: usize>([u8; N]);

impl<const N: usize> Memory<N> {
    fn new() -> Box<Self> {
        Box::new(Self([0; N]))
    }

    fn start(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// Calls an init function with memory, its length and a place for the handle.
fn init<const N: usize, H>(
    memory: &mut Memory<N>,
    call: impl FnOnce(*mut c_void, usize, &mut *mut H) -> i32,
) -> (i32, *mut H) {
    let mut handle = ptr::null_mut();
    (call(memory.start(), N, &mut handle), handle)
}

fn init_pack(
    memory: &mut Memory<UNDERTONE_PACK_HANDLE_SIZE>,
    bytes: &[u8],
) -> (i32, *mut UndertonePack) {
    // SAFETY: all memory is there, and every test keeps `bytes` longer than the pack.
    init(memory, |memory, size, pack| unsafe {
        undertone_pack_init(memory, size, bytes.as_ptr(), bytes.len(), pack)
    })
}

fn describe(pack: *const UndertonePack) -> UndertonePackDescription {
    let mut description = MaybeUninit::uninit();
    // SAFETY: `pack` is what `undertone_pack_init` returned, and writes the description.
    unsafe {
        assert_eq!(undertone_pack_describe(pack, description.as_mut_ptr()), OK);
        description.assume_init()
    }
}

fn init_document(
    memory: &mut Memory<UNDERTONE_DOCUMENT_HANDLE_SIZE>,
    pack: *const UndertonePack,
) -> (i32, *mut UndertoneDocument) {
    // SAFETY: all memory is there; `pack` is what `undertone_pack_init` returned.
    init(memory, |memory, size, document| unsafe {
        undertone_document_init(memory, size, pack, document)
    })
}

#[test]
fn intact_packs_that_break_the_rules_are_malformed() {
    let (tag, mut cut) = depth(3);
    cut.pop();
    for bytes in [
        pack(0, &[]),
        pack(4097, &[]),
        // Rows too short for the coordinates.
        pack(64, &[depth(3)]),
        pack(1, &[(tag, cut)]),
        pack(1, &[(tag, Vec::new())]),
    ] {
        let (status, pack) = init_pack(&mut Memory::new(), &bytes);
        assert_eq!(
            (status, pack),
            (UNDERTONE_STATUS_PACK_MALFORMED, ptr::null_mut())
        );
    }
}

#[test]
fn packs_without_what_a_document_needs_are_refused() {
    let unknown = (*b"NEWS", vec![1, 2, 3]);
    for (bytes, candidates, directions, expected) in [
        (pack(1, &[]), 0, 0, NO_CANDIDATES),
        (pack(1, &[unknown]), 0, 0, NO_CANDIDATES),
        (pack(1, &[depth(100)]), 1, 100, OK),
        (pack(1, &[depth(101)]), 1, 101, TOO_MANY_DIRECTIONS),
        (pack(1, &[votes(12_800)]), 12_800, 0, OK),
        (pack(1, &[votes(12_801)]), 12_801, 0, TOO_MANY_CANDIDATES),
    ] {
        let (mut pack_memory, mut memory) = (Memory::new(), Memory::new());
        let (status, pack) = init_pack(&mut pack_memory, &bytes);
        assert_eq!(status, UNDERTONE_STATUS_OK);
        let description = describe(pack);
        assert_eq!((description.dimension, description.word_count), (1, 0));
        assert_eq!(description.candidate_count, candidates);
        assert_eq!(description.direction_count, directions);
        let (status, document) = init_document(&mut memory, pack);
        assert_eq!(status, expected);
        assert_eq!(document.is_null(), expected != UNDERTONE_STATUS_OK);
    }
}

/// The most candidates of the header, and one more.
#[test]
fn features_and_whole_texts_take_room() {
    for (bytes, document_status, whole_text_status) in [
        (pack(1, &[votes(4224)]), OK, OK),
        (pack(1, &[votes(4225)]), OK, TOO_MANY_CANDIDATES),
        (featured(2560), OK, OK),
        (featured(2561), TOO_MANY_CANDIDATES, NULL_POINTER),
        (pack(1, &[depth(1)]), OK, NO_SCORES),
    ] {
        let (mut pack_memory, mut memory) = (Memory::new(), Memory::new());
        let (status, pack) = init_pack(&mut pack_memory, &bytes);
        assert_eq!(status, UNDERTONE_STATUS_OK);
        let (status, document) = init_document(&mut memory, pack);
        assert_eq!(status, document_status);
        let (mut sentence, mut whole_text) = (99, 99);
        // SAFETY: `document` is null or what `undertone_document_init` returned; the outputs exist.
        let status = unsafe {
            let unit = UNDERTONE_UNIT_WHOLE_TEXT;
            undertone_document_promise(document, unit, 7, &mut sentence, &mut whole_text)
        };
        assert_eq!(status, whole_text_status);
        let expected = if status == UNDERTONE_STATUS_OK { 7 } else { 99 };
        assert_eq!((sentence, whole_text), (expected, expected));
        if !document.is_null() {
            assert_eq!(release_whole_text(document), whole_text_status);
        }
    }
}

/// Of an empty document. A refusal spends nothing.
fn release_whole_text(document: *mut UndertoneDocument) -> i32 {
    let mut memory: Box<Memory<UNDERTONE_GRANT_HANDLE_SIZE>> = Memory::new();
    let mut out = [0xee; UNDERTONE_RELEASE_BYTES];
    let mut written = 99;
    // SAFETY: all memory is there.
    let (made, grant) = init(&mut memory, |memory, size, grant| unsafe {
        undertone_grant_init_unrecorded(memory, size, UNDERTONE_UNIT_WHOLE_TEXT, 7, grant)
    });
    // SAFETY: `document` and `grant` are what the init functions returned; the outputs exist.
    let [first, second] = unsafe {
        let mut release = || {
            undertone_document_release_whole_text(
                document,
                grant,
                Some(entropy),
                ptr::null_mut(),
                out.as_mut_ptr(),
                out.len(),
                &mut written,
            )
        };
        [release(), release()]
    };
    assert_eq!(made, UNDERTONE_STATUS_OK);
    if first == UNDERTONE_STATUS_OK {
        assert_eq!((second, written), (UNDERTONE_STATUS_GRANT_SPENT, out.len()));
    } else {
        assert_eq!((second, out, written), (first, [0xee; 24], 99));
    }
    first
}

#[test]
fn features_need_text() {
    let bytes = featured(3);
    let (mut pack_memory, mut memory) = (Memory::new(), Memory::new());
    let (_, pack) = init_pack(&mut pack_memory, &bytes);
    let (_, document) = init_document(&mut memory, pack);
    let description = describe(pack);
    assert_eq!(
        (
            description.feature_count,
            description.level_count,
            description.nothing_known
        ),
        (1, 160, 3)
    );
    let (text, embedding) = (c"word", [0.5; 2]);
    let mut count = 99;
    // SAFETY: `pack` and `document` are what the functions returned; the other arguments exist.
    unsafe {
        let status = undertone_document_push(document, embedding.as_ptr(), 2);
        assert_eq!(status, UNDERTONE_STATUS_NEEDS_TEXT);
        let status = undertone_document_push_all(document, embedding.as_ptr(), 2, &mut count);
        assert_eq!((status, count), (UNDERTONE_STATUS_NEEDS_TEXT, 99));
        // They stand beside an encoder here.
        let status = undertone_document_push_sentence(document, text.as_ptr(), 4);
        assert_eq!(status, UNDERTONE_STATUS_NO_LEXICON);
        assert_eq!(undertone_document_sentence_count(document), 0);
        let (text, embedding) = (text.as_ptr(), embedding.as_ptr());
        let status = undertone_document_push_encoded(document, text, 4, embedding, 2);
        assert_eq!(status, UNDERTONE_STATUS_OK);
        assert_eq!(undertone_document_sentence_count(document), 1);
    }
}

#[test]
fn text_needs_a_lexicon() {
    let bytes = pack(1, &[depth(1)]);
    let (mut pack_memory, mut memory) = (Memory::new(), Memory::new());
    let (_, pack) = init_pack(&mut pack_memory, &bytes);
    let (_, document) = init_document(&mut memory, pack);
    let text = c"word";
    // SAFETY: `document` is what `undertone_document_init` returned; the text is there.
    let status = unsafe { undertone_document_push_sentence(document, text.as_ptr(), 4) };
    assert_eq!(status, UNDERTONE_STATUS_NO_LEXICON);
}

/// The pack handle may go before the document; the bytes may not.
#[test]
fn document_outlives_the_pack_handle() {
    let bytes = pack(1, &[depth(1)]);
    let (mut pack_memory, mut memory) = (Memory::new(), Memory::new());
    let (_, pack) = init_pack(&mut pack_memory, &bytes);
    let (_, document) = init_document(&mut memory, pack);
    pack_memory.0.fill(0xff);
    drop(pack_memory);
    // SAFETY: `document` is what `undertone_document_init` returned; the float is there.
    let status = unsafe { undertone_document_push(document, &0.5, 1) };
    assert_eq!(status, UNDERTONE_STATUS_OK);
}

/// A record of a ledger for vectors with the right checksum, whatever its content.
fn record(version: u8, counter: u64) -> [u8; UNDERTONE_LEDGER_RECORD_BYTES] {
    let mut bytes = [0; UNDERTONE_LEDGER_RECORD_BYTES];
    bytes[..6].copy_from_slice(b"UTLEDG");
    bytes[6..8].copy_from_slice(&[version, UNDERTONE_UNIT_VECTOR as u8]);
    bytes[24..32].copy_from_slice(&counter.to_le_bytes());
    bytes[40..48].copy_from_slice(&10u64.to_le_bytes());
    let digest = Sha256::digest(&bytes[..56]);
    bytes[56..].copy_from_slice(&digest[..8]);
    bytes
}

extern "C" fn entropy(_: *mut c_void, out: *mut u8, len: usize) -> i32 {
    // SAFETY: the library gives `len` writable bytes.
    unsafe { out.write_bytes(1, len) };
    0
}

#[test]
fn ledgers_of_other_versions_and_at_their_end_are_refused() {
    let mut memory: Box<Memory<UNDERTONE_LEDGER_HANDLE_SIZE>> = Memory::new();
    let mut open = |image: &[u8]| {
        let (unit, bytes, len) = (UNDERTONE_UNIT_VECTOR, image.as_ptr(), image.len());
        let context = ptr::null_mut();
        // SAFETY: all memory is there; the function fills what it is given.
        init(&mut memory, |memory, size, ledger| unsafe {
            undertone_ledger_open(
                memory,
                size,
                unit,
                bytes,
                len,
                Some(entropy),
                context,
                ledger,
            )
        })
    };
    for version in [1, 3] {
        let (status, none) = open(&[record(version, 1), record(2, 0)].concat());
        assert_eq!(
            (status, none.is_null()),
            (UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION, true)
        );
    }
    let image = [record(2, u64::MAX), record(2, 0)].concat();
    let (status, ledger) = open(&image);
    assert_eq!(status, UNDERTONE_STATUS_OK);
    let mut out = [0xee; UNDERTONE_LEDGER_RECORD_BYTES];
    let (mut written, mut offset) = (99, 99);
    // SAFETY: all memory is there; `ledger` is what `undertone_ledger_open` returned.
    let status = unsafe {
        undertone_ledger_reserve_epsilon(
            ledger,
            1,
            1,
            1,
            image.as_ptr(),
            image.len(),
            out.as_mut_ptr(),
            out.len(),
            &mut written,
            &mut offset,
        )
    };
    assert_eq!(status, UNDERTONE_STATUS_LEDGER_WORN_OUT);
    assert_eq!((out, written, offset), ([0xee; 64], 99, 99));
}
