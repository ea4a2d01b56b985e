//! The facts of a machine out of what its owner pasted: `lspci`, `dmesg`, `dmidecode`, `lsblk` and the like, alone or
//! in any mixture.
//!
//! Every reader is shown every text and takes the lines whose shape it knows, because people paste several outputs
//! into one file, quote them, and name files as they like. What a reader found is a [`Part`]; [`merge`](merge::merge)
//! puts the parts together, the better source before the worse. [`input`] finds the texts in files, directories and
//! archives.

mod aer;
pub mod btrfs;
pub mod cpu;
mod device;
pub mod dm;
pub mod dmesg;
pub mod dmidecode;
mod fill;
#[cfg(target_os = "linux")]
pub mod foreign;
pub mod hdparm;
mod health;
pub mod hwloc;
pub mod input;
pub mod inventory;
pub mod iostat;
pub mod iscsi;
mod join;
pub(crate) mod json;
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
pub mod raid_cards;
pub mod sensors;
pub mod smart;
pub mod storcli;
pub mod sysfs;
mod table;
pub mod target;
pub mod usb;
pub mod zfs;

use narrows_base::fact::Source;
use narrows_machine::Machine;
use narrows_machine::pci::{PciAddress, PciDevice};

use crate::text::is_in;
pub use crate::text::{Text, statements};
pub use input::{Gathered, Glance, Taken, Viewer, gather_texts};
#[cfg(target_os = "linux")]
pub use input::{gather, gather_with, glance, is_readable};
pub use join::at_each;
pub use narrows_machine::captured::{Captured, Counted, Gap, Lacks, Recognised};

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

/// One of the outputs of a family, such as those of nvme-cli: as a person calls it, the marks of which a text has one if it may
/// hold it, and what puts down what it tells and says whether it was there.
type Output = (&'static str, &'static [&'static str], fn(&mut Machine, &Text) -> bool);

/// Reads every output of a family in a text. The first that is there says what the text is.
fn read_outputs(text: &Text, outputs: &[Output]) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    for (kind, _, read) in outputs.iter().filter(|(_, marks, _)| is_in(marks, text.body())) {
        if read(&mut part.machine, text) {
            part.kind = part.kind.or(Some(kind));
        }
    }
    part
}

/// Every reader; the marks of which a text has one if it may hold anything for it (none: it looks itself); and what it
/// understands, in the words of a hint.
const READERS: &[(Reader, &[&str], &str)] = &[
    (sysfs::read, &["/sys/", "/proc/", " -> ../"], "files of /sys and /proc as `grep .` prints them"),
    (lspci::read, &[], "lspci (-v, -vv, -vvv, -mm, -vmm)"),
    (lspci::read_hex, &["00: "], "lspci -x to -xxxx"),
    (lspci::read_tree, &[], "lspci -t"),
    (lspci::read_sysfs, &[], "listings of /sys/bus/pci"),
    (lspci::read_summary, &[": Speed "], "sbc-bench"),
    (dmesg::read, &[], "dmesg"),
    (lsblk::read, &[], "lsblk"),
    (md::read, &[], "/proc/mdstat, mdadm -D and -E"),
    (dm::read, &[], "dmsetup, cryptsetup status, luksDump and benchmark"),
    (dmidecode::read, &["DMI type", "SMBIOS", "dmidecode", " Information", "Designation:"], "dmidecode"),
    (dmidecode::read_hex, &[], "hex dumps of /sys/firmware/dmi/tables/DMI"),
    (usb::read, &["Bus ", "Bus=", "/sys/bus/usb/devices/usb", "MBit/s "], "lsusb and usb-devices"),
    (cpu::read_lscpu, &["CPU(s)"], "lscpu"),
    (cpu::read_cpuinfo, &[], "/proc/cpuinfo"),
    (cpu::read_memory, &[], "/proc/meminfo, free"),
    (cpu::read_numactl, &["node distances:", " cpus:"], "numactl -H"),
    (nvme::read, &[], "nvme list, list-subsys, id-ctrl and smart-log"),
    (smart::read, &[], "smartctl"),
    (hdparm::read, &["ATA device, with "], "hdparm -I"),
    (mounts::read, &[], "mount, findmnt, df and mountstats"),
    (lvm::read, &[], "pvs and lvs"),
    (zfs::read, &[], "zpool status, zpool list -v and zfs list"),
    (btrfs::read, &["_io_errs", "corruption_errs", "Error summary:"], "btrfs device stats and scrub"),
    (iscsi::read, &[], "iscsiadm -m session -P 3"),
    (links::read, &["-> ", "disk/by-", "ID_PATH="], "listings of /dev/disk and /sys/class/nvme"),
    (net::read, &[], "ip link, ethtool, ibstat, nvidia-smi -q and topo -m"),
    (lspci::read_inxi, &["bus-ID:"], "inxi"),
    (inventory::read_inxi_drives, &["ID-1: /dev/"], "the drives of inxi -D"),
    (inventory::read_hwinfo, &[], "hwinfo (and --short)"),
    (inventory::read_lshw, &["bus info: "], "lshw"),
    (inventory::read_lsscsi, &[], "lsscsi (-t, -g)"),
    (inventory::read_crystal_disk_info, &["Transfer Mode :"], "CrystalDiskInfo of Windows"),
    (
        inventory::read_system_profiler,
        &["BSD Name: disk"],
        "system_profiler of macOS (SPNVMeDataType, SPSerialATADataType)",
    ),
    (lspci::read_pciconf, &["@pci"], "pciconf -l of FreeBSD (-v, -b, -c, -B)"),
    (sensors::read, &["nvme-pci-", "drivetemp-scsi-"], "sensors (-u, -j)"),
    (iostat::read, &[], "iostat, with -x and without (text and JSON)"),
    (storcli::read, &[], "storcli and perccli (/c0 show all, /c0/eall/sall show all, also as JSON)"),
    (
        raid_cards::read,
        &["Smart Array", "Cache Policy:", "Cache Board Present:", "Write-cache mode", "Battery/Capacitor"],
        "what ssacli (hpssacli), MegaCli and arcconf say of the write cache",
    ),
    (hwloc::read, &[], "XML of hwloc (lstopo)"),
    (hwloc::read_console, &["HostBridge"], "lstopo on a console"),
];

/// What each reader says that it understands.
pub fn readers() -> impl Iterator<Item = &'static str> {
    READERS.iter().map(|(.., words)| *words)
}

