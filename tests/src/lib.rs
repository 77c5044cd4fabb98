//! undertone-tests
