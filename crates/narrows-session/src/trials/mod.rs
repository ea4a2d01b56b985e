//! The tests of a lab on each of its targets: a device, what was built on devices, or a file system on it. All targets share
//! what may be written.

mod cells;
pub mod copying;

pub use cells::{Lab, Results, encryptions, over_nothing};

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::lab::Measured;
use crate::measure::{Asked, Command, Timing, at_once, seed};
use crate::place::Place;
use crate::runner::{LoadOutcome, Runner};
use crate::scene::Scene;
use crate::writes::{ESTIMATED_AFTER, Life, Writes, part_of_limit};
use crate::{Failure, Teller};
use narrows_base::units::Bytes;
use narrows_load::guard::WritableDevice;
use narrows_load::measurement::{Measurement, Pattern};
use narrows_load::preset::{LoadSpec, Preset, Test, Work};
use narrows_load::scratch::ScratchOptions;
use narrows_load::target::Target;
use narrows_load::{LoadError, owned};
use narrows_verdict as verdict;

/// What a file system is left, beside the scratch file: a new one is empty, so little does.
const RESERVE: Bytes = Bytes::from_mib(64);
/// How long a run takes whose length is fixed, at most, where no time was asked for.
const FIXED: Duration = Duration::from_secs(5);

/// Everything that stays the same from target to target.
pub struct Trials<T> {
    /// Who hears how the tests on a target go, a new one for each.
    teller: fn() -> T,
    pub tests: Vec<Timed>,
    /// What predictions need beside them.
    probes: Vec<Timed>,
    /// How much of each target is filled.
    pub size: Bytes,
    /// Raised by the first signal.
    pub stop: Arc<AtomicBool>,
    /// What all writes are taken from.
    pub writes: Writes,
}

impl<T: Teller> Trials<T> {
    /// The tests that were asked for, on these targets, beside which `copies` is copied, on drives of this `life`.
    ///
    /// # Errors
    /// No test can be run on a device, or what is filled and copied does not fit into what may be written.
    pub fn new(
        wish: &Wish,
        life: Option<Life>,
        (targets, copies): (Targets, Bytes),
        (teller, stop): (fn() -> T, Arc<AtomicBool>),
    ) -> Result<Self, Failure> {
        let tests = wish.tests();
        let Some(timing) = tests.first().map(|test| test.timing) else {
            return Err(Failure::new("none of these tests can be run on a block device")
                .hint("`narrows measure --as list` shows the presets; scans are left out here"));
        };
        let size = wish.filled(life);
        let probes = if wish.encrypts { probes(&tests) } else { Vec::new() };
        let loads = targets.loads(&tests, &probes);
        let fill = Bytes::new(size.get().saturating_mul((targets.devices + targets.cells) as u64));
        let writes = Writes::plan((wish.max_writes, life), fill, &loads, &timing)?;
        writes.budget().announce(fill + copies).map_err(|over| {
            Failure::new(over.to_string()).hint("allow more with --max-writes, or copy less")
        })?;
        Ok(Self { teller, tests, probes, size, stop, writes: writes.holding_bytes() })
    }

    /// Says what stays to be read.
    fn note(&self, text: &str) {
        (self.teller)().note(text);
    }

