//! Access to the virtual machine, and the Rust types of what Java passes to a native method.

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_void};
use core::{ptr, slice};

use jni_sys::{
    JNI_ABORT, JNIEnv, JNINativeInterface__1_4 as Functions, jarray, jboolean, jbyteArray, jint,
    jlong, jmethodID, jobject, jsize, jstring, jvalue,
};
use zeroize::{DefaultIsZeroes, Zeroize, Zeroizing};

use crate::{UNDERTONE_HANDLE_ALIGNMENT, UNDERTONE_STATUS_OK, UndertoneLedgerStorage};

/// The environment of one native method: valid until that method returns, as are the references
/// that Java passed to it. The unsafe code of this file relies on that.
#[derive(Clone, Copy)]
pub(super) struct Vm(*mut JNIEnv);

impl Vm {
    /// # Safety
    /// `env` is the first argument of a native method that has not returned.
    pub(super) unsafe fn new(env: *mut JNIEnv) -> Self {
        Self(env)
    }

    fn functions(&self) -> &Functions {
        // SAFETY: the environment is valid (see `Vm`), and every Java has version 1.4.
        unsafe { &(**self.0).v1_4 }
    }

    /// Returns true if an exception is pending: then only arrays may be returned.
    fn is_throwing(self) -> bool {
        // SAFETY: the environment is valid (see `Vm`).
        unsafe { (self.functions().ExceptionCheck)(self.0) }
    }

