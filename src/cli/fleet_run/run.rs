//! `narrows fleet run`: everything that must hold before load, then the runs, then the report from what was kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::args::{FleetPattern, FleetPreset, RunArgs};
use super::{drives, hosts, kept, pushed, reach, show};
use crate::cli::bench::save::refuse_existing;
use crate::cli::signals::stop_on_signals;
use crate::cli::{Failure, output};
use narrows_base::units::{Bytes, human};
use narrows_machine::root::Root;
use narrows_paste::capture::foreign;
use narrows_report::fleet_run::build;
use narrows_session::fleet::{Asked, Fleet, HostName, Preflight, Said, objections};
use narrows_verdict::fleet::record::{Load, State};

pub(super) fn start(args: &RunArgs) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let asked = asked(args, &stop)?;
    output::check_page(&args.output.shown)?;
    let pushed = pushed(&args.reach, args.push_fio.as_deref())?;
    let root = Root::live();
    if narrows_machine::program::find(&root, "fio").is_none() && nix::unistd::geteuid().is_root() {
        return Err(Failure::new("fio is not installed here")
            .hint("install the package fio, in the version of the hosts"));
    }
    refuse_existing(&args.out)?;
    let (mut fleet, told) = Fleet::open(&root, &asked, &pushed)
        .map_err(|error| Failure::new(format!("cannot make a directory below /tmp: {error}")))?;
    let is_stopped = || stop.load(Ordering::Relaxed).then(|| Failure::new("interrupted; no load was run"));
    let missing = match is_stopped().map_or_else(|| preflight(args, &asked, &told), Err) {
        Ok(missing) => missing,
        Err(failure) => {
            fleet.close(Vec::new(), None);
            return Err(failure);
        }
    };
    let (path, held) = kept::new_directory(&args.out)?;
    layout(&asked, &told);
    let mut lost = Vec::new();
    if !stop.load(Ordering::Relaxed) {
        for (client, error) in fleet.prepare() {
            let host = asked.clients.get(client).map(HostName::as_str).unwrap_or_default();
            lost.push(host.to_owned());
            output::note(&format!("narrows: {host}: {error}"));
        }
    }
    if !lost.is_empty() && !args.partial {
        let names = lost.iter().map(String::as_str);
        return Err(Failure::new(format!(
            "no load was run: {} cannot take part",
            narrows_report::fleet_run::folded(names)
        ))
        .hint("mend them, leave them out of --hosts, or go on without them: --partial"));
    }
    if args.network_leg && !stop.load(Ordering::Relaxed) {
        network_leg(&mut fleet);
    }
    let (points, interrupted) = points(&mut fleet, &asked, &stop, &path)?;
    let (clients, servers) = fleet.samples(say_left_out);
    let mut run = fleet.close(points, interrupted);
    note_missing(&mut run, &missing, &lost);
    if let Some(target) = args.drives_leg.as_deref().filter(|_| !stop.load(Ordering::Relaxed)) {
        run.drives_leg = Some(drives::measure(args, (&asked, target), &pushed, &stop, &path));
    }
    kept::whole(&path, &held, &run, (&clients, &servers))?;
    let (run, files) = kept::read(&path)?;
    let report = build(&run, &files, args.output.shown.is_public());
    show(&report, args.csv, &args.output, args.partial)
}

/// Says of a host that not all of its samples are kept.
pub(super) fn say_left_out(host: &HostName, bytes: usize) {
    output::note(&format!(
        "narrows: {host}: {} of samples were left out: what it did at the end is not known",
        human::bytes(Bytes::new(bytes as u64))
    ));
}

/// The network alone, and who did not take part in that.
fn network_leg(fleet: &mut Fleet<'_>) {
    output::note("narrows: the network alone: each server opens a port for the clients");
    let leg = fleet.measure_network();
    for opened in &leg.opened {
        output::note(&format!("narrows: it was open: {opened}"));
    }
    for lost in &leg.lost {
        output::note(&format!("narrows: {} took no part in it: {}", lost.host, lost.reason));
    }
}

