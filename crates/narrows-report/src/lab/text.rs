//! The lab as text: the verdict, the rankings, every test, what it cost.

use super::copy;
use super::{CellView, DeviceView, LabReport, PlaceView, RankingView, TestView, Unit};
use crate::text::{Line, Style, Tone, fit, paragraph};
use narrows_base::units::{BytesPerSec, human};

/// Where the columns end: measured, its interval, predicted, error.
const COLUMNS: [usize; 4] = [42, 51, 62, 71];
/// Where the marks begin, and how wide they are.
const MARKS: usize = 72;
/// The most that a cell's name takes.
const NAME: usize = 25;
/// What is left for the bound must be this much to be shown.
const ROOM: usize = 22;

/// The report as text, no line wider than the style allows. It ends with a newline.
pub fn render(report: &LabReport, style: &Style) -> String {
    let mut out = String::new();
    for ranking in &report.rankings {
        paragraph(&mut out, style, (Tone::Strong, ""), Tone::Strong, &ranking.sentence);
    }
    if report.rankings.is_empty() {
        paragraph(
            &mut out,
            style,
            (Tone::Warn, ""),
            Tone::Warn,
            "Nothing was measured that could be ranked.",
        );
    }
    for ranking in &report.rankings {
        put_ranking(&mut out, style, report, ranking);
    }
    put_tests(&mut out, style, report);
    put_copies(&mut out, style, report);
    put_failed(&mut out, style, report);
    put_marks(&mut out, style, report);
    put_devices(&mut out, style, report);
    out.push('\n');
    paragraph(&mut out, style, (Tone::Normal, ""), Tone::Normal, &accuracy(report));
    out
}

/// How good predictions were, in a sentence.
pub(super) fn accuracy(report: &LabReport) -> String {
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
pub(super) fn agreement(ranking: &RankingView) -> Option<String> {
    let equal = match ranking.pairs_predicted_equal {
        0 => String::new(),
        equal => format!(", {equal} were predicted to be equal"),
    };
    (ranking.pairs > 0).then(|| {
        format!(
            "Of {} pairs that differ by more than chance, {} were predicted in that order{equal}.",
            ranking.pairs, ranking.pairs_as_predicted
        )
    })
}

/// What a value of a ranking is.
pub(super) fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSecond => human::rate(BytesPerSec::new(value)),
        Unit::Capacity => human::percent(value),
        Unit::Endurance => format!("×{}", human::count(value)),
    }
}

/// Half of an interval over its middle.
pub(super) fn half(middle: f64, [low, high]: [f64; 2]) -> Option<String> {
    (middle > 0.0 && high > low).then(|| format!("±{}", human::percent((high - low) / 2.0 / middle)))
}

/// An error with its sign.
pub(super) fn error(error: f64) -> String {
    let sign = if error < 0.0 { "−" } else { "+" };
    format!("{sign}{}", human::percent(error.abs()))
}

/// The marks of a cell: what to know before it is compared.
pub(super) fn marks(cell: &CellView, trusted: bool) -> String {
    let all = [(cell.resyncing, 'R'), (cell.on_loop_files, 'L'), (!trusted, '!')];
    all.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect()
}

/// What each mark that occurs means.
pub(super) fn meanings(report: &LabReport) -> Vec<(char, &'static str)> {
    let distrusted = |cell: &CellView| {
        cell.tests.iter().filter_map(|test| test.measured.as_ref()).any(|measured| !measured.trusted)
            || cell.copy.as_ref().is_some_and(|copy| !copy.copied.trusted)
    };
    let all = [
        (report.cells.iter().any(|cell| cell.resyncing), 'R', "measured while an array resynced"),
        (
            report.cells.iter().any(|cell| cell.on_loop_files),
            'L',
            "on scratch files through loop devices: rates of a trial, not of devices",
        ),
        (report.cells.iter().any(distrusted), '!', "a measurement that is not to be believed"),
    ];
    all.into_iter().filter(|(is, ..)| *is).map(|(_, mark, means)| (mark, means)).collect()
}

fn heading(out: &mut String, style: &Style, text: &str) {
    out.push('\n');
    paragraph(out, style, (Tone::Strong, ""), Tone::Strong, text);
}

