//! The lab as text: every test, what it cost, the rankings, and last the verdict.

use super::{LabCell, LabDevice, LabReport};
use narrows_base::lists::{distinct, known_of, some_of};
use narrows_base::units::{BytesPerSec, human};
use narrows_report::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Table, Tone, Width};
use narrows_report::figure::Figure;
use narrows_report::figure::chart::{Bar, BarChart, Named, Row, Signs, signed};
use narrows_session::lab::aim::{AimPlace as Placed, RankedBy, Ranking};
use narrows_session::lab::{CellCopy, Copied, Measured, ReadFrom};

/// Columns of the numbers: measured, its interval, predicted, error.
const COLUMNS: [(&str, usize); 4] = [("measured", 11), ("95 %", 9), ("predicted", 11), ("error", 9)];
/// The most that a cell's name takes.
const NAME: usize = 25;
/// What is left for the bound must be this much to be shown.
const ROOM: usize = 22;

/// The report as a document.
pub fn document(report: &LabReport, audience: Audience) -> Document {
    let names: Vec<String> = report.devices.iter().map(about).collect();
    let mut out = Document::new("lab", some_of(&names, 4, ", "), Some(&report.tool));
    out.part(Place::Data, "Every test");
    put_tests(&mut out, report);
    put_copies(&mut out, report);
    put_devices(&mut out, report);
    basis(&mut out, report);
    put_failed(&mut out, report);
    put_marks(&mut out, report);
    for (number, ranking) in report.rankings.iter().enumerate() {
        put_ranking(&mut out, report, ranking, number);
    }
    out.part(Place::Verdict, "");
    out.gap();
    out.say(0, Tone::Normal, accuracy(report));
    out.says(0, Tone::Strong, report.rankings.iter().map(|ranking| &ranking.sentence));
    if report.rankings.is_empty() {
        out.say(0, Tone::Warn, "Nothing was measured that could be ranked.");
    }
    if audience == Audience::Public { out.scrubbed() } else { out }
}

/// A device with its model and size.
fn about(device: &LabDevice) -> String {
    let facts = &device.facts;
    known_of([Some(facts.name.clone()), facts.model.clone(), facts.size.map(human::bytes)], ", ")
}

/// How good predictions were, in a sentence.
fn accuracy(report: &LabReport) -> String {
    let found = &report.accuracy;
    let order = match found.pairs {
        0 => String::new(),
        pairs => {
            format!("; of {pairs} pairs of cells, {} in the order that was measured", found.pairs_ordered)
        }
    };
    match found.median_error {
        Some(median) => format!(
            "Predictions: {} of {} within 15 %, median error {}{order}.",
            found.within_15_percent,
            found.tests,
            human::percent(median)
        ),
        None => "Predictions: none that could be compared.".to_owned(),
    }
}

/// How far the predicted order is the measured one, in a sentence; nothing where no pair tells.
fn agreement(ranking: &Ranking) -> Option<String> {
    let found = ranking.agreement;
    let equal = match found.equal {
        0 => String::new(),
        equal => format!(", {equal} were predicted to be equal"),
    };
    (found.pairs > 0).then(|| {
        format!(
            "Of {} pairs that differ by more than chance, {} were predicted in that order{equal}.",
            found.pairs, found.agree
        )
    })
}

/// What a value of a ranking is.
fn value(unit: RankedBy, value: f64) -> String {
    match unit {
        RankedBy::BytesPerSecond => human::rate(BytesPerSec::new(value)),
        RankedBy::Capacity => human::percent(value),
        RankedBy::Endurance => format!("×{}", human::count(value)),
    }
}

/// Half of an interval over its middle.
fn half(middle: f64, [low, high]: [f64; 2]) -> Option<String> {
    (middle > 0.0 && high > low).then(|| format!("±{}", human::percent((high - low) / 2.0 / middle)))
}

