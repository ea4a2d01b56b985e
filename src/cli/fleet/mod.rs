//! `narrows DIR`: many captures, each of one machine, and what they say together.

mod earlier;
pub(super) mod entries;
mod pool;
mod sink;

#[cfg(feature = "fuzzing")]
pub use earlier::fuzz as fuzz_earlier;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, IsTerminal, LineWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;

use super::answer::AnswerArgs;
use super::{Failure, facts, output, status};
use entries::Capture;
use narrows_report::fleet::table::{self, Layout};
use narrows_report::fleet::{Entry, build};
use narrows_verdict::cohort::{Change, Host, Tally, changes_since};
use sink::{Form, Sink};

/// What is asked of many captures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct FleetArgs {
    /// Take each WHAT, and each entry of a directory, for a machine of its own
    #[arg(
        long,
        requires = "what",
        conflicts_with_all = ["why", "path", "reply", "machine"]
    )]
    pub fleet: bool,

    /// With captures: what is new, changed and gone since this earlier run or directory
    #[arg(long, value_name = "PATH", requires = "what")]
    pub since: Option<PathBuf>,
}

/// The hosts of an earlier run that have not been seen again yet, when there was an earlier run.
type Earlier = Option<BTreeMap<String, Host>>;

/// Analyses every capture, and writes each host as soon as all before it are written. Only counts are kept, so that the
/// number of captures hardly matters for memory.
///
/// # Errors
/// [`Failure`] when a rule is asked, a directory or the earlier run cannot be read, or the output cannot be written.
pub(super) fn run(args: &AnswerArgs, captures: &[PathBuf]) -> Result<u8, Failure> {
    args.rules.refuse("many machines")?;
    let shown = &args.output.shown;
    let captures = entries::find(captures)?;
    if captures.is_empty() {
        return Err(Failure::new("there are no captures here")
            .hint("name a directory with one file, archive or directory for each host"));
    }
    // A terminal sees each line at once.
    let out: Box<dyn Write> = match io::stdout().is_terminal() {
        true => Box::new(LineWriter::new(io::stdout())),
        false => Box::new(BufWriter::with_capacity(1 << 16, io::stdout())),
    };
    let mut earlier: Earlier = args.fleet.since.as_deref().map(earlier::read).transpose()?;
    let since = args.fleet.since.as_ref().map(|path| path.display().to_string());
    let longest = captures.iter().map(|capture| capture.host.chars().count()).max().unwrap_or(0);
    let layout = Layout::new(shown.style(), longest);
    let form = match (args.output.json, args.csv) {
        _ if shown.is_page_alone() => Form::Nothing,
        (true, _) => Form::Jsonl,
        (false, true) => Form::Csv,
        (false, false) => Form::Table(layout),
    };
    let mut sink = Sink::open(out, form, since, shown.html.is_some()).map_err(|error| unwritable(&error))?;
    let mut tally = Tally::default();
    let mut is_bad = false;
    let mut outcome = Ok(());
    pool::each(&captures, analysed, broken, |host| {
        tally.add(&host);
        let (is_worse, written) = put(&mut sink, &mut earlier, &host);
        is_bad |= is_worse;
        outcome = written;
        if outcome.is_ok() && sink.is_open() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
    outcome
        .and_then(|()| put_gone(&mut sink, earlier.unwrap_or_default()))
        .map_err(|error| unwritable(&error))?;
    let summary = tally.summary();
    let kept = sink.finish(tally.groups(), tally.outliers(), summary).map_err(|error| unwritable(&error))?;
    if let Some(records) = kept {
        // What its hosts are called stays: that is what it is about.
        output::page(shown, || vec![table::document(&records)])?;
    }
    if summary.unreadable > 0 {
        let (unreadable, hosts) = (summary.unreadable, summary.hosts);
        output::note(&format!("narrows: {unreadable} of {hosts} captures could not be read"));
    }
    Ok(status(summary.unreadable < summary.hosts, is_bad))
}

/// Writes a host. Whether it is a reason for exit status 1: a fault or limit, with an earlier run a new or worse one.
fn put<W: Write>(sink: &mut Sink<W>, earlier: &mut Earlier, host: &Host) -> (bool, io::Result<()>) {
    let Some(earlier) = earlier else {
        let entry = Entry { host, changes: None, change: None };
        return (host.has_faults_or_limits(), sink.host(&entry));
    };
    let before = earlier.remove(&host.host);
    let changes = changes_since(before.as_ref(), host);
    let word = if before.is_some() { Change::Same } else { Change::New };
    let entry = Entry { host, changes: Some(&changes), change: Some(word) };
    (changes.is_worse(before.as_ref(), host), sink.host(&entry))
}

/// Writes the hosts of the earlier run of which there is no capture any more.
fn put_gone<W: Write>(sink: &mut Sink<W>, gone: BTreeMap<String, Host>) -> io::Result<()> {
    for host in gone.into_values() {
        // What was found on it went away with it.
        let host = Host { findings: Vec::new(), failure: None, ..host };
        sink.host(&Entry { host: &host, changes: None, change: Some(Change::Gone) })?;
    }
    Ok(())
}

fn unwritable(error: &io::Error) -> Failure {
    Failure::new(format!("cannot write to standard output: {error}"))
}

/// Reads a capture and judges its machine as `narrows FILE` does. What is wrong with it is said in the host.
fn analysed(capture: &Capture) -> Host {
    let path = match &capture.place {
        Ok(path) => path,
        Err(why) => return build::failed(&capture.host, why),
    };
    let facts = match facts::machine_of(path) {
        Ok(facts) => facts,
        Err(failure) => return build::failed(&capture.host, &failure.message),
    };
    let mut notes = facts.notes.clone();
    notes.extend(facts::unseen(&facts.root, &facts.machine).into_iter().map(|unseen| unseen.message));
    let (subjects, verdict) = narrows_answer::judge(&facts.machine);
    build::host(&capture.host, &facts.machine, &subjects, &verdict, &notes)
}

/// A host whose capture narrows itself could not stand.
fn broken(capture: &Capture) -> Host {
    build::failed(&capture.host, "narrows failed on this capture, which is a bug; please report it")
}
