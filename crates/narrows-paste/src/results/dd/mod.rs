//! dd: the last line of each of its reports, in any language.
//!
//! GNU dd prints `N bytes (X, Y) copied, S s, R` with every word and unit translated, and the decimal point of the
//! locale; the order of bytes, seconds and rate stays (coreutils `src/dd.c`, `print_xfer_stats`). BSD dd prints
//! `N bytes transferred in S secs (R bytes/sec)`. The rate is computed from bytes and seconds, which have more digits.

mod line;
mod work;

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

use self::line::{Records, Seen, broken, failure, looks_like, records, report};
use self::work::{asked, block_of, is_piece, reads, work};
use super::command::{Commands, each};
use super::rounded::Rounded;
use super::{Derived, Imported, Measured, Op, Page, Side, Tool, Work};

/// dd itself does not say what it read and wrote.
const WITHOUT_COMMAND: &str = "its command does not stand here: taken for a write to a file; whether past the page cache, whether \
    flushed, and what it read are not known";

/// The copies in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["bytes", "copied", "/s", "/秒", "dd: "]) {
        return Vec::new();
    }
    let mut reader = Reader::new(*page);
    let mut lines = page.lines().peekable();
    while let Some((number, line)) = lines.next() {
        reader.line(number, line, lines.peek().map(|(_, next)| *next));
    }
    reader.end_block();
    reader.end_failures();
    reader.say_what_is_left();
    reader.found
}

/// The same where a heading says what was done.
const WITH_HEADING: &str = "its command does not stand here, only a heading that says whether it reads or writes; whether past the \
    page cache, whether flushed, and what it read and wrote are not known";

/// What is said where more may have been asked than stands there.
const BLOCK_UNKNOWN: &str =
    "the size of a block is not known: something stands between the command and its report";

/// A report of a copy.
#[derive(Debug, Clone)]
struct Report {
    line: usize,
    bytes: u64,
    seconds: Rounded,
    wrong: Option<Derived>,
    failures: Vec<String>,
    command: Option<String>,
    /// The counts of records above it, as they stand at the end of a copy.
    records: Option<Records>,
    /// Whether nothing but such counts stands between it and the commands, so that they are whole.
    is_below: bool,
    /// Whether the counts stand below it and no report: it is of the time before the end.
    is_cut: bool,
    /// What a heading above it calls it.
    heading: Option<Op>,
    /// Whether a piece of a command stands above it that none begins.
    is_broken: bool,
    /// Whether the page cache was emptied before it.
    is_cold: bool,
    /// Whether nothing else stands between it and the report before it.
    is_next: bool,
}

impl Report {
    const fn is_final(&self) -> bool {
        self.records.is_some()
    }
}

#[derive(Debug)]
struct Reader<'a> {
    page: Page<'a>,
    found: Vec<Imported>,
    commands: Commands,
    /// The reports since the last commands.
    block: Vec<Report>,
    records: Option<(usize, Records)>,
    failures: Vec<String>,
    /// Whether something stood below the last command that is no part of a report.
    between: bool,
    /// What the last heading says that is done.
    heading: Option<Op>,
    /// Where the first of the failures stands.
    failed: Option<usize>,
    /// Whether a piece of a command stood there.
    broken: bool,
    /// Lines that look like reports and could not be read.
    unread: Vec<usize>,
    /// Whether something else stood below the last report.
    apart: bool,
    /// Whether the next line is the end of a broken report.
    is_rest: bool,
    loops: bool,
    calls: Vec<String>,
    called: usize,
    /// Whether the page cache was emptied since the last report, and whether it is before each in a loop.
    is_cold: bool,
    always_cold: bool,
}

impl<'a> Reader<'a> {
    fn new(page: Page<'a>) -> Self {
        Self {
            page,
            found: Vec::new(),
            commands: Commands::default(),
            block: Vec::new(),
            records: None,
            failures: Vec::new(),
            between: false,
            heading: None,
            failed: None,
            broken: false,
            unread: Vec::new(),
            apart: true,
            is_rest: false,
            loops: false,
            calls: Vec::new(),
            called: 0,
            is_cold: false,
            always_cold: false,
        }
    }

