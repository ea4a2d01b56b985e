//! Which layout is best here? Builds, measures and undoes RAID × encryption × file system.

pub mod aim;
mod layout;
mod outcome;
mod predict;

pub use layout::{Cell, Encryption, FileSystem, Layout};
pub use outcome::{Basis, CipherRate, Mapping, Measured, Outcome, Predicted, Written};
pub use predict::predict;
