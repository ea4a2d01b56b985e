//! Two or more results, or two machines, compared.

use super::facts::Facts;
use super::judged::judged;
use narrows_model::path::build;
use narrows_paste::capture::Text;
use narrows_verdict::Subject;
use narrows_verdict::compare::{Comparison, Input, PathChange, Verdict, compare_all};

/// Differences smaller than this do not count: one run says little of how much the next one would differ.
const THRESHOLD: f64 = 0.01;

/// Why inputs are not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotCompared {
    #[error("one of them holds a measurement, another a machine without one")]
    Unlike,
    #[error("of machines two are compared")]
    ManyMachines,
    #[error("there is one result, and nothing to compare it with")]
    Alone,
}

impl NotCompared {
    /// What to do.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Unlike => "compare two results, or two captures or records of machines",
            Self::ManyMachines => {
                "`narrows --fleet FILES` shows what many machines have in common and which differs"
            }
            Self::Alone => "name another file",
        }
    }
}

/// Compares each of `others` with `reference`.
///
/// # Errors
/// [`NotCompared`] where they are of different kinds, or there is nothing to compare with.
pub fn compare(reference: &Input, others: &[Input]) -> Result<Comparison, NotCompared> {
    if others.iter().any(|other| other.is_measured() != reference.is_measured()) {
        return Err(NotCompared::Unlike);
    }
    if !reference.is_measured() && others.len() > 1 {
        return Err(NotCompared::ManyMachines);
    }
    compare_all(reference, others, THRESHOLD).ok_or(NotCompared::Alone)
}

/// Whether something differs.
pub fn is_apart(one: &Comparison) -> bool {
    let is_told_apart = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower | Verdict::Mixed);
    let differs = one.paths.iter().any(PathChange::differs) || !one.lines.is_empty();
    differs || is_told_apart(one.verdict) || is_told_apart(one.latency_verdict)
}

/// A machine as one side of a comparison, with the lines of the text that tells of it; `None` where the text tells of none.
pub fn machine_input(name: &str, text: &str, facts: &Facts) -> Option<Input> {
    if !facts.has_machine {
        return None;
    }
    let subjects: Vec<Subject> = build::all(&facts.machine).into_iter().map(Subject::of).collect();
    let (report, _) = judged(&facts.machine, &subjects, Default::default(), None);
    let report = serde_json::to_value(&report).ok()?;
    let text = Text::new(name, text.as_bytes());
    Some(Input::machine(name, &report).with_lines(text.lines().map(|(_, line)| line)))
}
