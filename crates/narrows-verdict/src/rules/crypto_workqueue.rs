//! `crypto_workqueue`: dm-crypt's work queues cost latency.
//!
//! Each request is handed to a worker and back, 20 to 40 µs on a usual machine. It is worth a word only where a run on
//! a solid-state drive shows that time between the mapping and the device below.

use narrows_base::units::{Nanos, human};
use narrows_model::ceiling::Direction;
use narrows_model::path::{HopKind, HopSpec};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, run};
    use narrows_base::fact::Fact;
    use narrows_base::units::Bytes;
    use narrows_machine::block::CryptTable;
    use narrows_model::path::CryptHop;

    /// Reads of 4 KiB that take so many microseconds at the mapping and at the drive.
    fn path(mapping: u64, drive: u64, no_read_workqueue: bool) -> Sketch {
        let table = CryptTable { no_read_workqueue, ..CryptTable::default() };
        let crypt =
            CryptHop { block: "dm-0".to_owned(), table: Fact::known(table, "table"), ..CryptHop::default() };
        let mut load = run(200.0).disk("dm-0", 200.0, 4.0).disk("nvme0n1", 200.0, 2.0);
        load.measurement.workload.block_size = Bytes::new(4096);
        for (name, micros) in [("dm-0", mapping), ("nvme0n1", drive)] {
            let disk = load.activity.disks.get_mut(name).expect("just made");
            disk.read_latency = Some(Nanos::new(micros * 1000));
            // 4 KiB each, so that what is in flight counts in the same size.
            disk.reads = disk.read_bytes.get() / 4096;
        }
        Sketch::of("/dev/dm-0").crypt(crypt, 3000.0).device("nvme0n1", None).run(load)
    }

    #[test]
    fn a_long_hand_over_between_mapping_and_drive_is_mentioned() {
        let finding = path(110, 70, false).finding(Code::CryptoWorkqueue).expect("40 of 110 µs");
        assert_eq!(finding.severity, Severity::Info);
        assert!(
            finding.summary.contains("40 µs") && finding.summary.contains("36.4 %"),
            "{}",
            finding.summary
        );
    }

    #[test]
    fn short_hand_overs_and_mappings_without_queues_are_silent() {
        assert_eq!(path(80, 70, false).finding(Code::CryptoWorkqueue), None);
        assert_eq!(path(110, 70, true).finding(Code::CryptoWorkqueue), None);
    }
}
