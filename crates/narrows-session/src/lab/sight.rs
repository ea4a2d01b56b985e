//! What is there of a lab: looked up in `/sys` and `/proc`, never remembered.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use super::journal::{Head, NamedDevice};
use super::names::{Names, node, partition};
use super::slice::{Counters, Extent, Moment, SliceKnown};
use super::slices::SlicePlace;
use super::step::On;
use narrows_machine::block::md::parse_done;
use narrows_machine::block::{DmKind, DmTarget, dm_targets};
use narrows_machine::root::Root;
use narrows_machine::usage::{self, Identity, number, world_wide_name};
use narrows_machine::{mount, zfs};

/// Kernel names of whole devices.
fn blocks(root: &Root) -> Vec<String> {
    root.list("/sys/block")
}

/// The start of the machine that is running.
pub fn boot(root: &Root) -> String {
    root.text("/proc/sys/kernel/random/boot_id").get().unwrap_or_default()
}

/// A name for an array that none has.
pub fn free_array(root: &Root) -> Option<String> {
    let taken: BTreeSet<String> = blocks(root).into_iter().collect();
    (0..=127).rev().map(|number| format!("md{number}")).find(|name| !taken.contains(name))
}

/// What is there today of a named device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Today {
    /// It, under this kernel name.
    There(String),
    /// Nothing of its identity and size.
    Absent,
    /// Several devices of its identity and size, none of which is known to be it.
    Twins(Vec<String>),
}

impl Today {
    /// The kernel name, if the device is there.
    pub fn name(self) -> Option<String> {
        match self {
            Self::There(name) => Some(name),
            Self::Absent | Self::Twins(_) => None,
        }
    }
}

/// What is there today of each named device: it has the same identity, worldwide name and size. Among several that have, it is the
/// one whose medium has the same number in the same start of the machine; another of them it never is. That number alone tells
/// a loop device whose identity reads otherwise now: the path of the file behind it is another once it is seen from outside of
/// a chroot, or from another mount namespace. The kernel counts the number up whenever a loop device gets a file
/// (`disk_force_media_change` in Linux drivers/block/loop.c).
pub fn find_devices(root: &Root, head: &Head) -> Vec<Today> {
    let today: Vec<NamedDevice> = blocks(root).iter().filter_map(|name| named(root, name)).collect();
    let is_same_boot = boot(root) == head.boot;
    let find = |device: &NamedDevice| {
        let is_like = |other: &&NamedDevice| {
            other.identity == device.identity
                && other.bytes == device.bytes
                && other.world_wide_name == device.world_wide_name
                && (!device.volatile || is_same_boot)
        };
        let found: Vec<&NamedDevice> = today.iter().filter(is_like).collect();
        let is_it = |other: &NamedDevice| {
            is_same_boot && other.sequence == device.sequence && other.number == device.number
        };
        let is_same_loop = |other: &&NamedDevice| {
            device.sequence.is_some()
                && is_it(other)
                && other.bytes == device.bytes
                && other.name.starts_with("loop")
        };
        let it = match &found[..] {
            [] => today.iter().find(is_same_loop),
            [one] => Some(*one),
            several => several.iter().copied().find(|other| is_it(other)),
        };
        match it {
            Some(it) => Today::There(it.name.clone()),
            None if found.is_empty() => Today::Absent,
            None => Today::Twins(found.iter().map(|other| other.name.clone()).collect()),
        }
    };
    head.devices.iter().map(find).collect()
}

/// The number that the kernel gave the medium.
fn sequence(root: &Root, name: &str) -> Option<u64> {
    root.number(&format!("/sys/class/block/{name}/diskseq")).get()
}

/// The slice of a disk and the disk as they are now; `None` when there is none.
pub fn moment(root: &Root, place: &SlicePlace) -> Option<Moment> {
    // In this order: see `slice::since`.
    let disk = known(root, &place.disk)?;
    let rest = match &place.rest {
        Some(rest) => Some(known(root, rest)?),
        None => {
            wait_until_counted(root, &place.slice);
            None
        }
    };
    let slice = known(root, &place.slice)?;
    // A mapping always counts, whatever its own switch says; one that did not would make all of it somebody else's.
    let counts = root.number(&format!("/sys/class/block/{}/queue/iostats", place.disk)).get() == Some(1);
    Some(Moment { sequence: sequence(root, &place.disk), disk, slice, rest, counts })
}

