//! KDiskMark and CrystalDiskMark, whose reports look alike.
//!
//! KDiskMark divides fio's KiB/s by 1000 and calls the quotient MB/s (its `benchmark.cpp`), which is 2.34 % too low:
//! the rate is read as KiB/s ÷ 1000 and corrected. CrystalDiskMark's MB are 10⁶ bytes.

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::number::{Base, after, count, leading, number, size, value};
use super::{Imported, Latency, Measured, Op, Page, Side, Tool, Work};
use crate::text::fields;

/// What one MB of KDiskMark is, in bytes.
const KDISKMARK_MB: f64 = 1_024_000.0;

/// The reports in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut head: Option<MarksHead> = None;
    let mut op = None;
    for (number, line) in page.lines() {
        if let Some(new) = heading(number, line) {
            head = Some(new);
            op = None;
        } else if let Some(section) = section(line) {
            // A second list of reads without a heading is another report.
            if section == MarksSection::Of(Op::Read) && op.is_some() {
                head = Some(MarksHead { line: number, begun: false, ..head.take().unwrap_or_default() });
            }
            op = Some(section);
        } else if let Some(mark) = mark(line, op) {
            // A test that was not run is printed as nothing.
            if mark.megabytes > 0.0 {
                put(&mut found, page, &mut head, number, mark);
            }
        } else if let Some(result) = found.last_mut() {
            see_setting(result, line.trim());
        }
    }
    found
}

/// The heading of a report; a report without one has none of this.
#[derive(Debug, Clone, Default)]
struct MarksHead {
    line: usize,
    is_kdiskmark: bool,
    version: Option<String>,
    begun: bool,
}

impl MarksHead {
    /// What CrystalDiskMark 5 and 6 did not print: sequential tests with a queue have blocks of 128 KiB, the one without of
    /// 1 MiB, and one I/O in flight (`DiskBench.cpp` of 5.2 and 6.0: `-b128K -o%d -t%d`, `-b1M -o1 -t%d`).
    fn fill(&self, work: &mut Work) {
        let is_old = self.version.as_deref().is_some_and(|version| version.starts_with(['5', '6']));
        if !is_old || self.is_kdiskmark || work.block_size.is_some() {
            return;
        }
        let has_queue = work.queue_depth.is_some();
        work.block_size = Some(if has_queue { Bytes::from_kib(128) } else { Bytes::from_mib(1) });
        work.queue_depth = work.queue_depth.or(Some(1));
    }
}

fn heading(line: usize, text: &str) -> Option<MarksHead> {
    let is_kdiskmark = text.contains("KDiskMark");
    let at = text.find("KDiskMark").or_else(|| text.find("CrystalDiskMark"))?;
    let rest = text.get(at..)?;
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    // The word is followed by its version, in brackets or not.
    if rest.get(..start)?.contains(|c: char| !c.is_alphabetic() && !matches!(c, ' ' | '(' | ':')) {
        return None;
    }
    let version = rest.get(start..)?.split(|c: char| c.is_whitespace() || c == ')').next()?;
    Some(MarksHead { line, is_kdiskmark, version: Some(version.to_owned()), begun: false })
}

/// What the lines below a heading are of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MarksSection {
    /// One direction.
    Of(Op),
    /// Both at once, with this part of reads; one number is printed for both.
    Mix(f64),
}

/// `[Read]`, `[Write]`, `[Mix] Read 70%/Write 30%`.
fn section(line: &str) -> Option<MarksSection> {
    let [word, rest] = fields(line.trim(), "[{}]{}")?;
    if word != "Mix" {
        return Op::named(word).filter(|_| rest.is_empty()).map(MarksSection::Of);
    }
    let reads = value(rest, "Read")?;
    (0.0..=100.0).contains(&reads).then_some(MarksSection::Mix(reads / 100.0))
}

