//! What another tool saw a device do, in one line.

use crate::view::HopView;
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_machine::captured::DeviceLoad;

/// `sda was 99.4 % busy (busiest of 3 intervals): 32.9 MB/s read in 86.9 ms each, 13.6 in flight (iostat.txt:8)`; `None` where
/// nobody saw it.
pub(super) fn line(hop: &HopView) -> Option<String> {
    let observed = hop.observed.as_ref()?;
    let seen = &observed.load;
    let device = hop.id.split_once(':').map_or(hop.id.as_str(), |(_, device)| device);
    let busy = seen.busy.map(|busy| format!(" was {} busy", human::percent(busy))).unwrap_or_default();
    let when = match (seen.since_start, seen.intervals) {
        (true, _) => " on average since the machine started".to_owned(),
        (false, 0 | 1) => String::new(),
        (false, intervals) => format!(" in the busiest of {intervals} intervals"),
    };
    let parts = parts(seen);
    let did = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    Some(format!("{device}{busy}{when}{did} ({})", observed.source))
}

fn parts(seen: &DeviceLoad) -> Vec<String> {
    let side = |rate: Option<BytesPerSec>, wait: Option<Nanos>, what: &str| {
        let rate = rate.filter(|rate| rate.get() > 0.0)?;
        let wait = wait.map(|wait| format!(", {wait} each")).unwrap_or_default();
        Some(format!("{rate} {what}{wait}"))
    };
    let depth = seen.depth.filter(|depth| *depth > 0.0);
    [
        side(seen.read, seen.read_wait, "read"),
        side(seen.write, seen.write_wait, "written"),
        depth.map(|depth| format!("{} in flight", human::count(depth))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> DeviceLoad {
        DeviceLoad {
            busy: Some(0.994),
            depth: Some(13.64),
            read: Some(BytesPerSec::new(32_907_264.0)),
            write: Some(BytesPerSec::new(0.0)),
            read_wait: Some(Nanos::new(86_870_000)),
            write_wait: None,
            intervals: 2,
            since_start: false,
        }
    }

    #[test]
    fn each_part_that_is_known_is_told_and_nothing_else() {
        assert_eq!(parts(&seen()), ["32.9 MB/s read, 86.9 ms each", "13.6 in flight"]);
        let idle = DeviceLoad { read: None, depth: Some(0.0), ..seen() };
        assert!(parts(&idle).is_empty());
    }
}
