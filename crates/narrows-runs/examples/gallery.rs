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

use narrows_report::document::{Audience, Block, page};
use narrows_report::figure::{self, Figure};
use narrows_runs::saved::Saved;

/// The reports of which there is a picture.
const PICTURES: [&str; 18] = [
    "measured",
    "s3-x1-slot",
    "s0-switch-card",
    "s1-lab",
    "s2-two-sockets",
    "s4-cluster",
    "healthy-desktop",
    "nas-raid6",
    "usb-480",
    "nvme-tcp",
    "ladder-raid0-slow-member",
    "sweep",
    "bench",
    "compare",
    "together",
    "copy",
    "fleet",
    "fleet-run",
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
        if PICTURES.contains(&name.as_str())
            && let Some(picture) = first(&saved(&name, &text)).and_then(|it| it.pictures.into_iter().next())
        {
            write(&svgs.join(format!("{name}.svg")), &figure::standalone(&picture.wide));
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

fn first(saved: &Saved) -> Option<Figure> {
    let all = saved.document(Audience::Owner).blocks.into_iter();
    let mut figures = all.filter_map(|block| match block {
        Block::Figure(figure) => Some(*figure),
        _ => None,
    });
    match saved {
        Saved::Predict(_) => figures.nth(1),
        Saved::Top(_) | Saved::Plan(_) => None,
        _ => figures.next(),
    }
}
