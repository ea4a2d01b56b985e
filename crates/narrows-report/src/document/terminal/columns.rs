//! Tables on a terminal: how wide each column gets, and the lines.

use super::ink::{Line, Style, Tone, fit, paragraph, width, wrap};
use super::{bar, put_all};
use crate::document::table::{Cell, Column, Content, Row, Table, Width};

/// From this width on cells are put in their long form, where names keep their room.
const LONG: usize = 100;
/// A list of names takes no more than this, however much room there is.
const LONGEST_NAMES: usize = 40;
/// A list of names may take this much, unless it is more than one of so many parts of the terminal.
const LEAST_NAMES: usize = 16;
const LEAST_PART: usize = 5;
/// The least of a column.
const LEAST: usize = 8;
/// What goes over all columns stands below its row where it has less than this and needs more: in a few columns it would be
/// a word or less a line.
const LEAST_SPAN: usize = 24;

/// The lines in which a cell goes on, each behind what is drawn before it.
type Lines = Vec<(String, String)>;

/// How wide each column is; `None` for one that gave way or that has nothing.
type Widths = Vec<Option<usize>>;

pub(super) fn put_table(out: &mut String, style: &Style, table: &Table) {
    match broken(style, table) {
        None => put_whole(out, style, table),
        Some((now, later)) => {
            put_whole(out, style, &now);
            out.push('\n');
            put_table(out, style, &later);
        }
    }
}

/// The columns that have room, and those that go on below; `None` where all have, or may not be parted.
fn broken(style: &Style, table: &Table) -> Option<(Table, Table)> {
    let widths = widths(style, table, false);
    let mut ends = table.columns.iter().zip(&widths).scan(table.margin, |end, (column, width)| {
        *end += column.gap + width.unwrap_or(0);
        Some(*end)
    });
    // The names, and at least one column.
    let fits = ends.position(|end| end > style.width).filter(|_| table.breaks)?.max(2);
    if fits >= table.columns.len() {
        return None;
    }
    let part = |takes: &dyn Fn(usize) -> bool| {
        let columns = table.columns.iter().enumerate().filter(|(at, _)| takes(*at));
        let rows = table.rows.iter().map(|row| {
            let cells = row.cells.iter().enumerate().filter(|(at, _)| takes(*at));
            Row::of(cells.map(|(_, cell)| cell.clone()).collect())
        });
        let columns = columns.map(|(_, column)| column.clone()).collect();
        Table { columns, rows: rows.collect(), caption: String::new(), ..*table }
    };
    Some((part(&|at| at < fits), part(&|at| at == 0 || at >= fits)))
}

fn put_whole(out: &mut String, style: &Style, table: &Table) {
    let (widths, long) = layout(style, table);
    if table.titles {
        put_titles(out, style, table, &widths);
    }
    for row in &table.rows {
        put_row(out, style, table, (&widths, long), row);
        put_all(out, style, &row.notes);
    }
    if !table.bars.is_empty() {
        paragraph(out, style, (Tone::Normal, &" ".repeat(table.margin)), Tone::Faint, table.bars);
    }
}

/// How wide each column is, and whether cells are put in their long form.
fn layout(style: &Style, table: &Table) -> (Widths, bool) {
    let long = style.width >= LONG;
    let wide = widths(style, table, long);
    let names_keep_room = table.columns.iter().zip(&wide).all(|(column, width)| match column.width {
        Width::Flex(least) | Width::Broad(least) => width.is_some_and(|width| width >= least),
        _ => true,
    });
    if long && !names_keep_room { (widths(style, table, false), false) } else { (wide, long) }
}

/// What the widest cell of a column needs.
fn natural(style: &Style, table: &Table, at: usize, long: bool) -> usize {
    let cells = table.rows.iter().filter_map(|row| row.cells.get(at)).filter(|cell| !cell.spans);
    let most = cells.map(|cell| needs(style, cell, long)).max().unwrap_or(0);
    let title =
        table.columns.get(at).filter(|_| table.titles).map_or(0, |column| width(style, &column.title));
    if most == 0 { 0 } else { most.max(title) }
}

fn needs(style: &Style, cell: &Cell, long: bool) -> usize {
    match &cell.content {
        Content::None | Content::Bar(_) => 0,
        Content::Text(text) | Content::Whole(text) => width(style, text),
        Content::Long { short, long: whole } => width(style, if long { whole } else { short }),
        Content::Branch { first, text, .. } => width(style, first) + width(style, text),
        Content::Names(names) => width(style, &some(style, names, LONGEST_NAMES)),
    }
}

