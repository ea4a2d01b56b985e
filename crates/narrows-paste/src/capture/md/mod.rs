//! Linux software RAID: `/proc/mdstat`, `mdadm --detail` and `mdadm --examine`.

mod detail;
mod examine;
mod mdstat;

use super::{Part, Rank, Text};

/// Reads every output about md arrays in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part::default();
    let body = text.body();
    if body.contains(" blocks") && mdstat::read(&mut part.machine, text) {
        part.kind = Some("/proc/mdstat");
        part.rank = Rank::Decoded;
    }
    if body.contains("Raid Level") && detail::read(&mut part.machine, text) {
        part.kind = part.kind.or(Some("mdadm --detail"));
        part.rank = Rank::Decoded;
    }
    if body.contains("Array UUID") && examine::read(&mut part.machine, text) {
        part.kind = part.kind.or(Some("mdadm --examine"));
        part.rank = Rank::Decoded;
    }
    part
}

/// The number of an algorithm of RAID-5 and RAID-6 (kernel `include/uapi/linux/raid/md_p.h` and
/// `drivers/md/raid5.h`, `ALGORITHM_*`), or of the copies of RAID-10 (md(4): near copies in the lowest byte, far copies
/// in the next, and a bit for offset).
fn layout_number(name: &str) -> Option<u64> {
    let copies = |text: &str| text.parse::<u8>().ok().filter(|copies| *copies > 0).map(u64::from);
    match name {
        "left-asymmetric" => Some(0),
        "right-asymmetric" => Some(1),
        "left-symmetric" => Some(2),
        "right-symmetric" => Some(3),
        _ => match name.split_once('=')? {
            ("near", count) => Some(0x100 | copies(count)?),
            ("far", count) => Some(copies(count)? << 8 | 1),
            ("offset", count) => Some(0x10000 | copies(count)? << 8 | 1),
            _ => None,
        },
    }
}

/// `raid5` for what mdadm and the kernel also call `raid4`, `raid6`…; `None` for anything that is no level.
fn level(word: &str) -> Option<&'static str> {
    const LEVELS: &[&str] = &[
        "raid0",
        "raid1",
        "raid10",
        "raid4",
        "raid5",
        "raid6",
        "linear",
        "multipath",
        "faulty",
        "container",
    ];
    LEVELS.iter().copied().find(|known| *known == word)
}

#[cfg(test)]
mod tests;
