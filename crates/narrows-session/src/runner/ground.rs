//! A device of the user's as what is tested, once the guard has opened it: filled, and made as it was found.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Runner;
use crate::objection::Objection;
use crate::place;
use crate::teller::Teller;
use crate::writes::ESTIMATED_AFTER;
use narrows_base::shell;
use narrows_base::units::{Bytes, human};
use narrows_load::guard::{Others, Step, WritableDevice};
use narrows_load::target::Target as Opened;
use narrows_load::{LoadError, owned};

/// How many places of foreign data are named.
const NAMED: usize = 3;

impl<T: Teller> Runner<'_, T> {
    /// Fills `size` bytes of a device that the guard permitted. What clearing them may take is set aside first.
    ///
    /// # Errors
    /// It is more than may be written, a write failed, or somebody else wrote to the device.
    pub fn fill(&self, writable: WritableDevice, size: Bytes) -> Result<Opened, Objection> {
        self.keep_watch(&writable)?;
        let length = writable.region().length;
        if let Some(writes) = self.writes() {
            let taken = writes.budget().take(length + length);
            taken.map_err(|over| {
                Objection::new(over.to_string())
                    .with_hint("allow more with --max-writes, or use a smaller --size")
            })?;
        }
        self.progress.phase("filling the device", Duration::ZERO);
        let begin = Instant::now();
        let follow = &mut |written: Bytes, all: Bytes| {
            if written >= ESTIMATED_AFTER {
                self.estimate(None, written.per(begin.elapsed()), (written, all));
            }
            self.follow(begin, written)
        };
        let path = writable.path().to_owned();
        let target = place::fill(writable, size, follow).map_err(|error| objection(&error, &path))?;
        let filled = target.region().length;
        self.estimate(Some(&target), filled.per(begin.elapsed()), (filled, filled));
        Ok(target)
    }

    /// Makes what was written of a device zero again: exactly what bears our marks. A signal does not end that; a second one
    /// ends the program. `told` hears the size of the device and what is done to it.
    ///
    /// # Errors
    /// Something is left: data that somebody else wrote meanwhile, which stay, or what cannot be cleared.
    pub fn clear(&self, target: &Opened, told: &mut dyn FnMut(Bytes, Step)) -> Result<(), Objection> {
        if !target.is_marked() {
            return Ok(());
        }
        let path = target.path().display().to_string();
        let budget = self.writes().map(|writes| writes.budget());
        if let Some(budget) = budget {
            // What was set aside.
            budget.give_back(target.changeable().length);
        }
        self.end_watch();
        let size = target.size();
        let follow = &mut |step| {
            told(size, step);
            ControlFlow::Continue(())
        };
        // Whoever waits knows from now on that it has begun.
        let _ = follow(Step::Clearing { done: Bytes::new(0), of: target.changeable().length });
        let cleared = owned::clear(target, budget.map(|budget| &**budget), follow);
        let left = "what is left bears our marks: `narrows guard --clean DEVICE --i-own SERIAL` clears it";
        let cleared = cleared.map_err(|error| match &error {
            LoadError::Others(others) => stopped(others, target.path()),
            _ => Objection::new(format!("{path} was not cleared: {error}")).with_hint(left),
        })?;
        let Some(cleared) = cleared else { return Ok(()) };
        if cleared.is_blank() {
            let said = |others: Others| {
                Objection::new(format!("{others}; all that bears narrows' marks is cleared")).with_hint(
                    "what the run wrote over before it was stopped is lost: compare that file with a copy",
                )
            };
            return cleared.others.map_or(Ok(()), |others| Err(said(others)));
        }
        if cleared.foreign_bytes.get() == 0 {
            let bytes = human::bytes(cleared.left);
            return Err(Objection::new(format!("{bytes} of {path} could not be cleared")).with_hint(left));
        }
        let places: Vec<String> = cleared
            .foreign
            .iter()
            .take(NAMED)
            .map(|found| format!("at byte {}: {}", found.at.get(), found.looks()))
            .collect();
        let bytes = human::bytes(cleared.foreign_bytes);
        Err(Objection::new(format!(
            "somebody else wrote to {path} while narrows used it: {bytes} that bear no mark of ours ({}); they were \
             not touched, and all else was cleared",
            places.join("; ")
        ))
        .with_hint("find out who writes to it (`fuser -v`); results of this run are not to be trusted"))
    }
}

/// Why a device was not filled or taken.
fn objection(error: &LoadError, path: &Path) -> Objection {
    match error {
        LoadError::Others(others) => stopped(others, path),
        _ => error.into(),
    }
}

/// What is said when somebody else wrote to a device that was filled.
fn stopped(others: &Others, path: &Path) -> Objection {
    let path = shell::path(path);
    let message = others.to_string();
    Objection::new(format!("{message}: all was stopped, and nothing was cleared")).with_hint(format!(
        "find out who writes to it (`fuser -v {path}`) and look at what was written; what narrows wrote bears its mark, and \
         `narrows guard --clean {path} --i-own SERIAL` clears exactly that; results of this run are not to be trusted"
    ))
}
