//! The mount that our root directory lies on, where the list of mounts has none: in a chroot whose root is no mount point
//! the kernel lists only what is mounted below it.

use super::{Mount, by_number, escape, parse};
use crate::root::Root;

/// The mount that holds `/`. Found by its number in the list of process 1, which sees all; else by the number of its device.
pub(super) fn of_root(root: &Root) -> Option<Mount> {
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
    use super::super::read;
    use super::*;
    use crate::tree::Tree;

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
