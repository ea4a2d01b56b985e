//! Findings: how bad, what, how we know, and what to do.

use super::Style;
use super::ink::{Tone, paragraph, width};
use super::ladder::some_of;
use crate::view::{AdviceView, FindingView};
use narrows_base::units::human;
use narrows_verdict::{Confidence, Severity};

/// The word for a severity, so that it is read without colour; all are as wide.
const fn word(severity: Severity) -> (Tone, &'static str) {
    match severity {
        Severity::Fault => (Tone::Bad, "FAULT  "),
        Severity::Limit => (Tone::Warn, "LIMIT  "),
        Severity::Info => (Tone::Faint, "INFO   "),
    }
}

/// Puts findings with evidence and all advice.
pub(crate) fn put_full(out: &mut String, style: &Style, findings: &[FindingView]) {
    for (number, finding) in findings.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        put_head(out, style, finding);
        for evidence in &finding.evidence {
            let source =
                if evidence.source.is_empty() { String::new() } else { format!(" ({})", evidence.source) };
            let text = format!("{}: {}{source}", evidence.fact, evidence.value);
            paragraph(out, style, (Tone::Faint, "       · "), Tone::Faint, &text);
        }
        for advice in &finding.advice {
            put_advice(out, style, advice);
        }
    }
}

/// Puts findings with their best advice only. Of those that call for no action and say the same of several devices,
/// the first stands for all.
pub(super) fn put_short(out: &mut String, style: &Style, findings: &[FindingView]) {
    for (number, finding) in findings.iter().enumerate() {
        let before = findings.get(..number).unwrap_or_default();
        if before.iter().any(|other| are_alike(other, finding)) {
            continue;
        }
        put_head(out, style, finding);
        let more = findings.get(number + 1..).unwrap_or_default();
        let more: Vec<String> = more
            .iter()
            .filter(|other| are_alike(finding, other))
            .map(|other| other.subject.clone())
            .collect();
        if !more.is_empty() {
            let text = format!("The same is so of {}.", some_of(&more, 6));
            paragraph(out, style, (Tone::Faint, "       "), Tone::Faint, &text);
        }
        if let Some(advice) = finding.advice.first() {
            put_advice(out, style, advice);
        }
    }
}

/// Whether two findings say the same of two devices. Each fault is told by itself.
fn are_alike(a: &FindingView, b: &FindingView) -> bool {
    a.severity != Severity::Fault
        && (a.code, a.severity, a.confidence) == (b.code, b.severity, b.confidence)
        && a.advice.first().map(|advice| &advice.action) == b.advice.first().map(|advice| &advice.action)
}

fn put_head(out: &mut String, style: &Style, finding: &FindingView) {
    let doubt = match finding.confidence {
        Confidence::High => "",
        Confidence::Medium => ", likely",
        Confidence::Low => ", a suspicion",
    };
    let text = format!("{} [{}{doubt}]", finding.summary, finding.code.as_str());
    paragraph(out, style, word(finding.severity), Tone::Normal, &text);
}

fn put_advice(out: &mut String, style: &Style, advice: &AdviceView) {
    let gain = advice.gain_bytes_per_second.map(|gain| format!("+{}", human::rate(gain)));
    let lead = "       → ";
    let text = match &gain {
        Some(gain) => format!("{gain}: {}", advice.action),
        None => advice.action.clone(),
    };
    debug_assert!(width(style, lead) < style.width);
    paragraph(out, style, (Tone::Good, lead), Tone::Good, &text);
}
