//! What the lab says of a published machine: text, JSON and page, and that nobody's name becomes more than text.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test reads its data, updates the schema and may panic"
)]

use std::fs;
use std::path::Path;

use crate::schema;
use clap::ValueEnum;
use narrows::lab::aim::Aim;
use narrows::lab::{
    Basis, Cell, CellCopy, CipherRate, Copied, Encryption, FileSystem, Layout, Measured, Outcome, ReadFrom,
    Written, predict,
};
use narrows::load::measurement::{Measurement, Pattern};
use narrows::load::preset::LoadSpec;
use narrows::report::document::{Audience, Style, page};
use narrows::runs::lab::{DeviceFacts, LabReport, build, document};
use narrows::units::{Bytes, BytesPerSec, Iops, Nanos};

const RYZEN: &str = include_str!("../data/lab-ryzen-2600.csv");
const DEVICES: [&str; 2] = ["nvme0n1", "nvme1n1"];

fn render(report: &LabReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

fn html(report: &LabReport) -> String {
    page(&[document(report, Audience::Owner)])
}

fn loads() -> [LoadSpec; 2] {
    let read = LoadSpec::reading(Pattern::Sequential, Bytes::from_mib(1), 8);
    [read.clone(), read.writing(100)]
}

fn name(load: &LoadSpec) -> String {
    format!("kdiskmark/{} {}", load.mark(), load.direction())
}

fn measured(load: &LoadSpec, mb: f64) -> Measured {
    let rate = BytesPerSec::from_mb(mb);
    let measurement = Measurement {
        bytes_per_second: rate,
        ci95: Some([rate * 0.99, rate * 1.01]),
        iops: Iops::new(rate.get() / load.block_size.as_f64()),
        ..Measurement::default()
    };
    Measured { test: name(load), load: load.clone(), measurement, trusted: true, processors: None }
}

fn both(read: f64, write: f64) -> Vec<Measured> {
    loads().iter().zip([read, write]).map(|(load, mb)| measured(load, mb)).collect()
}

/// Two SN770 alone, and the cipher of a Ryzen 5 2600 (2596.5 and 2566.2 MiB/s, linuxreviews.org, Linux 5.12).
fn basis() -> Basis {
    Basis {
        devices: DEVICES.map(str::to_owned).to_vec(),
        alone: vec![both(3600.0, 3300.0); 2],
        together: both(7200.0, 6600.0),
        ciphers: vec![CipherRate {
            cipher: "aes-xts-plain64".to_owned(),
            key_bits: 512,
            encrypt: BytesPerSec::from_mb(2722.6),
            decrypt: BytesPerSec::from_mb(2690.9),
            driver: Some("xts-aes-aesni".to_owned()),
        }],
        cores: 12,
        mappings: Vec::new(),
        paused: Vec::new(),
    }
}

fn outcome(basis: &Basis, cell: Cell, rates: Option<[f64; 2]>) -> Outcome {
    let said = loads().iter().map(|load| predict(basis, &cell, &name(load), load)).collect();
    let gigabytes = |count: u64| Bytes::new(count * 1_000_000_000);
    Outcome {
        cell,
        predicted: said,
        measured: rates.map(|[read, write]| both(read, write)).unwrap_or_default(),
        resyncing: false,
        written: DEVICES.map(|name| Written { device: name.to_owned(), bytes: gigabytes(12) }).to_vec(),
        notes: vec!["mdadm 4.2, chunk 512 KiB".to_owned()],
        failed: None,
        copy: None,
    }
}

fn outcomes(basis: &Basis) -> Vec<Outcome> {
    let rows = RYZEN.lines().filter(|line| !line.starts_with('#'));
    let mut all: Vec<Outcome> = rows
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let layout = Layout::from_str(&fields[0].replace('_', "-"), true).expect("a layout");
            let encryption = Encryption::from_str(fields[1], true).expect("an encryption");
            let rate = |at: usize| fields[at].parse::<f64>().expect("a rate");
            let cell = Cell { layout, encryption, file_system: FileSystem::Ext4 };
            let resyncing = fields[4] == "yes";
            Outcome { resyncing, ..outcome(basis, cell, Some([rate(2), rate(3)])) }
        })
        .collect();
    let veracrypt =
        Cell { layout: Layout::Single, encryption: Encryption::VeraCrypt, file_system: FileSystem::Ext4 };
    let failed = Some("`dmsetup create` ended with 1: Invalid argument".to_owned());
    all.push(Outcome { failed, ..outcome(basis, veracrypt, None) });
    all
}

fn facts() -> Vec<DeviceFacts> {
    // 1200 TBW of 2 TB: the maker's data sheet of the WD_BLACK SN770.
    let of = |name: &str| DeviceFacts {
        name: name.to_owned(),
        model: Some("WD_BLACK SN770 2TB".to_owned()),
        size: Some(Bytes::new(2_000_398_934_016)),
        rated: Some(Bytes::new(1_200_000_000_000_000)),
        scratch: false,
    };
    DEVICES.map(of).to_vec()
}

