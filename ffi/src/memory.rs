//! Arguments of the exported functions, checked before any of them is used.
//!
//! A function describes its arguments and gets Rust values back:
//!
//! ```ignore
//! let (document, text, count) =
//!     checked!(unsafe HandleMut(document), In(text, len), Optional(out_count));
//! ```
//!
//! [`checked!`] refuses pointers that are null or misaligned and lengths that no object has, then
//! handles without their tag, then memory that is written and overlaps another argument. Whether an
//! address points to memory cannot be checked: `# Safety` of the crate leaves that to the caller.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::{ptr, slice};

use crate::grant::{Callback, UndertoneEntropyFn};
use crate::interface::*;
use crate::status::Refusal;

/// Evaluates to the values of the described arguments, or returns from the function with the status
/// of the first check that fails.
///
/// The word `unsafe` stands for the promise in `# Safety` of the crate: each pointer is null or
/// correct for its description, and during the call nobody else writes there or reads memory that
/// the call writes.
macro_rules! checked {
    (unsafe $argument:expr) => {{
        let (value,) = $crate::memory::checked!(unsafe $argument,);
        value
    }};
    (unsafe $($argument:expr),+ $(,)?) => {
        // SAFETY: the caller of the exported function promises it, in `# Safety` of the crate.
        unsafe { $crate::memory::Arguments::check(($($argument,)+)) }?
    };
}
pub(crate) use checked;

/// Memory that an argument covers.
struct Extent {
    start: *const u8,
    /// The address after the last byte.
    end: usize,
    written: bool,
    /// The tag of the handle at `start`, or 0 if no handle is there.
    tag: usize,
}

impl Extent {
    /// Overlaps no extent.
    const EMPTY: Self = Self {
        start: ptr::null(),
        end: 0,
        written: false,
        tag: 0,
    };

    /// Whether the two extents overlap and the call writes to one of them.
    fn conflicts(&self, other: &Self) -> bool {
        (self.written || other.written)
            && self.start.addr() < other.end
            && other.start.addr() < self.end
    }
}

/// The extents of the arguments of a call, and the first reason to refuse it.
///
/// Functions are `inline(never)`, so that a program for a microcontroller has their code once.
pub(crate) struct Extents {
    /// Seven arguments of two extents; those that are not used are empty.
    list: [Extent; 14],
    len: usize,
    refusal: Option<Refusal>,
}

impl Extents {
    const NONE: Self = Self {
        list: [const { Extent::EMPTY }; 14],
        len: 0,
        refusal: None,
    };

    /// Adds the extent of `count` values at `start`, which may be null if `count` is 0.
    fn add<T>(&mut self, start: *const T, count: usize, written: bool) {
        let bytes = count.saturating_mul(size_of::<T>());
        self.add_extent(start.cast(), bytes, align_of::<T>(), written, 0);
    }

    /// Adds the extent of a handle.
    fn add_handle<H: Handle>(&mut self, handle: *const H, written: bool) {
        const {
            assert!(H::TAG & 1 == 1 && H::TAG & BUSY_BIT == 0);
            assert!(align_of::<Slot<H::Value>>() >= 4);
        }
        let (bytes, align) = (size::<H>(), align_of::<Slot<H::Value>>());
        self.add_extent(handle.cast(), bytes, align, written, H::TAG);
    }

    #[inline(never)]
    fn add_extent(
        &mut self,
        start: *const u8,
        bytes: usize,
        align: usize,
        written: bool,
        tag: usize,
    ) {
        if bytes == 0 {
            return;
        }
        if start.is_null() {
            return self.refuse(UNDERTONE_STATUS_NULL_POINTER);
        }
        if !start.addr().is_multiple_of(align) {
            return self.refuse(UNDERTONE_STATUS_MISALIGNED);
        }
        // A Rust slice covers at most isize::MAX bytes and does not wrap around.
        let end = isize::try_from(bytes)
            .ok()
            .and_then(|_| start.addr().checked_add(bytes));
        match (end, self.list.get_mut(self.len)) {
            (Some(end), Some(extent)) => {
                *extent = Extent {
                    start,
                    end,
                    written,
                    tag,
                };
                self.len += 1;
            }
            (None, _) => self.refuse(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH),
            (_, None) => self.refuse(UNDERTONE_STATUS_INTERNAL),
        }
    }

