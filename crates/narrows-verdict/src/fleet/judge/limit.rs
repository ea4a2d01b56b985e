//! Which hop limits. What speaks against the run itself is asked first, then the network by the set of its congested connections,
//! then the servers.

use std::collections::BTreeSet;

use narrows_base::units::{Nanos, human};

use super::{Case, Conservation, Kind, Limit, Side};
use crate::Confidence;
use crate::fleet::flows::{Congested, Flow, congested};

/// A processor that is busy for this share of the time is full.
pub(super) const FULL: f64 = 0.95;
/// A drive with requests in flight for this share of the time is busy all the time.
const DRIVE_BUSY: f64 = 0.95;
/// What reaches this share of a cap or a ceiling is at it.
const AT: f64 = 0.95;

pub(super) fn limit(case: &Case<'_>, conservation: &Conservation) -> Limit {
    let named = |kind, name: String, clients: Vec<usize>, confidence, evidence| Limit {
        bytes_per_second: case.rate_of(&clients.iter().copied().collect()),
        kind,
        name,
        clients,
        confidence,
        evidence,
    };
    let all = case.counted();
    if all.is_empty() {
        return named(
            Kind::Unknown,
            "not known".to_owned(),
            all,
            Confidence::Low,
            vec!["no host has a result that counts".to_owned()],
        );
    }
    // Each host has its part of the cap, those that are missing, too.
    let share = all.len() as f64 / case.record.hosts.len().max(1) as f64;
    if let Some(cap) = case.record.load.rate_cap
        && case.point.rate().get() >= cap.get() * share * AT
    {
        let evidence = vec![format!("--rate {} was reached", human::rate(cap))];
        return named(
            Kind::RateCap,
            "the rate that was asked for".to_owned(),
            all,
            Confidence::High,
            evidence,
        );
    }
    if let Some((clients, evidence)) = generator(case) {
        let name = format!("processors of {}", case.names(clients.iter().copied()));
        return named(Kind::Generator, name, clients, Confidence::Medium, evidence);
    }
    if let (Some(differs), Some(Side::Clients)) = (&conservation.differs, conservation.cache_of) {
        let name = "a cache: the storage was not measured".to_owned();
        return named(Kind::Cache, name, all, Confidence::High, vec![differs.clone()]);
    }
    let flows = case.flows();
    if let Some((kind, name, clients, confidence)) = network(case, &flows) {
        let evidence = flow_evidence(case, &flows);
        return named(kind, name, clients, confidence, evidence);
    }
    at_the_storage(case, &flows, conservation, named)
}

/// Clients whose processors are full: all of them, or as many as fio's jobs can use.
fn generator(case: &Case<'_>) -> Option<(Vec<usize>, Vec<String>)> {
    let jobs = f64::from(case.record.load.jobs.max(1)) * 100.0;
    let full = |client: usize| {
        let own = case.point.hosts.iter().find(|host| host.client == client)?;
        let activity = case.clients.get(client).and_then(Option::as_ref);
        let cpu = activity.and_then(|activity| activity.cpu);
        // Where something else keeps the processors busy, that is no limit of the generator alone.
        let half = activity.map_or(0.0, |activity| activity.processors as f64 * 100.0 / 2.0);
        let is_starved = cpu.is_some_and(|share| share >= FULL) && own.cpu_percent >= half;
        let is_full = own.cpu_percent >= jobs * FULL || is_starved;
        is_full.then_some((client, own.cpu_percent, cpu))
    };
    let counted = case.counted();
    let found: Vec<_> = counted.iter().filter_map(|client| full(*client)).collect();
    // Some slow clients among others do not limit the whole.
    if found.is_empty() || found.len() * 2 < counted.len() {
        return None;
    }
    let evidence = found.iter().take(3).map(|(client, own, cpu)| {
        let all = cpu.map_or(String::new(), |share| format!(", all processors {}", human::percent(share)));
        format!("{}: fio's jobs take {own:.0} % of a processor{all}", case.client_name(*client))
    });
    Some((found.iter().map(|(client, ..)| *client).collect(), evidence.collect()))
}

