//! The servers' drives alone: a run of its own in which each server is the host that reads.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::args::RunArgs;
use super::{kept, reach};
use crate::cli::{Failure, output};
use narrows_base::units::Nanos;
use narrows_machine::root::Root;
use narrows_session::fleet::{Asked, Fleet, HostName, Preflight, Pushed, objections};
use narrows_verdict::fleet::Point;
use narrows_verdict::fleet::record::{DrivesLeg, DrivesRate, LegLost, Load, PointRecord, Run};

/// The directory of the leg, below that of the run. It is the directory of a run, too.
const DIRECTORY: &str = "drives-leg";
/// It takes no longer.
const LONGEST: Nanos = Nanos::from_millis(10_000);
/// fio takes no more I/Os in flight of one job here.
const DEEPEST: u64 = 4096;

/// Measures the servers' drives alone, and keeps what they brought back below `place`. What goes wrong is said in the leg: the run
/// before it is not lost.
pub(super) fn measure(
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
    let load = load(asked, of);
    (leg.time_ns, leg.rate_cap, leg.load) = (load.time_ns, load.rate_cap, Some(of.clone()));
    output::note("narrows: the servers' drives alone: each server reads its own");
    if let Err(failure) = run(args, (asked, target), load, (pushed, stop), (&mut leg, place)) {
        lose_all(&mut leg, asked, failure.message());
    }
    for lost in &leg.lost {
        output::note(&format!("narrows: {} took no part in it: {}", lost.host, lost.reason));
    }
    leg
}

/// Servers that have no result yet have none, for this reason.
fn lose_all(leg: &mut DrivesLeg, asked: &Asked, reason: &str) {
    let lost = |host: &HostName| LegLost { host: host.to_string(), reason: reason.to_owned() };
    let is_known = |leg: &DrivesLeg, host: &HostName| leg.lost.iter().any(|lost| lost.host == host.as_str());
    let others: Vec<_> = asked.servers.iter().filter(|host| !is_known(leg, host)).map(lost).collect();
    leg.lost.extend(others);
    leg.rates.clear();
}

/// A load of clients as one of each server: all servers have as many I/Os in flight as all clients had.
fn load(asked: &Asked, of: &Load) -> Load {
    let clients = asked.clients.len().div_ceil(asked.servers.len().max(1)) as u64;
    let depth = u64::from(of.depth).saturating_mul(clients).min(DEEPEST);
    Load { depth: u32::try_from(depth).unwrap_or(u32::MAX), time_ns: of.time_ns.min(LONGEST), ..of.clone() }
}

/// Runs the load on all servers, or says why it cannot.
fn run(
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
    let (mut fleet, told) = Fleet::open(&Root::live(), &servers, pushed)
        .map_err(|error| Failure::new(format!("cannot make a directory below /tmp: {error}")))?;
    leg.lost = refused(&servers, &told);
    if !leg.lost.is_empty() {
        close(fleet, Vec::new());
        return Err(Failure::new("another server cannot take part"));
    }
    super::run::layout(&servers, &told);
    for (server, error) in fleet.prepare() {
        let host = servers.clients.get(server).map(ToString::to_string).unwrap_or_default();
        leg.lost.push(LegLost { host, reason: error.to_string() });
    }
    let path = place.join(DIRECTORY);
    let kept = kept::new_directory(&path).and_then(|(path, held)| {
        let (point, is_interrupted) = fleet.run(1, &load, false, stop, &|_| {});
        if is_interrupted {
            return Err(Failure::new("it was interrupted"));
        }
        kept::point(&path, &point)?;
        Ok((path, held, point.record))
    });
    let samples = fleet.samples(super::run::say_left_out);
    let (kept, points) = match kept {
        Ok((path, held, record)) => (Ok((path, held)), vec![record]),
        Err(failure) => (Err(failure), Vec::new()),
    };
    let whole = close(fleet, points);
    let (path, held) = kept?;
    kept::whole(&path, &held, &whole, (&samples.0, &samples.1))?;
    let (whole, files) = kept::read(&path)?;
    rates(leg, &whole, &files);
    Ok(())
}

/// Takes everything away from the servers, and says what could not be.
fn close(fleet: Fleet<'_>, points: Vec<PointRecord>) -> Run {
    let whole = fleet.close(points, None);
    for left in &whole.left {
        output::note(&format!(
            "narrows: {} may not be clean ({}): `{}`",
            left.host, left.reason, left.command
        ));
    }
    whole
}

/// Why servers cannot take part.
fn refused(servers: &Asked, told: &[Preflight]) -> Vec<LegLost> {
    let unreachable = told.iter().filter_map(|host| {
        let error = host.looked.as_ref().err()?;
        Some(LegLost { host: host.host.to_string(), reason: error.to_string() })
    });
    let objected = objections(servers, told).into_iter().map(|(host, reason)| LegLost { host, reason });
    unreachable.chain(objected).collect()
}

/// What each server read in the time that all have in common.
fn rates(leg: &mut DrivesLeg, whole: &Run, files: &narrows_report::fleet_run::Files) {
    let (Some(record), Some(told)) = (whole.points.first(), files.told.first()) else { return };
    let point = Point::of(record, told, files.step);
    for host in point.counted() {
        let server = whole.clients.get(host.client);
        if server.and_then(|server| server.target.as_ref()).is_some_and(|target| target.is_direct) {
            leg.rates.push(DrivesRate { server: host.client, bytes_per_second: host.read.rate });
        } else {
            let host = server.map(|server| server.host.clone()).unwrap_or_default();
            leg.lost.push(LegLost {
                host,
                reason: "it was read through the page cache, not from the drives".to_owned(),
            });
        }
    }
    for host in record.hosts.iter().filter(|host| !point.counted().any(|one| one.client == host.client)) {
        let name = whole.clients.get(host.client).map(|one| one.host.clone()).unwrap_or_default();
        let reason = host.reason.clone().unwrap_or_else(|| "it has no result that counts".to_owned());
        leg.lost.push(LegLost { host: name, reason });
    }
}
