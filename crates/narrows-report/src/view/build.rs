//! From facts, paths, ceilings and verdict to the view model: joins and cleans, and decides nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    CeilingPair, CeilingView, CheckReport, ConditionView, HopPair, HopView, InputView, MachineView,
    MeasuredPair, MeasuredView, MemoryView, ObservedLoad, PathView, RunView, SCHEMA, Tool,
};
use narrows_base::fact::Fact;
use narrows_base::units::BytesPerSec;
use narrows_machine::Machine;
use narrows_machine::pci::PciAddress;
use narrows_model::ceiling::memory::{claim, crossings};
use narrows_model::ceiling::peer::{Both, of_peer};
use narrows_model::ceiling::{self, Ceiling, Direction, FactRef, medium};
use narrows_model::path::peer::{self, Meeting, Peer, Way};
use narrows_model::path::{Hop, HopId, HopKind, HopSpec, Path, Target};
use narrows_verdict::{Measured, PathVerdict, Run, Subject, Verdict};

/// The report on a machine: `subjects` and the paths of `verdict` stand in the same order.
pub fn build(machine: &Machine, subjects: &[Subject], verdict: &Verdict) -> CheckReport {
    let not_judged = PathVerdict::default();
    let paths = subjects.iter().zip(verdict.paths.iter().chain(std::iter::repeat(&not_judged)));
    CheckReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        machine: machine_view(machine),
        paths: paths.map(|(subject, verdict)| path_view(machine, subject, verdict)).collect(),
        findings: verdict.findings.clone(),
        results: Vec::new(),
        sweeps: Vec::new(),
    }
}

