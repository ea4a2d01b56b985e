//! How long one I/O takes that is alone: the sum of what its stages take.

use std::collections::BTreeMap;

use super::hops::{Loaded, Run};
use super::law::{self, Law};
use crate::ceiling::{Basis, Direction, crypt, medium, queueing, raid};
use crate::path::file::{Device, DeviceKind, Engine, Host, PartKind, Pattern, Workload};
use crate::path::{HopId, HopKind, HopSpec, RaidLevel};
use narrows_base::catalog::{self, MediumClass, catalog};
use narrows_base::units::{Bytes, Iops, Nanos};

/// One stage: whose it is, and its seconds for a read and a write.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) hop: HopId,
    pub(super) name: String,
    pub(super) law: Law,
    pub(super) read: f64,
    pub(super) write: f64,
}

impl Stage {
    fn at(loaded: &Loaded<'_>, law: Law, read: f64, write: f64) -> Self {
        Self { hop: loaded.hop.id.clone(), name: loaded.hop.name.clone(), law, read, write }
    }

    /// The mean of a mix.
    pub(super) fn seconds(&self, read_share: f64) -> f64 {
        // A direction that the mix has none of may take forever.
        let part = |share: f64, seconds: f64| if share > 0.0 { share * seconds } else { 0.0 };
        part(read_share, self.read) + part(1.0 - read_share, self.write)
    }
}

/// The stages of one I/O over these hops, which are those of the run, some of them raised.
pub(super) fn stages(run: &Run<'_>, hops: &[Loaded<'_>]) -> Vec<Stage> {
    let mut stages = media(run, hops);
    for loaded in hops {
        match loaded.hop.kind() {
            HopKind::Crypt => stages.extend(encryption(loaded, run.workload, run.is_memory())),
            HopKind::Network | HopKind::Remote | HopKind::LogicalVolume | HopKind::Controller => {
                stages.extend(protocol(loaded, run.workload));
            }
            HopKind::Switch => stages.extend(switch(loaded)),
            _ => {}
        }
    }
    stages.extend(flush(run));
    stages.extend(call(run));
    stages
}

/// The flush after a write, of a drive that has nothing to wait for then; what other drives take has no law.
fn flush(run: &Run<'_>) -> Option<Stage> {
    if run.workload.flush != Some(true) {
        return None;
    }
    let drive = run.hops.iter().find(|it| it.device().is_some_and(keeps_writes))?;
    let name = format!("the flush of {}", drive.hop.name);
    Some(Stage { name, ..Stage::at(drive, Law::FlashFlush, 0.0, medium::EMPTY_FLUSH.as_secs_f64()) })
}

/// The media, and the transfer over the hardware between them and memory: means over the drives that a block may be on.
fn media(run: &Run<'_>, hops: &[Loaded<'_>]) -> Vec<Stage> {
    let workload = run.workload;
    let drives: Vec<&Loaded<'_>> = hops.iter().filter(|it| it.hop.kind() == HopKind::Device).collect();
    let Some(first) = drives.first() else { return Vec::new() };
    let wires = Wires::of(hops);
    let known: BTreeMap<&HopId, &Loaded<'_>> = hops.iter().map(|it| (&it.hop.id, it)).collect();
    let (mut wait, mut moving, mut reads, mut writes) = ([0.0; 2], [0.0; 2], 0.0, 0.0);
    for drive in &drives {
        let Some(device) = drive.device() else { continue };
        let access = medium_access(device, workload.pattern, workload.block_size, workload.depth);
        let transfer =
            |direction: Direction| workload.block_size.as_f64() * wires.slowest(drive, direction).1;
        let copies = copies_above(&known, drive);
        let old = if drive.read_to_write > 0.0 { access.read_time.as_secs_f64() } else { 0.0 };
        let settled = raid::slowest_of(access.write_time, copies).as_secs_f64();
        // What a file system's cache answers waits for no drive.
        wait[0] += drive.asked * drive.missed * access.read_time.as_secs_f64();
        wait[1] += drive.write * (old + settled);
        moving[0] += drive.asked * drive.missed * drive.grown * transfer(Direction::Read);
        moving[1] += drive.write * transfer(Direction::Write);
        reads += drive.asked;
        writes += drive.write;
    }
    let mean = |sum: f64, weight: f64| if weight > 0.0 { sum / weight } else { 0.0 };
    let stage = |hop: &Loaded<'_>, name: String, moves: bool, [read, write]: [f64; 2]| {
        let law = law::time_law(hop, &run.situation, moves);
        Stage { name, ..Stage::at(hop, law, mean(read, reads), mean(write, writes)) }
    };
    let name = if drives.len() == 1 { first.hop.name.clone() } else { format!("{} drives", drives.len()) };
    let direction = if workload.read_share >= 0.5 { Direction::Read } else { Direction::Write };
    let wire = wires.slowest(first, direction).0.unwrap_or(*first);
    let over = format!("the transfer over {}", wire.hop.name);
    vec![stage(first, name, false, wait), stage(wire, over, true, moving)]
}

