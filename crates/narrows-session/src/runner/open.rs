//! Opens what is only read, and makes and fills a scratch file.

use std::path::Path as FilePath;
use std::time::{Duration, Instant};

use super::Runner;
use crate::place::{self, FirstPart, Place};
use crate::teller::Teller;
use crate::writes::ESTIMATED_AFTER;
use narrows_base::units::Bytes;
use narrows_load::LoadError;
use narrows_load::scratch::ScratchOptions;
use narrows_load::target::Target as Opened;

/// How long a scratch file may take to write before it stays as large as it is.
const FILL_TIME: Duration = Duration::from_secs(60);
/// How long it may take where its size was not asked for and tests stop as soon as their rate is known: writing it would
/// take longer than they do. A slow drive then has a smaller one, which is still far larger than its cache.
const QUICK_FILL_TIME: Duration = Duration::from_secs(2);

/// How large a scratch file must become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// As large as it was asked for, unless it takes a minute.
    Whole,
    /// As large as two seconds allow, and an eighth of its size at least.
    Quick,
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

    fn scratch(&self, dir: &FilePath, size: Bytes, filling: Filling) -> Result<Opened, LoadError> {
        let (time, is_asked) = match filling {
            Filling::Whole => (FILL_TIME, true),
            Filling::Quick => (QUICK_FILL_TIME, false),
        };
        let Some(writes) = self.writes() else { return Err(LoadError::NotOurs(dir.to_owned())) };
        let options = ScratchOptions {
            time: Some(time),
            minimum: place::least(size, is_asked),
            budget: Some(writes.budget().clone()),
            ..ScratchOptions::default()
        };
        writes.begin_metering(self.root());
        let first = if size <= ESTIMATED_AFTER { size } else { writes.filled_before_trials() };
        let begin = Instant::now();
        self.progress.phase("writing scratch file", time);
        let follow = &mut |written, _: Bytes| self.follow(begin, written);
        let told = &mut |opened: &Opened, FirstPart { rate, there, in_all, left }| {
            self.estimate(Some(opened), rate, (there, in_all));
            if there < in_all {
                self.progress.phase("writing scratch file", left);
            }
        };
        let made = place::in_two_parts(dir, (first, size), &options, follow, told)?;
        writes.end_metering(self.root());
        Ok(made)
    }
}
