//! What is hidden from this process: by a container, by a `/proc` that is limited or missing, by capabilities that it lacks.

use super::class::Class;
use super::findings::Findings;
use crate::mount::{self, Mount};
use crate::root::{KernelFs, Root};

/// What only `/proc` of the whole machine shows.
const OF_PROCESSES: [Class; 5] =
    [Class::Mounts, Class::OpenFiles, Class::Mappings, Class::Rings, Class::FileServers];
/// What only sysfs shows.
const OF_SYSFS: [Class; 4] = [Class::Stacked, Class::FileSystems, Class::Loops, Class::Kernel];

/// The namespaces that every machine has from its start (`PROC_USER_INIT_INO` and `PROC_PID_INIT_INO`, kernel
/// `include/linux/proc_ns.h`).
const FIRST_PIDS: &str = "pid:[4026531836]";
const FIRST_USERS: &str = "user:[4026531837]";

/// `CAP_SYS_PTRACE` to look into processes and `CAP_SYS_ADMIN` to follow `map_files` (kernel `capability.h`).
const NEEDED: [(u32, &str); 2] = [(19, "CAP_SYS_PTRACE"), (21, "CAP_SYS_ADMIN")];

/// Says which classes are hidden from this process.
pub(super) fn look(root: &Root, findings: &mut Findings) {
    if let Some(why) = processes(root) {
        let swap = (!root.is_on("/proc", KernelFs::Proc)).then_some(Class::Swap);
        let classes: Vec<Class> = OF_PROCESSES.into_iter().chain(swap).collect();
        findings.hide(&classes, why);
    }
    if !root.is_on("/sys", KernelFs::Sys) || root.list("/sys/class/block").is_empty() {
        findings.hide(&OF_SYSFS, "there is no sysfs at /sys (`mount -t sysfs sysfs /sys`)");
    }
    let mounts = mount::parse(root.text("/proc/self/mountinfo").value().map_or("", String::as_str));
    for covered in mounts.iter().filter_map(covered) {
        findings.hide(covered.1, format!("something is mounted over {}", covered.0));
    }
}

/// Why not all processes are seen; `None` when they are.
fn processes(root: &Root) -> Option<String> {
    if !root.is_on("/proc", KernelFs::Proc) || root.list("/proc").is_empty() {
        return Some("there is no procfs at /proc (`mount -t proc proc /proc`)".to_owned());
    }
    let namespace = |name: &str| root.link_name(&format!("/proc/self/ns/{name}")).get();
    match namespace("pid") {
        Some(pids) if pids == FIRST_PIDS => {}
        Some(_) => {
            return Some(
                "this is a PID namespace of its own, a container; run it on the machine itself".to_owned(),
            );
        }
        None => return Some("/proc is that of another PID namespace; mount the right one".to_owned()),
    }
    if namespace("user").as_deref() != Some(FIRST_USERS) {
        return Some(
            "this is a user namespace of its own, a container; run it on the machine itself".to_owned(),
        );
    }
    limited(root).or_else(|| lacking(root))
}

/// An option of the mount of `/proc` that leaves processes out.
fn limited(root: &Root) -> Option<String> {
    let mounts = mount::parse(root.text("/proc/self/mountinfo").value().map_or("", String::as_str));
    let proc = mounts.iter().rev().find(|mount| mount.point == "/proc" && mount.fstype == "proc");
    let Some(proc) = proc else { return Some("/proc is in no list of mounts".to_owned()) };
    let hides = |option: &&String| {
        let is_open = ["hidepid=0", "hidepid=off"].contains(&option.as_str());
        (option.starts_with("hidepid=") && !is_open) || option.starts_with("subset=")
    };
    if let Some(option) = proc.options.iter().find(hides) {
        return Some(format!("/proc is mounted with {option} (`mount -o remount,hidepid=0 /proc`)"));
    }
    (!root.exists("/proc/1")).then(|| "process 1 is not shown in /proc".to_owned())
}

/// The capabilities that we lack, of `CapEff` in `/proc/self/status`.
fn lacking(root: &Root) -> Option<String> {
    let status = root.text("/proc/self/status").get().unwrap_or_default();
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or_default();
    let lacks: Vec<&str> =
        NEEDED.iter().filter(|(bit, _)| held & (1 << bit) == 0).map(|(_, name)| *name).collect();
    (!lacks.is_empty()).then(|| format!("{} is missing (needs root)", lacks.join(" and ")))
}

