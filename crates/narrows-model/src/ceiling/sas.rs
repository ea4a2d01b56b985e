//! What a SAS port carries.
//!
//! A port is as wide as it has phys. Up to 12 Gbit/s each phy uses 8b/10b, at 22.5 Gbit/s 128b/150b (SAS-4); frames of
//! 1 KiB with their headers and primitives are believed to leave 0.95. Expected error ±5 %. Where a RAID controller
//! hides its disks, their links are hidden too.

use super::{Basis, Ceilings, FactRef, Limit};
use narrows_base::fact::Source;
use narrows_base::units::{BitsPerSec, BytesPerSec};
use narrows_machine::block::Sas;

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
    Ceilings::same(Limit {
        rate,
        raw: Some(raw),
        basis: Basis::Guess,
        formula: format!(
            "{} after line code = {raw} raw; frames (×{FRAME_SHARE}) leave {rate}",
            phys.join(" + ")
        ),
        facts: vec![FactRef::new(
            "negotiated rates",
            phys.join(", "),
            &Source::new("/sys/class/sas_phy/*/negotiated_linkrate"),
        )],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;
    use narrows_base::units::human;
    use proptest::prelude::*;

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
}
