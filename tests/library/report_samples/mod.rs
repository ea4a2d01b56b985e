//! Reports built by hand, to see what they look like and to hold them against the schema.

#![expect(clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use narrows::ceiling::{Basis, Ceiling, Ceilings, Direction, FactRef, Limit};
use narrows::load::measurement::{Access, GeneratorUse, Latency, Measurement, Pattern, Workload};
use narrows::machine::Machine;
use narrows::machine::activity::Activity;
use narrows::machine::cpu::NumaNode;
use narrows::machine::fact::{Fact, Source};
use narrows::machine::pci::PciAddress;
use narrows::path::{
    DeviceHop, FilesystemHop, Hop, HopId, HopKind, HopSpec, LinkHop, Path, RaidHop, Target, Traffic,
    UplinkHop,
};
use narrows::report::view::{self, CheckReport};
use narrows::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows::verdict::{
    Advice, Code, Confidence, Evidence, Finding, Measured, PathVerdict, Run, Severity, Subject, Verdict,
};

fn x99() -> Machine {
    let mut machine = Machine {
        kernel: Fact::known("6.1.0-13-amd64".into(), "/proc/sys/kernel/osrelease"),
        ..Machine::default()
    };
    machine.dmi.board_vendor = Fact::known("ASUSTeK COMPUTER INC.".into(), "/sys/class/dmi/id/board_vendor");
    machine.dmi.board = Fact::known("X99-A".into(), "/sys/class/dmi/id/board_name");
    machine.cpus.model = Fact::known("Intel(R) Core(TM) i7-5820K CPU @ 3.30GHz".into(), "/proc/cpuinfo");
    machine.cpus.cores = Fact::known(6, "/sys/devices/system/cpu");
    machine.cpus.sockets = Fact::known(1, "/sys/devices/system/cpu");
    machine.cpus.memory = Fact::known(Bytes::new(33_568_440_320), "/proc/meminfo");
    machine.cpus.nodes = vec![NumaNode::default()];
    machine
}

fn limit(rate: f64, raw: Option<f64>, basis: Basis, formula: &str) -> Ceiling {
    Ceiling::Known(Limit {
        rate: BytesPerSec::new(rate),
        raw: raw.map(BytesPerSec::new),
        basis,
        formula: formula.to_owned(),
        facts: vec![
            FactRef::new("width", "x1", &Source::new("/sys/bus/pci/devices/0000:02:00.0/current_link_width")),
            FactRef::new(
                "speed",
                "5 GT/s",
                &Source::new("/sys/bus/pci/devices/0000:02:00.0/current_link_speed"),
            ),
        ],
    })
}

fn both(ceiling: Ceiling) -> Ceilings {
    Ceilings { read: ceiling.clone(), write: ceiling }
}

fn transparent(reason: &str) -> Ceilings {
    both(Ceiling::Transparent(reason.to_owned()))
}

/// Builds the hops of a path one under the other.
#[derive(Default)]
struct Stack {
    hops: Vec<Hop>,
    ceilings: Vec<Ceilings>,
}

impl Stack {
    fn add(&mut self, spec: HopSpec, id: &str, name: &str, depth: usize, ceilings: Ceilings) -> &mut Self {
        let above = self.hops.last().map(|hop| hop.id.clone());
        self.hops.push(Hop {
            id: HopId::new(spec.kind(), id),
            name: name.to_owned(),
            spec,
            traffic: Traffic::ONE,
            depth,
            above,
            against: narrows::path::Traffic::NONE,
            below: Vec::new(),
            shared_with: Vec::new(),
        });
        self.ceilings.push(ceilings);
        self
    }

    fn under(&mut self, above: &HopId) -> &mut Self {
        self.hops.last_mut().expect("a hop").above = Some(above.clone());
        self
    }

    fn carries(&mut self, read: f64, write: f64) -> &mut Self {
        self.hops.last_mut().expect("a hop").traffic = Traffic { read, write };
        self
    }

    fn shared(&mut self, with: &[&str]) -> &mut Self {
        self.hops.last_mut().expect("a hop").shared_with = with.iter().map(|t| (*t).to_owned()).collect();
        self
    }

