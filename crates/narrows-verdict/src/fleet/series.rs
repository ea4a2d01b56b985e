//! What runs that differ in one thing only show together: where more jobs, depth or block size stop to help all hosts, and which
//! host stops earlier than the others.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::point::Point;
use super::record::{Load, PointRecord};
use narrows_base::lists::grouped;
use narrows_base::stats::ci95;
use narrows_base::stats::sweep::{self, Shape, shape};
use narrows_base::units::{Bytes, BytesPerSec};

/// With fewer runs there is no curve.
const LEAST: usize = 3;
/// A host stops to gain earlier than all when its knee lies so many runs before theirs: one is the accuracy of a knee.
const EARLIER: usize = 2;

/// What changes along a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Along {
    /// Jobs of each host.
    Jobs,
    /// I/Os in flight of each job.
    Depth,
    BlockSize,
}

impl Along {
    const ALL: [Self; 3] = [Self::Jobs, Self::Depth, Self::BlockSize];

    /// Where a load lies along it: a number, or bytes.
    pub fn of(self, load: &Load) -> u64 {
        match self {
            Self::Jobs => u64::from(load.jobs),
            Self::Depth => u64::from(load.depth),
            Self::BlockSize => load.block_size.get(),
        }
    }

    /// A load without what changes along it.
    fn fixed(self, load: &Load) -> Load {
        match self {
            Self::Jobs => Load { jobs: 1, ..load.clone() },
            Self::Depth => Load { depth: 1, ..load.clone() },
            Self::BlockSize => Load { block_size: Bytes::new(1), ..load.clone() },
        }
    }
}

/// What one run adds to a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    load: Load,
    /// Each host that counts, by its place, and the rates in equal parts of the common time.
    hosts: Vec<(usize, BytesPerSec, Vec<BytesPerSec>)>,
}

impl Step {
    /// Of a run of all clients; `None` where only some were asked (`--prove`), or none counts.
    pub fn of(record: &PointRecord, point: &Point) -> Option<Self> {
        let hosts: Vec<_> =
            point.counted().map(|host| (host.client, host.rate(), host.parts.clone())).collect();
        (!record.is_proof && !hosts.is_empty()).then(|| Self { load: record.load.clone(), hosts })
    }

    fn clients(&self) -> BTreeSet<usize> {
        self.hosts.iter().map(|(client, ..)| *client).collect()
    }

    /// Of all hosts together.
    fn whole(&self, x: f64) -> sweep::Point {
        let bytes_per_second = self.hosts.iter().map(|(_, rate, _)| *rate).sum();
        let parts = self.hosts.iter().map(|(.., parts)| parts.len()).min().unwrap_or_default();
        let of_part = |part: usize| self.hosts.iter().filter_map(move |(.., parts)| parts.get(part));
        let sums: Vec<BytesPerSec> = (0..parts).map(|part| of_part(part).copied().sum()).collect();
        sweep::Point { x, bytes_per_second, ci95: ci95(&sums) }
    }

    fn of_host(&self, client: usize, x: f64) -> Option<sweep::Point> {
        let (_, rate, parts) = self.hosts.iter().find(|(one, ..)| *one == client)?;
        Some(sweep::Point { x, bytes_per_second: *rate, ci95: ci95(parts) })
    }
}

/// Runs that differ in one thing only, and what they show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// What changes.
    pub along: Along,
    /// The first load: all others differ from it in what changes alone.
    pub of: Load,
    /// The hosts that count in each of its runs.
    pub hosts: usize,
    /// What all hosts together gave, in the order of what changes.
    pub points: Vec<sweep::Point>,
    /// Knee, plateau, drops and odd points of all hosts together.
    pub shape: Shape,
    /// Hosts that stop to gain earlier than all together.
    pub earlier: Vec<Earlier>,
    /// Runs that cannot be compared, since other hosts count in them.
    pub left_out: Vec<LeftOut>,
}

/// A run in which other hosts count than in the rest of its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Where it lies along what changes: a number, or bytes.
    pub at: u64,
    /// The hosts that count in it.
    pub hosts: usize,
}

/// A host that stops to gain earlier than all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Earlier {
    /// Its name.
    pub host: String,
    /// Where it stops.
    pub knee: f64,
    /// What it gives from there on.
    pub bytes_per_second: BytesPerSec,
}

/// Every series of three runs or more; `name` tells the name of the client at a place.
pub fn series(steps: &[Step], name: &dyn Fn(usize) -> String) -> Vec<Series> {
    let groups = Along::ALL.into_iter().flat_map(|along| {
        let groups = grouped(steps.iter().map(|step| (along.fixed(&step.load), step)));
        groups.into_iter().map(move |(_, group)| (along, group))
    });
    groups.filter_map(|(along, group)| one(along, group, name)).collect()
}

