//! The caller's source of random bytes.

use core::ffi::c_void;
use core::fmt;

use undertone_core::rng::Entropy;
use undertone_core::rng::rand_core::{TryCryptoRng, TryRng};

/// A source of secret, unpredictable bytes: `getrandom`, `SecRandomCopyBytes`, `BCryptGenRandom`, a
/// hardware generator. Never a seeded generator: whoever knows the bytes can undo the privacy.
///
/// It fills all `len` bytes at `out` and returns 0, or returns anything else if it cannot (a short
/// read is a failure). It returns normally: no `longjmp`, no exception. `context` is what the
/// caller of the function gave that takes it.
pub type UndertoneEntropyFn =
    Option<unsafe extern "C" fn(context: *mut c_void, out: *mut u8, len: usize) -> i32>;

/// The callback as core wants it.
pub(crate) struct Callback {
    function: UndertoneEntropyFn,
    context: *mut c_void,
}

impl Callback {
    /// # Safety
    /// As long as the value lives, `function` may be called with `context` and `len` writable
    /// bytes, and then keeps the promises of [`UndertoneEntropyFn`].
    pub(crate) unsafe fn new(function: UndertoneEntropyFn, context: *mut c_void) -> Self {
        Self { function, context }
    }
}

/// The callback returned something other than 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallbackFailed;

impl fmt::Display for CallbackFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the entropy function did not return 0")
    }
}

impl core::error::Error for CallbackFailed {}

impl TryRng for Callback {
    type Error = CallbackFailed;

    fn try_next_u32(&mut self) -> Result<u32, CallbackFailed> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, CallbackFailed> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), CallbackFailed> {
        let function = self.function.ok_or(CallbackFailed)?;
        // SAFETY: `new` was promised that the function may be called with the context and with
        // writable bytes; `out` is exactly that, and initialised whatever the function does.
        match unsafe { function(self.context, out.as_mut_ptr(), out.len()) } {
            0 => Ok(()),
            _ => Err(CallbackFailed),
        }
    }
}

// The documentation of the callback type demands what these two promise.
impl TryCryptoRng for Callback {}
impl Entropy for Callback {}
