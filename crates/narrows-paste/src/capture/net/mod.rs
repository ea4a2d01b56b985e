//! Networks and what else tells of links: `ip link`, `ip addr`, `ethtool`, `ibstat`, `ibstatus`, `nvidia-smi -q` and
//! `nvidia-smi topo -m`.

mod ethtool;
mod ib;
mod ip;
mod nvidia;
mod topology;

use super::device::learn;
use super::{Output, Part, Text, read_outputs};
use narrows_machine::Machine;
use narrows_machine::nic::Nic;

const OUTPUTS: [Output; 5] = [
    ("ip link", |body| body.contains(" mtu "), ip::read),
    ("ethtool", |body| body.contains("Settings for ") || body.contains("bus-info:"), ethtool::read),
    (
        "ibstat",
        |body| body.contains("Port 1") || body.contains("Infiniband device") || body.contains("port 1"),
        ib::read,
    ),
    ("nvidia-smi", |body| body.contains("PCIe Generation") || body.contains("NVIDIA-SMI"), nvidia::read),
    (
        "nvidia-smi topo -m",
        |body| body.contains("CPU Affinity"),
        |machine, text| topology::read(&mut machine.affinities, text),
    ),
];

/// Reads every output of these in a text.
pub fn read(text: &Text) -> Part {
    read_outputs(text, &OUTPUTS)
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
