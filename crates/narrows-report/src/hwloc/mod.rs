//! A machine with its findings as XML of hwloc, format 2, which `lstopo -i FILE` draws.
//!
//! hwloc keeps infos that it does not know, so that what narrows found stands in infos of the function that it is about
//! (`narrows:finding`, `narrows:advice`, `narrows:ceiling`), and the state of each link beside it. Objects with a
//! fault or limit are coloured, and each finding is a box (a `Misc` object) beside its device.
//!
//! Sources: hwloc (`hwloc/hwloc2.dtd`, `hwloc/topology-xml.c`), lstopo(1), "CUSTOM COLORS".

mod cpu;
mod device;
mod element;
mod found;
mod io;

use crate::text::public::without_identity;
use crate::view::CheckReport;
use element::Xml;
use found::Found;
use narrows_machine::Machine;

/// Writes the machine. It holds no serial numbers, no network addresses, no host name, and no name that people chose:
/// pictures of a machine are made to be shared.
pub fn export(machine: &Machine, report: &CheckReport) -> String {
    let report = &without_identity(report);
    let (devices, found) = (io::Devices::of(machine), Found::of(report));
    let mut xml = Xml::new();
    cpu::write(&mut xml, machine, &Scene { machine, report, devices: &devices, found: &found });
    xml.finish()
}

/// What is drawn.
struct Scene<'a> {
    machine: &'a Machine,
    report: &'a CheckReport,
    devices: &'a io::Devices<'a>,
    found: &'a Found<'a>,
}
