//! Every path of a machine: one line for each target, alike ones together.

use super::ink::{Line, Tone, fit, paragraph, width};
use super::rate::Scale;
use super::{Style, findings, hint, rate};
use crate::path::HopKind;
use crate::report::view::{FindingView, HopView, PathView};
use crate::units::BytesPerSec;

/// Targets whose data takes paths that look the same.
struct Group<'a> {
    targets: Vec<&'a str>,
    what: String,
    limit: Limit<'a>,
}

/// What limits the paths of a group.
struct Limit<'a> {
    rate: Option<BytesPerSec>,
    shown: String,
    hop: &'a str,
    /// Whether each path of the group has such a hop of its own.
    own: bool,
    next: String,
}

/// Puts the overview.
pub(super) fn put(out: &mut String, style: &Style, paths: &[PathView], found: &[FindingView]) {
    if paths.is_empty() {
        paragraph(out, style, (Tone::Normal, ""), Tone::Warn, "No storage paths were found.");
        return;
    }
    table(out, style, &group(paths));
    if !found.is_empty() {
        out.push('\n');
        findings::put_short(out, style, found);
    }
    out.push('\n');
    let example = paths.iter().find(|path| path.limiting_hop.read.is_some()).or(paths.first());
    if let Some(path) = example {
        let target = super::quoted(&path.target);
        hint(out, style, &format!("Look closer: narrows {target} · Prove it: narrows {target} --measure"));
    }
}

fn group(paths: &[PathView]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for path in paths {
        let (what, limit) = (what(path), limit(path));
        let alike = groups.iter_mut().find(|group| {
            group.what == what && group.limit.shown == limit.shown && group.limit.next == limit.next
        });
        match alike {
            Some(group) => {
                group.limit.own |= group.limit.hop != limit.hop;
                group.targets.push(&path.target);
            }
            None => groups.push(Group { targets: vec![&path.target], what, limit }),
        }
    }
    groups
}

/// What the data is on in the end: the media, counted when they are alike.
fn what(path: &PathView) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    let media = path.hops.iter().filter(|hop| matches!(hop.kind, HopKind::Device | HopKind::Remote));
    for hop in media {
        match kinds.iter_mut().find(|(name, _)| *name == hop.name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((&hop.name, 1)),
        }
    }
    if kinds.is_empty() {
        return path.hops.iter().nth(1).map_or_else(String::new, |hop| hop.name.clone());
    }
    let counted: Vec<String> = kinds
        .into_iter()
        .map(|(name, count)| if count == 1 { name.to_owned() } else { format!("{count} × {name}") })
        .collect();
    counted.join(", ")
}

/// The direction that is narrower decides what is shown; reads when both are the same.
fn limit(path: &PathView) -> Limit<'_> {
    let at = |id: Option<&String>, write: bool| {
        let hop = path.hop(id?)?;
        let ceiling = if write { &hop.ceiling.write } else { &hop.ceiling.read };
        Some((hop, ceiling))
    };
    let found =
        at(path.limiting_hop.read.as_ref(), false).or_else(|| at(path.limiting_hop.write.as_ref(), true));
    let Some((hop, ceiling)) = found else {
        let reason = path.limiting_hop.reason.as_deref().unwrap_or_default();
        let reason = reason.split("; ").next().unwrap_or_default().trim_start_matches("read: ");
        return Limit {
            rate: None,
            shown: "unknown".to_owned(),
            hop: reason,
            own: false,
            next: String::new(),
        };
    };
    let rate = ceiling.path_bytes_per_second;
    let next = at(path.next_hop.read.as_ref(), false).or_else(|| at(path.next_hop.write.as_ref(), true));
    Limit {
        rate,
        shown: rate.map_or_else(|| "unknown".to_owned(), |rate| rate::estimate(ceiling.basis, rate)),
        hop: &hop.name,
        own: false,
        next: next.map_or_else(String::new, next_words),
    }
}

fn next_words((hop, ceiling): (&HopView, &crate::report::view::CeilingView)) -> String {
    let rate = ceiling.path_bytes_per_second.map(|rate| rate::estimate(ceiling.basis, rate));
    format!("{} {}", rate.unwrap_or_default(), hop.kind.as_str().replace('_', " "))
}

const GAP: usize = 2;

fn table(out: &mut String, style: &Style, groups: &[Group<'_>]) {
    let scale = Scale::of(groups.iter().filter_map(|group| group.limit.rate));
    let most = |text: &dyn Fn(&Group<'_>) -> String, heading: &str| {
        groups.iter().map(|group| width(style, &text(group))).max().unwrap_or(0).max(heading.len())
    };
    let rate = most(&|group| group.limit.shown.clone(), "at most");
    let next = most(&|group| group.limit.next.clone(), "next");
    let bar = if style.width >= 120 { 10 } else { 0 };
    let fixed = rate + next + 4 * GAP + if bar > 0 { bar + GAP } else { 0 };
    let room = style.width.saturating_sub(fixed);
    let target = most(&|group| targets(style, group, usize::MAX), "target").min(room * 3 / 10);
    let what = most(&|group| group.what.clone(), "on").min((room - target) * 2 / 5);
    let hop = room.saturating_sub(target + what);
    let starts = [0, target + GAP, target + what + 2 * GAP];
    let rate_end = starts[2] + rate;
    let bar_start = rate_end + GAP;
    let hop_start = bar_start + if bar > 0 { bar + GAP } else { 0 };

    let mut line = Line::new(style);
    line.put(Tone::Faint, "target").to_column(starts[1]).put(Tone::Faint, "on");
    line.put_right(Tone::Faint, "at most", rate_end).to_column(hop_start);
    line.put(Tone::Faint, "narrowest hop").to_column(hop_start + hop + GAP).put(Tone::Faint, "next");
    line.end(out);
    for group in groups {
        let mut line = Line::new(style);
        line.put(Tone::Strong, &targets(style, group, target)).to_column(starts[1]);
        line.put(Tone::Normal, &fit(style, &group.what, what));
        line.put_right(Tone::Strong, &group.limit.shown, rate_end).to_column(bar_start);
        if let (Some(rate), Some(scale), true) = (group.limit.rate, scale, bar > 0) {
            line.put(Tone::Faint, &scale.bar(style, rate, bar));
        }
        let name =
            if group.limit.own { format!("each: {}", group.limit.hop) } else { group.limit.hop.to_owned() };
        line.to_column(hop_start);
        match group.limit.rate {
            Some(_) => line.put(Tone::Normal, &fit(style, &name, hop)).to_column(hop_start + hop + GAP),
            None => line.put(Tone::Faint, &fit(style, &name, hop + GAP + next)),
        };
        line.put(Tone::Faint, &group.limit.next);
        line.end(out);
    }
}

/// The targets of a group in at most `most` columns: as many names as fit, then how many more there are.
fn targets(style: &Style, group: &Group<'_>, most: usize) -> String {
    let all = group.targets.join(", ");
    if width(style, &all) <= most.min(40) {
        return all;
    }
    for count in (1..group.targets.len()).rev() {
        let some = group.targets.get(..count).unwrap_or_default().join(", ");
        let text = format!("{some} +{}", group.targets.len() - count);
        if width(style, &text) <= most.min(40) {
            return text;
        }
    }
    let more = group.targets.len() - 1;
    let tail = if more > 0 { format!(" +{more}") } else { String::new() };
    let first = group.targets.first().copied().unwrap_or_default();
    format!("{}{tail}", fit(style, first, most.saturating_sub(width(style, &tail))))
}
