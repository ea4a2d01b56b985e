//! Every path of a machine: one line for each target, alike ones together.

use std::collections::HashMap;

use super::ink::{Line, Tone, fit, paragraph, width};
use super::rate::Scale;
use super::{Style, findings, hints, rate};
use crate::view::{CeilingView, CheckReport, HopView, PathView};
use narrows_base::units::BytesPerSec;
use narrows_model::path::HopKind;

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
pub(super) fn put(out: &mut String, style: &Style, report: &CheckReport) {
    let (paths, found) = (&report.paths, &report.findings);
    if paths.is_empty() {
        paragraph(out, style, (Tone::Normal, ""), Tone::Warn, "No storage paths were found.");
    } else {
        table(out, style, &group(style, paths));
    }
    if !found.is_empty() {
        out.push('\n');
        findings::put_short(out, style, found);
    }
    let example = paths.iter().find(|path| path.limiting_hop.read.is_some()).or(paths.first());
    if let Some(path) = example {
        let target = super::quoted(&path.target);
        let from = super::from(&report.machine);
        out.push('\n');
        hints(out, style, &[("Look closer", format!("narrows {target}{from}"))]);
        hints(out, style, &[super::prove(&target, &report.machine)]);
    }
}

fn group<'a>(style: &Style, paths: &'a [PathView]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    // A text can name thousands of functions, none of which is like another.
    let mut places: HashMap<_, usize> = HashMap::new();
    for path in paths {
        let (what, limit) = (what(path), limit(style, path));
        let place =
            *places.entry((what.clone(), limit.shown.clone(), limit.next.clone())).or_insert(groups.len());
        match groups.get_mut(place) {
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
        return path.hops.get(1).map_or_else(String::new, |hop| hop.name.clone());
    }
    let counted = kinds.into_iter().map(|(name, count)| match count {
        1 => name.to_owned(),
        _ => format!("{count} × {name}"),
    });
    counted.collect::<Vec<_>>().join(", ")
}

/// The narrowest hop for reads (for writes where reads have none), with both rates where they differ.
fn limit<'a>(style: &Style, path: &'a PathView) -> Limit<'a> {
    let read = at(path, path.limiting_hop.read.as_ref(), false);
    let write = at(path, path.limiting_hop.write.as_ref(), true);
    let Some((hop, ceiling)) = read.or(write) else {
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
    let next =
        at(path, path.next_hop.read.as_ref(), false).or_else(|| at(path, path.next_hop.write.as_ref(), true));
    Limit {
        rate: ceiling.path_bytes_per_second,
        shown: both(read.map(|(_, ceiling)| words(ceiling)), write.map(|(_, ceiling)| words(ceiling))),
        hop: &hop.name,
        own: false,
        next: next.map_or_else(String::new, |(hop, ceiling)| match style.width {
            WIDE.. => format!("{} {}", words(ceiling), hop.kind.as_str().replace('_', " ")),
            _ => words(ceiling),
        }),
    }
}

fn at<'a>(path: &'a PathView, id: Option<&String>, write: bool) -> Option<(&'a HopView, &'a CeilingView)> {
    let hop = path.hop(id?)?;
    Some((hop, if write { &hop.ceiling.write } else { &hop.ceiling.read }))
}

fn words(ceiling: &CeilingView) -> String {
    let rate = ceiling.path_bytes_per_second;
    rate.map_or_else(|| "unknown".to_owned(), |rate| rate::estimate(ceiling.basis, rate))
}

/// `3.2 / 1.8 GB/s`: reads and writes, with the unit once where it is the same.
fn both(read: Option<String>, write: Option<String>) -> String {
    let (Some(read), Some(write)) = (&read, &write) else {
        return read.or(write).unwrap_or_default();
    };
    match (read.split_once(' '), write.split_once(' ')) {
        _ if read == write => read.clone(),
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} / {write}"),
        _ => format!("{read} / {write}"),
    }
}

const GAP: usize = 2;

/// From this width on the next hop is named beside its rate.
const WIDE: usize = 100;

/// A bar of the overview, where all names have room.
const BAR: usize = 10;

/// How wide each column is.
struct Columns {
    target: usize,
    what: usize,
    rate: usize,
    bar: usize,
    hop: usize,
    next: usize,
}

