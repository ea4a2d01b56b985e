//! One machine out of parts that call the same device by different names.
//!
//! `lsblk` knows `dm-1`, `dmsetup table` calls it `vg-home`, `df` says `/dev/vg/home`, and a table names what is below
//! by number. When all parts are put together, the kernel's name takes the place of every other.

mod links;

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::fact::Fact;
use narrows_base::units::Lanes;
use narrows_machine::block::{self, BlockDevice, BlockKind, DmKind, Transport, is_numbered};
use narrows_machine::nic::Nic;
use narrows_machine::pci::{PciAddress, PciDevice};
use narrows_machine::{Machine, cipher};

use super::device::{device, disk_of, is_kernel_name, is_number, stack, take_kept, volume_name};
use super::fill::{Fill, Than};
use super::{health, mounts, sensors, storcli};

/// The class of a SATA controller, without programming interface (PCI Code and ID Assignment Specification, section 1.2).
const SATA_CLASS: u32 = 0x0106;
const NVME_CLASS: u32 = 0x01_0802;

/// Joins what was told of one device under several names, and what only several texts together tell.
pub(super) fn join(machine: &mut Machine) {
    for _ in 0..2 {
        // A name may become known by what another name brought.
        let aliases = aliases(machine);
        rename(machine, &aliases);
    }
    links::follow(machine);
    join_mounts(machine);
    take_luks_headers(machine);
    take_smart(machine);
    take_health(machine);
    take_groups(machine);
    place_disks(machine);
    sensors::give(machine);
    storcli::join(machine);
    take_seen_disks(machine);
    take_affinity(machine);
    take_only_interface(machine);
    inherit(machine);
    rate_ciphers(machine);
}

/// The kernel's name of every key that is none.
fn aliases(machine: &Machine) -> BTreeMap<String, String> {
    let mut by_mapping = BTreeMap::new();
    let mut by_number = BTreeMap::new();
    let mut by_members = BTreeMap::new();
    for (key, device) in &machine.block {
        if let Some(number) = device.number.value().filter(|_| !is_alias(key)) {
            by_number.insert(format!("{}:{}", number.0, number.1), key.clone());
        }
        match &device.kind {
            BlockKind::Dm(dm) if !is_alias(key) => {
                by_mapping.extend(dm.name.value().map(|name| (format!("mapper/{name}"), key.clone())));
            }
            BlockKind::Md(_) if !is_alias(key) && !device.slaves.is_empty() => {
                by_members.insert(device.slaves.iter().collect::<BTreeSet<_>>(), key.clone());
            }
            _ => {}
        }
    }
    let mut aliases = BTreeMap::new();
    for (key, device) in &machine.block {
        let array =
            || key.starts_with("md/").then(|| by_members.get(&device.slaves.iter().collect())).flatten();
        if let Some(name) = by_mapping.get(key).or_else(array) {
            aliases.insert(key.clone(), name.clone());
        }
        let numbers = device.slaves.iter().filter(|slave| is_number(slave));
        aliases.extend(numbers.filter_map(|slave| Some((slave.clone(), by_number.get(slave)?.clone()))));
    }
    let mounted = machine.mounts.iter().flat_map(|mount| &mount.devices);
    aliases.extend(mounted.filter_map(|name| Some((name.clone(), by_mapping.get(name)?.clone()))));
    aliases
}

/// Whether a key is no name that the kernel gives; its names never hold a slash.
fn is_alias(key: &str) -> bool {
    key.contains('/') || is_number(key)
}

