//! The lines that dd prints.

use narrows_base::units::Bytes;
use narrows_base::workload::Pattern;

use crate::results::command::option;
use crate::results::number::{Base, Rounded, contradiction, factor, size, whole};
use crate::results::{Derived, Durability, Work};

/// `dd: error reading '/dev/sdb': Input/output error`.
pub(super) fn failure(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_error = line.starts_with("dd: ")
        && (line.contains("Input/output error") || line.contains("dd: error reading"));
    is_error.then_some(line)
}

/// How many blocks were moved whole and in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DdRecords {
    pub(super) whole: u64,
    pub(super) partial: u64,
}

/// `512+0 records in`, in any language: two whole numbers joined by a plus.
pub(super) fn records(line: &str) -> Option<DdRecords> {
    if line.chars().count() >= 40 {
        return None;
    }
    line.match_indices('+').take(4).find_map(|(at, _)| {
        let before = line.get(..at)?;
        let digits = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (partial, _) =
            whole(line.get(at + 1..).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?)?;
        Some(DdRecords { whole: before.get(digits..)?.parse().ok()?, partial })
    })
}

/// Whether a line has two words of a report, in English, and the unit of a rate or an amount in brackets: what a person cut
/// short or what was broken elsewhere.
pub(super) fn looks_like(line: &str) -> bool {
    let has_verb =
        line.contains(" bytes (") && line.contains("copied") || line.contains("bytes transferred in");
    let is_rate_alone = line.contains(" copied, ") && line.contains("B/s");
    line.len() <= 200 && (has_verb || is_rate_alone)
}

/// What a report line says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SeenReport {
    pub(super) bytes: u64,
    pub(super) seconds: Rounded,
    /// The rate, where it is not that of bytes and seconds.
    pub(super) wrong: Option<Derived>,
}

/// A report that a mail program broke over two lines.
pub(super) fn broken(line: &str, next: Option<&str>) -> Option<SeenReport> {
    let begins = line.len() > 30 && line.contains(" bytes ");
    let next = next.filter(|next| begins && next.len() < 60)?;
    report(&format!("{} {}", line.trim_end(), next.trim_start()))
}

/// A report line, with whatever stands before it: a name, a stamp, the mark of a quotation.
pub(super) fn report(line: &str) -> Option<SeenReport> {
    let line = line.trim();
    if line.len() > 200 {
        return None;
    }
    copied(line).or_else(|| {
        let at = line.find(" bytes (").or_else(|| line.find(" bytes transferred in "))?;
        let digits = line.get(..at)?;
        let start = digits.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let is_word = line.get(..start)?.ends_with(|c: char| !c.is_alphanumeric());
        // Where the amount stands there twice, a word that was typed close to it (`dd104857600 bytes`) is no part of it.
        let text = line.get(start..).filter(|text| says_twice(text) || is_word && is_of_bsd(text))?;
        copied(text)
    })
}

/// Whether the amount in brackets is that before them, as in dd's own lines.
fn says_twice(text: &str) -> bool {
    let Some((bytes, rest)) = whole(text) else { return false };
    let inside = rest.split_once('(').and_then(|(_, inside)| Rounded::leading(inside));
    inside.is_some_and(|(amount, unit)| {
        let factors = [factor(unit, Base::Decimal), factor(unit, Base::Binary), 1.0 / amount.value()];
        factors.iter().any(|one| amount.times(*one).agrees(Rounded::exact(bytes as f64)))
    })
}

/// A line of dd of a BSD, which has no brackets behind the amount.
fn is_of_bsd(text: &str) -> bool {
    whole(text).is_some_and(|(_, rest)| rest.contains(" secs ("))
}

