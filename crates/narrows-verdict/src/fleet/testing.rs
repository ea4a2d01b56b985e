//! Runs made by hand.

use std::collections::BTreeMap;

use super::Told;
use super::record::{Host, HostOutcome, Load, PointRecord, Run, SCHEMA, State, TargetRecord};
use narrows_base::units::{Bytes, Nanos};

pub(super) const START: u64 = 1_000_000_000_000_000;
pub(super) const STEP: Nanos = Nanos::from_millis(250);

pub(super) fn load(seconds: u64) -> Load {
    Load {
        block_size: Bytes::from_kib(4),
        depth: 4,
        jobs: 1,
        read_percent: 100,
        is_random: true,
        time_ns: Nanos::from_millis(seconds * 1000),
        rate_cap: None,
    }
}

pub(super) fn record(hosts: usize, seconds: u64) -> PointRecord {
    let host = |client| HostOutcome { client, state: State::Ok, reason: None, known_after_ns: None };
    PointRecord {
        directory: "point-01".to_owned(),
        load: load(seconds),
        start_ns: START,
        hosts: (0..hosts).map(host).collect(),
        is_proof: false,
    }
}

pub(super) fn run(clients: usize, servers: usize, point: PointRecord) -> Run {
    let host = |name: String, server: Option<String>| Host {
        directory: name.clone(),
        host: name,
        target: Some(TargetRecord { server, ..TargetRecord::default() }),
        facts: BTreeMap::new(),
        ..Host::default()
    };
    Run {
        schema: SCHEMA.to_owned(),
        narrows: "0".to_owned(),
        fio: "3.33".to_owned(),
        clients: (0..clients).map(|n| host(format!("c{n}"), Some("10.0.0.1:10809".to_owned()))).collect(),
        servers: (0..servers).map(|n| host(format!("s{n}"), None)).collect(),
        points: vec![point],
        network_leg: None,
        drives_leg: None,
        interrupted: None,
        left: Vec::new(),
    }
}

/// What a host brings back that began `after_ms` after the start and read `kib` KiB/s for `seconds`, with so many I/Os of each
/// latency.
pub(super) fn told(after_ms: u64, kib: u64, seconds: u64, latencies: &[(u64, u64)]) -> Told {
    let begin = START / 1_000_000 + after_ms;
    let lines = |value: u64| {
        let line = |step: u64| format!("{}, {value}, 0, 0, 0\n", begin + step * 250);
        (1..=seconds * 4).map(line).collect::<String>()
    };
    let ios: u64 = latencies.iter().map(|(_, count)| count).sum();
    let bins: Vec<String> =
        latencies.iter().map(|(latency, count)| format!("\"{latency}\" : {count}")).collect();
    let (least, most) = (latencies.iter().map(|one| one.0).min(), latencies.iter().map(|one| one.0).max());
    let report = format!(
        r#"{{ "fio version" : "fio-3.33", "client_stats" : [ {{ "jobname" : "n", "error" : 0, "usr_cpu" : 2, "sys_cpu" : 3,
        "read" : {{ "io_bytes" : {}, "total_ios" : {ios}, "runtime" : {}, "clat_ns" : {{ "min" : {}, "max" : {},
        "bins" : {{ {} }} }} }} }} ] }}"#,
        kib * 1024 * seconds,
        seconds * 1000,
        least.unwrap_or(0),
        most.unwrap_or(0),
        bins.join(", ")
    );
    Told {
        report: Some(report),
        rates: vec![lines(kib)],
        latencies: vec![lines(100_000)],
        histograms: Vec::new(),
        clock_ahead_ns: 0,
    }
}
