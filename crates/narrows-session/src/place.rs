//! Where load runs: what may be read or written there, and how that is opened. Nothing here decides whether a device may be
//! written: that is the guard's, and what it permitted is handed in.

use std::ops::ControlFlow;
use std::path::{Path as FilePath, PathBuf};
use std::time::{Duration, Instant};

use crate::measure::seed;
use crate::scene::{device, medium};
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::preset::job::JobTarget;
use narrows_load::scratch::{ScratchFile, ScratchOptions};
use narrows_load::target::{Region, Target as Opened};
use narrows_load::{LoadError, owned};
use narrows_model::path::{Path, Target};

/// The name of the file that fio would make.
const FIO_SCRATCH: &str = "narrows-fio-scratch";
/// The least part of a size that was not asked for, as a divisor.
const LEAST_PART: u64 = 8;

/// What of a mount point, directory or file is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A file is read. Nothing is written, so a directory has nothing that could be read.
    Read,
    /// A file is read, and a scratch file is made in a directory.
    ReadOrScratch,
    /// A scratch file is made in a directory, or beside a file.
    Scratch,
}

/// Where the bytes go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A device, read.
    Device(PathBuf),
    /// A file, read.
    File(PathBuf),
    /// A scratch file in this directory, read and written.
    Scratch(PathBuf),
    /// A device that is read and written if the guard permits it.
    Owned {
        /// Its kernel name.
        name: String,
        /// What the user typed to show that it is meant.
        own: String,
    },
}

/// Why there is no place.
#[derive(Debug, thiserror::Error)]
pub enum NoPlace {
    /// A directory, of which only what may be read was asked for.
    #[error("`{}` is a directory, which cannot be read", .0.display())]
    Directory(PathBuf),
    /// No drive is behind what was named.
    #[error("nothing can be read through `{0}` alone")]
    Nothing(String),
    /// Only a block device can be written as a whole.
    #[error("`{0}` is not a block device")]
    NoDevice(String),
    /// A device has no room between its ends.
    #[error("{0} is too small for a test")]
    TooSmall(String),
    /// It cannot be opened.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl Place {
    /// The place for a path's target.
    ///
    /// # Errors
    /// It is a directory of which nothing can be read, or no drive is behind it.
    pub fn of(path: &Path, files: Use) -> Result<Self, NoPlace> {
        match &path.asked {
            Target::Mount { path, .. } => Self::at(FilePath::new(path), files),
            _ => medium(path).map(Self::Device).ok_or_else(|| NoPlace::Nothing(path.target.clone())),
        }
    }

    /// The place for a mount point, directory or file.
    ///
    /// # Errors
    /// It is a directory of which nothing can be read.
    pub fn at(path: &FilePath, files: Use) -> Result<Self, NoPlace> {
        match (path.is_dir(), files) {
            (true, Use::Read) => Err(NoPlace::Directory(path.to_owned())),
            (true, _) => Ok(Self::Scratch(path.to_owned())),
            (false, Use::Scratch) => Ok(Self::Scratch(path.parent().unwrap_or(path).to_owned())),
            (false, _) => Ok(Self::File(path.to_owned())),
        }
    }

    /// The device of a path, to be written if it bears what the user typed.
    ///
    /// # Errors
    /// Something else than a block device was asked for.
    pub fn owned(path: &Path, own: &str) -> Result<Self, NoPlace> {
        match &path.asked {
            Target::Block(name) => Ok(Self::Owned { name: name.clone(), own: own.to_owned() }),
            _ => Err(NoPlace::NoDevice(path.target.clone())),
        }
    }

    /// The directory of its scratch file, where it has one.
    pub fn scratch(&self) -> Option<&FilePath> {
        match self {
            Self::Scratch(directory) => Some(directory),
            _ => None,
        }
    }

    /// Whether it is filled with data before the tests, and what that is called; `None` when it is only read.
    pub fn filled(&self) -> Option<String> {
        match self {
            Self::Device(_) | Self::File(_) => None,
            Self::Scratch(dir) => Some(format!("a scratch file in {}", dir.display())),
            Self::Owned { name, .. } => Some(format!("{name} behind its first MiB, and to clear that again")),
        }
    }

    /// The part that tests would use, with `size` where they write. Nothing is written.
    ///
    /// # Errors
    /// It cannot be opened, or a device has no room for what is written.
    pub fn planned(&self, size: Bytes) -> Result<Region, NoPlace> {
        match self {
            Self::Scratch(_) => Ok(Region { start: Bytes::new(0), length: size }),
            Self::Device(_) | Self::File(_) => Ok(self.open()?.region()),
            Self::Owned { name, .. } => {
                let all = Opened::open_device(&device(name))?.size();
                owned::usable(all, size).ok_or_else(|| NoPlace::TooSmall(name.clone()))
            }
        }
    }

