//! What looks like a line of a tool's result and was not read: cut short, broken, or of a form that no parser knows.
//!
//! A line was read when a measurement of its tool covers it at its place (`known` says how far one reaches). Parsers need not
//! say which lines they took.

mod known;

use super::{Imported, Page, Tool};
use crate::text::{self, behind_marks, is_in};
use known::Known;

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

/// Lines of `page` that look like results and are none of `found`, by tool: those that a parser recognised and refused, and
/// those that have the words of a result.
pub fn unread(page: &Page<'_>, found: &[Imported]) -> Vec<Unread> {
    let mut all = by_words(page, found);
    for result in found {
        result.unread.iter().for_each(|line| add(&mut all, result.tool, *line));
    }
    for one in &mut all {
        one.lines.sort_unstable();
        one.lines.dedup();
    }
    all
}

fn by_words(page: &Page<'_>, found: &[Imported]) -> Vec<Unread> {
    let body = text::bare(page.body);
    let words = Vocabulary::of(&body);
    let known = Known::of(found);
    let lines: Vec<&str> = body.lines().collect();
    let headings: Vec<(usize, &str)> =
        (1..).zip(&lines).filter_map(|(number, line)| Some((number, words.of_rows(line)?.1))).collect();
    // What devices carried is no result where others stand beside it.
    let is_beside = |tool: Tool| matches!(tool, Tool::Iostat | Tool::Zpooliostat) && !found.is_empty();
    let is_lost = |tool: Tool| !is_beside(tool) && !known.has_tool(tool);
    let mut all: Vec<Unread> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let number = at + 1;
        let without_rows = || {
            words
                .of_rows(line)
                .filter(|(tool, word)| !is_beside(*tool) && !known.is_below(&headings, word, number, *tool))
        };
        let lost = || words.heading(line).filter(|tool| is_lost(*tool));
        let row = || words.row(line).filter(|tool| !known.has(number..number + 1, line, *tool));
        let latency = || {
            Vocabulary::broken_latency(line)
                .iter()
                .copied()
                .find(|tool| known.is_without_latency(*tool, number))
        };
        let broken = || {
            let (pieces, whole) = put_together(&lines, at, &words)?;
            let row = words.row(&whole).filter(|tool| !known.has(number..number + pieces, &whole, *tool));
            words.heading(&whole).filter(|tool| is_lost(*tool)).or(row)
        };
        let tool = without_rows().map(|(tool, _)| tool).or_else(lost).or_else(row).or_else(latency);
        let Some(tool) = tool.or_else(broken) else { continue };
        add(&mut all, tool, number);
    }
    all
}

fn add(all: &mut Vec<Unread>, tool: Tool, line: usize) {
    match all.iter_mut().find(|one| one.tool == tool) {
        Some(one) => one.lines.push(line),
        None => all.push(Unread { tool, lines: vec![line] }),
    }
}

