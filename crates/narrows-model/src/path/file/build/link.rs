//! The link between a part and what it is in.

use super::entries::chipset_entry;
use super::{BuildError, Walk, fact};
use crate::path::file::{Attachment, LinkGiven, Part, PartKind, Slot};
use crate::path::graph::Node;
use crate::path::{HopKind, HopSpec, LinkHop, LinkPort, Traffic};
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{Bytes, GtPerSec};
use narrows_machine::pci::{Express, LinkEnd, PortType};

impl<'s> Walk<'s> {
    /// The link between `part` with its `end` and a port of `carrier`.
    pub(super) fn link(
        &mut self,
        above: Node,
        part: &'s Part,
        end: LinkGiven,
        (carrier, port): (&'s Part, LinkGiven),
    ) -> Result<Option<Node>, BuildError> {
        let payload =
            end.payload.into_iter().chain(port.payload).min().or_else(|| self.usual_payload(carrier));
        let (Some(generation), Some(width)) =
            (least(end.generation, port.generation), least(end.width, port.width))
        else {
            return Ok(Some(above));
        };
        let both =
            LinkGiven { generation: Some(generation), width: Some(width), payload, ..LinkGiven::default() };
        let slot = matches!(carrier.kind, PartKind::Slot(_)).then(|| carrier.name.to_string());
        let place = if slot.is_some() { format!("slot {}", carrier.name) } else { carrier.name.to_string() };
        let hop = LinkHop {
            device: link_port(end, both, end.read_request, &part.given),
            port: Some(link_port(port, both, None, &carrier.given)),
            slot,
            ..LinkHop::default()
        };
        let name = format!("PCIe {generation}.0 {width} link of {}, {place}", part.name);
        let fraction = match &part.kind {
            PartKind::Network(network) => super::network::on_link(network),
            _ => Traffic::ONE,
        };
        self.add(above, (HopKind::Link, &part.name), name, HopSpec::Link(Box::new(hop)), fraction)
    }

    /// Max_Payload_Size of the chipset that a slot hangs on.
    fn usual_payload(&self, carrier: &Part) -> Option<Bytes> {
        let PartKind::Slot(Slot { on: Attachment::Chipset(name), .. }) = &carrier.kind else { return None };
        let part = self.system.part(name)?;
        let PartKind::Chipset(chipset) = &part.kind else { return None };
        let entry = chipset_entry(part, chipset).ok()??;
        Some(Bytes::new(u64::from(entry.max_payload)))
    }
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.into_iter().chain(b).min()
}

/// One end of a link: what it could do (`own`) and what both do.
fn link_port(own: LinkGiven, both: LinkGiven, request: Option<Bytes>, given: &Source) -> LinkPort {
    let speed = |generation: Option<u8>| generation.and_then(GtPerSec::from_pcie_generation);
    let link = LinkEnd {
        current_speed: fact(speed(both.generation), given),
        max_speed: fact(speed(own.generation.or(both.generation)), given),
        current_width: fact(both.width, given),
        max_width: fact(own.width.or(both.width), given),
        ..LinkEnd::default()
    };
    let express = match both.payload {
        Some(payload) => Fact::known(express(payload, request), given.as_str()),
        None => Fact::absent(given.as_str()),
    };
    LinkPort { link, express, ..LinkPort::default() }
}

/// Max_Read_Request_Size of almost all drives (linux-pci, linux-nvme: 93 %).
const USUAL_REQUEST: Bytes = Bytes::new(512);

fn express(payload: Bytes, request: Option<Bytes>) -> Express {
    let sizes = [payload, payload, request.unwrap_or(USUAL_REQUEST)];
    Express { extended_tags: true, ..Express::new(PortType::Endpoint, sizes) }
}
