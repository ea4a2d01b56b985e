//! Trims of block devices: loop devices over files of our own, where the tests may make them.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests make files, attach loop devices, run the program and may panic"
)]

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use narrows::load::guard::{Device, Identity, Medium, Region, Usage, decide, examine, open_for_writing};
use narrows::load::measurement::{Measurement, Pattern, TrimMethod, Workload};
use narrows::load::ran::EngineRan;
use narrows::load::{Control, EngineChoice, LoadError, RunOptions, Target, owned, run};
use narrows::report::bench::BenchReport;
use narrows::report::bench::sweep::SweepReport;
use narrows::units::{Bytes, Nanos};

use super::long_enough;
use crate::devices::{self, Turn};

/// One test at a time: a child process that another test starts holds a copy of each open file, and with it the claim
/// on a device, between fork and exec.
static ALONE: Mutex<()> = Mutex::new(());

const MIB: usize = 1 << 20;
/// The part of a disk that a run of 16 MiB may change.
const PART: std::ops::Range<usize> = MIB..17 * MIB;
/// The part to which somebody else writes once the device is open: before, the guard would refuse it.
const OTHERS: std::ops::Range<usize> = 17 * MIB..40 * MIB;

/// A loop device over a file of 64 MiB in memory. Gone when dropped.
struct Disk {
    device: PathBuf,
    mount: tempfile::TempDir,
    _alone: Turn,
}

impl Disk {
    /// One that discards: tmpfs punches holes. `None`, with a note past the test harness, where it cannot be had.
    fn attach() -> Option<Self> {
        let disk = Self::attach_on("tmpfs")?;
        if disk.discards() { Some(disk) } else { skip("the loop device discards nothing") }
    }

    /// One that discards nothing: ramfs has no fallocate(2).
    fn attach_without_discards() -> Option<Self> {
        let disk = Self::attach_on("ramfs")?;
        if disk.discards() { skip("the loop device discards") } else { Some(disk) }
    }

