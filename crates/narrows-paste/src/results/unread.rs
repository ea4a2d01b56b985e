//! What looks like a line of a tool's result and was not read: cut short, broken, or of a form that no parser knows.
//!
//! A line was read when a measurement stands there, or when one of the numbers in it is a number of what was read. Parsers
//! need not say which lines they took.

use narrows_base::units::{Bytes, Nanos};

use super::number::{Base, factor};
use super::page::is_in;
use super::rounded::Rounded;
use super::{Imported, Latency, Measured, Page, Side, Tool};

/// Lines of one tool that were recognised and not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The tool that they look like.
    pub tool: Tool,
    /// Their numbers, from 1, ascending.
    pub lines: Vec<usize>,
}

impl Unread {
    /// "2 lines look like fio, from line 14". With `more`, beside others that were read.
    pub fn sentence(&self, more: bool) -> String {
        let more = if more { " more" } else { "" };
        let lines = match self.lines.len() {
            1 => format!("1{more} line looks"),
            count => format!("{count}{more} lines look"),
        };
        let first = self.lines.first().copied().unwrap_or_default();
        let from = if self.lines.len() == 1 { "line" } else { "from line" };
        format!("{lines} like {}, {from} {first}", self.tool.name())
    }
}

/// Words of a line that no prose has: one of each group must stand in it.
type Words = &'static [&'static [&'static str]];

/// What tells a line with the result of a tool.
const MARKS: &[(Tool, Words)] = &[
    (Tool::Iouring, &[&["IOPS="], &["IOS/call="]]),
    (Tool::Gdsio, &[&["IoType:", "XferType:"], &["Throughput:"]]),
    (Tool::Pgtestfsync, &[&[" ops/sec"], &["usecs/op", "sync"]]),
    (Tool::Fio, &[&["IOPS=", "BW=", "bw=", "iops=", "aggrb="]]),
    (Tool::Dd, &[&[" bytes ("], &["copied", "kopiert", "copiés"]]),
    (Tool::Dd, &[&["字节"], &["/秒"]]),
    (Tool::Dd, &[&[" bytes transferred in "]]),
    (Tool::Dd, &[&[" copied, "], &["B/s"]]),
    (Tool::Hdparm, &[&["Timing cached", "Timing buffered", "Timing O_DIRECT"]]),
    (Tool::Crystaldiskmark, &[&["SEQ", "RND", "Sequential ", "Random "], &["(Q=", "(T="]]),
    (Tool::Iozone, &[&["Children see throughput"]]),
    (Tool::Ior, &[&["Max Write:", "Max Read:"], &["MB/sec"]]),
    (Tool::Io500, &[&["[RESULT]"], &["GiB/s", "kIOPS", "GB/s", "kiops"]]),
    (Tool::Io500, &[&["[RESULT]"], &["ior_", "ior-", "mdtest_", "mdtest-"]]),
    (Tool::Bonnie, &[&["1.96,1.96,", "1.97,1.97,", "1.98,2.00,", ",+++++,+++,+++++,+++"]]),
    (Tool::Ioping, &[&["min/avg/max/mdev"], &[" us", " ms", " s"]]),
    (Tool::Ioping, &[&[" requests completed in "]]),
    (Tool::Iperf3, &[&["bits/sec"], &["sender", "receiver", " sec "]]),
    (Tool::Sysbench, &[&["Total transferred", "read, MiB/s:", "written, MiB/s:"]]),
    (Tool::Radosbench, &[&["Bandwidth (MB/sec):"]]),
    (Tool::Dbench, &[&["Throughput "], &["MB/sec"], &["procs", "clients", "(sync "]]),
    (Tool::F3, &[&["Average reading speed", "Average writing speed"]]),
    (Tool::Benchsh, &[&["I/O Speed(", "I/O speed("]]),
    (Tool::Pveperf, &[&["BUFFERED READS:", "FSYNCS/SECOND:"]]),
    (Tool::Cryptsetup, &[&["-xts ", "-cbc "], &["MiB/s"]]),
    (Tool::Vdbench, &[&["avg_"], &["."]]),
    (Tool::Diskspd, &[&["total:", "TotalIO"], &["|"]]),
    (Tool::Diskspd, &[&["<TestTimeSeconds>", "<BytesCount>"]]),
    (Tool::Copy, &[&["bytes/sec"], &["sent ", "received ", "."]]),
    (Tool::Winsat, &[&["Disk  Sequential", "Disk  Random"], &["Read", "Write"]]),
    (Tool::Fio, &[&["\"fio version\"", "\"bw_bytes\""]]),
    (Tool::Iperf3, &[&["\"bits_per_second\""]]),
    (Tool::Btrfsscrub, &[&["otal bytes scrubbed", "Total to scrub", "scrub started", "Scrub started"]]),
    (Tool::Nvbandwidth, &[&["memcpy"], &["SUM", "_ce", "_sm"]]),
    (Tool::Hdtune, &[&["Transfer Rate Average", "Transfer rate average"]]),
    (Tool::Yabs, &[&["Block Size | "], &["4k", "512k"]]),
    (Tool::Nench, &[&["1st run:", "2nd run:", "3rd run:"], &["iB/s"]]),
    (Tool::Mdtest, &[&["File creation", "File stat", "File removal"], &["."]]),
];

/// What tells a heading, or a line that stands in every output of a tool: where nothing of the tool was read, its lines are
/// broken in a way that nobody can put together again.
const HEADINGS: &[(Tool, Words)] = &[
    (Tool::Spdk, &[&["Device Information"], &["IOPS"]]),
    (Tool::Gdsio, &[&["IoType:"], &["XferType:"]]),
    (Tool::Pgtestfsync, &[&["Compare file sync methods using"]]),
    (Tool::Elbencho, &[&["OPERATION"], &["RESULT TYPE"]]),
    (Tool::Iozone, &[&["reclen"]]),
    (Tool::Iozone, &[&["Command line used: iozone", "Performance Test of File I/O"]]),
    (Tool::Diskspd, &[&["Results for timespan"]]),
    (Tool::Iperf3, &[&["Interval"], &["Transfer"], &["Bandwidth", "Bitrate"]]),
    (Tool::Ior, &[&["access"], &["bw(MiB/s)"]]),
    (Tool::Ior, &[&["Max Write:", "Max Read:"], &["MiB/sec"]]),
    (Tool::Bonnie, &[&["Sequential Output"], &["Sequential Input"]]),
    (Tool::Fsmark, &[&["FSUse%"], &["Files/sec"]]),
    (Tool::Zpooliostat, &[&["capacity"], &["operations"], &["bandwidth"]]),
    (Tool::Iostat, &[&["Device"], &["r/s"], &["%util", "rkB/s", "rMB/s", "rsec/s"]]),
    (Tool::Iostat, &[&["Device"], &["rrqm/s", "rkB/s", "rMB/s"]]),
    (Tool::Iostat, &[&["await", "aqu-sz", "avgqu-sz"], &["%util"]]),
    (Tool::Fio, &[&[": (groupid="], &["err="]]),
    (Tool::Fio, &[&[";fio-"], &[";0;"]]),
    (Tool::Yabs, &[&["fio Disk Speed Tests"]]),
    (Tool::Yabs, &[&["Block Size |"], &["4k", "512k"]]),
];

/// Headings of which each has rows of its own below it, so that one without is lost whatever else was read.
const OF_ROWS: [(Tool, &str); 4] = [
    (Tool::Ior, "bw(MiB/s)"),
    (Tool::Iozone, "Command line used: iozone"),
    (Tool::Iozone, "reclen"),
    (Tool::Yabs, "Block Size |"),
];

/// What tells a line below a rate with its latencies, broken before the figure that is taken of it.
fn broken_latency(line: &str) -> Option<&'static [Tool]> {
    let line = line.trim();
    let is_fio = ["lat (", "clat ("].iter().any(|head| line.starts_with(head)) && line.contains("min=");
    if is_fio && !line.contains("avg=") {
        return Some(&[Tool::Fio]);
    }
    if line.contains(" IOPS] <") && !line.ends_with('>') {
        return Some(&[Tool::Kdiskmark, Tool::Crystaldiskmark]);
    }
    (line.contains("AvgLat") && line.contains('|')).then_some(&[Tool::Diskspd])
}

