//! Shows how far a run is, and counts what it writes.

use crate::measure::{Follower, Look, Timing};
use crate::teller::{Live, Teller};
use crate::writes::{Allowance, Writes};
use narrows_base::units::{Bytes, human};
use narrows_load::stats::{Decision, Outlook};
use narrows_machine::root::Root;

/// Shows the rate with its interval and the time left.
pub(super) struct Shown<'a, T> {
    pub(super) root: &'a Root,
    pub(super) progress: &'a T,
    pub(super) timing: &'a Timing,
    /// What counts the writes, of a run that writes.
    pub(super) metered: Option<(&'a Writes, &'a Allowance)>,
}

impl<T> Shown<'_, T> {
    fn meter(&self) {
        if let Some((writes, allowance)) = self.metered {
            writes.meter(self.root, Some(&allowance.budget));
        }
    }
}

impl<T: Teller> Follower for Shown<'_, T> {
    fn begin(&self) {
        if let Some((writes, _)) = self.metered {
            writes.begin_metering(self.root);
        }
    }

    fn look(&self, look: &Look) {
        self.meter();
        let longest = self.timing.longest().saturating_sub(look.elapsed);
        let (left, at_most) = match look.outlook.map(|outlook| outlook.decision) {
            Some(Decision::Continue { left: Some(expected) }) => (expected.duration().min(longest), false),
            Some(_) => (longest, true),
            None => (longest, false),
        };
        let half = look.outlook.as_ref().and_then(Outlook::relative);
        let (elapsed, rate) = (look.elapsed, look.done.per(look.elapsed));
        self.progress.live(&Live { elapsed, rate, half, left, at_most });
    }

    fn end(&self) {
        self.meter();
        if let Some((writes, _)) = self.metered {
            writes.end_metering(self.root);
        }
    }
}

/// Shows how much of a scan was read.
pub(super) struct Samples<'a, T> {
    pub(super) progress: &'a T,
    /// What it reads in all.
    pub(super) all: Bytes,
}

impl<T: Teller> Follower for Samples<'_, T> {
    fn look(&self, look: &Look) {
        let text = format!("{} of {}", human::bytes(look.done), human::bytes(self.all));
        self.progress.say(look.elapsed, &text);
    }
}
