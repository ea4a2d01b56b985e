//! The command lines of the steps: pure functions of the step and of [`Names`].

use super::call::{Call, Input};
use super::layout::{Encryption, FileSystem};
use super::names::Names;
use super::slice::Extent;
use super::step::{Level, On};

/// Where data begin on the members of an array. All that is written at the beginning of what is built on it then lies in
/// the part of each member that is cleared afterwards: a LUKS2 header takes 16 MiB (LUKS2 On-Disk Format Specification).
const DATA_OFFSET: &str = "8M";

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
    let mut words = vec!["--create".to_owned(), On::Array.node(names), "--run".to_owned()];
    words.extend(["--metadata=1.2".to_owned(), "--homehost=any".to_owned(), "--name=narrows-lab".to_owned()]);
    words.push(format!("--uuid={}", names.id.md()));
    words.push(format!("--data-offset={DATA_OFFSET}"));
    words.push(format!("--level={word}"));
    words.push(format!("--raid-devices={}", names.devices.len()));
    // mdadm's own default, written down; a mirror has no chunks.
    if level != Level::Raid1 {
        words.push("--chunk=512".to_owned());
    }
    if level != Level::Raid0 {
        words.push("--bitmap=internal".to_owned());
    }
    Call::new("mdadm", words).and(names.all_devices())
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
    let part = |from: usize, to: usize| id.get(from..to).unwrap_or_default();
    // LVM writes its 32 characters in groups of 6, 4, 4, 4, 4, 4 and 6.
    let groups = [(0, 6), (6, 10), (10, 14), (14, 18), (18, 22), (22, 26), (26, 32)];
    let uuid = groups.map(|(from, to)| part(from, to)).join("-");
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
    let call = if striped {
        call.and(["--type", "striped", "--stripes", &names.devices.len().to_string()])
    } else {
        call.and(["--type", "linear"])
    };
    call.and(["--name", names.volume(), "--config", &lvm_config(names), "--", &names.group()])
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
    let directory = Call::new("mkdir", ["-m", "700", "--", &names.pool_directory()]);
    let copies = names.all_devices().into_iter().zip(names.pool_nodes());
    let copies = copies.map(|(device, node)| Call::new("cp", ["-a", "--", &device, &node]));
    std::iter::once(directory).chain(copies).collect()
}

/// Removes the nodes of the pool and their directory.
pub(super) fn remove_pool_nodes(names: &Names) -> Vec<Call> {
    let nodes = Call::new("rm", ["-f", "--"]).and(names.pool_nodes());
    vec![nodes, Call::new("rmdir", ["--", &names.pool_directory()])]
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
pub(super) fn true_crypt_header(on: On, names: &Names) -> Call {
    let words = ["--create", "--insecure-erase", "--weak-keys", "--cipher=AES-256-XTS", "--pbkdf-prf=SHA512"];
    Call::new("tcplay", words).and([format!("--device={}", on.node(names))]).with(Input::Answers)
}

pub(super) fn true_crypt_mapping(on: On, names: &Names) -> Call {
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

pub(super) const fn mount_type(kind: FileSystem) -> &'static str {
    match kind {
        FileSystem::None | FileSystem::Ext4 => "ext4",
        FileSystem::Xfs => "xfs",
        FileSystem::Btrfs => "btrfs",
    }
}