    /// Whether a signal came, or no more may be written.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.writes.budget().is_exhausted()
    }

    /// Whether a signal came.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Refuses to go on after a signal.
    fn go_on(&self) -> Result<(), Failure> {
        if self.is_stopped() { Err(Failure::new("interrupted")) } else { Ok(()) }
    }

    fn runner<'a>(&self, scene: &'a Scene, writes: Option<Writes>) -> Runner<'a, T> {
        Runner::begin(Command::Lab, scene, writes, ((self.teller)(), self.stop.clone()))
    }

    /// The same, of which all writes count.
    fn counting<'a>(&self, scene: &'a Scene) -> Runner<'a, T> {
        self.runner(scene, Some(self.writes.clone()))
    }

    /// Fills a device that may be written, and makes a target of it.
    pub fn fill(&self, device: WritableDevice, scene: &Scene) -> Result<Target, Failure> {
        self.filled(scene, "filling the device", |progress| {
            owned::prepare(device, self.size, seed(), progress)
        })
    }

    /// A filled scratch file on a file system.
    pub fn scratch(&self, mount_point: &Path, scene: &Scene) -> Result<Target, Failure> {
        let options = ScratchOptions { reserve: Some(RESERVE), minimum: LEAST, ..ScratchOptions::default() };
        let place = Place::Scratch(mount_point.to_owned());
        self.filled(scene, "writing scratch file", |progress| {
            place.open_or_make(self.size, &options, progress)
        })
    }

    /// Fills a target, which counts. What the whole lab is going to write and how long it takes is said once, after the first
    /// 256 MiB or all of the first target. What writes is tried on that before: filling is no measure of it where the processor
    /// is slower than the drive.
    fn filled(
        &self,
        scene: &Scene,
        phase: &str,
        fill: impl FnOnce(&mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>) -> Result<Target, LoadError>,
    ) -> Result<Target, Failure> {
        let runner = self.counting(scene);
        runner.progress.phase(phase, Duration::ZERO);
        let begin = Instant::now();
        let target = fill(&mut |written, _| {
            let is_due = written >= ESTIMATED_AFTER && written < self.size;
            if is_due && !self.writes.is_estimated() {
                let text = self.writes.estimate_first(written.per(begin.elapsed()), written, &[]);
                runner.progress.note(&text);
            }
            runner.follow(begin, written)
        })?;
        let (filled, elapsed) = (target.region().length, begin.elapsed());
        self.writes.take_filled(filled).map_err(|over| Failure::new(over.to_string()))?;
        if !self.writes.is_estimated() {
            let tried = runner.try_out(&target, &self.writes);
            let text = self.writes.estimate_first(filled.per(elapsed), Bytes::new(0), &tried);
            runner.progress.note(&text);
        }
        Ok(target)
    }

    /// Takes what a drive counted since `sent` had been sent, beside what was sent since.
    fn take_beside(&self, counted: Bytes, sent: Bytes) {
        let since = self.writes.budget().spent().saturating_sub(sent);
        self.writes.take_beside(counted.saturating_sub(since));
    }

    /// Runs all tests on a target. What was measured before one failed is there all the same.
    ///
    /// # Errors
    /// A test failed, or a signal came.
    pub fn all(&self, scene: &Scene, target: &Target, measured: &mut Vec<Measured>) -> Result<(), Failure> {
        self.each(scene, target, self.tests.iter(), measured)
    }

    /// Runs all tests on a device alone, and what predictions need beside them.
    ///
    /// # Errors
    /// As for [`Self::all`].
    pub fn alone(&self, scene: &Scene, target: &Target) -> Result<Vec<Measured>, Failure> {
        let mut measured = Vec::new();
        self.each(scene, target, self.tests.iter().chain(&self.probes), &mut measured)?;
        Ok(measured)
    }

    fn each<'t>(
        &self,
        scene: &Scene,
        target: &Target,
        tests: impl Iterator<Item = &'t Timed>,
        measured: &mut Vec<Measured>,
    ) -> Result<(), Failure> {
        let runner = self.counting(scene);
        let fitting: Vec<&Timed> = tests.filter(|test| test.least <= target.region().length).collect();
        self.run(&runner, target, &fitting, measured, |test, outcome| {
            if let Some(why) = &outcome.measurement.cut_short {
                return Err(Failure::new(format!("{}: {why}", test.name)));
            }
            let subject = scene.subject.with_runs(runner.runs(outcome));
            let verdict = verdict::judge(&scene.machine, std::slice::from_ref(&subject));
            Ok(verdict.trusts(&subject).unwrap_or(false))
        })
    }

    /// Runs tests one after the other; `is_trusted` says whether to believe what came of one.
    fn run(
        &self,
        runner: &Runner<'_, T>,
        target: &Target,
        tests: &[&Timed],
        measured: &mut Vec<Measured>,
        is_trusted: impl Fn(&Timed, &LoadOutcome) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        for (index, test) in tests.iter().enumerate() {
            self.go_on()?;
            runner.progress.test(index, tests.len(), &test.name);
            let outcome = runner.load(&test.name, &test.load, target, &test.timing)?;
            let (trusted, processors) = (is_trusted(test, &outcome)?, outcome.processors());
            measured.push(test.measured(outcome.measurement, trusted, processors));
        }
        Ok(())
    }

    /// Sequences that were read or written one request at a time on a device, at half of the rate that they had then, so
    /// that it rests before each request as long as one takes.
    ///
    /// # Errors
    /// The device failed, a signal came, or no more may be written.
    pub fn after_pauses(
        &self,
        scene: &Scene,
        target: &Target,
        alone: &[Measured],
    ) -> Result<Vec<Measured>, Failure> {
        let mut paused = Vec::new();
        if !alone.iter().any(|test| is_single(&test.load)) {
            return Ok(paused);
        }
        let runner = self.counting(scene);
        for test in alone.iter().filter(|test| is_single(&test.load)) {
            let timing = self.tests.iter().find(|timed| timed.load == test.load).map(|timed| timed.timing);
            let half = (test.measurement.iops.get() / 2.0) as u64;
            let Some(timing) = timing.filter(|_| half > 0) else { continue };
            let (time, timing) = fixed(timing);
            runner.progress.phase(&format!("{}, after pauses", test.test), time);
            let mut asked = self.asked(&runner, 1, &test.load, &timing);
            asked.workload.paced_iops = Some(half);
            let measurement = runner.session.run(&asked, &[target], &())?.single();
            if let Some(why) = &measurement.cut_short {
                return Err(Failure::new(format!("{}: {why}", test.test)));
            }
            paused.push(Measured { measurement, processors: None, ..test.clone() });
        }
        Ok(paused)
    }

    /// Runs all tests on something that keeps nothing, beside the path of `scene`: nothing of them wears a device, and no hop
    /// of a path says whether to believe them.
    ///
    /// # Errors
    /// As for [`Self::all`].
    pub fn over_nothing(&self, scene: &Scene, device: WritableDevice) -> Result<Vec<Measured>, Failure> {
        let runner = self.runner(scene, None);
        let begin = Instant::now();
        // What the largest test reaches at once is enough where nothing is kept.
        let size = reach(&self.tests);
        let target = owned::prepare(device, size, seed(), &mut |written, _| runner.follow(begin, written))?;
        let tests: Vec<&Timed> = self.tests.iter().chain(&self.probes).collect();
        let mut measured = Vec::new();
        self.run(&runner, &target, &tests, &mut measured, |_, outcome| Ok(is_whole(&outcome.measurement)))?;
        Ok(measured)
    }

    /// Runs each test on all targets at the same time, for a fixed time.
    ///
    /// # Errors
    /// As for [`Self::all`].
    pub fn together(&self, scene: &Scene, targets: &[Target]) -> Result<Vec<Measured>, Failure> {
        let runner = self.counting(scene);
        let targets: Vec<&Target> = targets.iter().collect();
        let mut measured = Vec::new();
        for test in &self.tests {
            self.go_on()?;
            if targets.iter().any(|target| target.region().length < test.least) {
                continue;
            }
            let (time, timing) = fixed(test.timing);
            runner.progress.phase(&format!("all at once: {}", test.name), time);
            let asked = self.asked(&runner, targets.len(), &test.load, &timing);
            let seen = runner.session.run(&asked, &targets, &())?;
            let measurement = at_once(seen.measurements);
            let trusted = is_whole(&measurement);
            measured.push(test.measured(measurement, trusted, seen.activity.working));
        }
        Ok(measured)
    }

    /// A run on so many targets at once that keeps to what its load may write there.
    fn asked(&self, runner: &Runner<'_, T>, targets: usize, load: &LoadSpec, timing: &Timing) -> Asked {
        let budget = load.writes().then(|| self.writes.allow_on(targets, Some(load)).budget);
        Asked { budget, ..runner.session.asked(load, timing) }
    }
}