fn head(out: &mut String, style: &Style, first: &str, bound: bool) {
    let mut line = Line::new(style);
    line.put(Tone::Faint, first);
    for (title, end) in ["measured", "95 %", "predicted", "error"].into_iter().zip(COLUMNS) {
        line.put_right(Tone::Faint, title, end);
    }
    if bound && style.width >= MARKS + 4 + ROOM {
        line.pad_to(MARKS + 4).put(Tone::Faint, "bound by prediction");
    }
    line.end(out);
}

/// One line of a table.
struct Row<'a> {
    lead: String,
    tone: Tone,
    measured: Option<String>,
    interval: Option<String>,
    predicted: Option<String>,
    error: Option<f64>,
    marks: String,
    bound: Option<&'a str>,
}

impl Row<'_> {
    fn put(self, out: &mut String, style: &Style) {
        let mut line = Line::new(style);
        line.put(self.tone, &self.lead);
        let missing = || "–".to_owned();
        line.put_right(self.tone, &self.measured.unwrap_or_else(missing), COLUMNS[0]);
        line.put_right(Tone::Faint, &self.interval.unwrap_or_default(), COLUMNS[1]);
        line.put_right(Tone::Normal, &self.predicted.unwrap_or_else(missing), COLUMNS[2]);
        if let Some(off) = self.error {
            let tone = if off.abs() <= 0.15 { Tone::Good } else { Tone::Warn };
            line.put_right(tone, &error(off), COLUMNS[3]);
        }
        line.pad_to(MARKS).put(Tone::Warn, &self.marks);
        if let Some(bound) = self.bound
            && style.width >= MARKS + 4 + ROOM
        {
            line.pad_to(MARKS + 4).put(Tone::Faint, &fit(style, bound, style.width - MARKS - 4));
        }
        line.end(out);
    }
}

fn put_ranking(out: &mut String, style: &Style, report: &LabReport, ranking: &RankingView) {
    heading(out, style, &format!("Ranked for {}", ranking.aims.join(", then ")));
    if !ranking.places.is_empty() {
        head(out, style, "rank  layout", false);
    }
    for place in &ranking.places {
        place_row(report, ranking, place, style).put(out, style);
    }
    if let Some(text) = agreement(ranking) {
        paragraph(out, style, (Tone::Faint, ""), Tone::Faint, &text);
    }
    for unfit in &ranking.unfit {
        let lead = format!("  –   {}  ", unfit.cell);
        paragraph(out, style, (Tone::Faint, &lead), Tone::Faint, &unfit.reason);
    }
}

fn place_row<'a>(report: &LabReport, ranking: &RankingView, place: &'a PlaceView, style: &Style) -> Row<'a> {
    let is_best = ranking.best.as_ref() == Some(&place.cell);
    let arrow = if is_best { "→" } else { " " };
    let cell = report.cells.get(place.index);
    Row {
        lead: format!("{arrow} {:>2}  {}", place.rank, fit(style, &place.cell, NAME)),
        tone: if is_best { Tone::Strong } else { Tone::Normal },
        measured: place.value.map(|found| value(ranking.unit, found)),
        interval: place.value.zip(place.interval).and_then(|(middle, ends)| half(middle, ends)),
        predicted: place.predicted.map(|said| value(ranking.unit, said)),
        error: place
            .predicted
            .zip(place.value)
            .filter(|(_, value)| *value > 0.0)
            .map(|(said, value)| said / value - 1.0),
        marks: cell.map(|cell| marks(cell, place.trusted)).unwrap_or_default(),
        bound: None,
    }
}

/// The names of all tests in the order in which they ran.
pub(super) fn tests(report: &LabReport) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for test in report.cells.iter().flat_map(|cell| &cell.tests) {
        if !names.contains(&test.test.as_str()) {
            names.push(&test.test);
        }
    }
    names
}

/// The cells with a test, the fastest first.
pub(super) fn by_rate<'r>(report: &'r LabReport, name: &str) -> Vec<(&'r CellView, &'r TestView)> {
    let find = |cell: &'r CellView| Some((cell, cell.tests.iter().find(|test| test.test == name)?));
    let mut found: Vec<(&CellView, &TestView)> = report.cells.iter().filter_map(find).collect();
    let rate = |test: &TestView| test.measured.as_ref().map_or(-1.0, |rate| rate.bytes_per_second.get());
    found.sort_by(|a, b| rate(b.1).total_cmp(&rate(a.1)));
    found
}

