//! The path of one target, hop by hop, with a bar for each.

use super::rate::{Scale, ceiling};
use crate::document::{Block, Blocks, Cell, Column, Content, Place, Row, Table, Tone, Width};
use crate::view::{CeilingView, HopPair, HopView, MeasuredPair, MeasuredView, PathView};
use narrows_base::lists::{grouped, some_of};
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_machine::captured::DeviceLoad;
use narrows_model::path::HopKind;

/// Bars are between this many columns long.
const BAR: (usize, usize) = (8, 20);

/// A name gets at least this many columns before the raw rates and then the bars give way.
const NAME: usize = 30;

/// Puts the ladder of a path.
pub(super) fn put(out: &mut impl Blocks, path: &PathView) {
    let same =
        path.hops.iter().all(|hop| ceiling(&hop.ceiling.read, false) == ceiling(&hop.ceiling.write, false));
    let scale = Scale::of(path.hops.iter().filter_map(bar_rate));
    let columns = vec![
        Column::name("hop", Width::Flex(NAME)),
        Column::number(if same { "ceiling" } else { "read" }),
        Column::number("write"),
        Column::number("used"),
        Column::bar(BAR.0, BAR.1),
        Column::left("", Width::Fit(0, usize::MAX)),
    ];
    let mut table = Table::new("The hops of the path and their ceilings", 2, columns);
    for (at, hop) in path.hops.iter().enumerate() {
        let mut notes = Vec::new();
        notes.says(4, Tone::Faint, observed(hop));
        table.rows.push(Row { cells: row(path, (at, hop), same, scale), notes });
    }
    let is_plain = path.hops.iter().all(|hop| hop.traffic.read == 1.0 && hop.traffic.write == 1.0);
    table.bars = match is_plain {
        _ if scale.is_none() => "",
        true => "Bars are logarithmic.",
        false => "Rates are each hop's own; bars (logarithmic) show what the application can get through it.",
    };
    out.part(Place::Data, "The path, hop by hop");
    out.add(Block::Table(table));
    notes(out, path);
}

fn row(path: &PathView, (at, hop): (usize, &HopView), same: bool, scale: Option<Scale>) -> Vec<Cell> {
    let mark = mark(path, hop);
    let tone = mark.as_ref().map_or(Tone::Normal, |(tone, _)| *tone);
    let (first, rest) = branch(&path.hops, at);
    let name = Content::Branch { first, rest, depth: hop.depth, text: hop.name.clone() };
    let mut cells = vec![Cell::of(name).tone(tone)];
    let Some((rate, scale)) = bar_rate(hop).zip(scale) else {
        cells.push(Cell { content: remark(path, hop), tone: Some(Tone::Faint), spans: true });
        return cells;
    };
    let read =
        Content::Long { short: ceiling(&hop.ceiling.read, false), long: ceiling(&hop.ceiling.read, true) };
    let write = if same { String::new() } else { ceiling(&hop.ceiling.write, false) };
    let used = if path.runs.is_empty() { String::new() } else { used(&hop.measured) };
    let faint = if tone == Tone::Normal { Tone::Faint } else { tone };
    cells.extend([
        Cell::of(read).tone(tone),
        Cell::toned(tone, write),
        Cell::text(used),
        Cell::bar(scale.share(rate)).tone(faint),
    ]);
    cells.extend(mark.map(|(tone, text)| Cell::toned(tone, text)));
    cells
}

/// What stands in place of the rates of a hop without a ceiling. A ceiling that is not known says why, in its first
/// clause. A hop that has none of its own is silent, except where it joins several branches and the words on how it does so
/// fit: they are about this layout. `--why` has the full text of all.
fn remark(path: &PathView, hop: &HopView) -> Content {
    let views = [&hop.ceiling.read, &hop.ceiling.write];
    let text = |view: &CeilingView| view.reason.clone().unwrap_or_else(|| "no reason is known".to_owned());
    if let Some(view) = views.iter().find(|view| view.bytes_per_second.is_none() && !view.transparent) {
        return Content::Text(format!("unknown: {}", text(view).split("; ").next().unwrap_or_default()));
    }
    let branches = path.hops.iter().filter(|other| other.above.as_ref() == Some(&hop.id)).count();
    let joins = matches!(hop.kind, HopKind::Raid | HopKind::LogicalVolume | HopKind::Cache) && branches > 1;
    let words = views.iter().find(|view| view.transparent && joins).map(|view| text(view));
    words.map_or(Content::None, Content::Whole)
}

