//! The view model of `narrows predict`: exactly what `--json` prints, and all that the text is made from.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds.

use serde::{Deserialize, Serialize};

use super::view::{Tool, tool};
use crate::answer::{Answer, step};
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Row, Table, Tone, Width};
use crate::figure::chart::{self, from_to};
use narrows_base::lists::some_of;
use narrows_base::units::{BytesPerSec, Iops, Nanos, human};
use narrows_model::path::file::{Published, PublishedValue, Workload};
use narrows_model::predict::{Bound, BoundKind, Prediction, Sensitivity};

/// The name and version of the schema, in [`PredictReport::schema`].
pub const SCHEMA: &str = "narrows/predict/1";

/// What `narrows predict` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictReport {
    /// Always `narrows/predict/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The systems, in the order in which they were given.
    pub systems: Vec<SystemView>,
}

/// One system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemView {
    /// The file that describes it.
    pub file: String,
    pub name: String,
    /// Where its facts are from.
    pub source: String,
    /// What was changed on the command line.
    pub changes: Vec<String>,
    /// What its workloads will get.
    pub predictions: Vec<PredictionView>,
    /// Predicted against published.
    pub published: Vec<PublishedView>,
}

/// What a workload will get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictionView {
    pub workload: Workload,
    /// The same workload before the changes; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// Whether the laws that decide hold for this workload. When not, all that follows up to `limiting` and `next` is `null`,
    /// but `at_most`, `not_known_because` and `measure_instead`.
    pub known: bool,
    /// Bytes in a second, reads and writes together.
    pub bytes_per_second: Option<BytesPerSec>,
    /// Those of them that are read.
    pub read_bytes_per_second: Option<BytesPerSec>,
    /// Those that are written.
    pub write_bytes_per_second: Option<BytesPerSec>,
    /// I/Os in a second.
    pub iops: Option<Iops>,
    /// The mean time of one I/O.
    pub latency_ns: Option<Nanos>,
    /// Where the bytes in a second lie in 80 of 100 cases.
    pub interval_80: Option<(BytesPerSec, BytesPerSec)>,
    /// Where they lie in 95 of 100 cases.
    pub interval_95: Option<(BytesPerSec, BytesPerSec)>,
    /// What the rate does not exceed, where it is not known; `null` when it is, or when nothing is known that bounds it.
    pub at_most: Option<Bound>,
    /// Why the rate is not known.
    pub not_known_because: Option<String>,
    /// What would have to be measured to know it.
    pub measure_instead: Option<String>,
    /// The bound that decides.
    pub limiting: Option<Bound>,
    /// The next one.
    pub next: Option<Bound>,
    /// All bounds, narrowest first: what the workload could move if there were no other bound. They are no prediction.
    pub bounds: Vec<Bound>,
    /// What the rate does when a hop's ceiling is raised by a part: by so many parts itself. Empty when the rate is not known.
    pub sensitivity: Vec<Sensitivity>,
    /// What was assumed, and what is not covered.
    pub notes: Vec<String>,
}

/// What was, before something was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Before {
    /// The rate; `null` when it is not known.
    pub bytes_per_second: Option<BytesPerSec>,
    /// I/Os in a second.
    pub iops: Option<Iops>,
    /// What the rate did not exceed, where it is not known.
    pub at_most_bytes_per_second: Option<BytesPerSec>,
    /// The hop that decided; `null` when the rate is not known.
    pub limiting_hop: Option<String>,
    pub limiting_name: Option<String>,
    /// The rate now, less the rate before: negative for a loss. `null` when one of them is not known.
    pub gain_bytes_per_second: Option<f64>,
    /// The rate now over the rate before.
    pub factor: Option<f64>,
}

