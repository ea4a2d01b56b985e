//! fio as a second engine: runs a test through the installed fio and reads its JSON.

use std::io::ErrorKind;
use std::process::{Child, Stdio};

use serde_json::Value;

use narrows_base::units::{BytesPerSec, Iops, Nanos};
use narrows_machine::program;
use narrows_machine::root::Root;
use narrows_report::bench::{FioResult, FioSide};

/// Runs fio with these arguments. What goes wrong is in the result's `reason`, for our own numbers stand without it.
pub(super) fn run(root: &Root, arguments: &[String]) -> FioResult {
    let Some(mut fio) = program::command(root, "fio") else { return failed(&not_installed()) };
    fio.args(arguments)
        .arg("--output-format=json")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    match program::spawn(&mut fio).and_then(Child::wait_with_output) {
        Err(error) if error.kind() == ErrorKind::NotFound => failed(&not_installed()),
        Err(error) => failed(&format!("fio cannot be started: {error}")),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            match parse(&String::from_utf8_lossy(&output.stdout)) {
                Ok(result) if output.status.success() => result,
                Ok(result) => {
                    FioResult { reason: Some(format!("fio ended with {}: {last}", output.status)), ..result }
                }
                Err(reason) => failed(&format!("{reason}; fio ended with {}: {last}", output.status)),
            }
        }
    }
}

fn not_installed() -> String {
    format!("fio is not installed ({})", program::places())
}

fn failed(reason: &str) -> FioResult {
    FioResult { reason: Some(reason.to_owned()), ..FioResult::default() }
}

/// Reads the output of `fio --output-format=json`, with whatever text before and after it: distributions and failing
/// jobs print notes on the same stream.
fn parse(text: &str) -> Result<FioResult, String> {
    let report = text
        .match_indices('{')
        .find_map(|(at, _)| {
            let object =
                serde_json::Deserializer::from_str(text.get(at..)?).into_iter::<Value>().next()?.ok()?;
            object.get("jobs").is_some().then_some(object)
        })
        .ok_or("fio printed no JSON report")?;
    let job = report.pointer("/jobs/0").ok_or("fio's report has no job")?;
    Ok(FioResult {
        version: report.get("fio version").and_then(Value::as_str).map(str::to_owned),
        read: side(job, "read"),
        write: side(job, "write"),
        reason: None,
    })
}

/// The reads or writes of a job; `None` when there were none.
fn side(job: &Value, direction: &str) -> Option<FioSide> {
    let side = job.get(direction)?;
    let number = |at: &str| side.pointer(at).and_then(Value::as_f64).filter(|number| number.is_finite());
    let nanos = |at: &str| number(at).filter(|ns| *ns > 0.0).map(|ns| Nanos::new(ns as u64));
    number("/total_ios").filter(|count| *count > 0.0)?;
    // `bw` is in KiB/s; `bw_bytes` is exact and there since fio 3.1.
    let rate = number("/bw_bytes").or_else(|| number("/bw").map(|kib| kib * 1024.0))?;
    Some(FioSide {
        bytes_per_second: BytesPerSec::new(rate),
        iops: Iops::new(number("/iops")?),
        mean_ns: nanos("/lat_ns/mean"),
        p99_ns: nanos("/clat_ns/percentile/99.000000"),
        p999_ns: nanos("/clat_ns/percentile/99.900000"),
        p9999_ns: nanos("/clat_ns/percentile/99.990000"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Trimmed from the output of fio 3.33, `--rw=randread --bs=4k --output-format=json`.
    const OUTPUT: &str = r#"fio: this platform does not support process shared mutexes {sic}
{
  "fio version" : "fio-3.33",
  "jobs" : [ { "jobname" : "a", "error" : 0,
    "read" : { "io_bytes" : 409600, "bw_bytes" : 204800000, "bw" : 200000, "iops" : 50000.5, "total_ios" : 100,
      "clat_ns" : { "percentile" : { "50.000000" : 80000, "99.000000" : 150528, "99.900000" : 210944 } }, "lat_ns" : { "mean" : 90123.4 } },
    "write" : { "bw_bytes" : 0, "bw" : 0, "iops" : 0.0, "total_ios" : 0 } } ]
}
  Run status group 0 (all jobs):
"#;

    #[test]
    fn the_report_is_found_between_other_text() {
        let result = parse(OUTPUT).unwrap();
        assert_eq!(result.version.as_deref(), Some("fio-3.33"));
        let read = result.read.unwrap();
        assert_eq!(read.bytes_per_second, BytesPerSec::from_mb(204.8));
        assert_eq!((read.p99_ns, read.mean_ns), (Some(Nanos::new(150_528)), Some(Nanos::new(90_123))));
        assert_eq!((read.p999_ns, read.p9999_ns), (Some(Nanos::new(210_944)), None));
        assert_eq!(result.write, None);
    }

    #[test]
    fn an_old_fio_counts_in_kib() {
        let old = OUTPUT.replace("\"bw_bytes\"", "\"other\"");
        let read = parse(&old).unwrap().read.unwrap();
        assert_eq!(read.bytes_per_second, BytesPerSec::from_kib(200_000.0));
    }

    #[test]
    fn output_without_a_report_is_refused() {
        assert!(parse("fio: bad option").is_err());
        assert!(parse("{}").is_err());
        assert!(parse("{\"jobs\": []}").is_err());
        assert!(parse(&OUTPUT[..200]).is_err());
    }

    proptest! {
        #[test]
        fn no_output_panics(text in "\\PC{0,200}", cut in 0usize..600) {
            let _ = parse(&text);
            let _ = parse(OUTPUT.get(..cut).unwrap_or_default());
        }
    }
}
