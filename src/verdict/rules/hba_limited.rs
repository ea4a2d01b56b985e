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
