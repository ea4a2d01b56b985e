use narrows_base::units::{BitsPerSec, Bytes, GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::captured::Connection;
use proptest::prelude::*;

use super::super::Text;
use super::read;

fn machine(text: &str) -> Machine {
    named("net.txt", text)
}

fn named(name: &str, text: &str) -> Machine {
    read(&Text::new(name, text.as_bytes())).machine
}

#[test]
fn links_tell_size_state_and_what_lies_on_what() {
    let machine = machine(
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default\n    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n\
         2: ens5f1: <BROADCAST,SLAVE,UP> mtu 9000 qdisc mq master bond0 state UP mode DEFAULT\n    link/ether 52:54:00:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 0\n\
         3: bond0: <BROADCAST,MASTER,UP> mtu 9000 qdisc noqueue state UP\n    link/ether 52:54:00:00:00:01\n    bond mode 802.3ad\n\
         4: bond0.10@bond0: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP\n5: veth1@if4: <UP> mtu 1500 state UP\n    link/ether 0:0\n    veth numtxqueues 4\n",
    );
    assert!(
        machine.nics["lo"].is_virtual && machine.nics["bond0"].is_virtual && machine.nics["veth1"].is_virtual
    );
    assert!(!machine.nics["ens5f1"].is_virtual);
    assert_eq!(machine.nics["bond0"].lower, ["ens5f1"]);
    assert_eq!(machine.nics["bond0.10"].lower, ["bond0"]);
    assert_eq!(machine.nics["ens5f1"].mtu.get(), Some(Bytes::new(9000)));
    assert_eq!(machine.nics["ens5f1"].state.value().map(String::as_str), Some("up"));
    assert!(machine.nics["veth1"].lower.is_empty());
}

#[test]
fn ethtool_tells_speed_and_address() {
    let settings = "Settings for ens5f1:\n\tSupported ports: [ FIBRE ]\n\tSpeed: 25000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n\
                    Settings for eno1:\n\tSpeed: Unknown!\n\tDuplex: Unknown! (255)\n\tLink detected: no\n";
    let driver = "driver: ice\nversion: 6.1.0\nbus-info: 0000:05:00.1\n";
    let card = machine(&format!("{settings}# ethtool -i ens5f1\n{driver}"));
    assert_eq!(card.nics["ens5f1"].speed.get(), Some(BitsPerSec::from_mbit(25_000.0)));
    assert_eq!(card.nics["ens5f1"].pci.map(|pci| pci.to_string()).as_deref(), Some("0000:05:00.1"));
    assert_eq!(card.nics["ens5f1"].driver.value().map(String::as_str), Some("ice"));
    assert_eq!(card.nics["eno1"].speed.get(), None);
    assert_eq!(card.nics["eno1"].state.value().map(String::as_str), Some("down"));
    let file = named("sos_commands/networking/ethtool_-i_ens5f1", driver);
    assert!(file.nics["ens5f1"].pci.is_some());
}

#[test]
fn ethtool_tells_what_both_ends_could_do() {
    let card = machine(
        "Settings for enp3s0:\n\tSupported link modes:   10baseT/Half 10baseT/Full\n\t                        100baseT/Half 100baseT/Full\n\
         \t                        1000baseT/Full\n\tSupports auto-negotiation: Yes\n\
         \tAdvertised link modes:  10baseT/Half 10baseT/Full\n\t                        **100baseT/Full**\n\
         \tLink partner advertised link modes:  10baseT/Half 10baseT/Full\n\t                                     100baseT/Full\n\
         \tSpeed: 100Mb/s\n\tDuplex: Full\n",
    );
    let nic = &card.nics["enp3s0"];
    let told = [&nic.speed, &nic.most_speed, &nic.offered_speed, &nic.partner_speed].map(|fact| fact.get());
    assert_eq!(told, [100.0, 1000.0, 100.0, 100.0].map(|mbit| Some(BitsPerSec::from_mbit(mbit))));
    assert_eq!(nic.is_slow(), Some((BitsPerSec::from_mbit(100.0), BitsPerSec::from_mbit(1000.0))));
}

#[test]
fn infiniband_tells_rates_in_both_forms() {
    let one = machine(
        "CA 'mlx5_0'\n\tCA type: MT4123\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 200\n",
    );
    let other = machine(
        "Infiniband device 'mlx5_0' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\trate:\t\t 200 Gb/sec (4X HDR)\n",
    );
    for machine in [one, other] {
        assert_eq!(machine.nics["mlx5_0"].speed.get(), Some(BitsPerSec::from_mbit(200_000.0)));
        assert_eq!(machine.nics["mlx5_0"].state.value().map(String::as_str), Some("up"));
    }
}

#[test]
fn a_gpu_tells_its_link() {
    let machine = machine(
        "GPU 00000000:01:00.0\n    Product Name : NVIDIA GeForce RTX 4090\n    PCI\n        Bus : 0x01\n        GPU Link Info\n            \
         PCIe Generation\n                Max                       : 3\n                Current                   : 1\n                \
         Device Current            : 1\n                Device Max                : 4\n                Host Max                  : 3\n            \
         Link Width\n                Max                       : 16x\n                Current                   : 8x\n",
    );
    let link = &machine.pci.values().next().expect("one").link;
    assert_eq!(link.current_speed.get(), Some(GtPerSec::GEN1));
    assert_eq!(link.max_speed.get(), Some(GtPerSec::GEN4));
    assert_eq!((link.current_width.get(), link.max_width.get()), (Some(Lanes::new(8)), None));
}

#[test]
fn other_texts_are_none() {
    for text in
        ["", "an mtu of 1500: fine\n", "Port 1:\nRate: 5\n", "Speed: 1000Mb/s\nbus-info: 0000:01:00.0\n"]
    {
        assert!(read(&Text::new("x", text.as_bytes())).kind.is_none(), "{text}");
    }
}

/// Driver 565 on a machine of two sockets, with the legend of its network cards.
const TOPOLOGY: &str = "\
\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tSYS\tPHB\tSYS\t0-13,28-41\t0\t\tN/A
GPU1\tSYS\t X \tSYS\tPIX\t14-27,42-55\t1\t\tN/A
NIC0\tPHB\tSYS\t X \tSYS\t\t\t\t
NIC1\tSYS\tPIX\tSYS\t X \t\t\t\t

Legend:

  X    = Self
  PIX  = Connection traversing at most a single PCIe bridge

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
";

#[test]
fn a_topology_tells_nodes_of_gpus_and_of_cards_near_them() {
    for text in [TOPOLOGY.to_owned(), TOPOLOGY.replace('\t', "    ")] {
        let machine = machine(&text);
        let node = |name: &str| machine.affinities[name].node.get();
        assert_eq!(
            (node("GPU0"), node("GPU1"), node("mlx5_0"), node("mlx5_1")),
            (Some(0), Some(1), Some(0), Some(1))
        );
        assert_eq!(machine.affinities["GPU1"].cpus.value().map(Vec::len), Some(28));
        let to = |gpu: &str, name: &str| machine.affinities[gpu].connections[name].0;
        assert_eq!((to("GPU0", "mlx5_0"), to("GPU1", "mlx5_1")), (Connection::Phb, Connection::Pix));
        assert_eq!(to("GPU0", "GPU1"), Connection::Sys);
    }
    // Driver 470: RDMA devices are columns by name, and there is no legend of them.
    let old = machine("\tGPU0\tmlx5_0\tCPU Affinity\nGPU0\tX\tNODE\t0-23\nmlx5_0\tNODE\tX\n");
    assert_eq!(old.affinities.keys().collect::<Vec<_>>(), ["GPU0"], "no node is named");
}

#[test]
fn numbers_of_gpus_are_the_order_of_their_addresses() {
    let q = "GPU 00000000:B1:00.0\n    PCIe Generation\n        Current : 4\nGPU 00000000:CA:00.0\n    PCIe Generation\n        Current : 4\n";
    let node = |text: &str, at: &str| {
        let mut machine = machine(text);
        crate::capture::join::join(&mut machine);
        machine.pci[&at.parse().expect("an address")].numa_node.get()
    };
    let both = format!("{q}{TOPOLOGY}");
    assert_eq!((node(&both, "b1:00.0"), node(&both, "ca:00.0")), (Some(0), Some(1)));
    let one = q.split("GPU 00000000:CA").next().expect("has one");
    assert_eq!(node(&format!("{one}{TOPOLOGY}"), "b1:00.0"), None, "either GPU could be it");
}

proptest! {
    #[test]
    fn no_topology_panics(text in "(GPU[0-9]|NIC0|mlx5_0|\t| X |SYS|PIX|0-3|CPU Affinity|NUMA Affinity|NIC0: |\n){0,40}") {
        let _ = machine(&text);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_text_panics(link in "[0-9]{1,12}: [a-z0-9@.]{0,20}: <UP> mtu [0-9]{0,24} (master [a-z0-9]{0,20})? state [A-Z]{0,5}",
        setting in "(Speed|Duplex|driver|bus-info|Rate|state|Max|Current|Device Max) ?: [ -~]{0,20}") {
        let _ = machine(&format!("{link}\nSettings for eth0:\n{setting}\nCA 'mlx5_0'\n Port 1:\n{setting}\nGPU 0:1:0.0\nPCIe Generation\n{setting}\n"));
    }
}
