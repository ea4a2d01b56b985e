//! An end to machines that a text makes without end.

use std::collections::BTreeMap;

use narrows_machine::Machine;

/// More functions, disks, interfaces or mounts than any machine has: paths are compared with each other, which a text
/// without end must not turn into work without end.
pub(super) const MOST_OF_A_KIND: usize = 8192;

/// Leaves out what is beyond any machine.
pub(super) fn bound(machine: &mut Machine) {
    cut(&mut machine.pci);
    cut(&mut machine.block);
    cut(&mut machine.nics);
    cut(&mut machine.links);
    machine.mounts.truncate(MOST_OF_A_KIND);
}

fn cut<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>) {
    let first_beyond = map.keys().nth(MOST_OF_A_KIND).cloned();
    if let Some(key) = first_beyond {
        map.split_off(&key);
    }
}
