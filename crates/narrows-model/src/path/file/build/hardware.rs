//! The way from a part to the memory of its host: its interface and link, slots, switches, adapters, chipsets and sockets.

use super::{Built, Spot, Walk, fact, find_adapter, find_switch, given, listed, no_place};
use crate::path::file::{
    Adapter, Attachment, Chipset, Device, DeviceKind, Host, Interconnect, LinkGiven, Name, Part, PartKind,
    Slot, Switch,
};
use crate::path::graph::{NewHop, Node};
use crate::path::{
    ControllerHop, DeviceHop, GivenHop, HopKind, HopSpec, LinkHop, SocketHop, Traffic, UplinkHop,
};
use narrows_base::catalog::catalog;
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, GtPerSec, Lanes};
use narrows_machine::block::{Sas, Sata, Usb};
use narrows_machine::pci::{Express, LinkEnd, PciDevice, PortType};

/// The relative distance of another socket (ACPI System Locality Information Table, usual value).
const OTHER_SOCKET: u32 = 21;

impl<'s> Walk<'s> {
    /// Puts the way from the part of `spot`, which is in `upstream` with `end` of its link, to memory.
    pub(super) fn upstream(&mut self, spot: Spot<'s>, upstream: &Name, end: LinkGiven) -> Built {
        let carrier = self.part(upstream, &spot.part.name)?;
        self.deeper(upstream, |walk| walk.in_carrier(spot, carrier, end))
    }

    fn in_carrier(&mut self, spot: Spot<'s>, carrier: &'s Part, end: LinkGiven) -> Built {
        let is_wire =
            !matches!(&spot.part.kind, PartKind::Device(device) if interface(spot.part, device).is_some());
        let has_end = is_wire && end.width.is_some() && end.generation.is_some();
        let port = match &carrier.kind {
            PartKind::Slot(slot) => Some(slot.link),
            PartKind::Switch(switch) => is_wire.then(|| switch.port()),
            PartKind::Chipset(_) | PartKind::Host(_) => has_end.then(LinkGiven::default),
            _ => None,
        };
        let above = match port {
            Some(port) => self.link(spot, end, (carrier, port))?,
            None => Some(spot.above),
        };
        let Some(above) = above else { return Ok(()) };
        let below = Spot { above, part: carrier, ..spot };
        match &carrier.kind {
            PartKind::Slot(slot) => self.attachment(below, slot),
            PartKind::Switch(switch) => self.switch(below, switch),
            PartKind::Adapter(adapter) => {
                let spec = adapter_spec(carrier, adapter);
                let title = match &adapter.model {
                    Some(model) => format!("{} {model}", carrier.name),
                    None => format!("adapter {}", carrier.name),
                };
                let Some(below) = self.put(below, title, spec)? else { return Ok(()) };
                self.upstream(below, &adapter.upstream, adapter.link)
            }
            PartKind::Chipset(chipset) => self.chipset(below, chipset),
            PartKind::Host(_) => self.socket(below, &carrier.name, 0),
            other => Err(no_place(&spot.part.name, &carrier.name, other)),
        }
    }

    /// The way from a slot to memory.
    fn attachment(&mut self, spot: Spot<'s>, slot: &'s Slot) -> Built {
        let carrier = self.part(slot.on.name(), &spot.part.name)?;
        match (&slot.on, &carrier.kind) {
            (Attachment::Socket { host, socket }, _) => self.socket(spot, host, *socket),
            (Attachment::Chipset { .. }, PartKind::Chipset(chipset)) => {
                self.chipset(Spot { part: carrier, ..spot }, chipset)
            }
            (Attachment::Slot { slot: name }, PartKind::Slot(outer)) => {
                self.deeper(name, |walk| walk.attachment(Spot { part: carrier, ..spot }, outer))
            }
            (_, other) => Err(no_place(&spot.part.name, &carrier.name, other)),
        }
    }

    fn switch(&mut self, spot: Spot<'s>, switch: &'s Switch) -> Built {
        let part = spot.part;
        let known = listed(part, "switch", switch.model.as_deref(), find_switch)?;
        let name = known
            .map_or_else(|| format!("PCIe switch {}", part.name), |it| format!("{} {}", part.name, it.name));
        let spec = HopSpec::Switch(UplinkHop { name: name.clone(), ..UplinkHop::default() });
        let Some(below) = self.put(spot, name, spec)? else { return Ok(()) };
        let generation = switch.uplink.generation.or(known.map(|it| it.generation));
        self.upstream(below, &switch.upstream, LinkGiven { generation, ..switch.uplink })
    }

    fn chipset(&mut self, spot: Spot<'s>, chipset: &'s Chipset) -> Built {
        let entry = chipset.entry(spot.part)?;
        let name = entry.as_ref().map_or_else(
            || format!("chipset {}", spot.part.name),
            |it| format!("{} chipset, {}", it.name, it.uplink),
        );
        let spec = HopSpec::Chipset(UplinkHop { name: name.clone(), chipset: entry, ..UplinkHop::default() });
        let Some(below) = self.put(spot, name, spec)? else { return Ok(()) };
        self.socket(below, &chipset.host, chipset.socket)
    }

