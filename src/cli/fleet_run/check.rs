//! `narrows fleet check`: captures of every host over ssh, then what `check --fleet` says of captures.

use std::path::{Path, PathBuf};

use super::args::CheckHosts;
use super::{hosts, kept, pushed, reach};
use crate::cli::args::CheckArgs;
use crate::cli::fleet::args::FleetArgs;
use crate::cli::{FAILED, Failure, fleet, output};
use narrows_load::held::{Aim, Held, Readers};
use narrows_machine::root::Root;
use narrows_session::fleet::inventory::{Inventory, inventory};

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
    let reach = reach(&args.reach)?;
    let pushed = pushed(&args.reach, None)?;
    let root = Root::live();
    let found = inventory(&root, &reach, &names, &pushed, COLLECTOR)
        .map_err(|error| Failure::new(format!("cannot make a directory below /tmp: {error}")))?;
    let place = match &out {
        Some((path, _)) => path.clone(),
        None => found
            .ground
            .directory("captures")
            .map_err(|error| Failure::new(format!("cannot make a directory below /tmp: {error}")))?,
    };
    let missing = keep(&found, &place)?;
    let code = if missing < found.hosts.len() {
        fleet::run(&as_captures(args, place), args.output.style())?
    } else {
        FAILED
    };
    if missing > 0 {
        output::note(&format!("narrows: {missing} of {} hosts could not be read", found.hosts.len()));
        return Ok(FAILED);
    }
    Ok(code)
}

/// Writes the captures; how many hosts have none. Each of those is named with the reason.
fn keep(found: &Inventory, place: &Path) -> Result<usize, Failure> {
    let failed = |error: String| Failure::new(format!("cannot write to `{}`: {error}", place.display()));
    let held = Held::open(place, Aim::Write).map_err(|error| failed(error.to_string()))?;
    let mut missing = 0;
    for (host, capture) in &found.hosts {
        match capture {
            Ok(capture) => {
                if let Some(why) = &capture.collected_because {
                    output::note(&format!(
                        "narrows: {host}: read by the collector in the place of narrows ({}): it tells less",
                        why
                    ));
                }
                let name = format!("{host}.{}", capture.ending);
                held.write_new(name.as_ref(), &capture.bytes, Readers::Us)
                    .map_err(|error| failed(error.to_string()))?;
            }
            Err(error) => {
                missing += 1;
                output::note(&format!("narrows: {host}: {error}"));
            }
        }
    }
    Ok(missing)
}

/// The question as `check --from DIR --fleet` has it.
fn as_captures(args: &CheckHosts, place: PathBuf) -> CheckArgs {
    let fleet = FleetArgs { fleet: true, format: args.format, since: args.since.clone() };
    CheckArgs { from: vec![place], fleet, output: args.output.clone(), ..CheckArgs::default() }
}
