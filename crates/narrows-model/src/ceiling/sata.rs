//! What a SATA link carries.
//!
//! 8b/10b leaves a tenth of the line rate in bytes; frames of at most 8 KiB with their header, checksum and handshake
//! leave 0.93 of that at 6 Gbit/s (Serial ATA specification; the best drives are sold as 560 MB/s, 546 MB/s was
//! measured on a native port, ThomasKaiser/Knowledge, ODROID-H2). For 1.5 and 3 Gbit/s the shares 0.97 and 0.95 are
//! believed, not measured. Expected error +0 % to +3 % at 6 Gbit/s. Behind a port multiplier all drives share it.

use super::{Basis, Ceilings, FactRef, Limit};
use narrows_machine::block::Sata;

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
    Ceilings::same(Limit {
        rate,
        raw: Some(raw),
        basis,
        formula: format!("{speed} × 8/10 ÷ 8 = {raw} raw; frames and handshakes (×{share}) leave {rate}"),
        facts: vec![FactRef::new("SATA rate", speed, sata.speed.source())],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;
    use narrows_base::fact::Fact;
    use narrows_base::units::{BitsPerSec, human};

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
}
