//! The lines of fio's normal output, but for those of rates.

use super::options::pattern;
use crate::results::number::{self, Base, after, leading, scaled, size, value};
use crate::results::{DeviceUse, Latency, Side, Spread, Work};
use narrows_base::units::Bytes;

pub(super) fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(char::is_whitespace)
}

/// `name: (g=0): rw=read, bs=(R) 4096B-4096B, …, ioengine=libaio, iodepth=64`.
pub(super) fn announced(line: &str) -> Option<Work> {
    let (label, rest) = line.split_once(": (g=")?;
    let options = rest.split_once("): rw=").map(|(_, rest)| rest)?;
    let rw = options.split(',').next()?;
    let block = after(options, "bs=").and_then(|text| {
        let text = text.strip_prefix("(R)").unwrap_or(text).trim_start();
        size(text.split(['-', ',', '/']).next()?, Base::Binary)
    });
    let engine =
        after(options, "ioengine=").map(|rest| rest.split(',').next().unwrap_or(rest).trim().to_owned());
    let depth = value(options, "iodepth=").map(|depth| depth as u32);
    Some(Work {
        label: label.trim().to_owned(),
        pattern: pattern(rw),
        block_size: block,
        queue_depth: depth,
        engine,
        ..Work::default()
    })
}

/// `name: (groupid=0, jobs=1): err= 0: pid=…`.
pub(super) fn group(line: &str) -> Option<(&str, u32, i64)> {
    let (label, rest) = line.split_once(": (groupid=")?;
    let jobs = value(rest, "jobs=").map_or(1, |jobs| jobs as u32);
    let error = after(rest, "err=").and_then(|text| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
        text.get(..end)?.parse().ok()
    });
    Some((label.trim(), jobs, error.unwrap_or(0)))
}

/// The nanoseconds of a unit in brackets: `(usec)`.
pub(super) fn unit(text: &str) -> u32 {
    match text {
        text if text.contains("nsec") => 1,
        text if text.contains("msec") => 1_000_000,
        text if text.contains("usec") => 1000,
        _ => 1_000_000_000,
    }
}

/// `clat (usec): min=2, max=139, avg= 4.34, stdev= 3.43`. Numbers may have a suffix: `max=17356k`.
pub(super) fn latency(line: &str) -> Option<Latency> {
    let (head, rest) = line.split_once(':')?;
    let unit = f64::from(unit(head));
    let of = |key| after(rest, key).and_then(|text| scaled(suffixed(text), Base::Decimal)).map(|n| n * unit);
    Some(Latency { mean: Some(of("avg=")?), max: of("max="), ..Latency::default() })
}

/// A number with its own suffix, without the comma behind it.
fn suffixed(text: &str) -> &str {
    text.split([' ', ',']).next().unwrap_or(text)
}

/// What a line below a rate tells of it.
pub(super) fn fill(side: &mut Side, line: &str) {
    let mean = |line: &str| latency(line).and_then(|latency| latency.mean);
    if line.starts_with("slat") {
        side.submission_ns = mean(line);
    } else if line.starts_with("clat (") {
        side.completion_ns = mean(line);
        side.latency_ns = latency(line);
    } else if line.starts_with("lat (") && line.contains("avg=") {
        side.latency_ns = latency(line);
    } else if (line.starts_with("bw (") || line.starts_with("iops ")) && line.contains("avg=") {
        let of = |key| after(line, key).and_then(leading).map(|(number, _)| number);
        if let Some((mean, deviation)) = of("avg=").zip(of("stdev=")) {
            let samples = of("samples=").map(|samples| samples as u64);
            let is_each_io = samples.zip(side.ios).is_some_and(|(samples, ios)| samples > ios / 2);
            side.spread = (mean > 0.0 && !is_each_io).then_some(Spread { mean, deviation, samples });
        }
    }
}

/// `nvme0n1: ios=5649889/2, merge=0/1, ticks=442006/0, in_queue=442006, util=99.47%`.
pub(super) fn device(line: &str) -> Option<DeviceUse> {
    let (name, rest) = line.split_once(": ios=")?;
    let pair = |key: &str| {
        let text = after(rest, key)?;
        let (first, rest) = number::whole(text)?;
        let second = rest.strip_prefix('/').and_then(number::whole).map_or(0, |(second, _)| second);
        Some((first, second))
    };
    let (read_ios, write_ios) = {
        let (first, tail) = number::whole(rest)?;
        (first, tail.strip_prefix('/').and_then(number::whole).map_or(0, |(second, _)| second))
    };
    let (read_merges, write_merges) = pair("merge=").unwrap_or_default();
    let sectors = pair("sectors=");
    let bytes = |count: u64| Bytes::from_sectors(narrows_base::units::Sectors512::new(count));
    Some(DeviceUse {
        name: name.trim().to_owned(),
        read_ios,
        write_ios,
        read_merges,
        write_merges,
        read_bytes: sectors.map(|(read, _)| bytes(read)),
        write_bytes: sectors.map(|(_, write)| bytes(write)),
        busy: value(rest, "util=").map(|percent| percent / 100.0),
    })
}