impl Columns {
    /// Rates and the least of the targets get what they need; media and hops share what is left.
    fn of(style: &Style, groups: &[Group<'_>]) -> Self {
        let most = |text: &dyn Fn(&Group<'_>) -> String, least: usize| {
            groups.iter().map(|group| width(style, &text(group))).max().unwrap_or(0).max(least)
        };
        let rate = most(&|group| group.limit.shown.clone(), heading(groups).len());
        let next = most(&|group| group.limit.next.clone(), "next".len());
        let room = style.width.saturating_sub(rate + next + 4 * GAP);
        let short = most(&|group| targets(style, group, 0), "target".len());
        let [target, what, hop] = [
            most(&|group| targets(style, group, room / 4), short).min(room / 2),
            most(&|group| group.what.clone(), "on".len()),
            most(&|group| hop_name(group), "narrowest hop".len()),
        ];
        let left = room - target;
        let spare = left.saturating_sub(what + hop);
        let what = what.min((left * 2 / 5).max(left.saturating_sub(hop)));
        let bar = if spare >= BAR + GAP { BAR } else { 0 };
        Self { target, what, rate, bar, hop: hop.min(left - what), next }
    }

    const fn rate_end(&self) -> usize {
        self.target + self.what + 2 * GAP + self.rate
    }

    const fn hop_start(&self) -> usize {
        self.rate_end() + GAP + if self.bar > 0 { self.bar + GAP } else { 0 }
    }
}

fn heading(groups: &[Group<'_>]) -> &'static str {
    if groups.iter().any(|group| group.limit.shown.contains(" / ")) { "read / write" } else { "at most" }
}

fn hop_name(group: &Group<'_>) -> String {
    format!("{}{}", if group.limit.own { "each: " } else { "" }, group.limit.hop)
}

fn table(out: &mut String, style: &Style, groups: &[Group<'_>]) {
    let columns = Columns::of(style, groups);
    let scale = Scale::of(groups.iter().filter_map(|group| group.limit.rate));
    let next_start = columns.hop_start() + columns.hop + GAP;
    let mut line = Line::new(style);
    line.put(Tone::Faint, "target").pad_to(columns.target + GAP).put(Tone::Faint, "on");
    line.put_right(Tone::Faint, heading(groups), columns.rate_end()).pad_to(columns.hop_start());
    line.put(Tone::Faint, "narrowest hop").pad_to(next_start).put(Tone::Faint, "next");
    line.end(out);
    for group in groups {
        let mut line = Line::new(style);
        line.put(Tone::Strong, &targets(style, group, columns.target)).pad_to(columns.target + GAP);
        line.put(Tone::Normal, &fit(style, &group.what, columns.what));
        line.put_right(Tone::Strong, &group.limit.shown, columns.rate_end()).pad_to(columns.rate_end() + GAP);
        if let (Some(rate), Some(scale), true) = (group.limit.rate, scale, columns.bar > 0) {
            line.put(Tone::Faint, &scale.bar(style, rate, columns.bar));
        }
        line.pad_to(columns.hop_start());
        let name = hop_name(group);
        match group.limit.rate {
            Some(_) => line.put(Tone::Normal, &fit(style, &name, columns.hop)).pad_to(next_start),
            None => line.put(Tone::Faint, &fit(style, &name, columns.hop + GAP + columns.next)),
        };
        line.put(Tone::Faint, &group.limit.next);
        line.end(out);
    }
}

/// The targets of a group in about `most` columns: as many names as fit, at least the first, then how many more there
/// are.
fn targets(style: &Style, group: &Group<'_>, most: usize) -> String {
    const LONGEST: usize = 40;
    for count in (1..=group.targets.len()).rev() {
        let some = group.targets.get(..count).unwrap_or_default().join(", ");
        let more = group.targets.len() - count;
        let text = if more > 0 { format!("{some} +{more}") } else { some };
        if width(style, &text) <= most.min(LONGEST) {
            return text;
        }
    }
    let more = group.targets.len().saturating_sub(1);
    let tail = if more > 0 { format!(" +{more}") } else { String::new() };
    let first = group.targets.first().copied().unwrap_or_default();
    let room = if most == 0 { LONGEST / 2 } else { most };
    format!("{}{tail}", fit(style, first, room.saturating_sub(width(style, &tail))))
}
