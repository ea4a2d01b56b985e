//! `spdk_nvme_perf` (`perf` in its own tree) and `bdevperf` of SPDK: a table with a row for each device and core, and their total.
//!
//! The column that old versions head `MB/s` is MiB/s, as the new ones say: I/Os per second × bytes ÷ 1024² (`perf.c`).

use narrows_base::units::{BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::command::{Commands, letter, option};
use super::number::{MIB, count, leading, plain, seconds, to_bytes};
use super::{Derived, Imported, Latency, Measured, Op, Page, Percentile, Side, Tool, Work};

/// Every figure of a table has two decimals.
const HALF_OF_LAST: f64 = 0.005;

/// The tables in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut table: Option<SpdkTable> = None;
    for (number, line) in page.lines() {
        if !line.contains("DPDK EAL parameters") {
            commands.see_any(number, line, &["spdk_nvme_perf", "bdevperf", "perf"]);
        }
        if let Some(columns) = columns(line) {
            found.extend(table.take().and_then(|table| table.finish(page)));
            table =
                Some(SpdkTable { line: number, columns, command: commands.taken(), ..SpdkTable::default() });
        } else if let Some(known) = table.as_mut() {
            known.see(number, line);
        }
    }
    found.extend(table.and_then(|table| table.finish(page)));
    found
}

/// The column of the times, which the total of bdevperf has not.
const TIMES: &str = "runtime(s)";

/// The columns of a table. `Latency(us)` stands above the last three, or among them where blanks were lost.
const COLUMNS: [&str; 9] = [TIMES, "IOPS", "MiB/s", "MB/s", "Fail/s", "TO/s", "Average", "min", "max"];

/// The columns behind `Device Information :`.
fn columns(line: &str) -> Option<Vec<&'static str>> {
    let (name, rest) = line.rsplit_once(" :").or_else(|| line.rsplit_once(':'))?;
    let columns = named(rest);
    (name.trim() == "Device Information" && columns.contains(&"IOPS")).then_some(columns)
}

/// The columns that words name.
fn named(words: &str) -> Vec<&'static str> {
    words.split_whitespace().filter_map(|word| COLUMNS.into_iter().find(|column| *column == word)).collect()
}

/// A row: a device on a core, or all of them.
#[derive(Debug, Clone, Default)]
struct SpdkRow {
    line: usize,
    name: String,
    iops: f64,
    mib: f64,
    failed: f64,
    seconds: Option<f64>,
    mean: Option<f64>,
    max: Option<f64>,
}

/// `Job: null0 (Core Mask 0x1, workload: randread, depth: 128, IO size: 4096)` of bdevperf.
#[derive(Debug, Clone, Default)]
struct SpdkJob {
    workload: Option<String>,
    depth: Option<u32>,
    block: Option<f64>,
}

#[derive(Debug, Default)]
struct SpdkTable {
    line: usize,
    columns: Vec<&'static str>,
    command: Option<String>,
    rows: Vec<SpdkRow>,
    total: Option<SpdkRow>,
    /// A row of which only the beginning has come: mail has broken it.
    begun: Option<String>,
    job: SpdkJob,
    percentiles: Vec<Percentile>,
    summaries: usize,
}

impl SpdkTable {
    fn see(&mut self, number: usize, line: &str) {
        /// No table of a machine has more rows.
        const MOST: usize = 10_000;
        let line = line.trim();
        let goes_on =
            |line: &str| !line.is_empty() && line.split_whitespace().all(|word| plain(word).is_some());
        let begun = self.begun.take().filter(|_| goes_on(line));
        if let Some(job) = line.strip_prefix("Job: ") {
            self.job = job_of(job);
        } else if line.starts_with("Summary latency data for ") {
            self.summaries += 1;
        } else if let Some(one) = percentile(line).filter(|_| self.summaries == 1) {
            self.percentiles.push(one);
        } else if self.rows.is_empty()
            && begun.is_none()
            && !line.is_empty()
            && named(line).len() == line.split_whitespace().count()
        {
            self.columns.extend(named(line));
        } else if self.total.is_none() && self.rows.len() < MOST {
            let whole = begun.map_or_else(|| line.to_owned(), |begun| format!("{begun} {line}"));
            self.add(number, whole);
        }
    }

