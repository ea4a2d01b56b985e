//! Interfaces, storage over networks, clusters.

use super::{BuildError, Place, Walk, fact, given};
use crate::path::file::{Attachment, Cluster, Copies, Name, Network, Part, PartKind, Remote, Technology};
use crate::path::graph::Node;
use crate::path::{HopKind, HopSpec, NetworkHop, Traffic};
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;

/// What packets of 4096 bytes leave of an InfiniBand link's rate: EDR was measured with 98.4 of 100 Gbit/s
/// (linux-rdma/perftest issue 225).
const INFINIBAND_SHARE: f64 = 0.984;

impl<'s> Walk<'s> {
    /// Puts an interface and the way of its card to memory below `above`. `Some` when it is new.
    pub(super) fn network(
        &mut self,
        above: Node,
        part: &'s Part,
        network: &'s Network,
        (fraction, both_ways): (Traffic, bool),
        reader: Option<&Place>,
    ) -> Result<Option<Node>, BuildError> {
        let ports = network.ports.max(1);
        let speed = BitsPerSec::new(network.rate.get() * f64::from(ports));
        let wire = match network.technology {
            Technology::Ethernet => "Ethernet",
            Technology::Infiniband => "InfiniBand",
        };
        let count = if ports == 1 { String::new() } else { format!("{ports} × ") };
        let title = format!("{} {count}{} {wire}", part.name, network.rate);
        let spec = match network.technology {
            Technology::Ethernet => HopSpec::Network(NetworkHop {
                interface: part.name.to_string(),
                speed: Fact::known(speed, part.given.as_str()),
                mtu: fact(network.mtu, &part.given),
                address: None,
                protocol: network.protocol.clone().map(protocol),
                members: ports,
                both_ways,
            }),
            Technology::Infiniband => {
                let rate = fact(Some(speed.bytes_per_sec() * INFINIBAND_SHARE), &part.given);
                given(HopKind::Network, (rate.clone(), rate), "InfiniBand")
            }
        };
        let node = self.add(above, (HopKind::Network, &part.name), title, spec, fraction)?;
        if let (Some(node), Some(upstream)) = (node, &network.upstream) {
            self.upstream(node, part, upstream, network.link, reader)?;
        }
        Ok(node)
    }

    pub(super) fn remote(
        &mut self,
        above: Node,
        part: &'s Part,
        remote: &'s Remote,
        fraction: Traffic,
        reader: Option<&Place>,
    ) -> Result<(), BuildError> {
        let rate = fact(remote.rate, &part.given);
        let what = remote.protocol.as_deref().unwrap_or("server");
        let spec = given(HopKind::Remote, (rate.clone(), rate), "the network and what is behind it decide");
        let title = format!("{} over {what}", part.name);
        let Some(node) = self.add(above, (HopKind::Remote, &part.name), title, spec, fraction)? else {
            return Ok(());
        };
        for name in &remote.through {
            let network = self.part(name, &part.name)?;
            let PartKind::Network(wire) = &network.kind else {
                return Err(no_network(part, name, &network.kind));
            };
            // The first card is the reader's own, the others send what the drives put into the server's memory.
            let is_first = Some(name) == remote.through.first();
            let reader = if is_first { reader } else { None };
            let card = self.network(node, network, wire, (Traffic::ONE, false), reader)?;
            if let Some(card) = card.filter(|_| !is_first) {
                self.graph.turn(node, card);
            }
        }
        // On the server data is to arrive where the card is that sends it on.
        let server =
            remote.through.last().filter(|_| remote.through.len() > 1).and_then(|name| self.place(name));
        self.layer(node, &remote.on, Traffic::ONE, server.as_ref(), &part.name)
    }

