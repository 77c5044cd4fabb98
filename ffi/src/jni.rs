//! The native functions of the Java classes in `ffi/java`. Each calls the function of the C interface that it
//! is named after, and returns its status.
//!
//! Nothing is allocated here either. The memory of a handle is a direct buffer, which does not move and lives
//! as long as the Java object that holds it. The classes make sure that no argument is null, that one thread at
//! a time uses a handle, and that a pack outlives its documents.

use core::cell::Cell;
use core::ffi::{c_char, c_void};
use core::{ptr, slice};

use jni_sys::{
    JNI_ABORT, JNIEnv, jarray, jboolean, jbyteArray, jclass, jfloatArray, jint, jlong, jlongArray,
    jobject, jsize, jstring,
};
use zeroize::{DefaultIsZeroes, Zeroize, Zeroizing};

use crate::document::{
    UndertoneDocument, undertone_document_handle_size, undertone_document_init,
    undertone_document_promise, undertone_document_push, undertone_document_push_encoded,
    undertone_document_push_sentence, undertone_document_push_text, undertone_document_release,
    undertone_document_release_projective, undertone_document_release_whole_text,
    undertone_document_reset,
};
use crate::epsilon::undertone_epsilon_parse;
use crate::grant::{UndertoneGrant, undertone_grant_handle_size, undertone_grant_init_unrecorded};
use crate::ledger::{
    self, UNDERTONE_LEDGER_IMAGE_BYTES, UNDERTONE_LEDGER_RECORD_BYTES, UndertoneLedger,
    undertone_ledger_create_image, undertone_ledger_grant, undertone_ledger_handle_size,
    undertone_ledger_open, undertone_ledger_remaining,
};
use crate::pack::{
    UNDERTONE_ENCODER_DIGEST_BYTES, UNDERTONE_ENCODER_NAME_BYTES, UNDERTONE_HANDLE_ALIGNMENT,
    UNDERTONE_PACK_ID_BYTES, UndertonePack, undertone_pack_candidate_count,
    undertone_pack_dimension, undertone_pack_encoder_digest, undertone_pack_encoder_name,
    undertone_pack_feature_count, undertone_pack_handle_size, undertone_pack_id,
    undertone_pack_init, undertone_pack_nothing_known, undertone_pack_recommended_unit,
    undertone_pack_word_count,
};
use crate::release::{
    UNDERTONE_RELEASE_BYTES, undertone_release_read, undertone_release_read_order,
    undertone_release_read_unit,
};
use crate::status::{
    UNDERTONE_STATUS_LEDGER_RECORD_LOST, UNDERTONE_STATUS_OK, undertone_status_message,
};
use crate::version::{undertone_abi_version, undertone_version};

/// How a virtual machine shows the elements of an array, and says whether they are a copy.
type Get<T> = unsafe extern "system" fn(*mut JNIEnv, jarray, *mut jboolean) -> *mut T;
/// How it takes them back.
type GiveBack<T> = unsafe extern "system" fn(*mut JNIEnv, jarray, *mut T, jint);

/// The virtual machine, as one call from it sees it.
///
/// Made of the first argument of such a call, and used with its other arguments, or with null for them,
/// until it returns: that is what the unsafe calls in this file rely on.
#[derive(Clone, Copy)]
struct Vm(*mut JNIEnv);

impl Vm {
    /// The bytes of a direct buffer; null if it is not one.
    fn buffer(self, buffer: jobject) -> (*mut u8, usize) {
        if buffer.is_null() {
            return (ptr::null_mut(), 0);
        }
        // SAFETY: `self.0` is valid for the call that it came with, and so is `buffer`.
        let (start, capacity) = unsafe {
            let calls = &(**self.0).v1_4;
            (
                (calls.GetDirectBufferAddress)(self.0, buffer),
                (calls.GetDirectBufferCapacity)(self.0, buffer),
            )
        };
        match usize::try_from(capacity) {
            Ok(capacity) => (start.cast(), capacity),
            Err(_) => (ptr::null_mut(), 0),
        }
    }

    /// The aligned part of a direct buffer for a handle.
    fn memory(self, buffer: jobject) -> (*mut c_void, usize) {
        let (start, capacity) = self.buffer(buffer);
        let skipped = start.addr().wrapping_neg() % UNDERTONE_HANDLE_ALIGNMENT;
        match capacity.checked_sub(skipped) {
            Some(rest) => (start.wrapping_add(skipped).cast(), rest),
            None => (ptr::null_mut(), 0),
        }
    }

