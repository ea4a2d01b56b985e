//! Snapshots: what goes in comes out, what is private does not, and hostile files end in an error.

#![expect(clippy::expect_used, reason = "a test may panic")]

use std::io::{self, Read};

use narrows::machine::snapshot::{MOST_BYTES, MOST_ENTRIES, SnapshotError, read, redact, write};
use narrows::machine::tree::{Miss, Node, Tree};
use proptest::prelude::*;
use tar::{Builder, EntryType, Header};

fn packed(tree: &Tree, redact: bool) -> Vec<u8> {
    let mut out = Vec::new();
    write(tree, &mut out, redact).expect("memory takes it");
    out
}

fn unpacked(bytes: &[u8]) -> Tree {
    read(bytes).expect("is a snapshot")
}

fn sample() -> Tree {
    let mut tree = Tree::new();
    tree.file("/sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0/class", "0x010802\n")
        .file("/sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0/nvme/nvme0/serial", "S4EWNX0N123456A     \n")
        .file("/sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0/nvme/nvme0/model", "Samsung SSD 970 EVO\n")
        .link("/sys/class/nvme/nvme0", "../../devices/pci0000:00/0000:00:1c.0/0000:02:00.0/nvme/nvme0")
        .file("/proc/self/mountinfo", "22 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n");
    tree.insert("/sys/firmware/dmi/tables/DMI", Node::Denied);
    tree.insert("/sys/class/net", Node::Dir);
    tree.insert("/sys/devices/odd", Node::File(vec![0, 255, 1, 254]));
    let long = format!("/sys/{}/leaf", "directory/".repeat(30));
    tree.file(&long, "deep").link("/sys/long", &long);
    tree
}

#[test]
fn what_goes_in_comes_out() {
    assert_eq!(unpacked(&packed(&sample(), false)), sample());
}

#[test]
fn equal_trees_give_equal_files() {
    assert_eq!(packed(&sample(), true), packed(&sample(), true));
}

#[test]
fn a_plain_tar_archive_is_read_too() {
    let zstd = packed(&sample(), false);
    let mut tar = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(zstd.as_slice())
        .expect("is zstd")
        .read_to_end(&mut tar)
        .expect("unpacks");
    assert_eq!(unpacked(&tar), sample());
}

proptest! {
    #[test]
    fn any_tree_survives(
        entries in prop::collection::btree_map("(/[a-z0-9:_-]{1,12}){1,6}", (0u8..4, any::<Vec<u8>>()), 0..20)
    ) {
        let mut tree = Tree::new();
        for (path, (kind, content)) in entries {
            let node = match kind {
                0 => Node::File(content),
                1 => Node::Link(format!("../{}", "x/".repeat(content.len()))),
                2 => Node::Dir,
                _ => Node::Denied,
            };
            tree.insert(&path, node);
        }
        prop_assert_eq!(unpacked(&packed(&tree, false)), tree.clone());
        let redacted = unpacked(&packed(&tree, true));
        prop_assert_eq!(redacted, redact::redacted(&tree));
    }

    #[test]
    fn any_damage_ends_in_a_tree_or_an_error(at in 0usize..4000, value: u8, cut in 0usize..4000) {
        let mut bytes = packed(&sample(), false);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= value;
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        let _ = read(bytes.as_slice());
    }

    #[test]
    fn garbage_is_refused(bytes: Vec<u8>) {
        prop_assert!(read(bytes.as_slice()).is_err());
    }
}

/// Everything private that a machine may hold.
#[derive(Debug, Clone)]
struct Secrets {
    serial: String,
    uuid: String,
    mac: String,
    wwn: String,
    host: String,
    mount: String,
    address: String,
    lvm: String,
}

