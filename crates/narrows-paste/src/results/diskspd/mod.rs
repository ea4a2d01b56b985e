//! Microsoft's diskspd: text and XML.
//!
//! Sources: diskspd's `ResultParser.cpp` and `XmlResultParser.cpp`, versions 2.0 and 2.2. MiB are binary. Its
//! outstanding I/Os are for each thread and target.

mod linux;
mod xml;

use narrows_base::units::{BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

use super::command::Commands;
use super::number::{Base, MIB, plain, seconds, size, to_bytes, value};
use super::{Cpu, Durability, Imported, Latency, Measured, Op, Page, Percentile, Side, Spread, Tool, Work};

pub(super) use linux::read as read_linux;
pub(super) use xml::{read as read_xml, unite};

/// diskspd's text: parameters, CPU use, and a table of totals for all I/O, reads and writes.
pub(super) fn read_text(page: &Page<'_>) -> Vec<Imported> {
    let mut reader = DiskspdReader { page: *page, ..DiskspdReader::default() };
    for (number, line) in page.lines() {
        reader.line(number, line.trim().trim_start_matches('\u{feff}'));
    }
    reader.end();
    reader.found
}

/// A run as far as it is read.
#[derive(Debug, Default)]
struct DiskspdRun {
    begins: Option<usize>,
    work: Work,
    threads: Option<u32>,
    targets: u32,
    elapsed: Option<f64>,
    section: Option<&'static str>,
    totals: Vec<(&'static str, DiskspdTotals)>,
    percentiles: [Vec<Percentile>; 2],
    maxima: [Option<f64>; 2],
    in_percentiles: bool,
    /// Whether a table of one direction begins.
    is_split: bool,
    cpu: Vec<(f64, Cpu)>,
    cached: Option<bool>,
    /// Whether it is of diskspd for Linux, which has a reader of its own.
    is_linux: bool,
    /// Whether a sum stands there: of diskspd for Linux the heading of its table may be glued to another line.
    has_sum: bool,
}

/// What diskspd for Linux prints above the tables of each job.
const OF_JOB: &str = "Results for job";

/// The headings of its tables, without blanks.
const TOTAL: &str = "TotalIO";
const READ: &str = "ReadIO";
const WRITE: &str = "WriteIO";

/// The last line of a table.
#[derive(Debug, Clone, Copy, Default)]
struct DiskspdTotals {
    bytes: f64,
    ios: f64,
    iops: f64,
    rate: f64,
    mean_ms: Option<f64>,
    deviation: Option<f64>,
}

#[derive(Default)]
struct DiskspdReader<'a> {
    page: Page<'a>,
    run: DiskspdRun,
    commands: Commands,
    found: Vec<Imported>,
}

impl DiskspdReader<'_> {
    fn line(&mut self, number: usize, line: &str) {
        let begins = line.starts_with("Input parameters:") || section(line) == Some(TOTAL);
        let is_call = line.starts_with("Command Line:") || Commands::is_call(line, "diskspd");
        // Each run has its parameters, where they were kept, and this table once.
        if (begins || is_call) && !self.run.totals.is_empty() {
            self.end();
        }
        let has_table = self.run.section.is_some() || self.run.has_sum;
        if self.run.is_linux && (is_call || begins && has_table) {
            self.run = DiskspdRun::default();
            self.commands.forget();
        }
        self.commands.see(number, line, "diskspd");
        let run = &mut self.run;
        run.is_linux |= is_of_linux(line);
        run.has_sum |= line.contains("total:");
        if line.starts_with(OF_JOB) {
            (run.section, run.has_sum) = (None, false);
        }
        if line.starts_with("Command Line:") || line.starts_with("Input parameters:") {
            run.begins.get_or_insert(number);
        }
        if let Some(section) = section(line) {
            run.begins.get_or_insert(number);
            run.section = Some(section);
            run.is_split |= section != TOTAL;
            run.in_percentiles = false;
        }
        if line.contains("%-ile") {
            run.in_percentiles = true;
            // Each target has its own list before the one of all.
            run.percentiles = Default::default();
            run.maxima = Default::default();
        } else if run.in_percentiles {
            percentile(run, line);
        } else if let Some((section, totals)) = totals(line, run.section) {
            if !run.totals.iter().any(|(known, _)| *known == section) {
                run.totals.push((section, totals));
            }
        } else if run.totals.is_empty() {
            parameter(run, line);
            cpu(run, line);
        }
    }

    fn end(&mut self) {
        let command = self.commands.taken();
        self.found.extend(std::mem::take(&mut self.run).result(&self.page, command));
    }
}

