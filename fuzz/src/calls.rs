//! Sequences of calls of the C interface on live handles, against a model of each handle.
//!
//! Arguments are valid, because `ffi_any_args` covers invalid ones. The order of the calls is
//! arbitrary, and so are the changes of handles between them: their memory is reused for another
//! kind, zeroed, copied elsewhere and back.

#![expect(unsafe_code, reason = "C calls are unsafe")]

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::ptr;

use arbitrary::{Result, Unstructured};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::laplace::LaplaceError;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, VectorMechanism};
use undertone_core::words::{Bag, Vocabulary, WordMechanism, WordsError};
use undertone_ffi::*;

use crate::double::Repeated;
use crate::ffi::{PACKS, SLOT_BYTES, Slot};

const SLOTS: usize = 6;
const DIMENSION: usize = 2;

/// The content of a slot, and its original slot: a copied handle is invalid.
#[derive(Clone)]
struct Held {
    home: usize,
    value: Value,
}

/// The model of a handle: the calls on it, not the state of the library.
#[derive(Clone)]
enum Value {
    Pack(usize),
    Document {
        pack: usize,
        pushed: Vec<Pushed>,
    },
    /// ε in micro-units, until it is spent.
    Grant(Option<(Unit, u32)>),
    Vocabulary(usize),
    Bag {
        pack: usize,
        pushed: Vec<Word>,
    },
    Vector(Vector),
}

#[derive(Clone)]
enum Pushed {
    Embeddings(Vec<f32>),
    Sentence(Vec<u8>),
    Text(Vec<u8>),
}

#[derive(Clone)]
enum Word {
    One(Vec<u8>),
    Text(Vec<u8>),
}

#[derive(Clone, Copy)]
struct Vector {
    /// With its projection.
    pack: Option<usize>,
    noise: Noise,
    micro: u32,
}

/// The bytes of the entropy function, and the handles that it disturbs.
struct Context {
    bytes: [u8; 3],
    fails: bool,
    document: *mut UndertoneDocument,
    bag: *mut UndertoneBag,
    calls: Cell<u32>,
    refused: Cell<bool>,
}

unsafe extern "C" fn entropy(context: *mut c_void, out: *mut u8, len: usize) -> i32 {
    // SAFETY: every call passes a context that is still there; `len` bytes are writable; the
    // handles are null or those of the call that asks.
    unsafe {
        let context = &*context.cast::<Context>();
        context.calls.set(context.calls.get() + 1);
        for index in 0..len {
            out.add(index).write(context.bytes[index % 3]);
        }
        let mut count = 0;
        if !context.document.is_null() {
            let document = context.document;
            let refused = [
                undertone_document_push(document, [0.0; DIMENSION].as_ptr(), DIMENSION),
                undertone_document_push_text(document, ptr::null(), 0, &mut count),
                undertone_document_reset(document),
            ] == [UNDERTONE_STATUS_BUSY; 3]
                && undertone_document_sentence_count(document) == 0;
            context.refused.set(context.refused.get() && refused);
        }
        if !context.bag.is_null() {
            let bag = context.bag;
            let refused = [
                undertone_bag_push(bag, ptr::null(), 0),
                undertone_bag_push_text(bag, ptr::null(), 0),
                undertone_bag_reset(bag),
            ] == [UNDERTONE_STATUS_BUSY; 3];
            context.refused.set(context.refused.get() && refused);
        }
        i32::from(context.fails)
    }
}

struct World {
    slots: Box<[Slot; SLOTS]>,
    held: [Option<Held>; SLOTS],
}

/// Makes calls until the data ends.
/// Checked: the status of every call; the number of sentences; every release, against `core` given
/// the same pushes and the same entropy; a grant is spent once; a document is empty after its
/// release, unchanged after one that failed, and unusable while its release asks for entropy.
pub fn ffi_calls_match_a_model(data: &[u8]) {
    let mut world = World {
        slots: Box::new([Slot([0; SLOT_BYTES]); SLOTS]),
        held: [const { None }; SLOTS],
    };
    let mut u = Unstructured::new(data);
    while !u.is_empty() {
        if step(&mut world, &mut u).is_err() {
            break;
        }
    }
}

fn pack_of(which: usize) -> Pack<'static> {
    Pack::parse(&PACKS[which]).expect("a well-formed pack")
}

