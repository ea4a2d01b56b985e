//! Field by field: what of each type is filled from another source that is believed less.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::fact::{Asked, Fact, Source};
use narrows_machine::Machine;
use narrows_machine::block::{
    Bcache, BlockDevice, BlockKind, DmDevice, LoopDevice, MdArray, NvmeFabric, Queue, Remote, Sas, Sata,
    Transport, Usb,
};
use narrows_machine::captured::{Adapter, AdapterDrive, AdapterVolume, Affinity, Connection};
use narrows_machine::cpu::{Cpus, IrqLine, NumaNode};
use narrows_machine::dmi::{Dmi, Slot};
use narrows_machine::health::DriveHealth;
use narrows_machine::mount::Mount;
use narrows_machine::nic::Nic;
use narrows_machine::pci::{Aer, Downgraded, LinkEnd, LinkState, PciDevice};
use narrows_machine::usb::UsbDevice;
use narrows_machine::zfs::ZfsPool;

/// How far the other source is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Than {
    /// As far as this one.
    Same,
    /// Less than this one.
    Less,
    /// As far as this one: it is another output of the same tool in the same text.
    Again,
}

/// Something that can take from another of its kind what it lacks.
pub(super) trait Fill {
    /// Takes from `other` what is missing here.
    fn fill(&mut self, other: Self, than: Than);
}

impl<T> Fill for Fact<T> {
    fn fill(&mut self, other: Self, than: Than) {
        self.take_better(other, if than == Than::Again { Asked::Again } else { Asked::Elsewhere });
    }
}

impl<T> Fill for Option<T> {
    fn fill(&mut self, other: Self, _: Than) {
        if self.is_none() {
            *self = other;
        }
    }
}

impl Fill for String {
    fn fill(&mut self, other: Self, _: Than) {
        if self.is_empty() {
            *self = other;
        }
    }
}

/// A flag is set only where something says so.
impl Fill for bool {
    fn fill(&mut self, other: Self, _: Than) {
        *self |= other;
    }
}

/// A list whose order means something is taken whole.
impl<T> Fill for Vec<T> {
    fn fill(&mut self, other: Self, _: Than) {
        if self.is_empty() {
            *self = other;
        }
    }
}

impl<K: Ord, V: Fill> Fill for BTreeMap<K, V> {
    fn fill(&mut self, other: Self, than: Than) {
        for (key, value) in other {
            match self.get_mut(&key) {
                Some(known) => known.fill(value, than),
                None => _ = self.insert(key, value),
            }
        }
    }
}

/// Adds what a list does not have yet.
pub(super) fn unite<T: Ord + Clone>(list: &mut Vec<T>, other: Vec<T>) {
    let known: BTreeSet<T> = list.iter().cloned().collect();
    list.extend(other.into_iter().filter(|item| !known.contains(item)));
}

/// Fills a thing field by field. Every field must be named: `fills` those that fill themselves, `unites` lists that are
/// sets, `keeps` those that are what the thing is known by, `with` those that a function of their own fills.
macro_rules! fill_fields {
    ($type:ident($this:ident, $other:expr, $than:expr)
        fills { $($field:ident),* $(,)? }
        $(unites { $($set:ident),* })?
        $(keeps { $($key:ident),* })?
        $(with { $($own:ident: $fill:ident),* $(,)? })?
    ) => {
        let $type { $($field,)* $($($set,)*)? $($($key: _,)*)? $($($own,)*)? } = $other;
        $(Fill::fill(&mut $this.$field, $field, $than);)*
        $($(unite(&mut $this.$set, $set);)*)?
        $($($fill(&mut $this.$own, $own, $than);)*)?
    };
}

/// Makes a type fill itself field by field.
macro_rules! fill_by_field {
    ($type:ident $($fields:tt)*) => {
        impl Fill for $type {
            fn fill(&mut self, other: Self, than: Than) {
                fill_fields!($type(self, other, than) $($fields)*);
            }
        }
    };
}

