//! The terminal of `narrows top`: who waits for keys and looks. What is drawn, and what keys mean, is the report's.

use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::DefaultTerminal;

use super::{Failure, INTERVALS, TopArgs, view};
use crate::cli::signals::stop_on_signals;
use narrows_base::units::{Nanos, human};
use narrows_runs::top::TopReport;
use narrows_runs::top::screen::{Screen, Wish};
use narrows_session::live::Follow;

/// A signal is noticed within this time.
const NOTICE: Duration = Duration::from_millis(500);

/// Draws look after look until a key or a signal ends it. The terminal is as before then, after a panic too.
///
/// # Errors
/// [`Failure`] when the terminal cannot be drawn on or read.
pub(super) fn follow(follow: &mut Follow<'_>, args: &TopArgs) -> Result<(), Failure> {
    let style = args.output.shown.style();
    let stop = stop_on_signals()?;
    let mut terminal = ratatui::try_init().map_err(|error| broken(&error))?;
    let is_stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
    let mut top = Top {
        screen: Screen::new(style.colour, style.unicode),
        interval: args.interval,
        target: args.target.as_deref(),
        report: None,
        page: 1,
    };
    let ended = top.run(&mut terminal, follow, &is_stopped);
    ratatui::restore();
    ended
}

struct Top<'a> {
    screen: Screen,
    interval: Duration,
    target: Option<&'a str>,
    report: Option<TopReport>,
    page: usize,
}

impl Top<'_> {
    fn run(
        &mut self,
        terminal: &mut DefaultTerminal,
        follow: &mut Follow<'_>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let mut next = Instant::now();
        while !is_stopped() {
            let now = Instant::now();
            if now >= next {
                let look = follow.look();
                if !self.screen.paused || self.report.is_none() {
                    self.report = Some(view(follow, &look, self.target));
                    self.draw(terminal)?;
                }
                next = now + self.interval;
            }
            let wait = next.saturating_duration_since(Instant::now()).min(NOTICE);
            if !event::poll(wait).map_err(|error| broken(&error))? {
                continue;
            }
            let key = match event::read().map_err(|error| broken(&error))? {
                Event::Key(key) => key,
                Event::Resize(..) => {
                    self.draw(terminal)?;
                    continue;
                }
                _ => continue,
            };
            let Some(key) = known(key) else { continue };
            let count = self.report.as_ref().map_or(0, |report| self.screen.count(report));
            match key.map_or(Wish::Quit, |key| self.screen.press(key, self.page, count)) {
                Wish::Quit => return Ok(()),
                Wish::Faster => self.interval = (self.interval / 2).max(INTERVALS.0),
                Wish::Slower => self.interval = (self.interval * 2).min(INTERVALS.1),
                Wish::Draw => {}
            }
            self.draw(terminal)?;
        }
        Ok(())
    }

    fn draw(&mut self, terminal: &mut DefaultTerminal) -> Result<(), Failure> {
        let Some(report) = &self.report else { return Ok(()) };
        let every = human::time(Nanos::from(self.interval));
        let mut page = self.page;
        terminal
            .draw(|frame| page = self.screen.draw(frame, report, &every))
            .map_err(|error| broken(&error))?;
        self.page = page;
        Ok(())
    }
}

/// The key for the screen; `Some(None)` is Ctrl-C, which a terminal in raw mode hands on as a key.
fn known(key: KeyEvent) -> Option<Option<KeyCode>> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        _ if key.kind == KeyEventKind::Release => None,
        KeyCode::Char('c' | 'd') if is_control => Some(None),
        KeyCode::Char(_) if is_control => None,
        code => Some(Some(code)),
    }
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot draw on the terminal: {error}")).hint("print one look: `narrows top | cat`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_people_expect_are_known() {
        let key = |code, modifiers| known(KeyEvent::new(code, modifiers));
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Some(Some(KeyCode::Char('q'))));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(None));
        assert_eq!(key(KeyCode::PageDown, KeyModifiers::NONE), Some(Some(KeyCode::PageDown)));
        assert_eq!(key(KeyCode::Char('l'), KeyModifiers::CONTROL), None);
        let released = KeyEvent { kind: KeyEventKind::Release, ..KeyEvent::from(KeyCode::Char('q')) };
        assert_eq!(known(released), None);
    }
}
