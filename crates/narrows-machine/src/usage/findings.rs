//! What a search comes to: who uses the device, and which classes of user it could not see.

use std::collections::BTreeSet;

use super::class::{Class, Hidden};
use super::wanted::{Held, Wanted};
use super::{DeviceUse, How};
use crate::root::Root;

/// What a search comes to.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Who uses members of the family, in order.
    pub(super) uses: BTreeSet<DeviceUse>,
    /// What could not be seen, in order.
    pub(super) hidden: BTreeSet<Hidden>,
}

impl Findings {
    /// Somebody uses a device.
    pub(super) fn note(&mut self, device: &str, how: How) {
        self.uses.insert(DeviceUse { device: device.to_owned(), how });
    }

    /// Classes cannot be seen.
    pub(super) fn hide(&mut self, classes: &[Class], why: impl Into<String>) {
        self.hidden.insert(Hidden::new(classes, why));
    }

    /// Whether a class is known not to be seen.
    pub(super) fn hides(&self, class: Class) -> bool {
        self.hidden.iter().any(|hidden| hidden.classes.contains(&class))
    }
}

/// Where a path that the kernel tells of leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// To a member.
    Member(Held),
    /// To something else.
    Elsewhere,
    /// To nothing that could be looked at: what the kernel holds is not known.
    Nowhere,
}

/// Where a path leads to. A relative path was one of a process that is not known.
pub(super) fn lead(root: &Root, wanted: &Wanted, path: &str) -> Lead {
    match root.stat(path).filter(|_| path.starts_with('/')) {
        None => Lead::Nowhere,
        Some(stat) => wanted.held_at(root, path, &stat).map_or(Lead::Elsewhere, Lead::Member),
    }
}