fill_by_field!(Machine
    fills { kernel, cpus, dmi, memory_modules, pci, interrupts, block, nics, ciphers, usb, links, affinities, health,
            adapters, loads, kept }
    keeps { captured }
    with { slots: fill_slots, mounts: fill_mounts, zfs: fill_pools, cipher_benchmarks: append, log: append });

/// Two listings of the same slots may each be a part. Listings of different kinds of tool word the same slot
/// differently, so that those of a lower rank are not added to known ones.
fn fill_slots(slots: &mut Fact<Vec<Slot>>, other: Fact<Vec<Slot>>, than: Than) {
    match (slots, other) {
        (Fact::Known { value, .. }, Fact::Known { value: other, .. }) if than == Than::Same => {
            for slot in other {
                if !value.contains(&slot) && value.len() < MOST_SLOTS {
                    value.push(slot);
                }
            }
        }
        (slots, other) => slots.fill(other, than),
    }
}

/// More slots than any machine has; what a hostile text lists beyond is not united.
const MOST_SLOTS: usize = 256;

/// Fills the entries of a list that are the same by `key`, and adds the others.
fn fill_by<T: Fill, K: Ord>(list: &mut Vec<T>, other: Vec<T>, than: Than, key: impl Fn(&T) -> K) {
    if list.is_empty() {
        *list = other;
        return;
    }
    let mut places: BTreeMap<K, usize> = list.iter().enumerate().map(|(at, item)| (key(item), at)).collect();
    for item in other {
        let at = *places.entry(key(&item)).or_insert(list.len());
        match list.get_mut(at) {
            Some(known) => known.fill(item, than),
            None => list.push(item),
        }
    }
}

fn fill_mounts(mounts: &mut Vec<Mount>, other: Vec<Mount>, than: Than) {
    fill_by(mounts, other, than, |mount| mount.point.clone());
}

fn fill_pools(pools: &mut Vec<ZfsPool>, other: Vec<ZfsPool>, than: Than) {
    fill_by(pools, other, than, |pool| pool.name.clone());
}

fn fill_nodes(nodes: &mut Vec<NumaNode>, other: Vec<NumaNode>, than: Than) {
    fill_by(nodes, other, than, |node| node.id);
    nodes.sort_by_key(|node| node.id);
}

fn append<T>(list: &mut Vec<T>, other: Vec<T>, _: Than) {
    list.extend(other);
}

fill_by_field!(Cpus
    fills { model, signature, online, cores, sockets, memory, hypervisor }
    unites { flags }
    with { nodes: fill_nodes });

/// A function is filled from another only when both may be the same card: two texts of two machines, or from before and
/// after a card was replaced, show different ids at one address.
impl Fill for PciDevice {
    fn fill(&mut self, mut other: Self, than: Than) {
        match than {
            Than::Again if link_weight(&other.link) > link_weight(&self.link) => {
                std::mem::swap(&mut self.link, &mut other.link);
            }
            Than::Again => {}
            _ if self.id.value().is_some_and(|id| other.id.value().is_some_and(|other| other != id)) => {
                return;
            }
            Than::Same => keep_worse(self, &mut other),
            Than::Less => {}
        }
        fill_fields!(PciDevice(self, other, than)
            fills { id, name, board, wire, port, acs, class, parent, domain_owner, driver, link, express, numa_node,
                    local_cpus, iommu_group, power_state, slot, buses, best_link }
            unites { interrupts }
            keeps { address }
            with { aer: fill_errors });
    }
}

/// How much a view of a link tells.
fn link_weight(link: &LinkEnd) -> u8 {
    fn weight<T>(fact: &Fact<T>) -> u8 {
        fact.weight(Asked::Again)
    }
    weight(&link.current_speed)
        + weight(&link.current_width)
        + weight(&link.max_speed)
        + weight(&link.max_width)
}