/// What the tests of a lab run on. All share what may be written.
#[derive(Debug, Clone, Copy)]
pub struct Targets {
    /// Devices, each alone and then all at once.
    pub devices: usize,
    /// What is built on them, one after another.
    pub cells: usize,
}

impl Targets {
    /// What is run on all of them, in any order.
    fn loads<'t>(self, tests: &'t [Timed], probes: &'t [Timed]) -> Vec<&'t LoadSpec> {
        let each = || tests.iter().map(|test| &test.load);
        let after_pauses = || each().filter(|load| is_single(load));
        let alone = || each().chain(probes.iter().map(|probe| &probe.load)).chain(after_pauses());
        let at_once = if self.devices > 1 { self.devices } else { 0 };
        let on_devices = (0..self.devices).flat_map(|_| alone());
        on_devices.chain((0..at_once + self.cells).flat_map(|_| each())).collect()
    }
}

/// Whether a sequence is read or written one request at a time.
fn is_single(load: &LoadSpec) -> bool {
    load.pattern == Pattern::Sequential && load.total_depth() == 1
}

/// Whether a run came to its end without an error.
fn is_whole(measurement: &Measurement) -> bool {
    measurement.cut_short.is_none() && measurement.errors == 0
}

/// The same for a time that is known beforehand, and that time.
fn fixed(timing: Timing) -> (Duration, Timing) {
    let time = timing.fixed.unwrap_or(timing.longest().min(FIXED));
    (time, Timing { fixed: Some(time), ..timing })
}

