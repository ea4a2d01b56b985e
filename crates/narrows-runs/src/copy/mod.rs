//! What a copy came to, as JSON and as text.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::chart;
use narrows_base::lists::known_of;
use narrows_base::shell;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::copy::{CopyResult, Fault, ReadBack, Side, Spent, Tally, Why};
use narrows_report::answer::{Answer, step};
use narrows_report::document::{Audience, Block, Blocks, Column, Document, Place, Table, Tone, Width};
use narrows_session::copying::side_name;

/// The name and version of the JSON contract.
pub const SCHEMA: &str = "narrows/copy/1";

/// Below this part of the copied data, what the source's devices read shows that the rest came from memory.
const FROM_DEVICE: f64 = 0.9;

/// What was copied, at what rate, and where the time went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyReport {
    pub schema: Cow<'static, str>,
    /// What was copied.
    pub source: String,
    /// The copy.
    pub destination: String,
    /// What limited it, in a sentence.
    pub sentence: String,
    /// Whether everything was copied.
    pub complete: bool,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Whether the destination is full.
    pub out_of_space: bool,
    /// From the beginning to the last sync, in nanoseconds.
    pub elapsed_ns: Nanos,
    /// All files that were copied now. The rate is that of the whole copy, directories, links and syncing included.
    pub files: TallyView,
    /// Those of 1 MiB and more.
    pub large: TallyView,
    /// Those below.
    pub small: TallyView,
    /// Directories that were made.
    pub directories: u64,
    /// Symbolic links that were made.
    pub symlinks: u64,
    /// Further names of files.
    pub hard_links: u64,
    /// Files that an earlier run had completed, and, where its manifest is gone, those that are as their sources.
    pub earlier_files: u64,
    /// Data that an earlier run had written of files that were completed now.
    pub earlier_bytes: Bytes,
    /// Where the time of the copying threads went. The parts add up to the time that they were at work.
    pub time: Spent,
    /// What took the largest part of it; absent when nothing was copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitView>,
    /// Processor time of the process in user mode.
    pub user_ns: Nanos,
    /// Processor time of the process in kernel mode, helpers of io_uring included.
    pub system_ns: Nanos,
    /// What moved the large files: `io_uring` or `psync`.
    pub engine: String,
    /// How the copy was read back to verify it; `null` where it was not.
    pub verification: Option<ReadBack>,
    /// The block devices of the source.
    pub source_devices: Vec<DeviceView>,
    /// The block devices of the destination.
    pub destination_devices: Vec<DeviceView>,
    /// What is good to know about the result.
    pub notes: Vec<String>,
    /// Devices, pipes and sockets, which are not copied.
    pub skipped: Vec<SkippedView>,
    /// What was not copied although it should have been.
    pub failures: Vec<FailureView>,
    /// What `--resume` goes on from; absent when there is nothing to go on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
}

/// Files of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TallyView {
    /// How many.
    pub files: u64,
    /// Their data, holes left out.
    pub bytes: Bytes,
    /// How long they took, verification and syncing included.
    pub elapsed_ns: Nanos,
    /// Data for each second.
    pub bytes_per_second: BytesPerSec,
    /// Files for each second.
    pub files_per_second: f64,
}

/// What limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitView {
    /// `source`, `destination`, `verification`, `metadata`, `processor` or `contention`.
    pub side: Cow<'static, str>,
    /// Its part of the time, 0 to 1.
    pub share: f64,
}

/// A block device during the copy, whoever used it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceView {
    /// Its kernel name.
    pub name: String,
    /// Bytes that it read.
    pub read_bytes: Bytes,
    /// Bytes that it wrote.
    pub written_bytes: Bytes,
}

/// Something that narrows does not copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedView {
    pub path: String,
    /// What it is.
    pub what: Cow<'static, str>,
}

/// Something that was not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureView {
    pub path: String,
    /// A stable word: `exists`, `shared`, `not_a_directory`, `changed`, `loop`, `other_name`, `mismatch`, `no_space`, `io`.
    pub code: Cow<'static, str>,
    /// Why, as a phrase about the path.
    pub reason: String,
    /// The first byte of the region that differs, with the code `mismatch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Bytes>,
    /// The length of that region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Bytes>,
}