/// Sees to it that `kept`, into which `other` is filled, has the worse of the two states of its link, and remembers the
/// better. Nothing changes unless both say at which speed and width the link ran, or one of them and both agree on which.
fn keep_worse(kept: &mut PciDevice, other: &mut PciDevice) {
    let (Some(one), Some(two)) = (link_rate(kept), link_rate(other)) else { return };
    if one != two {
        if two < one {
            std::mem::swap(&mut kept.link.current_speed, &mut other.link.current_speed);
            std::mem::swap(&mut kept.link.current_width, &mut other.link.current_width);
            std::mem::swap(&mut kept.express, &mut other.express);
        }
        remember_link(kept, link_state(other));
    }
    let before = other.best_link.take();
    remember_link(kept, before);
}

/// Millions of transfers per second over all lanes.
fn link_rate(device: &PciDevice) -> Option<u64> {
    let (speed, width) = (device.link.current_speed.value()?, device.link.current_width.value()?);
    Some(u64::from(speed.mega()) * u64::from(width.get()))
}

fn link_state(device: &PciDevice) -> Option<LinkState> {
    let link = &device.link;
    let source = match &link.current_speed {
        Fact::Known { source, .. } => source.clone(),
        _ => link.current_width.source().clone(),
    };
    Some(LinkState { speed: link.current_speed.get()?, width: link.current_width.get()?, source })
}

/// Keeps the best state that was seen.
fn remember_link(device: &mut PciDevice, seen: Option<LinkState>) {
    let rate = |state: &LinkState| u64::from(state.speed.mega()) * u64::from(state.width.get());
    let known = device.best_link.as_ref().map(rate);
    if let Some(seen) = seen.filter(|seen| known.is_none_or(|known| rate(seen) > known)) {
        device.best_link = Some(seen);
    }
}

fill_by_field!(LinkEnd fills { current_speed, max_speed, current_width, max_width, downgraded });
fill_by_field!(Downgraded fills { speed, width });
fill_by_field!(UsbDevice
    fills { name, id, product, speed, version, most_speed, class, driver, pci } keeps { address });

/// Counts of errors only grow, so of two that are believed alike the greater is the later.
fn fill_errors(errors: &mut Fact<Aer>, other: Fact<Aer>, than: Than) {
    let (Fact::Known { value, .. }, Fact::Known { value: other, .. }) = (&mut *errors, &other) else {
        return errors.fill(other, than);
    };
    let kinds = [
        (&mut value.correctable, &other.correctable),
        (&mut value.nonfatal, &other.nonfatal),
        (&mut value.fatal, &other.fatal),
    ];
    for (counts, others) in kinds {
        for (name, count) in others {
            let known = counts.entry(name.clone()).or_insert(*count);
            if than == Than::Same {
                *known = (*known).max(*count);
            }
        }
    }
}

impl Fill for BlockKind {
    fn fill(&mut self, other: Self, than: Than) {
        match (self, other) {
            (Self::Md(md), Self::Md(other)) => md.fill(*other, than),
            (Self::Dm(dm), Self::Dm(other)) => dm.fill(other, than),
            (Self::Bcache(cache), Self::Bcache(other)) => cache.fill(other, than),
            (Self::Loop(file), Self::Loop(other)) => file.fill(other, than),
            (Self::NvmeMultipath(paths), Self::NvmeMultipath(other)) => unite(paths, other),
            // A plain disk is what anything is taken for that says no more.
            (kind @ Self::Disk, other) => *kind = other,
            _ => {}
        }
    }
}

impl Fill for Transport {
    fn fill(&mut self, other: Self, than: Than) {
        match (self, other) {
            (Self::Sata(sata), Self::Sata(other)) => sata.fill(other, than),
            (Self::Sas(sas), Self::Sas(other)) => sas.fill(other, than),
            (Self::Usb(usb), Self::Usb(other)) => usb.fill(other, than),
            (Self::NvmeFabric(fabric), Self::NvmeFabric(other)) => fabric.fill(other, than),
            (Self::Iscsi(remote), Self::Iscsi(other)) => remote.fill(other, than),
            (Self::Virtio { pci, .. }, Self::Virtio { pci: other, .. })
            | (Self::Other { pci, .. }, Self::Other { pci: other, .. }) => pci.fill(other, than),
            (Self::Mmc { pci, mode }, Self::Mmc { pci: other, mode: said }) => {
                pci.fill(other, than);
                mode.fill(said, than);
            }
            (_, Self::None) => {}
            (carrier @ (Self::None | Self::Other { .. }), other) => *carrier = other,
            _ => {}
        }
    }
}

