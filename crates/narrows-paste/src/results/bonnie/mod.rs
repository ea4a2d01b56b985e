//! bonnie++ 1.0x, 1.9x and 2.00: the comma-separated line, and the table for people. Its K are KiB, in the table of 2.00 its
//! k, m and g are powers of 1024 too (951631 K/s of the line is `929m` in the table).
//!
//! Sources: bonnie++'s `bon_csv2html` for the order of fields, and what 1.03, 1.97 and 2.00a print. Each test writes or reads
//! through the page cache, and ends with `fsync` of its files since 1.92 (README-2.00).

mod csv;
mod text;

use super::{Cpu, Imported, Latency, Measured, Op, Page, Side, Work};
use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

/// Blocks are of 8 KiB unless they are told otherwise.
const BLOCK: Bytes = Bytes::from_kib(8);

/// The results in a text. The table repeats what the line behind it says, so only one of both counts.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["+++", "Sequential Output", "bonnie"]) {
        return Vec::new();
    }
    let lines = csv::read(page);
    let mut found = text::read(page);
    found.retain(|table| {
        !lines.iter().any(|line| line.measurements.len() == table.measurements.len() && is_same(line, table))
    });
    found.extend(lines);
    found
}

/// Whether a line and a table are of the same run: the sizes agree, and each rate as far as the table's rounding lets it.
fn is_same(line: &Imported, table: &Imported) -> bool {
    line.measurements.iter().zip(&table.measurements).all(|(a, b)| {
        let rates = |one: &Measured| one.sides().map(|(op, side)| (op, side.bytes_per_second.get())).next();
        let (Some((op, rate)), Some((other, second))) = (rates(a), rates(b)) else { return false };
        op == other && a.work.label == b.work.label && (rate / second - 1.0).abs() < 0.06
    })
}

/// One test: its rate and what it used of a processor.
#[derive(Debug, Clone, Copy, Default)]
struct Test {
    /// Bytes per second, or seeks per second.
    rate: Option<f64>,
    /// The part of one processor.
    cpu: Option<f64>,
    /// The longest latency, in nanoseconds.
    longest: Option<f64>,
}

/// The tests whose numbers are of blocks; those of single characters measure a processor.
#[derive(Debug, Clone, Default)]
struct Tests {
    set: Option<Bytes>,
    write: Test,
    rewrite: Test,
    read: Test,
    seeks: Test,
}

impl Tests {
    fn add_to(&self, imported: &mut Imported, line: usize) {
        for (label, op, test) in [
            ("block output", Op::Write, self.write),
            ("rewrite", Op::Write, self.rewrite),
            ("block input", Op::Read, self.read),
        ] {
            let Some(rate) = test.rate else { continue };
            let side = Side {
                bytes_per_second: BytesPerSec::new(rate),
                latency_ns: test.latency(),
                ..Side::default()
            };
            self.put(imported, line, self.work(label, Pattern::Sequential), op, side, test.cpu);
        }
        if let Some(seeks) = self.seeks.rate {
            let side = Side {
                bytes_per_second: BytesPerSec::new(seeks * BLOCK.as_f64()),
                iops: Some(Iops::new(seeks)),
                latency_ns: self.seeks.latency(),
                ..Side::default()
            };
            self.put(imported, line, self.work("seeks", Pattern::Random), Op::Read, side, None);
        }
    }

    fn put(&self, imported: &mut Imported, line: usize, work: Work, op: Op, side: Side, cpu: Option<f64>) {
        let mut measured = Measured::new(line, work);
        measured.cpu = cpu.map(|part| Cpu { user: 0.0, system: part });
        measured.put(op, side);
        imported.measurements.push(measured);
    }

    fn work(&self, label: &str, pattern: Pattern) -> Work {
        Work {
            label: label.to_owned(),
            pattern: Some(pattern),
            block_size: Some(BLOCK),
            queue_depth: Some(1),
            jobs: Some(1),
            direct: Some(false),
            working_set: self.set,
            ..Work::default()
        }
    }
}

impl Test {
    fn latency(self) -> Option<Latency> {
        self.longest.map(|longest| Latency { max: Some(longest), ..Latency::default() })
    }
}

/// `26139us`, `1920ms`, `3s`, in nanoseconds.
fn latency(word: &str) -> Option<f64> {
    let (number, unit) = super::number::leading(word)?;
    let factor = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number * factor)
}
