//! Caches by command and by counters: what was asked for goes through the page cache, or the devices moved fewer bytes than the tool.

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_paste::results::devices::{Device, IostatSample};
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Durability, Imported, Measured, Op, Side, Tool, is_reordered};

use super::result::{MOST_BESIDE, Run, Signs};
use crate::finding::Confidence;

/// Caches by command: what was asked for goes through the page cache, and fits it.
pub(super) fn by_command(run: &Run<'_>) -> Option<Signs> {
    match run.tool() {
        Tool::Dd | Tool::Copy => of_dd(run),
        Tool::Fio => of_fio(run),
        Tool::Iozone | Tool::Diskspd | Tool::Xfsio | Tool::Stressng | Tool::Iobench => buffered(run),
        Tool::Sysbench | Tool::Fsmark => prepared(run),
        Tool::F3 | Tool::Radosbench => read_back(run),
        Tool::Ior => of_ior(run),
        Tool::Io500 => of_io500(run),
        Tool::Elbencho => of_elbencho(run),
        Tool::Bonnie => of_bonnie(run),
        _ => None,
    }
}

/// Whether it lasted as slow as a medium, too slow for memory: even the processor of a single-board computer copies some hundred
/// MB/s. Writes may wait in memory for 35 s ([`was_written_back`]), and are given thrice that.
fn is_slow_and_long(run: &Run<'_>) -> bool {
    const SLOW: f64 = 200e6;
    let least = Nanos::from_millis(run.op.pick(20_000, 105_000));
    let jobs = f64::from(run.measured.work.jobs.unwrap_or(1).max(1));
    let lasted = run.side.elapsed_ns.is_some_and(|time| time >= least);
    lasted && run.rate().get() / jobs < SLOW
}

fn through_cache(run: &Run<'_>, op: Op, bytes: Bytes) -> Signs {
    let how = match (op, run.measured.work.durability) {
        (Op::Read, _) => "through the page cache",
        (Op::Write, Some(Durability::AtEnd)) => "through the page cache, flushed at the end",
        (Op::Write, _) => "through the page cache, never flushed",
    };
    let signs = run.signs().seen("asked for", how).seen("moved or visited", bytes);
    match run.case.memory() {
        Some((memory, source)) => signs.told("main memory", memory, source),
        None => signs.told("main memory", "not told; most machines have more", ""),
    }
}

/// dd writes into the page cache and returns, unless `oflag` or `conv` says otherwise. It reads from the cache what it
/// wrote before.
fn of_dd(run: &Run<'_>) -> Option<Signs> {
    let bytes = run.side.bytes.filter(|bytes| run.case.fits_memory(*bytes))?;
    let target = run.measured.work.target.as_deref();
    let is_null = target.is_none_or(|target| target.starts_with("/dev/null"));
    // Another copy, above this one, wrote the same file.
    let before = |target| run.case.beside.is_written_before(target, run.case.result);
    let is_cached = match run.op {
        Op::Write => run.is_durable(Durability::None) && !is_null && !was_written_back(run.side),
        Op::Read => !run.case.result.is_cold && target.is_some_and(before) && !is_slow_and_long(run),
    };
    (run.is_buffered() && is_cached).then(|| through_cache(run, run.op, bytes))
}

/// Whether a write through the page cache took so long that nearly all of it is on the medium: Linux writes back what is
/// older than 30 s, and looks every 5 s (`dirty_expire_centisecs`, `dirty_writeback_centisecs`), so that no more than the
/// last 35 s are in memory. Of ten times as long that is a tenth.
fn was_written_back(side: &Side) -> bool {
    const HELD: Nanos = Nanos::from_millis(35_000);
    side.elapsed_ns.is_some_and(|time| time.as_secs_f64() > 10.0 * HELD.as_secs_f64())
}

/// fio drops a file's pages before it starts, so that only reads for the second time are cached.
fn of_fio(run: &Run<'_>) -> Option<Signs> {
    let bytes = run.side.bytes.filter(|_| run.is_buffered())?;
    let visited = run.measured.work.working_set.map_or(bytes, |set| set.min(bytes));
    let syncs = !run.is_durable(Durability::None) || run.measured.sync_ns.is_some();
    let is_cached = match run.op {
        Op::Write => !syncs && !was_written_back(run.side),
        Op::Read => run.measured.work.working_set.is_some_and(|set| bytes.as_f64() > 1.1 * set.as_f64()),
    };
    (is_cached && run.case.fits_memory(visited)).then(|| through_cache(run, run.op, visited))
}

