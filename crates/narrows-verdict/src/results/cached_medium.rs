//! Caches by what the storage is said to be: a rate that its bus does not carry, or a file system that answers from
//! memory whatever is asked of it.

use super::cache_measured::Seen;
use super::case::{Case, declares_memory, is_random, mean};
use crate::finding::{Confidence, Evidence};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_machine::mount::Mount;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Measured, Op, Side, Tool};

/// What a bus or medium carries at most, with room for the error of the law. USB 2.0 moves 13 packets of 512 bytes in
/// each eighth of a millisecond (specification, table 5-10: 53 MB/s); USB4 v1 tunnels PCIe at 4 GB/s; SATA's third
/// generation carries 600 MB/s; disks with two actuators read 560 MB/s on their outermost tracks.
const MOST: [(Word, f64, &str); 4] = [
    (Word::Usb2, 55e6, "USB at 480 Mbit/s carries 53 MB/s"),
    (Word::Rotating, 600e6, "a disk that turns reads 300 MB/s, with two actuators 560"),
    (Word::Sata, 620e6, "SATA carries 600 MB/s"),
    (Word::Usb, 4.1e9, "USB carries 4 GB/s"),
];

pub(super) fn above_the_bus(case: &Case<'_>, measured: &Measured, _: Op, side: &Side) -> Option<Seen> {
    let around = case.around;
    // A text may name several drives; which of them was measured is not told then.
    if around.has(Word::Array).or_else(|| around.has(Word::Nvme)).is_some() || names_nvme(measured) {
        return None;
    }
    let (source, most, why) = MOST.into_iter().find_map(|(word, most, why)| {
        Some((around.has(word)?, most, why)).filter(|_| side.bytes_per_second.get() > most)
    })?;
    Some((
        Confidence::Medium,
        vec![
            case.evidence(measured, "rate", human::rate(side.bytes_per_second)),
            Evidence::new("more than", human::rate(BytesPerSec::new(most)), source),
            Evidence::new("since", why, "the specification"),
        ],
    ))
}

fn names_nvme(measured: &Measured) -> bool {
    measured.work.target.as_deref().is_some_and(|target| target.contains("nvme"))
}

/// A file system in user space hands O_DIRECT on to nobody: what fits memory is read from there.
pub(super) fn ignores_direct(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    /// What a drive behind a driver in user space does not reach, and a rate of memory does.
    const FAST: f64 = 1e9;
    let source = case.around.has(Word::IgnoresDirect).filter(|_| op == Op::Read)?;
    let is_fast = side.bytes_per_second.get() > FAST
        || is_random(measured) && mean(side).is_some_and(|mean| mean < 30_000.0);
    let fits = measured.work.working_set.or(side.bytes).is_some_and(|set| case.fits_memory(set));
    (is_fast && fits).then(|| {
        (
            Confidence::Medium,
            vec![
                case.evidence(measured, "rate", human::rate(side.bytes_per_second)),
                Evidence::new("the file system", "in user space: O_DIRECT does not pass it", source),
            ],
        )
    })
}

/// ZFS before 2.3 takes O_DIRECT and ignores it (OpenZFS 2.3.0 release notes, "Direct IO"); a file that fits memory is
/// read from its cache. Latencies of a medium, or a pool that reads as much, show otherwise.
pub(super) fn in_arc(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let keeps = op == Op::Read && case.around.has(Word::NoArc).is_none();
    let source = case.around.has(Word::Zfs).filter(|_| keeps)?;
    let makes_files =
        matches!(case.result.tool, Tool::Fio | Tool::Kdiskmark | Tool::Crystaldiskmark | Tool::Asssd);
    let set = measured.work.working_set.filter(|set| makes_files && case.fits_memory(*set))?;
    let is_device = measured.work.target.as_deref().is_some_and(|target| target.starts_with("/dev/"));
    let pool_reads =
        case.around.pool.as_ref().is_some_and(|pool| pool.read.get() * 1.1 > side.bytes_per_second.get());
    // By Little's law the latency of one I/O, whatever the depth; a medium needs 50 µs for a random one.
    let waits = mean(side).is_some_and(|mean| mean > if is_random(measured) { 80_000.0 } else { 1e6 });
    (!is_device && !pool_reads && !waits).then(|| {
        let mut evidence = vec![
            Evidence::new("the file system", "ZFS, which reads from its cache what is there", source),
            case.evidence(measured, "working set", human::bytes(set)),
        ];
        evidence.extend(case.memory_evidence());
        evidence.extend(
            mean(side).map(|mean| case.evidence(measured, "mean latency of an I/O", Nanos::new(mean as u64))),
        );
        (Confidence::Medium, evidence)
    })
}

