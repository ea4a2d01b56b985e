//! A step makes one thing. What makes it and what takes it away again are command lines, and nothing else.
//!
//! The command lines are pure functions of the step and of [`Names`], in which nothing stands that a user typed but the
//! directory of the scratch files; that is made absolute, so no tool takes it for an option.

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;

use serde::{Deserialize, Serialize};

use super::names::{Names, argument, node};
use super::recipe::{Encryption, FileSystem};
use super::slice::{Extent, PARTITION};
use narrows_base::shell;

/// What another thing is made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// The named device with this index.
    Device(usize),
    /// The md array.
    Array,
    /// The logical volume.
    Volume,
    /// The encrypted mapping.
    Mapping,
    /// The target that takes no time.
    Zero,
    /// The ZFS volume.
    Zvol,
}

/// How md puts devices together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Striping.
    Raid0,
    /// Mirroring.
    Raid1,
    /// Striped mirrors.
    Raid10,
    /// Striping with one parity.
    Raid5,
}

/// One thing that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "thing")]
pub enum Step {
    /// The directory of the scratch files.
    Directory,
    /// A scratch file.
    File {
        /// Its place among the devices.
        index: usize,
        /// Its size in bytes.
        bytes: u64,
    },
    /// The loop device over a scratch file.
    Loop {
        /// Its place among the devices.
        index: usize,
    },
    /// The slice of a device, a partition that is written nowhere, and another of the rest.
    Slice {
        /// Its place among the devices.
        index: usize,
        /// The part of the device.
        extent: Extent,
    },
    /// Nothing, but the slice is written between its ends.
    Load {
        /// Its place among the devices.
        index: usize,
    },
    /// An md array of all devices.
    Array {
        /// How.
        level: Level,
    },
    /// A physical volume of LVM.
    Physical {
        /// The device's place.
        index: usize,
    },
    /// The volume group of all devices.
    Group,
    /// The logical volume.
    Volume {
        /// Whether it is striped over all devices, or has one after the other.
        striped: bool,
    },
    /// A target of the device mapper that stands on nothing, reads as zeros and forgets what is written.
    Zero {
        /// Its size in sectors of 512 bytes.
        sectors: u64,
    },
    /// Nodes of the devices, for the pool.
    PoolNodes,
    /// The ZFS pool of all devices.
    Pool {
        /// Whether it mirrors; else it is striped.
        mirror: bool,
    },
    /// The volume in the pool.
    Zvol {
        /// Its size in bytes.
        bytes: u64,
    },
    /// The header of an encrypted container.
    Header {
        /// Where.
        on: On,
        /// Which.
        encryption: Encryption,
    },
    /// The mapping that encrypts.
    Mapping {
        /// On what.
        on: On,
        /// How.
        encryption: Encryption,
    },
    /// The header of a TrueCrypt volume, which tcplay writes at the beginning and, as a backup, near the end.
    TrueCryptHeader {
        /// Where.
        on: On,
    },
    /// The mapping of a TrueCrypt volume, which encrypts.
    TrueCryptMapping {
        /// On what.
        on: On,
    },
    FileSystem {
        /// On what.
        on: On,
        /// Which.
        kind: FileSystem,
    },
    /// The directory that a file system is mounted on.
    MountPoint,
    Mount {
        /// Of what.
        on: On,
        /// Which file system.
        kind: FileSystem,
    },
}

impl On {
    /// The node by which tools are told of it.
    pub fn node(self, names: &Names) -> String {
        match self {
            Self::Device(index) => names.device(index),
            Self::Array => format!("/dev/{}", names.array),
            Self::Volume => format!("/dev/mapper/{}", names.mapped_volume()),
            Self::Mapping => format!("/dev/mapper/{}", names.mapping()),
            Self::Zero => format!("/dev/mapper/{}", names.zero()),
            Self::Zvol => node(names.zvol.as_deref().unwrap_or("zd0")),
        }
    }
}

