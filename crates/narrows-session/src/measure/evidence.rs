//! What is asked of the machine about a run, what that costs, and who asks for it.

use std::collections::BTreeMap;

use narrows_machine::activity::{Activity, Condition, Sample, TcpState, connections};
use narrows_machine::pci::PciAddress;
use narrows_machine::root::Root;

/// A piece of evidence about a run. Tests hold runs to what each costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    // So little that it is taken in the measured time:
    /// What disks, processors, interfaces and pressure (PSI) counted from the beginning to the end of the measured time.
    Counters,
    /// What the load had moved when the first counters were taken.
    Missed,
    /// How many processors were at work while nothing but the load and this was.
    Processors,
    /// The requests that drivers hold, every 200 ms.
    Queues,
    /// The speed and width of links and the resyncs of arrays, under load: near its end, and every second for what changes meanwhile.
    States,
    /// The connections to storage servers, several times.
    Connections,
    // Time of processors that the load would lack, so right before and right after the measured time:
    /// The time of each thread, from the warm-up to the end.
    Threads,
    // The same, and taken in the measured time nevertheless, at most every two seconds:
    /// The same in between: a kernel worker is called after the work queue that it served last.
    ThreadsBetween,
    // It disturbs the device, or needs the machine for itself, so a time of its own, without load:
    /// What links and drives say of themselves before and after.
    Condition,
    /// What the machine does of its own accord.
    Idle,
    /// What an I/O that does nothing costs on this processor.
    Nop,
}

/// Who measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `narrows measure --as quick` and `full`
    Check,
    /// `narrows measure` with a list of tests
    Tests,
    /// `narrows measure --as layers`
    Ladder,
    /// `narrows lab`
    Lab,
}

impl Evidence {
    /// Whether a command takes it. All take what is free, at the ends or without load; two cost more than most have use for.
    pub const fn is_taken_by(self, command: Command) -> bool {
        match self {
            // Only it compares layers by their workers, and says how long it runs.
            Self::ThreadsBetween => matches!(command, Command::Ladder),
            // Layers have it once as a leg of its own; quick and full show no cost of an I/O.
            Self::Nop => matches!(command, Command::Tests | Command::Lab),
            _ => true,
        }
    }
}

/// Who is asked for evidence: a live or recorded machine, or one of a test.
pub trait Witness {
    /// All counters, threads, links, resyncs and connections.
    fn everything(&self) -> Sample;
    /// Disks, processors, interfaces and pressure.
    fn counters(&self) -> Sample;
    /// Processors only.
    fn processors(&self) -> Sample;
    /// Threads only.
    fn threads(&self) -> Sample;
    /// Disks, with what their drivers hold.
    fn queues(&self) -> Sample;
    /// The links that were seen idle, resyncs of arrays, and connections.
    fn states(&self, idle: &Activity) -> Sample;
    /// Connections to storage servers, by `address:port`.
    fn connections(&self) -> BTreeMap<String, TcpState>;
    /// What links and these drives say of themselves.
    fn condition(&self, drives: &[String]) -> Condition;
}

impl Witness for Root {
    fn everything(&self) -> Sample {
        Sample::read(self)
    }

    fn counters(&self) -> Sample {
        Sample::of_counters(self)
    }

    fn processors(&self) -> Sample {
        Sample::of_processors(self)
    }

    fn threads(&self) -> Sample {
        Sample::of_threads(self)
    }

    fn queues(&self) -> Sample {
        Sample::of_disks(self)
    }

    fn states(&self, idle: &Activity) -> Sample {
        let known: Vec<&PciAddress> = idle.links.keys().collect();
        Sample::of_states(self, known.into_iter())
    }

    fn connections(&self) -> BTreeMap<String, TcpState> {
        connections(self)
    }

    fn condition(&self, drives: &[String]) -> Condition {
        Condition::read(self, drives.iter().map(String::as_str))
    }
}
