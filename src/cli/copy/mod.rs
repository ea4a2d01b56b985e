//! `narrows copy`: copies a file or a tree and says which side limited it.

mod args;

pub use args::CopyArgs;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use args::EngineName;

use super::{FAILED, Failure, NOTHING_FOUND, output, signals};
use narrows_base::units::{Bytes, human};
use narrows_load::copy::{CopyControl, CopyError, CopyOptions, CopyResult, MOST_MEMORY, copy};
use narrows_load::run::EngineChoice;
use narrows_machine::activity::{Activity, Sample};
use narrows_machine::available::available;
use narrows_machine::mount::{self, Mount};
use narrows_machine::root::Root;
use narrows_machine::target;
use narrows_report::copy::{self as report, DeviceView, Moved};
use narrows_report::progress::Progress;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(50);
/// What takes less time than this shows no progress.
const SHOW_AFTER: Duration = Duration::from_secs(1);

/// Copies, watches, and shows what came of it: 0 when everything was copied, 2 when something was not.
///
/// # Errors
/// [`Failure`] when nothing can be copied.
pub(super) fn run(args: &CopyArgs) -> Result<u8, Failure> {
    let root = Root::live();
    let options = CopyOptions {
        verify: !args.no_verify,
        direct: args.direct,
        resume: args.resume,
        block_size: args.block_size,
        depth: args.depth,
        engine: match args.engine {
            EngineName::Auto => EngineChoice::Auto,
            EngineName::IoUring => EngineChoice::IoUring,
            EngineName::Psync => EngineChoice::Psync,
        },
        memory: memory(&root),
    };
    let control = CopyControl::with_stop(signals::stop_on_signals()?);
    let before = Sample::read(&root);
    let result = watched(&args.src, &args.dst, &options, &control)?.map_err(|error| failure(&error))?;
    let activity = Activity::between(&before, &Sample::read(&root));
    let moved = moved(&root, &activity, args);
    let shown = report::build(&args.src.to_string_lossy(), &args.dst.to_string_lossy(), &result, moved);
    output::report(&shown, &args.output, report::document)?;
    if result.interrupted {
        output::failure(
            &Failure::new("interrupted; what was copied until then is complete").hint("go on with --resume"),
        );
    } else if result.is_out_of_space() {
        output::failure(
            &Failure::new("no space is left at the destination; what was copied until then is complete")
                .hint("free some space there, then go on with --resume"),
        );
    } else if !result.is_whole() {
        output::note(&format!(
            "narrows: {} names were not copied; the report lists them",
            result.faults.len()
        ));
    }
    Ok(if result.is_whole() { NOTHING_FOUND } else { FAILED })
}

/// Copies in a thread of its own while this one shows progress.
///
/// # Errors
/// The copying thread died.
pub(super) fn watched(
    source: &Path,
    destination: &Path,
    options: &CopyOptions,
    control: &CopyControl,
) -> Result<Result<CopyResult, CopyError>, Failure> {
    thread::scope(|scope| {
        let copying = scope.spawn(|| copy(source, destination, options, control));
        let begin = Instant::now();
        let mut progress = None;
        while !control.is_done() && !copying.is_finished() {
            thread::sleep(TICK.min(Duration::from_millis(5) + begin.elapsed() / 20));
            let elapsed = begin.elapsed();
            if elapsed >= SHOW_AFTER {
                let bar = progress.get_or_insert_with(|| {
                    let bar = Progress::on_stderr(false);
                    bar.phase(
                        if options.verify { "copying and verifying" } else { "copying" },
                        Duration::ZERO,
                    );
                    bar
                });
                let (done, whole) = control.progress();
                let text = format!("{} · {} files", human::rate(done.per(elapsed)), control.files());
                bar.amount(done.get(), whole.get(), &text);
            }
        }
        copying.join().map_err(|_| Failure::new("the copy failed; this is a bug in narrows"))
    })
}

/// What the blocks of a copy may take: a quarter of what this process could still get, and never more than helps.
fn memory(root: &Root) -> Bytes {
    let share = available(root).map(|left| Bytes::new(left.get() / 4));
    share.map_or(MOST_MEMORY, |share| share.min(MOST_MEMORY))
}

/// What the block devices of both ends moved meanwhile.
fn moved(root: &Root, activity: &Activity, args: &CopyArgs) -> Moved {
    let mounts = mount::read(root);
    let of = |path: &Path| -> Vec<DeviceView> {
        let names = devices(root, &mounts, path);
        let found = names.iter().filter_map(|name| Some((name, activity.disks.get(name)?)));
        let view = |(name, disk): (&String, &narrows_machine::activity::DiskActivity)| DeviceView {
            name: name.clone(),
            read_bytes: disk.read_bytes,
            written_bytes: disk.written_bytes,
        };
        found.map(view).collect()
    };
    Moved { source: of(&args.src), destination: of(&args.dst) }
}

/// The block devices below the file system that holds `path`.
fn devices(root: &Root, mounts: &[Mount], path: &Path) -> Vec<String> {
    let real = root.resolve(&path.to_string_lossy()).get();
    let real = real.or_else(|| root.resolve(&path.parent()?.to_string_lossy()).get());
    let mount = real.and_then(|real| target::mount_of(mounts, &real)).and_then(|index| mounts.get(index));
    mount.map(|mount| mount.devices.clone()).unwrap_or_default()
}

/// Why nothing was copied, with what to do.
pub(super) fn failure(error: &CopyError) -> Failure {
    // A path may hold escape sequences.
    Failure::new(error.to_string()).maybe_hint(error.hint())
}
