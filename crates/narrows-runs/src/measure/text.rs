//! The view of a bench report: one row for each test and direction, then the answer and the two main doubts. All else is shown when
//! it is asked for, and on a page.

use super::{
    Checks, MeasureReport, PathCeiling, PeerView, Settings, SideView, TargetKind, TestResult, answer, sweep,
};
use crate::chart;
use narrows_base::lists::{grouped, known_of};
use narrows_base::units::{Nanos, human};
use narrows_load::preset::{Preset, StopRule, Test};
use narrows_report::document::{
    Audience, Block, Blocks, Cell, Column, Document, Place, Row, Style, Table, Tone, Width, half,
};
use narrows_report::text::percentiles;
use narrows_report::view::ConditionView;
use narrows_session::writes::Account;

/// The margin of what is said of a test.
const DETAIL: usize = 4;
/// From this part of a core on the kernel's workers for our rings are worth a word.
const SHOWN_IO_WORKERS: f64 = 0.01;
/// The numbers of a test: title, columns, and at which turn it gives way where the page is narrow.
const COLUMNS: [(&str, usize, u8); 5] =
    [("rate", 11, 0), ("±", 8, 5), ("IOPS", 9, 3), ("p50", 9, 2), ("p99", 9, 4)];
/// So many doubts are told; the others when all is asked for.
const TOLD: usize = 2;

/// The report as a document.
pub fn document(report: &MeasureReport, audience: Audience) -> Document {
    let mut out = Document::new("measure", &report.target.name, Some(&report.tool));
    out.part(Place::Data, "What was run");
    header(&mut out, report);
    out.part(Place::Data, "Tests");
    if report.swept.is_empty() {
        out.add(Block::Table(tests(report)));
    } else {
        sweep::rates(&mut out, &report.points());
        out.verbose(|out| out.add(Block::Table(tests(report))));
        let cut = report.results.iter().filter(|result| !result.is_whole());
        cut.for_each(|result| failures(&mut out, result));
        sweep::shapes(&mut out, report);
    }
    left_out(&mut out, report);
    if let Some(written) = &report.writes {
        put_writes(&mut out, written, report.target.kind == TargetKind::OwnedDevice);
    }
    commands(&mut out, report);
    out.not_complete(report.reason.as_ref().filter(|_| !report.complete));
    let figures = match report.swept.is_empty() {
        true => chart::measure(report),
        false => chart::sweep_heat(report).into_iter().chain(chart::sweep_knee(report)).collect(),
    };
    out.figures(Place::Charts, figures);
    let answer = answer::measure(report);
    if let Some(answer) = &answer {
        out.gap();
        out.part(Place::Verdict, "");
        answer.put_sentence(&mut out, Tone::Strong);
    }
    doubts(&mut out, report);
    if let Some(answer) = &answer {
        out.part(Place::Next, "");
        answer.put_todo(&mut out);
    }
    if audience == Audience::Public { out.scrubbed() } else { out }
}

/// What there is to say against tests, each thing once, the most frequent first.
fn doubts(out: &mut Document, report: &MeasureReport) {
    let mut all = grouped(report.results.iter().flat_map(|result| {
        result.findings.iter().map(move |note| (note.code, (&result.name, &note.summary)))
    }));
    all.sort_by_key(|(_, said)| std::cmp::Reverse(said.len()));
    if all.is_empty() {
        return;
    }
    out.part(Place::Findings, "What there is to say against it");
    for (code, said) in all.iter().take(TOLD) {
        let [(test, summary), others @ ..] = said.as_slice() else { continue };
        let more = match others.len() {
            0 => String::new(),
            others => format!(" The same is so of {others} more."),
        };
        let lead = format!("{}: ", code.as_str());
        out.lead((Tone::Warn, &lead), Tone::Normal, format!("{test}: {summary}{more}"));
    }
    if let Some(more @ 1..) = all.len().checked_sub(TOLD) {
        out.say(0, Tone::Faint, format!("{more} more: --verbose"));
    }
}

