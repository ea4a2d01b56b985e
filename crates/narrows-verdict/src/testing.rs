//! Paths, runs and machines for tests, drawn in a few words.

use narrows_base::fact::{Fact, Source};
use narrows_base::measurement::{Access, GeneratorUse, Latency, Measurement, Pattern, Workload};
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Iops, Lanes, Nanos};
use narrows_machine::Machine;
use narrows_machine::activity::{Activity, DiskActivity, LinkState, ThreadActivity};
use narrows_machine::log::{LogEvent, LogKind, StatedLink};
use narrows_machine::pci::{Express, LinkEnd, PciAddress, PciDevice, PortType};
use narrows_model::ceiling::{Basis, Ceiling, Ceilings, Direction, Limit, pcie};
use narrows_model::path::{
    CryptHop, DeviceHop, Hop, HopId, HopKind, HopSpec, LinkHop, Path, RaidHop, RaidLevel, Target, Traffic,
};

use super::attribution::Attribution;
use super::rules::Judged;
use super::{Code, Finding, PathVerdict, Run, Severity, Subject, Verdict, judge};

/// NVMe controller.
pub(super) const NVME: u32 = 0x01_0802;
/// VGA display.
pub(super) const DISPLAY: u32 = 0x03_0000;
pub(super) const ETHERNET: u32 = 0x02_0000;
/// Wi-Fi.
pub(super) const WIFI: u32 = 0x02_8000;
/// PCI bridge.
pub(super) const BRIDGE: u32 = 0x06_0400;

/// A path under construction, on a machine.
pub(super) struct Sketch {
    pub(super) machine: Machine,
    pub(super) subject: Subject,
    others: Vec<Subject>,
    above: Option<HopId>,
    traffic: Traffic,
}

impl Sketch {
    /// The path to a target, from the application on.
    pub(super) fn of(target: &str) -> Self {
        let path = Path { target: target.to_owned(), asked: Target::Block(String::new()), hops: Vec::new() };
        let sketch = Self {
            machine: Machine::default(),
            subject: Subject { path, ceilings: Vec::new(), runs: Vec::new() },
            others: Vec::new(),
            above: None,
            traffic: Traffic::ONE,
        };
        sketch.hop("application", HopSpec::Application, None)
    }

    /// Says what the path was asked for.
    pub(super) fn asked(mut self, target: Target) -> Self {
        self.subject.path.asked = target;
        self
    }

    /// A whole path to an NVMe drive of unknown speed over this link.
    pub(super) fn drive(link: LinkHop) -> Self {
        Self::of("/dev/nvme0n1").device("nvme0n1", None).link(link).memory()
    }

    /// Adds a hop below the last one, with a ceiling in MB/s for both directions.
    pub(super) fn hop(self, name: &str, spec: HopSpec, megabytes: Option<f64>) -> Self {
        let ceiling = match megabytes {
            Some(rate) => Ceiling::Known(limit(rate, Basis::Formula)),
            None => Ceiling::Transparent("it passes on what others allow".to_owned()),
        };
        self.with_ceilings(name, spec, Ceilings { read: ceiling.clone(), write: ceiling })
    }

    /// Adds a hop whose ceiling in MB/s is a guess.
    pub(super) fn guess(self, name: &str, spec: HopSpec, megabytes: f64) -> Self {
        let ceiling = Ceiling::Known(limit(megabytes, Basis::Guess));
        self.with_ceilings(name, spec, Ceilings { read: ceiling.clone(), write: ceiling })
    }

    /// Adds a hop whose ceiling is not known.
    pub(super) fn unknown(self, name: &str, spec: HopSpec) -> Self {
        let ceiling = Ceiling::Unknown("nobody says".to_owned());
        self.with_ceilings(name, spec, Ceilings { read: ceiling.clone(), write: ceiling })
    }

    fn with_ceilings(mut self, name: &str, spec: HopSpec, ceilings: Ceilings) -> Self {
        let id = HopId::new(spec.kind(), name);
        self.subject.path.hops.push(Hop {
            id: id.clone(),
            name: name.to_owned(),
            spec,
            traffic: self.traffic,
            depth: 0,
            above: self.above.replace(id),
            against: narrows_model::path::Traffic::NONE,
            below: Vec::new(),
            shared_with: Vec::new(),
        });
        self.subject.ceilings.push(ceilings);
        self
    }

