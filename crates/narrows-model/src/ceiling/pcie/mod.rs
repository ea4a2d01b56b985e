//! What a PCI Express link carries.
//!
//! Valid for DMA of large blocks with many requests in flight (a drive at queue depth 8 and more). Expected error
//! −3 % to +1.5 % for drives and adapters, up to +8 % for network cards with small packets, whose acknowledgements and
//! descriptors are not counted. A single request at a time stays below it; that is a matter of latency.

#[cfg(test)]
mod tests;

use super::{Basis, Ceilings, FactRef, Limit};
use crate::path::LinkHop;
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes};
use narrows_machine::pci::{End, Express, Told};

/// A link in a state: what it runs at, or what it could run at.
#[derive(Debug, Clone)]
struct LinkNow<'a> {
    speed: Told<'a, GtPerSec>,
    width: Told<'a, Lanes>,
    /// What a person should know of how this state was found.
    notes: Vec<FactRef>,
}

/// The ceilings of a link as it will run under load.
///
/// Its width is the current one, since a width does not change with load. Its speed is the current one too, except
/// where the width is all that both ends can do, the speed is below what both ends can do, and something explains that it
/// idles ([`LinkHop::saves_power`]): such a link speeds up under load, so its speed is the fastest of both ends (not above
/// the Target Link Speed of the port, which software may have lowered); a fact names the speed at which it idles. Whether
/// it did speed up is for a run to show: [`as_trained`] is the ceiling if it did not.
pub fn of_link(link: &LinkHop) -> Ceilings {
    with_state(link, operating(link))
}

/// The ceilings of a link at the speed and width that it has right now. This is the truth for a link that was read
/// under load.
pub fn as_trained(link: &LinkHop) -> Ceilings {
    with_state(link, trained(link))
}

/// What both ends of the link could do together, towards the host: the lower of their fastest speeds and of their
/// widest widths. `None` when that is not known or the link is no wire.
pub fn capable(link: &LinkHop) -> Option<Limit> {
    let ends = link.state();
    at_most(link, ends.max_speed()?, ends.max_width()?)
}

/// What the device alone could use, towards the host: its fastest speed and widest width. `None` when that is not
/// known or the link is no wire.
pub fn device_wants(link: &LinkHop) -> Option<Limit> {
    let device = End::of(&link.device);
    at_most(link, device.max_speed()?, device.max_width()?)
}

fn at_most(link: &LinkHop, speed: Told<'_, GtPerSec>, width: Told<'_, Lanes>) -> Option<Limit> {
    if link.not_a_wire.is_some() {
        return None;
    }
    towards_host(link, &LinkNow { speed, width, notes: Vec::new() })
}

/// The speed and width that [`of_link`] counts on. `None` when they are not known or the link is no wire.
pub fn state(link: &LinkHop) -> Option<(GtPerSec, Lanes)> {
    let state = operating(link).ok().filter(|_| link.not_a_wire.is_none())?;
    Some((state.speed.value, state.width.value))
}

fn with_state(link: &LinkHop, state: Result<LinkNow<'_>, String>) -> Ceilings {
    if let Some(reason) = &link.not_a_wire {
        return Ceilings::unknown(reason.clone());
    }
    let state = match state {
        Ok(state) => state,
        Err(reason) => return Ceilings::unknown(reason),
    };
    match (towards_host(link, &state), towards_device(link, &state)) {
        (Some(read), Some(write)) => Ceilings::each(read, write),
        _ => Ceilings::unknown(format!("{} is no rate that PCI Express knows", state.speed.value)),
    }
}

fn trained(link: &LinkHop) -> Result<LinkNow<'_>, String> {
    let ends = link.state();
    let width = ends.width().ok_or_else(|| unread("link width", &link.device.link.current_width))?;
    let speed = ends.speed().ok_or_else(|| unread("link speed", &link.device.link.current_speed))?;
    Ok(LinkNow { speed, width, notes: Vec::new() })
}

fn operating(link: &LinkHop) -> Result<LinkNow<'_>, String> {
    let (trained, ends) = (trained(link)?, link.state());
    let (Some(max_speed), Some(max_width)) = (ends.max_speed(), ends.max_width()) else { return Ok(trained) };
    let target = link.true_port().and_then(|port| port.express.value()).and_then(|e| e.target_speed);
    let awake = Told { value: target.map_or(max_speed.value, |t| t.min(max_speed.value)), ..max_speed };
    let is_at_its_best = trained.width.value < max_width.value || trained.speed.value >= awake.value;
    if is_at_its_best || link.saves_power().is_none() {
        return Ok(trained);
    }
    let idle = FactRef::new("speed while idle", trained.speed.value, trained.speed.source);
    Ok(LinkNow { speed: awake, width: trained.width, notes: vec![idle] })
}

fn unread<T>(what: &str, fact: &Fact<T>) -> String {
    fact.missing().map_or_else(|| format!("{what} is not known"), |why| format!("{what} is not known: {why}"))
}

