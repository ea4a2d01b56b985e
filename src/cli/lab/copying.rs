//! `--copy SRC`: the same real files onto each file system that is built, by the engine of `narrows copy`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::args::LabArgs;
use super::ground;
use crate::cli::{Failure, copy as cli_copy};
use narrows_base::units::{Bytes, human};
use narrows_load::copy::{CopyControl, CopyOptions, CopyResult, Extent, Room, Source};
use narrows_load::guard::Budget;
use narrows_machine::cpu;
use narrows_machine::root::Root;
use narrows_report::copy::side_name;
use narrows_report::progress::Progress;
use narrows_session::lab::aim::{Aim, property};
use narrows_session::lab::journal::Head;
use narrows_session::lab::slice;
use narrows_session::lab::{
    Cell, CellCopy, Copied, CopySource, DIRECTORY, FileSystem, Layout, MOUNTS, ReadFrom,
};

/// What a cell without a file system has in place of a copy.
const NEEDS: &str = "copy needs a file system";
/// The part of the available memory that a source may take to be kept in the page cache: what is written and read back wants
/// room, too.
const CACHE: u64 = 2;
/// A source of which so much lies in the page cache comes from there, one with no more than the rest does not.
const WHOLE: f64 = 0.95;

/// What is copied to each file system.
pub(super) struct Copying {
    source: Source,
    extent: Extent,
    /// What stands in the journal.
    pub(super) about: CopySource,
    stop: Arc<AtomicBool>,
    targets: usize,
}

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
    let looked = Source::look(&ground::absolute(path)?, &AtomicBool::new(false));
    looked.map(|source| source.extent().needed).map_err(|error| cli_copy::failure(&error))
}

impl Copying {
    /// Looks at what is to be copied; `None` without `--copy`. A lab that goes on has `known`, and the source must be as it was.
    ///
    /// # Errors
    /// There is nothing to copy, the lab works inside of it, it fits nowhere, or it changed.
    pub(super) fn look(
        root: &Root,
        args: &LabArgs,
        head: &Head,
        cells: &[Cell],
        stop: Arc<AtomicBool>,
    ) -> Result<Option<Self>, Failure> {
        refuse(args, cells)?;
        let Some(typed) = &args.copy else { return Ok(None) };
        let known = head.copy.as_ref();
        let path = known.map_or_else(|| ground::absolute(typed), |known| Ok(known.path.clone()))?;
        refuse_own_places(&path, args, head)?;
        let source = Source::look(&path, &stop).map_err(|error| cli_copy::failure(&error))?;
        let extent = source.extent();
        if extent.files == 0 {
            return Err(Failure::new(format!("there is no file in `{}`", shown(&path))));
        }
        if known.is_some_and(|known| (known.files, known.bytes) != (extent.files, extent.bytes)) {
            let message = format!("`{}` is not what it was when this lab began", shown(&path));
            return Err(Failure::new(message).hint("copies of it cannot be compared any more: begin again"));
        }
        let sizes = sizes(args, head);
        let fitting =
            |cell: &&Cell| cell.file_system != FileSystem::None && room(cell.layout, &sizes) >= extent.needed;
        let targets = cells.iter().filter(fitting).count();
        if targets == 0 {
            let message = format!(
                "`{}` takes {}, more than any of these layouts holds",
                shown(&path),
                human::bytes(extent.needed)
            );
            return Err(Failure::new(message).hint("name a part of it, or larger devices (--file-size)"));
        }
        let from = known
            .map_or_else(|| read_from(extent.bytes, cpu::available_memory(root).get()), |known| known.from);
        let about = CopySource { path, files: extent.files, bytes: extent.bytes, from };
        Ok(Some(Self { source, extent, about, stop, targets }))
    }

    /// What each copy takes.
    pub(super) fn needed(&self) -> Bytes {
        self.extent.needed
    }

    /// What all copies together write.
    pub(super) fn writes(&self) -> Bytes {
        Bytes::new(self.extent.bytes.get().saturating_mul(self.targets as u64))
    }

    /// What is said before anything is written.
    pub(super) fn announcement(&self) -> String {
        let from = match self.about.from {
            ReadFrom::Memory => "it is read through right before each, so that it comes from memory",
            ReadFrom::Drive => {
                "it does not fit into half of the memory that is free, so each copy reads it from its own drive, which may \
                 limit all of them alike"
            }
        };
        format!(
            "copies {} ({} files, {}) to {} of them, {} in all, and reads each copy back; {from}",
            shown(&self.about.path),
            human::count(self.extent.files as f64),
            human::bytes(self.extent.bytes),
            self.targets,
            human::bytes(self.writes()),
        )
    }

