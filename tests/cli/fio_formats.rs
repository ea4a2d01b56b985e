//! Formats of fio beside each other: what its text, terse output and logs say is what its JSON of the same run says; and
//! directories of results, with the real binary.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a test reads and writes its own files")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use narrows::results::surroundings::Surroundings;
use narrows::results::{Imported, Latency, Measured, Op, Page, Side, complete, read};
use serde_json::Value;

const VERSIONS: [&str; 4] = ["2.21", "3.16", "3.33", "3.41"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fio").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(data(name)).expect("is there")
}

fn import(path: &Path) -> (i32, Value, String) {
    let done = Command::new(crate::narrows_binary()).args(["--json"]).arg(path).output().expect("runs");
    let json = serde_json::from_slice(&done.stdout).unwrap_or(Value::Null);
    (done.status.code().expect("a status"), json, String::from_utf8_lossy(&done.stderr).into_owned())
}

fn one(body: &str) -> Imported {
    let mut all = read(&Page { name: "x", body });
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// The parts of an output in three formats: JSON, terse lines, and the normal text.
struct Parts {
    json: String,
    terse: String,
    normal: String,
}

fn parts(version: &str) -> Parts {
    let all = text(&format!("{version}/normal-json-terse.txt"));
    let mut parts = Parts { json: String::new(), terse: String::new(), normal: String::new() };
    let mut in_json = false;
    for line in all.lines() {
        in_json |= line == "{";
        let into = match () {
            () if in_json => &mut parts.json,
            () if line.contains(";fio-") => &mut parts.terse,
            () => &mut parts.normal,
        };
        writeln!(into, "{line}").expect("a string");
        in_json &= line != "}";
    }
    parts
}

/// Whether a printed number is the exact one, in a unit of which the printer gives so much.
fn same(exact: f64, printed: f64, relative: f64, absolute: f64) -> bool {
    (exact - printed).abs() <= relative * exact.abs() + absolute
}

fn sides(result: &Imported) -> Vec<(&Measured, Op, &Side)> {
    let each = |one| Measured::sides(one).map(move |(op, side)| (one, op, side));
    result.measurements.iter().flat_map(each).collect()
}

fn latencies<'s>(exact: &'s Side, printed: &'s Side) -> (&'s Latency, &'s Latency) {
    (exact.latency_ns.as_ref().expect("latency"), printed.latency_ns.as_ref().expect("latency"))
}

#[test]
fn the_normal_text_says_what_the_json_says() {
    for version in VERSIONS {
        let parts = parts(version);
        let (exact, printed) = (one(&parts.json), one(&parts.normal));
        assert_eq!((exact.version.as_deref(), printed.version.as_deref()), (Some(version), Some(version)));
        let (exact, printed) = (sides(&exact), sides(&printed));
        assert_eq!((exact.len(), printed.len()), (4, 4), "{version}");
        for ((job, op, exact), (known, other, printed)) in exact.into_iter().zip(printed) {
            let place = format!("{version} {} {}", job.work.label, op.word());
            assert_eq!((&job.work.label, op), (&known.work.label, other));
            assert_eq!((exact.ios, exact.elapsed_ns), (printed.ios, printed.elapsed_ns), "{place}");
            // Rates have three digits or four; the 1024 of a unit taken wrongly is 2.4 %.
            let (rate, shown) = (exact.bytes_per_second.get(), printed.bytes_per_second.get());
            assert!(same(rate, shown, 0.006, 0.0), "{place}: {rate} {shown}");
            let (iops, shown) = (exact.iops.expect("rate").get(), printed.iops.expect("rate").get());
            assert!(same(iops, shown, 0.006, 1.0), "{place}: {iops} {shown}");
            let (bytes, shown) =
                (exact.bytes.expect("bytes").as_f64(), printed.bytes.expect("bytes").as_f64());
            assert!(same(bytes, shown, 0.006, 0.0), "{place}: {bytes} {shown}");
            let (exact, printed) = latencies(exact, printed);
            let means = (exact.mean.expect("a mean"), printed.mean.expect("a mean"));
            assert!(same(means.0, means.1, 1e-4, 5.1), "{place}: {means:?}");
            let most = (exact.max.expect("a maximum"), printed.max.expect("a maximum"));
            assert!(same(most.0, most.1, 0.006, 1000.0), "{place}: {most:?}");
            assert!(exact.percentiles.len() >= 17 && exact.percentiles.len() == printed.percentiles.len());
            for (exact, printed) in exact.percentiles.iter().zip(&printed.percentiles) {
                assert_eq!(exact.percent, printed.percent);
                let pair = (exact.latency_ns, printed.latency_ns);
                assert!(same(pair.0, pair.1, 0.006, 1000.0), "{place} {}: {pair:?}", exact.percent);
            }
        }
    }
}