/// The hop of the network that the set of congested connections names.
fn network(case: &Case<'_>, flows: &[Flow]) -> Option<(Kind, String, Vec<usize>, Confidence)> {
    let sorted = |clients: BTreeSet<usize>| clients.into_iter().collect::<Vec<usize>>();
    Some(match congested(flows) {
        Congested::None => return None,
        Congested::Servers(servers) => {
            let of: BTreeSet<usize> =
                flows.iter().filter(|flow| servers.contains(&flow.server)).map(|flow| flow.client).collect();
            let name = format!("network card of {}", case.server_names(servers));
            (Kind::ServerNic, name, sorted(of), Confidence::High)
        }
        Congested::Between(clients) => {
            let name = format!("the network between {} and the servers", case.names(clients.iter().copied()));
            (Kind::Fabric, name, sorted(clients), Confidence::High)
        }
        Congested::Clients(clients) => {
            let name = format!("network card of {}", case.names(clients.iter().copied()));
            (Kind::ClientNic, name, sorted(clients), Confidence::High)
        }
        Congested::EitherSide => {
            let of: BTreeSet<usize> = flows.iter().map(|flow| flow.client).collect();
            (
                Kind::Network,
                "the network; which side of it is not known".to_owned(),
                sorted(of),
                Confidence::Medium,
            )
        }
    })
}

fn flow_evidence(case: &Case<'_>, flows: &[Flow]) -> Vec<String> {
    let describe = |wanted: bool| {
        let of: Vec<&Flow> = flows.iter().filter(|flow| flow.is_congested(flows) == wanted).collect();
        let clients: BTreeSet<usize> = of.iter().map(|flow| flow.client).collect();
        let range = |values: Vec<f64>| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(0.0, f64::max);
            (low, high)
        };
        let (busy_low, busy_high) = range(of.iter().map(|flow| flow.busy).collect());
        let (rtt_low, rtt_high) = range(of.iter().map(|flow| flow.rtt.get() as f64).collect());
        let time = |ns: f64| human::time(Nanos::new(ns as u64));
        (!of.is_empty()).then(|| {
            format!(
                "connections of {}: data on its way {:.0}–{:.0} % of the time, round trip {} to {}",
                case.names(clients),
                busy_low * 100.0,
                busy_high * 100.0,
                time(rtt_low),
                time(rtt_high)
            )
        })
    };
    [describe(true), describe(false)].into_iter().flatten().collect()
}

/// Where no connection is congested: the servers' processors, drives, or nothing that was seen.
fn at_the_storage(
    case: &Case<'_>,
    flows: &[Flow],
    conservation: &Conservation,
    named: impl Fn(Kind, String, Vec<usize>, Confidence, Vec<String>) -> Limit,
) -> Limit {
    let all = case.counted();
    for (place, activity) in case.servers.iter().enumerate() {
        let Some(activity) = activity else { continue };
        if activity.cpu.is_some_and(|share| share >= FULL) {
            let name = format!("processors of {}", case.server_names([place]));
            let evidence = vec![format!("busy {} of the time", human::percent(activity.cpu.unwrap_or(0.0)))];
            return named(Kind::ServerCpu, name, all, Confidence::Medium, evidence);
        }
    }
    if let Some(differs) = &conservation.differs {
        let mut evidence =
            vec![differs.clone(), "no connection is congested, no processor is full".to_owned()];
        evidence.extend(flow_evidence(case, flows));
        let name = "what the servers serve from memory".to_owned();
        return named(Kind::Cache, name, all, Confidence::Medium, evidence);
    }
    let (hosts, activities) = match case.is_remote() {
        true => (&case.run.servers, case.servers),
        false => (&case.run.clients, case.clients),
    };
    let mut busy = Vec::new();
    for (host, activity) in hosts.iter().zip(activities) {
        let (Some(target), Some(activity)) = (&host.target, activity) else { continue };
        for drive in &target.drives {
            if let Some(disk) = activity.disks.get(drive).filter(|disk| disk.busy >= DRIVE_BUSY) {
                busy.push(format!(
                    "{drive} of {} is busy {} of the time",
                    host.host,
                    human::percent(disk.busy)
                ));
            }
        }
    }
    if !busy.is_empty() {
        busy.truncate(3);
        let name = if case.is_remote() { "drives of the servers" } else { "each host's own drives" };
        return named(Kind::Drive, name.to_owned(), all, Confidence::Medium, busy);
    }
    if !flows.is_empty() {
        let mut evidence = flow_evidence(case, flows);
        evidence.push("no connection is congested, no processor is full".to_owned());
        let name = "the storage of the servers (drives, or the software before them)".to_owned();
        return named(Kind::Drive, name, all, Confidence::Low, evidence);
    }
    let why = match (case.is_remote(), case.run.servers.is_empty()) {
        (true, true) => "the servers were not watched (--servers)",
        (true, false) => "no connection between clients and servers was seen",
        (false, _) => "nothing that was watched was full",
    };
    named(Kind::Unknown, "not known".to_owned(), all, Confidence::Low, vec![why.to_owned()])
}
