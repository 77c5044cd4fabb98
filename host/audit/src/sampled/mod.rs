//! Judges mechanisms by the releases of a device.

pub mod device;
pub mod selection;
pub mod stated;
pub mod statistics;
pub mod vectors;