/// IOzone writes its own file first, and diskspd visits it again and again.
fn buffered(run: &Run<'_>) -> Option<Signs> {
    let set = run.set_in_memory()?;
    let is_durable = run.is_durable(Durability::Each) || run.is_durable(Durability::AtEnd);
    let waits = run.op == Op::Write && is_durable;
    (run.is_buffered() && !waits).then(|| through_cache(run, run.op, set))
}

/// `sysbench fileio` visits files that its `prepare` has written, again and again, and fs_mark writes new ones: both through
/// the page cache. fsync after some requests, of files that fit memory, still leaves the reads there.
fn prepared(run: &Run<'_>) -> Option<Signs> {
    let set = run.set_in_memory()?;
    let durable = match run.tool() {
        // What its fsyncs wait for is of few requests.
        Tool::Sysbench => run.op == Op::Write && run.is_durable(Durability::Each),
        _ => !run.is_durable(Durability::None),
    };
    // Where nothing tells how much memory there is, what lasted as slow as a medium is not taken for memory.
    let is_too_slow = run.case.memory().is_none() && is_slow_and_long(run);
    (run.is_buffered() && !durable && !is_too_slow).then(|| through_cache(run, run.op, set))
}

/// What was just written is read back many times as fast, and fits memory: f3read and `rados bench seq` after their writes.
/// Media read a few times as fast as they write, and three copies with a journal make that six.
fn read_back(run: &Run<'_>) -> Option<Signs> {
    const RATIO: f64 = 8.0;
    let bytes = run.side.bytes.filter(|bytes| run.op == Op::Read && run.case.fits_memory(*bytes))?;
    let own = run.case.result;
    let before = run.case.beside.results().take_while(|one| one.place() != own.place());
    let written = before.filter(|one| one.tool == own.tool && one.file == own.file).last()?;
    let write = written.measurements.iter().find_map(|one| one.write.as_ref())?;
    let ratio = run.rate().get() / write.bytes_per_second.get();
    let is_same = write.bytes.is_some_and(|amount| (0.5..2.0).contains(&(amount.as_f64() / bytes.as_f64())));
    (is_same && ratio > RATIO).then(|| {
        let signs = run.signs().seen("read back", bytes).with_confidence(Confidence::Low);
        signs.told("times as fast as it was written", format!("{ratio:.0}"), written.place())
    })
}

/// bonnie++ reads what it has just written, so that its makers ask for twice the memory. It waits for its writes.
fn of_bonnie(run: &Run<'_>) -> Option<Signs> {
    let (memory, _) = run.case.memory()?;
    let set = run.measured.work.working_set.filter(|set| *set < memory)?;
    let reads_back = run.op == Op::Read || run.measured.work.label == "rewrite";
    reads_back.then(|| through_cache(run, Op::Read, set))
}

/// elbencho without `--direct`: writes are in the page cache unless `--sync` is a phase of its own, and what the same
/// call wrote is read from there unless `--dropcache` is one.
fn of_elbencho(run: &Run<'_>) -> Option<Signs> {
    let set = run.set_in_memory().filter(|_| run.is_buffered())?;
    let has = |flag: &str| run.case.result.command.as_deref().is_some_and(|command| command.contains(flag));
    let wrote = run.case.result.measurements.iter().any(|one| one.write.is_some());
    // Several nodes: what one wrote another may read, and its memory is not theirs.
    let is_cached = run.measured.nodes.is_none_or(|nodes| nodes == 1)
        && !has("--dropcache")
        && (run.op == Op::Write && !has("--sync") || run.op == Op::Read && wrote);
    is_cached.then(|| through_cache(run, run.op, set))
}

/// IO500 asks for 300 s of writing so that caches are full. A read of the same files that is over in seconds, and ten
/// times as fast, is one of what caches still had.
fn of_io500(run: &Run<'_>) -> Option<Signs> {
    const SHORT: Nanos = Nanos::from_millis(30_000);
    const RATIO: f64 = 10.0;
    let phase = run.measured.work.label.strip_suffix("-read").filter(|_| run.op == Op::Read)?;
    let write = run.case.result.measurements.iter().find(|one| one.work.label == format!("{phase}-write"))?;
    let ratio = run.rate().get() / write.write.as_ref()?.bytes_per_second.get().max(1.0);
    // A time of nothing is less than a millisecond.
    let is_short = run.side.elapsed_ns.is_none_or(|time| time < SHORT);
    (is_short && ratio > RATIO).then(|| {
        let took = run.side.elapsed_ns.map_or_else(|| "nothing measurable".to_owned(), human::time);
        let faster = format!("{ratio:.0} times");
        run.signs().seen("took", took).seen("as fast as the write of the same data", faster)
    })
}