/// Marks of cells, what to know before one is compared, and what each means.
const MARKS: [(char, &str); 3] = [
    ('R', "measured while an array resynced"),
    ('L', "on scratch files through loop devices: rates of a trial, not of devices"),
    ('!', "a measurement that is not to be believed"),
];

/// The marks of a cell.
fn marks(cell: &LabCell, trusted: bool) -> String {
    let all = [cell.outcome.resyncing, cell.on_loop_files, !trusted];
    MARKS.iter().zip(all).filter(|(_, is)| *is).map(|((mark, _), _)| *mark).collect()
}

/// What each mark that occurs means.
fn meanings(report: &LabReport) -> Vec<(char, &'static str)> {
    let is_trusted = |cell: &LabCell| {
        cell.outcome.measured.iter().all(|measured| measured.trusted)
            && cell.outcome.copied().is_none_or(|copied| copied.trusted)
    };
    let all: String = report.cells.iter().map(|cell| marks(cell, is_trusted(cell))).collect();
    MARKS.into_iter().filter(|(mark, _)| all.contains(*mark)).collect()
}

/// The columns of rankings and tests behind the names.
fn marks_of(report: &LabReport, place: &Placed) -> String {
    report.cells.get(place.outcome).map(|cell| marks(cell, place.trusted)).unwrap_or_default()
}

fn columns(mut columns: Vec<Column>) -> Vec<Column> {
    columns.extend(COLUMNS.map(|(title, width)| Column::right(title, width)));
    columns.push(Column::left("", Width::Fixed(3)).gap(1));
    columns
}

/// What is measured, with its interval, and predicted of something, how far off that is, and its marks.
fn numbers(
    tone: Tone,
    [measured, interval, predicted]: [Option<String>; 3],
    error: Option<f64>,
    marks: String,
) -> [Cell; 5] {
    let missing = || "–".to_owned();
    let off = |off: f64| Cell::toned(if off.abs() <= 0.15 { Tone::Good } else { Tone::Warn }, signed(off));
    [
        Cell::toned(tone, measured.unwrap_or_else(missing)),
        Cell::toned(Tone::Faint, interval.unwrap_or_default()),
        Cell::text(predicted.unwrap_or_else(missing)),
        error.map_or_else(Cell::default, off),
        Cell::toned(Tone::Warn, marks),
    ]
}

fn put_ranking(out: &mut Document, report: &LabReport, ranking: &Ranking, number: usize) {
    let title = format!("Ranked for {}", ranking.aims.join(", then "));
    out.section(Place::Charts, &title);
    if let Some(figure) = ranking_figure(report, ranking, number, &title) {
        out.add(Block::Figure(Box::new(figure)));
    }
    let names = vec![
        // The arrow takes a column more in ASCII.
        Column::left("rank", Width::Fit(4, 5)).gap(0),
        Column { names: true, ..Column::left("layout", Width::Fixed(NAME)) },
    ];
    let mut table = Table::new(title, 0, columns(names));
    for place in &ranking.places {
        let is_best = ranking.best == Some(place.outcome);
        let tone = if is_best { Tone::Strong } else { Tone::Normal };
        let arrow = if is_best { "→" } else { " " };
        let rank = Cell::toned(tone, format!("{arrow} {:>2}", place.rank));
        let found = place.score.map(|score| score.value);
        let both = place.predicted.zip(found).filter(|(_, found)| *found > 0.0);
        let interval = place.score.and_then(|score| half(score.value, [score.low, score.high]));
        let [measured, predicted] = [found, place.predicted].map(|it| it.map(|it| value(ranking.unit, it)));
        let error = both.map(|(said, found)| said / found - 1.0);
        let numbers = numbers(tone, [measured, interval, predicted], error, marks_of(report, place));
        table.row([rank, Cell::toned(tone, &place.cell)].into_iter().chain(numbers).collect());
    }
    out.table(table);
    out.says(0, Tone::Faint, agreement(ranking));
    for unfit in &ranking.unfit {
        out.lead((Tone::Faint, &format!("  –   {}  ", unfit.cell)), Tone::Faint, &unfit.reason);
    }
}

