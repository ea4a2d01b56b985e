//! `too_short`: a run was too short to say anything.

use super::super::finding::{Advice, Code, Evidence, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let target = &judged.subject.path.target;
    judged
        .audits
        .iter()
        .filter_map(|(direction, audit)| {
            let reason = audit.too_short.as_ref()?;
            let case = judged.case(*direction);
            let measurement = case.measurement()?;
            let summary = format!("The run on {target} is too short to rely on: {reason}.");
            Some(
                Finding::on(Code::TooShort, Severity::Info, target, summary)
                    .with_evidence([
                        Evidence::new("measured time", measurement.elapsed_ns, "the run"),
                        Evidence::new("I/Os", measurement.latency.count, "the run"),
                    ])
                    .with_advice([Advice::new("Measure again with --measure=full.")]),
            )
        })
        .collect()
}
