//! `above_ceiling`: a result is above physics.

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};
use crate::units::human;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .audits
        .iter()
        .filter_map(|(direction, audit)| {
            let (index, ceiling) = audit.above?;
            let hop = judged.hop(index)?;
            let case = judged.case(*direction);
            let measured = case.measurement()?.bytes_per_second;
            let part = human::percent(measured.fraction_of(ceiling));
            let summary = format!(
                "{measured} were measured on {}, which is {part} of what {} can carry: a cache, or a wrong fact.",
                judged.subject.path.target, hop.name
            );
            let formula = case.ceiling(index)?.limit().map(|limit| limit.formula.clone()).unwrap_or_default();
            Some(
                Finding::about(Code::AboveCeiling, Severity::Fault, hop, summary)
                    .with_confidence(Confidence::High)
                    .with_evidence([
                        Evidence::new("measured rate", measured, "the run"),
                        Evidence::new("ceiling of this hop for the path", ceiling, formula),
                    ])
                    .with_advice([Advice::new("Do not use this result. Measure again with a larger region.")]),
            )
        })
        .collect()
}
