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
//! address points to memory cannot be checked: each `# Safety` section leaves that to the caller.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ops::Range;
use core::slice;

use crate::grant::{Callback, UndertoneEntropyFn};
use crate::interface::*;
use crate::status::Refusal;

/// Evaluates to the values of the described arguments, or returns from the function with the status
/// of the first check that fails.
///
/// The word `unsafe` stands for the promise in the `# Safety` section of the function that uses it:
/// each pointer is null or correct for its description, and during the call nobody else writes
/// there or reads memory that the call writes.
macro_rules! checked {
    (unsafe $argument:expr) => {{
        let (value,) = $crate::memory::checked!(unsafe $argument,);
        value
    }};
    (unsafe $($argument:expr),+ $(,)?) => {
        // SAFETY: the caller of the exported function promises it, in `# Safety`.
        unsafe { $crate::memory::Arguments::check(($($argument,)+)) }?
    };
}
pub(crate) use checked;

/// Bytes that an argument covers.
pub(crate) struct Extent {
    addresses: Range<usize>,
    written: bool,
}

impl Extent {
    const EMPTY: Self = Self {
        addresses: 0..0,
        written: false,
    };

    /// The extent of `count` values at `start`, which may be null if `count` is 0.
    fn new<T>(start: *const T, count: usize, written: bool) -> Result<Self, Refusal> {
        if count == 0 {
            return Ok(Self::EMPTY);
        }
        if start.is_null() {
            return Err(Refusal(UNDERTONE_STATUS_NULL_POINTER));
        }
        if !start.is_aligned() {
            return Err(Refusal(UNDERTONE_STATUS_MISALIGNED));
        }
        // A Rust slice covers at most isize::MAX bytes and does not wrap around.
        let end = count
            .checked_mul(size_of::<T>())
            .filter(|bytes| isize::try_from(*bytes).is_ok())
            .and_then(|bytes| start.addr().checked_add(bytes))
            .ok_or(Refusal(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH))?;
        let addresses = start.addr()..end;
        Ok(Self { addresses, written })
    }

    /// Whether the two extents overlap and the call writes to one of them.
    fn conflicts(&self, other: &Self) -> bool {
        let (one, two) = (&self.addresses, &other.addresses);
        (self.written || other.written) && one.start < two.end && two.start < one.end
    }
}

/// One argument, or several that belong together.
///
/// `open` gives nothing outside of what `extents` covers, and allows writing only where an extent
/// is marked as written. This module alone implements it.
pub(crate) trait Argument<'a> {
    /// The checked argument.
    type Value;

    /// Checks addresses and lengths.
    fn extents(&self) -> Result<[Extent; 2], Refusal>;

    /// Checks the tag of a handle.
    ///
    /// # Safety
    /// `extents` succeeded, and what it covers is readable.
    unsafe fn recognise(&self) -> Result<(), Refusal> {
        Ok(())
    }

    /// The checked argument.
    ///
    /// # Safety
    /// `extents` and `recognise` succeeded. The caller's promise (see [`checked!`]) holds for `'a`.
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
                let extents = [$($name.extents()?),+];
                // SAFETY: `extents` succeeded for each; the caller promises the rest.
                unsafe { $($name.recognise()?;)+ }
                disjoint(extents.as_flattened())?;
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

/// Refuses if a written extent overlaps another.
fn disjoint(extents: &[Extent]) -> Result<(), Refusal> {
    let mut rest = extents;
    while let Some((first, others)) = rest.split_first() {
        if others.iter().any(|other| first.conflicts(other)) {
            return Err(Refusal(UNDERTONE_STATUS_OVERLAP));
        }
        rest = others;
    }
    Ok(())
}

/// An array that is read: its start and its length. Every pattern of bits must be valid as a `T`.
pub(crate) struct In<T>(pub(crate) *const T, pub(crate) usize);

impl<'a, T: 'a> Argument<'a> for In<T> {
    type Value = &'a [T];

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        Ok([Extent::new(self.0, self.1, false)?, Extent::EMPTY])
    }

    unsafe fn open(self) -> &'a [T] {
        if self.1 == 0 {
            return &[];
        }
        // SAFETY: `Extent::new` accepted start and length; the caller promises the rest.
        unsafe { slice::from_raw_parts(self.0, self.1) }
    }
}

/// A vector that is read: its coordinates and their number.
pub(crate) struct Vector(pub(crate) *const f32, pub(crate) usize);

/// A [`Vector`] whose pointer is checked. Its length is not compared with the dimension yet, and a
/// length in bytes is an easy mistake.
pub(crate) struct Coordinates<'a>(*const f32, usize, PhantomData<&'a [f32]>);

impl<'a> Argument<'a> for Vector {
    type Value = Coordinates<'a>;

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        Ok([Extent::new(self.0, self.1, false)?, Extent::EMPTY])
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
        // SAFETY: `Extent::new` accepted the pointer, and the caller promises that it is readable.
        unsafe { self.0.0.read() }
    }

    pub(crate) fn write(self, value: T) {
        self.0.write(value);
    }
}

impl<'a, T: 'a> Argument<'a> for InOut<T> {
    type Value = Stored<'a, T>;

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        Out(self.0).extents()
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
        // SAFETY: `Extent::new` accepted the pointer, and the caller promises that it is writable.
        unsafe { self.0.write(value) };
    }
}

