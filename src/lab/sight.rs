//! What is there of a lab: looked up in `/sys` and `/proc`, never remembered.

use std::collections::BTreeSet;

use super::journal::{Head, NamedDevice};
use super::names::Names;
use super::step::On;
use super::usage;
use crate::machine::block::{DmKind, DmTarget, dm_targets};
use crate::machine::root::Root;
use crate::machine::{mount, zfs};
use crate::units::Bytes;

/// Kernel names of whole devices.
fn blocks(root: &Root) -> Vec<String> {
    root.list("/sys/block")
}

/// The start of the machine that is running.
pub fn boot(root: &Root) -> String {
    root.text("/proc/sys/kernel/random/boot_id").get().unwrap_or_default()
}

/// A name for an array that none has.
pub fn free_array(root: &Root) -> Option<String> {
    let taken: BTreeSet<String> = blocks(root).into_iter().collect();
    (0..=127).rev().map(|number| format!("md{number}")).find(|name| !taken.contains(name))
}

/// What a device is found again by; `None` when nothing tells it from others.
pub fn named(root: &Root, name: &str) -> Option<NamedDevice> {
    let usage = usage::of(root, name);
    let identity = usage.identity?;
    Some(NamedDevice {
        name: name.to_owned(),
        number: usage.number?,
        bytes: usage.size?.get(),
        volatile: identity.what == "kernel name",
        identity: identity.text,
    })
}

/// The kernel name of each named device today: with this identity and size. `None` for one that is not there.
pub fn find_devices(root: &Root, head: &Head) -> Vec<Option<String>> {
    let today: Vec<NamedDevice> = blocks(root).iter().filter_map(|name| identified(root, name)).collect();
    let is_same_boot = boot(root) == head.boot;
    let find = |device: &NamedDevice| {
        let is_it = |other: &&NamedDevice| {
            other.identity == device.identity
                && other.bytes == device.bytes
                && (!device.volatile || is_same_boot)
        };
        // Two paths to one drive have one serial number; the name that it had comes first then.
        let by_name = today.iter().filter(is_it).find(|other| other.name == device.name);
        by_name.or_else(|| today.iter().find(is_it)).map(|found| found.name.clone())
    };
    head.devices.iter().map(find).collect()
}

/// As [`named`], without a look at every process.
fn identified(root: &Root, name: &str) -> Option<NamedDevice> {
    let identity = crate::machine::usage::Identity::of(root, name);
    let (identity, volatile) = identity.text()?;
    Some(NamedDevice {
        name: name.to_owned(),
        number: crate::machine::usage::number(root, name).get()?,
        bytes: root.number(&format!("/sys/class/block/{name}/size")).get()?.checked_mul(512)?,
        identity,
        volatile,
    })
}

/// The kernel name of what the device mapper calls `name`.
pub fn mapping(root: &Root, name: &str) -> Option<String> {
    let is_it =
        |block: &String| root.text(&format!("/sys/block/{block}/dm/name")).get().as_deref() == Some(name);
    blocks(root).into_iter().filter(|block| block.starts_with("dm-")).find(is_it)
}

/// The kernel name of what is made.
pub fn kernel_name(root: &Root, on: On, names: &Names) -> Option<String> {
    match on {
        On::Device(index) => names.devices.get(index).cloned(),
        On::Array => Some(names.array.clone()).filter(|name| root.exists(&format!("/sys/block/{name}"))),
        On::Volume => mapping(root, &names.mapped_volume()),
        On::Mapping => mapping(root, &names.mapping()),
        On::Zero => mapping(root, &names.zero()),
        // Volumes of other pools are not even opened.
        On::Zvol if !has_pool(root, names) => None,
        On::Zvol => {
            let is_it = |name: &String| zfs::volume(root, name).is_some_and(|set| set == names.zvol());
            blocks(root).into_iter().filter(|name| name.starts_with("zd")).find(is_it)
        }
    }
}

/// What the device mapper does in a device with this kernel name: the word of each of its targets. Empty where it does not
/// tell.
pub fn targets(root: &Root, name: &str) -> Vec<String> {
    let word = |target: DmTarget| match target.kind {
        DmKind::Linear { .. } => "linear".to_owned(),
        DmKind::Striped { .. } => "striped".to_owned(),
        DmKind::Crypt(_) => "crypt".to_owned(),
        DmKind::Other(word) => word,
    };
    dm_targets(root, name).get().into_iter().flatten().map(word).collect()
}