/// The packets of a link.
struct Payload {
    size: Bytes,
    /// Where it was read; `None` when it is assumed.
    source: Option<Source>,
}

/// Max_Payload_Size as platforms of a generation set it: 128 bytes up to 5 GT/s, 256 from 8 GT/s on.
pub fn usual_payload(speed: GtPerSec) -> Bytes {
    Bytes::new(if speed > GtPerSec::GEN2 { 256 } else { 128 })
}

/// Max_Payload_Size in force: the smaller of both ends. It stands in config space past byte 64, which only root may
/// read; without it the usual one is assumed.
fn max_payload(link: &LinkHop, speed: GtPerSec) -> Payload {
    least_payload(link).map_or_else(
        || Payload { size: usual_payload(speed), source: None },
        |read| Payload { size: read.value, source: Some(read.source.clone()) },
    )
}

fn least_payload(link: &LinkHop) -> Option<Told<'_, Bytes>> {
    let ends = std::iter::once(&link.device).chain(&link.port);
    let sizes = ends.filter_map(|port| in_force(&port.express, |express| express.max_payload));
    sizes.min_by_key(|read| read.value)
}

/// Whether the payload size of a link is assumed, since config space was not read. If it is larger in truth, the link
/// carries more than its ceiling says, though never its raw rate.
pub fn payload_is_assumed(link: &LinkHop) -> bool {
    least_payload(link).is_none()
}

/// The size of completions: no longer than Max_Payload_Size, nor than what the device asks for at a time.
fn completion(link: &LinkHop, speed: GtPerSec) -> Payload {
    let payload = max_payload(link, speed);
    match in_force(&link.device.express, |express| express.max_read_request) {
        Some(request) if request.value < payload.size => {
            Payload { size: request.value, source: Some(request.source.clone()) }
        }
        _ => payload,
    }
}

fn in_force(express: &Fact<Express>, size: impl Fn(&Express) -> Bytes) -> Option<Told<'_, Bytes>> {
    let value = size(express.value()?);
    let sane = (MIN_PAYLOAD..=MAX_PAYLOAD).contains(&value.get());
    sane.then(|| Told { value, source: express.source() })
}

fn towards_host(link: &LinkHop, state: &LinkNow<'_>) -> Option<Limit> {
    limit(state, &max_payload(link, state.speed.value), &PAYLOADS)
}

fn towards_device(link: &LinkHop, state: &LinkNow<'_>) -> Option<Limit> {
    limit(state, &completion(link, state.speed.value), &COMPLETIONS)
}

fn limit(state: &LinkNow<'_>, payload: &Payload, packets: &Packets) -> Option<Limit> {
    let (speed, width) = (state.speed.value, state.width.value);
    let raw = raw(speed, width)?;
    let assumed = if payload.source.is_some() { "" } else { "assumed " };
    let (rate, leave) = packets.leave(raw, payload.size, assumed);
    let mut facts = vec![
        FactRef::new("speed", speed, state.speed.source),
        FactRef::new("width", width, state.width.source),
    ];
    facts.extend(state.notes.iter().cloned());
    let size = payload.size.get();
    facts.push(match &payload.source {
        Some(source) => FactRef::new("packet payload", format!("{size} B"), source),
        None => FactRef {
            fact: "packet payload".to_owned(),
            value: format!("{size} B, assumed"),
            source: "usual for this generation; config space needs root".to_owned(),
        },
    });
    let formula = format!("{}; {leave}", wire_formula(speed, width, raw));
    Some(Limit { rate, raw: Some(raw), basis: Basis::Formula, formula, facts })
}

/// `8 GT/s × 4 lanes × 128/130 ÷ 8 = 3.94 GB/s raw`.
pub(super) fn wire_formula(speed: GtPerSec, width: Lanes, raw: BytesPerSec) -> String {
    let (data, line) = encoding(speed).unwrap_or((1, 1));
    let lanes = if width.get() == 1 { "lane" } else { "lanes" };
    format!("{speed} × {} {lanes} × {data}/{line} ÷ 8 = {raw} raw", width.get())
}

// The arithmetic of a PCI Express link: transfers per second to bytes of payload per second.
//
// Sources: PCI Express Base Specification (line codes; framing of transaction layer packets; SKP ordered sets);
// R. Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018, and its model
// `pcie-bench/pcie-model` (sizes of headers). Measured on NVMe drives at queue depth 8 and more, from 2.0 x1 to
// 5.0 x4, the usable rate is met within −3 % to +1.5 %.

/// The packets that data is in on its way.
pub(super) struct Packets {
    name: &'static str,
    /// Bytes around the payload of each.
    overhead: f64,
}

/// Memory writes with a 64-bit address: framing, sequence number and LCRC (8), header (16). Gen3 and later frame differently, in
/// as many bytes.
pub(super) const PAYLOADS: Packets = Packets { name: "payloads", overhead: 24.0 };

/// Completions: framing, sequence number and LCRC (8), header (12).
pub(super) const COMPLETIONS: Packets = Packets { name: "completions", overhead: 20.0 };

