//! What it takes to qualify a drive: which parts fit into what may be written, and what a pass over the drive says of a fast
//! cache in it.
//!
//! The order is that of SNIA's Solid State Storage Performance Test Specification 2.0.2, section 7: the whole drive is
//! written twice in sequence (workload independent preconditioning), then at random in rounds until five agree
//! (`stats::steadiness`). The first pass, over a drive that is blank, shows a fast cache as one step down that stays
//! (`stats::cliff`).

use serde::{Deserialize, Serialize};

use super::stats::{Cliff, cliff, steadiness};
use narrows_base::units::{Bytes, BytesPerSec};

/// A part of a qualification. All but [`Reads`](Self::Reads) write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// One pass in sequence over a blank region: the size of a fast cache, and the rates in it and behind it.
    Cache,
    /// A second pass and rounds of random writes until five agree. Only over the whole drive.
    Steady,
    /// Reads, at random and in sequence.
    Reads,
    /// Reads and writes at once.
    Mixed,
    /// The highest rate at which a percentile of latency stays below a limit.
    LatencyTarget,
    /// What of the cache is back after a rest.
    Recovery,
}

/// What a part may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The part.
    pub part: Part,
    /// The most that it writes.
    pub most: Bytes,
    /// Whether there is enough for it.
    pub fits: bool,
}

/// What of a drive is written, by which parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What of the drive can be written.
    pub capacity: Bytes,
    /// What of that is written; the first pass visits all of it.
    pub region: Bytes,
    /// The parts, in the order in which they run.
    pub parts: Vec<Planned>,
    /// What must be allowed for all of them over the whole drive.
    pub needed: Bytes,
}

/// What a part of a capacity is at the most, as a divisor.
const MIXED: u64 = 16;
const TARGET: u64 = 16;
const RECOVERY: u64 = 4;
/// What is written in whole units of.
const UNIT: u64 = 1 << 20;
/// A smaller region fits into the memory of controllers, and says nothing of the medium.
pub const LEAST: Bytes = Bytes::from_mib(64);

impl Plan {
    /// The plan for a drive of which `capacity` can be written, where `allowed` bytes may be in all, clearing included.
    /// `None` where not even the least region fits.
    pub fn new(capacity: Bytes, allowed: Bytes, has_target: bool) -> Option<Self> {
        let capacity = whole(capacity.get());
        // The first pass and clearing, and the small parts.
        let few = |region: u64| 2 * region + small(region, has_target);
        let region = if few(capacity) <= allowed.get() {
            capacity
        } else {
            let mut region =
                whole((u128::from(allowed.get()) * u128::from(UNIT) / u128::from(few(UNIT))) as u64);
            while few(region) > allowed.get() && region > 0 {
                region -= UNIT;
            }
            region
        };
        if region < LEAST.get().min(capacity) || region == 0 {
            return None;
        }
        let is_whole = region == capacity;
        let steady = is_whole && few(region) + 2 * capacity <= allowed.get();
        let planned = |part, most, fits| Planned { part, most: Bytes::new(most), fits };
        let mut parts = vec![
            planned(Part::Cache, region, true),
            planned(Part::Steady, 2 * capacity, steady),
            planned(Part::Reads, 0, true),
            planned(Part::Mixed, region / MIXED, true),
        ];
        if has_target {
            parts.push(planned(Part::LatencyTarget, region / TARGET, true));
        }
        parts.push(planned(Part::Recovery, region / RECOVERY, true));
        let needed = Bytes::new(few(capacity) + 2 * capacity);
        Some(Self { capacity: Bytes::new(capacity), region: Bytes::new(region), parts, needed })
    }

    /// Whether all of the drive is written.
    pub fn is_whole(&self) -> bool {
        self.region == self.capacity
    }

    /// The most that is written, clearing included.
    pub fn most(&self) -> Bytes {
        self.parts.iter().filter(|planned| planned.fits).fold(self.region, |sum, planned| sum + planned.most)
    }

    /// What is planned for a part; `None` where it is not among those that were asked for.
    pub fn of(&self, part: Part) -> Option<Planned> {
        self.parts.iter().find(|planned| planned.part == part).copied()
    }
}

/// What the parts behind the first pass write that need no second one.
fn small(region: u64, has_target: bool) -> u64 {
    region / MIXED + region / RECOVERY + if has_target { region / TARGET } else { 0 }
}

fn whole(bytes: u64) -> u64 {
    bytes / UNIT * UNIT
}

/// A pass that took less time than this says nothing of a cache: each of two rates must hold for a second.
const LEAST_SAMPLES: usize = 20;
/// A rate without a step moves by no more than this part of its mean.
const EVEN: f64 = 0.3;

