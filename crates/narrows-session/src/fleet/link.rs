//! The connection to a host: one ssh, whose first session is the keeper of the run's directory there; everything else goes through it.

#![expect(clippy::disallowed_types, reason = "ssh is how hosts are reached")]

mod reach;

pub(super) use reach::collect;
pub use reach::{HOST, Launcher, Reach, as_bytes, as_lines};

use std::io::Read;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::hosts::{Go, HostName, Look, Offset, Prepared, RoundTrip, Word, offset};
use super::leg::{LEG_STEP, LegAnswer, LegOrder};
use super::script::{PREFIX, Pushed, Terms, Token};
use super::started::{LinkError, Started, lines, next, now, put, rest};
use narrows_base::hex;
use reach::{Bridge, CONNECT, PATIENCE, answer, not_installed, said_by, ssh};

/// Round trips of which the fastest tells the clock.
const ROUND_TRIPS: usize = 8;
/// No host says more than this in a run, in bytes: ten minutes of a server with a thousand connections.
const MOST_SAMPLES: usize = 64 << 20;
/// Nor do all of them: what they say is in memory as long as the run takes, and twice while it is kept.
static ROOM: AtomicUsize = AtomicUsize::new(192 << 20);
/// How long a push may take as a whole, and of how many bytes some must be taken within [`PATIENCE`].
const PUSHED: Duration = Duration::from_secs(600);
const PIECE: usize = 1 << 20;
/// How long what reaches a host may take to end that has nothing to take away.
const GRACE: Duration = Duration::from_secs(1);

/// What is known of a host before load.
#[derive(Debug, Clone, Default)]
pub struct Looked {
    /// What it says of itself.
    pub look: Look,
    pub clock: Offset,
}

/// What a host sampled, and how many bytes more than there is room for.
#[derive(Default)]
struct Sampled {
    bytes: Vec<u8>,
    left_out: usize,
}

/// A connected host.
pub(super) struct Link {
    pub(super) host: HostName,
    pub(super) directory: PathBuf,
    reach: Reach,
    keeper: Started,
    input: Option<ChildStdin>,
    words: Mutex<Receiver<(String, u64)>>,
    errors: Mutex<Receiver<(String, u64)>>,
    remote: String,
    holder: Option<Started>,
    /// The target that is held.
    pub(super) prepared: Option<Prepared>,
    sampler: Option<Started>,
    bridge: Option<Bridge>,
    samples: Arc<Mutex<Sampled>>,
    /// The run for which jobs wait, and how many.
    waiting: (usize, usize),
    /// Why the server of fio ended.
    server_ended: Option<String>,
    /// Whether the host said that nothing is left.
    is_clean: bool,
    pub(super) ended: Option<String>,
}

impl Link {
    /// Connects, pushes, and waits until the host is ready. Without load it has no lock and no server of fio.
    pub(super) fn open(
        reach: &Reach,
        host: &HostName,
        (directory, token): (PathBuf, &Token),
        pushed: &Pushed,
        terms: Terms,
    ) -> Result<Self, LinkError> {
        if reach.stop.load(Ordering::Relaxed) {
            return Err(LinkError::Silent);
        }
        let (mut command, script) = reach.keeper(host, &directory.join("m"), token, (pushed, terms))?;
        // What belongs to the run is told by where it works, here as on the hosts.
        command.current_dir(&directory).stdin(Stdio::piped());
        let mut keeper = Started::new(&mut command)?;
        let input = keeper.child.stdin.take().ok_or(LinkError::Silent)?;
        let (words, errors) = (lines(keeper.child.stdout.take()), lines(keeper.child.stderr.take()));
        // A host that refuses closes its end before it has everything, and says why on the other.
        let _ = put(&input, script.as_bytes(), Instant::now() + PATIENCE, &reach.stop);
        let mut link = Self {
            host: host.clone(),
            directory,
            reach: reach.clone(),
            keeper,
            input: Some(input),
            words: Mutex::new(words),
            errors: Mutex::new(errors),
            remote: String::new(),
            holder: None,
            prepared: None,
            sampler: None,
            bridge: None,
            samples: Arc::default(),
            waiting: (0, 0),
            server_ended: None,
            is_clean: false,
            ended: None,
        };
        match link.greet(pushed) {
            Ok(()) => Ok(link),
            Err(error) => {
                link.close();
                Err(error)
            }
        }
    }

