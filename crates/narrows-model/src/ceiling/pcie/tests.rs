//! Links in the states in which they are found.

use super::*;
use crate::ceiling::Ceiling;
use narrows_base::units::human;
use narrows_machine::pci::{LinkEnd, PciDevice, PortType};
use proptest::prelude::*;

fn link_end(name: &str, current: (GtPerSec, u8), max: (GtPerSec, u8)) -> PciDevice {
    let file = |attribute: &str| format!("/sys/bus/pci/devices/{name}/{attribute}");
    PciDevice {
        link: LinkEnd {
            current_speed: Fact::known(current.0, file("current_link_speed")),
            current_width: Fact::known(Lanes::new(current.1), file("current_link_width")),
            max_speed: Fact::known(max.0, file("max_link_speed")),
            max_width: Fact::known(Lanes::new(max.1), file("max_link_width")),
            ..LinkEnd::default()
        },
        ..PciDevice::default()
    }
}

fn link(current: (GtPerSec, u8), device: (GtPerSec, u8), port: (GtPerSec, u8)) -> LinkHop {
    LinkHop {
        device: link_end("0000:02:00.0", current, device),
        port: Some(link_end("0000:00:1c.7", current, port)),
        ..LinkHop::default()
    }
}

fn express(max_payload: u64, max_read_request: u64) -> Express {
    Express {
        relaxed_ordering: true,
        extended_tags: true,
        max_speed: Some(GtPerSec::GEN4),
        max_width: Some(Lanes::new(4)),
        speed: Some(GtPerSec::GEN3),
        width: Some(Lanes::new(4)),
        ..Express::new(PortType::Endpoint, [512, max_payload, max_read_request].map(Bytes::new))
    }
}

fn known(ceiling: &Ceiling) -> &Limit {
    ceiling.limit().expect("a known ceiling")
}

#[test]
fn both_numbers_stand_in_the_formula() {
    let mut hop = link((GtPerSec::GEN3, 4), (GtPerSec::GEN3, 4), (GtPerSec::GEN3, 4));
    hop.device.express = Fact::known(express(256, 512), "/sys/bus/pci/devices/0000:02:00.0/config");
    let ceilings = of_link(&hop);
    assert_eq!(
        known(&ceilings.read).formula,
        "8 GT/s × 4 lanes × 128/130 ÷ 8 = 3.94 GB/s raw; 256 B payloads (×256/280) and skip sets (×0.9974) \
         leave 3.59 GB/s"
    );
    assert_eq!(
        known(&ceilings.write).formula,
        "8 GT/s × 4 lanes × 128/130 ÷ 8 = 3.94 GB/s raw; 256 B completions (×256/276) and skip sets (×0.9974) \
         leave 3.64 GB/s"
    );
    assert_eq!(known(&ceilings.read).raw.map(human::rate).as_deref(), Some("3.94 GB/s"));
    assert_eq!(known(&ceilings.read).basis, Basis::Formula);
}

#[test]
fn a_slot_that_trained_x1_gen2_under_a_gen3_x4_drive_carries_420_of_500_megabytes() {
    // The X99 board: the drive could use 3.59 GB/s, both ends together can do no more than the port does.
    let hop = link((GtPerSec::GEN2, 1), (GtPerSec::GEN3, 4), (GtPerSec::GEN2, 1));
    let limit = of_link(&hop).read.limit().cloned().expect("known");
    assert_eq!(human::rate(limit.rate), "420 MB/s");
    assert!(limit.formula.contains("1 lane × 8/10") && limit.formula.contains("assumed 128 B"), "{limit:?}");
    assert_eq!(capable(&hop).map(|l| human::rate(l.rate)).as_deref(), Some("420 MB/s"));
    assert_eq!(device_wants(&hop).map(|l| human::rate(l.rate)).as_deref(), Some("3.59 GB/s"));
}

#[test]
fn a_port_that_a_hypervisor_made_up_limits_nothing() {
    let (real, most) = ((GtPerSec::GEN3, 4), (GtPerSec::GEN3, 4));
    let mut hop = link(real, most, most);
    hop.port = Some(link_end("0000:00:15.0", (GtPerSec::GEN2, 32), (GtPerSec::GEN2, 32)));
    hop.is_port_virtual = true;
    // Gen3 x4 with payloads of 256 bytes, as the device says.
    assert_eq!(of_link(&hop).read.rate().map(human::rate).as_deref(), Some("3.59 GB/s"));
    assert_eq!(state(&hop), Some((GtPerSec::GEN3, Lanes::new(4))));
    hop.is_port_virtual = false;
    assert_eq!(state(&hop), Some((GtPerSec::GEN2, Lanes::new(4))));
}

