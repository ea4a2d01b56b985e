//! From rungs and verdict to the view model: joins, and decides nothing.

use super::{
    CpuView, FlowView, LadderReport, LadderView, LeftOut, LossView, RungCeiling, RungPair, RungRate,
    RungView, SCHEMA, ThreadView,
};
use crate::bench::WritesView;
use crate::view::{HopPair, finding_view, machine_view, tool};
use narrows_base::units::Nanos;
use narrows_load::preset::LoadSpec;
use narrows_machine::Machine;
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;
use narrows_verdict::Run;
use narrows_verdict::ladder::{BlockFlow, LadderVerdict, Leg, Loss, NodeRun, Rung, Step};

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
    pub writes: Option<WritesView>,
    /// What could not be measured, by hop, and why.
    pub left_out: Vec<(String, String)>,
    /// Why it is not complete, if it is not.
    pub reason: Option<String>,
}

/// The whole report.
pub fn report(machine: &Machine, about: About, ladders: Vec<LadderView>) -> LadderReport {
    let left_out = about.left_out.iter();
    LadderReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        machine: machine_view(machine),
        target: about.target.clone(),
        duration_ns: about.duration,
        legs: about.legs.to_vec(),
        ladders,
        writes: about.writes,
        left_out: left_out
            .map(|(hop, reason)| LeftOut { hop: hop.to_owned(), reason: reason.to_owned() })
            .collect(),
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
        findings: verdict.findings.iter().map(finding_view).collect(),
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
        why.push(format!("measured: {reason}"));
    }
    if step.below.is_none() {
        why.push("below_bytes_per_second: nothing was measured below it".to_owned());
    }
    if step.ceiling.is_none() {
        why.push("ceiling: no hop on the way has a known ceiling".to_owned());
    }
    let lost = step.below.zip(rung.rate()).map(|(below, rate)| below - rate);
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
        measured: run.map(|run| measured(run, step.trusted.unwrap_or(false))),
        below_bytes_per_second: step.below,
        lost: step.lost,
        lost_bytes_per_second: lost,
        loss: step.loss.as_ref().map(loss_view),
        ceiling: ceiling(rung, step),
        layers: step.flows.iter().map(flow_view).collect(),
        threads: run.map(threads).unwrap_or_default(),
        cpus: run.map(cpus).unwrap_or_default(),
        reason: (!why.is_empty()).then(|| why.join("; ")),
    }
}

fn measured(run: &Run, trusted: bool) -> RungPair {
    let measurement = &run.measurement;
    let generator = measurement.generator.clone();
    let rate = Some(RungRate {
        bytes_per_second: measurement.bytes_per_second,
        ci95: measurement.ci95,
        trusted,
        iops: measurement.iops,
        latency_ns: measurement.latency.clone(),
        access: measurement.access,
        generator,
        cut_short: measurement.cut_short.clone(),
    });
    match run.direction {
        Direction::Read => RungPair { read: rate, write: None },
        Direction::Write => RungPair { read: None, write: rate },
    }
}

fn loss_view(loss: &Loss) -> LossView {
    LossView {
        cause: loss.cause,
        hop: loss.hop.to_string(),
        summary: loss.summary.clone(),
        evidence: loss.evidence.clone(),
        confidence: loss.confidence,
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

fn flow_view(flow: &BlockFlow) -> FlowView {
    FlowView {
        block: flow.block.clone(),
        kind: flow.kind,
        bytes: flow.bytes,
        requests: flow.requests,
        request_bytes: flow.request_size,
        in_flight: flow.in_flight,
        in_flight_bytes: flow.bytes_in_flight,
        at_driver: flow.at_driver,
        busy: flow.busy,
        read_latency_ns: flow.latency,
    }
}

fn threads(run: &Run) -> Vec<ThreadView> {
    let threads = run.activity.threads.iter().take(THREADS);
    threads.map(|thread| ThreadView { name: thread.name.clone(), cores: thread.cores }).collect()
}

fn cpus(run: &Run) -> Vec<CpuView> {
    run.activity.cpus.iter().map(|(cpu, busy)| CpuView { cpu: *cpu, busy: *busy }).collect()
}