    fn add(&mut self, number: usize, line: String) {
        let Some((row, count)) = self.row(number, &line) else { return };
        // A mark of a quotation may stand before it.
        let is_total = row.name.trim_start_matches(|c: char| !c.is_alphanumeric()) == "Total";
        let timeless = usize::from(is_total && self.columns.contains(&TIMES));
        match self.columns.len().checked_sub(count + timeless) {
            Some(0) if is_total => self.total = Some(row),
            Some(0) => self.rows.push(row),
            Some(_) => self.begun = Some(line),
            None => {}
        }
    }

    /// `PCIE (0000:04:00.0) NSID 1 from core  0:  889422.78    3474.31      71.93      10.05    1040.94`.
    ///
    /// The answer has the count of its figures. The total of bdevperf has no time, so that its figures begin a column later.
    fn row(&self, line: usize, text: &str) -> Option<(SpdkRow, usize)> {
        let (name, rest) = text.rsplit_once(':')?;
        let numbers: Vec<f64> = rest.split_whitespace().map(plain).collect::<Option<_>>()?;
        let count = numbers.len();
        let is_timeless = count + 1 == self.columns.len();
        let columns = self.columns.iter().filter(|column| !is_timeless || **column != TIMES);
        let cells: Vec<(&str, f64)> = columns.copied().zip(numbers).collect();
        let cell = |name: &str| cells.iter().find(|(column, _)| *column == name).map(|(_, number)| *number);
        let row = SpdkRow {
            line,
            name: name.trim().to_owned(),
            iops: cell("IOPS").unwrap_or_default(),
            mib: cell("MiB/s").or_else(|| cell("MB/s")).unwrap_or_default(),
            failed: cell("Fail/s").unwrap_or_default(),
            seconds: cell(TIMES),
            mean: cell("Average"),
            max: cell("max"),
        };
        Some((row, count))
    }

    fn finish(self, page: &Page<'_>) -> Option<Imported> {
        let whole = self.whole()?;
        let mut result = Imported::new(Tool::Spdk, page.name, self.line);
        result.truncated = self.total.is_none();
        if self.columns.contains(&"MB/s") {
            result.corrections.push("MB/s of SPDK is MiB/s; read as such".to_owned());
        }
        if let Some(total) = self.total.as_ref().filter(|total| self.rows.len() > 1 && total.iops > 0.0) {
            result.derived.push(Derived {
                name: "total, in IOPS".to_owned(),
                printed: total.iops,
                computed: self.rows.iter().map(|row| row.iops).sum(),
                rounding: HALF_OF_LAST * (self.rows.len() + 1) as f64 / total.iops,
            });
        }
        if whole.failed > 0.0 {
            result.failures.push(format!("{} I/Os failed each second", whole.failed));
        }
        let mut measured = Measured::new(whole.line, self.work(&whole));
        measured.memory_only = self.rows.iter().all(|row| is_memory(&row.name)) && !self.rows.is_empty();
        let side = self.side(&whole);
        match self.workload() {
            Some("read" | "randread") => measured.put(Op::Read, side),
            Some("write" | "randwrite") => measured.put(Op::Write, side),
            _ => measured.both = Some(side),
        }
        result.measurements.push(measured);
        result.command = self.command;
        Some(result)
    }

    /// The total, or what the rows make where it was cut off.
    fn whole(&self) -> Option<SpdkRow> {
        let first = self.rows.first();
        let seconds = first.and_then(|row| row.seconds);
        if let Some(total) = &self.total {
            return Some(SpdkRow { seconds, ..total.clone() }).filter(|row| row.iops > 0.0);
        }
        let iops: f64 = self.rows.iter().map(|row| row.iops).sum();
        let mean = self.rows.iter().filter_map(|row| Some(row.mean? * row.iops)).sum::<f64>() / iops;
        Some(SpdkRow {
            line: first?.line,
            iops,
            mib: self.rows.iter().map(|row| row.mib).sum(),
            failed: self.rows.iter().map(|row| row.failed).sum(),
            seconds,
            mean: Some(mean),
            max: self.rows.iter().filter_map(|row| row.max).reduce(f64::max),
            ..SpdkRow::default()
        })
        .filter(|row| row.iops > 0.0)
    }