impl Packets {
    /// What they leave of a rate.
    fn rate(&self, raw: BytesPerSec, payload: Bytes) -> BytesPerSec {
        raw * SKIP_FACTOR * (payload.as_f64() / (payload.as_f64() + self.overhead))
    }

    /// The same with how it comes about; `assumed` stands before a size that was not read.
    pub(super) fn leave(&self, raw: BytesPerSec, payload: Bytes, assumed: &str) -> (BytesPerSec, String) {
        let (rate, size, name) = (self.rate(raw, payload), payload.get(), self.name);
        let whole = payload.as_f64() + self.overhead;
        let how =
            format!("{assumed}{size} B {name} (×{size}/{whole:.0}) and skip sets (×0.9974) leave {rate}");
        (rate, how)
    }
}

/// What SKP ordered sets leave: 4 bytes of every 1538 on each lane go to clock compensation.
pub const SKIP_FACTOR: f64 = 1.0 - 4.0 / 1538.0;

/// The smallest Max_Payload_Size and Max_Read_Request_Size that the specification allows, in bytes.
pub const MIN_PAYLOAD: u64 = 128;

/// The largest of both that the specification allows, in bytes.
pub const MAX_PAYLOAD: u64 = 4096;

/// What a line code leaves of its bits: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, 242 of every 256 bytes of a
/// FLIT at 64 GT/s. `None` for a rate that PCI Express does not know.
pub fn encoding(speed: GtPerSec) -> Option<(u32, u32)> {
    match speed.pcie_generation() {
        Some(1 | 2) => Some((8, 10)),
        Some(3..=5) => Some((128, 130)),
        Some(6) => Some((242, 256)),
        _ => None,
    }
}

/// The rate of a link in one direction after its line code and before packets; `None` for a rate that PCI Express
/// does not know.
pub fn raw(speed: GtPerSec, width: Lanes) -> Option<BytesPerSec> {
    let (data, line) = encoding(speed)?;
    let bits = f64::from(speed.mega()) * 1e6 * f64::from(width.get());
    Some(BytesPerSec::new(bits * f64::from(data) / f64::from(line) / 8.0))
}

/// What is left of `raw` for data that the device writes to host memory (a read of a drive, a packet received): every
/// `payload` bytes have those of `PAYLOADS` around them.
///
/// Acknowledgements and flow control are not charged: they travel the other way, which is otherwise idle.
pub fn device_to_host(raw: BytesPerSec, payload: Bytes) -> BytesPerSec {
    PAYLOADS.rate(raw, payload)
}

/// What is left of `raw` for data that the device reads from host memory (a write to a drive, a packet sent): the
/// data comes as completions of `payload` bytes, each with those of `COMPLETIONS` around it.
///
/// `payload` is the smaller of Max_Payload_Size and Max_Read_Request_Size, since a completion is never longer than
/// what was asked for. The requests travel the other way, 24 bytes for each Max_Read_Request_Size, and never limit.
/// Not covered: a device with too few tags for its round trip (tags × request ÷ round trip below the link's rate),
/// and root ports that cut completions at 64 bytes.
pub fn host_to_device(raw: BytesPerSec, payload: Bytes) -> BytesPerSec {
    COMPLETIONS.rate(raw, payload)
}

// What address translation for devices costs.
//
// Each DMA looks its page up in a cache of translations (IOTLB) that reaches about `IOMMU_REACH` with 4 KiB pages on Xeons of
// 2012 to 2016. While a transfer's buffers fit it, nothing is lost. Beyond, small transfers wait: at random addresses in
// a large window 64-byte reads kept 0.35 of their rate, 256-byte reads 0.72, 512 bytes 0.975 (8 GT/s x8,
// `pcie-bench/data`; Neugebauer et al., SIGCOMM 2018, section 6.5). `kept_by_iommu` is a page walk of `WALK` for each
// transaction, hidden behind `HIDDEN` others, as those three give it within 10 %. Large pages lose nothing. At 200
// Gbit/s up to 20 % was lost with packets of 1500 bytes (A. Farshin et al., PeerJ CS 2023), which this does not predict.

/// What the cache of translations reaches with 4 KiB pages.
pub const IOMMU_REACH: Bytes = Bytes::from_kib(256);

/// A page walk, seconds.
const WALK: f64 = 330e-9;

/// Transactions among which a walk is hidden.
const HIDDEN: f64 = 6.3;

/// The share of `rate` that transfers of `size` keep within a `window` of addresses.
pub fn kept_by_iommu(rate: BytesPerSec, size: Bytes, window: Bytes, large_pages: bool) -> f64 {
    if large_pages || window <= IOMMU_REACH || rate.get() <= 0.0 {
        return 1.0;
    }
    let transfer = size.as_f64() / rate.get();
    let walk = WALK / HIDDEN;
    // Walks overlap with transfers: the longer of both is seen.
    (transfer / walk).min(1.0)
}
