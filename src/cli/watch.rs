//! `narrows watch`: the flight recorder, and what its journal says.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use super::values::duration;
use super::{Failure, NOTHING_FOUND, output, signals};
use narrows_load::held::{Aim, Held, HeldError};
use narrows_machine::kept::DIRECTORY;
use narrows_report::watch::{WatchLog, render};
use narrows_watch::file::{KeepError, Store};
use narrows_watch::run::{Options, Source, run as record};

/// How long a recorder may take to do what it is asked: it looks every second, and then reads everything.
const PATIENCE: Duration = Duration::from_secs(10);

/// What `watch` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct WatchArgs {
    /// Show what the journal says, oldest first
    #[arg(long, conflicts_with_all = ["accept", "every"])]
    pub log: bool,

    /// Take the state of every link as it is for its best from now on
    ///
    /// After a card was moved or a slot was split on purpose: what was wider before is then no finding any more. A recorder
    /// that runs is asked to do it, by a file in --state; whether it did is said.
    #[arg(long)]
    pub accept: bool,

    /// The time between readings; what the kernel tells of is read at once
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub every: Duration,

    /// Where the journal and the best states are kept
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    pub state: PathBuf,

    /// With --log: print JSON (schema narrows/watch/1)
    #[arg(long, requires = "log")]
    pub json: bool,
}

/// Watches until a signal ends it, shows the journal, or accepts the state as it is.
///
/// # Errors
/// [`Failure`] when the directory cannot be used.
pub(super) fn run(args: &WatchArgs) -> Result<u8, Failure> {
    if args.log {
        return show(args);
    }
    if args.accept && tell(&args.state)? {
        return Ok(NOTHING_FOUND);
    }
    make(&args.state)?;
    let stop = signals::stop_on_signals()?;
    let options = Options {
        directory: &args.state,
        every: args.every,
        version: env!("CARGO_PKG_VERSION"),
        accept_and_end: args.accept,
    };
    let noted = &mut |text: &str| output::note(text);
    record(&options, Source::live(), &stop, noted).map_err(|error| failure(&error))?;
    if args.accept && !stop.load(Ordering::Relaxed) {
        output::note("narrows: the state of every link that is awake counts as its best from now on");
    }
    Ok(NOTHING_FOUND)
}

fn show(args: &WatchArgs) -> Result<u8, Failure> {
    let store = Store::look(&args.state).map_err(|error| failure(&error))?;
    let (records, damaged) = store.records().map_err(|error| failure(&error))?;
    output::json_or_text(&WatchLog::new(records, damaged), args.json, render)?;
    Ok(NOTHING_FOUND)
}

/// Asks a recorder that runs to accept, and waits until it did; `false` when there is none.
fn tell(directory: &Path) -> Result<bool, Failure> {
    let watcher = Store::look(directory).ok().and_then(|store| store.watcher());
    let Some(watcher) = watcher else { return Ok(false) };
    let store = Store::ask(directory).map_err(|error| failure(&error))?;
    let end = Instant::now() + PATIENCE;
    while store.is_asked() {
        if Instant::now() > end {
            store.unask();
            let text = format!("{watcher} has `{}/lock` and does not take the request", directory.display());
            return Err(Failure::new(text)
                .hint("ask as the user who watches, or end what has the lock and ask again"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    output::note(&format!("narrows: {watcher}, which watches, took the state as it is for the best"));
    Ok(true)
}

/// Makes the directory if it is not there, for this user alone.
fn make(path: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display, hint: Option<&str>| {
        Failure::new(format!("cannot use `{}`: {error}", path.display())).maybe_hint(hint)
    };
    if path.is_dir() {
        return Ok(());
    }
    let place = Held::parent_of(path, Aim::Write).map_err(|error| failed(&error, error.hint()))?;
    let Some((parent, name)) = place else { return Ok(()) };
    match parent.maker().make_directory(name.as_encoded_bytes()) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(failed(&error, Some("run it with sudo, or name a directory of yours: --state DIR")))
        }
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed(&error, None)),
        _ => Ok(()),
    }
}

fn failure(error: &KeepError) -> Failure {
    let missing = matches!(error, KeepError::Directory(HeldError::Io { source, .. }) if source.kind() == ErrorKind::NotFound);
    let none = "nothing was watched there yet: `narrows watch` begins, --state DIR names another place";
    Failure::new(error.to_string()).maybe_hint(if missing { Some(none.to_owned()) } else { error.hint() })
}
