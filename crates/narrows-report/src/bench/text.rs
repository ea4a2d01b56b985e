//! The terminal view of a bench report: one row for each test and direction, what to doubt below it.

use super::{
    BenchReport, Checks, FioResult, FioSide, PathCeiling, PeerView, SideView, TestResult, chart, writes,
};
use crate::text::{Line, Style, Tone, fit, paragraph, percentiles};
use crate::view::ConditionView;
use narrows_base::units::{Nanos, human};
use narrows_load::preset::{Preset, StopRule, Test};

/// The margin of what is said of a test.
const DETAIL: &str = "    ";
/// From this part of a core on the kernel's workers for our rings are worth a word.
const SHOWN_IO_WORKERS: f64 = 0.01;
/// Columns of `read` and `write` behind the name.
const DIRECTION: usize = 6;
/// The columns of the table after the name: title and width.
const COLUMNS: [(&str, usize); 7] =
    [("rate", 12), ("±", 9), ("IOPS", 9), ("p50", 10), ("p99", 10), ("p99.9", 10), ("of ceiling", 12)];
/// What gives way when the page is narrow, first to last.
const GIVE_WAY: [&str; 5] = ["p50", "IOPS", "p99.9", "±", "p99"];

/// Where the columns are.
struct Table {
    /// Columns of the name.
    name: usize,
    /// Whether each of [`COLUMNS`] is shown.
    shown: [bool; COLUMNS.len()],
}

impl Table {
    /// A table that fits on the page.
    fn new(style: &Style, report: &BenchReport) -> Self {
        let longest = report.results.iter().map(|result| result.name.chars().count()).max().unwrap_or(0);
        let mut table = Self { name: longest.clamp(12, 26), shown: [true; COLUMNS.len()] };
        for title in GIVE_WAY {
            if table.width() > style.width
                && let Some(at) = COLUMNS.iter().position(|(column, _)| *column == title)
                && let Some(shown) = table.shown.get_mut(at)
            {
                *shown = false;
            }
        }
        table
    }

    fn width(&self) -> usize {
        let columns: usize =
            COLUMNS.iter().zip(self.shown).filter(|(_, shown)| *shown).map(|((_, width), _)| width).sum();
        self.name + DIRECTION + columns
    }

    /// Puts a cell into each column that is shown.
    fn cells(&self, line: &mut Line<'_>, cells: [(Tone, String); COLUMNS.len()]) {
        let mut end = self.name + DIRECTION;
        for (((tone, text), (_, width)), shown) in cells.into_iter().zip(COLUMNS).zip(self.shown) {
            if shown {
                end += width;
                line.put_right(tone, &text, end);
            }
        }
    }
}

/// The report as text. It ends with a newline.
pub fn render(report: &BenchReport, style: &Style) -> String {
    let mut out = String::new();
    header(&mut out, style, report);
    let table = Table::new(style, report);
    titles(&mut out, style, &table);
    for result in &report.results {
        put_result(&mut out, style, result, &table);
    }
    left_out(&mut out, style, report);
    if let Some(written) = &report.writes {
        let is_device = report.target.kind == super::TargetKind::OwnedDevice;
        writes::put(&mut out, style, written, is_device);
    }
    commands(&mut out, style, report);
    if let Some(reason) = report.reason.as_ref().filter(|_| !report.complete) {
        out.push('\n');
        paragraph(&mut out, style, (Tone::Warn, "not complete: "), Tone::Normal, reason);
    }
    out
}

/// What presets there are.
pub fn list(presets: &[Preset], style: &Style) -> String {
    let mut out = String::new();
    for preset in presets {
        let changes = preset.tests.iter().any(Test::writes);
        paragraph(
            &mut out,
            style,
            (Tone::Strong, &format!("{:<15} ", preset.name)),
            Tone::Normal,
            preset.about,
        );
        let lead = (Tone::Normal, "                ");
        paragraph(&mut out, style, lead, Tone::Faint, &format!("from: {}", preset.source));
        paragraph(&mut out, style, lead, Tone::Faint, &format!("differs: {}", preset.differs));
        let count = preset.tests.len();
        let scratch = if changes {
            "writes to a scratch file; its writes are left out on a device, unless --write"
        } else {
            "only reads"
        };
        paragraph(&mut out, style, lead, Tone::Faint, &format!("{count} tests; {scratch}"));
    }
    out
}

