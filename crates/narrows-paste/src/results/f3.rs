//! f3write and f3read, which fill a drive and read it back, f3probe, which looks for a false size, and H2testw, their model. GB and MB
//! are binary.

use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_base::workload::Pattern;

use super::number::{Base, MIB, leading, rate, size, span, whole};
use super::{Durability, Imported, Latency, Measured, Op, Page, Side, Tool, Work};

/// The runs in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut run = F3Run::default();
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("F3 ") {
            run = F3Run {
                line: number,
                version: rest.split_whitespace().nth(1).map(str::to_owned),
                ..F3Run::default()
            };
            if rest.starts_with("probe") {
                found.push(run.result(page, number));
            }
        } else if let Some(text) = line.strip_prefix("Free space:") {
            let bytes = size(text, Base::Binary);
            run.free = (run.free.0.or(bytes), bytes);
        } else if let Some(text) = line.strip_prefix("Data OK:") {
            run.read = size(text, Base::Binary);
        } else if let Some(text) = line.strip_prefix("Data LOST:").filter(|text| sectors(text) > 0) {
            run.failures.push(format!("Data LOST: {}", text.trim()));
        } else if let Some((op, text)) = speed(line) {
            let moved = if op == Op::Write { run.written() } else { run.read };
            found.extend(run.take(page, number, op, text, moved));
        } else if let Some(result) = found.last_mut().filter(|_| run.version.is_some()) {
            probe(result, number, line);
        }
    }
    found
}

/// `Average writing speed: 12.44 MB/s`.
fn speed(line: &str) -> Option<(Op, &str)> {
    let rest = line.strip_prefix("Average ")?;
    let op = |word: &str, op: Op| Some((op, rest.strip_prefix(word)?));
    op("writing speed:", Op::Write).or_else(|| op("reading speed:", Op::Read))
}

/// `0.00 Byte (0 sectors)`.
fn sectors(text: &str) -> u64 {
    let inside = text.split_once('(').and_then(|(_, inside)| super::number::whole(inside));
    inside.map_or(0, |(count, _)| count)
}

#[derive(Debug, Default)]
struct F3Run {
    line: usize,
    version: Option<String>,
    /// The first and the last that was told.
    free: (Option<Bytes>, Option<Bytes>),
    read: Option<Bytes>,
    failures: Vec<String>,
}

impl F3Run {
    fn result(&self, page: &Page<'_>, number: usize) -> Imported {
        let mut result = Imported::new(Tool::F3, page.name, if self.line > 0 { self.line } else { number });
        result.version.clone_from(&self.version);
        result
    }

    fn written(&self) -> Option<Bytes> {
        let (before, after) = (self.free.0?, self.free.1?);
        before.get().checked_sub(after.get()).filter(|bytes| *bytes > 0).map(Bytes::new)
    }

    fn take(
        &mut self,
        page: &Page<'_>,
        number: usize,
        op: Op,
        text: &str,
        moved: Option<Bytes>,
    ) -> Option<Imported> {
        let rate = rate(text, Base::Binary).filter(|_| text.trim().ends_with("B/s"))?;
        let mut result = self.result(page, number);
        result.corrections.push("f3 prints MB/s and counts MiB; its rates are read as MiB/s".to_owned());
        result.failures.append(&mut self.failures);
        let work = Work {
            pattern: Some(Pattern::Sequential),
            // f3write.c calls fdatasync after each file of 1 GB.
            durability: (op == Op::Write).then_some(Durability::AtEnd),
            working_set: moved,
            ..Work::one_at_a_time(if op == Op::Write { "f3write" } else { "f3read" })
        };
        result.push(number, work, op, Side { bytes_per_second: rate, bytes: moved, ..Side::default() });
        *self = Self::default();
        Some(result)
    }
}

/// The lines of f3probe: its verdict, and the mean times of single requests since 8.0.
fn probe(result: &mut Imported, number: usize, line: &str) {
    let has_verdict = line.starts_with("Bad news: The device") || line.starts_with("Good news: The device");
    if line.starts_with("Bad news: The device") {
        result.failures.push(line.to_owned());
    }
    if has_verdict {
        let device = line.split('`').nth(1).and_then(|rest| rest.split('\'').next());
        let work = Work { target: device.map(str::to_owned), ..Work::named("f3probe") };
        result.measurements.push(Measured::new(number, work));
    } else if let Some(first) = result.measurements.first_mut().filter(|_| line.starts_with("*Usable* size:"))
    {
        let usable = line.split_once(':').and_then(|(_, text)| size(text, Base::Binary));
        if let Some(usable) = usable {
            first.work.label = format!("f3probe: {} usable", human::bytes(usable));
        }
    } else if !result.measurements.is_empty() {
        result.measurements.extend(request(number, line));
    }
}

/// `Read: 552.7ms / 16505 = 33us`: the mean time of requests of one kind.
fn request(number: usize, line: &str) -> Option<Measured> {
    let (name, rest) = line.split_once(": ")?;
    let (_, mean) = rest.split_once(" = ").filter(|_| matches!(name, "Read" | "Write"))?;
    leading(mean)?;
    let label = format!("f3probe, single {}s", name.to_lowercase());
    let latency_ns = Some(Latency::of_mean(span(mean)?.0));
    Some(Measured { latency_ns, ..Measured::new(number, Work::one_at_a_time(label)) })
}

