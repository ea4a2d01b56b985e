//! Benchmarks of Windows: AS SSD, `winsat disk`, HD Tune.

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::number::{MIB, clock, leading, seconds, span, whole};
use super::{Imported, Latency, Measured, Op, Page, Side, Tool, Work};

/// AS SSD Benchmark, as its menu copies a result: rates, or I/Os per second of the same run.
///
/// Its MB is 1024²: a run of which both are printed has 60.63 MB/s and 15,521 I/Os of 4 KiB each second. The file of 1 GiB is read
/// and written past the system's cache, by 64 threads in `4K-64Threads` (techspot.com, downloads/6014; ssd-tester.com, text_score.php).
pub(super) fn read_as_ssd(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut part = None;
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some(version) = as_ssd_version(line) {
            let version = Some(version.to_owned());
            found.push(Imported { version, ..Imported::new(Tool::Asssd, page.name, number) });
            part = None;
        } else if let Some(result) = found.last_mut() {
            let name = line.trim_end_matches(':');
            if let Some(one) = AS_SSD_PARTS.iter().find(|(names, ..)| names.contains(&name)) {
                part = Some(one);
            } else if name == "Score" {
                part = None;
            } else if let Some(measured) = part.and_then(|part| as_ssd_row(part, number, line)) {
                if line.ends_with("MB/s") && result.corrections.is_empty() {
                    result.corrections.push("MB/s of AS SSD is MiB/s; read as such".to_owned());
                }
                result.measurements.push(measured);
            }
        }
    }
    found
}

/// `AS SSD Benchmark 2.0.7316.34247`.
fn as_ssd_version(line: &str) -> Option<&str> {
    let rest = line.split_once("AS SSD Benchmark ")?.1.trim();
    let is_version = rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains(' ');
    is_version.then_some(rest)
}

/// A part of the benchmark: what its results call it and how it is shown here, the size of its I/Os, and its threads.
type AsSsdPart = (&'static [&'static str], &'static str, Option<Bytes>, u32);

/// I/Os of 16 MiB one after another (`16MB` where they are counted), of 4 KiB at random, the same by 64 threads, and the time of one
/// access, reads anywhere on the drive.
const AS_SSD_PARTS: [AsSsdPart; 4] = [
    (&["Sequential", "Seq", "16MB"], SEQUENTIAL, Some(Bytes::from_mib(16)), 1),
    (&["4K"], "4K", Some(Bytes::new(4096)), 1),
    (&["4K-64Threads", "4K-64Thrd"], "4K-64Thrd", Some(Bytes::new(4096)), 64),
    (&["Access Times", "Acc.time"], "Acc.time", None, 1),
];

const SEQUENTIAL: &str = "Seq";

/// `Read: 2468.65 MB/s`, `Read: 15521 iops` or `Read: 0.098 ms`.
fn as_ssd_row((_, label, block, jobs): &AsSsdPart, number: usize, line: &str) -> Option<Measured> {
    let (name, text) = line.split_once(':')?;
    let op = Op::named(name)?;
    let (value, unit) = leading(text)?;
    let work = Work {
        pattern: Some(if *label == SEQUENTIAL { Pattern::Sequential } else { Pattern::Random }),
        block_size: *block,
        queue_depth: Some(1),
        jobs: Some(*jobs),
        direct: Some(true),
        working_set: block.map(|_| Bytes::from_mib(1024)),
        ..Work::named(format!("{label}, {}", op.word()))
    };
    // What was not run is printed as 0.
    if value <= 0.0 {
        return None;
    }
    let rate = match (block, unit.trim()) {
        (None, "ms") => {
            let latency_ns = Some(Latency::of_mean(span(text)?.0));
            return Some(Measured { latency_ns, ..Measured::new(number, work) });
        }
        (Some(_), "MB/s") => value * MIB,
        (Some(block), "iops") => value * block.as_f64(),
        _ => return None,
    };
    let iops = block.map(|block| Iops::new(rate / block.as_f64()));
    Some(Measured::of(number, work, op, Side { iops, ..Side::at(BytesPerSec::new(rate)) }))
}

/// `winsat disk` of Windows: phases of seconds. The names of rates are English in every language, those of latencies are not.
///
/// Whether MB is 1e6 or 1048576 bytes is not documented: it is read as 1e6, and said so.
///
/// The assessments in a text, each a result.
pub(super) fn read_winsat(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut phases: Vec<(String, f64)> = Vec::new();
    let mut phase: Option<String> = None;
    let mut seen: Vec<String> = Vec::new();
    for (number, line) in page.lines() {
        let line = line.trim().trim_start_matches('>').trim();
        if let Some((_, options)) = line.split_once("'-") {
            phase = Some(format!("-{}", options.trim_end_matches('\'')));
        } else if let Some((phase, seconds)) = phase.take().zip(winsat_clock(line)) {
            phases.push((phase, seconds));
        } else if let Some(measured) = winsat_rate(number, line, &phases) {
            let begins = found.is_empty() || seen.contains(&measured.work.label);
            if begins {
                seen.clear();
                let mut result = Imported::new(Tool::Winsat, page.name, number);
                result.notes.push(
                    "winsat does not say whether MB is 1e6 bytes; its rates are read as such".to_owned(),
                );
                found.push(result);
            }
            seen.push(measured.work.label.clone());
            if let Some(result) = found.last_mut() {
                result.measurements.push(measured);
            }
        } else if let (Some(measured), Some(result)) = (winsat_latency(number, line), found.last_mut()) {
            result.measurements.push(measured);
        }
    }
    found
}