    /// Calls a method that returns nothing; a status other than 0 if it threw.
    fn call(self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> i32 {
        // SAFETY: `Storage` passes a method of the object, with arguments of its signature.
        unsafe { (self.functions().CallVoidMethodA)(self.0, object, method, arguments.as_ptr()) };
        self.status()
    }

    /// A status of a storage function: 0, or -1 if an exception is pending.
    fn status(self) -> i32 {
        if self.is_throwing() { -1 } else { 0 }
    }
}

/// A Rust type of an argument that Java passes as `Java`.
pub(super) trait Argument {
    type Java;
    fn read(vm: Vm, java: Self::Java) -> Self;
}

/// A window: its bits are those of the long.
pub(super) struct Window(pub(super) u64);

/// A budget in micro-units. Negative budgets become 0, which is refused.
pub(super) struct Budget(pub(super) u64);

/// An epsilon in micro-units. Numbers that do not fit become one that is out of range.
pub(super) struct Epsilon(pub(super) u32);

/// Reads arguments that Java passes as numbers.
macro_rules! numbers {
    ($($type:ty: $java:ty = $read:expr;)*) => {$(
        impl Argument for $type {
            type Java = $java;
            fn read(_: Vm, java: $java) -> Self {
                let read: fn($java) -> Self = $read;
                read(java)
            }
        }
    )*};
}

numbers! {
    bool: jboolean = |java| java;
    jint: jint = |java| java;
    // Every function refuses the number that stands for a negative one.
    u32: jint = |java| java.try_into().unwrap_or(Self::MAX);
    usize: jint = |java| java.try_into().unwrap_or(Self::MAX);
    Window: jlong = |java| Self(java.cast_unsigned());
    Budget: jlong = |java| Self(java.max(0).cast_unsigned());
    Epsilon: jlong = |java| Self(u32::try_from(java.max(0)).unwrap_or(u32::MAX));
    // A counter of the platform; negative numbers stand for none.
    Option<u64>: jlong = |java| u64::try_from(java).ok();
}

/// A direct buffer with room for `len` elements; null if it is not a direct buffer.
pub(super) struct Buffer<T> {
    pub(super) start: *mut T,
    pub(super) len: usize,
}

impl<T> Argument for Buffer<T> {
    type Java = jobject;
    fn read(vm: Vm, java: jobject) -> Self {
        let none = Self {
            start: ptr::null_mut(),
            len: 0,
        };
        if java.is_null() || vm.is_throwing() {
            return none;
        }
        // SAFETY: the environment and the buffer are valid (see `Vm`).
        let (start, capacity) = unsafe {
            let functions = vm.functions();
            (
                (functions.GetDirectBufferAddress)(vm.0, java),
                (functions.GetDirectBufferCapacity)(vm.0, java),
            )
        };
        usize::try_from(capacity).map_or(none, |capacity| Self {
            start: start.cast(),
            len: capacity / size_of::<T>(),
        })
    }
}

/// The aligned part of a direct buffer, for a handle; empty if the buffer has none.
pub(super) struct Memory {
    start: *mut c_void,
    len: usize,
}

impl Memory {
    /// Runs `init` on the memory and an output for the handle, which is the memory's start.
    pub(super) fn init<H>(&self, init: impl FnOnce(*mut c_void, usize, *mut *mut H) -> i32) -> i32 {
        let mut handle = ptr::null_mut();
        init(self.start, self.len, &raw mut handle)
    }
}

impl Argument for Memory {
    type Java = jobject;
    fn read(vm: Vm, java: jobject) -> Self {
        let buffer = Buffer::<u8>::read(vm, java);
        let skipped = buffer.start.addr().wrapping_neg() % UNDERTONE_HANDLE_ALIGNMENT;
        let len = buffer.len.saturating_sub(skipped);
        let start = buffer.start.wrapping_add(skipped).cast();
        Self { start, len }
    }
}

/// A handle in a direct buffer, valid or not; null if the buffer is too short for any.
pub(super) struct Handle<H>(pub(super) *mut H);

impl<H> Argument for Handle<H> {
    type Java = jobject;
    fn read(vm: Vm, java: jobject) -> Self {
        let memory = Memory::read(vm, java);
        if memory.len < size_of::<usize>() {
            Self(ptr::null_mut())
        } else {
            Self(memory.start.cast())
        }
    }
}

/// An object that is an argument so that no garbage collector frees it during the call.
pub(super) struct Held;

impl Argument for Held {
    type Java = jobject;
    fn read(_: Vm, _: jobject) -> Self {
        Self
    }
}

/// An element type of Java's arrays, with the two functions that lend and take back the elements.
pub(super) trait Element: DefaultIsZeroes {
    const LEND: fn(&Functions) -> Lend<Self>;
    const TAKE_BACK: fn(&Functions) -> TakeBack<Self>;
}

type Lend<T> = unsafe extern "system" fn(*mut JNIEnv, jarray, *mut jboolean) -> *mut T;
type TakeBack<T> = unsafe extern "system" fn(*mut JNIEnv, jarray, *mut T, jint);

impl Element for i8 {
    const LEND: fn(&Functions) -> Lend<i8> = |functions| functions.GetByteArrayElements;
    const TAKE_BACK: fn(&Functions) -> TakeBack<i8> =
        |functions| functions.ReleaseByteArrayElements;
}

impl Element for f32 {
    const LEND: fn(&Functions) -> Lend<f32> = |functions| functions.GetFloatArrayElements;
    const TAKE_BACK: fn(&Functions) -> TakeBack<f32> =
        |functions| functions.ReleaseFloatArrayElements;
}

impl Element for i32 {
    const LEND: fn(&Functions) -> Lend<i32> = |functions| functions.GetIntArrayElements;
    const TAKE_BACK: fn(&Functions) -> TakeBack<i32> =
        |functions| functions.ReleaseIntArrayElements;
}

/// The elements of an array, copied by the virtual machine: without a copy, its garbage collector
/// would have to stop. They may be private, so the copy is wiped.
pub(super) struct Array<T: Element> {
    vm: Vm,
    array: jarray,
    start: *mut T,
    is_copy: bool,
    pub(super) len: usize,
}

pub(super) type Bytes = Array<i8>;
pub(super) type Floats = Array<f32>;
pub(super) type Ints = Array<i32>;

impl<T: Element> Array<T> {
    /// The first element, as the type of C.
    pub(super) fn start<C>(&self) -> *const C {
        const { assert!(size_of::<C>() == size_of::<T>()) };
        self.start.cast_const().cast()
    }
}

impl Ints {
    /// Writes the elements that `change` changes to the array of Java, if its status is OK.
    pub(super) fn change(self, change: impl FnOnce(*mut jint, usize) -> i32) -> i32 {
        let status = change(self.start, self.len);
        if status == UNDERTONE_STATUS_OK {
            // SAFETY: the environment is valid (see `Vm`), and the virtual machine lent `len`
            // elements of this array.
            unsafe {
                let set = self.vm.functions().SetIntArrayRegion;
                set(self.vm.0, self.array, 0, self.len as jsize, self.start);
            }
        }
        status
    }
}

impl<T: Element> Argument for Array<T> {
    type Java = jarray;
    /// If the virtual machine has no memory, the array is null with a length that is not 0, which
    /// every function refuses.
    fn read(vm: Vm, array: jarray) -> Self {
        let (mut start, mut len, mut is_copy) = (ptr::null_mut(), 0, false);
        if vm.is_throwing() {
            len = 1;
        } else if !array.is_null() {
            let functions = vm.functions();
            // SAFETY: the environment is valid (see `Vm`), and the array has elements of type `T`
            // by the signature of the native method.
            unsafe {
                let length = (functions.GetArrayLength)(vm.0, array);
                len = usize::try_from(length).unwrap_or(usize::MAX);
                start = T::LEND(functions)(vm.0, array, &raw mut is_copy);
            }
        }
        Self {
            vm,
            array,
            start,
            is_copy,
            len,
        }
    }
}

impl<T: Element> Drop for Array<T> {
    fn drop(&mut self) {
        if self.start.is_null() {
            return;
        }
        // SAFETY: `read` got `len` elements at `start` from the virtual machine; a copy has no
        // other user.
        unsafe {
            if self.is_copy {
                slice::from_raw_parts_mut(self.start, self.len).zeroize();
            }
            T::TAKE_BACK(self.vm.functions())(self.vm.0, self.array, self.start, JNI_ABORT);
        }
    }
}

/// The most entropy that a function takes, and the length of `Native.entropy`.
const SECRET_BYTES: usize = 32;

/// Bytes from `SecureRandom`; each is given away once.
pub(super) struct Secret {
    bytes: Zeroizing<[u8; SECRET_BYTES]>,
    given: Cell<usize>,
}

impl Secret {
    /// The context for [`give_secret`].
    pub(super) fn context(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }
}

impl Argument for Secret {
    type Java = jbyteArray;
    /// If the array is shorter, an exception is thrown, and the bytes are zeroes, which the library
    /// refuses as entropy.
    fn read(vm: Vm, array: jbyteArray) -> Self {
        let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
        if !vm.is_throwing() {
            let (len, out) = (SECRET_BYTES as jsize, bytes.as_mut_ptr().cast());
            // SAFETY: the environment and the array are valid (see `Vm`), and the virtual machine
            // checks the array's length.
            unsafe { (vm.functions().GetByteArrayRegion)(vm.0, array, 0, len, out) };
        }
        Self {
            bytes,
            given: Cell::new(0),
        }
    }
}

/// The entropy function of a [`Secret`].
///
/// # Safety
/// `context` is a [`Secret`]; `out` is `len` writable bytes elsewhere.
pub(super) unsafe extern "C" fn give_secret(context: *mut c_void, out: *mut u8, len: usize) -> i32 {
    // SAFETY: the caller's promise.
    let secret = unsafe { &*context.cast::<Secret>() };
    let given = secret.given.get();
    let end = given.saturating_add(len);
    let Some(bytes) = secret.bytes.get(given..end) else {
        return -1;
    };
    secret.given.set(end);
    // SAFETY: `bytes` has `len` bytes, and `out` has room for them.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), out, len) };
    0
}

/// A reference to an object: an array that a call fills, or the storage of a ledger.
#[derive(Clone, Copy)]
pub(super) struct Reference(Vm, jobject);

impl Argument for Reference {
    type Java = jobject;
    fn read(vm: Vm, java: jobject) -> Self {
        Self(vm, java)
    }
}

impl Reference {
    /// Fills an array with the `N` bytes that `write` makes, if its status is OK.
    pub(super) fn fill<const N: usize>(self, write: impl FnOnce(&mut [u8; N]) -> i32) -> i32 {
        let mut bytes = [0; N];
        let status = write(&mut bytes);
        if status == UNDERTONE_STATUS_OK {
            let Self(vm, array) = self;
            // SAFETY: the environment is valid (see `Vm`), and so is the array, which has bytes by
            // the signature of the native method; the virtual machine checks its length.
            unsafe {
                let set = vm.functions().SetByteArrayRegion;
                set(vm.0, array, 0, N as jsize, bytes.as_ptr().cast());
            }
        }
        status
    }

