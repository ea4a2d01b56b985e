//! Caches by counters: the devices moved fewer bytes than the tool.

use super::beside::MOST;
use super::cache_measured::Seen;
use super::case::{Case, is_random};
use crate::finding::{Confidence, Evidence};
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_paste::results::devices::{Device, Sample};
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Durability, Measured, Op, Side};

/// The tool moved more than this many times what the devices did. Edges of the two windows explain less.
const MORE: f64 = 1.1;

/// Counters of block devices that fio prints. Only I/Os that must reach the device one by one count: past the page
/// cache, or at random. The kernel splits large I/Os, so that the device's count can only be higher.
pub(super) fn devices(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let device = measured.devices.first()?;
    let ios = side.ios.filter(|ios| *ios > 0)?;
    let reaches = match op {
        Op::Read => measured.work.direct == Some(true) || is_random(measured),
        Op::Write => measured.work.direct == Some(true) || measured.work.durability == Some(Durability::Each),
    };
    // The kernel's counters of a run of less than a second are of another time.
    if !reaches || side.elapsed_ns.is_none_or(|time| time < Nanos::from_millis(2000)) {
        return None;
    }
    let (done, merged, bytes) = match op {
        Op::Read => (device.read_ios, device.read_merges, device.read_bytes),
        Op::Write => (device.write_ios, device.write_merges, device.write_bytes),
    };
    let (asked, seen, what) = match (side.bytes, bytes) {
        (Some(asked), Some(seen)) => (asked.as_f64(), seen.as_f64(), "bytes"),
        _ => (ios as f64, done.saturating_add(merged) as f64, "I/Os"),
    };
    (asked > MORE * seen).then(|| {
        (
            Confidence::High,
            vec![
                case.evidence(measured, &format!("{what} of the tool"), human::count(asked)),
                case.evidence(measured, &format!("{what} of {}", device.name), human::count(seen)),
            ],
        )
    })
}

/// A device that did less than this part of what the tool says was looked at in another time, or is not the one.
const SAME_TIME: f64 = 0.1;

/// What `iostat -x` shows of the same time: what the tool moved beyond that came from memory. Several measurements in one
/// text may each have been the busiest interval, so that there only the most that was seen counts.
pub(super) fn iostat(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let reaches = match op {
        Op::Read => true,
        Op::Write => measured.work.direct == Some(true) || measured.work.durability == Some(Durability::Each),
    };
    // Behind a network the disks of this machine are not those that were measured.
    if !reaches || case.around.has(Word::Network).is_some() {
        return None;
    }
    let rates = case.beside.rates(op);
    let moved: f64 = rates.iter().map(|(_, rate)| rate.get()).sum();
    let asked = side.bytes_per_second;
    if asked.get() <= MORE * moved || moved < SAME_TIME * asked.get() {
        return None;
    }
    let (busiest, rate) = rates.iter().max_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    let mut evidence = vec![
        case.evidence(measured, "rate of the tool", human::rate(asked)),
        Evidence::new(
            "rate of all block devices",
            human::rate(BytesPerSec::new(moved)),
            busiest.source.clone(),
        ),
    ];
    if let Some(busy) = busiest.busy() {
        let shown = format!("{}, busy {}", human::rate(*rate), human::percent(busy.min(1.0)));
        evidence.push(Evidence::new(format!("median of {}", busiest.name), shown, busiest.source.clone()));
    }
    Some((Confidence::Medium, evidence))
}

/// What each device did in one direction; with a single measurement in the text (`is_alone`) the median of its samples.
pub(super) fn rates_of_devices(all: &[Device], op: Op, is_alone: bool) -> Vec<(&Device, BytesPerSec)> {
    let of: fn(&Sample) -> Option<BytesPerSec> = match op {
        Op::Read => |sample| sample.read,
        Op::Write => |sample| sample.write,
    };
    let rates = base_devices(all.get(..MOST).unwrap_or(all)).into_iter().filter_map(|device| {
        let rate = if is_alone { device.rate(of) } else { device.most(of) };
        Some((device, rate?))
    });
    rates.collect()
}

/// Devices that are not made of others in the list: no partitions, arrays, mappings or loops, unless nothing else is there.
fn base_devices(all: &[Device]) -> Vec<&Device> {
    const MADE_OF_OTHERS: [&str; 6] = ["dm-", "md", "loop", "zd", "zram", "bcache"];
    let is_partition = |one: &Device| {
        all.iter().any(|disk| {
            let rest = one.name.strip_prefix(disk.name.as_str()).filter(|rest| !rest.is_empty());
            rest.is_some_and(|rest| rest.trim_start_matches('p').bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    let is_base =
        |one: &&Device| !MADE_OF_OTHERS.iter().any(|made| one.name.starts_with(made)) && !is_partition(one);
    let base: Vec<&Device> = all.iter().filter(is_base).collect();
    if base.is_empty() { all.iter().take(1).collect() } else { base }
}

/// What `zpool iostat` shows of the same time: readers that get more than the pool reads are served by the ARC.
pub(super) fn pool(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let pool = case.around.pool.as_ref().filter(|pool| op == Op::Read && pool.read.get() > 0.0)?;
    if side.bytes_per_second.get() <= MORE * pool.read.get() {
        return None;
    }
    let mut evidence = vec![
        case.evidence(measured, "rate of the tool", human::rate(side.bytes_per_second)),
        Evidence::new(
            format!("median rate of pool {}", pool.name),
            human::rate(pool.read),
            pool.source.clone(),
        ),
    ];
    if let Some((hits, source)) = &case.around.arc_hits {
        evidence.push(Evidence::new("reads that the ARC answered", human::percent(*hits), source.clone()));
    }
    Some((Confidence::High, evidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, verdicts};
    use crate::finding::Code;

    /// A read of 1000 MB/s for a minute, with what iostat saw meanwhile, in MiB/s.
    fn found(rates: &[u32]) -> Vec<Code> {
        let mut text = String::from(
            "j: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=1000, BW=954MiB/s (1000MB/s)(55.9GiB/60000msec)\n",
        );
        for rate in rates {
            text += &format!(
                "\nDevice r/s rMB/s w/s wMB/s aqu-sz %util\nsda 1.00 {rate}.00 0.00 0.00 1.00 50.00\nsda1 1.00 {rate}.00 0.00 0.00 1.00 50.00\n"
            );
        }
        codes(&verdicts(&text).remove(0))
    }

    #[test]
    fn a_device_that_moved_less_than_the_tool_shows_a_cache() {
        assert!(found(&[1, 600, 610, 620]).contains(&Code::CacheMeasured));
        assert!(!found(&[1, 950, 960, 955]).contains(&Code::CacheMeasured));
        // The first report is of all time, and an idle device was looked at in another.
        assert!(!found(&[600]).contains(&Code::CacheMeasured));
        assert!(!found(&[1, 2, 2, 3]).contains(&Code::CacheMeasured));
    }
}
