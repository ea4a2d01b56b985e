//! `generator_cpu`: the load generator is the narrows, so the result is a floor and not the path's limit.

use super::super::attribution::Cause;
use super::super::finding::{Advice, Code, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .caused_by(Cause::Generator)
        .filter_map(|(_, limit)| {
            let hop = judged.hop(limit.hop)?;
            let rate = limit.rate.map(|rate| format!(" At least {rate} get through.")).unwrap_or_default();
            let summary = format!("narrows itself used up a processor core; the path can do more.{rate}");
            let mut finding = Finding::about(Code::GeneratorCpu, Severity::Limit, hop, summary)
                .with_confidence(limit.confidence)
                .with_evidence(limit.evidence.clone())
                .with_advice([Advice::new("Measure with larger blocks, or on a quieter machine.")]);
            finding.subject = judged.subject.path.target.clone();
            Some(finding)
        })
        .collect()
}
