//! What moves now on a whole terminal, redrawn look by look. What is shown and what keys do is here; who waits for keys and
//! looks is not.

use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Wrap};

use super::{LaneView, TopReport, table};
use narrows_base::units::human;
use narrows_report::sanitize::inert;

/// From this width on there is room for ceilings, links and queues.
const WIDE: u16 = 120;
/// Cells of the bar.
const BAR: u16 = 10;
/// So many processes are shown.
const PROCESSES: usize = 3;

/// What the reader chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The first lane that is shown.
    pub offset: usize,
    /// Whether the fullest come first, in place of the order of the hops.
    pub by_fullness: bool,
    /// Whether hops over which nothing moves are shown.
    pub with_idle: bool,
    /// Whether the picture stands still.
    pub paused: bool,
    /// Whether the keys are explained.
    pub help: bool,
    /// Whether colours may be used.
    pub colour: bool,
    /// Whether characters outside ASCII may be used.
    pub unicode: bool,
}

/// What a key asks of whoever waits for keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To draw again.
    Draw,
    /// To look twice as often, or half as often.
    Faster,
    /// To look half as often.
    Slower,
    /// To end.
    Quit,
}

impl Screen {
    /// The screen at the beginning.
    pub const fn new(colour: bool, unicode: bool) -> Self {
        Self { offset: 0, by_fullness: false, with_idle: true, paused: false, help: false, colour, unicode }
    }

    /// Takes a key. `page` is the number of lanes that fit, `count` that of all.
    pub fn press(&mut self, key: KeyCode, page: usize, count: usize) -> Wish {
        let last = count.saturating_sub(page.max(1));
        match key {
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Char('q') | KeyCode::Esc => return Wish::Quit,
            KeyCode::Char('+' | '=') => return Wish::Faster,
            KeyCode::Char('-') => return Wish::Slower,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Char('s') => (self.by_fullness, self.offset) = (!self.by_fullness, 0),
            KeyCode::Char('i') => (self.with_idle, self.offset) = (!self.with_idle, 0),
            KeyCode::Char(' ' | 'p') => self.paused = !self.paused,
            KeyCode::Char('j') | KeyCode::Down => self.offset += 1,
            KeyCode::Char('k') | KeyCode::Up => self.offset = self.offset.saturating_sub(1),
            KeyCode::PageDown => self.offset += page.max(1),
            KeyCode::PageUp => self.offset = self.offset.saturating_sub(page.max(1)),
            KeyCode::Char('g') | KeyCode::Home => self.offset = 0,
            KeyCode::Char('G') | KeyCode::End => self.offset = last,
            _ => {}
        }
        self.offset = self.offset.min(last);
        Wish::Draw
    }

