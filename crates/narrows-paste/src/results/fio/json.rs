//! fio's JSON and JSON+: one job or client for each measurement.
//!
//! Up to 2.x `io_bytes` (until `io_kbytes` stands beside it) and `bw` are KiB, there is no `bw_bytes`, and latencies are microseconds in `slat`, `clat` and
//! `lat`; from 3.0 on they are nanoseconds in `slat_ns` and so on (fio's release notes of 3.0; `stat.c`).

use serde_json::Value;

use super::options::{self, Options};
use crate::results::json::{self, count, documents, number, text};
use crate::results::{
    Cpu, DeviceUse, Imported, Latency, Measured, Op, Page, Percentile, Side, Spread, Tool, Work,
};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos, Sectors512};

/// The results of every fio document in the text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    const MARK: &str = "\"fio version\"";
    documents(page, MARK).iter().filter_map(|document| result(page, document)).collect()
}

fn result(page: &Page<'_>, document: &json::Document) -> Option<Imported> {
    let top = &document.value;
    let jobs = ["jobs", "client_stats"].iter().find_map(|key| top.get(key)?.as_array())?;
    let global = options::of_json(top.get("global options"));
    // The sum over all clients would count everything twice.
    let own = jobs.iter().filter(|job| text(job, "jobname") != Some("All clients"));
    let mut measurements: Vec<Measured> = own.map(|job| measured(job, &global, document.line)).collect();
    // The job in which a text ends may have nothing in it as yet.
    if document.truncated && measurements.last().is_some_and(|last| last.sides().next().is_none()) {
        measurements.pop();
    }
    let of_document = FioDocument {
        version: text(top, "fio version").map(str::to_owned),
        measurements,
        devices: devices(top.get("disk_util")),
    };
    of_document.result(page.name, document.line, document.truncated)
}

/// What a document tells.
#[derive(Default)]
pub(super) struct FioDocument {
    pub(super) version: Option<String>,
    pub(super) measurements: Vec<Measured>,
    pub(super) devices: Vec<DeviceUse>,
}

impl FioDocument {
    /// `None` when it is not fio's.
    pub(super) fn result(self, name: &str, line: usize, truncated: bool) -> Option<Imported> {
        let version = Some(self.version?.trim_start_matches("fio-").to_owned());
        let failures = failures(&self.measurements);
        let mut measurements = self.measurements;
        // The counters are of the whole run: they can be set against a job only when it is the only one.
        if let [only] = measurements.as_mut_slice() {
            only.devices = self.devices;
        }
        let result =
            Imported { version, truncated, measurements, failures, ..Imported::new(Tool::Fio, name, line) };
        (!result.is_empty()).then_some(result)
    }
}

/// What fio says of jobs that ended with an error.
pub(super) fn failures(measurements: &[Measured]) -> Vec<String> {
    let errors = measurements.iter().filter(|one| one.error != 0);
    errors.map(|one| format!("job `{}` ended with error {}", one.work.label, one.error)).collect()
}

pub(super) fn measured(job: &Value, global: &Options, line: usize) -> Measured {
    let mut own: Options = global.clone();
    own.extend(options::of_json(job.get("job options")));
    let label = text(job, "jobname").unwrap_or_default();
    let label = match text(job, "hostname") {
        Some(host) => format!("{label} on {host}"),
        None => label.to_owned(),
    };
    let mut work = Work::named(label);
    // fio 2.1 does not print options at all; later ones leave those without a value out.
    let is_complete = !own.is_empty();
    if is_complete {
        work.jobs = own.get("numjobs").and_then(|jobs| jobs.trim().parse().ok()).or(Some(1));
    }
    options::fill(&mut work, &own, is_complete);
    if work.queue_depth.is_none() {
        work.queue_depth = level(job);
    }
    let mut measured = Measured::new(line, work);
    measured.logs = options::log_prefix(&own, text(job, "jobname").unwrap_or_default());
    for op in [Op::Read, Op::Write] {
        *measured.side_mut(op) = job.get(op.word()).and_then(side);
    }
    let percent = |key: &str| number(job, key).map(|percent| percent / 100.0);
    measured.cpu = percent("usr_cpu").zip(percent("sys_cpu")).map(|(user, system)| Cpu { user, system });
    measured.error = job.get("error").and_then(Value::as_i64).unwrap_or(0);
    measured.sync_ns = job.get("sync").and_then(|sync| latency(sync, "lat").0);
    measured
}

