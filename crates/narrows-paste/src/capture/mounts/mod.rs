//! What is mounted: `mount`, `/proc/mounts`, `/proc/self/mountinfo`, `findmnt` (tree, list, pairs and JSON) and `df`.

mod findmnt;
mod lines;

use std::collections::BTreeMap;

use super::device::{device, key_of};
use super::{Part, Rank, Text};
use narrows_base::fact::Fact;
use narrows_machine::Machine;
use narrows_machine::block::Remote;
use narrows_machine::mount::{self, Mount};

/// No machine has more mounts of devices; a text that names more was made to be slow.
const MOST_MOUNTS: usize = 4096;

/// Nor are so many mounted over each other.
const MOST_AT_ONE_POINT: usize = 16;

/// Reads every output about mounts in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Summary, ..Part::default() };
    let body = text.body();
    let mut found = Vec::new();
    if body.contains("\"filesystems\"") {
        found.extend(findmnt::json(text));
    }
    if body.contains("TARGET") {
        found.extend(findmnt::tables(text));
        found.extend(findmnt::pairs(text));
    }
    // A mount point begins with a slash, whatever the form.
    if body.contains(" /") {
        found.extend(lines::read(text));
    }
    let own = found.into_iter().filter(|(_, mount)| is_storage(mount));
    let mounts: Vec<Mount> = own.map(|(line, mount)| complete(mount, &text.source(line))).collect();
    part.kind = (!mounts.is_empty()).then_some("mounts");
    for name in mounts.iter().flat_map(|mount| &mount.devices) {
        device(&mut part.machine, name);
    }
    add(&mut part.machine, mounts);
    part
}

/// Whether a mount has to do with storage: that of a device, of a server, or of a file system with devices of its own.
fn is_storage(mount: &Mount) -> bool {
    mount.point.starts_with('/')
        && (mount.source.starts_with("/dev/")
            || mount.is_network()
            || matches!(mount.fstype.as_str(), "zfs" | "bcachefs"))
}

/// Fills in what follows from source and options.
fn complete(mut mount: Mount, source: &str) -> Mount {
    mount.devices = devices_of(&mount.source);
    if mount.root.is_empty() {
        mount.root = "/".to_owned();
    }
    if mount.is_network() {
        let address = mount.option("addr").map(str::to_owned);
        let port = mount.server_port().map_or_else(|| Fact::absent(source), |port| Fact::known(port, source));
        let address = address.map_or_else(|| Fact::absent(source), |address| Fact::known(address, source));
        mount.remote = Some(Remote { address, port, interface: Fact::absent(source) });
        mount.connections = match mount.options.is_empty() {
            true => Fact::absent(source),
            false => match mount::connections(&mount).get() {
                Some(count) => Fact::known(count, source),
                None => Fact::absent(source),
            },
        };
    } else {
        mount.connections = Fact::absent(source);
    }
    mount
}

/// Puts mounts down. One of the same device or source at the same point is the same mount, and fills in what is not known
/// of it.
pub(super) fn add(machine: &mut Machine, mounts: impl IntoIterator<Item = Mount>) {
    let mut at: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, known) in machine.mounts.iter().enumerate() {
        at.entry(known.point.clone()).or_default().push(index);
    }
    for mount in mounts {
        let here = at.entry(mount.point.clone()).or_default();
        let same = here.iter().copied().find(|index| {
            machine.mounts.get(*index).is_some_and(|known| {
                known.source == mount.source
                    || known.devices.first().is_some_and(|device| mount.devices.contains(device))
            })
        });
        let has_room = here.len() < MOST_AT_ONE_POINT && machine.mounts.len() < MOST_MOUNTS;
        if let Some(known) = same.and_then(|index| machine.mounts.get_mut(index)) {
            fill(known, mount);
        } else if has_room {
            here.push(machine.mounts.len());
            machine.mounts.push(mount);
        }
    }
}

fn fill(known: &mut Mount, other: Mount) {
    if known.fstype.is_empty() {
        known.fstype = other.fstype;
    }
    if known.options.is_empty() {
        known.options = other.options;
    }
    if known.devices.is_empty() {
        known.devices = other.devices;
    }
    if known.number == (0, 0) {
        known.number = other.number;
    }
    if known.root == "/" {
        known.root = other.root;
    }
    let knows_address =
        |remote: &Option<Remote>| remote.as_ref().is_some_and(|remote| remote.address.value().is_some());
    if !knows_address(&known.remote) && other.remote.is_some() {
        known.remote = other.remote;
    }
    if known.connections.value().is_none() {
        known.connections = other.connections;
    }
}

/// The block devices that a source names.
fn devices_of(source: &str) -> Vec<String> {
    // `/dev/sda2[/@home]` is a subvolume or bind mount in the words of findmnt; bcachefs joins its devices with colons.
    let source = source.split('[').next().unwrap_or_default();
    source.split(':').filter(|part| part.starts_with("/dev/")).filter_map(key_of).collect()
}

/// The options of `rw,relatime,subvol=/@`.
fn options(text: &str) -> Vec<String> {
    text.split(',').filter(|option| !option.is_empty()).map(str::to_owned).collect()
}

/// A file system named only by the device that holds it; what `df` does not say stays empty.
fn mount(source: &str, point: &str, fstype: &str, of: &str) -> Mount {
    let root = source.split_once('[').and_then(|(_, root)| root.strip_suffix(']')).unwrap_or_default();
    Mount {
        point: point.to_owned(),
        fstype: fstype.to_owned(),
        source: source.split('[').next().unwrap_or_default().to_owned(),
        options: options(of),
        root: root.to_owned(),
        ..Mount::default()
    }
}

#[cfg(test)]
mod tests;