/// IOR: without fsync a short write is one to the page cache; without reordering, or on one node, readers read what their own
/// node wrote; and a read that is over in seconds of what took minutes to write fits the caches of the servers.
fn of_ior(run: &Run<'_>) -> Option<Signs> {
    /// IO500 asks for 300 s of writing because caches hold seconds of it.
    const SHORT: Nanos = Nanos::from_millis(30_000);
    /// Media read faster than they write, but not ten times.
    const RATIO: f64 = 10.0;
    let elapsed = run.side.elapsed_ns.filter(|time| *time < SHORT)?;
    let command = run.case.result.command.as_deref();
    let took = run.signs().seen("took", elapsed);
    if run.op == Op::Write {
        return run.is_durable(Durability::None).then(|| took.seen("fsync", "not asked for (-e)"));
    }
    let same = run.case.beside.results().filter(|other| is_same_file(other, run.measured, run.case.result));
    // What it wrote itself, before what others wrote to a file of that name.
    let mut same = std::iter::once(run.case.result).chain(same).flat_map(first_measurements);
    let write = same.find_map(|one| one.write.as_ref())?.bytes_per_second;
    // With one node there is no other that the ranks could be moved to.
    let on_one = run.measured.nodes == Some(1) && !run.is_direct();
    if let Some(set) = run.set_in_memory().filter(|_| on_one) {
        let signs = through_cache(run, run.op, set).with_confidence(Confidence::Low);
        return Some(signs.seen("reader", "the one node, which wrote the data seconds before"));
    }
    let ratio = run.rate().get() / write.get().max(1.0);
    if command.is_some_and(|command| !is_reordered(command)) && ratio > 1.5 {
        return Some(took.seen("reader", "the node that wrote the data (no -C or -Z)"));
    }
    (ratio > RATIO).then(|| took.seen("as fast as the write of the same data", format!("{ratio:.0} times")))
}

fn first_measurements(result: &Imported) -> impl Iterator<Item = &Measured> {
    result.measurements.iter().take(MOST_BESIDE)
}

fn is_same_file(other: &Imported, measured: &Measured, own: &Imported) -> bool {
    let target = measured.work.target.as_ref();
    let has_target = || first_measurements(other).any(|one| one.work.target.as_ref() == target);
    other.tool == Tool::Ior && (std::ptr::eq(other, own) || target.is_some() && has_target())
}

/// The tool moved more than this many times what the devices did. Edges of the two windows explain less.
const MORE: f64 = 1.1;

/// Counters of block devices that fio prints. Only I/Os that must reach the device one by one count: past the page
/// cache, or at random. The kernel splits large I/Os, so that the device's count can only be higher.
pub(super) fn by_device_counters(run: &Run<'_>) -> Option<Signs> {
    let device = run.measured.devices.first()?;
    let ios = run.side.ios.filter(|ios| *ios > 0)?;
    let reaches = run.is_direct() || run.op.pick(run.is_random(), run.is_durable(Durability::Each));
    // The kernel's counters of a run of less than a second are of another time.
    if !reaches || run.side.elapsed_ns.is_none_or(|time| time < Nanos::from_millis(2000)) {
        return None;
    }
    let (done, merged, bytes) = run.op.pick(
        (device.read_ios, device.read_merges, device.read_bytes),
        (device.write_ios, device.write_merges, device.write_bytes),
    );
    let (asked, seen, what) = match (run.side.bytes, bytes) {
        (Some(asked), Some(seen)) => (asked.as_f64(), seen.as_f64(), "bytes"),
        _ => (ios as f64, done.saturating_add(merged) as f64, "I/Os"),
    };
    (asked > MORE * seen).then(|| {
        run.signs()
            .with_confidence(Confidence::High)
            .seen(format!("{what} of the tool"), human::count(asked))
            .seen(format!("{what} of {}", device.name), human::count(seen))
    })
}

/// A device that did less than this part of what the tool says was looked at in another time, or is not the one.
const SAME_TIME: f64 = 0.1;

