//! Results of other tools, and what of a workload every tool states: direction, pattern, block size, I/Os in flight,
//! the share of writes, and whether the page cache was bypassed. Two results that differ in one of these measured
//! different things.

use serde_json::{Map, Value, json};

use super::input::{ComparedEntry, Tail};
use crate::results::{ResultVerdict, Trust, judge_results};
use narrows_base::lists::distinct;
use narrows_base::measurement::PERCENTILES;
use narrows_base::stats::{self, BatchMeans};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_paste::results::surroundings::Surroundings;
use narrows_paste::results::{Durability, Imported, Long, Measured, Op, Page, Side, Tool, read};

/// A field of a shape that may be unknown on one side: tools that always bypass the page cache do not say so.
const ACCESS: &str = "access";

/// A longer text is read piece by piece, where it is JSON of fio.
pub(super) const LONGEST: usize = 1 << 20;

/// Fields that must be known.
const NEEDED: [&str; 4] = ["direction", "pattern", "block_size", "in_flight"];

/// The measurements of storage in a text of other tools, and how many were left out.
pub(super) fn entries(name: &str, text: &str) -> (Vec<ComparedEntry>, usize) {
    let mut around = Surroundings::default();
    let results = match Long::of(name, text.as_bytes(), text.len() <= LONGEST) {
        Some(long) => long.read(name, &[], &mut text.as_bytes(), &mut around, str::to_owned).results,
        None => read(&Page { name, body: text }),
    };
    let left_out = results.iter().map(|one| one.left_out).sum();
    let verdicts = judge_results(&results, &Surroundings::default(), None);
    let mut all: Vec<ForeignRun<'_>> = Vec::new();
    for (at, (result, verdict)) in results.iter().zip(&verdicts).enumerate() {
        for measured in result.measurements.iter().filter(|measured| !measured.memory_only) {
            let storage = measured.sides().map(|(op, side)| (Some(op), side));
            let sides = storage.chain(measured.network.iter().map(|side| (None, side)));
            all.extend(sides.map(|(op, side)| ForeignRun {
                at,
                tool: result.tool,
                told: (measured.work.target.as_deref(), measured.work.durability, result.command.as_deref()),
                entry: ComparedEntry {
                    cautions: [cautions(verdict), cautions_of(result)].concat(),
                    ..entry(result, measured, op, side)
                },
            }));
        }
    }
    (repeated(all), left_out)
}

/// A run, and what tells its repetitions from other runs.
struct ForeignRun<'r> {
    /// The place of its result in the text.
    at: usize,
    tool: Tool,
    /// Target, durability and command.
    told: (Option<&'r str>, Option<Durability>, Option<&'r str>),
    entry: ComparedEntry,
}

/// Runs that a text repeats become one, of which they are the samples. Tools that print several jobs of one call are left out:
/// those ran together.
fn repeated(all: Vec<ForeignRun<'_>>) -> Vec<ComparedEntry> {
    const TOGETHER: [Tool; 6] =
        [Tool::Fio, Tool::Vdbench, Tool::Diskspd, Tool::Elbencho, Tool::Spdk, Tool::Gdsio];
    let mut groups: Vec<Vec<ForeignRun<'_>>> = Vec::new();
    for one in all {
        let together = TOGETHER.contains(&one.tool);
        let is_same = |group: &Vec<ForeignRun<'_>>| {
            group.iter().all(|known| {
                let is_another = known.at != one.at && known.entry.is_single;
                let (before, own) = (&known.entry, &one.entry);
                is_another && known.told == one.told && before.shape == own.shape && before.label == own.label
            })
        };
        match groups.iter_mut().find(|group| !together && one.entry.is_single && is_same(group)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.into_iter().filter_map(|group| samples(group.into_iter().map(|one| one.entry).collect())).collect()
}

/// The mean of runs with its error; one run as it is. `None` of none.
fn samples(mut runs: Vec<ComparedEntry>) -> Option<ComparedEntry> {
    /// Three digits are printed, of which the last may be off by a half.
    const ROUNDING: f64 = 0.005;
    let rates: Vec<f64> = runs.iter().map(|run| run.rate.get()).collect();
    let cautions: Vec<String> = distinct(runs.iter().flat_map(|run| run.cautions.iter().cloned()));
    let first = (!runs.is_empty()).then(|| runs.swap_remove(0))?;
    if rates.len() < 2 {
        return Some(first);
    }
    let rate = BytesPerSec::new(stats::mean(&rates));
    let variance = stats::variance(&rates).max((ROUNDING * rate.get()).powi(2));
    let means = Some(BatchMeans { mean: rate, variance, batches: rates.len() });
    let label = format!("{}, {} runs", first.label, rates.len());
    Some(ComparedEntry { label, rate, means, is_single: false, tails: Vec::new(), cautions, ..first })
}

/// Whether to trust a result, in the words of `narrows FILE`: nothing where it is to be trusted for what it claims.
fn cautions(verdict: &ResultVerdict) -> Vec<String> {
    match (verdict.trust, &verdict.reason, &verdict.measures) {
        (Trust::No, Some(reason), _) => vec![format!("the result is not trusted: {reason}")],
        (Trust::No, None, _) => vec!["the result is not trusted".to_owned()],
        (Trust::Other, _, Some(measures)) => vec![format!("trusted for something else: {measures}")],
        _ => Vec::new(),
    }
}

/// What the tool itself says against a result, and what was corrected in it.
fn cautions_of(result: &Imported) -> Vec<String> {
    let failures = result.failures.iter().map(|failure| format!("it says: {failure}"));
    failures.chain(result.corrections.iter().cloned()).collect()
}

/// The run of one direction; `None` is a network, which has none.
fn entry(result: &Imported, measured: &Measured, op: Option<Op>, side: &Side) -> ComparedEntry {
    let shape = shape(result, measured, op);
    let means = BatchMeans::of(&side.series);
    ComparedEntry {
        label: label(result, measured, op),
        key: shape.clone(),
        shape,
        rate: side.bytes_per_second,
        is_single: means.is_none(),
        means,
        tails: tails(side),
        access: None,
        depth: None,
        engine: measured.work.engine.clone(),
        region: measured.work.working_set.map(|set| set.get().to_string()),
        cautions: Vec::new(),
    }
}

fn direction(op: Option<Op>) -> &'static str {
    op.map_or("network", Op::word)
}

