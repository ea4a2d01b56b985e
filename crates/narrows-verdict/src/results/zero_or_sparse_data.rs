//! Zeros were written, or addresses were read that hold nothing: storage does less work for both.

use super::case::{Case, is_random};
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::{Nanos, human};
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Measured, Op, Side};

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    zeros(case)
        .or_else(|| sparse(case))
        .or_else(|| holes(case))
        .or_else(|| zeros_by_name(case))
        .into_iter()
        .collect()
}

/// Zeros compress to nothing and dedupe to one block; where nothing compresses they are data like any other.
fn zeros(case: &Case<'_>) -> Option<Finding> {
    let (measured, _, _) =
        case.sides().find(|(measured, op, _)| *op == Op::Write && measured.work.zeros == Some(true))?;
    let compresses = case.around.has(Word::Zfs).or_else(|| case.around.has(Word::Compresses));
    let severity = if compresses.is_some() { Severity::Limit } else { Severity::Info };
    let mut evidence = vec![case.evidence(measured, "data", "zeros")];
    evidence.extend(compresses.map(|source| Evidence::new("file system", "one that compresses", source)));
    Some(
        case.finding(
            Code::ZeroOrSparseData,
            severity,
            "Only zeros were written, which some storage does not store",
        )
        .with_evidence(evidence)
        .not_so_when("neither file system nor drive compresses or recognises zeros")
        .with_advice([Advice::new(
            "write data that does not compress (/dev/urandom into a file first, fio's default)",
        )])
        .with_confidence(Confidence::Medium),
    )
}

/// Reads of a sparse file or a thin volume, as fast as memory: what was never written is made up on the way.
fn holes(case: &Case<'_>) -> Option<Finding> {
    /// Above what one drive of the fastest bus reads, or below what any of flash needs.
    const FAST: f64 = 3e9;
    let source = case.around.has(Word::Sparse)?;
    let (measured, _, side) = case.sides().find(|(measured, op, side)| {
        let latency = side.latency_ns.as_ref().and_then(|latency| latency.p50.or(latency.mean));
        let soon = latency.is_some_and(|latency| latency < 20_000.0) && is_random(measured);
        *op == Op::Read && (soon || side.bytes_per_second.get() > FAST)
    })?;
    let summary = format!(
        "Reads of {} came from addresses that may hold nothing: the text speaks of sparse or thin storage",
        human::rate(side.bytes_per_second)
    );
    Some(
        case.finding(Code::ZeroOrSparseData, Severity::Limit, summary)
            .with_evidence([
                case.evidence(measured, "rate", human::rate(side.bytes_per_second)),
                Evidence::new("the storage", "sparse, thin, or never written", source),
            ])
            .not_so_when("`du` shows as much as `ls -l`: every block was written")
            .with_advice([Advice::new("write the whole region once before reading it")])
            .with_confidence(Confidence::Medium),
    )
}

/// A file whose name says that it holds zeros was read.
fn zeros_by_name(case: &Case<'_>) -> Option<Finding> {
    let name = |measured: &Measured| {
        let target = measured.work.target.as_deref().filter(|target| !target.starts_with("/dev/"))?;
        let name = target.rsplit('/').next()?;
        let is_called = name.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
            matches!(word.to_ascii_lowercase().as_str(), "zero" | "zeros" | "zeroes" | "zerofile" | "zeroed")
        });
        is_called.then(|| name.to_owned())
    };
    let (measured, name) = case
        .sides()
        .filter(|(_, op, _)| *op == Op::Read)
        .find_map(|(measured, _, _)| Some((measured, name(measured)?)))?;
    let summary =
        format!("The file that was read is called `{name}`: zeros may be stored in less than their size");
    Some(
        case.finding(Code::ZeroOrSparseData, Severity::Info, summary)
            .with_evidence([case.evidence(measured, "file", name)])
            .not_so_when("the file holds other data, or neither file system nor drive recognises zeros")
            .with_advice([Advice::new("read a file of data that does not compress")])
            .with_confidence(Confidence::Low),
    )
}

/// NAND needs some 50 µs to read a page. A drive that answers most single reads sooner, and the rest in the time of
/// NAND, has no data at most addresses: they were trimmed or never written.
fn sparse(case: &Case<'_>) -> Option<Finding> {
    let (measured, (fast, slow)) =
        case.sides().find_map(|(measured, op, side)| Some((measured, two_speeds(measured, op, side)?)))?;
    let shown = |nanos: f64| human::time(Nanos::new(nanos as u64));
    let summary = format!(
        "Half of the reads took {}, less than NAND needs, others {}: most addresses were never written or trimmed",
        shown(fast),
        shown(slow)
    );
    Some(
        case.finding(Code::ZeroOrSparseData, Severity::Limit, summary)
            .with_evidence([
                case.evidence(measured, "median", shown(fast)),
                case.evidence(measured, "95th percentile", shown(slow)),
            ])
            .not_so_when("the medium is not NAND, or a cache in front of it answered half of the reads")
            .with_advice([Advice::new("write the whole region once before reading it")])
            .with_confidence(Confidence::Medium),
    )
}

fn two_speeds(measured: &Measured, op: Op, side: &Side) -> Option<(f64, f64)> {
    /// Between what DRAM and the interface need and what a page of NAND needs.
    const CONTROLLER: std::ops::Range<f64> = 15_000.0..50_000.0;
    /// What a page of NAND needs, with the way there.
    const NAND: std::ops::Range<f64> = 70_000.0..500_000.0;
    let single = measured.asked_in_flight().is_some_and(|count| count <= 1.0);
    if op != Op::Read || !is_random(measured) || !single || measured.work.direct == Some(false) {
        return None;
    }
    let latency = side.latency_ns.as_ref()?;
    let p95 = latency.percentiles.iter().find(|one| (one.percent - 95.0).abs() < 1e-9)?.latency_ns;
    let fast = latency.p50.filter(|fast| CONTROLLER.contains(fast))?;
    (NAND.contains(&p95) && p95 > 2.5 * fast).then_some((fast, p95))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, verdicts};
    use super::*;

    #[test]
    fn a_file_that_is_called_zeros_may_hold_them() {
        let of = |name: &str| {
            let text = format!(
                "dd if={name} iflag=direct of=/dev/null bs=1M\n2048+0 records in\n2048+0 records out\n2147483648 bytes (2.1 GB, 2.0 GiB) copied, 3.68213 s, 583 MB/s\n"
            );
            codes(&verdicts(&text).remove(0)).contains(&Code::ZeroOrSparseData)
        };
        assert!(of("zerofile") && of("/mnt/zeros.bin") && !of("/mnt/subzerox") && !of("/dev/sda"));
    }
}
