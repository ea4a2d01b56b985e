//! From rungs and verdict to the view model: joins and cleans, and decides nothing.

use super::{
    CpuView, FlowView, LadderReport, LadderView, LeftOut, LossView, RungCeiling, RungPair, RungRate,
    RungView, SCHEMA, ThreadView,
};
use crate::bench::WritesView;
use crate::sanitize::inert;
use crate::view::{HopPair, finding_view, machine_view, tool};
use narrows_base::units::Nanos;
use narrows_load::preset::LoadSpec;
use narrows_machine::Machine;
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;
use narrows_verdict::ladder::{Flow, LadderVerdict, Leg, Loss, NodeRun, Rung, Step};
use narrows_verdict::{Evidence, Run};

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
        target: inert(&about.target),
        duration_ns: about.duration,
        legs: about.legs.iter().map(clean_leg).collect(),
        ladders,
        writes: about.writes,
        left_out: left_out.map(|(hop, reason)| LeftOut { hop: inert(hop), reason: inert(reason) }).collect(),
        complete: about.reason.is_none(),
        reason: about.reason.map(|reason| inert(&reason)),
    }
}

fn clean_leg(leg: &Leg) -> Leg {
    Leg {
        name: inert(&leg.name),
        means: inert(&leg.means),
        reason: leg.reason.as_deref().map(inert),
        ..leg.clone()
    }
}

/// The ladder of one load.
pub fn ladder(load: &LoadSpec, rungs: &[Rung], verdict: &LadderVerdict, numa: Vec<NodeRun>) -> LadderView {
    let nothing = Step::default();
    let steps = verdict.steps.iter().chain(std::iter::repeat(&nothing));
    let writes = load.changes();
    let why = "nothing was measured that shows it";
    LadderView {
        load: load.clone(),
        rungs: rungs.iter().zip(steps).map(|(rung, step)| rung_view(rung, rungs, step)).collect(),
        limiting_hop: pair(verdict.limiting.as_ref(), writes),
        cause: verdict.limiting.as_ref().map(|loss| loss.cause),
        next_hop: pair(verdict.next.as_ref(), writes),
        next_cause: verdict.next.as_ref().map(|loss| loss.cause),
        confidence: verdict.limiting.as_ref().map(|loss| loss.confidence),
        sentence: inert(&verdict.sentence),
        numa,
        findings: verdict.findings.iter().map(finding_view).collect(),
        reason: (verdict.limiting.is_none() || verdict.next.is_none()).then(|| why.to_owned()),
    }
}

fn pair(loss: Option<&Loss>, writes: bool) -> HopPair {
    let hop = loss.map(|loss| inert(loss.hop.as_str()));
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
        id: inert(&if rung.at_once { format!("at_once:{}", rung.hop) } else { rung.hop.to_string() }),
        hop: inert(rung.hop.as_str()),
        kind: hop.map_or(HopKind::Application, narrows_model::path::Hop::kind),
        name: inert(&if rung.at_once { format!("{count} at once, below {name}") } else { name }),
        at_once: rung.at_once,
        members: rung
            .members
            .iter()
            .filter_map(|index| rungs.get(*index))
            .map(|member| inert(member.hop.as_str()))
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
        reason: (!why.is_empty()).then(|| inert(&why.join("; "))),
    }
}

fn measured(run: &Run, trusted: bool) -> RungPair {
    let measurement = &run.measurement;
    let mut generator = measurement.generator.clone();
    generator.engine = generator.engine.map_texts(inert);
    let rate = Some(RungRate {
        bytes_per_second: measurement.bytes_per_second,
        ci95: measurement.ci95,
        trusted,
        iops: measurement.iops,
        latency_ns: measurement.latency.clone(),
        access: measurement.access,
        generator,
        cut_short: measurement.cut_short.as_deref().map(inert),
    });
    match run.direction {
        Direction::Read => RungPair { read: rate, write: None },
        Direction::Write => RungPair { read: None, write: rate },
    }
}

fn loss_view(loss: &Loss) -> LossView {
    let clean = |one: &Evidence| Evidence::new(inert(&one.fact), inert(&one.value), inert(&one.source));
    LossView {
        cause: loss.cause,
        hop: inert(loss.hop.as_str()),
        summary: inert(&loss.summary),
        evidence: loss.evidence.iter().map(clean).collect(),
        confidence: loss.confidence,
    }
}

fn ceiling(rung: &Rung, step: &Step) -> Option<RungCeiling> {
    let (index, rate) = step.ceiling?;
    let direction = rung.subject.runs.first().map_or(Direction::Read, |run| run.direction);
    let limit = rung.subject.ceilings.get(index)?.of(direction).limit()?;
    Some(RungCeiling {
        hop: inert(rung.subject.path.hops.get(index)?.id.as_str()),
        bytes_per_second: rate,
        basis: limit.basis,
        formula: inert(&limit.formula),
    })
}

fn flow_view(flow: &Flow) -> FlowView {
    FlowView {
        block: inert(&flow.block),
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
    threads.map(|thread| ThreadView { name: inert(&thread.name), cores: thread.cores }).collect()
}

fn cpus(run: &Run) -> Vec<CpuView> {
    run.activity.cpus.iter().map(|(cpu, busy)| CpuView { cpu: *cpu, busy: *busy }).collect()
}
