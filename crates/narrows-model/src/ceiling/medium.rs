//! What a storage medium delivers: what its vendor or a tester published for the model.
//!
//! Valid for sequential access with large blocks on a healthy, cool drive, writes within its cache, and for the outer
//! tracks of a disk. Expected error −3 % to +15 %: the figures are the best of a model family.
//!
//! A solid-state drive that the catalogue does not know has no ceiling; a guess would only mislead. A hard disk has that
//! of its class, for what turns is bound by physics: the outer tracks of the fastest drives with one actuator, 7200
//! revolutions a minute and 20 TB and more, read and write 285 MB/s (data sheets of Seagate Exos X20 and X24, WD Ultrastar
//! DC HC560, Toshiba MG10), and every other drive less, down to 150 MB/s. Expected error 0 % to +90 %.

use super::{Basis, Ceilings, FactRef, Limit, published};
use crate::path::{DeviceHop, Flash};
use narrows_base::catalog::{self, Medium};
use narrows_base::fact::{NOT_LOOKED_FOR, Source};
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Iops, Nanos, human};

/// What the outer tracks of the fastest hard disks with one actuator carry, MB/s.
const HARD_DISK: f64 = 285.0;

/// The slowest hard disks carry this part of what the fastest do.
const SLOW_DISK: f64 = 0.5;

/// The ceilings of a medium.
pub fn of_device(device: &DeviceHop) -> Ceilings {
    if device.is_virtual() {
        return Ceilings::unknown("a virtual disk is as fast as its host lets it be");
    }
    if let Some(synthetic) = &device.synthetic {
        return of_synthetic(synthetic);
    }
    let model = device.model.value();
    let Some((model, medium)) = model.and_then(|model| Some((model, catalog::medium(model)?))) else {
        return match flash_range(device) {
            _ if device.is_hard_disk => Ceilings::same(of_class(device)),
            Some(range) => Ceilings::each(
                of_range(device, &range, "read", range.read),
                of_range(device, &range, "write", range.write),
            ),
            None => Ceilings::unknown(why_unknown(device)),
        };
    };
    Ceilings::each(
        limit(medium, model, device, "read", medium.read_megabytes_per_second),
        limit(medium, model, device, "write", medium.write_megabytes_per_second),
    )
}

fn limit(medium: &Medium, model: &str, device: &DeviceHop, what: &str, megabytes: f64) -> Limit {
    let rate = BytesPerSec::from_mb(megabytes);
    let said = if medium.verified { "published" } else { "believed to be published" };
    let formula = format!("{} is {said} with {rate} sequential {what} at best", medium.name);
    let facts = vec![
        FactRef::new("model", model, device.model.source()),
        FactRef::new("published rate", rate, &Source::new(medium.source.as_str())),
    ];
    Limit { rate, raw: None, basis: published(medium.verified), formula, facts }
}

fn why_unknown(device: &DeviceHop) -> String {
    match device.model.missing() {
        None => "the catalogue has no figures for this model".to_owned(),
        Some(why) if why == NOT_LOOKED_FOR => "its model is not known".to_owned(),
        Some(why) => format!("its model is not known; {why}"),
    }
}

/// The ceiling of a hard disk whose model the catalogue does not know.
fn of_class(device: &DeviceHop) -> Limit {
    let rate = BytesPerSec::from_mb(HARD_DISK);
    let formula = format!(
        "the catalogue has no figures for this hard disk; the outer tracks of the fastest ones with one actuator \
         carry {rate}, and all others less"
    );
    let fact = match (device.rotational.value(), device.model.value()) {
        (None, Some(model)) => FactRef::new("model number of a hard disk", model, device.model.source()),
        _ => FactRef::new("rotational", "1", device.rotational.source()),
    };
    Limit { rate, raw: None, basis: Basis::Guess, formula, facts: vec![fact] }
}

