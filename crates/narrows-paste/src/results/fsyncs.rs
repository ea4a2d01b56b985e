//! Programs that time fsyncs of small files: `pg_test_fsync` of PostgreSQL, pveperf of Proxmox VE.

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

use super::command::{Commands, letter, option};
use super::number::{MIB, leading, plain, seconds, span, whole};
use super::{Durability, Imported, Latency, Measured, Op, Page, Side, Tool, Work};

/// `pg_test_fsync` of PostgreSQL: writes of 8 KiB, each made durable in one of the ways that a database may use.
///
/// An operation is so many writes as the heading or the row says, at one place of the file, and what makes them durable
/// (`src/bin/pg_test_fsync/pg_test_fsync.c`). Its kB is 1024.
pub(super) fn read_pg_test_fsync(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut run = PgTestRun::default();
    for (number, line) in page.lines() {
        commands.see(number, line, "pg_test_fsync");
        // Marks of a comment may be gone from its indented lines alone.
        let line = line.trim().trim_start_matches(|c: char| !c.is_alphanumeric());
        if let Some(time) = length(line) {
            run = PgTestRun { each: Some(time), ..PgTestRun::default() };
        } else if let Some(part) = PgTestPart::of(line) {
            // Each run begins with this part, so that one without its first lines is told as well.
            if part == PgTestPart::One || run.part.is_none() {
                let command = commands.taken();
                let file =
                    |command: &str| Some(letter(command, "-f").or(option(command, "filename"))?.to_owned());
                run.target = command.as_deref().and_then(file);
                let is_headless = part != PgTestPart::One;
                let result = Imported::new(Tool::Pgtestfsync, page.name, number);
                found.push(Imported { command, is_headless, ..result });
            }
            run.part = Some(part);
        } else {
            // Its first part may be pasted without a heading.
            if run.part.is_none() && is_first_row(line) {
                run.part = Some(PgTestPart::One);
                let result = Imported::new(Tool::Pgtestfsync, page.name, number);
                found.push(Imported { is_headless: true, command: commands.taken(), ..result });
            }
            if let (Some(measured), Some(result)) = (run.row(number, line), found.last_mut()) {
                result.measurements.push(measured);
            }
        }
    }
    found
}

/// `fdatasync    4935.556 ops/sec     203 usecs/op`, of the first part.
fn is_first_row(line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or_default();
    let is_way = matches!(name, "open_datasync" | "fdatasync" | "fsync" | "fsync_writethrough" | "open_sync");
    is_way && line.contains(" ops/sec") && line.ends_with(" usecs/op")
}

/// `5 seconds per test`.
fn length(line: &str) -> Option<Nanos> {
    let (number, rest) = whole(line)?;
    rest.trim().starts_with("seconds per test").then(|| seconds(number as f64))?
}

/// A part of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PgTestPart {
    /// One write, each way to make it durable.
    One,
    /// Two writes.
    Two,
    /// 16 KiB in writes of several sizes, each durable.
    Sizes,
    /// By another handle of the file than that which wrote.
    Handles,
    /// Writes that are not made durable.
    Plain,
}

impl PgTestPart {
    fn of(line: &str) -> Option<Self> {
        const HEADS: [(&str, PgTestPart); 6] = [
            ("Compare file sync methods using one", PgTestPart::One),
            ("Compare file sync methods using two", PgTestPart::Two),
            ("Compare open_sync with different write sizes", PgTestPart::Sizes),
            ("Test if fsync on non-write file descriptor", PgTestPart::Handles),
            ("Non-sync'ed ", PgTestPart::Plain),
            ("Non-Synced ", PgTestPart::Plain),
        ];
        HEADS.into_iter().find(|(head, _)| line.starts_with(head)).map(|(_, part)| part)
    }
}

#[derive(Debug, Default)]
struct PgTestRun {
    each: Option<Nanos>,
    part: Option<PgTestPart>,
    target: Option<String>,
}

