//! The state of a PCIe link as the rules see it: both ends, idle and under load.

use crate::machine::fact::{Fact, Source};
use crate::machine::pci::{LinkState, PciId};
use crate::path::{Hop, HopSpec, LinkHop, LinkPort};
use crate::units::{GtPerSec, Lanes};

use super::finding::Evidence;
use super::rules::{Context, Judged};

/// A link of a path whose numbers mean something.
#[derive(Clone, Copy)]
pub(super) struct Link<'a> {
    /// Its place in the path.
    pub(super) index: usize,
    /// The hop.
    pub(super) hop: &'a Hop,
    /// What is known of it.
    pub(super) link: &'a LinkHop,
    /// The end towards the processor, when what it says is true: in a virtual machine it describes a port that does
    /// not exist.
    pub(super) port: Option<&'a LinkPort>,
    /// A better state that it was seen in, by another text of the same machine.
    pub(super) best: Option<&'a LinkState>,
}

/// The links of a path that are wires.
pub(super) fn wires<'a>(context: &Context<'a>, judged: &'a Judged<'a>) -> Vec<Link<'a>> {
    let is_virtual = context.machine.cpus.hypervisor.value().is_some();
    let hops = judged.subject.path.hops.iter().enumerate();
    hops.filter_map(|(index, hop)| {
        let HopSpec::Link(link) = &hop.spec else { return None };
        let port = link.port.as_ref().filter(|_| !is_virtual);
        let ends = [Some(link.device.address), port.map(|port| port.address)].into_iter().flatten();
        let best = ends.filter_map(|end| context.machine.pci.get(&end)?.best_link.as_ref()).next();
        link.not_a_wire.is_none().then_some(Link { index, hop, link, port, best })
    })
    .collect()
}

impl<'a> Link<'a> {
    /// The base class of the device end (PCI Code and ID Assignment Specification).
    pub(super) fn base_class(&self) -> Option<u32> {
        self.link.device.class.value().map(|class| class >> 16)
    }

    /// Whether the device end is a display.
    pub(super) fn is_display(&self) -> bool {
        self.base_class() == Some(0x03)
    }

    /// Whether the device end is a storage controller.
    pub(super) fn is_storage(&self) -> bool {
        self.base_class() == Some(0x01)
    }

    /// Whether the device end is made to move data in bulk: storage, wired network, USB, or a bridge to such.
    /// A device whose class is not known stands on a storage path and counts.
    pub(super) fn moves_data(&self) -> bool {
        const WIRELESS: u32 = 0x0280;
        const USB: u32 = 0x0c03;
        self.link.device.class.value().is_none_or(|class| {
            matches!(class >> 16, 0x01 | 0x02 | 0x06) && class >> 8 != WIRELESS || class >> 8 == USB
        })
    }

    /// Whether the device end is the chipset: its uplink is wired as the platform wants, whatever both ends claim. That
    /// of the network and cryptography functions inside Intel's C62x is a PCIe link beside the DMI, made for x16 and
    /// often wired x8 (Intel C620 Series datasheet, PCIe uplink).
    pub(super) fn is_chipset_uplink(&self, judged: &Judged<'_>) -> bool {
        const C62X_UPLINK: PciId = PciId { vendor: 0x8086, device: 0x37c0 };
        self.link.device.id.value() == Some(&C62X_UPLINK)
            || judged.subject.path.hops.iter().any(|hop| match &hop.spec {
                HopSpec::Chipset(uplink) => uplink.address == self.link.device.address,
                HopSpec::Switch(uplink) => {
                    uplink.address == self.link.device.address && uplink.chipset.is_some()
                }
                _ => false,
            })
    }

    /// The negotiated width.
    pub(super) fn width(&self) -> Option<Lanes> {
        lower(self.ends().filter_map(|end| {
            known(&end.link.current_width).or_else(|| end.express.value().and_then(|e| e.width))
        }))
    }