/// Something that is built on the devices, and that nothing is built on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Top {
    /// An array of our devices and no others.
    Array(String),
    /// A mapping of ours, as the device mapper names it.
    Mapping(String),
    /// Something that is not ours, as a phrase.
    Foreign(String),
}

/// Whether the pool of this lab is imported.
pub fn has_pool(root: &Root, names: &Names) -> bool {
    zfs::is_imported(root, &names.pool())
}

/// Whether a pool that `zpool list -v -H -P` lists stands on nodes of this lab and on nothing else.
pub fn is_pool_ours(listing: &str, names: &Names) -> bool {
    let nodes = names.pool_nodes();
    let below: Vec<&str> =
        listing.split_whitespace().filter(|word| word.starts_with('/') || word.contains("/dev/")).collect();
    !below.is_empty() && below.iter().all(|word| nodes.iter().any(|node| node == word))
}

/// What is built on a device, on the lab's zero target or on what is built on them, from the top. What stands on the lab's ZFS
/// volume counts, the volume itself does not: the kernel does not show what it is built on.
pub fn tops(root: &Root, devices: &[String], names: &Names) -> Vec<Top> {
    let mut found = BTreeSet::new();
    let zvol = kernel_name(root, On::Zvol, names);
    let zero = mapping(root, &names.zero()).filter(|block| stands_on_nothing(root, block));
    let devices: &Vec<String> = &devices.iter().cloned().chain(zvol).chain(zero).collect();
    for device in devices {
        climb(root, device, &mut found);
    }
    if found.is_empty() {
        // One that has no table yet stands on nothing, and a zero target never stands on anything.
        let alone = [names.mapping(), names.mapped_volume(), names.zero()].into_iter();
        return alone.filter(|name| is_alone(root, name)).map(Top::Mapping).collect();
    }
    let is_top = |name: &&String| root.list(&format!("/sys/class/block/{name}/holders")).is_empty();
    found.iter().filter(is_top).map(|name| classify(root, name, devices, names)).collect()
}

/// Whether there is a mapping of this name that stands on nothing.
fn is_alone(root: &Root, name: &str) -> bool {
    mapping(root, name).is_some_and(|block| stands_on_nothing(root, &block))
}

fn stands_on_nothing(root: &Root, block: &str) -> bool {
    root.list(&format!("/sys/class/block/{block}/slaves")).is_empty()
}

fn climb(root: &Root, name: &str, found: &mut BTreeSet<String>) {
    for holder in root.list(&format!("/sys/class/block/{name}/holders")) {
        if found.insert(holder.clone()) {
            climb(root, &holder, found);
        }
    }
}

fn classify(root: &Root, name: &str, devices: &[String], names: &Names) -> Top {
    if !stands_on(root, name, devices) {
        return Top::Foreign(format!("{name}, which is built on other devices, too"));
    }
    if let Some(mapped) = root.text(&format!("/sys/block/{name}/dm/name")).get() {
        return if names.is_mapped(&mapped) {
            Top::Mapping(mapped)
        } else {
            Top::Foreign(format!("{name} ({mapped})"))
        };
    }
    let is_array = root.exists(&format!("/sys/block/{name}/md"));
    if is_array { Top::Array(name.to_owned()) } else { Top::Foreign(name.to_owned()) }
}

/// Whether everything that a device is built on is built on `devices` and on nothing else.
fn stands_on(root: &Root, name: &str, devices: &[String]) -> bool {
    let slaves = root.list(&format!("/sys/class/block/{name}/slaves"));
    !slaves.is_empty()
        && slaves.iter().all(|slave| devices.contains(slave) || stands_on(root, slave, devices))
}

/// Whether the array of this lab is there without a member, as a tool leaves it that was ended half-way.
pub fn has_empty_array(root: &Root, names: &Names) -> bool {
    let block = format!("/sys/block/{}", names.array);
    let state = root.text(&format!("{block}/md/array_state")).get();
    root.list(&format!("{block}/slaves")).is_empty()
        && state.is_some_and(|state| state == "clear" || state == "inactive")
}