/// The depth at which nearly all I/Os were in flight, a power of two, where fio tells no options.
fn level(job: &Value) -> Option<u32> {
    let levels = job.get("iodepth_level")?.as_object()?;
    let full = levels.iter().find(|(_, share)| share.as_f64().is_some_and(|share| share >= 95.0))?;
    full.0.trim_start_matches(">=").parse().ok()
}

/// One direction; `None` when nothing was moved in it.
fn side(value: &Value) -> Option<Side> {
    let is_old = value.get("bw_bytes").is_none() && value.get("clat_ns").is_none();
    let io = number(value, "io_bytes");
    // Late versions of 2 tell bytes, and KiB beside them.
    let bytes = io.map(|io| if is_old && value.get("io_kbytes").is_none() { io * 1024.0 } else { io });
    let kib_rate = BytesPerSec::from_kib(number(value, "bw").unwrap_or_default());
    let rate = number(value, "bw_bytes").map_or(kib_rate, BytesPerSec::new);
    if bytes.is_none_or(|bytes| bytes <= 0.0) && rate.get() <= 0.0 {
        return None;
    }
    let (latency, _) = latency(value, "lat");
    let (completion, completion_mean) = self::latency(value, "clat");
    let (_, submission) = self::latency(value, "slat");
    Some(Side {
        second_rate: Some(kib_rate),
        iops: number(value, "iops").map(Iops::new),
        bytes: bytes.and_then(crate::results::number::to_bytes),
        ios: count(value, "total_ios"),
        elapsed_ns: count(value, "runtime").map(Nanos::from_millis),
        latency_ns: whole(latency, completion),
        submission_ns: submission,
        completion_ns: completion_mean,
        spread: spread(value),
        ..Side::at(rate)
    })
}

/// The whole latency, with the percentiles of completion where fio gives only those: submission adds little to them.
fn whole(latency: Option<Latency>, completion: Option<Latency>) -> Option<Latency> {
    match (latency, completion) {
        (Some(whole), Some(completion)) if whole.percentiles.is_empty() => {
            Some(whole.with_percentiles(completion.percentiles))
        }
        (Some(whole), _) => Some(whole),
        (None, completion) => completion,
    }
}

/// A latency in nanoseconds, by either spelling, and its mean; nothing when no I/O was recorded.
fn latency(value: &Value, name: &str) -> (Option<Latency>, Option<f64>) {
    let found = value.get(format!("{name}_ns")).map(|object| (object, 1.0));
    let Some((object, unit)) = found.or_else(|| value.get(name).map(|object| (object, 1000.0))) else {
        return (None, None);
    };
    let scaled = |key: &str| number(object, key).map(|number| number * unit);
    // Without an I/O fio writes zeros; what another writer does not know is `null`.
    if scaled("max") == Some(0.0) {
        return (None, None);
    }
    let (max, mean) = (scaled("max"), scaled("mean"));
    let percentiles = object.get("percentile").and_then(Value::as_object).into_iter().flatten();
    let percentiles: Vec<Percentile> = percentiles
        .filter_map(|(percent, value)| {
            Some(Percentile { percent: percent.parse().ok()?, latency_ns: value.as_f64()? * unit })
        })
        .collect();
    if mean.is_none_or(|mean| mean <= 0.0) && percentiles.is_empty() {
        return (None, None);
    }
    (Some(Latency { mean, max, ..Latency::default() }.with_percentiles(percentiles)), mean)
}

/// The samples of the rate. With a log of every I/O each of them is a sample, which says nothing of steadiness.
fn spread(value: &Value) -> Option<Spread> {
    let of = |mean: &str, deviation: &str, samples: &str| {
        let samples = count::<u64>(value, samples);
        let ios = count(value, "total_ios").unwrap_or(u64::MAX);
        let is_each_io = samples.is_some_and(|samples| samples > ios / 2);
        let mean = number(value, mean).filter(|mean| *mean > 0.0 && !is_each_io)?;
        Some(Spread { mean, deviation: number(value, deviation)?, samples })
    };
    of("iops_mean", "iops_stddev", "iops_samples").or_else(|| of("bw_mean", "bw_dev", "bw_samples"))
}