/// What the machine's counters say, by device: of the source, and of the destination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    pub source: Vec<DeviceView>,
    pub destination: Vec<DeviceView>,
}

/// Shows the result of a copy of `source` to `destination`.
pub fn build(source: &str, destination: &str, result: &CopyResult, moved: Moved) -> CopyReport {
    let whole = Tally {
        files: result.small.files + result.large.files,
        bytes: result.bytes(),
        elapsed: result.elapsed,
    };
    let skipped = result.skipped.iter();
    let skipped = skipped.map(|(path, what)| SkippedView { path: name(path), what: (*what).into() });
    CopyReport {
        schema: SCHEMA.into(),
        source: source.to_owned(),
        destination: destination.to_owned(),
        sentence: sentence(result),
        complete: result.is_whole(),
        interrupted: result.interrupted,
        out_of_space: result.is_out_of_space(),
        elapsed_ns: result.elapsed,
        files: tally(whole),
        large: tally(result.large),
        small: tally(result.small),
        directories: result.directories,
        symlinks: result.symlinks,
        hard_links: result.hard_links,
        earlier_files: result.earlier,
        earlier_bytes: result.kept,
        time: result.spent,
        limit: result.limit().map(|(side, share)| LimitView { side: side_name(side).into(), share }),
        user_ns: result.cpu.0,
        system_ns: result.cpu.1,
        engine: result.engine.clone(),
        verification: result.read_back,
        notes: notes(result, &moved),
        source_devices: moved.source,
        destination_devices: moved.destination,
        skipped: skipped.collect(),
        failures: result.faults.iter().map(failure).collect(),
        manifest: result.manifest.as_deref().map(name),
    }
}

fn name(path: &std::path::Path) -> String {
    path.display().to_string()
}

fn tally(Tally { files, bytes, elapsed: elapsed_ns }: Tally) -> TallyView {
    let seconds = elapsed_ns.as_secs_f64();
    let bytes_per_second = bytes.per(elapsed_ns.duration());
    let files_per_second = if seconds > 0.0 { files as f64 / seconds } else { 0.0 };
    TallyView { files, bytes, elapsed_ns, bytes_per_second, files_per_second }
}

fn sentence(result: &CopyResult) -> String {
    let Some((side, share)) = result.limit().filter(|_| result.small.files + result.large.files > 0) else {
        return "No file was copied.".to_owned();
    };
    let (what, did) = match side {
        Side::Source => ("Reading the source limits", "waited for that"),
        Side::Destination => {
            ("Writing to the destination limits", "waited for that, and for data to become durable")
        }
        Side::Verification => ("Reading the destination back limits", "waited for that. See --no-verify"),
        Side::Metadata => {
            ("Names and attributes limit", "waited for opens, creates, renames and directories")
        }
        Side::Contention => ("Other programs limit", "was ready to go on while processors worked for them"),
        Side::Processor => ("The processor limits", "computed"),
    };
    format!("{what} this copy: {} of its time it {did}.", human::percent(share))
}

fn notes(result: &CopyResult, moved: &Moved) -> Vec<String> {
    let buffered = "The file system of DST has no direct I/O for some files: what was read back may have come from memory.";
    let is_buffered = result.read_back.is_some_and(|back| back.advised > 0);
    let lost = |count: u64, what: &str| {
        let why = "which DST cannot hold or this user may not set";
        (count > 0).then(|| format!("{count} names lost {what}, {why}."))
    };
    let notes = [
        cache_note(result, moved),
        is_buffered.then(|| buffered.to_owned()),
        lost(result.lost_owners, "their owner"),
        lost(result.lost_xattrs, "extended attributes"),
    ];
    notes.into_iter().flatten().collect()
}

