//! What is mounted: `mount`, `/proc/mounts`, `/proc/self/mountinfo`, `findmnt` (tree, list, pairs and JSON) and `df`.

use super::device::key_of;
use crate::machine::Machine;
use crate::machine::mount::Mount;

/// Puts a mount down unless one of the same device or source is known at that point; then what it lacks is filled in.
pub(super) fn add(machine: &mut Machine, mount: Mount) {
    let same = |known: &&mut Mount| {
        known.point == mount.point
            && (known.source == mount.source
                || known.devices.first().is_some_and(|device| mount.devices.contains(device)))
    };
    match machine.mounts.iter_mut().find(same) {
        None => machine.mounts.push(mount),
        Some(known) => complete(known, mount),
    }
}

fn complete(known: &mut Mount, other: Mount) {
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
}

/// The block devices that a source names.
pub(super) fn devices_of(source: &str) -> Vec<String> {
    // `/dev/sda2[/@home]` is a subvolume or bind mount in the words of findmnt; bcachefs joins its devices with colons.
    let source = source.split('[').next().unwrap_or_default();
    source.split(':').filter(|part| part.starts_with("/dev/")).filter_map(key_of).collect()
}
