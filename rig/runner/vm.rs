//! Boots a scenario's machine, does to it what the scenario says, and brings back what the guest left.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the rig's job is to run QEMU")]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::command::shell;
use super::error::{Result, RigError};
use super::image::{self, Base};
use super::qemu;
use super::scenario::{Check, Scenario};

/// How long a scenario may take from power-on to power-off, when none of its checks asks for more than [`USUAL`].
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// How many seconds a check may run that asks for nothing else.
const USUAL: u64 = 100;
/// Gives checks that ask for more than the usual time so many seconds or more: for the record, where a number of repetitions counts.
const SECONDS: &str = "RIG_SECONDS";

/// How many seconds a check may run.
fn seconds(check: &Check) -> u64 {
    let asked = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    asked.filter(|_| check.seconds > USUAL).unwrap_or(check.seconds).max(check.seconds)
}

/// How long a scenario may take from power-on to power-off.
fn time_limit(scenario: &Scenario) -> Duration {
    let more = scenario.checks.iter().map(|check| seconds(check).saturating_sub(USUAL)).sum();
    TIME_LIMIT + Duration::from_secs(more)
}

/// The kernel's command line. A host that is busy with other things is late with the first ticks, and the kernel would give up;
/// it tests its ciphers at each boot, which takes an emulated processor a second.
const KERNEL_WORDS: &str = "console=ttyS0 loglevel=4 panic=-1 no_timer_check cryptomgr.notests";

/// What the guest runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The checks as they are written.
    Check,
    /// The reference commands only.
    Prove,
    /// A shell after the setup.
    Shell,
}

/// What the guest left.
#[derive(Debug)]
pub(crate) struct Leavings {
    directory: PathBuf,
    /// From power-on to power-off.
    pub(crate) elapsed: Duration,
}

