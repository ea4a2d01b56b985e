//! What a text does not tell, and whether another one does.

use super::lspci;
use crate::machine::Machine;
use crate::machine::fact::Source;
use crate::machine::pci::{PciAddress, PciDevice};

/// What is missing in a text, and how its owner gets it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// What could not be known: `the link registers of 0000:01:00.0`.
    pub what: String,
    /// What to run to get it: `sudo lspci -vvv`.
    pub run: String,
    /// The same for the program, so that it sees when another text tells it.
    pub lacks: Lacks,
}

/// What a text lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lacks {
    /// Something that no other text is known to tell.
    #[default]
    Other,
    /// Link registers of some of its PCI functions.
    Links(Counted),
    /// Vendor and device numbers of some of its PCI functions.
    Numbers(Counted),
    /// The port above a function.
    Port(PciAddress),
    /// The link of a function, speed and width.
    Link(PciAddress),
    /// The links as they are now: it is a log.
    PresentLinks,
    /// How fast USB devices run.
    UsbRates,
    /// What a block device lies on.
    Below(String),
}

/// The functions that something is missing of, of how many.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// Those.
    pub functions: Vec<PciAddress>,
    /// All that the text names.
    pub of: usize,
}

impl Gap {
    /// That `missing` of the `of` functions of a text lack their link registers.
    pub(super) fn links(functions: Vec<PciAddress>, of: usize) -> Self {
        Self::counted(Lacks::Links(Counted { functions, of }))
    }

    /// That they lack vendor and device numbers.
    pub(super) fn numbers(functions: Vec<PciAddress>, of: usize) -> Self {
        Self::counted(Lacks::Numbers(Counted { functions, of }))
    }

    fn counted(lacks: Lacks) -> Self {
        let (counted, what, run) = match &lacks {
            Lacks::Numbers(counted) => (counted, "vendor and device numbers", "sudo lspci -nnvvv"),
            Lacks::Links(counted) => (counted, "the link registers", "sudo lspci -vvv"),
            _ => return Self { lacks, ..Self::default() },
        };
        let what = format!("{what} of {} of {} PCI functions", counted.functions.len(), counted.of);
        Self { what, run: run.to_owned(), lacks }
    }

    /// What of it is left, now that all texts are known; `None` when they tell it. `is_past` says whether a fact is from a
    /// log.
    pub(super) fn left(self, machine: &Machine, is_past: impl Fn(&Source) -> bool) -> Option<Self> {
        let function = |address: &PciAddress| machine.pci.get(address);
        let lacking = |counted: &Counted, lacks: fn(&PciDevice) -> bool| Counted {
            functions: counted
                .functions
                .iter()
                .filter(|at| function(at).is_none_or(lacks))
                .copied()
                .collect(),
            of: counted.of,
        };
        let is_closed = match &self.lacks {
            Lacks::Other => false,
            Lacks::Links(counted) => {
                let left = lacking(counted, lspci::lacks_link);
                return (!left.functions.is_empty()).then(|| Self::counted(Lacks::Links(left)));
            }
            Lacks::Numbers(counted) => {
                let left = lacking(counted, |device| device.id.value().is_none());
                return (!left.functions.is_empty()).then(|| Self::counted(Lacks::Numbers(left)));
            }
            Lacks::Port(address) => function(address).is_some_and(|device| device.parent.is_some()),
            Lacks::Link(address) => function(address).is_some_and(has_whole_link),
            Lacks::PresentLinks => machine.pci.values().all(|device| {
                let speed = &device.link.current_speed;
                speed.value().is_none() || !is_past(speed.source())
            }),
            Lacks::UsbRates => machine.usb.values().any(|device| device.speed.value().is_some()),
            Lacks::Below(name) => machine.block.get(name).is_none_or(|device| !device.slaves.is_empty()),
        };
        (!is_closed).then_some(self)
    }
}

fn has_whole_link(device: &PciDevice) -> bool {
    let link = &device.link;
    let speeds = link.current_speed.value().and(link.max_speed.value());
    speeds.and(link.current_width.value()).and(link.max_width.value()).is_some()
}
