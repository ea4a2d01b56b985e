//! A progress bar on standard error, for whatever takes longer than a second.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::units::{BytesPerSec, human};

/// Shows how far a measurement is: phases by name, each with a length in time.
///
/// Nothing is drawn unless standard error is a terminal, so logs and pipes stay clean. The bar is wiped when it is
/// dropped: what it showed is in the report.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar on standard error, or a silent one when that is no terminal or `quiet` is set.
    pub fn on_stderr(quiet: bool) -> Self {
        let is_shown = !quiet && std::io::stderr().is_terminal();
        Self::to(if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() })
    }

    fn to(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("{spinner} {prefix:<24} {bar:30} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸ "));
        Self { bar }
    }

    /// Begins a phase that is expected to take `length`; zero when nobody knows.
    pub fn phase(&self, name: &str, length: Duration) {
        self.bar.set_length(millis(length));
        self.bar.set_position(0);
        self.bar.set_prefix(crate::report::sanitize::inert(name));
        self.bar.set_message("");
        self.bar.tick();
    }

    /// Says how far the phase is, and at what rate data moves.
    pub fn update(&self, elapsed: Duration, rate: Option<BytesPerSec>) {
        if let Some(rate) = rate {
            self.bar.set_message(human::rate(rate));
        }
        self.bar.set_position(millis(elapsed).min(self.bar.length().unwrap_or(u64::MAX)));
        self.bar.tick();
    }

    /// Says how far the phase is, and what there is to say.
    pub fn say(&self, elapsed: Duration, text: &str) {
        self.bar.set_message(crate::report::sanitize::inert(text));
        self.bar.set_position(millis(elapsed).min(self.bar.length().unwrap_or(u64::MAX)));
        self.bar.tick();
    }

    /// Says how much of a whole is done, and what there is to say. The bar is full when `done` is `whole`.
    pub fn amount(&self, done: u64, whole: u64, text: &str) {
        self.bar.set_length(whole);
        self.bar.set_message(crate::report::sanitize::inert(text));
        self.bar.set_position(done.min(whole));
        self.bar.tick();
    }

    /// Whether anything is drawn.
    pub fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};

    /// A terminal that remembers what was written to it since its line was last cleared.
    #[derive(Debug, Clone, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl Screen {
        fn text(&self) -> String {
            self.0.lock().expect("not poisoned").clone()
        }
    }

    impl indicatif::TermLike for Screen {
        fn width(&self) -> u16 {
            100
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().expect("not poisoned").push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().expect("not poisoned").clear();
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_phase_shows_its_name_and_rate_and_is_wiped_at_the_end() {
        let screen = Screen::default();
        let progress = Progress::to(ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), 255));
        progress.phase("sequential read", Duration::from_secs(4));
        progress.update(Duration::from_secs(2), Some(BytesPerSec::from_mb(374.0)));
        progress.bar.force_draw();
        let text = screen.text();
        assert!(text.contains("sequential read") && text.contains("374 MB/s"), "{text}");
        drop(progress);
        assert_eq!(screen.text().trim(), "");
    }

    #[test]
    fn an_amount_never_goes_beyond_the_whole() {
        let progress = Progress::to(ProgressDrawTarget::hidden());
        progress.amount(7, 5, "3 files");
        assert_eq!((progress.bar.position(), progress.bar.length()), (5, Some(5)));
    }

    #[test]
    fn a_quiet_one_draws_nothing() {
        assert!(!Progress::on_stderr(true).is_shown());
    }

    #[test]
    fn time_beyond_the_end_of_a_phase_is_its_end() {
        let progress = Progress::to(ProgressDrawTarget::hidden());
        progress.phase("p", Duration::from_secs(1));
        progress.update(Duration::from_secs(9), None);
        assert_eq!(progress.bar.position(), 1000);
    }
}
