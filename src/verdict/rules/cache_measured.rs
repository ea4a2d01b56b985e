//! `cache_measured`: the bytes came from a cache, so the result says nothing of the devices.

use super::super::finding::{Advice, Code, Confidence, Finding, Severity};
use super::super::trust::Audit;
use super::{Context, Judged};
use crate::path::HopKind;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let case = judged.case(crate::ceiling::Direction::Read);
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
