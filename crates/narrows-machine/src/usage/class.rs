//! The classes of user that a device can have: what shows each, and what hides it. The only such list; what is hidden is
//! refused in its words, and `docs/guard-users.md` is held to it.

use std::fmt;

use super::Findings;
use crate::mount::{self, Mount};
use crate::root::{KernelFs, Root};

/// A class of user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Devices that are built on it, and what it is built on.
    Stacked,
    /// File systems that are mounted.
    Mounts,
    /// File systems that the kernel has open, mounted in sight or not.
    FileSystems,
    /// Swap space.
    Swap,
    /// Open descriptors of processes.
    OpenFiles,
    /// Memory of processes that is mapped from it.
    Mappings,
    /// Files that are registered with io_uring.
    Rings,
    /// Descriptors that were sent and not yet taken.
    InFlight,
    /// Loop devices.
    Loops,
    /// The NVMe target of the kernel.
    NvmeTarget,
    /// The SCSI target of the kernel (LIO), for iSCSI, Fibre Channel, vhost and others.
    ScsiTarget,
    /// A USB drive that this machine plays.
    UsbGadget,
    /// The file servers of the kernel, and locks.
    FileServers,
    /// Other parts of the kernel that write to a device by themselves.
    Kernel,
    /// A second path to the same medium.
    Paths,
    /// Whoever claims it for itself.
    Claims,
    /// Anybody who reads or writes.
    Traffic,
}

/// What there is to say of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassRow {
    pub class: Class,
    /// Its name in a refusal.
    pub name: &'static str,
    /// What shows such a user.
    pub shown_by: &'static str,
    /// What hides it; each of these refuses, but for what begins with `not seen:`.
    pub hidden_by: &'static str,
}

/// Every class.
pub const CLASSES: &[ClassRow] = &[
    ClassRow {
        class: Class::Stacked,
        name: "partitions, arrays and mappings",
        shown_by: "`holders`, `slaves`, `bcache` and partitions in `/sys/class/block`; a mapping that is suspended by `dm/suspended`",
        hidden_by: "no sysfs at `/sys`, or something mounted over a part of it",
    },
    ClassRow {
        class: Class::Mounts,
        name: "mounts",
        shown_by: "the device number in `/proc/*/task/*/mountinfo`, once for each mount namespace",
        hidden_by: "another PID namespace, no or a limited `/proc`, missing capabilities",
    },
    ClassRow {
        class: Class::FileSystems,
        name: "file systems that are mounted nowhere in sight",
        shown_by: "the device's name below `/sys/fs/*` (ext4, XFS, btrfs, F2FS and others have one as long as it is mounted anywhere, in a namespace without a process or after `umount -l`)",
        hidden_by: "no sysfs at `/sys`; not seen: file systems without such a directory, which claim the device",
    },
    ClassRow {
        class: Class::Swap,
        name: "swap space",
        shown_by: "what the paths in `/proc/swaps` lead to: device numbers, and the inode of a file",
        hidden_by: "no or a limited `/proc`; a swap file whose path leads nowhere",
    },
    ClassRow {
        class: Class::OpenFiles,
        name: "open files",
        shown_by: "the device number, or the inode, behind each of `/proc/*/fd` and of `/proc/*/task/*/fd` where a thread has files of its own; also of the `sg`, `bsg` and NVMe character devices of the disk; of a loop device also a file as long, one of both on an overlay, FUSE or a network file system",
        hidden_by: "another PID namespace, no or a limited `/proc`, missing capabilities, a process that a security module closes; not seen: process 1 where it is closed so",
    },
    ClassRow {
        class: Class::Mappings,
        name: "mapped memory",
        shown_by: "the device number, or the inode, behind each of `/proc/*/map_files`; of a loop device also a file as long, one of both on an overlay, FUSE or a network file system",
        hidden_by: "another PID namespace, no or a limited `/proc`, missing capabilities, a process that a security module closes; not seen: process 1 where it is closed so",
    },
    ClassRow {
        class: Class::Rings,
        name: "files registered with io_uring",
        shown_by: "`UserFiles` in `/proc/*/fdinfo` of a ring, with what its paths lead to; what was made without a name (`O_TMPFILE`), by its inode number and the descriptor that the process has of it",
        hidden_by: "a name that leads nowhere, or one without its directories (as older kernels give it); a ring that is mapped and has no descriptor; not seen: a ring that never had one and is not mapped",
    },
    ClassRow {
        class: Class::InFlight,
        name: "descriptors on their way",
        shown_by: "nothing: the kernel tells how many wait in a socket (`scm_fds` in `/proc/*/fdinfo`), not which",
        hidden_by: "any that wait; not seen: those in a socket that is on its way itself, and before Linux 5.10",
    },
    ClassRow {
        class: Class::Loops,
        name: "loop devices",
        shown_by: "device and inode of the file that each holds (`LOOP_GET_STATUS64`), and the number of the device when that file is a node; a file as long, one of both on an overlay, FUSE or a network file system",
        hidden_by: "no sysfs at `/sys`; a loop device whose node in `/dev` is missing or may not be opened",
    },
    ClassRow {
        class: Class::NvmeTarget,
        name: "NVMe target",
        shown_by: "what `device_path` of each namespace in configfs (`nvmet`) leads to",
        hidden_by: "configfs not mounted; a path that leads nowhere; not seen: a path that was given to another file after the export began",
    },
    ClassRow {
        class: Class::ScsiTarget,
        name: "SCSI target",
        shown_by: "the number, address or file in `info`, and `udev_path`, of each device in configfs (`target/core`)",
        hidden_by: "configfs not mounted; a path that leads nowhere; not seen: a file that was given another name after the export began",
    },
    ClassRow {
        class: Class::UsbGadget,
        name: "USB gadget",
        shown_by: "what `lun.*/file` of each mass-storage function leads to, in configfs (`usb_gadget`) and below `/sys/class/udc`",
        hidden_by: "configfs not mounted; a path that leads nowhere",
    },
    ClassRow {
        class: Class::FileServers,
        name: "locks and file servers",
        shown_by: "the inode of a loop device's file in `/proc/locks` and in `/proc/fs/nfsd/clients/*/states`",
        hidden_by: "another PID namespace, no or a limited `/proc`; not seen: NFS 3 and SMB clients that hold no lock",
    },
    ClassRow {
        class: Class::Kernel,
        name: "zram and crash logs",
        shown_by: "`backing_dev` of each zram device; `/sys/module/pstore_blk/parameters/blkdev`",
        hidden_by: "no sysfs at `/sys`; a path that leads nowhere",
    },
    ClassRow {
        class: Class::Paths,
        name: "other paths to the same drive",
        shown_by: "another whole device with the same worldwide name",
        hidden_by: "not seen: drives that have none",
    },
    ClassRow {
        class: Class::Claims,
        name: "exclusive claims",
        shown_by: "`O_EXCL`: the kernel refuses a second claim. File systems, md, dm, bcache, ZFS, DRBD, swap, zram and LIO's iblock claim; a plain open, a mapping, nvmet, a file behind a target and most virtual machines do not",
        hidden_by: "nothing: it is asked of the device itself",
    },
    ClassRow {
        class: Class::Traffic,
        name: "traffic",
        shown_by: "the device's own counters (`stat`, `inflight`) over one second in which narrows does nothing; for a loop device also the times of its file",
        hidden_by: "counters that are switched off (`queue/iostats`); not seen: who pauses for longer than a second",
    },
];