/// The upper end of the range of a class.
fn of_range(device: &DeviceHop, range: &FlashRange, what: &str, (least, most): (f64, f64)) -> Limit {
    let rate = BytesPerSec::from_mb(most);
    let size =
        device.size.value().map(|size| FactRef::new("size", human::bytes(*size), device.size.source()));
    let (fact, value, source) = match &device.flash {
        Some(Flash::Mmc(mode)) => ("mode", mode.get(), mode.source()),
        Some(Flash::Stick(speed)) => ("USB rate", speed.value().map(BitsPerSec::to_string), speed.source()),
        None => ("mode", None, device.size.source()),
    };
    let mode = value.map(|value| FactRef::new(fact, value, source));
    let class = FactRef::new("class", &range.of, &Source::new(range.source));
    let (of, least) = (&range.of, BytesPerSec::from_mb(least));
    let formula =
        format!("the catalogue has no figures for this model; {of} {what} {least} to {rate} at best");
    let facts = mode.into_iter().chain(size).chain([class]).collect();
    Limit { rate, raw: None, basis: Basis::Guess, formula, facts }
}

/// The part of its ceiling that the slowest of a medium's class carry, for reads and writes; `None` of flash that is rated by
/// its model, and of what has no class.
pub fn least_share(device: &DeviceHop) -> Option<(f64, f64)> {
    if device.is_hard_disk {
        return Some((SLOW_DISK, SLOW_DISK));
    }
    if device.model.value().is_some_and(|model| catalog::medium(model).is_some()) {
        return None;
    }
    let range = flash_range(device)?;
    Some((range.read.0 / range.read.1, range.write.0 / range.write.1))
}

fn of_synthetic(kind: &str) -> Ceilings {
    match kind {
        "null_blk" => Ceilings::unknown(
            "null_blk completes requests without moving data; the processor is its only limit",
        ),
        "brd" | "zram" => {
            Ceilings::unknown(format!("{kind} is memory; the processor and its memory limit it"))
        }
        "loop" => Ceilings::transparent("a loop device is as fast as the file behind it"),
        other => Ceilings::unknown(format!("{other} is no physical medium")),
    }
}

// What eMMC, SD cards and USB sticks deliver whose model nobody rated: a range by protocol and size.
//
// Upper ends are those of the bus where it is known: SD 12.5, 25, 50, 104 and 312 MB/s (SD Association, Bus Speed: default, high
// speed, UHS-I SDR50 and DDR50, UHS-I SDR104, UHS-II), eMMC 26, 52, 104, 200 and 400 MB/s (JEDEC JESD84-B51, table of bus
// modes at 8 bits: legacy, high speed, DDR, HS200, HS400). Lower ends are what small and cheap parts were measured with: eMMC of
// 8 GB 166 read and 40 written at HS400, 43 and 13 at 35 MHz, of 64 GB 217 and 76, SD 80 and 40 at SDR104 (Gateworks wiki,
// MMC); sticks 8 read and 2 written on USB 2.0, 80 and 10 on USB 3 (yousanusb.com, tables of its own products and of tests).
// Flash of few dies writes slowly, so that small eMMC has a lower upper end of writes. A class is no data sheet: 95 % of
// parts are believed to be within it, and it is never the evidence of a fault or limit.

/// What a class of media delivers, in MB/s: the least and the most.
#[derive(Debug, Clone, PartialEq)]
struct FlashRange {
    read: (f64, f64),
    /// Written.
    write: (f64, f64),
    /// What it is a range of: `eMMC at HS400`.
    of: String,
    /// Where it is from.
    source: &'static str,
}

/// eMMC below this size has one or two dies.
const SMALL: u64 = 20_000_000_000;

const SD: &str = "SD Association, Bus Speed; Gateworks wiki, MMC";
const EMMC: &str = "JEDEC JESD84-B51, bus modes; Gateworks wiki, MMC";
const STICK: &str = "USB 2.0 and 3.2 after packets; yousanusb.com, measured sticks";

/// The range of a device, by how it is connected.
fn flash_range(device: &DeviceHop) -> Option<FlashRange> {
    match device.flash.as_ref()? {
        Flash::Mmc(mode) => Some(mmc(mode.value().map(String::as_str), device.size.value().copied())),
        Flash::Stick(speed) => Some(stick(speed.value().copied())),
    }
}

