//! What a rule looks at.

use super::Ground;
use super::beside::Beside;
use crate::finding::{Code, Evidence, Finding, Severity};
use narrows_base::units::{Bytes, human};
use narrows_base::workload::Pattern;
use narrows_machine::Machine;
use narrows_paste::results::surroundings::Surroundings;
use narrows_paste::results::{Imported, Measured, Op, Side};

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
    pub(super) fn sides(&self) -> impl Iterator<Item = (&'a Measured, Op, &'a Side)> {
        let storage = self.result.measurements.iter().filter(|one| !one.memory_only);
        storage.flat_map(|one| one.sides().map(move |(op, side)| (one, op, side)))
    }

    /// The first measurements of this result, as evidence for each other: a bound as in [`Beside`], for the same reason.
    pub(super) fn siblings(&self) -> impl Iterator<Item = &'a Measured> + use<'a> {
        self.result.measurements.iter().take(super::beside::MOST)
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

    /// Main memory as an observation.
    pub(super) fn memory_evidence(&self) -> Option<Evidence> {
        self.memory().map(|(memory, source)| Evidence::new("main memory", human::bytes(memory), source))
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
    pub(super) fn evidence(&self, measured: &Measured, fact: &str, value: impl ToString) -> Evidence {
        Evidence::new(fact, value, self.source(measured))
    }

    /// What a measurement is called: `the random reads of job x`.
    pub(super) fn name(&self, measured: &Measured, op: Op) -> String {
        let order = match measured.work.pattern {
            Some(Pattern::Random) => "random ",
            Some(Pattern::Sequential) => "sequential ",
            None => "",
        };
        let label = &measured.work.label;
        let of = if label.is_empty() || label.contains(op.word()) && self.result.measurements.len() == 1 {
            String::new()
        } else {
            format!(" of `{label}`")
        };
        format!("{order}{}s{of}", op.word())
    }
}

/// Whether a measurement visits addresses at random.
pub(super) fn is_random(measured: &Measured) -> bool {
    measured.work.pattern == Some(Pattern::Random)
}

/// Whether the target that the tool names is memory, as everybody who reads the result sees.
pub(super) fn declares_memory(measured: &Measured) -> bool {
    let kinds = ["/dev/ram", "/dev/nullb", "/dev/zram", "/dev/pmem"];
    measured.work.target.as_deref().is_some_and(|target| kinds.iter().any(|kind| target.starts_with(kind)))
}

/// Whether the kernel read ahead of the tool: in order, through the page cache, and no byte twice. Most reads are then
/// answered from memory although a drive has read every byte, so that their latency says nothing of where they came from.
pub(super) fn reads_ahead(measured: &Measured, op: Op, side: &Side) -> bool {
    let work = &measured.work;
    let in_order = op == Op::Read && work.pattern == Some(Pattern::Sequential) && work.direct == Some(false);
    let once = match (side.bytes, work.working_set) {
        (Some(bytes), Some(set)) => bytes.as_f64() <= 1.1 * set.as_f64(),
        _ => true,
    };
    in_order && once
}

/// The mean latency of a side, in nanoseconds.
pub(super) fn mean(side: &Side) -> Option<f64> {
    side.latency_ns.as_ref()?.mean.filter(|mean| *mean > 0.0)
}
