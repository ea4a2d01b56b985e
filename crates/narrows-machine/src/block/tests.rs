//! Trees with the real shapes of sysfs, one for each transport and kind of stacking.

use super::*;
use crate::tree::Tree;
use narrows_base::units::{BitsPerSec, BytesPerSec};
use proptest::prelude::*;

/// Puts a disk at its place below `/sys/devices` and links to it.
fn disk<'a>(tree: &'a mut Tree, path: &str, name: &str, number: &str) -> &'a mut Tree {
    let dir = format!("/sys/devices/{path}/{name}");
    tree.link(&format!("/sys/class/block/{name}"), &format!("../../devices/{path}/{name}"))
        .file(&format!("{dir}/dev"), &format!("{number}\n"))
        .file(&format!("{dir}/size"), "2048\n")
        .file(&format!("{dir}/ro"), "0\n")
        .file(&format!("{dir}/removable"), "0\n")
}

fn read_tree(tree: Tree) -> BTreeMap<String, BlockDevice> {
    read(&Root::from_tree(tree))
}

fn pci(address: &str) -> Option<crate::pci::PciAddress> {
    address.parse().ok()
}

fn gbit(rate: f64) -> BitsPerSec {
    BitsPerSec::from_mbit(rate * 1000.0)
}

#[test]
fn an_nvme_drive_has_controller_function_queue_and_partitions() {
    let mut tree = Tree::new();
    let controller = "pci0000:00/0000:00:1d.0/0000:03:00.0/nvme/nvme0";
    let dir = format!("/sys/devices/{controller}");
    disk(&mut tree, controller, "nvme0n1", "259:0")
        .link("/sys/class/nvme/nvme0", &format!("../../devices/{controller}"))
        .link(&format!("{dir}/nvme0n1/device"), "../../nvme0")
        .file(&format!("{dir}/transport"), "pcie\n")
        .file(&format!("{dir}/address"), "0000:03:00.0\n")
        .file(&format!("{dir}/model"), "Samsung SSD 970 EVO Plus 1TB            \n")
        .file(&format!("{dir}/serial"), "S4EWNX0M\n")
        .file(&format!("{dir}/firmware_rev"), "2B2QEXM7\n")
        .file(&format!("{dir}/nvme0n1/queue/scheduler"), "[none] mq-deadline kyber\n")
        .file(&format!("{dir}/nvme0n1/queue/max_sectors_kb"), "1280\n")
        .file(&format!("{dir}/nvme0n1/queue/rotational"), "0\n")
        .file(&format!("{dir}/nvme0n1/queue/write_cache"), "write back\n")
        .file(&format!("{dir}/nvme0n1/mq/0/nr_tags"), "1023")
        .file(&format!("{dir}/nvme0n1/mq/1/nr_tags"), "1023");
    disk(&mut tree, &format!("{controller}/nvme0n1"), "nvme0n1p2", "259:2")
        .file(&format!("{dir}/nvme0n1/nvme0n1p2/partition"), "2\n")
        .file(&format!("{dir}/nvme0n1/nvme0n1p2/start"), "4096\n")
        .link(&format!("{dir}/nvme0n1/nvme0n1p2/holders/dm-0"), "/sys/devices/virtual/block/dm-0");
    let devices = read_tree(tree);
    let drive = &devices["nvme0n1"];
    let want =
        Transport::NvmePci { controller: "nvme0".into(), pci: pci("0000:03:00.0").expect("an address") };
    assert_eq!(drive.transport, want);
    assert_eq!(drive.model.value().map(String::as_str), Some("Samsung SSD 970 EVO Plus 1TB"));
    assert_eq!(drive.firmware.value().map(String::as_str), Some("2B2QEXM7"));
    assert_eq!(drive.queue.scheduler.value().map(String::as_str), Some("none"));
    assert_eq!(drive.queue.hardware_queues.get(), Some(2));
    assert_eq!(drive.queue.max_request.get(), Some(Bytes::new(1280 * 1024)));
    assert_eq!(drive.queue.rotational.get(), Some(false));
    let part = &devices["nvme0n1p2"];
    assert_eq!(part.partition_of.as_deref(), Some("nvme0n1"));
    assert_eq!(part.start.get(), Some(Bytes::new(4096 * 512)));
    assert_eq!(part.holders, ["dm-0"]);
    assert_eq!(part.transport, want);
    assert_eq!(part.queue.hardware_queues.get(), Some(2));
    assert!(matches!(part.kind, BlockKind::Partition));
}

