//! The lab as one page: no scripts, no other files, readable on light and on dark.

mod chart;
mod style;

use std::fmt::Write;

use super::copy;
use super::text::{accuracy, agreement, by_rate, cost, error, half, marks, meanings, tests, value};
use super::{CellView, DeviceView, LabReport, RankingView, TestView, Unit};
use crate::sanitize::markup;
use chart::{Bar, bars};
use narrows_base::units::{BytesPerSec, human};

/// The page. Whatever devices and tools call themselves is text on it and nothing else.
pub fn html(report: &LabReport) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // Nothing may be fetched or run, whatever a name might hold.
    out.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    );
    out.push_str(
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>narrows lab</title>\n<style>\n",
    );
    out.push_str(style::STYLE);
    out.push_str("</style>\n</head>\n<body>\n<main>\n");
    put_header(&mut out, report);
    for ranking in &report.rankings {
        put_ranking(&mut out, report, ranking);
    }
    put_tests(&mut out, report);
    put_copies(&mut out, report);
    put_failed(&mut out, report);
    put_basis(&mut out, report);
    put_cost(&mut out, report);
    put_cells(&mut out, report);
    let _ = writeln!(
        out,
        "<footer>narrows {} · {}</footer>\n</main>\n</body>\n</html>",
        markup(&report.tool.version),
        markup(&report.schema)
    );
    out
}

fn put_header(out: &mut String, report: &LabReport) {
    let names: Vec<String> = report.devices.iter().map(about).collect();
    let _ =
        writeln!(out, "<header>\n<p class=\"kicker\">narrows lab</p>\n<h1>Which layout is best here?</h1>");
    let _ = writeln!(out, "<p class=\"devices\">{}</p>\n</header>", markup(&names.join(" · ")));
    out.push_str("<section class=\"verdict\">\n");
    for ranking in &report.rankings {
        let _ = writeln!(out, "<p>{}</p>", markup(&ranking.sentence));
    }
    if report.rankings.is_empty() {
        out.push_str("<p>Nothing was measured that could be ranked.</p>\n");
    }
    let built = report.cells.iter().filter(|cell| cell.failed.is_none()).count();
    let _ = writeln!(
        out,
        "<p class=\"soft\">{built} of {} cells built and measured. {}</p>\n</section>",
        report.cells.len(),
        markup(&accuracy(report))
    );
}

fn about(device: &DeviceView) -> String {
    let mut parts = vec![device.name.clone()];
    parts.extend(device.model.clone());
    parts.extend(device.size_bytes.map(human::bytes));
    parts.join(", ")
}

fn put_ranking(out: &mut String, report: &LabReport, ranking: &RankingView) {
    let _ = writeln!(out, "<section>\n<h2>Ranked for {}</h2>", markup(&ranking.aims.join(", then ")));
    let all: Vec<Bar> = ranking
        .places
        .iter()
        .filter_map(|place| {
            let cell = report.cells.get(place.index);
            let found = place.value?;
            let mark = cell.map(|cell| marks(cell, place.trusted)).unwrap_or_default();
            Some(Bar {
                rank: Some(place.rank),
                name: place.cell.clone(),
                marks: mark,
                value: found,
                shown: value(ranking.unit, found),
                interval: place.interval.filter(|[low, high]| high > low),
                predicted: place.predicted.filter(|_| ranking.unit == Unit::BytesPerSecond),
                best: ranking.best.as_ref() == Some(&place.cell),
                tip: tip(ranking, found, place.interval, place.predicted),
            })
        })
        .collect();
    bars(out, &all);
    if !all.is_empty() {
        out.push_str(LEGEND);
    }
    if let Some(text) = agreement(ranking) {
        let _ = writeln!(out, "<p class=\"soft\">{}</p>", markup(&text));
    }
    if !ranking.unfit.is_empty() {
        out.push_str("<details><summary>Not ranked</summary>\n<ul>\n");
        for unfit in &ranking.unfit {
            let _ = writeln!(out, "<li><b>{}</b>: {}</li>", markup(&unfit.cell), markup(&unfit.reason));
        }
        out.push_str("</ul></details>\n");
    }
    out.push_str("</section>\n");
}