/// Whether the mount point of this lab is one, in the mount namespace that we are in.
pub fn is_mounted(root: &Root, names: &Names) -> bool {
    mount::read(root).iter().any(|mount| mount.point == names.mount_point())
}

/// The loop device over a scratch file.
pub fn loop_over(root: &Root, file: &str) -> Option<String> {
    let is_it = |name: &String| {
        root.text(&format!("/sys/block/{name}/loop/backing_file")).get().as_deref() == Some(file)
    };
    blocks(root).into_iter().filter(|name| name.starts_with("loop")).find(is_it)
}

/// What an array is still busy with: the word of `sync_action`, unless nothing goes on (`idle`, or `frozen` by somebody); and
/// how far it is, from 0 to 1.
pub fn resync(root: &Root, array: &str) -> Option<(String, Option<f64>)> {
    let md = format!("/sys/block/{array}/md");
    let action = root.text(&format!("{md}/sync_action")).get();
    let action = action.filter(|word| word != "idle" && word != "frozen")?;
    let done = root.text(&format!("{md}/sync_completed")).get().and_then(|text| {
        let (done, all) = text.split_once('/')?;
        let (done, all): (f64, f64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
        (all > 0.0).then_some(done / all)
    });
    Some((action, done))
}

/// The size of a device.
pub fn size(root: &Root, name: &str) -> Option<Bytes> {
    let sectors = root.number(&format!("/sys/class/block/{name}/size")).get()?;
    Some(Bytes::new(sectors.checked_mul(512)?))
}

#[cfg(test)]
mod tests {
    use super::super::names::{LabId, tests::names};
    use super::*;
    use crate::machine::tree::{Node, Tree};

    /// `md127` of the two devices, and an encrypted mapping on it.
    fn machine(mapped: &str, other: bool) -> Root {
        let mut tree = Tree::new();
        let holders = [("nvme0n1", "md127"), ("sdb", "md127"), ("md127", "dm-0")];
        let extra: &[(&str, &str)] = if other { &[("sdz", "md127")] } else { &[] };
        for (below, above) in holders.iter().chain(extra) {
            tree.insert(&format!("/sys/class/block/{below}/holders/{above}"), Node::Dir);
            tree.insert(&format!("/sys/class/block/{above}/slaves/{below}"), Node::Dir);
        }
        tree.file("/sys/block/dm-0/dm/name", mapped);
        tree.insert("/sys/block/md127/md", Node::Dir);
        Root::from_tree(tree)
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
        let mut head = Head::new(LabId::new([0; 16]), String::new(), "md127".to_owned());
        let device = |name: &str, identity: &str| NamedDevice {
            name: name.to_owned(),
            number: (8, 0),
            bytes: 2048 * 512,
            identity: identity.to_owned(),
            volatile: false,
        };
        head.devices = vec![device("sdb", "S1"), device("sdc", "S2"), device("sda", "S9")];
        let root = Root::from_tree(tree);
        assert_eq!(find_devices(&root, &head), [Some("sda".to_owned()), Some("sdb".to_owned()), None]);
        let memory = NamedDevice { volatile: true, ..device("sda", "S1") };
        head.devices = vec![memory];
        head.boot = "another".to_owned();
        assert_eq!(find_devices(&root, &head), [None], "memory does not outlive a restart");
    }

    #[test]
    fn a_mapping_of_ours_that_has_no_table_yet_is_seen() {
        let mut tree = Tree::new();
        tree.file("/sys/block/dm-3/dm/name", &names().mapping());
        assert_eq!(seen(&Root::from_tree(tree.clone())), [Top::Mapping(names().mapping())]);
        tree.insert("/sys/class/block/dm-3/slaves/sdz", Node::Dir);
        assert_eq!(seen(&Root::from_tree(tree)), [], "on a device that is not ours");
    }

    #[test]
    fn the_zero_target_is_found_by_its_name_and_goes_after_what_stands_on_it() {
        let mut tree = Tree::new();
        tree.file("/sys/block/dm-4/dm/name", &names().zero());
        assert_eq!(seen(&Root::from_tree(tree.clone())), [Top::Mapping(names().zero())]);
        tree.file("/sys/block/dm-5/dm/name", &names().mapping());
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
        tree.file("/sys/block/dm-0/dm/name", &names().mapping());
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
}
