//! `narrows RUN.json` and `--html`: pages of what was found, now and from what was saved.

use std::fs;
use std::path::{Path, PathBuf};

use narrows::machine::snapshot;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::tree;
use crate::{Ran, finish, narrows};

#[path = "../../crates/narrows-runs/examples/spoil/mod.rs"]
mod spoil;

/// A directory to write in.
fn place() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A recorded machine as a file.
fn recorded(dir: &TempDir, machine: &str) -> PathBuf {
    let path = dir.path().join(format!("{machine}.tar.zst"));
    let mut file = fs::File::create(&path).expect("is writable");
    snapshot::write(&tree(machine), &mut file, false).expect("the tree can be packed");
    path
}

fn run(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Ran {
    let mut command = narrows(&[]);
    args.iter().for_each(|arg| {
        command.arg(arg);
    });
    finish(&mut command)
}

fn saved(dir: &TempDir, name: &str, args: &[&dyn AsRef<std::ffi::OsStr>]) -> PathBuf {
    let ran = run(&[args, &[&"--json"]].concat());
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let path = dir.path().join(name);
    fs::write(&path, &ran.out).expect("is writable");
    path
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("was written")
}

/// One file, no script, nothing that is fetched.
fn stands_alone(page: &str) {
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("default-src 'none'; style-src 'sha256-"), "{page}");
    for foreign in ["<script", " style=", "src=", "url(", "@import", "http:", "https:", "<link", "\x1b"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn a_saved_check_gives_the_same_text_and_the_same_page() {
    let dir = place();
    for (machine, target) in [("s3-x99-before", "/dev/nvme2n1"), ("two-socket", ""), ("nas-raid6", "")] {
        let from = recorded(&dir, machine);
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = Vec::new();
        if !target.is_empty() {
            args.push(&target);
        }
        args.push(&from);
        let (now, later) =
            (dir.path().join(format!("{machine}.html")), dir.path().join(format!("{machine}-2.html")));
        let shown = run(&[args.as_slice(), &[&"--html", &now]].concat());
        let json = saved(&dir, &format!("{machine}.json"), &args);
        let again = run(&[&json, &"--html", &later]);
        assert_eq!((again.out, again.err, again.status), (shown.out, String::new(), Some(0)), "{machine}");
        assert_eq!(read(&now), read(&later), "{machine}");
        stands_alone(&read(&now));
    }
}

#[test]
fn a_page_leaves_out_names_and_addresses() {
    let dir = place();
    let from = recorded(&dir, "nfs-client");
    let json = saved(&dir, "run.json", &[&from]);
    let text = run(&[&json]).out;
    let address = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_ascii_digit()));
    let address = address
        .filter(|word| word.parse::<std::net::Ipv4Addr>().is_ok())
        .find(|word| !word.starts_with("192.0.2."))
        .map(str::to_owned);
    let page = dir.path().join("page.html");
    assert_eq!(run(&[&json, &"--html", &page]).out, text);
    let private = address.into_iter().chain(["filer".to_owned()]);
    for name in private.filter(|name| text.contains(name)) {
        assert!(!read(&page).contains(&name), "{name}");
    }
}

#[test]
fn other_reports_come_back_as_they_were() {
    let dir = place();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let system = root.join("systems/ryzen-raid-luks.path.toml");
    let result = root.join("tests/data/results/ior.json");
    let cases: [(&str, Vec<&dyn AsRef<std::ffi::OsStr>>); 3] = [
        ("predict", vec![&"predict", &system]),
        ("ior", vec![&result]),
        ("plan", vec![&"plan", &"--board", &"dell-poweredge-r720xd", &"--want", &"2xnvme:gen3x4"]),
    ];
    let mut files = Vec::new();
    for (name, args) in &cases {
        let shown = run(args).out;
        let json = saved(&dir, &format!("{name}.json"), args);
        assert_eq!(run(&[&json]).out, shown, "{name}");
        files.push(json);
    }
    let page = dir.path().join("all.html");
    let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = Vec::new();
    args.extend(files.iter().map(|file| file as &dyn AsRef<std::ffi::OsStr>));
    args.extend([&"--html" as &dyn AsRef<std::ffi::OsStr>, &page]);
    let ran = run(&args);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let page = read(&page);
    stands_alone(&page);
    for command in ["narrows predict", "narrows", "narrows plan"] {
        assert!(page.contains(&format!("<p class=\"kicker\">{command}</p>")), "{command}");
    }
}

