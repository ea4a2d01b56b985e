//! USB buses and devices (`drivers/usb/core/hub.c`, `hcd.c`, `drivers/usb/host/xhci.c`).

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::pci::PciAddress;
use narrows_machine::usb::{UsbAddress, UsbDevice};

use super::{Boot, DmesgDevice, LogLine};
use crate::text::fields;

/// What the log says of buses.
#[derive(Default)]
pub(super) struct Hosts {
    /// The last bus that each controller registered.
    buses: BTreeMap<PciAddress, u16>,
    /// The devices that are there now, by name.
    devices: BTreeMap<String, UsbAddress>,
    /// The device that spoke last.
    last: Option<UsbAddress>,
}

impl Hosts {
    /// The device behind a SCSI host whose driver is `usb-storage 2-1:1.0` or `uas`, which has just been set up.
    fn is_host(&self, driver: &str) -> Option<UsbAddress> {
        if let Some(interface) = driver.strip_prefix("usb-storage ") {
            return self.devices.get(interface.split(':').next()?).copied();
        }
        self.last.filter(|_| driver == "uas")
    }
}

fn entry(boot: &mut Boot, address: UsbAddress) -> &mut UsbDevice {
    boot.machine.usb.entry(address).or_insert_with(|| UsbDevice { address, ..UsbDevice::default() })
}