/// What of marks or headings a text can have: a long text has words of few, and each line is asked for these alone.
struct Possible(Vec<(Tool, Words)>);

impl Possible {
    fn of(all: &[(Tool, Words)], body: &str) -> Self {
        let has = |words: Words| words.iter().all(|any| is_in(any, body));
        Self(all.iter().filter(|(_, words)| has(words)).copied().collect())
    }

    fn find(&self, line: &str) -> Option<Tool> {
        let has = |words: Words| words.iter().all(|any| any.iter().any(|word| line.contains(word)));
        self.0.iter().find(|(_, words)| has(words)).map(|(tool, _)| *tool)
    }
}

/// The tool that printed a line, if it has a number and the words of one.
fn tool(line: &str, marks: &Possible) -> Option<Tool> {
    /// No line of a result is longer, in bytes.
    const LONGEST: usize = 400;
    // What a person typed, and fio's samples of a rate, are no results.
    let is_other = line.contains("bw (") || line.contains("--") || line.len() > LONGEST;
    if is_other || !line.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    marks.find(line)
}

/// Lines of `page` that look like results and are none of `found`, by tool: those that a parser recognised and refused, and
/// those that have the words of a result.
pub fn unread(page: &Page<'_>, found: &[Imported]) -> Vec<Unread> {
    let mut all = by_words(page, found);
    for result in found {
        for line in &result.unread {
            match all.iter_mut().find(|one| one.tool == result.tool) {
                Some(one) => one.lines.push(*line),
                None => all.push(Unread { tool: result.tool, lines: vec![*line] }),
            }
        }
    }
    for one in &mut all {
        one.lines.sort_unstable();
        one.lines.dedup();
    }
    all
}