/// A file system in memory, by its type, on the machine that the same texts tell of. A path says nothing: `/tmp` may be
/// on a disk.
pub(super) fn on_tmpfs(case: &Case<'_>, measured: &Measured, _: Op, _: &Side) -> Option<Seen> {
    let machine = case.machine.filter(|machine| machine.captured.is_some())?;
    let target = measured.work.target.as_deref().filter(|target| target.starts_with('/'))?;
    if declares_memory(measured) {
        return None;
    }
    let holds = |mount: &&Mount| {
        let point = mount.point.trim_end_matches('/');
        target.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mount = machine.mounts.iter().filter(holds).max_by_key(|mount| mount.point.len())?;
    matches!(mount.fstype.as_str(), "tmpfs" | "ramfs" | "devtmpfs").then(|| {
        let value = format!("{} at {}", mount.fstype, mount.point);
        (Confidence::High, vec![Evidence::new("the file system", value, "the table of mounts")])
    })
}

/// One thread that copies out of the page cache reaches this, and one that waits for reads of a drive does not: each
/// page is copied, and the kernel reads ahead some hundred KiB.
const ONE_READER: f64 = 6e9;

/// dd through the page cache, faster than one reader gets from a drive.
pub(super) fn one_reader(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let is_plain = case.result.tool == Tool::Dd && op == Op::Read && measured.work.direct != Some(true);
    let fits = side.bytes.is_some_and(|bytes: Bytes| case.fits_memory(bytes));
    (is_plain && fits && side.bytes_per_second.get() > ONE_READER).then(|| {
        let rate = human::rate(side.bytes_per_second);
        (Confidence::Medium, vec![case.evidence(measured, "rate of one reader through the page cache", rate)])
    })
}

/// The cache of a drive: disks and SATA drives have 64 to 512 MiB of memory. A region as small as that, read again and
/// again, is answered from there whatever the operating system was told.
pub(super) fn in_the_drive(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    const SMALL: Bytes = Bytes::from_mib(64);
    const AGAIN: f64 = 4.0;
    let set = measured.work.working_set.filter(|set| set.get() > 0 && *set <= SMALL)?;
    let again = match case.result.tool {
        Tool::Fio | Tool::Diskspd if op == Op::Read => {
            let moved = side.bytes.filter(|moved| moved.as_f64() > AGAIN * set.as_f64())?;
            case.evidence(measured, "read from it", human::bytes(moved))
        }
        // Their protocol: the same file in each pass of each test.
        Tool::Kdiskmark | Tool::Crystaldiskmark => {
            case.evidence(measured, "visited", "again in each pass, by the tool's own protocol")
        }
        _ => return None,
    };
    Some((Confidence::Low, vec![case.evidence(measured, "region", human::bytes(set)), again]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of};
    use super::*;
    use crate::finding::Code;
    use narrows_paste::results::surroundings::Surroundings;

    fn judged(words: &[Word], gigabytes: f64) -> Vec<Code> {
        let words = words.iter().map(|word| (*word, "config.txt:1".to_owned())).collect();
        let mut result = fio_read("read", 60);
        let side = result.measurements[0].read.as_mut().expect("reads");
        side.bytes_per_second = BytesPerSec::from_gb(gigabytes);
        (side.iops, side.latency_ns, side.ios) = (None, None, None);
        codes(&verdict_of(&result, &Surroundings { words, ..Surroundings::default() }))
    }

    #[test]
    fn a_bus_carries_what_it_carries() {
        assert!(judged(&[Word::Usb], 5.7).contains(&Code::CacheMeasured));
        assert!(!judged(&[Word::Usb], 2.0).contains(&Code::CacheMeasured), "20 Gbit/s");
        assert!(judged(&[Word::Usb2], 0.5).contains(&Code::CacheMeasured));
        assert!(judged(&[Word::Rotating], 1.2).contains(&Code::CacheMeasured));
        assert!(!judged(&[Word::Rotating], 0.27).contains(&Code::CacheMeasured));
        assert!(!judged(&[Word::Rotating, Word::Array], 1.2).contains(&Code::CacheMeasured), "several disks");
        assert!(
            !judged(&[Word::Sata, Word::Nvme], 3.0).contains(&Code::CacheMeasured),
            "which of both is not told"
        );
    }
}
