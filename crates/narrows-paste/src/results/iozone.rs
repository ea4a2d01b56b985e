//! IOzone: throughput mode and the matrix of its automatic mode. Its kB are KiB in every version.

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::command::{Commands, has_word, letter};
use super::number::{Base, after, leading, size, whole};
use super::{Durability, Imported, Measured, Op, Page, Side, Tool, Work};

const BANNER: &str = "Version $Revision:";

/// What is said of every result.
const CORRECTION: &str =
    "IOzone prints kB/sec and counts 1024 bytes; its rates are read as KiB/s, 2.4 % more";

/// The runs in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut run = IozoneRun::default();
    for (number, line) in page.lines() {
        // What stands above the command of another run is not of that.
        if run.ends_before(line) {
            run = IozoneRun::default();
            commands.forget();
        }
        commands.see(number, line, "iozone");
        if line.contains(BANNER) {
            run.version = after(line, BANNER).map(|rest| rest.trim_end_matches(['$', ' ']).trim().to_owned());
            run.begins.get_or_insert(number);
        }
        run.header(line);
        let row = run.row(number, line, commands.last());
        if let Some(result) = found.last_mut().filter(|_| row.is_empty() && run.goes_on_with(line)) {
            result.unread.push(number);
        }
        run.is_below_row = !row.is_empty() || run.is_below_row && line.trim().is_empty();
        for measured in row {
            if !run.begun {
                run.begun = true;
                let mut imported = Imported::new(Tool::Iozone, page.name, run.begins.unwrap_or(number));
                imported.version.clone_from(&run.version);
                imported.corrections.push(CORRECTION.to_owned());
                imported.command = commands.last().map(str::to_owned);
                found.push(imported);
            }
            if let Some(result) = found.last_mut() {
                run.tests.push(measured.work.label.clone());
                result.measurements.push(measured);
            }
        }
    }
    // `-R` repeats the numbers; alone they stand where only the report was kept.
    if found.is_empty() { read_excel(page) } else { found }
}

/// The largest record of the automatic mode, in KiB.
const LARGEST_RECORD: u64 = 16 << 10;

/// What was said of a run above its numbers.
#[derive(Debug, Default)]
struct IozoneRun {
    begins: Option<usize>,
    begun: bool,
    version: Option<String>,
    file: Option<Bytes>,
    record: Option<Bytes>,
    in_ops: bool,
    in_times: bool,
    columns: bool,
    is_below_row: bool,
    /// The tests whose rates stand there since the last heading.
    tests: Vec<String>,
}

