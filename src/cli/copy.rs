//! `narrows copy`: copies a file or a tree and says which side limited it.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::TypedValueParser;

use super::output::OutputArgs;
use super::values::{copied_block, word};
use super::{FAILED, Failure, NOTHING_FOUND, output, signals};
use narrows_base::units::Bytes;
use narrows_load::copy::{CopyControl, CopyOptions};
use narrows_load::run::EngineChoice;
use narrows_machine::activity::Activity;
use narrows_machine::root::Root;
use narrows_runs::copy::{self as report, DeviceView, Moved};
use narrows_runs::progress::Progress;
use narrows_session::copying::{self, Copied};
use narrows_session::scene;

/// What `copy` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct CopyArgs {
    /// The file or directory to copy; it is only read
    pub src: PathBuf,

    /// The name of the copy; the directory that it lies in must be there
    pub dst: PathBuf,

    /// Go on with a copy that was interrupted, killed, or ran out of space
    #[arg(long)]
    pub resume: bool,

    /// Do not read the copy back
    #[arg(long)]
    pub no_verify: bool,

    /// The size of a block of a large file: 4k to 64M, a multiple of 4k
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = copied_block)]
    pub block_size: Bytes,

    /// Blocks of a large file that are read and written at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub depth: u32,

    /// How large files are moved: io_uring, psync (one block at a time), or whichever there is
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = engine())]
    pub engine: EngineChoice,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What moves large files.
fn engine() -> impl TypedValueParser<Value = EngineChoice> {
    word([
        ("auto", "io_uring, else psync", EngineChoice::Auto),
        ("io_uring", "io_uring or an error", EngineChoice::IoUring),
        ("psync", "pread and pwrite", EngineChoice::Psync),
    ])
}

/// Copies, watches, and shows what came of it: 0 when everything was copied, 2 when something was not.
///
/// # Errors
/// [`Failure`] when nothing can be copied.
pub(super) fn run(args: &CopyArgs) -> Result<u8, Failure> {
    let root = Root::live();
    let options = CopyOptions {
        verify: !args.no_verify,
        direct: false,
        resume: args.resume,
        block_size: args.block_size,
        depth: args.depth,
        engine: args.engine,
        memory: copying::memory(&root),
    };
    let control = CopyControl::with_stop(signals::stop_on_signals()?);
    let ends: (&Path, &Path) = (&args.src, &args.dst);
    let copied = copying::shown(&root, ends, &options, &control, Progress::on_stderr);
    let Copied { result, activity } = copied?;
    let moved = moved(&root, &activity, args);
    let shown = report::build(&args.src.to_string_lossy(), &args.dst.to_string_lossy(), &result, moved);
    output::report(&shown, &args.output, report::document)?;
    let until_then = |why| Failure::new(format!("{why}; what was copied until then is complete"));
    if result.interrupted {
        return Err(until_then("interrupted").hint("go on with --resume"));
    }
    if result.is_out_of_space() {
        return Err(until_then("no space is left at the destination")
            .hint("free some space there, then go on with --resume"));
    }
    if result.is_whole() {
        return Ok(NOTHING_FOUND);
    }
    output::note(&format!("narrows: {} names were not copied; the report lists them", result.faults.len()));
    Ok(FAILED)
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
