//! Scripts that run dd three times: bench.sh and those with its table, nench.

use narrows_base::units::Bytes;
use narrows_base::workload::Pattern;

use super::ioping::{requests, spread_of};
use super::number::{Base, leading, rate};
use super::{Derived, Durability, Imported, Measured, Op, Page, Side, Tool, Work};
use crate::text::behind_marks;

/// bench.sh and scripts with its table: 1 GiB of zeros written three times by dd with `conv=fdatasync`.
///
/// The rates are dd's, of 1e6 and 1e9 bytes. The mean that the script prints takes 1 GB/s for 1024 MB/s: it is not taken
/// over, but it must be that of the runs. Nor are the rates of networks below taken over.
pub(super) fn read_bench_sh(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let (mut version, mut begins) = (None, true);
    for (number, line) in page.lines() {
        let Some((name, text)) = line.split_once(':') else { continue };
        let (name, text) = (name.trim().to_ascii_lowercase(), text.trim());
        if name == "version" && text.starts_with("v20") {
            version = Some(text.to_owned());
        }
        if let Some(result) = found.last_mut().filter(|_| is_mean(&name)) {
            result.derived.extend(wrong_mean(result, text));
            begins = true;
        }
        let run = name.strip_prefix("i/o speed(").and_then(|rest| rest.strip_suffix("run)"));
        let Some(run) = run.map(str::trim) else { continue };
        begins |= run == "1st";
        let Some(rate) = rate(text, Base::Decimal).filter(|_| text.ends_with("B/s")) else { continue };
        if std::mem::replace(&mut begins, false) {
            let mut result = Imported::new(Tool::Benchsh, page.name, number);
            result.version = version.take();
            found.push(result);
        }
        let side = Side { bytes_per_second: rate, bytes: Some(Bytes::from_mib(1024)), ..Side::default() };
        if let Some(result) = found.last_mut() {
            result.push(number, work(format!("{run} run")), Op::Write, side);
        }
    }
    found
}

/// `I/O Speed(average)`, or `Average I/O speed` before 2021.
fn is_mean(name: &str) -> bool {
    matches!(name, "i/o speed(average)" | "average i/o speed" | "i/o speed(avg)")
}

/// The mean that is printed, where it is neither that of the runs nor that of the script, which takes 1 GB/s for 1024 MB/s
/// (`bench.sh`, `ioavg`). It is worked out from the printed rates, so that only its own last digit is rounded.
fn wrong_mean(result: &Imported, text: &str) -> Option<Derived> {
    let (printed, _) = leading(text).filter(|_| text.ends_with("MB/s"))?;
    let rates: Vec<f64> = result
        .measurements
        .iter()
        .filter_map(|one| Some(one.write.as_ref()?.bytes_per_second.get() / 1e6))
        .collect();
    let mean = |of_gigabytes: f64| {
        let of = |rate: &f64| if *rate >= 1000.0 { rate / 1000.0 * of_gigabytes } else { *rate };
        rates.iter().map(of).sum::<f64>() / rates.len() as f64
    };
    let is_mean = |mean: f64| (mean - printed).abs() <= 0.1;
    // Where a run is missing its part of the mean is.
    let is_known = rates.len() == 3 && !is_mean(mean(1000.0)) && !is_mean(mean(1024.0));
    is_known.then(|| Derived {
        name: "mean of the runs, in MB/s".to_owned(),
        printed,
        computed: mean(1000.0),
        rounding: 0.1 / printed.max(0.1),
    })
}

/// What dd is asked for in all versions: 1 GiB, flushed at the end.
pub(super) fn work(label: String) -> Work {
    Work {
        pattern: Some(Pattern::Sequential),
        direct: Some(false),
        durability: Some(Durability::AtEnd),
        working_set: Some(Bytes::from_mib(1024)),
        zeros: Some(true),
        ..Work::one_at_a_time(label)
    }
}

/// The headings of its parts; only nench has those of the first kind.
const NENCH_OWN_HEADS: [&str; 3] = ["ioping: seek rate", "ioping: sequential", "dd: sequential write"];
const NENCH_HEADS: [&str; 3] = ["dd test", "IPv4", "IPv6"];

