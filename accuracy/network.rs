//! The network of a row, and what a card in its slot gets of it.

use narrows::catalog::catalog;
use narrows::ceiling::fabric::{self, Storage, Transport};
use narrows::ceiling::pcie::packets;
use narrows::ceiling::pcie::rate;
use narrows::path::HopKind;
use narrows::path::file::Technology;
use narrows::predict::law::Law;
use narrows::units::{BitsPerSec, Bytes, BytesPerSec, GtPerSec};

use crate::laws::Value;
use crate::model;
use crate::table::Row;
use crate::text;

/// A wire in words: `2x25GbE iWARP MTU1500`, `IB EDR`, `4x EDR`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wire {
    pub(crate) technology: Technology,
    pub(crate) gigabits: f64,
    pub(crate) ports: u32,
    pub(crate) mtu: Bytes,
    pub(crate) transport: Transport,
}

impl Wire {
    pub(crate) fn of(words: &str) -> Option<Self> {
        let lower = words.to_lowercase();
        let mtu = text::behind(&lower, "mtu").map_or(fabric::USUAL_MTU, |mtu| Bytes::new(mtu as u64));
        let jumbo = text::has_word(&lower, "jumbo");
        let mtu = if jumbo { Bytes::new(9000) } else { mtu };
        let generation = words
            .split(|c: char| !c.is_alphanumeric())
            .find_map(|word| Some((fabric::infiniband(word)?, word)));
        let ports = |after: &str| after.starts_with('x').then_some(());
        let count = text::numbers(&lower)
            .into_iter()
            .find_map(|(_, value, after)| ports(after).map(|()| value as u32));
        if let Some((line, _)) = generation {
            let transport = Transport::InfiniBand;
            let (technology, ports) = (Technology::Infiniband, count.unwrap_or(1));
            return Some(Self { technology, gigabits: line.get() / 1e9, ports, mtu, transport });
        }
        let gigabits = text::numbers(&lower).into_iter().find_map(|(_, value, after)| {
            ["gbe", "gbit", "g "].iter().any(|unit| after.starts_with(unit)).then_some(value)
        })?;
        let transport = match lower.as_str() {
            text if text.contains("roce") || text.contains("rdma") => Transport::RoceV2,
            text if text.contains("iwarp") => Transport::Iwarp,
            _ => Transport::Tcp,
        };
        Some(Self {
            technology: Technology::Ethernet,
            gigabits,
            ports: count.unwrap_or(1).max(1),
            mtu,
            transport,
        })
    }

    /// What it carries of data in one direction, all ports together.
    pub(crate) fn goodput(&self, storage: Storage) -> BytesPerSec {
        let line = BitsPerSec::new(self.gigabits * 1e9 * f64::from(self.ports));
        fabric::goodput(line, self.transport, storage, self.mtu)
    }
}

/// What a test of the network itself gets: the wire, or the card's slot where that is less.
pub(crate) fn transfer(row: &Row) -> Result<Value, String> {
    let wire =
        Wire::of(&row.network).ok_or_else(|| format!("the network `{}` has no line rate", row.network))?;
    let words = row.workload.to_lowercase();
    let core = catalog().core_by_words(&row.platform);
    let nic = catalog().nic_by_words(&row.device);
    let receives = !text::has_any(&words, &["tx", "send"]);
    if receives && core.is_some_and(|core| core.embedded) && nic.is_some_and(|nic| !nic.offloads) {
        return Err(
            "each received frame costs a small core an interrupt, for which there is no law".to_owned()
        );
    }
    let single = words.contains("iperf3") && !words.contains("-p") && !words.contains("bidir");
    if single && wire.gigabits * f64::from(wire.ports) >= 25.0 && wire.transport == Transport::Tcp {
        return Err("one connection above 25 Gbit/s is bound by its core, 15 to 55 Gbit/s".to_owned());
    }
    let carried = wire.goodput(Storage::None);
    let of_law = |law, value: Value| Value { law: Some(law), ..value };
    let of_wire = of_law(Law::Network, Value::rate(carried, HopKind::Network, "the wire's frames"));
    let link = model::link(row, core);
    let speed = link.generation.and_then(GtPerSec::from_pcie_generation);
    let (Some(speed), Some(width)) = (speed, link.width) else { return Ok(of_wire) };
    let raw = rate::raw(speed, width).ok_or("no such link")?;
    let payload = link.payload.unwrap_or_else(|| fabric::usual_payload(speed));
    let slot = match wire.transport {
        Transport::Tcp => fabric::in_slot(raw, payload, wire.mtu),
        _ => {
            let charged = packets::Wire::new(speed, width, payload, Bytes::new(512));
            let drive = rate::device_to_host(raw, payload);
            charged.map_or(drive, |wire| packets::between(wire.device_writes(Bytes::new(4096)), drive))
        }
    };
    let of_slot = of_law(Law::CardSlot, Value::rate(slot, HopKind::Link, "the card's slot"));
    Ok(if slot < carried { of_slot } else { of_wire })
}
