//! What runs of many hosts that differ in one thing only show, in words.

use super::folded;
use super::text::{jobs_in_words, mix_of, order_of};
use crate::document::Blocks;
use crate::text::Tone;
use narrows_base::units::{Bytes, human};
use narrows_verdict::fleet::series::{Along, Series};

/// So many hosts that stop to gain early are named one by one.
const MOST_NAMED: usize = 3;

/// A sentence for each series, and one for what stands out in it.
pub(super) fn say(out: &mut impl Blocks, all: &[Series]) {
    for series in all {
        out.gap();
        let lead = format!("{}: ", title(series));
        out.lead((Tone::Strong, &lead), Tone::Normal, format!("{}.", in_words(series)));
        if let Some(earlier) = earlier(series) {
            out.lead((Tone::Warn, "  ! "), Tone::Normal, earlier);
        }
        for run in &series.left_out {
            let text = format!(
                "left out: {}, where other hosts count ({} of them)",
                shown(series.along, run.at as f64),
                run.hosts
            );
            out.say(2, Tone::Faint, text);
        }
    }
}

/// What changes, and what is held: `Jobs of each host, 1 MiB reads in sequence, depth 8`.
pub(crate) fn title(series: &Series) -> String {
    let of = &series.of;
    let kind = format!("{} {}", mix_of(of), order_of(of));
    let depth = format!("depth {}", of.depth);
    match series.along {
        Along::Jobs => format!("Jobs of each host, {} {kind}, {depth}", human::block_size(of.block_size)),
        Along::Depth => {
            format!("Depth, {} {kind}, {}", human::block_size(of.block_size), jobs_in_words(of.jobs))
        }
        Along::BlockSize => format!("Block size, {kind}, {} × {depth}", jobs_in_words(of.jobs)),
    }
}

/// A place of a series: `16 jobs`, `depth 8`, `64 KiB`.
pub(crate) fn shown(along: Along, at: f64) -> String {
    match along {
        Along::Jobs => jobs_in_words(at as u32),
        Along::Depth => format!("depth {at}"),
        Along::BlockSize => human::block_size(Bytes::new(at as u64)),
    }
}

/// The knee, the plateau, drops and odd points.
pub(crate) fn in_words(series: &Series) -> String {
    let at = |x: f64| shown(series.along, x);
    let hosts =
        if series.hosts == 1 { "1 host gives".to_owned() } else { format!("{} hosts give", series.hosts) };
    let Some(last) = series.points.last() else { return "no run counts".to_owned() };
    let mut parts = vec![match &series.shape.plateau {
        Some(plateau) if plateau.from == plateau.to => {
            format!("{hosts} the most, {}, with {}", human::rate(plateau.bytes_per_second), at(plateau.from))
        }
        Some(plateau) => {
            format!(
                "{hosts} {} from {} to {}",
                human::rate(plateau.bytes_per_second),
                at(plateau.from),
                at(plateau.to)
            )
        }
        None => {
            format!(
                "{hosts} {} with {}, and the rate still rises there",
                human::rate(last.bytes_per_second),
                at(last.x)
            )
        }
    }];
    parts.extend(
        series
            .shape
            .drops
            .iter()
            .map(|drop| format!("from {} on it is {} less", at(drop.from), human::percent(drop.fraction))),
    );
    parts.extend(series.shape.anomalies.iter().map(|odd| {
        format!(
            "{} does not fit: {} where its neighbours let expect {}",
            at(odd.x),
            human::rate(odd.bytes_per_second),
            human::rate(odd.expected)
        )
    }));
    parts.join("; ")
}

/// Hosts that stop to gain earlier than all together.
fn earlier(series: &Series) -> Option<String> {
    let each: Vec<String> = series
        .earlier
        .iter()
        .take(MOST_NAMED)
        .map(|one| {
            format!(
                "{} with {} ({})",
                one.host,
                shown(series.along, one.knee),
                human::rate(one.bytes_per_second)
            )
        })
        .collect();
    let rest: Vec<&str> = series.earlier.iter().skip(MOST_NAMED).map(|one| one.host.as_str()).collect();
    let more = if rest.is_empty() { String::new() } else { format!("; also {}", folded(rest)) };
    (!each.is_empty()).then(|| format!("stops to gain earlier than all together: {}{more}", each.join(", ")))
}