/// A line of the report.
#[derive(Debug, Clone)]
struct Mark {
    of: MarksSection,
    work: Work,
    megabytes: f64,
    iops: Option<f64>,
    micros: Option<f64>,
    /// Whether KDiskMark printed it and not CrystalDiskMark, where its words tell that.
    is_kdiskmark: Option<bool>,
}

/// KDiskMark parts the number of a block size from its unit and always prints queues and threads (`Sequential 1 MiB (Q= 8, T= 1)`,
/// the reports in its README from version 1 to 3); CrystalDiskMark parts no sizes (`Sequential 1MiB (Q=  8, T= 1)`), and before
/// version 7 does not print all of them (`Sequential Read`).
fn is_of_kdiskmark(label: &str) -> Option<bool> {
    let (test, _) = label.split_once("(Q").unwrap_or((label, ""));
    let has_queue = test.len() < label.len();
    let mut words = test.split_whitespace().rev();
    match words.next()? {
        unit if unit.ends_with('B') && unit.starts_with(char::is_alphabetic) => {
            has_queue.then_some(words.next()?.bytes().all(|byte| byte.is_ascii_digit()))
        }
        _ => Some(false),
    }
}

/// `Sequential 1MiB (Q=  8, T= 1):  3576.613 MB/s [   3410.9 IOPS] <  2344.33 us>`, or, before version 7,
/// `Random Read 4KiB (Q= 32,T= 1) :   402.350 MB/s [ 98229.9 IOPS]`.
fn mark(line: &str, section: Option<MarksSection>) -> Option<Mark> {
    let (before, rest) = line.trim().split_once(" MB/s")?;
    let (label, rate) = before.rsplit_once(':')?;
    let (megabytes, tail) = leading(rate)?;
    let words: Vec<&str> = label.split_whitespace().collect();
    let pattern = match *words.first()? {
        "Sequential" | "SEQ" | "Seq" => Pattern::Sequential,
        "Random" | "RND" | "Rnd" => Pattern::Random,
        _ => return None,
    };
    let of = words.get(1).and_then(|word| Op::named(word)).map(MarksSection::Of).or(section)?;
    if !tail.trim().is_empty() {
        return None;
    }
    let setting = |key: &str| after(label, key).and_then(count);
    let joined: String = words.concat();
    let block = joined
        .find(|c: char| c.is_ascii_digit())
        .and_then(|at| joined.get(at..))
        .and_then(|text| text.split('(').next())
        .filter(|text| text.contains('B'))
        .and_then(|text| size(text, Base::Binary));
    let mix = if matches!(of, MarksSection::Mix(_)) { "mix of " } else { "" };
    let work = Work {
        pattern: Some(pattern),
        block_size: block,
        queue_depth: setting("Q=").or_else(|| setting("QD=")),
        jobs: setting("T="),
        direct: Some(true),
        ..Work::named(format!("{mix}{}", words.join(" ")))
    };
    let number = |open: char| number(rest.split_once(open)?.1);
    let is_kdiskmark = is_of_kdiskmark(label);
    Some(Mark { of, work, megabytes, iops: number('['), micros: number('<'), is_kdiskmark })
}