    fn line(&mut self, number: usize, line: &str, next: Option<&str>) {
        let is_call = Commands::is_call(line, "dd");
        if is_call && !self.block.is_empty() {
            self.end_block();
        }
        let is_rest = std::mem::take(&mut self.is_rest);
        self.commands.see(number, line, "dd");
        let is_command = self.commands.ends_at(number);
        if is_piece(line) && !is_command {
            self.end_block();
            self.broken = true;
        }
        self.between &= !is_call;
        self.loops |= ends_loop(line) && (self.commands.last().is_some() || !self.calls.is_empty());
        if empties_cache(line) {
            self.is_cold = true;
            self.always_cold |= self.loops;
        }
        if let Some(records) = records(line) {
            self.records = Some((number, records));
        } else if let Some(failure) = failure(line) {
            self.failed.get_or_insert(number);
            self.failures.push(failure.to_owned());
        } else if let Some(report) = report(line) {
            self.report(number, report);
        } else if let Some(report) = broken(line, next) {
            self.report(number, report);
            self.is_rest = true;
        } else if is_rest {
            // It was read with the line above and parts nothing.
        } else if !line.trim().is_empty() {
            if looks_like(line) {
                self.unread.push(number);
                self.drop_progress(number);
            }
            self.apart = true;
            self.between |= !is_command;
            self.heading = heading(line).or(self.heading);
        }
    }

    fn report(&mut self, number: usize, seen: Seen) {
        if self.block.is_empty() {
            (self.calls, self.called) = self.commands.take();
        }
        let records = self.records.take().filter(|(line, _)| number - line <= 2);
        let report = Report {
            line: number,
            bytes: seen.bytes,
            seconds: seen.seconds,
            wrong: seen.wrong,
            failures: std::mem::take(&mut self.failures),
            command: None,
            records: records.map(|(_, records)| records),
            is_below: !self.between,
            is_cut: false,
            heading: self.heading.take(),
            is_broken: self.broken,
            is_cold: std::mem::replace(&mut self.is_cold, self.always_cold),
            is_next: !std::mem::take(&mut self.apart),
        };
        // `status=progress` prints the same line again and again; only the last of them counts.
        let may_be = !self.loops || report.is_final();
        if may_be && self.block.last().is_some_and(|last| is_progress(last, &report)) {
            self.block.pop();
        }
        self.block.push(report);
    }

    /// A report below counts of records that cannot be read is the end of the copy: its progress before is not its result.
    fn drop_progress(&mut self, number: usize) {
        let is_end = self.records.take().is_some_and(|(line, _)| number - line <= 2);
        let is_progress = self.block.last().is_some_and(|last| !last.is_final() && number - last.line <= 6);
        if is_end && is_progress {
            self.block.pop();
        }
    }

    /// What looks like a report and is none that can be read is said, not passed over.
    fn say_what_is_left(&mut self) {
        if let Some(last) = self.found.last_mut() {
            last.unread = std::mem::take(&mut self.unread);
        }
    }

    /// A copy that failed before it reported anything is a result without a measurement.
    fn end_failures(&mut self) {
        let failures = std::mem::take(&mut self.failures);
        if let Some(line) = self.failed.filter(|_| !failures.is_empty()) {
            let mut failed = Imported::new(Tool::Dd, self.page.name, line);
            failed.command = self.commands.last().map(str::to_owned);
            failed.failures = failures;
            self.found.push(failed);
        }
    }

    /// Ends the reports of the commands above them.
    fn end_block(&mut self) {
        let mut reports = std::mem::take(&mut self.block);
        // At the end of a copy its report follows the counts at once; here it was left out.
        if let (Some(_), Some(last)) = (self.records.take(), reports.last_mut()) {
            last.is_cut = !last.is_final();
        }
        let calls: Vec<&str> = self.calls.iter().flat_map(|call| each(call, "dd")).collect();
        // Of several calls in one line the first report is not of the last.
        let called = self.called;
        let is_alone = self.calls.last().is_some_and(|call| each(call, "dd").len() == 1);
        assign(&calls, self.loops, is_alone.then_some(called), &mut reports);
        // Where the commands differ, or one is in pieces, what a copy read and wrote cannot be known.
        let differ = calls.iter().any(|call| reads(call) != calls.first().is_some_and(|first| reads(first)));
        let is_open = |report: &Report| match report.command {
            None => report.is_broken || differ,
            Some(_) => report.is_broken && !report.is_below,
        };
        self.unread.extend(reports.iter().filter(|report| is_open(report)).map(|report| report.line));
        reports.retain(|report| !is_open(report));
        self.found.extend(reports.iter().map(|report| result(&self.page, report)));
        self.broken = false;
        self.calls.clear();
        self.loops = false;
        self.always_cold = false;
        self.apart = true;
    }
}

