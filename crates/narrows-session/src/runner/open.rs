//! Opens what is only read, and makes and fills a scratch file.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Runner;
use crate::measure::{Timing, seed};
use crate::place::{self, FirstPart, Place};
use crate::writes::{ESTIMATED_AFTER, Writes};
use crate::{Failure, Teller};
use narrows_base::shell;
use narrows_base::units::{Bytes, human};
use narrows_load::guard::{Others, Step, WritableDevice};
use narrows_load::preset::{Preset, Test, Work};
use narrows_load::scratch::ScratchOptions;
use narrows_load::target::Target as Opened;
use narrows_load::{LoadError, owned};

/// How long a scratch file may take to write before it stays as large as it is.
const FILL_TIME: Duration = Duration::from_secs(60);
/// How long it may take where its size was not asked for and tests stop as soon as their rate is known: writing it would
/// take longer than they do. A slow drive then has a smaller one, which is still far larger than its cache.
const QUICK_FILL_TIME: Duration = Duration::from_secs(2);

/// How long it may take for a layer.
const LAYER_FILL_TIME: Duration = Duration::from_secs(4);

/// How large a scratch file must become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// As large as it was asked for, unless it takes a minute.
    Whole,
    /// As large as two seconds allow, and an eighth of its size at least.
    Quick,
    /// As large as four seconds allow, and so large at least. What writes is not tried on it.
    Layer(Bytes),
}

impl<T: Teller> Runner<'_, T> {
    /// Opens what is only read; a scratch file is made and filled, of `size` or smaller where there is no room. `filling` says
    /// how large it must become. A device that is written is opened by the guard, and filled by [`fill`](Self::fill).
    ///
    /// # Errors
    /// It cannot be opened, made or filled.
    pub fn open(&self, place: &Place, size: Bytes, filling: Filling) -> Result<Opened, LoadError> {
        match place {
            Place::Scratch(dir) => self.scratch(dir, size, filling),
            Place::Owned { .. } | Place::Device(_) | Place::File(_) => place.open(),
        }
    }

    fn scratch(&self, dir: &Path, size: Bytes, filling: Filling) -> Result<Opened, LoadError> {
        let (time, minimum, is_tried) = match filling {
            Filling::Whole => (FILL_TIME, place::least(size, true), true),
            Filling::Quick => (QUICK_FILL_TIME, place::least(size, false), true),
            Filling::Layer(least) => (LAYER_FILL_TIME, least, false),
        };
        let Some(writes) = self.writes() else { return Err(LoadError::NotOurs(dir.to_owned())) };
        let options = ScratchOptions {
            time: Some(time),
            minimum,
            budget: Some(writes.budget().clone()),
            ..ScratchOptions::default()
        };
        writes.begin_metering(self.root);
        let first = match is_tried && size > ESTIMATED_AFTER {
            true => writes.filled_before_trials(),
            false => size.min(ESTIMATED_AFTER),
        };
        let begin = Instant::now();
        self.progress.phase("writing scratch file", time);
        let follow = &mut |written, _: Bytes| self.follow(begin, written);
        let told = &mut |opened: &Opened, FirstPart { rate, there, in_all, left }| {
            self.estimate(is_tried.then_some(opened), rate, (there, in_all));
            if there < in_all {
                self.progress.phase("writing scratch file", left);
            }
        };
        let made = place::in_two_parts(dir, (first, size), &options, follow, told);
        writes.end_metering(self.root);
        made
    }
}

/// How many places of foreign data are named.
const NAMED: usize = 3;

impl<T: Teller> Runner<'_, T> {
    /// Fills `size` bytes of a device that the guard permitted. What clearing them may take is set aside first.
    ///
    /// # Errors
    /// It is more than may be written, a write failed, or somebody else wrote to the device.
    pub fn fill(&self, writable: WritableDevice, size: Bytes) -> Result<Opened, Failure> {
        // Stops all when somebody else writes to it.
        self.sentry.replace(writable.sentry(self.session.stop.clone())?);
        let length = writable.region().length;
        if let Some(writes) = self.writes() {
            let taken = writes.budget().take(length + length);
            taken.map_err(|over| {
                Failure::new(over.to_string()).hint("allow more with --max-writes, or use a smaller --size")
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
        let target =
            owned::prepare(writable, size, seed(), follow).map_err(|error| objection(&error, &path))?;
        let filled = target.region().length;
        self.estimate(Some(&target), filled.per(begin.elapsed()), (filled, filled));
        Ok(target)
    }

    /// Makes what was written of a device zero again: exactly what bears our marks. A signal does not end that; a second one
    /// ends the program. `told` hears the size of the device and what is done to it.
    ///
    /// # Errors
    /// Something is left: data that somebody else wrote meanwhile, which stay, or what cannot be cleared.
    pub fn clear(&self, target: &Opened, told: &mut dyn FnMut(Bytes, Step)) -> Result<(), Failure> {
        if !target.is_marked() {
            return Ok(());
        }
        let path = target.path().display().to_string();
        let budget = self.writes().map(|writes| writes.budget());
        if let Some(budget) = budget {
            // What was set aside.
            budget.give_back(target.changeable().length);
        }
        self.sentry.replace(None);
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
            _ => Failure::new(format!("{path} was not cleared: {error}")).hint(left),
        })?;
        let Some(cleared) = cleared else { return Ok(()) };
        if cleared.is_blank() {
            let said = |others: Others| {
                Failure::new(format!("{others}; all that bears narrows' marks is cleared")).hint(
                    "what the run wrote over before it was stopped is lost: compare that file with a copy",
                )
            };
            return cleared.others.map_or(Ok(()), |others| Err(said(others)));
        }
        if cleared.foreign_bytes.get() == 0 {
            let bytes = human::bytes(cleared.left);
            return Err(Failure::new(format!("{bytes} of {path} could not be cleared")).hint(left));
        }
        let places: Vec<String> = cleared
            .foreign
            .iter()
            .take(NAMED)
            .map(|found| format!("at byte {}: {}", found.at.get(), found.looks()))
            .collect();
        let bytes = human::bytes(cleared.foreign_bytes);
        Err(Failure::new(format!(
            "somebody else wrote to {path} while narrows used it: {bytes} that bear no mark of ours ({}); they were \
             not touched, and all else was cleared",
            places.join("; ")
        ))
        .hint("find out who writes to it (`fuser -v`); results of this run are not to be trusted"))
    }
}

