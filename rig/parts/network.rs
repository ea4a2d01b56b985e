//! Tests of `runner/network.rs` and `runner/company.rs`.

use crate::runner::ability::needed;
use crate::runner::files::{Mode, of_guest};
use crate::runner::network::commands;
use crate::runner::qemu::arguments;
use crate::runner::scenario::Scenario;
use crate::runner::shape::Shape;

const TWO: &str = r#"
    description = "d"
    injected = "i"
    [[network]]
    name = "front"
    [[network]]
    name = "far"
    behind = "front"
    bits_per_second = 8_000_000
    [machine]
    [[machine.nic]]
    network = "front"
    address = "10.9.0.1/24"
    [[host]]
    name = "s1"
    setup = "true"
    [host.machine]
    cpus = 1
    clock_seconds = 3600
    [[host.machine.nic]]
    network = "far"
    address = "10.9.0.2/24"
    bits_per_second = 40_000_000
    [[host.machine.nic]]
    network = "front"
    address = "10.9.1.2/24"
    [[host.machine.drive]]
    name = "slow"
    mib = 1
    bytes_per_second = 5
    [[check]]
    run = "narrows"
    [[check.expect]]
    exit = [0]
"#;

fn two() -> Scenario {
    Scenario::parse("pair", TWO).expect("is valid")
}

#[test]
fn bridges_trunks_and_cards_are_made_and_shaped() {
    let wanted = "ip link add br-front type bridge
ip link set br-front up
ip link add br-far type bridge
ip link set br-far up
ip link add up-far type veth peer name dn-far
ip link set up-far master br-far up
tc qdisc add dev up-far root tbf rate 8000000bit burst 100000 latency 500ms
ip link set dn-far master br-front up
tc qdisc add dev dn-far root tbf rate 8000000bit burst 100000 latency 500ms
ip tuntap add g0c0 mode tap
ip link set g0c0 master br-front up
ip tuntap add g1c0 mode tap
ip link set g1c0 master br-far up
tc qdisc add dev g1c0 root tbf rate 40000000bit burst 500000 latency 500ms
ip tuntap add g1c1 mode tap
ip link set g1c1 master br-front up";
    assert_eq!(commands(&two()), wanted);
}

#[test]
fn each_card_has_its_end_of_a_bridge_and_an_address_of_its_own() {
    let scenario = two();
    let other = arguments(&scenario.hosts[0].machine, 1).join(" ");
    let wanted = "-netdev tap,id=net1,ifname=g1c1,script=no,downscript=no \
                  -device virtio-net-pci,netdev=net1,mac=52:54:00:00:01:01,romfile=";
    assert!(other.contains(wanted), "{other}");
    assert!(arguments(&scenario.machine, 0).join(" ").contains("ifname=g0c0"));
}

#[test]
fn a_host_gets_its_own_setup_no_check_and_the_names_of_all() {
    let hosts = two().of_hosts();
    let files = of_guest(&[&hosts[0]], Mode::Check);
    let text = |name: &str| {
        let path = format!("rig/scenarios/pair.s1/{name}");
        files.iter().find(|(file, _)| *file == path).map(|(_, text)| text.as_str())
    };
    assert_eq!(text("setup"), Some("true"));
    assert_eq!(text("hostname"), Some("s1"));
    assert_eq!(text("hosts"), Some("127.0.0.1 localhost\n10.9.0.2 s1\n10.9.1.2 s1-front\n"));
    assert_eq!(text("drives"), Some("slow\n"));
    assert_eq!(text("modules"), Some("virtio_net\nsch_tbf\n"));
    let shaping = "root tbf rate 40000000bit burst 500000 latency 500ms";
    let nics = format!("52:54:00:00:01:00 10.9.0.2/24 {shaping}\n52:54:00:00:01:01 10.9.1.2/24 \n");
    assert_eq!(text("nics"), Some(nics.as_str()));
    assert!(files.iter().all(|(file, _)| !file.contains("checks")));
}

#[test]
fn a_drive_of_a_host_is_tried_without_its_limit_where_rates_are_compared() {
    let needs = |text: &str| {
        let hosts = Scenario::parse("pair", text).expect("is valid").of_hosts();
        needed(&hosts[0]).map(|(drive, rate)| (drive.name.clone(), rate))
    };
    assert_eq!(needs(TWO), None);
    assert_eq!(needs(&format!("{TWO}\n    limiting = 'drive'")), Some(("slow".to_owned(), 6.25)));
}

#[test]
fn connected_guests_are_never_used_again() {
    let other = Scenario::parse("other", TWO).expect("is valid");
    assert_ne!(Shape::of(&two()), Shape::of(&other));
}

#[test]
fn what_leads_nowhere_is_an_error() {
    for (from, to, named) in [
        ("network = \"far\"", "network = \"away\"", "`away`"),
        ("behind = \"front\"", "behind = \"away\"", "`away`"),
        ("name = \"front\"", "name = \"far\"", "two networks"),
        ("name = \"front\"", "name = \"front end\"", "`front end`"),
        ("name = \"s1\"", "name = \"S 1\"", "`S 1`"),
        ("behind = \"front\"", "", "no trunk"),
        ("name = \"slow\"", "name = \"slow-1\"", "host `s1`"),
    ] {
        let text = TWO.replacen(from, to, 1);
        let error = Scenario::parse("pair", &text).expect_err(to);
        assert!(error.contains(named), "{to}: {error}");
    }
    let start = TWO.find("    [[host.machine.nic]]").expect("is there");
    let end = TWO.find("    [[host.machine.drive]]").expect("is there");
    let alone = TWO[..start].to_owned() + &TWO[end..];
    assert!(Scenario::parse("pair", &alone).expect_err("is alone").contains("no network"));
}
