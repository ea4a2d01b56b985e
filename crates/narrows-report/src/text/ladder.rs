//! The path of one target, hop by hop, with a bar for each.

use super::Style;
use super::ink::{Line, Tone, fit, paragraph, width, wrap};
use super::rate::{self, Scale};
use super::tree::{self, Branch};
use crate::view::{CeilingView, HopPair, HopView, MeasuredPair, MeasuredView, PathView};
use narrows_base::units::human;
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;

/// Bars are between this many columns long.
const BAR: (usize, usize) = (8, 20);

/// A name gets at least this many columns before the raw rates and then the bars give way.
const NAME: usize = 30;

/// Between columns.
const GAP: usize = 2;

/// What stands in the columns of one hop.
struct Row<'a> {
    hop: &'a HopView,
    branch: Branch,
    read: String,
    write: String,
    used: String,
    mark: Option<(Tone, String)>,
}

/// Where columns end and begin.
struct Columns {
    name: usize,
    read: usize,
    write: usize,
    used: usize,
    bar: usize,
}

/// Puts the ladder of a path.
pub(super) fn put(out: &mut String, style: &Style, path: &PathView) {
    let with_raw = style.width >= 100;
    let mut rows = rows(style, path, with_raw);
    let mut columns = Columns::of(style, &rows, path);
    if with_raw && columns.name < NAME {
        rows = self::rows(style, path, false);
        columns = Columns::of(style, &rows, path);
    }
    let scale = Scale::of(path.hops.iter().filter_map(bar_rate));
    heading(out, style, &columns);
    for row in &rows {
        put_row(out, style, path, row, &columns, scale);
    }
    notes(out, style, path, scale.is_some());
}

fn rows<'a>(style: &Style, path: &'a PathView, with_raw: bool) -> Vec<Row<'a>> {
    let same =
        path.hops.iter().all(|hop| known(&hop.ceiling.read, false) == known(&hop.ceiling.write, false));
    let branches = tree::branches(style, &path.hops);
    path.hops
        .iter()
        .zip(branches)
        .map(|(hop, branch)| Row {
            hop,
            branch,
            read: known(&hop.ceiling.read, with_raw),
            write: if same { String::new() } else { known(&hop.ceiling.write, false) },
            used: used(&hop.measured),
            mark: mark(path, hop),
        })
        .collect()
}

/// A ceiling for its column. What has none says why in the room of all columns together.
fn known(ceiling: &CeilingView, with_raw: bool) -> String {
    match ceiling.bytes_per_second {
        Some(_) => rate::ceiling(ceiling, with_raw),
        None => String::new(),
    }
}

