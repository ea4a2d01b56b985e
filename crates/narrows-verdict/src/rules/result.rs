//! A result of another tool, as a rule looks at it.

use std::collections::{BTreeMap, HashMap};

use narrows_base::stats::{WINDOWS, mean};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_base::workload::Pattern;
use narrows_machine::Machine;
use narrows_paste::results::devices::Device;
use narrows_paste::results::surroundings::{Surroundings, Word};
use narrows_paste::results::{Durability, Imported, Measured, Op, Side, Tool};

use super::cache_measured::rates_of_devices;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};
use crate::trust;

/// One result among those that were given with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) result: &'a Imported,
    pub(crate) beside: &'a Beside<'a>,
    pub(crate) around: &'a Surroundings,
    pub(crate) machine: Option<&'a Machine>,
}

impl<'a> Case<'a> {
    /// Every measurement of storage and direction.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        let storage = self.result.measurements.iter().filter(|one| !one.memory_only);
        storage.flat_map(move |measured| {
            measured.sides().map(move |(op, side)| Run { case: self, measured, op, side })
        })
    }

    /// The first measurement that has it, with it.
    pub(crate) fn first_with<T>(&self, it: impl Fn(&'a Measured) -> Option<T>) -> Option<(&'a Measured, T)> {
        self.result.measurements.iter().find_map(|one| Some((one, it(one)?)))
    }

    /// The first measurements of this result, as evidence for each other: a bound as in [`Beside`], for the same reason.
    pub(crate) fn siblings(&self) -> impl Iterator<Item = &'a Measured> + use<'a> {
        self.result.measurements.iter().take(MOST_BESIDE)
    }

    /// Whether it is of counters of devices, for which no command was given and none was missed.
    pub(crate) const fn is_of_counters(&self) -> bool {
        matches!(self.result.tool, Tool::Iostat | Tool::Zpooliostat)
    }

    /// Main memory, and who says so.
    pub(crate) fn memory(&self) -> Option<(Bytes, String)> {
        let of_machine = || {
            let fact = &self.machine?.cpus.memory;
            Some((*fact.value()?, fact.source().as_str().to_owned()))
        };
        self.around.memory.clone().or_else(of_machine)
    }

    /// Whether so many bytes fit a cache in memory; when memory is not known, whether they fit most machines' memory.
    pub(crate) fn fits_memory(&self, bytes: Bytes) -> bool {
        /// Half of it is what servers of the last ten years have at least.
        const USUAL: Bytes = Bytes::new(32 << 30);
        bytes < self.memory().map_or(USUAL, |(memory, _)| memory)
    }

    /// Where a measurement stands.
    pub(crate) fn source(&self, measured: &Measured) -> String {
        format!("{}:{}", self.result.file, measured.line)
    }

    /// An observation in this result.
    pub(crate) fn evidence(&self, of: &Measured, fact: impl Into<String>, value: impl ToString) -> Evidence {
        Evidence::new(fact, value, self.source(of))
    }
}

impl Finding {
    /// A finding on a result of another tool.
    pub(crate) fn of(case: &Case<'_>, code: Code, severity: Severity, summary: impl Into<String>) -> Self {
        Self::on(code, severity, case.result.place(), summary)
    }
}

/// One direction of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) case: &'a Case<'a>,
    pub(crate) measured: &'a Measured,
    pub(crate) op: Op,
    pub(crate) side: &'a Side,
}

impl<'a> Run<'a> {
    pub(crate) const fn rate(&self) -> BytesPerSec {
        self.side.bytes_per_second
    }

    pub(crate) fn is_random(&self) -> bool {
        is_random(self.measured)
    }

    /// Whether waiting for durability is a call of its own, so that writes may be as fast as memory.
    pub(crate) fn is_synced_apart(&self) -> bool {
        let syncs = self.measured.sync_ns.is_some() || self.is_durable(Durability::Each);
        self.op == Op::Write && syncs
    }

    pub(crate) fn is_direct(&self) -> bool {
        self.measured.work.direct == Some(true)
    }

    pub(crate) fn is_buffered(&self) -> bool {
        self.measured.work.direct == Some(false)
    }

    pub(crate) fn is_durable(&self, how: Durability) -> bool {
        self.measured.work.durability == Some(how)
    }

    /// Whether one I/O at a time was asked for.
    pub(crate) fn is_single(&self) -> bool {
        self.measured.asked_in_flight().is_some_and(|count| count <= 1.0)
    }