/// How long a mapping may take to count what the disk below has counted.
const UNCOUNTED: Duration = Duration::from_millis(20);

/// The device mapper counts what has ended after the disk below has (since Linux 6.3). With nothing in flight both have.
fn wait_until_counted(root: &Root, mapping: &str) {
    let in_flight = || {
        let stat = root.text(&format!("/sys/class/block/{mapping}/stat")).get();
        stat.and_then(|text| text.split_whitespace().nth(8)?.parse::<u64>().ok()).unwrap_or(0)
    };
    let begin = Instant::now();
    while in_flight() > 0 && begin.elapsed() < UNCOUNTED {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The names of a lab with the slices that are there now.
pub fn on_slices(root: &Root, names: Names) -> Names {
    let place = |(index, disk): (usize, &String)| SlicePlace::find(root, disk, &names, index).slice;
    let devices = names.disks.iter().enumerate().map(place).collect();
    Names { devices, ..names }
}

/// The kernel name of the slice with this index, where it is a mapping.
pub fn slice_mapping(root: &Root, names: &Names, index: usize) -> Option<String> {
    let block = mapping(root, &names.slice_mapping(index))?;
    let uuid = root.text(&format!("/sys/block/{block}/dm/uuid")).get().unwrap_or_default();
    (uuid == names.slice_uuid(index)).then_some(block)
}

/// What was written to a device.
pub fn counters(root: &Root, name: &str) -> Option<Counters> {
    Counters::parse(&root.text(&format!("/sys/class/block/{name}/stat")).get()?)
}

/// A disk or partition as the kernel knows it now.
pub fn known(root: &Root, name: &str) -> Option<SliceKnown> {
    let node = root.probe(&format!("sysfs-node/{name}"), || directory_number(name)).get()?;
    let number = number(root, name).get()?;
    Some(SliceKnown { number, node: node.parse().ok()?, counters: counters(root, name)? })
}

/// The number of a device's directory in sysfs. The kernel gives each a number of its own (`fs/kernfs/dir.c`).
#[expect(clippy::disallowed_methods, reason = "the answer of a probe, which a tree has recorded")]
fn directory_number(name: &str) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(format!("/sys/class/block/{name}")).ok()?;
    Some(metadata.ino().to_string())
}

/// Where the partition of this number of a disk begins and how long it is, in bytes.
pub fn partition_extent(root: &Root, disk: &str, number: u32) -> Option<Extent> {
    let name = partition(disk, number);
    let bytes = |file: &str| root.number(&format!("/sys/class/block/{name}/{file}")).get()?.checked_mul(512);
    Some(Extent { start: bytes("start")?, bytes: bytes("size")? })
}

/// What a device is found again by; `None` when nothing tells it from others.
pub fn named(root: &Root, name: &str) -> Option<NamedDevice> {
    let (identity, volatile) = Identity::read(root, name).text()?;
    Some(NamedDevice {
        name: name.to_owned(),
        number: number(root, name).get()?,
        bytes: usage::size(root, name).get()?.get(),
        identity,
        volatile,
        sequence: sequence(root, name),
        world_wide_name: world_wide_name(root, name),
    })
}

/// The kernel name of what the device mapper calls `name`.
pub fn mapping(root: &Root, name: &str) -> Option<String> {
    let is_it =
        |block: &String| root.text(&format!("/sys/block/{block}/dm/name")).get().as_deref() == Some(name);
    blocks(root).into_iter().filter(|block| block.starts_with("dm-")).find(is_it)
}

/// The kernel name of what is made.
pub fn kernel_name(root: &Root, on: On, names: &Names) -> Option<String> {
    match on {
        On::Device(index) => names.devices.get(index).cloned(),
        On::Array => Some(names.array.clone()).filter(|name| root.exists(&format!("/sys/block/{name}"))),
        On::Volume => mapping(root, &names.mapped_volume()),
        On::Mapping => mapping(root, &names.mapping()),
        On::Zero => mapping(root, &names.zero()),
        // Volumes of other pools are not even opened.
        On::Zvol if !has_pool(root, names) => None,
        On::Zvol => {
            let is_it = |name: &String| zfs::volume(root, name).is_some_and(|set| set == names.zvol());
            blocks(root).into_iter().filter(|name| name.starts_with("zd")).find(is_it)
        }
    }
}

/// What the device mapper does in a device with this kernel name: the word of each of its targets. Empty where it does not
/// tell.
pub fn targets(root: &Root, name: &str) -> Vec<String> {
    let word = |target: DmTarget| match target.kind {
        DmKind::Linear { .. } => "linear".to_owned(),
        DmKind::Striped { .. } => "striped".to_owned(),
        DmKind::Crypt(_) => "crypt".to_owned(),
        DmKind::Other(word) => word,
    };
    dm_targets(root, name).get().into_iter().flatten().map(word).collect()
}

/// Something that is built on the devices, and that nothing is built on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Top {
    /// An array of our devices and no others.
    Array(String),
    /// A mapping of ours, as the device mapper names it.
    Mapping(String),
    /// Something that is not ours, as a phrase.
    Foreign(String),
}

