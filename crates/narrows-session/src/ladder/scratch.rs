//! The scratch files of a ladder, and what it may write.

use std::path::{Path as FilePath, PathBuf};
use std::time::{Duration, Instant};

use super::Ask;
use crate::measure::Timing;
use crate::objection::Objection;
use crate::place::{self, NoPlace, Place, Use};
use crate::runner::Runner;
use crate::scene::Scene;
use crate::teller::Teller;
use crate::writes::{Wanted, Writes};
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::LoadError;
use narrows_load::preset::{LoadSpec, StopRule, Work};
use narrows_load::scratch::ScratchOptions;
use narrows_load::target::Target;
use narrows_model::path::layers::{Entry, Layer};

/// The size of a scratch file, unless another is asked for.
const SIZE: Bytes = Bytes::from_mib(1024);
/// How long it may take to write before it stays as large as it is.
const FILL_TIME: Duration = Duration::from_secs(4);

/// Where load runs at a layer.
///
/// # Errors
/// It is a directory, and nothing may be written.
pub(super) fn place_of(entry: &Entry, ask: Ask) -> Result<Place, NoPlace> {
    let files = match (ask.read, ask.write_scratch) {
        (true, _) => Use::Read,
        (false, true) => Use::Scratch,
        (false, false) => Use::ReadOrScratch,
    };
    Place::of_layer(entry, files)
}

/// The directory in which a layer needs a scratch file.
fn directory(entry: &Entry, ask: Ask) -> Option<PathBuf> {
    place_of(entry, ask).ok()?.scratch().map(FilePath::to_owned)
}

/// What the ladder may write at most at the `ceiling` of its path, and what is said before it does; `None` where it needs no
/// scratch file.
///
/// # Errors
/// That is less than the files.
pub fn writes(
    scene: &Scene,
    layers: &[Layer],
    loads: &[LoadSpec],
    ask: Ask,
    ceiling: Option<BytesPerSec>,
) -> Result<Option<(Writes, String)>, Objection> {
    let places: Vec<PathBuf> = layers.iter().filter_map(|layer| directory(&layer.entry, ask)).collect();
    let Some(first) = places.first() else { return Ok(None) };
    let is_run = |load: &LoadSpec, layer: &Layer| !load.writes() || directory(&layer.entry, ask).is_some();
    let each = loads.iter().flat_map(|load| {
        layers.iter().filter(move |layer| is_run(load, layer)).map(move |_| Work::Load(load.clone()))
    });
    let works: Vec<Work> = each.collect();
    let timing = Timing {
        stop: StopRule::Seconds(u32::try_from(ask.time.as_secs()).unwrap_or(u32::MAX)),
        precision: 0.02,
        max_time: ask.time,
        fixed: Some(ask.time),
        warm_up: ask.warm_up,
    };
    let count = places.len() as u64;
    let size = Bytes::new(ask.size.unwrap_or(SIZE).get().saturating_mul(count));
    let writes = Writes::of(&Wanted {
        asked: ask.max_writes,
        kept: None,
        size: (size, ask.size.is_some()),
        is_device: false,
        works: &works,
        timing: &timing,
        is_patient: false,
        path: Some((&scene.subject.path, &scene.root)),
        ceiling,
    })?;
    let place = match count {
        1 => format!("a scratch file in {}", first.display()),
        _ => format!("{count} scratch files"),
    };
    let said = writes.announcement(&place);
    Ok(Some((writes.in_parts(count).holding_bytes(), said)))
}

/// Makes a scratch file.
///
/// # Errors
/// It cannot be made, or not as large as it must be.
pub(super) fn make<T: Teller>(place: &Place, ask: Ask, runner: &Runner<'_, T>) -> Result<Target, LoadError> {
    let dir = place.scratch().unwrap_or(FilePath::new(""));
    let Some(writes) = runner.writes() else { return Err(LoadError::NotOurs(dir.to_owned())) };
    let size = writes.size();
    let options = ScratchOptions {
        time: Some(FILL_TIME),
        minimum: place::least(ask.size.unwrap_or(size), ask.size.is_some()).min(size),
        budget: Some(writes.budget().clone()),
        ..ScratchOptions::default()
    };
    runner.progress.phase("writing scratch file", FILL_TIME);
    let begin = Instant::now();
    writes.begin_metering(runner.root());
    let made =
        place.open_or_make(size, &options, &mut |written, size| runner.follow_to(begin, written, size));
    writes.end_metering(runner.root());
    let target = made?;
    // A file that stays smaller than what is asked for says as much.
    let filled = target.region().length;
    runner.estimate(None, filled.per(begin.elapsed()), (filled, filled));
    Ok(target)
}
