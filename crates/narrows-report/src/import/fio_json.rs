//! Measurements as fio 3 prints them with `--output-format=json`, for what reads that: fio-plot, jq recipes.
//!
//! Names and units are those of fio's `stat.c` (`add_ddir_status_json`): rates in bytes (`bw_bytes`) and KiB (`bw`) per
//! second, `runtime` in milliseconds, latencies in nanoseconds. What is not known is `null`; a direction that was not
//! measured has zeros, as in fio. `runtime_ns` is ours, since milliseconds are too coarse for copies of memory.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::sanitize::shown_json;
use narrows_load::measurement::Pattern;
use narrows_paste::results::{Durability, Imported, Latency, Measured, Side, Work};

/// One document for each result. It ends with a newline.
pub fn render(results: &[Imported]) -> String {
    let mut all = String::new();
    for result in results.iter().filter(|result| !result.measurements.is_empty()) {
        let text = shown_json(&Document::of(result)).unwrap_or_default();
        if all.is_empty() {
            all = text;
        } else {
            all.push_str(&text);
        }
        all.push('\n');
    }
    all
}

/// One result as a document of fio. Its jobs are made one by one as they are written.
#[derive(Serialize)]
struct Document<'a> {
    disk_util: [(); 0],
    #[serde(rename = "fio version")]
    version: String,
    jobs: Jobs<'a>,
    narrows: Value,
    time: &'static str,
    timestamp: u64,
}

impl<'a> Document<'a> {
    fn of(result: &'a Imported) -> Self {
        let version = match (result.tool, &result.version) {
            (narrows_paste::results::Tool::Fio, Some(version)) => format!("fio-{}", version),
            // Readers ask for the version to know the units.
            _ => "fio-3.36".to_owned(),
        };
        let narrows = json!({
            "tool": result.tool,
            "tool_version": result.version,
            "file": result.file,
            "line": result.line,
        });
        Self { disk_util: [], version, jobs: Jobs(&result.measurements), narrows, time: "", timestamp: 0 }
    }
}

struct Jobs<'a>(&'a [Measured]);

impl Serialize for Jobs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().enumerate().map(|(number, measured)| job(number, measured)))
    }
}

fn job(number: usize, measured: &Measured) -> Value {
    let percent = |part: Option<f64>| part.map(|part| part * 100.0);
    let runtime = measured.sides().filter_map(|(_, side)| side.elapsed_ns).map(|time| time.get()).max();
    json!({
        "jobname": measured.work.label,
        "groupid": number,
        "error": measured.error,
        "eta": 0,
        "elapsed": runtime.map(|time| time / 1_000_000_000),
        "job options": options(&measured.work, measured),
        "read": side(measured.read.as_ref()),
        "write": side(measured.write.as_ref()),
        "trim": side(None),
        "sync": { "total_ios": 0, "lat_ns": latency(measured.sync_ns.as_ref(), None) },
        "job_runtime": runtime.map(|time| time / 1_000_000),
        "usr_cpu": percent(measured.cpu.map(|cpu| cpu.user)),
        "sys_cpu": percent(measured.cpu.map(|cpu| cpu.system)),
    })
}

/// fio's options, as text, those that are known.
fn options(work: &Work, measured: &Measured) -> Value {
    let mut options = Map::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            options.insert(name.to_owned(), Value::String(value));
        }
    };
    let random = match work.pattern {
        Some(Pattern::Random) => Some("rand"),
        Some(Pattern::Sequential) => Some(""),
        None => None,
    };
    let rw = match (&measured.read, &measured.write) {
        (Some(_), Some(_)) => "rw",
        (None, Some(_)) => "write",
        _ => "read",
    };
    put("rw", random.map(|random| format!("{random}{rw}")));
    put("bs", work.block_size.map(|size| size.get().to_string()));
    put("iodepth", work.queue_depth.map(|depth| depth.to_string()));
    put("numjobs", work.jobs.map(|jobs| jobs.to_string()));
    put("ioengine", work.engine.clone());
    put("direct", work.direct.map(|direct| u8::from(direct).to_string()));
    put("filename", work.target.clone());
    // With a file name fio's size is that of the file, which all jobs share.
    let jobs = if work.target.is_some() { 1 } else { u64::from(work.jobs.unwrap_or(1).max(1)) };
    put(
        "size",
        work.working_set.filter(|set| set.get() % jobs == 0).map(|set| (set.get() / jobs).to_string()),
    );
    put("runtime", work.asked_ns.map(|asked| format!("{}us", asked.get() / 1000)));
    match work.durability {
        Some(Durability::Each) => put("fdatasync", Some("1".to_owned())),
        Some(Durability::AtEnd) => put("end_fsync", Some("1".to_owned())),
        Some(Durability::None) | None => {}
    }
    put("zero_buffers", work.zeros.filter(|zeros| *zeros).map(|_| "1".to_owned()));
    Value::Object(options)
}

