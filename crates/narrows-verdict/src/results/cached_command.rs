//! Caches by command and by counters: what was asked for goes through the page cache, or the devices moved fewer bytes than the tool.

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_paste::results::devices::{Device, IostatSample};
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Durability, Imported, Measured, Op, Side, Tool, is_reordered};

use super::case::{Case, MOST_BESIDE, Signs, is_random};
use crate::finding::{Confidence, Evidence};

/// Caches by command: what was asked for goes through the page cache, and fits it.
pub(super) fn by_command(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    match case.result.tool {
        Tool::Dd | Tool::Copy => of_dd(case, measured, op, side),
        Tool::Fio => of_fio(case, measured, op, side),
        Tool::Iozone | Tool::Diskspd => buffered(case, measured, op),
        Tool::Sysbench | Tool::Fsmark => prepared(case, measured, op),
        Tool::F3 | Tool::Radosbench => read_back(case, measured, op, side),
        Tool::Ior => of_ior(case, measured, op, side),
        Tool::Io500 => of_io500(case, measured, op, side),
        Tool::Elbencho => of_elbencho(case, measured, op),
        Tool::Bonnie => of_bonnie(case, measured, op),
        _ => None,
    }
}

fn through_cache(case: &Case<'_>, measured: &Measured, op: Op, bytes: Bytes) -> Signs {
    let how = match (op, measured.work.durability) {
        (Op::Read, _) => "through the page cache",
        (Op::Write, Some(Durability::AtEnd)) => "through the page cache, flushed at the end",
        (Op::Write, _) => "through the page cache, never flushed",
    };
    let mut evidence = vec![
        case.evidence(measured, "asked for", how),
        case.evidence(measured, "moved or visited", human::bytes(bytes)),
    ];
    match case.memory() {
        Some((memory, source)) => evidence.push(Evidence::new("main memory", human::bytes(memory), source)),
        None => evidence.push(Evidence::new("main memory", "not told; most machines have more", "")),
    }
    (Confidence::Medium, evidence)
}

/// dd writes into the page cache and returns, unless `oflag` or `conv` says otherwise. It reads from the cache what it
/// wrote before.
fn of_dd(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    let bytes = side.bytes.filter(|bytes| case.fits_memory(*bytes))?;
    let is_cached = measured.work.direct == Some(false)
        && match op {
            Op::Write => {
                measured.work.durability == Some(Durability::None)
                    && !is_null(measured)
                    && !was_written_back(side)
            }
            Op::Read => !case.result.is_cold && wrote_before(case, measured),
        };
    is_cached.then(|| through_cache(case, measured, op, bytes))
}

/// Whether a write through the page cache took so long that nearly all of it is on the medium: Linux writes back what is
/// older than 30 s, and looks every 5 s (`dirty_expire_centisecs`, `dirty_writeback_centisecs`), so that no more than the
/// last 35 s are in memory. Of ten times as long that is a tenth.
fn was_written_back(side: &Side) -> bool {
    const HELD: Nanos = Nanos::from_millis(35_000);
    side.elapsed_ns.is_some_and(|time| time.as_secs_f64() > 10.0 * HELD.as_secs_f64())
}

fn is_null(measured: &Measured) -> bool {
    measured.work.target.as_deref().is_none_or(|target| target.starts_with("/dev/null"))
}

/// Whether another copy, above this one, wrote the same file.
fn wrote_before(case: &Case<'_>, measured: &Measured) -> bool {
    let Some(target) = measured.work.target.as_deref() else { return false };
    case.beside.is_written_before(target, case.result)
}

/// fio drops a file's pages before it starts, so that only reads for the second time are cached.
fn of_fio(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    if measured.work.direct != Some(false) {
        return None;
    }
    let bytes = side.bytes?;
    let visited = measured.work.working_set.map_or(bytes, |set| set.min(bytes));
    let is_cached = match op {
        Op::Write => {
            measured.work.durability == Some(Durability::None)
                && measured.sync_ns.is_none()
                && !was_written_back(side)
        }
        Op::Read => measured.work.working_set.is_some_and(|set| bytes.as_f64() > 1.1 * set.as_f64()),
    };
    (is_cached && case.fits_memory(visited)).then(|| through_cache(case, measured, op, visited))
}

/// IOzone writes its own file first, and diskspd visits it again and again.
fn buffered(case: &Case<'_>, measured: &Measured, op: Op) -> Option<Signs> {
    let set = measured.work.working_set.filter(|set| case.fits_memory(*set))?;
    let durable =
        op == Op::Write && matches!(measured.work.durability, Some(Durability::Each | Durability::AtEnd));
    (measured.work.direct == Some(false) && !durable).then(|| through_cache(case, measured, op, set))
}

