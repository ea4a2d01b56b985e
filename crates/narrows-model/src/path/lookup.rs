//! Finds what is published about the parts of a machine.

use narrows_base::catalog::{Board, Catalog, Chipset, Processor, Switch, catalog};
use narrows_machine::Machine;
use narrows_machine::pci::{PciAddress, PciId};

/// What is published, as far as a path needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Published<'a>(pub(super) &'a Catalog);

/// All that is published.
pub(super) fn published() -> Published<'static> {
    Published(catalog())
}

impl<'a> Published<'a> {
    /// The chipset that a function belongs to, when it is one that gives its chipset away.
    pub(super) fn chipset(self, machine: &Machine, address: PciAddress) -> Option<&'a Chipset> {
        match id(machine, address) {
            Some(PciId { vendor, device }) => self.0.chipset_by_id(vendor, device),
            None => self.0.chipset_by_name(name(machine, address)?),
        }
    }

    /// The switch that a port belongs to.
    pub(super) fn switch(self, machine: &Machine, address: PciAddress) -> Option<&'a Switch> {
        match id(machine, address) {
            Some(PciId { vendor, device }) => self.0.switch_by_id(vendor, device),
            None => self.0.switch_by_name(name(machine, address)?),
        }
    }

    /// The board of the machine, or the server, which is known by its product name.
    pub(super) fn board(self, machine: &Machine) -> Option<&'a Board> {
        let dmi = &machine.dmi;
        let vendor = dmi.board_vendor.value().or(dmi.system_vendor.value())?;
        let name = |name: Option<&'_ String>| name.cloned().unwrap_or_default();
        self.0.board(vendor, &name(dmi.board.value()), &name(dmi.product.value()))
    }

    /// The platform of the processors.
    pub(super) fn processor(self, machine: &Machine) -> Option<&'a Processor> {
        let (family, model, _) = machine.cpus.signature.get()?;
        self.0.processor(family, model, machine.cpus.model.value().map_or("", String::as_str))
    }
}

/// What a text without numbers calls a function.
fn name(machine: &Machine, address: PciAddress) -> Option<&str> {
    machine.pci.get(&address)?.name.value().map(String::as_str)
}

fn id(machine: &Machine, address: PciAddress) -> Option<PciId> {
    machine.pci.get(&address)?.id.get()
}
