//! bonnie++ 1.0x, 1.9x and 2.00: the comma-separated line, and the table for people. Its K are KiB, in the table of 2.00 its
//! k, m and g are powers of 1024 too (951631 K/s of the line is `929m` in the table).
//!
//! Sources: bonnie++'s `bon_csv2html` for the order of fields, and what 1.03, 1.97 and 2.00a print. Each test writes or reads
//! through the page cache, and ends with `fsync` of its files since 1.92 (README-2.00).

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::number::{Base, leading, plain, size};
use super::{Cpu, Imported, Latency, Measured, Op, Page, Side, Tool, Work};

/// Blocks are of 8 KiB unless they are told otherwise.
const BLOCK: Bytes = Bytes::from_kib(8);

/// The results in a text. The table repeats what the line behind it says, so only one of both counts.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let lines: Vec<Imported> =
        page.lines().filter_map(|(number, line)| result_of_csv(page, number, line.trim())).collect();
    let mut found = read_table(page);
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
struct BonnieTest {
    /// Bytes per second, or seeks per second.
    rate: Option<f64>,
    /// The part of one processor.
    cpu: Option<f64>,
    /// The longest latency, in nanoseconds.
    longest: Option<f64>,
}

/// The tests whose numbers are of blocks, each with its place among all six; those of single characters measure a processor.
const TESTS: [(&str, Op, usize); 4] = [
    ("block output", Op::Write, 1),
    ("rewrite", Op::Write, 2),
    ("block input", Op::Read, 4),
    ("seeks", Op::Read, SEEKS),
];

const SEEKS: usize = 5;

#[derive(Debug, Clone)]
struct BonnieTests {
    set: Option<Bytes>,
    each: [BonnieTest; 4],
}

impl BonnieTests {
    fn measurements(&self, line: usize) -> Vec<Measured> {
        let measured = |((label, op, place), test): ((&str, Op, usize), &BonnieTest)| {
            let rate = test.rate?;
            let is_seek = place == SEEKS;
            let work = Work {
                pattern: Some(if is_seek { Pattern::Random } else { Pattern::Sequential }),
                block_size: Some(BLOCK),
                direct: Some(false),
                working_set: self.set,
                ..Work::one_at_a_time(label)
            };
            let side = Side {
                iops: is_seek.then(|| Iops::new(rate)),
                latency_ns: test.longest.map(|longest| Latency { max: Some(longest), ..Latency::default() }),
                ..Side::at(BytesPerSec::new(if is_seek { rate * BLOCK.as_f64() } else { rate }))
            };
            let cpu = test.cpu.filter(|_| !is_seek).map(|part| Cpu { user: 0.0, system: part });
            Some(Measured { cpu, ..Measured::of(line, work, op, side) })
        };
        TESTS.into_iter().zip(&self.each).filter_map(measured).collect()
    }

    fn result(&self, page: &Page<'_>, line: usize, version: Option<String>) -> Option<Imported> {
        let measurements = self.measurements(line);
        let result = Imported { version, measurements, ..Imported::new(Tool::Bonnie, page.name, line) };
        (!result.is_empty()).then_some(result)
    }
}

/// `26139us`, `1920ms`, `3s`, in nanoseconds.
fn bonnie_latency(word: &str) -> Option<f64> {
    let (number, unit) = leading(word)?;
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    units.into_iter().find(|(known, _)| *known == unit).map(|(_, factor)| number * factor)
}

/// `1.96`, `1.03e`, `2.00a`.
fn is_version(word: &str) -> bool {
    let is_known = word.starts_with("1.") || word.starts_with("2.0");
    is_known && word.len() <= 6 && plain(&word.replace(['a', 'b', 'c', 'd', 'e'], "")).is_some()
}

/// The version of the format, which was 1.98 for 2.00.
fn is_format(word: &str) -> bool {
    word.starts_with("1.") && is_version(word)
}

