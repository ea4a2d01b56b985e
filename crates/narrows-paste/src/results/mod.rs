//! What did another tool measure? The results of fio, dd, hdparm, KDiskMark and others, out of texts.
//!
//! Every parser is shown every text and takes the results whose shape it knows, wherever they stand: people paste
//! several outputs into one file, with prompts and prose around them, and name files as they like. A parser says what
//! the text says, in bytes, bytes per second and nanoseconds; where a tool prints a wrong unit the number is corrected
//! and [`Imported::corrections`] says so. What a text does not tell is `None`. Whether a result is to be believed is
//! no question of this folder.

mod better;
mod bonnie;
mod btrfs_scrub;
mod command;
mod copies;
mod csv;
mod dd;
mod dd_scripts;
pub mod devices;
mod diskspd;
mod elbencho;
mod f3;
mod fio;
mod fsyncs;
mod gdsio;
mod gnome_disks;
mod hdparm;
mod io500;
mod io_uring;
mod ioping;
mod ior;
mod iozone;
mod iperf3;
mod json;
mod long;
mod many_files;
mod marks;
mod most;
mod number;
mod nvbandwidth;
mod own;
mod rados;
mod remarks;
mod spdk;
mod stress_ng;
pub mod surroundings;
mod sysbench;
mod tables;
mod types;
mod unread;
mod vdbench;
mod warp;
mod windows;
mod xfs_io;
mod yabs;

use std::borrow::Cow;

use crate::text::wrap::Whole;
use crate::text::{bare, is_in, levels, numbered};

pub use fio::client as fio_client;
pub use ior::is_reordered;
pub use json::document;
pub use long::{FoundInLong, Long};
pub use most::{MOST_MEASUREMENTS, add};
pub use types::{
    Cpu, Derived, DeviceUse, Doubt, Durability, Imported, Latency, Measured, Op, Percentile, Side, Spread,
    Tool, Work,
};
pub use unread::{Unread, unread};