#[test]
fn a_fleet_has_a_page_now_and_from_its_lines() {
    let dir = place();
    let captures = dir.path().join("captures");
    fs::create_dir(&captures).expect("is writable");
    for machine in ["s3-x99-before", "healthy-desktop"] {
        fs::rename(recorded(&dir, machine), captures.join(format!("{machine}.tar.zst"))).expect("is moved");
    }
    let args: [&dyn AsRef<std::ffi::OsStr>; 2] = [&captures, &"--fleet"];
    let (now, later) = (dir.path().join("now.html"), dir.path().join("later.html"));
    let shown = run(&[&args[..], &[&"--html", &now]].concat());
    assert_eq!((shown.out.is_empty(), shown.status), (false, Some(1)), "{shown:?}");
    let lines = saved(&dir, "fleet.jsonl", &args);
    assert_eq!(run(&[&lines, &"--html", &later]).status, Some(0));
    assert_eq!(read(&now), read(&later));
    stands_alone(&read(&now));
    assert!(read(&now).contains("s3-x99-before"));
}

#[test]
fn a_page_takes_the_place_of_the_text_for_a_dash_and_of_no_file() {
    let dir = place();
    let from = recorded(&dir, "healthy-desktop");
    let printed = run(&[&from, &"--html", &"-"]);
    assert!(printed.out.starts_with("<!doctype html>"), "{printed:?}");
    let there = dir.path().join("there.html");
    fs::write(&there, "mine").expect("is writable");
    let ran = run(&[&from, &"--html", &there]);
    assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.err.contains("hint: "), "{}", ran.err);
    assert_eq!(read(&there), "mine");
}

#[test]
fn what_is_no_report_is_named_with_what_to_do() {
    let dir = place();
    let file = dir.path().join("x.json");
    for (text, why) in [
        ("{\"schema\": \"narrows/guard/1\"}", "no page is made of a report of the schema `narrows/guard/1`"),
        ("{\"schema\": \"narrows/check/1\", \"paths\": 3}", "it does not follow the schema"),
    ] {
        fs::write(&file, text).expect("is writable");
        let ran = run(&[&file]);
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.err.contains(why) && ran.err.contains("hint: "), "{}", ran.err);
    }
    let ran = run(&[&dir.path().join("absent.json")]);
    assert!(ran.status == Some(2) && ran.err.contains("hint: "), "{ran:?}");
}

/// A number as pictures hold it: all digits that it needs.
fn number(value: &Value) -> String {
    value.as_f64().map(|value| format!("{value}")).unwrap_or_default()
}

/// All numbers under a key, however deep.
fn under(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| under(one, key, found)),
        Value::Object(all) => {
            found.extend(all.get(key).filter(|value| value.is_number()).map(number));
            all.values().for_each(|one| under(one, key, found));
        }
        _ => {}
    }
}

/// Saved runs, the command of each, and the numbers that its charts show: where they stand, under which keys, and as which attribute.
const SAVED: [(&str, &str, &str, &[&str], &str); 10] = [
    ("figures/bench.json", "measure", "/results", &["p50"], "percentiles=\"p50="),
    ("figures/sweep.json", "measure", "/results", &["bytes_per_second"], "rate=\""),
    (
        "data/ladder-raid0-slow-member.json",
        "layers",
        "/ladders/0/rungs/0/measurement",
        &["bytes_per_second"],
        "rate=\"",
    ),
    ("figures/s1-lab.json", "lab", "/rankings/0/places", &["value"], "value=\""),
    (
        "figures/compare.json",
        "compare",
        "/workloads",
        &["a_bytes_per_second", "b_bytes_per_second"],
        "rate=\"",
    ),
    ("figures/copy.json", "copy", "/time", &["read_wait_ns", "write_wait_ns", "cpu_ns"], "ns=\""),
    ("figures/together.json", "", "/groups/0/shares/0/alone", &["bytes_per_second"], "rate=\""),
    (
        "figures/predict-what-if.json",
        "predict",
        "/systems/0/predictions/0/bounds/0",
        &["bytes_per_second"],
        "rate=\"",
    ),
    (
        "figures/s4-cluster.json",
        "predict",
        "/systems/0/predictions/0/at_most",
        &["bytes_per_second"],
        "at-most=\"",
    ),
    ("figures/measured.json", "", "/paths/0/runs/0", &["p50"], "percentiles=\"p50="),
];

