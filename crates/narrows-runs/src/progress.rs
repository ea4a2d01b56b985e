//! A progress bar on standard error, for whatever takes longer than a second.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_report::sanitize::inert;
use narrows_session::{Live, Teller};

/// Shows how far a measurement is: phases by name, each with a length in time.
///
/// Nothing is drawn unless standard error is a terminal, so logs and pipes stay clean. The bar is wiped when it is
/// dropped: what it showed is in the report.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    series: Cell<Option<Series>>,
}

/// Parts of one test on the bar of a series.
const PARTS: u64 = 1000;

/// Where a series of tests is.
#[derive(Debug, Clone, Copy)]
struct Series {
    /// The test that runs, from 0 on.
    index: u32,
    /// Tests in all.
    all: u32,
    /// The test that this process began with, and when.
    from: (u32, Instant),
    /// When the running one began.
    began: Instant,
}

impl Series {
    /// The time that is left of all tests: of this one, and for each of the rest the mean of those that are done, or that of
    /// this one.
    fn left(&self, live: &Live) -> Duration {
        let (first, begin) = self.from;
        let done = self.index.saturating_sub(first);
        let each = self.began.duration_since(begin).checked_div(done).unwrap_or(live.elapsed + live.left);
        let rest = self.all.saturating_sub(self.index.saturating_add(1));
        live.left.saturating_add(each.saturating_mul(rest))
    }

    /// How far it is, in parts of a test.
    fn position(&self, live: &Live) -> u64 {
        let whole = (live.elapsed + live.left).as_secs_f64();
        let part = if whole > 0.0 { live.elapsed.as_secs_f64() / whole } else { 0.0 };
        u64::from(self.index) * PARTS + (part * PARTS as f64) as u64
    }
}

impl Progress {
    /// A bar on standard error, or a silent one when that is no terminal.
    pub fn on_stderr() -> Self {
        let is_shown = io::stderr().is_terminal();
        Self::to(if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() })
    }

    fn to(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("{spinner} {prefix:<24} {bar:30} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸ "));
        Self { bar, series: Cell::new(None) }
    }

    fn show(&self, message: String) {
        self.bar.set_message(message);
        self.bar.tick();
    }

    fn show_at(&self, elapsed: Duration, message: String) {
        self.bar.set_position(millis(elapsed).min(self.bar.length().unwrap_or(u64::MAX)));
        self.show(message);
    }
}

impl Teller for Progress {
    fn phase(&self, name: &str, length: Duration) {
        self.bar.set_length(millis(length));
        self.bar.set_position(0);
        self.name(name);
    }

    /// From now on the bar shows the whole series.
    fn test(&self, index: usize, all: usize, name: &str) {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (index, all, now) = (count(index), count(all), Instant::now());
        let from = self.series.get().map_or((index, now), |series| series.from);
        self.series.set(Some(Series { index, all, from, began: now }));
        self.bar.set_length(u64::from(all) * PARTS);
        self.bar.set_position(u64::from(index) * PARTS);
        self.name(&format!("{}/{all} {name}", index.saturating_add(1)));
    }

    fn name(&self, name: &str) {
        self.bar.set_prefix(inert(name));
        self.show(String::new());
    }

    fn say(&self, elapsed: Duration, text: &str) {
        self.show_at(elapsed, inert(text));
    }

    fn amount(&self, done: Bytes, whole: Bytes, text: &str) {
        self.bar.set_length(whole.get());
        self.bar.set_position(done.min(whole).get());
        self.show(inert(text));
    }

    fn update(&self, elapsed: Duration, rate: BytesPerSec) {
        self.show_at(elapsed, human::rate(rate));
    }

    /// Its rate and interval, and the time that is left of it and of the series.
    fn live(&self, live: &Live) {
        let time = |span: Duration| human::time(Nanos::from(Duration::from_secs(span.as_secs() + 1)));
        let interval = live.half.map(|half| format!(" ± {}", human::percent(half))).unwrap_or_default();
        let at_most = if live.at_most { " at most" } else { "" };
        let mut text = format!("{}{interval}, {} left{at_most}", live.rate, time(live.left));
        if let Some(series) = self.series.get() {
            if series.index.saturating_add(1) < series.all {
                text.push_str(&format!(", {} of all", time(series.left(live))));
            }
            self.bar.set_position(series.position(live));
        }
        self.show(text);
    }

    /// The bar is taken away meanwhile.
    fn note(&self, text: &str) {
        // Nothing is left to do when standard error is gone.
        let say = || drop(writeln!(io::stderr().lock(), "{}", inert(text)));
        self.bar.suspend(say);
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
        progress.update(Duration::from_secs(2), BytesPerSec::from_mb(374.0));
        progress.bar.force_draw();
        let text = screen.text();
        assert!(text.contains("sequential read") && text.contains("374 MB/s"), "{text}");
        drop(progress);
        assert_eq!(screen.text().trim(), "");
    }

    fn live(elapsed: u64, left: u64) -> Live {
        Live {
            elapsed: Duration::from_secs(elapsed),
            rate: BytesPerSec::from_mb(374.0),
            half: Some(0.012),
            left: Duration::from_secs(left),
            at_most: false,
        }
    }

    #[test]
    fn a_series_shows_test_rate_interval_and_the_time_left_of_both() {
        let screen = Screen::default();
        let progress = Progress::to(ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), 255));
        progress.test(0, 4, "SEQ1M Q8T1 read");
        progress.live(&live(2, 3));
        progress.bar.force_draw();
        let text = screen.text();
        for part in ["1/4 SEQ1M Q8T1 read", "374 MB/s ± 1.2 %", "4 s left", "19 s of all"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // Two of five seconds of the first of four tests.
        assert_eq!((progress.bar.position(), progress.bar.length()), (400, Some(4000)));
        progress.test(3, 4, "RND4K Q1T1 read");
        progress.live(&live(0, 0));
        progress.bar.force_draw();
        assert!(!screen.text().contains("of all"), "{}", screen.text());
        assert_eq!(progress.bar.position(), 3000);
    }

    #[test]
    fn the_rest_of_a_series_takes_as_long_as_what_is_done() {
        let begin = Instant::now();
        // A resumed run that began with the third of ten tests; two took 12 s together.
        let series = Series { index: 4, all: 10, from: (2, begin), began: begin + Duration::from_secs(12) };
        assert_eq!(series.left(&live(1, 3)), Duration::from_secs(3 + 5 * 6));
    }

    #[test]
    fn an_amount_never_goes_beyond_the_whole() {
        let progress = Progress::to(ProgressDrawTarget::hidden());
        progress.amount(Bytes::new(7), Bytes::new(5), "3 files");
        assert_eq!((progress.bar.position(), progress.bar.length()), (5, Some(5)));
    }

    #[test]
    fn time_beyond_the_end_of_a_phase_is_its_end() {
        let progress = Progress::to(ProgressDrawTarget::hidden());
        progress.phase("p", Duration::from_secs(1));
        progress.update(Duration::from_secs(9), BytesPerSec::from_mb(1.0));
        assert_eq!(progress.bar.position(), 1000);
    }
}