/// An operation: its name, what the tables of `-R` call it beside that, its direction and its order.
type IozoneTest = (&'static str, &'static [&'static str], Op, Pattern);

/// The operations. The first nine are the columns of the matrix behind `kB` and `reclen`.
const TESTS: [IozoneTest; 15] = [
    ("write", &["writer", "initial write"], Op::Write, Pattern::Sequential),
    ("rewrite", &["rewriter"], Op::Write, Pattern::Sequential),
    ("read", &["reader"], Op::Read, Pattern::Sequential),
    ("reread", &["rereader"], Op::Read, Pattern::Sequential),
    ("random read", &[], Op::Read, Pattern::Random),
    ("random write", &[], Op::Write, Pattern::Random),
    ("backward read", &["reverse read"], Op::Read, Pattern::Sequential),
    ("record rewrite", &[], Op::Write, Pattern::Sequential),
    ("stride read", &[], Op::Read, Pattern::Random),
    ("fwrite", &[], Op::Write, Pattern::Sequential),
    ("refwrite", &[], Op::Write, Pattern::Sequential),
    ("fread", &[], Op::Read, Pattern::Sequential),
    ("refread", &[], Op::Read, Pattern::Sequential),
    ("pwrite", &[], Op::Write, Pattern::Sequential),
    ("pread", &[], Op::Read, Pattern::Sequential),
];

/// How many of them a matrix always has.
const IN_MATRIX: usize = 9;

impl IozoneRun {
    /// Whether a line below a row of the matrix has numbers alone and is no row: the end of one that was broken.
    fn goes_on_with(&self, line: &str) -> bool {
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        self.is_below_row && !line.trim().is_empty() && line.split_whitespace().all(is_number)
    }

    /// Whether what was said above is not of a line: it begins another run, is behind the end of its own, of the other mode, or
    /// of a test that was done already. The banner stands before the command.
    fn ends_before(&self, line: &str) -> bool {
        let is_matrix = line.contains("reclen") && line.contains("rewrite");
        let is_again = |test: &str| self.columns || self.tests.iter().any(|known| known == test);
        let is_other =
            || is_matrix && !self.columns || of_throughput(line).is_some_and(|(_, test, _)| is_again(test));
        let is_edge = [BANNER, "iozone test complete"].iter().any(|mark| line.contains(mark));
        self.begun && (is_edge || Commands::is_call(line, "iozone") || is_other())
    }

    fn header(&mut self, line: &str) {
        let line = line.trim();
        let kib = |text: &str| whole(text).map(|(count, _)| Bytes::from_kib(count));
        if let Some(rest) = line.strip_prefix("Each process writes a ") {
            // With other numbers of processes each test is done again.
            self.tests.clear();
            self.file = kib(rest);
            self.record = after(rest, " in ").and_then(kib);
        } else if let Some(rest) = line.strip_prefix("File size set to ") {
            self.file = self.file.or_else(|| kib(rest));
        } else if let Some(rest) =
            line.strip_prefix("Record Size ").or(line.strip_prefix("Record size set to "))
        {
            self.record = self.record.or_else(|| kib(rest));
        } else if line.starts_with("OPS Mode") || line.to_lowercase().starts_with("output is in ops") {
            self.in_ops = true;
        } else if line.to_lowercase().contains("output is in microseconds") {
            self.in_times = true;
        } else if line.contains("reclen") && line.contains("rewrite") {
            self.columns = true;
        }
    }

    fn row(&self, number: usize, line: &str, command: Option<&str>) -> Vec<Measured> {
        if self.in_times {
            return Vec::new();
        }
        if let Some(measured) = self.throughput(number, line, command) {
            return vec![measured];
        }
        if self.columns { self.matrix(number, line, command) } else { Vec::new() }
    }

    /// `Children see throughput for  4 initial writers = 109333.84 kB/sec`.
    fn throughput(&self, number: usize, line: &str, command: Option<&str>) -> Option<Measured> {
        let (processes, name, rate) = of_throughput(line)?;
        let (rate, unit) = leading(rate)?;
        let op = if name.contains("writ") || name.contains("mixed") { Op::Write } else { Op::Read };
        let random = name.contains("random") || name.contains("stride") || name.contains("mixed");
        let option = |flag: &str| command.and_then(|command| of_flag(command, flag));
        let file = self.file.or_else(|| option("-s"));
        let record = self.record.or_else(|| option("-r"));
        let pattern = if random { Pattern::Random } else { Pattern::Sequential };
        let set = file.map(|size| Bytes::new(size.get().saturating_mul(processes)));
        let work = iozone_work((name, pattern), record, u32::try_from(processes).ok(), set, command);
        let in_ops = self.in_ops || unit.trim_start().starts_with("ops");
        measured(number, work, op, rate, in_ops)
    }

    /// A row of the matrix: the size and record in KiB, then rates in KiB/s or in records.
    fn matrix(&self, number: usize, line: &str, command: Option<&str>) -> Vec<Measured> {
        let cells = matrix_cells(line);
        let [(file, _), (record, at), rates @ ..] = cells.as_slice() else { return Vec::new() };
        // Records are larger than those of the automatic mode (man iozone: 4k to 16M) where somebody asks for that only; the rest
        // of a broken row may look like a row.
        let may_be = *record <= LARGEST_RECORD
            || command.is_some_and(|command| of_flag(command, "-r").or(of_flag(command, "-q")).is_some());
        let is_row = *record > 0 && may_be && file >= record && file % record == 0;
        if !is_row || rates.is_empty() || rates.len() > 13 {
            return Vec::new();
        }
        let Some(places) = matrix_places(*at, rates, command) else { return Vec::new() };
        let columns = places.into_iter().zip(rates).filter_map(|(place, (rate, _))| {
            Some((TESTS.get(place).filter(|_| place < IN_MATRIX && *rate > 0)?, *rate as f64))
        });
        let size = |kib: &u64| Some(Bytes::from_kib(*kib));
        let measured = |((name, _, op, pattern), rate): (&IozoneTest, f64)| {
            let work = iozone_work((name, *pattern), size(record), Some(1), size(file), command);
            measured(number, work, *op, rate, self.in_ops)
        };
        columns.filter_map(measured).collect()
    }
}

/// The number of processes, the test and its rate.
fn of_throughput(line: &str) -> Option<(u64, &str, &str)> {
    let (processes, rest) = whole(after(line, "Children see throughput for")?)?;
    let (name, rate) = rest.split_once('=')?;
    Some((processes, name.trim(), rate))
}

/// A rate in KiB/s, or in records per second: of these only with the size of a record.
fn measured(number: usize, work: Work, op: Op, rate: f64, in_ops: bool) -> Option<Measured> {
    let size = work.block_size.filter(|size| size.get() > 0);
    let rate = match in_ops {
        true => BytesPerSec::new(rate * size?.as_f64()),
        false => BytesPerSec::from_kib(rate),
    };
    let iops = size.map(|size| Iops::new(rate.get() / size.as_f64()));
    // Each test visits the file of each process once.
    let side = Side { bytes_per_second: rate, iops, bytes: work.working_set, ..Side::default() };
    Some(Measured::of(number, work, op, side))
}

/// What the command line tells: `-I` bypasses the page cache, `-o` writes synchronously, `-e` and `-c` include flushes
/// and closes in the time.
fn iozone_work(
    (name, pattern): (&str, Pattern),
    record: Option<Bytes>,
    jobs: Option<u32>,
    working_set: Option<Bytes>,
    command: Option<&str>,
) -> Work {
    let has = |flag: &str| command.map(|command| has_word(command, flag));
    let durability = match (has("-o"), has("-e")) {
        (Some(true), _) => Some(Durability::Each),
        (_, Some(true)) => Some(Durability::AtEnd),
        (Some(false), Some(false)) => Some(Durability::None),
        _ => None,
    };
    Work {
        pattern: Some(pattern),
        block_size: record,
        queue_depth: Some(1),
        jobs,
        working_set,
        direct: has("-I"),
        durability,
        ..Work::named(name)
    }
}

/// The columns of the tests that `-i` asks for, in their order.
fn of_tests(command: &str) -> Option<Vec<usize>> {
    /// The columns of each test, by its number (iozone -h).
    const OF_EACH: [&[usize]; 8] = [&[0, 1], &[2, 3], &[4, 5], &[6], &[7], &[8], &[9, 10], &[11, 12]];
    let mut words = command.split_whitespace();
    let mut columns = Vec::new();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix("-i") else { continue };
        let number = if rest.is_empty() { words.next()? } else { rest };
        columns.extend_from_slice(OF_EACH.get(number.parse::<usize>().ok()?)?);
    }
    columns.sort_unstable();
    columns.dedup();
    (!columns.is_empty()).then_some(columns)
}

/// A size behind a flag, apart or not: `-s 2048m`, `-s1g`. A bare number is KiB.
fn of_flag(command: &str, flag: &str) -> Option<Bytes> {
    let text = letter(command, flag)?;
    let (number, unit) = leading(text)?;
    if unit.is_empty() { Some(Bytes::from_kib(number as u64)) } else { size(text, Base::Binary) }
}

/// `iozone -R`: the numbers again, for a spreadsheet. Of the automatic mode a table for each operation, with the records'
/// sizes above and the file's in front, both in KiB; of the throughput mode a line for each operation (`iozone.c`,
/// `dump_excel` and `dump_throughput`). Only bandwidths are read: with `-O` they are operations, with `-N` times.
fn read_excel(page: &Page<'_>) -> Vec<Imported> {
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
        let cells = excel_cells(line);
        if let Some(name) = line.strip_suffix(" report\"").and_then(|name| name.strip_prefix('"')) {
            report = excel_operation(name);
            records.clear();
        } else if let Some(size) = line.strip_prefix("\"Record size = ") {
            record = leading(size).map(|(kib, _)| Bytes::from_kib(kib as u64));
        } else if let [ExcelCell::Name(name), ExcelCell::Number(rate)] = cells.as_slice()
            && let Some((name, op, pattern)) = excel_operation(name)
            && report.is_none()
        {
            let work = iozone_work((name, pattern), record, None, None, commands.last());
            imported.measurements.extend(measured(number, work, op, *rate, false));
        } else if let Some((name, op, pattern)) = report {
            let sizes: Option<Vec<u64>> = cells.iter().map(ExcelCell::size).collect();
            if let Some(sizes) = sizes.filter(|sizes| !sizes.is_empty()) {
                records = sizes;
            } else if let Some((file, rates)) =
                cells.split_first().and_then(|(file, rates)| Some((file.size()?, rates)))
            {
                for (record, rate) in records.iter().zip(rates) {
                    // A combination that was not measured is a nought.
                    let ExcelCell::Number(rate) = rate else { continue };
                    if *rate > 0.0 {
                        let (record, file) = (Bytes::from_kib(*record), Bytes::from_kib(file));
                        let test = (name, pattern);
                        let work = iozone_work(test, Some(record), Some(1), Some(file), commands.last());
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
enum ExcelCell<'a> {
    Name(&'a str),
    Number(f64),
}

impl ExcelCell<'_> {
    /// A size in quotation marks.
    fn size(&self) -> Option<u64> {
        match self {
            Self::Name(text) => text.parse().ok(),
            Self::Number(_) => None,
        }
    }
}

fn excel_cells(line: &str) -> Vec<ExcelCell<'_>> {
    let mut cells = Vec::new();
    // Every other piece is between quotation marks.
    for (at, piece) in line.split('"').enumerate() {
        if at % 2 == 1 {
            cells.push(ExcelCell::Name(piece.trim()));
        } else {
            let numbers = piece.split_whitespace().filter_map(super::number::plain);
            cells.extend(numbers.map(ExcelCell::Number));
        }
    }
    cells
}

/// An operation by its name in a table or a line.
fn excel_operation(name: &str) -> Option<(&'static str, Op, Pattern)> {
    let name = name.trim().to_lowercase().replace('-', "");
    let is_it = |(own, others, ..): &&IozoneTest| *own == name || others.contains(&name.as_str());
    TESTS.iter().find(is_it).map(|(name, _, op, pattern)| (*name, *op, *pattern))
}

/// The whole numbers of a line, each with the place of its last digit.
fn matrix_cells(line: &str) -> Vec<(u64, usize)> {
    let mut cells = Vec::new();
    let mut at = 0;
    for word in line.split(' ') {
        at += word.len() + 1;
        match word.trim().parse() {
            Ok(number) => cells.push((number, at)),
            Err(_) if word.trim().is_empty() => {}
            Err(_) => break,
        }
    }
    cells
}

/// The columns of rates, from 0, where the record size ends at `record`. `None` when the row does not tell.
fn matrix_places(record: usize, rates: &[(u64, usize)], command: Option<&str>) -> Option<Vec<usize>> {
    if rates.len() >= IN_MATRIX {
        return Some((0..rates.len()).collect());
    }
    let by_place = MATRIX_WIDTHS.into_iter().find_map(|width| {
        let place = |end: usize| {
            let right = end.checked_sub(record)?;
            (right > 0 && right.is_multiple_of(width)).then(|| right / width - 1)
        };
        rates.iter().map(|(_, end)| place(*end)).collect::<Option<Vec<usize>>>()
    });
    by_place.or_else(|| of_tests(command?).filter(|columns| columns.len() == rates.len()))
}

/// How wide cells are, in characters: of new versions and of old ones (iozone.c, `store_value` and its `printf`s).
const MATRIX_WIDTHS: [usize; 2] = [9, 8];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_of_several_processes() {
        let body = "   iozone -e -t4 -i0 -i2 -r1k -s1g /tmp\n   Children see throughput for  4 initial writers  =  907733.81 kB/sec\n   \
            Children see throughput for 4 random readers    = 1557497.38 KB/sec\n";
        let found = read(&Page { name: "x", body });
        let [writers, readers] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        assert_eq!(writers.write.as_ref().map(|side| side.bytes_per_second.get()), Some(907_733.81 * 1024.0));
        assert_eq!(
            (writers.work.working_set, writers.work.block_size),
            (Some(Bytes::new(4 << 30)), Some(Bytes::from_kib(1)))
        );
        assert_eq!((writers.work.direct, readers.work.pattern), (Some(false), Some(Pattern::Random)));
    }

    fn rates(body: &str) -> Vec<(String, u64)> {
        let found = read(&Page { name: "x", body });
        let all = found.iter().flat_map(|one| &one.measurements);
        let rate = |one: &Measured| one.sides().map(|(_, side)| side.bytes_per_second.get() as u64).sum();
        all.map(|one| (one.work.label.clone(), rate(one))).collect()
    }

    #[test]
    fn cells_that_are_empty_move_no_others() {
        let head = "                kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread\n";
        let row = "            102400    1024   379304   383401                     375988   383204\n";
        let want =
            [("write", 379_304), ("rewrite", 383_401), ("random read", 375_988), ("random write", 383_204)]
                .map(|(label, kib)| (label.to_owned(), kib * 1024));
        assert_eq!(rates(&format!("{head}{row}")), want);
        // Blanks were lost; the command says which tests ran.
        let row = "102400 1024 379304 383401 375988 383204\n";
        assert_eq!(rates(&format!("Command line used: ./iozone -a -i 0 -i2\n{head}{row}")), want);
        assert!(rates(&format!("{head}{row}")).is_empty(), "which columns these are is not told");
    }

    #[test]
    fn the_rest_of_a_broken_row_is_no_row_of_large_records() {
        let body = "\tCommand line used: iozone -a\n              KB  reclen   write rewrite    read    reread    read   write     read\n               8       4  332862  365494\n 992567   992567  103946  382144   68927   442637    99922   382144   502269\n 129152   127193\n";
        let is_first = |rate: u64| [332_862, 365_494].contains(&(rate / 1024));
        assert!(rates(body).iter().all(|(_, rate)| is_first(*rate)), "{:?}", rates(body));
    }

    #[test]
    fn the_end_of_a_row_that_was_broken_is_said() {
        let head = "                kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread\n";
        let body = format!(
            "{head}            102400    1024   379304   383401                     375988\n383204\n"
        );
        assert_eq!(read(&Page { name: "x", body: &body })[0].unread, [3]);
    }

    #[test]
    fn a_run_below_another_has_its_own_record_size() {
        let first = "    Record Size 1024 kB\n    Command line used: ./iozone -a -s 100M -r 1024k -i 0\n                kB  reclen    write  rewrite    read    reread\n            102400    1024   379304   383401\n";
        let second = "iozone -e -t1 -i0 -r1k -s1g /tmp\n    Children see throughput for  1 initial writers  =  907733.81 kB/sec\n";
        let body = format!("{first}\n{second}");
        let found = read(&Page { name: "x", body: &body });
        let sizes: Vec<_> = found.iter().map(|one| one.measurements[0].work.block_size).collect();
        assert_eq!(sizes, [Some(Bytes::from_mib(1)), Some(Bytes::from_kib(1))]);
        // Without a command nothing is known of what stands below another run.
        let rest = "# Children see throughput for  1 initial writers  =  5.81 kB/sec\n";
        for above in [first, second] {
            let body = format!("{above}{rest}");
            let found = read(&Page { name: "x", body: &body });
            let last = found.last().and_then(|one| one.measurements.last());
            assert_eq!(last.and_then(|one| one.work.block_size), None, "{above}");
        }
    }

    #[test]
    fn records_per_second_are_no_kibibytes() {
        let body = "\tOPS Mode. Output is in operations per second.\n\tRecord Size 4 kB\n\
            \tChildren see throughput for  1 random readers\t=   10000.00 ops/sec\n";
        assert_eq!(rates(body), [("random readers".to_owned(), 40_960_000)]);
    }

    #[test]
    fn the_matrix_of_the_automatic_mode() {
        let body = "\tCommand line used: ./iozone -a -I\n\
            KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read   fwrite frewrite   fread  freread\n\
            4       4  200191  267128   401314   806376   65585  247430   40445   306121    50563   221318   306121   66627    67977\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found[0].measurements.len(), 9);
        assert_eq!(found[0].measurements[0].work.direct, Some(true));
    }

    #[test]
    fn tables_of_the_automatic_mode() {
        let body = "Excel output is below:\n\n\"Writer report\"\n        \"4\"  \"8\"\n\"16\"   173944  200000\n\"32\"   235549  0\n\n\
            \"Random read report\"\n        \"4\"\n\"16\"   516994\n\"32\"   56";
        let found = read_excel(&Page { name: "x", body });
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
        let found = read_excel(&Page { name: "x", body });
        let rates: Vec<f64> = found[0]
            .measurements
            .iter()
            .flat_map(|one| {
                one.sides().map(|(_, side)| side.bytes_per_second.get() / 1024.0).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(rates, [246_059.19, 2_055_142.27, 1_850_449.3]);
        assert_eq!(found[0].measurements[0].work.block_size, Some(Bytes::from_kib(4)));
        assert!(read_excel(&Page { name: "x", body: &body.replace("Kbytes/sec", "ops/sec") }).is_empty());
    }
}