/// `sysbench fileio` visits files that its `prepare` has written, again and again, and fs_mark writes new ones: both through
/// the page cache. fsync after some requests, of files that fit memory, still leaves the reads there.
fn prepared(case: &Case<'_>, measured: &Measured, op: Op) -> Option<Signs> {
    let set = measured.work.working_set.filter(|set| case.fits_memory(*set))?;
    let durable = match case.result.tool {
        // What its fsyncs wait for is of few requests.
        Tool::Sysbench => op == Op::Write && measured.work.durability == Some(Durability::Each),
        _ => measured.work.durability != Some(Durability::None),
    };
    (measured.work.direct == Some(false) && !durable).then(|| through_cache(case, measured, op, set))
}

/// What was just written is read back many times as fast, and fits memory: f3read and `rados bench seq` after their writes.
/// Media read a few times as fast as they write, and three copies with a journal make that six.
fn read_back(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    const RATIO: f64 = 8.0;
    let bytes = side.bytes.filter(|bytes| op == Op::Read && case.fits_memory(*bytes))?;
    let before = case.beside.results().take_while(|one| one.place() != case.result.place());
    let written = before.filter(|one| one.tool == case.result.tool && one.file == case.result.file).last()?;
    let write = written.measurements.iter().find_map(|one| one.write.as_ref())?;
    let ratio = side.bytes_per_second.get() / write.bytes_per_second.get();
    let is_same = write.bytes.is_some_and(|amount| (0.5..2.0).contains(&(amount.as_f64() / bytes.as_f64())));
    (is_same && ratio > RATIO).then(|| {
        let evidence = vec![
            case.evidence(measured, "read back", human::bytes(bytes)),
            Evidence::new("times as fast as it was written", format!("{ratio:.0}"), written.place()),
        ];
        (Confidence::Low, evidence)
    })
}

/// bonnie++ reads what it has just written, so that its makers ask for twice the memory. It waits for its writes.
fn of_bonnie(case: &Case<'_>, measured: &Measured, op: Op) -> Option<Signs> {
    let (memory, _) = case.memory()?;
    let set = measured.work.working_set.filter(|set| *set < memory)?;
    let reads_back = op == Op::Read || measured.work.label == "rewrite";
    reads_back.then(|| through_cache(case, measured, Op::Read, set))
}

/// elbencho without `--direct`: writes are in the page cache unless `--sync` is a phase of its own, and what the same
/// call wrote is read from there unless `--dropcache` is one.
fn of_elbencho(case: &Case<'_>, measured: &Measured, op: Op) -> Option<Signs> {
    let set = measured
        .work
        .working_set
        .filter(|set| measured.work.direct == Some(false) && case.fits_memory(*set))?;
    let has = |flag: &str| case.result.command.as_deref().is_some_and(|command| command.contains(flag));
    let wrote = case.result.measurements.iter().any(|one| one.write.is_some());
    // Several nodes: what one wrote another may read, and its memory is not theirs.
    let is_cached = measured.nodes.is_none_or(|nodes| nodes == 1)
        && !has("--dropcache")
        && (op == Op::Write && !has("--sync") || op == Op::Read && wrote);
    is_cached.then(|| through_cache(case, measured, op, set))
}

/// IO500 asks for 300 s of writing so that caches are full. A read of the same files that is over in seconds, and ten
/// times as fast, is one of what caches still had.
fn of_io500(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    const SHORT: Nanos = Nanos::from_millis(30_000);
    const RATIO: f64 = 10.0;
    let phase = measured.work.label.strip_suffix("-read").filter(|_| op == Op::Read)?;
    let write = case.result.measurements.iter().find(|one| one.work.label == format!("{phase}-write"))?;
    let ratio = side.bytes_per_second.get() / write.write.as_ref()?.bytes_per_second.get().max(1.0);
    // A time of nothing is less than a millisecond.
    let is_short = side.elapsed_ns.is_none_or(|time| time < SHORT);
    (is_short && ratio > RATIO).then(|| {
        let took = side.elapsed_ns.map_or_else(|| "nothing measurable".to_owned(), human::time);
        let faster = format!("{ratio:.0} times");
        (
            Confidence::Medium,
            vec![
                case.evidence(measured, "took", took),
                case.evidence(measured, "as fast as the write of the same data", faster),
            ],
        )
    })
}