    /// Copies to the file system of a cell that is mounted at `point`.
    ///
    /// # Errors
    /// It could not be begun, was interrupted, or no more may be written.
    pub(super) fn to(
        &self,
        root: &Root,
        cell: Cell,
        point: &Path,
        budget: &Budget,
    ) -> Result<CellCopy, Failure> {
        if cell.file_system == FileSystem::None {
            return Ok(CellCopy::Not(NEEDS.to_owned()));
        }
        let room = Room::of(point).map_err(|error| {
            Failure::new(format!("cannot tell what is free in {}: {error}", point.display()))
        })?;
        if !room.holds(&self.extent) {
            let (needed, free) = (human::bytes(self.extent.needed), human::bytes(room.bytes));
            return Ok(CellCopy::Not(format!(
                "the copy does not fit: it takes {needed} and {} names, and {free} are free",
                self.extent.names
            )));
        }
        budget.take(self.extent.bytes).map_err(|over| Failure::new(over.to_string()))?;
        let cached = self.make_ready();
        let options = CopyOptions { direct: self.about.from == ReadFrom::Drive, ..CopyOptions::default() };
        let control = CopyControl::with_stop(self.stop.clone());
        let ends: (&Path, &Path) = (&self.about.path, &point.join("copy"));
        let result = cli_copy::shown(root, ends, &options, &control)?.result;
        if result.interrupted || self.stop.load(Ordering::Relaxed) {
            return Err(Failure::new("interrupted"));
        }
        if result.is_out_of_space() {
            let done = human::bytes(result.bytes());
            return Ok(CellCopy::Not(format!("the copy does not fit: no space was left after {done}")));
        }
        Ok(CellCopy::Copied(Box::new(self.copied(&result, cached))))
    }

    /// Brings the source to the same place before every copy, and says how much of it is in the page cache then.
    fn make_ready(&self) -> Option<f64> {
        let bar = Progress::on_stderr(false);
        bar.name("reading SRC through");
        match self.about.from {
            ReadFrom::Memory => {
                let whole = self.extent.bytes.get();
                let told = &mut |done: Bytes| bar.amount(done.get(), whole, &human::bytes(done));
                self.source.read_through(&self.stop, told);
            }
            ReadFrom::Drive => self.source.drop_from_cache(&self.stop),
        }
        self.source.cached(&self.stop)
    }

