//! Paths in a chroot whose root is no mount point, with and without what tells of mounts and devices. As root.

use std::process::Command;

use super::{Ran, finish, is_root, narrows, run, scratch_dir, skip, text};

/// Runs narrows in a chroot with these kernel file systems (`proc`, `sysfs`), with the libraries of this machine.
fn inside(mounts: &[&str], words: &str) -> Option<Ran> {
    let root = scratch_dir();
    let program = narrows(&[]).get_program().to_string_lossy().into_owned();
    let kernel: String = mounts
        .iter()
        .map(|kind| {
            let place = if *kind == "proc" { "proc" } else { "sys" };
            format!("mkdir -p $root/{place}; mount -t {kind} {kind} $root/{place}\n")
        })
        .collect();
    let script = format!(
        "root={}
        mkdir -p $root/usr $root/tmp
        for link in bin sbin lib lib64; do
            [ ! -L /$link ] || ln -s usr/$link $root/$link
            [ -L /$link ] || [ ! -d /$link ] || {{ mkdir $root/$link; mount --bind /$link $root/$link; }}
        done
        mount --bind /usr $root/usr
        cp {program} $root/narrows
        {kernel}
        cd $root/tmp
        exec chroot $root sh -c 'cd /tmp; exec /narrows {words}'",
        text(&root)
    );
    if !is_root() || std::env::consts::OS != "linux" {
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-ec", &script]).env("LC_ALL", "C.UTF-8");
    Some(finish(&mut command))
}

#[test]
fn a_root_that_is_no_mount_point_has_the_device_of_its_directory() {
    let Some(ran) = inside(&["proc", "sysfs"], ". --json") else {
        return skip("chroot", "needs root");
    };
    let directory = scratch_dir();
    let outside = run(&[text(&directory), "--json"]);
    let devices = |ran: &Ran| {
        let report = ran.json();
        let hops = report["paths"][0]["hops"].as_array().cloned().unwrap_or_default();
        let ids = hops.iter().filter(|hop| hop["kind"] == "device").map(|hop| hop["id"].to_string());
        ids.collect::<Vec<_>>()
    };
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    assert_eq!(devices(&ran), devices(&outside), "{ran:?}");
}

#[test]
fn what_a_bare_chroot_lacks_is_said() {
    for (mounts, says) in [(&["proc"][..], "/sys"), (&["sysfs"], "/proc/self/mountinfo"), (&[], "/proc")] {
        let Some(ran) = inside(mounts, ". --json") else { return skip("chroot", "needs root") };
        assert_eq!(ran.status, Some(2), "{mounts:?}: {ran:?}");
        assert!(ran.err.contains(says) && ran.err.contains("hint:"), "{mounts:?}: {ran:?}");
    }
}
