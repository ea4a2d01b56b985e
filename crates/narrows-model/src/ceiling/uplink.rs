//! What the uplink of a chipset carries, and what a switch adds.
//!
//! DMI is a PCI Express link in all but name, so the arithmetic is that of [`super::pcie::rate`], with generation and
//! lanes from the catalogue because the kernel cannot see it on most machines. Valid for one direction at a time and
//! many requests in flight; expected error −3 % to +8 % (SATA arrays behind DMI 2.0 peg at 1.8 GB/s, computed 1.68 to
//! 1.82). Everything behind the chipset shares it.

use super::pcie::{rate, wire_formula};
use super::{Ceilings, FactRef, Limit, published};
use crate::path::UplinkHop;
use narrows_base::catalog::{Chipset, catalog};
use narrows_base::fact::Source;
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes};

/// The ceilings of a chipset's uplink.
pub fn of_chipset(hop: &UplinkHop) -> Ceilings {
    let Some(chipset) = &hop.chipset else {
        return Ceilings::unknown("the catalogue does not know this chipset's uplink");
    };
    if chipset.visible_link {
        return Ceilings::transparent("its uplink is a PCIe link that the kernel shows, a hop of its own");
    }
    let Some(speed) = GtPerSec::from_pcie_generation(chipset.generation) else {
        return Ceilings::unknown("the catalogue gives no PCIe generation for this uplink");
    };
    let width = Lanes::new(chipset.lanes);
    let Some(raw) = rate::raw(speed, width) else {
        return Ceilings::unknown("the catalogue gives no PCIe generation for this uplink");
    };
    let payload = Bytes::new(u64::from(chipset.max_payload));
    let read = rate::device_to_host(raw, payload);
    let write = rate::host_to_device(raw, payload);
    Ceilings::each(
        limit(chipset, speed, raw, read, rate::WRITE_OVERHEAD, "payloads"),
        limit(chipset, speed, raw, write, rate::COMPLETION_OVERHEAD, "completions"),
    )
}

fn limit(
    chipset: &Chipset,
    speed: GtPerSec,
    raw: BytesPerSec,
    rate: BytesPerSec,
    overhead: f64,
    packets: &str,
) -> Limit {
    let size = chipset.max_payload;
    let width = Lanes::new(chipset.lanes);
    let source = Source::new(chipset.source.as_str());
    Limit {
        rate,
        raw: Some(raw),
        basis: published(chipset.verified),
        formula: format!(
            "{}: {}; {size} B {packets} (×{size}/{:.0}) and skip sets (×0.9974) leave {rate} for all that is behind it",
            chipset.uplink,
            wire_formula(speed, width, raw),
            f64::from(size) + overhead,
        ),
        facts: vec![
            FactRef::new("chipset", &chipset.name, &source),
            FactRef::new("uplink", format!("{}, {speed} {width}", chipset.uplink), &source),
        ],
    }
}

/// A switch carries what its links carry, and they are hops of their own; it adds a little time to each packet.
pub fn of_switch(hop: &UplinkHop) -> Ceilings {
    let known = catalog().switches.iter().find(|switch| hop.name.contains(&switch.name));
    let latency = known
        .and_then(|switch| switch.latency_nanoseconds)
        .map_or_else(|| "100 to 150 ns".to_owned(), |nanoseconds| format!("{nanoseconds} ns"));
    Ceilings::transparent(format!("its links are hops of their own; it adds {latency} to each packet's way"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Basis;
    use narrows_base::units::human;

    fn chipset(device: u16) -> UplinkHop {
        let chipset = catalog().chipset_by_id(0x8086, device).cloned();
        UplinkHop { chipset, ..UplinkHop::default() }
    }

    /// By hand: DMI2 x4 2000 × 128/152 × 0.9974, DMI3 x4 3938 × 256/280 × 0.9974, DMI4 x8 15754 likewise.
    #[test]
    fn each_dmi_generation_has_its_hand_computed_rate() {
        for (device, read, write) in [
            (0x8d47, "1.68 GB/s", "1.73 GB/s"),
            (0xa145, "3.59 GB/s", "3.64 GB/s"),
            (0x7a84, "14.4 GB/s", "14.6 GB/s"),
        ] {
            let ceilings = of_chipset(&chipset(device));
            let rate = |ceiling: &crate::ceiling::Ceiling| ceiling.rate().map(human::rate);
            assert_eq!(rate(&ceilings.read).as_deref(), Some(read), "{device:04x}");
            assert_eq!(rate(&ceilings.write).as_deref(), Some(write), "{device:04x}");
        }
    }

    #[test]
    fn the_basis_is_spec_unless_nobody_verified_it() {
        let basis = |device| of_chipset(&chipset(device)).read.limit().map(|limit| limit.basis);
        assert_eq!(basis(0x8d47), Some(Basis::Spec));
        assert_eq!(basis(0x3a16), Some(Basis::Guess));
    }

    #[test]
    fn an_uplink_that_the_kernel_shows_is_transparent_and_one_that_nobody_knows_is_unknown() {
        let x570 =
            UplinkHop { chipset: catalog().chipset_by_id(0x1022, 0x57ad).cloned(), ..UplinkHop::default() };
        assert!(matches!(of_chipset(&x570).read, crate::ceiling::Ceiling::Transparent(_)));
        assert!(matches!(of_chipset(&UplinkHop::default()).read, crate::ceiling::Ceiling::Unknown(_)));
    }

    #[test]
    fn a_switch_says_what_time_it_adds() {
        let switch = UplinkHop { name: "PEX 8747".to_owned(), ..UplinkHop::default() };
        assert_eq!(
            of_switch(&switch),
            Ceilings::transparent("its links are hops of their own; it adds 100 ns to each packet's way")
        );
    }
}
