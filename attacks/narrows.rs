//! Runs the binary that is attacked, and looks at its answers.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::attack::{Judge, Result};
use super::device::Device;
use super::ground::{Ground, forget, kill_group, remember};

/// What every bench against a device is given, so that it is short, works on most of the device, and really writes.
pub(crate) const BENCH: [&str; 6] = ["--as", "peak", "--duration", "100ms", "--warm-up", "1ms"];

/// The longest that any command may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// A command line of narrows.
#[derive(Debug)]
pub(crate) struct Run {
    command: Command,
    out: PathBuf,
    err: PathBuf,
    patience: Duration,
}

/// What it answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The exit status; `None` when a signal ended it.
    pub(crate) status: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// What it printed.
    pub(crate) out: String,
    /// What it complained about.
    pub(crate) err: String,
    /// How long it took.
    pub(crate) took: Duration,
    /// The most memory that it was seen with, in bytes.
    pub(crate) memory: u64,
    /// Whether it had to be stopped because it took too long.
    pub(crate) late: bool,
}

impl Run {
    /// `narrows` with these words.
    pub(crate) fn new(ground: &Ground, words: &[&str]) -> Self {
        let mut command = Command::new(&ground.binary);
        command.args(words);
        Self::of(ground, command)
    }

    /// A command that starts narrows in the end: `$NARROWS` in its environment is the binary.
    pub(crate) fn through(ground: &Ground, script: &str, words: &[&str]) -> Self {
        let mut command = super::tool::command(script, words);
        command.env("NARROWS", &ground.binary);
        Self::of(ground, command)
    }

    fn of(ground: &Ground, mut command: Command) -> Self {
        let (out, err) = (ground.path("out"), ground.path("err"));
        // What the user of the attacks has set must not decide.
        command.env_remove("NO_COLOR").stdin(Stdio::null());
        Self { command, out, err, patience: PATIENCE }
    }

    /// Gives it so long.
    pub(crate) fn within(mut self, seconds: u64) -> Self {
        self.patience = Duration::from_secs(seconds);
        self
    }

    /// Lets the caller change the command.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        change(&mut self.command);
        self
    }

    /// Starts it, in a process group of its own.
    pub(crate) fn start(mut self) -> Result<Running> {
        self.command.stdout(File::create(&self.out)?).stderr(File::create(&self.err)?).process_group(0);
        let begin = Instant::now();
        let child = self.command.spawn()?;
        remember(child.id());
        Ok(Running { child, begin, run: self, memory: 0 })
    }

    /// Runs it to its end.
    pub(crate) fn answer(self) -> Result<Answer> {
        self.start()?.answer()
    }
}

/// A narrows that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    begin: Instant,
    run: Run,
    memory: u64,
}

