//! Limits between hosts that are put there with tc, and which of them is named. The storage is an export of nbdkit in memory.

use std::path::Path;

use super::lab::{Lab, Ran, skip, unable};
use super::turn;

/// The names of clients.
const CLIENTS: [&str; 4] = ["c1", "c2", "c3", "c4"];

/// One server and four clients; with `is_split` the last two are behind a trunk.
fn lab(is_split: bool, serve: &[&str]) -> Lab {
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

fn run(lab: &Lab) -> Ran {
    lab.run(
        "run --hosts c[1-4] --servers s1 --ssh-config {dir}/ssh_config --target nbd://10.77.0.2 --bs 64k --depth 4 \
         --pattern random --time 4s --rate 60m --json --out {dir}/run",
    )
}

fn is_unable(test: &str) -> bool {
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
fn is_near(rate: f64, megabits: f64) -> bool {
    (0.9..=1.02).contains(&(rate / (megabits / 8.0)))
}

#[test]
fn the_network_card_of_the_server_is_named() {
    if is_unable("the_network_card_of_the_server_is_named") {
        return;
    }
    let (_turn, lab) = (turn(), lab(false, &["memory", "64M"]));
    lab.shape("s1", "eth0", "100mbit");
    let ran = run(&lab);
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
    let ran = run(&lab);
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
    let ran = run(&lab);
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
    let ran = run(&free);
    assert_eq!(limit(&ran).0, "rate_cap", "nothing limits: {ran:?}");
    drop(free);
    let slow = lab(false, &["--filter=rate", "memory", "64M", "rate=160M"]);
    let ran = run(&slow);
    let (kind, clients, rate) = limit(&ran);
    if kind == "server_cpu" || kind == "generator" {
        return skip(
            "with_a_free_network_the_servers_memory_or_the_cap_is_named",
            "something else keeps the processors busy",
        );
    }
    assert_eq!((kind.as_str(), clients.as_slice()), ("cache", &[0, 1, 2, 3][..]), "{ran:?}");
    // Its bucket holds two seconds.
    assert!((18.0..=40.0).contains(&rate), "{rate}: {ran:?}");
}
