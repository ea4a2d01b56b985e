//! Disks at their controllers.

use super::*;

#[test]
fn a_virtual_disk_has_a_controller_that_keeps_the_hosts_secret() {
    let mut machine = Machine::default();
    machine.cpus.hypervisor = text("KVM");
    function(&mut machine, "00:04.0", None, "1af4:1042", 0x01_0000, None);
    disk(&mut machine, "vda", Transport::Virtio { pci: Some(at("00:04.0")), flavour: "virtio-blk".into() });
    let path = path(&machine, &to("vda")).expect("is there");
    assert_eq!(
        ids(&path),
        ["application:program", "block_queue:vda", "device:vda", "controller:0000:00:04.0", "memory:ram"]
    );
    let HopSpec::Controller(controller) = &hop(&path, "controller:0000:00:04.0").spec else { panic!("none") };
    assert!(controller.is_virtual);
    let HopSpec::Device(device) = &hop(&path, "device:vda").spec else { panic!("none") };
    assert_eq!(device.synthetic.as_deref(), Some("virtio"));
}

#[test]
fn a_controller_spreads_what_is_asked_of_it_over_its_disks() {
    let mut machine = x99();
    disk(
        &mut machine,
        "sdb",
        Transport::Sata(Sata { port: "ata2".into(), pci: Some(at("00:1f.2")), ..Sata::default() }),
    );
    let path = path(&machine, &Target::Pci(at("00:1f.2"))).expect("is there");
    assert_eq!(hop(&path, "device:sda").traffic, Traffic::both(0.5));
    assert_eq!(hop(&path, "hba:0000:00:1f.2").traffic, Traffic::ONE);
}

fn sas(machine: &mut Machine, name: &str, sas: Sas) {
    disk(machine, name, Transport::Sas(Sas { pci: Some(at("03:00.0")), ..sas }));
    machine.block.get_mut(name).expect("just added").queue.rotational = known(true);
}

#[test]
fn disks_behind_an_expander_share_its_port() {
    let mut machine = Machine::default();
    function(&mut machine, "00:02.0", None, "8086:2f04", BRIDGE, Some([3, 8, 3, 8]));
    function(&mut machine, "03:00.0", Some("00:02.0"), "1000:0097", 0x01_0700, Some([3, 8, 3, 8]));
    let gbit = |rate: f64| BitsPerSec::from_mbit(rate * 1000.0);
    for name in ["sda", "sdb"] {
        let behind = Sas {
            phy_speeds: vec![gbit(6.0)],
            uplink_phy_speeds: vec![gbit(12.0); 4],
            expander: Some("expander-0:0".to_owned()),
            ..Sas::default()
        };
        sas(&mut machine, name, behind);
    }
    let paths = all(&machine);
    let [a, b] = paths.as_slice() else { panic!("{} paths", paths.len()) };
    assert_eq!(ids(a)[2..5], ["device:sda", "sas:sda", "sas:expander-0:0"]);
    let port = hop(b, "sas:expander-0:0");
    assert_eq!(port.name, "SAS port to expander-0:0, 4 lanes at 12 Gbit/s");
    assert_eq!(port.shared_with, ["/dev/sda"]);
    let HopSpec::Sas(wide) = &port.spec else { panic!("no SAS port") };
    assert_eq!(wide.phy_speeds, [gbit(12.0); 4]);
    assert_eq!(port.traffic, Traffic::ONE);
}

#[test]
fn only_a_disk_that_nothing_stands_before_is_surely_one_hard_disk() {
    let mut machine = Machine::default();
    function(&mut machine, "03:00.0", None, "1000:0097", 0x01_0700, None);
    sas(&mut machine, "sda", Sas::default());
    sas(&mut machine, "sdb", Sas { hidden: true, ..Sas::default() });
    disk(&mut machine, "sdc", Transport::Usb(Usb::default()));
    machine.block.get_mut("sdc").expect("just added").queue.rotational = known(true);
    disk(&mut machine, "sdd", Transport::Sata(Sata::default()));
    machine.block.get_mut("sdd").expect("just added").queue.rotational = known(false);
    let is_hard_disk = |machine: &Machine, block: &str| {
        let path = path(machine, &to(block)).expect("is there");
        match &hop(&path, &format!("device:{block}")).spec {
            HopSpec::Device(device) => device.is_hard_disk,
            _ => panic!("no device"),
        }
    };
    let disks = ["sda", "sdb", "sdc", "sdd"];
    assert_eq!(disks.map(|disk| is_hard_disk(&machine, disk)), [true, false, false, false]);
    machine.cpus.hypervisor = text("KVM");
    assert!(!is_hard_disk(&machine, "sda"));
    // The number of a hard disk says it, except of a drive that says that it does not turn.
    for (block, model) in
        [("sdb", "ST16000NM001G-2KK103"), ("sdc", "WDC WD40EZRZ"), ("sdd", "HUH721212ALE604")]
    {
        machine.block.get_mut(block).expect("was added").model = text(model);
    }
    assert_eq!(disks.map(|disk| is_hard_disk(&machine, disk)), [false, true, true, false]);
}
