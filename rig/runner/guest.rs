//! A running guest: boots it, plugs in the drives of a scenario, has it run there, and brings back what it left. The same guest
//! then runs others of its shape, when nothing of the one before is left in it.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the rig's job is to run QEMU")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::ability::{self, HostTime, Processors};
use super::command::shell;
use super::company::{self, Company};
use super::error::{Result, RigError};
use super::files::{self, Mode};
use super::image::Base;
use super::leavings::Leavings;
use super::link::{self, Link};
use super::network::Wires;
use super::qemu;
use super::qmp::Qmp;
use super::scenario::{Drive, Scenario};
use super::shape::{self, Shape};

/// How long a scenario may take when none of its checks asks for more than usual, on an idle host.
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// How long anything else may take, a boot for one, on a host as busy as a host may be.
const ANSWER: Duration = Duration::from_secs(300);
/// The same before a scenario begins, which takes seconds.
const BEFORE: Duration = Duration::from_secs(120);
/// How long a guest may take to let go of a drive.
const UNPLUGGED: Duration = Duration::from_secs(30);

/// The kernel's command line. A host that is busy with other things is late with the first ticks, and the kernel would give up;
/// it tests its ciphers at each boot, which takes an emulated processor a second. Programs at the same addresses each time are
/// translated once, not for each process: that alone takes a third off what a guest costs. Guards against attacks on a processor, and pages
/// cleared where they are handed out, take another seventh.
const KERNEL_WORDS: &str = "console=ttyS0 loglevel=4 panic=-1 no_timer_check cryptomgr.notests norandmaps mitigations=off init_on_alloc=0";

/// A running guest.
#[derive(Debug)]
pub(crate) struct Guest {
    shape: Shape,
    child: Child,
    qmp: Qmp,
    link: Link,
    directory: PathBuf,
    /// Whether the guest has noted how it was before its first scenario.
    noted: bool,
    /// How much of the console belongs to scenarios before.
    console: usize,
    plugged: Vec<String>,
    /// The other guests of its scenario, if it has some.
    company: Option<Company>,
}

/// How much of the host's processors a guest may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As much as any other program.
    Usual,
    /// Mostly what nobody else wants: a tenth where others want all, so that no guest is forgotten on a busy host.
    LeftOver,
}

/// What came of a scenario.
#[derive(Debug)]
pub(crate) enum Ran {
    /// It ran to its end.
    Through(Leavings),
    /// It was not run: why it could show nothing here.
    Unable(String),
}

impl Guest {
    /// Boots a guest for these scenarios, which have one shape, and the other guests of the only one that has some.
    pub(crate) fn boot(
        base: &Base,
        scenarios: &[&Scenario],
        mode: Mode,
        directory: &Path,
        manner: Manner,
    ) -> Result<Self> {
        let (image, company) = begin(base, scenarios, mode, directory, manner)?;
        let wires = company.as_ref().map(Company::wires);
        let mut guest = Self::start(base, scenarios, (&image, directory), (manner, wires))?;
        guest.company = company;
        guest.await_ready()?;
        Ok(guest)
    }

    /// Switches a guest on. It may be connected with others.
    pub(crate) fn start(
        base: &Base,
        scenarios: &[&Scenario],
        (image, directory): (&Path, &Path),
        (manner, wires): (Manner, Option<&Wires>),
    ) -> Result<Self> {
        let Some(first) = scenarios.first() else {
            return Err(RigError::Usage("no scenario is left to run".to_owned()));
        };
        let mut arguments = arguments(base, scenarios, image, directory)?;
        let link = Link::make(directory)?;
        let line = format!("pipe,id=line,path={}", link::NAME);
        for argument in
            ["-serial", "file:console.log", "-chardev", &line, "-serial", "chardev:line", "-qmp", "stdio"]
        {
            arguments.push(argument.to_owned());
        }
        let log = directory.join("qemu.log");
        let errors = fs::File::create(&log).map_err(RigError::file(&log))?;
        let mut child = command(directory, &arguments, manner, wires)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(start)?;
        let qmp = Qmp::begin(&mut child).map_err(|error| in_words(directory, error))?;
        Ok(Self {
            shape: Shape::of(first),
            child,
            qmp,
            link,
            directory: directory.to_owned(),
            noted: false,
            console: 0,
            plugged: Vec::new(),
            company: None,
        })
    }

