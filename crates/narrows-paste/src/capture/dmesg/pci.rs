//! PCI functions and bridges, as the kernel lists them when it finds them (`drivers/pci/probe.c`).

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::fact::Fact;
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::pci::{LinkEnd, PciAddress, PciDevice, PciId, PortType};

use super::{Boot, DmesgDevice, LogLine};
use crate::capture::device::function;
use crate::capture::fill::{Fill, Than};
use crate::capture::lspci::{class_of_driver, pci_id};
use crate::text::fields;

/// Class of a bridge to another PCI bus; `pcieport` drives nothing else.
const BRIDGE: u32 = 0x06_0400;

/// A bus, by its domain and number.
type Bus = (u32, u8);

/// What the log says of buses.
#[derive(Default)]
pub(super) struct Buses {
    /// The bus right below each bridge.
    below: BTreeMap<PciAddress, u8>,
    /// NUMA nodes of root buses.
    nodes: BTreeMap<Bus, Fact<u32>>,
    /// The function that makes a domain, such as VMD.
    owners: BTreeMap<u32, PciAddress>,
    /// Root buses.
    roots: BTreeSet<Bus>,
    /// A port above a function, although perhaps not right above it.
    above: BTreeMap<PciAddress, PciAddress>,
    /// The name of the slot below a port.
    pub(super) slots: BTreeMap<PciAddress, Fact<String>>,
    /// How the link of a host bridge with one root port came up, by the bridge's name.
    pub(super) port_links: BTreeMap<String, (Fact<GtPerSec>, Fact<Lanes>)>,
    /// The same by its root bus.
    root_links: BTreeMap<Bus, (Fact<GtPerSec>, Fact<Lanes>)>,
}

impl Buses {
    /// Remembers that `port` is somewhere above `address`.
    pub(super) fn set_above(&mut self, address: PciAddress, port: PciAddress) {
        if address != port {
            self.above.entry(address).or_insert(port);
        }
    }

    /// Remembers the root bus of the host bridge `name`; whether `bus` is one.
    pub(super) fn set_host(&mut self, name: &str, bus: &str) -> Option<()> {
        let bus = parse_bus(bus)?;
        self.root_links.extend(self.port_links.remove(name).map(|link| (bus, link)));
        self.roots.insert(bus);
        Some(())
    }
}

/// The function at `address`, new if it was not known.
pub(super) fn entry(boot: &mut Boot, address: PciAddress) -> &mut PciDevice {
    function(&mut boot.machine, address)
}

/// The bridge at `address`, where a message only makes sense of a bridge.
pub(super) fn bridge_entry<'b>(
    boot: &'b mut Boot,
    address: PciAddress,
    line: &LogLine<'_>,
) -> &'b mut PciDevice {
    let device = entry(boot, address);
    line.learn(&mut device.class, BRIDGE);
    device
}

/// Who functions are, as earlier boots of the same log say it. A later boot may say less: the kernel that writes a crash
/// dump loads few drivers.
#[derive(Default)]
pub(super) struct Identities(BTreeMap<PciAddress, PciDevice>);

impl Identities {
    /// Remembers the functions of a boot.
    pub(super) fn remember(&mut self, devices: &BTreeMap<PciAddress, PciDevice>) {
        self.0.extend(devices.iter().map(|(address, device)| (*address, device.clone())));
    }

    /// Fills in what the last boot does not say of functions that it names, unless they were exchanged.
    pub(super) fn fill(&self, devices: &mut BTreeMap<PciAddress, PciDevice>) {
        for (address, device) in devices {
            let Some(known) = self.0.get(address) else { continue };
            let is_other = device.id.value().is_some_and(|id| known.id.value().is_some_and(|old| old != id));
            if is_other {
                continue;
            }
            device.id.fill(known.id.clone(), Than::Less);
            device.class.fill(known.class.clone(), Than::Less);
            device.driver.fill(known.driver.clone(), Than::Less);
        }
    }
}

/// A message of a function.
pub(super) fn take(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    if let Some(found) = parse_function(device.rest) {
        let function = entry(boot, device.address);
        function.id = line.known(found.id);
        function.class = line.known(found.class);
        match found.port {
            Port::Is(port) => function.port = line.known(port),
            Port::Conventional => function.express = Fact::absent(line.source().as_str()),
            Port::Unsaid => {}
        }
    } else if let Some(bus) = parse_bridge(device.rest) {
        bridge_entry(boot, device.address, line);
        // Bus 00 below a bridge is one that was not set up yet.
        if bus != 0 {
            boot.buses.below.insert(device.address, bus);
        }
    } else if let Some(bus) = device.rest.strip_prefix("PCI host bridge to bus ").and_then(parse_bus) {
        boot.buses.owners.insert(bus.0, device.address);
        boot.buses.roots.insert(bus);
    } else {
        let group = device.rest.strip_prefix("Adding to iommu group ")?.parse().ok()?;
        entry(boot, device.address).iommu_group = line.known(group);
    }
    Some(())
}

