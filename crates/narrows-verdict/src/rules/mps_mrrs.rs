//! `mps_mrrs`: payload or read-request sizes are wrong or cost rate.
//!
//! Two cases. A switch port that may send longer payloads than its device accepts is a fault (PCIe Base Specification: a
//! longer one is malformed), and so is one of which the kernel warns with "can't set Max Payload Size". And where a link is the bottleneck,
//! payloads of half the size that both ends support cost 4 to 9 % of it: `info`, for whoever wants the last bit.

use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, human};
use narrows_machine::log::LogKind;
use narrows_machine::pci::{Express, PciDevice, PortType};
use narrows_model::ceiling::{Ceiling, Ceilings, pcie};

use super::{Context, Judged};
use crate::counterfactual;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};
use crate::link::{Link, wires};

/// The least read request that keeps the request direction idle enough.
const SHORT_REQUEST: Bytes = Bytes::new(128);

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let of_link =
        |link| refused(context, link).or_else(|| mismatch(link)).or_else(|| inefficient(judged, link));
    wires(context, judged).iter().filter(|link| link.moves_data()).filter_map(of_link).collect()
}

/// The kernel said that it could not make the payloads of both ends alike.
fn refused(context: &Context<'_>, link: &Link<'_>) -> Option<Finding> {
    let (size, event) = link.events(context.machine).find_map(|event| match event.kind {
        LogKind::MpsRefused(size) => Some((size, event)),
        _ => None,
    })?;
    let (address, size) = (link.link.device.address, human::block_size(size));
    let summary = format!(
        "The port above {address} sends payloads of {size}, and the device cannot be set to accept them."
    );
    let found = Finding::about(Code::MpsMrrs, Severity::Fault, link.hop, summary);
    let found = found.seen("the kernel's log", "can't set Max Payload Size", event.source.as_str());
    Some(found.advise(ALIKE))
}

const ALIKE: &str = "Boot with pci=pcie_bus_safe, so that the kernel sets both ends alike.";

fn ends<'a>(link: &Link<'a>) -> Option<(&'a Express, &'a Express)> {
    Some((link.link.device.express.value()?, link.port?.express.value()?))
}

fn size_evidence(end: &PciDevice, value: Bytes, what: &str) -> Evidence {
    let value = human::block_size(value);
    Evidence::new(format!("{what} of {}", end.address), value, end.express.source().as_str())
}