/// The hardware hops of a path, those of each drive apart.
struct Wires<'h> {
    hops: &'h [Loaded<'h>],
    /// The places of the hops that one drive alone crosses, or a few.
    own: BTreeMap<&'h HopId, Vec<usize>>,
    /// The slowest of those that are on the way of all, for reads and for writes: its place and seconds for each byte.
    shared: [Option<(usize, f64)>; 2],
}

impl<'h> Wires<'h> {
    fn of(hops: &'h [Loaded<'h>]) -> Self {
        let mut wires = Self { hops, own: BTreeMap::new(), shared: [None; 2] };
        for (place, hop) in hops.iter().enumerate().filter(|(_, hop)| hop.is_hardware()) {
            for drive in &hop.of {
                wires.own.entry(drive).or_default().push(place);
            }
            if hop.of.is_empty() {
                for (direction, shared) in
                    [Direction::Read, Direction::Write].into_iter().zip(&mut wires.shared)
                {
                    let found = seconds(hop, direction, 1.0).map(|seconds| (place, seconds));
                    *shared = [*shared, found].into_iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1));
                }
            }
        }
        wires
    }

    /// The slowest hop between a drive and memory, and its seconds for each byte of a block; a part of the block is on each of
    /// the members that it touches, and all of it on what they share.
    fn slowest(&self, drive: &Loaded<'_>, direction: Direction) -> (Option<&'h Loaded<'h>>, f64) {
        let own = self.own.get(&drive.hop.id).into_iter().flatten();
        let own =
            own.filter_map(|&place| Some((place, seconds(self.hops.get(place)?, direction, drive.touched)?)));
        let [read, write] = self.shared;
        let all = own.chain(direction.pick(read, write));
        // Of equals the last in the list.
        let slowest = all.max_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        slowest.map_or((None, 0.0), |(place, seconds)| (self.hops.get(place), seconds))
    }
}

/// The seconds that a hop needs for each byte of a block of which it carries one part in so many; `None` of an unknown rate.
fn seconds(hop: &Loaded<'_>, direction: Direction, at_once: f64) -> Option<f64> {
    let (with, against) = direction.pick((hop.read, hop.against.read), (hop.write, hop.against.write));
    // What a server sends crosses its card the other way.
    let crossed = if against > with { direction.turned() } else { direction };
    let rate = hop.ceilings.of(crossed).rate()?.get();
    Some(if rate > 0.0 { 1.0 / (rate * at_once) } else { f64::MAX })
}

/// Copies of a byte that a write waits for, by the arrays above a drive.
fn copies_above(hops: &BTreeMap<&HopId, &Loaded<'_>>, drive: &Loaded<'_>) -> u32 {
    let mut copies = 1;
    let mut next = drive.hop.above.clone();
    for _ in 0..hops.len() {
        let Some(above) = next.and_then(|id| hops.get(&id)) else { break };
        if let HopSpec::Raid(raid) = &above.hop.spec {
            copies = match raid.level {
                Some(RaidLevel::Raid1) => u32::try_from(raid.members.len()).unwrap_or(1),
                Some(RaidLevel::Raid10) => 2,
                _ => copies,
            };
        }
        next = above.hop.above.clone();
    }
    copies
}

fn encryption(loaded: &Loaded<'_>, workload: &Workload, memory: bool) -> Option<Stage> {
    let PartKind::Crypt(given) = loaded.part_kind()? else { return None };
    // The rates of one submitter are what one I/O gets of the mapping, without the share that many lose.
    let HopSpec::Crypt(hop) = &loaded.hop.spec else { return None };
    // Workers of a mapping over memory never get to sleep.
    let queues = match (given.workqueues, memory || workload.in_flight() > 1.0) {
        (false, _) => crypt::CryptQueues::Inline,
        (true, true) => crypt::CryptQueues::Awake,
        (true, false) => crypt::CryptQueues::Asleep,
    };
    let seconds = |direction: Direction| {
        let of_cipher = hop.cipher.value().map(|cipher| direction.pick(cipher.decrypt, cipher.encrypt));
        let rate = of_cipher.or(loaded.ceilings.of(direction).rate());
        rate.map_or(0.0, |rate| {
            crypt::added_time(workload.block_size, rate, given.sector(), queues).as_secs_f64()
        })
    };
    Some(Stage::at(loaded, Law::CryptTime, seconds(Direction::Read), seconds(Direction::Write)))
}

