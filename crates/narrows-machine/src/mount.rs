//! What is mounted where, from `/proc/self/mountinfo` (kernel `Documentation/filesystems/proc.rst`, section 3.5).

use std::collections::BTreeMap;

use crate::block::dm_table::parse_number_pair;
use crate::block::{DevicePath, Remote};
use crate::root::Root;
use narrows_base::fact::Fact;

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// One mount.
#[derive(Debug, Clone, Default)]
pub struct Mount {
    /// Where it is mounted, octal escapes undone.
    pub point: String,
    /// `ext4`, `xfs`, `nfs4`, `tmpfs`…
    pub fstype: String,
    /// The device or remote name, octal escapes undone.
    pub source: String,
    /// The kernel names of the block devices below: one for most file systems, several for btrfs; none for a network
    /// or memory file system.
    pub devices: Vec<String>,
    /// Mount options of the file system and of the mount, joined.
    pub options: Vec<String>,
    /// The device number of the file system, `major:minor`.
    pub number: (u32, u32),
    /// The part of the file system that is mounted: `/` but for bind mounts and subvolumes.
    pub root: String,
    /// Where a network file system leads.
    pub remote: Option<Remote>,
    /// The number of connections of a NFS mount (`nconnect`).
    pub connections: Fact<u32>,
}

/// Reads every mount.
pub fn read(root: &Root) -> Vec<Mount> {
    let text = root.text(MOUNTINFO);
    let mut mounts = parse(text.value().map_or("", String::as_str));
    if text.value().is_some() && !mounts.iter().any(|mount| mount.point == "/") {
        mounts.splice(0..0, unlisted_root(root));
    }
    // Many mounts share a server or a pool; each is looked up once.
    let mut remotes: BTreeMap<String, Remote> = BTreeMap::new();
    for mount in &mut mounts {
        mount.devices = devices(root, mount);
        if mount.is_network() {
            let key = format!("{:?} {:?}", mount.option("addr"), mount.server_port());
            let remote = remotes.entry(key).or_insert_with(|| remote(root, mount));
            mount.remote = Some(remote.clone());
            mount.connections = connections(mount);
        }
    }
    mounts
}

impl Mount {
    /// The value of an option such as `addr=192.168.1.2`.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// The server's port of a network mount; `None` for any other, and for one that cannot be read.
    pub fn server_port(&self) -> Option<u16> {
        let default = match self.fstype.as_str() {
            // RFC 7530, section 3.1.
            "nfs" | "nfs4" => 2049,
            // MS-SMB2, section 2.1.
            "cifs" | "smb3" => 445,
            _ => return None,
        };
        // NFS 4 shows `port=0` when it was left to the default.
        match self.option("port").map(str::parse) {
            None | Some(Ok(0)) => Some(default),
            Some(port) => port.ok(),
        }
    }

    /// Whether it is a file system of a server that narrows knows the protocol of.
    pub fn is_network(&self) -> bool {
        matches!(self.fstype.as_str(), "nfs" | "nfs4" | "cifs" | "smb3")
    }
}

/// Reads mountinfo; a line that is malformed is left out. Devices and remotes are not part of the text.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// `36 35 98:0 /root /point rw,noatime shared:1 … - ext3 /dev/root rw,errors=continue`: any number of optional fields
/// stand before the dash.
fn parse_line(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ');
    let number = parse_number_pair(fields.by_ref().nth(2)?)?;
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    let of_mount = fields.next()?;
    fields.by_ref().find(|field| *field == "-")?;
    let fstype = unescape(fields.next()?);
    let source = unescape(fields.next()?);
    let of_filesystem = fields.next().unwrap_or_default();
    let mut options: Vec<String> = Vec::new();
    for option in of_filesystem.split(',').chain(of_mount.split(',')).filter(|option| !option.is_empty()) {
        let option = unescape(option);
        if !options.contains(&option) {
            options.push(option);
        }
    }
    point.starts_with('/').then(|| Mount { point, fstype, source, options, number, root, ..Mount::default() })
}

/// Undoes the kernel's `\040` for a blank, `\011`, `\012`, `\134` and `\043` (`mangle_path`, `fs/seq_file.c`).
pub fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        match (first, octal(after)) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What [`unescape`] undoes.
fn escape(text: &str) -> String {
    let escaped = text.chars().map(|letter| match letter {
        ' ' | '\t' | '\n' | '\\' | '#' => format!("\\{:03o}", u32::from(letter)),
        _ => letter.to_string(),
    });
    escaped.collect()
}

