//! From the record and the files of a run to its view.

use super::leg::name;
use super::{FleetRunReport, HostView, LatencyView, LegView, OutlierView, PointView, SCHEMA, SideView};
use narrows_base::units::{Iops, Nanos};
use narrows_report::view::tool;
use narrows_verdict::fleet::judge::{Case, judge, map};
use narrows_verdict::fleet::outlier::{Outlier, differing_facts, outliers};
use narrows_verdict::fleet::record::{Host, PointRecord, Run, State};
use narrows_verdict::fleet::samples::{Activity, Sample};
use narrows_verdict::fleet::series::{Step, series};
use narrows_verdict::fleet::{HostPoint, Point, Side, Told};

/// With less in common the latencies of the common time are shown.
const ENOUGH: f64 = narrows_verdict::fleet::LEAST_OVERLAP;
/// Half of the clients that get at least this share of what all get meet the same limit.
const SAME: f64 = 0.95;
/// And those that get no more than this, one of their own.
const HALF: f64 = 0.6;

/// The files of a run.
pub struct Files {
    /// What each host brought back, for each run in the order of its outcomes.
    pub told: Vec<Vec<Told>>,
    pub clients: Vec<Vec<Sample>>,
    pub servers: Vec<Vec<Sample>>,
    /// The step of the logs.
    pub step: Nanos,
}

/// Makes the view. With `is_public` hosts get names that tell nothing of them.
pub fn build(run: &Run, files: &Files, is_public: bool) -> FleetRunReport {
    let named = named(run, is_public);
    let run = &named;
    let mut points: Vec<PointView> = Vec::new();
    let mut steps = Vec::new();
    let empty = Vec::new();
    for (number, record) in run.points.iter().enumerate() {
        let told = files.told.get(number).unwrap_or(&empty);
        let whole = run.points.get(..number).unwrap_or_default().iter().rposition(|one| !one.is_proof);
        let before = whole.and_then(|whole| points.get(whole));
        let counted = Point::of(record, told, files.step);
        steps.extend(Step::of(record, &counted));
        points.push(one(run, files, record, &counted, before.filter(|_| record.is_proof)));
    }
    let name = |client: usize| name(&run.clients, client);
    let lost = points.iter().flat_map(|point| &point.hosts).filter(|host| !host.state.counts());
    let lost: Vec<&str> = lost.map(|host| host.host.as_str()).collect();
    let missing = run.clients.len().saturating_sub(points.first().map_or(0, |point| point.hosts.len()));
    let reason = match (&run.interrupted, lost.len(), missing) {
        (Some(why), ..) => Some(why.to_owned()),
        (None, _, 1..) => Some(format!("{missing} of {} hosts did not take part", run.clients.len())),
        (None, 1.., 0) => Some(format!("without a result that counts: {}", super::folded(lost))),
        (None, 0, 0) => None,
    };
    FleetRunReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        fio: run.fio.clone(),
        clients: run.clients.len(),
        servers: run.servers.len(),
        complete: reason.is_none() && !points.is_empty(),
        reason: reason.or_else(|| points.is_empty().then(|| "no load was run".to_owned())),
        left: run.left.clone(),
        network_leg: LegView::network(run, is_public),
        drives_leg: LegView::drives(run, is_public),
        points,
        series: series(&steps, &name),
    }
}

/// The record with names that may be shown.
fn named(run: &Run, is_public: bool) -> Run {
    let mut run = run.clone();
    if is_public {
        let hosts = run.clients.iter_mut().chain(&mut run.servers);
        hosts.for_each(|host| host.host.clone_from(&host.directory));
        name_servers(&mut run);
        run.left.clear();
        // A message of another program may have a name in it.
        let reasons =
            run.points.iter_mut().flat_map(|point| &mut point.hosts).filter_map(|it| it.reason.as_mut());
        reasons.for_each(|reason| "see the report that is not for the public".clone_into(reason));
    }
    run
}

/// Makes the address of each server a number, the same one for each that is the same.
fn name_servers(run: &mut Run) {
    let mut known: Vec<String> = Vec::new();
    let targets = run.clients.iter_mut().chain(&mut run.servers).filter_map(|host| host.target.as_mut());
    for target in targets {
        let Some(server) = target.server.as_mut() else { continue };
        let number = known.iter().position(|other| other == server).unwrap_or_else(|| {
            known.push(server.clone());
            known.len() - 1
        });
        *server = format!("server {}", number + 1);
    }
}

