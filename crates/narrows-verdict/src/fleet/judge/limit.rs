//! Which hop limits. What speaks against the run itself is asked first, then the network by the set of its congested connections,
//! then the servers.

use std::collections::BTreeSet;

use narrows_base::lists::ends;
use narrows_base::units::{BytesPerSec, human};

use super::map::HostCards;
use super::{Case, Conservation, Kind, LegAlone, Limit, Side};
use crate::Confidence;
use crate::fleet::HostPoint;
use crate::fleet::flows::{Congested, Flow, congested, serves_one_each};
use crate::fleet::record::Host;
use crate::fleet::samples::Activity;

/// A processor that is busy for this share of the time is full.
pub(super) const FULL: f64 = 0.95;
/// A drive with requests in flight for this share of the time is busy all the time.
const DRIVE_BUSY: f64 = 0.95;
/// What reaches this share of a cap or a ceiling is at it.
const AT: f64 = 0.95;

/// What limits are called that are no part of the way.
const CAP: &str = "the rate that was asked for";
const UNKNOWN: &str = "not known";

pub(super) fn limit(case: &Case<'_>, conservation: &Conservation) -> Limit {
    let all = case.counted();
    if all.is_empty() {
        let why = vec!["no host has a result that counts".to_owned()];
        return case.limit(Kind::Unknown, UNKNOWN, all, (Confidence::Low, why));
    }
    // Each host has its part of the cap, those that are missing, too.
    let share = all.len() as f64 / case.record.hosts.len().max(1) as f64;
    if let Some(cap) = case.record.load.rate_cap
        && case.point.rate().get() >= cap.get() * share * AT
    {
        let why = vec![format!("--rate {cap} was reached")];
        return case.limit(Kind::RateCap, CAP, all, (Confidence::High, why));
    }
    if let Some((clients, why)) = generator(case) {
        let name = format!("processors of {}", case.names(clients.iter().copied()));
        return case.limit(Kind::Generator, &name, clients, (Confidence::Medium, why));
    }
    if let (Some(differs), Some(Side::Clients)) = (&conservation.differs, conservation.cache_of) {
        let why = (Confidence::High, vec![differs.clone()]);
        return case.limit(Kind::Cache, "a cache: the storage was not measured", all, why);
    }
    let flows = case.flows();
    let alone = LegAlone::network(case);
    let drives = LegAlone::drives(case);
    if let Some((kind, name, clients, confidence)) = network(case, &flows) {
        let mut why = flow_evidence(case, &flows);
        why.extend(alone.iter().chain(&drives).map(LegAlone::in_words));
        // Queues on a network that carried clearly more alone are not all that limits.
        let is_more = clients.len() == all.len() && alone.is_some_and(|alone| alone.gives_more());
        let confidence = if is_more { confidence.max(Confidence::Medium) } else { confidence };
        return case.limit(kind, &name, clients, (confidence, why));
    }
    if let Some((clients, why)) = mostly_capped(case) {
        return case.limit(Kind::RateCap, CAP, clients, (Confidence::High, why));
    }
    let mut limit = at_the_storage(case, &flows, conservation);
    limit.evidence.extend(other_work(case));
    with_drives_alone(limit, drives)
}

/// What the drives gave alone, beside what was found at the storage: it says whether these drives are the limit.
fn with_drives_alone(mut limit: Limit, drives: Option<LegAlone>) -> Limit {
    let Some(drives) = drives else { return limit };
    match limit.kind {
        Kind::Drive | Kind::Unknown if drives.is_reached() => {
            limit.kind = Kind::Drive;
            limit.confidence = limit.confidence.min(Confidence::Medium);
            "drives of the servers".clone_into(&mut limit.name);
        }
        // With few I/Os in flight it may as well be how long each is on its way.
        Kind::Drive if drives.gives_more() => {
            limit.kind = Kind::Unknown;
            limit.confidence = Confidence::Low;
            UNKNOWN.clone_into(&mut limit.name);
            let why = "it is not the servers' drives, but the software that serves them, or the time that each I/O is on its way";
            limit.evidence.insert(0, format!("{} with as many I/Os in flight: {why}", drives.in_words()));
            return limit;
        }
        _ => {}
    }
    limit.evidence.push(drives.in_words());
    limit
}

/// Whether a client reaches its part of the cap.
pub(super) fn is_at_its_cap(case: &Case<'_>, client: usize) -> bool {
    let host = case.point.counted().find(|host| host.client == client);
    part_of_cap(case).zip(host).is_some_and(|(part, host)| host.rate() >= part * AT)
}

/// What each host that was asked may have of the cap.
fn part_of_cap(case: &Case<'_>) -> Option<BytesPerSec> {
    Some(case.record.load.rate_cap? / case.record.hosts.len().max(1) as f64)
}

