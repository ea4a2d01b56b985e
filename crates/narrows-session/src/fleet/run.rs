//! The controller: connects to all hosts, asks, prepares, runs every point, and takes everything away again.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::hosts::{FoundKind, Go, HostName, HostTarget, MOST_UNCERTAIN_NS, Prepared};
use super::job::{Job, JobTarget, NbdUri};
use super::leg::{self, Ends};
use super::link::{Link, Looked, Reach};
use super::script::{self, Ground, Pushed, Terms};
use super::started::{LinkError, now};
use super::{each, fan_out};
use narrows_base::units::{Bytes, Nanos, human};
use narrows_machine::program;
use narrows_machine::root::Root;
use narrows_verdict::fleet::record::{
    Host, HostOutcome, Left, Load, NetworkLeg, PointRecord, Run, SCHEMA, State, TargetRecord,
};

/// How long clients may take until their jobs wait for the start, and how much more for each host: a client takes so much of a
/// processor here. Who is not there by then begins late.
const READY: Duration = Duration::from_secs(10);
const READY_OF_EACH: Duration = Duration::from_millis(200);
/// And for each job of a host, which is a process there until the start.
const READY_OF_JOB: Duration = Duration::from_millis(20);
/// A scratch file is written at least as fast as this, in bytes a second, or it counts as hung.
const SLOWEST_LAYOUT: u64 = 4 << 20;
/// What a host may need beside the runs themselves before it cleans up by itself.
const AROUND: Duration = Duration::from_secs(300);

/// What is asked of the hosts.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Hosts that put load on.
    pub clients: Vec<HostName>,
    /// Hosts that are watched.
    pub servers: Vec<HostName>,
    /// The target of each client.
    pub targets: Vec<String>,
    /// The loads, one after the other.
    pub loads: Vec<Load>,
    /// The size of scratch files.
    pub size: Bytes,
    /// Whether each load runs once more with half of the clients.
    pub prove: bool,
    /// Decides the random addresses.
    pub seed: u64,
    /// How hosts are reached.
    pub reach: Reach,
}

/// A host as it is known before load: connected and looked at, or why not.
#[derive(Debug)]
pub struct Preflight {
    pub host: HostName,
    /// Whether it is a client.
    pub is_client: bool,
    /// What is known; or why nothing is.
    pub looked: Result<Looked, LinkError>,
}

/// What a run of all hosts brought back.
#[derive(Debug)]
pub struct Point {
    /// What goes into the record.
    pub record: PointRecord,
    /// Where the files of each host are that took part, in the order of the outcomes. They go with the fleet.
    pub directories: Vec<PathBuf>,
}

/// Connected hosts.
pub struct Fleet<'a> {
    asked: &'a Asked,
    // Dropped in this order: connections first, what they work in last.
    clients: Ends,
    servers: Ends,
    leg: Option<NetworkLeg>,
    _ground: Ground,
}

impl<'a> Fleet<'a> {
    /// Connects to every host and asks what it has. Nothing is laid out and no load runs.
    ///
    /// # Errors
    /// The controller's own directory cannot be made.
    pub fn open(root: &Root, asked: &'a Asked, pushed: &Pushed) -> std::io::Result<(Self, Vec<Preflight>)> {
        let ground = Ground::make(root)?;
        let clients = asked.clients.iter().map(|host| (host, true));
        let servers = asked.servers.iter().map(|host| (host, false));
        let names: Vec<_> = clients.chain(servers).enumerate().collect();
        let terms = Terms { seconds: asked.longest().as_secs(), has_load: true };
        let opened = each(&names, fan_out(), |(number, (host, is_client))| {
            let (directory, token) = ground.place(*number)?;
            let link = Link::open(&asked.reach, host, (directory, &token), pushed, terms)?;
            let target = asked.targets.get(*number).filter(|_| *is_client).map(String::as_str);
            let looked = link.look(target)?;
            Ok((link, looked))
        });
        let (mut clients, mut servers) = (Ends::default(), Ends::default());
        let mut told = Vec::new();
        for ((_, (host, is_client)), opened) in names.into_iter().zip(opened) {
            let (link, looked) = match opened {
                Ok((link, looked)) => (Some(link), Ok(looked)),
                Err(error) => (None, Err(error)),
            };
            let side = if is_client { &mut clients } else { &mut servers };
            side.links.push(link);
            side.known.push(looked.as_ref().cloned().unwrap_or_default());
            told.push(Preflight { host: host.clone(), is_client, looked });
        }
        Ok((Self { asked, clients, servers, leg: None, _ground: ground }, told))
    }

