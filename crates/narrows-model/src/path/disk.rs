//! Disks: their queue, the medium, and what carries the data from it to the bus.

use super::build::Builder;
use super::graph::{Joined, NewHop, Node, Spread};
use super::hop::is_virtual_disk;
use super::{ControllerHop, DeviceHop, Flash, HopSpec, Traffic};
use narrows_base::catalog;
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::block::{BlockDevice, BlockKind, Sas, Sata, Transport, Usb};
use narrows_machine::pci::PciAddress;
use narrows_machine::usb::{self, UsbDevice};

impl Builder<'_> {
    /// Puts a disk below `above`: its queue, and all that lies below that. `through` is the partition that leads to it.
    pub(super) fn disk(&mut self, above: Node, disk: &BlockDevice, fraction: Traffic, through: Option<&str>) {
        let Some(queue) = self.queue(above, disk, fraction, through) else { return };
        if let Some(kind) = synthetic(&disk.kind) {
            self.medium(queue, disk, Some(kind));
            return;
        }
        match (&disk.kind, &disk.transport) {
            (BlockKind::NvmeMultipath(paths), _) => self.multipath(queue, disk, paths),
            (_, Transport::NvmeFabric(fabric)) => self.fabric(queue, fabric),
            (_, Transport::Iscsi(remote)) => self.remote(queue, remote, &disk.name, "iscsi"),
            _ => self.local(queue, disk),
        }
    }

    /// Puts a block device that is none below `above`: its queue, and the device as what it is.
    pub(super) fn synthetic(
        &mut self,
        above: Node,
        disk: &BlockDevice,
        kind: &str,
        fraction: Traffic,
    ) -> Option<Node> {
        let queue = self.queue(above, disk, fraction, None)?;
        self.medium(queue, disk, Some(kind))
    }

    fn medium(&mut self, queue: Node, disk: &BlockDevice, synthetic: Option<&str>) -> Option<Node> {
        let name = match (disk.model.value(), synthetic) {
            (Some(model), _) if !model.is_empty() => format!("{model} ({})", disk.name),
            (_, Some(kind)) => format!("{kind} device {}", disk.name),
            _ => disk.name.clone(),
        };
        let hop = DeviceHop {
            block: disk.name.clone(),
            model: disk.model.clone(),
            size: disk.size.clone(),
            rotational: disk.queue.rotational.clone(),
            is_hard_disk: synthetic.is_none() && self.is_hard_disk(disk),
            flash: flash(disk),
            synthetic: synthetic.map(str::to_owned),
        };
        self.chain(queue, [NewHop::new(&disk.name, name, HopSpec::Device(hop))])
    }

    /// The kernel takes a SCSI disk that does not say otherwise for one that turns (`drivers/scsi/sd.c`), and USB
    /// bridges, RAID controllers and hypervisors seldom say. A model number of a hard disk says it of any disk.
    fn is_hard_disk(&self, disk: &BlockDevice) -> bool {
        let is_direct = match &disk.transport {
            Transport::Sata(_) => true,
            Transport::Sas(sas) => !sas.hidden,
            _ => false,
        };
        let is_bare = self.machine.cpus.hypervisor.value().is_none();
        let turns = disk.queue.rotational.value().copied();
        let is_named = disk.model.value().is_some_and(|model| catalog::is_hard_disk(model));
        (is_direct && is_bare && turns == Some(true)) || (is_named && turns != Some(false))
    }

    fn queue(
        &mut self,
        above: Node,
        disk: &BlockDevice,
        fraction: Traffic,
        through: Option<&str>,
    ) -> Option<Node> {
        let through = through.map(|partition| format!(", partition {partition}")).unwrap_or_default();
        let name = format!("queue of {}{through}", disk.name);
        let hop = NewHop::new(&disk.name, name, HopSpec::BlockQueue(disk.name.clone()));
        let joined = self.graph.join(above, hop, fraction);
        if let Joined::Known(node) = joined {
            self.graph.extend_name(node, &through);
        }
        joined.new_node()
    }

    /// The medium, and what carries its data to the bus and on to memory.
    fn local(&mut self, queue: Node, disk: &BlockDevice) {
        let is_virtio = matches!(disk.transport, Transport::Virtio { .. });
        let Some(medium) = self.medium(queue, disk, is_virtio.then_some("virtio")) else { return };
        self.carrier(medium, &disk.name, &disk.transport);
    }

    /// A namespace that is reached through several controllers, or could be.
    fn multipath(&mut self, queue: Node, disk: &BlockDevice, paths: &[String]) {
        let paths: Vec<&BlockDevice> = paths.iter().filter_map(|path| self.machine.block.get(path)).collect();
        let is_remote = |path: &&BlockDevice| matches!(path.transport, Transport::NvmeFabric(_));
        // The medium of a remote namespace is the server's.
        let above = match !paths.is_empty() && paths.iter().all(is_remote) {
            true => Some(queue),
            false => self.medium(queue, disk, None),
        };
        let Some(above) = above else { return };
        // The kernel may send everything through one of them (`iopolicy`).
        self.graph.set_spread(above, Spread::Either);
        for path in paths {
            match &path.transport {
                Transport::NvmeFabric(fabric) => self.fabric(above, fabric),
                transport => self.carrier(above, &path.name, transport),
            }
        }
    }

    /// Puts a USB device that stores data below `above`, where no text tells which disk it is. Returns its name.
    pub(super) fn usb_storage(&mut self, above: Node, device: &UsbDevice) -> String {
        let usb = usb::transport(&self.machine.usb, device);
        let block = usb.device.clone();
        let name =
            device.product.get().map_or_else(|| block.clone(), |product| format!("{product} ({block})"));
        let medium =
            DeviceHop { block: block.clone(), model: device.product.clone(), ..DeviceHop::default() };
        if let Some(node) = self.chain(above, [NewHop::new(&block, name, HopSpec::Device(medium))]) {
            self.carrier(node, &block, &Transport::Usb(usb));
        }
        format!("USB device {block}")
    }

    fn carrier(&mut self, medium: Node, block: &str, transport: &Transport) {
        let model = self.machine.block.get(block).and_then(|disk| disk.model.value());
        let is_virtual = model.is_some_and(|model| is_virtual_disk(model));
        let interfaces = match transport {
            // A rate that is made up holds nothing back.
            Transport::Sata(sata) if is_virtual => {
                let speed = Fact::absent("the wire of a virtual disk");
                vec![sata_link(block, &Sata { speed, ..sata.clone() })]
            }
            Transport::Sas(sas) if is_virtual => {
                vec![sas_link(block, &Sas { phy_speeds: Vec::new(), ..sas.clone() })]
            }
            Transport::Sata(sata) => vec![sata_link(block, sata)],
            Transport::Sas(sas) => std::iter::once(sas_link(block, sas)).chain(expander(sas)).collect(),
            Transport::Usb(usb) => vec![usb_link(block, &usb::complete(&self.machine.usb, usb))],
            _ => Vec::new(),
        };
        let controller = self.controller_of(block, transport);
        let Some(end) = self.chain(medium, interfaces.into_iter().chain(controller)) else { return };
        if let Some(address) = transport.function() {
            self.climb(end, address);
        }
    }

    fn controller_of(&self, block: &str, transport: &Transport) -> Option<NewHop> {
        let address = transport.function();
        let driver_or = |usual: &str| {
            let function = address.and_then(|address| self.machine.pci.get(&address));
            function.and_then(|function| function.driver.get()).unwrap_or_else(|| usual.to_owned())
        };
        let called = match transport {
            Transport::None | Transport::NvmeFabric(_) | Transport::Iscsi(_) => return None,
            Transport::NvmePci { controller, .. } => (controller.clone(), "NVMe controller"),
            Transport::Sata(_) => (driver_or("ahci"), "SATA controller"),
            Transport::Sas(sas) => {
                let text = if sas.hidden { "RAID controller" } else { "storage adapter" };
                (sas.driver.get().unwrap_or_else(|| driver_or("SCSI")), text)
            }
            Transport::Usb(usb) => {
                // Only xHCI carries such rates; slower ones every kind does, each with a driver of its own.
                let is_xhci = usb.speed.value().is_some_and(|speed| speed.get() >= 5e9);
                (driver_or(if is_xhci { "xhci_hcd" } else { "" }), "USB controller")
            }
            Transport::Virtio { flavour, .. } => (flavour.clone(), "adapter"),
            Transport::Mmc { .. } => (driver_or("mmc"), "SD/MMC controller"),
            Transport::Other { name, .. } => (name.clone(), "controller"),
        };
        let key = match transport {
            Transport::NvmePci { controller, .. } => controller.clone(),
            _ => address.map_or_else(|| block.to_owned(), |address| address.to_string()),
        };
        let is_adapter = matches!(transport, Transport::Sata(_) | Transport::Sas(_));
        let spec = if is_adapter { HopSpec::Hba } else { HopSpec::Controller };
        let is_virtual = matches!(transport, Transport::Virtio { .. });
        Some(self.controller_hop(spec, key, called, address, is_virtual))
    }

    /// A controller or adapter at a PCI function, if it has one.
    pub(super) fn controller_hop(
        &self,
        spec: fn(ControllerHop) -> HopSpec,
        key: String,
        (name, text): (String, &str),
        address: Option<PciAddress>,
        is_virtual: bool,
    ) -> NewHop {
        let function = address.and_then(|address| self.machine.pci.get(&address));
        let hop = ControllerHop {
            name: name.clone(),
            address,
            id: function.map(|function| function.id.clone()).unwrap_or_default(),
            numa_node: function.map(|function| function.numa_node.clone()).unwrap_or_default(),
            is_virtual,
            fabric: None,
        };
        let at = address
            .filter(|address| !address.is_unnamed())
            .map(|address| format!(" at {address}"))
            .unwrap_or_default();
        let name = if name.is_empty() { text.to_owned() } else { format!("{text} {name}") };
        NewHop::new(key, name + &at, spec(hop))
    }
}

