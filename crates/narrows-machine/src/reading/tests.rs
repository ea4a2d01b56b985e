use super::*;
use crate::tree::Tree;
use narrows_base::units::{GtPerSec, Lanes};

const PORT: &str = "/sys/devices/pci0000:00/0000:00:1c.4";
const DRIVE: &str = "/sys/devices/pci0000:00/0000:00:1c.4/0000:06:00.0";

/// A drive below a root port, with its disk, its monitor and a card in a slot.
fn machine() -> Tree {
    let mut tree = Tree::new();
    function(&mut tree, PORT, "0x060400", "4");
    function(&mut tree, DRIVE, "0x010802", "4");
    let disk = format!("{DRIVE}/nvme/nvme0/nvme0n1");
    tree.link("/sys/class/nvme/nvme0", &format!("{DRIVE}/nvme/nvme0"))
        .file(&format!("{DRIVE}/nvme/nvme0/serial"), "S6P1NS0T\n")
        .link("/sys/class/block/nvme0n1", &disk)
        .file(&format!("{disk}/inflight"), "       3        0\n")
        .file(&format!("{disk}/power/runtime_status"), "unsupported\n")
        .link("/sys/class/hwmon/hwmon0", &format!("{DRIVE}/nvme/nvme0/hwmon0"))
        .link(&format!("{DRIVE}/nvme/nvme0/hwmon0/device"), &format!("{DRIVE}/nvme/nvme0"))
        .file(&format!("{DRIVE}/nvme/nvme0/hwmon0/name"), "nvme\n")
        .file(&format!("{DRIVE}/nvme/nvme0/hwmon0/temp1_input"), "44850\n")
        .file("/sys/bus/pci/slots/3/address", "0000:06:00\n")
        .file("/proc/diskstats", "259 0 nvme0n1 1 0 800000 1 0 0 0 0 0 1 1\n");
    tree
}

fn function(tree: &mut Tree, dir: &str, class: &str, width: &str) {
    let name = dir.rsplit('/').next().expect("a name");
    tree.link(&format!("/sys/bus/pci/devices/{name}"), dir)
        .file(&format!("{dir}/class"), &format!("{class}\n"))
        .file(&format!("{dir}/vendor"), "0x144d\n")
        .file(&format!("{dir}/device"), "0xa80a\n")
        .file(&format!("{dir}/current_link_width"), &format!("{width}\n"))
        .file(&format!("{dir}/current_link_speed"), "8.0 GT/s PCIe\n")
        .file(&format!("{dir}/aer_dev_correctable"), "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3\n")
        .file(&format!("{dir}/power/runtime_status"), "active\n");
}

fn at(text: &str) -> PciAddress {
    text.parse().expect("an address")
}

fn take(tree: Tree, before: Option<&Reading>) -> Reading {
    let root = Root::from_tree(tree);
    let places = Places::find(&root);
    Reading::take(&root, &places, before, |_| false)
}

#[test]
fn a_link_has_a_place_that_bus_numbers_do_not_change_and_both_its_ends_are_read() {
    let root = Root::from_tree(machine());
    let places = Places::find(&root);
    assert_eq!(
        places.links.keys().copied().collect::<Vec<_>>(),
        [at("06:00.0")],
        "a root port has no link above it"
    );
    let place = &places.links[&at("06:00.0")];
    assert_eq!((place.place.as_str(), place.port), ("0000:1c.4/00.0", at("00:1c.4")));
    assert_eq!((place.slot.as_deref(), place.serial.as_deref()), (Some("3"), Some("S6P1NS0T")));
    assert_eq!(place.disks, ["nvme0n1"]);
    let mut tree = machine();
    tree.file(&format!("{PORT}/current_link_width"), "1\n");
    let link = &take(tree, None).links[&at("06:00.0")];
    assert_eq!(link.width, Some(Lanes::new(1)), "the lower of both ends");
    assert_eq!(link.errors, Some(Errors { correctable: 6, nonfatal: 0, fatal: 0 }));
    assert!(!link.loaded, "nothing is known of the time before");
}

