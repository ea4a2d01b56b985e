//! ZFS pools. Their layers are in no file of `/sys`; `zpool status` tells them (OpenZFS `zpool-status(8)`), so that they
//! are known of captured machines only.

use super::fact::Fact;
use crate::units::BytesPerSec;

/// A ZFS pool.
#[derive(Debug, Clone, Default)]
pub struct ZfsPool {
    /// Its name.
    pub name: String,
    /// `ONLINE`, `DEGRADED`, `FAULTED`, `SUSPENDED`…
    pub state: Fact<String>,
    /// The scrub or resilver that is running; absent when none is.
    pub scan: Fact<ZfsScan>,
    /// The virtual devices over which data are spread, and those with other roles.
    pub vdevs: Vec<ZfsVdev>,
}

/// A running scrub or resilver.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZfsScan {
    /// `scrub` or `resilver`.
    pub action: String,
    /// How far it is, 0 to 1.
    pub done: Option<f64>,
    /// How fast it reads or issues work.
    pub rate: Option<BytesPerSec>,
}

/// A virtual device of a pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZfsVdev {
    /// `mirror-0`, `raidz2-1`, or the name of a device that stands alone.
    pub name: String,
    /// What it is for: `data`, `logs`, `cache`, `spares`, `special`, `dedup`.
    pub role: String,
    /// `ONLINE`, `DEGRADED`, `FAULTED`, `AVAIL`… as printed.
    pub state: String,
    /// The devices that it is made of, by key where the name tells it and as printed where not.
    pub devices: Vec<ZfsDevice>,
}

/// A device of a pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZfsDevice {
    /// `sda1`, or a name of `/dev/disk/by-id`.
    pub name: String,
    /// `ONLINE`, `FAULTED`, `UNAVAIL`… as printed.
    pub state: String,
}
