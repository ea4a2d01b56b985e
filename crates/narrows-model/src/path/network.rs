//! Data that comes over a network: the server, the interface that leads to it, and the cards behind that.

use std::collections::BTreeSet;

use super::build::Builder;
use super::graph::{NewHop, Node, Spread};
use super::{ControllerHop, HopSpec, NetworkHop, Traffic};
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes};
use narrows_machine::Machine;
use narrows_machine::block::{NvmeFabric, Remote};
use narrows_machine::nic::Nic;

/// More layers (VLAN on bridge on bond…) than any interface has: the end of a walk in circles.
const MOST_LAYERS: usize = 8;

impl Builder<'_> {
    /// Puts an NVMe connection below `above`.
    pub(super) fn fabric(&mut self, above: Node, fabric: &NvmeFabric) {
        let hop = ControllerHop {
            name: fabric.controller.clone(),
            fabric: Some(fabric.transport.clone()),
            ..ControllerHop::default()
        };
        let name = format!("NVMe/{} controller {}", fabric.transport.to_uppercase(), fabric.controller);
        let hop = NewHop::new(&fabric.controller, name, HopSpec::Controller(hop));
        if let Some(node) = self.chain(above, [hop]) {
            let protocol = format!("nvme-{}", fabric.transport);
            self.remote(node, &fabric.remote, &fabric.controller, &protocol);
        }
    }

    /// Puts a server below `above`, and the way to it. `called` is its name when its address is not known.
    pub(super) fn remote(&mut self, above: Node, remote: &Remote, called: &str, protocol: &str) {
        let address = remote.address.get().unwrap_or_else(|| called.to_owned());
        let place = match remote.port.value() {
            Some(port) if address.contains(':') => format!("[{address}]:{port}"),
            Some(port) => format!("{address}:{port}"),
            None => address,
        };
        let hop = NewHop::new(&place, format!("server {place}"), HopSpec::Remote(remote.clone()));
        let Some(node) = self.chain(above, [hop]) else { return };
        if let Some(interface) = remote.interface.value() {
            self.network(node, interface, Some(protocol), Traffic::ONE);
        }
    }

    /// Puts a network interface below `above`, the interfaces that it is made of, and the bus that they are on.
    pub(super) fn network(
        &mut self,
        above: Node,
        interface: &str,
        protocol: Option<&str>,
        fraction: Traffic,
    ) {
        let Some(found) = walk(self.machine, interface) else { return };
        let through =
            if found.nic.name == interface { String::new() } else { format!(", through {interface}") };
        let hop = NetworkHop {
            interface: found.nic.name.clone(),
            speed: found.speed,
            mtu: found.mtu,
            address: found.nic.pci,
            protocol: protocol.map(str::to_owned),
            members: u32::try_from(found.members.len()).unwrap_or(u32::MAX).max(1),
            both_ways: false,
        };
        let speed = hop.speed.value().map(|speed| format!(" at {speed}")).unwrap_or_default();
        let name = format!("network interface {}{speed}{through}", found.nic.name);
        let hop = NewHop::new(&found.nic.name, name, HopSpec::Network(hop));
        let Some(node) = self.add(above, hop, fraction) else { return };
        if let Some(address) = found.nic.pci {
            self.climb(node, address);
        }
        self.graph.set_spread(node, found.spread);
        for member in found.members {
            self.network(node, &member.name, protocol, found.share);
        }
    }
}

/// What carries the data of an interface.
struct Carrier<'m> {
    /// The interface itself, or the one below a VLAN or bridge that leads to hardware.
    nic: &'m Nic,
    speed: Fact<BitsPerSec>,
    /// The smallest MTU on the way to it.
    mtu: Fact<Bytes>,
    /// The interfaces that it is made of, when there are several that lead to hardware.
    members: Vec<&'m Nic>,
    /// What of the traffic crosses each member.
    share: Traffic,
    spread: Spread,
}

/// Walks from an interface down to the one that carries its data: hardware, several interfaces that are bound
/// together, or one that leads to no hardware at all (loopback, veth).
fn walk<'m>(machine: &'m Machine, interface: &str) -> Option<Carrier<'m>> {
    let mut nic = machine.nics.get(interface)?;
    let mut mtu = nic.mtu.clone();
    for _ in 0..MOST_LAYERS {
        let lower = real(machine, nic);
        match lower.as_slice() {
            [only] => {
                nic = only;
                if nic.mtu.value().is_some_and(|below| mtu.value().is_none_or(|above| below < above)) {
                    mtu = nic.mtu.clone();
                }
            }
            members => {
                let (speed, share, spread) = together(nic, members);
                return Some(Carrier { nic, speed, mtu, members: lower, share, spread });
            }
        }
    }
    None
}

/// The interfaces below `nic` that lead to hardware.
fn real<'m>(machine: &'m Machine, nic: &Nic) -> Vec<&'m Nic> {
    let lower = nic.lower.iter().filter_map(|name| machine.nics.get(name));
    lower.filter(|lower| leads_to_hardware(machine, lower)).collect()
}

fn leads_to_hardware(machine: &Machine, nic: &Nic) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![nic];
    while let Some(nic) = pending.pop() {
        if !nic.is_virtual {
            return true;
        }
        if seen.insert(&nic.name) {
            pending.extend(nic.lower.iter().filter_map(|name| machine.nics.get(name)));
        }
    }
    false
}

/// The rate of several interfaces together, and what of the traffic crosses each.
///
/// The kernel reports the sum of its members for a bond that spreads its load, and one member's rate for a bond of
/// which one is active and for a bridge (`drivers/net/bonding/bond_main.c`, `bond_ethtool_get_link_ksettings`;
/// `net/bridge/br_device.c`, `br_get_link_ksettings`). In the latter case any member may carry everything. An
/// interface that does not report its rate is taken to spread.
fn together(nic: &Nic, members: &[&Nic]) -> (Fact<BitsPerSec>, Traffic, Spread) {
    let sum: Option<f64> = members.iter().map(|member| member.speed.value().map(|speed| speed.get())).sum();
    let part = Traffic::both(1.0 / members.len().max(1) as f64);
    match (nic.speed.value(), sum) {
        (Some(own), Some(sum)) if own.get() < sum * 0.99 => (nic.speed.clone(), Traffic::ONE, Spread::Either),
        (None, Some(sum)) if !members.is_empty() => {
            let sources: Vec<&str> = members.iter().map(|member| member.speed.source().as_str()).collect();
            (Fact::known(BitsPerSec::new(sum), sources.join(" + ")), part, Spread::Together)
        }
        _ => (nic.speed.clone(), part, Spread::Together),
    }
}
