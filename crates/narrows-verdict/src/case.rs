//! One path in one direction with the run that speaks for it, and the questions that deciders and rules ask of both.

use std::collections::BTreeMap;

use narrows_base::measurement::{Access, Measurement, Pattern};
use narrows_base::units::BytesPerSec;
use narrows_machine::Machine;
use narrows_machine::activity::DiskActivity;
use narrows_model::ceiling::{Ceiling, Direction, pcie};
use narrows_model::path::{CryptHop, DeviceHop, Hop, HopId, HopKind, HopSpec, Path};

use crate::attribution::Cause;
use crate::rules::Judged;
use crate::{Measured, Run, Subject};

/// A rate this far above a ceiling is above physics: link ceilings calibrate to within 3 % of real drives.
const LAW_ERROR: f64 = 1.05;

/// One path in one direction.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) machine: &'a Machine,
    /// The path with its ceilings.
    pub(super) subject: &'a Subject,
    pub(super) direction: Direction,
    /// The run that speaks for the path's rate, if any was made in this direction.
    pub(super) run: Option<&'a Run>,
}

impl<'a> Case<'a> {
    /// The case of one direction of a subject.
    ///
    /// A sequential run speaks for the rate of a path; random ones tell of latency. Of several the fastest speaks.
    pub(super) fn new(machine: &'a Machine, subject: &'a Subject, direction: Direction) -> Self {
        let run = subject.runs.iter().filter(|run| run.direction == direction).max_by(|a, b| {
            let rank = |run: &Run| run.measurement.workload.pattern == Pattern::Sequential;
            let rate = |run: &Run| run.measurement.bytes_per_second.get();
            rank(a).cmp(&rank(b)).then(rate(a).total_cmp(&rate(b)))
        });
        Self { machine, subject, direction, run }
    }

    /// The same path and direction with another run.
    pub(super) const fn with_run(self, run: &'a Run) -> Self {
        Self { run: Some(run), ..self }
    }