/// `Run Time 00:00:05.48`, whatever the words before it are.
fn winsat_clock(line: &str) -> Option<f64> {
    let word = line.split_whitespace().next_back().filter(|word| word.matches(':').count() == 2)?;
    clock(&word.replace(',', "."))
}

/// `Disk  Sequential 64.0 Read   111.23 MB/s   6.7`.
fn winsat_rate(number: usize, line: &str, phases: &[(String, f64)]) -> Option<Measured> {
    let words: Vec<&str> = line.strip_prefix("Disk")?.split_whitespace().collect();
    let [order, kib, op, value, "MB/s", ..] = words.as_slice() else { return None };
    let (pattern, short) = match *order {
        "Sequential" => (Pattern::Sequential, "-seq"),
        "Random" => (Pattern::Random, "-ran"),
        _ => return None,
    };
    let op = Op::named(op)?;
    let is_own = |phase: &str| {
        let options: Vec<&str> = phase.split_whitespace().collect();
        let word = if op == Op::Read { "-read" } else { "-write" };
        options.contains(&short) && options.contains(&word) && !phase.contains("hybrid")
    };
    let time = phases.iter().find(|(phase, _)| is_own(phase)).map(|(_, time)| *time);
    let work = Work {
        pattern: Some(pattern),
        block_size: whole(kib).map(|(kib, _)| Bytes::new(kib.min(1 << 20) * 1024)),
        ..Work::named(words.get(..3)?.join(" "))
    };
    let side =
        Side { elapsed_ns: time.and_then(seconds), ..Side::at(BytesPerSec::new(leading(value)?.0 * 1e6)) };
    Some(Measured::of(number, work, op, side))
}

/// `Average Read Time with Sequential Writes   6.720 ms   5.4`.
fn winsat_latency(number: usize, line: &str) -> Option<Measured> {
    let rest = line.strip_prefix("Average Read Time with ")?;
    let (order, rest) = rest.split_once(" Writes")?;
    let label = format!("reads while writing, {}", order.to_lowercase());
    let latency_ns = Some(Latency::of_mean(span(rest)?.0));
    Some(Measured { latency_ns, ..Measured::new(number, Work::named(label)) })
}

/// HD Tune: the mean of reads all over a drive. The burst rate is of the drive's own memory and no result.
///
/// Whether MB is 1e6 or 1048576 bytes is not documented: it is read as 1048576, and said so.
///
/// The benchmarks in a text, each drive a result.
pub(super) fn read_hd_tune(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut drive = None;
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some((_, name)) = line.split_once("HD Tune").and_then(|(_, rest)| rest.split_once(": ")) {
            drive = name.strip_suffix("Benchmark").map(|name| name.trim().to_owned());
            let mut result = Imported::new(Tool::Hdtune, page.name, number);
            result.notes.push(
                "HD Tune does not say whether MB is 1048576 bytes; its rates are read as such".to_owned(),
            );
            found.push(result);
        } else if let (Some((name, text)), Some(result)) = (line.split_once(':'), found.last_mut()) {
            result.measurements.extend(measured_by_hd_tune(number, name.trim(), text, drive.as_deref()));
        }
    }
    found
}