    /// What a person would let fio open.
    pub fn job_target(&self, region: Region) -> JobTarget {
        let path = match self {
            Self::Device(path) | Self::File(path) => path.clone(),
            Self::Scratch(dir) => dir.join(FIO_SCRATCH),
            Self::Owned { name, .. } => device(name),
        };
        JobTarget {
            path: path.display().to_string(),
            size: region.length,
            offset: region.start,
            scratch: self.scratch().is_some(),
        }
    }

    /// Opens what is only read.
    ///
    /// # Errors
    /// It cannot be opened, or it is to be written.
    pub fn open(&self) -> Result<Opened, LoadError> {
        match self {
            Self::Device(path) => Opened::open_device(path),
            Self::File(path) => Opened::open_file_read(path),
            Self::Scratch(directory) => Err(LoadError::NotOurs(directory.clone())),
            Self::Owned { name, .. } => Err(LoadError::NotOurs(device(name))),
        }
    }

    /// Opens what is only read, or makes a scratch file of `size`, or smaller where `options` allow that and there is no room
    /// or time. `follow` is told the bytes written and the bytes to write; it ends the work by answering
    /// [`ControlFlow::Break`].
    ///
    /// # Errors
    /// It cannot be opened or made; a device that is written is opened by the guard only.
    pub fn open_or_make(
        &self,
        size: Bytes,
        options: &ScratchOptions,
        follow: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
    ) -> Result<Opened, LoadError> {
        let Self::Scratch(directory) = self else { return self.open() };
        let options = ScratchOptions { seed: seed(), ..options.clone() };
        ScratchFile::create(directory, size, &options, follow).map(ScratchFile::into_target)
    }
}

/// The smallest scratch file that is of use where one of `size` is wanted: an eighth of a size that was not asked for.
pub fn least(size: Bytes, is_asked: bool) -> Bytes {
    let minimum = ScratchOptions::default().minimum;
    let part = if is_asked { Bytes::new(0) } else { Bytes::new(size.get() / LEAST_PART) };
    size.min(minimum.max(part))
}

/// What the first part of a scratch file took, before the rest is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstPart {
    /// How fast it was written.
    pub rate: BytesPerSec,
    pub there: Bytes,
    /// The bytes of the whole file, at that rate.
    pub in_all: Bytes,
    /// The time that is left for the rest.
    pub left: Duration,
}