    pub(super) const fn path(&self) -> &'a Path {
        &self.subject.path
    }

    /// The hops with their places.
    pub(super) fn hops(&self) -> impl Iterator<Item = (usize, &'a Hop)> + use<'a> {
        self.subject.path.hops.iter().enumerate()
    }

    /// The hops of one kind with their places.
    pub(super) fn of_kind(&self, kind: HopKind) -> impl Iterator<Item = (usize, &'a Hop)> + use<'a> {
        self.hops().filter(move |(_, hop)| hop.kind() == kind)
    }

    /// Bytes that cross the hop for one byte of the application, in this direction.
    pub(super) fn traffic(&self, hop: &Hop) -> f64 {
        self.direction.pick(hop.traffic.read, hop.traffic.write)
    }

    /// The ceiling of the hop at this place.
    pub(super) fn ceiling(&self, index: usize) -> Option<&'a Ceiling> {
        self.subject.ceilings.get(index).map(|ceilings| ceilings.of(self.direction))
    }

    /// What the hop at this place allows the application: its ceiling divided by its traffic.
    pub(super) fn path_rate(&self, index: usize) -> Option<BytesPerSec> {
        let traffic = self.traffic(self.subject.path.hops.get(index)?);
        let rate = self.ceiling(index)?.rate()?;
        (traffic > 0.0).then(|| rate / traffic)
    }

    /// What no rate through the hop at this place can exceed: the path rate with the error of its law or, for a link
    /// whose payload size was only assumed, the rate before packets.
    pub(super) fn bound(&self, index: usize) -> Option<BytesPerSec> {
        let hop = self.subject.path.hops.get(index)?;
        let raw = match hop.link() {
            Some(link) if pcie::payload_is_assumed(link) => self.ceiling(index)?.limit()?.raw,
            _ => None,
        };
        let allowed = self.path_rate(index)? * LAW_ERROR;
        Some(raw.map_or(allowed, |raw| (raw / self.traffic(hop)).max(allowed)))
    }

    /// What the run achieved.
    pub(super) fn measurement(&self) -> Option<&'a Measurement> {
        self.run.map(|run| &run.measurement)
    }

    /// What this block device did during the run.
    pub(super) fn disk(&self, block: &str) -> Option<&'a DiskActivity> {
        self.run.and_then(|run| run.activity.disks.get(block))
    }

    /// What this hop's block device did during the run.
    pub(super) fn hop_disk(&self, hop: &Hop) -> Option<&'a DiskActivity> {
        hop.block_name().and_then(|block| self.disk(block))
    }

    /// The bytes that a disk moved in this direction.
    pub(super) fn moved(&self, disk: &DiskActivity) -> f64 {
        self.direction.pick(disk.read_bytes, disk.written_bytes).as_f64()
    }

    /// The media at the ends of the path: device hops that no other device hop lies below. A loop device is not one
    /// when the path goes on to the disk that holds its file.
    pub(super) fn leaves(&self) -> Vec<(usize, &'a Hop, &'a DeviceHop)> {
        let devices: Vec<_> =
            self.hops().filter_map(|(index, hop)| Some((index, hop, hop.device()?))).collect();
        let covered =
            |hop: &Hop| devices.iter().any(|(_, other, _)| other.id != hop.id && self.is_above(hop, other));
        devices.iter().filter(|(_, hop, _)| !covered(hop)).copied().collect()
    }

    /// Whether `upper` lies between `lower` and the application. A path that runs in a circle ends.
    pub(super) fn is_above(&self, upper: &Hop, lower: &Hop) -> bool {
        let mut at = lower.above.as_ref();
        for _ in 0..self.subject.path.hops.len() {
            match at {
                Some(id) if *id == upper.id => return true,
                Some(id) => at = self.subject.path.hop(id).and_then(|hop| hop.above.as_ref()),
                None => return false,
            }
        }
        false
    }

    /// The bytes that the generator kept in flight: depth times block size. Buffered and synchronous I/O keep one.
    pub(super) fn asked_outstanding(&self) -> Option<f64> {
        let measurement = self.measurement()?;
        let single = measurement.access == Access::Buffered
            || measurement.generator.engine.is_synchronous()
            || measurement.workload.queue_depth == 0;
        let depth = if single { 1.0 } else { f64::from(measurement.workload.queue_depth) };
        let asked = depth * measurement.workload.block_size.as_f64();
        (asked > 0.0).then_some(asked)
    }

    /// The part of the asked bytes that waited at the media, 0 to 1; `None` when no counter tells.
    ///
    /// By Little's law the requests of a closed loop pile up in front of the hop that limits them. Kernel layers split
    /// and merge requests, so the comparison is in bytes.
    pub(super) fn waiting_at_media(&self) -> Option<f64> {
        let asked = self.asked_outstanding()?;
        let disks: Vec<_> = self.leaves().iter().filter_map(|(_, hop, _)| self.hop_disk(hop)).collect();
        (!disks.is_empty()).then(|| disks.iter().map(|disk| outstanding(disk)).sum::<f64>() / asked)
    }

    /// The part of the asked bytes that waited anywhere in the block layer, 0 to 1: what the outermost block device
    /// that keeps counters held. The rest was with the generator or the file system.
    pub(super) fn waiting_in_block_layer(&self) -> Option<f64> {
        let asked = self.asked_outstanding()?;
        let outermost = self.outermost_disk()?;
        Some((outstanding(outermost) / asked).max(self.waiting_at_media().unwrap_or(0.0)))
    }

    /// What the outermost block device of the path did during the run.
    pub(super) fn outermost_disk(&self) -> Option<&'a DiskActivity> {
        self.hops().find_map(|(_, hop)| self.hop_disk(hop))
    }

    /// Whether at least half of the requests waited at the media. Nothing above the media can then be the bottleneck,
    /// for it handed on what it got.
    pub(super) fn media_are_saturated(&self) -> bool {
        self.waiting_at_media().is_some_and(|part| part >= 0.5)
    }

    /// The interface of the path, and what it moved in this direction during the run.
    pub(super) fn interface_rate(&self) -> Option<(&'a str, BytesPerSec)> {
        let activity = &self.run?.activity;
        self.hops().find_map(|(_, hop)| {
            let HopSpec::Network(network) = &hop.spec else { return None };
            let moved = activity.nics.get(&network.interface)?;
            Some((network.interface.as_str(), self.direction.pick(moved.received, moved.sent)))
        })
    }

    /// Cores that kernel threads with such a name used: all together, and the busiest one.
    pub(super) fn kernel_threads(&self, named: impl Fn(&str) -> bool) -> (f64, f64) {
        let threads = self.run.map_or(&[][..], |run| &run.activity.threads).iter();
        let named = threads.filter(|thread| thread.is_kernel && named(&thread.name));
        named.fold((0.0, 0.0_f64), |(sum, most), thread| (sum + thread.cores, most.max(thread.cores)))
    }

    /// The rate of the cipher on one core in this direction, where the kernel itself was asked.
    pub(super) fn cipher_on_one_core(&self, crypt: &CryptHop) -> Option<BytesPerSec> {
        let cipher = crypt.cipher.value()?;
        Some(self.direction.pick(cipher.decrypt, cipher.encrypt))
    }
}

