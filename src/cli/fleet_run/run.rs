//! `narrows fleet run`: everything that must hold before load, then the runs, then the report from what was kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::args::{Alone, FleetPreset, RunArgs};
use super::{below_tmp, hosts, kept, pushed, reach, show};
use crate::cli::files::{refuse_existing, text};
use crate::cli::signals::stop_on_signals;
use crate::cli::values::{each_with_each, or};
use crate::cli::{Failure, output};
use narrows_base::units::{Bytes, Nanos, human};
use narrows_load::held::Held;
use narrows_load::measurement::Pattern;
use narrows_machine::program;
use narrows_machine::root::Root;
use narrows_runs::fleet_run::{Files, build, folded};
use narrows_session::fleet::hosts::FoundKind;
use narrows_session::fleet::{Asked, Fleet, HostName, Preflight, Pushed, objections};
use narrows_verdict::fleet::Point;
use narrows_verdict::fleet::record::{
    DrivesLeg, DrivesRate, HostOutcome, Left, LegLost, Load, PointRecord, Run, State,
};

/// The directory of the leg, below that of the run. It is the directory of a run, too.
const DRIVES: &str = "drives-leg";
/// The leg takes no longer.
const LONGEST: Nanos = Nanos::from_millis(10_000);
/// fio takes no more I/Os in flight of one job here.
const DEEPEST: u32 = 4096;

pub(super) fn start(args: &RunArgs) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    args.grid.within(4096, 1024)?;
    let asked = asked(args, &stop)?;
    let pushed = pushed(&args.reach)?;
    let root = Root::live();
    if program::find(&root, "fio").is_none() && nix::unistd::geteuid().is_root() {
        return Err(Failure::new("fio is not installed here")
            .hint("install the package fio, in the version of the hosts"));
    }
    refuse_existing(&args.out)?;
    let (mut fleet, told) = Fleet::open(&root, &asked, &pushed).map_err(below_tmp)?;
    let is_stopped = || stop.load(Ordering::Relaxed).then(|| Failure::new("interrupted; no load was run"));
    let missing = match is_stopped().map_or_else(|| preflight(args, &asked, &told), Err) {
        Ok(missing) => missing,
        Err(failure) => {
            fleet.close(Vec::new(), None);
            return Err(failure);
        }
    };
    let kept = kept::new_directory(&args.out)?;
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
        return Err(without(&lost));
    }
    if args.alone.contains(&Alone::Network) && !stop.load(Ordering::Relaxed) {
        network_leg(&mut fleet);
    }
    let (points, interrupted) = points(&mut fleet, &asked, &stop, &kept)?;
    let samples = fleet.samples(say_left_out);
    let mut run = fleet.close(points, interrupted);
    note_missing(&mut run, &missing, &lost);
    let drives = args.alone.iter().find_map(|part| match part {
        Alone::Drives(target) => Some(target.as_str()),
        Alone::Network => None,
    });
    if let Some(target) = drives.filter(|_| !stop.load(Ordering::Relaxed)) {
        run.drives_leg = Some(drives_leg(args, (&asked, target), &pushed, &stop, kept.path()));
    }
    kept::whole(&kept, &run, &samples)?;
    let (run, files) = kept::read(kept.path())?;
    let report = build(&run, &files, args.output.shown.plain);
    show(&report, args.csv, &args.output, args.partial)
}

/// Says of a host that not all of its samples are kept.
fn say_left_out(host: &HostName, bytes: usize) {
    let size = human::bytes(Bytes::new(bytes as u64));
    let text = format!("{size} of samples were left out: what it did at the end is not known");
    output::note(&format!("narrows: {host}: {text}"));
}

/// The network alone, and who did not take part in that.
fn network_leg(fleet: &mut Fleet<'_>) {
    output::note("narrows: the network alone: each server opens a port for the clients");
    let leg = fleet.measure_network();
    for opened in &leg.opened {
        output::note(&format!("narrows: it was open: {opened}"));
    }
    note_lost(&leg.lost);
}

/// Says who took no part in a leg.
fn note_lost(lost: &[LegLost]) {
    for lost in lost {
        output::note(&format!("narrows: {} took no part in it: {}", lost.host, lost.reason));
    }
}

