//! Linux software RAID (kernel `Documentation/admin-guide/md.rst`) and bcache devices (`Documentation/admin-guide/bcache.rst`).

use std::collections::BTreeMap;

use super::{DevicePath, is_numbered};
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec, Nanos};

/// A md array, `/sys/block/md*/md`.
#[derive(Debug, Clone, Default)]
pub struct MdArray {
    /// `raid0`, `raid1`, `raid10`, `raid5`…, `…/level`.
    pub level: Fact<String>,
    /// The number of members when complete, `…/raid_disks`.
    pub raid_disks: Fact<u32>,
    /// The chunk, `…/chunk_size`; absent for RAID-1.
    pub chunk: Fact<Bytes>,
    /// RAID-10 layout number, `…/layout`.
    pub layout: Fact<u64>,
    /// Members that are missing or failed, `…/degraded`.
    pub degraded: Fact<u32>,
    /// `idle`, `resync`, `recover`, `check`, `repair`, `reshape`, `frozen`, `…/sync_action`.
    pub sync_action: Fact<String>,
    /// The rate of a running resync, `…/sync_speed`.
    pub sync_speed: Fact<BytesPerSec>,
    /// How far a running resync is, 0 to 1, `…/sync_completed`.
    pub sync_done: Fact<f64>,
    /// The time that the kernel expects it to take still, of `/proc/mdstat`; no attribute has it.
    pub sync_left: Fact<Nanos>,
    /// The write-intent bitmap, `…/bitmap/location`.
    pub bitmap: Fact<String>,
    /// The state of each member, `…/dev-*/state`, by kernel name.
    pub members: BTreeMap<String, Fact<String>>,
    /// RAID-5/6 stripe worker groups, `…/group_thread_cnt`.
    pub group_threads: Fact<u32>,
}

/// Reads the array whose directory is `block`.
pub(super) fn read(root: &Root, block: &str) -> MdArray {
    let at = |file: &str| format!("{block}/md/{file}");
    let text = |file: &str| root.text(&at(file)).absent_when(|text| text.is_empty() || text == "none");
    let count = |file: &str| root.parse(&at(file), |text| text.parse::<u32>().ok());
    MdArray {
        level: text("level"),
        // While an array is being reshaped this reads `4 (3)`: the new count and the old.
        raid_disks: root.parse(&at("raid_disks"), |text| text.split_whitespace().next()?.parse().ok()),
        chunk: root.parse(&at("chunk_size"), first_number).absent_when(|chunk| *chunk == 0).map(Bytes::new),
        layout: root.parse(&at("layout"), first_number),
        degraded: count("degraded"),
        sync_action: text("sync_action"),
        sync_speed: text("sync_speed").parse(parse_speed),
        sync_done: text("sync_completed").absent_when(|text| text == "delayed").parse(parse_done),
        sync_left: Fact::default(),
        bitmap: text("bitmap/location"),
        members: members(root, block),
        group_threads: count("group_thread_cnt"),
    }
}

fn members(root: &Root, block: &str) -> BTreeMap<String, Fact<String>> {
    let entries = root.list(&format!("{block}/md"));
    let names = entries.iter().filter_map(|entry| entry.strip_prefix("dev-"));
    names.map(|name| (name.to_owned(), root.text(&format!("{block}/md/dev-{name}/state")))).collect()
}

/// The first number of `524288` or, during a reshape, of `524288 (65536)`.
fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// `sync_speed` is in KiB/s.
pub fn parse_speed(text: &str) -> Option<BytesPerSec> {
    text.parse::<u32>().ok().map(|kib| BytesPerSec::from_kib(f64::from(kib)))
}

