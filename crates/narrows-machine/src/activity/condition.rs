//! What can be asked while no load runs: the links, and what drives say of themselves. A SATA drive interrupts its queue to
//! answer, so drives are asked before and after a run, not in it.

use std::collections::BTreeMap;

use super::LinkState;
use crate::health::{self, DriveHealth};
use crate::pci::PciAddress;
use crate::root::Root;

/// The condition of a path at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Condition {
    /// The state of links, by the address of the function below each.
    pub links: BTreeMap<PciAddress, LinkState>,
    /// Drives that say anything of themselves, by kernel name.
    pub drives: BTreeMap<String, DriveHealth>,
}

impl Condition {
    /// Asks all links of the machine, and these drives.
    pub fn read<'a>(root: &Root, drives: impl IntoIterator<Item = &'a str>) -> Self {
        Self { links: super::links(root), drives: health::read(root, drives) }
    }
}
