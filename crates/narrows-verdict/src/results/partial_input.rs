//! The text ends before the result does.

use super::case::Case;
use crate::finding::{Advice, Code, Evidence, Finding, Severity};

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if !case.result.truncated {
        return Vec::new();
    }
    let behind = match case.result.measurements.as_slice() {
        [.., last] if !last.work.label.is_empty() => {
            format!(" in or behind job {} (`{}`)", case.result.measurements.len(), last.work.label)
        }
        _ => String::new(),
    };
    let summary =
        format!("The output of {} is cut off{behind}; what was whole is shown", case.result.tool.name());
    vec![
        case.finding(Code::PartialInput, Severity::Info, summary)
            .with_evidence([Evidence::new("the text", "ends before the result does", case.result.place())])
            .not_so_when("the missing part holds no measurement")
            .with_advice([Advice::new("give the whole file")]),
    ]
}
