//! How long one I/O takes that is alone: the sum of what its stages take.

use std::collections::BTreeMap;

use super::hops::{Loaded, host_of, rate};
use super::law::{self, Law, Situation};
use crate::ceiling::{Basis, crypt, medium, queueing, raid};
use crate::path::file::{Crypt, Device, DeviceKind, Engine, PartKind, Pattern, System, Workload};
use crate::path::{HopId, HopKind, HopSpec, RaidLevel};
use narrows_base::catalog::{self, MediumClass, catalog};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

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
    fn at(loaded: &Loaded, law: Law, read: f64, write: f64) -> Self {
        Self { hop: loaded.hop.id.clone(), name: loaded.hop.name.clone(), law, read, write }
    }

    /// The mean of a mix.
    pub(super) fn seconds(&self, read_share: f64) -> f64 {
        // A direction that the mix has none of may take forever.
        let part = |share: f64, seconds: f64| if share > 0.0 { share * seconds } else { 0.0 };
        part(read_share, self.read) + part(1.0 - read_share, self.write)
    }
}

/// The stages of one I/O.
pub(super) fn stages(
    system: &System,
    hops: &[Loaded],
    workload: &Workload,
    situation: &Situation,
) -> Vec<Stage> {
    let mut stages = Vec::new();
    stages.extend(media(system, hops, workload, situation));
    let memory = is_memory(system, hops);
    for loaded in hops {
        match loaded.hop.kind() {
            HopKind::Crypt => stages.extend(encryption(system, loaded, workload, memory)),
            HopKind::Network | HopKind::Remote | HopKind::LogicalVolume | HopKind::Controller => {
                stages.extend(protocol(system, loaded, workload));
            }
            HopKind::Switch => stages.extend(switch(system, loaded)),
            _ => {}
        }
    }
    stages.extend(flush(system, hops, workload));
    stages.extend(call(system, hops, workload));
    stages
}

/// The flush after a write, of a drive that has nothing to wait for then; what other drives take has no law.
fn flush(system: &System, hops: &[Loaded], workload: &Workload) -> Option<Stage> {
    if workload.flush != Some(true) {
        return None;
    }
    let drive = hops.iter().find(|it| it.device(system).is_some_and(keeps_writes))?;
    let name = format!("the flush of {}", drive.hop.name);
    Some(Stage { name, ..Stage::at(drive, Law::FlashFlush, 0.0, medium::EMPTY_FLUSH.as_secs_f64()) })
}

/// The media, and the transfer over the hardware between them and memory: means over the drives that a block may be on.
fn media(system: &System, hops: &[Loaded], workload: &Workload, situation: &Situation) -> Vec<Stage> {
    let drives: Vec<&Loaded> = hops.iter().filter(|it| it.hop.kind() == HopKind::Device).collect();
    let Some(first) = drives.first() else { return Vec::new() };
    let wires = Wires::of(hops);
    let known: BTreeMap<&HopId, &Loaded> = hops.iter().map(|it| (&it.hop.id, it)).collect();
    let (mut wait, mut moving, mut reads, mut writes) = ([0.0; 2], [0.0; 2], 0.0, 0.0);
    for drive in &drives {
        let Some(device) = drive.device(system) else { continue };
        let access = medium_access(device, workload.pattern, workload.block_size, workload.depth);
        let transfer = |is_read: bool| {
            let (_, seconds) = wires.slowest(drive, is_read);
            workload.block_size.as_f64() * seconds
        };
        let copies = copies_above(&known, drive);
        let old = if drive.read_to_write > 0.0 { access.read_time.as_secs_f64() } else { 0.0 };
        let settled = raid::slowest_of(access.write_time, copies).as_secs_f64();
        // What a file system's cache answers waits for no drive.
        wait[0] += drive.asked * drive.missed * access.read_time.as_secs_f64();
        wait[1] += drive.write * (old + settled);
        moving[0] += drive.asked * drive.missed * drive.grown * transfer(true);
        moving[1] += drive.write * transfer(false);
        reads += drive.asked;
        writes += drive.write;
    }
    let mean = |sum: f64, weight: f64| if weight > 0.0 { sum / weight } else { 0.0 };
    let stage = |hop: &Loaded, name: String, moves: bool, [read, write]: [f64; 2]| {
        let law = law::time_law(system, hop, situation, moves);
        Stage { name, ..Stage::at(hop, law, mean(read, reads), mean(write, writes)) }
    };
    let name = if drives.len() == 1 { first.hop.name.clone() } else { format!("{} drives", drives.len()) };
    let wire = wires.slowest(first, workload.read_share >= 0.5).0.unwrap_or(*first);
    let over = format!("the transfer over {}", wire.hop.name);
    vec![stage(first, name, false, wait), stage(wire, over, true, moving)]
}

