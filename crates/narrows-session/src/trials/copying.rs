//! The same real files onto each file system that a lab builds, by the engine of `narrows copy`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::copying::{shown as copy, side_name};
use crate::lab::aim::{Aim, property};
use crate::lab::journal::Head;
use crate::lab::slice;
use crate::lab::{Cell, CellCopy, Copied, CopySource, FileSystem, Layout, MOUNTS, ReadFrom};
use crate::{Failure, Teller};
use narrows_base::units::{Bytes, human};
use narrows_load::copy::{CopyControl, CopyOptions, CopyResult, Extent, Room, Source};
use narrows_load::guard::Budget;
use narrows_machine::memory;
use narrows_machine::root::Root;

/// What a cell without a file system has in place of a copy.
const NEEDS: &str = "copy needs a file system";
/// The part of the available memory that a source may take to be kept in the page cache: what is written and read back wants
/// room, too.
const CACHE: u64 = 2;
/// A source of which so much lies in the page cache comes from there, one with no more than the rest does not.
const WHOLE: f64 = 0.95;

/// What is copied to each file system.
pub struct Copying {
    source: Source,
    extent: Extent,
    /// What stands in the journal.
    pub about: CopySource,
    stop: Arc<AtomicBool>,
    targets: usize,
}

/// The lab for which files are copied.
pub struct OfLab<'a> {
    /// What stands in the first line of its journal.
    pub head: &'a Head,
    /// The directory of that journal.
    pub journal: PathBuf,
    /// What it builds.
    pub cells: &'a [Cell],
    /// The sizes of its devices.
    pub devices: &'a [u64],
    /// The most that it uses of each device, where that was asked for.
    pub slice: Option<Bytes>,
}

/// What a copy of a file or directory takes.
///
/// # Errors
/// It is not there, or nothing that is copied.
pub fn needed(path: &Path) -> Result<Bytes, Failure> {
    Ok(Source::look(path, &AtomicBool::new(false))?.extent().needed)
}

impl Copying {
    /// Looks at what is to be copied, which `path` leads to. Where a lab goes on, the source must be as it was.
    ///
    /// # Errors
    /// There is nothing to copy, the lab works inside of it, it fits nowhere, or it changed.
    pub fn look(root: &Root, path: PathBuf, lab: &OfLab<'_>, stop: Arc<AtomicBool>) -> Result<Self, Failure> {
        lab.refuse_own_places(&path)?;
        let source = Source::look(&path, &stop)?;
        let (extent, known) = (source.extent(), lab.head.copy.as_ref());
        if extent.files == 0 {
            return Err(Failure::new(format!("there is no file in `{}`", path.display())));
        }
        if known.is_some_and(|known| (known.files, known.bytes) != (extent.files, extent.bytes)) {
            let message = format!("`{}` is not what it was when this lab began", path.display());
            let hint = "copies of it cannot be compared any more: begin again";
            return Err(Failure::new(message).hint(hint));
        }
        let targets = lab.fitting(extent.needed);
        if targets == 0 {
            let (path, needed) = (path.display(), human::bytes(extent.needed));
            let message = format!("`{path}` takes {needed}, more than any of these layouts holds");
            let hint = "name a part of it, or larger devices (--files)";
            return Err(Failure::new(message).hint(hint));
        }
        let available = || memory::available_memory(root).get();
        let from = known.map_or_else(|| read_from(extent.bytes, available()), |known| known.from);
        let about = CopySource { path, files: extent.files, bytes: extent.bytes, from };
        Ok(Self { source, extent, about, stop, targets })
    }

    /// What each copy takes.
    pub const fn needed(&self) -> Bytes {
        self.extent.needed
    }

    /// What all copies together write.
    pub fn writes(&self) -> Bytes {
        Bytes::new(self.extent.bytes.get().saturating_mul(self.targets as u64))
    }

