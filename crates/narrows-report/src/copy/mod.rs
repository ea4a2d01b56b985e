//! What a copy came to, as JSON and as text.

mod text;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::copy::{CopyResult, Fault, ReadBack, Side, Spent, Tally, Why};
use narrows_session::copying::side_name;

pub use text::{document, render};

/// The name and version of the JSON contract.
pub const SCHEMA: &str = "narrows/copy/1";

/// Below this part of the copied data, what the source's devices read shows that the rest came from memory.
const FROM_DEVICE: f64 = 0.9;

/// What was copied, at what rate, and where the time went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyReport {
    /// [`SCHEMA`].
    pub schema: Cow<'static, str>,
    /// What was copied.
    pub source: String,
    /// The copy.
    pub destination: String,
    /// What limited it, in a sentence.
    pub sentence: String,
    /// Whether everything was copied.
    pub complete: bool,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Whether the destination is full.
    pub out_of_space: bool,
    /// From the beginning to the last sync, in nanoseconds.
    pub elapsed_ns: Nanos,
    /// All files that were copied now. The rate is that of the whole copy, directories, links and syncing included.
    pub files: TallyView,
    /// Those of 1 MiB and more.
    pub large: TallyView,
    /// Those below.
    pub small: TallyView,
    /// Directories that were made.
    pub directories: u64,
    /// Symbolic links that were made.
    pub symlinks: u64,
    /// Further names of files.
    pub hard_links: u64,
    /// Files that an earlier run had completed, and, where its manifest is gone, those that are as their sources.
    pub earlier_files: u64,
    /// Data that an earlier run had written of files that were completed now.
    pub earlier_bytes: Bytes,
    /// Where the time of the copying threads went. The parts add up to the time that they were at work.
    pub time: Spent,
    /// What took the largest part of it; absent when nothing was copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitView>,
    /// Processor time of the process in user mode.
    pub user_ns: Nanos,
    /// Processor time of the process in kernel mode, helpers of io_uring included.
    pub system_ns: Nanos,
    /// What moved the large files: `io_uring` or `psync`.
    pub engine: String,
    /// How the copy was read back to verify it; `null` where it was not.
    pub verification: Option<ReadBack>,
    /// The block devices of the source.
    pub source_devices: Vec<DeviceView>,
    /// The block devices of the destination.
    pub destination_devices: Vec<DeviceView>,
    /// What is good to know about the result.
    pub notes: Vec<String>,
    /// Devices, pipes and sockets, which are not copied.
    pub skipped: Vec<SkippedView>,
    /// What was not copied although it should have been.
    pub failures: Vec<FailureView>,
    /// What `--resume` goes on from; absent when there is nothing to go on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
}

/// Files of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TallyView {
    /// How many.
    pub files: u64,
    /// Their data, holes left out.
    pub bytes: Bytes,
    /// How long they took, verification and syncing included.
    pub elapsed_ns: Nanos,
    /// Data for each second.
    pub bytes_per_second: BytesPerSec,
    /// Files for each second.
    pub files_per_second: f64,
}

/// What limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitView {
    /// `source`, `destination`, `verification`, `metadata`, `processor` or `contention`.
    pub side: Cow<'static, str>,
    /// Its part of the time, 0 to 1.
    pub share: f64,
}

/// A block device during the copy, whoever used it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceView {
    /// Its kernel name.
    pub name: String,
    /// Bytes that it read.
    pub read_bytes: Bytes,
    /// Bytes that it wrote.
    pub written_bytes: Bytes,
}

/// Something that narrows does not copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedView {
    /// Its path.
    pub path: String,
    /// What it is.
    pub what: Cow<'static, str>,
}

/// Something that was not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureView {
    /// Its path.
    pub path: String,
    /// A stable word: `exists`, `shared`, `not_a_directory`, `changed`, `loop`, `other_name`, `mismatch`, `no_space`, `io`.
    pub code: Cow<'static, str>,
    /// Why, as a phrase about the path.
    pub reason: String,
    /// The first byte of the region that differs, with the code `mismatch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Bytes>,
    /// The length of that region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Bytes>,
}

/// What the machine's counters say, by device: of the source, and of the destination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    /// Devices of the source.
    pub source: Vec<DeviceView>,
    /// Devices of the destination.
    pub destination: Vec<DeviceView>,
}