/// Shows a text to every reader; the parts that found something.
pub fn parts(text: &Text) -> Vec<Part> {
    let may_read = READERS.iter().filter(|(_, marks, _)| marks.is_empty() || is_in(marks, text.body()));
    may_read.map(|(reader, ..)| reader(text)).filter(|part| part.kind.is_some()).collect()
}

/// What a text lacks, and what to run to get it.
fn gap(what: impl Into<String>, run: &str, lacks: Lacks) -> Gap {
    Gap { what: what.into(), run: run.to_owned(), lacks }
}

/// What some functions of the `of` of a text lack; `None` where none does.
fn gap_of(lacks: fn(Counted) -> Lacks, functions: Vec<PciAddress>, of: usize) -> Option<Gap> {
    let count = functions.len();
    let lacks = lacks(Counted { functions, of });
    let (what, run) = match &lacks {
        Lacks::Numbers(_) => ("vendor and device numbers", "sudo lspci -nnvvv"),
        _ => ("the link registers", "sudo lspci -vvv"),
    };
    (count > 0).then(|| gap(format!("{what} of {count} of {of} PCI functions"), run, lacks))
}

/// What of it is left, now that all texts are known; `None` when they tell it. `is_past` says whether a fact is from a
/// log.
fn gap_left(gap: Gap, machine: &Machine, is_past: impl Fn(&Source) -> bool) -> Option<Gap> {
    let function = |address: &PciAddress| machine.pci.get(address);
    let lacking = |counted: &Counted, lacks: fn(&PciDevice) -> bool| {
        counted.functions.iter().filter(|at| function(at).is_none_or(lacks)).copied().collect()
    };
    let is_closed = match &gap.lacks {
        Lacks::Other => false,
        Lacks::Links(all) => return gap_of(Lacks::Links, lacking(all, lspci::lacks_link), all.of),
        Lacks::Numbers(all) => {
            return gap_of(Lacks::Numbers, lacking(all, |device| device.id.value().is_none()), all.of);
        }
        Lacks::Port(address) => function(address).is_some_and(|device| device.parent.is_some()),
        Lacks::Link(address) => function(address).is_some_and(has_whole_link),
        Lacks::PresentLinks => machine.pci.values().all(|device| {
            let speed = &device.link.current_speed;
            speed.value().is_none() || !is_past(speed.source())
        }),
        Lacks::UsbRates => machine.usb.values().any(|device| device.speed.value().is_some()),
        Lacks::Disk(name) => machine.block.contains_key(name),
        Lacks::Below(name) => machine.block.get(name).is_none_or(|device| !device.slaves.is_empty()),
    };
    (!is_closed).then_some(gap)
}

fn has_whole_link(device: &PciDevice) -> bool {
    let link = &device.link;
    let speeds = link.current_speed.value().and(link.max_speed.value());
    speeds.and(link.current_width.value()).and(link.max_width.value()).is_some()
}