    fn subject(&mut self, target: &str) -> Subject {
        let path = Path {
            target: target.to_owned(),
            asked: Target::Block(target.to_owned()),
            hops: std::mem::take(&mut self.hops),
        };
        Subject { path, ceilings: std::mem::take(&mut self.ceilings), runs: Vec::new() }
    }
}

fn id(kind: HopKind, name: &str) -> HopId {
    HopId::new(kind, name)
}

fn verdict_of(limiting: &HopId, next: &HopId, sentence: &str) -> PathVerdict {
    let both = |id: &HopId| BTreeMap::from([(Direction::Read, id.clone()), (Direction::Write, id.clone())]);
    PathVerdict {
        limiting: both(limiting),
        next: both(next),
        sentence: sentence.to_owned(),
        ..PathVerdict::default()
    }
}

/// A drive in a slot that runs with one lane of second-generation PCIe, on a board whose chipset has a DMI 2.0 uplink.
fn slow_slot() -> Subject {
    let mut stack = Stack::default();
    stack
        .add(HopSpec::Application, "", "application", 0, transparent("moves no bytes of its own"))
        .add(
            HopSpec::BlockQueue(String::new()),
            "nvme0n1",
            "request queue of nvme0n1 (none)",
            0,
            transparent("a queue passes on what its device allows"),
        )
        .add(
            HopSpec::Device(DeviceHop::default()),
            "nvme0n1",
            "Samsung SSD 960 EVO 500GB",
            0,
            Ceilings {
                read: limit(3.2e9, None, Basis::Spec, "3.2 GB/s, as rated"),
                write: limit(1.8e9, None, Basis::Spec, "1.8 GB/s, as rated"),
            },
        )
        .add(
            HopSpec::Link(Box::<LinkHop>::default()),
            "0000:02:00.0",
            "PCIe 2.0 x1 link of 0000:02:00.0, slot PCIEX16_2",
            0,
            both(limit(
                412e6,
                Some(500e6),
                Basis::Formula,
                "5 GT/s × 1 × 8/10 / 8 = 500 MB/s raw; × 128/(128+24) × 0.98 = 412 MB/s",
            )),
        )
        .add(
            HopSpec::Chipset(UplinkHop { address: PciAddress::default(), ..UplinkHop::default() }),
            "intel-x99",
            "Intel X99 chipset, DMI 2.0",
            0,
            both(limit(
                1.6e9,
                Some(2e9),
                Basis::Spec,
                "5 GT/s × 4 × 8/10 / 8 = 2 GB/s raw; × 128/(128+24) = 1.6 GB/s",
            )),
        )
        .shared(&["/dev/sda", "/dev/sdb", "enp0s25"])
        .add(
            HopSpec::Memory(Fact::default()),
            "",
            "main memory",
            0,
            both(limit(34e9, None, Basis::Guess, "half of 4 × 17 GB/s")),
        );
    stack.subject("/dev/nvme0n1")
}

fn link_finding() -> Finding {
    Finding {
        code: Code::LinkWidthDegraded,
        severity: Severity::Fault,
        hop: Some(id(HopKind::Link, "0000:02:00.0")),
        subject: "0000:02:00.0".into(),
        summary: "The link of 0000:02:00.0 runs with 1 of 4 lanes in slot PCIEX16_2 and carries 412 MB/s at most".into(),
        evidence: vec![
            Evidence::new("current width", "x1", "/sys/bus/pci/devices/0000:02:00.0/current_link_width"),
            Evidence::new("width of the drive", "x4", "/sys/bus/pci/devices/0000:02:00.0/max_link_width"),
            Evidence::new("board rule", "PCIEX16_2 is x1 by default and shares lanes with PCIEX1_1 and USB3_E56", "ASUS X99-A manual E9798, page 1-10"),
        ],
        advice: vec![
            Advice {
                action: r"set Advanced\Onboard Devices Configuration: PCI-EX16_2 Slot (Black) Bandwidth to X4 Mode (disables PCIEX1_1 and USB3_E56)".into(),
                gain_bytes_per_second: Some(BytesPerSec::new(1.19e9)),
            },
            Advice {
                action: "move the drive to PCIEX16_3, which is wired to the processor".into(),
                gain_bytes_per_second: Some(BytesPerSec::new(2.79e9)),
            },
        ],
        confidence: Confidence::High,
        not_so_when: Code::LinkWidthDegraded.not_so_when().to_owned(),
    }
}

