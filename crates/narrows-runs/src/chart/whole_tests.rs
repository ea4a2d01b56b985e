//! Every chart holds the values of its report: read back from the pictures, and held against the JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::saved::Saved;
use narrows_report::document::{Audience, Block};
use narrows_report::figure::Figure;

/// Figures by the beginning of their identity, and the attributes that hold their values.
const CHARTS: [(&str, &[&str]); 17] = [
    ("path-map", &["ceiling", "path", "measured", "interval", "predicted", "predicted-interval", "at-most"]),
    ("machine-map", &["ceiling"]),
    ("fleet-map", &["ceiling", "measured"]),
    ("latencies", &["percentiles"]),
    ("rates", &["series", "ceiling"]),
    ("sweep-heat", &["block", "depth", "rate"]),
    ("sweep-knee", &["points"]),
    ("ladder", &["rate", "interval", "line", "outline"]),
    ("ranking", &["value", "interval", "line"]),
    ("before-after", &["rate"]),
    ("together", &["rate", "interval", "line"]),
    ("time-budget", &["ns"]),
    ("predicted", &["rate", "interval", "before", "at-most", "outline"]),
    ("bounds", &["rate"]),
    ("fullness", &["part"]),
    ("fleet-rates", &["series"]),
    ("fleet-knee", &["points"]),
];

/// A figure whose values are not numbers of a report but counts of findings. A test of its own holds it (below).
const APART: [&str; 1] = ["fleet-heat"];

#[expect(clippy::disallowed_methods, reason = "reports of the gallery")]
fn text(file: &str) -> String {
    let file = format!("{}/../../tests/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Every kind of report that has charts.
fn reports() -> Vec<String> {
    let figures = [
        "bench",
        "compare",
        "copy",
        "fleet-run",
        "healthy-desktop",
        "measured",
        "nas-raid6",
        "predict-what-if",
        "s0-switch-card",
        "s1-lab",
        "s2-two-sockets",
        "s3-x1-slot",
        "s4-cluster",
        "sweep",
        "together",
    ];
    let mut all: Vec<String> = figures.iter().map(|name| text(&format!("figures/{name}.json"))).collect();
    all.push(text("data/ladder-raid0-slow-member.json"));
    all.push(serde_json::to_string(&crate::top::sample()).expect("is JSON"));
    all.push(serde_json::to_string(&crate::fleet_run::sample()).expect("is JSON"));
    all.push(serde_json::to_string(&crate::fleet_run::sample_of_series()).expect("is JSON"));
    all
}

fn figures(report: &str) -> Vec<Figure> {
    let saved = Saved::read(report).unwrap_or_else(|error| panic!("{error}: {report}"));
    let blocks = saved.document(Audience::Owner).blocks;
    let figures = blocks.into_iter().filter_map(|block| match block {
        Block::Figure(figure) => Some(*figure),
        _ => None,
    });
    figures.collect()
}

fn numbers(value: &Value, found: &mut BTreeSet<u64>) {
    match value {
        Value::Number(number) => _ = found.insert(number.as_f64().unwrap_or_default().to_bits()),
        Value::Array(all) => all.iter().for_each(|one| numbers(one, found)),
        Value::Object(all) => all.values().for_each(|one| numbers(one, found)),
        _ => {}
    }
}

/// The values of each attribute of a drawing.
fn attributes(svg: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in svg.split(" data-").skip(1) {
        let (name, rest) = part.split_once("=\"").expect("an attribute has a value");
        let (value, _) = rest.split_once('"').expect("a value ends");
        found.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    found
}

/// The numbers of a value: those behind the last sign where each stands with what it is of.
fn read_back(value: &str) -> Vec<f64> {
    let each = value.split_whitespace().map(|one| one.rsplit('=').next().unwrap_or(one));
    each.map(|one| one.parse().unwrap_or_else(|_| panic!("`{one}` is no number"))).collect()
}

fn kind(figure: &Figure) -> &'static str {
    let all = CHARTS.iter().map(|(kind, _)| *kind).chain(APART);
    let found = all.filter(|kind| figure.id.starts_with(kind)).max_by_key(|kind| kind.len());
    found.unwrap_or_else(|| panic!("{} is not in the list of charts", figure.id))
}

#[test]
fn every_number_in_a_chart_is_one_of_its_report() {
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for report in reports() {
        let mut known = BTreeSet::new();
        for value in serde_json::Deserializer::from_str(&report).into_iter::<Value>() {
            numbers(&value.expect("is JSON"), &mut known);
        }
        for figure in figures(&report) {
            let kind = kind(&figure);
            let Some((_, asked)) = CHARTS.iter().find(|(name, _)| *name == kind) else { continue };
            for picture in &figure.pictures {
                // What an advice changes is worked out of today's ceiling and its gain; what is predicted then is in the report.
                let is_after = picture.label.starts_with("If followed");
                let asked = asked.iter().filter(|name| !is_after || name.starts_with("predicted"));
                let asked: Vec<&&str> = asked.collect();
                for drawing in [Some(&picture.wide), picture.narrow.as_ref()].into_iter().flatten() {
                    let found = attributes(&drawing.element());
                    for name in &asked {
                        for value in found.get(**name).into_iter().flatten() {
                            seen.entry(kind).or_default().insert(**name);
                            for number in read_back(value) {
                                let is_known = known.contains(&number.to_bits());
                                assert!(is_known, "{}: data-{name} {number} is not in the report", figure.id);
                            }
                        }
                    }
                }
            }
        }
    }
    let without: Vec<&str> =
        CHARTS.iter().map(|(kind, _)| *kind).filter(|kind| !seen.contains_key(kind)).collect();
    assert!(without.is_empty(), "no report here has a chart of these kinds with values: {without:?}");
}

/// How often each finding that is to be acted on stands for each host, counted in the lines of a fleet themselves.
fn counted(lines: &str, severities: &[&str]) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for line in serde_json::Deserializer::from_str(lines).into_iter::<Value>() {
        let line = line.expect("is JSON");
        let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        if word("record") == "finding" && severities.contains(&&*word("severity")) && word("change") != "gone"
        {
            *counts.entry((word("host"), word("code"))).or_default() += 1;
        }
    }
    counts
}

/// The lines of the fleet of the gallery, compared with an earlier run in which every seventh finding was still there.
fn fleet_that_changed() -> String {
    let mut number = 0;
    let lines = text("figures/fleet.jsonl");
    let changed = lines.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("is JSON");
        if line["record"] == "finding" {
            number += 1;
            line["change"] = Value::from(if number % 7 == 0 { "gone" } else { "same" });
        }
        format!("{line}\n")
    });
    changed.collect()
}

