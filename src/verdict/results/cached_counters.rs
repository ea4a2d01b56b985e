//! Caches by counters: the devices moved fewer bytes than the tool.

use super::cache_measured::Seen;
use super::case::{Case, is_random};
use crate::results::{Durability, Measured, Op, Side};
use crate::units::{Nanos, human};
use crate::verdict::finding::{Confidence, Evidence};

/// The tool moved more than this many times what the devices did. Edges of the two windows explain less.
const MORE: f64 = 1.1;

/// Counters of block devices that fio prints. Only I/Os that must reach the device one by one count: past the page
/// cache, or at random. The kernel splits large I/Os, so that the device's count can only be higher.
pub(super) fn devices(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let device = measured.devices.first()?;
    let ios = side.ios.filter(|ios| *ios > 0)?;
    let reaches = match op {
        Op::Read => measured.work.direct == Some(true) || is_random(measured),
        Op::Write => measured.work.direct == Some(true) || measured.work.durability == Some(Durability::Each),
    };
    // The kernel's counters of a run of less than a second are of another time.
    if !reaches || side.elapsed_ns.is_none_or(|time| time < Nanos::from_millis(2000)) {
        return None;
    }
    let (done, merged, bytes) = match op {
        Op::Read => (device.read_ios, device.read_merges, device.read_bytes),
        Op::Write => (device.write_ios, device.write_merges, device.write_bytes),
    };
    let (asked, seen, what) = match (side.bytes, bytes) {
        (Some(asked), Some(seen)) => (asked.as_f64(), seen.as_f64(), "bytes"),
        _ => (ios as f64, done.saturating_add(merged) as f64, "I/Os"),
    };
    (asked > MORE * seen).then(|| {
        (
            Confidence::High,
            vec![
                case.evidence(measured, &format!("{what} of the tool"), human::count(asked)),
                case.evidence(measured, &format!("{what} of {}", device.name), human::count(seen)),
            ],
        )
    })
}

/// What `zpool iostat` shows of the same time: readers that get more than the pool reads are served by the ARC.
pub(super) fn pool(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let pool = case.around.pool.as_ref().filter(|pool| op == Op::Read && pool.read.get() > 0.0)?;
    if side.bytes_per_second.get() <= MORE * pool.read.get() {
        return None;
    }
    let mut evidence = vec![
        case.evidence(measured, "rate of the tool", human::rate(side.bytes_per_second)),
        Evidence::new(
            format!("median rate of pool {}", pool.name),
            human::rate(pool.read),
            pool.source.clone(),
        ),
    ];
    if let Some((hits, source)) = &case.around.arc_hits {
        evidence.push(Evidence::new("reads that the ARC answered", human::percent(*hits), source.clone()));
    }
    Some((Confidence::High, evidence))
}
