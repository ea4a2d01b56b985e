//! `pci_link_speed`: the rate of a link in GB/s after its line code, and which speed and width it stands for.

use narrows_base::units::{GtPerSec, Lanes};

/// The widths that are built. The specification also knows x12 and x32, which no slot or device has.
const WIDTHS: [u8; 5] = [1, 2, 4, 8, 16];

/// The rate of one lane in GB/s as hwloc computes it (`hwloc/pci-common.c`, `hwloc_pcidisc_find_linkspeed`): 8b/10b up
/// to 5 GT/s, 128b/130b up to 32 GT/s, 242 of 256 bytes above.
const LANES: [(GtPerSec, f64); 6] = [
    (GtPerSec::GEN1, 0.25),
    (GtPerSec::GEN2, 0.5),
    (GtPerSec::GEN3, 128.0 / 130.0),
    (GtPerSec::GEN4, 2.0 * 128.0 / 130.0),
    (GtPerSec::GEN5, 4.0 * 128.0 / 130.0),
    (GtPerSec::GEN6, 8.0 * 242.0 / 256.0),
];

/// hwloc prints six decimals of a 32-bit float; the rates of different links are at least 1 % apart.
const TOLERANCE: f64 = 1e-3;

/// Every link that has this rate, the slowest speed first. Several links do: x4 at 8 GT/s moves as much as x2 at
/// 16 GT/s.
pub(super) fn links(gigabytes: f64) -> Vec<(GtPerSec, Lanes)> {
    let has_rate = |lane: f64, width: u8| {
        let rate = lane * f64::from(width);
        (gigabytes - rate).abs() <= rate * TOLERANCE
    };
    LANES
        .iter()
        .flat_map(|(speed, lane)| WIDTHS.map(|width| (*speed, *lane, width)))
        .filter(|(_, lane, width)| has_rate(*lane, *width))
        .map(|(speed, _, width)| (speed, Lanes::new(width)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rate_that_one_link_has_identifies_it() {
        assert_eq!(links(0.25), [(GtPerSec::GEN1, Lanes::new(1))]);
        assert_eq!(links(0.984_615), [(GtPerSec::GEN3, Lanes::new(1))]);
        assert_eq!(links(63.015_385), [(GtPerSec::GEN5, Lanes::new(16))]);
        assert_eq!(links(121.0), [(GtPerSec::GEN6, Lanes::new(16))]);
    }

    #[test]
    fn a_rate_that_several_links_have_identifies_none() {
        let four = |speed, width| (speed, Lanes::new(width));
        let want = [four(GtPerSec::GEN3, 4), four(GtPerSec::GEN4, 2), four(GtPerSec::GEN5, 1)];
        assert_eq!(links(3.938_462), want);
        assert_eq!(links(0.5), [four(GtPerSec::GEN1, 2), four(GtPerSec::GEN2, 1)]);
        assert_eq!(links(4.0), [four(GtPerSec::GEN1, 16), four(GtPerSec::GEN2, 8)]);
    }

    #[test]
    fn a_rate_that_no_link_has_is_none() {
        for rate in [0.0, 0.3, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(links(rate).is_empty(), "{rate}");
        }
    }

    proptest! {
        #[test]
        fn no_rate_stands_for_more_than_four_links(rate: f64) {
            prop_assert!(links(rate).len() <= 4);
        }
    }
}