fn one(
    run: &Run,
    files: &Files,
    record: &PointRecord,
    point: &Point,
    whole: Option<&PointView>,
) -> PointView {
    let activities = |hosts: &[Host], samples: &[Vec<Sample>]| -> Vec<Option<Activity>> {
        let both = hosts.iter().zip(samples);
        both.map(|(host, of)| Activity::within(of, host.clock_ahead_ns, point.window?)).collect()
    };
    let clients = activities(&run.clients, &files.clients);
    let servers = activities(&run.servers, &files.servers);
    let case = Case { run, record, point, clients: &clients, servers: &servers };
    let verdict = judge(&case);
    let apart = unlike(point).into_iter().map(|(host, _)| host.client).collect();
    let map = map(&case, &verdict.limit, &apart);
    let overlap_is_low = point.overlap.is_some_and(|overlap| overlap < ENOUGH);
    let side = |side: &Side| (side.ios > 0).then(|| side_view(side, record, overlap_is_low));
    let hosts = point.hosts.iter().zip(&record.hosts).map(|(host, seen)| {
        let known = seen.known_after_ns.filter(|_| !host.outcome.state.counts());
        host_view(run, record, host, known)
    });
    PointView {
        load: record.load.clone(),
        start_ns: record.start_ns,
        start_spread_ns: point.start_spread,
        window_ns: point.window.map(narrows_verdict::fleet::Window::length),
        overlap: point.overlap,
        overlap_is_low,
        bytes_per_second: point.window.map(|_| point.rate()),
        read: side(&point.read),
        write: side(&point.write),
        verdict,
        map,
        proof: record.is_proof.then(|| proof(point, whole)),
        hosts: hosts.collect(),
        outliers: outlier_views(run, point),
    }
}

fn side_view(side: &Side, record: &PointRecord, is_of_window: bool) -> SideView {
    let bins = if is_of_window { &side.latency_in_window } else { &side.latency };
    SideView {
        bytes_per_second: side.rate,
        iops: Iops::new(side.rate.get() / record.load.block_size.as_f64().max(1.0)),
        ios: side.ios,
        bytes: side.all_bytes,
        latency: LatencyView {
            is_of_window,
            ios: bins.total(),
            mean: bins.mean(),
            p50: bins.percentile(50.0),
            p90: bins.percentile(90.0),
            p99: bins.percentile(99.0),
            p999: bins.percentile(99.9),
            p9999: bins.percentile(99.99),
            least: side.least,
            greatest: side.greatest,
        },
    }
}

fn host_view(run: &Run, record: &PointRecord, host: &HostPoint, known_after_ns: Option<Nanos>) -> HostView {
    let counts = host.outcome.state.counts();
    let bins = if host.read.ios > 0 { &host.read.latency } else { &host.write.latency };
    let began = |begin_ns: u64| i64::try_from(i128::from(begin_ns) - i128::from(record.start_ns)).ok();
    let rate = |side: &Side| (counts && side.ios > 0).then_some(side.rate);
    HostView {
        host: name(&run.clients, host.client),
        state: host.outcome.state,
        reason: host.outcome.reason.clone(),
        known_after_ns,
        began_after_ns: host.began_ns.and_then(began),
        overlap: host.overlap,
        read_bytes_per_second: rate(&host.read),
        write_bytes_per_second: rate(&host.write),
        series: if counts { host.parts.clone() } else { Vec::new() },
        ios: host.read.ios.saturating_add(host.write.ios),
        p50: bins.percentile(50.0),
        p99: bins.percentile(99.0),
    }
}

/// Hosts that are unlike the others, where all do the same.
fn outlier_views(run: &Run, point: &Point) -> Vec<OutlierView> {
    let facts: Vec<_> =
        comparable(point).iter().filter_map(|host| Some(&run.clients.get(host.client)?.facts)).collect();
    let view = |(host, one): (&HostPoint, Outlier)| {
        let host = run.clients.get(host.client)?.host.clone();
        let facts = differing_facts(&facts, one.index);
        Some(OutlierView { host, difference: one.difference, facts })
    };
    unlike(point).into_iter().filter_map(view).collect()
}

/// Hosts whose rates can be compared.
fn comparable(point: &Point) -> Vec<&HostPoint> {
    point.counted().filter(|host| host.outcome.state == State::Ok).collect()
}

/// Hosts that are unlike the others, and by how much.
fn unlike(point: &Point) -> Vec<(&HostPoint, Outlier)> {
    let counted = comparable(point);
    let rates: Vec<_> = counted.iter().map(|host| host.halves).collect();
    outliers(&rates).into_iter().filter_map(|one| Some((*counted.get(one.index)?, one))).collect()
}

/// What half of the clients tell of the whole.
fn proof(point: &Point, whole: Option<&PointView>) -> String {
    let Some(all) = whole.and_then(|whole| whole.bytes_per_second).filter(|rate| rate.get() > 0.0) else {
        return "there is no run of all clients to compare with".to_owned();
    };
    let share = point.rate().get() / all.get();
    let rates = format!("half of the clients get {} of {all}", point.rate());
    match share {
        SAME.. => format!("{rates}: they share the limit with the others"),
        ..=HALF => format!("{rates}: the limit is on the side of each client"),
        _ => format!("{rates}: between a shared limit and one of each client"),
    }
}
