//! Percentiles in a line of text.

use narrows_base::units::{Nanos, human};
use narrows_load::measurement::Latency;

/// What stands in for a percentile that the run says nothing of.
const TOO_FEW: &str = "too few samples";

/// One percentile, or that there are too few samples for it.
pub(super) fn or_too_few(percentile: Option<Nanos>) -> String {
    percentile.map_or_else(|| TOO_FEW.to_owned(), human::time)
}

/// All percentiles from the median to five nines, and from which on there are too few samples.
pub(crate) fn percentiles(latency: &Latency) -> String {
    let all = latency.percentiles();
    let known = all.iter().filter_map(|(one, value)| Some(format!("{} {}", one.label, (*value)?)));
    let mut parts: Vec<String> = known.collect();
    if let Some((first, _)) = all.iter().find(|(_, value)| value.is_none()) {
        let beyond = if first.label == "p99.999" { "" } else { " and beyond" };
        parts.push(format!("{}{beyond}: {TOO_FEW} ({} needed)", first.label, first.least_samples()));
    }
    parts.push(format!("max {}", latency.max));
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_samples_do_not_support_is_said_and_not_shown() {
        let some = |ms| Some(Nanos::from_millis(ms));
        let latency = Latency {
            count: 400,
            p50: some(1),
            p90: some(2),
            p95: some(3),
            p99: some(4),
            max: Nanos::from_millis(9),
            ..Latency::default()
        };
        assert_eq!(
            percentiles(&latency),
            "p50 1 ms · p90 2 ms · p95 3 ms · p99 4 ms · p99.9 and beyond: too few samples (2995 needed) · max 9 ms"
        );
        let all = Latency { p999: some(5), p9999: some(6), ..latency };
        assert!(percentiles(&all).contains("p99.99 6 ms · p99.999: too few samples (299572 needed)"));
        assert_eq!(
            (or_too_few(None), or_too_few(some(7))),
            ("too few samples".to_owned(), "7 ms".to_owned())
        );
    }
}