/// `95 %` of a ceiling; two of them when both directions were measured.
fn used(measured: &MeasuredPair) -> String {
    let of = |direction: &Option<MeasuredView>| {
        let view = direction.as_ref()?;
        let doubt = if view.trusted { "" } else { "?" };
        Some(format!("{}{doubt}", human::percent(view.utilisation?)))
    };
    match (of(&measured.read), of(&measured.write)) {
        (Some(read), Some(write)) => format!("{read} / {write}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => String::new(),
    }
}

/// Whether a hop is the narrowest or the next, and in which direction where these are two hops.
fn mark(path: &PathView, hop: &HopView) -> Option<(Tone, String)> {
    let words = |pair: &HopPair, text: &str| {
        let is = |named: &Option<String>| named.as_ref() == Some(&hop.id);
        let are_two = pair.read.is_some() && pair.write.is_some() && pair.read != pair.write;
        let way = match (is(&pair.read), is(&pair.write)) {
            (false, false) => return None,
            (true, false) if are_two => " (read)",
            (false, true) if are_two => " (write)",
            _ => "",
        };
        Some(format!("{text}{way}"))
    };
    let narrowest = words(&path.limiting_hop, "◀ narrowest").map(|text| (Tone::Bad, text));
    narrowest.or_else(|| words(&path.next_hop, "◁ next").map(|text| (Tone::Warn, text)))
}

/// The bar shows what the hop means for the application, so that members of an array compare with the array.
fn bar_rate(hop: &HopView) -> Option<BytesPerSec> {
    hop.ceiling.read.path_bytes_per_second.or(hop.ceiling.write.path_bytes_per_second)
}

/// Hops that others share.
fn notes(out: &mut impl Blocks, path: &PathView) {
    let shared = path.hops.iter().filter(|hop| !hop.shared_with.is_empty());
    for (with, hops) in grouped(shared.map(|hop| (&hop.shared_with, hop.id.as_str()))) {
        let verb = if hops.len() == 1 { "is" } else { "are" };
        out.say(2, Tone::Faint, format!("{} {verb} shared with {}", hops.join(", "), some_of(with, 4, ", ")));
    }
}

/// What is drawn before the name of a hop: before its first line, and before the lines that it goes on in.
fn branch(hops: &[HopView], index: usize) -> (String, String) {
    let [fork, last, pipe, gap] = ["├─ ", "└─ ", "│  ", "   "];
    let depth = hops.get(index).map_or(0, |hop| hop.depth);
    let (mut first, mut rest) = (String::new(), String::new());
    for level in 1..=depth.min(MOST_LEVELS) {
        let more = has_sibling_after(hops, index, level);
        let below = if more { pipe } else { gap };
        rest.push_str(below);
        first.push_str(match (level == depth && starts_branch(hops, index), more) {
            (true, true) => fork,
            (true, false) => last,
            (false, _) => below,
        });
    }
    (first, rest)
}

/// Stacks deeper than this are drawn no deeper.
const MOST_LEVELS: usize = 8;

/// Whether the hop is the first of a branch rather than a link of the chain before it.
fn starts_branch(hops: &[HopView], index: usize) -> bool {
    let (Some(hop), Some(before)) = (hops.get(index), index.checked_sub(1).and_then(|i| hops.get(i))) else {
        return true;
    };
    hop.depth > before.depth || hop.above.as_deref() != Some(before.id.as_str())
}

/// Whether another branch at `level` follows before the tree is left at that level.
fn has_sibling_after(hops: &[HopView], index: usize, level: usize) -> bool {
    hops.iter()
        .enumerate()
        .skip(index + 1)
        .take_while(|(_, hop)| hop.depth >= level)
        .any(|(at, hop)| hop.depth == level && starts_branch(hops, at))
}

/// `sda was 99.4 % busy (busiest of 3 intervals): 32.9 MB/s read in 86.9 ms each, 13.6 in flight (iostat.txt:8)`; `None` where
/// nobody saw it.
pub(super) fn observed(hop: &HopView) -> Option<String> {
    let observed = hop.observed.as_ref()?;
    let seen = &observed.load;
    let device = hop.id.split_once(':').map_or(hop.id.as_str(), |(_, device)| device);
    let busy = seen.busy.map(|busy| format!(" was {} busy", human::percent(busy))).unwrap_or_default();
    let when = match (seen.since_start, seen.intervals) {
        (true, _) => " on average since the machine started".to_owned(),
        (false, 0 | 1) => String::new(),
        (false, intervals) => format!(" in the busiest of {intervals} intervals"),
    };
    let parts = observed_parts(seen);
    let did = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    Some(format!("{device}{busy}{when}{did} ({})", observed.source))
}

fn observed_parts(seen: &DeviceLoad) -> Vec<String> {
    let side = |rate: Option<BytesPerSec>, wait: Option<Nanos>, what: &str| {
        let rate = rate.filter(|rate| rate.get() > 0.0)?;
        let wait = wait.map(|wait| format!(", {wait} each")).unwrap_or_default();
        Some(format!("{rate} {what}{wait}"))
    };
    let depth = seen.depth.filter(|depth| *depth > 0.0);
    let depth = depth.map(|depth| format!("{} in flight", human::count(depth)));
    let sides = [side(seen.read, seen.read_wait, "read"), side(seen.write, seen.write_wait, "written")];
    sides.into_iter().flatten().chain(depth).collect()
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
        assert_eq!(observed_parts(&seen()), ["32.9 MB/s read, 86.9 ms each", "13.6 in flight"]);
        let idle = DeviceLoad { read: None, depth: Some(0.0), ..seen() };
        assert!(observed_parts(&idle).is_empty());
    }
}