    pub(super) fn cluster(
        &mut self,
        above: Node,
        part: &'s Part,
        cluster: &'s Cluster,
        fraction: Traffic,
    ) -> Result<(), BuildError> {
        let does = match cluster.copies {
            Copies::Mirror(copies) => format!("each byte is kept {copies} times"),
            Copies::Erasure { data, parity } => format!("{data} parts of data and {parity} of parity"),
        };
        let spec = given(HopKind::LogicalVolume, (Fact::default(), Fact::default()), does.clone());
        let title = format!("cluster {}: {does}", part.name);
        let Some(node) = self.add(above, (HopKind::LogicalVolume, &part.name), title, spec, fraction)? else {
            return Ok(());
        };
        let crossing = crossing(cluster);
        for name in &cluster.networks {
            let network = self.part(name, &part.name)?;
            let PartKind::Network(wire) = &network.kind else {
                return Err(no_network(part, name, &network.kind));
            };
            let card = self.network(node, network, wire, (crossing, true), None)?;
            // To clients elsewhere hosts send what is read; hosts among themselves send and get the same.
            if let Some(card) = card.filter(|_| !cluster.converged) {
                self.graph.turn(node, card);
            }
        }
        let count = cluster.members.len().max(1) as f64;
        let share = Traffic { read: 1.0 / count, write: cluster.copies.amplification() / count };
        let places: Vec<Place> = cluster.networks.iter().filter_map(|name| self.place(name)).collect();
        for member in &cluster.members {
            let host = self.host_of(member).map(|(part, _)| part.name.clone());
            let reader = places.iter().find(|place| Some(&place.host) == host.as_ref());
            self.layer(node, member, share, reader, &part.name)?;
        }
        Ok(())
    }

    /// Where a network card is.
    fn place(&self, network: &Name) -> Option<Place> {
        let mut at = network.clone();
        for _ in 0..super::MOST_LAYERS {
            let part = self.system.part(&at)?;
            let (host, socket) = match &part.kind {
                PartKind::Slot(slot) => match &slot.on {
                    Attachment::Socket { host, socket } => (host.clone(), *socket),
                    Attachment::Chipset(name) | Attachment::Slot(name) => {
                        at = name.clone();
                        continue;
                    }
                },
                PartKind::Chipset(chipset) => (chipset.host.clone(), chipset.socket),
                PartKind::Host(_) => return Some(Place { host: part.name.clone(), socket: None }),
                _ => {
                    at = (*part.needs().first()?).clone();
                    continue;
                }
            };
            return Some(Place { host, socket: Some(socket) });
        }
        None
    }
}

/// What crosses the card's own link for each byte of data: Ethernet frames go over it without preamble, checksum and gap
/// (MTU + 14 bytes, of which TCP leaves MTU − 52).
pub(super) fn on_link(network: &Network) -> Traffic {
    let mtu = network.mtu.map_or(1500.0, |mtu| mtu.as_f64());
    match network.technology {
        Technology::Ethernet => Traffic::both((mtu + 14.0) / (mtu - 52.0)),
        Technology::Infiniband => Traffic::ONE,
    }
}

fn no_network(part: &Part, upstream: &Name, kind: &PartKind) -> BuildError {
    BuildError::NoPlace { part: part.name.clone(), upstream: upstream.clone(), kind: kind.table() }
}

/// What of the cluster's traffic crosses the interface of each host, in each direction.
///
/// Data is spread evenly. With clients on the hosts, a host asks for one part in so many as there are hosts, of which the
/// share `local_reads` lies on itself; it serves as much to others as it asks of them. Each of its writes goes to the other
/// hosts, but for the part of all copies that lies on itself. With clients elsewhere every byte that is read leaves a
/// host, every byte that is written enters one and its further copies go from host to host.
fn crossing(cluster: &Cluster) -> Traffic {
    let hosts = cluster.networks.len().max(1) as f64;
    let copies = cluster.copies.amplification();
    if !cluster.converged {
        return Traffic { read: 1.0 / hosts, write: copies / hosts };
    }
    let local = cluster.local_reads.unwrap_or(1.0 / hosts).clamp(0.0, 1.0);
    Traffic { read: (1.0 - local) / hosts, write: copies * (1.0 - 1.0 / hosts) / hosts }
}

/// The protocol as [`crate::ceiling`] tells packets apart.
fn protocol(given: String) -> String {
    match given.as_str() {
        "roce" => "roce-rdma".to_owned(),
        _ => given,
    }
}