const LEGEND: &str = "<p class=\"legend\"><svg viewBox=\"0 0 26 14\" aria-hidden=\"true\"><rect class=\"bar\" x=\"0\" \
                      y=\"2\" width=\"26\" height=\"10\" rx=\"2\"/></svg> mean <svg viewBox=\"0 0 26 14\" \
                      aria-hidden=\"true\"><path class=\"whisker\" d=\"M3 7H23M3 3v8M23 3v8\"/></svg> 95 % interval \
                      <svg viewBox=\"0 0 26 14\" aria-hidden=\"true\"><path class=\"said\" d=\"M13 2l5 5l-5 5l-5 -5z\"/></svg> \
                      predicted before anything was built</p>\n";

fn tip(ranking: &RankingView, found: f64, interval: Option<[f64; 2]>, predicted: Option<f64>) -> String {
    let mut text = value(ranking.unit, found);
    if let Some(width) = interval.and_then(|ends| half(found, ends)) {
        text.push_str(&format!(" {width}"));
    }
    if let Some(said) = predicted {
        text.push_str(&format!(", predicted {}", value(ranking.unit, said)));
    }
    text
}

fn put_tests(out: &mut String, report: &LabReport) {
    out.push_str("<section>\n<h2>Every test</h2>\n");
    for (mark, means) in meanings(report) {
        let _ = writeln!(out, "<p class=\"soft\"><span class=\"mark\">{mark}</span> {means}</p>");
    }
    for name in tests(report) {
        let _ = writeln!(out, "<h3>{}</h3>", markup(name));
        out.push_str(
            "<div class=\"wide\"><table>\n<thead><tr><th>layout</th><th class=\"n\">measured</th><th class=\"n\">95 %</th>\
             <th class=\"n\">predicted</th><th class=\"n\">error</th><th>bound by prediction</th></tr></thead>\n<tbody>\n",
        );
        for (cell, test) in by_rate(report, name) {
            put_test(out, cell, test);
        }
        out.push_str("</tbody></table></div>\n");
    }
    out.push_str("</section>\n");
}

fn put_test(out: &mut String, cell: &CellView, test: &TestView) {
    let measured = test.measured.as_ref();
    let mark = marks(cell, measured.is_none_or(|rate| rate.trusted));
    let width = measured.and_then(|rate| half(rate.bytes_per_second.get(), rate.ci95?.map(BytesPerSec::get)));
    let class = test.error.map_or("", |off| if off.abs() <= 0.15 { " good" } else { " off" });
    let _ = writeln!(
        out,
        "<tr><td>{}{}</td><td class=\"n\"><b>{}</b></td><td class=\"n soft\">{}</td><td class=\"n\">{}</td>\
         <td class=\"n{class}\">{}</td><td class=\"soft\" title=\"{}\">{}</td></tr>",
        markup(&cell.name),
        if mark.is_empty() { String::new() } else { format!(" <span class=\"mark\">{mark}</span>") },
        measured.map_or("–".to_owned(), |rate| human::rate(rate.bytes_per_second)),
        width.unwrap_or_default(),
        test.predicted_bytes_per_second.map_or("–".to_owned(), human::rate),
        test.error.map(error).unwrap_or_default(),
        markup(test.formula.as_deref().unwrap_or_default()),
        markup(test.bound.as_deref().or(test.reason.as_deref()).unwrap_or_default()),
    );
}

