//! KDiskMark and CrystalDiskMark, whose reports look alike.
//!
//! KDiskMark divides fio's KiB/s by 1000 and calls the quotient MB/s (its `benchmark.cpp`), which is 2.34 % too low:
//! the rate is read as KiB/s ÷ 1000 and corrected. CrystalDiskMark's MB are 10⁶ bytes.

use crate::load::measurement::Pattern;
use crate::units::{BytesPerSec, Iops};

use super::number::{Base, leading, size, whole};
use super::{Imported, Latency, Measured, Op, Page, Side, Tool, Work};

/// What one MB of KDiskMark is, in bytes.
const KDISKMARK_MB: f64 = 1_024_000.0;

/// The reports in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["DiskMark", "(Q=", "MB/s ["]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut head: Option<Head> = None;
    let mut op = None;
    for (number, line) in page.lines() {
        if let Some(new) = heading(number, line) {
            head = Some(new);
            op = None;
        } else if let Some(section) = section(line) {
            // A second list of reads without a heading is another report.
            if section == Some(Op::Read) && op.is_some() {
                head = Some(Head { line: number, ..head.take().unwrap_or_default() });
            }
            op = section;
        } else if let Some((label, mark)) = mark(line, op) {
            put(&mut found, page, &mut head, number, (label, mark));
        } else if let Some(test) =
            line.trim().strip_prefix("Test").and_then(|rest| rest.trim_start().strip_prefix(':'))
        {
            set_size(&mut found, test);
        } else if line.contains("<0Fill>") {
            zeros(&mut found);
        }
    }
    found
}

/// The heading of a report; a report without one has none of this.
#[derive(Debug, Clone, Default)]
struct Head {
    line: usize,
    is_kdiskmark: bool,
    version: Option<String>,
    begun: bool,
}

fn heading(line: usize, text: &str) -> Option<Head> {
    let is_kdiskmark = text.contains("KDiskMark");
    let at = text.find("KDiskMark").or_else(|| text.find("CrystalDiskMark"))?;
    let rest = text.get(at..)?;
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    // The word is followed by its version, in brackets or not.
    if rest.get(..start)?.contains(|c: char| !c.is_alphabetic() && !matches!(c, ' ' | '(' | ':')) {
        return None;
    }
    let version = rest.get(start..)?.split(|c: char| c.is_whitespace() || c == ')').next()?;
    Some(Head { line, is_kdiskmark, version: Some(version.to_owned()), begun: false })
}

/// `[Read]`, `[Write]`; the mixed part is measured in one number for both directions, which belongs to neither.
fn section(line: &str) -> Option<Option<Op>> {
    match line.trim() {
        "[Read]" => Some(Some(Op::Read)),
        "[Write]" => Some(Some(Op::Write)),
        mixed if mixed.starts_with("[Mix]") => Some(None),
        _ => None,
    }
}

/// A line of the report.
#[derive(Debug, Clone)]
struct Mark {
    op: Op,
    work: Work,
    megabytes: f64,
    iops: Option<f64>,
    micros: Option<f64>,
}

/// `Sequential 1MiB (Q=  8, T= 1):  3576.613 MB/s [   3410.9 IOPS] <  2344.33 us>`, or, before version 7,
/// `Random Read 4KiB (Q= 32,T= 1) :   402.350 MB/s [ 98229.9 IOPS]`.
fn mark(line: &str, section: Option<Op>) -> Option<(String, Mark)> {
    let (before, rest) = line.trim().split_once(" MB/s")?;
    let (label, rate) = before.rsplit_once(':')?;
    let (megabytes, tail) = leading(rate)?;
    let words: Vec<&str> = label.split_whitespace().collect();
    let pattern = match *words.first()? {
        "Sequential" | "SEQ" | "Seq" => Pattern::Sequential,
        "Random" | "RND" | "Rnd" => Pattern::Random,
        _ => return None,
    };
    let op = match words.get(1) {
        Some(&"Read") => Op::Read,
        Some(&"Write") => Op::Write,
        _ => section?,
    };
    if !tail.trim().is_empty() {
        return None;
    }
    let setting = |key: &str| {
        let at = label.find(key)? + key.len();
        whole(label.get(at..)?).and_then(|(number, _)| u32::try_from(number).ok())
    };
    let joined: String = words.concat();
    let block = joined
        .find(|c: char| c.is_ascii_digit())
        .and_then(|at| joined.get(at..))
        .and_then(|text| text.split('(').next())
        .filter(|text| text.contains('B'))
        .and_then(|text| size(text, Base::Binary));
    let work = Work {
        label: words.join(" "),
        pattern: Some(pattern),
        block_size: block,
        queue_depth: setting("Q=").or_else(|| setting("QD=")),
        jobs: setting("T="),
        direct: Some(true),
        ..Work::default()
    };
    let number =
        |open: char| rest.split_once(open).and_then(|(_, text)| leading(text)).map(|(number, _)| number);
    Some((label.to_owned(), Mark { op, work, megabytes, iops: number('['), micros: number('<') }))
}

fn put(
    found: &mut Vec<Imported>,
    page: &Page<'_>,
    head: &mut Option<Head>,
    number: usize,
    (_, mark): (String, Mark),
) {
    let head = head.get_or_insert_with(|| Head { line: number, ..Head::default() });
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
    let side = Side {
        bytes_per_second: BytesPerSec::new(mark.megabytes * megabyte),
        iops: mark.iops.map(Iops::new),
        latency_ns: mark.micros.filter(|micros| *micros > 0.0).map(|micros| Latency::of_mean(micros * 1e3)),
        ..Side::default()
    };
    let Some(result) = found.last_mut() else { return };
    let same = |one: &&mut Measured| one.work.label == mark.work.label && one.side(mark.op).is_none();
    if let Some(both) = result.measurements.iter_mut().find(same) {
        both.put(mark.op, side);
    } else {
        let mut measured = Measured::new(number, mark.work);
        measured.put(mark.op, side);
        result.measurements.push(measured);
    }
}

/// `Test: 1 GiB (x5) [Measure: 5 sec / Interval: 5 sec]`; the size of the file.
fn set_size(found: &mut [Imported], test: &str) {
    let words: String = test.split_whitespace().take(2).collect();
    let Some(result) = found.last_mut() else { return };
    for measured in &mut result.measurements {
        measured.work.working_set = measured.work.working_set.or_else(|| size(&words, Base::Binary));
    }
}

fn zeros(found: &mut [Imported]) {
    if let Some(result) = found.last_mut() {
        for measured in &mut result.measurements {
            measured.work.zeros = Some(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

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
}
