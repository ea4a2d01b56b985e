//! Runs of many hosts from their directories: merged latencies, rows that stay readable, time and memory. The directories are made here
//! from the formats of fio 3.33 and of the samples, with as much in them as real hosts bring back.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "the tests make directories, run the binary, and may panic"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

/// The start of the run, in milliseconds since 1970.
const START: u64 = 1_795_563_600_000;
/// Columns of a log of histograms at its finest (fio's `stat.h`: 29 groups of 64).
const COLUMNS: usize = 1856;

/// A generator of the same numbers each time (Marsaglia, "Xorshift RNGs", 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// The middle of a bucket, as fio prints it (`stat.c`, `plat_idx_to_val`).
fn middle(bucket: u64) -> u64 {
    if bucket < 128 {
        return bucket;
    }
    let (error_bits, base) = ((bucket >> 6) - 1, 1_u64 << ((bucket >> 6) - 1 + 6));
    base + ((bucket % 64) * 2 + 1) * (1 << error_bits) / 2
}

/// A directory of a run; what was put into each bucket by all hosts together.
fn make(at: &Path, hosts: usize, seconds: u64) -> BTreeMap<u64, u64> {
    let mut whole = BTreeMap::new();
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let outcome = |client| json!({ "client": client, "state": "ok", "reason": null, "known_after_ns": null });
    let host = |name: String, directory: String, server: Option<&str>| {
        json!({ "host": name, "directory": directory, "clock_ahead_ns": 0, "clock_uncertainty_ns": 100_000,
            "target": { "found": "/dev/nvme1n1", "size": 1u64 << 40, "is_direct": true, "server": server, "drives": ["nvme0n1"] },
            "facts": { "kernel": "6.1.0", "speed of eth0": "25000", "MTU of eth0": "9000" } })
    };
    let load = json!({ "block_size": 4096, "depth": 32, "jobs": 4, "read_percent": 100, "is_random": true,
        "time_ns": seconds * 1_000_000_000, "rate_cap": null });
    let clients: Vec<Value> = (0..hosts)
        .map(|n| host(format!("node{n:04}"), format!("client-{:04}", n + 1), Some("10.0.0.1:4420")))
        .collect();
    let run = json!({ "schema": "narrows/fleet-run-record/1", "narrows": "0", "fio": "3.33", "clients": clients,
        "servers": [host("srv".to_owned(), "server-0001".to_owned(), None)], "interrupted": null, "left": [],
        "points": [{ "directory": "point-001", "load": load, "start_ns": START * 1_000_000, "is_proof": false,
            "hosts": (0..hosts).map(outcome).collect::<Vec<_>>() }] });
    fs::create_dir_all(at.join("server-0001")).expect("is ours");
    fs::write(at.join("run.json"), run.to_string()).expect("is ours");
    for client in 0..hosts {
        let place = at.join(format!("point-001/client-{:04}", client + 1));
        fs::create_dir_all(&place).expect("is ours");
        fio(&place, seconds, &mut numbers, &mut whole);
        let of_host = at.join(format!("client-{:04}", client + 1));
        fs::create_dir_all(&of_host).expect("is ours");
        let flow = |step| vec![flow(client, step, false)];
        fs::write(of_host.join("samples.jsonl"), samples(seconds, flow)).expect("is ours");
    }
    let flows = |step| (0..hosts).map(|client| flow(client, step, true)).collect();
    fs::write(at.join("server-0001/samples.jsonl"), samples(seconds, flows)).expect("is ours");
    whole
}

/// What fio brings back from a host: its report and the logs of four jobs.
fn fio(place: &Path, seconds: u64, numbers: &mut Numbers, whole: &mut BTreeMap<u64, u64>) {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for job in 1..=4 {
        let (mut rates, mut latencies, mut histogram) = (String::new(), String::new(), String::new());
        for step in 1..=seconds * 4 {
            let at = START + step * 250;
            writeln!(rates, "{at}, {}, 0, 0, 0", 150_000 + numbers.below(5000)).expect("is text");
            writeln!(latencies, "{at}, {}, 0, 0, 0", 180_000 + numbers.below(9000)).expect("is text");
        }
        for second in 1..=seconds {
            let mut cells = vec![0; COLUMNS];
            for _ in 0..120 {
                let bucket = 500 + numbers.below(280);
                let count = numbers.below(400);
                cells[usize::try_from(bucket).expect("is small")] += count;
                *counts.entry(middle(bucket)).or_default() += count;
            }
            let cells: Vec<String> = cells.iter().map(u64::to_string).collect();
            writeln!(histogram, "{}, 0, 4096, {}", START + second * 1000, cells.join(", ")).expect("is text");
        }
        for (name, text) in [("bw", rates), ("lat", latencies), ("clat_hist", histogram)] {
            fs::write(place.join(format!("narrows_{name}.{job}.log")), text).expect("is ours");
        }
    }
    counts.retain(|_, count| *count > 0);
    let ios: u64 = counts.values().sum();
    let bins: BTreeMap<String, u64> = counts.iter().map(|(bin, count)| (bin.to_string(), *count)).collect();
    let side = json!({ "io_bytes": ios * 4096, "total_ios": ios, "runtime": seconds * 1000,
        "clat_ns": { "min": counts.keys().next(), "max": counts.keys().last(), "bins": bins } });
    let report = json!({ "fio version": "fio-3.33", "client_stats": [
        { "jobname": "narrows", "error": 0, "usr_cpu": 9.0, "sys_cpu": 21.0, "read": side }] });
    fs::write(place.join("fio.json"), serde_json::to_string_pretty(&report).expect("is JSON"))
        .expect("is ours");
    for (bin, count) in counts {
        *whole.entry(bin).or_default() += count;
    }
}