/// What lists of names need that may have so many columns, where the first of each has room.
fn names_need(style: &Style, table: &Table, at: usize, most: usize) -> usize {
    let lists = table.rows.iter().filter_map(|row| match row.cells.get(at).map(|cell| &cell.content) {
        Some(Content::Names(names)) => Some(names),
        _ => None,
    });
    // A first name that is longer may take more.
    let needs = lists.map(|names| {
        let first = names.first().map_or(0, |first| width(style, first));
        let more = if names.len() > 1 { " +9".len() } else { 0 };
        let most = if first + more > most { most.max(style.width / LEAST_PART) } else { most };
        width(style, &some(style, names, most.max(LEAST)))
    });
    let title = table.columns.get(at).map_or(0, |column| width(style, &column.title));
    needs.max().unwrap_or(0).max(title)
}

fn widths(style: &Style, table: &Table, long: bool) -> Widths {
    let width = |(at, column): (usize, &Column)| match column.width {
        Width::Fixed(columns) => Some(columns),
        Width::Fit(least, most) => {
            let needs = natural(style, table, at, long);
            (needs > 0).then(|| needs.clamp(least.min(most), most))
        }
        Width::Flex(least) | Width::Broad(least) => Some(natural(style, table, at, long).min(least)),
        Width::Part(parts) => {
            let most = (style.width / parts.max(1)).max(LEAST_NAMES.min(style.width / LEAST_PART));
            Some(names_need(style, table, at, most))
        }
        Width::Rest(least) => Some(least),
        Width::Bar(least, _) => table.is_used(at).then_some(least),
    };
    let mut widths: Widths = table.columns.iter().enumerate().map(width).collect();
    make_room(style, table, &mut widths);
    share_out(style, table, &mut widths, long);
    widths
}

/// What all columns take, with the spaces between them.
fn total(table: &Table, widths: &[Option<usize>]) -> usize {
    let each = table.columns.iter().zip(widths).filter_map(|(column, width)| Some(column.gap + (*width)?));
    table.margin + each.sum::<usize>()
}

/// Lets columns give way until the others fit.
fn make_room(style: &Style, table: &Table, widths: &mut [Option<usize>]) {
    let order = table.columns.iter().enumerate().map(|(at, column)| (column.yields, at));
    let mut order: Vec<(u8, usize)> = order.filter(|(turn, _)| *turn > 0).collect();
    order.sort_unstable();
    for (_, at) in order {
        if total(table, widths) > style.width {
            widths[at] = None;
        }
    }
}

/// Gives what is left to names, then to bars, then to the rest.
fn share_out(style: &Style, table: &Table, widths: &mut [Option<usize>], long: bool) {
    let columns = || table.columns.iter().enumerate();
    // What names want, and what is held back for them before bars get anything.
    let names = columns().filter_map(|(at, column)| {
        let needs = natural(style, table, at, long);
        match column.width {
            Width::Flex(least) => Some((at, needs, needs.max(least))),
            Width::Broad(least) => Some((at, needs.max(least), needs.max(least))),
            _ => None,
        }
    });
    let names: Vec<(usize, usize, usize)> = names.collect();
    let held: usize = names.iter().map(|(.., held)| held).sum();
    let is_bar = |at: &usize| matches!(table.columns[*at].width, Width::Bar(..)) && widths[*at].is_some();
    let bars: Vec<usize> = (0..table.columns.len()).filter(is_bar).collect();
    names.iter().map(|(at, ..)| at).chain(&bars).for_each(|at| widths[*at] = Some(0));
    let mut room = style.width.saturating_sub(total(table, widths));
    for at in bars {
        let Width::Bar(least, most) = table.columns[at].width else { continue };
        let spare = room.saturating_sub(held);
        let is_optional = least == most;
        widths[at] = (!is_optional || spare >= most).then(|| spare.clamp(least, most));
        room = match widths[at] {
            Some(width) => room.saturating_sub(width),
            None => room + table.columns[at].gap,
        };
    }
    for (number, (at, want, _)) in names.iter().enumerate() {
        let later: usize = names.iter().skip(number + 1).map(|(_, want, _)| want).sum();
        // What comes first gets the smaller part where all are long.
        let part = if number + 1 < names.len() { room.saturating_mul(2) / 5 } else { room };
        let width = (*want).min(part.max(room.saturating_sub(later)));
        widths[*at] = Some(width);
        room -= width;
    }
    for (at, column) in columns() {
        if let (Width::Rest(least), Some(_)) = (column.width, widths[at]) {
            widths[at] = Some(least + std::mem::take(&mut room));
        }
    }
}

/// A title may be longer than its column.
fn put_titles(out: &mut String, style: &Style, table: &Table, widths: &[Option<usize>]) {
    let mut line = Line::new(style);
    let mut start = table.margin;
    for (column, width) in table.columns.iter().zip(widths) {
        let Some(width) = *width else { continue };
        start += column.gap;
        if column.right {
            line.put_right(Tone::Faint, &column.title, start + width);
        } else if !column.title.is_empty() {
            let title = fit(style, &column.title, style.width.saturating_sub(start));
            line.pad_to(start).put(Tone::Faint, &title);
        }
        start += width;
    }
    line.end(out);
}

