//! What lies between a drive and PCI Express: a SATA link, a SAS port, a USB connection, and the controller or adapter.

use super::{Basis, Ceilings, FactRef, Limit};
use crate::path::{ControllerHop, Hop, HopSpec};
use narrows_base::catalog::catalog;
use narrows_base::fact::Source;
use narrows_base::units::{BitsPerSec, BytesPerSec};
use narrows_machine::block::{Sas, Sata, Usb};

// What a SATA link carries.
//
// 8b/10b leaves a tenth of the line rate in bytes; frames of at most 8 KiB with their header, checksum and handshake
// leave 0.93 of that at 6 Gbit/s (Serial ATA specification; the best drives are sold as 560 MB/s, 546 MB/s was
// measured on a native port, ThomasKaiser/Knowledge, ODROID-H2). For 1.5 and 3 Gbit/s the shares 0.97 and 0.95 are
// believed, not measured. Expected error +0 % to +3 % at 6 Gbit/s. Behind a port multiplier all drives share it.

/// The ceilings of a SATA link at its negotiated rate.
pub fn of_sata(sata: &Sata) -> Ceilings {
    let Some(&speed) = sata.speed.value() else {
        let why = sata.speed.missing().unwrap_or_default();
        return Ceilings::unknown(format!("the negotiated SATA rate is not known: {why}"));
    };
    let (share, basis) = match speed.get() {
        s if s <= 0.0 => return Ceilings::unknown("the SATA link is down"),
        s if s <= 1.5e9 => (0.97, Basis::Guess),
        s if s <= 3e9 => (0.95, Basis::Guess),
        _ => (0.933, Basis::Formula),
    };
    let raw = speed.bytes_per_sec() * 0.8;
    let rate = raw * share;
    let formula = format!("{speed} × 8/10 ÷ 8 = {raw} raw; frames and handshakes (×{share}) leave {rate}");
    let facts = vec![FactRef::new("SATA rate", speed, sata.speed.source())];
    Ceilings::same(Limit { rate, raw: Some(raw), basis, formula, facts })
}

// What a SAS port carries.
//
// A port is as wide as it has phys. Up to 12 Gbit/s each phy uses 8b/10b, at 22.5 Gbit/s 128b/150b (SAS-4); frames of
// 1 KiB with their headers and primitives are believed to leave 0.95. Expected error ±5 %. Where a RAID controller
// hides its disks, their links are hidden too.

/// What frames and primitives leave; believed, no public measurement.
const FRAME_SHARE: f64 = 0.95;

fn phy_raw(speed: BitsPerSec) -> BytesPerSec {
    let code = if speed.get() > 12e9 { 128.0 / 150.0 } else { 0.8 };
    speed.bytes_per_sec() * code
}

/// The ceilings of a SAS port: the sum of its phys.
pub fn of_sas(sas: &Sas) -> Ceilings {
    if sas.hidden {
        return Ceilings::unknown("a RAID controller hides its disks and their links");
    }
    let raw: BytesPerSec = sas.phy_speeds.iter().copied().map(phy_raw).sum();
    if raw.get() <= 0.0 {
        return Ceilings::unknown("the kernel shows no negotiated rate for this SAS port");
    }
    let rate = raw * FRAME_SHARE;
    let phys: Vec<String> = sas.phy_speeds.iter().map(BitsPerSec::to_string).collect();
    let sum = phys.join(" + ");
    let formula = format!("{sum} after line code = {raw} raw; frames (×{FRAME_SHARE}) leave {rate}");
    let source = Source::new("/sys/class/sas_phy/*/negotiated_linkrate");
    let facts = vec![FactRef::new("negotiated rates", phys.join(", "), &source)];
    Ceilings::same(Limit { rate, raw: Some(raw), basis: Basis::Guess, formula, facts })
}