fn by_words(page: &Page<'_>, found: &[Imported]) -> Vec<Unread> {
    let body = super::prefix::strip(page.body);
    let known = Known::of(found);
    let mut all: Vec<Unread> = Vec::new();
    let (marks, of_headings) = (Possible::of(MARKS, &body), Possible::of(HEADINGS, &body));
    let heading = |line: &str| of_headings.find(line);
    let with_rows = |line: &str, of: Tool| {
        OF_ROWS.iter().find(|(tool, word)| *tool == of && line.contains(word)).map(|(_, word)| *word)
    };
    let headings: Vec<(usize, &str)> = (1..)
        .zip(body.lines())
        .filter_map(|(number, line)| Some((number, with_rows(line, heading(line)?)?)))
        .collect();
    // What devices carried is no result where others stand beside it.
    let is_beside = |tool: Tool| matches!(tool, Tool::Iostat | Tool::Zpooliostat) && !found.is_empty();
    for (number, line) in (1..).zip(body.lines()) {
        let of_row = || tool(line, &marks).filter(|tool| !known.has(number, line, *tool));
        let lost = heading(line).filter(|tool| {
            let is_alone =
                with_rows(line, *tool).is_some_and(|word| !known.is_below(&headings, word, number, *tool));
            !is_beside(*tool) && (is_alone || !known.tools.contains(tool))
        });
        let latency = || {
            broken_latency(line)
                .into_iter()
                .flatten()
                .copied()
                .find(|tool| known.without_latency.contains(tool))
        };
        let Some(tool) = lost.or_else(of_row).or_else(latency) else { continue };
        match all.iter_mut().find(|one| one.tool == tool) {
            Some(one) => one.lines.push(number),
            None => all.push(Unread { tool, lines: vec![number] }),
        }
    }
    all
}

/// Adds to the last result of each tool, or the last of all, what was not read beside it.
pub(super) fn note(page: &Page<'_>, found: &mut [Imported]) {
    if found.is_empty() {
        return;
    }
    for one in unread(page, found) {
        let at = found.iter().rposition(|result| result.tool == one.tool).or(found.len().checked_sub(1));
        if let Some(result) = at.and_then(|at| found.get_mut(at)) {
            result.notes.push(format!(
                "{}: not read, because they are cut short, broken, or of a form that narrows does not know",
                one.sentence(true)
            ));
        }
    }
}

/// What was read.
struct Known {
    lines: Vec<usize>,
    of_tools: Vec<(usize, Tool)>,
    tools: Vec<Tool>,
    /// Tools of which a rate has no latency.
    without_latency: Vec<Tool>,
    values: Vec<f64>,
}

