//! The view model of `narrows ladder`: exactly what `--json` prints, and all that the text is made of.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`.

mod text;

pub use text::{document, render};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::view::{HopPair, MachineView, Tool, machine_view, tool};
use narrows_base::units::{BytesPerSec, Nanos};
use narrows_load::measurement::Measurement;
use narrows_load::preset::LoadSpec;
use narrows_machine::Machine;
use narrows_machine::activity::ThreadActivity;
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::HopKind;
use narrows_session::writes::Account;
use narrows_verdict::ladder::{Cause, LadderVerdict, Leg, Loss, NodeRun, Rung, Step};
use narrows_verdict::{Confidence, Finding, Severity};

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
    /// The hop.
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

/// What a report is about, beside its ladders.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The target as it was typed.
    pub target: String,
    /// The measured time of each rung.
    pub duration: Nanos,
    /// The legs.
    pub legs: Vec<Leg>,
    /// What was written; `None` where nothing may be.
    pub writes: Option<Account>,
    /// What could not be measured, by hop, and why.
    pub left_out: Vec<(String, String)>,
    /// Why it is not complete, if it is not.
    pub reason: Option<String>,
}

/// The whole report.
pub fn report(machine: &Machine, about: About, ladders: Vec<LadderView>) -> LadderReport {
    let left_out = about.left_out.into_iter();
    LadderReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        machine: machine_view(machine),
        target: about.target,
        duration_ns: about.duration,
        legs: about.legs,
        ladders,
        writes: about.writes,
        left_out: left_out.map(|(hop, reason)| LeftOut { hop, reason }).collect(),
        complete: about.reason.is_none(),
        reason: about.reason,
    }
}

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
    let run = rung.subject.runs.first();
    let mut why = Vec::new();
    if let Some(reason) = &rung.unmeasured {
        why.push(format!("measurement: {reason}"));
    }
    if step.below.is_none() {
        why.push("below_bytes_per_second: nothing was measured below it".to_owned());
    }
    if step.ceiling.is_none() {
        why.push("ceiling: no hop on the way has a known ceiling".to_owned());
    }
    RungView {
        id: if rung.at_once { format!("at_once:{}", rung.hop) } else { rung.hop.to_string() },
        hop: rung.hop.to_string(),
        kind: hop.map_or(HopKind::Application, narrows_model::path::Hop::kind),
        name: if rung.at_once { format!("{count} at once, below {name}") } else { name },
        at_once: rung.at_once,
        members: rung
            .members
            .iter()
            .filter_map(|index| rungs.get(*index))
            .map(|member| member.hop.to_string())
            .collect(),
        measurement: run.map(|run| run.measurement.clone()),
        step: step.clone(),
        ceiling: ceiling(rung, step),
        threads: run
            .map(|run| run.activity.threads.iter().take(THREADS).cloned().collect())
            .unwrap_or_default(),
        cpus: run.map(|run| run.activity.cpus.clone()).unwrap_or_default(),
        reason: (!why.is_empty()).then(|| why.join("; ")),
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