    /// Waits until it has booted.
    pub(crate) fn await_ready(&mut self) -> Result<()> {
        let Err(error) = self.answer("ready", ANSWER) else { return Ok(()) };
        if !matches!(self.child.try_wait(), Ok(None)) {
            return Err(in_words(&self.directory, error));
        }
        // The boot of every scenario is the same: it is not what the scenario is about.
        let console = self.console_of_this();
        let last = console.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim();
        let used = ability::processor_seconds(self.child.id());
        Err(RigError::StoodStill(format!(
            "the guest had not booted after {} s, in which it used {used:.0} s of the host's processors; it said last: {last}",
            ANSWER.as_secs()
        )))
    }

    /// Asks for something before narrows runs: a guest that does not answer then is the emulator's fault.
    fn ask_before(&mut self, question: &str, word: &str) -> Result<String> {
        self.ask(question, word, BEFORE).map_err(|error| match error {
            RigError::Machine(text) => RigError::StoodStill(text),
            other => other,
        })
    }

    /// The process of QEMU.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// What it is like.
    pub(crate) const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Runs a scenario and puts what it leaves into `place`. Where others may follow, the guest has to note first how it is.
    pub(crate) fn run(&mut self, scenario: &Scenario, place: &Path, others_follow: bool) -> Result<Ran> {
        shell("rm -rf \"$1\"; mkdir -p \"$1/result\"", &[&place.display().to_string()])?;
        let outcome = self.run_in(scenario, place, others_follow);
        self.keep_console(place)?;
        self.console = self.console_length();
        let others = self.company.as_ref().map(|company| company.consoles(place)).transpose()?;
        let outcome = outcome.map_err(|error| in_words(&self.directory, error))?;
        Ok(match (outcome, others) {
            (Ran::Through(leavings), Some(others)) => {
                Ran::Through(Leavings { other_consoles: others, ..leavings })
            }
            (outcome, _) => outcome,
        })
    }

    /// Puts what has come on its console since the last scenario into a directory.
    pub(crate) fn keep_console(&self, place: &Path) -> Result<String> {
        let console = self.console_of_this();
        let file = place.join("console.log");
        shell("mkdir -p \"$1\"", &[&place.display().to_string()])?;
        fs::write(&file, &console).map_err(RigError::file(&file))?;
        Ok(console)
    }

    fn run_in(&mut self, scenario: &Scenario, place: &Path, others_follow: bool) -> Result<Ran> {
        if let Some(company) = &mut self.company
            && let Some(reason) = company.set_up(place)?
        {
            return Ok(Ran::Unable(reason));
        }
        if others_follow && !self.noted {
            self.ask_before("state", "noted")?;
            self.noted = true;
        }
        let asked = Instant::now();
        self.ask_before("pace", "paced")?;
        let factor = ability::factor(asked.elapsed());
        self.plug(scenario)?;
        if let Some((drive, least)) = ability::needed(scenario) {
            let answer = self.ask_before(&format!("able {}", drive.name), "able")?;
            if let Some(reason) = ability::lacks(&answer, least) {
                return Ok(Ran::Unable(reason));
            }
        }
        for drive in scenario.machine.drives.iter().filter(|drive| is_limited(drive)) {
            self.qmp.command(&qemu::throttle(drive))?;
        }
        let began = Instant::now();
        let processors = Processors::of(self.child.id());
        let host = HostTime::now();
        let used = ability::processor_seconds(self.child.id());
        let used_by_others = self.company.as_ref().map(Company::used).unwrap_or_default();
        let in_guest = if scenario.machine.instruction_shift.is_some() { 1 } else { factor };
        self.link.say(&format!("run {} {in_guest}", scenario.name))?;
        let limit = Limit {
            whole: (TIME_LIMIT + Duration::from_secs(files::more_seconds(scenario))) * factor,
            step: Duration::from_secs(files::longest_step(scenario)) * factor,
        };
        let archive = self.attend(scenario, began, &limit)?;
        let elapsed = began.elapsed();
        let (least_share, seconds_of_others) = Company::since(&used_by_others);
        let shares = [processors.share_since(self.child.id()), least_share];
        let share = shares.into_iter().flatten().reduce(f64::min).map(|share| share * host.kept_since());
        let processor_seconds = ability::processor_seconds(self.child.id()) - used + seconds_of_others;
        let file = place.join("result.tar.gz");
        fs::write(&file, archive).map_err(RigError::file(&file))?;
        shell("cd \"$1\"; tar -xzf result.tar.gz -C result", &[&place.display().to_string()])?;
        let leavings = Leavings {
            directory: place.to_owned(),
            elapsed,
            other_consoles: String::new(),
            share,
            processor_seconds,
        };
        let note = leavings.text("unable").unwrap_or_default();
        Ok(ability::of_setup(&note).map_or(Ran::Through(leavings), Ran::Unable))
    }