/// nench: ioping and three runs of dd. Its MiB/s are binary; dd writes 1 GiB of zeros with `conv=fdatasync`.
///
/// The reports in a text. Without nench's own first line, as people quote it, one begins at a heading that only nench has.
pub(super) fn read_nench(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut part = "";
    let mut broken: Option<String> = None;
    let mut seen: Vec<&str> = Vec::new();
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some(version) = line.strip_prefix("nench.sh v") {
            let mut result = Imported::new(Tool::Nench, page.name, number);
            result.version = version.split_whitespace().next().map(str::to_owned);
            found.push(result);
            part = "";
            seen.clear();
        }
        let is_own = NENCH_OWN_HEADS.iter().any(|head| line.starts_with(head));
        if let Some(head) = NENCH_OWN_HEADS.into_iter().chain(NENCH_HEADS).find(|head| line.starts_with(head))
        {
            if is_own && (found.is_empty() || seen.contains(&head)) {
                found.push(Imported::new(Tool::Nench, page.name, number));
                seen.clear();
            }
            part = if seen.contains(&head) { "" } else { head };
            seen.push(head);
        } else if let Some(result) = found.last_mut() {
            // Mail may have broken the longest line of all.
            let rest = behind_marks(line);
            let whole = broken.take().map(|begun| format!("{begun} {rest}"));
            let line = whole.as_deref().unwrap_or(line);
            if whole.is_none() && line.starts_with("generated ") && !line.ends_with("B/s") {
                broken = Some(line.to_owned());
            }
            let found = measured_by_nench(part, number, line);
            if whole.is_some() && found.is_none() {
                result.unread.push(number - 1);
            }
            result.measurements.extend(found);
        }
    }
    found.retain(|report| {
        report.version.is_some() || !report.measurements.is_empty() || !report.unread.is_empty()
    });
    found
}

