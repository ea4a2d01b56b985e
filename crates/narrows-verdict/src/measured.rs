//! What a run says of each hop.
//!
//! A hop's rate is the application's rate times the hop's traffic. Where the device counters say otherwise (a linear
//! volume whose bytes all came from one disk, a cache that answered, a resync beside the run) they are believed.

use std::collections::BTreeMap;

use narrows_model::ceiling::Direction;
use narrows_model::path::{Hop, HopId};

use super::Measured;
use super::attribution::Cause;
use super::case::Case;
use super::rules::Judged;

/// Counters and traffic that differ by less than this are the same number: the two are observed over slightly
/// different times.
const SAME: f64 = 0.1;

/// The rate across every hop that bytes crossed.
pub(super) fn of_hops(judged: &Judged<'_>) -> BTreeMap<(HopId, Direction), Measured> {
    let mut measured = BTreeMap::new();
    for direction in [Direction::Read, Direction::Write] {
        let case = judged.case(direction);
        let Some(measurement) = case.measurement() else { continue };
        let trusted = is_trusted(judged, direction);
        for (_, hop) in case.hops() {
            let factor = factor(&case, hop);
            if factor > 0.0 {
                let of_hop = Measured {
                    rate: measurement.bytes_per_second * factor,
                    ci95: measurement.ci95.map(|[low, high]| [low * factor, high * factor]),
                    trusted,
                };
                measured.insert((hop.id.clone(), direction), of_hop);
            }
        }
    }
    measured
}

/// Whether the rate is the path's own.
pub(super) fn is_trusted(judged: &Judged<'_>, direction: Direction) -> bool {
    let clean = judged.audits.get(&direction).is_some_and(super::trust::Audit::is_clean);
    let own = judged.limit(direction).is_some_and(|limit| limit.cause == Cause::Generator);
    clean && !own
}

/// What crossed the hop, as a part of what its traffic says: zero behind a cache whose other side had all the bytes.
pub(super) fn carried(case: &Case<'_>, hop: &Hop) -> f64 {
    let expected = case.traffic(hop);
    if expected > 0.0 { factor(case, hop) / expected } else { 0.0 }
}

/// Bytes across the hop for each byte that the application moved.
fn factor(case: &Case<'_>, hop: &Hop) -> f64 {
    let expected = case.traffic(hop);
    let Some(counted) = counted(case, hop) else { return expected };
    let differs = (counted - expected).abs() > SAME * expected.max(counted);
    if differs { counted } else { expected }
}

/// The same from counters: those of the hop's own block device, or of the nearest one towards the application whose
/// bytes are all that cross the hop (a hop that several members share carries more than any of them).
fn counted(case: &Case<'_>, hop: &Hop) -> Option<f64> {
    // What had moved before the counters were first read is in none of them.
    let missed = case.run.map_or(0.0, |run| run.activity.missed.as_f64());
    let asked = case.measurement()?.bytes.as_f64() - missed;
    let mut at = hop;
    for _ in 0..case.path().hops.len() {
        if case.traffic(at) != case.traffic(hop) {
            return None;
        }
        if let Some(disk) = case.hop_disk(at) {
            return (asked > 0.0).then(|| case.moved(disk) / asked);
        }
        at = case.path().hop(at.above.as_ref()?)?;
    }
    None
}
