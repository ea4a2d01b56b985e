//! What each block layer of a path did in a run: how requests were split and merged, and where they waited.

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, Nanos};
use narrows_model::path::{Hop, HopKind};

use super::super::case::Case;

/// What a block layer did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// Its kernel name.
    pub block: String,
    /// What it is.
    pub kind: HopKind,
    /// Bytes that it moved in the run's direction.
    pub bytes: Bytes,
    /// Requests that it completed in either direction.
    pub requests: u64,
    /// The mean size of a request.
    #[serde(rename = "request_bytes")]
    pub request_size: Bytes,
    /// The mean number of requests in flight (Little's law).
    pub in_flight: f64,
    /// The mean number of bytes in flight.
    #[serde(rename = "in_flight_bytes")]
    pub bytes_in_flight: Bytes,
    /// The mean number of requests that the driver held; `None` where it was not sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_driver: Option<f64>,
    /// The fraction of time with a request in flight.
    pub busy: f64,
    /// The mean time of a read; `None` without reads.
    #[serde(rename = "read_latency_ns", skip_serializing_if = "Option::is_none")]
    pub latency: Option<Nanos>,
}

/// The layers of a case that the kernel keeps counters of, in path order.
pub(super) fn of(case: &Case<'_>) -> Vec<Flow> {
    case.hops().filter_map(|(_, hop)| one(case, hop)).collect()
}

/// One of them.
pub(super) fn one(case: &Case<'_>, hop: &Hop) -> Option<Flow> {
    if hop.kind() == HopKind::BlockQueue {
        return None;
    }
    let block = hop.block_name()?;
    let disk = case.disk(block)?;
    let requests = disk.reads.saturating_add(disk.writes);
    let all = (disk.read_bytes + disk.written_bytes).get();
    let size = all.checked_div(requests).unwrap_or(0);
    Some(Flow {
        block: block.to_owned(),
        kind: hop.kind(),
        bytes: Bytes::new(case.moved(disk) as u64),
        requests,
        request_size: Bytes::new(size),
        in_flight: disk.in_flight,
        bytes_in_flight: Bytes::new((disk.in_flight * size as f64) as u64),
        at_driver: disk.at_driver,
        busy: disk.busy,
        latency: disk.read_latency,
    })
}
