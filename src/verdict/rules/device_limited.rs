//! `device_limited`: the device itself is the narrows, as it should be.

use crate::path::HopKind;

use super::super::attribution::Cause;
use super::super::finding::{Code, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .limits_of_kind(HopKind::Device)
        .into_iter()
        // A slow member is a fault of its array, and has a finding of its own.
        .filter(|(_, _, _, limit)| limit.cause != Cause::SlowMember)
        .map(|(_, hop, _, limit)| {
            let rate = limit.rate.map(|rate| format!(", {rate}")).unwrap_or_default();
            let summary = format!("The device itself is the narrows, as it should be: {}{rate}.", hop.name);
            Finding::about(Code::DeviceLimited, Severity::Info, hop, summary)
                .with_confidence(limit.confidence)
                .with_evidence(limit.evidence.clone())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::verdict::testing::{Sketch, link, run};
    use crate::verdict::{Code, Severity};

    #[test]
    fn a_drive_that_holds_the_queue_is_the_narrows_as_it_should_be() {
        let path = Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(run(2000.0).disk("nvme0n1", 2000.0, 31.0));
        assert_eq!(path.finding(Code::DeviceLimited).map(|f| f.severity), Some(Severity::Info));
        assert!(path.alarms().is_empty());
        assert!(!path.judge().has_faults_or_limits());
    }

    #[test]
    fn a_drive_that_is_only_unknown_is_not() {
        assert_eq!(Sketch::drive(link((3, 4), (3, 4), (3, 4))).finding(Code::DeviceLimited), None);
    }
}
