//! The facts of the machine on who uses a device, as the guard takes them.

use crate::load::guard::{Identity, Usage, Use, UseKind};
use crate::machine::root::Root;
use crate::machine::usage::{self, DeviceUsage, DeviceUse, How};

/// Reads who uses the device with this kernel name.
pub fn of(root: &Root, name: &str) -> Usage {
    plain(usage::read(root, name))
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
        usage::Identity::KernelName(text) => ("kernel name", text),
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
    };
    Use { device: used.device, kind, by }
}
