//! USB mass storage: the device, the hub at the root of its bus, and the driver.

use super::device_path::DevicePath;
use crate::pci::PciAddress;
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;

/// A USB device and the controller that it hangs on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usb {
    /// The kernel's device name, `2-1.4`.
    pub device: String,
    /// The negotiated speed, `…/speed` (Mbit/s: 12, 480, 5000, 10000, 20000).
    pub speed: Fact<BitsPerSec>,
    /// The USB version that the device announces, `…/version` (`3.20`).
    pub version: Fact<String>,
    /// The fastest rate that its descriptors announce, as `lsusb -v` shows them, or that its maker does; sysfs has none
    /// of that.
    pub most_speed: Fact<BitsPerSec>,
    /// The fastest speed of the port's root hub.
    pub root_hub_speed: Fact<BitsPerSec>,
    /// The driver, `uas` or `usb-storage`.
    pub driver: Fact<String>,
    /// The host controller.
    pub pci: Option<PciAddress>,
}

/// The interface component of a path through USB, such as `2-1.4:1.0`.
pub(super) fn interface(path: DevicePath<'_>) -> Option<&str> {
    path.numbered("usb")?;
    path.components().rev().find(|component| is_interface(component))
}

/// Reads the device that `interface` belongs to.
pub(super) fn read(root: &Root, interface: &str, path: DevicePath<'_>) -> Usb {
    let device = interface.split(':').next().unwrap_or_default();
    let dir = path.up_to(device).unwrap_or_default();
    let driver = path.up_to(interface).unwrap_or_default();
    Usb {
        device: device.to_owned(),
        speed: speed(root, dir),
        version: root.text(&format!("{dir}/version")),
        most_speed: Fact::default(),
        root_hub_speed: root_hub_speed(root, path, device),
        driver: root.link_name(&format!("{driver}/driver")),
        pci: path.pci(),
    }
}

/// The speed of the root hub, or that of the hub which shares the connector with it: a USB 3 port is one port of a USB
/// 2 hub and one of a USB 3 hub, tied by `peer` (kernel `Documentation/ABI/testing/sysfs-bus-usb`).
fn root_hub_speed(root: &Root, path: DevicePath<'_>, device: &str) -> Fact<BitsPerSec> {
    let hub = path.numbered("usb").and_then(|hub| path.up_to(hub)).unwrap_or_default();
    let own = speed(root, hub);
    let first_port = device.split('.').next().unwrap_or_default();
    let peer = root.resolve(&format!("{hub}/{first_port}/port/peer"));
    let Some(peer) = peer.value() else { return own };
    let peer = DevicePath::new(peer);
    let Some(peer_hub) = peer.numbered("usb").and_then(|hub| peer.up_to(hub)) else { return own };
    let other = speed(root, peer_hub);
    match (own.value(), other.value()) {
        (Some(own), Some(other)) if own >= other => speed(root, hub),
        (_, Some(_)) => other,
        _ => own,
    }
}

fn speed(root: &Root, dir: &str) -> Fact<BitsPerSec> {
    root.text(&format!("{dir}/speed")).absent_when(|text| text == "unknown").parse(parse_speed)
}

/// Reads `480` or `1.5`, in Mbit/s.
fn parse_speed(text: &str) -> Option<BitsPerSec> {
    let rate: f64 = text.parse().ok()?;
    (rate > 0.0 && rate.is_finite()).then(|| BitsPerSec::from_mbit(rate))
}

/// `bus-port[.port…]:configuration.interface`.
fn is_interface(component: &str) -> bool {
    let Some((device, interface)) = component.split_once(':') else { return false };
    let digits_and_dots = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    device.split_once('-').is_some_and(|(bus, ports)| digits_and_dots(bus) && digits_and_dots(ports))
        && digits_and_dots(interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_in_megabit() {
        assert_eq!(parse_speed("10000"), Some(BitsPerSec::from_mbit(10000.0)));
        assert_eq!(parse_speed("1.5"), Some(BitsPerSec::from_mbit(1.5)));
        for text in ["unknown", "", "0", "-480", "inf"] {
            assert_eq!(parse_speed(text), None, "{text}");
        }
    }

    #[test]
    fn an_interface_is_told_from_scsi_and_pci_addresses() {
        assert!(is_interface("2-1.4:1.0"));
        for text in ["2-1.4", "6:0:0:0", "0000:00:14.0", "target6:0:0", "port-0:0", "usb2", "-1:1.0", "2-:1"]
        {
            assert!(!is_interface(text), "{text}");
        }
    }
}
