//! The tool says that it failed: there is no result, or none that counts.

use super::case::Case;
use crate::finding::{Advice, Code, Evidence, Finding, Severity};
use narrows_paste::results::Imported;

/// What a tool says went wrong, so that its numbers do not count. An interrupted run has a result, of the time until then.
pub(super) fn errors(result: &Imported) -> Vec<&String> {
    let mut errors: Vec<&String> =
        result.failures.iter().filter(|failure| !failure.contains("terminating on signal")).collect();
    errors.dedup();
    errors
}

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let errors = errors(case.result);
    let Some(first) = errors.first() else { return Vec::new() };
    let tool = case.result.tool.name();
    let summary = match case.result.measurements.is_empty() {
        true => format!("{tool} failed and measured nothing: {first}"),
        false => format!("{tool} says that something went wrong; its numbers are void: {first}"),
    };
    let evidence =
        errors.iter().take(3).map(|error| Evidence::new("the tool says", *error, case.result.place()));
    vec![
        case.finding(Code::RunFailed, Severity::Fault, summary)
            .with_evidence(evidence)
            .not_so_when("the message is of another run")
            .with_advice([Advice::new("mend what the message names, and measure again")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, verdicts};
    use super::*;

    #[test]
    fn a_message_alone_is_a_failed_run_and_never_a_rate_of_nothing() {
        let all = verdicts("error: failed to setup shm segment\n");
        assert!(!all[0].trusted);
        assert_eq!(codes(&all[0]), [Code::RunFailed]);
    }

    #[test]
    fn what_was_not_measured_has_no_limit_and_a_message_stands_once() {
        let failed = "read() failed: Input/output error\n";
        let all = verdicts(&format!("/dev/sda1:\n{failed} Timing buffered disk reads:  {failed}"));
        assert_eq!(codes(&all[0]), [Code::RunFailed]);
        assert_eq!(all[0].findings[0].evidence.len(), 1);
        assert_eq!(all[0].limiting, None);
    }
}
