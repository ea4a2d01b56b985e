//! What a rule looks at.

use std::collections::{BTreeMap, HashMap};

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_base::workload::Pattern;
use narrows_machine::Machine;
use narrows_paste::results::devices::Device;
use narrows_paste::results::surroundings::{Surroundings, Word};
use narrows_paste::results::{Durability, Imported, Measured, Op, Side, Tool};

use super::Ground;
use super::cached_command::rates_of_devices;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};

/// One result among those that were given with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) result: &'a Imported,
    pub(super) beside: &'a Beside<'a>,
    pub(super) around: &'a Surroundings,
    pub(super) machine: Option<&'a Machine>,
    pub(super) ground: Ground<'a>,
}

impl<'a> Case<'a> {
    /// Every measurement of storage and direction.
    pub(super) fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        let storage = self.result.measurements.iter().filter(|one| !one.memory_only);
        storage.flat_map(move |measured| {
            measured.sides().map(move |(op, side)| Run { case: self, measured, op, side })
        })
    }

    /// The first measurements of this result, as evidence for each other: a bound as in [`Beside`], for the same reason.
    pub(super) fn siblings(&self) -> impl Iterator<Item = &'a Measured> + use<'a> {
        self.result.measurements.iter().take(MOST_BESIDE)
    }

    /// Main memory, and who says so.
    pub(super) fn memory(&self) -> Option<(Bytes, String)> {
        let own = self.machine.and_then(|machine| {
            let fact = &machine.cpus.memory;
            Some((*fact.value()?, fact.source().as_str().to_owned()))
        });
        self.around.memory.clone().or(own)
    }

    /// Whether so many bytes fit a cache in memory; when memory is not known, whether they fit most machines' memory.
    pub(super) fn fits_memory(&self, bytes: Bytes) -> bool {
        /// Half of it is what servers of the last ten years have at least.
        const USUAL: Bytes = Bytes::new(32 << 30);
        bytes < self.memory().map_or(USUAL, |(memory, _)| memory)
    }

    /// A finding on a measurement of this result.
    pub(super) fn finding(&self, code: Code, severity: Severity, summary: impl Into<String>) -> Finding {
        Finding::on(code, severity, self.result.place(), summary)
    }

    /// Where a measurement stands.
    pub(super) fn source(&self, measured: &Measured) -> String {
        format!("{}:{}", self.result.file, measured.line)
    }

    /// An observation in this result.
    pub(super) fn evidence(
        &self,
        measured: &Measured,
        fact: impl Into<String>,
        value: impl ToString,
    ) -> Evidence {
        Evidence::new(fact, value, self.source(measured))
    }
}

/// One direction of a measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) measured: &'a Measured,
    pub(super) op: Op,
    pub(super) side: &'a Side,
}

impl<'a> Run<'a> {
    pub(super) const fn rate(&self) -> BytesPerSec {
        self.side.bytes_per_second
    }

    pub(super) fn is_random(&self) -> bool {
        is_random(self.measured)
    }

    /// Whether waiting for durability is a call of its own, so that writes may be as fast as memory.
    pub(super) fn is_synced_apart(&self) -> bool {
        let syncs =
            self.measured.sync_ns.is_some() || self.measured.work.durability == Some(Durability::Each);
        self.op == Op::Write && syncs
    }

    pub(super) fn is_direct(&self) -> bool {
        self.measured.work.direct == Some(true)
    }

    pub(super) fn is_buffered(&self) -> bool {
        self.measured.work.direct == Some(false)
    }

    pub(super) fn is_durable(&self, how: Durability) -> bool {
        self.measured.work.durability == Some(how)
    }

    /// Whether one I/O at a time was asked for.
    pub(super) fn is_single(&self) -> bool {
        self.measured.asked_in_flight().is_some_and(|count| count <= 1.0)
    }

    /// The mean latency, in nanoseconds.
    pub(super) fn mean(&self) -> Option<f64> {
        self.side.latency_ns.as_ref()?.mean.filter(|mean| *mean > 0.0)
    }

    /// The I/Os in flight by Little's law.
    pub(super) fn in_flight(&self) -> Option<f64> {
        Some(self.mean()? * 1e-9 * self.side.iops?.get())
    }