    /// [`Self::fill`] for a function that gets a buffer and writes the number of bytes.
    pub(super) fn fill_buffer<const N: usize>(
        self,
        write: impl FnOnce(*mut u8, usize, *mut usize) -> i32,
    ) -> i32 {
        let mut written = 0;
        self.fill::<N>(|bytes| write(bytes.as_mut_ptr(), N, &raw mut written))
    }

    /// Fills an array with numbers if the status is OK; returns the status.
    pub(super) fn fill_longs<const N: usize>(self, status: i32, numbers: [jlong; N]) -> i32 {
        if status == UNDERTONE_STATUS_OK {
            let Self(vm, array) = self;
            // SAFETY: as in `fill`, for an array of longs.
            unsafe {
                let set = vm.functions().SetLongArrayRegion;
                set(vm.0, array, 0, N as jsize, numbers.as_ptr());
            }
        }
        status
    }
}

/// The result of a native method.
pub(super) trait Answer {
    type Java;
    fn into_java(self, vm: Vm) -> Self::Java;
}

impl Answer for i32 {
    type Java = jint;
    fn into_java(self, _: Vm) -> jint {
        self
    }
}

impl Answer for u32 {
    type Java = jint;
    fn into_java(self, _: Vm) -> jint {
        self.cast_signed()
    }
}

/// Counts and sizes are below 2³¹.
impl Answer for usize {
    type Java = jint;
    fn into_java(self, _: Vm) -> jint {
        self as jint
    }
}

/// The number that a function writes, or its negated status if that is not OK.
pub(super) struct Written(jint);

impl Written {
    pub(super) fn by<N: Default + TryInto<jint>>(write: impl FnOnce(*mut N) -> i32) -> Self {
        let mut number = N::default();
        match write(&raw mut number) {
            UNDERTONE_STATUS_OK => Self(number.try_into().unwrap_or(jint::MAX)),
            status => Self(-status),
        }
    }
}

impl Answer for Written {
    type Java = jint;
    fn into_java(self, _: Vm) -> jint {
        self.0
    }
}

/// A static text in ASCII.
impl Answer for *const c_char {
    type Java = jstring;
    fn into_java(self, vm: Vm) -> jstring {
        // SAFETY: the environment is valid (see `Vm`); the text ends with a zero.
        unsafe { (vm.functions().NewStringUTF)(vm.0, self) }
    }
}

/// An object of the Java class `Storage`, and its buffer. An exception of its methods reaches the
/// caller in Java when the native method returns.
pub(super) struct Storage {
    vm: Vm,
    object: jobject,
    buffer: jbyteArray,
    methods: Methods,
}

struct Methods {
    read: jmethodID,
    write: jmethodID,
    read_counter: jmethodID,
    raise_counter: jmethodID,
}

impl Storage {
    /// Returns none if a method is missing; then an exception is pending.
    pub(super) fn new(object: Reference, buffer: Reference) -> Option<Self> {
        let (Reference(vm, object), Reference(_, buffer)) = (object, buffer);
        let functions = vm.functions();
        // SAFETY: the environment and the object are valid (see `Vm`), and no class passes null.
        let class = unsafe { (functions.GetObjectClass)(vm.0, object) };
        let find = |name: &CStr, signature: &CStr| {
            let (name, signature) = (name.as_ptr(), signature.as_ptr());
            // SAFETY: as above; the texts end with a zero.
            let found = unsafe { (functions.GetMethodID)(vm.0, class, name, signature) };
            (!found.is_null()).then_some(found)
        };
        let methods = Methods {
            read: find(c"read", c"()I")?,
            write: find(c"write", c"(II)V")?,
            read_counter: find(c"readCounter", c"()J")?,
            raise_counter: find(c"raiseCounter", c"(J)V")?,
        };
        Some(Self {
            vm,
            object,
            buffer,
            methods,
        })
    }