impl Class {
    fn row(self) -> Option<&'static ClassRow> {
        CLASSES.iter().find(|row| row.class == self)
    }

    /// Its name in a refusal.
    pub fn name(self) -> &'static str {
        self.row().map_or("a class of user", |row| row.name)
    }
}

/// Classes that cannot be seen here, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hidden {
    pub classes: Vec<Class>,
    /// What hides them, as a clause, and what would show them.
    pub why: String,
}

impl Hidden {
    /// Classes that something hides.
    pub(super) fn new(classes: &[Class], why: impl Into<String>) -> Self {
        Self { classes: classes.to_vec(), why: why.into() }
    }
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, class) in self.classes.iter().enumerate() {
            let between = match index {
                0 => "",
                _ if index + 1 == self.classes.len() => " and ",
                _ => ", ",
            };
            write!(f, "{between}{}", class.name())?;
        }
        write!(f, ", hidden here because {}", self.why)
    }
}

/// What only `/proc` of the whole machine shows.
const OF_PROCESSES: [Class; 5] =
    [Class::Mounts, Class::OpenFiles, Class::Mappings, Class::Rings, Class::FileServers];
/// What only sysfs shows.
const OF_SYSFS: [Class; 4] = [Class::Stacked, Class::FileSystems, Class::Loops, Class::Kernel];

/// The namespaces that every machine has from its start (`PROC_USER_INIT_INO` and `PROC_PID_INIT_INO`, kernel
/// `include/linux/proc_ns.h`).
const FIRST_PIDS: &str = "pid:[4026531836]";
const FIRST_USERS: &str = "user:[4026531837]";

/// `CAP_SYS_PTRACE` to look into processes and `CAP_SYS_ADMIN` to follow `map_files` (kernel `capability.h`).
const NEEDED: [(u32, &str); 2] = [(19, "CAP_SYS_PTRACE"), (21, "CAP_SYS_ADMIN")];

