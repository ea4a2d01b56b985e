//! What a lab stands on: named devices that are proven empty, or scratch files, and the files that are copied onto what is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::args::LabArgs;
use crate::cli::{Failure, guard, target};
use narrows_base::units::Bytes;
use narrows_load::guard::RunSecret;
use narrows_load::held::{self, Held, HeldError};
use narrows_machine::root::Root;
use narrows_session::lab::aim::Aim;
use narrows_session::lab::journal::{Head, Journal, NamedDevice};
use narrows_session::lab::slice::Extent;
use narrows_session::lab::{self, Cell, DIRECTORY, FileSystem, JournalFile, Key, LabId, Workshop, sight};
use narrows_session::trials::copying::{self, Copying, OfLab};
use narrows_session::writes::Life;

/// The kernel name of what was typed.
///
/// # Errors
/// It is no block device.
pub(super) fn block_device(root: &Root, typed: &str) -> Result<String, Failure> {
    target::block_device(root, typed, "name whole disks such as /dev/nvme1n1, or use --scratch DIR")
}

/// The directory for scratch files by its real path, as the kernel shows the file behind a loop device.
///
/// # Errors
/// There is none, or others than root can change the way to it.
pub(super) fn scratch_directory(typed: &Path) -> Result<PathBuf, Failure> {
    let real = lab::scratch::open(typed)
        .and_then(|held| held.real_path().map_err(|source| HeldError::Io { path: typed.to_owned(), source }));
    // By its real path, too, nobody can have it swapped later.
    real.and_then(|real| lab::scratch::open(&real).map(|_| real)).map_err(|error| cannot_use(typed, &error))
}

/// A file or directory to read by its real path.
///
/// # Errors
/// There is none, or others could have it lead elsewhere.
#[expect(clippy::disallowed_methods, reason = "makes what was typed absolute")]
pub(super) fn absolute(typed: &Path) -> Result<PathBuf, Failure> {
    let real = Held::beside(typed, held::Aim::Read).and_then(|_| {
        std::fs::canonicalize(typed).map_err(|source| HeldError::Io { path: typed.to_owned(), source })
    });
    real.map_err(|error| cannot_use(typed, &error))
}

fn cannot_use(typed: &Path, error: &HeldError) -> Failure {
    let why = match error {
        HeldError::Io { source, .. } => source.to_string(),
        error => error.to_string(),
    };
    Failure::new(format!("cannot use `{}`: {why}", typed.display())).hints(error.hint())
}

/// What was typed to own this device: its own serial number, or the first one, which then is wrong. Scratch files are ours.
pub(super) fn own<'a>(args: &'a LabArgs, device: &'a NamedDevice) -> Option<&'a str> {
    if args.scratch.is_some() {
        return Some(&device.identity);
    }
    let typed = args.i_own.iter().find(|typed| **typed == device.identity);
    typed.or_else(|| args.i_own.first()).map(String::as_str)
}

/// The devices that were named, each proven empty, unused and owned.
///
/// # Errors
/// One is not.
pub(super) fn named(root: &Root, args: &LabArgs) -> Result<Vec<NamedDevice>, Failure> {
    let mut devices: Vec<NamedDevice> = Vec::new();
    for typed in &args.devices {
        let name = block_device(root, typed)?;
        if devices.iter().any(|device| device.name == name) {
            return Err(Failure::new(format!("{name} was named twice")));
        }
        let device = sight::named(root, &name).ok_or_else(|| {
            Failure::new(format!("{name} has no serial number by which it could be found again"))
                .hint("name a device with a serial number, or a loop device")
        })?;
        guard::check(root, &name, own(args, &device))?;
        devices.push(device);
    }
    let is_twin = |(at, one): (usize, &NamedDevice)| {
        devices.iter().skip(at + 1).any(|other| other.identity == one.identity)
    };
    if devices.iter().enumerate().any(is_twin) {
        return Err(Failure::new("two of the devices have the same serial number")
            .hint("they may be two paths to one drive; name one of them"));
    }
    Ok(devices)
}

/// The devices of a lab that goes on, in its order: found by their serial numbers, whatever they are called today, and as
/// empty as before. Results in `journal` get the names of today.
///
/// # Errors
/// One is not there, or not empty.
pub(super) fn again(root: &Root, args: &LabArgs, journal: &mut Journal) -> Result<Vec<NamedDevice>, Failure> {
    let mut devices = Vec::new();
    let mut renamed = Vec::new();
    for (before, name) in journal.head.devices.iter().zip(sight::find_devices(root, &journal.head)) {
        let now = name.name().and_then(|name| sight::named(root, &name)).ok_or_else(|| {
            let message = format!("{} ({}) of this lab is not there", before.name, before.identity);
            Failure::new(message).hint("connect it again, or begin a new lab")
        })?;
        guard::check(root, &now.name, own(args, &now))?;
        renamed.push((before.name.clone(), now.name.clone()));
        devices.push(now);
    }
    journal.rename(&renamed);
    Ok(devices)
}

/// What the drives of a lab may be written in their life: the least of them.
pub(super) fn life<'d>(args: &LabArgs, disks: impl Iterator<Item = &'d str>) -> Option<Life> {
    let typed: Vec<String> = match &args.scratch {
        Some(dir) => vec![dir.display().to_string()],
        None => disks.map(|disk| format!("/dev/{}", disk.replace('!', "/"))).collect(),
    };
    let scenes = typed.iter().filter_map(|typed| target::scene(typed).ok());
    scenes.filter_map(|scene| Life::of_path(&scene.subject.path)).min_by_key(|life| life.rated)
}