    /// Adds a PCIe link with the ceilings that its facts give.
    pub(super) fn link(self, link: LinkHop) -> Self {
        let ceilings = pcie::of_link(&link);
        let name = link.device.address.to_string();
        self.with_ceilings(&name, HopSpec::Link(Box::new(link)), ceilings)
    }

    /// Adds a medium; its ceiling in MB/s is from a data sheet, or unknown.
    pub(super) fn device(self, block: &str, megabytes: Option<f64>) -> Self {
        let device =
            DeviceHop { block: block.to_owned(), rotational: Fact::known(false, ""), ..DeviceHop::default() };
        match megabytes {
            None => self.unknown(block, HopSpec::Device(device)),
            Some(rate) => {
                let ceiling = Ceiling::Known(limit(rate, Basis::Spec));
                let ceilings = Ceilings { read: ceiling.clone(), write: ceiling };
                self.with_ceilings(block, HopSpec::Device(device), ceilings)
            }
        }
    }

    /// Adds an array.
    pub(super) fn raid(self, block: &str, level: RaidLevel, members: &[&str]) -> Self {
        let members = members.iter().map(|member| (*member).to_owned()).collect();
        let raid = RaidHop { block: block.to_owned(), level: Some(level), members, ..RaidHop::default() };
        self.hop(block, HopSpec::Raid(Box::new(raid)), None)
    }

    /// Adds an encrypted mapping with a ceiling in MB/s that the kernel's cipher was measured to have.
    pub(super) fn crypt(self, crypt: CryptHop, megabytes: f64) -> Self {
        let ceiling = Ceiling::Known(limit(megabytes, Basis::Measured));
        let name = crypt.block.clone();
        let ceilings = Ceilings { read: ceiling.clone(), write: ceiling };
        self.with_ceilings(&name, HopSpec::Crypt(Box::new(crypt)), ceilings)
    }

    /// Adds main memory.
    pub(super) fn memory(self) -> Self {
        self.hop("memory", HopSpec::Memory(Fact::absent("")), None)
    }

    /// The next hop hangs below this one and carries this part of the traffic.
    pub(super) fn below(mut self, kind: HopKind, name: &str, traffic: f64) -> Self {
        self.above = Some(HopId::new(kind, name));
        self.traffic = Traffic { read: traffic, write: traffic };
        self
    }

    /// Adds a run.
    pub(super) fn run(mut self, run: Run) -> Self {
        self.subject.runs.push(run);
        self
    }

    /// Adds another path to the machine.
    pub(super) fn beside(mut self, other: Self) -> Self {
        self.others.push(other.subject);
        self
    }

    /// Changes the machine.
    pub(super) fn on(mut self, change: impl FnOnce(&mut Machine)) -> Self {
        change(&mut self.machine);
        self
    }

    /// Changes the facts of the last hop.
    pub(super) fn change(mut self, change: impl FnOnce(&mut Hop)) -> Self {
        change(self.subject.path.hops.last_mut().expect("a hop"));
        self
    }

    /// Judges the path.
    pub(super) fn judge(&self) -> Verdict {
        let subjects: Vec<Subject> = std::iter::once(&self.subject).chain(&self.others).cloned().collect();
        judge(&self.machine, &subjects)
    }

    /// The verdict on the path.
    pub(super) fn path(&self) -> PathVerdict {
        self.judge().paths.remove(0)
    }

    /// What limits reads.
    pub(super) fn attribution(&self) -> Attribution {
        let judged = Judged::new(&self.machine, &self.subject);
        judged.limit(Direction::Read).expect("a hop limits").clone()
    }

    /// The hop that limits reads.
    pub(super) fn limiting(&self) -> String {
        let path = self.path();
        path.limiting.get(&Direction::Read).map_or_else(|| "none".to_owned(), ToString::to_string)
    }

    /// The hop behind it.
    pub(super) fn next(&self) -> String {
        self.path().next.get(&Direction::Read).map_or_else(|| "none".to_owned(), ToString::to_string)
    }