impl<'a, T: 'a> Argument<'a> for Out<T> {
    type Value = Place<'a, T>;

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        Ok([Extent::new(self.0, 1, true)?, Extent::EMPTY])
    }

    unsafe fn open(self) -> Place<'a, T> {
        Place(self.0, PhantomData)
    }
}

impl<'a, T: 'a> Argument<'a> for Optional<T> {
    type Value = Option<Place<'a, T>>;

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        let count = usize::from(!self.0.is_null());
        Ok([Extent::new(self.0, count, true)?, Extent::EMPTY])
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

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        let buffer = Extent::new(self.0, self.1, true)?;
        Ok([buffer, Extent::new(self.2, 1, true)?])
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
            // SAFETY: `Extent::new` accepted the array, and fewer than `capacity` values were
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

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        if self.0.is_none() {
            return Err(Refusal(UNDERTONE_STATUS_NULL_POINTER));
        }
        Ok([Extent::EMPTY, Extent::EMPTY])
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
    /// The size that the header promises on every target.
    const LARGEST: usize;
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

/// The bytes that a handle needs.
pub(crate) const fn size<H: Handle>() -> usize {
    const {
        assert!(size_of::<Slot<H::Value>>() <= H::LARGEST);
        assert!(align_of::<Slot<H::Value>>() <= UNDERTONE_HANDLE_ALIGNMENT);
    }
    size_of::<Slot<H::Value>>()
}

pub(crate) fn tag_at<H: Handle>(handle: *const H) -> usize {
    const {
        assert!(H::TAG & 1 == 1 && H::TAG & BUSY_BIT == 0);
        assert!(align_of::<Slot<H::Value>>() >= 4);
    }
    H::TAG ^ handle.addr()
}

/// A handle that is read.
pub(crate) struct HandleRef<H>(pub(crate) *const H);

/// A handle that is changed.
pub(crate) struct HandleMut<H>(pub(crate) *mut H);

/// A handle that is changed while functions of the app run.
pub(crate) struct HandleBusy<H>(pub(crate) *mut H);

/// The extent of a handle.
fn slot_extent<H: Handle>(handle: *const H, written: bool) -> Result<[Extent; 2], Refusal> {
    let slot = Extent::new(handle.cast::<Slot<H::Value>>(), 1, written)?;
    Ok([slot, Extent::EMPTY])
}

/// Checks the tag of a handle.
///
/// # Safety
/// [`slot_extent`] succeeded, and the slot is readable.
unsafe fn recognise<H: Handle>(handle: *const H) -> Result<(), Refusal> {
    // SAFETY: the tag is the first field of the slot, which the caller promises to be readable.
    match unsafe { handle.cast::<usize>().read() } ^ tag_at(handle) {
        0 => Ok(()),
        BUSY_BIT => Err(Refusal(UNDERTONE_STATUS_BUSY)),
        _ => Err(Refusal(UNDERTONE_STATUS_BAD_HANDLE)),
    }
}

impl<'a, H: Handle> Argument<'a> for HandleRef<H> {
    type Value = &'a H::Value;

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        slot_extent(self.0, false)
    }

    unsafe fn recognise(&self) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        unsafe { recognise(self.0) }
    }

    unsafe fn open(self) -> &'a H::Value {
        // SAFETY: the slot holds a value, because it has the tag; the caller promises that nobody
        // writes to it.
        unsafe { &(*self.0.cast::<Slot<H::Value>>()).value }
    }
}

impl<'a, H: Handle> Argument<'a> for HandleMut<H> {
    type Value = &'a mut H::Value;

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        slot_extent(self.0, true)
    }

    unsafe fn recognise(&self) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        unsafe { recognise(self.0) }
    }

    unsafe fn open(self) -> &'a mut H::Value {
        // SAFETY: the slot holds a value, because it has the tag; the caller promises that nobody
        // else uses it.
        unsafe { &mut (*self.0.cast::<Slot<H::Value>>()).value }
    }
}

impl<'a, H: Handle> Argument<'a> for HandleBusy<H> {
    type Value = Exclusive<'a, H>;

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        slot_extent(self.0, true)
    }

    unsafe fn recognise(&self) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        unsafe { recognise(self.0) }
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
        // SAFETY: `recognise` found the tag; the caller promises that nobody else uses the value.
        unsafe { &(*self.0.cast::<Slot<H::Value>>()).value }
    }

    /// Runs `call` on the value. Meanwhile every other use of the handle is refused.
    pub(crate) fn run<R>(self, call: impl FnOnce(&mut H::Value) -> R) -> R {
        let tag = self.0.cast::<usize>();
        // SAFETY: the tag is the first field of a slot, which `recognise` found. The reference
        // covers the other field alone, which `checked!` opens for nobody while the tag is busy.
        unsafe {
            tag.write(tag_at(self.0) ^ BUSY_BIT);
            let result = call(&mut (*self.0.cast::<Slot<H::Value>>()).value);
            tag.write(tag_at(self.0));
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

    fn extents(&self) -> Result<[Extent; 2], Refusal> {
        let out = Extent::new(self.2, 1, true)?;
        let slot = Extent::new(self.0.cast::<Slot<H::Value>>(), 1, true)?;
        if self.1 < size::<H>() {
            return Err(Refusal(UNDERTONE_STATUS_MEMORY_TOO_SMALL));
        }
        Ok([slot, out])
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