/// The hardware hops of a path, those of each drive apart.
struct Wires<'h> {
    hops: &'h [Loaded],
    /// The places of the hops that one drive alone crosses, or a few.
    own: BTreeMap<&'h HopId, Vec<usize>>,
    /// The slowest of those that are on the way of all, for writes and for reads: its place and seconds for each byte.
    shared: [Option<(usize, f64)>; 2],
}

impl<'h> Wires<'h> {
    fn of(hops: &'h [Loaded]) -> Self {
        let mut wires = Self { hops, own: BTreeMap::new(), shared: [None; 2] };
        for (place, hop) in hops.iter().enumerate().filter(|(_, hop)| hop.is_hardware()) {
            for drive in &hop.of {
                wires.own.entry(drive).or_default().push(place);
            }
            if hop.of.is_empty() {
                for (is_read, shared) in [false, true].into_iter().zip(&mut wires.shared) {
                    let found = seconds(hop, is_read, 1.0).map(|seconds| (place, seconds));
                    *shared = [*shared, found].into_iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1));
                }
            }
        }
        wires
    }

    /// The slowest hop between a drive and memory, and its seconds for each byte of a block; a part of the block is on each of
    /// the members that it touches, and all of it on what they share.
    fn slowest(&self, drive: &Loaded, is_read: bool) -> (Option<&'h Loaded>, f64) {
        let own = self.own.get(&drive.hop.id).into_iter().flatten();
        let own =
            own.filter_map(|&place| Some((place, seconds(self.hops.get(place)?, is_read, drive.touched)?)));
        let all = own.chain(self.shared[usize::from(is_read)]);
        // Of equals the last in the list.
        let slowest = all.max_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        slowest.map_or((None, 0.0), |(place, seconds)| (self.hops.get(place), seconds))
    }
}

/// The seconds that a hop needs for each byte of a block of which it carries one part in so many; `None` of an unknown rate.
fn seconds(hop: &Loaded, is_read: bool, at_once: f64) -> Option<f64> {
    // What a server sends crosses its card the other way.
    let turned = if is_read { hop.against.read > hop.read } else { hop.against.write > hop.write };
    let rate = rate(&hop.ceilings, is_read != turned)?.get();
    Some(if rate > 0.0 { 1.0 / (rate * at_once) } else { f64::MAX })
}