/// A head for a new lab.
///
/// # Errors
/// There are no random numbers, or no array has a free name.
pub(super) fn head(root: &Root, args: &LabArgs) -> Result<Head, Failure> {
    let mut bytes = [0; 16];
    let failed = |error| Failure::new(format!("no random numbers: {error}"));
    getrandom::fill(&mut bytes).map_err(failed)?;
    let secret = RunSecret::random().map_err(failed)?;
    let array = sight::free_array(root).ok_or_else(|| Failure::new("every name of an md array is taken"))?;
    let mut head = Head::new(LabId::new(bytes), secret, sight::boot(root), array);
    head.scratch = args.scratch.as_deref().map(scratch_directory).transpose()?;
    head.typed = std::env::args().skip(1).collect();
    Ok(head)
}

/// A workshop over the devices of `head`, with scratch files made if that is what they are.
///
/// # Errors
/// Something cannot be made.
pub(super) fn workshop<'a>(
    root: &'a Root,
    args: &LabArgs,
    head: Head,
    file: JournalFile,
) -> Result<Workshop<'a>, Failure> {
    let key = Key::random().map_err(|error| Failure::new(format!("no random numbers: {error}")))?;
    let mut workshop = Workshop::new(root, head, file, key);
    if args.scratch.is_some()
        && let Err(error) = workshop.make_ground(usize::from(args.files.count), args.files.size.get())
    {
        workshop.leave()?;
        workshop.journal.remove()?;
        return Err(error);
    }
    Ok(workshop)
}

/// Makes the slice of each device, in which everything is built: `needed` bytes, or as many as there are. All of it is proven to be
/// zero through the handle that has the device for us alone. Then begins to watch the devices.
///
/// # Errors
/// A device is refused, or others write to it; then everything has to be undone.
pub(super) fn slices(
    workshop: &mut Workshop<'_>,
    args: &LabArgs,
    needed: u64,
    stop: &Arc<AtomicBool>,
) -> Result<(), Failure> {
    for (index, device) in workshop.head.devices.clone().iter().enumerate() {
        let (name, root) = (&device.name, workshop.root);
        let extent = Extent::of(device.bytes, needed)
            .ok_or_else(|| Failure::new(format!("{name} is too small to build anything in")))?;
        let before = sight::counters(root, name)
            .ok_or_else(|| Failure::new(format!("the kernel does not count what is written to {name}")))?;
        let (own, bytes) = (own(args, device).unwrap_or_default(), Bytes::new(extent.bytes));
        let proven = guard::open_for_writing(root, name, own, bytes, stop)?;
        let region = proven.region();
        if (region.start.get(), region.length.get()) != (extent.start, extent.bytes) {
            return Err(Failure::new(format!("{name} has another size than it had a moment ago")));
        }
        workshop.make_slice(index, proven, extent, before)?;
    }
    workshop.begin_watch(stop.clone())
}

/// Refuses what `--copy` and the aim `copy` cannot mean.
///
/// # Errors
/// No cell has a file system, or nothing is copied that could be aimed at.
pub(super) fn refuse_copy(args: &LabArgs, cells: &[Cell]) -> Result<(), Failure> {
    if args.copy.is_none() && args.aim.iter().flatten().any(|aim| *aim == Aim::Copy) {
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
pub(super) fn copied(args: &LabArgs) -> Result<Bytes, Failure> {
    let Some(path) = &args.copy else { return Ok(Bytes::new(0)) };
    copying::needed(&absolute(path)?)
}

/// Looks at what is to be copied; `None` without `--copy`.
///
/// # Errors
/// It cannot be copied.
pub(super) fn copying(
    root: &Root,
    args: &LabArgs,
    head: &Head,
    cells: &[Cell],
    stop: Arc<AtomicBool>,
) -> Result<Option<Copying>, Failure> {
    refuse_copy(args, cells)?;
    let Some(typed) = &args.copy else { return Ok(None) };
    let known = head.copy.as_ref().map(|known| known.path.clone());
    let path = known.map_or_else(|| absolute(typed), Ok)?;
    // Named devices have their sizes, scratch files get theirs.
    let devices = match args.scratch {
        Some(_) => vec![args.files.size.get(); usize::from(args.files.count)],
        None => head.devices.iter().map(|device| device.bytes).collect(),
    };
    let lab = OfLab { head, journal: journal_directory(args)?, cells, devices: &devices, slice: args.slice };
    Ok(Some(Copying::look(root, path, &lab, stop)?))
}

/// The directory of the journal.
fn journal_directory(args: &LabArgs) -> Result<PathBuf, Failure> {
    match args.journal.as_deref().map(|path| path.parent().unwrap_or(Path::new(""))) {
        Some(parent) if parent.as_os_str().is_empty() => absolute(Path::new(".")),
        Some(parent) => absolute(parent),
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
            match cli.command {
                Some(crate::cli::args::Command::Lab(args)) => *args,
                other => panic!("{other:?}"),
            }
        };
        let refused = |words: &str| {
            let args = args(words);
            refuse_copy(&args, &args.cells(1))
                .err()
                .map(|failure| [vec![failure.message], failure.hints].concat().join("; "))
        };
        assert!(refused("--copy /srv").is_some_and(|text| text.contains("add --file-system ext4")));
        assert_eq!(refused("--copy /srv --file-system none,ext4 --aim copy"), None);
        assert!(refused("--aim copy").is_some_and(|text| text.contains("--copy SRC")));
    }
}