    /// Whether the kernel read ahead of the tool: in order, through the page cache, and no byte twice. Most reads are then
    /// answered from memory although a drive has read every byte, so that their latency says nothing of where they came from.
    pub(super) fn reads_ahead(&self) -> bool {
        let work = &self.measured.work;
        let in_order = work.pattern == Some(Pattern::Sequential) && work.direct == Some(false);
        let once = match (self.side.bytes, work.working_set) {
            (Some(bytes), Some(set)) => bytes.as_f64() <= 1.1 * set.as_f64(),
            _ => true,
        };
        self.op == Op::Read && in_order && once
    }

    /// What it is called: `the random reads of job x`.
    pub(super) fn name(&self) -> String {
        let order = self.measured.work.pattern.map(|order| format!("{} ", order.word())).unwrap_or_default();
        let (label, op) = (&self.measured.work.label, self.op.word());
        let of = if label.is_empty() || label.contains(op) && self.case.result.measurements.len() == 1 {
            String::new()
        } else {
            format!(" of `{label}`")
        };
        format!("{order}{op}s{of}")
    }

    /// Where it stands.
    pub(super) fn source(&self) -> String {
        self.case.source(self.measured)
    }

    pub(super) fn evidence(&self, fact: impl Into<String>, value: impl ToString) -> Evidence {
        self.case.evidence(self.measured, fact, value)
    }

    /// Nothing as yet, for the likeliest reading.
    pub(super) fn signs(&self) -> Signs {
        Signs { confidence: Confidence::Medium, evidence: Vec::new(), source: self.source() }
    }

    /// Where the texts around it say this of the storage.
    pub(super) fn has(&self, word: Word) -> Option<&'a str> {
        self.case.around.has(word)
    }

    pub(super) const fn tool(&self) -> Tool {
        self.case.result.tool
    }

    /// How much data was visited, where that fits memory.
    pub(super) fn visited_in_memory(&self) -> Option<Bytes> {
        self.measured.work.working_set.or(self.side.bytes).filter(|set| self.case.fits_memory(*set))
    }

    /// The working set, where it fits memory.
    pub(super) fn set_in_memory(&self) -> Option<Bytes> {
        self.measured.work.working_set.filter(|set| self.case.fits_memory(*set))
    }

    /// The means of five windows of a run, and what tells them: the result itself or its log.
    pub(super) fn window_means(&self) -> Option<([f64; WINDOWS], String)> {
        let each = self.side.series.len() / WINDOWS;
        if each < 2 {
            return None;
        }
        let mut means = [0.0; WINDOWS];
        for (mean, window) in means.iter_mut().zip(self.side.series.chunks_exact(each)) {
            *mean = window.iter().map(|rate| rate.get()).sum::<f64>() / each as f64;
        }
        Some((means, self.side.series_source.clone().unwrap_or_else(|| self.case.result.place())))
    }

    /// Whether the last window is clearly below the ones before it.
    pub(super) fn is_still_falling(&self) -> bool {
        self.window_means().is_some_and(|([first, second, third, fourth, last], _)| {
            last < 0.85 * ((first + second + third + fourth) / 4.0)
        })
    }
}

/// What a rule saw in a run, and how sure that makes it.
pub(super) struct Signs {
    pub(super) confidence: Confidence,
    pub(super) evidence: Vec<Evidence>,
    source: String,
}

impl Signs {
    /// Adds what the run itself shows.
    pub(super) fn seen(self, fact: impl Into<String>, value: impl ToString) -> Self {
        let source = self.source.clone();
        self.told(fact, value, source)
    }

    /// Adds what something else tells.
    pub(super) fn told(
        mut self,
        fact: impl Into<String>,
        value: impl ToString,
        source: impl Into<String>,
    ) -> Self {
        self.evidence.push(Evidence::new(fact, value, source));
        self
    }

    pub(super) const fn with_confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }
}

/// A time of this many nanoseconds.
pub(super) const fn time(nanos: f64) -> Nanos {
    Nanos::new(nanos as u64)
}

/// Whether a measurement visits addresses at random.
pub(super) fn is_random(measured: &Measured) -> bool {
    measured.work.pattern == Some(Pattern::Random)
}

