//! ZFS: `zpool status`, `zpool list -v`, `zfs list`.

mod datasets;
mod list;
mod status;

use super::{Output, Part, Text, read_outputs};
use narrows_machine::zfs::ZfsPool;

const OUTPUTS: [Output; 3] = [
    (
        "zpool status",
        |body| body.contains("pool: ") && body.contains("CKSUM"),
        |machine, text| {
            machine.zfs = status::read(text);
            !machine.zfs.is_empty()
        },
    ),
    (
        "zpool list",
        |body| body.contains("HEALTH") || body.contains("ONLINE\t"),
        |machine, text| {
            let listed = list::read(text);
            let is_there = !listed.is_empty();
            add(&mut machine.zfs, listed);
            is_there
        },
    ),
    (
        "zfs list",
        |body| body.contains("MOUNTPOINT") || body.contains("\t/"),
        |machine, text| {
            machine.mounts = datasets::read(text);
            !machine.mounts.is_empty()
        },
    ),
];

/// Reads every pool and file system in a text.
pub fn read(text: &Text) -> Part {
    read_outputs(text, &OUTPUTS)
}

/// Adds what a list says of pools whose status did not.
fn add(pools: &mut Vec<ZfsPool>, listed: Vec<ZfsPool>) {
    for pool in listed {
        match pools.iter().position(|known| known.name == pool.name).and_then(|at| pools.get_mut(at)) {
            Some(known) if known.vdevs.is_empty() => known.vdevs = pool.vdevs,
            Some(_) => {}
            None => pools.push(pool),
        }
    }
    pools.truncate(status::MOST);
}

#[cfg(test)]
mod tests;
