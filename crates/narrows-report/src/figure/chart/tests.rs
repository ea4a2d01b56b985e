use super::*;
use crate::figure::Figure;
use narrows_base::measurement::Latency;
use narrows_base::units::{BytesPerSec, Nanos};

fn check_figure(figure: &Figure) {
    for picture in &figure.pictures {
        for svg in [Some(&picture.wide), picture.narrow.as_ref()].into_iter().flatten() {
            let text = svg.element();
            assert!(!text.contains("NaN") && !text.contains("inf") && !text.contains("style="), "{text}");
            let mut reader = quick_xml::Reader::from_str(&text);
            while reader.read_event().expect("is XML") != quick_xml::events::Event::Eof {}
        }
    }
    assert!(figure.data.rows.iter().all(|row| row.len() == figure.data.header.len()), "{:?}", figure.data);
}

fn svg(figure: &Figure) -> String {
    figure.pictures[0].wide.element()
}

#[test]
fn steps_begin_at_zero_and_reach_the_most() {
    assert_eq!(steps(373.0), [0.0, 100.0, 200.0, 300.0, 400.0]);
    assert_eq!(steps(1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
    assert_eq!(steps(0.0), [0.0, 1.0]);
    assert_eq!(steps(f64::NAN), [0.0, 1.0]);
}

#[test]
fn a_line_of_percentiles_ends_where_samples_do_not_suffice() {
    let nanos = |value| Some(Nanos::new(value));
    let latency = Latency {
        count: 3000,
        p50: nanos(80_000),
        p90: nanos(90_000),
        p99: nanos(120_000),
        p999: nanos(400_000),
        p9999: nanos(900_000),
        ..Latency::default()
    };
    let figure = percentiles("latency", &[("random reads".to_owned(), &latency)]).expect("a figure");
    check_figure(&figure);
    assert!(svg(&figure).contains("p50=80000 p90=90000 p99=120000 p999=400000\""), "{}", svg(&figure));
    assert!(percentiles("latency", &[("one".to_owned(), &Latency { count: 4, ..latency })]).is_none());
}

#[test]
fn rates_over_time_hold_their_series_and_events() {
    let series: Vec<BytesPerSec> = (0..40).map(|at| BytesPerSec::new(1e9 - f64::from(at) * 1e7)).collect();
    let run = |name: &str, series| Course {
        name: name.to_owned(),
        series,
        ceiling: Some(BytesPerSec::new(1.2e9)),
        events: vec![Event { at: 1.5, name: "the link went from x4 to x1".to_owned() }],
        told: Vec::new(),
    };
    let figure =
        rates_over_time("time", &[run("seq", &series), run("short", &series[..2])]).expect("a figure");
    check_figure(&figure);
    let text = svg(&figure);
    assert!(text.contains("data-series=\"1000000000 990000000 ") && text.contains("from x4 to x1"), "{text}");
    assert!(text.contains("ceiling of the path, 1.2 GB/s"), "{text}");
    assert_eq!((figure.data.rows.len(), figure.pictures.len()), (4, 1));
    assert!(rates_over_time("time", &[run("short", &series[..2])]).is_none());
}

#[test]
fn a_long_series_becomes_means_that_say_so() {
    let series: Vec<BytesPerSec> = (0..3000).map(|at| BytesPerSec::new(1e9 + f64::from(at % 5))).collect();
    let run = Course {
        name: "long".to_owned(),
        series: &series,
        ceiling: None,
        events: Vec::new(),
        told: Vec::new(),
    };
    let figure = rates_over_time("time", &[run]).expect("a figure");
    check_figure(&figure);
    let text = svg(&figure);
    assert!(text.contains("data-means-of=\"5\" data-series=\"1000000002 1000000002 "), "{text}");
    assert!(
        text.contains("means of 0.5 s") && figure.html((3, ""), "Values").len() < 60_000,
        "{}",
        figure.html((3, ""), "Values").len()
    );
}

#[test]
fn the_worst_host_is_first() {
    use narrows_verdict::cohort::{Found, Host};
    use narrows_verdict::{Code, Confidence, Severity};
    let found = |code, severity| Found {
        code,
        severity,
        confidence: Confidence::High,
        place: String::new(),
        subject: String::new(),
        hop: None,
        state: None,
        summary: String::new(),
        advice: None,
    };
    let host = |name: &str, findings| Host { host: name.to_owned(), findings, ..Host::default() };
    let hosts = [
        host("a", vec![]),
        host("b", vec![found(Code::SlotLimited, Severity::Limit)]),
        host("c<script>", vec![found(Code::LinkWidthDegraded, Severity::Fault)]),
    ];
    let figure = fleet_heat(&hosts.iter().collect::<Vec<_>>()).expect("a figure");
    check_figure(&figure);
    let text = svg(&figure);
    let order: Vec<usize> = ["c&lt;script", ">b<"].iter().filter_map(|name| text.find(name)).collect();
    assert!(order.len() == 2 && order.is_sorted() && !text.contains(">a<"), "{order:?} {text}");
    assert!(fleet_heat(&[&hosts[0]]).is_none());
}

#[test]
fn two_results_stand_beside_each_other() {
    use narrows_verdict::compare::{Comparison, Difference, Verdict, WorkloadComparison};
    let workload = WorkloadComparison {
        workload: "<b>4 KiB random</b>".to_owned(),
        verdict: Verdict::Slower,
        a_bytes_per_second: BytesPerSec::new(2e9),
        b_bytes_per_second: BytesPerSec::new(1.5e9),
        difference: Some(Difference {
            bytes_per_second: -5e8,
            interval: [-6e8, -4e8],
            relative: -0.25,
            relative_interval: [-0.3, -0.2],
        }),
        latency: Vec::new(),
        cautions: Vec::new(),
        as_printed: None,
        reason: None,
    };
    let comparison = Comparison {
        schema: String::new(),
        a: "a.json".to_owned(),
        b: "b.json".to_owned(),
        verdict: Verdict::Slower,
        latency_verdict: Verdict::NotComparable,
        confidence: 0.95,
        threshold: 0.02,
        workloads: vec![workload],
        unmatched: Vec::new(),
        inventory: Vec::new(),
        paths: Vec::new(),
        lines: Vec::new(),
        others: Vec::new(),
    };
    let figure = before_after(&comparison).expect("a figure");
    check_figure(&figure);
    let text = svg(&figure);
    assert!(
        text.contains("data-side=\"B\" data-rate=\"1500000000\"") && text.contains("−25 %, B is slower"),
        "{text}"
    );
    assert!(!text.contains("<b>"));
}