#[test]
fn the_counts_of_a_fleet_are_those_of_its_lines() {
    let (as_it_is, changed) = (text("figures/fleet.jsonl"), fleet_that_changed());
    let both = ["fault", "limit"];
    assert!(counted(&changed, &both).values().sum::<usize>() < counted(&as_it_is, &both).values().sum());
    for lines in [as_it_is, changed] {
        let found = figures(&lines);
        let [figure] = found.as_slice() else { panic!("a fleet has one figure") };
        assert_eq!(figure.id, "fleet-heat");
        let (expected, faults) = (counted(&lines, &both), counted(&lines, &["fault"]));
        for drawing in [Some(&figure.pictures[0].wide), figure.pictures[0].narrow.as_ref()] {
            let drawn = attributes(&drawing.expect("both sizes").element());
            let of = |name: &str| drawn[name].iter();
            let cells = of("host").zip(of("code")).zip(of("count"));
            let cells: BTreeMap<(String, String), usize> = cells
                .map(|((host, code), count)| ((host.clone(), code.clone()), count.parse().expect("a number")))
                .collect();
            assert_eq!(cells, expected);
            let weight = |host: &String| {
                let all = expected.iter().filter(|((of, _), _)| of == host);
                let badness = |(key, count): (&(String, String), &usize)| match faults.contains_key(key) {
                    true => (*count, 0),
                    false => (0, *count),
                };
                all.map(badness).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
            };
            assert!(drawn["host"].iter().map(weight).is_sorted_by(|a, b| a >= b), "the worst host is first");
        }
        let rows: BTreeMap<(String, String), usize> = figure
            .data
            .rows
            .iter()
            .map(|row| ((row[0].clone(), row[1].clone()), row[2].parse().expect("a number")))
            .collect();
        assert_eq!(rows, expected, "the table beside it");
    }
}

#[test]
fn every_chart_that_is_made_is_held_to_its_report() {
    let sources = [
        include_str!("knees.rs"),
        include_str!("rates.rs"),
        include_str!("spread.rs"),
        include_str!("sweeps.rs"),
        include_str!("../lab/text.rs"),
        include_str!("../../../narrows-report/src/figure/chart/compared.rs"),
        include_str!("../../../narrows-report/src/figure/chart/predicted.rs"),
        include_str!("../../../narrows-report/src/figure/chart/runs.rs"),
        include_str!("../../../narrows-report/src/figure/chart/spread.rs"),
        include_str!("../../../narrows-report/src/figure/path_map/mod.rs"),
    ];
    let known: Vec<&str> = CHARTS.iter().map(|(kind, _)| *kind).chain(APART).collect();
    let mut made = 0;
    for source in sources {
        for part in source.split("id: ").skip(1) {
            let name =
                part.trim_start_matches("format!(").strip_prefix('"').and_then(|it| it.split('"').next());
            if let Some(name) = name.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())) {
                made += 1;
                assert!(
                    known.iter().any(|kind| name.starts_with(kind)),
                    "{name} is not in the list of charts"
                );
            }
        }
    }
    assert!(made >= CHARTS.len() - 2, "{made} were found");
}
