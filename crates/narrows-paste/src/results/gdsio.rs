//! `gdsio` of NVIDIA's GPUDirect Storage: a line for each run. Its GiB is 1024³, its rate is the data that was moved in the whole
//! time (NVIDIA, GPUDirect Storage Benchmarking and Configuration Guide, "GDSIO utility").

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::command::{Commands, letter};
use super::number::{
    Base, GIB, Rounded, after, contradiction, count, leading, seconds, size, to_bytes, value, whole,
};
use super::{Imported, Latency, Measured, Op, Page, Side, Tool, Work};

const KIB: f64 = 1024.0;

const FALLBACK: &str = "GPUD is the way that was asked for: whether cuFile went through memory instead (compatibility mode) is not told";

/// The runs in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let lines: Vec<(usize, &str)> = page.lines().collect();
    let mut found = Vec::new();
    let mut commands = Commands::default();
    for (at, (number, line)) in lines.iter().enumerate() {
        commands.see(*number, line, "gdsio");
        let Some(begin) = line.find("IoType:").filter(|_| line.contains("XferType:")) else { continue };
        let report =
            whole_report(line.get(begin..).unwrap_or_default(), lines.get(at + 1..).unwrap_or_default());
        found.extend(result(page, *number, &report, commands.last()));
        commands.forget();
    }
    found
}

/// A report with the lines into which a page of documentation or mail broke it: it ends with its time.
fn whole_report(first: &str, below: &[(usize, &str)]) -> String {
    const MOST: usize = 4;
    let mut report = first.to_owned();
    for (_, line) in below.iter().take(MOST) {
        if report.contains("total_time") || line.contains("IoType:") || line.trim().is_empty() {
            break;
        }
        report.push(' ');
        report.push_str(line.trim());
    }
    report
}

fn result(page: &Page<'_>, line: usize, report: &str, command: Option<&str>) -> Option<Imported> {
    let kind = word(report, "IoType:")?;
    let rate = Rounded::leading(after(report, "Throughput:")?)
        .filter(|(_, unit)| unit.trim_start().starts_with("GiB"))?
        .0;
    let (moved, set) = data_set(report);
    let time = after(report, "total_time").and_then(Rounded::of);
    let way = word(report, "XferType:");
    let mut result = Imported::new(Tool::Gdsio, page.name, line);
    result.truncated = time.is_none();
    if let (Some(moved), Some(time)) = (moved, time) {
        let amount = Rounded::exact(moved.get() as f64 / GIB);
        result.derived.extend(contradiction("throughput, in GiB/s", rate, &[1.0], amount, time));
    }
    if way == Some("GPUD") {
        result.notes.push(FALLBACK.to_owned());
    }
    let ios = after(report, "ops:").and_then(count);
    let elapsed = time.map(Rounded::value);
    let side = Side {
        iops: ios.zip(elapsed.filter(|time| *time > 0.0)).map(|(ios, time)| Iops::new(ios as f64 / time)),
        bytes: moved,
        ios,
        elapsed_ns: elapsed.and_then(seconds),
        latency_ns: value(report, "Avg_Latency:").map(|micros| Latency::of_mean(micros * 1e3)),
        ..Side::at(BytesPerSec::new(rate.value() * GIB))
    };
    let mut measured = Measured::new(line, work(report, command, kind, way, set));
    match kind {
        "READ" | "RANDREAD" => measured.put(Op::Read, side),
        "WRITE" | "RANDWRITE" => measured.put(Op::Write, side),
        _ => measured.both = Some(side),
    }
    result.measurements.push(measured);
    result.command = command.map(str::to_owned);
    Some(result)
}

fn work(report: &str, command: Option<&str>, kind: &str, way: Option<&str>, set: Option<Bytes>) -> Work {
    let count = |key: &str| after(report, key).and_then(count);
    let asked = |name: &str| command.and_then(|command| letter(command, name));
    Work {
        pattern: Some(if kind.starts_with("RAND") { Pattern::Random } else { Pattern::Sequential }),
        block_size: kibibytes(report, "IOSize:"),
        // Each thread waits for its I/O, but in batches (`-x 6`), whose depth is printed.
        queue_depth: count("IoDepth:").or(Some(1)),
        jobs: count("Threads:"),
        engine: way.map(str::to_owned),
        direct: direct(way, asked("-x")),
        working_set: set,
        target: asked("-f").or_else(|| asked("-D")).map(str::to_owned),
        asked_ns: asked("-T").and_then(leading).and_then(|(number, _)| seconds(number)),
        ..Work::named(format!("{} by {}", kind.to_ascii_lowercase(), way.unwrap_or("a way that is not told")))
    }
}

/// Whether the page cache was bypassed: by all ways but `-x 4`, Storage->PAGE_CACHE->CPU->GPU.
fn direct(way: Option<&str>, asked: Option<&str>) -> Option<bool> {
    let is_cached = asked == Some("4") || way?.contains("CACHE");
    let is_known = way.is_some_and(|way| ["GPUD", "CPUONLY", "CPU_GPU"].contains(&way));
    if is_cached { Some(false) } else { is_known.then_some(true) }
}