fn rename(machine: &mut Machine, aliases: &BTreeMap<String, String>) {
    if aliases.is_empty() {
        return;
    }
    let new = |name: &mut String| {
        if let Some(known) = aliases.get(name) {
            name.clone_from(known);
        }
    };
    for (alias, name) in aliases {
        let Some(from) = machine.block.remove(alias) else { continue };
        absorb(device(machine, name), from);
    }
    for (key, device) in &mut machine.block {
        for names in [&mut device.slaves, &mut device.holders] {
            names.iter_mut().for_each(new);
            let mut seen = BTreeSet::new();
            names.retain(|name| name != key && seen.insert(name.clone()));
        }
    }
    machine.mounts.iter_mut().flat_map(|mount| &mut mount.devices).for_each(new);
    let stacked: Vec<(String, String)> = machine
        .block
        .iter()
        .flat_map(|(upper, device)| device.slaves.iter().map(move |lower| (lower.clone(), upper.clone())))
        .collect();
    for (lower, upper) in stacked {
        let Some(below) = machine.block.get_mut(&lower) else { continue };
        if !below.holders.contains(&upper) {
            below.holders.push(upper);
        }
    }
}

/// Takes what another record of the same device knows more.
fn absorb(into: &mut BlockDevice, mut from: BlockDevice) {
    match (&mut into.transport, std::mem::take(&mut from.transport)) {
        (into @ (Transport::None | Transport::Other { pci: None, .. }), from) if from != Transport::None => {
            *into = from
        }
        (into @ Transport::Sata(_), from @ Transport::Sata(_)) => into.fill(from, Than::Less),
        _ => {}
    }
    // `CRYPT-LUKS2` says more than `CRYPT`.
    if let (BlockKind::Dm(into), BlockKind::Dm(from)) = (&mut into.kind, &mut from.kind)
        && let (Some(known), Some(other)) = (into.owner.value(), from.owner.value())
        && other.starts_with(known.as_str())
        && other.len() > known.len()
    {
        into.owner = std::mem::take(&mut from.owner);
    }
    into.fill(from, Than::Less);
}

/// Makes one mount of what several texts said of it.
fn join_mounts(machine: &mut Machine) {
    let all = std::mem::take(&mut machine.mounts);
    mounts::add(machine, all);
    for mount in &mut machine.mounts {
        let [device] = mount.devices.as_slice() else { continue };
        let number = machine.block.get(device).and_then(|device| device.number.get());
        if let Some(number) = number.filter(|_| mount.number == (0, 0)) {
            mount.number = number;
        }
    }
}

/// Gives every header that `luksDump` printed to the mapping that is open on its device.
fn take_luks_headers(machine: &mut Machine) {
    let headers = take_kept(&mut machine.block, "luks/");
    let encrypted = machine
        .block
        .iter()
        .filter(|(_, device)| matches!(&device.kind, BlockKind::Dm(dm) if is_encrypted(dm)));
    let open: BTreeMap<Vec<String>, String> =
        encrypted.map(|(key, device)| (device.slaves.clone(), key.clone())).collect();
    for (_, header) in headers {
        if let Some(mapping) = open.get(&header.slaves).and_then(|key| machine.block.get_mut(key)) {
            absorb(mapping, header);
        }
    }
}

/// Gives what smartctl said of a drive that it did not name to the drive with that serial number, or else to the only one
/// of that model. A drive that no other text knows is one that has no name.
fn take_smart(machine: &mut Machine) {
    let drives = take_kept(&mut machine.block, "smart/");
    let serials = only_with(machine, |device| &device.serial);
    let models = only_with(machine, |device| &device.model);
    for (count, (_, drive)) in (1..).zip(drives) {
        let name = |names: &BTreeMap<String, Option<String>>, fact: &Fact<String>| {
            fact.value().and_then(|value| names.get(value)?.clone())
        };
        let name = name(&serials, &drive.serial).or_else(|| name(&models, &drive.model));
        let name = name.filter(|name| machine.block.contains_key(name));
        let health = machine.health.remove(&drive.name);
        let own = name.clone().unwrap_or_else(|| format!("unnamed-{count}"));
        match name.and_then(|name| machine.block.get_mut(&name)) {
            Some(known) => absorb(known, drive),
            None => _ = machine.block.insert(own.clone(), BlockDevice { name: own.clone(), ..drive }),
        }
        if let Some(health) = health {
            machine.health.entry(own).or_insert(health);
        }
    }
}

