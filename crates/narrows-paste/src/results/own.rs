//! What narrows saved itself: the JSON of `measure`, `lab` and `copy`.
//!
//! What narrows said against a run of its own then stays with it, for the machine's state at that time is not in the numbers.

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;
use serde::Deserialize;
use serde_json::Value;

use super::json::{Document, count, documents, list, number, text};
use super::types::Doubt;
use super::{Imported, Latency, Measured, Op, Page, Percentile, Side, Tool, Work};

/// What each report begins with.
const MARK: &str = "\"narrows/";

/// The rate is told for each tenth of a second.
const SPAN: Nanos = Nanos::from_millis(100);

/// The reports in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    documents(page, MARK).iter().filter_map(|document| report(page, document)).collect()
}

fn report(page: &Page<'_>, document: &Document) -> Option<Imported> {
    let (line, value) = (document.line, &document.value);
    let schema = text(value, "schema")?.strip_prefix("narrows/")?;
    let mut result = Imported::new(Tool::Narrows, page.name, line);
    let tool = value.get("tool");
    result.version = tool.and_then(|tool| text(tool, "version")).map(str::to_owned);
    result.truncated = document.truncated || value.get("complete").and_then(Value::as_bool) == Some(false);
    let mut found = OwnFound { line, measured: Vec::new() };
    match schema.split_once('/')?.0 {
        "measure" => found.tests(value),
        "check" => found.check(value),
        "ladder" => found.ladder(value),
        "lab" => found.lab(value),
        "together" => found.together(value),
        "copy" => found.copy(value),
        _ => return None,
    }
    result.measurements = found.measured;
    let failure =
        value.get("failed").and_then(|failed| text(failed.get("failed").unwrap_or(failed), "summary"));
    result.failures.extend(failure.map(str::to_owned));
    Some(result)
}

struct OwnFound {
    line: usize,
    measured: Vec<Measured>,
}

impl OwnFound {
    fn put(&mut self, work: Work, op: Op, side: Option<Side>, doubts: Vec<Doubt>) {
        let mut measured = Measured { doubts, ..Measured::new(self.line, work) };
        *measured.side_mut(op) = side;
        self.add(measured);
    }

    /// Puts it where the load's share of writes says: in one direction, or both together.
    fn put_by_share(&mut self, load: &Value, work: Work, side: Option<Side>, doubts: Vec<Doubt>) {
        match number(load, "write_percent") {
            Some(percent) if percent > 0.0 && percent < 100.0 => {
                let measured = Measured { both: side, doubts, ..Measured::new(self.line, work) };
                self.measured.extend(Some(measured).filter(|one| one.both.is_some()));
            }
            Some(percent) if percent > 0.0 => self.put(work, Op::Write, side, doubts),
            _ => self.put(work, Op::Read, side, doubts),
        }
    }

    fn add(&mut self, measured: Measured) {
        if measured.sides().next().is_some() || measured.both.is_some() {
            self.measured.push(measured);
        }
    }

    fn tests(&mut self, value: &Value) {
        for test in list(value, "results") {
            let Some(load) = test.get("load") else { continue };
            let work = work_on_target(load, text(test, "name").unwrap_or_default(), value);
            let mut measured = Measured::new(self.line, work);
            (measured.read, measured.write) =
                (test.get("read").and_then(side), test.get("write").and_then(side));
            measured.both = test.get("both").and_then(side);
            // The series is that of both directions.
            let is_mixed = measured.read.is_some() && measured.write.is_some();
            for side in [&mut measured.read, &mut measured.write].into_iter().flatten() {
                side.elapsed_ns = count(test, "elapsed_ns").map(Nanos::new);
                if !is_mixed {
                    put_series(side, test);
                }
            }
            measured.doubts = doubts(test.get("trusted"), test);
            self.add(measured);
        }
    }

    fn check(&mut self, value: &Value) {
        for path in list(value, "paths") {
            for run in list(path, "runs") {
                let Some(measurement) = run.get("measurement") else { continue };
                let Some(load) = measurement.get("workload") else { continue };
                let Some(mut side) = side(measurement) else { continue };
                side.bytes = count(measurement, "bytes").map(Bytes::new);
                side.elapsed_ns = count(measurement, "elapsed_ns").map(Nanos::new);
                put_series(&mut side, measurement);
                let mut work = work(load, "");
                work.direct = text(measurement, "access").map(|access| access == "direct");
                work.target = text(path, "target").map(str::to_owned);
                work.working_set = count(measurement, "region_bytes").map(Bytes::new);
                let op = if text(run, "direction") == Some("write") { Op::Write } else { Op::Read };
                self.put(work, op, Some(side), doubts(run.get("trusted"), value));
            }
        }
    }

