//! The state of a PCIe link as the rules see it: both ends, idle and under load.

use std::collections::BTreeSet;

use narrows_base::fact::{Fact, Source};
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::log::{LogEvent, LogKind, StatedLink};
use narrows_machine::pci::{Downgraded, End, LinkState, PciAddress, PciDevice, PciId};
use narrows_machine::{Machine, activity};
use narrows_model::ceiling::{Ceilings, pcie};
use narrows_model::path::{Hop, HopId, HopSpec, LinkHop, LinkPart, Target};

use crate::finding::{Confidence, Evidence, Finding};
use crate::rules::{Context, Judged};

/// A link of a path whose numbers mean something.
#[derive(Clone, Copy)]
pub(super) struct Link<'a> {
    /// Its place in the path.
    pub(super) index: usize,
    pub(super) hop: &'a Hop,
    /// What is known of it.
    pub(super) link: &'a LinkHop,
    /// The end towards the processor, when what it says is true: in a virtual machine it describes a port that does
    /// not exist.
    pub(super) port: Option<&'a PciDevice>,
    /// A better state that it was seen in, by another text of the same machine.
    pub(super) best: Option<&'a LinkState>,
}

/// The links of a path that are wires.
pub(super) fn wires<'a>(context: &Context<'a>, judged: &'a Judged<'a>) -> Vec<Link<'a>> {
    all(context, judged).into_iter().filter(|link| link.link.not_a_wire.is_none()).collect()
}

/// The links of a path whose errors mean something: the wires, and the link below a port that stands for itself, whose
/// other end no text tells.
pub(super) fn that_err<'a>(context: &Context<'a>, judged: &'a Judged<'a>) -> Vec<Link<'a>> {
    let is_own = |link: &Link<'_>| {
        judged.subject.path.asked == Target::Pci(link.link.device.address)
            && context.machine.pci.get(&link.link.device.address).is_some_and(PciDevice::is_bridge)
    };
    let links = all(context, judged).into_iter();
    links.filter(|link| link.link.not_a_wire.is_none() || is_own(link)).collect()
}

fn all<'a>(context: &Context<'a>, judged: &'a Judged<'a>) -> Vec<Link<'a>> {
    let hops = judged.subject.path.hops.iter().enumerate();
    hops.filter_map(|(index, hop)| {
        let HopSpec::Link(link) = &hop.spec else { return None };
        let port = link.true_port();
        let ends = [Some(link.device.address), port.map(|port| port.address)].into_iter().flatten();
        let best = ends.filter_map(|end| context.machine.pci.get(&end)?.best_link.as_ref()).next();
        Some(Link { index, hop, link, port, best })
    })
    .collect()
}

/// What a log of the kernel says of a link at the time when a device behind it was found: no driver had put the device
/// to sleep yet, so that the speed counts as the width does. Graphics cards are the exception: they start slow.
#[derive(Clone, Copy)]
pub(super) struct Claim<'a> {
    /// The device that was found.
    pub(super) device: PciAddress,
    /// What the link ran at.
    pub(super) by: StatedLink,
    /// What the device could use.
    pub(super) capable: StatedLink,
    /// The line.
    pub(super) source: &'a Source,
}

impl Claim<'_> {
    /// Whether the link was as wide as the device and only slower, as that of a graphics card which is not busy.
    pub(super) fn may_save_power(&self, machine: &Machine, link: &LinkHop) -> bool {
        let device = machine.pci.get(&self.device);
        let is_graphics = device.is_none_or(|device| device.class.value().is_none() || device.is_display());
        self.by.speed == GtPerSec::GEN1
            && self.by.width == self.capable.width
            && (is_graphics || link.is_graphics())
    }

    /// The line as evidence.
    pub(super) fn evidence(&self) -> Evidence {
        let (by, capable) = (self.by, self.capable);
        let said = format!(
            "{} at {}, of {} at {} that {} could use",
            by.width, by.speed, capable.width, capable.speed, self.device
        );
        Evidence::new("the kernel's log", said, self.source.as_str())
    }
}

