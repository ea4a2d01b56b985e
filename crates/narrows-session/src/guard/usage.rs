//! The facts of the machine on who uses a device, as the guard takes them.

use std::thread;
use std::time::Duration;

use narrows_base::shell;
use narrows_load::guard::{Identity, Usage, Use, UseKind};
use narrows_machine::root::Root;
use narrows_machine::usage::{self, Class, Counters, DeviceUsage, DeviceUse, Hidden, How, Traffic};

/// What a device in memory is told by.
const KERNEL_NAME: &str = "kernel name";

/// Reads who uses the device with this kernel name.
pub(crate) fn of(root: &Root, name: &str) -> Usage {
    plain(usage::read(root, name))
}

/// How long the counters of a device must stand still.
const STILL: Duration = Duration::from_secs(1);
/// How often that is tried where something only reads: udev looks at each device that is new.
const TRIES: usize = 3;

/// Watches the counters of the device for a second in which narrows does nothing to it, and adds who reads or writes it, and
/// that its counters tell nothing. For a device that is in use already there is nothing to watch for.
pub fn watch(root: &Root, usage: &mut Usage) {
    if !usage.uses.is_empty() {
        return;
    }
    let names = [usage.device.clone()];
    for left in (0..TRIES).rev() {
        let first = Counters::read(root, &names);
        // What is memory has no counters in some kernels, and nobody to share it with.
        let is_memory = usage.identity.as_ref().is_some_and(|identity| identity.what == KERNEL_NAME);
        if !first.uncounted().is_empty() && !is_memory {
            let iostats = shell::word(&format!("/sys/block/{}/queue/iostats", usage.device));
            let why = format!("{} does not count (`echo 1 > {iostats}`)", usage.device);
            usage.unseen.push(Hidden { classes: vec![Class::Traffic], why }.to_string());
            return;
        }
        thread::sleep(STILL);
        let seen = first.until(&Counters::read(root, &names));
        if seen.is_empty() {
            return;
        }
        if left == 0 || seen.iter().any(Traffic::is_change) {
            usage.uses.extend(seen.into_iter().map(traffic));
            return;
        }
    }
}

fn traffic(seen: Traffic) -> Use {
    let Traffic { device, reads, changes, in_flight } = seen;
    let what = match (reads, changes) {
        (0, 0) => format!("{in_flight} reads or writes of somebody do not end"),
        (reads, 0) => format!("somebody who is not seen read it ({reads} times in a second)"),
        (_, changes) => format!("somebody who is not seen changed it ({changes} times in a second)"),
    };
    Use { device, kind: UseKind::Traffic, by: what }
}

fn plain(usage: DeviceUsage) -> Usage {
    Usage {
        number: usage.number.get(),
        size: usage.size.get(),
        read_only: usage.read_only.get(),
        identity: identity(usage.identity),
        family: usage.family,
        uses: usage.uses.into_iter().map(plain_use).collect(),
        unseen: usage.unseen,
        device: usage.name,
    }
}

fn identity(identity: usage::Identity) -> Option<Identity> {
    let (what, text) = match identity {
        usage::Identity::Serial(text) => ("serial number", text),
        usage::Identity::WorldWideName(text) => ("worldwide name", text),
        usage::Identity::BackingFile(text) => ("backing file", text),
        usage::Identity::KernelName(text) => (KERNEL_NAME, text),
        usage::Identity::None => return None,
    };
    Some(Identity { what, text })
}

fn plain_use(used: DeviceUse) -> Use {
    let (kind, by) = match used.how {
        How::Mounted { point, process } => (UseKind::Mount, format!("{point} (seen by process {process})")),
        How::Swap(path) => (UseKind::Swap, path),
        How::Holder(holder) => (UseKind::Holder, holder),
        How::Bcache => (UseKind::Holder, "bcache".to_owned()),
        How::BuiltOn(component) => (UseKind::Component, component),
        How::Partition(partition) => (UseKind::Partitioned, partition),
        How::PartitionOf(disk) => (UseKind::PartitionOf, disk),
        How::Open { process, program } => (UseKind::OpenFile, format!("process {process} ({program})")),
        How::Loop(device) => (UseKind::Loop, device),
        How::Mapped { process, program } => (UseKind::Mapped, format!("process {process} ({program})")),
        How::Registered { process, program } => {
            (UseKind::Registered, format!("process {process} ({program})"))
        }
        How::Exported(by) => (UseKind::Exported, by),
        How::FileSystem(kind) => (UseKind::FileSystem, kind),
        How::Kernel(by) => (UseKind::Kernel, by),
        How::Locked { process: 0 } => (UseKind::Locked, "somebody who is not seen".to_owned()),
        How::Locked { process } => (UseKind::Locked, format!("process {process}")),
        How::Path(other) => (UseKind::Path, other),
        How::Suspended => (UseKind::Suspended, "reading it would wait for ever".to_owned()),
    };
    Use { device: used.device, kind, by }
}
