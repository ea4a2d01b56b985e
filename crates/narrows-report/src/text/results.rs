//! Results of other tools, and what is thought of them.

use crate::document::{Blocks, Cell, Column, Table, Tone, Width};
use crate::view::JudgedResult;
use narrows_base::lists::known_of;
use narrows_base::units::{Nanos, human};
use narrows_paste::results::{Latency, Measured, Side};
use narrows_verdict::results::Trust;
use narrows_verdict::results::against::{Against, Standing};
use narrows_verdict::results::sweep::Sweep;
use narrows_verdict::{Code, Finding, capitalised};

/// A result of more measurements than this is shown by its first ones; `--json` has all.
const MOST: usize = 24;

/// So many sentences are the answer.
const SENTENCES: usize = 3;

/// Puts the answer, results, and series of them.
pub(super) fn put(out: &mut impl Blocks, results: &[JudgedResult], sweeps: &[Sweep]) {
    let mut said = sentences(results);
    said.truncate(SENTENCES);
    said.iter().for_each(|(tone, sentence)| out.say(0, *tone, sentence));
    for (number, result) in results.iter().enumerate() {
        if number > 0 || !said.is_empty() {
            out.gap();
        }
        put_result(out, result, &said);
    }
    for sweep in sweeps {
        let Some((first, last)) = sweep.points.first().zip(sweep.points.last()) else { continue };
        let (from, to) = (human::count(first.x), human::count(last.x));
        let title = format!("{}, {}: {from} to {to} {}", sweep.tool.name(), sweep.label, sweep.varied);
        out.gap();
        out.say(0, Tone::Strong, title);
        out.says(2, Tone::Normal, sweep.sentences());
    }
}

/// Findings on results and on their paths, each with the result that it is about.
pub(super) fn found(results: &[JudgedResult]) -> Vec<(String, &Finding)> {
    let all = results.iter().flat_map(|one| {
        let place = place(one);
        one.verdict.findings.iter().chain(&one.verdict.of_path).map(move |finding| (place.clone(), finding))
    });
    all.collect()
}

/// Where a result stands: `fio.txt:12`.
fn place(JudgedResult { result, .. }: &JudgedResult) -> String {
    format!("{}:{}", result.file, result.line)
}

/// What the results come to: what they show instead of the storage, where each stands on its path, or why some are not to be
/// trusted.
pub(super) fn sentences(results: &[JudgedResult]) -> Vec<(Tone, String)> {
    let bad: Vec<&JudgedResult> = results.iter().filter(|one| one.verdict.trust == Trust::No).collect();
    let of_cache =
        |one: &&JudgedResult| one.verdict.findings.iter().any(|finding| finding.code == Code::CacheMeasured);
    let mut said = Vec::new();
    let (count, all) = (bad.len(), results.len());
    if let Some(first) = bad.first() {
        let which = match (count, all) {
            (1, 1) => "The result is not to be trusted".to_owned(),
            _ if count == all => format!("None of the {all} results is to be trusted"),
            (1, _) => format!("The result in {} is not to be trusted", place(first)),
            _ => format!("{count} of {all} results are not to be trusted"),
        };
        let why = match &first.verdict.reason {
            _ if bad.iter().all(&of_cache) && count > 1 => "they show a cache, not the storage".to_owned(),
            _ if of_cache(first) => "it shows a cache, not the storage".to_owned(),
            // What is said of one is not said of all.
            Some(reason) if bad.iter().any(|one| one.verdict.reason.as_ref() != Some(reason)) => {
                format!("of the first, {}", uncapitalised(reason))
            }
            Some(reason) => uncapitalised(reason),
            None => "what it says is in doubt".to_owned(),
        };
        said.push((Tone::Strong, format!("{which}: {why}.")));
    }
    let against =
        results.iter().filter(|one| one.verdict.trust != Trust::No).flat_map(|one| &one.verdict.against);
    for (tone, sentence) in against.map(against_path) {
        if !said.iter().any(|(_, other)| *other == sentence) {
            said.push((tone, sentence));
        }
    }
    said
}

/// A sentence as it stands behind a colon; a name that it begins with keeps its capital.
fn uncapitalised(sentence: &str) -> String {
    match sentence.split_once(' ') {
        Some((article @ ("The" | "A" | "An" | "This" | "Of"), rest)) => {
            format!("{} {rest}", article.to_lowercase())
        }
        _ => sentence.to_owned(),
    }
}

/// Where a rate stands on its path, as a sentence.
fn against_path(against: &Against) -> (Tone, String) {
    let tone = match against.standing {
        Standing::Above => Tone::Bad,
        Standing::At => Tone::Strong,
        Standing::Below => Tone::Normal,
    };
    let sentence = against.sentence();
    match against.target.as_str() {
        "" => (tone, format!("{}.", capitalised(&sentence))),
        target => (tone, format!("{target}: {sentence}.")),
    }
}

