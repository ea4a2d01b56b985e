//! A run of 60 hosts on one server, made by hand, as its files would be. The report of it in `tests/figures/fleet-run.json` is what
//! [`build`](super::build) makes of them.

use std::collections::BTreeMap;

use super::{Files, FleetRunReport, build};
use narrows_base::units::{Bytes, Nanos};
use narrows_verdict::fleet::Told;
use narrows_verdict::fleet::record::{
    Host, HostOutcome, Load, PointRecord, Run, SCHEMA, State, TargetRecord,
};
use narrows_verdict::fleet::samples::{DiskCounts, FlowCounts, Sample};

const START_NS: u64 = 1_764_000_000_000_000_000;
const STEP: Nanos = Nanos::from_millis(250);
const SECONDS: u64 = 10;
const HOSTS: u64 = 60;
/// The place of the host whose card runs at 1 Gbit/s, and of the one that did not answer.
const SLOW: u64 = 6;
const LOST: u64 = 40;

/// KiB a second that fio counted on a host.
fn kib(host: u64) -> u64 {
    if host == SLOW { 110_000 } else { 198_000 + host * 131 % 4_000 }
}

/// The same in bytes, with what is around it on the wire, 0.6 % of large frames.
fn on_the_wire(host: u64) -> u64 {
    kib(host) * 1024 * 1006 / 1000
}

pub(super) fn report(is_public: bool) -> FleetRunReport {
    report_of(&[(1, 1000)], is_public)
}

/// Several runs: the jobs of each, and what hosts give then in thousandths of what they give in the example.
pub(super) fn report_of(steps: &[(u32, u64)], is_public: bool) -> FleetRunReport {
    let told = |host, share| if host == LOST { Told::default() } else { told(host, share) };
    let files = Files {
        told: steps.iter().map(|(_, share)| (0..HOSTS).map(|host| told(host, *share)).collect()).collect(),
        clients: (0..HOSTS).map(samples_of_client).collect(),
        servers: vec![samples_of_server()],
        step: STEP,
    };
    build(&record_of(steps), &files, is_public)
}

/// The record of such a run.
pub(super) fn record_of(steps: &[(u32, u64)]) -> Run {
    let clients = (0..HOSTS).map(client).collect();
    let facts = facts("100000", "9000", "ens1np0");
    let drives = (0..8).map(|drive| format!("nvme{drive}n1")).collect();
    let target = Some(TargetRecord { drives, ..TargetRecord::default() });
    let server = Host {
        host: "srv1".to_owned(),
        directory: "server-0001".to_owned(),
        facts,
        target,
        ..Host::default()
    };
    let outcome = |client: u64| HostOutcome {
        client: client as usize,
        state: if client == LOST { State::Unreachable } else { State::Ok },
        reason: (client == LOST).then(|| "no answer of its ssh server".to_owned()),
        known_after_ns: None,
    };
    let point = |(number, jobs): (usize, u32)| PointRecord {
        directory: format!("point-{:03}", number + 1),
        load: Load {
            block_size: Bytes::from_kib(1024),
            depth: 8,
            jobs,
            read_percent: 100,
            is_random: false,
            time_ns: Nanos::from_millis(SECONDS * 1000),
            rate_cap: None,
        },
        start_ns: START_NS,
        hosts: (0..HOSTS).map(outcome).collect(),
        is_proof: false,
    };
    Run {
        schema: SCHEMA.to_owned(),
        narrows: "0".to_owned(),
        fio: "3.33".to_owned(),
        clients,
        servers: vec![server],
        points: steps.iter().map(|(jobs, _)| *jobs).enumerate().map(point).collect(),
        network_leg: None,
        drives_leg: None,
        interrupted: None,
        left: Vec::new(),
    }
}

fn facts(speed: &str, mtu: &str, name: &str) -> BTreeMap<String, String> {
    let fact = |what: &str, value: &str| (format!("{what} of {name}"), value.to_owned());
    BTreeMap::from([fact("speed", speed), fact("MTU", mtu), ("kernel".to_owned(), "6.12.41".to_owned())])
}