/// Each test in the order in which they ran, with its cells, the fastest first.
fn put_tests(out: &mut Document, report: &LabReport) {
    let tests = distinct(report.cells.iter().flat_map(LabCell::tests));
    for (number, name) in tests.into_iter().enumerate() {
        if number > 0 {
            out.gap();
        }
        out.heading(name);
        let of_test = report.cells.iter().filter(|cell| cell.tests().contains(&name));
        let mut by_rate: Vec<&LabCell> = of_test.collect();
        let rate =
            |cell: &LabCell| cell.measured(name).map_or(-1.0, |one| one.measurement.bytes_per_second.get());
        by_rate.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        let mut all = columns(vec![Column::name("layout", Width::Fixed(NAME + 4))]);
        all.push(Column::left("bound by prediction", Width::Rest(ROOM)).gap(1).yields(1));
        let mut table = Table::new(name, 2, all);
        for cell in by_rate {
            let measured = cell.measured(name);
            let run = measured.map(|one| &one.measurement);
            let said = cell.predicted(name).filter(|said| said.bytes_per_second.is_some());
            let interval = run.and_then(|it| half(it.bytes_per_second.get(), it.ci95?.map(BytesPerSec::get)));
            let rates = [run.map(|it| it.bytes_per_second), said.and_then(|said| said.bytes_per_second)];
            let [rate, foreseen] = rates.map(|rate| rate.map(human::rate));
            let marks = marks(cell, measured.is_none_or(|one| one.trusted));
            let numbers = numbers(Tone::Normal, [rate, interval, foreseen], cell.error(name), marks);
            let bound = said.map(|said| Cell::toned(Tone::Faint, &said.bound));
            table.row([Cell::text(&cell.name)].into_iter().chain(numbers).chain(bound).collect());
        }
        out.add(Block::Table(table));
    }
}

fn put_copies(out: &mut Document, report: &LabReport) {
    let mut all: Vec<(&LabCell, &Copied)> =
        report.cells.iter().filter_map(|cell| Some((cell, cell.outcome.copied()?))).collect();
    all.sort_by(|a, b| b.1.bytes_per_second.get().total_cmp(&a.1.bytes_per_second.get()));
    let Some((_, first)) = all.first() else { return };
    // `Copy of /srv/photos, 1234 files, 5.68 GB`.
    let title = format!("Copy of {}, {} files, {}", first.source, human::grouped(first.files), first.bytes);
    out.section(Place::Data, &title);
    let columns = vec![
        Column::name("layout", Width::Fixed(NAME + 4)),
        Column::right("rate", COLUMNS[0].1),
        Column::right("time", COLUMNS[1].1),
        Column::left("", Width::Fixed(3)).gap(1),
        Column::left("most time", Width::Fit(0, usize::MAX)).gap(1),
    ];
    let mut table = Table::new(title, 2, columns);
    for (cell, copied) in &all {
        // What took most of the time: `destination 61 %`.
        let limit = copied.limit.as_deref().zip(copied.limit_share);
        let limit = limit.map(|(side, share)| format!("{side} {}", human::percent(share)));
        table.row(vec![
            Cell::text(&cell.name),
            Cell::text(human::rate(copied.bytes_per_second)),
            Cell::text(human::time(copied.elapsed_ns)),
            Cell::toned(Tone::Warn, marks(cell, copied.trusted)),
            Cell::toned(Tone::Faint, limit.unwrap_or_default()),
        ]);
    }
    out.add(Block::Table(table));
    // Once where it is the same for all, else by cell.
    match all.iter().all(|(_, other)| how(other) == how(first)) {
        true => out.say(2, Tone::Faint, how(first)),
        false => all.iter().for_each(|(cell, copied)| {
            out.lead((Tone::Normal, &format!("  {}  ", cell.name)), Tone::Faint, how(copied));
        }),
    }
    let meaning = match first.read_from {
        ReadFrom::Memory => {
            "Rates and times include syncing and reading back. The source was read through before each copy, so that its own \
             drive limits none."
        }
        ReadFrom::Drive => {
            "Rates and times include syncing and reading back. The source does not fit into memory and came from its own \
             drive each time, which may limit all copies alike."
        }
    };
    out.say(2, Tone::Faint, meaning);
}

