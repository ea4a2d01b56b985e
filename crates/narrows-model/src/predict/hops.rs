//! The hops of a path with what they carry for one workload.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::Duplex;
use super::law::Situation;
use super::zfs::Zfs;
use crate::ceiling::{self, Basis, Ceiling, Ceilings, Limit, crypt, drive_bus, medium, pcie, raid};
use crate::path::file::{
    BuildError, Device, DeviceKind, Host, Iommu, Name, Part, PartKind, Pattern, System, Workload, path,
};
use crate::path::{Hop, HopId, HopKind, HopSpec, Path, RaidLevel, Traffic};
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_machine::cipher::CipherRate;

/// The chunk of arrays when nobody said another: mdadm's default.
const USUAL_CHUNK: Bytes = Bytes::from_kib(512);

/// How often data that goes through the page cache crosses main memory: into it, and a copy out that reads and writes.
const BUFFERED_MEMORY: f64 = 3.0;

/// A hop with what it carries, and what a byte of the workload costs it.
#[derive(Debug, Clone)]
pub(super) struct Loaded<'s> {
    pub(super) hop: Hop,
    /// The part that it is, or that it leads to.
    pub(super) part: Option<&'s Part>,
    pub(super) ceilings: Ceilings,
    pub(super) duplex: Duplex,
    /// Bytes read across it for each byte that the workload reads.
    pub(super) read: f64,
    /// Bytes written across it for each byte that the workload writes.
    pub(super) write: f64,
    /// Bytes read across it for each byte that the workload writes: what parity needs of old data.
    pub(super) read_to_write: f64,
    /// What goes the other way: bytes written across it for each byte that the workload reads, and read for each that it
    /// writes. A server sends what is read.
    pub(super) against: Traffic,
    /// The drives that it belongs to; empty when it is on the way of all.
    pub(super) of: BTreeSet<HopId>,
    /// Members that one block is spread over.
    pub(super) touched: f64,
    /// Bytes read across it for each byte that the workload reads, before what a file system's cache and records make of it.
    pub(super) asked: f64,
    /// The part of reads that no cache of the file system answers.
    pub(super) missed: f64,
    /// By how much I/Os are larger here than the blocks of the workload: records, compressed.
    pub(super) grown: f64,
    /// Whether address translation costs it a part of its rate.
    pub(super) translated: bool,
    /// Whether ZFS moves written data across it more than once.
    pub(super) copied_by_zfs: bool,
}

impl<'s> Loaded<'s> {
    /// What the part is.
    pub(super) fn part_kind(&self) -> Option<&'s PartKind> {
        self.part.map(|part| &part.kind)
    }

    /// The drive that it is.
    pub(super) fn device(&self) -> Option<&'s Device> {
        match self.part_kind()? {
            PartKind::Device(device) if self.hop.kind() == HopKind::Device => Some(device),
            _ => None,
        }
    }

    /// Its ceiling in the direction that a workload is taken to go in: that of reads, where it has any.
    pub(super) const fn used(&self, workload: &Workload) -> &Ceiling {
        if workload.read_share > 0.0 { &self.ceilings.read } else { &self.ceilings.write }
    }

    /// Bytes read and written across it for each byte of a workload of which this share reads.
    pub(super) fn moved(&self, read_share: f64) -> (f64, f64) {
        let written = 1.0 - read_share;
        let reads = read_share * self.read + written * (self.read_to_write + self.against.write);
        (reads, written * self.write + read_share * self.against.read)
    }

    /// Whether a block that is under way passes it as one piece together with the medium: the hardware from the medium to memory.
    pub(super) fn is_hardware(&self) -> bool {
        matches!(
            self.hop.kind(),
            HopKind::Device
                | HopKind::Sata
                | HopKind::Sas
                | HopKind::Usb
                | HopKind::Hba
                | HopKind::Link
                | HopKind::Switch
                | HopKind::Chipset
                | HopKind::Socket
        )
    }
}

/// A workload on its path.
pub(super) struct Run<'s> {
    pub(super) workload: &'s Workload,
    pub(super) path: Path,
    pub(super) hops: Vec<Loaded<'s>>,
    /// What decides which laws hold.
    pub(super) situation: Situation,
    pub(super) system: &'s System,
}

