//! What narrows said against its own run when it made it.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::case::Case;
use crate::finding::{Advice, Code, Evidence, Finding, Severity};

/// The doubts that no other rule has found, one for each code.
pub(super) fn find(case: &Case<'_>, found: &[Finding]) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for measured in &case.result.measurements {
        for doubt in &measured.doubts {
            let code = code(&doubt.code);
            if found.iter().chain(&all).any(|other| other.code == code && other.severity != Severity::Info) {
                continue;
            }
            let label =
                Some(measured.work.label.as_str()).filter(|label| !label.is_empty()).unwrap_or("a run");
            let evidence =
                Evidence::new(format!("narrows said of {label}"), &doubt.summary, case.source(measured));
            all.push(
                case.finding(
                    code,
                    Severity::Limit,
                    format!("narrows itself did not trust {label}: {}", doubt.summary),
                )
                .with_evidence([evidence])
                .not_so_when("a run without this finding has the same rate")
                .with_advice([Advice::new("remove the cause that is named, and measure again")]),
            );
        }
    }
    all
}

/// The code of that name. What a later version has and this one does not is a run that failed its own checks.
fn code(name: &str) -> Code {
    let named: StrDeserializer<'_, Error> = name.into_deserializer();
    Code::deserialize(named).unwrap_or(Code::RunFailed)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, verdicts};
    use super::*;

    fn report(trusted: bool, code: &str) -> String {
        format!(
            r#"{{"schema": "narrows/bench/1", "target": {{"name": "sda", "kind": "device", "size_bytes": 1000000000000}},
            "results": [{{"name": "SEQ1M", "elapsed_ns": 60000000000, "trusted": {trusted},
            "load": {{"pattern": "sequential", "block_size": 1048576, "queue_depth": 8, "parallel": {{"threads": 1}}, "write_percent": 0, "buffered": false}},
            "findings": [{{"code": "{code}", "severity": "limit", "summary": "another program read"}}],
            "read": {{"bytes_per_second": 2e8, "iops": 190.7}}}}]}}"#
        )
    }

    #[test]
    fn what_was_said_then_is_said_again_and_a_trusted_run_stays_so() {
        let doubted = verdicts(&report(false, "raid_resync"));
        assert_eq!((doubted[0].trusted, codes(&doubted[0])), (false, vec![Code::RaidResync]));
        assert!(doubted[0].reason.as_deref().is_some_and(|why| why.contains("another program read")));
        assert_eq!(codes(&verdicts(&report(false, "made_in_2030"))[0]), [Code::RunFailed]);
        assert!(verdicts(&report(true, "raid_resync"))[0].trusted);
    }
}