    /// The handle in a direct buffer, valid or not.
    fn handle<H>(self, buffer: jobject) -> *mut H {
        let (memory, len) = self.memory(buffer);
        // What was never large enough for a handle was never one.
        if len < size_of::<usize>() {
            ptr::null_mut()
        } else {
            memory.cast()
        }
    }

    /// Runs `call` on the bytes of an array.
    fn bytes(self, array: jbyteArray, call: impl FnOnce(*const u8, usize) -> i32) -> i32 {
        // SAFETY: `self.0` is valid for the call that it came with, and so is `array`, an array of bytes by the type of
        // the Java method; the two functions belong together.
        unsafe {
            let calls = &(**self.0).v1_4;
            let pair = (calls.GetByteArrayElements, calls.ReleaseByteArrayElements);
            self.elements(array, pair, |start, count| call(start.cast(), count))
        }
    }

    /// Runs `call` on the floats of an array.
    fn floats(self, array: jfloatArray, call: impl FnOnce(*const f32, usize) -> i32) -> i32 {
        // SAFETY: as in `bytes`, for an array of floats.
        unsafe {
            let calls = &(**self.0).v1_4;
            let pair = (calls.GetFloatArrayElements, calls.ReleaseFloatArrayElements);
            self.elements(array, pair, call)
        }
    }

    /// Runs `call` on the elements of an array, which the virtual machine copies: only a copy lets its garbage
    /// collector run in the meantime. The elements may be private, so the copy is wiped.
    ///
    /// # Safety
    /// `self.0` and `array` are valid; the functions are the virtual machine's own for arrays of `T`.
    unsafe fn elements<T: DefaultIsZeroes>(
        self,
        array: jarray,
        (get, give_back): (Get<T>, GiveBack<T>),
        call: impl FnOnce(*const T, usize) -> i32,
    ) -> i32 {
        if array.is_null() {
            return call(ptr::null(), 0);
        }
        // SAFETY: the caller's promise. Without memory `start` is null, which `call` refuses unless the array is empty,
        // and an exception is thrown; otherwise it is valid, and a copy is ours alone, until it is given back.
        unsafe {
            let count = ((**self.0).v1_4.GetArrayLength)(self.0, array);
            let count = usize::try_from(count).unwrap_or(0);
            let mut is_copy: jboolean = Default::default();
            let start = get(self.0, array, &raw mut is_copy);
            let status = call(start, count);
            if !start.is_null() {
                if is_copy != jboolean::default() {
                    slice::from_raw_parts_mut(start, count).zeroize();
                }
                give_back(self.0, array, start, JNI_ABORT);
            }
            status
        }
    }

    /// The bytes of an array of that length; otherwise an exception is thrown, and the bytes are zeroes,
    /// which nothing takes for entropy.
    fn secret(self, array: jbyteArray) -> Secret {
        let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
        // SAFETY: as in `bytes`; the virtual machine checks the length.
        unsafe {
            ((**self.0).v1_4.GetByteArrayRegion)(
                self.0,
                array,
                0,
                SECRET_BYTES as jsize,
                bytes.as_mut_ptr().cast(),
            );
        }
        Secret {
            bytes,
            given: Cell::new(0),
        }
    }

    /// Copies bytes into an array that is at least as long, or throws an exception.
    fn write<const N: usize>(self, bytes: &[u8; N], out: jbyteArray) {
        // SAFETY: as in `bytes`; the bytes are there, and the virtual machine checks the length.
        unsafe {
            ((**self.0).v1_4.SetByteArrayRegion)(self.0, out, 0, N as jsize, bytes.as_ptr().cast());
        }
    }

    /// Copies numbers into an array that is at least as long, or throws an exception.
    fn write_longs<const N: usize>(self, numbers: &[jlong; N], out: jlongArray) {
        // SAFETY: as in `write`.
        unsafe {
            ((**self.0).v1_4.SetLongArrayRegion)(self.0, out, 0, N as jsize, numbers.as_ptr());
        }
    }

    /// A string of a static one in ASCII.
    fn string(self, text: *const c_char) -> jstring {
        // SAFETY: `self.0` is valid for the call that it came with; the text ends with a zero.
        unsafe { ((**self.0).v1_4.NewStringUTF)(self.0, text) }
    }
}

/// An epsilon in micro-units. A number that does not fit a u32 is out of range anyway.
fn micro(epsilon: jlong) -> u32 {
    u32::try_from(epsilon.max(0)).unwrap_or(u32::MAX)
}

/// A value that is not negative, or a status with its sign changed.
fn value_or(status: i32, value: usize) -> jint {
    if status == UNDERTONE_STATUS_OK {
        value as jint
    } else {
        -status
    }
}

