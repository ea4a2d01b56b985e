use super::super::names::LabId;
use super::super::slice::PARTITION;
use super::*;
use crate::testing::names;
use narrows_load::guard::RunSecret;
use narrows_machine::tree::{Node, Tree};

/// `md127` of the two devices, and an encrypted mapping on it.
fn machine(mapped: &str, other: bool) -> Root {
    let mut tree = Tree::new();
    let holders = [("nvme0n1p1", "md127"), ("sdb1", "md127"), ("md127", "dm-0")];
    let extra: &[(&str, &str)] = if other { &[("sdz", "md127")] } else { &[] };
    for (below, above) in holders.iter().chain(extra) {
        tree.insert(&format!("/sys/class/block/{below}/holders/{above}"), Node::Dir);
        tree.insert(&format!("/sys/class/block/{above}/slaves/{below}"), Node::Dir);
    }
    tree.file("/sys/block/dm-0/dm/name", mapped);
    tree.file("/sys/block/dm-0/dm/uuid", &format!("CRYPT-PLAIN-{mapped}"));
    tree.file("/sys/block/md127/md/uuid", &format!("{}\n", names().id.uuid()));
    Root::from_tree(tree)
}

/// A mapping of ours.
fn ours(tree: &mut Tree, block: &str, name: &str, uuid: &str) {
    tree.file(&format!("/sys/block/{block}/dm/name"), name);
    tree.file(&format!("/sys/block/{block}/dm/uuid"), uuid);
}

fn crypt() -> String {
    format!("CRYPT-PLAIN-{}", names().mapping())
}

fn seen(root: &Root) -> Vec<Top> {
    tops(root, &names().devices, &names())
}

#[test]
fn what_is_ours_is_known_by_its_name_and_by_what_it_stands_on() {
    let mapped = names().mapping();
    assert_eq!(seen(&machine(&mapped, false)), [Top::Mapping(mapped.clone())]);
    assert!(matches!(&seen(&machine("vault", false))[..], [Top::Foreign(_)]));
    assert!(matches!(&seen(&machine(&mapped, true))[..], [Top::Foreign(_)]), "a member is not ours");
    assert_eq!(mapping(&machine(&mapped, false), &mapped).as_deref(), Some("dm-0"));
}

#[test]
fn an_array_is_ours_by_its_uuid_and_by_nothing_else() {
    let of = |uuid: Option<&str>, superblocks: &[&[u8]]| {
        let mut tree = Tree::new();
        for (name, superblock) in ["nvme0n1p1", "sdb1"].iter().zip(superblocks) {
            tree.insert(&format!("/sys/class/block/{name}/holders/md9"), Node::Dir);
            tree.insert(&format!("/sys/class/block/md9/slaves/{name}"), Node::Dir);
            let head = [&[0; 4096], *superblock].concat();
            tree.insert(&format!("/dev/{name}"), Node::File(head));
        }
        tree.insert("/sys/block/md9/md", Node::Dir);
        if let Some(uuid) = uuid {
            tree.file("/sys/block/md9/md/uuid", uuid);
        }
        seen(&Root::from_tree(tree))
    };
    let superblock = |uuid: &[u8]| [b"\xfc\x4e\x2b\xa9", &[0; 12][..], uuid].concat();
    let (ours, other) = (superblock(&names().id.bytes()), superblock(&[3; 16]));
    let array = [Top::Array("md9".to_owned())];
    assert_eq!(of(Some(&names().id.uuid()), &[&ours, &ours]), array);
    assert_eq!(of(None, &[&ours, &ours]), array, "before the kernel told it");
    for (uuid, superblocks) in [
        (Some("11111111-2222-3333-4444-555555555555"), [&ours[..], &ours]),
        (Some("00000000-0000-0000-0000-000000000000"), [&ours[..], &other]),
        (None, [&ours[..], &other]),
        (None, [&[][..], &[]]),
    ] {
        assert!(matches!(&of(uuid, &superblocks)[..], [Top::Foreign(_)]), "{uuid:?}");
    }
}