fn report(aims: &str) -> LabReport {
    let basis = basis();
    let aims = if aims.is_empty() { Vec::new() } else { Aim::parse_all(aims).expect("are aims") };
    build(&basis, &outcomes(&basis), &aims, &facts())
}

const WIDE: Style = Style { colour: false, width: 100, unicode: true, plain: false, verbose: false };

#[test]
fn with_encryption_a_second_drive_gains_nothing_and_the_cipher_is_why() {
    let report = report("encryption,sequential");
    insta::assert_snapshot!("encryption_at_100_columns", render(&report, &WIDE));
    assert!(report.rankings[0].sentence.contains("the bottleneck is the cipher on one core"));
    assert_eq!(report.accuracy.within_15_percent, report.accuracy.tests);
    assert!(!report.complete);
}

#[test]
fn without_aims_reads_and_writes_are_ranked() {
    let report = report("");
    assert_eq!(report.rankings.len(), 2);
    insta::assert_snapshot!("no_aims_plain", render(&report, &Style::PLAIN));
}

/// The gallery shows this machine.
#[test]
fn the_report_of_the_gallery_is_of_this_machine() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/figures/s1-lab.json");
    let now = serde_json::to_string(&report("encryption,sequential")).expect("serialises") + "\n";
    if std::env::var_os("UPDATE_FIGURES").is_some() {
        std::fs::write(&path, &now).expect("tests/figures is writable");
    }
    let kept: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap_or_default()).unwrap_or_default();
    let now: serde_json::Value = serde_json::from_str(&now).expect("is JSON");
    assert!(kept == now, "run: UPDATE_FIGURES=1 cargo test --test library lab_report");
}

/// A copy of 400 GB in so many seconds.
fn copied(seconds: u64, faults: u64) -> Copied {
    let (bytes, elapsed) = (Bytes::new(400_000_000_000), Nanos::from_millis(seconds * 1000));
    Copied {
        source: "/srv/photos\u{1b}[31m".to_owned(),
        files: 12_345 - faults,
        directories: 321,
        bytes,
        elapsed_ns: elapsed,
        bytes_per_second: bytes.per(elapsed.duration()),
        limit: Some("destination".to_owned()),
        limit_share: Some(0.61),
        read_from: ReadFrom::Memory,
        cached: Some(1.0),
        verified_files: 12_345 - faults,
        verified_by_advice: 0,
        faults,
        first_fault: (faults > 0).then(|| "/srv/photos/a: changed while it was copied".to_owned()),
        trusted: faults == 0,
    }
}

/// The published machine, on which files were copied to three layouts.
fn with_copies(aims: &str) -> LabReport {
    let basis = basis();
    let mut all = outcomes(&basis);
    let copies = [
        CellCopy::Copied(Box::new(copied(200, 0))),
        CellCopy::Copied(Box::new(copied(112, 0))),
        CellCopy::Not(
            "the copy does not fit: it takes 400 GB and 12666 names, and 300 GB are free".to_owned(),
        ),
        CellCopy::Copied(Box::new(copied(290, 2))),
    ];
    for (outcome, copy) in all.iter_mut().zip(copies) {
        outcome.copy = Some(copy);
    }
    let aims = if aims.is_empty() { Vec::new() } else { Aim::parse_all(aims).expect("are aims") };
    build(&basis, &all, &aims, &facts())
}