/// What mappings without queues take of the core that starts each I/O. What is written is encrypted there; what is read is
/// decrypted by the core that its interrupt comes to, and those are as many as there are reads under way and cores: 7.1 GB/s were
/// read where one core decrypts 1.3 (long-cat.net 2024/05/09).
pub(super) fn inline_ciphers(run: &Run<'_>) -> Nanos {
    let workload = run.workload;
    let is_inline = |loaded: &&Loaded<'_>| {
        loaded.hop.kind() == HopKind::Crypt
            && matches!(loaded.part_kind(), Some(PartKind::Crypt(crypt)) if !crypt.workqueues)
    };
    let stages = run.hops.iter().filter(is_inline);
    let there = run.host().and_then(|host| host.cores).unwrap_or(1);
    let at_work = workload.in_flight().clamp(1.0, f64::from(there.max(1)));
    let mapping = crypt::MAPPING.as_secs_f64();
    let seconds: f64 = stages
        .filter_map(|loaded| encryption(loaded, workload, false))
        .map(|stage| Stage { read: mapping + (stage.read - mapping).max(0.0) / at_work, ..stage })
        .map(|stage| stage.seconds(workload.read_share))
        .sum();
    Nanos::new((seconds * 1e9).round() as u64)
}

fn protocol(loaded: &Loaded<'_>, workload: &Workload) -> Option<Stage> {
    let latency = match loaded.part_kind()? {
        PartKind::Network(it) => it.latency,
        PartKind::Remote(it) => it.latency,
        PartKind::Cluster(it) => it.latency,
        PartKind::Vm(it) => it.latency,
        _ => return None,
    };
    let fixed = latency.unwrap_or_default().as_secs_f64();
    // Only a part of the blocks crosses the network of a cluster.
    let is_shared = matches!(&loaded.hop.spec, HopSpec::Network(it) if it.both_ways);
    let moving = |direction: Direction, crossing: f64| {
        let rate = loaded.ceilings.of(direction).rate();
        let rate = rate.filter(|rate| rate.get() > 0.0 && loaded.hop.kind() == HopKind::Network);
        let share = if is_shared { crossing.min(1.0) } else { 1.0 };
        rate.map_or(0.0, |rate| workload.block_size.as_f64() / rate.get() * share)
    };
    let read = fixed + moving(Direction::Read, loaded.read + loaded.against.read);
    let write = fixed + moving(Direction::Write, loaded.write + loaded.against.write);
    let stage = Stage::at(loaded, Law::NetworkTime, read, write);
    (stage.read > 0.0 || stage.write > 0.0).then_some(stage)
}

fn switch(loaded: &Loaded<'_>) -> Option<Stage> {
    let PartKind::Switch(switch) = loaded.part_kind()? else { return None };
    // A request goes there and its data comes back.
    let both_ways = switch.latency?.as_secs_f64() * 2.0;
    Some(Stage::at(loaded, Law::SwitchTime, both_ways, both_ways))
}

/// What starting and completing an I/O takes of a core beyond what it takes of the usual one: the latency of a medium was
/// measured with the call, and the time of a RAM disk is the call.
fn call(run: &Run<'_>) -> Option<Stage> {
    let first = run.hops.first().filter(|_| !run.is_memory())?;
    let beyond = cost(run).get().saturating_sub(usual_cost(run.workload.engine).get());
    let seconds = Nanos::new(beyond).as_secs_f64();
    Some(Stage { name: "the call".to_owned(), ..Stage::at(first, Law::Core, seconds, seconds) })
}

/// What one I/O costs a core.
pub(super) fn cost(run: &Run<'_>) -> Nanos {
    let host = run.host();
    if let Some(iops) = host.and_then(|host| host.core_iops).filter(|iops: &Iops| iops.get() > 0.0) {
        return Nanos::new((1e9 / iops.get()) as u64);
    }
    let usual = usual_cost(run.workload.engine);
    host.and_then(Host::core).map_or(usual, |core| queueing::on_core(usual, core.speed))
}

/// What one I/O costs the core that the figures are of.
const fn usual_cost(engine: Engine) -> Nanos {
    match engine {
        Engine::Uring => queueing::URING,
        Engine::Polled => queueing::POLLED,
        Engine::Libaio | Engine::Sync | Engine::Buffered | Engine::Hdparm => queueing::LIBAIO,
    }
}

