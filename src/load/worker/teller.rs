//! Tells whoever watches a run how far it is.

use crate::load::clock::Clock;
use crate::load::control::Control;
use crate::load::tally::Window;
use crate::units::Nanos;

/// How often the worker tells how far it is.
const EVERY: Nanos = Nanos::from_millis(10);

/// Collects bytes and tells of them now and then, and at the end of each sample of the series.
pub(super) struct Teller<'a> {
    control: &'a Control,
    window: Window,
    /// [`EVERY`] in ticks.
    every: u64,
    untold: u64,
    /// When to tell next.
    at: u64,
    /// The sample of the series that `untold` belongs to, and the tick after it.
    sample: u64,
    sample_end: u64,
}

impl<'a> Teller<'a> {
    /// A teller of the bytes of a window.
    pub(super) fn new(control: &'a Control, clock: &Clock, window: Window) -> Self {
        Self {
            control,
            window,
            every: clock.ticks_in(EVERY),
            untold: 0,
            at: 0,
            sample: 0,
            sample_end: window.start.saturating_add(window.bucket),
        }
    }

    /// Notes bytes that moved by the tick `now`, inside the window.
    #[inline]
    pub(super) fn add(&mut self, bytes: u64, now: u64) {
        if now >= self.sample_end {
            self.tell();
            let bucket = self.window.bucket.max(1);
            self.sample = now.saturating_sub(self.window.start) / bucket;
            self.sample_end =
                self.sample.saturating_add(1).saturating_mul(bucket).saturating_add(self.window.start);
        }
        self.untold += bytes;
        if now >= self.at {
            self.tell();
            self.at = now.saturating_add(self.every);
        }
    }

    /// Tells the watcher of what moved since the last time.
    pub(super) fn tell(&mut self) {
        self.control.add_bytes(std::mem::take(&mut self.untold), self.sample);
    }
}