/// The comma-separated line: 1.0x begins with the name of the machine and has 27 fields, 1.9x and 2.00 with the version of
/// the format and that of the program.
fn result_of_csv(page: &Page<'_>, number: usize, line: &str) -> Option<Imported> {
    let mut cells: Vec<&str> = line.split(',').collect();
    if let [first, second, ..] = cells.as_mut_slice()
        && let Some(version) = first.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '.').next()
        && is_format(version)
        && is_version(second)
    {
        // A mark, a stamp or the name of a file may stand before it.
        *first = version;
    }
    // Where the size and the rate of writes stand, and where the latencies begin.
    let (set, write, latencies) = match cells.as_slice() {
        // 1.98 of 2.00: the sizes of blocks for seeks and their number stand before the rates.
        [first, ..] if *first == "1.98" && cells.len() >= 21 => (5, 11, Some(38)),
        // 1.96 and 1.97: two versions, name, concurrency, time, size, size of a block, then as 1.03, and latencies at the end.
        [first, ..] if is_format(first) && cells.len() >= 19 => (5, 9, Some(36)),
        // 1.03: name, size, per-character output (2), block output (2), rewrite (2), per-character input (2), input (2), seeks.
        [_, second, ..] if cells.len() >= 27 && second.ends_with(['G', 'M']) => (1, 4, None),
        _ => return None,
    };
    let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
    // Latencies are of: characters written, blocks written, rewritten, characters read, blocks read, seeks.
    let test = |(_, _, place): (&str, Op, usize)| {
        let at = write + 2 * (place - 1);
        let factor = if place == SEEKS { 1.0 } else { 1024.0 };
        BonnieTest {
            rate: plain(cell(at)).filter(|rate| *rate > 0.0).map(|rate| rate * factor),
            cpu: plain(cell(at + 1)).map(|percent| percent / 100.0),
            longest: latencies.and_then(|first| bonnie_latency(cell(first + place))),
        }
    };
    let tests = BonnieTests { set: size(cell(set), Base::Binary), each: TESTS.map(test) };
    let version = if latencies.is_some() { cell(1) } else { "1.03" };
    tests.result(page, number, Some(version.to_owned()))
}

/// The table for people: a heading of three lines, the line of the machine, and the latencies below it. `+++++` is what was
/// over too soon to measure.
fn read_table(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["Sequential Output"]) {
        return Vec::new();
    }
    let mut tables: Vec<(usize, Option<String>, BonnieTests)> = Vec::new();
    let mut state = TableState::Outside;
    let mut version = None;
    for (number, line) in page.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains("Sequential Output") {
            version = version_of(&words);
            state = TableState::Heading;
        } else if line.contains("Sequential Create") {
            state = TableState::Outside;
        } else if state == TableState::Heading && line.contains("/sec") {
            state = TableState::Rows;
        } else if state == TableState::Rows && words.first() == Some(&"Latency") {
            let tests = tables.last_mut().into_iter().flat_map(|(.., tests)| &mut tests.each);
            for (test, (_, _, place)) in tests.zip(TESTS) {
                test.longest = words.get(place + 1).and_then(|word| bonnie_latency(word));
            }
        } else if state != TableState::Outside
            && let Some(tests) = table_row(&words)
        {
            // Somebody left out the line with the units.
            state = TableState::Rows;
            tables.push((number, version.clone(), tests));
        }
    }
    tables.into_iter().filter_map(|(number, version, tests)| tests.result(page, number, version)).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableState {
    Outside,
    Heading,
    Rows,
}

/// `Version  1.97       ------Sequential…`, or before 1.03 the number alone.
fn version_of(words: &[&str]) -> Option<String> {
    let word = words.iter().take(2).find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some((*word).to_owned())
}

