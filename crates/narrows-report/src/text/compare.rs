//! The terminal view of a comparison.

use super::Style;
use super::ink::{Line, Tone, paragraph};
use super::public;
use crate::sanitize::inert;
use narrows_base::units::human;
use narrows_verdict::compare::{Comparison, LatencyPair, Verdict, WorkloadComparison};

/// The margin of what is said of a workload.
const DETAIL: &str = "    ";
/// Where the differences of latencies begin.
const LATENCIES: usize = 30;

/// A comparison as text. It ends with a newline. No difference stands without its interval.
pub fn render(comparison: &Comparison, style: &Style) -> String {
    let cleaned;
    let comparison = if style.plain {
        cleaned = public::comparison_without_identity(comparison);
        &cleaned
    } else {
        comparison
    };
    if !comparison.others.is_empty() {
        return table(comparison, style);
    }
    let mut out = String::new();
    for (side, file) in [("A  ", &comparison.a), ("B  ", &comparison.b)] {
        paragraph(&mut out, style, (Tone::Strong, side), Tone::Normal, &inert(file));
    }
    out.push('\n');
    let (tone, sentence) = sentence(comparison);
    paragraph(&mut out, style, (Tone::Normal, ""), tone, &sentence);
    if let Some((tone, sentence)) = latency_sentence(comparison.latency_verdict) {
        paragraph(&mut out, style, (Tone::Normal, ""), tone, sentence);
    }
    for workload in &comparison.workloads {
        out.push('\n');
        put_workload(&mut out, style, workload);
    }
    if !comparison.unmatched.is_empty() {
        out.push_str("\nNot compared\n");
        for run in &comparison.unmatched {
            let text = inert(&format!("only in {}: {}; {}", run.only_in, run.workload, run.reason));
            paragraph(&mut out, style, (Tone::Normal, "  "), Tone::Faint, &text);
        }
    }
    if !comparison.inventory.is_empty() {
        out.push_str("\nMeasured on\n");
        for change in &comparison.inventory {
            let of = |value: &Option<String>| value.as_deref().map_or("not stated".to_owned(), inert);
            let text = format!("{}: {} → {}", inert(&change.what), of(&change.a), of(&change.b));
            paragraph(&mut out, style, (Tone::Normal, "  "), Tone::Normal, &text);
        }
    }
    out
}

/// Several results against one: what is to be said of each, then each workload with the rates below each other.
fn table(comparison: &Comparison, style: &Style) -> String {
    let mut out = String::new();
    paragraph(&mut out, style, (Tone::Strong, "reference  "), Tone::Normal, &inert(&comparison.a));
    let scope = scope(comparison);
    paragraph(&mut out, style, (Tone::Faint, ""), Tone::Faint, &format!("all {scope}"));
    out.push('\n');
    for one in comparison.all() {
        let (tone, text) = answer(one, &inert(&one.b), "the reference");
        paragraph(&mut out, style, (Tone::Normal, ""), tone, &text);
    }
    for workload in workloads(comparison) {
        out.push('\n');
        paragraph(&mut out, style, (Tone::Normal, "  "), Tone::Strong, &inert(workload));
        put_rows(&mut out, style, comparison, workload);
    }
    for one in comparison.all() {
        for run in one.unmatched.iter().filter(|run| run.only_in == "B") {
            let text = inert(&format!("not compared: {} of {}; {}", run.workload, one.b, run.reason));
            paragraph(&mut out, style, (Tone::Normal, "  "), Tone::Faint, &text);
        }
    }
    for one in comparison.all().filter(|one| !one.inventory.is_empty()) {
        let text = format!(
            "{} was measured on something else: `narrows compare` of these two says what differs",
            inert(&one.b)
        );
        paragraph(&mut out, style, (Tone::Normal, ""), Tone::Faint, &text);
    }
    out
}

/// Each workload of the reference that any result has, once.
fn workloads(comparison: &Comparison) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for workload in comparison.all().flat_map(|one| &one.workloads) {
        if !names.contains(&workload.workload.as_str()) {
            names.push(&workload.workload);
        }
    }
    names
}

fn put_rows(out: &mut String, style: &Style, comparison: &Comparison, workload: &str) {
    let find = |one: &'_ Comparison| one.workloads.iter().find(|other| other.workload == workload).cloned();
    let Some(reference) = comparison.all().find_map(find) else { return };
    let rate = human::rate(reference.a_bytes_per_second);
    paragraph(out, style, (Tone::Normal, DETAIL), Tone::Normal, &format!("{rate}  {}", inert(&comparison.a)));
    for one in comparison.all() {
        let Some(found) = find(one) else {
            paragraph(out, style, (Tone::Normal, DETAIL), Tone::Faint, &format!("not in {}", inert(&one.b)));
            continue;
        };
        let (tone, verdict) = word(found.verdict);
        let change = match (&found.difference, found.as_printed) {
            (Some(difference), _) => relative(difference.relative, difference.relative_interval),
            (None, Some(part)) => {
                let sign = if part < 0.0 { "−" } else { "+" };
                format!("{sign}{} as printed", human::percent(part.abs()))
            }
            (None, None) => found.reason.as_deref().map_or(String::new(), inert),
        };
        let rate = human::rate(found.b_bytes_per_second);
        let doubts = if found.cautions.is_empty() { "" } else { "  !" };
        let text = format!("{rate}  {}  {change} {verdict}{doubts}", inert(&one.b));
        paragraph(out, style, (Tone::Normal, DETAIL), tone, &text);
        for caution in found.cautions.iter().filter(|caution| !caution.starts_with("A: ")) {
            paragraph(out, style, (Tone::Warn, &format!("{DETAIL}! ")), Tone::Warn, &inert(caution));
        }
    }
}

