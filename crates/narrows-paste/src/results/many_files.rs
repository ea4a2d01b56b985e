//! Benchmarks of many files: fs_mark, mdtest, and dbench with the load of a file server.

use narrows_base::units::{Bytes, BytesPerSec, Iops};

use super::command::Commands;
use super::number::{self, count, leading, plain, seconds, to_bytes, value};
use super::{Durability, Imported, Latency, Measured, Op, Page, Side, Spread, Tool, Work};

/// fs_mark: files each second, each row an iteration. File size × files each second is what was written.
pub(super) fn read_fs_mark(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut head = FsMarkHead::default();
    let mut table: Option<FsMarkTable> = None;
    for (number, line) in page.lines() {
        commands.see(number, line, "fs_mark");
        let line = line.trim().trim_start_matches('#').trim();
        if let Some(method) = line.strip_prefix("Sync method:") {
            head.method = Some(method.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("Version ") {
            head.version = rest.split(',').next().map(str::to_owned);
            head.threads = rest.split_once(", ").and_then(|(_, rest)| count(rest));
        } else if line.starts_with("FSUse%") && line.contains("Files/sec") {
            let mut result = Imported::new(Tool::Fsmark, page.name, number);
            result.version = head.version.take();
            result.command = commands.last().map(str::to_owned);
            table = Some(FsMarkTable::new(line, std::mem::take(&mut head), result.command.as_deref()));
            commands.forget();
            found.push(result);
        } else if let (Some(known), Some(result)) = (table.as_mut(), found.last_mut()) {
            match known.row(number, line) {
                Some(measured) => result.measurements.push(measured),
                None if line.is_empty() => {}
                None => table = None,
            }
        }
    }
    found
}

#[derive(Debug, Default)]
struct FsMarkHead {
    version: Option<String>,
    threads: Option<u32>,
    method: Option<String>,
}

#[derive(Debug)]
struct FsMarkTable {
    columns: usize,
    work: Work,
    before: Option<f64>,
}

impl FsMarkTable {
    fn new(line: &str, head: FsMarkHead, command: Option<&str>) -> Self {
        let by_command = command.and_then(|command| value(command, "-S ").or_else(|| value(command, "-S")));
        let method = head.method.as_deref();
        let durability = match (method, by_command) {
            (Some(method), _) if method.starts_with("NO SYNC") => Some(Durability::None),
            (Some(method), _) if method.contains("POST") => Some(Durability::AtEnd),
            (Some(_), _) => Some(Durability::Each),
            (None, Some(0.0)) => Some(Durability::None),
            _ => None,
        };
        let work = Work { jobs: head.threads, direct: Some(false), durability, ..Work::default() };
        Self { columns: line.replace("App Overhead", "App").split_whitespace().count(), work, before: None }
    }

    /// `55  1024  1048576  169.3  12321`: use, files so far, bytes of a file, files each second.
    fn row(&mut self, number: usize, line: &str) -> Option<Measured> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, count, size, rate, ..] = words.as_slice() else { return None };
        if words.len() != self.columns || words.iter().any(|word| plain(word).is_none()) {
            return None;
        }
        let (count, size, rate) = (plain(count)?, plain(size)?, plain(rate).filter(|rate| *rate > 0.0)?);
        let files = count - self.before.replace(count).filter(|before| *before < count).unwrap_or(0.0);
        let bytes = to_bytes(files * size);
        let work = Work {
            label: format!("files of {size} bytes, {count} so far"),
            working_set: bytes,
            ..self.work.clone()
        };
        let mut measured = Measured::new(number, work);
        measured.entries = Some(Iops::new(rate));
        let side = Side {
            bytes: bytes.filter(|bytes| *bytes > Bytes::new(0)),
            elapsed_ns: seconds(files / rate),
            ..Side::at(BytesPerSec::new(rate * size))
        };
        if size > 0.0 {
            measured.put(Op::Write, side);
        }
        Some(measured)
    }
}

