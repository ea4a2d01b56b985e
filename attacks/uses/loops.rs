//! Other loop devices over the same bytes, and what stands on them.

use std::path::Path;

use super::super::attack::{Attack, Class, Judge, Result};
use super::super::device::{BLOCK, Device, MIB, clear};
use super::super::ground::{Ground, text};
use super::super::narrows::{BENCH, Run, steady};
use super::super::tool::{Holder, shell, succeeds};
use super::processes::Name;
use super::{SIZE, free, held};

/// What an answer may say of another loop device.
const LOOP: &[&str] = &["loop"];

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        twin("a second loop device", Name::Same),
        twin("a second loop device over a hard link", Name::Link),
        twin("a second loop device over a bind mount", Name::Bind),
        held("a second loop device over a name that is gone", &["loop"], |ground, device| {
            let link = Name::Link.of(ground, device)?;
            let other = Device::over(&link)?;
            std::fs::remove_file(&link)?;
            Ok(other)
        }),
        held("a second loop device over a part of the file", LOOP, |_, device| {
            let other =
                shell("losetup --find --show --offset 8M --sizelimit 8M \"$1\"", &[device.identity()])?;
            Ok(Attached(other))
        }),
        held("a loop device on the device", LOOP, |_, device| Device::over(Path::new(device.node()))),
        held("a loop device on a loop device on the device", LOOP, |_, device| {
            let first = Device::over(Path::new(device.node()))?;
            let second = Device::over(Path::new(first.node()))?;
            Ok((second, first))
        }),
        mounted("mounted", Over::Device),
        mounted("mounted through a loop device over a hard link", Over::Twin),
        mounted("mounted in another namespace", Over::Namespace),
        mounted("mounted, detached and still open", Over::Lazy),
        // Not quick: where the kernel swaps meanwhile, it writes to them itself.
        slow(held("swap", &["swap"], |_, device| {
            shell("mkswap \"$1\" >/dev/null 2>&1; swapon \"$1\"", &[device.node()])?;
            // Blank again, while the kernel swaps to it.
            device.settle()?;
            clear(device.image(), 0, 16 * BLOCK)?;
            shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
            Ok(Swap(device.node().to_owned()))
        })),
        slow(held("swap on a twin", &["swap", "loop"], |ground, device| {
            let other = Device::over(&Name::Link.of(ground, device)?)?;
            shell("mkswap \"$1\" >/dev/null 2>&1; swapon \"$1\"", &[other.node()])?;
            other.settle()?;
            clear(device.image(), 0, 16 * BLOCK)?;
            Ok((Swap(other.node().to_owned()), other))
        })),
        held("partitions that are no longer on the disk", &["partition"], |_, device| {
            partitioned(device)?;
            Ok(Partitions(device.node().to_owned()))
        }),
        held("a partition that is open", &["partition", "process"], |ground, device| {
            partitioned(device)?;
            let ready = ground.path("ready");
            let part = format!("{}p1", device.node());
            let holder = Holder::ready(
                &mut super::super::holder::command("write", Path::new(&part), &ready)?,
                &ready,
            )?;
            Ok((holder, Partitions(device.node().to_owned())))
        }),
        held("a partition of a twin", &["partition", "loop"], |ground, device| {
            let other = Device::over(&Name::Link.of(ground, device)?)?;
            partitioned(&other)?;
            clear(device.image(), 0, MIB)?;
            Ok((Partitions(other.node().to_owned()), other))
        }),
        held("read-only", &["read-only"], |_, device| {
            shell("blockdev --setro \"$1\"", &[device.node()])?;
            Ok(ReadOnly(device.node().to_owned()))
        }),
        Attack::new(Class::Use, "another device's name was typed", other_name).quick().beside(),
    ]
}

/// A loop device that is detached when this is dropped.
struct Attached(String);

impl Drop for Attached {
    fn drop(&mut self) {
        succeeds("losetup --detach \"$1\"", &[&self.0]);
    }
}

/// A node that can be written again when this is dropped: the kernel keeps the mark for the next file.
struct ReadOnly(String);

impl Drop for ReadOnly {
    fn drop(&mut self) {
        succeeds("blockdev --setrw \"$1\"", &[&self.0]);
    }
}

struct Swap(String);

