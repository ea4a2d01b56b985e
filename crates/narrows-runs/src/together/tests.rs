use serde_json::{Value, json};

use super::*;
use narrows_report::document::Style;

fn render(report: &TogetherReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

fn rate(megabytes: f64) -> Value {
    let half = megabytes * 0.01;
    let around = [megabytes - half, megabytes + half].map(|rate| rate * 1e6);
    json!({ "bytes_per_second": megabytes * 1e6, "ci95": around })
}

/// Two drives that share a hop of unknown ceiling, which is where the limit is.
fn sample() -> TogetherReport {
    let share = |name: &str| json!({ "target": name, "alone": rate(30.0), "together": rate(15.0) });
    let names = ["/dev/mapper/qzx-a", "/dev/sdb"];
    let hop = json!({
        "id": "switch:0000:01:00.0", "kind": "switch", "name": "the uplink of a switch", "targets": names,
        "alone_bytes_per_second": 60e6, "together_bytes_per_second": 30e6, "ceiling_bytes_per_second": null,
        "basis": null, "formula": null, "reason": "nobody says",
    });
    let group = json!({
        "targets": names, "outcome": "limit_each_other", "alone": rate(60.0), "together": rate(30.0),
        "shares": names.map(share), "hops": [hop], "limiting_hops": [], "located_hops": ["switch:0000:01:00.0"],
        "evidence": [], "sentence": "They limit each other at the uplink of a switch.",
    });
    let hidden = json!({
        "groups": [{ "targets": names, "limit_bytes_per_second": 30e6, "alone_bytes_per_second": 60e6,
            "is_confirmed": true, "hops": [], "sentence": "" }],
        "unexplained": [], "runs": 5,
        "sentence": "/dev/mapper/qzx-a + /dev/sdb share a limit of 30 MB/s.", "reason": "it drifted",
    });
    let machine = narrows_report::view::machine_view(&narrows_machine::Machine::default());
    serde_json::from_value(json!({
        "schema": SCHEMA, "tool": { "name": "narrows", "version": "0" }, "machine": machine,
        "workload": Workload::default(), "targets": [], "groups": [group], "hidden": hidden,
        "drift": "/dev/sdb alone gave 30 MB/s at the beginning and 20 MB/s at the end", "foretold": [],
        "findings": [], "left_out": [{ "target": "/dev/sdc", "reason": "it is removable" }], "complete": true,
    }))
    .expect("is a report")
}

#[test]
fn the_text_shows_rates_shared_hops_what_changed_and_hidden_groups() {
    let style = Style { colour: false, width: 100, unicode: true, plain: false, verbose: false };
    let text = render(&sample(), &style);
    let expected = [
        "not measured: /dev/sdc: it is removable",
        "They limit each other at the uplink of a switch.",
        "changed meanwhile: /dev/sdb alone gave 30 MB/s",
        "hidden groups: /dev/mapper/qzx-a + /dev/sdb share a limit of 30 MB/s.",
    ];
    for part in expected {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let row = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).expect("a row");
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("/dev/sdb"), "/dev/sdb 30 MB/s 15 MB/s 1 % 50 %");
    assert_eq!(row("in sum"), "in sum 60 MB/s 30 MB/s 1 %");
    assert_eq!(row("the uplink"), "the uplink of a switch 60 MB/s 30 MB/s unknown");
}

#[test]
fn where_the_limit_is_located_stands_out_in_colour() {
    let style = Style { colour: true, width: 100, unicode: true, plain: false, verbose: false };
    let red = |report: &TogetherReport| {
        let text = render(report, &style);
        let line = text.lines().find(|line| line.contains("unknown")).expect("the hop").to_owned();
        line.contains("\u{1b}[31m") || line.contains("\u{1b}[1m\u{1b}[31m")
    };
    assert!(red(&sample()));
    let mut elsewhere = sample();
    elsewhere.groups.iter_mut().for_each(|group| group.located.clear());
    assert!(!red(&elsewhere));
}

#[test]
fn text_for_the_public_holds_no_name_and_is_ascii() {
    let text = render(&sample(), &Style::PLAIN);
    assert!(!text.contains("qzx"), "{text}");
    assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 78), "{text}");
}
