//! Opens the machine that was asked about and reads it once.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::failure::Failure;
use crate::machine::Machine;
use crate::machine::block::{BlockKind, DmKind};
use crate::machine::root::Root;
use crate::machine::snapshot;
use crate::machine::{cipher, health, tree::Tree};

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
    let cannot = |error: &io::Error| {
        Failure::new(format!("cannot read `{}`: {error}", path.display()))
            .hint("name a file or directory that you may read, made with `narrows snapshot`")
    };
    let unusable = |error| Failure::new(format!("cannot use `{}`: {error}", path.display()));
    if path.is_dir() {
        return snapshot::read_directory(path).map_err(unusable);
    }
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|error| cannot(&error))?)
    };
    snapshot::read(input).map_err(unusable)
}

/// What of the machine cannot be seen at all, as in a container without `/sys`. The report is then a part of the truth.
pub(super) fn unseen(root: &Root) -> Vec<Failure> {
    let hint = |path: &str, kind: &str| {
        if root.is_live() {
            format!("in a container, give it `{path}` of the host; elsewhere: mount -t {kind} {kind} {path}")
        } else {
            "record the machine with `narrows snapshot`".to_owned()
        }
    };
    let mut unseen = Vec::new();
    if root.list("/sys").is_empty() {
        unseen.push(
            Failure::new("`/sys` is empty or missing: devices and their links cannot be seen")
                .hint(hint("/sys", "sysfs")),
        );
    }
    if !root.exists("/proc/self/mountinfo") {
        unseen.push(
            Failure::new("`/proc/self/mountinfo` is missing: mounted file systems cannot be seen")
                .hint(hint("/proc", "proc")),
        );
    }
    unseen
}

/// Reads the whole machine, with the cipher rate of each encrypted mapping and the health of NVMe drives.
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
    // Last: a link may wake up for it, and it was to be seen as it was.
    machine.health = health::read(root, health::nvme_drives(&machine));
    machine
}