fn flow(client: usize, step: u64, is_server: bool) -> Value {
    let (near, far) =
        ("10.0.0.1:4420".to_owned(), format!("10.0.{}.{}:5000", 1 + client / 200, client % 200));
    let (local, remote) = if is_server { (near, far) } else { (far, near) };
    json!({ "local": local, "remote": remote, "rtt_us": 80, "least_rtt_us": 40, "busy_us": step * 20_000, "window_us": 0,
        "sent": step * 150_000_000, "received": step * 10_000, "again": 0 })
}

/// The samples of a host with sixteen processors, eight drives and three interfaces.
fn samples(seconds: u64, flows: impl Fn(u64) -> Vec<Value>) -> String {
    let mut out = String::new();
    for step in 0..=seconds * 4 {
        let disk = json!({ "read": step * 150_000_000, "written": 0, "busy_ns": step * 200_000_000 });
        let disks: BTreeMap<String, Value> = (0..8).map(|n| (format!("nvme{n}n1"), disk.clone())).collect();
        let sample = json!({ "at_ns": START * 1_000_000 + step * 250_000_000, "disks": disks,
            "nics": { "lo": [0, 0], "eth0": [step * 160_000_000, step * 160_000_000], "eth1": [0, 0] },
            "cpus": vec![[step * 80_000_000, step * 170_000_000]; 16], "flows": flows(step) });
        writeln!(out, "{sample}").expect("is text");
    }
    out
}

/// Makes a report; its text, how long that took in seconds, and the most memory it had in bytes.
fn report(at: &Path, more: &[&str]) -> (String, f64, u64) {
    let begin = Instant::now();
    let output = Command::new(crate::narrows_binary())
        .args(["fleet", "report"])
        .arg(at)
        .args(more)
        .output()
        .expect("the binary runs");
    let time = begin.elapsed().as_secs_f64();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    let usage =
        nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).expect("is told");
    let most = u64::try_from(usage.max_rss()).expect("is positive") * 1024;
    (String::from_utf8(output.stdout).expect("is text"), time, most)
}

/// The percentile of one histogram of all, as fio computes it.
fn percentile(whole: &BTreeMap<u64, u64>, percent: f64) -> Option<u64> {
    let total: u64 = whole.values().sum();
    let mut below = 0;
    let is_there = |(_, count): &(&u64, &u64)| {
        below += **count;
        below as f64 >= percent / 100.0 * total as f64
    };
    whole.iter().find(is_there).map(|(bin, _)| *bin)
}

#[test]
fn merged_latencies_of_a_directory_are_those_of_one_histogram() {
    let dir = tempfile::tempdir().expect("a directory");
    let whole = make(dir.path(), 12, 4);
    let view: Value = serde_json::from_str(&report(dir.path(), &["--json"]).0).expect("is JSON");
    let read = &view["points"][0]["read"];
    assert_eq!(read["ios"].as_u64(), Some(whole.values().sum::<u64>()));
    for (name, percent) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p999", 99.9), ("p9999", 99.99)] {
        assert_eq!(read["latency"][name].as_u64(), percentile(&whole, percent), "{name}");
    }
    assert_eq!(view["network_leg"]["bytes_per_second"], Value::Null);
    let rows = report(dir.path(), &["--csv"]).0;
    assert_eq!(rows.lines().count(), 13, "{rows}");
}

#[test]
fn a_thousand_hosts_are_as_readable_as_twenty() {
    let dir = tempfile::tempdir().expect("a directory");
    make(dir.path(), 1024, 1);
    let text = report(dir.path(), &[]).0;
    assert!(text.lines().count() < 60, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
    assert!(text.contains("1024 ok (node[0000-1023])"), "{text}");
}

/// `cargo test --release --test cli -- --ignored --nocapture sixty_hosts_for_a_minute`.
#[test]
#[ignore = "150 MB of files; the limits hold for an optimised build on an idle machine"]
fn sixty_hosts_for_a_minute_are_a_report_in_two_seconds() {
    let dir = tempfile::tempdir().expect("a directory");
    make(dir.path(), 60, 60);
    let size = Command::new("du").args(["-sm"]).arg(dir.path()).output().expect("du runs");
    let (_, time, most) = report(dir.path(), &["--json"]);
    eprintln!(
        "60 hosts × 60 s, {} MB: {time:.2} s, {:.0} MB",
        String::from_utf8_lossy(&size.stdout).split_whitespace().next().unwrap_or("?"),
        most as f64 / 1e6
    );
    assert!(most <= 200_000_000, "{most} bytes");
    assert!(time <= 2.0 || cfg!(debug_assertions), "{time} s");
}
