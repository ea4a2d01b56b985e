//! How a whole medium is searched, by how fast it is.

use std::fmt;
use std::time::Duration;

use narrows_base::units::{Nanos, human};

/// No search takes longer, from its first read on. A read that hangs is waited for.
pub(super) const LONGEST: Duration = Duration::from_secs(85);
/// All of a medium is read when that takes no longer.
const WHOLE_TIME: Duration = Duration::from_secs(12);
/// All of a medium is read when it is no larger, whatever its speed seemed to be at first; at 6.7 MB/s that takes [`WHOLE_LATE`].
pub(super) const WHOLE_SIZE: u64 = 256 * MIB;
/// A search that reads all is given up when it is going to take longer in all.
pub(super) const WHOLE_LATE: Duration = Duration::from_secs(40);
/// More than one place of each MiB is read as long as that takes no longer.
const DENSE_TIME: Duration = Duration::from_secs(25);
/// Further places of each MiB are given up when they take longer in all.
pub(super) const DENSE_LATE: Duration = Duration::from_secs(50);
/// How long the places of each MiB may be expected to take.
const SPARSE_TIME: Duration = Duration::from_secs(75);
/// How long random places are read.
const RANDOM_TIME: Duration = Duration::from_secs(60);
/// More than one place of each MiB is read as long as there are no more in all.
pub(super) const MOST_PLACES: u64 = 4_000_000;

pub(super) const MIB: u64 = 1 << 20;
/// What is read in one go where all is read.
pub(super) const CHUNK: u64 = MIB;
/// The first byte of the piece with this index where it is measured how fast all is read: pieces of 64 KiB to 1 MiB, the shortest
/// first, so that a slow medium has answered one in time.
pub(super) const fn ramp(index: u64) -> u64 {
    if index < 4 { ((1 << index) - 1) << 16 } else { (15 << 16) + (index - 4) * CHUNK }
}

/// Where in each MiB is looked, in this order, as far as the time goes: where formats have their magic numbers, counted
/// from the beginning of a partition.
pub(super) const PLACES: [u64; 8] =
    [0, 64 << 10, 4 << 10, 32 << 10, 128 << 10, 8 << 10, 512 << 10, 256 << 10];

/// How a medium is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// All of it is read.
    All,
    /// So many places of 4 KiB in each MiB are read, the first of them at its beginning.
    EachMib(u32),
    /// Random places of 4 KiB are read.
    Random,
}

/// What a search is going to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// How.
    pub method: Method,
    /// How many reads that takes.
    pub reads: u64,
    /// How long it is expected to take.
    pub time: Duration,
}

/// How fast a medium was at the beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Speed {
    /// Random places of 4 KiB in a second.
    pub(super) places: f64,
    /// Bytes in a second where all is read.
    pub(super) bytes: f64,
}

/// Whether all of a medium is read at so many bytes in a second.
pub(super) fn reads_whole(size: u64, rate: f64) -> bool {
    size <= WHOLE_SIZE || after(size, rate) <= WHOLE_TIME
}

/// How long so much takes at this rate.
fn after(amount: u64, rate: f64) -> Duration {
    Duration::try_from_secs_f64(amount as f64 / rate.max(1e-3)).unwrap_or(Duration::MAX)
}

/// What to do with a medium of `size` bytes at this speed.
pub(super) fn plan(size: u64, speed: Speed) -> Plan {
    if reads_whole(size, speed.bytes) {
        return Plan { method: Method::All, reads: size.div_ceil(CHUNK), time: after(size, speed.bytes) };
    }
    let each = size.div_ceil(MIB);
    let dense = |count: &u64| each * count <= MOST_PLACES && after(each * count, speed.places) <= DENSE_TIME;
    let count = (2..=PLACES.len() as u64).rev().find(dense).unwrap_or(1);
    let time = after(each * count, speed.places);
    if time <= SPARSE_TIME {
        return Plan { method: Method::EachMib(count as u32), reads: each * count, time };
    }
    let reads = ((RANDOM_TIME.as_secs_f64() * speed.places) as u64).clamp(1, MOST_PLACES);
    Plan { method: Method::Random, reads, time: RANDOM_TIME }
}

