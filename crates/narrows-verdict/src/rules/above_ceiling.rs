//! `above_ceiling`: a result is above physics.

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};
use narrows_base::units::human;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .audits
        .iter()
        .filter_map(|(direction, audit)| {
            let (index, ceiling) = audit.above?;
            let hop = judged.hop(index)?;
            let case = judged.case(*direction);
            let measured = case.measurement()?.bytes_per_second;
            let part = human::percent(measured.fraction_of(ceiling));
            let summary = format!(
                "{measured} were measured on {}, which is {part} of what {} can carry: a cache, or a wrong fact.",
                judged.subject.path.target, hop.name
            );
            let formula = case.ceiling(index)?.limit().map(|limit| limit.formula.clone()).unwrap_or_default();
            Some(
                Finding::about(Code::AboveCeiling, Severity::Fault, hop, summary)
                    .with_confidence(Confidence::High)
                    .with_evidence([
                        Evidence::new("measured rate", measured, "the run"),
                        Evidence::new("ceiling of this hop for the path", ceiling, formula),
                    ])
                    .with_advice([Advice::new("Do not use this result. Measure again with a larger region.")]),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, express, link, run};
    use narrows_base::fact::Fact;
    use narrows_machine::block::Sata;
    use narrows_model::path::{HopKind, HopSpec};

    /// A Gen3 x4 link carries 3592 MB/s in payloads of 256 bytes; the drive's counters saw all bytes.
    fn path(megabytes: f64) -> Sketch {
        let load = run(megabytes).disk("nvme0n1", megabytes, 31.0);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn more_than_the_link_can_carry_is_not_to_be_trusted() {
        let path_above = path(7000.0);
        let finding = path_above.finding(Code::AboveCeiling).expect("twice the link");
        assert_eq!(finding.hop.map(|hop| hop.to_string()).as_deref(), Some("link:0000:02:00.0"));
        assert!(path_above.path().measured.values().all(|measured| !measured.trusted));
    }

    #[test]
    fn a_payload_that_was_assumed_leaves_room_up_to_the_raw_rate() {
        // Nobody read the payload size of this link: with 512 bytes it carries 3752 MB/s, and raw it carries 3938.
        let of = |megabytes| path(megabytes).finding(Code::AboveCeiling);
        assert_eq!(of(3900.0), None);
        assert!(of(3950.0).is_some());
        let mut read = link((3, 4), (3, 4), (3, 4));
        read.device.express = Fact::known(express(256, 256), "config");
        let run = |megabytes: f64| {
            let load = run(megabytes).disk("nvme0n1", megabytes, 31.0);
            Sketch::drive(read.clone()).run(load).finding(Code::AboveCeiling)
        };
        assert_eq!(run(3750.0), None);
        assert!(run(3800.0).is_some(), "5 % above 3592 MB/s is 3771");
    }

    #[test]
    fn the_error_of_the_law_is_no_contradiction() {
        assert_eq!(path(3660.0).finding(Code::AboveCeiling), None);
    }

    #[test]
    fn what_a_cache_gave_did_not_cross_the_link_of_the_disk_behind_it() {
        let path = |of_disk: f64| {
            let load = run(1200.0).disk("nvme0n1", 1200.0 - of_disk, 31.0).disk("sda", of_disk, 0.1);
            Sketch::of("/dev/bcache0")
                .hop("bcache0", HopSpec::Cache(Box::default()), None)
                .device("nvme0n1", None)
                .below(HopKind::Cache, "bcache0", 1.0)
                .device("sda", None)
                .hop("ata1", HopSpec::Sata(Sata::default()), Some(560.0))
                .run(load)
        };
        assert_eq!(path(0.0).finding(Code::AboveCeiling), None);
        assert_eq!(path(500.0).finding(Code::AboveCeiling), None);
        assert!(path(700.0).finding(Code::AboveCeiling).is_some());
    }

    #[test]
    fn a_drive_may_beat_its_rating() {
        let load = run(600.0).disk("sda", 600.0, 31.0);
        let path = Sketch::of("/dev/sda").device("sda", Some(500.0)).run(load);
        assert_eq!(path.finding(Code::AboveCeiling), None);
    }
}
