//! `narrows fleet` on hosts that the tests make: network namespaces with real OpenSSH servers. Loads are small and capped, on files in
//! memory, and the traffic stays in the namespaces.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "the tests make hosts, run the binary, print rows, and may panic"
)]

mod drives;
mod kinds;
mod lab;
mod launcher;
mod leg;
mod limits;
mod quick;
#[path = "../support/schema.rs"]
mod schema;
mod slurm;

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lab::{Lab, Ran, skip, unable};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A small load: 2000 I/Os of 4 KiB a second in all.
const LOAD: &str = "--as rand4k --threads 1 --depth 2 --rate 8m --size 16m";

/// One lab at a time: what runs beside it takes the processors from its hosts.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_unable(test: &str) -> bool {
    let why = unable();
    if let Some(why) = &why {
        skip(test, why);
    }
    why.is_some()
}

fn words(hosts: &str, more: &str) -> String {
    format!("run --hosts {hosts} --ssh-config {{dir}}/ssh_config --target {{dir}}/data {LOAD} --json {more}")
}

/// The states of hosts by name.
pub(crate) fn states(report: &Value) -> BTreeMap<String, String> {
    let hosts = report["points"][0]["hosts"].as_array().expect("has hosts");
    let text = |value: &Value| value.as_str().expect("is text").to_owned();
    hosts.iter().map(|host| (text(&host["host"]), text(&host["state"]))).collect()
}

fn counts_by_bin(file: &std::path::Path) -> BTreeMap<u64, u64> {
    let text = fs::read_to_string(file).expect("is there");
    let report: Value =
        serde_json::from_str(&text[text.find("\n{").map_or(0, |at| at + 1)..]).expect("is JSON");
    let jobs = report["client_stats"].as_array().expect("has jobs");
    let mut sum = BTreeMap::new();
    for job in jobs.iter().filter(|job| job["jobname"] != "All clients") {
        for (bin, count) in job["read"]["clat_ns"]["bins"].as_object().expect("has bins") {
            *sum.entry(bin.parse().expect("a number")).or_insert(0) += count.as_u64().expect("a count");
        }
    }
    sum
}

#[test]
fn hosts_begin_together_and_their_latencies_are_one_histogram() {
    let name = "hosts_begin_together_and_their_latencies_are_one_histogram";
    if is_unable(name) {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(3));
    let before = lab.listening("h1");
    let ran = lab.run(&words("h[1-3]", "--duration 3s --output {dir}/run"));
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let report = ran.json();
    let validator = jsonschema::validator_for(&schema::of("fleet-run")).expect("is a schema");
    let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    let point = &report["points"][0];
    let ios = point["read"]["ios"].as_u64().expect("has I/Os");
    assert!(ios > 100, "{point}");
    // The bins of all hosts, added up by hand, hold each I/O once.
    let mut sum: BTreeMap<u64, u64> = BTreeMap::new();
    for host in 1..=3 {
        let file = lab.path().join(format!("run/point-001/client-{host:04}/fio.json"));
        for (bin, count) in counts_by_bin(&file) {
            *sum.entry(bin).or_default() += count;
        }
    }
    assert_eq!(sum.values().sum::<u64>(), ios);
    // The bin in which the 99th of a hundred lies, as fio counts.
    let mut below = 0;
    let p99 = sum.iter().find(|(_, count)| {
        below += **count;
        below as f64 >= 0.99 * ios as f64
    });
    assert_eq!(point["read"]["latency"]["p99"].as_u64(), p99.map(|(bin, _)| *bin));
    assert!(point["window_ns"].as_u64().is_some_and(|window| window > 1_000_000_000), "{point}");
    let leg = &report["network_leg"];
    assert!(
        leg["bytes_per_second"].is_null()
            && leg["reason"].as_str().is_some_and(|why| why.contains("not measured")),
        "{leg}"
    );
    // No port was opened, and nothing stays.
    assert_eq!(lab.listening("h1"), before);
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
    // The directory alone gives the same again.
    let again = lab.run("report {dir}/run --json");
    assert_eq!(again.json()["points"], report["points"]);
    assert_eq!(again.status, ran.status);
    let public = lab.run("report {dir}/run --plain").out;
    assert!(!public.contains("h1") && public.contains("client-0001"), "{public}");
}

