//! HD Tune: the mean of reads all over a drive. The burst rate is of the drive's own memory and no result.
//!
//! Whether MB is 1e6 or 1048576 bytes is not documented: it is read as 1048576, and said so.

use super::number::{leading, span};
use super::{Imported, Latency, Measured, Op, Page, Side, Tool, Work};
use narrows_base::units::BytesPerSec;
use narrows_base::workload::Pattern;

/// The benchmarks in a text, each drive a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["HD Tune"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut drive = None;
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some((_, name)) = line.split_once("HD Tune").and_then(|(_, rest)| rest.split_once(": ")) {
            drive = name.strip_suffix("Benchmark").map(|name| name.trim().to_owned());
            let mut result = Imported::new(Tool::Hdtune, page.name, number);
            result.notes.push(
                "HD Tune does not say whether MB is 1048576 bytes; its rates are read as such".to_owned(),
            );
            found.push(result);
        } else if let (Some((name, text)), Some(result)) = (line.split_once(':'), found.last_mut()) {
            result.measurements.extend(measured(number, name.trim(), text, drive.as_deref()));
        }
    }
    found
}

fn measured(number: usize, name: &str, text: &str, drive: Option<&str>) -> Option<Measured> {
    let (value, rest) = leading(text)?;
    let work = |pattern| Work {
        label: name.to_lowercase(),
        pattern: Some(pattern),
        target: drive.map(str::to_owned),
        ..Work::default()
    };
    match name {
        "Transfer Rate Average" if rest.trim().starts_with("MB/s") => {
            let mut measured = Measured::new(number, work(Pattern::Sequential));
            let rate = BytesPerSec::new(value * 1_048_576.0);
            measured.put(Op::Read, Side { bytes_per_second: rate, ..Side::default() });
            Some(measured)
        }
        // 0.0 ms is below what is printed.
        "Access Time" if value > 0.0 => {
            let mut measured = Measured::new(number, work(Pattern::Random));
            measured.latency_ns = Some(Latency::of_mean(span(text)?.0));
            Some(measured)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_result_and_no_time_is_no_latency() {
        let body = "HD Tune: SAMSUNG HD502HJ Benchmark\nTransfer Rate Minimum : 72.0 MB/sec\nTransfer Rate Average : 113.4 MB/sec\nAccess Time : 13.6 ms\nBurst Rate : 176.3 MB/sec\n\
            HD Tune: SanDisk Benchmark\nTransfer Rate Average : 223.6 MB/sec\nAccess Time : 0.0 ms\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found.iter().map(|one| one.measurements.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(
            found[0].measurements[0].read.as_ref().map(|side| side.bytes_per_second.get()),
            Some(113.4 * 1_048_576.0)
        );
    }
}
