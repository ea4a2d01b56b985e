//! Where GPUs and network cards are.

use super::fill;
use narrows_machine::Machine;
use narrows_machine::pci::PciAddress;

/// The class of display controllers, and the vendor NVIDIA (PCI Code and ID Assignment Specification, section 1.4; the
/// PCI-SIG's list of members).
const DISPLAY_CLASS: u32 = 0x03;
const NVIDIA: u16 = 0x10de;

/// Gives GPUs and network cards the NUMA node that `nvidia-smi topo` names. It numbers GPUs in the order of their addresses
/// (nvidia-smi(1), `-i`: natural enumeration follows the PCI bus), so that it is known which is which when all are there.
pub(super) fn take(machine: &mut Machine) {
    let gpus: Vec<PciAddress> = machine
        .pci
        .values()
        .filter(|device| device.id.value().is_none_or(|id| id.vendor == NVIDIA))
        .filter(|device| {
            let is_display = device.class.value().is_some_and(|class| class >> 16 == DISPLAY_CLASS);
            is_display || device.driver.value().is_some_and(|driver| driver == "nvidia")
        })
        .map(|device| device.address)
        .collect();
    let is_gpu =
        |name: &&String| name.strip_prefix("GPU").is_some_and(|number| number.parse::<usize>().is_ok());
    let are_all = machine.affinities.keys().filter(is_gpu).count() == gpus.len();
    for (name, affinity) in &mut machine.affinities {
        let number =
            name.strip_prefix("GPU").and_then(|number| number.parse::<usize>().ok()).filter(|_| are_all);
        let of_nic = machine.nics.get(name).and_then(|nic| nic.pci);
        let address = number.and_then(|number| gpus.get(number).copied()).or(of_nic);
        affinity.address = address;
        if let Some(device) = address.and_then(|address| machine.pci.get_mut(&address)) {
            fill(&mut device.numa_node, affinity.node.clone());
            fill(&mut device.local_cpus, affinity.cpus.clone());
        }
    }
}