/// Why a device was not filled or taken.
fn objection(error: &LoadError, path: &Path) -> Failure {
    match error {
        LoadError::Others(others) => stopped(others, path),
        _ => error.into(),
    }
}

/// What is said when somebody else wrote to a device that was filled.
fn stopped(others: &Others, path: &Path) -> Failure {
    let path = shell::path(path);
    let message = others.to_string();
    Failure::new(format!("{message}: all was stopped, and nothing was cleared")).hint(format!(
        "find out who writes to it (`fuser -v {path}`) and look at what was written; what narrows wrote bears its mark, and \
         `narrows guard --clean {path} --i-own SERIAL` clears exactly that; results of this run are not to be trusted"
    ))
}

impl Place {
    /// What is to be done of a preset, where some tests are done.
    pub fn works(&self, preset: &Preset, is_done: impl Fn(&Test) -> bool) -> Vec<Work> {
        let tests = preset.tests.iter().filter(|test| self.obstacle(test).is_none() && !is_done(test));
        tests.map(|test| test.work.clone()).collect()
    }

    /// Why a test cannot be run, if it cannot.
    pub fn obstacle(&self, test: &Test) -> Option<String> {
        let is_scan = matches!(test.work, Work::Scan(_));
        let why = match self {
            Place::Device(_) if test.writes() => "a device is only read, unless --write --i-own SERIAL",
            Place::Owned { .. } if is_scan => {
                "most of an empty device was never written, so it is read from nowhere"
            }
            Place::File(_) if test.writes() => "the file is only read",
            _ => return None,
        };
        Some(why.to_owned())
    }

    /// Why a test cannot be run on `size` bytes, where `writes` say what may be written.
    pub fn obstacle_on(
        &self,
        test: &Test,
        size: Bytes,
        writes: Option<&Writes>,
        timing: &Timing,
    ) -> Option<String> {
        let rounds = || match &test.work {
            Work::Load(load) => writes?.obstacle(load, timing),
            Work::Scan(_) => None,
        };
        self.obstacle(test).or_else(|| too_large(test, size)).or_else(rounds)
    }
}

/// Why a test does not fit on a target of `size`, if it does not.
fn too_large(test: &Test, size: Bytes) -> Option<String> {
    let needed = test.least_size();
    (needed > size).then(|| {
        let (needed, size) = (human::block_size(needed), human::block_size(size));
        format!("it needs {needed}, and the target has {size}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::preset;

    /// The tests of a preset that fit, and why the first of the others does not.
    fn fits(name: &str, place: &Place) -> (usize, Option<String>) {
        let preset = preset::by_name(name).expect("is a preset");
        let why = preset.tests.iter().find_map(|test| place.obstacle(test));
        (place.works(&preset, |_| false).len(), why)
    }

    #[test]
    fn what_writes_needs_a_place_that_may_be_written() {
        let owned = Place::Owned { name: "sdx".to_owned(), own: "S".to_owned() };
        let all = preset::by_name("peak").expect("is a preset").tests.len();
        for place in [Place::Scratch("/srv".into()), owned] {
            assert_eq!(fits("peak", &place), (all, None));
        }
        let (reads, why) = fits("peak", &Place::Device("/dev/sdx".into()));
        assert!(0 < reads && reads < all);
        assert_eq!(why.as_deref(), Some("a device is only read, unless --write --i-own SERIAL"));
        let (of_file, why) = fits("peak", &Place::File("/srv/file".into()));
        assert_eq!((of_file, why.as_deref()), (reads, Some("the file is only read")));
    }

    #[test]
    fn samples_by_position_are_of_what_was_written() {
        let owned = Place::Owned { name: "sdx".to_owned(), own: "S".to_owned() };
        let device = || Place::Device("/dev/sdx".into());
        assert!(fits("disks", &owned).1.is_some_and(|why| why.contains("never written")));
        let preset = preset::by_name("disks").expect("is a preset");
        let is_scan = |test: &&Test| matches!(test.work, Work::Scan(_));
        let scan = preset.tests.iter().find(is_scan).expect("it has one");
        assert_eq!(device().obstacle(scan), None);
    }

    #[test]
    fn what_is_done_is_not_done_again_and_what_is_too_large_says_so() {
        let preset = preset::by_name("peak").expect("is a preset");
        let scratch = Place::Scratch("/srv".into());
        let first = &preset.tests[0];
        let rest = scratch.works(&preset, |test| test.name == first.name);
        assert_eq!(rest.len(), preset.tests.len() - 1);
        let timing = crate::testing::UNTIL_KNOWN;
        let why = scratch.obstacle_on(first, Bytes::from_kib(4), None, &timing).expect("it is too small");
        assert!(why.ends_with(", and the target has 4 KiB"), "{why}");
        assert_eq!(scratch.obstacle_on(first, first.least_size(), None, &timing), None);
    }
}
