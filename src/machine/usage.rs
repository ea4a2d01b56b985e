//! Who uses a block device: every mount in every namespace that can be seen, swap, devices built on it, open files.
//!
//! Sources: `/sys/class/block` (kernel `Documentation/ABI/stable/sysfs-block`), and `/proc/*/mountinfo`, `/proc/*/fd`
//! and `/proc/swaps` (`Documentation/filesystems/proc.rst`, `proc(5)`).

use std::collections::{BTreeMap, BTreeSet};

use super::block::device_path::{DevicePath, is_numbered};
use super::block::dm_table::parse_number_pair;
use super::fact::Fact;
use super::mount;
use super::root::{FileKind, Root};
use crate::units::{Bytes, Sectors512};

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

/// What tells a device from all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Identity {
    /// The serial number that its maker gave it.
    Serial(String),
    /// Its worldwide name.
    WorldWideName(String),
    /// The file behind a loop device.
    BackingFile(String),
    /// The kernel name of a device that is memory: no medium outlives the name.
    KernelName(String),
    /// Nothing.
    #[default]
    None,
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
        identity: identity(root, name),
        ..DeviceUsage::default()
    };
    let mut finder = Finder { root, family: BTreeMap::new(), uses: BTreeSet::new(), unseen: Vec::new() };
    finder.above(name);
    finder.below(name);
    finder.loops(name);
    finder.swaps();
    finder.processes(&usage.identity);
    usage.family = finder.family.into_keys().collect();
    usage.uses = finder.uses.into_iter().collect();
    usage.unseen = finder.unseen;
    usage
}

/// Major and minor number of a device.
pub fn number(root: &Root, name: &str) -> Fact<(u32, u32)> {
    root.parse(&format!("/sys/class/block/{name}/dev"), parse_number_pair)
}

/// What a user can read on the device, or in `lsblk`, and type.
fn identity(root: &Root, name: &str) -> Identity {
    let block = format!("/sys/class/block/{name}");
    let text = |file: &str| root.text(&format!("{block}/{file}")).get().filter(|text| !text.is_empty());
    if is_numbered(name, "loop") {
        return text("loop/backing_file").map_or(Identity::None, Identity::BackingFile);
    }
    let serial = ["device/serial", "serial"].iter().find_map(|file| text(file));
    let page = || root.bytes(&format!("{block}/device/vpd_pg80")).get().and_then(|page| serial_of_vpd(&page));
    if let Some(serial) = serial.or_else(page) {
        return Identity::Serial(serial);
    }
    if let Some(name) = ["wwid", "device/wwid"].iter().find_map(|file| text(file)) {
        return Identity::WorldWideName(name);
    }
    let is_memory = is_numbered(name, "ram") || is_numbered(name, "zram") || name.starts_with("nullb");
    if is_memory { Identity::KernelName(name.to_owned()) } else { Identity::None }
}

/// The serial number in VPD page 80h: after four bytes of header, the last two of which are its length (SPC-4, 7.8.14).
fn serial_of_vpd(page: &[u8]) -> Option<String> {
    let (header, rest) = page.split_at_checked(4)?;
    let length = usize::from(u16::from_be_bytes([*header.get(2)?, *header.get(3)?]));
    let serial = String::from_utf8_lossy(rest.get(..length)?).trim_matches(['\0', ' ']).to_owned();
    (header.get(1) == Some(&0x80) && !serial.is_empty()).then_some(serial)
}

/// Collects the family and what uses it.
struct Finder<'a> {
    root: &'a Root,
    /// Kernel names with their numbers.
    family: BTreeMap<String, Option<(u32, u32)>>,
    uses: BTreeSet<DeviceUse>,
    unseen: Vec<String>,
}