#[test]
fn a_link_at_full_width_and_low_speed_idles_and_keeps_the_ceiling_of_full_speed() {
    let mut hop = link((GtPerSec::GEN1, 16), (GtPerSec::GEN4, 16), (GtPerSec::GEN4, 16));
    // Nothing explains that it idles: what it was seen at is all that is known to be carried.
    assert_eq!(of_link(&hop).read.rate().map(human::rate).as_deref(), Some("3.36 GB/s"));
    hop.device.class = Fact::known(0x03_0000, "class");
    let limit = of_link(&hop).read.limit().cloned().expect("known");
    assert_eq!(human::rate(limit.rate), "28.7 GB/s");
    let idle = limit.facts.iter().find(|fact| fact.fact == "speed while idle").expect("says that it idles");
    assert_eq!(idle.value, "2.5 GT/s");
    // Gen1 x16, 4 GB/s raw, 128 B payloads: 4 × 128/152 × 0.9974.
    assert_eq!(as_trained(&hop).read.rate().map(human::rate).as_deref(), Some("3.36 GB/s"));
}

#[test]
fn a_link_that_is_too_narrow_keeps_its_current_speed() {
    let hop = link((GtPerSec::GEN1, 1), (GtPerSec::GEN3, 4), (GtPerSec::GEN3, 4));
    assert_eq!(of_link(&hop).read.rate().map(human::rate).as_deref(), Some("210 MB/s"));
    assert_eq!(capable(&hop).map(|l| human::rate(l.rate)).as_deref(), Some("3.59 GB/s"));
}

#[test]
fn a_port_whose_target_speed_was_lowered_will_not_speed_up() {
    let mut hop = link((GtPerSec::GEN1, 4), (GtPerSec::GEN5, 4), (GtPerSec::GEN5, 4));
    let lowered = Express { target_speed: Some(GtPerSec::GEN1), ..express(256, 512) };
    if let Some(port) = &mut hop.port {
        port.express = Fact::known(lowered, "config");
    }
    // 1 GB/s raw, 256 B payloads: 1000 × 256/280 × 0.9974.
    assert_eq!(of_link(&hop).read.rate().map(human::rate).as_deref(), Some("912 MB/s"));
}

#[test]
fn the_smaller_payload_of_both_ends_counts_and_short_read_requests_cut_completions() {
    let mut hop = link((GtPerSec::GEN4, 4), (GtPerSec::GEN4, 4), (GtPerSec::GEN4, 4));
    hop.device.express = Fact::known(express(512, 128), "device");
    if let Some(port) = &mut hop.port {
        port.express = Fact::known(express(256, 512), "port");
    }
    let ceilings = of_link(&hop);
    assert_eq!(human::rate(known(&ceilings.read).rate), "7.18 GB/s");
    // 7.877 GB/s × 128/148 × 0.9974.
    assert_eq!(human::rate(known(&ceilings.write).rate), "6.79 GB/s");
    assert!(known(&ceilings.read).facts.iter().any(|f| f.value == "256 B" && f.source == "port"));
}

#[test]
fn config_space_stands_in_where_sysfs_says_nothing() {
    let mut hop = LinkHop::default();
    hop.device.express = Fact::known(express(128, 512), "config");
    assert_eq!(as_trained(&hop).read.rate().map(human::rate).as_deref(), Some("3.31 GB/s"));
}

#[test]
fn what_is_no_wire_or_cannot_be_read_is_unknown_with_its_reason() {
    let tunnel = LinkHop {
        not_a_wire: Some("tunnelled through Thunderbolt".to_owned()),
        ..link((GtPerSec::GEN1, 4), (GtPerSec::GEN1, 4), (GtPerSec::GEN1, 4))
    };
    assert_eq!(of_link(&tunnel), Ceilings::unknown("tunnelled through Thunderbolt"));
    assert_eq!((capable(&tunnel), device_wants(&tunnel)), (None, None));
    let mut blind = LinkHop::default();
    blind.device.link.current_width =
        Fact::Garbled { source: Source::new("/sys/x/current_link_width"), raw: "0".to_owned() };
    assert_eq!(
        of_link(&blind),
        Ceilings::unknown("link width is not known: `/sys/x/current_link_width` says `0`")
    );
    let odd = link((GtPerSec::from_mega(25_000), 8), (GtPerSec::GEN4, 8), (GtPerSec::GEN4, 8));
    assert_eq!(of_link(&odd), Ceilings::unknown("25 GT/s is no rate that PCI Express knows"));
}