    fn ladder(&mut self, value: &Value) {
        for ladder in list(value, "ladders") {
            let Some(load) = ladder.get("load") else { continue };
            for rung in list(ladder, "rungs") {
                let Some(run) = rung.get("measurement").filter(|run| run.is_object()) else { continue };
                let mut work = work(load, text(rung, "name").unwrap_or_default());
                work.direct = text(run, "access").map(|access| access == "direct").or(work.direct);
                work.asked_ns = count(value, "duration_ns").map(Nanos::new);
                let writes = number(load, "write_percent").is_some_and(|percent| percent > 0.0);
                let op = if writes { Op::Write } else { Op::Read };
                let doubts = doubts(rung.get("trusted"), ladder);
                self.put(work, op, side(run), doubts);
            }
        }
    }

    fn lab(&mut self, value: &Value) {
        for cell in list(value, "cells") {
            for test in list(cell, "measured") {
                let (Some(load), Some(rate)) = (test.get("load"), test.get("measurement")) else { continue };
                let name = [text(cell, "name"), text(test, "test")].into_iter().flatten().collect::<Vec<_>>();
                let doubts = doubts(test.get("trusted"), &Value::Null);
                self.put_by_share(load, work(load, &name.join(": ")), side(rate), doubts);
            }
        }
    }

    /// A copy read its source and wrote its destination at the same rate.
    fn copy(&mut self, value: &Value) {
        let Some(files) = value.get("files") else { return };
        let (Some(mut side), Some(bytes)) = (side(files), count(files, "bytes")) else { return };
        side.bytes = Some(Bytes::new(bytes)).filter(|bytes| bytes.get() > 0);
        side.elapsed_ns = count(files, "elapsed_ns").map(Nanos::new);
        let names = count::<u64>(files, "files").map(|count| match count {
            1 => "copy of 1 file".to_owned(),
            _ => format!("copy of {count} files"),
        });
        for (op, name) in [(Op::Read, "source"), (Op::Write, "destination")] {
            let work = Work {
                engine: text(value, "engine").map(str::to_owned),
                target: text(value, name).map(str::to_owned),
                ..Work::named(format!("{}, {name}", names.as_deref().unwrap_or("copy")))
            };
            let one = side.bytes.map(|_| side.clone());
            self.put(work, op, one, Vec::new());
        }
    }

    fn together(&mut self, value: &Value) {
        let Some(load) = value.get("workload") else { return };
        for one in list(value, "targets") {
            let mut work = work(load, "alone");
            work.target = text(one, "target").map(str::to_owned);
            self.put(work, Op::Read, one.get("alone").and_then(side), Vec::new());
        }
        for group in list(value, "groups") {
            let names: Vec<&str> = list(group, "targets").filter_map(Value::as_str).collect();
            let mut work = work(load, &format!("together: {}", names.join(" ")));
            work.jobs =
                work.jobs.map(|jobs| jobs.saturating_mul(u32::try_from(names.len()).unwrap_or(u32::MAX)));
            self.put(work, Op::Read, group.get("together").and_then(side), Vec::new());
        }
    }
}

fn target(value: &Value) -> Option<String> {
    let target = value.get("target")?;
    let name = text(target, "name")?;
    let is_device = text(target, "kind") == Some("device") && !name.contains('/');
    Some(if is_device { format!("/dev/{name}") } else { name.to_owned() })
}

/// Work on the one target of a report.
fn work_on_target(load: &Value, label: &str, report: &Value) -> Work {
    let size = report.get("target").and_then(|target| count(target, "size_bytes"));
    Work { target: target(report), working_set: size.map(Bytes::new), ..work(load, label) }
}

