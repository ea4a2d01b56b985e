//! dd: the last line of each of its reports, in any language.
//!
//! GNU dd prints `N bytes (X, Y) copied, S s, R` with every word and unit translated, and the decimal point of the
//! locale; the order of bytes, seconds and rate stays (coreutils `src/dd.c`, `print_xfer_stats`). BSD dd prints
//! `N bytes transferred in S secs (R bytes/sec)`. The rate is computed from bytes and seconds, which have more digits.

mod line;

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

use super::command::{Commands, each};
use super::{Imported, Measured, Op, Page, Side, Tool, Work};
use line::{
    DdRecords, SeenReport, asked, block_of, broken, failure, is_piece, looks_like, reads, records, report,
    work,
};

/// dd itself does not say what it read and wrote.
const WITHOUT_COMMAND: &str = "its command does not stand here: taken for a write to a file; whether past the page cache, whether \
    flushed, and what it read are not known";

/// The copies in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut reader = DdReader { page: *page, apart: true, ..DdReader::default() };
    let mut lines = page.lines().peekable();
    while let Some((number, line)) = lines.next() {
        reader.line(number, line, lines.peek().map(|(_, next)| *next));
    }
    reader.end_block();
    reader.end_failures();
    // What looks like a report and is none that can be read is said, not passed over.
    if let Some(last) = reader.found.last_mut() {
        last.unread = reader.unread;
    }
    reader.found
}

/// The same where a heading says what was done.
const WITH_HEADING: &str = "its command does not stand here, only a heading that says whether it reads or writes; whether past the \
    page cache, whether flushed, and what it read and wrote are not known";

/// What is said where several commands stand above that differ in it.
const OF_SEVERAL: &str = "which of the commands above made it is not known: some of them read and others write, so that its rate is \
    given for both";

/// What is said where more may have been asked than stands there.
const BLOCK_UNKNOWN: &str =
    "the size of a block is not known: something stands between the command and its report";

/// So many lines of others stand between a heading and its report.
const FAR: usize = 4;

/// A report of a copy.
#[derive(Debug, Clone)]
struct DdReport {
    line: usize,
    seen: SeenReport,
    failures: Vec<String>,
    command: Option<String>,
    /// The counts of records above it, as they stand at the end of a copy.
    records: Option<DdRecords>,
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
    /// Whether some of the commands that may have made it read and others write.
    is_either: bool,
}

impl DdReport {
    const fn is_final(&self) -> bool {
        self.records.is_some()
    }
}

#[derive(Debug, Default)]
struct DdReader<'a> {
    page: Page<'a>,
    found: Vec<Imported>,
    commands: Commands,
    /// The reports since the last commands.
    block: Vec<DdReport>,
    records: Option<(usize, DdRecords)>,
    failures: Vec<String>,
    /// Whether something stood below the last command that is no part of a report.
    between: bool,
    /// What the last heading says that is done.
    heading: Option<Op>,
    /// Lines below it that are none of dd.
    below: usize,
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
    /// How many of the commands stand above a sentence.
    above_prose: usize,
    /// Empty lines since the last call. They part nothing: encoded mail whose lines are whole again has some.
    empty: usize,
    /// Whether a sentence stood there since the last report, and whether one stood between the commands and the first.
    is_told: bool,
    is_told_first: bool,
    /// Whether the page cache was emptied since the last report, and whether it is before each in a loop.
    is_cold: bool,
    always_cold: bool,
}

