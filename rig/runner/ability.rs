//! What this host gives a guest: a scenario whose limit is a drive shows nothing where the guest itself is as slow, and time
//! limits must not depend on what else the host does.

#![expect(clippy::disallowed_methods, reason = "asks the host's scheduler about QEMU's threads")]

use std::fs;
use std::time::Duration;

use narrows::units::BytesPerSec;

use super::scenario::{Drive, Scenario};
use super::shape;

/// How long the piece of work that is the pace takes a guest on an idle host with the slowest processors that the rig was run on.
const PACE: Duration = Duration::from_millis(300);
/// On a busier host than this no limit is of use.
const MOST: u32 = 10;

/// How many times as long as on an idle host anything may take, by the time that the pace took.
pub(crate) fn factor(pace: Duration) -> u32 {
    (pace.as_secs_f64() / PACE.as_secs_f64()).ceil().clamp(1.0, f64::from(MOST)) as u32
}

/// How much faster than its limit a drive must be in a guest without it, for the limit to be seen.
const HEADROOM: f64 = 1.25;

/// The drive to be measured before its limit is set, the one with the highest, and the least that it must give; `None` where nothing
/// that is expected depends on a rate. Only of drives that are plugged in: the others have their limits from the beginning.
pub(crate) fn needed(scenario: &Scenario) -> Option<(&Drive, f64)> {
    if !scenario.depends_on_rates() {
        return None;
    }
    let pluggable = scenario.machine.drives.iter().filter(|drive| shape::is_pluggable(drive));
    let limited = pluggable.filter_map(|drive| Some((drive, drive.bytes_per_second?)));
    let (drive, rate) = limited.max_by_key(|(_, rate)| *rate)?;
    Some((drive, rate as f64 * HEADROOM))
}

/// Why a rate that was measured without a limit, in bytes per second, is too low; `None` where it is not.
pub(crate) fn lacks(answer: &str, least: f64) -> Option<String> {
    let rate: f64 = answer.parse().unwrap_or(0.0);
    (rate < least).then(|| too_little("a drive", rate, least))
}

/// Why a setup ended early: what `needs` of `guest/lib.sh` has written, a rate, the least that it must be, and of what; `None` where
/// it has written nothing.
pub(crate) fn of_setup(note: &str) -> Option<String> {
    let mut words = note.split_whitespace();
    let (rate, least) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(too_little(words.next()?, rate, least))
}

fn too_little(what: &str, rate: f64, least: f64) -> String {
    let show = BytesPerSec::new;
    format!(
        "this host gives the guest only {} of {what} without a limit; {} are needed",
        show(rate),
        show(least)
    )
}

/// More than this much longer than a step may take in a guest, nothing comes from one that stands still.
const SLACK: Duration = Duration::from_secs(30);

/// Whether a guest that has said nothing for so long stood still: the step that ran may take `most` by the guest's own clock, which
/// ends it and says so. A kernel whose task hangs says so as well, after 120 s.
pub(crate) fn stood_still(silent: Duration, most: Duration) -> bool {
    silent > most + SLACK
}

/// What the threads of a guest's processors have had of the host's, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Processors {
    ran: u64,
    waited: u64,
}

/// How many seconds of the host's processors a process has used, all its threads together, those that ended as well (proc(5), stat:
/// fields 14 and 15, in hundredths of a second on every Linux of today).
pub(crate) fn processor_seconds(process: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    ticks(&text).unwrap_or(0) as f64 / 100.0
}

/// Fields 14 and 15 of a line of `stat`, together. The name in front of them may contain anything.
pub(crate) fn ticks(line: &str) -> Option<u64> {
    let behind_name = line.get(line.rfind(')')? + 1..)?;
    let mut fields = behind_name.split_whitespace().skip(11).map(str::parse::<u64>);
    Some(fields.next()?.ok()? + fields.next()?.ok()?)
}

/// What the host's processors have done, and what a machine above it has taken from them, in the kernel's ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HostTime {
    busy: u64,
    stolen: u64,
}

impl HostTime {
    /// That of now; nothing where the host does not tell.
    pub(crate) fn now() -> Self {
        Self::read(&fs::read_to_string("/proc/stat").unwrap_or_default()).unwrap_or_default()
    }

    /// From the first line of `/proc/stat` (proc(5): user, nice, system, idle, iowait, irq, softirq, steal).
    pub(crate) fn read(text: &str) -> Option<Self> {
        let fields: Vec<u64> =
            text.lines().next()?.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        let &[user, nice, system, _, _, irq, softirq, stolen, ..] = fields.as_slice() else { return None };
        Some(Self { busy: user + nice + system + irq + softirq, stolen })
    }

    /// Which share of what its processors were to do since then they did: a guest that is on a processor makes no step while that
    /// is taken from the host, and the host's scheduler does not count this as waiting.
    pub(crate) fn kept_since(self) -> f64 {
        Self::now().kept_after(self)
    }

    /// The same, for two states.
    pub(crate) fn kept_after(self, earlier: Self) -> f64 {
        let busy = self.busy.saturating_sub(earlier.busy) as f64;
        let stolen = self.stolen.saturating_sub(earlier.stolen) as f64;
        if stolen > 0.0 { busy / (busy + stolen) } else { 1.0 }
    }
}

/// A guest whose processors got less of the time that they asked for is not judged by its failures.
pub(crate) const LEAST_SHARE: f64 = 0.8;

impl Processors {
    /// Those of a QEMU (kernel Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat").
    pub(crate) fn of(process: u32) -> Self {
        let mut sum = Self::default();
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return sum };
        for thread in threads.flatten().map(|entry| entry.path()) {
            let name = fs::read_to_string(thread.join("comm")).unwrap_or_default();
            if name.trim().ends_with("/TCG") {
                let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
                sum.add(&text);
            }
        }
        sum
    }

    /// Adds the line of a thread: time on a processor, time in a queue for one, turns.
    pub(crate) fn add(&mut self, line: &str) {
        let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap_or(0));
        self.ran += numbers.next().unwrap_or(0);
        self.waited += numbers.next().unwrap_or(0);
    }

    /// Which share of the time that they asked for since then they got; `None` where the host does not tell.
    pub(crate) fn share_since(self, process: u32) -> Option<f64> {
        Self::of(process).share_after(self)
    }

    /// The same, for two states.
    pub(crate) fn share_after(self, earlier: Self) -> Option<f64> {
        let ran = self.ran.saturating_sub(earlier.ran) as f64;
        let waited = self.waited.saturating_sub(earlier.waited) as f64;
        (ran > 0.0).then(|| ran / (ran + waited))
    }
}