/// The mean number of bytes in flight on a disk.
fn outstanding(disk: &DiskActivity) -> f64 {
    let requests = disk.reads.saturating_add(disk.writes);
    if requests == 0 {
        return 0.0;
    }
    disk.in_flight * (disk.read_bytes + disk.written_bytes).as_f64() / requests as f64
}

/// Counters and traffic that differ by less than this are the same number: the two are observed over slightly
/// different times.
const SAME: f64 = 0.1;

/// What a run says of each hop.
///
/// A hop's rate is the application's rate times the hop's traffic. Where the device counters say otherwise (a linear
/// volume whose bytes all came from one disk, a cache that answered, a resync beside the run) they are believed.
///
/// The rate across every hop that bytes crossed.
pub(super) fn measured_hops(judged: &Judged<'_>) -> BTreeMap<(HopId, Direction), Measured> {
    let mut measured = BTreeMap::new();
    for direction in [Direction::Read, Direction::Write] {
        let case = judged.case(direction);
        let Some(measurement) = case.measurement() else { continue };
        let trusted = is_trusted(judged, direction);
        for (_, hop) in case.hops() {
            let factor = factor(&case, hop);
            if factor > 0.0 {
                let of_hop = Measured {
                    rate: measurement.bytes_per_second * factor,
                    ci95: measurement.ci95.map(|[low, high]| [low * factor, high * factor]),
                    trusted,
                };
                measured.insert((hop.id.clone(), direction), of_hop);
            }
        }
    }
    measured
}

/// Whether the rate is the path's own.
pub(super) fn is_trusted(judged: &Judged<'_>, direction: Direction) -> bool {
    let clean = judged.audits.get(&direction).is_some_and(super::trust::Audit::is_clean);
    let own = judged.limit(direction).is_some_and(|limit| limit.cause == Cause::Generator);
    clean && !own
}

/// What crossed the hop, as a part of what its traffic says: zero behind a cache whose other side had all the bytes.
pub(super) fn carried(case: &Case<'_>, hop: &Hop) -> f64 {
    let expected = case.traffic(hop);
    if expected > 0.0 { factor(case, hop) / expected } else { 0.0 }
}

/// Bytes across the hop for each byte that the application moved.
fn factor(case: &Case<'_>, hop: &Hop) -> f64 {
    let expected = case.traffic(hop);
    let Some(counted) = counted(case, hop) else { return expected };
    let differs = (counted - expected).abs() > SAME * expected.max(counted);
    if differs { counted } else { expected }
}

/// The same from counters: those of the hop's own block device, or of the nearest one towards the application whose
/// bytes are all that cross the hop (a hop that several members share carries more than any of them).
fn counted(case: &Case<'_>, hop: &Hop) -> Option<f64> {
    // What had moved before the counters were first read is in none of them.
    let missed = case.run.map_or(0.0, |run| run.activity.missed.as_f64());
    let asked = case.measurement()?.bytes.as_f64() - missed;
    let mut at = hop;
    for _ in 0..case.path().hops.len() {
        if case.traffic(at) != case.traffic(hop) {
            return None;
        }
        if let Some(disk) = case.hop_disk(at) {
            return (asked > 0.0).then(|| case.moved(disk) / asked);
        }
        at = case.path().hop(at.above.as_ref()?)?;
    }
    None
}
