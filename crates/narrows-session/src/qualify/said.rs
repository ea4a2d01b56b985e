//! What is said before the first byte, and after the first pass.

use std::time::Duration;

use crate::writes::{Life, whole_gib};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::guard::Budget;
use narrows_load::qualify::{Part, Plan};

/// A part in words.
pub const fn in_words(part: Part) -> &'static str {
    match part {
        Part::Cache => "first pass over the region",
        Part::Steady => "second pass and steady rounds",
        Part::Reads => "reads",
        Part::Mixed => "reads and writes at once",
        Part::LatencyTarget => "rate at the latency target",
        Part::Recovery => "recovery after a rest",
    }
}

/// The bytes of each part, what they cost of the drive's life, and how long they take at the least, line by line.
pub fn announcement(
    name: &str,
    plan: &Plan,
    life: Option<Life>,
    ceiling: Option<BytesPerSec>,
) -> Vec<String> {
    let most = plan.most();
    let life = life.and_then(|life| {
        let share = Budget::share_of_life(most, Some(life.rated))?;
        Some(match life.class {
            Some(class) => {
                format!(", ~{} of the rated life of its class ({class})", human::small_percent(share))
            }
            None => format!(", {} of its rated life", human::small_percent(share)),
        })
    });
    let life = life.unwrap_or_else(|| "; its rated life is not known".to_owned());
    let time = match ceiling.filter(|rate| rate.get() > 0.0) {
        Some(rate) => {
            format!("{} at the least, by the ceiling of its path", human::time(span(most, rate).into()))
        }
        None => "how long that takes is said after the first pass".to_owned(),
    };
    let part = if plan.is_whole() {
        format!("all {}", human::bytes(plan.capacity))
    } else {
        format!("{} of the {}", human::bytes(plan.region), human::bytes(plan.capacity))
    };
    let mut lines = vec![format!(
        "narrows: reads {part} of {name} first, which must be blank; then writes at most {}{life}; {time}",
        human::bytes(most)
    )];
    for planned in &plan.parts {
        let (what, bytes) = (in_words(planned.part), human::bytes(planned.most));
        lines.push(match (planned.fits, planned.part) {
            (true, Part::Reads) => format!("  {what}: writes nothing"),
            (true, _) => format!("  {what}: writes at most {bytes}"),
            (false, _) => format!("  {what}: left out, {}", why(plan, planned.most)),
        });
    }
    lines.push(format!("  clearing: {} at most", human::bytes(plan.region)));
    lines
}

/// Why a part that writes so much is left out.
pub(super) fn why(plan: &Plan, most: Bytes) -> String {
    format!(
        "it needs {} beside the other parts over the whole drive; --max-writes {} allows all",
        human::bytes(most),
        whole_gib(plan.needed)
    )
}

/// How long the rest will take when the first pass went at this rate in the end.
pub(super) fn rest(plan: &Plan, rate: BytesPerSec, rest: Duration) -> Option<String> {
    let left = plan.most().saturating_sub(plan.region);
    let time = Nanos::from(span(left, rate) + rest);
    (rate.get() > 0.0).then(|| {
        format!(
            "the first pass ended at {}: at that rate the rest writes and clears {} in about {}; random writes are slower",
            human::rate(rate),
            human::bytes(left),
            human::time(time)
        )
    })
}

fn span(bytes: Bytes, rate: BytesPerSec) -> Duration {
    Duration::try_from_secs_f64(bytes.as_f64() / rate.get()).unwrap_or(Duration::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_life_and_time_are_said_first_and_what_a_part_needs_that_does_not_fit() {
        let (capacity, rate) = (Bytes::new(16 << 30), BytesPerSec::from_mb(1000.0));
        let life = Some(Life { rated: Bytes::new(600_000_000_000_000), class: None });
        let plan = Plan::new(capacity, Bytes::new(69 << 30), false).unwrap();
        let text = announcement("nvme0n1", &plan, life, Some(rate)).join("\n");
        // 69 GiB are 74.1 GB, of 600 TB 0.012 %, at 1 GB/s 74 s.
        for word in [
            "all 17.2 GB of nvme0n1",
            "writes at most 74.1 GB",
            "0.012 %",
            "of its rated life; 74.1 s at the least",
        ] {
            assert!(text.contains(word), "{word}: {text}");
        }
        let less = Plan::new(capacity, Bytes::new(40 << 30), false).unwrap();
        let text = announcement("nvme0n1", &less, None, None).join("\n");
        let wanted = "second pass and steady rounds: left out, it needs 34.4 GB beside the other parts over the whole drive; \
                      --max-writes 69GiB allows all";
        assert!(text.contains(wanted) && text.contains("its rated life is not known"), "{text}");
    }
}