/// The document that these pushes make.
fn document_of(pack: usize, pushed: &[Pushed]) -> Document<'static, 128, 100> {
    let mut document = Document::new(&pack_of(pack)).expect("it was made before");
    for pushed in pushed {
        // Refused pushes change nothing.
        let _ = match pushed {
            Pushed::Embeddings(rows) => document.push_all(rows).map(|_| ()),
            Pushed::Sentence(text) => document.push_sentence(text),
            Pushed::Text(text) => document.push_text(text).map(|_| ()),
        };
    }
    document
}

fn vector_of(vector: Vector) -> VectorMechanism<'static> {
    let epsilon = Epsilon::from_micro(vector.micro).expect("it was accepted");
    match vector.pack {
        None => VectorMechanism::new(DIMENSION as u32, 0, vector.noise, epsilon),
        Some(pack) => {
            let projection = pack_of(pack).projection().expect("it was found before");
            VectorMechanism::projected(
                projection,
                projection.bound_exponent(),
                vector.noise,
                epsilon,
            )
        }
    }
    .expect("it was made before")
}

impl World {
    fn slot(&mut self, u: &mut Unstructured<'_>) -> Result<usize> {
        u.int_in_range(0..=SLOTS - 1)
    }

    fn at<T>(&mut self, slot: usize) -> *mut T {
        self.slots[slot].0.as_mut_ptr().cast()
    }

    fn live(&self, slot: usize) -> Option<&Value> {
        let held = self.held[slot].as_ref()?;
        (held.home == slot).then_some(&held.value)
    }

    /// The model of a handle of this kind, or the expected status.
    fn find<'a, T>(&'a self, slot: usize, kind: impl Fn(&'a Value) -> Option<T>) -> Result<T, i32> {
        self.live(slot)
            .and_then(kind)
            .ok_or(UNDERTONE_STATUS_BAD_HANDLE)
    }

    fn pack(&self, slot: usize) -> Result<usize, i32> {
        self.find(slot, |value| match value {
            Value::Pack(pack) => Some(*pack),
            _ => None,
        })
    }

    fn grant(&self, slot: usize) -> Result<Option<(Unit, u32)>, i32> {
        self.find(slot, |value| match value {
            Value::Grant(grant) => Some(*grant),
            _ => None,
        })
    }

    fn document(&self, slot: usize) -> Result<(usize, Vec<Pushed>), i32> {
        self.find(slot, |value| match value {
            Value::Document { pack, pushed } => Some((*pack, pushed.clone())),
            _ => None,
        })
    }

    fn bag(&self, slot: usize) -> Result<(usize, Vec<Word>), i32> {
        self.find(slot, |value| match value {
            Value::Bag { pack, pushed } => Some((*pack, pushed.clone())),
            _ => None,
        })
    }

    /// After a call that was to make a handle.
    fn made<T>(&mut self, slot: usize, expected: Result<Made, i32>, status: i32, out: *mut T) {
        match expected {
            Ok(Made::Whole(value)) => {
                assert_eq!(
                    (status, out.cast()),
                    (UNDERTONE_STATUS_OK, self.at::<c_void>(slot))
                );
                self.held[slot] = Some(Held { home: slot, value });
            }
            Ok(Made::Wiped(error)) => {
                assert_eq!((status, out), (error, ptr::null_mut()));
                self.held[slot] = None;
            }
            Err(error) => assert_eq!((status, out), (error, ptr::null_mut())),
        }
    }
}

/// The state of memory after a call.
enum Made {
    Whole(Value),
    /// Refused with this status, and the earlier handle is gone.
    Wiped(i32),
}

fn context(u: &mut Unstructured<'_>) -> Result<Context> {
    let [mut a, b, c, d]: [u8; 4] = u.arbitrary()?;
    // Seldom only zeroes.
    a |= u8::from(d & 7 != 0);
    Ok(Context {
        bytes: [a, b, c],
        fails: d >> 3 & 7 == 0,
        document: ptr::null_mut(),
        bag: ptr::null_mut(),
        calls: Cell::new(0),
        refused: Cell::new(true),
    })
}

impl Context {
    fn works(&self) -> bool {
        !self.fails && Repeated(&self.bytes).works()
    }
}