/// A driver speaks of what it is bound to. Asked after the other readers, so that the first message that names a function
/// tells its driver, too: a log that was searched may have no other.
pub(super) fn bind(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    let function = match device.driver {
        "pci" | "pci_bus" | "snbep_uncore" | "vgaarb" | "DMAR" => return None,
        "pcieport" => bridge_entry(boot, device.address, line),
        _ => boot.machine.pci.get_mut(&device.address)?,
    };
    if function.driver.value().is_none_or(|driver| driver != device.driver) {
        function.driver = line.known(device.driver.to_owned());
    }
    Some(())
}

/// A function as it is found.
struct Function {
    id: PciId,
    class: u32,
    port: Port,
}

enum Port {
    Is(PortType),
    Conventional,
    /// Kernels before 6.7 do not say.
    Unsaid,
}

/// Reads `[144d:a80a] type 00 class 0x010802 PCIe Endpoint`, and before Linux 2.6.34 `found [144d:a80a] class 000108
/// header type 00`. Before 3.4 the class has four digits, without the programming interface.
fn parse_function(rest: &str) -> Option<Function> {
    let rest = rest.strip_prefix("found ").unwrap_or(rest);
    let (id, rest) = rest.strip_prefix('[')?.split_once("] ")?;
    let class = rest.split_once("class ")?.1;
    let (class, port) = class.split_once(' ').unwrap_or((class, ""));
    let class =
        u32::from_str_radix(class.trim_start_matches("0x"), 16).ok().filter(|class| *class <= 0xff_ffff)?;
    Some(Function {
        id: pci_id(id)?,
        class: if class <= 0xffff { class << 8 } else { class },
        port: port_type(port.trim()),
    })
}

/// The kernel's names of port types (`pci_type_str`, Linux 6.7).
fn port_type(text: &str) -> Port {
    Port::Is(match text {
        "PCIe Endpoint" | "PCIe Legacy Endpoint" => PortType::Endpoint,
        "PCIe Root Port" => PortType::RootPort,
        "PCIe Switch Upstream Port" => PortType::UpstreamPort,
        "PCIe Switch Downstream Port" => PortType::DownstreamPort,
        "PCIe to PCI/PCI-X bridge" | "PCI/PCI-X to PCIe bridge" => PortType::PciBridge,
        "PCIe Root Complex Integrated Endpoint" | "PCIe Root Complex Event Collector" => {
            PortType::RootComplexIntegrated
        }
        "conventional PCI endpoint" | "conventional PCI bridge" => return Port::Conventional,
        _ => return Port::Unsaid,
    })
}

/// Reads the secondary bus of `PCI bridge to [bus 01-05] (subtractive decode)`, before Linux 2.6.34 `PCI bridge,
/// secondary bus 0000:01`.
fn parse_bridge(rest: &str) -> Option<u8> {
    if let Some(range) = rest.strip_prefix("PCI bridge to [bus ") {
        return parse_hex_bus(range.split_once(']')?.0.split('-').next()?);
    }
    parse_bus(rest.strip_prefix("PCI bridge, secondary bus ")?).map(|(_, bus)| bus)
}

fn parse_hex_bus(text: &str) -> Option<u8> {
    u8::from_str_radix(text.trim(), 16).ok()
}

/// Reads `0000:80`.
fn parse_bus(text: &str) -> Option<Bus> {
    let (domain, bus) = text.trim_end_matches(':').split_once(':')?;
    Some((u32::from_str_radix(domain, 16).ok()?, parse_hex_bus(bus.get(..2)?)?))
}

/// A message of a bus: `pci_bus 0000:80: on NUMA node 1`, `pci_bus 0000:00: root bus resource [bus 00-ff]`.
pub(super) fn take_bus(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    let [bus, rest] = fields(line.message, "pci_bus {}: {}")?;
    let bus = parse_bus(bus)?;
    if !rest.starts_with("root bus resource") {
        let node = rest.strip_prefix("on NUMA node ")?.trim().parse().ok()?;
        boot.buses.nodes.insert(bus, line.known(node));
    }
    boot.buses.roots.insert(bus);
    Some(())
}