impl Step {
    /// The command lines that make it.
    pub fn build(&self, names: &Names) -> Vec<Call> {
        let call = match *self {
            Self::Directory => make_directory(&argument(names.scratch_directory().as_deref())),
            Self::File { index, bytes } => {
                let file = argument(names.scratch_file(index).as_deref());
                Call::new("fallocate", ["-l", &bytes.to_string(), "--", &file])
            }
            Self::Loop { index } => {
                let file = argument(names.scratch_file(index).as_deref());
                Call::new("losetup", ["--find", "--direct-io=on", "--", &file])
            }
            // Not by a tool: `Slices` makes it while it holds the device.
            Self::Slice { .. } | Self::Load { .. } => return Vec::new(),
            Self::Array { level } => array(level, names),
            Self::Physical { index } => physical(index, names),
            Self::Group => group(names),
            Self::Volume { striped } => volume(striped, names),
            Self::Zero { sectors } => zero(sectors, names),
            Self::Header { on, encryption } => header(on, encryption, names),
            Self::Mapping { on, encryption } => mapping(on, encryption, names),
            Self::PoolNodes => return pool_nodes(names),
            Self::Pool { mirror } => pool(mirror, names),
            Self::Zvol { bytes } => zvol(bytes, names),
            Self::TrueCryptHeader { on } => true_crypt_header(on, names),
            Self::TrueCryptMapping { on } => true_crypt_mapping(on, names),
            Self::FileSystem { on, kind } => file_system(on, kind, names),
            Self::MountPoint => make_directory(&names.mount_point()),
            Self::Mount { on, kind } => {
                let options = "nosuid,nodev,noexec";
                let (kind, device) = (mount_type(kind), on.node(names));
                Call::new("mount", ["-t", kind, "-o", options, "--", &device, &names.mount_point()])
            }
        };
        vec![call]
    }

    /// The command lines that take it away. What was only written onto a device or file goes when that is cleared.
    pub fn undo(&self, names: &Names) -> Vec<Call> {
        let call = match *self {
            Self::Directory => remove_directory(&argument(names.scratch_directory().as_deref())),
            Self::File { index, .. } => {
                Call::new("rm", ["-f", "--", &argument(names.scratch_file(index).as_deref())])
            }
            Self::Loop { index } => detach(&names.disk(index)),
            Self::Array { .. } => stop_array(&names.array),
            Self::Volume { .. } => remove_mapping(&names.mapped_volume()),
            Self::Zero { .. } => remove_mapping(&names.zero()),
            Self::Mapping { .. } | Self::TrueCryptMapping { .. } => remove_mapping(&names.mapping()),
            Self::PoolNodes => return remove_pool_nodes(names),
            Self::Pool { .. } => destroy_pool(names),
            Self::MountPoint => remove_directory(&names.mount_point()),
            Self::Mount { .. } => unmount(names),
            Self::Slice { .. }
            | Self::Load { .. }
            | Self::Physical { .. }
            | Self::Group
            | Self::Header { .. }
            | Self::TrueCryptHeader { .. }
            | Self::Zvol { .. }
            | Self::FileSystem { .. } => return Vec::new(),
        };
        vec![call]
    }

    /// Whether it is made once for all cells and not anew for each.
    pub const fn is_ground(&self) -> bool {
        matches!(self, Self::Directory | Self::File { .. } | Self::Loop { .. } | Self::Slice { .. })
    }

    /// The slices that making it writes to: that of one device, or `None` for all of them. No slice where it stands on something
    /// else that was made.
    pub const fn touches(&self) -> Option<Option<usize>> {
        match *self {
            Self::Array { .. } | Self::Group | Self::PoolNodes | Self::Pool { .. } => Some(None),
            Self::Physical { index } => Some(Some(index)),
            Self::Header { on: On::Device(index), .. }
            | Self::Mapping { on: On::Device(index), .. }
            | Self::TrueCryptHeader { on: On::Device(index) }
            | Self::TrueCryptMapping { on: On::Device(index) }
            | Self::FileSystem { on: On::Device(index), .. }
            | Self::Mount { on: On::Device(index), .. } => Some(Some(index)),
            _ => None,
        }
    }

    /// What else is done to make it, by no tool, in the words of one: for those who want to know every command.
    pub fn shown(&self, names: &Names) -> Option<Call> {
        let Self::Slice { index, extent } = *self else { return None };
        let sectors = [extent.start, extent.bytes].map(|bytes| (bytes / 512).to_string());
        let [start, length] = sectors;
        Some(Call::new("addpart", [names.disk(index), PARTITION.to_string(), start, length]))
    }