/// What lies behind a network is reached by the only interface that is up, where there is one.
fn take_only_interface(machine: &mut Machine) {
    let is_up = |nic: &&Nic| {
        let is_down = nic.state.value().is_some_and(|state| state == "down");
        !nic.is_virtual && nic.name != "lo" && !is_down
    };
    let mut up = machine.nics.values().filter(is_up);
    let only = up.next().filter(|nic| nic.speed.value().is_some() && up.next().is_none());
    let Some((name, source)) = only.map(|nic| (nic.name.clone(), nic.speed.source().clone())) else { return };
    let of_blocks = machine.block.values_mut().filter_map(|device| match &mut device.transport {
        Transport::NvmeFabric(fabric) => Some(&mut fabric.remote),
        Transport::Iscsi(remote) => Some(remote),
        _ => None,
    });
    let of_mounts = machine.mounts.iter_mut().filter_map(|mount| mount.remote.as_mut());
    for remote in of_blocks.chain(of_mounts).filter(|remote| remote.interface.value().is_none()) {
        remote.interface = Fact::known(name.clone(), source.as_str());
    }
}

/// Gives a health log that does not name its drive to the only NVMe drive that there is.
fn take_health(machine: &mut Machine) {
    let mut logs = take_kept(&mut machine.health, health::UNNAMED);
    let is_drive = |device: &&BlockDevice| device.name.starts_with("nvme") && device.partition_of.is_none();
    let mut drives = machine.block.values().filter(is_drive).map(|device| device.name.clone());
    if let (1, Some((_, log)), Some(drive), None) = (logs.len(), logs.pop(), drives.next(), drives.next()) {
        machine.health.entry(drive).or_insert(log);
    }
}

/// Disks of which nothing is known but what `iostat` saw them do, where no text tells of any disk.
fn take_seen_disks(machine: &mut Machine) {
    let is_disk =
        |device: &BlockDevice| matches!(device.kind, BlockKind::Disk) && device.partition_of.is_none();
    if machine.block.values().any(is_disk) {
        return;
    }
    let names: Vec<String> = machine.loads.keys().filter(|name| disk_of(name).is_none()).cloned().collect();
    for name in names {
        let disk = ["sd", "nvme", "vd", "xvd", "mmcblk", "hd"].iter().any(|prefix| name.starts_with(prefix));
        if disk {
            device(machine, &name);
        }
    }
}

/// The whole devices by what `fact` says of them; `None` where several say the same.
fn only_with(machine: &Machine, fact: fn(&BlockDevice) -> &Fact<String>) -> BTreeMap<String, Option<String>> {
    let mut names = BTreeMap::new();
    for (key, device) in
        machine.block.iter().filter(|(key, device)| !is_alias(key) && device.partition_of.is_none())
    {
        if let Some(value) = fact(device).value() {
            let name = names.entry(value.clone()).or_insert_with(|| Some(key.clone()));
            if name.as_ref() != Some(key) {
                *name = None;
            }
        }
    }
    names
}

/// Puts volumes whose devices no text told onto the device of their group, where it has only one.
fn take_groups(machine: &mut Machine) {
    let groups: BTreeMap<String, String> = take_kept(&mut machine.block, "vg/")
        .into_iter()
        .filter_map(|(name, group)| match group.slaves.as_slice() {
            [physical] => Some((volume_name(&name, ""), physical.clone())),
            _ => None,
        })
        .collect();
    let is_bare = |device: &&BlockDevice| device.slaves.is_empty() && matches!(device.kind, BlockKind::Dm(_));
    let bare: Vec<(String, String)> = machine
        .block
        .values()
        .filter(is_bare)
        .filter_map(|device| Some((device.name.clone(), groups.get(group_of(device)?)?.clone())))
        .collect();
    for (volume, physical) in bare {
        stack(machine, &volume, &physical);
    }
}

/// `vg--nas-` of the volume `vg--nas-home`: up to and with the first dash that stands alone, where the group's name ends.
fn group_of(device: &BlockDevice) -> Option<&str> {
    let BlockKind::Dm(dm) = &device.kind else { return None };
    let name = dm.name.value()?;
    let mut dashes = 0usize;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'-' => dashes += 1,
            _ if dashes % 2 == 1 => return name.get(..at),
            _ => dashes = 0,
        }
    }
    None
}