fn client(number: u64) -> Host {
    let target = TargetRecord { server: Some("10.1.0.1:4420".to_owned()), ..TargetRecord::default() };
    Host {
        host: format!("c{:02}", number + 1),
        directory: format!("client-{:04}", number + 1),
        facts: facts(if number == SLOW { "1000" } else { "10000" }, "9000", "eno1"),
        target: Some(target),
        ..Host::default()
    }
}

/// What a host brings back, in thousandths of what it gives.
fn told(host: u64, share: u64) -> Told {
    let kib = |host: u64| kib(host) * share / 1000;
    let begin = START_NS / 1_000_000 + 3;
    let lines = |value: u64| {
        let line = |step: u64| format!("{}, {value}, 0, 0, 0\n", begin + step * 250);
        (1..=SECONDS * 4).map(line).collect::<String>()
    };
    let report = format!(
        r#"{{ "fio version" : "fio-3.33", "client_stats" : [ {{ "jobname" : "n", "error" : 0, "usr_cpu" : 4, "sys_cpu" : 9,
        "read" : {{ "io_bytes" : {}, "total_ios" : {}, "runtime" : {}, "clat_ns" : {{ "min" : 900000, "max" : 190000000,
        "bins" : {{ "40000000" : {}, "90000000" : 20 }} }} }} }} ] }}"#,
        kib(host) * 1024 * SECONDS,
        kib(host) * SECONDS / 1024,
        SECONDS * 1000,
        kib(host) * SECONDS / 1024 - 20,
    );
    Told {
        report: Some(report),
        rates: vec![lines(kib(host))],
        latencies: vec![lines(40_000_000)],
        histograms: Vec::new(),
        clock_ahead_ns: 0,
    }
}

/// Counters every 250 ms, which `of` makes of a number of looks.
fn samples(of: impl Fn(u64) -> Sample) -> Vec<Sample> {
    let look = |look: u64| Sample { at_ns: START_NS + look * STEP.get(), ..of(look) };
    (0..=SECONDS * 4).map(look).collect()
}

fn ends(host: u64) -> (String, String) {
    (format!("10.1.1.{}:40000", host + 1), "10.1.0.1:4420".to_owned())
}

fn samples_of_client(host: u64) -> Vec<Sample> {
    if host == LOST {
        return Vec::new();
    }
    samples(|look| {
        let (local, remote) = ends(host);
        Sample {
            nics: BTreeMap::from([("eno1".to_owned(), [on_the_wire(host) / 4 * look, 250_000 * look])]),
            cpus: vec![[look * 40_000_000, look * 210_000_000]; 8],
            flows: vec![FlowCounts {
                local,
                remote,
                received: kib(host) * 256 * look,
                ..FlowCounts::default()
            }],
            ..Sample::default()
        }
    })
}

fn samples_of_server() -> Vec<Sample> {
    let all: u64 = (0..HOSTS).filter(|host| *host != LOST).map(on_the_wire).sum();
    samples(|look| {
        let disk =
            DiskCounts { read: all / 8 / 4 * look, written: 0, busy_ns: look * 250_000_000 * 61 / 100 };
        let flow = |host: u64| {
            let (remote, local) = ends(host);
            FlowCounts {
                local,
                remote,
                rtt_us: 9_000 + host * 17,
                least_rtt_us: 60,
                busy_us: look * 247_000,
                window_us: 0,
                sent: kib(host) * 256 * look,
                received: 0,
                again: 0,
            }
        };
        Sample {
            disks: (0..8).map(|drive| (format!("nvme{drive}n1"), disk)).collect(),
            nics: BTreeMap::from([("ens1np0".to_owned(), [1_000_000 * look, all / 4 * look])]),
            cpus: vec![[look * 120_000_000, look * 130_000_000]; 32],
            flows: (0..HOSTS).filter(|host| *host != LOST).map(flow).collect(),
            ..Sample::default()
        }
    })
}