fn scope(comparison: &Comparison) -> String {
    format!(
        "intervals hold together with {}, differences below {} do not count",
        human::percent(comparison.confidence),
        human::percent(comparison.threshold)
    )
}

fn sentence(comparison: &Comparison) -> (Tone, String) {
    let (tone, text) = answer(comparison, "B", "A");
    match comparison.verdict {
        Verdict::NotComparable => (tone, text),
        _ => (tone, format!("{text} ({})", scope(comparison))),
    }
}

/// What the tests support of two results, and no more: where only some workloads differ, in how many.
fn answer(comparison: &Comparison, b: &str, a: &str) -> (Tone, String) {
    let (apart, of) = comparison.told_apart();
    let some = if apart < of {
        format!(" in {apart} of {of} workloads; the others cannot be told apart")
    } else {
        String::new()
    };
    match comparison.verdict {
        Verdict::Faster => (Tone::Good, format!("{b} is faster than {a}{some}")),
        Verdict::Slower => (Tone::Bad, format!("{b} is slower than {a}{some}")),
        Verdict::Mixed => {
            (Tone::Warn, format!("{b} is faster than {a} in some workloads and slower in others"))
        }
        Verdict::NotDistinguishable => (Tone::Strong, format!("{a} and {b} cannot be told apart")),
        Verdict::NotComparable => (Tone::Warn, format!("{a} and {b} cannot be compared")),
    }
}

/// The verdict on latencies; `None` when there are none to compare.
const fn latency_sentence(verdict: Verdict) -> Option<(Tone, &'static str)> {
    match verdict {
        Verdict::Faster => Some((Tone::Good, "B answers faster than A")),
        Verdict::Slower => Some((Tone::Bad, "B answers slower than A")),
        Verdict::Mixed => {
            Some((Tone::Warn, "B answers faster than A at some percentiles and slower at others"))
        }
        Verdict::NotDistinguishable => Some((Tone::Normal, "The latencies cannot be told apart")),
        Verdict::NotComparable => None,
    }
}

fn put_workload(out: &mut String, style: &Style, workload: &WorkloadComparison) {
    let label = inert(&workload.workload);
    paragraph(out, style, (Tone::Normal, "  "), Tone::Strong, &label);
    let rates = format!(
        "A {}   B {}",
        human::rate_with_binary(workload.a_bytes_per_second),
        human::rate_with_binary(workload.b_bytes_per_second)
    );
    let (tone, verdict) = word(workload.verdict);
    paragraph(out, style, (Tone::Normal, DETAIL), Tone::Normal, &rates);
    let mut line = Line::new(style);
    line.put(Tone::Normal, DETAIL);
    match (&workload.difference, &workload.reason) {
        (Some(difference), _) => {
            line.put(
                tone,
                &format!("{} {verdict}", relative(difference.relative, difference.relative_interval)),
            );
            line.end(out);
        }
        (None, reason) => {
            let printed = workload.as_printed.map(|part| {
                let sign = if part < 0.0 { "−" } else { "+" };
                format!("{sign}{} as printed, ", human::percent(part.abs()))
            });
            let reason = reason.as_deref().map_or("unknown".to_owned(), inert);
            let text = format!("{}{verdict}: {reason}", printed.unwrap_or_default());
            paragraph(out, style, (Tone::Normal, DETAIL), tone, &text);
        }
    }
    put_latencies(out, style, &workload.latency);
    for caution in &workload.cautions {
        paragraph(out, style, (Tone::Warn, &format!("{DETAIL}! ")), Tone::Warn, &inert(caution));
    }
}

const fn word(verdict: Verdict) -> (Tone, &'static str) {
    match verdict {
        Verdict::Faster => (Tone::Good, "faster"),
        Verdict::Slower => (Tone::Bad, "slower"),
        Verdict::NotDistinguishable => (Tone::Normal, "not distinguishable"),
        Verdict::Mixed | Verdict::NotComparable => (Tone::Warn, "not comparable"),
    }
}

/// A line for each percentile with a difference; the others, side by side, in one.
fn put_latencies(out: &mut String, style: &Style, pairs: &[LatencyPair]) {
    let values = |pair: &LatencyPair| {
        format!("{} {} | {}", inert(&pair.percentile), human::time(pair.a_ns), human::time(pair.b_ns))
    };
    for pair in pairs {
        if let Some(difference) = pair.difference {
            let (tone, verdict) = word(pair.verdict);
            let mut line = Line::new(style);
            line.put(Tone::Normal, DETAIL)
                .put(Tone::Normal, &values(pair))
                .pad_to(LATENCIES)
                .put(Tone::Normal, "  ");
            line.put(
                tone,
                &format!("{} {verdict}", relative(difference.relative, difference.relative_interval)),
            );
            line.end(out);
        }
    }
    let bare: Vec<String> = pairs.iter().filter(|pair| pair.difference.is_none()).map(values).collect();
    if !bare.is_empty() {
        let text = format!("too few samples for an interval, A | B: {}", bare.join(" · "));
        paragraph(out, style, (Tone::Normal, DETAIL), Tone::Faint, &text);
    }
}

/// `+12.3 % (+11.8 … +12.9 %)`.
fn relative(difference: f64, interval: [f64; 2]) -> String {
    let signed = |fraction: f64| {
        let sign = if fraction < 0.0 { "−" } else { "+" };
        format!("{sign}{}", human::percent(fraction.abs()))
    };
    let [low, high] = interval;
    format!("{} ({} … {})", signed(difference), signed(low), signed(high))
}