/// The bytes that a buffer for a handle needs, wherever it starts.
fn memory_for(handle_size: usize) -> jint {
    (handle_size + UNDERTONE_HANDLE_ALIGNMENT) as jint
}

/// Secret bytes from `SecureRandom`, each given away once.
struct Secret {
    bytes: Zeroizing<[u8; SECRET_BYTES]>,
    given: Cell<usize>,
}

/// As many as a call takes at most, and as `Native.entropy` has.
const SECRET_BYTES: usize = 32;

/// # Safety
/// `context` is a [`Secret`]; `out` is `len` writable bytes elsewhere.
unsafe extern "C" fn give_secret(context: *mut c_void, out: *mut u8, len: usize) -> i32 {
    // SAFETY: the caller's promise.
    let secret = unsafe { &*context.cast::<Secret>() };
    let given = secret.given.get();
    let Some(bytes) = given
        .checked_add(len)
        .and_then(|end| secret.bytes.get(given..end))
    else {
        return -1;
    };
    secret.given.set(given + len);
    // SAFETY: `bytes` has that length, and `out` has room for it.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), out, len) };
    0
}

/// `Native.abiVersion`
#[unsafe(export_name = "Java_dev_undertone_Native_abiVersion")]
extern "system" fn abi_version(_: *mut JNIEnv, _: jclass) -> jint {
    undertone_abi_version() as jint
}

/// `Native.version`
#[unsafe(export_name = "Java_dev_undertone_Native_version")]
extern "system" fn version(env: *mut JNIEnv, _: jclass) -> jstring {
    Vm(env).string(undertone_version())
}

/// `Native.statusMessage`
#[unsafe(export_name = "Java_dev_undertone_Native_statusMessage")]
extern "system" fn status_message(env: *mut JNIEnv, _: jclass, status: jint) -> jstring {
    Vm(env).string(undertone_status_message(status))
}

/// `Native.epsilonParse`: the epsilon in micro-units, or a status with its sign changed.
#[unsafe(export_name = "Java_dev_undertone_Native_epsilonParse")]
extern "system" fn epsilon_parse(env: *mut JNIEnv, _: jclass, text: jbyteArray) -> jint {
    let mut micro = 0;
    // SAFETY: `bytes` gives readable bytes; the output is a variable here.
    let status = Vm(env).bytes(text, |text, len| unsafe {
        undertone_epsilon_parse(text.cast::<c_char>(), len, &raw mut micro)
    });
    value_or(status, micro as usize)
}

/// `Native.packHandleMemory`: the bytes that a buffer for a pack needs, wherever it starts.
#[unsafe(export_name = "Java_dev_undertone_Native_packHandleMemory")]
extern "system" fn pack_memory(_: *mut JNIEnv, _: jclass) -> jint {
    memory_for(undertone_pack_handle_size())
}

/// `Native.packInit`
#[unsafe(export_name = "Java_dev_undertone_Native_packInit")]
extern "system" fn pack_init(env: *mut JNIEnv, _: jclass, memory: jobject, bytes: jobject) -> jint {
    let vm = Vm(env);
    let (memory, memory_len) = vm.memory(memory);
    let (bytes, len) = vm.buffer(bytes);
    let mut pack = ptr::null_mut();
    // SAFETY: both buffers are as long as they say, and held by the `Pack`, which promises in its
    // documentation that the bytes stay as they are; the output is a variable here.
    unsafe { undertone_pack_init(memory, memory_len, bytes, len, &raw mut pack) }
}

