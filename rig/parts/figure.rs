//! Tests of `runner/figure.rs`.

use crate::runner::figure::*;
use crate::runner::judge::{Names, Outcome};
use crate::runner::scenario::{Check, Scenario};
use serde_json::json;

fn check(figure: &str) -> Check {
    let text = format!(
        "description = ''\ninjected = ''\n[machine]\n[[check]]\nrun = 'narrows measure --as sweep --json'\n\
         [[check.expect]]\nexit = [0]\n[[check.peer]]\nname = 'fio'\nrun = 'fio'\n[[check.figure]]\n{figure}"
    );
    Scenario::parse("s", &text).expect("is valid").checks.remove(0)
}

/// narrows says 162 ms, fio 170 ms between its notes.
fn readings(figure: &str) -> Vec<Reading> {
    let fio = r#"fio: a note {sic}
        {"jobs": [{"read": {"clat_ns": {"percentile": {"99.900000": 170000000}}}}]}"#;
    let outcome = Outcome {
        exit: Some(0),
        stdout: json!({ "points": [{ "latency_ns": { "p999": 162_000_000 } }] }).to_string(),
        seconds: Some(12.5),
        resident_bytes: Some(9e6),
        peers: [("fio".to_owned(), fio.to_owned())].into(),
        ..Outcome::default()
    };
    read(&check(figure), &outcome, &Names::parse("p999=160000000\n"))
}

const TAIL: &str = "name = 'p99.9'\nunit = 'ns'\ninjected = '{p999}'\nnarrows = '/points/0/latency_ns/p999'\n\
                    peers = { fio = '/jobs/0/read/clat_ns/percentile/99.900000' }\n";

#[test]
fn a_figure_stands_beside_what_was_injected_and_what_a_peer_says() {
    let [reading] = readings(TAIL).try_into().expect("is one");
    assert_eq!(reading.complaints, [""; 0]);
    let line = reading.line();
    for part in ["injected 160 ms", "narrows 162 ms (+1.2 %)", "fio 170 ms (+6.2 %)"] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_figure_beyond_its_tolerance_is_complained_of() {
    let [reading] = readings(&format!("{TAIL}tolerance = 0.01\n")).try_into().expect("is one");
    assert_eq!(reading.complaints, ["p99.9: expected 160 ms ± 1 % (what was injected), got 162 ms (+1.2 %)"]);
    let [reading] = readings(&format!("{TAIL}within_of_peers = 0.03\n")).try_into().expect("is one");
    assert_eq!(reading.complaints, ["p99.9: expected 170 ms ± 3 % (fio), got 162 ms (-4.7 %)"]);
}

#[test]
fn a_figure_may_have_to_be_so_many_times_that_of_a_peer() {
    let times = |times: f64| readings(&format!("{TAIL}at_least_times_peers = {times}\n"));
    assert_eq!(times(0.95)[0].complaints, [""; 0]);
    assert_eq!(times(1.5)[0].complaints, ["p99.9: expected at least 1.5 × 170 ms (fio), got 162 ms"]);
    let unknown = TAIL.replace("99.900000", "99.990000");
    let unknown = readings(&format!("{unknown}at_least_times_peers = 1.5\n"));
    assert_eq!(unknown[0].complaints, ["p99.9: there is no number of fio"]);
}

#[test]
fn what_a_run_costs_is_a_figure_with_a_limit() {
    let time =
        |most: f64| readings(&format!("name = 'time'\nunit = 's'\nnarrows = 'seconds'\nat_most = {most}"));
    assert_eq!(time(12.5)[0].complaints, [""; 0]);
    assert_eq!(time(12.0)[0].complaints, ["time: expected at most 12.0 s, got 12.5 s"]);
    let memory = readings("name = 'memory'\nunit = 'B'\nnarrows = 'resident_bytes'\nat_least = 1e7");
    assert_eq!(memory[0].complaints, ["memory: expected at least 10 MB, got 9 MB"]);
}

#[test]
fn a_number_that_is_not_there_is_complained_of() {
    let missing = TAIL.replace("p999'\n", "p9999'\n");
    assert_eq!(
        readings(&missing)[0].complaints,
        ["p99.9: narrows has no number at /points/0/latency_ns/p9999"]
    );
    let unknown = TAIL.replace("{p999}", "{p9}");
    assert_eq!(readings(&unknown)[0].complaints, ["p99.9: there is no number of what was injected"]);
}
