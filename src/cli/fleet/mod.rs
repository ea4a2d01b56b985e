//! `narrows check --from DIR --fleet`: many captures, each of one machine, and what they say together.

mod analyse;
pub mod args;
mod earlier;
mod entries;
mod pool;
mod sink;

#[cfg(feature = "fuzzing")]
pub use earlier::fuzz as fuzz_earlier;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, IsTerminal, LineWriter, Write};
use std::ops::ControlFlow;

use super::args::CheckArgs;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output};
use args::Format;
use narrows_report::fleet::Entry;
use narrows_report::fleet::table::Layout;
use narrows_report::text::Style;
use narrows_verdict::cohort::{Change, changes_since};
use narrows_verdict::cohort::{Host, Tally};
use sink::Sink;

/// The hosts of an earlier run that have not been seen again yet, when there was an earlier run.
type Earlier = Option<BTreeMap<String, Host>>;

/// Analyses every capture, and writes each host as soon as all before it are written. Only counts are kept, so that the
/// number of captures hardly matters for memory.
///
/// # Errors
/// [`Failure`] when a directory or the earlier run cannot be read, or the output cannot be written.
pub(super) fn run(args: &CheckArgs, style: Style) -> Result<u8, Failure> {
    let format = if args.output.json { Format::Jsonl } else { args.fleet.format.unwrap_or_default() };
    let shown = &args.output.shown;
    let is_replaced = shown.markdown || shown.is_page_alone();
    let captures = entries::find(&args.from)?;
    if captures.is_empty() {
        return Err(Failure::new("there are no captures here")
            .hint("--fleet takes a directory with one file, archive or directory for each host"));
    }
    let out = out();
    let mut earlier: Earlier = args.fleet.since.as_deref().map(earlier::read).transpose()?;
    let since = args.fleet.since.as_ref().map(|path| path.display().to_string());
    let longest = captures.iter().map(|capture| capture.host.chars().count()).max().unwrap_or(0);
    let layout = Layout::new(style, longest);
    let format = if is_replaced { None } else { Some(format) };
    let keeps = is_replaced || shown.html.is_some();
    let mut sink = Sink::open(format, layout, since, out, keeps).map_err(|error| unwritable(&error))?;
    let mut tally = Tally::default();
    let mut is_bad = false;
    let mut outcome = Ok(());
    pool::each(&captures, analyse::host, analyse::broken, |host| {
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
        output::fleet(shown, &records)?;
    }
    if summary.unreadable > 0 {
        output::note(&format!(
            "narrows: {} of {} captures could not be read",
            summary.unreadable, summary.hosts
        ));
    }
    Ok(match is_bad {
        _ if summary.unreadable == summary.hosts => FAILED,
        true => FINDINGS,
        false => NOTHING_FOUND,
    })
}

/// Writes a host. Whether it is a reason for exit status 1: a fault or limit, with an earlier run a new or worse one.
fn put<W: Write + Send>(sink: &mut Sink<W>, earlier: &mut Earlier, host: &Host) -> (bool, io::Result<()>) {
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
fn put_gone<W: Write + Send>(sink: &mut Sink<W>, gone: BTreeMap<String, Host>) -> io::Result<()> {
    for host in gone.into_values() {
        // What was found on it went away with it.
        let host = Host { findings: Vec::new(), failure: None, ..host };
        sink.host(&Entry { host: &host, changes: None, change: Some(Change::Gone) })?;
    }
    Ok(())
}

/// Standard output; a terminal sees each line at once.
fn out() -> Box<dyn Write + Send> {
    if io::stdout().is_terminal() {
        Box::new(LineWriter::new(io::stdout()))
    } else {
        Box::new(BufWriter::with_capacity(1 << 16, io::stdout()))
    }
}

fn unwritable(error: &io::Error) -> Failure {
    Failure::new(format!("cannot write to standard output: {error}"))
}