impl<'s> Run<'s> {
    /// A workload of a system, where so many jobs are at work in all.
    pub(super) fn new(system: &'s System, workload: &'s Workload, jobs: u32) -> Result<Self, BuildError> {
        let path = path(system, &workload.target, workload.jobs)?;
        let hops = load(system, &path, workload, jobs);
        let situation = Situation::of(system, &hops, workload);
        Ok(Self { workload, path, hops, situation, system })
    }

    /// The host that the workload runs on.
    pub(super) fn host(&self) -> Option<&'s Host> {
        host_of(self.system, &self.workload.target)
    }

    /// How many of so many threads are at work at once, one on each core, and these in words.
    pub(super) fn at_work(&self, threads: u32) -> (u32, String) {
        let there = self.host().and_then(|host| host.cores).unwrap_or(u32::MAX);
        let count = threads.clamp(1, there.max(1));
        (count, human::counted(count, "core"))
    }

    /// Whether the drives are main memory: then a core does each I/O itself, and no more are under way than there are jobs.
    pub(super) fn is_memory(&self) -> bool {
        self.hops.iter().filter_map(Loaded::device).any(|device| device.kind == DeviceKind::Ramdisk)
    }
}

/// The hops of `path` under `workload`, `jobs` at work on whatever encrypts.
fn load<'s>(system: &'s System, path: &Path, workload: &Workload, jobs: u32) -> Vec<Loaded<'s>> {
    let zfs = Zfs::of(system, &path.hops, workload);
    let known: BTreeMap<&HopId, &Hop> = path.hops.iter().map(|hop| (&hop.id, hop)).collect();
    let load = |hop: &Hop| {
        let above = ancestors(&known, hop);
        let part = system.part(&Name::new(hop.id.key()));
        let (write_factor, read_to_write) = small_write(&above, workload);
        let is_copied = hop.kind() == HopKind::Memory && workload.engine.is_cached();
        let memory = if is_copied { BUFFERED_MEMORY } else { 1.0 };
        let read = (hop.traffic.read - hop.against.read) * memory;
        let drives = above.iter().copied().chain([hop]).filter(|it| it.kind() == HopKind::Device);
        let named = ciphered(system, part, hop);
        let mut loaded = Loaded {
            ceilings: ceilings(system, part, &named, jobs, workload),
            hop: named,
            part,
            duplex: duplex(hop),
            read,
            write: (hop.traffic.write - hop.against.write) * write_factor * memory,
            against: hop.against,
            read_to_write: hop.traffic.write * read_to_write,
            of: drives.map(|it| it.id.clone()).collect(),
            touched: touched(&above, workload.block_size),
            asked: read,
            missed: 1.0,
            grown: 1.0,
            translated: false,
            copied_by_zfs: false,
        };
        if let Some(zfs) = &zfs {
            zfs.load(system, &above, &mut loaded, workload);
        }
        translate(system, &mut loaded, workload);
        if hop.kind() == HopKind::Device {
            settle_writes(&mut loaded, workload);
            leave_resync(&above, &mut loaded);
        }
        loaded
    };
    path.hops.iter().map(load).collect()
}

/// The hops above one, nearest first.
fn ancestors<'p>(known: &BTreeMap<&HopId, &'p Hop>, hop: &Hop) -> Vec<&'p Hop> {
    let mut found = Vec::new();
    let mut next = hop.above.as_ref();
    while let Some(above) = next.and_then(|id| known.get(id).copied()) {
        found.push(above);
        if found.len() > known.len() {
            break;
        }
        next = above.above.as_ref();
    }
    found
}

/// Whether both directions of a hop share one capacity.
pub fn duplex(hop: &Hop) -> Duplex {
    match &hop.spec {
        HopSpec::Network(network) if network.both_ways => Duplex::Half,
        _ => match hop.kind() {
            HopKind::Device | HopKind::Memory | HopKind::Sata | HopKind::Usb | HopKind::Crypt => Duplex::Half,
            _ => Duplex::Full,
        },
    }
}