/// Bytes and seconds of a line that begins with the bytes.
fn copied(line: &str) -> Option<SeenReport> {
    let (bytes, rest) = whole(line)?;
    // A stamp of a log goes on with its fraction or its month.
    if !rest.starts_with(|c: char| c.is_whitespace() || c.is_alphabetic()) {
        return None;
    }
    if let Some((_, rest)) = rest.split_once("bytes transferred in ") {
        let (seconds, rest) = Rounded::leading(rest)?;
        let rate = rest.split_once('(').and_then(|(_, rate)| Rounded::leading(rate));
        return seen(bytes, seconds, rate);
    }
    // A number of a line is not that of bytes, which the unit follows at once.
    let is_counted = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    if rest.split_once('(').is_some_and(|(before, _)| is_counted(before)) {
        return None;
    }
    // Small copies have no sizes in brackets.
    let tail = match rest.rsplit_once(')') {
        Some((_, tail)) if rest.contains('(') => tail,
        None if rest.trim_start().starts_with("bytes copied") => rest,
        _ => return None,
    };
    let start = tail.find(|c: char| c.is_ascii_digit())?;
    let (seconds, rest) = Rounded::leading(tail.get(start..)?)?;
    // Seconds have a unit without a slash; then comes a rate, whose unit has one.
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    let unit = rest.get(..start)?;
    let rate = Rounded::leading(rest.get(start..)?)?;
    let is_rate = rate.1.split_whitespace().next().is_some_and(|word| word.contains('/'));
    let is_report = !unit.contains('/') && unit.chars().count() < 16 && is_rate;
    if is_report { seen(bytes, seconds, Some(rate)) } else { None }
}

/// Checks the printed rate. busybox prints binary units, GNU dd decimal ones.
fn seen(bytes: u64, seconds: Rounded, rate: Option<(Rounded, &str)>) -> Option<SeenReport> {
    if bytes == 0 || seconds.value() <= 0.0 || seconds.value() >= 1e9 {
        return None;
    }
    let wrong = rate.and_then(|(rate, unit)| {
        let unit = unit.trim_start();
        let units = [factor(unit, Base::Decimal), factor(unit, Base::Binary)];
        let word = unit.split(|c: char| c.is_whitespace() || matches!(c, ')' | ',')).next().unwrap_or(unit);
        let name = format!("rate of the copy, in {word}");
        contradiction(&name, rate, &units, Rounded::exact(bytes as f64), seconds)
    });
    Some(SeenReport { bytes, seconds, wrong })
}

/// Whether a copy reads from storage: what it writes to is no storage, or is a file whose writes nobody waits for while a
/// device is read.
pub(super) fn reads(command: &str) -> bool {
    option(command, "of")
        .is_none_or(|to| matches!(to, "/dev/null" | "/dev/zero" | "/dev/full") || images(command, to))
}

/// Whether a device is copied into a file that stays in the page cache as far as the command says.
fn images(command: &str, to: &str) -> bool {
    const NO_STORAGE: [&str; 5] = ["/dev/zero", "/dev/urandom", "/dev/random", "/dev/full", "/dev/shm/"];
    let is_device =
        |path: &str| path.starts_with("/dev/") && !NO_STORAGE.iter().any(|other| path.starts_with(other));
    let waits = |name: &str| {
        option(command, name)
            .is_some_and(|flags| flags.split(',').any(|flag| flag.ends_with("sync") || flag == "direct"))
    };
    option(command, "if").is_some_and(is_device) && !is_device(to) && !waits("oflag") && !waits("conv")
}

/// What was asked: GNU dd's operands. Without `bs=` the size of a block is `block`.
pub(super) fn work(command: &str, block: Option<Bytes>) -> Work {
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
    let target = option(command, if is_read { "if" } else { "of" });
    Work {
        pattern: Some(Pattern::Sequential),
        block_size: option(command, "bs").map_or(block, |bs| size(bs, unit_of(bs))),
        direct: Some(open.contains(&"direct") || target.is_some_and(is_raw)),
        durability,
        target: target.map(str::to_owned),
        zeros: (!is_read).then_some(from == "/dev/zero"),
        ..Work::one_at_a_time(if is_read { "sequential read" } else { "sequential write" })
    }
}

