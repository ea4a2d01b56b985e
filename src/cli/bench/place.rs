//! What is opened for a target: a scratch file, or the thing itself for reading.

use std::ops::ControlFlow;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::runner::{Runner, failure, seed};
use crate::cli::Failure;
use crate::cli::measure::device;
use crate::load::preset::job::JobTarget;
use crate::load::scratch::{ScratchFile, ScratchOptions};
use crate::load::target::Target as Opened;
use crate::path::{HopSpec, Path, Target};
use crate::report::bench::TargetKind;
use crate::units::Bytes;

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
}

impl Place {
    /// The place for a path's target. A file is tested in a scratch file beside it, or read itself if `read_only`.
    pub(in crate::cli) fn of(path: &Path, read_only: bool) -> Result<Self, Failure> {
        match &path.asked {
            Target::Block(name) => Ok(Self::Device(device(name))),
            Target::Mount { path, .. } => Self::of_file(FilePath::new(path), read_only),
            Target::Pci(_) | Target::Nic(_) => path
                .hops
                .iter()
                .find_map(|hop| match &hop.spec {
                    HopSpec::Device(medium) => Some(Self::Device(device(&medium.block))),
                    _ => None,
                })
                .ok_or_else(|| {
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

    /// What it is in the report.
    pub(in crate::cli) const fn kind(&self) -> TargetKind {
        match self {
            Self::Device(_) => TargetKind::Device,
            Self::File(_) => TargetKind::File,
            Self::Scratch(_) => TargetKind::Scratch,
        }
    }

    /// What a person would let fio open.
    pub(in crate::cli) fn job_target(&self, size: Bytes) -> JobTarget {
        match self {
            Self::Device(path) | Self::File(path) => {
                JobTarget { path: path.display().to_string(), size, scratch: false }
            }
            Self::Scratch(dir) => {
                JobTarget { path: dir.join(FIO_SCRATCH).display().to_string(), size, scratch: true }
            }
        }
    }

    /// Opens it; a scratch file is made and filled, of `size` or smaller where there is no room.
    pub(in crate::cli) fn open(
        &self,
        size: Bytes,
        filling: Filling,
        runner: &Runner<'_>,
    ) -> Result<Opened, Failure> {
        match self {
            Self::Device(path) => Opened::open_device(path),
            Self::File(path) => Opened::open_file_read(path),
            Self::Scratch(dir) => {
                let minimum = ScratchOptions::default().minimum;
                let (time, minimum) = match filling {
                    Filling::Whole => (FILL_TIME, minimum),
                    Filling::Quick => (QUICK_FILL_TIME, minimum.max(Bytes::new(size.get() / LEAST_PART))),
                };
                let options = ScratchOptions {
                    time: Some(time),
                    seed: seed(),
                    minimum: size.min(minimum),
                    ..ScratchOptions::default()
                };
                runner.progress.phase("writing scratch file", time);
                let begin = Instant::now();
                ScratchFile::create(dir, size, &options, &mut |written, _| {
                    runner.progress.update(begin.elapsed(), Some(written.per(begin.elapsed())));
                    if runner.stop.load(Ordering::Relaxed) {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })
                .map(ScratchFile::into_target)
            }
        }
        .map_err(|error| failure(&error))
    }
}