fn ceilings(system: &System, part: Option<&Part>, hop: &Hop, jobs: u32, workload: &Workload) -> Ceilings {
    if let Some(wire) = drive_bus::tunnel(hop) {
        return Ceilings::same(wire);
    }
    let HopSpec::Crypt(crypt) = &hop.spec else {
        let mut found = ceiling::of_hop(hop);
        if let Some(limit) = found.write.limit_mut() {
            stripe_writes(system, hop, workload, limit);
        }
        return found;
    };
    // Without queues each completion decrypts on the core that its interrupt comes to.
    let submitters = match part.map(|part| &part.kind) {
        Some(PartKind::Crypt(given)) if !given.workqueues => jobs.saturating_mul(workload.depth.max(1)),
        _ => jobs,
    };
    let mut found = crypt::with_submitters(crypt, submitters);
    if crypt.cipher.value().is_some_and(|cipher| cipher.sector_size.get() >= 4096) {
        found.read.limit_mut().into_iter().for_each(|limit| large_sectors(limit, crypt::READ_SHARE));
        found.write.limit_mut().into_iter().for_each(|limit| large_sectors(limit, crypt::WRITE_SHARE));
    }
    found
}

/// What the stripe threads of a parity array write: less when writes do not fill whole stripes.
fn stripe_writes(system: &System, hop: &Hop, workload: &Workload, write: &mut Limit) {
    let (HopSpec::Raid(raid), Some((chunk, members, parities))) = (&hop.spec, stripes(hop)) else { return };
    if parities == 0 {
        return;
    }
    let stripe = chunk.get().saturating_mul(members.saturating_sub(parities).max(1) as u64).max(1);
    let fills = workload.block_size.get().is_multiple_of(stripe);
    let threads = raid.md.group_threads.value().copied().unwrap_or(0).max(1);
    let disks = raid.members.iter().filter_map(|name| match &system.part(&Name::new(name))?.kind {
        PartKind::Device(device) if device.kind == DeviceKind::Hdd => device.write,
        _ => None,
    });
    let turned = disks.reduce(BytesPerSec::min).filter(|_| workload.block_size.get() < stripe);
    let threads = raid::stripe_threads(fills, threads).min(write.rate);
    let rate = turned.map_or(threads, |disk| threads.min(raid::partial_stripes_of_disks(disk)));
    let how = if fills { "writes that fill stripes" } else { "writes that do not fill stripes" };
    write.change(rate, &format!("{how} get {rate}"));
}

/// The rate of a mapping with sectors of 4096 bytes. The share of the cipher that dm-crypt gets was measured with 512; large
/// sectors cost less for each byte, but nothing makes it faster than the cipher alone.
fn large_sectors(limit: &mut Limit, share: f64) {
    let gain = crypt::SMALL_SECTORS.min(1.0 / share);
    let rate = limit.rate * gain;
    limit.basis = Basis::Guess;
    limit.change(rate, &format!("× {gain:.2} with sectors of 4096 bytes = {rate}"));
}

/// A hop; a mapping with the rate of its cipher on one core, which is what one I/O gets of it: that of its host's cores where
/// nobody gave one.
fn ciphered(system: &System, part: Option<&Part>, hop: &Hop) -> Hop {
    let mut named = hop.clone();
    if let HopSpec::Crypt(crypt) = &mut named.spec
        && crypt.cipher.value().is_none()
        && let Some(rate) = part.and_then(|part| cipher_of_host(system, part))
    {
        crypt.cipher = rate;
    }
    named
}

/// What a core of its host does of the cipher of a mapping.
fn cipher_of_host(system: &System, part: &Part) -> Option<Fact<CipherRate>> {
    let PartKind::Crypt(given) = &part.kind else { return None };
    let core = host_of(system, &part.name)?.core()?;
    let key_bits = given.key_bits.unwrap_or(512);
    let aes = crypt::AesCore { cycles_per_round: core.aes_cycles_per_round?, gigahertz: core.gigahertz };
    let rate = crypt::xts_rate(aes, key_bits, crypt::AF_ALG);
    Some(Fact::known(given.rated(rate, rate), format!("cycles of a round on {}", core.name)))
}

/// The host that a part lies on, by its first way down.
pub(super) fn host_of<'s>(system: &'s System, name: &Name) -> Option<&'s Host> {
    system.host_of(name).map(|(_, host)| host)
}

