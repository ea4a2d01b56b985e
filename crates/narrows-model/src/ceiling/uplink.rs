//! What the uplink of a chipset and the connection between two sockets carry, and what a switch adds.

use super::pcie::{self, Packets, wire_formula};
use super::{Ceilings, FactRef, Limit, published};
use crate::path::{SocketHop, UplinkHop};
use narrows_base::catalog::{Chipset, catalog};
use narrows_base::fact::Source;
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes};

// What the uplink of a chipset carries, and what a switch adds.
//
// DMI is a PCI Express link in all but name, so the arithmetic is that of `super::pcie`, with generation and
// lanes from the catalogue because the kernel cannot see it on most machines. Valid for one direction at a time and
// many requests in flight; expected error −3 % to +8 % (SATA arrays behind DMI 2.0 peg at 1.8 GB/s, computed 1.68 to
// 1.82). Everything behind the chipset shares it.

/// The ceilings of a chipset's uplink.
pub fn of_chipset(hop: &UplinkHop) -> Ceilings {
    let Some(chipset) = &hop.chipset else {
        return Ceilings::unknown("the catalogue does not know this chipset's uplink");
    };
    if chipset.visible_link {
        return Ceilings::transparent("its uplink is a PCIe link that the kernel shows, a hop of its own");
    }
    let speed = GtPerSec::from_pcie_generation(chipset.generation);
    let Some((speed, raw)) = speed.and_then(|it| Some((it, pcie::raw(it, Lanes::new(chipset.lanes))?)))
    else {
        return Ceilings::unknown("the catalogue gives no PCIe generation for this uplink");
    };
    let limit = |packets: &Packets| limit(chipset, (speed, raw), packets);
    Ceilings::each(limit(&pcie::PAYLOADS), limit(&pcie::COMPLETIONS))
}

fn limit(chipset: &Chipset, (speed, raw): (GtPerSec, BytesPerSec), packets: &Packets) -> Limit {
    let width = Lanes::new(chipset.lanes);
    let (rate, leave) = packets.leave(raw, Bytes::new(u64::from(chipset.max_payload)), "");
    let source = Source::new(chipset.source.as_str());
    let wire = wire_formula(speed, width, raw);
    let formula = format!("{}: {wire}; {leave} for all that is behind it", chipset.uplink);
    let facts = vec![
        FactRef::new("chipset", &chipset.name, &source),
        FactRef::new("uplink", format!("{}, {speed} {width}", chipset.uplink), &source),
    ];
    Limit { rate, raw: Some(raw), basis: published(chipset.verified), formula, facts }
}

/// A switch carries what its links carry, and they are hops of their own; it adds a little time to each packet.
pub fn of_switch(hop: &UplinkHop) -> Ceilings {
    let known = catalog().switches.iter().find(|switch| hop.name.contains(&switch.name));
    let latency = known
        .and_then(|switch| switch.latency_nanoseconds)
        .map_or_else(|| "100 to 150 ns".to_owned(), |nanoseconds| format!("{nanoseconds} ns"));
    Ceilings::transparent(format!("its links are hops of their own; it adds {latency} to each packet's way"))
}

// What the connection between two processor sockets carries.
//
// Links × rate of a link × what data gets of it, from the catalogue. Skylake-SP with two UPI links was measured at
// 34 GB/s in one direction, 0.82 of raw (J. McCalpin); the catalogue's efficiency is 0.8 for Intel and 0.75, believed,
// for AMD. Valid for large transfers from many drives; expected error ±10 % where links and rate are verified, and
// up to 2× where a board joins its sockets with fewer links than the family allows. One drive alone hardly notices
// the distance in its rate.

/// The relative distance of a node to itself (ACPI System Locality Information Table).
const LOCAL: u32 = 10;

/// Nodes nearer than this share a die (sub-NUMA clusters 11, quarters of an EPYC I/O die 12).
const SAME_DIE: u32 = 15;

/// Nodes nearer than this share a package (dies of a first generation EPYC, 16); sockets are at 20 and more.
const SAME_PACKAGE: u32 = 20;

/// The ceilings of the way from a device's NUMA node to that of its readers.
pub fn of_socket(hop: &SocketHop) -> Ceilings {
    let (device, reader, distance) = (hop.device_node, hop.reader_node, hop.distance);
    if device == reader {
        return Ceilings::transparent(format!("device and readers are on node {device}: nothing is crossed"));
    }
    if (LOCAL..SAME_DIE).contains(&distance) {
        let why = format!("nodes {device} and {reader} share a die (distance {distance})");
        return Ceilings::transparent(why);
    }
    if (SAME_DIE..SAME_PACKAGE).contains(&distance) {
        return Ceilings::unknown(format!(
            "nodes {device} and {reader} are dies of one package (distance {distance}); the rate between them is not published"
        ));
    }
    let Some(platform) = &hop.platform else {
        return Ceilings::unknown("the catalogue does not know the interconnect of these processors");
    };
    let Some(interconnect) = &platform.interconnect else {
        return Ceilings::unknown(format!("the catalogue has no interconnect for {}", platform.name));
    };
    let link = BytesPerSec::from_gb(interconnect.gigabytes_per_second);
    let raw = link * f64::from(interconnect.links);
    let rate = raw * interconnect.efficiency;
    let source = Source::new(platform.source.as_str());
    let formula = format!(
        "{} links of {} × {link} = {raw} raw in each direction; data gets ×{} = {rate}",
        interconnect.links, interconnect.name, interconnect.efficiency
    );
    let facts = vec![
        FactRef::new("processors", &platform.name, &source),
        FactRef::new("nodes", format!("{device} to {reader}, distance {distance}"), &source),
    ];
    Ceilings::same(Limit { rate, raw: Some(raw), basis: published(interconnect.verified), formula, facts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::{Basis, Ceiling};
    use narrows_base::catalog::catalog;
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

    fn hop(distance: u32, family: u32, model: u32) -> SocketHop {
        let platform = catalog().processor(family, model, "Intel(R) Xeon(R)").cloned();
        SocketHop { device_node: 1, reader_node: 0, distance, platform }
    }

    #[test]
    fn skylake_sp_carries_at_most_three_upi_links_at_80_percent() {
        // 3 × 20.8 × 0.8; with two links 33.3, which is what was measured (34) within 3 %.
        let ceilings = of_socket(&hop(21, 6, 85));
        let limit = ceilings.read.limit().expect("known");
        assert_eq!(human::rate(limit.rate), "49.9 GB/s");
        assert_eq!(limit.raw.map(human::rate).as_deref(), Some("62.4 GB/s"));
        assert_eq!(limit.basis, Basis::Guess);
        let two_links = BytesPerSec::from_gb(20.8) * 2.0 * 0.8;
        assert!((two_links.get() / 34e9 - 1.0).abs() < 0.03);
    }

    #[test]
    fn nodes_of_one_die_or_package_are_no_socket_link() {
        assert!(matches!(of_socket(&hop(11, 6, 85)).read, Ceiling::Transparent(_)));
        assert!(matches!(of_socket(&hop(16, 6, 85)).read, Ceiling::Unknown(_)));
        let here = SocketHop { device_node: 0, reader_node: 0, ..hop(10, 6, 85) };
        assert!(matches!(of_socket(&here).read, Ceiling::Transparent(_)));
    }

    #[test]
    fn an_unknown_platform_or_one_without_interconnect_is_unknown() {
        assert!(matches!(of_socket(&hop(21, 6, 1)).read, Ceiling::Unknown(_)));
        assert!(matches!(of_socket(&hop(21, 6, 151)).read, Ceiling::Unknown(_)));
    }
}
