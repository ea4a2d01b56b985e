//! IOR 3.x and 4.x: its tables, and what `-O summaryFormat=JSON` and `=CSV` make of the same numbers.
//!
//! IOR divides by 2²⁰ and 2¹⁰ everywhere (`src/ior-output.c`, `MEBIBYTE` and `KIBIBYTE`): its MiB and KiB are binary.
//! Only the line `Max Write: … (… MB/sec)` has decimal ones too.

mod command;
mod csv;
mod json;
mod text;

pub use command::is_reordered;
pub(super) use csv::read as read_csv;
pub(super) use json::read as read_json;
pub(super) use text::read;

use super::{Latency, Op, Side};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

/// One MiB in bytes.
const MIB: f64 = 1_048_576.0;

/// What IOR tells of one access in all its formats.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// MiB/s over the whole access.
    mib: f64,
    /// Transfers per second.
    iops: Option<f64>,
    /// Seconds of a transfer.
    latency: Option<f64>,
    /// Bytes of a transfer.
    transfer: Option<Bytes>,
    /// Seconds of the whole access.
    total: Option<f64>,
}

impl Row {
    /// The bytes that were moved: rate times time.
    fn moved(&self) -> Option<Bytes> {
        super::number::to_bytes(self.mib * MIB * self.total.filter(|total| *total < 1e9)?)
    }

    /// One direction of it; `moved` where the text says how many bytes, and by rate and time otherwise.
    fn side(&self, moved: Option<Bytes>) -> Side {
        let rate = BytesPerSec::new(self.mib * MIB);
        let by_size = || {
            let size = self.transfer.filter(|size| size.get() > 0)?;
            Some(Iops::new(rate.get() / size.as_f64()))
        };
        Side {
            bytes_per_second: rate,
            iops: self.iops.map(Iops::new).or_else(by_size),
            bytes: moved.or_else(|| self.moved()),
            elapsed_ns: self.total.filter(|total| *total < 1e9).map(|total| Nanos::new((total * 1e9) as u64)),
            // Only since 4.0 is it that of a transfer; before, it is that of the whole file in some releases.
            latency_ns: self
                .latency
                .filter(|latency| *latency > 0.0 && *latency < 1.0)
                .map(|seconds| Latency::of_mean(seconds * 1e9)),
            ..Side::default()
        }
    }
}

fn op_of(access: &str) -> Option<Op> {
    match access {
        "read" => Some(Op::Read),
        "write" => Some(Op::Write),
        _ => None,
    }
}