/// One published result beside what is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedView {
    /// What was measured.
    pub what: String,
    /// `bytes_per_second`, `iops` or `latency_ns`.
    pub unit: String,
    /// What was published.
    pub published: f64,
    /// What is predicted; `null` when it is not known.
    pub predicted: Option<f64>,
    /// The prediction over what was published, less one.
    pub difference: Option<f64>,
    /// Where the result lies in 95 of 100 cases.
    pub interval_95: Option<(f64, f64)>,
    /// What it does not exceed, where it is not known; of a time, what it is not below.
    pub at_most: Option<f64>,
    /// Whether the two agree.
    pub outcome: Outcome,
    /// Why nothing is predicted.
    pub not_known_because: Option<String>,
    /// The hop that decides the prediction, or the bound.
    pub limiting_hop: Option<String>,
    pub limiting_name: Option<String>,
    /// What the file says of a result that is not inside the interval.
    pub why: Option<String>,
    /// Where it was published.
    pub source: String,
}

/// How a published result stands to its prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It lies inside the 95 % interval.
    Inside,
    /// It does not.
    Outside,
    /// Nothing was predicted, and what was published does not exceed the bound.
    Refused,
    /// It exceeds a bound that nothing should exceed.
    AboveBound,
}

/// A report of these systems.
pub fn report(systems: Vec<SystemView>) -> PredictReport {
    PredictReport { schema: SCHEMA.to_owned(), tool: tool(), systems }
}

impl PredictReport {
    /// Whether a published result lies outside of its 95 % interval, or above its bound.
    pub fn has_wrong(&self) -> bool {
        let mut rows = self.systems.iter().flat_map(|system| &system.published);
        rows.any(|row| matches!(row.outcome, Outcome::Outside | Outcome::AboveBound))
    }
}

/// The view of a prediction, with the one before something was changed.
pub fn prediction(now: &Prediction, before: Option<&Prediction>) -> PredictionView {
    let known = now.answer.as_ref().ok();
    let refused = now.answer.as_ref().err();
    let shown = known.is_some();
    let around = |(low, high): (f64, f64)| (now.rate * low, now.rate * high);
    let felt = now.sensitivity.iter().filter(|_| shown);
    PredictionView {
        workload: now.workload.clone(),
        before: before.map(|before| earlier(now, before)),
        known: shown,
        bytes_per_second: shown.then_some(now.rate),
        read_bytes_per_second: shown.then_some(now.read),
        write_bytes_per_second: shown.then_some(now.write),
        iops: shown.then_some(now.iops),
        latency_ns: shown.then_some(now.latency),
        interval_80: known.map(|it| around(it.in_80)),
        interval_95: known.map(|it| around(it.in_95)),
        at_most: now.at_most().cloned(),
        not_known_because: refused.map(|it| it.because.clone()),
        measure_instead: refused.map(|it| it.measure.clone()),
        limiting: now.narrowest().filter(|_| shown).cloned(),
        next: now.next().filter(|_| shown).cloned(),
        bounds: now.bounds.clone(),
        sensitivity: felt.cloned().collect(),
        notes: now.notes.clone(),
    }
}

fn earlier(now: &Prediction, before: &Prediction) -> Before {
    let shown = before.answer.is_ok();
    let both = shown && now.answer.is_ok();
    let factor = now.rate.get() / before.rate.get();
    let limiting = before.narrowest().filter(|_| shown);
    Before {
        bytes_per_second: shown.then_some(before.rate),
        iops: shown.then_some(before.iops),
        at_most_bytes_per_second: before.at_most().map(|bound| bound.rate),
        limiting_hop: limiting.map(|bound| bound.hop.to_string()),
        limiting_name: limiting.map(|bound| bound.name.clone()),
        gain_bytes_per_second: both.then_some(now.rate.get() - before.rate.get()),
        factor: Some(factor).filter(|factor| both && factor.is_finite()),
    }
}