#[test]
fn while_a_load_runs_its_directories_are_private_and_a_second_controller_is_refused() {
    if is_unable("while_a_load_runs_its_directories_are_private_and_a_second_controller_is_refused") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(2));
    let before: Vec<Vec<String>> = ["h1", "h2"].iter().map(|host| lab.listening(host)).collect();
    let mut first = lab.fleet(&words("h[1-2]", "--duration 8s --output {dir}/first"));
    let first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    lab.await_servers("h1", 0);
    lab.await_servers("h2", 0);
    let now: Vec<Vec<String>> = ["h1", "h2"].iter().map(|host| lab.listening(host)).collect();
    assert_eq!(now, before, "no port is opened");
    for left in lab.left().iter().filter(|left| left.starts_with("/tmp") || left.starts_with("/dev/shm")) {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(left).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{left}");
    }
    let second = lab.run(&words("h[1-2]", "--duration 2s --output {dir}/second"));
    assert_eq!(second.status, Some(2), "{second:?}");
    assert!(second.err.contains("another controller"), "{second:?}");
    let first: lab::Ran = first.wait_with_output().expect("ends").into();
    assert!(matches!(first.status, Some(0 | 1)), "the first went on undisturbed: {first:?}");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
}

#[test]
fn a_killed_host_is_named_and_the_others_count() {
    if is_unable("a_killed_host_is_named_and_the_others_count") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(3));
    let mut run = lab.fleet(&words("h[1-3]", "--duration 6s --output {dir}/run"));
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    // The server makes a process for its client: the job is there.
    let servers = lab.await_servers("h2", 1);
    std::thread::sleep(Duration::from_secs(3));
    for server in servers {
        let _ = kill(Pid::from_raw(server), Signal::SIGKILL);
    }
    let ran: lab::Ran = run.wait_with_output().expect("ends").into();
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(ran.err.contains("h2 is failed"), "{ran:?}");
    let report = ran.json();
    let found = states(&report);
    assert_eq!((found["h2"].as_str(), report["complete"].as_bool()), ("failed", Some(false)));
    assert!(found["h1"] != "failed" && found["h3"] != "failed", "{found:?}");
    assert!(report["points"][0]["read"]["ios"].as_u64().is_some_and(|ios| ios > 100), "{report}");
    let partial = lab.run("report {dir}/run --partial");
    assert_eq!(partial.status, Some(1), "{partial:?}");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
}

#[test]
fn a_hung_host_delays_nobody() {
    if is_unable("a_hung_host_delays_nobody") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(2));
    let mut run = lab.fleet(&words("h[1-2]", "--duration 4s --output {dir}/run"));
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    for server in lab.await_servers("h1", 1) {
        let _ = kill(Pid::from_raw(server), Signal::SIGSTOP);
    }
    let ran: lab::Ran = run.wait_with_output().expect("ends").into();
    assert_eq!(ran.status, Some(2), "{ran:?}");
    let report = ran.json();
    assert_eq!(states(&report)["h1"], "hung", "{report}");
    assert!(report["points"][0]["read"]["ios"].as_u64().is_some_and(|ios| ios > 100), "{report}");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
}