    /// Makes every target ready: scratch files are laid out now, so that none is when the clock runs. Clients that cannot are named with
    /// the reason, and left out.
    pub fn prepare(&mut self) -> Vec<(usize, LinkError)> {
        let asked = self.asked;
        let size = asked.size.get();
        let patience = Duration::from_secs(60 + size / SLOWEST_LAYOUT);
        let links = self.clients.links.iter_mut().enumerate();
        let links = links.filter_map(|(number, link)| Some((number, Mutex::new(link.as_mut()?))));
        let items: Vec<(usize, Mutex<&mut Link>)> = links.collect();
        let known = self.clients.known.iter().chain(&self.servers.known);
        let ports: BTreeSet<u16> = known.flat_map(|known| &known.look.ports).copied().collect();
        let ports = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        let ports = if ports.is_empty() { "0".to_owned() } else { ports };
        let done = each(&items, fan_out(), |(number, link)| {
            let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
            let target = asked.targets.get(*number).map_or("", String::as_str);
            let prepared = link.prepare(target, size, patience).and_then(|()| link.forward());
            prepared.and_then(|()| link.sample(&ports)).err().map(|error| (*number, error))
        });
        drop(items);
        for server in self.servers.links.iter_mut().flatten() {
            // Without its samples the verdict says that it was not watched.
            let _ = server.sample(&ports);
        }
        let lost: Vec<(usize, LinkError)> = done.into_iter().flatten().collect();
        for (number, _) in &lost {
            self.clients.links.get_mut(*number).and_then(Option::take);
        }
        lost
    }

    /// Measures the network alone, in the direction of the first load. Each server opens a port for it.
    pub fn measure_network(&mut self) -> &NetworkLeg {
        let load = self.asked.loads.first();
        let wanted = NetworkLeg {
            is_write: load.is_some_and(|load| load.read_percent < 50),
            time_ns: load.map_or(leg::LONGEST, |load| load.time_ns.duration()).min(leg::LONGEST).into(),
            rate_cap: load.and_then(|load| load.rate_cap),
            ..NetworkLeg::default()
        };
        self.leg.insert(leg::run(&self.clients, &self.servers, wanted))
    }

    /// Runs one load on all clients that are left, or on every second of them. `say` hears of each that is lost.
    pub fn run(
        &mut self,
        number: usize,
        load: &Load,
        is_proof: bool,
        stop: &AtomicBool,
        say: &(dyn Fn(&HostOutcome) + Sync),
    ) -> (Point, bool) {
        let name = format!("point-{number:03}");
        let is_there = |client: &usize| self.clients.link(*client).is_some_and(|link| link.ended.is_none());
        let mut chosen: Vec<usize> = (0..self.clients.links.len()).filter(is_there).collect();
        if is_proof {
            chosen = chosen.into_iter().step_by(2).collect();
        }
        let started =
            each(&chosen, fan_out(), |client| self.start(*client, (number, &name), load, chosen.len()));
        let mut clients = Vec::new();
        let mut failed = Vec::new();
        for (client, started) in chosen.iter().zip(started) {
            match started {
                Ok(one) => clients.push(one),
                Err(error) => {
                    let reason = Some(format!("fio cannot be started here: {error}"));
                    let (client, known_after_ns) = (*client, Some(Nanos::new(0)));
                    failed.push(HostOutcome { client, state: State::Failed, reason, known_after_ns });
                }
            }
        }
        let patience = ready(chosen.len(), load);
        let jobs = usize::try_from(load.jobs).unwrap_or(usize::MAX);
        let start_ns = begin(&mut clients, &mut self.clients, (number, jobs), patience, stop);
        let interrupted =
            follow(&mut clients, &mut self.clients.links, (start_ns, load.time_ns.duration()), stop, say);
        let directories = clients.iter().map(|client| client.directory.clone()).collect();
        let hosts: Vec<HostOutcome> =
            clients.into_iter().filter_map(|client| client.outcome).chain(failed).collect();
        // A host that hangs is none to begin the next run on.
        for outcome in hosts.iter().filter(|outcome| outcome.state == State::Hung) {
            if let Some(link) = self.clients.links.get_mut(outcome.client).and_then(Option::as_mut) {
                link.ended = outcome.reason.clone();
            }
        }
        let record = PointRecord { directory: name, load: load.clone(), start_ns, hosts, is_proof };
        (Point { record, directories }, interrupted)
    }