fn header(out: &mut String, style: &Style, report: &BenchReport) {
    paragraph(
        out,
        style,
        (Tone::Strong, &format!("{}: ", report.preset.name)),
        Tone::Normal,
        &report.preset.about,
    );
    let size = human::block_size(report.target.size_bytes);
    let what = match report.target.kind {
        super::TargetKind::Device => format!("the device {} ({size}), only read", report.target.name),
        super::TargetKind::File => format!("the file {} ({size}), only read", report.target.name),
        super::TargetKind::Scratch => format!("a scratch file of {size} for {}", report.target.name),
        super::TargetKind::OwnedDevice => {
            format!("{size} of the device {}, read and written behind its first MiB", report.target.name)
        }
    };
    let stop = match report.settings.stop {
        StopRule::Precision => format!(
            "each test until ± {}, {} at most",
            human::percent(report.settings.precision),
            human::time(report.settings.max_time_ns)
        ),
        StopRule::Seconds(seconds) => format!("each test for {seconds} s at most"),
        StopRule::SteadyRounds(seconds) => {
            format!("each test in rounds of {seconds} s until five are steady")
        }
    };
    paragraph(out, style, (Tone::Faint, ""), Tone::Faint, &format!("{what}; {stop}"));
    in_batches(out, style, report.settings.batch);
    paragraph(
        out,
        style,
        (Tone::Faint, ""),
        Tone::Faint,
        &format!("unlike the original: {}", report.preset.differs),
    );
    let quirk = report.results.iter().find_map(|result| {
        let peer = result.peer.as_ref()?;
        Some(format!("{}: {}", peer.tool, peer.quirk.as_ref()?))
    });
    if let Some(quirk) = quirk {
        paragraph(out, style, (Tone::Faint, ""), Tone::Faint, &quirk);
    }
    ceiling(out, style, "read", report.ceilings.read.as_ref());
    ceiling(out, style, "write", report.ceilings.write.as_ref());
    out.push('\n');
}

/// What batches do to latencies, where there are any.
pub(super) fn in_batches(out: &mut String, style: &Style, most: Option<u32>) {
    if let Some(most) = most {
        let text = format!(
            "in batches of up to {most} I/Os (B), for the highest rate: each latency includes the wait for its batch"
        );
        paragraph(out, style, (Tone::Faint, ""), Tone::Faint, &text);
    }
}

fn ceiling(out: &mut String, style: &Style, direction: &str, ceiling: Option<&PathCeiling>) {
    let Some(ceiling) = ceiling else { return };
    let text = format!("{} at {}", human::rate_with_binary(ceiling.bytes_per_second), ceiling.name);
    paragraph(out, style, (Tone::Faint, &format!("path ceiling, {direction}: ")), Tone::Normal, &text);
}

fn titles(out: &mut String, style: &Style, table: &Table) {
    let mut line = Line::new(style);
    line.put(Tone::Faint, "test");
    table.cells(&mut line, COLUMNS.map(|(title, _)| (Tone::Faint, title.to_owned())));
    line.end(out);
}

fn put_result(out: &mut String, style: &Style, result: &TestResult, table: &Table) {
    let sides = [("read", &result.read), ("write", &result.write), ("trim", &result.trim)];
    let mut first = true;
    for (direction, side) in sides {
        // A rate of nothing over no time is no rate.
        if let Some(side) = side.as_ref().filter(|_| result.elapsed_ns.get() > 0) {
            let shown = if first { result.name.as_str() } else { "" };
            row(out, style, shown, direction, side, table);
            first = false;
        }
    }
    if first {
        // It could not begin.
        paragraph(out, style, (Tone::Normal, ""), Tone::Normal, &result.name);
    }
    for (direction, side) in sides {
        if let Some(side) = side.as_ref().filter(|side| side.latency_ns.count > 0) {
            let text = format!("{direction} latency {}", percentiles(&side.latency_ns));
            paragraph(out, style, (Tone::Normal, DETAIL), Tone::Normal, &text);
        }
    }
    details(out, style, result);
    if let Some(scan) = &result.scan {
        for line in chart::by_position(scan, style) {
            out.push_str(&line);
            out.push('\n');
        }
        if let (Some(median), Some(slowest), Some(access)) =
            (scan.rate_at(0.5), scan.rate_at(0.0), scan.mean_access())
        {
            let text = format!(
                "{} samples: median {}, slowest {}; {} accesses: mean {}",
                scan.rates.len(),
                human::rate(median),
                human::rate(slowest),
                scan.accesses.len(),
                human::time(access)
            );
            paragraph(out, style, (Tone::Normal, DETAIL), Tone::Normal, &text);
        }
    }
}

