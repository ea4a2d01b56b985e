//! Who uses a block device: every class of user that there is ([`CLASSES`]), found by identity and not by path, in every
//! namespace that can be seen; and which classes cannot be seen here.
//!
//! Sources: `/sys/class/block` (kernel `Documentation/ABI/stable/sysfs-block`), `/proc` (`Documentation/filesystems/proc.rst`,
//! `proc(5)`), configfs, and what loop devices answer.

mod class;
mod configfs;
mod kernel;
mod loops;
mod processes;
pub mod texts;
mod traffic;
mod wanted;

pub use class::{CLASSES, Class, ClassRow, Hidden};
pub use kernel::{Swap, parse_swaps};
pub use loops::Behind;
pub use loops::backing;
pub use traffic::{Counters, Traffic};
pub use wanted::Identity;

use std::collections::BTreeSet;

use crate::block::DevicePath;
use crate::block::dm_table::parse_number_pair;
use crate::fact::Fact;
use crate::root::Root;
use narrows_base::units::{Bytes, Sectors512};
use processes::Processes;
use wanted::{HeldFile, Wanted};

/// What is known of a device and of what uses it.
#[derive(Debug, Clone, Default)]
pub struct DeviceUsage {
    /// The kernel name.
    pub name: String,
    /// Major and minor number, `…/dev`.
    pub number: Fact<(u32, u32)>,
    pub size: Fact<Bytes>,
    /// Whether the kernel refuses writes, `…/ro`.
    pub read_only: Fact<bool>,
    /// What tells it from all other devices.
    pub identity: Identity,
    /// The device, its partitions and what is built on it, and the disk and the devices that it is built on.
    pub family: Vec<String>,
    /// Who uses any of these, in order.
    pub uses: Vec<DeviceUse>,
    /// Which classes of user cannot be seen here, each with what hides it, as phrases.
    pub unseen: Vec<String>,
}

/// One use of a device of the family.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceUse {
    /// The kernel name of the device that is used.
    pub device: String,
    pub how: How,
}

/// How a device is used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    Mounted {
        /// Where, as seen from the process.
        point: String,
        /// A process that sees the mount.
        process: u32,
    },
    /// Swap space, as `/proc/swaps` names it.
    Swap(String),
    /// Part of another device: its kernel name and, for a mapping, its name.
    Holder(String),
    /// Built on another device, `…/slaves`.
    BuiltOn(String),
    /// Divided into this partition.
    Partition(String),
    /// A partition of this disk.
    PartitionOf(String),
    /// Open in a process: its number and name.
    Open {
        process: u32,
        /// Its name, `/proc/PID/comm`.
        program: String,
    },
    /// The file of a loop device, or the device below one: its kernel name.
    Loop(String),
    /// Registered with bcache, `…/bcache`.
    Bcache,
    /// Mapped into the memory of a process: its number and name.
    Mapped {
        process: u32,
        /// Its name.
        program: String,
    },
    /// Registered with io_uring by a process: its number and name.
    Registered {
        process: u32,
        /// Its name.
        program: String,
    },
    /// Exported by the kernel: by what.
    Exported(String),
    /// Open for a file system of this kind, whether its mount is in sight or not.
    FileSystem(String),
    /// Used by another part of the kernel.
    Kernel(String),
    /// Locked by a process; 0 for one that is not seen.
    Locked { process: u32 },
    /// The worldwide name of this other device is the same.
    Path(String),
    /// A mapping that is suspended.
    Suspended,
}

/// Reads who uses the device with a kernel name. Our own process does not count.
pub fn read(root: &Root, name: &str) -> DeviceUsage {
    let block = format!("/sys/class/block/{name}");
    let (wanted, findings) = search_family(root, name);
    DeviceUsage {
        name: name.to_owned(),
        number: number(root, name),
        size: size(root, name),
        read_only: root.number(&format!("{block}/ro")).map(|flag| flag != 0),
        identity: Identity::read(root, name),
        family: wanted.names().cloned().collect(),
        uses: findings.uses.into_iter().collect(),
        unseen: findings.hidden.iter().map(ToString::to_string).collect(),
    }
}