    /// The mean latency, in nanoseconds.
    pub(crate) fn mean(&self) -> Option<f64> {
        self.side.latency_ns.as_ref()?.mean.filter(|mean| *mean > 0.0)
    }

    /// The I/Os in flight by Little's law.
    pub(crate) fn in_flight(&self) -> Option<f64> {
        Some(self.mean()? * 1e-9 * self.side.iops?.get())
    }

    /// Whether the kernel read ahead of the tool: in order, through the page cache, and no byte twice. Most reads are then
    /// answered from memory although a drive has read every byte, so that their latency says nothing of where they came from.
    pub(crate) fn reads_ahead(&self) -> bool {
        let work = &self.measured.work;
        let in_order = work.pattern == Some(Pattern::Sequential) && self.is_buffered();
        let all = self.side.bytes.zip(work.working_set);
        let once = all.is_none_or(|(bytes, set)| bytes.as_f64() <= 1.1 * set.as_f64());
        self.op == Op::Read && in_order && once
    }

    /// What it is called: `the random reads of job x`.
    pub(crate) fn name(&self) -> String {
        let order = self.measured.work.pattern.map(|order| format!("{} ", order.word())).unwrap_or_default();
        let (label, op) = (&self.measured.work.label, self.op.word());
        match label.is_empty() || label.contains(op) && self.case.result.measurements.len() == 1 {
            true => format!("{order}{op}s"),
            false => format!("{order}{op}s of `{label}`"),
        }
    }

    /// Where it stands.
    pub(crate) fn source(&self) -> String {
        self.case.source(self.measured)
    }

    pub(crate) fn evidence(&self, fact: impl Into<String>, value: impl ToString) -> Evidence {
        self.case.evidence(self.measured, fact, value)
    }

    /// Nothing as yet, for the likeliest reading.
    pub(crate) fn signs(&self) -> Signs {
        Signs { confidence: Confidence::Medium, evidence: Vec::new(), source: self.source() }
    }

    /// Where the texts around it say this of the storage.
    pub(crate) fn has(&self, word: Word) -> Option<&'a str> {
        self.case.around.has(word)
    }

    /// Where the texts say that the storage is in memory. A drive that was measured by its name is another one than the file
    /// system in memory that they speak of, too.
    pub(crate) fn in_memory(&self) -> Option<&'a str> {
        let target = self.measured.work.target.as_deref().unwrap_or_default();
        let is_drive = ["/dev/nvme", "/dev/sd", "/dev/md", "/dev/mapper/"];
        self.has(Word::Memory).filter(|_| !is_drive.iter().any(|start| target.starts_with(start)))
    }

    pub(crate) const fn tool(&self) -> Tool {
        self.case.result.tool
    }

    /// How much data was visited, where that fits memory.
    pub(crate) fn visited_in_memory(&self) -> Option<Bytes> {
        self.measured.work.working_set.or(self.side.bytes).filter(|set| self.case.fits_memory(*set))
    }

    /// The working set, where it fits memory.
    pub(crate) fn set_in_memory(&self) -> Option<Bytes> {
        self.measured.work.working_set.filter(|set| self.case.fits_memory(*set))
    }

    /// The means of five windows of a run, and what tells them: the result itself or its log.
    pub(crate) fn window_means(&self) -> Option<([f64; WINDOWS], String)> {
        let means = trust::windows(&self.side.series)?;
        Some((means, self.side.series_source.clone().unwrap_or_else(|| self.case.result.place())))
    }

    /// Whether the last window is clearly below the ones before it.
    pub(crate) fn is_still_falling(&self) -> bool {
        let falls = |[before @ .., last]: [f64; WINDOWS]| last < 0.85 * mean(&before);
        self.window_means().is_some_and(|(means, _)| falls(means))
    }
}

/// What a rule saw in a run, and how sure that makes it.
pub(crate) struct Signs {
    pub(crate) confidence: Confidence,
    pub(crate) evidence: Vec<Evidence>,
    source: String,
}

impl Signs {
    /// Adds what the run itself shows.
    pub(crate) fn seen(self, fact: impl Into<String>, value: impl ToString) -> Self {
        let source = self.source.clone();
        self.told(fact, value, source)
    }

    /// Adds what something else tells.
    pub(crate) fn told(
        mut self,
        fact: impl Into<String>,
        value: impl ToString,
        by: impl Into<String>,
    ) -> Self {
        self.evidence.push(Evidence::new(fact, value, by));
        self
    }

