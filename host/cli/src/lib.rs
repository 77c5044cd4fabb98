//! Arguments, files and progress that `undertone` and the laboratory's command share.

/// Prints a line on standard error.
#[macro_export]
macro_rules! note {
    ($($line:tt)*) => {
        $crate::progress::note(format_args!($($line)*))
    };
}

pub mod args;
pub mod files;
pub mod paths;
pub mod progress;