    /// The lanes that are shown, in their order.
    fn lanes<'a>(&self, report: &'a TopReport) -> Vec<&'a LaneView> {
        let mut lanes: Vec<&LaneView> =
            report.lanes.iter().filter(|lane| self.with_idle || table::moves(lane)).collect();
        if self.by_fullness {
            let part = |lane: &LaneView| lane.part_of_ceiling.unwrap_or(-1.0);
            lanes.sort_by(|one, other| part(other).total_cmp(&part(one)));
        }
        lanes
    }

    /// How many lanes there are to scroll through.
    pub fn count(&self, report: &TopReport) -> usize {
        self.lanes(report).len()
    }

    /// Draws a look, and returns how many lanes fit. `every` is how often there is one, in words.
    pub fn draw(&self, frame: &mut Frame<'_>, report: &TopReport, every: &str) -> usize {
        let below = self.below(report, frame.area().width);
        let height = lines(&below, frame.area().width).min(frame.area().height / 2);
        let one = Constraint::Length(1);
        let areas = Layout::vertical([one, Constraint::Min(2), Constraint::Length(height), one]);
        let [top, middle, bottom, keys] = areas.areas(frame.area());
        frame.render_widget(Paragraph::new(self.title(report, every)), top);
        match self.help {
            true => frame.render_widget(Paragraph::new(help()), middle),
            false => self.table(frame, report, middle),
        }
        frame.render_widget(Paragraph::new(below).wrap(Wrap { trim: true }), bottom);
        let hint = "q quit  s fullest first  i hide idle  space pause  +/- interval  ? help";
        frame.render_widget(Paragraph::new(Span::styled(hint, faint())), keys);
        usize::from(middle.height.saturating_sub(1))
    }

    fn title(&self, report: &TopReport, every: &str) -> Line<'static> {
        let what = report.target.as_deref().map_or_else(|| "all storage paths".to_owned(), inert);
        let moved = report.read_bytes_per_second + report.write_bytes_per_second;
        let mut spans = vec![
            Span::styled("narrows top  ", Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(format!("{what}  {moved} in all  every {every}")),
        ];
        if self.paused {
            spans.push(Span::styled("  paused", Style::new().add_modifier(Modifier::REVERSED)));
        }
        Line::from(spans)
    }

    fn table(&self, frame: &mut Frame<'_>, report: &TopReport, area: Rect) {
        let is_wide = area.width >= WIDE;
        let mut widths = vec![Constraint::Min(16), Constraint::Length(BAR), Constraint::Length(6)];
        widths.extend([10, 10, 6, 7].map(Constraint::Length));
        let mut names = vec!["hop", "", "full", "read", "written", "IOPS", "latency"];
        if is_wide {
            widths.extend([11, 7, 13].map(Constraint::Length));
            names.extend(["ceiling", "queue", "link"]);
        }
        let head = Row::new(names.into_iter().enumerate().map(cell)).style(faint());
        let room = usize::from(area.height.saturating_sub(1));
        let lanes = self.lanes(report);
        let offset = self.offset.min(lanes.len().saturating_sub(room.max(1)));
        let rows = lanes.into_iter().skip(offset).take(room).map(|lane| {
            let cells = self.cells(lane, is_wide);
            let cells = cells.iter().map(String::as_str).enumerate().map(cell);
            Row::new(cells).style(self.tone(report, lane))
        });
        frame.render_widget(Table::new(rows, widths).header(head), area);
    }

    fn cells(&self, lane: &LaneView, is_wide: bool) -> Vec<String> {
        let indent = if self.by_fullness { 0 } else { lane.depth };
        let mut cells = vec![
            format!("{:width$}{}", "", lane.name, width = indent),
            table::bar(lane.part_of_ceiling, usize::from(BAR), self.unicode),
        ];
        cells.extend(table::numbers(lane));
        if is_wide {
            let queue = lane.in_flight.filter(|count| *count > 0.0).map(human::count);
            let link = lane.link.clone();
            cells.extend([table::ceiling(lane), queue.unwrap_or_default(), link.unwrap_or_default()]);
        }
        cells
    }

    fn tone(&self, report: &TopReport, lane: &LaneView) -> Style {
        let is_fullest = report.fullest_hop.as_deref() == Some(lane.hop.as_str());
        let is_full = lane.part_of_ceiling.is_some_and(|part| part >= table::FULL);
        let strong = Style::new().add_modifier(Modifier::BOLD);
        match (is_fullest, is_full) {
            (true, _) if !self.colour => strong.add_modifier(Modifier::REVERSED),
            (true, true) => strong.fg(Color::Red),
            (true, false) => strong.fg(Color::Yellow),
            _ if table::moves(lane) => Style::new(),
            _ => faint(),
        }
    }

    /// The sentence, processes, and what is not seen.
    fn below(&self, report: &TopReport, width: u16) -> Vec<Line<'static>> {
        let strong = Style::new().add_modifier(Modifier::BOLD);
        let mut lines = vec![Line::from(Span::styled(inert(&report.sentence), strong))];
        let cut = |text: String| inert(&text).chars().take(usize::from(width)).collect::<String>();
        lines.extend(report.processes.iter().take(PROCESSES).map(|one| Line::from(cut(table::process(one)))));
        let notes = report.notes.iter().map(|note| cut(format!("not seen: {note}")));
        lines.extend(notes.map(|note| Line::from(Span::styled(note, faint()))));
        lines
    }
}

const fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// A cell, its text at the right end where it is a number: all but the name and the bar are.
fn cell((at, text): (usize, &str)) -> Cell<'static> {
    let text = Text::from(inert(text));
    Cell::from(if at >= 2 { text.right_aligned() } else { text })
}