/// What only diskspd for Linux prints.
fn is_of_linux(line: &str) -> bool {
    line.starts_with("device scheduler:")
        || line.starts_with("caching options: fua")
        || line.starts_with(OF_JOB)
        || line == "using O_DIRECT"
}

/// The heading of a table: a line of its own, or the first cell of a table that was turned into Markdown.
fn section(line: &str) -> Option<&'static str> {
    let joined: String = line.split('|').find(|cell| !cell.trim().is_empty())?.split_whitespace().collect();
    [TOTAL, READ, WRITE].into_iter().find(|heading| *heading == joined)
}

/// `total: 146169856 | 35686 | 4.64 | 1189.03 | 0.840 | 129.18 | 1.051`, or a row of a Markdown table.
fn totals(line: &str, section_above: Option<&'static str>) -> Option<(&'static str, DiskspdTotals)> {
    let (section, cells) = match line.strip_prefix("total:") {
        Some(rest) => (section_above?, rest.split('|').collect::<Vec<_>>()),
        None => {
            let section = section(line)?;
            let cells = line.split('|').skip_while(|cell| cell.trim().is_empty());
            (section, cells.skip(1).collect())
        }
    };
    let cell = |at: usize| cells.get(at).and_then(|cell| plain(cell));
    Some((
        section,
        DiskspdTotals {
            bytes: cell(0)?,
            ios: cell(1)?,
            rate: cell(2)? * MIB,
            iops: cell(3)?,
            mean_ms: cell(4),
            deviation: cell(5),
        },
    ))
}

fn parameter(run: &mut DiskspdRun, line: &str) {
    let Some((name, rest)) = line.split_once(':') else {
        match line {
            "software cache disabled" => run.cached = Some(false),
            "using software cache" => run.cached = Some(true),
            line if line.starts_with("using random I/O") => run.work.pattern = Some(Pattern::Random),
            line if line.starts_with("hardware write cache disabled")
                || line.starts_with("hardware and software") =>
            {
                run.work.durability = Some(Durability::Each);
            }
            _ => {}
        }
        return;
    };
    let rest = rest.trim();
    let count = || rest.split_whitespace().next().and_then(|word| word.parse::<u32>().ok());
    match name.trim() {
        name if name.starts_with("using random I/O") => run.work.pattern = Some(Pattern::Random),
        name if name.starts_with("using sequential I/O") => run.work.pattern = Some(Pattern::Sequential),
        name if name.starts_with("number of outstanding I/O") => run.work.queue_depth = count(),
        "block size" => run.work.block_size = size(rest, Base::Binary),
        "duration" => {
            run.work.asked_ns = value(rest, "").map(|seconds| Nanos::from_millis((seconds * 1e3) as u64))
        }
        "actual test time" => run.elapsed = value(rest, ""),
        "thread count" => run.threads = count(),
        "path" => {
            run.targets += 1;
            run.work.target.get_or_insert_with(|| rest.trim_matches('\'').to_owned());
        }
        "writing zeros" => run.work.zeros = Some(true),
        _ => {}
    }
}