#[test]
fn a_payload_out_of_range_is_not_believed() {
    let mut hop = link((GtPerSec::GEN3, 4), (GtPerSec::GEN3, 4), (GtPerSec::GEN3, 4));
    hop.device.express = Fact::known(express(0, 1 << 40), "config");
    assert!(known(&of_link(&hop).read).formula.contains("assumed 256 B"));
}

proptest! {
    /// Whatever the four attributes of both ends say: nothing panics, usable stays below raw, and waking up or more
    /// lanes never lowers what a link carries.
    #[test]
    fn any_state_of_a_link_has_a_sound_ceiling(
        generation in 1u8..=6, lanes in 1u8..=16, device in (1u8..=6, 1u8..=16), port in (1u8..=6, 1u8..=16),
        payload in 0u64..10_000,
    ) {
        let speed = |generation| GtPerSec::from_pcie_generation(generation).unwrap_or(GtPerSec::GEN1);
        let make = |lanes: u8| {
            let mut hop =
                link((speed(generation), lanes), (speed(device.0), device.1), (speed(port.0), port.1));
            hop.device.express = Fact::known(express(payload, payload), "config");
            hop
        };
        let hop = make(lanes);
        let (awake, trained) = (of_link(&hop), as_trained(&hop));
        for ceiling in [&awake.read, &awake.write, &trained.read, &trained.write] {
            let limit = known(ceiling);
            prop_assert!(limit.raw.is_some_and(|raw| limit.rate < raw));
        }
        prop_assert!(awake.read.rate() >= trained.read.rate());
        prop_assert!(as_trained(&make(lanes.saturating_add(1))).read.rate() > trained.read.rate());
        let wants = device_wants(&hop).map(|limit| limit.rate);
        prop_assert!(capable(&hop).map(|limit| limit.rate) <= wants);
    }
}

fn megabytes(generation: u8, lanes: u8, payload: u64) -> (f64, f64) {
    let speed = GtPerSec::from_pcie_generation(generation).expect("a generation");
    let raw = raw(speed, Lanes::new(lanes)).expect("a PCIe rate");
    (raw.get() / 1e6, device_to_host(raw, Bytes::new(payload)).get() / 1e6)
}

/// Raw rates are those of the PCI-SIG tables; usable ones were worked out by hand as
/// raw × 1534/1538 × MPS/(MPS+24) and rounded to 1 MB/s.
#[test]
fn every_generation_and_width_has_its_hand_computed_rates() {
    type Row = (u8, u8, f64, [f64; 3]);
    let table: [Row; 21] = [
        (1, 1, 250.0, [210.0, 228.0, 238.0]),
        (1, 4, 1000.0, [840.0, 912.0, 953.0]),
        (1, 8, 2000.0, [1680.0, 1824.0, 1905.0]),
        (2, 1, 500.0, [420.0, 456.0, 476.0]),
        (2, 2, 1000.0, [840.0, 912.0, 953.0]),
        (2, 4, 2000.0, [1680.0, 1824.0, 1905.0]),
        (2, 8, 4000.0, [3360.0, 3648.0, 3811.0]),
        (2, 16, 8000.0, [6719.0, 7295.0, 7622.0]),
        (3, 1, 985.0, [827.0, 898.0, 938.0]),
        (3, 2, 1969.0, [1654.0, 1796.0, 1876.0]),
        (3, 4, 3938.0, [3308.0, 3592.0, 3752.0]),
        (3, 8, 7877.0, [6616.0, 7183.0, 7505.0]),
        (3, 16, 15754.0, [13232.0, 14366.0, 15009.0]),
        (4, 1, 1969.0, [1654.0, 1796.0, 1876.0]),
        (4, 2, 3938.0, [3308.0, 3592.0, 3752.0]),
        (4, 4, 7877.0, [6616.0, 7183.0, 7505.0]),
        (4, 8, 15754.0, [13232.0, 14366.0, 15009.0]),
        (4, 16, 31508.0, [26464.0, 28732.0, 30019.0]),
        (5, 4, 15754.0, [13232.0, 14366.0, 15009.0]),
        (5, 16, 63015.0, [52928.0, 57464.0, 60037.0]),
        (6, 4, 30250.0, [25407.0, 27585.0, 28820.0]),
    ];
    for (generation, lanes, want_raw, usable) in table {
        for (payload, want) in [128, 256, 512].into_iter().zip(usable) {
            let (raw, got) = megabytes(generation, lanes, payload);
            assert!((raw - want_raw).abs() < 1.0, "{generation}.0 x{lanes}: raw {raw}");
            // The hand computation used 0.9974 for 1534/1538, hence the tolerance of 2 in 60 000.
            assert!((got - want).abs() < 1.0 + want * 2e-5, "{generation}.0 x{lanes} MPS {payload}: {got}");
        }
    }
}