/// What the devices of the source did not read came from memory. On a device that holds both ends, what was read back is
/// taken off first.
fn cache_note(result: &CopyResult, moved: &Moved) -> Option<String> {
    let copied = result.bytes();
    if copied.get() == 0 {
        return None;
    }
    if moved.source.is_empty() {
        let why = "SRC is on no block device here: what a server or memory did cannot be seen.";
        return Some(why.to_owned());
    }
    let is_shared =
        moved.source.iter().any(|one| moved.destination.iter().any(|other| other.name == one.name));
    let read: Bytes = moved.source.iter().map(|device| device.read_bytes).sum();
    let is_back = is_shared && result.read_back.is_some_and(|back| back.direct > 0);
    let read = read.saturating_sub(if is_back { copied } else { Bytes::new(0) });
    (read.as_f64() < copied.as_f64() * FROM_DEVICE).then(|| {
        format!(
            "The page cache served the source: its device read only {read} of {copied}. The rate of a first copy may be lower."
        )
    })
}

fn failure(fault: &Fault) -> FailureView {
    let (offset, length) = match fault.why {
        Why::Mismatch { offset, length } => (Some(offset), Some(length)),
        _ => (None, None),
    };
    let (code, reason) = (fault.why.code().into(), fault.why.to_string());
    FailureView { path: name(&fault.path), code, reason, offset, length }
}

/// Names that are listed one by one; the rest is counted, and in the JSON.
const MOST_NAMES: usize = 20;
/// Columns of a name and of the numbers behind it: files, size, time, rate.
const NAME: usize = 18;
const COLUMNS: [(&str, usize); 4] = [("files", 9), ("size", 11), ("time", 11), ("rate", 12)];

/// The report as a document.
pub fn document(report: &CopyReport, audience: Audience) -> Document {
    let title = format!("{} → {}", report.source, report.destination);
    let mut out = Document::new("copy", &title, None);
    answer(report).put(&mut out);
    out.gap();
    out.part(Place::Data, "What was copied");
    out.heading(title);
    out.add(Block::Table(table(report)));
    out.says(2, Tone::Normal, Some(others(report)).filter(|others| !others.is_empty()));
    out.gap();
    out.part(Place::Data, "");
    out.heading("Time of the copying threads");
    out.add(Block::Table(time(&report.time)));
    for (side, devices) in [("SRC", &report.source_devices), ("DST", &report.destination_devices)] {
        let said = devices.iter().map(|DeviceView { name, read_bytes, written_bytes }| {
            format!("device {name} of {side}, whoever used it: read {read_bytes}, wrote {written_bytes}")
        });
        out.says(2, Tone::Faint, said);
    }
    out.say(2, Tone::Faint, how(report));
    out.leads((Tone::Warn, "! "), Tone::Normal, &report.notes);
    let skipped = report.skipped.iter().map(|skipped| format!("{}: {}", skipped.path, skipped.what));
    names(&mut out, ("Not copied by design", Tone::Normal), skipped.collect());
    let failed = report.failures.iter().map(|failure| format!("{}: {}", failure.path, failure.reason));
    names(&mut out, ("Not copied", Tone::Bad), failed.collect());
    let goes_on = report.manifest.iter().map(|file| format!("--resume goes on from here (kept in {file})"));
    out.says(0, Tone::Normal, goes_on);
    out.figures(Place::Charts, chart::time_budget(report));
    if audience == Audience::Public { out.scrubbed() } else { out }
}

/// What was copied at what rate, and what to do about what limits.
pub(crate) fn answer(report: &CopyReport) -> Answer {
    let TallyView { files, bytes, bytes_per_second: rate, .. } = report.files;
    let moved = format!("{} files ({bytes}) in {}: {rate}.", human::grouped(files), report.elapsed_ns);
    Answer { sentence: format!("{} {moved}", report.sentence), todo: vec![after_copy(report)] }
}

/// What to do about the side that a copy waited for.
fn after_copy(report: &CopyReport) -> String {
    let look = |target: &str| {
        format!("`narrows measure {}` names the narrowest hop of that side.", shell::path(target))
    };
    let archive = "Fewer and larger files (an archive) spend less time on names and attributes.";
    let quiet = "Copy while nothing else uses the processors, and compare the two times.";
    step(match report.limit.as_ref().map(|limit| limit.side.as_ref()) {
        Some("source") => look(&report.source),
        Some("destination" | "verification") => look(&report.destination),
        Some("metadata") => archive.to_owned(),
        Some("processor" | "contention") => quiet.to_owned(),
        _ => return "No file was copied, so nothing limited it.".to_owned(),
    })
}

