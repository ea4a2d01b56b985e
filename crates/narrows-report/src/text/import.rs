//! The terminal view of imported results: for each its numbers, whether to trust them, and why not.

use super::Style;
use super::findings;
use super::ink::{Line, Tone, paragraph};
use crate::import::{AgainstView, ImportReport, MeasurementView, ResultView, StandingView, SweepView};
use narrows_base::units::{Nanos, human};
use narrows_load::measurement::Pattern;
use narrows_paste::results::Side;
use narrows_verdict::results::Trust;

/// A result of more measurements than this is shown by its first ones; `--json` has all.
const MOST: usize = 24;

/// The report as text. It ends with a newline.
pub fn render(report: &ImportReport, style: &Style) -> String {
    let mut out = String::new();
    for (number, result) in report.results.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        put_result(&mut out, style, result);
    }
    for sweep in &report.sweeps {
        put_sweep(&mut out, style, sweep);
    }
    out
}

fn put_sweep(out: &mut String, style: &Style, sweep: &SweepView) {
    let (Some(first), Some(last)) = (sweep.points.first(), sweep.points.last()) else { return };
    let (from, to) = (human::count(first.x), human::count(last.x));
    let title = format!("{}, {}: {from} to {to} {}", sweep.tool.name(), sweep.label, sweep.varied);
    out.push('\n');
    paragraph(out, style, (Tone::Normal, ""), Tone::Strong, &title);
    for sentence in &sweep.summary {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Normal, sentence);
    }
}

fn put_against(out: &mut String, style: &Style, against: &AgainstView) {
    let tone = match against.standing {
        StandingView::Above => Tone::Bad,
        StandingView::At => Tone::Warn,
        StandingView::Below => Tone::Normal,
    };
    let text = match against.target.is_empty() {
        true => against.summary.clone(),
        false => format!("{}: {}", against.target, against.summary),
    };
    paragraph(out, style, (Tone::Normal, "  "), tone, &text);
}

fn put_result(out: &mut String, style: &Style, result: &ResultView) {
    let version = result.tool_version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let title = format!("{}:{}  {}{version}", result.file, result.line, result.tool.name());
    paragraph(out, style, (Tone::Normal, ""), Tone::Strong, &title);
    if let Some(command) = &result.command {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, command);
    }
    for measurement in result.measurements.iter().take(MOST) {
        put_measurement(out, style, measurement);
    }
    if let Some(more @ 1..) = result.measurements.len().checked_sub(MOST) {
        let text = format!("and {more} more measurements; --json has all");
        paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, &text);
    }
    let (tone, word) = match (result.trust, &result.measures) {
        (Trust::No, _) => (Tone::Bad, "NOT trusted".to_owned()),
        (Trust::Other, Some(measures)) => (Tone::Warn, format!("trusted for something else: {measures}")),
        (_, Some(measures)) => (Tone::Good, format!("trusted; it measures {measures}")),
        _ => (Tone::Good, "trusted".to_owned()),
    };
    let limit =
        result.limiting_hop.as_ref().map(|hop| format!("; limited by {}", hop.name)).unwrap_or_default();
    paragraph(out, style, (Tone::Normal, "  "), tone, &format!("{word}{limit}"));
    for note in &result.notes {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, &format!("note: {note}"));
    }
    for against in result.against.iter().take(MOST) {
        put_against(out, style, against);
    }
    for list in [&result.findings, &result.path_findings] {
        if !list.is_empty() {
            out.push('\n');
            findings::put_full(out, style, list);
        }
    }
}

fn put_measurement(out: &mut String, style: &Style, measurement: &MeasurementView) {
    let work = &measurement.workload;
    let mut what: Vec<String> = Vec::new();
    what.extend(work.pattern.map(|pattern| match pattern {
        Pattern::Sequential => "sequential".to_owned(),
        Pattern::Random => "random".to_owned(),
    }));
    what.extend(work.block_size.map(human::block_size));
    what.extend(work.queue_depth.map(|depth| format!("depth {depth}")));
    what.extend(work.jobs.filter(|jobs| *jobs > 1).map(|jobs| format!("{jobs} jobs")));
    what.extend(
        work.direct.map(|direct| if direct { "direct" } else { "through the page cache" }.to_owned()),
    );
    what.extend(measurement.memory_only.then(|| "memory only".to_owned()));
    let head =
        if work.label.is_empty() { what.join(", ") } else { format!("{}: {}", work.label, what.join(", ")) };
    paragraph(out, style, (Tone::Normal, "  "), Tone::Normal, head.trim_end_matches(": "));
    let sides = [
        ("read", &measurement.read),
        ("write", &measurement.write),
        ("both", &measurement.both),
        ("net", &measurement.network),
    ];
    for (word, side) in sides {
        if let Some(side) = side {
            put_side(out, style, word, side);
        }
    }
    if let Some(entries) = measurement.entries_per_second {
        let text = format!("files  {} each second", human::count(entries.get()));
        paragraph(out, style, (Tone::Normal, "    "), Tone::Normal, &text);
    }
    if let Some(mean) = measurement.latency_ns.as_ref().and_then(|latency| latency.mean) {
        let text = format!("takes  mean {}", time(mean));
        paragraph(out, style, (Tone::Normal, "    "), Tone::Normal, &text);
    }
    if let Some(syncs) = measurement.syncs_per_second {
        let text = format!("fsync  {} each second", human::count(syncs.get()));
        paragraph(out, style, (Tone::Normal, "    "), Tone::Normal, &text);
    }
    if let Some(sync) = measurement.sync_ns.as_ref().and_then(|sync| sync.mean) {
        let text = format!("sync   mean {}", time(sync));
        paragraph(out, style, (Tone::Normal, "    "), Tone::Normal, &text);
    }
}

fn put_side(out: &mut String, style: &Style, word: &str, side: &Side) {
    let mut line = Line::new(style);
    line.put(Tone::Normal, "    ").put(Tone::Normal, word).pad_to(11);
    line.put(Tone::Strong, &human::rate_with_binary(side.bytes_per_second));
    let mut rest: Vec<String> = Vec::new();
    rest.extend(side.iops.map(|iops| iops.to_string()));
    if let Some(latency) = &side.latency_ns {
        let one = |word: &str, value: Option<f64>| value.map(|value| format!("{word} {}", time(value)));
        rest.extend(one("mean", latency.mean));
        rest.extend(one("p99", latency.p99));
    }
    rest.extend(side.elapsed_ns.map(|elapsed| format!("in {}", human::time(elapsed))));
    line.end(out);
    if !rest.is_empty() {
        paragraph(out, style, (Tone::Normal, "           "), Tone::Faint, &rest.join(" · "));
    }
}

fn time(nanoseconds: f64) -> String {
    human::time(Nanos::new(nanoseconds.max(0.0) as u64))
}
