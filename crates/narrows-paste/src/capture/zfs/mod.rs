//! ZFS: `zpool status`, `zpool list -v`, `zfs list`.

mod datasets;
mod list;
mod status;

use super::{Part, Rank, Text};
use narrows_machine::zfs::ZfsPool;

/// Reads every pool and file system in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let body = text.body();
    let machine = &mut part.machine;
    let mut note = |found: bool, kind: &'static str| {
        if found && part.kind.is_none() {
            part.kind = Some(kind);
        }
    };
    if body.contains("pool: ") && body.contains("CKSUM") {
        machine.zfs = status::read(text);
        note(!machine.zfs.is_empty(), "zpool status");
    }
    if body.contains("HEALTH") || body.contains("ONLINE\t") {
        let listed = list::read(text);
        note(!listed.is_empty(), "zpool list");
        add(&mut machine.zfs, listed);
    }
    if body.contains("MOUNTPOINT") || body.contains("\t/") {
        machine.mounts = datasets::read(text);
        note(!machine.mounts.is_empty(), "zfs list");
    }
    part
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