    /// The same for what takes it away.
    pub fn undo_shown(&self, names: &Names) -> Option<Call> {
        let Self::Slice { index, .. } = *self else { return None };
        Some(Call::new("delpart", [names.disk(index), PARTITION.to_string()]))
    }
}

/// Where data begin on the members of an array. All that is written at the beginning of what is built on it then lies in
/// the part of each member that is cleared afterwards: a LUKS2 header takes 16 MiB (LUKS2 On-Disk Format Specification).
const DATA_OFFSET: &str = "8M";

/// Makes a directory for us alone.
fn make_directory(path: &str) -> Call {
    Call::new("mkdir", ["-m", "700", "--", path])
}

pub(super) fn remove_directory(path: &str) -> Call {
    Call::new("rmdir", ["--", path])
}

pub(super) fn unmount(names: &Names) -> Call {
    Call::new("umount", ["--", &names.mount_point()])
}

/// Stops an array. mdadm takes no `--`: it ends its list of devices there.
pub(super) fn stop_array(name: &str) -> Call {
    Call::new("mdadm", ["--stop", &format!("/dev/{name}")])
}

/// Removes a mapping of the device mapper, encrypted or a logical volume: both are gone when the mapping is.
pub(super) fn remove_mapping(name: &str) -> Call {
    Call::new("dmsetup", ["remove", "--retry", "--", name])
}

/// Makes the slice of a device a linear mapping of it, by the numbers of the device, which no link can lead elsewhere.
///
/// A delay of 0 ms is one that passes on no request to write zeros (`REQ_OP_WRITE_ZEROES`), which dm-linear does: zram and
/// other disks that take no partitions do not count these, and what others write could hide behind them.
pub(super) fn map_slice(index: usize, number: (u32, u32), extent: Extent, names: &Names) -> Call {
    let (major, minor) = number;
    let table = format!("0 {} delay {major}:{minor} {} 0", extent.bytes / 512, extent.start / 512);
    let name = names.slice_mapping(index);
    Call::new("dmsetup", ["create", &name, "--uuid", &names.slice_uuid(index), "--table", &table])
}

/// Has the kernel forget the partitions of a loop device: it writes nothing.
pub(super) fn forget_partitions(node: &str) -> Call {
    Call::new("partx", ["--delete", node])
}

/// Detaches a loop device.
pub(super) fn detach(node: &str) -> Call {
    Call::new("losetup", ["--detach", node])
}

pub(super) fn array(level: Level, names: &Names) -> Call {
    let word = match level {
        Level::Raid0 => "0",
        Level::Raid1 => "1",
        Level::Raid10 => "10",
        Level::Raid5 => "5",
    };
    let call = Call::new("mdadm", ["--create", &On::Array.node(names), "--run", "--metadata=1.2"])
        .and(["--homehost=any", "--name=narrows-lab", &format!("--uuid={}", names.id.md())])
        .and([format!("--data-offset={DATA_OFFSET}"), format!("--level={word}")])
        .and([format!("--raid-devices={}", names.devices.len())])
        // mdadm's own default, written down; a mirror has no chunks.
        .and((level != Level::Raid1).then_some("--chunk=512"))
        .and((level != Level::Raid0).then_some("--bitmap=internal"));
    call.and(names.all_devices())
}

/// What LVM is told in place of the machine's configuration: to see the named devices and nothing else, to keep no backup
/// and no list of devices, and to start no daemon.
fn lvm_config(names: &Names) -> String {
    // A name is part of a pattern and of a configuration here: what could end either stands for any character.
    let inert = |c: char| if c.is_ascii_alphanumeric() || "/_-".contains(c) { c } else { '.' };
    let pattern = |node: &String| node.chars().map(inert).collect::<String>();
    let devices = names.all_devices();
    let accepted: String = devices.iter().map(|node| format!("\"a|^{}$|\",", pattern(node))).collect();
    let filter = format!("[{accepted}\"r|.*|\"]");
    format!(
        "devices {{ filter={filter} global_filter={filter} use_devicesfile=0 scan_lvs=0 types=[\"nullb\",16] }} \
         backup {{ backup=0 archive=0 }} activation {{ monitoring=0 }} global {{ use_lvmlockd=0 }}"
    )
}