fn text(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let parts = [
        &b"a"[..],
        b"word",
        b" ",
        b". A ",
        b"\xff",
        b"!\n\n",
        b"unknown",
    ];
    let mut text = Vec::new();
    for _ in 0..u.int_in_range(0..=20u8)? {
        text.extend_from_slice(u.choose(&parts)?);
    }
    Ok(text)
}

fn step(world: &mut World, u: &mut Unstructured<'_>) -> Result<()> {
    let slot = world.slot(u)?;
    // SAFETY: of all calls: handles are slots, which are there whatever is in them and which
    // nothing writes to but the library, and this function with zeroes or as a whole with what
    // another slot holds; arrays and outputs are Rust's; packs stay for ever.
    unsafe {
        match u.int_in_range(0..=18u8)? {
            0 => {
                let which = u.int_in_range(0..=PACKS.len() - 1)?;
                let mut out = ptr::null_mut();
                let bytes = &PACKS[which];
                let cut = if u.ratio(1, 16)? { 1 } else { 0 };
                let status = undertone_pack_init(
                    world.at(slot),
                    SLOT_BYTES,
                    bytes.as_ptr(),
                    bytes.len() - cut,
                    &mut out,
                );
                let expected = match cut {
                    0 => Made::Whole(Value::Pack(which)),
                    _ => Made::Wiped(UNDERTONE_STATUS_PACK_WRONG_LENGTH),
                };
                world.made(slot, Ok(expected), status, out);
            }
            1..=2 => {
                let from = world.slot(u)?;
                let mut out = ptr::null_mut();
                let status =
                    undertone_document_init(world.at(slot), SLOT_BYTES, world.at(from), &mut out);
                let expected = world.pack(from).and_then(|pack| {
                    if from == slot {
                        return Err(UNDERTONE_STATUS_OVERLAP);
                    }
                    let packed = pack_of(pack);
                    Ok(if packed.depth().is_some() || packed.scores().is_some() {
                        let pushed = Vec::new();
                        Made::Whole(Value::Document { pack, pushed })
                    } else {
                        Made::Wiped(UNDERTONE_STATUS_NO_CANDIDATES)
                    })
                });
                world.made(slot, expected, status, out);
            }
            3..=5 => push(world, slot, u)?,
            6 => {
                let expected = world.document(slot).map(|(pack, _)| pack);
                let status = undertone_document_reset(world.at(slot));
                assert_eq!(status, expected.err().unwrap_or(UNDERTONE_STATUS_OK));
                if let Ok(pack) = expected {
                    let pushed = Vec::new();
                    let value = Value::Document { pack, pushed };
                    world.held[slot] = Some(Held { home: slot, value });
                }
            }
            7..=8 => {
                let micro =
                    *u.choose(&[1, 100_000, 1_000_000, 5_000_000, 1_000_000_000, 0, u32::MAX])?;
                let number = u.int_in_range(0..=5)?;
                let mut out = ptr::null_mut();
                let (at, len) = (world.at(slot), SLOT_BYTES);
                let status =
                    undertone_grant_init_unrecorded(at, len, number.into(), micro, &mut out);
                let expected = match (Unit::from_number(number), micro) {
                    (None, _) => Err(UNDERTONE_STATUS_UNKNOWN_UNIT),
                    (_, 0) => Err(UNDERTONE_STATUS_EPSILON_TOO_SMALL),
                    (_, u32::MAX) => Err(UNDERTONE_STATUS_EPSILON_TOO_LARGE),
                    (Some(unit), _) => Ok(Made::Whole(Value::Grant(Some((unit, micro))))),
                };
                world.made(slot, expected, status, out);
            }
            9..=10 => release_document(world, slot, u)?,
            11 => {
                let from = world.slot(u)?;
                let mut out = ptr::null_mut();
                let status =
                    undertone_vocabulary_init(world.at(slot), SLOT_BYTES, world.at(from), &mut out);
                let expected = world
                    .pack(from)
                    .and_then(|pack| match pack_of(pack).lexicon() {
                        _ if from == slot => Err(UNDERTONE_STATUS_OVERLAP),
                        Some(_) => Ok(Made::Whole(Value::Vocabulary(pack))),
                        None => Ok(Made::Wiped(UNDERTONE_STATUS_NO_LEXICON)),
                    });
                world.made(slot, expected, status, out);
            }
            12 => {
                let from = world.slot(u)?;
                let mut out = ptr::null_mut();
                let status =
                    undertone_bag_init(world.at(slot), SLOT_BYTES, world.at(from), &mut out);
                let vocabulary = world.find(from, |value| match value {
                    Value::Vocabulary(pack) => Some(*pack),
                    _ => None,
                });
                let expected = vocabulary.and_then(|pack| {
                    if from == slot {
                        Err(UNDERTONE_STATUS_OVERLAP)
                    } else {
                        Ok(Made::Whole(Value::Bag {
                            pack,
                            pushed: Vec::new(),
                        }))
                    }
                });
                world.made(slot, expected, status, out);
            }
            13 => {
                let text = text(u)?;
                let (start, len) = (text.as_ptr().cast::<c_char>(), text.len());
                let (status, word) = match u.arbitrary()? {
                    0u8..128 => (
                        undertone_bag_push(world.at(slot), start, len),
                        Word::One(text),
                    ),
                    _ => (
                        undertone_bag_push_text(world.at(slot), start, len),
                        Word::Text(text),
                    ),
                };
                let expected = world.bag(slot).err().unwrap_or(UNDERTONE_STATUS_OK);
                assert_eq!(status, expected);
                if let Some(Value::Bag { pushed, .. }) =
                    world.held[slot].as_mut().map(|held| &mut held.value)
                    && status == UNDERTONE_STATUS_OK
                {
                    pushed.push(word);
                }
            }
            14 => release_bag(world, slot, u)?,
            15 => {
                let noise = u.int_in_range(2..=5)?;
                let micro = *u.choose(&[1_000_000, 5_000_000])?;
                let (from, projected) = (world.slot(u)?, u.arbitrary()?);
                let mut out = ptr::null_mut();
                let (memory, len) = (world.at(slot), SLOT_BYTES);
                let status = if projected {
                    undertone_vector_mechanism_init_projected(
                        memory,
                        len,
                        world.at(from),
                        noise,
                        micro,
                        &mut out,
                    )
                } else {
                    undertone_vector_mechanism_init(
                        memory,
                        len,
                        DIMENSION as u32,
                        0,
                        noise,
                        micro,
                        &mut out,
                    )
                };
                let source = if projected {
                    world.pack(from).map(Some)
                } else {
                    Ok(None)
                };
                let expected = source.and_then(|pack| {
                    if projected && from == slot {
                        return Err(UNDERTONE_STATUS_OVERLAP);
                    }
                    let noise = u8::try_from(noise).ok().and_then(Noise::from_number);
                    let noise = noise.ok_or(UNDERTONE_STATUS_UNKNOWN_NOISE)?;
                    if pack.is_some_and(|pack| pack_of(pack).projection().is_none()) {
                        return Err(UNDERTONE_STATUS_NO_PROJECTION);
                    }
                    Ok(Made::Whole(Value::Vector(Vector { pack, noise, micro })))
                });
                world.made(slot, expected, status, out);
            }
            16 => release_vector(world, slot, u)?,
            17 => {
                world.slots[slot].0.fill(0);
                world.held[slot] = None;
            }
            _ => {
                let from = world.slot(u)?;
                world.slots[slot] = world.slots[from];
                world.held[slot] = world.held[from].clone();
            }
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "C calls are unsafe")]
fn push(world: &mut World, slot: usize, u: &mut Unstructured<'_>) -> Result<()> {
    let found = world.document(slot);
    let before = found.as_ref().map_or(0, |(pack, pushed)| {
        document_of(*pack, pushed).sentence_count()
    });
    let has_lexicon = found
        .as_ref()
        .is_ok_and(|(pack, _)| pack_of(*pack).lexicon().is_some());
    let mut count = usize::MAX;
    // SAFETY: as in `step`.
    let (status, pushed, refused) = unsafe {
        match u.int_in_range(0..=3u8)? {
            0 => {
                let row: Vec<f32> = (0..u.int_in_range(1..=3usize)?)
                    .map(|_| u.arbitrary())
                    .collect::<Result<_>>()?;
                let status = undertone_document_push(world.at(slot), row.as_ptr(), row.len());
                let refused = match row.len() {
                    DIMENSION if before < 128 => None,
                    DIMENSION => Some(UNDERTONE_STATUS_DOCUMENT_FULL),
                    _ => Some(UNDERTONE_STATUS_WRONG_DIMENSION),
                };
                (status, Pushed::Embeddings(row), refused)
            }
            1 => {
                let row: [f32; DIMENSION] = u.arbitrary()?;
                let mut rows = row.repeat(u.int_in_range(0..=70)?);
                if u.ratio(1, 8)? {
                    rows.push(0.0);
                }
                let status = undertone_document_push_all(
                    world.at(slot),
                    rows.as_ptr(),
                    rows.len(),
                    &mut count,
                );
                let refused = rows.len() % DIMENSION != 0;
                let refused = refused.then_some(UNDERTONE_STATUS_WRONG_DIMENSION);
                (status, Pushed::Embeddings(rows), refused)
            }
            2 => {
                let text = text(u)?;
                let (start, len) = (text.as_ptr().cast(), text.len());
                let status = undertone_document_push_sentence(world.at(slot), start, len);
                let refused = match (has_lexicon, before) {
                    (false, _) => Some(UNDERTONE_STATUS_NO_LEXICON),
                    (true, 128) => Some(UNDERTONE_STATUS_DOCUMENT_FULL),
                    _ => None,
                };
                (status, Pushed::Sentence(text), refused)
            }
            _ => {
                let text = text(u)?;
                let (start, len) = (text.as_ptr().cast(), text.len());
                let status = undertone_document_push_text(world.at(slot), start, len, &mut count);
                let refused = (!has_lexicon).then_some(UNDERTONE_STATUS_NO_LEXICON);
                (status, Pushed::Text(text), refused)
            }
        }
    };
    let expected = found.as_ref().err().copied().or(refused);
    assert_eq!(status, expected.unwrap_or(UNDERTONE_STATUS_OK));
    let mut after = before;
    if let (Ok((pack, mut all)), UNDERTONE_STATUS_OK) = (found, status) {
        all.push(pushed);
        after = document_of(pack, &all).sentence_count();
        let value = Value::Document { pack, pushed: all };
        world.held[slot] = Some(Held { home: slot, value });
    }
    // SAFETY: as in `step`.
    let sentences = unsafe { undertone_document_sentence_count(world.at(slot)) };
    assert_eq!(sentences, after);
    assert!(count == usize::MAX || count == after - before);
    Ok(())
}

/// Releases other than those of a rule.
const BY_WHOLE_TEXT: i32 = 3;
const BY_GEOMETRY: i32 = 4;

#[expect(unsafe_code, reason = "C calls are unsafe")]
fn release_document(world: &mut World, slot: usize, u: &mut Unstructured<'_>) -> Result<()> {
    let paid = world.slot(u)?;
    let rule = u.int_in_range(0..=9i32)? % 5;
    let capacity = if u.ratio(1, 16)? { 23 } else { 24 };
    let mut context = context(u)?;
    if u.arbitrary()? {
        context.document = world.at(slot);
    }
    let (mut out, mut written) = ([0xa5; 24], usize::MAX);
    // SAFETY: as in `step`.
    let status = unsafe {
        let (document, grant) = (world.at(slot), world.at(paid));
        let entropy: UndertoneEntropyFn = Some(entropy);
        let context = ptr::from_mut(&mut context).cast();
        let (out, written) = (out.as_mut_ptr(), &raw mut written);
        match rule {
            BY_WHOLE_TEXT => undertone_document_release_whole_text(
                document, grant, entropy, context, out, capacity, written,
            ),
            BY_GEOMETRY => undertone_document_release_projective(
                document, grant, entropy, context, out, capacity, written,
            ),
            _ => undertone_document_release(
                document, grant, rule, entropy, context, out, capacity, written,
            ),
        }
    };
    let ready = world.document(slot).and_then(|(pack, pushed)| {
        let grant = world.grant(paid)?;
        let by_sentence = match rule {
            BY_WHOLE_TEXT | BY_GEOMETRY if pack_of(pack).scores().is_some() => None,
            BY_WHOLE_TEXT | BY_GEOMETRY => return Err(UNDERTONE_STATUS_NO_SCORES),
            _ => {
                let rule = u8::try_from(rule).ok().and_then(Rule::from_number);
                Some(rule.ok_or(UNDERTONE_STATUS_UNKNOWN_RULE)?)
            }
        };
        if capacity < 24 {
            return Err(UNDERTONE_STATUS_BUFFER_TOO_SMALL);
        }
        let unit = match by_sentence {
            Some(_) => Unit::Sentence,
            None => Unit::WholeText,
        };
        let micro = micro_for(grant, unit)?;
        Ok((pack, pushed, by_sentence, unit, micro))
    });
    let expected = ready.and_then(|(pack, pushed, by_sentence, unit, micro)| {
        world.held[paid] = Some(Held {
            home: paid,
            value: Value::Grant(None),
        });
        if !context.works() {
            return Err(UNDERTONE_STATUS_ENTROPY_FAILED);
        }
        let grant = Grant::unrecorded(unit, Epsilon::from_micro(micro).expect("it was accepted"));
        let mut document = document_of(pack, &pushed);
        let mut entropy = Repeated(&context.bytes);
        let release = match by_sentence {
            Some(rule) => document.release(grant, rule, &mut entropy),
            None if rule == BY_GEOMETRY => document.release_projective(grant, &mut entropy),
            None => document.release_whole_text(grant, &mut entropy),
        };
        world.held[slot] = Some(Held {
            home: slot,
            value: Value::Document {
                pack,
                pushed: Vec::new(),
            },
        });
        Ok(release.expect("working entropy").to_bytes())
    });
    finish(
        status,
        &context,
        expected.map(Vec::from),
        &out[..],
        written,
        24,
    );
    // SAFETY: as in `step`.
    let sentences = unsafe { undertone_document_sentence_count(world.at(slot)) };
    let left = world.document(slot).map_or(0, |(pack, pushed)| {
        document_of(pack, &pushed).sentence_count()
    });
    assert_eq!(sentences, left);
    Ok(())
}

/// The epsilon of a grant for this unit.
fn micro_for(grant: Option<(Unit, u32)>, wanted: Unit) -> Result<u32, i32> {
    match grant {
        None => Err(UNDERTONE_STATUS_GRANT_SPENT),
        Some((unit, _)) if unit != wanted => Err(UNDERTONE_STATUS_GRANT_WRONG_UNIT),
        Some((_, micro)) => Ok(micro),
    }
}

#[expect(unsafe_code, reason = "C calls are unsafe")]
fn release_bag(world: &mut World, slot: usize, u: &mut Unstructured<'_>) -> Result<()> {
    let paid = world.slot(u)?;
    let number = u.int_in_range(0..=4)?;
    let size = u.int_in_range(0..=6u32)?;
    let capacity = if u.ratio(1, 16)? { 25 } else { 64 };
    let mut context = context(u)?;
    if u.arbitrary()? {
        context.bag = world.at(slot);
    }
    let (mut out, mut written) = ([0xa5; 64], usize::MAX);
    // SAFETY: as in `step`.
    let status = unsafe {
        undertone_bag_release(
            world.at(slot),
            world.at(paid),
            size,
            number,
            Some(entropy),
            ptr::from_mut(&mut context).cast(),
            out.as_mut_ptr(),
            capacity,
            &mut written,
        )
    };
    let needed = 24 + 2 * size as usize;
    let ready = world.bag(slot).and_then(|(pack, pushed)| {
        let grant = world.grant(paid)?;
        if size == 0 {
            return Err(UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE);
        }
        let mechanism = match number {
            1 => WordMechanism::Selection(Rule::PermuteAndFlip),
            2 => WordMechanism::Selection(Rule::Exponential),
            3 => WordMechanism::LaplaceNearest,
            _ => return Err(UNDERTONE_STATUS_UNKNOWN_WORD_METHOD),
        };
        if capacity < needed {
            return Err(UNDERTONE_STATUS_BUFFER_TOO_SMALL);
        }
        let micro = micro_for(grant, Unit::Word)?;
        let epsilon = Epsilon::from_micro(micro).expect("it was accepted");
        let vocabulary = Vocabulary::new(&pack_of(pack)).expect("it was made before");
        let mut bag = Bag::new(&vocabulary);
        for word in &pushed {
            match word {
                Word::One(word) => bag.push(word),
                Word::Text(text) => bag.push_text(text),
            }
        }
        // Noise has a least ε, and a largest for these words; neither spends the grant.
        match bag.check(mechanism, epsilon) {
            Ok(()) => {}
            Err(WordsError::Laplace(LaplaceError::Bound { .. })) => {
                return Err(UNDERTONE_STATUS_BOUND_OUT_OF_RANGE);
            }
            Err(WordsError::Laplace(_)) => {
                return Err(UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE);
            }
            Err(error) => panic!("{error}"),
        }
        Ok((pack, bag, mechanism, epsilon))
    });
    let expected = ready.and_then(|(pack, mut bag, mechanism, epsilon)| {
        world.held[paid] = Some(Held {
            home: paid,
            value: Value::Grant(None),
        });
        if !context.works() {
            return Err(UNDERTONE_STATUS_ENTROPY_FAILED);
        }
        let mut bytes = vec![0; needed];
        let grant = Grant::unrecorded(Unit::Word, epsilon);
        let drawn = bag.release(
            size as u16,
            mechanism,
            grant,
            &mut Repeated(&context.bytes),
            &mut bytes,
        );
        assert_eq!(drawn, Ok(needed));
        world.held[slot] = Some(Held {
            home: slot,
            value: Value::Bag {
                pack,
                pushed: Vec::new(),
            },
        });
        Ok(bytes)
    });
    finish(status, &context, expected, &out[..], written, needed);
    Ok(())
}

#[expect(unsafe_code, reason = "C calls are unsafe")]
fn release_vector(world: &mut World, slot: usize, u: &mut Unstructured<'_>) -> Result<()> {
    let paid = world.slot(u)?;
    let row: [f32; DIMENSION] = u.arbitrary()?;
    let len = if u.ratio(1, 16)? { 1 } else { DIMENSION };
    let capacity = if u.ratio(1, 16)? { 43 } else { 64 };
    let mut context = context(u)?;
    let (mut out, mut written) = ([0xa5; 64], usize::MAX);
    // SAFETY: as in `step`.
    let status = unsafe {
        undertone_vector_mechanism_release(
            world.at(slot),
            world.at(paid),
            row.as_ptr(),
            len,
            Some(entropy),
            ptr::from_mut(&mut context).cast(),
            out.as_mut_ptr(),
            capacity,
            &mut written,
        )
    };
    let found = world.find(slot, |value| match value {
        Value::Vector(vector) => Some(*vector),
        _ => None,
    });
    let needed = found.map_or(0, |vector| vector_of(vector).release_bytes());
    let ready = found.and_then(|vector| {
        let grant = world.grant(paid)?;
        if len != DIMENSION {
            return Err(UNDERTONE_STATUS_WRONG_DIMENSION);
        }
        if capacity < needed {
            return Err(UNDERTONE_STATUS_BUFFER_TOO_SMALL);
        }
        if micro_for(grant, Unit::Vector)? == vector.micro {
            Ok(vector_of(vector))
        } else {
            Err(UNDERTONE_STATUS_GRANT_WRONG_EPSILON)
        }
    });
    let expected = ready.and_then(|mechanism| {
        world.held[paid] = Some(Held {
            home: paid,
            value: Value::Grant(None),
        });
        if !context.works() {
            return Err(UNDERTONE_STATUS_ENTROPY_FAILED);
        }
        let mut bytes = vec![0; needed];
        let grant = Grant::unrecorded(Unit::Vector, mechanism.laplace().epsilon());
        let drawn = mechanism.release(grant, &row, &mut Repeated(&context.bytes), &mut bytes);
        assert_eq!(drawn, Ok(needed));
        Ok(bytes)
    });
    finish(status, &context, expected, &out[..], written, needed);
    Ok(())
}

/// Compares a release and its number of requests for entropy with the expected ones.
fn finish(
    status: i32,
    context: &Context,
    expected: Result<Vec<u8>, i32>,
    out: &[u8],
    written: usize,
    needed: usize,
) {
    assert!(context.refused.get());
    let calls = context.calls.get();
    match expected {
        Ok(bytes) => {
            assert_eq!((status, written, calls), (UNDERTONE_STATUS_OK, needed, 1));
            assert_eq!(out[..needed], bytes);
            assert!(out[needed..].iter().all(|byte| *byte == 0xa5));
        }
        Err(error) => {
            let told = match error {
                UNDERTONE_STATUS_BUFFER_TOO_SMALL => needed,
                _ => usize::MAX,
            };
            let asked = u32::from(error == UNDERTONE_STATUS_ENTROPY_FAILED);
            assert_eq!((status, written, calls), (error, told, asked));
            assert!(out.iter().all(|byte| *byte == 0xa5));
        }
    }
}
