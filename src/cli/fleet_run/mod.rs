//! `narrows fleet check|run|report`: one load on many hosts, and what it says.

pub mod args;
mod check;
mod drives;
mod kept;
mod on_host;
mod report;
mod run;

pub(super) use on_host::run as on_host;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::output_args::OutputArgs;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output};
use args::{FleetCommand, ReachArgs};
use narrows_paste::capture::foreign;
use narrows_report::fleet_run::{self, FleetRunReport};
use narrows_session::fleet::{HOST, HostName, Launcher, Pushed, Reach, hosts};

/// No program that is pushed is larger, in bytes.
const LARGEST_PROGRAM: u64 = 512 << 20;

/// Does one of the three.
///
/// # Errors
/// [`Failure`] when it cannot be done.
pub(super) fn command(command: &FleetCommand) -> Result<u8, Failure> {
    match command {
        FleetCommand::Check(args) => check::run(args),
        FleetCommand::Run(args) => run::start(args),
        FleetCommand::Report(args) => report::run(args),
    }
}

/// The hosts of what was typed: a list, a file, or a group of ClusterShell.
fn hosts(typed: &str) -> Result<Vec<HostName>, Failure> {
    const HINT: &str =
        "name hosts as ssh knows them: c[01-60], root@10.0.0.5, a file with one in each line, or @group";
    let refused =
        |error: hosts::HostError| Failure::new(format!("--hosts and --servers: {error}")).hint(HINT);
    if let Some(group) = typed.strip_prefix('@') {
        return hosts::parse(&group_of(group)?).map_err(refused);
    }
    let path = Path::new(typed);
    if path.is_file() {
        let text = foreign::text(path, 1 << 20)
            .map_err(|error| Failure::new(format!("cannot read `{typed}`: {error}")).hint(HINT))?;
        return hosts::parse(&text).map_err(refused);
    }
    hosts::parse(typed).map_err(refused)
}

/// The hosts of a group, as ClusterShell's `nodeset` knows them.
fn group_of(group: &str) -> Result<String, Failure> {
    let is_word = group.chars().all(|c| c.is_ascii_alphanumeric() || "._:-".contains(c)) && !group.is_empty();
    let root = narrows_machine::root::Root::live();
    let missing = || {
        Failure::new(format!("the group @{group} is not known"))
            .hint("groups are those of ClusterShell (package clustershell); or write the hosts into a file and name it")
    };
    let mut command =
        narrows_machine::program::command(&root, "nodeset").filter(|_| is_word).ok_or_else(missing)?;
    let output = command.args(["-e", &format!("@{group}")]).output().map_err(|_| missing())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success() && !text.trim().is_empty()).then_some(text).ok_or_else(missing)
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
    let root = narrows_machine::root::Root::live();
    let launcher = args.launcher.as_deref().map(|text| Launcher::new(&root, text)).transpose();
    let launcher = launcher.map_err(|error| {
        Failure::new(format!("--launcher: {error}")).hint(format!(
            "name a program and where the host goes: --launcher 'srun --overlap -N1 -n1 -w {HOST}'"
        ))
    })?;
    let ssh_config = args.ssh_config.as_ref().map(whole).transpose()?;
    Ok(Reach { ssh_config, launcher, stop: stop.clone() })
}

/// What is pushed to hosts.
fn pushed(reach: &ReachArgs, fio: Option<&Path>) -> Result<Pushed, Failure> {
    let itself = Path::new("/proc/self/exe");
    let narrows = program(reach.push_narrows.as_deref().unwrap_or(itself))?;
    let fio = fio.map(program).transpose()?.unwrap_or_default();
    Ok(Pushed::new(narrows, fio))
}

fn program(path: &Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let unreadable = |error: std::io::Error| {
        Failure::new(format!("cannot read `{}`: {error}", path.display()))
            .hint("name a program that you may read")
    };
    let mut bytes = Vec::new();
    #[expect(clippy::disallowed_methods, reason = "this program, or one that was named on the command line")]
    let file = std::fs::File::open(path).map_err(unreadable)?;
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
    Ok(match (report.complete, partial && has_result) {
        (true, _) if !report.has_findings() => NOTHING_FOUND,
        (true, _) | (false, true) => FINDINGS,
        (false, false) => FAILED,
    })
}
