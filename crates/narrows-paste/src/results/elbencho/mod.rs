//! elbencho: its table, `--csvfile`, `--jsonfile` and `--livecsv`.
//!
//! Each operation has two results: of the time when the first thread was done, and of the time when the last was. The
//! second is what is read: all of the work. MiB are binary in the files whatever the console shows
//! (`source/Statistics.cpp`, `printPhaseResultsToStringVec`); threads, directories and files are counts for each host
//! (`docs/csv-docs.md`).

mod csv;
mod json;
mod live;
mod text;

pub(super) use csv::read as read_csv;
pub(super) use json::read as read_json;
pub(super) use live::read as read_live;
pub(super) use text::read;

use super::{Op, Work};
use narrows_base::units::Bytes;
use narrows_base::workload::Pattern;

/// One MiB in bytes.
const MIB: f64 = 1_048_576.0;

/// The direction of an operation that moves data (`source/toolkits/TranslatorTk.cpp`, `benchPhaseToPhaseName`). A
/// write with a share of reads is called after both.
fn op_of(phase: &str) -> Option<Op> {
    match phase.split_whitespace().next()? {
        phase if phase.starts_with("READ") => Some(Op::Read),
        phase if ["WRITE", "RWMIX", "MIX-T"].iter().any(|name| phase.starts_with(name)) => Some(Op::Write),
        _ => None,
    }
}

/// The command, each word of which stands in quotation marks.
fn command_of(quoted: &str) -> String {
    quoted.split('"').map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What the settings of a run tell, in the words of both files.
#[derive(Debug, Clone, Copy, Default)]
struct Settings<'a> {
    path_type: Option<&'a str>,
    paths: Option<u64>,
    hosts: Option<u64>,
    threads: Option<u64>,
    directories: Option<u64>,
    files: Option<u64>,
    file_size: Option<u64>,
    block_size: Option<u64>,
    direct: Option<bool>,
    random: Option<bool>,
    depth: Option<u64>,
}

impl Settings<'_> {
    fn work(&self, phase: &str) -> Work {
        let small = |count: u64| u32::try_from(count).ok();
        Work {
            label: phase.to_owned(),
            pattern: self.random.map(|random| if random { Pattern::Random } else { Pattern::Sequential }),
            block_size: self.block_size.filter(|size| *size > 0).map(Bytes::new),
            queue_depth: self.depth.and_then(small).map(|depth| depth.max(1)),
            jobs: self.threads.and_then(|threads| small(threads.checked_mul(self.hosts.unwrap_or(1))?)),
            // Objects of S3 and the network test have no page cache to bypass.
            direct: self.direct.filter(|_| matches!(self.path_type, Some("dir" | "file" | "blockdev"))),
            working_set: self.working_set(),
            ..Work::default()
        }
    }

    fn hosts(&self) -> Option<u32> {
        self.hosts.and_then(|hosts| u32::try_from(hosts).ok())
    }

    /// All files together: of a directory those of each thread, and otherwise one for each path, which all share.
    fn working_set(&self) -> Option<Bytes> {
        let size = self.file_size.filter(|size| *size > 0)?;
        let files = if self.path_type == Some("dir") {
            let threads = self.threads?.checked_mul(self.hosts.unwrap_or(1))?;
            threads.checked_mul(self.directories?.max(1))?.checked_mul(self.files?)?
        } else {
            self.paths.unwrap_or(1)
        };
        size.checked_mul(files).filter(|all| *all > 0).map(Bytes::new)
    }
}