/// A number as fio writes it: whole where it is.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { json!(value as i64) } else { json!(value) }
}

fn side(side: Option<&Side>) -> Value {
    let Some(side) = side else {
        return json!({
            "io_bytes": 0, "io_kbytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0,
            "short_ios": 0, "drop_ios": 0, "slat_ns": none(), "clat_ns": none(), "lat_ns": none(),
        });
    };
    let rate = side.bytes_per_second.get();
    let kib = rate / 1024.0;
    let bytes = side.bytes.map(|bytes| bytes.get());
    let mut value = json!({
        "io_bytes": bytes,
        "io_kbytes": bytes.map(|bytes| bytes / 1024),
        "bw_bytes": number(rate),
        // fio drops the fraction, which is much of a small rate.
        "bw": if kib >= 10_000.0 { number(kib.floor()) } else { number(kib) },
        "iops": side.iops.map(|iops| number(iops.get())),
        "runtime": side.elapsed_ns.map(|time| time.get() / 1_000_000),
        "runtime_ns": side.elapsed_ns.map(|time| time.get()),
        "total_ios": side.ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": mean(side.submission_ns),
        "clat_ns": latency(side.latency_ns.as_ref(), Some(side.completion_ns)),
        "lat_ns": bare(side.latency_ns.as_ref()),
    });
    if let (Some(spread), Some(fields)) = (side.spread, value.as_object_mut()) {
        // The unit of the samples is not known where another tool took them: theirs is the one that fits the rate.
        let of_iops = side.iops.is_some_and(|iops| (0.5..2.0).contains(&(spread.mean / iops.get())));
        let names = match of_iops {
            true => ["iops_mean", "iops_stddev", "iops_samples"],
            false => ["bw_mean", "bw_dev", "bw_samples"],
        };
        let values = [json!(spread.mean), json!(spread.deviation), json!(spread.samples)];
        fields.extend(names.into_iter().map(str::to_owned).zip(values));
    }
    value
}

fn none() -> Value {
    json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 })
}

fn mean(nanoseconds: Option<f64>) -> Value {
    json!({ "min": null, "max": null, "mean": nanoseconds, "stddev": null })
}

/// The whole latency without percentiles.
fn bare(latency: Option<&Latency>) -> Value {
    json!({
        "min": null,
        "max": latency.and_then(|latency| latency.max),
        "mean": latency.and_then(|latency| latency.mean),
        "stddev": null,
    })
}

/// A latency with its percentiles, under the keys of fio: `99.000000`.
fn latency(latency: Option<&Latency>, completion: Option<Option<f64>>) -> Value {
    let mut value = bare(latency);
    let (Some(latency), Some(fields)) = (latency, value.as_object_mut()) else { return value };
    if let Some(completion) = completion {
        fields.insert("mean".to_owned(), json!(completion));
        fields.insert("max".to_owned(), Value::Null);
    }
    let known = latency.percentiles.iter().map(|one| (one.percent, one.latency_ns));
    let listed = |percent: f64| latency.percentiles.iter().any(|one| (one.percent - percent).abs() < 1e-9);
    let named = [(50.0, latency.p50), (99.0, latency.p99)];
    let named = named.into_iter().filter_map(|(percent, value)| Some((percent, value?)));
    let mut all: Vec<(f64, f64)> = known.chain(named.filter(|(percent, _)| !listed(*percent))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !all.is_empty() {
        let percentiles: Map<String, Value> =
            all.into_iter().map(|(percent, value)| (format!("{percent:.6}"), number(value))).collect();
        fields.insert("percentile".to_owned(), Value::Object(percentiles));
    }
    value
}

#[cfg(test)]
mod tests;