    /// Plugs in the drives of a scenario that are not there from the beginning.
    fn plug(&mut self, scenario: &Scenario) -> Result<()> {
        let pluggable = scenario.machine.drives.iter().filter(|drive| shape::is_pluggable(drive));
        for (number, drive) in pluggable.enumerate() {
            qemu::make_file(drive, &self.directory)?;
            self.qmp.monitor(&format!("drive_add 0 {}", qemu::backend(drive)))?;
            let device = qemu::device(drive, Some(&qemu::port(number)));
            self.qmp.monitor(&format!("device_add {device}"))?;
            self.plugged.push(drive.name.clone());
        }
        Ok(())
    }

    /// Waits for the end of a scenario, and does to the machine what it says meanwhile. Returns the archive of what it left.
    fn attend(&mut self, scenario: &Scenario, began: Instant, limit: &Limit) -> Result<Vec<u8>> {
        const LOOK: Duration = Duration::from_millis(50);
        let mut during = During::default();
        let mut silence = Silence::since_now(self.console_length(), self.child.id());
        loop {
            let until = Instant::now() + LOOK;
            if let Some(line) = self.link.line(until)?
                && let Some(size) = line.strip_prefix("result ")
            {
                let size = size.parse().unwrap_or(0);
                let archive = self.link.bytes(size, Instant::now() + ANSWER)?;
                return archive.ok_or_else(|| late("its results", ANSWER));
            }
            silence.listen(self.console_length(), self.child.id());
            if began.elapsed() > limit.whole {
                // Where guest time counts instructions, it may stand for as long as the host likes.
                if scenario.machine.instruction_shift.is_none()
                    && ability::stood_still(silence.lasts(), limit.step)
                {
                    return Err(silence.in_words(self.child.id()));
                }
                return Err(late("the end of the scenario", limit.whole));
            }
            for command in during.due(scenario, &self.console_of_this()) {
                self.qmp.command(command)?;
            }
        }
    }

    fn console_of_this(&self) -> String {
        let bytes = fs::read(self.directory.join("console.log")).unwrap_or_default();
        String::from_utf8_lossy(bytes.get(self.console..).unwrap_or_default()).into_owned()
    }

    /// Takes away what the last scenario built and its drives; says what is left of it, if anything. Such a guest is of no use.
    pub(crate) fn tidy(&mut self) -> Result<Option<String>> {
        self.ask("tidy", "tidied", ANSWER)?;
        for name in std::mem::take(&mut self.plugged) {
            if !self.qmp.unplug(&format!("{name}.device"), UNPLUGGED)? {
                return Ok(Some(format!("drive {name} is in use")));
            }
            self.qmp.forget(&format!("{name}.file"))?;
            let file = self.directory.join(format!("{name}.raw"));
            fs::remove_file(&file).map_err(RigError::file(&file))?;
        }
        let left = self.ask("check", "left", ANSWER)?;
        self.console = self.console_length();
        Ok(Some(left).filter(|left| !left.is_empty()))
    }

