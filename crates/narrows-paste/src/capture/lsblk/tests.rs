use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::{BlockKind, Transport};
use proptest::prelude::*;

use super::super::{Text, join};
use super::*;

fn machine(text: &str) -> Machine {
    read(&Text::new("lsblk.txt", text.as_bytes())).machine
}

fn slaves(machine: &Machine, name: &str) -> Vec<String> {
    machine.block.get(name).map(|device| device.slaves.clone()).unwrap_or_default()
}

/// A laptop with LVM on LUKS, as util-linux 2.38 prints it.
const LAPTOP: &str = "\
$ lsblk
NAME                MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINTS
loop0                 7:0    0   2.5G  1 loop  /rofs
sda                   8:0    0 978.1G  0 disk
├─sda1                8:1    0   512M  0 part  /boot
│                                              /boot/efi
└─sda3                8:3    0 975.9G  0 part
  └─cryptdata       252:0    0 975.9G  0 crypt
    ├─vgmint-root   252:1    0 929.4G  0 lvm   /
    └─vgmint-swap_1 252:2    0   1.9G  0 lvm   [SWAP]
$ uptime
";

#[test]
fn a_tree_tells_layers_sizes_and_mounts() {
    let machine = machine(LAPTOP);
    assert_eq!(slaves(&machine, "dm-1"), ["dm-0"]);
    assert_eq!(slaves(&machine, "dm-0"), ["sda3"]);
    assert_eq!(machine.block["sda3"].holders, ["dm-0"]);
    assert_eq!(machine.block["sda1"].partition_of.as_deref(), Some("sda"));
    assert_eq!(machine.block["sda3"].number.get(), Some((8, 3)));
    assert_eq!(machine.block["sda1"].size.get(), Some(Bytes::from_mib(512)));
    assert_eq!(machine.block["sda1"].size.source().as_str(), "lsblk.txt:5");
    let BlockKind::Dm(crypt) = &machine.block["dm-0"].kind else { panic!("not device-mapper") };
    assert_eq!(crypt.owner.value().map(String::as_str), Some("CRYPT"));
    assert_eq!(crypt.name.value().map(String::as_str), Some("cryptdata"));
    let mounts: Vec<(&str, &str)> =
        machine.mounts.iter().map(|mount| (mount.point.as_str(), mount.devices[0].as_str())).collect();
    assert_eq!(mounts, [("/rofs", "loop0"), ("/boot", "sda1"), ("/boot/efi", "sda1"), ("/", "dm-1")]);
}

#[test]
fn rows_without_their_head_are_rows() {
    let found = machine("nvme2n1 259:0 0 931.5G 0 disk\n└─nvme2n1p1 259:1 0 931.5G 0 part /srv\n");
    assert_eq!(found.block["nvme2n1p1"].partition_of.as_deref(), Some("nvme2n1"));
    assert_eq!(found.block["nvme2n1"].number.get(), Some((259, 0)));
    for prose in [
        "it has 259:0 0 931.5G 0 disk",
        "one 8:0 2 931G 0 disk",
        "sda 8:0 0 931 0 disk",
        "sda 8:0 0 9G 0 thing",
    ] {
        assert!(machine(prose).block.is_empty(), "{prose}");
    }
}

/// `lsblk -S` of util-linux 2.38: the address of each disk, by which `sensors` names its chip.
#[test]
fn the_address_of_a_disk_is_kept() {
    let machine = machine(
        "NAME HCTL       TYPE VENDOR   MODEL               REV SERIAL TRAN\n\
         sda  0:0:0:0    disk ATA      Samsung SSD 870 EVO 1B6Q S1     sata\n\
         sdb  6:0:2:0    disk SEAGATE  ST4000NM0023        0004 S2     sas\n\
         sdc  N/A        disk ATA      ST1000DM003         CC43 S3     sata\n",
    );
    let at = |address: &str| machine.links.get(&format!("scsi_disk/{address}")).map(String::as_str);
    assert_eq!((at("0:0:0:0"), at("6:0:2:0")), (Some("sda"), Some("sdb")));
    assert_eq!(machine.links.len(), 2, "{:?}", machine.links);
    assert!(matches!(machine.block["sdb"].transport, Transport::Sas(_)));
}

#[test]
fn a_tree_in_ascii_or_broken_by_mail_tells_the_same() {
    let ascii = LAPTOP.replace("├─", "|-").replace("└─", "`-").replace("│ ", "| ").replace('│', "|");
    let plus = LAPTOP.replace("├─", "+-").replace("└─", "+-").replace('│', "|");
    let broken = LAPTOP.replace(['├', '└', '─', '│'], "\u{fffd}");
    // Three bytes each, none of them understood: the columns behind are moved.
    let bytes = LAPTOP.replace(['├', '└', '─', '│'], "\u{fffd}\u{fffd}\u{fffd}");
    let windows = LAPTOP.replace('├', "â”œ").replace('└', "â””").replace('─', "â”€").replace('│', "â”‚");
    let want = format!("{:?}", machine(LAPTOP).block);
    for other in [ascii, plus, broken, bytes, windows] {
        let got = machine(&other);
        assert_eq!(format!("{:?}", got.block), want, "{other}");
        assert_eq!(got.mounts.len(), 4, "{other}");
    }
}

