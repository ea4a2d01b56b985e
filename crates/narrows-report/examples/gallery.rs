//! Makes the pictures of `docs/gallery.md`, and pages that hold every kind of figure, of the reports in `tests/figures`:
//! `gallery REPORTS SVG_DIR PAGE_DIR`. `make gallery` and `make pages` run it.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a tool of the repository"
)]

use std::fs;
use std::path::Path;

use narrows_model::path::file::parse;
use narrows_model::predict::roofline::{Axis, roofline};
use narrows_report::bench::BenchReport;
use narrows_report::bench::sweep::SweepReport;
use narrows_report::figure::{self, Figure, card, chart};
use narrows_report::fleet::Record;
use narrows_report::ladder::LadderReport;
use narrows_report::view::CheckReport;
use narrows_verdict::cohort::Host;
use serde::de::DeserializeOwned;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [reports, svgs, pages] = arguments.as_slice() else {
        eprintln!("usage: gallery REPORTS SVG_DIR PAGE_DIR");
        std::process::exit(2);
    };
    let (reports, svgs, pages) = (Path::new(reports), Path::new(svgs), Path::new(pages));
    for directory in [svgs, pages] {
        fs::create_dir_all(directory).expect("a directory can be made");
    }
    let all = figures(reports);
    for (name, figures) in &all {
        fs::write(pages.join(format!("{name}.html")), page(name, figures)).expect("a page can be written");
        if let Some(picture) = figures.first().and_then(|figure| figure.pictures.first()) {
            fs::write(svgs.join(format!("{name}.svg")), figure::standalone(&picture.wide))
                .expect("a picture can be written");
        }
    }
    let text = fs::read(reports.join("measured.json")).expect("a report");
    let report: CheckReport = serde_json::from_slice(&text).expect("a report");
    let stamp =
        card::Stamp { date: "2026-11-25".to_owned(), path: 1, run: card::hash(&text), snapshot: None };
    fs::write(svgs.join("card.svg"), card::svg(&report, &stamp).expect("a card"))
        .expect("a card can be written");
}

fn read<T: DeserializeOwned>(directory: &Path, name: &str) -> T {
    let file = directory.join(name);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The figures of every page, by its name.
fn figures(reports: &Path) -> Vec<(String, Vec<Figure>)> {
    let mut all: Vec<(String, Vec<Figure>)> = Vec::new();
    let checks = [
        "s3-x1-slot",
        "measured",
        "s0-switch-card",
        "s2-two-sockets",
        "nas-raid6",
        "usb-480",
        "nvme-tcp",
        "healthy-desktop",
        "s3-machine",
    ];
    for name in checks {
        let report: CheckReport = read(reports, &format!("{name}.json"));
        let machine = figure::machine_map(&report).into_iter();
        let paths = (0..report.paths.len().min(4)).filter_map(|at| figure::path_map(&report, at));
        all.push((name.to_owned(), machine.chain(paths).collect()));
    }
    let mut hostile: CheckReport = read(reports, "s2-two-sockets.json");
    spoil(&mut hostile);
    all.push(("hostile".to_owned(), figure::path_map(&hostile, 0).into_iter().collect()));
    let ladder: LadderReport = read(reports, "../data/ladder-raid0-slow-member.json");
    all.push(("ladder".to_owned(), chart::ladder_waterfall(&ladder)));
    let sweep: SweepReport = read(reports, "sweep.json");
    let mut of_sweep = chart::sweep_heat(&sweep);
    of_sweep.extend(chart::sweep_knee(&sweep));
    all.push(("sweep".to_owned(), of_sweep));
    all.push(("bench".to_owned(), bench(&read(reports, "bench.json"))));
    let system = parse(
        "ryzen-raid-luks",
        &fs::read_to_string(reports.join("../../systems/ryzen-raid-luks.path.toml")).expect("a system"),
    );
    let system = system.expect("a system");
    let pictures = [Axis::BlockSize, Axis::Depth]
        .map(|axis| roofline(&system, &system.workloads[0], axis, &system.workloads));
    let rooflines =
        pictures.iter().enumerate().filter_map(|(at, it)| chart::roofline(it.as_ref().ok()?, at + 1));
    all.push(("roofline".to_owned(), rooflines.collect()));
    let hosts = fleet(&reports.join("fleet.jsonl"));
    all.push((
        "fleet".to_owned(),
        chart::fleet_heat(&hosts.iter().collect::<Vec<_>>()).into_iter().collect(),
    ));
    all
}

/// Names that would be markup, commands or endless anywhere else.
fn spoil(report: &mut CheckReport) {
    let long = "W".repeat(10_000);
    let names = ["</style><script>alert(1)</script>", "\u{202e}gnp.exe", "\" onload=\"x", long.as_str()];
    for (at, hop) in report.paths.iter_mut().flat_map(|path| &mut path.hops).enumerate() {
        hop.name = names[at % names.len()].to_owned();
    }
    for path in &mut report.paths {
        path.target = "<img src=x onerror=alert(1)>".to_owned();
        path.sentence = format!("{} {}", names[0], names[1]);
    }
}

fn bench(report: &BenchReport) -> Vec<Figure> {
    let sides = report
        .results
        .iter()
        .filter_map(|result| Some((result.name.clone(), &result.read.as_ref()?.latency_ns)));
    let mut figures: Vec<Figure> =
        chart::percentiles("latencies", &sides.collect::<Vec<_>>()).into_iter().collect();
    for (at, result) in report.results.iter().enumerate() {
        figures.extend(chart::rate_over_time(
            &format!("rate-{}", at + 1),
            &result.name,
            &result.series,
            None,
            &[],
        ));
    }
    figures
}

fn fleet(file: &Path) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    for line in fs::read_to_string(file).expect("a fleet").lines() {
        match serde_json::from_str(line).expect("a record") {
            Record::Host { host, .. } => hosts.push(*host),
            Record::Finding { host, found, .. } => {
                hosts
                    .iter_mut()
                    .filter(|it| it.host == host)
                    .for_each(|it| it.findings.push((*found).clone()));
            }
            _ => {}
        }
    }
    hosts
}

/// The figures on a page that may load and run nothing.
fn page(name: &str, figures: &[Figure]) -> String {
    let style = format!(
        ":root {{ color-scheme: light dark }} body {{ margin: 0 auto; max-width: 1100px; padding: 12px; \
         font: 16px/1.5 system-ui, 'Liberation Sans', sans-serif; overflow-wrap: anywhere; background: #fff; color: #1b1f24 }}\n\
         th, td {{ text-align: left; padding: 2px 10px 2px 0 }} .n {{ text-align: right }}\n\
         @media screen and (prefers-color-scheme: dark) {{ body {{ background: #0f1318; color: #e8ecf1 }} }}\n{}",
        figure::style()
    );
    let body: String = figures.iter().map(Figure::html).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'\">\n\
         <title>{name}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{name}</h1>\n<h2>Figures</h2>\n{body}</main>\n</body>\n</html>\n",
        base64_of(&card::hash(style.as_bytes()))
    )
}

/// A hash in hexadecimal, in base 64.
fn base64_of(hash: &str) -> String {
    use base64::Engine;
    let pair = |at: usize| hash.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Vec<u8> = (0..hash.len()).step_by(2).filter_map(pair).collect();
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
