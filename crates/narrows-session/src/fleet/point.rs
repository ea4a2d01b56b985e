//! One run of all hosts: a client of fio for each, and what becomes of it.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::host::Go;
use super::link::Link;
use super::script;
use super::started::now;
use narrows_base::units::{Nanos, human};
use narrows_machine::program;
use narrows_machine::root::Root;
use narrows_verdict::fleet::record::{HostOutcome, State};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

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

/// What is said on the way.
#[derive(Debug, Clone, Copy)]
pub enum Said<'a> {
    /// What happens now.
    Step(&'a str),
    /// A client is lost.
    Lost {
        /// Its place.
        client: usize,
        /// How.
        state: State,
        /// Why.
        reason: &'a str,
        /// Since the common start.
        after: Nanos,
    },
}

/// A client of fio on its way.
pub(super) struct Client {
    pub(super) client: usize,
    pub(super) directory: PathBuf,
    child: Child,
    /// When fio's client failed, and what it said: the connection may soon know better why.
    failed: Option<(Instant, String)>,
    outcome: Option<HostOutcome>,
}

impl Client {
    /// Starts one for a host, whose socket is in the directory above.
    pub(super) fn start(client: usize, host: &Path, point: &str, job: &str) -> io::Result<Self> {
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
pub(super) fn begin(
    clients: &mut [Client],
    links: &mut [Option<Link>],
    (point, jobs): (usize, usize),
    patience: Duration,
    stop: &AtomicBool,
    on_host: impl Fn(usize, u64) -> u64,
) -> u64 {
    let end = Instant::now() + patience;
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        let mut is_ready = |client: &mut Client| {
            let has_ended = !matches!(client.child.try_wait(), Ok(None));
            let link = links.get_mut(client.client).and_then(Option::as_mut);
            has_ended || link.is_none_or(|link| link.ended.is_some() || link.is_waiting(point, jobs))
        };
        // Every one of them is asked, so that each word is taken in.
        if clients.iter_mut().filter_map(|client| (!is_ready(client)).then_some(())).count() == 0 {
            break;
        }
        thread::sleep(GLANCE);
    }
    let lead = u64::try_from(LEAD.as_nanos()).unwrap_or(u64::MAX);
    let start_ns = now().saturating_add(lead);
    for client in clients.iter() {
        if let Some(link) = links.get_mut(client.client).and_then(Option::as_mut) {
            link.go(Go { point, start_ns: on_host(client.client, start_ns) });
        }
    }
    start_ns
}

/// Follows clients until all have ended, each by itself or by its deadline. `links` has the connection of each client, by its place.
/// Whether it ended early because of `stop`.
pub(super) fn follow(
    clients: &mut [Client],
    links: &mut [Option<Link>],
    (start_ns, time): (u64, Duration),
    stop: &AtomicBool,
    say: &(dyn Fn(Said<'_>) + Sync),
) -> bool {
    let length = u64::try_from((time + GRACE).as_nanos()).unwrap_or(u64::MAX);
    let deadline = start_ns.saturating_add(length);
    while clients.iter().any(|client| client.outcome.is_none()) {
        if stop.load(Ordering::Relaxed) {
            for client in clients.iter_mut().filter(|client| client.outcome.is_none()) {
                client.end(start_ns, State::Failed, Some("the run was interrupted".to_owned()));
            }
            return true;
        }
        for client in clients.iter_mut().filter(|client| client.outcome.is_none()) {
            let link = links.get_mut(client.client).and_then(Option::as_mut);
            look(client, link, start_ns, deadline);
            if let Some(outcome) = client.outcome.as_ref().filter(|outcome| outcome.state != State::Ok) {
                say(Said::Lost {
                    client: outcome.client,
                    state: outcome.state,
                    reason: outcome.reason.as_deref().unwrap_or_default(),
                    after: outcome.known_after_ns.unwrap_or_default(),
                });
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

/// What became of the clients.
pub(super) fn outcomes(clients: &[Client]) -> Vec<HostOutcome> {
    clients.iter().filter_map(|client| client.outcome.clone()).collect()
}
