//! What a USB connection carries.
//!
//! SuperSpeed: the line code (8b/10b at 5 Gbit/s, 128b/132b above), then packets of 1 KiB with headers, credits and the
//! storage protocol. UAS keeps several commands in flight and gets at most 0.88 of raw (1040 MB/s of 1212 measured at
//! 10 Gbit/s, TechPowerUp X670E Aorus Master; at 5 Gbit/s 396 MB/s of 500, ThomasKaiser/Knowledge, and 431,
//! lore.kernel.org/linux-usb/ab96aa1f-25ba-4eef-aec7-0f4c3a4047fa@eyal.emu.id.au). Bulk-only transport has one command
//! at a time, of 1 MiB at most (Linux `drivers/usb/storage/scsiglue.c`), and is believed to lose 150 µs between them.
//! USB 2.0 carries at most 42 MB/s of its 60 and full speed about 1.1 of 1.5. Expected error +0 % to +12 % with UAS, up to
//! +40 % else: these are upper ends of what is seen, and slow bridges stay below. Tunnels of Thunderbolt and USB4 are not
//! covered.

use super::{Basis, Ceilings, FactRef, Limit};
use narrows_base::units::BytesPerSec;
use narrows_machine::block::Usb;

/// What packets, credits and commands leave of raw with several commands in flight.
const UAS_SHARE: f64 = 0.88;

/// The longest command of bulk-only transport on SuperSpeed, bytes.
const BULK_COMMAND: f64 = 1_048_576.0;

/// The time between two commands of bulk-only transport, seconds.
const BULK_GAP: f64 = 150e-6;

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
        s if s <= 20e9 => (bytes * (128.0 / 132.0), " × 128/132"),
        _ => return Ceilings::unknown(format!("{speed} is a tunnel whose share for storage is not known")),
    };
    let (rate, rule, basis) = match (speed.get(), usb.driver.value().map(String::as_str)) {
        (s, _) if s <= 12e6 => shared(raw, "full speed packets", 0.73, Basis::Guess),
        (s, _) if s <= 480e6 => shared(raw, "high speed packets", 0.70, Basis::Guess),
        (_, Some("uas")) => shared(raw, "UAS packets and commands", UAS_SHARE, Basis::Formula),
        (_, None) => shared(raw, "packets and commands, UAS assumed", UAS_SHARE, Basis::Guess),
        (_, Some(_)) => bulk_only(raw),
    };
    Ceilings::same(Limit {
        rate,
        raw: Some(raw),
        basis,
        formula: format!("{speed}{code} ÷ 8 = {raw} raw; {rule} {rate}"),
        facts: vec![
            FactRef::new("USB rate", speed, usb.speed.source()),
            FactRef::new(
                "driver",
                usb.driver.value().map_or("not known", String::as_str),
                usb.driver.source(),
            ),
        ],
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;
    use narrows_base::fact::Fact;
    use narrows_base::units::{BitsPerSec, human};

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
}
