//! `narrows bench --emit-fio`: the tests as a job file of fio. Nothing is run.

use std::path::Path;

use super::place;
use super::save;
use crate::cli::{Failure, NOTHING_FOUND, output};
use narrows_base::units::Bytes;
use narrows_load::preset::job::{self, JobTime};
use narrows_load::preset::{Preset, Test};
use narrows_session::measure::Timing;
use narrows_session::place::Place;
use narrows_session::writes::Writes;

/// What a run would do.
pub(super) struct Planned<'a> {
    pub(super) place: &'a Place,
    /// How much it would use where it writes.
    pub(super) size: Bytes,
    pub(super) timing: &'a Timing,
    /// What it may write, where it writes.
    pub(super) writes: Option<Writes>,
}

/// Writes the tests of a preset that can be run as a job file.
///
/// # Errors
/// The target cannot be opened, or the file cannot be written or is there already.
pub(super) fn job_file(file: &Path, preset: &Preset, planned: &Planned<'_>) -> Result<u8, Failure> {
    let region = planned.place.planned(planned.size).map_err(|error| place::no_place(&error))?;
    let target = planned.place.job_target(region);
    if !job::can_carry(&target.path) {
        return Err(Failure::new(format!("fio's job files cannot name `{}`", target.path))
            .hint("name it by a link without control characters, `;`, `#`, `$` and backslashes"));
    }
    let time = JobTime { run: planned.timing.longest(), warm_up: planned.timing.warm_up };
    let writes = planned.writes.as_ref();
    let is_run =
        |test: &&Test| planned.place.obstacle_on(test, target.size, writes, planned.timing).is_none();
    let tests: Vec<Test> = preset.tests.iter().filter(is_run).cloned().collect();
    save::write_new(file, &job::file(preset.name, &tests, &target, time))?;
    let named = file.display().to_string();
    output::note(&format!("nothing was run; {named} has {} tests for fio", tests.len()));
    Ok(NOTHING_FOUND)
}
