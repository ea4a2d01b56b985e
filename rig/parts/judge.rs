//! Tests of `runner/judge.rs`.

use crate::runner::judge::*;
use crate::runner::scenario::{Check, Scenario};
use serde_json::json;

fn check(expect: &str) -> Check {
    let text = format!(
        "description = ''\ninjected = ''\n[machine]\n[[check]]\nrun = 'narrows --json'\n\
         injected_bytes_per_second = 40e6\n{expect}"
    );
    Scenario::parse("s", &text).expect("is valid").checks.remove(0)
}

fn said(rate: f64) -> Outcome {
    let document = json!({
        "paths": [{
            "target": "/dev/md0",
            "hops": [
                {"id": "application", "kind": "application",
                 "measured": {"read": {"bytes_per_second": rate, "trusted": true}}},
                {"id": "device:nvme1n1", "kind": "device",
                 "measured": {"read": {"bytes_per_second": rate / 2.0, "trusted": true}}},
            ],
            "limiting_hop": {"read": "device:nvme1n1"},
        }],
        "findings": [{"code": "raid_slow_member", "severity": "fault", "summary": "one is slow"}],
    });
    Outcome { exit: Some(1), stdout: document.to_string(), ..Outcome::default() }
}

fn complaints(expect: &str, rate: f64) -> Vec<String> {
    judge(&check(expect), &said(rate), &Names::parse("slow=nvme1n1\nfast=nvme0n1\n")).complaints
}

const RIGHT: &str = "[[check.expect]]\nexit = [1]\npath = '/dev/md0'\nlimiting = 'device:{slow}'\ntrusted = true\n\
                     findings = ['raid_slow_member']\nno_findings = ['crypto_cpu']";

#[test]
fn the_right_answer_within_five_percent_passes() {
    assert_eq!(complaints(RIGHT, 41.9e6), [""; 0]);
    assert_eq!(complaints(RIGHT, 38.1e6), [""; 0]);
}

#[test]
fn a_rate_beyond_five_percent_fails_with_both_rates() {
    let complaints = complaints(RIGHT, 42.1e6);
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].contains("/paths/target=~1dev~1md0/hops"), "{}", complaints[0]);
    assert!(complaints[0].contains("+5.2 %"), "{}", complaints[0]);
}

#[test]
fn another_limiting_hop_fails() {
    let complaints = complaints(&RIGHT.replace("{slow}", "{fast}"), 40e6);
    assert_eq!(
        complaints,
        ["/paths/target=~1dev~1md0/limiting_hop/read: expected device:nvme0n1, got device:nvme1n1"]
    );
}

#[test]
fn findings_and_severities_are_looked_at_both_ways() {
    let swapped = "[[check.expect]]\nexit = [1]\nrate = false\nfindings = ['crypto_cpu']\n\
                   no_findings = ['raid_slow_member']";
    assert_eq!(complaints(swapped, 40e6).len(), 2);
    assert_eq!(complaints("[[check.expect]]\nexit = [1]\nno_severities = ['fault']", 40e6).len(), 1);
    assert_eq!(complaints("[[check.expect]]\nexit = [1]\nno_severities = ['limit']", 40e6).len(), 0);
}

#[test]
fn one_of_several_expectations_is_enough() {
    let two = format!("[[check.expect]]\nexit = [2]\nstderr = ['gone']\n{RIGHT}");
    assert_eq!(complaints(&two, 40e6), [""; 0]);
}

#[test]
fn when_none_holds_each_complains() {
    let two = format!("[[check.expect]]\nexit = [2]\n{}", RIGHT.replace("[1]", "[0]"));
    assert_eq!(
        complaints(&two, 40e6),
        [
            "expectation 1: exit status: expected [2], got 1",
            "expectation 2: exit status: expected [0], got 1"
        ]
    );
}

#[test]
fn an_injected_rate_is_shown_only_where_rates_are_compared() {
    let rates = |expect: &str| judge(&check(expect), &said(40e6), &Names::default()).injected;
    assert_eq!(rates("[[check.expect]]\nexit = [1]\nlimiting_kind = 'device'"), Some(40e6));
    assert_eq!(rates("[[check.expect]]\nexit = [1]\nlimiting_kind = 'device'\nrate = false"), None);
    assert_eq!(rates("[[check.expect]]\nexit = [1]"), None);
}

#[test]
fn places_are_compared_by_value_text_and_size() {
    let at = |rule: &str| {
        let expect = format!("[[check.expect]]\nexit = [1]\nrate = false\n[[check.expect.at]]\n{rule}");
        complaints(&expect, 40e6).len()
    };
    assert_eq!(at("pointer = '/paths/*/hops/*/kind'\nequals = 'device'"), 0);
    assert_eq!(at("pointer = '/paths/*/hops/*/kind'\nequals = 'switch'"), 1);
    assert_eq!(at("pointer = '/paths/*/hops/*/kind'\nequals = 'switch'\nexists = false"), 0);
    assert_eq!(at("pointer = '/paths/*/hops/*/id'\ncontains = '{slow}'"), 0);
    assert_eq!(
        at("pointer = '/paths/0/hops/id=device:{slow}/measured/read/bytes_per_second'\nat_most = 20e6"),
        0
    );
    assert_eq!(
        at("pointer = '/paths/0/hops/id=device:{slow}/measured/read/bytes_per_second'\nat_least = 21e6"),
        1
    );
    assert_eq!(at("pointer = '/paths/1'"), 1);
}

#[test]
fn a_panic_broken_json_and_leftovers_fail_whatever_is_expected() {
    let expect = "[[check.expect]]\nexit = [0, 1, 2]\nrate = false";
    let panicked = Outcome { stderr: "thread 'main' panicked at x.rs".to_owned(), ..said(40e6) };
    let broken = Outcome { stdout: "{".to_owned(), ..said(40e6) };
    let untidy = Outcome { unverified: vec!["left a file".to_owned()], ..said(40e6) };
    let hung = Outcome { exit: None, ..said(40e6) };
    for outcome in [panicked, broken, untidy, hung] {
        assert_eq!(judge(&check(expect), &outcome, &Names::default()).complaints.len(), 1, "{outcome:?}");
    }
}

#[test]
fn a_missing_reference_or_measurement_is_a_complaint() {
    assert!(rate_complaint(None, Some(1.0), 0.05).is_some());
    assert!(rate_complaint(Some(1.0), None, 0.05).is_some());
    assert!(rate_complaint(Some(100.0), Some(104.0), 0.05).is_none());
}

#[test]
fn of_a_load_on_many_hosts_the_last_run_is_looked_at() {
    let point =
        |kind: &str, rate: f64| json!({"verdict": {"limit": {"kind": kind, "bytes_per_second": rate}}});
    let said = |schema: &str| {
        let points = [point("generator", 20e6), point("drive", 39e6)];
        let document = json!({"schema": schema, "points": points});
        Outcome { exit: Some(0), stdout: document.to_string(), ..Outcome::default() }
    };
    let check = check("[[check.expect]]\nexit = [0]\nlimiting = 'drive'");
    let judgement = judge(&check, &said("narrows/fleet-run/1"), &Names::default());
    assert_eq!((judgement.named.as_deref(), judgement.measured), (Some("drive"), Some(39e6)));
    assert_eq!(judgement.complaints, [""; 0]);
    // A sweep has points as well.
    assert_eq!(judge(&check, &said("narrows/measure/1"), &Names::default()).named, None);
}
