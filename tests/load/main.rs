//! The load engine on real files and devices.

mod copy_trees;
#[path = "../support/devices.rs"]
#[expect(dead_code, reason = "only tests/cli has users that every guard sees")]
mod devices;
mod load_device;
mod load_pace;
mod load_run;
mod load_scratch;
mod load_write;

use narrows::load::measurement::{Measurement, Workload};
use narrows::load::{Control, RunOptions, Target, run};
use narrows::units::Nanos;

/// The longest that [`long_enough`] measures for.
const LONGEST: Nanos = Nanos::from_millis(30_000);

/// The measurement of a run in which enough was done: a disk that stalls just then ends nothing in a short one, and says nothing
/// about the engine. It is run again, four times as long each.
#[expect(clippy::expect_used, reason = "tests may panic")]
fn long_enough(
    target: &Target,
    workload: &Workload,
    options: &RunOptions,
    enough: impl Fn(&Measurement) -> bool,
) -> Measurement {
    let mut workload = workload.clone();
    loop {
        let measurement = run(target, &workload, options, &Control::default()).expect("the run begins");
        if enough(&measurement) || workload.duration_ns >= LONGEST {
            return measurement;
        }
        workload.duration_ns = Nanos::new(workload.duration_ns.get() * 4).min(LONGEST);
    }
}

/// Whether any I/O ended in it.
fn any(measurement: &Measurement) -> bool {
    measurement.latency.count > 0
}

/// Set for a test that does its work only in a process of its own: `alone("module::name")`.
const ALONE: &str = "NARROWS_TEST_ALONE";

/// Whether this is the process that [`alone`] started.
fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

/// Runs a test that does nothing unless [`is_alone`], in a process of its own. What is measured or limited for a whole process
/// does not touch other tests there.
#[expect(clippy::expect_used, clippy::disallowed_types, reason = "a test starts itself again and may panic")]
fn alone(test: &str) {
    let child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("the child runs");
    let said = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}