fn mmc(mode: Option<&str>, size: Option<Bytes>) -> FlashRange {
    let Some(mode) = mode else {
        let of = "eMMC and SD cards".to_owned();
        return FlashRange { read: (12.0, 400.0), write: (5.0, 250.0), of, source: EMMC };
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
        return FlashRange { read: (0.4 * bus, bus), write: (f64::min(5.0, 0.4 * bus), bus), of, source: SD };
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
    FlashRange { read: (0.4 * bus, bus), write: (0.05 * bus, most_written.min(bus)), of, source: EMMC }
}

fn stick(speed: Option<BitsPerSec>) -> FlashRange {
    let (read, write, of) = match speed.map(|speed| speed.get()) {
        Some(speed) if speed <= 480e6 => ((8.0, 42.0), (2.0, 30.0), "USB 2.0 sticks and cards"),
        Some(_) => ((60.0, 450.0), (5.0, 400.0), "USB 3 sticks and cards"),
        None => ((8.0, 450.0), (2.0, 400.0), "USB sticks and cards"),
    };
    FlashRange { read, write, of: of.to_owned(), source: STICK }
}

// The time of one access to a medium.
//
// A hard disk: overhead + seek + half a turn + size over the rate of the zone (manuals of Hitachi and HGST drives): 8.2 ms
// and 4.17 ms at 7200 turns a minute give 80 reads a second at depth 1. The elevator of a deep queue halves the way:
// 150 to 200 at depth 32. Expected error ±20 %.
//
// Flash at depth 1 is its latency: 66 to 68 µs for enterprise TLC (vitastor, bench2), 64 to 81 for consumer TLC of
// generation 3, 100 on SATA; a write into protected memory 15 to 17 µs. In sequence the drive has part of the next block
// read already: `SEQUENTIAL_SHARE` of the random latency is left (36 of 72 µs at 64 KiB, 76 of 81 at 1 MiB, 62 of 64 at
// 1 MiB); expected error of the rate ±17 % at 64 KiB and more. Below that the share is not known.
//
// A flush after a write of a drive with power-loss protection finds nothing to wait for: `EMPTY_FLUSH` is its round trip (17 µs of
// 38.2 for 16 KiB and `fdatasync`, linux-raid `CAGqmV7ojxmsMVStS2LWzfeN+A565z4U=…`; 11 of 55.6 for 4 KiB and `O_DSYNC` on a PM863a,
// `github.com/thomas-krenn/TKperf` issue 19). Drives that report no volatile cache, as many NVMe drives of servers do, are not
// flushed at all, so that only SATA drives have the law. Without protection the
// drive programs its cells first: 286 writes a second (960 PRO, percona.com 2018/07/18), 478 (950 PRO, freshbsd.org
// freebsd/src 321928), 574 (980, igene.tw choosing-ceph-ssd), 608 (990 PRO, tanelpoder.com), 1480 (PM961, TKperf) and 1000 to 2000
// (vitastor): no law that estimates, for they differ by five.

/// The part of the latency of a random read that a sequential one at depth 1 still waits for.
pub const SEQUENTIAL_SHARE: f64 = 0.65;

/// The round trip of a flush that finds nothing to write. Expected error ±5 µs.
pub const EMPTY_FLUSH: Nanos = Nanos::new(13_000);

/// The mean seek of desktop and server disks.
pub const SEEK: Nanos = Nanos::new(8_200_000);

/// The time of a random access of a disk that turns `rpm` times a minute, without the transfer.
pub fn disk_access(seek: Nanos, rpm: u32) -> Nanos {
    let half_turn = 30e9 / f64::from(rpm.max(1));
    Nanos::new(seek.get() + half_turn.round() as u64)
}

/// Random reads a second of a disk at `depth`: the elevator shortens the seek, at depth 32 to about half.
pub fn disk_iops(access: Nanos, depth: u32) -> Iops {
    let gain = 1.0 + 0.23 * libm::log2(f64::from(depth.clamp(1, 32)));
    Iops::new(gain / access.as_secs_f64().max(1e-9))
}

/// The latency that a sequential read at depth 1 waits for, of that of a random one.
pub fn sequential_wait(random: Nanos) -> Nanos {
    Nanos::new((random.get() as f64 * SEQUENTIAL_SHARE).round() as u64)
}

// Writes into a fast cache (pseudo-SLC) and after it.
//
// Writing V bytes takes min(V, cache)/fast + max(0, V − cache)/steady (piecewise; exact for a known cache that was empty).
// What the rates are a drive's data sheet or a review tells: over whole drives of TLC 480 MB/s (A2000 1 TB), 582 (NV2 1 TB), 830
// (FX900 1 TB), 1000 (P5 1 TB), 1514 (NM800 Pro 2 TB), 2300 (A440 Pro 2 TB) and 3100 (M480 Play 2 TB; all techpowerup.com/review) are
// published, and one and the same FX900 makes 830 there and 1540 at guru3d.com. QLC drives make 120 to 300 over all of them (MP44S,
// FX700, P1: techpowerup.com; P41 Plus: guru3d.com). That is why a class of drives has no law for long writes.

/// The mean rate of writing `volume`.
pub fn cached_write_rate(volume: Bytes, cache: Bytes, fast: BytesPerSec, steady: BytesPerSec) -> BytesPerSec {
    let within = volume.min(cache).as_f64();
    let beyond = volume.saturating_sub(cache).as_f64();
    let part = |bytes: f64, rate: BytesPerSec| if bytes > 0.0 { bytes / rate.get() } else { 0.0 };
    let time = part(within, fast) + part(beyond, steady);
    if time > 0.0 { BytesPerSec::new(volume.as_f64() / time) } else { fast }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;
    use narrows_base::fact::Fact;
    use proptest::prelude::*;

    fn device(model: &str) -> DeviceHop {
        DeviceHop {
            model: Fact::known(model.to_owned(), "/sys/class/block/nvme0n1/device/model"),
            ..DeviceHop::default()
        }
    }

    #[test]
    fn a_known_model_has_its_published_rates() {
        let ceilings = of_device(&device("WD_BLACK SN770 2TB"));
        assert_eq!(ceilings.read.rate().map(human::rate).as_deref(), Some("5.15 GB/s"));
        assert_eq!(ceilings.write.rate().map(human::rate).as_deref(), Some("4.9 GB/s"));
        assert_eq!(ceilings.read.limit().map(|limit| limit.basis), Some(Basis::Spec));
    }

    #[test]
    fn a_figure_that_nobody_checked_is_a_guess_and_says_so() {
        let ceilings = of_device(&device("CT1000P3PSSD8"));
        let limit = ceilings.read.limit().expect("known");
        assert_eq!(limit.basis, Basis::Guess);
        assert_eq!(
            limit.formula,
            "Crucial P3 Plus is believed to be published with 5 GB/s sequential read at best"
        );
    }

    #[test]
    fn a_hard_disk_of_any_model_has_the_ceiling_of_its_class_and_a_known_one_its_own() {
        let turns = |model: &str| DeviceHop { is_hard_disk: true, ..device(model) };
        let ceilings = of_device(&turns("NoName 4TB"));
        let limit = ceilings.read.limit().expect("a guess");
        assert_eq!((human::rate(limit.rate).as_str(), limit.basis), ("285 MB/s", Basis::Guess));
        assert_eq!(ceilings.read, ceilings.write);
        let nameless = DeviceHop { is_hard_disk: true, ..DeviceHop::default() };
        assert_eq!(of_device(&nameless).read.rate(), Some(limit.rate));
        let known = of_device(&turns("WD_BLACK SN770 2TB"));
        assert_eq!(known.read.rate().map(human::rate).as_deref(), Some("5.15 GB/s"));
    }

    #[test]
    fn emmc_of_any_model_has_the_range_of_its_mode_as_a_guess() {
        let mode = Fact::known("HS200 MMC".to_owned(), "dmesg:1");
        let card = DeviceHop { flash: Some(Flash::Mmc(mode)), ..device("DG4016") };
        let ceilings = of_device(&card);
        let limit = ceilings.read.limit().expect("a guess");
        assert_eq!((human::rate(limit.rate).as_str(), limit.basis), ("200 MB/s", Basis::Guess));
        assert!(
            limit.formula.contains("eMMC at HS200 read 80 MB/s to 200 MB/s at best"),
            "{}",
            limit.formula
        );
        assert_eq!(least_share(&card), Some((0.4, 0.05)));
        assert_eq!(of_device(&DeviceHop { flash: None, ..card }).read.rate(), None);
    }

    #[test]
    fn what_is_not_published_or_not_physical_is_unknown_with_its_reason() {
        for (device, want) in [
            (device("NoName 256"), "the catalogue has no figures for this model"),
            (device("QEMU NVMe Ctrl"), "a virtual disk is as fast as its host lets it be"),
            (
                DeviceHop { synthetic: Some("virtio".into()), ..DeviceHop::default() },
                "a virtual disk is as fast as its host lets it be",
            ),
        ] {
            assert_eq!(of_device(&device), Ceilings::unknown(want));
        }
        let looped = DeviceHop { synthetic: Some("loop".into()), ..DeviceHop::default() };
        assert!(matches!(of_device(&looped).read, Ceiling::Transparent(_)));
        assert!(matches!(of_device(&DeviceHop::default()).read, Ceiling::Unknown(_)));
    }

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
            let range = flash_range(&card(mode, gigabytes)).expect("a class");
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
            let range = flash_range(&card(mode, 32)).expect("a class");
            assert!(range.read.0 < range.read.1 && range.write.0 < range.write.1, "{mode}: {range:?}");
        }
        let most = |mode: &str| flash_range(&card(mode, 32)).map(|range| range.read.1);
        assert_eq!(most("UHS-I speed SDR104 SDXC"), most("ultra high speed SDR104 SDXC"));
    }

    #[test]
    fn a_stick_has_the_range_of_its_port() {
        let stick = |megabits: f64| DeviceHop {
            flash: Some(Flash::Stick(Fact::known(BitsPerSec::from_mbit(megabits), "lsusb:1"))),
            ..DeviceHop::default()
        };
        assert_eq!(flash_range(&stick(480.0)).map(|range| range.read), Some((8.0, 42.0)));
        assert_eq!(flash_range(&stick(5000.0)).map(|range| range.read), Some((60.0, 450.0)));
        assert_eq!(flash_range(&DeviceHop::default()), None);
    }

    #[test]
    fn a_disk_of_7200_turns_does_80_reads_a_second_and_twice_that_in_a_deep_queue() {
        let access = disk_access(SEEK, 7200);
        assert!((disk_iops(access, 1).get() / 80.8 - 1.0).abs() < 0.01);
        assert!((150.0..200.0).contains(&disk_iops(access, 32).get()));
    }

    #[test]
    fn a_sequence_waits_for_a_part_of_the_latency() {
        assert_eq!(sequential_wait(Nanos::new(80_000)), Nanos::new(52_000));
    }

    #[test]
    fn a_fill_was_measured() {
        // HP FX700 2 TB: techpowerup.com gives 168 MB/s over all of it; 54 GB at 5, 406 at 3.5 GB/s, then 130 MB/s.
        let gigabytes = |count: u64| Bytes::new(count * 1_000_000_000);
        let fast = BytesPerSec::from_mb(3700.0);
        let whole = cached_write_rate(gigabytes(2000), gigabytes(460), fast, BytesPerSec::from_mb(130.0));
        assert!((whole.get() / 168e6 - 1.0).abs() < 0.03, "{whole}");
        assert_eq!(cached_write_rate(Bytes::new(0), gigabytes(1), fast, fast), fast);
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_both_and_falls_with_the_volume(
            volume in 1u64..4_000_000_000_000, cache in 0u64..1_000_000_000_000, steady in 1e7..1e9f64
        ) {
            let (fast, slow) = (BytesPerSec::new(5e9), BytesPerSec::new(steady));
            let rate = cached_write_rate(Bytes::new(volume), Bytes::new(cache), fast, slow).get();
            prop_assert!(rate <= 5e9 * (1.0 + 1e-9) && rate >= steady * (1.0 - 1e-9));
            prop_assert!(cached_write_rate(Bytes::new(volume * 2), Bytes::new(cache), fast, slow).get() <= rate * (1.0 + 1e-9));
        }
    }
}