/// `   0|   3.02%|   0.36%|    2.65%|  96.98%`; newer tables have more numbers before the shares.
fn cpu(run: &mut DiskspdRun, line: &str) {
    if !line.contains('%') || !line.contains('|') || line.starts_with("avg") {
        return;
    }
    let shares: Vec<f64> = line
        .split('|')
        .filter_map(|cell| plain(cell.trim().strip_suffix('%')?))
        .map(|share| share / 100.0)
        .collect();
    if let [usage, user, kernel, ..] = shares.as_slice() {
        run.cpu.push((*usage, Cpu { user: *user, system: *kernel }));
    }
}

/// `99th | 0.877 | 6.107 | 4.713`, `3-nines |…`, `max |…`; milliseconds of reads, writes and both.
fn percentile(run: &mut DiskspdRun, line: &str) {
    let mut cells = line.split('|');
    let name = cells.next().unwrap_or_default().trim();
    let percent = match name.split_once("-nines") {
        Some((nines, _)) => nines.parse::<i32>().ok().map(|nines| 100.0 - 10f64.powi(2 - nines)),
        None => name.strip_suffix("th").and_then(plain),
    };
    for ((list, max), cell) in run.percentiles.iter_mut().zip(&mut run.maxima).zip(cells) {
        let Some(latency) = plain(cell).map(|millis| millis * 1e6) else { continue };
        match percent {
            Some(percent) => list.push(Percentile { percent, latency_ns: latency }),
            None if name == "max" => *max = Some(latency),
            None => {}
        }
    }
}

impl DiskspdRun {
    fn result(self, page: &Page<'_>, command: Option<String>) -> Option<Imported> {
        let totals = if self.is_linux { &[] } else { self.totals.as_slice() };
        let (_, total) = totals.iter().find(|(section, _)| *section == TOTAL)?;
        let begins = self.begins.unwrap_or(1);
        let jobs = self.work.jobs.or_else(|| self.threads.map(|threads| threads.max(1)));
        let mut work = Work { label: "diskspd".to_owned(), jobs, ..self.work.clone() };
        if let Some(command) = &command {
            of_command(&mut work, command);
        }
        work.pattern = work.pattern.or(Some(Pattern::Sequential));
        work.direct = self.cached.map(|cached| !cached).or(work.direct);
        let elapsed = self.elapsed.or_else(|| (total.iops > 0.0).then(|| total.ios / total.iops));
        let mut measured = Measured::new(begins, work);
        let of = |section: &str, percentiles: &[Percentile], max| {
            let (_, one) = self.totals.iter().find(|(known, _)| *known == section)?;
            (one.ios > 0.0).then(|| side(one, elapsed, percentiles.to_vec(), max))
        };
        let ([of_reads, of_writes], [most_read, most_write]) = (&self.percentiles, self.maxima);
        measured.read = of(READ, of_reads, most_read);
        measured.write = of(WRITE, of_writes, most_write);
        if measured.sides().next().is_none() {
            if total.ios <= 0.0 {
                return None;
            }
            // The tables of each direction were cut off: the command may say that there was one alone.
            let all = side(total, elapsed, Vec::new(), None);
            match command.as_deref().map(written) {
                Some(0) => measured.put(Op::Read, all),
                Some(100) => measured.put(Op::Write, all),
                // Tables of both directions that could not be read say more than their sum.
                _ if self.is_split => return None,
                _ => measured.both = Some(all),
            }
        }
        measured.cpu = self.cpu.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, cpu)| *cpu);
        let measurements = vec![measured];
        Some(Imported { command, measurements, ..Imported::new(Tool::Diskspd, page.name, begins) })
    }
}

fn side(one: &DiskspdTotals, elapsed: Option<f64>, percentiles: Vec<Percentile>, max: Option<f64>) -> Side {
    let latency = one.mean_ms.filter(|mean| *mean > 0.0).map(|mean| {
        Latency { mean: Some(mean * 1e6), max, ..Latency::default() }.with_percentiles(percentiles)
    });
    Side {
        iops: Some(Iops::new(one.iops)),
        bytes: to_bytes(one.bytes),
        ios: Some(one.ios as u64),
        elapsed_ns: elapsed.and_then(seconds),
        latency_ns: latency,
        spread: one.deviation.map(|deviation| Spread { mean: one.iops, deviation, samples: None }),
        ..Side::at(BytesPerSec::new(one.rate))
    }
}