fn put(
    found: &mut Vec<Imported>,
    page: &Page<'_>,
    head: &mut Option<MarksHead>,
    number: usize,
    mut mark: Mark,
) {
    // A line that the other of the two printed is of a report whose heading is lost.
    if head.as_ref().is_some_and(|head| mark.is_kdiskmark.is_some_and(|is| is != head.is_kdiskmark)) {
        *head = None;
    }
    let is_kdiskmark = mark.is_kdiskmark.unwrap_or(false);
    let head = head.get_or_insert_with(|| MarksHead { line: number, is_kdiskmark, ..MarksHead::default() });
    if !head.begun {
        head.begun = true;
        let tool = if head.is_kdiskmark { Tool::Kdiskmark } else { Tool::Crystaldiskmark };
        let mut imported = Imported::new(tool, page.name, head.line);
        imported.version.clone_from(&head.version);
        if head.is_kdiskmark {
            imported.corrections.push(
                "KDiskMark prints KiB/s ÷ 1000 and calls it MB/s; its rates are multiplied by 1.024"
                    .to_owned(),
            );
        }
        found.push(imported);
    }
    let megabyte = if head.is_kdiskmark { KDISKMARK_MB } else { 1e6 };
    head.fill(&mut mark.work);
    let side = |part: f64| Side {
        iops: mark.iops.map(|iops| Iops::new(iops * part)),
        latency_ns: mark.micros.filter(|micros| *micros > 0.0).map(|micros| Latency::of_mean(micros * 1e3)),
        ..Side::at(BytesPerSec::new(mark.megabytes * megabyte * part))
    };
    let sides = match mark.of {
        MarksSection::Of(op) => vec![(op, side(1.0))],
        MarksSection::Mix(reads) => vec![(Op::Read, side(reads)), (Op::Write, side(1.0 - reads))],
    };
    let Some(result) = found.last_mut() else { return };
    for (op, side) in sides {
        let same = |one: &&mut Measured| one.work.label == mark.work.label && one.side(op).is_none();
        if let Some(both) = result.measurements.iter_mut().find(same) {
            both.put(op, side);
        } else {
            result.push(number, mark.work.clone(), op, side);
        }
    }
}

/// CrystalDiskMark as a table of its window that somebody typed: a head with `Read` and `Write`, and rows such as `| Seq Q32T1 | 820.4 |
/// 41.78 |` (versions 5 and 6), `| SEQ1M Q8T1 | 3576.6 | 3012.1 |` or `| RND4K Q1T1 | …`. Its MB are 10⁶ bytes.
pub(super) fn read_table(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    // In which cells reads and writes stand.
    let mut columns: Option<[usize; 2]> = None;
    let mut is_begun = false;
    for (number, line) in page.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(['|', '\t']).map(str::trim).collect();
        let column = |word: &str| cells.iter().position(|cell| cell.to_lowercase().starts_with(word));
        if let Some((read, write)) = column("read").zip(column("write")) {
            (columns, is_begun) = (Some([read, write]), false);
        } else if let (Some(columns), Some(work)) = (columns, cells.first().and_then(|cell| cell_test(cell)))
        {
            let rate = |at: usize| {
                let number = number_alone(cells.get(at)?).filter(|number| *number > 0.0)?;
                Some(Side::at(BytesPerSec::new(number * 1e6)))
            };
            let [read, write] = columns.map(rate);
            if read.is_none() && write.is_none() {
                continue;
            }
            if !std::mem::replace(&mut is_begun, true) {
                found.push(Imported::new(Tool::Crystaldiskmark, page.name, number));
            }
            let Some(result) = found.last_mut() else { continue };
            result.measurements.push(Measured { read, write, ..Measured::new(number, work) });
        } else if !line.contains("--") {
            columns = None;
        }
    }
    found
}

/// `820.4`, `820.4 MB/s`.
fn number_alone(cell: &str) -> Option<f64> {
    let (number, unit) = leading(cell)?;
    matches!(unit.trim(), "" | "MB/s").then_some(number)
}

