//! From what was typed to what it is: `/dev/sda`, `/home`, `./file`, `0000:02:00.0`, `eth0`.

use super::root::Root;

/// What a typed target turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A block device, by kernel name (links such as `/dev/mapper/root` and `/dev/disk/by-id/…` followed).
    Block(String),
    /// A directory or file, with every link resolved.
    File(String),
    /// A PCI function.
    Pci(super::pci::PciAddress),
    /// A network interface.
    Nic(String),
}

/// Why a target is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotATarget {
    /// Nothing is there.
    #[error("`{0}` does not exist")]
    Absent(String),
    /// It is there, but is nothing that stores data.
    #[error("`{0}` is {1}, not a device, file system, file, PCI address or network interface")]
    Unsuitable(String, String),
}

/// Finds what `typed` names.
///
/// # Errors
/// [`NotATarget`] when nothing is there or it is of no use.
pub fn find(_root: &Root, typed: &str) -> Result<Found, NotATarget> {
    Err(NotATarget::Absent(typed.to_owned()))
}
