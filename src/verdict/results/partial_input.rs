//! The text ends before the result does.

use super::case::Case;
use super::not_so_when;
use crate::verdict::finding::{Advice, Code, Evidence, Finding, Severity};

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if !case.result.truncated {
        return Vec::new();
    }
    let summary = format!("The output of {} is cut off; what was whole is shown", case.result.tool.name());
    vec![
        case.finding(Code::PartialInput, Severity::Info, summary)
            .with_evidence([
                Evidence::new("the text", "ends before the result does", case.result.place()),
                not_so_when("the missing part holds no measurement"),
            ])
            .with_advice([Advice::new("give the whole file")]),
    ]
}
