//! Block devices: what they are made of, what carries them, and how their queue is set.
//!
//! Sources: `/sys/class/block/*` (kernel `Documentation/ABI/stable/sysfs-block`), `/sys/class/nvme`, `/sys/class/ata_*`,
//! `/sys/class/sas_*`, `/sys/class/iscsi_*`, `/sys/bus/usb`, `/sys/block/*/md` (`Documentation/admin-guide/md.rst`),
//! `/sys/block/*/dm`, `/sys/block/*/bcache`, `/sys/block/*/loop`, `/sys/block/zram*`.

use std::collections::BTreeMap;

use crate::machine::fact::Fact;
use crate::machine::pci::PciAddress;
use crate::machine::root::Root;
use crate::units::{BitsPerSec, Bytes, BytesPerSec};

/// One block device, whole, partition or stacked.
#[derive(Debug, Clone, Default)]
pub struct BlockDevice {
    /// The kernel's name: `nvme0n1`, `sda1`, `md127`, `dm-3`.
    pub name: String,
    /// Major and minor number, `…/dev`.
    pub number: Fact<(u32, u32)>,
    /// Its size, `…/size` (512-byte sectors).
    pub size: Fact<Bytes>,
    /// The whole disk of a partition; `None` for everything else.
    pub partition_of: Option<String>,
    /// Where a partition starts on its disk, `…/start`.
    pub start: Fact<Bytes>,
    /// The devices it is built on, `…/slaves`, in order.
    pub slaves: Vec<String>,
    /// The devices built on it, `…/holders`, in order.
    pub holders: Vec<String>,
    /// What it is.
    pub kind: BlockKind,
    /// What carries its data; [`Transport::None`] for a stacked device.
    pub transport: Transport,
    /// The model, `…/device/model`.
    pub model: Fact<String>,
    /// The serial number, `…/device/serial`. Never shown in anything made to be shared.
    pub serial: Fact<String>,
    /// The firmware revision, `…/device/firmware_rev` or `…/device/rev`.
    pub firmware: Fact<String>,
    /// `…/ro`.
    pub read_only: bool,
    /// `…/removable`.
    pub removable: bool,
    /// How its request queue is set. A partition has that of its disk.
    pub queue: Queue,
}

/// What a block device is.
#[derive(Debug, Clone, Default)]
pub enum BlockKind {
    /// A device with a transport of its own.
    #[default]
    Disk,
    /// A part of a disk.
    Partition,
    /// A Linux software RAID array.
    Md(Box<MdArray>),
    /// A device-mapper target.
    Dm(DmDevice),
    /// A bcache device over a backing device and, perhaps, a cache.
    Bcache(Bcache),
    /// A file shown as a device.
    Loop(LoopDevice),
    /// Compressed memory.
    Zram,
    /// Memory (`brd`).
    RamDisk,
    /// The kernel's null device: it completes requests without moving data.
    NullBlk,
    /// NVMe namespace multipath head, whose paths are hidden devices.
    NvmeMultipath(Vec<String>),
}

/// What carries the data of a disk to memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Transport {
    /// Nothing: it is stacked on other devices, or lives in memory.
    #[default]
    None,
    /// NVMe on PCI Express.
    NvmePci {
        /// The controller's kernel name, `nvme0`.
        controller: String,
        /// The controller's address.
        pci: PciAddress,
    },
    /// NVMe over a network.
    NvmeFabric(NvmeFabric),
    /// Serial ATA.
    Sata(Sata),
    /// Serial Attached SCSI, or a RAID controller that hides what is behind it.
    Sas(Sas),
    /// USB mass storage.
    Usb(Usb),
    /// A paravirtual disk.
    Virtio {
        /// The PCI function that carries it; `None` on virtio-mmio.
        pci: Option<PciAddress>,
        /// `virtio-blk` or `virtio-scsi`.
        flavour: String,
    },
    /// iSCSI through the kernel's initiator.
    Iscsi(Remote),
    /// SD or eMMC.
    Mmc {
        /// The controller's PCI function, if it has one.
        pci: Option<PciAddress>,
    },
    /// Something else, named by its kernel driver or bus.
    Other {
        /// The driver or bus.
        name: String,
        /// The PCI function that carries it, if any.
        pci: Option<PciAddress>,
    },
}