#[test]
fn what_is_not_ours_is_seen_wherever_it_stands() {
    assert_eq!(foreign(&machine(&names().mapping(), false), &names()), None);
    // Below something of ours, on a disk in place of its slice, and under a name of ours.
    let mut below = Tree::new();
    for (one, other) in [("sdb1", "md5"), ("md5", "dm-0")] {
        below.insert(&format!("/sys/class/block/{one}/holders/{other}"), Node::Dir);
        below.insert(&format!("/sys/class/block/{other}/slaves/{one}"), Node::Dir);
    }
    below.file("/sys/block/md5/md/uuid", "11111111-2222-3333-4444-555555555555");
    ours(&mut below, "dm-0", &names().mapping(), &crypt());
    assert!(foreign(&Root::from_tree(below), &names()).is_some_and(|what| what.contains("md5")));
    let mut disk = Tree::new();
    disk.insert("/sys/class/block/sdb/holders/dm-7", Node::Dir);
    disk.insert("/sys/class/block/dm-7/slaves/sdb", Node::Dir);
    assert!(foreign(&Root::from_tree(disk), &names()).is_some());
    let mut named = Tree::new();
    ours(&mut named, "dm-3", &names().zero(), "somebody-elses");
    assert!(foreign(&Root::from_tree(named), &names()).is_some());
}

/// `zram0` with the lab's slice of it, `dm-0`, and `md127` on that.
fn on_a_mapping(more: &[(&str, &str)]) -> (Root, Names) {
    let names = Names { disks: vec!["zram0".to_owned()], devices: vec!["zram0p1".to_owned()], ..names() };
    let mut tree = Tree::new();
    for (below, above) in [("zram0", "dm-0"), ("dm-0", "md127")].iter().chain(more) {
        tree.insert(&format!("/sys/class/block/{below}/holders/{above}"), Node::Dir);
        tree.insert(&format!("/sys/class/block/{above}/slaves/{below}"), Node::Dir);
    }
    ours(&mut tree, "dm-0", &names.slice_mapping(0), &names.slice_uuid(0));
    tree.insert("/sys/block/md127/md", Node::Dir);
    tree.file("/sys/block/md127/md/uuid", &format!("{}\n", names.id.uuid()));
    let root = Root::from_tree(tree);
    let names = on_slices(&root, names);
    (root, names)
}

#[test]
fn a_slice_that_is_a_mapping_is_ground_and_nothing_to_take_down() {
    let (root, names) = on_a_mapping(&[]);
    assert_eq!(names.devices, ["dm-0"]);
    assert_eq!(tops(&root, &names.devices, &names), [Top::Array("md127".to_owned())]);
    assert_eq!(foreign(&root, &names), None);
    for beside in [("zram0", "dm-7"), ("dm-0", "dm-7"), ("zram0", "md9")] {
        let (root, names) = on_a_mapping(&[beside]);
        assert!(foreign(&root, &names).is_some(), "{beside:?}");
    }
}

#[test]
fn a_mapping_is_read_with_its_disk() {
    let mut tree = Tree::new();
    for (name, number, node, written) in [("zram0", "251:0", "70", "900"), ("dm-0", "252:0", "71", "80")] {
        tree.file(&format!("/sys/class/block/{name}/dev"), number);
        tree.file(&format!("/narrows/probe/sysfs-node/{name}"), node);
        tree.file(&format!("/sys/class/block/{name}/stat"), &format!("1 2 3 4 5 6 {written} 8 0 10 11\n"));
    }
    tree.file("/sys/class/block/zram0/queue/iostats", "1\n");
    let place = SlicePlace::mapping("zram0", "dm-0".to_owned());
    let now = moment(&Root::from_tree(tree.clone()), &place).unwrap();
    assert_eq!((now.disk.counters.written, now.slice.counters.written, now.rest), (900, 80, None));
    assert!(now.counts);
    tree.file("/sys/class/block/zram0/queue/iostats", "0\n");
    assert!(!moment(&Root::from_tree(tree), &place).unwrap().counts);
}

#[test]
fn a_slice_and_its_disk_are_read_at_one_moment() {
    let mut tree = Tree::new();
    for (name, number, node, written) in
        [("sdb", "8:16", "70", "900"), ("sdb1", "8:17", "71", "80"), ("sdb2", "8:18", "72", "0")]
    {
        tree.file(&format!("/sys/class/block/{name}/dev"), number);
        tree.file(&format!("/narrows/probe/sysfs-node/{name}"), node);
        tree.file(
            &format!("/sys/class/block/{name}/stat"),
            &format!("1 2 3 4 5 6 {written} 8 9 10 11 12 13 5\n"),
        );
    }
    tree.file("/sys/class/block/sdb/diskseq", "12\n").file("/sys/class/block/sdb/queue/iostats", "1\n");
    tree.file("/sys/class/block/sdb1/start", "2048").file("/sys/class/block/sdb1/size", "4096");
    let root = Root::from_tree(tree.clone());
    let now = moment(&root, &SlicePlace::partitions("sdb")).unwrap();
    assert_eq!((now.sequence, now.counts, now.disk.node, now.slice.number), (Some(12), true, 70, (8, 17)));
    assert_eq!((now.disk.counters.written, now.slice.counters.discarded), (900, 5));
    assert_eq!(partition_extent(&root, "sdb", PARTITION), Some(Extent { start: 1 << 20, bytes: 2 << 20 }));
    assert_eq!(moment(&root, &SlicePlace::partitions("sdc")), None);
    tree.file("/sys/class/block/sdb/queue/iostats", "0\n");
    assert!(!moment(&Root::from_tree(tree), &SlicePlace::partitions("sdb")).unwrap().counts);
}