/// Major and minor number of a device.
pub fn number(root: &Root, name: &str) -> Fact<(u32, u32)> {
    root.parse(&format!("/sys/class/block/{name}/dev"), parse_number_pair)
}

/// The size of the device with a kernel name.
pub fn size(root: &Root, name: &str) -> Fact<Bytes> {
    root.number(&format!("/sys/class/block/{name}/size")).map(|n| Bytes::from_sectors(Sectors512::new(n)))
}

/// What tells a device with a world-wide name from all others, whatever path leads to it.
pub fn world_wide_name(root: &Root, name: &str) -> Option<String> {
    let text = |file: &str| root.text(&format!("/sys/class/block/{name}/{file}")).get();
    ["wwid", "device/wwid"].iter().find_map(|file| text(file).filter(|text| !text.is_empty()))
}

/// Looks for everything that uses the device with a kernel name, or a device of its family.
fn search_family(root: &Root, name: &str) -> (Wanted, Findings) {
    let mut finder = Finder { root, wanted: Wanted::default(), findings: Findings::default() };
    finder.above(name);
    finder.below(name);
    finder.behind(name);
    finder.paths(name);
    finder.suspended();
    let Finder { wanted, mut findings, .. } = finder;
    class::look_at_sight(root, &mut findings);
    loops::search(root, name, &wanted, &mut findings);
    configfs::search(root, &wanted, &mut findings);
    kernel::search(root, &wanted, &mut findings);
    Processes::search(root, &wanted, &mut findings);
    (wanted, findings)
}

/// Collects the family.
struct Finder<'a> {
    root: &'a Root,
    wanted: Wanted,
    findings: Findings,
}

impl Finder<'_> {
    fn join(&mut self, name: &str) -> bool {
        self.wanted.join(self.root, name)
    }

    /// The device, its partitions and everything that is built on them.
    fn above(&mut self, name: &str) {
        if !self.join(name) {
            return;
        }
        let block = format!("/sys/class/block/{name}");
        if self.root.exists(&format!("{block}/bcache")) {
            self.findings.note(name, How::Bcache);
        }
        let entries = self.root.try_list(&block);
        if entries.value().is_none() {
            let why = entries.missing().unwrap_or_else(|| format!("`{block}` cannot be listed"));
            self.findings.hide(&[Class::Stacked], why);
        }
        for entry in entries.get().unwrap_or_default() {
            if self.root.exists(&format!("{block}/{entry}/partition")) {
                self.findings.note(name, How::Partition(entry.clone()));
                self.above(&entry);
            }
        }
        for holder in self.root.list(&format!("{block}/holders")) {
            let mapped = self.root.text(&format!("/sys/class/block/{holder}/dm/name")).get();
            let shown = mapped.map_or_else(|| holder.clone(), |mapped| format!("{holder} ({mapped})"));
            self.findings.note(name, How::Holder(shown));
            self.above(&holder);
        }
    }

    /// The disk of a partition and the devices that a device is built on. What else uses those is not our concern.
    fn below(&mut self, name: &str) {
        let block = format!("/sys/class/block/{name}");
        if self.root.exists(&format!("{block}/partition"))
            && let Some(real) = self.root.resolve(&block).get()
            && let Some(disk) = DevicePath::new(&real).parent_name()
        {
            self.findings.note(name, How::PartitionOf(disk.to_owned()));
            if self.join(disk) {
                self.below(disk);
            }
        }
        for slave in self.root.list(&format!("{block}/slaves")) {
            self.built_on(name, &slave);
        }
        let device = loops::behind(self.root, name).and_then(|told| told.behind.device);
        if let Some(lower) = device.and_then(|number| crate::mount::by_number(self.root, number)) {
            self.built_on(name, &lower);
        }
    }

    fn built_on(&mut self, name: &str, lower: &str) {
        self.findings.note(name, How::BuiltOn(lower.to_owned()));
        if self.join(lower) {
            self.below(lower);
        }
    }

    /// The file behind the target, when that is a loop device.
    fn behind(&mut self, name: &str) {
        if let Some(told) = loops::behind(self.root, name)
            && told.behind.device.is_none()
        {
            self.wanted.watch_file(loops::file_behind(self.root, name, told.behind.file));
        }
    }

    /// Other whole devices with the worldwide name of the target: paths to one drive, or drives that nobody can tell
    /// from each other.
    fn paths(&mut self, name: &str) {
        let wide = |name: &str| world_wide_name(self.root, name);
        let Some(own) = wide(name) else { return };
        let blocks = self.root.list("/sys/class/block");
        let others = blocks.iter().filter(|other| *other != name && !self.wanted.has(other));
        let twins: Vec<String> = others.filter(|other| wide(other).as_ref() == Some(&own)).cloned().collect();
        twins.into_iter().for_each(|twin| self.findings.note(name, How::Path(twin)));
    }

    /// Mappings that are suspended: whoever reads one waits until it is resumed, and nothing ends that.
    fn suspended(&mut self) {
        for name in self.wanted.names() {
            if is_suspended(self.root, name) {
                self.findings.note(name, How::Suspended);
            }
        }
    }
}

