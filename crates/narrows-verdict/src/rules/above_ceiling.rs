//! `above_ceiling`: a result is above physics.

use narrows_base::measurement::Measurement;
use narrows_base::units::human;

use crate::case::Case;
use crate::finding::{Code, Finding, Severity};
use crate::trust::Audit;

/// A run of ours that is above the ceiling of a hop.
pub(super) fn of_run(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let (index, ceiling) = audit.above?;
    let hop = case.path().hops.get(index)?;
    let measured = measurement.bytes_per_second;
    let part = human::percent(measured.fraction_of(ceiling));
    let summary = format!(
        "{measured} were measured on {}, which is {part} of what {} can carry: a cache, or a wrong fact.",
        case.path().target,
        hop.name
    );
    let formula = case.ceiling(index)?.limit().map(|limit| limit.formula.clone()).unwrap_or_default();
    let found = Finding::about(Code::AboveCeiling, Severity::Fault, hop, summary)
        .seen("measured rate", measured, "the run")
        .seen("ceiling of this hop for the path", ceiling, formula);
    Some(found.advise("Do not use this result. Measure again with a larger region."))
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_machine::block::Sata;
    use narrows_model::path::{HopKind, HopSpec};

    use super::*;
    use crate::testing::{Sketch, express, link, run};

    /// A Gen3 x4 link carries 3592 MB/s in payloads of 256 bytes; the drive's counters saw all bytes.
    fn above_ceiling_path(megabytes: f64) -> Sketch {
        let load = run(megabytes).disk("nvme0n1", megabytes, 31.0);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn more_than_the_link_can_carry_is_not_to_be_trusted() {
        let path_above = above_ceiling_path(7000.0);
        let finding = path_above.finding(Code::AboveCeiling).expect("twice the link");
        assert_eq!(finding.hop.map(|hop| hop.to_string()).as_deref(), Some("link:0000:02:00.0"));
        assert!(path_above.path().measured.values().all(|measured| !measured.trusted));
    }

    #[test]
    fn a_payload_that_was_assumed_leaves_room_up_to_the_raw_rate() {
        // Nobody read the payload size of this link: with 512 bytes it carries 3752 MB/s, and raw it carries 3938.
        let of = |megabytes| above_ceiling_path(megabytes).finding(Code::AboveCeiling);
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
        assert_eq!(above_ceiling_path(3660.0).finding(Code::AboveCeiling), None);
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
