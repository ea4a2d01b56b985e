//! The functions of one text: what several outputs say of one is put together, and bus numbers tell who is above whom.

use std::collections::BTreeMap;

use narrows_base::fact::{Fact, Source};
use narrows_machine::Machine;
use narrows_machine::pci::{Buses, PciAddress, PciDevice, PortType};

use super::NEED;
use super::capability::closed;
use super::device::{Detail, FoundFunction};
use crate::capture::fill::{Fill, Than};
use crate::capture::{Gap, Lacks, Part, Rank, gap, gap_of};

/// More functions than any machine has: what is past them in one text is left out, to keep memory bounded.
pub(super) const MOST: usize = 20_000;
/// Links without a function are states of one, or of a few. More are what `grep` left of all functions of a machine, graphics cards
/// and bridges among them: nobody knows whose they are.
const MOST_UNNAMED: u8 = 4;
/// Missing ports that are named one by one.
const MOST_NAMED: usize = 8;

/// What has been found so far.
#[derive(Debug, Default)]
pub(super) struct Functions {
    devices: BTreeMap<PciAddress, PciDevice>,
    buses: BTreeMap<PciAddress, (u8, u8)>,
    dumped: BTreeMap<PciAddress, usize>,
    detail: Option<Detail>,
    unnamed: u8,
    left_out: bool,
}

impl Functions {
    /// Adds what a block said.
    pub(super) fn add(&mut self, mut found: FoundFunction) {
        if found.device.address.is_unnamed() {
            let Some(next) = self.unnamed.checked_add(1) else { return };
            self.unnamed = next;
            found.device.address = PciAddress::unnamed(next);
        }
        let address = found.device.address;
        if self.devices.len() >= MOST && !self.devices.contains_key(&address) {
            self.left_out = true;
            return;
        }
        self.detail = self.detail.max(Some(found.detail));
        // Bus numbers grow on the way down, so that no function is above itself.
        found.device.parent =
            found.device.parent.filter(|above| above.domain == address.domain && above.bus < address.bus);
        if let Some(buses) = found.buses.filter(|(first, _)| address.is_unnamed() || *first > address.bus) {
            self.buses.entry(address).or_insert(buses);
        }
        if found.dumped > 0 {
            self.dumped.insert(address, found.dumped);
        }
        match self.devices.get_mut(&address) {
            Some(device) => device.fill(found.device, Than::Again),
            None => {
                self.devices.insert(address, found.device);
            }
        }
    }

    /// The functions with the bridges above them, and what the text leaves open; nothing where there are none. `kind` names
    /// the output by how much it printed.
    pub(super) fn part(mut self, rank: Rank, kind: impl FnOnce(Detail) -> &'static str) -> Part {
        let Some(detail) = self.detail else { return Part::default() };
        if self.unnamed > MOST_UNNAMED {
            self.devices.retain(|address, _| !address.is_unnamed());
        }
        if self.devices.is_empty() {
            return Part::default();
        }
        self.find_parents();
        self.keep_buses();
        self.find_domain_owner();
        self.close_links();
        let gaps = self.gaps();
        Part {
            kind: Some(kind(detail)),
            rank,
            machine: Machine { pci: self.devices, ..Machine::default() },
            gaps,
        }
    }

    /// A function is below the bridge whose secondary bus it is on. Virtual functions may be on a later bus, which has
    /// no bridge of its own (Single Root I/O Virtualization 1.1, section 2.1.2).
    fn find_parents(&mut self) {
        let domain = |address: &PciAddress| if address.is_unnamed() { 0 } else { address.domain };
        let mut below = BTreeMap::new();
        for (bridge, (secondary, _)) in &self.buses {
            below.entry((domain(bridge), *secondary)).or_insert(*bridge);
        }
        for (address, device) in &mut self.devices {
            if device.parent.is_some() || address.is_unnamed() {
                continue;
            }
            let is_virtual = device.name.value().is_some_and(|name| name.contains("Virtual Function"));
            let before = below.range((address.domain, 0)..=(address.domain, address.bus)).next_back();
            let holds = |(key, bridge): (&(u32, u8), &PciAddress)| {
                let last = self.buses.get(bridge).map_or(0, |(_, last)| *last);
                (key.1 == address.bus || is_virtual && address.bus <= last).then_some(*bridge)
            };
            device.parent = before.and_then(holds).filter(|bridge| bridge != address);
        }
    }

