//! IOzone: throughput mode and the matrix of its automatic mode. Its kB are KiB in every version.

mod columns;
mod excel;

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::command::{Commands, has_word};
use super::number::{Base, after, leading, size, whole};
use super::{Durability, Imported, Measured, Op, Page, Side, Tool, Work};

/// What is said of every result.
const CORRECTION: &str =
    "IOzone prints kB/sec and counts 1024 bytes; its rates are read as KiB/s, 2.4 % more";

/// The runs in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["Children see throughput", "reclen", "report\"", "Throughput report"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut run = Run::default();
    for (number, line) in page.lines() {
        // What stands above the command of another run is not of that.
        if run.begun && Commands::is_call(line, "iozone") {
            run = Run::default();
            commands.forget();
        }
        commands.see(number, line, "iozone");
        if line.contains("Version $Revision:") {
            // The banner stands before the command; the next one begins another run.
            if run.begun {
                run = Run::default();
                commands.forget();
            }
            run.version =
                after(line, "$Revision:").map(|rest| rest.trim_end_matches(['$', ' ']).trim().to_owned());
            run.begins.get_or_insert(number);
        }
        if run.ends_before(line) {
            run = Run::default();
            commands.forget();
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
    if found.is_empty() { excel::read(page) } else { found }
}

/// The largest record of the automatic mode, in KiB.
const LARGEST_RECORD: u64 = 16 << 10;

/// What was said of a run above its numbers.
#[derive(Debug, Default)]
struct Run {
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

/// The columns of the matrix behind `kB` and `reclen`.
const COLUMNS: [(&str, Op, Pattern); 9] = [
    ("write", Op::Write, Pattern::Sequential),
    ("rewrite", Op::Write, Pattern::Sequential),
    ("read", Op::Read, Pattern::Sequential),
    ("reread", Op::Read, Pattern::Sequential),
    ("random read", Op::Read, Pattern::Random),
    ("random write", Op::Write, Pattern::Random),
    ("backward read", Op::Read, Pattern::Sequential),
    ("record rewrite", Op::Write, Pattern::Sequential),
    ("stride read", Op::Read, Pattern::Random),
];

impl Run {
    /// Whether a line below a row of the matrix has numbers alone and is no row: the end of one that was broken.
    fn goes_on_with(&self, line: &str) -> bool {
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        self.is_below_row && !line.trim().is_empty() && line.split_whitespace().all(is_number)
    }

    /// Whether what was said above is not of a line: it is behind the end of its run, of the other mode, or of a test that was
    /// done already.
    fn ends_before(&self, line: &str) -> bool {
        let is_matrix = line.contains("reclen") && line.contains("rewrite");
        let is_again = |test: &str| self.columns || self.tests.iter().any(|known| known == test);
        let is_other =
            || is_matrix && !self.columns || of_throughput(line).is_some_and(|(_, test, _)| is_again(test));
        self.begun && (line.contains("iozone test complete") || is_other())
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
        let mut work = work(name, record, command);
        work.pattern = Some(if random { Pattern::Random } else { Pattern::Sequential });
        work.jobs = u32::try_from(processes).ok();
        work.working_set = file.map(|size| Bytes::new(size.get().saturating_mul(processes)));
        let in_ops = self.in_ops || unit.trim_start().starts_with("ops");
        measured(number, work, op, rate, in_ops)
    }

    /// A row of the matrix: the size and record in KiB, then rates in KiB/s or in records.
    fn matrix(&self, number: usize, line: &str, command: Option<&str>) -> Vec<Measured> {
        let cells = columns::cells(line);
        let [(file, _), (record, at), rates @ ..] = cells.as_slice() else { return Vec::new() };
        // Records are larger than those of the automatic mode (man iozone: 4k to 16M) where somebody asks for that only; the rest
        // of a broken row may look like a row.
        let may_be = *record <= LARGEST_RECORD
            || command.is_some_and(|command| of_flag(command, "-r").or(of_flag(command, "-q")).is_some());
        let is_row = *record > 0 && may_be && file >= record && file % record == 0;
        if !is_row || rates.is_empty() || rates.len() > 13 {
            return Vec::new();
        }
        let Some(places) = columns::places(*at, rates, command) else { return Vec::new() };
        let columns =
            places.into_iter().zip(rates).filter_map(|(place, (rate, _))| Some((COLUMNS.get(place)?, *rate)));
        columns
            .filter(|(_, rate)| *rate > 0)
            .filter_map(|((name, op, pattern), rate)| {
                let mut work = work(name, Some(Bytes::from_kib(*record)), command);
                work.pattern = Some(*pattern);
                work.jobs = Some(1);
                work.working_set = Some(Bytes::from_kib(*file));
                measured(number, work, *op, rate as f64, self.in_ops)
            })
            .collect()
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
    let mut measured = Measured::new(number, work);
    measured
        .put(op, Side { bytes_per_second: rate, iops, bytes: measured.work.working_set, ..Side::default() });
    Some(measured)
}

/// What the command line tells: `-I` bypasses the page cache, `-o` writes synchronously, `-e` and `-c` include flushes
/// and closes in the time.
fn work(name: &str, record: Option<Bytes>, command: Option<&str>) -> Work {
    let has = |flag: &str| command.map(|command| has_word(command, flag));
    let durability = match (has("-o"), has("-e")) {
        (Some(true), _) => Some(Durability::Each),
        (_, Some(true)) => Some(Durability::AtEnd),
        (Some(false), Some(false)) => Some(Durability::None),
        _ => None,
    };
    Work {
        label: name.to_owned(),
        block_size: record,
        queue_depth: Some(1),
        direct: has("-I"),
        durability,
        ..Work::default()
    }
}

/// The columns of the tests that `-i` asks for, in their order.
fn of_tests(command: &str) -> Option<Vec<usize>> {
    /// The columns of each test, by its number (iozone -h).
    const TESTS: [&[usize]; 8] = [&[0, 1], &[2, 3], &[4, 5], &[6], &[7], &[8], &[9, 10], &[11, 12]];
    let mut words = command.split_whitespace();
    let mut columns = Vec::new();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix("-i") else { continue };
        let number = if rest.is_empty() { words.next()? } else { rest };
        columns.extend_from_slice(TESTS.get(number.parse::<usize>().ok()?)?);
    }
    columns.sort_unstable();
    columns.dedup();
    (!columns.is_empty()).then_some(columns)
}

/// A size behind a flag, apart or not: `-s 2048m`, `-s1g`. A bare number is KiB.
fn of_flag(command: &str, flag: &str) -> Option<Bytes> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix(flag) else { continue };
        let text = if rest.is_empty() { words.next()? } else { rest };
        if let Some((number, unit)) = leading(text) {
            let bytes = size(text, Base::Binary)?;
            return Some(if unit.is_empty() { Bytes::from_kib(number as u64) } else { bytes });
        }
    }
    None
}

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
}
