//! dd: the last line of each of its reports, in any language.
//!
//! GNU dd prints `N bytes (X, Y) copied, S s, R` with every word and unit translated, and the decimal point of the
//! locale; the order of bytes, seconds and rate stays (coreutils `src/dd.c`, `print_xfer_stats`). BSD dd prints
//! `N bytes transferred in S secs (R bytes/sec)`. The rate is computed from bytes and seconds, which have more digits.

mod line;

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

use self::line::{Seen, broken, failure, is_records, looks_like, report};
use super::command::{Commands, each, option};
use super::number::{Base, size};
use super::rounded::Rounded;
use super::{Derived, Durability, Imported, Measured, Op, Page, Side, Tool, Work};

/// dd itself does not say what it read and wrote.
const WITHOUT_COMMAND: &str = "its command does not stand here: taken for a write to a file; whether past the page cache, whether \
    flushed, and what it read are not known";

/// The copies in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["bytes", "copied", "/s", "/秒"]) {
        return Vec::new();
    }
    let mut reader = Reader::new(*page);
    let mut lines = page.lines().peekable();
    while let Some((number, line)) = lines.next() {
        reader.line(number, line, lines.peek().map(|(_, next)| *next));
    }
    reader.end_block();
    reader.say_what_is_left();
    reader.found
}

/// A report of a copy.
#[derive(Debug, Clone)]
struct Report {
    line: usize,
    bytes: u64,
    seconds: Rounded,
    wrong: Option<Derived>,
    failures: Vec<String>,
    command: Option<String>,
    /// Whether the counts of records stand above it, as they do at the end of a copy.
    is_final: bool,
    /// Whether the page cache was emptied before it.
    is_cold: bool,
    /// Whether nothing else stands between it and the report before it.
    is_next: bool,
}

#[derive(Debug)]
struct Reader<'a> {
    page: Page<'a>,
    found: Vec<Imported>,
    commands: Commands,
    /// The reports since the last commands.
    block: Vec<Report>,
    records: Option<usize>,
    failures: Vec<String>,
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
        if Commands::is_call(line, "dd") && !self.block.is_empty() {
            self.end_block();
        }
        let is_rest = std::mem::take(&mut self.is_rest);
        self.commands.see(number, line, "dd");
        self.loops |= ends_loop(line) && (self.commands.last().is_some() || !self.calls.is_empty());
        if empties_cache(line) {
            self.is_cold = true;
            self.always_cold |= self.loops;
        }
        if is_records(line) {
            self.records = Some(number);
        } else if let Some(failure) = failure(line) {
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
        }
    }

    fn report(&mut self, number: usize, seen: Seen) {
        if self.block.is_empty() {
            (self.calls, self.called) = self.commands.take();
        }
        let is_final = self.records.take().is_some_and(|records| number - records <= 2);
        let report = Report {
            line: number,
            bytes: seen.bytes,
            seconds: seen.seconds,
            wrong: seen.wrong,
            failures: std::mem::take(&mut self.failures),
            command: None,
            is_final,
            is_cold: std::mem::replace(&mut self.is_cold, self.always_cold),
            is_next: !std::mem::take(&mut self.apart),
        };
        // `status=progress` prints the same line again and again; only the last of them counts.
        let may_be = !self.loops || report.is_final;
        if may_be && self.block.last().is_some_and(|last| is_progress(last, &report)) {
            self.block.pop();
        }
        self.block.push(report);
    }

    /// A report below counts of records that cannot be read is the end of the copy: its progress before is not its result.
    fn drop_progress(&mut self, number: usize) {
        let is_end = self.records.take().is_some_and(|records| number - records <= 2);
        let is_progress = self.block.last().is_some_and(|last| !last.is_final && number - last.line <= 6);
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

    /// Ends the reports of the commands above them.
    fn end_block(&mut self) {
        let mut reports = std::mem::take(&mut self.block);
        let calls: Vec<&str> = self.calls.iter().flat_map(|call| each(call, "dd")).collect();
        assign(&calls, self.loops, self.called, &mut reports);
        self.found.extend(reports.iter().map(|report| result(&self.page, report)));
        self.calls.clear();
        self.loops = false;
        self.always_cold = false;
        self.apart = true;
    }
}

/// Which of the commands above them made which of the reports. Where that is not certain, none.
fn assign(calls: &[&str], loops: bool, called: usize, reports: &mut [Report]) {
    let count = calls.len();
    let first = reports.first().map(|report| (report.line, report.bytes));
    let in_turn = count == reports.len() || loops && count > 0 && reports.len().is_multiple_of(count);
    for (at, report) in reports.iter_mut().enumerate() {
        let call = if in_turn {
            calls.get(at % count)
        } else {
            // A command moves the same bytes whenever it runs. Of several, that above the report is its own.
            let is_near = count == 1 || first.is_some_and(|(line, _)| line - called <= 4);
            let is_same = at == 0 || count == 1 && first.is_some_and(|(_, bytes)| bytes == report.bytes);
            calls.last().filter(|_| is_near && is_same)
        };
        report.command = call.map(|call| (*call).to_owned());
    }
}

