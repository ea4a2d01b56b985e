//! Who uses a block device: every mount in every namespace that can be seen, swap, devices built on it, open files.
//!
//! Sources: `/sys/class/block` (kernel `Documentation/ABI/stable/sysfs-block`), and `/proc/*/mountinfo`, `/proc/*/fd`
//! and `/proc/swaps` (`Documentation/filesystems/proc.rst`, `proc(5)`).

mod finder;
mod identity;

pub use identity::Identity;

use super::block::dm_table::parse_number_pair;
use super::fact::Fact;
use super::mount;
use super::root::Root;
use crate::units::{Bytes, Sectors512};
use finder::Finder;

/// What is known of a device and of what uses it.
#[derive(Debug, Clone, Default)]
pub struct DeviceUsage {
    /// The kernel name.
    pub name: String,
    /// Major and minor number, `…/dev`.
    pub number: Fact<(u32, u32)>,
    /// Its size, `…/size`.
    pub size: Fact<Bytes>,
    /// Whether the kernel refuses writes, `…/ro`.
    pub read_only: Fact<bool>,
    /// What tells it from all other devices.
    pub identity: Identity,
    /// The device, its partitions and what is built on it, and the disk and the devices that it is built on.
    pub family: Vec<String>,
    /// Who uses any of these, in order.
    pub uses: Vec<DeviceUse>,
    /// What could not be looked at, as phrases.
    pub unseen: Vec<String>,
}

/// One use of a device of the family.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceUse {
    /// The kernel name of the device that is used.
    pub device: String,
    /// How.
    pub how: How,
}

/// How a device is used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Mounted.
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
        /// The process.
        process: u32,
        /// Its name, `/proc/PID/comm`.
        program: String,
    },
    /// The file of a loop device, or the device below one: its kernel name.
    Loop(String),
    /// Registered with bcache, `…/bcache`.
    Bcache,
}

/// Reads who uses the device with a kernel name. Our own process does not count.
pub fn read(root: &Root, name: &str) -> DeviceUsage {
    let block = format!("/sys/class/block/{name}");
    let mut usage = DeviceUsage {
        name: name.to_owned(),
        number: number(root, name),
        size: root.number(&format!("{block}/size")).map(|n| Bytes::from_sectors(Sectors512::new(n))),
        read_only: root.number(&format!("{block}/ro")).map(|flag| flag != 0),
        identity: Identity::read(root, name),
        ..DeviceUsage::default()
    };
    let found = Finder::search(root, name, &usage.identity);
    usage.family = found.family;
    usage.uses = found.uses;
    usage.unseen = found.unseen;
    usage
}

/// Major and minor number of a device.
pub fn number(root: &Root, name: &str) -> Fact<(u32, u32)> {
    root.parse(&format!("/sys/class/block/{name}/dev"), parse_number_pair)
}

/// The first column of `/proc/swaps`, octal escapes undone. The first line names the columns.
pub fn parse_swaps(text: &str) -> Vec<String> {
    let names = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| name.starts_with('/')).map(mount::unescape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tree::{Node, Tree};
    use proptest::prelude::*;

    const SCSI: &str = "/sys/devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block";

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
            .insert("/proc/1/fd", Node::Dir);
        tree
    }

    fn hows(tree: Tree, name: &str) -> Vec<(String, How)> {
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
        tree.link("/proc/self", "6");
        let open = How::Open { process: 5, program: "dd".to_owned() };
        assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), open)]);
    }

    #[test]
    fn a_loop_device_over_a_disk_or_over_the_same_file_is_seen() {
        let mut tree = machine();
        for (name, file) in [("loop0", "/dev/sdc"), ("loop1", "/srv/disk.img"), ("loop2", "/srv/disk.img")] {
            tree.file(&format!("/sys/class/block/{name}/loop/backing_file"), file);
        }
        assert_eq!(hows(tree.clone(), "sdc"), [("sdc".to_owned(), How::Loop("loop0".to_owned()))]);
        assert_eq!(hows(tree.clone(), "loop1"), [("loop1".to_owned(), How::Loop("loop2".to_owned()))]);
        let identity = read(&Root::from_tree(tree), "loop1").identity;
        assert_eq!(identity, Identity::BackingFile("/srv/disk.img".to_owned()));
    }

    #[test]
    fn a_registered_bcache_device_is_in_use() {
        let mut tree = machine();
        tree.insert(&format!("{SCSI}/sdc/bcache"), Node::Dir);
        assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), How::Bcache)]);
    }

    #[test]
    fn what_may_not_be_looked_at_is_said() {
        let mut tree = machine();
        for process in ["8", "9"] {
            tree.insert(&format!("/proc/{process}/fd"), Node::Denied);
        }
        tree.insert("/proc/9/mountinfo", Node::Denied);
        let unseen = read(&Root::from_tree(tree), "sdc").unseen;
        assert_eq!(
            unseen,
            ["the mounts of 1 processes (needs root)", "the open files of 2 processes (needs root)"]
        );
        let unseen = read(&Root::from_tree(Tree::new()), "sdc").unseen;
        assert!(unseen.iter().any(|what| what.contains("/proc")), "{unseen:?}");
    }

    #[test]
    fn swap_is_listed_by_its_first_column() {
        let text = "Filename\t\t\t\tType\t\tSize\n/dev/sda2                               partition\t8388604\n/swap\\040file file 1\n";
        assert_eq!(parse_swaps(text), ["/dev/sda2", "/swap file"]);
        assert!(parse_swaps("").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            parse_swaps(&text);
        }
    }
}