    /// Waits until the host asks for what is pushed, and for its directory and the keeper.
    fn greet(&mut self, pushed: &Pushed) -> Result<(), LinkError> {
        let (mut end, last) = (Instant::now() + PATIENCE, Instant::now() + PUSHED);
        loop {
            let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
            let word = next(&words, end, &self.reach.stop);
            drop(words);
            let line = match word {
                Ok((line, _)) => line,
                Err(RecvTimeoutError::Timeout) => return Err(LinkError::Silent),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.keeper.wait_until(Instant::now() + GRACE);
                    return Err(LinkError::Unreachable(self.why_gone(status)));
                }
            };
            if let Some(why) = line.strip_prefix("refused ") {
                return Err(LinkError::Refused(why.to_owned()));
            }
            if let Some(directory) = line.strip_prefix("directory ") {
                directory.clone_into(&mut self.remote);
            }
            if let ("send", Some(input)) = (line.as_str(), &self.input) {
                let mut pieces = pushed.narrows.chunks(PIECE).chain(pushed.fio.chunks(PIECE));
                // A slow link is no silent one, as long as something goes on.
                let put = |piece| put(input, piece, last.min(Instant::now() + PATIENCE), &self.reach.stop);
                if pieces.all(|piece| put(piece).is_ok()) {
                    end = Instant::now() + PATIENCE;
                }
            }
            match serde_json::from_str(&line) {
                Ok(Word::Ready) if is_ours(&self.remote) => return Ok(()),
                Ok(Word::Refused(why) | Word::Ended(why)) => return Err(LinkError::Refused(why)),
                // What the shell says, or a message of the day.
                _ => {}
            }
        }
    }

    fn why_gone(&self, status: Option<ExitStatus>) -> String {
        let said = rest(&self.errors.lock().unwrap_or_else(PoisonError::into_inner));
        let last = said.last().map(String::as_str);
        let name = self.reach.name();
        match (last, status.and_then(|status| status.code())) {
            (Some(last), _) if self.reach.launcher.is_some() && !self.is_clean => said_by(&name, last),
            (None, _) if self.reach.launcher.is_some() && !self.is_clean => {
                let how = status.map_or_else(String::new, |status| format!(" ({status})"));
                format!("{name} ended without a word of the host{how}")
            }
            (Some(last), Some(255)) => said_by(&name, last),
            (None, Some(255)) => "ssh lost the connection".to_owned(),
            (last, _) => {
                let last = last.map(|last| format!(": {last}")).unwrap_or_default();
                format!("what keeps the run on the host was ended{last}")
            }
        }
    }

    /// A command on the host, in the run's directory, through the connection that is there.
    fn on_host(&self, words: &str) -> Result<Command, LinkError> {
        let mut command = self.reach.step(&self.host, &self.directory.join("m"), (&self.remote, words))?;
        command.current_dir(&self.directory);
        Ok(command)
    }

    /// Asks what the host is and has, and what its clock says.
    pub(super) fn look(&self, target: Option<&str>) -> Result<Looked, LinkError> {
        let clock = self.clock()?;
        // A text of the user goes as digits, which the host's shell passes on without a look at them.
        let words = target.map(|target| format!("look --target {}", hex::digits(target.as_bytes())));
        let said = answer(self.on_host(words.as_deref().unwrap_or("look"))?, &[], &self.reach.stop)?;
        let said = String::from_utf8_lossy(&said);
        let look = serde_json::from_str(&said).map_err(|_| {
            let begins: String = said.chars().take(100).collect();
            LinkError::Refused(format!("it answers with `{begins}`"))
        })?;
        Ok(Looked { look, clock })
    }

    /// A record of the host, as `narrows snapshot` makes it.
    pub(super) fn record(&self) -> Result<Vec<u8>, LinkError> {
        let lines = answer(self.on_host("record")?, &[], &self.reach.stop)?;
        let mut record = Vec::new();
        as_bytes(lines.as_slice(), &mut record)
            .map_err(|_| LinkError::Refused("its record is not as lines of text".to_owned()))?;
        Ok(record)
    }

    fn clock(&self) -> Result<Offset, LinkError> {
        let clock = self.leg("clock")?;
        let end = Instant::now() + CONNECT;
        let mut trips = Vec::new();
        for _ in 0..ROUND_TRIPS {
            let asked = now();
            clock.put("", end);
            let Ok((line, came)) = next(&clock.answers, end, &self.reach.stop) else { break };
            if let Ok(told) = line.trim().parse() {
                trips.push(RoundTrip { asked, told, came });
            }
        }
        offset(&trips).ok_or(LinkError::Silent)
    }

    /// Makes the target ready and holds it. `size` is that of a scratch file.
    pub(super) fn prepare(&mut self, target: &str, size: u64, patience: Duration) -> Result<(), LinkError> {
        let words = format!("hold --target {} --size {size}", hex::digits(target.as_bytes()));
        let mut command = self.on_host(&words)?;
        command.stdin(Stdio::piped());
        let mut child = Started::new(&mut command)?;
        let (words, errors) = (lines(child.child.stdout.take()), lines(child.child.stderr.take()));
        let answer = next(&words, Instant::now() + patience, &self.reach.stop);
        let child = self.holder.insert(child);
        match answer {
            Ok((line, _)) => match serde_json::from_str(&line) {
                Ok(Word::Prepared(prepared)) => self.prepared = Some(prepared),
                _ => return Err(LinkError::Refused(line)),
            },
            Err(RecvTimeoutError::Timeout) => return Err(LinkError::Silent),
            Err(RecvTimeoutError::Disconnected) => {
                let _ = child.wait_until(Instant::now() + GRACE);
                let said = rest(&errors);
                let first = said.first().map_or("it failed", String::as_str);
                return Err(LinkError::Refused(first.trim_start_matches("narrows: ").to_owned()));
            }
        }
        Ok(())
    }

    /// Forwards the socket of the host's fio to `s` in our directory.
    pub(super) fn forward(&mut self) -> Result<(), LinkError> {
        if self.reach.launcher.is_some() {
            return self.hand_on();
        }
        let mut command = ssh(&self.reach, &self.directory.join("m"), false).ok_or_else(not_installed)?;
        let mut way = self.directory.join("s").into_os_string();
        way.push(format!(":{}/fio.sock", self.remote));
        command.args(["-O", "forward", "-L"]).arg(way).arg("--").arg(self.host.as_str());
        command.current_dir(&self.directory);
        answer(command, &[], &self.reach.stop).map(drop)
    }

    /// The same where no ssh forwards sockets.
    fn hand_on(&mut self) -> Result<(), LinkError> {
        let failed =
            |error: std::io::Error| LinkError::Refused(format!("cannot make a socket here: {error}"));
        // A launcher that is there once is there again.
        self.on_host("bridge")?;
        let (reach, host, directory) = (self.reach.clone(), self.host.clone(), self.directory.clone());
        let remote = self.remote.clone();
        let start = move || {
            let mut command = reach.step(&host, &directory.join("m"), (&remote, "bridge")).ok()?;
            command.current_dir(&directory);
            Some(command)
        };
        self.bridge = Some(Bridge::open(&self.directory.join("s"), start).map_err(failed)?);
        Ok(())
    }

    /// Starts to sample the host's counters.
    pub(super) fn sample(&mut self, ports: &str) -> Result<(), LinkError> {
        let mut command = self.on_host(&format!("sample --ports {ports}"))?;
        command.stderr(Stdio::null());
        let mut child = Started::new(&mut command)?;
        if let Some(out) = child.child.stdout.take() {
            keep(out, self.samples.clone());
        }
        self.sampler = Some(child);
        Ok(())
    }

    /// What the host sampled until now, and how many bytes of it were left out.
    pub(super) fn samples(&self) -> (String, usize) {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        (String::from_utf8_lossy(&samples.bytes).into_owned(), samples.left_out)
    }

    /// Takes in what the keeper has said since.
    fn listen(&mut self) {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        for (line, _) in words.try_iter() {
            match serde_json::from_str(&line) {
                Ok(Word::Ended(why)) => self.server_ended = Some(why),
                Ok(Word::Waiting { point, jobs }) => self.waiting = (point, jobs),
                _ => self.is_clean |= line == "clean",
            }
        }
    }

    /// Whether so many jobs of a run wait for its beginning.
    pub(super) fn is_waiting(&mut self, point: usize, jobs: usize) -> bool {
        self.listen();
        self.waiting.0 == point && self.waiting.1 >= jobs
    }

    /// Tells the host when a run begins, on its own clock.
    pub(super) fn go(&self, go: Go) {
        // A host that is gone is noticed by whoever follows it.
        if let (Some(input), Ok(line)) = (&self.input, serde_json::to_string(&go)) {
            let _ = put(input, (line + "\n").as_bytes(), Instant::now() + GRACE, &self.reach.stop);
        }
    }

    /// Looks whether the host is still there; says once why not, and whether the connection itself is gone.
    pub(super) fn check(&mut self) -> Option<(bool, String)> {
        if self.ended.is_some() {
            return None;
        }
        self.listen();
        let gone = match (self.server_ended.take(), self.keeper.status()) {
            (Some(why), _) => (false, why),
            (None, Some(status)) => (!self.is_clean_by(status), self.why_gone(Some(status))),
            _ => return None,
        };
        self.ended = Some(gone.1.clone());
        Some(gone)
    }

    /// Ends the connection. What has to be done by hand where it is not known that the host is clean: why, and the command.
    pub(super) fn close(&mut self) -> Option<(String, String)> {
        drop(self.input.take());
        for child in [self.holder.as_mut(), self.sampler.as_mut()].into_iter().flatten() {
            drop(child.child.stdin.take());
        }
        self.bridge = None;
        let is_short = self.remote.is_empty() || self.reach.stop.load(Ordering::Relaxed);
        let status = self.keeper.wait_until(Instant::now() + if is_short { GRACE } else { CONNECT });
        (self.holder, self.sampler) = (None, None);
        if status.is_some_and(|status| self.is_clean_by(status)) || !is_ours(&self.remote) {
            return None;
        }
        let why = self.ended.clone().unwrap_or_else(|| "it did not say that it is clean".to_owned());
        Some((why, self.reach.typed(&self.host, &format!("rm -rf {}", self.remote))))
    }

    /// Whether what keeps the run ended on its host, and so took everything away. ssh tells by its status that it lost the connection; of
    /// a launcher only the word of the host counts.
    fn is_clean_by(&mut self, status: ExitStatus) -> bool {
        const LAST_WORDS: Duration = Duration::from_millis(500);
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + LAST_WORDS;
        while !self.is_clean
            && let Ok((line, _)) = words.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            self.is_clean = line == "clean";
        }
        self.is_clean || (self.reach.launcher.is_none() && status.code() != Some(255))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

