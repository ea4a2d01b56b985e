//! The view model of `narrows measure --as layers`: exactly what `--json` prints, and all that the text is made of.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::chart;
use crate::measure::put_writes;
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_load::measurement::Measurement;
use narrows_load::preset::LoadSpec;
use narrows_machine::activity::ThreadActivity;
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::HopKind;
use narrows_report::document::{
    Audience, Block, Blocks, Cell, Column, Document, Place, Table, Tone, Width, doubt, half,
};
use narrows_report::text::estimate;
use narrows_report::view::{HopPair, MachineView, Tool, why_null};
use narrows_session::writes::Account;
use narrows_verdict::ladder::{Cause, LadderVerdict, Leg, Loss, NodeRun, Rung, Step};
use narrows_verdict::{Confidence, Finding, Severity, word};

/// The name and version of the schema, in [`LadderReport::schema`].
pub const SCHEMA: &str = "narrows/ladder/1";

/// Where a stack of layers loses its rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderReport {
    /// Always `narrows/ladder/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The machine that it ran on.
    pub machine: MachineView,
    /// The target as it was typed.
    pub target: String,
    /// The measured time of each rung, without warm-up.
    pub duration_ns: Nanos,
    /// What processor, memory, engine and network give without storage.
    pub legs: Vec<Leg>,
    /// One for each load.
    pub ladders: Vec<LadderView>,
    /// What may be and was written to the scratch file; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Account>,
    /// What could not be measured, and why.
    pub left_out: Vec<LeftOut>,
    /// Whether every rung was measured.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl LadderReport {
    /// Whether a layer loses something, a scheduler holds requests back, or there is a fault or limit.
    pub fn has_findings(&self) -> bool {
        let bad = |finding: &Finding| finding.severity != Severity::Info;
        self.ladders.iter().any(|ladder| {
            ladder.rungs.iter().any(|rung| rung.step.loss.is_some())
                || ladder.cause == Some(Cause::Scheduler)
                || ladder.findings.iter().any(bad)
        })
    }

    /// Whether anything was measured.
    pub fn has_rates(&self) -> bool {
        self.ladders.iter().flat_map(|ladder| &ladder.rungs).any(|rung| rung.measurement.is_some())
    }
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The layer.
    pub hop: String,
    /// Why, and what it needs.
    pub reason: String,
}