impl Known {
    fn of(found: &[Imported]) -> Self {
        let all = || found.iter().flat_map(|result| &result.measurements);
        let mut lines: Vec<usize> = all().map(|one| one.line).collect();
        lines.sort_unstable();
        let mut values: Vec<f64> = all().flat_map(values).filter(|value| *value > 0.0).collect();
        values.extend(found.iter().flat_map(|one| &one.derived).flat_map(|one| [one.printed, one.computed]));
        values.sort_by(f64::total_cmp);
        let lacks = |one: &Measured| one.sides().any(|(_, side)| side.latency_ns.is_none());
        let of_tools = found.iter().flat_map(|one| one.measurements.iter().map(|at| (at.line, one.tool)));
        Self {
            lines,
            of_tools: of_tools.collect(),
            tools: found.iter().map(|one| one.tool).collect(),
            without_latency: found
                .iter()
                .filter(|one| one.measurements.iter().any(lacks))
                .map(|one| one.tool)
                .collect(),
            values,
        }
    }

    /// Whether a measurement stands between a heading and the next one with this word. Of several lines of one heading the last
    /// has it.
    fn is_below(&self, headings: &[(usize, &str)], word: &str, number: usize, tool: Tool) -> bool {
        /// The lines of one heading stand so close.
        const NEAR: usize = 3;
        let own = || headings.iter().filter(|(_, of)| *of == word).map(|(at, _)| *at);
        let next = own().find(|at| *at > number + NEAR).unwrap_or(usize::MAX);
        self.of_tools.iter().any(|(at, of)| *of == tool && (number..next).contains(at))
    }

    /// Whether a measurement of a tool stands close above: the sums of a group stand below the last of its jobs.
    fn has_above(&self, number: usize, tool: Tool) -> bool {
        /// What fio prints of one job has fewer lines, broken ones among them.
        const FAR: usize = 80;
        self.of_tools.iter().any(|(at, of)| *of == tool && *at < number && number - at <= FAR)
    }

    fn has(&self, number: usize, line: &str, tool: Tool) -> bool {
        let is_here = |line: usize| self.lines.binary_search(&line).is_ok();
        // Of jobs that are known a group has the sums, and a progress display what led to the end.
        let is_sum = match tool {
            Tool::Iperf3 | Tool::Dd | Tool::Btrfsscrub | Tool::Nvbandwidth | Tool::Vdbench => true,
            // Threads and directions have tables of their own, and JSON has all numbers many times.
            Tool::Diskspd | Tool::Yabs => true,
            Tool::Fio => {
                let is_group = ["READ:", "WRITE:", "TRIM:"].iter().any(|word| line.contains(word));
                line.trim_start().starts_with('"')
                    || line.contains("eta ")
                    || is_group && self.has_above(number, tool)
            }
            _ => false,
        };
        let is_summed = is_sum && self.tools.contains(&tool);
        // What was not run is printed as nothing.
        let is_nothing = tool == Tool::Crystaldiskmark && line.contains(" 0.000 MB/s");
        // A result of these is one line, so that the one below it is another.
        let is_one_line = matches!(tool, Tool::Hdparm | Tool::Crystaldiskmark);
        // Each timing of hdparm takes the same time.
        let has_own_numbers = tool != Tool::Hdparm;
        is_summed
            || is_nothing
            || is_here(number)
            || !is_one_line && is_here(number.saturating_sub(1))
            || has_own_numbers && numbers(line).any(|one| self.says(one))
    }

    fn says(&self, number: Rounded) -> bool {
        let near = self.values.partition_point(|value| *value < number.value() * 0.99 - 1.0);
        let close = self.values.get(near..).unwrap_or_default();
        close
            .iter()
            .take_while(|value| **value <= number.value() * 1.01 + 1.0)
            .any(|value| number.agrees(Rounded::exact(*value)))
    }
}

