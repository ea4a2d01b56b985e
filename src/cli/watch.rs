//! `narrows watch`: the flight recorder, what its journal says, and what is found now for systems that watch many machines.

use std::io::{self, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;

use super::values::duration;
use super::{FAILED, Failure, NOTHING_FOUND, facts, files, output, signals};
use narrows_load::held::{Aim, Held, HeldError};
use narrows_machine::kept::DIRECTORY;
use narrows_report::{prometheus, view};
use narrows_runs::watch::{self, WatchLog, render};
use narrows_watch::file::{KeepError, Store};
use narrows_watch::record::Record;
use narrows_watch::run::{Options, Outlets, Source, run as record};

/// How long a recorder may take to do what it is asked: it looks every second, and then reads everything.
const PATIENCE: Duration = Duration::from_secs(10);

/// What `watch` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct WatchArgs {
    /// Show what the journal says, oldest first
    #[arg(long, conflicts_with_all = ["accept", "interval"])]
    pub log: bool,

    /// Take the state of every link as it is for its best from now on
    #[arg(long)]
    pub accept: bool,

    /// The time between readings; what the kernel tells of is read at once
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub interval: Duration,

    /// Write what is found now for Prometheus to FILE (- is standard output), in the place of what was there, and end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["log", "accept", "interval"])]
    pub export: Option<PathBuf>,

    /// With --export: a record or captures in the place of this machine
    #[arg(value_name = "WHAT", requires = "export")]
    pub what: Vec<PathBuf>,

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
    if let Some(file) = &args.export {
        return export(file, &args.what);
    }
    if args.accept && tell(&args.state)? {
        return Ok(NOTHING_FOUND);
    }
    make(&args.state)?;
    let stop = signals::stop_on_signals()?;
    let options = Options {
        directory: &args.state,
        every: args.interval,
        version: env!("CARGO_PKG_VERSION"),
        accept_and_end: args.accept,
    };
    // A service has its journal; who looks on sees each record as it comes.
    let is_seen = io::stdout().is_terminal();
    let told = Outlets {
        note: &mut |text| output::note(text),
        record: &mut |one: &Record| {
            if let Some(line) = watch::line(one).filter(|_| is_seen) {
                // A terminal that is gone ends it by a signal.
                let _ = output::lines([line]);
            }
        },
    };
    record(&options, Source::live(), &stop, told).map_err(|error| failure(&error))?;
    if args.accept && !stop.load(Ordering::Relaxed) {
        output::note("narrows: the state of every link that is awake counts as its best from now on");
    }
    Ok(NOTHING_FOUND)
}

/// Writes what is found now.
fn export(file: &Path, what: &[PathBuf]) -> Result<u8, Failure> {
    let facts = facts::open_gently(what)?;
    facts.notes.iter().for_each(output::remark);
    let unseen = facts::unseen(&facts.root, &facts.machine);
    unseen.iter().for_each(output::failure);
    let (subjects, verdict) = narrows_answer::judge(&facts.machine);
    let report = view::build(&facts.machine, &subjects, &verdict);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let families = prometheus::of_check(&facts.machine, &report, since_1970.as_secs() as f64);
    let text = prometheus::render(&families);
    match file.as_os_str() == "-" {
        true => output::data(&text)?,
        false => files::replace(file, &text)?,
    }
    Ok(if unseen.is_empty() { NOTHING_FOUND } else { FAILED })
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
        Failure::new(format!("cannot use `{}`: {error}", path.display())).hints(hint)
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
    Failure::new(error.to_string()).hints(if missing { Some(none.to_owned()) } else { error.hint() })
}