/// Chunk, members and members' worth of parity of an array that stripes.
fn stripes(hop: &Hop) -> Option<(Bytes, usize, usize)> {
    match &hop.spec {
        HopSpec::Raid(raid) => {
            let level = raid.level.filter(|level| !matches!(level, RaidLevel::Raid1 | RaidLevel::Linear))?;
            let chunk = raid.md.chunk.get().unwrap_or(USUAL_CHUNK);
            Some((chunk, raid.members.len(), usize::from(level.parity())))
        }
        HopSpec::Volume(volume) => Some((volume.layout.chunk()?, volume.members.len(), 0)),
        _ => None,
    }
}

/// Members that one block of `size` is spread over, through all arrays above.
fn touched(above: &[&Hop], size: Bytes) -> f64 {
    let of = |(chunk, members, parity): (Bytes, usize, usize)| {
        let data = members.saturating_sub(parity).max(1) as f64;
        (size.as_f64() / chunk.as_f64().max(1.0)).ceil().clamp(1.0, data)
    };
    above.iter().filter_map(|hop| stripes(hop)).map(of).product()
}

/// What a write that does not fill a stripe costs members against one that does: the factor of what is written, and what is
/// read of old data and parity for each byte that is written to a member in full stripes.
fn small_write(above: &[&Hop], workload: &Workload) -> (f64, f64) {
    let small = |hop: &&&Hop| {
        let (chunk, members, parity) = stripes(hop)?;
        let full = chunk.as_f64() * members.saturating_sub(parity) as f64;
        let fills = workload.pattern == Pattern::Sequential || workload.block_size.as_f64() >= full;
        (parity > 0 && !fills).then_some((members, parity))
    };
    let Some((members, parities)) = above.iter().find_map(|hop| small(&hop)) else { return (1.0, 0.0) };
    let ios = f64::from(raid::small_write_ios(u32::try_from(parities).unwrap_or(1))) / 2.0;
    let factor = ios * members.saturating_sub(parities) as f64 / members.max(1) as f64;
    (factor, factor)
}

/// Writes of more than the fast cache of a drive takes go on at the rate behind it.
fn settle_writes(loaded: &mut Loaded<'_>, workload: &Workload) {
    let Some(cache) = loaded.device().and_then(|device| device.cache) else { return };
    let (Some(size), Some(limit)) = (workload.size, loaded.ceilings.write.limit_mut()) else { return };
    let volume = Bytes::new((size.as_f64() * loaded.write * (1.0 - workload.read_share)) as u64);
    let rate = medium::cached_write_rate(volume, cache.size, limit.rate, cache.steady);
    limit
        .change(rate, &format!("{volume} through a cache of {}, then {} = {rate}", cache.size, cache.steady));
}

/// What a resync of the array above leaves of a member.
fn leave_resync(above: &[&Hop], loaded: &mut Loaded<'_>) {
    let taken = above.iter().find_map(|hop| match &hop.spec {
        HopSpec::Raid(raid) => raid.md.sync_speed.value().copied(),
        _ => None,
    });
    let Some(taken) = taken else { return };
    for limit in loaded.ceilings.limits_mut() {
        let left = limit.rate - taken;
        limit.change(left, &format!("a resync takes {taken} and leaves {left}"));
    }
}

/// The smallest page of x86 and arm64.
const PAGE: Bytes = Bytes::from_kib(4);

/// Lowers the ceilings of a link by [`pcie::kept_by_iommu`]. The window of addresses is what is under way.
fn translate(system: &System, loaded: &mut Loaded<'_>, workload: &Workload) {
    let part = loaded.part.filter(|_| loaded.hop.kind() == HopKind::Link);
    let host = part.and_then(|part| host_of(system, &part.name));
    let Some(host) = host.filter(|host| host.iommu.is_some_and(Iommu::translates)) else { return };
    let large_pages = host.iommu_pages.is_some_and(|pages| pages > PAGE);
    let size = Bytes::new((workload.block_size.as_f64() / loaded.touched.max(1.0)) as u64);
    let window = Bytes::new((workload.in_flight() * workload.block_size.as_f64()) as u64);
    let shown = [size, window].map(human::block_size);
    for limit in loaded.ceilings.limits_mut() {
        let kept = pcie::kept_by_iommu(limit.rate, size, window, large_pages);
        if kept < 1.0 {
            let rate = limit.rate * kept;
            let [size, window] = &shown;
            let why = format!("× {kept:.2} that the IOMMU leaves with I/Os of {size} in {window} = {rate}");
            limit.change(rate, &why);
            loaded.translated = true;
        }
    }
}
