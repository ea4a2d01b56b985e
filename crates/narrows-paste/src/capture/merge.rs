//! Many parts, one machine.
//!
//! A known fact stays before a missing one, and one of a higher [`Rank`] before one of a lower. Of two sources that are
//! believed alike the first stays, with one exception: two states of the same link. Links do not train better than they
//! can, so the worse state is what there is to explain, and the better one is kept beside it as proof
//! ([`PciDevice::best_link`](narrows_machine::pci::PciDevice::best_link)).

use std::collections::{BTreeMap, BTreeSet};

use narrows_machine::Machine;
use narrows_machine::pci::{PciAddress, PciDevice};

use super::fill::{Fill, Than};
use super::{Captured, Gap, Part, Rank, Recognised, gap_left};

/// A machine that grows with each part that is added. Parts are united at once, so that thousands of them take no more
/// room than the machine that they describe.
#[derive(Debug, Default)]
pub struct Merger {
    /// What each rank says, from the lowest.
    ranks: [Machine; 4],
    texts: Vec<Recognised>,
    gaps: BTreeSet<Gap>,
    measured: Vec<String>,
    /// Whether more was told of than any machine has, and left out.
    pub(super) is_cut: bool,
}

impl Merger {
    /// Adds what a reader found in the text that is called `name`.
    pub fn add(&mut self, name: &str, part: Part) {
        if let Some(kind) = part.kind {
            self.note(name, kind);
        }
        self.gaps.extend(part.gaps);
        if let Some(machine) = self.ranks.get_mut(part.rank as usize) {
            machine.fill(part.machine, Than::Same);
            self.is_cut |= bound(machine);
        }
    }

    /// Tells what results in the same texts were measured on: the target of each measurement, in the order of the text.
    pub fn measured(&mut self, targets: Vec<String>) {
        self.measured = targets;
    }

    /// Whether nothing was added.
    pub const fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The machine that all parts describe.
    pub fn finish(self) -> Machine {
        let mut machine = Machine::default();
        // From the highest rank down: what is known already stays.
        for lower in self.ranks.into_iter().rev() {
            machine.fill(lower, Than::Less);
        }
        unnamed_twins(&mut machine.pci);
        parents(&mut machine.pci);
        super::join::take_measured_drive(&mut machine, &self.measured);
        super::join::join(&mut machine);
        let mut captured = Captured { texts: self.texts, gaps: Vec::new() };
        let left = self
            .gaps
            .into_iter()
            .filter_map(|gap| gap_left(gap, &machine, |source| captured.is_past(source)));
        // Two texts may lack the same.
        let left: BTreeSet<Gap> = left.collect();
        captured.gaps = left.into_iter().collect();
        machine.captured = Some(captured);
        machine
    }

    fn note(&mut self, name: &str, kind: &'static str) {
        match self.texts.last_mut().filter(|text| text.name == name) {
            Some(text) if text.kinds.contains(&kind) => {}
            Some(text) => text.kinds.push(kind),
            None => self.texts.push(Recognised { name: name.to_owned(), kinds: vec![kind] }),
        }
    }
}

/// Puts parts together.
pub fn merge(parts: Vec<Part>) -> Machine {
    let mut merger = Merger::default();
    for part in parts {
        merger.add("", part);
    }
    merger.finish()
}

// A rank is an index: the array has a place for each.
const _: () = assert!(Rank::Raw as usize == 3);

/// A bridge whose first line was left out of one text, so that it has no address, and is in another: the one with the
/// same buses behind it and the same greatest link.
fn unnamed_twins(pci: &mut BTreeMap<PciAddress, PciDevice>) {
    let unnamed: Vec<PciAddress> = pci.keys().filter(|address| address.is_unnamed()).copied().collect();
    for address in unnamed {
        let Some(device) = pci.get(&address) else { continue };
        let is_twin = |other: &&PciDevice| {
            !other.address.is_unnamed()
                && device.buses.value().is_some()
                && other.buses.value() == device.buses.value()
                && other.link.max_speed.value() == device.link.max_speed.value()
                && other.link.max_width.value() == device.link.max_width.value()
        };
        let mut twins = pci.values().filter(is_twin).map(|twin| twin.address);
        let (Some(twin), None) = (twins.next(), twins.next()) else { continue };
        if let (Some(device), Some(twin)) = (pci.remove(&address), pci.get_mut(&twin)) {
            twin.fill(device, Than::Same);
        }
    }
}