fn put_failed(out: &mut Document, report: &LabReport) {
    let failed: Vec<(&LabCell, &str)> =
        report.cells.iter().filter_map(|cell| Some((cell, cell.outcome.failed.as_deref()?))).collect();
    if failed.is_empty() {
        return;
    }
    out.section(Place::Findings, "Not built or not measured to the end");
    for (cell, why) in failed {
        out.lead((Tone::Bad, &format!("  {}  ", cell.name)), Tone::Normal, why);
    }
}

fn put_marks(out: &mut Document, report: &LabReport) {
    for (number, (mark, means)) in meanings(report).into_iter().enumerate() {
        if number == 0 {
            out.gap();
            out.part(Place::Data, "Marks");
        }
        out.lead((Tone::Warn, &format!("{mark}  ")), Tone::Normal, means);
    }
}

/// What the lab cost a device.
fn cost(device: &LabDevice) -> String {
    let share = match device.share_of_rated_life {
        // Two decimals would make nothing of it.
        Some(share) if share > 0.0 && share < 1e-4 => ", less than 0.01 % of its rated life".to_owned(),
        Some(share) => format!(", {} of its rated life", human::percent(share)),
        None if device.facts.scratch => " to the file behind it".to_owned(),
        None => ", of a life that the catalogue does not know".to_owned(),
    };
    format!("{} written{share}", device.written_bytes)
}

fn put_devices(out: &mut Document, report: &LabReport) {
    out.section(Place::Data, "What it cost");
    for device in &report.devices {
        out.lead((Tone::Normal, &format!("  {}  ", about(device))), Tone::Normal, cost(device));
    }
}

/// What predictions stand on, and how each cell was built: for pages.
fn basis(out: &mut Document, report: &LabReport) {
    let mut columns = vec![Column::name("test", Width::Flex(0))];
    columns
        .extend(report.devices.iter().map(|device| Column::number(&format!("{} alone", device.facts.name))));
    columns.push(Column::number("all at once"));
    let mut table = Table::new("What each device gave before anything was built", 0, columns);
    let basis = &report.basis;
    for test in distinct(basis.alone.iter().flatten().map(|measured| measured.test.as_str())) {
        let rate = |measured: &[Measured]| {
            let found = measured.iter().find(|one| one.test == test);
            found.map_or("–".to_owned(), |one| human::rate(one.measurement.bytes_per_second))
        };
        let mut row = vec![Cell::text(test)];
        row.extend(basis.alone.iter().map(|measured| Cell::text(rate(measured))));
        row.push(Cell::text(rate(&basis.together)));
        table.row(row);
    }
    let mut said = vec![Block::Table(table)];
    for cipher in &report.basis.ciphers {
        let driver = cipher.driver.as_ref().map(|driver| format!(" by {driver}")).unwrap_or_default();
        let text = format!(
            "One core encrypts {} with a key of {} bits at {} and decrypts at {}{driver}; {} processors.",
            cipher.cipher, cipher.key_bits, cipher.encrypt, cipher.decrypt, report.basis.cores
        );
        said.say(0, Tone::Faint, text);
    }
    out.part(Place::Data, "");
    out.add(Block::Details("What predictions stand on".to_owned(), said));
    for cell in &report.cells {
        let mut said = cell.outcome.notes.clone();
        if let Some(CellCopy::Not(why)) = &cell.outcome.copy {
            said.push(why.clone());
        }
        let written = cell.outcome.written.iter();
        said.extend(written.map(|written| format!("{} written to {}", written.bytes, written.device)));
        said.extend(cell.tests().into_iter().map(|test| match cell.predicted(test) {
            Some(said) if said.bytes_per_second.is_some() => format!("{test}: {}", said.formula),
            Some(said) => format!("{test}: not predicted: {}", said.bound),
            None => format!("{test}: nothing was predicted"),
        }));
        if !said.is_empty() {
            let mut blocks = Vec::new();
            said.into_iter().for_each(|text| blocks.lead((Tone::Normal, "- "), Tone::Normal, text));
            out.add(Block::Details(format!("{}: how it was built and predicted", cell.name), blocks));
        }
    }
}

