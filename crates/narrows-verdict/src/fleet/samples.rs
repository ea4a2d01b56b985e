//! What a host's counters said while the load ran: the lines of `samples.jsonl`, and what became of them within a window.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::units::{BytesPerSec, Nanos};
use serde::{Deserialize, Serialize};

use super::{Window, on_our_clock};

/// The counters of a host at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// Since 1970 on its own clock, in nanoseconds.
    pub at_ns: u64,
    /// Drives and what is built on them, by kernel name.
    pub disks: BTreeMap<String, DiskCounts>,
    /// Interfaces: bytes received and sent.
    pub nics: BTreeMap<String, [u64; 2]>,
    /// Interfaces whose bytes are those of others among them: bonds, VLANs, bridges, macvlans, tunnels.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub stacked: BTreeSet<String>,
    /// Processors in the order of their numbers: time busy and time idle, in nanoseconds.
    pub cpus: Vec<[u64; 2]>,
    /// Time that the kernel took of all processors, interrupts included, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_ns: Option<u64>,
    /// Processes that serve storage, where some do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<ServingCounts>,
    /// Connections of storage.
    pub flows: Vec<FlowCounts>,
}

/// Processes that serve storage, at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServingCounts {
    /// Time on a processor, in nanoseconds.
    pub run_ns: u64,
    /// Time that they waited for one.
    pub waited_ns: u64,
}

/// A drive at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskCounts {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Time with at least one request in flight, in nanoseconds.
    pub busy_ns: u64,
}

/// A connection at one moment (`struct tcp_info`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowCounts {
    /// `address:port` of this host.
    pub local: String,
    /// `address:port` of the other.
    pub remote: String,
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u64,
    /// The least seen.
    pub least_rtt_us: u64,
    /// Time with data on its way, in microseconds.
    pub busy_us: u64,
    /// Of that, time that the other side's window was the limit.
    pub window_us: u64,
    /// Bytes that were sent and acknowledged.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Segments sent again.
    pub again: u64,
}

/// What a host did within a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Activity {
    /// How much of the window its samples cover, in seconds.
    pub seconds: f64,
    /// Drives: bytes a second read and written, and the share of the time with requests in flight.
    pub disks: BTreeMap<String, DiskActivity>,
    /// Interfaces: bytes a second received and sent.
    pub nics: BTreeMap<String, [BytesPerSec; 2]>,
    /// Interfaces whose bytes are those of others among them.
    pub stacked: BTreeSet<String>,
    /// How many processors there are.
    pub processors: usize,
    /// The share of all processors that was busy.
    pub cpu: Option<f64>,
    /// Processors that the kernel took.
    pub kernel: Option<f64>,
    /// Processors that processes took which serve storage, and for how many they waited.
    pub serving: Option<[f64; 2]>,
    /// Connections.
    pub flows: Vec<FlowActivity>,
}

/// A drive within a window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DiskActivity {
    /// Bytes a second read.
    pub read: BytesPerSec,
    /// Bytes a second written.
    pub written: BytesPerSec,
    /// The share of the time with requests in flight.
    pub busy: f64,
}

/// A connection within a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowActivity {
    /// `address:port` of this host.
    pub local: String,
    /// `address:port` of the other.
    pub remote: String,
    /// The share of the time with data on its way.
    pub busy: f64,
    /// The share of the time that the other side's window was the limit.
    pub window_limited: f64,
    /// The median of the smoothed round-trip times.
    pub rtt: Nanos,
    /// The least round trip.
    pub least_rtt: Nanos,
    /// Bytes a second sent.
    pub sent: BytesPerSec,
    /// Bytes a second received.
    pub received: BytesPerSec,
}

/// The samples of a text, one in each line. A line that is cut is left out.
pub fn parse(text: &str) -> Vec<Sample> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