/// A SATA port.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sata {
    /// The kernel's port name, `ata3`.
    pub port: String,
    /// The negotiated line rate, `/sys/class/ata_link/link*/sata_spd` (`6.0 Gbps`).
    pub speed: Fact<BitsPerSec>,
    /// The fastest line rate of the port, `…/hw_sata_spd_limit`.
    pub port_speed: Fact<BitsPerSec>,
    /// The host controller.
    pub pci: Option<PciAddress>,
}

/// A SAS end device, or a volume of a RAID controller.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sas {
    /// The negotiated line rate of each phy of the (wide) port, `/sys/class/sas_phy/*/negotiated_linkrate`.
    pub phy_speeds: Vec<BitsPerSec>,
    /// The SCSI host driver, `/sys/class/scsi_host/*/proc_name` (`mpt3sas`, `megaraid_sas`…).
    pub driver: Fact<String>,
    /// Whether the disks behind the controller are hidden from the kernel (hardware RAID).
    pub hidden: bool,
    /// The host controller.
    pub pci: Option<PciAddress>,
}

/// A USB device and the controller that it hangs on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usb {
    /// The kernel's device name, `2-1.4`.
    pub device: String,
    /// The negotiated speed, `…/speed` (Mbit/s: 12, 480, 5000, 10000, 20000).
    pub speed: Fact<BitsPerSec>,
    /// The USB version that the device announces, `…/version` (`3.20`).
    pub version: Fact<String>,
    /// The fastest speed of the port's root hub.
    pub root_hub_speed: Fact<BitsPerSec>,
    /// The driver, `uas` or `usb-storage`.
    pub driver: Fact<String>,
    /// The host controller.
    pub pci: Option<PciAddress>,
}

/// An NVMe-oF connection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NvmeFabric {
    /// The controller's kernel name, `nvme1`.
    pub controller: String,
    /// `tcp`, `rdma` or `fc`, `/sys/class/nvme/*/transport`.
    pub transport: String,
    /// Where it leads.
    pub remote: Remote,
    /// The number of I/O queues (connections), `/sys/class/nvme/*/queue_count` less the admin queue.
    pub queues: Fact<u32>,
}

/// The far end of a network path, and the interface that leads to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Remote {
    /// The server's address, without port.
    pub address: Fact<String>,
    /// The server's port.
    pub port: Fact<u16>,
    /// The local interface that the routing table chooses for the address.
    pub interface: Fact<String>,
}

/// A md array, `/sys/block/md*/md`.
#[derive(Debug, Clone, Default)]
pub struct MdArray {
    /// `raid0`, `raid1`, `raid10`, `raid5`…, `…/level`.
    pub level: Fact<String>,
    /// The number of members when complete, `…/raid_disks`.
    pub raid_disks: Fact<u32>,
    /// The chunk, `…/chunk_size`; absent for RAID-1.
    pub chunk: Fact<Bytes>,
    /// RAID-10 layout number, `…/layout`.
    pub layout: Fact<u64>,
    /// Members that are missing or failed, `…/degraded`.
    pub degraded: Fact<u32>,
    /// `idle`, `resync`, `recover`, `check`, `repair`, `reshape`, `frozen`, `…/sync_action`.
    pub sync_action: Fact<String>,
    /// The rate of a running resync, `…/sync_speed`.
    pub sync_speed: Fact<BytesPerSec>,
    /// How far a running resync is, 0 to 1, `…/sync_completed`.
    pub sync_done: Fact<f64>,
    /// The write-intent bitmap, `…/bitmap/location`.
    pub bitmap: Fact<String>,
    /// The state of each member, `…/dev-*/state`, by kernel name.
    pub members: BTreeMap<String, Fact<String>>,
    /// RAID-5/6 stripe worker groups, `…/group_thread_cnt`.
    pub group_threads: Fact<u32>,
}

