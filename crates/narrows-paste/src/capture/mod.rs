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
pub mod foreign;
mod gap;
mod health;
pub mod hwloc;
pub mod input;
pub mod inventory;
pub mod iostat;
mod join;
mod json;
pub mod links;
pub mod lsblk;
pub mod lspci;
pub mod lvm;
pub mod md;
pub mod merge;
pub mod mounts;
pub mod net;
pub(crate) mod number;
pub mod nvme;
pub mod sensors;
mod size;
pub mod smart;
pub mod storcli;
pub mod sysfs;
mod table;
pub mod target;
pub mod usb;
pub mod zfs;

pub use crate::text::Text;
pub use input::{Gathered, Taken, Viewer, gather, gather_with};
pub use narrows_machine::captured::{Captured, Counted, Gap, Lacks, Recognised};

use narrows_machine::Machine;

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

/// A reader of one kind of output. It never fails: a text that is none of its own gives an empty part.
pub type Reader = fn(&Text) -> Part;

/// One of the outputs of a family, such as those of nvme-cli: as a person calls it, whether a text may hold it, and what puts
/// down what it tells and says whether it was there.
type Output = (&'static str, fn(&str) -> bool, fn(&mut Machine, &Text) -> bool);

/// Reads every output of a family in a text. The first that is there says what the text is.
fn read_outputs(text: &Text, outputs: &[Output]) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    for (kind, _, read) in outputs.iter().filter(|(_, may_be_in, _)| may_be_in(text.body())) {
        if read(&mut part.machine, text) {
            part.kind = part.kind.or(Some(kind));
        }
    }
    part
}

/// Every reader, and what it understands, in the words of a hint.
const READERS: &[(Reader, &str)] = &[
    (sysfs::read, "files of /sys and /proc as `grep .` prints them"),
    (lspci::read, "lspci (-v, -vv, -vvv, -mm, -vmm)"),
    (lspci::read_hex, "lspci -x to -xxxx"),
    (lspci::read_tree, "lspci -t"),
    (lspci::read_sysfs, "listings of /sys/bus/pci"),
    (lspci::read_summary, "sbc-bench"),
    (dmesg::read, "dmesg"),
    (lsblk::read, "lsblk"),
    (md::read, "/proc/mdstat, mdadm -D and -E"),
    (dm::read, "dmsetup, cryptsetup status, luksDump and benchmark"),
    (dmidecode::read, "dmidecode"),
    (dmidecode::read_hex, "hex dumps of /sys/firmware/dmi/tables/DMI"),
    (usb::read, "lsusb"),
    (cpu::read_lscpu, "lscpu"),
    (cpu::read_cpuinfo, "/proc/cpuinfo"),
    (cpu::read_memory, "/proc/meminfo, free"),
    (cpu::read_numactl, "numactl -H"),
    (nvme::read, "nvme list, list-subsys, id-ctrl and smart-log"),
    (smart::read, "smartctl"),
    (mounts::read, "mount, findmnt and df"),
    (lvm::read, "pvs and lvs"),
    (zfs::read, "zpool status, zpool list -v and zfs list"),
    (links::read, "listings of /dev/disk and /sys/class/nvme"),
    (net::read, "ip link, ethtool, ibstat, nvidia-smi -q and topo -m"),
    (lspci::read_inxi, "inxi"),
    (inventory::read_inxi_drives, "the drives of inxi -D"),
    (inventory::read_hwinfo, "hwinfo (and --short)"),
    (inventory::read_lshw, "lshw"),
    (inventory::read_lsscsi, "lsscsi (-t, -g)"),
    (lspci::read_pciconf, "pciconf -l of FreeBSD (-v, -b, -c, -B)"),
    (sensors::read, "sensors (-u, -j)"),
    (iostat::read, "iostat -x (text and JSON)"),
    (storcli::read, "storcli and perccli (/c0 show all, /c0/eall/sall show all, also as JSON)"),
    (hwloc::read, "XML of hwloc (lstopo)"),
    (hwloc::read_console, "lstopo on a console"),
];

/// What each reader says that it understands.
pub fn readers() -> impl Iterator<Item = &'static str> {
    READERS.iter().map(|(_, words)| *words)
}

/// What is understood, in the words of a hint: what each reader says of itself.
pub fn understood() -> String {
    let words: Vec<&str> = readers().collect();
    format!("{}, and records of `narrows snapshot`", words.join(", "))
}

/// Shows a text to every reader; the parts that found something.
pub fn parts(text: &Text) -> Vec<Part> {
    READERS.iter().map(|(reader, _)| reader(text)).filter(|part| part.kind.is_some()).collect()
}
