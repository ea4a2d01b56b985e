//! dbench: the load of a file server, out of its summary.
//!
//! Its MB are 1e6 bytes (`dbench.c` multiplies by `1.0e-6`), and latencies are in ms. Reads and writes are one sum.
//! tbench prints the same line of what crossed sockets.

use super::command::Commands;
use super::number::{leading, plain, seconds, value};
use super::{Durability, Imported, Latency, Measured, Page, Side, Tool, Work};
use narrows_base::units::BytesPerSec;

/// The summaries in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["Throughput "]) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut commands = Commands::default();
    let mut begun = Run::default();
    let mut sockets = false;
    for (number, line) in page.lines() {
        commands.see_any(number, line, &["dbench", "tbench"]);
        let line = line.trim();
        // tbench is called with its clients alone, which no option shows.
        sockets = calls(line, "tbench") || sockets && !calls(line, "dbench");
        if let Some(version) = line.strip_prefix("dbench version ") {
            let word = version.split_whitespace().next();
            begun = Run { version: word.map(str::to_owned), ..Run::default() };
        } else if let Some(rest) = line.strip_prefix("Running for ") {
            begun.seconds = leading(rest).map(|(seconds, _)| seconds);
        } else if line.starts_with("Operation ") && line.contains("AvgLat") {
            begun.rows.clear();
        } else if let Some(result) = begun.finish(page, number, line, commands.last(), sockets) {
            found.push(result);
            begun = Run::default();
        } else if begun.rows.len() < MOST {
            begun.rows.extend(row(number, line));
        }
    }
    found
}

/// Whether a line has the name of a program, and something that it is told.
fn calls(line: &str, program: &str) -> bool {
    let mut words = line.split_whitespace();
    words.by_ref().any(|word| word.rsplit('/').next() == Some(program)) && words.next().is_some()
}

/// There are some twenty operations.
const MOST: usize = 64;

#[derive(Debug, Default)]
struct Run {
    version: Option<String>,
    seconds: Option<f64>,
    rows: Vec<Measured>,
}

impl Run {
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
        let procs = before(rest, " procs")?;
        let mut result =
            Imported::new(Tool::Dbench, page.name, self.rows.first().map_or(number, |row| row.line));
        result.version = self.version.take();
        result.command = command.map(str::to_owned);
        let is_sync = rest.contains("(sync open)");
        let work = Work {
            label: "file server load".to_owned(),
            jobs: Some(procs),
            durability: is_sync.then_some(Durability::Each),
            ..Work::default()
        };
        let mut all = Measured::new(number, work);
        let max = value(rest, "max_latency=").map(|ms| ms * 1e6);
        let side = Side {
            bytes_per_second: BytesPerSec::new(rate * 1e6),
            elapsed_ns: self.seconds.or_else(|| asked(command?)).and_then(seconds),
            latency_ns: max.map(|max| Latency { max: Some(max), ..Latency::default() }),
            ..Side::default()
        };
        *(if sockets { &mut all.network } else { &mut all.both }) = Some(side);
        result.measurements.push(all);
        result.measurements.append(&mut self.rows);
        Some(result)
    }
}

/// `-t 600`, in seconds.
fn asked(command: &str) -> Option<f64> {
    value(command, " -t ").or_else(|| value(command, " -t"))
}

/// The number before a word: `  32 procs`.
fn before(text: &str, word: &str) -> Option<u32> {
    text.split_once(word)?.0.split_whitespace().next_back()?.parse().ok()
}

/// `WriteX  2202803  7.905  1376.989`: an operation, how often, and its mean and greatest latency in ms.
fn row(number: usize, line: &str) -> Option<Measured> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, count, mean, max] = words.as_slice() else { return None };
    let is_name =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(char::is_alphanumeric);
    let count: u64 = count.parse().ok().filter(|_| is_name)?;
    let (mean, max) = (plain(mean)?, plain(max)?);
    let mut measured =
        Measured::new(number, Work { label: format!("{name}, {count} calls"), ..Work::default() });
    measured.latency_ns =
        Some(Latency { mean: Some(mean * 1e6), max: Some(max * 1e6), ..Latency::default() });
    Some(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Vec<Imported> {
        read(&Page { name: "x", body })
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