/// Gives each function the bridge above it: the one whose secondary bus it is on (PCI-to-PCI Bridge Architecture
/// Specification 1.2, section 3.2.5.3). One text may name the bridges, another what is behind them.
fn parents(pci: &mut BTreeMap<PciAddress, PciDevice>) {
    let bridges: BTreeMap<(u32, u8), PciAddress> = pci
        .values()
        .filter_map(|bridge| {
            let buses = bridge.buses.value()?;
            // Buses are numbered downwards: one that leads to its own bus or back up was never set up.
            (buses.secondary > bridge.address.bus)
                .then_some(((bridge.address.domain, buses.secondary), bridge.address))
        })
        .collect();
    for device in pci.values_mut().filter(|device| device.parent.is_none()) {
        device.parent = bridges.get(&(device.address.domain, device.address.bus)).copied();
    }
    lone_pairs(pci);
}

/// People paste a function and the port above it with their link lines only. Both ends of a link say the same of its
/// state, so where just one port without bus numbers fits a function, it is the other end.
fn lone_pairs(pci: &mut BTreeMap<PciAddress, PciDevice>) {
    let taken: BTreeSet<PciAddress> = pci.values().filter_map(|device| device.parent).collect();
    let ports: Vec<PciDevice> = pci
        .values()
        .filter(|port| port.is_bridge() && !port.address.is_unnamed() && !taken.contains(&port.address))
        .filter(|port| port.buses.value().is_none())
        .cloned()
        .collect();
    let fits = |port: &PciDevice, device: &PciDevice| {
        let (one, two) = (&port.link, &device.link);
        port.address.domain == device.address.domain
            && port.address.bus < device.address.bus
            && one.current_speed.value().is_some_and(|speed| two.current_speed.value() == Some(speed))
            && one.current_width.value().is_some_and(|width| two.current_width.value() == Some(width))
    };
    let mut pairs: BTreeMap<PciAddress, Vec<PciAddress>> = BTreeMap::new();
    for device in pci.values().filter(|device| device.parent.is_none() && !device.address.is_unnamed()) {
        let mut above = ports.iter().filter(|port| fits(port, device));
        if let (Some(port), None) = (above.next(), above.next()) {
            pairs.entry(port.address).or_default().push(device.address);
        }
    }
    for (port, below) in pairs {
        // The functions of one card are below one port; of two cards only one can be.
        let card = below.first().map(|device| device.card());
        let is_one_card = below.iter().all(|device| Some(device.card()) == card);
        if is_one_card {
            for address in below {
                if let Some(device) = pci.get_mut(&address) {
                    device.parent = Some(port);
                }
            }
        }
    }
}

/// More functions, disks, interfaces or mounts than any machine has: paths are compared with each other, which a text
/// without end must not turn into work without end.
pub(super) const MOST_OF_A_KIND: usize = 8192;

/// Leaves out what is beyond any machine; whether there was anything.
fn bound(machine: &mut Machine) -> bool {
    let Machine {
        pci, block, nics, links, mounts, usb, affinities, log, zfs, health, adapters, loads, ..
    } = machine;
    let is_larger = cut(pci) | cut(block) | cut(nics) | cut(links) | cut(usb) | cut(affinities);
    let is_larger = is_larger | cut(health) | cut(adapters) | cut(loads);
    let is_longer = mounts.len().max(log.len()).max(zfs.len()) > MOST_OF_A_KIND;
    mounts.truncate(MOST_OF_A_KIND);
    log.truncate(MOST_OF_A_KIND);
    zfs.truncate(MOST_OF_A_KIND);
    is_longer || is_larger
}

fn cut<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>) -> bool {
    let first_beyond = map.keys().nth(MOST_OF_A_KIND).cloned();
    first_beyond.is_some_and(|key| !map.split_off(&key).is_empty())
}

#[cfg(test)]
mod tests;
