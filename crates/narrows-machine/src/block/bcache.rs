//! bcache devices (kernel `Documentation/admin-guide/bcache.rst`).

use super::device_path::{DevicePath, is_numbered};
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;

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
pub(super) fn read(root: &Root, block: &str) -> Bcache {
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