/// What stands in place of the bar of a hop without a ceiling, in the `room` that there is. A ceiling that is not known
/// says why, in its first clause. A hop that has none of its own is silent, except where it joins several branches and
/// the words on how it does so fit: they are about this layout. `--why` has the full text of all.
fn remark(style: &Style, path: &PathView, hop: &HopView, room: usize) -> String {
    let views = [&hop.ceiling.read, &hop.ceiling.write];
    let text = |view: &CeilingView| view.reason.clone().unwrap_or_else(|| "no reason is known".to_owned());
    let unknown = views.iter().find(|view| view.bytes_per_second.is_none() && !view.transparent);
    if let Some(view) = unknown {
        let text = text(view);
        return fit(style, &format!("unknown: {}", text.split("; ").next().unwrap_or_default()), room);
    }
    let branches = path.hops.iter().filter(|other| other.above.as_ref() == Some(&hop.id)).count();
    let joins = matches!(hop.kind, HopKind::Raid | HopKind::LogicalVolume | HopKind::Cache) && branches > 1;
    let words = views.iter().find(|view| view.transparent).map(|view| text(view)).unwrap_or_default();
    if joins && width(style, &words) <= room { words } else { String::new() }
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

fn mark(path: &PathView, hop: &HopView) -> Option<(Tone, String)> {
    let on = |pair: &HopPair| {
        (pair.of(Direction::Read) == Some(&hop.id), pair.of(Direction::Write) == Some(&hop.id))
    };
    let words = |arrow: &str, word: &str, (read, write): (bool, bool), pair: &HopPair| {
        let alone = pair.read == pair.write || pair.read.is_none() || pair.write.is_none();
        match (read, write) {
            _ if alone => format!("{arrow} {word}"),
            (true, false) => format!("{arrow} {word} (read)"),
            (false, true) => format!("{arrow} {word} (write)"),
            _ => format!("{arrow} {word}"),
        }
    };
    let (limit, next) = (on(&path.limiting_hop), on(&path.next_hop));
    if limit.0 || limit.1 {
        Some((Tone::Bad, words("◀", "narrowest", limit, &path.limiting_hop)))
    } else if next.0 || next.1 {
        Some((Tone::Warn, words("◁", "next", next, &path.next_hop)))
    } else {
        None
    }
}

/// The bar shows what the hop means for the application, so that members of an array compare with the array.
fn bar_rate(hop: &HopView) -> Option<narrows_base::units::BytesPerSec> {
    hop.ceiling.read.path_bytes_per_second.or(hop.ceiling.write.path_bytes_per_second)
}

impl Columns {
    fn of(style: &Style, rows: &[Row<'_>], path: &PathView) -> Self {
        let widest = |texts: Vec<&str>, heading: &str| {
            let most = texts.into_iter().map(|text| width(style, text)).max().unwrap_or(0);
            if most == 0 { 0 } else { GAP + most.max(heading.len()) }
        };
        let has_write = rows.iter().any(|row| !row.write.is_empty());
        let read = widest(
            rows.iter().map(|row| row.read.as_str()).collect(),
            if has_write { "read" } else { "ceiling" },
        );
        let write = widest(rows.iter().map(|row| row.write.as_str()).collect(), "write");
        let used = if path.runs.is_empty() {
            0
        } else {
            widest(rows.iter().map(|row| row.used.as_str()).collect(), "used")
        };
        let mark = rows.iter().filter_map(|row| row.mark.as_ref()).map(|(_, text)| GAP + width(style, text));
        let mark = mark.max().unwrap_or(0);
        let names = rows.iter().map(|row| width(style, &row.branch.first) + width(style, &row.hop.name));
        let names = names.max().unwrap_or(0);
        let fixed = read + write + used + mark + 2 * GAP;
        let room = style.width.saturating_sub(fixed);
        let bar = room.saturating_sub(names.max(NAME)).clamp(BAR.0, BAR.1);
        Self { name: names.min(room.saturating_sub(bar)), read, write, used, bar }
    }

    const fn read_end(&self) -> usize {
        GAP + self.name + self.read
    }

    const fn write_end(&self) -> usize {
        self.read_end() + self.write
    }

    const fn used_end(&self) -> usize {
        self.write_end() + self.used
    }

    const fn bar_start(&self) -> usize {
        self.used_end() + GAP
    }
}

fn heading(out: &mut String, style: &Style, columns: &Columns) {
    let mut line = Line::new(style);
    line.pad_to(GAP).put(Tone::Faint, "hop");
    let read = if columns.write > 0 { "read" } else { "ceiling" };
    if columns.read > 0 {
        line.put_right(Tone::Faint, read, columns.read_end());
    }
    if columns.write > 0 {
        line.put_right(Tone::Faint, "write", columns.write_end());
    }
    if columns.used > 0 {
        line.put_right(Tone::Faint, "used", columns.used_end());
    }
    line.end(out);
}

fn put_row(
    out: &mut String,
    style: &Style,
    path: &PathView,
    row: &Row<'_>,
    columns: &Columns,
    scale: Option<Scale>,
) {
    let tone = row.mark.as_ref().map_or(Tone::Normal, |(tone, _)| *tone);
    let room = columns.name.saturating_sub(width(style, &row.branch.first));
    let mut names = wrap(style, &row.hop.name, room).into_iter();
    let mut line = Line::new(style);
    line.pad_to(GAP).put(Tone::Faint, &row.branch.first).put(tone, &names.next().unwrap_or_default());
    match (bar_rate(row.hop), scale) {
        (Some(rate), Some(scale)) => {
            line.put_right(tone, &row.read, columns.read_end());
            line.put_right(tone, &row.write, columns.write_end());
            line.put_right(Tone::Normal, &row.used, columns.used_end()).pad_to(columns.bar_start());
            let tone = if tone == Tone::Normal { Tone::Faint } else { tone };
            line.put(tone, &scale.bar(style, rate, columns.bar));
            if let Some((tone, text)) = &row.mark {
                line.pad_to(columns.bar_start() + columns.bar + GAP).put(*tone, text);
            }
        }
        _ => {
            let start = GAP + columns.name + GAP;
            let text = remark(style, path, row.hop, style.width.saturating_sub(start));
            if !text.is_empty() {
                line.pad_to(start).put(Tone::Faint, &text);
            }
        }
    }
    line.end(out);
    for name in names {
        let mut line = Line::new(style);
        line.pad_to(GAP).put(Tone::Faint, &row.branch.rest).put(tone, &name);
        line.end(out);
    }
}

/// What the columns have no room for.
fn notes(out: &mut String, style: &Style, path: &PathView, has_bars: bool) {
    if has_bars && path.hops.iter().any(|hop| hop.traffic.read != 1.0 || hop.traffic.write != 1.0) {
        let text =
            "Rates are each hop's own; bars (logarithmic) show what the application can get through it.";
        paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, text);
    } else if has_bars {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, "Bars are logarithmic.");
    }
    let mut shared: Vec<(&[String], Vec<&str>)> = Vec::new();
    for hop in path.hops.iter().filter(|hop| !hop.shared_with.is_empty()) {
        match shared.iter_mut().find(|(with, _)| *with == hop.shared_with.as_slice()) {
            Some((_, names)) => names.push(&hop.id),
            None => shared.push((&hop.shared_with, vec![&hop.id])),
        }
    }
    for (with, hops) in shared {
        let verb = if hops.len() == 1 { "is" } else { "are" };
        let text = format!("{} {verb} shared with {}", hops.join(", "), some_of(with, 4));
        paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, &text);
    }
}

/// The first of some names, and how many more there are.
pub(super) fn some_of(names: &[String], most: usize) -> String {
    let shown = names.get(..most).unwrap_or(names).join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
