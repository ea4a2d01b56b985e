//! What was predicted, for a person.

use super::{Before, Outcome, PredictReport, PredictionView, PublishedView, SystemView, WorkloadView};
use crate::answer;
use crate::document::table::Width;
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Row, Table};
use crate::figure::chart;
use crate::text::{Style, Tone, some_of};
use narrows_base::units::{BytesPerSec, Iops, Nanos, human};
use narrows_model::predict::{Bound, BoundKind};

/// Bounds that are listed; `--json` has all.
const MOST_BOUNDS: usize = 6;

/// The report as text. It ends with a newline.
pub fn render(report: &PredictReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

/// The report as a document.
pub fn document(report: &PredictReport, audience: Audience) -> Document {
    let files: Vec<String> = report.systems.iter().map(|system| system.file.clone()).collect();
    let mut out = Document::new("predict", some_of(&files, 3), Some(&report.tool));
    if let Some(answer) = answer::predict(report) {
        answer.put(&mut out);
        out.gap();
        out.part(Place::Data, "Each workload");
    }
    for (number, system) in report.systems.iter().enumerate() {
        if number > 0 {
            out.gap();
        }
        put_system(&mut out, system);
    }
    out.figures(Place::Charts, chart::predictions(report));
    if audience == Audience::Public { out.scrubbed() } else { out }
}

fn put_system(out: &mut Document, system: &SystemView) {
    out.say(0, Tone::Strong, format!("{}  {}", system.file, system.name));
    for change in &system.changes {
        out.say(2, Tone::Faint, format!("with {change}"));
    }
    for prediction in &system.predictions {
        out.gap();
        put_prediction(out, prediction);
    }
    if !system.published.is_empty() {
        put_published(out, &system.published);
    }
}

fn what(work: &WorkloadView) -> String {
    let mix = match work.read_share {
        share if share >= 1.0 => "reads".to_owned(),
        share if share <= 0.0 => "writes".to_owned(),
        share => format!("{} reads, rest writes,", human::percent(share)),
    };
    let jobs = if work.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", work.jobs) };
    format!(
        "{}: {} {mix} of {} on {}, depth {}, {jobs} ({})",
        work.name,
        work.pattern,
        human::block_size(work.block_size),
        work.target,
        work.queue_depth,
        work.engine
    )
}

fn put_prediction(out: &mut impl Blocks, it: &PredictionView) {
    out.say(2, Tone::Normal, what(&it.workload));
    if let Some(before) = &it.before {
        put_before(out, before);
    }
    let lead = if it.before.is_some() { "    after   " } else { "    " };
    match it.bytes_per_second {
        Some(rate) => put_known(out, lead, it, rate),
        None => put_not_known(out, lead, it),
    }
    for note in &it.notes {
        out.say(4, Tone::Faint, format!("note: {note}"));
    }
}

fn put_known(out: &mut impl Blocks, lead: &str, it: &PredictionView, rate: BytesPerSec) {
    let iops = it.iops.map(|iops| iops.to_string());
    let each = it.latency_ns.map(|time| format!("{} each", human::time(time)));
    let behind: Vec<String> = iops.into_iter().chain(each).collect();
    out.add(one(lead, Tone::Strong, human::rate_with_binary(rate), behind.join(", ")));
    if let (Some(in_80), Some(in_95)) = (it.interval_80, it.interval_95) {
        let text = format!("80 % of cases {}, 95 % {}", range(in_80), range(in_95));
        out.say(12, Tone::Faint, text);
    }
    if let Some((before, gain)) = it.before.as_ref().and_then(|it| Some((it, it.gain_bytes_per_second?))) {
        put_gain(out, before, gain);
    }
    if let Some(limiting) = &it.limiting {
        out.say(4, Tone::Bad, format!("narrows {}", limiting.name));
        out.say(12, Tone::Faint, &limiting.formula);
    }
    if let Some(next) = &it.next {
        let text = format!("next    {}, {}", next.name, human::rate(next.rate));
        out.say(4, Tone::Warn, text);
    }
    put_bounds(out, &it.bounds);
    let felt: Vec<String> =
        it.sensitivity.iter().take(4).map(|it| format!("{} {:+.2} %", it.hop, it.elasticity)).collect();
    if !felt.is_empty() {
        let text = format!("1 % more of a hop gives: {}", felt.join(", "));
        out.say(4, Tone::Faint, text);
    }
}

fn put_not_known(out: &mut impl Blocks, lead: &str, it: &PredictionView) {
    let indent = " ".repeat(lead.chars().count());
    let bound = match &it.at_most {
        Some(bound) => {
            format!("not known; at most {}: {}", human::rate(bound.rate), bound.name)
        }
        None => "not known, and nothing is known that bounds it".to_owned(),
    };
    out.lead((Tone::Normal, lead), Tone::Strong, &bound);
    if let Some(because) = &it.not_known_because {
        out.lead((Tone::Normal, &indent), Tone::Warn, format!("because {because}"));
    }
    if let Some(measure) = &it.measure_instead {
        out.lead((Tone::Normal, &indent), Tone::Normal, format!("to know, measure {measure}"));
    }
}

/// A line: a rate, and what is said of it behind.
fn one(lead: &str, tone: Tone, rate: String, behind: String) -> Block {
    let all = || Width::Fit(0, usize::MAX);
    let word = lead.trim_start();
    let columns = vec![
        Column::name("", Width::Fixed(word.len())),
        Column::left("rate", all()).gap(0),
        Column::left("", all()),
    ];
    let mut table = Table::new("", lead.len() - word.len(), columns).untitled();
    table.row(vec![Cell::text(word.trim_end()), Cell::toned(tone, rate), Cell::toned(Tone::Faint, behind)]);
    Block::Table(table)
}

/// `3.1 to 3.6 GB/s`.
fn range((low, high): (BytesPerSec, BytesPerSec)) -> String {
    format!("{} to {}", human::rate(low), human::rate(high))
}

fn put_gain(out: &mut impl Blocks, before: &Before, gain: f64) {
    let factor = before.factor.map(|factor| format!(" (×{factor:.2})")).unwrap_or_default();
    let (tone, sign) = match gain {
        gain if gain > 0.0 => (Tone::Good, "+"),
        gain if gain < 0.0 => (Tone::Bad, "−"),
        _ => (Tone::Normal, "±"),
    };
    let text = format!("gain    {sign}{}{factor}", human::rate(BytesPerSec::new(gain.abs())));
    out.say(4, tone, text);
}

fn put_before(out: &mut impl Blocks, before: &Before) {
    let rate = match (before.bytes_per_second, before.at_most_bytes_per_second) {
        (Some(rate), _) => human::rate_with_binary(rate),
        (None, Some(most)) => format!("not known; at most {}", human::rate(most)),
        (None, None) => "not known".to_owned(),
    };
    out.add(one("    before  ", Tone::Normal, rate, before.limiting_name.clone().unwrap_or_default()));
}

/// The bounds, the narrowest first; those that say the same of the same kind of hop once.
fn put_bounds(out: &mut impl Blocks, bounds: &[Bound]) {
    let columns =
        vec![Column::right("bound", 12), Column { names: true, ..Column::left("hop", Width::Flex(0)) }];
    let mut table = Table::new("What bounds it", 4, columns).untitled();
    let mut seen: Vec<(String, f64)> = Vec::new();
    for bound in bounds {
        let key = (
            format!("{}{}", bound.kind.word(), bound.hop.split(':').next().unwrap_or_default()),
            bound.rate.get(),
        );
        if seen.iter().any(|(kind, rate)| *kind == key.0 && (rate - key.1).abs() <= key.1 * 1e-9) {
            continue;
        }
        seen.push(key);
        if table.rows.len() == MOST_BOUNDS {
            break;
        }
        let tone = if table.rows.is_empty() { Tone::Strong } else { Tone::Normal };
        let is_plain = bound.kind == BoundKind::Bandwidth;
        let what = if is_plain { String::new() } else { format!("  {}", bound.kind.word()) };
        table.row(vec![
            Cell::toned(tone, human::rate(bound.rate)),
            Cell::text(format!("{}{what}", bound.name)),
        ]);
    }
    if !table.rows.is_empty() {
        out.add(Block::Table(table));
    }
}

fn put_published(out: &mut Document, rows: &[PublishedView]) {
    let columns = vec![
        Column::right("predicted", 13),
        Column::right("published", 12),
        Column::right("difference", 12),
        Column { names: true, ..Column::left("what", Width::Rest(8)) },
    ];
    let mut table = Table::new("Predicted and published", 2, columns);
    table.rows.extend(rows.iter().map(published));
    out.add(Block::Table(table));
}

fn published(row: &PublishedView) -> Row {
    let tone = match row.outcome {
        Outcome::Inside => Tone::Good,
        Outcome::Refused => Tone::Warn,
        Outcome::Outside | Outcome::AboveBound => Tone::Bad,
    };
    let predicted = match (row.predicted, row.at_most) {
        (Some(predicted), _) => shown(&row.unit, predicted),
        (None, Some(most)) => format!("≤ {}", shown(&row.unit, most)),
        (None, None) => "not known".to_owned(),
    };
    let difference = row.difference.map_or("–".to_owned(), |part| format!("{:+.1} %", part * 100.0));
    let mut notes = Vec::new();
    let mut put = |tone: Tone, text: String| notes.say(41, tone, text);
    if let (Outcome::Outside, Some((low, high))) = (row.outcome, row.interval_95) {
        put(Tone::Bad, format!("outside of {} to {}", shown(&row.unit, low), shown(&row.unit, high)));
    }
    if row.outcome == Outcome::AboveBound {
        put(Tone::Bad, "above what is said to bound it".to_owned());
    }
    if let Some(name) = &row.limiting_name {
        let verb = if row.predicted.is_some() { "narrows" } else { "at most:" };
        put(Tone::Faint, format!("{verb} {name}"));
    }
    if let Some(because) = &row.not_known_because {
        put(Tone::Warn, format!("not known: {because}"));
    }
    if let Some(why) = &row.why {
        put(Tone::Faint, format!("the file says: {why}"));
    }
    let cells = vec![
        Cell::toned(Tone::Strong, predicted),
        Cell::text(shown(&row.unit, row.published)),
        Cell::toned(tone, difference),
        Cell::text(&row.what),
    ];
    Row { cells, notes }
}

fn shown(unit: &str, value: f64) -> String {
    match unit {
        "iops" => Iops::new(value).to_string(),
        "latency_ns" => human::time(Nanos::new(value.max(0.0) as u64)),
        _ => human::rate(BytesPerSec::new(value)),
    }
}