impl Finder<'_> {
    /// Makes a device a member; `false` when it was one.
    fn join(&mut self, name: &str) -> bool {
        let number = number(self.root, name).get();
        self.family.insert(name.to_owned(), number).is_none()
    }

    fn note(&mut self, device: &str, how: How) {
        self.uses.insert(DeviceUse { device: device.to_owned(), how });
    }

    /// The device, its partitions and everything that is built on them.
    fn above(&mut self, name: &str) {
        if !self.join(name) {
            return;
        }
        let block = format!("/sys/class/block/{name}");
        if self.root.exists(&format!("{block}/bcache")) {
            self.note(name, How::Bcache);
        }
        for entry in self.list(&block) {
            if self.root.exists(&format!("{block}/{entry}/partition")) {
                self.note(name, How::Partition(entry.clone()));
                self.above(&entry);
            }
        }
        for holder in self.root.list(&format!("{block}/holders")) {
            let mapped = self.root.text(&format!("/sys/class/block/{holder}/dm/name")).get();
            let shown = mapped.map_or_else(|| holder.clone(), |mapped| format!("{holder} ({mapped})"));
            self.note(name, How::Holder(shown));
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
            self.note(name, How::PartitionOf(disk.to_owned()));
            if self.join(disk) {
                self.below(disk);
            }
        }
        for slave in self.root.list(&format!("{block}/slaves")) {
            self.note(name, How::BuiltOn(slave.clone()));
            if self.join(&slave) {
                self.below(&slave);
            }
        }
    }

    /// Loop devices over a member, and others over the file of the target when that is a loop device.
    fn loops(&mut self, target: &str) {
        let file = |name: &str| self.root.text(&format!("/sys/class/block/{name}/loop/backing_file")).get();
        let own = file(target);
        let all = self.root.list("/sys/class/block");
        let others = all.iter().filter(|name| *name != target && is_numbered(name, "loop"));
        let backed: Vec<(String, String)> =
            others.filter_map(|name| Some((name.clone(), file(name)?))).collect();
        for (name, file) in backed {
            if own.as_ref() == Some(&file) {
                self.note(target, How::Loop(name));
            } else if let Some(device) = self.member_at(&file) {
                self.note(&device, How::Loop(name));
            }
        }
    }

    /// The first column names a device or a file; a file is on a mount, which is found as such.
    fn swaps(&mut self) {
        let text = self.root.text("/proc/swaps");
        // A kernel without swap has no such file.
        if let Fact::Denied { .. } = text {
            self.unseen.push("swap space (needs root)".to_owned());
        }
        for path in parse_swaps(text.value().map_or("", String::as_str)) {
            if let Some(device) = self.member_at(&path) {
                self.note(&device, How::Swap(path));
            }
        }
    }

    fn processes(&mut self, identity: &Identity) {
        let own = self.root.link_name("/proc/self").get().and_then(|name| name.parse().ok());
        let file = match identity {
            Identity::BackingFile(path) => Some(path.as_str()),
            _ => None,
        };
        let mut seen = BTreeSet::new();
        let (mut hidden_mounts, mut hidden_files) = (0_u64, 0_u64);
        let processes: Vec<u32> = self.list("/proc").iter().filter_map(|name| name.parse().ok()).collect();
        for process in processes {
            hidden_mounts += u64::from(self.mounts(process, &mut seen));
            if Some(process) != own {
                hidden_files += u64::from(self.open_files(process, file));
            }
        }
        for (count, what) in [(hidden_mounts, "mounts"), (hidden_files, "open files")] {
            if count > 0 {
                self.unseen.push(format!("the {what} of {count} processes (needs root)"));
            }
        }
    }

    /// Looks through the mounts of a process, once for each namespace; `true` when they may not be read.
    fn mounts(&mut self, process: u32, seen: &mut BTreeSet<String>) -> bool {
        let namespace = self.root.link_name(&format!("/proc/{process}/ns/mnt"));
        if namespace.get().is_some_and(|namespace| !seen.insert(namespace)) {
            return false;
        }
        let text = self.root.text(&format!("/proc/{process}/mountinfo"));
        for found in mount::parse(text.value().map_or("", String::as_str)) {
            let by_number = self.member_numbered(found.number);
            let devices = match by_number {
                Some(name) => vec![name],
                None => mount::devices(self.root, &found),
            };
            for device in
                devices.into_iter().filter(|name| self.family.contains_key(name)).collect::<Vec<_>>()
            {
                self.note(&device, How::Mounted { point: found.point.clone(), process });
            }
        }
        matches!(text, Fact::Denied { .. })
    }

    /// Looks through the open files of a process for members, and for the file behind the target; `true` when they may
    /// not be read. A device node may have any name anywhere, so the number decides.
    fn open_files(&mut self, process: u32, file: Option<&str>) -> bool {
        let directory = format!("/proc/{process}/fd");
        let listing = self.root.try_list(&directory);
        let mut held = BTreeSet::new();
        for entry in listing.value().map_or(&[][..], Vec::as_slice) {
            let path = format!("{directory}/{entry}");
            match self.root.kind(&path) {
                Some(FileKind::Block(major, minor)) => held.extend(self.member_numbered((major, minor))),
                Some(FileKind::File) => {
                    let target = self.root.resolve(&path).get();
                    let target = target.as_deref().filter(|target| target.starts_with('/'));
                    if target.is_some() && target == file {
                        held.insert("its backing file".to_owned());
                    }
                    held.extend(target.and_then(|target| self.member_at(target)));
                }
                _ => {}
            }
        }
        for device in held {
            let program = self.root.text(&format!("/proc/{process}/comm")).get().unwrap_or_default();
            self.note(&device, How::Open { process, program });
        }
        matches!(listing, Fact::Denied { .. })
    }

    /// The names in a directory that must be there.
    fn list(&mut self, path: &str) -> Vec<String> {
        let listing = self.root.try_list(path);
        if let Some(missing) = listing.missing() {
            self.unseen.push(missing);
        }
        listing.get().unwrap_or_default()
    }

    fn member_numbered(&self, number: (u32, u32)) -> Option<String> {
        self.family.iter().find(|(_, own)| **own == Some(number)).map(|(name, _)| name.clone())
    }

    fn member_at(&self, path: &str) -> Option<String> {
        if let Some(FileKind::Block(major, minor)) = self.root.kind(path) {
            return self.member_numbered((major, minor));
        }
        mount::by_path(self.root, path).filter(|name| self.family.contains_key(name))
    }
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
    fn machine() -> Tree {
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
    fn a_serial_number_comes_from_the_driver_or_from_the_vital_product_data() {
        // SPC-4, 7.8.14: peripheral type, page code 80h, length in two bytes, then the number, padded with blanks.
        assert_eq!(serial_of_vpd(b"\0\x80\0\x0cWD-WX12345  "), Some("WD-WX12345".to_owned()));
        assert_eq!(serial_of_vpd(b"\0\x80\0\x0cshort"), None);
        assert_eq!(serial_of_vpd(b"\0\x83\0\x04abcd"), None);
        assert_eq!(serial_of_vpd(b""), None);
        let mut tree = machine();
        tree.file(&format!("{SCSI}/sdc/device/vpd_pg80"), "\0\u{0}");
        assert_eq!(identity(&Root::from_tree(tree.clone()), "sdc"), Identity::None);
        tree.file(&format!("{SCSI}/sdc/device/wwid"), "naa.5002538d\n");
        assert_eq!(
            identity(&Root::from_tree(tree.clone()), "sdc"),
            Identity::WorldWideName("naa.5002538d".to_owned())
        );
        tree.file(&format!("{SCSI}/sdc/device/serial"), "S5GX  \n");
        assert_eq!(identity(&Root::from_tree(tree), "sdc"), Identity::Serial("S5GX".to_owned()));
        assert_eq!(
            identity(&Root::from_tree(Tree::new()), "nullb0"),
            Identity::KernelName("nullb0".to_owned())
        );
    }

    #[test]
    fn swap_is_listed_by_its_first_column() {
        let text = "Filename\t\t\t\tType\t\tSize\n/dev/sda2                               partition\t8388604\n/swap\\040file file 1\n";
        assert_eq!(parse_swaps(text), ["/dev/sda2", "/swap file"]);
        assert!(parse_swaps("").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_and_no_page_panic(text in "\\PC{0,200}", page: Vec<u8>) {
            parse_swaps(&text);
            serial_of_vpd(&page);
        }
    }
}
