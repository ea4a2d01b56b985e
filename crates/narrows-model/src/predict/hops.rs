//! The hops of a path with what they carry for one workload.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::Duplex;
use super::zfs::Zfs;
use crate::ceiling::{self, Basis, Ceiling, Ceilings, Limit, crypt, drive_bus, medium, pcie, raid};
use crate::path::file::{Device, DeviceKind, Engine, Host, Iommu, Name, PartKind, Pattern, System, Workload};
use crate::path::{CryptHop, Hop, HopId, HopKind, HopSpec, Path, RaidLevel, Traffic};
use narrows_base::catalog::catalog;
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_machine::cipher::CipherRate;

/// The chunk of arrays when nobody said another: mdadm's default.
const USUAL_CHUNK: Bytes = Bytes::from_kib(512);

/// How often data that goes through the page cache crosses main memory: into it, and a copy out that reads and writes.
const BUFFERED_MEMORY: f64 = 3.0;

/// A hop with what it carries, and what a byte of the workload costs it.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    pub(super) hop: Hop,
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

impl Loaded {
    /// The name of the part that it is.
    pub(super) fn part(&self) -> Name {
        let id = self.hop.id.as_str();
        Name::new(id.split_once(':').map_or(id, |(_, name)| name))
    }

    /// The drive that it is.
    pub(super) fn device<'s>(&self, system: &'s System) -> Option<&'s Device> {
        if self.hop.kind() != HopKind::Device {
            return None;
        }
        match &system.part(&self.part())?.kind {
            PartKind::Device(device) => Some(device),
            _ => None,
        }
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

