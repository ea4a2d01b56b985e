//! Findings as blocks: how bad, what, how we know, and what to do.

use super::{Block, Blocks, Tone};
use narrows_base::lists::some_of;
use narrows_base::units::human;
use narrows_verdict::{self as verdict, Advice, Code, Confidence, Severity};

/// What was found.
#[derive(Debug, Clone)]
pub struct Finding {
    pub severity: Severity,
    /// The summary, with the code and how sure it is.
    pub text: String,
    /// Where the same is so.
    pub also: Option<String>,
    /// How we know: what, and where from.
    pub evidence: Vec<String>,
    /// What to do.
    pub advice: Vec<Advice>,
}

/// Puts findings with evidence and all advice.
pub fn findings<'a>(out: &mut impl Blocks, findings: impl IntoIterator<Item = &'a verdict::Finding>) {
    for (number, finding) in findings.into_iter().enumerate() {
        if number > 0 {
            out.gap();
        }
        out.add(Block::Finding(whole(finding)));
    }
}

fn whole(finding: &verdict::Finding) -> Finding {
    let evidence = finding.evidence.iter().map(|evidence| {
        let source =
            if evidence.source.is_empty() { String::new() } else { format!(" ({})", evidence.source) };
        format!("{}: {}{source}", evidence.fact, evidence.value)
    });
    Finding {
        severity: finding.severity,
        text: text(finding),
        also: None,
        evidence: evidence.collect(),
        advice: finding.advice.clone(),
    }
}

/// So many findings are shown with evidence where not all is asked for: of the first more, of the others a line.
const MOST: usize = 3;
const EVIDENCE: [usize; MOST] = [2, 1, 1];

/// Puts findings, each with the place that it is about, the worst first and what is said of several places once. What explains
/// nothing to be done is left to those who ask for all, where there is something to be done.
pub fn findings_once(out: &mut impl Blocks, found: &[(String, &verdict::Finding)]) {
    let mut once: Vec<(&verdict::Finding, Vec<&str>)> = Vec::new();
    for (place, finding) in found {
        match once.iter_mut().find(|(other, _)| are_equal(other, finding)) {
            Some((_, places)) => places.push(place),
            None => once.push((finding, vec![place])),
        }
    }
    once.sort_by_key(|(finding, _)| finding.severity);
    let has_cause = once.iter().any(|(finding, _)| finding.severity != Severity::Info);
    let mut hidden = 0;
    for (number, (finding, places)) in once.iter().enumerate() {
        let others: Vec<&&str> =
            places.iter().skip(1).filter(|place| Some(*place) != places.first()).collect();
        let also = (!others.is_empty()).then(|| format!("The same is so of {}.", some_of(&others, 6, ", ")));
        let whole = Finding { also, ..whole(finding) };
        let is_told = !has_cause || finding.severity != Severity::Info || finding.code == Code::PartialInput;
        if is_told {
            let most = EVIDENCE.get(number).copied().unwrap_or_default();
            let (evidence, advice) = (whole.evidence.iter().take(most), whole.advice.iter().take(1));
            let brief = Finding {
                evidence: evidence.cloned().collect(),
                advice: advice.cloned().collect(),
                ..whole.clone()
            };
            out.brief(|out| {
                out.gap();
                out.add(Block::Finding(brief));
            });
        } else {
            hidden += 1;
        }
        out.verbose(|out| {
            out.gap();
            out.add(Block::Finding(whole));
        });
    }
    if hidden > 0 {
        let more = human::counted(hidden, "more finding");
        out.brief(|out| out.say(0, Tone::Faint, format!("{more}, and all evidence: --verbose")));
    }
}

/// Whether two findings say the same of two places, or of one.
fn are_equal(a: &verdict::Finding, b: &verdict::Finding) -> bool {
    let advice = |of: &verdict::Finding| of.advice.first().map(|advice| advice.action.clone());
    let is_same = (a.code, a.severity, &a.hop) == (b.code, b.severity, &b.hop);
    is_same && (a.summary == b.summary || a.severity != Severity::Fault && advice(a) == advice(b))
}

/// Puts findings with their best advice only. Of those that call for no action and say the same of several devices,
/// the first stands for all.
pub fn findings_in_brief(out: &mut impl Blocks, findings: &[&verdict::Finding]) {
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
