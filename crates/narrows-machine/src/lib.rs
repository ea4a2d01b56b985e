//! What is there? Raw facts, no opinions.
//!
//! [`Machine::read`] asks a [`root::Root`] (the live machine or a recorded one) everything that later folders need.
//! Reading (bytes) and parsing (text to value) are separate functions in every file, so that each parser is tested
//! without a machine. One unreadable device never hides another: what could not be read is a [`fact::Fact`] that says
//! why.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod activity;
pub mod block;
mod bytes;
pub mod captured;
pub mod cipher;
pub mod cpu;
pub mod dmi;
pub mod health;
pub mod kept;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(not(target_os = "linux"))]
#[path = "kernel/absent.rs"]
mod kernel;
#[cfg(target_os = "linux")]
pub mod listen;
pub mod log;
pub mod memory;
pub mod mount;
pub mod nic;
pub mod pci;
#[cfg(target_os = "linux")]
pub mod program;
pub mod reading;
pub mod root;
pub mod snapshot;
pub mod target;
pub mod tree;
pub mod unfit;
pub mod usage;
pub mod usb;
pub mod zfs;

use std::collections::BTreeMap;

use block::BlockDevice;
use captured::{Adapter, DeviceLoad};
use cpu::{Cpus, IrqLine};
use dmi::{Dmi, Slot};
use health::DriveHealth;
use log::LogEvent;
use mount::Mount;
use narrows_base::fact::Fact;
use nic::Nic;
use pci::{PciAddress, PciDevice};
use root::Root;
use usb::UsbDevices;

pub use narrows_base::fact;

/// Everything that narrows knows of one machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// The kernel release, `/proc/sys/kernel/osrelease`.
    pub kernel: Fact<String>,
    /// Processors, NUMA nodes and memory.
    pub cpus: Cpus,
    /// What the firmware says of the board, `/sys/class/dmi/id`.
    pub dmi: Dmi,
    /// SMBIOS type 9 records, a claim of the firmware.
    pub slots: Fact<Vec<Slot>>,
    /// SMBIOS type 17 records of memory, a claim of the firmware.
    pub memory_modules: Fact<Vec<dmi::MemoryModule>>,
    /// Every PCI function.
    pub pci: BTreeMap<PciAddress, PciDevice>,
    /// Every numbered interrupt and who serves it.
    pub interrupts: BTreeMap<u32, IrqLine>,
    /// Every block device and partition, by kernel name (`nvme0n1`, `sda1`, `md0`, `dm-0`).
    pub block: BTreeMap<String, BlockDevice>,
    /// Everything that is mounted, in mount order.
    pub mounts: Vec<Mount>,
    /// Every network interface, by name.
    pub nics: BTreeMap<String, Nic>,
    /// The rate of the cipher of each encrypted mapping, by kernel name (`dm-0`); empty until it was asked for.
    pub ciphers: BTreeMap<String, Fact<cipher::CipherRate>>,
    /// From which texts it was put together; `None` for a machine that answered itself, live or recorded.
    pub captured: Option<captured::Captured>,
    /// USB devices by bus and number, from a capture; the live machine's are known by their block devices.
    pub usb: UsbDevices,
    /// What names below `/dev/disk` lead to, by the last part of the name (`ata-MODEL_SERIAL`), from a capture; a live
    /// machine is asked for the one that is needed.
    pub links: BTreeMap<String, String>,
    /// Where GPUs (`GPU0`) and RDMA devices (`mlx5_0`) are, from a capture; a live machine tells it of each function.
    pub affinities: BTreeMap<String, captured::Affinity>,
    /// What a captured log of the kernel tells of the past.
    pub log: Vec<LogEvent>,
    /// Rates of ciphers that a `cryptsetup benchmark` in a capture names, each on one core; empty on a live machine,
    /// where the cipher of each mapping is measured.
    pub cipher_benchmarks: Vec<Fact<cipher::CipherRate>>,
    /// Every ZFS pool; the layers of a pool are known of captures only, since the kernel does not show them.
    pub zfs: Vec<zfs::ZfsPool>,
    /// What NVMe drives say of themselves, by kernel name (`nvme0n1`); empty until it was asked for.
    pub health: BTreeMap<String, DriveHealth>,
    /// RAID and SAS adapters and the drives behind them, by the number that their tool gives them, from a capture (`storcli`).
    pub adapters: BTreeMap<u32, Adapter>,
    /// What block devices did while somebody looked, by kernel name, from a capture (`iostat -x`).
    pub loads: BTreeMap<String, Fact<DeviceLoad>>,
    /// The best state that `narrows watch` saw links in, by the function at the lower end.
    pub kept: Fact<BTreeMap<PciAddress, kept::BestLink>>,
}

impl Machine {
    /// Reads the whole machine. Never fails: what cannot be read is a fact that says why.
    pub fn read(root: &Root) -> Self {
        Self {
            kernel: root.text("/proc/sys/kernel/osrelease"),
            cpus: cpu::read(root),
            dmi: dmi::read(root),
            slots: dmi::read_slots(root),
            memory_modules: dmi::read_modules(root),
            pci: pci::read(root),
            interrupts: cpu::interrupts(root),
            block: block::read(root),
            mounts: mount::read(root),
            nics: nic::read(root),
            zfs: zfs::read(root),
            kept: kept::read(root),
            ..Self::default()
        }
    }

    /// The state of the link above a function, as both its ends tell it.
    pub fn link_of<'m>(&'m self, device: &'m pci::PciDevice) -> pci::Ends<'m> {
        let has_link = device.link.is_present() || device.express.value().is_some();
        let port = device.parent.filter(|_| has_link && !self.is_virtual());
        let port = port.and_then(|port| self.pci.get(&port));
        pci::Ends { device: pci::End::of(device), port: port.map(pci::End::of) }
    }

    /// Whether a hypervisor runs this machine, so that its ports are not those of the hardware.
    pub const fn is_virtual(&self) -> bool {
        self.cpus.hypervisor.value().is_some()
    }
}
