//! What a text does not tell, and whether another one does.

use super::{Counted, Gap, Lacks, lspci};
use narrows_base::fact::Source;
use narrows_machine::Machine;
use narrows_machine::pci::{PciAddress, PciDevice};

/// That `missing` of the `of` functions of a text lack their link registers.
pub(super) fn links(functions: Vec<PciAddress>, of: usize) -> Gap {
    tell_counted(Lacks::Links(Counted { functions, of }))
}

/// That they lack vendor and device numbers.
pub(super) fn numbers(functions: Vec<PciAddress>, of: usize) -> Gap {
    tell_counted(Lacks::Numbers(Counted { functions, of }))
}

fn tell_counted(lacks: Lacks) -> Gap {
    let (counted, what, run) = match &lacks {
        Lacks::Numbers(counted) => (counted, "vendor and device numbers", "sudo lspci -nnvvv"),
        Lacks::Links(counted) => (counted, "the link registers", "sudo lspci -vvv"),
        _ => return Gap { lacks, ..Gap::default() },
    };
    let what = format!("{what} of {} of {} PCI functions", counted.functions.len(), counted.of);
    Gap { what, run: run.to_owned(), lacks }
}

/// What of it is left, now that all texts are known; `None` when they tell it. `is_past` says whether a fact is from a
/// log.
pub(super) fn left(gap: Gap, machine: &Machine, is_past: impl Fn(&Source) -> bool) -> Option<Gap> {
    let function = |address: &PciAddress| machine.pci.get(address);
    let lacking = |counted: &Counted, lacks: fn(&PciDevice) -> bool| Counted {
        functions: counted.functions.iter().filter(|at| function(at).is_none_or(lacks)).copied().collect(),
        of: counted.of,
    };
    let is_closed = match &gap.lacks {
        Lacks::Other => false,
        Lacks::Links(counted) => {
            let left = lacking(counted, lspci::lacks_link);
            return (!left.functions.is_empty()).then(|| tell_counted(Lacks::Links(left)));
        }
        Lacks::Numbers(counted) => {
            let left = lacking(counted, |device| device.id.value().is_none());
            return (!left.functions.is_empty()).then(|| tell_counted(Lacks::Numbers(left)));
        }
        Lacks::Port(address) => function(address).is_some_and(|device| device.parent.is_some()),
        Lacks::Link(address) => function(address).is_some_and(has_whole_link),
        Lacks::PresentLinks => machine.pci.values().all(|device| {
            let speed = &device.link.current_speed;
            speed.value().is_none() || !is_past(speed.source())
        }),
        Lacks::UsbRates => machine.usb.values().any(|device| device.speed.value().is_some()),
        Lacks::Disk(name) => machine.block.contains_key(name),
        Lacks::Below(name) => machine.block.get(name).is_none_or(|device| !device.slaves.is_empty()),
    };
    (!is_closed).then_some(gap)
}

fn has_whole_link(device: &PciDevice) -> bool {
    let link = &device.link;
    let speeds = link.current_speed.value().and(link.max_speed.value());
    speeds.and(link.current_width.value()).and(link.max_width.value()).is_some()
}