/// What a pass over a blank region says of a fast cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Cache {
    /// The rate fell once and stayed low.
    Seen {
        /// What went at the higher rate before.
        bytes: Bytes,
        /// That rate.
        fast_bytes_per_second: BytesPerSec,
        /// The rate behind it.
        slow_bytes_per_second: BytesPerSec,
    },
    /// It was even: a cache, if there is one, holds more than was written.
    NotSeen {
        /// What was written.
        larger_than_bytes: Bytes,
        /// The rate.
        bytes_per_second: BytesPerSec,
    },
    /// The pass was over within two seconds.
    TooShort,
    /// The rate moved by more than 30 %, but not in one step that stayed.
    Uneven,
}

impl Cache {
    /// Judges a pass that wrote `bytes` with this rate in each 100 ms.
    pub fn of_pass(series: &[BytesPerSec], bytes: Bytes, mean: BytesPerSec) -> Self {
        if let Some(Cliff { bytes, before_bytes_per_second, after_bytes_per_second, .. }) = cliff(series) {
            return Self::Seen {
                bytes,
                fast_bytes_per_second: before_bytes_per_second,
                slow_bytes_per_second: after_bytes_per_second,
            };
        }
        match steadiness(series).filter(|_| series.len() >= LEAST_SAMPLES) {
            None => Self::TooShort,
            Some(steady) if steady.range > EVEN => Self::Uneven,
            Some(_) => Self::NotSeen { larger_than_bytes: bytes, bytes_per_second: mean },
        }
    }
}

/// How much of a cache is back after a rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Recovery {
    /// So much went at the higher rate before it fell.
    Back {
        /// What went at the higher rate.
        bytes: Bytes,
        /// As a part of what did in the first pass.
        part: f64,
    },
    /// All that was written went at the higher rate.
    AtLeast {
        /// What was written.
        bytes: Bytes,
        /// As a part of what went at the higher rate in the first pass.
        part: f64,
    },
    /// It was written at the lower rate from the beginning: less than a second of writes is back.
    None {
        /// The rate.
        bytes_per_second: BytesPerSec,
    },
    /// Too little was written to say, or the rate was neither of the two.
    NotKnown,
}