/// Clients that reach their parts of the cap, where all but a few do: what these few meet is no limit of all. What the others get
/// stands beside it.
fn mostly_capped(case: &Case<'_>) -> Option<(Vec<usize>, Vec<String>)> {
    /// One in so many may get less.
    const FEW: usize = 5;
    let part = part_of_cap(case)?;
    let (full, less): (Vec<&HostPoint>, Vec<&HostPoint>) =
        case.point.counted().partition(|host| host.rate() >= part * AT);
    if less.is_empty() || less.len() * FEW > full.len() + less.len() {
        return None;
    }
    let said = less.iter().take(3).map(|host| {
        let (name, rate) = (case.client_name(host.client), host.rate());
        format!("{name} gets {rate} of {part} and meets something of its own")
    });
    Some((full.iter().map(|host| host.client).collect(), said.collect()))
}

/// How full the processors of a server are, and by what.
struct Processors {
    busy: f64,
    /// The share of all processors that serving took, and for which it waited, where that is known.
    serving: Option<[f64; 2]>,
}

impl Processors {
    fn of(activity: &Activity) -> Option<Self> {
        let busy = activity.cpu.filter(|share| *share >= FULL)?;
        let count = activity.processors.max(1) as f64;
        let waited = activity.serving.map_or(0.0, |[_, waited]| waited);
        let serving = activity.serving_processors().map(|run| [run / count, waited / count]);
        Some(Self { busy, serving })
    }

    /// Whether that limits what is served: it takes half of them, or waits for them as long as it has them. Where it is not known what
    /// takes them, it may be what is served.
    fn limit(&self) -> bool {
        /// Who takes half of full processors is what fills them.
        const HALF: f64 = 0.5;
        /// Waits of less than this share of the time are those of every busy machine.
        const WAITS: f64 = 0.1;
        self.serving.is_none_or(|[run, waited]| run >= HALF || (waited >= WAITS && waited >= run))
    }

    fn in_words(&self) -> String {
        let own = self.serving.map(|[run, waited]| {
            let (run, waited) = (human::percent(run), human::percent(waited));
            format!(", what serves takes {run} of them and waits {waited} of the time")
        });
        format!("busy {} of the time{}", human::percent(self.busy), own.unwrap_or_default())
    }
}

/// A server whose processors limit what it serves; none where each client is known to read its own storage.
fn full_server(case: &Case<'_>, limits: bool) -> Option<(usize, String)> {
    let servers = case.servers.iter().enumerate().filter(|_| !case.is_local());
    let found = servers.filter_map(|(place, activity)| Some((place, Processors::of(activity.as_ref()?)?)));
    let mut found = found.filter(|(_, found)| found.limit() == limits);
    found.next().map(|(place, found)| (place, found.in_words()))
}

/// Servers whose processors are full of other work: that is no limit, and said beside it.
fn other_work(case: &Case<'_>) -> Option<String> {
    let (place, said) = full_server(case, false)?;
    Some(format!("processors of {} are {said}: other work fills them", case.server_names([place])))
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
    let of_clients = |clients: BTreeSet<usize>, confidence| {
        let name = format!("network card of {}", case.names(clients.iter().copied()));
        (Kind::ClientNic, name, sorted(clients), confidence)
    };
    let of_servers = |servers: BTreeSet<usize>, clients: BTreeSet<usize>, confidence| {
        let name = format!("network card of {}", case.server_names(servers));
        (Kind::ServerNic, name, sorted(clients), confidence)
    };
    Some(match congested(flows) {
        Congested::None => return None,
        Congested::Servers(servers) => {
            let of: BTreeSet<usize> =
                flows.iter().filter(|flow| servers.contains(&flow.server)).map(|flow| flow.client).collect();
            // A link that all of several servers are behind would look the same.
            let confidence = if servers.len() == 1 { Confidence::High } else { Confidence::Medium };
            of_servers(servers, of, confidence)
        }
        Congested::Between(clients) => {
            // Network cards of one speed would look the same.
            let is_pairs = serves_one_each(flows, &servers_of(flows, &clients));
            let confidence = if is_pairs { Confidence::Medium } else { Confidence::High };
            let name = format!("the network between {} and the servers", case.names(clients.iter().copied()));
            (Kind::Fabric, name, sorted(clients), confidence)
        }
        Congested::Clients(clients) => of_clients(clients, Confidence::High),
        Congested::EitherSide(clients) => match full_side(case, flows, &clients) {
            Some((Side::Servers, servers)) => of_servers(servers, clients, Confidence::Medium),
            Some((Side::Clients, _)) => of_clients(clients, Confidence::Medium),
            None => {
                let name = "the network; which side of it is not known".to_owned();
                (Kind::Network, name, sorted(clients), Confidence::Medium)
            }
        },
    })
}

fn servers_of(flows: &[Flow], clients: &BTreeSet<usize>) -> BTreeSet<usize> {
    flows.iter().filter(|flow| clients.contains(&flow.client)).map(|flow| flow.server).collect()
}

