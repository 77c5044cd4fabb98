//! Judges mechanisms by the releases of a device.

pub mod device;
pub mod reachability;
pub mod selection;
pub mod stated;
pub mod statistics;
pub mod timing;
pub mod vectors;