/// The least that is worth measuring on.
pub const LEAST: Bytes = Bytes::from_mib(16);

/// One test with its name, and how long it runs.
#[derive(Debug, Clone)]
pub struct Timed {
    /// `PRESET/TEST`.
    pub name: String,
    /// What is done.
    pub load: LoadSpec,
    /// When to stop.
    pub timing: Timing,
    /// The part of a target that it reaches at once.
    pub least: Bytes,
}

impl Timed {
    fn measured(&self, measurement: Measurement, trusted: bool, processors: f64) -> Measured {
        let (test, load) = (self.name.clone(), self.load.clone());
        Measured { test, load, measurement, trusted, processors: Some(processors) }
    }
}

/// What is asked of the tests of a lab.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The presets whose tests are run.
    pub presets: Vec<Preset>,
    /// How long tests run; each preset has its own rule when to stop.
    pub timing: Timing,
    /// How much of each target is filled, if that was asked for.
    pub size: Option<Bytes>,
    /// The most that may be written, if that was asked for.
    pub max_writes: Option<Bytes>,
    /// Whether something is encrypted.
    pub encrypts: bool,
}

impl Wish {
    /// The tests that can be run on a block device.
    pub fn tests(&self) -> Vec<Timed> {
        self.presets.iter().flat_map(|preset| self.of(preset)).collect()
    }

    fn of(&self, preset: &Preset) -> Vec<Timed> {
        let timing = Timing { stop: preset.stop, ..self.timing };
        let one = |test: &Test| match &test.work {
            Work::Load(load) if !load.buffered => Some(Timed {
                name: format!("{}/{}", preset.name, test.name),
                load: load.clone(),
                timing,
                least: test.least_size(),
            }),
            _ => None,
        };
        preset.tests.iter().filter_map(one).collect()
    }

    /// How much of each target is filled: as the presets say, or less where that would leave too little for the tests of all
    /// targets.
    pub fn filled(&self, life: Option<Life>) -> Bytes {
        let largest = self.presets.iter().map(|preset| preset.size).max().unwrap_or(LEAST);
        self.size.unwrap_or_else(|| part_of_limit(self.max_writes, life, largest, TARGETS)).max(LEAST)
    }
}