/// Says which classes are hidden from this process.
pub(super) fn look_at_sight(root: &Root, findings: &mut Findings) {
    if let Some(why) = processes(root) {
        let swap = (!root.is_on("/proc", KernelFs::Proc)).then_some(Class::Swap);
        let classes: Vec<Class> = OF_PROCESSES.into_iter().chain(swap).collect();
        findings.hide(&classes, why);
    }
    if !root.is_on("/sys", KernelFs::Sys) || root.list("/sys/class/block").is_empty() {
        findings.hide(&OF_SYSFS, "there is no sysfs at /sys (`mount -t sysfs sysfs /sys`)");
    }
    let mounts = mount::parse(root.text("/proc/self/mountinfo").value().map_or("", String::as_str));
    for covered in mounts.iter().filter_map(covered) {
        findings.hide(covered.1, format!("something is mounted over {}", covered.0));
    }
}

/// Why not all processes are seen; `None` when they are.
fn processes(root: &Root) -> Option<String> {
    if !root.is_on("/proc", KernelFs::Proc) || root.list("/proc").is_empty() {
        return Some("there is no procfs at /proc (`mount -t proc proc /proc`)".to_owned());
    }
    let namespace = |name: &str| root.link_name(&format!("/proc/self/ns/{name}")).get();
    match namespace("pid") {
        Some(pids) if pids == FIRST_PIDS => {}
        Some(_) => {
            return Some(
                "this is a PID namespace of its own, a container; run it on the machine itself".to_owned(),
            );
        }
        None => return Some("/proc is that of another PID namespace; mount the right one".to_owned()),
    }
    if namespace("user").as_deref() != Some(FIRST_USERS) {
        return Some(
            "this is a user namespace of its own, a container; run it on the machine itself".to_owned(),
        );
    }
    limited(root).or_else(|| lacking(root))
}

/// An option of the mount of `/proc` that leaves processes out.
fn limited(root: &Root) -> Option<String> {
    let mounts = mount::parse(root.text("/proc/self/mountinfo").value().map_or("", String::as_str));
    let proc = mounts.iter().rev().find(|mount| mount.point == "/proc" && mount.fstype == "proc");
    let Some(proc) = proc else { return Some("/proc is in no list of mounts".to_owned()) };
    let hides = |option: &&String| {
        let is_open = ["hidepid=0", "hidepid=off"].contains(&option.as_str());
        (option.starts_with("hidepid=") && !is_open) || option.starts_with("subset=")
    };
    if let Some(option) = proc.options.iter().find(hides) {
        return Some(format!("/proc is mounted with {option} (`mount -o remount,hidepid=0 /proc`)"));
    }
    (!root.exists("/proc/1")).then(|| "process 1 is not shown in /proc".to_owned())
}

/// The capabilities that we lack, of `CapEff` in `/proc/self/status`.
fn lacking(root: &Root) -> Option<String> {
    let status = root.text("/proc/self/status").get().unwrap_or_default();
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or_default();
    let lacks: Vec<&str> =
        NEEDED.iter().filter(|(bit, _)| held & (1 << bit) == 0).map(|(_, name)| *name).collect();
    (!lacks.is_empty()).then(|| format!("{} is missing (needs root)", lacks.join(" and ")))
}

