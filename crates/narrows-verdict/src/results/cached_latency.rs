//! Caches by latency: an answer that comes sooner than the medium can give it.

use super::cache_measured::Seen;
use super::case::{Case, is_random, mean, reads_ahead};
use crate::finding::{Confidence, Evidence};
use narrows_base::units::Nanos;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Measured, Op, Side};

/// No flash answers a random read sooner: a page of SLC needs 25 µs (Kioxia XL-FLASH, 4 µs alone for the die and the way
/// there), one of TLC 50 µs and more.
const NAND_FLOOR: f64 = 15_000.0;

/// The same behind SATA or SAS, which take some 20 µs for the command and the answer by themselves: SATA drives read a page that
/// holds data in 70 µs and more, and answer what was never written without looking at their flash.
const BEHIND_SATA: f64 = 45_000.0;

/// Half of the reads this fast come from memory; the fastest media need 5 to 10 µs for all of them.
const MEMORY_MEDIAN: f64 = 6_000.0;

/// What a read needs that no cache answers: a page of flash, at least.
const MISS: f64 = 50_000.0;

fn shown(nanos: f64) -> Nanos {
    Nanos::new(nanos.max(0.0) as u64)
}

/// Single random reads faster than flash, of storage that is said to be flash, or to have a cache in memory before it.
pub(super) fn below_flash(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let single = measured.asked_in_flight().is_some_and(|count| count <= 1.0);
    if op != Op::Read || !is_random(measured) || !single || case.around.has(Word::Optane).is_some() {
        return None;
    }
    let slow = [Word::Nand, Word::Sata, Word::Usb, Word::Rotating, Word::Zfs, Word::IgnoresDirect];
    let (word, source) = slow.into_iter().find_map(|word| Some((word, case.around.has(word)?)))?;
    let latency = side.latency_ns.as_ref();
    let target = measured.work.target.as_deref().unwrap_or_default();
    let is_scsi = target.starts_with("/dev/sd") && case.around.has(Word::Nvme).is_none();
    let is_behind = word == Word::Sata || word == Word::Nand && is_scsi;
    let floor = if is_behind { BEHIND_SATA } else { NAND_FLOOR };
    let typical =
        latency.and_then(|latency| latency.p50).or_else(|| mean(side)).filter(|one| *one < floor)?;
    // A few slow ones may hide in the median; that is another check.
    let medium = match word {
        Word::Rotating => "disks that turn: 4 ms and more for each",
        Word::Zfs => "behind ZFS, which answers from memory what it holds there",
        Word::IgnoresDirect => "a file system in user space, behind the page cache",
        _ => "flash: some 50 µs for each",
    };
    Some((
        Confidence::Medium,
        vec![
            case.evidence(measured, "latency of most single random reads", shown(typical)),
            Evidence::new("the medium", medium, source),
        ],
    ))
}

/// Half of the reads as fast as memory, and others as slow as a medium: some were in a cache and others were not.
pub(super) fn partly_in_memory(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let shows = op == Op::Read && !reads_ahead(measured, op, side);
    let latency = side.latency_ns.as_ref().filter(|_| shows)?;
    let (p50, p99) = (latency.p50.filter(|p50| *p50 > 0.0 && *p50 < MEMORY_MEDIAN)?, latency.p99?);
    (p99 > MISS).then(|| {
        (
            Confidence::Medium,
            vec![
                case.evidence(measured, "median", shown(p50)),
                case.evidence(measured, "99th percentile", shown(p99)),
            ],
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of, with_latency};
    use super::*;
    use crate::finding::Code;
    use narrows_paste::results::surroundings::Surroundings;
    use narrows_paste::results::{Latency, Percentile};

    fn around(words: &[Word]) -> Surroundings {
        let words = words.iter().map(|word| (*word, "config.txt:1".to_owned())).collect();
        Surroundings { words, ..Surroundings::default() }
    }

    #[test]
    fn eight_microseconds_are_optane_and_no_flash() {
        let fast = with_latency(fio_read("randread", 60), 8_000.0);
        assert!(verdict_of(&fast, &around(&[])).trusted, "nothing says that it is flash");
        assert!(verdict_of(&fast, &around(&[Word::Optane, Word::Nand])).trusted);
        assert!(codes(&verdict_of(&fast, &around(&[Word::Nand]))).contains(&Code::CacheMeasured));
        assert!(
            verdict_of(&with_latency(fio_read("randread", 60), 45_000.0), &around(&[Word::Nand])).trusted
        );
        let behind_sata = |nanos: f64| {
            let result = with_latency(fio_read("randread", 60), nanos);
            codes(&verdict_of(&result, &around(&[Word::Sata]))).contains(&Code::CacheMeasured)
        };
        assert!(behind_sata(37_000.0) && !behind_sata(95_000.0));
        // The drive reads ahead of a sequential reader.
        assert!(verdict_of(&with_latency(fio_read("read", 60), 12_000.0), &around(&[Word::Nand])).trusted);
    }

    #[test]
    fn a_median_of_memory_with_a_tail_of_a_medium_is_a_part_in_cache() {
        let mut result = fio_read("randread", 60);
        let percentiles =
            [(50.0, 5_000.0), (99.0, 3e6)].map(|(percent, latency_ns)| Percentile { percent, latency_ns });
        result.measurements[0].read.as_mut().expect("reads").latency_ns =
            Some(Latency::of_mean(400e3).with_percentiles(percentiles.to_vec()));
        assert!(codes(&verdict_of(&result, &around(&[]))).contains(&Code::CacheMeasured));
    }
}