/// Whether a device is a mapping that is suspended.
fn is_suspended(root: &Root, name: &str) -> bool {
    root.text(&format!("/sys/class/block/{name}/dm/suspended")).value().is_some_and(|text| text == "1")
}

/// The mappings that are suspended among a device and what it is built on: whoever reads one waits until it is resumed.
pub fn suspended(root: &Root, name: &str) -> Vec<String> {
    let mut finder = Finder { root, wanted: Wanted::default(), findings: Findings::default() };
    finder.join(name);
    finder.below(name);
    finder.wanted.names().filter(|name| is_suspended(root, name)).cloned().collect()
}

/// What a search comes to.
#[derive(Debug, Default)]
struct Findings {
    /// Who uses members of the family, in order.
    uses: BTreeSet<DeviceUse>,
    /// What could not be seen, in order.
    hidden: BTreeSet<Hidden>,
}

impl Findings {
    /// Somebody uses a device.
    fn note(&mut self, device: &str, how: How) {
        self.uses.insert(DeviceUse { device: device.to_owned(), how });
    }

    /// Classes cannot be seen.
    fn hide(&mut self, classes: &[Class], why: impl Into<String>) {
        self.hidden.insert(Hidden::new(classes, why));
    }

    /// Whether a class is known not to be seen.
    fn hides(&self, class: Class) -> bool {
        self.hidden.iter().any(|hidden| hidden.classes.contains(&class))
    }
}

/// Where a path that the kernel tells of leads to.
#[derive(Debug, PartialEq, Eq)]
enum Lead {
    Member(HeldFile),
    /// To something else.
    Elsewhere,
    /// To nothing that could be looked at: what the kernel holds is not known.
    Nowhere,
}