#[test]
fn a_multipath_head_names_its_hidden_paths_and_each_path_its_controller() {
    let mut tree = Tree::new();
    disk(&mut tree, "virtual/nvme-subsystem/nvme-subsys1", "nvme1n1", "259:3");
    let first = "pci0000:80/0000:80:01.0/0000:81:00.0/nvme/nvme1";
    let second = "virtual/nvme-fabrics/ctl/nvme2";
    disk(&mut tree, first, "nvme1c1n1", "").file(&format!("/sys/devices/{first}/nvme1c1n1/hidden"), "1");
    disk(&mut tree, second, "nvme1c2n1", "")
        .link("/sys/class/nvme/nvme1", &format!("/sys/devices/{first}"))
        .link("/sys/class/nvme/nvme2", &format!("/sys/devices/{second}"))
        .file(&format!("/sys/devices/{first}/transport"), "pcie")
        .file(&format!("/sys/devices/{second}/transport"), "tcp")
        .file(
            &format!("/sys/devices/{second}/address"),
            "traddr=192.168.1.2,trsvcid=4420,src_addr=192.168.1.5\n",
        )
        .file(&format!("/sys/devices/{second}/queue_count"), "9")
        .file("/proc/net/route", "Iface\nens1\t0001A8C0\t0\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
    let devices = read_tree(tree);
    let head = &devices["nvme1n1"];
    assert!(matches!(&head.kind, BlockKind::NvmeMultipath(paths) if paths == &["nvme1c1n1", "nvme1c2n1"]));
    assert_eq!(head.transport, Transport::None);
    assert!(
        matches!(&devices["nvme1c1n1"].transport, Transport::NvmePci { controller, .. } if controller == "nvme1")
    );
    let Transport::NvmeFabric(fabric) = &devices["nvme1c2n1"].transport else { panic!("not a fabric") };
    assert_eq!((fabric.controller.as_str(), fabric.transport.as_str()), ("nvme2", "tcp"));
    assert_eq!(fabric.queues.get(), Some(8));
    assert_eq!(fabric.remote.address.value().map(String::as_str), Some("192.168.1.2"));
    assert_eq!(fabric.remote.port.get(), Some(4420));
    assert_eq!(fabric.remote.interface.value().map(String::as_str), Some("ens1"));
}

#[test]
fn a_sata_disk_tells_its_negotiated_and_its_ports_rate() {
    let mut tree = Tree::new();
    let device = "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0";
    disk(&mut tree, &format!("{device}/block"), "sda", "8:0")
        .link(&format!("/sys/devices/{device}/block/sda/device"), "../../../2:0:0:0")
        .file(&format!("/sys/devices/{device}/model"), "Samsung SSD 860 \n")
        .file(&format!("/sys/devices/{device}/rev"), "2B6Q\n")
        .file("/sys/class/scsi_host/host2/proc_name", "ahci\n")
        .file("/sys/class/ata_link/link3/sata_spd", "3.0 Gbps\n")
        .file("/sys/class/ata_link/link3/hw_sata_spd_limit", "6.0 Gbps\n")
        .file("/narrows/probe/ata-model/sda", "Samsung SSD 860 EVO 500GB");
    let devices = read_tree(tree);
    let Transport::Sata(sata) = &devices["sda"].transport else { panic!("not SATA") };
    assert_eq!(sata.port, "ata3");
    assert_eq!((sata.speed.get(), sata.port_speed.get()), (Some(gbit(3.0)), Some(gbit(6.0))));
    assert_eq!(sata.pci, pci("0000:00:17.0"));
    assert_eq!(devices["sda"].model.value().map(String::as_str), Some("Samsung SSD 860 EVO 500GB"));
    assert_eq!(devices["sda"].firmware.value().map(String::as_str), Some("2B6Q"));
}

#[test]
fn a_sata_port_without_a_rate_says_so() {
    let mut tree = Tree::new();
    disk(&mut tree, "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block", "sda", "8:0")
        .file("/sys/class/ata_link/link1/sata_spd", "<unknown>\n");
    let Transport::Sata(sata) = &read_tree(tree)["sda"].transport else { panic!("not SATA") };
    assert_eq!(sata.speed, Fact::absent("/sys/class/ata_link/link1/sata_spd"));
}

#[test]
fn a_disk_behind_a_sas_expander_has_its_own_link_and_a_shared_wide_port() {
    let mut tree = Tree::new();
    let host = "pci0000:00/0000:00:03.0/0000:03:00.0/host0";
    let own = format!("{host}/port-0:0/expander-0:0/port-0:0:5");
    let device = format!("{own}/end_device-0:0:5/target0:0:5/0:0:5:0");
    disk(&mut tree, &format!("{device}/block"), "sdf", "8:80")
        .file("/sys/class/scsi_host/host0/proc_name", "mpt3sas")
        .link(&format!("/sys/devices/{own}/phy-0:0:5"), "../phy-0:0:5")
        .file("/sys/class/sas_phy/phy-0:0:5/negotiated_linkrate", "6.0 Gbit");
    for phy in 0..4 {
        tree.link(&format!("/sys/devices/{host}/port-0:0/phy-0:{phy}"), "../phy")
            .file(&format!("/sys/class/sas_phy/phy-0:{phy}/negotiated_linkrate"), "12.0 Gbit");
    }
    let Transport::Sas(sas) = &read_tree(tree)["sdf"].transport else { panic!("not SAS") };
    assert_eq!(sas.phy_speeds, [gbit(6.0)]);
    assert_eq!(sas.uplink_phy_speeds, [gbit(12.0); 4]);
    assert_eq!(sas.expander.as_deref(), Some("expander-0:0"));
    assert_eq!(sas.driver.value().map(String::as_str), Some("mpt3sas"));
    assert!(!sas.hidden);
    assert_eq!(sas.pci, pci("0000:03:00.0"));
}

#[test]
fn a_directly_attached_sas_disk_has_no_uplink_and_a_raid_volume_no_phys() {
    let mut tree = Tree::new();
    let port = "pci0000:00/0000:00:03.0/0000:03:00.0/host0/port-0:1";
    disk(&mut tree, &format!("{port}/end_device-0:1/target0:0:1/0:0:1:0/block"), "sda", "8:0")
        .link(&format!("/sys/devices/{port}/phy-0:1"), "../phy")
        .file("/sys/class/scsi_host/host0/proc_name", "mpt3sas")
        .file("/sys/class/sas_phy/phy-0:1/negotiated_linkrate", "12.0 Gbit");
    disk(&mut tree, "pci0000:00/0000:00:01.0/0000:01:00.0/host1/target1:2:0/1:2:0:0/block", "sdb", "8:16")
        .file("/sys/class/scsi_host/host1/proc_name", "megaraid_sas");
    let devices = read_tree(tree);
    let Transport::Sas(direct) = &devices["sda"].transport else { panic!("not SAS") };
    assert_eq!(
        (direct.phy_speeds.as_slice(), direct.uplink_phy_speeds.as_slice()),
        (&[gbit(12.0)][..], &[][..])
    );
    let Transport::Sas(volume) = &devices["sdb"].transport else { panic!("not SAS") };
    assert!(volume.hidden && volume.phy_speeds.is_empty());
}

#[test]
fn a_usb_disk_tells_its_speed_and_that_of_the_best_hub_of_its_connector() {
    let mut tree = Tree::new();
    let controller = "/sys/devices/pci0000:00/0000:00:14.0";
    let device = format!("{controller}/usb1/1-3/1-3.2");
    let scsi = "pci0000:00/0000:00:14.0/usb1/1-3/1-3.2/1-3.2:1.0/host6/target6:0:0/6:0:0:0";
    disk(&mut tree, &format!("{scsi}/block"), "sdc", "8:32")
        .file(&format!("{device}/speed"), "480\n")
        .file(&format!("{device}/version"), " 3.20\n")
        .link(&format!("{device}/1-3.2:1.0/driver"), "../../../../../../../bus/usb/drivers/uas")
        .file(&format!("{controller}/usb1/speed"), "480\n")
        .file(&format!("{controller}/usb2/speed"), "10000\n")
        .link(&format!("{controller}/usb1/1-3/port"), "../1-0:1.0/usb1-port3")
        .link(&format!("{controller}/usb1/1-0:1.0/usb1-port3/peer"), "../../../usb2/2-0:1.0/usb2-port1")
        .file(&format!("{controller}/usb2/2-0:1.0/usb2-port1/connect_type"), "hotplug");
    let Transport::Usb(usb) = &read_tree(tree)["sdc"].transport else { panic!("not USB") };
    assert_eq!(usb.device, "1-3.2");
    assert_eq!(usb.speed.get(), Some(BitsPerSec::from_mbit(480.0)));
    assert_eq!(usb.version.value().map(String::as_str), Some("3.20"));
    assert_eq!(usb.root_hub_speed.get(), Some(gbit(10.0)));
    assert_eq!(usb.driver.value().map(String::as_str), Some("uas"));
    assert_eq!(usb.pci, pci("0000:00:14.0"));
}

#[test]
fn paravirtual_disks_tell_their_flavour_and_function() {
    let mut tree = Tree::new();
    disk(&mut tree, "pci0000:00/0000:00:04.0/virtio1/block", "vda", "254:0");
    disk(&mut tree, "pci0000:00/0000:00:05.0/virtio2/host0/target0:0:0/0:0:0:0/block", "sda", "8:0");
    disk(&mut tree, "platform/a003e00.virtio_mmio/virtio0/block", "vdb", "254:16");
    let devices = read_tree(tree);
    let virtio = |address: Option<&str>, flavour: &str| Transport::Virtio {
        pci: address.and_then(pci),
        flavour: flavour.into(),
    };
    assert_eq!(devices["vda"].transport, virtio(Some("0000:00:04.0"), "virtio-blk"));
    assert_eq!(devices["sda"].transport, virtio(Some("0000:00:05.0"), "virtio-scsi"));
    assert_eq!(devices["vdb"].transport, virtio(None, "virtio-blk"));
}

#[test]
fn an_iscsi_disk_leads_to_the_address_in_use() {
    let mut tree = Tree::new();
    let connection = "/sys/class/iscsi_connection/connection1:0";
    disk(&mut tree, "platform/host8/session1/target8:0:0/8:0:0:1/block", "sdd", "8:48")
        .file(&format!("{connection}/persistent_address"), "10.0.0.1\n")
        .file(&format!("{connection}/persistent_port"), "3260\n")
        .file(&format!("{connection}/address"), "10.0.0.2\n")
        .file("/proc/net/route", "Iface\nens1\t0000000A\t0\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n");
    let Transport::Iscsi(remote) = &read_tree(tree)["sdd"].transport else { panic!("not iSCSI") };
    assert_eq!(remote.address.value().map(String::as_str), Some("10.0.0.2"));
    assert_eq!(remote.port.get(), Some(3260));
    assert_eq!(remote.interface.value().map(String::as_str), Some("ens1"));
}

#[test]
fn cards_and_everything_else_are_named_by_bus_or_driver() {
    let mut tree = Tree::new();
    disk(&mut tree, "platform/soc/fe2b0000.mmc/mmc_host/mmc0/mmc0:0001/block", "mmcblk0", "179:0")
        .link(
            "/sys/devices/platform/soc/fe2b0000.mmc/mmc_host/mmc0/mmc0:0001/block/mmcblk0/device",
            "../../../mmc0:0001",
        )
        .file("/sys/devices/platform/soc/fe2b0000.mmc/mmc_host/mmc0/mmc0:0001/name", "SD64G");
    disk(&mut tree, "vbd-51712/block", "xvda", "202:0")
        .link("/sys/devices/vbd-51712/block/xvda/device", "../../../vbd-51712")
        .link("/sys/devices/vbd-51712/driver", "../../bus/xen/drivers/vbd");
    disk(&mut tree, "pci0000:00/0000:00:07.1/ata1/host0/target0:0:0/0:0:0:0/block", "sda", "8:0")
        .file("/sys/class/scsi_host/host0/proc_name", "pata_amd");
    disk(&mut tree, "virtual/block", "nbd0", "43:0");
    let devices = read_tree(tree);
    assert_eq!(
        devices["mmcblk0"].transport,
        Transport::Mmc { pci: None, mode: narrows_base::fact::Fact::default() }
    );
    assert_eq!(devices["mmcblk0"].model.value().map(String::as_str), Some("SD64G"));
    assert_eq!(devices["xvda"].transport, Transport::Other { name: "vbd".into(), pci: None });
    assert_eq!(
        devices["sda"].transport,
        Transport::Other { name: "pata_amd".into(), pci: pci("0000:00:07.1") }
    );
    assert_eq!(devices["nbd0"].transport, Transport::Other { name: "nbd".into(), pci: None });
}

#[test]
fn an_array_tells_level_members_and_a_running_resync() {
    let mut tree = Tree::new();
    let md = "/sys/devices/virtual/block/md127/md";
    disk(&mut tree, "virtual/block", "md127", "9:127")
        .link("/sys/devices/virtual/block/md127/slaves/sda1", "/x")
        .link("/sys/devices/virtual/block/md127/slaves/sdb1", "/x")
        .file(&format!("{md}/level"), "raid1\n")
        .file(&format!("{md}/raid_disks"), "2\n")
        .file(&format!("{md}/chunk_size"), "0\n")
        .file(&format!("{md}/layout"), "0\n")
        .file(&format!("{md}/degraded"), "1\n")
        .file(&format!("{md}/sync_action"), "recover\n")
        .file(&format!("{md}/sync_speed"), "131072\n")
        .file(&format!("{md}/sync_completed"), "250000 / 1000000\n")
        .file(&format!("{md}/bitmap/location"), "+8\n")
        .file(&format!("{md}/dev-sda1/state"), "in_sync\n")
        .file(&format!("{md}/dev-sdb1/state"), "spare\n");
    let devices = read_tree(tree);
    let BlockKind::Md(array) = &devices["md127"].kind else { panic!("not an array") };
    assert_eq!(array.level.value().map(String::as_str), Some("raid1"));
    assert_eq!(array.chunk, Fact::absent("/sys/class/block/md127/md/chunk_size"));
    assert_eq!((array.raid_disks.get(), array.degraded.get()), (Some(2), Some(1)));
    assert_eq!(array.sync_action.value().map(String::as_str), Some("recover"));
    assert_eq!(array.sync_speed.get(), Some(BytesPerSec::new(134_217_728.0)));
    assert_eq!(array.sync_done.get(), Some(0.25));
    assert_eq!(array.bitmap.value().map(String::as_str), Some("+8"));
    assert_eq!(array.members["sdb1"].value().map(String::as_str), Some("spare"));
    assert_eq!(array.group_threads.get(), None);
    assert_eq!(devices["md127"].slaves, ["sda1", "sdb1"]);
    assert_eq!(devices["md127"].transport, Transport::None);
}

#[test]
fn a_volume_on_luks_tells_maker_table_and_what_is_below() {
    let mut tree = Tree::new();
    let dm = "/sys/devices/virtual/block";
    disk(&mut tree, "virtual/block", "dm-0", "253:0")
        .file(&format!("{dm}/dm-0/dm/name"), "luks-home")
        .file(&format!("{dm}/dm-0/dm/uuid"), "CRYPT-LUKS2-0123456789abcdef-luks-home")
        .link(&format!("{dm}/dm-0/slaves/sda2"), "/x")
        .link(&format!("{dm}/dm-0/holders/dm-1"), "/x")
        .file(
            "/narrows/probe/dm-table/253:0",
            "0 99 crypt aes-xts-plain64 :64:- 0 8:2 32768 1 no_read_workqueue\n",
        );
    disk(&mut tree, "virtual/block", "dm-1", "253:1")
        .file(&format!("{dm}/dm-1/dm/uuid"), "LVM-AbCdEf")
        .file("/narrows/probe/dm-table/253:1", "denied");
    let devices = read_tree(tree);
    let BlockKind::Dm(crypt) = &devices["dm-0"].kind else { panic!("not device-mapper") };
    assert_eq!(crypt.owner.value().map(String::as_str), Some("CRYPT-LUKS2"));
    let table = crypt.table.value().expect("was recorded");
    assert!(
        matches!(&table[0].kind, DmKind::Crypt(crypt) if crypt.key_bits == 512 && crypt.no_read_workqueue)
    );
    assert_eq!(
        (&devices["dm-0"].slaves[..], &devices["dm-0"].holders[..]),
        (&["sda2".into()][..], &["dm-1".into()][..])
    );
    let BlockKind::Dm(volume) = &devices["dm-1"].kind else { panic!("not device-mapper") };
    assert_eq!(volume.owner.value().map(String::as_str), Some("LVM"));
    assert!(matches!(&volume.table, Fact::Denied { need, .. } if need == "root"));
}

#[test]
fn a_cached_device_names_its_backing_and_cache_devices() {
    let mut tree = Tree::new();
    let backing = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sdb/bcache";
    let cache = "/sys/devices/pci0000:00/0000:00:1d.0/0000:03:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/bcache";
    disk(&mut tree, "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block", "sdb", "8:16");
    disk(&mut tree, "virtual/block", "bcache0", "252:0")
        .link("/sys/devices/virtual/block/bcache0/bcache", backing)
        .file(&format!("{backing}/cache_mode"), "writethrough [writeback] writearound none\n")
        .file(&format!("{backing}/state"), "dirty\n")
        .file(&format!("{backing}/sequential_cutoff"), "4.0M\n")
        .file(&format!("{backing}/stats_total/cache_hit_ratio"), "87\n")
        .link(&format!("{backing}/cache"), "/sys/fs/bcache/5f2c")
        .link("/sys/fs/bcache/5f2c/cache0", cache)
        .file("/sys/fs/bcache/5f2c/cache_available_percent", "99")
        .file(&format!("{cache}/cache_replacement_policy"), "[lru] fifo random");
    let devices = read_tree(tree);
    let BlockKind::Bcache(bcache) = &devices["bcache0"].kind else { panic!("not bcache") };
    assert_eq!(bcache.mode.value().map(String::as_str), Some("writeback"));
    assert_eq!(bcache.state.value().map(String::as_str), Some("dirty"));
    assert_eq!(bcache.sequential_cutoff.get(), Some(Bytes::from_mib(4)));
    assert_eq!(bcache.hit_ratio.get(), Some(0.87));
    assert_eq!(bcache.backing.as_deref(), Some("sdb"));
    assert_eq!(bcache.caches, ["nvme0n1p1"]);
    assert!(matches!(devices["sdb"].kind, BlockKind::Disk), "a backing device is no bcache device");
}

#[test]
fn devices_in_memory_and_loops_are_told_apart_and_unused_ones_not_asked_further() {
    let mut tree = Tree::new();
    for (name, number) in
        [("loop0", "7:0"), ("loop1", "7:1"), ("zram0", "253:0"), ("ram0", "1:0"), ("nullb0", "252:0")]
    {
        disk(&mut tree, "virtual/block", name, number)
            .file(&format!("/sys/devices/virtual/block/{name}/queue/nr_requests"), "128");
    }
    tree.file("/sys/devices/virtual/block/loop0/loop/backing_file", "/srv/image.raw")
        .file("/sys/devices/virtual/block/loop0/loop/dio", "1")
        .file("/sys/devices/virtual/block/loop1/size", "0");
    let devices = read_tree(tree);
    let BlockKind::Loop(used) = &devices["loop0"].kind else { panic!("not a loop device") };
    assert_eq!(
        (used.file.value().map(String::as_str), used.direct.get()),
        (Some("/srv/image.raw"), Some(true))
    );
    assert_eq!(devices["loop0"].queue.requests.get(), Some(128));
    assert_eq!(devices["loop1"].queue.requests.missing().as_deref(), Some("not looked for"));
    assert!(matches!(devices["zram0"].kind, BlockKind::Zram));
    assert!(matches!(devices["ram0"].kind, BlockKind::RamDisk));
    assert!(matches!(devices["nullb0"].kind, BlockKind::NullBlk));
}

#[test]
fn garbage_in_a_file_is_a_fact_and_hides_no_other_device() {
    let mut tree = Tree::new();
    disk(&mut tree, "pci0000:00/0000:00:04.0/virtio1/block", "vda", "254:0")
        .file("/sys/devices/pci0000:00/0000:00:04.0/virtio1/block/vda/size", "many\u{0}\u{1}")
        .link("/sys/class/block/sdx", "/nowhere");
    let devices = read_tree(tree);
    assert!(matches!(&devices["vda"].size, Fact::Garbled { .. }));
    assert_eq!(devices["vda"].number.get(), Some((254, 0)));
    assert!(devices.contains_key("sdx"));
}

#[test]
fn this_machine_is_read_and_its_record_answers_the_same() {
    let live = Root::recording();
    let devices = read(&live);
    for (name, device) in &devices {
        assert!(device.size.value().is_some(), "{name} has no size");
    }
    let again = read(&Root::from_tree(live.into_record().expect("was recording")));
    assert_eq!(format!("{devices:?}"), format!("{again:?}"));
}

const SATA: &str = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";

#[test]
fn the_innermost_pci_function_carries_the_device() {
    let vmd =
        "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0/nvme/nvme0/nvme0n1";
    assert_eq!(DevicePath::new(vmd).pci().map(|pci| pci.to_string()).as_deref(), Some("10000:e1:00.0"));
    assert_eq!(DevicePath::new(SATA).pci().map(|pci| pci.to_string()).as_deref(), Some("0000:00:17.0"));
    assert_eq!(DevicePath::new("/sys/devices/virtual/block/md0").pci(), None);
}

#[test]
fn components_are_found_by_kind_and_cut_at_whole_names() {
    let path = DevicePath::new(SATA);
    assert_eq!(path.numbered("ata"), Some("ata3"));
    assert_eq!(path.numbered("host"), Some("host2"));
    assert_eq!(path.numbered("target"), None);
    assert_eq!(path.up_to("host2"), Some("/sys/devices/pci0000:00/0000:00:17.0/ata3/host2"));
    assert_eq!(path.up_to("ata"), None);
    assert_eq!(path.parent_name(), Some("block"));
}

proptest! {
    #[test]
    fn no_path_panics(path in "[/a-z0-9:.]{0,60}", component in "[a-z0-9/:]{0,5}") {
        let path = DevicePath::new(&path);
        let _ = (path.pci(), path.numbered(&component), path.up_to(&component), path.parent_name());
    }
}
