//! Where tests run: the target before and after it is opened, what may be written there, and the runner with its bar.

use super::MeasureArgs;
use crate::cli::guard;
use crate::cli::signals::end_on_signals;
use crate::cli::{Failure, output, target};
use narrows_base::units::peers::Peer;
use narrows_base::units::{Bytes, Nanos};
use narrows_load::preset::{StopRule, Work};
use narrows_load::target::Target as Opened;
use narrows_runs::measure::{Context, MeasureReport, TargetKind, TargetView};
use narrows_runs::progress::Progress;
use narrows_session::measure::{Command, Timing};
use narrows_session::place::{NoPlace, Place, Use};
use narrows_session::runner::{self, Filling};
use narrows_session::scene::Scene;
use narrows_session::writes::{Account, Wanted, Writes};

/// A runner that shows how far it is.
pub(super) type Runner<'a> = runner::Runner<'a, Progress>;

/// A runner of a command on the path of `scene`, which signals stop.
///
/// # Errors
/// Signals cannot be watched for.
pub(super) fn begin(command: Command, scene: &Scene, writes: Option<Writes>) -> Result<Runner<'_>, Failure> {
    Ok(runner::Runner::begin(command, scene, writes, (Progress::on_stderr(), end_on_signals()?)))
}

/// A target before it is opened: what it is, what may be done there, and how long tests run; a saved run goes on as it began.
pub(super) struct Site {
    /// The target as it was typed.
    pub(super) typed: String,
    pub(super) scene: Scene,
    pub(super) place: Place,
    pub(super) timing: Timing,
    /// How much is filled, and whether that was asked for.
    pub(super) size: (Bytes, bool),
    /// What an earlier part of the run wrote.
    before: Option<Account>,
}

impl Site {
    /// Finds the target, of which `usual` bytes are filled unless another size is asked for, for tests that end by this rule.
    ///
    /// # Errors
    /// There is none, it does not suit what else was asked, or it is not that of the saved run.
    pub(super) fn find(
        args: &MeasureArgs,
        begun: Option<&MeasureReport>,
        (usual, stop): (Bytes, StopRule),
    ) -> Result<Self, Failure> {
        let of_run = begun.map(|begun| &begun.target);
        let typed = args.one()?;
        let typed = match (typed, of_run) {
            (Some(typed), Some(target)) if typed != target.name => {
                return Err(Failure::new(format!("the saved run is of `{}`, not of `{typed}`", target.name))
                    .hint("leave out WHAT to go on with the saved run"));
            }
            (Some(typed), _) => typed.to_owned(),
            (None, Some(target)) => target.name.clone(),
            (None, None) => {
                return Err(Failure::new("name a target").hint("a directory, a mount point or a device"));
            }
        };
        let is_read = args.read_only || of_run.is_some_and(|target| target.kind == TargetKind::File);
        let scene = target::scene(&typed)?;
        let place = place_of(&scene, args, is_read)?;
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
        let timing = args.timing(stop);
        Ok(Self {
            typed,
            scene,
            place,
            timing: begun.map_or(timing, |begun| Timing {
                precision: begun.settings.precision,
                max_time: begun.settings.max_time_ns.duration(),
                fixed: begun.settings.duration_ns.map(Nanos::duration),
                warm_up: begun.settings.warm_up_ns.duration(),
                ..timing
            }),
            size: match of_run {
                Some(target) => (target.size_bytes, true),
                None => (args.size.unwrap_or(usual), args.size.is_some()),
            },
            before: begun.and_then(|begun| begun.writes),
        })
    }

    /// What these tests may write; `None` where the target is only read.
    ///
    /// # Errors
    /// It is too little.
    pub(super) fn writes(&self, args: &MeasureArgs, works: &[Work]) -> Result<Option<Writes>, Failure> {
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
            is_patient: args.max_time.is_some(),
            ..Wanted::of(&self.scene, args.max_writes, is_device, &self.timing)
        })?))
    }

    /// Says what will be written, and begins a runner.
    ///
    /// # Errors
    /// Signals cannot be watched for.
    pub(super) fn begin(&self, command: Command, writes: Option<Writes>) -> Result<Runner<'_>, Failure> {
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
    pub(super) fn open(&self, filling: Filling, runner: &Runner<'_>) -> Result<Opened, Failure> {
        let size = runner.writes().map_or(self.size.0, Writes::size);
        if let Place::Owned { name, own } = &self.place {
            let writable = guard::open_for_writing(runner.root, name, own, size, &runner.session.stop)?;
            return runner.fill(writable, size);
        }
        Ok(runner.open(&self.place, size, filling)?)
    }

    /// The opened target as a report has it.
    pub(super) fn view(&self, target: &Opened) -> TargetView {
        let kind = TargetKind::from(&self.place);
        TargetView { name: self.typed.clone(), kind, size_bytes: target.region().length }
    }
}

/// The place for a path's target. A file is tested in a scratch file beside it, or read itself if `is_read`.
fn place_of(scene: &Scene, args: &MeasureArgs, is_read: bool) -> Result<Place, Failure> {
    let path = &scene.subject.path;
    match &args.i_own {
        Some(own) if args.write => Place::owned(path, own),
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
