//! dd: the last line of its report, in any language.
//!
//! GNU dd prints `N bytes (X, Y) copied, S s, R` with every word and unit translated, and the decimal point of the
//! locale; the order of bytes, seconds and rate stays (coreutils `src/dd.c`, `print_xfer_stats`). BSD dd prints
//! `N bytes transferred in S secs (R bytes/sec)`. The rate is computed from bytes and seconds, which have more digits.

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

use super::command::{Commands, option};
use super::number::{Base, leading, size, whole};
use super::{Durability, Imported, Measured, Op, Page, Side, Tool, Work};

/// The copies in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut records: Option<usize> = None;
    let mut progress = false;
    for (number, line) in page.lines() {
        commands.see(number, line, "dd");
        if is_records(line) {
            records = Some(number);
            continue;
        }
        let Some((bytes, seconds)) = copied(line) else { continue };
        let is_final = records.is_some_and(|seen| number - seen <= 2);
        // `status=progress` prints the same line again and again; only the last of them counts.
        if progress
            && let Some(last) = found.last()
            && commands.last() == last.command.as_deref()
        {
            found.pop();
        }
        progress = !is_final;
        records = None;
        found.push(result(page, number, bytes, seconds, commands.last()));
        if is_final {
            commands.forget();
        }
    }
    found
}

/// `512+0 records in`, in any language: two whole numbers joined by a plus.
fn is_records(line: &str) -> bool {
    let joins = line.match_indices('+').take(4);
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    joins.into_iter().any(|(at, _)| {
        digit(line.get(..at).and_then(|text| text.chars().next_back()))
            && digit(line.get(at + 1..).and_then(|text| text.chars().next()))
            && line.chars().count() < 40
    })
}

/// Bytes and seconds of a report line.
fn copied(line: &str) -> Option<(u64, f64)> {
    let line = line.trim();
    let (bytes, rest) = whole(line)?;
    if rest.is_empty() || line.len() > 200 {
        return None;
    }
    if let Some((_, rest)) = rest.split_once("bytes transferred in ") {
        return positive(bytes, leading(rest)?.0);
    }
    // Small copies have no sizes in brackets.
    let tail = match rest.rsplit_once(')') {
        Some((_, tail)) if rest.contains('(') => tail,
        None if rest.trim_start().starts_with("bytes copied") => rest,
        _ => return None,
    };
    let start = tail.find(|c: char| c.is_ascii_digit())?;
    let (seconds, rest) = leading(tail.get(start..)?)?;
    // Seconds have a unit without a slash; then comes a rate, whose unit has one.
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    let unit = rest.get(..start)?;
    let (_, rate_unit) = leading(rest.get(start..)?)?;
    let is_report = !unit.contains('/') && unit.chars().count() < 16 && rate_unit.contains('/');
    if is_report { positive(bytes, seconds) } else { None }
}

fn positive(bytes: u64, seconds: f64) -> Option<(u64, f64)> {
    (bytes > 0 && seconds > 0.0 && seconds < 1e9).then_some((bytes, seconds))
}

fn result(page: &Page<'_>, number: usize, bytes: u64, seconds: f64, command: Option<&str>) -> Imported {
    let work = command.map(work).unwrap_or_else(|| Work { label: "copy".to_owned(), ..Work::default() });
    let rate = BytesPerSec::new(bytes as f64 / seconds);
    let side = Side {
        bytes_per_second: rate,
        iops: work.block_size.filter(|size| size.get() > 0).map(|size| Iops::new(rate.get() / size.as_f64())),
        bytes: Some(Bytes::new(bytes)),
        elapsed_ns: Some(Nanos::new((seconds * 1e9) as u64)),
        ..Side::default()
    };
    let op = match command {
        Some(command) if reads(command) => Op::Read,
        _ => Op::Write,
    };
    let mut measured = Measured::new(number, work);
    measured.put(op, side);
    let mut imported = Imported::new(Tool::Dd, page.name, number);
    imported.command = command.map(str::to_owned);
    imported.measurements.push(measured);
    imported
}

/// Whether a copy reads from storage: what it writes to is no storage.
fn reads(command: &str) -> bool {
    option(command, "of").is_none_or(|to| matches!(to, "/dev/null" | "/dev/zero" | "/dev/full"))
}