pub(super) fn physical(index: usize, names: &Names) -> Call {
    let id = names.id.volume(index);
    // LVM writes its 32 characters in groups of 6, 4, 4, 4, 4, 4 and 6.
    let groups = [0..6, 6..10, 10..14, 14..18, 18..22, 22..26, 26..32];
    let uuid = groups.map(|group| id.get(group).unwrap_or_default()).join("-");
    Call::new("lvm", ["pvcreate", "--yes", "--zero", "y", "--config", &lvm_config(names)]).and([
        "--uuid",
        &uuid,
        "--norestorefile",
        "--",
        &names.device(index),
    ])
}

pub(super) fn group(names: &Names) -> Call {
    Call::new("lvm", ["vgcreate", "--yes", "--config", &lvm_config(names), "--", &names.group()])
        .and(names.all_devices())
}

pub(super) fn volume(striped: bool, names: &Names) -> Call {
    let call = Call::new("lvm", ["lvcreate", "--yes", "--wipesignatures", "n", "--extents", "100%FREE"]);
    let stripes = names.devices.len().to_string();
    let kind: &[&str] = if striped { &["striped", "--stripes", &stripes] } else { &["linear"] };
    call.and(["--type"]).and(kind.iter().copied()).and([
        "--name",
        names.volume(),
        "--config",
        &lvm_config(names),
        "--",
        &names.group(),
    ])
}

pub(super) fn zero(sectors: u64, names: &Names) -> Call {
    let (table, uuid) = (format!("0 {sectors} zero"), names.zero_uuid());
    Call::new("dmsetup", ["create", &names.zero(), "--uuid", &uuid, "--table", &table])
}

pub(super) fn header(on: On, encryption: Encryption, names: &Names) -> Call {
    let call = Call::new("cryptsetup", ["luksFormat", "--batch-mode", "--type", "luks2"])
        .and(["--uuid", &names.id.uuid(), "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"])
        .and(["--key-file=-", "--keyfile-size=64"]);
    let call = if encryption == Encryption::Luks2Tuned { call.and(["--sector-size", "4096"]) } else { call };
    call.and(["--", &on.node(names)]).with(Input::Key)
}

pub(super) fn mapping(on: On, encryption: Encryption, names: &Names) -> Call {
    let call = Call::new("cryptsetup", ["open"]);
    let has_header = encryption != Encryption::VeraCrypt && on != On::Zero;
    let call = if has_header {
        call.and(["--type", "luks2"])
    } else {
        // What LUKS2 would take from its header. From a pipe the key is taken as it is only without a hash.
        let sector = if encryption == Encryption::Luks2Tuned { "4096" } else { "512" };
        call.and(["--type", "plain", "--cipher", "aes-xts-plain64", "--key-size", "512", "--hash", "plain"])
            .and(["--sector-size", sector])
    };
    let call = match encryption {
        // Above a drive a read ends in an interrupt, where dm-crypt takes a work queue whatever it was told (Linux 6.8 and
        // 6.1.78, "dm-crypt, dm-verity: disable tasklets"); nothing interrupts here, so it has to be made to.
        Encryption::Luks2Tuned if on == On::Zero => call.and(["--perf-no_write_workqueue"]),
        Encryption::Luks2Tuned => call.and(["--perf-no_read_workqueue", "--perf-no_write_workqueue"]),
        Encryption::Plain | Encryption::Luks2 | Encryption::VeraCrypt => call,
    };
    let call = call.and(["--key-file=-", "--keyfile-size=64", "--batch-mode", "--", &on.node(names)]);
    call.and([names.mapping()]).with(Input::Key)
}

pub(super) fn pool_nodes(names: &Names) -> Vec<Call> {
    let directory = make_directory(&names.pool_directory());
    let copies = names.all_devices().into_iter().zip(names.pool_nodes());
    let copies = copies.map(|(device, node)| Call::new("cp", ["-a", "--", &device, &node]));
    std::iter::once(directory).chain(copies).collect()
}

/// Removes the nodes of the pool and their directory.
pub(super) fn remove_pool_nodes(names: &Names) -> Vec<Call> {
    let nodes = Call::new("rm", ["-f", "--"]).and(names.pool_nodes());
    vec![nodes, remove_directory(&names.pool_directory())]
}

