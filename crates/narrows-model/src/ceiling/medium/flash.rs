//! What eMMC, SD cards and USB sticks deliver whose model nobody rated: a range by protocol and size.
//!
//! Upper ends are those of the bus where it is known: SD 12.5, 25, 50, 104 and 312 MB/s (SD Association, Bus Speed: default, high
//! speed, UHS-I SDR50 and DDR50, UHS-I SDR104, UHS-II), eMMC 26, 52, 104, 200 and 400 MB/s (JEDEC JESD84-B51, table of bus
//! modes at 8 bits: legacy, high speed, DDR, HS200, HS400). Lower ends are what small and cheap parts were measured with: eMMC of
//! 8 GB 166 read and 40 written at HS400, 43 and 13 at 35 MHz, of 64 GB 217 and 76, SD 80 and 40 at SDR104 (Gateworks wiki,
//! MMC); sticks 8 read and 2 written on USB 2.0, 80 and 10 on USB 3 (yousanusb.com, tables of its own products and of tests).
//! Flash of few dies writes slowly, so that small eMMC has a lower upper end of writes. A class is no data sheet: 95 % of
//! parts are believed to be within it, and it is never the evidence of a fault or limit.

use narrows_base::units::{BitsPerSec, Bytes};

use crate::path::{DeviceHop, Flash};

/// What a class of media delivers, in MB/s: the least and the most.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Range {
    /// Read.
    pub(super) read: (f64, f64),
    /// Written.
    pub(super) write: (f64, f64),
    /// What it is a range of: `eMMC at HS400`.
    pub(super) of: String,
    /// Where it is from.
    pub(super) source: &'static str,
}

/// eMMC below this size has one or two dies.
const SMALL: u64 = 20_000_000_000;

const SD: &str = "SD Association, Bus Speed; Gateworks wiki, MMC";
const EMMC: &str = "JEDEC JESD84-B51, bus modes; Gateworks wiki, MMC";
const STICK: &str = "USB 2.0 and 3.2 after packets; yousanusb.com, measured sticks";

/// The range of a device, by how it is connected.
pub(super) fn range(device: &DeviceHop) -> Option<Range> {
    match device.flash.as_ref()? {
        Flash::Mmc(mode) => Some(mmc(mode.value().map(String::as_str), device.size.value().copied())),
        Flash::Stick(speed) => Some(stick(speed.value().copied())),
    }
}

fn mmc(mode: Option<&str>, size: Option<Bytes>) -> Range {
    let Some(mode) = mode else {
        let of = "eMMC and SD cards".to_owned();
        return Range { read: (12.0, 400.0), write: (5.0, 250.0), of, source: EMMC };
    };
    let has = |word: &str| mode.split_whitespace().any(|one| one == word);
    let is_card = mode.rsplit(' ').next().is_some_and(|kind| kind.starts_with("SD"));
    let uhs = mode.starts_with("ultra high speed") || mode.starts_with("UHS-");
    if is_card {
        let bus = match () {
            () if mode.starts_with("UHS-II") => 312.0,
            () if has("SDR104") => 104.0,
            () if has("SDR50") || has("DDR50") => 50.0,
            () if uhs || mode.starts_with("high speed") => 25.0,
            () => 12.5,
        };
        let of = format!("SD cards at {mode}");
        return Range { read: (0.4 * bus, bus), write: (f64::min(5.0, 0.4 * bus), bus), of, source: SD };
    }
    let bus = match () {
        () if has("HS400") => 400.0,
        () if has("HS200") => 200.0,
        () if has("DDR") => 104.0,
        () if mode.starts_with("high speed") => 52.0,
        () => 26.0,
    };
    let most_written: f64 = if size.is_some_and(|size| size.get() < SMALL) { 100.0 } else { 250.0 };
    let of = format!("eMMC at {}", mode.trim_end_matches("MMC").trim_end());
    Range { read: (0.4 * bus, bus), write: (0.05 * bus, most_written.min(bus)), of, source: EMMC }
}

fn stick(speed: Option<BitsPerSec>) -> Range {
    let (read, write, of) = match speed.map(|speed| speed.get()) {
        Some(speed) if speed <= 480e6 => ((8.0, 42.0), (2.0, 30.0), "USB 2.0 sticks and cards"),
        Some(_) => ((60.0, 450.0), (5.0, 400.0), "USB 3 sticks and cards"),
        None => ((8.0, 450.0), (2.0, 400.0), "USB sticks and cards"),
    };
    Range { read, write, of: of.to_owned(), source: STICK }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;

    fn card(mode: &str, gigabytes: u64) -> DeviceHop {
        DeviceHop {
            flash: Some(Flash::Mmc(Fact::known(mode.to_owned(), "dmesg:1"))),
            size: Fact::known(Bytes::new(gigabytes * 1_000_000_000), "dmesg:2"),
            ..DeviceHop::default()
        }
    }

    #[test]
    fn no_range_goes_beyond_its_bus_and_what_was_measured_is_within() {
        // Gateworks wiki, MMC: each board with its card.
        for (mode, gigabytes, read, write, bus) in [
            ("HS400 MMC", 8, 166.0, 40.0, 400.0),
            ("HS400 Enhanced strobe MMC", 64, 217.0, 76.0, 400.0),
            ("ultra high speed SDR104 SDHC", 32, 80.0, 40.0, 104.0),
            ("high speed MMC", 8, 43.0, 13.0, 52.0),
        ] {
            let range = range(&card(mode, gigabytes)).expect("a class");
            assert_eq!(range.read.1, bus, "{mode}");
            assert!((range.read.0..=range.read.1).contains(&read), "{mode}: {range:?}");
            assert!((range.write.0..=range.write.1).contains(&write), "{mode}: {range:?}");
        }
    }

    #[test]
    fn every_mode_of_the_kernel_has_a_range_and_the_words_of_new_kernels_mean_the_same() {
        for mode in [
            "MMC",
            "DDR MMC",
            "HS200 MMC",
            "SD",
            "SDXC",
            "high speed SDHC",
            "ultra high speed SDR12 SDXC",
            "UHS-II SDXC",
        ] {
            let range = range(&card(mode, 32)).expect("a class");
            assert!(range.read.0 < range.read.1 && range.write.0 < range.write.1, "{mode}: {range:?}");
        }
        let most = |mode: &str| range(&card(mode, 32)).map(|range| range.read.1);
        assert_eq!(most("UHS-I speed SDR104 SDXC"), most("ultra high speed SDR104 SDXC"));
    }

    #[test]
    fn a_stick_has_the_range_of_its_port() {
        let stick = |megabits: f64| DeviceHop {
            flash: Some(Flash::Stick(Fact::known(BitsPerSec::from_mbit(megabits), "lsusb:1"))),
            ..DeviceHop::default()
        };
        assert_eq!(range(&stick(480.0)).map(|range| range.read), Some((8.0, 42.0)));
        assert_eq!(range(&stick(5000.0)).map(|range| range.read), Some((60.0, 450.0)));
        assert_eq!(range(&DeviceHop::default()), None);
    }
}