/// A line with one or two of those below it, where together they are what a tool prints and none is alone: somebody broke it.
/// With it how many lines that are.
fn put_together(lines: &[&str], at: usize, words: &Vocabulary) -> Option<(usize, String)> {
    /// No line that has fewer bytes was broken.
    const SHORTEST: usize = 30;
    let is_own = |line: &str| words.row(line).is_some() || words.heading(line).is_some();
    let first = lines.get(at).filter(|line| line.trim().len() >= SHORTEST && !is_own(line))?;
    let mut whole = (*first).to_owned();
    for (pieces, next) in (2..=3).zip(lines.get(at + 1..)?) {
        let rest = text::behind_marks(next);
        if rest.is_empty() || is_own(next) {
            return None;
        }
        whole.push(' ');
        whole.push_str(rest);
        if is_own(&whole) {
            return Some((pieces, whole));
        }
    }
    None
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

/// Words of a line that no prose has: one of each group must stand in it.
type MarkWords = &'static [&'static [&'static str]];

/// What tells a line with the result of a tool.
const MARKS: &[(Tool, MarkWords)] = &[
    (Tool::Iouring, &[&["IOPS="], &["IOS/call="]]),
    (Tool::Gdsio, &[&["IoType:", "XferType:"], &["Throughput:"]]),
    (Tool::Pgtestfsync, &[&[" ops/sec"], &["usecs/op", "sync"]]),
    (Tool::Fio, &[&["IOPS=", "BW=", "bw=", "iops=", "aggrb="]]),
    (Tool::Dd, &[&[" bytes (", " octets (", " Bytes ("], &["copied", "kopiert", "copiés"]]),
    (Tool::Dd, &[&["字节"], &["/秒"]]),
    (Tool::Dd, &[&[" bytes transferred in "]]),
    (Tool::Dd, &[&[" copied, "], &["B/s"]]),
    (Tool::Hdparm, &[&["Timing cached", "Timing buffered", "Timing O_DIRECT"]]),
    (Tool::Crystaldiskmark, &[&["SEQ", "RND", "Sequential ", "Random "], &["(Q=", "(T="]]),
    (Tool::Iozone, &[&["Children see throughput"]]),
    (Tool::Ior, &[&["Max Write:", "Max Read:"], &["MB/sec"]]),
    (Tool::Io500, &[&["[RESULT"], &["GiB/s", "kIOPS", "GB/s", "kiops"]]),
    (Tool::Io500, &[&["[RESULT"], &["ior_", "ior-", "mdtest_", "mdtest-"]]),
    (Tool::Bonnie, &[&["1.96,1.96,", "1.97,1.97,", "1.98,2.00,", ",+++++,+++,+++++,+++"]]),
    (Tool::Ioping, &[&["min/avg/max/mdev"], &[" us", " ms", " s"]]),
    (Tool::Ioping, &[&[" requests completed in "]]),
    (Tool::Iperf3, &[&["bits/sec"], &["sender", "receiver", " sec "]]),
    (Tool::Sysbench, &[&["Total transferred", "read, MiB/s:", "written, MiB/s:"]]),
    (Tool::Radosbench, &[&["Bandwidth (MB/sec):"]]),
    (Tool::Dbench, &[&["Throughput "], &["MB/sec"], &["procs", "clients", "(sync "]]),
    (Tool::F3, &[&["Average reading speed", "Average writing speed"]]),
    (Tool::H2testw, &[&["MByte/s"], &["ing speed:", "Schreibrate:", "Leserate:"]]),
    (Tool::Benchsh, &[&["I/O Speed(", "I/O speed("]]),
    (Tool::Pveperf, &[&["BUFFERED READS:", "FSYNCS/SECOND:"]]),
    (Tool::Cryptsetup, &[&["-xts ", "-cbc "], &["MiB/s"]]),
    (Tool::Vdbench, &[&[" avg_"], &["."]]),
    (Tool::Diskspd, &[&["total:", "TotalIO"], &["|"]]),
    (Tool::Diskspd, &[&["<TestTimeSeconds>", "<BytesCount>"]]),
    (Tool::Copy, &[&[" bytes/sec"], &["sent ", "received ", "."]]),
    (Tool::Winsat, &[&["Disk  Sequential", "Disk  Random"], &["Read", "Write"]]),
    (Tool::Fio, &[&["\"fio version\"", "\"bw_bytes\""]]),
    (Tool::Iperf3, &[&["\"bits_per_second\""]]),
    (Tool::Btrfsscrub, &[&["otal bytes scrubbed", "Total to scrub", "scrub started", "Scrub started"]]),
    (Tool::Nvbandwidth, &[&["memcpy"], &["SUM", "_ce", "_sm"]]),
    (Tool::Hdtune, &[&["Transfer Rate Average", "Transfer rate average"]]),
    (Tool::Yabs, &[&["Block Size | "], &["4k", "512k"]]),
    (Tool::Nench, &[&["1st run:", "2nd run:", "3rd run:"], &["iB/s"]]),
    (Tool::Nench, &[&["generated "], &[" requests in "]]),
    (Tool::Mdtest, &[&["File creation", "File stat", "File removal"], &["."]]),
];

/// What tells a heading, or a line that stands in every output of a tool: where nothing of the tool was read, its lines are
/// broken in a way that nobody can put together again.
const HEADINGS: &[(Tool, MarkWords)] = &[
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
    (Tool::Fio, &[&["\"fio version\""]]),
    (Tool::Yabs, &[&["fio Disk Speed Tests"]]),
    (Tool::Yabs, &[&["Block Size |"], &["4k", "512k"]]),
];

/// Headings of which each has rows of its own below it, so that one without is lost whatever else was read.
const OF_ROWS: [(Tool, &str); 7] = [
    (Tool::Fsmark, "FSUse%"),
    (Tool::Fio, "\"fio version\""),
    (Tool::Iostat, "%util"),
    (Tool::Ior, "bw(MiB/s)"),
    (Tool::Iozone, "Command line used: iozone"),
    (Tool::Iozone, "reclen"),
    (Tool::Yabs, "Block Size |"),
];

/// What of marks and headings a text can have: a long text has words of few, and each line is asked for these alone.
struct Vocabulary {
    marks: Vec<(Tool, MarkWords)>,
    headings: Vec<(Tool, MarkWords)>,
}

impl Vocabulary {
    fn of(body: &str) -> Self {
        // A line may be broken at a blank of its words.
        let flat: String = body.lines().flat_map(|line| [" ", behind_marks(line)]).collect();
        let is_there = |any: &[&str]| is_in(any, body) || is_in(any, &flat);
        let possible = |all: &[(Tool, MarkWords)]| -> Vec<(Tool, MarkWords)> {
            all.iter().filter(|(_, words)| words.iter().all(|any| is_there(any))).copied().collect()
        };
        Self { marks: possible(MARKS), headings: possible(HEADINGS) }
    }

    /// The tool that printed a line with a result, if it has a number and the words of one.
    fn row(&self, line: &str) -> Option<Tool> {
        /// No line of a result is longer, in bytes.
        const LONGEST: usize = 400;
        // What a person typed, and fio's samples of a rate and the highest of them, are no results.
        let is_other =
            ["bw (", "--", "Maximum IOPS="].iter().any(|word| line.contains(word)) || line.len() > LONGEST;
        if is_other || !line.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        find_words(&self.marks, line)
    }

    /// The tool of a heading, or of a line that stands in every output of it.
    fn heading(&self, line: &str) -> Option<Tool> {
        find_words(&self.headings, line)
    }

    /// A heading that has rows of its own, with its word.
    fn of_rows(&self, line: &str) -> Option<(Tool, &'static str)> {
        let tool = self.heading(line)?;
        OF_ROWS.iter().find(|(of, word)| *of == tool && line.contains(word)).copied()
    }

    /// The tools that may have printed a line below a rate with its latencies, broken before the figure that is taken of it.
    fn broken_latency(line: &str) -> &'static [Tool] {
        let line = line.trim();
        let is_fio = ["lat (", "clat ("].iter().any(|head| line.starts_with(head)) && line.contains("min=");
        if is_fio && !line.contains("avg=") {
            return &[Tool::Fio];
        }
        if line.contains(" IOPS] <") && !line.ends_with('>') {
            return &[Tool::Kdiskmark, Tool::Crystaldiskmark];
        }
        if line.contains("min/avg/max/mdev") {
            return &[Tool::Ioping];
        }
        if line.contains("AvgLat") && line.contains('|') { &[Tool::Diskspd] } else { &[] }
    }
}

/// The words by which lines of tools are known.
fn find_words(all: &[(Tool, MarkWords)], line: &str) -> Option<Tool> {
    let has = |words: MarkWords| words.iter().all(|any| any.iter().any(|word| line.contains(word)));
    all.iter().find(|(_, words)| has(words)).map(|(tool, _)| *tool)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

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
        assert_eq!(said(zones), []);
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
    fn latencies_of_ioping_that_were_broken_are_said_below_their_rate_alone() {
        let rate = "--- /dev/sda (x) ioping statistics ---\n220 requests completed in 3.01 s, 73 iops, 292.9 KiB/s\n";
        let broken = "min/avg/max/mdev = 277 us / 313 us / 6.=\n";
        assert_eq!(said(&format!("{rate}{broken}")), [(Tool::Ioping, vec![3])]);
        let whole = "min/avg/max/mdev = 277 us / 313 us / 6.74 ms / 83 us\n";
        assert_eq!(said(&format!("{rate}\n\n\n{rate}{whole}")), []);
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

    #[test]
    fn a_number_like_one_that_was_read_elsewhere_does_not_make_a_line_read() {
        let read = "--- /dev/sda (x) ioping statistics ---\n5 requests completed in 4794.0 ms, 364 iops, 1.4 MiB/s\n";
        let words = "words\n".repeat(8);
        assert_eq!(
            said(&format!("{read}{words}5 requests completed in 4794.0 ms, 364\n")),
            [(Tool::Ioping, vec![11])]
        );
    }

    #[test]
    fn what_is_whole_in_several_lines_is_said_at_the_first_of_them() {
        let halves = "Nov 23 09:00:12 host1 bench[100]: FSUse%        Count\n   # Size    Files/sec     App Overhead\n";
        assert_eq!(said(halves), [(Tool::Fsmark, vec![1])]);
        let lost = "node: 10737418240 bytes (11 GB, 10 GiB)\n  words between copied, 12 s\n";
        assert_eq!(said(lost), [(Tool::Dd, vec![1])]);
        assert_eq!(
            said(
                "We copied all of it to the new disk, as he told us\nbefore. That took 12 s, and 11 GB more.\n"
            ),
            []
        );
    }

    #[test]
    fn rows_that_make_one_measurement_and_rows_of_nothing_are_read() {
        let head = "Added file /dev/nvme1n1 (submitter 0)\nsubmitter=0, tid=1206\n";
        let row = "IOPS=5806400, BW=2835MiB/s, IOS/call=32/32, inflight=(77 32)\nIOPS=5860352, BW=2861MiB/s, IOS/call=32/31, inflight=(102 128)\n";
        assert_eq!(said(&format!("{head}{row}Maximum IOPS=5860352\n")), []);
        assert_eq!(
            said("   File stat                       0.000          0.000          0.000          0.000\n"),
            []
        );
    }

    #[test]
    fn a_document_of_fio_that_was_broken_is_said_beside_another() {
        let fio = "x: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=4000, BW=15.8MiB/s (16.5MB/s)(964MiB/61179msec)\n";
        assert_eq!(
            said(&format!("{fio}\n{{\n  \"fio version\" : \"fio-3.28\",\n  \"jobs\" : [ broken\n")),
            [(Tool::Fio, vec![5])]
        );
    }
}
