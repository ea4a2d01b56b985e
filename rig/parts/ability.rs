//! Tests of `runner/ability.rs`, and of what a row makes of it.

use std::time::Duration;

use crate::runner::ability::*;
use crate::runner::scenario::Scenario;

fn scenario(drives: &str, check: &str) -> Scenario {
    let text = format!(
        "description = ''\ninjected = ''\n[machine]\n{drives}\n[[check]]\nrun = 'x'\n{check}\n[[check.expect]]\nexit = [0]"
    );
    Scenario::parse("s", &text).expect("is valid")
}

const DRIVES: &str = "[[machine.drive]]\nname = 'slow'\nmib = 1\nbytes_per_second = 20_000_000\n\
                      [[machine.drive]]\nname = 'fast'\nmib = 1\nbytes_per_second = 80_000_000\n";

#[test]
fn the_fastest_drive_must_give_more_than_its_limit_without_it() {
    let with_rate = scenario(DRIVES, "injected_bytes_per_second = 40e6");
    let (drive, least) = needed(&with_rate).expect("there are limits");
    assert_eq!((drive.name.as_str(), least), ("fast", 100e6));
    assert_eq!(lacks("250000000", least), None);
    let reason = lacks("67100000", least).expect("is too slow");
    assert_eq!(
        reason,
        "this host gives the guest only 67.1 MB/s of a drive without a limit; 100 MB/s are needed"
    );
    assert!(lacks("", least).is_some());
}

#[test]
fn a_setup_says_which_path_gives_too_little() {
    let reason = of_setup("9000000 11200000 /dev/sda\n").expect("is too slow");
    assert_eq!(
        reason,
        "this host gives the guest only 9 MB/s of /dev/sda without a limit; 11.2 MB/s are needed"
    );
    assert_eq!(of_setup(""), None);
    assert_eq!(of_setup("9000000"), None);
}

#[test]
fn what_is_taken_from_the_host_is_no_time_of_the_guest() {
    let before = HostTime::read("cpu  100 10 50 900 5 0 0 40 0 0\ncpu0 1 2 3\n").expect("is a line");
    let after = HostTime::read("cpu  200 10 70 990 5 1 9 65 0 0\n").expect("is a line");
    // 130 ticks of work, 25 taken.
    assert!((after.kept_after(before) - 130.0 / 155.0).abs() < 1e-9);
    assert!((before.kept_after(before) - 1.0).abs() < 1e-9);
    assert_eq!(HostTime::read("cpu 1 2 3"), None, "an old kernel has no such field");
    assert_eq!(HostTime::read(""), None);
}

#[test]
fn nothing_is_needed_where_no_rate_is_expected() {
    assert!(needed(&scenario(DRIVES, "")).is_none());
    assert!(needed(&scenario("", "injected_bytes_per_second = 1")).is_none());
}

#[test]
fn time_limits_grow_with_the_time_that_a_piece_of_work_takes() {
    assert_eq!(factor(Duration::from_millis(100)), 1);
    assert_eq!(factor(Duration::from_millis(750)), 3);
    assert_eq!(factor(Duration::from_secs(1000)), 10);
}

#[test]
fn a_share_is_of_the_time_that_threads_asked_for() {
    let mut before = Processors::default();
    before.add("1000 500 7");
    let mut after = before;
    after.add("3000 1000 9\n");
    assert_eq!(after.share_after(before), Some(0.75));
    assert_eq!(before.share_after(before), None);
    let mut other = before;
    other.add("not what the kernel prints");
    assert_eq!(other, before);
}

#[test]
fn the_time_of_a_process_is_read_behind_its_name() {
    let line = "7 (a) b 1) S 1 7 7 0 -1 4194560 1 2 3 4 120 30 5 6 20 0 3 0 99\n";
    assert_eq!(ticks(line), Some(150));
    assert_eq!(ticks(""), None);
}

#[test]
fn a_guest_that_ends_no_step_in_time_stood_still() {
    let step = Duration::from_secs(100);
    assert!(!stood_still(Duration::from_secs(130), step), "the step may just have ended");
    assert!(stood_still(Duration::from_secs(131), step));
}
