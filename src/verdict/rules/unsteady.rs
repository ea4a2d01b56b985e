//! `unsteady`: the rate did not hold (see [`super::super::trust::Drift`] for the test).

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};
use crate::units::human;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let target = &judged.subject.path.target;
    judged
        .audits
        .iter()
        .filter_map(|(_, audit)| {
            let drift = audit.unsteady?;
            let (range, slope) = (human::percent(drift.range), human::percent(drift.slope.abs()));
            let way = if drift.slope < 0.0 { "fell" } else { "rose" };
            let summary = format!(
                "The rate of {target} did not hold: it ranged over {range} of its mean and {way} by {slope} in all."
            );
            Some(
                Finding::on(Code::Unsteady, Severity::Info, target, summary)
                    .with_confidence(Confidence::High)
                    .with_evidence([
                        Evidence::new("range of five windows over their mean", range, "the run, every 100 ms"),
                        Evidence::new("slope over the run, of the mean", slope, "the run, every 100 ms"),
                    ])
                    .with_advice([Advice::new("Measure longer with --measure=full, on a quiet machine.")]),
            )
        })
        .collect()
}