fn secrets() -> impl Strategy<Value = Secrets> {
    (
        "[A-Z]{2}[A-Z0-9]{6,14}[1-9]",
        "[1-9a-f]{8}-[1-9a-f]{4}-[1-9a-f]{4}-[1-9a-f]{4}-[1-9a-f]{12}",
        "52(:[1-9a-f]{2}){5}",
        "5[1-9a-f]{15}",
        "[b-z]{4}q[0-9]{2}x",
        "[b-z]{4}w[0-9]{2}y",
        (11u8..120, 1u8..254, 1u8..254, 1u8..254),
        "[A-Za-z0-9]{60}9zQ4",
    )
        .prop_map(|(serial, uuid, mac, wwn, host, mount, (a, b, c, d), lvm)| Secrets {
            serial,
            uuid,
            mac,
            wwn,
            host,
            mount: format!("/mnt/{mount}"),
            address: format!("{a}.{b}.{c}.{d}"),
            lvm,
        })
}

/// A machine with its secrets in every place where machines have them.
fn planted(s: &Secrets) -> Tree {
    let plain_uuid = s.uuid.replace('-', "");
    let nvme = "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0";
    let mut tree = Tree::new();
    tree.file(&format!("{nvme}/serial"), &format!("{}   \n", s.serial))
        .file(&format!("{nvme}/model"), &format!("Samsung SSD {}\n", s.serial))
        .file(
            &format!("{nvme}/subsysnqn"),
            &format!("nqn.2014.08.org.nvmexpress:144d144d{}  Samsung\n", s.serial),
        )
        .file(&format!("{nvme}/hostnqn"), &format!("nqn.2014-08.org.nvmexpress:uuid:{}\n", s.uuid))
        .file(&format!("{nvme}/address"), &format!("traddr={},trsvcid=4420\n", s.address))
        .file(&format!("{nvme}/nvme0n1/wwid"), &format!("eui.{}\n", s.wwn))
        .file(&format!("{nvme}/nvme0n1/uuid"), &format!("{}\n", s.uuid))
        .link("/sys/class/nvme/nvme0", "../../devices/pci0000:00/0000:01:00.0/nvme/nvme0")
        .file("/sys/block/sda/device/wwid", &format!("t10.ATA     MODEL    {}\n", s.serial))
        .file("/sys/block/sda/device/sas_address", &format!("0x{}\n", s.wwn))
        .file("/sys/block/dm-0/dm/uuid", &format!("CRYPT-LUKS2-{plain_uuid}-luks-{}\n", s.uuid))
        .file("/sys/block/dm-0/dm/name", &format!("luks-{}\n", s.uuid))
        .file("/sys/block/dm-1/dm/uuid", &format!("LVM-{}\n", s.lvm))
        .file("/sys/block/dm-1/dm/name", &format!("{}--vg-root\n", s.host))
        .file("/sys/block/loop0/loop/backing_file", &format!("{}/disk.img\n", s.mount))
        .file(&format!("/sys/fs/btrfs/{}/label", s.uuid), &format!("{}\n", s.host))
        .file("/sys/class/net/eth0/address", &format!("{}\n", s.mac))
        .file("/sys/class/dmi/id/product_serial", &format!("{}\n", s.serial))
        .file("/sys/class/dmi/id/product_name", "PowerEdge R740xd\n")
        .file("/proc/sys/kernel/hostname", &format!("{}\n", s.host))
        .file("/proc/cmdline", &format!("root=UUID={} ro resume=/dev/mapper/{}--vg-swap\n", s.uuid, s.host))
        .file(
            "/proc/self/mountinfo",
            &format!(
                "22 1 254:0 / / rw - ext4 /dev/mapper/luks-{} rw\n\
                 23 22 0:40 / {} rw - nfs4 {}.lan:/vol/{} rw,addr={}\n",
                s.uuid, s.mount, s.host, s.serial, s.address
            ),
        )
        .file(&format!("{}/notes.txt", s.mount), &s.serial)
        .link(&format!("/dev/disk/by-id/nvme-Samsung_SSD_{}", s.serial), "../../nvme0n1")
        .link(&format!("/dev/disk/by-id/wwn-0x{}-part1", s.wwn), "../../sda1")
        .link(&format!("/dev/disk/by-uuid/{}", s.uuid), "../../dm-0")
        .link(
            &format!("/dev/disk/by-path/ip-{}:3260-iscsi-iqn.2003-01.org.{}:x-lun-0", s.address, s.host),
            "../../sdb",
        )
        .link(&format!("/dev/mapper/luks-{}", s.uuid), "../dm-0")
        .file("/narrows/probe/tcp", &format!("{}:4420 rtt 100\n", s.address));
    let mut dmi = vec![2, 15, 2, 0, 1, 2, 3, 4, 5, 9, 0, 3, 0, 10, 0];
    for text in ["ASUSTeK", "X99-A", "Rev 1", &s.serial, &s.serial] {
        dmi.extend_from_slice(text.as_bytes());
        dmi.push(0);
    }
    dmi.push(0);
    tree.insert("/sys/firmware/dmi/tables/DMI", Node::File(dmi));
    let mut page = vec![0, 0x80, 0, 20];
    page.extend_from_slice(s.serial.as_bytes());
    tree.insert("/sys/block/sda/device/vpd_pg80", Node::File(page));
    tree
}

