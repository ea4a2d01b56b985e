//! The drive's fast cache ran out: writes stepped down and stayed there.

use super::case::Case;
use super::window;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::{BytesPerSec, human};
use narrows_paste::results::Op;

/// What is left at the end of what there was at the beginning.
const STEP: f64 = 0.7;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    for (measured, op, side) in case.sides().filter(|(_, op, _)| *op == Op::Write) {
        let Some(([first, .., last], log)) = window::means(case, measured, op, side) else { continue };
        if last > STEP * first {
            continue;
        }
        let rate = |rate| human::rate(BytesPerSec::new(rate));
        let summary =
            format!("Writes began with {} and ended with {}: a fast cache ran out", rate(first), rate(last));
        return vec![
            case.finding(Code::SlcExhausted, Severity::Limit, summary)
                .with_evidence([Evidence::new(
                    "first and last fifth of the run",
                    format!("{} and {}", rate(first), rate(last)),
                    log,
                )])
                .not_so_when(
                    "the drive was not new or trimmed, or was hot: then it is garbage collection or heat",
                )
                .with_advice([Advice::new("quote the rate of the last part for writes that last")])
                .with_confidence(Confidence::Medium),
        ];
    }
    Vec::new()
}
