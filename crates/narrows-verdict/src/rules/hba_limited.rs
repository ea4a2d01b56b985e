//! `hba_limited`: the storage adapter (or its SAS port) is the bottleneck.

use narrows_model::path::HopKind;

use super::super::finding::{Advice, Code, Finding};
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    [HopKind::Hba, HopKind::Sas]
        .into_iter()
        .flat_map(|kind| judged.limits_of_kind(kind))
        .map(|(_, hop, _, limit)| {
            let rate = limit.rate.map(|rate| format!(": {rate} for this path")).unwrap_or_default();
            let summary = format!("{} {}{rate}.", hop.name, limit.is_the_narrows());
            Finding::about(Code::HbaLimited, limit.severity(), hop, summary)
                .with_confidence(limit.confidence)
                .with_evidence(limit.evidence.clone())
                .with_advice([Advice::new("Spread the disks over another adapter, or use a faster one.")])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::Sketch;
    use crate::{Code, Severity};
    use narrows_model::path::{ControllerHop, DeviceHop, HopSpec};

    fn path(adapter: f64) -> Sketch {
        let hop = HopSpec::Hba(ControllerHop { name: "mpt3sas".to_owned(), ..ControllerHop::default() });
        Sketch::of("/dev/md0").device("md0", Some(3000.0)).hop("mpt3sas", hop, Some(adapter))
    }

    #[test]
    fn an_adapter_below_its_disks_is_a_limit_and_one_above_is_not() {
        assert_eq!(path(2500.0).finding(Code::HbaLimited).map(|f| f.severity), Some(Severity::Limit));
        assert_eq!(path(6000.0).finding(Code::HbaLimited), None);
    }

    #[test]
    fn an_adapter_before_a_disk_that_may_be_slower_is_only_mentioned() {
        let adapter =
            |name: &str| HopSpec::Hba(ControllerHop { name: name.to_owned(), ..Default::default() });
        let unknown = Sketch::of("/dev/sda").device("sda", None).hop("hba", adapter("hba"), Some(570.0));
        let finding = unknown.finding(Code::HbaLimited).expect("the only hop that is known");
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.summary.contains("that is known"), "{}", finding.summary);
        // The ceiling of its class is 285 MB/s and says nothing of how much less this disk does.
        let disk = DeviceHop { block: "sda".to_owned(), is_hard_disk: true, ..DeviceHop::default() };
        let path = Sketch::of("/dev/sda").guess("sda", HopSpec::Device(disk), 285.0);
        let path = path.hop("hba", adapter("hba"), Some(200.0));
        assert_eq!(path.finding(Code::HbaLimited).map(|f| f.severity), Some(Severity::Info));
        assert!(path.alarms().is_empty());
    }
}