/// Keeps what comes, as much as there is room for; the rest is read, counted and dropped.
fn keep(mut from: impl Read + Send + 'static, into: Arc<Mutex<Sampled>>) {
    thread::spawn(move || {
        let mut piece = [0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = length.min(MOST_SAMPLES.saturating_sub(kept.bytes.len()));
            let has_room = |room: usize| room.checked_sub(taken);
            let taken =
                ROOM.fetch_update(Ordering::Relaxed, Ordering::Relaxed, has_room).map_or(0, |_| taken);
            kept.bytes.extend_from_slice(piece.get(..taken).unwrap_or_default());
            kept.left_out += length - taken;
        }
    });
}

/// Whether a host names the directory of a run, which then goes into command lines.
fn is_ours(remote: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    let name = remote.rsplit('/').next().unwrap_or_default();
    remote.starts_with('/') && remote.len() < 90 && remote.chars().all(is_plain) && name.starts_with(PREFIX)
}

/// A step that runs and is talked to, line by line. It ends when this is dropped.
pub(super) struct Leg {
    child: Started,
    input: Option<ChildStdin>,
    answers: Receiver<(String, u64)>,
    stop: Arc<AtomicBool>,
}

impl Link {
    fn leg(&self, words: &str) -> Result<Leg, LinkError> {
        let mut command = self.on_host(words)?;
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = Started::new(&mut command)?;
        let (input, answers) = (child.child.stdin.take(), lines(child.child.stdout.take()));
        Ok(Leg { child, input, answers, stop: self.reach.stop.clone() })
    }