    /// Refuses the call, unless there is a reason already.
    #[inline(never)]
    fn refuse(&mut self, status: i32) {
        self.refusal.get_or_insert(Refusal(status));
    }

    /// Refuses the call for the first reason, a handle without its tag, or memory that is written
    /// and overlaps another extent.
    ///
    /// # Safety
    /// If nothing was refused, the handles are readable.
    #[inline(never)]
    unsafe fn check(&self) -> Result<(), Refusal> {
        if let Some(refusal) = self.refusal {
            return Err(refusal);
        }
        for extent in self.list.iter().filter(|extent| extent.tag != 0) {
            // SAFETY: the tag is the first field of the slot, which the caller promises to be
            // readable, and `add_extent` accepted its address.
            let found = unsafe { extent.start.cast::<usize>().read() };
            match found ^ extent.tag ^ extent.start.addr() {
                0 => (),
                BUSY_BIT => return Err(Refusal(UNDERTONE_STATUS_BUSY)),
                _ => return Err(Refusal(UNDERTONE_STATUS_BAD_HANDLE)),
            }
        }
        let mut rest = self.list.as_slice();
        while let Some((first, others)) = rest.split_first() {
            if others.iter().any(|other| first.conflicts(other)) {
                return Err(Refusal(UNDERTONE_STATUS_OVERLAP));
            }
            rest = others;
        }
        Ok(())
    }
}

/// One argument, or several that belong together.
///
/// `open` gives nothing outside of what `extents` adds, and allows writing only where an extent is
/// marked as written. This module alone implements it.
pub(crate) trait Argument<'a> {
    /// The checked argument.
    type Value;

    /// Adds at most two extents.
    fn extents(&self, extents: &mut Extents);

    /// The checked argument.
    ///
    /// # Safety
    /// [`Extents::check`] succeeded. The caller's promise (see [`checked!`]) holds for `'a`.
    unsafe fn open(self) -> Self::Value;
}

/// A tuple of arguments; [`checked!`] calls this.
pub(crate) trait Arguments<'a> {
    type Values;

    /// # Safety
    /// The caller's promise (see [`checked!`]) holds for `'a`.
    unsafe fn check(self) -> Result<Self::Values, Refusal>;
}

macro_rules! tuple {
    ($($name:ident)+) => {
        impl<'a, $($name: Argument<'a>),+> Arguments<'a> for ($($name,)+) {
            type Values = ($($name::Value,)+);

            #[expect(non_snake_case, reason = "the macro names values like their types")]
            #[inline(always)]
            unsafe fn check(self) -> Result<Self::Values, Refusal> {
                let ($($name,)+) = self;
                let mut extents = Extents::NONE;
                $($name.extents(&mut extents);)+
                // SAFETY: the caller promises that handles are readable.
                unsafe { extents.check()? };
                // SAFETY: everything succeeded, and what is written overlaps nothing else.
                Ok(unsafe { ($($name.open(),)+) })
            }
        }
    };
}

tuple!(A);
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);
tuple!(A B C D E);
tuple!(A B C D E F);
tuple!(A B C D E F G);

/// An array that is read: its start and its length. Every pattern of bits must be valid as a `T`.
pub(crate) struct In<T>(pub(crate) *const T, pub(crate) usize);

impl<'a, T: 'a> Argument<'a> for In<T> {
    type Value = &'a [T];

    fn extents(&self, extents: &mut Extents) {
        extents.add(self.0, self.1, false);
    }

    unsafe fn open(self) -> &'a [T] {
        if self.1 == 0 {
            return &[];
        }
        // SAFETY: `Extents` accepted start and length; the caller promises the rest.
        unsafe { slice::from_raw_parts(self.0, self.1) }
    }
}

/// An array that is read and changed: its start and its length.
pub(crate) struct InMut<T>(pub(crate) *mut T, pub(crate) usize);

