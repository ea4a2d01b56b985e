//! Where a device sits: the sysfs path with every link resolved, and what its components say.

use crate::pci::PciAddress;

/// A resolved sysfs path, such as
/// `/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DevicePath<'a>(&'a str);

impl<'a> DevicePath<'a> {
    /// Wraps a path that [`crate::root::Root::resolve`] returned.
    pub(crate) const fn new(path: &'a str) -> Self {
        Self(path)
    }

    /// The components, from the root on.
    pub(crate) fn components(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    /// The innermost PCI function on the path: the one that moves the device's data.
    pub(crate) fn pci(self) -> Option<PciAddress> {
        self.components().rev().find_map(pci_address)
    }

    /// The innermost component that is `prefix` and a number, such as `ata3`.
    pub(crate) fn numbered(self, prefix: &str) -> Option<&'a str> {
        self.components().rev().find(|component| is_numbered(component, prefix))
    }

    /// The innermost component that starts with `prefix`.
    pub(crate) fn starting(self, prefix: &str) -> Option<&'a str> {
        self.components().rev().find(|component| component.starts_with(prefix))
    }

    /// Whether the text stands in the path.
    pub(crate) fn contains(self, text: &str) -> bool {
        self.0.contains(text)
    }

    /// The path up to and with the innermost occurrence of `component`.
    pub(crate) fn up_to(self, component: &str) -> Option<&'a str> {
        let at = self.0.rmatch_indices(component).map(|(at, _)| at).find(|at| {
            let before = at.checked_sub(1).and_then(|before| self.0.as_bytes().get(before));
            let after = self.0.as_bytes().get(at + component.len());
            before == Some(&b'/') && matches!(after, None | Some(b'/'))
        })?;
        self.0.get(..at + component.len())
    }

    /// The component above the last one.
    pub(crate) fn parent_name(self) -> Option<&'a str> {
        self.components().rev().nth(1)
    }

    /// The last component.
    pub(crate) fn name(self) -> Option<&'a str> {
        self.components().next_back()
    }
}

/// Reads a component as a PCI address; sysfs always writes the domain, and with four digits or more.
fn pci_address(component: &str) -> Option<PciAddress> {
    let (domain, _) = component.split_once(':')?;
    (domain.len() >= 4).then(|| component.parse().ok()).flatten()
}

/// Whether `text` is `prefix` followed by digits only.
pub fn is_numbered(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SATA: &str = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";

    #[test]
    fn the_innermost_pci_function_carries_the_device() {
        let vmd =
            "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0/nvme/nvme0/nvme0n1";
        assert_eq!(DevicePath::new(vmd).pci().map(|pci| pci.to_string()).as_deref(), Some("10000:e1:00.0"));
        assert_eq!(DevicePath::new(SATA).pci().map(|pci| pci.to_string()).as_deref(), Some("0000:00:17.0"));
        assert_eq!(DevicePath::new("/sys/devices/virtual/block/md0").pci(), None);
    }

    #[test]
    fn components_are_found_by_kind_and_cut_at_whole_names() {
        let path = DevicePath::new(SATA);
        assert_eq!(path.numbered("ata"), Some("ata3"));
        assert_eq!(path.numbered("host"), Some("host2"));
        assert_eq!(path.numbered("target"), None);
        assert_eq!(path.up_to("host2"), Some("/sys/devices/pci0000:00/0000:00:17.0/ata3/host2"));
        assert_eq!(path.up_to("ata"), None);
        assert_eq!(path.parent_name(), Some("block"));
    }

    proptest! {
        #[test]
        fn no_path_panics(path in "[/a-z0-9:.]{0,60}", component in "[a-z0-9/:]{0,5}") {
            let path = DevicePath::new(&path);
            let _ = (path.pci(), path.numbered(&component), path.up_to(&component), path.parent_name());
        }
    }
}
