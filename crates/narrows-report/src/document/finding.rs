//! Findings as blocks: how bad, what, how we know, and what to do.

use super::{Block, Blocks, Place, Tone};
use narrows_base::lists::{grouped, some_of};
use narrows_base::units::human;
use narrows_verdict::{self as verdict, Advice, Code, Confidence, Evidence, Severity};

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

/// Puts findings with evidence and all advice, in a part of their own.
pub fn findings<'a>(out: &mut impl Blocks, findings: impl IntoIterator<Item = &'a verdict::Finding>) {
    for (number, finding) in findings.into_iter().enumerate() {
        out.gap();
        if number == 0 {
            out.part(Place::Findings, "Findings");
        }
        out.add(Block::Finding(whole(finding)));
    }
}

fn whole(finding: &verdict::Finding) -> Finding {
    let evidence = finding.evidence.iter().map(|Evidence { fact, value, source }| match source.as_str() {
        "" => format!("{fact}: {value}"),
        source => format!("{fact}: {value} ({source})"),
    });
    Finding {
        severity: finding.severity,
        text: text(finding),
        also: None,
        evidence: evidence.collect(),
        advice: finding.advice.clone(),
    }
}

/// Where else the same is so.
fn also(places: &[impl AsRef<str>]) -> Option<String> {
    (!places.is_empty()).then(|| format!("The same is so of {}.", some_of(places, 6, ", ")))
}

/// So much evidence is shown of the first findings where not all is asked for, and none of the others.
const EVIDENCE: [usize; 3] = [2, 1, 1];

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
    if !once.is_empty() {
        out.part(Place::Findings, "Findings");
    }
    once.sort_by_key(|(finding, _)| finding.severity);
    let has_cause = once.iter().any(|(finding, _)| finding.severity != Severity::Info);
    let mut hidden = 0;
    for (number, (finding, places)) in once.iter().enumerate() {
        let others: Vec<&&str> = places.iter().filter(|place| Some(*place) != places.first()).collect();
        let whole = Finding { also: also(&others), ..whole(finding) };
        if !has_cause || finding.severity != Severity::Info || finding.code == Code::PartialInput {
            let mut brief = whole.clone();
            brief.evidence.truncate(EVIDENCE.get(number).copied().unwrap_or_default());
            brief.advice.truncate(1);
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
    let keyed = findings.iter().enumerate().map(|(number, finding)| {
        // Each fault is told by itself.
        let apart = (finding.severity == Severity::Fault).then_some(number);
        let advice = finding.advice.first().map(|advice| &advice.action);
        ((apart, finding.code, finding.severity, finding.confidence, advice), *finding)
    });
    for (number, (_, alike)) in grouped(keyed).into_iter().enumerate() {
        let Some((first, more)) = alike.split_first() else { continue };
        if number == 0 {
            out.gap();
            out.part(Place::Findings, "Findings");
        }
        let more: Vec<&String> = more.iter().map(|other| &other.subject).collect();
        let mut brief = Finding { also: also(&more), evidence: Vec::new(), ..whole(first) };
        brief.advice.truncate(1);
        out.add(Block::Finding(brief));
    }
}

/// What is said of something that may not be so: nothing where it is sure, else words for what is likely or a suspicion.
pub const fn doubt(confidence: Confidence, [likely, suspicion]: [&'static str; 2]) -> &'static str {
    match confidence {
        Confidence::High => "",
        Confidence::Medium => likely,
        Confidence::Low => suspicion,
    }
}

fn text(finding: &verdict::Finding) -> String {
    let doubt = doubt(finding.confidence, [", likely", ", a suspicion"]);
    format!("{} [{}{doubt}]", finding.summary, finding.code.as_str())
}
