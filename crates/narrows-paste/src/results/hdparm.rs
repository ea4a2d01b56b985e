//! `hdparm -t`, `-T`, with and without `--direct`.
//!
//! Its MB are MiB: hdparm counts blocks of 2 MiB (hdparm.c, `time_device`).

use narrows_base::units::{Bytes, BytesPerSec};
use narrows_base::workload::Pattern;

use super::number::{Base, Rounded, contradiction, factor, seconds, to_bytes};
use super::{Derived, Imported, Measured, Op, Page, Side, Tool, Work};
use crate::text::fields;

/// What is said of every result.
const CORRECTION: &str =
    "hdparm prints MB/sec and counts blocks of 2 MiB; its rates are read as MiB/s, 4.86 % more";

/// The timings in a text, those of one device as one result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut device: Option<(usize, &str)> = None;
    let mut begins = true;
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some(name) =
            line.strip_suffix(':').filter(|name| name.starts_with("/dev/") && !name.contains(' '))
        {
            device = Some((number, name));
            begins = true;
            continue;
        }
        let failure = failure(line).filter(|_| device.is_some() || line.starts_with("Timing "));
        let timing = timing(number, line, device.map(|(_, name)| name));
        if failure.is_none() && timing.is_none() {
            continue;
        }
        if std::mem::take(&mut begins) {
            found.push(Imported::new(Tool::Hdparm, page.name, device.map_or(number, |(line, _)| line)));
        }
        let Some(result) = found.last_mut() else { continue };
        result.failures.extend(failure.map(str::to_owned));
        if let Some((measured, wrong)) = timing {
            if result.corrections.is_empty() {
                result.corrections.push(CORRECTION.to_owned());
            }
            result.measurements.push(measured);
            result.derived.extend(wrong);
        }
    }
    found
}

/// What hdparm says of a read that failed (hdparm.c, `read_big_block`), which may stand behind the name of the timing, and of
/// timings that its old versions did not believe themselves.
fn failure(line: &str) -> Option<&str> {
    let said = ["read() failed:", "read() hit EOF", "suspicious results:"];
    let at = said.iter().find_map(|words| line.find(words))?;
    line.get(at..)
}

/// `Timing buffered disk reads: 142 MB in  3.01 seconds =  47.24 MB/sec`, and the rate where it is not that of amount
/// and time.
fn timing(number: usize, line: &str, device: Option<&str>) -> Option<(Measured, Option<Derived>)> {
    let [label, amount, time, rate] = fields(line, "Timing {}:{} in {}={}")?;
    let (amount, unit) = Rounded::leading(amount)?;
    let time = Rounded::of(time)?;
    let (rate, rate_unit) = Rounded::leading(rate)?;
    // Broken off, it would be bytes.
    if !rate_unit.trim_start().starts_with(|c: char| c.is_alphabetic()) {
        return None;
    }
    let factor = |unit: &str| factor(unit, Base::Binary);
    let name = format!("rate of `{}`, in {}", label.trim(), rate_unit.trim());
    let wrong = contradiction(&name, rate, &[factor(rate_unit)], amount.times(factor(unit)), time);
    let is_direct = label.starts_with("O_DIRECT");
    let work = Work {
        pattern: Some(Pattern::Sequential),
        block_size: Some(Bytes::from_mib(2)),
        direct: Some(is_direct),
        target: device.map(str::to_owned),
        ..Work::one_at_a_time(label.trim())
    };
    let side = Side {
        bytes: to_bytes(amount.value() * factor(unit)),
        elapsed_ns: seconds(time.value()),
        ..Side::at(BytesPerSec::new(rate.value() * factor(rate_unit)))
    };
    let mut measured = Measured::of(number, work, Op::Read, side);
    // With O_DIRECT even the same 2 MiB come from the drive, though out of its own memory.
    // Old versions have another name for the cached reads.
    measured.memory_only = ["cached reads", "buffer-cache reads"].iter().any(|name| label.contains(name));
    Some((measured, wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_is_a_result_and_megabytes_are_binary() {
        let body = "$ sudo hdparm -tT /dev/sda\n\n/dev/sda:\n Timing cached reads:   3462 MB in  2.00 seconds = 1731.24 MB/sec\n \
            Timing buffered disk reads: 806 MB in  3.00 seconds = 268.52 MB/sec\n/dev/nvme0n1:\n \
            Timing O_DIRECT disk reads: 9180 MB in  3.00 seconds = 3059.63 MB/sec\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found.iter().map(|one| one.measurements.len()).collect::<Vec<_>>(), [2, 1]);
        assert!(found[0].measurements[0].memory_only && !found[0].measurements[1].memory_only);
        let read = found[1].measurements[0].read.as_ref().expect("reads");
        assert_eq!(read.bytes_per_second.get(), 3059.63 * 1_048_576.0);
        assert_eq!(found[1].measurements[0].work.target.as_deref(), Some("/dev/nvme0n1"));
    }

    #[test]
    fn a_rate_that_is_not_that_of_amount_and_time_contradicts_them() {
        let wrong = |line: &str| read(&Page { name: "x", body: line }).remove(0).derived.len();
        assert_eq!(wrong(" Timing buffered disk reads: 510 MB in  3.01 seconds = 9169.00 MB/sec\n"), 1);
        assert_eq!(wrong(" Timing buffered disk reads:   2 MB in  5.76 seconds = 355.42 kB/sec\n"), 0);
        assert_eq!(wrong(" Timing O_DIRECT disk reads: 9180 MB in  3.00 seconds = 3059.63 MB/sec\n"), 0);
    }

    #[test]
    fn a_read_that_failed_is_a_failure_of_the_device() {
        let body = "/dev/sdb:\n Timing buffered disk reads: read() failed: Input/output error\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(
            (found.len(), found[0].failures.as_slice()),
            (1, &["read() failed: Input/output error".to_owned()][..])
        );
        assert!(read(&Page { name: "x", body: "our read() failed: no\n Timing x\n" }).is_empty());
    }

    #[test]
    fn old_versions_read_a_buffer_cache_and_doubt_what_they_measured() {
        let body = "/dev/hdc:\n Timing buffer-cache reads:   128 MB in 30.58 seconds =  4.19 MB/sec\n \
            Timing buffered disk reads:  64 MB in 20.98 seconds =  3.05 MB/sec\n\
            Hmm.. suspicious results: probably not enough free memory for a proper test.\n\n\
            /dev/md1:\n Timing buffer-cache reads:   128 MB in  0.60 seconds =213.33 MB/sec\n";
        let found = read(&Page { name: "x", body });
        let memory: Vec<bool> =
            found.iter().flat_map(|one| &one.measurements).map(|one| one.memory_only).collect();
        assert_eq!(memory, [true, false, true]);
        let doubt = "suspicious results: probably not enough free memory for a proper test.";
        assert_eq!((found[0].failures.as_slice(), found[1].failures.len()), (&[doubt.to_owned()][..], 0));
    }

    #[test]
    fn other_timings_are_passed_over() {
        assert!(read(&Page { name: "x", body: "Timing belt: 3 MB\nTiming x: 1 MB in y" }).is_empty());
    }
}