impl Plan {
    /// What is done instead when it takes too long: a place of each MiB instead of all, random ones instead of that.
    pub(super) fn instead(self, size: u64, speed: Speed) -> Option<Self> {
        let each = size.div_ceil(MIB);
        match self.method {
            Method::All => {
                let time = Duration::try_from_secs_f64(each as f64 / speed.places.max(1.0)).ok();
                let time = time.unwrap_or(SPARSE_TIME).min(SPARSE_TIME);
                Some(Self { method: Method::EachMib(1), reads: each, time })
            }
            Method::EachMib(_) => {
                let reads = (RANDOM_TIME.as_secs_f64() * speed.places) as u64;
                Some(Self { method: Method::Random, reads: reads.clamp(1, MOST_PLACES), time: RANDOM_TIME })
            }
            Method::Random => None,
        }
    }
}

/// Where partitions mostly begin: sector 34 or 63, at 64 KiB, at a power of two of MiB, at the first MiB, or at a GiB.
pub(super) fn usual_starts(size: u64) -> impl Iterator<Item = u64> + Send {
    let sectors = [34 * 512, 63 * 512, 64 << 10, 128 << 10, 256 << 10, 512 << 10];
    let mibs = (1..=256).map(|index| index * MIB);
    let powers = (9..40).map(|power| MIB << power);
    let gibs = (1..=64).map(|index: u64| index << 30);
    let behind = (1..=16).map(|index: u64| (index << 30) + MIB);
    sectors.into_iter().chain(mibs).chain(powers).chain(gibs).chain(behind).filter(move |start| *start < size)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reads = human::grouped(self.reads);
        match self.method {
            Method::All => write!(f, "reads all of it")?,
            Method::EachMib(1) => write!(f, "reads the first 4 KiB of each MiB, {reads} places")?,
            Method::EachMib(count) => write!(f, "reads {count} places of 4 KiB in each MiB, {reads} in all")?,
            Method::Random => write!(f, "reads random places of 4 KiB, about {reads}")?,
        }
        let seconds = self.time.as_secs_f64().max(1.0).ceil();
        write!(f, "; about {}", human::time(Nanos::from(Duration::from_secs_f64(seconds))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(size: u64, places: f64, bytes: f64) -> Plan {
        plan(size, Speed { places, bytes })
    }

    const TB: u64 = 1_000_000_000_000;

    #[test]
    fn what_is_read_follows_from_the_speed() {
        // A fast drive of 4 TB: each MiB, 3.8 million reads.
        let fast = planned(4 * TB, 500_000.0, 6e9);
        assert_eq!((fast.method, fast.reads), (Method::EachMib(1), 3_814_698));
        assert!(fast.time < Duration::from_secs(8));
        // A small one is read as a whole, a hard disk of 4 TB at random places.
        assert_eq!(planned(20 << 30, 500_000.0, 3e9).method, Method::All);
        let disk = planned(4 * TB, 200.0, 180e6);
        assert_eq!((disk.method, disk.reads), (Method::Random, 12_000));
        // A SATA drive of 512 GB: two places of each MiB, as long as that takes no longer than 25 s.
        assert_eq!(planned(TB / 2, 60_000.0, 5e8).method, Method::EachMib(3));
        // Whatever else, a tiny device is read as a whole.
        assert_eq!(planned(16 << 20, 1.0, 1.0).method, Method::All);
        assert_eq!(planned(100 << 30, 0.0, 0.0).method, Method::Random, "nothing came back yet");
    }

    #[test]
    fn four_terabytes_take_no_more_than_the_promised_reads_at_any_speed() {
        for power in 0..8 {
            let plan = planned(4 * TB, 10_f64.powi(power), 1e8);
            assert!(plan.reads <= 4_200_000 && plan.time <= SPARSE_TIME, "{plan:?}");
        }
    }

    #[test]
    fn the_usual_starts_of_partitions_are_among_those_looked_at() {
        let starts: Vec<u64> = usual_starts(4 * TB).collect();
        for start in [63 * 512, 34 * 512, 64 << 10, 1 << 20, 4 << 20, 8 << 20, 2048 * 512, 1 << 30] {
            assert!(starts.contains(&start), "{start}");
        }
        assert!(starts.len() < 500);
    }

    #[test]
    fn a_plan_says_what_is_read_and_how_long_it_takes() {
        let text = planned(4 * TB, 200_000.0, 1e9).to_string();
        assert_eq!(text, "reads the first 4 KiB of each MiB, 3,814,698 places; about 20 s");
    }
}
