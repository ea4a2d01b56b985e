//! What can be done about a refusal.

use super::blank;
use narrows_load::guard::Reason;
use narrows_machine::root::Root;
use narrows_report::guard::{NOT_ENOUGH, WayView};

/// The hints for all reasons, each once, then the commands that would make the device blank.
pub(super) fn of(root: &Root, name: &str, reasons: &[Reason]) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    for hint in reasons.iter().map(|reason| reason.hint().to_owned()) {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    let ways = blank::ways(root, name, reasons);
    if !ways.is_empty() {
        hints.push("if nothing on it is needed, one of these makes it blank:".to_owned());
        let line = |way: &WayView| format!("  `{}` destroys {}", way.command, way.destroys);
        hints.extend(ways.iter().map(line));
        hints.push(NOT_ENOUGH.to_owned());
    }
    hints
}
