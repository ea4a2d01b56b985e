//! What a PCI Express link carries.
//!
//! Valid for DMA of large blocks with many requests in flight (a drive at queue depth 8 and more). Expected error
//! −3 % to +1.5 % for drives and adapters, up to +8 % for network cards with small packets, whose acknowledgements and
//! descriptors are not counted. A single request at a time stays below it; that is a matter of latency.

pub mod rate;

use super::{Basis, Ceilings, FactRef, Limit};
use crate::path::LinkHop;
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes};
use narrows_machine::pci::{Express, Told};

/// A link in a state: what it runs at, or what it could run at.
#[derive(Debug, Clone)]
struct State<'a> {
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
    let device = link.device.end();
    at_most(link, device.max_speed()?, device.max_width()?)
}

fn at_most(link: &LinkHop, speed: Told<'_, GtPerSec>, width: Told<'_, Lanes>) -> Option<Limit> {
    if link.not_a_wire.is_some() {
        return None;
    }
    towards_host(link, &State { speed, width, notes: Vec::new() })
}

/// The speed and width that [`of_link`] counts on. `None` when they are not known or the link is no wire.
pub fn state(link: &LinkHop) -> Option<(GtPerSec, Lanes)> {
    let state = operating(link).ok().filter(|_| link.not_a_wire.is_none())?;
    Some((state.speed.value, state.width.value))
}

fn with_state(link: &LinkHop, state: Result<State<'_>, String>) -> Ceilings {
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

fn trained(link: &LinkHop) -> Result<State<'_>, String> {
    let ends = link.state();
    let width = ends.width().ok_or_else(|| unread("link width", &link.device.link.current_width))?;
    let speed = ends.speed().ok_or_else(|| unread("link speed", &link.device.link.current_speed))?;
    Ok(State { speed, width, notes: Vec::new() })
}

fn operating(link: &LinkHop) -> Result<State<'_>, String> {
    let (trained, ends) = (trained(link)?, link.state());
    let (Some(max_speed), Some(max_width)) = (ends.max_speed(), ends.max_width()) else { return Ok(trained) };
    let target = link.true_port().and_then(|port| port.express.value()).and_then(|e| e.target_speed);
    let awake = Told { value: target.map_or(max_speed.value, |t| t.min(max_speed.value)), ..max_speed };
    let is_at_its_best = trained.width.value < max_width.value || trained.speed.value >= awake.value;
    if is_at_its_best || link.saves_power().is_none() {
        return Ok(trained);
    }
    let idle = FactRef::new("speed while idle", trained.speed.value, trained.speed.source);
    Ok(State { speed: awake, width: trained.width, notes: vec![idle] })
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

/// Max_Payload_Size in force: the smaller of both ends. It stands in config space past byte 64, which only root may
/// read; without it, 128 bytes are assumed up to 5 GT/s and 256 from 8 GT/s on, the usual values of platforms of
/// their time.
fn max_payload(link: &LinkHop, speed: GtPerSec) -> Payload {
    least_payload(link).map_or_else(
        || Payload { size: Bytes::new(if speed > GtPerSec::GEN2 { 256 } else { 128 }), source: None },
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
    let sane = (rate::MIN_PAYLOAD..=rate::MAX_PAYLOAD).contains(&value.get());
    sane.then(|| Told { value, source: express.source() })
}

fn towards_host(link: &LinkHop, state: &State<'_>) -> Option<Limit> {
    let payload = max_payload(link, state.speed.value);
    let raw = rate::raw(state.speed.value, state.width.value)?;
    let rate = rate::device_to_host(raw, payload.size);
    Some(limit(state, raw, rate, &payload, "payloads", rate::WRITE_OVERHEAD))
}

fn towards_device(link: &LinkHop, state: &State<'_>) -> Option<Limit> {
    let payload = completion(link, state.speed.value);
    let raw = rate::raw(state.speed.value, state.width.value)?;
    let rate = rate::host_to_device(raw, payload.size);
    Some(limit(state, raw, rate, &payload, "completions", rate::COMPLETION_OVERHEAD))
}

fn limit(
    state: &State<'_>,
    raw: BytesPerSec,
    rate: BytesPerSec,
    payload: &Payload,
    packets: &str,
    overhead: f64,
) -> Limit {
    let mut facts = vec![
        FactRef::new("speed", state.speed.value, state.speed.source),
        FactRef::new("width", state.width.value, state.width.source),
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
    let formula = format!(
        "{}; {} (×{size}/{:.0}) and skip sets (×0.9974) leave {rate}",
        wire_formula(state.speed.value, state.width.value, raw),
        if payload.source.is_some() {
            format!("{size} B {packets}")
        } else {
            format!("assumed {size} B {packets}")
        },
        payload.size.as_f64() + overhead,
    );
    Limit { rate, raw: Some(raw), basis: Basis::Formula, formula, facts }
}

/// `8 GT/s × 4 lanes × 128/130 ÷ 8 = 3.94 GB/s raw`.
pub(super) fn wire_formula(speed: GtPerSec, width: Lanes, raw: BytesPerSec) -> String {
    let (data, line) = rate::encoding(speed).unwrap_or((1, 1));
    let lanes = if width.get() == 1 { "lane" } else { "lanes" };
    format!("{speed} × {} {lanes} × {data}/{line} ÷ 8 = {raw} raw", width.get())
}

#[cfg(test)]
mod tests;