impl DdReader<'_> {
    fn line(&mut self, number: usize, line: &str, next: Option<&str>) {
        let is_call = Commands::is_call(line, "dd");
        if is_call && !self.block.is_empty() {
            self.end_block();
        }
        let is_rest = std::mem::take(&mut self.is_rest);
        self.commands.see(number, line, "dd");
        let is_command = self.commands.ends_at(number);
        self.empty = match line.trim() {
            _ if is_command => 0,
            "" => self.empty + 1,
            _ => self.empty,
        };
        if is_piece(line) && !is_command {
            self.end_block();
            self.broken = true;
        }
        self.between &= !is_call;
        // What ends behind a report is another loop.
        self.loops |= ends_loop(line) && self.block.is_empty() && self.commands.last().is_some();
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
            self.heading = line.split(" bytes").next().and_then(said).or(self.heading);
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
            if !is_command && is_sentence(line) {
                self.is_told = true;
                if self.block.is_empty() {
                    self.above_prose = self.commands.count();
                }
            }
            self.between |= !is_command;
            let new = heading(line);
            self.below = if new.is_some() { 0 } else { self.below + 1 };
            // A heading is of what stands close below it.
            let is_far = self.below > FAR || is_sentence(line);
            self.heading = new.or(self.heading.filter(|_| !is_far));
        }
    }

    fn report(&mut self, number: usize, seen: SeenReport) {
        let is_told = std::mem::take(&mut self.is_told);
        if self.is_of_others(is_told, &seen) {
            let records = self.records.take();
            self.is_cold &= !self.always_cold;
            self.end_block();
            self.records = records;
        }
        if self.block.is_empty() {
            self.is_told_first = is_told;
            (self.calls, self.called) = self.commands.take();
            self.called += self.empty;
        }
        let records = self.records.take().filter(|(line, _)| number - line <= 2);
        let report = DdReport {
            line: number,
            seen,
            failures: std::mem::take(&mut self.failures),
            command: None,
            records: records.map(|(_, records)| records),
            is_below: !self.between,
            is_cut: false,
            heading: self.heading.take(),
            is_broken: self.broken,
            is_cold: std::mem::replace(&mut self.is_cold, self.always_cold),
            is_next: !std::mem::take(&mut self.apart),
            is_either: false,
        };
        // `status=progress` prints the same line again and again; only the last of them counts.
        let may_be = !self.loops || report.is_final();
        if may_be && self.block.last().is_some_and(|last| is_progress(last, &report)) {
            self.block.pop();
        }
        self.block.push(report);
    }

    /// Whether a report is none of the commands above it: it has a heading, which the first of them has not or which says that it
    /// is of the other direction; or it stands below a sentence, and each of them has its report or what the only one of them moves
    /// is another amount.
    fn is_of_others(&self, is_told: bool, seen: &SeenReport) -> bool {
        let calls: Vec<&str> = self.calls.iter().flat_map(|call| each(call, "dd")).collect();
        if self.block.is_empty() || calls.is_empty() {
            return false;
        }
        let has_own =
            self.heading.is_some() && self.block.first().is_some_and(|first| first.heading.is_none());
        let is_opposite = |op: Op| calls.iter().all(|call| reads(call) != (op == Op::Read));
        let is_other = has_own || self.heading.is_some_and(is_opposite);
        let is_full = !self.loops && calls.len() > 1 && calls.len() == self.block.len();
        let is_unlike = calls.len() == 1
            && !self.is_told_first
            && self.block.iter().all(|report| report.seen.bytes != seen.bytes);
        is_other || is_told && (is_full || is_unlike)
    }

    /// A report below counts of records that cannot be read is the end of the copy: its progress before is not its result.
    fn drop_progress(&mut self, number: usize) {
        let is_end = self.records.take().is_some_and(|(line, _)| number - line <= 2);
        let is_progress = self.block.last().is_some_and(|last| !last.is_final() && number - last.line <= 6);
        if is_end && is_progress {
            self.block.pop();
        }
    }

    /// A copy that failed before it reported anything is a result without a measurement.
    fn end_failures(&mut self) {
        let failures = std::mem::take(&mut self.failures);
        if let Some(line) = self.failed.filter(|_| !failures.is_empty()) {
            let command = self.commands.last().map(str::to_owned);
            let failed = Imported::new(Tool::Dd, self.page.name, line);
            self.found.push(Imported { command, failures, ..failed });
        }
    }

    /// Ends the reports of the commands above them.
    fn end_block(&mut self) {
        let mut reports = std::mem::take(&mut self.block);
        // At the end of a copy its report follows the counts at once; here it was left out.
        if let (Some(_), Some(last)) = (self.records.take(), reports.last_mut()) {
            last.is_cut = !last.is_final();
        }
        let all: Vec<&str> = self.calls.iter().flat_map(|call| each(call, "dd")).collect();
        // What stands below the last sentence made them, where it has as many calls, whatever prose calls further up.
        let below = self.calls.get(self.above_prose..).unwrap_or_default();
        let below: Vec<&str> = below.iter().flat_map(|call| each(call, "dd")).collect();
        let are_below = all.len() != reports.len() && below.len() > 1 && below.len() == reports.len();
        let calls = if are_below { below } else { all };
        // Of several calls in one line the first report is not of the last.
        let called = self.called;
        let is_alone = self.calls.last().is_some_and(|call| each(call, "dd").len() == 1);
        assign(&calls, self.loops, is_alone.then_some(called), &mut reports);
        // Where the commands differ it is not known whether a copy reads, and where one is in pieces nothing is.
        let differ = calls.iter().any(|call| reads(call) != calls.first().is_some_and(|first| reads(first)));
        let is_open = |report: &DdReport| report.is_broken && (report.command.is_none() || !report.is_below);
        for report in reports.iter_mut().filter(|one| one.command.is_none() && one.heading.is_none()) {
            report.is_either = differ;
        }
        self.unread.extend(reports.iter().filter(|report| is_open(report)).map(|report| report.line));
        reports.retain(|report| !is_open(report));
        self.found.extend(reports.iter().map(|report| result(&self.page, report)));
        self.broken = false;
        self.calls.clear();
        self.above_prose = 0;
        self.loops = false;
        self.always_cold = false;
        self.apart = true;
    }
}