fn row(out: &mut String, style: &Style, test: &str, direction: &str, side: &SideView, table: &Table) {
    let mut line = Line::new(style);
    line.put(Tone::Normal, &fit(style, test, table.name)).pad_to(table.name + 1);
    line.put(Tone::Faint, direction);
    let interval = side.ci95.map_or_else(
        || "–".to_owned(),
        |[low, high]| human::percent((high - low).fraction_of(side.bytes_per_second) / 2.0),
    );
    let latency = &side.latency_ns;
    let time = |span: Option<Nanos>| span.map_or_else(|| "–".to_owned(), human::time);
    let cells = [
        human::rate(side.bytes_per_second),
        interval,
        human::count(side.iops.get()),
        time(latency.p50),
        time(latency.p99),
        time(latency.p999),
        side.of_ceiling.map_or_else(|| "–".to_owned(), human::percent),
    ];
    table.cells(&mut line, cells.map(|text| (Tone::Normal, text)));
    line.end(out);
}

fn details(out: &mut String, style: &Style, result: &TestResult) {
    let lead = (Tone::Normal, DETAIL);
    let mut parts: Vec<String> = vec![result.ended.clone()];
    parts.extend(result.checks.as_ref().map(in_words));
    if let Some(steady) = result.steadiness.filter(|steady| !steady.steady) {
        parts.push(format!("not steady (moved by {})", human::percent(steady.range)));
    }
    if !result.rounds.is_empty() {
        parts.push(format!("{} rounds, the figures are of the last", result.rounds.len()));
    }
    paragraph(out, style, lead, Tone::Faint, &parts.join(" · "));
    if let Some(failed) = &result.failed {
        let text = format!("failed: {} ({})", failed.summary, failed.detail);
        paragraph(out, style, lead, Tone::Bad, &text);
        paragraph(out, style, (Tone::Normal, "    hint: "), Tone::Normal, &failed.hint);
    }
    match result.trusted {
        Some(true) => paragraph(out, style, lead, Tone::Good, "trusted"),
        Some(false) => paragraph(out, style, lead, Tone::Bad, "not trusted"),
        None => {}
    }
    let condition = result.checks.as_ref().and_then(|checks| checks.condition.as_ref());
    for trouble in condition.iter().flat_map(|condition| condition.troubles()) {
        paragraph(out, style, lead, Tone::Warn, &trouble);
    }
    for note in &result.findings {
        paragraph(out, style, lead, Tone::Warn, &format!("{}: {}", note.code.as_str(), note.summary));
    }
    if result.errors > 0 {
        let first = result.first_error.as_deref().unwrap_or("no text");
        paragraph(out, style, lead, Tone::Bad, &format!("{} I/Os failed, the first: {first}", result.errors));
    }
    if let Some(peer) = &result.peer {
        paragraph(out, style, lead, Tone::Normal, &shown_by(peer));
    }
    if let Some(fio) = &result.fio {
        beside(out, style, result, fio);
    }
}

/// The self-checks of the generator in one line.
fn in_words(checks: &Checks) -> String {
    let mut parts = Vec::new();
    if let Some(part) = checks.in_flight_of_asked {
        parts.push(format!("queue {} full", human::percent(part)));
    }
    if let Some(part) = checks.recorded_of_completed {
        parts.push(format!("{} of latencies recorded", human::percent(part)));
    }
    if let Some(part) = checks.device_of_asked {
        parts.push(format!("device moved {} of it", human::percent(part)));
    }
    parts.push(format!("generator {} of a core", human::percent(checks.generator.cpu)));
    let io_workers = checks.generator.io_workers;
    if io_workers >= SHOWN_IO_WORKERS {
        parts.push(format!("the kernel's workers for it (io-wq) {} of a core", human::percent(io_workers)));
    }
    parts.extend(
        checks
            .nop_ns_per_io
            .filter(|cost| *cost > 0.0)
            .map(|cost| format!("a core here can do {} IOPS", human::count(1e9 / cost))),
    );
    parts.push(format!("{} entries per 100 I/Os", human::count(checks.generator.enters_per_io * 100.0)));
    // What the kernel granted is in the JSON.
    let engine = &checks.generator.engine;
    parts.push(engine.name().to_owned());
    match &engine.not_polled {
        Some(why) => parts.push(format!("not polled: {why}")),
        None if engine.is_polled() => parts.push("polled".to_owned()),
        None => {}
    }
    parts.extend(checks.generator.trims_by.map(|method| method.as_str().to_owned()));
    parts.extend(checks.condition.iter().flat_map(ConditionView::in_words));
    parts.join(" · ")
}