    fn copied(&self, result: &CopyResult, cached: Option<f64>) -> Copied {
        let limit = result.limit();
        let back = result.read_back.unwrap_or_default();
        let files = result.small.files + result.large.files;
        let came = match self.about.from {
            ReadFrom::Memory => cached.is_none_or(|part| part >= WHOLE),
            ReadFrom::Drive => result.direct_reads >= files || cached.is_none_or(|part| part <= 1.0 - WHOLE),
        };
        Copied {
            source: self.about.path.display().to_string(),
            files,
            directories: result.directories,
            bytes: result.bytes(),
            elapsed_ns: result.elapsed,
            bytes_per_second: result.bytes().per(result.elapsed.duration()),
            limit: limit.map(|(side, _)| side_name(side).to_owned()),
            limit_share: limit.map(|(_, share)| share),
            read_from: self.about.from,
            cached,
            verified_files: back.direct,
            verified_by_advice: back.advised,
            faults: result.faults.len() as u64,
            first_fault: result
                .faults
                .first()
                .map(|fault| format!("{}: {}", fault.path.display(), fault.why)),
            trusted: came && result.is_whole(),
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Whether so many bytes stay in the page cache until they are copied.
fn read_from(bytes: Bytes, available: Option<Bytes>) -> ReadFrom {
    match available {
        Some(available) if bytes.get() <= available.get() / CACHE => ReadFrom::Memory,
        _ => ReadFrom::Drive,
    }
}

/// A source that holds what the lab makes would be copied into itself, or change while it is copied.
fn refuse_own_places(source: &Path, args: &LabArgs, head: &Head) -> Result<(), Failure> {
    let journal = args.journal.as_deref().map(|path| path.parent().unwrap_or(Path::new("")));
    let journal = match journal {
        Some(parent) if parent.as_os_str().is_empty() => ground::absolute(Path::new("."))?,
        Some(parent) => ground::absolute(parent)?,
        None => PathBuf::from(DIRECTORY),
    };
    let own = [Some(PathBuf::from(MOUNTS)), head.scratch.clone(), Some(journal)];
    match own.into_iter().flatten().find(|place| place.starts_with(source)) {
        None => Ok(()),
        Some(place) => {
            let message =
                format!("`{}` cannot be copied: the lab itself works in {}", shown(source), shown(&place));
            Err(Failure::new(message).hint("name a part of it that does not hold that"))
        }
    }
}

/// How large slices of the devices can be: named ones have their sizes, scratch files get theirs.
fn sizes(args: &LabArgs, head: &Head) -> Vec<Bytes> {
    let most = args.slice.map_or(u64::MAX, Bytes::get);
    let fitting = |device: u64| Bytes::new(slice::Extent::of(device, most).map_or(0, |extent| extent.bytes));
    if args.scratch.is_some() {
        return vec![fitting(args.file_size.get()); usize::from(args.count)];
    }
    head.devices.iter().map(|device| fitting(device.bytes)).collect()
}

/// What a layout holds before a file system takes its part. One whose capacity is not known holds anything.
fn room(layout: Layout, sizes: &[Bytes]) -> Bytes {
    let least = sizes.iter().min().copied().unwrap_or_default();
    match layout {
        Layout::Single => sizes.first().copied().unwrap_or_default(),
        Layout::LvmLinear => sizes.iter().copied().sum(),
        _ => property(layout, sizes.len(), Aim::Capacity).map_or(Bytes::new(u64::MAX), |part| {
            Bytes::new((part * least.as_f64() * sizes.len() as f64) as u64)
        }),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use narrows_session::lab::{Encryption, LabId};

    fn mib(sizes: &[u64]) -> Vec<Bytes> {
        sizes.iter().map(|size| Bytes::from_mib(*size)).collect()
    }

    #[test]
    fn what_a_layout_holds_follows_from_the_sizes() {
        for (layout, holds) in [
            (Layout::Single, 300),
            (Layout::Raid0, 400),
            (Layout::Raid1, 100),
            (Layout::Raid10, 200),
            (Layout::Raid5, 300),
            (Layout::LvmLinear, 700),
            (Layout::LvmStriped, 400),
        ] {
            assert_eq!(room(layout, &mib(&[300, 100, 100, 200])), Bytes::from_mib(holds), "{layout:?}");
        }
        assert_eq!(room(Layout::Raid5, &mib(&[100])), Bytes::new(u64::MAX), "it is not built anyway");
    }

    #[test]
    fn a_source_comes_from_memory_only_where_it_leaves_room() {
        let gib = |count: u64| Bytes::new(count << 30);
        assert_eq!(read_from(gib(4), Some(gib(8))), ReadFrom::Memory);
        assert_eq!(read_from(gib(5), Some(gib(8))), ReadFrom::Drive);
        assert_eq!(read_from(gib(1), None), ReadFrom::Drive);
    }

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

    #[test]
    fn what_holds_the_labs_own_places_is_not_copied() {
        use clap::Parser;
        let cli = crate::cli::args::Cli::try_parse_from(["narrows", "lab", "--scratch", "/srv/lab"]).unwrap();
        let crate::cli::args::Command::Lab(args) = cli.into_command() else { panic!("is a lab") };
        let mut head = Head::new(LabId::new([1; 16]), String::new(), "md127".to_owned());
        head.scratch = Some("/srv/lab".into());
        for (source, allowed) in [
            ("/", false),
            ("/run", false),
            ("/srv/lab", false),
            ("/var", false),
            ("/srv/lab/photos", true),
            ("/home", true),
        ] {
            assert_eq!(refuse_own_places(Path::new(source), &args, &head).is_ok(), allowed, "{source}");
        }
    }

    #[test]
    fn a_bare_device_says_what_it_needs() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "x").unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let source = Source::look(&dir.path().join("file"), &stop).unwrap();
        let extent = source.extent();
        let about = CopySource {
            path: dir.path().join("file"),
            files: 1,
            bytes: extent.bytes,
            from: ReadFrom::Memory,
        };
        let copying = Copying { source, extent, about, stop, targets: 1 };
        let root = Root::live();
        let bare =
            Cell { layout: Layout::Raid0, encryption: Encryption::Plain, file_system: FileSystem::None };
        let said = copying.to(&root, bare, Path::new("/nonexistent"), &Budget::new(Bytes::new(0)));
        assert_eq!(said, Ok(CellCopy::Not(NEEDS.to_owned())));
        let there = Cell { file_system: FileSystem::Ext4, ..bare };
        let to = tempfile::tempdir().unwrap();
        assert!(
            copying.to(&root, there, to.path(), &Budget::new(Bytes::new(0))).is_err(),
            "nothing may be written"
        );
        let copied = copying.to(&root, there, to.path(), &Budget::new(Bytes::from_mib(1))).unwrap();
        let CellCopy::Copied(copied) = copied else { panic!("{copied:?}") };
        assert_eq!((copied.files, copied.bytes, copied.faults), (1, Bytes::new(1), 0));
        assert_eq!(copied.verified_files + copied.verified_by_advice, 1);
        assert_eq!(std::fs::read(to.path().join("copy")).unwrap(), b"x");
        let again = tempfile::tempdir().unwrap();
        let large =
            Copying { about: CopySource { from: ReadFrom::Drive, ..copying.about.clone() }, ..copying };
        let copied = large.to(&root, there, again.path(), &Budget::new(Bytes::from_mib(1))).unwrap();
        let CellCopy::Copied(copied) = copied else { panic!("{copied:?}") };
        assert_eq!((copied.read_from, copied.bytes), (ReadFrom::Drive, Bytes::new(1)));
    }
}