/// Puts a result; what was `said` of it is not said again.
fn put_result(
    out: &mut impl Blocks,
    JudgedResult { result, verdict }: &JudgedResult,
    said: &[(Tone, String)],
) {
    let version = result.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    out.say(0, Tone::Strong, format!("{}:{}  {}{version}", result.file, result.line, result.tool.name()));
    out.verbose(|out| out.says(2, Tone::Faint, &result.command));
    put_measurements(out, result.measurements.get(..MOST).unwrap_or(&result.measurements));
    if let Some(more @ 1..) = result.measurements.len().checked_sub(MOST) {
        out.say(2, Tone::Faint, format!("and {more} more measurements; --json has all"));
    }
    let (tone, word) = match (verdict.trust, &verdict.measures) {
        (Trust::No, _) => (Tone::Bad, "NOT trusted".to_owned()),
        (Trust::Other, Some(measures)) => (Tone::Warn, format!("trusted for something else: {measures}")),
        (_, Some(measures)) => (Tone::Good, format!("trusted; it measures {measures}")),
        _ => (Tone::Good, "trusted".to_owned()),
    };
    let limit = verdict.limiting.as_ref().map(|hop| format!("; limited by {}", hop.name)).unwrap_or_default();
    out.say(2, tone, format!("{word}{limit}"));
    out.says(2, Tone::Faint, result.notes.iter().map(|note| format!("note: {note}")));
    out.verbose(|out| {
        let all = verdict.against.iter().take(MOST).map(against_path);
        let others = all.filter(|(_, sentence)| !said.iter().any(|(_, other)| other == sentence));
        others.for_each(|(tone, sentence)| out.say(2, tone, sentence));
    });
}

/// Measurements of one figure each with a short name, as of the devices of a machine, are rows of one table.
const SHORT: usize = 24;

fn put_measurements(out: &mut impl Blocks, measurements: &[Measured]) {
    let mut all: Vec<(String, Vec<Vec<Cell>>)> =
        measurements.iter().map(|one| (head(one), rows(one))).collect();
    // Some tools name a test by its direction.
    for (head, rows) in &mut all {
        if rows.iter().all(|row| row.first().is_some_and(|word| word.words() == *head)) {
            head.clear();
        }
    }
    if all.len() > 1 && all.iter().all(|(head, rows)| head.chars().count() <= SHORT && rows.len() == 1) {
        let is_named = all.iter().any(|(head, _)| !head.is_empty());
        let name = is_named.then(|| Column::name("", Width::Fit(0, SHORT)));
        let columns = name.into_iter().chain(columns(if is_named { 2 } else { 0 }));
        let mut table = Table::new("", 2, columns.collect()).untitled();
        for (head, rows) in all {
            let name = is_named.then(|| Cell::text(head));
            table.row(name.into_iter().chain(rows.into_iter().flatten()).collect());
        }
        out.table(table);
        return;
    }
    for (head, rows) in all {
        if !head.is_empty() {
            out.say(2, Tone::Normal, head);
        }
        let mut table = Table::new("", 4, columns(0)).untitled();
        rows.into_iter().for_each(|cells| table.row(cells));
        out.table(table);
    }
}

/// Direction, rate and the rest, so far behind what stands before them.
fn columns(gap: usize) -> Vec<Column> {
    let rate = Column::left("rate", Width::Fit(0, usize::MAX));
    vec![Column::name("", Width::Fixed(5)).gap(gap), rate, Column::left("", Width::Flex(0)).wrapping()]
}

/// What was done, by its name and in words.
fn head(measurement: &Measured) -> String {
    let work = &measurement.work;
    let what = [
        work.pattern.map(|pattern| pattern.word().to_owned()),
        work.block_size.map(human::block_size),
        work.queue_depth.map(|depth| format!("depth {depth}")),
        work.jobs.filter(|jobs| *jobs > 1).map(|jobs| format!("{jobs} jobs")),
        work.direct.map(|direct| if direct { "direct" } else { "through the page cache" }.to_owned()),
        measurement.memory_only.then(|| "memory only".to_owned()),
    ];
    let what = known_of(what, ", ");
    let head = if work.label.is_empty() { what } else { format!("{}: {what}", work.label) };
    head.trim_end_matches(": ").to_owned()
}

/// A row for each direction that moved anything, and for what else was measured.
fn rows(measurement: &Measured) -> Vec<Vec<Cell>> {
    let Measured { read, write, both, network, .. } = measurement;
    let sides = [("read", read), ("write", write), ("both", both), ("net", network)];
    let is_idle = |side: &Side| side.bytes_per_second.get() == 0.0;
    let all_idle = sides.iter().filter_map(|(_, side)| side.as_ref()).all(is_idle);
    let sides = sides.iter().filter_map(|(word, side)| Some((*word, side.as_ref()?)));
    let shown = sides.filter(|(_, side)| all_idle || !is_idle(side));
    let mut rows: Vec<Vec<Cell>> = shown.map(|(word, shown)| side(word, shown)).collect();
    let row = |word, text| vec![Cell::text(word), Cell::text(text), Cell::default()];
    let each = |count: f64| format!("{} each second", human::count(count));
    let mean = |of: &Option<Latency>| Some(format!("mean {}", time(of.as_ref()?.mean?)));
    let more = [
        ("files", measurement.entries.map(|entries| each(entries.get()))),
        ("takes", mean(&measurement.latency_ns)),
        ("fsync", measurement.syncs.map(|syncs| each(syncs.get()))),
        ("sync", mean(&measurement.sync_ns)),
    ];
    rows.extend(more.into_iter().filter_map(|(word, text)| Some(row(word, text?))));
    rows
}

fn side(word: &str, side: &Side) -> Vec<Cell> {
    let one = |word: &str, value: Option<f64>| Some(format!("{word} {}", time(value?)));
    let latency = side.latency_ns.as_ref();
    let rest = [
        side.iops.map(|iops| iops.to_string()),
        one("mean", latency.and_then(|it| it.mean)),
        one("p99", latency.and_then(|it| it.p99)),
        side.elapsed_ns.map(|elapsed| format!("in {elapsed}")),
    ];
    let rate = Cell::toned(Tone::Strong, human::rate_with_binary(side.bytes_per_second));
    vec![Cell::text(word), rate, Cell::toned(Tone::Faint, known_of(rest, " · "))]
}

fn time(nanoseconds: f64) -> String {
    human::time(Nanos::new(nanoseconds.max(0.0) as u64))
}