/// Whether the pool of this lab is imported.
pub fn has_pool(root: &Root, names: &Names) -> bool {
    zfs::is_imported(root, &names.pool())
}

/// Whether a pool that `zpool list -v -H -P` lists stands on nodes of this lab and on nothing else.
pub fn is_pool_ours(listing: &str, names: &Names) -> bool {
    let nodes = names.pool_nodes();
    let below: Vec<&str> =
        listing.split_whitespace().filter(|word| word.starts_with('/') || word.contains("/dev/")).collect();
    !below.is_empty() && below.iter().all(|word| nodes.iter().any(|node| node == word))
}

/// What is built on a device, on the lab's zero target or on what is built on them, from the top. What stands on the lab's ZFS
/// volume counts, the volume itself does not: the kernel does not show what it is built on.
pub fn tops(root: &Root, devices: &[String], names: &Names) -> Vec<Top> {
    let mut found = BTreeSet::new();
    let zvol = kernel_name(root, On::Zvol, names);
    let zero = mapping(root, &names.zero()).filter(|block| stands_on_nothing(root, block));
    let devices: &Vec<String> = &devices.iter().cloned().chain(zvol).chain(zero).collect();
    for device in devices {
        climb(root, device, &mut found);
    }
    if found.is_empty() {
        // One that has no table yet stands on nothing, and a zero target never stands on anything.
        let alone = [names.mapping(), names.mapped_volume(), names.zero()].into_iter();
        let is_alone = |name: &String| {
            mapping(root, name).is_some_and(|block| {
                stands_on_nothing(root, &block) && is_mapping_ours(root, &block, name, names)
            })
        };
        return alone.filter(is_alone).map(Top::Mapping).collect();
    }
    let is_top = |name: &&String| root.list(&format!("/sys/class/block/{name}/holders")).is_empty();
    found.iter().filter(is_top).map(|name| classify(root, name, devices, names)).collect()
}

fn is_mapping_ours(root: &Root, block: &str, mapped: &str, names: &Names) -> bool {
    let uuid = root.text(&format!("/sys/block/{block}/dm/uuid")).get().unwrap_or_default();
    names.is_mapped(mapped, &uuid)
}

/// Whether an array bears our UUID: as the kernel tells, or where it does not, in the superblocks of all its members (magic
/// number at 0, `set_uuid` at 16 of `struct mdp_superblock_1`, which stands 4 KiB behind the beginning).
fn is_array_ours(root: &Root, name: &str, names: &Names) -> bool {
    let told = root.text(&format!("/sys/block/{name}/md/uuid")).get();
    // Zeros stand there until the first member was added.
    if let Some(uuid) = told.filter(|uuid| uuid.bytes().any(|byte| !b"0-\n".contains(&byte))) {
        return uuid.trim() == names.id.uuid();
    }
    let members = root.list(&format!("/sys/class/block/{name}/slaves"));
    let bears = |member: &String| {
        let head = root.head(&node(member), 8192).get().unwrap_or_default();
        let superblock = head.get(4096..).unwrap_or_default();
        superblock.starts_with(b"\xfc\x4e\x2b\xa9") && superblock.get(16..32) == Some(&names.id.bytes()[..])
    };
    !members.is_empty() && members.iter().all(bears)
}

