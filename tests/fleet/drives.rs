//! The servers' drives alone: what lies before them on a server is told from them.

use std::path::Path;
use std::process::Command;

use super::lab::Ran;
use super::limits::{is_unable, lab};
use super::turn;

const RUN: &str = "run --hosts c[1-4] --servers s1 --ssh-config {dir}/ssh_config --target nbd://10.77.0.2 --block-size 64k --depth 4 \
    --order random --duration 4s --rate 60m --json --output {dir}/run --alone drives=";

/// A file of 64 MiB that the server serves no faster than 10 MB/s to each connection, whatever the drive below it gives. Nothing of
/// it is in memory, nor stays there.
fn served(place: &Path) -> (String, Vec<String>) {
    let path = place.join("export").display().to_string();
    let made = Command::new("dd")
        .args(["if=/dev/zero", &format!("of={path}"), "bs=1M", "count=64", "oflag=direct", "conv=fsync"])
        .output()
        .expect("dd runs");
    assert!(made.status.success(), "{made:?}");
    let words = ["--filter=rate", "file", &path, "rate=80M", "burstiness=0.25", "cache=none"]
        .map(str::to_owned)
        .to_vec();
    (path, words)
}

#[test]
#[ignore = "it measures, and other tests run beside it: make rig-fleet"]
fn drives_that_give_more_than_is_served_are_not_named() {
    if is_unable("drives_that_give_more_than_is_served_are_not_named") {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let (file, words) = served(place.path());
    let _turn = turn();
    let lab = lab(false, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let ran: Ran = lab.run(&format!("{RUN}{file}"));
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let report = ran.json();
    let leg = &report["drives_leg"];
    let rate = leg["bytes_per_second"].as_f64().expect("is known") / 1e6;
    assert!(rate > 20.0 && rate < 66.0, "as fast as the cap allows: {leg}");
    assert_eq!(leg["hosts"][0]["host"], "s1", "{leg}");
    let limit = &report["points"][0]["verdict"]["limit"];
    assert_eq!(limit["kind"], "unknown", "{limit}");
    assert!(
        limit["evidence"][0].as_str().is_some_and(|why| why.contains("not the servers' drives")),
        "{limit}"
    );
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
    let public = lab.run("report {dir}/run --plain").out;
    assert!(public.contains("drives alone: "), "{public}");
    let own = lab.run("report {dir}/run/drives-leg --plain").out;
    assert!(own.contains("1 client read "), "the leg is a run of its own: {own}");
}

#[test]
fn a_leg_that_cannot_be_measured_loses_nothing() {
    if is_unable("a_leg_that_cannot_be_measured_loses_nothing") {
        return;
    }
    let (_turn, lab) = (turn(), lab(false, &["memory", "64M"]));
    let ran: Ran = lab.run(&format!("{RUN}/dev/no-such-drive"));
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let report = ran.json();
    assert!(report["points"][0]["bytes_per_second"].as_f64() > Some(1e6), "{ran:?}");
    let leg = &report["drives_leg"];
    assert!(leg["bytes_per_second"].is_null(), "{leg}");
    assert!(leg["lost"][0].as_str().is_some_and(|lost| lost.contains("/dev/no-such-drive")), "{leg}");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
}
