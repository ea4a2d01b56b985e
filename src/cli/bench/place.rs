//! What is opened for a target: a scratch file, the thing itself for reading, or a device that may be written.

use std::path::{Path as FilePath, PathBuf};
use std::time::{Duration, Instant};

use super::args::{Common, Writing};
use super::ground;
use super::runner::{Runner, failure};
use super::writes::ESTIMATED_AFTER;
use crate::cli::{Failure, target};
use narrows_base::units::Bytes;
use narrows_load::preset::job::JobTarget;
use narrows_load::scratch::{ScratchFile, ScratchOptions};
use narrows_load::target::{Region, Target as Opened};
use narrows_load::{LoadError, owned};
use narrows_model::path::{Path, Target};
use narrows_report::bench::TargetKind;
use narrows_session::measure::seed;
use narrows_session::scene::Scene;
use narrows_session::scene::{self, device};

/// The name of the file that fio would make.
const FIO_SCRATCH: &str = "narrows-fio-scratch";
/// How long a scratch file may take to write before it stays as large as it is.
const FILL_TIME: Duration = Duration::from_secs(60);
/// How long it may take where its size was not asked for and tests stop as soon as their rate is known: writing it would
/// take longer than they do. A slow drive then has a smaller one, which is still far larger than its cache.
const QUICK_FILL_TIME: Duration = Duration::from_secs(2);
/// The least part of a size that was not asked for, as a divisor.
const LEAST_PART: u64 = 8;

/// How large a scratch file must become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Filling {
    /// As large as it was asked for, unless it takes a minute.
    Whole,
    /// As large as two seconds allow, and an eighth of its size at least.
    Quick,
}

/// Where the bytes go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Place {
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

impl Place {
    /// The place for a path's target. A file is tested in a scratch file beside it, or read itself if `read_only`.
    pub(in crate::cli) fn of(path: &Path, common: &Common, read_only: bool) -> Result<Self, Failure> {
        if let Writing { write: true, i_own: Some(own), .. } = &common.writing {
            return match &path.asked {
                Target::Block(name) => Ok(Self::Owned { name: name.clone(), own: own.clone() }),
                _ => Err(Failure::new(format!("`{}` is not a block device", path.target))
                    .hint("leave out --write: directories and files are tested in a scratch file")),
            };
        }
        match &path.asked {
            Target::Mount { path, .. } => Self::of_file(FilePath::new(path), read_only),
            _ => scene::medium(path).map(Self::Device).ok_or_else(|| {
                Failure::new(format!("nothing can be read through `{}` alone", path.target))
                    .hint("name a device, mount or directory behind it")
            }),
        }
    }

    fn of_file(path: &FilePath, read_only: bool) -> Result<Self, Failure> {
        match (path.is_dir(), read_only) {
            (false, true) => Ok(Self::File(path.to_owned())),
            (true, true) => {
                Err(Failure::new(format!("`{}` is a directory, which cannot be read", path.display()))
                    .hint("name a large file in it, or leave out --read-only"))
            }
            (true, false) => Ok(Self::Scratch(path.to_owned())),
            (false, false) => Ok(Self::Scratch(path.parent().unwrap_or(path).to_owned())),
        }
    }

    /// Makes sure that a scratch file comes where it was typed, by a way that others cannot change.
    ///
    /// # Errors
    /// They can, or it leads elsewhere by now.
    pub(in crate::cli) fn check_way(&self, scene: &Scene, typed: &str) -> Result<(), Failure> {
        match self {
            Self::Scratch(_) => target::check_way(&scene.machine, typed, &scene.subject.path.asked),
            _ => Ok(()),
        }
    }

    /// What it is in the report.
    pub(in crate::cli) const fn kind(&self) -> TargetKind {
        match self {
            Self::Device(_) => TargetKind::Device,
            Self::File(_) => TargetKind::File,
            Self::Scratch(_) => TargetKind::Scratch,
            Self::Owned { .. } => TargetKind::OwnedDevice,
        }
    }

    /// Whether it is filled with data before the tests, and what that is called; `None` when it is only read.
    pub(in crate::cli) fn filled(&self) -> Option<String> {
        match self {
            Self::Device(_) | Self::File(_) => None,
            Self::Scratch(dir) => Some(format!("a scratch file in {}", dir.display())),
            Self::Owned { name, .. } => Some(format!("{name} behind its first MiB, and to clear that again")),
        }
    }