#[test]
fn the_charts_of_every_kind_of_saved_run_hold_its_numbers() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (file, command, place, keys, attribute) in SAVED {
        let file = tests.join(file);
        let page = run(&[&file, &"--html", &"-"]);
        assert_eq!((page.status, page.err.as_str()), (Some(0), ""), "{}", file.display());
        stands_alone(&page.out);
        assert_eq!(page.out, run(&[&file, &"--html", &"-"]).out, "{}", file.display());
        assert!(page.out.contains("<figure class=\"figure\""), "{} has no figure", file.display());
        let saved: Value = serde_json::from_str(&read(&file)).expect("is JSON");
        let mut numbers = Vec::new();
        keys.iter().for_each(|key| under(saved.pointer(place).expect("is there"), key, &mut numbers));
        assert!(!numbers.is_empty(), "{}", file.display());
        for number in numbers {
            let stated = format!("data-{attribute}{number}");
            assert!(page.out.contains(&stated), "{}: {stated}", file.display());
        }
        let kicker = format!("<p class=\"kicker\">narrows {command}");
        assert!(page.out.contains(kicker.trim_end()), "{}", file.display());
        assert!(!run(&[&file]).out.is_empty(), "{}", file.display());
    }
}

#[test]
fn what_moves_now_has_a_page() {
    let dir = place();
    let args: [&dyn AsRef<std::ffi::OsStr>; 3] = [&"top", &"--interval", &"100ms"];
    let page = dir.path().join("top.html");
    let shown = run(&[&args[..], &[&"--html", &page]].concat());
    assert_eq!((shown.status, shown.out.is_empty()), (Some(0), false), "{shown:?}");
    stands_alone(&read(&page));
    let json = saved(&dir, "top.json", &args);
    let again = run(&[&json, &"--html", &"-"]).out;
    stands_alone(&again);
    assert!(again.contains("<p class=\"kicker\">narrows top</p>"), "{again}");
}

/// The reports that are kept: one of each kind that measures, predicts or judges.
fn every_kind() -> Vec<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let figures = fs::read_dir(tests.join("figures")).expect("is there");
    let mut files: Vec<PathBuf> = figures.map(|entry| entry.expect("is readable").path()).collect();
    files.sort();
    files.push(tests.join("data/ladder-raid0-slow-member.json"));
    files
}

#[test]
fn names_that_attack_are_text_on_the_page_of_every_command() {
    let dir = place();
    let mut schemas = std::collections::BTreeSet::new();
    for file in every_kind() {
        let text = read(&file);
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let schema =
            values.next().and_then(Result::ok).and_then(|it| it["schema"].as_str().map(str::to_owned));
        schemas.extend(schema);
        let spoiled = dir.path().join("spoiled.json");
        fs::write(&spoiled, spoil::spoiled(&text)).expect("is writable");
        let page = run(&[&spoiled, &"--html", &"-"]);
        assert_eq!((page.status, page.err.as_str()), (Some(0), ""), "{}", file.display());
        for foreign in ["<script", "<img", " onload=\"", " style=", "\u{202e}", "\u{2066}", "\x1b"] {
            assert!(!page.out.contains(foreign), "{}: {foreign}", file.display());
        }
        // The names are there, and none of them is endless.
        assert_ne!(page.out, run(&[&file, &"--html", &"-"]).out, "{}", file.display());
        assert!(!page.out.contains(&"W".repeat(2001)), "{}", file.display());
        assert_eq!(page.out.matches("</style>").count(), 1, "{}", file.display());
        let text = run(&[&spoiled]);
        assert!(!text.out.contains(['\u{202e}', '\u{2066}', '\x1b']), "{}", file.display());
    }
    let all = [
        "check",
        "compare",
        "copy",
        "fleet",
        "fleet-run",
        "lab",
        "ladder",
        "measure",
        "plan",
        "predict",
        "together",
        "top",
    ];
    let all: std::collections::BTreeSet<String> =
        all.iter().map(|name| format!("narrows/{name}/1")).collect();
    assert_eq!(schemas, all);
}