    fn start(
        &self,
        client: usize,
        (number, point): (usize, &str),
        load: &Load,
        hosts: usize,
    ) -> std::io::Result<Client> {
        let gone = || std::io::Error::other("the host is gone");
        let link = self.clients.link(client).ok_or_else(gone)?;
        let prepared = link.prepared.ok_or_else(gone)?;
        let target = self.asked.targets.get(client).map_or("", String::as_str);
        let target = match NbdUri::parse(target) {
            Some(uri) => JobTarget::Nbd(uri),
            None => JobTarget::Link(prepared),
        };
        let seed = self.asked.seed.wrapping_add(client as u64);
        let job = Job { load, hosts, seed, target: &target, point: number };
        Client::start(client, &link.directory, point, &job.text())
    }

    /// The samples of every host until now: those of clients, then those of servers. `say` hears of a host that sent more than is kept,
    /// and how many bytes more.
    pub fn samples(&self, say: impl Fn(&HostName, usize)) -> (Vec<String>, Vec<String>) {
        let of_host = |link: &Link| {
            let (samples, left_out) = link.samples();
            if left_out > 0 {
                say(&link.host, left_out);
            }
            samples
        };
        let of = |links: &[Option<Link>]| {
            links.iter().map(|link| link.as_ref().map(of_host).unwrap_or_default()).collect()
        };
        (of(&self.clients.links), of(&self.servers.links))
    }

    /// Takes everything away from all hosts at once, and gives the record of the whole.
    pub fn close(self, points: Vec<PointRecord>, interrupted: Option<String>) -> Run {
        let Self { asked, clients, servers, leg, .. } = self;
        let mut run = Run {
            schema: SCHEMA.to_owned(),
            narrows: env!("CARGO_PKG_VERSION").to_owned(),
            fio: clients.known.iter().find_map(|known| known.look.fio.clone()).unwrap_or_default(),
            clients: records("client", &asked.clients, &clients),
            servers: records("server", &asked.servers, &servers),
            points,
            network_leg: leg,
            drives_leg: None,
            interrupted,
            left: Vec::new(),
        };
        let links = clients.links.into_iter().chain(servers.links).flatten();
        let links: Vec<Mutex<Link>> = links.map(Mutex::new).collect();
        let closed = each(&links, links.len(), |link| {
            let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
            link.close().map(|(reason, command)| Left { host: link.host.to_string(), reason, command })
        });
        run.left = closed.into_iter().flatten().collect();
        run
    }
}

fn records(role: &str, hosts: &[HostName], ends: &Ends) -> Vec<Host> {
    let record = |(number, (host, Looked { clock, look })): (usize, (&HostName, &Looked))| {
        let prepared = ends.link(number).and_then(|link| link.prepared);
        let target = match &look.target {
            Some(Ok(found)) => Some(target_record(found, prepared)),
            // A server has no target of its own; its drives are what it serves from.
            _ => (role == "server")
                .then(|| TargetRecord { drives: look.drives.clone(), ..TargetRecord::default() }),
        };
        Host {
            host: host.to_string(),
            directory: format!("{role}-{:04}", number + 1),
            clock_ahead_ns: clock.ahead_ns,
            clock_uncertainty_ns: clock.uncertainty_ns,
            target,
            facts: look.facts.clone(),
        }
    };
    hosts.iter().zip(&ends.known).enumerate().map(record).collect()
}

fn target_record(found: &HostTarget, prepared: Option<Prepared>) -> TargetRecord {
    TargetRecord {
        found: found.name.clone(),
        size: prepared.map_or_else(|| found.size.unwrap_or_default(), |prepared| prepared.size),
        is_direct: prepared.is_some_and(|prepared| prepared.is_direct),
        server: found.server.clone(),
        drives: found.drives.clone(),
    }
}

