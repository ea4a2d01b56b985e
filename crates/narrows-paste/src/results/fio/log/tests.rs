use narrows_base::units::{Bytes, Nanos};

use super::*;
use crate::results::surroundings::Surroundings;
use crate::results::{Imported, Measured, Op, Page, Side, Tool, complete};

fn completed(mut results: Vec<Imported>, texts: &[(&str, String)]) -> Vec<Imported> {
    let mut around = Surroundings::default();
    for (name, body) in texts {
        around.see(&Page { name, body });
    }
    complete(&mut results, &around);
    results
}

/// A log of means over a second each.
fn means(values: &[u64], direction: u8) -> String {
    (1..).zip(values).map(|(second, value)| format!("{}, {value}, {direction}, 0\n", second * 1000)).collect()
}

fn fio(file: &str, seconds: u64, prefixes: &[Option<&str>]) -> Imported {
    let mut result = Imported::new(Tool::Fio, file, 1);
    for prefix in prefixes {
        let mut measured = Measured { logs: prefix.map(str::to_owned), ..Measured::default() };
        let elapsed_ns = Some(Nanos::from_millis(seconds * 1000));
        measured.put(Op::Write, Side { elapsed_ns, ..Side::default() });
        result.measurements.push(measured);
    }
    result
}

fn rates(result: &Imported, at: usize) -> Vec<f64> {
    result.measurements[at].write.as_ref().expect("writes").series.iter().map(|rate| rate.get()).collect()
}

fn near(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= 0.03 * expected)
}

#[test]
fn jobs_of_a_run_are_summed_in_time() {
    let texts = [("a/j_bw.1.log", means(&[1000; 10], 1)), ("a/j_bw.2.log", means(&[500; 10], 1))];
    let done = completed(vec![fio("a/j.json", 10, &[Some("j")])], &texts);
    assert_eq!(done.len(), 1);
    assert!(near(&rates(&done[0], 0), &[1500.0 * 1024.0; 10]), "{:?}", rates(&done[0], 0));
    let side = done[0].measurements[0].write.as_ref().expect("writes");
    assert_eq!(side.series_source.as_deref(), Some("a/j_bw.1.log and 1 more"));
    assert_eq!(side.series_span_ns, Some(Nanos::from_millis(1000)));
}

#[test]
fn a_job_that_has_ended_adds_nothing_any_more() {
    let texts = [("j_bw.1.log", means(&[1000; 20], 1)), ("j_bw.2.log", means(&[1000; 10], 1))];
    let done = completed(vec![fio("j.json", 20, &[Some("j")])], &texts);
    let kib: Vec<f64> = rates(&done[0], 0).iter().map(|rate| rate / 1024.0).collect();
    assert!(
        near(&kib, &[2000.0, 2000.0, 2000.0, 2000.0, 2000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0]),
        "{kib:?}"
    );
}

#[test]
fn each_job_that_is_told_alone_has_its_own_log() {
    let texts = [("j_bw.1.log", means(&[100; 10], 1)), ("j_bw.2.log", means(&[200; 10], 1))];
    let done = completed(vec![fio("j.json", 10, &[Some("j"), Some("j")])], &texts);
    assert!(near(&rates(&done[0], 0), &[102_400.0; 10]) && near(&rates(&done[0], 1), &[204_800.0; 10]));
}

#[test]
fn logs_of_another_directory_or_length_are_of_another_run() {
    let texts = [("b/j_bw.1.log", means(&[100; 10], 1))];
    let done = completed(vec![fio("a/j.json", 60, &[Some("j")])], &texts);
    assert_eq!(done.len(), 2);
    assert!(done[0].measurements[0].write.as_ref().is_some_and(|side| side.series.is_empty()));
    let side = done[1].measurements[0].write.as_ref().expect("writes");
    assert_eq!((done[1].file.as_str(), side.elapsed_ns), ("b/j_bw.1.log", Some(Nanos::from_millis(10_000))));
    assert!((side.bytes_per_second.get() - 102_400.0).abs() < 2000.0);
}

#[test]
fn a_log_of_the_run_s_length_is_its_own_whatever_it_is_called() {
    let done = completed(vec![fio("fio.json", 10, &[None])], &[("x_bw.1.log", means(&[100; 10], 1))]);
    assert_eq!((done.len(), rates(&done[0], 0).len()), (1, 10));
}

#[test]
fn a_log_that_was_renamed_is_still_that_of_its_run_and_one_of_another_run_is_not() {
    let log = |name| (name, means(&[100; 10], 1));
    let of_run = |texts: &[_]| completed(vec![fio("fio.json", 10, &[Some("own")])], texts);
    assert_eq!(rates(&of_run(&[log("fio_bw.1.log")])[0], 0).len(), 10);
    let both = of_run(&[log("other_bw.1.log"), ("own_bw.1.log", means(&[300; 10], 1))]);
    assert_eq!(both.len(), 2);
    assert!(near(&rates(&both[0], 0), &[300.0 * 1024.0; 10]), "{:?}", rates(&both[0], 0));
}

