//! The counters of this host, every 250 ms while load runs.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use narrows_machine::activity::{self, Sample as Counters};
use narrows_machine::root::Root;
use narrows_verdict::fleet::samples::{DiskCounts, FlowCounts, Sample, ServingCounts};

use super::now;

/// How often counters are sampled.
const SAMPLE: Duration = Duration::from_millis(250);

/// Writes a sample every 250 ms until nobody reads them any more.
pub(super) fn sample(ports: &BTreeSet<u16>) {
    let root = Root::live();
    let mut next = Instant::now();
    let (mut stacked, mut serving) = (Stacked::default(), Serving::default());
    loop {
        let mut sample = counters(&root, ports);
        sample.stacked = stacked.among(&root, &sample);
        sample.serving = serving.on(&root, ports);
        let Ok(line) = serde_json::to_string(&sample) else { return };
        let mut out = io::stdout().lock();
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            return;
        }
        next += SAMPLE;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// Which interfaces lie on others. That changes with the interfaces, so that it is not asked every time.
#[derive(Default)]
struct Stacked {
    of: Vec<String>,
    found: BTreeSet<String>,
}

impl Stacked {
    fn among(&mut self, root: &Root, sample: &Sample) -> BTreeSet<String> {
        if !self.of.iter().eq(sample.nics.keys()) {
            self.of = sample.nics.keys().cloned().collect();
            self.found = activity::stacked_interfaces(root);
        }
        self.found.clone()
    }
}

/// Processes that serve on the ports. Who has a socket is asked again where the sockets change, and not at every sample.
#[derive(Default)]
struct Serving {
    looks: u32,
    sockets: BTreeSet<u64>,
    processes: BTreeSet<u32>,
}

impl Serving {
    fn on(&mut self, root: &Root, ports: &BTreeSet<u16>) -> Option<ServingCounts> {
        /// Samples of 5 s.
        const EVERY: u32 = 20;
        if self.looks.is_multiple_of(EVERY) {
            let sockets = activity::sockets_on(root, ports);
            if sockets != self.sockets {
                self.processes = activity::owners(root, &sockets);
                self.sockets = sockets;
            }
        }
        self.looks = self.looks.wrapping_add(1);
        let served = activity::served(root, &self.processes)?;
        Some(ServingCounts { run_ns: served.run.get(), waited_ns: served.waited.get() })
    }
}

fn counters(root: &Root, ports: &BTreeSet<u16>) -> Sample {
    let at_ns = now();
    let read = Counters::of_counters(root);
    let disk = |(name, disk): (&String, &activity::DiskCounters)| {
        let (read, written) = (disk.read_bytes.get(), disk.written_bytes.get());
        let counts = DiskCounts { read, written, busy_ns: disk.busy.get() };
        (counts.read + counts.written > 0).then(|| (name.clone(), counts))
    };
    let flow = |flow: activity::Flow| FlowCounts {
        local: flow.local.to_string(),
        remote: flow.remote.to_string(),
        rtt_us: flow.round_trip.get() / 1000,
        least_rtt_us: flow.least_round_trip.get() / 1000,
        busy_us: flow.busy.get() / 1000,
        window_us: flow.window_limited.get() / 1000,
        sent: flow.sent.get(),
        received: flow.received.get(),
        again: flow.retransmitted,
    };
    let nics = read.nics.iter().map(|(name, nic)| (name.clone(), [nic.received.get(), nic.sent.get()]));
    let cpus = read.cpus.values().map(|cpu| {
        [(cpu.user.get() + cpu.system.get() + cpu.interrupt.get() + cpu.steal.get()), cpu.idle.get()]
    });
    Sample {
        at_ns,
        disks: read.disks.iter().filter_map(disk).collect(),
        nics: nics.collect(),
        cpus: cpus.collect(),
        kernel_ns: Some(read.cpus.values().map(|cpu| cpu.system.get() + cpu.interrupt.get()).sum()),
        flows: activity::flows(ports).into_iter().map(flow).collect(),
        ..Sample::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_counters() {
        let root = Root::live();
        let sample = counters(&root, &BTreeSet::new());
        assert!(sample.nics.contains_key("lo") && !sample.cpus.is_empty() && sample.flows.is_empty());
        assert!(sample.kernel_ns.is_some());
        assert_eq!(Serving::default().on(&root, &BTreeSet::new()), None);
    }
}