impl Drop for Swap {
    fn drop(&mut self) {
        // The header is gone, so swapoff is told the node.
        succeeds("swapoff \"$1\"", &[&self.0]);
    }
}

/// Partitions that only the kernel knows; taken away when this is dropped.
struct Partitions(String);

impl Drop for Partitions {
    fn drop(&mut self) {
        succeeds("partx --delete \"$1\"", &[&self.0]);
    }
}

fn partitioned(device: &Device) -> Result<()> {
    shell(
        "printf '2048,20480\\n,,\\n' | sfdisk -q --no-reread --label dos \"$1\"; partx --update \"$1\"; test -b \"$1p1\"",
        &[device.node()],
    )?;
    device.settle()?;
    clear(device.image(), 0, BLOCK)?;
    shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
    Ok(())
}

fn twin(name: &str, as_name: Name) -> Attack {
    held(name, LOOP, move |ground, device| Device::over(&as_name.of(ground, device)?))
}

/// How a file system on the device is mounted.
#[derive(Debug, Clone, Copy)]
enum Over {
    Device,
    Twin,
    Namespace,
    Lazy,
}

/// A file system is mounted, and then zeroed below its mount: the device is blank, and somebody works on it.
fn mounted(name: &str, over: Over) -> Attack {
    let words: &[&str] = match over {
        Over::Twin => &["loop", "mounted"],
        // Nothing but the claim shows this one.
        Over::Lazy => &["mounted", "claimed", "process", "namespace", "holder"],
        Over::Device | Over::Namespace => &["mounted"],
    };
    held(name, words, move |ground, device| {
        shell("mkfs.ext4 -q -F \"$1\"", &[device.identity()])?;
        let point = ground.directory("mount")?;
        let other = if matches!(over, Over::Twin) {
            Some(Device::over(&Name::Link.of(ground, device)?)?)
        } else {
            None
        };
        let node = other.as_ref().map_or(device.node(), Device::node).to_owned();
        let holder = match over {
            Over::Namespace => {
                let ready = ground.path("ready");
                let script = "exec unshare -m sh -ec 'mount --make-rprivate /; mount -o ro,noload \"$1\" \"$2\"; : >\"$3\"; sleep 120' sh \"$1\" \"$2\" \"$3\"";
                Some(Holder::shell(script, &[&node, text(&point)?, text(&ready)?], &ready)?)
            }
            _ => {
                shell("mount -o ro,noload \"$1\" \"$2\"", &[&node, text(&point)?])?;
                None
            }
        };
        let holder = if matches!(over, Over::Lazy) {
            let ready = ground.path("ready");
            let script = "cd \"$1\"; umount -l \"$1\"; : >\"$2\"; exec sleep 120";
            Some(Holder::shell(script, &[text(&point)?, text(&ready)?], &ready)?)
        } else {
            holder
        };
        clear(device.image(), 0, SIZE * MIB)?;
        shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
        Ok((Mount(point), holder, other))
    })
}

struct Mount(std::path::PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        succeeds("umount -l \"$1\"", &[self.0.to_str().unwrap_or_default()]);
    }
}

/// The name of a twin of the same size is typed for this device.
fn other_name(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (device, other) = (free(ground)?, Device::blank(ground, SIZE)?);
    let is_other = &["is not"][..];
    let words = ["guard", device.node(), "--i-own", other.identity()];
    steady(|| Run::new(ground, &words), is_other)?.must_refuse(judge, "guard", &[1], is_other);
    let words = [
        "measure",
        "--as",
        "kdiskmark",
        device.node(),
        "--write",
        "--i-own",
        other.identity(),
        "--size",
        "40MiB",
    ];
    let words = [&words[..], &BENCH].concat();
    steady(|| Run::new(ground, &words), is_other)?.must_refuse(judge, "bench", &[2], is_other);
    // And a device that the user does not name at all.
    let words = ["measure", "--as", "kdiskmark", device.node(), "--write", "--size", "40MiB"];
    let answer = Run::new(ground, &[&words[..], &BENCH].concat()).answer()?;
    answer.must_refuse(judge, "bench without a name", &[2], &["--i-own", "typed"]);
    device.must_be_zero(judge, "afterwards")?;
    Ok(())
}

/// The same attack, left out of the quick run.
fn slow(attack: Attack) -> Attack {
    Attack { quick: false, ..attack }
}
