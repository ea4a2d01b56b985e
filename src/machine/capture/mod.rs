//! The facts of a machine out of what its owner pasted: `lspci`, `dmesg`, `dmidecode`, `lsblk` and the like, alone or
//! in any mixture.
//!
//! Every reader is shown every text and takes the lines whose shape it knows, because people paste several outputs
//! into one file, quote them, and name files as they like. What a reader found is a [`Part`]; [`merge`](merge::merge)
//! puts the parts together, the better source before the worse. [`input`] finds the texts in files, directories and
//! archives.

pub mod cpu;
mod device;
pub mod dm;
pub mod dmesg;
pub mod dmidecode;
pub mod input;
mod join;
mod json;
pub mod lsblk;
pub mod lspci;
pub mod lvm;
pub mod md;
pub mod merge;
pub mod mounts;
pub mod net;
pub mod nvme;
mod size;
pub mod smart;
mod sysfs;
mod table;
pub mod target;
pub mod text;
pub mod usb;
pub mod zfs;

pub use input::{Gathered, gather, gather_with};
pub use text::Text;

use super::Machine;
use super::fact::Source;

/// How far a kind of source is believed where two of them speak of the same fact. Ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Rank {
    /// What the kernel said at some time in the past (`dmesg`): links are trained again later.
    #[default]
    Log,
    /// What the firmware or another tool's summary claims (`dmidecode`, `lsblk`, hwloc).
    Summary,
    /// What was read from the device and written out in words (`lspci -vv`).
    Decoded,
    /// The registers or kernel attributes themselves (`lspci -xxx`, files of `/sys` and `/proc`).
    Raw,
}

/// What is missing in a text, and how its owner gets it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// What could not be known: `the link registers of 0000:01:00.0`.
    pub what: String,
    /// What to run to get it: `sudo lspci -vvv`.
    pub run: String,
}

/// What one reader found in one text.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// What it was, as a person calls it: `lspci -vv`, `dmesg`. `None` when the reader knew no line of it.
    pub kind: Option<&'static str>,
    /// How far it is believed.
    pub rank: Rank,
    /// The facts. Sources name the text and line: `lspci.txt:12`.
    pub machine: Machine,
    /// What it could have told but does not.
    pub gaps: Vec<Gap>,
}

/// A text, and what it turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The name of the text: a file, or a path in a directory or archive.
    pub name: String,
    /// What is in it: `lspci -vv`, `dmesg`.
    pub kinds: Vec<&'static str>,
}

/// How a machine that was put together from texts came to be. What such a machine does not have may exist all the
/// same: nobody was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The texts that facts are from.
    pub texts: Vec<Recognised>,
    /// What the texts could have told but do not, sorted.
    pub gaps: Vec<Gap>,
}

impl Captured {
    /// Whether a fact is from a log: it was so when the line was written.
    pub fn is_past(&self, source: &Source) -> bool {
        let name = source.as_str().rsplit_once(':').map_or(source.as_str(), |(name, _)| name);
        self.texts.iter().any(|text| text.name == name && text.kinds == ["dmesg"])
    }
}

/// A reader of one kind of output. It never fails: a text that is none of its own gives an empty part.
pub type Reader = fn(&Text) -> Part;

/// Every reader.
const READERS: &[Reader] = &[sysfs::read, lspci::read, lspci::read_hex, lspci::read_tree, lspci::read_sysfs, lspci::read_summary, dmesg::read, lsblk::read, md::read, dm::read, dmidecode::read, usb::read, cpu::read_lscpu, cpu::read_cpuinfo, cpu::read_memory, cpu::read_numactl, nvme::read, smart::read, mounts::read, lvm::read, zfs::read, net::read, lspci::read_inxi];

/// What is understood, in the words of a hint.
pub const UNDERSTOOD: &str = "lspci (-v, -vv, -vvv, -vmm, -t, -x), dmesg, dmidecode, lsblk, /proc/mdstat, mdadm -D, \
    dmsetup table, cryptsetup status, pvs and lvs, zpool status, lsusb, lscpu, numactl -H, files of /sys and /proc as \
    `grep .` prints them, and records of `narrows snapshot`";

/// Shows a text to every reader; the parts that found something.
pub fn parts(text: &Text) -> Vec<Part> {
    READERS.iter().map(|reader| reader(text)).filter(|part| part.kind.is_some()).collect()
}
