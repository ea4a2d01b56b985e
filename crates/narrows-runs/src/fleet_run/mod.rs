//! The view model of a load on many hosts (`narrows fleet run`, `narrows fleet report`): exactly what `--json` prints, and all that the
//! text and the rows of CSV are made of.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`.

mod build;
pub mod csv;
mod leg;
mod map;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{sample, sample_of_series};
mod text;

pub use build::{Files, build};
pub use leg::{LegHost, LegView};
pub use narrows_report::fold::folded;
pub use text::document;
pub(crate) use text::{describe, in_words, shown, title, total};

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_report::view::Tool;
use narrows_verdict::fleet::judge::{FleetMap, Verdict};
use narrows_verdict::fleet::record::{Left, Load, State};
use narrows_verdict::fleet::series::Series;

/// The name and version of the schema, in [`FleetRunReport::schema`].
pub const SCHEMA: &str = "narrows/fleet-run/1";

/// What many hosts did together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetRunReport {
    /// Always `narrows/fleet-run/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The version of fio on the hosts.
    pub fio: String,
    /// Hosts that were asked to put load on.
    pub clients: usize,
    /// Hosts that were watched as servers.
    pub servers: usize,
    /// The runs, in their order.
    pub points: Vec<PointView>,
    /// What the network carried alone.
    #[serde(default)]
    pub network_leg: LegView,
    /// What the servers' drives gave alone.
    #[serde(default)]
    pub drives_leg: LegView,
    /// What runs that differ in one thing only show together: the knee, the plateau, drops and odd points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// Whether every host took part in everything that was planned.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What could not be taken away from hosts.
    pub left: Vec<Left>,
}

impl FleetRunReport {
    /// Whether anything stands out: a late host, one unlike the others, bytes that did not come from the storage, too little in common.
    pub fn has_findings(&self) -> bool {
        self.points.iter().any(|point| {
            !point.outliers.is_empty()
                || point.hosts.iter().any(|host| host.state == State::Late)
                || point.verdict.conservation.differs.is_some()
                || point.overlap_is_low
        })
    }
}

/// One run of many hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PointView {
    /// The load of each host.
    pub load: Load,
    /// The planned start, on the controller's clock, since 1970.
    pub start_ns: u64,
    /// From the first first I/O of a host to the last.
    pub start_spread_ns: Option<Nanos>,
    /// The time that all have in common, which is what is counted.
    pub window_ns: Option<Nanos>,
    /// The least share of its own time that a host has in common with all.
    pub overlap: Option<f64>,
    /// Whether that is below 95 %.
    pub overlap_is_low: bool,
    /// Both directions of all together in the common time.
    pub bytes_per_second: Option<BytesPerSec>,
    pub read: Option<SideView>,
    pub write: Option<SideView>,
    /// What limited them.
    pub verdict: Verdict,
    /// The hops that the bytes crossed, hosts that are alike as one; absent where no host counts, and in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<FleetMap>,
    /// Whether only half of the clients were asked, and what that tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// Every host that was asked.
    pub hosts: Vec<HostView>,
    /// Hosts that are unlike the others.
    pub outliers: Vec<OutlierView>,
}

/// One direction of all hosts together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideView {
    /// The rate in the common time.
    pub bytes_per_second: BytesPerSec,
    /// I/Os a second, by the block size.
    pub iops: Iops,
    /// I/Os of the whole runs.
    pub ios: u64,
    /// Bytes of the whole runs.
    pub bytes: Bytes,
    /// Latencies: of the whole runs where nearly all of their time is common, else of the common time.
    pub latency: LatencyView,
}

/// Completion latencies, merged from all counts of all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyView {
    /// Whether these are the latencies of the common time alone.
    pub is_of_window: bool,
    /// I/Os that they are of.
    pub ios: u64,
    pub mean: Option<Nanos>,
    /// The median.
    pub p50: Option<Nanos>,
    /// Nine in ten were faster.
    pub p90: Option<Nanos>,
    /// 99 %.
    pub p99: Option<Nanos>,
    /// 99.9 %.
    pub p999: Option<Nanos>,
    /// 99.99 %.
    pub p9999: Option<Nanos>,
    /// The least of the whole runs.
    pub least: Option<Nanos>,
    /// The greatest of the whole runs.
    pub greatest: Option<Nanos>,
}

/// A host in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostView {
    /// The host, as it was typed.
    pub host: String,
    /// How it ended.
    pub state: State,
    /// Why it is not `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When that was known, since the common start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_after_ns: Option<Nanos>,
    /// Its first I/O, since the common start; negative when it was before that.
    pub began_after_ns: Option<i64>,
    /// The share of its time that is common.
    pub overlap: Option<f64>,
    /// Reads in the common time.
    pub read_bytes_per_second: Option<BytesPerSec>,
    /// Writes in the common time.
    pub write_bytes_per_second: Option<BytesPerSec>,
    /// The rate, both directions together, in equal parts of the common time, each of a second or more; empty where it is shorter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<BytesPerSec>,
    /// I/Os of the whole run.
    pub ios: u64,
    /// The median latency, of reads where there are any.
    pub p50: Option<Nanos>,
    /// 99 % of the latencies, of reads where there are any.
    pub p99: Option<Nanos>,
}

/// A host that is unlike the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutlierView {
    pub host: String,
    /// How far its rate is from the median, as a fraction of that; negative when it is slower.
    pub difference: f64,
    /// Facts whose values nine in ten others do not share.
    pub facts: Vec<String>,
}
