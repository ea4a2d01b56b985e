//! What a workload and its system are, in the words of `laws.toml`.

use std::collections::BTreeSet;

use super::Mix;
use crate::ceiling::{Ceiling, drive_bus};
use crate::path::file::{
    Crypt, Device, DeviceKind, Engine, Filesystem, Host, Name, Network, Part, PartKind, Pattern, Raid,
    RaidKind, Remote, System, Workload,
};
use crate::path::{HopKind, RaidLevel};
use crate::predict::hops::{Loaded, host_of};
use crate::predict::time;

/// A workload on its system, reduced to what decides which laws hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Situation {
    /// The order of addresses.
    pub pattern: Pattern,
    /// The share of I/Os that read.
    pub read_share: f64,
    /// Bytes of an I/O.
    pub block_size: u64,
    /// I/Os under way in all jobs.
    pub in_flight: u64,
    /// Gbit/s of a port of the slowest network on the way.
    pub gigabits: Option<f64>,
    /// What is there: the words of [`TRAITS`].
    traits: BTreeSet<&'static str>,
}

/// Every word for a part or a habit of a system or of a workload, with spaces between them.
pub(super) const TRAITS: &str = "arc buffered cache card core-unknown core-embedded core-slow-copy cluster crypt crypt-inline \
     crypt-unknown disk file-server filesystem flush-unsaid flushed flash hdparm jobs many-drives \
     nvme-fabric nvme-protected parity part-of-stripe polled protected-elsewhere ramdisk remote resync \
     mirror small-drive-writes smb stripe tunnel unprotected unsized-flash-writes vm zfs";

