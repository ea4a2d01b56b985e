//! `narrows copy`: copies a file or a tree and says which side limited it.

mod args;

pub use args::CopyArgs;

use std::path::Path;
use std::time::Duration;

use args::EngineName;

use super::{FAILED, Failure, NOTHING_FOUND, output, signals};
use narrows_base::units::{Bytes, human};
use narrows_load::copy::{CopyControl, CopyError, CopyOptions, MOST_MEMORY};
use narrows_load::run::EngineChoice;
use narrows_machine::activity::Activity;
use narrows_machine::available::available;
use narrows_machine::root::Root;
use narrows_report::copy::{self as report, DeviceView, Moved};
use narrows_report::progress::Progress;
use narrows_session::measure::{self, Copied};
use narrows_session::scene;

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
    let Copied { result, activity } = shown(&root, (&args.src, &args.dst), &options, &control)?;
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

/// Copies while a bar shows how far that is.
///
/// # Errors
/// Nothing can be copied.
pub(super) fn shown(
    root: &Root,
    ends: (&Path, &Path),
    options: &CopyOptions,
    control: &CopyControl,
) -> Result<Copied, Failure> {
    let mut progress = None;
    let look = &mut |elapsed: Duration| {
        if elapsed < SHOW_AFTER {
            return;
        }
        let bar = progress.get_or_insert_with(|| {
            let bar = Progress::on_stderr(false);
            bar.phase(if options.verify { "copying and verifying" } else { "copying" }, Duration::ZERO);
            bar
        });
        let (done, whole) = control.progress();
        let text = format!("{} · {} files", human::rate(done.per(elapsed)), control.files());
        bar.amount(done.get(), whole.get(), &text);
    };
    measure::copy(root, ends, options, control, look).map_err(|error| failure(&error))
}

/// What the blocks of a copy may take: a quarter of what this process could still get, and never more than helps.
fn memory(root: &Root) -> Bytes {
    let share = available(root).map(|left| Bytes::new(left.get() / 4));
    share.map_or(MOST_MEMORY, |share| share.min(MOST_MEMORY))
}

/// What the block devices of both ends moved meanwhile.
fn moved(root: &Root, activity: &Activity, args: &CopyArgs) -> Moved {
    let of = |path: &Path| -> Vec<DeviceView> {
        let names = scene::devices(root, path).into_iter();
        let view = |name: String| {
            let disk = activity.disks.get(&name)?;
            Some(DeviceView { read_bytes: disk.read_bytes, written_bytes: disk.written_bytes, name })
        };
        names.filter_map(view).collect()
    };
    Moved { source: of(&args.src), destination: of(&args.dst) }
}

/// Why nothing was copied, with what to do.
pub(super) fn failure(error: &CopyError) -> Failure {
    // A path may hold escape sequences.
    Failure::new(error.to_string()).maybe_hint(error.hint())
}
