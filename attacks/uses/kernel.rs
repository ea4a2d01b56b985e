//! Users in the kernel: arrays, mappings, volumes, caches, targets. Where this kernel has none, the rig's has.

use std::sync::atomic::{AtomicU32, Ordering};

use super::super::attack::{Attack, Class, Judge, Result, skip};
use super::super::device::{Device, MIB, clear};
use super::super::ground::Ground;
use super::super::tool::{needs, needs_kernel, shell, succeeds};
use super::{SIZE, free, held, refused};

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        held("a device-mapper target", &["dm-", "mapping", "part of"], |_, device| {
            mapper()?;
            shell(
                "dmsetup create --noudevsync attack-linear --table \"0 65536 linear $1 0\"",
                &[device.node()],
            )?;
            Ok(Undo("dmsetup remove --noudevsync --force attack-linear", String::new()))
        }),
        held("a device-mapper target that is suspended", &["dm-", "mapping", "part of"], |_, device| {
            mapper()?;
            shell(
                "dmsetup create --noudevsync attack-suspended --table \"0 65536 linear $1 0\"; dmsetup suspend --noudevsync attack-suspended",
                &[device.node()],
            )?;
            Ok(Undo(
                "dmsetup resume attack-suspended; dmsetup remove --noudevsync --force attack-suspended",
                String::new(),
            ))
        }),
        held(
            "a device-mapper target with an inactive table",
            &["dm-", "mapping", "part of", "claimed"],
            |_, device| {
                mapper()?;
                shell(
                    "dmsetup create --noudevsync --notable attack-inactive; dmsetup load attack-inactive --table \"0 65536 linear $1 0\"",
                    &[device.node()],
                )?;
                Ok(Undo("dmsetup remove --noudevsync --force attack-inactive", String::new()))
            },
        ),
        held("a cipher without a header", &["dm-", "mapping", "part of"], |_, device| {
            mapper()?;
            shell(
                "printf k | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 \"$1\" attack-plain -",
                &[device.node()],
            )?;
            Ok(Undo("cryptsetup close attack-plain", String::new()))
        }),
        held("a member of an array without superblocks", &["md", "array", "part of"], |_, device| {
            array()?;
            shell(
                "mdadm --build /dev/md77 --level=linear --force --raid-devices=1 \"$1\" >/dev/null 2>&1",
                &[device.node()],
            )?;
            Ok(Undo("mdadm --stop /dev/md77", String::new()))
        }),
        held("a member of an array whose superblock was zeroed", &["md", "array", "part of"], |_, device| {
            array()?;
            shell(
                "mdadm --create /dev/md78 --run --metadata=1.2 --level=1 --raid-devices=2 \"$1\" missing >/dev/null 2>&1",
                &[device.node()],
            )?;
            device.settle()?;
            clear(device.image(), 0, SIZE * MIB)?;
            shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
            Ok(Undo("mdadm --stop /dev/md78", String::new()))
        }),
        held("a logical volume whose label was zeroed", &["dm-", "part of", "mapping"], |_, device| {
            mapper()?;
            needs(&["lvm"])?;
            shell(
                "f=\"devices/filter=[\\\"a|$1|\\\",\\\"r|.*|\\\"] devices/use_devicesfile=0 activation/udev_sync=0 activation/udev_rules=0 activation/monitoring=0 backup/backup=0\"; \
                 lvm pvcreate -qq -y --config \"$f\" \"$1\"; lvm vgcreate -qq --config \"$f\" attackvg \"$1\"; lvm lvcreate -qq -y -Zn -Wn --config \"$f\" -l 4 -n lv attackvg",
                &[device.node()],
            )?;
            device.settle()?;
            clear(device.image(), 0, SIZE * MIB)?;
            shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
            Ok(Undo("dmsetup remove --noudevsync --force attackvg-lv", String::new()))
        }),
        held("a backing device of bcache", &["bcache", "part of", "claimed"], |_, device| {
            needs(&["make-bcache"])?;
            needs_kernel("bcache", "/sys/fs/bcache/register")?;
            shell(
                "make-bcache -B \"$1\" >/dev/null; echo \"$1\" >/sys/fs/bcache/register; sleep 0.5; test -e /sys/block/$2/bcache",
                &[device.node(), device.name()],
            )?;
            clear(device.image(), 0, SIZE * MIB)?;
            shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
            Ok(Undo("echo 1 >/sys/block/$1/bcache/stop; sleep 0.5", device.name().to_owned()))
        }),
        held("exported by the kernel's NVMe target", NVME_TARGET, |_, device| nvme_target(device.node())),
        held("its file exported by the kernel's NVMe target", NVME_TARGET, |_, device| {
            nvme_target(device.identity())
        }),
        held("exported by the kernel's SCSI target", SCSI_TARGET, |_, device| {
            scsi_target("iblock_0/attack", &format!("udev_path={}", device.node()))
        }),
        held("its file exported by the kernel's SCSI target", SCSI_TARGET, |_, device| {
            let told = format!("fd_dev_name={},fd_dev_size={}", device.identity(), SIZE * MIB);
            scsi_target("fileio_0/attack", &told)
        }),
        held("its node exported as a file by the kernel's SCSI target", SCSI_TARGET, |_, device| {
            let told = format!("fd_dev_name={},fd_dev_size={}", device.node(), SIZE * MIB);
            scsi_target("fileio_1/attack", &told)
        }),
        Attack::new(Class::Use, "exported by the kernel, and configfs is not mounted", no_configfs).quick(),
        held("a network block device serves it", &["process"], |ground, device| {
            needs(&["nbd-server", "bash"])?;
            let (ready, config) = (ground.path("ready"), ground.path("nbd.conf"));
            let text = |path| super::super::ground::text(path);
            super::super::tool::Holder::shell(
                &format!("exec bash -c '{NBD}' attack \"$1\" \"$2\" \"$3\""),
                &[device.node(), text(&ready)?, text(&config)?],
                &ready,
            )
        }),
    ]
}