    /// The finding with this code, if there is one.
    pub(super) fn finding(&self, code: Code) -> Option<Finding> {
        self.judge().findings.into_iter().find(|finding| finding.code == code)
    }

    /// The codes that were found above `info`.
    pub(super) fn alarms(&self) -> Vec<Code> {
        let findings = self.judge().findings;
        findings.iter().filter(|finding| finding.severity != Severity::Info).map(|f| f.code).collect()
    }
}

/// A limit in MB/s.
pub(super) fn limit(megabytes: f64, basis: Basis) -> Limit {
    Limit {
        rate: BytesPerSec::from_mb(megabytes),
        raw: None,
        basis,
        formula: format!("{megabytes} MB/s by decree"),
        facts: Vec::new(),
    }
}

/// The address `0000:BUS:00.0`.
pub(super) fn at(bus: u8) -> PciAddress {
    PciAddress { bus, ..PciAddress::default() }
}

/// One end of a link: generation and width that it runs at, and the most of both that it can do.
pub(super) fn end(address: PciAddress, class: u32, current: (u8, u8), most: (u8, u8)) -> PciDevice {
    PciDevice {
        address,
        class: Fact::known(class, "class"),
        link: link_end(current, most),
        power_state: Fact::known("D0".to_owned(), "power_state"),
        ..PciDevice::default()
    }
}

fn link_end(current: (u8, u8), most: (u8, u8)) -> LinkEnd {
    let speed = |generation| GtPerSec::from_pcie_generation(generation).expect("a generation");
    LinkEnd {
        current_speed: Fact::known(speed(current.0), "current_link_speed"),
        max_speed: Fact::known(speed(most.0), "max_link_speed"),
        current_width: Fact::known(Lanes::new(current.1), "current_link_width"),
        max_width: Fact::known(Lanes::new(most.1), "max_link_width"),
        ..LinkEnd::default()
    }
}

/// A link to an NVMe drive on bus 2: (generation, width) now, of the drive, and of the port.
pub(super) fn link(current: (u8, u8), device: (u8, u8), port: (u8, u8)) -> LinkHop {
    link_of(NVME, current, device, port)
}

/// The same to a device of another class.
pub(super) fn link_of(class: u32, current: (u8, u8), device: (u8, u8), port: (u8, u8)) -> LinkHop {
    let root = PciAddress { device: 0x1c, ..PciAddress::default() };
    LinkHop {
        device: end(at(2), class, current, device),
        port: Some(end(root, BRIDGE, current, port)),
        ..LinkHop::default()
    }
}

/// A line of a captured log about a function.
pub(super) fn logged(at: PciAddress, kind: LogKind, count: u64) -> LogEvent {
    LogEvent { pci: Some(at), device: None, kind, count, source: Source::new("dmesg.txt:1") }
}

/// A link as a log states it: generation and width.
pub(super) fn stated((generation, width): (u8, u8)) -> StatedLink {
    let speed = GtPerSec::from_pcie_generation(generation).expect("a generation");
    StatedLink { speed, width: Lanes::new(width) }
}

/// A link of which only a captured log tells: what it ran at when the device was found, and what the device could use.
pub(super) fn claimed(class: Option<u32>, by: (u8, u8), capable: (u8, u8)) -> Sketch {
    let mut hop = link_of(class.unwrap_or_default(), by, capable, by);
    hop.device.class = class.map_or_else(Fact::default, |class| Fact::known(class, "dmesg.txt:1"));
    if let Some(port) = &mut hop.port {
        port.link.max_speed = Fact::default();
        port.link.max_width = Fact::default();
    }
    let port = hop.port.as_ref().map(|port| port.address);
    let kind = LogKind::BandwidthLimited { by: stated(by), at: port, capable: Some(stated(capable)) };
    Sketch::drive(hop).on(|machine| {
        machine.log.push(logged(at(2), kind, 1));
        machine.pci.extend(class.map(|class| (at(2), function(at(2), class, capable))));
    })
}

/// The same link elsewhere.
pub(super) fn on_bus(bus: u8, mut link: LinkHop) -> LinkHop {
    link.device.address = at(bus);
    link
}

