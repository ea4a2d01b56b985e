//! What a call of dd asked for: its operands (`info dd`).

use super::Records;
use crate::results::command::option;
use crate::results::number::{Base, size};
use crate::results::{Durability, Work};
use narrows_base::units::Bytes;
use narrows_base::workload::Pattern;

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
        label: if is_read { "sequential read" } else { "sequential write" }.to_owned(),
        pattern: Some(Pattern::Sequential),
        block_size: option(command, "bs").map_or(block, |bs| size(bs, unit_of(bs))),
        queue_depth: Some(1),
        jobs: Some(1),
        direct: Some(open.contains(&"direct") || target.is_some_and(is_raw)),
        durability,
        target: target.map(str::to_owned),
        zeros: (!is_read).then_some(from == "/dev/zero"),
        ..Work::default()
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
pub(super) fn block_of(bytes: u64, records: Option<Records>) -> Option<Bytes> {
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