fn is_encrypted(dm: &block::DmDevice) -> bool {
    dm.owner.value().is_some_and(|owner| owner.starts_with("CRYPT"))
}

/// The NVMe drive that was measured, where no text tells of another disk and only one function can be its controller. `measured`
/// has the targets of the results in the same texts, one for each measurement.
///
/// People show the lines of a link without those of its function: then it is that of the only drive. Where a link stands in a
/// text as often as the drive was measured, the first is what it was at first; [`at_each`] has the others.
pub(super) fn take_measured_drive(machine: &mut Machine, measured: &[String]) {
    let Some(name) = measured_drive(machine, measured) else { return };
    let links = machine.pci.len();
    let are_states = links == 1 || links == measured.len();
    if are_states && machine.pci.values().all(is_link_alone) {
        let first = machine.pci.values_mut().next();
        first.into_iter().for_each(|link| take_for_drive(link, name));
    }
    if machine.pci.values().filter(|function| function.is_nvme()).count() == 1 {
        device(machine, name);
    }
}

/// A machine as it was at each measurement of its only drive behind the first, where a text shows its link as often as the drive
/// was measured; else nothing.
pub fn at_each(machine: &Machine, measured: &[String]) -> Vec<Machine> {
    let links: Vec<PciAddress> = machine.pci.keys().copied().collect();
    let alone = machine.pci.values().skip(1).all(is_link_alone);
    let Some(name) = measured_drive(machine, measured).filter(|_| alone && links.len() == measured.len())
    else {
        return Vec::new();
    };
    let moved = |link: &PciAddress| {
        let mut machine = machine.clone();
        take_for_drive(machine.pci.get_mut(link)?, name);
        match &mut machine.block.get_mut(name)?.transport {
            Transport::NvmePci { pci, .. } => *pci = *link,
            _ => return None,
        }
        Some(machine)
    };
    links.iter().skip(1).filter_map(moved).collect()
}

/// The one NVMe drive that was measured, where no text tells of another disk.
fn measured_drive<'n>(machine: &Machine, measured: &'n [String]) -> Option<&'n str> {
    let name = measured.first().filter(|first| measured.iter().all(|other| other == *first))?;
    let name = name.strip_prefix("/dev/").filter(|name| name.starts_with("nvme") && is_kernel_name(name))?;
    let is_other = |device: &BlockDevice| {
        device.name != name && matches!(device.kind, BlockKind::Disk) && device.partition_of.is_none()
    };
    (disk_of(name).is_none() && !machine.block.values().any(is_other)).then_some(name)
}

/// Whether of a function no more is told than its link.
fn is_link_alone(function: &PciDevice) -> bool {
    function.address.is_unnamed()
        && function.class.value().is_none()
        && function.id.value().is_none()
        && function.name.value().is_none()
        && function.link.current_width.value().is_some()
}

fn take_for_drive(link: &mut PciDevice, name: &str) {
    link.class = Fact::known(NVME_CLASS, format!("taken for the link of {name}, the only drive in the text"));
    // No drive has one lane at the most (PCI Express M.2 Specification 4.0, section 1.2: two or four): the port above says so.
    if link.link.max_width.get() == Some(Lanes::new(1)) {
        (link.link.max_width, link.link.max_speed) = Default::default();
    }
}

/// Where disks sit on the bus, when there is only one place where they can. One text may name the disks, and another the function.
fn place_disks(machine: &mut Machine) {
    let only = |is_one: fn(&PciDevice) -> bool| -> Option<PciAddress> {
        let mut found = machine.pci.values().filter(|device| is_one(device)).map(|device| device.address);
        found.next().filter(|_| found.next().is_none())
    };
    let sata = only(|device| device.class.value().is_some_and(|full| full >> 8 == SATA_CLASS));
    let nvme = only(PciDevice::is_nvme);
    let controllers: BTreeSet<String> = machine.block.values().filter_map(nvme_controller).collect();
    for device in machine.block.values_mut() {
        let controller = nvme_controller(device);
        match (&mut device.transport, nvme, controller) {
            (_, Some(pci), Some(controller)) if controllers.len() == 1 => {
                device.transport = Transport::NvmePci { controller, pci };
            }
            (Transport::Sata(link), ..) if link.pci.is_none() => link.pci = sata,
            _ => {}
        }
    }
}

