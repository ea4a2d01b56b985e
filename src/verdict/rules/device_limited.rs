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