pub(super) fn devices(disk_util: Option<&Value>) -> Vec<DeviceUse> {
    disk_util.and_then(Value::as_array).into_iter().flatten().map(device).collect()
}

fn device(value: &Value) -> DeviceUse {
    let of = |key: &str| count(value, key).unwrap_or_default();
    let sectors = |key: &str| count(value, key).map(|count| Bytes::from_sectors(Sectors512::new(count)));
    DeviceUse {
        name: text(value, "name").unwrap_or_default().to_owned(),
        read_ios: of("read_ios"),
        write_ios: of("write_ios"),
        read_merges: of("read_merges"),
        write_merges: of("write_merges"),
        read_bytes: sectors("read_sectors"),
        write_bytes: sectors("write_sectors"),
        busy: number(value, "util").map(|percent| percent / 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(body: &str) -> Imported {
        let mut all = read(&Page { name: "x", body });
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn nanoseconds_and_bytes_of_version_3() {
        let result = read_one(
            r#"fio: terminating on signal 2
{"fio version": "fio-3.34", "global options": {"bs": "4k"}, "jobs": [{"jobname": "a", "error": 0,
 "job options": {"rw": "randread", "iodepth": "1", "direct": "1", "size": "1G"},
 "read": {"io_bytes": 114540544, "bw_bytes": 41380254, "bw": 40410, "iops": 10102.6, "runtime": 2768,
  "total_ios": 27964, "slat_ns": {"max": 0, "mean": 0}, "lat_ns": {"max": 912000, "mean": 96095.66},
  "clat_ns": {"max": 911000, "mean": 95948.6, "percentile": {"50.000000": 100864, "99.000000": 175104}}},
 "write": {"io_bytes": 0, "bw": 0}, "usr_cpu": 1.5, "sys_cpu": 3.5}]}"#,
        );
        assert_eq!((result.version.as_deref(), result.line), (Some("3.34"), 2));
        let one = &result.measurements[0];
        let read = one.read.as_ref().expect("reads");
        assert_eq!(read.bytes_per_second.get(), 41_380_254.0);
        assert_eq!(read.latency_ns.as_ref().and_then(|latency| latency.p99), Some(175_104.0));
        assert_eq!(read.elapsed_ns, Some(Nanos::from_millis(2768)));
        assert_eq!(one.work.block_size, Some(Bytes::new(4096)));
        assert!(one.write.is_none());
        assert!((one.cpu.expect("cpu").total() - 0.05).abs() < 1e-9);
    }

    #[test]
    fn microseconds_and_kib_of_version_2() {
        let result = read_one(
            r#"{"fio version": "fio-2.18", "jobs": [{"jobname": "a", "read": {"io_bytes": 23056, "bw": 2152,
  "iops": 538.04, "runtime": 10713, "total_ios": 5764, "lat": {"max": 2872359, "mean": 469690.2}}}]}"#,
        );
        let read = result.measurements[0].read.as_ref().expect("reads");
        assert_eq!(read.bytes, Some(Bytes::from_kib(23_056)));
        assert_eq!(read.bytes_per_second.get(), 2152.0 * 1024.0);
        assert_eq!(read.latency_ns.as_ref().and_then(|latency| latency.mean), Some(469_690_200.0));
    }

    #[test]
    fn the_sum_of_all_clients_is_not_a_client() {
        let result = read_one(
            r#"{"fio version": "fio-3.7", "client_stats": [
 {"jobname": "j", "hostname": "a", "read": {"io_bytes": 4096, "bw_bytes": 4096, "bw": 4}},
 {"jobname": "All clients", "read": {"io_bytes": 4096, "bw_bytes": 4096, "bw": 4}}]}"#,
        );
        assert_eq!(result.measurements.len(), 1);
        assert_eq!(result.measurements[0].work.label, "j on a");
    }
}
