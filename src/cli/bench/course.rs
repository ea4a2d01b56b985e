//! What bench and sweep share: the target before and after it is opened, what may be written there, what a saved run says, and the
//! runner with its bar.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::args::{Common, Writing};
use crate::cli::files::SaveFile;
use crate::cli::guard::{self, Watching};
use crate::cli::signals::end_on_signals;
use crate::cli::values::LONGEST;
use crate::cli::{Failure, output, target};
use narrows_base::units::peers::Peer;
use narrows_base::units::{Bytes, Nanos};
use narrows_load::LoadError;
use narrows_load::measurement::RunFailure;
use narrows_load::preset::{StopRule, Work};
use narrows_load::target::Target as Opened;
use narrows_report::bench::{Context, FailedView, TargetKind, TargetView};
use narrows_report::progress::Progress;
use narrows_session::measure::{Command, Timing};
use narrows_session::place::{NoPlace, Place, Use};
use narrows_session::runner::{self, Filling, LoadOutcome};
use narrows_session::scene::Scene;
use narrows_session::writes::{Account, Before, Wanted, Writes};
use narrows_verdict::{self as verdict, Subject, Verdict};

/// A runner that shows how far it is.
pub(in crate::cli) type Runner<'a> = runner::Runner<'a, Progress>;

/// A runner of a command on the path of `scene`, which signals stop.
///
/// # Errors
/// Signals cannot be watched for.
pub(in crate::cli) fn begin(
    command: Command,
    scene: &Scene,
    writes: Option<Writes>,
) -> Result<Runner<'_>, Failure> {
    Ok(runner::Runner::begin(command, scene, writes, (Progress::on_stderr(), end_on_signals()?)))
}

/// A report that is kept after each step, and with which a run goes on.
pub(in crate::cli) trait SavedRun: Serialize + DeserializeOwned {
    /// The name and version of its JSON contract.
    const SCHEMA: &'static str;

    /// What the run began with.
    fn begun(&self) -> Begun<'_>;

    /// Whether it asks for what could have been typed. The file may have been changed by anybody.
    ///
    /// # Errors
    /// The first setting that could not.
    fn check(&self) -> Result<(), String>;

    /// Where it says what was written.
    fn writes(&mut self) -> &mut Option<Account>;
}

/// What a saved run began with.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Begun<'a> {
    pub(in crate::cli) schema: &'a str,
    pub(in crate::cli) target: &'a TargetView,
    pub(in crate::cli) precision: f64,
    pub(in crate::cli) max_time: Nanos,
    pub(in crate::cli) fixed: Option<Nanos>,
    pub(in crate::cli) warm_up: Nanos,
    pub(in crate::cli) writes: Option<&'a Account>,
}

impl Begun<'_> {
    /// Whether its times keep to the ranges of the command line.
    ///
    /// # Errors
    /// The first that does not.
    pub(in crate::cli) fn check(&self) -> Result<(), String> {
        let is_time = |time: Nanos| time.duration() <= LONGEST;
        let is_span = |time: Nanos| time.duration() > Duration::ZERO && is_time(time);
        within("precision", (0.001..=0.5).contains(&self.precision))?;
        within("longest time of a test", is_span(self.max_time))?;
        within("time of a test", self.fixed.is_none_or(is_span))?;
        within("warm-up", is_time(self.warm_up))
    }
}

/// The file in which results are kept, and what is there already of a run that goes on.
///
/// # Errors
/// The file cannot be made or read, or holds something else.
pub(in crate::cli) fn kept<R: SavedRun>(
    save: Option<&Path>,
    resume: Option<&Path>,
) -> Result<(Option<SaveFile>, Option<R>), Failure> {
    if let Some(path) = save {
        return Ok((Some(SaveFile::create(path)?), None));
    }
    let Some(path) = resume else { return Ok((None, None)) };
    let (file, kept): (_, R) = SaveFile::load(path)?;
    let begun = kept.begun();
    if begun.schema != R::SCHEMA {
        return Err(Failure::new(format!("`{}` is of the schema {}", path.display(), begun.schema)));
    }
    let checked = begun.check().and_then(|()| kept.check());
    checked.map_err(|why| {
        Failure::new(format!("`{}` was changed since it was saved: {why}", path.display()))
            .hint("run it anew, with --save FILE")
    })?;
    Ok((Some(file), Some(kept)))
}

