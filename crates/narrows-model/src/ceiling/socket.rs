//! What the connection between two processor sockets carries.
//!
//! Links × rate of a link × what data gets of it, from the catalogue. Skylake-SP with two UPI links was measured at
//! 34 GB/s in one direction, 0.82 of raw (J. McCalpin); the catalogue's efficiency is 0.8 for Intel and 0.75, believed,
//! for AMD. Valid for large transfers from many drives; expected error ±10 % where links and rate are verified, and
//! up to 2× where a board joins its sockets with fewer links than the family allows. One drive alone hardly notices
//! the distance in its rate.

use super::{Ceilings, FactRef, Limit, published};
use crate::path::SocketHop;
use narrows_base::fact::Source;
use narrows_base::units::BytesPerSec;

/// The relative distance of a node to itself (ACPI System Locality Information Table).
const LOCAL: u32 = 10;

/// Nodes nearer than this share a die (sub-NUMA clusters 11, quarters of an EPYC I/O die 12).
const SAME_DIE: u32 = 15;

/// Nodes nearer than this share a package (dies of a first generation EPYC, 16); sockets are at 20 and more.
const SAME_PACKAGE: u32 = 20;

/// The ceilings of the way from a device's NUMA node to that of its readers.
pub fn of_socket(hop: &SocketHop) -> Ceilings {
    let (device, reader) = (hop.device_node, hop.reader_node);
    if device == reader {
        return Ceilings::transparent(format!("device and readers are on node {device}: nothing is crossed"));
    }
    match hop.distance {
        LOCAL..SAME_DIE => {
            return Ceilings::transparent(format!(
                "nodes {device} and {reader} share a die (distance {})",
                hop.distance
            ));
        }
        SAME_DIE..SAME_PACKAGE => {
            return Ceilings::unknown(format!(
                "nodes {device} and {reader} are dies of one package (distance {}); the rate between them is not published",
                hop.distance
            ));
        }
        _ => {}
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
    Ceilings::same(Limit {
        rate,
        raw: Some(raw),
        basis: published(interconnect.verified),
        formula: format!(
            "{} links of {} × {link} = {raw} raw in each direction; data gets ×{} = {rate}",
            interconnect.links, interconnect.name, interconnect.efficiency
        ),
        facts: vec![
            FactRef::new("processors", &platform.name, &source),
            FactRef::new("nodes", format!("{device} to {reader}, distance {}", hop.distance), &source),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::{Basis, Ceiling};
    use narrows_base::catalog::catalog;
    use narrows_base::units::human;

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