/// Which of the commands above them made which of the reports. Where that is not certain, none. `called` is the line of the
/// last call, where it stands alone in it.
fn assign(calls: &[&str], loops: bool, called: Option<usize>, reports: &mut [Report]) {
    let count = calls.len();
    let first = reports.first().map(|report| (report.line, report.bytes));
    let in_turn = count == reports.len() || loops && count > 0 && reports.len().is_multiple_of(count);
    for (at, report) in reports.iter_mut().enumerate() {
        let call = if in_turn {
            calls.get(at % count)
        } else {
            // A command moves the same bytes whenever it runs. Of several, that above the report is its own.
            let is_near =
                count == 1 || first.zip(called).is_some_and(|((line, _), called)| line - called <= 4);
            let is_same = at == 0 || count == 1 && first.is_some_and(|(_, bytes)| bytes == report.bytes);
            calls.last().filter(|_| is_near && is_same)
        };
        let call = call.or_else(|| the_one(calls, report.bytes));
        report.command = call.map(|call| (*call).to_owned());
    }
}

/// The call that moves so many bytes, where those that do are all alike.
fn the_one<'a, 'c>(calls: &'a [&'c str], bytes: u64) -> Option<&'a &'c str> {
    // One that does not say how much it moves may be any of them.
    if calls.iter().any(|call| asked(call).is_none()) {
        return None;
    }
    let mut same = calls.iter().filter(|call| asked(call) == Some(bytes));
    let first = same.next()?;
    same.all(|call| call == first).then_some(first)
}

/// Whether the later of two reports is of the same copy: it goes on from the earlier, which has no counts of records.
fn is_progress(earlier: &Report, later: &Report) -> bool {
    let more = later.bytes > earlier.bytes || later.is_final() && later.bytes == earlier.bytes;
    let grows = more && later.seconds.value() >= earlier.seconds.value();
    // dd reports its progress once a second.
    let seconds = earlier.seconds.value();
    let is_on_time = (seconds - seconds.round()).abs() < 0.1;
    !earlier.is_final() && later.is_next && grows && is_on_time
}

/// Whether a line of a shell empties the page cache, of all files or of those of a file system.
fn empties_cache(line: &str) -> bool {
    let is_unmount = line.split(|c: char| c.is_whitespace() || c == ';').any(|word| word == "umount");
    line.contains("vm/drop_caches") || line.contains("vm.drop_caches=") || is_unmount
}

/// What a line that announces something says that is done: `Running DD READ test...`.
fn heading(line: &str) -> Option<Op> {
    let line = line.trim();
    let announces = line.len() < 80 && (line.ends_with(':') || line.ends_with("..."));
    let words = || line.split(|c: char| !c.is_alphabetic()).map(str::to_ascii_lowercase);
    let reads = words().any(|word| matches!(word.as_str(), "read" | "reads" | "reading"));
    let writes = words().any(|word| matches!(word.as_str(), "write" | "writes" | "writing"));
    match (announces, reads, writes) {
        (true, true, false) => Some(Op::Read),
        (true, false, true) => Some(Op::Write),
        _ => None,
    }
}

/// `done`, which ends a loop of the shell.
fn ends_loop(line: &str) -> bool {
    line.split(|c: char| c.is_whitespace() || c == ';').any(|word| word == "done")
}

