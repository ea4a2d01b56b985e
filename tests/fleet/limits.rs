//! Limits between hosts that are put there with tc, and which of them is named. The storage is an export of nbdkit in memory.

use std::path::Path;

use super::lab::{Lab, Ran, skip, unable};
use super::turn;

/// The names of clients.
const CLIENTS: [&str; 4] = ["c1", "c2", "c3", "c4"];

/// One server and four clients; with `is_split` the last two are behind a trunk.
pub(crate) fn lab(is_split: bool, serve: &[&str]) -> Lab {
    let mut lab = Lab::bare();
    lab.bridge("sw", "10.77.0.1");
    if is_split {
        lab.bridge("sx", "");
        lab.trunk("sw", "sx");
    }
    lab.host("s1", "sw", 2, &[]);
    for (number, client) in CLIENTS.iter().enumerate() {
        let bridge = if is_split && number >= 2 { "sx" } else { "sw" };
        lab.host(client, bridge, number + 10, &[]);
    }
    let words = ["nbdkit", "--foreground", "--exit-with-parent", "--ipaddr", "10.77.0.2"];
    lab.start("s1", &[&words[..], serve].concat());
    lab.await_port("s1", 10809);
    lab
}

fn run(lab: &Lab, name: &str) -> Ran {
    let ran = lab.run(
        "run --hosts c[1-4] --servers s1 --ssh-config {dir}/ssh_config --target nbd://10.77.0.2 --block-size 64k --depth 4 \
         --order random --duration 4s --rate 60m --json --output {dir}/run",
    );
    keep(lab, name);
    ran
}

/// Keeps what a run brought back, where `NARROWS_FLEET_KEEP` names a directory: so the runs of `tests/fleet-runs` are made.
pub(crate) fn keep(lab: &Lab, name: &str) {
    if let Some(place) = std::env::var_os("NARROWS_FLEET_KEEP") {
        let to = Path::new(&place).join(name);
        let copied = std::process::Command::new("cp").arg("-r").arg(lab.path().join("run")).arg(&to).status();
        assert!(copied.is_ok_and(|status| status.success()), "cannot keep {}", to.display());
    }
}

pub(crate) fn is_unable(test: &str) -> bool {
    let why = unable().or_else(|| {
        (!Path::new("/usr/bin/nbdkit").exists())
            .then(|| "nbdkit is not installed (package nbdkit)".to_owned())
    });
    if let Some(why) = &why {
        skip(test, why);
    }
    why.is_some()
}

/// What was named, the clients that it limits, and the rate in MB/s that went through it.
fn limit(ran: &Ran) -> (String, Vec<u64>, f64) {
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let report = ran.json();
    let limit = &report["points"][0]["verdict"]["limit"];
    let clients = limit["clients"].as_array().expect("a list").iter().filter_map(serde_json::Value::as_u64);
    (
        limit["kind"].as_str().expect("a kind").to_owned(),
        clients.collect(),
        limit["bytes_per_second"].as_f64().expect("a rate") / 1e6,
    )
}

/// Whether a rate is that of a shaped link, whose headers take some per cent.
pub(crate) fn is_near(rate: f64, megabits: f64) -> bool {
    (0.9..=1.02).contains(&(rate / (megabits / 8.0)))
}

#[test]
fn the_network_card_of_the_server_is_named() {
    if is_unable("the_network_card_of_the_server_is_named") {
        return;
    }
    let (_turn, lab) = (turn(), lab(false, &["memory", "64M"]));
    lab.shape("s1", "eth0", "100mbit");
    let ran = run(&lab, "server-nic");
    let (kind, clients, rate) = limit(&ran);
    assert_eq!((kind.as_str(), clients.as_slice()), ("server_nic", &[0, 1, 2, 3][..]), "{ran:?}");
    assert!(is_near(rate, 100.0), "{rate}: {ran:?}");
}

#[test]
fn what_some_clients_share_on_the_way_is_named() {
    if is_unable("what_some_clients_share_on_the_way_is_named") {
        return;
    }
    let (_turn, lab) = (turn(), lab(true, &["memory", "64M"]));
    lab.shape("sw", "trunk", "80mbit");
    let ran = run(&lab, "trunk");
    let (kind, clients, rate) = limit(&ran);
    assert_eq!((kind.as_str(), clients.as_slice()), ("fabric", &[2, 3][..]), "{ran:?}");
    assert!(is_near(rate, 80.0), "{rate}: {ran:?}");
}