/// Refuses what is not `is_within` the ranges of the command line.
///
/// # Errors
/// It is not.
pub(in crate::cli) fn within(what: &str, is_within: bool) -> Result<(), String> {
    if is_within { Ok(()) } else { Err(format!("its {what} is none that can be asked for")) }
}

/// A target before it is opened: what it is, what may be done there, and how long tests run; a saved run goes on as it began.
pub(in crate::cli) struct Site {
    /// The target as it was typed.
    pub(in crate::cli) typed: String,
    pub(in crate::cli) scene: Scene,
    pub(in crate::cli) place: Place,
    pub(in crate::cli) timing: Timing,
    /// How much is filled, and whether that was asked for.
    pub(in crate::cli) size: (Bytes, bool),
    before: Option<Before>,
}

impl Site {
    /// Finds the target, of which `usual` bytes are filled unless another size is asked for, for tests that end by this rule.
    ///
    /// # Errors
    /// There is none, it does not suit what else was asked, or it is not that of the saved run.
    pub(in crate::cli) fn find(
        (common, typed): (&Common, Option<&str>),
        begun: Option<Begun<'_>>,
        (usual, stop): (Bytes, StopRule),
    ) -> Result<Self, Failure> {
        let of_run = begun.map(|begun| begun.target);
        let typed = match (typed, of_run) {
            (Some(typed), Some(target)) if typed != target.name => {
                return Err(Failure::new(format!("the saved run is of `{}`, not of `{typed}`", target.name))
                    .hint("leave out TARGET to go on with the saved run"));
            }
            (Some(typed), _) => typed.to_owned(),
            (None, Some(target)) => target.name.clone(),
            (None, None) => {
                return Err(Failure::new("name a target").hint("a directory, a mount point or a device"));
            }
        };
        let is_read = common.read_only || of_run.is_some_and(|target| target.kind == TargetKind::File);
        let scene = target::scene(&typed)?;
        let place = place_of(&scene, common, is_read)?;
        if matches!(place, Place::Scratch(_)) {
            target::check_way(&scene.machine, &typed, &scene.subject.path.asked)?;
        }
        let is_written = matches!(place, Place::Owned { .. });
        match of_run.map(|target| target.kind == TargetKind::OwnedDevice) {
            Some(true) if !is_written => {
                return Err(Failure::new("the saved run writes to the device")
                    .hint("name it again: --write --i-own SERIAL"));
            }
            Some(false) if is_written => {
                return Err(
                    Failure::new("the saved run writes to no device").hint("leave out --write and --i-own")
                );
            }
            _ => {}
        }
        let timing = common.timing(stop);
        Ok(Self {
            typed,
            scene,
            place,
            timing: begun.map_or(timing, |begun| Timing {
                precision: begun.precision,
                max_time: begun.max_time.duration(),
                fixed: begun.fixed.map(Nanos::duration),
                warm_up: begun.warm_up.duration(),
                ..timing
            }),
            size: match of_run {
                Some(target) => (target.size_bytes, true),
                None => (common.size.unwrap_or(usual), common.size.is_some()),
            },
            before: begun.and_then(|begun| begun.writes).map(Account::before),
        })
    }