    fn console_length(&self) -> usize {
        fs::metadata(self.directory.join("console.log")).map_or(0, |file| file.len() as usize)
    }

    /// Says something and waits for the answer, which begins with a word. Returns the rest of it.
    fn ask(&mut self, line: &str, word: &str, most: Duration) -> Result<String> {
        self.link.say(line)?;
        self.answer(word, most)
    }

    fn answer(&mut self, word: &str, most: Duration) -> Result<String> {
        let until = Instant::now() + most;
        loop {
            match self.link.line(until)? {
                Some(line) => {
                    if let Some(rest) = line.strip_prefix(word) {
                        return Ok(rest.trim().to_owned());
                    }
                }
                None => return Err(late(&format!("`{word}`"), most)),
            }
        }
    }
}

impl Drop for Guest {
    /// Whatever happened, no machine is left running, and no drive of gigabytes lies about.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(shell("cd \"$1\"; rm -f initramfs ./*.raw ./line.*", &[&self.directory.display().to_string()]));
    }
}

/// Boots a scenario's machine with its drives, and gives its console to whoever sits there.
pub(crate) fn open_shell(base: &Base, scenario: &Scenario, directory: &Path) -> Result<()> {
    let (image, mut company) = begin(base, &[scenario], Mode::Shell, directory, Manner::Usual)?;
    if let Some(company) = &mut company {
        company.set_up(&directory.with_extension("hosts"))?;
    }
    let wires = company.as_ref().map(Company::wires);
    let mut arguments = arguments(base, &[scenario], &image, directory)?;
    let pluggable = scenario.machine.drives.iter().filter(|drive| shape::is_pluggable(drive));
    for (number, drive) in pluggable.enumerate() {
        qemu::make_file(drive, directory)?;
        qemu::push_drive(&mut arguments, drive, Some(&qemu::port(number)));
    }
    arguments.extend(["-serial", "mon:stdio"].map(str::to_owned));
    command(directory, &arguments, Manner::Usual, wires).status().map_err(start)?;
    shell("cd \"$1\"; rm -f initramfs ./*.raw", &[&directory.display().to_string()]).map(drop)
}

/// Makes the directory of a guest with the image that it boots, and has the other guests of its scenario boot that as well.
fn begin(
    base: &Base,
    scenarios: &[&Scenario],
    mode: Mode,
    directory: &Path,
    manner: Manner,
) -> Result<(PathBuf, Option<Company>)> {
    shell("rm -rf \"$1\"; mkdir -p \"$1\"", &[&directory.display().to_string()])?;
    let Some(first) = scenarios.first() else {
        return Err(RigError::Usage("no scenario is left to run".to_owned()));
    };
    let wires = company::wires(first, directory)?;
    let hosts = first.of_hosts();
    let all: Vec<&Scenario> = scenarios.iter().copied().chain(&hosts).collect();
    let mut contents = files::of_guest(&all, mode);
    contents.extend(wires.iter().flat_map(Wires::files).cloned());
    let image = directory.join("initramfs");
    base.write(&image, &all, &contents)?;
    let start = |wires| Company::start(base, hosts, wires, (&image, directory), manner);
    let company = wires.map(start).transpose()?;
    Ok((image, company))
}

/// The arguments of QEMU for a guest but for its consoles, with the files of its drives.
fn arguments(base: &Base, scenarios: &[&Scenario], image: &Path, directory: &Path) -> Result<Vec<String>> {
    let Some(first) = scenarios.first() else { return Ok(Vec::new()) };
    for drive in first.machine.drives.iter().filter(|drive| !shape::is_pluggable(drive)) {
        qemu::make_file(drive, directory)?;
    }
    let mut arguments = qemu::arguments(&first.machine, shape::ports(scenarios));
    if first.machine.clock_seconds != 0 {
        let ahead = format!("{} seconds", first.machine.clock_seconds);
        let time = shell("date --utc --date \"$1\" +%Y-%m-%dT%H:%M:%S", &[&ahead])?;
        arguments.extend(["-rtc".to_owned(), format!("base={}", time.trim())]);
    }
    // Whoever sits at the first machine does not sit at the others.
    let role = if first.host_name.is_empty() { "" } else { "rig.host" };
    let words = format!("{KERNEL_WORDS} {role} {}", first.machine.kernel);
    let (kernel, image) = (base.kernel().display().to_string(), image.display().to_string());
    for argument in ["-kernel", &kernel, "-initrd", &image, "-append", &words] {
        arguments.push(argument.to_owned());
    }
    Ok(arguments)
}