impl PgTestRun {
    /// `fdatasync    4935.556 ops/sec     203 usecs/op`.
    fn row(&self, number: usize, line: &str) -> Option<Measured> {
        const EIGHT: u64 = 8192;
        let part = self.part?;
        let (before, rest) = line.split_once(" ops/sec")?;
        // A heading that was joined to the row above is lost with it.
        let micros = rest.trim().strip_suffix("usecs/op").map(str::trim);
        if !rest.trim().is_empty() && micros.and_then(plain).is_none() {
            return None;
        }
        let (name, figure) = before.trim_end().rsplit_once(char::is_whitespace)?;
        let name = name.trim();
        // Some languages write `25096,743`.
        let ops = plain(&figure.replace(',', ".")).filter(|ops| *ops > 0.0)?;
        let (writes, size) = match part {
            PgTestPart::One | PgTestPart::Handles | PgTestPart::Plain => (1, EIGHT),
            PgTestPart::Two => (2, EIGHT),
            PgTestPart::Sizes => sizes(name)?,
        };
        let is_call =
            matches!(name, "fsync" | "fdatasync" | "fsync_writethrough") || part == PgTestPart::Handles;
        let work = Work {
            block_size: Some(Bytes::new(size)),
            durability: Some(if part == PgTestPart::Plain { Durability::None } else { Durability::Each }),
            working_set: Some(Bytes::new(writes * size)),
            target: self.target.clone(),
            ..Work::one_at_a_time(if part == PgTestPart::Two {
                format!("{name}, {writes} writes")
            } else {
                name.to_owned()
            })
        };
        let rate = ops * writes as f64;
        let side = Side {
            iops: Some(Iops::new(rate)),
            latency_ns: (writes == 1).then(|| Latency::of_mean(1e9 / ops)),
            elapsed_ns: self.each,
            ..Side::at(BytesPerSec::new(rate * size as f64))
        };
        let mut measured = Measured::of(number, work, Op::Write, side);
        // They go to memory, and nobody waits for more.
        measured.memory_only = part == PgTestPart::Plain;
        measured.syncs = is_call.then(|| Iops::new(ops));
        Some(measured)
    }
}

/// `2 *  8kB open_sync writes`: how many writes of how many bytes; before 2012 without the count, of 16 KiB in all.
fn sizes(name: &str) -> Option<(u64, u64)> {
    const ALL: u64 = 16 << 10;
    let (count, text) = match name.split_once('*') {
        Some((count, text)) => (whole(count.trim())?.0, text),
        None => (0, name),
    };
    let (number, unit) = leading(text)?;
    let size = (number * 1024.0) as u64;
    let is_size = unit.starts_with("kB") && (1..=ALL).contains(&size);
    is_size.then(|| (if count > 0 { count } else { ALL / size }, size))
}

/// pveperf of Proxmox VE: buffered reads of the device below a file system, seeks on it, and fsyncs of a small file.
///
/// MB/sec is MiB/s; each part lasts three seconds (`pveperf`'s source). A ZFS data set has no device to read.
pub(super) fn read_pveperf(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut target = None;
    for (number, line) in page.lines() {
        commands.see(number, line, "pveperf");
        let Some((name, text)) = line.trim().split_once(':') else { continue };
        let is_first = name == "CPU BOGOMIPS";
        let is_own = matches!(name, "BUFFERED READS" | "AVERAGE SEEK TIME" | "FSYNCS/SECOND");
        if is_first || is_own && found.is_empty() {
            target = None;
            let command = commands.taken();
            found.push(Imported { command, ..Imported::new(Tool::Pveperf, page.name, number) });
        }
        if name == "HD SIZE" {
            let device = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
            target = device.map(|(device, _)| device.to_owned());
        }
        if let Some(result) = found.last_mut() {
            result.measurements.extend(measured_by_pveperf(number, name, text.trim(), target.as_deref()));
        }
    }
    found
}

