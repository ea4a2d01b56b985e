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
pub(super) fn take_controller(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    if let Some(bus) = device.rest.strip_prefix("new USB bus registered, assigned bus number ") {
        let bus = bus.trim().parse().ok()?;
        boot.usb.buses.insert(device.address, bus);
        let hub = entry(boot, UsbAddress { bus, device: 1 });
        hub.pci = line.known(device.address);
        hub.name = line.known(format!("usb{bus}"));
        hub.driver = line.known(device.driver.to_owned());
        let is_full_speed = ["ohci", "uhci"].iter().any(|driver| device.driver.starts_with(driver));
        // The fast bus of an xHCI controller says so in the message after this one.
        hub.speed = line.known(BitsPerSec::from_mbit(if is_full_speed { 12.0 } else { 480.0 }));
        return Some(());
    }
    // `3.0 SuperSpeed`, `3.1 Enhanced SuperSpeed`, `3.2 Enhanced SuperSpeed`.
    let megabits = match device.rest.strip_prefix("Host supports USB ")?.split_whitespace().next()? {
        "3.0" => 5000.0,
        "3.1" => 10_000.0,
        "3.2" => 20_000.0,
        _ => return None,
    };
    // The fast bus is the one registered last (`xhci_gen_setup`).
    let bus = boot.usb.buses.get(&device.address).copied()?;
    entry(boot, UsbAddress { bus, device: 1 }).speed = line.known(BitsPerSec::from_mbit(megabits));
    Some(())
}

/// A message of a device, `usb 2-1: …`, or of its driver, `usb-storage 2-1:1.0: …`.
pub(super) fn take(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    if let Some([interface]) = fields(line.message, "usb-storage {}: USB Mass Storage") {
        return set_driver(boot, interface, "usb-storage", line);
    }
    if let Some([interface]) = fields(line.message, "uas {}: ") {
        return set_driver(boot, interface, "uas", line);
    }
    let [name, what] = fields(line.message, "usb {}: {}")?;
    let bus = name.split_once('-')?.0.parse().ok()?;
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
        return Some(());
    }
    let address = boot.usb.devices.get(name).copied()?;
    boot.usb.last = Some(address);
    if what.starts_with("USB disconnect") {
        boot.machine.usb.remove(&address);
        boot.usb.devices.remove(name);
        boot.usb.last = None;
    } else if let Some(ids) = what.strip_prefix("New USB device found, ") {
        let id = hex_field(ids, "idVendor=").zip(hex_field(ids, "idProduct="));
        id.into_iter().for_each(|id| entry(boot, address).id = line.known(id));
    } else {
        let product = what.strip_prefix("Product: ")?.trim().to_owned();
        entry(boot, address).product = line.known(product);
    }
    Some(())
}

fn set_driver(boot: &mut Boot, interface: &str, driver: &str, line: &LogLine<'_>) -> Option<()> {
    let address = boot.usb.devices.get(interface.split(':').next()?).copied()?;
    entry(boot, address).driver = line.known(driver.to_owned());
    boot.usb.last = Some(address);
    Some(())
}

/// The SCSI host of a USB device; only a driver that is UAS says no more than its name.
pub(super) fn set_host(boot: &mut Boot, host: u32, driver: &str, line: &LogLine<'_>) -> Option<()> {
    let address = boot.usb.is_host(driver)?;
    if driver == "uas" {
        entry(boot, address).driver = line.known(driver.to_owned());
    }
    boot.disks.usb.insert(host, address);
    Some(())
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
    let (class, generation) = speed.split_once("Gen ").unwrap_or((speed, ""));
    let megabits = match (class.to_ascii_lowercase().replace(['-', ' '], "").as_str(), generation.trim()) {
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
