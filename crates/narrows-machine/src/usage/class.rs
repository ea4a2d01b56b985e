//! The classes of user that a device can have: what shows each, and what hides it. The only such list; what is hidden is
//! refused in its words, and `docs/guard-users.md` is held to it.

use std::fmt;

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
pub struct Row {
    /// The class.
    pub class: Class,
    /// Its name in a refusal.
    pub name: &'static str,
    /// What shows such a user.
    pub shown_by: &'static str,
    /// What hides it; each of these refuses, but for what begins with `not seen:`.
    pub hidden_by: &'static str,
}

/// Every class.
pub const CLASSES: &[Row] = &[
    Row {
        class: Class::Stacked,
        name: "partitions, arrays and mappings",
        shown_by: "`holders`, `slaves`, `bcache` and partitions in `/sys/class/block`; a mapping that is suspended by `dm/suspended`",
        hidden_by: "no sysfs at `/sys`, or something mounted over a part of it",
    },
    Row {
        class: Class::Mounts,
        name: "mounts",
        shown_by: "the device number in `/proc/*/task/*/mountinfo`, once for each mount namespace",
        hidden_by: "another PID namespace, no or a limited `/proc`, missing capabilities",
    },
    Row {
        class: Class::FileSystems,
        name: "file systems that are mounted nowhere in sight",
        shown_by: "the device's name below `/sys/fs/*` (ext4, XFS, btrfs, F2FS and others have one as long as it is mounted anywhere, in a namespace without a process or after `umount -l`)",
        hidden_by: "no sysfs at `/sys`; not seen: file systems without such a directory, which claim the device",
    },
    Row {
        class: Class::Swap,
        name: "swap space",
        shown_by: "what the paths in `/proc/swaps` lead to: device numbers, and the inode of a file",
        hidden_by: "no or a limited `/proc`; a swap file whose path leads nowhere",
    },
    Row {
        class: Class::OpenFiles,
        name: "open files",
        shown_by: "the device number, or the inode, behind each of `/proc/*/fd` and of `/proc/*/task/*/fd` where a thread has files of its own; also of the `sg`, `bsg` and NVMe character devices of the disk; of a loop device also a file as long, one of both on an overlay, FUSE or a network file system",
        hidden_by: "another PID namespace, no or a limited `/proc`, missing capabilities, a process that a security module closes; not seen: process 1 where it is closed so",
    },
    Row {
        class: Class::Mappings,
        name: "mapped memory",
        shown_by: "the device number, or the inode, behind each of `/proc/*/map_files`; of a loop device also a file as long, one of both on an overlay, FUSE or a network file system",
        hidden_by: "another PID namespace, no or a limited `/proc`, missing capabilities, a process that a security module closes; not seen: process 1 where it is closed so",
    },
    Row {
        class: Class::Rings,
        name: "files registered with io_uring",
        shown_by: "`UserFiles` in `/proc/*/fdinfo` of a ring, with what its paths lead to; what was made without a name (`O_TMPFILE`), by its inode number and the descriptor that the process has of it",
        hidden_by: "a name that leads nowhere, or one without its directories (as older kernels give it); a ring that is mapped and has no descriptor; not seen: a ring that never had one and is not mapped",
    },
    Row {
        class: Class::InFlight,
        name: "descriptors on their way",
        shown_by: "nothing: the kernel tells how many wait in a socket (`scm_fds` in `/proc/*/fdinfo`), not which",
        hidden_by: "any that wait; not seen: those in a socket that is on its way itself, and before Linux 5.10",
    },
    Row {
        class: Class::Loops,
        name: "loop devices",
        shown_by: "device and inode of the file that each holds (`LOOP_GET_STATUS64`), and the number of the device when that file is a node; a file as long, one of both on an overlay, FUSE or a network file system",
        hidden_by: "no sysfs at `/sys`; a loop device whose node in `/dev` is missing or may not be opened",
    },
    Row {
        class: Class::NvmeTarget,
        name: "NVMe target",
        shown_by: "what `device_path` of each namespace in configfs (`nvmet`) leads to",
        hidden_by: "configfs not mounted; a path that leads nowhere; not seen: a path that was given to another file after the export began",
    },
    Row {
        class: Class::ScsiTarget,
        name: "SCSI target",
        shown_by: "the number, address or file in `info`, and `udev_path`, of each device in configfs (`target/core`)",
        hidden_by: "configfs not mounted; a path that leads nowhere; not seen: a file that was given another name after the export began",
    },
    Row {
        class: Class::UsbGadget,
        name: "USB gadget",
        shown_by: "what `lun.*/file` of each mass-storage function leads to, in configfs (`usb_gadget`) and below `/sys/class/udc`",
        hidden_by: "configfs not mounted; a path that leads nowhere",
    },
    Row {
        class: Class::FileServers,
        name: "locks and file servers",
        shown_by: "the inode of a loop device's file in `/proc/locks` and in `/proc/fs/nfsd/clients/*/states`",
        hidden_by: "another PID namespace, no or a limited `/proc`; not seen: NFS 3 and SMB clients that hold no lock",
    },
    Row {
        class: Class::Kernel,
        name: "zram and crash logs",
        shown_by: "`backing_dev` of each zram device; `/sys/module/pstore_blk/parameters/blkdev`",
        hidden_by: "no sysfs at `/sys`; a path that leads nowhere",
    },
    Row {
        class: Class::Paths,
        name: "other paths to the same drive",
        shown_by: "another whole device with the same worldwide name",
        hidden_by: "not seen: drives that have none",
    },
    Row {
        class: Class::Claims,
        name: "exclusive claims",
        shown_by: "`O_EXCL`: the kernel refuses a second claim. File systems, md, dm, bcache, ZFS, DRBD, swap, zram and LIO's iblock claim; a plain open, a mapping, nvmet, a file behind a target and most virtual machines do not",
        hidden_by: "nothing: it is asked of the device itself",
    },
    Row {
        class: Class::Traffic,
        name: "traffic",
        shown_by: "the device's own counters (`stat`, `inflight`) over one second in which narrows does nothing; for a loop device also the times of its file",
        hidden_by: "counters that are switched off (`queue/iostats`); not seen: who pauses for longer than a second",
    },
];

impl Class {
    /// Its row.
    fn row(self) -> Option<&'static Row> {
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
    /// The classes.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