/// A place that something is mounted over, and what that hides.
fn covered(mount: &Mount) -> Option<(&str, &'static [Class])> {
    let point = mount.point.as_str();
    if let Some(rest) = point.strip_prefix("/proc/") {
        let first = rest.split('/').next().unwrap_or_default();
        let is_process = first.bytes().all(|byte| byte.is_ascii_digit());
        let is_read = ["self", "swaps", "locks", "kallsyms"].contains(&first);
        return (is_process || is_read).then_some((point, &OF_PROCESSES));
    }
    let rest = point.strip_prefix("/sys/")?;
    // Containers hide these two, and show processors of their own; no device is there.
    let is_known = ["fs/cgroup", "devices/virtual/powercap", "devices/system", "devices/virtual/dmi"];
    if mount.fstype == "configfs" || is_known.iter().any(|known| rest.starts_with(known)) {
        return None;
    }
    let parts = ["class", "block", "dev", "devices", "module", "kernel/config"];
    let is_read =
        |part: &str| rest.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    // File systems have places below `fs` for file systems of their own (`fs/bpf`, `fs/pstore`).
    let is_list =
        rest.strip_prefix("fs/").is_some_and(|name| ["ext4", "xfs", "btrfs", "f2fs"].contains(&name));
    (parts.iter().any(|part| is_read(part)) || is_list || rest == "fs").then_some((point, &OF_SYSFS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Node, Tree};
    use crate::usage::read;
    use crate::usage::tests::{MOUNTS, machine};

    #[test]
    fn every_class_has_one_row_and_the_document_has_the_same() {
        let document = include_str!("../../../../docs/guard-users.md");
        for row in CLASSES {
            assert_eq!(CLASSES.iter().filter(|other| other.class == row.class).count(), 1, "{row:?}");
            let line = format!("| {} | {} | {} |", row.name, row.shown_by, row.hidden_by);
            assert!(document.contains(&line), "docs/guard-users.md lacks\n{line}");
        }
        let rows = document.lines().filter(|line| line.starts_with("| ") && line.matches(" | ").count() == 2);
        assert_eq!(rows.count(), CLASSES.len() + 1, "one row for each class, and the head");
    }

    #[test]
    fn what_is_hidden_is_named_with_its_reason() {
        let hidden = Hidden::new(&[Class::Mounts, Class::OpenFiles, Class::Mappings], "/proc is not mounted");
        assert_eq!(
            hidden.to_string(),
            "mounts, open files and mapped memory, hidden here because /proc is not mounted"
        );
        let hidden = Hidden::new(&[Class::NvmeTarget], "configfs is not mounted");
        assert_eq!(hidden.to_string(), "NVMe target, hidden here because configfs is not mounted");
    }

    fn unseen(tree: Tree) -> Vec<String> {
        read(&Root::from_tree(tree), "sdc").unseen
    }

    fn says(tree: Tree, what: &str) {
        let unseen = unseen(tree);
        assert!(
            unseen.iter().any(|one| one.contains("open files") && one.contains(what)),
            "{what}: {unseen:?}"
        );
    }

    #[test]
    fn what_hides_processes_hides_every_class_that_they_show() {
        assert_eq!(unseen(machine()), [] as [&str; 0]);
        let mut tree = machine();
        tree.link("/proc/999/ns/pid", "pid:[4026532222]");
        says(tree, "a PID namespace of its own");
        let mut tree = machine();
        tree.link("/proc/999/ns/user", "user:[4026532222]");
        says(tree, "a user namespace of its own");
        let mut tree = machine();
        tree.link("/proc/self", "no-such-process");
        says(tree, "another PID namespace");
        let mut tree = machine();
        tree.file("/narrows/probe/statfs/proc", "ext4");
        says(tree, "no procfs at /proc");
        let mut tree = machine();
        tree.file("/proc/999/status", "CapEff:\t000001fffff7ffff\n");
        says(tree, "CAP_SYS_PTRACE is missing");
        for option in ["hidepid=invisible", "hidepid=2", "hidepid=ptraceable", "subset=pid"] {
            let mut tree = machine();
            tree.file("/proc/999/mountinfo", &format!("1 0 0:21 / /proc rw - proc proc rw,{option}\n"));
            says(tree, option);
        }
        for option in ["hidepid=0", "hidepid=off", "gid=3"] {
            let mut tree = machine();
            tree.file("/proc/999/mountinfo", &format!("1 0 0:21 / /proc rw - proc proc rw,{option}\n"));
            assert_eq!(unseen(tree), [] as [&str; 0], "{option}");
        }
    }

    #[test]
    fn a_missing_sysfs_hides_its_classes() {
        let mut tree = machine();
        tree.file("/narrows/probe/statfs/sys", "tmpfs");
        assert!(unseen(tree)[0].contains("no sysfs at /sys"));
        let empty = unseen(Tree::new());
        assert!(empty.iter().any(|what| what.contains("no procfs")), "{empty:?}");
        assert!(empty.iter().any(|what| what.contains("no sysfs")), "{empty:?}");
    }

    #[test]
    fn what_is_mounted_over_a_part_that_is_read_hides_it() {
        for (point, hides) in [
            ("/proc/77", true),
            ("/proc/swaps", true),
            ("/proc/sys/fs/binfmt_misc", false),
            ("/proc/fs/nfsd", false),
            ("/sys/class/block", true),
            ("/sys/devices/virtual", true),
            ("/sys/fs/ext4", true),
            ("/sys/fs/bpf", false),
            ("/sys/kernel/debug", false),
            ("/sys/kernel/config", true),
            ("/sysroot", false),
        ] {
            let mut tree = machine();
            tree.file("/proc/999/mountinfo", &format!("{MOUNTS}9 1 0:40 / {point} rw - tmpfs tmpfs rw\n"));
            let found = unseen(tree);
            assert_eq!(!found.is_empty(), hides, "{point}: {found:?}");
        }
    }

    #[test]
    fn what_may_not_be_looked_at_is_counted() {
        let mut tree = machine();
        for process in ["8", "9"] {
            tree.insert(&format!("/proc/{process}/fd"), Node::Denied);
        }
        tree.insert("/proc/9/mountinfo", Node::Denied);
        tree.insert("/proc/9/maps", Node::Denied);
        assert_eq!(
            unseen(tree),
            [
                "mounts, hidden here because process 9 does not show its own (needs root)",
                "open files, hidden here because 2 processes do not show theirs (needs root)",
                "mapped memory, hidden here because process 9 does not show its own (needs root)",
            ]
        );
    }
}
