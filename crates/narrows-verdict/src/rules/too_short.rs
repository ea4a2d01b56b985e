//! `too_short`: a run was too short to say anything.

use super::super::finding::{Advice, Code, Evidence, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let target = &judged.subject.path.target;
    judged
        .audits
        .iter()
        .filter_map(|(direction, audit)| {
            // Where nothing ended at all, `no_read_ended` says so.
            let reason = audit.too_short.as_ref().filter(|_| audit.silent.is_none())?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, link, run};
    use narrows_base::units::Nanos;

    fn path(millis: u64, cut_short: Option<&str>) -> Sketch {
        let mut load = run(500.0).disk("nvme0n1", 500.0, 31.0);
        load.measurement.elapsed_ns = Nanos::from_millis(millis);
        load.measurement.cut_short = cut_short.map(str::to_owned);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn less_than_a_second_and_runs_that_were_cut_are_too_short() {
        assert_eq!(path(400, None).finding(Code::TooShort).map(|f| f.severity), Some(Severity::Info));
        let cut = path(2000, Some("interrupted"));
        assert!(cut.finding(Code::TooShort).is_some_and(|f| f.summary.contains("interrupted")));
        assert!(path(400, None).path().measured.values().all(|measured| !measured.trusted));
    }

    #[test]
    fn two_seconds_are_enough() {
        assert_eq!(path(2000, None).finding(Code::TooShort), None);
    }
}
