//! Results for the tests of rules.

use super::{ResultVerdict, judge_results};
use crate::finding::Code;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;
use narrows_paste::results::surroundings::Surroundings;
use narrows_paste::results::{Imported, Latency, Measured, Op, Page, Side, Tool, Work, read};

/// A fio job that read 4 KiB blocks for so many seconds, with 12 500 I/Os per second at a depth of 1.
pub(crate) fn fio_read(rw: &str, seconds: u64) -> Imported {
    let pattern = if rw.starts_with("rand") { Pattern::Random } else { Pattern::Sequential };
    let work = Work {
        label: "job".to_owned(),
        pattern: Some(pattern),
        block_size: Some(Bytes::new(4096)),
        queue_depth: Some(1),
        jobs: Some(1),
        direct: Some(true),
        ..Work::default()
    };
    let mut measured = Measured::new(1, work);
    let side = Side {
        bytes_per_second: BytesPerSec::new(12_500.0 * 4096.0),
        iops: Some(Iops::new(12_500.0)),
        bytes: Some(Bytes::new(12_500 * 4096 * seconds)),
        ios: Some(12_500 * seconds),
        elapsed_ns: Some(Nanos::from_millis(seconds * 1000)),
        latency_ns: Some(Latency::of_mean(80_000.0)),
        ..Side::default()
    };
    measured.put(Op::Read, side);
    let mut result = Imported::new(Tool::Fio, "fio.json", 1);
    result.measurements.push(measured);
    result
}

/// The same with another mean latency.
pub(crate) fn with_latency(mut result: Imported, nanoseconds: f64) -> Imported {
    if let Some(side) = result.measurements.first_mut().and_then(|one| one.read.as_mut()) {
        side.latency_ns = Some(Latency::of_mean(nanoseconds));
    }
    result
}

/// What is thought of one result.
pub(crate) fn verdict_of(result: &Imported, around: &Surroundings) -> ResultVerdict {
    judge_results(std::slice::from_ref(result), around, None).remove(0)
}

/// What is thought of the results in a text.
pub(crate) fn verdicts(body: &str) -> Vec<ResultVerdict> {
    let page = Page { name: "x", body };
    let mut around = Surroundings::default();
    around.see(&page);
    judge_results(&read(&page), &around, None)
}

/// The codes of a verdict's findings.
pub(crate) fn codes(verdict: &ResultVerdict) -> Vec<Code> {
    verdict.findings.iter().map(|finding| finding.code).collect()
}
