//! `narrows copy`: copies a file or a tree and says which side limited it.

mod args;

pub use args::CopyArgs;

use std::path::Path;

use args::EngineName;

use super::bar::Bar;
use super::{FAILED, Failure, NOTHING_FOUND, output, signals};
use narrows_load::copy::{CopyControl, CopyOptions};
use narrows_load::run::EngineChoice;
use narrows_machine::activity::Activity;
use narrows_machine::root::Root;
use narrows_report::copy::{self as report, DeviceView, Moved};
use narrows_session::Objection;
use narrows_session::measure::Copied;
use narrows_session::{copying, scene};

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
        memory: copying::memory(&root),
    };
    let control = CopyControl::with_stop(signals::stop_on_signals()?);
    let ends: (&Path, &Path) = (&args.src, &args.dst);
    let copied = copying::shown(&root, ends, &options, &control, Bar::on_stderr);
    let Copied { result, activity } = copied.map_err(Objection::from)?;
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
