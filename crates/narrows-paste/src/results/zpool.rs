//! `zpool iostat` beside a result: what the pool's devices moved meanwhile.
//!
//! The lines of a pool begin at the margin and have its size, its operations and its bandwidths; `-v` adds a line for each
//! device, indented; `-l`, `-q` and `-r` more columns or tables; `-p` numbers without suffix, `-H` tabs without heading. Bytes
//! are binary (`zfs_nicenum`). The first report is the mean since the pool was imported, unless `-y` leaves it out.

use super::Page;
use super::devices::busy_median;
use super::number::{Base, scaled};
use super::surroundings::Pool;
use narrows_base::units::BytesPerSec;

/// The busiest pool of a text. Another pool that did something may not be the one that was measured.
pub(super) fn read(page: &Page<'_>) -> Option<Pool> {
    if !page.has(&["bandwidth", "zpool iostat -H", "zpool iostat -pH"]) {
        return None;
    }
    let mut pools: Vec<Rates> = Vec::new();
    for report in reports(page) {
        let at = pools.iter().position(|pool| pool.name == report.name).unwrap_or_else(|| {
            let begun = report.without_first;
            pools.push(Rates { name: report.name.to_owned(), begun, ..Rates::default() });
            pools.len() - 1
        });
        let Some(pool) = pools.get_mut(at) else { continue };
        pool.line = report.line;
        if std::mem::replace(&mut pool.begun, true) {
            pool.read.push(report.read);
            pool.write.push(report.write);
        }
    }
    let pools = pools.into_iter().filter(|pool| !pool.read.is_empty());
    let most = pools.max_by(|a, b| a.moved().total_cmp(&b.moved()))?;
    Some(Pool {
        read: BytesPerSec::new(busy_median(most.read).unwrap_or_default()),
        write: BytesPerSec::new(busy_median(most.write).unwrap_or_default()),
        source: format!("{}:{}", page.name, most.line),
        name: most.name,
    })
}

#[derive(Debug, Default)]
struct Rates {
    name: String,
    line: usize,
    begun: bool,
    read: Vec<f64>,
    write: Vec<f64>,
}

impl Rates {
    fn moved(&self) -> f64 {
        self.read.iter().chain(&self.write).sum()
    }
}

/// What one pool did in one interval, the first report among them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Report<'t> {
    /// The line, from 1.
    pub(super) line: usize,
    /// The pool.
    pub(super) name: &'t str,
    /// Bytes each second.
    pub(super) read: f64,
    /// Bytes each second.
    pub(super) write: f64,
    /// Operations each second.
    pub(super) read_ios: Option<f64>,
    /// Operations each second.
    pub(super) write_ios: Option<f64>,
    /// Whether `-y` left out the mean since the import.
    pub(super) without_first: bool,
}

/// The reports of pools in a text, in its order.
pub(super) fn reports<'t>(page: &Page<'t>) -> Vec<Report<'t>> {
    let mut found = Vec::new();
    let (mut in_table, mut without_first) = (false, false);
    let mut margin = 0;
    for (line, text) in page.lines() {
        if let Some((_, options)) = text.split_once("zpool iostat") {
            let mut flags = options.split_whitespace().filter(|word| word.starts_with('-'));
            without_first = flags.any(|word| word.contains('y'));
        }
        if text.contains("operations") && text.contains("bandwidth") {
            in_table = true;
        } else if in_table && text.trim_start().starts_with("pool ") {
            margin = indent(text);
        } else if in_table && indent(text) == margin {
            found.extend(row(text.trim_start()).map(|row| Report { line, without_first, ..row }));
        }
    }
    found
}

/// How far a line stands from the margin, in bytes.
fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The name of a pool, and what it reads and writes each second. Groups of devices (`logs`, `cache`) have no numbers of
/// their own, and devices are indented.
fn row(text: &str) -> Option<Report<'_>> {
    if !text.starts_with(|c: char| c.is_alphabetic()) {
        return None;
    }
    let mut words = text.split_whitespace();
    let name = words.next()?;
    let cells: Vec<&str> = words.take(6).collect();
    let [allocated, free, reads, writes, read, write] = cells.as_slice() else { return None };
    if ![allocated, free, reads, writes].iter().all(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let number = |word: &str| scaled(word, Base::Binary);
    Some(Report {
        line: 0,
        name,
        read: number(read)?,
        write: number(write)?,
        read_ios: number(reads),
        write_ios: number(writes),
        without_first: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(body: &str) -> Option<Pool> {
        read(&Page { name: "z", body })
    }

    #[test]
    fn the_busiest_pool_is_the_one_and_its_first_report_is_of_all_time() {
        let head = "              capacity     operations    bandwidth\npool        alloc   free   read  write   read  write\n----------  -----  -----  -----  -----  -----  -----\n";
        let body = format!(
            "{head}rpool        1G     9G      1      1  900M  900M\ntank       10.5T  22.0T     21    389  2.70M  35.5M\n  raidz2   10.5T  22.0T     21    389  2.70M  35.5M\n\
             {head}rpool        1G     9G      0      1     0  1M\ntank       10.5T  22.0T     21    389   100M  35.5M\n  hdd1      -      -      3     93   432K  9.04M\nlogs            -      -      -      -      -      -\n\
             tank       10.5T  22.0T     21    389   102M  35.5M\n"
        );
        let pool = seen(&body).expect("a pool");
        assert_eq!((pool.name.as_str(), pool.read.get()), ("tank", 102.0 * 1_048_576.0));
    }

    #[test]
    fn plain_numbers_are_bytes() {
        let head = "capacity operations bandwidth\npool alloc free read write read write\n";
        let body = format!("{head}tank 100 200 1 2 3 4\ntank 100 200 5 6 104857600 0\ntank 100 2");
        assert_eq!(seen(&body).expect("a pool").read.get(), 104_857_600.0);
        assert_eq!(seen(&format!("{head}tank 100 200 1 2 3 4\n")), None);
    }

    #[test]
    fn latencies_behind_the_bandwidths_change_nothing() {
        let body = "              capacity     operations     bandwidth    total_wait     disk_wait\npool        alloc   free   read  write   read  write   read  write   read  write\n\
            tank         1T     1T      1      1     1M     1M    1ms    2ms    1ms    2ms\ntank         1T     1T      1      1   200M     0    1ms    2ms    1ms    2ms\n";
        assert_eq!(seen(body).map(|pool| pool.read.get()), Some(200.0 * 1_048_576.0));
    }
}