    /// What is said before anything is written.
    pub fn announcement(&self) -> String {
        let from = match self.about.from {
            ReadFrom::Memory => "it is read through right before each, so that it comes from memory",
            ReadFrom::Drive => {
                "it does not fit into half of the memory that is free, so each copy reads it from its own drive, which may \
                 limit all of them alike"
            }
        };
        format!(
            "copies {} ({} files, {}) to {} of them, {} in all, and reads each copy back; {from}",
            self.about.path.display(),
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
    pub fn to<T: Teller>(
        &self,
        root: &Root,
        (cell, point): (Cell, &Path),
        budget: &Budget,
        teller: fn() -> T,
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
        let cached = self.make_ready(&teller());
        let options = CopyOptions { direct: self.about.from == ReadFrom::Drive, ..CopyOptions::default() };
        let control = CopyControl::with_stop(self.stop.clone());
        let ends: (&Path, &Path) = (&self.about.path, &point.join("copy"));
        let result = copy(root, ends, &options, &control, teller)?.result;
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
    fn make_ready(&self, bar: &impl Teller) -> Option<f64> {
        bar.name("reading SRC through");
        match self.about.from {
            ReadFrom::Memory => {
                let whole = self.extent.bytes;
                let told = &mut |done: Bytes| bar.amount(done, whole, &human::bytes(done));
                self.source.read_through(&self.stop, told);
            }
            ReadFrom::Drive => self.source.drop_from_cache(&self.stop),
        }
        self.source.cached(&self.stop)
    }

    fn copied(&self, result: &CopyResult, cached: Option<f64>) -> Copied {
        let (limit, first) = (result.limit(), result.faults.first());
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
            first_fault: first.map(|fault| format!("{}: {}", fault.path.display(), fault.why)),
            trusted: came && result.is_whole(),
        }
    }
}

/// Whether so many bytes stay in the page cache until they are copied.
fn read_from(bytes: Bytes, available: Option<Bytes>) -> ReadFrom {
    match available {
        Some(available) if bytes.get() <= available.get() / CACHE => ReadFrom::Memory,
        _ => ReadFrom::Drive,
    }
}

impl OfLab<'_> {
    /// A source that holds what the lab makes would be copied into itself, or change while it is copied.
    fn refuse_own_places(&self, source: &Path) -> Result<(), Failure> {
        let own = [Some(Path::new(MOUNTS)), self.head.scratch.as_deref(), Some(self.journal.as_path())];
        match own.into_iter().flatten().find(|place| place.starts_with(source)) {
            None => Ok(()),
            Some(place) => {
                let (source, place) = (source.display(), place.display());
                let message = format!("`{source}` cannot be copied: the lab itself works in {place}");
                Err(Failure::new(message).hint("name a part of it that does not hold that"))
            }
        }
    }

    /// To how many of the cells so much can be copied.
    fn fitting(&self, needed: Bytes) -> usize {
        let most = self.slice.map_or(u64::MAX, Bytes::get);
        let slice = |device: &u64| Bytes::new(slice::Extent::of(*device, most).map_or(0, |part| part.bytes));
        let sizes: Vec<Bytes> = self.devices.iter().map(slice).collect();
        let holds =
            |cell: &&Cell| cell.file_system != FileSystem::None && room(cell.layout, &sizes) >= needed;
        self.cells.iter().filter(holds).count()
    }
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
    use crate::lab::{DIRECTORY, Encryption, LabId};
    use narrows_load::guard::RunSecret;

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
    fn what_holds_the_labs_own_places_is_not_copied_and_what_fits_nowhere_has_no_target() {
        let mut head =
            Head::new(LabId::new([1; 16]), RunSecret::new([2; 32]), String::new(), "md127".to_owned());
        head.scratch = Some("/srv/lab".into());
        let plain = |layout, file_system| Cell { layout, encryption: Encryption::Plain, file_system };
        let cells = [
            plain(Layout::Raid1, FileSystem::Ext4),
            plain(Layout::Raid0, FileSystem::Ext4),
            plain(Layout::Raid0, FileSystem::None),
        ];
        let (journal, devices) = (PathBuf::from(DIRECTORY), [64 << 20; 2]);
        let lab = OfLab { head: &head, journal, cells: &cells, devices: &devices, slice: None };
        for (source, allowed) in [
            ("/", false),
            ("/run", false),
            ("/srv/lab", false),
            ("/var", false),
            ("/srv/lab/photos", true),
            ("/home", true),
        ] {
            assert_eq!(lab.refuse_own_places(Path::new(source)).is_ok(), allowed, "{source}");
        }
        let fitting = |mib| lab.fitting(Bytes::from_mib(mib));
        assert_eq!([fitting(62), fitting(124), fitting(125)], [2, 1, 0]);
        let half = OfLab { slice: Some(Bytes::from_mib(31)), ..lab };
        assert_eq!([62, 63].map(|mib| half.fitting(Bytes::from_mib(mib))), [1, 0]);
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
        let to = |copying: &Copying, cell, point: &Path, bytes| {
            copying.to(&root, (cell, point), &Budget::new(Bytes::new(bytes)), || ())
        };
        let said = to(&copying, bare, Path::new("/nonexistent"), 0);
        assert_eq!(said, Ok(CellCopy::Not(NEEDS.to_owned())));
        let there = Cell { file_system: FileSystem::Ext4, ..bare };
        let made = tempfile::tempdir().unwrap();
        assert!(to(&copying, there, made.path(), 0).is_err(), "nothing may be written");
        let copied = to(&copying, there, made.path(), 1 << 20).unwrap();
        let CellCopy::Copied(copied) = copied else { panic!("{copied:?}") };
        assert_eq!((copied.files, copied.bytes, copied.faults), (1, Bytes::new(1), 0));
        assert_eq!(copied.verified_files + copied.verified_by_advice, 1);
        assert_eq!(std::fs::read(made.path().join("copy")).unwrap(), b"x");
        let again = tempfile::tempdir().unwrap();
        let large =
            Copying { about: CopySource { from: ReadFrom::Drive, ..copying.about.clone() }, ..copying };
        let copied = to(&large, there, again.path(), 1 << 20).unwrap();
        let CellCopy::Copied(copied) = copied else { panic!("{copied:?}") };
        assert_eq!((copied.read_from, copied.bytes), (ReadFrom::Drive, Bytes::new(1)));
    }
}
