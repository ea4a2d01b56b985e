//! A machine that was inspected as a description: what `narrows --to-path` writes.
//!
//! Links are written as they will run under load (see [`crate::ceiling::pcie`]), media by model, so that the ceilings of the
//! description are those of the machine. What has no place in a description is left out and noted.

use std::collections::BTreeMap;

use crate::ceiling::pcie;
use crate::path::file::{
    Attachment, Cache, Chipset, Crypt, Device, DeviceKind, Filesystem, Host, LinkGiven, Name, Part, PartKind,
    Raid, RaidKind, Slot, Switch, System, Volume, Workload, free_name,
};
use crate::path::{
    CryptHop, DeviceHop, Hop, HopKind, HopSpec, LinkHop, Path, RaidHop, SocketHop, Target, UplinkHop, build,
};
use narrows_base::catalog::catalog;
use narrows_base::fact::Source;
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_machine::Machine;

/// The name of the host.
const HOST: &str = "host";

/// A class for drives that the catalogue does not know.
const UNKNOWN_DRIVE: &str = "consumer-tlc";

/// The machine behind these paths as a system, and what of it could not be said.
pub fn describe(machine: &Machine, paths: &[Path]) -> (System, Vec<String>) {
    let mut writer =
        Writer { machine, host: host(machine), parts: Vec::new(), known: BTreeMap::new(), notes: Vec::new() };
    let mut workloads = Vec::new();
    for path in paths {
        let Some(target) = path.hops.get(1).and_then(|top| writer.layer(path, top)) else {
            writer
                .notes
                .push(format!("{} is left out: what is behind it is not on this machine", path.target));
            continue;
        };
        let name = Name::new(format!("read-{target}"));
        if workloads.iter().all(|known: &Workload| known.name != name) {
            workloads.push(Workload { name, ..Workload::reading(target.as_str()) });
        }
    }
    let mut parts =
        vec![Part { name: Name::new(HOST), given: Source::default(), kind: PartKind::Host(writer.host) }];
    parts.extend(writer.parts);
    let name =
        machine.cpus.model.get().map_or_else(|| "a machine".to_owned(), |cpu| format!("machine with {cpu}"));
    let source = "narrows --to-path".to_owned();
    let system = System { name, source, parts, workloads, ..System::default() };
    (system, writer.notes)
}

fn host(machine: &Machine) -> Host {
    Host {
        cpu: machine.cpus.model.get(),
        sockets: machine.cpus.sockets.get().unwrap_or(1).max(1),
        cores: machine.cpus.cores.get().filter(|cores| *cores > 0),
        memory: machine.cpus.memory.get(),
        ..Host::default()
    }
}

struct Writer<'m> {
    machine: &'m Machine,
    host: Host,
    parts: Vec<Part>,
    /// The parts that hops have become, by id.
    known: BTreeMap<String, Name>,
    notes: Vec<String>,
}

/// Where the way from a drive to memory has got to, seen from memory.
#[derive(Debug, Clone)]
enum DescribedPlace {
    On(Attachment),
    Switch(Name),
}

impl DescribedPlace {
    fn socket(socket: u32) -> Self {
        Self::On(Attachment::Socket { host: Name::new(HOST), socket })
    }

    const fn is_socket(&self) -> bool {
        matches!(self, Self::On(Attachment::Socket { .. }))
    }

    fn upstream(&self) -> Name {
        match self {
            Self::On(on) => on.name().clone(),
            Self::Switch(name) => name.clone(),
        }
    }
}