/// Shows the result of a copy of `source` to `destination`.
pub fn build(source: &str, destination: &str, result: &CopyResult, moved: Moved) -> CopyReport {
    let whole = Tally {
        files: result.small.files + result.large.files,
        bytes: result.bytes(),
        elapsed: result.elapsed,
    };
    CopyReport {
        schema: SCHEMA.into(),
        source: source.to_owned(),
        destination: destination.to_owned(),
        sentence: sentence(result),
        complete: result.is_whole(),
        interrupted: result.interrupted,
        out_of_space: result.is_out_of_space(),
        elapsed_ns: result.elapsed,
        files: tally(whole),
        large: tally(result.large),
        small: tally(result.small),
        directories: result.directories,
        symlinks: result.symlinks,
        hard_links: result.hard_links,
        earlier_files: result.earlier,
        earlier_bytes: result.kept,
        time: result.spent,
        limit: result.limit().map(|(side, share)| LimitView { side: side_name(side).into(), share }),
        user_ns: result.cpu.0,
        system_ns: result.cpu.1,
        engine: result.engine.clone(),
        verification: result.read_back,
        notes: notes(result, &moved),
        source_devices: moved.source,
        destination_devices: moved.destination,
        skipped: result
            .skipped
            .iter()
            .map(|(path, what)| SkippedView { path: name(path), what: (*what).into() })
            .collect(),
        failures: result.faults.iter().map(failure).collect(),
        manifest: result.manifest.as_deref().map(name),
    }
}

fn name(path: &std::path::Path) -> String {
    path.display().to_string()
}

fn tally(tally: Tally) -> TallyView {
    let seconds = tally.elapsed.as_secs_f64();
    TallyView {
        files: tally.files,
        bytes: tally.bytes,
        elapsed_ns: tally.elapsed,
        bytes_per_second: tally.bytes.per(tally.elapsed.duration()),
        files_per_second: if seconds > 0.0 { tally.files as f64 / seconds } else { 0.0 },
    }
}

fn sentence(result: &CopyResult) -> String {
    let Some((side, share)) = result.limit().filter(|_| result.small.files + result.large.files > 0) else {
        return "No file was copied.".to_owned();
    };
    let share = human::percent(share);
    match side {
        Side::Source => {
            format!("Reading the source limits this copy: {share} of its time it waited for that.")
        }
        Side::Destination => format!(
            "Writing to the destination limits this copy: {share} of its time it waited for that, and for data to become durable."
        ),
        Side::Verification => {
            format!(
                "Reading the destination back limits this copy: {share} of its time it waited for that. See --no-verify."
            )
        }
        Side::Metadata => format!(
            "Names and attributes limit this copy: {share} of its time it waited for opens, creates, renames and directories."
        ),
        Side::Contention => format!(
            "Other programs limit this copy: {share} of its time it was ready to go on while processors worked for them."
        ),
        Side::Processor => format!("The processor limits this copy: {share} of its time it computed."),
    }
}

fn notes(result: &CopyResult, moved: &Moved) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(cache_note(result, moved));
    if result.read_back.is_some_and(|back| back.advised > 0) {
        notes.push(
            "The file system of DST has no direct I/O for some files: what was read back may have come from memory."
                .to_owned(),
        );
    }
    let mut lost = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{count} names lost {what}, which DST cannot hold or this user may not set."));
        }
    };
    lost(result.lost_owners, "their owner");
    lost(result.lost_xattrs, "extended attributes");
    notes
}

/// What the devices of the source did not read came from memory. On a device that holds both ends, what was read back is
/// taken off first.
fn cache_note(result: &CopyResult, moved: &Moved) -> Option<String> {
    let copied = result.bytes();
    if copied.get() == 0 {
        return None;
    }
    if moved.source.is_empty() {
        return Some(
            "SRC is on no block device here: what a server or memory did cannot be seen.".to_owned(),
        );
    }
    let is_shared =
        moved.source.iter().any(|one| moved.destination.iter().any(|other| other.name == one.name));
    let read: Bytes = moved.source.iter().map(|device| device.read_bytes).sum();
    let back = if is_shared && result.read_back.is_some_and(|back| back.direct > 0) {
        copied
    } else {
        Bytes::new(0)
    };
    let read = read.saturating_sub(back);
    (read.as_f64() < copied.as_f64() * FROM_DEVICE).then(|| {
        format!(
            "The page cache served the source: its device read only {} of {}. The rate of a first copy may be lower.",
            human::bytes(read),
            human::bytes(copied)
        )
    })
}

fn failure(fault: &Fault) -> FailureView {
    let region = match fault.why {
        Why::Mismatch { offset, length } => Some((offset, length)),
        _ => None,
    };
    FailureView {
        path: name(&fault.path),
        code: fault.why.code().into(),
        reason: fault.why.to_string(),
        offset: region.map(|region| region.0),
        length: region.map(|region| region.1),
    }
}
