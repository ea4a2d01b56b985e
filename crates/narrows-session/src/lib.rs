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

use std::time::Duration;

use measure::{Follower, Look};
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::LoadError;
use narrows_load::copy::CopyError;

/// What speaks against something, with what to do about it where that is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Objection {
    message: String,
    hint: Option<String>,
}

impl Objection {
    /// An objection to which nothing can be said but itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// The same, with what to do next.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, with what to do next where that is known.
    #[must_use]
    pub fn with_maybe(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl From<&LoadError> for Objection {
    fn from(error: &LoadError) -> Self {
        Self { message: error.to_string(), hint: error.hint().map(str::to_owned) }
    }
}

impl From<CopyError> for Objection {
    fn from(error: CopyError) -> Self {
        Self { message: error.to_string(), hint: error.hint() }
    }
}

impl From<LoadError> for Objection {
    fn from(error: LoadError) -> Self {
        Self::from(&error)
    }
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
    fn phase(&self, name: &str, length: Duration);

    /// A test of a series begins, the `index`th of `all` from 0 on.
    fn test(&self, index: usize, all: usize, name: &str);

    /// The test that runs has another name from now on.
    fn name(&self, name: &str);

    /// What is done before the test goes on.
    fn remark(&self, text: &str);

    /// How far the phase is, and what there is to say.
    fn say(&self, elapsed: Duration, text: &str);

    /// How much of a whole is done, and what there is to say.
    fn amount(&self, done: Bytes, whole: Bytes, text: &str);

    /// How far the phase is, and at what rate data move.
    fn update(&self, elapsed: Duration, rate: BytesPerSec);

    /// How the test goes.
    fn live(&self, live: &Live);

    /// What stays to be read when the run is over, on a line of its own.
    fn note(&self, text: &str);
}

/// Nobody hears.
impl Teller for () {
    fn phase(&self, _: &str, _: Duration) {}
    fn test(&self, _: usize, _: usize, _: &str) {}
    fn name(&self, _: &str) {}
    fn remark(&self, _: &str) {}
    fn say(&self, _: Duration, _: &str) {}
    fn amount(&self, _: Bytes, _: Bytes, _: &str) {}
    fn update(&self, _: Duration, _: BytesPerSec) {}
    fn live(&self, _: &Live) {}
    fn note(&self, _: &str) {}
}

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
