//! What the network cards of a host can carry that carried the load, and what they did.

use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec};
use narrows_model::ceiling::{Direction, network::of_network};
use narrows_model::path::NetworkHop;

use crate::fleet::record::Host;
use crate::fleet::samples::Activity;

/// A card that carried less than this share of what the busiest one did carries something else.
const CARRIES: f64 = 0.05;
/// The cards of which facts are known carried the load if they carried this share of what the busiest interface did.
const MOST: f64 = 0.5;

/// The network cards of a host.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::fleet::judge) struct Card {
    /// What they can carry and how that was worked out, or why it is not known.
    pub(in crate::fleet::judge) ceiling: Result<(BytesPerSec, String), String>,
    /// What they carried; absent where no counter was seen.
    pub(in crate::fleet::judge) carried: Option<BytesPerSec>,
}

impl Card {
    /// Whether it carries all that it can. One that does not tell its line rate, or that something shapes, is never known to.
    pub(in crate::fleet::judge) fn is_full(&self) -> bool {
        /// What reaches this share of a ceiling is at it; counters have headers besides, which the ceiling has not.
        const FULL: f64 = 0.95;
        let ceiling = self.ceiling.as_ref().ok().map(|(ceiling, _)| ceiling.get());
        self.carried.zip(ceiling).is_some_and(|(carried, ceiling)| carried.get() >= ceiling * FULL)
    }

    /// `receives`: whether the bytes of the map come in here, or go out.
    pub(in crate::fleet::judge) fn of(host: &Host, activity: Option<&Activity>, receives: bool) -> Self {
        let Some(activity) = activity else {
            return Self { ceiling: Err("its network cards were not seen".to_owned()), carried: None };
        };
        let side = usize::from(!receives);
        let rate = |name: &str| activity.nics.get(name).map_or(0.0, |rates| rates[side].get());
        let most =
            activity.nics.keys().filter(|name| *name != "lo").map(|name| rate(name)).fold(0.0, f64::max);
        let names = host.facts.keys().filter_map(|fact| fact.strip_prefix("speed of "));
        let used: Vec<&str> = names.filter(|name| rate(name) > 0.0 && rate(name) >= most * CARRIES).collect();
        let carried = used.iter().map(|name| rate(name)).sum::<f64>();
        if used.is_empty() || carried < most * MOST {
            let why = "the interface that carried the load is no network card of its own, or did not tell its line rate";
            return Self { ceiling: Err(why.to_owned()), carried: Some(activity.network()[side]) };
        }
        Self { ceiling: together(host, &used), carried: Some(BytesPerSec::new(carried)) }
    }
}

/// What these interfaces can carry together; not known where it is not of one of them.
fn together(host: &Host, names: &[&str]) -> Result<(BytesPerSec, String), String> {
    let mut sum = BytesPerSec::default();
    let mut formulas: Vec<String> = Vec::new();
    for name in names {
        let number = |fact: &str| {
            let text = host.facts.get(&format!("{fact} of {name}"))?;
            text.trim().parse::<f64>().ok().filter(|value| *value > 0.0 && value.is_finite())
        };
        let Some(megabits) = number("speed") else {
            return Err(format!("{name} does not tell its line rate"));
        };
        let hop = NetworkHop {
            interface: (*name).to_owned(),
            speed: Fact::known(BitsPerSec::new(megabits * 1e6), format!("/sys/class/net/{name}/speed")),
            mtu: number("MTU").map_or_else(Fact::default, |mtu| {
                Fact::known(Bytes::new(mtu as u64), format!("/sys/class/net/{name}/mtu"))
            }),
            ..NetworkHop::default()
        };
        // Both directions carry the same.
        let ceilings = of_network(&hop);
        let Some(limit) = ceilings.of(Direction::Read).limit() else {
            return Err(format!("{name} does not tell its line rate"));
        };
        sum = sum + limit.rate;
        if !formulas.contains(&limit.formula) {
            formulas.push(limit.formula.clone());
        }
    }
    let count = if names.len() == 1 { String::new() } else { format!("{} cards: ", names.len()) };
    Ok((sum, format!("{count}{}", formulas.join("; "))))
}
