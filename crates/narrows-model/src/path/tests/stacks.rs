//! Volumes, caches, loops and circles.

use super::*;

#[test]
fn each_byte_of_a_linear_volume_crosses_the_shared_switch_once() {
    let mut machine = behind_a_switch();
    let target = |number| DmTarget {
        start: Bytes::new(0),
        length: Bytes::new(1),
        kind: DmKind::Linear { device: (259, number), offset: Bytes::new(0) },
    };
    let dm = DmDevice { name: text("vg-data"), owner: text("LVM"), table: known(vec![target(0), target(1)]) };
    stacked(&mut machine, "dm-0", BlockKind::Dm(dm), &["nvme0n1", "nvme1n1"]);
    let path = path(&machine, &to("dm-0")).expect("is there");
    assert_eq!(path.target, "/dev/mapper/vg-data");
    assert_eq!(hop(&path, "device:nvme1n1").traffic, Traffic::ONE);
    assert_eq!(hop(&path, "switch:0000:01:00.0").traffic, Traffic::ONE);
    assert_eq!(hop(&path, "switch:0000:01:00.0").depth, 0);
    assert_eq!(hop(&path, "switch:0000:01:00.0").above, Some(HopId::new(HopKind::LogicalVolume, "dm-0")));
}

#[test]
fn what_a_cache_shares_with_its_backing_device_is_written_twice_and_read_once() {
    let mut machine = behind_a_switch();
    let bcache = Bcache {
        mode: text("writeback"),
        state: text("dirty"),
        backing: Some("nvme1n1".to_owned()),
        caches: vec!["nvme0n1".to_owned()],
        ..Bcache::default()
    };
    stacked(&mut machine, "bcache0", BlockKind::Bcache(bcache), &["nvme0n1", "nvme1n1"]);
    let path = path(&machine, &to("bcache0")).expect("is there");
    assert_eq!(hop(&path, "link:0000:01:00.0").traffic, Traffic { read: 1.0, write: 2.0 });
}

#[test]
fn a_loop_device_goes_on_into_the_file_system_of_its_file() {
    let mut machine = behind_a_switch();
    machine.mounts.push(mount("/", "ext4", &["nvme0n1"]));
    machine.mounts.push(mount("/var/lib", "xfs", &["nvme1n1"]));
    let file = LoopDevice { file: text("/var/lib/images/disk.img"), ..LoopDevice::default() };
    stacked(&mut machine, "loop0", BlockKind::Loop(file), &[]);
    let path = path(&machine, &to("loop0")).expect("is there");
    assert_eq!(
        ids(&path)[1..5],
        ["block_queue:loop0", "device:loop0", "filesystem:/var/lib", "block_queue:nvme1n1"]
    );
}

#[test]
fn devices_that_stand_on_each_other_in_a_circle_end_their_branch() {
    let mut machine = behind_a_switch();
    stacked(&mut machine, "dm-0", BlockKind::Dm(DmDevice::default()), &["dm-1", "gone"]);
    stacked(&mut machine, "dm-1", BlockKind::Dm(DmDevice::default()), &["dm-0", "nvme0n1"]);
    let path = path(&machine, &to("dm-0")).expect("is there");
    assert_eq!(ids(&path)[1..4], ["logical_volume:dm-0", "logical_volume:dm-1", "block_queue:nvme0n1"]);
    let mut machine = x99();
    machine.pci.get_mut(&at("00:1c.7")).expect("is there").parent = Some(at("06:00.0"));
    assert!(crate::path::build::path(&machine, &to("nvme1n1")).is_some());
}

#[test]
fn what_holds_nothing_is_no_target() {
    let mut machine = behind_a_switch();
    stacked(&mut machine, "loop0", BlockKind::Loop(LoopDevice::default()), &[]);
    let image = LoopDevice { file: text("/var/lib/snapd/snaps/core.snap"), ..LoopDevice::default() };
    stacked(&mut machine, "loop1", BlockKind::Loop(image), &[]);
    disk(&mut machine, "sr0", Transport::None);
    machine.block.get_mut("sr0").expect("is there").size = known(Bytes::new(0));
    disk(&mut machine, "nvme0c0n1", Transport::None);
    machine.mounts.push(mount("/snap/core/1", "squashfs", &["loop1"]));
    machine.mounts.push(mount("/run", "tmpfs", &[]));
    machine.mounts.push(mount("/data", "xfs", &["nvme0n1"]));
    machine.mounts.push(Mount { number: (8, 5), ..mount("/bound", "xfs", &["nvme0n1"]) });
    let targets: Vec<String> = all(&machine).into_iter().map(|path| path.target).collect();
    assert_eq!(targets, ["/dev/nvme0n1", "/dev/nvme1n1", "/data"]);
    for gone in [to("sdz"), Target::Nic("eth9".into()), Target::Pci(at("1f:00.0"))] {
        assert!(path(&machine, &gone).is_none(), "{gone:?}");
    }
    assert!(path(&machine, &Target::Mount { index: 99, path: "/".into() }).is_none());
}
