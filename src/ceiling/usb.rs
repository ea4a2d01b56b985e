//! What a USB connection carries.
//!
//! SuperSpeed: the line code (8b/10b at 5 Gbit/s, 128b/132b above), then packets of 1 KiB with headers, credits and the
//! storage protocol. UAS keeps several commands in flight and gets at most 0.88 of raw (1040 MB/s of 1212 measured at
//! 10 Gbit/s, TechPowerUp X670E Aorus Master; 396 of 500 at 5 Gbit/s, ThomasKaiser/Knowledge). Bulk-only transport has
//! one command at a time and gets at most 0.70 (300 to 350 MB/s of 500 are seen). USB 2.0 carries at most 42 MB/s of
//! its 60 and full speed about 1.1 of 1.5. Expected error +0 % to +12 % with UAS, up to +20 % else: these are upper ends
//! of what is seen, and slow bridges stay below. Tunnels of Thunderbolt and USB4 are not covered.

use super::{Basis, Ceilings, FactRef, Limit};
use crate::machine::block::Usb;
use crate::units::BytesPerSec;

/// The ceilings of a USB mass storage connection at its negotiated rate.
pub fn of_usb(usb: &Usb) -> Ceilings {
    let Some(&speed) = usb.speed.value() else {
        let why = usb.speed.missing().unwrap_or_default();
        return Ceilings::unknown(format!("the negotiated USB rate is not known: {why}"));
    };
    let uas = usb.driver.value().map(|driver| driver == "uas");
    let (transport, share) = match uas {
        Some(false) => ("bulk-only transport, one command at a time", 0.70),
        Some(true) => ("UAS packets and commands", 0.88),
        None => ("packets and commands, UAS assumed", 0.88),
    };
    let (code, num, den, transport, share) = match speed.get() {
        s if s <= 0.0 => return Ceilings::unknown("the USB device has no negotiated rate"),
        s if s <= 12e6 => ("no line code", 1.0, 1.0, "full speed packets", 0.73),
        s if s <= 480e6 => ("no line code", 1.0, 1.0, "high speed packets", 0.70),
        s if s <= 5e9 => ("× 8/10", 8.0, 10.0, transport, share),
        s if s <= 20e9 => ("× 128/132", 128.0, 132.0, transport, share),
        _ => return Ceilings::unknown(format!("{speed} is a tunnel whose share for storage is not known")),
    };
    let raw: BytesPerSec = speed.bytes_per_sec() * (num / den);
    let rate = raw * share;
    let measured = uas == Some(true) && speed.get() >= 5e9;
    Ceilings::same(Limit {
        rate,
        raw: Some(raw),
        basis: if measured { Basis::Formula } else { Basis::Guess },
        formula: format!("{speed}, {code}, ÷ 8 = {raw} raw; {transport} (×{share}) leave {rate}"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;
    use crate::machine::fact::Fact;
    use crate::units::{BitsPerSec, human};

    fn usb(megabits: f64, driver: &str) -> Usb {
        Usb {
            speed: Fact::known(BitsPerSec::from_mbit(megabits), "/sys/bus/usb/devices/2-1/speed"),
            driver: Fact::known(driver.to_owned(), "/sys/bus/usb/devices/2-1:1.0/driver"),
            ..Usb::default()
        }
    }

    #[test]
    fn each_speed_and_driver_has_its_rate() {
        // By hand: 500 × 0.88, 500 × 0.7, 1212.1 × 0.88, 2424.2 × 0.88, 60 × 0.7, 1.5 × 0.73.
        for (megabits, driver, want) in [
            (5000.0, "uas", "440 MB/s"),
            (5000.0, "usb-storage", "350 MB/s"),
            (10_000.0, "uas", "1.07 GB/s"),
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
        for (megabits, measured) in [(5000.0, 395.9e6), (10_000.0, 1040e6)] {
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