/// Everything that stands on the devices or their slices and is not the lab's, as a phrase. It is asked before anything is taken
/// down.
pub fn foreign(root: &Root, names: &Names) -> Option<String> {
    let mut found = BTreeSet::new();
    let zvol = kernel_name(root, On::Zvol, names);
    let zero = mapping(root, &names.zero());
    let ground: Vec<String> = names.devices.iter().cloned().chain(zvol).chain(zero).collect();
    for device in ground.iter().chain(&names.disks) {
        climb(root, device, &mut found);
    }
    // A slice that is a mapping stands on its disk, and is the ground of all else.
    let mut above = found.iter().filter(|name| !names.devices.contains(name));
    let foreign = above.find_map(|name| match classify(root, name, &ground, names) {
        Top::Foreign(what) => Some(what),
        Top::Array(_) | Top::Mapping(_) => None,
    });
    foreign.or_else(|| {
        let named = [names.mapping(), names.mapped_volume(), names.zero()];
        let is_foreign = |name: &String| {
            mapping(root, name).is_some_and(|block| !is_mapping_ours(root, &block, name, names))
        };
        named.into_iter().find(is_foreign).map(|name| format!("the mapping {name}"))
    })
}

fn stands_on_nothing(root: &Root, block: &str) -> bool {
    root.list(&format!("/sys/class/block/{block}/slaves")).is_empty()
}

fn climb(root: &Root, name: &str, found: &mut BTreeSet<String>) {
    for holder in root.list(&format!("/sys/class/block/{name}/holders")) {
        if found.insert(holder.clone()) {
            climb(root, &holder, found);
        }
    }
}

fn classify(root: &Root, name: &str, devices: &[String], names: &Names) -> Top {
    if !stands_on(root, name, devices) {
        return Top::Foreign(format!("{name}, which is built on other devices, too"));
    }
    match root.text(&format!("/sys/block/{name}/dm/name")).get() {
        Some(mapped) if is_mapping_ours(root, name, &mapped, names) => Top::Mapping(mapped),
        Some(mapped) => Top::Foreign(format!("{name} ({mapped})")),
        None if root.exists(&format!("/sys/block/{name}/md")) && is_array_ours(root, name, names) => {
            Top::Array(name.to_owned())
        }
        None => Top::Foreign(name.to_owned()),
    }
}

/// Whether everything that a device is built on is built on `devices` and on nothing else.
fn stands_on(root: &Root, name: &str, devices: &[String]) -> bool {
    let slaves = root.list(&format!("/sys/class/block/{name}/slaves"));
    !slaves.is_empty()
        && slaves.iter().all(|slave| devices.contains(slave) || stands_on(root, slave, devices))
}

/// Whether the array of this lab is there without a member, as a tool leaves it that was ended half-way.
pub fn has_empty_array(root: &Root, names: &Names) -> bool {
    let block = format!("/sys/block/{}", names.array);
    let state = root.text(&format!("{block}/md/array_state")).get();
    root.list(&format!("{block}/slaves")).is_empty()
        && state.is_some_and(|state| state == "clear" || state == "inactive")
}

/// Whether the mount point of this lab is one, in the mount namespace that we are in.
pub fn is_mounted(root: &Root, names: &Names) -> bool {
    mount::read(root).iter().any(|mount| mount.point == names.mount_point())
}

/// The loop device over a scratch file.
pub fn loop_over(root: &Root, file: &str) -> Option<String> {
    let is_it = |name: &String| {
        root.text(&format!("/sys/block/{name}/loop/backing_file")).get().as_deref() == Some(file)
    };
    blocks(root).into_iter().filter(|name| name.starts_with("loop")).find(is_it)
}

/// Whether the kernel knows partitions of a disk.
pub fn has_partitions(root: &Root, disk: &str) -> bool {
    let is_one = |entry: &String| root.exists(&format!("/sys/block/{disk}/{entry}/partition"));
    root.list(&format!("/sys/block/{disk}")).iter().any(is_one)
}

/// What an array is still busy with: the word of `sync_action`, unless nothing goes on (`idle`, or `frozen` by somebody); and
/// how far it is, from 0 to 1.
pub fn resync(root: &Root, array: &str) -> Option<(String, Option<f64>)> {
    let md = format!("/sys/block/{array}/md");
    let action = root.text(&format!("{md}/sync_action")).get();
    let action = action.filter(|word| word != "idle" && word != "frozen")?;
    let done = root.parse(&format!("{md}/sync_completed"), parse_done).get();
    Some((action, done))
}

#[cfg(test)]
#[path = "sight_tests.rs"]
mod tests;