fn mismatch(link: &Link<'_>) -> Option<Finding> {
    let (device, port) = ends(link)?;
    if port.max_payload <= device.max_payload {
        return None;
    }
    let (end, address) = (&link.link.device, link.link.device.address);
    let (sent, accepted) = (human::block_size(port.max_payload), human::block_size(device.max_payload));
    let summary =
        format!("The port above {address} may send payloads of {sent}, and the device accepts {accepted}.");
    // A root port answers reads in pieces of 64 or 128 bytes (PCIe Base Specification, Read Completion Boundary), and a
    // processor writes no more at once; a switch passes on what its other side sends.
    let is_root = port.port == PortType::RootPort;
    let severity = if is_root { Severity::Info } else { Severity::Fault };
    let found = Finding::about(Code::MpsMrrs, severity, link.hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence([
            size_evidence(end, device.max_payload, "payload size in force"),
            size_evidence(end, device.max_payload_supported, "payload size supported"),
        ])
        .with_evidence(link.port.map(|end| size_evidence(end, port.max_payload, "payload size in force")));
    Some(found.advise(ALIKE))
}

fn inefficient(judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let (device, port) = ends(link)?;
    let supported = device.max_payload_supported.min(port.max_payload_supported);
    let in_force = device.max_payload.min(port.max_payload);
    if !judged.is_limit(link.index) {
        return None;
    }
    let better = better(link, supported);
    let gain_of = |better: &Ceiling| counterfactual::gain_of_better(judged, link.index, better.rate()?);
    let longer = (in_force < supported).then(|| gain_of(&better.read)).flatten();
    let request = device.max_read_request;
    // A read of the drive is a write to memory; what the drive asks for is what is written to it.
    let is_short = request <= SHORT_REQUEST && request < supported;
    let gain = longer.or_else(|| gain_of(&better.write).filter(|_| is_short))?;
    let (place, payload) = (link.place(), human::block_size(supported));
    let (in_force, request) = (human::block_size(in_force), human::block_size(request));
    let summary = match longer {
        Some(_) => format!(
            "Payloads on {place} are {in_force}, and both ends support {payload}; longer ones would carry {gain} more."
        ),
        None => format!(
            "The device on {place} asks for {request} at a time, and payloads may be {payload}; longer requests would \
             carry {gain} more to it."
        ),
    };
    let advice = "Boot with pci=pcie_bus_perf; it sets the longest payloads and requests that the whole way to each device \
                  supports.";
    let found = Finding::about(Code::MpsMrrs, Severity::Info, link.hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence([
            size_evidence(&link.link.device, device.max_payload, "payload size in force"),
            size_evidence(&link.link.device, device.max_payload_supported, "payload size supported"),
            size_evidence(&link.link.device, device.max_read_request, "read request size"),
        ])
        .with_evidence(
            link.port.map(|end| size_evidence(end, port.max_payload_supported, "payload size supported")),
        );
    Some(found.advise_gain(advice, Some(gain)))
}

fn better(link: &Link<'_>, payload: Bytes) -> Ceilings {
    let mut longer = link.link.clone();
    for end in std::iter::once(&mut longer.device).chain(&mut longer.port) {
        if let Fact::Known { value, .. } = &mut end.express {
            value.max_payload = payload;
            value.max_read_request = value.max_read_request.max(payload);
        }
    }
    pcie::of_link(&longer)
}

#[cfg(test)]
mod tests {
    use narrows_model::path::LinkHop;

    use super::*;
    use crate::testing::{Sketch, at, express, link, logged};

    fn sizes(device: (u64, u64), port: (u64, u64)) -> LinkHop {
        let mut link = link((3, 4), (3, 4), (3, 4));
        link.device.express = Fact::known(express(device.0, device.1), "device config");
        if let Some(end) = &mut link.port {
            end.express = Fact::known(express(port.0, port.1), "port config");
        }
        link
    }

    #[test]
    fn a_port_that_sends_longer_payloads_than_its_device_accepts_is_a_fault() {
        let finding =
            Sketch::drive(sizes((128, 128), (512, 256))).finding(Code::MpsMrrs).expect("256 over 128");
        assert_eq!(finding.severity, Severity::Fault);
        assert!(
            finding.summary.contains("256 B") && finding.summary.contains("128 B"),
            "{}",
            finding.summary
        );
    }

    #[test]
    fn half_the_payload_on_the_narrowest_link_is_worth_a_hint() {
        let path = Sketch::drive(sizes((512, 128), (256, 128)));
        let finding = path.finding(Code::MpsMrrs).expect("both support 256");
        assert_eq!(finding.severity, Severity::Info);
        // 3938.5 MB/s × 0.9974 × (256/280 − 128/152) = 284 MB/s.
        let gain = finding.advice[0].gain_bytes_per_second.expect("a number").get() / 1e6;
        assert!((283.0..285.0).contains(&gain), "{gain}");
    }

    #[test]
    fn short_requests_are_told_as_such() {
        let mut short = sizes((256, 256), (256, 256));
        if let Fact::Known { value, .. } = &mut short.device.express {
            value.max_read_request = Bytes::new(128);
        }
        let finding = Sketch::drive(short).finding(Code::MpsMrrs).expect("128 of 256");
        assert!(finding.summary.contains("asks for 128 B at a time"), "{}", finding.summary);
        // 3938.5 MB/s × 0.9974 × (256/276 − 128/148) = 246 MB/s.
        let gain = finding.advice[0].gain_bytes_per_second.expect("a number").get() / 1e6;
        assert!((245.0..248.0).contains(&gain), "{gain}");
    }

    #[test]
    fn matching_sizes_and_links_that_do_not_limit_are_silent() {
        assert_eq!(Sketch::drive(sizes((256, 256), (256, 256))).finding(Code::MpsMrrs), None);
        let slow_drive =
            Sketch::of("/dev/nvme0n1").device("nvme0n1", Some(500.0)).link(sizes((512, 128), (256, 128)));
        assert_eq!(slow_drive.finding(Code::MpsMrrs), None);
    }

    #[test]
    fn a_size_that_the_kernel_could_not_set_is_a_fault_and_one_under_a_root_port_is_not() {
        let refused = logged(at(2), LogKind::MpsRefused(Bytes::new(256)), 1);
        let path = Sketch::drive(link((3, 4), (3, 4), (3, 4))).on(|machine| machine.log.push(refused));
        assert_eq!(path.finding(Code::MpsMrrs).map(|finding| finding.severity), Some(Severity::Fault));
        let mut under_root = sizes((128, 128), (512, 256));
        if let Some(Fact::Known { value, .. }) = under_root.port.as_mut().map(|port| &mut port.express) {
            value.port = PortType::RootPort;
        }
        let finding = Sketch::drive(under_root).finding(Code::MpsMrrs).expect("256 over 128");
        assert_eq!(finding.severity, Severity::Info);
    }
}