/// A parser of one tool's output. It never fails: a text that is none of its own gives nothing.
type Parser = fn(&Page<'_>) -> Vec<Imported>;

/// Every parser; the marks of which a text has one if it may hold anything for it (those of documents look for their own); and
/// what it understands, in the words of a hint, `None` for further forms of what the one above names.
const PARSERS: &[(Parser, &[&str], Option<&str>)] = &[
    (fio::read_json, &[], Some("fio (text, JSON, terse and logs)")),
    (fio::read_text, &["IOPS=", "iops=", "aggrb=", "READ: bw=", "WRITE: bw="], None),
    (fio::read_terse, &[";fio-", ";0%=0;", "00%="], None),
    (fio::read_failures, &["fio: ", "error: failed to setup shm segment", "verify: "], None),
    (fio::read_progress, &[" (f="], None),
    (dd::read, &["bytes", "copied", "/s", "/秒", "dd: "], Some("dd")),
    (hdparm::read, &["Timing "], Some("hdparm -t and -T")),
    (marks::read, &["DiskMark", "(Q=", "MB/s ["], Some("KDiskMark, CrystalDiskMark")),
    (marks::read_table, &["Q32T1", "Q8T1", "Q1T1", "Q8T8"], None),
    (diskspd::read_text, &["Total IO", "TotalIO"], Some("diskspd (text and XML)")),
    (diskspd::read_xml, &["<TestTimeSeconds>"], None),
    (
        diskspd::read_linux,
        &["device scheduler:", "caching options: fua", "using O_DIRECT"],
        Some("diskspd for Linux"),
    ),
    (iozone::read, &["Children see throughput", "reclen", "report\"", "Throughput report"], Some("IOzone")),
    (ior::read, &["bw(MiB/s)", "MiB/sec"], Some("IOR")),
    (ior::read_csv, &["access,bw(MiB/s)"], None),
    (ior::read_json, &[], None),
    (io500::read, &["[RESULT", "[ior-", "IO500 version"], Some("IO500")),
    (elbencho::read, &["LAST DONE"], Some("elbencho")),
    (elbencho::read_csv, &["ISO date,label,"], None),
    (elbencho::read_json, &[], None),
    (elbencho::read_live, &["ISO Date,Label,Phase,"], None),
    (bonnie::read, &["+++", "Sequential Output", "bonnie"], Some("bonnie++")),
    (vdbench::read, &["1024**2", "ReqstdOps"], Some("Vdbench")),
    (vdbench::read_flat, &["reqrate"], None),
    (gnome_disks::read, &["'access-time-samples'"], Some("GNOME Disks")),
    (yabs::read, &["fio Disk Speed Tests"], Some("YABS")),
    (yabs::read_json, &[], None),
    (nvbandwidth::read, &["bandwidth (GB/s)"], Some("nvbandwidth")),
    (nvbandwidth::read_json, &[], None),
    (nvbandwidth::read_cryptsetup, &["MiB/s"], Some("cryptsetup benchmark")),
    (
        copies::read,
        &["real", "bytes/sec", "wall clock", "Transferred:", " 100% "],
        Some("rsync, rclone, scp and `time cp` beside `du`"),
    ),
    (rados::read, &["Total writes made:", "Total reads made:", "sec Cur ops"], Some("rados bench")),
    (rados::read_rbd, &["bytes/sec:"], Some("rbd bench")),
    (xfs_io::read, &["bytes at offset"], Some("xfs_io pwrite and pread")),
    (stress_ng::read, &["metrc:"], Some("stress-ng --hdd")),
    (many_files::read_dbench, &["Throughput "], Some("dbench")),
    (dd_scripts::read_bench_sh, &["I/O Speed(", "I/O speed("], Some("bench.sh")),
    (
        dd_scripts::read_nench,
        &["nench.sh", "ioping: seek rate", "ioping: sequential", "dd: sequential write"],
        Some("nench"),
    ),
    (iperf3::read, &["bits/sec"], Some("iperf3 (text and JSON)")),
    (iperf3::read_json, &[], None),
    (
        sysbench::read,
        &["File operations:", "Operations performed:", "Extra file open flags:"],
        Some("sysbench fileio"),
    ),
    (many_files::read_mdtest, &["SUMMARY rate"], Some("mdtest")),
    (fsyncs::read_pveperf, &["FSYNCS/SECOND:"], Some("pveperf")),
    (ioping::read, &["ioping statistics ---", "): request="], Some("ioping")),
    (
        f3::read,
        &["Average writing speed:", "Average reading speed:", "F3 probe"],
        Some("f3write, f3read and f3probe"),
    ),
    (f3::read_h2testw, &["MByte/s"], Some("H2testw")),
    (io_uring::read, &["IOS/call="], Some("t/io_uring of fio")),
    (many_files::read_fs_mark, &["Files/sec"], Some("fs_mark")),
    (btrfs_scrub::read, &["scrub"], Some("btrfs scrub")),
    (windows::read_winsat, &["> Disk ", "Disk  Sequential", "Disk  Random"], Some("winsat disk")),
    (windows::read_hd_tune, &["HD Tune"], Some("HD Tune")),
    (spdk::read, &["Device Information"], Some("spdk_nvme_perf and bdevperf of SPDK")),
    (gdsio::read, &["XferType:"], Some("gdsio of GPUDirect Storage")),
    (fsyncs::read_pg_test_fsync, &["ops/sec"], Some("pg_test_fsync of PostgreSQL")),
    (windows::read_as_ssd, &["AS SSD Benchmark "], Some("AS SSD Benchmark")),
    (tables::read_tables, &["Result"], Some("PiBenchmarks, and the table of Jeff Geerling's reviews")),
    (tables::read_iobench, &["effective ms/block"], Some("iobench")),
    (warp::read, &["Average: ", "Throughput: "], Some("warp of MinIO")),
    (own::read, &[], Some("what narrows itself saved as JSON (measure, lab, copy)")),
    (
        devices::read_activity,
        &["%util", "_read/s", "operations"],
        Some("iostat and zpool iostat, where no result stands beside them"),
    ),
];

/// What each parser says that it understands.
pub fn parsers() -> impl Iterator<Item = &'static str> {
    PARSERS.iter().filter_map(|(_, _, words)| *words)
}

/// The results in a text, in the order of the lines where they begin: as many as are kept.
pub fn read(page: &Page<'_>) -> Vec<Imported> {
    let (beginning, left_out) = most::beginning(page);
    let mut kept = Vec::new();
    let mut found = read_all(&beginning);
    if let Some(first) = found.first_mut() {
        first.bytes = page.body.len();
    }
    most::add(&mut kept, found);
    if let Some(last) = kept.last_mut() {
        last.left_out += left_out;
    }
    kept
}