impl Asked {
    /// How long all may take, after which hosts clean up by themselves.
    fn longest(&self) -> Duration {
        let clients = self.clients.len();
        let of_load = |load: &Load| load.time_ns.duration() + Duration::from_secs(30) + ready(clients, load);
        let runs: Duration = self.loads.iter().map(of_load).sum();
        let layout = Duration::from_secs(self.size.get() / SLOWEST_LAYOUT);
        let times = if self.prove { 2 } else { 1 };
        runs * times + layout + AROUND
    }
}

/// How long so many clients may take until their jobs wait for the start.
fn ready(clients: usize, load: &Load) -> Duration {
    READY + READY_OF_EACH * u32::try_from(clients).unwrap_or(u32::MAX) + READY_OF_JOB * load.jobs
}

/// What speaks against a run before any load, host by host. Empty where nothing does.
pub fn objections(asked: &Asked, told: &[Preflight]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, host) in told.iter().enumerate() {
        let mut object = |why: String| found.push((host.host.to_string(), why));
        let Ok(Looked { look, clock }) = &host.looked else { continue };
        if clock.uncertainty_ns > MOST_UNCERTAIN_NS {
            let within = human::time(Nanos::new(clock.uncertainty_ns));
            object(format!("its clock is known to within {within} only"));
        }
        if !host.is_client {
            continue;
        }
        match &look.fio {
            None => object("fio is not installed there".to_owned()),
            Some(version) => versions.entry(version.clone()).or_default().push(host.host.to_string()),
        }
        let typed = asked.targets.get(number).map_or("", String::as_str);
        let why = match &look.target {
            Some(Err(why)) => Some(why.clone()),
            Some(Ok(target)) => against(asked, target),
            None => Some(format!("it says nothing of its target `{typed}`")),
        };
        why.into_iter().for_each(object);
    }
    if versions.len() > 1 {
        for (version, hosts) in &versions {
            found.push((hosts.join(", "), format!("fio {version}; all must have one version")));
        }
    }
    found
}

/// What speaks against a target.
fn against(asked: &Asked, target: &HostTarget) -> Option<String> {
    let writes = asked.loads.iter().any(|load| load.read_percent < 100);
    let largest = asked.loads.iter().map(|load| load.block_size).max().unwrap_or_default();
    match target.kind {
        FoundKind::Device | FoundKind::File | FoundKind::Nbd if writes => Some(format!(
            "{} is only ever read by a fleet; name a directory, in which a scratch file is written",
            target.name
        )),
        FoundKind::Directory => {
            // As much as a scratch file leaves free elsewhere: load::scratch has the rule, which this foresees.
            let free = target.free.filter(|free| *free < asked.size)?;
            let (name, free, size) = (&target.name, human::bytes(free), human::bytes(asked.size));
            Some(format!("{name} has {free} free, and the scratch file has {size}"))
        }
        _ => (target.size? < largest).then(|| format!("{} is smaller than a block", target.name)),
    }
}

/// How long a client may take beyond its time: fio's own threads look every second, and the logs come back.
const GRACE: Duration = Duration::from_secs(6);
/// How long after fio's client failed the connection may still tell why.
const KNOWS_BETTER: Duration = Duration::from_millis(1500);
/// From the word that a run begins to its beginning: jobs look for it every 50 ms.
const LEAD: Duration = Duration::from_millis(700);
/// What a client may take of this machine for what its host sends, in bytes: memory, and each file.
const MOST_MEMORY: u64 = 1 << 30;
const MOST_FILE: u64 = 256 << 20;
/// How often clients are looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// A client of fio on its way.
struct Client {
    client: usize,
    directory: PathBuf,
    child: Child,
    /// When fio's client failed, and what it said: the connection may soon know better why.
    failed: Option<(Instant, String)>,
    outcome: Option<HostOutcome>,
}

