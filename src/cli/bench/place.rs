//! What is opened for a target of a bench or sweep.

use super::args::{Common, Writing};
use super::runner::Runner;
use crate::cli::{Failure, guard, target};
use narrows_base::units::Bytes;
use narrows_load::target::Target as Opened;
use narrows_model::path::Path;
use narrows_session::place::{NoPlace, Place, Use};
use narrows_session::runner::Filling;
use narrows_session::scene::Scene;

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
    runner: &Runner<'_>,
) -> Result<Opened, Failure> {
    if let Place::Owned { name, own } = place {
        let writable = guard::open_for_writing(runner.root(), name, own, size, runner.session.stop())?;
        return Ok(runner.fill(writable, size)?);
    }
    Ok(runner.open(place, size, filling)?)
}
