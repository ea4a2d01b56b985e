//! From a typed target to a place in the machine.

use std::path::Path as FilePath;

use super::Failure;
use crate::load::held::{Aim, Held};
use crate::machine::Machine;
use crate::machine::capture;
use crate::machine::root::Root;
use crate::machine::target::{self, Found};
use crate::path::Target;

/// Finds what was typed.
///
/// # Errors
/// [`Failure`] when nothing is there, or nothing that a storage path leads to.
pub(super) fn resolve(root: &Root, machine: &Machine, typed: &str) -> Result<Target, Failure> {
    if typed.is_empty() {
        return Err(Failure::new("the target is empty").hint(SEE_ALL));
    }
    let found = match &machine.captured {
        None => target::find(root, typed),
        Some(_) => capture::target::find(machine, typed),
    };
    let found = found.map_err(|error| {
        let hint = error.hint().unwrap_or_else(|| what_to_type(root, typed).to_owned());
        Failure::new(error.to_string()).hint(hint)
    })?;
    match found {
        Found::Block(name) => Ok(Target::Block(name)),
        Found::Pci(address) => Ok(Target::Pci(address)),
        Found::Nic(name) => Ok(Target::Nic(name)),
        Found::Pool(name) => Ok(Target::Pool(name)),
        Found::File(path) => target::mount_of(&machine.mounts, &path)
            .map(|index| Target::Mount { index, path: path.clone() })
            .ok_or_else(|| {
                Failure::new(format!("`{path}` is on no file system that /proc/self/mountinfo lists"))
                    .hint("name the block device instead, such as /dev/sda")
            }),
    }
}

/// Makes sure, before something is written at a directory or beside a file, that what was typed leads there by a way that
/// others cannot change.
///
/// # Errors
/// [`Failure`] when others can, or it leads elsewhere by now.
pub(super) fn check_way(machine: &Machine, typed: &str, asked: &Target) -> Result<(), Failure> {
    let Target::Mount { path, .. } = asked else { return Ok(()) };
    // The source of a mount is no path; what it is mounted on comes from the kernel.
    if machine.mounts.iter().any(|mount| mount.source == typed && mount.point == *path) {
        return Ok(());
    }
    let held = |path: &str| {
        Held::beside(FilePath::new(path), Aim::Write).map_err(|error| {
            Failure::new(format!("nothing is written at `{path}`: {error}"))
                .maybe_hint(error.hint().map(str::to_owned))
        })
    };
    let is_same = held(typed)?.is(&held(path)?);
    is_same.ok().filter(|is_same| *is_same).map(drop).ok_or_else(|| {
        Failure::new(format!("`{typed}` leads elsewhere than a moment ago")).hint("see who changes it")
    })
}

/// The kernel name of the block device that was typed. `instead` says what to name when it is something else.
///
/// # Errors
/// [`Failure`] when nothing is there, or no block device.
pub(super) fn block_device(root: &Root, typed: &str, instead: &'static str) -> Result<String, Failure> {
    match target::find(root, typed) {
        Ok(Found::Block(name)) => Ok(name),
        Ok(_) => Err(Failure::new(format!("`{typed}` is not a block device")).hint(instead)),
        Err(error) => {
            let hint = error.hint().unwrap_or_else(|| SEE_ALL.to_owned());
            Err(Failure::new(error.to_string()).hint(hint))
        }
    }
}

const SEE_ALL: &str = "`narrows` without a target shows every storage path of the machine";

fn what_to_type(root: &Root, typed: &str) -> &'static str {
    let is_relative = !typed.starts_with('/') && (typed.starts_with('.') || typed.contains('/'));
    if is_relative && !root.is_live() {
        return "in a recorded machine only a whole path such as /home or /dev/sda can be found";
    }
    SEE_ALL
}