impl<'a, T: 'a> Argument<'a> for InMut<T> {
    type Value = &'a mut [T];

    fn extents(&self, extents: &mut Extents) {
        extents.add(self.0, self.1, true);
    }

    unsafe fn open(self) -> &'a mut [T] {
        if self.1 == 0 {
            return &mut [];
        }
        // SAFETY: `Extents` accepted start and length, and no other argument overlaps; the caller
        // promises the rest.
        unsafe { slice::from_raw_parts_mut(self.0, self.1) }
    }
}

/// A vector that is read: its coordinates and their number.
pub(crate) struct Vector(pub(crate) *const f32, pub(crate) usize);

/// A [`Vector`] whose pointer is checked. Its length is not compared with the dimension yet, and a
/// length in bytes is an easy mistake.
pub(crate) struct Coordinates<'a>(*const f32, usize, PhantomData<&'a [f32]>);

impl<'a> Argument<'a> for Vector {
    type Value = Coordinates<'a>;

    fn extents(&self, extents: &mut Extents) {
        extents.add(self.0, self.1, false);
    }

    unsafe fn open(self) -> Coordinates<'a> {
        Coordinates(self.0, self.1, PhantomData)
    }
}

impl<'a> Coordinates<'a> {
    /// The coordinates, if there are `dimension` of them. No coordinate is read before this check.
    pub(crate) fn of_dimension(self, dimension: usize) -> Result<&'a [f32], Refusal> {
        if self.1 != dimension {
            return Err(Refusal(UNDERTONE_STATUS_WRONG_DIMENSION));
        }
        // SAFETY: `In` with the same pointer and length needs the checks and the promise of the
        // caller that `Vector` has passed.
        Ok(unsafe { In(self.0, self.1).open() })
    }
}

/// A value that the call writes.
pub(crate) struct Out<T>(pub(crate) *mut T);

/// A value that the call reads and then replaces.
pub(crate) struct InOut<T>(pub(crate) *mut T);

/// A checked [`InOut`].
pub(crate) struct Stored<'a, T>(Place<'a, T>);

impl<T: Copy> Stored<'_, T> {
    pub(crate) fn read(&self) -> T {
        // SAFETY: `Extents` accepted the pointer, and the caller promises that it is readable.
        unsafe { self.0.0.read() }
    }

    pub(crate) fn write(self, value: T) {
        self.0.write(value);
    }
}

impl<'a, T: 'a> Argument<'a> for InOut<T> {
    type Value = Stored<'a, T>;

    fn extents(&self, extents: &mut Extents) {
        Out(self.0).extents(extents);
    }

    unsafe fn open(self) -> Stored<'a, T> {
        // SAFETY: the promise of `open` is the same for both.
        Stored(unsafe { Out(self.0).open() })
    }
}

/// A value that the call writes unless its pointer is null.
pub(crate) struct Optional<T>(pub(crate) *mut T);

/// Checked memory for one value. It is a pointer and not a reference, because an entropy function
/// of the app may run while it exists.
pub(crate) struct Place<'a, T>(*mut T, PhantomData<&'a mut T>);

impl<T> Place<'_, T> {
    pub(crate) fn write(self, value: T) {
        // SAFETY: `Extents` accepted the pointer, and the caller promises that it is writable.
        unsafe { self.0.write(value) };
    }
}

impl<'a, T: 'a> Argument<'a> for Out<T> {
    type Value = Place<'a, T>;

    fn extents(&self, extents: &mut Extents) {
        extents.add(self.0, 1, true);
    }

    unsafe fn open(self) -> Place<'a, T> {
        Place(self.0, PhantomData)
    }
}

impl<'a, T: 'a> Argument<'a> for Optional<T> {
    type Value = Option<Place<'a, T>>;

    fn extents(&self, extents: &mut Extents) {
        let count = usize::from(!self.0.is_null());
        extents.add(self.0, count, true);
    }

    unsafe fn open(self) -> Option<Place<'a, T>> {
        (!self.0.is_null()).then_some(Place(self.0, PhantomData))
    }
}

/// Writes an optional output.
pub(crate) fn give<T>(place: Option<Place<'_, T>>, value: T) {
    if let Some(place) = place {
        place.write(value);
    }
}

