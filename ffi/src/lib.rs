//! undertone-ffi
