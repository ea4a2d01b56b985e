//! The terminal view of a copy.

use super::{CopyReport, DeviceView, TallyView, TimeView};
use crate::text::{Line, Style, Tone, paragraph};
use narrows_base::units::{Bytes, Nanos, human};

/// Names that are listed one by one; the rest is counted, and in the JSON.
const MOST_NAMES: usize = 20;
/// Where the columns of the table end: files, size, time, rate.
const COLUMNS: [usize; 4] = [29, 40, 51, 63];

/// The report as text. It ends with a newline.
pub fn render(report: &CopyReport, style: &Style) -> String {
    let mut out = String::new();
    let title = format!("{} → {}", report.source, report.destination);
    paragraph(&mut out, style, (Tone::Normal, ""), Tone::Strong, &title);
    paragraph(&mut out, style, (Tone::Normal, "  "), Tone::Strong, &report.sentence);
    out.push('\n');
    table(&mut out, style, report);
    let others = others(report);
    if !others.is_empty() {
        paragraph(&mut out, style, (Tone::Normal, "  "), Tone::Normal, &others);
    }
    out.push_str("\nTime of the copying threads\n");
    time(&mut out, style, &report.time);
    devices(&mut out, style, report);
    paragraph(&mut out, style, (Tone::Normal, "  "), Tone::Faint, &how(report));
    for note in &report.notes {
        paragraph(&mut out, style, (Tone::Warn, "! "), Tone::Normal, note);
    }
    let skipped = report.skipped.iter().map(|skipped| format!("{}: {}", skipped.path, skipped.what));
    names(&mut out, style, ("Not copied by design", Tone::Normal), skipped.collect());
    let failed = report.failures.iter().map(|failure| format!("{}: {}", failure.path, failure.reason));
    names(&mut out, style, ("Not copied", Tone::Bad), failed.collect());
    if let Some(manifest) = &report.manifest {
        let text = format!("--resume goes on from here (kept in {manifest})");
        paragraph(&mut out, style, (Tone::Normal, ""), Tone::Normal, &text);
    }
    out
}

fn table(out: &mut String, style: &Style, report: &CopyReport) {
    let mut row = |tone, name: &str, tally: &TallyView| {
        let cells = [
            human::count(tally.files as f64),
            human::bytes(tally.bytes),
            human::time(tally.elapsed_ns),
            human::rate(tally.bytes_per_second),
        ];
        let mut line = Line::new(style);
        line.put(tone, &format!("  {name}"));
        for (cell, end) in cells.iter().zip(COLUMNS) {
            line.put_right(tone, cell, end);
        }
        if tally.files > 0 && name != "files ≥ 1 MiB" {
            line.put(tone, &format!("  {} files/s", human::count(tally.files_per_second)));
        }
        line.end(out);
    };
    row(Tone::Strong, "all files", &report.files);
    row(Tone::Normal, "files ≥ 1 MiB", &report.large);
    row(Tone::Normal, "smaller files", &report.small);
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

fn time(out: &mut String, style: &Style, time: &TimeView) {
    let parts = [
        ("waiting for SRC", time.read_wait_ns),
        ("waiting for DST", time.write_wait_ns),
        ("reading DST back", time.verify_wait_ns),
        ("names, attributes", time.metadata_wait_ns),
        ("processor", time.cpu_ns),
        ("checksums", time.checksum_ns),
        ("in processor queue", time.queue_ns),
    ];
    let total: u64 = parts.iter().map(|(_, span)| span.get()).sum();
    let largest = parts.iter().map(|(_, span)| *span).max().unwrap_or_default();
    for (what, span) in parts.into_iter().filter(|(_, span)| *span > Nanos::new(0)) {
        let tone = if span == largest { Tone::Warn } else { Tone::Normal };
        let mut line = Line::new(style);
        line.put(tone, &format!("  {what}"));
        line.put_right(tone, &human::time(span), COLUMNS[0]);
        line.put_right(tone, &human::percent(span.get() as f64 / total.max(1) as f64), COLUMNS[1]);
        line.end(out);
    }
}

fn devices(out: &mut String, style: &Style, report: &CopyReport) {
    for (side, devices) in [("SRC", &report.source_devices), ("DST", &report.destination_devices)] {
        for DeviceView { name, read_bytes, written_bytes } in devices {
            let text = format!(
                "device {name} of {side}, whoever used it: read {}, wrote {}",
                human::bytes(*read_bytes),
                human::bytes(*written_bytes)
            );
            paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, &text);
        }
    }
}

fn how(report: &CopyReport) -> String {
    let back = report.verification;
    let verified = match (back.verified, back.advised_files) {
        (false, _) => "not verified".to_owned(),
        (true, 0) => format!("verified: {} files read back with O_DIRECT", back.direct_files),
        (true, advised) => format!(
            "verified: {} files read back with O_DIRECT, {advised} after asking the kernel to drop them from its cache",
            back.direct_files
        ),
    };
    let (user, system) = (human::time(report.user_ns), human::time(report.system_ns));
    format!("{} · processor {user} user, {system} system · {verified}", report.engine)
}

fn names(out: &mut String, style: &Style, (title, tone): (&str, Tone), names: Vec<String>) {
    if names.is_empty() {
        return;
    }
    paragraph(out, style, (Tone::Normal, ""), tone, &format!("{title}: {}", names.len()));
    for name in names.iter().take(MOST_NAMES) {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Normal, name);
    }
    if names.len() > MOST_NAMES {
        let text = format!("and {} more, see --json", names.len() - MOST_NAMES);
        paragraph(out, style, (Tone::Normal, "  "), Tone::Normal, &text);
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
        for style in [style(80), style(100), Style::PLAIN] {
            let text = render(&report(), &style);
            assert!(!text.contains('\x1b') && text.contains("/src/pipe\\x1b[2J"), "{text}");
            assert!(text.contains("/dst/a\\nb: is there already"), "{text}");
            assert!(text.lines().all(|line| line.width() <= style.width), "{text}");
        }
        assert!(render(&report(), &Style::PLAIN).is_ascii());
    }

    #[test]
    fn a_source_that_was_in_memory_is_told() {
        let report = report();
        assert!(
            report.notes.iter().any(|note| note.starts_with("The page cache served the source")),
            "{report:?}"
        );
        assert_eq!(report.limit.map(|limit| (limit.side, limit.share)), Some(("destination", 0.5)));
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
