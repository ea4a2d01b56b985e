//! The words by which lines of tools are known.

use crate::results::Tool;
use crate::text::{behind_marks, is_in};

/// Words of a line that no prose has: one of each group must stand in it.
type Words = &'static [&'static [&'static str]];

/// What tells a line with the result of a tool.
const MARKS: &[(Tool, Words)] = &[
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
pub(super) struct Vocabulary {
    marks: Vec<(Tool, Words)>,
    headings: Vec<(Tool, Words)>,
}

impl Vocabulary {
    pub(super) fn of(body: &str) -> Self {
        // A line may be broken at a blank of its words.
        let flat: String = body.lines().flat_map(|line| [" ", behind_marks(line)]).collect();
        let is_there = |any: &[&str]| is_in(any, body) || is_in(any, &flat);
        let possible = |all: &[(Tool, Words)]| -> Vec<(Tool, Words)> {
            all.iter().filter(|(_, words)| words.iter().all(|any| is_there(any))).copied().collect()
        };
        Self { marks: possible(MARKS), headings: possible(HEADINGS) }
    }

    /// The tool that printed a line with a result, if it has a number and the words of one.
    pub(super) fn row(&self, line: &str) -> Option<Tool> {
        /// No line of a result is longer, in bytes.
        const LONGEST: usize = 400;
        // What a person typed, and fio's samples of a rate and the highest of them, are no results.
        let is_other =
            ["bw (", "--", "Maximum IOPS="].iter().any(|word| line.contains(word)) || line.len() > LONGEST;
        if is_other || !line.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        find(&self.marks, line)
    }

    /// The tool of a heading, or of a line that stands in every output of it.
    pub(super) fn heading(&self, line: &str) -> Option<Tool> {
        find(&self.headings, line)
    }

    /// A heading that has rows of its own, with its word.
    pub(super) fn of_rows(&self, line: &str) -> Option<(Tool, &'static str)> {
        let tool = self.heading(line)?;
        OF_ROWS.iter().find(|(of, word)| *of == tool && line.contains(word)).copied()
    }

    /// The tools that may have printed a line below a rate with its latencies, broken before the figure that is taken of it.
    #[expect(clippy::unused_self, reason = "asked like the others")]
    pub(super) fn broken_latency(&self, line: &str) -> &'static [Tool] {
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

fn find(all: &[(Tool, Words)], line: &str) -> Option<Tool> {
    let has = |words: Words| words.iter().all(|any| any.iter().any(|word| line.contains(word)));
    all.iter().find(|(_, words)| has(words)).map(|(tool, _)| *tool)
}