/// The name, the size, and six pairs of a rate and a percentage. A name may be of two words.
fn table_row(words: &[&str]) -> Option<BonnieTests> {
    let at = words.len().checked_sub(13)?;
    let (before, cells) = words.split_at_checked(at)?;
    let (size_cell, pairs) = cells.split_first()?;
    // A long name leaves no blank before the size: `Raid0 (8 disk)15744M`.
    let size_cell = size_cell.rsplit_once(')').map_or(*size_cell, |(_, size)| size);
    // `4G:64k`: the size of a block stands behind that of the file.
    let set = size(size_cell.split(':').next()?, Base::Binary)?;
    let is_size = leading(size_cell).is_some_and(|(_, unit)| unit.starts_with(['G', 'M', 'k', 'T']));
    let is_pair = |pair: &[&str]| pair.iter().all(|cell| cell.starts_with("+++") || leading(cell).is_some());
    if before.is_empty() || !is_size || !pairs.chunks(2).all(is_pair) {
        return None;
    }
    let test = |(_, _, place): (&str, Op, usize)| {
        let rate = pairs.get(2 * place).and_then(|cell| leading(cell));
        // Without a unit it is KiB; 2.00 writes one behind each number. Seeks are counts.
        let factor = |unit: &str| match (unit.chars().next(), place != SEEKS) {
            (Some('g'), true) => 1_073_741_824.0,
            (Some('m'), true) => 1_048_576.0,
            (_, true) => 1024.0,
            (Some('k'), false) => 1000.0,
            (_, false) => 1.0,
        };
        BonnieTest {
            rate: rate.map(|(number, unit)| number * factor(unit)).filter(|rate| *rate > 0.0),
            cpu: pairs.get(2 * place + 1).and_then(|cell| plain(cell)).map(|percent| percent / 100.0),
            longest: None,
        }
    };
    Some(BonnieTests { set: Some(set), each: TESTS.map(test) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_glued_sizes_and_below_a_heading_without_units_are_read() {
        // Figures of linux-kernel@vger.kernel.org, 2003 and 2005.
        let head = "Version  1.03       ------Sequential Output------ --Sequential Input- --Random-\n                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n";
        let units = "Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n";
        let raid = "Raid0 (8 disk)15744M 54406  96 247419 90 100752 25 60266  98 226651 29 830.2   1\n";
        let small = "NPTL          100M  7735  99 127068  98 63048  84  7890  98 +++++ +++ +++++ +++\n";
        let rates = |body: &str| -> Vec<f64> {
            let found = read_table(&Page { name: "x", body });
            let all = found.iter().flat_map(|one| &one.measurements);
            all.filter_map(|one| one.side(Op::Write)).map(|side| side.bytes_per_second.get()).collect()
        };
        assert_eq!(rates(&format!("{head}{units}{raid}")), [247_419.0 * 1024.0, 100_752.0 * 1024.0]);
        assert_eq!(rates(&format!("{head}{small}")), [127_068.0 * 1024.0, 63_048.0 * 1024.0]);
    }

    #[test]
    fn lines_of_both_ages() {
        let body = "alpha2,4G,47392,63,59109,15,30774,5,42031,56,74651,6,146.9,0,16,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++\n\
            1.96,1.96,host,1,1421800799,7423M,,,,72853,15,47358,5,,,156821,7,537.7,10,100,,,,,49223,58,+++++,+++\n";
        let found = read(&Page { name: "x", body });
        let rates = |one: &Imported| {
            let sides = one
                .measurements
                .iter()
                .flat_map(|measured| measured.sides().map(|(_, side)| side).collect::<Vec<_>>());
            sides.map(|side| side.bytes_per_second.get() / 1024.0).collect::<Vec<_>>()
        };
        assert_eq!(rates(&found[0]), [59109.0, 30774.0, 74651.0, 146.9 * 8.0]);
        assert_eq!(rates(&found[1]), [72853.0, 47358.0, 156_821.0, 537.7 * 8.0]);
        assert_eq!(found[1].measurements[0].work.working_set, Some(Bytes::from_mib(7423)));
    }

    #[test]
    fn a_line_alone_may_have_a_mark_a_stamp_or_a_file_before_it() {
        let line = "1.96,1.96,host,1,1421800799,7423M,,,,72853,15,47358,5,,,156821,7,537.7,10,100,,,,,49223,58,+++++,+++";
        let rate = |body: &str| {
            let found = read(&Page { name: "x", body });
            let measured = found.first().and_then(|one| one.measurements.first()).cloned();
            measured.and_then(|one| one.write).map(|side| side.bytes_per_second.get() / 1024.0)
        };
        for before in
            ["* ", "# ", "09:00:00 DEBUG| [stdout] ", "bonnie.log:7:", "[2021-11-23 09:00:00] ", "> "]
        {
            assert_eq!(rate(&format!("{before}{line}")), Some(72853.0), "{before}");
        }
        assert_eq!(rate(&line.replace("1.96,1.96", "version 1.96,host")), None);
    }

    #[test]
    fn a_line_of_2_00_has_two_more_fields() {
        // Printed by bonnie++ 2.00a in a virtual machine.
        let body = "1.98,2.00a,host,1,1795319905,1G,,8192,5,2018,55,951631,36,1169498,33,3133,60,+++++,+++,+++++,+++,,,,,,,,,,,,,,,,,,26139us,16016us,5720us,29520us,4044us,12079us,,,,,,\n";
        let found = read(&Page { name: "x", body });
        let rate = |one: &Measured| one.sides().map(|(_, side)| side.bytes_per_second.get() / 1024.0).next();
        let rates: Vec<_> = found[0].measurements.iter().filter_map(rate).collect();
        assert_eq!(rates, [951_631.0, 1_169_498.0]);
        let first = &found[0].measurements[0];
        assert_eq!(
            (found[0].version.as_deref(), first.cpu.map(|cpu| cpu.total())),
            (Some("2.00a"), Some(0.36))
        );
        let longest = first.write.as_ref().and_then(|side| side.latency_ns.as_ref()?.max);
        assert_eq!(longest, Some(16_016_000.0));
    }

    #[test]
    fn latencies_of_1_97_stand_at_the_end() {
        let body = "1.97,1.97,host,1,1466766230,8196M,,646,97,86208,12,44422,5,2027,97,104162,5,889.7,8,16,,,,,20285,28,+++++,+++,+++++,+++,30720,69,+++++,+++,+++++,+++,12279us,1920ms,2462ms,4228us,41355us,43431us,727us,406us,431us,121us,35us,61us\n";
        let found = read(&Page { name: "x", body });
        let longest: Vec<_> = found[0]
            .measurements
            .iter()
            .filter_map(|one| one.sides().find_map(|(_, side)| side.latency_ns.as_ref()?.max))
            .collect();
        assert_eq!(longest, [1.92e9, 2.462e9, 41_355_000.0, 43_431_000.0]);
    }

    fn rates(found: &[Imported]) -> Vec<f64> {
        let rate = |one: &Measured| one.sides().map(|(_, side)| side.bytes_per_second.get()).next();
        found.iter().flat_map(|one| &one.measurements).filter_map(rate).collect()
    }

    const OF_1_97: &str = "Version  1.97       ------Sequential Output------ --Sequential Input- --Random-\n\
        Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
        Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n\
        host          8196M   646  97 86208  12 44422   5  2027  97 104162   5 889.7   8\n\
        Latency             12279us    1920ms    2462ms    4228us   41355us   43431us\n";

    #[test]
    fn a_table_of_1_97_with_its_latencies() {
        let found = read_table(&Page { name: "x", body: OF_1_97 });
        assert_eq!(rates(&found), [86_208.0 * 1024.0, 44_422.0 * 1024.0, 104_162.0 * 1024.0, 889.7 * 8192.0]);
        let first = &found[0].measurements[0];
        assert_eq!(first.write.as_ref().and_then(|side| side.latency_ns.as_ref()?.max), Some(1.92e9));
        assert_eq!(first.work.working_set, Some(Bytes::from_mib(8196)));
        assert_eq!(
            (found[0].version.as_deref(), first.cpu.map(|cpu| cpu.total())),
            (Some("1.97"), Some(0.12))
        );
    }

    #[test]
    fn a_table_of_2_00_has_units_and_plus_signs() {
        let body = "Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-\n                    \
            -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
            Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n\
            host             1G 2018k  55  929m  36  1.1g  33 3133k  60 +++++ +++ +++++ +++\n\
            Latency             26139us   16016us    5720us   29520us    4044us   12079us\n";
        let found = read_table(&Page { name: "x", body });
        assert_eq!(rates(&found), [929.0 * 1_048_576.0, 1.1 * 1_073_741_824.0]);
    }

    #[test]
    fn the_line_below_a_table_is_the_same_run_and_counts_once() {
        let line = "1.97,1.97,host,1,1466766230,8196M,,646,97,86208,12,44422,5,2027,97,104162,5,889.7,8,16,,,,,20285,28,+++++,+++,+++++,+++,30720,69,+++++,+++,+++++,+++,12279us,1920ms,2462ms,4228us,41355us,43431us\n";
        let body = format!("{OF_1_97}{line}");
        assert_eq!(super::read(&Page { name: "x", body: &body }).len(), 1);
        assert_eq!(super::read(&Page { name: "x", body: OF_1_97 }).len(), 1);
        // A table of 1.03, and one that was cut off.
        let old = "Version  1.03       ------Sequential Output------ --Sequential Input- --Random-\n\
            Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n\
            alastor       2512M 20736  76 55093  14 21112   5 26385  87 55658   6 194.9   0\nother   2512M 20736  76 55093";
        assert_eq!(rates(&read_table(&Page { name: "x", body: old })).len(), 4);
    }
}