fn shape(result: &Imported, measured: &Measured, op: Option<Op>) -> Vec<(String, String)> {
    let work = &measured.work;
    // Marks print reads and writes side by side, and measure them apart.
    let apart = matches!(result.tool, Tool::Kdiskmark | Tool::Crystaldiskmark);
    let ios = |op: Op| measured.side(op).and_then(|side| side.iops).map(|iops| iops.get());
    let mix = ios(Op::Read).zip(ios(Op::Write)).filter(|_| !apart).map(|(reads, writes)| {
        format!("{:.0} % writes", 100.0 * writes / (reads + writes).max(f64::MIN_POSITIVE))
    });
    let mut shape = named([
        ("direction", Some(direction(op).to_owned())),
        ("pattern", work.pattern.map(|pattern| pattern.word().to_owned())),
        ("block_size", work.block_size.map(|size| size.get().to_string())),
        ("in_flight", measured.asked_in_flight().map(|count| count.to_string())),
        ("mix", mix),
        (ACCESS, work.direct.map(|direct| if direct { "direct" } else { "buffered" }.to_owned())),
    ]);
    // What is not stated is the same at best where one tool printed both.
    if NEEDED.iter().any(|name| !shape.iter().any(|(known, _)| known == name)) {
        shape.push(("tool".to_owned(), result.tool.name().to_owned()));
    }
    shape
}

fn named<const N: usize>(fields: [(&str, Option<String>); N]) -> Vec<(String, String)> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The same of a run of ours.
pub(super) fn shape_of(
    workload: &Map<String, Value>,
    direction: Option<&str>,
    measurement: &Value,
) -> Vec<(String, String)> {
    let number = |name: &str| workload.get(name).and_then(Value::as_f64);
    let streams = workload.get("parallel").map_or(1.0, streams);
    let writes = number("write_percent").filter(|writes| *writes > 0.0 && *writes < 100.0);
    let access = word(measurement, ACCESS).or_else(|| access_of(workload));
    named([
        ("direction", direction.map(str::to_owned)),
        ("pattern", workload.get("pattern").and_then(Value::as_str).map(str::to_owned)),
        ("block_size", workload.get("block_size").and_then(Value::as_u64).map(|size| size.to_string())),
        ("in_flight", number("queue_depth").map(|depth| (depth.max(1.0) * streams).to_string())),
        ("mix", writes.map(|writes| format!("{writes:.0} % writes"))),
        (ACCESS, access),
    ])
}

/// Threads or streams of a load, which is told as a number or as an object with one.
pub(super) fn streams(parallel: &Value) -> f64 {
    let inner = parallel.as_object().and_then(|fields| fields.values().find_map(Value::as_f64));
    parallel.as_f64().or(inner).unwrap_or(1.0)
}