#[test]
fn a_device_is_found_by_what_it_is_and_not_by_its_name() {
    let mut tree = Tree::new();
    for (name, number, serial, size) in
        [("sda", "8:0", "S1", "2048"), ("sdb", "8:16", "S2", "2048"), ("sdc", "8:32", "S1", "4096")]
    {
        for tail in ["block", "class/block"] {
            tree.file(&format!("/sys/{tail}/{name}/dev"), number);
            tree.file(&format!("/sys/{tail}/{name}/size"), size);
            tree.file(&format!("/sys/{tail}/{name}/device/serial"), serial);
        }
    }
    let mut head = Head::new(LabId::new([0; 16]), RunSecret::new([2; 32]), String::new(), "md127".to_owned());
    let device = |name: &str, identity: &str| NamedDevice {
        name: name.to_owned(),
        number: (8, 0),
        bytes: 2048 * 512,
        identity: identity.to_owned(),
        volatile: false,
        sequence: None,
        world_wide_name: None,
    };
    head.devices = vec![device("sdb", "S1"), device("sdc", "S2"), device("sda", "S9")];
    let there = |name: &str| Today::There(name.to_owned());
    let root = Root::from_tree(tree.clone());
    assert_eq!(find_devices(&root, &head), [there("sda"), there("sdb"), Today::Absent]);
    // The path of its file reads otherwise now: the number of its medium tells a loop device, in the same start of the machine.
    let mut looped = tree.clone();
    for tail in ["block", "class/block"] {
        for name in ["loop3", "sdd"] {
            looped
                .file(&format!("/sys/{tail}/{name}/dev"), "8:0")
                .file(&format!("/sys/{tail}/{name}/size"), "2048");
            looped.file(&format!("/sys/{tail}/{name}/diskseq"), if name == "sdd" { "6\n" } else { "7\n" });
        }
        looped.file(&format!("/sys/{tail}/loop3/loop/backing_file"), "/srv/chroot/tmp/0.img\n");
        looped.file(&format!("/sys/{tail}/sdd/device/serial"), "S7");
    }
    let root = Root::from_tree(looped);
    let renamed = |sequence| NamedDevice { sequence, ..device("loop3", "/tmp/0.img") };
    head.devices = vec![renamed(Some(7)), renamed(Some(8)), renamed(None), renamed(Some(6))];
    let absent = Today::Absent;
    assert_eq!(
        find_devices(&root, &head),
        [there("loop3"), absent.clone(), absent.clone(), absent.clone()],
        "a disk whose serial number is another is another disk"
    );
    let later = Head { boot: "another".to_owned(), ..head.clone() };
    assert_eq!(find_devices(&root, &later)[0], absent, "numbers begin anew");
    let named = NamedDevice { world_wide_name: Some("naa.5".to_owned()), ..device("sda", "S1") };
    head.devices = vec![device("sda", "S1"), named];
    let memory = NamedDevice { volatile: true, ..device("sda", "S1") };
    assert_eq!(find_devices(&root, &head), [there("sda"), Today::Absent], "another worldwide name");
    // A twin: the same serial number and size.
    tree.file("/sys/class/block/sdc/size", "2048").file("/sys/block/sdc/size", "2048");
    let twins = Today::Twins(vec!["sda".to_owned(), "sdc".to_owned()]);
    let root = Root::from_tree(tree);
    assert_eq!(
        find_devices(&root, &head)[0],
        there("sda"),
        "by its number, in the same start of the machine"
    );
    head.devices = vec![NamedDevice { number: (8, 48), ..device("sda", "S1") }];
    assert_eq!(find_devices(&root, &head), std::slice::from_ref(&twins), "plugged in anew");
    head.boot = "another".to_owned();
    head.devices = vec![memory, device("sda", "S1")];
    assert_eq!(find_devices(&root, &head), [Today::Absent, twins], "memory does not outlive a restart");
}