// What a USB connection carries.
//
// SuperSpeed: the line code (8b/10b at 5 Gbit/s, 128b/132b above), then packets of 1 KiB with headers, credits and the
// storage protocol. UAS keeps several commands in flight and gets at most 0.88 of raw (1040 MB/s of 1212 measured at
// 10 Gbit/s, TechPowerUp X670E Aorus Master; at 5 Gbit/s 396 MB/s of 500, ThomasKaiser/Knowledge, and 431,
// lore.kernel.org/linux-usb/ab96aa1f-25ba-4eef-aec7-0f4c3a4047fa@eyal.emu.id.au). Bulk-only transport has one command
// at a time, of 1 MiB at most (Linux `drivers/usb/storage/scsiglue.c`), and is believed to lose 150 µs between them.
// USB 2.0 carries at most 42 MB/s of its 60 and full speed about 1.1 of 1.5. Expected error +0 % to +12 % with UAS, up to
// +40 % else: these are upper ends of what is seen, and slow bridges stay below. Tunnels of Thunderbolt and USB4 are not
// covered.

/// What packets, credits and commands leave of raw with several commands in flight.
const UAS_SHARE: f64 = 0.88;

/// The longest command of bulk-only transport on SuperSpeed, bytes.
const BULK_COMMAND: f64 = 1_048_576.0;

/// The time between two commands of bulk-only transport, seconds.
const BULK_GAP: f64 = 150e-6;

/// Bits a second of USB 3.2 Gen 2x2, the fastest that is no tunnel (USB 3.2 specification, section 3.2).
const FASTEST_USB: f64 = 20e9;

/// The ceilings of a USB mass storage connection at its negotiated rate.
pub fn of_usb(usb: &Usb) -> Ceilings {
    let Some(&speed) = usb.speed.value() else {
        let why = usb.speed.missing().unwrap_or_default();
        return Ceilings::unknown(format!("the negotiated USB rate is not known: {why}"));
    };
    let bytes: BytesPerSec = speed.bytes_per_sec();
    let (raw, code) = match speed.get() {
        s if s <= 0.0 => return Ceilings::unknown("the USB device has no negotiated rate"),
        s if s <= 480e6 => (bytes, ""),
        s if s <= 5e9 => (bytes * 0.8, " × 8/10"),
        s if s <= FASTEST_USB => (bytes * (128.0 / 132.0), " × 128/132"),
        _ => return Ceilings::unknown(format!("{speed} is a tunnel whose share for storage is not known")),
    };
    let driver = usb.driver.value().map(String::as_str);
    let (rate, rule, basis) = match (speed.get(), driver) {
        (s, _) if s <= 12e6 => shared(raw, "full speed packets", 0.73, Basis::Guess),
        (s, _) if s <= 480e6 => shared(raw, "high speed packets", 0.70, Basis::Guess),
        (_, Some("uas")) => shared(raw, "UAS packets and commands", UAS_SHARE, Basis::Formula),
        (_, None) => shared(raw, "packets and commands, UAS assumed", UAS_SHARE, Basis::Guess),
        (_, Some(_)) => bulk_only(raw),
    };
    let formula = format!("{speed}{code} ÷ 8 = {raw} raw; {rule} {rate}");
    let driver = driver.unwrap_or("not known");
    let facts = vec![
        FactRef::new("USB rate", speed, usb.speed.source()),
        FactRef::new("driver", driver, usb.driver.source()),
    ];
    Ceilings::same(Limit { rate, raw: Some(raw), basis, formula, facts })
}

/// The wire of a tunnel (USB4, Thunderbolt): nothing passes more, and what storage gets of it is not known.
pub fn tunnel(hop: &Hop) -> Option<Limit> {
    let HopSpec::Usb(usb) = &hop.spec else { return None };
    let speed = *usb.speed.value().filter(|speed| speed.get() > FASTEST_USB)?;
    let raw: BytesPerSec = speed.bytes_per_sec();
    let facts = vec![FactRef::new("rate of the wire", speed, usb.speed.source())];
    let formula = format!("{speed} ÷ 8 = {raw} on the wire");
    Some(Limit { rate: raw, raw: Some(raw), basis: Basis::Formula, formula, facts })
}