/// Everything that a tree holds, in one text.
fn everything(tree: &Tree) -> String {
    tree.iter()
        .map(|(path, node)| match node {
            Node::File(content) => format!("{path}\n{}\n", String::from_utf8_lossy(content)),
            Node::Link(target) => format!("{path}\n{target}\n"),
            Node::Dir | Node::Denied => format!("{path}\n"),
        })
        .collect()
}

proptest! {
    #[test]
    fn no_planted_secret_survives(s in secrets()) {
        let before = planted(&s);
        let after = unpacked(&packed(&before, true));
        let all = everything(&after).to_ascii_lowercase();
        let name = s.mount.trim_start_matches("/mnt/").to_owned();
        for secret in [&s.serial, &s.uuid, &s.uuid.replace('-', ""), &s.mac, &s.wwn, &s.host, &name, &s.address, &s.lvm] {
            prop_assert!(!all.contains(&secret.to_ascii_lowercase()), "{} is still there:\n{}", secret, all);
        }
        prop_assert_eq!(after.iter().count(), before.iter().count());
    }

    #[test]
    fn what_belonged_together_still_does(s in secrets()) {
        let after = redact::redacted(&planted(&s));
        let text = |path: &str| String::from_utf8_lossy(after.read(path).expect("is there")).trim().to_owned();
        let name = text("/sys/block/dm-0/dm/name");
        prop_assert!(after.resolve(&format!("/dev/mapper/{name}")).is_err(), "dm-0 itself was never there");
        prop_assert_eq!(after.read_link(&format!("/dev/mapper/{name}")), Ok("../dm-0"));
        let device = format!("/dev/mapper/{name} ");
        prop_assert!(text("/proc/self/mountinfo").contains(&device));
        let remote = text("/sys/class/nvme/nvme0/address");
        prop_assert_eq!(&remote, "traddr=192.0.2.1,trsvcid=4420");
        prop_assert!(text("/proc/self/mountinfo").contains("addr=192.0.2.1"));
        prop_assert_eq!(text("/sys/class/nvme/nvme0/serial").len(), s.serial.len());
        prop_assert_eq!(text("/sys/class/dmi/id/product_name"), "PowerEdge R740xd");
    }
}

