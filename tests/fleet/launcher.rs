//! Hosts that are reached by another program than ssh: scripts that enter their namespaces, one that hands on words, and one that hands
//! on a line for a shell; and by `clush` itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::lab::{Lab, Ran, skip, unable};
use super::{states, turn};

const LOAD: &str = "--as rand4k --threads 1 --depth 2 --rate 4m --size 8m --duration 2s --json";

fn is_unable(test: &str) -> bool {
    let why = unable();
    if let Some(why) = &why {
        skip(test, why);
    }
    why.is_some()
}

/// A script that starts what follows on a host; `end` is what it does with it.
fn script(lab: &Lab, name: &str, end: &str) -> PathBuf {
    let path = lab.path().join(name);
    let text = format!("#!/bin/sh\nh=$1\nshift\nexec ip netns exec {}\"$h\" {end}\n", lab.space(""));
    fs::write(&path, text).expect("is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is ours");
    path
}

fn run(lab: &Lab, launcher: &str, words: &str) -> Ran {
    // As most users have it: whoever runs these tests may have set it.
    let mut command = lab.fleet(words);
    command
        .env_remove("PYTHONUNBUFFERED")
        .arg("--launcher")
        .arg(launcher)
        .output()
        .expect("narrows runs")
        .into()
}

#[test]
fn a_launcher_does_what_ssh_does() {
    if is_unable("a_launcher_does_what_ssh_does") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(2));
    for (name, end) in [("words", "\"$@\""), ("line", "sh -c \"$*\"")] {
        let path = script(&lab, name, end);
        does_what_ssh_does(&lab, name, &format!("{} {{host}}", path.display()));
    }
}

#[test]
fn clush_does_what_ssh_does() {
    let name = "clush_does_what_ssh_does";
    if is_unable(name) {
        return;
    }
    if !Path::new("/usr/bin/clush").exists() {
        return skip(name, "clush is not installed (package clustershell)");
    }
    let (_turn, lab) = (turn(), Lab::new(2));
    let config = lab.path().join("ssh_config");
    does_what_ssh_does(&lab, "clush", &format!("clush -N -o '-F {}' -w {{host}}", config.display()));
}

/// Runs a load and takes the inventory of two hosts, and looks at what is left there.
pub(crate) fn does_what_ssh_does(lab: &Lab, name: &str, launcher: &str) {
    let before = lab.listening("h1");
    let load = format!("run --hosts h[1-2] --target {{dir}}/data {LOAD} --output {{dir}}/{name}-run");
    let ran = run(lab, launcher, &load);
    assert!(matches!(ran.status, Some(0 | 1)), "{name}: {ran:?}");
    let report = ran.json();
    assert!(states(&report).values().all(|state| state == "ok" || state == "late"), "{name}: {report}");
    assert!(report["points"][0]["read"]["ios"].as_u64().is_some_and(|ios| ios > 100), "{report}");
    assert_eq!(report["left"].as_array().map(Vec::len), Some(0), "{report}");
    assert_eq!(lab.listening("h1"), before, "no port is opened");
    let check = format!("check --hosts h[1-2] --json --output {{dir}}/{name}-captures");
    let looked = run(lab, launcher, &check);
    assert!(matches!(looked.status, Some(0 | 1)), "{name}: {looked:?}");
    assert!(lab.path().join(format!("{name}-captures/h2.tar.zst")).is_file());
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new(), "{name}");
}

#[test]
fn a_launcher_that_fails_is_an_unreachable_host_and_one_that_is_killed_leaves_nothing() {
    if is_unable("a_launcher_that_fails_is_an_unreachable_host_and_one_that_is_killed_leaves_nothing") {
        return;
    }
    let (_turn, lab) = (turn(), Lab::new(2));
    let launcher = format!("{} {{host}}", script(&lab, "enter", "\"$@\"").display());
    let load = format!("run --hosts h1,nobody --target {{dir}}/data {LOAD} --output {{dir}}/none");
    let gone = run(&lab, &launcher, &load);
    assert_eq!(gone.status, Some(2), "{gone:?}");
    assert!(gone.err.contains("nobody: enter: ") && gone.err.contains("--partial"), "{gone:?}");
    // What a shell would obey in the launcher is a word.
    let touched = lab.path().join("touched");
    let obeyed = format!("{launcher} ; touch {}", touched.display());
    let ran = run(&lab, &obeyed, &load.replace("none", "obeyed"));
    assert_eq!((ran.status, touched.exists()), (Some(2), false), "{ran:?}");
    let mut running = lab.fleet(&format!(
        "run --hosts h[1-2] --target {{dir}}/data {} --output {{dir}}/killed",
        LOAD.replace("2s", "20s")
    ));
    running.arg("--launcher").arg(&launcher).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = running.spawn().expect("starts");
    lab.await_servers("h2", 1);
    std::thread::sleep(Duration::from_millis(500));
    running.kill().expect("is there");
    let _ = running.wait();
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
}