    /// The part that the tests would use, with `size` where they write. Nothing is written.
    ///
    /// # Errors
    /// It cannot be opened, or a device has no room for what is written.
    pub(in crate::cli) fn planned(&self, size: Bytes) -> Result<Region, Failure> {
        match self {
            Self::Scratch(_) => Ok(Region { start: Bytes::new(0), length: size }),
            Self::Device(path) => Opened::open_device(path).map(|opened| opened.region()),
            Self::File(path) => Opened::open_file_read(path).map(|opened| opened.region()),
            Self::Owned { name, .. } => {
                let all = Opened::open_device(&device(name)).map_err(|error| failure(&error))?.size();
                let region = owned::usable(all, size);
                return region.ok_or_else(|| Failure::new(format!("{name} is too small for a test")));
            }
        }
        .map_err(|error| failure(&error))
    }

    /// What a person would let fio open.
    pub(in crate::cli) fn job_target(&self, region: Region) -> JobTarget {
        let (offset, size) = (region.start, region.length);
        let path = match self {
            Self::Device(path) | Self::File(path) => path.clone(),
            Self::Scratch(dir) => dir.join(FIO_SCRATCH),
            Self::Owned { name, .. } => device(name),
        };
        JobTarget {
            path: path.display().to_string(),
            size,
            offset,
            scratch: matches!(self, Self::Scratch(_)),
            device: matches!(self, Self::Device(_) | Self::Owned { .. }),
        }
    }

    /// Opens it; a scratch file is made and filled, of `size` or smaller where there is no room, and so is the part of a
    /// device that is written. `filling` says how large a scratch file must become.
    pub(in crate::cli) fn open(
        &self,
        size: Bytes,
        filling: Filling,
        compressible: u8,
        runner: &Runner<'_>,
    ) -> Result<Opened, Failure> {
        let opened = match self {
            Self::Device(path) => Opened::open_device(path),
            Self::File(path) => Opened::open_file_read(path),
            Self::Scratch(dir) => scratch(dir, size, filling, compressible, runner),
            Self::Owned { name, own } => return ground::open(name, own, size, compressible, runner),
        };
        opened.map_err(|error| failure(&error))
    }
}

fn scratch(
    dir: &FilePath,
    size: Bytes,
    filling: Filling,
    compressible: u8,
    runner: &Runner<'_>,
) -> Result<Opened, LoadError> {
    let minimum = ScratchOptions::default().minimum;
    let (time, minimum) = match filling {
        Filling::Whole => (FILL_TIME, minimum),
        Filling::Quick => (QUICK_FILL_TIME, minimum.max(Bytes::new(size.get() / LEAST_PART))),
    };
    let minimum = size.min(minimum);
    let options = ScratchOptions {
        time: Some(time),
        seed: seed(),
        minimum,
        compressible_percent: compressible,
        budget: runner.writes().map(|writes| writes.budget().clone()),
        ..ScratchOptions::default()
    };
    let Some(writes) = runner.writes() else { return Err(LoadError::NotOurs(dir.to_owned())) };
    writes.begin_metering(runner.root());
    let first = if size <= ESTIMATED_AFTER { size } else { writes.filled_before_trials() };
    let begin = Instant::now();
    let follow = &mut |written, _: Bytes| runner.follow(begin, written);
    runner.progress.phase("writing scratch file", time);
    let options = ScratchOptions { minimum: minimum.min(first), ..options };
    let scratch = ScratchFile::create(dir, first, &options, follow)?;
    let (there, took) = (scratch.target().size(), begin.elapsed());
    let rate = there.per(took);
    let left = time.saturating_sub(took);
    // A file that is late already stays as it is.
    let by_time = there + Bytes::new((rate.get() * left.as_secs_f64()) as u64);
    let in_all = if there < first { there } else { size.min(by_time.max(minimum)) };
    runner.estimate(Some(scratch.target()), rate, (there, in_all));
    let grown = if there < in_all {
        runner.progress.phase("writing scratch file", left);
        let options = ScratchOptions { time: Some(left), seed: seed(), minimum, ..options };
        scratch.grow(size, &options, follow)?
    } else {
        scratch
    };
    writes.end_metering(runner.root());
    Ok(grown.into_target())
}