/// A test by the name that its button has: `Seq Q32T1`, `4K Q32T1`, `Seq`, `4K`, `SEQ1M Q8T1`, `RND4K Q32T16`.
fn cell_test(cell: &str) -> Option<Work> {
    let (name, queue) = cell.split_once(' ').unwrap_or((cell, ""));
    let (queues, threads) = match queue.trim().strip_prefix('Q').and_then(|queue| queue.split_once('T')) {
        Some((queues, threads)) => (Some(queues.parse().ok()?), Some(threads.parse().ok()?)),
        None if queue.is_empty() => (None, None),
        None => return None,
    };
    let upper = name.to_uppercase();
    let (pattern, block) = match upper.strip_prefix("SEQ") {
        // What versions 5 and 6 did not print, as in [`MarksHead::fill`].
        Some("") if queues.is_some() => (Pattern::Sequential, Bytes::from_kib(128)),
        Some("") => (Pattern::Sequential, Bytes::from_mib(1)),
        Some(block) => (Pattern::Sequential, size(block, Base::Binary)?),
        None => {
            let block = upper.strip_prefix("RND").unwrap_or(&upper);
            let is_block = ["4K", "4KIB", "512K"].contains(&block);
            (Pattern::Random, size(block, Base::Binary).filter(|_| is_block)?)
        }
    };
    let queue_depth = queues.or(Some(1));
    let jobs = threads.or(Some(1));
    Some(Work {
        pattern: Some(pattern),
        block_size: Some(block),
        queue_depth,
        jobs,
        direct: Some(true),
        ..Work::named(cell)
    })
}