/// The lines that these take once they are wrapped: words are not split, so that it may be one more than the width tells.
fn lines(all: &[Line<'_>], width: u16) -> u16 {
    let width = usize::from(width.max(1));
    let lines = all.iter().map(Line::width);
    let lines = lines.map(|long| if long <= width { 1 } else { long / (width * 9 / 10).max(1) + 1 });
    u16::try_from(lines.sum::<usize>()).unwrap_or(u16::MAX)
}

fn help() -> Vec<Line<'static>> {
    const KEYS: [(&str, &str); 9] = [
        ("q, Esc, Ctrl-C", "quit"),
        ("up, down, k, j", "scroll by one hop"),
        ("PgUp, PgDn, Home, End", "scroll by a page, to the first or the last hop"),
        ("s", "the fullest hops first, or the order from main memory to the media"),
        ("i", "hide the hops over which nothing moves, or show them"),
        ("space, p", "hold the picture, or go on"),
        ("+, -", "look twice as often, or half as often"),
        ("?, h", "this list"),
        ("full", "what crosses a hop as a part of its ceiling; ~ marks an estimated ceiling"),
    ];
    KEYS.iter().map(|(keys, what)| Line::from(format!("  {keys:<22} {what}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::tests::report;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(screen: Screen, report: &TopReport, size: (u16, u16)) -> (String, usize) {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a screen in memory");
        let mut fit = 0;
        terminal.draw(|frame| fit = screen.draw(frame, report, "0.5 s")).expect("is drawn");
        (terminal.backend().to_string(), fit)
    }

    const NEW: Screen = Screen::new(true, true);

    #[test]
    fn names_are_shown_and_not_obeyed() {
        let mut report = report();
        let hostile = "x\x1b[2J\u{202e}\u{200b}y";
        report.target = Some(hostile.to_owned());
        report.sentence = hostile.to_owned();
        report.notes = vec![hostile.to_owned()];
        report.lanes.iter_mut().for_each(|lane| lane.name = hostile.to_owned());
        report.processes.iter_mut().for_each(|one| one.mover.name = hostile.to_owned());
        let (text, _) = drawn(NEW, &report, (160, 60));
        assert!(!text.contains(['\x1b', '\u{202e}', '\u{200b}']), "{text}");
        let shown = report.lanes.len() + report.processes.len().min(PROCESSES) + 3;
        assert_eq!(text.matches("x\\x1b[2J\\u{202e}\\u{200b}y").count(), shown, "{text}");
    }

    #[test]
    fn a_screen_of_80_columns_shows_the_lanes_and_the_sentence() {
        let (text, fit) = drawn(NEW, &report(), (80, 24));
        insta::assert_snapshot!("screen_80x24", text);
        assert!(fit > 10, "{fit} lanes fit");
    }

    #[test]
    fn a_wide_screen_has_ceilings_queues_and_links() {
        insta::assert_snapshot!("screen_140x40", drawn(NEW, &report(), (140, 40)).0);
    }

    #[test]
    fn the_fullest_comes_first_when_it_is_asked_for_and_idle_hops_can_be_hidden() {
        let mut screen = NEW;
        assert_eq!(screen.press(KeyCode::Char('s'), 10, 6), Wish::Draw);
        let (text, _) = drawn(screen, &report(), (80, 24));
        let second = text.lines().nth(2).expect("a lane");
        assert!(second.contains("uplink"), "{text}");
        screen.press(KeyCode::Char('i'), 10, 6);
        assert!(screen.count(&report()) < report().lanes.len());
    }

    #[test]
    fn keys_scroll_within_the_lanes() {
        let mut screen = NEW;
        for (key, offset) in [
            (KeyCode::Up, 0),
            (KeyCode::Down, 1),
            (KeyCode::PageDown, 5),
            (KeyCode::PageDown, 6),
            (KeyCode::PageUp, 2),
            (KeyCode::Home, 0),
            (KeyCode::End, 6),
        ] {
            assert_eq!(screen.press(key, 4, 10), Wish::Draw);
            assert_eq!(screen.offset, offset, "{key:?}");
        }
        assert_eq!(screen.press(KeyCode::Down, 20, 3), Wish::Draw);
        assert_eq!(screen.offset, 0, "all fit");
    }

    #[test]
    fn escape_leaves_the_help_first() {
        let mut screen = NEW;
        screen.press(KeyCode::Char('?'), 4, 10);
        assert!(drawn(screen, &report(), (80, 24)).0.contains("hide the hops"));
        assert_eq!(screen.press(KeyCode::Esc, 4, 10), Wish::Draw);
        assert_eq!(screen.press(KeyCode::Esc, 4, 10), Wish::Quit);
        assert_eq!(screen.press(KeyCode::Char('+'), 4, 10), Wish::Faster);
        assert_eq!(screen.press(KeyCode::Char('x'), 4, 10), Wish::Draw);
    }

    #[test]
    fn no_size_of_the_terminal_is_too_small() {
        for size in [(1, 1), (5, 3), (20, 5), (300, 2)] {
            drawn(NEW, &report(), size);
        }
    }

    #[test]
    fn without_colour_the_fullest_is_told_by_its_weight() {
        let report = report();
        let lane = report.lanes.first().expect("a lane");
        let plain = Screen::new(false, false);
        assert_eq!(plain.tone(&report, lane).fg, None);
        assert!(plain.tone(&report, lane).add_modifier.contains(Modifier::REVERSED));
        assert!(drawn(plain, &report, (80, 24)).0.contains("####"), "ASCII");
    }
}
