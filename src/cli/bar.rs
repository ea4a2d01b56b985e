//! The bar of a run, as the session tells it.

use std::ops::Deref;
use std::time::Duration;

use super::output;
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_report::progress::Progress;
use narrows_session::{Live, Teller};

/// A bar on standard error, and notes beside it.
pub(super) struct Bar(Progress);

impl Bar {
    /// A bar, or a silent one where standard error is no terminal.
    pub(super) fn on_stderr() -> Self {
        Self(Progress::on_stderr(false))
    }
}

impl Deref for Bar {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        &self.0
    }
}

impl Teller for Bar {
    fn phase(&self, name: &str, length: Duration) {
        self.0.phase(name, length);
    }

    fn test(&self, index: usize, all: usize, name: &str) {
        self.0.test(index, all, name);
    }

    fn name(&self, name: &str) {
        self.0.name(name);
    }

    fn remark(&self, text: &str) {
        self.0.remark(text);
    }

    fn say(&self, elapsed: Duration, text: &str) {
        self.0.say(elapsed, text);
    }

    fn amount(&self, done: Bytes, whole: Bytes, text: &str) {
        self.0.amount(done.get(), whole.get(), text);
    }

    fn update(&self, elapsed: Duration, rate: BytesPerSec) {
        self.0.update(elapsed, Some(rate));
    }

    fn live(&self, live: &Live) {
        self.0.live(live);
    }

    fn note(&self, text: &str) {
        self.0.aside(|| output::note(text));
    }
}
