//! ioping: requests one at a time.
//!
//! Rates are of the time that the requests took, not of the run between pauses; a bare `mb/s` of old versions is MiB/s, as
//! the requests' size tells.

use narrows_base::units::{BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::command::Commands;
use super::number::{Base, Rounded, factor, leading, scaled, seconds, span, to_bytes};
use super::{Derived, Imported, Latency, Op, Page, Side, Tool, Work};

/// The statistics in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut target: Option<(usize, String)> = None;
    let mut rows: Vec<IopingRow<'_>> = Vec::new();
    for (number, line) in page.lines() {
        commands.see(number, line, "ioping");
        let line = line.trim();
        rows.extend(IopingRow::of(number, line).filter(|_| rows.len() < MOST_ROWS));
        if let Some(name) =
            line.strip_prefix("--- ").and_then(|rest| rest.strip_suffix(" ioping statistics ---"))
        {
            target = Some((number, name.to_owned()));
        } else if let Some(requests) =
            // Those that were generated are counted with the pauses between them.
            requests(line).filter(|_| target.is_some() && line.contains(" completed in "))
        {
            let Some((begins, name)) = target.take() else { continue };
            let mut result = Imported::new(Tool::Ioping, page.name, begins);
            result.command = commands.taken();
            result.derived.extend(requests.contradiction());
            let work = work(&name, &requests, result.command.as_deref());
            result.push(number, work, if requests.writes { Op::Write } else { Op::Read }, requests.side());
            found.push(result);
        } else if let (Some(latency), Some(result), None) = (spread_of(line), found.last_mut(), &target) {
            let measured = result.measurements.last_mut();
            if let Some(side) = measured.and_then(|one| one.read.as_mut().or(one.write.as_mut())) {
                side.latency_ns.get_or_insert(latency);
            }
        }
    }
    if found.is_empty() {
        found.extend(mean_of(page, &rows, commands.last()));
    }
    found
}

/// A day of seconds.
const MOST_ROWS: usize = 100_000;

/// `4 KiB <<< . (ext4 /dev/dm-0 107.8 GiB): request=2 time=855.6 us`; the first is a warm-up.
struct IopingRow<'t> {
    line: usize,
    op: Op,
    bytes: f64,
    target: Option<&'t str>,
    nanos: f64,
}

impl<'t> IopingRow<'t> {
    fn of(line: usize, text: &'t str) -> Option<Self> {
        let arrows = [(" <<< ", Op::Read), (" >>> ", Op::Write)];
        let (size, rest, op) = arrows.into_iter().find_map(|(arrow, op)| {
            let (size, rest) = text.split_once(arrow)?;
            Some((size, rest, op))
        })?;
        let (place, rest) = rest.split_once("): request=")?;
        let (_, time) = rest.split_once(" time=")?;
        let (nanos, _) = span(time).filter(|_| !time.contains("(warmup)"))?;
        let target = place.split_once('(')?.1.split(' ').find(|word| word.starts_with("/dev/"));
        Some(Self { line, op, bytes: scaled(size, Base::Binary)?, target, nanos })
    }
}

/// What requests tell whose statistics were left out.
fn mean_of(page: &Page<'_>, rows: &[IopingRow<'_>], command: Option<&str>) -> Option<Imported> {
    let first = rows.first().filter(|_| rows.len() > 1)?;
    let mean = rows.iter().map(|row| row.nanos).sum::<f64>() / rows.len() as f64;
    if mean <= 0.0 {
        return None;
    }
    let mut result = Imported::new(Tool::Ioping, page.name, first.line);
    result.truncated = true;
    result.command = command.map(str::to_owned);
    let work = Work {
        pattern: Some(Pattern::Random),
        block_size: to_bytes(first.bytes),
        target: first.target.map(str::to_owned),
        ..Work::one_at_a_time("requests")
    };
    let side = Side {
        iops: Some(Iops::new(1e9 / mean)),
        ios: u64::try_from(rows.len()).ok(),
        latency_ns: Some(Latency::of_mean(mean)),
        ..Side::at(BytesPerSec::new(first.bytes * 1e9 / mean))
    };
    result.push(first.line, work, first.op, side);
    Some(result)
}

/// The words before the bracket of `/dev/sda (block device 1.82 TiB)` are the target.
fn work(name: &str, requests: &Requests, command: Option<&str>) -> Work {
    /// What `-L` takes when no size is given.
    const IN_ORDER: f64 = 262_144.0;
    let has = |letter: char| {
        let options = command.into_iter().flat_map(str::split_whitespace);
        options
            .filter(|word| word.starts_with('-') && !word.starts_with("--"))
            .any(|word| word.contains(letter))
    };
    let block = requests.block();
    let in_order = if command.is_some() { has('L') } else { block == Some(IN_ORDER) };
    Work {
        pattern: Some(if in_order { Pattern::Sequential } else { Pattern::Random }),
        block_size: block.and_then(to_bytes),
        direct: has('D').then_some(true),
        target: name.split(" (").next().map(str::to_owned),
        ..Work::one_at_a_time(name)
    }
}

