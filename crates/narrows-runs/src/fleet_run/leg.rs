//! The network alone, and the servers' drives alone.

use serde::{Deserialize, Serialize};

use super::folded;
use narrows_base::units::{Bytes, BytesPerSec, Nanos};
use narrows_report::document::{Blocks, Document, Tone};
use narrows_verdict::fleet::record::{Host, LegLost, Run};

/// Why there is none where it was not asked for.
const NO_NETWORK_LEG: &str = "not measured: --alone network opens a port on each server for it";
const NO_DRIVES_LEG: &str = "not measured: --alone drives=TARGET reads that on each server";
/// A client that gets less than this share of the median is named.
const SLOW: f64 = 0.75;

/// What the network carried alone, from memory to memory, or what the servers' drives gave alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LegView {
    /// All clients together, or all servers; absent where a server has no result.
    pub bytes_per_second: Option<BytesPerSec>,
    /// Why that is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether clients sent.
    #[serde(default)]
    pub is_write: bool,
    /// Whether that was as much as was asked for, so that the network carries, or the drives give, at least this.
    pub is_capped: bool,
    /// For how long.
    pub time_ns: Option<Nanos>,
    /// Each client that took part, or each server that has a result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<LegHost>,
    /// Hosts that did not take part, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// The ports that were open until it began, by server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LegHost {
    /// The client, or the server that read its own drives.
    pub host: String,
    /// The server, of a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What came in.
    pub bytes_per_second: BytesPerSec,
}

impl LegView {
    /// The network's leg of a run. For the public nothing of addresses is left, and no message.
    pub(super) fn network(run: &Run, is_public: bool) -> Self {
        let Some(leg) = &run.network_leg else {
            return Self { reason: Some(NO_NETWORK_LEG.to_owned()), ..Self::default() };
        };
        let (rate, time) = (leg.rate(), leg.time_ns);
        let flow =
            |bytes: Bytes| if time.get() == 0 { BytesPerSec::default() } else { bytes.per(time.duration()) };
        let host = |flow_of: &narrows_verdict::fleet::record::LegFlow| LegHost {
            host: name(&run.clients, flow_of.client),
            server: Some(name(&run.servers, flow_of.server)),
            bytes_per_second: flow(flow_of.bytes),
        };
        Self {
            bytes_per_second: rate,
            reason: rate.is_none().then(|| "nothing came through".to_owned()),
            is_write: leg.is_write,
            is_capped: leg.is_capped(),
            time_ns: Some(time),
            hosts: leg.flows.iter().map(host).collect(),
            lost: without(&leg.lost, is_public.then_some("a host took no part")),
            opened: if is_public { Vec::new() } else { leg.opened.clone() },
        }
    }

    /// The leg of a run on the servers' drives. For the public no message is left.
    pub(super) fn drives(run: &Run, is_public: bool) -> Self {
        let Some(leg) = &run.drives_leg else {
            return Self { reason: Some(NO_DRIVES_LEG.to_owned()), ..Self::default() };
        };
        let (some, all) = (leg.rates.len(), run.servers.len());
        let rate = leg.rate().filter(|_| some == all);
        let host = |one: &narrows_verdict::fleet::record::DrivesRate| LegHost {
            host: name(&run.servers, one.server),
            server: None,
            bytes_per_second: one.bytes_per_second,
        };
        Self {
            bytes_per_second: rate,
            reason: rate.is_none().then(|| format!("{some} of {all} servers have a result")),
            is_capped: leg.is_capped(),
            time_ns: Some(leg.time_ns),
            hosts: leg.rates.iter().map(host).collect(),
            lost: without(&leg.lost, is_public.then_some("a server has no result")),
            ..Self::default()
        }
    }
}

pub(super) fn name(hosts: &[Host], place: usize) -> String {
    hosts.get(place).map_or_else(|| "?".to_owned(), |host| host.host.clone())
}

/// Who is not in it and why; for the public only that somebody is not.
fn without(all: &[LegLost], public: Option<&str>) -> Vec<String> {
    let said = |lost: &LegLost| match public {
        Some(words) => words.to_owned(),
        None => format!("{}: {}", lost.host, lost.reason),
    };
    all.iter().map(said).collect()
}