impl Running {
    /// Its number, which is also that of its group.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Waits so long, or until it has ended; whether it has.
    pub(crate) fn wait(&mut self, for_so_long: Duration) -> bool {
        let until = Instant::now() + for_so_long;
        while Instant::now() < until {
            if self.has_ended() {
                return true;
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.has_ended()
    }

    /// Sends a signal to it alone.
    pub(crate) fn signal(&self, which: nix::sys::signal::Signal) {
        super::ground::signal(self.child.id(), which);
    }

    /// Waits for its end.
    pub(crate) fn answer(mut self) -> Result<Answer> {
        let mut late = false;
        let status = loop {
            self.memory = self.memory.max(resident(self.child.id()));
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if self.begin.elapsed() > self.run.patience && !late {
                late = true;
                kill_group(self.child.id());
            }
            thread::sleep(Duration::from_millis(4));
        };
        let took = self.begin.elapsed();
        forget(self.child.id());
        let text = |path: &PathBuf| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let (out, err) = (text(&self.run.out)?, text(&self.run.err)?);
        let _ = (fs::remove_file(&self.run.out), fs::remove_file(&self.run.err));
        let (status, signal) = (status.code(), status.signal());
        Ok(Answer { status, signal, out, err, took, memory: self.memory, late })
    }
}

/// The most memory that a process had until now.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

impl Answer {
    /// All that it said, errors first.
    pub(crate) fn said_as_is(&self) -> String {
        format!("{}\n{}", self.err, self.out)
    }

    /// All that it said, in small letters.
    pub(crate) fn said(&self) -> String {
        format!("{}\n{}", self.out, self.err).to_lowercase()
    }

    /// Whether it said one of these, whatever their case. Line breaks count as spaces.
    pub(crate) fn says(&self, words: &[&str]) -> bool {
        let said: String = self.said().split_whitespace().collect::<Vec<_>>().join(" ");
        words.iter().any(|word| said.contains(&word.to_lowercase()))
    }

    /// How it ended and its last words, for a complaint.
    pub(crate) fn short(&self) -> String {
        let how = match (self.status, self.signal) {
            _ if self.late => format!("no end after {} s", self.took.as_secs()),
            (Some(status), _) => format!("exit status {status}"),
            (_, Some(signal)) => format!("ended by signal {signal}"),
            _ => "ended".to_owned(),
        };
        let lines = self.err.lines().chain(self.out.lines()).map(str::trim).filter(|line| !line.is_empty());
        let told: Vec<&str> = lines.collect();
        let is_reason = |line: &&&str| line.starts_with("- ") || line.starts_with("narrows: ");
        let reasons: Vec<&&str> = told.iter().filter(is_reason).collect();
        let chosen = if reasons.is_empty() { told.iter().collect() } else { reasons };
        let said: Vec<String> = chosen.iter().take(3).map(|line| line.chars().take(160).collect()).collect();
        format!("{how}: {}", said.join(" | "))
    }

    /// Whether it panicked, or a signal that nobody sent ended it.
    pub(crate) fn must_be_orderly(&self, judge: &mut Judge, when: &str) {
        let panicked = self.err.contains("panicked at") || self.signal.is_some() || self.late;
        judge.that(!panicked, || format!("{when}: {}", self.short()));
    }

    /// It must have refused with one of these exit statuses, and said why in one of these words.
    pub(crate) fn must_refuse(&self, judge: &mut Judge, when: &str, statuses: &[i32], words: &[&str]) {
        self.must_be_orderly(judge, when);
        judge.that(self.status.is_some_and(|status| statuses.contains(&status)), || {
            format!("{when}: not refused: {}", self.short())
        });
        judge.that(words.is_empty() || self.says(words), || {
            format!("{when}: does not say {}: {}", words.join(" or "), self.short())
        });
    }
}

/// What narrows says of descriptors that it cannot look at. Every device is refused for them, also for those of other programs of
/// this machine: of a browser, of a terminal, of the attack beside this one.
const OF_OTHERS: [&str; 2] = ["registered with io_uring, hidden", "descriptors on their way, hidden"];

/// Runs it to its end; again, where it was refused for [what others hold just now](OF_OTHERS) and not for one of these reasons. What
/// is refused in the end is refused.
pub(crate) fn steady(run: impl Fn() -> Run, reasons: &[&str]) -> Result<Answer> {
    let mut answer = run().answer()?;
    for _ in 0..8 {
        if !answer.says(&OF_OTHERS) || answer.says(reasons) {
            break;
        }
        thread::sleep(Duration::from_millis(400));
        answer = run().answer()?;
    }
    Ok(answer)
}

/// `narrows guard` on a device, with its identity typed.
pub(crate) fn guard(ground: &Ground, device: &Device) -> Run {
    Run::new(ground, &["guard", device.node(), "--i-own", device.identity()])
}

/// `narrows measure --as kdiskmark --write` on a device, with its identity typed, over so many MiB.
pub(crate) fn bench(ground: &Ground, device: &Device, mib: u64) -> Run {
    let size = format!("{mib}MiB");
    let words = [
        "measure",
        "--as",
        "kdiskmark",
        device.node(),
        "--write",
        "--i-own",
        device.identity(),
        "--size",
        &size,
    ];
    Run::new(ground, &[&words[..], &BENCH].concat())
}