    fn side(&self, whole: &SpdkRow) -> Side {
        let asked = self.option("-t", "time").and_then(|text| Some(leading(text)?.0));
        let elapsed = whole.seconds.or(asked);
        let latency = Latency {
            mean: whole.mean.map(|micros| micros * 1e3),
            max: whole.max.map(|micros| micros * 1e3),
            ..Latency::default()
        };
        let percentiles = if self.rows.len() == 1 { self.percentiles.clone() } else { Vec::new() };
        Side {
            iops: Some(Iops::new(whole.iops)),
            bytes: elapsed.and_then(|seconds| to_bytes(whole.mib * MIB * seconds)),
            ios: elapsed.map(|seconds| (whole.iops * seconds) as u64),
            elapsed_ns: elapsed.and_then(seconds),
            latency_ns: Some(latency.with_percentiles(percentiles)).filter(|latency| latency.mean.is_some()),
            ..Side::at(BytesPerSec::new(whole.mib * MIB))
        }
    }

    fn work(&self, whole: &SpdkRow) -> Work {
        let workload = self.workload();
        let number = |name: &str, long: &str| self.option(name, long).and_then(plain);
        let depth =
            number("-q", "io-depth").filter(|depth| (1.0..1e6).contains(depth)).map(|depth| depth as u32);
        let is_bdev = self.columns.contains(&TIMES);
        Work {
            pattern: workload
                .map(|word| if word.starts_with("rand") { Pattern::Random } else { Pattern::Sequential }),
            block_size: block(whole)
                .or(self.job.block)
                .or_else(|| number("-o", "io-size"))
                .and_then(to_bytes),
            queue_depth: self.job.depth.or(depth),
            jobs: u32::try_from(self.rows.len()).ok().filter(|count| *count > 0),
            engine: Some("spdk".to_owned()),
            // A driver in user space has no page cache; what is below a bdev is not told.
            direct: (!is_bdev).then_some(true),
            target: self.target(),
            asked_ns: number("-t", "time").and_then(seconds),
            ..Work::named(workload.unwrap_or("reads or writes"))
        }
    }

    /// What was done, where it is one of the tool's own words: `read`, `randwrite`, `rw`.
    fn workload(&self) -> Option<&str> {
        const KNOWN: [&str; 6] = ["read", "write", "randread", "randwrite", "rw", "randrw"];
        let word = self.job.workload.as_deref().or_else(|| self.option("-w", "io-pattern"))?;
        KNOWN.contains(&word).then_some(word)
    }

    /// The address of the one drive, or the name of the one bdev.
    fn target(&self) -> Option<String> {
        let names = || self.rows.iter().map(|row| device(&row.name));
        let first = names().next()??;
        names().all(|name| name == Some(first)).then(|| first.to_owned())
    }

    fn option(&self, short: &str, long: &str) -> Option<&str> {
        let command = self.command.as_deref()?;
        option(command, long).or_else(|| letter(command, short))
    }
}

/// Bytes of one I/O: the multiple of 512 that rate ÷ I/Os per second makes; `None` where both are too coarse to tell.
fn block(whole: &SpdkRow) -> Option<f64> {
    let sectors = whole.mib * MIB / whole.iops / 512.0;
    let error = sectors * (HALF_OF_LAST / whole.mib + HALF_OF_LAST / whole.iops);
    let near = sectors.round();
    ((sectors - near).abs() <= error.max(1e-6) && error < 0.4 && near >= 1.0).then_some(near * 512.0)
}

/// `PCIE (0000:04:00.0) NSID 1 from core  0` is of 0000:04:00.0; a row of bdevperf has the name alone.
fn device(name: &str) -> Option<&str> {
    if !name.contains(" from core") {
        return Some(name).filter(|name| !name.contains(' '));
    }
    let inside = name.split_once('(')?.1.split(')').next()?.trim();
    let is_address = inside.len() == 12 && inside.split([':', '.']).count() == 4;
    is_address.then_some(inside)
}

/// The bdevs of SPDK that are memory: `Malloc0`, `Null0`.
fn is_memory(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["malloc", "null"]
        .iter()
        .any(|kind| name.strip_prefix(kind).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit())))
}

fn job_of(text: &str) -> SpdkJob {
    let at = |key: &str| text.split_once(key).map(|(_, rest)| rest);
    SpdkJob {
        workload: at("workload: ").and_then(|rest| rest.split([',', ')', ' ']).next()).map(str::to_owned),
        depth: at("depth: ").and_then(count),
        block: at("IO size: ").and_then(|rest| Some(leading(rest)?.0)).filter(|size| *size > 0.0),
    }
}