/// Measures the servers' drives alone, and keeps what they brought back below `place`. What goes wrong is said in the leg: the run
/// before it is not lost.
fn drives_leg(
    args: &RunArgs,
    (asked, target): (&Asked, &str),
    pushed: &Pushed,
    stop: &Arc<AtomicBool>,
    place: &Path,
) -> DrivesLeg {
    let mut leg = DrivesLeg { target: target.to_owned(), ..DrivesLeg::default() };
    let Some(of) = asked.loads.iter().find(|load| load.read_percent == 100) else {
        lose_all(&mut leg, asked, "no load only reads");
        return leg;
    };
    // All servers have as many I/Os in flight as all clients had.
    let clients = asked.clients.len().div_ceil(asked.servers.len().max(1));
    let depth = of.depth.saturating_mul(u32::try_from(clients).unwrap_or(u32::MAX)).min(DEEPEST);
    let load = Load { depth, time_ns: of.time_ns.min(LONGEST), ..of.clone() };
    (leg.time_ns, leg.rate_cap, leg.load) = (load.time_ns, load.rate_cap, Some(of.clone()));
    output::note("narrows: the servers' drives alone: each server reads its own");
    if let Err(failure) = read_drives(args, (asked, target), load, (pushed, stop), (&mut leg, place)) {
        lose_all(&mut leg, asked, &failure.message);
    }
    note_lost(&leg.lost);
    leg
}

/// Servers that have no result yet have none, for this reason.
fn lose_all(leg: &mut DrivesLeg, asked: &Asked, reason: &str) {
    for host in &asked.servers {
        if !leg.lost.iter().any(|lost| lost.host == host.as_str()) {
            leg.lost.push(LegLost { host: host.to_string(), reason: reason.to_owned() });
        }
    }
    leg.rates.clear();
}

/// Runs the load on all servers, or says why it cannot.
fn read_drives(
    args: &RunArgs,
    (asked, target): (&Asked, &str),
    load: Load,
    (pushed, stop): (&Pushed, &Arc<AtomicBool>),
    (leg, place): (&mut DrivesLeg, &Path),
) -> Result<(), Failure> {
    let servers = Asked {
        clients: asked.servers.clone(),
        servers: Vec::new(),
        targets: vec![target.to_owned(); asked.servers.len()],
        loads: vec![load.clone()],
        size: asked.size,
        prove: false,
        seed: asked.seed,
        reach: reach(&args.reach, stop)?,
    };
    let (mut fleet, told) = Fleet::open(&Root::live(), &servers, pushed).map_err(below_tmp)?;
    leg.lost = refused(&servers, &told);
    if !leg.lost.is_empty() {
        close_drives(fleet, Vec::new());
        return Err(Failure::new("another server cannot take part"));
    }
    layout(&servers, &told);
    for (server, error) in fleet.prepare() {
        let host = servers.clients.get(server).map(ToString::to_string).unwrap_or_default();
        leg.lost.push(LegLost { host, reason: error.to_string() });
    }
    let mut points = Vec::new();
    let kept = kept::new_directory(&place.join(DRIVES)).and_then(|kept| {
        let (point, is_interrupted) = fleet.run(1, &load, false, stop, &|_| {});
        if is_interrupted {
            return Err(Failure::new("it was interrupted"));
        }
        kept::point(&kept, &point)?;
        points.push(point.record);
        Ok(kept)
    });
    let samples = fleet.samples(say_left_out);
    let whole = close_drives(fleet, points);
    let kept = kept?;
    kept::whole(&kept, &whole, &samples)?;
    let (whole, files) = kept::read(kept.path())?;
    rates(leg, &whole, &files);
    Ok(())
}

/// Takes everything away from the servers, and says what could not be.
fn close_drives(fleet: Fleet<'_>, points: Vec<PointRecord>) -> Run {
    let whole = fleet.close(points, None);
    for Left { host, reason, command } in &whole.left {
        output::note(&format!("narrows: {host} may not be clean ({reason}): `{command}`"));
    }
    whole
}

/// Why servers cannot take part.
fn refused(servers: &Asked, told: &[Preflight]) -> Vec<LegLost> {
    let unreachable = told.iter().filter_map(|one| Some((&one.host, one.looked.as_ref().err()?)));
    let unreachable = unreachable.map(|(host, error)| (host.to_string(), error.to_string()));
    let all = unreachable.chain(objections(servers, told));
    all.map(|(host, reason)| LegLost { host, reason }).collect()
}

/// What each server read in the time that all have in common.
fn rates(leg: &mut DrivesLeg, whole: &Run, files: &Files) {
    let (Some(record), Some(told)) = (whole.points.first(), files.told.first()) else { return };
    let point = Point::of(record, told, files.step);
    let mut lose = |client: usize, reason: &str| {
        let host = whole.clients.get(client).map(|server| server.host.clone()).unwrap_or_default();
        leg.lost.push(LegLost { host, reason: reason.to_owned() });
    };
    for host in point.counted() {
        let target = whole.clients.get(host.client).and_then(|server| server.target.as_ref());
        if target.is_some_and(|target| target.is_direct) {
            leg.rates.push(DrivesRate { server: host.client, bytes_per_second: host.read.rate });
        } else {
            lose(host.client, "it was read through the page cache, not from the drives");
        }
    }
    for host in record.hosts.iter().filter(|host| !point.counted().any(|one| one.client == host.client)) {
        lose(host.client, host.reason.as_deref().unwrap_or("it has no result that counts"));
    }
}