/// All loads, one after the other; what hosts brought back is kept after each.
fn points(
    fleet: &mut Fleet<'_>,
    asked: &Asked,
    stop: &AtomicBool,
    path: &Path,
) -> Result<(Vec<narrows_verdict::fleet::record::PointRecord>, Option<String>), Failure> {
    let names: Vec<&str> = asked.clients.iter().map(HostName::as_str).collect();
    let say = |said: Said<'_>| tell(said, &names);
    let mut records = Vec::new();
    let mut number = 0;
    for load in &asked.loads {
        for is_proof in [false, true].into_iter().take(if asked.prove { 2 } else { 1 }) {
            if stop.load(Ordering::Relaxed) {
                return Ok((records, Some("it was interrupted".to_owned())));
            }
            number += 1;
            let (point, is_interrupted) = fleet.run(number, load, is_proof, stop, &say);
            kept::point(path, &point)?;
            records.push(point.record);
            if is_interrupted {
                return Ok((records, Some("it was interrupted".to_owned())));
            }
        }
    }
    Ok((records, None))
}

fn tell(said: Said<'_>, names: &[&str]) {
    match said {
        Said::Step(text) => output::note(&format!("narrows: {text}")),
        Said::Lost { client, state, reason, after } => {
            let host = names.get(client).copied().unwrap_or("?");
            output::note(&format!(
                "narrows: {host} is {}, {} after the start: {}",
                State::as_str(state),
                human::time(after),
                reason
            ));
        }
    }
}

/// Says what every host is, and refuses what cannot be run. The hosts that are left out with --partial.
fn preflight(args: &RunArgs, asked: &Asked, told: &[Preflight]) -> Result<Vec<String>, Failure> {
    let mut missing = Vec::new();
    for host in told {
        if let Err(error) = &host.looked {
            let role = if host.is_client { "" } else { " (server)" };
            output::note(&format!("narrows: {}{role}: {}", host.host, error));
            missing.push(host.host.to_string());
        }
    }
    let objections = objections(asked, told);
    for (host, why) in &objections {
        output::note(&format!("narrows: {host}: {why}"));
    }
    let folded = |names: &[String]| narrows_report::fleet_run::folded(names.iter().map(String::as_str));
    if !objections.is_empty() {
        let hosts: Vec<String> = objections.iter().map(|(host, _)| host.clone()).collect();
        return Err(Failure::new(format!(
            "no load was run: {} cannot take part as they are",
            folded(&hosts)
        ))
        .hint("what speaks against each host stands above"));
    }
    if missing.len() == told.len() || (!missing.is_empty() && !args.partial) {
        return Err(Failure::new(format!("no load was run: {} cannot take part", folded(&missing)))
            .hint("mend them, leave them out of --hosts, or go on without them: --partial"));
    }
    Ok(missing)
}

/// Announces what will be written, before it is.
pub(super) fn layout(asked: &Asked, told: &[Preflight]) {
    use narrows_session::fleet::hosts::FoundKind;
    let mut count = 0u64;
    for host in told.iter().filter(|host| host.is_client) {
        let Ok(looked) = &host.looked else { continue };
        if let Some(Ok(found)) = &looked.look.target
            && found.kind == FoundKind::Directory
        {
            count += 1;
            if count <= 3 {
                output::note(&format!(
                    "narrows: {}: a file without a name, {}, in {}",
                    host.host,
                    human::bytes(asked.size),
                    found.name
                ));
            }
        }
    }
    if count > 0 {
        let total = Bytes::new(asked.size.get().saturating_mul(count));
        output::note(&format!(
            "narrows: {count} hosts write {} in all before the start",
            human::bytes(total)
        ));
    }
}

/// A host that did not take part is missing in every run.
fn note_missing(run: &mut narrows_verdict::fleet::record::Run, missing: &[String], lost: &[String]) {
    use narrows_verdict::fleet::record::HostOutcome;
    for point in &mut run.points {
        for (client, host) in run.clients.iter().enumerate() {
            let is_gone = missing.contains(&host.host) || lost.contains(&host.host);
            if is_gone && !point.hosts.iter().any(|outcome| outcome.client == client) {
                let state = if missing.contains(&host.host) { State::Unreachable } else { State::Failed };
                let reason = Some("it did not take part".to_owned());
                point.hosts.push(HostOutcome { client, state, reason, known_after_ns: None });
            }
        }
    }
}

