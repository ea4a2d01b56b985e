//! Results of other tools, and what is thought of them.

use std::collections::BTreeSet;

use super::Tone;
use crate::document::{Blocks, Cell, Column, Row, Table, Width, findings};
use crate::view::JudgedResult;
use narrows_base::units::{Nanos, human};
use narrows_paste::results::{Latency, Measured, Side};
use narrows_verdict::results::against::{Against, Standing};
use narrows_verdict::results::sweep::Sweep;
use narrows_verdict::results::{ResultVerdict, Trust};
use narrows_verdict::{Code, Finding};

/// A result of more measurements than this is shown by its first ones; `--json` has all.
const MOST: usize = 24;

/// Puts results, series of them, and what is thought of each.
pub(super) fn put(out: &mut impl Blocks, results: &[JudgedResult], sweeps: &[Sweep]) {
    let mut told = BTreeSet::new();
    for (number, result) in results.iter().enumerate() {
        if number > 0 {
            out.gap();
        }
        put_result(out, result);
        put_findings(out, &result.verdict, &mut told);
    }
    for sweep in sweeps {
        put_sweep(out, sweep);
    }
}

fn put_sweep(out: &mut impl Blocks, sweep: &Sweep) {
    let (Some(first), Some(last)) = (sweep.points.first(), sweep.points.last()) else { return };
    let (from, to) = (human::count(first.x), human::count(last.x));
    let title = format!("{}, {}: {from} to {to} {}", sweep.tool.name(), sweep.label, sweep.varied);
    out.gap();
    out.say(0, Tone::Strong, title);
    for sentence in sweep.sentences() {
        out.say(2, Tone::Normal, sentence);
    }
}

fn put_against(out: &mut impl Blocks, against: &Against) {
    let tone = match against.standing {
        Standing::Above => Tone::Bad,
        Standing::At => Tone::Warn,
        Standing::Below => Tone::Normal,
    };
    let sentence = against.sentence();
    let text = match against.target.is_empty() {
        true => sentence,
        false => format!("{}: {sentence}", against.target),
    };
    out.say(2, tone, text);
}

fn put_result(out: &mut impl Blocks, JudgedResult { result, verdict }: &JudgedResult) {
    let version = result.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let title = format!("{}:{}  {}{version}", result.file, result.line, result.tool.name());
    out.say(0, Tone::Strong, title);
    if let Some(command) = &result.command {
        out.say(2, Tone::Faint, command);
    }
    for measurement in result.measurements.iter().take(MOST) {
        put_measurement(out, measurement);
    }
    if let Some(more @ 1..) = result.measurements.len().checked_sub(MOST) {
        let text = format!("and {more} more measurements; --json has all");
        out.say(2, Tone::Faint, text);
    }
    let (tone, word) = match (verdict.trust, &verdict.measures) {
        (Trust::No, _) => (Tone::Bad, "NOT trusted".to_owned()),
        (Trust::Other, Some(measures)) => (Tone::Warn, format!("trusted for something else: {measures}")),
        (_, Some(measures)) => (Tone::Good, format!("trusted; it measures {measures}")),
        _ => (Tone::Good, "trusted".to_owned()),
    };
    let limit = verdict.limiting.as_ref().map(|hop| format!("; limited by {}", hop.name)).unwrap_or_default();
    out.say(2, tone, format!("{word}{limit}"));
    for note in &result.notes {
        out.say(2, Tone::Faint, format!("note: {note}"));
    }
    for against in verdict.against.iter().take(MOST) {
        put_against(out, against);
    }
}

/// What was found in a result and on its path, the worst first. What stands further up already is only named.
fn put_findings<'a>(
    out: &mut impl Blocks,
    verdict: &'a ResultVerdict,
    told: &mut BTreeSet<(Code, &'a str, &'a str)>,
) {
    let mut found: Vec<&Finding> = verdict.findings.iter().chain(&verdict.of_path).collect();
    found.sort_by_key(|finding| finding.severity);
    let is_new = |finding: &&'a Finding| {
        told.insert((finding.code, finding.subject.as_str(), finding.summary.as_str()))
    };
    let (new, again): (Vec<&Finding>, Vec<&Finding>) = found.into_iter().partition(is_new);
    let again: BTreeSet<String> = again.into_iter().map(|finding| finding.code.as_str()).collect();
    if !again.is_empty() {
        let again = again.into_iter().collect::<Vec<_>>().join(", ");
        out.say(2, Tone::Faint, format!("as further up: {again}"));
    }
    if !new.is_empty() {
        out.gap();
        findings(out, new);
    }
}

fn put_measurement(out: &mut impl Blocks, measurement: &Measured) {
    let work = &measurement.work;
    let mut what: Vec<String> = Vec::new();
    what.extend(work.pattern.map(|pattern| pattern.word().to_owned()));
    what.extend(work.block_size.map(human::block_size));
    what.extend(work.queue_depth.map(|depth| format!("depth {depth}")));
    what.extend(work.jobs.filter(|jobs| *jobs > 1).map(|jobs| format!("{jobs} jobs")));
    what.extend(
        work.direct.map(|direct| if direct { "direct" } else { "through the page cache" }.to_owned()),
    );
    what.extend(measurement.memory_only.then(|| "memory only".to_owned()));
    let head =
        if work.label.is_empty() { what.join(", ") } else { format!("{}: {}", work.label, what.join(", ")) };
    out.say(2, Tone::Normal, head.trim_end_matches(": "));
    let Measured { read, write, both, network, .. } = measurement;
    let sides = [("read", read), ("write", write), ("both", both), ("net", network)];
    let columns = vec![Column::name("", Width::Fixed(7)), Column::left("rate", Width::Flex(0)).gap(0)];
    let mut table = Table::new("", 4, columns).untitled();
    for (word, side) in sides {
        table.rows.extend(side.as_ref().map(|side| self::side(word, side)));
    }
    let each = |count: f64| format!("{} each second", human::count(count));
    let mean = |of: &Option<Latency>| Some(format!("mean {}", time(of.as_ref()?.mean?)));
    let more = [
        ("files", measurement.entries.map(|entries| each(entries.get()))),
        ("takes", mean(&measurement.latency_ns)),
        ("fsync", measurement.syncs.map(|syncs| each(syncs.get()))),
        ("sync", mean(&measurement.sync_ns)),
    ];
    for (word, text) in more {
        table.rows.extend(text.map(|text| Row::of(vec![Cell::text(word), Cell::text(text)])));
    }
    out.table(table);
}

fn side(word: &str, side: &Side) -> Row {
    let mut rest: Vec<String> = Vec::new();
    rest.extend(side.iops.map(|iops| iops.to_string()));
    if let Some(latency) = &side.latency_ns {
        let one = |word: &str, value: Option<f64>| value.map(|value| format!("{word} {}", time(value)));
        rest.extend(one("mean", latency.mean));
        rest.extend(one("p99", latency.p99));
    }
    rest.extend(side.elapsed_ns.map(|elapsed| format!("in {elapsed}")));
    let mut notes = Vec::new();
    if !rest.is_empty() {
        notes.say(11, Tone::Faint, rest.join(" · "));
    }
    let rate = Cell::toned(Tone::Strong, human::rate_with_binary(side.bytes_per_second));
    Row { cells: vec![Cell::text(word), rate], notes }
}

fn time(nanoseconds: f64) -> String {
    human::time(Nanos::new(nanoseconds.max(0.0) as u64))
}
