//! One line for Nagios and Icinga (Nagios Plugins Development Guidelines), and the state that goes with it.
//!
//! The states of a plugin are not the exit codes of narrows, which says 1 for findings and 2 for what could not be done: each is
//! mapped by name.

use crate::sanitize::inert;
use crate::view::{CheckReport, FindingView};
use narrows_verdict::{Code, Severity};

/// The states of a plugin, with their exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// No fault. What limits by design is none.
    Ok = 0,
    /// Something is not as it could be.
    Warning = 1,
    /// Something was better before, or data is at risk.
    Critical = 2,
    /// It could not be looked at.
    Unknown = 3,
}

impl State {
    /// The exit code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "WARNING",
            Self::Critical => "CRITICAL",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// Faults that somebody should be called for: what was whole is not any more.
const CRITICAL: [Code; 2] = [Code::NarrowerThanBefore, Code::RaidDegraded];

/// The line of a machine that was checked, with an end of line, and its state.
pub fn of_check(report: &CheckReport) -> (String, State) {
    let of = |severity: Severity| report.findings.iter().filter(move |finding| finding.severity == severity);
    let faults: Vec<&FindingView> = of(Severity::Fault).collect();
    let critical: Vec<&FindingView> =
        faults.iter().copied().filter(|fault| CRITICAL.contains(&fault.code)).collect();
    let (state, first) = match (critical.first(), faults.first()) {
        (Some(first), _) => (State::Critical, Some(*first)),
        (None, Some(first)) => (State::Warning, Some(*first)),
        (None, None) => (State::Ok, None),
    };
    let what = first.map_or_else(
        || format!("{} storage paths, no fault", report.paths.len()),
        |first| match faults.len() {
            1 => first.summary.clone(),
            count => format!("{count} faults, first: {}", first.summary),
        },
    );
    let counts = format!(
        "faults={};0;;0 critical_faults={};;0;0 limits={};;;0",
        faults.len(),
        critical.len(),
        of(Severity::Limit).count()
    );
    (line(state, &what, Some(&counts)), state)
}

/// The line of a machine that could not be looked at.
pub fn unknown(why: &str) -> (String, State) {
    (line(State::Unknown, why, None), State::Unknown)
}

fn line(state: State, what: &str, counts: Option<&str>) -> String {
    // A bar ends the words of a plugin.
    let what = inert(what).replace('|', "/");
    let counts = counts.map(|counts| format!(" | {counts}")).unwrap_or_default();
    format!("NARROWS {} - {what}{counts}\n", state.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_one_bar_and_one_end_whatever_the_words_are() {
        let (line, state) = unknown("cannot read `a|b\nc`");
        assert_eq!(line.matches('|').count(), 0);
        assert_eq!(line.lines().count(), 1);
        assert!(line.starts_with("NARROWS UNKNOWN - "), "{line}");
        assert_eq!(state.code(), 3);
    }

    #[test]
    fn the_codes_are_those_of_the_guidelines() {
        let codes = [State::Ok, State::Warning, State::Critical, State::Unknown].map(State::code);
        assert_eq!(codes, [0, 1, 2, 3]);
    }
}
