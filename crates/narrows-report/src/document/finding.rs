//! Findings as blocks: how bad, what, how we know, and what to do.

use super::{Block, Blocks};
use narrows_base::lists::some_of;
use narrows_verdict::{self as verdict, Advice, Confidence, Severity};

/// What was found.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// The summary, with the code and how sure it is.
    pub(crate) text: String,
    /// Where the same is so.
    pub(crate) also: Option<String>,
    /// How we know: what, and where from.
    pub(crate) evidence: Vec<String>,
    /// What to do.
    pub(crate) advice: Vec<Advice>,
}

/// Puts findings with evidence and all advice.
pub(crate) fn findings<'a>(out: &mut impl Blocks, findings: impl IntoIterator<Item = &'a verdict::Finding>) {
    for (number, finding) in findings.into_iter().enumerate() {
        if number > 0 {
            out.gap();
        }
        let evidence = finding.evidence.iter().map(|evidence| {
            let source =
                if evidence.source.is_empty() { String::new() } else { format!(" ({})", evidence.source) };
            format!("{}: {}{source}", evidence.fact, evidence.value)
        });
        let (evidence, advice) = (evidence.collect(), finding.advice.clone());
        let (severity, text) = (finding.severity, text(finding));
        out.add(Block::Finding(Finding { severity, text, also: None, evidence, advice }));
    }
}

/// Puts findings with their best advice only. Of those that call for no action and say the same of several devices,
/// the first stands for all.
pub(crate) fn findings_in_brief(out: &mut impl Blocks, findings: &[&verdict::Finding]) {
    for (number, finding) in findings.iter().enumerate() {
        let before = findings.get(..number).unwrap_or_default();
        if before.iter().any(|other| are_alike(other, finding)) {
            continue;
        }
        let more = findings.get(number + 1..).unwrap_or_default();
        let more = more.iter().filter(|other| are_alike(finding, other));
        let more: Vec<&String> = more.map(|other| &other.subject).collect();
        out.add(Block::Finding(Finding {
            severity: finding.severity,
            text: text(finding),
            also: (!more.is_empty()).then(|| format!("The same is so of {}.", some_of(&more, 6, ", "))),
            evidence: Vec::new(),
            advice: finding.advice.iter().take(1).cloned().collect(),
        }));
    }
}

/// Whether two findings say the same of two devices. Each fault is told by itself.
fn are_alike(a: &verdict::Finding, b: &verdict::Finding) -> bool {
    a.severity != Severity::Fault
        && (a.code, a.severity, a.confidence) == (b.code, b.severity, b.confidence)
        && a.advice.first().map(|advice| &advice.action) == b.advice.first().map(|advice| &advice.action)
}

fn text(finding: &verdict::Finding) -> String {
    let doubt = match finding.confidence {
        Confidence::High => "",
        Confidence::Medium => ", likely",
        Confidence::Low => ", a suspicion",
    };
    format!("{} [{}{doubt}]", finding.summary, finding.code.as_str())
}