/// For each test at random with several requests under way the same with one, where that is not among them: what a request
/// costs that comes and goes alone.
fn probes(tests: &[Timed]) -> Vec<Timed> {
    let mut probes: Vec<Timed> = Vec::new();
    let deep =
        tests.iter().filter(|test| test.load.pattern == Pattern::Random && test.load.total_depth() > 1);
    for test in deep {
        let load = test.load.one_at_a_time();
        if !tests.iter().chain(&probes).any(|other| other.load == load) {
            probes.push(Timed { name: format!("{}, one at a time", test.name), load, ..test.clone() });
        }
    }
    probes
}

/// The part of a target that the largest of these tests reaches at once.
pub fn reach(tests: &[Timed]) -> Bytes {
    tests.iter().map(|test| test.least).fold(LEAST, Bytes::max)
}

/// For so many targets of a lab what may be written is made to suffice, where no size was asked for.
const TARGETS: u64 = 8;

/// How large a slice of each device has to be so that `filled` fits on everything that is built in it, and `copied` on each file
/// system: with room for headers, for what file systems and pools keep to themselves, and for the least that these are made on.
pub fn slice(filled: Bytes, copied: Bytes) -> Bytes {
    const HEADERS: u64 = 256 << 20;
    const LEAST: u64 = 512 << 20;
    let data = filled.get().max(copied.get());
    Bytes::new(data.saturating_add(data / 5).saturating_add(HEADERS).max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::UNTIL_KNOWN;
    use narrows_load::preset;

    fn wish(presets: &str) -> Wish {
        Wish {
            presets: presets.split(',').map(|name| preset::by_name(name).expect("is a preset")).collect(),
            timing: UNTIL_KNOWN,
            size: None,
            max_writes: None,
            encrypts: false,
        }
    }

    fn asked(presets: &str) -> Vec<Timed> {
        wish(presets).tests()
    }

    #[test]
    fn what_is_filled_leaves_enough_for_the_tests_of_all_targets_unless_it_was_asked_for() {
        let peak = wish("peak");
        // 8 GiB less what a file system adds, a quarter of it for what eight targets are filled with.
        assert_eq!(peak.filled(None).get() >> 20, 248);
        assert_eq!(Wish { size: Some(Bytes::from_mib(4)), ..peak.clone() }.filled(None), LEAST);
        assert_eq!(Wish { size: Some(Bytes::from_mib(900)), ..peak }.filled(None), Bytes::from_mib(900));
    }

    #[test]
    fn all_that_is_run_is_announced() {
        let tests = asked("kdiskmark");
        let single = tests.iter().filter(|test| is_single(&test.load)).count();
        let loads = |devices, cells| Targets { devices, cells }.loads(&tests, &[]).len();
        assert!(single > 0, "a sequence one at a time is among them");
        // Alone and after pauses; with a second device each of both again, at once with the other.
        assert_eq!((loads(1, 0), loads(1, 3)), (tests.len() + single, 4 * tests.len() + single));
        assert_eq!(loads(2, 3), 2 * (tests.len() + single) + 5 * tests.len());
        let peak = asked("peak");
        assert_eq!(Targets { devices: 1, cells: 1 }.loads(&peak, &probes(&peak)).len(), 2 * peak.len() + 2);
    }

    #[test]
    fn a_slice_has_room_for_what_is_built_in_it() {
        let of = |filled, copied| slice(Bytes::from_mib(filled), Bytes::from_mib(copied)).get() >> 20;
        assert_eq!((of(16, 0), of(1000, 0), of(1000, 2000)), (512, 1456, 2656));
    }

    #[test]
    fn loads_at_random_are_probed_one_at_a_time_where_no_test_does() {
        let peak = asked("peak");
        let names: Vec<String> = probes(&peak).iter().map(|probe| probe.name.clone()).collect();
        assert_eq!(
            names,
            ["peak/RND4K Q32T16 read, one at a time", "peak/RND4K Q32T16 write, one at a time"]
        );
        assert!(probes(&peak).iter().all(|probe| probe.load.total_depth() == 1));
        assert!(probes(&asked("kdiskmark")).is_empty(), "RND4K Q1T1 is among them");
        assert!(probes(&asked("kdiskmark,peak")).is_empty());
    }
}