impl Situation {
    pub(in crate::predict) fn of(system: &System, hops: &[Loaded<'_>], workload: &Workload) -> Self {
        let mut it = Self {
            pattern: workload.pattern,
            read_share: workload.read_share,
            block_size: workload.block_size.get(),
            in_flight: workload.in_flight() as u64,
            gigabits: None,
            traits: BTreeSet::new(),
        };
        it.of_workload(workload);
        for part in below(system, &workload.target) {
            it.of_part(system, part, workload);
        }
        it.of_hops(system, hops, workload);
        it
    }

    /// Whether it has a trait.
    pub fn has(&self, wanted: &str) -> bool {
        self.traits.contains(wanted)
    }

    /// Whether a card reads and writes memory of its host at random addresses, which is how a description says that no network
    /// and no core takes part.
    pub fn is_dma(&self) -> bool {
        self.has("card") && self.pattern == Pattern::Random
    }

    /// The directions of its I/Os.
    pub(super) fn mix(&self) -> Mix {
        match self.read_share {
            share if share >= 1.0 => Mix::Read,
            share if share <= 0.0 => Mix::Write,
            _ => Mix::Both,
        }
    }

    fn put(&mut self, is_there: bool, word: &'static str) {
        debug_assert!(TRAITS.split(' ').any(|known| known == word), "{word}");
        if is_there {
            self.traits.insert(word);
        }
    }

    fn of_workload(&mut self, workload: &Workload) {
        self.put(workload.engine == Engine::Buffered, "buffered");
        self.put(workload.engine == Engine::Hdparm, "hdparm");
        self.put(workload.engine == Engine::Polled, "polled");
        self.put(workload.jobs > 1, "jobs");
        let writes = workload.writes();
        let one_by_one = workload.engine == Engine::Sync && workload.in_flight() <= 1.0;
        self.put(writes && workload.flush == Some(true), "flushed");
        self.put(writes && one_by_one && workload.flush.is_none(), "flush-unsaid");
    }

    fn of_part(&mut self, system: &System, part: &Part, workload: &Workload) {
        match &part.kind {
            PartKind::Device(device) => self.device(device, workload),
            PartKind::Raid(raid) => self.raid(raid, workload),
            PartKind::Crypt(crypt) => self.crypt(system, part, crypt),
            PartKind::Cache(_) => self.put(true, "cache"),
            PartKind::Filesystem(it) => self.filesystem(it, workload),
            PartKind::Volume(it) => self.put(it.stripe.is_some(), "stripe"),
            PartKind::Network(it) => self.network(it, part.name == workload.target),
            PartKind::Remote(it) => self.remote(it),
            PartKind::Cluster(_) => self.put(true, "cluster"),
            PartKind::Vm(_) => self.put(true, "vm"),
            _ => {}
        }
    }

    fn device(&mut self, device: &Device, workload: &Workload) {
        let is_flash = !matches!(device.kind, DeviceKind::Hdd | DeviceKind::Ramdisk);
        self.put(is_flash, "flash");
        self.put(device.kind == DeviceKind::Hdd, "disk");
        self.put(device.kind == DeviceKind::Ramdisk, "ramdisk");
        let is_protected = time::keeps_writes(device);
        let is_measured = matches!(device.kind, DeviceKind::Nvme | DeviceKind::Sata);
        self.put(is_protected && !is_measured, "protected-elsewhere");
        self.put(is_flash && !is_protected, "unprotected");
        self.put(is_protected && device.kind == DeviceKind::Nvme, "nvme-protected");
        let is_long = workload.size.is_some_and(|size| size.get() > SURELY_CACHED);
        let is_written = workload.writes();
        self.put(is_flash && is_written && writes_less(device, is_protected, is_long), "small-drive-writes");
        self.put(
            is_flash && !is_protected && is_long && is_written && device.cache.is_none(),
            "unsized-flash-writes",
        );
    }

    fn raid(&mut self, raid: &Raid, workload: &Workload) {
        let level = raid.kind.level();
        self.put(matches!(raid.kind, RaidKind::Zfs(_)), "zfs");
        self.put(matches!(level, RaidLevel::Raid0 | RaidLevel::Raid10), "stripe");
        self.put(matches!(level, RaidLevel::Raid1 | RaidLevel::Raid10), "mirror");
        let parities = usize::from(level.parity());
        self.put(parities > 0, "parity");
        self.put(raid.resync.is_some(), "resync");
        let data = raid.members.len().saturating_sub(parities).max(1) as u64;
        let chunk = raid.chunk.map_or(512 << 10, |chunk| chunk.get());
        let fills = workload.block_size.get() >= chunk.saturating_mul(data);
        self.put(parities > 0 && !fills, "part-of-stripe");
    }

    fn crypt(&mut self, system: &System, part: &Part, crypt: &Crypt) {
        self.put(true, "crypt");
        self.put(!crypt.workqueues, "crypt-inline");
        let host = host_of(system, &part.name);
        let given = crypt.decrypt.or(host.and_then(|host| host.decrypt));
        let core = host.and_then(Host::core);
        let has_instructions = core.is_some_and(|core| core.aes_cycles_per_round.is_some());
        self.put(given.is_none() && !has_instructions, "crypt-unknown");
    }

    fn filesystem(&mut self, it: &Filesystem, workload: &Workload) {
        let is_zfs = it.kind == "zfs";
        self.put(true, "filesystem");
        self.put(is_zfs, "zfs");
        self.put(is_zfs && it.arc.is_some() && workload.size.is_some(), "arc");
    }

    fn network(&mut self, it: &Network, is_target: bool) {
        let rate = it.rate.get() / 1e9;
        self.gigabits = Some(self.gigabits.unwrap_or(f64::INFINITY).min(rate));
        self.put(is_target, "card");
    }

    fn remote(&mut self, it: &Remote) {
        let protocol = it.protocol.as_deref().unwrap_or_default().to_lowercase();
        let is_nvme = protocol.contains("nvme");
        self.put(true, "remote");
        self.put(is_nvme, "nvme-fabric");
        self.put(!is_nvme, "file-server");
        self.put(protocol.contains("smb"), "smb");
    }

    fn of_hops(&mut self, system: &System, hops: &[Loaded<'_>], workload: &Workload) {
        let host = host_of(system, &workload.target);
        let core = host.and_then(Host::core);
        // It matters to what is copied out of the page cache, and to nothing else.
        let is_copied = self.has("buffered") || self.has("hdparm");
        self.put(is_copied && core.is_some_and(|core| core.slow_copy), "core-slow-copy");
        let is_fast = self.gigabits.is_some_and(|rate| rate >= EMBEDDED_KEEPS_UP);
        self.put(is_fast && core.is_some_and(|core| core.embedded), "core-embedded");
        self.put(core.is_none() && host.is_none_or(|host| host.core_iops.is_none()), "core-unknown");
        self.put(hops.iter().any(|it| drive_bus::tunnel(&it.hop).is_some()), "tunnel");
        let drives = hops.iter().filter(|it| it.hop.kind() == HopKind::Device).count();
        self.put(drives > 1, "many-drives");
        let mut mappings = hops.iter().filter(|it| it.hop.kind() == HopKind::Crypt);
        let is_unknown = mappings.any(|it| matches!(it.used(workload), Ceiling::Unknown(_)));
        self.put(is_unknown, "crypt-unknown");
    }
}

/// Gbit/s that the small cores of boards were seen not to keep up with, frame by frame: 1.57 and 1.9 of 2.35 (Rock 5 ITX, CM4).
const EMBEDDED_KEEPS_UP: f64 = 2.0;

/// Whether a drive may write less than the largest of its model, whose rate the catalogue has: fewer chips take fewer bytes at once. A
/// 970 EVO Plus writes 400 MB/s behind its cache at 250 GB, 900 at 500 GB, 1700 at 1 TB and 1750 at 2 TB (its data sheet, MZ-V7S250BW): it
/// stops to grow at 1 TB. Drives of servers have no cache before their cells and are taken to grow up to four times that on PCI Express; for long
/// writes their capacity must be known. The limits are estimates on the safe side.
fn writes_less(device: &Device, is_protected: bool, is_long: bool) -> bool {
    let enough: u64 = match (is_protected, device.kind) {
        (true, DeviceKind::Nvme) => 3_800_000_000_000,
        (true, _) => 900_000_000_000,
        (false, _) => 450_000_000_000,
    };
    let is_small = device.size.map(|size| size.get() < enough);
    device.write.is_none() && is_small.unwrap_or(is_protected && is_long)
}

/// Bytes that the fast cache of any drive of today takes: the smallest drives with one have some 6 GB free.
const SURELY_CACHED: u64 = 6_000_000_000;

/// The part of this name and all that it lies on or goes through.
fn below<'s>(system: &'s System, top: &Name) -> Vec<&'s Part> {
    let mut seen = BTreeSet::new();
    let mut open = vec![top];
    let mut found = Vec::new();
    while let Some(name) = open.pop() {
        let Some(part) = system.part(name).filter(|_| seen.insert(name)) else { continue };
        open.extend(part.needs());
        found.push(part);
    }
    found
}
