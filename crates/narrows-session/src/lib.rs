//! What puts load on devices and sees what the machine does meanwhile: a [`Session`](measure::Session) measures on a
//! [`Scene`](scene::Scene) at a [`Place`](place::Place), and the layout [`lab`] builds on devices and takes away again.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod check;
pub mod copying;
pub mod fleet;
pub mod guard;
pub mod lab;
pub mod ladder;
pub mod live;
pub mod measure;
pub mod place;
pub mod runner;
pub mod scene;
#[cfg(test)]
mod testing;
pub mod together;
pub mod trials;
mod trust;
pub mod writes;

use std::ops::ControlFlow;
use std::time::Duration;

use measure::{Follower, Look};
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::LoadError;
use narrows_load::copy::CopyError;

/// What ends something early, or speaks against it: a message for a person, and what to do next, one hint for each of several causes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What went wrong, without what to do next.
    pub message: String,
    /// What to do next.
    pub hints: Vec<String>,
}

impl Failure {
    /// A failure that nothing can be said to but itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hints: Vec::new() }
    }

    /// A failure of a lower layer that brings its hint along, on a line of its own.
    pub fn with_own_hint(text: &str) -> Self {
        match text.rsplit_once("\nhint: ") {
            Some((message, hint)) => Self::new(message).hint(hint),
            None => Self::new(text),
        }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.hints([hint])
    }

    /// Adds what to do next, if there is anything, for each of several causes.
    #[must_use]
    pub fn hints(mut self, hints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hints.extend(hints.into_iter().map(Into::into));
        self
    }
}

impl From<&LoadError> for Failure {
    fn from(error: &LoadError) -> Self {
        Self::new(error.to_string()).hints(error.hint())
    }
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        Self::new(error.to_string()).hints(error.hint())
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::from(&error)
    }
}

/// Goes on with what is done, unless somebody wants it to stop.
pub const fn go_on_unless(is_stopped: bool) -> ControlFlow<()> {
    if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// What is known of a test that runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Live {
    /// Since its measured time began.
    pub elapsed: Duration,
    /// The rate so far.
    pub rate: BytesPerSec,
    /// Half of its confidence interval as a part of it, once there is one.
    pub half: Option<f64>,
    /// The time that is left of the test.
    pub left: Duration,
    /// Whether it may end before.
    pub at_most: bool,
}

/// Hears how a run goes: a bar on a terminal, or nobody.
pub trait Teller {
    /// A phase begins that is expected to take `length`; zero when nobody knows.
    fn phase(&self, _name: &str, _length: Duration) {}

    /// A test of a series begins, the `index`th of `all` from 0 on.
    fn test(&self, _index: usize, _all: usize, _name: &str) {}

    /// The test that runs has another name from now on.
    fn name(&self, _name: &str) {}

    /// How far the phase is, and what there is to say.
    fn say(&self, _elapsed: Duration, _text: &str) {}

    /// How much of a whole is done, and what there is to say.
    fn amount(&self, _done: Bytes, _whole: Bytes, _text: &str) {}

    /// How far the phase is, and at what rate data move.
    fn update(&self, _elapsed: Duration, _rate: BytesPerSec) {}

    /// How the test goes.
    fn live(&self, _live: &Live) {}

    /// What stays to be read when the run is over, on a line of its own.
    fn note(&self, _text: &str) {}
}

/// Nobody hears.
impl Teller for () {}

/// Tells how far a run of a known length is, and its rate so far.
pub struct Moving<'a, T> {
    /// Who hears it.
    pub teller: &'a T,
    /// What of the length that was announced is over when the measured time begins.
    pub before: Duration,
}

impl<T: Teller> Follower for Moving<'_, T> {
    fn look(&self, look: &Look) {
        self.teller.update(self.before + look.elapsed, look.done.per(look.elapsed));
    }
}