fill_by_field!(Adapter fills { model, pci, drives, volumes, lacks_cache });

fill_by_field!(AdapterDrive
    fills { state, group, interface, turns, model, size, link, most, predicted_failures });

fill_by_field!(AdapterVolume fills { level, state, size, disk });

fill_by_field!(Affinity fills { node, cpus, connections, address });

/// The first text that tells of a connection is believed.
impl Fill for (Connection, Source) {
    fn fill(&mut self, _: Self, _: Than) {}
}

fill_by_field!(DriveHealth fills { temperature, warning, smart, ata });

fill_by_field!(NumaNode fills { cpus, memory, distances, socket } keeps { id });

fill_by_field!(Dmi fills { system_vendor, product, board_vendor, board, bios_version, bios_date, smbios });

fill_by_field!(BlockDevice
    fills { number, size, partition_of, start, kind, transport, model, serial, firmware, read_only, removable, queue }
    unites { slaves, holders } keeps { name });

fill_by_field!(Queue
    fills { scheduler, requests, hardware_queues, max_request, logical_block, physical_block, read_ahead, rotational,
            write_cache });

fill_by_field!(MdArray
    fills { level, raid_disks, chunk, layout, degraded, sync_action, sync_speed, sync_done, sync_left, bitmap,
            members, group_threads });

fill_by_field!(DmDevice fills { name, owner, table });

fill_by_field!(Bcache fills { mode, state, sequential_cutoff, hit_ratio, backing } unites { caches });

fill_by_field!(LoopDevice fills { file, direct });

fill_by_field!(Sata fills { port, speed, port_speed, drive_speed, pci });

fill_by_field!(Sas fills { phy_speeds, driver, hidden, uplink_phy_speeds, expander, pci });

fill_by_field!(Usb fills { device, speed, version, most_speed, root_hub_speed, driver, pci });

fill_by_field!(NvmeFabric fills { controller, transport, remote, queues });

fill_by_field!(Remote fills { address, port, interface });

fill_by_field!(Nic fills { speed, most_speed, partner_speed, offered_speed, duplex, state, mtu, driver, pci, is_virtual } unites { lower } keeps { name });

fill_by_field!(Mount
    fills { fstype, source, options, root, remote, connections } unites { devices } keeps { point, number });

fill_by_field!(ZfsPool fills { state, scan, vdevs, errors, lost } keeps { name });

fill_by_field!(IrqLine fills { counts, name });

/// A count of something is taken whole.
impl Fill for u64 {
    fn fill(&mut self, _: Self, _: Than) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_fact_beats_a_missing_one_and_a_reason_beats_none() {
        let denied =
            || Fact::Denied { source: narrows_base::fact::Source::new("a:1"), need: "root".to_owned() };
        let mut fact = Fact::<u32>::default();
        fact.fill(Fact::absent("b:1"), Than::Less);
        assert_eq!(fact, Fact::absent("b:1"));
        fact.fill(denied(), Than::Less);
        assert_eq!(fact, denied());
        fact.fill(Fact::absent("c:1"), Than::Same);
        assert_eq!(fact, denied());
        fact.fill(Fact::known(1, "d:1"), Than::Less);
        fact.fill(Fact::known(2, "e:1"), Than::Less);
        assert_eq!(fact, Fact::known(1, "d:1"));
    }

    #[test]
    fn sets_are_united_without_repeating_anything() {
        let mut list = vec!["a", "b"];
        unite(&mut list, vec!["b", "c"]);
        assert_eq!(list, ["a", "b", "c"]);
    }
}
