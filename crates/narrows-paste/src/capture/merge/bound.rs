//! An end to machines that a text makes without end.

use std::collections::BTreeMap;

use narrows_machine::Machine;

/// More functions, disks, interfaces or mounts than any machine has: paths are compared with each other, which a text
/// without end must not turn into work without end.
pub(in crate::capture) const MOST_OF_A_KIND: usize = 8192;

/// Leaves out what is beyond any machine; whether there was anything.
pub(super) fn bound(machine: &mut Machine) -> bool {
    let Machine {
        pci, block, nics, links, mounts, usb, affinities, log, zfs, health, adapters, loads, ..
    } = machine;
    let maps = [
        cut(pci),
        cut(block),
        cut(nics),
        cut(links),
        cut(usb),
        cut(affinities),
        cut(health),
        cut(adapters),
        cut(loads),
    ];
    let is_longer = mounts.len().max(log.len()).max(zfs.len()) > MOST_OF_A_KIND;
    mounts.truncate(MOST_OF_A_KIND);
    log.truncate(MOST_OF_A_KIND);
    zfs.truncate(MOST_OF_A_KIND);
    is_longer || maps.contains(&true)
}

fn cut<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>) -> bool {
    let first_beyond = map.keys().nth(MOST_OF_A_KIND).cloned();
    first_beyond.is_some_and(|key| !map.split_off(&key).is_empty())
}