    /// Starts a side of a leg on the host and gives it an order.
    pub(super) fn side(&self, order: &LegOrder) -> Result<Leg, String> {
        let leg = self.leg("leg").map_err(|error| error.to_string())?;
        leg.tell(order);
        Ok(leg)
    }
}

impl Leg {
    /// Hands on a line. One that is gone does not answer.
    fn put(&self, line: &str, end: Instant) {
        let _ = self.input.as_ref().map(|input| put(input, format!("{line}\n").as_bytes(), end, &self.stop));
    }

    /// Gives an order.
    pub(super) fn tell(&self, order: &LegOrder) {
        let _ = serde_json::to_string(order).map(|line| self.put(&line, Instant::now() + LEG_STEP));
    }

    /// The next answer.
    pub(super) fn answer(&self, patience: Duration) -> Result<LegAnswer, String> {
        let answer = next(&self.answers, Instant::now() + patience, &self.stop);
        let (line, _) = answer.map_err(|error| match error {
            RecvTimeoutError::Timeout => "it does not answer".to_owned(),
            RecvTimeoutError::Disconnected => "it ended without an answer".to_owned(),
        })?;
        serde_json::from_str(&line).map_err(|_| "its answer is none".to_owned())
    }
}

impl Drop for Leg {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait_until(Instant::now() + GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_a_run_goes_into_a_command_line() {
        assert!(is_ours("/dev/shm/narrows-fleet-00ff-3"));
        for text in [
            "",
            "/",
            "/tmp",
            "narrows-fleet-1",
            "/tmp/narrows-fleet-1;id",
            "/tmp/narrows-fleet-1/..",
            "/tmp/x",
        ] {
            assert!(!is_ours(text), "{text}");
        }
        assert_eq!(hex::digits("a;ö".as_bytes()), "613bc3b6");
    }
}
