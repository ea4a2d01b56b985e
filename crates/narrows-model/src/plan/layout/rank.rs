//! Which layout suits stated aims best, and what would help where none does.

use serde::{Deserialize, Serialize};

use crate::ceiling::crypt::READ_SHARE;
use crate::path::file::BuildError;
use crate::plan::wish::parse_rate;
use narrows_base::catalog::catalog;
use narrows_base::lists::distinct;
use narrows_base::units::BytesPerSec;

use super::{Array, Encryption, Layout, Resources, layouts};

/// What a layout is for. Those that come first count most; `survive` and `encryption` must hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aim {
    /// Much of the capacity.
    Capacity,
    /// So many drives may fail.
    Survive(u8),
    /// Fast sequential reads, at least this where a rate is given.
    Sequential(Option<BytesPerSec>),
    /// Fast sequential writes.
    Writes(Option<BytesPerSec>),
    /// Many small random I/Os, reads and writes alike.
    Iops,
    /// Encrypted.
    Encryption,
    /// Few bytes written on each drive.
    Endurance,
    /// Fast copies of real files. Nothing foresees that: only the lab measures it.
    Copy,
}

/// Why an aim is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no aim")]
pub struct AimError(String);

impl AimError {
    /// What to do about it.
    pub const HINT: &'static str = "aims are capacity, survive:N, sequential[:RATE], writes[:RATE], iops, encryption and endurance, with commas; `narrows lab --copy` also takes copy";
}

impl Aim {
    /// Reads `capacity,survive:1,sequential:5GB/s`.
    ///
    /// # Errors
    /// [`AimError`] with the first word that is none.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, AimError> {
        text.split(',')
            .map(str::trim)
            .map(|word| Self::parse(word).ok_or_else(|| AimError(word.to_owned())))
            .collect()
    }

    fn parse(word: &str) -> Option<Self> {
        let lower = word.to_ascii_lowercase();
        let (name, value) =
            lower.split_once(':').map_or((lower.as_str(), None), |(name, value)| (name, Some(value)));
        let rate = || value.map_or(Some(None), |value| parse_rate(value).map(Some));
        Some(match (name, value) {
            ("capacity", None) => Self::Capacity,
            ("survive", Some(count)) => Self::Survive(count.parse().ok().filter(|count| *count <= 8)?),
            ("survive", None) => Self::Survive(1),
            ("sequential", _) => Self::Sequential(rate()?),
            ("writes", _) => Self::Writes(rate()?),
            ("iops", None) => Self::Iops,
            ("encryption", None) => Self::Encryption,
            ("endurance", None) => Self::Endurance,
            ("copy", None) => Self::Copy,
            _ => return None,
        })
    }

    /// Whether a layout does what must be.
    fn holds(self, layout: &Layout) -> bool {
        let reaches = |rate: Option<BytesPerSec>, wanted: Option<BytesPerSec>| {
            wanted.is_none_or(|wanted| rate.is_none_or(|rate| rate >= wanted))
        };
        match self {
            Self::Survive(count) => layout.survives >= count,
            Self::Encryption => layout.encryption != Encryption::None,
            Self::Sequential(wanted) => reaches(layout.read, wanted),
            Self::Writes(wanted) => reaches(layout.write, wanted),
            Self::Capacity | Self::Iops | Self::Endurance | Self::Copy => true,
        }
    }

    /// How well a layout does, the more the better.
    fn merit(self, layout: &Layout) -> f64 {
        match self {
            Self::Capacity => layout.capacity,
            Self::Sequential(_) => layout.read.map_or(0.0, BytesPerSec::get),
            Self::Writes(_) => layout.write.map_or(0.0, BytesPerSec::get),
            Self::Iops => (layout.read_iops * layout.write_iops).sqrt(),
            Self::Endurance => 1.0 / layout.wear,
            Self::Survive(_) | Self::Encryption | Self::Copy => 1.0,
        }
    }
}

/// Merits closer than this count as equal: no law here is better than 3 %.
const SAME: f64 = 1.03;

/// The step that a merit is on. Steps make an order that does not depend on which two are compared first.
fn step(merit: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    let step = (merit.max(1e-12).ln() / SAME.ln()).round() as i64;
    step
}

