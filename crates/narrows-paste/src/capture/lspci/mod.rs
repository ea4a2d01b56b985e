//! `lspci` in every form that people paste: lists, `-v` to `-vvv`, `-mm` and `-vmm`, trees, hex dumps; quoted, broken
//! by mail programs, without indentation, filtered, cut, several of them in one text.
//!
//! Sources: pciutils (`lspci.c`, `ls-caps.c`, `ls-ecaps.c`, `ls-tree.c`, `ls-kernel.c`) from version 2.2 to 3.14.

mod acs;
mod aer;
mod block;
mod class;
mod device;
mod express;
mod functions;
mod head;
mod hex;
mod inxi;
mod line;
mod link;
mod listed;
mod pciconf;
mod summary;
mod sysfs;
mod tree;

pub(super) use class::{code as class_of, full as full_class};
pub(super) use hex::of_config;
pub use hex::read_hex;
pub use inxi::read_inxi;
pub(super) use listed::Listed;
pub use pciconf::read_pciconf;
pub use summary::read_summary;
pub use sysfs::read_sysfs;
pub use tree::read_tree;

use device::Detail;
use functions::Functions;
pub(super) use functions::lacks_link;

use super::{Part, Rank, Text};
use narrows_machine::Machine;

/// What shows the registers of a link.
const NEED: &str = "root: sudo lspci -vvv";

/// Reads what `lspci` says in words. Ends of links that the text does not show stay unknown, and are gaps.
pub fn read(text: &Text) -> Part {
    let mut functions = Functions::default();
    let mut last = None;
    block::each(text, &mut |block| {
        let before = last.replace(block).and_then(|before| device::read(text, &before, true));
        before.into_iter().for_each(|found| functions.add(found));
    });
    let found = last.and_then(|block| device::read(text, &block, false));
    found.into_iter().for_each(|found| functions.add(found));
    let kind = match functions.detail() {
        None => return Part::default(),
        Some(Detail::Listed) => "lspci",
        Some(Detail::Verbose) => "lspci -v",
        Some(Detail::Full) => "lspci -vv",
    };
    let (pci, gaps) = functions.finish();
    Part { kind: Some(kind), rank: Rank::Decoded, machine: Machine { pci, ..Machine::default() }, gaps }
}

#[cfg(test)]
mod tests;