#[test]
fn alignment_may_be_lost() {
    let squeezed: Vec<String> =
        LAPTOP.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    // Without blanks in front, levels below the first cannot be told; what stands in the columns can.
    let machine = machine(&squeezed.join("\n"));
    assert_eq!(machine.block["dm-1"].size.get(), Some(Bytes::new(997_935_651_226)));
    assert_eq!(machine.mounts.last().expect("has mounts").point, "/");
}

/// Two arrays on whole drives (linux-raid, 2021), each shown below every member; a spare one has no type.
#[test]
fn an_array_below_several_parents_is_one_array() {
    let machine = machine(
        "NAME         MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINT\n\
         nvme0n1      259:5    0    14T  0 disk\n\
         └─md0          9:0    0 139.7T  0 raid5\n\
         nvme1n1      259:6    0    14T  0 disk\n\
         ├─md0          9:0    0 139.7T  0 raid5\n\
         └─md127        9:127  0     0B  0\n",
    );
    assert_eq!(slaves(&machine, "md0"), ["nvme0n1", "nvme1n1"]);
    let BlockKind::Md(md) = &machine.block["md0"].kind else { panic!("not an array") };
    assert_eq!(md.level.value().map(String::as_str), Some("raid5"));
    assert_eq!(machine.block["md127"].size.get(), Some(Bytes::new(0)));
    assert!(matches!(&machine.block["nvme0n1"].transport, Transport::Other { name, .. } if name == "nvme"));
}

#[test]
fn columns_that_were_asked_for_are_read_by_their_heads() {
    let machine = machine(
        "NAME        TYPE         SIZE TRAN   ROTA MODEL                     SERIAL MOUNTPOINT\n\
         sda         disk 500107862016 sata      0 Samsung SSD 860 EVO 500GB S3Z\n\
         └─sda1      part 500106813440           0                                  /srv\n\
         sdb         disk  62109253632 usb       1 Ultra Fit\n\
         nvme0n1     disk 256060514304 nvme      0 SAMSUNG MZVLB256HBHQ      S4G\n",
    );
    assert_eq!(machine.block["sda"].model.value().map(String::as_str), Some("Samsung SSD 860 EVO 500GB"));
    assert_eq!(machine.block["sda"].serial.value().map(String::as_str), Some("S3Z"));
    assert_eq!(machine.block["sda"].queue.rotational.get(), Some(false));
    assert!(matches!(machine.block["sda"].transport, Transport::Sata(_)));
    assert!(matches!(machine.block["sdb"].transport, Transport::Usb(_)));
    assert_eq!(machine.block["sda1"].size.get(), Some(Bytes::new(500_106_813_440)));
    assert_eq!(machine.mounts[0].devices, ["sda1"]);
}

#[test]
fn file_systems_need_no_type_column() {
    let machine = machine(
        "NAME          FSTYPE      FSVER LABEL UUID                                 FSAVAIL FSUSE% MOUNTPOINTS\n\
         sda\n\
         ├─sda1        vfat        FAT32       0AB1-2C3D                             505,8M     1% /boot/efi\n\
         └─sda2        crypto_LUKS 2           11111111-2222-3333-4444-555555555555\n  \
           └─home      ext4        1.0   data  11111111-2222-3333-4444-666666666666    1,3T    22% /home\n",
    );
    assert_eq!(slaves(&machine, "mapper/home"), ["sda2"]);
    assert_eq!(machine.mounts[1].fstype, "ext4");
    assert_eq!(
        (machine.mounts[1].point.as_str(), machine.mounts[1].source.as_str()),
        ("/home", "/dev/mapper/home")
    );
}

#[test]
fn pairs_tell_kernel_names_and_queues() {
    let machine = machine(
        "KNAME=\"sda\" LOG-SEC=\"512\" MAJ:MIN=\"8:0\" MODEL=\"ST4000NM0035\" NAME=\"sda\" PHY-SEC=\"4096\" PKNAME=\"\" \
         RA=\"128\" RM=\"0\" RO=\"0\" ROTA=\"1\" RQ-SIZE=\"64\" SCHED=\"mq-deadline\" SIZE=\"3.6T\" TRAN=\"sas\" TYPE=\"disk\"\n\
         KNAME=\"sda1\" MAJ:MIN=\"8:1\" NAME=\"sda1\" PKNAME=\"sda\" SIZE=\"3.6T\" TYPE=\"part\"\n\
         KNAME=\"dm-0\" MAJ:MIN=\"253:0\" NAME=\"rhel-root\" PKNAME=\"sda1\" SIZE=\"50G\" TYPE=\"lvm\" MOUNTPOINT=\"/\" FSTYPE=\"xfs\"\n",
    );
    assert_eq!(slaves(&machine, "dm-0"), ["sda1"]);
    let sda = &machine.block["sda"];
    assert_eq!(sda.queue.physical_block.get(), Some(Bytes::new(4096)));
    assert_eq!(sda.queue.read_ahead.get(), Some(Bytes::from_kib(128)));
    assert_eq!(sda.queue.requests.get(), Some(64));
    assert!(matches!(sda.transport, Transport::Sas(_)));
    assert_eq!(machine.mounts[0].source, "/dev/mapper/rhel-root");
}