fn work(load: &Value, label: &str) -> Work {
    let parallel = load.get("parallel");
    let workers: Option<u64> = parallel.and_then(|parallel| {
        parallel.as_u64().or_else(|| count(parallel, "threads")).or_else(|| count(parallel, "streams"))
    });
    Work {
        pattern: load.get("pattern").and_then(|word| Pattern::deserialize(word).ok()),
        block_size: count(load, "block_size").map(Bytes::new),
        queue_depth: count(load, "queue_depth"),
        jobs: Some(workers.and_then(|workers| u32::try_from(workers).ok()).unwrap_or(1)),
        engine: Some("io_uring".to_owned()),
        direct: load.get("buffered").and_then(Value::as_bool).map(|buffered| !buffered),
        ..Work::named(label)
    }
}

fn side(value: &Value) -> Option<Side> {
    let rate = number(value, "bytes_per_second").filter(|rate| rate.is_finite())?;
    Some(Side {
        iops: number(value, "iops").map(Iops::new),
        latency_ns: value.get("latency_ns").and_then(latency),
        ios: value.get("latency_ns").and_then(|latency| count(latency, "count")),
        ..Side::at(BytesPerSec::new(rate))
    })
}

fn latency(value: &Value) -> Option<Latency> {
    const KNOWN: [(&str, f64); 7] = [
        ("p50", 50.0),
        ("p90", 90.0),
        ("p95", 95.0),
        ("p99", 99.0),
        ("p999", 99.9),
        ("p9999", 99.99),
        ("p99999", 99.999),
    ];
    let percentile =
        |(name, percent): (&str, f64)| Some(Percentile { percent, latency_ns: number(value, name)? });
    let found = Latency { mean: number(value, "mean"), max: number(value, "max"), ..Latency::default() };
    let found = found.with_percentiles(KNOWN.into_iter().filter_map(percentile).collect());
    (found.mean.is_some() || found.p50.is_some()).then_some(found)
}

fn put_series(side: &mut Side, value: &Value) {
    side.series = list(value, "series").filter_map(Value::as_f64).map(BytesPerSec::new).collect();
    side.series_span_ns = (!side.series.is_empty()).then_some(SPAN);
}