/// Where a machine has names that people chose, each `@` one of them.
const NAMED: [&str; 34] = [
    "/sys/block/dm-0/dm/name = @-@",
    "/sys/block/dm-1/dm/name = @",
    "/sys/block/dm-1/dm/uuid = CRYPT-PLAIN-@",
    "/sys/block/dm-2/dm/uuid = mpath-@",
    "/sys/block/md_@/md/level = raid1",
    "/sys/block/loop0/loop/backing_file = /mnt/@/@.img",
    "/sys/block/rbd0/device/pool = @",
    "/sys/block/sda/device/model = @",
    "/sys/block/sda/sda1/uevent = MAJOR=8\nDEVNAME=@\nPARTNAME=@\n",
    "/sys/block/bcache0/bcache/label = @",
    "/sys/class/iscsi_session/session1/targetname = iqn.2003-01.org.@:@",
    "/sys/class/iscsi_session/session1/username = @",
    "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/subsysnqn = nqn.2003-01.org.@:@",
    "/sys/devices/pci0000:00/0000:01:00.0/net/@/ifalias = @",
    "/sys/devices/pci0000:00/0000:02:00.0/net/eth0/uevent = INTERFACE=@\n",
    "/sys/devices/pci0000:00/0000:03:00.0/usb1/1-1/product = @",
    "/sys/fs/btrfs/0f8fad5b-d9cb-469f-a165-70867728950e/label = @",
    "/proc/spl/kstat/zfs/@/state = ONLINE",
    "/proc/spl/kstat/zfs/@/objset-0x36 = dataset_name 7 @/@",
    "/proc/self/mountinfo = 22 1 254:0 / /mnt/@ rw - ext4 /dev/mapper/@-@ rw\n23 22 0:40 / /mnt/@ rw - ceph 10.1.1.1:6789:/@ rw,name=@\n24 22 0:41 / /@ rw - ceph @@a.@=/@ rw\n25 22 0:42 / /@ rw - fuse.glusterfs @:@ rw\n26 22 0:43 / /@ rw - fuse.rclone @:@ rw\n27 22 0:44 / /@ rw - 9p @ rw\n28 22 0:45 / /@ rw - virtiofs @ rw\n",
    "/proc/1/mountinfo = 29 22 0:46 / /@ rw - fuse.mergerfs @:@ rw\n30 22 0:47 / /@ rw - fuse.s3fs @ rw\n31 22 0:48 / /@ rw - gpfs @ rw,dev=@\n32 22 0:49 / /@ rw - beegfs beegfs_@ rw,cfgFile=/etc/@\n33 22 0:50 /@ /@ rw - btrfs /dev/sda rw,subvol=/@,@\n34 22 0:51 / /@ rw - overlay @ rw,lowerdir=/@:/@\n",
    "/proc/mounts = @:/@ /@ nfs4 rw,addr=10.1.1.2 0 0\n//@/@ /@ cifs rw,username=@,domain=@ 0 0\n@/@ /@ zfs rw 0 0\n",
    "/proc/mdstat = md127 : active raid1 @[0] sdb[1]\n",
    "/proc/swaps = /dev/mapper/@ partition 1 0 -2\n",
    "/proc/cmdline = root=/dev/mapper/@-@ rd.lvm.lv=@/@ ip=dhcp:@ LABEL=@\n",
    "/proc/version = Linux version 6.1.0-@ (@@@) #1\n",
    "/proc/interrupts =  24: 5 PCI-MSI 1-edge @-TxRx-0\n",
    "/proc/sys/kernel/hostname = @",
    "/proc/fs/nfsd/exports = /srv/@ @(rw)\n",
    "/narrows/probe/zvol/zd0 = @/@",
    "/narrows/probe/error = cannot open /mnt/@/@: No such file or directory",
    "/home/@/@/x = @",
    "/dev/@/@ = @",
    "/dev/disk/by-label/@ = @",
];

/// A name, and the part of it that is no word.
fn name(number: usize) -> (String, String) {
    let letter = |at: usize| char::from(b"bdfghjklmp"[at % 10]);
    let core: String = ['z', 'q', letter(number), letter(number / 10), letter(number / 100)].iter().collect();
    let forms = ["vg_#", "#-swap", "#7", "mpath#", "nvme_#", "#.lan", "ü#", "crypt-#", "dm_#_e1000", "#"];
    (forms[number / 7 % 10].replace('#', &core), core)
}

