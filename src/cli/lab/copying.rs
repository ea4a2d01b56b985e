//! `--copy SRC`: what was typed of the files that are copied onto each file system that is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::args::LabArgs;
use super::ground;
use crate::cli::Failure;
use narrows_base::units::Bytes;
use narrows_machine::root::Root;
use narrows_session::lab::aim::Aim;
use narrows_session::lab::journal::Head;
use narrows_session::lab::{Cell, DIRECTORY, FileSystem};
use narrows_session::trials::copying::{self, Copying, OfLab};

/// Refuses what `--copy` and the aim `copy` cannot mean.
///
/// # Errors
/// No cell has a file system, or nothing is copied that could be aimed at.
pub(super) fn refuse(args: &LabArgs, cells: &[Cell]) -> Result<(), Failure> {
    if args.copy.is_none() && args.aims().contains(&Aim::Copy) {
        return Err(Failure::new("the aim copy needs files to copy").hint("name them with --copy SRC"));
    }
    if args.copy.is_some() && cells.iter().all(|cell| cell.file_system == FileSystem::None) {
        return Err(Failure::new("--copy needs a file system, and none is to be made")
            .hint("add --file-system ext4 (or xfs, btrfs); several may be named"));
    }
    Ok(())
}

/// Looks at what is to be copied and keeps nothing but how much that takes: for a lab that builds nothing.
///
/// # Errors
/// It is not there, or nothing that is copied.
pub(super) fn look_only(args: &LabArgs) -> Result<Bytes, Failure> {
    let Some(path) = &args.copy else { return Ok(Bytes::new(0)) };
    Ok(copying::needed(&ground::absolute(path)?)?)
}

/// Looks at what is to be copied; `None` without `--copy`.
///
/// # Errors
/// It cannot be copied.
pub(super) fn look(
    root: &Root,
    args: &LabArgs,
    head: &Head,
    cells: &[Cell],
    stop: Arc<AtomicBool>,
) -> Result<Option<Copying>, Failure> {
    refuse(args, cells)?;
    let Some(typed) = &args.copy else { return Ok(None) };
    let known = head.copy.as_ref().map(|known| known.path.clone());
    let path = known.map_or_else(|| ground::absolute(typed), Ok)?;
    // Named devices have their sizes, scratch files get theirs.
    let devices = match args.scratch {
        Some(_) => vec![args.file_size.get(); usize::from(args.count)],
        None => head.devices.iter().map(|device| device.bytes).collect(),
    };
    let lab = OfLab { head, journal: journal(args)?, cells, devices: &devices, slice: args.slice };
    Ok(Some(Copying::look(root, path, &lab, stop)?))
}

/// The directory of the journal.
fn journal(args: &LabArgs) -> Result<PathBuf, Failure> {
    match args.journal.as_deref().map(|path| path.parent().unwrap_or(Path::new(""))) {
        Some(parent) if parent.as_os_str().is_empty() => ground::absolute(Path::new(".")),
        Some(parent) => ground::absolute(parent),
        None => Ok(PathBuf::from(DIRECTORY)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_needs_a_file_system_and_an_aim_a_copy() {
        use clap::Parser;
        let args = |words: &str| {
            let words = format!("narrows lab /dev/x {words}");
            let cli = crate::cli::args::Cli::try_parse_from(words.split_whitespace()).unwrap();
            match cli.into_command() {
                crate::cli::args::Command::Lab(args) => *args,
                other => panic!("{other:?}"),
            }
        };
        let refused = |words: &str| {
            let args = args(words);
            refuse(&args, &args.cells(1)).err().map(|failure| failure.to_string())
        };
        assert!(refused("--copy /srv").is_some_and(|text| text.contains("hint: add --file-system ext4")));
        assert_eq!(refused("--copy /srv --file-system none,ext4 --aim copy"), None);
        assert!(refused("--aim copy").is_some_and(|text| text.contains("--copy SRC")));
    }
}