/// `sync_completed` is `123 / 456`, in sectors: done and all.
pub fn parse_done(text: &str) -> Option<f64> {
    let (done, all) = text.split_once('/')?;
    let (done, all): (u64, u64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
    (all > 0).then(|| (done as f64 / all as f64).min(1.0))
}

/// A bcache device.
#[derive(Debug, Clone, Default)]
pub struct Bcache {
    /// `writethrough`, `writeback`, `writearound` or `none`, `…/bcache/cache_mode`.
    pub mode: Fact<String>,
    /// `no cache`, `clean`, `dirty` or `inconsistent`, `…/bcache/state`.
    pub state: Fact<String>,
    /// Requests longer than this go past the cache, `…/bcache/sequential_cutoff`.
    pub sequential_cutoff: Fact<Bytes>,
    /// Hits as a fraction of all, `…/bcache/stats_total/cache_hit_ratio`.
    pub hit_ratio: Fact<f64>,
    /// The backing device.
    pub backing: Option<String>,
    /// The cache devices.
    pub caches: Vec<String>,
}

/// Reads the device whose directory is `block`. Its `bcache` is a link into the directory of the backing device, and
/// the `cache` in there one to the cache set, whose `cacheN` lead into the directories of the cache devices.
pub(super) fn read_bcache(root: &Root, block: &str) -> Bcache {
    let at = |file: &str| format!("{block}/bcache/{file}");
    let set = at("cache");
    let caches = root.list(&set).into_iter().filter(|name| is_numbered(name, "cache"));
    Bcache {
        mode: root.parse(&at("cache_mode"), |text| Some(super::bracketed(text).to_owned())),
        state: root.text(&at("state")),
        sequential_cutoff: root.parse(&at("sequential_cutoff"), parse_size),
        hit_ratio: root.parse(&at("stats_total/cache_hit_ratio"), parse_percent),
        backing: device_above(root, &format!("{block}/bcache")),
        caches: caches.filter_map(|cache| device_above(root, &format!("{set}/{cache}"))).collect(),
    }
}

/// The block device in whose directory a bcache object lies.
fn device_above(root: &Root, object: &str) -> Option<String> {
    let real = root.resolve(object).get()?;
    DevicePath::new(&real).parent_name().map(str::to_owned)
}

fn parse_percent(text: &str) -> Option<f64> {
    text.parse::<u8>().ok().filter(|percent| *percent <= 100).map(|percent| f64::from(percent) / 100.0)
}

/// Reads `4.0M`, as the kernel's `bch_hprint` writes it (`drivers/md/bcache/util.c`): powers of 1024, one decimal.
fn parse_size(text: &str) -> Option<Bytes> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match text.get(digits.len()..)? {
        "" => 0,
        "k" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        _ => return None,
    };
    let number: f64 = digits.parse().ok()?;
    let bytes = number * 1024f64.powi(power);
    (0.0..=u64::MAX as f64).contains(&bytes).then(|| Bytes::new(bytes as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn progress_is_a_fraction_of_sectors() {
        assert_eq!(parse_done("256 / 1024"), Some(0.25));
        assert_eq!(parse_done("2048 / 1024"), Some(1.0));
        for text in ["none", "delayed", "1 / 0", "/", "1 /", "-1 / 2"] {
            assert_eq!(parse_done(text), None, "{text}");
        }
    }

    #[test]
    fn the_rate_of_a_resync_is_in_kibibytes() {
        assert_eq!(parse_speed("1000").map(BytesPerSec::get), Some(1_024_000.0));
        assert_eq!(parse_speed("none"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9 /a-z-]{0,40}") {
            let _ = (parse_done(&text), parse_speed(&text), first_number(&text));
        }
    }

    #[test]
    fn sizes_are_those_of_bch_hprint() {
        assert_eq!(parse_size("4.0M"), Some(Bytes::from_mib(4)));
        assert_eq!(parse_size("512.0k"), Some(Bytes::from_kib(512)));
        assert_eq!(parse_size("0"), Some(Bytes::new(0)));
        for text in ["", "M", "4.0X", "-4.0M", "NaN", "inf", "4MM"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn a_ratio_is_a_percentage() {
        assert_eq!(parse_percent("87"), Some(0.87));
        assert_eq!(parse_percent("101"), None);
        assert_eq!(parse_percent("-1"), None);
    }

    proptest! {
        #[test]
        fn no_size_panics(text in "\\PC{0,20}") {
            let _ = parse_size(&text);
        }
    }
}
