//! System, board, firmware and processors.

use super::{Structure, said};
use narrows_base::fact::Fact;
use narrows_machine::Machine;
use narrows_machine::cpu::{self, Cpus};
use narrows_machine::dmi::Dmi;

/// `BIOS Information`.
pub(super) fn take_bios(dmi: &mut Dmi, structure: &Structure<'_>, source: &str) -> bool {
    let is_one = structure.field("Release Date").is_some() || structure.field("Vendor").is_some();
    if is_one {
        dmi.bios_version = said(structure.field("Version"), source);
        dmi.bios_date = said(structure.field("Release Date"), source);
    }
    is_one
}

/// `System Information`.
pub(super) fn take_system(machine: &mut Machine, structure: &Structure<'_>, source: &str) -> bool {
    let (maker, product) = (structure.field("Manufacturer"), structure.field("Product Name"));
    if maker.is_none() && product.is_none() {
        return false;
    }
    machine.dmi.system_vendor = said(maker, source);
    machine.dmi.product = said(product, source);
    let is_metal = product.is_some_and(|product| product.ends_with(".metal"));
    let hypervisor =
        [product, maker].into_iter().flatten().find_map(cpu::hypervisor_named).filter(|_| !is_metal);
    if let Some(name) = hypervisor {
        machine.cpus.hypervisor = Fact::known(name, source);
    }
    true
}

/// `Base Board Information`.
pub(super) fn take_board(dmi: &mut Dmi, structure: &Structure<'_>, source: &str) -> bool {
    let (maker, name) = (structure.field("Manufacturer"), structure.field("Product Name"));
    let is_other = structure.field("Type").is_some_and(|kind| kind != "Motherboard" && kind != "Unknown");
    if is_other || (maker.is_none() && name.is_none()) {
        return false;
    }
    dmi.board_vendor = said(maker, source);
    dmi.board = said(name, source);
    true
}

/// The processors so far.
#[derive(Default)]
pub(super) struct Processors {
    sockets: u32,
    cores: u32,
    model: Fact<String>,
    signature: Fact<(u32, u32, u32)>,
    source: Option<String>,
}

impl Processors {
    /// Adds one `Processor Information`.
    pub(super) fn take(&mut self, structure: &Structure<'_>, source: &str) -> bool {
        let is_central = structure.field("Type").is_none_or(|kind| kind == "Central Processor");
        let is_there = structure.field("Status").is_none_or(|status| status.starts_with("Populated"));
        if structure.field("Socket Designation").is_none() || !is_central || !is_there {
            return false;
        }
        self.sockets = self.sockets.saturating_add(1);
        let cores = structure.field("Core Enabled").or_else(|| structure.field("Core Count"));
        self.cores =
            self.cores.saturating_add(cores.and_then(|count| count.parse().ok()).unwrap_or_default());
        if self.source.is_none() {
            self.model = said(structure.field("Version"), source)
                .map(|model| model.split_whitespace().collect::<Vec<_>>().join(" "));
            let signature = structure.field("Signature").and_then(parse_signature);
            self.signature = signature.map_or_else(Fact::default, |signature| Fact::known(signature, source));
            self.source = Some(source.to_owned());
        }
        true
    }

    /// Writes down what they are together.
    pub(super) fn fill(self, cpus: &mut Cpus) {
        let Some(source) = self.source else { return };
        cpus.model = self.model;
        cpus.signature = self.signature;
        cpus.sockets = Fact::known(self.sockets, source.as_str());
        if self.cores > 0 {
            cpus.cores = Fact::known(self.cores, source);
        }
    }
}

/// Reads `Type 0, Family 6, Model 58, Stepping 9`.
fn parse_signature(text: &str) -> Option<(u32, u32, u32)> {
    let number = |key: &str| {
        text.split(',').find_map(|part| part.trim().strip_prefix(key)?.trim().parse::<u32>().ok())
    };
    Some((number("Family")?, number("Model")?, number("Stepping").unwrap_or_default()))
}
