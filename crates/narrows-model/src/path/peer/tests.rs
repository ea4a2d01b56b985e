use super::*;
use narrows_base::units::GtPerSec;
use narrows_machine::cpu::NumaNode;
use narrows_machine::pci::{Acs, LinkEnd};

const BRIDGE: u32 = 0x06_0400;
const NVME: u32 = 0x01_0802;
const GPU: u32 = 0x03_0200;

fn at(text: &str) -> PciAddress {
    text.parse().expect("an address")
}

/// A GPU and a drive behind one switch, a drive on another root port of that host bridge, one on another host bridge of the
/// node, and one on another node.
fn machine() -> Machine {
    let mut machine = Machine::default();
    for (address, class, parent, node) in [
        ("20:01.0", BRIDGE, None, 0),
        ("21:00.0", BRIDGE, Some("20:01.0"), 0),
        ("22:00.0", BRIDGE, Some("21:00.0"), 0),
        ("22:01.0", BRIDGE, Some("21:00.0"), 0),
        ("23:00.0", GPU, Some("22:00.0"), 0),
        ("24:00.0", NVME, Some("22:01.0"), 0),
        ("20:02.0", BRIDGE, None, 0),
        ("25:00.0", NVME, Some("20:02.0"), 0),
        ("40:01.0", BRIDGE, None, 0),
        ("41:00.0", NVME, Some("40:01.0"), 0),
        ("a0:01.0", BRIDGE, None, 1),
        ("a1:00.0", NVME, Some("a0:01.0"), 1),
    ] {
        let link = LinkEnd { max_speed: Fact::known(GtPerSec::GEN4, "max_link_speed"), ..LinkEnd::default() };
        let device = PciDevice {
            address: at(address),
            class: Fact::known(class, "class"),
            parent: parent.map(at),
            numa_node: Fact::known(node, "numa_node"),
            link,
            ..PciDevice::default()
        };
        machine.pci.insert(device.address, device);
    }
    machine.cpus.nodes = [0, 1].map(|id| NumaNode { id, ..NumaNode::default() }).to_vec();
    machine
}

fn with_acs(control: [u16; 2]) -> Machine {
    let mut machine = machine();
    for (address, control) in ["22:00.0", "22:01.0"].into_iter().zip(control) {
        machine.pci.get_mut(&at(address)).expect("is there").acs =
            Fact::known(Acs::of_control(control), "lspci.txt:7");
    }
    machine
}

fn peer(machine: &Machine, other: &str) -> Peer {
    of(machine, at("23:00.0"), at(other))
}

#[test]
fn where_two_meet_follows_from_the_bridges_above_them() {
    let machine = machine();
    for (other, meets) in [
        ("24:00.0", Meeting::Switch(Some(at("21:00.0")))),
        ("25:00.0", Meeting::HostBridge),
        ("41:00.0", Meeting::Node(Some(0))),
        ("a1:00.0", Meeting::Nodes(Some((0, 1)))),
    ] {
        assert_eq!(peer(&machine, other).meets, meets, "{other}");
    }
    assert_eq!(peer(&machine, "a1:00.0").way, Way::RootComplex);
    assert_eq!(gpus(&machine), [at("23:00.0")]);
}

#[test]
fn a_port_that_redirects_forbids_the_direct_way() {
    let off = peer(&with_acs([0, 0x11]), "24:00.0");
    assert_eq!(off.way, Way::Direct, "source validation and upstream forwarding redirect nothing");
    let on = peer(&with_acs([0x1d, 0]), "24:00.0");
    assert_eq!(on.way, Way::Redirected);
    assert_eq!(on.because(), "ACS of 0000:22:00.0 sends requests between them up to the root complex");
    assert_eq!(on.evidence.len(), 2);
    let both = peer(&with_acs([0x5d, 0x5d]), "24:00.0");
    assert!(both.because().contains("0000:22:00.0 and 0000:22:01.0 send"), "{}", both.because());
    assert!(both.because().ends_with("but those that a device translated itself"), "{}", both.because());
}

#[test]
fn iommu_groups_tell_where_config_space_is_closed() {
    let grouped = |gpu: u32, drive: u32| {
        let mut machine = machine();
        for (address, group) in [("23:00.0", gpu), ("24:00.0", drive)] {
            machine.pci.get_mut(&at(address)).expect("is there").iommu_group =
                Fact::known(group, "iommu_group");
        }
        peer(&machine, "24:00.0")
    };
    assert_eq!(grouped(7, 7).way, Way::Unknown, "a root port without ACS makes one group, too");
    assert_eq!(grouped(7, 8).way, Way::Redirected);
    assert!(grouped(7, 8).because().contains("different IOMMU groups"));
    let closed = peer(&machine(), "24:00.0");
    assert_eq!(closed.way, Way::Unknown);
    assert!(closed.because().contains("ACSCtl"));
}

#[test]
fn a_port_without_the_capability_redirects_nothing() {
    let mut machine = with_acs([0, 0]);
    machine.pci.get_mut(&at("22:01.0")).expect("is there").acs =
        Fact::absent("config, Access Control Services");
    assert_eq!(peer(&machine, "24:00.0").way, Way::Direct);
}

#[test]
fn a_topology_tells_where_no_bridges_are_known() {
    use narrows_machine::captured::Affinity;
    let mut machine = machine();
    machine.captured = Some(Default::default());
    machine.pci.values_mut().for_each(|device| device.parent = None);
    assert!(matches!(peer(&machine, "24:00.0").meets, Meeting::Unknown(_)));
    for (connection, meets) in [
        (Connection::Pix, Meeting::Switch(None)),
        (Connection::Pxb, Meeting::Switch(None)),
        (Connection::Phb, Meeting::HostBridge),
        (Connection::Node, Meeting::Node(Some(0))),
        (Connection::Sys, Meeting::Nodes(None)),
    ] {
        let mut gpu = Affinity { address: Some(at("23:00.0")), ..Affinity::default() };
        gpu.connections.insert("mlx5_0".to_owned(), (connection, Source::new("topo.txt:2")));
        machine.affinities.insert("GPU0".to_owned(), gpu);
        let card = Affinity { address: Some(at("24:00.0")), ..Affinity::default() };
        machine.affinities.insert("mlx5_0".to_owned(), card);
        let peer = peer(&machine, "24:00.0");
        assert_eq!(peer.meets, meets, "{connection}");
        assert_eq!(peer.evidence[0].1, connection.to_string());
    }
}

#[test]
fn a_display_of_a_management_controller_is_no_gpu() {
    use narrows_machine::pci::PciId;
    let mut machine = machine();
    machine.pci.get_mut(&at("23:00.0")).expect("is there").id =
        Fact::known(PciId { vendor: 0x1a03, device: 0x2000 }, "vendor");
    assert!(gpus(&machine).is_empty());
}