/// Whether the later of two reports is of the same copy: it goes on from the earlier, which has no counts of records.
fn is_progress(earlier: &Report, later: &Report) -> bool {
    let more = later.bytes > earlier.bytes || later.is_final && later.bytes == earlier.bytes;
    let grows = more && later.seconds.value() >= earlier.seconds.value();
    // dd reports its progress once a second.
    let seconds = earlier.seconds.value();
    let is_on_time = (seconds - seconds.round()).abs() < 0.1;
    !earlier.is_final && later.is_next && grows && is_on_time
}

/// Whether a line of a shell empties the page cache, of all files or of those of a file system.
fn empties_cache(line: &str) -> bool {
    let is_unmount = line.split(|c: char| c.is_whitespace() || c == ';').any(|word| word == "umount");
    line.contains("vm/drop_caches") || line.contains("vm.drop_caches=") || is_unmount
}

/// `done`, which ends a loop of the shell.
fn ends_loop(line: &str) -> bool {
    line.split(|c: char| c.is_whitespace() || c == ';').any(|word| word == "done")
}

fn result(page: &Page<'_>, report: &Report) -> Imported {
    let command = report.command.as_deref();
    let work = command.map(work).unwrap_or_else(|| Work { label: "copy".to_owned(), ..Work::default() });
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
        _ => Op::Write,
    };
    let mut measured = Measured::new(report.line, work);
    measured.put(op, side);
    let mut imported = Imported::new(Tool::Dd, page.name, report.line);
    imported.command = command.map(str::to_owned);
    imported.is_cold = report.is_cold;
    imported.failures.clone_from(&report.failures);
    imported.derived.extend(report.wrong.clone());
    if command.is_none() {
        imported.notes.push(WITHOUT_COMMAND.to_owned());
    }
    imported.measurements.push(measured);
    imported
}

/// Whether a copy reads from storage: what it writes to is no storage, or is a file whose writes nobody waits for while a
/// device is read.
fn reads(command: &str) -> bool {
    option(command, "of")
        .is_none_or(|to| matches!(to, "/dev/null" | "/dev/zero" | "/dev/full") || images(command, to))
}

/// Whether a device is copied into a file that stays in the page cache as far as the command says.
fn images(command: &str, to: &str) -> bool {
    const NO_STORAGE: [&str; 5] = ["/dev/zero", "/dev/urandom", "/dev/random", "/dev/full", "/dev/shm/"];
    let is_device =
        |path: &str| path.starts_with("/dev/") && !NO_STORAGE.iter().any(|other| path.starts_with(other));
    let waits = |name: &str| {
        option(command, name)
            .is_some_and(|flags| flags.split(',').any(|flag| flag.ends_with("sync") || flag == "direct"))
    };
    option(command, "if").is_some_and(is_device) && !is_device(to) && !waits("oflag") && !waits("conv")
}

/// What was asked: GNU dd's operands.
fn work(command: &str) -> Work {
    let flags = |name: &str| -> Vec<&str> {
        option(command, name).map(|value| value.split(',').collect()).unwrap_or_default()
    };
    let is_read = reads(command);
    let open = flags(if is_read { "iflag" } else { "oflag" });
    let conv = flags("conv");
    let durability = if is_read {
        None
    } else if open.iter().any(|flag| matches!(*flag, "sync" | "dsync")) {
        Some(Durability::Each)
    } else if conv.iter().any(|flag| matches!(*flag, "fsync" | "fdatasync")) {
        Some(Durability::AtEnd)
    } else {
        Some(Durability::None)
    };
    let from = option(command, "if").unwrap_or_default();
    Work {
        label: if is_read { "sequential read" } else { "sequential write" }.to_owned(),
        pattern: Some(Pattern::Sequential),
        block_size: option(command, "bs").map_or(Some(Bytes::new(512)), |bs| size(bs, unit_of(bs))),
        queue_depth: Some(1),
        jobs: Some(1),
        direct: Some(open.contains(&"direct")),
        durability,
        target: option(command, if is_read { "if" } else { "of" }).map(str::to_owned),
        zeros: (!is_read).then_some(from == "/dev/zero"),
        ..Work::default()
    }
}

/// dd's `1M` is binary, its `1MB` decimal (`info dd`, block sizes).
fn unit_of(text: &str) -> Base {
    if text.ends_with('B') && !text.ends_with("iB") { Base::Decimal } else { Base::Binary }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(of(2), [None, None]);
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
