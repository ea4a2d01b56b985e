//! Which scenarios can share a boot: those whose machines differ only in drives that can be plugged into a running one.

use super::scenario::{Drive, Interface, MachineSpec, Scenario};

/// What is decided when a machine is switched on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape(String);

impl Shape {
    /// That of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let machine = &scenario.machine;
        let fixed: Vec<&Drive> = machine.drives.iter().filter(|drive| !is_pluggable(drive)).collect();
        // Guests that are connected are there for one scenario only.
        let company = if scenario.networks.is_empty() { "" } else { &scenario.name };
        let MachineSpec {
            cpus,
            memory,
            instruction_shift,
            switches,
            groups,
            qemu,
            kernel,
            hides_hypervisor,
            ..
        } = machine;
        Self(format!(
            "{cpus} {memory} {instruction_shift:?} {kernel} {hides_hypervisor} {qemu:?} {switches:?} {groups:?} {fixed:?} {company}"
        ))
    }
}

/// Whether a drive can be plugged in while the machine runs. QEMU's SATA disks cannot; and a drive whose port is given is about
/// its place, so it is there from the beginning; as is one whose limit others share.
pub(crate) fn is_pluggable(drive: &Drive) -> bool {
    drive.port.is_none() && drive.group.is_none() && drive.interface != Interface::Sata
}

/// How many ports a machine needs for the drives of these scenarios.
pub(crate) fn ports(scenarios: &[&Scenario]) -> usize {
    let count =
        |scenario: &&Scenario| scenario.machine.drives.iter().filter(|drive| is_pluggable(drive)).count();
    scenarios.iter().map(count).max().unwrap_or(0)
}

/// Scenarios by shape, each shape where its first scenario stands.
pub(crate) fn groups<'a>(scenarios: &[&'a Scenario]) -> Vec<Vec<&'a Scenario>> {
    let mut groups: Vec<(Shape, Vec<&Scenario>)> = Vec::new();
    for scenario in scenarios {
        let shape = Shape::of(scenario);
        match groups.iter_mut().find(|(other, _)| *other == shape) {
            Some((_, members)) => members.push(scenario),
            None => groups.push((shape, vec![scenario])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}
