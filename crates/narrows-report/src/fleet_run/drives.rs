//! The servers' drives alone.

use serde::{Deserialize, Serialize};

use crate::document::{Blocks, Document};
use crate::text::Tone;
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_verdict::fleet::record::Run;

/// Why there is none where it was not asked for.
const NOT_ASKED: &str = "not measured: --drives-leg TARGET reads that on each server";

/// What the servers' drives gave alone, without the network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrivesLegView {
    /// All servers together; absent where a server has no result.
    pub bytes_per_second: Option<BytesPerSec>,
    /// Why that is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether that was as much as was asked for, so that the drives give at least this.
    pub is_capped: bool,
    /// For how long.
    pub time_ns: Option<Nanos>,
    /// Each server that has a result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<LegServerView>,
    /// Servers without a result, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

/// A server in the leg of the drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LegServerView {
    /// The server.
    pub host: String,
    /// What it read of its own drives.
    pub bytes_per_second: BytesPerSec,
}

impl DrivesLegView {
    /// The leg of a run. For the public no message is left.
    pub(super) fn of(run: &Run, is_public: bool) -> Self {
        let Some(leg) = &run.drives_leg else {
            return Self { reason: Some(NOT_ASKED.to_owned()), ..Self::default() };
        };
        let lost: Vec<String> = leg
            .lost
            .iter()
            .map(|lost| match is_public {
                true => "a server has no result".to_owned(),
                false => format!("{}: {}", lost.host, lost.reason),
            })
            .collect();
        let name = |server: usize| run.servers.get(server).map_or("?", |host| &host.host).to_owned();
        let rate = leg.rate().filter(|_| leg.rates.len() == run.servers.len());
        let reason = rate
            .is_none()
            .then(|| format!("{} of {} servers have a result", leg.rates.len(), run.servers.len()));
        Self {
            bytes_per_second: rate,
            reason,
            is_capped: leg.is_capped(),
            time_ns: Some(leg.time_ns),
            servers: leg
                .rates
                .iter()
                .map(|one| LegServerView { host: name(one.server), bytes_per_second: one.bytes_per_second })
                .collect(),
            lost,
        }
    }
}

/// The leg in a line, and servers without a result.
pub(super) fn say(out: &mut Document, leg: &DrivesLegView) {
    match leg.bytes_per_second {
        Some(rate) => {
            let more = if leg.is_capped { ", as much as was asked for" } else { "" };
            let time = leg.time_ns.map(|time| format!(" for {}", human::time(time))).unwrap_or_default();
            out.say(0, Tone::Normal, format!("drives alone: {}{time}{more}{}", human::rate(rate), each(leg)));
        }
        None => {
            let why = leg.reason.as_deref().unwrap_or(NOT_ASKED);
            out.say(0, Tone::Faint, format!("drives alone: {why}"));
        }
    }
    super::leg::lost(out, &leg.lost);
}

/// What each of several servers gave; of many the least and the most.
fn each(leg: &DrivesLegView) -> String {
    const MOST: usize = 4;
    let of = |one: &LegServerView| format!("{} {}", one.host, human::rate(one.bytes_per_second));
    let by_rate = |a: &&LegServerView, b: &&LegServerView| {
        a.bytes_per_second.get().total_cmp(&b.bytes_per_second.get())
    };
    let (least, most) = (leg.servers.iter().min_by(by_rate), leg.servers.iter().max_by(by_rate));
    match (leg.servers.len(), least, most) {
        (0 | 1, ..) => String::new(),
        (..=MOST, ..) => format!(" ({})", leg.servers.iter().map(of).collect::<Vec<_>>().join(", ")),
        (_, Some(least), Some(most)) => format!(" ({} to {})", of(least), of(most)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_verdict::fleet::record::{DrivesLeg, DrivesRate, LegLost};

    fn view(servers: usize, rates: &[f64]) -> DrivesLegView {
        let mut run = crate::fleet_run::example::record_of(&[(1, 1000)]);
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
        DrivesLegView::of(&run, false)
    }

    fn text(view: &DrivesLegView) -> String {
        let mut out = Document::new("fleet run", "x", None);
        say(&mut out, view);
        out.text(&crate::text::Style::UNWRAPPED)
    }

    #[test]
    fn all_servers_together_are_a_rate_and_some_of_them_are_none() {
        let whole = text(&view(2, &[200.0, 300.0]));
        assert!(whole.contains("drives alone: 500 MB/s for 5 s ("), "{whole}");
        let part = view(2, &[200.0]);
        assert_eq!((part.bytes_per_second, part.servers.len()), (None, 1));
        assert!(text(&part).contains("1 of 2 servers have a result"), "{}", text(&part));
        assert!(text(&part).contains("s9: no fio there"), "{}", text(&part));
        let many = text(&view(6, &[5.0, 1.0, 5.0, 9.0, 5.0, 5.0]));
        assert!(many.contains(" 1 MB/s to ") && many.contains(" 9 MB/s)"), "{many}");
    }
}