    /// The way from a socket to the one where the data is read, and its host's memory.
    fn socket(&mut self, spot: Spot<'s>, host: &Name, socket: u32) -> Built {
        let part = self.part(host, &"a slot")?;
        let PartKind::Host(given_host) = &part.kind else {
            return Err(no_place(&Name::new("a slot"), host, &part.kind));
        };
        let wanted = match spot.reader {
            Some(place) if place.host == host => place.socket,
            Some(_) => None,
            None => given_host.reader_socket,
        };
        let mut node = spot.above;
        if let Some(to) = wanted.filter(|to| *to != socket) {
            let hop = interconnect(part, given_host, (socket, to))?;
            let Some(next) = self.add(node, hop, Traffic::ONE)? else { return Ok(()) };
            node = next;
        }
        if given_host.memory_rate.is_some() {
            let spec = given(HopKind::Memory, given_host.memory_rate, part, "main memory");
            self.add(node, NewHop::new(host, format!("main memory of {host}"), spec), Traffic::ONE)?;
        }
        Ok(())
    }

    pub(super) fn device(&mut self, spot: Spot<'s>, device: &'s Device) -> Built {
        let part = spot.part;
        let title = match &device.model {
            Some(model) => format!("{} {model}", part.name),
            None => format!("{} ({})", part.name, kind_name(device.kind)),
        };
        let Some(below) = self.put(spot, title, medium(part, device))? else { return Ok(()) };
        let Some((name, spec)) = interface(part, device) else {
            return self.upstream(below, &device.upstream, device.end());
        };
        let Some(below) = self.put(below, name, spec)? else { return Ok(()) };
        self.upstream(below, &device.upstream, device.link)
    }

    /// The link between the part with its `end` and a port of `carrier`.
    fn link(
        &mut self,
        spot: Spot<'s>,
        end: LinkGiven,
        (carrier, port): (&'s Part, LinkGiven),
    ) -> Built<Option<Node>> {
        let part = spot.part;
        let payload =
            end.payload.into_iter().chain(port.payload).min().or_else(|| self.usual_payload(carrier));
        let (Some(generation), Some(width)) =
            (least(end.generation, port.generation), least(end.width, port.width))
        else {
            return Ok(Some(spot.above));
        };
        let both =
            LinkGiven { generation: Some(generation), width: Some(width), payload, ..LinkGiven::default() };
        let slot = matches!(carrier.kind, PartKind::Slot(_)).then(|| carrier.name.to_string());
        let place = if slot.is_some() { format!("slot {}", carrier.name) } else { carrier.name.to_string() };
        let hop = LinkHop {
            device: link_port(end, both, end.read_request, &part.given),
            port: Some(link_port(port, both, None, &carrier.given)),
            slot,
            ..LinkHop::default()
        };
        let name = format!("PCIe {generation}.0 {width} link of {}, {place}", part.name);
        let fraction = match &part.kind {
            PartKind::Network(network) => super::layer::on_link(network),
            _ => Traffic::ONE,
        };
        self.add(spot.above, NewHop::new(&part.name, name, HopSpec::Link(Box::new(hop))), fraction)
    }

    /// Max_Payload_Size of the chipset that a slot hangs on.
    fn usual_payload(&self, carrier: &Part) -> Option<Bytes> {
        let PartKind::Slot(Slot { on: Attachment::Chipset { chipset: name }, .. }) = &carrier.kind else {
            return None;
        };
        let part = self.system.part(name)?;
        let PartKind::Chipset(chipset) = &part.kind else { return None };
        let entry = chipset.entry(part).ok()??;
        Some(Bytes::new(u64::from(entry.max_payload)))
    }
}

/// The way from one socket of a host to another.
fn interconnect(part: &Part, host: &Host, (from, to): (u32, u32)) -> Built<NewHop> {
    let by_words = |name: &str| catalog().processor_by_words(name);
    let platform = listed(part, "processor", host.processor.as_deref(), by_words)?;
    let named = platform.and_then(|it| it.interconnect.as_ref());
    let what = named.map_or("interconnect", |it| it.name.as_str());
    let spec = match host.interconnect {
        Some(links) => {
            given(HopKind::Socket, Some(links.carries()), part, "the connection between two sockets")
        }
        None => HopSpec::Socket(Box::new(SocketHop {
            device_node: from,
            reader_node: to,
            distance: OTHER_SOCKET,
            platform: platform.cloned(),
        })),
    };
    let title = format!("{what} from socket {from} to {to} of {}", part.name);
    Ok(NewHop::new(format!("{}:{from}-{to}", part.name), title, spec))
}

fn kind_name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Nvme => "NVMe drive",
        DeviceKind::Sata => "SATA drive",
        DeviceKind::Sas => "SAS drive",
        DeviceKind::Hdd => "hard disk",
        DeviceKind::Usb => "USB drive",
        DeviceKind::Ramdisk => "RAM disk",
    }
}