/// A buffer for an array: its start, its capacity, and the place for the number of values.
pub(crate) struct Buffer<T>(pub(crate) *mut T, pub(crate) usize, pub(crate) *mut usize);

/// A checked [`Buffer`].
pub(crate) struct Writer<'a, T> {
    start: *mut T,
    capacity: usize,
    written: Place<'a, usize>,
}

impl<'a, T: 'a> Argument<'a> for Buffer<T> {
    type Value = Writer<'a, T>;

    fn extents(&self, extents: &mut Extents) {
        extents.add(self.0, self.1, true);
        extents.add(self.2, 1, true);
    }

    unsafe fn open(self) -> Writer<'a, T> {
        let Self(start, capacity, written) = self;
        let written = Place(written, PhantomData);
        Writer {
            start,
            capacity,
            written,
        }
    }
}

impl<'a, T> Writer<'a, T> {
    /// Refuses a buffer for fewer than `needed` values, and then stores `needed` as the length that
    /// is wanted.
    pub(crate) fn for_at_least(self, needed: usize) -> Result<Self, Refusal> {
        if self.capacity < needed {
            self.written.write(needed);
            return Err(Refusal(UNDERTONE_STATUS_BUFFER_TOO_SMALL));
        }
        Ok(self)
    }

    /// Writes the values that fit, and their number.
    pub(crate) fn write(self, values: impl Iterator<Item = T>) {
        let mut count = 0;
        for value in values.take(self.capacity) {
            // SAFETY: `Extents` accepted the array, and fewer than `capacity` values were
            // written; the caller promises that they are writable.
            unsafe { self.start.add(count).write(value) };
            count += 1;
        }
        self.written.write(count);
    }
}

/// The caller's source of entropy, with its context.
pub(crate) struct Source(pub(crate) UndertoneEntropyFn, pub(crate) *mut c_void);

impl Argument<'_> for Source {
    type Value = Callback;

    fn extents(&self, extents: &mut Extents) {
        if self.0.is_none() {
            extents.refuse(UNDERTONE_STATUS_NULL_POINTER);
        }
    }

    unsafe fn open(self) -> Callback {
        // SAFETY: the caller promises that the function may be called with the context.
        unsafe { Callback::new(self.0, self.1) }
    }
}

/// A type that C sees as an opaque handle.
pub(crate) trait Handle: Sized {
    /// The content of the handle. It owns nothing outside its memory: it is never dropped.
    type Value: 'static;
    /// Tells the kinds of handles apart. Its lowest bit is set and the next one is not.
    const TAG: usize;
    /// The size that the header requires on every target.
    const SIZE: usize;
}

/// The memory of a handle.
#[repr(C)]
pub(crate) struct Slot<T> {
    /// `Handle::TAG` combined with the address of the slot. Memory that was never initialised,
    /// holds another kind of handle, or was copied has another tag and is refused. (A copy of a
    /// document would give a second release of its sentences.)
    pub(crate) tag: usize,
    pub(crate) value: T,
}

/// Set in a tag while the handle must not be used. Addresses of slots are multiples of 4, so they
/// leave this bit of the tag alone.
pub(crate) const BUSY_BIT: usize = 2;

/// The bytes that a handle uses.
const fn size<H: Handle>() -> usize {
    const {
        assert!(size_of::<Slot<H::Value>>() <= H::SIZE);
        assert!(align_of::<Slot<H::Value>>() <= UNDERTONE_HANDLE_ALIGNMENT);
    }
    size_of::<Slot<H::Value>>()
}

pub(crate) fn tag_at<H: Handle>(handle: *const H) -> usize {
    H::TAG ^ handle.addr()
}

/// A handle that is read.
pub(crate) struct HandleRef<H>(pub(crate) *const H);

/// A handle that is changed.
pub(crate) struct HandleMut<H>(pub(crate) *mut H);

/// A handle that is changed while functions of the app run.
pub(crate) struct HandleBusy<H>(pub(crate) *mut H);

impl<'a, H: Handle> Argument<'a> for HandleRef<H> {
    type Value = &'a H::Value;

    fn extents(&self, extents: &mut Extents) {
        extents.add_handle(self.0, false);
    }