    /// What these tests may write; `None` where the target is only read.
    ///
    /// # Errors
    /// It is too little.
    pub(in crate::cli) fn writes(&self, common: &Common, works: &[Work]) -> Result<Option<Writes>, Failure> {
        if self.place.filled().is_none() {
            return Ok(None);
        }
        let ceiling = Context::new(&self.scene.subject, Peer::None).ceilings.write;
        let is_device = matches!(self.place, Place::Owned { .. });
        Ok(Some(Writes::of(&Wanted {
            kept: self.before,
            size: self.size,
            works,
            ceiling: ceiling.map(|ceiling| ceiling.bytes_per_second),
            is_patient: common.max_time.is_some(),
            ..Wanted::of(&self.scene, common.writing.max_writes, is_device, &self.timing)
        })?))
    }

    /// Says what will be written, and begins a runner.
    ///
    /// # Errors
    /// Signals cannot be watched for.
    pub(in crate::cli) fn begin(
        &self,
        command: Command,
        writes: Option<Writes>,
    ) -> Result<Runner<'_>, Failure> {
        if let Some((writes, what)) = writes.as_ref().zip(self.place.filled()) {
            output::note(&writes.announcement(&what));
        }
        begin(command, &self.scene, writes)
    }

    /// Opens it; a scratch file is made and filled, or made smaller where there is no room, and so is the part of a device that
    /// is written. `filling` says how large a scratch file must become.
    ///
    /// # Errors
    /// It cannot be opened, made or filled.
    pub(in crate::cli) fn open(&self, filling: Filling, runner: &Runner<'_>) -> Result<Opened, Failure> {
        let size = runner.writes().map_or(self.size.0, Writes::size);
        if let Place::Owned { name, own } = &self.place {
            let writable = guard::open_for_writing(runner.root(), name, own, size, runner.session.stop())?;
            return Ok(runner.fill(writable, size)?);
        }
        Ok(runner.open(&self.place, size, filling)?)
    }

    /// The opened target as a report has it.
    pub(in crate::cli) fn view(&self, target: &Opened) -> TargetView {
        let kind = TargetKind::from(&self.place);
        TargetView { name: self.typed.clone(), kind, size_bytes: target.region().length }
    }
}

/// The place for a path's target. A file is tested in a scratch file beside it, or read itself if `is_read`.
fn place_of(scene: &Scene, common: &Common, is_read: bool) -> Result<Place, Failure> {
    let path = &scene.subject.path;
    match &common.writing {
        Writing { write: true, i_own: Some(own), .. } => Place::owned(path, own),
        _ => Place::of(path, if is_read { Use::Read } else { Use::Scratch }),
    }
    .map_err(|error| no_place(&error))
}

/// Why there is no place, with what to do.
pub(super) fn no_place(error: &NoPlace) -> Failure {
    let hint = match error {
        NoPlace::Directory(_) => "name a large file in it, or leave out --read-only",
        NoPlace::Nothing(_) => "name a device, mount or directory behind it",
        NoPlace::NoDevice(_) => "leave out --write: directories and files are tested in a scratch file",
        NoPlace::TooSmall(_) => return Failure::new(error.to_string()),
        NoPlace::Load(error) => return error.into(),
    };
    Failure::new(error.to_string()).hint(hint)
}

/// A run on an opened target.
pub(in crate::cli) struct Course<'a> {
    pub(in crate::cli) site: &'a Site,
    pub(in crate::cli) runner: &'a Runner<'a>,
    pub(in crate::cli) target: &'a Opened,
    pub(in crate::cli) file: Option<&'a SaveFile>,
}