fn asked(args: &RunArgs, stop: &Arc<AtomicBool>) -> Result<Asked, Failure> {
    let clients = hosts(&args.reach.hosts)?;
    let servers = args.servers.as_deref().map(hosts).transpose()?.unwrap_or_default();
    if let Some(both) = servers.iter().find(|server| clients.contains(server)) {
        return Err(Failure::new(format!("{both} is in --hosts and in --servers"))
            .hint("a host that puts load on is watched anyway: leave it out of --servers"));
    }
    let map = args.target_map.as_deref().map(target_map).transpose()?.unwrap_or_default();
    let target = |host: &HostName| {
        map.get(host.as_str()).or(args.target.as_ref()).cloned().ok_or_else(|| {
            Failure::new(format!("no target is named for {host}"))
                .hint("add it to the map, or name one for all: --target")
        })
    };
    if let Some(other) = map.keys().find(|name| !clients.iter().any(|host| host.as_str() == name.as_str())) {
        return Err(Failure::new(format!("the map names `{other}`, which is not in --hosts"))
            .hint("write the host as it stands in --hosts"));
    }
    let targets = clients.iter().map(target).collect::<Result<Vec<_>, _>>()?;
    let loads = loads(args);
    if !args.write && loads.iter().any(|load| load.read_percent < 100) {
        return Err(Failure::new("--mix has less than 100 % reads, and nothing is written without --write")
            .hint("add --write: it writes to scratch files alone"));
    }
    Ok(Asked {
        clients,
        servers,
        targets,
        loads,
        size: args.size,
        prove: args.prove,
        seed: args.seed.unwrap_or_else(seed),
        reach: reach(&args.reach, stop)?,
    })
}

fn seed() -> u64 {
    let mut bytes = [0; 4];
    // Without random numbers every run has the same addresses, which is no fault of the run.
    let _ = getrandom::fill(&mut bytes);
    u64::from(u32::from_le_bytes(bytes))
}

fn target_map(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    const HINT: &str = "each line is `\"host\" = \"target\"`";
    let text = foreign::text(path, 4 << 20)
        .map_err(|error| Failure::new(format!("cannot read `{}`: {error}", path.display())).hint(HINT))?;
    toml::from_str(&text).map_err(|error| {
        Failure::new(format!("`{}` is no map of targets: {}", path.display(), error.message())).hint(HINT)
    })
}

/// The loads of a preset with what was typed in the place of its own, all with all.
fn loads(args: &RunArgs) -> Vec<Load> {
    let kib = Bytes::from_kib;
    let (sizes, depth, jobs, is_random, mixes): (Vec<Bytes>, u32, Vec<u32>, bool, Vec<u8>) = match args.preset
    {
        FleetPreset::Seq1m => (vec![kib(1024)], 8, vec![1], false, vec![100]),
        FleetPreset::Rand4k => (vec![kib(4)], 32, vec![4], true, vec![100]),
        FleetPreset::Threads => (vec![kib(1024)], 1, vec![1, 2, 4, 8, 16, 32, 64], false, vec![100]),
        FleetPreset::Blocks => {
            let mixes = if args.write { vec![100, 70, 0] } else { vec![100] };
            ([4, 8, 16, 32, 64, 128, 256, 512].map(kib).to_vec(), 8, vec![4], true, mixes)
        }
    };
    fn typed<T: Clone>(typed: &[T], own: Vec<T>) -> Vec<T> {
        if typed.is_empty() { own } else { typed.to_vec() }
    }
    let (sizes, jobs, mixes) = (typed(&args.bs, sizes), typed(&args.jobs, jobs), typed(&args.mix, mixes));
    let depths = typed(&args.depth, vec![depth]);
    let is_random = args.pattern.map_or(is_random, |pattern| pattern == FleetPattern::Random);
    let mut loads = Vec::new();
    for block_size in sizes {
        for read_percent in &mixes {
            for jobs in &jobs {
                loads.extend(depths.iter().map(|depth| Load {
                    block_size,
                    depth: *depth,
                    jobs: *jobs,
                    read_percent: *read_percent,
                    is_random,
                    time_ns: args.time.into(),
                    rate_cap: args.rate,
                }));
            }
        }
    }
    loads
}