/// Published measurements of drives that saturate their link, and the error they allow.
#[test]
fn drives_that_saturate_their_link_are_predicted_within_the_stated_error() {
    let cases = [
        // generation, lanes, MPS, measured MB/s: Compute Module 4 with four drives (Geerling).
        (2, 1, 128, 414.0),
        (2, 1, 128, 416.0),
        (2, 1, 128, 417.0),
        (2, 1, 128, 418.0),
        // ODROID-H2 (ThomasKaiser/Knowledge), 970 EVO Plus (VeraCrypt issue 136), SN770 on a Ryzen 2600.
        (2, 4, 128, 1731.7),
        (3, 4, 256, 3577.0),
        (3, 4, 256, 3600.0),
        // Ten drives on a Threadripper Pro (Poder), a 4.0 drive under dm-crypt inline, 980 Pro.
        (4, 4, 256, 7087.0),
        (4, 4, 256, 7096.0),
        (4, 4, 256, 7100.0),
    ];
    for (generation, lanes, payload, measured) in cases {
        let (_, predicted) = megabytes(generation, lanes, payload);
        let error = predicted / measured - 1.0;
        assert!((-0.031..=0.015).contains(&error), "{generation}.0 x{lanes}: {error:+.3}");
    }
}

#[test]
fn a_dma_read_of_3_0_x8_stays_5_percent_above_what_a_nic_measures() {
    // Netronome NFP-6000, 2 KiB DMA reads, 55.3 to 55.6 Gbit/s (pcie-bench/data).
    let raw = raw(GtPerSec::GEN3, Lanes::new(8)).expect("a PCIe rate");
    let gigabits = host_to_device(raw, Bytes::new(256)).get() * 8.0 / 1e9;
    assert!((58.1..58.4).contains(&gigabits), "{gigabits}");
}

#[test]
fn a_rate_that_pcie_does_not_know_has_no_raw_rate() {
    assert_eq!(raw(GtPerSec::from_mega(25_000), Lanes::new(8)), None);
}

proptest! {
    #[test]
    fn more_lanes_and_larger_payloads_never_lower_the_rate_and_usable_stays_below_raw(
        generation in 1u8..=6, lanes in 1u8..16, exponent in 7u32..12
    ) {
        let speed = GtPerSec::from_pcie_generation(generation).expect("a generation");
        let payload = Bytes::new(1 << exponent);
        let wire = raw(speed, Lanes::new(lanes)).expect("a PCIe rate");
        let wider = raw(speed, Lanes::new(lanes + 1)).expect("a PCIe rate");
        for usable in [device_to_host, host_to_device] {
            prop_assert!(usable(wire, payload) < wire);
            prop_assert!(usable(wider, payload) > usable(wire, payload));
            prop_assert!(usable(wire, Bytes::new(2 << exponent)) > usable(wire, payload));
        }
    }
}

#[test]
fn small_random_reads_lose_most() {
    let window = Bytes::from_mib(64);
    for (gigabits, size, measured) in [(28.4, 64, 9.8), (46.7, 256, 33.6), (55.0, 512, 53.6)] {
        let rate = BytesPerSec::new(gigabits * 1e9 / 8.0);
        let got = gigabits * kept_by_iommu(rate, Bytes::new(size), window, false);
        assert!((got / measured - 1.0).abs() < 0.2, "{size}: {got} {measured}");
    }
    assert_eq!(kept_by_iommu(BytesPerSec::from_gb(7.0), Bytes::new(64), IOMMU_REACH, false), 1.0);
    assert_eq!(kept_by_iommu(BytesPerSec::from_gb(7.0), Bytes::new(64), window, true), 1.0);
}

proptest! {
    #[test]
    fn a_share_is_a_share_and_grows_with_size(rate in 1e6..1e11f64, size in 64u64..65_536) {
        let of = |size| kept_by_iommu(BytesPerSec::new(rate), Bytes::new(size), Bytes::from_mib(64), false);
        prop_assert!(of(size) > 0.0 && of(size) <= 1.0 && of(size + 1) >= of(size));
    }
}