fn chipset_finding() -> Finding {
    Finding {
        code: Code::ChipsetShared,
        severity: Severity::Limit,
        hop: None,
        subject: "0000:00:1c.0".into(),
        summary: "The drive shares the uplink of the chipset with /dev/sda, /dev/sdb and enp0s25".into(),
        evidence: vec![Evidence::new("root port", "0000:00:1c.0", "/sys/bus/pci/devices/0000:02:00.0")],
        advice: vec![Advice {
            action: "use a slot that is wired to the processor".into(),
            gain_bytes_per_second: None,
        }],
        confidence: Confidence::Medium,
        not_so_when: Code::ChipsetShared.not_so_when().to_owned(),
    }
}

fn slow_slot_verdict() -> PathVerdict {
    verdict_of(
        &id(HopKind::Link, "0000:02:00.0"),
        &id(HopKind::Chipset, "intel-x99"),
        "The PCIe 2.0 x1 link of 0000:02:00.0 (slot PCIEX16_2) limits reads and writes to 412 MB/s; next comes the \
         chipset uplink (DMI 2.0) at 1.6 GB/s.",
    )
}

/// One target, not measured.
pub(crate) fn slow_slot_report() -> CheckReport {
    let verdict =
        Verdict { paths: vec![slow_slot_verdict()], findings: vec![link_finding(), chipset_finding()] };
    view::build(&x99(), &[slow_slot()], &verdict)
}

/// One target, measured.
pub(crate) fn measured_report() -> CheckReport {
    let mut subject = slow_slot();
    subject.runs = vec![
        run(Pattern::Sequential, Bytes::from_mib(1), 32, 391.7e6, Some([390.1e6, 393.3e6]), 81_000_000),
        run(Pattern::Random, Bytes::from_kib(4), 32, 331.2e6, None, 385_000),
    ];
    let mut verdict = slow_slot_verdict();
    for hop in &subject.path.hops {
        verdict.measured.insert(
            (hop.id.clone(), Direction::Read),
            Measured {
                rate: BytesPerSec::new(391.7e6),
                ci95: Some([BytesPerSec::new(390.1e6), BytesPerSec::new(393.3e6)]),
                trusted: true,
            },
        );
    }
    verdict.sentence = "Measured 392 MB/s, 95.1 % of what the PCIe 2.0 x1 link of 0000:02:00.0 (slot PCIEX16_2) \
                        carries: it is the narrowest hop; next comes the chipset uplink (DMI 2.0) at 1.6 GB/s."
        .into();
    let verdict = Verdict { paths: vec![verdict], findings: vec![link_finding()] };
    view::build(&x99(), &[subject], &verdict)
}

fn run(pattern: Pattern, block: Bytes, depth: u32, rate: f64, ci95: Option<[f64; 2]>, p50: u64) -> Run {
    let iops = rate / block.as_f64();
    let measurement = Measurement {
        workload: Workload::read(pattern, block, depth, Nanos::from_millis(4000)),
        access: Access::Direct,
        bytes: Bytes::new((rate * 4.0) as u64),
        elapsed_ns: Nanos::from_millis(4000),
        bytes_per_second: BytesPerSec::new(rate),
        ci95: ci95.map(|ends| ends.map(BytesPerSec::new)),
        iops: Iops::new(iops),
        latency: Latency {
            count: (iops * 4.0) as u64,
            min: Nanos::new(p50 / 2),
            mean: Nanos::new(p50),
            p50: Some(Nanos::new(p50)),
            p90: Some(Nanos::new(p50 * 9 / 8)),
            p95: Some(Nanos::new(p50 * 6 / 5)),
            p99: Some(Nanos::new(p50 * 5 / 4)),
            p999: Some(Nanos::new(p50 * 3 / 2)),
            max: Nanos::new(p50 * 2),
            reason: Some("too few samples: p9999 (29956 needed), p99999 (299572 needed)".into()),
            ..Latency::default()
        },
        series: (0..40u32).map(|step| BytesPerSec::new(rate * (0.9 + 0.01 * f64::from(step % 10)))).collect(),
        errors: 0,
        first_error: None,
        cut_short: None,
        generator: GeneratorUse {
            cpu: 0.11,
            enters_per_io: 0.5,
            involuntary_switches: 3,
            engine: "io_uring".to_owned().into(),
            ..GeneratorUse::default()
        },
        region: Bytes::new(500_107_862_016),
        ..Measurement::default()
    };
    Run { direction: Direction::Read, measurement, activity: Activity::default(), idle: Activity::default() }
}