/// What a device is that has no medium.
fn synthetic(kind: &BlockKind) -> Option<&'static str> {
    match kind {
        BlockKind::Zram => Some("zram"),
        BlockKind::RamDisk => Some("brd"),
        BlockKind::NullBlk => Some("null_blk"),
        _ => None,
    }
}

/// Whether a disk is eMMC, a card or a stick. A USB stick says that its medium can be taken out; so do card readers, and an
/// enclosure for a drive does not.
fn flash(disk: &BlockDevice) -> Option<Flash> {
    match &disk.transport {
        Transport::Mmc { mode, .. } => Some(Flash::Mmc(mode.clone())),
        Transport::Usb(usb) if disk.removable && usb.driver.value().is_none_or(|driver| driver != "uas") => {
            Some(Flash::Stick(usb.speed.clone()))
        }
        _ => None,
    }
}

fn sata_link(block: &str, sata: &Sata) -> NewHop {
    let port = if sata.port.is_empty() { block } else { &sata.port };
    let name = format!("SATA link {port}{}", lanes(sata.speed.get().as_slice()));
    NewHop::new(port, name, HopSpec::Sata(sata.clone()))
}

fn sas_link(block: &str, sas: &Sas) -> NewHop {
    let name = format!("SAS port of {block}{}", lanes(&sas.phy_speeds));
    NewHop::new(block, name, HopSpec::Sas(sas.clone()))
}

/// The port of the adapter that everything behind an expander shares.
fn expander(sas: &Sas) -> Option<NewHop> {
    let expander = sas.expander.as_ref()?;
    let name = format!("SAS port to {expander}{}", lanes(&sas.uplink_phy_speeds));
    let port = Sas {
        phy_speeds: sas.uplink_phy_speeds.clone(),
        uplink_phy_speeds: Vec::new(),
        expander: None,
        ..sas.clone()
    };
    Some(NewHop::new(expander, name, HopSpec::Sas(port)))
}

fn lanes(phys: &[BitsPerSec]) -> String {
    match phys {
        [] => String::new(),
        [speed] => format!(" at {speed}"),
        [speed, ..] => format!(", {} lanes at {speed}", phys.len()),
    }
}

fn usb_link(block: &str, usb: &Usb) -> NewHop {
    let device = if usb.device.is_empty() { block } else { &usb.device };
    let name = format!("USB connection {device}{}", lanes(usb.speed.get().as_slice()));
    NewHop::new(device, name, HopSpec::Usb(usb.clone()))
}
