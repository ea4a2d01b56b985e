//! From a typed target to a place in the machine.

use super::Failure;
use crate::machine::Machine;
use crate::machine::root::Root;
use crate::machine::target::{self, Found};
use crate::path::Target;

/// Finds what was typed.
///
/// # Errors
/// [`Failure`] when nothing is there, or nothing that a storage path leads to.
pub(super) fn resolve(root: &Root, machine: &Machine, typed: &str) -> Result<Target, Failure> {
    let found = target::find(root, typed)
        .map_err(|error| Failure::new(error.to_string()).maybe_hint(error.hint()))?;
    match found {
        Found::Block(name) => Ok(Target::Block(name)),
        Found::Pci(address) => Ok(Target::Pci(address)),
        Found::Nic(name) => Ok(Target::Nic(name)),
        Found::File(path) => target::mount_of(&machine.mounts, &path)
            .map(|index| Target::Mount { index, path: path.clone() })
            .ok_or_else(|| Failure::new(format!("`{path}` is on no mounted file system that we can see"))),
    }
}