/// No cache answers reads of data, nothing is compressed, and no file of the machine names the pool, so that nothing imports
/// it later. zpool is not forced: it refuses devices that are in use, and mirrors of different sizes.
pub(super) fn pool(mirror: bool, names: &Names) -> Call {
    let call = Call::new("zpool", ["create", "-o", "ashift=12", "-o", "cachefile=none"]);
    let call = call.and(["-O", "mountpoint=none", "-O", "compression=off", "-O", "primarycache=metadata"]);
    let call = call.and(["-O", "sync=standard", &names.pool()]);
    call.and(mirror.then_some("mirror")).and(names.pool_nodes())
}

/// Lists the devices of the pool by their full names.
pub(super) fn list_pool(names: &Names) -> Call {
    Call::new("zpool", ["list", "-v", "-H", "-P", &names.pool()])
}

/// Destroys the pool with the volume in it.
pub(super) fn destroy_pool(names: &Names) -> Call {
    Call::new("zpool", ["destroy", "-f", &names.pool()])
}

/// Without a reservation, as what a pool needs for itself is not known beforehand.
pub(super) fn zvol(bytes: u64, names: &Names) -> Call {
    Call::new("zfs", ["create", "-s", "-V", &bytes.to_string(), "-b", "128K", &names.zvol()])
}

/// SHA-512 is in every cryptographic library that cryptsetup is built with. Random numbers come from `/dev/urandom`: on
/// kernels before 5.6 the other source makes a tool wait.
fn true_crypt_header(on: On, names: &Names) -> Call {
    let words = ["--create", "--insecure-erase", "--weak-keys", "--cipher=AES-256-XTS", "--pbkdf-prf=SHA512"];
    Call::new("tcplay", words).and([format!("--device={}", on.node(names))]).with(Input::Answers)
}

fn true_crypt_mapping(on: On, names: &Names) -> Call {
    let call = Call::new("cryptsetup", ["open", "--type", "tcrypt", "--key-file=-", "--batch-mode", "--"]);
    call.and([on.node(names), names.mapping()]).with(Input::Passphrase)
}

/// None of them discards: the slice is zero, and what somebody else wrote to it meanwhile would go without a trace.
pub(super) fn file_system(on: On, kind: FileSystem, names: &Names) -> Call {
    let (node, uuid) = (on.node(names), names.id.uuid());
    match kind {
        // Tables and journal are written at once: otherwise the kernel does it while we measure.
        FileSystem::None | FileSystem::Ext4 => {
            let now = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
            Call::new("mkfs.ext4", ["-q", "-F", "-E", now, "-U", &uuid, "--", &node])
        }
        FileSystem::Xfs => {
            Call::new("mkfs.xfs", ["-q", "-f", "-K", "-m", &format!("uuid={uuid}"), "--", &node])
        }
        FileSystem::Btrfs => Call::new("mkfs.btrfs", ["-q", "-f", "-K", "-U", &uuid, "--", &node]),
    }
}

const fn mount_type(kind: FileSystem) -> &'static str {
    match kind {
        FileSystem::None | FileSystem::Ext4 => "ext4",
        FileSystem::Xfs => "xfs",
        FileSystem::Btrfs => "btrfs",
    }
}

/// What a program gets on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Nothing,
    Key,
    Passphrase,
    /// What tcplay asks for, each answer as one packet: the passphrase, the passphrase again, and whether to go on.
    Answers,
}

/// One command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The program, without a directory.
    pub program: &'static str,
    /// What it is told.
    pub arguments: Vec<String>,
    /// What it reads.
    pub input: Input,
}

impl Call {
    /// A call with these words.
    pub fn new<T: Into<String>>(program: &'static str, words: impl IntoIterator<Item = T>) -> Self {
        Self { program, arguments: words.into_iter().map(Into::into).collect(), input: Input::Nothing }
    }

    pub(super) fn and<T: Into<String>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(words.into_iter().map(Into::into));
        self
    }

    /// The same call, which gets this on its standard input.
    pub(super) fn with(self, input: Input) -> Self {
        Self { input, ..self }
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.program)?;
        for argument in &self.arguments {
            write!(f, " {}", shell::word(argument))?;
        }
        f.write_str(match self.input {
            Input::Nothing => "",
            Input::Key => " < 64 random bytes, from memory",
            Input::Passphrase => " < a random passphrase, from memory",
            Input::Answers => " < a random passphrase twice, from memory, and y",
        })
    }
}