impl Client {
    /// Starts one for a host, whose socket is in the directory above.
    fn start(client: usize, host: &Path, point: &str, job: &str) -> io::Result<Self> {
        let directory = script::point_directory(host, point, job)?;
        let mut fio = program::command(&Root::live(), "fio").ok_or(io::ErrorKind::NotFound)?;
        fio.args(["--client=sock:s", "--eta=never", "--output-format=json+", "--output=fio.json", "job.fio"]);
        fio.current_dir(&directory).process_group(0);
        let child = program::spawn(fio.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))?;
        // What the host sends it has a bound in memory and in files.
        for (resource, most) in [(Resource::Data, Some(MOST_MEMORY)), (Resource::Fsize, Some(MOST_FILE))] {
            let limit = Rlimit { current: most, maximum: most };
            prlimit(Pid::from_raw(child.id().cast_signed()), resource, limit)?;
        }
        Ok(Self { client, directory, child, failed: None, outcome: None })
    }

    fn end(&mut self, start_ns: u64, state: State, reason: Option<String>) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let known = Nanos::new(now().saturating_sub(start_ns));
        let known_after_ns = (state != State::Ok).then_some(known);
        self.outcome = Some(HostOutcome { client: self.client, state, reason, known_after_ns });
    }
}

/// Waits until the jobs of all clients sleep until they are told when the run begins, or until `patience` is over; then tells all of
/// them. The common start, on our clock.
fn begin(
    clients: &mut [Client],
    ends: &mut Ends,
    (point, jobs): (usize, usize),
    patience: Duration,
    stop: &AtomicBool,
) -> u64 {
    let end = Instant::now() + patience;
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        let mut is_ready = |client: &mut Client| {
            let has_ended = !matches!(client.child.try_wait(), Ok(None));
            let link = ends.links.get_mut(client.client).and_then(Option::as_mut);
            has_ended || link.is_none_or(|link| link.ended.is_some() || link.is_waiting(point, jobs))
        };
        // Every one of them is asked, so that each word is taken in.
        if clients.iter_mut().map(&mut is_ready).fold(true, |all, is_ready| all & is_ready) {
            break;
        }
        thread::sleep(GLANCE);
    }
    let ours = now().saturating_add(Nanos::from(LEAD).get());
    for client in clients.iter() {
        if let Some(link) = ends.link(client.client) {
            link.go(Go { point, start_ns: ends.on_host(client.client, ours) });
        }
    }
    ours
}

/// Follows clients until all have ended, each by itself or by its deadline. `links` has the connection of each client, by its place.
/// Whether it ended early because of `stop`.
fn follow(
    clients: &mut [Client],
    links: &mut [Option<Link>],
    (start_ns, time): (u64, Duration),
    stop: &AtomicBool,
    say: &(dyn Fn(&HostOutcome) + Sync),
) -> bool {
    let deadline = start_ns.saturating_add(Nanos::from(time + GRACE).get());
    while clients.iter().any(|client| client.outcome.is_none()) {
        if stop.load(Ordering::Relaxed) {
            for client in clients.iter_mut().filter(|client| client.outcome.is_none()) {
                client.end(start_ns, State::Failed, Some("the run was interrupted".to_owned()));
            }
            return true;
        }
        for client in clients.iter_mut().filter(|client| client.outcome.is_none()) {
            look(client, links.get_mut(client.client).and_then(Option::as_mut), start_ns, deadline);
            if let Some(outcome) = client.outcome.as_ref().filter(|outcome| outcome.state != State::Ok) {
                say(outcome);
            }
        }
        thread::sleep(GLANCE);
    }
    false
}

fn look(client: &mut Client, link: Option<&mut Link>, start_ns: u64, deadline: u64) {
    let gone = link.and_then(Link::check);
    if let Some((is_unreachable, why)) = gone {
        let state = if is_unreachable { State::Unreachable } else { State::Failed };
        return client.end(start_ns, state, Some(why));
    }
    if let Some((at, why)) = client.failed.clone() {
        if at.elapsed() > KNOWS_BETTER {
            client.end(start_ns, State::Failed, Some(why));
        }
        return;
    }
    match client.child.try_wait() {
        Ok(Some(status)) if status.success() => client.end(start_ns, State::Ok, None),
        Ok(Some(status)) => {
            client.failed = Some((Instant::now(), format!("fio's client ended with {status}")));
        }
        Err(error) => client.end(start_ns, State::Failed, Some(error.to_string())),
        Ok(None) if now() > deadline => {
            let why = format!("it had not ended {} after its time", human::time(GRACE.into()));
            client.end(start_ns, State::Hung, Some(why));
        }
        Ok(None) => {}
    }
}