/// A function of the machine, with a link at its most.
pub(super) fn function(address: PciAddress, class: u32, most: (u8, u8)) -> PciDevice {
    PciDevice {
        address,
        class: Fact::known(class, "class"),
        link: link_end(most, most),
        ..PciDevice::default()
    }
}

/// A PCI Express capability with these payload sizes: supported and in force.
pub(super) fn express(supported: u64, payload: u64) -> Express {
    let sizes = [supported, payload, 512].map(Bytes::new);
    Express {
        relaxed_ordering: true,
        extended_tags: true,
        slot_implemented: true,
        ..Express::new(PortType::Endpoint, sizes)
    }
}

/// Sequential reads of 1 MiB, 32 deep, for two seconds at this many MB/s.
pub(super) fn run(megabytes: f64) -> Run {
    let block = Bytes::from_mib(1);
    let rate = BytesPerSec::from_mb(megabytes);
    let mean = Nanos::new((32.0 * block.as_f64() / rate.get() * 1e9) as u64);
    let measurement = Measurement {
        workload: Workload::read(Pattern::Sequential, block, 32, Nanos::from_millis(2000)),
        access: Access::Direct,
        bytes: Bytes::new((rate.get() * 2.0) as u64),
        elapsed_ns: Nanos::from_millis(2000),
        bytes_per_second: rate,
        ci95: None,
        iops: Iops::new(rate.get() / block.as_f64()),
        latency: Latency {
            count: 1000,
            min: Nanos::new(60_000),
            mean,
            p50: Some(mean),
            ..Latency::default()
        },
        series: vec![rate; 20],
        errors: 0,
        first_error: None,
        cut_short: None,
        generator: GeneratorUse { cpu: 0.2, engine: "io_uring".to_owned().into(), ..GeneratorUse::default() },
        region: Bytes::from_mib(1024),
        ..Measurement::default()
    };
    let activity = Activity { elapsed: Nanos::from_millis(2000), ..Activity::default() };
    Run { direction: Direction::Read, measurement, activity, idle: Activity::default() }
}

impl Run {
    /// A disk read this many MB/s in requests of 1 MiB, with this many in flight.
    pub(super) fn disk(mut self, name: &str, megabytes: f64, in_flight: f64) -> Self {
        let bytes = megabytes * 2e6;
        let reads = (bytes / f64::from(1 << 20)).ceil();
        let each = if reads > 0.0 { in_flight * 2e9 / reads } else { 0.0 };
        let disk = DiskActivity {
            read_bytes: Bytes::new(bytes as u64),
            reads: reads as u64,
            busy: in_flight.min(1.0),
            in_flight,
            read_latency: (reads > 0.0).then(|| Nanos::new(each as u64)),
            ..DiskActivity::default()
        };
        self.activity.disks.insert(name.to_owned(), disk);
        self
    }

    /// A kernel thread used this much of a core.
    pub(super) fn thread(mut self, name: &str, cores: f64) -> Self {
        self.activity.threads.push(ThreadActivity { name: name.to_owned(), is_kernel: true, cores });
        self
    }

    /// The generator's worker used this much of a core.
    pub(super) fn generator(mut self, cpu: f64) -> Self {
        self.measurement.generator.cpu = cpu;
        self
    }

    /// The generator's one worker was pinned to the first CPU, which was so busy, and the kernel's workers for its ring
    /// used this much of a core.
    pub(super) fn io_workers(mut self, cores: f64, busy: f64) -> Self {
        let generator = &mut self.measurement.generator;
        (generator.io_workers, generator.threads, generator.pinned_to) = (cores, 1, vec![0]);
        self.activity.cpus = [(0, busy), (1, 0.1)].into();
        self
    }

    /// The generator's worker stood in the queue of a processor for this part of the time.
    pub(super) fn queued(mut self, part: f64) -> Self {
        self.measurement.generator.queued = part;
        self
    }

    /// The link of a function was read at this generation under load.
    pub(super) fn link_at(mut self, address: PciAddress, generation: u8) -> Self {
        let speed = GtPerSec::from_pcie_generation(generation);
        self.activity.links.insert(address, LinkState { speed, width: None });
        self
    }
}