/// `220 requests completed in 3.01 s, 73 iops, 292.9 KiB/s`, with `396 KiB read` before the rates since 1.0.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    count: u64,
    is_exact: bool,
    time: f64,
    bytes: Option<f64>,
    iops: Rounded,
    rate: Rounded,
    writes: bool,
}

/// The counts and rates of a line, without what stands before them.
pub(super) fn requests(line: &str) -> Option<Requests> {
    let (head, rest) = line.split_once(" requests ")?;
    let rest = rest.strip_prefix("completed in ").or_else(|| rest.strip_prefix("in "))?;
    let (time, rest) = span(rest)?;
    let count = scaled(head, Base::Decimal)?;
    let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
    let iops = parts.iter().find_map(|part| {
        let (number, unit) = Rounded::leading(part.strip_suffix("iops")?)?;
        Some(number.times(factor(unit, Base::Decimal)))
    })?;
    let rate = parts.iter().find_map(|part| {
        let (number, unit) = Rounded::leading(part)?;
        unit.trim().to_ascii_lowercase().ends_with("b/s").then(|| number.times(factor(unit, Base::Binary)))
    })?;
    let amount = parts.iter().find(|part| part.contains("iB") && !part.ends_with("/s"));
    Some(Requests {
        count: count as u64,
        is_exact: !head.contains(['k', 'M', 'G']),
        time,
        bytes: amount.and_then(|part| scaled(part, Base::Binary)),
        iops,
        rate,
        writes: amount.is_some_and(|part| part.ends_with("written")),
    })
}

impl Requests {
    /// Bytes of one request: the power of two that is nearest to rate ÷ I/Os per second.
    fn block(&self) -> Option<f64> {
        /// What both are rounded to.
        const ROUNDING: f64 = 0.03;
        let quotient = self.rate.value() / self.iops.value();
        let power = (quotient.is_finite() && quotient >= 1.0).then(|| 2_f64.powf(quotient.log2().round()))?;
        ((quotient / power - 1.0).abs() < ROUNDING).then_some(power)
    }

    /// What was moved in one direction.
    pub(super) fn side(&self) -> Side {
        let exact = self.block().filter(|_| self.is_exact).map(|block| block * self.count as f64);
        Side {
            iops: Some(Iops::new(self.iops.value())),
            bytes: exact.or(self.bytes).and_then(to_bytes).filter(|bytes| bytes.get() > 0),
            ios: Some(self.count),
            elapsed_ns: seconds(self.time / 1e9),
            ..Side::at(BytesPerSec::new(self.rate.value()))
        }
    }

    /// Requests each second that are not those of count and time, where that is the time in requests (since 1.0, which tells
    /// the amount, too), or a rate that no size of a request makes of them.
    fn contradiction(&self) -> Option<Derived> {
        /// Count and time are rounded to three digits.
        const ROUNDING: f64 = 0.02;
        let counted = self.count as f64 / (self.time / 1e9);
        let differs = (counted / self.iops.value() - 1.0).abs() > ROUNDING;
        if self.bytes.is_some() && counted.is_finite() && differs {
            return Some(Derived {
                name: "requests each second".to_owned(),
                printed: self.iops.value(),
                computed: counted,
                rounding: ROUNDING,
            });
        }

        let block = 2_f64.powf((self.rate.value() / self.iops.value()).log2().round());
        let agrees = !block.is_finite() || self.rate.agrees(self.iops.times(block));
        // Sizes need be no power of two: only a rate next to one is checked.
        let is_near = (self.rate.value() / self.iops.value() / block - 1.0).abs() < 0.1;
        (!agrees && is_near).then(|| Derived {
            name: "rate and iops × request".to_owned(),
            printed: self.rate.value(),
            computed: self.iops.value() * block,
            rounding: 0.0,
        })
    }
}

