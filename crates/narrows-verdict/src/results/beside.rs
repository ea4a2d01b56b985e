//! What stands beside a result and may be evidence for or against it.
//!
//! Rules ask for it once for each direction of each measurement, and a file may hold fifty thousand of them: it is reduced
//! once, and a look at what is left is bounded, so that the time of a verdict grows with the number of results and not
//! with its square.

use std::collections::{BTreeMap, HashMap};

use super::cached_counters::rates_of_devices;
use super::case::is_random;
use narrows_base::units::BytesPerSec;
use narrows_paste::results::devices::Device;
use narrows_paste::results::surroundings::Surroundings;
use narrows_paste::results::{Imported, Measured, Op, Tool};

/// So many results, measurements and devices are looked at for evidence, the first ones.
pub(super) const MOST: usize = 1000;

/// All results that were given together.
#[derive(Debug)]
pub(super) struct Beside<'a> {
    results: &'a [Imported],
    measured: Vec<(&'a Imported, &'a Measured)>,
    reads: OfOp<'a>,
    writes: OfOp<'a>,
    /// The first result of dd that wrote a file.
    written: HashMap<&'a str, usize>,
}

/// What is known of one direction.
#[derive(Debug)]
struct OfOp<'a> {
    by_label: Hosts,
    by_file: Hosts,
    rates: Vec<(&'a Device, BytesPerSec)>,
}

/// The random I/Os per second of hosts, each by its first measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hosts {
    /// How many there are.
    pub(super) count: usize,
    /// The least of them.
    pub(super) least: f64,
    /// The most of them.
    pub(super) most: f64,
}

impl Hosts {
    fn of<'t>(rates: impl Iterator<Item = (&'t str, f64)>) -> Self {
        let mut first: BTreeMap<&str, f64> = BTreeMap::new();
        rates.for_each(|(host, rate)| {
            first.entry(host).or_insert(rate);
        });
        let none = Self { count: first.len(), least: f64::INFINITY, most: f64::NEG_INFINITY };
        first.values().fold(none, |all, rate| Self {
            least: all.least.min(*rate),
            most: all.most.max(*rate),
            ..all
        })
    }
}

impl<'a> Beside<'a> {
    /// Reduces all results, and what stands beside them.
    pub(super) fn of(results: &'a [Imported], around: &'a Surroundings) -> Self {
        let all = || results.iter().flat_map(|one| one.measurements.iter().map(move |each| (one, each)));
        let mut written = HashMap::new();
        for (index, result) in results.iter().enumerate().filter(|(_, result)| result.tool == Tool::Dd) {
            let wrote = result.measurements.iter().filter(|one| one.write.is_some());
            for target in wrote.filter_map(|one| one.work.target.as_deref()) {
                written.entry(target).or_insert(index);
            }
        }
        let of_op = |op: Op| {
            let random = || all().filter(|(_, one)| is_random(one));
            let rate = |one: &Measured| Some(one.side(op)?.iops?.get());
            let is_alone = all().filter(|(_, one)| one.side(op).is_some()).take(2).count() == 1;
            OfOp {
                by_label: Hosts::of(
                    random().filter_map(|(_, one)| Some((one.work.label.split_once(" on ")?.1, rate(one)?))),
                ),
                by_file: Hosts::of(random().filter_map(|(of, one)| Some((of.file.as_str(), rate(one)?)))),
                rates: rates_of_devices(&around.devices, op, is_alone),
            }
        };
        Self {
            results,
            measured: all().take(MOST).collect(),
            reads: of_op(Op::Read),
            writes: of_op(Op::Write),
            written,
        }
    }

    fn of_op(&self, op: Op) -> &OfOp<'a> {
        match op {
            Op::Read => &self.reads,
            Op::Write => &self.writes,
        }
    }

    /// Results, this one among them.
    pub(super) fn results(&self) -> impl Iterator<Item = &'a Imported> + use<'a> {
        self.results.iter().take(MOST)
    }

    /// Measurements, those of this result among them, and the result that each is of.
    pub(super) fn measured(&self) -> impl Iterator<Item = (&'a Imported, &'a Measured)> {
        self.measured.iter().copied()
    }

    /// The hosts of random I/O, as labels name them (`job on host`).
    pub(super) fn hosts(&self, op: Op) -> Hosts {
        self.of_op(op).by_label
    }

    /// The same, where each file is of a host.
    pub(super) fn hosts_by_file(&self, op: Op) -> Hosts {
        self.of_op(op).by_file
    }

    /// What block devices did meanwhile, by `iostat`.
    pub(super) fn rates(&self, op: Op) -> &[(&'a Device, BytesPerSec)] {
        &self.of_op(op).rates
    }

    /// Whether a copy of dd before `result` wrote `target`.
    pub(super) fn is_written_before(&self, target: &str, result: &Imported) -> bool {
        let first = self.written.get(target).and_then(|index| self.results.get(*index));
        // Results lie one behind another in memory.
        first.is_some_and(|first| std::ptr::from_ref(first) < std::ptr::from_ref(result))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::fio_read;
    use super::*;
    use narrows_base::units::Iops;

    #[test]
    fn each_host_counts_once_by_its_first_measurement() {
        let mut result = fio_read("randread", 60);
        let one = result.measurements.remove(0);
        for (label, iops) in [("a on x", 10.0), ("b on x", 99.0), ("a on y", 20.0), ("a", 500.0)] {
            let mut one = one.clone();
            one.work.label = label.to_owned();
            one.read.as_mut().expect("reads").iops = Some(Iops::new(iops));
            result.measurements.push(one);
        }
        let (all, around) = ([result], Surroundings::default());
        let beside = Beside::of(&all, &around);
        assert_eq!(beside.hosts(Op::Read), Hosts { count: 2, least: 10.0, most: 20.0 });
        assert_eq!(beside.hosts_by_file(Op::Read).count, 1);
        assert_eq!((beside.hosts(Op::Write).count, beside.measured().count()), (0, 4));
    }
}
