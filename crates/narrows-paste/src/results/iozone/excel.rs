//! `iozone -R`: the numbers again, for a spreadsheet. Of the automatic mode a table for each operation, with the records'
//! sizes above and the file's in front, both in KiB; of the throughput mode a line for each operation (`iozone.c`,
//! `dump_excel` and `dump_throughput`). Only bandwidths are read: with `-O` they are operations, with `-N` times.

use super::super::command::Commands;
use super::super::number::leading;
use super::super::{Imported, Op, Page, Tool};
use super::{measured, work};
use narrows_base::units::Bytes;
use narrows_base::workload::Pattern;

/// The reports in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if page.has(&[
        "Output is in ops/sec",
        "Output is in Ops/sec",
        "microseconds per operation",
        "Microseconds/op",
    ]) {
        return Vec::new();
    }
    let mut commands = Commands::default();
    let mut imported = Imported::new(Tool::Iozone, page.name, 1);
    let mut report: Option<(&str, Op, Pattern)> = None;
    let mut records: Vec<u64> = Vec::new();
    let mut record: Option<Bytes> = None;
    for (number, line) in page.lines() {
        commands.see(number, line, "iozone");
        let line = line.trim();
        let cells = cells(line);
        if let Some(name) = line.strip_suffix(" report\"").and_then(|name| name.strip_prefix('"')) {
            report = operation(name);
            records.clear();
        } else if let Some(size) = line.strip_prefix("\"Record size = ") {
            record = leading(size).map(|(kib, _)| Bytes::from_kib(kib as u64));
        } else if let [Cell::Name(name), Cell::Number(rate)] = cells.as_slice()
            && let Some((name, op, pattern)) = operation(name)
            && report.is_none()
        {
            let mut work = work(name, record, commands.last());
            work.pattern = Some(pattern);
            imported.measurements.extend(measured(number, work, op, *rate, false));
        } else if let Some((name, op, pattern)) = report {
            let sizes: Option<Vec<u64>> = cells.iter().map(Cell::size).collect();
            if let Some(sizes) = sizes.filter(|sizes| !sizes.is_empty()) {
                records = sizes;
            } else if let Some((file, rates)) =
                cells.split_first().and_then(|(file, rates)| Some((file.size()?, rates)))
            {
                for (record, rate) in records.iter().zip(rates) {
                    // A combination that was not measured is a nought.
                    let Cell::Number(rate) = rate else { continue };
                    if *rate > 0.0 {
                        let mut work = work(name, Some(Bytes::from_kib(*record)), commands.last());
                        work.pattern = Some(pattern);
                        work.jobs = Some(1);
                        work.working_set = Some(Bytes::from_kib(file));
                        imported.measurements.extend(measured(number, work, op, *rate, false));
                    }
                }
            }
        }
    }
    imported.command = commands.last().map(str::to_owned);
    imported.line = imported.measurements.first().map_or(1, |first| first.line);
    if imported.is_empty() { Vec::new() } else { vec![imported] }
}

/// What stands in a line: texts in quotation marks, and numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell<'a> {
    Name(&'a str),
    Number(f64),
}

impl Cell<'_> {
    /// A size in quotation marks.
    fn size(&self) -> Option<u64> {
        match self {
            Self::Name(text) => text.parse().ok(),
            Self::Number(_) => None,
        }
    }
}

fn cells(line: &str) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    // Every other piece is between quotation marks.
    for (at, piece) in line.split('"').enumerate() {
        if at % 2 == 1 {
            cells.push(Cell::Name(piece.trim()));
        } else {
            let numbers = piece.split_whitespace().filter_map(super::super::number::plain);
            cells.extend(numbers.map(Cell::Number));
        }
    }
    cells
}

/// An operation by its name in a table or a line.
fn operation(name: &str) -> Option<(&'static str, Op, Pattern)> {
    let sequential = |name, op| Some((name, op, Pattern::Sequential));
    let random = |name, op| Some((name, op, Pattern::Random));
    match name.trim().to_lowercase().replace('-', "").as_str() {
        "writer" | "initial write" => sequential("write", Op::Write),
        "rewriter" | "rewrite" => sequential("rewrite", Op::Write),
        "reader" | "read" => sequential("read", Op::Read),
        "rereader" | "reread" => sequential("reread", Op::Read),
        "random read" => random("random read", Op::Read),
        "random write" => random("random write", Op::Write),
        "backward read" | "reverse read" => sequential("backward read", Op::Read),
        "record rewrite" => sequential("record rewrite", Op::Write),
        "stride read" => random("stride read", Op::Read),
        "fwrite" => sequential("fwrite", Op::Write),
        "refwrite" => sequential("refwrite", Op::Write),
        "fread" => sequential("fread", Op::Read),
        "refread" => sequential("refread", Op::Read),
        "pwrite" => sequential("pwrite", Op::Write),
        "pread" => sequential("pread", Op::Read),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_automatic_mode() {
        let body = "Excel output is below:\n\n\"Writer report\"\n        \"4\"  \"8\"\n\"16\"   173944  200000\n\"32\"   235549  0\n\n\
            \"Random read report\"\n        \"4\"\n\"16\"   516994\n\"32\"   56";
        let found = read(&Page { name: "x", body });
        let shown: Vec<_> = found[0]
            .measurements
            .iter()
            .map(|one| {
                let (_, side) = one.sides().next().expect("a side");
                (
                    one.work.label.as_str(),
                    one.work.block_size.map(|size| size.get() >> 10),
                    side.bytes_per_second.get() / 1024.0,
                )
            })
            .collect();
        assert_eq!(
            shown[..3],
            [("write", Some(4), 173_944.0), ("write", Some(8), 200_000.0), ("write", Some(4), 235_549.0)]
        );
        assert_eq!(shown[3], ("random read", Some(4), 516_994.0));
    }

    #[test]
    fn lines_of_the_throughput_mode() {
        let body = "\"Throughput report Y-axis is type of test X-axis is number of processes\"\n\"Record size = 4 Kbytes \"\n\
            \"Output is in Kbytes/sec\"\n\n\"  Initial write \"  246059.19 \n\n\"        Re-read \" 2055142.27 \n\n\"    Random read \" 1850449.30 \n";
        let found = read(&Page { name: "x", body });
        let rates: Vec<f64> = found[0]
            .measurements
            .iter()
            .flat_map(|one| {
                one.sides().map(|(_, side)| side.bytes_per_second.get() / 1024.0).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(rates, [246_059.19, 2_055_142.27, 1_850_449.3]);
        assert_eq!(found[0].measurements[0].work.block_size, Some(Bytes::from_kib(4)));
        assert!(read(&Page { name: "x", body: &body.replace("Kbytes/sec", "ops/sec") }).is_empty());
    }
}
