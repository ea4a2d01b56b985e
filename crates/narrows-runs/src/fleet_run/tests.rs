use serde_json::{Value, json};

use super::*;
use narrows_report::document::{Audience, Style, page};

fn render(report: &FleetRunReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

/// Sixty hosts with the rates of 300 s, in as many parts as are kept; the last one is slow.
pub(crate) fn sample() -> FleetRunReport {
    let host = |number: u32| {
        let name =
            if number == 7 { "</style><script>x</script>".to_owned() } else { format!("c{number:02}") };
        let slow = if number == 59 { 0.5 } else { 1.0 };
        let series: Vec<f64> = (0..60)
            .map(|part| (slow * (1e9 + f64::from((number * 37 + part * 11) % 97) * 9_999_999.0)).round())
            .collect();
        json!({
            "host": name, "state": "ok", "began_after_ns": 12_345, "overlap": 0.99,
            "read_bytes_per_second": series.iter().sum::<f64>() / 60.0, "write_bytes_per_second": null,
            "series": series, "ios": 100_000, "p50": 80_000, "p99": 900_000,
        })
    };
    let hosts: Vec<Value> = (0..60).map(host).collect();
    let limit = json!({ "kind": "unknown", "name": "nothing that was seen", "clients": [], "bytes_per_second": 6e10,
        "confidence": "low", "evidence": ["60 hosts read 60 GB/s"] });
    let point = json!({
        "load": { "block_size": 1 << 20, "depth": 8, "jobs": 1, "read_percent": 100, "is_random": false,
            "time_ns": 300_000_000_000_u64, "rate_cap": null },
        "start_ns": 0, "start_spread_ns": 1_000_000, "window_ns": 300_000_000_000_u64, "overlap": 0.99, "overlap_is_low": false,
        "bytes_per_second": 6e10, "read": null, "write": null, "hosts": hosts, "outliers": [],
        "verdict": { "sentence": "60 hosts read 60 GB/s together.", "limit": limit,
            "conservation": { "clients": 6e10, "servers": null, "drives": null, "differs": null, "cache_of": null } },
    });
    serde_json::from_value(json!({
        "schema": SCHEMA, "tool": { "name": "narrows", "version": "0" }, "fio": "3.33", "clients": 60, "servers": 0,
        "points": [point], "complete": true, "left": [],
    }))
    .expect("is a report")
}

/// Runs with more and more jobs.
pub(crate) fn sample_of_series() -> FleetRunReport {
    testing::report_of(&[(1, 250), (2, 500), (4, 1000), (8, 1000), (16, 800)], false)
}

#[test]
fn sixty_hosts_over_300_seconds_are_one_small_page_that_is_always_the_same() {
    let report = sample();
    let page_of = || page(&[document(&report, Audience::Owner)]);
    let html = page_of();
    assert!(html.len() < 300_000, "{} bytes", html.len());
    assert_eq!(html, page_of());
    assert!(!html.contains("<script"), "a name is markup");
    let first = html.find("data-host=\"c59\"").expect("the slow host");
    let rest = ["c00", "c58"].map(|name| html.find(&format!("data-host=\"{name}\"")).expect("a host"));
    assert!(rest.iter().all(|at| *at > first), "the slowest host is first");
    for host in &report.points[0].hosts {
        let series: Vec<String> = host.series.iter().map(|rate| format!("{}", rate.get())).collect();
        assert!(html.contains(&format!("data-series=\"{}\"", series.join(" "))), "{}", host.host);
    }
}

#[test]
fn the_text_has_a_line_for_a_host_and_fits() {
    let mut report = sample();
    report.points[0].hosts.truncate(12);
    for width in [78, 100, 140] {
        let style = Style { colour: false, width, unicode: false, plain: false, verbose: false };
        let text = render(&report, &style);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        let line = text.lines().find(|line| line.trim_start().starts_with("c03")).expect("a line");
        assert!(line.contains("ok") && line.contains("GB/s"), "{line}");
    }
}

/// The report that pictures are made of is what is made of the files of a run today.
#[expect(
    clippy::disallowed_methods,
    reason = "a test reads and updates a report that is kept in the repository"
)]
#[test]
fn the_example_of_60_hosts_is_what_its_files_say() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/figures/fleet-run.json");
    let now = serde_json::to_string(&testing::report(false)).expect("is JSON") + "\n";
    if std::env::var_os("UPDATE_FIGURES").is_some() {
        std::fs::write(file, &now).expect("tests/figures is writable");
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(kept == now, "tests/figures/fleet-run.json is out of date; run this test with UPDATE_FIGURES=1");
}

#[test]
fn in_public_no_host_and_no_address_is_on_the_map() {
    let report = testing::report(true);
    let map = report.points[0].map.as_ref().expect("a map");
    let names: Vec<&String> = map.hops.iter().flat_map(|hop| &hop.hosts).collect();
    assert!(names.iter().all(|name| name.starts_with("client-") || name.starts_with("server")), "{names:?}");
    let text = serde_json::to_string(&report).expect("is JSON");
    for secret in ["10.1.0.1", "srv1", "\"c01\""] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn runs_with_more_and_more_jobs_have_a_knee_in_text_and_page() {
    let report = sample_of_series();
    let style = Style { colour: false, width: 100, unicode: false, plain: false, verbose: false };
    let text = render(&report, &style).split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "Jobs of each host, 1 MiB reads in sequence, depth 8: 59 hosts give";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("from 4 jobs to 8 jobs; from 16 jobs on it is 20 % less"), "{text}");
    assert!(!text.contains("stops to gain"), "all stop at the same number: {text}");
    let html = page(&[document(&report, Audience::Owner)]);
    let points: Vec<String> = report.series[0]
        .points
        .iter()
        .map(|point| format!("{}={}", point.x, point.bytes_per_second.get()))
        .collect();
    assert!(html.contains(&format!("data-points=\"{}\"", points.join(" "))), "the picture has other values");
    assert!(html.contains("knee at 4 jobs"));
}

#[test]
fn a_host_that_stops_to_gain_early_is_named_in_a_line_of_its_own() {
    let mut report = testing::report_of(&[(1, 250), (2, 500), (4, 1000)], false);
    assert_eq!(report.series[0].shape.plateau, None, "it still rises");
    report.series[0].earlier = vec![narrows_verdict::fleet::series::Earlier {
        host: "c07".to_owned(),
        knee: 1.0,
        bytes_per_second: BytesPerSec::from_mb(110.0),
    }];
    let style = Style { colour: false, width: 120, unicode: false, plain: false, verbose: false };
    let text = render(&report, &style);
    assert!(text.contains("! stops to gain earlier than all together: c07 with 1 job (110 MB/s)"), "{text}");
    assert!(text.contains("with 4 jobs, and the rate still rises there."), "{text}");
}