fn put_row(out: &mut String, style: &Style, table: &Table, (widths, long): (&Widths, bool), row: &Row) {
    let mut line = Line::new(style);
    line.pad_to(table.margin);
    let mut start = table.margin;
    let mut below: Vec<(usize, Tone, Lines)> = Vec::new();
    let mut after = None;
    for (at, (column, width)) in table.columns.iter().zip(widths).enumerate() {
        let cell = row.cells.get(at);
        // What goes over all columns stands where the first of them would, if that has gone.
        let Some(columns) = width.or_else(|| cell.filter(|cell| cell.spans).map(|_| 0)) else { continue };
        start += column.gap;
        if let Some(cell) = cell {
            let room = if cell.spans { style.width.saturating_sub(start) } else { columns };
            let tone = cell.tone.unwrap_or(Tone::Normal);
            if cell.spans && room < LEAST_SPAN.min(needs(style, cell, long)) {
                after = Some((tone, cell.words()));
                break;
            }
            let rest = put_cell(&mut line, style, (column, cell), (start, room), long);
            below.push((start, tone, rest));
            if cell.spans {
                break;
            }
        }
        start += columns;
    }
    line.end(out);
    for number in 0..below.iter().map(|(.., rest)| rest.len()).max().unwrap_or(0) {
        let mut line = Line::new(style);
        for (start, tone, rest) in &below {
            if let Some((lead, text)) = rest.get(number) {
                line.pad_to(*start).put(Tone::Faint, lead).put(*tone, text);
            }
        }
        line.end(out);
    }
    if let Some((tone, text)) = after {
        paragraph(out, style, (Tone::Faint, &" ".repeat(table.margin + 2)), tone, &text);
    }
}

/// Puts a cell and answers with the lines in which it goes on, each behind what is drawn before it.
fn put_cell(
    line: &mut Line<'_>,
    style: &Style,
    (column, cell): (&Column, &Cell),
    (start, room): (usize, usize),
    long: bool,
) -> Lines {
    let tone = cell.tone.unwrap_or(Tone::Normal);
    let text = match &cell.content {
        Content::None => return Vec::new(),
        Content::Bar(part) => {
            line.pad_to(start).put(tone, &bar(style, *part, room));
            return Vec::new();
        }
        Content::Branch { first, rest, text, .. } => {
            let mut lines = wrap(style, text, room.saturating_sub(width(style, first))).into_iter();
            line.pad_to(start).put(Tone::Faint, first).put(tone, &lines.next().unwrap_or_default());
            return lines.map(|text| (rest.clone(), text)).collect();
        }
        Content::Whole(text) if width(style, text) > room => return Vec::new(),
        Content::Text(text) | Content::Whole(text) => text.clone(),
        Content::Long { short, long: whole } => if long { whole } else { short }.clone(),
        Content::Names(names) if column.wraps => whole_first(style, names, room),
        Content::Names(names) => some(style, names, room),
    };
    if text.is_empty() {
        return Vec::new();
    }
    if column.right && !cell.spans {
        line.put_right(tone, &text, start + room);
        return Vec::new();
    }
    if column.wraps {
        let mut lines = wrap(style, &text, room).into_iter();
        line.pad_to(start).put(tone, &lines.next().unwrap_or_default());
        return lines.map(|text| (String::new(), text)).collect();
    }
    line.pad_to(start).put(tone, &fit(style, &text, room));
    Vec::new()
}

/// As many names as fit; where not even the first does, all of it and how many more there are, to be wrapped.
fn whole_first(style: &Style, names: &[String], most: usize) -> String {
    let Some((first, others)) = names.split_first() else { return String::new() };
    let whole = format!("{first}{}", and_more(others.len()));
    if width(style, &whole) > most { whole } else { some(style, names, most) }
}

/// How many more names there are, if any.
fn and_more(count: usize) -> String {
    if count > 0 { format!(" +{count}") } else { String::new() }
}

/// As many names as fit, at least the first, then how many more there are.
fn some(style: &Style, names: &[String], most: usize) -> String {
    // What parts two names takes two columns, so that no more than these can fit.
    for count in (1..=names.len().min(LONGEST_NAMES / 2 + 1)).rev() {
        let text = names.get(..count).unwrap_or_default().join(", ") + &and_more(names.len() - count);
        if width(style, &text) <= most.min(LONGEST_NAMES) {
            return text;
        }
    }
    let tail = and_more(names.len().saturating_sub(1));
    let first = names.first().map(String::as_str).unwrap_or_default();
    format!("{}{tail}", fit(style, first, most.saturating_sub(width(style, &tail))))
}