fn put_copies(out: &mut String, report: &LabReport) {
    let all = copy::by_rate(report);
    let Some((_, first)) = all.first() else { return };
    let _ = writeln!(out, "<section>\n<h2>{}</h2>", markup(&copy::title(&first.copied)));
    out.push_str(
        "<div class=\"wide\"><table>\n<thead><tr><th>layout</th><th class=\"n\">rate</th><th class=\"n\">time</th>\
         <th class=\"n\">files</th><th>most time</th><th>verified</th></tr></thead>\n<tbody>\n",
    );
    for (cell, copy) in &all {
        let copied = &copy.copied;
        let mark = marks(cell, copied.trusted);
        let _ = writeln!(
            out,
            "<tr><td>{}{}</td><td class=\"n\"><b>{}</b></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td>\
             <td class=\"soft\">{}</td></tr>",
            markup(&cell.name),
            if mark.is_empty() { String::new() } else { format!(" <span class=\"mark\">{mark}</span>") },
            human::rate(copied.bytes_per_second),
            human::time(copied.elapsed_ns),
            human::count(copied.files as f64),
            markup(&copy::limit(copied).unwrap_or_default()),
            markup(&copy.how),
        );
    }
    out.push_str("</tbody></table></div>\n");
    let _ = writeln!(out, "<p class=\"soft\">{}</p>\n</section>", markup(copy::meaning(&first.copied)));
}

fn put_failed(out: &mut String, report: &LabReport) {
    let failed: Vec<(&CellView, &str)> =
        report.cells.iter().filter_map(|cell| Some((cell, cell.failed.as_deref()?))).collect();
    if failed.is_empty() {
        return;
    }
    out.push_str("<section class=\"failed\">\n<h2>Not built or not measured to the end</h2>\n<ul>\n");
    for (cell, why) in failed {
        let _ = writeln!(out, "<li><b>{}</b>: {}</li>", markup(&cell.name), markup(why));
    }
    out.push_str("</ul>\n</section>\n");
}

fn put_basis(out: &mut String, report: &LabReport) {
    out.push_str("<section>\n<h2>What predictions stand on</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>test</th>");
    for device in &report.devices {
        let _ = write!(out, "<th class=\"n\">{} alone</th>", markup(&device.name));
    }
    out.push_str("<th class=\"n\">all at once</th></tr></thead>\n<tbody>\n");
    for test in &report.basis.tests {
        let _ = write!(out, "<tr><td>{}</td>", markup(&test.test));
        for at in 0..report.devices.len() {
            let rate = test.alone.get(at).map_or("–".to_owned(), |rate| human::rate(rate.bytes_per_second));
            let _ = write!(out, "<td class=\"n\">{rate}</td>");
        }
        let all = test.together.as_ref().map_or("–".to_owned(), |rate| human::rate(rate.bytes_per_second));
        let _ = writeln!(out, "<td class=\"n\">{all}</td></tr>");
    }
    out.push_str("</tbody></table></div>\n");
    for cipher in &report.basis.ciphers {
        let driver = cipher.driver.as_ref().map(|driver| format!(" by {driver}")).unwrap_or_default();
        let text = format!(
            "One core encrypts {} with a key of {} bits at {} and decrypts at {}{driver}; {} processors.",
            cipher.cipher, cipher.key_bits, cipher.encrypt, cipher.decrypt, report.basis.cores
        );
        let _ = writeln!(out, "<p class=\"soft\">{}</p>", markup(&text));
    }
    out.push_str("</section>\n");
}

fn put_cost(out: &mut String, report: &LabReport) {
    out.push_str("<section>\n<h2>What it cost</h2>\n<ul>\n");
    for device in &report.devices {
        let _ = writeln!(out, "<li><b>{}</b>: {}</li>", markup(&about(device)), markup(&cost(device)));
    }
    out.push_str("</ul>\n</section>\n");
}

fn put_cells(out: &mut String, report: &LabReport) {
    out.push_str("<section>\n<h2>How each was built, and how each rate was predicted</h2>\n");
    for cell in &report.cells {
        let _ = writeln!(out, "<details><summary>{}</summary>\n<ul>", markup(&cell.name));
        for note in &cell.notes {
            let _ = writeln!(out, "<li>{}</li>", markup(note));
        }
        for written in &cell.written {
            let text = format!("{} written to {}", human::bytes(written.bytes), written.device);
            let _ = writeln!(out, "<li>{}</li>", markup(&text));
        }
        for test in &cell.tests {
            let said = test.formula.as_deref().or(test.reason.as_deref()).unwrap_or_default();
            let _ = writeln!(out, "<li><b>{}</b>: {}</li>", markup(&test.test), markup(said));
        }
        out.push_str("</ul></details>\n");
    }
    out.push_str("</section>\n");
}
