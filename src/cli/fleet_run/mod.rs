//! `narrows fleet check|run|report`: one load on many hosts, and what it says.

pub mod args;
mod kept;
mod on_host;
mod run;

pub(super) use on_host::run as on_host;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::answer::AnswerArgs;
use super::fleet::FleetArgs;
use super::output::OutputArgs;
use super::snapshot::COLLECTOR;
use super::{FAILED, Failure, files, fleet, output, signals, status};
use args::{CheckHosts, FleetCommand, Push, ReachArgs, ReportArgs};
use narrows_base::lists::distinct;
use narrows_load::held::{Aim, Held, Readers};
use narrows_machine::program;
use narrows_machine::root::Root;
use narrows_runs::fleet_run::{self, FleetRunReport};
use narrows_session::fleet::{Ground, HOST, HostName, Launcher, Pushed, Reach, hosts, inventory};

/// No program that is pushed is larger, in bytes.
const LARGEST_PROGRAM: u64 = 512 << 20;

/// Does one of the three.
///
/// # Errors
/// [`Failure`] when it cannot be done.
pub(super) fn command(command: &FleetCommand) -> Result<u8, Failure> {
    match command {
        FleetCommand::Check(args) => check(args),
        FleetCommand::Run(args) => run::start(args),
        FleetCommand::Report(args) => report(args),
    }
}

/// `narrows fleet check`: captures of every host over ssh, then what `check --fleet` says of captures.
fn check(args: &CheckHosts) -> Result<u8, Failure> {
    let clients = hosts(&args.reach.hosts)?;
    let servers = args.servers.as_deref().map(hosts).transpose()?.unwrap_or_default();
    let names = distinct(clients.into_iter().chain(servers));
    let out = args.out.as_deref().map(kept::new_directory).transpose()?;
    let (stop, ends_at_once) = signals::stop_and_end_on_signals()?;
    let reach = reach(&args.reach, &stop)?;
    let pushed = pushed(&args.reach)?;
    let ground = Ground::make(&Root::live()).map_err(below_tmp)?;
    let held = match out {
        Some(held) => held,
        None => {
            let place = ground.directory("captures").map_err(below_tmp)?;
            Held::open(&place, Aim::Write).map_err(|error| Failure::new(unwritten(&place, &error)))?
        }
    };
    let keep = |name: &str, bytes: &[u8]| {
        held.write_new(name.as_ref(), bytes, Readers::Us).map_err(|error| unwritten(held.path(), &error))
    };
    let found = inventory(&ground, &reach, &names, (&pushed, COLLECTOR), keep);
    // Comparing what was taken leaves nothing behind.
    ends_at_once.store(true, Ordering::SeqCst);
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::new("interrupted; no captures were compared"));
    }
    for (host, found) in names.iter().zip(&found) {
        match found {
            Ok(None) => {}
            Ok(Some(why)) => output::note(&format!(
                "narrows: {host}: read by the collector in the place of narrows ({why}): it tells less"
            )),
            Err(error) => output::note(&format!("narrows: {host}: {error}")),
        }
    }
    let missing = found.iter().filter(|found| found.is_err()).count();
    let code = if missing < names.len() {
        let fleet = FleetArgs { fleet: true, since: args.since.clone() };
        let (csv, output) = (args.csv, args.output.clone());
        fleet::run(&AnswerArgs { csv, fleet, output, ..AnswerArgs::default() }, &[held.path().to_owned()])?
    } else {
        FAILED
    };
    if missing > 0 {
        output::note(&format!("narrows: {missing} of {} hosts could not be read", names.len()));
        return Ok(FAILED);
    }
    Ok(code)
}

fn unwritten(place: &Path, error: &dyn std::fmt::Display) -> String {
    format!("cannot write to `{}`: {error}", place.display())
}

fn below_tmp(error: std::io::Error) -> Failure {
    Failure::new(format!("cannot make a directory below /tmp: {error}"))
}

/// `narrows fleet report`: a run again, from its directory alone.
fn report(args: &ReportArgs) -> Result<u8, Failure> {
    let (run, files) = kept::read(&args.directory)?;
    let report = fleet_run::build(&run, &files, args.output.shown.plain);
    show(&report, args.csv, &args.output, args.partial)
}