/// Whether a device has no cache of the operating system before it: the character devices of macOS (`man hdiutil`, device
/// special files: `/dev/rdisk2`), OpenBSD and NetBSD (`rsd2c`, `rwd0d`), Solaris (`/dev/rdsk/`), and all disks of FreeBSD, which has
/// had no block devices since 4.0 (`man geom`: `da0`, `ada0`, `nda0`, `nvd0`, `vtbd0`).
fn is_raw(path: &str) -> bool {
    const NAMES: [&str; 10] = ["rdisk", "rsd", "rwd", "rld", "da", "ada", "nda", "nvd", "vtbd", "mmcsd"];
    let Some(name) = path.strip_prefix("/dev/") else { return false };
    let is_unit = |prefix: &&str| {
        name.strip_prefix(*prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    name.starts_with("rdsk/") || NAMES.iter().any(is_unit)
}

/// dd's `1M` is binary, its `1MB` decimal (`info dd`, block sizes).
fn unit_of(text: &str) -> Base {
    if text.ends_with('B') && !text.ends_with("iB") { Base::Decimal } else { Base::Binary }
}

/// What a call that says how many blocks of which size moves.
pub(super) fn asked(command: &str) -> Option<u64> {
    let count = option(command, "count")?;
    let of = |text: &str| size(text, unit_of(text)).map(Bytes::get);
    of(option(command, "bs")?)?.checked_mul(of(count)?)
}

/// The size of each block by the counts of them, where all were whole.
pub(super) fn block_of(bytes: u64, records: Option<DdRecords>) -> Option<Bytes> {
    let records = records.filter(|records| records.whole > 0 && records.partial == 0)?;
    bytes.is_multiple_of(records.whole).then(|| Bytes::new(bytes / records.whole))
}

/// Whether a line has an operand that only dd has: a piece of a call that was broken.
pub(super) fn is_piece(line: &str) -> bool {
    if !line.contains("f=") {
        return false;
    }
    line.split_whitespace().map(|word| word.trim_start_matches(['`', '(', '"', '\'', '$'])).any(|word| {
        let path = word.strip_prefix("if=").or_else(|| word.strip_prefix("of="));
        path.is_some_and(|path| path.starts_with(|c: char| c.is_alphanumeric() || "/.~$\"'".contains(c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_log_are_no_reports_and_those_of_any_language_are() {
        for line in [
            "1700000007.094039 box kernel: Copyright (C) 2017-2019 Broadcom. All Rights Reserved. \"Broadcom\" is Broadcom Inc. and/or its",
            "1700000002.749045 box kernel: EXT4-fs (nvme0n1p2): re-mounted cea52797-161f-4dbc-920e-ca81333dcfb7 r/w. Quota mode: none.",
            "4\t1073741824字节(1.1 GB)已复制，5.43328 秒，198 MB/秒",
            "2023-11-14T22:13:22,749045+01:00 EXT4-fs (nvme0n1p2): re-mounted 52797-161f r/w.",
        ] {
            assert_eq!(report(line), None, "{line}");
        }
        for line in [
            "104857600 bytes (105 MB, 100 MiB) copied, 0.5 s, 210 MB/s",
            "104857600 octets (105 MB) copiés, 0,5 s, 210 MB/s",
            "104857600字节(105 MB)已复制，0.5 秒，210 MB/秒",
            "104857600 Bytes (105 MB, 100 MiB) kopiert, 0,5 s, 210 MB/s",
            "dd104857600 bytes (105 MB, 100 MiB) copied, 0.5 s, 210 MB/s",
        ] {
            assert_eq!(report(line).map(|seen| seen.bytes), Some(104_857_600), "{line}");
        }
    }

    #[test]
    fn raw_devices_have_no_cache_before_them() {
        for device in ["/dev/rdisk2", "/dev/rsd2c", "/dev/rdsk/c0t0d0s0", "/dev/ada0", "/dev/nvd1"] {
            let call = format!("dd if=a.iso of={device} bs=1m");
            assert_eq!(work(&call, None).direct, Some(true), "{device}");
        }
        for device in ["/dev/disk2", "/dev/sda", "/dev/sdc", "/dev/rsync", "/dev/data", "da0", "/dev/md0"] {
            let call = format!("dd if=a.iso of={device} bs=1m");
            assert_eq!(work(&call, None).direct, Some(false), "{device}");
        }
        assert_eq!(work("dd if=/dev/rdisk3 of=/dev/null bs=1m", None).direct, Some(true));
    }
}