fn table(report: &CopyReport) -> Table {
    let mut columns = vec![Column::name("", Width::Fixed(NAME))];
    columns.extend(COLUMNS.map(|(title, width)| Column::right(title, width)));
    columns.push(Column::left("", Width::Flex(0)));
    let mut table = Table::new("Files by size", 2, columns).untitled();
    let rows = [
        (Tone::Strong, "all files", &report.files, true),
        (Tone::Normal, "files ≥ 1 MiB", &report.large, false),
        (Tone::Normal, "smaller files", &report.small, true),
    ];
    for (tone, name, tally, is_counted) in rows {
        let (files, size) = (human::grouped(tally.files), human::bytes(tally.bytes));
        let (time, rate) = (human::time(tally.elapsed_ns), human::rate(tally.bytes_per_second));
        let each = (is_counted && tally.files > 0).then(|| human::count(tally.files_per_second));
        let each = each.map(|count| format!("{count} files/s"));
        table.texts(tone, [name.to_owned(), files, size, time, rate].into_iter().chain(each));
    }
    table
}

fn others(report: &CopyReport) -> String {
    let some = |count: u64, text: String| (count > 0).then_some(text);
    let CopyReport { directories, symlinks, hard_links, earlier_files, earlier_bytes: bytes, .. } = report;
    let parts = [
        some(*directories, format!("{directories} directories")),
        some(*symlinks, format!("{symlinks} symbolic links")),
        some(*hard_links, format!("{hard_links} hard links")),
        some(*earlier_files, format!("{earlier_files} files of an earlier run")),
        some(bytes.get(), format!("{bytes} written by an earlier run")),
    ];
    known_of(parts, " · ")
}

fn time(time: &Spent) -> Table {
    let parts = [
        ("waiting for SRC", time.read),
        ("waiting for DST", time.write),
        ("reading DST back", time.verify),
        ("names, attributes", time.metadata),
        ("processor", time.cpu),
        ("checksums", time.checksum),
        ("in processor queue", time.queue),
    ];
    let total: u64 = parts.iter().map(|(_, span)| span.get()).sum();
    let largest = parts.iter().map(|(_, span)| *span).max().unwrap_or_default();
    let columns = vec![
        Column::name("what", Width::Fixed(NAME)),
        Column::right("time", COLUMNS[0].1),
        Column::right("part", COLUMNS[1].1),
    ];
    let mut table = Table::new("Time of the copying threads", 2, columns).untitled();
    for (what, span) in parts.into_iter().filter(|(_, span)| *span > Nanos::new(0)) {
        let part = human::percent(span.get() as f64 / total.max(1) as f64);
        let tone = if span == largest { Tone::Warn } else { Tone::Normal };
        table.texts(tone, [what.to_owned(), human::time(span), part]);
    }
    table
}

fn how(report: &CopyReport) -> String {
    let verified = report.verification.map_or("not verified".to_owned(), |ReadBack { direct, advised }| {
        let dropped = format!(", {advised} after asking the kernel to drop them from its cache");
        let dropped = if advised > 0 { dropped.as_str() } else { "" };
        format!("verified: {direct} files read back with O_DIRECT{dropped}")
    });
    let [user, system] = [report.user_ns, report.system_ns].map(human::time);
    format!("{} · processor {user} user, {system} system · {verified}", report.engine)
}

