//! Field by field: what of each type is filled from another source that is believed less.

use std::collections::{BTreeMap, BTreeSet};

use super::keep_worse;
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
use narrows_machine::pci::{Aer, PciDevice};
use narrows_machine::usb::UsbDevice;
use narrows_machine::zfs::ZfsPool;

/// How far the other source is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Than {
    /// As far as this one.
    Same,
    /// Less than this one.
    Less,
}

/// Something that can take from another of its kind what it lacks.
pub(super) trait Fill {
    /// Takes from `other` what is missing here.
    fn fill(&mut self, other: Self, than: Than);
}

impl<T> Fill for Fact<T> {
    fn fill(&mut self, other: Self, _: Than) {
        self.take_better(other, Asked::Elsewhere);
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
        if self.is_empty() {
            *self = other;
            return;
        }
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
    if list.is_empty() {
        *list = other;
        return;
    }
    let known: BTreeSet<T> = list.iter().cloned().collect();
    list.extend(other.into_iter().filter(|item| !known.contains(item)));
}

/// Makes a type fill itself field by field. Every field must be named: `fills` those that fill themselves, `unites`
/// lists that are sets, `keeps` those that are what the thing is known by.
macro_rules! fill_by_field {
    ($type:ident fills { $($field:ident),* $(,)? } unites { $($set:ident),* } keeps { $($key:ident),* }) => {
        impl Fill for $type {
            fn fill(&mut self, other: Self, than: Than) {
                let $type { $($field,)* $($set,)* $($key: _,)* } = other;
                $(self.$field.fill($field, than);)*
                $(unite(&mut self.$set, $set);)*
            }
        }
    };
}

impl Fill for Machine {
    fn fill(&mut self, other: Self, than: Than) {
        let Self {
            kernel,
            cpus,
            dmi,
            slots,
            memory_modules,
            pci,
            interrupts,
            block,
            mounts,
            nics,
            ciphers,
            cipher_benchmarks,
            zfs,
            usb,
            links,
            affinities,
            log,
            health,
            adapters,
            loads,
            kept,
            captured: _,
        } = other;
        self.kernel.fill(kernel, than);
        self.cpus.fill(cpus, than);
        self.dmi.fill(dmi, than);
        fill_slots(&mut self.slots, slots, than);
        self.memory_modules.fill(memory_modules, than);
        self.pci.fill(pci, than);
        self.interrupts.fill(interrupts, than);
        self.block.fill(block, than);
        fill_by(&mut self.mounts, mounts, than, |mount| mount.point.clone());
        self.nics.fill(nics, than);
        self.ciphers.fill(ciphers, than);
        self.health.fill(health, than);
        self.adapters.fill(adapters, than);
        self.loads.fill(loads, than);
        self.cipher_benchmarks.extend(cipher_benchmarks);
        fill_by(&mut self.zfs, zfs, than, |pool| pool.name.clone());
        self.usb.fill(usb, than);
        self.links.fill(links, than);
        self.affinities.fill(affinities, than);
        self.log.extend(log);
        // What a watcher kept is whole in one record; two of them are not joined.
        if self.kept.value().is_none() {
            self.kept = kept;
        }
    }
}

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

impl Fill for Cpus {
    fn fill(&mut self, other: Self, than: Than) {
        let Self { model, signature, flags, online, cores, sockets, nodes, memory, hypervisor } = other;
        self.model.fill(model, than);
        self.signature.fill(signature, than);
        unite(&mut self.flags, flags);
        self.online.fill(online, than);
        self.cores.fill(cores, than);
        self.sockets.fill(sockets, than);
        fill_by(&mut self.nodes, nodes, than, |node| node.id);
        self.nodes.sort_by_key(|node| node.id);
        self.memory.fill(memory, than);
        self.hypervisor.fill(hypervisor, than);
    }
}

/// A function is filled from another only when both may be the same card: two texts of two machines, or from before and
/// after a card was replaced, show different ids at one address.
impl Fill for PciDevice {
    fn fill(&mut self, mut other: Self, than: Than) {
        if self.id.value().is_some_and(|id| other.id.value().is_some_and(|other| other != id)) {
            return;
        }
        if than == Than::Same {
            keep_worse(self, &mut other);
        }
        let Self {
            address: _,
            id,
            class,
            parent,
            domain_owner,
            driver,
            link,
            express,
            numa_node,
            local_cpus,
            iommu_group,
            interrupts,
            power_state,
            aer,
            slot,
            buses,
            best_link,
            name,
            board,
            wire,
            port,
            acs,
        } = other;
        self.id.fill(id, than);
        self.name.fill(name, than);
        self.board.fill(board, than);
        self.wire.fill(wire, than);
        self.port.fill(port, than);
        self.acs.fill(acs, than);
        self.class.fill(class, than);
        self.parent.fill(parent, than);
        self.domain_owner.fill(domain_owner, than);
        self.driver.fill(driver, than);
        self.link.current_speed.fill(link.current_speed, than);
        self.link.max_speed.fill(link.max_speed, than);
        self.link.current_width.fill(link.current_width, than);
        self.link.max_width.fill(link.max_width, than);
        self.link.downgraded.fill(link.downgraded);
        self.express.fill(express, than);
        self.numa_node.fill(numa_node, than);
        self.local_cpus.fill(local_cpus, than);
        self.iommu_group.fill(iommu_group, than);
        unite(&mut self.interrupts, interrupts);
        self.power_state.fill(power_state, than);
        fill_errors(&mut self.aer, aer, than);
        self.slot.fill(slot, than);
        self.buses.fill(buses, than);
        self.best_link.fill(best_link, than);
    }
}

impl Fill for UsbDevice {
    fn fill(&mut self, other: Self, than: Than) {
        let Self { address: _, name, id, product, speed, version, most_speed, class, driver, pci } = other;
        self.name.fill(name, than);
        self.id.fill(id, than);
        self.product.fill(product, than);
        self.speed.fill(speed, than);
        self.version.fill(version, than);
        self.most_speed.fill(most_speed, than);
        self.class.fill(class, than);
        self.driver.fill(driver, than);
        self.pci.fill(pci, than);
    }
}

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

fill_by_field!(Adapter fills { model, pci, drives, volumes } unites {} keeps {});

fill_by_field!(AdapterDrive
    fills { state, group, interface, turns, model, size, link, most, predicted_failures } unites {} keeps {});

fill_by_field!(AdapterVolume fills { level, state, size, disk } unites {} keeps {});

fill_by_field!(Affinity fills { node, cpus, connections, address } unites {} keeps {});

/// The first text that tells of a connection is believed.
impl Fill for (Connection, Source) {
    fn fill(&mut self, _: Self, _: Than) {}
}

fill_by_field!(DriveHealth fills { temperature, warning, smart } unites {} keeps {});

fill_by_field!(NumaNode fills { cpus, memory, distances, socket } unites {} keeps { id });

fill_by_field!(Dmi fills { system_vendor, product, board_vendor, board, bios_version, bios_date, smbios }
    unites {} keeps {});

fill_by_field!(BlockDevice
    fills { number, size, partition_of, start, kind, transport, model, serial, firmware, read_only, removable, queue }
    unites { slaves, holders } keeps { name });

fill_by_field!(Queue
    fills { scheduler, requests, hardware_queues, max_request, logical_block, physical_block, read_ahead, rotational,
            write_cache }
    unites {} keeps {});

fill_by_field!(MdArray
    fills { level, raid_disks, chunk, layout, degraded, sync_action, sync_speed, sync_done, sync_left, bitmap,
            members, group_threads }
    unites {} keeps {});

fill_by_field!(DmDevice fills { name, owner, table } unites {} keeps {});

fill_by_field!(Bcache fills { mode, state, sequential_cutoff, hit_ratio, backing } unites { caches } keeps {});

fill_by_field!(LoopDevice fills { file, direct } unites {} keeps {});

fill_by_field!(Sata fills { port, speed, port_speed, drive_speed, pci } unites {} keeps {});

fill_by_field!(Sas fills { phy_speeds, driver, hidden, uplink_phy_speeds, expander, pci } unites {} keeps {});

fill_by_field!(Usb fills { device, speed, version, most_speed, root_hub_speed, driver, pci } unites {} keeps {});

fill_by_field!(NvmeFabric fills { controller, transport, remote, queues } unites {} keeps {});

fill_by_field!(Remote fills { address, port, interface } unites {} keeps {});

fill_by_field!(Nic fills { speed, duplex, state, mtu, driver, pci, is_virtual } unites { lower } keeps { name });

fill_by_field!(Mount
    fills { fstype, source, options, root, remote, connections } unites { devices } keeps { point, number });

fill_by_field!(ZfsPool fills { state, scan, vdevs } unites {} keeps { name });

fill_by_field!(IrqLine fills { counts, name } unites {} keeps {});

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