#[test]
fn terse_output_says_what_the_json_says() {
    for version in VERSIONS {
        let parts = parts(version);
        let (exact, printed) = (one(&parts.json), one(&parts.terse));
        assert_eq!(printed.version.as_deref(), Some(version));
        let cpu = |result: &Imported| -> Vec<f64> {
            result.measurements.iter().filter_map(|one| Some(one.cpu?.total())).collect()
        };
        assert!(cpu(&exact).iter().zip(cpu(&printed)).all(|(a, b)| same(*a, b, 0.0, 2e-6)), "{version}");
        let (exact, printed) = (sides(&exact), sides(&printed));
        assert_eq!((exact.len(), printed.len()), (4, 4), "{version}");
        for ((job, op, exact), (known, other, printed)) in exact.into_iter().zip(printed) {
            let place = format!("{version} {} {}", job.work.label, op.word());
            assert_eq!(
                (&job.work.label, op, exact.elapsed_ns),
                (&known.work.label, other, printed.elapsed_ns)
            );
            // Whole KiB, KiB per second and I/Os per second, cut off.
            let kib = |side: &Side| side.bytes.map(|bytes| bytes.get() >> 10);
            assert_eq!(kib(exact), kib(printed), "{place}");
            let (rate, shown) = (exact.bytes_per_second.get(), printed.bytes_per_second.get());
            assert!((0.0..1024.0).contains(&(rate - shown).abs()), "{place}: {rate} {shown}");
            let (iops, shown) = (exact.iops.expect("rate").get(), printed.iops.expect("rate").get());
            assert!((0.0..1.0).contains(&(iops - shown).abs()), "{place}: {iops} {shown}");
            let (exact, printed) = latencies(exact, printed);
            let means = (exact.mean.expect("a mean"), printed.mean.expect("a mean"));
            assert!(same(means.0, means.1, 0.0, 0.011), "{place}: {means:?}");
            let most = (exact.max.expect("a maximum"), printed.max.expect("a maximum"));
            assert!(same(most.0, most.1, 0.0, 1000.0), "{place}: {most:?}");
            for (exact, printed) in exact.percentiles.iter().zip(&printed.percentiles) {
                let pair = (exact.latency_ns, printed.latency_ns);
                assert!(
                    exact.percent == printed.percent && same(pair.0, pair.1, 0.0, 1000.0),
                    "{place}: {pair:?}"
                );
            }
        }
    }
}

#[test]
fn of_a_run_in_three_formats_the_json_is_kept() {
    for version in VERSIONS {
        let all = text(&format!("{version}/normal-json-terse.txt"));
        let kept = one(&all);
        let exact = one(&parts(version).json);
        assert_eq!(kept.measurements.len(), 3);
        for (kept, exact) in kept.measurements.iter().zip(&exact.measurements) {
            assert_eq!((&kept.read, &kept.write), (&exact.read, &exact.write), "{version}");
        }
        let Parts { terse, normal, .. } = parts(version);
        // Counts are in the text and not in the terse lines.
        assert!(sides(&one(&(terse + &normal))).iter().all(|(_, _, side)| side.ios.is_some()), "{version}");
    }
}

#[test]
fn a_directory_of_bench_fio_is_its_results_with_their_logs() {
    let (_, report, _) = import(&data("bench-fio"));
    let results = report["results"].as_array().expect("results");
    assert_eq!(results.len(), 2, "{results:?}");
    for (result, op) in results.iter().zip(["read", "write"]) {
        let side = &result["measurements"][0][op];
        let series: Vec<f64> =
            side["series"].as_array().expect("a series").iter().filter_map(Value::as_f64).collect();
        assert_eq!(series.len(), 15, "{op}");
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        // Two jobs of 2000 I/Os of 4 KiB each second.
        assert!((mean / (4000.0 * 4096.0) - 1.0).abs() < 0.01, "{op} {mean}");
        let source = side["series_source"].as_str().expect("a source");
        assert!(source.ends_with(&format!("rand{op}-iodepth-1-numjobs-2_bw.1.log and 1 more")), "{source}");
    }
}

#[test]
fn logs_alone_tell_rates_and_percentiles_near_those_of_the_json() {
    for (op, name) in [(Op::Read, "randread"), (Op::Write, "randwrite")] {
        let directory = format!("bench-fio/vda/{name}/4k");
        let json = one(&text(&format!("{directory}/{name}-1-2.json")));
        let exact = json.measurements[0].side(op).expect("is there").clone();
        let mut around = Surroundings::default();
        for kind in ["bw", "iops", "clat_hist"] {
            for job in 1..=2 {
                let log = format!("{name}-iodepth-1-numjobs-2_{kind}.{job}.log");
                around.see(&Page { name: &log, body: &text(&format!("{directory}/{log}")) });
            }
        }
        let mut results = Vec::new();
        complete(&mut results, &around);
        let [only] = results.as_slice() else { panic!("one set of logs") };
        let work = &only.measurements[0].work;
        assert_eq!((work.jobs, work.block_size.map(|size| size.get())), (Some(2), Some(4096)));
        let side = only.measurements[0].side(op).expect("is there");
        let pair = (exact.bytes_per_second.get(), side.bytes_per_second.get());
        assert!(same(pair.0, pair.1, 0.01, 0.0), "{pair:?}");
        let (exact, logged) = latencies(&exact, side);
        for (exact, logged) in exact.percentiles.iter().zip(&logged.percentiles) {
            // Four buckets of 1/64 of their value are one. What is behind the last second is not in the log, of which
            // there may be a few of the slowest.
            let pair = (exact.latency_ns, logged.latency_ns);
            let is_same = same(pair.0, pair.1, 0.07, 200.0);
            assert!(is_same || exact.percent > 99.0, "{op:?} {}: {pair:?}", exact.percent);
        }
    }
}