impl Course<'_> {
    /// Whether nobody wants to stop, and nobody else writes. Nothing is in flight then, so that a single sector of others is seen.
    pub(in crate::cli) fn goes_on(&self) -> bool {
        !self.runner.is_stopped() && self.target.is_alone()
    }

    /// A load judged by its own runs alone.
    pub(in crate::cli) fn judge(&self, outcome: &LoadOutcome) -> (Subject, Verdict) {
        let scene = &self.site.scene;
        let subject = scene.subject.with_runs(self.runner.runs(outcome));
        let verdict = verdict::judge(&scene.machine, std::slice::from_ref(&subject));
        (subject, verdict)
    }

    /// A failure of the engine as the report shows it: with what the machine knows of it now.
    pub(in crate::cli) fn failed(&self, failure: &RunFailure) -> FailedView {
        let path = &self.site.scene.subject.path;
        FailedView::new(&runner::with_what_is_gone(failure, self.runner.root(), path))
    }

    /// A load that could not be begun, with what its error advises.
    pub(in crate::cli) fn not_begun(&self, error: &LoadError) -> FailedView {
        let path = &self.site.scene.subject.path;
        let (failed, hint) = runner::of_error(error, self.runner.root(), path);
        let view = FailedView::new(&failed);
        FailedView { hint: hint.map_or(view.hint, str::to_owned), ..view }
    }

    /// Why `rest` of the tests were not run, if any; `failed` says which one ended all.
    pub(in crate::cli) fn reason(
        &self,
        rest: usize,
        failed: Option<String>,
        [tests, run, others]: [&str; 3],
        is_too_little: bool,
    ) -> Option<String> {
        let why = failed.unwrap_or_else(|| self.runner.why_over(self.target, others, is_too_little));
        let how = match self.file {
            Some(_) => "--resume goes on".to_owned(),
            None => format!("with --save FILE a {run} can be resumed"),
        };
        (rest > 0).then(|| format!("{why}; {rest} {tests} to go; {how}"))
    }

    /// Keeps the report, with what was written until now.
    ///
    /// # Errors
    /// It cannot be written.
    pub(in crate::cli) fn keep<R: SavedRun>(&self, report: &mut R) -> Result<(), Failure> {
        *report.writes() = self.runner.writes().map(|writes| writes.account(self.runner.root()));
        self.file.map_or(Ok(()), |file| file.keep(report))
    }

    /// Makes what was written of a device zero again, whatever came of the tests, and keeps the report. Beside it is what ended
    /// the tests early.
    ///
    /// # Errors
    /// Nothing could be tested.
    pub(in crate::cli) fn end<R: SavedRun>(
        &self,
        came: Result<(R, Option<Failure>), Failure>,
    ) -> Result<(R, Option<Failure>), Failure> {
        let path = self.target.path().display().to_string();
        let mut watching = Watching::new(&path, None);
        let told = &mut |size, step| {
            // Clearing goes on, whatever comes.
            let _ = watching.step(size, step);
        };
        let uncleared = self.runner.clear(self.target, told).err().map(Failure::from);
        // Of two failures the first ends the program, and the other is said before.
        let beside = |failure| {
            uncleared.iter().for_each(output::failure);
            failure
        };
        let (mut report, trouble) = came.map_err(beside)?;
        let trouble = trouble.map(beside).or_else(|| uncleared.clone());
        let unkept = self.keep(&mut report).err();
        Ok((report, trouble.or(unkept)))
    }
}

/// What is said of a test that failed.
pub(in crate::cli) fn failure(name: &str, failed: &FailedView) -> Failure {
    Failure::new(format!("{name} failed: {} ({})", failed.summary, failed.failure.detail)).hint(&failed.hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_one_that_could_be_typed() {
        let second = Nanos::from_millis(1000);
        let target =
            TargetView { name: "/srv".to_owned(), kind: TargetKind::Scratch, size_bytes: Bytes::from_mib(1) };
        let fine = Begun {
            schema: "",
            target: &target,
            precision: 0.02,
            max_time: second,
            fixed: None,
            warm_up: Nanos::new(0),
            writes: None,
        };
        assert_eq!(fine.check(), Ok(()));
        for precision in [f64::NAN, 0.0, -1.0, 2.0] {
            assert!(Begun { precision, ..fine }.check().is_err());
        }
        let most = Nanos::new(u64::MAX);
        for wrong in [
            Begun { max_time: Nanos::new(0), ..fine },
            Begun { fixed: Some(most), ..fine },
            Begun { warm_up: most, ..fine },
        ] {
            assert!(wrong.check().is_err());
        }
    }
}
