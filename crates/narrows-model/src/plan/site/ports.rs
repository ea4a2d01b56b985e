//! The SATA ports of a site: no slots, so they are only counted.

/// The SATA ports of a site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ports {
    /// Their names, as far as they are known.
    pub names: Vec<String>,
    /// Whether these are all.
    pub whole: bool,
    /// Drives that are on some of them now; which of them is not known.
    pub used: usize,
}
