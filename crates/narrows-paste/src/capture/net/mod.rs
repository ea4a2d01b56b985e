//! Networks and what else tells of links: `ip link`, `ip addr`, `ethtool`, `ibstat`, `ibstatus`, `nvidia-smi -q` and
//! `nvidia-smi topo -m`.

mod ethtool;
mod ib;
mod ip;
mod nvidia;
mod topology;

use super::device::learn;
use super::{Part, Rank, Text};
use narrows_machine::Machine;
use narrows_machine::nic::Nic;

/// Reads every output of these in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let body = text.body();
    let machine = &mut part.machine;
    let mut note = |found: bool, kind: &'static str| {
        if found && part.kind.is_none() {
            part.kind = Some(kind);
        }
    };
    if body.contains(" mtu ") {
        note(ip::read(machine, text), "ip link");
    }
    if body.contains("Settings for ") || body.contains("bus-info:") {
        note(ethtool::read(machine, text), "ethtool");
    }
    if body.contains("Port 1") || body.contains("Infiniband device") || body.contains("port 1") {
        note(ib::read(machine, text), "ibstat");
    }
    if body.contains("PCIe Generation") || body.contains("NVIDIA-SMI") {
        note(nvidia::read(machine, text), "nvidia-smi");
    }
    if body.contains("CPU Affinity") {
        note(topology::read(&mut machine.affinities, text), "nvidia-smi topo -m");
    }
    part
}

/// The interface of this name, made if need be. `None` for what can be no name (kernel `include/uapi/linux/if.h`,
/// `IFNAMSIZ`; `dev_valid_name`).
pub(super) fn nic<'m>(machine: &'m mut Machine, name: &str) -> Option<&'m mut Nic> {
    let is_name =
        (1..16).contains(&name.len()) && !name.contains(|c: char| c.is_whitespace() || c == '/' || c == ':');
    is_name.then(|| {
        let new = || Nic { name: name.to_owned(), ..Nic::default() };
        machine.nics.entry(name.to_owned()).or_insert_with(new)
    })
}

#[cfg(test)]
mod tests;