fn medium(part: &Part, device: &Device) -> HopSpec {
    let synthetic = (device.kind == DeviceKind::Ramdisk).then(|| "brd".to_owned());
    if device.read.is_some() || device.write.is_some() {
        let (read, write) = (fact(device.read, &part.given), fact(device.write, &part.given));
        let does = "nobody said what it carries in this direction".to_owned();
        return HopSpec::Given(GivenHop { kind: HopKind::Device, read, write, does });
    }
    let class = device.class.as_deref().and_then(|class| catalog().medium_class(class));
    if let (None, Some(class)) = (&device.model, class) {
        let rate = |megabytes| {
            Fact::known(BytesPerSec::from_mb(megabytes), format!("{} (class {})", part.given, class.name))
        };
        let (read, write) = (rate(class.read_megabytes_per_second), rate(class.write_megabytes_per_second));
        return HopSpec::Given(GivenHop { kind: HopKind::Device, read, write, does: class.name.clone() });
    }
    HopSpec::Device(DeviceHop {
        block: part.name.to_string(),
        model: fact(device.model.clone(), &part.given),
        size: fact(device.size, &part.given),
        rotational: fact(Some(device.kind == DeviceKind::Hdd), &part.given),
        is_hard_disk: device.kind == DeviceKind::Hdd,
        flash: None,
        synthetic,
    })
}

impl Device {
    /// Its own end of its PCIe link: as given, or as the catalogue says of its model.
    pub fn end(&self) -> LinkGiven {
        let known = self.model.as_deref().and_then(|model| catalog().medium(model));
        let generation = known.map(|medium| medium.generation).filter(|generation| *generation > 0);
        let lanes = known.map(|medium| medium.lanes).filter(|lanes| *lanes > 0).map(Lanes::new);
        let (generation, width) = (self.link.generation.or(generation), self.link.width.or(lanes));
        LinkGiven { generation, width, ..self.link }
    }
}

impl Interconnect {
    /// What data gets of all links in one direction: 0.8 of their raw rate, as measured on Skylake-SP, 34 of 41.6 GB/s
    /// (J. McCalpin; see [`crate::ceiling::uplink`]).
    pub fn carries(self) -> BytesPerSec {
        self.rate * f64::from(self.links) * 0.8
    }
}

/// The interface of a drive that is not on PCIe itself.
fn interface(part: &Part, device: &Device) -> Option<(String, HopSpec)> {
    let usual = match device.kind {
        DeviceKind::Nvme | DeviceKind::Ramdisk => return None,
        DeviceKind::Sata | DeviceKind::Hdd => 6e9,
        DeviceKind::Sas => 12e9,
        DeviceKind::Usb => 10e9,
    };
    let rate = device.line_rate.unwrap_or_else(|| BitsPerSec::new(usual));
    let (name, speed) = (part.name.to_string(), fact(Some(rate), &part.given));
    let (what, spec) = match device.kind {
        DeviceKind::Sas => ("SAS", HopSpec::Sas(Sas { phy_speeds: vec![rate], ..Sas::default() })),
        DeviceKind::Usb => {
            let driver = fact(Some("uas".to_owned()), &part.given);
            ("USB", HopSpec::Usb(Usb { device: name, speed, driver, ..Usb::default() }))
        }
        _ => ("SATA", HopSpec::Sata(Sata { port: name, speed, ..Sata::default() })),
    };
    Some((format!("{what} {rate} of {}", part.name), spec))
}

fn adapter_spec(part: &Part, adapter: &Adapter) -> HopSpec {
    let known = adapter.model.as_deref().and_then(find_adapter);
    let listed = known.map(|entry| BytesPerSec::from_mb(entry.megabytes_per_second));
    if adapter.rate.is_none() && adapter.model.is_none() {
        return HopSpec::Hba(ControllerHop { name: part.name.to_string(), ..ControllerHop::default() });
    }
    given(HopKind::Hba, adapter.rate.or(listed), part, "its link and its drives are hops of their own")
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.into_iter().chain(b).min()
}

/// One end of a link: what it could do (`own`) and what both do.
fn link_port(own: LinkGiven, both: LinkGiven, request: Option<Bytes>, given: &Source) -> PciDevice {
    let speed = |generation: Option<u8>| generation.and_then(GtPerSec::from_pcie_generation);
    let link = LinkEnd {
        current_speed: fact(speed(both.generation), given),
        max_speed: fact(speed(own.generation.or(both.generation)), given),
        current_width: fact(both.width, given),
        max_width: fact(own.width.or(both.width), given),
        ..LinkEnd::default()
    };
    let express = fact(both.payload.map(|payload| express(payload, request)), given);
    PciDevice { link, express, ..PciDevice::default() }
}

/// Max_Read_Request_Size of almost all drives (linux-pci, linux-nvme: 93 %).
const USUAL_REQUEST: Bytes = Bytes::new(512);

fn express(payload: Bytes, request: Option<Bytes>) -> Express {
    let sizes = [payload, payload, request.unwrap_or(USUAL_REQUEST)];
    Express { extended_tags: true, ..Express::new(PortType::Endpoint, sizes) }
}