/// A part of the mean, in words.
pub(super) fn of_the_mean(part: f64) -> String {
    format!("{} of the mean", human::percent(part))
}

/// Whether reads and writes ran together.
pub(super) const fn is_mixed(measured: &Measured) -> bool {
    measured.read.is_some() && measured.write.is_some()
}

/// The I/Os per second of a direction; 0 where none are told.
pub(super) fn iops_of(measured: &Measured, op: Op) -> f64 {
    measured.side(op).and_then(|side| side.iops).map_or(0.0, |iops| iops.get())
}

/// Whether the target that the tool names is memory, as everybody who reads the result sees.
pub(super) fn declares_memory(measured: &Measured) -> bool {
    let kinds = ["/dev/ram", "/dev/nullb", "/dev/zram", "/dev/pmem"];
    measured.work.target.as_deref().is_some_and(|target| kinds.iter().any(|kind| target.starts_with(kind)))
}

/// So many results, measurements and devices are looked at for evidence, the first ones.
pub(super) const MOST_BESIDE: usize = 1000;

/// What stands beside a result and may be evidence for or against it.
///
/// Rules ask for it once for each direction of each measurement, and a file may hold fifty thousand of them: it is reduced
/// once, and a look at what is left is bounded, so that the time of a verdict grows with the number of results and not
/// with its square.
///
/// All results that were given together.
#[derive(Debug)]
pub(super) struct Beside<'a> {
    results: &'a [Imported],
    measured: Vec<(&'a Imported, &'a Measured)>,
    reads: BesideOfOp<'a>,
    writes: BesideOfOp<'a>,
    /// The first result of dd that wrote a file.
    written: HashMap<&'a str, usize>,
}

/// What is known of one direction.
#[derive(Debug)]
struct BesideOfOp<'a> {
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
            BesideOfOp {
                by_label: Hosts::of(
                    random().filter_map(|(_, one)| Some((one.work.label.split_once(" on ")?.1, rate(one)?))),
                ),
                by_file: Hosts::of(random().filter_map(|(of, one)| Some((of.file.as_str(), rate(one)?)))),
                rates: rates_of_devices(&around.devices, op, is_alone),
            }
        };
        Self {
            results,
            measured: all().take(MOST_BESIDE).collect(),
            reads: of_op(Op::Read),
            writes: of_op(Op::Write),
            written,
        }
    }

    fn of_op(&self, op: Op) -> &BesideOfOp<'a> {
        match op {
            Op::Read => &self.reads,
            Op::Write => &self.writes,
        }
    }

    /// Results, this one among them.
    pub(super) fn results(&self) -> impl Iterator<Item = &'a Imported> + use<'a> {
        self.results.iter().take(MOST_BESIDE)
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

/// As many as the performance test specification of SNIA looks at (SSS PTS 2.0.1, "steady state").
const WINDOWS: usize = 5;

/// So many devices of one `iostat` are looked at.
pub(super) const MOST_DEVICES: usize = 64;

/// Range and slope of SNIA's steady state, as fractions of the mean: steady when at most 0.2 and 0.1.
pub(super) fn range_and_slope(means: &[f64; WINDOWS]) -> Option<(f64, f64)> {
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    if mean <= 0.0 {
        return None;
    }
    let most = means.iter().copied().fold(f64::MIN, f64::max);
    let least = means.iter().copied().fold(f64::MAX, f64::min);
    let middle = (count - 1.0) / 2.0;
    let places = || (0..means.len()).map(|place| place as f64 - middle);
    let slope = places().zip(means).map(|(x, y)| x * y).sum::<f64>() / places().map(|x| x * x).sum::<f64>();
    Some(((most - least) / mean, (slope * (count - 1.0)).abs() / mean))
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Iops;

    use super::super::testing::fio_read;
    use super::*;

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

    #[test]
    fn the_windows_of_a_square_wave_fail_both_limits() {
        // By hand: mean 215.08, range 76.7 / 215.08 = 35.7 %, slope −10.92 a window, × 4 = 43.7 = 20.3 %.
        let (range, slope) = range_and_slope(&[245.8, 201.8, 212.9, 245.8, 169.1]).expect("a mean");
        assert!((range - 0.357).abs() < 5e-4 && (slope - 0.203).abs() < 5e-4, "{range} {slope}");
    }
}