/// Whether a load passes the page cache by, where it says so.
pub(super) fn access_of(load: &Map<String, Value>) -> Option<String> {
    let buffered = load.get("buffered")?.as_bool()?;
    Some(if buffered { "buffered" } else { "direct" }.to_owned())
}

/// What must be the same in two workloads, of all that every tool states, and access, which must be where both state it. Where
/// what is needed is not stated, both must be of one tool and state the same.
pub(super) fn kind(entry: &ComparedEntry) -> (Vec<&str>, Option<&str>) {
    let needed = NEEDED.iter().map(|name| field(entry, name));
    let needed: Option<Vec<&str>> = needed.chain(field(entry, "mix").map(Some)).collect();
    let all = entry.shape.iter().filter(|(name, _)| name != ACCESS);
    let stated = || all.flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect();
    (needed.unwrap_or_else(stated), access(entry))
}

/// What is needed and not stated; of a network nothing is.
pub(super) fn not_stated(entry: &ComparedEntry) -> Vec<&'static str> {
    let is_storage = !entry.shape.is_empty() && field(entry, "direction") != Some("network");
    NEEDED.into_iter().filter(|name| is_storage && field(entry, name).is_none()).collect()
}

/// Whether the page cache was bypassed, if it is stated.
pub(super) fn access(entry: &ComparedEntry) -> Option<&str> {
    field(entry, ACCESS)
}

fn field<'a>(entry: &'a ComparedEntry, name: &str) -> Option<&'a str> {
    entry.shape.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// `read random 4 KiB × 32 (fio, job)`.
fn label(result: &Imported, measured: &Measured, op: Option<Op>) -> String {
    let work = &measured.work;
    let mut parts: Vec<String> = vec![direction(op).to_owned()];
    parts.extend(work.pattern.map(|pattern| pattern.word().to_owned()));
    parts.extend(work.block_size.map(|size| human::block_size(Bytes::new(size.get()))));
    parts.extend(measured.asked_in_flight().map(|count| format!("× {count}")));
    let of: Vec<&str> =
        [result.tool.name(), &work.label].into_iter().filter(|word| !word.is_empty()).collect();
    format!("{} ({})", parts.join(" "), of.join(", "))
}

/// The percentiles that ours have, too.
fn tails(side: &Side) -> Vec<Tail> {
    let Some(latency) = &side.latency_ns else { return Vec::new() };
    let at = |label: &str| {
        let percent: f64 = label.trim_start_matches('p').parse().ok()?;
        latency.percentiles.iter().find(|one| (one.percent - percent).abs() < 1e-9).map(|one| one.latency_ns)
    };
    let tail = |label: &'static str| Some(Tail { label, value: Nanos::new(at(label)? as u64), mean: None });
    PERCENTILES.iter().filter_map(|percentile| tail(percentile.label)).collect()
}

/// The runs in an object of `narrows measure` or `lab` that lists tests (`results`), rungs (`ladders`), cells (`cells`), or targets
/// and groups (`groups`), in the form of those of `narrows`: one for each direction of a test, or one for both together. With each
/// what it is of, where that is not the whole report.
pub(super) fn runs(report: &Value) -> impl Iterator<Item = (Option<String>, Value)> {
    let rungs = list(report, "ladders").flat_map(|ladder| {
        list(ladder, "rungs").filter_map(|rung| {
            let run = part(ladder.get("load")?, rung.get("measurement")?, rung)?;
            Some((word(rung, "id").or(word(rung, "name")), run))
        })
    });
    let cells = list(report, "cells").flat_map(|cell| {
        list(cell, "measured").filter_map(|test| {
            Some((word(cell, "name"), part(test.get("load")?, test.get("measurement")?, test)?))
        })
    });
    let load = report.get("workload");
    let alone = list(report, "targets")
        .filter_map(move |one| Some((word(one, "target"), part(load?, one.get("alone")?, one)?)));
    let together = list(report, "groups").filter_map(move |group| {
        let names: Vec<&str> = list(group, "targets").filter_map(Value::as_str).collect();
        Some((Some(format!("together: {}", names.join(" "))), part(load?, group.get("together")?, group)?))
    });
    whole(report).map(|run| (None, run)).chain(rungs).chain(cells).chain(alone).chain(together)
}