    /// The current speed, as read without load.
    pub(super) fn speed(&self) -> Option<GtPerSec> {
        lower(self.ends().filter_map(|end| {
            known(&end.link.current_speed).or_else(|| end.express.value().and_then(|e| e.speed))
        }))
    }

    /// The speed that was read while load ran, if any ran.
    pub(super) fn speed_under_load(&self, judged: &Judged<'_>) -> Option<GtPerSec> {
        let runs = judged.subject.runs.iter();
        runs.filter_map(|run| run.activity.links.get(&self.link.device.address)?.speed).max()
    }

    /// The most lanes of the device end.
    pub(super) fn device_width(&self) -> Option<Lanes> {
        max_width(&self.link.device)
    }

    /// The most lanes of the other end.
    pub(super) fn port_width(&self) -> Option<Lanes> {
        self.port.and_then(max_width)
    }

    /// The fastest speed of the device end.
    pub(super) fn device_speed(&self) -> Option<GtPerSec> {
        max_speed(&self.link.device)
    }

    /// The fastest speed of the other end.
    pub(super) fn port_speed(&self) -> Option<GtPerSec> {
        self.port.and_then(max_speed)
    }

    /// The fastest speed that both ends share.
    pub(super) fn common_speed(&self) -> Option<GtPerSec> {
        Some(self.device_speed()?.min(self.port_speed()?))
    }

    /// The ends that tell the truth.
    fn ends(&self) -> impl Iterator<Item = &'a LinkPort> + use<'a> {
        std::iter::once(&self.link.device).chain(self.port)
    }

    /// How a person finds it: the slot when its name is known.
    pub(super) fn place(&self) -> String {
        match &self.link.slot {
            Some(slot) => format!("the PCIe link in slot {slot}"),
            None => format!("the PCIe link of {}", self.link.device.address),
        }
    }

    /// Current and greatest widths of both ends.
    pub(super) fn width_evidence(&self) -> Vec<Evidence> {
        let mut evidence = vec![
            Evidence::from_fact("current width", &self.link.device.link.current_width),
            Evidence::from_fact("greatest width of the device", &self.link.device.link.max_width),
        ];
        evidence.extend(
            self.port.map(|port| Evidence::from_fact("greatest width of the port", &port.link.max_width)),
        );
        evidence.extend(self.best_evidence());
        evidence
    }

    /// Current and greatest speeds of both ends.
    pub(super) fn speed_evidence(&self) -> Vec<Evidence> {
        let mut evidence = vec![
            Evidence::from_fact("current speed", &self.link.device.link.current_speed),
            Evidence::from_fact("greatest speed of the device", &self.link.device.link.max_speed),
        ];
        evidence.extend(
            self.port.map(|port| Evidence::from_fact("greatest speed of the port", &port.link.max_speed)),
        );
        evidence.extend(self.best_evidence());
        evidence
    }

    /// The better state that the same link was seen in.
    fn best_evidence(&self) -> Option<Evidence> {
        let best = self.best?;
        let state = format!("{} {}", best.speed, best.width);
        Some(Evidence::new("the same link at another time", state, best.source.as_str()))
    }

    /// An end whose Target Link Speed (LnkCtl2) was set below what both ends can do, with that speed and its source.
    pub(super) fn forced_below(&self, common: GtPerSec) -> Option<(&'a LinkPort, GtPerSec, Source)> {
        // Only the end towards the processor steers a link: PCIe Base Specification, Link Control 2, Target Link Speed.
        let port = self.port?;
        let target = port.express.value()?.target_speed?;
        (target < common).then(|| (port, target, port.express.source().clone()))
    }
}

fn known<T: Copy>(fact: &Fact<T>) -> Option<T> {
    fact.value().copied()
}

fn lower<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    values.min()
}

fn max_width(end: &LinkPort) -> Option<Lanes> {
    known(&end.link.max_width).or_else(|| end.express.value().and_then(|express| express.max_width))
}

fn max_speed(end: &LinkPort) -> Option<GtPerSec> {
    known(&end.link.max_speed).or_else(|| end.express.value().and_then(|express| express.max_speed))
}
