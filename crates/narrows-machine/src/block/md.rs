//! Linux software RAID (kernel `Documentation/admin-guide/md.rst`).

use std::collections::BTreeMap;

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
fn parse_done(text: &str) -> Option<f64> {
    let (done, all) = text.split_once('/')?;
    let (done, all): (u64, u64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
    (all > 0).then(|| (done as f64 / all as f64).min(1.0))
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
}