/// H2testw of the magazine c't, in English or German. A run that only reads back has one rate; the amount that was tested stands
/// above the rates, and its `MByte` are MiB.
pub(super) fn read_h2testw(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let (mut bytes, mut failures) = (None, Vec::new());
    let mut last = None;
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some(rest) =
            ["Warning: Only ", "Achtung: Nur "].iter().find_map(|start| line.strip_prefix(start))
        {
            let amount = whole(rest).filter(|_| rest.contains("MByte"));
            bytes = amount.and_then(|(count, _)| count.checked_mul(1 << 20)).map(Bytes::new);
            continue;
        }
        if line.starts_with("The media is likely to be defective")
            || line.contains("ist wahrscheinlich defekt")
        {
            failures.push(line.to_owned());
            continue;
        }
        let Some((op, rate)) = h2testw_rate(line) else { continue };
        // Writing comes first: another rate of a direction that was told, or one far below, is of another run.
        let is_next =
            last.is_some_and(|(at, before)| op == Op::Read && before == Op::Write && number <= at + 3);
        if !is_next {
            let result = Imported::new(Tool::H2testw, page.name, number);
            found.push(Imported { failures: std::mem::take(&mut failures), ..result });
        }
        last = Some((number, op));
        let Some(result) = found.last_mut() else { continue };
        let label = if op == Op::Write { "H2testw, writing" } else { "H2testw, reading" };
        let work =
            Work { pattern: Some(Pattern::Sequential), working_set: bytes, ..Work::one_at_a_time(label) };
        result.push(number, work, op, Side { bytes, ..Side::at(rate) });
        if op == Op::Read {
            bytes = None;
        }
    }
    found
}

/// `Writing speed: 17.7 MByte/s`, `Leserate: 62,1 MByte/s`.
fn h2testw_rate(line: &str) -> Option<(Op, BytesPerSec)> {
    let (name, text) = line.split_once(':')?;
    let op = match name {
        "Writing speed" | "Schreibrate" => Op::Write,
        "Reading speed" | "Leserate" => Op::Read,
        _ => return None,
    };
    let text = text.trim().replace(',', ".");
    let (number, unit) = leading(&text)?;
    (unit.trim() == "MByte/s" && number > 0.0).then(|| (op, BytesPerSec::new(number * MIB)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h2testw_writes_and_reads_back_and_its_megabytes_are_binary() {
        let body = "Warning: Only 30107 of 30108 MByte tested.\nTest finished without errors.\n\
            You can now delete the test files *.h2w or verify them again.\nWriting speed: 17.7 MByte/s\nReading speed: 17.9 MByte/s\n\
            H2testw v1.4\nDer Datenträger ist wahrscheinlich defekt.\nLeserate: 62,1 MByte/s\n";
        let found = read_h2testw(&Page { name: "x", body });
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        let [write, read] = first.measurements.as_slice() else { panic!("{first:?}") };
        let side = write.write.as_ref().expect("writes");
        assert_eq!((side.bytes_per_second.get(), side.bytes), (17.7 * MIB, Some(Bytes::new(30107 << 20))));
        assert_eq!(read.read.as_ref().map(|side| side.bytes_per_second.get()), Some(17.9 * MIB));
        assert_eq!(
            second.measurements[0].read.as_ref().map(|side| side.bytes_per_second.get()),
            Some(62.1 * MIB)
        );
        assert_eq!((first.failures.len(), second.failures.len()), (0, 1));
    }

    #[test]
    fn filling_and_reading_back_are_two_results() {
        let body = "F3 write 7.1\nFree space: 14.63 GB\nCreating file 1.h2w ... OK!\nFree space: 0.00 Byte\nAverage writing speed: 12.44 MB/s\n\
            F3 read 7.1\n  Data OK: 14.63 GB (30682240 sectors)\nData LOST: 1.00 MB (2048 sectors)\nAverage reading speed: 1.09 GB/s\n";
        let found = read(&Page { name: "x", body });
        let [write, back] = found.as_slice() else { panic!("{found:?}") };
        let side = write.measurements[0].write.as_ref().expect("writes");
        assert_eq!(side.bytes_per_second.get(), 12.44 * 1_048_576.0);
        assert_eq!(side.bytes, size("14.63 GB", Base::Binary));
        assert_eq!(
            back.measurements[0].read.as_ref().map(|side| side.bytes_per_second.get()),
            Some(1.09 * 1_073_741_824.0)
        );
        assert_eq!((write.failures.len(), back.failures.len()), (0, 1));
    }

    #[test]
    fn a_false_size_is_a_failure() {
        let body = "F3 probe 8.0\nBad news: The device `/dev/sdb' is a counterfeit of type limbo\n\t *Usable* size: 1.00 TB (2147483648 blocks)\n\
            Probe time: 2'14\"\n      Read: 552.7ms / 16505 = 33us\n     Write: 2'13\" / 80012 = 1.6ms\n     Reset: 2us / 2 = 1us\n";
        let found = read(&Page { name: "x", body });
        assert_eq!((found[0].failures.len(), found[0].measurements.len()), (1, 3));
        assert_eq!(found[0].measurements[0].work.target.as_deref(), Some("/dev/sdb"));
        let good = "F3 probe 9.0\nGood news: The device `/dev/nvme1n1' is the real thing\n";
        assert!(read(&Page { name: "x", body: good })[0].failures.is_empty());
    }
}