/// A row for each test and direction.
fn tests(report: &MeasureReport) -> Table {
    let mut columns = vec![Column::name("test", Width::Fit(12, 32))];
    let numbers = COLUMNS.into_iter().map(|(title, width, turn)| Column::right(title, width).yields(turn));
    columns.extend(numbers);
    let sides = report.results.iter().flat_map(|result| [&result.read, &result.write]);
    if sides.flatten().any(|side| side.of_ceiling.is_some()) {
        columns.push(Column::right("of ceiling", 11).yields(1));
    }
    columns.push(Column::left("trusted", Width::Fixed(8)));
    let has_ceiling = columns.len() > COLUMNS.len() + 2;
    let mut table = Table::new("Tests and what they gave", 0, columns);
    report.results.iter().for_each(|result| put_result(&mut table, result, has_ceiling));
    table
}

/// What can be run: ways of our own, by name and in words, and the presets.
pub fn list(others: &[(&str, &str)], presets: &[Preset], style: &Style) -> String {
    let mut out = Document::new("measure", "what can be run", None);
    for (name, about) in others {
        out.lead((Tone::Strong, &format!("{name:<15} ")), Tone::Normal, *about);
    }
    for preset in presets {
        let changes = preset.tests.iter().any(Test::writes);
        out.lead((Tone::Strong, &format!("{:<15} ", preset.name)), Tone::Normal, preset.about);
        out.say(16, Tone::Faint, format!("from: {}", preset.source));
        out.say(16, Tone::Faint, format!("differs: {}", preset.differs));
        let scratch = match changes {
            true => "writes to a scratch file; its writes are left out on a device, unless --write",
            false => "only reads",
        };
        out.say(16, Tone::Faint, format!("{} tests; {scratch}", preset.tests.len()));
    }
    out.text(style)
}

fn header(out: &mut impl Blocks, report: &MeasureReport) {
    let size = human::block_size(report.target.size_bytes);
    let what = match report.target.kind {
        TargetKind::Device => format!("the device {} ({size}), only read", report.target.name),
        TargetKind::File => format!("the file {} ({size}), only read", report.target.name),
        TargetKind::Scratch => format!("a scratch file of {size} for {}", report.target.name),
        TargetKind::OwnedDevice => {
            format!("{size} of the device {}, read and written behind its first MiB", report.target.name)
        }
    };
    let Settings { precision, max_time_ns: most, .. } = report.settings;
    let stop = match (report.settings.duration_ns, report.settings.stop) {
        (Some(time), _) => format!("each test for {time}"),
        (None, StopRule::Precision) => {
            format!("each test until ± {}, {most} at most", human::percent(precision))
        }
        (None, StopRule::Seconds(seconds)) => format!("each test for {seconds} s at most"),
        (None, StopRule::SteadyRounds(seconds)) => {
            format!("each test in rounds of {seconds} s until five are steady")
        }
    };
    out.lead((Tone::Strong, &format!("{}: ", report.preset.name)), Tone::Normal, format!("{what}; {stop}"));
    out.verbose(|out| {
        out.say(0, Tone::Normal, &report.preset.about);
        out.lead((Tone::Faint, ""), Tone::Faint, format!("unlike the original: {}", report.preset.differs));
        let quirk = report.results.iter().find_map(|result| {
            let peer = result.peer.as_ref()?;
            Some(format!("{}: {}", peer.tool, peer.quirk.as_ref()?))
        });
        out.says(0, Tone::Faint, quirk);
        ceiling(out, "read", report.ceilings.read.as_ref());
        ceiling(out, "write", report.ceilings.write.as_ref());
    });
    out.gap();
}

fn ceiling(out: &mut impl Blocks, direction: &str, ceiling: Option<&PathCeiling>) {
    let Some(ceiling) = ceiling else { return };
    let text = format!("{} at {}", human::rate_with_binary(ceiling.bytes_per_second), ceiling.name);
    out.lead((Tone::Faint, &format!("path ceiling, {direction}: ")), Tone::Normal, text);
}

