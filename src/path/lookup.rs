//! Finds what is published about the parts of a machine.

use crate::catalog::{Board, Chipset, Processor, Switch, catalog};
use crate::machine::Machine;
use crate::machine::pci::{PciAddress, PciId};

/// What is published, as far as a path needs it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Published<'a> {
    /// Chipsets, by the function that gives them away.
    pub(super) chipsets: &'a [Chipset],
    /// PCIe switches.
    pub(super) switches: &'a [Switch],
    /// Boards and their slots.
    pub(super) boards: &'a [Board],
    /// Processor platforms.
    pub(super) processors: &'a [Processor],
}

/// All that is published.
pub(super) fn published() -> Published<'static> {
    let catalog = catalog();
    Published {
        chipsets: &catalog.chipsets,
        switches: &catalog.switches,
        boards: &catalog.boards,
        processors: &catalog.processors,
    }
}

impl<'a> Published<'a> {
    /// The chipset that a function belongs to, when it is one that gives its chipset away.
    pub(super) fn chipset(self, machine: &Machine, address: PciAddress) -> Option<&'a Chipset> {
        let id = id(machine, address)?.to_string();
        self.chipsets.iter().find(|chipset| chipset.ids.contains(&id))
    }

    /// The switch that a port belongs to.
    pub(super) fn switch(self, machine: &Machine, address: PciAddress) -> Option<&'a Switch> {
        let id = id(machine, address)?.to_string();
        self.switches.iter().find(|switch| switch.ids.contains(&id))
    }

    /// The board of the machine. A server is often known by its product name rather than that of its board.
    pub(super) fn board(self, machine: &Machine) -> Option<&'a Board> {
        let dmi = &machine.dmi;
        let vendor = dmi.board_vendor.value().or(dmi.system_vendor.value())?;
        let names = [dmi.board.value(), dmi.product.value()];
        self.boards.iter().find(|board| {
            board.vendors.contains(vendor) && names.iter().flatten().any(|name| board.boards.contains(name))
        })
    }

    /// The platform of the processors.
    pub(super) fn processor(self, machine: &Machine) -> Option<&'a Processor> {
        let (family, model, _) = machine.cpus.signature.value()?;
        let signature = format!("{family}/{model}");
        self.processors.iter().find(|processor| processor.signatures.contains(&signature))
    }
}

fn id(machine: &Machine, address: PciAddress) -> Option<PciId> {
    machine.pci.get(&address)?.id.get()
}