/// What a drive needs for I/Os of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Access {
    /// From a read to its answer, without the transfer.
    read_time: Nanos,
    /// The same of a write.
    write_time: Nanos,
    /// How many it completes with all queues full.
    pub(super) operations: Operations,
}

/// I/Os that a hop completes in a second; `None` where bytes alone limit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Operations {
    pub(super) read: Option<Iops>,
    pub(super) write: Option<Iops>,
    pub(super) basis: Basis,
    pub(super) source: String,
}

/// The class of a drive: as given, that of its model, or the usual one of its kind.
fn class_of(device: &Device) -> Option<&'static MediumClass> {
    let by_model = || {
        let medium = catalog::medium(device.model.as_deref()?)?;
        medium.class.as_deref()
    };
    let usual = match device.kind {
        DeviceKind::Nvme => "consumer-tlc",
        DeviceKind::Sata | DeviceKind::Usb => "sata-ssd",
        DeviceKind::Sas => "sas-ssd",
        DeviceKind::Hdd => "hdd",
        DeviceKind::Ramdisk => "ramdisk",
    };
    let wanted = device.class.as_deref().or_else(by_model).unwrap_or(usual);
    catalog().medium_class(wanted).or_else(|| catalog().medium_class("consumer-tlc"))
}

/// How sharp the knee of a solid-state drive is, by its class.
pub(super) fn sharpness(device: &Device) -> f64 {
    let is_of_servers = class_of(device).is_some_and(|class| class.name.starts_with("enterprise"));
    if is_of_servers { queueing::SERVER_KNEE } else { queueing::FLASH_KNEE }
}

/// Whether what is written to a drive is safe when it answers, by its class.
pub(super) fn keeps_writes(device: &Device) -> bool {
    !matches!(device.kind, DeviceKind::Hdd | DeviceKind::Ramdisk)
        && class_of(device).is_some_and(|class| class.power_loss_protection)
}

/// The time that the head of a disk needs between consecutive blocks.
const NEXT_BLOCK: Nanos = Nanos::new(100_000);

/// What a drive needs for I/Os of `size` in this order, `depth` of them under way.
pub(super) fn medium_access(device: &Device, pattern: Pattern, size: Bytes, depth: u32) -> Access {
    match device.kind {
        DeviceKind::Hdd => disk(device, pattern, depth),
        DeviceKind::Ramdisk => {
            let (time, source) = (queueing::memory_io(size), "a call and a copy".to_owned());
            let (read, write) = (device.read_iops, device.write_iops);
            let operations = Operations { read, write, basis: Basis::Formula, source };
            Access { read_time: time, write_time: time, operations }
        }
        _ => flash(device, pattern),
    }
}

fn disk(device: &Device, pattern: Pattern, depth: u32) -> Access {
    let random = medium::disk_access(medium::SEEK, 7200);
    let (time, iops) = match pattern {
        Pattern::Sequential => (NEXT_BLOCK, None),
        Pattern::Random => (random, Some(medium::disk_iops(random, depth))),
    };
    let given = |given: Option<Iops>| given.filter(|_| pattern == Pattern::Random).or(iops);
    Access {
        read_time: device.read_latency.unwrap_or(time),
        write_time: device.write_latency.unwrap_or(time),
        operations: Operations {
            read: given(device.read_iops),
            write: given(device.write_iops),
            basis: Basis::Formula,
            source: "8.2 ms seek and half a turn at 7200 a minute".to_owned(),
        },
    }
}

fn flash(device: &Device, pattern: Pattern) -> Access {
    let class = class_of(device);
    let read = device.read_latency.or_else(|| class.map(MediumClass::read_latency)).unwrap_or_default();
    let write = device.write_latency.or_else(|| class.map(MediumClass::write_latency)).unwrap_or_default();
    let of_class = |pick: fn(&MediumClass) -> f64| class.map(|class| Iops::new(pick(class)));
    let both_given = device.read_iops.is_some() && device.write_iops.is_some();
    Access {
        read_time: if pattern == Pattern::Sequential { medium::sequential_wait(read) } else { read },
        write_time: write,
        operations: Operations {
            read: device.read_iops.or_else(|| of_class(|class| class.read_iops)),
            write: device.write_iops.or_else(|| of_class(|class| class.write_iops)),
            basis: if both_given { Basis::Spec } else { Basis::Guess },
            source: match (both_given, class) {
                (false, Some(class)) => format!("class {}: {}", class.name, class.source),
                _ => "as given".to_owned(),
            },
        },
    }
}