/// Layouts for aims, the best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Those that do all that must be.
    pub fitting: Vec<Layout>,
    /// Those that do not.
    pub others: Vec<Layout>,
    /// What a person should know beside the order.
    pub advice: Vec<Advice>,
    /// Why rates of those that fit are bounds, each reason once.
    pub not_known: Vec<String>,
}

/// One thing that a person should know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// In words.
    pub text: String,
    /// What reads would gain by it.
    #[serde(rename = "gain_bytes_per_second")]
    pub gain: Option<BytesPerSec>,
}

/// Ranks every layout that the drives allow. Layouts that come out equal are in the order of their simplicity.
///
/// # Errors
/// The description of the drives is no path.
pub fn rank(resources: &Resources, aims: &[Aim]) -> Result<Ranked, BuildError> {
    let all = layouts(resources)?;
    let advice = advice(resources, aims, &all);
    let needs_none = !aims.contains(&Aim::Encryption);
    let (mut fitting, others): (Vec<Layout>, Vec<Layout>) = all
        .into_iter()
        .filter(|layout| !needs_none || layout.encryption == Encryption::None)
        .partition(|layout| aims.iter().all(|aim| aim.holds(layout)));
    fitting.sort_by(|one, other| {
        let steps = |layout: &Layout| aims.iter().map(|aim| -step(aim.merit(layout))).collect::<Vec<i64>>();
        steps(one).cmp(&steps(other)).then((one.array, one.encryption).cmp(&(other.array, other.encryption)))
    });
    let not_known = distinct(fitting.iter().flat_map(|layout| layout.not_known.clone()));
    Ok(Ranked { fitting, others, advice, not_known })
}

