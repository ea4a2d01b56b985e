//! Limits of every kind on layouts that a seed chooses: how many hosts, which of them, and what is let through. `make rig-fleet` runs
//! three of each kind and prints a row for each; `NARROWS_FLEET_SEED` begins elsewhere.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::lab::{Lab, Ran};
use super::limits::{is_unable, keep};
use super::turn;

/// Layouts of each kind.
const EACH: u64 = 3;
/// A rate is right within this share; headers of packets are not counted by clients.
const WITHIN: f64 = 0.1;

/// What a layout must be answered with.
pub(crate) struct Wanted {
    kind: &'static str,
    clients: Vec<u64>,
    /// In MB/s, where something was put there that has a rate.
    rate: Option<f64>,
    /// The host that differs from the others.
    outlier: Option<String>,
}

/// Numbers that follow from a seed (splitmix64, G. Steele et al., "Fast splittable pseudorandom number generators", 2014).
pub(crate) struct Dice {
    state: u64,
    /// All rates are divided by it, on a machine that is too slow for them.
    slower: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64, slower: u64) -> Self {
        Self { state: seed, slower }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `low` to `high`, both included.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// A rate from `low` to `high` Mbit/s, in kbit/s.
    fn kilobits(&mut self, low: u64, high: u64) -> u64 {
        self.between(low, high) * 1000 / self.slower
    }

    /// The load of each client, with a cap in MB/s for all.
    fn reads(&self, cap: u64) -> String {
        format!("{READS} --duration 5s --rate {}", cap * 1_000_000 / self.slower)
    }

    /// The time that a shaped link may keep data: what all clients have in flight finds room in it.
    fn queue(&self) -> String {
        format!("{}ms", 500 * self.slower)
    }
}

/// In MB/s.
fn megabytes(kilobits: u64) -> f64 {
    kilobits as f64 / 8000.0
}

/// One server and so many clients, the last `behind` of them behind a trunk.
pub(crate) struct Layout {
    pub(crate) lab: Lab,
    clients: u64,
    /// Removed after the lab, whose processes are in it.
    _throttle: Option<Throttle>,
}

const SERVE: [&str; 5] = ["nbdkit", "--foreground", "--exit-with-parent", "--ipaddr", "10.77.0.2"];

impl Layout {
    pub(crate) fn new(clients: u64, behind: u64, serve: &[&str]) -> Self {
        let mut layout = Self::without_server(clients, behind);
        layout.lab.start("s1", &[&SERVE[..], serve].concat());
        layout.lab.await_port("s1", 10809);
        layout
    }

    fn without_server(clients: u64, behind: u64) -> Self {
        let mut lab = Lab::bare();
        lab.bridge("sw", "10.77.0.1");
        if behind > 0 {
            lab.bridge("sx", "");
            lab.trunk("sw", "sx");
        }
        lab.host("s1", "sw", 2, &[]);
        for number in 1..=clients {
            let bridge = if number > clients - behind { "sx" } else { "sw" };
            lab.host(&format!("c{number}"), bridge, number as usize + 9, &[]);
        }
        Self { lab, clients, _throttle: None }
    }

    pub(crate) fn run(&self, name: &str, load: &str) -> Ran {
        let clients = self.clients;
        let ran = self.lab.run(&format!(
            "run --hosts c[1-{clients}] --servers s1 --ssh-config {{dir}}/ssh_config {load} --json --output {{dir}}/run"
        ));
        keep(&self.lab, name);
        ran
    }

    fn all(&self) -> Vec<u64> {
        (0..self.clients).collect()
    }
}

/// Reads of a device that are let through by a group of processes (blk-throttle).
struct Throttle {
    group: PathBuf,
}