    /// The functions for C, valid as long as the storage is borrowed. The file is locked while it
    /// is open, so C need not lock it.
    pub(super) fn functions(&self, counted: bool) -> UndertoneLedgerStorage {
        UndertoneLedgerStorage {
            context: ptr::from_ref(self).cast_mut().cast(),
            lock: None,
            unlock: None,
            read: Some(read),
            write: Some(write),
            read_counter: counted.then_some(read_counter as _),
            raise_counter: counted.then_some(raise_counter as _),
        }
    }

    /// # Safety
    /// `context` is a [`Storage`] that outlives `'a`.
    unsafe fn from_context<'a>(context: *mut c_void) -> &'a Self {
        // SAFETY: the caller's promise.
        unsafe { &*context.cast::<Self>() }
    }
}

/// # Safety
/// `context` is a [`Storage`]; `out` is `capacity` writable bytes; `out_read` is writable.
unsafe extern "C" fn read(
    context: *mut c_void,
    out: *mut u8,
    capacity: usize,
    out_read: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise; the method takes nothing and returns an int; `out` has room for
    // the bytes, and the virtual machine checks the length of the array.
    unsafe {
        let storage = Storage::from_context(context);
        let (vm, method) = (storage.vm, storage.methods.read);
        let functions = vm.functions();
        let count = (functions.CallIntMethodA)(vm.0, storage.object, method, ptr::null());
        let len = usize::try_from(count).unwrap_or(usize::MAX);
        if vm.is_throwing() || len > capacity {
            return -1;
        }
        (functions.GetByteArrayRegion)(vm.0, storage.buffer, 0, count, out.cast());
        out_read.write(len);
        vm.status()
    }
}

/// # Safety
/// `context` is a [`Storage`]; `bytes` is `len` readable bytes.
unsafe extern "C" fn write(
    context: *mut c_void,
    offset: usize,
    bytes: *const u8,
    len: usize,
) -> i32 {
    // A record in a file of 128 bytes.
    let (offset, len) = (offset as jint, len as jint);
    // SAFETY: the caller's promise; the virtual machine checks the length of the array.
    let storage = unsafe {
        let storage = Storage::from_context(context);
        let set = storage.vm.functions().SetByteArrayRegion;
        set(storage.vm.0, storage.buffer, 0, len, bytes.cast());
        storage
    };
    if storage.vm.is_throwing() {
        return -1;
    }
    let arguments = [jvalue { i: offset }, jvalue { i: len }];
    storage
        .vm
        .call(storage.object, storage.methods.write, &arguments)
}

/// # Safety
/// `context` is a [`Storage`]; `out_counter` is writable.
unsafe extern "C" fn read_counter(context: *mut c_void, out_counter: *mut u64) -> i32 {
    // SAFETY: the caller's promise; the method takes nothing and returns a long.
    unsafe {
        let storage = Storage::from_context(context);
        let call = storage.vm.functions().CallLongMethodA;
        let method = storage.methods.read_counter;
        let counter = call(storage.vm.0, storage.object, method, ptr::null());
        out_counter.write(counter.cast_unsigned());
        storage.vm.status()
    }
}

/// # Safety
/// `context` is a [`Storage`].
unsafe extern "C" fn raise_counter(context: *mut c_void, to: u64) -> i32 {
    // SAFETY: the caller's promise.
    let storage = unsafe { Storage::from_context(context) };
    let to = [jvalue {
        j: to.cast_signed(),
    }];
    storage
        .vm
        .call(storage.object, storage.methods.raise_counter, &to)
}
