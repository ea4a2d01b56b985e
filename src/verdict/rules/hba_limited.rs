//! `hba_limited`: the storage adapter (or its SAS port) is the narrows.

use crate::path::HopKind;

use super::super::finding::{Advice, Code, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    [HopKind::Hba, HopKind::Sas]
        .into_iter()
        .flat_map(|kind| judged.limits_of_kind(kind))
        .map(|(_, hop, _, limit)| {
            let rate = limit.rate.map(|rate| format!(": {rate} for this path")).unwrap_or_default();
            let summary = format!("{} is the narrows of this path{rate}.", hop.name);
            Finding::about(Code::HbaLimited, Severity::Limit, hop, summary)
                .with_confidence(limit.confidence)
                .with_evidence(limit.evidence.clone())
                .with_advice([Advice::new("Spread the disks over another adapter, or use a faster one.")])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::path::{ControllerHop, HopSpec};
    use crate::verdict::Code;
    use crate::verdict::testing::Sketch;

    fn path(adapter: f64) -> Sketch {
        let hop = HopSpec::Hba(ControllerHop { name: "mpt3sas".to_owned(), ..ControllerHop::default() });
        Sketch::of("/dev/md0").device("md0", Some(3000.0)).hop("mpt3sas", hop, Some(adapter))
    }

    #[test]
    fn an_adapter_below_its_disks_is_a_limit_and_one_above_is_not() {
        assert!(path(2500.0).finding(Code::HbaLimited).is_some());
        assert_eq!(path(6000.0).finding(Code::HbaLimited), None);
    }
}