/// `Native.packDimension`
#[unsafe(export_name = "Java_dev_undertone_Native_packDimension")]
extern "system" fn pack_dimension(env: *mut JNIEnv, _: jclass, pack: jobject) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_dimension(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packCandidateCount`
#[unsafe(export_name = "Java_dev_undertone_Native_packCandidateCount")]
extern "system" fn pack_candidates(env: *mut JNIEnv, _: jclass, pack: jobject) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_candidate_count(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packWordCount`
#[unsafe(export_name = "Java_dev_undertone_Native_packWordCount")]
extern "system" fn pack_words(env: *mut JNIEnv, _: jclass, pack: jobject) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_word_count(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packFeatureCount`
#[unsafe(export_name = "Java_dev_undertone_Native_packFeatureCount")]
extern "system" fn pack_features(env: *mut JNIEnv, _: jclass, pack: jobject) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_feature_count(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packNothingKnown`
#[unsafe(export_name = "Java_dev_undertone_Native_packNothingKnown")]
extern "system" fn pack_nothing_known(env: *mut JNIEnv, _: jclass, pack: jobject) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_nothing_known(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packRecommendedUnit`
#[unsafe(export_name = "Java_dev_undertone_Native_packRecommendedUnit")]
extern "system" fn pack_recommended_unit(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    epsilon_micro: jlong,
    sentences: jint,
) -> jint {
    let sentences = sentences.try_into().unwrap_or(0);
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe {
        let pack = Vm(env).handle::<UndertonePack>(pack);
        undertone_pack_recommended_unit(pack, micro(epsilon_micro), sentences)
    }
}

/// Copies what `describe` writes of a pack into an array.
fn description<const N: usize>(
    env: *mut JNIEnv,
    pack: jobject,
    out: jbyteArray,
    describe: unsafe extern "C" fn(*const UndertonePack, *mut u8) -> i32,
) -> jint {
    let vm = Vm(env);
    let mut bytes = [0; N];
    // SAFETY: a buffer that `packInit` made a pack in; the output is a variable here, and as long as `describe` says.
    let status = unsafe { describe(vm.handle::<UndertonePack>(pack), bytes.as_mut_ptr()) };
    vm.write(&bytes, out);
    status
}

/// `Native.packId`
#[unsafe(export_name = "Java_dev_undertone_Native_packId")]
extern "system" fn pack_id(env: *mut JNIEnv, _: jclass, pack: jobject, out: jbyteArray) -> jint {
    description::<UNDERTONE_PACK_ID_BYTES>(env, pack, out, undertone_pack_id)
}

/// `Native.packEncoderDigest`
#[unsafe(export_name = "Java_dev_undertone_Native_packEncoderDigest")]
extern "system" fn pack_encoder_digest(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    out: jbyteArray,
) -> jint {
    description::<UNDERTONE_ENCODER_DIGEST_BYTES>(env, pack, out, undertone_pack_encoder_digest)
}

/// [`undertone_pack_encoder_name`] in bytes.
///
/// # Safety
/// As for that function.
unsafe extern "C" fn encoder_name(pack: *const UndertonePack, out: *mut u8) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { undertone_pack_encoder_name(pack, out.cast()) }
}

/// `Native.packEncoderName`
#[unsafe(export_name = "Java_dev_undertone_Native_packEncoderName")]
extern "system" fn pack_encoder_name(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    out: jbyteArray,
) -> jint {
    description::<UNDERTONE_ENCODER_NAME_BYTES>(env, pack, out, encoder_name)
}

/// `Native.grantHandleMemory`: the bytes that a buffer for a grant needs, wherever it starts.
#[unsafe(export_name = "Java_dev_undertone_Native_grantHandleMemory")]
extern "system" fn grant_memory(_: *mut JNIEnv, _: jclass) -> jint {
    memory_for(undertone_grant_handle_size())
}

/// `Native.grantInitUnrecorded`
#[unsafe(export_name = "Java_dev_undertone_Native_grantInitUnrecorded")]
extern "system" fn grant_unrecorded(
    env: *mut JNIEnv,
    _: jclass,
    memory: jobject,
    unit: jint,
    epsilon_micro: jlong,
) -> jint {
    let (memory, memory_len) = Vm(env).memory(memory);
    let epsilon = micro(epsilon_micro);
    let mut grant = ptr::null_mut();
    // SAFETY: the memory is as long as it says and held by the `Grant`; the output is a variable here.
    unsafe { undertone_grant_init_unrecorded(memory, memory_len, unit, epsilon, &raw mut grant) }
}

/// `Native.ledgerCreateImage`
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerCreateImage")]
extern "system" fn ledger_create(
    env: *mut JNIEnv,
    _: jclass,
    unit: jint,
    budget_micro: jlong,
    entropy: jbyteArray,
    out_image: jbyteArray,
) -> jint {
    let vm = Vm(env);
    let mut secret = vm.secret(entropy);
    let mut image = [0; UNDERTONE_LEDGER_IMAGE_BYTES];
    let mut written = 0;
    // SAFETY: `give_secret` keeps the promises of its type with a secret; the outputs are variables here.
    let status = unsafe {
        undertone_ledger_create_image(
            unit,
            budget_micro.max(0).cast_unsigned(),
            Some(give_secret),
            (&raw mut secret).cast(),
            image.as_mut_ptr(),
            image.len(),
            &raw mut written,
        )
    };
    if status == UNDERTONE_STATUS_OK {
        vm.write(&image, out_image);
    }
    status
}

/// `Native.ledgerHandleMemory`: the bytes that a buffer for a ledger needs, wherever it starts.
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerHandleMemory")]
extern "system" fn ledger_memory(_: *mut JNIEnv, _: jclass) -> jint {
    memory_for(undertone_ledger_handle_size())
}

/// `Native.ledgerOpen`
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerOpen")]
extern "system" fn ledger_open(
    env: *mut JNIEnv,
    _: jclass,
    memory: jobject,
    unit: jint,
    image: jbyteArray,
    entropy: jbyteArray,
) -> jint {
    let vm = Vm(env);
    let (memory, memory_len) = vm.memory(memory);
    let mut secret = vm.secret(entropy);
    let mut ledger = ptr::null_mut();
    // SAFETY: the memory is as long as it says and held by the `Ledger`; `bytes` gives readable bytes;
    // `give_secret` keeps the promises of its type with a secret; the output is a variable here.
    vm.bytes(image, |image, len| unsafe {
        undertone_ledger_open(
            memory,
            memory_len,
            unit,
            image,
            len,
            Some(give_secret),
            (&raw mut secret).cast(),
            &raw mut ledger,
        )
    })
}

/// `Native.ledgerRemaining`
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerRemaining")]
extern "system" fn ledger_remaining(
    env: *mut JNIEnv,
    _: jclass,
    ledger: jobject,
    window: jlong,
    out_micro: jlongArray,
) -> jint {
    let vm = Vm(env);
    let mut micro = 0;
    // SAFETY: a buffer that `ledgerOpen` made a ledger in, and the monitor of the `Ledger` is held; the
    // output is a variable here.
    let status = unsafe {
        undertone_ledger_remaining(
            vm.handle::<UndertoneLedger>(ledger),
            window.cast_unsigned(),
            &raw mut micro,
        )
    };
    if status == UNDERTONE_STATUS_OK {
        vm.write_longs(&[jlong::try_from(micro).unwrap_or(jlong::MAX)], out_micro);
    }
    status
}

/// The platform's counter; Java says -1 where it has none.
fn counter(value: jlong) -> Option<u64> {
    value.try_into().ok()
}

/// `Native.ledgerMeet`
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerMeet")]
extern "system" fn ledger_meet(env: *mut JNIEnv, _: jclass, ledger: jobject, value: jlong) -> jint {
    // SAFETY: a buffer that `ledgerOpen` made a ledger in, and the monitor of the `Ledger` is held.
    unsafe { ledger::meet(Vm(env).handle::<UndertoneLedger>(ledger), counter(value)) }
}

/// `Native.ledgerReserve`: writes the record, its offset, and what the platform's counter has to be raised to, also if a
/// record was lost.
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerReserve")]
extern "system" fn ledger_reserve(
    env: *mut JNIEnv,
    _: jclass,
    ledger: jobject,
    epsilon_micro: jlong,
    words: jint,
    window: jlong,
    counted: jlong,
    stored: jbyteArray,
    out_record: jbyteArray,
    out_numbers: jlongArray,
) -> jint {
    let vm = Vm(env);
    let ledger = vm.handle::<UndertoneLedger>(ledger);
    let mut record = [0; UNDERTONE_LEDGER_RECORD_BYTES];
    let (mut written, mut offset, mut number) = (0, 0, 0);
    // SAFETY: a buffer that `ledgerOpen` made a ledger in, and the monitor of the `Ledger` is held;
    // `bytes` gives readable bytes; the outputs are variables here.
    let status = vm.bytes(stored, |stored, len| unsafe {
        ledger::reserve(
            ledger,
            (micro(epsilon_micro), words.try_into().unwrap_or(0)),
            window.cast_unsigned(),
            counter(counted),
            (stored, len),
            (record.as_mut_ptr(), record.len(), &raw mut written),
            &raw mut offset,
            &mut number,
        )
    });
    if let UNDERTONE_STATUS_OK | UNDERTONE_STATUS_LEDGER_RECORD_LOST = status {
        vm.write(&record, out_record);
        vm.write_longs(&[offset as jlong, number.cast_signed()], out_numbers);
    }
    status
}

/// `Native.ledgerGrant`
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerGrant")]
extern "system" fn ledger_grant(
    env: *mut JNIEnv,
    _: jclass,
    ledger: jobject,
    read_back: jbyteArray,
    memory: jobject,
) -> jint {
    let vm = Vm(env);
    let ledger = vm.handle::<UndertoneLedger>(ledger);
    let (memory, memory_len) = vm.memory(memory);
    let mut grant = ptr::null_mut();
    // SAFETY: a buffer that `ledgerOpen` made a ledger in, and the monitor of the `Ledger` is held;
    // `bytes` gives readable bytes; the memory is as long as it says and held by the `Grant`; the
    // output is a variable here.
    vm.bytes(read_back, |read_back, len| unsafe {
        undertone_ledger_grant(ledger, read_back, len, memory, memory_len, &raw mut grant)
    })
}

/// `Native.documentHandleMemory`: the bytes that a buffer for a document needs, wherever it starts.
#[unsafe(export_name = "Java_dev_undertone_Native_documentHandleMemory")]
extern "system" fn document_memory(_: *mut JNIEnv, _: jclass) -> jint {
    memory_for(undertone_document_handle_size())
}

/// `Native.documentInit`
#[unsafe(export_name = "Java_dev_undertone_Native_documentInit")]
extern "system" fn document_init(
    env: *mut JNIEnv,
    _: jclass,
    memory: jobject,
    pack: jobject,
) -> jint {
    let vm = Vm(env);
    let (memory, memory_len) = vm.memory(memory);
    let mut document = ptr::null_mut();
    // SAFETY: the memory is as long as it says and held by the `Document`, which holds the `Pack`,
    // too; the output is a variable here.
    unsafe {
        undertone_document_init(
            memory,
            memory_len,
            vm.handle::<UndertonePack>(pack),
            &raw mut document,
        )
    }
}

/// `Native.documentPush`
#[unsafe(export_name = "Java_dev_undertone_Native_documentPush")]
extern "system" fn document_push(
    env: *mut JNIEnv,
    _: jclass,
    document: jobject,
    embedding: jfloatArray,
) -> jint {
    let vm = Vm(env);
    let document = vm.handle::<UndertoneDocument>(document);
    // SAFETY: a buffer that `documentInit` made a document in, and the monitor of the `Document` is
    // held; `floats` gives readable floats.
    vm.floats(embedding, |embedding, len| unsafe {
        undertone_document_push(document, embedding, len)
    })
}

/// `Native.documentPushEncoded`
#[unsafe(export_name = "Java_dev_undertone_Native_documentPushEncoded")]
extern "system" fn document_push_encoded(
    env: *mut JNIEnv,
    _: jclass,
    document: jobject,
    text: jbyteArray,
    embedding: jfloatArray,
) -> jint {
    let vm = Vm(env);
    let document = vm.handle::<UndertoneDocument>(document);
    vm.bytes(text, |text, text_len| {
        // SAFETY: a buffer that `documentInit` made a document in, and the monitor of the `Document` is
        // held; `bytes` and `floats` give readable ones.
        vm.floats(embedding, |embedding, len| unsafe {
            undertone_document_push_encoded(
                document,
                text.cast::<c_char>(),
                text_len,
                embedding,
                len,
            )
        })
    })
}

/// `Native.documentPushSentence`
#[unsafe(export_name = "Java_dev_undertone_Native_documentPushSentence")]
extern "system" fn document_push_sentence(
    env: *mut JNIEnv,
    _: jclass,
    document: jobject,
    text: jbyteArray,
) -> jint {
    let vm = Vm(env);
    let document = vm.handle::<UndertoneDocument>(document);
    // SAFETY: a buffer that `documentInit` made a document in, and the monitor of the `Document` is
    // held; `bytes` gives readable bytes.
    vm.bytes(text, |text, len| unsafe {
        undertone_document_push_sentence(document, text.cast::<c_char>(), len)
    })
}

/// `Native.documentPushText`: how many sentences were added, or a status with its sign changed.
#[unsafe(export_name = "Java_dev_undertone_Native_documentPushText")]
extern "system" fn document_push_text(
    env: *mut JNIEnv,
    _: jclass,
    document: jobject,
    text: jbyteArray,
) -> jint {
    let vm = Vm(env);
    let document = vm.handle::<UndertoneDocument>(document);
    let mut sentences = 0;
    // SAFETY: a buffer that `documentInit` made a document in, and the monitor of the `Document` is
    // held; `bytes` gives readable bytes; the output is a variable here.
    let status = vm.bytes(text, |text, len| unsafe {
        undertone_document_push_text(document, text.cast::<c_char>(), len, &raw mut sentences)
    });
    value_or(status, sentences)
}

/// `Native.documentReset`
#[unsafe(export_name = "Java_dev_undertone_Native_documentReset")]
extern "system" fn document_reset(env: *mut JNIEnv, _: jclass, document: jobject) -> jint {
    // SAFETY: a buffer that `documentInit` made a document in, and the monitor of the `Document` is
    // held.
    unsafe { undertone_document_reset(Vm(env).handle::<UndertoneDocument>(document)) }
}

/// `Native.documentPromise`: for a sentence and for the whole text.
#[unsafe(export_name = "Java_dev_undertone_Native_documentPromise")]
extern "system" fn document_promise(
    env: *mut JNIEnv,
    _: jclass,
    document: jobject,
    unit: jint,
    epsilon_micro: jlong,
    out_micro: jlongArray,
) -> jint {
    let vm = Vm(env);
    let (mut sentence, mut whole_text) = (0, 0);
    // SAFETY: a buffer that `documentInit` made a document in, and the monitor of the `Document` is
    // held; the outputs are variables here.
    let status = unsafe {
        undertone_document_promise(
            vm.handle::<UndertoneDocument>(document),
            unit,
            micro(epsilon_micro),
            &raw mut sentence,
            &raw mut whole_text,
        )
    };
    if status == UNDERTONE_STATUS_OK {
        let promise = [sentence, whole_text].map(|micro| micro.try_into().unwrap_or(jlong::MAX));
        vm.write_longs(&promise, out_micro);
    }
    status
}

/// `Native.documentRelease`
#[unsafe(export_name = "Java_dev_undertone_Native_documentRelease")]
extern "system" fn document_release(
    env: *mut JNIEnv,
    _: jclass,
    document: jobject,
    grant: jobject,
    rule: jint,
    entropy: jbyteArray,
    out: jbyteArray,
) -> jint {
    // SAFETY: `released` gives what the function asks for.
    released(Vm(env), entropy, out, |vm, secret, out, written| unsafe {
        undertone_document_release(
            vm.handle::<UndertoneDocument>(document),
            vm.handle::<UndertoneGrant>(grant),
            rule,
            Some(give_secret),
            secret,
            out.as_mut_ptr(),
            out.len(),
            written,
        )
    })
}

/// `Native.documentReleaseWholeText`
#[unsafe(export_name = "Java_dev_undertone_Native_documentReleaseWholeText")]
extern "system" fn document_release_whole_text(
    env: *mut JNIEnv,
    _: jclass,
    document: jobject,
    grant: jobject,
    entropy: jbyteArray,
    out: jbyteArray,
) -> jint {
    // SAFETY: `released` gives what the function asks for.
    released(Vm(env), entropy, out, |vm, secret, out, written| unsafe {
        undertone_document_release_whole_text(
            vm.handle::<UndertoneDocument>(document),
            vm.handle::<UndertoneGrant>(grant),
            Some(give_secret),
            secret,
            out.as_mut_ptr(),
            out.len(),
            written,
        )
    })
}

/// `Native.documentReleaseProjective`
#[unsafe(export_name = "Java_dev_undertone_Native_documentReleaseProjective")]
extern "system" fn document_release_projective(
    env: *mut JNIEnv,
    _: jclass,
    document: jobject,
    grant: jobject,
    entropy: jbyteArray,
    out: jbyteArray,
) -> jint {
    // SAFETY: `released` gives what the function asks for.
    released(Vm(env), entropy, out, |vm, secret, out, written| unsafe {
        undertone_document_release_projective(
            vm.handle::<UndertoneDocument>(document),
            vm.handle::<UndertoneGrant>(grant),
            Some(give_secret),
            secret,
            out.as_mut_ptr(),
            out.len(),
            written,
        )
    })
}

/// What `release` writes, copied into an array. Its handles are buffers that a document and a grant were made in, and the
/// monitors of both are held; `give_secret` keeps the promises of its type with the secret that it gets.
fn released(
    vm: Vm,
    entropy: jbyteArray,
    out: jbyteArray,
    release: impl FnOnce(Vm, *mut c_void, &mut [u8; UNDERTONE_RELEASE_BYTES], *mut usize) -> i32,
) -> jint {
    let mut secret = vm.secret(entropy);
    let mut bytes = [0; UNDERTONE_RELEASE_BYTES];
    let mut written = 0;
    let status = release(vm, (&raw mut secret).cast(), &mut bytes, &raw mut written);
    if status == UNDERTONE_STATUS_OK {
        vm.write(&bytes, out);
    }
    status
}

/// `Native.releaseRead`: the fields are the candidate, the epsilon in micro-units, the rule, the unit and the order.
#[unsafe(export_name = "Java_dev_undertone_Native_releaseRead")]
extern "system" fn release_read(
    env: *mut JNIEnv,
    _: jclass,
    bytes: jbyteArray,
    out_fields: jlongArray,
    out_pack_id: jbyteArray,
) -> jint {
    let vm = Vm(env);
    let (mut candidate, mut epsilon_micro, mut rule, mut unit, mut order) = (0, 0, 0, 0, 0);
    let mut id = [0; UNDERTONE_PACK_ID_BYTES];
    // SAFETY: `bytes` gives readable bytes; the outputs are variables here.
    let status = vm.bytes(bytes, |bytes, len| unsafe {
        let status = undertone_release_read(
            bytes,
            len,
            &raw mut candidate,
            &raw mut epsilon_micro,
            &raw mut rule,
            id.as_mut_ptr(),
        );
        let status = match status {
            UNDERTONE_STATUS_OK => undertone_release_read_unit(bytes, len, &raw mut unit),
            _ => status,
        };
        match status {
            UNDERTONE_STATUS_OK => undertone_release_read_order(bytes, len, &raw mut order),
            _ => status,
        }
    });
    if status == UNDERTONE_STATUS_OK {
        vm.write_longs(
            &[
                candidate.into(),
                epsilon_micro.into(),
                rule.into(),
                unit.into(),
                order.into(),
            ],
            out_fields,
        );
        vm.write(&id, out_pack_id);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::UNDERTONE_STATUS_NULL_POINTER;
    use jni_sys::JNINativeInterface_;
    use std::cell::RefCell;
    use std::process;
    use std::vec::Vec;

    /// An array of Java.
    struct Array {
        elements: Vec<u8>,
        /// What the virtual machine gave away, and took back.
        copy: Vec<u8>,
        returned: Option<Vec<u8>>,
    }

    /// A function of the virtual machine that no call needs: among them those that stop the garbage collector.
    extern "system" fn unexpected() {
        process::abort();
    }

    fn at<'a>(array: jarray) -> &'a RefCell<Array> {
        // SAFETY: the tests pass an `Array` as the array.
        unsafe { &*array.cast::<RefCell<Array>>() }
    }

    unsafe extern "system" fn length(_: *mut JNIEnv, array: jarray) -> jsize {
        at(array).borrow().elements.len() as jsize
    }

    unsafe extern "system" fn get(
        _: *mut JNIEnv,
        array: jarray,
        is_copy: *mut jboolean,
    ) -> *mut jni_sys::jbyte {
        let mut array = at(array).borrow_mut();
        array.copy = array.elements.clone();
        // SAFETY: the call gives a variable of its own.
        unsafe { is_copy.write(jni_sys::JNI_TRUE) };
        array.copy.as_mut_ptr().cast()
    }

    unsafe extern "system" fn give_back(
        _: *mut JNIEnv,
        array: jarray,
        start: *mut jni_sys::jbyte,
        mode: jint,
    ) {
        let mut array = at(array).borrow_mut();
        assert_eq!((start.cast(), mode), (array.copy.as_mut_ptr(), JNI_ABORT));
        array.returned = Some(array.copy.clone());
    }

    /// No call holds on to an array of Java in a critical section, and no copy of a text stays in the memory of
    /// the virtual machine.
    #[test]
    fn texts_are_copied_and_the_copies_wiped() {
        const WORDS: usize = size_of::<JNINativeInterface_>() / size_of::<usize>();
        let mut table = [unexpected as *const () as usize; WORDS];
        let table = (&raw mut table).cast::<JNINativeInterface_>();
        // SAFETY: the table is as large as its type, aligned like its pointers, and has a function at each place.
        unsafe {
            (*table).v1_4.GetArrayLength = length;
            (*table).v1_4.GetByteArrayElements = get;
            (*table).v1_4.ReleaseByteArrayElements = give_back;
        }
        let mut env: JNIEnv = table.cast_const();
        let array = RefCell::new(Array {
            elements: b"0.5".to_vec(),
            copy: Vec::new(),
            returned: None,
        });
        let object = (&raw const array).cast_mut().cast();
        let micro = epsilon_parse(&raw mut env, ptr::null_mut(), object);
        assert_eq!(micro, 500_000);
        assert_eq!(array.borrow().elements, b"0.5");
        assert_eq!(array.borrow().returned.as_deref(), Some(&[0; 3][..]));

        array.borrow_mut().elements = b"A private sentence.".to_vec();
        // Without a document the text is refused, and wiped all the same.
        let null = ptr::null_mut();
        let status = document_push_text(&raw mut env, null, null, object);
        assert_eq!(status, -UNDERTONE_STATUS_NULL_POINTER);
        assert_eq!(array.borrow().returned.as_deref(), Some(&[0; 19][..]));
    }
}