impl Activity {
    /// What counters became between the first and the last sample within a window; `None` with fewer than two.
    pub fn within(samples: &[Sample], clock_ahead_ns: i64, window: Window) -> Option<Self> {
        let is_in = |sample: &&Sample| {
            let at = on_our_clock(sample.at_ns, clock_ahead_ns);
            (window.begin_ns..=window.end_ns).contains(&at)
        };
        let inside: Vec<&Sample> = samples.iter().filter(is_in).collect();
        let (first, last) = (*inside.first()?, *inside.last()?);
        let span = Nanos::new(last.at_ns.saturating_sub(first.at_ns));
        if span.get() == 0 {
            return None;
        }
        let rate = |before, after| BytesPerSec::new(each_second(span, before, after));
        let processors = |before, after| part_of(span, before, after);
        let disk = |(name, after): (&String, &DiskCounts)| {
            let before = first.disks.get(name)?;
            let (read, written) = (rate(before.read, after.read), rate(before.written, after.written));
            let busy = part_of(span, before.busy_ns, after.busy_ns).min(1.0);
            Some((name.clone(), DiskActivity { read, written, busy }))
        };
        let nic = |(name, after): (&String, &[u64; 2])| {
            let before = first.nics.get(name)?;
            Some((name.clone(), [rate(before[0], after[0]), rate(before[1], after[1])]))
        };
        let cpus = first.cpus.iter().zip(&last.cpus).filter_map(|(before, after)| {
            let busy = after[0].saturating_sub(before[0]) as f64;
            let all = busy + after[1].saturating_sub(before[1]) as f64;
            (all > 0.0).then_some((busy, all))
        });
        let cpus: Vec<(f64, f64)> = cpus.collect();
        let sum = |of: fn(&(f64, f64)) -> f64| cpus.iter().map(of).sum::<f64>();
        let (busy, all) = (sum(|cpu| cpu.0), sum(|cpu| cpu.1));
        Some(Self {
            seconds: span.as_secs_f64(),
            disks: last.disks.iter().filter_map(disk).collect(),
            nics: last.nics.iter().filter_map(nic).collect(),
            stacked: last.stacked.clone(),
            processors: cpus.len(),
            cpu: (all > 0.0).then(|| busy / all),
            kernel: first.kernel_ns.zip(last.kernel_ns).map(|(before, after)| processors(before, after)),
            serving: first.serving.zip(last.serving).map(|(before, after)| {
                [processors(before.run_ns, after.run_ns), processors(before.waited_ns, after.waited_ns)]
            }),
            flows: flows(&inside, span),
        })
    }

    /// Processors that serving storage took at most: those of processes that serve, or of the kernel, whichever is more. `None` where that
    /// was not sampled.
    pub fn serving_processors(&self) -> Option<f64> {
        let [run, _] = self.serving.unwrap_or_default();
        self.kernel.map(|kernel| kernel.max(run))
    }

    /// Bytes a second that all interfaces but `lo` received and sent, each counted once: those of a bond are those of its members.
    pub fn network(&self) -> [BytesPerSec; 2] {
        let is_own = |name: &String| name != "lo" && !self.stacked.contains(name);
        let nics = || self.nics.iter().filter(|(name, _)| is_own(name)).map(|(_, rates)| rates);
        [0, 1].map(|side| nics().map(|rates| rates[side]).sum())
    }
}

/// What a counter gained each second of a span.
fn each_second(span: Nanos, before: u64, after: u64) -> f64 {
    after.saturating_sub(before) as f64 / span.as_secs_f64()
}

/// What a counter of nanoseconds gained as a part of a span.
fn part_of(span: Nanos, before: u64, after: u64) -> f64 {
    after.saturating_sub(before) as f64 / span.get() as f64
}

/// The connections of samples that span so much time. fio closes its own with its last I/O, which may be a moment before the window
/// ends: each counts from the first sample to the last that has it, and those that are there for less than half of the time are left out.
fn flows(inside: &[&Sample], span: Nanos) -> Vec<FlowActivity> {
    let flows = inside.iter().flat_map(|sample| &sample.flows);
    let ends: BTreeSet<_> = flows.map(|flow| (flow.local.as_str(), flow.remote.as_str())).collect();
    ends.into_iter().filter_map(|ends| flow(inside, ends, span)).collect()
}

