//! The terminal view of a copy.

use super::{CopyReport, DeviceView, TallyView};
use crate::answer;
use crate::document::table::Width;
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Table};
use crate::figure::chart;
use crate::text::{Style, Tone};
use narrows_base::units::{Bytes, Nanos, human};
use narrows_load::copy::{ReadBack, Spent};

/// Names that are listed one by one; the rest is counted, and in the JSON.
const MOST_NAMES: usize = 20;
/// Columns of a name and of the numbers behind it: files, size, time, rate.
const NAME: usize = 18;
const COLUMNS: [(&str, usize); 4] = [("files", 9), ("size", 11), ("time", 11), ("rate", 12)];

/// The report as text. It ends with a newline.
pub fn render(report: &CopyReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

/// The report as a document.
pub fn document(report: &CopyReport, audience: Audience) -> Document {
    let title = format!("{} → {}", report.source, report.destination);
    let mut out = Document::new("copy", &title, None);
    answer::copy(report).put(&mut out);
    out.gap();
    out.part(Place::Data, "What was copied");
    out.heading(title);
    out.add(Block::Table(table(report)));
    let others = others(report);
    if !others.is_empty() {
        out.say(2, Tone::Normal, others);
    }
    out.gap();
    out.part(Place::Data, "");
    out.heading("Time of the copying threads");
    out.add(Block::Table(time(&report.time)));
    devices(&mut out, report);
    out.say(2, Tone::Faint, how(report));
    for note in &report.notes {
        out.lead((Tone::Warn, "! "), Tone::Normal, note);
    }
    let skipped = report.skipped.iter().map(|skipped| format!("{}: {}", skipped.path, skipped.what));
    names(&mut out, ("Not copied by design", Tone::Normal), skipped.collect());
    let failed = report.failures.iter().map(|failure| format!("{}: {}", failure.path, failure.reason));
    names(&mut out, ("Not copied", Tone::Bad), failed.collect());
    if let Some(manifest) = &report.manifest {
        out.say(0, Tone::Normal, format!("--resume goes on from here (kept in {manifest})"));
    }
    out.figures(Place::Charts, chart::time_budget(report));
    if audience == Audience::Public { out.scrubbed() } else { out }
}

fn table(report: &CopyReport) -> Table {
    let mut columns = vec![Column::name("", Width::Fixed(NAME))];
    columns.extend(COLUMNS.map(|(title, width)| Column::right(title, width)));
    columns.push(Column::left("", Width::Flex(0)));
    let mut table = Table::new("Files by size", 2, columns).untitled();
    let mut row = |tone, name: &str, tally: &TallyView| {
        let mut cells = vec![
            Cell::text(name),
            Cell::text(human::count(tally.files as f64)),
            Cell::text(human::bytes(tally.bytes)),
            Cell::text(human::time(tally.elapsed_ns)),
            Cell::text(human::rate(tally.bytes_per_second)),
        ];
        if tally.files > 0 && name != "files ≥ 1 MiB" {
            cells.push(Cell::text(format!("{} files/s", human::count(tally.files_per_second))));
        }
        table.row(cells.into_iter().map(|cell| cell.tone(tone)).collect());
    };
    row(Tone::Strong, "all files", &report.files);
    row(Tone::Normal, "files ≥ 1 MiB", &report.large);
    row(Tone::Normal, "smaller files", &report.small);
    table
}

fn others(report: &CopyReport) -> String {
    let counts = [
        (report.directories, "directories"),
        (report.symlinks, "symbolic links"),
        (report.hard_links, "hard links"),
        (report.earlier_files, "files of an earlier run"),
    ];
    let mut parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if report.earlier_bytes > Bytes::new(0) {
        parts.push(format!("{} written by an earlier run", human::bytes(report.earlier_bytes)));
    }
    parts.join(" · ")
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
        let cells = [what.to_owned(), human::time(span), part].map(Cell::text);
        let tone = if span == largest { Tone::Warn } else { Tone::Normal };
        table.row(cells.into_iter().map(|cell| cell.tone(tone)).collect());
    }
    table
}

fn devices(out: &mut impl Blocks, report: &CopyReport) {
    for (side, devices) in [("SRC", &report.source_devices), ("DST", &report.destination_devices)] {
        for DeviceView { name, read_bytes, written_bytes } in devices {
            let text = format!(
                "device {name} of {side}, whoever used it: read {}, wrote {}",
                human::bytes(*read_bytes),
                human::bytes(*written_bytes)
            );
            out.say(2, Tone::Faint, text);
        }
    }
}

fn how(report: &CopyReport) -> String {
    let verified = match report.verification {
        None => "not verified".to_owned(),
        Some(ReadBack { direct, advised: 0 }) => format!("verified: {direct} files read back with O_DIRECT"),
        Some(ReadBack { direct, advised }) => format!(
            "verified: {direct} files read back with O_DIRECT, {advised} after asking the kernel to drop them from its cache"
        ),
    };
    let (user, system) = (human::time(report.user_ns), human::time(report.system_ns));
    format!("{} · processor {user} user, {system} system · {verified}", report.engine)
}

fn names(out: &mut impl Blocks, (title, tone): (&str, Tone), names: Vec<String>) {
    if names.is_empty() {
        return;
    }
    out.say(0, tone, format!("{title}: {}", names.len()));
    for name in names.iter().take(MOST_NAMES) {
        out.say(2, Tone::Normal, name);
    }
    if names.len() > MOST_NAMES {
        let text = format!("and {} more, see --json", names.len() - MOST_NAMES);
        out.say(2, Tone::Normal, text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Moved, build};
    use super::*;
    use narrows_load::copy::{CopyResult, Fault, ReadBack, Spent, Tally, Why};
    use unicode_width::UnicodeWidthStr;

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
        Style { colour: false, width, unicode: true, plain: false }
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