fn names(out: &mut impl Blocks, (title, tone): (&str, Tone), names: Vec<String>) {
    if !names.is_empty() {
        out.say(0, tone, format!("{title}: {}", names.len()));
        out.first(MOST_NAMES, (Tone::Normal, "  "), Tone::Normal, &names, ", see --json");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_report::document::Style;
    use unicode_width::UnicodeWidthStr;

    fn render(report: &CopyReport, style: &Style) -> String {
        document(report, Audience::of(style)).text(style)
    }

    fn result() -> CopyResult {
        let millis = Nanos::from_millis;
        CopyResult {
            small: Tally { files: 2000, bytes: Bytes::new(8_000_000), elapsed: millis(500) },
            large: Tally { files: 4, bytes: Bytes::new(2_000_000_000), elapsed: millis(3500) },
            directories: 12,
            hard_links: 1,
            spent: Spent {
                read: millis(500),
                write: millis(2500),
                verify: millis(800),
                metadata: millis(100),
                cpu: millis(900),
                checksum: millis(200),
                queue: Nanos::new(0),
            },
            cpu: (millis(300), millis(800)),
            processors: 2,
            elapsed: millis(4000),
            read_back: Some(ReadBack { direct: 2004, advised: 0 }),
            engine: "io_uring".to_owned(),
            skipped: vec![("/src/pipe\u{1b}[2J".into(), "a pipe")],
            faults: vec![
                Fault { path: "/dst/a\nb".into(), why: Why::Exists },
                Fault {
                    path: "/dst/big".into(),
                    why: Why::Mismatch { offset: Bytes::from_mib(7), length: Bytes::from_mib(1) },
                },
            ],
            ..CopyResult::default()
        }
    }

    fn report() -> CopyReport {
        let device = DeviceView {
            name: "sda".to_owned(),
            read_bytes: Bytes::new(100_000_000),
            written_bytes: Bytes::new(2_010_000_000),
        };
        let other = DeviceView { name: "sdb".to_owned(), ..device.clone() };
        build("/src", "/dst", &result(), Moved { source: vec![device], destination: vec![other] })
    }

    fn style(width: usize) -> Style {
        Style { colour: false, width, unicode: true, plain: false, verbose: false }
    }

    #[test]
    fn a_copy_at_100_columns() {
        insta::assert_snapshot!(render(&report(), &style(100)));
    }

    #[test]
    fn hostile_names_are_inert_and_no_line_is_too_wide() {
        for style in [style(80), style(100)] {
            let text = render(&report(), &style);
            assert!(!text.contains('\x1b') && text.contains("/src/pipe\\x1b[2J"), "{text}");
            assert!(text.contains("/dst/a\\nb: is there already"), "{text}");
            assert!(text.lines().all(|line| line.width() <= style.width), "{text}");
        }
        let public = render(&report(), &Style::PLAIN);
        assert!(public.is_ascii() && !public.contains('\x1b') && !public.contains("/src"), "{public}");
        assert!(public.lines().all(|line| line.width() <= Style::PLAIN.width), "{public}");
    }

    #[test]
    fn a_source_that_was_in_memory_is_told() {
        let report = report();
        assert!(
            report.notes.iter().any(|note| note.starts_with("The page cache served the source")),
            "{report:?}"
        );
        let limit = report.limit.as_ref().map(|limit| (&*limit.side, limit.share));
        assert_eq!(limit, Some(("destination", 0.5)));
        // 2.008 GB in 4 s.
        assert_eq!(report.files.bytes_per_second.get(), 502_000_000.0);
    }

    #[test]
    fn what_is_read_back_from_a_shared_device_is_not_taken_for_the_source() {
        let both = |read| {
            let (name, written) = ("vda".to_owned(), Bytes::new(0));
            let device = DeviceView { name, read_bytes: Bytes::new(read), written_bytes: written };
            let report =
                build("a", "b", &result(), Moved { source: vec![device.clone()], destination: vec![device] });
            report.notes.len()
        };
        assert_eq!((both(2_008_000_000), both(4_016_000_000)), (1, 0));
    }

    #[test]
    fn many_names_are_counted() {
        let fault = |number| Fault { path: format!("/d/{number}").into(), why: Why::Exists };
        let result = CopyResult { faults: (0..100).map(fault).collect(), ..result() };
        let text = render(&build("a", "b", &result, Moved::default()), &style(100));
        assert!(text.contains("Not copied: 100") && text.contains("and 80 more, see --json"), "{text}");
    }
}