fn flow(inside: &[&Sample], ends: (&str, &str), span: Nanos) -> Option<FlowActivity> {
    let is_it = |flow: &&FlowCounts| (flow.local.as_str(), flow.remote.as_str()) == ends;
    let looks: Vec<(u64, &FlowCounts)> =
        inside.iter().filter_map(|sample| Some((sample.at_ns, sample.flows.iter().find(is_it)?))).collect();
    let ((began, before), (ended, after)) = (*looks.first()?, *looks.last()?);
    let seen = Nanos::new(ended.saturating_sub(began));
    if seen.get() == 0 || seen.get() < span.get() / 2 {
        return None;
    }
    let share = |before_us, after_us| (part_of(seen, before_us, after_us) * 1000.0).min(1.0);
    let rate = |before, after| BytesPerSec::new(each_second(seen, before, after));
    let mut rtts: Vec<u64> = looks.iter().map(|(_, flow)| flow.rtt_us).collect();
    rtts.sort_unstable();
    Some(FlowActivity {
        local: after.local.clone(),
        remote: after.remote.clone(),
        busy: share(before.busy_us, after.busy_us),
        window_limited: share(before.window_us, after.window_us),
        rtt: Nanos::new(rtts.get(rtts.len() / 2).copied().unwrap_or(0).saturating_mul(1000)),
        least_rtt: Nanos::new(after.least_rtt_us.saturating_mul(1000)),
        sent: rate(before.sent, after.sent),
        received: rate(before.received, after.received),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, step: u64) -> Sample {
        let flow = FlowCounts {
            local: "10.0.0.1:10809".to_owned(),
            remote: "10.0.0.2:5000".to_owned(),
            rtt_us: 11_000 + step,
            least_rtt_us: 50,
            busy_us: step * 245_000,
            window_us: 0,
            sent: step * 1_000_000,
            received: 0,
            again: 0,
        };
        let disk = DiskCounts { read: step * 500_000, written: 0, busy_ns: step * 125_000_000 };
        Sample {
            at_ns: at_ms * 1_000_000,
            disks: BTreeMap::from([("sda".to_owned(), disk)]),
            nics: BTreeMap::from([
                ("lo".to_owned(), [9, 9]),
                ("eth0".to_owned(), [0, step * 600_000]),
                ("eth1".to_owned(), [0, step * 500_000]),
                ("bond0".to_owned(), [0, step * 1_100_000]),
                ("bond0.7".to_owned(), [0, step * 1_090_000]),
            ]),
            stacked: ["bond0", "bond0.7"].map(str::to_owned).into(),
            cpus: vec![[step * 200_000_000, step * 50_000_000], [0, step * 250_000_000]],
            flows: vec![flow],
            ..Sample::default()
        }
    }

    #[test]
    fn counters_become_rates_within_the_window_alone() {
        // The host's clock is a second ahead.
        let samples: Vec<Sample> = (0..9).map(|step| sample(1000 + step * 250, step)).collect();
        let window = Window { begin_ns: 500_000_000, end_ns: 1_500_000_000 };
        let found = Activity::within(&samples, 1_000_000_000, window).expect("has samples");
        assert!((found.seconds - 1.0).abs() < 1e-9);
        assert_eq!(found.disks["sda"].read, BytesPerSec::new(2e6));
        assert!((found.disks["sda"].busy - 0.5).abs() < 1e-9);
        assert_eq!(found.network(), [BytesPerSec::new(0.0), BytesPerSec::new(4.4e6)]);
        assert_eq!(found.cpu.map(|share| (share * 10.0).round()), Some(4.0));
        let flow = &found.flows[0];
        assert!((flow.busy - 0.98).abs() < 1e-9 && flow.rtt == Nanos::new(11_004_000));
        assert_eq!(flow.sent, BytesPerSec::new(4e6));
    }

    #[test]
    fn a_connection_that_was_closed_a_moment_before_the_end_counts_and_a_short_one_does_not() {
        let window = Window { begin_ns: 0, end_ns: 10_000_000_000 };
        let with = |last: u64| {
            let mut samples: Vec<Sample> = (0..9).map(|step| sample(1000 + step * 250, step)).collect();
            for (step, sample) in (0..).zip(&mut samples) {
                sample.flows.retain(|_| step <= last);
            }
            Activity::within(&samples, 0, window).expect("has samples").flows
        };
        let [flow] = &with(7)[..] else { panic!("one connection") };
        assert!((flow.busy - 0.98).abs() < 1e-9 && flow.sent == BytesPerSec::new(4e6), "{flow:?}");
        assert_eq!(with(3), Vec::new());
    }

    #[test]
    fn one_sample_is_no_activity_and_a_cut_line_is_left_out() {
        let samples = vec![sample(1000, 1)];
        assert_eq!(Activity::within(&samples, 0, Window { begin_ns: 0, end_ns: 1 << 60 }), None);
        let line = serde_json::to_string(&samples[0]).expect("is JSON");
        assert_eq!(parse(&format!("{line}\n{}", &line[..40])), samples);
    }
}
