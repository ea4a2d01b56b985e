//! f3write and f3read, which fill a drive and read it back, and f3probe, which looks for a false size. GB and MB are binary.

use narrows_base::units::{Bytes, human};
use narrows_base::workload::Pattern;

use super::number::{Base, leading, rate, size, span};
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

#[cfg(test)]
mod tests {
    use super::*;

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
