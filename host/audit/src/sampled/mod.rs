//! What releases of a device tell about its mechanisms.

pub mod device;
pub mod reachability;
pub mod selection;
pub mod stated;
pub mod statistics;
pub mod timing;
pub mod vectors;