    unsafe fn open(self) -> &'a H::Value {
        // SAFETY: the slot holds a value, because it has the tag; the caller promises that nobody
        // writes to it.
        unsafe { &(*self.0.cast::<Slot<H::Value>>()).value }
    }
}

impl<'a, H: Handle> Argument<'a> for HandleMut<H> {
    type Value = &'a mut H::Value;

    fn extents(&self, extents: &mut Extents) {
        extents.add_handle(self.0, true);
    }

    unsafe fn open(self) -> &'a mut H::Value {
        // SAFETY: the slot holds a value, because it has the tag; the caller promises that nobody
        // else uses it.
        unsafe { &mut (*self.0.cast::<Slot<H::Value>>()).value }
    }
}

impl<'a, H: Handle> Argument<'a> for HandleBusy<H> {
    type Value = Exclusive<'a, H>;

    fn extents(&self, extents: &mut Extents) {
        extents.add_handle(self.0, true);
    }

    unsafe fn open(self) -> Exclusive<'a, H> {
        Exclusive(self.0, PhantomData)
    }
}

/// A checked [`HandleBusy`].
pub(crate) struct Exclusive<'a, H: Handle>(*mut H, PhantomData<&'a mut H::Value>);

impl<H: Handle> Exclusive<'_, H> {
    /// The value, before functions of the app run.
    pub(crate) fn get(&self) -> &H::Value {
        // SAFETY: `Extents` found the tag; the caller promises that nobody else uses the value.
        unsafe { &(*self.0.cast::<Slot<H::Value>>()).value }
    }

    /// Runs `call` on the value. Meanwhile every other use of the handle is refused.
    pub(crate) fn run<R>(self, call: impl FnOnce(&mut H::Value) -> R) -> R {
        let tag = self.0.cast::<usize>();
        // SAFETY: the tag is the first field of a slot, whose tag `Extents` found. The reference
        // covers the other field alone, which `checked!` opens for nobody while the tag is busy.
        unsafe {
            let free = tag.read();
            tag.write(free ^ BUSY_BIT);
            let result = call(&mut (*self.0.cast::<Slot<H::Value>>()).value);
            tag.write(free);
            result
        }
    }
}

/// Memory for a new handle: its start, its length, and the place for the handle.
pub(crate) struct Room<H>(
    pub(crate) *mut c_void,
    pub(crate) usize,
    pub(crate) *mut *mut H,
);

/// A checked [`Room`].
pub(crate) struct NewHandle<'a, H: Handle> {
    slot: *mut Slot<H::Value>,
    out: Place<'a, *mut H>,
}

impl<'a, H: Handle + 'a> Argument<'a> for Room<H> {
    type Value = NewHandle<'a, H>;

    fn extents(&self, extents: &mut Extents) {
        extents.add(self.2, 1, true);
        extents.add(self.0.cast::<Slot<H::Value>>(), 1, true);
        if self.1 < H::SIZE {
            extents.refuse(UNDERTONE_STATUS_MEMORY_TOO_SMALL);
        }
    }

    unsafe fn open(self) -> NewHandle<'a, H> {
        let Self(memory, _, out) = self;
        let out = Place(out, PhantomData);
        NewHandle {
            slot: memory.cast(),
            out,
        }
    }
}

impl<H: Handle> NewHandle<'_, H> {
    /// Makes the value in its place and writes the handle. If `make` refuses, the memory holds no
    /// valid handle.
    ///
    /// `inline(always)`: otherwise the compiler builds a document on the stack and copies it from
    /// there.
    #[inline(always)]
    pub(crate) fn make(
        self,
        make: impl FnOnce() -> Result<H::Value, Refusal>,
    ) -> Result<(), Refusal> {
        let Self { slot, out } = self;
        let handle = slot.cast::<H>();
        // SAFETY: `extents` accepted the slot, and the caller promises that it is writable. The
        // value of an earlier handle is not dropped: see `Handle::Value`.
        unsafe {
            (&raw mut (*slot).tag).write(0);
            (&raw mut (*slot).value).write(make()?);
            (&raw mut (*slot).tag).write(tag_at(handle));
        }
        out.write(handle);
        Ok(())
    }
}