/// The side whose cards carry all that they can while no card of the other side does, where the connections do not tell.
fn full_side(case: &Case<'_>, flows: &[Flow], clients: &BTreeSet<usize>) -> Option<(Side, BTreeSet<usize>)> {
    let servers = servers_of(flows, clients);
    let is_full = |hosts: &[Host], activities: &[Option<Activity>], receives: bool, place: usize| {
        let activity = activities.get(place).and_then(Option::as_ref);
        hosts.get(place).is_some_and(|host| HostCards::of(host, activity, receives).is_full())
    };
    let reads = case.reads_most();
    let of_clients = clients.iter().map(|at| is_full(&case.run.clients, case.clients, reads, *at));
    let of_servers = servers.iter().map(|at| is_full(&case.run.servers, case.servers, !reads, *at));
    let (of_clients, of_servers): (Vec<bool>, Vec<bool>) = (of_clients.collect(), of_servers.collect());
    let (all, none) = (|full: &[bool]| full.iter().all(|full| *full), |full: &[bool]| !full.contains(&true));
    match () {
        () if all(&of_servers) && none(&of_clients) => Some((Side::Servers, servers)),
        () if all(&of_clients) && none(&of_servers) => Some((Side::Clients, servers)),
        () => None,
    }
}

fn flow_evidence(case: &Case<'_>, flows: &[Flow]) -> Vec<String> {
    let describe = |wanted: bool| {
        let of: Vec<&Flow> = flows.iter().filter(|flow| flow.is_congested(flows) == wanted).collect();
        let clients: BTreeSet<usize> = of.iter().map(|flow| flow.client).collect();
        let [busy_low, busy_high] = ends(&of.iter().map(|flow| flow.seen.busy).collect::<Vec<_>>())?;
        let [rtt_low, rtt_high] = ends(&of.iter().map(|flow| flow.seen.rtt).collect::<Vec<_>>())?;
        Some(format!(
            "connections of {}: data on its way {:.0}–{:.0} % of the time, round trip {rtt_low} to {rtt_high}",
            case.names(clients),
            busy_low * 100.0,
            busy_high * 100.0
        ))
    };
    [describe(true), describe(false)].into_iter().flatten().collect()
}

/// Where no connection is congested: the servers' processors, drives, or nothing that was seen.
fn at_the_storage(case: &Case<'_>, flows: &[Flow], conservation: &Conservation) -> Limit {
    const QUIET: &str = "no connection is congested, no processor is full";
    let all = case.counted();
    if let Some((place, evidence)) = full_server(case, true) {
        let name = format!("processors of {}", case.server_names([place]));
        return case.limit(Kind::ServerCpu, &name, all, (Confidence::Medium, vec![evidence]));
    }
    let alone = LegAlone::network(case);
    if let Some(alone) = alone.filter(LegAlone::is_reached) {
        let why = "with storage behind it it carries as much, and no queue was seen that tells which side";
        let why = (Confidence::Medium, vec![alone.in_words(), why.to_owned()]);
        return case.limit(Kind::Network, "the network; which side of it is not known", all, why);
    }
    if let Some(differs) = &conservation.differs {
        let mut why = vec![differs.clone(), QUIET.to_owned()];
        why.extend(flow_evidence(case, flows));
        return case.limit(Kind::Cache, "what the servers serve from memory", all, (Confidence::Medium, why));
    }
    let (hosts, activities) = match case.is_remote() {
        true => (&case.run.servers, case.servers),
        false => (&case.run.clients, case.clients),
    };
    let drives = hosts.iter().zip(activities).flat_map(|(host, activity)| {
        let drives = host.target.iter().flat_map(|target| &target.drives);
        drives.filter_map(move |drive| Some((&host.host, drive, activity.as_ref()?.disks.get(drive)?)))
    });
    let busy = drives.filter(|(.., disk)| disk.busy >= DRIVE_BUSY).map(|(host, drive, disk)| {
        format!("{drive} of {host} is busy {} of the time", human::percent(disk.busy))
    });
    let busy: Vec<String> = busy.take(3).collect();
    if !busy.is_empty() {
        let name = if case.is_remote() { "drives of the servers" } else { "each host's own drives" };
        return case.limit(Kind::Drive, name, all, (Confidence::Medium, busy));
    }
    let is_more = alone.is_some_and(|alone| alone.gives_more());
    if !flows.is_empty() || is_more {
        let mut why = flow_evidence(case, flows);
        why.push(QUIET.to_owned());
        why.extend(alone.as_ref().map(LegAlone::in_words));
        let name = "the storage of the servers (drives, or the software before them)";
        let confidence = if is_more { Confidence::Medium } else { Confidence::Low };
        return case.limit(Kind::Drive, name, all, (confidence, why));
    }
    let why = match (case.is_remote(), case.run.servers.is_empty()) {
        (true, true) => "the servers were not watched (--servers)",
        (true, false) => "no connection between clients and servers was seen",
        (false, _) => "nothing that was watched was full",
    };
    case.limit(Kind::Unknown, UNKNOWN, all, (Confidence::Low, vec![why.to_owned()]))
}
