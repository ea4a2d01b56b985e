//! `narrows fleet check`: captures of every host over ssh, then what `check --fleet` says of captures.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::args::CheckHosts;
use super::{hosts, kept, pushed, reach};
use crate::cli::args::CheckArgs;
use crate::cli::fleet::args::FleetArgs;
use crate::cli::{FAILED, Failure, fleet, output, signals};
use narrows_load::held::{Aim, Held, Readers};
use narrows_machine::root::Root;
use narrows_session::fleet::inventory;
use narrows_session::fleet::{Ground, HostName, LinkError};

/// The collector for hosts on which narrows cannot run.
const COLLECTOR: &str = include_str!("../collect.sh");

pub(super) fn run(args: &CheckHosts) -> Result<u8, Failure> {
    let mut names = hosts(&args.reach.hosts)?;
    for server in args.servers.as_deref().map(hosts).transpose()?.unwrap_or_default() {
        if !names.contains(&server) {
            names.push(server);
        }
    }
    let out = args.out.as_deref().map(kept::new_directory).transpose()?;
    let (stop, ends_at_once) = signals::stop_and_end_on_signals()?;
    let reach = reach(&args.reach, &stop)?;
    let pushed = pushed(&args.reach, None)?;
    let below_tmp = |error| Failure::new(format!("cannot make a directory below /tmp: {error}"));
    let ground = Ground::make(&Root::live()).map_err(below_tmp)?;
    let place = match out {
        Some((path, _)) => path,
        None => ground.directory("captures").map_err(below_tmp)?,
    };
    let failed = |error: &dyn std::fmt::Display| format!("cannot write to `{}`: {error}", place.display());
    let held = Held::open(&place, Aim::Write).map_err(|error| Failure::new(failed(&error)))?;
    let keep = |name: &str, bytes: &[u8]| {
        held.write_new(name.as_ref(), bytes, Readers::Us).map_err(|error| failed(&error))
    };
    let found = inventory(&ground, &reach, &names, (&pushed, COLLECTOR), keep);
    // Comparing what was taken leaves nothing behind.
    ends_at_once.store(true, Ordering::SeqCst);
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::new("interrupted; no captures were compared"));
    }
    let missing = tell(&names, &found);
    let code = if missing < names.len() {
        fleet::run(&as_captures(args, place), args.output.style())?
    } else {
        FAILED
    };
    if missing > 0 {
        output::note(&format!("narrows: {missing} of {} hosts could not be read", names.len()));
        return Ok(FAILED);
    }
    Ok(code)
}

/// Says what is missing or tells less, with the reason; how many hosts have no capture.
fn tell(hosts: &[HostName], found: &[Result<Option<String>, LinkError>]) -> usize {
    for (host, found) in hosts.iter().zip(found) {
        match found {
            Ok(None) => {}
            Ok(Some(why)) => output::note(&format!(
                "narrows: {host}: read by the collector in the place of narrows ({why}): it tells less"
            )),
            Err(error) => output::note(&format!("narrows: {host}: {error}")),
        }
    }
    found.iter().filter(|found| found.is_err()).count()
}

/// The question as `check --from DIR --fleet` has it.
fn as_captures(args: &CheckHosts, place: PathBuf) -> CheckArgs {
    let fleet = FleetArgs { fleet: true, format: args.format, since: args.since.clone() };
    CheckArgs { from: vec![place], fleet, output: args.output.clone(), ..CheckArgs::default() }
}
