//! `cache_measured`: the bytes came from a cache, so the result says nothing of the devices.

use super::super::finding::{Advice, Code, Confidence, Finding, Severity};
use super::super::trust::Audit;
use super::{Context, Judged};
use narrows_model::path::HopKind;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let case = judged.case(narrows_model::ceiling::Direction::Read);
    judged
        .subject
        .runs
        .iter()
        .filter_map(|run| {
            let case = super::super::case::Case { direction: run.direction, ..case.with_run(run) };
            let evidence = Audit::of(&case).cached?;
            let summary = format!(
                "The run on {} moved {}, and the devices saw fewer: it measured a cache.",
                judged.subject.path.target, run.measurement.bytes
            );
            let finding = match case.of_kind(HopKind::Memory).next() {
                Some((_, memory)) => Finding::about(Code::CacheMeasured, Severity::Limit, memory, summary),
                None => Finding::on(Code::CacheMeasured, Severity::Limit, "", summary),
            };
            let mut finding = finding.with_confidence(Confidence::High).with_evidence(evidence).with_advice(
                [Advice::new("Measure the block device instead, or a file system that honours O_DIRECT.")],
            );
            finding.subject = judged.subject.path.target.clone();
            Some(finding)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, run};
    use narrows_base::units::Bytes;
    use narrows_model::path::{DeviceHop, HopSpec};

    fn path(seen: f64) -> Sketch {
        Sketch::of("/home").device("sda", None).memory().run(run(900.0).disk("sda", seen, 1.0))
    }

    #[test]
    fn a_run_that_the_disk_did_not_see_measured_a_cache() {
        let finding = path(90.0).finding(Code::CacheMeasured).expect("a tenth came from the disk");
        assert!(finding.evidence.iter().any(|e| e.value == "10 %"), "{:?}", finding.evidence);
        assert!(path(90.0).path().sentence.contains("came from memory"));
    }

    #[test]
    fn a_run_that_the_disk_saw_did_not() {
        assert_eq!(path(870.0).finding(Code::CacheMeasured), None);
    }

    #[test]
    fn what_moved_before_the_counters_were_read_is_not_missing_from_them() {
        let late = |seen: f64, missed: f64| {
            let mut run = run(900.0).disk("sda", seen, 1.0);
            run.activity.missed = Bytes::new((run.measurement.bytes.as_f64() * missed) as u64);
            Sketch::of("/home").device("sda", None).memory().run(run).finding(Code::CacheMeasured)
        };
        assert_eq!(late(600.0, 0.34), None);
        assert!(late(600.0, 0.1).is_some(), "a fifth is missing");
        // 32 blocks of 1 MiB under way, and 20 ms of 900 MB/s, of 1800 MB.
        assert_eq!(late(600.0, 0.24), None, "what was under way may be missing, too");
        assert!(late(0.0, 0.9).is_some(), "nothing came from the disk");
        assert_eq!(late(600.0, 1.1), None, "nothing is known");
    }

    #[test]
    fn a_disk_that_is_memory_keeps_no_counters_and_proves_nothing() {
        let brd =
            DeviceHop { block: "ram0".to_owned(), synthetic: Some("brd".to_owned()), ..DeviceHop::default() };
        let path = Sketch::of("/dev/ram0").unknown("ram0", HopSpec::Device(brd)).memory();
        let path = path.run(run(900.0).disk("ram0", 0.0, 0.0));
        assert_eq!(path.finding(Code::CacheMeasured), None);
    }
}
