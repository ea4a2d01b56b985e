//! What is opened for a target of a bench, sweep or interleaved bench.

use std::path::Path as FilePath;
use std::time::{Duration, Instant};

use super::args::{Common, Writing};
use super::ground;
use super::runner::Runner;
use super::writes::ESTIMATED_AFTER;
use crate::cli::{Failure, target};
use narrows_base::units::Bytes;
use narrows_load::LoadError;
use narrows_load::scratch::ScratchOptions;
use narrows_load::target::Target as Opened;
use narrows_model::path::Path;
use narrows_session::place::{self, FirstPart, NoPlace, Place, Use};
use narrows_session::scene::Scene;

/// How long a scratch file may take to write before it stays as large as it is.
const FILL_TIME: Duration = Duration::from_secs(60);
/// How long it may take where its size was not asked for and tests stop as soon as their rate is known: writing it would
/// take longer than they do. A slow drive then has a smaller one, which is still far larger than its cache.
const QUICK_FILL_TIME: Duration = Duration::from_secs(2);

/// How large a scratch file must become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Filling {
    /// As large as it was asked for, unless it takes a minute.
    Whole,
    /// As large as two seconds allow, and an eighth of its size at least.
    Quick,
}

/// The place for a path's target. A file is tested in a scratch file beside it, or read itself if `read_only`.
///
/// # Errors
/// There is none.
pub(in crate::cli) fn of(path: &Path, common: &Common, read_only: bool) -> Result<Place, Failure> {
    let files = if read_only { Use::Read } else { Use::Scratch };
    match &common.writing {
        Writing { write: true, i_own: Some(own), .. } => Place::owned(path, own),
        _ => Place::of(path, files),
    }
    .map_err(|error| no_place(&error))
}

/// Why there is no place, with what to do.
pub(in crate::cli) fn no_place(error: &NoPlace) -> Failure {
    let hint = match error {
        NoPlace::Directory(_) => "name a large file in it, or leave out --read-only",
        NoPlace::Nothing(_) => "name a device, mount or directory behind it",
        NoPlace::NoDevice(_) => "leave out --write: directories and files are tested in a scratch file",
        NoPlace::TooSmall(_) => return Failure::new(error.to_string()),
        NoPlace::Load(error) => return error.into(),
    };
    Failure::new(error.to_string()).hint(hint)
}

/// Makes sure that a scratch file comes where it was typed, by a way that others cannot change.
///
/// # Errors
/// They can, or it leads elsewhere by now.
pub(in crate::cli) fn check_way(place: &Place, scene: &Scene, typed: &str) -> Result<(), Failure> {
    match place {
        Place::Scratch(_) => target::check_way(&scene.machine, typed, &scene.subject.path.asked),
        _ => Ok(()),
    }
}

/// Opens it; a scratch file is made and filled, of `size` or smaller where there is no room, and so is the part of a
/// device that is written. `filling` says how large a scratch file must become.
///
/// # Errors
/// It cannot be opened, made or filled.
pub(in crate::cli) fn open(
    place: &Place,
    size: Bytes,
    filling: Filling,
    compressible: u8,
    runner: &Runner<'_>,
) -> Result<Opened, Failure> {
    let opened = match place {
        Place::Scratch(dir) => scratch(dir, size, filling, compressible, runner),
        Place::Owned { name, own } => return ground::open(name, own, size, compressible, runner),
        Place::Device(_) | Place::File(_) => place.open(),
    };
    Ok(opened?)
}

fn scratch(
    dir: &FilePath,
    size: Bytes,
    filling: Filling,
    compressible: u8,
    runner: &Runner<'_>,
) -> Result<Opened, LoadError> {
    let (time, is_asked) = match filling {
        Filling::Whole => (FILL_TIME, true),
        Filling::Quick => (QUICK_FILL_TIME, false),
    };
    let Some(writes) = runner.writes() else { return Err(LoadError::NotOurs(dir.to_owned())) };
    let options = ScratchOptions {
        time: Some(time),
        minimum: place::least(size, is_asked),
        compressible_percent: compressible,
        budget: Some(writes.budget().clone()),
        ..ScratchOptions::default()
    };
    writes.begin_metering(runner.root());
    let first = if size <= ESTIMATED_AFTER { size } else { writes.filled_before_trials() };
    let begin = Instant::now();
    runner.progress.phase("writing scratch file", time);
    let follow = &mut |written, _: Bytes| runner.follow(begin, written);
    let told = &mut |opened: &Opened, FirstPart { rate, there, in_all, left }| {
        runner.estimate(Some(opened), rate, (there, in_all));
        if there < in_all {
            runner.progress.phase("writing scratch file", left);
        }
    };
    let made = place::in_two_parts(dir, (first, size), &options, follow, told)?;
    writes.end_metering(runner.root());
    Ok(made)
}
