//! Functions that another tool lists: their place, names and classes, and nothing of their links.

use std::collections::BTreeMap;

use super::class;
use super::head::kept;
use narrows_base::fact::Fact;
use narrows_machine::pci::{PciAddress, PciDevice, PciId};

/// The functions of one listing.
#[derive(Debug, Default)]
pub(in crate::capture) struct Listed(BTreeMap<PciAddress, PciDevice>);

impl Listed {
    /// Adds a function: its place and the bridge above it; its id, its name and its class of 16 bits; its driver.
    pub(in crate::capture) fn add(
        &mut self,
        source: &str,
        (address, above): (PciAddress, Option<PciAddress>),
        (id, name, class): (Option<PciId>, Option<&str>, Option<u16>),
        driver: Option<&str>,
    ) {
        if self.0.len() >= super::functions::MOST {
            return;
        }
        let text = |text: Option<&str>| {
            text.and_then(kept).map_or_else(Fact::default, |text| Fact::known(text, source))
        };
        let device = PciDevice {
            address,
            parent: above.filter(|above| above.domain == address.domain && above.bus < address.bus),
            id: id.map_or_else(Fact::default, |id| Fact::known(id, source)),
            name: text(name),
            class: class.map_or_else(Fact::default, |code| Fact::known(class::full(code, None), source)),
            driver: text(driver),
            ..PciDevice::default()
        };
        self.0.entry(address).or_insert(device);
    }

    /// What was added; `None` of nothing.
    pub(in crate::capture) fn finish(self) -> Option<BTreeMap<PciAddress, PciDevice>> {
        (!self.0.is_empty()).then_some(self.0)
    }
}