/// `  1.00000% :    33.019us` below `Summary latency data for …`.
fn percentile(line: &str) -> Option<Percentile> {
    let (percent, micros) = line.split_once('%')?;
    let micros = micros.trim_start().strip_prefix(':')?.trim().strip_suffix("us")?;
    Some(Percentile { percent: plain(percent)?, latency_ns: plain(micros)? * 1e3 })
}

#[cfg(test)]
mod tests {
    use narrows_base::units::{Bytes, Nanos};
    use proptest::prelude::*;

    use super::*;

    fn one(body: &str) -> Imported {
        let mut found = read(&Page { name: "x", body });
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    // spdk/spdk issue 970 and its like, as `perf` of 2022 prints it.
    const ONE: &str = "# /root/spdk/build/examples/perf -q 32 -s 1024 -w randwrite -t 60 -c 0x1 -o 4096 -r 'trtype:PCIe traddr:0000:06:00.0'\n\
        Initialization complete. Launching workers.\n========================================================\n\
        \x20                                                                          Latency(us)\n\
        Device Information                     :       IOPS      MiB/s    Average        min        max\n\
        PCIE (0000:06:00.0) NSID 1 from core  0:  652439.48    2548.59      49.03       5.12    1617.14\n\
        ========================================================\n\
        Total                                  :  652439.48    2548.59      49.03       5.12    1617.14\n";

    #[test]
    fn one_drive_on_one_core() {
        let found = one(ONE);
        let measured = &found.measurements[0];
        let write = measured.write.as_ref().expect("writes");
        assert_eq!((write.bytes_per_second.get(), write.iops), (2548.59 * MIB, Some(Iops::new(652_439.48))));
        assert_eq!(write.elapsed_ns, Some(Nanos::new(60_000_000_000)));
        let latency = write.latency_ns.as_ref().expect("latencies");
        assert_eq!((latency.mean, latency.max), (Some(49.03e3), Some(1617.14e3)));
        let work = &measured.work;
        assert_eq!(
            (work.block_size, work.queue_depth, work.jobs),
            (Some(Bytes::new(4096)), Some(32), Some(1))
        );
        assert_eq!((work.target.as_deref(), work.direct), (Some("0000:06:00.0"), Some(true)));
        assert!(!found.truncated && found.derived.is_empty() && found.corrections.is_empty());
    }

    #[test]
    fn rows_make_the_total_or_it_is_not_their_total() {
        // shuhei-matsumoto in spdk/spdk issue 321: four cores, `MB/s` of 2018.
        let four = "Device Information                                     :       IOPS       MB/s    Average        min        max\n\
            SPDK bdev Controller (SPDK00000000000001  ) from core 3:  115819.35     452.42    1105.05      88.90    6509.52\n\
            SPDK bdev Controller (SPDK00000000000001  ) from core 2:  115727.90     452.06    1105.93     236.96    6323.20\n\
            SPDK bdev Controller (SPDK00000000000001  ) from core 1:  115573.78     451.46    1107.40      90.61    6470.96\n\
            SPDK bdev Controller (SPDK00000000000001  ) from core 0:  115642.65     451.73    1106.74     242.61    6413.89\n\
            ========================================================\n";
        let total = "Total                                                  :  462763.68    1807.67    1106.28      88.90    6509.52\n";
        let found = one(&format!("{four}{total}"));
        assert!(found.derived[0].agrees() && found.corrections.len() == 1);
        // Nothing says whether it was read or written.
        let both = found.measurements[0].both.as_ref().expect("a rate");
        assert_eq!(both.bytes_per_second.get(), 1807.67 * MIB);
        assert_eq!(found.measurements[0].work.jobs, Some(4));
        assert_eq!(found.measurements[0].work.target, None);
        let wrong = one(&format!("{four}{}", total.replace("462763", "862763")));
        assert!(!wrong.derived[0].agrees());
        let cut = one(four);
        assert!(cut.truncated);
        let sum = cut.measurements[0].both.as_ref().and_then(|side| side.iops).map(Iops::get);
        assert_eq!(sum.map(f64::round), Some(462_764.0));
    }

    #[test]
    fn addresses_of_many_drives_are_no_stamps() {
        let row = |address: &str| {
            format!(
                "PCIE ({address}) NSID 1 from core  0:  889422.78    3474.31      71.93      10.05    1040.94\n"
            )
        };
        let head = ONE
            .lines()
            .take_while(|line| !line.starts_with("PCIE"))
            .map(|line| format!("{line}\n"))
            .collect::<String>();
        let rows = ["0000:04:00.0", "0000:41:00.0", "0000:42:00.0", "0000:86:00.0", "0000:c1:00.0"]
            .map(row)
            .concat();
        let total = "Total                                  : 4447113.90   17371.55      71.93      10.05    1040.94\n";
        let found = super::super::read(&Page { name: "x", body: &format!("{head}{rows}{total}") });
        let one = &found[0];
        assert_eq!((one.truncated, one.measurements[0].work.jobs), (false, Some(5)), "{one:?}");
        assert_eq!(one.measurements[0].work.target, None);
    }

    #[test]
    fn rows_and_a_head_that_mail_broke_are_whole() {
        let broken = ONE
            .replace("Average        min", "Average\nmin")
            .replace("      49.03       5.12", "\n49.03       5.12");
        assert_eq!(one(&broken).measurements[0].write, one(ONE).measurements[0].write);
        let cut = ONE.replace("      49.03       5.12    1617.14", "");
        assert!(read(&Page { name: "x", body: &cut }).is_empty());
    }

    #[test]
    fn bdevs_of_memory_are_memory() {
        // As `bdevperf` of SPDK 24.01 prints it.
        let body = "$ sudo build/examples/bdevperf -w randread -o 4096 -q 16 -t 5 -c null.json\n\
            Running I/O for 5 seconds...\n\n                                                Latency(us)\n\
            \x20Device Information          : runtime(s)       IOPS      MiB/s     Fail/s     TO/s    Average        min        max\n\
            \x20Job: null0 (Core Mask 0x1)\n\
            \x20        null0               :       5.00 12463996.06   48687.48       0.00     0.00       1.23       0.82   21546.08\n\
            \x20===================================================================================================================\n\
            \x20Total                       :            12463996.06   48687.48       0.00     0.00       1.23       0.82   21546.08\n";
        let found = one(body);
        let measured = &found.measurements[0];
        assert!(measured.memory_only && found.failures.is_empty());
        assert_eq!(measured.read.as_ref().and_then(|side| side.elapsed_ns), Some(Nanos::new(5_000_000_000)));
        assert_eq!((measured.work.direct, measured.work.queue_depth), (None, Some(16)));
        let drive = one(&body
            .replace("null0", "Nvme0n1")
            .replace("(Core Mask 0x1)", "(Core Mask 0x1, workload: randwrite, depth: 128, IO size: 4096)"));
        let measured = &drive.measurements[0];
        assert!(!measured.memory_only && measured.write.is_some());
        assert_eq!(
            (measured.work.queue_depth, measured.work.target.as_deref()),
            (Some(128), Some("Nvme0n1"))
        );
    }

    #[test]
    fn percentiles_are_of_the_one_row() {
        let below = "Summary latency data for PCIE (0000:06:00.0) NSID 1                  from core 0:\n\
            =================================================================================\n  1.00000% :    33.019us\n 50.00000% :    44.800us\n 99.00000% :    98.500us\n";
        let found = one(&format!("{ONE}\n{below}"));
        let latency =
            found.measurements[0].write.as_ref().and_then(|side| side.latency_ns.clone()).expect("latencies");
        assert_eq!((latency.p50, latency.p99), (Some(44.8e3), Some(98.5e3)));
    }

    #[test]
    fn quoted_and_foreign_lines_change_nothing() {
        let quoted = ONE.lines().map(|line| format!("> {line}\n")).collect::<String>();
        let found = super::super::read(&Page { name: "x", body: &quoted });
        assert_eq!(found[0].measurements, one(ONE).measurements);
        let foreign = ONE.replace("=====\nTotal", "=====\n[2024-05-07 07:43:16] perf: note: 1 2 3\nTotal");
        assert_eq!(one(&foreign).measurements[0].write, one(ONE).measurements[0].write);
        assert!(
            read(&Page { name: "x", body: "perf stat -e cycles\nDevice Information: none\n" }).is_empty()
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Device Information|Total| : |IOPS |MiB/s |Average |min |max|\n|Job: |from core |[0-9.]{1,12} |\\(0000:){0,60}") {
            let _ = read(&Page { name: "x", body: &text });
        }
    }
}