/// All loads, one after the other; what hosts brought back is kept after each.
fn points(
    fleet: &mut Fleet<'_>,
    asked: &Asked,
    stop: &AtomicBool,
    kept: &Held,
) -> Result<(Vec<PointRecord>, Option<String>), Failure> {
    let say = |lost: &HostOutcome| {
        output::note(&format!(
            "narrows: {} is {}, {} after the start: {}",
            asked.clients.get(lost.client).map_or("?", HostName::as_str),
            narrows_verdict::word(lost.state),
            human::time(lost.known_after_ns.unwrap_or_default()),
            lost.reason.as_deref().unwrap_or_default()
        ));
    };
    let proofs: &[bool] = if asked.prove { &[false, true] } else { &[false] };
    let mut records = Vec::new();
    for load in &asked.loads {
        for is_proof in proofs {
            let mut is_interrupted = stop.load(Ordering::Relaxed);
            if !is_interrupted {
                let point;
                (point, is_interrupted) = fleet.run(records.len() + 1, load, *is_proof, stop, &say);
                kept::point(kept, &point)?;
                records.push(point.record);
            }
            if is_interrupted {
                return Ok((records, Some("it was interrupted".to_owned())));
            }
        }
    }
    Ok((records, None))
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
    if !objections.is_empty() {
        let hosts = folded(objections.iter().map(|(host, _)| host.as_str()));
        return Err(Failure::new(format!("no load was run: {hosts} cannot take part as they are"))
            .hint("what speaks against each host stands above"));
    }
    if missing.len() == told.len() || (!missing.is_empty() && !args.partial) {
        return Err(without(&missing));
    }
    Ok(missing)
}

/// Hosts cannot take part that have to.
fn without(hosts: &[String]) -> Failure {
    let hosts = folded(hosts.iter().map(String::as_str));
    Failure::new(format!("no load was run: {hosts} cannot take part"))
        .hint("mend them, leave them out of --hosts, or go on without them: --partial")
}

/// Announces what will be written, before it is.
fn layout(asked: &Asked, told: &[Preflight]) {
    let written = told.iter().filter(|host| host.is_client).filter_map(|host| {
        let found = host.looked.as_ref().ok()?.look.target.as_ref()?.as_ref().ok()?;
        (found.kind == FoundKind::Directory).then_some((&host.host, &found.name))
    });
    let written: Vec<_> = written.collect();
    let size = human::bytes(asked.size);
    for (host, place) in written.iter().take(3) {
        output::note(&format!("narrows: {host}: a file without a name, {size}, in {place}"));
    }
    let count = written.len();
    if count > 0 {
        let total = human::bytes(Bytes::new(asked.size.get().saturating_mul(count as u64)));
        output::note(&format!("narrows: {count} hosts write {total} in all before the start"));
    }
}

/// A host that did not take part is missing in every run.
fn note_missing(run: &mut Run, missing: &[String], lost: &[String]) {
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
    let mut map = BTreeMap::new();
    let mut of_others = None;
    for typed in &args.target {
        match typed.strip_prefix('@') {
            Some(file) => map.extend(target_map(Path::new(file))?),
            None => of_others = Some(typed),
        }
    }
    let target = |host: &HostName| {
        map.get(host.as_str()).or(of_others).cloned().ok_or_else(|| {
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
        // Without random numbers every run has the same addresses, which is no fault of the run.
        seed: getrandom::u32().unwrap_or(0).into(),
        reach: reach(&args.reach, stop)?,
    })
}

fn target_map(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    const HINT: &str = "each line is `\"host\" = \"target\"`";
    toml::from_str(&text(path, 4 << 20, HINT)?).map_err(|error| {
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
    let (sizes, jobs, mixes) =
        (or(&args.grid.block_size, &sizes), or(&args.grid.threads, &jobs), or(&args.grid.mix, &mixes));
    let depths = or(&args.grid.depth, &[depth]);
    let is_random = args.grid.order.map_or(is_random, |order| order == Pattern::Random);
    let (time_ns, rate_cap) = (args.duration.into(), args.rate);
    let (blocks, queues) = (each_with_each(&sizes, &mixes), each_with_each(&jobs, &depths));
    let mut loads = Vec::new();
    for ((block_size, read_percent), (jobs, depth)) in each_with_each(&blocks, &queues) {
        loads.push(Load { block_size, depth, jobs, read_percent, is_random, time_ns, rate_cap });
    }
    loads
}