/// mdtest by itself: files and directories each second. A rate of 0.000 was not asked for.
pub(super) fn read_mdtest(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["mdtest"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut table: Option<MdtestTable> = None;
    let (mut tasks, mut nodes) = (None, None);
    let mut head = Imported::new(Tool::Mdtest, page.name, 0);
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some((version, rest)) =
            line.split_once(" was launched with ").filter(|_| line.starts_with("mdtest-"))
        {
            head = Imported::new(Tool::Mdtest, page.name, number);
            head.version = version.strip_prefix("mdtest-").map(str::to_owned);
            tasks = count(rest);
            nodes = rest.split_once(" on ").and_then(|(_, rest)| count(rest));
            table = None;
        } else if let Some(command) = line.strip_prefix("Command line used:") {
            head.command = Some(command.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("SUMMARY rate") {
            let iterations = rest.split_once("(of ").and_then(|(_, rest)| count(rest));
            table = Some(MdtestTable { iterations, tasks, nodes });
            head.line = if head.line > 0 { head.line } else { number };
            found.push(std::mem::replace(&mut head, Imported::new(Tool::Mdtest, page.name, 0)));
        } else if line.starts_with("SUMMARY") || line.starts_with("-- ") {
            table = None;
        } else if let (Some(table), Some(result)) = (&table, found.last_mut()) {
            result.measurements.extend(table.row(number, line));
        }
    }
    found
}

#[derive(Debug)]
struct MdtestTable {
    iterations: Option<u64>,
    tasks: Option<u32>,
    nodes: Option<u32>,
}

impl MdtestTable {
    /// `File creation  :  439.763  404.632  422.661  14.357`: greatest, least, mean and standard deviation.
    fn row(&self, number: usize, line: &str) -> Option<Measured> {
        let words: Vec<&str> = line.split_whitespace().filter(|word| *word != ":").collect();
        let [name @ .., max, min, mean, deviation] = words.as_slice() else { return None };
        let label = name.join(" ");
        let label = label.trim_end_matches(':').trim();
        if !label.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let (max, min, mean, deviation) = (plain(max)?, plain(min)?, plain(mean)?, plain(deviation)?);
        if mean <= 0.0 || min > max || mean > max * 1.001 {
            return None;
        }
        let work = Work { jobs: self.tasks, ..Work::named(label) };
        Some(Measured {
            entries: Some(Iops::new(mean)),
            nodes: self.nodes,
            entries_spread: Some(Spread { mean, deviation, samples: self.iterations }),
            ..Measured::new(number, work)
        })
    }
}

/// dbench: the load of a file server, out of its summary.
///
/// Its MB are 1e6 bytes (`dbench.c` multiplies by `1.0e-6`), and latencies are in ms. Reads and writes are one sum.
/// tbench prints the same line of what crossed sockets.
pub(super) fn read_dbench(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut commands = Commands::default();
    let mut begun = DbenchRun::default();
    let mut sockets = false;
    for (number, line) in page.lines() {
        commands.see_any(number, line, &["dbench", "tbench"]);
        let line = line.trim();
        // tbench is called with its clients alone, which no option shows.
        sockets = dbench_calls(line, "tbench") || sockets && !dbench_calls(line, "dbench");
        if let Some(version) = line.strip_prefix("dbench version ") {
            let word = version.split_whitespace().next();
            begun = DbenchRun { version: word.map(str::to_owned), ..DbenchRun::default() };
        } else if let Some(rest) = line.strip_prefix("Running for ") {
            begun.seconds = number::number(rest);
        } else if line.starts_with("Operation ") && line.contains("AvgLat") {
            begun.rows.clear();
        } else if let Some(result) = begun.finish(page, number, line, commands.last(), sockets) {
            found.push(result);
            begun = DbenchRun::default();
        } else if begun.rows.len() < MOST_DBENCH_CALLS {
            begun.rows.extend(dbench_row(number, line));
        }
    }
    found
}

/// Whether a line has the name of a program, and something that it is told.
fn dbench_calls(line: &str, program: &str) -> bool {
    let mut words = line.split_whitespace();
    words.by_ref().any(|word| word.rsplit('/').next() == Some(program)) && words.next().is_some()
}

/// There are some twenty operations.
const MOST_DBENCH_CALLS: usize = 64;

#[derive(Debug, Default)]
struct DbenchRun {
    version: Option<String>,
    seconds: Option<f64>,
    rows: Vec<Measured>,
}

impl DbenchRun {
    /// `Throughput 231.555 MB/sec (sync open)  32 clients  32 procs  max_latency=1376.993 ms`.
    fn finish(
        &mut self,
        page: &Page<'_>,
        number: usize,
        line: &str,
        command: Option<&str>,
        sockets: bool,
    ) -> Option<Imported> {
        let (rate, rest) = leading(line.strip_prefix("Throughput ")?)?;
        let rest = rest.trim_start().strip_prefix("MB/sec")?;
        let procs = before_dbench(rest, " procs")?;
        let mut result =
            Imported::new(Tool::Dbench, page.name, self.rows.first().map_or(number, |row| row.line));
        result.version = self.version.take();
        result.command = command.map(str::to_owned);
        let is_sync = rest.contains("(sync open)");
        let work = Work {
            jobs: Some(procs),
            durability: is_sync.then_some(Durability::Each),
            ..Work::named("file server load")
        };
        let mut all = Measured::new(number, work);
        let max = value(rest, "max_latency=").map(|ms| ms * 1e6);
        let side = Side {
            elapsed_ns: self.seconds.or_else(|| asked_of_dbench(command?)).and_then(seconds),
            latency_ns: max.map(|max| Latency { max: Some(max), ..Latency::default() }),
            ..Side::at(BytesPerSec::new(rate * 1e6))
        };
        *(if sockets { &mut all.network } else { &mut all.both }) = Some(side);
        result.measurements.push(all);
        result.measurements.append(&mut self.rows);
        Some(result)
    }
}

/// `-t 600`, in seconds.
fn asked_of_dbench(command: &str) -> Option<f64> {
    value(command, " -t ").or_else(|| value(command, " -t"))
}

/// The number before a word: `  32 procs`.
fn before_dbench(text: &str, word: &str) -> Option<u32> {
    text.split_once(word)?.0.split_whitespace().next_back()?.parse().ok()
}

/// `WriteX  2202803  7.905  1376.989`: an operation, how often, and its mean and greatest latency in ms.
fn dbench_row(number: usize, line: &str) -> Option<Measured> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, count, mean, max] = words.as_slice() else { return None };
    let is_name =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(char::is_alphanumeric);
    let count: u64 = count.parse().ok().filter(|_| is_name)?;
    let (mean, max) = (plain(mean)?, plain(max)?);
    let latency_ns = Some(Latency { max: Some(max * 1e6), ..Latency::of_mean(mean * 1e6) });
    let work = Work::named(format!("{name}, {count} calls"));
    Some(Measured { latency_ns, ..Measured::new(number, work) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_an_iteration() {
        let body = "#       Version 3.3, 4 thread(s) starting at Fri Apr 15 15:59:19 2016\n\
            #       Sync method: NO SYNC: Test does not issue sync() or fsync() calls.\nFSUse%        Count         Size    Files/sec     App Overhead\n\
            \x20    0        10000         4096        507.5           184435\n     0        20000         4096        527.2           184815\n\nreal    1m34.548s\n 1 2 3 4 5\n";
        let found = read_fs_mark(&Page { name: "x", body });
        let [first, second] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.entries.map(Iops::get), first.work.jobs), (Some(507.5), Some(4)));
        assert_eq!(first.work.durability, Some(Durability::None));
        let write = second.write.as_ref().expect("writes");
        assert_eq!(
            (write.bytes_per_second.get(), write.bytes),
            (527.2 * 4096.0, Some(Bytes::new(40_960_000)))
        );
    }

    #[test]
    fn what_was_not_asked_for_is_no_rate() {
        let body = "mdtest-1.9.3 was launched with 4 total task(s) on 2 node(s)\nSUMMARY rate: (of 3 iterations)\n\
            \x20  Operation                      Max            Min           Mean        Std Dev\n   ---------     ---   ---  ----  -------\n\
            \x20  File creation     :        439.763        404.632        422.661         14.357\n\
            \x20  File read         :          0.000          0.000          0.000          0.000\n   Tree removal   96.927  84.924  91.069  4.904\n\
            -- finished at 11/01/2019 19:14:57 --\n";
        let found = read_mdtest(&Page { name: "x", body });
        let [result] = found.as_slice() else { panic!("{found:?}") };
        let rates: Vec<_> = result
            .measurements
            .iter()
            .map(|one| (one.work.label.as_str(), one.entries.map(Iops::get)))
            .collect();
        assert_eq!(rates, [("File creation", Some(422.661)), ("Tree removal", Some(91.069))]);
        let first = &result.measurements[0];
        assert_eq!((first.work.jobs, first.nodes), (Some(4), Some(2)));
        assert_eq!(first.entries_spread.and_then(|spread| spread.samples), Some(3));
    }

    #[test]
    fn times_below_the_rates_are_none() {
        let body = "mdtest-4.0.0 was launched with 1 total task(s) on 1 node(s)\nSUMMARY rate: (of 1 iterations)\n File creation 10.0 10.0 10.0 0.0\n\
            SUMMARY time: (of 1 iterations)\n File creation 3.0 3.0 3.0 0.0\n";
        assert_eq!(read_mdtest(&Page { name: "x", body })[0].measurements.len(), 1);
    }

    fn of(body: &str) -> Vec<Imported> {
        read_dbench(&Page { name: "x", body })
    }

    #[test]
    fn the_throughput_is_decimal_and_of_both_directions() {
        let found = of("$ dbench -s -t 600 32\n  Operation      Count    AvgLat    MaxLat\n  ------\n\
            \x20 WriteX       2202803     7.905  1376.989\n  ReadX        6917775     0.003     3.887\n\n\
            Throughput 231.555 MB/sec (sync open)  32 clients  32 procs  max_latency=1376.993 ms\n");
        let [result] = found.as_slice() else { panic!("{found:?}") };
        let all = &result.measurements[0];
        let both = all.both.as_ref().expect("both");
        assert_eq!((both.bytes_per_second.get(), all.work.jobs), (231_555_000.0, Some(32)));
        assert_eq!(both.elapsed_ns.map(|time| time.as_secs_f64()), Some(600.0));
        assert_eq!(all.work.durability, Some(Durability::Each));
        let write = result.measurements[1].latency_ns.as_ref().expect("a latency");
        assert!((write.mean.expect("a mean") - 7_905_000.0).abs() < 1.0);
    }

    #[test]
    fn tbench_is_of_sockets() {
        let row = "Throughput 225.554 MB/sec  1 clients  1 procs  max_latency=9.904 ms\n";
        for call in ["# turbostat tbench -t 20 1\n", "$ ./tbench 8 localhost\n"] {
            let found = of(&format!("{call}{row}\n$ dbench -t 60 1\n{row}"));
            let [first, second] = found.as_slice() else { panic!("{found:?}") };
            assert!(first.measurements[0].network.is_some() && second.measurements[0].both.is_some());
        }
    }

    #[test]
    fn throughput_in_prose_is_none() {
        assert!(of("Throughput 3 MB/sec was all\nThroughput grew\n").is_empty());
    }
}
