//! Access Control Services: whether a port lets what is below it talk to each other, or sends requests up to the root complex.
//!
//! Sources: PCI Express Base Specification 5.0, sections 7.6.3 (the list of extended capabilities) and 7.7.8 (this one); the
//! kernel's `include/uapi/linux/pci_regs.h`.

use std::collections::BTreeMap;
use std::fmt;

use super::read::if_awake;
use super::{PciAddress, PciDevice, PortType, state};
use crate::bytes::array;
use crate::root::Root;
use narrows_base::fact::{Fact, Source};

/// Where extended config space begins, and where it ends.
const EXTENDED: usize = 0x100;
const END: u64 = 0x1000;
/// No more capabilities of 8 bytes fit.
const MOST_CAPABILITIES: usize = 480;
/// The extended capability.
const ACS: u32 = 0x000d;
/// The offset of the ACS Control Register.
const CONTROL: usize = 0x06;

/// What the ACS Control Register of a port says. A bit that is set is in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acs {
    /// ACS Source Validation.
    pub source_validation: bool,
    /// ACS Translation Blocking.
    pub translation_blocking: bool,
    /// ACS P2P Request Redirect.
    pub request_redirect: bool,
    /// ACS P2P Completion Redirect.
    pub completion_redirect: bool,
    /// ACS Upstream Forwarding.
    pub upstream_forwarding: bool,
    /// ACS P2P Egress Control.
    pub egress_control: bool,
    /// ACS Direct Translated P2P.
    pub direct_translated: bool,
}

impl Acs {
    /// Decodes the register.
    pub const fn of_control(control: u16) -> Self {
        Self {
            source_validation: control & 1 != 0,
            translation_blocking: control & 1 << 1 != 0,
            request_redirect: control & 1 << 2 != 0,
            completion_redirect: control & 1 << 3 != 0,
            upstream_forwarding: control & 1 << 4 != 0,
            egress_control: control & 1 << 5 != 0,
            direct_translated: control & 1 << 6 != 0,
        }
    }

    /// Whether a request from below to a neighbour does not go there directly: the kernel asks the same three bits
    /// (`drivers/pci/p2pdma.c`, `pci_bridge_has_acs_redir`).
    pub const fn forbids_peers(&self) -> bool {
        self.request_redirect || self.completion_redirect || self.egress_control
    }
}

impl fmt::Display for Acs {
    /// As `lspci` prints the register.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |is_set: bool| if is_set { '+' } else { '-' };
        write!(
            f,
            "ReqRedir{} CmpltRedir{} EgressCtrl{} DirectTrans{}",
            sign(self.request_redirect),
            sign(self.completion_redirect),
            sign(self.egress_control),
            sign(self.direct_translated)
        )
    }
}

/// Decodes the capability out of config space. `source` names the bytes.
pub fn parse_acs(config: &[u8], source: &str) -> Fact<Acs> {
    if config.len() <= EXTENDED {
        return Fact::Denied { source: Source::new(source), need: "root".to_owned() };
    }
    let garbled = |raw: String| Fact::Garbled { source: Source::new(source), raw };
    let absent = || Fact::absent(format!("{source}, Access Control Services"));
    let mut at = EXTENDED;
    for _ in 0..MOST_CAPABILITIES {
        let Some(header) = array(config, at).map(u32::from_le_bytes) else {
            return garbled(format!("the list of extended capabilities ends at {at:#x}"));
        };
        match header {
            0 => return absent(),
            u32::MAX => return garbled(format!("extended capability of all ones at {at:#x}")),
            _ if header & 0xffff == ACS => {
                return match array(config, at + CONTROL) {
                    Some(bytes) => Fact::known(Acs::of_control(u16::from_le_bytes(bytes)), source),
                    None => garbled(format!("the capability at {at:#x} is cut")),
                };
            }
            _ => {}
        }
        at = usize::try_from(header >> 20 & 0xffc).unwrap_or_default();
        if at < EXTENDED {
            return absent();
        }
    }
    garbled("extended capabilities in a circle".to_owned())
}

/// Reads the capability of every port of a switch that a graphics adapter or accelerator is behind: nowhere else does it decide
/// how data of storage goes, and a whole config space costs a thousand accesses to the port.
pub fn read_acs(root: &Root, devices: &mut BTreeMap<PciAddress, PciDevice>) {
    let wanted = ports_beside_displays(devices);
    for address in wanted {
        let path = format!("/sys/bus/pci/devices/{address}/config");
        let Some(device) = devices.get_mut(&address) else { continue };
        let read = |path: &str| root.head(path, END).and_then(|config| parse_acs(&config, path));
        device.acs = if_awake(&device.power_state, path, read);
    }
}

