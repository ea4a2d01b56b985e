//! What can be named, and what is said of anything else.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;

use super::*;

/// The user that owns nothing, `nobody` on Debian.
const NOBODY: u32 = 65534;

fn path_of(target: &str) -> Value {
    let report = run(&["--path", target, "--json"]).answered().json();
    let paths = report["paths"].as_array().expect("paths");
    assert_eq!(paths.len(), 1, "{target}");
    let kinds: Vec<&str> =
        paths[0]["hops"].as_array().expect("hops").iter().filter_map(|hop| hop["kind"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"application"), "{target}: {kinds:?}");
    assert_eq!(kinds.last(), Some(&"memory"), "{target}: {kinds:?}");
    paths[0].clone()
}

fn has_hop(path: &Value, id: &str) -> bool {
    path["hops"].as_array().expect("hops").iter().any(|hop| hop["id"] == id)
}

#[test]
fn without_a_target_every_storage_path_is_shown() {
    let ran = run(&[]);
    ran.answered();
    assert!(ran.out.contains(&format!("Linux {}", MACHINE.kernel.get().unwrap_or_default())), "{}", ran.out);
    let report = run(&["--json"]).answered().json();
    assert_eq!(report["schema"], "narrows/check/1");
    // Loop devices may come and go meanwhile: one moment of peace in ten is enough.
    let shown_is_all = (0..10).any(|_| {
        let shown = run(&["--json"]).json()["paths"].as_array().expect("paths").len();
        shown == narrows::path::build::all(&Machine::read(&Root::live())).len()
    });
    assert!(shown_is_all);
}

#[test]
fn a_mount_a_directory_and_a_file_lead_through_their_file_system() {
    let dir = scratch_dir();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").expect("is ours");
    let real = dir.path().canonicalize().expect("is there");
    let index =
        narrows::machine::target::mount_of(&MACHINE.mounts, &real.to_string_lossy()).expect("is on a mount");
    let point = &MACHINE.mounts[index].point;
    for target in [point.as_str(), text(&dir), file.to_str().expect("text")] {
        let path = path_of(target);
        assert!(has_hop(&path, &format!("filesystem:{point}")), "{path:#}");
    }
}

#[test]
fn the_current_directory_is_named_by_a_dot() {
    let dir = scratch_dir();
    let ran = finish(narrows(&[".", "--json"]).current_dir(dir.path()));
    let real = dir.path().canonicalize().expect("is there");
    assert_eq!(ran.answered().json()["paths"][0]["target"], *real.to_string_lossy());
}

/// The block devices that are still there when a test looks: other tests attach and detach loop devices.
fn lasting() -> impl Iterator<Item = &'static String> {
    MACHINE.block.keys().filter(|name| !name.starts_with("loop"))
}

#[test]
fn a_device_is_found_by_its_node_and_by_its_kernel_name() {
    let mut shown = 0;
    for name in lasting() {
        let node = format!("/dev/{}", name.replace('!', "/"));
        if Path::new(&node).exists() {
            assert_eq!(path_of(&node)["hops"], path_of(name)["hops"], "{name}");
            shown += 1;
        }
    }
    if shown == 0 {
        skip("a device is found by its node", "no block device has a node in /dev");
    }
}

#[test]
fn a_pci_function_with_storage_behind_it_is_a_target() {
    let device = lasting().find_map(|name| {
        let report = run(&[name, "--json"]).json();
        let hops = report["paths"][0]["hops"].as_array().expect("hops").clone();
        hops.iter().find_map(|hop| hop["id"].as_str()?.strip_prefix("controller:").map(str::to_owned))
    });
    let Some(address) = device.filter(|id| id.contains(':')) else {
        return skip("a PCI function is a target", "no storage controller on the PCI bus");
    };
    assert!(has_hop(&path_of(&address), &format!("controller:{address}")));
    let short = address.strip_prefix("0000:").unwrap_or(&address);
    assert_eq!(path_of(short), path_of(&address));
}

#[test]
fn a_network_interface_is_a_target() {
    let Some(name) = MACHINE.nics.keys().find(|name| *name != "lo") else {
        return skip("a network interface is a target", "there is none but lo");
    };
    let path = path_of(name);
    assert_eq!(path["target"], **name);
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    run(&["/no/such/thing"]).refused(
        "narrows: `/no/such/thing` does not exist\n\
         hint: `narrows` without a target shows every storage path of the machine\n",
    );
    run(&[""]).refused(
        "narrows: the target is empty\n\
         hint: `narrows` without a target shows every storage path of the machine\n",
    );
}

#[test]
fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
    let Some(name) = lasting().find(|name| name.len() >= 3) else {
        return skip("a nearly right name", "there is no block device");
    };
    let ran = run(&[&format!("/dev/{name}zz")]);
    assert!(ran.err.starts_with(&format!("narrows: `/dev/{name}zz` does not exist\nhint: ")), "{}", ran.err);
    assert_eq!((ran.out.as_str(), ran.status), ("", Some(2)));
    let ran = run(&["/dev/nvme9n9999"]);
    assert_eq!(ran.status, Some(2));
    let typo = {
        let last = name.chars().next_back().unwrap_or('a');
        let other = if last == 'y' { 'x' } else { 'y' };
        format!("/dev/{}{other}", &name[..name.len() - last.len_utf8()])
    };
    if !Path::new(&typo).exists() {
        let ran = run(&[&typo]);
        assert!(ran.err.contains("\nhint: did you mean `/dev/"), "{}", ran.err);
    }
}

#[test]
fn what_stores_nothing_is_refused() {
    run(&["/dev/null"]).refused(
        "narrows: `/dev/null` is a character device, not a block device, directory, file, PCI address or network \
         interface\nhint: `narrows` without a target shows every storage path of the machine\n",
    );
}

#[test]
fn a_closed_directory_is_not_called_missing() {
    let outer = tempfile::tempdir().expect("a temporary directory");
    // Others may come this far, and no further.
    std::fs::set_permissions(outer.path(), std::fs::Permissions::from_mode(0o755)).expect("is ours");
    let closed = outer.path().join("closed");
    std::fs::DirBuilder::new().mode(0o700).create(&closed).expect("is ours");
    std::fs::create_dir(closed.join("in")).expect("is ours");
    let target = closed.join("in");
    let target = target.to_str().expect("text");
    // The build directory may itself be closed to others.
    let binary = outer.path().join("narrows");
    std::fs::copy(crate::narrows_binary(), &binary).expect("can be copied");
    let mut command = Command::new(&binary);
    command.arg(target);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    } else {
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).expect("is ours");
    }
    let ran = finish(&mut command);
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).expect("is ours");
    ran.refused(&format!(
        "narrows: `{target}` cannot be looked at: permission denied\n\
         hint: run as root, or name a directory that you may enter\n"
    ));
}

#[test]
fn an_unknown_option_is_refused() {
    let ran = run(&["--no-such-option"]);
    assert_eq!((ran.out.as_str(), ran.status), ("", Some(2)));
    assert!(ran.err.contains("--no-such-option"), "{}", ran.err);
}