/// A place that something is mounted over, and what that hides.
fn covered(mount: &Mount) -> Option<(&str, &'static [Class])> {
    let point = mount.point.as_str();
    if let Some(rest) = point.strip_prefix("/proc/") {
        let first = rest.split('/').next().unwrap_or_default();
        let is_process = first.bytes().all(|byte| byte.is_ascii_digit());
        let is_read = ["self", "swaps", "locks", "kallsyms"].contains(&first);
        return (is_process || is_read).then_some((point, &OF_PROCESSES));
    }
    let rest = point.strip_prefix("/sys/")?;
    // Containers hide these two, and show processors of their own; no device is there.
    let is_known = ["fs/cgroup", "devices/virtual/powercap", "devices/system", "devices/virtual/dmi"];
    if mount.fstype == "configfs" || is_known.iter().any(|known| rest.starts_with(known)) {
        return None;
    }
    let parts = ["class", "block", "dev", "devices", "module", "kernel/config"];
    let is_read =
        |part: &str| rest.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    // File systems have places below `fs` for file systems of their own (`fs/bpf`, `fs/pstore`).
    let is_list =
        rest.strip_prefix("fs/").is_some_and(|name| ["ext4", "xfs", "btrfs", "f2fs"].contains(&name));
    (parts.iter().any(|part| is_read(part)) || is_list || rest == "fs").then_some((point, &OF_SYSFS))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::super::tests::{MOUNTS, machine};
    use super::*;
    use crate::tree::{Node, Tree};

    fn unseen(tree: Tree) -> Vec<String> {
        read(&Root::from_tree(tree), "sdc").unseen
    }

    fn says(tree: Tree, what: &str) {
        let unseen = unseen(tree);
        assert!(
            unseen.iter().any(|one| one.contains("open files") && one.contains(what)),
            "{what}: {unseen:?}"
        );
    }

    #[test]
    fn what_hides_processes_hides_every_class_that_they_show() {
        assert_eq!(unseen(machine()), [] as [&str; 0]);
        let mut tree = machine();
        tree.link("/proc/999/ns/pid", "pid:[4026532222]");
        says(tree, "a PID namespace of its own");
        let mut tree = machine();
        tree.link("/proc/999/ns/user", "user:[4026532222]");
        says(tree, "a user namespace of its own");
        let mut tree = machine();
        tree.link("/proc/self", "no-such-process");
        says(tree, "another PID namespace");
        let mut tree = machine();
        tree.file("/narrows/probe/statfs/proc", "ext4");
        says(tree, "no procfs at /proc");
        let mut tree = machine();
        tree.file("/proc/999/status", "CapEff:\t000001fffff7ffff\n");
        says(tree, "CAP_SYS_PTRACE is missing");
        for option in ["hidepid=invisible", "hidepid=2", "hidepid=ptraceable", "subset=pid"] {
            let mut tree = machine();
            tree.file("/proc/999/mountinfo", &format!("1 0 0:21 / /proc rw - proc proc rw,{option}\n"));
            says(tree, option);
        }
        for option in ["hidepid=0", "hidepid=off", "gid=3"] {
            let mut tree = machine();
            tree.file("/proc/999/mountinfo", &format!("1 0 0:21 / /proc rw - proc proc rw,{option}\n"));
            assert_eq!(unseen(tree), [] as [&str; 0], "{option}");
        }
    }

    #[test]
    fn a_missing_sysfs_hides_its_classes() {
        let mut tree = machine();
        tree.file("/narrows/probe/statfs/sys", "tmpfs");
        assert!(unseen(tree)[0].contains("no sysfs at /sys"));
        let empty = unseen(Tree::new());
        assert!(empty.iter().any(|what| what.contains("no procfs")), "{empty:?}");
        assert!(empty.iter().any(|what| what.contains("no sysfs")), "{empty:?}");
    }

    #[test]
    fn what_is_mounted_over_a_part_that_is_read_hides_it() {
        for (point, hides) in [
            ("/proc/77", true),
            ("/proc/swaps", true),
            ("/proc/sys/fs/binfmt_misc", false),
            ("/proc/fs/nfsd", false),
            ("/sys/class/block", true),
            ("/sys/devices/virtual", true),
            ("/sys/fs/ext4", true),
            ("/sys/fs/bpf", false),
            ("/sys/kernel/debug", false),
            ("/sys/kernel/config", true),
            ("/sysroot", false),
        ] {
            let mut tree = machine();
            tree.file("/proc/999/mountinfo", &format!("{MOUNTS}9 1 0:40 / {point} rw - tmpfs tmpfs rw\n"));
            let found = unseen(tree);
            assert_eq!(!found.is_empty(), hides, "{point}: {found:?}");
        }
    }

    #[test]
    fn what_may_not_be_looked_at_is_counted() {
        let mut tree = machine();
        for process in ["8", "9"] {
            tree.insert(&format!("/proc/{process}/fd"), Node::Denied);
        }
        tree.insert("/proc/9/mountinfo", Node::Denied);
        tree.insert("/proc/9/maps", Node::Denied);
        assert_eq!(
            unseen(tree),
            [
                "mounts, hidden here because process 9 does not show its own (needs root)",
                "open files, hidden here because 2 processes do not show theirs (needs root)",
                "mapped memory, hidden here because process 9 does not show its own (needs root)",
            ]
        );
    }
}