#[test]
fn what_cannot_take_part_is_said_before_load() {
    if is_unable("what_cannot_take_part_is_said_before_load") {
        return;
    }
    let (_turn, mut lab) = (turn(), Lab::new(2));
    // A host whose fio says another version, and one that is not there.
    let (fake, real) = (lab.path().join("fio"), lab.path().join("fio.real"));
    fs::copy("/usr/bin/fio", &real).expect("is ours");
    let script =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && echo fio-3.99 || exec {} \"$@\"\n", real.display());
    fs::write(&fake, script).expect("is ours");
    let mount = format!("chmod 755 {0}; mount --bind {0} /usr/bin/fio", fake.display());
    lab.host("odd", "sw", 20, &[&mount]);
    let odd = lab.run(&words("h1,odd", "--duration 2s --output {dir}/odd"));
    assert_eq!(odd.status, Some(2), "{odd:?}");
    for line in ["odd: fio 3.99", "h1: fio 3.", "all must have one version", "no load was run"] {
        assert!(odd.err.contains(line), "{line}: {odd:?}");
    }
    let gone = lab.run(&words("h1,10.77.0.99", "--duration 2s --output {dir}/gone"));
    assert_eq!(gone.status, Some(2), "{gone:?}");
    assert!(gone.err.contains("10.77.0.99: ssh:") && gone.err.contains("--partial"), "{gone:?}");
    let partial = lab.run(&words("h1,10.77.0.99", "--duration 2s --partial --output {dir}/partial"));
    assert_eq!(partial.status, Some(1), "{partial:?}");
    assert_eq!(states(&partial.json())["10.77.0.99"], "unreachable");
    // A target that is not there, and one that must not be written.
    let absent = lab.run(
        "run --hosts h1 --ssh-config {dir}/ssh_config --target /no/such/place --duration 2s --output {dir}/absent",
    );
    assert_eq!((absent.status, absent.err.contains("/no/such/place")), (Some(2), true), "{absent:?}");
    let file = lab.path().join("file");
    fs::write(&file, vec![7; 1 << 20]).expect("is ours");
    let written = lab.run("run --hosts h1 --ssh-config {dir}/ssh_config --target {dir}/file --mix 50 --write --duration 2s --output {dir}/w");
    assert_eq!((written.status, written.err.contains("only ever read")), (Some(2), true), "{written:?}");
    // Nobody answers: no I/O is no result.
    let nobody = lab.run("run --hosts h1 --ssh-config {dir}/ssh_config --target nbd://10.77.0.2:9 --duration 2s --json --output {dir}/n");
    assert_eq!(nobody.status, Some(2), "{nobody:?}");
    assert_eq!(states(&nobody.json())["h1"], "failed");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
}

#[test]
fn a_killed_controller_leaves_nothing_on_any_host() {
    if is_unable("a_killed_controller_leaves_nothing_on_any_host") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(2));
    // While it pushes, while it prepares, and while the load runs.
    for (number, wait) in [200, 700, 1500, 3500].into_iter().enumerate() {
        let mut run = lab.fleet(&words("h[1-2]", &format!("--duration 20s --output {{dir}}/kill{number}")));
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        std::thread::sleep(Duration::from_millis(wait));
        run.kill().expect("is there");
        let _ = run.wait();
        assert_eq!(lab.left_after_a_while(), Vec::<String>::new(), "killed after {wait} ms");
    }
    assert_eq!(fs::read_dir(lab.data()).expect("is there").count(), 0, "scratch files have no name");
}

#[test]
fn hosts_are_looked_at_and_left_as_they_were() {
    if is_unable("hosts_are_looked_at_and_left_as_they_were") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(2));
    let ran = lab.run("check --hosts h[1-2] --ssh-config {dir}/ssh_config --json --output {dir}/captures");
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let records: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("a record in each line")).collect();
    let hosts: Vec<&str> = records
        .iter()
        .filter(|record| record["record"] == "host")
        .filter_map(|record| record["host"].as_str())
        .collect();
    assert_eq!(hosts, ["h1", "h2"]);
    assert!(lab.path().join("captures/h1.tar.zst").is_file());
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
    // A program that does not run there: the collector does.
    let foreign = lab.path().join("foreign");
    fs::write(&foreign, b"\x7fELF\x02\x01\x01 of another machine").expect("is ours");
    let collected =
        lab.run("check --hosts h1 --ssh-config {dir}/ssh_config --push narrows={dir}/foreign --json");
    assert!(matches!(collected.status, Some(0 | 1)), "{collected:?}");
    assert!(collected.err.contains("read by the collector"), "{collected:?}");
    let gone = lab.run("check --hosts h1,10.77.0.99 --ssh-config {dir}/ssh_config --json");
    assert_eq!((gone.status, gone.err.contains("10.77.0.99: ssh")), (Some(2), true), "{gone:?}");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
}

/// The share of the processors that was idle while `work` ran, with all that it does before and after load.
pub(crate) fn idle_while<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let read = || {
        let text = fs::read_to_string("/proc/stat").expect("is there");
        let line = text.lines().next().expect("has a line").to_owned();
        let times: Vec<f64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        (times[3] + times[4], times.iter().sum::<f64>())
    };
    let before = read();
    let result = work();
    let after = read();
    (result, (after.0 - before.0) / (after.1 - before.1))
}