fn advice(resources: &Resources, aims: &[Aim], all: &[Layout]) -> Vec<Advice> {
    if !aims.contains(&Aim::Encryption) {
        return Vec::new();
    }
    let Some(cipher) = &resources.cipher else {
        let text = "How fast this processor encrypts is not known: run `cryptsetup benchmark -c aes-xts -s 512` and give \
                    what it says with --ceiling cipher=RATE."
            .to_owned();
        return vec![Advice { text, gain: None }];
    };
    let find = |array, encryption| {
        all.iter().find(|layout| (layout.array, layout.encryption) == (array, encryption))?.read
    };
    let (Some(single), Some(striped), Some(plain)) = (
        find(Array::Single, Encryption::Above),
        find(Array::Raid0, Encryption::Above),
        find(Array::Raid0, Encryption::None),
    ) else {
        return Vec::new();
    };
    let mut advice = Vec::new();
    if step(striped.get()) <= step(single.get()) {
        let text = format!(
            "RAID-0 gains nothing under LUKS: one submitter keeps one core busy, {} × {READ_SHARE} for dm-crypt = {striped}, and \
             a single drive has that already; without encryption RAID-0 would read {plain}. ({})",
            cipher.decrypt, cipher.source
        );
        advice.push(Advice { text, gain: None });
    }
    if let Some(below) = find(Array::Raid0, Encryption::Below).filter(|below| *below > striped) {
        let text = format!(
            "Tune dm-crypt: encrypt each drive below RAID-0, so that each mapping has a core of its own: {below}; \
             no_read_workqueue and no_write_workqueue (cryptsetup --perf-no_read_workqueue \
             --perf-no_write_workqueue --persistent) and sectors of 4096 bytes (--sector-size 4096) take away what \
             each request costs beside the cipher."
        );
        advice.push(Advice { text, gain: Some(below - striped) });
    }
    if striped < plain {
        let needed = plain / READ_SHARE;
        let ciphers = catalog().ciphers.iter();
        let rated = ciphers.map(|known| (known, BytesPerSec::from_mb(known.decrypt_megabytes_per_second)));
        let fast = rated.filter(|(_, rate)| *rate >= needed).map(|(known, rate)| {
            let needs = known.needs.as_ref().map(|needs| format!(" with {needs}")).unwrap_or_default();
            format!("{}{needs} ({rate})", known.name)
        });
        let names = fast.collect::<Vec<_>>().join(", ");
        let known = if names.is_empty() { String::new() } else { format!(": {names}") };
        let text = format!("Or a processor whose core decrypts {needed} and more{known}.");
        advice.push(Advice { text, gain: Some(plain - striped) });
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::layout::{Cipher, Drives};
    use crate::plan::outcome::Rates;

    fn rated(count: u8) -> Drives {
        let alone = Rates { read: BytesPerSec::from_mb(3592.0), write: BytesPerSec::from_mb(3330.0) };
        let n = f64::from(count);
        Drives::Rated { count, alone, together: Rates { read: alone.read * n, write: alone.write * n } }
    }

    fn ranked(resources: &Resources, text: &str) -> Ranked {
        rank(resources, &aims(text)).expect("is a path")
    }

    /// Two SN770 in PCIe 3.0 x4 on a Ryzen 5 2600 (2566.2 and 2596.5 MiB/s, linuxreviews.org, Linux 5.12).
    fn ryzen_2600() -> Resources {
        Resources {
            drives: rated(2),
            cipher: Some(Cipher {
                decrypt: BytesPerSec::from_mb(2691.0),
                encrypt: BytesPerSec::from_mb(2723.0),
                cores: Some(6),
                source: "linuxreviews.org".to_owned(),
            }),
        }
    }

    fn aims(text: &str) -> Vec<Aim> {
        Aim::parse_all(text).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Measured there: single 2511 MB/s, RAID-0 2465 under LUKS, 7200 without (delightlylinux, 2023-04-10).
    #[test]
    fn with_encryption_on_a_ryzen_5_2600_raid_0_gains_nothing_and_what_helps_is_named() {
        let ranked = ranked(&ryzen_2600(), "encryption,sequential");
        let read = |name: &str| {
            let layout = ranked.fitting.iter().find(|layout| layout.name == name).expect(name);
            layout.read.expect("a known rate").get() / 1e6
        };
        let (single, striped) = (read("single drive with LUKS"), read("LUKS on RAID-0"));
        assert!((single - striped).abs() < 1.0, "{single} and {striped}");
        for measured in [2511.0, 2465.0] {
            assert!((striped / measured - 1.0).abs() < 0.06, "{striped} of {measured}");
        }
        assert!(read("RAID-0 of LUKS drives") > 1.9 * striped);
        let texts: Vec<&str> = ranked.advice.iter().map(|advice| advice.text.as_str()).collect();
        assert!(texts[0].starts_with("RAID-0 gains nothing under LUKS"), "{texts:?}");
        assert!(texts[1].contains("no_read_workqueue") && ranked.advice[1].gain.is_some(), "{texts:?}");
        assert!(texts[2].contains("AMD Zen 4"), "{texts:?}");
    }

    #[test]
    fn aims_order_layouts_and_what_must_hold_does() {
        let four = Resources { drives: rated(4), cipher: None };
        let first = |text: &str| ranked(&four, text).fitting[0].name.clone();
        assert_eq!(first("sequential"), "LVM striped");
        assert_eq!(first("survive:1,capacity"), "RAID-5");
        assert_eq!(first("survive:1,iops"), "RAID-10");
        assert_eq!(first("survive:2,capacity"), "RAID-6");
        assert_eq!(first("survive:3"), "RAID-1");
        assert!(ranked(&four, "sequential:90GB/s").fitting.is_empty());
        assert!(ranked(&four, "survive:1").fitting.iter().all(|layout| layout.survives >= 1));
    }

    #[test]
    fn without_a_cipher_rate_encrypted_rates_are_unknown_and_not_zero() {
        let ranked = ranked(&Resources { cipher: None, ..ryzen_2600() }, "encryption,capacity");
        assert!(ranked.fitting.iter().all(|layout| layout.read.is_none()));
        assert!(ranked.advice[0].text.contains("cryptsetup benchmark"));
    }

    #[test]
    fn words_that_are_no_aims_are_named() {
        for word in ["speed", "survive:x", "sequential:fast", "capacity:4", ""] {
            assert_eq!(Aim::parse_all(&format!("iops,{word}")), Err(AimError(word.to_owned())));
        }
    }
}