/// The hops of `path` under `workload`, `jobs` at work on whatever encrypts.
pub(super) fn load(system: &System, path: &Path, workload: &Workload, jobs: u32) -> Vec<Loaded> {
    let buffered = matches!(workload.engine, Engine::Buffered | Engine::Hdparm);
    let zfs = Zfs::of(system, &path.hops, workload);
    let known: BTreeMap<&HopId, &Hop> = path.hops.iter().map(|hop| (&hop.id, hop)).collect();
    path.hops
        .iter()
        .map(|hop| {
            let above = ancestors(&known, hop);
            let (write_factor, read_to_write) = small_write(&above, workload);
            let memory = if hop.kind() == HopKind::Memory && buffered { BUFFERED_MEMORY } else { 1.0 };
            let named = ciphered(system, hop);
            let mut loaded = Loaded {
                ceilings: ceilings(system, &named, jobs, workload),
                hop: named,
                duplex: duplex(hop),
                read: (hop.traffic.read - hop.against.read) * memory,
                write: (hop.traffic.write - hop.against.write) * write_factor * memory,
                against: hop.against,
                read_to_write: hop.traffic.write * read_to_write,
                of: above
                    .iter()
                    .chain([&hop])
                    .filter(|it| it.kind() == HopKind::Device)
                    .map(|it| it.id.clone())
                    .collect(),
                touched: touched(&above, workload.block_size),
                asked: 0.0,
                missed: 1.0,
                grown: 1.0,
                translated: false,
                copied_by_zfs: false,
            };
            loaded.asked = loaded.read;
            if let Some(zfs) = &zfs {
                zfs.load(system, &above, &mut loaded, workload);
            }
            translate(system, &mut loaded, workload);
            if hop.kind() == HopKind::Device {
                settle_writes(system, &mut loaded, workload);
                leave_resync(&above, &mut loaded);
            }
            loaded
        })
        .collect()
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

fn ceilings(system: &System, hop: &Hop, jobs: u32, workload: &Workload) -> Ceilings {
    if let Some(wire) = drive_bus::tunnel(hop) {
        return Ceilings::same(wire);
    }
    let HopSpec::Crypt(crypt) = &hop.spec else {
        return stripe_writes(system, ceiling::of_hop(hop), hop, workload);
    };
    let part = system.part(&Name::new(crypt.block.as_str())).map(|part| &part.kind);
    // Without queues each completion decrypts on the core that its interrupt comes to.
    let submitters = match part {
        Some(PartKind::Crypt(given)) if !given.workqueues => jobs.saturating_mul(workload.depth.max(1)),
        _ => jobs,
    };
    let found = crypt::with_submitters(crypt, submitters);
    let large = crypt.cipher.value().is_some_and(|cipher| cipher.sector_size.get() >= 4096);
    match large {
        true => Ceilings {
            read: large_sectors(found.read, crypt::READ_SHARE),
            write: large_sectors(found.write, crypt::WRITE_SHARE),
        },
        false => found,
    }
}

/// What the stripe threads of a parity array write: less when writes do not fill whole stripes.
fn stripe_writes(system: &System, ceilings: Ceilings, hop: &Hop, workload: &Workload) -> Ceilings {
    let (HopSpec::Raid(raid), Ceiling::Known(limit)) = (&hop.spec, &ceilings.write) else { return ceilings };
    let Some((chunk, members, parities)) = stripes(hop).filter(|(_, _, parities)| *parities > 0) else {
        return ceilings;
    };
    let stripe = chunk.get().saturating_mul(members.saturating_sub(parities).max(1) as u64).max(1);
    let fills = workload.block_size.get().is_multiple_of(stripe);
    let threads = raid.md.group_threads.value().copied().unwrap_or(0).max(1);
    let disks = raid.members.iter().filter_map(|name| match &system.part(&Name::new(name))?.kind {
        PartKind::Device(device) if device.kind == DeviceKind::Hdd => device.write,
        _ => None,
    });
    let turned = disks.reduce(BytesPerSec::min).filter(|_| workload.block_size.get() < stripe);
    let threads = raid::stripe_threads(fills, threads).min(limit.rate);
    let rate = turned.map_or(threads, |disk| threads.min(raid::partial_stripes_of_disks(disk)));
    let how = if fills { "writes that fill stripes" } else { "writes that do not fill stripes" };
    let formula = format!("{}; {how} get {rate}", limit.formula);
    let write = Ceiling::Known(Limit { rate, formula, ..limit.clone() });
    Ceilings { write, ..ceilings }
}

/// The rate of a mapping with sectors of 4096 bytes. The share of the cipher that dm-crypt gets was measured with 512; large
/// sectors cost less for each byte, but nothing makes it faster than the cipher alone.
fn large_sectors(ceiling: Ceiling, share: f64) -> Ceiling {
    let Ceiling::Known(limit) = ceiling else { return ceiling };
    let gain = crypt::SMALL_SECTORS.min(1.0 / share);
    let rate = limit.rate * gain;
    Ceiling::Known(Limit {
        rate,
        basis: Basis::Guess,
        formula: format!("{}; × {gain:.2} with sectors of 4096 bytes = {rate}", limit.formula),
        ..limit
    })
}

/// A hop; a mapping with the rate of its cipher on one core, which is what one I/O gets of it.
fn ciphered(system: &System, hop: &Hop) -> Hop {
    let mut named = hop.clone();
    if let HopSpec::Crypt(crypt) = &hop.spec {
        named.spec = HopSpec::Crypt(Box::new(with_cipher(system, hop, crypt)));
    }
    named
}

/// A mapping of which nobody gave the cipher's rate gets that of its host's cores.
fn with_cipher(system: &System, hop: &Hop, crypt: &CryptHop) -> CryptHop {
    if crypt.cipher.value().is_some() {
        return crypt.clone();
    }
    let name = Name::new(hop.id.as_str().trim_start_matches("crypt:"));
    let part = system.part(&name).and_then(|part| match &part.kind {
        PartKind::Crypt(it) => Some(it),
        _ => None,
    });
    let cpu = host_of(system, &name).and_then(|host| host.cpu.as_deref());
    let core = cpu.and_then(|cpu| catalog().core_by_words(cpu));
    let (Some(part), Some(core)) = (part, core) else { return crypt.clone() };
    let Some(cycles_per_round) = core.aes_cycles_per_round else { return crypt.clone() };
    let key_bits = part.key_bits.unwrap_or(512);
    let aes = crypt::AesCore { cycles_per_round, gigahertz: core.gigahertz };
    let rate = crypt::xts_rate(aes, key_bits, crypt::AF_ALG);
    let known = CipherRate {
        cipher: part.cipher.clone().unwrap_or_else(|| "aes-xts-plain64".to_owned()),
        key_bits,
        sector_size: part.sector_size.unwrap_or(Bytes::new(512)),
        decrypt: rate,
        encrypt: rate,
        driver: None,
    };
    CryptHop { cipher: Fact::known(known, format!("cycles of a round on {}", core.name)), ..crypt.clone() }
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
fn settle_writes(system: &System, loaded: &mut Loaded, workload: &Workload) {
    let Some(cache) = loaded.device(system).and_then(|device| device.cache) else { return };
    let (Some(size), Ceiling::Known(limit)) = (workload.size, &loaded.ceilings.write) else { return };
    let volume = Bytes::new((size.as_f64() * loaded.write * (1.0 - workload.read_share)) as u64);
    let rate = medium::cached_write_rate(volume, cache.size, limit.rate, cache.steady);
    let formula = format!(
        "{}; {volume} through a cache of {}, then {} = {rate}",
        limit.formula, cache.size, cache.steady
    );
    loaded.ceilings.write = Ceiling::Known(Limit { rate, formula, ..limit.clone() });
}

/// What a resync of the array above leaves of a member.
fn leave_resync(above: &[&Hop], loaded: &mut Loaded) {
    let taken = above.iter().find_map(|hop| match &hop.spec {
        HopSpec::Raid(raid) => raid.md.sync_speed.value().copied(),
        _ => None,
    });
    let Some(taken) = taken else { return };
    let left = |ceiling: &mut Ceiling| {
        if let Ceiling::Known(limit) = ceiling {
            limit.rate = limit.rate - taken;
            limit.formula = format!("{}; a resync takes {taken} and leaves {}", limit.formula, limit.rate);
        }
    };
    left(&mut loaded.ceilings.read);
    left(&mut loaded.ceilings.write);
}

/// The rate in one direction.
pub(super) fn rate(ceilings: &Ceilings, read: bool) -> Option<BytesPerSec> {
    if read { ceilings.read.rate() } else { ceilings.write.rate() }
}

/// The smallest page of x86 and arm64.
const PAGE: Bytes = Bytes::from_kib(4);

/// Lowers the ceilings of a link by [`pcie::kept_by_iommu`]. The window of addresses is what is under way.
fn translate(system: &System, loaded: &mut Loaded, workload: &Workload) {
    if loaded.hop.kind() != HopKind::Link {
        return;
    }
    let Some(host) = host_of(system, &loaded.part()).filter(|host| host.iommu.is_some_and(Iommu::translates))
    else {
        return;
    };
    let large_pages = host.iommu_pages.is_some_and(|pages| pages > PAGE);
    let size = Bytes::new((workload.block_size.as_f64() / loaded.touched.max(1.0)) as u64);
    let window = Bytes::new((workload.in_flight() * workload.block_size.as_f64()) as u64);
    for ceiling in [&mut loaded.ceilings.read, &mut loaded.ceilings.write] {
        let Ceiling::Known(limit) = ceiling else { continue };
        let kept = pcie::kept_by_iommu(limit.rate, size, window, large_pages);
        if kept >= 1.0 {
            continue;
        }
        let rate = limit.rate * kept;
        let formula = format!(
            "{}; × {kept:.2} that the IOMMU leaves with I/Os of {} in {} = {rate}",
            limit.formula,
            human::block_size(size),
            human::block_size(window)
        );
        *ceiling = Ceiling::Known(Limit { rate, formula, ..limit.clone() });
        loaded.translated = true;
    }
}