/// Where a path leads to. A relative path was one of a process that is not known.
fn lead(root: &Root, wanted: &Wanted, path: &str) -> Lead {
    match root.stat(path).filter(|_| path.starts_with('/')) {
        None => Lead::Nowhere,
        Some(stat) => wanted.held_at(root, path, &stat).map_or(Lead::Elsewhere, Lead::Member),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Node, Tree};

    pub(super) const SCSI: &str = "/sys/devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block";

    /// A disk `sdb` with a partition, and a disk `sdc` that nothing uses.
    pub(super) fn machine() -> Tree {
        let mut tree = Tree::new();
        for (path, text) in [
            ("sdb/dev", "8:16"),
            ("sdb/size", "2097152"),
            ("sdb/ro", "0"),
            ("sdb/sdb1/partition", "1"),
            ("sdb/sdb1/dev", "8:17"),
            ("sdc/dev", "8:32"),
            ("sdc/size", "2097152"),
            ("sdc/ro", "0"),
        ] {
            tree.file(&format!("{SCSI}/{path}"), text);
        }
        for (name, path) in [("sdb", "sdb"), ("sdb1", "sdb/sdb1"), ("sdc", "sdc")] {
            tree.link(&format!("/sys/class/block/{name}"), &format!("{SCSI}/{path}"));
            tree.file(&format!("/dev/{name}"), "");
        }
        for (number, path) in [("8:16", "sdb"), ("8:17", "sdb/sdb1"), ("8:32", "sdc")] {
            tree.link(&format!("/sys/dev/block/{number}"), &format!("{SCSI}/{path}"));
        }
        tree.file("/proc/swaps", "Filename Type Size Used Priority\n")
            .file("/proc/1/mountinfo", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
            .link("/proc/1/ns/mnt", "mnt:[4026531840]")
            .link("/proc/self", "999")
            .file("/proc/999/mountinfo", MOUNTS)
            .file("/proc/999/status", "Name:\tnarrows\nCapEff:\t000001ffffffffff\n")
            .link("/proc/999/ns/pid", "pid:[4026531836]")
            .link("/proc/999/ns/user", "user:[4026531837]")
            .link("/proc/999/ns/mnt", "mnt:[4026531840]")
            .insert("/proc/1/fd", Node::Dir);
        tree
    }

    /// What is mounted on it.
    pub(super) const MOUNTS: &str = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:21 / /proc rw - proc proc rw\n3 1 0:22 / /sys rw - sysfs sysfs rw\n";

    /// The same with a loop device over the file with inode 77.
    pub(super) fn over_file() -> Tree {
        let mut tree = machine();
        tree.file("/sys/class/block/loop0/dev", "7:0")
            .file("/sys/class/block/loop0/loop/backing_file", "/srv/disk.img")
            .file("/narrows/probe/loop/loop0", "8:1 77");
        tree
    }

    pub(super) fn hows(tree: Tree, name: &str) -> Vec<(String, How)> {
        read(&Root::from_tree(tree), name).uses.into_iter().map(|found| (found.device, found.how)).collect()
    }

    #[test]
    fn nothing_is_said_of_a_disk_that_nobody_uses() {
        let usage = read(&Root::from_tree(machine()), "sdc");
        assert_eq!((usage.uses, usage.unseen), (Vec::new(), Vec::new()));
        assert_eq!(usage.family, ["sdc"]);
        assert_eq!(usage.number.get(), Some((8, 32)));
        assert_eq!(usage.size.get(), Some(Bytes::from_mib(1024)));
        assert_eq!(usage.read_only.get(), Some(false));
    }

    #[test]
    fn a_disk_and_its_partition_know_each_other() {
        let usage = read(&Root::from_tree(machine()), "sdb");
        assert_eq!(usage.family, ["sdb", "sdb1"]);
        assert_eq!(hows(machine(), "sdb"), [("sdb".to_owned(), How::Partition("sdb1".to_owned()))]);
        assert_eq!(hows(machine(), "sdb1"), [("sdb1".to_owned(), How::PartitionOf("sdb".to_owned()))]);
    }

    #[test]
    fn a_mount_in_another_namespace_is_seen() {
        let mut tree = machine();
        tree.link("/proc/77/ns/mnt", "mnt:[4026532222]")
            .file("/proc/77/mountinfo", "1 1 8:32 / /hidden\\040place rw - xfs /dev/sdc rw\n")
            .insert("/proc/77/fd", Node::Dir);
        let point = "/hidden place".to_owned();
        assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), How::Mounted { point, process: 77 })]);
    }

    #[test]
    fn what_is_mounted_or_swapped_on_a_mapping_of_a_partition_counts_for_the_disk() {
        let mut tree = machine();
        tree.link("/sys/class/block/dm-0", "../../devices/virtual/block/dm-0")
            .file("/sys/devices/virtual/block/dm-0/dev", "253:0")
            .file("/sys/devices/virtual/block/dm-0/dm/name", "vault")
            .link("/sys/devices/virtual/block/dm-0/slaves/sdb1", "/sys/class/block/sdb1")
            .link(&format!("{SCSI}/sdb/sdb1/holders/dm-0"), "/sys/class/block/dm-0")
            .link("/dev/mapper/vault", "../dm-0")
            .file("/dev/dm-0", "")
            .file("/proc/swaps", "Filename Type Size Used Priority\n/dev/mapper/vault partition 1 0 -2\n");
        let found = hows(tree.clone(), "sdb");
        assert!(found.contains(&("dm-0".to_owned(), How::Swap("/dev/mapper/vault".to_owned()))), "{found:?}");
        assert!(found.contains(&("sdb1".to_owned(), How::Holder("dm-0 (vault)".to_owned()))), "{found:?}");
        let of_mapping = hows(tree, "dm-0");
        assert!(of_mapping.contains(&("dm-0".to_owned(), How::BuiltOn("sdb1".to_owned()))), "{of_mapping:?}");
    }

    #[test]
    fn an_open_file_is_seen_but_not_our_own() {
        let mut tree = machine();
        for process in ["5", "6"] {
            tree.link(&format!("/proc/{process}/fd/3"), "/dev/sdc")
                .file(&format!("/proc/{process}/comm"), "dd\n")
                .file(&format!("/proc/{process}/mountinfo"), "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
        }
        tree.link("/proc/self", "6")
            .file("/proc/6/mountinfo", MOUNTS)
            .file("/proc/6/status", "CapEff:\t000001ffffffffff\n");
        let open = How::Open { process: 5, program: "dd".to_owned() };
        assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), open)]);
    }

    #[test]
    fn a_registered_bcache_device_is_in_use() {
        let mut tree = machine();
        tree.insert(&format!("{SCSI}/sdc/bcache"), Node::Dir);
        assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), How::Bcache)]);
    }

    #[test]
    fn drives_with_one_worldwide_name_are_not_told_from_each_other() {
        let mut tree = machine();
        tree.file(&format!("{SCSI}/sdb/device/wwid"), "naa.5002538d\n")
            .file(&format!("{SCSI}/sdc/device/wwid"), "naa.5002538d\n");
        assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), How::Path("sdb".to_owned()))]);
    }

    #[test]
    fn a_mapping_that_is_suspended_is_told_before_anybody_reads_it() {
        let mut tree = machine();
        tree.link("/sys/class/block/dm-0", "../../devices/virtual/block/dm-0")
            .file("/sys/devices/virtual/block/dm-0/dev", "253:0")
            .file("/sys/devices/virtual/block/dm-0/dm/suspended", "1\n")
            .link("/sys/devices/virtual/block/dm-0/slaves/sdc", "/sys/class/block/sdc")
            .link(&format!("{SCSI}/sdc/holders/dm-0"), "/sys/class/block/dm-0");
        let found = hows(tree.clone(), "sdc");
        assert!(found.contains(&("dm-0".to_owned(), How::Suspended)), "{found:?}");
        let root = Root::from_tree(tree.clone());
        assert_eq!(suspended(&root, "dm-0"), ["dm-0"]);
        assert_eq!(suspended(&root, "sdc"), [] as [&str; 0], "what is above does not hold a read up");
        tree.file("/sys/devices/virtual/block/dm-0/dm/suspended", "0\n");
        assert!(!hows(tree, "sdc").contains(&("dm-0".to_owned(), How::Suspended)));
    }
}
