//! What another tool saw a device do, in one line.

use crate::view::{HopView, ObservedView};
use narrows_base::units::{BytesPerSec, Nanos, human};

/// `sda was 99.4 % busy (busiest of 3 intervals): 32.9 MB/s read in 86.9 ms each, 13.6 in flight (iostat.txt:8)`; `None` where
/// nobody saw it.
pub(super) fn line(hop: &HopView) -> Option<String> {
    let seen = hop.observed.as_ref()?;
    let device = hop.id.split_once(':').map_or(hop.id.as_str(), |(_, device)| device);
    let busy = seen.busy.map(|busy| format!(" was {} busy", human::percent(busy))).unwrap_or_default();
    let when = match (seen.since_start, seen.intervals) {
        (true, _) => " on average since the machine started".to_owned(),
        (false, 0 | 1) => String::new(),
        (false, intervals) => format!(" in the busiest of {intervals} intervals"),
    };
    let parts = parts(seen);
    let did = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    Some(format!("{device}{busy}{when}{did} ({})", seen.source))
}

fn parts(seen: &ObservedView) -> Vec<String> {
    let side = |rate: Option<BytesPerSec>, wait: Option<Nanos>, what: &str| {
        let rate = rate.filter(|rate| rate.get() > 0.0)?;
        let wait = wait.map(|wait| format!(", {} each", human::time(wait))).unwrap_or_default();
        Some(format!("{} {what}{wait}", human::rate(rate)))
    };
    let depth = seen.depth.filter(|depth| *depth > 0.0);
    [
        side(seen.read_bytes_per_second, seen.read_wait_ns, "read"),
        side(seen.write_bytes_per_second, seen.write_wait_ns, "written"),
        depth.map(|depth| format!("{} in flight", human::count(depth))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> ObservedView {
        ObservedView {
            busy: Some(0.994),
            depth: Some(13.64),
            read_bytes_per_second: Some(BytesPerSec::new(32_907_264.0)),
            write_bytes_per_second: Some(BytesPerSec::new(0.0)),
            read_wait_ns: Some(Nanos::new(86_870_000)),
            write_wait_ns: None,
            intervals: 2,
            since_start: false,
            source: "iostat.txt:8".to_owned(),
            reason: None,
        }
    }

    #[test]
    fn each_part_that_is_known_is_told_and_nothing_else() {
        assert_eq!(parts(&seen()), ["32.9 MB/s read, 86.9 ms each", "13.6 in flight"]);
        let idle = ObservedView { read_bytes_per_second: None, depth: Some(0.0), ..seen() };
        assert!(parts(&idle).is_empty());
    }
}