#[test]
fn no_name_that_people_chose_survives() {
    let mut next = 0;
    let mut filled = |template: &str| {
        let named = template.split('@').map(str::to_owned).reduce(|out, part| {
            next += 1;
            out + &name((next - 1) % 200).0 + &part
        });
        named.unwrap_or_default()
    };
    for _ in 0..3 {
        let mut tree = Tree::new();
        for (path, content) in NAMED.iter().filter_map(|file| file.split_once(" = ")) {
            tree.file(&filled(path), &filled(content));
        }
        for path in ["/sys/class/net/@", "/dev/mapper/@-@", "/dev/md/@", "/dev/disk/by-id/dm-name-@-@"] {
            tree.link(&filled(path), &filled("../../@"));
        }
        let all = everything(&unpacked(&packed(&tree, true))).to_lowercase();
        let told: Vec<_> = (0..200).map(name).filter(|(_, core)| all.contains(core)).collect();
        assert!(told.is_empty(), "{told:?}:\n{all}");
    }
    assert!(next > 300, "{next} places");
}

#[test]
fn what_identifies_nobody_stays_as_it_is() {
    let mut tree = Tree::new();
    tree.file("/sys/devices/pci0000:00/0000:02:00.0/current_link_speed", "5.0 GT/s PCIe\n")
        .file("/sys/devices/pci0000:00/0000:02:00.0/local_cpulist", "0-11\n")
        .file(
            "/sys/devices/pci0000:00/0000:02:00.0/resource",
            "0x00000000fb300000 0x00000000fb303fff 0x0000000000140204\n",
        )
        .file("/sys/class/dmi/id/board_name", "X99-A\n")
        .file("/sys/class/net/lo/address", "00:00:00:00:00:00\n")
        .file("/sys/bus/pci/slots/4/address", "0000:02:00\n")
        .file("/proc/meminfo", "MemTotal:       32781680 kB\n")
        .file("/proc/diskstats", " 259 0 nvme0n1 123456 0 7890123 4567 0 0 0 0 0 1234 4567 0 0 0 0 0 0\n")
        .file("/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n")
        .file("/narrows/probe/dm/dm-0", "0 1953480704 crypt aes-xts-plain64 64 0 259:2 32768\n")
        .link("/sys/class/block/nvme0n1", "../../devices/pci0000:00/0000:02:00.0/nvme/nvme0/nvme0n1");
    assert_eq!(redact::redacted(&tree), tree);
}

#[test]
fn a_host_name_that_is_a_word_of_the_kernel_breaks_nothing() {
    for host in ["nvme0n1", "pci", "X99-A", "ext4", "sys"] {
        let mut tree = Tree::new();
        tree.file("/sys/class/block/nvme0n1/size", "1000\n")
            .file("/sys/bus/pci/slots/1/address", "0000:02:00\n")
            .file("/sys/class/dmi/id/board_name", "X99-A\n")
            .file("/proc/self/mountinfo", "22 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n");
        let without = redact::redacted(&tree);
        tree.file("/proc/sys/kernel/hostname", host);
        let mut with = redact::redacted(&tree);
        with.file("/proc/sys/kernel/hostname", "host\n");
        let mut want = without.clone();
        want.file("/proc/sys/kernel/hostname", "host\n");
        assert_eq!(with, want, "{host}");
    }
}

fn header(kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(size);
    header
}

fn raw_name(header: &mut Header, name: &str) {
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_cksum();
}

#[test]
fn a_path_that_climbs_out_stays_within_the_tree() {
    let mut builder = Builder::new(Vec::new());
    for name in ["../../etc/shadow", "/etc/passwd", "sys/../../../root/x"] {
        let mut header = header(EntryType::Regular, 4);
        raw_name(&mut header, name);
        builder.append(&header, &b"evil"[..]).expect("memory takes it");
    }
    let tree = unpacked(&builder.into_inner().expect("ends"));
    let paths: Vec<&str> = tree.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/etc", "/etc/passwd", "/etc/shadow", "/root", "/root/x"]);
}

