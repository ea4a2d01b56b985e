//! Opens the machine that was asked about and reads it once.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::failure::Failure;
use crate::machine::Machine;
use crate::machine::block::{BlockKind, DmKind};
use crate::machine::root::Root;
use crate::machine::snapshot;
use crate::machine::{cipher, tree::Tree};

/// The machine we run on, or the one that a snapshot holds.
///
/// # Errors
/// [`Failure`] when the snapshot cannot be opened or understood.
pub(super) fn open(from: Option<&Path>) -> Result<Root, Failure> {
    match from {
        None => Ok(Root::live()),
        Some(path) => Ok(Root::from_tree(read_snapshot(path)?)),
    }
}

#[expect(clippy::disallowed_methods, reason = "the snapshot is a file that was named on the command line")]
fn read_snapshot(path: &Path) -> Result<Tree, Failure> {
    let cannot = |error: &io::Error| Failure::new(format!("cannot read `{}`: {error}", path.display()));
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|error| cannot(&error))?)
    };
    snapshot::read(input).map_err(|error| Failure::new(format!("cannot use `{}`: {error}", path.display())))
}

/// Reads the whole machine, the cipher rate of each encrypted mapping included.
pub(super) fn read(root: &Root) -> Machine {
    let mut machine = Machine::read(root);
    for (name, device) in &machine.block {
        let BlockKind::Dm(dm) = &device.kind else { continue };
        let targets = dm.table.value().map_or(&[][..], Vec::as_slice);
        let table = targets.iter().find_map(|target| match &target.kind {
            DmKind::Crypt(table) => Some(table),
            _ => None,
        });
        if let Some(table) = table {
            machine.ciphers.insert(name.clone(), cipher::read(root, table));
        }
    }
    machine
}