/// A host controller speaks of its buses.
pub(super) fn take_controller(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> bool {
    if let Some(bus) = device.rest.strip_prefix("new USB bus registered, assigned bus number ") {
        let Ok(bus) = bus.trim().parse() else { return false };
        boot.usb.buses.insert(device.address, bus);
        let hub = entry(boot, UsbAddress { bus, device: 1 });
        hub.pci = line.known(device.address);
        hub.name = line.known(format!("usb{bus}"));
        hub.driver = line.known(device.driver.to_owned());
        let is_full_speed = ["ohci", "uhci"].iter().any(|driver| device.driver.starts_with(driver));
        // The fast bus of an xHCI controller says so in the message after this one.
        hub.speed = line.known(BitsPerSec::from_mbit(if is_full_speed { 12.0 } else { 480.0 }));
        return true;
    }
    // The fast bus is the one registered last (`xhci_gen_setup`).
    let Some(rate) = device.rest.strip_prefix("Host supports USB ").and_then(parse_host) else {
        return false;
    };
    let Some(bus) = boot.usb.buses.get(&device.address).copied() else { return false };
    entry(boot, UsbAddress { bus, device: 1 }).speed = line.known(rate);
    true
}

/// Reads `3.0 SuperSpeed`, `3.1 Enhanced SuperSpeed`, `3.2 Enhanced SuperSpeed`.
fn parse_host(text: &str) -> Option<BitsPerSec> {
    let megabits = match text.split_whitespace().next()? {
        "3.0" => 5000.0,
        "3.1" => 10_000.0,
        "3.2" => 20_000.0,
        _ => return None,
    };
    Some(BitsPerSec::from_mbit(megabits))
}

/// A message of a device, `usb 2-1: …`, or of its driver, `usb-storage 2-1:1.0: …`.
pub(super) fn take(boot: &mut Boot, line: &LogLine<'_>) -> bool {
    if let Some([interface, what]) = fields(line.message, "usb-storage {}: {}") {
        return what.starts_with("USB Mass Storage") && set_driver(boot, interface, "usb-storage", line);
    }
    if let Some([interface, _]) = fields(line.message, "uas {}: {}") {
        return set_driver(boot, interface, "uas", line);
    }
    let Some([name, what]) = fields(line.message, "usb {}: {}") else { return false };
    let Some(bus) = name.split_once('-').and_then(|(bus, _)| bus.parse().ok()) else { return false };
    if let Some((speed, number)) = parse_new(what) {
        let address = UsbAddress { bus, device: number };
        boot.machine.usb.remove(&address);
        let device = entry(boot, address);
        device.name = line.known(name.to_owned());
        device.speed = line.known(speed);
        // A device that failed to answer is given a new number.
        if let Some(before) =
            boot.usb.devices.insert(name.to_owned(), address).filter(|before| *before != address)
        {
            boot.machine.usb.remove(&before);
        }
        boot.usb.last = Some(address);
        return true;
    }
    let Some(address) = boot.usb.devices.get(name).copied() else { return false };
    boot.usb.last = Some(address);
    take_known(boot, name, address, what, line)
}

fn take_known(boot: &mut Boot, name: &str, address: UsbAddress, what: &str, line: &LogLine<'_>) -> bool {
    if what.starts_with("USB disconnect") {
        boot.machine.usb.remove(&address);
        boot.usb.devices.remove(name);
        boot.usb.last = None;
        return true;
    }
    if let Some(ids) = what.strip_prefix("New USB device found, ") {
        let id = (hex_field(ids, "idVendor="), hex_field(ids, "idProduct="));
        if let (Some(vendor), Some(product)) = id {
            entry(boot, address).id = line.known((vendor, product));
        }
        return true;
    }
    let Some(product) = what.strip_prefix("Product: ") else { return false };
    entry(boot, address).product = line.known(product.trim().to_owned());
    true
}

fn set_driver(boot: &mut Boot, interface: &str, driver: &str, line: &LogLine<'_>) -> bool {
    let name = interface.split(':').next().unwrap_or_default();
    let Some(address) = boot.usb.devices.get(name).copied() else { return false };
    let device = entry(boot, address);
    device.driver = line.known(driver.to_owned());
    boot.usb.last = Some(address);
    true
}

/// The SCSI host of a USB device; only a driver that is UAS says no more than its name.
pub(super) fn set_host(boot: &mut Boot, host: u32, driver: &str, line: &LogLine<'_>) -> bool {
    let Some(address) = boot.usb.is_host(driver) else { return false };
    if driver == "uas" {
        entry(boot, address).driver = line.known(driver.to_owned());
    }
    boot.disks.usb.insert(host, address);
    true
}

fn hex_field(text: &str, key: &str) -> Option<u16> {
    let value = text.split_once(key)?.1;
    u16::from_str_radix(value.get(..4)?, 16).ok()
}

/// Reads `new SuperSpeed Plus Gen 2x1 USB device number 2 using xhci_hcd`; older kernels say `SuperSpeedPlus Gen 2`, and
/// before Linux 3.2 `using xhci_hcd and address 2`.
fn parse_new(what: &str) -> Option<(BitsPerSec, u16)> {
    let (speed, rest) = what.strip_prefix("new ")?.split_once(" USB device ")?;
    let number =
        rest.strip_prefix("number ").or_else(|| rest.split_once("address ").map(|(_, number)| number))?;
    let number = number.split_whitespace().next()?.parse().ok()?;
    let (class, generation) =
        speed.split_once("Gen ").map_or((speed, ""), |(class, generation)| (class, generation.trim()));
    let megabits = match (class.to_ascii_lowercase().replace(['-', ' '], "").as_str(), generation) {
        ("lowspeed", _) => 1.5,
        ("fullspeed", _) => 12.0,
        ("highspeed" | "variablespeed", _) => 480.0,
        ("superspeed", _) => 5000.0,
        ("superspeedplus", "2x2") => 20_000.0,
        ("superspeedplus", _) => 10_000.0,
        _ => return None,
    };
    Some((BitsPerSec::from_mbit(megabits), number))
}

/// Devices hang on the controller of their bus.
pub(super) fn finish(boot: &mut Boot) {
    let controllers: BTreeMap<u16, Fact<PciAddress>> = boot
        .machine
        .usb
        .values()
        .filter(|device| device.is_root_hub())
        .map(|hub| (hub.address.bus, hub.pci.clone()))
        .collect();
    for device in boot.machine.usb.values_mut() {
        if let Some(pci) = controllers.get(&device.address.bus) {
            device.pci = pci.clone();
        }
    }
}