/// The items of a list; none where there is no such list.
pub(super) fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// A text of an object.
pub(super) fn word(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

/// A run of a measurement, of which `beside` says whether it is to be trusted.
fn part(load: &Value, measurement: &Value, beside: &Value) -> Option<Value> {
    let mut measurement = measurement.as_object()?.clone();
    measurement.get("bytes_per_second")?;
    measurement.insert("workload".to_owned(), Value::Object(load.as_object()?.clone()));
    let direction = match load.get("write_percent").and_then(Value::as_f64) {
        Some(percent) if percent > 0.0 && percent < 100.0 => None,
        Some(100.0..) => Some("write"),
        _ => Some("read"),
    };
    Some(json!({ "direction": direction, "trusted": beside.get("trusted"), "measurement": measurement }))
}

fn whole(report: &Value) -> impl Iterator<Item = Value> {
    let size = report.get("target").and_then(|target| target.get("size_bytes"));
    list(report, "results").flat_map(move |test| {
        let is_mixed = test.get("both").is_some_and(|both| !both.is_null());
        let sides: &[&str] = if is_mixed { &["both"] } else { &["read", "write"] };
        sides.iter().filter_map(move |side| {
            let direction = Some(*side).filter(|_| !is_mixed);
            run(test, test.get(side)?, direction, size)
        })
    })
}

/// A run with the figures of `figures`; the rest is said of the whole test.
fn run(test: &Value, figures: &Value, direction: Option<&str>, size: Option<&Value>) -> Option<Value> {
    let load = test.get("load")?.as_object()?;
    figures.get("bytes_per_second")?;
    let of = |value: &Value, name: &str| value.get(name).cloned().unwrap_or_default();
    Some(json!({
        "name": of(test, "name"),
        "direction": direction,
        "trusted": of(test, "trusted"),
        "measurement": {
            "workload": load,
            "bytes_per_second": of(figures, "bytes_per_second"),
            "ci95": of(figures, "ci95"),
            "latency_ns": of(figures, "latency_ns"),
            "series": of(test, "series"),
            "errors": of(test, "errors"),
            "cut_short": of(test, "cut_short"),
            "generator": test.get("checks").map(|checks| of(checks, "generator")),
            "region_bytes": size,
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Verdict, compare};

    const FIO: &str = r#"{"fio version": "fio-3.36", "jobs": [{"jobname": "j", "error": 0,
        "job options": {"rw": "randread", "bs": "4k", "iodepth": "32", "numjobs": "1", "direct": "1", "ioengine": "libaio"},
        "read": {"io_bytes": 12288000000, "bw_bytes": 409600000, "bw": 400000, "iops": 100000, "runtime": 30000, "total_ios": 3000000,
        "clat_ns": {"max": 900000, "mean": 320000, "percentile": {"50.000000": 300000, "99.000000": 500000}}},
        "write": {"io_bytes": 0, "bw_bytes": 0, "bw": 0}}]}"#;

    fn marks(depth: u32, megabytes: &str) -> String {
        format!(
            "KDiskMark (3.1.4): https://github.com/JonMagon/KDiskMark\n[Read]\n\
            Random   4 KiB (Q= {depth}, T= 1):   {megabytes} MB/s [  90000.0 IOPS] <   350.00 us>\n"
        )
    }

    fn input(text: &str) -> Input {
        Input::parse("x", text).expect("a result")
    }

    #[test]
    fn the_same_workload_of_two_tools_is_compared_without_an_interval() {
        let found = compare(&input(FIO), &input(&marks(32, "360.000")), 0.01);
        let [workload] = found.workloads.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (workload.verdict, found.verdict),
            (Verdict::NotDistinguishable, Verdict::NotDistinguishable)
        );
        // 360 of KDiskMark's MB are 368.64 MB: 10 % below 409.6.
        assert!((workload.as_printed.expect("a difference") + 0.1).abs() < 1e-9, "{workload:?}");
        assert!(workload.reason.as_deref().is_some_and(|why| why.contains("no interval")));
    }

    #[test]
    fn a_result_that_is_not_to_be_trusted_says_why() {
        let short =
            FIO.replace("30000", "2000").replace("12288000000", "819200000").replace("3000000", "200000");
        let cautions =
            |a: &str, b: &str| compare(&input(a), &input(b), 0.01).workloads.remove(0).cautions.join("\n");
        let said = cautions(FIO, &short);
        assert!(said.contains("B: the result is not trusted: The random reads"), "{said}");
        assert!(!said.contains("A: the result"), "{said}");
    }

    #[test]
    fn another_depth_is_refused_and_named() {
        let found = compare(&input(FIO), &input(&marks(1, "60.000")), 0.01);
        assert_eq!((found.verdict, found.workloads.len()), (Verdict::NotComparable, 0));
        assert!(found.unmatched[0].reason.contains("in_flight (32, 1)"), "{:?}", found.unmatched);
    }

    #[test]
    fn a_run_of_ours_stands_beside_fios() {
        let series: Vec<f64> = (0..40).map(|i| 400e6 + 1e6 * f64::from(i % 3)).collect();
        let ours = serde_json::json!({ "paths": [{ "runs": [{ "direction": "read", "measurement": {
            "workload": { "pattern": "random", "block_size": 4096, "queue_depth": 32, "duration_ns": 4_000_000_000u64 },
            "access": "direct", "bytes_per_second": 401e6, "series": series } }] }] });
        let found = compare(&input(FIO), &input(&ours.to_string()), 0.01);
        assert_eq!(found.workloads.len(), 1, "{:?}", found.unmatched);
        assert!(found.workloads[0].difference.is_none());
    }

    #[test]
    fn tests_stand_beside_runs_of_check() {
        let load = serde_json::json!({"pattern": "random", "block_size": 4096, "queue_depth": 32,
            "parallel": {"threads": 1}, "write_percent": 0, "buffered": false});
        let sweep = serde_json::json!({"results": [{"load": load,
            "read": {"bytes_per_second": 400e6, "ci95": [396e6, 404e6]}}]});
        let bench = serde_json::json!({"results": [{"name": "RND4K", "load": load, "write": null,
            "read": {"bytes_per_second": 500e6, "ci95": [495e6, 505e6]}}]});
        let check = serde_json::json!({"paths": [{"runs": [{"direction": "read", "measurement": {
            "workload": {"pattern": "random", "block_size": 4096, "queue_depth": 32, "duration_ns": 4_000_000_000u64},
            "access": "direct", "bytes_per_second": 401e6, "ci95": [397e6, 405e6]}}]}]});
        let of = |a: &serde_json::Value, b: &serde_json::Value| {
            compare(&input(&a.to_string()), &input(&b.to_string()), 0.01)
        };
        assert_eq!(of(&sweep, &bench).verdict, Verdict::Faster);
        assert_eq!(of(&bench, &check).verdict, Verdict::Slower);
        let same = of(&check, &sweep);
        assert_eq!((same.verdict, same.unmatched.len()), (Verdict::NotDistinguishable, 0), "{same:?}");
        assert_eq!(of(&sweep, &sweep).workloads[0].workload, "read random 4 KiB × 32");
    }

    fn hdparm(rates: &[&str]) -> String {
        let run = |rate: &&str| {
            format!("/dev/mmcblk0:\n Timing buffered disk reads: 342 MB in  3.01 seconds = {rate} MB/sec\n\n")
        };
        rates.iter().map(run).collect()
    }

    #[test]
    fn runs_that_are_repeated_are_samples_and_have_an_interval() {
        let found = compare(&input(&hdparm(&["44.21", "44.10"])), &input(&hdparm(&["113.8", "113.1"])), 0.01);
        assert_eq!((found.verdict, found.workloads.len()), (Verdict::Faster, 1), "{found:?}");
        let alike = compare(&input(&hdparm(&["100.0", "110.0"])), &input(&hdparm(&["101.0", "112.0"])), 0.01);
        assert_eq!(alike.verdict, Verdict::NotDistinguishable);
        let one = compare(&input(&hdparm(&["44.21"])), &input(&hdparm(&["113.8", "113.1"])), 0.01);
        assert!(one.workloads[0].as_printed.is_some_and(|part| part > 1.5), "{one:?}");
    }

    #[test]
    fn another_command_is_no_repetition() {
        let dd = |flag: &str, seconds: u32| {
            format!(
                "$ dd if=/dev/zero of=/srv/x bs=1M count=4096{flag}\n4294967296 bytes (4.3 GB) copied, {seconds} s, 9 MB/s\n"
            )
        };
        let mixed = dd("", 4) + &dd(" conv=fdatasync", 40);
        let found = compare(&input(&mixed), &input(&mixed), 0.01);
        assert_eq!(found.workloads.len(), 2, "{found:?}");
    }

    #[test]
    fn what_both_leave_unsaid_is_compared_where_one_tool_printed_both() {
        let text = |rate: &str| {
            format!(
                "[ ID] Interval           Transfer     Bitrate\n[  5]   0.00-10.00  sec  1.10 GBytes  {rate} Mbits/sec  receiver\n"
            )
        };
        let found = compare(&input(&text("943")), &input(&text("471")), 0.01);
        assert!(found.workloads[0].as_printed.is_some_and(|part| (part + 0.5).abs() < 0.01), "{found:?}");
    }

    #[test]
    fn prose_is_no_result() {
        assert!(Input::parse("x", "Hello").is_err());
    }
}
