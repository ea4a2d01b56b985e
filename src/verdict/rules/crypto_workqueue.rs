//! `crypto_workqueue`: dm-crypt's work queues cost latency.
//!
//! Each request is handed to a worker and back, 20 to 40 µs on a usual machine. It is worth a word only where a run on
//! a solid-state drive shows that time between the mapping and the device below.

use crate::ceiling::Direction;
use crate::path::{HopKind, HopSpec};
use crate::units::{Nanos, human};

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};

/// Less time than this is the cipher's own, not a hand-over.
const WORTH_IT: Nanos = Nanos::new(15_000);
/// The hand-over must also be this part of the whole.
const PART: f64 = 0.3;
/// Requests longer than this spend their time in the cipher.
const SMALL: u64 = 16 * 1024;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let base = judged.case(Direction::Read);
    let small =
        judged.subject.runs.iter().filter(|run| {
            run.direction == Direction::Read && run.measurement.workload.block_size.get() <= SMALL
        });
    small
        .flat_map(|run| {
            let case = base.with_run(run);
            case.of_kind(HopKind::Crypt).filter_map(move |(_, hop)| {
                let HopSpec::Crypt(crypt) = &hop.spec else { return None };
                let queued = crypt.table.value().is_some_and(|table| !table.no_read_workqueue);
                let above = case.hop_disk(hop)?.read_latency?;
                let below = case
                    .leaves()
                    .iter()
                    .filter(|(_, leaf, device)| {
                        case.is_above(hop, leaf) && device.rotational.value() == Some(&false)
                    })
                    .filter_map(|(_, leaf, _)| case.hop_disk(leaf)?.read_latency)
                    .max()?;
                let between = Nanos::new(above.get().saturating_sub(below.get()));
                let part = between.get() as f64 / above.get().max(1) as f64;
                if !queued || between < WORTH_IT || part < PART || case.media_are_saturated() {
                    return None;
                }
                let summary = format!(
                    "A read of {} takes {above}, of which {between} ({}) pass between the mapping and the device.",
                    human::block_size(run.measurement.workload.block_size),
                    human::percent(part)
                );
                let action = "Try cryptsetup refresh --persistent --perf-no_read_workqueue --perf-no_write_workqueue on \
                              the mapping, and measure: small requests gain, long ones may lose.";
                Some(
                    Finding::about(Code::CryptoWorkqueue, Severity::Info, hop, summary)
                        .with_confidence(Confidence::Medium)
                        .with_evidence([
                            Evidence::new("mean read of the mapping", above, "/proc/diskstats"),
                            Evidence::new("mean read of the device below", below, "/proc/diskstats"),
                        ])
                        .with_advice([Advice::new(action)]),
                )
            })
        })
        .collect()
}