fn shown_by(peer: &PeerView) -> String {
    let rates: Vec<String> = [("read", &peer.read), ("write", &peer.write)]
        .into_iter()
        .filter_map(|(direction, rate)| rate.as_ref().map(|rate| format!("{rate} {direction}")))
        .collect();
    format!("{} would show {}", peer.tool, rates.join(", "))
}

/// fio's numbers beside ours.
fn beside(out: &mut String, style: &Style, result: &TestResult, fio: &FioResult) {
    let name = fio.version.as_deref().unwrap_or("fio");
    let lead = (Tone::Normal, DETAIL);
    for (direction, ours, theirs) in [("read", &result.read, &fio.read), ("write", &result.write, &fio.write)]
    {
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            let text = format!("{name} {direction}: {}", compared(ours, theirs));
            paragraph(out, style, lead, Tone::Normal, &text);
        }
    }
    if let Some(reason) = &fio.reason {
        paragraph(out, style, lead, Tone::Warn, &format!("{name}: {reason}"));
    }
}

fn compared(ours: &SideView, theirs: &FioSide) -> String {
    let ratio = ours.bytes_per_second.fraction_of(theirs.bytes_per_second);
    let tails = [
        ("p99", ours.latency_ns.p99, theirs.p99_ns),
        ("p99.9", ours.latency_ns.p999, theirs.p999_ns),
        ("p99.99", ours.latency_ns.p9999, theirs.p9999_ns),
    ];
    let tails = tails.into_iter().filter_map(|(name, ours, theirs)| Some((name, ours?, theirs?)));
    let tails: String = tails
        .map(|(name, ours, theirs)| {
            format!(", {name} {} (narrows {})", human::time(theirs), human::time(ours))
        })
        .collect();
    format!(
        "{}, {} IOPS{tails}; narrows measured {} of its rate",
        human::rate(theirs.bytes_per_second),
        human::count(theirs.iops.get()),
        human::percent(ratio)
    )
}

/// Tests that were not run, those with the same reason together.
fn left_out(out: &mut String, style: &Style, report: &BenchReport) {
    let same_reason = report.left_out.chunk_by(|a, b| a.reason == b.reason);
    for (index, group) in same_reason.enumerate() {
        let names: Vec<&str> = group.iter().map(|left| left.name.as_str()).collect();
        let reason = group.first().map_or("", |left| left.reason.as_str());
        if index == 0 {
            out.push('\n');
        }
        let text = format!("{}: {reason}", names.join(", "));
        paragraph(out, style, (Tone::Warn, "left out: "), Tone::Normal, &text);
    }
}

/// The command lines of fio, whole, so that they can be copied.
fn commands(out: &mut String, style: &Style, report: &BenchReport) {
    if report.results.is_empty() || style.plain {
        return;
    }
    out.push('\n');
    paragraph(out, style, (Tone::Faint, ""), Tone::Faint, "The same tests with fio:");
    for result in &report.results {
        out.push_str(&result.fio_command);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::measurement::GeneratorUse;

    #[test]
    fn the_kernels_workers_are_named_where_they_did_something() {
        let words = |io_workers: f64| {
            let generator = GeneratorUse {
                cpu: 0.14,
                io_workers,
                engine: "io_uring (no extras)".to_owned().into(),
                ..Default::default()
            };
            in_words(&Checks {
                in_flight_of_asked: None,
                recorded_of_completed: None,
                device_of_asked: None,
                nop_ns_per_io: None,
                condition: None,
                generator,
                reason: None,
            })
        };
        assert_eq!(
            words(0.86),
            "generator 14 % of a core · the kernel's workers for it (io-wq) 86 % of a core · 0 entries per 100 I/Os · io_uring"
        );
        assert_eq!(words(0.001), "generator 14 % of a core · 0 entries per 100 I/Os · io_uring");
    }
}