/// Copies of a byte that a write waits for, by the arrays above a drive.
fn copies_above(hops: &BTreeMap<&HopId, &Loaded>, drive: &Loaded) -> u32 {
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

fn encryption(system: &System, loaded: &Loaded, workload: &Workload, memory: bool) -> Option<Stage> {
    let part = system.part(&loaded.part())?;
    let PartKind::Crypt(Crypt { workqueues, sector_size, .. }) = &part.kind else { return None };
    // The rates of one submitter are what one I/O gets of the mapping, without the share that many lose.
    let HopSpec::Crypt(hop) = &loaded.hop.spec else { return None };
    // Workers of a mapping over memory never get to sleep.
    let queues = match (workqueues, memory || workload.in_flight() > 1.0) {
        (false, _) => crypt::CryptQueues::Inline,
        (true, true) => crypt::CryptQueues::Awake,
        (true, false) => crypt::CryptQueues::Asleep,
    };
    let sector = sector_size.unwrap_or(Bytes::new(512));
    let rate = |is_read: bool| match hop.cipher.value() {
        Some(cipher) => Some(if is_read { cipher.decrypt } else { cipher.encrypt }),
        None => rate(&loaded.ceilings, is_read),
    };
    let seconds = |is_read: bool| {
        rate(is_read)
            .map_or(0.0, |rate| crypt::added_time(workload.block_size, rate, sector, queues).as_secs_f64())
    };
    Some(Stage::at(loaded, Law::CryptTime, seconds(true), seconds(false)))
}

/// What mappings without queues take of the core that starts each I/O. What is written is encrypted there; what is read is
/// decrypted by the core that its interrupt comes to, and those are as many as there are reads under way and cores: 7.1 GB/s were
/// read where one core decrypts 1.3 (long-cat.net 2024/05/09).
pub(super) fn inline_ciphers(system: &System, hops: &[Loaded], workload: &Workload) -> Nanos {
    let is_inline = |loaded: &&Loaded| {
        let part = system.part(&loaded.part()).map(|part| &part.kind);
        matches!(part, Some(PartKind::Crypt(crypt)) if !crypt.workqueues)
    };
    let stages = hops.iter().filter(|it| it.hop.kind() == HopKind::Crypt).filter(is_inline);
    let there = host_of(system, &workload.target).and_then(|host| host.cores).unwrap_or(1);
    let at_work = workload.in_flight().clamp(1.0, f64::from(there.max(1)));
    let mapping = crypt::MAPPING.as_secs_f64();
    let seconds: f64 = stages
        .filter_map(|loaded| encryption(system, loaded, workload, false))
        .map(|stage| Stage { read: mapping + (stage.read - mapping).max(0.0) / at_work, ..stage })
        .map(|stage| stage.seconds(workload.read_share))
        .sum();
    Nanos::new((seconds * 1e9).round() as u64)
}

fn protocol(system: &System, loaded: &Loaded, workload: &Workload) -> Option<Stage> {
    let part = system.part(&loaded.part())?;
    let latency = match &part.kind {
        PartKind::Network(it) => it.latency,
        PartKind::Remote(it) => it.latency,
        PartKind::Cluster(it) => it.latency,
        PartKind::Vm(it) => it.latency,
        _ => return None,
    };
    let fixed = latency.unwrap_or_default().as_secs_f64();
    // Only a part of the blocks crosses the network of a cluster.
    let crossing = |share: f64| {
        if matches!(&loaded.hop.spec, HopSpec::Network(it) if it.both_ways) { share.min(1.0) } else { 1.0 }
    };
    let moving = |is_read: bool| {
        rate(&loaded.ceilings, is_read)
            .filter(|rate| rate.get() > 0.0 && loaded.hop.kind() == HopKind::Network)
            .map_or(0.0, |rate| {
                workload.block_size.as_f64() / rate.get()
                    * crossing(if is_read {
                        loaded.read + loaded.against.read
                    } else {
                        loaded.write + loaded.against.write
                    })
            })
    };
    let stage = Stage::at(loaded, Law::NetworkTime, fixed + moving(true), fixed + moving(false));
    (stage.read > 0.0 || stage.write > 0.0).then_some(stage)
}

fn switch(system: &System, loaded: &Loaded) -> Option<Stage> {
    let part = system.part(&loaded.part())?;
    let PartKind::Switch(switch) = &part.kind else { return None };
    // A request goes there and its data comes back.
    let both_ways = switch.latency?.as_secs_f64() * 2.0;
    Some(Stage::at(loaded, Law::SwitchTime, both_ways, both_ways))
}

/// What starting and completing an I/O takes of a core beyond what it takes of the usual one: the latency of a medium was
/// measured with the call, and the time of a RAM disk is the call.
fn call(system: &System, hops: &[Loaded], workload: &Workload) -> Option<Stage> {
    let first = hops.first()?;
    if is_memory(system, hops) {
        return None;
    }
    let beyond = cost(system, workload).get().saturating_sub(usual_cost(workload.engine).get());
    let seconds = Nanos::new(beyond).as_secs_f64();
    Some(Stage { name: "the call".to_owned(), ..Stage::at(first, Law::Core, seconds, seconds) })
}

/// What one I/O costs a core.
pub(super) fn cost(system: &System, workload: &Workload) -> Nanos {
    let host = host_of(system, &workload.target);
    if let Some(iops) = host.and_then(|host| host.core_iops).filter(|iops: &Iops| iops.get() > 0.0) {
        return Nanos::new((1e9 / iops.get()) as u64);
    }
    let usual = usual_cost(workload.engine);
    let cpu = host.and_then(|host| host.cpu.as_deref());
    let core = cpu.and_then(|cpu| narrows_base::catalog::catalog().core_by_words(cpu));
    core.map_or(usual, |core| queueing::on_core(usual, core.speed))
}

/// What one I/O costs the core that the figures are of.
const fn usual_cost(engine: Engine) -> Nanos {
    match engine {
        Engine::Uring => queueing::URING,
        Engine::Polled => queueing::POLLED,
        Engine::Libaio | Engine::Sync | Engine::Buffered | Engine::Hdparm => queueing::LIBAIO,
    }
}

/// Whether the drives are main memory: then a core does each I/O itself, and no more are under way than there are jobs.
pub(super) fn is_memory(system: &System, hops: &[Loaded]) -> bool {
    hops.iter().filter_map(|it| it.device(system)).any(|device| device.kind == DeviceKind::Ramdisk)
}

/// A rate out of seconds for each byte.
pub(super) fn per_second(bytes: Bytes, seconds: f64) -> BytesPerSec {
    BytesPerSec::new(bytes.as_f64() / seconds.max(LEAST))
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
        DeviceKind::Ramdisk => Access {
            read_time: queueing::memory_io(size),
            write_time: queueing::memory_io(size),
            operations: Operations {
                read: device.read_iops,
                write: device.write_iops,
                basis: Basis::Formula,
                source: "a call and a copy".to_owned(),
            },
        },
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

/// The least time of an access that counts, so that depth is finite.
const LEAST: f64 = 1e-9;
