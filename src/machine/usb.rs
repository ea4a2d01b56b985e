//! USB devices of a machine, storage or not, as `lsusb` and the kernel's log list them. Filled from captures; on the
//! live machine the block device knows its own USB device ([`crate::machine::block::Usb`]).

use std::collections::BTreeMap;
use std::fmt;

use super::block::Usb;
use super::fact::Fact;
use super::pci::PciAddress;
use crate::units::BitsPerSec;

/// A device by the numbers of its bus and of itself on that bus: `Bus 002 Device 004`. Every tool names these two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UsbAddress {
    /// The bus.
    pub bus: u16,
    /// The device; 1 is the root hub.
    pub device: u16,
}

impl fmt::Display for UsbAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bus {} device {}", self.bus, self.device)
    }
}

/// One USB device or root hub.
#[derive(Debug, Clone, Default)]
pub struct UsbDevice {
    /// Where it is.
    pub address: UsbAddress,
    /// The kernel's device name, `2-1.4`; `usb2` for a root hub.
    pub name: Fact<String>,
    /// Vendor and product number.
    pub id: Fact<(u16, u16)>,
    /// What it calls itself, or what the list of USB numbers calls it.
    pub product: Fact<String>,
    /// The negotiated rate; for a root hub the most that it can do.
    pub speed: Fact<BitsPerSec>,
    /// The USB version that it announces, `3.10`.
    pub version: Fact<String>,
    /// The fastest rate that its descriptors announce.
    pub most_speed: Fact<BitsPerSec>,
    /// The interface class, `Mass Storage`.
    pub class: Fact<String>,
    /// The driver of its first interface, `uas`.
    pub driver: Fact<String>,
    /// The host controller.
    pub pci: Fact<PciAddress>,
}

impl UsbDevice {
    /// Whether it is the root of its bus.
    pub const fn is_root_hub(&self) -> bool {
        self.address.device == 1
    }

    /// Whether it stores data, by its driver or class (`stor.` in old versions of lsusb).
    pub fn is_storage(&self) -> bool {
        let driver = self.driver.value().is_some_and(|driver| driver == "uas" || driver == "usb-storage");
        driver || self.class.value().is_some_and(|class| class == "Mass Storage" || class == "stor.")
    }
}

/// USB devices, by address.
pub type UsbDevices = BTreeMap<UsbAddress, UsbDevice>;

/// The rate of the port that `device` is plugged into: that of the root hub of its bus, or of the fast one that shares
/// the controller with it. An xHCI controller registers its USB 2 bus first and its USB 3 bus right after (kernel
/// `drivers/usb/host/xhci-pci.c`, `xhci_pci_probe`), so that the fast side of bus 3 is bus 4.
pub fn port_speed(devices: &UsbDevices, device: &UsbDevice) -> Fact<BitsPerSec> {
    let root = |bus: u16| devices.get(&UsbAddress { bus, device: 1 });
    let Some(own) = root(device.address.bus) else { return Fact::absent("lsusb -t") };
    let fast = device.address.bus.checked_add(1).and_then(root).filter(|fast| share_controller(own, fast));
    match (own.speed.value(), fast.map(|fast| &fast.speed)) {
        (Some(own_speed), Some(Fact::Known { value, .. })) if value > own_speed => {
            fast.map(|fast| fast.speed.clone()).unwrap_or_default()
        }
        _ => own.speed.clone(),
    }
}

/// Whether these are the USB 2 and the USB 3 bus of one xHCI controller.
fn share_controller(slow: &UsbDevice, fast: &UsbDevice) -> bool {
    if let (Some(slow), Some(fast)) = (slow.pci.value(), fast.pci.value()) {
        return slow == fast;
    }
    let is_xhci = |hub: &UsbDevice| hub.driver.value().is_some_and(|driver| driver.starts_with("xhci"));
    let is =
        |hub: &UsbDevice, test: fn(f64) -> bool| hub.speed.value().is_some_and(|speed| test(speed.get()));
    is_xhci(slow) && is_xhci(fast) && is(slow, |rate| rate <= 480e6) && is(fast, |rate| rate > 480e6)
}

/// The device as the transport of a disk.
pub fn transport(devices: &UsbDevices, device: &UsbDevice) -> Usb {
    Usb {
        device: device.name.get().unwrap_or_else(|| device.address.to_string()),
        speed: device.speed.clone(),
        version: device.version.clone(),
        root_hub_speed: port_speed(devices, device),
        driver: device.driver.clone(),
        pci: device.pci.get().or_else(|| {
            devices.get(&UsbAddress { device: 1, ..device.address }).and_then(|hub| hub.pci.get())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(bus: u16, megabits: f64) -> (UsbAddress, UsbDevice) {
        let address = UsbAddress { bus, device: 1 };
        let device = UsbDevice {
            address,
            speed: Fact::known(BitsPerSec::from_mbit(megabits), "lsusb"),
            driver: Fact::known("xhci_hcd".to_owned(), "lsusb"),
            ..UsbDevice::default()
        };
        (address, device)
    }

    fn on(bus: u16) -> UsbDevice {
        UsbDevice { address: UsbAddress { bus, device: 6 }, ..UsbDevice::default() }
    }

    #[test]
    fn a_port_is_as_fast_as_the_fast_bus_beside_its_own() {
        let devices = UsbDevices::from([hub(1, 480.0), hub(2, 10_000.0), hub(3, 480.0), hub(4, 20_000.0)]);
        let speed = |bus| port_speed(&devices, &on(bus)).get();
        assert_eq!(speed(3), Some(BitsPerSec::from_mbit(20_000.0)));
        assert_eq!(speed(2), Some(BitsPerSec::from_mbit(10_000.0)), "bus 3 is another controller's");
        assert_eq!(speed(9), None);
    }

    #[test]
    fn controllers_that_are_told_apart_share_nothing() {
        let mut devices = UsbDevices::from([hub(3, 480.0), hub(4, 5000.0)]);
        for (bus, address) in [(3, "0000:00:14.0"), (4, "0000:08:00.0")] {
            let hub = devices.get_mut(&UsbAddress { bus, device: 1 }).expect("there");
            hub.pci = Fact::known(address.parse().expect("an address"), "dmesg");
        }
        assert_eq!(port_speed(&devices, &on(3)).get(), Some(BitsPerSec::from_mbit(480.0)));
        let usb = transport(&devices, &on(3));
        assert_eq!(
            (usb.device.as_str(), usb.pci.map(|pci| pci.to_string()).as_deref()),
            ("bus 3 device 6", Some("0000:00:14.0"))
        );
    }
}