/// The numbers of a line in each of the units that they may have.
fn numbers(line: &str) -> impl Iterator<Item = Rounded> {
    let begins = |at: usize| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | ',' | ':'))
    };
    let starts = line.char_indices().filter(move |(at, c)| c.is_ascii_digit() && begins(*at));
    starts.filter_map(|(at, _)| Rounded::leading(line.get(at..)?)).flat_map(|(number, rest)| {
        let word = rest.trim_start();
        let bits = if word.get(1..5) == Some("bits") { 0.125 } else { 1.0 };
        let time = match word {
            word if word.starts_with('u') => 1e3,
            word if word.starts_with("ms") => 1e6,
            word if word.starts_with('s') => 1e9,
            _ => 1.0,
        };
        // A digit or two are in everything, and so are the parts of a clock and the bits of a key.
        let is_plain = number.value() >= 100.0 && !rest.starts_with(|c: char| c.is_alphabetic() || c == ':');
        let factors = [factor(word, Base::Decimal) * bits, factor(word, Base::Binary) * bits, time];
        factors.into_iter().filter(move |one| is_plain || *one > 1.0).map(move |one| number.times(one))
    })
}

/// All numbers of a measurement.
fn values(one: &Measured) -> Vec<f64> {
    let sides = [&one.read, &one.write, &one.both, &one.network];
    let mut all: Vec<f64> = sides.into_iter().flatten().flat_map(of_side).collect();
    all.extend([one.syncs, one.entries].into_iter().flatten().map(|rate| rate.get()));
    all.extend([&one.latency_ns, &one.sync_ns].into_iter().flatten().flat_map(of_latency));
    all
}

fn of_side(side: &Side) -> impl Iterator<Item = f64> {
    let rates = [Some(side.bytes_per_second), side.second_rate].into_iter().flatten().map(|rate| rate.get());
    let others = [
        side.iops.map(|iops| iops.get()),
        side.bytes.map(Bytes::as_f64),
        side.elapsed_ns.map(Nanos::get).map(|nanos| nanos as f64),
    ];
    rates.chain(others.into_iter().flatten()).chain(side.latency_ns.as_ref().into_iter().flat_map(of_latency))
}

