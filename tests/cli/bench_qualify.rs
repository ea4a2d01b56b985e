//! `narrows bench --preset qualify` on a blank loop device in memory: it writes no more than was typed, runs what fits into
//! that, and leaves the device blank.

#![expect(clippy::expect_used, reason = "tests run the program and may panic")]

use std::process::Output;

use narrows::load::qualify::Part;
use narrows::report::bench::{BenchReport, TargetKind};

use super::bench_failures::Disk;

/// What of the 64 MiB of the disk lies between its first and its last MiB.
const CAPACITY: u64 = 62 << 20;

fn qualify(disk: &Disk, more: &[&str]) -> Output {
    let own = disk.backing();
    let mut command =
        disk.command(&own, &["--preset", "qualify", "--duration", "1s", "--rest", "200ms", "--json"]);
    command.args(more).output().expect("runs")
}

fn report(output: &Output) -> BenchReport {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn a_whole_blank_device_is_written_and_is_blank_again() {
    let Some(disk) = Disk::blank() else { return };
    let output = qualify(&disk, &["--max-writes", "1GiB", "--target", "p99=1s"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = report(&output);
    assert!(matches!(output.status.code(), Some(0 | 1)) && report.complete, "{said}");
    assert_eq!(report.target.kind, TargetKind::OwnedDevice);
    let view = report.qualify.as_ref().expect("is a qualification");
    assert_eq!((view.region_bytes.get(), view.capacity_bytes.get()), (CAPACITY, CAPACITY));
    // Twice in sequence before the first round.
    let steady = view.steady.as_ref().expect("fits");
    assert!((steady.preconditioned - 2.0).abs() < 1e-9, "{steady:?}");
    for part in &view.parts {
        assert!(part.written_bytes <= part.most_bytes, "{part:?}");
        if matches!(part.part, Part::Cache) {
            assert_eq!(part.written_bytes.get(), CAPACITY);
        }
    }
    assert!(view.cache.is_some());
    let found = view.at_target.as_ref().expect("was asked for");
    assert!(found.iops.is_some(), "a second is met by memory: {found:?}");
    let written = report.writes.as_ref().expect("writes").written_bytes.get();
    assert!((2 * CAPACITY..1 << 30).contains(&written), "{written}");
    assert!(
        said.contains("must be blank") && said.contains("second pass and steady rounds: writes at most"),
        "{said}"
    );
    assert!(disk.bytes().iter().all(|byte| *byte == 0), "it is not blank again");
}

#[test]
fn with_less_what_fits_runs_and_the_rest_says_what_it_needs() {
    let Some(disk) = Disk::blank() else { return };
    let output = qualify(&disk, &["--max-writes", "150MiB"]);
    let report = report(&output);
    let view = report.qualify.as_ref().expect("is a qualification");
    assert!(report.complete && view.steady.is_none() && view.cache.is_some());
    assert!(report.writes.as_ref().expect("writes").written_bytes.get() <= 150 << 20);
    let left_out =
        report.left_out.iter().find(|left| left.name == "second pass and steady rounds").expect("is said");
    // Four and five sixteenths of 62 MiB.
    assert!(
        left_out.reason.contains("needs 130 MB") && left_out.reason.contains("--max-writes 1GiB"),
        "{left_out:?}"
    );
    assert!(disk.bytes().iter().all(|byte| *byte == 0), "it is not blank again");
}

#[test]
fn what_must_be_typed_is_asked_for_before_a_byte_is_written() {
    let Some(disk) = Disk::blank() else { return };
    for (more, word) in [
        (&[][..], "--max-writes must be typed"),
        (&["--max-writes", "100MiB"], "are too few"),
        (&["--max-writes", "1GiB", "--size", "8MiB"], "takes no --size"),
        (&["--max-writes", "1GiB", "--save", "/tmp/narrows-never"], "takes no --save"),
    ] {
        let output = qualify(&disk, more);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {said}");
        assert!(
            said.contains(word) && said.contains("hint: ") && output.stdout.is_empty(),
            "{more:?}: {said}"
        );
    }
    assert!(disk.bytes().iter().all(|byte| *byte == 0));
}