fn result(page: &Page<'_>, report: &Report) -> Imported {
    let command = report.command.as_deref();
    // What is 512 bytes where nothing else is asked.
    let by_itself = report.is_below.then(|| Bytes::new(512));
    let block = block_of(report.bytes, report.records).or(by_itself);
    let work = command
        .map(|command| work(command, block))
        .unwrap_or_else(|| Work { label: "copy".to_owned(), ..Work::default() });
    let seconds = report.seconds.value();
    let rate = BytesPerSec::new(report.bytes as f64 / seconds);
    let side = Side {
        bytes_per_second: rate,
        iops: work.block_size.filter(|size| size.get() > 0).map(|size| Iops::new(rate.get() / size.as_f64())),
        bytes: Some(Bytes::new(report.bytes)),
        elapsed_ns: Some(Nanos::new((seconds * 1e9) as u64)),
        ..Side::default()
    };
    let op = match command {
        Some(command) if reads(command) => Op::Read,
        Some(_) => Op::Write,
        None => report.heading.unwrap_or(Op::Write),
    };
    let mut measured = Measured::new(report.line, work);
    measured.put(op, side);
    let mut imported = Imported::new(Tool::Dd, page.name, report.line);
    imported.command = command.map(str::to_owned);
    imported.is_cold = report.is_cold;
    imported.truncated = report.is_cut;
    imported.failures.clone_from(&report.failures);
    imported.derived.extend(report.wrong.clone());
    if command.is_some() && measured.work.block_size.is_none() {
        imported.notes.push(BLOCK_UNKNOWN.to_owned());
    }
    if command.is_none() {
        let note = if report.heading.is_some() { WITH_HEADING } else { WITHOUT_COMMAND };
        imported.notes.push(note.to_owned());
    }
    imported.measurements.push(measured);
    imported
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Durability;

    fn commands(body: &str) -> Vec<Option<String>> {
        read(&Page { name: "x", body }).into_iter().map(|one| one.command).collect()
    }

    fn rates(body: &str) -> Vec<(u64, u64)> {
        let all = read(&Page { name: "x", body });
        let side = |one: &Imported| {
            let (_, side) = one.measurements[0].sides().next().expect("a side");
            (side.bytes.map_or(0, Bytes::get), side.bytes_per_second.get() as u64)
        };
        all.iter().map(side).collect()
    }

    #[test]
    fn what_is_not_known_and_what_was_not_read_is_said() {
        let whole = "104857600 bytes (105 MB) copied, 0.5 s, 210 MB/s\n";
        let notes = |body: &str| read(&Page { name: "x", body }).remove(0).notes;
        assert_eq!(notes(&format!("$ dd if=/dev/zero of=x bs=1M count=100 oflag=direct\n{whole}")), [""; 0]);
        assert_eq!(notes(whole), [WITHOUT_COMMAND]);
        let cut = "104857600 bytes (105 MB) copied\n\nand\n1.1 GB copied, 3 s, 210 MB/s\n";
        let body = format!("$ dd if=/dev/zero of=x bs=1M count=100\n{whole}\n{cut}");
        assert_eq!(read(&Page { name: "x", body: &body }).remove(0).unread, [4, 7]);
    }

    #[test]
    fn the_report_is_known_in_every_language() {
        for line in [
            "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 5.43328 s, 198 MB/s",
            "1073741824 bytes (1.1 GB) copied, 5.43328 seconds, 198 MB/s",
            "1073741824字节(1.1 GB)已复制，5.43328 秒，198 MB/秒",
            "1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 5,43328 s, 198 MB/s",
            "1073741824 octets (1,1 GB, 1,0 GiB) copiés, 5,43328 s, 198 MB/s",
            "1073741824 bytes transferred in 5.43328 secs (197623061 bytes/sec)",
            "1073741824 байт (1,1 GB, 1,0 GiB) скопирован, 5,43328 s, 198 MB/s",
        ] {
            assert_eq!(
                rates(&format!("1+0 records in\n1+0 records out\n{line}\n")),
                [(1_073_741_824, 197_623_134)],
                "{line}"
            );
        }
    }

    #[test]
    fn progress_that_was_broken_is_of_the_end_below_it() {
        let body = "# dd if=/dev/zero of=/dev/sdz bs=16M oflag=direct status=progress\n\
            7063207936 bytes (7.1 GB) copied, 4.022276 s, 1.8\nGB/s\n512+0 records in\n512+0 records out\n\
            8589934592 bytes (8.6 GB) copied, 4.93092 s, 1.7\nGB/s\n";
        assert_eq!(rates(body), [(8_589_934_592, 1_742_055_152)]);
    }

    #[test]
    fn progress_is_no_result_where_the_end_cannot_be_read() {
        let body = "# dd if=/dev/zero of=x bs=1M count=4096 status=progress\n\
            4270850048 bytes (4.3 GB, 4.0 GiB) copied, 106 s, 40.3 MB/s\n4096+0 records in\n4096+0 records out\n\
            4294967296 bytes (4.3 GB, 4.0 GiB) copied\n";
        assert_eq!(rates(body), []);
    }

    #[test]
    fn progress_without_the_report_of_the_end_is_a_part() {
        let body = "# dd if=/dev/zero of=test status=progress bs=8k\n\
            201908224 bytes (202 MB, 193 MiB) copied, 3 s, 67.3 MB/s\n30185+0 records in\n30185+0 records out\n\n";
        let whole = "247275520 bytes (247 MB, 236 MiB) copied, 3.7 s, 66.8 MB/s\n";
        let parts = |body: &str| -> Vec<bool> {
            read(&Page { name: "x", body }).iter().map(|one| one.truncated).collect()
        };
        assert_eq!(
            parts(&format!("{body}# dd if=/dev/zero of=test bs=8k\n30185+0 records out\n{whole}")),
            [true, false]
        );
        assert_eq!(parts(&format!("{}{whole}", body.trim_end_matches("\n\n").to_owned() + "\n")), [false]);
    }

    #[test]
    fn of_a_progress_display_only_the_end_counts() {
        let body = "# dd if=/dev/zero of=/dev/sdz bs=16M oflag=direct status=progress\n\
            7063207936 bytes (7.1 GB) copied, 4.022276 s, 1.8 GB/s\n512+0 records in\n512+0 records out\n\
            8589934592 bytes (8.6 GB) copied, 4.93092 s, 1.7 GB/s\n";
        assert_eq!(rates(body), [(8_589_934_592, 1_742_055_152)]);
    }

    #[test]
    fn a_device_that_is_copied_into_a_file_is_read() {
        for (command, is_read) in [
            ("dd if=/dev/mmcblk0 of=/tmp/x count=1", true),
            ("dd if=/dev/mmcblk0 of=/tmp/x conv=fdatasync", false),
            ("dd if=/dev/sda of=/dev/sdb bs=1M", false),
            ("dd if=/dev/urandom of=/tmp/x", false),
            ("dd if=/dev/shm/x of=/mnt/x", false),
            ("dd if=/mnt/x of=/tmp/x", false),
            ("dd if=/mnt/x of=/dev/null", true),
        ] {
            assert_eq!(reads(command), is_read, "{command}");
        }
    }

    #[test]
    fn the_command_tells_what_was_asked() {
        let body = "$ dd if=/dev/zero of=./x bs=1M count=1024 conv=fdatasync\n1024+0 records in\n1024+0 records out\n\
            1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.875072 s, 1.2 GB/s\n";
        let all = read(&Page { name: "x", body });
        let work = &all[0].measurements[0].work;
        assert_eq!(
            (work.durability, work.direct, work.zeros),
            (Some(Durability::AtEnd), Some(false), Some(true))
        );
        assert_eq!(work.block_size, Some(Bytes::from_mib(1)));
    }

    #[test]
    fn runs_without_counts_of_records_are_runs() {
        let body = "$ for i in 1 2; do dd if=x of=/dev/null bs=1M 2>&1 | grep copied; done\n\
            4294967296 bytes (4.3 GB, 4.0 GiB) copied, 16.5025 s, 260 MB/s\n\
            4294967296 bytes (4.3 GB, 4.0 GiB) copied, 18.0181 s, 238 MB/s\n";
        assert_eq!(rates(body), [(4_294_967_296, 260_261_614), (4_294_967_296, 238_369_600)]);
        assert_eq!(commands(body), vec![Some("dd if=x of=/dev/null bs=1M 2>&1".to_owned()); 2]);
        let prefixed = "disk1: 4294967296 bytes (4.3 GB) copied, 16.5025 s, 260 MB/s\n\
            disk2: 4294967296 bytes (4.3 GB) copied, 18.0181 s, 238\nMB/s\n";
        assert_eq!(rates(prefixed).len(), 2);
    }

    #[test]
    fn commands_that_stand_together_made_as_many_reports_in_turn_or_none_of_them() {
        let report = "2097152 bytes (2.1 MB, 2.0 MiB) copied, 0.5 s, 4.2 MB/s\n";
        let script = "dd if=a of=/dev/null\ndd if=b of=/dev/null; dd if=c of=d\n\n\n\nprose\n";
        let of = |count: usize| commands(&format!("{script}{}", format!("x\n{report}").repeat(count)));
        let named = |name: &str| Some(format!("dd if={name}"));
        assert_eq!(of(3), [named("a of=/dev/null"), named("b of=/dev/null"), named("c of=d")]);
        // Two read and one writes: what two reports are of cannot be known.
        assert_eq!(of(2), []);
        let alike = "dd if=a of=/dev/null bs=1M count=2\ndd if=b of=/dev/null bs=1M count=4\n\n\n\nprose\n";
        assert_eq!(
            commands(&format!("{alike}{report}")),
            [Some("dd if=a of=/dev/null bs=1M count=2".to_owned())]
        );
    }

    #[test]
    fn what_a_command_in_pieces_made_is_refused_and_said() {
        let report = "2097152 bytes (2.1 MB, 2.0 MiB) copied, 0.5 s, 4.2 MB/s\n";
        let body = format!("$ dd if=a of=b bs=1M\n{report}$ time sudo dd\nif=b of=/dev/null bs=1M\n{report}");
        let found = read(&Page { name: "x", body: &body });
        assert_eq!((found.len(), found[0].unread.clone()), (1, vec![5]));
    }

    #[test]
    fn blocks_are_of_the_size_that_their_counts_tell_or_of_512_bytes_where_the_command_is_whole() {
        let iops = |body: &str| {
            let found = read(&Page { name: "x", body }).remove(0);
            found.measurements[0].sides().next().and_then(|(_, side)| side.iops).map(|iops| iops.get() as u64)
        };
        let report = "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n";
        assert_eq!(iops(&format!("$ dd if=a of=b\n{report}")), Some(4096));
        assert_eq!(iops(&format!("$ dd if=a of=b\n16+0 records in\n16+0 records out\n{report}")), Some(32));
        assert_eq!(iops(&format!("$ dd if=a of=b\n64K\n{report}")), None);
    }

    #[test]
    fn without_its_command_a_heading_tells_whether_a_copy_reads() {
        let report = "512+0 Datensätze ein\n512+0 Datensätze aus\n536870912 Bytes (537 MB, 512 MiB) kopiert, 1,73096 s, 310 MB/s\n";
        let body = format!(
            "Running DD READ test...\n{report}temp=61.5'C\nRunning DD WRITE test...\n{report}{report}"
        );
        let found = read(&Page { name: "x", body: &body });
        let reads: Vec<bool> = found.iter().map(|one| one.measurements[0].read.is_some()).collect();
        assert_eq!(reads, [true, false, false]);
    }

    #[test]
    fn a_copy_that_failed_before_it_reported_is_said() {
        let body = "$ dd if=/dev/zero of=/mnt/x bs=4096 count=50 oflag=dsync\ndd: error writing '/mnt/x': Input/output error\n";
        let found = read(&Page { name: "x", body });
        assert_eq!((found.len(), found[0].failures.len(), found[0].line), (1, 1, 2));
        assert!(found[0].command.is_some() && found[0].measurements.is_empty());
    }

    #[test]
    fn a_rate_that_contradicts_bytes_and_seconds_is_told() {
        let wrong = |line: &str| read(&Page { name: "x", body: line }).remove(0).derived.len();
        assert_eq!(wrong("512 bytes copied, 8.6744e-05 s, 5.9 MB/s\n"), 0);
        assert_eq!(wrong("1073741824 bytes (1.1 GB) copied, 5.43328 s, 1.98 GB/s\n"), 1);
        assert_eq!(wrong("1073741824 bytes (1.0GB) copied, 5.43328 seconds, 188.5MB/s\n"), 0);
        assert_eq!(wrong("1073741824 bytes transferred in 5.43328 secs (197623061 bytes/sec)\n"), 0);
    }

    #[test]
    fn what_empties_the_page_cache_is_told_of_the_run_behind_it() {
        let report = "1+0 records in\n1+0 records out\n1048576 bytes (1.0 MB) copied, 5.5 s, 191 kB/s\n";
        let text = format!(
            "$ dd if=a of=b\n{report}# sync; echo 3 > /proc/sys/vm/drop_caches\n$ dd if=b of=c\n{report}$ dd if=b of=c\n{report}"
        );
        let cold: Vec<bool> = read(&Page { name: "x", body: &text }).iter().map(|one| one.is_cold).collect();
        assert_eq!(cold, [false, true, false]);
    }

    #[test]
    fn an_error_of_the_drive_is_of_the_copy_below_it() {
        let body = "dd: error reading '/dev/sdb': Input/output error\n1+0 records in\n1+0 records out\n\
            1048576 bytes (1.0 MB) copied, 5.5 s, 191 kB/s\n";
        assert_eq!(read(&Page { name: "x", body })[0].failures.len(), 1);
    }

    #[test]
    fn prose_and_listings_are_no_reports() {
        for line in [
            "12 files (3 new) changed, 5 of 7",
            "-rw-r--r-- 1 a b 4294967296 Oct  6 05:21 x",
            "4 GB (x) at 3, 5",
        ] {
            assert!(rates(line).is_empty(), "{line}");
        }
    }
}