/// What was asked: GNU dd's operands.
fn work(command: &str) -> Work {
    let flags = |name: &str| -> Vec<&str> {
        option(command, name).map(|value| value.split(',').collect()).unwrap_or_default()
    };
    let is_read = reads(command);
    let open = flags(if is_read { "iflag" } else { "oflag" });
    let conv = flags("conv");
    let durability = if is_read {
        None
    } else if open.iter().any(|flag| matches!(*flag, "sync" | "dsync")) {
        Some(Durability::Each)
    } else if conv.iter().any(|flag| matches!(*flag, "fsync" | "fdatasync")) {
        Some(Durability::AtEnd)
    } else {
        Some(Durability::None)
    };
    let from = option(command, "if").unwrap_or_default();
    Work {
        label: if is_read { "sequential read" } else { "sequential write" }.to_owned(),
        pattern: Some(Pattern::Sequential),
        block_size: option(command, "bs").map_or(Some(Bytes::new(512)), |bs| size(bs, unit_of(bs))),
        queue_depth: Some(1),
        jobs: Some(1),
        direct: Some(open.contains(&"direct")),
        durability,
        target: option(command, if is_read { "if" } else { "of" }).map(str::to_owned),
        zeros: (!is_read).then_some(from == "/dev/zero"),
        ..Work::default()
    }
}

/// dd's `1M` is binary, its `1MB` decimal (`info dd`, block sizes).
fn unit_of(text: &str) -> Base {
    if text.ends_with('B') && !text.ends_with("iB") { Base::Decimal } else { Base::Binary }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(body: &str) -> Vec<(u64, u64)> {
        let all = read(&Page { name: "x", body });
        let side = |one: &Imported| {
            let (_, side) = one.measurements[0].sides().next().expect("a side");
            (side.bytes.map_or(0, Bytes::get), side.bytes_per_second.get() as u64)
        };
        all.iter().map(side).collect()
    }

    #[test]
    fn the_report_is_known_in_every_language() {
        for line in [
            "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 5.43328 s, 198 MB/s",
            "1073741824 bytes (1.1 GB) copied, 5.43328 seconds, 198 MB/s",
            "1073741824字节(1.1 GB)已复制，5.43328 秒，198 MB/秒",
            "1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 5,43328 s, 198 MB/s",
            "1073741824 octets (1,1 GB, 1,0 GiB) copiés, 5,43328 s, 198 MB/s",
            "1073741824 bytes transferred in 5.43328 secs (197623061 bytes/sec)",
            "1073741824 байт (1,1 GB, 1,0 GiB) скопирован, 5,43328 s, 198 MB/s",
        ] {
            assert_eq!(
                rates(&format!("1+0 records in\n1+0 records out\n{line}\n")),
                [(1_073_741_824, 197_623_134)],
                "{line}"
            );
        }
    }

    #[test]
    fn of_a_progress_display_only_the_end_counts() {
        let body = "# dd if=/dev/zero of=/dev/sdz bs=16M oflag=direct status=progress\n\
            7063207936 bytes (7.1 GB) copied, 4.022276 s, 1.8 GB/s\n512+0 records in\n512+0 records out\n\
            8589934592 bytes (8.6 GB) copied, 4.93092 s, 1.7 GB/s\n";
        assert_eq!(rates(body), [(8_589_934_592, 1_742_055_152)]);
    }

    #[test]
    fn the_command_tells_what_was_asked() {
        let body = "$ dd if=/dev/zero of=./x bs=1M count=1024 conv=fdatasync\n1024+0 records in\n1024+0 records out\n\
            1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.875072 s, 1.2 GB/s\n";
        let all = read(&Page { name: "x", body });
        let work = &all[0].measurements[0].work;
        assert_eq!(
            (work.durability, work.direct, work.zeros),
            (Some(Durability::AtEnd), Some(false), Some(true))
        );
        assert_eq!(work.block_size, Some(Bytes::from_mib(1)));
    }

    #[test]
    fn prose_and_listings_are_no_reports() {
        for line in [
            "12 files (3 new) changed, 5 of 7",
            "-rw-r--r-- 1 a b 4294967296 Oct  6 05:21 x",
            "4 GB (x) at 3, 5",
        ] {
            assert!(rates(line).is_empty(), "{line}");
        }
    }
}