fn measured_by_pveperf(number: usize, name: &str, text: &str, target: Option<&str>) -> Option<Measured> {
    let (value, rest) = leading(text)?;
    let work = |pattern| Work {
        pattern,
        target: target.map(str::to_owned),
        ..Work::one_at_a_time(name.to_lowercase())
    };
    let mut measured = Measured::new(number, work(None));
    match name {
        "BUFFERED READS" if rest.trim() == "MB/sec" => {
            measured.work = Work { direct: Some(false), ..work(Some(Pattern::Sequential)) };
            let rate = BytesPerSec::new(value * MIB);
            measured.put(Op::Read, Side::at(rate));
        }
        "AVERAGE SEEK TIME" => {
            measured.work = work(Some(Pattern::Random));
            measured.latency_ns = Some(Latency::of_mean(span(text)?.0));
        }
        "FSYNCS/SECOND" => measured.syncs = Some(Iops::new(value)),
        _ => return None,
    }
    Some(measured)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // Printed by pg_test_fsync -s 3 of PostgreSQL 12, published with a guide to its settings (in Chinese).
    const RUN: &str = "[pg@e22 ~]$ pg_test_fsync -s 3 -f /var/lib/pg/x\n3 seconds per test\nO_DIRECT supported on this platform for open_datasync and open_sync.\n\n\
        Compare file sync methods using one 8kB write:\n(in wal_sync_method preference order, except fdatasync is Linux's default)\n\
        \x20       open_datasync                      4782.871 ops/sec     209 usecs/op\n        fdatasync                          4935.556 ops/sec     203 usecs/op\n\
        \x20       fsync                              3781.254 ops/sec     264 usecs/op\n        fsync_writethrough                              n/a\n        open_sync                          3850.219 ops/sec     260 usecs/op\n\n\
        Compare file sync methods using two 8kB writes:\n        fdatasync                          4412.266 ops/sec     227 usecs/op\n\n\
        Compare open_sync with different write sizes:\n(This is designed to compare the cost of writing 16kB in different write\nopen_sync sizes.)\n\
        \x20        1 * 16kB open_sync write          3159.780 ops/sec     316 usecs/op\n         2 *  8kB open_sync writes         1944.723 ops/sec     514 usecs/op\n\n\
        Test if fsync on non-write file descriptor is honored:\n        write, fsync, close                3719.973 ops/sec     269 usecs/op\n        write, close, fsync                3651.820 ops/sec     274 usecs/op\n\n\
        Non-sync'ed 8kB writes:\n        write                            400577.329 ops/sec       2 usecs/op\n";

    fn one(body: &str) -> Imported {
        let mut found = read_pg_test_fsync(&Page { name: "x", body });
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn each_way_is_a_measurement() {
        let found = one(RUN);
        assert_eq!(found.measurements.len(), 10);
        let fdatasync = &found.measurements[1];
        let write = fdatasync.write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 4935.556 * 8192.0);
        assert_eq!(
            (fdatasync.syncs, write.elapsed_ns),
            (Some(Iops::new(4935.556)), Some(Nanos::from_millis(3000)))
        );
        assert_eq!(
            write.latency_ns.as_ref().and_then(|latency| latency.mean).map(f64::round),
            Some(202_611.0)
        );
        assert_eq!(fdatasync.work.target.as_deref(), Some("/var/lib/pg/x"));
        assert_eq!(
            (found.measurements[0].syncs, found.measurements[0].work.durability),
            (None, Some(Durability::Each))
        );
        let two = &found.measurements[4];
        assert_eq!(
            (two.work.label.as_str(), two.write.as_ref().and_then(|side| side.iops)),
            ("fdatasync, 2 writes", Some(Iops::new(2.0 * 4412.266)))
        );
        let sizes = found.measurements[6].work.block_size;
        assert_eq!(sizes, Some(Bytes::new(8192)));
        assert!(found.measurements[9].memory_only);
    }

    #[test]
    fn old_versions_have_no_times_and_no_counts() {
        let body = "2000 operations per test\nCompare file sync methods using one 8kB write:\n        fdatasync                        2297.712 ops/sec\n\
            Compare open_sync with different write sizes:\n        16kB open_sync write             1992.955 ops/sec\n         8kB open_sync writes            1005.303 ops/sec\n";
        let found = one(body);
        let last = &found.measurements[2];
        assert_eq!(
            (last.work.block_size, last.write.as_ref().and_then(|side| side.iops)),
            (Some(Bytes::new(8192)), Some(Iops::new(2010.606)))
        );
    }

    #[test]
    fn two_runs_are_two_and_a_run_without_its_head_is_one() {
        assert_eq!(read_pg_test_fsync(&Page { name: "x", body: &format!("{RUN}\n{RUN}") }).len(), 2);
        let (_, behind) = RUN.split_once("4412.266").expect("is in it");
        let found = one(behind);
        assert!(found.is_headless);
        assert_eq!(found.measurements.len(), 5);
        let quoted = RUN.lines().map(|line| format!("> {line}\n")).collect::<String>();
        assert_eq!(
            super::super::read(&Page { name: "x", body: &quoted })[0].measurements,
            one(RUN).measurements
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Compare file sync methods using one|Compare open_sync with different write sizes|seconds per test|[0-9]{1,25}|[0-9.*]{1,9}| \\* |kB | ops/sec|\n|fsync | ){0,40}") {
            let _ = read_pg_test_fsync(&Page { name: "x", body: &text });
        }
    }

    #[test]
    fn rows_may_be_missing() {
        let body = "CPU BOGOMIPS:      57471.52\nREGEX/SECOND:      3824412\nHD SIZE:           64.27 GB (/dev/mapper/pve-root)\n\
            BUFFERED READS:    239.96 MB/sec\nAVERAGE SEEK TIME: 0.24 ms\nFSYNCS/SECOND:     691.50\nDNS EXT:           54.79 ms\n\
            CPU BOGOMIPS:      1\nHD SIZE:           10885.91 GB (ZFS-LARGE)\nFSYNCS/SECOND:     96.60\n";
        let found = read_pveperf(&Page { name: "x", body });
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        let [reads, seek, syncs] = first.measurements.as_slice() else { panic!("{first:?}") };
        assert_eq!(reads.read.as_ref().map(|side| side.bytes_per_second.get()), Some(239.96 * 1_048_576.0));
        assert_eq!(reads.work.target.as_deref(), Some("/dev/mapper/pve-root"));
        assert_eq!(seek.latency_ns.as_ref().and_then(|latency| latency.mean), Some(240_000.0));
        assert_eq!(syncs.syncs.map(Iops::get), Some(691.5));
        assert_eq!(second.measurements.len(), 1);
    }
}