fn read_all(page: &Page<'_>) -> Vec<Imported> {
    let bodies = levels(page.body);
    // Where each line of a log begins with a stamp, it is known which lines were broken.
    let log = bodies.iter().find_map(|body| Whole::of_log(body));
    let found = match log {
        Some(log) => placed(&log, read_each(page.name, &levels(&log.body))),
        None => read_each(page.name, &bodies),
    };
    let mut found = join(found);
    let plain = bodies.last().map_or(page.body, |body| body);
    unread::note(&Page { name: page.name, body: plain }, &mut found);
    found
}

/// The results of a text that is given with and without what stands before its lines, with its lines as they are and put
/// together.
fn read_each(name: &str, bodies: &[Cow<'_, str>]) -> Vec<Imported> {
    let mut found = bodies.last().map(|body| parse(&Page { name, body })).unwrap_or_default();
    let mut seen: Vec<String> = Vec::new();
    for whole in bodies.iter().flat_map(|body| Whole::all(body)) {
        let body = bare(&whole.body);
        if !seen.iter().any(|one| *one == *body) {
            let placed = placed(&whole, parse(&Page { name, body: &body }));
            better::take_better(&mut found, &whole, placed);
            seen.push(body.into_owned());
        }
    }
    found
}

/// Results of lines that were put together, with the line numbers of the original.
fn placed(whole: &Whole, mut found: Vec<Imported>) -> Vec<Imported> {
    let place = |line: &mut usize| *line = whole.place(*line);
    for result in &mut found {
        place(&mut result.line);
        result.unread.iter_mut().for_each(place);
        result.measurements.iter_mut().for_each(|one| place(&mut one.line));
    }
    found
}

fn parse(page: &Page<'_>) -> Vec<Imported> {
    let may_read = PARSERS.iter().filter(|(_, marks, _)| marks.is_empty() || page.has(marks));
    may_read.flat_map(|(parser, ..)| parser(page)).collect()
}

/// Results of one text in the order of its lines, each once. One in which nothing was measured is kept when the text says
/// that it ends too soon or why it failed.
fn join(mut found: Vec<Imported>) -> Vec<Imported> {
    for result in found.iter_mut().filter(|one| one.truncated && one.is_empty()) {
        result.failures.push("the text ends before anything was measured".to_owned());
    }
    found.retain(|one| !one.is_empty());
    only_without_results(&mut found);
    found.sort_by_key(|result| result.line);
    fio::drop_doubles(&mut found);
    found
}

/// What devices carried is evidence where a benchmark stands beside it, and a result where none does.
fn only_without_results(found: &mut Vec<Imported>) {
    let is_activity = |one: &Imported| matches!(one.tool, Tool::Iostat | Tool::Zpooliostat);
    if found.iter().any(|one| !is_activity(one)) {
        found.retain(|one| !is_activity(one));
    }
}

/// Fills in what stands beside the results and not in them: the job files and logs of fio. Logs that are of none of the
/// results become results, and the results of machines that ran diskspd together become one.
pub fn complete(results: &mut Vec<Imported>, around: &surroundings::Surroundings) {
    fio::complete(results, &around.jobs);
    fio::complete_logs(results, &around.logs);
    diskspd::unite(results);
    only_without_results(results);
    let found = std::mem::take(results);
    most::add(results, found);
    most::tell(results);
}

/// A text with its name, already cleaned of quoting and of what terminals obey.
#[derive(Debug, Clone, Copy, Default)]
pub struct Page<'a> {
    /// What it is called: a file, or `standard input`.
    pub name: &'a str,
    /// The text.
    pub body: &'a str,
}

impl<'a> Page<'a> {
    /// Its lines with their numbers, from 1. A progress display that returns to the line's beginning is many lines.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        numbered(self.body)
    }

    /// The source of what stands in this line: `fio.txt:12`.
    fn source(&self, line: usize) -> String {
        format!("{}:{line}", self.name)
    }

    /// Whether one of the marks stands in it; a cheap test before a parser looks at lines.
    pub fn has(&self, marks: &[&str]) -> bool {
        is_in(marks, self.body)
    }
}

#[cfg(test)]
mod tests;