/// Ties functions to the bridges above them.
pub(super) fn finish(boot: &mut Boot) {
    let buses = std::mem::take(&mut boot.buses);
    let bridges: BTreeMap<Bus, PciAddress> =
        buses.below.iter().map(|(bridge, bus)| ((bridge.domain, *bus), *bridge)).collect();
    for (address, device) in &mut boot.machine.pci {
        take_class(device);
        let bus = (address.domain, address.bus);
        let bridge = bridges.get(&bus).filter(|bridge| *bridge != address);
        let is_root = buses.roots.contains(&bus);
        // A port that is somewhere above is the best that an incomplete log offers.
        let above = || buses.above.get(address).filter(|above| above.domain == bus.0 && above.bus != bus.1);
        device.parent = bridge.or_else(|| above().filter(|_| !is_root)).copied();
        device.domain_owner =
            buses.owners.get(&address.domain).filter(|owner| owner.domain != bus.0).copied();
        // A function of the root complex has no link, although some drivers make one up (`e1000_get_bus_info_ich8lan`).
        if device.parent.is_none() && (is_root || address.bus == 0) && !device.is_bridge() {
            device.link = LinkEnd::default();
        }
        if let Some(slot) = bridge.and_then(|bridge| buses.slots.get(bridge)) {
            device.slot = slot.clone();
        }
    }
    set_nodes(&mut boot.machine.pci, &buses.nodes);
    set_root_links(&mut boot.machine.pci, &buses.root_links);
    mirror(&mut boot.machine.pci, &bridges);
}

/// A function is on the node of its root bus.
fn set_nodes(devices: &mut BTreeMap<PciAddress, PciDevice>, nodes: &BTreeMap<Bus, Fact<u32>>) {
    if nodes.is_empty() {
        return;
    }
    let parents: BTreeMap<PciAddress, Option<PciAddress>> =
        devices.iter().map(|(address, device)| (*address, device.parent)).collect();
    for (address, device) in devices {
        let root = (0..256).try_fold(*address, |at, _| match parents.get(&at).copied().flatten() {
            Some(parent) => Ok(parent),
            None => Err(at),
        });
        let Err(root) = root else { continue };
        if let Some(node) = nodes.get(&(root.domain, root.bus)) {
            device.numa_node = node.clone();
        }
    }
}

/// A host bridge that speaks of its link has one root port.
fn set_root_links(
    devices: &mut BTreeMap<PciAddress, PciDevice>,
    links: &BTreeMap<Bus, (Fact<GtPerSec>, Fact<Lanes>)>,
) {
    for ((domain, bus), (speed, width)) in links {
        let mut ports = devices.values_mut().filter(|device| {
            (device.address.domain, device.address.bus) == (*domain, *bus) && device.is_bridge()
        });
        if let (Some(port), None) = (ports.next(), ports.next())
            && port.link.current_speed.value().is_none()
        {
            (port.link.current_speed, port.link.current_width) = (speed.clone(), width.clone());
        }
    }
}

/// Both ends of a link have the same rate and width: what is known of a port is known of the card below it.
fn mirror(devices: &mut BTreeMap<PciAddress, PciDevice>, bridges: &BTreeMap<Bus, PciAddress>) {
    let ports: BTreeMap<PciAddress, _> = devices
        .iter()
        .filter(|(_, device)| device.link.current_speed.value().is_some() && device.is_bridge())
        .map(|(address, device)| {
            (*address, (device.link.current_speed.clone(), device.link.current_width.clone()))
        })
        .collect();
    for (address, device) in devices {
        let port = bridges.get(&(address.domain, address.bus)).and_then(|bridge| ports.get(bridge));
        // A link leads to device 0 only (PCI Express Base Specification 5.0, section 7.3.1).
        if let Some((speed, width)) =
            port.filter(|_| address.device == 0 && device.link.max_speed.value().is_some())
            && device.link.current_speed.value().is_none()
        {
            device.link.current_speed = speed.clone();
            device.link.current_width = width.clone();
        }
    }
}

/// What a function is, where a log does not list it and its driver is known: drivers serve one class of devices.
///
/// Puts down the class of a function that no line listed.
fn take_class(device: &mut PciDevice) {
    let Fact::Known { value: driver, source } = &device.driver else { return };
    if let Some(class) = class_of_driver(driver).filter(|_| device.class.value().is_none()) {
        device.class = Fact::known(class, source.as_str());
    }
}

#[cfg(test)]
mod tests {
    use crate::capture::Text;

    #[test]
    fn a_log_that_begins_after_the_start_tells_classes_by_drivers() {
        let log = "[ 1246.280222] radeon 0000:03:00.0: 16.000 Gb/s available PCIe bandwidth, limited by 5 GT/s x4 link at \
                   0000:00:1c.4 (capable of 63.008 Gb/s with 8 GT/s x8 link)\n\
                   [ 1246.291534] ipr 0010:01:00.0: Found IOA with IRQ: 0\n";
        let machine = crate::capture::dmesg::read(&Text::new("dmesg", log.as_bytes())).machine;
        let of = |at: &str| machine.pci[&at.parse().expect("an address")].clone();
        assert!(of("0000:03:00.0").is_display());
        assert!(of("0010:01:00.0").is_storage());
    }
}