/// What was verified and where the source came from.
fn how(copied: &Copied) -> String {
    let some = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", human::grouped(count)));
    let Copied { verified_files: direct, verified_by_advice: advised, .. } = *copied;
    let first = copied.first_fault.as_deref().unwrap_or_default();
    let source = match (copied.read_from, copied.cached) {
        (ReadFrom::Memory, Some(part)) => format!("source {} in memory", human::percent(part)),
        (ReadFrom::Memory, None) => "source read through before".to_owned(),
        (ReadFrom::Drive, Some(part)) if part > 0.0 => {
            format!("source from its own drive, {} in memory", human::percent(part))
        }
        (ReadFrom::Drive, _) => "source from its own drive".to_owned(),
    };
    let parts = [
        some(direct, "files read back past the page cache"),
        some(advised, "files read back, perhaps from memory"),
        (direct + advised == 0).then(|| "nothing read back".to_owned()),
        some(copied.faults, &format!("not copied, first {first}")),
        Some(source),
    ];
    known_of(parts, "; ")
}

/// The places of a ranking as a figure; `None` where nothing was measured.
fn ranking_figure(report: &LabReport, ranking: &Ranking, number: usize, title: &str) -> Option<Figure> {
    let places = || ranking.places.iter().filter_map(|place| Some((place, place.score?)));
    if !places().any(|(_, score)| score.value > 0.0) {
        return None;
    }
    let mut chart = BarChart::new(&["rank#", "layout", "measured#", "95 % from#", "95 % to#", "predicted#"]);
    for (place, found) in places() {
        let shown = |it: f64| value(ranking.unit, it);
        let values = [
            place.rank.to_string(),
            place.cell.clone(),
            shown(found.value),
            shown(found.low),
            shown(found.high),
            place.predicted.map_or_else(|| "–".to_owned(), shown),
        ];
        let is_best = ranking.best == Some(place.outcome);
        let bar = Bar {
            class: if is_best { "good" } else { "plain" },
            value: found.value,
            interval: (found.high > found.low).then_some([found.low, found.high]),
            // What was predicted, where it is a rate.
            ceiling: place.predicted.filter(|_| ranking.unit == RankedBy::BytesPerSecond),
            shown: shown(found.value),
            data: vec![("value", found.value.to_string())],
            ..Bar::default()
        };
        let name = format!("{}. {} {}", place.rank, place.cell, marks_of(report, place));
        let (name, class) = (name.trim_end().to_owned(), if is_best { "narrowest" } else { "" });
        chart.put(Row { name, class, bars: vec![bar], ..Row::default() }, values);
    }
    let is_shown = |mark: char| places().any(|(place, _)| marks_of(report, place).contains(mark));
    let marked = meanings(report).into_iter().filter(|(mark, _)| is_shown(*mark));
    let notes = marked.map(|(mark, means)| format!("{mark}: {means}")).collect();
    chart.signs = Signs { line: "predicted", notes, ..Signs::default() };
    let alternative = format!(
        "{} Bars are means, whiskers their 95 % intervals, lines across them what was predicted before anything was built.",
        ranking.sentence
    );
    let bars = format!("{title}: bars");
    let named = Named { id: format!("ranking-{}", number + 1), title: &bars, label: title };
    chart.figure(named, alternative, &|it| value(ranking.unit, it))
}