impl<'a> Link<'a> {
    /// The addresses of both ends.
    fn addresses(&self) -> impl Iterator<Item = PciAddress> + use<'a> {
        std::iter::once(self.link.device.address).chain(self.link.port.as_ref().map(|port| port.address))
    }

    /// The events of a captured log that are about either end.
    pub(super) fn events(&self, machine: &'a Machine) -> impl Iterator<Item = &'a LogEvent> + use<'a> {
        let ends: Vec<PciAddress> = self.addresses().collect();
        machine.log.iter().filter(move |event| event.pci.is_some_and(|address| ends.contains(&address)))
    }

    /// The claim of a captured log that this link limited a device; of several that of the device that could use most.
    pub(super) fn claim(&self, machine: &'a Machine) -> Option<Claim<'a>> {
        let claims = machine.log.iter().filter_map(|event| {
            let LogKind::BandwidthLimited { by, at, capable } = &event.kind else { return None };
            let device = event.pci?;
            let at = at.unwrap_or(device);
            let claim = Claim { device, by: *by, capable: (*capable)?, source: &event.source };
            self.addresses().any(|end| end == at).then_some(claim)
        });
        claims.max_by_key(|claim| (claim.capable.width, claim.capable.speed))
    }

    /// Whether the device end is a storage controller, be it one of Fibre Channel.
    pub(super) fn is_storage(&self) -> bool {
        self.link.device.is_storage()
    }

    /// What explains that the link of an idle device is slow, so that its speed says nothing.
    pub(super) fn saves_power(&self) -> Option<Evidence> {
        let saving = self.link.saves_power()?;
        Some(Evidence::new(saving.fact, saving.value, saving.source.as_str()))
    }

    /// Whether the speed now may say nothing: something explains that the link is slow, or the device is of no known kind
    /// and runs as graphics adapters do that are not busy.
    pub(super) fn may_idle(&self) -> bool {
        let is_unknown = self.link.device.class.value().is_none();
        let idles_as_graphics = self.speed() == Some(GtPerSec::GEN1) && self.width() == self.device_width();
        self.saves_power().is_some() || is_unknown && idles_as_graphics
    }

    /// Whether the device end is made to move data in bulk: storage, wired network, USB, InfiniBand, or a bridge to
    /// such. A device whose class is not known stands on a storage path and counts. Graphics is none of our business.
    pub(super) fn moves_data(&self) -> bool {
        const WIRELESS: u32 = 0x0280;
        const USB: u32 = 0x0c03;
        const INFINIBAND: u32 = 0x0c06;
        let is_mover = |class: &u32| match class >> 8 {
            WIRELESS => false,
            USB | INFINIBAND => true,
            kind => matches!(kind >> 8, 0x01 | 0x02 | 0x06),
        };
        !self.link.is_graphics() && (self.is_storage() || self.link.device.class.value().is_none_or(is_mover))
    }

    /// Whether the device end is the chipset: its uplink is wired as the platform wants, whatever both ends claim. That
    /// of the network and cryptography functions inside Intel's C62x is a PCIe link beside the DMI, made for x16 and
    /// often wired x8 (Intel C620 Series datasheet, PCIe uplink).
    pub(super) fn is_chipset_uplink(&self, judged: &Judged<'_>) -> bool {
        const C62X_UPLINK: PciId = PciId { vendor: 0x8086, device: 0x37c0 };
        self.link.device.id.value() == Some(&C62X_UPLINK)
            || self.link.part == LinkPart::Platform
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
        Some(self.link.state().width()?.value)
    }

    /// The current speed, as read without load.
    pub(super) fn speed(&self) -> Option<GtPerSec> {
        Some(self.link.state().speed()?.value)
    }

    /// The speed that was read while load ran, if any ran.
    pub(super) fn speed_under_load(&self, judged: &Judged<'_>) -> Option<GtPerSec> {
        crate::speed_under_load(&judged.subject.runs, self.link)
    }

    /// The most lanes of the device end.
    pub(super) fn device_width(&self) -> Option<Lanes> {
        Some(End::of(&self.link.device).max_width()?.value)
    }

    /// The most lanes of the other end.
    pub(super) fn port_width(&self) -> Option<Lanes> {
        Some(End::of(self.port?).max_width()?.value)
    }

    /// The fastest speed of the device end.
    pub(super) fn device_speed(&self) -> Option<GtPerSec> {
        Some(End::of(&self.link.device).max_speed()?.value)
    }

    /// The fastest speed of the other end.
    pub(super) fn port_speed(&self) -> Option<GtPerSec> {
        Some(End::of(self.port?).max_speed()?.value)
    }

    /// The fastest speed that both ends share.
    pub(super) fn common_speed(&self) -> Option<GtPerSec> {
        Some(self.device_speed()?.min(self.port_speed()?))
    }

    /// How a person finds it: the slot when its name is known.
    pub(super) fn place(&self) -> String {
        match &self.link.slot {
            Some(slot) => format!("the PCIe link in slot {slot}"),
            None => format!("the PCIe link of {}", self.link.whose()),
        }
    }

    /// Current and greatest widths of both ends.
    pub(super) fn width_evidence(&self) -> Vec<Evidence> {
        let most =
            |what: &str, end: &PciDevice| most(what, &end.link.max_width, end.link.downgraded.width.as_ref());
        self.state_evidence(
            Evidence::from_fact("current width", &self.link.device.link.current_width),
            most("greatest width of the device", &self.link.device),
            self.port.map(|port| most("greatest width of the port", port)),
        )
    }

    /// Current and greatest speeds of both ends.
    pub(super) fn speed_evidence(&self) -> Vec<Evidence> {
        let most =
            |what: &str, end: &PciDevice| most(what, &end.link.max_speed, end.link.downgraded.speed.as_ref());
        self.state_evidence(
            Evidence::from_fact("current speed", &self.link.device.link.current_speed),
            most("greatest speed of the device", &self.link.device),
            self.port.map(|port| most("greatest speed of the port", port)),
        )
    }

    /// What the link does and what its ends can do, with the better state that it was seen in.
    fn state_evidence(&self, now: Evidence, device: Evidence, port: Option<Evidence>) -> Vec<Evidence> {
        let best = self.best.map(|best| {
            let state = format!("{} {}", best.speed, best.width);
            Evidence::new("the same link at another time", state, best.source.as_str())
        });
        [now, device].into_iter().chain(port).chain(best).collect()
    }

    /// An end whose Target Link Speed (LnkCtl2) was set below what both ends can do, with that speed and its source.
    pub(super) fn forced_below(&self, common: GtPerSec) -> Option<(&'a PciDevice, GtPerSec, Source)> {
        // Only the end towards the processor steers a link: PCIe Base Specification, Link Control 2, Target Link Speed.
        let port = self.port?;
        let target = port.express.value()?.target_speed?;
        (target < common).then(|| (port, target, port.express.source().clone()))
    }
}