#[test]
fn a_mapping_of_ours_that_has_no_table_yet_is_seen() {
    let mut tree = Tree::new();
    ours(&mut tree, "dm-3", &names().mapping(), &crypt());
    assert_eq!(seen(&Root::from_tree(tree.clone())), [Top::Mapping(names().mapping())]);
    tree.insert("/sys/class/block/dm-3/slaves/sdz", Node::Dir);
    assert_eq!(seen(&Root::from_tree(tree)), [], "on a device that is not ours");
}

#[test]
fn the_zero_target_is_found_by_its_name_and_goes_after_what_stands_on_it() {
    let mut tree = Tree::new();
    ours(&mut tree, "dm-4", &names().zero(), &names().zero_uuid());
    assert_eq!(seen(&Root::from_tree(tree.clone())), [Top::Mapping(names().zero())]);
    ours(&mut tree, "dm-5", &names().mapping(), &crypt());
    tree.insert("/sys/class/block/dm-4/holders/dm-5", Node::Dir);
    tree.insert("/sys/class/block/dm-5/slaves/dm-4", Node::Dir);
    assert_eq!(seen(&Root::from_tree(tree.clone())), [Top::Mapping(names().mapping())]);
    tree.file("/sys/block/dm-5/dm/name", "vault");
    assert!(matches!(&seen(&Root::from_tree(tree))[..], [Top::Foreign(_)]), "somebody took it meanwhile");
    let mut other = Tree::new();
    other.file("/sys/block/dm-4/dm/name", "narrows-lab-zero-00000000");
    assert_eq!(seen(&Root::from_tree(other)), [], "that of another lab");
}

#[test]
fn a_resync_is_seen_until_the_array_is_idle() {
    let mut tree = Tree::new();
    tree.file("/sys/block/md0/md/sync_action", "resync\n")
        .file("/sys/block/md0/md/sync_completed", "25 / 100\n");
    let (word, done) = resync(&Root::from_tree(tree.clone()), "md0").unwrap();
    assert_eq!((word.as_str(), done), ("resync", Some(0.25)));
    tree.file("/sys/block/md0/md/sync_action", "idle\n");
    assert_eq!(resync(&Root::from_tree(tree), "md0"), None);
}

#[test]
fn a_mapping_on_the_labs_zfs_volume_is_the_labs() {
    let mut tree = Tree::new();
    tree.insert("/sys/class/block/zd16/holders/dm-0", Node::Dir);
    tree.insert("/sys/class/block/dm-0/slaves/zd16", Node::Dir);
    tree.insert("/sys/block/zd16", Node::Dir);
    ours(&mut tree, "dm-0", &names().mapping(), &crypt());
    let mapping = names().mapping();
    assert_eq!(seen(&Root::from_tree(tree.clone())), [], "of a volume that is not ours");
    tree.file(&format!("/proc/spl/kstat/zfs/{}/state", names().pool()), "ONLINE\n");
    assert_eq!(seen(&Root::from_tree(tree.clone())), [], "of another volume of the pool");
    tree.file("/narrows/probe/zvol/zd16", &names().zvol());
    assert_eq!(seen(&Root::from_tree(tree)), [Top::Mapping(mapping)]);
}

#[test]
fn a_pool_is_ours_when_nothing_else_is_in_it() {
    let (pool, directory) = (names().pool(), names().pool_directory());
    let line = |device: &str| format!("\t{device}\t1G\t-\t-\tONLINE\n");
    let ours = format!("{pool}\t1.9G\t-\tONLINE\t-\n\tmirror-0\t1G\n{}", line(&format!("{directory}/0")));
    assert!(is_pool_ours(&(ours.clone() + &line(&format!("{directory}/1"))), &names()));
    assert!(is_pool_ours(&ours, &names()), "the other one is missing");
    for other in ["/dev/sdz", &format!("{directory}/7"), "/srv/file.img"] {
        assert!(!is_pool_ours(&(ours.clone() + &line(other)), &names()), "{other}");
    }
    assert!(!is_pool_ours(&format!("{pool}\t1.9G\n"), &names()), "no device is named");
}

#[test]
fn the_highest_free_number_is_taken() {
    let mut tree = Tree::new();
    tree.insert("/sys/block/md127", Node::Dir);
    assert_eq!(free_array(&Root::from_tree(tree)).as_deref(), Some("md126"));
}

#[test]
fn partitions_that_only_the_kernel_knows_are_seen_and_other_directories_are_none() {
    let mut tree = Tree::new();
    tree.file("/sys/block/loop3/loop3p1/partition", "1\n");
    tree.file("/sys/block/loop4/queue/iostats", "1\n");
    let root = Root::from_tree(tree);
    assert!(has_partitions(&root, "loop3"));
    assert!(!has_partitions(&root, "loop4") && !has_partitions(&root, "loop5"));
}