#[test]
fn json_of_old_and_new_versions_tells_the_same() {
    let old = r#"{ "blockdevices": [ {"name": "sda", "maj:min": "8:0", "rm": "0", "size": "1.8T", "ro": "0",
        "type": "disk", "mountpoint": null, "children": [
        {"name": "sda1", "maj:min": "8:1", "rm": "0", "size": "1.8T", "ro": "0", "type": "part", "mountpoint": "/a"}]}]}"#;
    let new = r#"{ "blockdevices": [ {"name": "sda", "maj:min": "8:0", "rm": false, "size": "1.8T", "ro": false,
        "type": "disk", "mountpoints": [null], "children": [
        {"name": "sda1", "maj:min": "8:1", "rm": false, "size": "1.8T", "ro": false, "type": "part",
         "mountpoints": ["/a"]}]}]}"#;
    let (old, new) = (machine(old), machine(new));
    assert_eq!(format!("{old:?}"), format!("{new:?}"));
    assert_eq!(new.mounts[0].devices, ["sda1"]);
    assert_eq!(new.block["sda1"].partition_of.as_deref(), Some("sda"));
}

#[test]
fn other_tables_with_a_name_are_none() {
    for text in [
        "NAME   SIZELIMIT OFFSET AUTOCLEAR RO BACK-FILE\n/dev/loop0 0 0 0 0 /x\n",
        "NAME    STATE  READ WRITE CKSUM\ntank   ONLINE 0 0 0\n",
        "NAME TYPE SIZE USED PRIO\n/dev/sda2 partition 4G 0B -2\n",
        "NAME=\"Debian GNU/Linux\"\n",
        "NAME  STATE\nweb   running\n",
    ] {
        assert!(read(&Text::new("x", text.as_bytes())).kind.is_none(), "{text}");
    }
}

#[test]
fn the_only_controllers_carry_the_disks() {
    let mut machine = machine("NAME    SIZE TYPE TRAN\nsda     10G disk sata\nnvme0n1 10G disk nvme\n");
    for (address, class) in [("01:00.0", 0x01_0802), ("00:17.0", 0x01_0601)] {
        let address: narrows_machine::pci::PciAddress = address.parse().expect("valid");
        let class = narrows_base::fact::Fact::known(class, "lspci");
        machine.pci.insert(address, narrows_machine::pci::PciDevice { address, class, ..Default::default() });
    }
    join::join(&mut machine);
    assert!(matches!(&machine.block["nvme0n1"].transport,
        Transport::NvmePci { controller, pci } if controller == "nvme0" && pci.bus == 1));
    assert!(matches!(&machine.block["sda"].transport, Transport::Sata(sata) if sata.pci.is_some()));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_table_panics(rows in proptest::collection::vec("[│├└─|` -]{0,8}[a-z0-9:.,/]{0,8} [0-9:]{0,5} +[0-9.GT ]{0,12}", 0..6)) {
        let text = format!("NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT\n{}\n", rows.join("\n"));
        let mut machine = machine(&text);
        join::join(&mut machine);
    }
}

#[test]
fn pairs_are_read_with_their_escapes() {
    let line = "NAME=\"sda1\" MAJ_MIN=\"8:1\" MODEL=\"\" MOUNTPOINT=\"/mnt/a\\x20b\" TYPE=\"part\"";
    let row = row_of_pairs(1, line).expect("is a row");
    assert_eq!(row.number(), Some((8, 1)));
    assert_eq!(row.mount_points().collect::<Vec<_>>(), ["/mnt/a b"]);
    assert_eq!(row.get("MODEL"), None);
}

#[test]
fn other_pairs_are_none() {
    assert_eq!(row_of_pairs(1, "NAME=\"Debian GNU/Linux\""), None);
    assert_eq!(row_of_pairs(1, "DEVNAME=/dev/sda NAME=\"x"), None);
}

proptest! {
    #[test]
    fn no_line_panics(line in "\\PC{0,80}", value in "[\\\\x0-9a-f]{0,20}") {
        let _ = row_of_pairs(1, &line);
        let _ = unescape(&value);
    }
}
