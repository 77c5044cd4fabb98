//! The native functions of the Java classes in `ffi/java`. Each calls the function of the C interface that it
//! is named after, and returns its status.
//!
//! Nothing is allocated here either. The memory of a handle is a direct buffer, which does not move and lives
//! as long as the Java object that holds it. The classes make sure that no argument is null, that one thread at
//! a time uses a handle, and that a pack outlives its documents. An argument `_held` is read through the handle beside it: it is
//! an argument so that no collector takes it during the call. Only a ledger calls back: Java reads and writes its file.

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_void};
use core::{ptr, slice};

use jni_sys::{
    JNI_ABORT, JNIEnv, jarray, jboolean, jbyteArray, jclass, jfloatArray, jint, jlong, jlongArray,
    jmethodID, jobject, jsize, jstring, jvalue,
};
use zeroize::{DefaultIsZeroes, Zeroize, Zeroizing};

use crate::*;

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

    /// The room for elements of a type in a direct buffer, which is aligned for them where virtual machines allocate it. What
    /// is not gives a status.
    fn room<T>(self, buffer: jobject) -> (*mut T, usize) {
        let (start, capacity) = self.buffer(buffer);
        (start.cast(), capacity / size_of::<T>())
    }

    /// Whether a method of Java that was called has thrown. Then nothing else may be called.
    fn threw(self) -> bool {
        // SAFETY: `self.0` is valid for the call that it came with.
        unsafe { ((**self.0).v1_4.ExceptionCheck)(self.0) != jboolean::default() }
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
        // SAFETY: the caller's promise. Without memory `start` is null, and an exception is pending; otherwise it is valid, and
        // a copy is ours alone, until it is given back. Of an empty array it may be null, too, and is not read.
        unsafe {
            let count = ((**self.0).v1_4.GetArrayLength)(self.0, array);
            let count = usize::try_from(count).unwrap_or(0);
            let mut is_copy: jboolean = Default::default();
            let start = get(self.0, array, &raw mut is_copy);
            // `call` could ask for another array, which nobody may while an exception is pending.
            if start.is_null() && count > 0 {
                return UNDERTONE_STATUS_NULL_POINTER;
            }
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

/// `Native.backend`
#[unsafe(export_name = "Java_dev_undertone_Native_backend")]
extern "system" fn backend(env: *mut JNIEnv, _: jclass) -> jstring {
    Vm(env).string(undertone_backend())
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
extern "system" fn pack_dimension(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_dimension(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packCandidateCount`
#[unsafe(export_name = "Java_dev_undertone_Native_packCandidateCount")]
extern "system" fn pack_candidates(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_candidate_count(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packWordCount`
#[unsafe(export_name = "Java_dev_undertone_Native_packWordCount")]
extern "system" fn pack_words(env: *mut JNIEnv, _: jclass, pack: jobject, _held: jobject) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_word_count(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packFeatureCount`
#[unsafe(export_name = "Java_dev_undertone_Native_packFeatureCount")]
extern "system" fn pack_features(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_feature_count(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packDirectionCount`
#[unsafe(export_name = "Java_dev_undertone_Native_packDirectionCount")]
extern "system" fn pack_directions(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_direction_count(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packProjectedDimension`
#[unsafe(export_name = "Java_dev_undertone_Native_packProjectedDimension")]
extern "system" fn pack_projected_dimension(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_projected_dimension(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packSelector`
#[unsafe(export_name = "Java_dev_undertone_Native_packSelector")]
extern "system" fn pack_selector(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_selector(Vm(env).handle::<UndertonePack>(pack)) }
}

/// `Native.packLargestScore`
#[unsafe(export_name = "Java_dev_undertone_Native_packLargestScore")]
extern "system" fn pack_largest_score(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_largest_score(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packLevelCount`
#[unsafe(export_name = "Java_dev_undertone_Native_packLevelCount")]
extern "system" fn pack_levels(env: *mut JNIEnv, _: jclass, pack: jobject, _held: jobject) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_level_count(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packNothingKnown`
#[unsafe(export_name = "Java_dev_undertone_Native_packNothingKnown")]
extern "system" fn pack_nothing_known(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
) -> jint {
    // SAFETY: a buffer that `packInit` made a pack in.
    unsafe { undertone_pack_nothing_known(Vm(env).handle::<UndertonePack>(pack)) as jint }
}

/// `Native.packEmbedSentence`: the number of floats written to a direct buffer, or a status with its sign changed.
#[unsafe(export_name = "Java_dev_undertone_Native_packEmbedSentence")]
extern "system" fn pack_embed_sentence(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
    text: jbyteArray,
    out: jobject,
) -> jint {
    let vm = Vm(env);
    let pack = vm.handle::<UndertonePack>(pack);
    let (out, capacity) = vm.room::<f32>(out);
    let mut written = 0;
    // SAFETY: a buffer that `packInit` made a pack in; `bytes` gives readable bytes; the buffer is as long as it says and
    // held by the caller in Java; the output is a variable here.
    let status = vm.bytes(text, |text, len| unsafe {
        undertone_pack_embed_sentence(
            pack,
            text.cast::<c_char>(),
            len,
            out,
            capacity,
            &raw mut written,
        )
    });
    value_or(status, written)
}

/// `Native.sentenceNext`: writes where the sentence starts and how many bytes it has.
#[unsafe(export_name = "Java_dev_undertone_Native_sentenceNext")]
extern "system" fn sentence_next(
    env: *mut JNIEnv,
    _: jclass,
    text: jbyteArray,
    start: jint,
    finished: jboolean,
    out_range: jlongArray,
) -> jint {
    let vm = Vm(env);
    let next = match finished != jboolean::default() {
        true => undertone_sentence_next_finished,
        false => undertone_sentence_next,
    };
    let start = start.try_into().unwrap_or(0);
    let (mut found, mut found_len) = (0, 0);
    // SAFETY: `bytes` gives readable bytes; the outputs are variables here.
    let status = vm.bytes(text, |text, len| unsafe {
        next(
            text.cast::<c_char>(),
            len,
            start,
            &raw mut found,
            &raw mut found_len,
        )
    });
    if status == UNDERTONE_STATUS_OK {
        vm.write_longs(&[found as jlong, found_len as jlong], out_range);
    }
    status
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
extern "system" fn pack_id(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
    out: jbyteArray,
) -> jint {
    description::<UNDERTONE_PACK_ID_BYTES>(env, pack, out, undertone_pack_id)
}

/// `Native.packEncoderDigest`
#[unsafe(export_name = "Java_dev_undertone_Native_packEncoderDigest")]
extern "system" fn pack_encoder_digest(
    env: *mut JNIEnv,
    _: jclass,
    pack: jobject,
    _held: jobject,
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
    _held: jobject,
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

/// The storage of a ledger: an object of the class `Storage`, and the buffer it reads into and writes from. What its methods
/// throw, the method of Java that called us throws, once we return.
struct Storage {
    vm: Vm,
    object: jobject,
    buffer: jbyteArray,
    read: jmethodID,
    write: jmethodID,
    read_counter: jmethodID,
    raise_counter: jmethodID,
}

impl Storage {
    /// None if a method is missing; then an exception is thrown.
    fn new(vm: Vm, object: jobject, buffer: jbyteArray) -> Option<Self> {
        // SAFETY: `vm.0` is valid for the call that it came with, and so is `object`, which is not null by the promise of
        // the classes.
        let class = unsafe { ((**vm.0).v1_4.GetObjectClass)(vm.0, object) };
        let method = |name: &CStr, signature: &CStr| {
            // SAFETY: as above; the texts end with a zero.
            let found = unsafe {
                let find = (**vm.0).v1_4.GetMethodID;
                find(vm.0, class, name.as_ptr(), signature.as_ptr())
            };
            (!found.is_null()).then_some(found)
        };
        Some(Self {
            vm,
            object,
            buffer,
            read: method(c"read", c"()I")?,
            write: method(c"write", c"(II)V")?,
            read_counter: method(c"readCounter", c"()J")?,
            raise_counter: method(c"raiseCounter", c"(J)V")?,
        })
    }

    /// For the functions below, as long as this is where it is.
    fn functions(&mut self, counted: bool) -> UndertoneLedgerStorage {
        UndertoneLedgerStorage {
            context: ptr::from_mut(self).cast(),
            // The file is locked as long as it is open.
            lock: None,
            unlock: None,
            read: Some(storage_read),
            write: Some(storage_write),
            read_counter: counted.then_some(storage_read_counter as _),
            raise_counter: counted.then_some(storage_raise_counter as _),
        }
    }

    fn done(&self) -> i32 {
        if self.vm.threw() { -1 } else { 0 }
    }
}

/// # Safety
/// `context` is a [`Storage`]; `out` is `capacity` writable bytes; `out_read` is writable.
unsafe extern "C" fn storage_read(
    context: *mut c_void,
    out: *mut u8,
    capacity: usize,
    out_read: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    let storage = unsafe { &*context.cast::<Storage>() };
    let (vm, object) = (storage.vm, storage.object);
    // SAFETY: `vm.0` and `object` are valid as long as the storage, and the method takes nothing and returns an int.
    let read = unsafe { ((**vm.0).v1_4.CallIntMethodA)(vm.0, object, storage.read, ptr::null()) };
    let len = usize::try_from(read).unwrap_or(usize::MAX);
    if vm.threw() || len > capacity {
        return -1;
    }
    // SAFETY: as above; `out` has room for as many, and the virtual machine checks the length of the array.
    unsafe {
        ((**vm.0).v1_4.GetByteArrayRegion)(vm.0, storage.buffer, 0, read, out.cast());
        out_read.write(len);
    }
    storage.done()
}

/// # Safety
/// `context` is a [`Storage`]; `bytes` is `len` readable bytes.
unsafe extern "C" fn storage_write(
    context: *mut c_void,
    offset: usize,
    bytes: *const u8,
    len: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    let storage = unsafe { &*context.cast::<Storage>() };
    let vm = storage.vm;
    // A record in a file of 128 bytes.
    let (offset, len) = (offset as jint, len as jint);
    // SAFETY: `vm.0` is valid as long as the storage; there are as many bytes, and the virtual machine checks the length.
    unsafe {
        ((**vm.0).v1_4.SetByteArrayRegion)(vm.0, storage.buffer, 0, len, bytes.cast());
    }
    if vm.threw() {
        return -1;
    }
    let arguments = [jvalue { i: offset }, jvalue { i: len }];
    // SAFETY: as above, and the method takes two ints and returns nothing.
    unsafe {
        let call = (**vm.0).v1_4.CallVoidMethodA;
        call(vm.0, storage.object, storage.write, arguments.as_ptr());
    }
    storage.done()
}

/// # Safety
/// `context` is a [`Storage`]; `out_counter` is writable.
unsafe extern "C" fn storage_read_counter(context: *mut c_void, out_counter: *mut u64) -> i32 {
    // SAFETY: the caller's promise.
    let storage = unsafe { &*context.cast::<Storage>() };
    let vm = storage.vm;
    // SAFETY: `vm.0` is valid as long as the storage, and the method takes nothing and returns a long.
    unsafe {
        let call = (**vm.0).v1_4.CallLongMethodA;
        let counter = call(vm.0, storage.object, storage.read_counter, ptr::null());
        out_counter.write(counter.cast_unsigned());
    }
    storage.done()
}

/// # Safety
/// `context` is a [`Storage`].
unsafe extern "C" fn storage_raise_counter(context: *mut c_void, to: u64) -> i32 {
    // SAFETY: the caller's promise.
    let storage = unsafe { &*context.cast::<Storage>() };
    let vm = storage.vm;
    let to = [jvalue {
        j: to.cast_signed(),
    }];
    // SAFETY: `vm.0` is valid as long as the storage, and the method takes a long and returns nothing.
    unsafe {
        let call = (**vm.0).v1_4.CallVoidMethodA;
        call(vm.0, storage.object, storage.raise_counter, to.as_ptr());
    }
    storage.done()
}

/// `Native.ledgerSpend`
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerSpend")]
extern "system" fn ledger_spend(
    env: *mut JNIEnv,
    _: jclass,
    storage: jobject,
    buffer: jbyteArray,
    counted: jboolean,
    unit: jint,
    epsilon_micro: jlong,
    words: jint,
    window: jlong,
    entropy: jbyteArray,
    memory: jobject,
) -> jint {
    let vm = Vm(env);
    let mut secret = vm.secret(entropy);
    let (memory, memory_len) = vm.memory(memory);
    let Some(mut storage) = Storage::new(vm, storage, buffer) else {
        return UNDERTONE_STATUS_INTERNAL;
    };
    let functions = storage.functions(counted != jboolean::default());
    let mut grant = ptr::null_mut();
    // SAFETY: the functions of a storage and `give_secret` keep the promises of their types, with the storage and the
    // secret; the memory is as long as it says and held by the `Grant`; the output is a variable here.
    unsafe {
        undertone_ledger_spend(
            &raw const functions,
            unit,
            micro(epsilon_micro),
            words.try_into().unwrap_or(0),
            window.cast_unsigned(),
            Some(give_secret),
            (&raw mut secret).cast(),
            memory,
            memory_len,
            &raw mut grant,
            ptr::null_mut(),
        )
    }
}

/// `Native.ledgerLeft`
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerLeft")]
extern "system" fn ledger_left(
    env: *mut JNIEnv,
    _: jclass,
    storage: jobject,
    buffer: jbyteArray,
    counted: jboolean,
    unit: jint,
    window: jlong,
    out_micro: jlongArray,
) -> jint {
    let vm = Vm(env);
    let Some(mut storage) = Storage::new(vm, storage, buffer) else {
        return UNDERTONE_STATUS_INTERNAL;
    };
    let functions = storage.functions(counted != jboolean::default());
    let (window, mut micro) = (window.cast_unsigned(), 0);
    // SAFETY: as in `ledger_spend`.
    let status =
        unsafe { undertone_ledger_left(&raw const functions, unit, window, &raw mut micro) };
    if status == UNDERTONE_STATUS_OK {
        vm.write_longs(&[jlong::try_from(micro).unwrap_or(jlong::MAX)], out_micro);
    }
    status
}

/// `Native.ledgerBeginAnew`
#[unsafe(export_name = "Java_dev_undertone_Native_ledgerBeginAnew")]
extern "system" fn ledger_begin_anew(
    env: *mut JNIEnv,
    _: jclass,
    storage: jobject,
    buffer: jbyteArray,
    counted: jboolean,
    unit: jint,
    budget_micro: jlong,
    window: jlong,
    entropy: jbyteArray,
    out_image: jbyteArray,
) -> jint {
    let vm = Vm(env);
    let mut secret = vm.secret(entropy);
    let Some(mut storage) = Storage::new(vm, storage, buffer) else {
        return UNDERTONE_STATUS_INTERNAL;
    };
    let functions = storage.functions(counted != jboolean::default());
    let mut image = [0; UNDERTONE_LEDGER_IMAGE_BYTES];
    let mut written = 0;
    // SAFETY: as in `ledger_spend`.
    let status = unsafe {
        undertone_ledger_begin_anew(
            &raw const functions,
            unit,
            budget_micro.max(0).cast_unsigned(),
            window.cast_unsigned(),
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
    _held: jobject,
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

/// `Native.documentPushAll`: how many sentences were added, or a status with its sign changed.
#[unsafe(export_name = "Java_dev_undertone_Native_documentPushAll")]
extern "system" fn document_push_all(
    env: *mut JNIEnv,
    _: jclass,
    document: jobject,
    embeddings: jfloatArray,
) -> jint {
    let vm = Vm(env);
    let document = vm.handle::<UndertoneDocument>(document);
    let mut sentences = 0;
    // SAFETY: a buffer that `documentInit` made a document in, and the monitor of the `Document` is
    // held; `floats` gives readable floats; the output is a variable here.
    let status = vm.floats(embeddings, |embeddings, len| unsafe {
        undertone_document_push_all(document, embeddings, len, &raw mut sentences)
    });
    value_or(status, sentences)
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

/// `Native.documentSentenceCount`
#[unsafe(export_name = "Java_dev_undertone_Native_documentSentenceCount")]
extern "system" fn document_sentence_count(env: *mut JNIEnv, _: jclass, document: jobject) -> jint {
    // SAFETY: a buffer that `documentInit` made a document in, and the monitor of the `Document` is
    // held.
    unsafe {
        undertone_document_sentence_count(Vm(env).handle::<UndertoneDocument>(document)) as jint
    }
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
        undertone_release_read(
            bytes,
            len,
            &raw mut candidate,
            &raw mut epsilon_micro,
            &raw mut rule,
            &raw mut unit,
            &raw mut order,
            id.as_mut_ptr(),
        )
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

/// What `release` writes into a direct buffer: how many bytes, or a status with its sign changed. Its handles are buffers that
/// its objects were made in, and the monitors of those that it changes are held; `give_secret` keeps the promises of its
/// type with the secret that it gets; the buffer is as long as it says and held by the caller in Java.
fn released_into(
    vm: Vm,
    entropy: jbyteArray,
    out: jobject,
    release: impl FnOnce(*mut c_void, (*mut u8, usize), *mut usize) -> i32,
) -> jint {
    let mut secret = vm.secret(entropy);
    let mut written = 0;
    let out = vm.buffer(out);
    let status = release((&raw mut secret).cast(), out, &raw mut written);
    value_or(status, written)
}

/// `Native.vectorMechanismHandleMemory`: the bytes that a buffer for a mechanism needs, wherever it starts.
#[unsafe(export_name = "Java_dev_undertone_Native_vectorMechanismHandleMemory")]
extern "system" fn vector_mechanism_memory(_: *mut JNIEnv, _: jclass) -> jint {
    memory_for(undertone_vector_mechanism_handle_size())
}

/// `Native.vectorMechanismInit`
#[unsafe(export_name = "Java_dev_undertone_Native_vectorMechanismInit")]
extern "system" fn vector_mechanism_init(
    env: *mut JNIEnv,
    _: jclass,
    memory: jobject,
    dimension: jint,
    bound_exponent: jint,
    noise: jint,
    epsilon_micro: jlong,
) -> jint {
    let (memory, memory_len) = Vm(env).memory(memory);
    let mut mechanism = ptr::null_mut();
    // SAFETY: the memory is as long as it says and held by the `VectorMechanism`; the output is a variable here.
    unsafe {
        undertone_vector_mechanism_init(
            memory,
            memory_len,
            dimension.try_into().unwrap_or(0),
            bound_exponent,
            noise,
            micro(epsilon_micro),
            &raw mut mechanism,
        )
    }
}

/// `Native.vectorMechanismInitProjected`
#[unsafe(export_name = "Java_dev_undertone_Native_vectorMechanismInitProjected")]
extern "system" fn vector_mechanism_init_projected(
    env: *mut JNIEnv,
    _: jclass,
    memory: jobject,
    pack: jobject,
    _held: jobject,
    noise: jint,
    epsilon_micro: jlong,
) -> jint {
    let vm = Vm(env);
    let (memory, memory_len) = vm.memory(memory);
    let mut mechanism = ptr::null_mut();
    // SAFETY: the memory is as long as it says and held by the `VectorMechanism`, which holds the `Pack`,
    // too; the output is a variable here.
    unsafe {
        undertone_vector_mechanism_init_projected(
            memory,
            memory_len,
            vm.handle::<UndertonePack>(pack),
            noise,
            micro(epsilon_micro),
            &raw mut mechanism,
        )
    }
}

/// `Native.vectorMechanismDimension`
#[unsafe(export_name = "Java_dev_undertone_Native_vectorMechanismDimension")]
extern "system" fn vector_mechanism_dimension(
    env: *mut JNIEnv,
    _: jclass,
    mechanism: jobject,
    _held: jobject,
) -> jint {
    let mechanism = Vm(env).handle::<UndertoneVectorMechanism>(mechanism);
    // SAFETY: a buffer that a mechanism was made in.
    unsafe { undertone_vector_mechanism_dimension(mechanism) as jint }
}

/// `Native.vectorMechanismReleaseLength`
#[unsafe(export_name = "Java_dev_undertone_Native_vectorMechanismReleaseLength")]
extern "system" fn vector_mechanism_release_len(
    env: *mut JNIEnv,
    _: jclass,
    mechanism: jobject,
    _held: jobject,
) -> jint {
    let mechanism = Vm(env).handle::<UndertoneVectorMechanism>(mechanism);
    // SAFETY: a buffer that a mechanism was made in.
    unsafe { undertone_vector_mechanism_release_len(mechanism) as jint }
}

/// `Native.vectorMechanismRelease`: how many bytes were written to a direct buffer, or a status with its sign changed.
#[unsafe(export_name = "Java_dev_undertone_Native_vectorMechanismRelease")]
extern "system" fn vector_mechanism_release(
    env: *mut JNIEnv,
    _: jclass,
    mechanism: jobject,
    _held: jobject,
    grant: jobject,
    vector: jfloatArray,
    entropy: jbyteArray,
    out: jobject,
) -> jint {
    let vm = Vm(env);
    let mechanism = vm.handle::<UndertoneVectorMechanism>(mechanism);
    let grant = vm.handle::<UndertoneGrant>(grant);
    released_into(vm, entropy, out, |secret, (out, capacity), written| {
        // SAFETY: `released_into` and `floats` give what the function asks for.
        vm.floats(vector, |vector, len| unsafe {
            undertone_vector_mechanism_release(
                mechanism,
                grant,
                vector,
                len,
                Some(give_secret),
                secret,
                out,
                capacity,
                written,
            )
        })
    })
}

/// `Native.vectorReleaseRead`: the fields are the dimension, the noise, the epsilon in micro-units and the exponent of the grid.
#[unsafe(export_name = "Java_dev_undertone_Native_vectorReleaseRead")]
extern "system" fn vector_release_read(
    env: *mut JNIEnv,
    _: jclass,
    bytes: jbyteArray,
    out_fields: jlongArray,
    out_pack_id: jbyteArray,
) -> jint {
    let vm = Vm(env);
    let (mut dimension, mut noise, mut epsilon_micro, mut grid_exponent) = (0, 0, 0, 0);
    let mut id = [0; UNDERTONE_PACK_ID_BYTES];
    // SAFETY: `bytes` gives readable bytes; the outputs are variables here.
    let status = vm.bytes(bytes, |bytes, len| unsafe {
        undertone_vector_release_read(
            bytes,
            len,
            &raw mut dimension,
            &raw mut noise,
            &raw mut epsilon_micro,
            &raw mut grid_exponent,
            id.as_mut_ptr(),
        )
    });
    if status == UNDERTONE_STATUS_OK {
        let fields = [
            dimension.into(),
            noise.into(),
            epsilon_micro.into(),
            grid_exponent.into(),
        ];
        vm.write_longs(&fields, out_fields);
        vm.write(&id, out_pack_id);
    }
    status
}

/// What `read` writes of a release into a direct buffer: how many elements, or a status with its sign changed.
fn read_into<T>(
    env: *mut JNIEnv,
    bytes: jbyteArray,
    out: jobject,
    read: unsafe extern "C" fn(*const u8, usize, *mut T, usize, *mut usize) -> i32,
) -> jint {
    let vm = Vm(env);
    let (out, capacity) = vm.room::<T>(out);
    let mut written = 0;
    // SAFETY: `bytes` gives readable bytes; the buffer is as long as it says and held by the caller in Java; the output is
    // a variable here.
    let status = vm.bytes(bytes, |bytes, len| unsafe {
        read(bytes, len, out, capacity, &raw mut written)
    });
    value_or(status, written)
}

/// `Native.vectorReleaseReadSteps`
#[unsafe(export_name = "Java_dev_undertone_Native_vectorReleaseReadSteps")]
extern "system" fn vector_release_read_steps(
    env: *mut JNIEnv,
    _: jclass,
    bytes: jbyteArray,
    out: jobject,
) -> jint {
    read_into(env, bytes, out, undertone_vector_release_read_steps)
}

/// `Native.vectorReleaseReadValues`
#[unsafe(export_name = "Java_dev_undertone_Native_vectorReleaseReadValues")]
extern "system" fn vector_release_read_values(
    env: *mut JNIEnv,
    _: jclass,
    bytes: jbyteArray,
    out: jobject,
) -> jint {
    read_into(env, bytes, out, undertone_vector_release_read_values)
}

/// `Native.vocabularyHandleMemory`: the bytes that a buffer for a vocabulary needs, wherever it starts.
#[unsafe(export_name = "Java_dev_undertone_Native_vocabularyHandleMemory")]
extern "system" fn vocabulary_memory(_: *mut JNIEnv, _: jclass) -> jint {
    memory_for(undertone_vocabulary_handle_size())
}

/// `Native.vocabularyInit`
#[unsafe(export_name = "Java_dev_undertone_Native_vocabularyInit")]
extern "system" fn vocabulary_init(
    env: *mut JNIEnv,
    _: jclass,
    memory: jobject,
    pack: jobject,
    _held: jobject,
) -> jint {
    let vm = Vm(env);
    let (memory, memory_len) = vm.memory(memory);
    let pack = vm.handle::<UndertonePack>(pack);
    let mut vocabulary = ptr::null_mut();
    // SAFETY: the memory is as long as it says and held by the `Vocabulary`, which holds the `Pack`, too; the output is
    // a variable here.
    unsafe { undertone_vocabulary_init(memory, memory_len, pack, &raw mut vocabulary) }
}

/// `Native.vocabularyWordCount`
#[unsafe(export_name = "Java_dev_undertone_Native_vocabularyWordCount")]
extern "system" fn vocabulary_words(
    env: *mut JNIEnv,
    _: jclass,
    vocabulary: jobject,
    _held: jobject,
) -> jint {
    let vocabulary = Vm(env).handle::<UndertoneVocabulary>(vocabulary);
    // SAFETY: a buffer that `vocabularyInit` made a vocabulary in.
    unsafe { undertone_vocabulary_word_count(vocabulary) as jint }
}

/// `Native.vocabularyDescribe`: the fallback word and the exponent of the step.
#[unsafe(export_name = "Java_dev_undertone_Native_vocabularyDescribe")]
extern "system" fn vocabulary_describe(
    env: *mut JNIEnv,
    _: jclass,
    vocabulary: jobject,
    _held: jobject,
    out_numbers: jlongArray,
) -> jint {
    let vm = Vm(env);
    let vocabulary = vm.handle::<UndertoneVocabulary>(vocabulary);
    let (mut fallback, mut exponent) = (0, 0);
    // SAFETY: a buffer that `vocabularyInit` made a vocabulary in; the outputs are variables here.
    let status =
        unsafe { undertone_vocabulary_describe(vocabulary, &raw mut fallback, &raw mut exponent) };
    if status == UNDERTONE_STATUS_OK {
        vm.write_longs(&[fallback.into(), exponent.into()], out_numbers);
    }
    status
}

/// `Native.vocabularyWord`: where in the bytes of the pack the word is, and how many it has.
#[unsafe(export_name = "Java_dev_undertone_Native_vocabularyWord")]
extern "system" fn vocabulary_word(
    env: *mut JNIEnv,
    _: jclass,
    vocabulary: jobject,
    bytes: jobject,
    word: jint,
    out_range: jlongArray,
) -> jint {
    let vm = Vm(env);
    let vocabulary = vm.handle::<UndertoneVocabulary>(vocabulary);
    let (pack, _) = vm.buffer(bytes);
    let (mut text, mut len) = (ptr::null(), 0);
    // SAFETY: a buffer that `vocabularyInit` made a vocabulary in; the outputs are variables here.
    let status = unsafe {
        undertone_vocabulary_word(
            vocabulary,
            word.try_into().unwrap_or(u32::MAX),
            &raw mut text,
            &raw mut len,
        )
    };
    if status == UNDERTONE_STATUS_OK {
        let offset = text.addr().wrapping_sub(pack.addr());
        vm.write_longs(&[offset as jlong, len as jlong], out_range);
    }
    status
}

/// `Native.bagHandleMemory`: the bytes that a buffer for a bag needs, wherever it starts.
#[unsafe(export_name = "Java_dev_undertone_Native_bagHandleMemory")]
extern "system" fn bag_memory(_: *mut JNIEnv, _: jclass) -> jint {
    memory_for(undertone_bag_handle_size())
}

/// `Native.bagInit`
#[unsafe(export_name = "Java_dev_undertone_Native_bagInit")]
extern "system" fn bag_init(
    env: *mut JNIEnv,
    _: jclass,
    memory: jobject,
    vocabulary: jobject,
    _held: jobject,
) -> jint {
    let vm = Vm(env);
    let (memory, memory_len) = vm.memory(memory);
    let vocabulary = vm.handle::<UndertoneVocabulary>(vocabulary);
    let mut bag = ptr::null_mut();
    // SAFETY: the memory is as long as it says and held by the `Bag`, which holds the `Vocabulary`, too; the output is a
    // variable here.
    unsafe { undertone_bag_init(memory, memory_len, vocabulary, &raw mut bag) }
}

/// `Native.bagPush`: a word, or all words of a text.
#[unsafe(export_name = "Java_dev_undertone_Native_bagPush")]
extern "system" fn bag_push(
    env: *mut JNIEnv,
    _: jclass,
    bag: jobject,
    text: jbyteArray,
    whole_text: jboolean,
) -> jint {
    let vm = Vm(env);
    let bag = vm.handle::<UndertoneBag>(bag);
    let push = match whole_text != jboolean::default() {
        true => undertone_bag_push_text,
        false => undertone_bag_push,
    };
    // SAFETY: a buffer that `bagInit` made a bag in, and the monitor of the `Bag` is held; `bytes` gives readable bytes.
    vm.bytes(text, |text, len| unsafe {
        push(bag, text.cast::<c_char>(), len)
    })
}

/// `Native.bagReset`
#[unsafe(export_name = "Java_dev_undertone_Native_bagReset")]
extern "system" fn bag_reset(env: *mut JNIEnv, _: jclass, bag: jobject) -> jint {
    // SAFETY: a buffer that `bagInit` made a bag in, and the monitor of the `Bag` is held.
    unsafe { undertone_bag_reset(Vm(env).handle::<UndertoneBag>(bag)) }
}

/// `Native.bagReleaseLength`
#[unsafe(export_name = "Java_dev_undertone_Native_bagReleaseLength")]
extern "system" fn bag_release_len(_: *mut JNIEnv, _: jclass, words: jint) -> jint {
    undertone_bag_release_len(words.try_into().unwrap_or(0)) as jint
}

/// `Native.bagRelease`: how many bytes were written to a direct buffer, or a status with its sign changed.
#[unsafe(export_name = "Java_dev_undertone_Native_bagRelease")]
extern "system" fn bag_release(
    env: *mut JNIEnv,
    _: jclass,
    bag: jobject,
    grant: jobject,
    words: jint,
    method: jint,
    entropy: jbyteArray,
    out: jobject,
) -> jint {
    let vm = Vm(env);
    let bag = vm.handle::<UndertoneBag>(bag);
    let grant = vm.handle::<UndertoneGrant>(grant);
    let words = words.try_into().unwrap_or(0);
    released_into(vm, entropy, out, |secret, (out, capacity), written| {
        // SAFETY: `released_into` gives what the function asks for.
        unsafe {
            undertone_bag_release(
                bag,
                grant,
                words,
                method,
                Some(give_secret),
                secret,
                out,
                capacity,
                written,
            )
        }
    })
}

/// `Native.bagReleaseRead`: the fields are the number of words, the method and the epsilon in micro-units.
#[unsafe(export_name = "Java_dev_undertone_Native_bagReleaseRead")]
extern "system" fn bag_release_read(
    env: *mut JNIEnv,
    _: jclass,
    bytes: jbyteArray,
    out_fields: jlongArray,
    out_pack_id: jbyteArray,
) -> jint {
    let vm = Vm(env);
    let (mut words, mut method, mut epsilon_micro) = (0, 0, 0);
    let mut id = [0; UNDERTONE_PACK_ID_BYTES];
    // SAFETY: `bytes` gives readable bytes; the outputs are variables here.
    let status = vm.bytes(bytes, |bytes, len| unsafe {
        undertone_bag_release_read(
            bytes,
            len,
            &raw mut words,
            &raw mut method,
            &raw mut epsilon_micro,
            id.as_mut_ptr(),
        )
    });
    if status == UNDERTONE_STATUS_OK {
        let fields = [words.into(), method.into(), epsilon_micro.into()];
        vm.write_longs(&fields, out_fields);
        vm.write(&id, out_pack_id);
    }
    status
}

/// `Native.bagReleaseReadWords`
#[unsafe(export_name = "Java_dev_undertone_Native_bagReleaseReadWords")]
extern "system" fn bag_release_read_words(
    env: *mut JNIEnv,
    _: jclass,
    bytes: jbyteArray,
    out: jobject,
) -> jint {
    read_into(env, bytes, out, undertone_bag_release_read_words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UNDERTONE_STATUS_NULL_POINTER;
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

    /// After the virtual machine has thrown, for want of memory, nothing is called but what gives arrays back.
    #[test]
    fn nothing_is_called_while_an_exception_is_pending() {
        use std::sync::atomic::{AtomicBool, Ordering};
        static THROWN: AtomicBool = AtomicBool::new(false);
        static CALLED: AtomicBool = AtomicBool::new(false);
        unsafe extern "system" fn length(_: *mut JNIEnv, _: jarray) -> jsize {
            CALLED.fetch_or(THROWN.load(Ordering::Relaxed), Ordering::Relaxed);
            3
        }
        unsafe extern "system" fn none(
            _: *mut JNIEnv,
            _: jarray,
            _: *mut jboolean,
        ) -> *mut jni_sys::jbyte {
            THROWN.store(true, Ordering::Relaxed); // OutOfMemoryError
            ptr::null_mut()
        }
        unsafe extern "system" fn no_floats(
            _: *mut JNIEnv,
            _: jarray,
            _: *mut jboolean,
        ) -> *mut f32 {
            CALLED.fetch_or(THROWN.load(Ordering::Relaxed), Ordering::Relaxed);
            ptr::null_mut()
        }
        const WORDS: usize = size_of::<JNINativeInterface_>() / size_of::<usize>();
        let mut table = [unexpected as *const () as usize; WORDS];
        let table = (&raw mut table).cast::<JNINativeInterface_>();
        // SAFETY: as above.
        unsafe {
            (*table).v1_4.GetArrayLength = length;
            (*table).v1_4.GetByteArrayElements = none;
            (*table).v1_4.GetFloatArrayElements = no_floats;
        }
        let mut env: JNIEnv = table.cast_const();
        let (null, some) = (ptr::null_mut(), (&raw mut env).cast());
        let status = document_push_encoded(&raw mut env, null, null, some, some);
        assert_ne!(status, UNDERTONE_STATUS_OK);
        assert!(
            !CALLED.load(Ordering::Relaxed),
            "called with an exception pending"
        );
    }
}