/// The server opens what it serves when a client comes, so there is one: the flags that it takes, and the option that names the export
/// (the NBD protocol, "Newstyle negotiation").
const NBD: &str = r"printf %s\\n [generic] user=root group=root listenaddr=127.0.0.1 port=10899 [attack] exportname=$1 >$3
nbd-server -d -C $3 & sleep 1
exec 3<>/dev/tcp/127.0.0.1/10899
printf \\0\\0\\0\\1IHAVEOPT\\0\\0\\0\\1\\0\\0\\0\\6attack >&3
sleep 1; : >$2; wait";

const NVME_TARGET: &[&str] = &["target", "nvmet", "export"];
const SCSI_TARGET: &[&str] = &["target", "lio", "export", "claimed"];

/// A shell command that ends the use.
struct Undo(&'static str, String);

impl Drop for Undo {
    fn drop(&mut self) {
        succeeds(self.0, &[&self.1]);
    }
}

fn mapper() -> Result<()> {
    needs(&["dmsetup", "cryptsetup"])?;
    if succeeds("dmsetup targets | grep -q linear", &[]) {
        Ok(())
    } else {
        skip("this kernel has no device mapper")
    }
}

fn array() -> Result<()> {
    needs(&["mdadm"])?;
    needs_kernel("md_mod", "/proc/mdstat")
}

const CONFIGFS: &str = "/sys/kernel/config";

/// Through the page cache, as far as the kernel has that: a file of a tmpfs has no other way. Each in a subsystem of its own: other
/// attacks run beside it.
fn nvme_target(path: &str) -> Result<Undo> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    needs_kernel("nvmet", "/sys/kernel/config/nvmet")?;
    let subsystem =
        format!("/sys/kernel/config/nvmet/subsystems/attack-{}", MADE.fetch_add(1, Ordering::Relaxed));
    shell(
        "d=$2; mkdir -p $d/namespaces/1; printf %s \"$1\" >$d/namespaces/1/device_path; \
         if test -b \"$1\"; then :; else echo 1 >$d/namespaces/1/buffered_io; fi; echo 1 >$d/namespaces/1/enable",
        &[path, &subsystem],
    )?;
    Ok(Undo("echo 0 >$1/namespaces/1/enable; rmdir $1/namespaces/1 $1", subsystem))
}

fn scsi_target(place: &str, told: &str) -> Result<Undo> {
    needs_kernel("target_core_mod", "/sys/kernel/config/target")?;
    let module = if place.starts_with("fileio") { "target_core_file" } else { "target_core_iblock" };
    succeeds("modprobe \"$1\"", &[module]);
    shell(
        "d=/sys/kernel/config/target/core/$1; mkdir -p $d; printf %s \"$2\" >$d/control; echo 1 >$d/enable",
        &[place, told],
    )?;
    // Only its own: other attacks run beside it.
    Ok(Undo("d=/sys/kernel/config/target/core/$1; rmdir $d; rmdir ${d%/*}", place.to_owned()))
}

/// What the kernel exports cannot be seen where configfs is not mounted: the modules say that there may be something.
fn no_configfs(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let device = free(ground)?;
    let undo = nvme_target(device.identity())?;
    shell("umount \"$1\"", &[CONFIGFS])?;
    let answer = refused(ground, judge, &device, &["target", "configfs", "not seen", "export"]);
    shell("mount -t configfs configfs \"$1\"", &[CONFIGFS])?;
    drop(undo);
    let _: &Device = &device;
    answer
}
