//! pveperf of Proxmox VE: buffered reads of the device below a file system, seeks on it, and fsyncs of a small file.
//!
//! MB/sec is MiB/s; each part lasts three seconds (`pveperf`'s source). A ZFS data set has no device to read.

use super::command::Commands;
use super::number::{leading, span};
use super::{Imported, Latency, Measured, Op, Page, Side, Tool, Work};
use narrows_base::units::{BytesPerSec, Iops};
use narrows_base::workload::Pattern;

/// The reports in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["FSYNCS/SECOND:"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut target = None;
    for (number, line) in page.lines() {
        commands.see(number, line, "pveperf");
        let Some((name, text)) = line.trim().split_once(':') else { continue };
        let is_first = name == "CPU BOGOMIPS";
        let is_own = matches!(name, "BUFFERED READS" | "AVERAGE SEEK TIME" | "FSYNCS/SECOND");
        if is_first || is_own && found.is_empty() {
            let mut result = Imported::new(Tool::Pveperf, page.name, number);
            result.command = commands.last().map(str::to_owned);
            commands.forget();
            target = None;
            found.push(result);
        }
        if name == "HD SIZE" {
            let device = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
            target = device.map(|(device, _)| device.to_owned());
        }
        if let Some(result) = found.last_mut() {
            result.measurements.extend(measured(number, name, text.trim(), target.as_deref()));
        }
    }
    found
}

fn measured(number: usize, name: &str, text: &str, target: Option<&str>) -> Option<Measured> {
    let (value, rest) = leading(text)?;
    let work = |pattern| Work {
        label: name.to_lowercase(),
        pattern,
        queue_depth: Some(1),
        jobs: Some(1),
        target: target.map(str::to_owned),
        ..Work::default()
    };
    let mut measured = Measured::new(number, work(None));
    match name {
        "BUFFERED READS" if rest.trim() == "MB/sec" => {
            measured.work = Work { direct: Some(false), ..work(Some(Pattern::Sequential)) };
            let rate = BytesPerSec::new(value * 1_048_576.0);
            measured.put(Op::Read, Side { bytes_per_second: rate, ..Side::default() });
        }
        "AVERAGE SEEK TIME" => {
            measured.work = work(Some(Pattern::Random));
            measured.latency_ns = Some(Latency::of_mean(span(text)?.0));
        }
        "FSYNCS/SECOND" => measured.syncs = Some(Iops::new(value)),
        _ => return None,
    }
    Some(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_may_be_missing() {
        let body = "CPU BOGOMIPS:      57471.52\nREGEX/SECOND:      3824412\nHD SIZE:           64.27 GB (/dev/mapper/pve-root)\n\
            BUFFERED READS:    239.96 MB/sec\nAVERAGE SEEK TIME: 0.24 ms\nFSYNCS/SECOND:     691.50\nDNS EXT:           54.79 ms\n\
            CPU BOGOMIPS:      1\nHD SIZE:           10885.91 GB (ZFS-LARGE)\nFSYNCS/SECOND:     96.60\n";
        let found = read(&Page { name: "x", body });
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        let [reads, seek, syncs] = first.measurements.as_slice() else { panic!("{first:?}") };
        assert_eq!(reads.read.as_ref().map(|side| side.bytes_per_second.get()), Some(239.96 * 1_048_576.0));
        assert_eq!(reads.work.target.as_deref(), Some("/dev/mapper/pve-root"));
        assert_eq!(seek.latency_ns.as_ref().and_then(|latency| latency.mean), Some(240_000.0));
        assert_eq!(syncs.syncs.map(Iops::get), Some(691.5));
        assert_eq!(second.measurements.len(), 1);
    }
}