/// QEMU ends with the thread that started it, also when that is killed.
fn command(directory: &Path, arguments: &[String], manner: Manner, wires: Option<&Wires>) -> Command {
    let mut command = Command::new("setpriv");
    command.current_dir(directory).args(["--pdeathsig", "KILL"]);
    if let Some(wires) = wires {
        command.arg("nsenter").arg(format!("--net={}", wires.namespace()));
    }
    if manner == Manner::LeftOver {
        command.args(["nice", "-n", "10"]);
    }
    command.arg(qemu::PROGRAM).args(arguments);
    command
}

fn start(source: std::io::Error) -> RigError {
    RigError::Start { tool: "setpriv".to_owned(), source }
}

fn late(what: &str, limit: Duration) -> RigError {
    RigError::Machine(format!("the guest was waited for, for {what}, for {} s", limit.as_secs()))
}

/// An error with what QEMU said of it.
fn in_words(directory: &Path, error: RigError) -> RigError {
    match (error, fs::read_to_string(directory.join("qemu.log"))) {
        (RigError::Machine(text), Ok(log)) if !log.trim().is_empty() => {
            RigError::Machine(format!("{text}: {}", log.trim()))
        }
        (error, _) => error,
    }
}

const fn is_limited(drive: &Drive) -> bool {
    drive.bytes_per_second.is_some() || drive.ios_per_second.is_some()
}

/// How long a scenario may take, and one step of it.
#[derive(Debug)]
struct Limit {
    whole: Duration,
    step: Duration,
}

/// Since when nothing has come on a guest's console.
#[derive(Debug)]
struct Silence {
    length: usize,
    since: Instant,
    /// What QEMU had used of the host's processors by then, in seconds.
    used: f64,
}

impl Silence {
    fn since_now(length: usize, process: u32) -> Self {
        Self { length, since: Instant::now(), used: ability::processor_seconds(process) }
    }

    fn listen(&mut self, length: usize, process: u32) {
        if length != self.length {
            *self = Self::since_now(length, process);
        }
    }

    fn lasts(&self) -> Duration {
        self.since.elapsed()
    }

    fn in_words(&self, process: u32) -> RigError {
        RigError::StoodStill(format!(
            "the guest stood still: nothing came from it for {} s, though it ends each step in time by its own clock; it used {:.0} s of \
             the host's processors meanwhile",
            self.lasts().as_secs(),
            ability::processor_seconds(process) - self.used
        ))
    }
}

/// What is done to the machine while checks run, by the clock of each check.
#[derive(Debug, Default)]
struct During {
    started: Vec<(usize, Instant)>,
    done: BTreeSet<(usize, usize)>,
}

impl During {
    /// The QMP commands whose time has come since it was last asked.
    fn due<'a>(&mut self, scenario: &'a Scenario, console: &str) -> Vec<&'a str> {
        let mut commands = Vec::new();
        for (index, check) in scenario.checks.iter().enumerate() {
            if check.during.iter().all(|action| action.qmp.is_none()) {
                continue;
            }
            if self.started.iter().all(|(other, _)| *other != index) {
                if !console.contains(&format!("rig: {index}.run starts")) {
                    continue;
                }
                self.started.push((index, Instant::now()));
            }
            let start = self.started.iter().find(|(other, _)| *other == index);
            for (number, action) in check.during.iter().enumerate() {
                let is_time = start.is_some_and(|(_, at)| at.elapsed().as_secs_f64() >= action.after);
                if let Some(command) = &action.qmp
                    && is_time
                    && self.done.insert((index, number))
                {
                    commands.push(command.as_str());
                }
            }
        }
        commands
    }
}