fn measured_by_nench(part: &str, number: usize, line: &str) -> Option<Measured> {
    if part.starts_with("dd") {
        let (run, text) = line.split_once(" run:")?;
        let side = Side {
            bytes: Some(Bytes::from_mib(1024)),
            ..Side::at(rate(text, Base::Decimal).filter(|_| text.trim().ends_with("B/s"))?)
        };
        return Some(Measured::of(number, work(format!("dd, {run} run")), Op::Write, side));
    }
    let order = match part {
        "ioping: seek rate" => Pattern::Random,
        "ioping: sequential" => Pattern::Sequential,
        _ => return None,
    };
    let measured = Measured::new(number, Work { pattern: Some(order), ..Work::one_at_a_time(part) });
    let latency_ns = spread_of(line).filter(|_| order == Pattern::Random);
    if latency_ns.is_some() {
        return Some(Measured { latency_ns, ..measured });
    }
    Some(Measured { read: Some(requests(line.strip_prefix("generated ")?)?.side()), ..measured })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_are_rates_of_dd_and_the_mean_is_none() {
        let body = " Version            : v2023-06-10\n I/O Speed(1st run) : 371 MB/s\n I/O Speed(2nd run) : 1.0 GB/s\n \
            I/O Speed(average) : 697.5 MB/s\n Speedtest.net    891.81 Mbps\nI/O speed(1st run)   : 9 MB/s\n";
        let found = read_bench_sh(&Page { name: "x", body });
        let rates = |result: &Imported| {
            let sides = result.measurements.iter().filter_map(|one| one.write.as_ref());
            sides.map(|side| side.bytes_per_second.get()).collect::<Vec<_>>()
        };
        assert_eq!(found.iter().map(rates).collect::<Vec<_>>(), [vec![371e6, 1e9], vec![9e6]]);
        assert_eq!(found[0].version.as_deref(), Some("v2023-06-10"));
    }

    #[test]
    fn the_mean_is_that_of_the_runs_as_the_script_works_it_out() {
        let wrong = |rates: [&str; 3], mean: &str| {
            let rows: String = rates
                .iter()
                .zip(["1st", "2nd", "3rd"])
                .map(|(rate, run)| format!(" I/O Speed({run} run) : {rate}\n"))
                .collect();
            let body = format!("{rows} I/O Speed(average) : {mean} MB/s\n");
            read_bench_sh(&Page { name: "x", body: &body })[0]
                .derived
                .iter()
                .filter(|one| !one.agrees())
                .count()
        };
        assert_eq!(wrong(["1.7 GB/s", "1.4 GB/s", "1.7 GB/s"], "1638.4"), 0);
        assert_eq!(wrong(["956 MB/s", "1.0 GB/s", "1.1 GB/s"], "1035.5"), 0);
        assert_eq!(wrong(["50.5 MB/s", "65.8 MB/s", "74.2 MB/s"], "63.5"), 0);
        assert_eq!(wrong(["899 MB/s", "789 MB/s", "758 MB/s"], "518.0"), 1);
    }

    #[test]
    fn a_report_has_the_reads_of_ioping_and_the_runs_of_dd() {
        let body = " nench.sh v2019.07.20 -- https://git.io/nench.sh\nioping: seek rate\n    \
            min/avg/max/mdev = 179.2 us / 270.9 us / 28.1 ms / 597.4 us\nioping: sequential read speed\n    \
            generated 2.74 k requests in 5.01 s, 685.2 MiB, 547 iops, 136.9 MiB/s\n\ndd: sequential write speed\n    \
            1st run:    132.56 MiB/s\n    2nd run:    120.16 MiB/s\n    average:    126.36 MiB/s\nIPv4 speedtests\n    Cachefly CDN: 92.25 MiB/s\n";
        let found = read_nench(&Page { name: "x", body });
        let [result] = found.as_slice() else { panic!("{found:?}") };
        let [seek, order, first, second] = result.measurements.as_slice() else { panic!("{result:?}") };
        assert_eq!(seek.latency_ns.as_ref().and_then(|latency| latency.mean), Some(270.9e3));
        let rate = |side: &Option<Side>| side.as_ref().map(|side| side.bytes_per_second.get() / 1_048_576.0);
        assert_eq!(rate(&order.read), Some(136.9));
        assert_eq!((rate(&first.write), rate(&second.write)), (Some(132.56), Some(120.16)));
    }

    #[test]
    fn the_longest_line_may_go_on_behind_a_mark_and_is_said_where_it_does_not() {
        let body = |rest: &str| {
            format!(
                "nench.sh v2019.07.20 --\nioping: sequential read speed\n\
                generated 2.74 k requests in 5.01 s, 685.2 MiB, 547 iops,\n{rest}\n\ndd: sequential write speed\n"
            )
        };
        let read = |rest: &str| read_nench(&Page { name: "x", body: &body(rest) }).remove(0);
        assert_eq!((read("#136.9 MiB/s").measurements.len(), read("").unread), (1, vec![3]));
    }

    #[test]
    fn a_report_may_lack_its_first_line() {
        let ioping = "ioping: seek rate\n    min/avg/max/mdev = 179.2 us / 270.9 us / 28.1 ms / 597.4 us\n\
            ioping: sequential read speed\n    generated 2.74 k requests in 5.01 s, 685.2 MiB, 547 iops, 136.9 MiB/s\n";
        let body = format!(" nench.sh v2019.07.20 --\n{ioping}IPv4 speedtests\n\nand another one:\n{ioping}");
        let count = |body: &str| {
            read_nench(&Page { name: "x", body }).iter().map(|one| one.measurements.len()).collect::<Vec<_>>()
        };
        assert_eq!(count(&body), [2, 2]);
        assert_eq!(count(&format!("{body} nench.sh v2019.07.20 --\n{ioping}")), [2, 2, 2]);
        assert_eq!(count(&format!("what I got:\n{ioping}")), [2]);
        assert_eq!(count("I ran\nioping: seek rate\nand forgot the rest"), [0; 0]);
    }

    #[test]
    fn what_failed_is_no_rate() {
        let body = "nench.sh v2019.07.20 --\nioping: seek rate\n    ioping: sequential read speed\n    \ndd: sequential write speed\n";
        assert!(read_nench(&Page { name: "x", body })[0].measurements.is_empty());
    }
}