/// How many of a hundred I/Os are writes: `-w30`; without it none, without a number all.
fn written(command: &str) -> u32 {
    let options = command.split_whitespace().filter_map(|word| word.strip_prefix(['-', '/']));
    let mut shares = options.filter_map(|option| option.strip_prefix('w'));
    shares.next_back().map_or(0, |share| share.parse().unwrap_or(100))
}

/// What only the command line tells: `-c50m`, `-Sh`.
fn of_command(work: &mut Work, command: &str) {
    let mut cached = true;
    for word in command.split_whitespace().skip(1) {
        let Some(option) = word.strip_prefix(['-', '/']) else { continue };
        let mut letters = option.chars();
        let (name, rest) = (letters.next(), letters.as_str());
        match name {
            Some('c') => {
                work.working_set = work.working_set.or_else(|| size(&rest.to_lowercase(), Base::Binary))
            }
            Some('b') => work.block_size = work.block_size.or_else(|| size(rest, Base::Binary)),
            Some('o') => work.queue_depth = work.queue_depth.or_else(|| rest.parse().ok()),
            Some('t' | 'F') => work.jobs = work.jobs.or_else(|| rest.parse().ok()),
            // -S and what follows it switch caches off, but for -Sm and -Sb.
            Some('S') => cached = matches!(rest, "b" | "m" | "r"),
            Some('h') => cached = false,
            Some('Z') if rest.is_empty() => work.zeros = Some(true),
            Some('r') if rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit()) => {
                work.pattern = work.pattern.or(Some(Pattern::Random));
            }
            Some('d') => {
                let seconds = plain(rest).map(|seconds| Nanos::from_millis((seconds * 1e3) as u64));
                work.asked_ns = work.asked_ns.or(seconds);
            }
            _ => {}
        }
    }
    work.direct = work.direct.or(Some(!cached));
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Bytes;

    use super::*;

    const RUN: &str = "\
    Command Line: diskspd.exe -c1G -b4K -r4K -t4 -o16 -w30 -d10 -Suw -L C:\\test.dat
Input parameters:
\tduration: 10s
\tpath: 'C:\\test.dat'
\t\tsoftware cache disabled
\t\tblock size: 4KiB
\t\tusing random I/O (alignment: 4KiB)
\t\tnumber of outstanding I/O operations per thread: 16
actual test time:\t10.00s
thread count:\t\t4
Core | CPU |  Usage |  User  | Kernel |  Idle
    0|    0|   1.56%|   0.31%|   1.25%|  98.44%
    0|    1|  96.00%|   6.00%|  90.00%|   4.00%
avg.|   1.13%|   0.31%|   0.82%|  98.87%
Total IO
total:          40960000 |        10000 |       3.91 |    1000.00 |   64.000 |      10.00 |    25.418
Read IO
total:          28672000 |         7000 |       2.73 |     700.00 |   60.000 |       7.00 |    20.000
Write IO
total:          12288000 |         3000 |       1.17 |     300.00 |   73.333 |       3.00 |    30.000
total:
  %-ile |  Read (ms) | Write (ms) | Total (ms)
   50th |     59.000 |     70.000 |     62.000
   99th |     90.000 |    100.000 |     95.000
3-nines |     95.000 |        N/A |     99.000
    max |    120.000 |    130.000 |    130.000