#[test]
fn links_in_a_circle_or_out_of_the_tree_lead_nowhere() {
    let mut tree = Tree::new();
    tree.link("/a", "/b").link("/b", "a").link("/out", "../../../../etc/passwd");
    let tree = unpacked(&packed(&tree, false));
    assert_eq!(tree.read("/a"), Err(Miss::Absent));
    assert_eq!(tree.read("/out"), Err(Miss::Absent));
    redact::redacted(&tree);
}

/// An archive that goes on for ever.
struct Endless {
    header: Vec<u8>,
    at: usize,
    names: u64,
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.header.len() {
            self.names += 1;
            let mut header = header(EntryType::Regular, 0);
            raw_name(&mut header, &format!("sys/{}", self.names));
            self.header = header.as_bytes().to_vec();
            self.at = 0;
        }
        let length = into.len().min(self.header.len() - self.at);
        into[..length].copy_from_slice(&self.header[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

#[test]
fn an_archive_without_end_is_given_up_on() {
    let error = read(Endless { header: Vec::new(), at: 0, names: 0 }).expect_err("never ends");
    assert!(matches!(error, SnapshotError::TooLarge { .. }), "{error}");
    assert_eq!(MOST_ENTRIES, 200_000);
}

#[test]
fn a_bomb_is_given_up_on() {
    let mut start = header(EntryType::Regular, 1 << 40);
    raw_name(&mut start, "sys/bomb");
    let plain = start.as_bytes().chain(io::repeat(0));
    let error = read(plain).expect_err("is too large");
    assert!(matches!(error, SnapshotError::TooLarge { .. }), "{error}");

    let mut start = header(EntryType::Regular, MOST_BYTES * 2);
    raw_name(&mut start, "sys/bomb");
    let plain = start.as_bytes().chain(io::repeat(0)).take(MOST_BYTES + (1 << 20));
    let bomb = ruzstd::encoding::compress_to_vec(plain, ruzstd::encoding::CompressionLevel::Fastest);
    assert!(bomb.len() < 1 << 20, "{} bytes", bomb.len());
    let error = read(bomb.as_slice()).expect_err("is too large");
    assert!(matches!(error, SnapshotError::TooLarge { .. }), "{error}");
}

#[test]
fn deep_paths_cannot_take_more_memory_than_the_limit() {
    let mut builder = Builder::new(Vec::new());
    for number in 0..200 {
        let path = format!("{number}/{}", "d/".repeat(2000));
        builder
            .append_data(&mut header(EntryType::Regular, 0), path.trim_end_matches('/'), io::empty())
            .expect("memory takes it");
    }
    let error = read(builder.into_inner().expect("ends").as_slice()).expect_err("is too large");
    assert!(matches!(error, SnapshotError::TooLarge { .. }), "{error}");
}

#[test]
fn a_snapshot_that_is_cut_off_says_so() {
    let whole = packed(&sample(), false);
    for length in [600, whole.len() / 2, whole.len() - 1] {
        let cut = whole.get(..length.min(whole.len() - 1)).expect("is shorter");
        let error = read(cut).expect_err("is cut off");
        assert!(matches!(error, SnapshotError::Damaged(_)), "{error}");
        assert!(error.to_string().contains("\nhint: "), "{error}");
    }
}

#[test]
fn a_snapshot_of_a_later_format_is_refused_by_name() {
    let mut builder = Builder::new(Vec::new());
    let manifest = br#"{"schema":"narrows/snapshot/9","tool_version":"9.0.0","redacted":true}"#;
    builder
        .append_data(
            &mut header(EntryType::Regular, manifest.len() as u64),
            "narrows/manifest.json",
            &manifest[..],
        )
        .expect("memory takes it");
    let error = read(builder.into_inner().expect("ends").as_slice()).expect_err("is unknown");
    assert!(error.to_string().contains("narrows/snapshot/9"), "{error}");
}

#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = write(&sample(), Full, true).expect_err("is full");
    assert!(matches!(error, SnapshotError::Write(_)));
}
