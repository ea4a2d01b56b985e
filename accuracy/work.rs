//! The workload of a row: what ran, in the words of the tools.

use narrows::path::file::{Engine, Pattern};

use crate::table::Row;
use crate::text;

/// Of what the value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All I/Os.
    Whole,
    /// The reads of a mix, or one direction of two.
    Reads,
    /// The writes of a mix.
    Writes,
}

/// Where in a drive's cache a write goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Nothing is said.
    Usual,
    /// A long write into the cache.
    Within,
    /// A long write after the cache.
    Beyond,
}

/// What ran.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    /// The order of addresses.
    pub(crate) pattern: Pattern,
    /// Bytes of an I/O.
    pub(crate) block: u64,
    /// I/Os under way for each job, where it is said.
    pub(crate) depth: Option<u32>,
    /// Jobs, where it is said.
    pub(crate) jobs: Option<u32>,
    /// Whether these are threads, each of which does one I/O at a time.
    pub(crate) threads: bool,
    /// The share of reads.
    pub(crate) read_share: f64,
    /// Of what the value is.
    pub(crate) part: Part,
    /// How I/Os are made.
    pub(crate) engine: Engine,
    /// Whether each write is flushed.
    pub(crate) flushed: bool,
    /// Long writes.
    pub(crate) fill: Fill,
}

/// Reads and writes of a mix that names no shares.
const HALF: f64 = 0.5;

impl Work {
    /// What a row says that ran.
    pub(crate) fn of(row: &Row) -> Self {
        let words = row.workload.to_lowercase();
        let is_random = text::has_any(&words, &["rand", "random", "randrw", "randwrite", "randread"])
            || words.contains("4k mixed");
        let pattern = if is_random { Pattern::Random } else { Pattern::Sequential };
        let block = text::block(&words);
        let (depth, jobs) = under_way(&words);
        let is_disk_mark = text::has_any(&words, &["kdiskmark", "crystaldiskmark", "cdm"]);
        // The first sequential test of these programs has 8 under way.
        let usual = is_disk_mark && pattern == Pattern::Sequential && jobs.is_none();
        let depth = depth.or_else(|| usual.then_some(8));
        let tool = engine(&words, row, block.is_some(), depth.is_some() || jobs.is_some());
        Self {
            pattern,
            block: block.unwrap_or(match (pattern, tool) {
                (Pattern::Random, _) => 4096,
                (_, Engine::Hdparm) => 2 << 20,
                _ => 1 << 20,
            }),
            depth: depth.or_else(|| {
                // Writes by a tool that is not named go to the page cache, which writes back many at once.
                let alone = jobs.is_none() && (words.contains("fio") || read_share(&words) > 0.0);
                one_after_another(pattern, tool, block.is_some() && alone)
            }),
            jobs,
            threads: text::before(&words, &["threads", "thread", "thr"]).is_some(),
            read_share: read_share(&words),
            part: part(&words),
            engine: tool,
            flushed: text::has_any(&words, &["fdatasync", "fsync", "sync"]) && words.contains("sync="),
            fill: fill(&words),
        }
    }

    /// I/Os of the mix that the value counts, as a share of all.
    pub(crate) fn counted(&self) -> f64 {
        match self.part {
            Part::Whole => 1.0,
            Part::Reads => self.read_share,
            Part::Writes => 1.0 - self.read_share,
        }
    }

    /// Whether it is said how much is under way.
    pub(crate) const fn says_depth(&self) -> bool {
        self.depth.is_some() || self.jobs.is_some()
    }
}

/// Depth and jobs: `qd=1 jobs=8`, `Q8T1`, `T4Q128`, `64 jobs qd128`, `16 threads`.
fn under_way(words: &str) -> (Option<u32>, Option<u32>) {
    let whole = |value: f64| (value >= 1.0).then_some(value as u32);
    for word in words.split_whitespace() {
        let numbers = text::numbers(word);
        if let [(first, one, _), (second, two, _)] = numbers.as_slice() {
            match (*first, second.trim_start_matches(|c: char| c != 't' && c != 'q' && !c.is_ascii_digit())) {
                ("q", rest) if rest.ends_with('t') => return (whole(*one), whole(*two)),
                ("t", rest) if rest.ends_with('q') => return (whole(*two), whole(*one)),
                _ => {}
            }
        }
    }
    let depth = text::behind(words, "qd").or_else(|| text::behind(words, "iodepth"));
    let jobs = text::behind(words, "jobs").or_else(|| text::behind(words, "numjobs")).or_else(|| {
        text::before(words, &["jobs", "threads", "thread", "thr", "writers", "buffered writers", "readers"])
    });
    (depth.and_then(whole), jobs.and_then(whole))
}

/// How the tool makes its I/Os. Files read without a tool being named, one block at a time, go through the page cache.
fn engine(words: &str, row: &Row, says_block: bool, says_depth: bool) -> Engine {
    let has = |list: &[&str]| text::has_any(words, list);
    let is_direct = has(&["direct"]);
    if has(&["hdparm"]) {
        return Engine::Hdparm;
    }
    if (has(&["dd", "cp", "cat"]) && !is_direct) || has(&["buffered"]) {
        return Engine::Buffered;
    }
    if has(&["polled"]) {
        return Engine::Polled;
    }
    if has(&["io_uring"]) {
        return Engine::Uring;
    }
    if has(&["iozone", "dd"]) {
        return Engine::Sync;
    }
    let is_named = has(&["fio", "kdiskmark", "cdm", "crystaldiskmark", "iops"]) || says_depth || is_direct;
    match row.fs == "raw" && says_block && !is_named && words.starts_with("seq read") {
        true => Engine::Buffered,
        false => Engine::Libaio,
    }
}

/// A tool that was told a block size and no depth has one block under way.
const fn one_after_another(pattern: Pattern, engine: Engine, alone: bool) -> Option<u32> {
    match (engine, pattern) {
        (Engine::Buffered | Engine::Hdparm | Engine::Sync, _) => Some(1),
        (_, Pattern::Sequential) if alone => Some(1),
        _ => None,
    }
}

fn read_share(words: &str) -> f64 {
    if let Some((before, read, after)) =
        text::numbers(words).into_iter().find(|(_, _, after)| after.starts_with('/'))
        && before.ends_with(' ')
        && after.trim_start_matches('/').starts_with(|c: char| c.is_ascii_digit())
    {
        return (read / 100.0).clamp(0.0, 1.0);
    }
    if let Some(share) = text::before(words, &["% write", "%write"]) {
        return 1.0 - share / 100.0;
    }
    if let Some(share) = text::before(words, &["% read", "%read"]) {
        return share / 100.0;
    }
    let reads = text::has_any(words, &["read", "reads", "randread"]);
    let writes = text::has_any(words, &["write", "writes", "randwrite", "writers"]);
    if text::has_any(words, &["rw", "randrw"]) || words.contains("read+write") {
        return HALF;
    }
    if writes && !reads { 0.0 } else { 1.0 }
}

fn part(words: &str) -> Part {
    if words.contains("total") || words.contains("read+write") {
        Part::Whole
    } else if words.contains("read part") || words.contains("each dir") || words.contains(" rw ") {
        Part::Reads
    } else if words.contains("write part") {
        Part::Writes
    } else {
        Part::Whole
    }
}

fn fill(words: &str) -> Fill {
    let is_long = text::has_any(words, &["sustained", "fill"]);
    if is_long && (words.contains("after") || words.contains("beyond") || words.contains("steady")) {
        Fill::Beyond
    } else if is_long && words.contains("cache") {
        Fill::Within
    } else {
        Fill::Usual
    }
}
