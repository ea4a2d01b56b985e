//! Servers and the cards that lead to them.

use super::*;

fn nic(machine: &mut Machine, name: &str, speed: Option<f64>, pci: Option<&str>, lower: &[&str]) {
    let nic = Nic {
        name: name.to_owned(),
        speed: speed.map_or_else(Fact::default, |speed| known(BitsPerSec::from_mbit(speed))),
        mtu: known(Bytes::new(1500)),
        pci: pci.map(at),
        lower: lower.iter().map(|lower| (*lower).to_owned()).collect(),
        is_virtual: pci.is_none(),
        ..Nic::default()
    };
    machine.nics.insert(name.to_owned(), nic);
}

/// A connection over a VLAN on a bond of two ports of one card.
fn remote_machine(bond_speed: Option<f64>) -> Machine {
    let mut machine = Machine::default();
    function(&mut machine, "00:02.0", None, "8086:2f04", BRIDGE, Some([3, 8, 3, 8]));
    for (port, name) in [("05:00.0", "eth0"), ("05:00.1", "eth1")] {
        function(&mut machine, port, Some("00:02.0"), "8086:1572", 0x02_0000, Some([3, 8, 3, 8]));
        nic(&mut machine, name, Some(10_000.0), Some(port), &[]);
    }
    nic(&mut machine, "bond0", bond_speed, None, &["eth0", "eth1"]);
    nic(&mut machine, "bond0.7", None, None, &["bond0"]);
    let remote = Remote { address: text("10.0.0.2"), port: known(4420), interface: text("bond0.7") };
    let fabric =
        NvmeFabric { controller: "nvme9".into(), transport: "tcp".into(), remote, ..NvmeFabric::default() };
    disk(&mut machine, "nvme9n1", Transport::NvmeFabric(fabric));
    machine
}

#[test]
fn a_remote_disk_leads_through_the_server_to_the_card_and_its_one_link() {
    let machine = remote_machine(Some(20_000.0));
    let path = path(&machine, &to("nvme9n1")).expect("is there");
    assert_eq!(
        ids(&path)[1..],
        [
            "block_queue:nvme9n1",
            "controller:nvme9",
            "remote:10.0.0.2:4420",
            "network:bond0",
            "network:eth0",
            "network:eth1",
            "link:0000:05:00.0",
            "memory:ram",
        ]
    );
    let HopSpec::Network(bond) = &hop(&path, "network:bond0").spec else { panic!("none") };
    assert_eq!((bond.members, bond.protocol.as_deref()), (2, Some("nvme-tcp")));
    assert_eq!(hop(&path, "network:eth0").traffic, Traffic::both(0.5));
    assert_eq!(hop(&path, "link:0000:05:00.0").traffic, Traffic::ONE);
}

#[test]
fn a_bond_of_which_one_port_is_active_may_send_everything_through_either() {
    let machine = remote_machine(Some(10_000.0));
    let path = path(&machine, &to("nvme9n1")).expect("is there");
    assert_eq!(hop(&path, "network:eth1").traffic, Traffic::ONE);
    assert_eq!(hop(&path, "link:0000:05:00.0").traffic, Traffic::ONE);
    let silent = remote_machine(None);
    let path = crate::path::build::path(&silent, &to("nvme9n1")).expect("is there");
    let HopSpec::Network(bond) = &hop(&path, "network:bond0").spec else { panic!("none") };
    assert_eq!(bond.speed.get(), Some(BitsPerSec::from_mbit(20_000.0)));
}

#[test]
fn an_interface_without_hardware_has_no_link() {
    let mut machine = Machine::default();
    nic(&mut machine, "lo", None, None, &[]);
    let path = path(&machine, &Target::Nic("lo".into())).expect("is there");
    assert_eq!(ids(&path), ["application:program", "network:lo", "memory:ram"]);
}