/// The hosts of what was typed: a list, a file, or a group of ClusterShell.
fn hosts(typed: &str) -> Result<Vec<HostName>, Failure> {
    const HINT: &str =
        "name hosts as ssh knows them: c[01-60], root@10.0.0.5, a file with one in each line, or @group";
    let text = match typed.strip_prefix('@') {
        Some(group) => group_of(group)?,
        None if Path::new(typed).is_file() => files::text(Path::new(typed), 1 << 20, HINT)?,
        None => typed.to_owned(),
    };
    hosts::parse(&text).map_err(|error| Failure::new(format!("--hosts and --servers: {error}")).hint(HINT))
}

/// The hosts of a group, as ClusterShell's `nodeset` knows them.
fn group_of(group: &str) -> Result<String, Failure> {
    let is_word = group.chars().all(|c| c.is_ascii_alphanumeric() || "._:-".contains(c)) && !group.is_empty();
    let root = Root::live();
    let missing = || {
        Failure::new(format!("the group @{group} is not known"))
            .hint("groups are those of ClusterShell (package clustershell); or write the hosts into a file and name it")
    };
    let mut command = program::command(&root, "nodeset").filter(|_| is_word).ok_or_else(missing)?;
    let said = command.args(["-e", &format!("@{group}")]).output().map_err(|_| missing())?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    (said.status.success() && !text.trim().is_empty()).then_some(text).ok_or_else(missing)
}

/// How hosts are reached, until `stop` is raised. What runs for us works in another directory.
fn reach(args: &ReachArgs, stop: &Arc<AtomicBool>) -> Result<Reach, Failure> {
    // Where whoever started us ignores it, the number of a child that ended is another's before it was waited for.
    signal_hook::flag::register(signal_hook::consts::SIGCHLD, Arc::default())
        .map_err(|error| Failure::new(format!("cannot watch for signals: {error}")))?;
    let whole = |path: &PathBuf| {
        std::path::absolute(path)
            .map_err(|error| Failure::new(format!("cannot find `{}`: {error}", path.display())))
    };
    let launcher = args.launcher.as_deref().map(|text| Launcher::new(&Root::live(), text)).transpose();
    let launcher = launcher.map_err(|error| {
        let example = format!("--launcher 'srun --overlap -N1 -n1 -w {HOST}'");
        Failure::new(format!("--launcher: {error}"))
            .hint(format!("name a program and where the host goes: {example}"))
    })?;
    let ssh_config = args.ssh_config.as_ref().map(whole).transpose()?;
    Ok(Reach { ssh_config, launcher, stop: stop.clone() })
}

/// What is pushed to hosts.
fn pushed(reach: &ReachArgs) -> Result<Pushed, Failure> {
    let (mut narrows, mut fio) = (Path::new("/proc/self/exe"), None);
    for push in &reach.push {
        match push {
            Push::Narrows(file) => narrows = file,
            Push::Fio(file) => fio = Some(file.as_path()),
        }
    }
    Ok(Pushed::new(pushable(narrows)?, fio.map(pushable).transpose()?.unwrap_or_default()))
}

fn pushable(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(format!("cannot read `{}`: {error}", path.display()))
            .hint("name a program that you may read")
    };
    let mut bytes = Vec::new();
    #[expect(clippy::disallowed_methods, reason = "this program, or one that was named on the command line")]
    let file = File::open(path).map_err(unreadable)?;
    file.take(LARGEST_PROGRAM).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.is_empty() {
        return Err(Failure::new(format!("`{}` is empty", path.display())).hint("name a program"));
    }
    Ok(bytes)
}

/// Prints a report as it was asked for, and says how the program ends.
fn show(report: &FleetRunReport, csv: bool, asked: &OutputArgs, partial: bool) -> Result<u8, Failure> {
    if csv {
        output::data(&fleet_run::csv::render(report))?;
    } else {
        output::report(report, asked, fleet_run::document)?;
    }
    let has_result = report.points.iter().any(|point| point.bytes_per_second.is_some());
    Ok(status(report.complete || partial && has_result, report.has_findings() || !report.complete))
}
