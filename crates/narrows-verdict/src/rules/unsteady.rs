//! `unsteady`: the rate did not hold (see [`super::super::trust::Drift`] for the test).

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};
use narrows_base::units::human;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let target = &judged.subject.path.target;
    judged
        .audits
        .values()
        .filter_map(|audit| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, link, run};
    use narrows_base::units::BytesPerSec;

    fn path(last: f64) -> Sketch {
        let mut load = run(500.0).disk("nvme0n1", 500.0, 31.0);
        for rate in load.measurement.series.iter_mut().skip(12) {
            *rate = BytesPerSec::from_mb(last);
        }
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn a_step_down_is_unsteady_and_still_trusted() {
        let finding = path(200.0).finding(Code::Unsteady).expect("500, then 200 MB/s");
        assert!(finding.summary.contains("fell"), "{}", finding.summary);
        assert!(path(200.0).path().measured.values().all(|measured| measured.trusted));
    }

    #[test]
    fn a_ripple_is_steady() {
        assert_eq!(path(490.0).finding(Code::Unsteady), None);
    }
}