/// A device-mapper device, `/sys/block/dm-*/dm`.
#[derive(Debug, Clone, Default)]
pub struct DmDevice {
    /// Its name below `/dev/mapper`, `…/dm/name`.
    pub name: Fact<String>,
    /// Who made it: the prefix of `…/dm/uuid` (`LVM`, `CRYPT-LUKS2`, `mpath`, `DMRAID`…), without any identifier.
    pub owner: Fact<String>,
    /// The table, when it may be read (device-mapper's `DM_TABLE_STATUS`, needs root). Keys are never read.
    pub table: Fact<Vec<DmTarget>>,
}

/// One line of a device-mapper table.
#[derive(Debug, Clone, PartialEq)]
pub struct DmTarget {
    /// Where it starts and how long it is, in bytes.
    pub start: Bytes,
    /// See [`DmTarget::start`].
    pub length: Bytes,
    /// What it does.
    pub kind: DmKind,
}

/// What a device-mapper target does.
#[derive(Debug, Clone, PartialEq)]
pub enum DmKind {
    /// One device, shifted.
    Linear {
        /// The device below, `major:minor`.
        device: (u32, u32),
        /// Where on it.
        offset: Bytes,
    },
    /// Several devices in stripes.
    Striped {
        /// The chunk.
        chunk: Bytes,
        /// The devices below.
        devices: Vec<(u32, u32)>,
    },
    /// Encryption.
    Crypt(CryptTable),
    /// Anything else, by target name (`thin`, `cache`, `multipath`, `delay`, `flakey`, `raid`…).
    Other(String),
}

/// A dm-crypt table without its key (kernel `Documentation/admin-guide/device-mapper/dm-crypt.rst`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CryptTable {
    /// `aes-xts-plain64`.
    pub cipher: String,
    /// The size of the key in bits: 512 for AES-256 in XTS mode.
    pub key_bits: u32,
    /// Bytes encrypted at a time: 512 or 4096.
    pub sector_size: Bytes,
    /// `no_read_workqueue`.
    pub no_read_workqueue: bool,
    /// `no_write_workqueue`.
    pub no_write_workqueue: bool,
    /// `same_cpu_crypt`.
    pub same_cpu_crypt: bool,
    /// `submit_from_crypt_cpus`.
    pub submit_from_crypt_cpus: bool,
}

/// A bcache device.
#[derive(Debug, Clone, Default)]
pub struct Bcache {
    /// `writethrough`, `writeback`, `writearound` or `none`, `…/bcache/cache_mode`.
    pub mode: Fact<String>,
    /// `no cache`, `clean`, `dirty` or `inconsistent`, `…/bcache/state`.
    pub state: Fact<String>,
    /// Requests longer than this go past the cache, `…/bcache/sequential_cutoff`.
    pub sequential_cutoff: Fact<Bytes>,
    /// Hits as a fraction of all, `…/bcache/stats_total/cache_hit_ratio`.
    pub hit_ratio: Fact<f64>,
    /// The backing device.
    pub backing: Option<String>,
    /// The cache devices.
    pub caches: Vec<String>,
}

/// A loop device.
#[derive(Debug, Clone, Default)]
pub struct LoopDevice {
    /// The file, `…/loop/backing_file`.
    pub file: Fact<String>,
    /// Whether it is read with O_DIRECT, `…/loop/dio`.
    pub direct: Fact<bool>,
}

/// How a request queue is set, `/sys/block/*/queue`.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    /// The scheduler in force, the bracketed one of `…/scheduler`.
    pub scheduler: Fact<String>,
    /// `…/nr_requests`.
    pub requests: Fact<u32>,
    /// The number of hardware queues, entries of `../mq`.
    pub hardware_queues: Fact<u32>,
    /// The longest request, `…/max_sectors_kb`.
    pub max_request: Fact<Bytes>,
    /// `…/logical_block_size`.
    pub logical_block: Fact<Bytes>,
    /// `…/physical_block_size`.
    pub physical_block: Fact<Bytes>,
    /// `…/read_ahead_kb`.
    pub read_ahead: Fact<Bytes>,
    /// `…/rotational`.
    pub rotational: Fact<bool>,
    /// `write back` or `write through`, `…/write_cache`.
    pub write_cache: Fact<String>,
}

/// Reads every block device and partition.
pub fn read(_root: &Root) -> BTreeMap<String, BlockDevice> {
    BTreeMap::new()
}
