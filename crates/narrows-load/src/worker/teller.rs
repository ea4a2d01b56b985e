//! Tells whoever watches a run how far it is.

use crate::clock::Clock;
use crate::control::Control;
use narrows_base::units::Nanos;

/// How often the worker tells how far it is.
const EVERY: Nanos = Nanos::from_millis(10);

/// Collects bytes and tells of them now and then, and at the end of each sample of the series.
pub(super) struct Teller<'a> {
    control: &'a Control,
    /// [`EVERY`] in ticks.
    every: u64,
    untold: u64,
    /// When to tell next.
    at: u64,
    /// The sample of the series that `untold` belongs to.
    sample: u64,
}

impl<'a> Teller<'a> {
    /// A teller who has nothing to tell yet.
    pub(super) fn new(control: &'a Control, clock: &Clock) -> Self {
        Self { control, every: clock.ticks_in(EVERY), untold: 0, at: 0, sample: 0 }
    }

    /// Notes bytes that moved by the tick `now`, inside the window; `shares` says which part of them belongs to which
    /// sample, unless all belong to the same as before.
    #[inline]
    pub(super) fn add(&mut self, bytes: u64, shares: Option<Vec<(u64, u64)>>, now: u64) {
        match shares {
            None => self.untold += bytes,
            Some(shares) => {
                for (sample, share) in shares {
                    if sample != self.sample {
                        self.tell();
                        self.sample = sample;
                    }
                    self.untold += share;
                }
            }
        }
        if now >= self.at {
            self.tell();
            self.at = now.saturating_add(self.every);
        }
    }

    /// When it is time to tell again.
    pub(super) fn next(&self) -> u64 {
        self.at
    }

    /// Tells the watcher of what moved since the last time.
    pub(super) fn tell(&mut self) {
        self.control.add_bytes(std::mem::take(&mut self.untold), self.sample);
    }
}