/// This program.
pub fn tool() -> Tool {
    Tool { name: "narrows".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Why fields are `null`: what is said of those that are.
pub fn why_null<'w>(fields: impl IntoIterator<Item = (bool, &'w str)>) -> Option<String> {
    let said: Vec<&str> = fields.into_iter().filter_map(|(is_null, why)| is_null.then_some(why)).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// What is told of a machine, and why what is not known of it is not.
pub fn machine_view(machine: &Machine) -> MachineView {
    let mut why: Vec<String> = Vec::new();
    let inputs = machine.captured.iter().flat_map(|captured| &captured.texts).map(|text| InputView {
        name: text.name.clone(),
        kinds: text.kinds.iter().map(|kind| (*kind).to_owned()).collect(),
    });
    MachineView {
        kernel: known("kernel", &machine.kernel, &mut why),
        system_vendor: known("system_vendor", &machine.dmi.system_vendor, &mut why),
        product: known("product", &machine.dmi.product, &mut why),
        board_vendor: known("board_vendor", &machine.dmi.board_vendor, &mut why),
        board: known("board", &machine.dmi.board, &mut why),
        bios_version: known("bios_version", &machine.dmi.bios_version, &mut why),
        cpu: known("cpu", &machine.cpus.model, &mut why),
        cores: known("cores", &machine.cpus.cores, &mut why),
        sockets: known("sockets", &machine.cpus.sockets, &mut why),
        numa_nodes: machine.cpus.nodes.len(),
        memory_bytes: known("memory_bytes", &machine.cpus.memory, &mut why),
        hypervisor: known("hypervisor", &machine.cpus.hypervisor, &mut why),
        adapters: machine.adapters.clone(),
        from: Vec::new(),
        inputs: inputs.collect(),
        reason: (!why.is_empty()).then(|| why.join("; ")),
    }
}

/// A fact; of one that is missing why it is.
fn known<T: Clone>(name: &str, fact: &Fact<T>, why: &mut Vec<String>) -> Option<T> {
    why.extend(fact.missing().map(|missing| format!("{name}: {missing}")));
    fact.get()
}

fn path_view(machine: &Machine, subject: &Subject, verdict: &PathVerdict) -> PathView {
    // The most that the application can move through each hop, by the hop's place in the path.
    let [read, write] = [Direction::Read, Direction::Write].map(|direction| {
        let rates = ceiling::rank(&subject.path, &subject.ceilings, direction).into_iter();
        rates.map(|one| (one.hop, one.rate)).collect::<BTreeMap<usize, BytesPerSec>>()
    });
    let hops = subject.path.hops.iter().zip(&subject.ceilings).enumerate().map(|(index, (hop, ceilings))| {
        let (least_read, least_written) = least(hop).unzip();
        let ceiling = CeilingPair {
            read: ceiling_view(&ceilings.read, read.get(&index).copied(), least_read),
            write: ceiling_view(&ceilings.write, write.get(&index).copied(), least_written),
        };
        hop_view(machine, hop, ceiling, verdict)
    });
    PathView {
        target: subject.path.target.clone(),
        hops: hops.collect(),
        limiting_hop: hop_pair(&verdict.limiting, &verdict.unknown, "no hop has a known ceiling"),
        next_hop: hop_pair(&verdict.next, &verdict.unknown, "no other hop has a known ceiling"),
        sentence: verdict.sentence.clone(),
        runs: subject.runs.iter().map(|run| run_view(run, subject, verdict)).collect(),
        counterfactuals: verdict.counterfactuals.clone(),
        peers: Vec::new(),
        memory: memory(machine, &subject.path),
    }
}

/// Main memory below a path; `None` for a path that does not reach it.
fn memory(machine: &Machine, path: &Path) -> Option<MemoryView> {
    path.of_kind(HopKind::Memory).next()?;
    let claim = claim(&machine.memory_modules);
    let missing = machine.memory_modules.missing();
    let why = || missing.unwrap_or_else(|| "the firmware lists no module".to_owned());
    let reason = claim.is_none().then(why);
    Some(MemoryView { claim, direct: crossings(path, false), buffered: crossings(path, true), reason })
}

/// The part of its ceiling that the slowest of a class of flash carry. A hard disk is shown with the upper end alone.
fn least(hop: &Hop) -> Option<(f64, f64)> {
    let HopSpec::Device(device) = &hop.spec else { return None };
    medium::least_share(device).filter(|_| !device.is_hard_disk)
}

fn hop_pair(
    named: &BTreeMap<Direction, HopId>,
    unknown: &BTreeMap<Direction, String>,
    default: &str,
) -> HopPair {
    let of = |direction| named.get(&direction).map(ToString::to_string);
    let why = |direction: Direction| {
        format!("{}: {}", direction.word(), unknown.get(&direction).map_or(default, String::as_str))
    };
    let (read, write) = (of(Direction::Read), of(Direction::Write));
    let [no_read, no_write] = [Direction::Read, Direction::Write].map(why);
    let reason = why_null([(read.is_none(), no_read.as_str()), (write.is_none(), &no_write)]);
    HopPair { read, write, reason }
}

fn hop_view(machine: &Machine, hop: &Hop, ceiling: CeilingPair, verdict: &PathVerdict) -> HopView {
    let measured = measured_pair(&hop.id, &ceiling, verdict);
    HopView {
        id: hop.id.to_string(),
        kind: hop.kind(),
        name: hop.name.clone(),
        depth: hop.depth,
        above: hop.above.as_ref().map(ToString::to_string),
        below: hop.below.iter().map(ToString::to_string).collect(),
        port: hop.link().and_then(|link| Some(link.port.as_ref()?.address.to_string())),
        traffic: hop.traffic,
        shared_with: hop.shared_with.clone(),
        ceiling,
        measured,
        observed: observed(machine, hop),
        reason: hop.above.is_none().then(|| "the path begins here".to_owned()),
    }
}

/// What `iostat` says of a hop that is a block device; of a request queue its device says it.
fn observed(machine: &Machine, hop: &Hop) -> Option<ObservedLoad> {
    if matches!(hop.spec, HopSpec::BlockQueue(_)) {
        return None;
    }
    let Fact::Known { value: load, source } = machine.loads.get(hop.block_name()?)? else { return None };
    Some(ObservedLoad { load: *load, source: source.as_str().to_owned() })
}

/// `least` is the part of it that the slowest of a class carry.
fn ceiling_view(ceiling: &Ceiling, path_rate: Option<BytesPerSec>, least: Option<f64>) -> CeilingView {
    let without = |transparent, reason: &str| {
        let reason = Some(reason.to_owned());
        CeilingView { transparent, reason, ..CeilingView::default() }
    };
    let limit = match ceiling {
        Ceiling::Known(limit) => limit,
        Ceiling::Unknown(reason) => return without(false, reason),
        Ceiling::Transparent(reason) => return without(true, reason),
    };
    let rate = finite(limit.rate);
    CeilingView {
        bytes_per_second: rate,
        least_bytes_per_second: rate.zip(least).map(|(rate, share)| rate * share),
        raw_bytes_per_second: rate.and(limit.raw).and_then(finite),
        path_bytes_per_second: rate.and(path_rate).and_then(finite),
        basis: Some(limit.basis),
        formula: Some(limit.formula.clone()),
        facts: limit.facts.clone(),
        transparent: false,
        reason: rate.is_none().then(|| "the law gave no finite rate".to_owned()),
    }
}

/// JSON has no infinity.
fn finite(rate: BytesPerSec) -> Option<BytesPerSec> {
    rate.get().is_finite().then_some(rate)
}

fn measured_pair(id: &HopId, ceiling: &CeilingPair, verdict: &PathVerdict) -> MeasuredPair {
    let of = |direction: Direction| {
        let Measured { rate, ci95, trusted, .. } = *verdict.measured.get(&(id.clone(), direction))?;
        let most = ceiling.of(direction).bytes_per_second.filter(|ceiling| ceiling.get() > 0.0);
        let utilisation = most.map(|most| rate.fraction_of(most));
        let reason = why_null([
            (ci95.is_none(), "ci95: the run was too short for a confidence interval"),
            (utilisation.is_none(), "utilisation: the ceiling is not known"),
        ]);
        Some(MeasuredView { bytes_per_second: rate, ci95, trusted, utilisation, reason })
    };
    let (read, write) = (of(Direction::Read), of(Direction::Write));
    let reason = match (&read, &write) {
        (None, None) => Some("not measured"),
        (None, Some(_)) => Some("read: not measured"),
        (Some(_), None) => Some("write: not measured"),
        (Some(_), Some(_)) => None,
    };
    MeasuredPair { read, write, reason: reason.map(str::to_owned) }
}

/// The application's own measurement decides whether a run is trusted: what it moved is what the run is about.
fn run_view(run: &Run, subject: &Subject, verdict: &PathVerdict) -> RunView {
    let application = subject.path.hops.first();
    let measured = application.and_then(|hop| verdict.measured.get(&(hop.id.clone(), run.direction)));
    let trusted = measured.map(|measured| measured.trusted);
    let reason = trusted.is_none().then(|| "this run was not judged".to_owned());
    let condition = ConditionView::of(&subject.path, &run.activity);
    let (direction, measurement) = (run.direction, run.measurement.clone());
    RunView { direction, measurement, trusted, condition, reason }
}

/// A device, and what can be brought from it to a GPU and back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeerView {
    /// The GPU, by its PCI address.
    pub gpu: String,
    /// The device, as a person would name it.
    pub device: String,
    /// The PCI function that its data comes from.
    pub function: String,
    /// Where both meet on the way to the processor.
    pub meets: Meeting,
    /// How data may go from one to the other.
    pub way: Way,
    /// Why.
    pub because: String,
    /// The most that goes directly; absent where it does not, or is not known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<Both>,
    /// The most that goes through main memory, which each byte crosses twice; what memory carries is not counted.
    pub through_memory: Both,
    /// From what that follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<FactRef>,
}

/// The devices of a path and a GPU: those of the path with `to`, or all of the machine where the path leads to a GPU.
pub fn peers(machine: &Machine, path: &Path, to: Option<PciAddress>) -> Vec<PeerView> {
    let own = match &path.asked {
        Target::Pci(address) => machine.pci.get(address).filter(|device| peer::is_gpu(machine, device)),
        _ => None,
    };
    let found = match (to, own) {
        (Some(gpu), _) => peer::of_path(machine, gpu, path),
        (None, Some(gpu)) => peer::all_of(machine, gpu.address),
        (None, None) => Vec::new(),
    };
    let view = |(peer, target): &(Peer, Target)| {
        let carries = of_peer(machine, peer, target)?;
        let evidence = peer.evidence.iter();
        Some(PeerView {
            gpu: peer.gpu.to_string(),
            device: carries.target,
            function: peer.other.to_string(),
            meets: peer.meets.clone(),
            way: peer.way,
            because: peer.because(),
            direct: carries.direct,
            through_memory: carries.through_memory,
            evidence: evidence.map(|(fact, value, source)| FactRef::new(fact, value, source)).collect(),
        })
    };
    found.iter().filter_map(view).collect()
}
