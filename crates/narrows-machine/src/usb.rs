//! USB devices of a machine, storage or not, as `lsusb` and the kernel's log list them. Filled from captures; on the
//! live machine the block device knows its own USB device ([`crate::block::Usb`]).

use std::collections::BTreeMap;
use std::fmt;

use super::block::Usb;
use super::fact::Fact;
use super::pci::PciAddress;
use narrows_base::units::BitsPerSec;

/// A device by the numbers of its bus and of itself on that bus: `Bus 002 Device 004`. Every tool names these two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UsbAddress {
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
    let rates = [own, fast.unwrap_or(own)].into_iter().flat_map(|hub| [&hub.speed, &hub.most_speed]);
    // Of equal rates the first, which is the root hub's own.
    rates
        .reduce(|best, rate| if rate.value() > best.value() { rate } else { best })
        .cloned()
        .unwrap_or_default()
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

/// Bridges from USB to SATA, NVMe or Ethernet, and the rate in Mbit/s that they can run at, as their makers' pages say (Realtek
/// RTL8153, RTL8156, RTL8157, RTL9210 and RTL9220; ASIX AX88179; JMicron JMS567, JMS578, JMS580 and JMS583; ASMedia ASM1153, ASM235CM, ASM2362 and ASM2364; VIA
/// Labs VL715 and VL716; Western Digital Black P50). Several chips share a number: then it is the rate of the slowest.
const BRIDGES: &[((u16, u16), f64)] = &[
    ((0x0b95, 0x1790), 5000.0),
    ((0x0bda, 0x8153), 5000.0),
    ((0x0bda, 0x8156), 5000.0),
    ((0x0bda, 0x8157), 5000.0),
    ((0x0bda, 0x9210), 10_000.0),
    ((0x0bda, 0x9220), 20_000.0),
    ((0x1058, 0x2642), 20_000.0),
    ((0x152d, 0x0567), 5000.0),
    ((0x152d, 0x0578), 5000.0),
    ((0x152d, 0x0580), 10_000.0),
    ((0x152d, 0x0583), 10_000.0),
    ((0x174c, 0x235c), 10_000.0),
    ((0x174c, 0x2362), 10_000.0),
    ((0x174c, 0x2364), 20_000.0),
    ((0x174c, 0x55aa), 5000.0),
    ((0x2109, 0x0715), 5000.0),
    ((0x2109, 0x0716), 10_000.0),
];

/// The most that a device can run at: what it announces, else what its maker does.
fn most_speed(device: &UsbDevice) -> Fact<BitsPerSec> {
    if device.most_speed.value().is_some() {
        return device.most_speed.clone();
    }
    let known = device.id.value().and_then(|id| BRIDGES.iter().find(|(bridge, _)| bridge == id));
    known.map_or_else(
        || device.most_speed.clone(),
        |(_, megabits)| {
            Fact::known(
                BitsPerSec::from_mbit(*megabits),
                format!("USB number of the bridge, {}", device.id.source()),
            )
        },
    )
}

/// Adds to the transport of a disk what other texts say of its USB device.
pub fn complete(devices: &UsbDevices, usb: &Usb) -> Usb {
    let named = |device: &&UsbDevice| device.name.value().is_some_and(|name| *name == usb.device);
    let Some(device) = devices.values().find(named) else { return usb.clone() };
    let listed = transport(devices, device);
    let is_faster = listed.root_hub_speed.value() > usb.root_hub_speed.value();
    Usb {
        device: usb.device.clone(),
        speed: known(&usb.speed, listed.speed),
        version: known(&usb.version, listed.version),
        most_speed: known(&usb.most_speed, listed.most_speed),
        root_hub_speed: if is_faster { listed.root_hub_speed } else { usb.root_hub_speed.clone() },
        driver: known(&usb.driver, listed.driver),
        pci: usb.pci.or(listed.pci),
    }
}

fn known<T: Clone>(first: &Fact<T>, second: Fact<T>) -> Fact<T> {
    if first.value().is_some() || second.value().is_none() { first.clone() } else { second }
}

/// The device as the transport of a disk.
pub fn transport(devices: &UsbDevices, device: &UsbDevice) -> Usb {
    Usb {
        device: device.name.get().unwrap_or_else(|| device.address.to_string()),
        speed: device.speed.clone(),
        version: device.version.clone(),
        most_speed: most_speed(device),
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
    fn what_other_texts_say_of_a_disks_device_is_added() {
        let mut devices = UsbDevices::from([hub(5, 20_000.0)]);
        let address = UsbAddress { bus: 5, device: 2 };
        let enclosure = UsbDevice {
            address,
            name: Fact::known("5-1".to_owned(), "lsusb"),
            id: Fact::known((0x1058, 0x2642), "lsusb"),
            version: Fact::known("3.20".to_owned(), "lsusb"),
            ..UsbDevice::default()
        };
        devices.insert(address, enclosure);
        let speed = Fact::known(BitsPerSec::from_mbit(10_000.0), "dmesg");
        let usb = Usb { device: "5-1".to_owned(), speed: speed.clone(), ..Usb::default() };
        let whole = complete(&devices, &usb);
        assert_eq!((whole.speed, whole.version.get().as_deref()), (speed, Some("3.20")));
        assert_eq!(whole.root_hub_speed.get(), Some(BitsPerSec::from_mbit(20_000.0)));
        assert_eq!(
            whole.most_speed.get(),
            Some(BitsPerSec::from_mbit(20_000.0)),
            "by the number of the bridge"
        );
        let other = Usb { device: "5-2".to_owned(), ..Usb::default() };
        assert_eq!(complete(&devices, &other), other);
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
