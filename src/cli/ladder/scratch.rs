//! The scratch files of a ladder, and what it may write.

use std::path::{Path as FilePath, PathBuf};
use std::time::{Duration, Instant};

use super::args::LadderArgs;
use super::runner::Runner;
use crate::cli::bench::writes::{Wanted, Writes};
use crate::cli::{Failure, output};
use narrows_base::units::Bytes;
use narrows_base::units::peers::Peer;
use narrows_load::LoadError;
use narrows_load::preset::{LoadSpec, StopRule, Work};
use narrows_load::scratch::{ScratchFile, ScratchOptions};
use narrows_load::target::Target;
use narrows_model::path::layers::{Entry, Layer};
use narrows_report::bench::Context;
use narrows_session::measure::Timing;
use narrows_session::measure::seed;
use narrows_session::scene::Scene;

/// The size of a scratch file, unless another is asked for.
const SIZE: Bytes = Bytes::from_mib(1024);
/// How long it may take to write before it stays as large as it is.
const FILL_TIME: Duration = Duration::from_secs(4);
/// The least part of a size that was not asked for, as a divisor.
const LEAST_PART: u64 = 8;

/// The directory in which a layer needs a scratch file.
pub(super) fn directory(entry: &Entry, args: &LadderArgs) -> Option<PathBuf> {
    let Entry::Mount(path) = entry else { return None };
    let path = FilePath::new(path);
    match (path.is_file(), args.write_scratch) {
        (true, false) => None,
        _ if args.read => None,
        (true, true) => Some(path.parent().unwrap_or(path).to_owned()),
        (false, _) => Some(path.to_owned()),
    }
}

/// What the ladder may write, said before it does; `None` where it needs no scratch file.
///
/// # Errors
/// That is less than the files.
pub(super) fn writes(
    scene: &Scene,
    layers: &[Layer],
    loads: &[LoadSpec],
    args: &LadderArgs,
) -> Result<Option<Writes>, Failure> {
    let places: Vec<PathBuf> = layers.iter().filter_map(|layer| directory(&layer.entry, args)).collect();
    let Some(first) = places.first() else { return Ok(None) };
    let is_run = |load: &LoadSpec, layer: &Layer| !load.changes() || directory(&layer.entry, args).is_some();
    let each = loads.iter().flat_map(|load| {
        layers.iter().filter(move |layer| is_run(load, layer)).map(move |_| Work::Load(load.clone()))
    });
    let works: Vec<Work> = each.collect();
    let timing = Timing {
        stop: StopRule::Seconds(u32::try_from(args.time.as_secs()).unwrap_or(u32::MAX)),
        precision: 0.02,
        max_time: args.time,
        fixed: Some(args.time),
        warm_up: args.warm_up,
    };
    let count = places.len() as u64;
    let size = Bytes::new(args.size.unwrap_or(SIZE).get().saturating_mul(count));
    let ceiling = Context::new(&scene.subject, Peer::None).ceilings.write;
    let writes = Writes::of(&Wanted {
        asked: args.max_writes,
        kept: None,
        size: (size, args.size.is_some()),
        is_device: false,
        works: &works,
        timing: &timing,
        again: 0,
        is_patient: false,
        path: Some((&scene.subject.path, &scene.root)),
        ceiling: ceiling.map(|ceiling| ceiling.bytes_per_second),
    })?;
    let place = match count {
        1 => format!("a scratch file in {}", first.display()),
        _ => format!("{count} scratch files"),
    };
    output::note(&writes.announcement(&place));
    Ok(Some(writes.in_parts(count).holding_bytes()))
}

/// Makes a scratch file.
///
/// # Errors
/// It cannot be made, or not as large as it must be.
pub(super) fn make(dir: &FilePath, args: &LadderArgs, runner: &Runner<'_>) -> Result<Target, LoadError> {
    let Some(writes) = runner.writes() else { return Err(LoadError::NotOurs(dir.to_owned())) };
    let size = writes.size();
    let minimum = ScratchOptions::default().minimum;
    let least = match args.size {
        Some(size) => size.min(minimum),
        None => minimum.max(Bytes::new(size.get() / LEAST_PART)),
    };
    let options = ScratchOptions {
        time: Some(FILL_TIME),
        seed: seed(),
        minimum: least.min(size),
        budget: Some(writes.budget().clone()),
        ..ScratchOptions::default()
    };
    runner.progress.phase("writing scratch file", FILL_TIME);
    let begin = Instant::now();
    writes.begin_metering(runner.root());
    let made =
        ScratchFile::create(dir, size, &options, &mut |written, size| runner.follow(begin, written, size));
    writes.end_metering(runner.root());
    let target = made?.into_target();
    // A file that stays smaller than what is asked for says as much.
    let filled = target.region().length;
    runner.estimate(filled.per(begin.elapsed()), (filled, filled));
    Ok(target)
}