/// The view of a published result beside its prediction.
pub fn published(row: &Published, prediction: &Prediction, source: &str) -> PublishedView {
    let (unit, published, predicted) = match row.value {
        PublishedValue::Rate(rate) => ("bytes_per_second", rate.get(), prediction.rate.get()),
        PublishedValue::Iops(iops) => ("iops", iops.get(), prediction.iops.get()),
        PublishedValue::Latency(time) => ("latency_ns", time.get() as f64, prediction.latency.get() as f64),
    };
    let is_time = matches!(row.value, PublishedValue::Latency(_));
    // The bound in the unit of the row; a time is not below what it takes at the highest rate.
    let scaled = |factor: f64| if is_time { predicted / factor } else { predicted * factor };
    let at_most = prediction.at_most();
    let most = at_most.map(|bound| scaled(bound.rate.get() / prediction.rate.get().max(f64::MIN_POSITIVE)));
    let known = prediction.answer.as_ref().ok();
    let interval = known.map(|it| {
        let (low, high) = (scaled(it.in_95.0), scaled(it.in_95.1));
        (low.min(high), low.max(high))
    });
    let outcome = outcome(published, interval, most, is_time);
    let limiting = if known.is_some() { prediction.narrowest() } else { at_most };
    PublishedView {
        what: row.what.clone(),
        unit: unit.to_owned(),
        published,
        predicted: known.map(|_| predicted),
        difference: known.filter(|_| published > 0.0).map(|_| predicted / published - 1.0),
        interval_95: interval,
        at_most: most,
        outcome,
        not_known_because: prediction.answer.as_ref().err().map(|it| it.because.clone()),
        limiting_hop: limiting.map(|bound| bound.hop.to_string()),
        limiting_name: limiting.map(|bound| bound.name.clone()),
        why: row.why.clone().filter(|_| outcome != Outcome::Inside),
        source: if row.source.is_empty() { source.to_owned() } else { row.source.clone() },
    }
}

/// A result above a bound by less than this part is one of rounding.
const ROUNDING: f64 = 0.01;

fn outcome(published: f64, interval: Option<(f64, f64)>, most: Option<f64>, is_time: bool) -> Outcome {
    match (interval, most) {
        (Some((low, high)), _) if low <= published && published <= high => Outcome::Inside,
        (Some(_), _) => Outcome::Outside,
        (None, Some(least)) if is_time && published < least * (1.0 - ROUNDING) => Outcome::AboveBound,
        (None, Some(most)) if !is_time && published > most * (1.0 + ROUNDING) => Outcome::AboveBound,
        _ => Outcome::Refused,
    }
}

/// Bounds that are listed; `--json` has all.
const MOST_BOUNDS: usize = 6;

