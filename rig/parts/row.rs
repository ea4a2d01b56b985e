//! Tests of `runner/row.rs`.

#![expect(clippy::disallowed_methods, reason = "leaves what a guest leaves")]

use std::time::Duration;

use crate::runner::files::Mode;
use crate::runner::leavings::Leavings;
use crate::runner::row::Row;
use crate::runner::scenario::Scenario;

const CHECK: &str = "\n[[check]]\nrun = \"narrows\"\n[[check.expect]]\nexit = [0]\n";

/// The row of a scenario whose command ended with this status, on a host that gave its guest this share of the processors.
fn row(machine: &str, exit: &str, share: Option<f64>) -> Row {
    let scenario =
        Scenario::parse("s", &format!("description = ''\ninjected = ''\n[machine]\n{machine}{CHECK}"));
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("result");
    std::fs::create_dir(&place).expect("it can be made");
    for (name, text) in [("setup.exit", "0"), ("0.run.exit", exit), ("0.verify.0.exit", "0")] {
        std::fs::write(place.join(name), text).expect("it can be written");
    }
    let leavings = Leavings {
        directory: directory.path().to_owned(),
        elapsed: Duration::from_millis(1234),
        other_consoles: String::new(),
        share,
        processor_seconds: 0.5,
    };
    Row::judged(&scenario.expect("is valid"), 1, Mode::Check, &leavings)
}

#[test]
fn a_failure_on_an_idle_host_counts() {
    let failed = row("", "1", Some(0.9));
    assert!(failed.is_failure() && !failed.pass);
    assert!(row("", "1", None).is_failure(), "a host that does not tell is no excuse");
    assert_eq!(failed.complaints, ["`narrows`: exit status: expected [0], got 1"]);
}

#[test]
fn a_failure_on_a_busy_host_shows_nothing() {
    let open = row("", "1", Some(0.61));
    assert!(!open.is_failure() && !open.pass);
    let reason = "this host gave the guest's processors only 61 % of the time that they asked for";
    assert_eq!(open.inconclusive.as_deref(), Some(reason));
}

#[test]
fn what_passes_on_a_busy_host_has_passed() {
    let passed = row("", "0", Some(0.3));
    assert!(passed.pass && passed.inconclusive.is_none());
    assert_eq!(passed.seconds, 1.2);
}

#[test]
fn counted_instructions_are_the_same_on_a_busy_host() {
    assert!(row("cpus = 1\ninstruction_shift = 3", "1", Some(0.3)).is_failure());
}