/// `min/avg/max/mdev = 54 us / 6.7 ms / 74.1 ms / 6.5 ms`, or with one unit behind the last: `0.0/0.2/6.0/0.4 ms`.
pub(super) fn spread_of(line: &str) -> Option<Latency> {
    let (_, values) = line.split_once("min/avg/max/mdev =")?;
    let parts: Vec<&str> = values.split('/').map(str::trim).collect();
    let [least, mean, max, deviation] = parts.as_slice() else { return None };
    let is_shared = leading(least)?.1.is_empty();
    let unit = if is_shared { span(&format!("1 {}", leading(deviation)?.1.trim()))?.0 } else { 1.0 };
    let nanos = |text: &str| match is_shared {
        true => leading(text).map(|(number, _)| number * unit),
        false => span(text).map(|(nanos, _)| nanos),
    };
    Some(Latency { mean: nanos(mean), max: nanos(max), deviation: nanos(deviation), ..Latency::default() })
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Bytes;

    use super::*;

    fn one(body: &str) -> Imported {
        read(&Page { name: "x", body }).remove(0)
    }

    #[test]
    fn requests_without_their_statistics_have_a_mean() {
        let body = "4 KiB <<< . (ext4 /dev/dm-0 107.8 GiB): request=1 time=282.6 us (warmup)\n\
            4 KiB <<< . (ext4 /dev/dm-0 107.8 GiB): request=2 time=800 us\n\
            4 KiB <<< . (ext4 /dev/dm-0 107.8 GiB): request=3 time=1.2 ms\n";
        let found = read(&Page { name: "x", body });
        let one = &found[0].measurements[0];
        let read_side = one.read.as_ref().expect("reads");
        let mean = read_side.latency_ns.as_ref().and_then(|latency| latency.mean);
        assert_eq!((mean, read_side.iops.map(Iops::get)), (Some(1e6), Some(1000.0)));
        assert_eq!((one.work.target.as_deref(), found[0].truncated), (Some("/dev/dm-0"), true));
    }

    #[test]
    fn requests_each_second_are_those_of_count_and_time() {
        let wrong = |line: &str| {
            let body = format!("--- /dev/sda (block device 20 GiB) ioping statistics ---\n{line}\n");
            one(&body).derived.iter().filter(|one| !one.agrees()).count()
        };
        assert_eq!(wrong("9 requests completed in 56.4 ms, 36 KiB read, 100 iops, 402.8 KiB/s"), 1);
        assert_eq!(wrong("19 requests completed in 6.40 ms, 76 KiB read, 2.97 k iops, 11.6 MiB/s"), 0);
        assert_eq!(wrong("5 requests completed in 4794.0 ms, 364 iops, 1.4 MiB/s"), 0, "with the pauses");
    }

    #[test]
    fn old_and_new_statistics() {
        let old = one("$ ioping -R /dev/sda\n--- /dev/sda (device 10.0 Gb) ioping statistics ---\n\
            9020 requests completed in 3000.1 ms, 5016 iops, 19.6 mb/s\nmin/avg/max/mdev = 0.0/0.2/6.0/0.4 ms\n");
        let read = old.measurements[0].read.as_ref().expect("reads");
        assert_eq!(read.bytes_per_second.get(), 19.6 * 1_048_576.0);
        assert_eq!(old.measurements[0].work.block_size, Some(Bytes::new(4096)));
        assert_eq!(read.latency_ns.as_ref().and_then(|latency| latency.mean), Some(0.2e6));
        let new = one("--- . (ext4 /dev/sda1 1.8 TiB) ioping statistics ---\n\
            99 requests completed in 24.3 ms, 396 KiB written, 4.07 k iops, 15.9 MiB/s\n\
            generated 100 requests in 1.65 min, 400 KiB, 1 iops, 4.04 KiB/s\nmin/avg/max/mdev = 162.6 us / 245.5 us / 352.2 us / 41.2 us\n");
        let write = new.measurements[0].write.as_ref().expect("writes");
        assert_eq!(write.ios, Some(99));
        assert!((write.iops.map_or(0.0, Iops::get) - 4070.0).abs() < 1e-6);
        assert_eq!(write.latency_ns.as_ref().and_then(|latency| latency.deviation), Some(41.2e3));
        assert!(old.derived.is_empty() && new.derived.is_empty());
    }

    #[test]
    fn latencies_below_statistics_whose_requests_are_lost_are_of_no_other() {
        let head = "--- /dev/sda (x) ioping statistics ---\n";
        let body = format!(
            "{head}220 requests completed in 3.01 s, 73 iops, 292.9 KiB/s\n{head}min/avg/max/mdev = 54 us / 6.7 ms / 74.1 ms / 6.5 ms\n"
        );
        let found = read(&Page { name: "x", body: &body });
        let side = found[0].measurements[0].read.as_ref().expect("reads");
        assert_eq!((found.len(), &side.latency_ns), (1, &None));
    }

    #[test]
    fn a_rate_that_is_not_iops_times_the_request_contradicts_them() {
        let wrong = one(
            "--- /dev/sda (x) ioping statistics ---\n4500 requests completed in 3.0 s, 1500 iops, 6.4 MiB/s\n",
        );
        assert_eq!(wrong.derived.len(), 1);
    }

    #[test]
    fn statistics_in_order_are_told_by_the_command_or_the_size() {
        let body = "--- /dev/sda (x) ioping statistics ---\n1.42 k requests completed in 3.00 s, 479 iops, 119.9 MiB/s\n";
        assert_eq!(one(body).measurements[0].work.pattern, Some(Pattern::Sequential));
        let random = format!("$ ioping -s 256k /dev/sda\n{body}");
        assert_eq!(one(&random).measurements[0].work.pattern, Some(Pattern::Random));
    }
}