/// Makes a scratch file of `size` in two parts, so that the first tells what the rest will take before it is written: `first`
/// bytes, of which `told` hears, and as many more as `options` leave time for.
///
/// # Errors
/// It cannot be made, or not as large as it must be.
pub fn in_two_parts(
    directory: &FilePath,
    (first, size): (Bytes, Bytes),
    options: &ScratchOptions,
    follow: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
    told: &mut dyn FnMut(&Opened, FirstPart),
) -> Result<Opened, LoadError> {
    let minimum = options.minimum;
    let begin = Instant::now();
    let of_first = ScratchOptions { minimum: minimum.min(first), seed: seed(), ..options.clone() };
    let scratch = ScratchFile::create(directory, first, &of_first, follow)?;
    let (there, took) = (scratch.target().size(), begin.elapsed());
    let rate = there.per(took);
    let left = options.time.map_or(Duration::MAX, |time| time.saturating_sub(took));
    // A file that is late already stays as it is.
    let by_time = Bytes::new(there.get().saturating_add((rate.get() * left.as_secs_f64()) as u64));
    let in_all = if there < first { there } else { size.min(by_time.max(minimum)) };
    told(scratch.target(), FirstPart { rate, there, in_all, left });
    if there >= in_all {
        return Ok(scratch.into_target());
    }
    let of_rest = ScratchOptions { time: Some(left), seed: seed(), ..options.clone() };
    scratch.grow(size, &of_rest, follow).map(ScratchFile::into_target)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use narrows_load::target::Kind;
    use std::fs;

    fn options() -> ScratchOptions {
        ScratchOptions { reserve: Some(Bytes::new(0)), minimum: Bytes::from_kib(64), ..Default::default() }
    }

    fn on(_: Bytes, _: Bytes) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn path(asked: Target) -> Path {
        Path { asked, target: "what was named".to_owned(), hops: Vec::new() }
    }

    fn mount(at: &FilePath) -> Path {
        path(Target::Mount { index: 0, path: at.display().to_string() })
    }

    #[test]
    fn a_directory_gets_a_scratch_file_and_a_file_is_read_unless_more_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let (at, file) = (dir.path().to_owned(), dir.path().join("data"));
        fs::write(&file, [7; 4096]).unwrap();
        let of = |at: &FilePath, files| Place::of(&mount(at), files).unwrap();
        assert!(matches!(Place::of(&mount(&at), Use::Read), Err(NoPlace::Directory(named)) if named == at));
        assert_eq!(of(&at, Use::ReadOrScratch), Place::Scratch(at.clone()));
        assert_eq!(of(&at, Use::Scratch), Place::Scratch(at.clone()));
        assert_eq!(of(&file, Use::Read), Place::File(file.clone()));
        assert_eq!(of(&file, Use::ReadOrScratch), Place::File(file.clone()));
        assert_eq!(of(&file, Use::Scratch), Place::Scratch(at.clone()));
    }

    #[test]
    fn a_device_is_read_and_written_only_if_it_was_named_as_ones_own() {
        let disk = path(Target::Block("sdb".to_owned()));
        for files in [Use::Read, Use::ReadOrScratch, Use::Scratch] {
            assert_eq!(Place::of(&disk, files).unwrap(), Place::Device("/dev/sdb".into()), "{files:?}");
        }
        let owned = Place::owned(&disk, "S1").unwrap();
        assert_eq!(owned, Place::Owned { name: "sdb".to_owned(), own: "S1".to_owned() });
        let refused = owned.open_or_make(Bytes::from_mib(1), &options(), &mut on);
        assert!(matches!(refused, Err(LoadError::NotOurs(_))), "only the guard opens it for writing");
        let other = Place::owned(&mount(FilePath::new("/")), "S1").unwrap_err();
        assert_eq!(other.to_string(), "`what was named` is not a block device");
        let nothing = Place::of(&path(Target::Pool("tank".to_owned())), Use::Read).unwrap_err();
        assert_eq!(nothing.to_string(), "nothing can be read through `what was named` alone");
    }

    #[test]
    fn what_is_read_stays_as_it_is_and_what_is_written_has_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("data");
        fs::write(&file, [7; 8192]).unwrap();
        let opened = Place::File(file).open_or_make(Bytes::from_mib(1), &options(), &mut on).unwrap();
        assert_eq!(
            (opened.kind(), opened.size(), opened.changeable().length),
            (Kind::File, Bytes::new(8192), Bytes::new(0))
        );
        let place = Place::Scratch(dir.path().to_owned());
        let mut last = (Bytes::new(0), Bytes::new(0));
        let follow = &mut |written, all| {
            last = (written, all);
            ControlFlow::Continue(())
        };
        let size = Bytes::from_kib(256);
        assert!(matches!(place.open(), Err(LoadError::NotOurs(_))), "there is nothing to read yet");
        let opened = place.open_or_make(size, &options(), follow).unwrap();
        assert_eq!((opened.kind(), opened.changeable().length), (Kind::Scratch, size));
        assert_eq!(last, (size, size));
        let names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["data"]);
        assert!(matches!(
            place.open_or_make(size, &options(), &mut |_, _| ControlFlow::Break(())),
            Err(LoadError::Interrupted)
        ));
    }

    #[test]
    fn the_first_part_of_a_scratch_file_foretells_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let (first, size) = (Bytes::from_kib(128), Bytes::from_kib(512));
        let made = |time: Duration| {
            let options = ScratchOptions { time: Some(time), minimum: first, ..options() };
            let mut parts = Vec::new();
            let told = &mut |opened: &Opened, part| {
                assert_eq!(opened.size(), first, "it is told before the rest is written");
                parts.push(part);
            };
            let opened = in_two_parts(dir.path(), (first, size), &options, &mut on, told).unwrap();
            (opened.size(), parts)
        };
        let (whole, parts) = made(Duration::from_secs(3600));
        let [part] = parts[..] else { panic!("{parts:?}") };
        assert_eq!((whole, part.there, part.in_all), (size, first, size));
        assert!(part.rate.get() > 0.0 && part.left < Duration::from_secs(3600));
        let (cut, parts) = made(Duration::ZERO);
        assert_eq!((cut, parts[0].in_all, parts[0].left), (first, first, Duration::ZERO), "no time is left");
    }

    #[test]
    fn what_is_planned_and_handed_to_fio_is_what_would_be_used() {
        let place = Place::Scratch("/mnt/data".into());
        let region = place.planned(Bytes::from_mib(9)).unwrap();
        let job = place.job_target(region);
        assert_eq!((job.path.as_str(), job.size), ("/mnt/data/narrows-fio-scratch", Bytes::from_mib(9)));
        assert!(job.scratch);
        let owned = Place::Owned { name: "sdb".to_owned(), own: "S1".to_owned() };
        let job = owned.job_target(Region { start: Bytes::from_mib(1), length: Bytes::from_mib(4) });
        assert_eq!((job.path.as_str(), job.offset, job.scratch), ("/dev/sdb", Bytes::from_mib(1), false));
        assert!(owned.filled().is_some());
        let missing = Place::File("/nonexistent/file".into());
        assert!(matches!(missing.planned(Bytes::new(1)), Err(NoPlace::Load(_))));
        assert_eq!(missing.filled(), None);
    }

    #[test]
    fn a_file_whose_size_was_not_asked_for_may_become_smaller() {
        let mib = Bytes::from_mib;
        assert_eq!(least(mib(4096), false), mib(512));
        assert_eq!(least(mib(4096), true), mib(64));
        assert_eq!(least(mib(128), false), mib(64));
        assert_eq!(least(mib(32), true), mib(32));
    }
}
