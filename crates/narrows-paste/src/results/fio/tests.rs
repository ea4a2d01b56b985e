//! Jobs that were printed in several formats.

use super::super::{Page, Tool, read};
use super::*;

/// A run as JSON and in words, as `--output-format=json,normal` prints it.
const BOTH: &str = r#"{
  "fio version" : "fio-3.36",
  "jobs" : [ { "jobname" : "a", "error" : 0, "read" : {
    "io_bytes" : 134217728, "bw_bytes" : 97188796, "bw" : 94910, "iops" : 185.4, "runtime" : 1381, "total_ios" : 256,
    "lat_ns" : { "min" : 1, "max" : 9, "mean" : 2304870.5, "stddev" : 1.0, "N" : 256 } } } ]
}

a: (groupid=0, jobs=1): err= 0: pid=1
  read: IOPS=185, BW=92.7MiB/s (97.2MB/s)(128MiB/1381msec)
     lat (usec): min=1, max=9, avg=2304.87, stdev= 1.00
     issued rwts: total=256,0,0,0 short=0,0,0,0 dropped=0,0,0,0
"#;

const OTHER: &str = "b: (groupid=0, jobs=1): err= 0: pid=2
  read: IOPS=100, BW=50.0MiB/s (52.4MB/s)(128MiB/2560msec)
     issued rwts: total=256,0,0,0 short=0,0,0,0 dropped=0,0,0,0
";

const SUMS: &str = "
Run status group 0 (all jobs):
   READ: bw=92.7MiB/s (97.2MB/s), 92.7MiB/s-92.7MiB/s (97.2MB/s-97.2MB/s), io=128MiB (134MB), run=1381-1381msec

";

/// Names and rates in MB/s of all jobs of fio.
fn jobs(body: &str) -> Vec<(String, u64)> {
    let found = read(&Page { name: "x", body });
    let jobs = found.iter().filter(|one| one.tool == Tool::Fio).flat_map(|one| &one.measurements);
    jobs.flat_map(|job| job.sides().map(|(_, side)| (job, side)).collect::<Vec<_>>())
        .map(|(job, side)| (job.work.label.clone(), (side.bytes_per_second.get() / 1e6).round() as u64))
        .collect()
}

#[test]
fn a_job_in_two_formats_counts_once_whatever_stands_behind_it() {
    let (a, b) = (("a".to_owned(), 97), ("b".to_owned(), 52));
    assert_eq!(jobs(BOTH), std::slice::from_ref(&a));
    for between in ["", SUMS, "and the other one:\n", "$ fio other.fio\n"] {
        assert_eq!(jobs(&format!("{BOTH}{between}{OTHER}{SUMS}")), [a.clone(), b.clone()], "{between}");
    }
}

#[test]
fn a_job_of_the_same_name_and_count_with_another_rate_is_another_run() {
    let again = OTHER.replace("b: (groupid", "a: (groupid");
    assert_eq!(jobs(&format!("{BOTH}{SUMS}{again}")), [("a".to_owned(), 97), ("a".to_owned(), 52)]);
}

#[test]
fn an_error_that_two_formats_tell_is_told_once() {
    let failed = "\"jobs\" : [ { \"jobname\" : \"c\", \"error\" : 5 }, ";
    let words = "c: (groupid=0, jobs=1): err= 5 (file:x, func=y, error=Input/output error): pid=1\n  cpu          : usr=0.00%, sys=0.00%\n";
    let json = BOTH.replace("\"jobs\" : [ ", failed);
    let found =
        read(&Page { name: "x", body: &json.replace("\na: (groupid", &format!("\n{words}a: (groupid")) });
    let failures: Vec<&String> = found.iter().flat_map(|one| &one.failures).collect();
    assert_eq!(failures, ["job `c` ended with error 5"]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn sums_of_a_group_whose_job_stands_as_json_are_no_result_of_their_own() {
    let json = BOTH.split("\na: (groupid").next().unwrap_or_default();
    let rate = read(&Page { name: "x", body: json })
        .iter()
        .flat_map(|one| &one.measurements)
        .find_map(|one| one.sides().map(|(_, side)| side.bytes_per_second.get()).next());
    let sum = |rate: f64| {
        let kib = (rate / 1024.0).round();
        format!("{json}\n{}Run status group 0 (all jobs):\n  READ: bw={kib}KiB/s\n", "words\n".repeat(90))
    };
    let rate = rate.expect("a rate");
    assert_eq!(jobs(&sum(rate)).len(), 1);
    assert_eq!(jobs(&sum(rate * 2.0)).len(), 2, "of another run");
}

fn failures(body: &str) -> Vec<String> {
    read_failures(&Page { name: "x", body }).into_iter().flat_map(|one| one.failures).collect()
}

#[test]
fn a_run_that_did_not_start_is_a_result_of_its_own() {
    assert_eq!(failures("error: failed to setup shm segment\n").len(), 1);
    assert_eq!(
        failures("fio: pid=4879, err=84/file:io_u.c:2141, func=io_u_queued_complete, error=x\n").len(),
        1
    );
}

#[test]
fn ordinary_words_are_no_failure() {
    assert!(failures("fio: a benchmark\nerror: failed to open x\nfio-3.1\n").is_empty());
}
