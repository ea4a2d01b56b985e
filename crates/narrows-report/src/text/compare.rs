//! The terminal view of a comparison.

use super::{Style, Tone, public};
use crate::document::table::Width;
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Table};
use narrows_base::units::human;
use narrows_verdict::compare::{Comparison, LatencyPair, Verdict, WorkloadComparison};

/// The margin of what is said of a workload.
const DETAIL: usize = 4;
/// Columns before the differences of latencies, at least.
const LATENCIES: usize = 26;

/// A comparison as text. It ends with a newline. No difference stands without its interval.
pub fn render(comparison: &Comparison, style: &Style) -> String {
    document(comparison, Audience::of(style)).text(style)
}

/// A comparison as a document.
pub fn document(comparison: &Comparison, audience: Audience) -> Document {
    let cleaned;
    let comparison = match audience {
        Audience::Public => {
            cleaned = public::comparison_without_identity(comparison);
            &cleaned
        }
        Audience::Owner => comparison,
    };
    let mut out = Document::new("compare", format!("{} and {}", comparison.a, comparison.b), None);
    out.lead((Tone::Strong, "A  "), Tone::Normal, &comparison.a);
    out.lead((Tone::Strong, "B  "), Tone::Normal, &comparison.b);
    out.gap();
    let (tone, sentence) = sentence(comparison);
    out.say(0, tone, sentence);
    if let Some((tone, sentence)) = latency_sentence(comparison.latency_verdict) {
        out.say(0, tone, sentence);
    }
    out.part(Place::Data, "Workloads");
    for workload in &comparison.workloads {
        out.gap();
        put_workload(&mut out, workload);
    }
    if !comparison.unmatched.is_empty() {
        out.gap();
        out.part(Place::Data, "");
        out.heading("Not compared");
        for run in &comparison.unmatched {
            out.say(2, Tone::Faint, format!("only in {}: {}; {}", run.only_in, run.workload, run.reason));
        }
    }
    if !comparison.inventory.is_empty() {
        out.gap();
        out.part(Place::Data, "");
        out.heading("Measured on");
        for change in &comparison.inventory {
            let of = |value: &Option<String>| value.clone().unwrap_or_else(|| "not stated".to_owned());
            let text = format!("{}: {} → {}", change.what, of(&change.a), of(&change.b));
            out.say(2, Tone::Normal, text);
        }
    }
    out
}

fn sentence(comparison: &Comparison) -> (Tone, String) {
    let scope = format!(
        "intervals hold together with {}, differences below {} do not count",
        human::percent(comparison.confidence),
        human::percent(comparison.threshold)
    );
    let (tone, text) = match comparison.verdict {
        Verdict::Faster => (Tone::Good, "B is faster than A"),
        Verdict::Slower => (Tone::Bad, "B is slower than A"),
        Verdict::Mixed => (Tone::Warn, "B is faster than A in some workloads and slower in others"),
        Verdict::NotDistinguishable => (Tone::Strong, "A and B cannot be told apart"),
        Verdict::NotComparable => return (Tone::Warn, "A and B cannot be compared".to_owned()),
    };
    (tone, format!("{text} ({scope})"))
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

fn put_workload(out: &mut Document, workload: &WorkloadComparison) {
    out.say(2, Tone::Strong, &workload.workload);
    let rates = format!(
        "A {}   B {}",
        human::rate_with_binary(workload.a_bytes_per_second),
        human::rate_with_binary(workload.b_bytes_per_second)
    );
    let (tone, verdict) = word(workload.verdict);
    out.say(DETAIL, Tone::Normal, rates);
    match &workload.difference {
        Some(difference) => {
            let part = relative(difference.relative, difference.relative_interval);
            out.say(DETAIL, tone, format!("{part} {verdict}"));
        }
        None => {
            let printed = workload.as_printed.map(|part| {
                let sign = if part < 0.0 { "−" } else { "+" };
                format!("{sign}{} as printed, ", human::percent(part.abs()))
            });
            let reason = workload.reason.as_deref().unwrap_or("unknown");
            out.say(DETAIL, tone, format!("{}{verdict}: {reason}", printed.unwrap_or_default()));
        }
    }
    put_latencies(out, &workload.latency);
    for caution in &workload.cautions {
        out.lead((Tone::Warn, "    ! "), Tone::Warn, caution);
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
fn put_latencies(out: &mut Document, pairs: &[LatencyPair]) {
    let values = |pair: &LatencyPair| format!("{} | {}", human::time(pair.a_ns), human::time(pair.b_ns));
    let columns = vec![
        Column::name("latency, A | B", Width::Fit(LATENCIES, usize::MAX)),
        Column::left("difference", Width::Flex(0)),
    ];
    let mut table = Table::new("Latencies", DETAIL, columns).untitled();
    for pair in pairs {
        if let Some(difference) = pair.difference {
            let (tone, verdict) = word(pair.verdict);
            let part = relative(difference.relative, difference.relative_interval);
            let name = format!("{} {}", pair.percentile, values(pair));
            table.row(vec![Cell::text(name), Cell::toned(tone, format!("{part} {verdict}"))]);
        }
    }
    if !table.rows.is_empty() {
        out.add(Block::Table(table));
    }
    let bare = pairs.iter().filter(|pair| pair.difference.is_none());
    let bare: Vec<String> = bare.map(|pair| format!("{} {}", pair.percentile, values(pair))).collect();
    if !bare.is_empty() {
        let text = format!("too few samples for an interval, A | B: {}", bare.join(" · "));
        out.say(DETAIL, Tone::Faint, text);
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