impl Writer<'_> {
    /// The part that a layer of software or a drive becomes, with everything below it. `None` for what cannot be said.
    fn layer(&mut self, path: &Path, hop: &Hop) -> Option<Name> {
        if let Some(known) = self.known.get(hop.id.as_str()) {
            return Some(known.clone());
        }
        let below: Vec<&Hop> =
            path.hops.iter().filter(|it| it.above.as_ref() == Some(&hop.id) && is_layer(it.kind())).collect();
        if hop.kind() == HopKind::BlockQueue {
            return below.first().and_then(|below| self.layer(path, below));
        }
        if let HopSpec::Device(device) = &hop.spec {
            return self.device(hop, device);
        }
        let members: Vec<Name> = below.iter().filter_map(|below| self.layer(path, below)).collect();
        let kind = match &hop.spec {
            HopSpec::Raid(raid) => PartKind::Raid(array(raid, members)?),
            HopSpec::Crypt(crypt) => PartKind::Crypt(mapping(crypt, members.first()?.clone())),
            HopSpec::Volume(volume) => {
                let stripe = volume.layout.chunk();
                (!members.is_empty()).then_some(PartKind::Volume(Volume { stripe, members }))?
            }
            HopSpec::Cache(_) => {
                self.notes.push(format!("{}: the share of hits is a guess; give it", hop.name));
                let [cache, .., backing] = members.as_slice() else { return None };
                PartKind::Cache(Cache {
                    cache: cache.clone(),
                    backing: backing.clone(),
                    hit: 0.9,
                    writeback: false,
                })
            }
            HopSpec::Filesystem(filesystem) => (!members.is_empty()).then(|| {
                PartKind::Filesystem(Filesystem {
                    kind: filesystem.fstype.clone(),
                    members,
                    options: filesystem.options.clone(),
                    ..Filesystem::default()
                })
            })?,
            _ => return None,
        };
        Some(self.add(hop, kind))
    }

    fn device(&mut self, hop: &Hop, device: &DeviceHop) -> Option<Name> {
        let own = build::path(self.machine, &Target::Block(device.block.clone()))?;
        let from = own.hops.iter().position(|it| it.id == hop.id)? + 1;
        let chain: Vec<&Hop> = own.hops.get(from..)?.iter().collect();
        let mut part = Device::new(kind_of(device, &chain), HOST);
        part.model = device.model.get();
        part.size = device.size.get();
        let listed = part.model.as_deref().is_some_and(|model| catalog().medium(model).is_some());
        if part.kind == DeviceKind::Nvme && !listed {
            part.class = Some(UNKNOWN_DRIVE.to_owned());
            part.model = None;
            self.notes.push(format!("{}: its rates are those of a class; give read and write", hop.name));
        }
        let (place, link) = self.climb(&chain);
        part.upstream = place.upstream();
        part.link = link;
        for it in &chain {
            match &it.spec {
                HopSpec::Sata(sata) => part.line_rate = sata.speed.get(),
                HopSpec::Sas(sas) => part.line_rate = sas.phy_speeds.first().copied(),
                HopSpec::Usb(usb) => part.line_rate = usb.speed.get(),
                _ => {}
            }
        }
        Some(self.add(hop, PartKind::Device(part)))
    }

    /// Makes parts of the way from memory down to a drive; its place, and its own end of the link.
    fn climb(&mut self, chain: &[&Hop]) -> (DescribedPlace, LinkGiven) {
        let mut place = DescribedPlace::socket(0);
        let mut link = LinkGiven::default();
        let mut hops = chain.iter().rev().peekable();
        while let Some(hop) = hops.next() {
            match &hop.spec {
                HopSpec::Socket(socket) => place = DescribedPlace::socket(self.socket(socket)),
                // A chipset whose uplink is a PCIe link of its own has no slot above it.
                HopSpec::Link(wire)
                    if place.is_socket() && hops.peek().is_some_and(|it| shows_uplink(it)) =>
                {
                    link = state(wire).unwrap_or_default();
                }
                HopSpec::Chipset(uplink) if place.is_socket() => {
                    place = self.chipset(hop, uplink, &place, link);
                    link = LinkGiven::default();
                }
                HopSpec::Link(wire) => {
                    let Some(state) = state(wire) else { continue };
                    link = state;
                    place = self.slot(hop, state, place);
                }
                // A second chipset behind the first carries what a switch there would.
                HopSpec::Switch(_) | HopSpec::Chipset(_) => {
                    let upstream = place.upstream();
                    let switch = Switch { upstream, uplink: link, ..Switch::default() };
                    place = DescribedPlace::Switch(self.add(hop, PartKind::Switch(switch)));
                    link = LinkGiven::default();
                }
                _ => {}
            }
        }
        (place, link)
    }

    fn socket(&mut self, socket: &SocketHop) -> u32 {
        self.host.sockets =
            self.host.sockets.max(socket.device_node.max(socket.reader_node).saturating_add(1));
        self.host.processor = socket.platform.as_ref().map(|platform| platform.name.clone());
        if socket.device_node != socket.reader_node {
            self.host.reader_socket = Some(socket.reader_node);
        }
        socket.device_node
    }

    /// The chipset, and the link that leads to it where that can be seen.
    fn chipset(
        &mut self,
        hop: &Hop,
        uplink: &UplinkHop,
        place: &DescribedPlace,
        seen: LinkGiven,
    ) -> DescribedPlace {
        let Some(entry) = uplink.chipset.as_ref() else { return place.clone() };
        let socket =
            if let DescribedPlace::On(Attachment::Socket { socket, .. }) = place { *socket } else { 0 };
        let uplink = if entry.visible_link { seen } else { LinkGiven::default() };
        let chipset = Chipset { host: Name::new(HOST), socket, model: Some(entry.name.clone()), uplink };
        DescribedPlace::On(Attachment::Chipset { chipset: self.add(hop, PartKind::Chipset(chipset)) })
    }

    /// The slot that a link hangs in. Below a switch there is none: its port is the place.
    fn slot(&mut self, hop: &Hop, link: LinkGiven, place: DescribedPlace) -> DescribedPlace {
        let DescribedPlace::On(on) = place else { return place };
        let slot = Slot { on, link, connector: None, form: None, bifurcation: None };
        DescribedPlace::On(Attachment::Slot { slot: self.add(hop, PartKind::Slot(slot)) })
    }

    fn add(&mut self, hop: &Hop, kind: PartKind) -> Name {
        if let Some(known) = self.known.get(hop.id.as_str()) {
            return known.clone();
        }
        let name = self.free_name(hop);
        self.known.insert(hop.id.to_string(), name.clone());
        self.parts.push(Part { name: name.clone(), given: Source::default(), kind });
        name
    }

    /// The hop's id as a name: `link:0000:02:00.0` becomes `slot-0000-02-00-0`.
    fn free_name(&self, hop: &Hop) -> Name {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let plain: String = hop.id.key().chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
        let plain = plain.trim_matches('-');
        let base = match hop.kind() {
            HopKind::Link => format!("slot-{plain}"),
            HopKind::Filesystem => format!("fs-{}", if plain.is_empty() { "root" } else { plain }),
            kind if kind.is_layer() && !plain.is_empty() => plain.to_owned(),
            kind => format!("{kind}-{plain}"),
        };
        let base: String = base.chars().take(56).collect();
        let taken = |name: &str| name == HOST || self.parts.iter().any(|part| part.name.as_str() == name);
        Name::new(free_name(&base, taken))
    }
}

