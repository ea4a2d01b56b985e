//! From facts to paths.

use super::{Path, Target};
use crate::machine::Machine;

/// The path to one target; `None` when the machine has no such target.
pub fn path(_machine: &Machine, _target: &Target) -> Option<Path> {
    None
}

/// Every storage path of a machine: each whole or stacked block device and each mounted file system that holds data.
pub fn all(_machine: &Machine) -> Vec<Path> {
    Vec::new()
}