/// The same load at every layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderView {
    /// The load, at each layer alone.
    pub load: LoadSpec,
    /// The measurements, from the media up.
    pub rungs: Vec<RungView>,
    /// The bottleneck, for the direction of the load.
    pub limiting_hop: HopPair,
    /// Why it is the bottleneck.
    pub cause: Option<Cause>,
    /// The hop that comes next, once that is gone.
    pub next_hop: HopPair,
    /// Why that one is.
    pub next_cause: Option<Cause>,
    /// How sure that is.
    pub confidence: Option<Confidence>,
    /// The verdict in words.
    pub sentence: String,
    /// The top of the ladder from the processors of each NUMA node; empty on a machine with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numa: Vec<NodeRun>,
    /// Findings on the path, worst first.
    pub findings: Vec<Finding>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl LadderView {
    /// Whether a rung is of the bottleneck.
    pub(crate) fn is_limiting(&self, rung: &RungView) -> bool {
        self.limiting_hop.read.as_ref().or(self.limiting_hop.write.as_ref()) == Some(&rung.hop)
    }
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RungView {
    /// `raid:md0`, or `at_once:raid:md0` for the layers right below it at the same time.
    pub id: String,
    /// The layer.
    pub hop: String,
    /// What it is.
    pub kind: HopKind,
    /// Its name for a person.
    pub name: String,
    /// Whether it is the layers right below `hop` at the same time.
    pub at_once: bool,
    /// The layers right below it.
    pub members: Vec<String>,
    /// What was measured; of several at once the sum, with the latencies of the slowest.
    pub measurement: Option<Measurement>,
    /// What it shows beside the layers below, which were given the same load.
    #[serde(flatten)]
    pub step: Step,
    /// The narrowest known ceiling of the path to this layer.
    pub ceiling: Option<RungCeiling>,
    /// Threads of the kernel and of narrows that used the processor, busiest first.
    pub threads: Vec<ThreadActivity>,
    /// The busy fraction of each CPU, by number.
    pub cpus: BTreeMap<u32, f64>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A ceiling of the path to a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RungCeiling {
    pub hop: String,
    /// The most that can be moved through it here.
    pub bytes_per_second: BytesPerSec,
    /// What it rests on.
    pub basis: Basis,
    /// How it was computed.
    pub formula: String,
}

/// No more threads than this are listed for a rung.
const THREADS: usize = 8;

/// The ladder of one load.
pub fn ladder(load: &LoadSpec, rungs: &[Rung], verdict: &LadderVerdict, numa: Vec<NodeRun>) -> LadderView {
    let nothing = Step::default();
    let steps = verdict.steps.iter().chain(std::iter::repeat(&nothing));
    let writes = load.writes();
    let why = "nothing was measured that shows it";
    LadderView {
        load: load.clone(),
        rungs: rungs.iter().zip(steps).map(|(rung, step)| rung_view(rung, rungs, step)).collect(),
        limiting_hop: pair(verdict.limiting.as_ref(), writes),
        cause: verdict.limiting.as_ref().map(|loss| loss.cause),
        next_hop: pair(verdict.next.as_ref(), writes),
        next_cause: verdict.next.as_ref().map(|loss| loss.cause),
        confidence: verdict.limiting.as_ref().map(|loss| loss.confidence),
        sentence: verdict.sentence.clone(),
        numa,
        findings: verdict.findings.clone(),
        reason: (verdict.limiting.is_none() || verdict.next.is_none()).then(|| why.to_owned()),
    }
}

fn pair(loss: Option<&Loss>, writes: bool) -> HopPair {
    let hop = loss.map(|loss| loss.hop.to_string());
    let reason = "the load goes the other way, or no counter tells".to_owned();
    let (read, write) = if writes { (None, hop) } else { (hop, None) };
    HopPair { read, write, reason: Some(reason) }
}

fn rung_view(rung: &Rung, rungs: &[Rung], step: &Step) -> RungView {
    let hop = rung.subject.path.hop(&rung.hop);
    let name = hop.map_or_else(|| rung.hop.to_string(), |hop| hop.name.clone());
    let count = rung.members.len();
    let members = rung.members.iter().filter_map(|index| rungs.get(*index));
    let run = rung.subject.runs.first();
    let activity = run.map(|run| &run.activity);
    let unmeasured = rung.unmeasured.as_ref().map(|reason| format!("measurement: {reason}"));
    let why = [
        (unmeasured.is_some(), unmeasured.as_deref().unwrap_or_default()),
        (step.below.is_none(), "below_bytes_per_second: nothing was measured below it"),
        (step.ceiling.is_none(), "ceiling: no hop on the way has a known ceiling"),
    ];
    RungView {
        id: if rung.at_once { format!("at_once:{}", rung.hop) } else { rung.hop.to_string() },
        hop: rung.hop.to_string(),
        kind: hop.map_or(HopKind::Application, narrows_model::path::Hop::kind),
        name: if rung.at_once { format!("{count} at once, below {name}") } else { name },
        at_once: rung.at_once,
        members: members.map(|member| member.hop.to_string()).collect(),
        measurement: run.map(|run| run.measurement.clone()),
        step: step.clone(),
        ceiling: ceiling(rung, step),
        threads: activity.iter().flat_map(|it| it.threads.iter().take(THREADS)).cloned().collect(),
        cpus: activity.map(|it| it.cpus.clone()).unwrap_or_default(),
        reason: why_null(why),
    }
}

fn ceiling(rung: &Rung, step: &Step) -> Option<RungCeiling> {
    let (index, rate) = step.ceiling?;
    let direction = rung.subject.runs.first().map_or(Direction::Read, |run| run.direction);
    let limit = rung.subject.ceilings.get(index)?.of(direction).limit()?;
    Some(RungCeiling {
        hop: rung.subject.path.hops.get(index)?.id.to_string(),
        bytes_per_second: rate,
        basis: limit.basis,
        formula: limit.formula.clone(),
    })
}

/// Columns between the end of the name and the ends of rate, interval, loss and ceiling.
const COLUMNS: [usize; 4] = [11, 8, 21, 11];
/// The shortest name column.
const NAME: usize = 24;
/// The shortest and the longest bar.
const BAR: (usize, usize) = (6, 24);

/// So many findings have their advice.
const TOLD: usize = 2;

/// The report as a document.
pub fn document(report: &LadderReport, audience: Audience) -> Document {
    let mut out = Document::new("layers", &report.target, Some(&report.tool));
    let about = format!("{}, from the media up, {} each", report.target, report.duration_ns);
    out.lead((Tone::Strong, "layers of "), Tone::Normal, about);
    out.verbose(|out| legs(out, &report.legs));
    let left_out = report.left_out.iter().map(|left| format!("{}: {}", left.hop, left.reason));
    out.leads((Tone::Warn, "not measured: "), Tone::Normal, left_out);
    if let Some(written) = &report.writes {
        put_writes(&mut out, written, false);
    }
    for ladder in &report.ladders {
        out.gap();
        one(&mut out, ladder);
    }
    out.not_complete(report.reason.as_ref());
    out.figures(Place::Charts, chart::ladder_waterfall(report));
    if audience == Audience::Public { out.scrubbed() } else { out }
}

/// The table, the sentence, and the two main findings; what they rest on is shown when all is asked for.
fn one(out: &mut Document, ladder: &LadderView) {
    out.part(Place::Data, "Layers");
    out.heading(format!("{} {}", ladder.load.mark(), ladder.load.direction()));
    waterfall(out, ladder);
    numa(out, ladder);
    out.gap();
    out.part(Place::Verdict, "");
    out.say(0, Tone::Strong, &ladder.sentence);
    out.part(Place::Findings, "Why rate is lost");
    let losses = ladder.rungs.iter().rev().filter_map(|rung| Some((rung, rung.step.loss.as_ref()?)));
    for (rung, loss) in losses {
        why(out, rung, loss, ladder.sentence.contains(&loss.summary));
    }
    let told = ladder.findings.iter().filter(|finding| finding.severity != Severity::Info);
    for (number, finding) in told.enumerate() {
        let tone = if finding.severity == Severity::Fault { Tone::Bad } else { Tone::Warn };
        out.lead((tone, &format!("{}: ", finding.code.as_str())), Tone::Normal, &finding.summary);
        let advice = finding.advice.iter().filter(|_| number < TOLD).map(|advice| &advice.action);
        out.leads((Tone::Faint, "  try: "), Tone::Normal, advice);
    }
}

/// One line for each rung; the bar is the part of the highest rate.
fn waterfall(out: &mut Document, ladder: &LadderView) {
    let rate = |rung: &RungView| Some(rung.measurement.as_ref()?.bytes_per_second);
    let most = ladder.rungs.iter().filter_map(rate).fold(BytesPerSec::default(), BytesPerSec::max);
    let mut columns =
        vec![Column::left("", Width::Fixed(2)).gap(0), Column::name("layer", Width::Broad(NAME))];
    let titles = ["rate", "±95 %", "loss", "ceiling"].into_iter().zip(COLUMNS);
    columns.extend(titles.map(|(title, width)| Column::right(title, width)));
    columns.push(Column::bar(BAR.0, BAR.1));
    let mut table = Table::new("Layers from the media up", 0, columns);
    for rung in &ladder.rungs {
        let (mark, tone) = match rung.step.loss {
            _ if ladder.is_limiting(rung) && !rung.at_once => ("▶", Tone::Bad),
            Some(_) => ("", Tone::Warn),
            None => ("", Tone::Normal),
        };
        let bar = rate(rung).map(|rate| Cell::bar(rate.fraction_of(most)).tone(tone));
        let names = [Cell::toned(Tone::Bad, mark), Cell::toned(tone, &rung.name)].into_iter();
        table.row(names.chain(cells(rung)).chain(bar).collect());
    }
    out.add(Block::Table(table));
}

/// Rate, interval, loss and ceiling.
fn cells(rung: &RungView) -> [Cell; 4] {
    let Some(rate) = &rung.measurement else {
        return ["–", "", "", ""].map(|text| Cell::toned(Tone::Faint, text));
    };
    let half = half(rate.bytes_per_second, rate.ci95);
    let below = rung.step.below;
    let lost = match (rung.step.lost, below.map(|below| below - rate.bytes_per_second)) {
        (Some(part), _) if part.abs() < 0.0005 => human::percent(0.0),
        (Some(part), _) if part < 0.0 => format!("+{}", human::percent(-part)),
        (Some(part), Some(lost)) => format!("−{} (−{lost})", human::percent(part)),
        _ => String::new(),
    };
    let ceiling = rung.ceiling.as_ref().map(|it| estimate(Some(it.basis), it.bytes_per_second));
    let mark = if rung.step.trusted == Some(true) { "" } else { "?" };
    let tone = if rung.step.loss.is_some() { Tone::Warn } else { Tone::Faint };
    [
        Cell::toned(Tone::Strong, format!("{}{mark}", rate.bytes_per_second)),
        Cell::toned(Tone::Faint, half),
        Cell::toned(tone, lost),
        Cell::toned(Tone::Faint, ceiling.unwrap_or_default()),
    ]
}

/// What takes the rate of a layer, unless the sentence said it, and the evidence.
fn why(out: &mut Document, rung: &RungView, loss: &Loss, is_said: bool) {
    let sure = doubt(loss.confidence, [" (likely)", " (a suspicion)"]);
    let summary = if is_said { String::new() } else { format!(": {}", loss.summary) };
    let text = format!("{}: {}{sure}{summary}", rung.id, word(loss.cause));
    out.lead((Tone::Warn, "LOSS   "), Tone::Normal, text);
    let evidence = loss.evidence.iter().map(|it| format!("{}: {} ({})", it.fact, it.value, it.source));
    out.verbose(|out| out.leads((Tone::Faint, "       · "), Tone::Faint, evidence));
}

fn numa(out: &mut impl Blocks, ladder: &LadderView) {
    let said = ladder.numa.iter().map(|run| {
        let place = match run.local {
            Some(true) => " (where the device is)",
            Some(false) => " (remote)",
            None => "",
        };
        format!("read from node {}{place}: {}", run.node, run.bytes_per_second)
    });
    out.says(2, Tone::Normal, said);
}

/// What the legs give alone.
fn legs(out: &mut Vec<Block>, legs: &[Leg]) {
    if legs.is_empty() {
        return;
    }
    out.gap();
    out.say(0, Tone::Strong, "Legs alone");
    let said = legs.iter().map(|leg| {
        let cores = match leg.cores {
            0 => String::new(),
            cores => format!(", {}", human::counted(cores, "core")),
        };
        let text = match (leg.bytes_per_second, &leg.reason) {
            (Some(rate), _) => format!("{rate}  ({})", leg.means),
            (None, Some(reason)) => format!("not measured: {reason}"),
            (None, None) => "not measured".to_owned(),
        };
        format!("{}{cores}: {text}", leg.name)
    });
    out.says(2, Tone::Normal, said);
}