/// IOR: without fsync a short write is one to the page cache; without reordering, or on one node, readers read what their own
/// node wrote; and a read that is over in seconds of what took minutes to write fits the caches of the servers.
fn of_ior(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    /// IO500 asks for 300 s of writing because caches hold seconds of it.
    const SHORT: Nanos = Nanos::from_millis(30_000);
    /// Media read faster than they write, but not ten times.
    const RATIO: f64 = 10.0;
    let elapsed = side.elapsed_ns.filter(|time| *time < SHORT)?;
    let command = case.result.command.as_deref();
    let took = case.evidence(measured, "took", human::time(elapsed));
    if op == Op::Write {
        return (measured.work.durability == Some(Durability::None)).then(|| {
            (Confidence::Medium, vec![took, case.evidence(measured, "fsync", "not asked for (-e)")])
        });
    }
    let same = case.beside.results().filter(|other| is_same_file(other, measured, case.result));
    let write =
        same.flat_map(|other| other.measurements.iter().take(MOST_BESIDE)).find_map(|one| one.write.as_ref());
    let write = write?.bytes_per_second;
    // With one node there is no other that the ranks could be moved to.
    let on_one = measured.nodes == Some(1) && measured.work.direct != Some(true);
    if let Some(set) = measured.work.working_set.filter(|set| on_one && case.fits_memory(*set)) {
        let (_, mut evidence) = through_cache(case, measured, op, set);
        evidence.push(case.evidence(measured, "reader", "the one node, which wrote the data seconds before"));
        return Some((Confidence::Low, evidence));
    }
    let ratio = side.bytes_per_second.get() / write.get().max(1.0);
    if command.is_some_and(|command| !is_reordered(command)) && ratio > 1.5 {
        let own = case.evidence(measured, "reader", "the node that wrote the data (no -C or -Z)");
        return Some((Confidence::Medium, vec![took, own]));
    }
    (ratio > RATIO).then(|| {
        let faster =
            case.evidence(measured, "as fast as the write of the same data", format!("{ratio:.0} times"));
        (Confidence::Medium, vec![took, faster])
    })
}

fn is_same_file(other: &Imported, measured: &Measured, own: &Imported) -> bool {
    let is_own = std::ptr::eq(other, own);
    other.tool == Tool::Ior
        && (is_own
            || measured.work.target.is_some()
                && other
                    .measurements
                    .iter()
                    .take(MOST_BESIDE)
                    .any(|one| one.work.target == measured.work.target))
}

/// The tool moved more than this many times what the devices did. Edges of the two windows explain less.
const MORE: f64 = 1.1;

/// Counters of block devices that fio prints. Only I/Os that must reach the device one by one count: past the page
/// cache, or at random. The kernel splits large I/Os, so that the device's count can only be higher.
pub(super) fn by_device_counters(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
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
pub(super) fn by_iostat(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
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
    let of: fn(&IostatSample) -> Option<BytesPerSec> = match op {
        Op::Read => |sample| sample.read,
        Op::Write => |sample| sample.write,
    };
    let rates = base_devices(all.get(..MOST_BESIDE).unwrap_or(all)).into_iter().filter_map(|device| {
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
pub(super) fn by_pool_counters(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
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

    fn dd(flags: &str, gigabytes: u64) -> Vec<Code> {
        let bytes = gigabytes * 1_000_000_000;
        let text = format!(
            "$ dd if=/dev/urandom of=/srv/x bs=1M {flags}\n1+0 records in\n1+0 records out\n{bytes} bytes (1 GB) copied, 60.5 s, 9 MB/s\n"
        );
        codes(&verdicts(&text).remove(0))
    }

    #[test]
    fn a_copy_into_the_page_cache_is_no_measurement() {
        assert!(dd("", 4).contains(&Code::CacheMeasured));
        for flags in ["oflag=direct", "conv=fdatasync", "conv=fsync", "oflag=dsync"] {
            assert!(!dd(flags, 4).contains(&Code::CacheMeasured), "{flags}");
        }
        assert!(!dd("", 400).contains(&Code::CacheMeasured));
    }

    #[test]
    fn a_write_of_many_minutes_is_on_the_medium() {
        let text = |seconds: u64, rate: &str| {
            format!(
                "$ dd if=/dev/urandom of=/srv/x bs=1M\n1+0 records in\n1+0 records out\n1000000000 bytes (1 GB) copied, {seconds} s, {rate} MB/s\n"
            )
        };
        let cached = |text: String| codes(&verdicts(&text).remove(0)).contains(&Code::CacheMeasured);
        assert!(cached(text(100, "10")) && !cached(text(481, "2.1")));
    }

    #[test]
    fn a_read_of_what_was_just_written_is_cached() {
        let text = "$ dd if=/dev/urandom of=/srv/x bs=1M conv=fsync\n1+0 records in\n1+0 records out\n1000000000 bytes (1 GB) copied, 40 s, 25 MB/s\n\
            $ dd if=/srv/x of=/dev/null bs=1M\n1+0 records in\n1+0 records out\n1000000000 bytes (1 GB) copied, 40 s, 25 MB/s\n";
        let all = verdicts(text);
        assert!(
            !codes(&all[0]).contains(&Code::CacheMeasured) && codes(&all[1]).contains(&Code::CacheMeasured)
        );
        let emptied = text.replace("$ dd if=/srv/x", "$ echo 3 >/proc/sys/vm/drop_caches\n$ dd if=/srv/x");
        assert!(!codes(&verdicts(&emptied)[1]).contains(&Code::CacheMeasured));
    }

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
