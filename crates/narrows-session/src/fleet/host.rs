//! What a host says of itself: the answers of `narrows fleet-host`, each a line of JSON, and what its clock is ahead of ours.

use std::collections::BTreeMap;
use std::fs::File;

use narrows_base::units::Bytes;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// What a host has and what its target is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// fio's version, without `fio-`; absent where it is not installed.
    pub fio: Option<String>,
    /// The target; or why it is none.
    pub target: Option<Result<HostTarget, String>>,
    /// The ports of storage servers that this host uses.
    pub ports: Vec<u16>,
    /// Facts that may tell it from the others.
    pub facts: BTreeMap<String, String>,
    /// The drives of this host.
    pub drives: Vec<String>,
}

/// What a target is on its host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostTarget {
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

/// One question and its answer, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// When we asked, on our clock.
    pub asked: u64,
    /// What the host's clock said.
    pub told: u64,
    /// When the answer came, on our clock.
    pub came: u64,
}

/// What a host's clock is ahead of ours, and by how much that may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// Ahead by so many nanoseconds; negative when it is behind.
    pub ahead_ns: i64,
    /// Half of the round trip: the host may have looked at its clock at any moment of it.
    pub uncertainty_ns: u64,
}

/// More than this is too uncertain for a common start: it is as long as the starts of all hosts may lie apart.
pub const MOST_UNCERTAIN_NS: u64 = 50_000_000;

/// The offset by the fastest of several round trips, which waited least. `None` of none.
pub fn offset(trips: &[RoundTrip]) -> Option<Offset> {
    let fastest =
        trips.iter().filter(|trip| trip.came >= trip.asked).min_by_key(|trip| trip.came - trip.asked)?;
    let half = (fastest.came - fastest.asked) / 2;
    let ours = i128::from(fastest.asked) + i128::from(half);
    let ahead_ns = i64::try_from(i128::from(fastest.told) - ours).ok()?;
    Some(Offset { ahead_ns, uncertainty_ns: half.max(1) })
}

impl Offset {
    /// A moment of our clock on the host's.
    pub const fn on_host(self, ours: u64) -> u64 {
        ours.saturating_add_signed(self.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn the_fastest_round_trip_counts() {
        let hour = 3_600_000_000_000;
        let trips = [
            RoundTrip { asked: 1_000_000, told: hour + 90_000_000, came: 101_000_000 },
            RoundTrip { asked: 200_000_000, told: hour + 200_300_000, came: 200_600_000 },
        ];
        let offset = offset(&trips).expect("has trips");
        assert_eq!(offset, Offset { ahead_ns: hour as i64, uncertainty_ns: 300_000 });
        assert_eq!(offset.on_host(5), hour + 5);
        assert_eq!(super::offset(&[]), None);
    }

    proptest! {
        #[test]
        fn the_truth_lies_within_the_uncertainty(
            ahead in -7_200_000_000_000i64..7_200_000_000_000,
            trips in prop::collection::vec((0u64..1_000_000_000, 1u64..100_000_000, 0.0f64..1.0), 1..9),
        ) {
            let base = 1_700_000_000_000_000_000u64;
            let trips: Vec<RoundTrip> = trips.into_iter().map(|(at, length, part)| {
                let asked = base + at;
                let seen = asked + (length as f64 * part) as u64;
                RoundTrip { asked, told: seen.saturating_add_signed(ahead), came: asked + length }
            }).collect();
            let found = offset(&trips).expect("has trips");
            prop_assert!(found.ahead_ns.abs_diff(ahead) <= found.uncertainty_ns + 1);
        }
    }
}