#[test]
fn ports_of_a_switch_that_face_down_have_no_link_above_them() {
    let mut tree = machine();
    let up = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";
    function(&mut tree, "/sys/devices/pci0000:00/0000:00:01.0", "0x060400", "8");
    function(&mut tree, up, "0x060400", "8");
    function(&mut tree, &format!("{up}/0000:02:08.0"), "0x060400", "4");
    function(&mut tree, &format!("{up}/0000:02:08.0/0000:03:00.0"), "0x010802", "4");
    let places = Places::find(&Root::from_tree(tree));
    let links: Vec<String> = places.links.keys().map(ToString::to_string).collect();
    assert_eq!(links, ["0000:01:00.0", "0000:03:00.0", "0000:06:00.0"]);
    assert_eq!(places.links[&at("03:00.0")].place, "0000:01.0/00.0/08.0/00.0");
}

#[test]
fn nothing_is_asked_of_what_sleeps_or_lies_behind_it() {
    for (dir, status) in [(DRIVE, "suspended"), (PORT, "suspended"), (PORT, "resuming"), (DRIVE, "error")] {
        let mut tree = machine();
        tree.file(&format!("{dir}/power/runtime_status"), &format!("{status}\n"));
        let reading = take(tree, None);
        let link = &reading.links[&at("06:00.0")];
        assert_eq!(link.asleep.as_deref(), dir.rsplit('/').next(), "{status}");
        assert_eq!((link.width, link.speed), (None, None));
        assert!(link.errors.is_some(), "the kernel counts them itself");
        assert!(reading.drives.is_empty(), "the monitor of a drive that sleeps is left alone");
    }
    let mut cold = machine();
    cold.file(&format!("{DRIVE}/power_state"), "D3cold\n");
    assert!(take(cold, None).links[&at("06:00.0")].asleep.is_some());
}

#[test]
fn a_link_is_loaded_when_data_moved_over_it_and_still_does() {
    let before = take(machine(), None);
    let later = |sectors: u64, in_flight: &str| {
        let mut tree = machine();
        tree.file("/proc/diskstats", &format!("259 0 nvme0n1 1 0 {sectors} 1 0 0 0 0 0 1 1\n"))
            .file(&format!("{DRIVE}/nvme/nvme0/nvme0n1/inflight"), in_flight);
        take(tree, Some(&before)).links[&at("06:00.0")].loaded
    };
    assert!(later(1_000_000, "3 0"), "100 MB since");
    assert!(!later(800_001, "3 0"), "one sector since");
    assert!(!later(1_000_000, "0 0"), "it stands still now");
}

#[test]
fn a_width_that_no_link_has_is_not_known() {
    let mut tree = machine();
    for dir in [PORT, DRIVE] {
        tree.file(&format!("{dir}/current_link_width"), "63\n")
            .file(&format!("{dir}/current_link_speed"), "Unknown\n");
    }
    let link = take(tree, None).links[&at("06:00.0")].clone();
    assert_eq!((link.width, link.speed), (None, None));
    assert_eq!(GtPerSec::parse("8.0 GT/s PCIe"), Some(GtPerSec::GEN3));
}

#[test]
fn a_drive_array_and_interface_tell_their_state() {
    let mut tree = machine();
    let card = "/sys/devices/pci0000:00/0000:00:03.0";
    tree.link("/sys/class/block/md0", "/sys/devices/virtual/block/md0")
        .file("/sys/devices/virtual/block/md0/md/sync_action", "resync\n")
        .file("/sys/devices/virtual/block/md0/md/degraded", "1\n")
        .link("/sys/class/net/eth0", &format!("{card}/net/eth0"))
        .file(&format!("{card}/net/eth0/speed"), "25000\n")
        .link("/sys/class/net/lo", "/sys/devices/virtual/net/lo")
        .file("/sys/devices/virtual/net/lo/mtu", "1\n");
    let reading = take(tree, None);
    assert_eq!(reading.arrays["md0"], ArrayReading { action: Some("resync".to_owned()), missing: Some(1) });
    assert_eq!(reading.drives["nvme0n1"].temperature, Some(Celsius::new(44.85)));
    assert_eq!(reading.nics.keys().collect::<Vec<_>>(), ["eth0"]);
    assert_eq!(reading.nics["eth0"], Some(BitsPerSec::from_mbit(25_000.0)));
}

#[test]
fn this_machine_is_read() {
    let root = Root::live();
    let places = Places::find(&root);
    let reading = Reading::take(&root, &places, None, |_| true);
    assert_eq!(reading.links.len(), places.links.len());
    assert!(reading.drives.is_empty(), "all were spared");
}