/// The controller of a namespace whose place is not known: `nvme0` of `nvme0n1`.
fn nvme_controller(device: &BlockDevice) -> Option<String> {
    let is_open = matches!(&device.transport, Transport::None | Transport::Other { pci: None, .. });
    let (controller, _) = device.name.rsplit_once('n')?;
    (is_open && device.partition_of.is_none() && is_numbered(controller, "nvme"))
        .then(|| controller.to_owned())
}

/// A partition is carried as its disk is.
fn inherit(machine: &mut Machine) {
    let disks: Vec<(String, BlockDevice)> = machine
        .block
        .values()
        .filter_map(|part| Some((part.name.clone(), machine.block.get(part.partition_of.as_ref()?)?.clone())))
        .collect();
    for (name, disk) in disks {
        if let Some(partition) = machine.block.get_mut(&name) {
            block::inherit(partition, disk);
        }
    }
}

/// The rate of each mapping's cipher, where a benchmark of the same cipher was captured.
fn rate_ciphers(machine: &mut Machine) {
    for (name, device) in &machine.block {
        let BlockKind::Dm(dm) = &device.kind else { continue };
        let tables = dm.table.value().into_iter().flatten();
        let Some(table) = tables.into_iter().find_map(|target| match &target.kind {
            DmKind::Crypt(table) => Some(table),
            _ => None,
        }) else {
            continue;
        };
        let cipher = cipher::kernel_name(&table.cipher);
        let is_same = |rate: &&Fact<cipher::CipherRate>| {
            rate.value()
                .is_some_and(|rate| Some(&rate.cipher) == cipher.as_ref() && rate.key_bits == table.key_bits)
        };
        if let Some(rate) = machine.cipher_benchmarks.iter().find(is_same) {
            let rate = rate.clone().map(|rate| cipher::CipherRate { sector_size: table.sector_size, ..rate });
            machine.ciphers.entry(name.clone()).or_insert(rate);
        }
    }
}

/// The class of display controllers, and the vendor NVIDIA (PCI Code and ID Assignment Specification, section 1.4; the
/// PCI-SIG's list of members).
const DISPLAY_CLASS: u32 = 0x03;
const NVIDIA: u16 = 0x10de;

/// Gives GPUs and network cards the NUMA node that `nvidia-smi topo` names. It numbers GPUs in the order of their addresses
/// (nvidia-smi(1), `-i`: natural enumeration follows the PCI bus), so that it is known which is which when all are there.
fn take_affinity(machine: &mut Machine) {
    let gpus: Vec<PciAddress> = machine
        .pci
        .values()
        .filter(|device| device.id.value().is_none_or(|id| id.vendor == NVIDIA))
        .filter(|device| {
            let is_display = device.class.value().is_some_and(|class| class >> 16 == DISPLAY_CLASS);
            is_display || device.driver.value().is_some_and(|driver| driver == "nvidia")
        })
        .map(|device| device.address)
        .collect();
    let number = |name: &String| name.strip_prefix("GPU")?.parse::<usize>().ok();
    let are_all = machine.affinities.keys().filter_map(number).count() == gpus.len();
    for (name, affinity) in &mut machine.affinities {
        let gpu = number(name).filter(|_| are_all).and_then(|number| gpus.get(number).copied());
        let address = gpu.or_else(|| machine.nics.get(name)?.pci);
        affinity.address = address;
        if let Some(device) = address.and_then(|address| machine.pci.get_mut(&address)) {
            device.numa_node.fill(affinity.node.clone(), Than::Less);
            device.local_cpus.fill(affinity.cpus.clone(), Than::Less);
        }
    }
}