/// The downstream ports of every switch that a display is behind.
fn ports_beside_displays(devices: &BTreeMap<PciAddress, PciDevice>) -> Vec<PciAddress> {
    let mut switches = Vec::new();
    for display in devices.values().filter(|device| device.is_display()) {
        let mut next = display.parent;
        // No tree of bridges is deeper than there are functions.
        for _ in 0..devices.len() {
            let Some(bridge) = next.and_then(|address| devices.get(&address)) else { break };
            if state::role(devices, bridge.address) == Some(PortType::UpstreamPort) {
                switches.push(bridge.address);
            }
            next = bridge.parent;
        }
    }
    let is_wanted = |device: &&PciDevice| device.parent.is_some_and(|parent| switches.contains(&parent));
    devices
        .values()
        .filter(|device| device.is_bridge())
        .filter(is_wanted)
        .map(|device| device.address)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Advanced Error Reporting at 0x100, ACS at 0x148 with this control register.
    fn config(control: u16) -> Vec<u8> {
        let mut config = vec![0; 0x1000];
        config[0x100..0x104].copy_from_slice(&(0x0001_u32 | 2 << 16 | 0x148 << 20).to_le_bytes());
        config[0x148..0x14c].copy_from_slice(&(0x000d_u32 | 1 << 16).to_le_bytes());
        config[0x14e..0x150].copy_from_slice(&control.to_le_bytes());
        config
    }

    #[test]
    fn the_register_is_decoded_as_lspci_does() {
        // lspci of a PEX 880xx: `ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-` is 0x1d.
        let acs = parse_acs(&config(0x1d), "config").get().expect("is there");
        assert!(acs.source_validation && acs.upstream_forwarding && !acs.translation_blocking);
        assert_eq!(acs.to_string(), "ReqRedir+ CmpltRedir+ EgressCtrl- DirectTrans-");
        assert!(acs.forbids_peers());
        assert!(!parse_acs(&config(0x11), "config").get().expect("is there").forbids_peers());
        assert!(Acs::of_control(0x20).forbids_peers() && !Acs::of_control(0x40).forbids_peers());
    }

    #[test]
    fn what_is_not_there_is_told_from_what_is_hidden() {
        let mut none = config(0);
        none[0x148] = 0x0b;
        assert!(matches!(parse_acs(&none, "config"), Fact::Absent { .. }));
        assert!(matches!(parse_acs(&[0; 0x1000], "config"), Fact::Absent { .. }), "no extended capability");
        assert!(matches!(parse_acs(&config(0)[..64], "config"), Fact::Denied { .. }), "without root");
        assert!(matches!(parse_acs(&config(0)[..0x14c], "config"), Fact::Garbled { .. }), "cut");
        assert!(matches!(parse_acs(&[0xff; 0x1000], "config"), Fact::Garbled { .. }), "gone");
    }

    #[test]
    fn only_ports_beside_a_display_are_asked() {
        let at = |text: &str| text.parse::<PciAddress>().expect("an address");
        let mut devices = BTreeMap::new();
        for (address, class, parent) in [
            ("00:01.0", 0x06_0400, None),
            ("01:00.0", 0x06_0400, Some("00:01.0")),
            ("02:00.0", 0x06_0400, Some("01:00.0")),
            ("02:01.0", 0x06_0400, Some("01:00.0")),
            ("03:00.0", 0x03_0200, Some("02:00.0")),
            ("04:00.0", 0x01_0802, Some("02:01.0")),
            ("00:02.0", 0x06_0400, None),
            ("05:00.0", 0x03_0000, Some("00:02.0")),
        ] {
            let link = super::super::LinkEnd {
                max_speed: Fact::known(narrows_base::units::GtPerSec::GEN4, "max_link_speed"),
                ..Default::default()
            };
            let device = PciDevice {
                address: at(address),
                class: Fact::known(class, "class"),
                parent: parent.map(at),
                link,
                ..PciDevice::default()
            };
            devices.insert(device.address, device);
        }
        assert_eq!(ports_beside_displays(&devices), [at("02:00.0"), at("02:01.0")]);
        let mut tree = crate::tree::Tree::new();
        tree.insert("/sys/bus/pci/devices/0000:02:00.0/config", crate::tree::Node::File(config(0x1d)));
        read_acs(&Root::from_tree(tree), &mut devices);
        assert!(devices[&at("02:00.0")].acs.value().is_some_and(Acs::forbids_peers));
        assert!(devices[&at("02:01.0")].acs.value().is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_panic_or_hang(config in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = parse_acs(&config, "config");
        }
    }
}
