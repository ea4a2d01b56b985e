//! The view model of what moves now (`narrows top`): exactly what `--json` prints, and all that the text and the screen are
//! made of.
//!
//! Rates are bytes per second, times nanoseconds. What is absent is `null`, and the same object then says why in `reason`.

mod build;
pub mod screen;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::report as sample;
mod text;

pub use build::{About, report};
pub use text::{document, render};

use serde::{Deserialize, Serialize};

use super::view::Tool;
use narrows_base::units::{BytesPerSec, Iops, Nanos};
use narrows_model::ceiling::Basis;
use narrows_model::path::HopKind;

/// The name and version of the schema, in [`TopReport::schema`].
pub const SCHEMA: &str = "narrows/top/1";

/// What moves over the hops of a machine now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopReport {
    /// Always `narrows/top/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The target whose path is shown; `null` for every storage path.
    pub target: Option<String>,
    /// The time between the two looks that the rates are about.
    pub elapsed_ns: Nanos,
    /// What all drives and interfaces of the lanes read.
    pub read_bytes_per_second: BytesPerSec,
    /// What they write.
    pub write_bytes_per_second: BytesPerSec,
    /// The hops, from main memory to the media, each behind the one that it hangs on; then what is built on drives.
    pub lanes: Vec<LaneView>,
    /// The hop that is nearest to its ceiling; estimated ceilings do not count.
    pub fullest_hop: Option<String>,
    /// Processes that move bytes, most first.
    pub processes: Vec<ProcessView>,
    /// Arrays that work on themselves.
    pub resyncs: Vec<ResyncView>,
    /// All of it in words.
    pub sentence: String,
    /// What is not seen, and what would show it.
    pub notes: Vec<String>,
    /// Why there is no fullest hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One hop and what crosses it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaneView {
    /// The hop's id.
    pub hop: String,
    /// What it is.
    pub kind: HopKind,
    /// Its name for a person.
    pub name: String,
    /// How many hops of the list are between it and main memory.
    pub depth: usize,
    /// The drives and interfaces whose bytes cross it, by kernel name.
    pub sources: Vec<String>,
    /// Towards the application.
    pub read: SideView,
    /// Towards the medium.
    pub write: SideView,
    /// I/Os completed each second; `null` where interfaces are among the sources, or counters are gone.
    pub iops: Option<Iops>,
    /// The mean time of these I/Os.
    pub latency_ns: Option<Nanos>,
    /// The mean number of requests in flight, of one device.
    pub in_flight: Option<f64>,
    /// The fraction of time with a request in flight, of one device. 1 does not mean that it can do no more.
    pub busy: Option<f64>,
    /// What crosses as a part of the ceiling, in the fuller direction, or of both where they share one capacity.
    pub part_of_ceiling: Option<f64>,
    /// Whether the ceiling is an estimate.
    pub is_estimate: bool,
    /// What its link runs at, or that the device below it sleeps and was not asked; `null` for what is no link.
    pub link: Option<String>,
    /// Why something is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One direction of a hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideView {
    /// What crosses; `null` where counters are gone.
    pub bytes_per_second: Option<BytesPerSec>,
    /// The most that it carries.
    pub ceiling_bytes_per_second: Option<BytesPerSec>,
    /// What the ceiling rests on.
    pub basis: Option<Basis>,
}

/// A process that moves bytes to or from storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessView {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// What it reads.
    pub read_bytes_per_second: BytesPerSec,
    /// What it writes; counted when it enters the page cache.
    pub write_bytes_per_second: BytesPerSec,
    /// The block devices, by kernel name, that its open files are or lie on.
    pub devices: Vec<String>,
    /// The hops that these bytes cross, as far as its open files tell.
    pub hops: Vec<String>,
}

/// An array that works on itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResyncView {
    /// The array, by kernel name.
    pub array: String,
    /// `resync`, `recover`, `check`, `repair` or `reshape`.
    pub action: String,
    /// How fast each member is gone through.
    pub bytes_per_second: Option<BytesPerSec>,
}
