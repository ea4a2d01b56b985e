//! Devices that the kernel lets narrows read only slowly: how long it takes, and how soon it ends when it is told to.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::super::attack::{Attack, Class, Judge, Result, skip};
use super::super::device::Device;
use super::super::ground::{Ground, text};
use super::super::narrows::Run;

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    let new =
        |name: &str, body: fn(&Ground, &mut Judge) -> Result<()>| Attack::new(Class::Bounds, name, body);
    vec![
        // All of a small one is read as long as that takes no longer than 40 s; at this rate it is 25 s.
        new("a small slow device is read whole", |ground, judge| guarded(ground, judge, 3_000_000, 70, 45)),
        new("a signal ends a bench on a very slow device", |ground, judge| {
            ended(ground, judge, &["measure", "--as", "kdiskmark", "--write", "--size", "32MiB"], 40_000)
        })
        .quick(),
        new("a signal ends a bench that reads a slow device", |ground, judge| {
            ended(ground, judge, &["measure", "--as", "peak"], 600_000)
        }),
        new("a signal ends the cleaning of a slow device", |ground, judge| {
            ended(ground, judge, &["guard", "--clean"], 600_000)
        }),
        new("a guard of a device of 600 kB/s", |ground, judge| guarded(ground, judge, 600_000, 200, 125)),
        new("a guard of a device of 40 kB/s", |ground, judge| guarded(ground, judge, 40_000, 64, 125)),
    ]
}

/// A group of processes whose reads and writes of a device have a limit. Removed when dropped.
struct Slow(std::path::PathBuf);

impl Slow {
    fn new(device: &Device, rate: u64) -> Result<Self> {
        let number = fs::read_to_string(format!("/sys/block/{}/dev", device.name()))?;
        let number = number.trim();
        for (root, files) in [
            (
                "/sys/fs/cgroup/blkio",
                &["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"][..],
            ),
            ("/sys/fs/cgroup", &["io.max"]),
        ] {
            let group =
                Path::new(root).join(format!("narrows-attack-{}-{}", std::process::id(), device.name()));
            if !Path::new(root).join("cgroup.procs").exists() || fs::create_dir(&group).is_err() {
                continue;
            }
            let slow = Self(group);
            let limit = |file: &&str| match *file {
                "io.max" => format!("{number} rbps={rate} wbps={rate}"),
                _ => format!("{number} {rate}"),
            };
            if files.iter().all(|file| fs::write(slow.0.join(file), limit(file)).is_ok()) {
                return Ok(slow);
            }
        }
        skip("no control group limits block devices here")
    }

    fn run(&self, ground: &Ground, words: &[&str]) -> Result<Run> {
        let group = text(&self.0.join("cgroup.procs"))?.to_owned();
        let run = Run::through(ground, "echo $$ >\"$GROUP\"; exec \"$NARROWS\" \"$@\"", words);
        Ok(run.with(|run| run.env("GROUP", group)))
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn guarded(ground: &Ground, judge: &mut Judge, rate: u64, mib: u64, seconds: u64) -> Result<()> {
    let device = Device::blank(ground, mib)?;
    let slow = Slow::new(&device, rate)?;
    let words = ["guard", device.node(), "--i-own", device.identity()];
    let answer = slow.run(ground, &words)?.within(seconds + 60).answer()?;
    answer.must_be_orderly(judge, "guard");
    judge.that(answer.took < Duration::from_secs(seconds), || {
        format!("{rate} B/s: it took {} s: {}", answer.took.as_secs(), answer.short())
    });
    judge.that(matches!(answer.status, Some(0 | 1)), || answer.short());
    Ok(())
}

fn ended(ground: &Ground, judge: &mut Judge, words: &[&str], rate: u64) -> Result<()> {
    let is_read = !words.contains(&"--write") && !words.contains(&"guard");
    let times = [(Signal::SIGTERM, 3000), (Signal::SIGINT, 1500)];
    for &(signal, after) in times.iter().take(if ground.quick { 1 } else { 2 }) {
        // A device of its own for each: reads that were given up keep the last one busy.
        let device = Device::blank(ground, 200)?;
        let slow = Slow::new(&device, rate)?;
        let words = [words, &[device.node()]].concat();
        let own: &[&str] = if is_read { &[] } else { &["--i-own", device.identity()] };
        let mut running = slow.run(ground, &[&words[..], own].concat())?.within(60).start()?;
        if running.wait(Duration::from_millis(after)) {
            return skip(format!("set-up: it had ended: {}", running.answer()?.short()));
        }
        running.signal(signal);
        let told = Instant::now();
        running.wait(Duration::from_secs(20));
        let took = told.elapsed();
        let answer = running.answer()?;
        judge.that(took < Duration::from_millis(2300), || {
            format!("{signal}: it went on for {} ms: {}", took.as_millis(), answer.short())
        });
        judge.that(answer.status != Some(0), || format!("{signal}: {}", answer.short()));
    }
    Ok(())
}