impl Throttle {
    /// `None` where this kernel throttles nothing.
    fn new(file: &Path, bytes_per_second: u64) -> Option<Self> {
        let device = fs::metadata(file).ok()?.dev();
        let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        let own = PathBuf::from("/sys/dev/block").join(&number);
        // Of a partition the whole disk is throttled.
        let of = if own.join("partition").exists() { own.join("../dev") } else { own.join("dev") };
        let number = fs::read_to_string(of).ok()?.trim().to_owned();
        let (first, second) = (Path::new("/sys/fs/cgroup/blkio"), Path::new("/sys/fs/cgroup"));
        let name = format!("narrows-test-{}", std::process::id());
        let (group, limit, words) = if first.join("blkio.throttle.read_bps_device").exists() {
            (first.join(name), "blkio.throttle.read_bps_device", format!("{number} {bytes_per_second}"))
        } else {
            fs::write(second.join("cgroup.subtree_control"), "+io").ok()?;
            (second.join(name), "io.max", format!("{number} rbps={bytes_per_second}"))
        };
        fs::create_dir(&group).ok()?;
        let throttle = Self { group };
        fs::write(throttle.group.join(limit), words).ok()?;
        Some(throttle)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

/// The load of each client.
pub(crate) const READS: &str = "--target nbd://10.77.0.2 --block-size 64k --depth 4 --order random";
/// What all clients together may read, in MB/s, where something slower was put.
pub(crate) const CAP: u64 = 60;

pub(crate) fn server_nic(dice: &mut Dice) -> (Layout, Ran, Wanted) {
    let layout = Layout::new(dice.between(3, 6), 0, &["memory", "64M"]);
    let kilobits = dice.kilobits(60, 120);
    layout.lab.shape_with("s1", "eth0", &format!("{kilobits}kbit"), &dice.queue());
    let ran = layout.run("server-nic", &dice.reads(CAP));
    let wanted =
        Wanted { kind: "server_nic", clients: layout.all(), rate: Some(megabytes(kilobits)), outlier: None };
    (layout, ran, wanted)
}

pub(crate) fn trunk(dice: &mut Dice) -> (Layout, Ran, Wanted) {
    let clients = dice.between(4, 6);
    let behind = dice.between(2, clients - 2);
    let layout = Layout::new(clients, behind, &["memory", "64M"]);
    let kilobits = dice.kilobits(40, 80);
    layout.lab.shape_with("sw", "trunk", &format!("{kilobits}kbit"), &dice.queue());
    let ran = layout.run("trunk", &dice.reads(CAP));
    let behind = (clients - behind..clients).collect();
    let wanted = Wanted { kind: "fabric", clients: behind, rate: Some(megabytes(kilobits)), outlier: None };
    (layout, ran, wanted)
}

pub(crate) fn client_nic(dice: &mut Dice) -> (Layout, Ran, Wanted) {
    let layout = Layout::new(dice.between(3, 6), 0, &["memory", "64M"]);
    let (client, kilobits) = (dice.between(1, layout.clients), dice.kilobits(24, 56));
    // What comes to the client leaves the bridge.
    layout.lab.shape_with("sw", &format!("c{client}"), &format!("{kilobits}kbit"), &dice.queue());
    let ran = layout.run("client-nic", &dice.reads(CAP));
    let wanted = Wanted {
        kind: "client_nic",
        clients: vec![client - 1],
        rate: Some(megabytes(kilobits)),
        outlier: None,
    };
    (layout, ran, wanted)
}

fn cache(dice: &mut Dice) -> (Layout, Ran, Wanted) {
    let megabits = dice.between(100, 200);
    let rate = format!("rate={megabits}M");
    let layout =
        Layout::new(dice.between(3, 6), 0, &["--filter=rate", "memory", "64M", &rate, "burstiness=0.2"]);
    let ran = layout.run("cache", &dice.reads(CAP));
    // The filter counts in powers of two.
    let rate = megabits as f64 * 1.048_576 / 8.0;
    let wanted = Wanted { kind: "cache", clients: layout.all(), rate: Some(rate), outlier: None };
    (layout, ran, wanted)
}

/// The server's drive, whose reads are throttled. `None` where they cannot be.
fn drive(dice: &mut Dice) -> Option<(Layout, Ran, Wanted)> {
    const SIZE: u64 = 1 << 30;
    let megabytes = dice.between(8, 20);
    let dir = tempfile::tempdir_in("/var/tmp").ok()?;
    let file = dir.path().join("drive");
    let zeros = vec![0x5a; 1 << 20];
    let mut out = fs::File::create(&file).ok()?;
    for _ in 0..SIZE >> 20 {
        std::io::Write::write_all(&mut out, &zeros).ok()?;
    }
    out.sync_all().ok()?;
    rustix::fs::fadvise(&out, 0, None, rustix::fs::Advice::DontNeed).ok()?;
    let throttle = Throttle::new(&file, megabytes * 1_000_000)?;
    let mut layout = Layout::without_server(dice.between(3, 6), 0);
    let path = file.display().to_string();
    let words = [&SERVE[..], &["file", &path, "cache=none", "fadvise=random"]].concat();
    // From here: a namespace of `ip netns` does not see the groups.
    let server = layout.lab.start("s1", &words);
    fs::write(throttle.group.join("cgroup.procs"), server.to_string()).ok()?;
    layout.lab.await_port("s1", 10809);
    layout._throttle = Some(throttle);
    let ran = layout.run("drive", &dice.reads(CAP));
    let wanted = Wanted { kind: "drive", clients: layout.all(), rate: Some(megabytes as f64), outlier: None };
    Some((layout, ran, wanted))
}

/// What the server sends has to be unpacked: its processors are full of that.
fn server_cpu(dice: &mut Dice) -> Option<(Layout, Ran, Wanted)> {
    let dir = tempfile::tempdir_in("/dev/shm").ok()?;
    let plain = dir.path().join("plain");
    // What can be packed a little: letters that dice choose.
    let letters: Vec<u8> = (0..64 << 20).map(|_| b'a' + (dice.next() % 16) as u8).collect();
    fs::write(&plain, letters).ok()?;
    let packed =
        std::process::Command::new("xz").args(["-0", "--block-size=256KiB", "-T2"]).arg(&plain).status();
    assert!(packed.is_ok_and(|status| status.success()), "xz packs {}", plain.display());
    let file = plain.with_extension("xz").display().to_string();
    let layout = Layout::new(dice.between(4, 6), 0, &["--filter=xz", "file", &file, "xz-max-depth=1"]);
    let ran = layout.run("server-cpu", &dice.reads(CAP));
    let wanted = Wanted { kind: "server_cpu", clients: layout.all(), rate: None, outlier: None };
    Some((layout, ran, wanted))
}

/// Files in the hosts' own memory, read in pieces that only fio's processors limit.
fn generator(dice: &mut Dice) -> (Layout, Ran, Wanted) {
    // One host: those of the other namespaces have the same processors.
    let layout = Layout::without_server(1, 0);
    let file = layout.lab.data().join("file");
    fs::write(&file, vec![7; (dice.between(8, 32) << 20) as usize]).expect("is ours");
    let load = "--target {dir}/data/file --block-size 4k --depth 1 --order random --duration 4s";
    let ran = layout.run("generator", load);
    let wanted = Wanted { kind: "generator", clients: layout.all(), rate: None, outlier: None };
    (layout, ran, wanted)
}

/// One client reads an export that is slow: the others are not limited by it.
fn slow_client(dice: &mut Dice) -> (Layout, Ran, Wanted) {
    let mut layout = Layout::new(dice.between(5, 7), 0, &["memory", "64M"]);
    let (client, megabits) = (dice.between(1, layout.clients), dice.between(8, 16));
    let rate = format!("rate={megabits}M");
    let words = [&SERVE[..], &["--port", "10810", "--filter=rate", "memory", "64M", &rate]].concat();
    layout.lab.start("s1", &words);
    layout.lab.await_port("s1", 10810);
    let map = format!("c{client} = \"nbd://10.77.0.2:10810\"\n");
    fs::write(layout.lab.path().join("map.toml"), map).expect("is ours");
    let load = format!("{} --target @{{dir}}/map.toml", dice.reads(40));
    let ran = layout.run("slow-client", &load);
    let others = (0..layout.clients).filter(|one| *one != client - 1).collect();
    let wanted = Wanted {
        kind: "rate_cap",
        clients: others,
        rate: Some(40.0 * (layout.clients - 1) as f64 / layout.clients as f64),
        outlier: Some(format!("c{client}")),
    };
    (layout, ran, wanted)
}

/// Nothing is in the way of what is asked for.
pub(crate) fn healthy(dice: &mut Dice) -> (Layout, Ran, Wanted) {
    let clients = dice.between(3, 7);
    let behind = if dice.next().is_multiple_of(2) { 0 } else { dice.between(1, clients - 1) };
    let layout = Layout::new(clients, behind, &["memory", "64M"]);
    let cap = dice.between(8, 24);
    let ran = layout.run("healthy", &dice.reads(cap));
    let rate = cap as f64 / dice.slower as f64;
    let wanted = Wanted { kind: "rate_cap", clients: layout.all(), rate: Some(rate), outlier: None };
    (layout, ran, wanted)
}

/// What is wrong with an answer; nothing where it is right. Prints its row.
pub(crate) fn judged(name: &str, ran: &Ran, wanted: &Wanted) -> Option<String> {
    assert!(matches!(ran.status, Some(0 | 1)), "{name}: {ran:?}");
    let report = ran.json();
    let point = &report["points"][0];
    let limit = &point["verdict"]["limit"];
    let kind = limit["kind"].as_str().expect("a kind");
    let list = limit["clients"].as_array().expect("a list");
    let clients: Vec<u64> = list.iter().filter_map(serde_json::Value::as_u64).collect();
    let rate = limit["bytes_per_second"].as_f64().expect("a rate") / 1e6;
    let outliers = point["outliers"].as_array().expect("a list");
    let outliers: Vec<&str> = outliers.iter().filter_map(|one| one["host"].as_str()).collect();
    let is_rate = wanted.rate.is_none_or(|wanted| (rate / wanted - 1.0).abs() <= WITHIN);
    let is_limited = |host: &str| wanted.clients.iter().any(|client| host == format!("c{}", client + 1));
    let hosts = point["hosts"].as_array().expect("a list").len();
    let are_outliers = match &wanted.outlier {
        Some(wanted) => outliers == [wanted.as_str()],
        // Those behind a limit of their own differ from the others.
        None => outliers.iter().all(|host| wanted.clients.len() < hosts && is_limited(host)),
    };
    let is_right = kind == wanted.kind && clients == wanted.clients && is_rate && are_outliers;
    let injected = wanted.rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}"));
    let answer = if is_right { "right" } else { "WRONG" };
    eprintln!(
        "{name:12} {:11} {injected:>8} {kind:11} {rate:>8.1} {:14} {answer}",
        wanted.kind,
        outliers.join(",")
    );
    let sentence = point["verdict"]["sentence"].as_str().unwrap_or_default();
    (!is_right).then(|| format!("{name}: {sentence}\n{limit:#}\n{outliers:?}"))
}

pub(crate) fn first_seed() -> u64 {
    std::env::var("NARROWS_FLEET_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

pub(crate) fn print_heading() {
    eprintln!(
        "{:12} {:11} {:>8} {:11} {:>8} {:14} answer",
        "layout", "limit", "injected", "named", "carried", "outliers"
    );
}

#[test]
#[ignore = "24 limits and 5 healthy layouts take minutes: make rig-fleet"]
fn limits_of_eight_kinds_are_named() {
    if is_unable("limits_of_eight_kinds_are_named") {
        return;
    }
    let _turn = turn();
    let first = first_seed();
    eprintln!("seeds {first} to {}; MB/s", first + EACH - 1);
    print_heading();
    type Kind = (&'static str, fn(&mut Dice) -> Option<(Layout, Ran, Wanted)>);
    let kinds: [Kind; 8] = [
        ("server-nic", |dice| Some(server_nic(dice))),
        ("trunk", |dice| Some(trunk(dice))),
        ("client-nic", |dice| Some(client_nic(dice))),
        ("cache", |dice| Some(cache(dice))),
        ("drive", drive),
        ("server-cpu", server_cpu),
        ("generator", |dice| Some(generator(dice))),
        ("slow-client", |dice| Some(slow_client(dice))),
    ];
    let (mut runs, mut wrong) = (0_usize, Vec::new());
    for (name, make) in kinds {
        for seed in first..first + EACH {
            let Some((layout, ran, wanted)) = make(&mut Dice::new(seed, 1)) else {
                eprintln!("{name:12} not run: this machine cannot make it");
                continue;
            };
            runs += 1;
            wrong.extend(judged(name, &ran, &wanted));
            drop(layout);
        }
    }
    let mut alarms = Vec::new();
    for seed in first..first + 5 {
        let (layout, ran, wanted) = healthy(&mut Dice::new(seed ^ 0xffff, 1));
        alarms.extend(judged("healthy", &ran, &wanted));
        drop(layout);
    }
    eprintln!("{} of {runs} limits named; {} of 5 healthy layouts alarmed", runs - wrong.len(), alarms.len());
    assert!(wrong.len() * 20 <= runs, "{}", wrong.join("\n"));
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}
