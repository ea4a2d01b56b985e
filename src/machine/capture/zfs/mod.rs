//! ZFS: `zpool status`.

mod status;

use super::{Part, Rank, Text};

/// Reads every pool in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    if text.body().contains("pool: ") && text.body().contains("CKSUM") {
        part.machine.zfs = status::read(text);
        part.kind = (!part.machine.zfs.is_empty()).then_some("zpool status");
    }
    part
}

#[cfg(test)]
mod tests;