fn put_result(table: &mut Table, result: &TestResult, has_ceiling: bool) {
    let sides = [("read", &result.read), ("write", &result.write)];
    // A rate of nothing over no time is no rate.
    let has_rate = result.elapsed_ns.get() > 0;
    let both = [&result.read, &result.write].into_iter().flatten().count() > 1;
    for (direction, side) in sides {
        if let Some(side) = side.as_ref().filter(|_| has_rate) {
            let name = if both { format!("{}, {direction}", result.name) } else { result.name.clone() };
            table.rows.push(row(name, (result, side), has_ceiling));
        }
    }
    if !has_rate || result.read.is_none() && result.write.is_none() {
        // It could not begin.
        table.row(vec![Cell::text(&result.name)]);
    }
    let mut notes = Vec::new();
    notes.verbose(|out| {
        for (direction, side) in sides {
            if let Some(side) = side.as_ref().filter(|side| side.latency_ns.count > 0) {
                let text = format!("{direction} latency {}", percentiles(&side.latency_ns));
                out.say(DETAIL, Tone::Normal, text);
            }
        }
        details(out, result);
    });
    failures(&mut notes, result);
    if let Some(scan) = &result.scan {
        let samples = scan.rates.iter().map(|one| (one.offset, one.bytes_per_second));
        notes.add(Block::Positions(samples.collect()));
        let (count, accesses) = (scan.rates.len(), scan.accesses.len());
        let said = scan.rate_at(0.5).zip(scan.rate_at(0.0)).zip(scan.mean_access());
        notes.says(
            DETAIL,
            Tone::Normal,
            said.map(|((median, slowest), access)| {
                format!(
                    "{count} samples: median {median}, slowest {slowest}; {accesses} accesses: mean {access}"
                )
            }),
        );
    }
    if let Some(last) = table.rows.last_mut() {
        last.notes = notes;
    }
}

fn row(test: String, (result, side): (&TestResult, &SideView), has_ceiling: bool) -> Row {
    let latency = &side.latency_ns;
    let time = |span: Option<Nanos>| span.map_or_else(|| "–".to_owned(), human::time);
    let numbers = [
        human::rate(side.bytes_per_second),
        half(side.bytes_per_second, side.ci95),
        human::count(side.iops.get()),
        time(latency.p50),
        time(latency.p99),
    ];
    let mut cells = vec![Cell::text(test)];
    cells.extend(numbers.map(Cell::text));
    if has_ceiling {
        cells.push(Cell::text(side.of_ceiling.map_or_else(|| "–".to_owned(), human::percent)));
    }
    let has_held = result.steadiness.is_none_or(|rate| rate.steady);
    cells.push(match result.trusted {
        Some(true) if !has_held => Cell::toned(Tone::Warn, "unsteady"),
        Some(true) => Cell::toned(Tone::Good, "yes"),
        Some(false) => Cell::toned(Tone::Bad, "no"),
        None => Cell::text("–"),
    });
    Row::of(cells)
}

fn details(out: &mut Vec<Block>, result: &TestResult) {
    let moved = result.steadiness.filter(|steady| !steady.steady).map(|steady| human::percent(steady.range));
    let (first, rounds) = (result.first, result.rounds.len());
    let parts = [
        Some(result.ended.clone()),
        result.checks.as_ref().map(in_words),
        moved.map(|moved| format!("not steady (moved by {moved})")),
        first.map(|it| format!("run once more: {it} at first, which did not fit between its neighbours")),
        (rounds > 0).then(|| format!("{rounds} rounds, the figures are of the last")),
    ];
    out.say(DETAIL, Tone::Faint, known_of(parts, " · "));
    let condition = result.checks.as_ref().and_then(|checks| checks.condition.as_ref());
    out.says(DETAIL, Tone::Warn, condition.iter().flat_map(|condition| condition.troubles()));
    let notes = result.findings.iter().map(|note| format!("{}: {}", note.code.as_str(), note.summary));
    out.says(DETAIL, Tone::Warn, notes);
    out.says(DETAIL, Tone::Normal, result.peer.iter().map(shown_by));
}

/// What went wrong, which is always shown.
fn failures(out: &mut impl Blocks, result: &TestResult) {
    if let Some(failed) = &result.failed {
        let text = format!("failed: {} ({})", failed.summary, failed.failure.detail);
        out.say(DETAIL, Tone::Bad, text);
        out.lead((Tone::Normal, "    hint: "), Tone::Normal, &failed.hint);
    }
    if result.errors > 0 {
        let first = result.first_error.as_deref().unwrap_or("no text");
        out.say(DETAIL, Tone::Bad, format!("{} I/Os failed, the first: {first}", result.errors));
    }
}