";

    #[test]
    fn reads_and_writes_of_a_run() {
        let found = read_text(&Page { name: "x", body: RUN });
        assert_eq!(found.len(), 1);
        let run = &found[0].measurements[0];
        let (read, write) = (run.read.as_ref().expect("reads"), run.write.as_ref().expect("writes"));
        assert_eq!((read.ios, write.ios), (Some(7000), Some(3000)));
        let latency = read.latency_ns.as_ref().expect("latency");
        assert_eq!((latency.mean, latency.p99, latency.max), (Some(60e6), Some(90e6), Some(120e6)));
        assert_eq!(latency.percentiles.last().map(|one| one.percent), Some(99.9));
        assert_eq!((run.work.queue_depth, run.work.jobs, run.work.direct), (Some(16), Some(4), Some(true)));
        assert_eq!(run.work.working_set, Some(Bytes::new(1 << 30)));
        assert!((run.cpu.expect("cpu").total() - 0.96).abs() < 1e-9);
    }

    #[test]
    fn a_table_of_all_io_alone_is_of_the_direction_that_the_command_says() {
        let table = "Total IO\nthread |       bytes     |     I/Os     |     MB/s   |  I/O per s |  file\n\
            total:        2775056384 |        21172 |     529.36 |    4234.88\n";
        let of = |body: &str| read_text(&Page { name: "x", body }).remove(0).measurements.remove(0);
        let alone = of(table);
        let rate = alone.both.as_ref().map(|side| side.bytes_per_second.get());
        assert_eq!((rate, alone.read, alone.write), (Some(529.36 * 1_048_576.0), None, None));
        assert!(of(&format!("diskspd.exe -b256K -w100 -d600 #2\n{table}")).write.is_some());
        assert!(of(&format!("diskspd.exe -b256K -d600 #2\n{table}")).read.is_some());
        assert!(of(&format!("diskspd.exe -b256K -w30 #2\n{table}")).both.is_some());
        assert!(
            read_text(&Page { name: "x", body: &format!("{table}Read IO\nthread | bytes\n") }).is_empty()
        );
    }

    #[test]
    fn a_run_ends_where_the_parameters_the_command_or_the_table_of_the_next_one_begin() {
        let (command, rest) = RUN.split_once('\n').expect("a command");
        let table = "|TotalIO| 175508717568 | 10712202 | 1859.76 | 119024.53 | 0.025 | 1155.77 | 0.016 |\n\
            |Read IO| 66705752064 | 4071396 | 706.84 | 45237.76 | 0.025 | 484.72 | 0.017 |\n";
        let markdown = format!("diskspd.exe -r -d90 -w62 -b16k -o4 -F1 c:\\test.dat\n{table}");
        let depths = |body: &str| -> Vec<Option<u32>> {
            let found = read_text(&Page { name: "x", body });
            found.iter().flat_map(|run| &run.measurements).map(|one| one.work.queue_depth).collect()
        };
        assert_eq!(depths(&format!("{RUN}{rest}")), [Some(16), Some(16)]);
        assert_eq!(depths(&format!("{RUN}{command}\n{rest}")), [Some(16), Some(16)]);
        assert_eq!(depths(&format!("{RUN}and the other one:\n{markdown}")), [Some(16), Some(4)]);
        assert_eq!(depths(&format!("{markdown}the same again:\n{table}")), [Some(4), None]);
    }

    #[test]
    fn a_table_in_markdown_is_a_run_too() {
        let body = "diskspd.exe -L -D -r -d90 -w62 -b16k -o4 -F1 -c50m c:\\test.dat\n\
            |       |  bytes | I/Os | MiB/s | I/O per s | AvgLat | IopsStdDev |\n\
            |TotalIO| 175508717568 | 10712202 | 1859.76 | 119024.53 | 0.025 | 1155.77 | 0.016 |\n\
            |Read IO| 66705752064 | 4071396 | 706.84 | 45237.76 | 0.025 | 484.72 | 0.017 |\n";
        let found = read_text(&Page { name: "x", body });
        let run = &found[0].measurements[0];
        assert_eq!(run.work.direct, Some(false));
        assert_eq!(run.work.working_set, Some(Bytes::from_mib(50)));
        let seconds =
            run.read.as_ref().and_then(|side| side.elapsed_ns).map(|time| time.as_secs_f64().round());
        assert_eq!(seconds, Some(90.0));
    }
}
