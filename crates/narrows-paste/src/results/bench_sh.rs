//! bench.sh and scripts with its table: 1 GiB of zeros written three times by dd with `conv=fdatasync`.
//!
//! The rates are dd's, of 1e6 and 1e9 bytes. The mean that the script prints takes 1 GB/s for 1024 MB/s: it is not taken
//! over, but it must be that of the runs. Nor are the rates of networks below taken over.

use super::number::{Base, leading, rate};
use super::{Derived, Durability, Imported, Op, Page, Side, Tool, Work};
use narrows_base::units::Bytes;
use narrows_base::workload::Pattern;

/// The tables in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["I/O Speed(", "I/O speed("]) {
        return Vec::new();
    }
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
        label,
        pattern: Some(Pattern::Sequential),
        queue_depth: Some(1),
        jobs: Some(1),
        direct: Some(false),
        durability: Some(Durability::AtEnd),
        working_set: Some(Bytes::from_mib(1024)),
        zeros: Some(true),
        ..Work::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_are_rates_of_dd_and_the_mean_is_none() {
        let body = " Version            : v2023-06-10\n I/O Speed(1st run) : 371 MB/s\n I/O Speed(2nd run) : 1.0 GB/s\n \
            I/O Speed(average) : 697.5 MB/s\n Speedtest.net    891.81 Mbps\nI/O speed(1st run)   : 9 MB/s\n";
        let found = read(&Page { name: "x", body });
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
            read(&Page { name: "x", body: &body })[0].derived.iter().filter(|one| !one.agrees()).count()
        };
        assert_eq!(wrong(["1.7 GB/s", "1.4 GB/s", "1.7 GB/s"], "1638.4"), 0);
        assert_eq!(wrong(["956 MB/s", "1.0 GB/s", "1.1 GB/s"], "1035.5"), 0);
        assert_eq!(wrong(["50.5 MB/s", "65.8 MB/s", "74.2 MB/s"], "63.5"), 0);
        assert_eq!(wrong(["899 MB/s", "789 MB/s", "758 MB/s"], "518.0"), 1);
    }
}