/// The self-checks of the generator in one line.
fn in_words(checks: &Checks) -> String {
    let generator = &checks.generator;
    let part = |part: Option<f64>| part.map(human::percent);
    let workers = Some(generator.io_workers).filter(|part| *part >= SHOWN_IO_WORKERS);
    let iops = checks.nop_ns_per_io.filter(|cost| *cost > 0.0).map(|cost| human::count(1e9 / cost));
    let parts = [
        part(checks.in_flight_of_asked).map(|part| format!("queue {part} full")),
        part(checks.recorded_of_completed).map(|part| format!("{part} of latencies recorded")),
        part(checks.device_of_asked).map(|part| format!("device moved {part} of it")),
        Some(format!("generator {} of a core", human::percent(generator.cpu))),
        part(workers).map(|part| format!("the kernel's workers for it (io-wq) {part} of a core")),
        iops.map(|iops| format!("a core here can do {iops} IOPS")),
        Some(format!("{} entries per 100 I/Os", human::count(generator.enters_per_io * 100.0))),
        // What the kernel granted is in the JSON.
        Some(generator.engine.name().to_owned()),
    ];
    let around = checks.condition.iter().flat_map(ConditionView::in_words).map(Some);
    known_of(parts.into_iter().chain(around), " · ")
}

fn shown_by(peer: &PeerView) -> String {
    let rate = |rate: &Option<String>, word: &str| rate.as_ref().map(|rate| format!("{rate} {word}"));
    let rates = known_of([rate(&peer.read, "read"), rate(&peer.write, "write")], ", ");
    format!("{} would show {rates}", peer.tool)
}

/// Tests that were not run, those with the same reason together.
fn left_out(out: &mut impl Blocks, report: &MeasureReport) {
    for (index, group) in report.left_out.chunk_by(|a, b| a.reason == b.reason).enumerate() {
        let names: Vec<&str> = group.iter().map(|left| left.name.as_str()).collect();
        let reason = group.first().map_or("", |left| left.reason.as_str());
        if index == 0 {
            out.gap();
        }
        out.lead((Tone::Warn, "left out: "), Tone::Normal, format!("{}: {reason}", names.join(", ")));
    }
}

/// The command lines of fio, whole, so that they can be copied.
fn commands(out: &mut Document, report: &MeasureReport) {
    if report.results.is_empty() {
        return;
    }
    out.part(Place::Folded, "The same tests with fio");
    let commands = report.results.iter().map(|result| result.fio_command.clone()).collect();
    out.verbose(|out| out.add(Block::Commands("The same tests with fio:", commands)));
    out.part(Place::Data, "");
}

/// What was written, in words.
pub(crate) fn put_writes(out: &mut impl Blocks, writes: &Account, is_device: bool) {
    let (written, limit) = (human::bytes(writes.written), human::bytes(writes.limit));
    out.gap();
    let cleared = if is_device { "; what was written is cleared afterwards" } else { "" };
    let brief = format!("{written} of the {limit} that may be written{cleared}");
    out.lead((Tone::Faint, "written: "), Tone::Normal, brief);
    out.verbose(|out| put_all(out, writes, is_device));
}

fn put_all(out: &mut impl Blocks, writes: &Account, is_device: bool) {
    let counted = writes.device_written.filter(|_| !is_device);
    let counted = counted.map(|it| format!(" ({it} by the device's counter, whoever wrote it)"));
    let allowed = match writes.limit_is_asked {
        false => "that much is allowed without --max-writes",
        true => "--max-writes allows that much",
    };
    let estimate = writes.estimate.as_ref();
    let estimate =
        estimate.map(|it| format!("; estimated {} in {}, took {}", it.bytes, it.time, it.actual_time));
    let [counted, estimate] = [counted, estimate].map(Option::unwrap_or_default);
    out.say(9, Tone::Normal, format!("data that cannot be compressed{counted}; {allowed}{estimate}"));
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