fn one(along: Along, mut group: Vec<&Step>, name: &dyn Fn(usize) -> String) -> Option<Series> {
    group.sort_by_key(|step| along.of(&step.load));
    group.dedup_by_key(|step| along.of(&step.load));
    let hosts = most_common(&group)?;
    let (alike, other): (Vec<&Step>, Vec<&Step>) =
        group.into_iter().partition(|step| step.clients() == hosts);
    if alike.len() < LEAST {
        return None;
    }
    let x = |step: &Step| along.of(&step.load) as f64;
    let points: Vec<_> = alike.iter().map(|step| step.whole(x(step))).collect();
    let shape = shape(&points);
    let of_host = |client: usize| {
        let points: Vec<_> = alike.iter().filter_map(|step| step.of_host(client, x(step))).collect();
        earlier(|| name(client), &points, &shape)
    };
    let left_out = |step: &&Step| LeftOut { at: along.of(&step.load), hosts: step.hosts.len() };
    Some(Series {
        along,
        of: alike.first()?.load.clone(),
        hosts: hosts.len(),
        earlier: hosts.iter().filter_map(|client| of_host(*client)).collect(),
        points,
        shape,
        left_out: other.iter().map(left_out).collect(),
    })
}

/// The hosts of most runs; of several the larger number of hosts.
fn most_common(group: &[&Step]) -> Option<BTreeSet<usize>> {
    let sets: Vec<BTreeSet<usize>> = group.iter().map(|step| step.clients()).collect();
    let times = |set: &BTreeSet<usize>| sets.iter().filter(|other| *other == set).count();
    sets.iter().max_by_key(|set| (times(set), set.len())).cloned()
}

fn earlier(name: impl Fn() -> String, points: &[sweep::Point], all: &Shape) -> Option<Earlier> {
    let own = shape(points).plateau?;
    let place = |knee: f64| points.iter().position(|point| point.x >= knee);
    // All still gain at the end: that is one run behind it.
    let whole = all.knee().map_or(Some(points.len()), place)?;
    (place(own.from)? + EARLIER <= whole).then_some(Earlier {
        host: name(),
        knee: own.from,
        bytes_per_second: own.bytes_per_second,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Nanos;

    fn step(jobs: u32, mb: &[f64]) -> Step {
        let load = Load {
            block_size: Bytes::from_kib(1024),
            depth: 8,
            jobs,
            read_percent: 100,
            is_random: false,
            time_ns: Nanos::from_millis(30_000),
            rate_cap: None,
        };
        let host = |(client, mb): (usize, &f64)| {
            let parts =
                (0..30).map(|part| BytesPerSec::from_mb(mb * (1.0 + f64::from(part % 3 - 1) / 100.0)));
            (client, BytesPerSec::from_mb(*mb), parts.collect())
        };
        Step { load, hosts: mb.iter().enumerate().map(host).collect() }
    }

    fn series(steps: &[Step]) -> Vec<Series> {
        super::series(steps, &|client| format!("c{client}"))
    }

    #[test]
    fn all_hosts_have_a_knee_a_drop_and_an_odd_point() {
        // As the published series of a file server, divided by the number of its clients.
        let rates = [6.0, 12.0, 24.0, 48.0, 90.0, 100.0, 60.0, 100.0, 101.0, 100.0, 89.0];
        let steps: Vec<Step> =
            rates.iter().enumerate().map(|(power, mb)| step(1 << power, &[*mb, *mb, *mb])).collect();
        let found = series(&steps);
        assert_eq!(found.len(), 1);
        let [found] = &found[..] else { unreachable!("one was counted") };
        assert_eq!((found.along, found.hosts, found.shape.knee()), (Along::Jobs, 3, Some(32.0)));
        assert_eq!(found.shape.anomalies.iter().map(|odd| odd.x).collect::<Vec<_>>(), [64.0]);
        assert_eq!(found.shape.drops.iter().map(|drop| drop.from).collect::<Vec<_>>(), [1024.0]);
        assert!(found.earlier.is_empty(), "{:?}", found.earlier);
        assert!(found.points.iter().all(|point| point.ci95.is_some()));
    }

    #[test]
    fn a_host_that_stops_to_gain_early_is_named() {
        let steps: Vec<Step> = (0..6)
            .map(|power| {
                let own = f64::from(1_u32 << power) * 10.0;
                let mut hosts = vec![own; 9];
                hosts.push(own.min(20.0));
                step(1 << power, &hosts)
            })
            .collect();
        let found = series(&steps);
        let earlier: Vec<_> = found[0].earlier.iter().map(|one| (one.host.as_str(), one.knee)).collect();
        assert_eq!((earlier, found[0].shape.knee()), (vec![("c9", 2.0)], None));
    }

    #[test]
    fn runs_in_which_other_hosts_count_are_left_out_and_two_are_no_series() {
        let mut steps: Vec<Step> = (0..4).map(|power| step(1 << power, &[50.0, 50.0])).collect();
        steps[1].hosts.pop();
        let found = series(&steps);
        assert_eq!(
            (found[0].points.len(), found[0].left_out.clone()),
            (3, vec![LeftOut { at: 2, hosts: 1 }])
        );
        assert!(series(&steps[..3]).is_empty(), "two that can be compared are no series");
        assert!(series(&[]).is_empty());
    }

    #[test]
    fn each_thing_that_changes_alone_is_a_series() {
        let mut steps = Vec::new();
        for jobs in [1, 2, 4] {
            for kib in [4, 16, 64] {
                let mut one = step(jobs, &[f64::from(jobs)]);
                one.load.block_size = Bytes::from_kib(kib);
                steps.push(one);
            }
        }
        let found = series(&steps);
        let count = |along: Along| found.iter().filter(|series| series.along == along).count();
        assert_eq!(Along::ALL.map(count), [3, 0, 3]);
    }
}