#[test]
fn a_log_alone_is_a_result() {
    let log = "bench-fio/vda/randread/4k/randread-iodepth-1-numjobs-2_bw.1.log";
    let (_, report, stderr) = import(&data(log));
    assert_eq!(
        report["results"][0]["measurements"][0]["read"]["series"].as_array().map(Vec::len),
        Some(15),
        "{stderr}"
    );
}

#[test]
fn a_directory_of_many_machines_is_their_sum_and_other_files_do_no_harm() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("vmfleet/result");
    std::fs::create_dir_all(&place).expect("a directory");
    for vm in 1..=60u64 {
        let iops = 16_300u64;
        let body = format!(
            "<Results><System><ComputerName>vm-{vm:02}</ComputerName><Tool><Version>2.0.21a</Version></Tool></System>\
             <Profile><TimeSpans><TimeSpan><Duration>60</Duration><Targets><Target><BlockSize>4096</BlockSize>\
             <DisableOSCache>true</DisableOSCache><Random>4096</Random><RequestCount>8</RequestCount></Target></Targets>\
             </TimeSpan></TimeSpans></Profile><TimeSpan><TestTimeSeconds>60.00</TestTimeSeconds><Thread><Target>\
             <ReadBytes>{}</ReadBytes><ReadCount>{}</ReadCount><WriteBytes>0</WriteBytes><WriteCount>0</WriteCount>\
             </Target></Thread></TimeSpan></Results>\n",
            iops * 60 * 4096,
            iops * 60
        );
        std::fs::write(place.join(format!("result-b4t1o8w0pr-vm-{vm:02}.xml")), body).expect("writes");
    }
    std::fs::write(place.join("chart.png"), [0x89, b'P', b'N', b'G', 0, 1, 2]).expect("writes");
    std::fs::write(directory.path().join("README.md"), "# Our cluster\nNothing here.\n").expect("writes");
    std::fs::write(directory.path().join("empty.log"), "").expect("writes");
    let (_, report, stderr) = import(directory.path());
    let results = report["results"].as_array().unwrap_or_else(|| panic!("{stderr}"));
    assert_eq!(results.len(), 1);
    let all = &results[0]["measurements"];
    assert_eq!(all.as_array().map(Vec::len), Some(61));
    assert_eq!((&all[0]["read"]["iops"], &all[0]["nodes"]), (&978_000.0.into(), &60.into()));
    assert_eq!((&all[1]["read"]["iops"], &all[1]["workload"]["label"]), (&16_300.0.into(), &"vm-01".into()));
}

/// A JSON+ of so many jobs, of more than a mebibyte.
fn long(jobs: usize) -> String {
    let bins: Vec<String> = (0..2000).map(|bin| format!("\"{}\" : {}", 1000 + bin * 64, bin + 1)).collect();
    let job = |number: usize| {
        format!(
            "    {{\n      \"jobname\" : \"job{number}\", \"error\" : 0,\n      \"job options\" : {{ \"rw\" : \"randread\" }},\n\
             \"read\" : {{ \"io_bytes\" : 245760000, \"bw_bytes\" : 4096000, \"bw\" : 4000, \"iops\" : 1000.0, \"runtime\" : 60000,\n\
             \"total_ios\" : 60000, \"clat_ns\" : {{ \"min\" : 1000, \"max\" : 129000, \"mean\" : 90000.5,\n\"percentile\" : {{ \
             \"50.000000\" : 90000 }},\n\"bins\" : {{ {} }} }} }} }}",
            bins.join(",\n")
        )
    };
    let jobs: Vec<String> = (1..=jobs).map(job).collect();
    format!("{{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : [\n{}\n  ]\n}}\n", jobs.join(",\n"))
}

#[test]
fn a_long_json_is_read_whole_and_a_cut_one_to_its_last_job() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("plus.json");
    let whole = long(60);
    assert!(whole.len() > 3 << 19);
    std::fs::write(&file, &whole).expect("writes");
    let (_, report, _) = import(&file);
    let all = report["results"][0]["measurements"].as_array().expect("measurements").clone();
    assert_eq!(all.len(), 60);
    assert_eq!(all[59]["workload"]["label"], "job60");
    assert_eq!(all[59]["read"]["latency_ns"]["p50"], 90_000.0);
    assert_eq!(report["results"][0]["truncated"], false);

    let end = whole.find("\"job41\"").expect("is there");
    std::fs::write(&file, &whole[..end]).expect("writes");
    let (_, report, _) = import(&file);
    assert_eq!(report["results"][0]["measurements"].as_array().map(Vec::len), Some(40));
    let findings = report["results"][0]["findings"].to_string();
    assert!(findings.contains("is cut off in or behind job 40 (`job40`)"), "{findings}");
}