impl Recovery {
    /// Judges what was written after a rest, where the first pass showed a cache of `full` bytes with these rates in it and
    /// behind it.
    pub fn of(
        series: &[BytesPerSec],
        bytes: Bytes,
        full: Bytes,
        (fast, slow): (BytesPerSec, BytesPerSec),
    ) -> Self {
        let part = |bytes: Bytes| if full.get() > 0 { bytes.as_f64() / full.as_f64() } else { 0.0 };
        let middle = fast.get().midpoint(slow.get());
        if let Some(found) = cliff(series).filter(|found| found.before_bytes_per_second.get() > middle) {
            return Self::Back { bytes: found.bytes, part: part(found.bytes) };
        }
        match steadiness(series) {
            Some(steady) if steady.range <= EVEN => {
                let mean = series.iter().map(|rate| rate.get()).sum::<f64>() / series.len().max(1) as f64;
                // Nearer to one of the rates than a quarter of what lies between them.
                let quarter = (fast.get() - slow.get()) / 4.0;
                if mean > fast.get() - quarter {
                    Self::AtLeast { bytes, part: part(bytes) }
                } else if mean < slow.get() + quarter {
                    Self::None { bytes_per_second: BytesPerSec::new(mean) }
                } else {
                    Self::NotKnown
                }
            }
            _ => Self::NotKnown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIB: u64 = 1 << 30;

    fn rates(parts: &[(f64, usize)]) -> Vec<BytesPerSec> {
        parts.iter().flat_map(|(mb, count)| vec![BytesPerSec::from_mb(*mb); *count]).collect()
    }

    #[test]
    fn a_whole_qualification_writes_four_and_five_sixteenths_of_the_drive() {
        let capacity = Bytes::new(16 * GIB);
        // First pass 16, second 16, rounds 16, mixed 1, recovery 4, clearing 16: 69 GiB.
        let all = Plan::new(capacity, Bytes::new(69 * GIB), false).expect("fits");
        assert_eq!(
            (all.needed, all.most(), all.is_whole()),
            (Bytes::new(69 * GIB), Bytes::new(69 * GIB), true)
        );
        assert!(all.parts.iter().all(|planned| planned.fits));
        let less = Plan::new(capacity, Bytes::new(69 * GIB - 1), false).expect("fits");
        assert!(less.is_whole() && !less.of(Part::Steady).expect("is planned").fits);
        assert_eq!(less.most(), Bytes::new(37 * GIB));
        let aimed = Plan::new(capacity, Bytes::new(70 * GIB), true).expect("fits");
        assert_eq!(
            (aimed.needed, aimed.of(Part::LatencyTarget).map(|p| p.most)),
            (Bytes::new(70 * GIB), Some(Bytes::new(GIB)),)
        );
    }

    #[test]
    fn with_less_a_part_of_the_drive_is_written_and_no_steady_state_is_claimed() {
        let plan = Plan::new(Bytes::new(1000 * GIB), Bytes::new(37 * GIB), false).expect("fits");
        // 2 + 1/16 + 1/4 times 16 GiB are 37 GiB.
        assert_eq!(plan.region, Bytes::new(16 * GIB));
        assert!(!plan.is_whole() && !plan.of(Part::Steady).expect("is planned").fits);
        assert_eq!(Plan::new(Bytes::new(1000 * GIB), Bytes::from_mib(140), false), None);
        // A drive that is smaller than the least region is written as a whole or not at all.
        let small = Bytes::from_mib(32);
        assert!(Plan::new(small, Bytes::from_mib(200), false).is_some_and(|plan| plan.is_whole()));
        assert_eq!(Plan::new(small, Bytes::from_mib(60), false), None);
        assert_eq!(Plan::new(Bytes::new(0), Bytes::from_mib(60), false), None);
    }

    #[test]
    fn a_cache_is_seen_where_the_rate_falls_once_and_stays() {
        let mean = BytesPerSec::from_mb(1.0);
        let seen = Cache::of_pass(&rates(&[(60.0, 30), (20.0, 40)]), Bytes::new(260_000_000), mean);
        assert_eq!(
            seen,
            Cache::Seen {
                bytes: Bytes::new(180_000_000),
                fast_bytes_per_second: BytesPerSec::from_mb(60.0),
                slow_bytes_per_second: BytesPerSec::from_mb(20.0)
            }
        );
        let even = Cache::of_pass(&rates(&[(60.0, 70)]), Bytes::new(420_000_000), BytesPerSec::from_mb(60.0));
        assert_eq!(
            even,
            Cache::NotSeen {
                larger_than_bytes: Bytes::new(420_000_000),
                bytes_per_second: BytesPerSec::from_mb(60.0)
            }
        );
        assert_eq!(Cache::of_pass(&rates(&[(60.0, 19)]), Bytes::new(1), mean), Cache::TooShort);
        let waves = rates(&[(60.0, 20), (20.0, 20), (60.0, 20), (20.0, 20), (60.0, 20)]);
        assert_eq!(Cache::of_pass(&waves, Bytes::new(1), mean), Cache::Uneven);
    }

    #[test]
    fn what_is_back_after_a_rest_is_told_by_both_rates_of_the_first_pass() {
        let (full, both) =
            (Bytes::new(180_000_000), (BytesPerSec::from_mb(60.0), BytesPerSec::from_mb(20.0)));
        let of = |parts: &[(f64, usize)]| Recovery::of(&rates(parts), Bytes::new(90_000_000), full, both);
        assert_eq!(
            of(&[(60.0, 15), (20.0, 20)]),
            Recovery::Back { bytes: Bytes::new(90_000_000), part: 0.5 }
        );
        assert_eq!(of(&[(60.0, 15)]), Recovery::AtLeast { bytes: Bytes::new(90_000_000), part: 0.5 });
        assert_eq!(of(&[(20.0, 45)]), Recovery::None { bytes_per_second: BytesPerSec::from_mb(20.0) });
        assert_eq!(of(&[(40.0, 25)]), Recovery::NotKnown);
        assert_eq!(of(&[(60.0, 3)]), Recovery::NotKnown);
        assert_eq!(of(&[]), Recovery::NotKnown);
    }

    proptest! {
        #[test]
        fn no_plan_writes_more_than_is_allowed(capacity in 0_u64..1 << 45, allowed in 0_u64..1 << 48, aimed: bool) {
            if let Some(plan) = Plan::new(Bytes::new(capacity), Bytes::new(allowed), aimed) {
                prop_assert!(plan.most().get() <= allowed);
                prop_assert!(plan.region <= plan.capacity && plan.region.get() % UNIT == 0);
                // What is said to be needed is enough for all of it.
                let all = Plan::new(Bytes::new(capacity), plan.needed, aimed).expect("fits");
                prop_assert!(all.parts.iter().all(|planned| planned.fits) && all.most() == plan.needed);
            }
        }
    }
}