#[test]
fn copies_stand_beside_the_tests_and_can_be_aimed_at() {
    let report = with_copies("copy");
    insta::assert_snapshot!("copies_at_100_columns", render(&report, &WIDE));
    // 400 GB in 112 s are well beyond the tenth that a single run is unsure by.
    assert!(report.rankings[0].sentence.contains("is best here for copying, 3.57 GB/s"));
    assert!(report.rankings[0].unfit.iter().any(|unfit| unfit.reason.contains("does not fit")));
    let doubtful = report.rankings[0].places.iter().find(|place| !place.trusted).expect("one lacks files");
    assert_eq!(report.cells[doubtful.outcome].outcome.copied().map(|copied| copied.faults), Some(2));
    assert_eq!(with_copies("").rankings.len(), 3, "reads, writes and copies");
    let (page, json) = (html(&report), serde_json::to_value(&report).expect("serialises"));
    well_formed(&page);
    assert!(page.contains("Copy of /srv/photos") && !page.contains('\u{1b}'));
    assert!(page.contains("files read back past the page cache"));
    let validator = jsonschema::validator_for(&schema::of("lab")).expect("is a schema");
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(json["cells"][0]["copy"]["copied"]["elapsed_ns"], 200_000_000_000_u64);
    let back: LabReport = serde_json::from_value(json).expect("is a report");
    assert_eq!(back.cells[1].outcome.copy, report.cells[1].outcome.copy);
    for width in [60, 78, 140] {
        let text = render(&report, &Style { width, ..WIDE });
        assert!(width < 72 || text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

#[test]
fn no_line_is_wider_than_asked() {
    for width in [60, 78, 100, 140] {
        let text = render(&report(""), &Style { width, ..WIDE });
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(width < 72 || widest.is_some_and(|widest| widest <= width), "{width}: {widest:?}\n{text}");
    }
    let plain = render(&report("encryption,writes"), &Style::PLAIN);
    assert!(plain.lines().all(|line| line.len() <= 78 && line.is_ascii()), "{plain}");
}

#[test]
fn the_json_keeps_its_schema_and_comes_back() {
    let validator = jsonschema::validator_for(&schema::of("lab")).expect("is a schema");
    for aims in ["", "encryption,sequential", "capacity,endurance", "survive:1,iops"] {
        let report = report(aims);
        let json = serde_json::to_value(&report).expect("serialises");
        let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{aims}: {errors:?}");
        assert_eq!(json["schema"], "narrows/lab/1");
        let back: LabReport = serde_json::from_value(json).expect("is a report");
        assert_eq!(back.rankings.len(), report.rankings.len());
    }
}

#[test]
fn the_page_stands_alone() {
    let page = html(&report("encryption,sequential"));
    if let Some(path) = std::env::var_os("LAB_PAGE") {
        fs::write(path, html(&report(""))).expect("is writable");
    }
    for foreign in ["<script", "src=", "href", "@import", "url(", "http://", "https://", "NaN", "javascript:"]
    {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("default-src 'none'"));
    well_formed(&page);
    insta::assert_snapshot!("page", page);
}

/// Every tag is closed, but for those that HTML never closes.
fn well_formed(page: &str) {
    let body = page.replace("<!doctype html>", "").replace("charset=\"utf-8\">", "charset=\"utf-8\"/>");
    let closed: Vec<String> = body
        .lines()
        .map(|line| {
            let meta = line.starts_with("<meta") && !line.ends_with("/>");
            if meta { line.replacen("\">", "\"/>", 1) } else { line.to_owned() }
        })
        .collect();
    let text = closed.join("\n");
    let mut reader = quick_xml::Reader::from_str(&text);
    while reader.read_event().expect("is well formed") != quick_xml::events::Event::Eof {}
}

#[test]
fn a_trial_on_scratch_files_and_doubts_are_marked() {
    let basis = basis();
    let mut outcomes = outcomes(&basis);
    outcomes[0].measured[0].trusted = false;
    let of = |name: &str| DeviceFacts { name: name.to_owned(), scratch: true, ..DeviceFacts::default() };
    let report = build(&basis, &outcomes, &[], &DEVICES.map(of));
    let text = render(&report, &WIDE);
    for part in [
        "L  on scratch files through loop devices: rates of a trial",
        "!  a measurement that is not to be believed",
        "84 GB written to the file behind it",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.lines().any(|line| line.contains("RAID-1 LUKS2") && line.contains(" RL")), "{text}");
    assert!(text.lines().any(|line| line.contains("single plain") && line.contains(" L!")), "{text}");
    let nothing = build(&Basis::default(), &[], &[], &[]);
    assert!(render(&nothing, &WIDE).contains("Nothing was measured that could be ranked."));
    well_formed(&html(&nothing));
}

#[test]
fn a_bare_drive_is_no_prediction() {
    let basis = basis();
    let cell = Cell { layout: Layout::Single, encryption: Encryption::Plain, file_system: FileSystem::None };
    let bare = outcome(&basis, cell, Some([3600.0, 3300.0]));
    assert_eq!(build(&basis, &[bare], &[], &facts()).accuracy.tests, 0);
}

#[test]
fn names_that_attack_are_text_everywhere() {
    const HOSTILE: &str = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>\x1b[2J\u{202e}";
    let basis = Basis { devices: vec![HOSTILE.to_owned(), "nvme1n1".to_owned()], ..basis() };
    let mut outcomes = outcomes(&basis);
    for outcome in &mut outcomes {
        outcome.notes = vec![HOSTILE.to_owned()];
        outcome.written[0].device = HOSTILE.to_owned();
        outcome.failed = outcome.failed.as_ref().map(|_| HOSTILE.to_owned());
        for said in &mut outcome.predicted {
            (said.bound, said.formula) = (HOSTILE.to_owned(), HOSTILE.to_owned());
        }
        for measured in &mut outcome.measured {
            measured.test = format!("{}{HOSTILE}", measured.test);
        }
    }
    let facts =
        vec![DeviceFacts { name: HOSTILE.to_owned(), model: Some(HOSTILE.to_owned()), ..facts()[0].clone() }];
    let report = build(&basis, &outcomes, &[], &facts);
    let page = html(&report);
    assert!(!page.contains("<script") && !page.contains("<img") && page.contains("&lt;script&gt;"));
    for text in [page.as_str(), &render(&report, &WIDE)] {
        assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{text}");
    }
    well_formed(&page);
    let json = narrows::report::sanitize::shown_json(&report).expect("serialises");
    assert!(!json.contains("\\u001b") && !json.contains('\u{202e}') && json.contains("\\\\x1b[2J"), "{json}");
}
