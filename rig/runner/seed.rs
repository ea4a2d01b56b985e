//! Other rates of drives than those that stand in the files: `--seed`.
//!
//! What narrows names must follow from the ratios of a path, not from the numbers that somebody wrote down. A seed gives
//! each rate of a scenario's drives a factor of its own, and drives of one rate the same.

use super::scenario::{Check, Scenario};

/// The least factor and the greatest. Nothing that is meant to be narrower gets wider: where the files have a slow and
/// a fast drive, they are further apart than the quotient of both.
const LEAST: f64 = 0.8;
const GREATEST: f64 = 1.25;

/// Gives the drives of a scenario the rates of this seed, with the rates that are expected. The scenario stays as it is
/// where it says `seed = false`, and where something is expected that does not follow from the rate of one drive: the
/// rate of a check whose limiting hop is no throttled drive, a figure, a bound on a rate.
pub(crate) fn apply(scenario: &mut Scenario, seed: u64) {
    if !scenario.seed || !scenario.checks.iter().all(|check| follows_from_drives(scenario, check)) {
        return;
    }
    let limits: Vec<Option<f64>> = scenario
        .checks
        .iter()
        .map(|check| limiting_rate(scenario, check).map(|rate| factor(seed, rate)))
        .collect();
    for (check, factor) in scenario.checks.iter_mut().zip(limits) {
        check.injected_bytes_per_second =
            check.injected_bytes_per_second.map(|rate| rate * factor.unwrap_or(1.0));
    }
    let mut changes = Vec::new();
    for drive in &mut scenario.machine.drives {
        if let Some(rate) = drive.bytes_per_second {
            let factor = factor(seed, rate);
            drive.bytes_per_second = Some((rate as f64 * factor) as u64);
            changes.push(format!("{} × {factor:.2}", drive.name));
        }
    }
    if !changes.is_empty() {
        scenario.injected.push_str(&format!(" ({})", changes.join(", ")));
    }
}

/// Whether all numbers that a check expects follow from the rates of drives.
fn follows_from_drives(scenario: &Scenario, check: &Check) -> bool {
    let is_rate = |pointer: &str| pointer.ends_with("bytes_per_second");
    let bounds = check.expectations.iter().flat_map(|expectation| &expectation.places);
    let has_bound = bounds
        .filter(|place| is_rate(&place.pointer))
        .any(|place| place.at_least.is_some_and(|least| least > 0.0) || place.at_most.is_some());
    let is_known = check.injected_bytes_per_second.is_none() || limiting_rate(scenario, check).is_some();
    is_known && !has_bound && check.figures.is_empty()
}

/// The rate in the file of the drive that all expectations of a check name as limiting.
fn limiting_rate(scenario: &Scenario, check: &Check) -> Option<u64> {
    let rate_of = |limiting: &str| {
        let name = limiting.strip_prefix("device:{")?.strip_suffix('}')?;
        scenario.machine.drives.iter().find(|drive| drive.name == name)?.bytes_per_second
    };
    let compared = check.expectations.iter().filter(|expectation| expectation.rate != Some(false));
    let mut rates = compared.map(|expectation| expectation.limiting.as_deref().and_then(rate_of));
    let first = rates.next()??;
    rates.all(|rate| rate == Some(first)).then_some(first)
}

/// The factor for drives of this rate, evenly spread between both limits on a logarithmic scale.
pub(crate) fn factor(seed: u64, rate: u64) -> f64 {
    let bits = mixed(mixed(seed) ^ rate) >> 11;
    let part = bits as f64 / (1u64 << 53) as f64;
    LEAST * (GREATEST / LEAST).powf(part)
}

/// One step of SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
fn mixed(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
