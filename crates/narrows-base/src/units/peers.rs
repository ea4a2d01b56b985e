//! What other tools would print for a rate, with their own units and mistakes, so that a person can compare.
//!
//! narrows itself never uses these units; [`human`](super::human) formats everything that is ours.

use serde::{Deserialize, Serialize};

use super::BytesPerSec;

/// A tool whose numbers people know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// KDiskMark: prints KiB/s ÷ 1000 as `MB/s`, which is 2.34 % low.
    #[serde(rename = "kdiskmark")]
    KDiskMark,
    /// GNOME Disks: decimal units.
    GnomeDisks,
    /// hdparm: prints MiB/s as `MB/sec`.
    Hdparm,
    /// IOzone: prints KiB/s as `kB/sec`.
    Iozone,
    /// DISKSPD: MiB/s.
    Diskspd,
    /// No tool.
    None,
}

impl Peer {
    /// The tool's name; `None` for no tool.
    pub const fn tool(self) -> Option<&'static str> {
        match self {
            Self::KDiskMark => Some("KDiskMark"),
            Self::GnomeDisks => Some("GNOME Disks"),
            Self::Hdparm => Some("hdparm"),
            Self::Iozone => Some("IOzone"),
            Self::Diskspd => Some("DISKSPD"),
            Self::None => None,
        }
    }

    /// The rate as the tool would print it; `None` for no tool.
    ///
    /// Sources: KDiskMark e78d3c7, `src/benchmark.cpp:163` (fio's `bw`, whole KiB/s, ÷ 1000) and `src/mainwindow.cpp`
    /// (three decimals); GLib's `g_format_size` (decimal, one decimal) in GNOME Disks; hdparm.c, `time_device` (bytes
    /// ÷ 2²⁰); iozone.c, "Children see throughput" (KiB); DISKSPD's text report (`MiB/s`, two decimals).
    pub fn shows(self, rate: BytesPerSec) -> Option<String> {
        let (kib, mib) = (rate.get() / 1024.0, rate.get() / f64::from(1 << 20));
        Some(match self {
            Self::KDiskMark => format!("{:.3} MB/s", kib.floor() / 1000.0),
            Self::GnomeDisks => decimal(rate),
            Self::Hdparm => format!("{mib:.2} MB/sec"),
            Self::Iozone => format!("{kib:.2} kB/sec"),
            Self::Diskspd => format!("{mib:.2} MiB/s"),
            Self::None => return None,
        })
    }

    /// What is odd about the tool's unit, if anything.
    pub const fn quirk(self) -> Option<&'static str> {
        match self {
            Self::KDiskMark => Some("its MB/s is KiB/s divided by 1000, 2.34 % below the true decimal rate"),
            Self::Hdparm => Some("its MB/sec is MiB/s, 4.86 % below the decimal rate"),
            Self::Iozone => Some("its kB/sec is KiB/s"),
            Self::GnomeDisks | Self::Diskspd | Self::None => None,
        }
    }
}

/// As GLib's `g_format_size` prints a rate.
fn decimal(rate: BytesPerSec) -> String {
    let steps = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")];
    let rate = rate.get();
    steps
        .iter()
        .find(|(size, _)| rate >= *size)
        .map_or_else(|| format!("{rate:.0} bytes/s"), |(size, unit)| format!("{:.1} {unit}", rate / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kdiskmark_is_low_by_2_34_percent() {
        // KDiskMark issue 175: 20725.404 "MB/s" beside 20239.7 IOPS of 1 MiB, which are 21222.9 MB/s.
        let shown = Peer::KDiskMark.shows(BytesPerSec::new(20_239.7 * 1_048_576.0)).unwrap();
        assert!(shown.starts_with("20725.4"), "{shown}");
    }

    #[test]
    fn hdparm_prints_mib_as_mb() {
        // A published run: 1122 MB in 3.00 seconds = 373.60 MB/sec.
        assert_eq!(Peer::Hdparm.shows(BytesPerSec::new(373.60 * 1_048_576.0)).unwrap(), "373.60 MB/sec");
    }

    #[test]
    fn the_others_use_the_units_of_their_reports() {
        let rate = BytesPerSec::from_mb(512.0);
        assert_eq!(Peer::GnomeDisks.shows(rate).unwrap(), "512.0 MB/s");
        assert_eq!(Peer::GnomeDisks.shows(BytesPerSec::from_gb(3.64)).unwrap(), "3.6 GB/s");
        assert_eq!(Peer::Iozone.shows(rate).unwrap(), "500000.00 kB/sec");
        assert_eq!(Peer::Diskspd.shows(rate).unwrap(), "488.28 MiB/s");
        assert_eq!(Peer::None.shows(rate), None);
    }
}