fn shared(raw: BytesPerSec, what: &str, share: f64, basis: Basis) -> (BytesPerSec, String, Basis) {
    (raw * share, format!("{what} (×{share}) leave"), basis)
}

/// One command at a time: its data at the rate of UAS, then a gap.
fn bulk_only(raw: BytesPerSec) -> (BytesPerSec, String, Basis) {
    let data_time = BULK_COMMAND / (raw.get() * UAS_SHARE);
    let rate = BytesPerSec::new(BULK_COMMAND / (data_time + BULK_GAP));
    let rule = format!(
        "packets (×{UAS_SHARE}) and 150 µs between commands of 1 MiB, one at a time (bulk-only transport), leave"
    );
    (rate, rule, Basis::Guess)
}

// What a controller or storage adapter carries of its own.
//
// An NVMe controller is its link and its medium, which are hops of their own. A few adapter chips move less than their
// link; the catalogue names them, with measured figures (expected error ±5 %). What a hypervisor or a server behind a
// fabric allows is not visible from here.

/// The ceilings of a controller or adapter.
pub fn of_controller(hop: &ControllerHop) -> Ceilings {
    if hop.is_virtual {
        return Ceilings::unknown("what a virtual adapter carries is the host's");
    }
    if let Some(fabric) = &hop.fabric {
        return Ceilings::transparent(format!("NVMe over {fabric}: the network and the server decide"));
    }
    let known = hop.id.value().and_then(|id| Some((id, catalog().adapter_by_id(id.vendor, id.device)?)));
    let Some((id, adapter)) = known else {
        return Ceilings::transparent("its link and what is behind it are hops of their own");
    };
    let rate = BytesPerSec::from_mb(adapter.megabytes_per_second);
    let formula = format!("the chip of {} moves {rate} at best, less than its link", adapter.name);
    let facts = vec![
        FactRef::new("adapter", id, hop.id.source()),
        FactRef::new("published rate", rate, &Source::new(adapter.source.as_str())),
    ];
    Ceilings::same(Limit { rate, raw: None, basis: Basis::Spec, formula, facts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;
    use narrows_base::fact::Fact;
    use narrows_base::units::{BitsPerSec, human};
    use narrows_machine::pci::PciId;
    use proptest::prelude::*;

    fn sata(gigabits: f64) -> Sata {
        Sata {
            speed: Fact::known(BitsPerSec::new(gigabits * 1e9), "/sys/class/ata_link/link1/sata_spd"),
            ..Sata::default()
        }
    }

    #[test]
    fn each_generation_has_its_usable_rate() {
        for (gigabits, want) in [(1.5, "146 MB/s"), (3.0, "285 MB/s"), (6.0, "560 MB/s")] {
            assert_eq!(of_sata(&sata(gigabits)).read.rate().map(human::rate).as_deref(), Some(want));
        }
    }

    #[test]
    fn a_native_port_was_measured_within_3_percent_below() {
        let rate = of_sata(&sata(6.0)).read.rate().expect("known");
        assert!((1.0..1.03).contains(&(rate.get() / 546.4e6)));
    }

    #[test]
    fn a_link_without_rate_is_unknown() {
        assert!(matches!(of_sata(&Sata::default()).read, Ceiling::Unknown(_)));
        assert!(matches!(of_sata(&sata(0.0)).read, Ceiling::Unknown(_)));
    }

    fn sas(phys: usize, gigabits: f64) -> Sas {
        Sas { phy_speeds: vec![BitsPerSec::new(gigabits * 1e9); phys], ..Sas::default() }
    }

    #[test]
    fn each_generation_has_its_usable_rate_for_each_phy() {
        // By hand: 600 × 0.95, 1200 × 0.95, 22.5/8 × 128/150 × 0.95.
        for (gigabits, want) in [(6.0, "570 MB/s"), (12.0, "1.14 GB/s"), (22.5, "2.28 GB/s")] {
            assert_eq!(of_sas(&sas(1, gigabits)).read.rate().map(human::rate).as_deref(), Some(want));
        }
    }

    #[test]
    fn hidden_disks_and_ports_without_rate_are_unknown() {
        assert!(matches!(of_sas(&Sas { hidden: true, ..sas(1, 12.0) }).read, Ceiling::Unknown(_)));
        assert!(matches!(of_sas(&sas(0, 12.0)).read, Ceiling::Unknown(_)));
    }

    proptest! {
        #[test]
        fn more_phys_never_carry_less(phys in 1usize..8, gigabits in 1.0f64..24.0) {
            let rate = |phys| of_sas(&sas(phys, gigabits)).read.rate();
            prop_assert!(rate(phys + 1) > rate(phys));
        }
    }

    fn usb(megabits: f64, driver: &str) -> Usb {
        Usb {
            speed: Fact::known(BitsPerSec::from_mbit(megabits), "/sys/bus/usb/devices/2-1/speed"),
            driver: Fact::known(driver.to_owned(), "/sys/bus/usb/devices/2-1:1.0/driver"),
            ..Usb::default()
        }
    }

    #[test]
    fn each_speed_and_driver_has_its_rate() {
        // By hand: 500 × 0.88; 1 MiB in 2383 + 150 µs; 1212.1 × 0.88; 1 MiB in 983 + 150 µs; 2424.2 × 0.88; 60 × 0.7;
        // 1.5 × 0.73.
        for (megabits, driver, want) in [
            (5000.0, "uas", "440 MB/s"),
            (5000.0, "usb-storage", "414 MB/s"),
            (10_000.0, "uas", "1.07 GB/s"),
            (10_000.0, "usb-storage", "925 MB/s"),
            (20_000.0, "uas", "2.13 GB/s"),
            (480.0, "usb-storage", "42 MB/s"),
            (12.0, "usb-storage", "1.09 MB/s"),
        ] {
            let rate = of_usb(&usb(megabits, driver)).read.rate().map(human::rate);
            assert_eq!(rate.as_deref(), Some(want), "{megabits} {driver}");
        }
    }

    #[test]
    fn published_uas_measurements_lie_within_12_percent_below() {
        for (megabits, measured) in [(5000.0, 395.9e6), (5000.0, 410.77 * 1_048_576.0), (10_000.0, 1040e6)] {
            let rate = of_usb(&usb(megabits, "uas")).read.rate().expect("known");
            assert!((1.0..1.12).contains(&(rate.get() / measured)), "{rate}");
        }
    }

    #[test]
    fn a_tunnel_or_an_unread_speed_is_unknown() {
        assert!(matches!(of_usb(&usb(40_000.0, "uas")).read, Ceiling::Unknown(_)));
        assert!(matches!(of_usb(&Usb::default()).read, Ceiling::Unknown(_)));
    }

    #[test]
    fn an_adapter_that_is_known_to_limit_does_and_others_pass() {
        let hba = |device| ControllerHop {
            id: Fact::known(PciId { vendor: 0x1000, device }, "/sys/bus/pci/devices/0000:03:00.0"),
            ..ControllerHop::default()
        };
        assert_eq!(of_controller(&hba(0x0072)).read.rate().map(human::rate).as_deref(), Some("2.5 GB/s"));
        assert!(matches!(of_controller(&hba(0x0097)).read, Ceiling::Transparent(_)));
    }

    #[test]
    fn what_a_host_decides_is_unknown() {
        let hop = ControllerHop { name: "virtio-blk".into(), is_virtual: true, ..ControllerHop::default() };
        assert_eq!(of_controller(&hop), Ceilings::unknown("what a virtual adapter carries is the host's"));
    }
}
