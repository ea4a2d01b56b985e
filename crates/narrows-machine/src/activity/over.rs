//! What a series of samples tells that its two ends do not: which work queue a kernel worker served from moment to moment,
//! and how many requests the driver itself held.

use std::collections::BTreeMap;

use super::between::LEAST_CORES;
use super::{Activity, Sample, ThreadActivity};
use narrows_base::units::Nanos;

impl Activity {
    /// What happened from the first sample to the last. A kernel worker serves one work queue after the other and is
    /// called after the one it served last, so its time is ascribed from sample to sample, of those that have threads. `None`
    /// for less than two.
    pub fn over(samples: &[Sample]) -> Option<Self> {
        let [first, .., last] = samples else { return None };
        let mut activity = Self::between(first, last);
        let span = last.threads_at().get().saturating_sub(first.threads_at().get());
        activity.threads = threads(samples, Nanos::new(span).as_secs_f64());
        for (name, disk) in &mut activity.disks {
            let held: Vec<u64> =
                samples.iter().filter_map(|sample| Some(sample.disks.get(name)?.in_flight)).collect();
            disk.at_driver = Some(held.iter().sum::<u64>() as f64 / held.len().max(1) as f64);
        }
        Some(activity)
    }
}

fn threads(samples: &[Sample], seconds: f64) -> Vec<ThreadActivity> {
    let mut used: BTreeMap<(u32, String), (bool, f64)> = BTreeMap::new();
    let samples: Vec<&Sample> = samples.iter().filter(|sample| !sample.threads.is_empty()).collect();
    for pair in samples.windows(2) {
        let [before, after] = pair else { continue };
        for (id, now) in &after.threads {
            let was = before.threads.get(id).map_or(0, |thread| thread.cpu.get());
            let spent = now.cpu.get().saturating_sub(was) as f64 / 1e9;
            let entry = used.entry((*id, settled(&now.name))).or_insert((now.is_kernel, 0.0));
            entry.1 += spent;
        }
    }
    let cores = |spent: f64| if seconds > 0.0 { spent / seconds } else { 0.0 };
    let mut threads: Vec<ThreadActivity> = used
        .into_iter()
        .map(|((_, name), (is_kernel, spent))| ThreadActivity { name, is_kernel, cores: cores(spent) })
        .filter(|thread| thread.cores > LEAST_CORES)
        .collect();
    threads.sort_by(|one, other| other.cores.total_cmp(&one.cores));
    threads
}

/// A worker's name with the queue that it serves after a `-`: the kernel writes `+` while it works (kernel
/// `kernel/workqueue.c`, `wq_worker_comm`).
fn settled(name: &str) -> String {
    if name.starts_with("kworker/") { name.replacen('+', "-", 1) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::{DiskCounters, ThreadCounters};

    fn sample(millis: u64, name: &str, cpu: u64, in_flight: u64) -> Sample {
        let thread = ThreadCounters {
            name: name.to_owned(),
            is_kernel: true,
            cpu: Nanos::from_millis(cpu),
            last_cpu: 0,
        };
        Sample {
            at: Nanos::from_millis(millis),
            threads: BTreeMap::from([(7, thread)]),
            disks: BTreeMap::from([(
                "sda".to_owned(),
                DiskCounters { in_flight, ..DiskCounters::default() },
            )]),
            ..Sample::default()
        }
    }

    #[test]
    fn a_worker_that_changes_its_queue_is_told_apart() {
        let samples = [
            sample(0, "kworker/0:1-events", 0, 8),
            sample(500, "kworker/0:1+kcryptd/253:0", 400, 6),
            Sample { threads: BTreeMap::new(), ..sample(750, "", 0, 6) },
            sample(1000, "kworker/0:1-kblockd", 600, 4),
        ];
        let activity = Activity::over(&samples).expect("three samples");
        let shown: Vec<(&str, f64)> =
            activity.threads.iter().map(|thread| (thread.name.as_str(), thread.cores)).collect();
        assert_eq!(shown, [("kworker/0:1-kcryptd/253:0", 0.4), ("kworker/0:1-kblockd", 0.2)]);
        assert_eq!(activity.disks["sda"].at_driver, Some(6.0));
        assert_eq!(Activity::over(&samples[..1]), None);
    }
}