#[test]
fn single_ios_tell_the_rate_by_their_bytes_and_the_latency_by_their_values() {
    // 1000 I/Os a second of 4 KiB for 10 s, of 200 µs each, one of 5 ms: five jobs' worth of depth hides in no value.
    let line = |at: u64| format!("{at}, {}, 1, 4096, 0\n", if at == 7000 { 5_000_000 } else { 200_000 });
    let body: String = (1..=10_000).map(line).collect();
    let done = completed(Vec::new(), &[("j_clat.1.log", body)]);
    let side = done[0].measurements[0].write.clone().expect("writes");
    assert!(
        (side.bytes_per_second.get() / 4_096_000.0 - 1.0).abs() < 0.01,
        "{}",
        side.bytes_per_second.get()
    );
    assert_eq!(side.ios, Some(10_000));
    let latency = side.latency_ns.expect("latency");
    assert_eq!((latency.max, latency.mean), (Some(5_000_000.0), Some(200_480.0)));
    assert!(latency.p99.is_some_and(|p99| (p99 / 200_000.0 - 1.0).abs() < 0.01));
    assert_eq!(done[0].measurements[0].work.block_size, Some(Bytes::new(4096)));
}

#[test]
fn bandwidth_of_single_ios_is_no_rate_of_the_run() {
    // 4 KiB in 100 µs each are 40 000 KiB/s, eight of them in flight 320 000: the bytes say so.
    let body: String = (1..=20_000u64).map(|at| format!("{}, 40000, 0, 32768, 0\n", at / 2)).collect();
    let done = completed(Vec::new(), &[("j_bw.1.log", body)]);
    let side = done[0].measurements[0].read.clone().expect("reads");
    assert!(
        (side.bytes_per_second.get() / 65_536_000.0 - 1.0).abs() < 0.01,
        "{}",
        side.bytes_per_second.get()
    );
}

#[test]
fn samples_of_old_versions_carry_a_block_size_and_are_rates() {
    let body: String = (1..=40).map(|at| format!("{}, 100000, 0, 4096\n", at * 500)).collect();
    let done = completed(Vec::new(), &[("j_bw.log", body)]);
    let side = done[0].measurements[0].read.clone().expect("reads");
    assert!((side.bytes_per_second.get() / 102_400_000.0 - 1.0).abs() < 0.01);
}

#[test]
fn times_may_be_those_of_a_clock() {
    let body: String =
        (0..20u64).map(|second| format!("{}, 1000, 1, 0, 0\n", 1_700_000_000_000 + second * 1000)).collect();
    let done = completed(Vec::new(), &[("j_bw.1.log", body)]);
    let side = done[0].measurements[0].write.clone().expect("writes");
    assert_eq!(side.elapsed_ns, Some(Nanos::from_millis(20_000)));
    assert_eq!(side.series.len(), 20);
    assert!(near(&side.series.iter().map(|rate| rate.get()).collect::<Vec<_>>(), &[1_024_000.0; 20]));
}

#[test]
fn a_histogram_gives_percentiles_where_the_result_has_none() {
    let mut counts = vec![0u64; 1856];
    // By hand: 100 000 = 2^16 + 33.7 × 2^10, of which the sixth power after 2^10 is the first: bucket 11 × 64 + 33.
    (counts[11 * 64 + 33], counts[1000]) = (990, 10);
    let counts: String = counts.iter().map(|count| format!(", {count}")).collect();
    let texts = [("j_clat_hist.1.log", format!("1000, 1, 4096{counts}\n2000, 1, 4096{counts}\n"))];
    let done = completed(vec![fio("j.json", 2, &[Some("j")])], &texts);
    let latency =
        done[0].measurements[0].write.as_ref().and_then(|side| side.latency_ns.clone()).expect("latency");
    let p50 = latency.p50.expect("a median");
    assert!((99_000.0..101_000.0).contains(&p50), "{p50}");
    assert_eq!(latency.p99, Some(p50));
    assert!(latency.percentiles.last().is_some_and(|one| one.latency_ns > 10.0 * p50));
}

#[test]
fn microseconds_of_version_2_are_seen() {
    let lat: String = (1..=20).map(|at| format!("{}, 800, 0, 0\n", at * 1000)).collect();
    let texts = |lat: &str| {
        [
            ("j_lat.1.log", lat.to_owned()),
            ("j_iops.1.log", means(&[1250; 20], 0)),
            ("j_bw.1.log", means(&[5000; 20], 0)),
        ]
    };
    let done = completed(Vec::new(), &texts(&lat));
    let of = |done: &[Imported]| {
        done[0].measurements[0].read.as_ref().and_then(|side| side.latency_ns.clone()?.mean)
    };
    assert_eq!(of(&done), Some(800_000.0));
    assert_eq!(done[0].corrections.len(), 1);
    // With a priority the line is of 3.18 or later, which writes nanoseconds.
    let new = lat.replace(", 0, 0\n", ", 0, 0, 0\n");
    assert_eq!(of(&completed(Vec::new(), &texts(&new))), Some(800.0));
}

#[test]
fn a_latency_alone_is_no_result() {
    assert!(completed(Vec::new(), &[("j_lat.1.log", means(&[800; 20], 0))]).is_empty());
}

#[test]
fn names_have_a_prefix_a_quantity_and_a_job() {
    let of = |name: &str| LogName::of(name).map(|name| (name.prefix, name.quantity, name.job));
    assert_eq!(of("a/fio_bw.1.log"), Some(("fio".to_owned(), Quantity::Bandwidth, Some(1))));
    assert_eq!(of("x_clat_hist.12.log"), Some(("x".to_owned(), Quantity::Completion, Some(12))));
    assert_eq!(of("my_job_iops.log"), Some(("my_job".to_owned(), Quantity::Iops, None)));
    assert_eq!(of("bw.log"), Some((String::new(), Quantity::Bandwidth, None)));
    let remote = LogName::of("d/j_lat.2.log.node-7").expect("a name");
    assert_eq!((remote.host.as_str(), remote.directory.as_str()), ("node-7", "d"));
    assert_eq!(of("flat.1.log"), None);
    assert_eq!(of("notes.txt"), None);
}