/// A mirror of a fast and a slow drive, with a file system on it.
fn mirror() -> (Subject, PathVerdict) {
    let mut stack = Stack::default();
    stack
        .add(HopSpec::Application, "", "application", 0, transparent("moves no bytes of its own"))
        .add(
            HopSpec::Filesystem(FilesystemHop::default()),
            "/srv",
            "xfs on /srv",
            0,
            transparent("a file system passes on what its device allows"),
        )
        .add(
            HopSpec::Raid(Box::<RaidHop>::default()),
            "md0",
            "RAID-1 md0 of 2",
            0,
            transparent("an array passes on what its members allow"),
        );
    let array = id(HopKind::Raid, "md0");
    for (name, model, read, write) in
        [("nvme0n1", "WD_BLACK SN770 1TB", 5.15e9, 4.9e9), ("sda", "Crucial MX500 1TB", 560e6, 510e6)]
    {
        let address = if name == "sda" { "ata1" } else { "0000:01:00.0" };
        stack
            .add(
                HopSpec::Device(DeviceHop::default()),
                name,
                model,
                1,
                Ceilings {
                    read: limit(read, None, Basis::Spec, "as rated"),
                    write: limit(write, None, Basis::Spec, "as rated"),
                },
            )
            .under(&array)
            .carries(0.5, 1.0);
        if name == "sda" {
            stack.add(
                HopSpec::Sata(narrows::machine::block::Sata::default()),
                address,
                "SATA 6 Gbit/s of ata1",
                1,
                both(limit(
                    560e6,
                    Some(600e6),
                    Basis::Formula,
                    "6 Gbit/s × 8/10 / 8 = 600 MB/s raw; × 0.934 = 560 MB/s",
                )),
            );
        } else {
            stack.add(
                HopSpec::Link(Box::<LinkHop>::default()),
                address,
                "PCIe 4.0 x4 link of 0000:01:00.0, M.2_1",
                1,
                both(limit(
                    7.1e9,
                    Some(7.88e9),
                    Basis::Formula,
                    "16 GT/s × 4 × 128/130 / 8 = 7.88 GB/s raw; × 256/(256+24) = 7.1 GB/s",
                )),
            );
        }
        stack.carries(0.5, 1.0);
    }
    stack.add(
        HopSpec::Memory(Fact::default()),
        "",
        "main memory",
        0,
        both(Ceiling::Unknown("the memory's speed is not known".into())),
    );
    let subject = stack.subject("/srv");
    let mut verdict = verdict_of(
        &id(HopKind::Device, "sda"),
        &id(HopKind::Sata, "ata1"),
        "The member Crucial MX500 1TB (sda) limits writes to 510 MB/s and reads to 1.12 GB/s.",
    );
    verdict.next.insert(Direction::Read, id(HopKind::Device, "nvme0n1"));
    (subject, verdict)
}

/// One target that fans out, with different limits for reads and writes.
pub(crate) fn mirror_report() -> CheckReport {
    let (subject, verdict) = mirror();
    view::build(&x99(), &[subject], &Verdict { paths: vec![verdict], findings: vec![] })
}

