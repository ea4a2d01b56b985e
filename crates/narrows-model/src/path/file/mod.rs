//! A system that is described instead of inspected: `*.path.toml`.
//!
//! A [`System`] is plain data: parts that hang on each other by name, what runs on them, and what was published of them.
//! It is read from a file, or made in code, and becomes the same [`Path`](super::Path) as a live machine does.

pub mod build;
mod change;
mod error;
mod model;
mod read;
#[cfg(test)]
pub(crate) mod testing;
mod write;

pub use build::{BuildError, path};
pub use error::{At, FileError, Problem};
pub use model::{
    Adapter, Attachment, Cache, Chipset, Cluster, Copies, Crypt, Device, DeviceKind, Engine, Filesystem,
    Host, Interconnect, Iommu, LinkGiven, Name, Network, Part, PartKind, Pattern, Published, PublishedValue,
    Raid, RaidKind, Remote, Slot, Switch, System, Technology, Vm, Volume, VolumeKind, Workload, WriteCache,
};
pub use read::{Document, MOST_BYTES, parse};
