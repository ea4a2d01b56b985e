//! Device-mapper and encryption: `dmsetup table`, `dmsetup ls --tree`, `dmsetup info`, `cryptsetup status`,
//! `cryptsetup luksDump` and `cryptsetup benchmark`.

mod benchmark;
mod info;
mod luks;
mod status;
mod table;
mod tree;

use super::{Part, Rank, Text};

/// Reads every output about device-mapper and its encryption in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let body = text.body();
    let machine = &mut part.machine;
    let mut note = |found: bool, kind: &'static str| {
        if found && part.kind.is_none() {
            part.kind = Some(kind);
        }
    };
    if body.contains("Maj") || body.contains("Major, minor") {
        note(info::read(machine, text), "dmsetup info");
    }
    if body.contains(")\n") {
        note(tree::read(machine, text), "dmsetup ls --tree");
    }
    if table::TARGETS.iter().any(|target| body.contains(target)) {
        note(table::read(machine, text), "dmsetup table");
    }
    if body.contains("keysize:") {
        note(status::read(machine, text), "cryptsetup status");
    }
    if body.contains("LUKS header information") {
        note(luks::read(machine, text), "cryptsetup luksDump");
    }
    if body.contains("iB/s") {
        note(benchmark::read(machine, text), "cryptsetup benchmark");
    }
    part
}

#[cfg(test)]
mod tests;