/// The report as a document.
pub fn document(report: &PredictReport, audience: Audience) -> Document {
    let files: Vec<&String> = report.systems.iter().map(|system| &system.file).collect();
    let mut out = Document::new("predict", some_of(&files, 3, ", "), Some(&report.tool));
    if let Some(answer) = answer(report) {
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

/// A prediction that is known, else the first: its narrowest hop, interval, and what to measure.
pub fn answer(report: &PredictReport) -> Option<Answer> {
    let all: Vec<&PredictionView> = report.systems.iter().flat_map(|system| &system.predictions).collect();
    let first = all.first()?;
    let of = all.iter().find(|it| it.before.is_some() && it.known).unwrap_or(first);
    let name = &of.workload.name;
    if let (Some(rate), Some(limiting)) = (of.bytes_per_second, &of.limiting) {
        let ends =
            of.interval_95.map(|ends| format!(" (95 %: {})", from_to(ends.into()))).unwrap_or_default();
        let was = of.before.as_ref().and_then(|before| before.bytes_per_second);
        let was = was.map(|was| format!(" instead of {was}")).unwrap_or_default();
        let hop = &limiting.name;
        let sentence = format!("The workload `{name}` gets {rate}{ends}{was}: {hop} limits.");
        let next = of.next.iter().map(|Bound { rate, name, .. }| {
            step(format!("More of {hop} gives more, up to {rate}: then {name} limits."))
        });
        return Some(Answer { sentence, todo: next.collect() });
    }
    let most = of.at_most.as_ref()?;
    let sentence = format!(
        "The workload `{name}` gets at most {}: the narrowest known hop is {}. How much less is not known.",
        most.rate, most.name
    );
    let measure = of.measure_instead.iter().map(|it| step(format!("To know it: measure {it}.")));
    Some(Answer { sentence, todo: measure.collect() })
}

fn put_system(out: &mut Document, system: &SystemView) {
    out.say(0, Tone::Strong, format!("{}  {}", system.file, system.name));
    out.says(2, Tone::Faint, system.changes.iter().map(|change| format!("with {change}")));
    for prediction in &system.predictions {
        out.gap();
        put_prediction(out, prediction);
    }
    if !system.published.is_empty() {
        put_published(out, &system.published);
    }
}

fn what(work: &Workload) -> String {
    let mix = match work.read_share {
        share if share >= 1.0 => "reads".to_owned(),
        share if share <= 0.0 => "writes".to_owned(),
        share => format!("{} reads, rest writes,", human::percent(share)),
    };
    let jobs = human::counted(work.jobs, "job");
    let Workload { name, target, depth, engine, .. } = work;
    let (pattern, size) = (work.pattern.word(), human::block_size(work.block_size));
    format!("{name}: {pattern} {mix} of {size} on {target}, depth {depth}, {jobs} ({engine})")
}

fn put_prediction(out: &mut impl Blocks, it: &PredictionView) {
    out.say(2, Tone::Normal, what(&it.workload));
    if let Some(before) = &it.before {
        let rate = match (before.bytes_per_second, before.at_most_bytes_per_second) {
            (Some(rate), _) => human::rate_with_binary(rate),
            (None, Some(most)) => format!("not known; at most {most}"),
            (None, None) => "not known".to_owned(),
        };
        out.add(one("    before  ", Tone::Normal, rate, before.limiting_name.clone().unwrap_or_default()));
    }
    let lead = if it.before.is_some() { "    after   " } else { "    " };
    match it.bytes_per_second {
        Some(rate) => put_known(out, lead, it, rate),
        None => put_not_known(out, lead, it),
    }
    out.says(4, Tone::Faint, it.notes.iter().map(|note| format!("note: {note}")));
}

fn put_known(out: &mut impl Blocks, lead: &str, it: &PredictionView, rate: BytesPerSec) {
    let iops = it.iops.map(|iops| iops.to_string());
    let each = it.latency_ns.map(|time| format!("{time} each"));
    let behind: Vec<String> = iops.into_iter().chain(each).collect();
    out.add(one(lead, Tone::Strong, human::rate_with_binary(rate), behind.join(", ")));
    if let Some((in_80, in_95)) = it.interval_80.zip(it.interval_95) {
        let [in_80, in_95] = [in_80, in_95].map(|ends| from_to(ends.into()));
        out.say(12, Tone::Faint, format!("80 % of cases {in_80}, 95 % {in_95}"));
    }
    if let Some((before, gain)) = it.before.as_ref().and_then(|it| Some((it, it.gain_bytes_per_second?))) {
        let factor = before.factor.map(|factor| format!(" (×{factor:.2})")).unwrap_or_default();
        let (tone, sign) = match gain {
            gain if gain > 0.0 => (Tone::Good, "+"),
            gain if gain < 0.0 => (Tone::Bad, "−"),
            _ => (Tone::Normal, "±"),
        };
        out.say(4, tone, format!("gain    {sign}{}{factor}", BytesPerSec::new(gain.abs())));
    }
    if let Some(limiting) = &it.limiting {
        out.say(4, Tone::Bad, format!("narrows {}", limiting.name));
        out.say(12, Tone::Faint, &limiting.formula);
    }
    out.says(4, Tone::Warn, it.next.iter().map(|next| format!("next    {}, {}", next.name, next.rate)));
    put_bounds(out, &it.bounds);
    let felt = it.sensitivity.iter().take(4).map(|it| format!("{} {:+.2} %", it.hop, it.elasticity));
    let felt: Vec<String> = felt.collect();
    if !felt.is_empty() {
        out.say(4, Tone::Faint, format!("1 % more of a hop gives: {}", felt.join(", ")));
    }
}

fn put_not_known(out: &mut impl Blocks, lead: &str, it: &PredictionView) {
    let indent = lead.chars().count();
    let bound = match &it.at_most {
        Some(bound) => format!("not known; at most {}: {}", bound.rate, bound.name),
        None => "not known, and nothing is known that bounds it".to_owned(),
    };
    out.lead((Tone::Normal, lead), Tone::Strong, &bound);
    out.says(indent, Tone::Warn, it.not_known_because.iter().map(|why| format!("because {why}")));
    let measure = it.measure_instead.iter().map(|what| format!("to know, measure {what}"));
    out.says(indent, Tone::Normal, measure);
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

/// The bounds, the narrowest first; those that say the same of the same kind of hop once.
fn put_bounds(out: &mut impl Blocks, bounds: &[Bound]) {
    let hop = Column { names: true, ..Column::left("hop", Width::Flex(0)) };
    let mut table = Table::new("What bounds it", 4, vec![Column::right("bound", 12), hop]).untitled();
    let mut seen: Vec<((BoundKind, &str), f64)> = Vec::new();
    for bound in bounds {
        let kind = (bound.kind, bound.hop.split(':').next().unwrap_or_default());
        let rate = bound.rate.get();
        if seen.iter().any(|(other, near)| *other == kind && (near - rate).abs() <= rate * 1e-9) {
            continue;
        }
        seen.push((kind, rate));
        if table.rows.len() == MOST_BOUNDS {
            break;
        }
        let tone = if table.rows.is_empty() { Tone::Strong } else { Tone::Normal };
        let what = match bound.kind {
            BoundKind::Bandwidth => bound.name.clone(),
            kind => format!("{}  {kind}", bound.name),
        };
        table.row(vec![Cell::toned(tone, human::rate(bound.rate)), Cell::text(what)]);
    }
    out.table(table);
}

fn put_published(out: &mut Document, rows: &[PublishedView]) {
    let columns = vec![
        Column::right("predicted", 13),
        Column::right("published", 12),
        Column::right("difference", 12),
        Column { names: true, ..Column::left("what", Width::Rest(8)) },
    ];
    let mut table = Table::new("Predicted and published", 2, columns);
    table.rows.extend(rows.iter().map(published_row));
    out.add(Block::Table(table));
}

fn published_row(row: &PublishedView) -> Row {
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
    let outside = row.interval_95.filter(|_| row.outcome == Outcome::Outside);
    let outside = outside.map(|(low, high)| [low, high].map(|end| shown(&row.unit, end)).join(" to "));
    let above = (row.outcome == Outcome::AboveBound).then_some("above what is said to bound it");
    let verb = if row.predicted.is_some() { "narrows" } else { "at most:" };
    let mut notes = Vec::new();
    notes.says(41, Tone::Bad, outside.map(|ends| format!("outside of {ends}")));
    notes.says(41, Tone::Bad, above);
    notes.says(41, Tone::Faint, row.limiting_name.iter().map(|name| format!("{verb} {name}")));
    notes.says(41, Tone::Warn, row.not_known_because.iter().map(|why| format!("not known: {why}")));
    notes.says(41, Tone::Faint, row.why.iter().map(|why| format!("the file says: {why}")));
    let published = Cell::text(shown(&row.unit, row.published));
    let (predicted, difference) = (Cell::toned(Tone::Strong, predicted), Cell::toned(tone, difference));
    Row { cells: vec![predicted, published, difference, Cell::text(&row.what)], notes }
}

fn shown(unit: &str, value: f64) -> String {
    match unit {
        "iops" => Iops::new(value).to_string(),
        "latency_ns" => human::time(Nanos::new(value.max(0.0) as u64)),
        _ => human::rate(BytesPerSec::new(value)),
    }
}
