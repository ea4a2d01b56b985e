//! What a host says of itself: the answers of `narrows fleet-host`, each a line of JSON.

use std::collections::BTreeMap;
use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use narrows_base::units::Bytes;

/// What a host has and what its target is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// fio's version, without `fio-`; absent where it is not installed.
    pub fio: Option<String>,
    /// The target; or why it is none.
    pub target: Option<Result<Found, String>>,
    /// The ports of storage servers that this host uses.
    pub ports: Vec<u16>,
    /// Facts that may tell it from the others.
    pub facts: BTreeMap<String, String>,
    /// The drives of this host.
    pub drives: Vec<String>,
}

/// What a target is on its host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// What kind of thing.
    pub kind: FoundKind,
    /// Its name there.
    pub name: String,
    /// The size of a device or file; absent of a directory and of an export.
    pub size: Option<Bytes>,
    /// What is free in a directory.
    pub free: Option<Bytes>,
    /// The storage server that it comes from.
    pub server: Option<String>,
    /// Kernel names of the drives that it lies on.
    pub drives: Vec<String>,
    /// The serial number of a device.
    pub serial: Option<String>,
}

/// Kinds of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundKind {
    /// A block device, which is read.
    Device,
    /// A file, which is read.
    File,
    /// A directory, in which a file without a name is made.
    Directory,
    /// An export of a network block device.
    Nbd,
}

/// A target that is held open for the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Its size.
    pub size: Bytes,
    /// Whether it is opened with `O_DIRECT`.
    pub is_direct: bool,
}

/// What the keeper says, and what a step says that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The server of fio is there.
    Ready,
    /// It will not be.
    Refused(String),
    /// The server of fio ended.
    Ended(String),
    /// So many jobs of a run sleep until they are told when it begins.
    Waiting {
        /// The number of the run.
        point: usize,
        /// How many jobs.
        jobs: usize,
    },
    /// The target is ready.
    Prepared(Prepared),
}

/// What the controller tells the keeper: when a run begins, on the host's clock, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Go {
    /// The number of the run.
    pub point: usize,
    /// When it begins.
    pub start_ns: u64,
}

/// The name of the file in the run's directory that a job which waits makes.
pub fn waiting_name(point: usize, process: u32) -> String {
    format!("waiting-{point}-{process}")
}

/// What the names of these files of one run begin with.
pub fn waiting_prefix(point: usize) -> String {
    format!("waiting-{point}-")
}

/// The name of the file in the run's directory that says when a run begins.
pub fn start_name(point: usize) -> String {
    format!("start-{point}")
}

/// The lock of a host: one controller at a time, whoever it is. It lies on the host's network, which is what the load of two would
/// share: a lock on a file of the kernel leaves no file behind, and is gone with whoever holds it.
#[derive(Debug)]
pub struct HostLock {
    _file: File,
}

impl HostLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// Another controller has it, or there is no `/proc`.
    pub fn take() -> Result<Self, String> {
        Self::take_at("/proc/self/ns/net")
    }

    #[expect(clippy::disallowed_methods, reason = "a file of the kernel that is locked and not read")]
    fn take_at(path: &str) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| format!("cannot open {path}: {error}"))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| "another controller runs a load on this host".to_owned())?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_controller_is_refused_until_the_first_is_gone() {
        // Others on this machine may hold that of the network.
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("is text");
        let first = HostLock::take_at(path).expect("is free");
        assert!(HostLock::take_at(path).is_err_and(|why| why.contains("another controller")));
        drop(first);
        assert!(HostLock::take_at(path).is_ok());
    }
}