/// Which of the commands above them made which of the reports. Where that is not certain, none. `called` is the line of the
/// last call, where it stands alone in it, without the empty lines below it.
fn assign(calls: &[&str], loops: bool, called: Option<usize>, reports: &mut [DdReport]) {
    let count = calls.len();
    let first = reports.first().map(|report| (report.line, report.seen.bytes));
    let in_turn = count == reports.len() || loops && count > 0 && reports.len().is_multiple_of(count);
    for (at, report) in reports.iter_mut().enumerate() {
        let call = if in_turn {
            calls.get(at % count)
        } else {
            // A command moves the same bytes whenever it runs. Of several, that above the report is its own.
            // One that says that it moves another amount made another report.
            let is_near = count == 1
                || first.zip(called).is_some_and(|((line, _), called)| line - called <= 4)
                    && calls
                        .last()
                        .and_then(|call| asked(call))
                        .is_none_or(|bytes| bytes == report.seen.bytes);
            let is_same = at == 0 || count == 1 && first.is_some_and(|(_, bytes)| bytes == report.seen.bytes);
            calls.last().filter(|_| is_near && is_same)
        };
        let call = call.or_else(|| the_one(calls, report.seen.bytes));
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
fn is_progress(earlier: &DdReport, later: &DdReport) -> bool {
    let (before, after) = (&earlier.seen, &later.seen);
    let more = after.bytes > before.bytes || later.is_final() && after.bytes == before.bytes;
    let grows = more && after.seconds.value() >= before.seconds.value();
    // dd reports its progress once a second.
    let seconds = before.seconds.value();
    let is_on_time = (seconds - seconds.round()).abs() < 0.1;
    !earlier.is_final() && later.is_next && grows && is_on_time
}

/// Whether a line of a shell empties the page cache, of all files or of those of a file system.
fn empties_cache(line: &str) -> bool {
    let is_unmount = || line.split(|c: char| c.is_whitespace() || c == ';').any(|word| word == "umount");
    line.contains("vm/drop_caches") || line.contains("vm.drop_caches=") || is_unmount()
}

/// Whether a line is one of a text that somebody wrote, not one that a script prints.
fn is_sentence(line: &str) -> bool {
    /// A name of a test has fewer words.
    const WORDS: usize = 6;
    let is_word = |word: &str| {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
        !word.is_empty() && word.chars().all(char::is_alphabetic)
    };
    line.split_whitespace().filter(|word| is_word(word)).count() >= WORDS
}

/// What a line that announces something says that is done: `Running DD READ test...`.
fn heading(line: &str) -> Option<Op> {
    let line = line.trim();
    let announces = line.len() < 80 && (line.ends_with(':') || line.ends_with("..."));
    announces.then(|| said(line)).flatten()
}

/// Whether words say that something is read or written, and not both.
fn said(text: &str) -> Option<Op> {
    let words = || text.split(|c: char| !c.is_alphabetic()).map(str::to_ascii_lowercase);
    let reads = words().any(|word| matches!(word.as_str(), "read" | "reads" | "reading"));
    let writes = words().any(|word| matches!(word.as_str(), "write" | "writes" | "writing"));
    match (reads, writes) {
        (true, false) => Some(Op::Read),
        (false, true) => Some(Op::Write),
        _ => None,
    }
}

/// `done`, which ends a loop of the shell.
fn ends_loop(line: &str) -> bool {
    line.split(|c: char| c.is_whitespace() || c == ';').any(|word| word == "done")
}

fn result(page: &Page<'_>, report: &DdReport) -> Imported {
    let command = report.command.as_deref();
    // What is 512 bytes where nothing else is asked.
    let by_itself = report.is_below.then(|| Bytes::new(512));
    let block = block_of(report.seen.bytes, report.records).or(by_itself);
    let work = command.map(|command| work(command, block)).unwrap_or_else(|| Work::named("copy"));
    let seconds = report.seen.seconds.value();
    let rate = BytesPerSec::new(report.seen.bytes as f64 / seconds);
    let side = Side {
        iops: work.block_size.filter(|size| size.get() > 0).map(|size| Iops::new(rate.get() / size.as_f64())),
        bytes: Some(Bytes::new(report.seen.bytes)),
        elapsed_ns: Some(Nanos::new((seconds * 1e9) as u64)),
        ..Side::at(rate)
    };
    let op = match command {
        Some(command) if reads(command) => Op::Read,
        Some(_) => Op::Write,
        None => report.heading.unwrap_or(Op::Write),
    };
    let mut measured = Measured::new(report.line, work);
    if report.is_either {
        measured.both = Some(side);
    } else {
        measured.put(op, side);
    }
    let mut imported = Imported::new(Tool::Dd, page.name, report.line);
    imported.command = command.map(str::to_owned);
    imported.is_cold = report.is_cold;
    imported.truncated = report.is_cut;
    imported.failures.clone_from(&report.failures);
    imported.derived.extend(report.seen.wrong.clone());
    if command.is_some() && measured.work.block_size.is_none() {
        imported.notes.push(BLOCK_UNKNOWN.to_owned());
    }
    if command.is_none() {
        let note = match report.heading {
            Some(_) => WITH_HEADING,
            None if report.is_either => OF_SEVERAL,
            None => WITHOUT_COMMAND,
        };
        imported.notes.push(note.to_owned());
    }
    imported.measurements.push(measured);
    imported
}

#[cfg(test)]
mod tests;