/// `DataSetSize: 818796544/4096000(KiB)`: what was moved, and the files of all threads together. One number is both.
fn data_set(report: &str) -> (Option<Bytes>, Option<Bytes>) {
    let Some((moved, rest)) = after(report, "DataSetSize:").and_then(whole) else { return (None, None) };
    let set = rest.strip_prefix('/').and_then(whole);
    let unit = set.map_or(rest, |(_, rest)| rest);
    if !unit.trim_start().starts_with("(KiB)") {
        return (None, None);
    }
    let bytes = |number: u64| to_bytes(number as f64 * KIB).filter(|bytes| bytes.get() > 0);
    (bytes(moved), bytes(set.map_or(moved, |(set, _)| set)))
}

/// `IOSize: 1024(KiB)`; a range of sizes is none.
fn kibibytes(report: &str, key: &str) -> Option<Bytes> {
    let (number, unit) = after(report, key).and_then(whole)?;
    let unit = unit.trim_start().strip_prefix('(')?.split(')').next()?;
    size(&format!("{number}{unit}"), Base::Binary).filter(|bytes| bytes.get() > 0)
}

fn word<'r>(report: &'r str, key: &str) -> Option<&'r str> {
    after(report, key)?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(body: &str) -> Imported {
        let mut found = read(&Page { name: "x", body });
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    // NVIDIA, GPUDirect Storage Benchmarking and Configuration Guide.
    const GUIDE: &str = "dgx2> gdsio -D /nvme23/gds_dir -d 0 -w 4 -s 1G -i 4K -x 0 -I 2 -k 0308 -T 120\n\
        IoType: RANDREAD XferType: GPUD Threads: 4 DataSetSize: 11736528/4194304(KiB) IOSize: 4(KiB) Throughput: 0.093338 GiB/sec, Avg_Latency: 163.478958 usecs ops: 2934132 total_time 119.917332 secs\n";

    #[test]
    fn a_run_has_its_rate_time_and_shape() {
        let found = one(GUIDE);
        let measured = &found.measurements[0];
        let read = measured.read.as_ref().expect("reads");
        assert_eq!(read.bytes_per_second.get(), 0.093338 * GIB);
        assert_eq!((read.ios, read.bytes), (Some(2_934_132), Some(Bytes::new(11_736_528 * 1024))));
        let work = &measured.work;
        assert_eq!((work.pattern, work.jobs, work.queue_depth), (Some(Pattern::Random), Some(4), Some(1)));
        assert_eq!((work.block_size, work.working_set), (Some(Bytes::new(4096)), Some(Bytes::new(4 << 30))));
        assert_eq!((work.target.as_deref(), work.direct), (Some("/nvme23/gds_dir"), Some(true)));
        assert_eq!((found.derived.len(), found.notes.as_slice()), (0, [FALLBACK.to_owned()].as_slice()));
    }

    #[test]
    fn a_report_that_a_page_broke_is_one() {
        let broken = GUIDE.replace(" IOSize:", "\nIOSize:").replace(" ops:", "\nops:");
        assert_eq!(one(&broken).measurements, one(GUIDE).measurements);
        let quoted = GUIDE.lines().map(|line| format!("> {line}\n")).collect::<String>();
        assert_eq!(
            super::super::read(&Page { name: "x", body: &quoted })[0].measurements,
            one(GUIDE).measurements
        );
    }

    #[test]
    fn figures_that_contradict_each_other_are_named() {
        let wrong = GUIDE.replace("0.093338", "0.393338");
        let derived = &one(&wrong).derived;
        assert!(!derived[0].agrees(), "{derived:?}");
    }

    #[test]
    fn a_report_without_its_end_is_cut_and_one_without_a_rate_is_none() {
        let (before, _) = GUIDE.split_once(" ops:").expect("has ops");
        let found = one(before);
        assert!(found.truncated);
        assert_eq!(found.measurements[0].read.as_ref().and_then(|side| side.elapsed_ns), None);
        let (before, _) = GUIDE.split_once("Throughput:").expect("has a rate");
        assert!(read(&Page { name: "x", body: before }).is_empty());
    }

    #[test]
    fn the_page_cache_is_one_of_the_ways() {
        let cached = GUIDE.replace("-x 0", "-x 4").replace("GPUD", "CPU_CACHED_GPU");
        assert_eq!(one(&cached).measurements[0].work.direct, Some(false));
        assert!(one(&cached).notes.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(IoType: |XferType: |Threads: |DataSetSize: |IOSize: |Throughput: |GiB/sec|ops: |total_time |[0-9/.]{1,20}|\\(KiB\\)|\n| ){0,40}") {
            let _ = read(&Page { name: "x", body: &text });
        }
    }
}