#[test]
fn the_network_card_of_one_client_is_named() {
    if is_unable("the_network_card_of_one_client_is_named") {
        return;
    }
    let (_turn, lab) = (turn(), lab(false, &["memory", "64M"]));
    // What comes to the client leaves the bridge.
    lab.shape("sw", "c3", "40mbit");
    let ran = run(&lab, "client-nic");
    let (kind, clients, rate) = limit(&ran);
    assert_eq!((kind.as_str(), clients.as_slice()), ("client_nic", &[2][..]), "{ran:?}");
    assert!(is_near(rate, 40.0), "{rate}: {ran:?}");
}

#[test]
fn with_a_free_network_the_servers_memory_or_the_cap_is_named() {
    if is_unable("with_a_free_network_the_servers_memory_or_the_cap_is_named") {
        return;
    }
    let _turn = turn();
    let free = lab(false, &["memory", "64M"]);
    let ran = run(&free, "free");
    assert_eq!(limit(&ran).0, "rate_cap", "nothing limits: {ran:?}");
    drop(free);
    let slow = lab(false, &["--filter=rate", "memory", "64M", "rate=160M"]);
    let ran = run(&slow, "server-memory");
    let (kind, clients, rate) = limit(&ran);
    if kind == "generator" {
        return skip(
            "with_a_free_network_the_servers_memory_or_the_cap_is_named",
            "something else keeps the processors busy",
        );
    }
    assert_eq!((kind.as_str(), clients.as_slice()), ("cache", &[0, 1, 2, 3][..]), "{ran:?}");
    // Its bucket holds two seconds.
    assert!((18.0..=40.0).contains(&rate), "{rate}: {ran:?}");
}

#[test]
fn one_slow_client_is_named_and_limits_nobody_else() {
    if is_unable("one_slow_client_is_named_and_limits_nobody_else") {
        return;
    }
    let (_turn, mut lab) = (turn(), lab(false, &["memory", "64M"]));
    for (number, client) in ["c5", "c6"].iter().enumerate() {
        lab.host(client, "sw", number + 20, &[]);
    }
    // What the third reads comes from an export of its own that is slow.
    let words = ["nbdkit", "--foreground", "--exit-with-parent", "--ipaddr", "10.77.0.2", "--port", "10810"];
    lab.start("s1", &[&words[..], &["--filter=rate", "memory", "64M", "rate=16M"]].concat());
    lab.await_port("s1", 10810);
    std::fs::write(lab.path().join("map.toml"), "c3 = \"nbd://10.77.0.2:10810\"\n").expect("is ours");
    let ran = lab.run(
        "run --hosts c[1-6] --servers s1 --ssh-config {dir}/ssh_config --target nbd://10.77.0.2 --target @{dir}/map.toml \
         --block-size 64k --depth 4 --order random --duration 6s --rate 48m --json --output {dir}/run",
    );
    keep(&lab, "slow-client");
    let (kind, ..) = limit(&ran);
    assert!(kind != "client_nic" && kind != "fabric" && kind != "server_nic", "{ran:?}");
    let report = ran.json();
    let outliers = report["points"][0]["outliers"].as_array().expect("a list").clone();
    let names: Vec<&str> = outliers.iter().filter_map(|one| one["host"].as_str()).collect();
    assert_eq!(names, ["c3"], "{ran:?}");
    assert!(outliers[0]["difference"].as_f64().is_some_and(|difference| difference < -0.5), "{ran:?}");
}

#[test]
fn more_and_more_jobs_are_a_series() {
    if is_unable("more_and_more_jobs_are_a_series") {
        return;
    }
    let (_turn, lab) = (turn(), lab(false, &["memory", "64M"]));
    lab.shape("s1", "eth0", "80mbit");
    let ran = lab.run(
        "run --hosts c[1-4] --servers s1 --ssh-config {dir}/ssh_config --target nbd://10.77.0.2 --block-size 16k --depth 1 \
         --threads 1,2,4,8 --order random --duration 3s --rate 60m --json --output {dir}/run",
    );
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let report = ran.json();
    let series = &report["series"][0];
    assert_eq!((series["along"].as_str(), series["hosts"].as_u64()), (Some("jobs"), Some(4)), "{series}");
    assert_eq!(series["points"].as_array().map(Vec::len), Some(4), "{series}");
    // The link is full with the first.
    for point in series["points"].as_array().expect("a list") {
        let rate = point["bytes_per_second"].as_f64().expect("is known") / 1e6;
        assert!(is_near(rate, 80.0), "{rate}: {series}");
    }
}
