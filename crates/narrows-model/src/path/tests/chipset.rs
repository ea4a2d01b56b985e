//! What hangs on a chipset.

use super::*;

fn chipsets() -> Catalog {
    let chipset = |name: &str, uplink: &str, id: &str| Chipset {
        name: name.to_owned(),
        uplink: uplink.to_owned(),
        ids: vec![id.to_owned()],
        ..Chipset::default()
    };
    let chipsets =
        vec![chipset("Intel X99", "DMI 2.0", "8086:8d47"), chipset("AMD X570", "PCIe 4.0 x4", "1022:57ad")];
    Catalog { chipsets: chipsets.into(), ..Catalog::default() }
}

#[test]
fn functions_of_an_intel_chipset_share_its_invisible_uplink() {
    let machine = x99();
    let catalog = chipsets();
    let published = Published(&catalog);
    let of = |block| one(&machine, published, &to(block), None).expect("is there");
    let behind = of("nvme1n1");
    let chipset = "chipset:0000:00:1f.0";
    assert_eq!(ids(&behind)[4..], ["link:0000:06:00.0", chipset, "memory:ram"]);
    let HopSpec::Chipset(uplink) = &hop(&behind, chipset).spec else { panic!("no chipset") };
    assert_eq!(uplink.name, "Intel X99 chipset, DMI 2.0");
    assert_eq!(uplink.behind, [at("00:1f.2"), at("06:00.0")]);
    let sata = of("sda");
    assert_eq!(ids(&sata)[2..], ["device:sda", "sata:ata1", "hba:0000:00:1f.2", chipset, "memory:ram"]);
    assert_eq!(ids(&of("nvme0n1"))[4..], ["link:0000:03:00.0", "memory:ram"]);
    // A platform that is not known has no such hop.
    let unknown = one(&machine, Published(&Catalog::default()), &to("nvme1n1"), None).expect("is there");
    assert_eq!(unknown.of_kind(HopKind::Chipset).count(), 0);
}

#[test]
fn a_port_that_vmd_takes_from_the_chipset_stays_behind_it() {
    let mut machine = x99();
    function(&mut machine, "00:0e.0", None, "8086:467f", 0x01_0400, None);
    for (port, drive, number) in
        [("10000:e0:1d.0", "10000:e1:00.0", 2), ("10000:e0:06.0", "10000:e2:00.0", 3)]
    {
        function(&mut machine, port, None, "8086:7ab0", BRIDGE, Some([4, 4, 4, 4]));
        function(&mut machine, drive, Some(port), "144d:a80a", NVME, Some([4, 4, 4, 4]));
        machine.pci.get_mut(&at(port)).expect("just added").domain_owner = Some(at("00:0e.0"));
        nvme(&mut machine, number, drive);
    }
    let catalog = chipsets();
    let published = Published(&catalog);
    let count = |block| {
        let path = one(&machine, published, &to(block), None).expect("is there");
        path.of_kind(HopKind::Chipset).count()
    };
    assert_eq!((count("nvme2n1"), count("nvme3n1")), (1, 0));
}

#[test]
fn an_amd_chipset_is_met_as_a_switch_and_shown_as_the_chipset() {
    let mut machine = Machine::default();
    function(&mut machine, "00:01.2", None, "1022:1483", BRIDGE, Some([4, 4, 4, 8]));
    function(&mut machine, "01:00.0", Some("00:01.2"), "1022:57ad", BRIDGE, Some([4, 4, 4, 8]));
    function(&mut machine, "02:08.0", Some("01:00.0"), "1022:57a4", BRIDGE, Some([4, 16, 4, 16]));
    function(&mut machine, "03:00.0", Some("02:08.0"), "1022:7901", 0x01_0601, Some([4, 16, 4, 16]));
    disk(
        &mut machine,
        "sda",
        Transport::Sata(Sata { port: "ata1".into(), pci: Some(at("03:00.0")), ..Sata::default() }),
    );
    let catalog = chipsets();
    let published = Published(&catalog);
    let path = one(&machine, published, &to("sda"), None).expect("is there");
    assert_eq!(
        ids(&path)[4..],
        ["hba:0000:03:00.0", "link:0000:03:00.0", "chipset:0000:01:00.0", "link:0000:01:00.0", "memory:ram"]
    );
    assert_eq!(link(&path, "link:0000:01:00.0").not_a_wire, None);
}

#[test]
fn a_chipset_that_a_hypervisor_imitates_has_no_uplink() {
    let mut machine = x99();
    machine.cpus.hypervisor = text("KVM");
    let catalog = chipsets();
    for block in ["nvme1n1", "sda"] {
        let path = one(&machine, Published(&catalog), &to(block), None).expect("is there");
        assert_eq!(path.of_kind(HopKind::Chipset).count(), 0, "{block}");
    }
}

#[test]
fn network_functions_inside_a_chipset_are_no_wire_and_its_own_uplink_is() {
    let mut machine = Machine::default();
    let least = Some([1, 1, 1, 1]);
    function(&mut machine, "3a:00.0", None, "8086:2030", BRIDGE, Some([3, 8, 3, 16]));
    function(&mut machine, "3b:00.0", Some("3a:00.0"), "8086:37c0", BRIDGE, Some([3, 8, 3, 16]));
    function(&mut machine, "3c:03.0", Some("3b:00.0"), "8086:37c5", BRIDGE, least);
    function(&mut machine, "3d:00.0", Some("3c:03.0"), "8086:37d2", 0x02_0000, least);
    let path = path(&machine, &Target::Pci(at("3d:00.0"))).expect("is there");
    let inside = link(&path, "link:0000:3d:00.0").not_a_wire.clone().expect("no wire");
    assert!(inside.starts_with("inside the chip"), "{inside}");
    assert_eq!(link(&path, "link:0000:3b:00.0").not_a_wire, None);
}
