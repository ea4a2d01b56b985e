//! Makes the pictures of `docs/gallery.md`, and the real page of every kind of report, of what is kept in `tests/figures`:
//! `gallery REPORTS SVG_DIR PAGE_DIR`. `make gallery` and `make pages` run it.
//!
//! A page is what `narrows FILE --html` writes; of each there is a second one, whose names are hostile.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a tool of the repository"
)]

mod spoil;

use std::fs;
use std::path::{Path, PathBuf};

use narrows_report::answer;
use narrows_report::document::{Audience, page};
use narrows_report::figure::{self, Figure, chart};
use narrows_report::saved::Saved;

/// The pictures: file, report, title.
const PICTURES: [(&str, &str); 18] = [
    ("measured", "S3: a drive in a slot that runs x1, measured"),
    ("s3-x1-slot", "A board of the same model before any measurement"),
    ("s0-switch-card", "S0: four drives behind a PCIe switch"),
    ("s1-lab", "S1: layouts of two drives, with and without encryption"),
    ("s2-two-sockets", "S2: eight drives behind two sockets"),
    ("s4-cluster", "S4: 60 virtual machines on three nodes, predicted"),
    ("healthy-desktop", "A healthy desktop, all paths"),
    ("nas-raid6", "Six hard disks as RAID-6"),
    ("usb-480", "A drive that fell back to USB 2.0"),
    ("nvme-tcp", "NVMe over TCP through a network card"),
    ("ladder-raid0-slow-member", "A ladder with a slow member"),
    ("sweep", "A sweep of block size and queue depth"),
    ("bench", "Completion latencies of a benchmark"),
    ("compare", "One benchmark below two limits that the kernel kept"),
    ("together", "Two files of one disk, alone and together"),
    ("copy", "Where the time of a copy went"),
    ("fleet", "A fleet, the worst host first"),
    ("fleet-run", "60 hosts, the network and a server as one map"),
];

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
    for file in files(reports) {
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = read(&file);
        write(&pages.join(format!("{name}.html")), &of(&name, &text));
        write(&pages.join(format!("hostile-{name}.html")), &of(&name, &spoil::spoiled(&text)));
        if let Some((_, title)) = PICTURES.iter().find(|(picture, _)| *picture == name)
            && let Some(drawing) = picture(&saved(&name, &text), title)
        {
            write(&svgs.join(format!("{name}.svg")), &figure::standalone(&drawing));
        }
    }
}

/// The reports, in the order of their names.
fn files(directory: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(directory).expect("a directory of reports").flatten().map(|entry| entry.path());
    let is_report = |path: &PathBuf| path.extension().is_some_and(|end| end == "json" || end == "jsonl");
    let mut files: Vec<PathBuf> = listed.filter(is_report).collect();
    files.push(directory.join("../data/ladder-raid0-slow-member.json"));
    files.sort();
    files
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

fn saved(name: &str, text: &str) -> Saved {
    Saved::read(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn of(name: &str, text: &str) -> String {
    page(&[saved(name, text).document(Audience::Owner)])
}

/// The first picture of a report, with what it says and what to do.
fn picture(saved: &Saved, title: &str) -> Option<figure::Svg> {
    let figure = first(saved)?;
    let answer = saved.answer().expect("an answer");
    let drawing = &figure.pictures.first()?.wide;
    Some(figure::poster(title, &answer.sentence, &answer.todo, drawing))
}

fn first(saved: &Saved) -> Option<Figure> {
    match saved {
        Saved::Check(report) => figure::machine_map(report).or_else(|| figure::path_map(report, 0)),
        Saved::Together(report) => chart::alone_together(report).into_iter().next(),
        Saved::Fleet(records) => chart::fleet_heat(&answer::hosts(records).iter().collect::<Vec<_>>()),
        Saved::FleetRun(report) => figure::fleet_map(report),
        Saved::Bench(report) => chart::sweep_heat(report).into_iter().chain(chart::bench(report)).next(),
        Saved::Ladder(report) => chart::ladder_waterfall(report).into_iter().next(),
        Saved::Lab(report) => narrows_report::lab::rankings(report).into_iter().next(),
        Saved::Compare(report) => chart::before_after(report),
        Saved::Copy(report) => chart::time_budget(report),
        Saved::Predict(report) => chart::predictions(report).into_iter().nth(1),
        _ => None,
    }
}