fn octal(bytes: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(bytes.get(..3)?).ok()?;
    digits
        .bytes()
        .all(|byte| (b'0'..=b'7').contains(&byte))
        .then(|| u8::from_str_radix(digits, 8).ok())
        .flatten()
}

/// The block devices below a mount. File systems with a device number of their own (btrfs, bcachefs) are found by
/// their source; a number with a driver behind it says it itself, whatever the source is called (`/dev/root`).
pub(super) fn devices(root: &Root, mount: &Mount) -> Vec<String> {
    if let Some(name) = by_number(root, mount.number) {
        return vec![name];
    }
    let sources = mount.source.split(':').filter(|source| source.starts_with("/dev/"));
    let named: Vec<String> = sources.filter_map(|source| by_path(root, source)).collect();
    match (mount.fstype.as_str(), named.first()) {
        ("btrfs", Some(first)) => btrfs_devices(root, first).unwrap_or(named),
        _ => named,
    }
}

/// The block device with a number, through `/sys/dev/block`. Major 0 is that of file systems without a device.
pub(super) fn by_number(root: &Root, (major, minor): (u32, u32)) -> Option<String> {
    let real =
        (major != 0).then(|| root.resolve(&format!("/sys/dev/block/{major}:{minor}")).get()).flatten()?;
    DevicePath::new(&real).name().map(str::to_owned)
}

/// The block device that a path below `/dev` leads to. Where `/dev` is not recorded, a name below `/dev/mapper` and the
/// two names of a logical volume are looked up among the device-mapper devices.
pub(super) fn by_path(root: &Root, path: &str) -> Option<String> {
    let resolved = root.resolve(path).get();
    let name = resolved.as_deref().unwrap_or(path).strip_prefix("/dev/")?;
    // A slash in a kernel name is `!` in sysfs: `cciss!c0d0`.
    let name = name.replace('/', "!");
    if root.exists(&format!("/sys/class/block/{name}")) {
        return Some(name);
    }
    by_mapped_name(root, path)
}

fn by_mapped_name(root: &Root, path: &str) -> Option<String> {
    let wanted = match path.strip_prefix("/dev/mapper/") {
        Some(name) => name.to_owned(),
        None => {
            // LVM doubles the dashes of either part (`lvm2`, `dm_build_dm_name`).
            let (group, volume) = path.strip_prefix("/dev/")?.split_once('/')?;
            format!("{}-{}", group.replace('-', "--"), volume.replace('-', "--"))
        }
    };
    let mut names = root.list("/sys/class/block").into_iter().filter(|name| name.starts_with("dm-"));
    names.find(|name| root.text(&format!("/sys/class/block/{name}/dm/name")).value() == Some(&wanted))
}

/// All devices of the btrfs that `member` belongs to, `/sys/fs/btrfs/*/devices`.
fn btrfs_devices(root: &Root, member: &str) -> Option<Vec<String>> {
    let filesystems = root.list("/sys/fs/btrfs");
    let mut sets = filesystems.iter().map(|uuid| root.list(&format!("/sys/fs/btrfs/{uuid}/devices")));
    sets.find(|devices| devices.iter().any(|device| device == member))
}

fn remote(root: &Root, mount: &Mount) -> Remote {
    let address = match mount.option("addr") {
        Some(address) => Fact::known(address.to_owned(), MOUNTINFO),
        None => Fact::absent(format!("addr= in {MOUNTINFO}")),
    };
    let port = match mount.server_port() {
        Some(port) => Fact::known(port, MOUNTINFO),
        None => Fact::absent(format!("port= in {MOUNTINFO}")),
    };
    Remote::new(root, address, port)
}

/// The kernel shows `nconnect` only when it was asked for; without it there is one connection (`nfs(5)`).
pub fn connections(mount: &Mount) -> Fact<u32> {
    let count = mount.option("nconnect").map_or(Some(1), |count| count.parse().ok());
    Fact::of(count.filter(|_| mount.fstype.starts_with("nfs")), MOUNTINFO)
}

// The mount that our root directory lies on, where the list of mounts has none: in a chroot whose root is no mount point
// the kernel lists only what is mounted below it.

/// The mount that holds `/`. Found by its number in the list of process 1, which sees all; else by the number of its device.
fn unlisted_root(root: &Root) -> Option<Mount> {
    let line = root.probe("mountinfo/root", || line(root)).get()?;
    parse(&line).into_iter().next()
}

