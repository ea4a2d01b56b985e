//! Which layout is best here? Builds, measures and undoes RAID × encryption × file system.

mod layout;
mod outcome;

pub use layout::{Cell, Encryption, FileSystem, Layout};
pub use outcome::{Basis, CipherRate, Measured, Outcome, Predicted, Written};
