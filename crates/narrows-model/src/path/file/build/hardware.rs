//! The way from a part to the memory of its host: slots, switches, adapters, chipsets and sockets.

use super::drive::{adapter_spec, interface};
use super::entries::{chipset_entry, processor_entry, switch_entry, unlisted};
use super::{BuildError, Place, Walk, fact, given};
use crate::path::file::{Attachment, Chipset, LinkGiven, Name, Part, PartKind, Slot, Switch};
use crate::path::graph::Node;
use crate::path::{HopKind, HopSpec, SocketHop, Traffic, UplinkHop};

/// The relative distance of another socket (ACPI System Locality Information Table, usual value).
const OTHER_SOCKET: u32 = 21;

/// What data gets of the raw rate between sockets: measured on Skylake-SP, 34 of 41.6 GB/s (J. McCalpin).
const SOCKET_SHARE: f64 = 0.8;

impl<'s> Walk<'s> {
    /// Puts the way from `part`, which is in `upstream` with `end` of its link, to memory below `above`.
    pub(super) fn upstream(
        &mut self,
        above: Node,
        part: &'s Part,
        upstream: &Name,
        end: LinkGiven,
        reader: Option<&Place>,
    ) -> Result<(), BuildError> {
        let carrier = self.part(upstream, &part.name)?;
        if self.depth >= super::MOST_LAYERS {
            return Err(BuildError::Cycle(upstream.clone()));
        }
        self.depth += 1;
        let is_wire = !matches!(&part.kind, PartKind::Device(device) if interface(part, device).is_some());
        let done = match &carrier.kind {
            PartKind::Slot(slot) => {
                let Some(node) = self.link(above, part, end, (carrier, slot.link))? else {
                    return self.rise();
                };
                self.attachment(node, carrier, slot, reader)
            }
            PartKind::Switch(switch) => {
                let node = match is_wire {
                    true => self.link(above, part, end, (carrier, switch.port))?,
                    false => Some(above),
                };
                let Some(node) = node else { return self.rise() };
                self.switch(node, carrier, switch, reader)
            }
            PartKind::Adapter(adapter) => {
                let spec = adapter_spec(carrier, adapter)?;
                let title = match &adapter.model {
                    Some(model) => format!("{} {model}", carrier.name),
                    None => format!("adapter {}", carrier.name),
                };
                match self.add(above, (HopKind::Hba, &carrier.name), title, spec, Traffic::ONE)? {
                    Some(node) => self.upstream(node, carrier, &adapter.upstream, adapter.link, reader),
                    None => Ok(()),
                }
            }
            PartKind::Chipset(chipset) => {
                let lanes = LinkGiven::default();
                let node = match is_wire && end.width.is_some() && end.generation.is_some() {
                    true => self.link(above, part, end, (carrier, lanes))?,
                    false => Some(above),
                };
                let Some(node) = node else { return self.rise() };
                self.chipset(node, carrier, chipset, reader)
            }
            PartKind::Host(_) => {
                let node = match is_wire && end.width.is_some() && end.generation.is_some() {
                    true => self.link(above, part, end, (carrier, LinkGiven::default()))?,
                    false => Some(above),
                };
                let Some(node) = node else { return self.rise() };
                self.socket(node, &carrier.name, 0, reader)
            }
            _ => Err(BuildError::NoPlace {
                part: part.name.clone(),
                upstream: upstream.clone(),
                kind: carrier.kind.table(),
            }),
        };
        self.depth -= 1;
        done
    }

    fn rise(&mut self) -> Result<(), BuildError> {
        self.depth -= 1;
        Ok(())
    }

    fn attachment(
        &mut self,
        above: Node,
        part: &'s Part,
        slot: &'s Slot,
        reader: Option<&Place>,
    ) -> Result<(), BuildError> {
        match &slot.on {
            Attachment::Socket { host, socket } => {
                self.part(host, &part.name)?;
                self.socket(above, host, *socket, reader)
            }
            Attachment::Chipset(name) => {
                let carrier = self.part(name, &part.name)?;
                match &carrier.kind {
                    PartKind::Chipset(chipset) => self.chipset(above, carrier, chipset, reader),
                    other => Err(no_place(&part.name, name, other)),
                }
            }
            Attachment::Slot(name) => {
                let carrier = self.part(name, &part.name)?;
                if self.depth >= super::MOST_LAYERS {
                    return Err(BuildError::Cycle(name.clone()));
                }
                self.depth += 1;
                let done = match &carrier.kind {
                    PartKind::Slot(outer) => self.attachment(above, carrier, outer, reader),
                    other => Err(no_place(&part.name, name, other)),
                };
                self.depth -= 1;
                done
            }
        }
    }