fn of_latency(latency: &Latency) -> impl Iterator<Item = f64> {
    [latency.mean, latency.max].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::read;

    fn said(body: &str) -> Vec<(Tool, Vec<usize>)> {
        let page = Page { name: "x", body };
        unread(&page, &read(&page)).into_iter().map(|one| (one.tool, one.lines)).collect()
    }

    #[test]
    fn what_was_read_is_not_said_and_what_was_cut_is() {
        let fio = "  read: IOPS=185, BW=92.7MiB/s (97.2MB/s)(128MiB/1381msec)\n";
        assert_eq!(said(fio), []);
        assert_eq!(said("we saw bw=\nand IOPS= in it\n"), []);
        assert_eq!(said(&format!("{fio}\n\n\nlater IOPS=999, B\n")), [(Tool::Fio, vec![5])]);
        let hdparm = " Timing buffered disk reads: 806 MB in  3.00 seconds = 268.52 MB/sec\n";
        assert_eq!(said(hdparm), []);
        assert_eq!(said(" Timing buffered disk reads: 806 MB in\n"), [(Tool::Hdparm, vec![1])]);
    }

    #[test]
    fn a_heading_is_said_where_nothing_below_it_was_read() {
        let heading = "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)\n";
        assert_eq!(said(heading), [(Tool::Ior, vec![1])]);
        let row = "read      74066      314572800  1024.00    0.051877   289.86\n";
        assert_eq!(said(&format!("{heading}{row}")), []);
    }

    #[test]
    fn rows_of_tables_that_were_broken_or_not_known_are_said() {
        let hdparm = " Timing cached reads:   3462 MB in  2.00 seconds = 1731.24 MB/sec\n Timing buffered disk reads: 806 MB in\n";
        assert_eq!(said(hdparm), [(Tool::Hdparm, vec![2])]);
        let marks = "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n[Read]\n  SEQ    1MiB (Q=  8, T= 1):   384.064 MB/s [    366.3 IOPS]\n  RND    4KiB (Q= 32, T= 1):\n";
        assert_eq!(said(marks), [(Tool::Crystaldiskmark, vec![4])]);
        let none = marks.replace(
            "RND    4KiB (Q= 32, T= 1):",
            "RND    4KiB (Q= 32, T= 1):     0.000 MB/s [      0.0 IOPS]",
        );
        assert_eq!(said(&none), []);
        let zones = "Max Write: 694.41 MiB/sec\nMax Read:  38430.23 MiB/sec\n";
        assert_eq!(said(zones), [(Tool::Ior, vec![1, 2])]);
        let old = "              -------Sequential Output-------- ---Sequential Input-- --Random--\n          1024  9002 98.0 15893 15.1  6519 10.8  6101 78.6 23330 24.4 104.3  2.2\n";
        assert_eq!(said(old), [(Tool::Bonnie, vec![1])]);
    }

    #[test]
    fn latencies_that_were_broken_off_their_rate_are_said() {
        let job = "x: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=185, BW=92.7MiB/s (97.2MB/s)(128MiB/1381msec)\n";
        let broken = format!(
            "{job}     lat (usec): min=49, max=77227,\nsomething\n  cpu          : usr=1.00%, sys=2.00%\n"
        );
        assert_eq!(said(&broken), [(Tool::Fio, vec![3])]);
        let whole = format!(
            "{job}     lat (usec): min=49, max=77227, avg=2304.87, stdev=10577.33\n     lat (usec): min=4,\n"
        );
        assert_eq!(said(&whole), []);
        let marks = "KDiskMark (3.1.4)\n[Read]\nSequential   1 MiB (Q=  8, T= 1):   546.100 MB/s [     533.3 IOPS] <\nwords\n";
        assert_eq!(said(marks), [(Tool::Kdiskmark, vec![3])]);
    }

    #[test]
    fn a_second_table_without_rows_is_lost_whatever_the_first_has() {
        let heading = "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)\n";
        let row = "read      74066      314572800  1024.00    0.051877   289.86\n";
        let words = "words\n".repeat(8);
        assert_eq!(said(&format!("{heading}{row}{words}{heading}")), [(Tool::Ior, vec![11])]);
        assert_eq!(said(&format!("{heading}{row}{words}{heading}{row}")), []);
    }

    #[test]
    fn a_result_says_what_was_not_read_beside_it() {
        let body = " Timing buffered disk reads: 806 MB in  3.00 seconds = 268.52 MB/sec\n\n\nwrite: IOPS=77.0k, B\nread: IOPS=7, B\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found.len(), 1);
        let said = found[0]
            .notes
            .iter()
            .any(|note| note.starts_with("2 more lines look like fio, from line 4: not read"));
        assert!(said, "{:?}", found[0].notes);
    }

    #[test]
    fn rows_whose_unit_was_broken_off_are_said() {
        let rows = "Compare file sync methods using one 8kB write:\n        fdatasync                          4935.556 ops/sec     203\nusecs/op of all\n";
        assert_eq!(said(rows), [(Tool::Pgtestfsync, vec![1, 2])]);
        assert_eq!(said("3;fio-3.32;name;0;0;132160;13209\n"), [(Tool::Fio, vec![1])]);
    }

    #[test]
    fn halves_of_headings_and_runs_without_their_heading_are_said() {
        let halves = "x: Device:         rrqm/s   wrqm/s     r/s\nw/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  %util\n";
        assert_eq!(said(halves), [(Tool::Iostat, vec![1, 2])]);
        assert_eq!(said("    1st run:    613.21 MiB/s\n"), [(Tool::Nench, vec![1])]);
    }

    #[test]
    fn sums_of_a_group_whose_jobs_were_not_read_are_said() {
        let job = "x: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=4000, BW=15.8MiB/s (16.5MB/s)(964MiB/61179msec)\n";
        let cut = "   READ: io=8192.0MB, aggrb=7454.5MB/s, minb=7454.\n";
        let far = "words\n".repeat(90);
        assert_eq!(said(&format!("{job}{far}{cut}")), [(Tool::Fio, vec![93])]);
        assert_eq!(said(&format!("{cut}\n{job}")), [(Tool::Fio, vec![1])]);
    }

    #[test]
    fn groups_and_progress_are_of_what_was_read() {
        let body = "x: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=4000, BW=15.8MiB/s (16.5MB/s)(964MiB/61179msec)\nx: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=4000, BW=15.8MiB/s (16.5MB/s)(964MiB/61179msec)\n\nRun status group 0 (all jobs):\n   READ: bw=31.6MiB/s (33.0MB/s), 15.8MiB/s-15.8MiB/s (16.5MB/s-16.5MB/s), io=1928MiB (2020MB), run=61179-61179msec\n";
        assert_eq!(said(body), []);
    }
}