fn put_tests(out: &mut String, style: &Style, report: &LabReport) {
    for name in tests(report) {
        heading(out, style, name);
        head(out, style, "  layout", true);
        for (cell, test) in by_rate(report, name) {
            let measured = test.measured.as_ref();
            let rate = measured.map(|rate| rate.bytes_per_second);
            Row {
                lead: format!("  {}", fit(style, &cell.name, NAME + 4)),
                tone: Tone::Normal,
                measured: rate.map(human::rate),
                interval: measured
                    .and_then(|rate| half(rate.bytes_per_second.get(), rate.ci95?.map(BytesPerSec::get))),
                predicted: test.predicted_bytes_per_second.map(human::rate),
                error: test.error,
                marks: marks(cell, measured.is_none_or(|rate| rate.trusted)),
                bound: test.bound.as_deref(),
            }
            .put(out, style);
        }
    }
}

fn put_copies(out: &mut String, style: &Style, report: &LabReport) {
    let all = copy::by_rate(report);
    let Some((_, first)) = all.first() else { return };
    heading(out, style, &copy::title(&first.copied));
    let mut line = Line::new(style);
    line.put(Tone::Faint, "  layout").put_right(Tone::Faint, "rate", COLUMNS[0]);
    line.put_right(Tone::Faint, "time", COLUMNS[1]).pad_to(COLUMNS[1] + 5).put(Tone::Faint, "most time");
    line.end(out);
    for (cell, copy) in &all {
        let copied = &copy.copied;
        let mut line = Line::new(style);
        line.put(Tone::Normal, &format!("  {}", fit(style, &cell.name, NAME + 4)));
        line.put_right(Tone::Normal, &human::rate(copied.bytes_per_second), COLUMNS[0]);
        line.put_right(Tone::Normal, &human::time(copied.elapsed_ns), COLUMNS[1]);
        line.pad_to(COLUMNS[1] + 1).put(Tone::Warn, &marks(cell, copied.trusted));
        line.pad_to(COLUMNS[1] + 5).put(Tone::Faint, &copy::limit(copied).unwrap_or_default());
        line.end(out);
    }
    for (cell, how) in copy::details(report) {
        let lead = cell.map_or_else(|| "  ".to_owned(), |cell| format!("  {cell}  "));
        paragraph(out, style, (Tone::Normal, &lead), Tone::Faint, how);
    }
    paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, copy::meaning(&first.copied));
}

fn put_failed(out: &mut String, style: &Style, report: &LabReport) {
    let failed: Vec<(&CellView, &str)> =
        report.cells.iter().filter_map(|cell| Some((cell, cell.failed.as_deref()?))).collect();
    if failed.is_empty() {
        return;
    }
    heading(out, style, "Not built or not measured to the end");
    for (cell, why) in failed {
        paragraph(out, style, (Tone::Bad, &format!("  {}  ", cell.name)), Tone::Normal, why);
    }
}

fn put_marks(out: &mut String, style: &Style, report: &LabReport) {
    let meanings = meanings(report);
    if !meanings.is_empty() {
        out.push('\n');
    }
    for (mark, means) in meanings {
        paragraph(out, style, (Tone::Warn, &format!("{mark}  ")), Tone::Normal, means);
    }
}

/// What the lab cost a device.
pub(super) fn cost(device: &DeviceView) -> String {
    let share = match device.share_of_rated_life {
        // Two decimals would make nothing of it.
        Some(share) if share > 0.0 && share < 1e-4 => ", less than 0.01 % of its rated life".to_owned(),
        Some(share) => format!(", {} of its rated life", human::percent(share)),
        None if device.scratch => " to the file behind it".to_owned(),
        None => ", of a life that the catalogue does not know".to_owned(),
    };
    format!("{} written{share}", human::bytes(device.written_bytes))
}

fn put_devices(out: &mut String, style: &Style, report: &LabReport) {
    heading(out, style, "What it cost");
    for device in &report.devices {
        let mut about = vec![device.name.clone()];
        about.extend(device.model.clone());
        about.extend(device.size_bytes.map(human::bytes));
        let lead = format!("  {}  ", fit(style, &about.join(", "), style.width / 2));
        paragraph(out, style, (Tone::Normal, &lead), Tone::Normal, &cost(device));
    }
}