    fn switch(
        &mut self,
        above: Node,
        part: &'s Part,
        switch: &'s Switch,
        reader: Option<&Place>,
    ) -> Result<(), BuildError> {
        let known = switch_entry(part, switch)?;
        let name = known
            .map_or_else(|| format!("PCIe switch {}", part.name), |it| format!("{} {}", part.name, it.name));
        let spec = HopSpec::Switch(UplinkHop { name: name.clone(), ..UplinkHop::default() });
        let Some(node) = self.add(above, (HopKind::Switch, &part.name), name, spec, Traffic::ONE)? else {
            return Ok(());
        };
        let generation = switch.uplink.generation.or(known.map(|it| it.generation));
        let uplink = LinkGiven { generation, ..switch.uplink };
        self.upstream(node, part, &switch.upstream, uplink, reader)
    }

    fn chipset(
        &mut self,
        above: Node,
        part: &'s Part,
        chipset: &'s Chipset,
        reader: Option<&Place>,
    ) -> Result<(), BuildError> {
        let entry = chipset_entry(part, chipset)?;
        let name = entry.as_ref().map_or_else(
            || format!("chipset {}", part.name),
            |it| format!("{} chipset, {}", it.name, it.uplink),
        );
        let spec = HopSpec::Chipset(UplinkHop { name: name.clone(), chipset: entry, ..UplinkHop::default() });
        match self.add(above, (HopKind::Chipset, &part.name), name, spec, Traffic::ONE)? {
            Some(node) => self.socket(node, &chipset.host, chipset.socket, reader),
            None => Ok(()),
        }
    }

    /// The way from a socket to the one where the data is read, and its host's memory.
    fn socket(
        &mut self,
        above: Node,
        host: &Name,
        socket: u32,
        reader: Option<&Place>,
    ) -> Result<(), BuildError> {
        let part = self.part(host, &"a slot")?;
        let PartKind::Host(given_host) = &part.kind else {
            return Err(no_place(&Name::new("a slot"), host, &part.kind));
        };
        let wanted = match reader {
            Some(place) if place.host == *host => place.socket,
            Some(_) => None,
            None => given_host.reader_socket,
        };
        let mut node = above;
        if let Some(to) = wanted.filter(|to| *to != socket) {
            let (name, spec) = self.interconnect(part, given_host, socket, to)?;
            let id = format!("{host}:{socket}-{to}");
            match self.add(node, (HopKind::Socket, &id), name, spec, Traffic::ONE)? {
                Some(next) => node = next,
                None => return Ok(()),
            }
        }
        if let Some(rate) = given_host.memory_rate {
            let rate = fact(Some(rate), &part.given);
            let spec = given(HopKind::Memory, (rate.clone(), rate), "main memory");
            self.add(node, (HopKind::Memory, &host), format!("main memory of {host}"), spec, Traffic::ONE)?;
        }
        Ok(())
    }

    fn interconnect(
        &self,
        part: &Part,
        host: &crate::path::file::Host,
        from: u32,
        to: u32,
    ) -> Result<(String, HopSpec), BuildError> {
        let platform = match host.processor.as_deref() {
            Some(name) => Some(processor_entry(name).ok_or_else(|| unlisted(&part.name, "processor", name))?),
            None => None,
        };
        let what =
            platform.and_then(|it| it.interconnect.as_ref()).map_or("interconnect", |it| it.name.as_str());
        let title = format!("{what} from socket {from} to {to} of {}", part.name);
        if let Some(links) = host.interconnect {
            let rate = fact(Some(links.rate * f64::from(links.links) * SOCKET_SHARE), &part.given);
            return Ok((
                title,
                given(HopKind::Socket, (rate.clone(), rate), "the connection between two sockets"),
            ));
        }
        let hop = SocketHop {
            device_node: from,
            reader_node: to,
            distance: OTHER_SOCKET,
            platform: platform.cloned(),
        };
        Ok((title, HopSpec::Socket(Box::new(hop))))
    }
}

fn no_place(part: &Name, upstream: &Name, kind: &PartKind) -> BuildError {
    BuildError::NoPlace { part: part.clone(), upstream: upstream.clone(), kind: kind.table() }
}