    fn attach_on(file_system: &str) -> Option<Self> {
        let alone = devices::turn(&ALONE);
        let mount = tempfile::tempdir().expect("a directory");
        let mounted =
            Command::new("mount").args(["-t", file_system, "narrows-test"]).arg(mount.path()).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            return skip("cannot mount");
        }
        let mut disk = Self { device: PathBuf::new(), mount, _alone: alone };
        let image = fs::File::create(disk.image()).expect("a file");
        // No other test has a file as long, which a guard could take for this one where it is on a file system in user space.
        image.set_len((64 << 20) + (1 << 16)).expect("a sparse file");
        drop(image);
        match Command::new("losetup").args(["--find", "--show"]).arg(disk.image()).output() {
            Ok(output) if output.status.success() => {
                disk.device = String::from_utf8_lossy(&output.stdout).trim().into();
                devices::forget_partitions(&disk.device);
                Some(disk)
            }
            _ => skip("no loop device here"),
        }
    }

    fn image(&self) -> PathBuf {
        self.mount.path().join("disk")
    }

    fn discards(&self) -> bool {
        self.attribute("queue/discard_max_bytes").trim() != "0"
    }

    fn name(&self) -> String {
        self.device.file_name().expect("a name").to_string_lossy().into_owned()
    }

    fn at(&self, file: &str) -> PathBuf {
        Path::new("/sys/class/block").join(self.name()).join(file)
    }

    fn attribute(&self, file: &str) -> String {
        fs::read_to_string(self.at(file)).expect("is readable")
    }

    /// Discards so far, and their bytes: fields 12 and 14 of `stat` (kernel Documentation/block/stat.rst).
    fn discarded(&self) -> (u64, u64) {
        let stat = self.attribute("stat");
        let fields: Vec<u64> =
            stat.split_whitespace().map(|field| field.parse().expect("a number")).collect();
        (fields[11], 512 * fields[13])
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.image()).expect("is readable")
    }

    fn own(&self) -> String {
        self.image().to_str().expect("a name in UTF-8").to_owned()
    }

    /// The first 16 MiB behind the first one, filled.
    fn target(&self) -> Target {
        let device = Device::open(&self.device).expect("opens");
        let usage = Usage {
            device: self.name(),
            number: Some(device.number()),
            size: Some(device.size()),
            read_only: Some(false),
            identity: Some(Identity { what: "backing file", text: self.own() }),
            family: vec![self.name()],
            ..Usage::default()
        };
        let examined = vec![examine(&self.name(), &device)];
        let permit = decide(device, &usage, &examined, Some(&self.own())).expect("nothing speaks against it");
        let region = Region { start: Bytes::from_mib(1), length: Bytes::from_mib(16) };
        let writable = open_for_writing(permit, region, &mut |_| ControlFlow::Continue(())).expect("opens");
        self.plant(0x5a);
        owned::prepare(writable, Bytes::from_mib(16), 1, &mut |_, _| ControlFlow::Continue(()))
            .expect("can be filled")
    }

    /// Writes `OTHERS` through the file: nobody who has the device open hinders that.
    fn plant(&self, byte: u8) {
        let image = fs::File::options().write(true).open(self.image()).expect("opens");
        image.write_all_at(&vec![byte; OTHERS.len()], OTHERS.start as u64).expect("room for it");
    }

    /// Clears what runs wrote to a target, and says that nothing else is left of it.
    fn clear(&self, target: Target) {
        let cleared =
            owned::clear(&target, None, &mut |_| ControlFlow::Continue(())).expect("can be cleared");
        assert!(cleared.is_some_and(|cleared| cleared.is_blank()));
        self.assert_the_rest_is_as_it_was();
        assert!(self.bytes()[PART].iter().all(|byte| *byte == 0), "as it was found");
        self.plant(0);
    }

    fn assert_blank(&self) {
        assert!(self.bytes().iter().all(|byte| *byte == 0), "as it was found");
    }

    fn narrows(&self, command: &str, more: &[&str]) -> Output {
        let mut narrows = Command::new(env!("CARGO_BIN_EXE_narrows"));
        narrows.arg(command).arg(&self.device).args(["--write", "--i-own", &self.own()]).args(more);
        narrows.args(["--size", "16MiB", "--warm-up", "1ms", "--duration", "200ms", "--json"]);
        narrows.output().expect("narrows runs")
    }

    fn assert_the_rest_is_as_it_was(&self) {
        let bytes = self.bytes();
        assert!(bytes[OTHERS].iter().all(|byte| *byte == 0x5a), "data of others are as they were");
        assert!(bytes[..PART.start].iter().chain(&bytes[OTHERS.end..]).all(|byte| *byte == 0));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if !self.device.as_os_str().is_empty() {
            let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
        }
        let _ = Command::new("umount").arg("--lazy").arg(self.mount.path()).status();
    }
}

fn skip(why: &str) -> Option<Disk> {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
    None
}

fn trims(percent: u8, milliseconds: u64) -> Workload {
    let time = Nanos::from_millis(milliseconds);
    Workload { trim_percent: percent, ..Workload::read(Pattern::Random, Bytes::from_kib(64), 4, time) }
}

#[test]
fn a_device_is_trimmed_by_discards_whatever_the_engine() {
    let Some(disk) = Disk::attach() else { return };
    for engine in [EngineChoice::Auto, EngineChoice::Psync] {
        let target = disk.target();
        let (commands, bytes) = disk.discarded();
        let options = RunOptions { engine, ..RunOptions::default() };
        let workload = Workload { pattern: Pattern::Sequential, ..trims(100, 60_000) };
        let measured = run(&target, &workload, &options, &Control::default()).expect("runs");
        assert_eq!((measured.errors, &measured.cut_short), (0, &None), "{engine:?}");
        // Every block once, and the one that was tried.
        assert_eq!((measured.discards.count, measured.discards.bytes), (256, Bytes::from_mib(16)));
        let after = disk.discarded();
        assert!(after.0 > commands, "{engine:?}: the device saw none");
        let by = measured.generator.trims_by.expect("says how");
        if engine == EngineChoice::Psync {
            assert_eq!(by, TrimMethod::Blkdiscard);
        }
        let used = &measured.generator.engine;
        assert_eq!(by == TrimMethod::RingDiscard, matches!(used, EngineRan::IoUring(_)), "{used}");
        // One is tried before, through the ring or by ioctl.
        assert_eq!(after.1 - bytes, (16 << 20) + (64 << 10), "{engine:?}");
        assert!(disk.bytes()[PART].iter().all(|byte| *byte == 0), "{engine:?}");
        disk.clear(target);
    }
}