/// All targets of a machine: one drive with its partitions and mounts, eight disks alike, a virtual disk, a mirror.
pub(crate) fn overview_report() -> CheckReport {
    let mut subjects = Vec::new();
    let mut verdicts = Vec::new();
    for target in ["/dev/nvme0n1", "/dev/nvme0n1p1", "/dev/nvme0n1p2", "/boot/efi", "/"] {
        let mut subject = slow_slot();
        subject.path.target = target.to_owned();
        subjects.push(subject);
        verdicts.push(slow_slot_verdict());
    }
    for letter in 'a'..='h' {
        let mut stack = Stack::default();
        let name = format!("sd{letter}");
        let port = format!("ata{}", letter as u32 - 'a' as u32 + 1);
        stack
            .add(HopSpec::Application, "", "application", 0, transparent("moves no bytes of its own"))
            .add(
                HopSpec::Device(DeviceHop::default()),
                &name,
                "Seagate ST8000VN004",
                0,
                both(limit(210e6, None, Basis::Spec, "as rated")),
            )
            .add(
                HopSpec::Sata(narrows::machine::block::Sata::default()),
                &port,
                &format!("SATA 6 Gbit/s of {port}"),
                0,
                both(limit(
                    560e6,
                    Some(600e6),
                    Basis::Formula,
                    "6 Gbit/s × 8/10 / 8 = 600 MB/s raw; × 0.934 = 560 MB/s",
                )),
            );
        subjects.push(stack.subject(&format!("/dev/{name}")));
        verdicts.push(verdict_of(
            &id(HopKind::Device, &name),
            &id(HopKind::Sata, &port),
            "The drive itself.",
        ));
    }
    let (subject, verdict) = mirror();
    subjects.push(subject);
    verdicts.push(verdict);

    let unknown = || both(Ceiling::Unknown("the host decides how fast a virtio disk is".into()));
    let mut stack = Stack::default();
    stack.add(HopSpec::Application, "", "application", 0, transparent("moves no bytes of its own")).add(
        HopSpec::Device(DeviceHop::default()),
        "vda",
        "virtio disk",
        0,
        unknown(),
    );
    subjects.push(stack.subject("/dev/vda"));
    let reason = "the host decides how fast a virtio disk is".to_owned();
    verdicts.push(PathVerdict {
        unknown: BTreeMap::from([(Direction::Read, reason.clone()), (Direction::Write, reason)]),
        sentence: "No hop of this path has a known ceiling; measure it.".into(),
        ..PathVerdict::default()
    });
    let verdict = Verdict { paths: verdicts, findings: vec![link_finding(), chipset_finding()] };
    view::build(&x99(), &subjects, &verdict)
}

/// A mount of a server's export, on a device whose name holds a UUID.
pub(crate) fn remote_report() -> CheckReport {
    let mut stack = Stack::default();
    stack.add(HopSpec::Application, "", "application", 0, transparent("moves no bytes of its own")).add(
        HopSpec::Remote(narrows::machine::block::Remote::default()),
        "nas.example.org",
        "server nas.example.org at 10.20.30.40, key luks-0f8fad5b-d9cb-469f-a165-70867728950e",
        0,
        both(limit(110e6, None, Basis::Guess, "as asked")),
    );
    let subject = stack.subject("nas.example.org:/export");
    view::build(&x99(), &[subject], &Verdict::default())
}

/// A report in which whatever can be missing is.
pub(crate) fn empty_report() -> CheckReport {
    view::build(&Machine::default(), &[], &Verdict::default())
}

/// A report full of what a hostile device would like a terminal to obey.
pub(crate) fn hostile_report() -> CheckReport {
    let evil = "\x1b]0;pwned\x07\x1b[2J\u{202e}\r\n";
    let mut machine = x99();
    machine.cpus.model = Fact::known(evil.into(), evil);
    let mut stack = Stack::default();
    stack.add(HopSpec::Application, evil, evil, 0, both(Ceiling::Unknown(evil.into()))).shared(&[evil]);
    stack.add(
        HopSpec::Memory(Fact::default()),
        evil,
        evil,
        0,
        both(limit(f64::INFINITY, None, Basis::Guess, evil)),
    );
    let subject = stack.subject(evil);
    let mut finding = link_finding();
    finding.summary = evil.into();
    finding.subject = evil.into();
    finding.evidence = vec![Evidence::new(evil, evil, evil)];
    finding.advice = vec![Advice { action: evil.into(), gain_bytes_per_second: None }];
    let verdict = PathVerdict { sentence: evil.into(), ..PathVerdict::default() };
    view::build(&machine, &[subject], &Verdict { paths: vec![verdict], findings: vec![finding] })
}