fn measured_by_hd_tune(number: usize, name: &str, text: &str, drive: Option<&str>) -> Option<Measured> {
    let (value, rest) = leading(text)?;
    let work = |pattern| Work {
        pattern: Some(pattern),
        target: drive.map(str::to_owned),
        ..Work::named(name.to_lowercase())
    };
    match name {
        "Transfer Rate Average" if rest.trim().starts_with("MB/s") => {
            let side = Side::at(BytesPerSec::new(value * MIB));
            Some(Measured::of(number, work(Pattern::Sequential), Op::Read, side))
        }
        // 0.0 ms is below what is printed.
        "Access Time" if value > 0.0 => {
            let latency_ns = Some(Latency::of_mean(span(text)?.0));
            Some(Measured { latency_ns, ..Measured::new(number, work(Pattern::Random)) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Nanos;
    use proptest::prelude::*;

    use super::*;

    // Figures of a laptop's drive of 2025, whose owner copied both views of one run.
    const RATES: &str = "AS SSD Benchmark 2.0.7316.34247\n------------------------------\nName: Internal NVMe SSD\nController: iaStorVD\nOffset: 283648 K - OK\nSize: 476.94 GB\n\
        ------------------------------\nSequential:\n------------------------------\nRead: 2468.65 MB/s\nWrite: 1077.41 MB/s\n------------------------------\n4K:\n------------------------------\n\
        Read: 60.63 MB/s\nWrite: 122.14 MB/s\n------------------------------\n4K-64Threads:\n------------------------------\nRead: 445.71 MB/s\nWrite: 259.35 MB/s\n------------------------------\n\
        Access Times:\n------------------------------\nRead: 0.098 ms\nWrite: 0.049 ms\n------------------------------\nScore:\n------------------------------\nRead: 753\nWrite: 489\nTotal: 1580\n";
    const COUNTS: &str = "AS SSD Benchmark 2.0.7316.34247\n------------------------------\n16MB\n------------------------------\nRead: 154.29 iops\nWrite: 67.34 iops\n------------------------------\n\
        4K:\n------------------------------\nRead: 15521 iops\nWrite: 31267 iops\n";

    fn rates(result: &Imported) -> Vec<f64> {
        result
            .measurements
            .iter()
            .flat_map(Measured::sides)
            .map(|(_, side)| side.bytes_per_second.get())
            .collect()
    }

    #[test]
    fn both_views_of_a_run_tell_the_same() {
        let found = read_as_ssd(&Page { name: "x", body: &format!("{RATES}{COUNTS}") });
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.measurements.len(), rates(first).len(), second.measurements.len()), (8, 6, 4));
        assert_eq!(rates(first)[0], 2468.65 * MIB);
        for (one, other) in [(0, 0), (1, 1), (2, 2), (3, 3)] {
            let quotient = rates(first)[one] / rates(second)[other];
            assert!((quotient - 1.0).abs() < 2e-4, "{quotient}");
        }
        assert_eq!((first.corrections.len(), second.corrections.len()), (1, 0));
        assert_eq!(first.version.as_deref(), Some("2.0.7316.34247"));
        let access = first.measurements[6].latency_ns.as_ref().and_then(|latency| latency.mean);
        assert_eq!(access, Some(98_000.0));
        assert_eq!(first.measurements[4].work.jobs, Some(64));
    }

    #[test]
    fn what_was_not_run_and_a_score_are_no_rates() {
        let body = RATES.replace("Write: 1077.41 MB/s", "Write: 0.00 MB/s");
        assert_eq!(read_as_ssd(&Page { name: "x", body: &body })[0].measurements.len(), 7);
        let (before, _) = RATES.split_once("4K:").expect("has 4K");
        assert_eq!(rates(&read_as_ssd(&Page { name: "x", body: before })[0]).len(), 2);
        assert!(
            read_as_ssd(&Page { name: "x", body: "I ran AS SSD Benchmark twice\nRead: 5 MB/s\n" }).is_empty()
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(AS SSD Benchmark |[0-9.]{1,9}|\n|4K:|Sequential:|Access Times:|Read: |Write: | MB/s| ms| iops){0,40}") {
            let _ = read_as_ssd(&Page { name: "x", body: &text });
        }
    }

    #[test]
    fn rates_have_the_time_of_their_phase() {
        let body = "> Running: Storage Assessment '-drive c -seq -read'\n> Run Time 00:00:05.48\n> Disk  Sequential 64.0 Read                   111.23 MB/s          6.7\n\
            > Disk  Random 16.0 Read                       2.43 MB/s          4.4\n> Average Read Time with Random Writes         15.075 ms          3.4\n";
        let found = read_winsat(&Page { name: "x", body });
        let [sequential, random, wait] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        let side = sequential.read.as_ref().expect("reads");
        assert_eq!(
            (side.bytes_per_second.get(), side.elapsed_ns),
            (111_230_000.0, Some(Nanos::from_millis(5480)))
        );
        assert_eq!(random.work.block_size, Some(Bytes::new(16_384)));
        assert_eq!(wait.latency_ns.as_ref().and_then(|latency| latency.mean), Some(15_075_000.0));
        let body = "> 正在运行: 存储评估 '-ran -read -n 0'\n> 运行时间 00:00:00.14\n> Disk  Random 16.0 Read   547.67 MB/s   8.3\n";
        let found = read_winsat(&Page { name: "x", body });
        let side = found[0].measurements[0].read.as_ref().expect("reads");
        assert_eq!(side.elapsed_ns, Some(Nanos::from_millis(140)));
    }

    #[test]
    fn the_mean_is_the_result_and_no_time_is_no_latency() {
        let body = "HD Tune: SAMSUNG HD502HJ Benchmark\nTransfer Rate Minimum : 72.0 MB/sec\nTransfer Rate Average : 113.4 MB/sec\nAccess Time : 13.6 ms\nBurst Rate : 176.3 MB/sec\n\
            HD Tune: SanDisk Benchmark\nTransfer Rate Average : 223.6 MB/sec\nAccess Time : 0.0 ms\n";
        let found = read_hd_tune(&Page { name: "x", body });
        assert_eq!(found.iter().map(|one| one.measurements.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(
            found[0].measurements[0].read.as_ref().map(|side| side.bytes_per_second.get()),
            Some(113.4 * 1_048_576.0)
        );
    }
}