#[test]
fn reads_and_writes_beside_trims_stay_within_the_part_that_is_permitted() {
    let Some(disk) = Disk::attach() else { return };
    let target = disk.target();
    let workload = Workload { write_percent: 30, ..trims(30, 200) };
    let kinds = |run: &Measurement| [run.reads.count, run.writes.count, run.discards.count];
    let measured = long_enough(&target, &workload, &RunOptions::default(), |run| !kinds(run).contains(&0));
    assert_eq!((measured.errors, &measured.cut_short), (0, &None));
    assert!(!kinds(&measured).contains(&0), "{measured:?}");
    disk.clear(target);
}

#[test]
fn a_device_that_discards_nothing_is_refused_by_the_engine_and_before_that_by_the_commands() {
    let Some(disk) = Disk::attach_without_discards() else { return };
    for (command, more) in [("bench", ["--preset", "trim"]), ("sweep", ["--mix", "50:0:50"])] {
        let output = disk.narrows(command, &more);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("takes no discards") && said.contains("hint:"), "{said}");
        assert!(output.stdout.is_empty());
        assert!(disk.bytes()[PART].iter().all(|byte| *byte == 0), "{command}: nothing was written");
    }
    let target = disk.target();
    for engine in [EngineChoice::Auto, EngineChoice::Psync] {
        let options = RunOptions { engine, ..RunOptions::default() };
        let refused = run(&target, &trims(100, 100), &options, &Control::default());
        assert!(matches!(refused, Err(LoadError::NoDiscard(_))), "{engine:?}: {refused:?}");
    }
    disk.clear(target);
}

#[test]
fn the_preset_trims_a_device_that_it_may_write() {
    let Some(disk) = Disk::attach() else { return };
    let before = disk.discarded();
    let output = disk.narrows("bench", &["--preset", "trim"]);
    let report: BenchReport = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert!(report.complete && report.left_out.is_empty(), "{report:?}");
    assert_eq!(report.results.len(), 4);
    for result in &report.results {
        let checks = result.checks.as_ref().expect("was run");
        assert_eq!(checks.generator.trims_by.is_some(), result.trim.is_some(), "{}", result.name);
        assert!(result.trim.as_ref().is_none_or(|trim| trim.latency_ns.count > 0), "{}", result.name);
        assert_eq!((result.errors, &result.failed), (0, &None));
    }
    let after = disk.discarded();
    // Two tests trim all of it.
    assert!(after.0 > before.0 && after.1 - before.1 >= 32 << 20, "{before:?} {after:?}");
    // The fill, and what was trimmed by two tests is written again before the next.
    let writes = report.writes.expect("it writes");
    assert!(writes.written_bytes >= Bytes::from_mib(3 * 16), "{writes:?}");
    disk.assert_blank();
}

#[test]
fn a_sweep_trims_a_device_and_refuses_what_it_would_ignore() {
    let Some(disk) = Disk::attach() else { return };
    let grid = ["--mix", "0:50:50", "--depths", "2", "--block-sizes"];
    let output = disk.narrows("sweep", &[&grid[..], &["64KiB"]].concat());
    let report: SweepReport = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert!(report.complete, "{report:?}");
    disk.assert_blank();
    let least: u64 = disk.attribute("queue/discard_granularity").trim().parse().expect("a number");
    if least > 512 {
        let output = disk.narrows("sweep", &[&grid[..], &["512B"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("gives back whole") && said.contains("hint:"), "{said}");
    }
}

#[test]
fn what_is_only_read_is_not_trimmed() {
    let Some(disk) = Disk::attach() else { return };
    let target = Target::open_device(&disk.device).expect("opens");
    let refused = run(&target, &trims(100, 100), &RunOptions::default(), &Control::default());
    assert!(matches!(refused, Err(LoadError::NotOurs(_))), "{refused:?}");
    drop(target);
    disk.assert_blank();
}
