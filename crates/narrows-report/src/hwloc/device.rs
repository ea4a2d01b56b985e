//! One function with the state of its link, its disks and its interfaces.

use super::Scene;
use super::element::Xml;
use narrows_machine::block::BlockDevice;
use narrows_machine::pci::{End, PciDevice, Told};
use narrows_model::ceiling::pcie::rate;
use narrows_paste::capture::hwloc::{LINK_MAX_SPEED, LINK_MAX_WIDTH, LINK_SPEED, LINK_WIDTH};

/// The class of a bridge to another PCI bus.
const BRIDGE: u32 = 0x0604;

/// Opens the object of a function and writes all of it but the functions below.
pub(super) fn open(xml: &mut Xml, scene: &Scene<'_>, device: &PciDevice, depth: usize) {
    let below = scene.devices.below(device.address);
    let is_bridge = !below.is_empty();
    let mut attributes = Vec::new();
    if let Some(first) = below.iter().map(|device| device.address.bus).min() {
        let known = device.buses.value().filter(|buses| buses.secondary <= first);
        let first = known.map_or(first, |buses| buses.secondary);
        let last = scene.devices.last_bus(device.address, 0).max(known.map_or(0, |buses| buses.subordinate));
        attributes.push(("bridge_type", "1-1".to_owned()));
        attributes.push(("depth", depth.to_string()));
        attributes.push(("bridge_pci", format!("{:04x}:[{first:02x}-{last:02x}]", device.address.domain)));
    }
    attributes.push(("pci_busid", device.address.to_string()));
    attributes.push(("pci_type", identity(device, is_bridge)));
    attributes.push(("pci_link_speed", speed(End::of(device))));
    xml.open(if is_bridge { "Bridge" } else { "PCIDev" }, &attributes);
    xml.info("PCISlot", &device.slot.get().unwrap_or_default());
    xml.info("PCIDevice", &device.name.get().unwrap_or_default());
    link(xml, End::of(device));
    scene.found.write(xml, &device.address.to_string());
    for disk in scene.devices.disks.get(&device.address).into_iter().flatten() {
        block(xml, scene, disk);
    }
    for nic in scene.devices.interfaces.get(&device.address).into_iter().flatten() {
        xml.open("OSDev", &[("name", nic.name.clone()), ("osdev_type", "2".to_owned())]);
        scene.found.write(xml, &nic.name);
        xml.close();
    }
}

/// `0108 [144d:a808] [0000:0000] 00`; hwloc wants zeros for what is not known.
fn identity(device: &PciDevice, is_bridge: bool) -> String {
    let class = device.class.value().map_or(if is_bridge { BRIDGE } else { 0 }, |class| class >> 8 & 0xffff);
    let id = device.id.value().map_or_else(|| "0000:0000".to_owned(), ToString::to_string);
    format!("{class:04x} [{id}] [0000:0000] 00")
}

/// GB/s after the line code, as hwloc counts; 0 is not known.
fn speed(end: End<'_>) -> String {
    let raw = end.state().and_then(|(speed, width)| rate::raw(speed, width));
    format!("{:.6}", raw.map_or(0.0, |raw| raw.get() / 1e9))
}

/// hwloc keeps what each function says of its own end; both ends are united when the file is read.
fn link(xml: &mut Xml, end: End<'_>) {
    fn text<T: ToString>(told: Option<Told<'_, T>>) -> String {
        told.map(|told| told.value.to_string()).unwrap_or_default()
    }
    xml.info(LINK_SPEED, &text(end.speed()));
    xml.info(LINK_WIDTH, &text(end.width()));
    xml.info(LINK_MAX_SPEED, &text(end.max_speed()));
    xml.info(LINK_MAX_WIDTH, &text(end.max_width()));
}

fn block(xml: &mut Xml, scene: &Scene<'_>, disk: &BlockDevice) {
    let attributes = [
        ("name", disk.name.clone()),
        ("subtype", if disk.removable { "Removable Media Device" } else { "Disk" }.to_owned()),
        ("osdev_type", "0".to_owned()),
    ];
    xml.open("OSDev", &attributes);
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    xml.info("Size", &number(disk.size.value().map(|size| size.get() / 1024)));
    xml.info("SectorSize", &number(disk.queue.logical_block.value().map(|size| size.get())));
    let device = disk.number.value().map(|(major, minor)| format!("{major}:{minor}"));
    xml.info("LinuxDeviceID", &device.unwrap_or_default());
    xml.info("Model", &disk.model.get().unwrap_or_default());
    xml.info("Revision", &disk.firmware.get().unwrap_or_default());
    scene.found.write(xml, &disk.name);
    xml.close();
}