fn line(root: &Root) -> Option<String> {
    let listed = root.mount_id("/").and_then(|id| {
        let text = root.text("/proc/1/mountinfo").get()?;
        text.lines().find_map(|line| moved(line, id))
    });
    listed.or_else(|| by_device(root))
}

/// The line of the mount with this number, as it would stand in our own list: its point is our root directory.
fn moved(line: &str, id: u64) -> Option<String> {
    let mut fields: Vec<&str> = line.split(' ').collect();
    if fields.first()?.parse() != Ok(id) {
        return None;
    }
    *fields.get_mut(4)? = "/";
    Some(fields.join(" "))
}

fn by_device(root: &Root) -> Option<String> {
    let (major, minor) = root.stat("/")?.file.device;
    let name = by_number(root, (major, minor))?;
    let kind = root.file_system("/").unwrap_or("unknown");
    Some(format!(
        "0 0 {major}:{minor} / / rw - {kind} {} rw",
        escape(&format!("/dev/{}", name.replace('!', "/")))
    ))
}

#[cfg(test)]
mod tests {
    use super::{read, *};
    use crate::tree::Tree;
    use proptest::prelude::*;

    /// A machine with a partition, a logical volume on LUKS, and the given mountinfo.
    fn machine(mountinfo: &str) -> Root {
        let mut tree = Tree::new();
        let disk = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
        tree.file("/proc/self/mountinfo", mountinfo)
            .file(&format!("{disk}/sda2/partition"), "2")
            .file(&format!("{disk}/dev"), "8:0")
            .file("/sys/devices/virtual/block/dm-1/dm/name", "vg0-home--data")
            .link("/sys/class/block/dm-1", "../../devices/virtual/block/dm-1")
            .link("/sys/class/block/sda2", &format!("{disk}/sda2"))
            .link("/sys/dev/block/8:2", &format!("{disk}/sda2"))
            .link("/sys/dev/block/253:1", "../../devices/virtual/block/dm-1")
            .file("/proc/net/route", "Iface\nens5\t00000000\t0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
        Root::from_tree(tree)
    }

    fn only(mountinfo: &str) -> Mount {
        read(&machine(mountinfo)).remove(0)
    }

    #[test]
    fn a_line_is_read_with_no_one_or_many_optional_fields() {
        for optional in ["", "shared:1 ", "shared:1 master:7 propagate_from:3 unbindable "] {
            let mount = only(&format!(
                "36 35 8:2 /sub /mnt/a\\040b rw,noatime {optional}- ext4 /dev/root rw,errors=continue"
            ));
            assert_eq!(mount.point, "/mnt/a b");
            assert_eq!((mount.fstype.as_str(), mount.root.as_str()), ("ext4", "/sub"));
            assert_eq!(mount.devices, ["sda2"]);
            assert_eq!(mount.options, ["rw", "errors=continue", "noatime"]);
        }
    }

    #[test]
    fn escapes_are_undone_and_other_backslashes_kept() {
        assert_eq!(unescape(r"a\040b\011c\134d\043"), "a b\tc\\d#");
        assert_eq!(unescape(r"\04"), r"\04");
        assert_eq!(unescape(r"\999\777"), r"\999\777");
        assert_eq!(unescape("é"), "é");
    }

    #[test]
    fn a_logical_volume_is_found_by_number_and_by_both_its_names() {
        let root = machine("30 1 253:1 / /home rw - xfs /dev/mapper/vg0-home--data rw");
        assert_eq!(read(&root)[0].devices, ["dm-1"]);
        assert_eq!(by_path(&root, "/dev/mapper/vg0-home--data").as_deref(), Some("dm-1"));
        assert_eq!(by_path(&root, "/dev/vg0/home-data").as_deref(), Some("dm-1"));
        assert_eq!(by_path(&root, "/dev/vg0/other"), None);
    }

    #[test]
    fn btrfs_names_all_its_devices() {
        let mut tree = Tree::new();
        tree.file("/proc/self/mountinfo", "40 1 0:35 /@ / rw - btrfs /dev/sdb1 rw,subvol=/@")
            .file("/sys/class/block/sdb1/dev", "8:17")
            .file("/sys/fs/btrfs/features/raid56", "0")
            .link("/sys/fs/btrfs/11/devices/sdx", "/x")
            .link("/sys/fs/btrfs/22/devices/sdb1", "/x")
            .link("/sys/fs/btrfs/22/devices/sdc1", "/x");
        assert_eq!(read(&Root::from_tree(tree))[0].devices, ["sdb1", "sdc1"]);
    }

    #[test]
    fn file_systems_without_a_device_have_none() {
        for line in [
            "30 1 0:40 / /tank rw - zfs tank/data rw,xattr",
            "31 1 0:41 / /tmp rw - tmpfs tmpfs rw,size=1g",
            "32 1 0:42 / / rw - overlay overlay rw,lowerdir=/a:/b",
            "33 1 0:43 / /mnt rw - fuse.sshfs me@host:/ rw",
        ] {
            let mount = only(line);
            assert!(mount.devices.is_empty() && mount.remote.is_none(), "{line}");
        }
    }

    #[test]
    fn a_network_mount_tells_server_interface_and_connections() {
        let mount = only(
            "50 1 0:50 / /data rw - nfs4 nas:/export rw,vers=4.2,nconnect=8,port=0,clientaddr=192.0.2.5,addr=192.0.2.1",
        );
        let remote = mount.remote.expect("leads somewhere");
        assert_eq!(remote.address.value().map(String::as_str), Some("192.0.2.1"));
        assert_eq!(remote.port.get(), Some(2049));
        assert_eq!(remote.interface.value().map(String::as_str), Some("ens5"));
        assert_eq!(mount.connections.get(), Some(8));
        let mount = only("50 1 0:50 / /data rw - cifs //nas/share rw,addr=192.0.2.1,port=4450");
        assert_eq!(mount.remote.expect("leads somewhere").port.get(), Some(4450));
        assert_eq!(mount.connections.get(), None);
    }

    #[test]
    fn the_mounts_of_this_machine_are_those_of_its_record() {
        let live = Root::recording();
        let mounts = read(&live);
        assert!(mounts.iter().any(|mount| mount.point == "/"));
        let again = read(&Root::from_tree(live.into_record().expect("was recording")));
        assert_eq!(format!("{mounts:?}"), format!("{again:?}"));
    }

    #[test]
    fn hostile_lines_are_left_out_and_the_rest_kept() {
        let text = "\n- - - - -\n1 2 x:y / /a rw - ext4 a rw\n1 2 8:2 / relative rw - ext4 a rw\n1 2 8:2 / /b rw\n\
            36 35 8:2 / /good rw - ext4 /dev/sda2 rw";
        let points: Vec<String> = parse(text).into_iter().map(|mount| mount.point).collect();
        assert_eq!(points, ["/good"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}", words in proptest::collection::vec("[-/:,=a0-9\\\\]{0,8}", 0..14)) {
            let _ = parse(&text);
            let _ = parse(&words.join(" "));
        }

        #[test]
        fn any_point_survives_the_kernels_escaping(point in "/[ a-zé\\\\#\t]{0,20}") {
            let escaped = escape(&point);
            let mounts = parse(&format!("36 35 8:2 / {escaped} rw - ext4 /dev/sda2 rw"));
            prop_assert_eq!(&mounts[0].point, &point);
        }
    }

    #[test]
    fn a_line_of_another_list_is_that_of_our_root() {
        let line = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw";
        assert_eq!(moved(line, 27).as_deref(), Some(line));
        let line = "40 27 0:35 /@ /srv/roots rw - btrfs /dev/sdb1 rw,subvol=/@";
        assert_eq!(moved(line, 40).as_deref(), Some("40 27 0:35 /@ / rw - btrfs /dev/sdb1 rw,subvol=/@"));
        assert_eq!(moved(line, 4), None);
        assert_eq!(moved("", 4), None);
    }

    #[test]
    fn the_root_directory_has_a_mount_where_the_list_has_none() {
        let mut tree = Tree::new();
        tree.file("/proc/self/mountinfo", "30 27 8:17 / /srv rw - xfs /dev/sdb1 rw\n")
            .file("/narrows/probe/mountinfo/root", "27 1 8:1 / / rw - ext4 /dev/sda1 rw")
            .link("/sys/dev/block/8:1", "../../devices/x/block/sda/sda1")
            .file("/sys/devices/x/block/sda/sda1/partition", "1");
        let mounts = read(&Root::from_tree(tree));
        let found: Vec<(&str, &str)> =
            mounts.iter().map(|mount| (mount.point.as_str(), mount.fstype.as_str())).collect();
        assert_eq!(found, [("/", "ext4"), ("/srv", "xfs")]);
        assert_eq!(mounts[0].devices, ["sda1"]);
    }

    #[test]
    fn this_machine_has_a_line_for_its_root() {
        let line = line(&Root::live());
        assert!(line.is_none_or(|line| parse(&line).len() == 1));
    }
}
