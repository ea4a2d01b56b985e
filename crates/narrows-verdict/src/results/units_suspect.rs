//! A unit that the tool prints is wrong; the number was corrected on reading.

use super::case::Case;
use crate::finding::{Advice, Code, Evidence, Finding, Severity};

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let Some(correction) = case.result.corrections.first() else { return Vec::new() };
    vec![
        case.finding(Code::UnitsSuspect, Severity::Info, correction.clone())
            .with_evidence([Evidence::new("corrected", correction, case.result.place())])
            .not_so_when("I/Os per second × block size is the printed rate")
            .with_advice([Advice::new("compare the corrected rate with other tools, not the printed one")]),
    ]
}