/// What narrows said against a run, of what stands beside it; only of one that it did not trust.
fn doubts(trusted: Option<&Value>, beside: &Value) -> Vec<Doubt> {
    if trusted.and_then(Value::as_bool) != Some(false) {
        return Vec::new();
    }
    let said = list(beside, "findings").filter_map(|finding| {
        Some(Doubt { code: text(finding, "code")?.to_owned(), summary: text(finding, "summary")?.to_owned() })
    });
    let said: Vec<Doubt> = said.collect();
    if said.is_empty() {
        return vec![Doubt { code: String::new(), summary: "the report does not trust this run".to_owned() }];
    }
    said
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: &Value) -> Vec<Imported> {
        read(&Page { name: "x.json", body: &serde_json::to_string_pretty(value).expect("text") })
    }

    fn load(writes: u32) -> Value {
        json!({"pattern": "random", "block_size": 4096, "queue_depth": 32, "parallel": {"threads": 2}, "write_percent": writes, "buffered": false})
    }

    #[test]
    fn a_bench_has_each_test_with_its_directions_and_what_was_said_against_it() {
        let found = of(
            &json!({"schema": "narrows/measure/1", "tool": {"name": "narrows", "version": "0.1.0"}, "complete": true,
            "target": {"name": "nvme0n1", "kind": "device", "size_bytes": 1_000_000_000_000_u64},
            "results": [{"name": "RND4K Q32T2 read", "load": load(0), "elapsed_ns": 5_000_000_000_u64, "trusted": false,
                "findings": [{"code": "generator_cpu", "severity": "limit", "summary": "no time"}],
                "read": {"bytes_per_second": 4.1e8, "iops": 1e5, "latency_ns": {"count": 500, "mean": 640_000, "p50": 600_000, "p99": null, "max": 900_000}},
                "write": null, "series": [4.0e8, 4.2e8]}]}),
        );
        let one = &found[0].measurements[0];
        let read = one.read.as_ref().expect("reads");
        assert_eq!(
            (one.work.target.as_deref(), one.work.jobs, one.asked_in_flight()),
            (Some("/dev/nvme0n1"), Some(2), Some(64.0))
        );
        assert_eq!((read.bytes_per_second.get(), read.series.len(), read.ios), (4.1e8, 2, Some(500)));
        assert_eq!(read.latency_ns.as_ref().and_then(|latency| latency.p50), Some(600_000.0));
        assert_eq!(
            (one.doubts.len(), one.doubts[0].code.as_str(), one.write.is_some()),
            (1, "generator_cpu", false)
        );
    }

    #[test]
    fn tests_cells_of_a_lab_rungs_and_runs_of_a_check_are_measurements() {
        let rate = json!({"bytes_per_second": 1e8, "iops": 24414.0});
        let test = |writes, side: &str| json!({"load": load(writes), side: rate, "trusted": true});
        let tests = [test(0, "read"), test(100, "write"), test(30, "both")];
        let found = of(&json!({"schema": "narrows/measure/1", "results": tests}));
        let kinds = |one: &Measured| (one.read.is_some(), one.write.is_some(), one.both.is_some());
        let all: Vec<_> = found[0].measurements.iter().map(kinds).collect();
        assert_eq!(all, [(true, false, false), (false, true, false), (false, false, true)]);

        let rate = json!({"bytes_per_second": 5e8, "iops": 500.0, "trusted": false});
        let found = of(
            &json!({"schema": "narrows/lab/1", "cells": [{"name": "raid0", "measured": [{"test": "SEQ1M", "load": load(0), "measurement": rate, "trusted": false}]}]}),
        );
        assert_eq!(found[0].measurements[0].work.label, "raid0: SEQ1M");
        assert_eq!(found[0].measurements[0].doubts.len(), 1);

        let found = of(
            &json!({"schema": "narrows/ladder/1", "duration_ns": 4, "ladders": [{"load": load(0), "rungs": [
            {"name": "vda", "measurement": null}, {"name": "ext4", "measurement": rate, "trusted": false}]}]}),
        );
        assert_eq!((found[0].measurements.len(), found[0].measurements[0].work.label.as_str()), (1, "ext4"));

        let found = of(
            &json!({"schema": "narrows/check/1", "paths": [{"target": "/srv", "runs": [{"direction": "read", "trusted": true,
            "measurement": {"workload": load(0), "access": "buffered", "bytes_per_second": 3e8, "bytes": 9, "elapsed_ns": 3}}]}]}),
        );
        let one = &found[0].measurements[0];
        assert_eq!((one.work.target.as_deref(), one.work.direct), (Some("/srv"), Some(false)));
    }

    #[test]
    fn a_report_without_runs_or_of_another_program_is_no_result() {
        assert!(of(&json!({"schema": "narrows/plan/1"})).is_empty());
        assert!(of(&json!({"schema": "other/bench/1", "note": "narrows/"})).is_empty());
        assert!(of(&json!({"schema": "narrows/check/1", "paths": []}))[0].measurements.is_empty());
        let cut = "{\"schema\": \"narrows/measure/1\", \"results\": [{\"load\": {\"pattern\": \"random\"}, \"read\": {\"bytes_per_second\": 1e8}}, {\"load\": {\"pat";
        let found = read(&Page { name: "x", body: cut });
        assert!(found[0].truncated && !found[0].measurements.is_empty());
    }

    #[test]
    fn a_copy_has_the_rate_of_its_files_on_both_sides() {
        let copy = json!({"schema": "narrows/copy/1", "source": "/srv/docs", "destination": "/mnt/docs", "complete": true,
            "engine": "psync", "files": {"files": 29, "bytes": 4_000_000_000u64, "elapsed_ns": 40_000_000_000u64,
            "bytes_per_second": 1e8, "files_per_second": 0.7}})
        .to_string();
        let found = read(&Page { name: "x", body: &copy });
        let [result] = found.as_slice() else { panic!("{found:?}") };
        let [from, to] = result.measurements.as_slice() else { panic!("{result:?}") };
        let rate = |side: &Option<Side>| side.as_ref().map(|side| side.bytes_per_second.get());
        assert_eq!((rate(&from.read), rate(&to.write)), (Some(1e8), Some(1e8)));
        assert_eq!(
            (from.work.target.as_deref(), to.work.target.as_deref()),
            (Some("/srv/docs"), Some("/mnt/docs"))
        );
        let nothing = copy.replace(":4000000000,", ":0,");
        assert!(nothing != copy);
        assert!(read(&Page { name: "x", body: &nothing }).iter().all(|one| one.measurements.is_empty()));
    }
}