/// Both legs, a line each: with the clients that the network's shows to be slow, and who has no part in it.
pub(super) fn say(out: &mut Document, network: &LegView, drives: &LegView) {
    let way = if network.is_write { " to the servers" } else { " to the clients" };
    line(out, ("network alone", NO_NETWORK_LEG), network, (way, ""));
    let mut rates: Vec<f64> = network.hosts.iter().map(|client| client.bytes_per_second.get()).collect();
    rates.sort_by(f64::total_cmp);
    let middle = rates.get(rates.len() / 2).copied().unwrap_or_default();
    let slow = network.hosts.iter().filter(|client| client.bytes_per_second.get() < middle * SLOW);
    let names: Vec<&str> = slow.map(|client| client.host.as_str()).collect();
    if !names.is_empty() && !network.is_capped {
        let text =
            format!("below three quarters of the median of {}: {}", BytesPerSec::new(middle), folded(names));
        out.lead((Tone::Warn, "  ! "), Tone::Normal, text);
    }
    lost(out, &network.lost);
    line(out, ("drives alone", NO_DRIVES_LEG), drives, ("", &each(drives)));
    lost(out, &drives.lost);
}

/// `network alone: 11.2 GB/s to the clients for 10 s`, or why there is none.
fn line(out: &mut Document, (what, none): (&str, &str), leg: &LegView, (way, behind): (&str, &str)) {
    let Some(rate) = leg.bytes_per_second else {
        let why = leg.reason.as_deref().unwrap_or(none);
        return out.say(0, Tone::Faint, format!("{what}: {why}"));
    };
    let more = if leg.is_capped { ", as much as was asked for" } else { "" };
    let time = leg.time_ns.map(|time| format!(" for {time}")).unwrap_or_default();
    out.say(0, Tone::Normal, format!("{what}: {rate}{way}{time}{more}{behind}"));
}

/// At most three hosts that took no part, and how many more.
fn lost(out: &mut Document, all: &[String]) {
    let all: Vec<String> = all.iter().map(|lost| format!("not in it: {lost}")).collect();
    out.first(3, (Tone::Warn, "  ! "), Tone::Normal, &all, "");
}

/// What each of several servers gave; of many the least and the most.
fn each(leg: &LegView) -> String {
    const MOST: usize = 4;
    let of = |one: &LegHost| format!("{} {}", one.host, one.bytes_per_second);
    let by_rate = |a: &&LegHost, b: &&LegHost| a.bytes_per_second.get().total_cmp(&b.bytes_per_second.get());
    let (least, most) = (leg.hosts.iter().min_by(by_rate), leg.hosts.iter().max_by(by_rate));
    match (leg.hosts.len(), least, most) {
        (0 | 1, ..) => String::new(),
        (..=MOST, ..) => format!(" ({})", leg.hosts.iter().map(of).collect::<Vec<_>>().join(", ")),
        (_, Some(least), Some(most)) => format!(" ({} to {})", of(least), of(most)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_verdict::fleet::record::{DrivesLeg, DrivesRate, LegLost};

    fn view(servers: usize, rates: &[f64]) -> LegView {
        let mut run = crate::fleet_run::testing::record_of(&[(1, 1000)]);
        let server = run.servers.first().expect("has one").clone();
        run.servers = vec![server; servers];
        let rate =
            |(server, mb): (usize, &f64)| DrivesRate { server, bytes_per_second: BytesPerSec::new(mb * 1e6) };
        run.drives_leg = Some(DrivesLeg {
            time_ns: Nanos::from_millis(5000),
            rates: rates.iter().enumerate().map(rate).collect(),
            lost: vec![LegLost { host: "s9".to_owned(), reason: "no fio there".to_owned() }],
            ..DrivesLeg::default()
        });
        LegView::drives(&run, false)
    }

    fn text(view: &LegView) -> String {
        let mut out = Document::new("fleet run", "x", None);
        say(&mut out, &LegView::default(), view);
        out.text(&narrows_report::document::Style::UNWRAPPED)
    }

    #[test]
    fn all_servers_together_are_a_rate_and_some_of_them_are_none() {
        let whole = text(&view(2, &[200.0, 300.0]));
        assert!(whole.contains("drives alone: 500 MB/s for 5 s ("), "{whole}");
        let part = view(2, &[200.0]);
        assert_eq!((part.bytes_per_second, part.hosts.len()), (None, 1));
        assert!(text(&part).contains("1 of 2 servers have a result"), "{}", text(&part));
        assert!(text(&part).contains("s9: no fio there"), "{}", text(&part));
        let many = text(&view(6, &[5.0, 1.0, 5.0, 9.0, 5.0, 5.0]));
        assert!(many.contains(" 1 MB/s to ") && many.contains(" 9 MB/s)"), "{many}");
    }
}