/// The share of the processors that was idle in the time that counts; `None` where that is not known.
pub(crate) fn idle_in_window(lab: &Lab, host: &str, ran: &Ran) -> Option<f64> {
    let report: Value = serde_json::from_str(&ran.out).ok()?;
    let point = &report["points"][0];
    let begin = point["start_ns"].as_u64()?;
    let window = begin..=begin + point["window_ns"].as_u64()?;
    let text = fs::read_to_string(lab.path().join("run").join(host).join("samples.jsonl")).ok()?;
    let samples = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let times: Vec<[f64; 2]> = samples
        .filter(|sample| sample["at_ns"].as_u64().is_some_and(|at| window.contains(&at)))
        .map(|sample| [0, 1].map(|which| time_of_all(&sample["cpus"], which)))
        .collect();
    let (first, last) = (times.first()?, times.last()?);
    let (busy, idle) = (last[0] - first[0], last[1] - first[1]);
    (busy + idle > 0.0).then(|| idle / (busy + idle))
}

/// Busy (0) or idle (1) nanoseconds of all processors.
fn time_of_all(cpus: &Value, which: usize) -> f64 {
    cpus.as_array().into_iter().flatten().filter_map(|cpu| cpu[which].as_f64()).sum()
}

#[test]
#[ignore = "sixty hosts take minutes: make rig-fleet"]
fn sixty_hosts_begin_within_50_ms() {
    if is_unable("sixty_hosts_begin_within_50_ms") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(60));
    // fio takes the longest of some shortest sleeps at the start of a job for what a sleep costs, and spins for as long in each pause of
    // a capped load: sixty jobs that start at once on one machine find it busy. With few pauses its processors have room.
    let load = "--as rand4k --threads 1 --depth 1 --rate 2m --size 4m --duration 20s";
    let words = format!(
        "run --hosts h[1-60] --ssh-config {{dir}}/ssh_config --target {{dir}}/data {load} --json --output {{dir}}/run"
    );
    let ran = lab.run(&words);
    assert!(matches!(ran.status, Some(0 | 1)), "{}", ran.err);
    let report = ran.json();
    let point = &report["points"][0];
    let spread = point["start_spread_ns"].as_f64().expect("is known") / 1e6;
    let overlap = point["overlap"].as_f64().expect("is known");
    let idle = idle_in_window(&lab, "client-0001", &ran).expect("was sampled");
    eprintln!(
        "60 hosts: starts within {spread:.1} ms, {:.2} % in common, processors {:.0} % idle under load",
        overlap * 100.0,
        idle * 100.0
    );
    assert_eq!(states(&report).values().filter(|state| *state == "ok").count(), 60, "{}", ran.err);
    // With less idle the hosts, which share this machine's processors, wait for each other.
    assert!(idle < 0.2 || spread <= 50.0, "{spread} ms");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
}

#[test]
#[ignore = "twenty kills take minutes: make rig-fleet"]
fn twenty_killed_controllers_leave_nothing() {
    if is_unable("twenty_killed_controllers_leave_nothing") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(3));
    for number in 0..20u64 {
        let mut run = lab.fleet(&words("h[1-3]", &format!("--duration 20s --output {{dir}}/kill{number}")));
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        std::thread::sleep(Duration::from_millis(150 + number * 250));
        run.kill().expect("is there");
        let _ = run.wait();
        assert_eq!(lab.left_after_a_while(), Vec::<String>::new(), "kill {number}");
    }
    eprintln!("20 killed controllers: nothing left");
}

#[test]
#[ignore = "a thousand jobs on a host take a minute: make rig-fleet"]
fn a_host_runs_a_thousand_jobs() {
    if is_unable("a_host_runs_a_thousand_jobs") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(1));
    let ran = lab.run(
        "run --hosts h1 --ssh-config {dir}/ssh_config --target {dir}/data --as rand4k --depth 1 --threads 1,256,1024 \
         --rate 8m --size 16m --duration 5s --json --output {dir}/run",
    );
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let report = ran.json();
    let points = report["points"].as_array().expect("has points");
    let states: Vec<&str> = points.iter().filter_map(|point| point["hosts"][0]["state"].as_str()).collect();
    // On two processors a thousand threads may need more than a twentieth of the time to begin, and that is said.
    assert_eq!(states.len(), 3, "{}", ran.err);
    assert!(states.iter().all(|state| matches!(*state, "ok" | "late")), "{states:?} {}", ran.err);
    assert!(points.iter().all(|point| point["read"]["ios"].as_u64() > Some(100)), "{points:?}");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
}