impl Leavings {
    /// The contents of a result file of the guest; `None` when it was not written.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.directory.join("result").join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What stood on the guest's console.
    pub(crate) fn console(&self) -> String {
        let bytes = fs::read(self.directory.join("console.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Where all of it is.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Runs a scenario in `target/run/<name>`.
pub(crate) fn run(scenario: &Scenario, mode: Mode, target: &Path, base: &Base) -> Result<Leavings> {
    let directory = target.join("run").join(&scenario.name);
    let place = directory.display().to_string();
    shell("rm -rf \"$1\"; mkdir -p \"$1\"", &[&place])?;
    let image = directory.join("initramfs");
    base.write(&image, &[scenario], &guest_files(scenario, mode))?;
    let mut arguments = qemu::arguments(&scenario.machine, &directory)?;
    let kernel_words = format!("{KERNEL_WORDS} {}", scenario.machine.kernel);
    for (option, value) in [
        ("-kernel", base.kernel().display().to_string()),
        ("-initrd", image.display().to_string()),
        ("-append", kernel_words),
        ("-serial", if mode == Mode::Shell { "mon:stdio" } else { "file:console.log" }.to_owned()),
        ("-serial", "file:result.tar.gz".to_owned()),
    ] {
        arguments.extend([option.to_owned(), value]);
    }
    let mut command = Command::new(qemu::PROGRAM);
    command.current_dir(&directory);
    let start = |source| RigError::Start { tool: qemu::PROGRAM.to_owned(), source };
    let began = Instant::now();
    if mode == Mode::Shell {
        command.args(&arguments).status().map_err(start)?;
    } else {
        arguments.extend(["-qmp", "stdio"].map(str::to_owned));
        let log = directory.join("qemu.log");
        let errors = fs::File::create(&log).map_err(RigError::file(&log))?;
        command.args(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let child = command.spawn().map_err(start)?;
        Attended::new(child, scenario, &directory)?.attend()?;
    }
    let elapsed = began.elapsed();
    shell("cd \"$1\"; rm -rf initramfs ./*.raw; mkdir -p result", &[&place])?;
    if mode != Mode::Shell {
        // A guest that died leaves no archive; the console then tells why.
        shell("cd \"$1\"; tar -xzf result.tar.gz -C result 2>>qemu.log || true", &[&place])?;
    }
    Ok(Leavings { directory, elapsed })
}

/// The scenario as files in the guest: `/init`, and everything that `guest/drive` looks for below `/rig`.
fn guest_files(scenario: &Scenario, mode: Mode) -> Vec<(String, String)> {
    let mut files = vec![
        ("init".to_owned(), include_str!("../guest/init").to_owned()),
        (image::LIBRARY.to_owned(), include_str!("../guest/lib.sh").to_owned()),
        ("rig/drive".to_owned(), include_str!("../guest/drive").to_owned()),
        ("bin/without-io-uring".to_owned(), include_str!("../guest/without-io-uring").to_owned()),
        ("rig/setup".to_owned(), scenario.setup.clone()),
        ("rig/modules".to_owned(), lines(MODULES.iter().copied().chain(scenario.machine.modules_at_start()))),
        ("rig/drives".to_owned(), lines(scenario.machine.drives.iter().map(|drive| drive.name.as_str()))),
    ];
    if mode == Mode::Shell {
        files.push(("rig/shell".to_owned(), String::new()));
    }
    for (index, check) in scenario.checks.iter().enumerate() {
        let mut add = |name: &str, text: &str| {
            files.push((format!("rig/checks/{index}/{name}"), format!("{text}\n")));
        };
        if mode == Mode::Prove {
            if let Some(reference) = &check.reference {
                add("reference", reference);
                add("again", reference);
            }
            continue;
        }
        add_check(check, &mut add);
    }
    files
}

/// The drivers that are loaded in every guest.
const MODULES: &[&str] = &["nvme", "virtio_pci", "virtio_blk", "sd_mod", "configfs"];

fn add_check(check: &Check, add: &mut impl FnMut(&str, &str)) {
    add("run", &check.run);
    add("seconds", &seconds(check).to_string());
    if let (Some(reference), None) = (&check.reference, check.injected_bytes_per_second) {
        add("reference", reference);
    }
    for (index, action) in check.during.iter().enumerate() {
        if let Some(command) = &action.guest {
            add(&format!("during.{index}"), command);
            add(&format!("after.{index}"), &action.after.to_string());
        }
    }
    for peer in &check.peers {
        add(&format!("peer.{}", peer.name), &peer.run);
    }
    for (index, command) in check.verify.iter().enumerate() {
        add(&format!("verify.{index}"), command);
    }
}

fn lines<'a>(items: impl Iterator<Item = &'a str>) -> String {
    items.map(|item| format!("{item}\n")).collect()
}

/// A running QEMU whose console is watched, and which is told by QMP what to do to the machine.
struct Attended<'a> {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    scenario: &'a Scenario,
    directory: &'a Path,
    started: HashMap<usize, Instant>,
    done: HashMap<(usize, usize), ()>,
}

impl<'a> Attended<'a> {
    fn new(mut child: Child, scenario: &'a Scenario, directory: &'a Path) -> Result<Self> {
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(RigError::Machine("QEMU was started without pipes".to_owned()));
        };
        let answers = BufReader::new(answers);
        let (started, done) = (HashMap::new(), HashMap::new());
        Ok(Self { child, commands, answers, scenario, directory, started, done })
    }

    fn attend(mut self) -> Result<()> {
        let began = Instant::now();
        let outcome = self.watch(began);
        // Whatever happened, no machine is left running.
        drop(self.child.kill());
        drop(self.child.wait());
        outcome
    }

    fn watch(&mut self, began: Instant) -> Result<()> {
        self.qmp(r#"{"execute":"qmp_capabilities"}"#)?;
        loop {
            let ended = self.child.try_wait().map_err(RigError::file(self.directory))?;
            if let Some(status) = ended {
                if status.success() {
                    return Ok(());
                }
                let log = fs::read_to_string(self.directory.join("qemu.log")).unwrap_or_default();
                return Err(RigError::Machine(format!("QEMU ended with {status}: {}", log.trim())));
            }
            if began.elapsed() > time_limit(self.scenario) {
                return Err(RigError::Machine(format!(
                    "the machine was still running after {} s",
                    time_limit(self.scenario).as_secs()
                )));
            }
            self.act()?;
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends the QMP commands whose time has come.
    fn act(&mut self) -> Result<()> {
        let scenario = self.scenario;
        if !scenario.checks.iter().any(|check| check.during.iter().any(|action| action.qmp.is_some())) {
            return Ok(());
        }
        let bytes = fs::read(self.directory.join("console.log")).unwrap_or_default();
        let console = String::from_utf8_lossy(&bytes);
        for (index, check) in scenario.checks.iter().enumerate() {
            if !console.contains(&format!("rig: {index}.run starts")) {
                continue;
            }
            let start = *self.started.entry(index).or_insert_with(Instant::now);
            for (number, action) in check.during.iter().enumerate() {
                let Some(command) = &action.qmp else { continue };
                if start.elapsed().as_secs_f64() >= action.after
                    && self.done.insert((index, number), ()).is_none()
                {
                    self.qmp(command)?;
                }
            }
        }
        Ok(())
    }

    /// Sends a command and waits for its answer, past greeting and events.
    fn qmp(&mut self, command: &str) -> Result<()> {
        let broken = |error: std::io::Error| RigError::Machine(format!("QMP: {error}"));
        writeln!(self.commands, "{command}").and_then(|()| self.commands.flush()).map_err(broken)?;
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line).map_err(broken)? == 0 {
                let log = fs::read_to_string(self.directory.join("qemu.log")).unwrap_or_default();
                return Err(RigError::Machine(format!("QEMU ended: {}", log.trim())));
            }
            if line.contains("\"return\"") {
                return Ok(());
            }
            if line.contains("\"error\"") {
                return Err(RigError::Machine(format!("QMP: {command}: {}", line.trim())));
            }
        }
    }
}
