//! The network alone.

use serde::{Deserialize, Serialize};

use super::folded;
use crate::document::{Blocks, Document};
use crate::text::Tone;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_verdict::fleet::record::{Host, NetworkLeg, Run};

/// Why there is none where it was not asked for.
const NOT_ASKED: &str = "not measured: --network-leg opens a port on each server for it";
/// A client that gets less than this share of the median is named.
const SLOW: f64 = 0.75;

/// What the network carried alone, from memory to memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkLegView {
    /// All clients together.
    pub bytes_per_second: Option<BytesPerSec>,
    /// Why that is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether clients sent.
    pub is_write: bool,
    /// Whether that was as much as was asked for, so that the network carries at least this.
    pub is_capped: bool,
    /// For how long.
    pub time_ns: Option<Nanos>,
    /// Each client that took part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<LegClientView>,
    /// Hosts that did not take part, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// The ports that were open until it began, by server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<String>,
}

/// A client in the network's own leg.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LegClientView {
    /// The client.
    pub host: String,
    /// The server.
    pub server: String,
    /// What came in.
    pub bytes_per_second: BytesPerSec,
}

impl NetworkLegView {
    /// The leg of a run. For the public nothing of addresses is left, and no message.
    pub(super) fn of(run: &Run, is_public: bool) -> Self {
        let Some(leg) = &run.network_leg else {
            return Self { reason: Some(NOT_ASKED.to_owned()), ..Self::default() };
        };
        let lost = leg.lost.iter().map(|lost| match is_public {
            true => "a host took no part".to_owned(),
            false => format!("{}: {}", lost.host, lost.reason),
        });
        let rate = leg.rate();
        Self {
            bytes_per_second: rate,
            reason: rate.is_none().then(|| "nothing came through".to_owned()),
            is_write: leg.is_write,
            is_capped: leg.is_capped(),
            time_ns: Some(leg.time_ns),
            clients: clients(run, leg),
            lost: lost.collect(),
            opened: if is_public { Vec::new() } else { leg.opened.clone() },
        }
    }
}

fn clients(run: &Run, leg: &NetworkLeg) -> Vec<LegClientView> {
    let name = |hosts: &[Host], place: usize| {
        hosts.get(place).map_or_else(|| "?".to_owned(), |host| host.host.clone())
    };
    let view = |flow: &narrows_verdict::fleet::record::LegFlow| LegClientView {
        host: name(&run.clients, flow.client),
        server: name(&run.servers, flow.server),
        bytes_per_second: rate(flow.bytes, leg.time_ns),
    };
    leg.flows.iter().map(view).collect()
}

fn rate(bytes: Bytes, time: Nanos) -> BytesPerSec {
    if time.get() == 0 { BytesPerSec::default() } else { bytes.per(time.duration()) }
}

/// The leg in a line, with the clients that it shows to be slow.
pub(super) fn say(out: &mut Document, leg: &NetworkLegView) {
    let Some(rate) = leg.bytes_per_second else {
        let why = leg.reason.as_deref().unwrap_or(NOT_ASKED);
        out.say(0, Tone::Faint, format!("network alone: {why}"));
        return lost(out, &leg.lost);
    };
    let way = if leg.is_write { "to the servers" } else { "to the clients" };
    let more = if leg.is_capped { ", as much as was asked for" } else { "" };
    let time = leg.time_ns.map(|time| format!(" for {}", human::time(time))).unwrap_or_default();
    out.say(0, Tone::Normal, format!("network alone: {} {way}{time}{more}", human::rate(rate)));
    let mut rates: Vec<f64> = leg.clients.iter().map(|client| client.bytes_per_second.get()).collect();
    rates.sort_by(f64::total_cmp);
    let middle = rates.get(rates.len() / 2).copied().unwrap_or_default();
    let slow = leg.clients.iter().filter(|client| client.bytes_per_second.get() < middle * SLOW);
    let names: Vec<&str> = slow.map(|client| client.host.as_str()).collect();
    if !names.is_empty() && !leg.is_capped {
        let text = format!(
            "below three quarters of the median of {}: {}",
            human::rate(BytesPerSec::new(middle)),
            folded(names)
        );
        out.lead((Tone::Warn, "  ! "), Tone::Normal, text);
    }
    lost(out, &leg.lost);
}

/// At most three hosts that took no part, and how many more.
pub(super) fn lost(out: &mut Document, all: &[String]) {
    const MOST: usize = 3;
    for lost in all.iter().take(MOST) {
        out.lead((Tone::Warn, "  ! "), Tone::Normal, format!("not in it: {lost}"));
    }
    if all.len() > MOST {
        out.lead((Tone::Warn, "  ! "), Tone::Normal, format!("and {} more", all.len() - MOST));
    }
}