/// `Test: 1 GiB (x5) [Measure: 5 sec / Interval: 5 sec]`, the size of the file; and whether zeros were written.
fn see_setting(result: &mut Imported, line: &str) {
    let test = line.strip_prefix("Test").and_then(|rest| rest.trim_start().strip_prefix(':'));
    let words: String = test.unwrap_or_default().split_whitespace().take(2).collect();
    let (set, zeros) = (size(&words, Base::Binary), line.contains("<0Fill>"));
    for work in result.measurements.iter_mut().map(|one| &mut one.work) {
        work.working_set = work.working_set.or(set);
        work.zeros = work.zeros.or(zeros.then_some(true));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kdiskmark_is_corrected_and_says_so() {
        let body = "                        KDiskMark (3.0.0): https://github.com/JonMagon/KDiskMark\n\
            * MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\n\n[Read]\n\
            Sequential   1 MiB (Q=  8, T= 1):   508.897 MB/s [    497.0 IOPS] < 13840.05 us>\n[Write]\n\
            Sequential   1 MiB (Q=  8, T= 1):   487.936 MB/s [    476.5 IOPS] < 14000.00 us>\n\n   Test: 1 GiB (x5)\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].tool, found[0].version.as_deref()), (Tool::Kdiskmark, Some("3.0.0")));
        let one = &found[0].measurements[0];
        let read = one.read.as_ref().expect("reads");
        // 497.0 IOPS of 1 MiB are 521.1 MB/s.
        assert!((read.bytes_per_second.get() / 521.1e6 - 1.0).abs() < 1e-3);
        assert!(one.write.is_some() && !found[0].corrections.is_empty());
        assert_eq!((one.work.queue_depth, one.work.working_set), (Some(8), Some(Bytes::new(1 << 30))));
    }

    #[test]
    fn a_typed_table_of_its_window_is_read() {
        let body = "| Test | Read MB/s | Write MB/s |\n| --- | --- | --- |\n| Seq Q32T1 | 716.9 | 120.9 |\n| 4K Q32T1 | 58.04 | 9.606 |\n\
            | Seq | 321.0 | 112.8 |\n\nWith the other driver I get\n\n| Test | Read MB/s | Write MB/s |\n|---|---|---|\n| SEQ1M Q8T1 | 820.4 | 41.78 |\n";
        let found = read_table(&Page { name: "x", body });
        assert_eq!(found.iter().map(|one| one.measurements.len()).collect::<Vec<_>>(), [3, 1]);
        let told = |one: &Measured| {
            let rate = |side: &Option<Side>| side.as_ref().map(|side| side.bytes_per_second.get());
            (one.work.block_size, one.work.queue_depth, rate(&one.read), rate(&one.write))
        };
        let first = &found[0].measurements;
        assert_eq!(told(&first[0]), (Some(Bytes::from_kib(128)), Some(32), Some(716.9e6), Some(120.9e6)));
        assert_eq!(told(&first[1]), (Some(Bytes::from_kib(4)), Some(32), Some(58.04e6), Some(9.606e6)));
        assert_eq!(told(&found[1].measurements[0]).0, Some(Bytes::from_mib(1)));
        let other = "| Drive | Read | Write |\n|---|---|---|\n| 4K | yes | no |\n| Samsung | 3 | 4 |\n";
        assert!(read_table(&Page { name: "x", body: other }).is_empty());
    }

    #[test]
    fn crystaldiskmark_of_three_ages() {
        let body = "CrystalDiskMark 5.2.1 x64 (C) 2007-2017 hiyohiyo\n   Sequential Read (Q= 32,T= 1) :   562.049 MB/s\n  \
            Random Write 4KiB (Q= 32,T= 1) :   402.350 MB/s [ 98229.9 IOPS]\nCrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n\
            [Read]\n  SEQ    1MiB (Q=  8, T= 1):  3576.613 MB/s [   3410.9 IOPS] <  2344.33 us>\n  \
            RND    4KiB (Q= 32, T=16):  1140.156 MB/s [ 278358.4 IOPS] <  1837.44 us>\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found.iter().map(|one| one.measurements.len()).collect::<Vec<_>>(), [2, 2]);
        let random = &found[1].measurements[1];
        assert_eq!((random.work.jobs, random.work.block_size), (Some(16), Some(Bytes::new(4096))));
        assert_eq!(random.read.as_ref().map(|side| side.bytes_per_second.get()), Some(1_140_156_000.0));
        assert!(found[0].measurements[1].write.is_some());
    }

    #[test]
    fn kdiskmark_of_2_and_a_mix() {
        // Figures of JonMagon/KDiskMark issue 58 (2.2.1); tests that were not run are printed as nothing.
        let body = "                      KDiskMark (2.2.1): https://github.com/JonMagon/KDiskMark\n  [Read]\n  \
            Sequential 1 MiB (Q= 8, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\n      \
            Random 4 KiB (Q= 1, T= 1):     2.328 MB/s [    582.2 IOPS] <  1713.00 us>\n\n  [Mix] Read 70%/Write 30%\n      \
            Random 4 KiB (Q= 1, T= 1):    10.000 MB/s [   2500.0 IOPS] <   400.00 us>\n";
        let found = read(&Page { name: "x", body });
        let [alone, mix] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        let rate = |measured: &Measured, op: Op| measured.side(op).map(|side| side.bytes_per_second.get());
        // 582.2 I/Os of 4 KiB are 2.3847 MB/s, not the 2.328 that is printed.
        assert!((rate(alone, Op::Read).expect("reads") / (582.2 * 4096.0) - 1.0).abs() < 1e-3);
        assert_eq!(alone.write, None);
        let both = rate(mix, Op::Read).expect("reads") + rate(mix, Op::Write).expect("writes");
        assert!((both - 10.24e6).abs() < 1e-3);
        assert!((rate(mix, Op::Read).expect("reads") - 7.168e6).abs() < 1e-3);
        assert_eq!(mix.work.label, "mix of Random 4 KiB (Q= 1, T= 1)");
    }

    #[test]
    fn crystaldiskmark_5_and_6_do_not_print_every_block_size() {
        let body = "CrystalDiskMark 5.1.0 x64 (C) 2007-2015 hiyohiyo\n    Sequential Read (Q= 32,T= 1)   :   554.872 MB/s\n    \
            Random Read 4KiB (Q= 32,T= 1)  :   281.610 MB/s [ 68752.4 IOPS]\n    Sequential Read (T= 1)         :   532.327 MB/s\n\n  \
            Test : 1024 MiB [C: 26.4% (122.8/465.2 GiB)] (x5)  [Interval=5 sec]\n";
        let found = read(&Page { name: "x", body });
        let sizes: Vec<_> = found[0]
            .measurements
            .iter()
            .map(|one| one.work.block_size.map(|size| size.get() >> 10))
            .collect();
        assert_eq!(sizes, [Some(128), Some(4), Some(1024)]);
        assert_eq!(found[0].measurements[2].work.queue_depth, Some(1));
        assert_eq!(found[0].measurements[0].work.working_set, Some(Bytes::from_mib(1024)));
    }

    #[test]
    fn crystaldiskmark_9_with_a_mix_and_a_line_that_was_cut_off() {
        let body = "CrystalDiskMark 9.0.1 x64 (C) 2007-2025 hiyohiyo\n[Read]\n  SEQ    1MiB (Q=  8, T= 1): 14698.123 MB/s [  14017.2 IOPS] <   570.11 us>\n\
            [Mix] Read 70%/Write 30%\n  RND    4KiB (Q= 32, T= 1):   800.000 MB/s [ 195312.5 IOPS] <   163.00 us>\nProfile: Demo [+Mix]\n   Test: 1 GiB (x3) [C: 45% (120/238GiB)]\n[Write]\n  SEQ    1MiB (Q=  8, T= 1): 134";
        let found = read(&Page { name: "x", body });
        assert_eq!(
            (found.len(), found[0].measurements.len(), found[0].version.as_deref()),
            (1, 2, Some("9.0.1"))
        );
        assert!(found[0].measurements[1].read.is_some() && found[0].measurements[1].write.is_some());
    }

    #[test]
    fn a_report_below_that_of_the_other_tool_is_told_by_its_words() {
        let kdiskmark = "KDiskMark (2.2.1): https://github.com/JonMagon/KDiskMark\n[Read]\n    Random 4 KiB (Q= 1, T= 1):     2.328 MB/s [    582.2 IOPS] <  1713.00 us>\n";
        let crystal =
            "[Read]\n    Random 4KiB (Q=  1, T= 1):    50.536 MB/s [  12337.9 IOPS] <    80.90 us>\n";
        let tools = |body: &str| {
            let rate = |one: &Measured| {
                one.read.as_ref().map(|side| (side.bytes_per_second.get() / 1e4).round() as u64)
            };
            let found = read(&Page { name: "x", body });
            found
                .iter()
                .map(|one| (one.tool, one.measurements.iter().filter_map(rate).collect::<Vec<_>>()))
                .collect::<Vec<_>>()
        };
        let (k, c) = ((Tool::Kdiskmark, vec![238]), (Tool::Crystaldiskmark, vec![5054]));
        assert_eq!(tools(&format!("{kdiskmark}{crystal}")), [k.clone(), c.clone()]);
        let headless = kdiskmark.split_once('\n').map_or("", |(_, rest)| rest);
        assert_eq!(tools(&format!("{crystal}{headless}")), [c.clone(), k]);
        assert_eq!(tools(&format!("{crystal}{crystal}")), [c.clone(), c], "two reports");
    }

    proptest! {
        #[test]
        fn a_line_has_the_numbers_that_it_was_made_of(thousandths in 1u32..99_999_999, q in 1u32..512, t in 1u32..64) {
            let megabytes = f64::from(thousandths) / 1e3;
            let body = format!("CrystalDiskMark 8.0.4 x64 (C)\n[Read]\n  RND    4KiB (Q={q:3}, T={t:2}): {megabytes:9.3} MB/s [{:9.1} IOPS] < 12.00 us>\n", megabytes * 1e6 / 4096.0);
            let found = read(&Page { name: "x", body: &body });
            let one = &found[0].measurements[0];
            let rate = one.read.as_ref().map(|side| side.bytes_per_second.get()).expect("reads");
            prop_assert!((rate - f64::from(thousandths) * 1e3).abs() < 1e-3);
            prop_assert_eq!((one.work.queue_depth, one.work.jobs), (Some(q), Some(t)));
        }
    }
}