/// The most that an end can do, or that it is more than the link runs at.
fn most<T: ToString>(what: &str, fact: &Fact<T>, downgraded: Option<&Source>) -> Evidence {
    match (fact.value(), downgraded) {
        (None, Some(source)) => {
            let said = format!("`{source}` says `{}`", Downgraded::MEANING);
            Evidence::new(what, said, source.as_str())
        }
        _ => Evidence::from_fact(what, fact),
    }
}

/// The ceilings of a link that was seen in such a state while it carried load, in place of what was expected of it.
pub(super) fn loaded(link: &mut LinkHop, state: activity::LinkState, source: &str) -> Ceilings {
    for end in std::iter::once(&mut link.device).chain(&mut link.port) {
        if let Some(speed) = state.speed {
            end.link.current_speed = Fact::known(speed, source);
        }
        if let Some(width) = state.width {
            end.link.current_width = Fact::known(width, source);
        }
    }
    pcie::as_trained(link)
}

/// Verdicts from half the facts: what rests on a link of which a capture shows one end, or not its state, is less sure.
///
/// Lowers the confidence of findings about links that a captured machine shows half of, and says why.
pub(super) fn lower_half_known(machine: &Machine, judged: &[Judged<'_>], findings: &mut [Finding]) {
    if machine.captured.is_none() {
        return;
    }
    let hops = judged.iter().flat_map(|judged| &judged.subject.path.hops);
    let half: BTreeSet<&HopId> = hops.filter(|hop| is_half(hop)).map(|hop| &hop.id).collect();
    let (what, tells) = ("the other end or the state of this link", "sudo lspci -vvv shows both ends");
    for finding in findings.iter_mut().filter(|f| f.hop.as_ref().is_some_and(|hop| half.contains(hop))) {
        finding.confidence = finding.confidence.max(Confidence::Medium);
        finding.evidence.push(Evidence::new(what, "not in the capture", tells));
    }
}

/// Whether a hop is a link of which an end is missing, or what an end can do, or what the link does.
fn is_half(hop: &Hop) -> bool {
    let HopSpec::Link(link) = &hop.spec else { return false };
    let Some(port) = &link.port else { return link.not_a_wire.is_none() };
    let ends = [End::of(&link.device), End::of(port)];
    let runs = ends.iter().any(|end| end.state().is_some());
    link.not_a_wire.is_none() && !(runs && ends.iter().all(|end| end.most().is_some()))
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_machine::captured::Captured;

    use crate::testing::{Sketch, link};
    use crate::{Code, Confidence};

    /// A drive of four lanes that has two, of which the port does not say how fast it could be.
    fn half(is_captured: bool) -> Sketch {
        let mut link = link((3, 2), (3, 4), (3, 4));
        if let Some(port) = &mut link.port {
            port.link.max_speed = Fact::default();
        }
        let mut sketch = Sketch::drive(link);
        sketch.machine.captured = is_captured.then(Captured::default);
        sketch
    }

    #[test]
    fn a_verdict_from_half_the_facts_is_less_sure_and_says_so() {
        let finding = half(true).finding(Code::LinkWidthDegraded).expect("lanes are missing");
        assert_eq!(finding.confidence, Confidence::Medium);
        let said = finding.evidence.iter().any(|evidence| evidence.value == "not in the capture");
        assert!(said, "{:?}", finding.evidence);
    }

    #[test]
    fn a_machine_that_answers_itself_has_no_halves() {
        let finding = half(false).finding(Code::LinkWidthDegraded).expect("lanes are missing");
        assert_eq!(finding.confidence, Confidence::High);
    }

    #[test]
    fn a_whole_link_of_a_capture_is_as_sure_as_any() {
        let mut sketch = Sketch::drive(link((3, 2), (3, 4), (3, 4)));
        sketch.machine.captured = Some(Captured::default());
        let finding = sketch.finding(Code::LinkWidthDegraded).expect("lanes are missing");
        assert_eq!(finding.confidence, Confidence::High);
    }
}
