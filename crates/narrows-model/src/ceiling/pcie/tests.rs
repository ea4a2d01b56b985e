//! Links in the states in which they are found.

use super::*;
use crate::ceiling::Ceiling;
use crate::path::LinkPort;
use narrows_base::units::human;
use narrows_machine::pci::{LinkEnd, PortType};
use proptest::prelude::*;

fn link_end(name: &str, current: (GtPerSec, u8), max: (GtPerSec, u8)) -> LinkPort {
    let file = |attribute: &str| format!("/sys/bus/pci/devices/{name}/{attribute}");
    LinkPort {
        link: LinkEnd {
            current_speed: Fact::known(current.0, file("current_link_speed")),
            current_width: Fact::known(Lanes::new(current.1), file("current_link_width")),
            max_speed: Fact::known(max.0, file("max_link_speed")),
            max_width: Fact::known(Lanes::new(max.1), file("max_link_width")),
            ..LinkEnd::default()
        },
        ..LinkPort::default()
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
    hop.port = Some(LinkPort {
        is_virtual: true,
        ..link_end("0000:00:15.0", (GtPerSec::GEN2, 32), (GtPerSec::GEN2, 32))
    });
    // Gen3 x4 with payloads of 256 bytes, as the device says.
    assert_eq!(of_link(&hop).read.rate().map(human::rate).as_deref(), Some("3.59 GB/s"));
    assert_eq!(state(&hop), Some((GtPerSec::GEN3, Lanes::new(4))));
    hop.port.as_mut().expect("a port").is_virtual = false;
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