/// What `iostat -x` shows of the same time: what the tool moved beyond that came from memory. Several measurements in one
/// text may each have been the busiest interval, so that there only the most that was seen counts.
pub(super) fn by_iostat(run: &Run<'_>) -> Option<Signs> {
    let reaches = run.op == Op::Read || run.is_direct() || run.is_durable(Durability::Each);
    // Behind a network the disks of this machine are not those that were measured.
    if !reaches || run.has(Word::Network).is_some() {
        return None;
    }
    let rates = &run.case.beside.of_op(run.op).rates;
    let moved: f64 = rates.iter().map(|(_, rate)| rate.get()).sum();
    let asked = run.rate();
    if asked.get() <= MORE * moved || moved < SAME_TIME * asked.get() {
        return None;
    }
    let (busiest, rate) = rates.iter().max_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    let signs = run.signs().seen("rate of the tool", asked);
    let signs = signs.told("rate of all block devices", BytesPerSec::new(moved), &busiest.source);
    let Some(busy) = busiest.busy() else { return Some(signs) };
    let shown = format!("{rate}, busy {}", human::percent(busy.min(1.0)));
    Some(signs.told(format!("median of {}", busiest.name), shown, &busiest.source))
}

/// What each device did in one direction; with a single measurement in the text (`is_alone`) the median of its samples.
pub(super) fn rates_of_devices(all: &[Device], op: Op, is_alone: bool) -> Vec<(&Device, BytesPerSec)> {
    let of: fn(&IostatSample) -> Option<BytesPerSec> = op.pick(|sample| sample.read, |sample| sample.write);
    let rate = |device: &Device| if is_alone { device.rate(of) } else { device.most(of) };
    let devices = base_devices(all.get(..MOST_BESIDE).unwrap_or(all)).into_iter();
    devices.filter_map(|device| Some((device, rate(device)?))).collect()
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
pub(super) fn by_pool_counters(run: &Run<'_>) -> Option<Signs> {
    let pool = run.case.around.pool.as_ref().filter(|pool| run.op == Op::Read && pool.read.get() > 0.0)?;
    if run.rate().get() <= MORE * pool.read.get() {
        return None;
    }
    let signs = run.signs().seen("rate of the tool", run.rate()).with_confidence(Confidence::High);
    let signs = signs.told(format!("median rate of pool {}", pool.name), pool.read, &pool.source);
    Some(match &run.case.around.arc_hits {
        Some((hits, source)) => signs.told("reads that the ARC answered", human::percent(*hits), source),
        None => signs,
    })
}

#[cfg(test)]
mod tests {
    use crate::finding::Code;
    use crate::results::testing::{codes, verdicts};

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
            $ dd if=/srv/x of=/dev/null bs=1M\n1+0 records in\n1+0 records out\n1000000000 bytes (1 GB) copied, 2 s, 500 MB/s\n";
        let all = verdicts(text);
        assert!(
            !codes(&all[0]).contains(&Code::CacheMeasured) && codes(&all[1]).contains(&Code::CacheMeasured)
        );
        let slow = text.replace("2 s, 500 MB/s", "40 s, 25 MB/s");
        assert!(!codes(&verdicts(&slow)[1]).contains(&Code::CacheMeasured), "memory is not so slow");
        let emptied = text.replace("$ dd if=/srv/x", "$ echo 3 >/proc/sys/vm/drop_caches\n$ dd if=/srv/x");
        assert!(!codes(&verdicts(&emptied)[1]).contains(&Code::CacheMeasured));
    }

    #[test]
    fn what_lasted_as_slow_as_a_medium_is_not_taken_for_memory_that_nothing_tells() {
        let read = |mib: u32| {
            format!(
                "$ sysbench --test=fileio --file-total-size=8G --file-test-mode=seqrd run\n\
                 sysbench 0.4.12:  multi-threaded system evaluation benchmark\nExtra file open flags: 0\n128 files, 64Mb each\n8Gb total file size\nBlock size 16Kb\n\
                 Using synchronous I/O mode\nDoing sequential read test\nDone.\n\n\
                 Operations performed:  524288 Read, 0 Write, 0 Other = 524288 Total\n\
                 Read 8Gb  Written 0b  Total transferred 8Gb  ({mib}Mb/sec)\n{} Requests/sec executed\n\n\
                 Test execution summary:\n    total time:  {:.4}s\n",
                mib * 64,
                8192.0 / f64::from(mib)
            )
        };
        let cached = |text: &str| codes(&verdicts(text).remove(0)).contains(&Code::CacheMeasured);
        assert!(!cached(&read(167)) && cached(&read(2000)));
        let told = format!("MemTotal:       16318480 kB\n{}", read(167));
        assert!(cached(&told));
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