/// Whether a hop is a chipset whose uplink is a PCIe link that is a hop of its own.
fn shows_uplink(hop: &Hop) -> bool {
    let HopSpec::Chipset(uplink) = &hop.spec else { return false };
    uplink.chipset.as_ref().is_some_and(|entry| entry.visible_link)
}

fn is_layer(kind: HopKind) -> bool {
    kind.is_layer() || kind == HopKind::BlockQueue
}

fn array(raid: &RaidHop, members: Vec<Name>) -> Option<Raid> {
    let copies = raid.md.layout.get().map(|layout| {
        let [near, far, ..] = layout.to_le_bytes();
        u32::from(near) * u32::from(far)
    });
    (!members.is_empty()).then_some(Raid {
        kind: RaidKind::Md(raid.level?),
        members,
        chunk: raid.md.chunk.get(),
        copies: copies.filter(|copies| *copies > 0 && raid.level == Some(crate::path::RaidLevel::Raid10)),
        resync: raid.md.sync_speed.get().filter(|rate: &BytesPerSec| rate.get() > 0.0),
        stripe_threads: raid.md.group_threads.get().filter(|threads| *threads > 0),
    })
}

fn mapping(crypt: &CryptHop, on: Name) -> Crypt {
    let cipher = crypt.cipher.value();
    Crypt {
        on,
        cipher: cipher.map(|it| it.cipher.clone()),
        key_bits: cipher.map(|it| it.key_bits).filter(|bits| (128..=1024).contains(bits)),
        decrypt: cipher.map(|it| it.decrypt),
        encrypt: cipher.map(|it| it.encrypt),
        cores: Some(crypt.cores.max(1)),
        // The rate was measured with the sectors of this mapping; it needs no correction for them.
        sector_size: None,
        workqueues: true,
    }
}

fn kind_of(device: &DeviceHop, chain: &[&Hop]) -> DeviceKind {
    let crosses = |kind: HopKind| chain.iter().any(|hop| hop.kind() == kind);
    match device.synthetic.as_deref() {
        Some("brd" | "zram") => DeviceKind::Ramdisk,
        _ if crosses(HopKind::Usb) => DeviceKind::Usb,
        _ if crosses(HopKind::Sas) => DeviceKind::Sas,
        _ if crosses(HopKind::Sata) && device.is_hard_disk => DeviceKind::Hdd,
        _ if crosses(HopKind::Sata) => DeviceKind::Sata,
        _ => DeviceKind::Nvme,
    }
}

/// A link as it will run under load, with the packets in force.
fn state(link: &LinkHop) -> Option<LinkGiven> {
    let (speed, width) = pcie::state(link)?;
    let ends = || std::iter::once(&link.device).chain(&link.port).filter_map(|port| port.express.value());
    let sane = |size: Bytes| (128..=4096).contains(&size.get());
    let request = link.device.express.value().map(|express| express.max_read_request);
    Some(LinkGiven {
        generation: speed.pcie_generation(),
        width: Some(width),
        payload: ends().map(|express| express.max_payload).filter(|size| sane(*size)).min(),
        read_request: request.filter(|size| sane(*size)),
    })
}