    /// Another text may show what is behind a bridge of this one.
    fn keep_buses(&mut self) {
        for (address, (secondary, subordinate)) in &self.buses {
            if let Some(device) = self.devices.get_mut(address) {
                let buses = Buses { secondary: *secondary, subordinate: *subordinate };
                device.buses = Fact::known(buses, device.class.source().as_str());
            }
        }
    }

    /// The domains from `10000` on are made by Intel's VMD. Where there is one such function, it made them.
    fn find_domain_owner(&mut self) {
        const FIRST: u32 = 0x10000;
        let is_vmd = |device: &&PciDevice| {
            device.driver.value().is_some_and(|driver| driver == "vmd")
                || device.name.value().is_some_and(|name| name.contains("Volume Management Device"))
        };
        let mut owners = self.devices.values().filter(is_vmd).map(|device| device.address);
        let (Some(owner), None) = (owners.next(), owners.next()) else { return };
        for (address, device) in &mut self.devices {
            if address.domain >= FIRST && !address.is_unnamed() {
                device.domain_owner = Some(owner);
            }
        }
    }

    /// Where the capabilities were kept from us, so was the link; but functions on a root bus that are no ports have
    /// none.
    fn close_links(&mut self) {
        for device in self.devices.values_mut() {
            let Fact::Denied { source, need } = &device.express else { continue };
            let can_have_one = device.is_bridge() || device.parent.is_some() || device.address.bus != 0;
            if can_have_one && !device.link.is_present() {
                device.link = closed(source, need);
            }
        }
    }

    fn gaps(&self) -> Vec<Gap> {
        let dumped = |device: &PciDevice| self.dumped.get(&device.address).copied().unwrap_or_default();
        let mut gaps = gaps(&self.devices, |device| Dump {
            registers: dumped(device) >= 256,
            header: dumped(device) >= 64,
        });
        if self.left_out {
            let what = format!("PCI functions past the first {MOST}");
            gaps.push(gap(what, "lspci once for each file", Lacks::Other));
        }
        gaps
    }
}

/// What a hex dump beside the words tells of a function.
#[derive(Debug, Clone, Copy)]
struct Dump {
    registers: bool,
    header: bool,
}

fn gaps(devices: &BTreeMap<PciAddress, PciDevice>, dump: impl Fn(&PciDevice) -> Dump) -> Vec<Gap> {
    let total = devices.len();
    let those = |is: &dyn Fn(&PciDevice) -> bool| -> Vec<PciAddress> {
        devices.values().filter(|device| is(device)).map(|device| device.address).collect()
    };
    let closed = those(&|device| lacks_link(device) && !dump(device).registers);
    let unnumbered = those(&|device| device.id.value().is_none() && !dump(device).header);
    let missing = gap_of(Lacks::Links, closed, total).into_iter();
    let missing = missing.chain(gap_of(Lacks::Numbers, unnumbered, total));
    let alone = devices.values().filter(|device| is_alone(device)).take(MOST_NAMED);
    let alone = alone.map(|device| device.address);
    let alone = alone.map(|at| gap(format!("the port above {at}"), "sudo lspci -vvv", Lacks::Port(at)));
    missing.chain(alone).collect()
}

/// Whether it may have a link, and that is not known. Functions on a root bus that are no ports have none.
pub(in crate::capture) fn lacks_link(device: &PciDevice) -> bool {
    let has_none = matches!(&device.express, Fact::Absent { source } if !source.as_str().is_empty())
        || device.port.value() == Some(&PortType::RootComplexIntegrated);
    let is_off_the_root = device.address.bus != 0 || device.parent.is_some() || device.is_bridge();
    let is_unknown = device.express.value().is_none() && device.link.current_speed.value().is_none();
    is_off_the_root && is_unknown && !has_none
}

/// Whether it has a link to a port that the text does not show.
fn is_alone(device: &PciDevice) -> bool {
    let port = device.port.value().or_else(|| device.express.value().map(|express| &express.port));
    device.parent.is_none()
        && device.link.current_speed.value().is_some()
        && matches!(port, Some(PortType::Endpoint | PortType::UpstreamPort | PortType::PciBridge))
}

/// The need of a fact that `lspci` keeps from everyone but root.
pub(super) fn denied<T>(source: String) -> Fact<T> {
    Fact::Denied { source: Source::new(source), need: NEED.to_owned() }
}