    pub(crate) const fn with_confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }
}

/// A time of this many nanoseconds.
pub(crate) const fn time(nanos: f64) -> Nanos {
    Nanos::new(nanos as u64)
}

/// Whether a measurement visits addresses at random.
pub(crate) fn is_random(measured: &Measured) -> bool {
    measured.work.pattern == Some(Pattern::Random)
}

/// A part of the mean, in words.
pub(crate) fn of_the_mean(part: f64) -> String {
    format!("{} of the mean", human::percent(part))
}

/// Whether reads and writes ran together.
pub(crate) const fn is_mixed(measured: &Measured) -> bool {
    measured.read.is_some() && measured.write.is_some()
}

/// The I/Os per second of a direction; 0 where none are told.
pub(crate) fn iops_of(measured: &Measured, op: Op) -> f64 {
    measured.side(op).and_then(|side| side.iops).map_or(0.0, |iops| iops.get())
}

/// Whether the target that the tool names is memory, as everybody who reads the result sees.
pub(crate) fn declares_memory(measured: &Measured) -> bool {
    let kinds = ["/dev/ram", "/dev/nullb", "/dev/zram", "/dev/pmem"];
    measured.work.target.as_deref().is_some_and(|target| kinds.iter().any(|kind| target.starts_with(kind)))
}

/// So many results, measurements and devices are looked at for evidence, the first ones.
pub(crate) const MOST_BESIDE: usize = 1000;

/// What stands beside a result and may be evidence for or against it.
///
/// Rules ask for it once for each direction of each measurement, and a file may hold fifty thousand of them: it is reduced
/// once, and a look at what is left is bounded, so that the time of a verdict grows with the number of results and not
/// with its square.
///
/// All results that were given together.
#[derive(Debug)]
pub(crate) struct Beside<'a> {
    results: &'a [Imported],
    measured: Vec<(&'a Imported, &'a Measured)>,
    reads: BesideOfOp<'a>,
    writes: BesideOfOp<'a>,
    /// The first result of dd that wrote a file.
    written: HashMap<&'a str, usize>,
}

/// What is known of one direction.
#[derive(Debug)]
pub(crate) struct BesideOfOp<'a> {
    /// The hosts of random I/O, as labels name them (`job on host`).
    pub(crate) by_label: Hosts,
    /// The same, where each file is of a host.
    pub(crate) by_file: Hosts,
    /// What block devices did meanwhile, by `iostat`.
    pub(crate) rates: Vec<(&'a Device, BytesPerSec)>,
}

/// The random I/Os per second of hosts, each by its first measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hosts {
    /// How many there are.
    pub(crate) count: usize,
    /// The least of them.
    pub(crate) least: f64,
    /// The most of them.
    pub(crate) most: f64,
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
    pub(crate) fn of(results: &'a [Imported], around: &'a Surroundings) -> Self {
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

    /// What is known of one direction.
    pub(crate) fn of_op(&self, op: Op) -> &BesideOfOp<'a> {
        op.pick(&self.reads, &self.writes)
    }

    /// Results, this one among them.
    pub(crate) fn results(&self) -> impl Iterator<Item = &'a Imported> + use<'a> {
        self.results.iter().take(MOST_BESIDE)
    }

    /// Measurements, those of this result among them, and the result that each is of.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (&'a Imported, &'a Measured)> {
        self.measured.iter().copied()
    }

    /// Whether a copy of dd before `result` wrote `target`.
    pub(crate) fn is_written_before(&self, target: &str, result: &Imported) -> bool {
        let first = self.written.get(target).and_then(|index| self.results.get(*index));
        // Results lie one behind another in memory.
        first.is_some_and(|first| std::ptr::from_ref(first) < std::ptr::from_ref(result))
    }
}

/// So many devices of one `iostat` are looked at.
pub(crate) const MOST_DEVICES: usize = 64;

#[cfg(test)]
mod tests {
    use narrows_base::units::Iops;

    use super::*;
    use crate::results::testing::fio_read;

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
        assert_eq!(beside.of_op(Op::Read).by_label, Hosts { count: 2, least: 10.0, most: 20.0 });
        assert_eq!(beside.of_op(Op::Read).by_file.count, 1);
        assert_eq!((beside.of_op(Op::Write).by_label.count, beside.measured().count()), (0, 4));
    }
}
