//! What can be brought from a device to a GPU: directly, below the switch where both meet, and through main memory.
//!
//! Each way carries what its narrowest hop does: data that is read goes up the links of the device and down those of the GPU, and the
//! links of PCI Express carry both directions at once. A ceiling that is an estimate counts for none. Through memory each byte crosses
//! it twice, and what that carries is not known. What a GPU's own copy engine, or a library that brings data there (GPUDirect Storage), does
//! with it is not looked at: both figures are ceilings.

use serde::{Deserialize, Serialize};

use super::{Basis, Direction, of_hop};
use crate::path::peer::{Meeting, Peer, Way, is_below, paths};
use crate::path::{Hop, HopId, Target};
use narrows_base::units::BytesPerSec;
use narrows_machine::Machine;

/// The most that goes one way in one direction, and what allows no more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Narrowest {
    /// The most.
    #[serde(rename = "bytes_per_second")]
    pub rate: BytesPerSec,
    pub hop: HopId,
    pub name: String,
}

/// The most that goes one way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Both {
    /// From the device to the GPU; `None` where no hop has a known ceiling.
    pub to_gpu: Option<Narrowest>,
    /// From the GPU to the device; `None` likewise.
    pub from_gpu: Option<Narrowest>,
}

/// What goes between a device and a GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Carries {
    /// The device, as a person would name it.
    pub target: String,
    /// Directly; `None` where data does not go, or is not known to go, directly.
    pub direct: Option<Both>,
    /// Through main memory.
    pub through_memory: Both,
}

/// What goes between a GPU and a device; `None` where the machine has no path to one of them.
pub fn of_peer(machine: &Machine, peer: &Peer, target: &Target) -> Option<Carries> {
    let (theirs, ours) = paths(machine, peer, target)?;
    let both = |counts: &dyn Fn(&Hop) -> bool| {
        // What the device reads goes towards the GPU: away from memory.
        let narrowest = |direction: Direction| {
            let of_device = theirs.hops.iter().map(|hop| (hop, direction));
            let of_gpu = ours.hops.iter().map(|hop| (hop, direction.turned()));
            let counted = of_device.chain(of_gpu).filter(|(hop, _)| counts(hop));
            let limits = counted.filter_map(|(hop, direction)| limit(hop, direction));
            limits.min_by(|a, b| a.rate.get().total_cmp(&b.rate.get()))
        };
        Both { to_gpu: narrowest(Direction::Read), from_gpu: narrowest(Direction::Write) }
    };
    let direct = match (&peer.meets, peer.way) {
        (Meeting::Switch(Some(at)) | Meeting::Port(at), Way::Direct) => {
            Some(both(&|hop| is_below(machine, *at, hop)))
        }
        _ => None,
    };
    Some(Carries { target: theirs.target.clone(), direct, through_memory: both(&|_| true) })
}

/// The most that the application can move through a hop, where that is known and no estimate.
fn limit(hop: &Hop, direction: Direction) -> Option<Narrowest> {
    let ceilings = of_hop(hop);
    let limit = ceilings.of(direction).limit().filter(|limit| limit.basis != Basis::Guess)?;
    let traffic = direction.pick(hop.traffic.read, hop.traffic.write);
    let rate = limit.rate / traffic;
    (traffic > 0.0 && rate.get().is_finite()).then(|| Narrowest {
        rate,
        hop: hop.id.clone(),
        name: hop.name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::peer;
    use narrows_base::fact::Fact;
    use narrows_base::units::{GtPerSec, Lanes};
    use narrows_machine::pci::{Acs, LinkEnd, PciAddress, PciDevice};

    fn at(text: &str) -> PciAddress {
        text.parse().expect("an address")
    }

    /// A switch on 3.0 x8 with a GPU on 4.0 x16 and a drive on 4.0 x4.
    fn machine(control: u16) -> Machine {
        let mut machine = Machine::default();
        for (address, class, parent, speed, width) in [
            ("20:01.0", 0x06_0400, None, GtPerSec::GEN3, 8),
            ("21:00.0", 0x06_0400, Some("20:01.0"), GtPerSec::GEN3, 8),
            ("22:00.0", 0x06_0400, Some("21:00.0"), GtPerSec::GEN4, 16),
            ("22:01.0", 0x06_0400, Some("21:00.0"), GtPerSec::GEN4, 4),
            ("23:00.0", 0x03_0200, Some("22:00.0"), GtPerSec::GEN4, 16),
            ("24:00.0", 0x01_0802, Some("22:01.0"), GtPerSec::GEN4, 4),
        ] {
            let width = Lanes::parse(&width.to_string()).expect("a width");
            let (speed, width) = (Fact::known(speed, "speed"), Fact::known(width, "width"));
            let device = PciDevice {
                address: at(address),
                class: Fact::known(class, "class"),
                parent: parent.map(at),
                link: LinkEnd {
                    current_speed: speed.clone(),
                    max_speed: speed,
                    current_width: width.clone(),
                    max_width: width,
                    ..LinkEnd::default()
                },
                acs: Fact::known(Acs::of_control(control), "lspci"),
                ..PciDevice::default()
            };
            machine.pci.insert(device.address, device);
        }
        machine
    }

    #[test]
    fn the_direct_way_is_as_wide_as_the_narrower_link_below_the_switch() {
        let machine = machine(0);
        let [(peer, target)] = &peer::all_of(&machine, at("23:00.0"))[..] else { panic!("one drive") };
        let carries = of_peer(&machine, peer, target).expect("both are there");
        let direct = carries.direct.expect("is direct").to_gpu.expect("has links");
        // 16 GT/s × 4 × 128/130 / 8 is 7.88 GB/s raw, of which data gets 7.2 or less.
        assert!((6.8e9..7.3e9).contains(&direct.rate.get()), "{direct:?}");
        assert_eq!(direct.hop.as_str(), "link:0000:24:00.0");
        // 8 GT/s × 8 carries 7.2 as well; the same narrowest link in both figures.
        let memory = carries.through_memory.to_gpu.expect("has links");
        assert!(memory.rate.get() <= direct.rate.get());
    }

    #[test]
    fn where_requests_are_redirected_nothing_goes_directly() {
        let machine = machine(0x1d);
        let [(peer, target)] = &peer::all_of(&machine, at("23:00.0"))[..] else { panic!("one drive") };
        let carries = of_peer(&machine, peer, target).expect("both are there");
        assert_eq!(carries.direct, None);
        assert!(carries.through_memory.from_gpu.is_some());
    }

    #[test]
    fn an_uplink_narrower_than_the_drive_limits_the_way_through_memory_only() {
        let mut machine = machine(0);
        for address in ["20:01.0", "21:00.0"] {
            let link = &mut machine.pci.get_mut(&at(address)).expect("is there").link;
            link.current_width = Fact::known(Lanes::parse("2").expect("a width"), "width");
            link.max_width = link.current_width.clone();
        }
        let [(peer, target)] = &peer::all_of(&machine, at("23:00.0"))[..] else { panic!("one drive") };
        let carries = of_peer(&machine, peer, target).expect("both are there");
        let memory = carries.through_memory.to_gpu.expect("has links");
        assert_eq!(memory.hop.as_str(), "link:0000:21:00.0");
        assert!(
            memory.rate.get() * 3.0
                < carries.direct.expect("is direct").to_gpu.expect("has links").rate.get()
        );
    }
}
